"""Single JSON values: what kind they are, and what is wrong with one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from stretto.data.casts import SHARE, WORDS, kind_of_texts
from stretto.json_depth import HALF_PAIR, TOO_DEEP, has_half_pair, too_deep_at
from stretto.schema import Kind

SHOWN = 60
_INT64 = range(-(1 << 63), 1 << 63)


def load(text: bytes) -> dict[str, Any] | str:
    """The object of a line, or what is wrong with the line."""
    if too_deep_at(text) is not None:
        return f"not JSON that can be read: {TOO_DEEP}"
    try:
        value = json.loads(text.decode())
    except UnicodeDecodeError:
        return "not UTF-8 text"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at column {error.colno}"
    except ValueError as error:  # an integer of thousands of digits
        return f"not JSON that can be read: {error}"
    if has_half_pair(text):
        return f"not Unicode text: {HALF_PAIR}"
    return value if isinstance(value, dict) else f"{show(value)} is not an object"


def show(value: Any) -> str:
    """A value as JSON writes it, cut if it is long."""
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def kind_of_values(values: Sequence[Any]) -> Kind | None:
    """The strictest kind that nine in ten of these values fit (no nulls); None for objects and for lists of them."""
    needed = len(values) * SHARE
    lists = [value for value in values if isinstance(value, list)]
    if lists and len(lists) >= needed:
        return _kind_of_lists(lists)
    kinds = [_KINDS.get(type(value)) for value in values]
    integers, doubles = kinds.count(Kind.INT), kinds.count(Kind.FLOAT)
    texts = [value for value in values if isinstance(value, str)]
    if not values or len(values) - kinds.count(None) < needed:
        return None
    if integers >= needed:
        return Kind.INT
    if integers + doubles >= needed:
        return Kind.FLOAT
    if kinds.count(Kind.BOOL) >= needed:
        return Kind.BOOL
    is_time = len(texts) >= needed and kind_of_texts(pa.array(texts)) is Kind.TIME
    return Kind.TIME if is_time else Kind.STRING


def _kind_of_lists(lists: Sequence[list[Any]]) -> Kind | None:
    """The kind of lists of texts or numbers; lists without an element may be of any kind, and are taken for texts."""
    found = {type(element) for one in lists for element in one if element is not None}
    if found <= {str}:
        return Kind.STRINGS
    return Kind.INTS if found == {int} else Kind.FLOATS if found <= {int, float} else None


_KINDS: dict[type, Kind] = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, str: Kind.STRING}


def convert(row: Mapping[str, Any], kinds: Mapping[str, Kind]) -> tuple[dict[str, Any], str]:
    """The named values as their kinds have them (a time stays a text), and the first problem, if any."""
    converted: dict[str, Any] = {}
    for name, kind in kinds.items():
        value = row.get(name)
        if value is None:
            continue
        found = _as_kind(value, kind)
        if found is None:
            return {}, f"{name}: {show(value)} is not {WORDS[kind]}"
        converted[name] = found
    return converted, ""


def _as_kind(value: Any, kind: Kind) -> Any:
    if kind.element is not None:
        return _as_list(value, kind.element)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is Kind.INT:
        whole = int(value) if is_number and (isinstance(value, int) or value.is_integer()) else None
        return whole if whole is not None and whole in _INT64 else None
    if kind is Kind.FLOAT:
        return _double(value) if is_number else None
    if kind is Kind.BOOL:
        return value if isinstance(value, bool) else None
    if kind is Kind.STRING and not isinstance(value, list | dict):
        return value if isinstance(value, str) else json.dumps(value)
    return value if isinstance(value, str) else None


def _as_list(value: Any, element: Kind) -> list[Any] | None:
    if not isinstance(value, list):
        return None
    found = [None if one is None else _as_kind(one, element) for one in value]
    return (
        None if any(one is not None and new is None for one, new in zip(value, found, strict=True)) else found
    )


def _double(value: float) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None
