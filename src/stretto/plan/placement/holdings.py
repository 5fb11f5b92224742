"""How many events of each type the rows of operators hold: what decides which types can be divided among cells."""

from collections.abc import Mapping, Sequence
from typing import Final

from stretto.plan.dag import Plan
from stretto.plan.ops import Emit, Filter, Forbid, Join, Last, Next, Repeat, Scan, Union

MANY: Final = 2
"""Any number of events, or one that must be seen everywhere."""

Counts = Mapping[str, int]
"""For a kind of row how many events of each type it holds: none, one, or MANY."""


def read_types(plan: Plan) -> frozenset[str]:
    """The types of events that a plan reads."""
    return frozenset(op.stream.type for op in plan.ops if isinstance(op, Scan))


def divisible(plan: Plan) -> list[str]:
    """The types that can be divided: every query's matches hold one event of them, or none ever does."""
    held = Holdings(plan)
    return [
        name
        for name in sorted(read_types(plan))
        if all(held.why_not_divided(query, name) is None for query in plan.queries)
        and any(name in held.once(query) for query in plan.queries)
    ]


class Holdings:
    """What the rows of a plan's operators hold; rows of one operator may be of several kinds."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._known: dict[int, Sequence[Counts]] = {}

    def once(self, query: str) -> frozenset[str]:
        """The types of which every match of a query holds exactly one event."""
        return _once(self._of_query(query))

    def once_in(self, number: int) -> frozenset[str]:
        """The types of which every row of an operator holds exactly one event."""
        op = self._plan.ops[number]
        return self.once(op.query) if isinstance(op, Emit) else _once(self._of(number))

    def why_not_divided(self, query: str, name: str) -> str | None:
        """Why matches of a query would be lost or found twice if a type were divided; None if all is well."""
        found = {counts.get(name, 0) for counts in self._of_query(query)}
        if found <= {0} or found == {1}:
            return None
        if MANY in found:
            return "it may be bound several times, forbidden, or taken by SELECT NEXT or LAST"
        return "not every match holds exactly one event of it"

    def _of_query(self, query: str) -> Sequence[Counts]:
        emit = self._plan.ops[self._plan.queries[query]]
        assert isinstance(emit, Emit)
        return [counts for part in emit.parts for counts in self._of(part)]

    def _of(self, number: int) -> Sequence[Counts]:
        if number not in self._known:
            unique = {tuple(sorted(counts.items())) for counts in self._held(number)}
            self._known[number] = [dict(counts) for counts in unique]
        return self._known[number]

    def _held(self, number: int) -> Sequence[Counts]:
        plan = self._plan
        op = plan.ops[number]
        match op:
            case Scan():
                return [{op.stream.type: 1}]
            case Filter():
                return self._of(op.input)
            case Forbid():
                forbidden = plan.ops[op.events]
                assert isinstance(forbidden, Scan)
                return [{**found, forbidden.stream.type: MANY} for found in self._of(op.input)]
            case Repeat():
                if op.agreeing:
                    element = {_type_at(plan, op.base, column) for column in op.final}
                else:
                    element = {name for found in self._of(op.element) for name in found}
                return [{**found, **dict.fromkeys(element, MANY)} for found in self._of(op.base)]
            case Join():
                shared = [_type_at(plan, op.left, left) for left, _ in op.same]
                lefts, rights = self._of(op.left), self._of(op.right)
                return [_together(one, other, shared) for one in lefts for other in rights]
            case Union():
                return [found for part in op.parts for found in self._of(part)]
            case Next() | Last():
                held = (name for step in op.inputs for found in self._of(step) for name in found)
                return [dict.fromkeys(held, MANY)]
        raise TypeError(f"no rows come from an operator {type(op).__name__}")


def _once(counts: Sequence[Counts]) -> frozenset[str]:
    return frozenset(name for name in counts[0] if all(found.get(name) == 1 for found in counts))


def _together(one: Mapping[str, int], other: Mapping[str, int], shared: Sequence[str]) -> dict[str, int]:
    """What a pair of rows holds; an event that both hold is one."""
    counts = {name: one.get(name, 0) + other.get(name, 0) for name in {*one, *other}}
    for name in shared:
        if MANY not in (one.get(name), other.get(name)):
            counts[name] -= 1
    return {name: min(count, MANY) for name, count in counts.items()}


def _type_at(plan: Plan, number: int, column: int) -> str:
    """The type of the one event in a column of an operator's rows."""
    op = plan.ops[number]
    match op:
        case Scan():
            return op.stream.type
        case Filter() | Forbid():
            return _type_at(plan, op.input, column)
        case Repeat():
            return _type_at(plan, op.base, column)
        case Join():
            width = plan.width(op.left)
            if column < width:
                return _type_at(plan, op.left, column)
            return _type_at(plan, op.right, op.added(plan.width(op.right))[column - width])
        case Union():
            places = [
                (part, columns.index(column))
                for part, columns in zip(op.parts, op.columns, strict=True)
                if column in columns
            ]
            return _type_at(plan, *places[0])
    raise TypeError(f"no single event comes from an operator {type(op).__name__}")
