"""Predicates over texts: whole queries with LIKE, ILIKE and regular expressions against Polars, and many rules at once.

    stretto bench strings [--events N] [--turns N]

Answers are compared before anything is timed. The time begins with a table of events in memory, whose texts are not
encoded, and ends with Arrow columns of all matches; each run is in a fresh process.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.contestants import launch  # noqa: E402  (after the path is set)
from benchmarks.contestants.answers import WrongAnswerError  # noqa: E402
from benchmarks.contestants.texts import RULES, TERMS, TextJob  # noqa: E402
from benchmarks.parts import named  # noqa: E402
from benchmarks.sheets import aligned, circumstances, heading, keep, ratio_text, ratios  # noqa: E402

DISTINCT = {"5%": 0.05, "100%": 1.0}
"""The share of texts that are different."""
RUNS = (("stretto", "one"), ("polars", "one"), ("stretto", "all"), ("polars", "all"))
"""Contestants and on how many cores they may run; Stretto uses one."""
MEMORY = 16 << 30
ABOUT = """\
From a table of events in memory to Arrow columns of all matches in memory, each run in a fresh process; medians of the
turns. Included: planning with statistics, encoding of texts, conversion of the input. Not included: imports, compiling
(a warm-up on few events). A ratio is Polars' time divided by Stretto's of the same turn: median [least-most]. Stretto
uses one core: it has no threads yet. `=` compares the column with a constant: the cost without any pattern."""


def run(out: Path, data: Path | None, options: Sequence[str]) -> int:
    """Compare, measure, print the table, and write strings.json and strings.txt into `out`."""
    del data  # texts are generated
    given = _parse(options)
    record = circumstances(given.seed, "polars", "pyarrow") | {"events": given.events, "turns": given.turns}
    try:
        record["distinct"] = {
            share: {term: _measure(given, DISTINCT[share], term) for term in TERMS}
            for share in given.distinct
        }
        record["many"] = {"rules": RULES} | _many(given)
    except (WrongAnswerError, launch.FailedError, launch.TooMuchError) as error:
        print(f"strings: {error}", file=sys.stderr)
        return 1
    text = table(record)
    keep(out, "strings", text, record)
    print(text)
    return 0


def _parse(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="strings", description=__doc__)
    parser.add_argument("--distinct", type=named(DISTINCT), default=list(DISTINCT), help="such as 5%%")
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--turns", type=int, default=3, help="in each of which everyone runs once")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that one run may take")
    return parser.parse_args(options)


def _job(
    given: argparse.Namespace, contestant: str, mode: str, term: str, distinct: float, *, judged: bool = False
) -> Any:
    job = TextJob(contestant, term, distinct, given.events, given.seed, given.limit, judged)
    return launch.module("texts", job.to_json(), memory=MEMORY, one_core=mode == "one").json()


def _measure(given: argparse.Namespace, distinct: float, term: str) -> dict[str, Any]:
    """The times of a term by contestant and mode, and their ratios."""
    ours, theirs = (
        _job(given, contestant, "one", term, distinct, judged=True)["digests"]
        for contestant in ("stretto", "polars")
    )
    if ours != theirs:
        raise WrongAnswerError(f"wrong answer: {term}: stretto found {ours}, polars {theirs}")
    turns = [{run: _job(given, *run, term, distinct) for run in RUNS} for _ in range(given.turns)]
    counts = {outcome["matches"]["q0"] for turn in turns for outcome in turn.values()}
    if counts != {ours["q0"]["matches"]}:
        raise WrongAnswerError(f"wrong answer: {term}: numbers of matches differ from run to run: {counts}")
    found: dict[str, Any] = {"matches": ours["q0"]["matches"]}
    for contestant, mode in RUNS:
        cell = {
            key: median(turn[contestant, mode][key] for turn in turns)
            for key in ("wall", "cpu", "planning", "peak_mb")
        }
        found.setdefault(contestant, {})[mode] = cell
    for mode in ("one", "all"):
        found["polars"][mode]["ratio"] = {
            key: ratios(
                [turn["polars", mode][key] for turn in turns], [turn["stretto", mode][key] for turn in turns]
            )
            for key in ("wall", "cpu")
        }
    return found


def _many(given: argparse.Namespace) -> dict[str, Any]:
    """Many rules on one column against one rule, in Stretto."""
    turns = [
        {term: _job(given, "stretto", "one", term, DISTINCT["5%"]) for term in ("ILIKE", "many")}
        for _ in range(given.turns)
    ]
    found: dict[str, Any] = {
        name: {key: median(turn[term][key] for turn in turns) for key in ("wall", "cpu", "planning")}
        for name, term in (("one", "ILIKE"), ("all", "many"))
    }
    found["ratio"] = {
        key: ratios([turn["many"][key] for turn in turns], [turn["ILIKE"][key] for turn in turns])
        for key in ("wall", "cpu")
    }
    return found


def table(record: Mapping[str, Any]) -> str:
    """A row per share of different texts, term and contestant."""
    rows = [["distinct", "term", "matches", "contestant", "wall s", "CPU s", "planning s"]]
    rows[0] += ["wall ratio", "CPU ratio", "all: wall s", "ratio"]
    for share, terms in record["distinct"].items():
        for term, cells in terms.items():
            for contestant in ("stretto", "polars"):
                one, every = cells[contestant]["one"], cells[contestant]["all"]
                times = [f"{one[key]:.3f}" for key in ("wall", "cpu", "planning")]
                shown = [ratio_text(one["ratio"][key]) if "ratio" in one else "" for key in ("wall", "cpu")]
                shown += [
                    f"{every['wall']:.3f}",
                    ratio_text(every["ratio"]["wall"]) if "ratio" in every else "",
                ]
                rows.append([share, term, f"{cells['matches']:,}", contestant, *times, *shown])
    many = record["many"]
    note = (
        f"{many['rules']} rules ILIKE '%..%' on one column (5% distinct): {many['all']['wall']:.2f} s, one rule"
        f" {many['one']['wall']:.2f} s, ratio {ratio_text(many['ratio']['wall'])}"
    )
    about = f"{record['events']:,} events, {record['turns']} turns"
    return "\n".join([heading("strings", record), about, ABOUT, "", *aligned(rows), "", note])


if __name__ == "__main__":
    sys.exit(run(ROOT / "benchmarks" / "results", None, sys.argv[1:]))
