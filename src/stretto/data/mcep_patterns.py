"""Drawing the patterns of MCEP's workloads: motifs, what is put around them, and what is too much."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Final

import numpy as np

from stretto.data.sources import F64, HIGHEST, I64, LOWEST
from stretto.errors import StrettoError

TRIES: Final = 50
DRAWS: Final = 10
SECOND: Final = 0.5
"""How often a pattern that has room for a second motif gets one."""
DERIVED: Final = 0.4
"""How often a motif is another one with one type exchanged."""
SELDOM: Final = 0.02
"""A motif's comparison holds for at most this share of pairs, where such types are found."""
RARER: Final = 0.75
"""How often a further comparison is written in the direction that holds more seldom."""
RARE: Final = 2.5
"""A Kleene is on a type with at most so many events per second: n events have 2**n subsets."""

Comparison = tuple[int, int]
"""Two types; the first one's change is less than the second one's."""


@dataclass(frozen=True, slots=True)
class Motif:
    """Types in the order of a SEQ, and the comparison between two of them."""

    types: tuple[int, ...]
    comparison: Comparison

    def within(self, size: int) -> "Motif":
        """The motif, or where it is too large its two types that are compared."""
        if len(self.types) <= size:
            return self
        return Motif(tuple(t for t in self.types if t in self.comparison), self.comparison)


@dataclass(frozen=True, slots=True)
class Pattern:
    """`types` in the order of the text; `unusual` is the type under NOT or Kleene, `mark` says which."""

    operator: str
    types: tuple[int, ...]
    comparisons: tuple[Comparison, ...]
    mark: str = ""
    unusual: int = -1

    def pairs(self) -> set[tuple[object, ...]]:
        """Every pair of its types that a match binds, with all that it says about the two and nothing else."""
        found: set[tuple[object, ...]] = set()
        bound = [t for t in self.types if self.mark != "NOT" or t != self.unusual]
        for i, first in enumerate(bound):
            for second in bound[i + 1 :]:
                pair = (first, second) if self.operator == "SEQ" or first < second else (second, first)
                between = frozenset(c for c in self.comparisons if set(c) == set(pair))
                repeated = self.unusual if self.mark == "+" and self.unusual in pair else -1
                found.add((self.operator, *pair, between, repeated))
        return found


