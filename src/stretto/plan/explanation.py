"""A plan as an explanation: one row for each operator, for the events of trends and for each of their units."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from stretto.errors import StrettoError
from stretto.explain.model import Explanation, Meaning, Row, Run, TrendEdge
from stretto.pattern.describe import (
    conjunction_text,
    duration_text,
    place_text,
    repetition_text,
    shape_text,
    stream_text,
    term_text,
    window_text,
)
from stretto.pattern.nodes import Thinning
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Expr, Ref
from stretto.plan.families.members import Route
from stretto.plan.front.rows import SIDE, front_rows
from stretto.plan.ops import Emit, Filter, Forbid, Join, Last, Next, Op, Repeat, Scan, Union
from stretto.plan.record import Computed
from stretto.plan.trend_rows import trend_edges, trend_rows
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.trends.work import TrendWork

if TYPE_CHECKING:
    from stretto.plan.dag import Plan


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run did: rows that each operator gave (matches, of an Emit) and its seconds of processor time.

    `span` are the seconds from the first event to the last, `elapsed` those that the whole run took, `worked` those of
    its processor time. `trends`: what was
    done for trend queries, if there are any, and `totals` how many rows of totals each of them has.
    """

    rows: Sequence[int]
    seconds: Sequence[float]
    events: int
    span: float
    elapsed: float
    trends: TrendWork | None = None
    totals: Mapping[str, int] = field(default_factory=dict)
    worked: float | None = None


def explanation(plan: "Plan", measured: Measured | None = None) -> Explanation:
    """All that EXPLAIN shows of a plan, and of a run of it, if there was one."""
    if measured is not None and not len(measured.rows) == len(measured.seconds) == len(plan.ops):
        raise StrettoError(f"measured {len(measured.rows)} operators of a plan of {len(plan.ops)}")
    rows = [_row(plan, number, meaning, measured) for number, meaning in enumerate(_meanings(plan))]
    queries, run, trends = dict(plan.queries), None, plan.trends
    edges: tuple[TrendEdge, ...] = ()
    if trends is not None:
        rows += trend_rows(trends, len(rows), None if measured is None else measured.trends)
        edges = trend_edges(trends, len(plan.ops))
        first = len(rows) - len(trends.units)
        queries |= {
            trends.queries[member.query].name: first + number
            for number, unit in enumerate(trends.units)
            for member in unit.members
        }
    if plan.front is not None:
        made = front_rows(plan, len(rows))
        queries |= {row.serves[0]: row.id for row in made if row.kind == SIDE}
        rows += made
    if measured is not None:
        names = () if trends is None else (query.name for query in trends.queries)
        totals = {name: measured.totals.get(name, 0) for name in names}
        run = Run(measured.events, measured.span, measured.elapsed, totals, measured.worked)
    text = "" if plan.workload is None else plan.workload.text or plan.workload.to_text()
    families = _families(plan)
    return Explanation(plan.optimizer, tuple(rows), queries, edges, plan.estimate, run, text, families)


def _families(plan: "Plan") -> dict[str, int]:
    """The queries of each family that is answered as one."""
    sides = () if plan.front is None else (side.plan for side in plan.front.sides)
    emits = (op for one in (plan, *sides) for op in one.ops if isinstance(op, Emit) and op.route is not None)
    return {op.query: len(op.route.members) for op in emits if op.route is not None and not op.route.alone}


def piece_texts(plan: "Plan") -> tuple[str, ...]:
    """What each operator computes, as a pattern over its columns; an Emit names its variables."""
    return tuple(meaning.text for meaning in _meanings(plan))


def _meanings(plan: "Plan") -> list[Meaning]:
    found: list[Meaning] = []
    for op, record in zip(plan.ops, plan.records, strict=True):
        found.append(_meaning(op, record.computed, found))
    return found


def _meaning(op: Op, computed: Computed | None, known: Sequence[Meaning]) -> Meaning:
    if isinstance(op, Emit):
        return Meaning(lambda: None, lambda: _emitted(op, known))
    found = Meaning((lambda: None) if computed is None else computed.form, lambda: _shape(found.form))
    return found


