"""The functions that terms may call: those of the language, and those that users register."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from stretto.records import dataclass
from stretto.schema import LISTS, Kind

NUMBERS: Final = frozenset({Kind.INT, Kind.FLOAT})
MEASURES: Final = NUMBERS | {Kind.DURATION}
ORDERED: Final = MEASURES | {Kind.TIME}

# What each aggregate may be taken over; COUNT takes the variable itself.
AGGREGATES: Final[dict[str, frozenset[Kind]]] = {
    "COUNT": frozenset(),
    "SUM": MEASURES,
    "AVG": NUMBERS,
    "MIN": ORDERED,
    "MAX": ORDERED,
}


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of the language: least and greatest number of arguments, what they may be.

    `op` is its name in a bound term. With a `result` the arguments become doubles first, else all
    arguments have one kind and the result has it too.
    """

    op: str
    low: int
    high: int | None
    takes: frozenset[Kind] = NUMBERS
    result: Kind | None = None


BUILTINS: Final[dict[str, Builtin]] = {
    "ABS": Builtin("abs", 1, 1, MEASURES),
    "SQRT": Builtin("sqrt", 1, 1, result=Kind.FLOAT),
    "FLOOR": Builtin("floor", 1, 1),
    "CEIL": Builtin("ceil", 1, 1),
    "ROUND": Builtin("round", 1, 1),
    "LEAST": Builtin("least", 2, None, ORDERED),
    "GREATEST": Builtin("greatest", 2, None, ORDERED),
    "MIN": Builtin("least", 2, None, ORDERED),
    "MAX": Builtin("greatest", 2, None, ORDERED),
    "GEO_DISTANCE": Builtin("geo_distance", 4, 4, result=Kind.FLOAT),
}

_TEXT: Final = frozenset({Kind.STRING})
_TIME: Final = frozenset({Kind.TIME})
_INT: Final = frozenset({Kind.INT})


@dataclass(frozen=True, slots=True)
class Signature:
    """A function whose arguments have kinds of their own, place by place; those behind `least` may be left out."""

    op: str
    takes: tuple[frozenset[Kind], ...]
    result: Kind
    least: int


def _of(op: str, result: Kind, *takes: frozenset[Kind], least: int | None = None) -> Signature:
    return Signature(op, takes, result, len(takes) if least is None else least)


TIME_PARTS: Final = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "WEEKDAY")
SIGNATURES: Final[dict[str, Signature]] = {
    "LOWER": _of("lower", Kind.STRING, _TEXT),
    "UPPER": _of("upper", Kind.STRING, _TEXT),
    "TRIM": _of("trim", Kind.STRING, _TEXT),
    "LENGTH": _of("length", Kind.INT, _TEXT | LISTS),
    "SUBSTR": _of("substr", Kind.STRING, _TEXT, _INT, _INT, least=2),
    "STARTS_WITH": _of("starts_with", Kind.BOOL, _TEXT, _TEXT),
    "ENDS_WITH": _of("ends_with", Kind.BOOL, _TEXT, _TEXT),
    **{part: _of(part.lower(), Kind.INT, _TIME, _TEXT, least=1) for part in TIME_PARTS},
    "DATE_TRUNC": _of("date_trunc", Kind.TIME, _TEXT, _TIME, _TEXT, least=2),
}
OTHERS: Final = frozenset({"CONCAT", "CONTAINS", "CIDR_MATCH", "COALESCE", "ANY", "ALL"})
"""Functions that take any number of arguments, or kinds that depend on each other."""

RESERVED: Final = frozenset({*BUILTINS, *SIGNATURES, *OTHERS, *AGGREGATES, "FIRST", "LAST", "STDDEV", "CASE"})


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A registered function: NumPy arrays in, one per argument, an array of results out."""

    function: Callable[..., Any]
    arguments: tuple[Kind, ...]
    result: Kind


_registered: dict[str, UserFunction] = {}


def register_function(
    name: str, function: Callable[..., Any], arguments: Sequence[Kind | str], result: Kind | str
) -> None:
    """Make `function` callable in queries as NAME(...); case does not matter. Registering again replaces it.

    It is called with one NumPy array per argument (rows without a null in any of them) and returns an array
    of their length. It must be pure: plans decide how often and on which rows it runs. On Spark it goes to the workers
    with the plan. `arguments`, `result`: kinds, or their names such as `double` and `string`.
    """
    folded = name.upper()
    if not folded.isidentifier() or folded in RESERVED:
        raise ValueError(f"`{name}` cannot name a function: it is taken, or it is not a plain name")
    if not callable(function):
        raise TypeError(f"`{name}` should be a function, not {type(function).__name__}")
    _registered[folded] = UserFunction(function, tuple(map(_kind, arguments)), _kind(result))


def _kind(given: Kind | str) -> Kind:
    try:
        return Kind(given)
    except ValueError:
        known = ", ".join(kind.value for kind in Kind)
        raise ValueError(f"`{given}` is no kind of values; kinds are {known}") from None


def registered_functions() -> dict[str, UserFunction]:
    """The functions of users that this process knows."""
    return dict(_registered)


def keep_function(name: str, function: UserFunction, *, anew: bool) -> None:
    """Take over a function that another process registered; not `anew`: unless there is one of its name."""
    if anew or name not in _registered:
        _registered[name] = function


def user_function(name: str) -> UserFunction | None:
    """The registered function of this name (upper case, as in the op `user:NAME`), or None."""
    return _registered.get(name)


def function_names() -> list[str]:
    """Every function a term may call, for near names."""
    return sorted({*RESERVED - {"STDDEV", "CASE"}, *_registered})
