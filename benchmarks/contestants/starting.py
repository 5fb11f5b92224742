"""From the text of many queries to their first event: `python -m benchmarks.contestants.starting QUERIES`."""

import json
import sys
import time

import numpy as np
import pyarrow as pa
from benchmarks.contestants.events import SCHEMA
from benchmarks.contestants.with_stretto_none import plan_of

import stretto

TYPES = tuple(f"T{i:02d}" for i in range(30))


def queries(count: int, seed: int) -> str:
    """Random rising sequences of three different types."""
    random = np.random.default_rng(seed)
    texts = []
    for number in range(count):
        a, b, c = random.choice(TYPES, 3, replace=False)
        texts.append(
            f"QUERY q{number} PATTERN SEQ({a} a, {b} b, {c} c) "
            "WHERE a.x < b.x AND b.x < c.x WITHIN 10 SECONDS;\n"
        )
    return "".join(texts)


def start(count: int) -> dict[str, float]:
    text = queries(count, seed=1)
    rows = {"ts": [0], "type": ["T00"], "x": [0.5], "k": [1]}
    event = pa.RecordBatch.from_pydict(rows, schema=SCHEMA.set(1, pa.field("type", pa.string())))
    times = [time.perf_counter()]
    plan = plan_of(text, event.schema, TYPES)
    times.append(time.perf_counter())
    engine = stretto.Engine(plan)
    times.append(time.perf_counter())
    engine.push(event)
    times.append(time.perf_counter())
    plan_s, engine_s, event_s = np.diff(times)
    return {"seconds": times[-1] - times[0], "plan": plan_s, "engine": engine_s, "first_event": event_s}


if __name__ == "__main__":
    print(json.dumps(start(int(sys.argv[1]))))
