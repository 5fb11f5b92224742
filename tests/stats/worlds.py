"""Small worlds for the tests of statistics: pieces from queries, and streams whose truth is known."""

import numpy as np
import pyarrow as pa

from stretto.engine.whole_table import run
from stretto.pattern.piece import Detection, Piece
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats

SCHEMA = Schema({"x": Kind.FLOAT, "k": Kind.INT, "w": Kind.STRING}, frozenset("ABCD"))


def workload(*patterns: str) -> Workload:
    """One query per pattern, named q0, q1, .."""
    return Workload.parse("".join(f"QUERY q{i} PATTERN {text};\n" for i, text in enumerate(patterns)))


def detections(*patterns: str, schema: Schema = SCHEMA) -> tuple[Detection, ...]:
    return workload(*patterns).bind(schema).normal_forms()


def piece_of(pattern: str, schema: Schema = SCHEMA) -> Piece:
    """The only piece of a pattern without alternatives."""
    (branch,) = detections(pattern, schema=schema)[0].branches
    return branch.piece


def stats_with(rates: dict[str, float], schema: Schema = SCHEMA) -> Stats:
    """Statistics that know nothing but rates."""
    return Stats(schema, 100.0, rates, 1000)


def poisson(events: int, seed: int = 0, types: str = "ABCD", rate: float = 100.0, keys: int = 20) -> pa.Table:
    """Independent events: x uniform in [0, 1), k one of `keys`, w skewed over three words and sometimes null."""
    random = np.random.default_rng(seed)
    words = np.array(["red", "green", "blue", None], object)
    return pa.table(
        {
            "ts": np.cumsum(random.exponential(1e6 / rate, events)).astype(np.int64),
            "type": np.array(list(types))[random.integers(0, len(types), events)],
            "x": random.random(events),
            "k": random.integers(0, keys, events),
            "w": pa.array(words[np.minimum(random.geometric(0.5, events) - 1, 3)].tolist(), pa.string()),
        }
    )


def bursty(
    events: int, seed: int = 0, types: str = "ABCD", bursts: int = 40, step_us: int = 1000
) -> pa.Table:
    """Most events in few moments of many hours, often several at one time; k is 0 in nine of ten, y follows the hour.

    w is the moment that an event belongs to, null for those of the quiet times between.
    """
    random = np.random.default_rng(seed)
    day = 86_400_000_000
    sizes = random.geometric(bursts / events, events // 4)
    sizes = sizes[np.cumsum(sizes) < 0.9 * events]
    starts = random.integers(0, day, len(sizes))
    inside = np.concatenate(
        [start + random.integers(0, 2_000_000, size) for start, size in zip(starts, sizes, strict=True)]
    )
    quiet = random.integers(0, day, events - len(inside))
    ts = np.concatenate([inside, quiet]) // step_us * step_us
    words = [*np.repeat([f"m{i}" for i in range(len(sizes))], sizes).tolist(), *[None] * len(quiet)]
    order = np.argsort(ts, kind="stable")
    return pa.table(
        {
            "ts": ts[order],
            "type": np.array(list(types))[random.integers(0, len(types), events)],
            "x": random.random(events),
            "y": np.sin(ts[order] / day * 6.28) + 0.1 * random.random(events),
            "k": np.where(random.random(events) < 0.9, 0, random.integers(1, 50, events)),
            "w": pa.array([words[i] for i in order], pa.string()),
        }
    )


def q_errors(
    table: pa.Table, patterns: list[str], stats: Stats | None = None, least: int = 100
) -> dict[str, float]:
    """By how much the estimate misses the matches that are found, as a factor, for every pattern."""
    stats = stats or Stats.of(table)
    queries = workload(*patterns)
    counts = run(optimize(queries, stats.schema, "none"), table).counts()
    estimator = Estimator(stats)
    found = {}
    for pattern, detection in zip(patterns, queries.bind(stats.schema).normal_forms(), strict=True):
        estimate = sum(estimator.rows(branch.piece) for branch in detection.branches) * stats.seconds
        truth = counts[detection.name]
        assert truth > least, f"{pattern} says too little"
        found[pattern] = max(estimate / truth, truth / estimate)
    return found
