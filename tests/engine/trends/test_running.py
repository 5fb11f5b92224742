"""Running totals against plain dictionaries of Python numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.events import arena_of
from tests.engine.trends.plain_trends import (
    KNOWN,
    MAX,
    MIN,
    OCCURRENCES,
    SUM,
    Happening,
    alone,
    assert_same,
    member,
    query,
    taken_of,
    totals,
    unit,
    unit_of_parts,
)

from stretto.engine.trends.executor import concat_results
from stretto.engine.trends.numbers import integers, log2
from stretto.engine.trends.running import RunningTotals

FOREVER = 1 << 40


def arena_for(happenings):
    return arena_of(
        [one.ts for one in happenings], x=[one.x for one in happenings], k=[one.k for one in happenings]
    )


def run(of, queries, happenings, *, share=None, cuts=(), closes=()):
    """All results, the events given in the parts between the cuts, windows closed where `closes` says so."""
    running, arena = RunningTotals(of, queries, share=share), arena_for(happenings)
    windows = [queries[one.query].window_us for one in of.members]
    parts, at = [], 0
    for cut in [*cuts, len(happenings)]:
        running.take(taken_of(happenings[at:cut], at), arena)
        at = cut
        if cut in closes:
            until = happenings[cut].ts if cut < len(happenings) else FOREVER
            parts.append(running.close(until))
            for m, start in zip(parts[-1].member, parts[-1].window_start, strict=True):
                assert start + windows[m] <= until
    parts.append(running.close(FOREVER))
    assert len(running.close(FOREVER + 1)) == 0
    return concat_results(parts)


# ---- random units and streams -----------------------------------------------------------------------------

ASKED = [("", OCCURRENCES), *((attribute, what) for attribute in "xk" for what in (SUM, KNOWN, MIN, MAX))]


@st.composite
def members_of(draw, number, free, parts):
    """A member with these parts (nodes and edges), and any of the nodes that are in none."""
    shared = {node for nodes, _ in parts for node in nodes}
    edges = {edge for _, edges in parts for edge in edges}
    own = draw(st.lists(st.sampled_from(free), unique=True)) if free else []
    mine = sorted({*own, *shared}) or free[:1]
    some = st.lists(st.sampled_from(mine), min_size=1, unique=True)
    pairs = [(a, b) for a in mine for b in mine if (a, b) not in edges]
    own_edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=6)) if pairs else []
    starts, ends = draw(some), draw(some)
    used = sorted({*starts, *ends, *shared, *(node for edge in own_edges for node in edge)})
    asked = st.tuples(st.sampled_from(used), st.sampled_from(ASKED))
    measures = [(node, *what) for node, what in draw(st.lists(asked, unique=True, max_size=4))]
    measures.sort(key=lambda measure: measure[2] in (MIN, MAX))
    return member(number, starts, ends, own_edges, measures)


@st.composite
def units(draw):
    """Units with up to three parts; a member may be in any of them."""
    homes = draw(st.lists(st.sampled_from([-1, 0, 0, 1, 2]), min_size=1, max_size=5))
    free = [node for node, home in enumerate(homes) if home < 0]
    count = draw(st.integers(1, 5))
    parts = []
    for home in sorted(set(homes) - {-1}):
        nodes = [node for node, of in enumerate(homes) if of == home]
        pairs = [(a, b) for a in nodes for b in nodes]
        mine = sorted(draw(st.sets(st.sampled_from(range(count)), min_size=1)))
        parts.append((nodes, draw(st.lists(st.sampled_from(pairs), unique=True)), mine))
    if not free:  # a member in no part has a node all the same
        free = [len(homes)]
        homes.append(-1)
    members = [
        draw(members_of(m, free, [(nodes, edges) for nodes, edges, mine in parts if m in mine]))
        for m in range(count)
    ]
    queries = [query(draw(st.integers(1, 12)), draw(st.integers(1, 12))) for _ in members]
    return unit_of_parts(len(homes), members, parts), queries


@st.composite
def streams(draw, nodes):
    ts, result = draw(st.integers(-20, 20)), []
    for _ in range(draw(st.integers(0, 24))):
        ts += draw(st.sampled_from([0, 0, 1, 1, 1, 2, 7]))
        result.append(
            Happening(
                ts,
                tuple(sorted(draw(st.sets(st.sampled_from(range(nodes)), min_size=1, max_size=2)))),
                draw(st.integers(0, 1)),
                draw(st.sampled_from([None, 0.25, -1.5, 3.0, 3.0, 0.0, -4.0, math.nan, math.inf])),
                draw(st.sampled_from([None, 1, 2, -3, 7, 0, 2**62, -(2**62)])),
            )
        )
    return result


@st.composite
def cuttings(draw, happenings):
    """Places between events of different times, and those at which windows are closed."""
    n = len(happenings)
    allowed = [i for i in range(1, n) if happenings[i - 1].ts < happenings[i].ts]
    cuts = sorted(draw(st.sets(st.sampled_from(allowed)))) if allowed else []
    return cuts, draw(st.sets(st.sampled_from(cuts))) if cuts else set()


@given(units(), st.data())
def test_totals_are_those_of_the_definition(of_queries, data):
    of, queries = of_queries
    happenings = data.draw(streams(len(of.nodes)))
    expected = totals(of, queries, happenings)
    cuts, closes = data.draw(cuttings(happenings))
    share = data.draw(st.sampled_from([None, True, False]))
    assert_same(of, run(of, queries, happenings, share=share, cuts=cuts, closes=closes), expected)
    assert_same(of, run(of, queries, happenings, share=True), expected)
    assert_same(of, run(alone(of), queries, happenings, cuts=cuts), expected)


@given(st.data())
def test_sharing_may_change_from_step_to_step(data):
    of, queries = data.draw(units())
    happenings = data.draw(streams(len(of.nodes)))
    cuts, _ = data.draw(cuttings(happenings))
    running, arena, at = RunningTotals(of, queries), arena_for(happenings), 0
    for cut in [*cuts, len(happenings)]:
        running._share = np.array(
            data.draw(st.lists(st.booleans(), min_size=len(of.parts), max_size=len(of.parts))), np.bool_
        )
        running.take(taken_of(happenings[at:cut], at), arena)
        at = cut
    assert_same(of, running.close(FOREVER), totals(of, queries, happenings))


@pytest.mark.parametrize("damage", ["count", "sum", "extreme", "missing", "twice"])
def test_comparison_notices(damage):
    of = unit(1, [member(0, [0], [0], [(0, 0)], [(0, "k", SUM), (0, "k", MIN)])])
    happenings = [Happening(ts, (0,), k=ts) for ts in range(1, 4)]
    results = run(of, [query(10)], happenings)
    assert_same(of, results, totals(of, [query(10)], happenings))
    if damage == "missing":
        results = results.take(np.arange(0))
    elif damage == "twice":
        results = results.take(np.zeros(2, np.int64))
    elif damage == "extreme":
        results.values.x[0, 0] += 1
    else:
        results.values.u[0, ["count", "sum"].index(damage)] += np.uint64(1)
    with pytest.raises(AssertionError):
        assert_same(of, results, totals(of, [query(10)], happenings))


# ---- counts of any size -----------------------------------------------------------------------------------

B_PLUS = unit(1, [member(0, [0], [0], [(0, 0)], [(0, "", OCCURRENCES), (0, "k", SUM)])])
NESTED = unit(
    3, [member(0, [0], [2], [(0, 1), (1, 1), (1, 2), (2, 0)], [(1, "k", SUM), (1, "", OCCURRENCES)])]
)


@pytest.mark.parametrize("n", [1, 57, 58, 62, 63, 64, 65, 200, 1023, 1024, 1025, 3000])
@pytest.mark.parametrize("share", [True, False])
def test_counts_of_any_size(n, share):
    """n events make 2^n - 1 trends, each event in 2^(n - 1) of them."""
    happenings = [Happening(ts, (0,), k=1 - ts % 3) for ts in range(n)]
    for queries in ([query(10_000)], [query(10_000, 5_000)]):
        results = run(B_PLUS, queries, happenings, share=share)
        assert_same(B_PLUS, results, totals(B_PLUS, queries, happenings))
        count = results.take(results.window_start == 0).values
        assert math.isclose(log2(count.f, count.e)[0, 0], math.log2(2**n - 1), rel_tol=1e-14)


@pytest.mark.parametrize("n", [90, 120, 150, 2400])
def test_nested_counts_of_any_size(n):
    """From below 2^63 to far beyond 2^1024, the sums too."""
    happenings = [Happening(ts, (ts % 3,), k=ts) for ts in range(n)]
    for queries in ([query(10_000)], [query(10_000, 7_000)]):
        expected = totals(NESTED, queries, happenings)
        assert_same(NESTED, run(NESTED, queries, happenings), expected)
        assert_same(NESTED, run(NESTED, queries, happenings, share=True), expected)


def test_last_exact_count():
    """2^63 - 1 has digits, 2^63 has none: the doubles cannot tell them apart."""
    for many, digits in (([0] * 63, 2**63 - 1), ([0] * 63 + [1], None)):
        of = unit(2, [member(0, [0, 1], [0, 1], [(0, 0)])])
        happenings = [Happening(ts, (node,)) for ts, node in enumerate(many)]
        values = run(of, [query(1000)], happenings).values
        found = integers(values.u, values.f, values.e)
        assert bool(found.is_exact[0, 0]) == (digits is not None)
        assert found.value[0, 0] == 2.0**63
        if digits:
            assert int(found.exact[0, 0]) == digits


# ---- the example of the paper -----------------------------------------------------------------------------

A, B = 0, 1
FIGURE = unit(
    2,
    [member(0, [B], [B]), member(1, [A], [B], [(A, B)]), member(2, [A], [B], [(A, B), (B, A)])],
    shared=[B],
    edges=[(B, B)],
)
FIGURE_QUERIES = [query(100)] * 3
FIGURE_STREAM = [Happening(ts, (node,)) for ts, node in enumerate([A, A, B, B, B], 1)]


@pytest.mark.parametrize("share", [True, False, None])
def test_figure_2_totals(share):
    results = run(FIGURE, FIGURE_QUERIES, FIGURE_STREAM, share=share)
    assert dict(zip(results.member.tolist(), results.values.u[:, 0].tolist(), strict=True)) == {
        0: 7,
        1: 14,
        2: 14,
    }


def test_figure_2_events():
    """What each B event ends: 1 2 4 trends of the first query, 2 4 8 of the others, 1 2 4 of what is shared."""
    ended, shared = [], []
    for n in range(2, 6):
        results = run(FIGURE, FIGURE_QUERIES, FIGURE_STREAM[:n], share=True)
        counts = dict(zip(results.member.tolist(), results.values.u[:, 0].tolist(), strict=True))
        ended.append([counts.get(m, 0) for m in range(3)])
        running = RunningTotals(FIGURE, FIGURE_QUERIES, share=True)
        running.take(taken_of(FIGURE_STREAM[:n]), arena_for(FIGURE_STREAM))
        shared.append(int(running._blocks.state.coefficients.u[1, 0]))
    assert np.diff(ended, axis=0).tolist() == [[1, 2, 2], [2, 4, 4], [4, 8, 8]]
    assert np.diff(shared).tolist() == [1, 2, 4]


def test_figure_2_matstate():
    running = RunningTotals(FIGURE, FIGURE_QUERIES, share=True)
    running.take(taken_of(FIGURE_STREAM), arena_for(FIGURE_STREAM))
    layout, state = running._arrays.layout, running._blocks.state
    assert state.totals.u[layout.base + 1, 0].tolist() == [1, 2, 2]
    assert running.matstates == 1


# ---- state and work ---------------------------------------------------------------------------------------


def test_blocks_are_given_back():
    running = RunningTotals(FIGURE, FIGURE_QUERIES)
    for at in range(0, 10_000, 100):
        happenings = [Happening(at + i, (i % 2,), key=at + i) for i in range(100)]
        running.take(taken_of(happenings), arena_for(happenings))
        assert len(running.close(at + 100)) > 0
    assert len(running._blocks) == 100
    assert running.held > 0


def test_shares_where_it_pays():
    """Long runs of B share; where all members enter B before each of its events they do not."""
    of = unit(2, [member(m, [A], [B], [(A, B)]) for m in range(20)], shared=[B], edges=[(B, B)])
    queries = [query(1000)] * 20
    runs = [Happening(ts, (A if ts % 100 == 0 else B,)) for ts in range(400)]
    mixed = [Happening(ts, (A if ts % 2 == 0 else B,)) for ts in range(400)]
    for happenings, shares in ((runs, True), (mixed, False)):
        running = RunningTotals(of, queries)
        running.take(taken_of(happenings), arena_for(happenings))
        assert (running.steps_shared, running.steps_alone) == ((1, 0) if shares else (0, 1))
        assert running.matstates == (4 if shares else 0)
        assert_same(of, running.close(FOREVER), totals(of, queries, happenings))


@pytest.mark.parametrize("overlap", [1, 3])
def test_members_that_nothing_enters_wait(overlap):
    """Each member has its own way in: a MatState concerns one, and the others catch up when they are read."""
    edges = [[(m + 2, 0), (0, m + 2)] if m % 2 else [(m + 2, 0), (0, 1)] for m in range(12)]
    asked = [(0, "k", SUM), (0, "k", MIN)]
    members = [member(m, [m + 2], [0, 1] if m % 2 == 0 else [0], edges[m], asked) for m in range(12)]
    of = unit(14, members, shared=[0], edges=[(0, 0)])
    queries = [query(30 * overlap, 30)] * 12
    order = [0, 2, 0, 0, 3, 0, 5, 0, 1, 7, 0, 8, 0, 13, 0, 0, 1, 11, 0]
    happenings = [Happening(ts, (order[ts % len(order)],), k=ts % 7) for ts in range(100)]
    running = RunningTotals(of, queries, share=True)
    running.take(taken_of(happenings), arena_for(happenings))
    assert_same(of, running.close(FOREVER), totals(of, queries, happenings))
    assert running._arrays.layout.steps.tolist() == [4 if overlap == 1 else 16]
