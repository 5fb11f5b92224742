"""Small arenas and expressions for tests of the engine's parts."""

import numpy as np

from stretto.engine.stream.arena import Arena, Block
from stretto.pattern.predicates import Apply, Const, Ref, Which
from stretto.schema import Kind
from stretto.values.strings import Strings
from stretto.values.vector import Vector


def arena_of(ts, types=None, **attributes):
    """An arena with these events; `x` is a double, other attributes are integers, None is a null."""
    vectors, dtypes = {}, {}
    for name, values in attributes.items():
        dtype = np.float64 if name == "x" else np.int64
        valid = np.array([v is not None for v in values], np.bool_)
        data = np.array([0 if v is None else v for v in values], dtype)
        vectors[name] = Vector(data, None if valid.all() else valid)
        dtypes[name] = dtype
    arena = Arena(dtypes, Strings())
    times = np.array(list(ts), np.int64)
    codes = np.array(types if types is not None else [1] * len(ts), np.int32)
    arena.append(Block(times, codes, np.arange(len(ts)), vectors))
    return arena


def x(column, which=Which.EACH):
    return Ref(column, "x", Kind.FLOAT, which)


def k(column):
    return Ref(column, "k", Kind.INT)


def compare(op, left, right):
    return Apply(op, (left, right), Kind.BOOL)


def number(value):
    return Const(value, Kind.FLOAT if isinstance(value, float) else Kind.INT)
