"""RUMOR's experiments (sec. 5) on our engine, and those on joins and aggregates that the paper does not have.

`stretto bench rumor [--data DIR] [options]` or `python benchmarks/rumor.py [options]`. Figures 9a-d are workload 1,
10a-b workload 2, 10c-d workload 3, 11a-b the hybrid workload. Contestants are the optimizers that are there of `none`,
`rumor-no-channels`, `rumor` and `auto`, and DuckDB where it has the same answer. Every point compares answers; what
was measured stands beside the goals at the end.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

import numpy as np  # noqa: E402  (after the path is set)
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from benchmarks.rumor_measure import Case, Cell, Contestant, apart, in_turns, with_stretto  # noqa: E402
from benchmarks.rumor_report import FITTED, Figure, Outcome, Point, draw, table, write  # noqa: E402

from benchmarks import rumor_duckdb as duck  # noqa: E402
from stretto.generate.arrivals import coded  # noqa: E402
from stretto.generate.rumor_workload import RumorOptions, constants_table  # noqa: E402
from stretto.generate.streams import generate  # noqa: E402
from stretto.generate.workloads import workload  # noqa: E402
from stretto.plan.optimizers import about  # noqa: E402

ALL = ("none", "rumor-no-channels", "rumor", "auto")
NONE, NO_CHANNELS, RUMOR, AUTO = ALL
FAMILY = "auto"
"""The optimizer that runs queries which are alike as one template."""
SHARES = (1.0, 0.25, 0.0)
"""Of the T that may match, to tell what a match costs from what an event costs: a line through all of them."""
EQUAL_SHARES = (0.1, 0.02, 0.0)
"""The same of workload 2, of which 10,000 queries would give 3,000 matches an event."""
SEL = 0.5
"""The share of readings that start a query of the hybrid workload, where figure 11 does not vary it."""
NOT_TRIED = "not tried with more than {:,} queries"
LONGER = 10
"""So many times the events where what a run begins with must not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured; the quick ones are for a test."""

    events: int = 100_000
    many: tuple[int, ...] = (100, 10_000, 100_000)
    equal: tuple[int, ...] = (10, 1_000, 10_000)
    rows: int = 1_000_000
    usual: int = 1_000
    domains: tuple[int, ...] = (10, 1_000, 10_000)
    capacities: tuple[int, ...] = (1, 10, 100)
    channel: tuple[int, ...] = (10, 100)
    rounds: int = 20_000
    hybrid: tuple[int, ...] = (10, 100, 1_000)
    readings: int = 104 * 90
    streams: int = 100
    shared: int = 10_000
    repeat: int = 2
    turns: int = 25
    turn_s: float = 0.25
    """Where contestants take turns: how many, and of so many seconds each."""
    limit: float | None = 40.0
    """Seconds of one measurement; without, none has a process of its own."""
    unshared: int = 100
    unshared_runs: int = 10
    """With more queries than these `none` and `rumor-no-channels` are left out; of the hybrid workload, whose runs are
    long, with more than the second number."""


QUICK = Sizes(
    events=2_000, many=(10, 100), equal=(5, 80), rows=200, usual=70, domains=(10, 100), capacities=(2, 4),
    channel=(8,), rounds=200, hybrid=(2, 5), readings=104 * 20, streams=4, shared=400, repeat=1, turns=1, turn_s=0.0,
    limit=None,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bench:
    """What all experiments need: sizes, a seed, the optimizers to try, a folder for files, and real data if any."""

    sizes: Sizes
    seed: int
    optimizers: tuple[str, ...]
    folder: Path
    data: Path | None

    def point(
        self,
        at: object,
        case: Case,
        queries: int,
        others: Sequence[Cell] = (),
        unshared: int | None = None,
    ) -> Point:
        """All contestants on one case; a contestant with other answers has no time."""
        sizes = self.sizes
        most = sizes.unshared if unshared is None else unshared
        cells = []
        for name in self.optimizers:
            if queries > most and name in (NONE, NO_CHANNELS):
                cells.append(Cell(name, missing=NOT_TRIED.format(most)))
            else:
                cells.append(with_stretto(case, name, sizes.repeat, sizes.limit))
        return Point(str(at), queries, agreeing([*cells, *others]))

    def in_turns(self, contestants: Sequence[Contestant]) -> list[Cell]:
        """Those that a goal sets beside one another, in one process."""
        sizes = self.sizes
        return in_turns(
            contestants, sizes.turns, sizes.turn_s, sizes.limit and len(contestants) * sizes.limit
        )

    def events(self, share: float = 1.0, keys: int = 1_000, count: int | None = None) -> pa.Table:
        """S and T in turn; only this share of T has values that a query can ask for."""
        table = generate("rumor", count or self.sizes.events, seed=self.seed, keys=keys)
        hidden = np.random.default_rng([self.seed, 5]).random(table.num_rows) >= share
        is_t = pc.equal(table["type"].combine_chunks().cast(pa.string()), "T")
        shift = pa.array(hidden & is_t.to_numpy(zero_copy_only=False)).cast(pa.int64())
        place = table.column_names.index("a0")
        return table.set_column(place, "a0", pc.add(table["a0"], pc.multiply(shift, 10_000_000)))


def agreeing(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells; those that disagree with the first that has an answer say so in place of a time."""
    first = next((cell for cell in cells if not cell.missing), None)
    found = []
    for cell in cells:
        wrong = first is not None and not cell.missing and cell.outputs != first.outputs
        if first is not None and cell.digest and first.digest:
            wrong = wrong or cell.digest != first.digest
        found.append(replace(cell, run=0.0, missing="OTHER ANSWERS") if wrong else cell)
    return tuple(found)


