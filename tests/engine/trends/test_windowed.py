"""Units with conditions, against plain sums over all earlier events."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.trends.windowed_reference import Event, Table, expected

from stretto.engine.trends import numbers, pair_conditions, windowed
from stretto.engine.trends.executor import concat_results
from stretto.engine.trends.windowed import Windowed
from stretto.pattern.predicates import Apply, Const, Ref, Which
from stretto.schema import Kind
from stretto.trends.plan import Edge, Entry, Measure, Member, TrendUnit, UnitPart

KINDS = {"x": Kind.FLOAT, "k": Kind.INT, "s": Kind.STRING, "ts": Kind.TIME}


def ref(column, attribute, which=Which.EACH):
    return Ref(column, attribute, KINDS[attribute], which)


def compare(op, one, other):
    return Apply(op, (one, other), Kind.BOOL)


def pair(op, attribute):
    return compare(op, ref(0, attribute), ref(1, attribute))


def above(column, value, attribute="k"):
    return compare(">", ref(column, attribute), Const(value, KINDS[attribute]))


RISING = ((compare(">", ref(1, "x", Which.CURRENT), ref(0, "x", Which.PREVIOUS)),),)
GAP = compare("<=", Apply("-", (ref(1, "ts"), ref(0, "ts")), Kind.DURATION), Const(2, Kind.DURATION))
SUM = compare(">", Apply("+", (ref(0, "k"), ref(1, "k")), Kind.INT), Const(3, Kind.INT))
SHIFTED = compare("<=", ref(0, "k"), Apply("-", (ref(1, "k"), Const(1, Kind.INT)), Kind.INT))

ON_PAIRS = [
    None,
    RISING,
    ((pair(">=", "x"),),),
    ((pair("=", "k"),),),
    ((pair("=", "k"), pair("<", "x")),),
    ((pair("=", "s"), pair("=", "k"), pair(">", "x")),),
    ((pair("!=", "x"),),),
    ((pair("!=", "k"), pair("=", "s")),),
    ((pair("<", "s"),),),
    ((above(1, 1),),),
    ((above(0, 0), pair("<=", "x")),),
    ((pair("<", "x"), pair("<", "k")),),
    ((pair("=", "s"), pair("<", "x"), pair(">", "k")),),
    ((pair("<", "x"),), (above(1, 1),)),
    ((pair("<", "x"),), ()),
    ((pair("<", "x"),), (above(0, 0), above(1, 0))),
    ((pair("!=", "k"),), (above(0, 0.0, "x"),), (above(1, 0.0, "x"), above(0, 1))),
    ((pair("<", "x"),), (pair("<", "k"), above(1, 1))),
    ((GAP,),),
    ((SUM,),),
    ((SHIFTED,),),
    ((Const(value=False, kind=Kind.BOOL),),),
]
ON_EVENTS = [None, None, ((above(0, 1),),), ((above(0, 0.0, "x"),), (above(0, 2),))]

MEASURES = [
    *((a, w) for a in "xk" for w in ("sum", "known", "min", "max")),
    ("", "occurrences"),
]


@st.composite
def units(draw):
    """Units with up to three parts; a member may be in any of them."""
    homes = [*draw(st.lists(st.sampled_from([-1, -1, 0, 0, 1, 2]), max_size=4)), -1]
    conditions = st.sampled_from(ON_PAIRS)
    count = draw(st.integers(1, 5))
    shared = []
    for home in sorted(set(homes) - {-1}):
        nodes = tuple(p for p, of in enumerate(homes) if of == home)
        pairs = draw(st.lists(st.sampled_from([(a, b) for a in nodes for b in nodes]), unique=True))
        edges = tuple(Edge(a, b, draw(conditions)) for a, b in pairs)
        shared.append((nodes, edges, tuple(sorted(draw(st.sets(st.sampled_from(range(count)), min_size=1))))))
    members = [
        draw(members_of(number, homes, [one for one in shared if number in one[2]]))
        for number in range(count)
    ]
    parts = []
    for nodes, edges, mine in shared:
        entered = {e.node for m in mine for e in members[m].starts}
        entered |= {e.target for m in mine for e in members[m].edges}
        parts.append(UnitPart(nodes, tuple(p for p in nodes if p in entered), edges, mine))
    return TrendUnit((), tuple(range(len(homes))), tuple(parts), tuple(members))


@st.composite
def members_of(draw, number, homes, shared):
    """A member with these parts, and any of the nodes that are in none."""
    nodes = [p for p, of in enumerate(homes) if of < 0 or any(p in part for part, _, _ in shared)]
    common = {(e.source, e.target) for _, edges, _ in shared for e in edges}
    free = [(a, b) for a in nodes for b in nodes if (a, b) not in common]
    own = draw(st.lists(st.sampled_from(free), unique=True, max_size=4)) if free else []
    edges = tuple(Edge(a, b, draw(st.sampled_from(ON_PAIRS))) for a, b in own)

    def entries():
        chosen = draw(st.lists(st.sampled_from(nodes), unique=True, min_size=1))
        return tuple(Entry(p, draw(st.sampled_from(ON_EVENTS))) for p in sorted(chosen))

    found = draw(
        st.lists(st.tuples(st.sampled_from(nodes), st.sampled_from(MEASURES)), unique=True, max_size=3)
    )
    measures = [Measure(node, attribute, what) for node, (attribute, what) in found]
    measures.sort(key=lambda m: not m.is_linear)
    return Member(number, entries(), entries(), edges, tuple(measures))


@st.composite
def streams(draw, nodes, most=14):
    events, ts = [], draw(st.integers(-9, 3))
    for _ in range(draw(st.integers(0, most))):
        ts += draw(st.integers(0, 2))
        at = draw(st.lists(st.sampled_from(range(nodes)), unique=True, min_size=1, max_size=2))
        events.append(
            Event(
                ts,
                tuple(sorted(at)),
                draw(st.sampled_from([0, 0, 0, 1, 3])),
                draw(st.sampled_from([None, math.nan, -1.0, -0.0, 0.0, 0.5, 1.0, 1e300])),
                draw(st.sampled_from([None, -2, 0, 1, 2, 3, 2**61])),
                draw(st.sampled_from([None, "b", "a", "ab"])),
            )
        )
    return events


def run(unit, events, window_us, slide_us, cuts):
    """All results of the executor; a step ends before each event whose number is in `cuts`, at its time."""
    table = Table(events)
    query = SimpleNamespace(window_us=window_us, slide_us=slide_us)
    executor = Windowed(unit, [query] * len(unit.members))
    found, at = [], 0
    for number in sorted(cuts):
        if 0 < number < len(events) and events[number].ts > events[number - 1].ts:
            executor.take(table.taken(at, number), table)
            found.append(executor.close(events[number].ts))
            at = number
    executor.take(table.taken(at, len(events)), table)
    found.append(executor.close(10**6))
    return concat_results(found), executor


def as_dict(results):
    keys = list(
        zip(results.member.tolist(), results.window_start.tolist(), results.key.tolist(), strict=True)
    )
    assert len(set(keys)) == len(keys)
    return {key: row for row, key in enumerate(keys)}


def assert_lane(measure, total, values, row, lane):
    if not measure.is_linear:
        largest = measure.what == "max"
        key = values.x[row : row + 1, lane]
        if total is None:
            assert key[0] == numbers.MOST
        elif measure.attribute == "k":
            assert numbers.extreme_integers(key, largest=largest)[0] == total
        else:
            np.testing.assert_equal(numbers.extreme_doubles(key, largest=largest)[0] + 0.0, total + 0.0)
        return
    f = numbers.doubles(values.f[row : row + 1, lane], values.e[row : row + 1, lane])[0]
    if isinstance(total, int):
        assert int(values.u[row, lane]) == total % 2**64
    assert f == pytest.approx(float(total), rel=1e-9, nan_ok=True)


def assert_found(unit, results, wanted):
    rows = as_dict(results)
    assert set(rows) == set(wanted)
    for key, row in rows.items():
        member, total = unit.members[key[0]], wanted[key]
        assert int(results.values.u[row, 0]) == total.count
        linear = extreme = 0
        for measure, lane in zip(member.measures, total.lanes, strict=True):
            linear += measure.is_linear
            assert_lane(measure, lane, results.values, row, linear if measure.is_linear else extreme)
            extreme += not measure.is_linear


def unshared(unit):
    members = tuple(replace(m, edges=unit.edges_of(place)) for place, m in enumerate(unit.members))
    return replace(unit, parts=(), members=members)


def never(unit, part, cells, *_):
    return np.zeros(len(cells), np.bool_)


def always(unit, part, cells, *_):
    return np.ones(len(cells), np.bool_)


@pytest.mark.parametrize("mode", ["as it pays", "matstates", "members", "unshared", "one by one"])
@given(data=st.data())
def test_totals_are_plain_sums(mode, data):
    unit = data.draw(units())
    events = data.draw(streams(len(unit.nodes)))
    window_us, slide_us = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))
    cuts = data.draw(st.sets(st.integers(1, 14), max_size=4))
    wanted = expected(unit, events, window_us, slide_us)
    with pytest.MonkeyPatch.context() as patch:
        if mode == "matstates":
            patch.setattr(windowed, "worth_sharing", always)
        elif mode == "members":
            patch.setattr(windowed, "worth_sharing", never)
        elif mode == "one by one":
            patch.setattr(windowed, "ROOM", 1)
            patch.setattr(windowed, "BATCH", 1)
            patch.setattr(pair_conditions, "PAIRS", 3)
            patch.setattr(pair_conditions, "AT_ONCE", 2)
        elif mode == "unshared":
            unit = unshared(unit)
        results, _ = run(unit, events, window_us, slide_us, cuts)
    assert_found(unit, results, wanted)


def many_members(condition, count):
    """`SEQ(A a, B b+)` with A of three kinds, sharing `B b+` at node 0."""
    members = [
        Member(
            n,
            (Entry(1 + n % 3),),
            (Entry(0, None if n % 2 else ((above(0, 0),),)),),
            (Edge(1 + n % 3, 0),),
            (Measure(0, "k", "sum"), Measure(1 + n % 3, "", "occurrences"), Measure(0, "x", "min")),
        )
        for n in range(count)
    ]
    part = UnitPart((0,), (0,), (Edge(0, 0, condition),), tuple(range(count)))
    return TrendUnit((), (0, 1, 2, 3), (part,), tuple(members))


@settings(max_examples=20)
@given(data=st.data())
def test_few_matstates_serve_many_members(data):
    """MatStates are one per run of shared events behind an entering one; no more values than these are kept."""
    unit = many_members(data.draw(st.sampled_from(ON_PAIRS)), 12)
    runs = data.draw(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=3))
    events, ts = [], 0
    for node, length in runs:
        for at in [node] + [0] * length:
            ts += 1
            k = data.draw(st.sampled_from([None, 0, 1, 2]))
            events.append(Event(ts, (at,), 0, data.draw(st.sampled_from([None, 0.0, 0.5, 1.0])), k, "a"))
    results, executor = run(unit, events, 100, 100, ())
    assert executor.shared_cells == 1
    assert executor.matstates == len(runs)
    assert_found(unit, results, expected(unit, events, 100, 100))


def test_where_matstates_are_many_members_stand_side_by_side():
    unit = many_members(RISING, 4)
    events = [Event(ts, (ts % 2,), 0, float(ts), ts, "a") for ts in range(12)]
    results, executor = run(unit, events, 100, 100, ())
    assert (executor.cells, executor.shared_cells, executor.matstates) == (1, 0, 0)
    assert_found(unit, results, expected(unit, events, 100, 100))


def rising(measures=()):
    member = Member(0, (Entry(0),), (Entry(0),), (Edge(0, 0, RISING),), measures)
    return TrendUnit((), (0,), (), (member,))


@pytest.mark.parametrize("n", [3, 4, 5, 16, 17, 62, 63, 64, 65, 300, 5000])
def test_counts_of_any_size(n):
    """Of ever rising values every subset is a trend."""
    events = [Event(ts, (0,), 0, float(ts), 3, "a") for ts in range(n)]
    results, _ = run(rising((Measure(0, "k", "sum"),)), events, 10**5, 10**5, ())
    counts, sums = 2**n - 1, 3 * n * 2 ** (n - 1)
    assert [int(u) for u in results.values.u[0]] == [counts % 2**64, sums % 2**64]
    logs = numbers.log2(results.values.f[0], results.values.e[0])
    assert logs[0] == pytest.approx(math.log2(counts), rel=1e-12)
    assert logs[1] == pytest.approx(math.log2(sums), rel=1e-12)


def test_events_are_forgotten_behind_their_last_window():
    unit = rising()
    events = [Event(ts, (0,), 0, float(ts % 7), 1, "a") for ts in range(20_000)]
    table = Table(events)
    executor = Windowed(unit, [SimpleNamespace(window_us=40, slide_us=10)])
    held = []
    for at in range(0, len(events), 1000):
        executor.take(table.taken(at, at + 1000), table)
        assert len(executor.close(at + 1000)) > 0
        held.append(executor.held)
    assert max(held) <= 2 * held[0]


@pytest.mark.parametrize("slide_us", [1, 7, 10, 25])
def test_windows_overlap_or_leave_gaps(slide_us):
    events = [Event(ts, (0,), ts % 3, float(ts * 7 % 11), 1, "a") for ts in range(-30, 30)]
    results, _ = run(rising(), events, 10, slide_us, (7, 20, 21, 44))
    assert_found(rising(), results, expected(rising(), events, 10, slide_us))


def test_nothing_comes_of_no_events():
    executor = Windowed(rising(), [SimpleNamespace(window_us=5, slide_us=5)])
    assert len(executor.close(100)) == 0
