"""Windowed aggregates by their definition, in Python's own numbers."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from stretto.engine.derived.levels import Function, InputAggregate, Level
from stretto.schema import Kind
from stretto.values.vector import DTYPES, Vector

Value = float | int | None
Event = tuple[int, tuple[Value, ...], tuple[Value, ...], bool]
"""Time, keys, inputs, and whether it passes."""


def expected(events: Sequence[Event], level: Level) -> dict[int, tuple[Value, ...]]:
    """The aggregates of every event that has a row, by its place."""
    groups = [_group(event, level.keys) for event in events]
    rows = {}
    for i, (ts, *_) in enumerate(events):
        if groups[i] is None:
            continue
        members = [
            event
            for event, group in zip(events, groups, strict=True)
            if group == groups[i] and ts - level.window_us < event[0] <= ts
        ]
        rows[i] = tuple(_aggregate(aggregate, members) for aggregate in level.aggregates)
    return rows


def _group(event: Event, keys: Sequence[int]) -> tuple[Value, ...] | None:
    values = tuple(event[1][key] for key in keys)
    alive = event[3] and not any(value is None or math.isnan(value) for value in values)
    return values if alive else None


def _aggregate(aggregate: InputAggregate, members: Sequence[Event]) -> Value:
    if aggregate.input is None:
        return len(members)
    values = [event[2][aggregate.input] for event in members if event[2][aggregate.input] is not None]
    match aggregate.function:
        case Function.COUNT:
            return len(values)
        case Function.SUM:
            return total(values)
        case Function.AVG:
            found = total(values)
            return None if found is None else float(found) / len(values)
        case Function.STDDEV:
            return deviation(values)
        case Function.MIN | Function.MAX:
            return extreme(values, highest=aggregate.function is Function.MAX)


def total(values):
    if not values:
        return None
    if isinstance(values[0], int):
        exact = sum(values)
        return exact if -(2**63) <= exact < 2**63 else None
    if not all(map(math.isfinite, values)):
        return sum(values, 0.0)
    return nearest(sum(map(Fraction, values), Fraction()))


def deviation(values):
    if len(values) < 2:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    mean = sum(map(Fraction, values), Fraction()) / len(values)
    variance = sum(((Fraction(value) - mean) ** 2 for value in values), Fraction()) / (len(values) - 1)
    return math.sqrt(nearest(variance))


def extreme(values, *, highest):
    if not values:
        return None
    if any(math.isnan(value) for value in values):
        return math.nan
    return (max if highest else min)(values, key=lambda value: (value, math.copysign(1, value)))


def nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def vector(values: Sequence[Value], kind: Kind) -> Vector:
    data = np.array([0 if value is None else value for value in values], DTYPES[kind])
    if all(value is not None for value in values):
        return Vector(data)
    return Vector(data, np.array([value is not None for value in values], np.bool_))


def listed(found: Vector) -> list[Value]:
    return [None if null else value for value, null in zip(found.data.tolist(), found.nulls, strict=True)]


def bits(value: Value) -> object:
    """What two values must have in common to be the same to the last bit; all NaN are one."""
    if not isinstance(value, float):
        return value
    return "nan" if math.isnan(value) else value.hex()
