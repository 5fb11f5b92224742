"""One run of a query over texts in a process of its own: `python -m benchmarks.contestants.texts '<json>'`.

The time begins with a table of events in memory, whose texts are not encoded, and ends with Arrow columns of matches.
The last line of standard output is the outcome as JSON.
"""

import importlib
import json
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.contestants.answers import Steps, Tables, answer_of, digests
from benchmarks.contestants.worker import WARM_UP, peak_mb, timed

WORDS = (
    "powershell",
    "cmd.exe",
    "/c",
    "-enc",
    "System32",
    "whoami",
    "net",
    "user",
    "svchost",
    "reg",
    "add",
    "curl",
)
TERMS = {
    "=": "a.s = 'none'",
    "LIKE": "a.s LIKE '%whoami net%'",
    "ILIKE": "a.s ILIKE '%WHOAMI NET%'",
    "MATCHES": "a.s MATCHES 'net.*user -enc'",
}
"""`=` is what reading, encoding and reporting take without any pattern."""
RULES = 200


@dataclass(frozen=True, slots=True)
class TextJob:
    """`term`: one of TERMS, or `many` for so many rules; `distinct`: the share of texts that are different."""

    contestant: str
    term: str
    distinct: float
    events: int
    seed: int
    limit: float
    judged: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def table_of(job: TextJob) -> pa.Table:
    """Events of one type with command lines of eight words and a number."""
    rng = np.random.default_rng(job.seed)
    count = max(int(job.events * job.distinct), 1)
    words = pa.array(WORDS)
    columns = [words.take(pa.array(rng.integers(0, len(WORDS), count))) for _ in range(8)]
    numbers = pa.array(np.arange(count)).cast(pa.string())
    lines = pa.compute.binary_join_element_wise(*columns, numbers, " ")
    lines = pa.concat_arrays([pa.array(["none"]), lines[1:]])
    if job.distinct < 1:
        lines = lines.take(pa.array(rng.integers(0, count, job.events)))
    types = pa.DictionaryArray.from_arrays(pa.array(np.zeros(job.events, np.int32)), pa.array(["A"]))
    ts = pa.array(np.arange(job.events) * 1000, pa.timestamp("us"))
    return pa.table({"ts": ts, "type": types, "s": lines})


def rules(term: str) -> list[str]:
    """The predicates of a job's queries."""
    if term != "many":
        return [TERMS[term]]
    return [f"a.s ILIKE '%{WORDS[i % 12]} {WORDS[i // 12 % 12]} {i % 7}%'" for i in range(RULES)]


def stretto_steps(table: pa.Table, term: str) -> Steps:
    """Plan by the defaults, run, and the columns of every query's matches."""
    from benchmarks.contestants.with_stretto import stepped

    stretto = importlib.import_module("stretto")
    text = "".join(f"QUERY q{i} PATTERN A a WHERE {rule} WITHIN 1 s;" for i, rule in enumerate(rules(term)))
    return stepped(lambda: stretto.optimize(text, table), table)


def polars_steps(table: pa.Table, term: str) -> Steps:
    """A filter on the column, to Arrow columns; the frame is made of the Arrow table while the time is measured."""
    import polars as pl

    texts = pl.col("s")
    passes = {
        "=": texts == "none",
        "LIKE": texts.str.contains("whoami net", literal=True),
        "ILIKE": texts.str.contains("(?i)whoami net"),
        "MATCHES": texts.str.contains("net.*user -enc"),
    }[term]

    def run(_plan: None) -> Tables:
        frame = pl.DataFrame(table.select(["ts", "s"])).lazy().with_row_index("a")
        found = frame.filter(passes).select(pl.col("a").cast(pl.Int64), start="ts", end="ts")
        return {"q0": found.collect(engine="streaming").to_arrow()}

    return Steps(lambda: None, run)


STEPS = {"stretto": stretto_steps, "polars": polars_steps}


def perform(job: TextJob) -> dict[str, Any]:
    """The times of one run, and its matches per query."""
    table, queries = table_of(job), [f"q{i}" for i in range(len(rules(job.term)))]
    steps = STEPS[job.contestant]
    if job.contestant == "stretto":
        from benchmarks.contestants.with_stretto import warming
    else:
        warming = nullcontext
    with warming():
        timed(steps(table.slice(0, WARM_UP), job.term), queries)
    signal.setitimer(signal.ITIMER_REAL, job.limit)
    tables, clocked = timed(steps(table, job.term), queries)
    signal.setitimer(signal.ITIMER_REAL, 0)
    outcome: dict[str, Any] = asdict(clocked) | {"peak_mb": peak_mb()}
    outcome["matches"] = {name: matches.num_rows for name, matches in tables.items()}
    if job.judged:
        found = digests(answer_of(tables))
        outcome["digests"] = {name: digest.to_json() for name, digest in found.items()}
    return outcome


def main(arguments: Sequence[str]) -> None:
    print(json.dumps(perform(TextJob(**json.loads(arguments[0])))))


if __name__ == "__main__":
    main(sys.argv[1:])
