"""MUSE's workloads (sec. 4): Kleene patterns over one frequent type, flat and nested, that aggregate trends.

Every pattern repeats the frequent type (Travel, Trade) between other types: up to three before it and two after it,
`SEQ(Request a, Pickup b, Travel c+, Pay d)`. A nested one repeats a part around it too: the whole pattern, what follows
the first type, or both. No two queries are equal. What they cost when they are shared depends on the stream: on the
events in a window, and on how many of them are of other types than the frequent one, since a MatState is made where the
frequent type comes back after others.
"""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Final

import numpy as np

from stretto.errors import StrettoError, instead_of
from stretto.generate import rides, ticks
from stretto.generate.workload_text import LETTERS, Written, need_shares
from stretto.records import dataclass
from stretto.text.parser import option_us

TRIES: Final = 1_000
BEFORE: Final = (0.1, 0.4, 0.35, 0.15)
"""How often 0, 1, 2, 3 types come before the repeated one."""
AFTER: Final = (0.6, 0.3, 0.1)
MOST_MATSTATES: Final = 0.25
"""Of all events: where every other event is of another type than the repeated one, and they come in any order."""


@dataclass(frozen=True, slots=True)
class MuseSubject:
    """What the patterns are about: the stream, its repeated type, the attribute that `goes` down or up in a trend, the
    other types, and what trends can be grouped by.
    """

    stream: str
    repeated: str
    attribute: str
    goes: str
    others: tuple[str, ...]
    groups: tuple[str, ...]


RIDES: Final = MuseSubject(
    "rides",
    "Travel",
    "speed",
    "<",
    tuple(name for name in rides.TYPES if name != "Travel"),
    ("district", "driver"),
)
STOCKS: Final = MuseSubject(
    "ticks",
    "Trade",
    "price",
    ">",
    tuple(name for name in ticks.TYPES if name != "Trade"),
    ("sector", "symbol"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MuseOptions:
    """`nested`: the share of patterns that repeat more than one type. `group`: what trends are grouped by; None is the
    coarser way of the stream, a district or a sector. `adjacent`: the share of queries whose repeated events fall in
    speed or rise in price. `measures`: the share that returns more than COUNT(*).

    `events_per_window` and `matstates`, the share of events at which a MatState is made, say which stream the workload
    is for; the queries are the same for all.
    """

    nested: float = 0.5
    window: str = "1 MINUTE"
    slide: str | None = None
    group: str | None = None
    adjacent: float = 0.0
    measures: float = 0.0
    events_per_window: int | None = None
    matstates: float | None = None

    def __post_init__(self) -> None:
        need_shares(nested=self.nested, adjacent=self.adjacent, measures=self.measures)
        need_shares(MOST_MATSTATES, matstates=self.matstates)
        if self.events_per_window is not None and self.events_per_window < 1:
            raise StrettoError(f"events_per_window must be at least 1, not {self.events_per_window}")
        option_us(self.window, "window", positive=True)
        if self.slide is not None:
            option_us(self.slide, "slide", positive=True)


def stream_rates(
    subject: MuseSubject, options: MuseOptions
) -> tuple[float | None, Mapping[str, float] | None]:
    """The rate that gives a window its number of events, and the rate of the repeated type that gives the MatStates."""
    rate = None
    if options.events_per_window is not None:
        rate = options.events_per_window * 1e6 / option_us(options.window, "window", positive=True)
    if options.matstates is None:
        return rate, None
    # Two neighbours are of another type and of the repeated one with the chance p (1 - p).
    others = (1.0 - sqrt(1.0 - 4.0 * options.matstates)) / 2.0
    whole = 10.0 if rate is None else rate
    return whole, {subject.repeated: whole * (1.0 - others)}


def muse_workload(subject: MuseSubject, queries: int, seed: int, options: MuseOptions) -> list[Written]:
    """The queries; the same seed gives the same ones, and a longer workload begins with a shorter one."""
    if options.group is not None and options.group not in subject.groups:
        raise StrettoError(f"unknown group `{options.group}`{instead_of(options.group, subject.groups)}")
    seen: dict[str, Written] = {}
    for number in range(queries):
        random = np.random.default_rng([seed, number])
        for _ in range(TRIES):
            one = _query(subject, random, options, number)
            key = " ".join([one.pattern, *one.where])
            if key not in seen:
                seen[key] = one
                break
        else:
            raise StrettoError(f"{queries} different queries are too many for {subject.stream}")
    return list(seen.values())


def _one_of(number: int, share: float, square: int) -> bool:
    """Whether a query belongs to a share of them; the shares of different squares are independent of each other."""
    return (number * sqrt(square)) % 1.0 < share


def _query(subject: MuseSubject, random: np.random.Generator, options: MuseOptions, number: int) -> Written:
    nested = _one_of(number, options.nested, 2)
    before, after = int(random.choice(len(BEFORE), p=BEFORE)), int(random.choice(len(AFTER), p=AFTER))
    if nested and not before and not after:
        before = 1  # a type alone has nothing to be repeated with
    chosen = [subject.others[i] for i in random.permutation(len(subject.others))[: before + after]]
    types = [*chosen[:before], subject.repeated, *chosen[before:]]
    atoms = [f"{name} {letter}" for name, letter in zip(types, LETTERS, strict=False)]
    atoms[before] += "+"
    again = LETTERS[before]
    term = f"{again}[i].{subject.attribute} {subject.goes} {again}[i-1].{subject.attribute}"
    returns = ["COUNT(*)"]
    if _one_of(number, options.measures, 5):
        function = str(random.choice(["SUM", "MIN", "MAX", "AVG"]))
        returns += [f"COUNT({again})", f"{function}({again}.{subject.attribute})"]
    return Written(
        _nested(atoms, before, random) if nested else _seq(atoms),
        options.window + (f" SLIDE {options.slide}" if options.slide else ""),
        (term,) if _one_of(number, options.adjacent, 3) else (),
        more=(f"GROUP BY {options.group or subject.groups[0]}", f"RETURN  {', '.join(returns)}"),
    )


def _seq(atoms: Sequence[str]) -> str:
    return atoms[0] if len(atoms) == 1 else f"SEQ({', '.join(atoms)})"


def _nested(atoms: Sequence[str], before: int, random: np.random.Generator) -> str:
    """The whole repeated, or what follows its first type, or both."""
    how = int(random.integers(0, 3)) if before > 1 else 0
    if how == 0:
        return _seq(atoms) + "+"
    inner = _seq(atoms[1 : before + 1]) + "+"
    outer = _seq([atoms[0], inner, *atoms[before + 1 :]])
    return outer + "+" if how == 1 else outer
