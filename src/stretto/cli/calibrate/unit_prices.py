"""What is measured by itself: texts, new memory, rows that are moved to units and their calls, distances on a globe.

A row is moved as a staged plan moves it: written with the events that it holds, sent through a socket, read, and put
among the events that the unit has.
"""

from collections.abc import Callable
from dataclasses import replace
from mmap import mmap
from socket import socketpair
from threading import Thread
from time import process_time

import numpy as np
import pyarrow as pa

from stretto.cli.calibrate.trials import Bench, Trial
from stretto.engine.memory.first_touch import ask_for_pages
from stretto.engine.units.parcels import Parcel
from stretto.engine.units.staged import StagedRun, StagedSource
from stretto.engine.units.staged_unit import StagedPlan
from stretto.memo.prices import Prices
from stretto.pattern.predicates import Apply, Ref
from stretto.schema import Kind
from stretto.values.evaluate import value
from stretto.values.strings import Strings
from stretto.values.vector import Vector

MOVED = Trial("moved", ("PATTERN SEQ(A a, B b) WHERE a.x > b.x AND a.k < b.k WITHIN 1 SECOND",))
CALLS = 200
NEW_BYTES = 1 << 26


def unit_prices(prices: Prices, events: int, runs: int) -> Prices:
    """The same prices with those that are measured one by one; nanoseconds, each the best of some runs."""
    bench = Bench(events)
    staged = StagedPlan(bench.planned(MOVED)[0])
    batch = bench.table.combine_chunks().to_batches()[0]
    texts = bench.table["k"].cast(pa.string()).combine_chunks()
    source = StagedSource(staged)
    moved = sum(parcel.rows.num_rows for parcel in source.rows(batch).parcels)

    def move() -> None:
        for parcel in source.rows(batch).parcels:
            _received(parcel).at.sum()

    def call() -> None:
        run = StagedRun(staged.plan)
        for first in range(0, CALLS, 2):
            run.push(batch.slice(first, 2))

    return replace(
        prices,
        text=_best(lambda: Strings().encode(texts), runs) / events,
        fresh=_best(_write_to_new_memory, runs) / NEW_BYTES,
        move=_best(move, runs) / max(moved, 1),
        hop=_best(call, runs) / (CALLS / 2),
        distance=_best(lambda: _distances(events), runs) / events,
    )


def _write_to_new_memory() -> None:
    """As blocks of matches are written: all pages asked for together (engine/memory/first_touch.py)."""
    with mmap(-1, NEW_BYTES) as memory:
        array = np.frombuffer(memory, np.uint32).reshape(1, -1)
        ask_for_pages(array, array.shape[1])
        del array


def _received(parcel: Parcel) -> Parcel:
    """The parcel as it comes out of a socket."""
    sender, receiver = socketpair()
    events, rows = parcel.to_bytes()
    with sender, receiver:
        sending = Thread(target=sender.sendall, args=(events + rows,))
        sending.start()
        data = bytearray()
        while len(data) < len(events) + len(rows):
            data += receiver.recv(1 << 20)
        sending.join()
    return Parcel.from_bytes(
        parcel.fragment, parcel.unit, parcel.side, bytes(data[: len(events)]), bytes(data[len(events) :])
    )


class _Places:
    """Places all over a globe."""

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(1)
        self.strings = Strings()
        self._degrees = {"lat": rng.uniform(-80.0, 80.0, count), "lon": rng.uniform(-180.0, 180.0, count)}

    def values(self, attribute: str, positions: np.ndarray) -> Vector:
        return Vector(self._degrees[attribute][positions], None)


def _distances(count: int) -> None:
    places = _Places(count)
    columns = (np.arange(count), np.arange(count)[::-1].copy())
    refs = [Ref(column, name, Kind.FLOAT) for column in (0, 1) for name in ("lat", "lon")]
    value(Apply("geo_distance", tuple(refs), Kind.FLOAT), columns, count, places)


def _best(work: Callable[[], object], runs: int) -> float:
    """The least nanoseconds of some runs; the first one warms up."""
    times = []
    for _ in range(runs + 1):
        start = process_time()
        work()
        times.append((process_time() - start) * 1e9)
    return min(times[1:])
