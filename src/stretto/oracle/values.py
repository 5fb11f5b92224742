"""Values of expressions in plain Python, for the oracle: exact integers, IEEE doubles, None for null."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np

from stretto.oracle.texts import FUNCTIONS
from stretto.pattern.functions import user_function
from stretto.pattern.predicates import Apply, Const, Element, Expr, Reduce, Ref, Value, Which, rewrite
from stretto.records import dataclass
from stretto.schema import Kind

Leaves = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Event:
    """An event as it arrives, or of a derived stream. `attributes` may lack names, which are then null.

    An event of a join or of a pattern stream has `leaves`, names with the ids of raw events, and no id of its own.
    `is_after_input`: a derived event that is later than every raw event, so undecided at the end of the input.
    """

    id: int
    ts: int
    type: str
    attributes: Mapping[str, Value]
    leaves: Leaves = ()
    is_after_input: bool = False

    @property
    def order(self) -> tuple[int, tuple[int, ...], str, tuple[str, ...]]:
        """What positions go by: time, then ids; where they are shared, the stream's name, then that of each id."""
        ids = tuple(one for _, ids in self.leaves for one in ids) if self.leaves else (self.id,)
        return self.ts, ids, self.type, tuple(name for name, ids in self.leaves for _ in ids)

    def leaves_of(self, name: str) -> Leaves:
        """The raw events behind this one, where it goes by a name: the name itself, or `name.leaf`."""
        if not self.leaves:
            return ((name, (self.id,)),)
        return tuple((f"{name}.{leaf}", ids) for leaf, ids in self.leaves)

    def value(self, attribute: str) -> Value:
        return self.ts if attribute == "ts" else self.attributes.get(attribute)


Sets = Mapping[int, Sequence[Event]]  # the events of each column, in time order
Chosen = Mapping[tuple[int, Which], Event]  # what plain references, d[i] and d[i-1] mean at the moment


def evaluate(expr: Expr, sets: Sets, chosen: Chosen) -> Value:
    """The value of an expression; a reference to a column that binds nothing is null, its COUNT is 0."""
    match expr:
        case Const(value, _):
            return value
        case Ref(column, attribute, _, which):
            bound = sets.get(column)
            if not bound:
                return None
            ends = {Which.FIRST: bound[0], Which.LAST: bound[-1]}
            return (ends[which] if which in ends else chosen[column, which]).value(attribute)
        case Reduce(function, column, attribute, _):
            events = sets.get(column, ())
            if function == "LIST":
                listed: tuple[Any, ...] = tuple(event.value(attribute) for event in events)
                return listed or None
            return (
                len(events)
                if function == "COUNT"
                else _reduce(function, [e.value(attribute) for e in events])
            )
        case Apply("any" | "all" as word, (of, condition), _):
            found = evaluate(of, sets, chosen)
            if found is None:
                return None
            assert isinstance(found, tuple)
            each = [evaluate(_about(condition, element), sets, chosen) for element in found]
            return _apply("or" if word == "any" else "and", each, Kind.BOOL)
        case Apply(op, arguments, kind):
            return _apply(op, [evaluate(argument, sets, chosen) for argument in arguments], kind)
    raise AssertionError(expr)


def _about(condition: Expr, element: Value) -> Expr:
    """A condition over the elements of a list as one about this element."""
    return rewrite(condition, lambda node: Const(element, node.kind) if isinstance(node, Element) else None)


def _reduce(function: str, values: Sequence[Value]) -> Value:
    """SUM, AVG, MIN or MAX of the values that are not null, in the order given."""
    known = [value for value in values if value is not None]
    if not known or any(_is_nan(value) for value in known):
        return math.nan if known else None
    if function in ("MIN", "MAX"):
        return _extreme(min if function == "MIN" else max, known)
    total: int | float = 0
    for value in known:
        assert isinstance(value, int | float)
        total += value
    if isinstance(total, int) and _in_64_bits(total) is None:
        return None
    return float(total) / len(known) if function == "AVG" else total


