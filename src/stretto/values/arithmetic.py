"""Arithmetic on 64-bit integers and doubles that tells exactly which results do not fit into 64 bits.

Each function gives the results and where they fit (None: everywhere); results that do not fit are arbitrary.
Doubles always fit: they follow IEEE 754. Arrays without a dimension are constants. The caller
switches NumPy's warnings off.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.values.rows import Bool

Numbers = npt.NDArray[Any]
Checked = tuple[Numbers, Bool | None]
Range = tuple[int, int]

LEAST = -(2**63)
MOST = 2**63 - 1

WHOLE = 2.0**52
"""Sums of two whole doubles below it are exact."""
EARTH_RADIUS_M = 6_371_008.8


def add(left: Numbers, right: Numbers) -> Checked:
    result = left + right
    if _sure(left, right, lambda a, b: (a[0] + b[0], a[1] + b[1])):
        return result, None
    return result, _fits(((left ^ result) & (right ^ result)) >= 0)


def subtract(left: Numbers, right: Numbers) -> Checked:
    result = left - right
    if _sure(left, right, lambda a, b: (a[0] - b[1], a[1] - b[0])):
        return result, None
    return result, _fits(((left ^ right) & (left ^ result)) >= 0)


def multiply(left: Numbers, right: Numbers) -> Checked:
    result = left * right
    if _sure(left, right, _products):
        return result, None
    # The product modulo 2^64 is off by a multiple of 2^64 where it does not fit, the product of doubles by a
    # small fraction of itself: they lie far apart exactly where 64 bits were left.
    apart = np.abs(left.astype(np.float64) * right.astype(np.float64) - result)
    return result, _fits(apart < 2.0**62)


def negate(values: Numbers) -> Checked:
    return -values, None if _is_double(values) else _fits(values != LEAST)


def absolute(values: Numbers) -> Checked:
    return np.abs(values), None if _is_double(values) else _fits(values != LEAST)


def divide(left: Numbers, right: Numbers) -> Checked:
    """The quotient of the two as doubles; none where the divisor is 0."""
    return np.true_divide(left, right), _fits(right != 0)


def remainder(left: Numbers, right: Numbers) -> Checked:
    """What is left of a division that truncates towards zero; none where the divisor is 0."""
    fits = _fits(right != 0)
    if fits is None and left.ndim and _is_whole(left) and _is_whole(right):
        return _whole_remainder(left, right), None
    return np.fmod(left, right), fits


def _whole_remainder(left: Numbers, right: Numbers) -> Numbers:
    """The same of whole doubles, several times as fast as digit by digit: products of what 53 bits hold are exact."""
    found: Numbers = left - np.trunc(left / right) * right
    # A quotient right below a whole number may have been rounded up to it.
    beyond = found * np.sign(left) < 0
    if beyond.any():
        found += np.where(beyond, np.abs(right) * np.sign(left), 0.0)
    return np.copysign(found, left)


def _is_whole(values: Numbers) -> bool:
    """Whether all are whole numbers of less than 52 bits."""
    first = values.reshape(-1)[:1]
    if not _is_double(values) or not (first == np.trunc(first)).all():
        return False
    return bool((np.abs(values) < WHOLE).all() and (values == np.trunc(values)).all())


def distance_m(lat1: Numbers, lon1: Numbers, lat2: Numbers, lon2: Numbers) -> Numbers:
    """Metres along a great circle (haversine) between places given in degrees."""
    phi1, phi2 = np.radians(lat1), np.radians(lat2)
    half = np.sin((phi2 - phi1) / 2) ** 2
    half += np.cos(phi1) * np.cos(phi2) * np.sin((np.radians(lon2) - np.radians(lon1)) / 2) ** 2
    metres: Numbers = 2 * EARTH_RADIUS_M * np.arcsin(np.minimum(1.0, np.sqrt(half)))
    return metres


def _sure(left: Numbers, right: Numbers, ends: Callable[[Range, Range], Range]) -> bool:
    """Whether the ranges of both sides already show that every result fits.

    Finding least and greatest values is several times cheaper than checking each result.
    """
    if _is_double(left) or not left.size or not right.size:
        return True
    low, high = ends((int(left.min()), int(left.max())), (int(right.min()), int(right.max())))
    return low >= LEAST and high <= MOST


def _products(left: Range, right: Range) -> Range:
    corners = [a * b for a in left for b in right]
    return min(corners), max(corners)


def _is_double(values: Numbers) -> bool:
    return values.dtype.kind == "f"


def _fits(mask: Any) -> Bool | None:
    return None if np.all(mask) else np.asarray(mask)