def w1(bench: Bench, queries: int, share: float = 1.0, count: int | None = None, **options: object) -> Point:
    """Workload 1 as text."""
    keys = int(str(options.get("constants", 1_000)))
    events = bench.events(share, keys, count)
    text = workload("rumor-1", queries, bench.seed, **options)
    rows = constants_table(queries, bench.seed, RumorOptions(**options))  # type: ignore[arg-type]
    by_duckdb = apart(duck.LABEL, lambda: duck.asof(events, rows, duck.SELECTED, 1), bench.sizes.limit)
    return bench.point(queries, Case(text, events), queries, [by_duckdb])


def figure_9a(bench: Bench) -> Iterator[Figure]:
    points = [w1(bench, queries) for queries in bench.sizes.many]
    yield Figure("9a", "W1: number of queries", "queries", tuple(points))
    ends = bench.sizes.many[0], bench.sizes.many[-1]
    count = LONGER * bench.sizes.events
    texts = {queries: workload("rumor-1", queries, bench.seed) for queries in ends}
    yield from _by_share(bench, "9a", "W1", texts, SHARES, count)
    even = [w1(bench, n, count=count, constants=1_000_000, distinct=True) for n in (1, ends[1])]
    yield Figure("9a, distinct", "W1: all constants different, of a million", "queries", tuple(even))


def _by_share(
    bench: Bench, name: str, title: str, texts: Mapping[int, str], shares: Sequence[float], count: int
) -> Iterator[Figure]:
    """Runs of one length with other numbers of matches, for a line time = a + b * matches per number of queries."""
    alone = replace(bench, optimizers=(FAMILY,), sizes=replace(bench.sizes, repeat=2 * bench.sizes.repeat))
    for share in shares:
        events = bench.events(share, count=count)
        points = [alone.point(queries, Case(text, events), queries) for queries, text in texts.items()]
        about = f"{title}: {count:,} events, {share:.0%} of the T can match"
        yield Figure(f"{name}{FITTED}{share:.0%}", about, "queries", tuple(points))


def figure_9a_table(bench: Bench) -> Iterator[Figure]:
    """W1 as the rows of a table."""
    rows = constants_table(bench.sizes.rows, bench.seed, RumorOptions())
    pq.write_table(rows, bench.folder / "rules.parquet")
    text = workload("rumor-1", bench.sizes.rows, bench.seed, table="rules.parquet")
    case = Case(text, bench.events(), str(bench.folder / "w1.cep"))
    cell = with_stretto(case, FAMILY, 1, bench.sizes.limit and 5 * bench.sizes.limit)
    yield Figure(
        "9a, table", "W1: members of a table", "members", (Point(str(len(rows)), len(rows), (cell,)),)
    )


