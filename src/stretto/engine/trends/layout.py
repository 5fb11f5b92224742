"""A unit as the arrays that the loops read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stretto.engine.trends.kernels.layout import Lanes, Layout
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
from stretto.trends.plan import Member, TrendUnit
from stretto.values.rows import I64

LADDER = 64
"""MatStates of some members before all members catch up."""


def paned(unit: TrendUnit, queries: Sequence[TrendQuery]) -> TrendUnit:
    """The unit, its nodes all shared if it is one query whose windows overlap: they share what lies in a pane."""
    if len(unit.members) > 1 or unit.shared:
        return unit
    member = unit.members[0]
    if queries[member.query].slide_us >= queries[member.query].window_us:
        return unit
    return replace(
        unit,
        shared=tuple(range(len(unit.nodes))),
        entries=tuple(sorted({start.node for start in member.starts})),
        edges=member.edges,
        members=(replace(member, edges=()),),
    )


@dataclass(frozen=True, slots=True)
class Arrays:
    """A unit's layout, lanes and weights.

    Per node, what an event of it does to all instances: `reads` totals of shared nodes, `touches` what enters them.
    """

    layout: Layout
    lanes: Lanes
    columns: Columns
    reads: I64
    touches: I64
    linear: int
    extreme: int
    shared_linear: int
    shared_extreme: int
    instances: int

    @property
    def basis(self) -> int:
        return len(self.layout.entry) + len(self.layout.entered)


def arrays_of(unit: TrendUnit, queries: Sequence[TrendQuery]) -> Arrays:
    """Lay a unit without conditions out."""
    assert not unit.is_conditioned
    columns = columns_of(measure for member in unit.members for measure in member.measures)
    places = _places(unit)
    layout = _layout(unit, queries, places)
    on_shared = shared_measures(unit)
    seats = [
        (node, unit.members[m].measures) for node in range(len(unit.nodes)) for m in _users(places, node)
    ]
    by_seat = weight_lanes(seats, columns)
    by_place = weight_lanes([(node, on_shared) for node in unit.shared], columns)
    sums, extremes = split(on_shared)
    by_member = shared_lanes(unit, on_shared)
    return Arrays(
        layout,
        Lanes(
            by_seat.linear, by_seat.extreme,
            by_place.linear, by_place.extreme,
            by_member.linear, by_member.extreme,
            np.arange(1 + len(sums), dtype=np.int32)[None], np.arange(len(extremes), dtype=np.int32)[None],
        ),
        columns,
        _reads(layout),
        _touches(layout),
        by_member.linear.shape[1],
        by_member.extreme.shape[1],
        1 + len(sums),
        len(extremes),
        int(layout.ring.sum()),
    )  # fmt: skip


def _entries(unit: TrendUnit) -> list[int]:
    """The shared nodes that some member enters by itself."""
    entered = {start.node for member in unit.members for start in member.starts}
    entered |= {edge.target for member in unit.members for edge in member.edges}
    return [node for node in unit.shared if node in entered]


def _places(unit: TrendUnit) -> list[dict[int, int]]:
    """Per member the place of each of its nodes."""
    first = len(unit.shared) + len(_entries(unit))
    return [
        {node: place for place, node in enumerate(unit.shared)}
        | {node: first + n for n, node in enumerate(_own_nodes(unit, member))}
        for member in unit.members
    ]


def _own_nodes(unit: TrendUnit, member: Member) -> list[int]:
    nodes = {entry.node for entry in (*member.starts, *member.ends)}
    nodes |= {node for edge in member.edges for node in (edge.source, edge.target)}
    return sorted(nodes - set(unit.shared))


def _users(places: list[dict[int, int]], node: int) -> list[int]:
    return [m for m, of in enumerate(places) if node in of]


def _layout(unit: TrendUnit, queries: Sequence[TrendQuery], places: list[dict[int, int]]) -> Layout:
    entries, shared = _entries(unit), {node: place for place, node in enumerate(unit.shared)}
    spans = [(queries[member.query].window_us, queries[member.query].slide_us) for member in unit.members]
    frames = sorted(set(spans))
    width = [len(of) + len(entries) for of in places]
    ring = [-(-window // slide) for window, slide in spans]
    base = np.cumsum([0, *(w * r for w, r in zip(width, ring, strict=True))])
    users = [_users(places, node) for node in range(len(unit.nodes))]
    seats = [(node, m) for node, members in enumerate(users) for m in members]
    seat_of = np.cumsum([0, *map(len, users)])
    own, source = _ragged(
        seats, lambda s: [places[s[1]][e.source] for e in unit.members[s[1]].edges if e.target == s[0]]
    )
    ends, end = _ragged(range(len(unit.members)), lambda m: [places[m][e.node] for e in unit.members[m].ends])
    inner, inside = _ragged(unit.shared, lambda p: [shared[e.source] for e in unit.edges if e.target == p])
    starts = [{start.node for start in member.starts} for member in unit.members]
    affects, affected = _ragged(
        range(len(unit.nodes)), lambda node: [m for m in users[node] if _enters(unit, unit.members[m], node)]
    )
    return Layout(
        window=ints(window for window, _ in frames),
        slide=ints(slide for _, slide in frames),
        frame=ints(frames.index(span) for span in spans),
        base=base[:-1].astype(np.int64),
        width=ints(width),
        ring=ints(ring),
        ends=ends,
        end=end,
        users=seat_of.astype(np.int64),
        member=ints(m for _, m in seats),
        place=ints(places[m][node] for node, m in seats),
        start=np.array([node in starts[m] for node, m in seats], np.bool_),
        own=own,
        source=source,
        shared=ints(shared.get(node, -1) for node in range(len(unit.nodes))),
        affects=affects,
        affected=affected,
        inner=inner,
        inside=inside,
        entry=ints(len(shared) + entries.index(p) if p in entries else -1 for p in unit.shared),
        entered=ints(seat_of[node] for node in entries),
        rows=int(base[-1]),
        steps=_steps(sum(ring)) if len(unit.members) > 1 else 1,
    )


def _enters(unit: TrendUnit, member: Member, node: int) -> bool:
    """Whether the member goes from this node into a shared one by an edge of its own."""
    return any(edge.source == node and edge.target in unit.shared for edge in member.edges)


def _steps(instances: int) -> int:
    """So many that the ladder takes no more room than the instances do."""
    return max(1, min(LADDER, 1 << (max(instances // 2, 1).bit_length() - 1)))


def _reads(layout: Layout) -> I64:
    """Per node that is not shared, the totals of shared nodes that one event of it reads, over all instances."""
    shared = len(layout.entry)
    per_seat = [
        int(np.count_nonzero(layout.source[a:b] < shared)) * int(layout.ring[m])
        for a, b, m in zip(layout.own[:-1], layout.own[1:], layout.member, strict=True)
    ]
    total = np.concatenate([[0], np.cumsum(per_seat)])
    reads = total[layout.users[1:]] - total[layout.users[:-1]]
    return np.where(layout.shared < 0, reads, 0).astype(np.int64)


def _touches(layout: Layout) -> I64:
    """Per node the instances whose entries to shared nodes change with an event of it."""
    total = np.concatenate([[0], np.cumsum(layout.ring[layout.affected])])
    touches: I64 = (total[layout.affects[1:]] - total[layout.affects[:-1]]).astype(np.int64)
    return touches


def _ragged(rows: Sequence[object], items: Callable[..., list[int]]) -> tuple[I64, I64]:
    return ragged([items(row) for row in rows])
