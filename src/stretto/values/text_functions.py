"""Functions of texts, times and lists over vectors: computed once for each distinct combination of arguments."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.pattern.predicates import Apply, Const
from stretto.schema import LISTS, Kind
from stretto.values import calendar
from stretto.values.lists import elements_of
from stretto.values.operations import both
from stretto.values.strings import Strings
from stretto.values.text_tests import KnownAnswers, is_text_test, judge_of
from stretto.values.vector import DTYPES, Vector, known, scattered

Network = IPv4Network | IPv6Network


def text_test(expr: Apply, value: Vector, strings: Strings) -> Vector:
    """A test whose pattern stands in the query, over texts."""
    key = (expr.op, expr.arguments[1:])
    answers = strings.remembered.get(key)
    if answers is None:
        answers = strings.remembered[key] = KnownAnswers(judge_of(expr))
    if value.valid is None:
        return Vector(np.asarray(answers.of(value.data, strings)))
    if not value.data.ndim:
        return Vector(np.zeros((), np.bool_), value.valid)
    rows = np.flatnonzero(value.valid)
    return scattered(Vector(answers.of(value.data[rows], strings)), rows, len(value.data))


def time_function(op: str, words: Sequence[str], value: Vector) -> Vector:
    """A part of times, or times cut to a unit; `words` are the unit and the zone, as far as they are given."""
    if op == "date_trunc":
        data, fits = calendar.truncated(words[0], np.atleast_1d(value.data), *words[1:])
        fits = fits if fits is None else fits.reshape(value.data.shape)
        return Vector(data.reshape(value.data.shape), both(value.valid, fits))
    found = calendar.time_part(op, np.atleast_1d(value.data), *words)
    return Vector(found.reshape(value.data.shape), value.valid)


def text_function(expr: Apply, arguments: Sequence[Vector], n: int, strings: Strings) -> Vector:
    """Any other function: called once for each distinct combination of its arguments, none of them null."""
    function = partial(_FUNCTIONS[expr.op], expr)
    shapes = {argument.data.ndim for argument in arguments}
    size = n if 1 in shapes else 1
    given = [argument.over(size) for argument in arguments]
    valid = known(*given)
    rows = np.arange(size) if valid is None else np.flatnonzero(valid)
    if not len(rows):
        return Vector(np.zeros(size, DTYPES[expr.kind]), np.zeros(size, np.bool_))
    columns = np.stack([argument.data[rows].view(np.int64) for argument in given])
    alone = all(isinstance(part, Const) for part in expr.arguments[1:])
    cut = expr.op == "substr" and alone
    if alone:
        of, place = np.unique(columns[0], return_inverse=True)
        few = np.concatenate([of.reshape(1, -1), np.repeat(columns[1:, :1], len(of), axis=1)])
    else:
        few, place = np.unique(columns, axis=1, return_inverse=True)
    if cut:
        made = _cut(strings.texts_of(few[0]), *columns[1:, 0].tolist(), strings=strings).take(
            place.reshape(-1)
        )
    else:
        read = [_reader(part, row, strings) for part, row in zip(expr.arguments, few, strict=True)]
        results = [function(*values) for values in zip(*read, strict=True)]
        made = _vector(results, expr.kind, strings).take(place.reshape(-1))
    found = made if valid is None else scattered(made, rows, size)
    return found if 1 in shapes else Vector(found.data[0], None if found.valid is None else found.valid[0])


def _cut(texts: pa.Array, start: int, length: int | None = None, *, strings: Strings) -> Vector:
    """SUBSTR at places that stand in the query, as `_substr` cuts each text."""
    first = max(start - 1, 0)
    last = None if length is None else max(start - 1 + max(length, 0), first)
    return strings.encode(pc.utf8_slice_codeunits(texts, first, last))


def _reader(part: Any, row: np.ndarray, strings: Strings) -> Sequence[Any]:
    """The values of an argument as Python has them."""
    if part.kind is Kind.STRING:
        return [strings.text(code) for code in row.tolist()]
    if part.kind in LISTS:
        return [elements_of(strings.text(code), part.kind) for code in row.tolist()]
    values: list[Any] = (row.view(np.float64) if part.kind is Kind.FLOAT else row).tolist()
    return values


def _vector(results: Sequence[Any], kind: Kind, strings: Strings) -> Vector:
    if kind is Kind.STRING:
        return strings.encode(pa.array(results, pa.large_string()))
    valid = np.array([result is not None for result in results])
    data = np.array([0 if result is None else result for result in results], DTYPES[kind])
    return Vector(data, None if valid.all() else valid)


# ---- one value at a time -----------------------------------------------------------------------------------


def _changed(change: Callable[[str], str]) -> Callable[[Apply, str], str]:
    def function(_: Apply, text: str) -> str:
        whole = change(text)
        if text.isascii():
            return whole
        # One character stays one: neither `ß` nor a sigma at the end of a word makes an exception.
        return "".join(new if len(new := change(sign)) == 1 else sign for sign in text)

    return function


def _substr(_: Apply, text: str, start: int, length: int | None = None) -> str:
    stop = len(text) if length is None else start - 1 + max(length, 0)
    return text[max(start - 1, 0) : max(stop, 0)]


def _has(_: Apply, elements: Sequence[Any], value: Any) -> bool | None:
    if any(element is not None and element == value for element in elements):
        return True
    return None if None in elements else False


def _cidr_match(expr: Apply, text: str, *_: str) -> bool | None:
    address = _address(text)
    if address is None:
        return None
    return any(address.version == network.version and address in network for network in _networks(expr))


@lru_cache(maxsize=1 << 16)  # of all rules on one column
def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


@lru_cache(maxsize=1 << 12)
def _networks(expr: Apply) -> list[Network]:
    return [ip_network(str(part.value)) for part in expr.arguments[1:] if isinstance(part, Const)]


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "lower": _changed(str.lower),
    "upper": _changed(str.upper),
    "trim": lambda _, text: text.strip(),
    "length": lambda _, text: len(text),
    "substr": _substr,
    "concat": lambda _, *texts: "".join(texts),
    "starts_with": lambda _, text, part: text.startswith(part),
    "ends_with": lambda _, text, part: text.endswith(part),
    "contains": lambda _, text, part: part in text,
    "cidr_match": _cidr_match,
    "has": _has,
    "size": lambda _, elements: len(elements),
}
TIMES: Final = frozenset({"year", "month", "day", "hour", "minute", "second", "weekday", "date_trunc"})


def compute(expr: Apply, n: int, strings: Strings, value_of: Callable[[Any], Vector]) -> Vector | None:
    """The value of a function of texts, times or lists; None for any other operator."""
    if is_text_test(expr):
        return text_test(expr, value_of(expr.arguments[0]), strings)
    if expr.op in TIMES:
        words = [
            str(part.value) for part in expr.arguments if isinstance(part, Const) and part.kind is Kind.STRING
        ]
        (time,) = (part for part in expr.arguments if part.kind is Kind.TIME)  # type: ignore[attr-defined]
        return time_function(expr.op, words, value_of(time))
    if expr.op in _FUNCTIONS:
        return text_function(expr, [value_of(part) for part in expr.arguments], n, strings)
    return None
