"""What each unit of the engine's work costs on this machine, in nanoseconds; measured once and kept in a file."""

import json
import math
import os
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Final, Self

from stretto.atomic import write_text
from stretto.errors import StrettoError
from stretto.json_depth import load_json
from stretto.records import dataclass

VARIABLE: Final = "STRETTO_PRICES"
STEP: Final = 1 << 16
LARGE_STEP: Final = 1 << 20
GROWTH: Final = 4
"""Events that the engine takes in its first step, and in a long one; by what the next is longer."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Nanoseconds per unit of work. The defaults were measured by `stretto calibrate` on a core of an AMD EPYC."""

    event: float = 70.0  # an event taken in, ordered, split by type; once for the whole plan
    attribute: float = 12.0  # an attribute of it
    scan: float = 5.0  # an event of a stream's type, looked at for one scan
    step: float = 49_000.0  # an operator in one step of the engine, whatever it finds
    store: float = 5.0  # a row kept in a band
    store_lane: float = 0.6  # a column or key of such a row
    sort: float = 20.0  # a row that has to be put in order first
    probe: float = 22.0  # a row that looks for partners in a band
    key: float = 5.5  # one side of a term turned into a key, for one row
    candidate: float = 0.46  # a row of a band that is compared with a probing row
    term: float = 0.35  # every term after the first of such a comparison
    chain: float = 2.6  # a row met in a hash chain
    row: float = 4.0  # a row made by a join
    column: float = 2.8  # a column of it
    copy: float = 1.0  # a time or column of a row that is copied in a range, where nothing is compared
    gather: float = (
        1.0  # a row made from pairs of row numbers, where equalities or other terms had to be looked at
    )
    gather_column: float = 3.3  # a column of it
    evaluate: float = 9.0  # a term evaluated on a pair or row because it is no comparison of keys
    forbid: float = 42.0  # a row looked up among forbidden events
    link: float = 45.0  # an earlier repetition that a row may take
    grow: float = 1.0  # a row made by adding repetitions
    element: float = 3.0  # a repetition in it
    unite: float = 60.0  # a row of an alternative
    follow: float = 77.0  # an event of a step under the policy NEXT or LAST, or a run that takes one
    emit: float = 0.8  # a match handed over
    emit_column: float = 0.1  # an event in it
    update: float = (
        50.0  # a value of a trend query, updated by one event; not fitted, the trials have no trends
    )
    # Measured one by one, those of units among them:
    text: float = 30.0  # what an attribute of an event takes besides where it is a text, which gets a code
    fresh: float = 0.4  # a byte of the rows that become matches: memory that is written to for the first time
    move: float = 700.0  # a row moved to a unit in another process; the default was measured on Spark
    hop: float = 1_500_000.0  # a unit called in a step, whatever reaches it
    distance: float = 140.0  # a GEO_DISTANCE evaluated on a pair

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value) or value < 0:
                raise StrettoError(f"the price `{field.name}` is a number of nanoseconds, not {value}")

    @classmethod
    def of(cls, values: list[float]) -> Self:
        """Prices from their numbers, in the order of the fields."""
        return cls(**dict(zip(NAMES, values, strict=True)))

    def values(self) -> tuple[float, ...]:
        """The numbers in the order of the fields."""
        return tuple(getattr(self, name) for name in NAMES)


NAMES: Final = tuple(field.name for field in fields(Prices))


def prices_path() -> Path:
    """Where this user's prices are kept: the file that STRETTO_PRICES names, or one in the configuration folder."""
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given)
    folder = os.environ.get("XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path.home() / ".config") / "stretto" / "prices.json"


def load(path: Path | None = None) -> Prices:
    """The prices of a file, or of the usual one; without a usual one the defaults. A bad file is an error."""
    named = path is not None or bool(os.environ.get(VARIABLE))
    place = path or prices_path()
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not named:
            return Prices()
        raise StrettoError(f"{place}: no such file of prices; `stretto calibrate` makes one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise StrettoError(f"{place}: prices cannot be read: {error}") from error
    return _parsed(text, place)


def save(prices: Prices, path: Path | None = None) -> Path:
    """Write the prices for later runs; where to comes back."""
    place = path or prices_path()
    place.parent.mkdir(parents=True, exist_ok=True)
    content = {"unit": "ns", "prices": asdict(prices)}
    write_text(place, json.dumps(content, indent=2) + "\n")
    return place


def _parsed(text: str, place: Path) -> Prices:
    hint = "`stretto calibrate` writes it anew"
    try:
        read = load_json(text)
    except ValueError as error:
        raise StrettoError(f"{place}: not a file of prices: {error}; {hint}") from error
    found: Any = read.get("prices") if isinstance(read, dict) else None
    if not isinstance(found, dict):
        raise StrettoError(f"{place}: not a file of prices: there are none in it; {hint}")
    unknown = sorted(set(found) - set(NAMES))
    if unknown:
        raise StrettoError(f"{place}: unknown prices: {', '.join(unknown)}; {hint}")
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise StrettoError(
                f"{place}: the price `{name}` is a number of nanoseconds, not {value!r}; {hint}"
            )
    try:
        return replace(Prices(), **{name: float(value) for name, value in found.items()})
    except (OverflowError, StrettoError) as error:
        raise StrettoError(f"{place}: {error}; {hint}") from error
