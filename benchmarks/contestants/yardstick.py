"""The yardstick: the loops that somebody would write for just these patterns, straight in Numba."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.contestants import yardstick_loops as loops
from benchmarks.contestants.answers import I64, Answer, Found, Lists
from benchmarks.contestants.events import TYPES
from benchmarks.contestants.workloads import Query, Shape, Workload

ROWS = 1 << 20
"""Rows of a block of output; where one event's matches do not fit, the blocks grow."""


def missing(_workload: Workload) -> str | None:
    return None


def load(batches: Sequence[pa.RecordBatch], workload: Workload) -> Callable[[], Answer]:
    """From the same Arrow batches as Stretto to the columns of all matches."""

    def run() -> Answer:
        wanted = sorted({t for query in workload.queries for t in query.types})
        keyed = any(query.shape is Shape.KEYED for query in workload.queries)
        events = split(batches, wanted, keyed=keyed)
        return {query.name: find(query, events) for query in workload.queries}

    return run


def answer(result: Answer) -> Answer:
    return result


def split(
    batches: Sequence[pa.RecordBatch], wanted: Sequence[str], *, keyed: bool
) -> dict[str, dict[str, Any]]:
    """Per type its events' columns, in order of time; with their key: in order of key, then time."""
    pieces: dict[str, list[tuple[Any, ...]]] = {t: [] for t in wanted}
    base = 0
    for batch in batches:
        ts, codes = batch["ts"].view(pa.int64()).to_numpy(), batch["type"].indices.to_numpy()
        x, k = batch["x"].to_numpy(), batch["k"].to_numpy()
        for t in wanted:
            rows = np.flatnonzero(codes == TYPES.index(t))
            pieces[t].append((ts[rows], rows + base, x[rows], k[rows] if keyed else rows[:0]))
        base += batch.num_rows
    events = {}
    for t, parts in pieces.items():
        columns = dict(
            zip(("ts", "id", "x", "k"), map(np.concatenate, zip(*parts, strict=True)), strict=True)
        )
        if keyed:
            order = np.argsort(columns["k"].astype(np.int16), kind="stable")
            columns = {name: column[order] for name, column in columns.items()}
        events[t] = columns
    return events


def find(query: Query, events: dict[str, dict[str, Any]]) -> list[Found]:
    a, b, c = (events[t] for t in query.types)
    window = query.window_us
    if query.shape is Shape.KLEENE:
        return _kleene_blocks((a["ts"], a["id"], b["ts"], b["id"], c["ts"], c["id"], window), len(a["ts"]))
    if query.shape is Shape.AND:
        columns = (a["ts"], a["x"], a["id"], b["ts"], b["x"], b["id"], c["ts"], c["id"], window)
        return _blocks(loops.conjunction, columns, len(a["ts"]))
    if query.shape is Shape.KEYED:
        columns = (*(e[name] for e in (a, b, c) for name in ("k", "ts", "x", "id")), window)
        return _blocks(loops.keyed, columns, len(a["ts"]))
    columns = (*(e[name] for e in (a, b, c) for name in ("ts", "x", "id")), window)
    return _blocks(loops.rising, (*columns, loops.first_after(b["ts"], c["ts"])), len(a["ts"]))


def _blocks(loop: Callable[..., int], inputs: tuple[Any, ...], events: int) -> list[Found]:
    found: list[Found] = []
    state, rows = np.zeros(4, np.int64), ROWS
    while state[0] < events:
        a, b, c, start, end = (np.empty(rows, np.int64) for _ in range(5))
        n = loop(*inputs, state, a, b, c, start, end)
        if n:
            found.append(Found((a[:n], b[:n], c[:n]), start[:n], end[:n]))
        elif state[0] < events:
            rows *= 2
    return found


def _kleene_blocks(inputs: tuple[Any, ...], events: int) -> list[Found]:
    found: list[Found] = []
    state, rows = np.zeros(4, np.int64), ROWS
    while state[0] < events:
        a, c, start, end = (np.empty(rows, np.int64) for _ in range(4))
        offsets, values = np.zeros(rows + 1, np.int64), np.empty(8 * rows, np.int64)
        n = loops.kleene(*inputs, state, a, offsets, values, c, start, end)
        if n:
            lists: I64 = offsets[: n + 1]
            found.append(Found((a[:n], Lists(lists, values[: lists[-1]]), c[:n]), start[:n], end[:n]))
        elif state[0] < events:
            rows *= 2
    return found
