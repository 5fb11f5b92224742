"""Which members a class lists, class after class, and by window within one: those of a row are one range of them."""

import numpy as np

from stretto.plan.families.members import FamilyMembers
from stretto.values.member_sets import MemberSets
from stretto.values.rows import I64, spread

UNKNOWN = -1


class ClassMembers:
    """Segment s is the members `order[starts[s]:starts[s + 1]]`, with these `windows`, ascending.

    A class gets its segment when a row first has it. Segments never change, so ranges of them stay good; arrays that
    are full are copied to larger ones.
    """

    def __init__(self, members: FamilyMembers, sets: MemberSets) -> None:
        self._members, self._sets = members, sets
        self._segments: I64 = np.full(0, UNKNOWN)  # by the small number of a class
        self.starts: I64 = np.zeros(1, np.int64)
        self.order: I64 = np.zeros(0, np.int64)
        self.windows: I64 = np.zeros(0, np.int64)

    def segments(self, codes: I64) -> I64:
        """The segments of classes."""
        local = self._sets.local(codes)
        size = int(local.max(initial=-1)) + 1
        self._segments = _with_room(self._segments, size, UNKNOWN)
        found: I64 = self._segments[local]
        if found.min(initial=0) == UNKNOWN:
            for number in np.flatnonzero(np.bincount(local[found == UNKNOWN])).tolist():
                self._segments[number] = len(self.starts) - 1
                self._add(self._sets.members(self._sets.codes[number]))
            found = self._segments[local]
        return found

    def _add(self, entries: I64) -> None:
        """One more segment; a class may also list entries that are not of these members."""
        starts, windows = self._members.starts, self._members.windows
        assert windows is not None
        entries = entries[: np.searchsorted(entries, len(starts) - 1)]
        counts = starts[entries + 1] - starts[entries]
        places = spread(starts[entries], counts, np.append(0, np.cumsum(counts)))
        places = places[np.argsort(windows[places], kind="stable")]
        begin = int(self.starts[-1])
        end = begin + len(places)
        self.order, self.windows = _with_room(self.order, end, 0), _with_room(self.windows, end, 0)
        self.order[begin:end] = self._members.order[places]
        self.windows[begin:end] = windows[places]
        self.starts = np.append(self.starts, end)


def _with_room(array: I64, size: int, empty: int) -> I64:
    """The array, or a larger one that begins with it."""
    if size <= len(array):
        return array
    larger = np.full(2 * size, empty, np.int64)
    larger[: len(array)] = array
    return larger
