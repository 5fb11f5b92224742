"""Events that come in bursts, with nights between, and random queries over them."""

from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa

TYPES = "ABCDE"
SECOND = 1_000_000


def bursty(events: int, seed: int) -> pa.Table:
    """Bursts of about fifty events in a second, minutes apart; a burst has few keys, and types come in runs."""
    random = np.random.default_rng(seed)
    burst = np.sort(random.integers(0, max(events // 50, 1), events))
    ts = burst * 180 * SECOND + random.integers(0, SECOND, events)
    favourite = random.integers(0, len(TYPES), burst.max() + 1)[burst]
    kinds = np.where(random.random(events) < 0.5, favourite, random.integers(0, len(TYPES), events))
    keys = (burst * 7 + random.integers(0, 3, events)) % 40
    table = pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us")),
            "type": pa.array(np.array(list(TYPES))[kinds]),
            "k": pa.array(keys),
            "x": pa.array(random.normal(size=events)),
        }
    )
    return table.sort_by("ts")


def queries(seed: int, count: int) -> str:
    """Sequences of two to four types with a term between neighbours here and there."""
    random = Random(seed)
    return "\n".join(_query(random, i) for i in range(count))


def _query(random: Random, number: int) -> str:
    size = random.choice((2, 3, 3, 4))
    names = "abcd"[:size]
    slots = ", ".join(f"{random.choice(TYPES)} {name}" for name in names)
    terms = []
    for one, other in pairwise(names):
        shape = random.random()
        if shape < 0.5:
            terms.append(f"{one}.k = {other}.k")
        elif shape < 0.75:
            terms.append(f"{one}.x > {other}.x + {random.choice((0.5, 1.0, 1.5))}")
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    kind = "AND" if random.random() < 0.2 else "SEQ"
    window = random.choice((100, 200))
    return f"QUERY q{number} PATTERN {kind}({slots}){where} WITHIN {window} MILLISECONDS;"
