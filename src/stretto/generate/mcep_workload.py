"""MCEP's workloads (sec. 6.1 and appendix D): patterns that compare changes of stocks or of traffic.

A pattern is a SEQ or an AND of several types; half as many comparisons as it has types relate two of them each; one
pattern in five has a NOT or a Kleene on one type. Patterns share **motifs**, two or three types with their order and
a comparison between two of them that seldom holds, as people who watch one market agree on what is unusual.
Some are more popular than others; the more so, the denser the multi-pattern graph.
"""

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Final

import numpy as np

from stretto.errors import StrettoError, instead_of
from stretto.generate import market, traffic
from stretto.generate.arrivals import F64, HIGHEST, LOWEST, Sources
from stretto.generate.mcep_patterns import DRAWS, Limits, Maker, McepPattern, PatternFrame, TooFewError
from stretto.generate.workload_text import LETTERS, Written, need_shares
from stretto.records import dataclass
from stretto.text.parser import parse
from stretto.text.syntax import Query

MEASURED: Final = 400
"""Patterns on which the density is measured while the spread of the motifs is sought."""
HALVINGS: Final = 6
CORRECTIONS: Final = 4
FEW: Final = 3  # draws, while the spread is sought
OPERATORS: Final[Mapping[str, tuple[str, ...]]] = {"mixed": ("SEQ", "AND"), "seq": ("SEQ",), "and": ("AND",)}
FAR: Final = 0.05
"""How far the density may be from the one that was asked for."""


@dataclass(frozen=True, slots=True)
class McepSubject:
    """What the patterns are about: types with rates, how probable comparisons are, and how they are written."""

    sources: Callable[[int | None], Sources]
    chances: Callable[[int | None], F64]
    attributes: tuple[str, ...]
    shortest: int


