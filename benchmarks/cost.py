"""How well the cost model predicts: random plans of one workload, their predicted and their measured run times.

`stretto bench cost [options]` or `python -m benchmarks.cost [options]`. Every plan's matches are compared with those
of the plan in the order of the text before it is timed; a wrong answer ends the experiment with exit code 1. With
`--data DIR` the same is asked of every set of real events there (benchmarks/cost_on_sets.py), and also which kinds of
operators are misjudged.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.cost_on_sets import SetRun, runs_on_sets, set_lines  # noqa: E402
from benchmarks.sheets import (  # noqa: E402
    keep,
    machine,
    priced,
)

from stretto.engine.kernels import when_to_compile  # noqa: E402
from stretto.engine.pace import STEP  # noqa: E402
from stretto.engine.run import Engine  # noqa: E402
from stretto.engine.whole_table import run as run_plan  # noqa: E402
from stretto.generate.streams import generate  # noqa: E402
from stretto.memo.cost import CostModel  # noqa: E402
from stretto.memo.explore import Rules, explore  # noqa: E402
from stretto.memo.memo import Memo, build_memo  # noqa: E402
from stretto.memo.prices import load  # noqa: E402
from stretto.memo.rules.join_left_to_right import join_left_to_right  # noqa: E402
from stretto.memo.rules.split_in_two import split_in_two  # noqa: E402
from stretto.pattern.piece import Detection  # noqa: E402
from stretto.pattern.workload import Workload  # noqa: E402
from stretto.plan.assemble import assemble  # noqa: E402
from stretto.plan.build import Builder  # noqa: E402
from stretto.plan.check import check  # noqa: E402
from stretto.plan.dag import Plan  # noqa: E402
from stretto.plan.optimize import plannable  # noqa: E402
from stretto.solve.common.solution import Computation, Solution, each_alone  # noqa: E402
from stretto.stats.estimate import Estimator  # noqa: E402
from stretto.stats.profile import Stats  # noqa: E402

GOAL = 0.9
CHECKED = 5_000
"""Events on which all matches are compared, before anything is timed."""
TYPES = 8
RATE = 1_000.0
KEYS = 40
SHAPES = (
    "SEQ({0} a, {1} b, {2} c, {3} d)",
    "SEQ({0} a, {1} b, {2} c, {3} d, {4} e)",
    "SEQ({0} a, AND({1} b, {2} c), {3} d)",
    "SEQ({0} a, {1} b, {2} c)",
    "SEQ({0} a, NOT({5} n), {1} b, {2} c, {3} d)",
    "AND({0} a, {1} b, {2} c)",
    "SEQ({0} a, {1} b, {2} c{{1,2}})",
    "AND(SEQ({0} a, {1} b), SEQ({2} c, {3} d))",
)
WINDOW_MS = 120


@dataclass(frozen=True, slots=True)
class Run:
    """One plan: its operators, how often a part was shared, predicted and measured seconds."""

    plan: str
    operators: int
    shared: int
    predicted: float
    measured: float


def run(out: Path, data: Path | None, options: Sequence[str]) -> int:
    """Compare, measure, print the correlation, and write cost.json, cost.txt and cost.png into `out`."""
    given = _parse(options)
    when_to_compile.always = True
    try:
        runs = Experiment(given).runs()
        on_sets = [] if data is None else list(runs_on_sets(data, given.workloads, given.seed, given.repeat))
    except WrongAnswerError as error:
        print(f"cost: {error}", file=sys.stderr)
        return 1
    finally:
        when_to_compile.always = None
    rank = spearman([r.predicted for r in runs], [r.measured for r in runs])
    lines = [*_table(runs, rank, given), *_of_sets(on_sets)]
    print("\n".join(lines))
    record = {"seed": given.seed, "events": given.events, "machine": machine(), "spearman": rank}
    record["runs"] = [asdict(r) for r in runs]
    record["sets"] = [{**asdict(r), "ratio": r.ratio} for r in on_sets]
    keep(out, "cost", "\n".join(lines), record)
    _plot(runs, rank, out / "cost.png")
    return 0


class WrongAnswerError(Exception):
    """A plan found other matches than it should."""


def _parse(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="cost", description=__doc__)
    parser.add_argument("--plans", type=int, default=50)
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs counts")
    parser.add_argument("--workloads", type=int, default=3, help="of each set of real events")
    return parser.parse_args(options)


def _of_sets(runs: Sequence[SetRun]) -> list[str]:
    """The table of the sets, if there are any."""
    names = dict.fromkeys(run.data for run in runs)
    ranks = {name: _within_workloads([run for run in runs if run.data == name]) for name in names}
    return list(set_lines(runs, ranks)) if runs else []


def _within_workloads(runs: Sequence[SetRun]) -> float:
    """The correlation of ranks among the plans of one workload, at the mean: what a choice depends on."""
    by_number = [[run for run in runs if run.workload == n] for n in dict.fromkeys(r.workload for r in runs)]
    return float(
        np.mean([spearman([r.predicted for r in some], [r.measured for r in some]) for some in by_number])
    )


def workload(queries: int, seed: int) -> str:
    """Queries of three and four types, with comparisons, equalities, a negation and a repetition among them."""
    random = Random(seed)
    names = "ABCDEFGH"[:TYPES]
    texts = []
    for i in range(queries):
        shape = SHAPES[i % len(SHAPES)]
        slots = [name for name in "abcde" if f"}} {name}" in shape]
        types = random.sample(names[:6], len(slots))
        spare = random.choice(names[6:])
        one, other = random.sample(slots[:3], 2)
        terms = [f"{one}.x > {other}.x + 0.5"]
        if i % 3 == 0:
            first, second = random.sample(slots[:3], 2)
            terms.append(f"{first}.k = {second}.k")
        elif i % 3 == 1 and len(slots) > 3:
            first, second = random.sample(slots, 2)
            terms.append(f"{first}.x < {second}.x")
        pattern = shape.format(*types, *[""] * (5 - len(types)), spare)
        texts.append(
            f"QUERY q{i} PATTERN {pattern} WHERE {' AND '.join(terms)} WITHIN {WINDOW_MS} MILLISECONDS;"
        )
    return "\n".join(texts)


class Experiment:
    """One workload, one stream, many plans."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.table: pa.Table = generate(
            "zipf", given.events, given.seed, RATE, types=TYPES, keys=KEYS, exponent=1.2
        )
        self.stats = Stats.of(self.table)
        bound = Workload.parse(workload(given.queries, given.seed)).bind(self.stats.schema)
        self.detections: Sequence[Detection] = plannable(bound)
        self.memo: Memo = build_memo(self.detections)
        explore(self.memo, Rules(pieces=(join_left_to_right, split_in_two)))
        # Plans are run again and again in one process: their matches are written to memory that it had before.
        self.model = CostModel(Estimator(self.stats), replace(load(), fresh=0.0), self.stats.events)

    def runs(self) -> list[Run]:
        """All plans compared, then all timed."""
        random = Random(self.given.seed)
        solutions = [("text", Solution(each_alone(self.memo, {})))]
        solutions += [(f"random {i}", random_solution(self.memo, random)) for i in range(1, self.given.plans)]
        planned = [(name, solution, self._plan(solution)) for name, solution in solutions]
        head = self.table.slice(0, CHECKED)
        expected = _answer(planned[0][2], head)
        for name, _, plan in planned[1:]:
            _progress(f"comparing {name}")
            if not _answer(plan, head).equals(expected):
                raise WrongAnswerError(
                    f"wrong answer: the plan {name} finds other matches than that of the text"
                )
        plans = [plan for _, _, plan in planned]
        self._seconds(plans[0])  # what the first run of a process pays is nobody's
        rounds = [self._round(plans, i) for i in range(self.given.repeat)]
        measured = [min(times) for times in zip(*rounds, strict=True)]
        return [self._run(*one, seconds) for one, seconds in zip(planned, measured, strict=True)]

    def _round(self, plans: Sequence[Plan], number: int) -> list[float]:
        """All plans once, so that a busy minute of the machine does not fall on one of them alone."""
        _progress(f"timing, round {number + 1} of {self.given.repeat}")
        return [self._seconds(plan) for plan in plans]

    def _plan(self, solution: Solution) -> Plan:
        builder = Builder(self.stats.schema.attributes)
        emits = assemble(self.detections, self.memo, solution, builder)
        return check(Plan(tuple(builder.ops), emits, tuple(builder.records), self.stats.schema, "random"))

    def _run(self, name: str, solution: Solution, plan: Plan, measured: float) -> Run:
        predicted = self.model.fixed_cost(self.memo) + solution.cost(self.memo, self.model)
        predicted += sum(self.model.emit_cost(self.memo, root) for root in self.memo.roots)
        readers = [len(node.inputs) for node in solution.nodes()]
        shared = sum(readers) + len(solution.roots) - len(readers)
        return Run(name, len(plan.ops), shared, predicted * self.stats.seconds / 1e9, measured)

    def _seconds(self, plan: Plan) -> float:
        engine = Engine(plan)
        batches: list[Any] = self.table.to_batches(max_chunksize=STEP)
        start = process_time()
        for batch in batches:
            engine.push(batch)
        engine.flush()
        return process_time() - start


