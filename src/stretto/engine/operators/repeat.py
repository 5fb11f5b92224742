"""Rows with the earlier repetitions of one slot added: every chain of elements that leads up to a row's last one."""

from collections.abc import Iterator, Sequence

import numpy as np

from stretto.engine.kernels.chains import chain_lengths, chains, wanted_lengths
from stretto.engine.memory.limits import Meter, Undo, size_of
from stretto.engine.operators.protocol import Clock, RowShape
from stretto.engine.rows.band import Band
from stretto.engine.rows.coordinates import beyond, coordinates, reach, times
from stretto.engine.rows.repetition_graph import (
    ChainGraph,
    ChainReach,
    Elements,
    linked_graph,
    no_graph,
    ordered_graphs,
)
from stretto.engine.rows.sets import as_sets, sliced
from stretto.pattern.order import Order
from stretto.pattern.predicates import Expr, columns_of
from stretto.plan.ops import Repeat
from stretto.values.evaluate import holds
from stretto.values.rows import I64, UNBOUND, Bool, Column, Rows, Sets, concat_columns, take_column

BLOCK = 1 << 18
"""So many base rows are looked at together."""
ROOM = 1 << 20
SPACE = 1 << 22
"""So many rows, and set elements, are made at once."""
LINKS = 1 << 22
"""So many links between neighbours are held at once, if they belong to several base rows."""
LINK_BYTES = 128
"""What a link takes while its graph is made."""
BASE_BYTES = 2048
"""Bytes of memory that is left for each base row that is looked at together with others."""
FEWEST = 64

_NO_LIMIT = 1 << 62
_NONE = np.empty(0, np.int64)


