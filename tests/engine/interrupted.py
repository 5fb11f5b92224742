"""Interrupts at every point of a push: hooks around the parts of the engine that change its state."""

from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from stretto import Engine, Schema, Workload, optimize
from stretto.engine.derived.front import FrontRunner
from stretto.engine.live_plan import LivePlan
from stretto.engine.results.matches import Matches
from stretto.engine.results.thinning import Thinners
from stretto.engine.snapshot import Counts
from stretto.engine.step_runner import StepRunner
from stretto.engine.stream.arena import Arena
from stretto.engine.stream.intake import Intake
from stretto.engine.stream.reorder import Reorder
from stretto.engine.stream.repeated_ids import RepeatedIds
from stretto.engine.stream.scan_index import ScanIndex

QUERIES = """
CREATE STREAM loud AS SELECT k, SUM(x) AS x FROM A GROUP BY k WITHIN 40 us;
QUERY pair   PATTERN SEQ(A a, B b) WHERE a.k = b.k WITHIN 60 us;
QUERY rising PATTERN SEQ(A a, B+ b, C c) WHERE a.x < c.x WITHIN 30 us;
QUERY absent PATTERN SEQ(A a, NOT(B b)) WHERE a.k = b.k WITHIN 30 us;
QUERY apart  PATTERN SEQ(A a, C c) WITHIN 80 us KEEP APART;
QUERY derived PATTERN SEQ(loud l, C c) WHERE l.k = c.k WITHIN 20 us;
QUERY runs   PATTERN A p+ WHERE p[i].x > p[i-1].x WITHIN 50 us RETURN COUNT(*) AS n;
"""

HOOKS = (
    (Intake, "convert"),
    (Reorder, "push"),
    (Reorder, "release"),
    (RepeatedIds, "take"),
    (Arena, "append"),
    (Arena, "forget"),
    (Arena, "settle"),
    (ScanIndex, "step"),
    (StepRunner, "_begin"),
    (StepRunner, "_take_turns"),
    (StepRunner, "_total"),
    (StepRunner, "_thinned"),
    (Thinners, "take"),
    (Matches, "add"),
    (Matches, "add_totals"),
    (LivePlan, "_set_apart"),
    (LivePlan, "_forget"),
    (FrontRunner, "step"),
    (Counts, "plus"),
)


class Interrupts:
    """Raises `error` at the call number `at` of the hooked methods, before or after the method has run."""

    def __init__(self, monkeypatch):
        self.calls, self.at, self.error = 0, -1, KeyboardInterrupt
        for owner, name in HOOKS:
            monkeypatch.setattr(owner, name, self._hooked(getattr(owner, name)))

    def _hooked(self, method):
        def called(*args, **kwargs):
            self._tick()
            result = method(*args, **kwargs)
            self._tick()
            return result

        return called

    def _tick(self):
        self.calls += 1
        if self.calls == self.at:
            raise self.error

    @contextmanager
    def during(self, at=-1, error=KeyboardInterrupt):
        """Raise at this call from now on; the calls are counted afresh."""
        self.calls, self.at, self.error = 0, at, error
        try:
            yield
        finally:
            self.at = -1


def stream(events, seed=1):
    """Events of four types with a few keys and many ties in time."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": pa.array(np.cumsum(rng.integers(0, 4, events)), pa.timestamp("us")),
            "type": pa.array(rng.choice(["A", "B", "C", "D"], events)),
            "k": pa.array(rng.integers(0, 3, events)),
            "x": pa.array(np.round(rng.random(events), 3)),
        }
    )


def engine_of(events, text=QUERIES, **options):
    """An engine for the queries with small steps, so that a batch takes several."""
    plan = optimize(Workload.parse(text), Schema.of(events.schema, {"A", "B", "C", "D"}), "share")
    return Engine(plan, **({"step": 64, "lateness_us": 3} | options))


def rows_of(*parts):
    """All matches and totals in an order that does not depend on the parts."""
    matches = [
        (row["query"], row["match_id"], str(row)) for part in parts for row in part.to_arrow().to_pylist()
    ]
    totals = [str(row) for part in parts for row in part.totals().to_pylist()]
    return sorted(matches), sorted(totals)
