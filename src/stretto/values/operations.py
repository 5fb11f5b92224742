"""What the operators and functions of expressions do to vectors; `pattern.predicates` says their meaning."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stretto.errors import EngineError
from stretto.pattern.functions import user_function
from stretto.schema import Kind
from stretto.values import arithmetic
from stretto.values.rows import Bool
from stretto.values.strings import Strings
from stretto.values.vector import DTYPES, Data, Vector, known, passes, scattered

Operation = Callable[[Sequence[Vector]], Vector]

ORDER: Final = frozenset({"<", "<=", ">", ">="})
PICK: Final = frozenset({"least", "greatest"})
MANY = 4  # options of IN from which on a sorted search beats comparing with each


def apply(op: str, arguments: Sequence[Vector], kind: Kind, strings: Strings) -> Vector:
    """The operator applied to arguments, the first of which is of this kind."""
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
        return _vector(data, _both(known(*arguments), fits))

    return operation


def _folded(function: Callable[[Data, Data], Data]) -> Operation:
    """A function of two values, applied from the left to any number of them."""
    return _plain(lambda *values: reduce(function, values))


def _to_float(values: Data) -> Data:
    return values.astype(np.float64)


def _rounded(function: Callable[[Data], Data]) -> Operation:
    return _plain(lambda values: function(values) if values.dtype.kind == "f" else values)


def _vector(data: Any, valid: Bool | None) -> Vector:
    """Data and validity of one shape: a null constant makes all rows null."""
    data = np.asarray(data)
    return Vector(data, None if valid is None else np.broadcast_to(valid, data.shape))


def _both(left: Bool | None, right: Bool | None) -> Bool | None:
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
    return _vector(found, _both(value.valid, found))


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
    "least": _folded(np.minimum),
    "greatest": _folded(np.maximum),
    "geo_distance": _plain(arithmetic.distance_m),
}


# ---- functions of the user -------------------------------------------------------------------------------


def call(name: str, arguments: Sequence[Vector], n: int, strings: Strings) -> Vector:
    """A registered function over `n` rows; it sees only the rows in which no argument is null.

    Strings reach it as arrays of Python texts, times and durations as microseconds. It may write to what it is given,
    and give the same array every time: both are copied.
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
        return Vector(np.zeros(n, DTYPES[function.result]), np.zeros(n, np.bool_))
    try:
        found = _result(function.function(*given), len(rows), function.result, strings)
    except Exception as error:
        raise EngineError(f"the function `{name}` failed: {type(error).__name__}: {error}") from error
    return found if valid is None else scattered(found, rows, n)


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
