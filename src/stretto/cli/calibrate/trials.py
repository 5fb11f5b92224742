"""Small workloads over generated events, each heavy in one kind of work: what prices are fitted to."""

from collections.abc import Iterator, Sequence
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stretto.engine.kernels import when_to_compile
from stretto.engine.pace import STEP
from stretto.engine.run import Engine
from stretto.generate.streams import generate
from stretto.memo.cost import CostModel
from stretto.memo.explore import PieceRule, Rules, explore
from stretto.memo.memo import Memo, build_memo
from stretto.memo.prices import NAMES, Prices
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.ways import Way, WayKind
from stretto.pattern.workload import Workload
from stretto.plan.assemble import assemble
from stretto.plan.build import Builder
from stretto.plan.check import check
from stretto.plan.dag import Plan
from stretto.plan.optimize import plannable
from stretto.records import dataclass
from stretto.solve.common.solution import Solution, one_way_each
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats

TYPES = 5
KEYS = 50
RATE = 1_000.0
SMALL_STEP = 2_048

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trial:
    """Queries, how many events the engine takes at a step, and the types in the order to join them (or the text's)."""

    name: str
    queries: tuple[str, ...]
    step: int = STEP
    order: str = ""

    @property
    def text(self) -> str:
        return "\n".join(f"QUERY q{i} {query};" for i, query in enumerate(self.queries))


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """Units of work of a trial, as the cost model counts them, and the nanoseconds it took."""

    trial: Trial
    work: F64
    nanoseconds: float


def _single(name: str, where: str) -> str:
    return f"PATTERN {name} a WHERE {where} WITHIN 1 SECOND"


def _pair(where: str, window: str, word: str = "SEQ") -> str:
    return f"PATTERN {word}(A a, B b) {where and 'WHERE ' + where} WITHIN {window}"


def _triple(where: str, window: str, pattern: str = "SEQ(A a, B b, C c)") -> str:
    return f"PATTERN {pattern} {where and 'WHERE ' + where} WITHIN {window}"


TRIALS: tuple[Trial, ...] = (
    Trial("events", (_single("A", "a.x < 0.001"),)),
    Trial("scans", tuple(_single(t, f"a.x + {i} * a.k < 0.01") for t in "ABCD" for i in range(8))),
    Trial("looked up", tuple(_single(t, f"a.x + a.k < 0.0{i}1") for t in "ABCD" for i in range(8))),
    Trial("rows", (_pair("", "400 MILLISECONDS"),)),
    Trial("wide rows", (_triple("", "80 MILLISECONDS"),)),
    Trial("wider rows", (_triple("", "50 MILLISECONDS", "SEQ(A a, B b, C c, D d)"),)),
    Trial("emitted", ("PATTERN A a WITHIN 1 SECOND",) * 20),
    Trial("emitted, two", (_pair("", "60 MILLISECONDS"),) * 8),
    Trial("emitted, four", (_triple("", "30 MILLISECONDS", "SEQ(A a, B b, C c, D d)"),) * 6),
    Trial("candidates", (_pair("a.x > b.x + 0.9", "5 SECONDS"),)),
    Trial("two terms", (_pair("a.x > b.x + 0.6 AND a.k > b.k + 40", "5 SECONDS"),)),
    Trial("three terms", (_pair("a.x > b.x + 0.6 AND a.k > b.k + 40 AND a.x * 2 > b.x + 1", "5 SECONDS"),)),
    Trial("stored", (_triple("c.x < 0.005", "150 MILLISECONDS"),)),
    Trial("stored and compared", (_triple("a.x > c.x + 0.8 AND a.x > b.x", "150 MILLISECONDS"),)),
    Trial("sorted", (_triple("c.x < 0.005", "80 MILLISECONDS", "AND(A a, B b, C c)"),)),
    Trial("sorted once", (_triple("c.x < 0.005", "150 MILLISECONDS", "SEQ(AND(A a, B b), C c)"),)),
    Trial("probing", (_triple("b.x < 0.005", "150 MILLISECONDS"),), order="ACB"),
    Trial("probing and compared", (_triple("b.x < 0.1 AND b.x > a.x AND c.x < b.x", "150 MILLISECONDS"),), order="ACB"),
    Trial("gap", (_triple("b.x > a.x + 0.5 AND b.k > c.k", "100 MILLISECONDS"),), order="CAB"),
    Trial("any", (_pair("a.x > b.x + 0.9", "3 SECONDS", "AND"),)),
    Trial("any rows", (_triple("a.x > b.x + 0.5", "80 MILLISECONDS", "AND(A a, B b, C c)"),)),
    Trial("any long", (_triple("a.x > b.x + 0.7 AND b.x > c.x + 0.05", "500 MILLISECONDS", "AND(A a, B b, C c)"),)),
    Trial("between", (_triple("a.x > b.x + 0.7 AND b.x > c.x", "500 MILLISECONDS", "AND(SEQ(A a, B b), C c)"),)),
    Trial("equal", (_pair("a.k = b.k", "6 SECONDS"),)),
    Trial("equal, few pass", (_pair("a.k = b.k AND a.x > b.x + 0.8", "10 SECONDS"),)),
    Trial("equal three", (_triple("[k]", "2 SECONDS"),)),
    Trial("equal and stored", (_triple("b.k = c.k AND c.x > b.x + 0.8", "150 MILLISECONDS"),)),
    Trial("equal twice", (_pair("a.k = b.k AND a.k * a.k = b.k * b.k", "6 SECONDS"),)),
    Trial("evaluated", (_pair("a.x + b.x < 1", "200 MILLISECONDS"),)),
    Trial("evaluated, few pass", (_pair("a.x + b.x < 0.1", "200 MILLISECONDS"),)),
    Trial("alike", ("PATTERN AND(A a, A b) WHERE a.x > b.x + 0.5 WITHIN 400 MILLISECONDS",)),
    Trial("forbidden", (_triple("", "100 MILLISECONDS", "SEQ(A a, NOT(C c), B b)"),)),
    Trial("forbidden by term", (_triple("c.x > a.x", "100 MILLISECONDS", "SEQ(A a, NOT(C c), B b)"),)),
    Trial("forbidden last", ("PATTERN SEQ(A a, B b, NOT(C c)) WITHIN 20 MILLISECONDS",)),
    Trial("repeated", ("PATTERN SEQ(A a, B b+) WITHIN 15 MILLISECONDS",)),
    Trial("repeated more", ("PATTERN B b{3,} WITHIN 20 MILLISECONDS",)),
    Trial("repeated few", ("PATTERN SEQ(A a, B b{1,2}) WITHIN 40 MILLISECONDS",)),
    Trial("next", ("PATTERN SEQ(A a, B b, C c) WITHIN 1 SECOND SELECT NEXT",)),
    Trial("steps", tuple(_pair(f"a.x > b.x + 0.9{i}", "10 MILLISECONDS") for i in range(20)), SMALL_STEP),
    Trial("steps, any", tuple(_pair(f"a.x > b.x + 0.9{i}", "10 MILLISECONDS", "AND") for i in range(20)), SMALL_STEP),
    Trial("mixed", tuple(
        _triple(f"{x}.x > {y}.x + 0.7", "100 MILLISECONDS", f"SEQ({s} a, {t} b, {u} c)")
        for x, y in ("ab", "bc", "ac") for s, t, u in ("ABC", "DEA", "BDE")
    )),
)  # fmt: skip


