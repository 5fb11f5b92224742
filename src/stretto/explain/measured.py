"""A plan's estimates beside what a run of it measured: rows, times, and how far the estimates are off."""

from collections.abc import Iterator, Sequence
from math import exp, log
from statistics import median
from typing import Any, Final

from stretto.explain.json import row_json
from stretto.explain.model import NANOSECONDS, Explanation, Row, Run
from stretto.explain.numbers import columns, cut, number_text, rows_text, share_text, time_text
from stretto.screen import as_lines, counted

LONGEST: Final = 60
"""Characters of a piece in the text; the JSON has the whole."""


def measured_run(found: Explanation) -> Run:
    """The run of an explanation that has one."""
    assert found.run is not None, "nothing was measured"
    return found.run


def expected_rows(row: Row, run: Run) -> float | None:
    """The rows expected of the whole run."""
    return None if row.rows is None else row.rows * run.seconds


def expected_seconds(cost: float | None, run: Run) -> float | None:
    """The seconds that a cost makes in the whole run."""
    return None if cost is None else cost * run.seconds / NANOSECONDS


def q_error(estimated: float, measured: float) -> float:
    """max(e/m, m/e): the factor by which an estimate is off; 1 if it is right.

    Less than one row counts as one row on both sides: an estimate of 0.01 rows where none came is right, and one of 50
    where none came is off by 50.
    """
    one, other = max(estimated, 1.0), max(measured, 1.0)
    return max(one / other, other / one)


def error_of(row: Row, run: Run) -> float | None:
    """The q-error of a row's estimate."""
    expected = expected_rows(row, run)
    return None if expected is None or row.measured is None else q_error(expected, row.measured)


def q_errors(found: Explanation) -> list[tuple[float, int]]:
    """The q-errors with their rows, the worst last."""
    run = measured_run(found)
    errors = [(error_of(row, run), row.id) for row in found.rows]
    return sorted((error, number) for error, number in errors if error is not None)


def geometric_mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


# ---- JSON --------------------------------------------------------------------------------------------------


def measured_json(found: Explanation) -> dict[str, Any]:
    """The analysis as an object; all numbers are those of the whole run."""
    run, known = measured_run(found), found.estimate
    expected = None if known is None else expected_seconds(known.cost, run)
    return {
        "optimizer": found.optimizer,
        "events": run.events,
        "span": run.span,
        "elapsed": run.elapsed,
        "seconds": {
            "estimated": None if known is None else operators_seconds(found, run),
            "measured": found.at_work,
        },
        "cpu_seconds": {"estimated": expected, "measured": run.worked},
        "q_error": errors_json(q_errors(found), "operator"),
        "operators": [
            {
                **row_json(row),
                "rows": {"estimated": expected_rows(row, run), "measured": row.measured},
                "q_error": error_of(row, run),
                "seconds": {"estimated": expected_seconds(row.cost, run), "measured": row.worked},
                "because": row.because,
                **_matstates_json(row, run),
            }
            for row in found.rows
        ],
        "queries": dict(found.queries),
        **({"totals": dict(run.totals)} if run.totals else {}),
    }


def errors_json(errors: Sequence[tuple[float, int]], what: str) -> dict[str, Any] | None:
    """Mean, median and worst of q-errors, each with the number of its row, the worst last; None if there are none."""
    if not errors:
        return None
    values = [error for error, _ in errors]
    worst, number = errors[-1]
    return {"mean": geometric_mean(values), "median": median(values), "worst": worst, what: number}


def _matstates_json(row: Row, run: Run) -> dict[str, Any]:
    known = row.matstates
    if known is None:
        return {}
    expected = None if known.rate is None else known.rate * run.seconds
    return {
        "matstates": {"estimated": expected, "measured": known.made},
        "shared": {"turns": known.shared, "of": known.turns},
    }


# ---- text --------------------------------------------------------------------------------------------------


