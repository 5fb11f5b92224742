"""DecoPa's experiments (sec. 7): overlapping splits on one core, the model's table and figures, simulated units.

`stretto bench decopa [--parts core,others,table3,figures,units,real] [--queries N] [--scale X]`. Every row says what
it is: `model` (published rates through the stated formulas), `one core` (our engine), or `simulated units` (every unit
alone, one after another, fed by the real router).
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

import numpy as np  # noqa: E402  (after the path is set)
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from benchmarks.decopa_others import others  # noqa: E402
from benchmarks.decopa_units import (  # noqa: E402
    Loads,
    agreement,
    hot_event,
    in_cells,
    in_memory,
    one_core,
    plan_for,
    simulated,
)

from benchmarks import decopa_model as model  # noqa: E402
from stretto.generate.rentals import MORE  # noqa: E402
from stretto.generate.streams import generate  # noqa: E402
from stretto.stats.profile import Stats  # noqa: E402

PARTS = ("core", "others", "table3", "figures", "units", "real")
UNITS = (5, 10, 15, 20)
APART_M = 6_000


def citi(slots: str, repeated: str = "") -> str:
    """All pairs of rentals at least 6 km apart, in a day."""
    names = slots.lower()
    pairs = [(one, other) for i, one in enumerate(names) for other in names[i + 1 :]]
    terms = [f"GEO_DISTANCE({a}.lat, {a}.lon, {b}.lat, {b}.lon) >= {APART_M}" for a, b in pairs]
    bound = ", ".join(f"{name} {name.lower()}{'+' * (name in repeated)}" for name in slots)
    return f"QUERY citi PATTERN AND({bound}) WHERE {' AND '.join(terms)} WITHIN 24 HOURS;"


def google(minutes: int) -> str:
    """Google 1: every pair differs in one of three resources, so that pairs are independent."""
    pairs = (
        ("c", "e", "cpu"),
        ("a", "g", "cpu"),
        ("c", "a", "mem"),
        ("e", "g", "mem"),
        ("c", "g", "disk"),
        ("e", "a", "disk"),
    )
    terms = " AND ".join(f"{one}.{what} >= {other}.{what} + {MORE}" for one, other, what in pairs)
    return f"QUERY google PATTERN AND(SEQ(C c, E e, A a), G g) WHERE {terms} WITHIN {minutes} MINUTES;"


def cases(scale: float) -> Iterable[tuple[str, str, pa.Table]]:
    """What is run: a name, a query and its events."""
    rentals = generate("rentals", int(330_000 * scale), seed=1)
    tasks = generate("tasks", int(150_000 * scale), seed=1)
    yield "Citi 1, published rates", citi("CEGD"), rentals
    yield "Google 1, published rates", google(10), tasks
    yield "Google 1, four times the rates", google(40), tasks


def core(scale: float) -> Iterable[dict[str, object]]:
    """One core: `auto` with and without overlapping splits; the matches must be as many."""
    for name, text, events in cases(scale):
        yield with_and_without(name, text, events, OVERLAPPING)


def kleene(scale: float) -> Iterable[dict[str, object]]:
    """One core: `auto` with and without Kleene splits, unary and binary."""
    rentals = generate("rentals", int(120_000 * scale), seed=1)
    yield with_and_without("Citi 3, published rates", citi("EDAH", "D"), rentals, KLEENE)
    yield with_and_without("SEQ(A, B{3,} in steps, C)", STEPS, steps(int(20_000 * scale)), KLEENE)
    yield with_and_without(
        "SEQ(A, B+ in steps, C), B's terms with A", STEPS_FROM_A, steps(int(20_000 * scale)), KLEENE
    )


OVERLAPPING = ("split_overlapping",)
KLEENE = ("grow_unary", "split_kleene")
STEPS = """QUERY q PATTERN SEQ(A a, B b{3,}, C c)
WHERE b[i].x > b[i-1].x + 0.25 AND b[i].x < b[i-1].x + 0.3 WITHIN 100 s;"""
STEPS_FROM_A = """QUERY q PATTERN SEQ(A a, B b+, C c)
WHERE b[i].x > b[i-1].x + 0.25 AND b[i].x < b[i-1].x + 0.3 AND b.x > a.x + 0.5 AND c.x > LAST(b).x WITHIN 100 s;"""


def steps(count: int) -> pa.Table:
    """Events of three types, one a second, with numbers from 0 to 1."""
    random = np.random.default_rng(5)
    return pa.table(
        {
            "ts": pa.array(np.arange(count) * 1_000_000).cast(pa.timestamp("us")),
            "type": random.choice(["A", "B", "C"], count),
            "x": random.random(count),
        }
    )


def with_and_without(name: str, text: str, events: pa.Table, rules: Sequence[str]) -> dict[str, object]:
    """A query on one core by `auto`, and by `auto` without some rules; their runs alternate."""
    stats = Stats.of(events)
    plans = plan_for(text, stats, rules), plan_for(text, stats)
    runs = [[one_core(plan, events, 1) for plan in plans] for _ in range(2)]
    before, after = (min(own, key=lambda one: one.seconds) for own in zip(*runs, strict=True))
    assert before.matches == after.matches, f"{name}: {before.matches} and {after.matches} matches"
    return {
        "query": name,
        "by": ", ".join(sorted({one.because for one in plans[1].records} & set(rules))) or "as without",
        "matches": after.matches,
        "candidates without": before.candidates,
        "with": after.candidates,
        "fewer": round(before.candidates / max(after.candidates, 1), 2),
        "seconds without": round(before.seconds, 4),
        "seconds with": round(after.seconds, 4),
        "faster": round(before.seconds / after.seconds, 2),
    }


def units(scale: float, every: dict[str, Loads]) -> Iterable[dict[str, object]]:
    """Queries on simulated units, staged; the loads of each are added to `every`."""
    for name, text, events in cases(scale):
        if "published" in name and "Google" in name:
            continue  # too little work to divide
        stats = Stats.of(events)
        plan = plan_for(text, stats)
        own: Loads = []
        for count in UNITS:
            yield simulated(f"{name}, staged", plan, stats, events, count, own)
        yield simulated(f"{name}, a sixth of the state at most", plan, stats, events, UNITS[-1], [], 1 / 6)
        every[name] = own


def agreed(every: Mapping[str, Loads]) -> Iterable[dict[str, object]]:
    """Model and measurement for the units of each query, and for all."""
    for name, own in every.items():
        yield {"query": name, **agreement(own)}
    yield {"query": "all", **agreement([one for own in every.values() for one in own])}


def memory(scale: float) -> Iterable[dict[str, object]]:
    _, text, events = next(iter(cases(scale)))
    stats = Stats.of(events)
    yield in_memory(plan_for(text, stats), stats, events)


def real(data: Path | None) -> Iterable[dict[str, object]]:
    """The published trace of a Google cluster: tasks that fail or are evicted near submissions of other sizes."""
    place = (data or Path("data")) / TRACE
    if not place.exists():
        yield {"query": f"{place}: not there, give --data"}
        return
    events = pq.read_table(place)
    stats = Stats.of(events)
    for name, text in REAL.items():
        before = one_core(plan_for(text, stats, OVERLAPPING), events)
        plan = plan_for(text, stats)
        after = one_core(plan, events)
        assert before.matches == after.matches
        shown = simulated(name, plan, stats, events, 20, [])
        yield {
            "query": name,
            "matches": after.matches,
            "candidates without": before.candidates,
            "with": after.candidates,
            "faster": round(before.seconds / after.seconds, 2),
            "20 units: gain": shown["gain"],
            "fullest unit / mean": shown["fullest unit / mean, median and worst operator"],
        }


TRACE = "google_cluster_decopa.parquet"
REAL = {
    "AND(SCHEDULE, EVICT, FAIL), 10 min": (
        "QUERY q PATTERN AND(SCHEDULE c, EVICT e, FAIL f) WHERE c.cpu_req >= f.cpu_req + 0.05"
        " AND e.mem_req >= f.mem_req + 0.02 AND c.mem_req >= e.mem_req + 0.1 WITHIN 10 MINUTES;"
    ),
    "AND(SEQ(SUBMIT, EVICT), FAIL), 30 min": (
        "QUERY q PATTERN AND(SEQ(SUBMIT s, EVICT e), FAIL f) WHERE s.cpu_req >= f.cpu_req + 0.02"
        " AND e.mem_req >= f.mem_req + 0.02 AND s.mem_req >= e.mem_req + 0.1 WITHIN 30 MINUTES;"
    ),
}


def cells(scale: float) -> Iterable[dict[str, object]]:
    _, text, events = next(iter(cases(scale)))
    plan = plan_for(text, Stats.of(events))
    for anchors in ((("C", 20),), (("C", 4), ("E", 5)), (("E", 20),)):
        yield in_cells(plan, events, anchors)


def figures(queries: int) -> Mapping[str, Callable[[], Iterable[dict[str, object]]]]:
    return {
        "Fig. 9 a: units (model)": lambda: model.by_units(queries, UNITS),
        "Fig. 9 b: types of a query, 15 units (model)": lambda: model.by_length(queries, (4, 5, 6)),
        "Fig. 11, 12: kappa, order of rates (model)": lambda: model.by_kappa(queries),
        "Fig. 11, Kleene: a type that repeats (model)": lambda: model.by_repetition(queries),
        "Fig. 13, 14: latency and exchanged events at hybrid's speed (model)": lambda: model.by_hybrid_speed(
            queries
        ),
        "Fig. 15: several queries, 40 units (model)": lambda: model.by_queries(queries),
        "Fig. 16: planning for 20 units (seconds of a processor)": lambda: model.by_planning(queries),
        "Fig. 17: bound by ingestion and by comparisons (model)": lambda: model.by_bounds(queries),
    }


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows of one shape as Markdown."""
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    for row in rows:
        cells_ = (row[name] for name in names)
        lines.append(f"| {' | '.join(f'{c:.4g}' if isinstance(c, float) else str(c) for c in cells_)} |")
    return "\n".join(lines)


