"""A unit as the arrays that the loops read."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from stretto.engine.trends.kernels.layout import Lanes, Layout, Reads
from stretto.engine.trends.kernels.tables import ints, ragged
from stretto.engine.trends.lanes import (
    Columns,
    columns_of,
    shared_lanes,
    shared_measures,
    split,
    weight_lanes,
)
from stretto.pattern.nodes import TrendQuery
from stretto.records import dataclass
from stretto.trends.plan import TrendUnit, UnitPart
from stretto.values.rows import I64

LADDER = 64
"""MatStates of some members before all members catch up."""


def paned(unit: TrendUnit, queries: Sequence[TrendQuery]) -> TrendUnit:
    """The unit, its nodes all shared if it is one query whose windows overlap: they share what lies in a pane."""
    if len(unit.members) > 1 or unit.parts:
        return unit
    member = unit.members[0]
    if queries[member.query].slide_us >= queries[member.query].window_us:
        return unit
    entries = tuple(sorted({start.node for start in member.starts}))
    part = UnitPart(tuple(range(len(unit.nodes))), entries, member.edges, (0,))
    return replace(unit, parts=(part,), members=(replace(member, edges=()),))


@dataclass(frozen=True, slots=True)
class Arrays:
    """A unit's layout, lanes and weights.

    `touches`: per touch the instances whose entries to a part change with an event of it; `instances`: per part.
    """

    layout: Layout
    lanes: Lanes
    columns: Columns
    reads: Reads
    touches: I64
    linear: int
    extreme: int
    shared_linear: int
    shared_extreme: int
    instances: I64

    @property
    def sizes(self) -> I64:
        """Per part its nodes."""
        return np.diff(self.layout.places)

    @property
    def basis(self) -> I64:
        """Per part the rows that its nodes are expressed by."""
        return self.sizes + np.diff(self.layout.entries)


def arrays_of(unit: TrendUnit, queries: Sequence[TrendQuery]) -> Arrays:
    """Lay a unit without conditions out."""
    assert not unit.is_conditioned
    columns = columns_of(measure for member in unit.members for measure in member.measures)
    seating = _Seating(unit)
    layout = _layout(unit, queries, seating)
    measured = [shared_measures(unit, part) for part in unit.parts]
    by_seat = weight_lanes([(node, unit.members[m].measures) for node, m in seating.seats], columns)
    nodes = [(node, measured[t]) for t, part in enumerate(unit.parts) for node in part.nodes]
    by_place = weight_lanes(nodes, columns)
    # The last rows only make the map as wide as any member's values are.
    rows = [(unit.members[m].measures, measured[t]) for t, m in seating.shares]
    of_shares = shared_lanes([*rows, *((member.measures, ()) for member in unit.members)])
    # All parts have the lanes of the one that measures most.
    sums, extremes = (max((len(split(some)[kind]) for some in measured), default=0) for kind in (0, 1))
    return Arrays(
        layout,
        Lanes(
            by_seat.linear, by_seat.extreme,
            by_place.linear, by_place.extreme,
            of_shares.linear, of_shares.extreme,
            np.arange(1 + sums, dtype=np.int32)[None], np.arange(extremes, dtype=np.int32)[None],
        ),
        columns,
        _reads(layout),
        ints(int(layout.ring[layout.share_member[some]].sum()) for some in _lists(layout.concerns, layout.concerned)),
        by_seat.linear.shape[1],
        by_seat.extreme.shape[1],
        1 + sums,
        extremes,
        ints(int(layout.ring[some].sum()) for some in _lists(layout.shares, layout.share_member)),
    )  # fmt: skip


class _Seating:
    """Who sits where: the shares, and per member the place of each of its nodes."""

    def __init__(self, unit: TrendUnit) -> None:
        self.unit = unit
        self.shares = [(t, m) for t, part in enumerate(unit.parts) for m in part.members]
        self.part_of = {node: t for t, part in enumerate(unit.parts) for node in part.nodes}
        self.entries = [_entries(unit, part) for part in unit.parts]
        self.joined: list[list[int]] = [[] for _ in unit.members]
        for t, m in self.shares:
            self.joined[m].append(t)
        self.rows: dict[tuple[int, int], int] = {}  # where a member has the rows of a part
        self.widths: list[int] = []
        self.places = [self._placed(m) for m in range(len(unit.members))]

    def _placed(self, m: int) -> dict[int, int]:
        found: dict[int, int] = {}
        width = 0
        for t in self.joined[m]:
            self.rows[t, m] = width
            nodes = self.unit.parts[t].nodes
            found |= {node: width + place for place, node in enumerate(nodes)}
            width += len(nodes) + len(self.entries[t])
        own = [node for node in self._nodes(m) if node not in found]
        self.widths.append(width + len(own))
        return found | {node: width + place for place, node in enumerate(own)}

    def _nodes(self, m: int) -> list[int]:
        member = self.unit.members[m]
        nodes = {entry.node for entry in (*member.starts, *member.ends)}
        return sorted(nodes | {node for edge in member.edges for node in (edge.source, edge.target)})

    @cached_property
    def users(self) -> list[list[int]]:
        """Per node its members."""
        return [[m for m, of in enumerate(self.places) if node in of] for node in range(len(self.unit.nodes))]

    @property
    def seats(self) -> list[tuple[int, int]]:
        return [(node, m) for node, members in enumerate(self.users) for m in members]

    @cached_property
    def _share_numbers(self) -> dict[tuple[int, int], int]:
        return {share: number for number, share in enumerate(self.shares)}

    def share(self, node: int, m: int) -> int:
        """The share by which a member has a node, -1 if it is its own."""
        return self._share_numbers.get((self.part_of.get(node, -1), m), -1)

    @cached_property
    def touches(self) -> list[tuple[int, int, list[int]]]:
        """By part: nodes from which members go into it by edges of their own, and the shares that do so."""
        found: dict[tuple[int, int], set[int]] = {}
        for m, member in enumerate(self.unit.members):
            for edge in member.edges:
                share = self.share(edge.target, m)
                if share >= 0:
                    found.setdefault((self.part_of[edge.target], edge.source), set()).add(share)
        return [(t, node, sorted(found[t, node])) for t, node in sorted(found)]


def _entries(unit: TrendUnit, part: UnitPart) -> list[int]:
    """The nodes of a part that some member enters by itself."""
    members = [unit.members[m] for m in part.members]
    entered = {start.node for member in members for start in member.starts}
    entered |= {edge.target for member in members for edge in member.edges}
    return [node for node in part.nodes if node in entered]


def _layout(unit: TrendUnit, queries: Sequence[TrendQuery], seating: _Seating) -> Layout:
    places, touches, members = seating.places, seating.touches, unit.members
    spans = [(queries[member.query].window_us, queries[member.query].slide_us) for member in members]
    frames = sorted(set(spans))
    ring = [-(-window // slide) for window, slide in spans]
    base = _begins(w * r for w, r in zip(seating.widths, ring, strict=True))
    seats, users = seating.seats, _begins(map(len, seating.users))
    into = [(m, [e.source for e in members[m].edges if e.target == node]) for node, m in seats]
    own, source = ragged([[places[m][node] for node in sources] for m, sources in into])
    _, source_share = ragged([[seating.share(node, m) for node in sources] for m, sources in into])
    ends, end = ragged([[places[m][e.node] for e in one.ends] for m, one in enumerate(members)])
    _, end_share = ragged([[seating.share(e.node, m) for e in one.ends] for m, one in enumerate(members)])
    joins, joined = ragged(seating.joined)
    nodes = range(len(unit.nodes))
    affects, touch = ragged([[c for c, (_, by, _) in enumerate(touches) if by == node] for node in nodes])
    starts = [{start.node for start in member.starts} for member in members]
    return Layout(
        window=ints(window for window, _ in frames),
        slide=ints(slide for _, slide in frames),
        frame=ints(frames.index(span) for span in spans),
        base=base[:-1],
        width=ints(seating.widths),
        ring=ints(ring),
        joins=joins,
        joined=joined,
        ends=ends,
        end=end,
        end_share=end_share,
        users=users,
        member=ints(m for _, m in seats),
        place=ints(places[m][node] for node, m in seats),
        start=np.array([node in starts[m] for node, m in seats], np.bool_),
        own=own,
        source=source,
        source_share=source_share,
        part=ints(seating.part_of.get(node, -1) for node in nodes),
        shared=ints(_place_in(unit, seating.part_of.get(node), node) for node in nodes),
        affects=affects,
        touch=touch,
        rows=int(base[-1]),
        most=max((len(part.nodes) for part in unit.parts), default=0),
        **_part_tables(unit, seating, users, ring),
    )


def _part_tables(unit: TrendUnit, seating: _Seating, users: I64, ring: Sequence[int]) -> dict[str, I64]:
    """What a layout has by parts, shares and touches."""
    parts, touches, entries = unit.parts, seating.touches, seating.entries
    concerns, concerned = ragged([shares for _, _, shares in touches])
    inner, inside = ragged(
        [[p.nodes.index(e.source) for e in p.edges if e.target == node] for p in parts for node in p.nodes]
    )
    matrix = [len(p.nodes) * (len(p.nodes) + len(e)) for p, e in zip(parts, entries, strict=True)]
    steps = [_steps(sum(ring[m] for m in part.members)) if len(part.members) > 1 else 1 for part in parts]
    return {
        "touched": _begins(sum(t == part for t, _, _ in touches) for part in range(len(parts))),
        "touches_part": ints(t for t, _, _ in touches),
        "concerns": concerns,
        "concerned": concerned,
        "shares": _begins(len(part.members) for part in parts),
        "share_part": ints(t for t, _ in seating.shares),
        "share_member": ints(m for _, m in seating.shares),
        "share_row": ints(seating.rows[share] for share in seating.shares),
        "places": _begins(len(part.nodes) for part in parts),
        "inner": inner,
        "inside": inside,
        "entry": ints(
            len(part.nodes) + entered.index(node) if node in entered else -1
            for part, entered in zip(parts, entries, strict=True)
            for node in part.nodes
        ),
        "entries": _begins(map(len, entries)),
        "entered": ints(users[node] for entered in entries for node in entered),
        "steps": ints(steps),
        "matrix": _begins(matrix),
        "ladder": _begins(2 * n * size if n > 1 else 0 for n, size in zip(steps, matrix, strict=True)),
    }


def _place_in(unit: TrendUnit, part: int | None, node: int) -> int:
    return -1 if part is None else unit.parts[part].nodes.index(node)


def _steps(instances: int) -> int:
    """So many that the ladder takes no more room than the instances do."""
    return max(1, min(LADDER, 1 << (max(instances // 2, 1).bit_length() - 1)))


def _reads(layout: Layout) -> Reads:
    """What events read of parts that their node is not in."""
    links: dict[tuple[int, int], int] = {}
    found: list[dict[int, int]] = []
    for node, (first, last) in enumerate(zip(layout.users[:-1], layout.users[1:], strict=True)):
        mine: dict[int, int] = {}
        for seat in range(first, last):
            via = layout.source_share[layout.own[seat] : layout.own[seat + 1]]
            for part in layout.share_part[via[via >= 0]].tolist():
                if part != layout.part[node]:
                    link = links.setdefault((int(layout.part[node]), part), len(links))
                    mine[link] = mine.get(link, 0) + int(layout.ring[layout.member[seat]])
        found.append(mine)
    first_, link_ = ragged([list(mine) for mine in found])
    totals = ints(total for mine in found for total in mine.values())
    return Reads(first_, link_, totals, np.array(list(links), np.int64).reshape(-1, 2))


def _lists(first: I64, items: I64) -> list[I64]:
    return [items[a:b] for a, b in pairwise(first)]


def _begins(sizes: Iterable[int]) -> I64:
    """Where each of some lists begins that lie one after another, and where the last ends."""
    return np.cumsum([0, *sizes]).astype(np.int64)
