"""A plan's estimates beside what a run of it measured: rows, times, and how far the estimates are off."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stretto.errors import StrettoError
from stretto.explain.numbers import columns, number_text, share_text, time_text
from stretto.plan.analyze_trends import (
    MeasuredTrends,
    TrendAnalysis,
    trend_analysis_json,
    trend_analysis_text,
)
from stretto.plan.dag import Plan
from stretto.plan.explain import FORMATS, counted, kind_of
from stretto.plan.ops import Emit
from stretto.plan.q_error import errors_json, errors_text, q_error, q_error_text
from stretto.screen import as_lines
from stretto.stats.profile import Stats
from stretto.trends.estimate import estimated

NANOSECONDS = 1e9
LONGEST = 60
"""Characters of a piece in the text; the JSON has the whole."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run did: rows that each operator gave (matches, of an Emit) and its seconds at work.

    `span` are the seconds from the first event to the last, `elapsed` those that the whole run took. `trends`: what was
    done for trend queries, if there are any.
    """

    rows: Sequence[int]
    seconds: Sequence[float]
    events: int
    span: float
    elapsed: float
    trends: MeasuredTrends | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One operator: estimated and measured rows and seconds of the whole run; None where no estimate is known."""

    number: int
    estimated: float | None
    measured: int
    expected_seconds: float | None
    seconds: float

    @property
    def q_error(self) -> float | None:
        return None if self.estimated is None else q_error(self.estimated, self.measured)


@dataclass(frozen=True, slots=True)
class Analysis:
    """A plan, what its run measured, and a line for every operator; and the same of its trend queries."""

    plan: Plan
    measured: Measured
    lines: tuple[Line, ...]
    trends: TrendAnalysis | None = None

    def q_errors(self) -> list[tuple[float, int]]:
        """The q-errors with their operators, the worst last."""
        found = [(line.q_error, line.number) for line in self.lines]
        return sorted((error, number) for error, number in found if error is not None)

    @property
    def at_work(self) -> float:
        """The seconds of all operators together."""
        return sum(line.seconds for line in self.lines)


def analyze(plan: Plan, measured: Measured, stats: Stats | None = None) -> Analysis:
    """A plan's estimates, times the span of the run, beside what was measured. A span of zero counts as one second.

    Of trend queries there are estimates by `stats`.
    """
    if not len(measured.rows) == len(measured.seconds) == len(plan.ops):
        raise StrettoError(f"measured {len(measured.rows)} operators of a plan of {len(plan.ops)}")
    known, span = plan.estimate, measured.span or 1.0
    lines = []
    for number, (rows, seconds) in enumerate(zip(measured.rows, measured.seconds, strict=True)):
        rate = None if known is None else known.rows[number]
        cost = None if known is None else known.costs[number]
        lines.append(
            Line(
                number,
                None if rate is None else rate * span,
                rows,
                None if cost is None else cost * span / NANOSECONDS,
                seconds,
            )
        )
    trends = None
    if plan.trends is not None and measured.trends is not None:
        expected = None if stats is None else estimated(plan.trends, stats)
        trends = TrendAnalysis(plan.trends, measured.trends, expected, span)
    return Analysis(plan, measured, tuple(lines), trends)


def analysis_as(found: Analysis, format: str) -> str:  # noqa: A002 - as in `explain`
    """An analysis in one of the FORMATS of EXPLAIN."""
    if format == "text":
        return analysis_text(found)
    if format == "json":
        return json.dumps(analysis_json(found), indent=2)
    raise StrettoError(f"unknown format `{format}` of EXPLAIN; there are: {', '.join(FORMATS)}")


# ---- JSON --------------------------------------------------------------------------------------------------


def analysis_json(found: Analysis) -> dict[str, Any]:
    """The analysis as an object; rows and seconds are those of the whole run."""
    plan, measured, errors = found.plan, found.measured, found.q_errors()
    return {
        "optimizer": plan.optimizer,
        "events": measured.events,
        "span": measured.span,
        "elapsed": measured.elapsed,
        "seconds": {"estimated": _expected_total(found), "measured": found.at_work},
        "q_error": errors_json(errors, "operator"),
        "operators": [
            {
                "id": line.number,
                "op": kind_of(plan.ops[line.number]),
                "inputs": list(plan.ops[line.number].inputs),
                "piece": plan.pieces[line.number],
                "serves": list(plan.serves(line.number)),
                "rows": {"estimated": line.estimated, "measured": line.measured},
                "q_error": line.q_error,
                "seconds": {"estimated": line.expected_seconds, "measured": line.seconds},
                "because": plan.because[line.number],
            }
            for line in found.lines
        ],
        "queries": dict(plan.queries),
        **({} if found.trends is None else {"trends": trend_analysis_json(found.trends)}),
    }


def _expected_total(found: Analysis) -> float | None:
    known = found.plan.estimate
    return None if known is None else known.cost * (found.measured.span or 1.0) / NANOSECONDS


# ---- text --------------------------------------------------------------------------------------------------


def analysis_text(found: Analysis) -> str:
    """A line per operator with rows and time, estimated and measured; above them the sums."""
    plan, measured = found.plan, found.measured
    sizes = (
        f"{counted(len(plan.ops), 'operator')}, {counted(len(plan.queries), 'query')}; " if plan.ops else ""
    )
    first = (
        f"plan by {plan.optimizer}: {sizes}{counted(measured.events, 'event')} over {_seconds(measured.span)}"
    )
    blocks = [[first, *_errors(found), _times(found)]]
    if plan.ops:
        blocks.append(list(_table(found)))
    if found.trends is not None:
        blocks += trend_analysis_text(found.trends)
    return "\n\n".join(map(as_lines, blocks)) + "\n"


def _errors(found: Analysis) -> Iterator[str]:
    errors = found.q_errors()
    if errors:
        yield f"q-error of the rows of {counted(len(errors), 'operator')}: {errors_text(errors, 'n')}"


def _times(found: Analysis) -> str:
    whole = f"whole run {_seconds(found.measured.elapsed)}"
    if not found.plan.ops:
        return whole
    expected = _expected_total(found)
    estimate = "" if expected is None else f", estimated {_seconds(expected)}"
    return f"time of all operators {_seconds(found.at_work)}{estimate}; {whole}"


def _table(found: Analysis) -> Iterator[str]:
    known = found.plan.estimate is not None
    rows = [["", "", *(["rows est."] if known else []), "rows", *(["q-error"] if known else [])]]
    rows[0] += [*(["time est."] if known else []), "time", "share"]
    for line in found.lines:
        estimates = [
            "?" if line.estimated is None else number_text(line.estimated),
            "?" if line.q_error is None else q_error_text(line.q_error),
            "?" if line.expected_seconds is None else _seconds(line.expected_seconds),
        ]
        cells = [f"n{line.number}", _title(found.plan, line.number)]
        cells += [*estimates[:1], f"{line.measured:,}", *estimates[1:]] if known else [f"{line.measured:,}"]
        rows.append([*cells, _seconds(line.seconds), share_text(line.seconds, found.at_work)])
    yield from columns(rows, left=2)


def _title(plan: Plan, number: int) -> str:
    op = plan.ops[number]
    name = f"emit {op.query}:" if isinstance(op, Emit) else kind_of(op)
    text = f"{name} {plan.pieces[number]}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _seconds(seconds: float) -> str:
    return time_text(seconds * NANOSECONDS)
