"""DecoPa's experiments (sec. 7): overlapping splits on one core, the model's table and figures, simulated units.

`stretto bench decopa [--parts core,table3,figures,units] [--queries N] [--scale X]`. Every row says what it is: `model`
(published rates through the stated formulas), `one core` (our engine), or `simulated units` (every unit alone, one
after another, fed by the real router).
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

import pyarrow as pa  # noqa: E402  (after the path is set)
from benchmarks.decopa_units import hot_event, in_cells, one_core, plan_for, simulated  # noqa: E402

from benchmarks import decopa_model as model  # noqa: E402
from stretto.generate.rentals import MORE  # noqa: E402
from stretto.generate.streams import generate  # noqa: E402
from stretto.stats.profile import Stats  # noqa: E402

PARTS = ("core", "table3", "figures", "units")
UNITS = (5, 10, 15, 20)
APART_M = 6_000


def citi(slots: str) -> str:
    """All pairs of rentals at least 6 km apart, in a day."""
    names = slots.lower()
    pairs = [(one, other) for i, one in enumerate(names) for other in names[i + 1 :]]
    terms = [f"GEO_DISTANCE({a}.lat, {a}.lon, {b}.lat, {b}.lon) >= {APART_M}" for a, b in pairs]
    bound = ", ".join(f"{name} {name.lower()}" for name in slots)
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
        stats = Stats.of(events)
        before = one_core(plan_for(text, stats, overlapping=False), events)
        after = one_core(plan_for(text, stats), events)
        assert before.matches == after.matches, f"{name}: {before.matches} and {after.matches} matches"
        yield {
            "query": name,
            "matches": after.matches,
            "candidates without": before.candidates,
            "with": after.candidates,
            "fewer": round(before.candidates / max(after.candidates, 1), 2),
            "seconds without": round(before.seconds, 4),
            "seconds with": round(after.seconds, 4),
            "faster": round(before.seconds / after.seconds, 2),
        }


def units(scale: float) -> Iterable[dict[str, object]]:
    """Citi 1 on simulated units, staged and in cells."""
    _, text, events = next(iter(cases(scale)))
    stats = Stats.of(events)
    plan = plan_for(text, stats)
    for count in UNITS:
        yield simulated("Citi 1, staged", plan, stats, events, count)


def cells(scale: float) -> Iterable[dict[str, object]]:
    _, text, events = next(iter(cases(scale)))
    plan = plan_for(text, Stats.of(events))
    for anchors in ((("C", 20),), (("C", 4), ("E", 5)), (("E", 20),)):
        yield in_cells(plan, events, anchors)


def figures(queries: int) -> Mapping[str, Callable[[], Iterable[dict[str, object]]]]:
    return {
        "Fig. 9 a, 17 a: units (model)": lambda: model.by_units(queries, UNITS),
        "Fig. 9 b, 17 b: types of a query, 15 units (model)": lambda: model.by_length(queries, (4, 5, 6)),
        "Fig. 11, 12: kappa, order of rates (model)": lambda: model.by_kappa(queries),
        "Fig. 14: a type that repeats (model)": lambda: model.by_repetition(queries),
    }


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows of one shape as Markdown."""
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    for row in rows:
        cells_ = (row[name] for name in names)
        lines.append(f"| {' | '.join(f'{c:.4g}' if isinstance(c, float) else str(c) for c in cells_)} |")
    return "\n".join(lines)


def run(out: Path, _data: Path | None, options: Sequence[str]) -> int:
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
    if "table3" in wanted:
        sections["Table 3: gain over centralized (model)"] = lambda: model.table_3(UNITS)
    if "figures" in wanted:
        sections |= figures(given.queries)
    if "units" in wanted:
        sections["Citi 1 on units (simulated units, staged)"] = lambda: units(given.scale)
        sections["Citi 1 in 20 cells (simulated units)"] = lambda: cells(given.scale)
        sections["A hot event on 20 units (simulated units)"] = hot_event
    results: dict[str, list[dict[str, object]]] = {}
    for title, rows in sections.items():
        results[title] = list(rows())
        print(f"\n## {title}\n\n{table(results[title])}", flush=True)
    (out / "decopa.json").write_text(json.dumps(results, indent=2))
    return 0


if __name__ == "__main__":
    folder = Path("out")
    folder.mkdir(exist_ok=True)
    sys.exit(run(folder, None, sys.argv[1:]))
