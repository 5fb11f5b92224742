"""Constants of families as vectors, and expressions over rows and constants together."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from stretto.pattern.predicates import Expr, Param, Ref, rewrite
from stretto.plan.families.members import Constants
from stretto.schema import Kind
from stretto.values.evaluate import Events
from stretto.values.rows import I64
from stretto.values.strings import Strings
from stretto.values.vector import DTYPES, Vector

PREFIX = "@constant "
"""Before the name of a constant where it is read as if it were an attribute."""


def vectors(constants: Constants, strings: Strings) -> dict[str, Vector]:
    """Every column of constants, texts as codes of `strings`."""
    return {
        name: vector(column, constants.kinds[name], strings) for name, column in constants.columns.items()
    }


def vector(column: pa.Array, kind: Kind, strings: Strings) -> Vector:
    if kind is Kind.STRING:
        return strings.encode(column)
    valid = None if not column.null_count else np.asarray(column.is_valid())
    plain = column.cast(pa.int64()) if kind in (Kind.TIME, Kind.DURATION) else column
    empty: bool | int = False if kind is Kind.BOOL else 0
    data = np.asarray(plain.fill_null(pa.scalar(empty, plain.type))).astype(DTYPES[kind])
    return Vector(data, valid)


def over_constants(expr: Expr, column: int) -> Expr:
    """The expression with constants read as attributes of one more column, which holds numbers of constants' rows."""

    def rule(node: Expr) -> Expr | None:
        return Ref(column, PREFIX + node.attribute, node.kind) if isinstance(node, Param) else None

    return rewrite(expr, rule)


class WithConstants:
    """Events, and beside them rows of constants by their numbers."""

    def __init__(self, events: Events, found: Mapping[str, Vector]) -> None:
        self._events, self._found = events, found

    @property
    def strings(self) -> Strings:
        return self._events.strings

    def values(self, attribute: str, positions: I64) -> Vector:
        if attribute.startswith(PREFIX):
            return self._found[attribute.removeprefix(PREFIX)].take(positions)
        return self._events.values(attribute, positions)
