"""Loops by hand: what somebody would write for just these patterns, straight in Numba.

They write the same columns as Stretto, so as many bytes per match. On several cores the first events of the matches
are divided among threads.
"""

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.contestants import yardstick_loops as loops
from benchmarks.contestants.answers import Steps, Tables
from benchmarks.contestants.events import TYPES
from benchmarks.contestants.workloads import Query, Shape, Workload

ROWS = 1 << 20
"""Rows of a block of output; where one event's matches do not fit, the blocks grow."""
PIECES = 4
"""Pieces of the first events per thread, so that no thread waits long for the last piece."""
Columns = dict[str, Any]


def missing(_workload: Workload) -> str | None:
    return None


def variants(_workload: Workload) -> list[None]:
    return [None]


def load(table: pa.Table, workload: Workload, _variant: None, threads: int) -> Steps:
    """From a table of events to the columns of every query's matches."""
    wanted = sorted({t for query in workload.queries for t in query.types})
    keyed = any(query.shape is Shape.KEYED for query in workload.queries)

    def run(_plan: None) -> Tables:
        with ThreadPoolExecutor(threads) as pool:
            events = dict(zip(wanted, _split(table, wanted, pool, keyed=keyed), strict=True))
            pieces = 1 if threads == 1 else PIECES * threads
            found = {
                q.name: [pool.submit(find, q, events, n, pieces) for n in range(pieces)]
                for q in workload.queries
            }
            return {
                query.name: pa.Table.from_batches(
                    [batch for piece in found[query.name] for batch in piece.result()], _schema(query)
                )
                for query in workload.queries
            }

    return Steps(lambda: None, run)


def _split(table: pa.Table, wanted: list[str], pool: Executor, *, keyed: bool) -> list[Columns]:
    """The columns of each type's events, in order of time; with their key: in order of key, then time."""
    whole = table.combine_chunks()
    ts, codes, x, k = (whole[name].chunk(0) for name in ("ts", "type", "x", "k"))
    arrays = ts.view(pa.int64()).to_numpy(), codes.indices.to_numpy(), x.to_numpy(), k.to_numpy()
    return list(pool.map(lambda t: _of_type(*arrays, TYPES.index(t), keyed=keyed), wanted))


def _of_type(ts: Any, codes: Any, x: Any, k: Any, code: int, *, keyed: bool) -> Columns:
    rows = np.flatnonzero(codes == code)
    if not keyed:
        return {"ts": ts[rows], "id": rows, "x": x[rows]}
    rows = rows[np.argsort(k[rows].astype(np.int16), kind="stable")]
    return {"ts": ts[rows], "id": rows, "x": x[rows], "k": k[rows]}


def _schema(query: Query) -> pa.Schema:
    a, b, c = query.variables
    repeated = pa.list_(pa.int64()) if query.shape is Shape.KLEENE else pa.int64()
    times = dict.fromkeys(("start", "end", "detected"), pa.timestamp("us"))
    return pa.schema({a: pa.int64(), b: repeated, c: pa.int64()} | times)


def find(query: Query, events: dict[str, Columns], piece: int, pieces: int) -> list[pa.RecordBatch]:
    """The matches whose first event is in one of the pieces."""
    a, b, c = (events[t] for t in query.types)
    count = len(a["ts"])
    a = {name: column[count * piece // pieces : count * (piece + 1) // pieces] for name, column in a.items()}
    count, window = len(a["ts"]), query.window_us
    if query.shape is Shape.KLEENE:
        return _kleene_blocks(query, (a["ts"], a["id"], b["ts"], b["id"], c["ts"], c["id"], window), count)
    if query.shape is Shape.AND:
        columns = (a["ts"], a["x"], a["id"], b["ts"], b["x"], b["id"], c["ts"], c["id"], window)
        return _blocks(query, loops.conjunction, columns, count)
    if query.shape is Shape.KEYED:
        columns = (*(e[name] for e in (a, b, c) for name in ("k", "ts", "x", "id")), window)
        return _blocks(query, loops.keyed, columns, count)
    columns = (*(e[name] for e in (a, b, c) for name in ("ts", "x", "id")), window)
    return _blocks(query, loops.rising, (*columns, loops.first_after(b["ts"], c["ts"])), count)


def _blocks(
    query: Query, loop: Callable[..., int], inputs: tuple[Any, ...], events: int
) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = []
    state, rows = np.zeros(4, np.int64), ROWS
    while state[0] < events:
        columns = [np.empty(rows, np.int64) for _ in range(6)]
        n = loop(*inputs, state, *columns)
        if n:
            batches.append(_batch(query, *(pa.array(column[:n]) for column in columns)))
        elif state[0] < events:
            rows *= 2
    return batches


def _kleene_blocks(query: Query, inputs: tuple[Any, ...], events: int) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = []
    state, rows = np.zeros(4, np.int64), ROWS
    while state[0] < events:
        a, c, start, end, detected = (np.empty(rows, np.int64) for _ in range(5))
        offsets, values = np.zeros(rows + 1, np.int32), np.empty(8 * rows, np.int64)
        n = loops.kleene(*inputs, state, a, offsets, values, c, start, end, detected)
        if n:
            lists = pa.ListArray.from_arrays(pa.array(offsets[: n + 1]), pa.array(values[: offsets[n]]))
            singles = (pa.array(column[:n]) for column in (c, start, end, detected))
            batches.append(_batch(query, pa.array(a[:n]), lists, *singles))
        elif state[0] < events:
            rows *= 2
    return batches


def _batch(query: Query, *columns: pa.Array) -> pa.RecordBatch:
    schema = _schema(query)
    typed = [
        column.view(field.type) if pa.types.is_timestamp(field.type) else column
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(typed, schema=schema)
