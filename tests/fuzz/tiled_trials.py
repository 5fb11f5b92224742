"""A workload over a million events, run in several ways, each query's whole result compared with the tiles' own."""

import pickle
from collections.abc import Iterator
from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa
from tests.exactness.test_engine import REFUSALS
from tests.fuzz.exact_rows import table_of
from tests.fuzz.stretches import Judge, TooHeavy
from tests.fuzz.tiled_rows import TiledJudge
from tests.fuzz.tiles import tiled_workload
from tests.fuzz.trials import Differs, Tally
from tests.fuzz.ways import Way
from tests.support.random_events import SCHEMA

from stretto.engine.results.matches import Matches
from stretto.engine.run import Engine
from stretto.errors import QueryError
from stretto.pattern.nodes import Query
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize

LONGEST = 200_000  # events of a batch
LATENESS = 40
WAYS = (
    Way(plan="auto", loops="later", feed="batches"),
    Way(plan="none", loops="twins", feed="batches", read="copied"),
    Way(plan="none", loops="compiled", feed="disordered", change="restore"),
)


def compare_tiled(seed: int, size: int = 1_000_000) -> Tally:
    """Run the workload of a seed over so many events in all ways; raises Differs."""
    rng = Random(seed)
    texts, tiling = tiled_workload(rng, size)
    tally, judges, queries = Tally(workloads=1), {}, {}
    for name, text in texts.items():
        try:
            (query,) = Workload.parse(text).bind(SCHEMA).detections
            optimize(Workload.parse(text), SCHEMA, "none")
            judges[name] = TiledJudge(query, [Judge(query, tile).whole for tile in tiling.tiles], tiling)
            queries[name] = query
        except TooHeavy:
            tally.heavy += 1
        except QueryError as refusal:
            if not any(words in str(refusal) for words in REFUSALS):
                raise Differs([name], None, repr(refusal)) from refusal
            tally.refused += 1
    if not queries:
        return tally
    workload, table = Workload.parse("\n".join(texts[name] for name in queries)), tiling.table()
    for way in WAYS:
        with way.working():
            found, wrong = _run(optimize(workload, SCHEMA, way.plan, 0.2), table, way, queries, rng)
            for name, query in queries.items():
                wrong = wrong or judges[name].difference(table_of(found, query))
                if wrong:
                    raise Differs([name], way, wrong)
        tally.comparisons += len(queries)
        tally.matches += len(found)
    return tally


def _run(
    plan: Plan, table: pa.Table, way: Way, queries: dict[str, Query], rng: Random
) -> tuple[Matches, str]:
    """All matches, and what changed in those that had been returned already."""
    lateness = LATENESS if way.feed == "disordered" else 0
    if lateness:
        table = table.take(_arrivals(table, lateness, rng))
    engine = Engine(plan, lateness_us=lateness)
    found, copies = engine.nothing(), []
    cuts = list(_cuts(table.num_rows, rng))
    for low, high in pairwise(cuts):
        part = engine.push(table.slice(low, high - low))
        found.extend(part)
        if way.read == "copied":
            copies += [(kept := table_of(part, query), pickle.dumps(kept)) for query in queries.values()]
        if way.change == "restore" and rng.random() < 3 / len(cuts):
            engine = Engine.restore(plan, pickle.loads(pickle.dumps(engine.snapshot())))
    found.extend(engine.flush())
    changed = sum(pickle.dumps(kept) != copy for kept, copy in copies)
    return found, f"{changed} tables changed after they were returned" if changed else ""


def _arrivals(table: pa.Table, lateness: int, rng: Random) -> pa.Array:
    """An order in which no event is late."""
    delays = np.random.default_rng(rng.getrandbits(32)).integers(0, lateness, table.num_rows, endpoint=True)
    return pa.array(np.argsort(table.column("ts").cast(pa.int64()).to_numpy() + delays, kind="stable"))


def _cuts(size: int, rng: Random) -> Iterator[int]:
    """Where to cut: batches of one event and of many."""
    at = 0
    while at < size:
        yield at
        at += round(LONGEST ** rng.random())
    yield size