def figure_9bcd(bench: Bench) -> Iterator[Figure]:
    usual, one = bench.sizes.usual, replace
    for name, title, axis, values in (
        ("9b", "W1: domain of constants", "constants", bench.sizes.domains),
        ("9c", "W1: longest window", "window", bench.sizes.domains),
        ("9d", "W1: exponent of Zipf's law", "zipf", (1.2, 1.5, 2.0)),
    ):
        points = []
        for value in values:
            given = f"{value} SECONDS" if axis == "window" else value
            points.append(one(w1(bench, usual, **{axis: given}), at=str(value)))
        yield Figure(name, f"{title} ({usual:,} queries)", axis, tuple(points))


def figure_10ab(bench: Bench) -> Iterator[Figure]:
    for name, title, iterate in (("10a", "W2: number of queries", False), ("10b", "W2 as mu", True)):
        count = bench.sizes.events // (20 if iterate else 5)
        events = bench.events(EQUAL_SHARES[0], count=count)
        texts = {
            queries: workload("rumor-2", queries, bench.seed, iterate=iterate)
            for queries in bench.sizes.equal
        }
        points = []
        for queries, text in texts.items():
            rows = constants_table(queries, bench.seed, RumorOptions())
            others = [] if iterate else [apart(duck.LABEL, _equal(events, rows), bench.sizes.limit)]
            points.append(bench.point(queries, Case(text, events), queries, others))
        yield Figure(name, title, "queries", tuple(points))
        ends = {queries: texts[queries] for queries in (bench.sizes.equal[0], bench.sizes.equal[-1])}
        yield from _by_share(bench, name, title, ends, EQUAL_SHARES, LONGER * count)


def _equal(events: pa.Table, rows: pa.Table) -> Callable[[], Cell]:
    return lambda: duck.asof(events, rows, duck.EQUAL, 1)


def figure_10cd(bench: Bench) -> Iterator[Figure]:
    """Rounds per second: a round is one event of each stream S1, S2, .. (one S with channels) and one T.

    Who has no channel has all else of `rumor`, as in the paper.
    """
    sizes = bench.sizes
    by_queries = tuple(_rounds(bench, queries, min(10, queries)) for queries in sizes.channel)
    yield Figure("10c", "W3: number of queries, capacity 10; events are rounds", "queries", by_queries)
    by_capacity = [replace(_rounds(bench, max(sizes.channel), n), at=str(n)) for n in sizes.capacities]
    yield Figure("10d", "W3: capacity; events are rounds", "capacity", tuple(by_capacity))


