"""What the operators and functions of expressions do to vectors; `pattern.predicates` says their meaning."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stretto.errors import EngineError
from stretto.pattern.functions import UserFunction, user_function
from stretto.schema import Kind
from stretto.values import arithmetic
from stretto.values.member_sets import OF_SETS, apply_to_sets
from stretto.values.rows import Bool
from stretto.values.strings import Strings
from stretto.values.vector import DTYPES, Data, Vector, known, passes, scattered

Operation = Callable[[Sequence[Vector]], Vector]

ORDER: Final = frozenset({"<", "<=", ">", ">="})
PICK: Final = frozenset({"least", "greatest"})
HALF = 0.5
MANY = 4  # options of IN from which on a sorted search beats comparing with each


def apply(op: str, arguments: Sequence[Vector], kind: Kind, strings: Strings) -> Vector:
    """The operator applied to arguments, the first of which is of this kind."""
    if op in OF_SETS:
        return apply_to_sets(op, list(arguments), strings)
    if kind is not Kind.STRING or op not in ORDER | PICK:
        return _OPERATIONS[op](arguments)
    ranks = [Vector(strings.rank(argument.data), argument.valid) for argument in arguments]
    result = _OPERATIONS[op](ranks)
    return Vector(strings.ranked(result.data), result.valid) if op in PICK else result


# ---- null as soon as an argument is ----------------------------------------------------------------------


def _plain(function: Callable[..., Any]) -> Operation:
    """A function of values, each of which has a result."""

    def operation(arguments: Sequence[Vector]) -> Vector:
        return _vector(function(*(a.data for a in arguments)), known(*arguments))

    return operation


def _checked(function: Callable[..., arithmetic.Checked]) -> Operation:
    """A function of values, some of which have no result: null there."""

    def operation(arguments: Sequence[Vector]) -> Vector:
        data, fits = function(*(a.data for a in arguments))
        return _vector(data, both(known(*arguments), fits))

    return operation


def _folded(function: Callable[[Data, Data], Data]) -> Operation:
    """A function of two values, applied from the left to any number of them."""
    return _plain(lambda *values: reduce(function, values))


def _to_float(values: Data) -> Data:
    return values.astype(np.float64)


def _half_up(values: Data) -> Data:
    """The nearest whole number; halves go away from zero."""
    whole = np.trunc(values)
    return np.where(np.abs(values - whole) >= HALF, whole + np.copysign(1.0, values), whole)


def _rounded(function: Callable[[Data], Data]) -> Operation:
    return _plain(lambda values: function(values) if values.dtype.kind == "f" else values)


def _vector(data: Any, valid: Bool | None) -> Vector:
    """Data and validity of one shape: a null constant makes all rows null."""
    data = np.asarray(data)
    return Vector(data, None if valid is None else np.broadcast_to(valid, data.shape))


def both(left: Bool | None, right: Bool | None) -> Bool | None:
    """Where both are; None: everywhere."""
    if left is None or right is None:
        return left if right is None else right
    return left & right


# ---- three-valued logic ----------------------------------------------------------------------------------


def _logic(join: np.ufunc, other: np.ufunc) -> Operation:
    """AND is false if any argument is false, OR is true if any is true; else null if any is null.

    `join` combines what is true, `other` what is false (De Morgan).
    """

    def operation(arguments: Sequence[Vector]) -> Vector:
        if known(*arguments) is None:
            return Vector(np.asarray(reduce(join, (a.data for a in arguments))))
        true = reduce(join, (passes(a) for a in arguments))
        false = reduce(other, (passes(_not([a])) for a in arguments))
        return Vector(np.asarray(true), np.asarray(true | false))

    return operation


def _not(arguments: Sequence[Vector]) -> Vector:
    (value,) = arguments
    return Vector(np.asarray(~value.data), value.valid)


def _is_null(arguments: Sequence[Vector]) -> Vector:
    (value,) = arguments
    return Vector(np.asarray(value.nulls))


def _in(arguments: Sequence[Vector]) -> Vector:
    """True if the first equals any other, else null if any is null."""
    value, *options = arguments
    if len(options) <= MANY or any(option.data.ndim for option in options):
        return _OPERATIONS["or"]([_OPERATIONS["="]([value, option]) for option in options])
    given = np.array([option.data for option in options if option.valid is None or option.valid])
    found = np.isin(value.data, given)
    if len(given) == len(options):
        return Vector(np.asarray(found), value.valid)
    return _vector(found, both(value.valid, found))


def _coalesce(arguments: Sequence[Vector]) -> Vector:
    """The first that is not null."""
    found = arguments[-1]
    for argument in reversed(arguments[:-1]):
        found = _chosen(~argument.nulls, argument, found)
    return found


def _case(arguments: Sequence[Vector]) -> Vector:
    """The value behind the first condition that is true; the last one where none is."""
    found = arguments[-1]
    for at in range(len(arguments) - 3, -1, -2):
        found = _chosen(passes(arguments[at]), arguments[at + 1], found)
    return found


def _chosen(first: Bool, one: Vector, other: Vector) -> Vector:
    data = np.where(first, one.data, other.data)
    if one.valid is None and other.valid is None:
        return Vector(data)
    return Vector(data, np.where(first, ~one.nulls, ~other.nulls))


_OPERATIONS: Final[dict[str, Operation]] = {
    "+": _checked(arithmetic.add),
    "-": _checked(arithmetic.subtract),
    "*": _checked(arithmetic.multiply),
    "/": _checked(arithmetic.divide),
    "%": _checked(arithmetic.remainder),
    "neg": _checked(arithmetic.negate),
    "abs": _checked(arithmetic.absolute),
    "=": _plain(np.equal),
    "!=": _plain(np.not_equal),
    "<": _plain(np.less),
    "<=": _plain(np.less_equal),
    ">": _plain(np.greater),
    ">=": _plain(np.greater_equal),
    "and": _logic(np.logical_and, np.logical_or),
    "or": _logic(np.logical_or, np.logical_and),
    "not": _not,
    "in": _in,
    "is_null": _is_null,
    "to_float": _plain(_to_float),
    "sqrt": _plain(np.sqrt),
    "floor": _rounded(np.floor),
    "ceil": _rounded(np.ceil),
    "round": _rounded(_half_up),
    "coalesce": _coalesce,
    "case": _case,
    "least": _folded(np.minimum),
    "greatest": _folded(np.maximum),
    "geo_distance": _plain(arithmetic.distance_m),
}


# ---- functions of the user -------------------------------------------------------------------------------


Failures = list[tuple[int, str]]
"""Rows for which a function raised, each with what it said."""


def call(name: str, arguments: Sequence[Vector], n: int, strings: Strings) -> tuple[Vector, Failures]:
    """A registered function over `n` rows; it sees only the rows in which no argument is null.

    Strings reach it as arrays of Python texts, times and durations as microseconds. It may write to what it is given,
    and give the same array every time: both are copied. Where it raises, it is asked again row by row: what fails then
    is null.
    """
    function = user_function(name)
    if function is None:
        raise EngineError(f"the function `{name}` is not registered in this process")
    valid = known(*(argument.over(n) for argument in arguments))
    rows = np.arange(n) if valid is None else np.flatnonzero(valid)
    given = []
    for argument, kind in zip(arguments, function.arguments, strict=True):
        data = argument.over(n).data[rows]
        given.append(strings.texts(data).to_numpy(zero_copy_only=False) if kind is Kind.STRING else data)
    if not len(rows):
        return Vector(np.zeros(n, DTYPES[function.result]), np.zeros(n, np.bool_)), []
    failed: Failures = []
    try:
        found = function.function(*(column.copy() for column in given))
    except Exception:  # noqa: BLE001 - whatever a user's function raises
        found, failed = _one_by_one(function, given)
    try:
        vector = _result(found, len(rows), function.result, strings)
    except Exception as error:
        raise EngineError(f"the function `{name}` failed: {type(error).__name__}: {error}") from error
    failures = [(int(rows[row]), f"{name}: {reason}") for row, reason in failed]
    return (vector if valid is None else scattered(vector, rows, n)), failures


def _one_by_one(function: UserFunction, given: Sequence[Data]) -> tuple[Data, Failures]:
    """The results of single rows, None where the function raises."""
    found: list[Any] = []
    failed: Failures = []
    for row in range(len(given[0])):
        try:
            found.append(
                np.asarray(function.function(*(column[row : row + 1].copy() for column in given))).tolist()[0]
            )
        except Exception as error:  # noqa: BLE001 - the event is rejected with it
            found.append(None)
            failed.append((row, f"{type(error).__name__}: {error}"))
    results = np.empty(len(found), object)
    results[:] = found
    return results, failed


def _result(values: Any, n: int, kind: Kind, strings: Strings) -> Vector:
    """What a function gave, as a vector; None among objects is null."""
    array = np.asarray(values)
    if array.shape != (n,):
        raise ValueError(f"it gave results of shape {array.shape} for {n} rows")
    if kind is Kind.STRING:
        return strings.encode(pa.array(array.tolist(), pa.string()))
    valid = None
    if array.dtype == np.object_:
        zero, items = np.zeros(1, DTYPES[kind]).item(), array.tolist()
        valid = np.array([item is not None for item in items])
        array = np.array([zero if item is None else item for item in items])
    return Vector(array.astype(DTYPES[kind], casting="same_kind"), valid)
