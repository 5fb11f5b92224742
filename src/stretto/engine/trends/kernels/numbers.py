"""Sums without overflow: every number is kept modulo 2^64 and, beside that, as a double with an exponent of its own.

A row of `Values` is one value: linear lanes, of which the first is a number of trends and each further one a sum over
the events of those trends, and extreme lanes, the least key met in them. Of the double f and its exponent e the number
is f * 2^(512 e); f is 0 (then so is e), not finite, or of an absolute value in [2^-256, 2^256). A value of no trends is
zero in all lanes, and its extremes are `MOST`: then no sum ever meets 0 times infinity.

Values multiply as dual numbers do: of trends made of two parts, c c' in number, the sums are c s' + c' s.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.values.loops import loop_as_numpy
from stretto.values.rows import F64, I64

U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]

HIGH, LOW = 2.0**256, 2.0**-256
DOWN, UP = 2.0**-512, 2.0**512
MOST = np.iinfo(np.int64).max
LEAST = np.iinfo(np.int64).min

loop: Final = loop_as_numpy
"""Divisions by zero are infinities."""


class Values(NamedTuple):
    """Rows of values: u, f, e have one column per linear lane (at least one), x one per extreme lane."""

    u: U64
    f: F64
    e: I32
    x: I64


@loop
def normal(f: float, e: int) -> tuple[float, int]:
    """The same number with f in bounds; f was at most one step of 2^512 away from them."""
    size = abs(f)
    if size >= HIGH:
        return f * DOWN, e + 1
    if size < LOW:
        if size == 0.0:
            return 0.0, 0
        return f * UP, e - 1
    return f, e


@loop
def plus(f: float, e: int, g: float, d: int) -> tuple[float, int]:
    """The sum of two numbers; of numbers two steps apart the smaller vanishes."""
    if e == d:
        return normal(f + g, e)
    if f == 0.0:
        return g, d
    if g == 0.0:
        return f, e
    if not (np.isfinite(f) and np.isfinite(g)):
        return f + g, 0
    if e < d:
        f, e, g, d = g, d, f, e
    # One step of 2^512 apart the smaller may still count; two apart it is below the last bit of the larger.
    if e - d == 1:
        return normal(f + g * DOWN, e)
    return f, e


@loop
def clear(v: Values, i: int) -> None:
    """Row i becomes zero."""
    for lane in range(v.u.shape[1]):
        v.u[i, lane] = np.uint64(0)
        v.f[i, lane] = 0.0
        v.e[i, lane] = 0
    for lane in range(v.x.shape[1]):
        v.x[i, lane] = MOST


@loop
def copy(v: Values, i: int, w: Values, j: int) -> None:
    """Row i of v becomes row j of w, which has the same lanes."""
    for lane in range(v.u.shape[1]):
        v.u[i, lane] = w.u[j, lane]
        v.f[i, lane] = w.f[j, lane]
        v.e[i, lane] = w.e[j, lane]
    for lane in range(v.x.shape[1]):
        v.x[i, lane] = w.x[j, lane]


@loop
def add(v: Values, i: int, w: Values, j: int) -> None:
    """Add row j of w, which has the same lanes, to row i of v."""
    if w.f[j, 0] == 0.0:
        return
    for lane in range(v.u.shape[1]):
        v.u[i, lane] += w.u[j, lane]
        v.f[i, lane], v.e[i, lane] = plus(v.f[i, lane], v.e[i, lane], w.f[j, lane], w.e[j, lane])
    for lane in range(v.x.shape[1]):
        v.x[i, lane] = min(v.x[i, lane], w.x[j, lane])


@loop
def add_one(v: Values, i: int) -> None:
    """Add the one empty trend to row i: a number of 1, sums of 0."""
    v.u[i, 0] += np.uint64(1)
    v.f[i, 0], v.e[i, 0] = plus(v.f[i, 0], v.e[i, 0], 1.0, 0)


@loop
def add_product(
    v: Values, i: int, a: Values, j: int, b: Values, k: int, linear: I32, extreme: I32, r: int
) -> None:
    """Add row j of a times row k of b to row i of v, which is neither of them.

    v and a have the same lanes. Their lane n is lane `linear[r, n]` of b (from 1 on; -1: b has no such sum), their
    extreme lane n is `extreme[r, n]` of b. With the weights of events as b this is how an event joins its trends.
    """
    c, d = a.f[j, 0], b.f[k, 0]
    if c == 0.0 or d == 0.0:
        return
    # The product rule of dual numbers, once modulo 2^64 and once in doubles; lane 0, the number, comes last.
    cu, du = a.u[j, 0], b.u[k, 0]
    ce, de = a.e[j, 0], b.e[k, 0]
    for lane in range(1, v.u.shape[1]):
        u = du * a.u[j, lane]
        f, e = normal(d * a.f[j, lane], de + a.e[j, lane])
        other = linear[r, lane]
        if other >= 0:
            u += cu * b.u[k, other]
            g, h = normal(c * b.f[k, other], ce + b.e[k, other])
            f, e = plus(f, e, g, h)
        v.u[i, lane] += u
        v.f[i, lane], v.e[i, lane] = plus(v.f[i, lane], v.e[i, lane], f, e)
    f, e = normal(c * d, ce + de)
    v.u[i, 0] += cu * du
    v.f[i, 0], v.e[i, 0] = plus(v.f[i, 0], v.e[i, 0], f, e)
    for lane in range(v.x.shape[1]):
        least = min(v.x[i, lane], a.x[j, lane])
        other = extreme[r, lane]
        if other >= 0:
            least = min(least, b.x[k, other])
        v.x[i, lane] = least