def _separate(events: pa.Table, capacity: int) -> pa.Table:
    """The same content without channels: each S as one event of each stream, then T."""
    width = capacity + 1
    index = np.repeat(np.arange(0, events.num_rows, 2), width)
    index[capacity::width] += 1
    names = [*(f"S{number}" for number in range(1, width)), "T"]
    types = coded(np.tile(np.arange(width), events.num_rows // 2), names)
    return events.take(pa.array(index)).set_column(events.column_names.index("type"), "type", types)


def _rounds(bench: Bench, queries: int, capacity: int) -> Point:
    rounds, sizes = bench.sizes.rounds, bench.sizes
    apart_text = workload("rumor-3", queries, bench.seed, capacity=capacity, separate=True)
    together = workload("rumor-3", queries, bench.seed, capacity=capacity)
    events = generate("rumor", 2 * rounds, seed=bench.seed)
    apart_events = _separate(events, capacity)
    # Ids of events differ between the two streams; times are the same, and every event of a stream has its own.
    one, other = (
        Case(text, table, told_by=("query", "start", "end"))
        for text, table in ((apart_text, apart_events), (together, events))
    )
    cells = [replace(with_stretto(one, NO_CHANNELS, sizes.repeat, sizes.limit), label="no channel")]
    cells += [with_stretto(other, name, sizes.repeat, sizes.limit) for name in bench.optimizers]
    return Point(str(queries), queries, tuple(replace(cell, events=rounds) for cell in agreeing(cells)))


def figure_11(bench: Bench) -> Iterator[Figure]:
    readings = generate("counters", bench.sizes.readings, seed=bench.seed)
    most = bench.sizes.unshared_runs
    points = [
        bench.point(
            queries,
            Case(workload("rumor-hybrid", queries, bench.seed, sel=SEL), readings),
            queries,
            unshared=most,
        )
        for queries in bench.sizes.hybrid
    ]
    yield Figure("11a", "hybrid: number of queries, sel 0.5", "queries", tuple(points))
    for queries in (10, bench.sizes.hybrid[-1]):
        # The goal is how far the points are apart.
        cases = {
            sel: Case(workload("rumor-hybrid", queries, bench.seed, sel=sel), readings)
            for sel in (0.0, 0.2, 0.5, 1.0)
        }
        columns = []
        for name in bench.optimizers:
            if queries > most and name in (NONE, NO_CHANNELS):
                columns.append([Cell(name, missing=NOT_TRIED.format(most))] * len(cases))
            else:
                columns.append(bench.in_turns([Contestant(name, name, [case]) for case in cases.values()]))
        points = [
            Point(str(sel), queries, agreeing(cells)) for sel, *cells in zip(cases, *columns, strict=True)
        ]
        yield Figure(f"11b, {queries} queries", f"hybrid: sel, {queries:,} queries", "sel", tuple(points))
    if bench.data is not None:
        yield from _on_nab(bench, bench.data / "cpu_nab_aws.parquet")


def _on_nab(bench: Bench, path: Path) -> Iterator[Figure]:
    """The hybrid workload on readings of Amazon CloudWatch, every five minutes."""
    table = pq.read_table(path)
    table = table.filter(pc.equal(table["type"].cast(pa.string()), "ec2_cpu_utilization"))
    points = []
    for queries in bench.sizes.hybrid:
        text = workload("rumor-hybrid", queries, bench.seed, window="4 HOURS", sel=SEL)
        text = text.replace(
            "SELECT pid, AVG(load) AS load FROM cpu GROUP BY pid WITHIN 60 SECONDS",
            "SELECT instance, AVG(value) AS load FROM ec2_cpu_utilization GROUP BY instance WITHIN 1 HOUR",
        )
        case = Case(text.replace("[pid]", "[instance]"), table)
        points.append(bench.point(queries, case, queries, unshared=bench.sizes.unshared_runs))
    yield Figure("11a, NAB", "hybrid on NAB's readings: number of queries, sel 0.5", "queries", tuple(points))


# ---- what the paper never measured ---------------------------------------------------------------------------


def definitions(kind: str, count: int) -> list[str]:
    """Streams that differ in their group-bys, in their windows or in their filters."""
    if kind == "group-bys":
        groups = [some for size in (1, 2, 3, 4) for some in combinations(range(8), size)]
        return [
            f"SELECT {keys}, AVG(a9) AS v FROM S GROUP BY {keys} WITHIN 200 SECONDS"
            for keys in (", ".join(f"a{n}" for n in group) for group in islice(groups, count))
        ]
    if kind == "windows":
        return [
            f"SELECT a.a1 AS v FROM S a JOIN T b ON a.a0 = b.a0 WITHIN {10 * number} SECONDS"
            for number in range(1, count + 1)
        ]
    return [
        f"SELECT a0, AVG(a9) AS v FROM S WHERE a1 >= {number} GROUP BY a0 WITHIN 2000 SECONDS"
        for number in range(count)
    ]


ABOVE = {"group-bys": 998, "windows": 998, "filters": 800}
"""Values of the streams that queries ask for: few have them, and some do."""


def streams_text(kind: str, made: Sequence[str], first: int = 0) -> str:
    """A query over each of some streams that seldom matches."""
    return "\n".join(
        f"CREATE STREAM d{number} AS {one};\n"
        f"QUERY q{number} PATTERN d{number} x WHERE x.v > {ABOVE[kind]} WITHIN 1 SECOND;"
        for number, one in enumerate(made, first)
    )


def shared_streams(bench: Bench) -> Iterator[Figure]:
    sizes = bench.sizes
    points = []
    for kind in ("group-bys", "windows", "filters"):
        keys = {"group-bys": 10, "windows": 1_000, "filters": 100}[kind]
        events = generate("rumor", sizes.shared, seed=bench.seed, keys=keys)
        # Values up to 999 whatever the keys are, so that the queries mean the same.
        values = pa.array(np.random.default_rng([bench.seed, 6]).integers(0, 1_000, events.num_rows))
        for name in ("a1", "a9"):
            events = events.set_column(events.column_names.index(name), name, values)
        made = definitions(kind, sizes.streams)
        case = Case(streams_text(kind, made), events)
        single = [Case(streams_text(kind, [one], number), events) for number, one in enumerate(made)]
        alone = Contestant(ALONE, NONE, single)
        cells = bench.in_turns([*(Contestant(name, name, [case]) for name in bench.optimizers), alone])
        others = (
            [apart(duck.LABEL, _windowed(kind, sizes.streams, events), sizes.limit)]
            if kind != "windows"
            else []
        )
        points.append(Point(kind, sizes.streams, agreeing([*cells, *others])))
    yield Figure(
        "streams",
        f"{sizes.streams} streams over one, which the paper never measured",
        "differ in",
        tuple(points),
    )


ALONE = "one by one"
"""Every stream in an engine of its own, without sharing."""


def _windowed(kind: str, count: int, events: pa.Table) -> Callable[[], Cell]:
    """The same as window functions; a filter before an aggregate is one inside it."""
    if kind == "group-bys":
        groups = [some for size in (1, 2, 3, 4) for some in combinations(range(8), size)]
        columns = [
            f"avg(a9) OVER (PARTITION BY {', '.join(f'a{n}' for n in group)} ORDER BY ts "
            "RANGE BETWEEN 199999999 PRECEDING AND CURRENT ROW)"
            for group in islice(groups, count)
        ]
    else:
        columns = [
            f"CASE WHEN a1 >= {number} THEN avg(a9) FILTER (a1 >= {number}) OVER (PARTITION BY a0 ORDER BY ts "
            "RANGE BETWEEN 1999999999 PRECEDING AND CURRENT ROW) END"
            for number in range(count)
        ]
    return lambda: duck.windowed(events, columns, f"> {ABOVE[kind]}", 1)


def average(bench: Bench) -> Iterator[Figure]:
    """One windowed AVG by key against DuckDB's window function."""
    from benchmarks.windowed_aggregates import Function, measured, settings

    events = 20 * bench.sizes.events
    points = []
    first, second, *_, different = settings(events)
    for setting in (first, second, different):
        mine, theirs = measured(setting, events, Function.AVG)
        cells = Cell("stretto", events, run=mine), Cell(duck.LABEL, events, run=theirs)
        points.append(Point(setting.name, 1, cells))
    yield Figure("average", "one AVG by key", "keys", tuple(points))


PARTS: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "9a": figure_9a,
    "table": figure_9a_table,
    "9bcd": figure_9bcd,
    "10ab": figure_10ab,
    "10cd": figure_10cd,
    "11": figure_11,
    "streams": shared_streams,
    "average": average,
}


def run(out: Path, data: Path | None, arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("stretto bench rumor", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes that take seconds")
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=list(PARTS), help="some of the experiments"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--optimizers", nargs="+", default=list(ALL))
    given = parser.parse_args(arguments)
    known = tuple(name for name in given.optimizers if name in about())
    figures = []
    with TemporaryDirectory() as folder:
        bench = Bench(QUICK if given.quick else Sizes(), given.seed, known, Path(folder), data)
        tiny = Case(workload("rumor-1", 3), generate("rumor", 64))
        with_stretto(tiny, NONE, 1, None)  # so that processes of their own find everything loaded
        for part in given.only:
            for figure in PARTS[part](bench):
                figures.append(figure)
                outcome = Outcome(given.seed, tuple(figures), tuple(given.optimizers))
                print(table(replace(outcome, figures=(figure,)), goals=False), flush=True)
                write(out, outcome)  # what has been measured so far is kept, whatever comes
    draw(out, outcome)
    print(table(outcome))
    return 1 if outcome.disagreements else 0


if __name__ == "__main__":
    here = Path("out")
    here.mkdir(exist_ok=True)
    sys.exit(run(here, None, sys.argv[1:]))
