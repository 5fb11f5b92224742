"""Terms over texts: LIKE, ILIKE and regular expressions against Polars on the same column, and many rules on one.

    stretto bench strings [--events N]

Polars runs in one thread. CPU seconds: `judge` is what the term itself takes once texts have their codes, `run` a whole
run of a query with nothing but that term, from Arrow to matches, and `= run` that of a query which compares the same
column with a constant: what reading, encoding and reporting take without any pattern.
"""

import argparse
import json
import os
from pathlib import Path
from time import process_time

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl
import pyarrow as pa

from stretto import Schema, Workload, optimize
from stretto import run as run_plan
from stretto.pattern.predicates import Apply, Const, Ref
from stretto.schema import Kind
from stretto.values.strings import Strings
from stretto.values.text_tests import KnownAnswers, judge_of

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
TERMS = (
    ("LIKE", "%whoami net%", "whoami net"),
    ("ILIKE", "%WHOAMI NET%", "(?i)whoami net"),
    ("MATCHES", "net.*user -enc", "net.*user -enc"),
)
RULES = 200


def command_lines(count: int, rng: np.random.Generator) -> pa.Array:
    """Different command lines of eight words."""
    words = pa.array(WORDS)
    columns = [words.take(pa.array(rng.integers(0, len(WORDS), count))) for _ in range(8)]
    numbers = pa.array(np.arange(count)).cast(pa.string())
    return pa.compute.binary_join_element_wise(*columns, numbers, " ")


def table_of(column: pa.Array) -> pa.Table:
    n = len(column)
    types = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["A"]))
    return pa.table({"ts": pa.array(np.arange(n) * 1000, pa.timestamp("us")), "type": types, "s": column})


def timed(work, *arguments):
    """The best of three, in CPU seconds, and the result."""
    best, found = float("inf"), None
    for _ in range(3):
        begun = process_time()
        found = work(*arguments)
        best = min(best, process_time() - begun)
    return best, found


def plan_of(table: pa.Table, *terms: str):
    text = "".join(f"QUERY q{i} PATTERN A a WHERE {term} WITHIN 1 s;" for i, term in enumerate(terms))
    return optimize(Workload.parse(text), Schema.of(table.schema), "none")


def polars_count(series: pl.Series, regex: str) -> int:
    return int(series.str.contains(regex).sum())


def judged(word: str, pattern: str, column: pa.Array) -> tuple[float, int]:
    """CPU seconds of a term over texts that have codes, and how many pass."""
    strings = Strings()
    codes = strings.encode(column).data
    strings.texts_of(np.arange(len(strings)))
    term = Apply(word.lower(), (Ref(0, "s", Kind.STRING), Const(pattern, Kind.STRING)), Kind.BOOL)
    seconds, found = timed(lambda: KnownAnswers(judge_of(term)).of(codes, strings))
    return seconds, int(found.sum())


def run(out: Path, data: Path | None, args: list[str]) -> int:  # noqa: ARG001 - an experiment's interface
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=2_000_000)
    given = parser.parse_args(args)
    rng = np.random.default_rng(7)
    rows = []
    print(
        f"{'distinct':>9} {'term':8} {'matches':>9} {'polars':>8} {'judge':>8} {'ratio':>6} {'run':>7} {'= run':>7}"
    )
    for share in (0.05, 1.0):
        lines = command_lines(int(given.events * share), rng)
        at = np.arange(given.events) if share == 1.0 else rng.integers(0, len(lines), given.events)
        table = table_of(lines.take(pa.array(at)))
        column, series = table["s"].combine_chunks(), pl.Series(table["s"])
        plain, _ = timed(run_plan, plan_of(table, "a.s = 'none'"), table)
        for word, pattern, regex in TERMS:
            theirs, expected = timed(polars_count, series, regex)
            ours, found = judged(word, pattern, column)
            whole, matches = timed(run_plan, plan_of(table, f"a.s {word} '{pattern}'"), table)
            assert found == len(matches) == expected, (word, found, len(matches), expected)
            row = {
                "distinct": share,
                "term": word,
                "matches": found,
                "polars": theirs,
                "judge": ours,
                "run": whole,
                "plain": plain,
            }
            rows.append(row)
            print(
                f"{share:9.0%} {word:8} {found:9,} {theirs:8.3f} {ours:8.3f} {ours / theirs:6.2f}"
                f" {whole:7.2f} {plain:7.2f}",
                flush=True,
            )
        if share < 1.0:
            rows.append(many_rules(table))
    (out / "strings.json").write_text(json.dumps(rows, indent=1))
    return 0


def many_rules(table: pa.Table) -> dict[str, float]:
    """Two hundred rules on one column against one of them."""
    terms = [f"a.s ILIKE '%{WORDS[i % 12]} {WORDS[i // 12 % 12]} {i % 7}%'" for i in range(RULES)]
    one, first = timed(run_plan, plan_of(table, terms[0]), table)
    begun = process_time()
    every = run_plan(plan_of(table, *terms), table)
    many = process_time() - begun
    assert every.counts()["q0"] == len(first)
    print(
        f"{RULES} rules ILIKE '%..%' on one column: {many:.2f} s, one {one:.2f} s, ratio {many / one:.1f}",
        flush=True,
    )
    return {"rules": RULES, "one": one, "many": many}
