"""The plan: operators in topological order, the query each Emit answers, and what follows from them."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from html import escape
from importlib import import_module
from typing import Any

from stretto.explain.json import explanation_json
from stretto.explain.model import Estimate
from stretto.explain.numbers import in_format
from stretto.explain.text import explanation_text
from stretto.pattern.derived.streams import DerivedStream
from stretto.pattern.nodes import Window
from stretto.pattern.predicates import Expr, Reduce, Ref, partition_of, walk
from stretto.pattern.workload import Workload
from stretto.plan.explanation import explanation, piece_texts
from stretto.plan.front.stages import Front
from stretto.plan.ops import Emit, Filter, Forbid, Join, Last, Next, Op, Repeat, Scan, Union
from stretto.plan.placement.placement import Placement
from stretto.plan.record import Record
from stretto.records import dataclass
from stretto.schema import Kind, Schema
from stretto.screen import counted
from stretto.solve.common.solution import Replay
from stretto.trends.plan import TrendPlan

SHOWN = 200
"""Operators that a notebook lists."""


@dataclass(frozen=True, repr=False)
class Plan:
    """Operators that answer every query of a workload; inputs stand before their users.

    `queries` gives the number of each query's Emit, `records` what is kept of each operator. `trends`: the plan of the
    trend queries, if there are any. `workload`: what it was planned for, so that it can be planned anew. `front`: what
    makes the derived streams that queries read. `placement`: the units that operators run on; None: all on one.
    `functions`: those of users that it calls, as the Spark room sends them to workers.
    `replay`: what was expected of units when it was chosen for them.
    """

    ops: tuple[Op, ...]
    queries: Mapping[str, int]
    records: tuple[Record, ...]
    schema: Schema
    optimizer: str
    estimate: Estimate | None = None
    workload: Workload | None = field(default=None, compare=False, repr=False)
    trends: TrendPlan | None = None
    front: Front | None = None
    placement: Placement | None = None
    functions: bytes = field(default=b"", compare=False, repr=False)
    replay: Replay | None = None

    @property
    def columns(self) -> Mapping[str, Kind]:
        """The kinds of all columns that events may have, raw and derived ones."""
        return self.schema.attributes if self.front is None else self.front.columns

    @property
    def records_cost(self) -> float:
        """What its operators cost per second, reading the events left aside, as far as that was estimated."""
        return sum(record.cost or 0.0 for record in self.records)

    @property
    def text_ids(self) -> bool:
        """Whether the ids of events are texts; else they are integers."""
        return self.schema.attributes.get(self.schema.special.id) is Kind.STRING

    @property
    def derived(self) -> tuple[DerivedStream, ...]:
        """The derived streams that its queries read."""
        return () if self.front is None else self.front.streams

    @property
    def names(self) -> tuple[str, ...]:
        """The names that matches may have, in the order of the workload; the members of a table have one together."""
        found: dict[str, None] = {}
        for one in (self, *(() if self.front is None else (side.plan for side in self.front.sides))):
            for query, number in one.queries.items():
                op = one.ops[number]
                members = op.route.members if isinstance(op, Emit) and op.route is not None else None
                if members is None:
                    found[query] = None
                else:
                    own = [members.family] if members.names is None else members.names.to_pylist()
                    found |= dict.fromkeys(own)
        return tuple(found)

    def serves(self, op: int) -> tuple[str, ...]:
        """The queries whose matches depend on an operator, in the order of their Emits."""
        return self._serves[op]

    def readers(self, op: int) -> tuple[int, ...]:
        """The operators that read this one, each once."""
        return self._readers[op]

    def width(self, op: int) -> int:
        return len(self._sets[op])

    def sets(self, op: int) -> tuple[bool, ...]:
        """Which columns of an operator's rows hold sets."""
        return self._sets[op]

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """What each operator computes, as a pattern over its columns."""
        return piece_texts(self)

    def attributes(self) -> frozenset[str]:
        """All attributes of events that some operator or RETURN reads; `specials` are not among them."""
        return frozenset(name for name in self._names if not is_special(name))

    def specials(self) -> frozenset[str]:
        """Those of `ts`, `@position` and `@position(..)` that some operator or RETURN reads."""
        return frozenset(name for name in self._names if is_special(name))

    @property
    def horizon_us(self) -> int:
        """How far back in time a match that is not certain yet may look, in microseconds; 0: by no window of time."""
        if self.front is None:
            return self._horizon("us")
        # Queries that count positions are plans of their own, over the same streams.
        sides = (side.plan.horizon_us for side in self.front.sides)
        return max(self._horizon("us"), *sides, 0) + self.front.reach_us

    @property
    def horizon_events(self) -> int:
        """The same in events, for windows of events."""
        front = 0 if self.front is None else self.front.horizon_events
        return max(self._horizon("events"), front)

    def explain(self, format: str = "text", *, limit: int | None = None) -> str:  # noqa: A002 - public
        """The plan as `text` or `json`; the text of a large plan can be cut after `limit` operators."""
        found = explanation(self)
        return in_format(
            format, lambda: explanation_text(found, limit=limit), lambda: explanation_json(found)
        )

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        trends = () if self.trends is None else self.trends.queries
        queries = counted(len(self.queries) + len(trends), "query")
        return f"<Plan by {self.optimizer}: {queries}, {counted(len(self.ops), 'operator')}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """The text, and the page with the drawing, for a notebook."""
        page = import_module("stretto.explain.html.page").explain_page(explanation(self))  # when it is shown
        frame = f'<iframe srcdoc="{escape(page)}" style="width: 100%; height: 40em; border: 0"></iframe>'
        return {"text/plain": self.explain(limit=SHOWN), "text/html": frame}

    def _horizon(self, unit: str) -> int:
        longest = max((w.size for op in self.ops if (w := window_of(op)) and w.unit == unit), default=0)
        if self.trends is not None and unit == "us":
            longest = max(longest, *(query.window_us for query in self.trends.queries))
        # A match that waits until first + d may have been judged by what happened since last - d.
        places = {op.place for op in self.ops if isinstance(op, Forbid)}
        twice = any(place.looks_back for place in places) and any(place.waits for place in places)
        return 2 * longest if twice else longest

    @cached_property
    def _sets(self) -> tuple[tuple[bool, ...], ...]:
        known: list[tuple[bool, ...]] = []
        for op in self.ops:
            known.append(sets_of(op, known))
        return tuple(known)

    @cached_property
    def _readers(self) -> tuple[tuple[int, ...], ...]:
        readers: list[dict[int, None]] = [{} for _ in self.ops]
        for number, op in enumerate(self.ops):
            for source in op.inputs:
                readers[source][number] = None
        return tuple(map(tuple, readers))

    @cached_property
    def _serves(self) -> tuple[tuple[str, ...], ...]:
        emits: list[dict[int, None]] = [{} for _ in self.ops]
        for number in range(len(self.ops) - 1, -1, -1):
            op = self.ops[number]
            if isinstance(op, Emit):
                emits[number][number] = None
            for source in op.inputs:
                emits[source].update(emits[number])
        names = {number: query for query, number in self.queries.items()}
        return tuple(tuple(names[emit] for emit in sorted(found)) for found in emits)

    @cached_property
    def _names(self) -> frozenset[str]:
        terms = [term for op in self.ops for term in expressions(op)]
        emits = (op for op in self.ops if isinstance(op, Emit))
        listings = [listing for op in emits for under in op.listings for listing in under]
        names = {leaf.column for listing in listings for leaf in listing.leaves}
        if self.trends is not None:
            terms += [term for node in self.trends.nodes for term in node.stream.where]
            for query in self.trends.queries:
                terms += query.terms
                names |= {*query.groups, *query.same, *(one.attribute for one in query.aggregates)} - {""}
        nodes = (node for term in terms for node in walk(term))
        return frozenset(
            names | {node.attribute for node in nodes if isinstance(node, Ref | Reduce) and node.attribute}
        )


def need_plan(given: Any) -> Plan:
    """The plan that was given; TypeError with what makes one where it is none."""
    if not isinstance(given, Plan):
        raise TypeError(
            f"an engine runs a stretto.Plan, as stretto.optimize(workload, events) makes it, not {type(given).__name__}"
        )
    return given


def attributes_of(plan: Plan) -> frozenset[str]:
    """The attributes of raw events that a plan reads, those that partition a count of positions too."""
    read, front = read_columns(plan), plan.front
    return read if front is None else (read & front.attributes) | front.raw


def read_columns(plan: Plan) -> frozenset[str]:
    """The columns that a plan's operators read, those of derived streams too."""
    return plan.attributes() | {key for name in plan.specials() for key in partition_of(name)}


