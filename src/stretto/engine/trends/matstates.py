"""MatStates of cells, known before anything is computed: where what enters the shared nodes has changed."""

import numpy as np

from stretto.engine.trends.cells import Cells
from stretto.engine.trends.conditions import meets
from stretto.engine.trends.program import merged
from stretto.records import dataclass
from stretto.trends.plan import Condition, TrendUnit, UnitPart
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Bool


@dataclass(frozen=True, slots=True)
class MatStates:
    """`of`: per occurrence the MatState of its input, numbered in each cell from 0 as they come; -1: it has none.

    `count`: how many, per cell.
    """

    of: I64
    count: I64


@dataclass(frozen=True, slots=True)
class _Inputs:
    """What enters a shared node: all events of `totals` alike, those of `chosen` by conditions, and starts."""

    totals: frozenset[int]
    chosen: frozenset[int]
    always: bool
    starts: tuple[Condition, ...]


def _inputs(unit: TrendUnit, node: int) -> _Inputs:
    edges = [edge for member in unit.members for edge in member.edges if edge.target == node]
    starts = [merged(member.starts) for member in unit.members]
    conditions = [found[node] for found in starts if node in found]
    return _Inputs(
        frozenset(edge.source for edge in edges if edge.condition is None),
        frozenset(edge.source for edge in edges if edge.condition is not None),
        None in conditions,
        tuple(dict.fromkeys(c for c in conditions if c is not None)),
    )


def matstates_of(unit: TrendUnit, part: UnitPart, cells: Cells, events: Events) -> MatStates:
    """Two events of a part's node have one MatState if the same has entered before both, for every member."""
    n = len(cells.event)
    codes = np.full(n, -1, np.int64)
    for node in part.entries:
        at = cells.of_node[node]
        if not len(at):
            continue
        inputs = _inputs(unit, node)
        fed = _before(cells, inputs.totals, at)
        alone = _before(cells, inputs.chosen, at) > 0
        some = inputs.always | (fed > 0) | alone
        code = cells.cell[at] * (int(fed.max()) + 1) + fed
        for condition in inputs.starts:
            met = meets(condition, cells.event[at], events)
            some |= met
            code = np.unique(2 * code + met, return_inverse=True)[1]
        code = 2 * code + 1
        # By conditions every event may have an input of its own; even numbers are left for these.
        code[alone] = 2 * np.flatnonzero(alone)
        place = np.unique(code, return_inverse=True)[1]
        codes[at[some]] = place[some] + int(codes.max()) + 1
    return _numbered(codes, cells)


def _before(cells: Cells, nodes: frozenset[int], at: I64) -> I64:
    """For occurrences, how many of these nodes are before them in their cell."""
    if not nodes:
        return np.zeros(len(at), np.int64)
    running = np.zeros(len(cells.node) + 1, np.int64)
    np.cumsum(np.isin(cells.node, sorted(nodes)), out=running[1:])
    first = np.searchsorted(cells.cell, np.arange(len(cells)))
    before: I64 = running[cells.tick_first[cells.tick[at]]] - running[first[cells.cell[at]]]
    return before


def _numbered(codes: I64, cells: Cells) -> MatStates:
    at = np.flatnonzero(codes >= 0)
    of = np.full(len(codes), -1, np.int64)
    count = np.zeros(len(cells), np.int64)
    if len(at):
        _, first, place = np.unique(codes[at], return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(first), np.int64)
        rank[order] = np.arange(len(first))
        cell = cells.cell[at[np.sort(first)]]
        begin = np.searchsorted(cell, np.arange(len(cells)))
        count = np.diff(np.append(begin, len(cell)))
        of[at] = rank[place] - begin[cells.cell[at]]
    return MatStates(of, count)


def worth_sharing(
    unit: TrendUnit, part: UnitPart, cells: Cells, states: MatStates, own_lanes: int, shared_lanes: int
) -> Bool:
    """The cells that a part's MatStates make cheaper: fewer than members, even with what turns them into theirs."""
    shared = np.isin(cells.node, part.nodes)
    inside = np.bincount(cells.cell[shared], minlength=len(cells))
    edges = (edge for place in part.members for edge in unit.members[place].edges)
    sources = {edge.target for edge in edges if edge.source in part.nodes} - set(part.nodes)
    reading = np.isin(cells.node, sorted(sources))
    leaving = np.bincount(cells.cell[reading], minlength=len(cells)) + 1 + states.count
    # Turning a value into a member's takes about an eighth of what a walk through a tree does.
    many = len(part.members)
    cost: Bool = states.count * shared_lanes * (inside + leaving * many / 8) < many * own_lanes * inside
    return cost & (states.count < many)
