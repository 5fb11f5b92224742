"""What KEEP and LIMIT cost: W1 and W2 of `detect` with and without them, in turns in one process.

    stretto bench keep [--only W1,W2] [--forms FIRST,LIMIT] [--events N] [--turns N]

Before anything is timed, what is reported of the first events is compared with a plain walk over all matches. The time
begins with a table of events in memory and ends with Arrow columns of all reported matches; planning is shown beside
it. One turn runs every form once. PER reads an attribute of every match: `RETURN k` shows what that alone costs.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.contestants import events  # noqa: E402  (after the path is set)
from benchmarks.contestants.answers import Steps, Tables, WrongAnswerError  # noqa: E402
from benchmarks.contestants.with_stretto import stepped, warming  # noqa: E402
from benchmarks.contestants.with_stretto_none import plan_of  # noqa: E402
from benchmarks.contestants.worker import Clocked, timed  # noqa: E402
from benchmarks.contestants.workloads import SECOND, WORKLOADS, Query, Workload  # noqa: E402
from benchmarks.parts import named  # noqa: E402
from benchmarks.sheets import (  # noqa: E402
    aligned,
    circumstances,
    goal_lines,
    goal_of,
    heading,
    ratio_text,
    ratios,
)
from benchmarks.sheets import keep as store  # noqa: E402

CHECKED = 20_000
"""Events on which what is reported is compared, match by match."""
PLAIN = "none"
RETURNED = "RETURN k"
FORMS: Mapping[str, str] = {
    PLAIN: "",
    RETURNED: "RETURN {first}.k AS k",
    "FIRST": "KEEP FIRST FOR 10 SECONDS",
    "FIRST PER": "KEEP FIRST PER {first}.k FOR 10 SECONDS",
    "APART": "KEEP APART",
    "APART PER": "KEEP APART PER {first}.k",
    "LONGEST": "KEEP LONGEST",
    "LIMIT": "LIMIT 10 PER 1 MINUTE",
    "FIRST LIMIT": "KEEP FIRST FOR 10 SECONDS LIMIT 10 PER 1 MINUTE",
}
MOST = 1.10
"""The goal: a form takes at most so many times the time of the query without KEEP."""
Row = tuple[int, ...]
"""A match: detected, end, start, and the ids of its events."""


def run(out: Path, data: Path | None, options: Sequence[str]) -> int:
    """Compare, measure, print the table, and write keep.json and keep.txt into `out`."""
    del data  # the stream is generated
    given = _parse(options)
    try:
        for workload in given.only:
            for form in given.forms:
                check(WORKLOADS[workload], form, min(CHECKED, given.events), given.seed)
    except WrongAnswerError as error:
        print(f"keep: {error}", file=sys.stderr)
        return 1
    record = circumstances(given.seed) | {"events": given.events, "turns": given.turns}
    record["workloads"] = {name: _measure(given, WORKLOADS[name]) for name in given.only}
    record["goals"] = [
        goal_of(f"{name} {form}, CPU time / none", cell["ratio"]["cpu"]["median"], MOST, at_most=True)
        for name, forms in record["workloads"].items()
        for form, cell in forms.items()
        if form not in (PLAIN, RETURNED)
    ]
    text = table(record)
    store(out, "keep", text, record)
    print(text)
    return 0


def _parse(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="keep", description=__doc__)
    parser.add_argument("--only", type=named(("W1", "W2")), default=["W1", "W2"], help="such as W1")
    parser.add_argument("--forms", type=named(FORMS), default=list(FORMS), help="such as FIRST,LIMIT")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--turns", type=int, default=7, help="in each of which every form runs once")
    return parser.parse_args(options)


def _text(workload: Workload, form: str) -> str:
    queries = [(query.text.removesuffix(";\n"), query.variables[0]) for query in workload.queries]
    return "\n".join(f"{text}\n{FORMS[form].format(first=first)};" for text, first in queries)


def _steps(workload: Workload, form: str, events_table: pa.Table) -> Steps:
    """Plan and run, as `stretto-none` of `detect` does."""
    text = _text(workload, form)
    return stepped(lambda: plan_of(text, events_table.schema), events_table)


def _answer(workload: Workload, form: str, events_table: pa.Table) -> Tables:
    return timed(_steps(workload, form, events_table), [query.name for query in workload.queries])[0]


def _measure(given: argparse.Namespace, workload: Workload) -> dict[str, Any]:
    """The times of each form, all of them in every turn; the first turn warms up."""
    stream = events.table(given.events, given.seed)
    queries = [query.name for query in workload.queries]
    forms = list(dict.fromkeys((PLAIN, *given.forms)))
    clocked: dict[str, list[Clocked]] = {form: [] for form in forms}
    matches: dict[str, int] = {}
    with warming():
        for form in forms:
            timed(_steps(workload, form, stream.slice(0, CHECKED)), queries)
    for turn in range(given.turns + 1):
        for form in forms:
            tables, taken = timed(_steps(workload, form, stream), queries)
            matches[form] = sum(matches.num_rows for matches in tables.values())
            del tables  # so that the next form has as much memory at hand
            if turn:
                clocked[form].append(taken)
    return {
        form: {
            "matches": matches[form],
            "wall": median(one.wall for one in turns),
            "cpu": median(one.cpu for one in turns),
            "planning": median(one.planning for one in turns),
            "ratio": {
                key: ratios(
                    [getattr(one, key) for one in turns], [getattr(one, key) for one in clocked[PLAIN]]
                )
                for key in ("wall", "cpu")
            },
        }
        for form, turns in clocked.items()
    }


def table(record: Mapping[str, Any]) -> str:
    """Goals, then a line per workload and form."""
    rows = [["", "KEEP", "matches", "wall s", "CPU s", "planning s", "wall by none", "CPU by none"]]
    for name, forms in record["workloads"].items():
        for form, cell in forms.items():
            times = [f"{cell[key]:.3f}" for key in ("wall", "cpu", "planning")]
            shares = [ratio_text(cell["ratio"][key]) for key in ("wall", "cpu")]
            rows.append([name, form, f"{cell['matches']:,}", *times, *shares])
    about = (
        f"{record['events']:,} events; from a table in memory to Arrow columns, planning included; medians of"
        f" {record['turns']} turns in one process, after one turn that warms up; imports and compiling excluded"
    )
    return "\n".join([heading("keep", record), about, *goal_lines(record["goals"]), "", *aligned(rows)])


# ---- what is reported, by a plain walk over all matches ---------------------------------------------------------


def check(workload: Workload, form: str, count: int, seed: int) -> None:
    """WrongAnswerError unless each query reports what the walk leaves of all its matches."""
    stream = events.table(count, seed)
    every, kept = (_answer(workload, which, stream) for which in (PLAIN, form))
    keys = stream["k"].to_numpy()
    for query in workload.queries:
        expected = thinned(form, _rows(query, every), keys, query.window_us)
        found = _rows(query, kept)
        if found != expected:
            raise WrongAnswerError(
                f"wrong answer: {query.name} with {FORMS[form] or 'nothing'}: {len(found):,} matches,"
                f" {len(expected):,} by a walk over all"
            )


def _rows(query: Query, tables: Tables) -> list[Row]:
    """All matches in the order in which KEEP looks at them."""
    matches = tables[query.name]
    columns = [
        matches[name].to_numpy().astype(np.int64) for name in ("detected", "end", "start", *query.variables)
    ]
    return sorted(map(tuple, np.stack(columns, axis=1).tolist()))


def thinned(form: str, rows: Sequence[Row], keys: Any, window_us: int) -> list[Row]:
    """What docs/semantics.md leaves of the rows, which are in order."""
    word, *more = form.split()
    if word == "LONGEST":  # all bind as many events, so none contains another
        return sorted((row[2] + window_us, *row[1:]) for row in rows)
    kept: list[Row] = []
    last: dict[int, Row] = {}
    counts: dict[int, int] = {}
    for row in rows:
        detected, _, start, first, *_ = row
        key = int(keys[first]) if "PER" in more else 0
        before = last.get(key)
        if before is not None and (
            (word == "FIRST" and detected - before[0] < 10 * SECOND)
            or (word == "APART" and start <= before[1])
        ):
            continue
        last[key] = row
        stretch = detected // (60 * SECOND)
        counts[stretch] = counts.get(stretch, 0) + 1
        if "LIMIT" not in form or counts[stretch] <= 10:
            kept.append(row)
    return kept


if __name__ == "__main__":
    sys.exit(run(ROOT / "benchmarks" / "results", None, sys.argv[1:]))
