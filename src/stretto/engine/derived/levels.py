"""What is aggregated: functions of inputs, over groupings and windows."""

from enum import StrEnum

import numpy as np

from stretto.records import dataclass
from stretto.schema import Kind
from stretto.values.rows import I64
from stretto.values.vector import Vector


class Function(StrEnum):
    """What becomes of the values of a window. Nulls are skipped; over nothing but nulls all but COUNT are null.

    - SUM of doubles is the double next to the exact sum; a sum beyond the doubles is infinite, infinities of both signs
      or a NaN give NaN, and a sum of zero is never below zero. SUM of integers, and of times in microseconds, is
      exact, and null if it leaves 64 bits.
    - AVG is that sum, as a double, divided by how many values there are; null where the sum is.
    - STDDEV is the square root of the double next to the exact variance of a sample: null for fewer than two values,
      NaN if one of them is infinite or NaN, infinite where the variance is beyond the doubles.
    - MIN and MAX are NaN if any value is NaN. A zero below zero is less than zero.
    """

    AVG = "AVG"
    SUM = "SUM"
    COUNT = "COUNT"
    MIN = "MIN"
    MAX = "MAX"
    STDDEV = "STDDEV"

    def kind(self, of: Kind) -> Kind:
        """The kind of the aggregate of values of a kind."""
        if self is Function.COUNT:
            return Kind.INT
        return Kind.FLOAT if self in (Function.AVG, Function.STDDEV) else of


@dataclass(frozen=True, slots=True)
class InputAggregate:
    """A function of an input, by its number; COUNT without an input counts events."""

    function: Function
    input: int | None = None

    def __post_init__(self) -> None:
        assert self.input is not None or self.function is Function.COUNT, self.function


@dataclass(frozen=True, slots=True)
class Level:
    """Aggregates over the events that agree on some keys (by number), later than a row's time less the window."""

    keys: tuple[int, ...]
    window_us: int
    aggregates: tuple[InputAggregate, ...]

    def __post_init__(self) -> None:
        assert self.window_us > 0, self.window_us


@dataclass(frozen=True, slots=True)
class LevelRows:
    """The events of a step that have a row on a level, by their places in the step, and the aggregates there.

    Where events have copies, these are what has places and rows.
    """

    events: I64
    values: tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class Copies:
    """Rows where events have several: how many each event has, and a small number of each row as its last key."""

    counts: I64
    numbers: I64

    def of(self, values: Vector) -> Vector:
        """The values of rows, from those of events."""
        valid = None if values.valid is None else np.repeat(values.valid, self.counts)
        return Vector(np.repeat(values.data, self.counts), valid)


@dataclass(frozen=True, slots=True)
class RawInputs:
    """Events as a step takes them: times, keys and inputs."""

    ts: I64
    keys: tuple[Vector, ...]
    inputs: tuple[Vector, ...]
