"""From the matches of a merged query to those of its members: which are whose, and what is left to check of them."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np
import pyarrow as pa

from stretto.memo.mops.patterns import first_atom
from stretto.pattern.nodes import Window
from stretto.pattern.normal import normalize
from stretto.pattern.predicates import Expr, numbered
from stretto.plan.dag import Plan, renumbered
from stretto.plan.families.members import Constants, FamilyMembers, Route, by_entry
from stretto.plan.front.channel_streams import class_of, is_member
from stretto.plan.front.merging import MergedQuery, QueryMember
from stretto.plan.ops import Emit, Filter, Op
from stretto.plan.record import Record
from stretto.records import dataclass


def with_members(plan: Plan, merged: Sequence[MergedQuery]) -> Plan:
    """The plan with an output for each member of its merged queries."""
    found = {one.query.name: one for one in merged}
    made = _Ops()
    queries: dict[str, int] = {}
    for number, (op, record) in enumerate(zip(plan.ops, plan.records, strict=True)):
        if not isinstance(op, Emit):
            made.add(number, op, record)
        elif op.query not in found:
            queries[op.query] = made.add(number, op, record)
        else:
            one = found[op.query]
            for alike in _alike(one):
                output = made.add_members(op, record, one, alike)
                queries[made.query(output)] = output
    return replace(plan, ops=tuple(made.ops), queries=queries, records=tuple(made.records))


@dataclass
class _Ops:
    """Operators; `places`: the numbers that those of the plan before have now."""

    ops: list[Op] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    _checked: dict[tuple[int, tuple[Expr, ...], Window | None], int] = field(default_factory=dict)

    def add(self, number: int, op: Op, record: Record) -> int:
        self.places[number] = self._append(renumbered(op, self.places), record)
        return self.places[number]

    def add_members(
        self, op: Emit, record: Record, merged: MergedQuery, members: Sequence[QueryMember]
    ) -> int:
        """The output of members that differ in whose first events they take, and in windows; its number."""
        (member, *others) = members
        query = member.query
        positive = [number for number, one in enumerate(query.variables) if not one.negated]
        terms, window = member.reported, None
        if not others:
            terms = (*_own(merged, member), *terms)
            window = None if member.extent is None else Window(member.extent)
        parts = tuple(
            self._part(self.places[part], [positive[i] for i in columns], terms, window, merged.rule)
            for part, columns in zip(op.parts, op.columns, strict=True)
        )
        emit = replace(
            op,
            query=f"queries like {query.name}" if others else query.name,
            variables=tuple(query.variables[number].name for number in positive),
            parts=parts,
            window=op.window if others else query.window,
            returns=normalize(query).returns if query.returns else (),
            route=_route(merged, members, numbered(positive)) if others else None,
        )
        return self._append(emit, replace(record, because=merged.rule, rows=None, cost=None))

    def query(self, number: int) -> str:
        """The query of an output."""
        op = self.ops[number]
        assert isinstance(op, Emit)
        return op.query

    def _part(
        self, part: int, variables: list[int], terms: tuple[Expr, ...], window: Window | None, rule: str
    ) -> int:
        """The rows of a part that are a member's; members that check the same share them."""
        if not terms and window is None:
            return part
        column = numbered(variables)
        moved = tuple(term.moved(column) for term in terms)
        key = part, moved, window
        if key not in self._checked:
            record = Record(rule, self.records[part].computed)
            self._checked[key] = self._append(Filter(part, moved, window), record)
        return self._checked[key]

    def _append(self, op: Op, record: Record) -> int:
        self.ops.append(op)
        self.records.append(record)
        return len(self.ops) - 1


def _alike(merged: MergedQuery) -> list[list[QueryMember]]:
    """Members that report the same of a match, and check the same of it."""
    found: dict[Hashable, list[QueryMember]] = {}
    for member in merged.members:
        names = tuple(variable.name for variable in member.query.variables)
        found.setdefault((names, member.query.returns, member.reported), []).append(member)
    return list(found.values())


def _own(merged: MergedQuery, member: QueryMember) -> Iterator[Expr]:
    """The term that a match is a member's."""
    if merged.channel is not None and member.number is not None:
        yield is_member(merged.channel, member.number, _first(merged))


def _first(merged: MergedQuery) -> int:
    atom = first_atom(merged.query)
    assert atom is not None
    return atom.variable


def _route(merged: MergedQuery, members: Sequence[QueryMember], columns: Mapping[int, int]) -> Route:
    """From a match to the members that its first event is of, and whose windows it fits into."""
    numbers = np.array([member.number or 0 for member in members], np.int64)
    count = int(numbers.max()) + 1
    windows = np.array([member.query.window.size for member in members], np.int64)
    all_that_is_found = all(member.extent is None for member in members)
    order, starts, sizes = by_entry(numbers, None if all_that_is_found else windows, count)
    names = pa.array([member.query.name for member in members], pa.string())
    family = FamilyMembers(members[0].query.name, order, starts, sizes, names)
    entry = None if merged.channel is None else class_of(merged.channel, columns[_first(merged)])
    return Route(family, Constants({}, {}, count), entry)
