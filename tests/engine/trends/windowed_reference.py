"""Units, their events and their totals, plainly: every event's value from all earlier ones, in Python numbers."""

import math
from dataclasses import dataclass

import numpy as np

from stretto.engine.trends.executor import TakenEvents
from stretto.pattern.predicates import Apply, Const, Ref
from stretto.values.strings import Strings
from stretto.values.vector import Vector


@dataclass(frozen=True)
class Event:
    ts: int
    nodes: tuple[int, ...]
    key: int
    x: float | None
    k: int | None
    s: str | None

    def get(self, attribute):
        return getattr(self, attribute)


class Table:
    """The events as the executors read them."""

    def __init__(self, events):
        self.strings = Strings()
        self.list = events
        codes = [None if e.s is None else self.strings.code(e.s) for e in events]
        self._columns = {
            "ts": ([e.ts for e in events], np.int64),
            "x": ([e.x for e in events], np.float64),
            "k": ([e.k for e in events], np.int64),
            "s": (codes, np.int64),
        }

    def values(self, attribute, positions):
        values, dtype = self._columns[attribute]
        valid = np.array([v is not None for v in values], np.bool_)
        data = np.array([0 if v is None else v for v in values], dtype)
        return Vector(data[positions], None if valid.all() else valid[positions])

    def taken(self, start, stop):
        part = self.list[start:stop]
        return TakenEvents(
            np.array([e.ts for e in part], np.int64),
            np.cumsum([0, *(len(e.nodes) for e in part)]).astype(np.int64),
            np.array([p for e in part for p in e.nodes], np.int32),
            np.array([e.key for e in part], np.int64),
            np.arange(start, stop),
        )


# ---- conditions ---------------------------------------------------------------------------------------------


def evaluate(expr, *events):
    if isinstance(expr, Ref):
        return events[expr.column].get(expr.attribute)
    if isinstance(expr, Const):
        return expr.value
    assert isinstance(expr, Apply)
    one, other = (evaluate(argument, *events) for argument in expr.arguments)
    if one is None or other is None:
        return None
    return {
        "<": lambda: one < other,
        "<=": lambda: one <= other,
        ">": lambda: one > other,
        ">=": lambda: one >= other,
        "=": lambda: one == other,
        "!=": lambda: one != other,
        "+": lambda: one + other,
        "-": lambda: one - other,
    }[expr.op]()


def met(condition, *events):
    return condition is None or any(all(evaluate(t, *events) is True for t in terms) for terms in condition)


# ---- totals -------------------------------------------------------------------------------------------------


@dataclass
class Total:
    """Trends, and per measure the values of its events, as many times as there are trends with them."""

    count: int
    lanes: list


def zero(member):
    return Total(0, [0 if m.is_linear else None for m in member.measures])


def plus(a, b, member):
    def joined(measure, one, other):
        if measure.is_linear:
            return one + other
        if one is None or other is None:
            return other if one is None else one
        if math.isnan(one) or math.isnan(other):
            return math.nan
        return (min if measure.what == "min" else max)(one, other)

    if not a.count or not b.count:
        return b if not a.count else a
    lanes = [joined(m, one, other) for m, one, other in zip(member.measures, a.lanes, b.lanes, strict=True)]
    return Total(a.count + b.count, lanes)


def with_event(total, event, node, member):
    lanes = []
    for measure, lane in zip(member.measures, total.lanes, strict=True):
        x = event.get(measure.attribute) if measure.attribute else None
        if measure.node != node:
            lanes.append(lane)
        elif measure.what == "occurrences":
            lanes.append(lane + total.count)
        elif measure.what == "known":
            lanes.append(lane + total.count * (x is not None))
        elif measure.what == "sum":
            lanes.append(lane if x is None else lane + total.count * x)
        else:
            one = Total(1, [None if m != measure else x for m in member.measures])
            other = Total(1, [None if m != measure else lane for m in member.measures])
            only = type(member)(0, (), (), (), (measure,))
            lanes.append(
                plus(Total(1, [one.lanes[len(lanes)]]), Total(1, [other.lanes[len(lanes)]]), only).lanes[0]
            )
    return Total(total.count, lanes)


def totals_of(unit, member, events):
    """The member's total over the events of one cell."""
    values = []
    found = zero(member)
    edges = unit.edges_of(unit.members.index(member))
    for event in events:
        for node in event.nodes:
            value = zero(member)
            if any(e.node == node and met(e.condition, event) for e in member.starts):
                value = Total(1, value.lanes)
            for edge in edges:
                if edge.target == node:
                    for earlier, source, sum_ in values:
                        if (
                            source == edge.source
                            and earlier.ts < event.ts
                            and met(edge.condition, earlier, event)
                        ):
                            value = plus(value, sum_, member)
            if not value.count:
                continue
            value = with_event(value, event, node, member)
            values.append((event, node, value))
            if any(e.node == node and met(e.condition, event) for e in member.ends):
                found = plus(found, value, member)
    return found


def expected(unit, events, window_us, slide_us):
    """Totals by member, start of window and key."""
    found = {}
    if not events:
        return found
    first = (events[0].ts - window_us) // slide_us
    for number in range(first, events[-1].ts // slide_us + 1):
        start = number * slide_us
        for key in {e.key for e in events}:
            cell = [e for e in events if e.key == key and start <= e.ts < start + window_us]
            for place, member in enumerate(unit.members):
                total = totals_of(unit, member, cell)
                if total.count:
                    found[place, start, key] = total
    return found