def _shape(form: object, names: Sequence[str] | None = None) -> str:
    return shape_text(form, names or columns(form.width)) if isinstance(form, Piece) else ""


def _emitted(op: Emit, known: Sequence[Meaning]) -> str:
    """The pieces of the parts with the variables in the place of their columns."""
    parts = zip(op.parts, op.columns, strict=True)
    texts = [_shape(known[part].form, [op.variables[i] for i in targets]) for part, targets in parts]
    return texts[0] if len(texts) == 1 else f"OR({', '.join(texts)})"


def _row(plan: "Plan", number: int, meaning: Meaning, measured: Measured | None) -> Row:
    op, record, served = plan.ops[number], plan.records[number], plan.serves(number)
    window = op.window if isinstance(op, Join | Filter | Repeat | Forbid | Next | Last) else None
    return Row(
        number,
        type(op).__name__.lower(),
        op.inputs,
        " ".join(_words(plan, op)) + (f"  within {window_text(window)}" if window else ""),
        meaning,
        served,
        record.because,
        record.rows,
        record.cost,
        None if measured is None else measured.rows[number],
        None if measured is None else measured.seconds[number],
        is_shared=len(served) > 1,
        members=_members(op),
    )


def _members(op: Op) -> Callable[[], Sequence[str]] | None:
    """The queries of a family, listed when they are asked for."""
    return partial(list, op.route.members.places) if isinstance(op, Emit) and op.route is not None else None


# ---- what an operator does ---------------------------------------------------------------------------------


def _words(plan: "Plan", op: Op) -> Iterator[str]:
    """What an operator does, in the words of its line; all but its window."""
    match op:
        case Scan():
            yield f"scan {stream_text(op.stream)}"
        case Join():
            width = plan.width(op.left)
            yield f"join n{op.left} n{op.right}"
            if op.order == "before":
                yield "in order"
            if op.same:
                yield f"sharing {', '.join(column_name(left) for left, _ in op.same)}"
            added = op.added(plan.width(op.right))
            yield from _terms("where", op.terms, columns(width + len(added) if op.terms else 0))
            names = {column: column_name(width + i) for i, column in enumerate(added)}
            yield from _distinct((left, names[right]) for left, right in op.distinct)
            if not op.hashed:
                yield "without hashing"
        case Filter():
            yield f"filter n{op.input}"
            if op.bound:
                yield f"with all of {', '.join(map(column_name, op.bound))}"
            yield from _terms("where", op.terms, columns(plan.width(op.input)))
        case Repeat():
            yield from _repeat_words(plan, op)
        case Forbid():
            scanned = plan.ops[op.events]
            kind = scanned.stream.type if isinstance(scanned, Scan) else "?"
            after, before = (", ".join(map(column_name, places)) for places in (op.after, op.before))
            place = place_text(op.place, after, before)
            yield f"forbid n{op.events} in n{op.input}: {kind} {place}"
            yield from _terms("where", op.terms, [*columns(plan.width(op.input) if op.terms else 0), "it"])
            yield from _distinct((column, "it") for column in op.distinct)
        case Next():
            marks = zip(op.steps, op.bounds[op.begun - 1 :], strict=True)
            yield f"next {' '.join(f'n{step}{repetition_text(*bounds)}' for step, bounds in marks)}"
            yield from _terms("where", op.terms, columns(len(op.bounds)))
            yield from _terms("having", op.having, columns(len(op.bounds)))
        case Last():
            yield from _last_words(op)
        case Union():
            yield "union"
            yield from _parts(op, columns(op.width))
        case Emit():
            yield f"emit {op.query}:"
            yield from _parts(op, op.variables)
            if op.route is not None:
                yield from _routed(op.route, op.variables)
            if any(op.waits):
                late = (f"n{part}" for part, waits in zip(op.parts, op.waits, strict=True) if waits)
                some = "at once, or for some matches " if op.open_ends else ""
                yield f"{some}when the window of {', '.join(late)} has passed"
            if op.shown:
                values = (f"{term_text(r.value, op.variables)} as {r.name}" for r in op.shown)
                yield f"returning {', '.join(values)}"
            if op.thinning is not None:
                yield from _thinned(op, op.thinning)


