"""Units of trend queries by hand, and their totals by Python numbers: a dictionary per member, window and key."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import groupby

import numpy as np

from stretto.engine.trends.executor import TakenEvents
from stretto.engine.trends.numbers import extreme_doubles, extreme_integers, integers, log2
from stretto.pattern.nodes import TrendQuery
from stretto.trends.plan import Edge, Entry, Measure, Member, TrendUnit, UnitPart

OCCURRENCES, SUM, KNOWN, MIN, MAX = "occurrences", "sum", "known", "min", "max"


def query(window, slide=None):
    return TrendQuery("q", None, (), (), (), (), window, slide or window, ())


def member(number, starts, ends, edges=(), measures=()):
    return Member(
        number,
        tuple(Entry(node, None) for node in starts),
        tuple(Entry(node, None) for node in ends),
        tuple(Edge(a, b, None) for a, b in edges),
        tuple(Measure(*measure) for measure in measures),
    )


def unit(nodes, members, shared=(), edges=()):
    """A unit of which all members share these nodes and edges."""
    return unit_of_parts(nodes, members, [(shared, edges, range(len(members)))] if shared else [])


def unit_of_parts(nodes, members, parts):
    """A unit with parts: nodes, edges between them, and the places of the members that share them."""
    return TrendUnit((), tuple(range(nodes)), tuple(_part(members, *part) for part in parts), tuple(members))


def _part(members, nodes, edges, mine):
    starts = {start.node for place in mine for start in members[place].starts}
    entered = starts | {edge.target for place in mine for edge in members[place].edges}
    entries = tuple(node for node in nodes if node in entered)
    return UnitPart(tuple(nodes), entries, tuple(Edge(a, b, None) for a, b in edges), tuple(mine))


def alone(of):
    """The same unit, nothing of it shared."""
    members = tuple(replace(one, edges=of.edges_of(place)) for place, one in enumerate(of.members))
    return replace(of, parts=(), members=members)


@dataclass(frozen=True)
class Happening:
    """An event: its nodes, its key, its attributes x (double) and k (integer), None for null."""

    ts: int
    nodes: tuple
    key: int = 0
    x: float | None = None
    k: int | None = None


def taken_of(happenings, at=0):
    """These events as a step; their positions begin at `at`."""
    first = np.cumsum([0, *(len(one.nodes) for one in happenings)]).astype(np.int64)
    nodes = np.array([node for one in happenings for node in one.nodes], np.int32)
    ts, keys = (np.array([getattr(one, name) for one in happenings], np.int64) for name in ("ts", "key"))
    return TakenEvents(ts, first, nodes, keys, np.arange(at, at + len(happenings)))


# ---- by the definition ------------------------------------------------------------------------------------


@dataclass
class Value:
    """A number of trends; per measure a sum (its special doubles apart) or the least and greatest value."""

    count: int = 0
    sums: dict = field(default_factory=dict)
    special: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)

    def add(self, other):
        self.count += other.count
        for measure, total in other.sums.items():
            self.sums[measure] = self.sums.get(measure, 0) + total
        for mine, theirs in ((self.special, other.special), (self.values, other.values)):
            for measure, some in theirs.items():
                mine[measure] = mine.get(measure, frozenset()) | some

    def joined_by(self, event, node, measures):
        """These trends, each with the event at its end."""
        new = Value(self.count, dict(self.sums), dict(self.special), dict(self.values))
        for measure in measures if self.count else ():
            if measure.node != node:
                continue
            value = getattr(event, measure.attribute) if measure.attribute else None
            if measure.what == OCCURRENCES:
                new.sums[measure] = new.sums.get(measure, 0) + self.count
            elif value is None:
                continue
            elif measure.what == KNOWN:
                new.sums[measure] = new.sums.get(measure, 0) + self.count
            elif measure.what == SUM and not math.isfinite(value):
                new.special[measure] = new.special.get(measure, frozenset()) | {str(value)}
            elif measure.what == SUM:
                new.sums[measure] = new.sums.get(measure, 0) + self.count * Fraction(value)
            else:
                new.values[measure] = new.values.get(measure, frozenset()) | {value}
        return new

    def read(self, measure):
        if measure.is_linear:
            special = self.special.get(measure, frozenset())
            if special:
                return math.nan if len(special) > 1 else float(next(iter(special)))
            return self.sums.get(measure, 0)
        values = self.values.get(measure, frozenset())
        if any(math.isnan(value) for value in values):
            return math.nan
        return (min if measure.what == MIN else max)(values, default=None)


def totals(of, queries, happenings):
    """{(member, window start, key): value} of every window that has a trend."""
    result = {}
    for m, one in enumerate(of.members):
        window, slide = queries[one.query].window_us, queries[one.query].slide_us
        into = {}
        for edge in of.edges_of(m):
            into.setdefault(edge.target, set()).add(edge.source)
        cells = {}
        for event in happenings:
            for k in range((event.ts - window) // slide + 1, event.ts // slide + 1):
                cells.setdefault((m, k * slide, event.key), []).append(event)
        for cell, events in cells.items():
            value = _total(one, into, events)
            if value.count:
                result[cell] = value
    return result


def _total(one, into, events):
    nodes = (
        {entry.node for entry in (*one.starts, *one.ends)} | set(into) | set().union(*into.values(), set())
    )
    sums = {node: Value() for node in nodes}
    starts = {start.node for start in one.starts}
    for _, tie in groupby(events, key=lambda event: event.ts):
        news = []
        for event in tie:
            for node in nodes.intersection(event.nodes):
                before = Value(count=int(node in starts))
                for source in into.get(node, ()):
                    before.add(sums[source])
                news.append((node, before.joined_by(event, node, one.measures)))
        for node, value in news:
            sums[node].add(value)
    value = Value()
    for end in one.ends:
        value.add(sums[end.node])
    return value


# ---- comparison -------------------------------------------------------------------------------------------


def assert_same(of, results, expected):
    cells = list(
        zip(results.member.tolist(), results.window_start.tolist(), results.key.tolist(), strict=True)
    )
    assert len(set(cells)) == len(cells)
    assert set(cells) == set(expected)
    for row, cell in enumerate(cells):
        values, value = results.values, expected[cell]
        _same_integer(values, row, 0, value.count)
        logarithm = float(log2(values.f[row, 0], values.e[row, 0]))
        assert math.isclose(logarithm, math.log2(value.count), rel_tol=1e-12, abs_tol=1e-9)
        sums = [measure for measure in of.members[cell[0]].measures if measure.is_linear]
        for lane, measure in enumerate(sums, 1):
            wanted = value.read(measure)
            if measure.what == SUM and measure.attribute == "x":
                found = math.ldexp(float(values.f[row, lane]), 512 * int(values.e[row, lane]))
                _same_double(found, float(wanted))
            else:
                _same_integer(values, row, lane, int(wanted))
        extremes = [measure for measure in of.members[cell[0]].measures if not measure.is_linear]
        for lane, measure in enumerate(extremes):
            wanted = value.read(measure)
            if wanted is not None:  # whether there is any is for the measure `known` to say
                read = extreme_doubles if measure.attribute == "x" else extreme_integers
                _same_double(read(values.x[row : row + 1, lane], largest=measure.what == MAX)[0], wanted)


def _same_integer(values, row, lane, wanted):
    cell = slice(row, row + 1)
    found = integers(values.u[cell, lane], values.f[cell, lane], values.e[cell, lane])
    assert bool(found.is_exact[0]) == (abs(wanted) < 2**63)
    if found.is_exact[0]:
        assert int(found.exact[0]) == wanted
    if abs(wanted) < 2**1023:
        assert math.isclose(found.value[0], wanted, rel_tol=1e-9)
    elif abs(wanted) >= 2**1024:
        assert math.isinf(found.value[0])


def _same_double(found, wanted):
    assert (math.isnan(found) and math.isnan(wanted)) or math.isclose(found, wanted, rel_tol=1e-9)