STOCKS: Final = McepSubject(market.symbols, market.chances, ("diff",), 2)
TRAFFIC: Final = McepSubject(traffic.points, traffic.chances, ("speed_diff", "vehicles_diff"), 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class McepOptions:
    """`length`: types per pattern on average, from one less to one more. `window`: a duration, or `500 EVENTS`.

    `types`: how many the stream has; None as in the stream. `density`: the mean share of the other patterns with which
    a pattern has two or more types in common, in the same order and with the same comparisons (a single common type is
    not counted: every plan shares its scan). `rate_difference`: the most by which rates of a pattern's types may
    differ; 1 is the most there is. Of several draws, the one is taken that comes nearest to at most `matches` matches
    and about `partial` partial matches per second, in the order of its text. `unusual`: the share of patterns with a
    NOT or a Kleene.
    """

    length: int = 5
    window: str = "2 SECONDS"
    types: int | None = None
    density: float = 0.1
    rate_difference: float = 1.0
    operator: str = "mixed"
    matches: float = 30.0
    partial: float = 100_000.0
    unusual: float = 0.2

    def __post_init__(self) -> None:
        if not 2 <= self.length <= 12:
            raise StrettoError(f"patterns have 2 to 12 types on average, not {self.length}")
        for name in ("density", "rate_difference"):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise StrettoError(f"{name} must be above 0 and at most 1, not {getattr(self, name)}")
        for name in ("matches", "partial"):
            if not getattr(self, name) > 0.0:
                raise StrettoError(f"{name} must be above 0, not {getattr(self, name)}")
        need_shares(unusual=self.unusual)
        if self.types is not None and self.types < 1:
            raise StrettoError(f"types must be at least 1, not {self.types}")
        if self.operator not in OPERATORS:
            raise StrettoError(f"unknown operator `{self.operator}`{instead_of(self.operator, OPERATORS)}")
        self.seconds(1.0)

    def seconds(self, rate: float) -> float:
        """The length of the window in seconds, for a stream with this rate."""
        try:
            (query,) = parse(f"QUERY q PATTERN A a WITHIN {self.window};")
        except StrettoError:
            raise StrettoError(
                f"the window `{self.window}` is neither a duration nor a number of events "
                "(write `500 MILLISECONDS` or `1000 EVENTS`)"
            ) from None
        assert isinstance(query, Query)
        return query.within.size / (1e6 if query.within.unit == "us" else rate)


def mcep_workload(
    subject: McepSubject, queries: int, seed: int, options: McepOptions
) -> tuple[list[Written], float]:
    """The queries, and the density of their graph."""
    made = patterns(subject, queries, seed, options)
    names = subject.sources(options.types).names
    return [_written(p, names, subject, options.window) for p in made], density(made)


def patterns(subject: McepSubject, queries: int, seed: int, options: McepOptions) -> list[McepPattern]:
    """Patterns of which no two are equal, with motifs spread so that the density is the one that is asked for."""
    frames = _frames(subject, queries, np.random.default_rng([seed, 1]), options)
    sources = subject.sources(options.types)
    apart = options.rate_difference * (HIGHEST - LOWEST)
    limits = Limits(apart, options.seconds(sources.total), options.matches, options.partial)
    chances, largest = subject.chances(options.types), max(frame.size for frame in frames)
    maker = Maker.of(sources.rates, chances, seed, largest, limits)
    if queries < 3:
        return maker.patterns(frames, float(queries))
    return maker.patterns(frames, _spread(maker, frames[:MEASURED], options.density))


def density(made: Sequence[McepPattern]) -> float:
    """The mean share of a pattern's neighbours among the other patterns."""
    if len(made) < 2:
        return 0.0
    by_pair: dict[object, list[int]] = {}
    for number, pattern in enumerate(made):
        for pair in pattern.pairs():
            by_pair.setdefault(pair, []).append(number)
    neighbours = np.zeros((len(made), len(made)), np.bool_)
    for numbers in by_pair.values():
        neighbours[np.ix_(numbers, numbers)] = True
    return float((neighbours.sum() - neighbours.trace()) / (len(made) * (len(made) - 1)))


def _spread(maker: Maker, frames: Sequence[PatternFrame], wanted: float) -> float:
    """The spread of the motifs that comes nearest to a density; more spread, less density."""

    def reached(spread: float, draws: int) -> float:
        try:
            return density(maker.patterns(frames, spread, draws))
        except TooFewError:
            return float("inf")

    low, high = 1.0 + 1e-9, 4.0 * len(frames)
    for _ in range(HALVINGS):
        middle = sqrt(low * high)
        low, high = (middle, high) if reached(middle, FEW) > wanted else (low, middle)
    spread, tried = sqrt(low * high), dict[float, float]()
    for _ in range(CORRECTIONS):  # careful draws have other densities than quick ones
        tried[spread] = reached(spread, DRAWS)
        spread = max(spread * min(tried[spread] / wanted, 2.0), 1.0 + 1e-9)
    found = min(tried, key=lambda spread: abs(tried[spread] - wanted))
    if abs(tried[found] - wanted) > max(FAR, 2 * FAR * wanted, 2 / len(frames)):
        raise StrettoError(
            f"a density of {wanted:g} is out of reach: the nearest is {tried[found]:.2f} "
            "(more is possible with one operator and longer patterns, less with more types)"
        )
    return found


def _frames(
    subject: McepSubject, queries: int, random: np.random.Generator, options: McepOptions
) -> list[PatternFrame]:
    """Sizes, operators, numbers of comparisons and marks, each in its exact proportion and in random order."""
    shortest = max(2, subject.shortest)
    if options.length < shortest:
        raise StrettoError(f"these patterns have at least {shortest} types, not {options.length}")
    spread = 0 if options.length == shortest else queries // 4
    sizes = np.full(queries, options.length)
    sizes[:spread] += 1
    sizes[spread : 2 * spread] -= 1
    sizes = random.permutation(sizes)
    odd = np.cumsum(sizes % 2) % 2  # every other odd size is rounded up
    names = OPERATORS[options.operator]
    operators = random.permutation(np.arange(queries) % len(names))
    marks = np.zeros(queries, np.int64)
    unusual = round(options.unusual * queries)
    marks[:unusual] = 1 + np.arange(unusual) % 2
    marks = random.permutation(marks)
    marks[(sizes == 2) & (marks == 1)] = 2  # a NOT needs a type on either side
    return [
        PatternFrame(names[operator], int(size), int(size // 2 + (size % 2) * up), ("", "NOT", "+")[mark])
        for operator, size, up, mark in zip(operators, sizes, odd, marks, strict=True)
    ]


def _written(pattern: McepPattern, names: Sequence[str], subject: McepSubject, window: str) -> Written:
    letters = dict(zip(pattern.types, LETTERS, strict=False))
    parts = []
    for number, letter in letters.items():
        part = f"{names[number]} {letter}"
        if number == pattern.unusual:
            part = f"NOT({part})" if pattern.mark == "NOT" else f"{part}+"
        parts.append(part)
    where = tuple(
        f"{letters[less]}.{attribute} < {letters[more]}.{attribute}"
        for less, more in pattern.comparisons
        for attribute in subject.attributes
    )
    return Written(f"{pattern.operator}({', '.join(parts)})", window, where)
