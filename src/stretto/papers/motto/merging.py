"""Ways that read a query or sub-query as one operand of another, and where such sources are found."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from stretto.memo.containment import Lacks, claims, columns_between
from stretto.memo.memo import Memo
from stretto.memo.ways import Input, Way, WayKind
from stretto.papers.motto.operands import Operands, levels
from stretto.pattern.piece import Piece
from stretto.records import dataclass

MOST_OPERANDS: Final = 10  # lists of so many are looked up by all of their subsequences

Strings = tuple[str, ...]


# ---- a source as an operand of its reader ------------------------------------------------------------------


def read_as_operand(memo: Memo, reader: int, source: Input, slots: Sequence[int], rule: str) -> Way:
    """The way that computes `reader` from `source` over these of its slots, and from the single slots that are left.

    They are joined in the order of the text, the source at the place of its first slot; over all slots it is a filter.
    """
    covered = frozenset(slots)
    if len(covered) == len(memo.pieces[reader].slots):
        return Way(_narrowing(memo.pieces[source.piece], memo.pieces[reader]), (source,), rule)
    inputs: list[Input] = []
    for slot in memo.text_order(reader):
        if slot not in covered:
            inputs.append(memo.part(reader, (slot,)))
        elif source not in inputs:
            inputs.append(source)
    return Way(WayKind.JOIN, tuple(inputs), rule)


def _narrowing(source: Piece, reader: Piece) -> WayKind:
    """What turns a piece into one with the same terms: only negations are missing, or order or window too."""
    alike = len(source.order) == len(reader.order) and source.window == reader.window
    return WayKind.FORBID if alike else WayKind.FILTER


# ---- sources that are there --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contained:
    """A query or sub-query whose operands are found in a level of another piece, at these places."""

    source: int
    source_slots: tuple[int, ...]
    reader: Operands
    places: tuple[int, ...]

    @property
    def slots(self) -> tuple[int, ...]:
        return self.reader.slots_at(self.places)

    @property
    def contiguous(self) -> bool:
        return self.places[-1] - self.places[0] == len(self.places) - 1

    def excess(self, memo: Memo) -> int:
        """By how much the window of the source is wider than its reader's; their units are the same."""
        return memo.pieces[self.source].window.size - memo.pieces[self.reader.owner].window.size

    def columns(self, memo: Memo) -> tuple[int, ...]:
        """For each column of the source the reader's column that it is."""
        pieces = memo.pieces[self.source], memo.pieces[self.reader.owner]
        return columns_between(pieces[0], self.source_slots, pieces[1], self.slots)

    def way(self, memo: Memo, rule: str) -> Way:
        source = Input(self.source, self.columns(memo))
        return read_as_operand(memo, self.reader.owner, source, self.slots, rule)


def contained(memo: Memo, *, relaxed: bool = False) -> list[Contained]:
    """Every core that another has as a part, whatever their windows; `relaxed`: only those that it has but for order.

    Terms are the same on both sides; a source may lack negations of its reader.
    """
    return memo.analysis(("contained", relaxed), len(memo), lambda: list(_contained(memo, relaxed=relaxed)))


def several_windows(memo: Memo) -> bool:
    """Whether queries have different windows of one unit."""
    windows = {memo.pieces[number].window for number in memo.cores()}
    return len(windows) > len({window.unit for window in windows})


def _contained(memo: Memo, *, relaxed: bool) -> Iterator[Contained]:
    cores = [number for number in range(len(memo)) if memo.is_core(number) and not memo.is_wide(number)]
    sources: dict[tuple[str, Strings], list[int]] = {}
    for number in cores:
        outermost = levels(memo, number)[-1]
        sources.setdefault((outermost.word, outermost.keys), []).append(number)
    longest = max((len(keys) for _, keys in sources), default=0)
    for number in cores:
        if memo.ends():
            return
        for level in levels(memo, number):
            if relaxed and level.word != "SEQ":
                continue
            reader = level.as_and() if relaxed else level
            for places in _subsequences(reader, sources, longest):
                for source in sources.get((reader.word, tuple(reader.keys[i] for i in places)), ()):
                    found = Contained(
                        source, levels(memo, source)[-1].slots_at(range(len(places))), reader, places
                    )
                    if source != number and _serves(memo, found):
                        yield found


def _subsequences(
    reader: Operands, sources: dict[tuple[str, Strings], list[int]], longest: int
) -> Iterator[tuple[int, ...]]:
    """Places in a list at which a source could stand; in a long list of each source but the first ones."""
    count = len(reader.keys)
    if count <= MOST_OPERANDS:
        for size in range(2, min(count, longest) + 1):
            yield from combinations(range(count), size)
        return
    for word, keys in list(sources):
        if word == reader.word:
            places = _first_places(keys, reader.keys)
            if places is not None:
                yield places


def _first_places(keys: Strings, among: Strings) -> tuple[int, ...] | None:
    """The first places of a list that hold these keys in this order."""
    found: list[int] = []
    start = 0
    for key in keys:
        try:
            place = among.index(key, start)
        except ValueError:
            return None
        found.append(place)
        start = place + 1
    return tuple(found)


def _serves(memo: Memo, found: Contained) -> bool:
    """Whether the source is that part of its reader, but for window and negations that it may lack."""
    source, reader = memo.pieces[found.source], memo.pieces[found.reader.owner]
    if source.same != reader.same or source.window.unit != reader.window.unit:
        return False
    here = found.reader.claims(reader, found.places)
    theirs = claims(source, found.source_slots)
    return theirs <= here and all(isinstance(fact, Lacks) for fact in here - theirs)
