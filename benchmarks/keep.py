"""What KEEP and LIMIT cost: W1 and W2 of `detect` with and without them, in turns in one process.

    stretto bench keep [--only W1,W2] [--forms FIRST,LIMIT] [--events N] [--rounds N]

Before anything is timed, what is reported of the first events is compared with a plain walk over all matches. CPU
seconds, the best round of each. PER reads an attribute of every match: `RETURN k` shows what that alone costs.
"""

import argparse
import gc
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.contestants import events  # noqa: E402  (after the path is set)
from benchmarks.contestants.answers import WrongAnswerError  # noqa: E402
from benchmarks.contestants.with_stretto import plan_of, running  # noqa: E402
from benchmarks.contestants.workloads import SECOND, WORKLOADS, Query, Workload  # noqa: E402
from benchmarks.parts import named  # noqa: E402

from stretto.engine.results.matches import Matches  # noqa: E402

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
    cells = [cell for workload in given.only for cell in _measure(given, WORKLOADS[workload])]
    text = table(cells)
    (out / "keep.json").write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
    (out / "keep.txt").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


def _parse(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="keep", description=__doc__)
    parser.add_argument("--only", type=named(("W1", "W2")), default=["W1", "W2"], help="such as W1")
    parser.add_argument("--forms", type=named(FORMS), default=list(FORMS), help="such as FIRST,LIMIT")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15, help="the best of so many counts")
    return parser.parse_args(options)


def _text(workload: Workload, form: str) -> str:
    queries = [(query.text.removesuffix(";\n"), query.variables[0]) for query in workload.queries]
    return "\n".join(f"{text}\n{FORMS[form].format(first=first)};" for text, first in queries)


def _runner(workload: Workload, form: str, batches: Sequence[pa.RecordBatch]) -> Callable[[], list[Matches]]:
    return running(plan_of(_text(workload, form), batches[0].schema), batches)


def _measure(given: argparse.Namespace, workload: Workload) -> list[dict[str, Any]]:
    """The best round of each form, all of them in every round."""
    batches = events.table(given.events, given.seed).to_batches(max_chunksize=events.BATCH)
    forms = list(dict.fromkeys((PLAIN, *given.forms)))
    runners = {form: _runner(workload, form, batches) for form in forms}
    best, found = dict.fromkeys(forms, float("inf")), dict.fromkeys(forms, 0)
    for _ in range(given.rounds):
        for form, runner in runners.items():
            gc.collect()
            begun = process_time()
            result = runner()
            best[form] = min(best[form], process_time() - begun)
            found[form] = sum(map(len, result))
            del result  # so that the next one finds as much memory at hand
    return [
        {"workload": workload.name, "events": given.events, "form": form, "cpu": best[form]}
        | {"over_none": best[form] / best[PLAIN] - 1, "matches": found[form]}
        for form in forms
    ]


def table(cells: Sequence[Mapping[str, Any]]) -> str:
    """A line per workload and form."""
    lines = [f"{'':3} {'events':>10} {'KEEP':12} {'matches':>10} {'CPU s':>7} {'more':>7}"]
    lines += [
        f"{cell['workload']:3} {cell['events']:10,} {cell['form']:12} {cell['matches']:10,} {cell['cpu']:7.3f}"
        f" {cell['over_none']:+7.1%}"
        for cell in cells
    ]
    return "\n".join(lines)


# ---- what is reported, by a plain walk over all matches ---------------------------------------------------------


def check(workload: Workload, form: str, count: int, seed: int) -> None:
    """WrongAnswerError unless each query reports what the walk leaves of all its matches."""
    stream = events.table(count, seed)
    batches = stream.to_batches(max_chunksize=count // 3 + 1)
    every, kept = (_runner(workload, which, batches)() for which in (PLAIN, form))
    keys = stream["k"].to_numpy()
    for query in workload.queries:
        expected = thinned(form, _rows(query, every), keys, query.window_us)
        found = _rows(query, kept)
        if found != expected:
            raise WrongAnswerError(
                f"wrong answer: {query.name} with {FORMS[form] or 'nothing'}: {len(found):,} matches,"
                f" {len(expected):,} by a walk over all"
            )


def _rows(query: Query, result: Sequence[Matches]) -> list[Row]:
    """All matches in the order in which KEEP looks at them."""
    tables = [matches[query.name] for matches in result]
    columns = [
        np.concatenate([one[name].to_numpy().astype(np.int64) for one in tables])
        for name in ("detected", "end", "start", *query.variables)
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