def random_solution(memo: Memo, random: Random) -> Solution:
    """Random trees for every query; a part that is there already is used again as often as a coin says."""
    sharing = random.random()
    made: dict[int, list[Computation]] = {}

    def node(number: int) -> Computation:
        known = made.setdefault(number, [])
        if known and random.random() < sharing:
            return random.choice(known)
        way = random.choice(memo.ways[number])
        found = Computation(number, way, tuple(node(part) for part in way.pieces))
        known.append(found)
        return found

    return Solution(tuple(node(root.piece) for root in memo.roots))


def _answer(plan: Plan, table: pa.Table) -> pa.Table:
    """Which query found which match, in one order."""
    found = run_plan(plan, table).to_arrow()
    return found.select(["query", "match_id"]).sort_by([("query", "ascending"), ("match_id", "ascending")])


def spearman(left: Sequence[float], right: Sequence[float]) -> float:
    """The correlation of ranks; equal values share their mean rank."""
    return float(np.corrcoef(_ranks(left), _ranks(right))[0, 1])


def _ranks(values: Sequence[float]) -> np.ndarray:
    array = np.asarray(values)
    sorted_ = np.sort(array)
    return (np.searchsorted(sorted_, array, "left") + np.searchsorted(sorted_, array, "right")) / 2


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(text, file=sys.stderr)