@dataclass(frozen=True, slots=True)
class Frame:
    """What is settled about a pattern before its types are: how many of what."""

    operator: str
    size: int
    comparisons: int
    mark: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What patterns should keep to: rates that differ by at most `apart`, and per second at most so many matches and
    partial matches within a window of so many seconds.
    """

    apart: float
    seconds: float
    matches: float
    partial: float


class TooFewError(StrettoError):
    """There are not as many different patterns."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Draws motifs and patterns; the same seed gives the same motifs, however many of them are used."""

    rates: F64
    chances: F64
    seed: int
    largest: int
    limits: Limits
    drawing: np.random.Generator
    pool: list[Motif] = field(default_factory=list)

    @classmethod
    def of(cls, rates: F64, chances: F64, seed: int, largest: int, limits: Limits) -> "Maker":
        """StrettoError where no pattern of the largest size keeps to the limit of rates."""
        ordered = np.sort(rates)
        together = np.searchsorted(ordered, ordered + limits.apart, side="right") - np.arange(len(ordered))
        if together.max() < largest:
            raise StrettoError(
                f"patterns of up to {largest} types need as many whose rates differ by at most "
                f"{limits.apart:.3g} events per second; at most {together.max()} do (of {len(rates)} types)"
            )
        return cls(rates, chances, seed, largest, limits, np.random.default_rng([seed, 2]))

    def patterns(self, frames: Sequence[Frame], spread: float) -> list[Pattern]:
        """As many different patterns as frames; TooFewError where they are not found.

        The n-th motif is used in proportion to (1 - 1 / spread) ** n: about `spread` of them are in use.
        """
        random = np.random.default_rng([self.seed, 3])
        seen: set[object] = set()
        made: list[Pattern] = []
        for frame in frames:
            pattern = self._new(random, frame, spread, seen)
            if pattern is None:
                raise TooFewError(
                    f"only {len(made)} different patterns of {len(frames)} could be found: "
                    "ask for fewer, longer ones, more types or a greater rate difference"
                )
            seen.add(_key(pattern))
            made.append(pattern)
        return made

    def _new(
        self, random: np.random.Generator, frame: Frame, spread: float, seen: set[object]
    ) -> Pattern | None:
        """A pattern that is not there yet: of some with one motif the first within limits, or the nearest to them."""
        for _ in range(TRIES):
            motif = self._motif(random, spread).within(frame.size)
            best, least = None, float("inf")
            for _ in range(DRAWS):
                pattern = self._pattern(random, frame, motif, spread)
                if pattern is None or _key(pattern) in seen:
                    continue
                excess = self._excess(pattern)
                if excess < least:
                    best, least = pattern, excess
                if least <= 1.0:
                    break
            if best is not None:
                return best
        return None

    def _motif(self, random: np.random.Generator, spread: float) -> Motif:
        """One of the pool, which grows as it is used."""
        number = int(random.geometric(1.0 / spread)) - 1
        failed = 0
        while len(self.pool) <= number:
            motif = self._derived() if self.pool and self.drawing.random() < DERIVED else self._fresh()
            if motif is not None:
                self.pool.append(motif)
            elif (failed := failed + 1) > 100 * (TRIES + number):
                raise StrettoError("too few types are near enough in rate: ask for a greater rate difference")
        return self.pool[number]

    def _fresh(self) -> Motif | None:
        random = self.drawing
        size = int(random.integers(2, 4))
        near_by = self._within(random, random.integers(len(self.rates), size=1))
        if len(near_by) < max(size, self.largest):
            return None
        draws = (random.choice(near_by, size, replace=False) for _ in range(DRAWS))
        found = [Motif(tuple(map(int, types)), self._seldom(types)) for types in draws]
        return next((m for m in found if self.chances[m.comparison] <= SELDOM), found[0])

    def _seldom(self, types: I64) -> Comparison:
        """The comparison of two of the types that holds most seldom."""
        some = self.chances[np.ix_(types, types)] + np.eye(len(types))
        first, second = divmod(int(some.argmin()), len(types))
        return int(types[first]), int(types[second])

    def _derived(self) -> Motif | None:
        """Another motif with one more type, or with the one exchanged that it does not compare."""
        random = self.drawing
        known = self.pool[int(random.integers(len(self.pool)))]
        near_by = _without(self._within(random, np.array(known.types)), known.types)
        if not len(near_by):
            return None
        other = int(random.choice(near_by))
        if len(known.types) == 2:
            at = int(random.integers(3))
            return Motif((*known.types[:at], other, *known.types[at:]), known.comparison)
        types = tuple(t if t in known.comparison else other for t in known.types)
        return Motif(types, known.comparison)

    def _within(self, random: np.random.Generator, types: I64) -> I64:
        """Types whose rates lie in one stretch of the allowed length with those of the given ones."""
        lowest, highest = self.rates[types].min(), self.rates[types].max()
        start = (
            random.uniform(highest - self.limits.apart, lowest)
            if self.limits.apart < HIGHEST - LOWEST
            else LOWEST
        )
        found: I64 = np.flatnonzero((self.rates >= start) & (self.rates <= start + self.limits.apart))
        return found

    def _pattern(
        self, random: np.random.Generator, frame: Frame, motif: Motif, spread: float
    ) -> Pattern | None:
        """A pattern around a motif, and perhaps another one; None where the draw does not work out."""
        near_by = self._within(random, np.array(motif.types))
        motifs = [motif]
        if random.random() < SECOND:
            other = self._motif(random, spread)
            fits = len(motif.types) + len(other.types) <= frame.size and frame.comparisons > 1
            if fits and not set(motif.types) & set(other.types) and np.isin(other.types, near_by).all():
                motifs.append(other)
        taken = [t for m in motifs for t in m.types]
        free = _without(near_by, taken)
        more = frame.size - len(taken)
        if len(free) < more:
            return None
        fillers = [int(t) for t in random.choice(free, more, replace=False)]
        if frame.mark == "+" and fillers:
            rare = _without(free[self.rates[free] <= RARE], fillers)
            fillers[:1] = [int(random.choice(rare))] if len(rare) else fillers[:1]
        types = _woven(random, [*(m.types for m in motifs), *((t,) for t in fillers)])
        comparisons = self._comparisons(random, types, motifs, frame.comparisons)
        if comparisons is None:
            return None
        return self._marked(random, Pattern(frame.operator, types, comparisons), frame.mark, fillers)

    def _excess(self, pattern: Pattern) -> float:
        """How many times the allowed matches, or the allowed partial matches in the order of the text, it may make.

        Comparisons with a type in common are taken to hold together, others independently.
        """
        negated = pattern.unusual if pattern.mark == "NOT" else -1
        bound = [t for t in pattern.types if t != negated]
        found, most, volume = 0.0, 0.0, 1.0
        for count, last in enumerate(bound, start=1):
            volume *= float(self.rates[last]) * self.limits.seconds
            volume /= count if pattern.operator == "SEQ" else 1
            if count > 1:
                found = count * volume / self.limits.seconds * self._chance(pattern, bound[:count])
                most = max(most, found)
        if pattern.mark == "+":
            found *= exp(min(float(self.rates[pattern.unusual]) * self.limits.seconds, 50.0))
        return max(found / self.limits.matches, most / self.limits.partial)

    def _chance(self, pattern: Pattern, bound: Sequence[int]) -> float:
        """How probable it is that the comparisons between some types hold."""
        chance = 1.0
        for linked in _linked([c for c in pattern.comparisons if c[0] in bound and c[1] in bound]):
            chance *= min(float(self.chances[comparison]) for comparison in linked)
        return chance

    def _comparisons(
        self, random: np.random.Generator, types: tuple[int, ...], motifs: Sequence[Motif], count: int
    ) -> tuple[Comparison, ...] | None:
        """The motifs' comparisons and more, none of them inside a motif; no circle, which nothing could satisfy."""
        found = [motif.comparison for motif in motifs][:count]
        inside = [set(motif.types) for motif in motifs]
        pairs = [
            (first, second)
            for i, first in enumerate(types)
            for second in types[i + 1 :]
            if not any({first, second} <= motif for motif in inside)
        ]
        for k in random.permutation(len(pairs)):
            if len(found) == count:
                break
            first, second = pairs[k]
            swap = self.chances[first, second] > self.chances[second, first]
            if swap == (random.random() < RARER):
                first, second = second, first
            if not _reaches(found, second, first):
                found.append((first, second))
        return tuple(found) if len(found) == count else None

    def _marked(
        self, random: np.random.Generator, plain: Pattern, mark: str, fillers: Sequence[int]
    ) -> Pattern:
        """The pattern with a NOT or a Kleene on one type, if possible one that belongs to no motif.

        A Kleene needs a rare type, and is a NOT where there is none. A NOT stands inside, not at an end.
        """
        if not mark:
            return plain
        types = list(plain.types)
        some = fillers or types
        unusual = min(some, key=self.rates.__getitem__)
        if mark == "NOT" or (self.rates[unusual] > RARE and len(types) > 2):
            mark, unusual = "NOT", int(random.choice(some))
            types.remove(unusual)
            types.insert(int(random.integers(1, len(types))), unusual)
        return Pattern(plain.operator, tuple(types), plain.comparisons, mark, unusual)