def _apply(op: str, values: list[Value], kind: Kind) -> Value:
    match op:
        case "and":
            return False if False in values else None if None in values else True
        case "or":
            return True if True in values else None if None in values else False
        case "is_null":
            return values[0] is None
        case "coalesce":
            return next((value for value in values if value is not None), None)
        case "case":
            pairs = zip(values[0:-1:2], values[1:-1:2], strict=True)
            return next((value for condition, value in pairs if condition is True), values[-1])
        case "has" if values[0] is not None and values[1] is not None:
            assert isinstance(values[0], tuple)
            return _apply("in", [values[1], *values[0]], kind) if values[0] else False
        case "in" if values[0] is not None:
            found = any(option is not None and values[0] == option for option in values[1:])
            return True if found else None if None in values else False
    if None in values:
        return None
    if op.startswith("user:"):
        return _call_user(op.removeprefix("user:"), values)
    result: Any = (FUNCTIONS.get(op) or _STRICT[op])(*values)
    if kind is Kind.STRING:
        return None if result is None else str(result)
    if kind in (Kind.INT, Kind.TIME, Kind.DURATION):
        return None if result is None else _in_64_bits(result)
    return None if result is None else float(result) if kind is Kind.FLOAT else bool(result)


def _call_user(name: str, values: Sequence[Value]) -> Value:
    """A registered function takes arrays, so it is called with arrays of one."""
    known = user_function(name)
    assert known is not None, name
    dtypes = [_DTYPES.get(kind, "int64") for kind in known.arguments]
    arrays = [np.array([value], dtype=dtype) for value, dtype in zip(values, dtypes, strict=True)]
    try:
        result: list[Value] = np.asarray(known.function(*arrays)).tolist()
    except Exception:  # noqa: BLE001 - whatever it raises, the event has no value
        return None
    return result[0]


def _in_64_bits(value: int) -> int | None:
    return value if -(2**63) <= value < 2**63 else None


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _extreme(best: Callable[..., Any], values: Sequence[Any]) -> Value:
    """The smallest or greatest of at least one value, NaN if any is."""
    found: Value = math.nan if any(_is_nan(value) for value in values) else best(values)
    return found


def _remainder(left: Any, right: Any) -> int | float | None:
    """Truncating towards zero: the sign is the dividend's."""
    if right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return abs(left) % abs(right) * (-1 if left < 0 else 1)
    return math.nan if math.isinf(left) else math.fmod(left, right)


def _rounded(towards: Callable[[float], int], value: Any) -> int | float:
    return towards(value) if isinstance(value, int) or math.isfinite(value) else value


def _half_up(value: float) -> int:
    """The nearest integer; halves go away from zero. Exact fractions: a half that is added would be rounded."""
    size = math.floor(Fraction(abs(value)) + Fraction(1, 2))
    return size if value >= 0 else -size


EARTH_RADIUS_M: Final = 6_371_008.8  # the mean radius


def _geo_distance(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Metres along a great circle (haversine)."""
    if not all(math.isfinite(degrees) for degrees in (lat1, lon1, lat2, lon2)):
        return math.nan
    phi1, phi2, lambda1, lambda2 = map(math.radians, (lat1, lat2, lon1, lon2))
    half = math.sin((phi2 - phi1) / 2) ** 2
    half += math.cos(phi1) * math.cos(phi2) * math.sin((lambda2 - lambda1) / 2) ** 2
    # Degrees far beyond a circle can make the cosines' product negative: there is no such distance.
    return math.nan if half < 0 else 2 * EARTH_RADIUS_M * math.asin(min(1.0, math.sqrt(half)))


_DTYPES: Final = {Kind.FLOAT: "float64", Kind.STRING: "object", Kind.BOOL: "bool"}

_STRICT: Final[Mapping[str, Callable[..., Any]]] = {  # null as soon as an argument is
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: None if right == 0 else float(left) / float(right),
    "%": _remainder,
    "neg": operator.neg,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "not": operator.not_,
    "to_float": float,
    "abs": abs,
    "sqrt": lambda value: math.nan if value < 0 else math.sqrt(value),
    "floor": partial(_rounded, math.floor),
    "ceil": partial(_rounded, math.ceil),
    "round": partial(_rounded, _half_up),
    "least": lambda *values: _extreme(min, values),
    "greatest": lambda *values: _extreme(max, values),
    "geo_distance": _geo_distance,
}