class Bench:
    """Runs trials over one stream of independent events."""

    def __init__(self, events: int) -> None:
        table = generate("uniform", events, 1, RATE, types=TYPES, keys=KEYS)
        types = table["type"].cast(pa.string())  # as most tables have them; generated ones are codes
        self.table: pa.Table = table.set_column(table.schema.get_field_index("type"), "type", types)
        self.stats = Stats.of(self.table)
        # Of events without end: trials take all steps alike, where other runs take longer and longer ones.
        self.model = CostModel(Estimator(self.stats), Prices())

    def outcomes(self, trials: Sequence[Trial], repeat: int) -> Iterator[TrialOutcome]:
        """The trials one by one, each the best of some runs."""
        before, when_to_compile.always = when_to_compile.always, True
        try:
            for trial in trials:
                yield self._outcome(trial, repeat)
        finally:
            when_to_compile.always = before

    def _outcome(self, trial: Trial, repeat: int) -> TrialOutcome:
        plan, work = self.planned(trial)
        head = self.table.slice(0, 2 * SMALL_STEP)
        self._seconds(plan, head, trial.step)  # so that nothing is compiled or loaded while it is timed
        seconds = min(self._seconds(plan, self.table, trial.step) for _ in range(repeat))
        work[NAMES.index("step")] *= STEP / trial.step
        return TrialOutcome(trial, work * self.stats.seconds, seconds * 1e9)

    def planned(self, trial: Trial) -> tuple[Plan, F64]:
        """The plan, in which equal queries share all but their output, and its work per second."""
        detections = plannable(Workload.parse(trial.text).bind(self.stats.schema))
        memo = build_memo(detections)
        explore(memo, Rules((_join_types(trial.order) if trial.order else join_left_to_right,)))
        solution = Solution(one_way_each(memo, {}))
        builder = Builder(self.stats.schema.attributes)
        emits = assemble(detections, memo, solution, builder)
        plan = Plan(tuple(builder.ops), emits, tuple(builder.records), self.stats.schema, "trial")
        work = np.array(self.model.fixed_work(memo))
        for node in solution.nodes():
            work += self.model.work(memo, node.piece, node.way)
        for root in memo.roots:
            work += self.model.emit_work(memo, root)
        work[NAMES.index("fresh")] = 0.0  # after its first run a trial writes to memory that it had before
        return check(plan), work

    def _seconds(self, plan: Plan, table: pa.Table, step: int) -> float:
        engine = Engine(plan, step=step)
        batches: list[Any] = table.to_batches(max_chunksize=step)
        start = process_time()
        for batch in batches:
            engine.push(batch)
        engine.flush()
        return process_time() - start


def _join_types(order: str) -> PieceRule:
    """The slots joined in the order of their types, each of which stands once in a piece."""

    def join(number: int, memo: Memo) -> Iterator[Way]:
        slots = memo.pieces[number].slots
        place = {name: i for i, slot in enumerate(slots) for name in slot.types}
        yield Way(WayKind.JOIN, tuple(memo.part(number, (place[name],)) for name in order), "join_types")

    return join
