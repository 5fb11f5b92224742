"""Queries that are one family, however they came about: built in Python, or written with other names, orders or signs.

Two queries are alike if their patterns are, and their terms in canonical form are but for constants. The constants are
the columns of a table; each query is what the template is with its row of them.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from stretto.errors import Span
from stretto.pattern.canonical.terms import canonical_term, key
from stretto.pattern.comparisons import FLIPPED
from stretto.pattern.derived.families import Family
from stretto.pattern.derived.tables import LookupTable
from stretto.pattern.nodes import Atom, Combine, Pattern, Query, Stream, Window
from stretto.pattern.predicates import Apply, Changed, Const, Expr, Param, Value, rewrite
from stretto.pattern.workload import BoundWorkload
from stretto.plan.families.choosing import NoTemplate, chosen
from stretto.records import dataclass
from stretto.schema import Kind

FEWEST: Final = 64
"""Queries that are worth a template; of fewer the plan shares what they have in common."""
_SLOT: Final = "?"
_CONSTANT_KINDS: Final = (Kind.INT, Kind.FLOAT, Kind.STRING, Kind.TIME, Kind.DURATION)
# Where a constant of each member may stand: other functions are made for a constant that is known.
_READ_CONSTANTS: Final = frozenset(
    (*FLIPPED, "=", "!=", "in", "between", "and", "or", "not", "+", "-", "*", "/", "%")
)


@dataclass(frozen=True, slots=True)
class _Alike:
    """A query, or a family of a text, in the form in which it is compared with others.

    `form`: the query with a slot for each constant. `constants`: what stands in these, a constant or a column.
    """

    source: Query | Family
    form: Query
    constants: tuple[Const | Param, ...]

    @property
    def size(self) -> int:
        return 1 if isinstance(self.source, Query) else len(self.source.members)

    def values(self, slot: int) -> Sequence[Value]:
        """The constants of a slot, one per query; integers among doubles are doubles."""
        one = self.constants[slot]
        found = [one.value] * self.size if isinstance(one, Const) else _column(self.source, one.attribute)
        return [None if v is None else float(v) for v in found] if self.kind(slot) is Kind.FLOAT else found  # type: ignore[arg-type]

    def kind(self, slot: int) -> Kind:
        return self.constants[slot].kind

    @property
    def names(self) -> Iterable[str]:
        return (self.source.name,) if isinstance(self.source, Query) else self.source.names or ()

    @property
    def windows(self) -> Iterable[int]:
        if isinstance(self.source, Query):
            return (self.source.window.size,)
        return self.source.windows or (self.source.template.window.size,) * self.size

    def spans(self) -> Iterable[Span | None]:
        if isinstance(self.source, Query):
            return (self.source.span,)
        return (None,) * self.size if self.source.spans is None else self.source.spans()


def gathered(bound: BoundWorkload) -> BoundWorkload:
    """The workload with families in place of queries that are alike, if they are many."""
    sources = [query for query in bound.detections if query.thinning is None]
    written = [family for family in bound.templates if family.names is not None]
    several = len(written) > 1 or (sources and written)
    if not several and len(sources) < FEWEST:
        return bound
    groups: dict[Hashable, list[_Alike]] = {}
    both: list[Query | Family] = [*sources, *written]
    for one in map(_alike, both):
        groups.setdefault(one.form, []).append(one)
    found = [
        group for group in groups.values() if len(group) > 1 and sum(one.size for one in group) >= FEWEST
    ]
    families = {id(group): _family(group) for group in found}
    gone = {id(one.source) for group in found if families[id(group)] is not None for one in group}
    return replace(
        bound,
        detections=tuple(query for query in bound.detections if id(query) not in gone),
        templates=(
            *(family for family in bound.templates if id(family) not in gone),
            *(family for family in families.values() if family is not None),
        ),
    )


# ---- one query -----------------------------------------------------------------------------------------------


def _alike(source: Query | Family) -> _Alike:
    query = source if isinstance(source, Query) else source.template
    pattern, selected = _without_selections(query.pattern)
    terms = _ordered((*query.terms, *selected))
    having = _ordered(query.having)
    constants = tuple(constant for _, some in (*terms, *having) for constant in some)
    form = replace(
        query,
        name="",
        pattern=pattern,
        terms=tuple(shape for shape, _ in terms),
        having=tuple(shape for shape, _ in having),
        same=tuple(sorted(query.same)),
        window=query.window if query.window.unit == "events" else Window(0),
        span=None,
    )
    return _Alike(source, form, constants)


def _without_selections(node: Pattern) -> tuple[Pattern, tuple[Expr, ...]]:
    """A pattern whose single events are of whole streams, and the terms that select them."""
    match node:
        case Atom(variable, stream) if stream.where:
            own = Changed({0: variable})
            return replace(node, stream=Stream(stream.type)), tuple(term.moved(own) for term in stream.where)
        case Combine("SEQ" | "AND", parts):
            found = [_without_selections(part) for part in parts]
            return replace(node, parts=tuple(part for part, _ in found)), tuple(
                t for _, some in found for t in some
            )
    return node, ()


def _ordered(terms: Iterable[Expr]) -> list[tuple[Expr, tuple[Const | Param, ...]]]:
    """Terms with slots in place of constants, each with what stood there; sorted by their form."""
    return sorted((_shape(canonical_term(term)) for term in terms), key=lambda one: key(one[0]))


def _shape(term: Expr) -> tuple[Expr, tuple[Const | Param, ...]]:
    found: list[Const | Param] = []

    def slotted(node: Expr) -> Expr:
        match node:
            case Const(value, kind) if kind in _CONSTANT_KINDS and value is not None and value == value:  # noqa: PLR0124
                found.append(node)
            case Param():
                found.append(node)
            case Apply("to_float", (Param(attribute, _),), kind):
                found.append(Param(attribute, kind))
            case Apply(op, arguments, _) if op in _READ_CONSTANTS:
                return node.with_children(tuple(slotted(argument) for argument in arguments))
            case _:
                return node
        return Param(_SLOT, found[-1].kind)

    return slotted(term), tuple(found)


# ---- several -------------------------------------------------------------------------------------------------


def _family(group: Sequence[_Alike]) -> Family | None:
    """The family of queries that are alike; None where no template can run for them."""
    columns: dict[str, pa.Array] = {
        "name": pa.array([name for one in group for name in one.names], pa.string())
    }
    kinds = {"name": Kind.STRING}
    (first, *_) = group
    slots: list[Expr] = []
    for slot in range(len(first.constants)):
        values = [value for one in group for value in one.values(slot)]
        kind = first.kind(slot)
        if len(set(values)) == 1:
            slots.append(Const(values[0], kind))
            continue
        name = f"c{slot}"
        columns[name], kinds[name] = pa.array(values, kind.arrow), kind
        slots.append(Param(name, kind))
    names = tuple(name for one in group for name in one.names)
    windows = tuple(size for one in group for size in one.windows)
    counts = first.form.window.unit == "events"
    template = _placed(first, slots, names[0])
    try:
        chosen(template)
    except NoTemplate:
        return None
    table = LookupTable("constants", "the constants", pa.table(columns), kinds)
    spans = _Spans(tuple(one.spans for one in group))
    return Family(template, table, None, names, None if counts else windows, names, spans)


def _placed(first: _Alike, slots: Sequence[Expr], name: str) -> Query:
    """The template: what all of them say, with columns or common constants in the slots."""
    given = iter(slots)

    def rule(node: Expr) -> Expr | None:
        return next(given) if isinstance(node, Param) else None

    terms = tuple(rewrite(term, rule) for term in first.form.terms)
    having = tuple(rewrite(term, rule) for term in first.form.having)
    own = first.source if isinstance(first.source, Query) else first.source.template
    return replace(first.form, name=name, terms=terms, having=having, window=own.window, span=own.span)


def _column(source: Query | Family, name: str) -> Sequence[Value]:
    assert isinstance(source, Family)
    return source.table.values(name)


@dataclass(frozen=True, slots=True)
class _Spans:
    """Where the names of the queries stand; those that were built stand nowhere."""

    of: tuple[Callable[[], Iterable[Span | None]], ...]

    def __call__(self) -> list[Span | None]:
        return [span for some in self.of for span in some()]