class RepeatOperator:
    """All events of a chain are earlier than the base row's last one, so only new base rows make new chains."""

    waiting = False

    def __init__(self, op: Repeat, inputs: Sequence[RowShape]) -> None:
        base, element = inputs
        self._op = op
        self._element = element
        self.shape = repeated_shape(op, base)
        self._least, self._most = self.lengths(op)
        finals = RowShape(tuple(base.sets[c] for c in op.final), tuple(base.optional[c] for c in op.final))
        plain = not any((*finals.sets, *finals.optional, *element.sets, *element.optional))
        self._direct = plain and element.width == 1
        self._later = tuple(a or b for a, b in zip(finals.sets, element.sets, strict=True))
        distinct = [(theirs, mine) for mine, theirs in op.distinct]
        if op.adjacent:
            later = tuple(a or b for a, b in zip(finals.optional, element.optional, strict=True))
            probing = RowShape((*base.sets, *self._later), (*base.optional, *later))
            terms = _neighbour_terms(op, base.width, element.width)
            at = probing.width
            self._stored = Band(element, probing, op.window, terms, distinct, stored_at=at, probing_at=0)
        else:
            at = base.width
            self._stored = Band(element, base, op.window, op.terms, distinct, stored_at=at, probing_at=0)
        self._band: Elements = self._stored
        self._block = 1 << 10

    @staticmethod
    def lengths(op: Repeat) -> tuple[int, int]:
        """How many repetitions there are before the last one, at least and at most."""
        return max(op.low - 1, 0), _NO_LIMIT if op.high is None else op.high - 1

    @property
    def held(self) -> int:
        return self._stored.held

    @property
    def looked(self) -> int:
        return self._stored.looked

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        base, elements = inputs
        self._stored.expire(beyond(clock, self._op.window))
        self._stored.append(elements, clock.events, clock.meter)
        out: list[Rows] = []
        for part in base:
            for rows in _blocks(part, clock.meter.share(BASE_BYTES, BLOCK, FEWEST)):
                for graph_of, graph in self._graphs(rows, clock):
                    out.extend(self._grown(graph_of, graph, clock))
        return out

    def mark(self) -> Undo:
        return self._stored.mark()

    # ---- what may precede what ---------------------------------------------------------------------------------

    def _graphs(self, base: Rows, clock: Clock) -> Iterator[tuple[Rows, ChainGraph]]:
        """The base rows piece by piece, each piece with its graph."""
        window, events, band = self._op.window, clock.events, self._stored
        if self._most == 0 or not len(band):
            yield base, no_graph(len(base))
            return
        floor = reach(coordinates(base, window)[1], window)
        hi = band.search_time(times(base, self._op.final, events)[0], "left")
        reached = ChainReach(band.search(floor, "left"), hi, floor)
        if self._op.adjacent:
            yield from self._linked(base, reached, clock)
            return
        single = self._element.single
        for piece, graph in ordered_graphs(band, base, reached, events, clock.meter, single=single):
            yield sliced(base, piece), graph

    def _linked(self, base: Rows, reached: ChainReach, clock: Clock) -> Iterator[tuple[Rows, ChainGraph]]:
        """Pieces as large as their links allow: too large ones are halved, the next one tries twice the size."""
        start = 0
        while start < len(base):
            piece = slice(start, min(start + self._block, len(base)))
            rows = sliced(base, piece)
            meter = clock.meter
            graph = linked_graph(
                self._stored,
                rows,
                self._op.final,
                reached.take(piece),
                clock.events,
                meter,
                most=self._most,
                sets=self._later,
                limit=min(LINKS, meter.left // (8 * LINK_BYTES))
                if len(rows) > 1
                else meter.left // LINK_BYTES,
            )
            if graph is not None:
                yield rows, graph
                start = piece.stop
                self._block = min(self._block * 2, BLOCK)
            elif len(rows) == 1:
                meter.reserve(meter.left + 1, LINKS)
            else:
                self._block = max(len(rows) // 2, 1)

    # ---- chains ------------------------------------------------------------------------------------------------

    def _grown(self, base: Rows, graph: ChainGraph, clock: Clock) -> Iterator[Rows]:
        """The base rows once for each of their chains, in parts of bounded size."""
        counts = np.bincount(graph.row, minlength=len(base))
        longest = min(int(counts.max(initial=0)), self._most)
        if longest < self._least or not len(base):
            return
        lengths, bare = self._allowed(base, graph, clock)
        wanted = wanted_lengths(self._least, self._most, longest) if len(lengths) else _NONE
        first = base.first, self._band.first_ts(graph.number)
        state = np.zeros(4, np.int64)
        stack, path = np.zeros((longest + 1, 2), np.int64), np.zeros(longest + 1, np.int64)
        room, space = _estimated(counts, clock.meter, 4 + len(base.columns))
        labels, limits = self._labels(base, graph), (self._least, self._most)
        while state[0] < len(base):
            rows, firsts = np.empty(room, np.int64), np.empty(room, np.int64)
            offsets, values = np.empty(room + 1, np.int64), np.empty(max(space, longest + 1), np.int64)
            out = rows, firsts, offsets, values
            made = chains(
                graph.roots,
                graph.nodes,
                graph.links,
                lengths,
                wanted,
                labels,
                first,
                bare,
                *limits,
                state,
                stack,
                path,
                out,
            )
            if made:
                sets = Sets(offsets[: made + 1], values[: offsets[made]])
                if 8 * made < room:  # a view would keep the whole room
                    sets, firsts = Sets(sets.offsets.copy(), sets.values.copy()), firsts[:made].copy()
                grown = self._rows(base, graph, rows[:made], firsts[:made], sets)
                clock.meter.charge(size_of(grown), made)
                yield grown

    def _labels(self, base: Rows, graph: ChainGraph) -> tuple[I64, I64]:
        """What stands for last repetitions and for nodes: the event, where it is one, else a number."""
        finals, elements = base.columns[self._op.final[0]], self._band.column(graph.number, 0)
        if self._direct and not isinstance(finals, Sets) and not isinstance(elements, Sets):
            return np.ascontiguousarray(finals), elements
        n = len(graph.number)
        return np.arange(n, n + len(base)), np.arange(n)

    def _allowed(self, base: Rows, graph: ChainGraph, clock: Clock) -> tuple[I64, Bool]:
        """What the terms on the earliest repetition and the least number of them leave.

        Lengths of chains up to each node (empty: any), and the rows whose last repetition may be their only one.
        """
        op, events = self._op, clock.events
        bare = np.ones(len(base), np.bool_)
        starts = np.ones(len(graph.row), np.bool_)
        if op.start:
            needed = frozenset().union(*(columns_of(term) for term in op.start))
            of_base = [base.columns[c] for c in op.final]
            bare = holds(op.start, (*base.columns, *of_base), len(base), events)
            columns: list[Column] = [
                take_column(column, graph.row) if c in needed else _NONE
                for c, column in enumerate(base.columns)
            ]
            columns += [self._band.column(graph.number, c) for c in range(self._element.width)]
            starts = holds(op.start, columns, len(graph.row), events)
        elif self._least <= 1:
            return _NONE, bare
        return chain_lengths(graph.nodes, graph.links, starts), bare

    def _rows(self, base: Rows, graph: ChainGraph, rows: I64, first: I64, chain: Sets) -> Rows:
        """Base rows by number, with what their chains hold in the columns of the last repetition."""
        columns: list[Column] = []
        for c, column in enumerate(base.columns):
            if c not in self._op.final:
                columns.append(take_column(column, rows))
            elif self._direct:
                columns.append(chain)
            else:
                columns.append(
                    _gathered(chain, self._band.column(graph.number, self._op.final.index(c)), column)
                )
        return Rows(first, base.last[rows], tuple(columns))


def repeated_shape(op: Repeat, base: RowShape) -> RowShape:
    """The shape of the base's rows with sets in the columns of the last repetition."""
    return RowShape(
        tuple(is_set or c in op.final for c, is_set in enumerate(base.sets)),
        base.optional,
        order=Order.of(pair for pair in base.order if pair[0] not in op.final and pair[1] not in op.final),
    )


def _neighbour_terms(op: Repeat, width: int, element: int) -> list[Expr]:
    """The terms over base 0.., later neighbour width.., and the element that precedes it after both."""
    base, first = range(width), range(width, width + element)
    second = range(first.stop, first.stop + element)
    return [
        *(term.moved([*base, *second]) for term in op.terms),
        *(term.moved([*base, *second, *first]) for term in op.adjacent),
    ]


def _gathered(chain: Sets, elements: Column, finals: Column) -> Sets:
    """The events of all repetitions of each chain, whose values number the elements and then the base rows."""
    if not isinstance(elements, Sets) and not isinstance(finals, Sets):
        values = np.concatenate([elements, finals])[chain.values]
        bound = values != UNBOUND
        if bound.all():
            return Sets(chain.offsets, values)
        return Sets(np.concatenate([[0], np.cumsum(bound)])[chain.offsets], values[bound])
    both = concat_columns([as_sets(elements), as_sets(finals)])
    assert isinstance(both, Sets)
    spread_out = both.take(chain.values)
    return Sets(spread_out.offsets[chain.offsets], spread_out.values)


def _estimated(counts: I64, meter: Meter, width: int) -> tuple[int, int]:
    """Chains and elements of all subsets, the most there can be, up to what is made at once."""
    subsets = np.exp2(np.minimum(counts, 40))
    # A small part of the memory that is left: values are there twice for a while.
    room, space = meter.share(64 * width, ROOM, FEWEST), meter.share(64, SPACE, FEWEST)
    return int(min(subsets.sum(), room)), int(min((subsets * (counts + 2) / 2).sum(), space))


def _blocks(rows: Rows, size: int) -> Iterator[Rows]:
    for start in range(0, len(rows), size):
        yield sliced(rows, slice(start, min(start + size, len(rows))))
