"""EXPLAIN: a plan as numbered lines or as JSON, the same in every process."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stretto.errors import StrettoError
from stretto.explain.numbers import factor_text, rate_text, share_text, time_text
from stretto.pattern.describe import stream_text, term_text, window_text
from stretto.pattern.predicates import Apply, Expr
from stretto.plan.ops import Emit, Filter, Forbid, Join, Next, Op, Repeat, Scan, Union
from stretto.plan.pieces import Absence, column_name, repetition
from stretto.screen import as_lines
from stretto.trends.explain import trends_json, trends_text

if TYPE_CHECKING:
    from stretto.plan.dag import Estimate, Plan

FORMATS = ("text", "json")
SHOWN = 4  # queries named on one line; a scan can serve thousands


def explain(plan: "Plan", format: str = "text", *, limit: int | None = None) -> str:  # noqa: A002
    """The plan in one of the FORMATS; `limit` cuts the text after so many operators."""
    if format == "text":
        return explain_text(plan, limit=limit)
    if format == "json":
        return json.dumps(explain_json(plan), indent=2)
    raise StrettoError(f"unknown format `{format}` of EXPLAIN; there are: {', '.join(FORMATS)}")


def explain_text(plan: "Plan", *, limit: int | None = None) -> str:
    """One numbered line per operator: what it does, what it reads, which queries it serves, by which rule.

    With an estimate also its rows and cost, and above the lines what the whole costs and what sharing saves.
    """
    if plan.trends is not None:
        own = "" if not plan.queries else explain_text(replace(plan, trends=None), limit=limit)
        return own + trends_text(plan.trends)
    shown = plan.ops if limit is None else plan.ops[:limit]
    lines = [
        f"plan by {plan.optimizer}: {counted(len(plan.ops), 'operator')}, {counted(len(plan.queries), 'query')}"
    ]
    if plan.estimate is not None:
        lines += [cost_line(plan.estimate), sharing_line(plan, plan.estimate)]
    lines += (f"n{number} = {'  '.join(_parts_of_line(plan, number))}" for number in range(len(shown)))
    if len(shown) < len(plan.ops):
        lines.append(f".. and {counted(len(plan.ops) - len(shown), 'more operator')}")
    return as_lines(lines) + "\n"


def explain_json(plan: "Plan") -> dict[str, Any]:
    """The plan as an object; rows and costs are null where no statistics gave them."""
    known = plan.estimate
    operators = [
        {
            "id": number,
            "op": kind_of(op),
            "inputs": list(op.inputs),
            "piece": plan.pieces[number],
            "serves": list(plan.serves(number)),
            "rows": None if known is None else known.rows[number],
            "cost": None if known is None else known.costs[number],
            "because": plan.because[number],
        }
        for number, op in enumerate(plan.ops)
    ]
    return {
        "optimizer": plan.optimizer,
        "cost": None if known is None else known.cost,
        "lower_bound": None if known is None else known.lower_bound,
        "gap": None if known is None else known.gap,
        "seconds": None if known is None else known.seconds,
        "operators": operators,
        "queries": dict(plan.queries),
        **({} if plan.trends is None else {"trends": trends_json(plan.trends)}),
    }


# ---- what the whole costs ----------------------------------------------------------------------------------


def cost_line(known: "Estimate") -> str:
    """The cost of a plan, that of the same workload alone, and the time it took to find."""
    return (
        f"estimated cost {time_text(known.cost)} per second of stream,"
        f" {time_text(known.alone)} with nothing shared or reordered;"
        f" planned in {time_text(known.seconds * 1e9)}"
    )


def sharing_line(plan: "Plan", known: "Estimate") -> str:
    """How much of a plan is shared, what that saves, and how far from the best it may be."""
    parts = [
        f"{len(shared(plan)):,} of {counted(len(plan.ops), 'operator')} serve more than one query",
        saving_text(known),
        bound_text(known),
    ]
    return "; ".join(part for part in parts if part)


def shared(plan: "Plan") -> list[int]:
    """The operators that serve more than one query."""
    return [number for number in range(len(plan.ops)) if len(plan.serves(number)) > 1]


def saving_text(known: "Estimate") -> str:
    """What the plan saves against the same workload alone; a plan that costs more says so."""
    if known.alone <= 0 or known.cost <= 0:
        return ""
    if known.cost > 1.0005 * known.alone:
        return f"it costs {factor_text(known.cost / known.alone)} of what nothing shared or reordered would"
    if known.cost > 0.9995 * known.alone:
        return "nothing is saved by sharing or reordering"
    saved = share_text(known.alone - known.cost, known.alone)
    return (
        f"sharing and reordering save {saved} ({factor_text(known.alone / known.cost)}) of the estimated cost"
    )


def bound_text(known: "Estimate") -> str:
    """How far from the best plan it may be; nothing where no bound is known."""
    if known.gap is None:
        return ""
    return "no plan is better" if known.gap == 0 else f"within {share_text(known.gap, 1.0)} of the best plan"


# ---- one operator ------------------------------------------------------------------------------------------


def kind_of(op: Op) -> str:
    """The name of what an operator does: `scan`, `join`, .."""
    return type(op).__name__.lower()


def _parts_of_line(plan: "Plan", number: int) -> Iterator[str]:
    op = plan.ops[number]
    yield " ".join(_words(plan, op))
    window = op.window if isinstance(op, Join | Filter | Repeat | Forbid | Next) else None
    if window is not None:
        yield f"within {window_text(window)}"
    if plan.estimate is not None and (figures := figures_text(plan.estimate, number)):
        yield figures
    if not isinstance(op, Emit):
        served = plan.serves(number)
        marked = plan.estimate is not None and len(served) > 1
        yield f"shared by {len(served):,}: {some(served)}" if marked else f"for {some(served)}"
    yield f"by {plan.because[number]}"


def figures_text(known: "Estimate", number: int) -> str:
    """The rows per second and the cost of one operator: `1.2k/s, 34us (12%)`."""
    rows, cost = known.rows[number], known.costs[number]
    parts = [] if rows is None else [rate_text(rows)]
    if cost is not None:
        parts.append(f"{time_text(cost)} ({share_text(cost, known.cost)})")
    return ", ".join(parts)


def counted(number: int, word: str) -> str:
    """`1 query`, `2 queries`, `1,000 operators`."""
    plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{number:,} {word if number == 1 else plural}"


def some(names: Sequence[str]) -> str:
    """The first few of some names, and how many more there are."""
    if len(names) <= SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[: SHOWN - 1])} and {len(names) - SHOWN + 1:,} more"


def _words(plan: "Plan", op: Op) -> Iterator[str]:
    """What an operator does, in the words of its line."""
    match op:
        case Scan():
            yield f"scan {stream_text(op.stream)}"
        case Join():
            width = plan.width(op.left)
            yield f"join n{op.left} n{op.right}"
            if op.order == "before":
                yield "in order"
            yield from _terms("where", op.terms, _columns(width + plan.width(op.right)))
            yield from _distinct((left, column_name(width + right)) for left, right in op.distinct)
        case Filter():
            yield f"filter n{op.input}"
            yield from _terms("where", op.terms, _columns(plan.width(op.input)))
        case Repeat():
            yield from _repeat_words(plan, op)
        case Forbid():
            scanned = plan.ops[op.events]
            kind = scanned.stream.type if isinstance(scanned, Scan) else "?"
            yield f"forbid n{op.events} in n{op.input}: {Absence(kind, op.place, op.after, op.before).text()}"
            yield from _terms("where", op.terms, [*_columns(plan.width(op.input)), "it"])
            yield from _distinct((column, "it") for column in op.distinct)
        case Next():
            marks = zip(op.steps, op.bounds, strict=True)
            yield f"next {' '.join(f'n{step}{repetition(*bounds)}' for step, bounds in marks)}"
            yield from _terms("where", op.terms, _columns(len(op.steps)))
        case Union():
            yield "union"
            yield from _parts(op, _columns(op.width))
        case Emit():
            yield f"emit {op.query}:"
            yield from _parts(op, op.variables)
            if any(op.waits):
                late = (f"n{part}" for part, waits in zip(op.parts, op.waits, strict=True) if waits)
                yield f"when the window of {', '.join(late)} has passed"
            if op.returns:
                values = (f"{term_text(r.value, op.variables)} as {r.name}" for r in op.returns)
                yield f"returning {', '.join(values)}"


def _repeat_words(plan: "Plan", op: Repeat) -> Iterator[str]:
    base, width = _columns(plan.width(op.base)), plan.width(op.element)
    new = _repetition_columns("new", width)
    neighbours = [*_repetition_columns("earlier", width), *_repetition_columns("later", width)]
    yield f"repeat n{op.element} in n{op.base} at {', '.join(map(column_name, op.final))}"
    yield repetition(op.low, op.high)
    yield from _terms("where", op.terms, [*base, *new])
    yield from _terms("neighbours", op.adjacent, [*base, *neighbours])
    yield from _terms("start", op.start, [*base, *_repetition_columns("first", width)])
    yield from _distinct((column, new[own]) for column, own in op.distinct)


def _repetition_columns(word: str, width: int) -> list[str]:
    """Names for the columns of one repetition; one column needs no number."""
    return [word] if width == 1 else [f"{word}.{column_name(column)}" for column in range(width)]


def _parts(op: Union | Emit, names: Sequence[str]) -> Iterator[str]:
    for part, targets in zip(op.parts, op.columns, strict=True):
        yield f"n{part}({', '.join(names[target] for target in targets)})"
    if op.distinct:
        yield "once each"


def _terms(word: str, terms: Sequence[Expr], names: Sequence[str]) -> Iterator[str]:
    if terms:
        yield f"{word} {' AND '.join(_conjunct(term, names) for term in terms)}"


def _conjunct(term: Expr, names: Sequence[str]) -> str:
    text = term_text(term, names)
    return f"({text})" if isinstance(term, Apply) and term.op == "or" else text


def _distinct(pairs: Iterable[tuple[int, str]]) -> Iterator[str]:
    found = [f"{column_name(one)} is not {other}" for one, other in pairs]
    if found:
        yield f"where {' AND '.join(found)}"


def _columns(width: int) -> list[str]:
    return [column_name(column) for column in range(width)]
