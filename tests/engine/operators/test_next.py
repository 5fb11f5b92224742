"""Next against its statement: runs followed event by event."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.events import arena_of, compare, k, number, x
from tests.engine.stepping import EVENT, events_of, of_type, rows_of, stepped, streams, windows

from stretto.engine.operators.next import NextOperator
from stretto.engine.rows import next_moves
from stretto.engine.rows.linked_sets import LinkedNodes
from stretto.pattern.nodes import Window
from stretto.pattern.predicates import Apply, Reduce, Ref, Which, columns_of, walk
from stretto.plan.ops import Next
from stretto.schema import Kind
from stretto.values.evaluate import holds


def whole_sets(term):
    """The columns whose whole set a term reads."""
    return {
        node.column
        for node in walk(term)
        if isinstance(node, Reduce) or (isinstance(node, Ref) and node.which in (Which.FIRST, Which.LAST))
    }


def follow(op, streams_, arena):
    """All matches that the runs report."""
    n = len(op.bounds)
    sets = tuple(b != (1, 1) for b in op.bounds)

    def judged(terms, run):
        row = tuple((tuple(run[c]) or None) if sets[c] else (run[c] or [None])[0] for c in range(n))
        return bool(holds(terms, rows_of([row], sets, arena).columns, 1, arena)[0])

    def inside(run, p):
        first = min(events_of(map(tuple, run)))
        if op.window.unit == "us":
            return arena.borrowed_ts[p] - arena.borrowed_ts[first] <= op.window.size
        return p - first < op.window.size

    def moves_of(run, step, p):
        taken = events_of(map(tuple, run))
        if taken and (arena.borrowed_ts[p] <= arena.borrowed_ts[max(taken)] or not inside(run, p)):
            return
        count = len(run[step]) if step >= 0 else 0
        for target, (_, high) in enumerate(op.bounds):
            again = target == step and (high is None or count < high)
            later = target > step and (step < 0 or count >= op.bounds[step][0])
            if not again and not (later and all(low == 0 for low, _ in op.bounds[step + 1 : target])):
                continue
            longer = [[*bound, p] if c == target else bound for c, bound in enumerate(run)]
            open_steps = {c for c in range(target, n) if sets[c]}
            decidable = [term for term in op.terms if not whole_sets(term) & open_steps]
            if (p,) in streams_[target] and judged(decidable, longer):
                yield longer, target

    runs, found = [], []
    for p in range(len(arena.borrowed_ts)):
        new, kept = list(moves_of([[] for _ in range(n)], -1, p)), []
        for run, step in runs:
            extended = list(moves_of(run, step, p))
            new += extended
            kept += [] if extended else [(run, step)]
        runs = kept + new
        for run, step in new:
            done = len(run[step]) >= op.bounds[step][0] and all(low == 0 for low, _ in op.bounds[step + 1 :])
            if done and judged(op.terms, run):
                row = ((tuple(run[c]) or None) if sets[c] else (run[c] or [None])[0] for c in range(n))
                found.append(tuple(row))
    return sorted(found, key=repr)


SOME_BOUNDS = [(1, 1), (1, None), (0, None), (0, 1), (2, 3), (1, 2)]


def current(column, which):
    return Ref(column, "x", Kind.FLOAT, which)


@st.composite
def some_terms(draw, steps):
    """Terms between two steps, neighbours, whole sets, and mixtures."""
    terms = []
    for _ in range(draw(st.integers(0, 3))):
        a, b = draw(st.integers(0, steps - 1)), draw(st.integers(0, steps - 1))
        op = draw(st.sampled_from(["<", "=", "!=", ">="]))
        neighbours = compare(op, current(a, Which.CURRENT), current(a, Which.PREVIOUS))
        difference = Apply("-", (current(a, Which.CURRENT), current(a, Which.PREVIOUS)), Kind.FLOAT)
        total = Reduce(draw(st.sampled_from(["SUM", "AVG", "MIN", "MAX"])), a, "x", Kind.FLOAT)
        terms.append(
            draw(
                st.sampled_from(
                    [
                        compare(op, x(a), x(b)),
                        compare("=", k(a), k(b)),
                        neighbours,
                        compare(op, difference, x(b)),
                        compare(op, total, x(b)),
                        compare(op, current(a, Which.FIRST), current(b, Which.LAST)),
                        compare(op, Reduce("COUNT", a, "", Kind.INT), number(2)),
                    ]
                )
            )
        )
    return tuple(term for term in terms if columns_of(term))


@settings(max_examples=400, deadline=None)
@given(streams(11, (0, 1)), windows, st.integers(1, 3), st.lists(st.integers(0, 10), max_size=4), st.data())
def test_runs(arena, window, steps, cuts, data):
    bounds = tuple(data.draw(st.sampled_from(SOME_BOUNDS)) for _ in range(steps))
    kinds = [data.draw(st.integers(0, 1)) for _ in range(steps)]
    op = Next(tuple(range(steps)), bounds, window, data.draw(some_terms(steps)))
    inputs = [of_type(arena, kind) for kind in kinds]
    operator = NextOperator(op, [EVENT] * steps)
    found = stepped(operator, inputs, [EVENT] * steps, arena, cuts)
    assert found == follow(op, inputs, arena)


@pytest.mark.parametrize("xs", [[1, 3, 4, 9], [4, 5, 7, 6], [3, 4, 1, 8], [1, 2, 9, 10]])
def test_every_event_beside_every_pair_of_neighbours(xs):
    """A term with d, d[i] and d[i-1]: a new event meets the pairs before it, a new pair the events before it."""
    arena = arena_of(range(4), types=[0] * 4, x=[float(v) for v in xs])
    difference = Apply("-", (current(0, Which.CURRENT), current(0, Which.PREVIOUS)), Kind.FLOAT)
    op = Next((0,), ((1, None),), Window(10), (compare("<", difference, x(0)),))
    events = of_type(arena, 0)
    assert stepped(NextOperator(op, [EVENT]), [events], [EVENT], arena, (2,)) == follow(op, [events], arena)


@pytest.mark.parametrize("pairs", [1, 5])
def test_small_slices(monkeypatch, pairs):
    """However few candidates are looked at together, the first accepted one is found."""
    for name, value in (("PAIRS", pairs), ("FIRST_SLICE", 1), ("GROWTH", 2)):
        monkeypatch.setattr(next_moves, name, value)
    n = 60
    rng = np.random.default_rng(5)
    arena = arena_of(
        np.sort(rng.integers(0, 40, n)),
        types=rng.integers(0, 2, n),
        x=rng.integers(0, 9, n).astype(float),
        k=[1] * n,
    )
    terms = (compare("<", x(0), x(1)), compare(">", x(1), x(2)), compare("=", k(0), k(2)))
    op = Next((0, 1, 2), ((1, 1), (1, None), (1, 1)), Window(15), terms)
    inputs = [of_type(arena, 0), of_type(arena, 1), of_type(arena, 1)]
    found = stepped(NextOperator(op, [EVENT] * 3), inputs, [EVENT] * 3, arena, (20, 33))
    assert found == follow(op, inputs, arena)
    assert found


def test_runs_that_cannot_go_on_are_dropped():
    arena = arena_of(range(1000), types=[0, 1] * 500)
    op = Next((0, 1), ((1, 1), (1, 1)), Window(5))
    operator = NextOperator(op, [EVENT, EVENT])
    found = stepped(operator, [of_type(arena, 0), of_type(arena, 1)], [EVENT] * 2, arena, range(0, 1000, 10))
    assert len(found) == 500
    assert operator.held < 1000


def test_equalities_are_looked_up():
    """A thousand keys, each run with its own: nobody looks at the other keys' events."""
    n = 40_000
    rng = np.random.default_rng(3)
    arena = arena_of(range(n), types=rng.integers(0, 2, n), k=rng.integers(0, 1000, n).tolist())
    op = Next((0, 1), ((1, 1), (1, 1)), Window(n), (compare("=", k(0), k(1)),))
    found = stepped(
        NextOperator(op, [EVENT, EVENT]), [of_type(arena, 0), of_type(arena, 1)], [EVENT] * 2, arena, ()
    )
    assert len(found) > 15_000