def _without(types: I64, others: Sequence[int]) -> I64:
    kept: I64 = types[~(types[:, None] == np.array(others)[None, :]).any(axis=1)]
    return kept


def _woven(random: np.random.Generator, strands: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """The strands' types in a random order that keeps each strand's own."""
    left = [list(strand) for strand in strands]
    which = random.permutation(np.repeat(np.arange(len(left)), [len(strand) for strand in left]))
    return tuple(left[strand].pop(0) for strand in which)


def _linked(comparisons: Sequence[Comparison]) -> list[list[Comparison]]:
    """The comparisons in groups that have no type in common."""
    groups: list[list[Comparison]] = []
    for one in comparisons:
        touching = [group for group in groups if any(set(one) & set(other) for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([one, *(other for group in touching for other in group)])
    return groups


def _reaches(comparisons: Sequence[Comparison], start: int, end: int) -> bool:
    """Whether it follows that `start` is less than `end`."""
    reached, left = {start}, [start]
    while left:
        here = left.pop()
        further = {second for first, second in comparisons if first == here} - reached
        reached |= further
        left += further
    return end in reached


def _key(pattern: Pattern) -> object:
    types = pattern.types if pattern.operator == "SEQ" else tuple(sorted(pattern.types))
    return pattern.operator, types, frozenset(pattern.comparisons), pattern.mark, pattern.unusual