def is_special(attribute: str) -> bool:
    return attribute == "ts" or attribute.startswith("@")


def window_of(op: Op) -> Window | None:
    """The window an operator keeps, if it keeps one."""
    return op.window if isinstance(op, Join | Repeat | Forbid | Next | Last | Emit) else None


def expressions(op: Op) -> Iterator[Expr]:
    """Every expression an operator evaluates."""
    match op:
        case Scan():
            yield from op.stream.where
        case Join() | Filter() | Forbid():
            yield from op.terms
        case Next():
            yield from (*op.terms, *op.having)
        case Last():
            yield from (*op.same, *op.terms, *(term for gap in op.gaps for term in gap.terms))
        case Repeat():
            yield from (*op.terms, *op.adjacent, *op.start)
        case Emit():
            yield from (returned.value for returned in op.returns)
            if op.route is not None:
                yield from op.route.terms
                yield from () if op.route.entry is None else (op.route.entry,)


def sets_of(op: Op, known: list[tuple[bool, ...]]) -> tuple[bool, ...]:
    """Which columns of an operator's rows hold sets, given the same of the operators before it."""
    match op:
        case Scan():
            return (False,)
        case Join():
            right = known[op.right]
            return known[op.left] + tuple(right[column] for column in op.added(len(right)))
        case Filter() | Forbid():
            return known[op.input]
        case Repeat():
            return tuple(held or i in op.final for i, held in enumerate(known[op.base]))
        case Next():
            return tuple(bounds != (1, 1) for bounds in op.bounds)
        case Last():
            return (False,) * len(op.steps)
        case Union():
            return op.sets
        case Emit():
            return op.kleene
    raise TypeError(f"not an operator: {type(op).__name__}")


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