def _thinned(op: Emit, thinning: Thinning) -> Iterator[str]:
    per = [term_text(item.value, op.variables) for item in op.returns if item.hidden]
    if thinning.word != "ALL":
        lasting = f" for {duration_text(thinning.lasting_us)}" if thinning.lasting_us else ""
        yield f"keep {thinning.word.lower()}" + (f" per {', '.join(per)}" if per else "") + lasting
    if thinning.most:
        yield f"limit {thinning.most} per {duration_text(thinning.stretch_us)}"


def _routed(route: Route, names: Sequence[str]) -> Iterator[str]:
    """Who gets the matches of a family's template, and how they are found."""
    count = len(route.members)
    yield f"to {count:,} {'query' if count == 1 else 'queries'} like {route.members.family}"
    if route.alone:
        yield f"(one query per row: {route.alone})"
    if isinstance(route.entry, Ref) and route.entry.kind is Kind.STRING:
        yield f"by the class of {term_text(route.entry, names).rpartition('.')[0].partition('.')[0]}"
    elif route.entry is not None or route.terms:
        how = "that its events were paired with" if route.entry is not None else "found by an index"
        yield f"by {len(route.entries):,} combinations of constants {how}"
    yield from _terms("where", route.terms, names)
    if route.members.windows is not None:
        yield f"and by {len(set(route.members.windows.tolist())):,} windows"


def _repeat_words(plan: "Plan", op: Repeat) -> Iterator[str]:
    base, width = columns(plan.width(op.base)), len(op.final)
    new = _repetition_names("new", width)
    neighbours = [*_repetition_names("earlier", width), *_repetition_names("later", width)]
    source = "rows that agree" if op.agreeing else f"n{op.element}"
    yield f"repeat {source} in n{op.base} at {', '.join(map(column_name, op.final))}"
    yield repetition_text(op.low, op.high)
    yield from _terms("where", op.terms, [*base, *new])
    yield from _terms("neighbours", op.adjacent, [*base, *neighbours])
    yield from _terms("start", op.start, [*base, *_repetition_names("first", width)])
    yield from _distinct((column, new[own]) for column, own in op.distinct)


def _last_words(op: Last) -> Iterator[str]:
    names = columns(len(op.steps))
    yield f"last {' '.join(f'n{step}' for step in op.steps)}"
    if op.same:
        yield "per " + ", ".join(term_text(key, ("",)) for key in op.same)
    yield from _terms("where", op.terms, names)
    for gap in op.gaps:
        yield f"without n{gap.events} after {column_name(gap.after)}"
        yield from _terms("where", gap.terms, [*names, "it"])


def _repetition_names(word: str, width: int) -> list[str]:
    """Names for the columns of one repetition; one column needs no number."""
    return [word] if width == 1 else [f"{word}.{column_name(column)}" for column in range(width)]


def _parts(op: Union | Emit, names: Sequence[str]) -> Iterator[str]:
    for part, targets in zip(op.parts, op.columns, strict=True):
        yield f"n{part}({', '.join(names[target] for target in targets)})"
    if op.distinct:
        yield "once each"


def _terms(word: str, terms: Sequence[Expr], names: Sequence[str]) -> Iterator[str]:
    if terms:
        yield f"{word} {conjunction_text(terms, names)}"


def _distinct(pairs: Iterable[tuple[int, str]]) -> Iterator[str]:
    found = [f"{column_name(one)} is not {other}" for one, other in pairs]
    if found:
        yield f"where {' AND '.join(found)}"


def columns(width: int) -> list[str]:
    """The names of so many columns."""
    return [column_name(column) for column in range(width)]


def column_name(column: int) -> str:
    return f"c{column}"
