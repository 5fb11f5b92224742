"""What planning takes: seconds, memory and the proven gap, for workloads of ten to ten thousand queries.

`stretto bench planning [options]` or `python benchmarks/planning.py [options]`. Every plan is made in a process of its
own, from one of MCEP's workloads and statistics of 200,000 events; these are made before the clock starts.

`--optimizers rivals` compares `auto` and `exact` with every local search, each also as `NAME/ns`: the same search by
our cost model in place of its paper's.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.optimizers_report import say  # noqa: E402
from benchmarks.parts import named  # noqa: E402
from benchmarks.sheets import keep, machine  # noqa: E402

from stretto.generate.streams import generate  # noqa: E402
from stretto.generate.workloads import workload  # noqa: E402
from stretto.memo.memo import Memo  # noqa: E402
from stretto.memo.pricing import Pricing  # noqa: E402
from stretto.pattern.workload import Workload  # noqa: E402
from stretto.plan.optimize import planned, uncollected  # noqa: E402
from stretto.plan.optimizers import RECIPES, Recipe, all_that_fit, model_of  # noqa: E402
from stretto.solve.common.budget import Budget  # noqa: E402
from stretto.solve.common.solution import Solution  # noqa: E402
from stretto.solve.exact.solver import exact  # noqa: E402
from stretto.stats.profile import Stats  # noqa: E402

EVENTS = 200_000
SIZES = (10, 100, 1_000, 10_000)
OPTIMIZERS = ("auto", "reorder", "share", "motto", "mcep")
LOCAL = ("mcep", "mcep-tabu", "mcep-vertex4", "mcep-vertex8", "mcep-prefix", "spass", "share")
CONTESTANTS: Final[dict[str, Recipe]] = {
    **RECIPES,
    "exact": Recipe(all_that_fit, model_of, exact),
    **{f"{name}/ns": replace(RECIPES[name], pricing=model_of) for name in LOCAL},
}
RIVALS = ("auto", "exact", *LOCAL, *(f"{name}/ns" for name in LOCAL))
STREAMS: Final = {"mcep-stocks": "mcep-stocks", "mcep-traffic": "traffic"}


@dataclass(frozen=True, slots=True)
class Made:
    """A plan, and what it took to make it: `seconds` by the clock, `processor` of all cores, `memory` in bytes.

    `chosen`: when what the plan computes was settled, by the clock of the budget; what follows is its assembly.
    """

    optimizer: str
    queries: int
    budget: float
    chosen: float
    seconds: float
    processor: float
    memory: int
    operators: int
    cost: float
    alone: float
    gap: float | None


@dataclass(frozen=True, slots=True)
class Case:
    """A workload, and who plans it. Without `types` and `window`: those of the workload's kind."""

    optimizer: str
    queries: int
    budget: float
    seed: int
    types: int | None = None
    window: str | None = None
    workload: str = "mcep-stocks"


def run(out: Path, data: Path | None, options: Sequence[str]) -> int:
    """Plan, print the table, and write planning.json and planning.txt into `out`."""
    del data  # streams are generated
    given = _parse(options)
    same = given.budget, given.seed, given.types, given.window, given.workload
    if given.one:
        case = Case(given.optimizers[0], given.sizes[0], *same)
        print(json.dumps(asdict(plan(case))))
        return 0
    made = [
        _apart(Case(name, size, *same))
        for size in given.sizes
        for name in given.optimizers
        if size <= given.most or name == "auto"
    ]
    text = table(made, given)
    record = {"machine": machine(), "seed": given.seed, "plans": [asdict(one) for one in made]}
    keep(out, given.name, text, record)
    print(text)
    return 0


def _parse(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="planning", description=__doc__)
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")], default=list(SIZES))
    parser.add_argument(
        "--optimizers",
        type=lambda text: list(RIVALS) if text == "rivals" else named(CONTESTANTS)(text),
        default=list(OPTIMIZERS),
        help="such as auto,mcep; or rivals",
    )
    parser.add_argument("--workload", choices=list(STREAMS), default="mcep-stocks")
    parser.add_argument("--name", default="planning", help="of the files that are written")
    parser.add_argument("--most", type=int, default=1_000, help="queries that all but auto are tried on")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of every solver")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--types", type=int, help="types of events: the fewer, the more is shared")
    parser.add_argument("--window", help="such as '20 MILLISECONDS'")
    parser.add_argument("--one", action="store_true", help="make one plan in this process, print JSON")
    return parser.parse_args(options)


def plan(case: Case) -> Made:
    """One plan, in this process."""
    options = {"types": case.types, "window": case.window}
    settled = {name: value for name, value in options.items() if value is not None}
    parsed = Workload.parse(workload(case.workload, case.queries, case.seed, **settled))
    events = generate(STREAMS[case.workload], EVENTS, case.seed, types=case.types)
    stats = Stats.of(events, workload=parsed)
    recipe, chosen = CONTESTANTS[case.optimizer], [0.0]
    clock, processor, budget = time.perf_counter(), time.process_time(), Budget(case.budget)

    def solve(memo: Memo, pricing: Pricing, left: Budget) -> Solution:
        found = recipe.solve(memo, pricing, left)
        chosen[0] = budget.spent
        return found

    with uncollected():
        made = planned(parsed, stats, case.optimizer, replace(recipe, solve=solve), budget)
    seconds, spent = time.perf_counter() - clock, time.process_time() - processor
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    estimate = made.estimate
    assert estimate is not None
    costs = estimate.cost, estimate.alone, estimate.gap
    took = chosen[0], seconds, spent, memory
    return Made(case.optimizer, case.queries, case.budget, *took, len(made.ops), *costs)


def _apart(case: Case) -> Made:
    say(f"{case.optimizer}, {case.queries:,} queries")
    options = ["--optimizers", case.optimizer, "--sizes", str(case.queries), "--budget", str(case.budget)]
    options += ["--seed", str(case.seed), "--workload", case.workload]
    options += ["--types", str(case.types)] if case.types is not None else []
    options += ["--window", case.window] if case.window is not None else []
    done = subprocess.run(
        [sys.executable, __file__, "--one", *options], capture_output=True, text=True, check=True
    )
    return Made(**json.loads(done.stdout))


def table(made: Sequence[Made], given: argparse.Namespace) -> str:
    """Plain text, a line per plan."""
    types = "" if given.types is None else f"; {given.types} types"
    window = "" if given.window is None else f"; {given.window}"
    about = f"{given.workload}; seed {given.seed}{types}{window}"
    lines = [
        f"planning: {about}; budget {given.budget:g} s; {machine()}",
        " queries optimizer          chosen seconds   CPU s   memory operators       cost  of none      gap",
    ]
    for one in made:
        gap = "" if one.gap is None else f"{one.gap:.2%}"
        lines.append(
            f"{one.queries:8,} {one.optimizer:16} {one.chosen:8.1f} {one.seconds:7.1f} {one.processor:7.1f} "
            f"{one.memory / 1e6:5.0f} MB {one.operators:9,} {one.cost:10.4g} {one.cost / one.alone:8.2%} {gap:>8}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(run(ROOT / "benchmarks" / "results", None, sys.argv[1:]))
