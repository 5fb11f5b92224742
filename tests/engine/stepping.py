"""Running one operator over steps of a small stream, and rows as plain tuples."""

import numpy as np
from hypothesis import strategies as st
from tests.engine.events import arena_of

from stretto.engine.memory.limits import Meter
from stretto.engine.operators.protocol import Clock, RowShape
from stretto.pattern.nodes import Window
from stretto.values.rows import Rows, Sets, empty_rows

EVENT = RowShape((False,), (False,), single=True)


def streams(size=9, types=(0, 1, 1, 2)):
    """Arenas with ties in time, few values of `k` and `x`, some nulls among them.

    Drawn as a whole from a seed: dense streams, which lists of single draws rarely make.
    """

    def stream(seed):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1 if rng.random() < 0.1 else size // 2, size + 1))
        nulls = rng.random((2, n)) < rng.choice([0, 0.2])
        xs, ks = rng.integers(0, 4, n).astype(float), rng.integers(0, rng.integers(1, 4), n)
        return arena_of(
            np.cumsum(rng.choice([0, 1, 1, 2], n)),
            types=rng.choice(types, n),
            x=[None if null else v for v, null in zip(xs.tolist(), nulls[0], strict=True)],
            k=[None if null else v for v, null in zip(ks.tolist(), nulls[1], strict=True)],
        )

    return st.integers(0, 1 << 32).map(stream)


windows = st.one_of(
    st.integers(2, 9).map(Window), st.integers(2, 9).map(lambda n: Window(n, "events")), st.just(Window(100))
)


def of_type(arena, kind):
    """Rows of one column: the events of a type."""
    return [(int(p),) for p in np.flatnonzero(arena.borrowed_types == kind)]


def rows_of(tuples, sets, arena):
    """Rows from tuples of positions: None is unbound, a tuple is a set."""
    if not tuples:
        return empty_rows(sets)
    columns = []
    for c, is_set in enumerate(sets):
        if is_set:
            members = [t[c] or () for t in tuples]
            offsets = np.concatenate([[0], np.cumsum([len(m) for m in members])])
            columns.append(Sets(offsets, np.array([p for m in members for p in m], np.int64)))
        else:
            columns.append(np.array([-1 if t[c] is None else t[c] for t in tuples], np.int64))
    bound = [events_of(t) for t in tuples]
    first = np.array([min(b) for b in bound])
    last = np.array([max(b) for b in bound])
    return Rows(arena.borrowed_ts[first], arena.borrowed_ts[last], tuple(columns))


def events_of(row):
    """All positions that a tuple binds."""
    return [
        p for value in row if value is not None for p in (value if isinstance(value, tuple) else (value,))
    ]


def tuples_of(rows):
    columns = []
    for column in rows.columns:
        if isinstance(column, Sets):
            bounds = zip(column.offsets[:-1], column.offsets[1:], strict=True)
            columns.append([tuple(column.values[a:b].tolist()) or None for a, b in bounds])
        else:
            columns.append([None if p < 0 else p for p in column.tolist()])
    return list(zip(*columns, strict=True))


def check_times(rows, arena):
    """Every row's times are those of its events."""
    for row, first, last in zip(tuples_of(rows), rows.first, rows.last, strict=True):
        assert first == arena.borrowed_ts[min(events_of(row))]
        assert last == arena.borrowed_ts[max(events_of(row))]


def stepped(operator, inputs, shapes, arena, cuts, late=0):
    """All rows the operator gives, as sorted tuples; each input row comes in the step of its last event.

    `cuts` are positions to cut the stream at, as far as times there differ. Rows of the first input come `late` events
    later.
    """
    n = len(arena.borrowed_ts)
    ends = sorted({c for c in cuts if 0 < c < n and arena.borrowed_ts[c] != arena.borrowed_ts[c - 1]} | {n})
    found, start = [], 0
    for end in ends:
        closing = end == n
        until = 1 << 62 if closing else int(arena.borrowed_ts[end])
        clock = Clock(arena, start, end, int(arena.borrowed_ts[start]), until, closing, Meter(1 << 40))
        parts = [
            [
                rows_of(
                    [t for t in tuples if start <= min(max(events_of(t)) + lag, n - 1) < end],
                    shape.sets,
                    arena,
                )
            ]
            for tuples, shape, lag in zip(inputs, shapes, [late] + [0] * len(inputs), strict=False)
        ]
        for rows in operator.step(parts, clock):
            check_times(rows, arena)
            found += tuples_of(rows)
        assert operator.held >= 0
        start = end
    return sorted(found, key=repr)
