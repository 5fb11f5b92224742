"""An ANY over single events as one chain of joins: n - 1 of them, where its alternatives are 2^n - n - 1.

MOTTO's DISJ is one node (sec. II): D_k, every non-empty set of events of the first k streams, is D_(k-1), an event of
stream k, or both. So a row has a column per stream, unbound where the set lacks it, and each set is a smaller one
joined with one more event, as among the alternatives, but all sets of a step are one operator's rows.

The alternatives are joins of their own for as long as another query reads one of them: AND(L) is the alternative with
all of L, which costs nothing more (Table I). Chains find the pairs that the alternatives find, at the same cost a pair;
what they save are operators.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stretto.pattern.nodes import Window
from stretto.pattern.order import NO_ORDER
from stretto.pattern.piece import Branch, Group, Piece, Slot
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit, Filter, Forbid, Join, Last, Next, Op, Repeat, Scan, Union
from stretto.plan.record import Computed, Record

RULE = "unite_disjunction"
FEWEST = 3
"""Streams from which on there are fewer joins."""


@dataclass(frozen=True, slots=True)
class _Lattice:
    """The alternatives of an ANY: `parts[s]` is the operator of the set s of scans, columns in the order of s."""

    emit: int
    window: Window
    parts: Mapping[tuple[int, ...], int]
    variables: Mapping[int, int]
    """By scan."""
    joins: frozenset[int]

    @property
    def scans(self) -> list[int]:
        return sorted(self.variables)


def unite_disjunctions(plan: Plan) -> Plan:
    """The same plan, with every ANY as a chain whose alternatives no other query reads."""
    found = [one for number in plan.queries.values() if (one := _lattice(plan, number)) is not None]
    own = {
        one.joins: {plan.serves(other.emit)[0] for other in found if other.joins == one.joins}
        for one in found
    }
    chains = [one for one in found if all(own[one.joins].issuperset(plan.serves(op)) for op in one.joins)]
    return _Rewriting(plan, {one.emit: one for one in chains}).run() if chains else plan


def _lattice(plan: Plan, number: int) -> _Lattice | None:
    emit = plan.ops[number]
    if not isinstance(emit, Emit) or emit.distinct or any(emit.kleene) or any(emit.waits):
        return None
    streams = len(emit.variables)
    if streams < FEWEST or len(emit.parts) != (1 << streams) - 1:
        return None
    scans = {
        columns[0]: part for part, columns in zip(emit.parts, emit.columns, strict=True) if len(columns) == 1
    }
    joins: set[int] = set()
    windows: set[Window] = set()
    parts: dict[tuple[int, ...], int] = {}
    for part, columns in zip(emit.parts, emit.columns, strict=True):
        leaves = _leaves(plan, part, joins, windows)
        if leaves is None or leaves != [scans.get(column) for column in columns]:
            return None
        parts[tuple(sorted(leaves))] = part
    if len(scans) != streams or len(set(scans.values())) != streams or len(windows) != 1:
        return None
    variables = {scan: variable for variable, scan in scans.items()}
    return _Lattice(number, windows.pop(), parts, variables, frozenset(joins))


def _leaves(plan: Plan, number: int, joins: set[int], windows: set[Window]) -> list[int] | None:
    """The scans below an operator, by its columns; None where it does more than to put their events together."""
    op = plan.ops[number]
    if isinstance(op, Scan):
        return [number]
    if not isinstance(op, Join) or op.order != "any" or op.terms or op.distinct or op.same:
        return None
    joins.add(number)
    windows.add(op.window)
    left, right = (_leaves(plan, side, joins, windows) for side in op.inputs)
    return None if left is None or right is None else [*left, *right]


@dataclass(slots=True)
class _Rewriting:
    """The plan anew, operator by operator: joins of alternatives left out, chains before their first Emit."""

    plan: Plan
    chains: Mapping[int, _Lattice]
    ops: list[Op] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    made: dict[frozenset[int], list[tuple[int, tuple[int, ...]]]] = field(default_factory=dict)

    def run(self) -> Plan:
        gone = frozenset[int]().union(*(one.joins for one in self.chains.values()))
        for number, op in enumerate(self.plan.ops):
            if number in gone:
                continue
            moved = (
                self._emit(op, self.chains[number]) if number in self.chains else renumbered(op, self.places)
            )
            self.places[number] = self._add(moved, self.plan.records[number])
        queries = {query: self.places[number] for query, number in self.plan.queries.items()}
        return replace(self.plan, ops=tuple(self.ops), records=tuple(self.records), queries=queries)

    def _add(self, op: Op, record: Record) -> int:
        self.ops.append(op)
        self.records.append(record)
        return len(self.ops) - 1

    def _emit(self, op: Op, lattice: _Lattice) -> Emit:
        assert isinstance(op, Emit)
        if lattice.joins not in self.made:
            self.made[lattice.joins] = list(self._chain(lattice))
        parts = self.made[lattice.joins]
        columns = tuple(tuple(lattice.variables[scan] for scan in scans) for _, scans in parts)
        return replace(
            op, parts=tuple(part for part, _ in parts), columns=columns, waits=(False,) * len(parts)
        )

    def _chain(self, lattice: _Lattice) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The operators whose rows are the sets, each once, with the scans that their columns are of."""
        # The rarest first: what is joined next is kept and read again by every later join.
        rows = {scan: self.plan.records[scan].rows or 0.0 for scan in lattice.scans}
        scans = tuple(sorted(lattice.scans, key=lambda scan: (rows[scan], scan)))
        so_far = self.places[scans[0]]
        yield so_far, scans[:1]
        for count in range(1, len(scans)):
            here, event = scans[: count + 1], self.places[scans[count]]
            sets = [some for some in lattice.parts if set(some) <= set(here)]
            new = [some for some in sets if scans[count] in some and len(some) > 1]
            both = self._add(
                Join(so_far, event, lattice.window), self._record(lattice, here, new, priced=True)
            )
            yield event, here[-1:]
            yield both, here
            if len(here) < len(scans):
                columns = (tuple(range(count)), (count,), tuple(range(count + 1)))
                union = Union(
                    (so_far, event, both), columns, count + 1, (False,) * (count + 1), distinct=False
                )
                so_far = self._add(union, self._record(lattice, here, sets, priced=False))

    def _record(
        self, lattice: _Lattice, scans: Sequence[int], sets: Sequence[tuple[int, ...]], *, priced: bool
    ) -> Record:
        """What rows over these scans are: those of some sets of them, at the cost of these sets' alternatives."""
        known = [self.plan.records[lattice.parts[some]] for some in sets]
        branches = tuple(self._branch(lattice, scans, some) for some in sets)
        piece = Piece((Slot(Group(len(scans), branches)),), NO_ORDER, (), (), (), lattice.window)
        rows = [record.rows for record in known if record.rows is not None]
        costs = [record.cost for record in known if record.cost is not None] if priced else []
        return Record(
            RULE,
            Computed.whole(piece),
            sum(rows) if len(rows) == len(known) else None,
            sum(costs) if costs else None,
        )

    def _branch(self, lattice: _Lattice, scans: Sequence[int], some: tuple[int, ...]) -> Branch:
        part = lattice.parts[some]
        computed = self.plan.records[part].computed
        assert computed is not None
        leaves = _leaves(self.plan, part, set(), set())
        assert leaves is not None
        return Branch(computed.form(), tuple(scans.index(scan) for scan in leaves))


def renumbered(op: Op, places: Mapping[int, int]) -> Op:
    """The same operator over inputs that have other numbers."""
    match op:
        case Join(left, right):
            return replace(op, left=places[left], right=places[right])
        case Filter(source):
            return replace(op, input=places[source])
        case Repeat(base, element):
            return replace(op, base=places[base], element=places[element])
        case Forbid(source, events):
            return replace(op, input=places[source], events=places[events])
        case Next(steps):
            return replace(op, steps=tuple(places[step] for step in steps))
        case Last(steps, gaps=gaps):
            moved = tuple(replace(gap, events=places[gap.events]) for gap in gaps)
            return replace(op, steps=tuple(places[step] for step in steps), gaps=moved)
        case Union(parts) | Emit(parts=parts):
            return replace(op, parts=tuple(places[part] for part in parts))
    return op
