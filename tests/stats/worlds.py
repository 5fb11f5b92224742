"""Small worlds for the tests of statistics: pieces from queries, and streams whose truth is known."""

import numpy as np
import pyarrow as pa

from stretto.pattern.piece import Detection, Piece
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema
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