def _table(runs: Sequence[Run], rank: float, given: argparse.Namespace) -> list[str]:
    size = f"{len(runs)} plans of {given.queries} queries, {given.events:,} events"
    head = f"cost: {size}, seed {given.seed}; {machine()}; {priced()}"
    lines = [
        head,
        f"{'plan':12} {'operators':>9} {'shared':>6} {'predicted':>10} {'measured':>10} {'ratio':>6}",
    ]
    for r in sorted(runs, key=lambda r: r.measured):
        ratio = r.predicted / r.measured
        lines.append(
            f"{r.plan:12} {r.operators:9} {r.shared:6} {r.predicted:9.3f}s {r.measured:9.3f}s {ratio:6.2f}"
        )
    errors = [max(r.predicted / r.measured, r.measured / r.predicted) for r in runs]
    lines.append(
        f"Spearman's rank correlation {rank:.3f} (goal {GOAL:g}); predicted and measured differ by a factor of "
        f"{np.median(errors):.2f} (median), {max(errors):.2f} (most); slowest plan "
        f"{max(r.measured for r in runs) / min(r.measured for r in runs):.1f} times the fastest"
    )
    return lines


def _plot(runs: Sequence[Run], rank: float, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 5), layout="constrained")
    axes.scatter([r.predicted for r in runs], [r.measured for r in runs], s=18)
    ends = [f(g(r.predicted, r.measured) for r in runs) for f, g in ((min, min), (max, max))]
    axes.plot(ends, ends, color="grey", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("predicted seconds")
    axes.set_ylabel("measured seconds, one core")
    axes.set_title(f"{len(runs)} random plans, rank correlation {rank:.3f}", fontsize=10)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    folder = sys.argv[sys.argv.index("--data") + 1] if "--data" in sys.argv[:-1] else None
    rest = [one for one in sys.argv[1:] if one not in ("--data", folder)]
    sys.exit(run(ROOT / "benchmarks" / "results", Path(folder) if folder else None, rest))