def measured_text(found: Explanation) -> str:
    """A line per row with rows and time, estimated and measured; above them the sums, below what trends did."""
    run = measured_run(found)
    sizes = f"{counted(len(found.rows), 'operator')}, {counted(found.answered, 'query')}"
    events = f"{counted(run.events, 'event')} over {_seconds(run.span)}"
    first = f"plan by {found.optimizer}: {sizes}; {events}"
    blocks = [[first, *_errors(found), _times(found, run)], list(_table(found, run))]
    if any(row.matstates for row in found.rows):
        blocks.append(list(_matstates(found, run)))
    if run.totals:
        totals = [["", "totals"], *([query, f"{count:,}"] for query, count in run.totals.items())]
        blocks.append(list(columns(totals)))
    return "\n\n".join(map(as_lines, blocks)) + "\n"


def _errors(found: Explanation) -> Iterator[str]:
    if errors := q_errors(found):
        yield f"q-error of the rows of {counted(len(errors), 'operator')}: {errors_text(errors, 'n')}"


def errors_text(errors: Sequence[tuple[float, int]], letter: str) -> str:
    """The same in words; there is at least one."""
    values = [error for error, _ in errors]
    worst, number = errors[-1]
    return (
        f"mean {q_error_text(geometric_mean(values))} (geometric), median {q_error_text(median(values))},"
        f" worst {q_error_text(worst)} at {letter}{number}"
    )


def q_error_text(error: float) -> str:
    return f"{error:.2f}" if error < 10 else number_text(error)


def _times(found: Explanation, run: Run) -> str:
    """The processor time of all operators and of the whole run, each estimated and measured."""
    parts = [f"CPU time of all operators {_seconds(found.at_work)}"]
    known = found.estimate
    if known is not None:
        parts.append(f"estimated {_seconds(operators_seconds(found, run))}")
    whole = f"whole run {_seconds(run.elapsed)}"
    if run.worked is not None:
        whole += f" with {_seconds(run.worked)} of CPU time"
        if known is not None:
            whole += f", estimated {_seconds(expected_seconds(known.cost, run) or 0.0)}"
    return f"{', '.join(parts)}; {whole}"


def operators_seconds(found: Explanation, run: Run) -> float:
    """The processor seconds that all operators together are expected to take, reading the events left aside."""
    return sum(expected_seconds(row.cost, run) or 0.0 for row in found.rows)


def _table(found: Explanation, run: Run) -> Iterator[str]:
    estimated, measured = (["rows est.", "rows", "q-error", "CPU est.", "CPU", "share"], [1, 4, 5])
    kept = range(len(estimated)) if found.estimate is not None else measured
    rows = [["", "", *(estimated[i] for i in kept)]]
    for row in found.rows:
        cells = [cell or "?" for cell in cells_of(row, run, found.at_work)]
        title = f"{row.title}: {row.piece}" if row.kind == "emit" else f"{row.title} {row.piece}"
        title = row.piece if row.piece.startswith(f"{row.title} ") else title
        rows.append([row.name, cut(title, LONGEST), *(cells[i] for i in kept)])
    yield from columns(rows, left=2)


def cells_of(row: Row, run: Run, at_work: float) -> list[str]:
    """Rows as estimated and as measured, the q-error, time as estimated and as measured, and its share."""
    expected, error, cost = expected_rows(row, run), error_of(row, run), expected_seconds(row.cost, run)
    return [
        "" if expected is None else rows_text(expected).partition(" row")[0],
        "" if row.measured is None else f"{row.measured:,}",
        "" if error is None else q_error_text(error),
        "" if cost is None else _seconds(cost),
        "-" if row.worked is None else _seconds(row.worked),
        "-" if row.worked is None else share_text(row.worked, at_work),
    ]


def _matstates(found: Explanation, run: Run) -> Iterator[str]:
    known = found.estimate is not None
    rows = [["", "", *(["MatStates est."] if known else []), "MatStates", "shared"]]
    for row in found.rows:
        if row.matstates is not None:
            rate, made = row.matstates.rate, row.matstates
            cells = [number_text((rate or 0.0) * run.seconds)] if known else []
            shared = share_text(made.shared, made.turns) if made.turns else "-"
            rows.append([row.name, cut(row.piece, LONGEST), *cells, f"{made.made:,}", shared])
    yield from columns(rows, left=2)


def _seconds(seconds: float) -> str:
    return time_text(seconds * NANOSECONDS)
