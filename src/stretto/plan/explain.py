"""EXPLAIN: a plan as numbered lines or as JSON, the same in every process."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from stretto.errors import StrettoError
from stretto.pattern.describe import stream_text, term_text, window_text
from stretto.pattern.predicates import Apply, Expr
from stretto.plan.ops import Emit, Filter, Forbid, Join, Next, Op, Repeat, Scan, Union
from stretto.plan.pieces import Absence, column_name, repetition

if TYPE_CHECKING:
    from stretto.plan.dag import Plan

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
    """One numbered line per operator: what it does, what it reads, which queries it serves, by which rule."""
    shown = plan.ops if limit is None else plan.ops[:limit]
    lines = [
        f"plan by {plan.optimizer}: {_count(len(plan.ops), 'operator')}, {_count(len(plan.queries), 'query')}"
    ]
    for number, op in enumerate(shown):
        parts = [" ".join(_words(plan, op))]
        if isinstance(op, Join | Repeat | Forbid | Next):
            parts.append(f"within {window_text(op.window)}")
        if not isinstance(op, Emit):
            parts.append(f"for {_some(plan.serves(number))}")
        parts.append(f"by {plan.because[number]}")
        lines.append(f"n{number} = {'  '.join(parts)}")
    if len(shown) < len(plan.ops):
        lines.append(f".. and {_count(len(plan.ops) - len(shown), 'more operator')}")
    return "\n".join(lines) + "\n"


def explain_json(plan: "Plan") -> dict[str, Any]:
    """The plan as an object; rows and costs are null where no statistics gave them."""
    operators = [
        {
            "id": number,
            "op": type(op).__name__.lower(),
            "inputs": list(op.inputs),
            "piece": plan.pieces[number],
            "serves": list(plan.serves(number)),
            "rows": None,
            "cost": None,
            "because": plan.because[number],
        }
        for number, op in enumerate(plan.ops)
    ]
    return {
        "optimizer": plan.optimizer,
        "cost": None,
        "lower_bound": None,
        "gap": None,
        "seconds": None,
        "operators": operators,
        "queries": dict(plan.queries),
    }


def _count(number: int, word: str) -> str:
    plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{number:,} {word if number == 1 else plural}"


def _some(names: Sequence[str]) -> str:
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