@pytest.mark.parametrize("by", [1, 16, 10_000])
def test_a_long_run_costs_what_its_events_cost(monkeypatch, by):
    """Events written into sets, and memory: twice as long a run takes twice as much, not four times.

    Terms that read neighbours, the last event, counts and sums of the set need not have it written out.
    """

    def cost(n):
        arena = arena_of(range(n), types=[0, *[1] * (n - 2), 2], k=[1] * n, x=[float(v) for v in range(n)])
        neighbours = compare(">", current(1, Which.CURRENT), current(1, Which.PREVIOUS))
        last = compare(">", current(1, Which.LAST), number(-1))
        total = compare(">=", Reduce("SUM", 1, "x", Kind.FLOAT), number(0))
        many = compare(">", Reduce("COUNT", 1, "", Kind.INT), number(0))
        terms = (compare("=", k(0), k(1)), last, total, many)
        op = Next((0, 1, 2), ((1, 1), (1, None), (1, 1)), Window(n), terms, (neighbours,))
        written = []
        whole = LinkedNodes.written_out
        monkeypatch.setattr(
            LinkedNodes, "written_out", lambda *given: written.append(int(given[2][-1])) or whole(*given)
        )
        inputs = [of_type(arena, kind) for kind in range(3)]
        operator = NextOperator(op, [EVENT] * 3)
        found = stepped(operator, inputs, [EVENT] * 3, arena, range(by, n, by))
        monkeypatch.undo()
        (match,) = found
        assert len(match[1]) == n - 2
        assert operator.held < 100 * n + 20_000
        return sum(written)

    assert cost(400) <= 2 * cost(200) + 4