def run(out: Path, data: Path | None, options: Sequence[str]) -> int:
    """Every part in turn; tables to the screen, all figures to decopa.json."""
    parser = argparse.ArgumentParser(prog="stretto bench decopa")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--queries", type=int, default=9, help="random queries for each point of a figure")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of events")
    given = parser.parse_args(list(options))
    wanted = set(given.parts.split(","))
    if wanted - set(PARTS):
        parser.error(f"parts are {', '.join(PARTS)}")
    sections: dict[str, Callable[[], Iterable[dict[str, object]]]] = {}
    if "core" in wanted:
        sections["Overlapping splits (one core)"] = lambda: core(given.scale)
        sections["Kleene splits (one core)"] = lambda: kleene(given.scale)
    if "others" in wanted:
        sections["Other experiments: `auto` with DecoPa's ways by `auto` without them (one core)"] = others
    if "table3" in wanted:
        sections["Table 3: gain over centralized (model)"] = lambda: model.table_3(UNITS)
    if "figures" in wanted:
        sections |= figures(given.queries)
    if "units" in wanted:
        every: dict[str, Loads] = {}
        sections["On units (simulated units, staged)"] = lambda: units(given.scale, every)
        sections["Model and measurement, all of these units (simulated units)"] = lambda: agreed(every)
        sections["Citi 1 and a limit on memory (units in one process)"] = lambda: memory(given.scale)
        sections["Citi 1 in 20 cells (simulated units)"] = lambda: cells(given.scale)
        sections["A hot event on 20 units (simulated units)"] = hot_event
    if "real" in wanted:
        sections["Google's trace (one core, and 20 simulated units)"] = lambda: real(data)
    results: dict[str, list[dict[str, object]]] = {}
    shown = [f"stretto bench decopa {' '.join(options)} (two shared cores, seconds are CPU time)\n"]
    for title, rows in sections.items():
        results[title] = list(rows())
        shown.append(f"## {title}\n\n{table(results[title])}\n")
        print(f"\n{shown[-1]}", end="", flush=True)
        (out / "decopa.txt").write_text("\n".join(shown))
        (out / "decopa.json").write_text(json.dumps(results, indent=2))
    return 0


if __name__ == "__main__":
    folder = Path("out")
    folder.mkdir(exist_ok=True)
    sys.exit(run(folder, None, sys.argv[1:]))
