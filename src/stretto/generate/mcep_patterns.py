"""Draws the patterns of MCEP's workloads: motifs, what is put around them, and the limits they keep to."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import combinations, permutations
from math import exp, log
from random import Random
from typing import Final

from stretto.errors import StrettoError
from stretto.generate.arrivals import F64, HIGHEST, LOWEST
from stretto.records import dataclass

TRIES: Final = 50
DRAWS: Final = 12
MOTIFS: Final = 6
NEAR: Final = 3.0
"""A pattern with three times too many matches, or three times as many partial ones as wished, is taken at once."""
SECOND: Final = 0.5
"""How often a pattern that has room for a second motif gets one."""
DERIVED: Final = 0.4
"""How often a motif is another one with one type exchanged."""
SELDOM: Final = 0.02
"""A motif's comparison holds for at most this share of pairs, where such types are found."""
RARER: Final = 0.75
"""How often a further comparison is written in the direction that holds more seldom."""
RARE: Final = 2.5
"""The most events per second of a type with a Kleene: n events have 2**n subsets."""

Comparison = tuple[int, int]
"""Two types; the first one's change is less than the second one's."""


@dataclass(frozen=True, slots=True)
class Motif:
    """Types in the order of a SEQ, and the comparison between two of them."""

    types: tuple[int, ...]
    comparison: Comparison

    def within(self, size: int) -> "Motif":
        """The motif; if it is too large, only its two types that are compared."""
        if len(self.types) <= size:
            return self
        return Motif(tuple(t for t in self.types if t in self.comparison), self.comparison)


@dataclass(frozen=True, slots=True)
class McepPattern:
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
class PatternFrame:
    """What is known of a pattern before its types are drawn: how many of what."""

    operator: str
    size: int
    comparisons: int
    mark: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What patterns should keep to: rates that differ by at most `apart`, and within a window of `seconds` at most
    `matches` matches and about `partial` partial matches per second.
    """

    apart: float
    seconds: float
    matches: float
    partial: float


class TooFewError(StrettoError):
    """There are fewer different patterns than were asked for."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Draws motifs and patterns; the same seed gives the same motifs, however many of them are used."""

    rates: list[float]
    chances: list[list[float]]
    ordered: list[int]
    seed: int
    largest: int
    limits: Limits
    drawing: Random
    pool: list[Motif] = field(default_factory=list)

    @classmethod
    def of(cls, rates: Sequence[float], chances: F64, seed: int, largest: int, limits: Limits) -> "Maker":
        """StrettoError where no pattern of the largest size keeps to the limit of rates."""
        ordered = sorted(range(len(rates)), key=rates.__getitem__)
        steps = [rates[number] for number in ordered]
        together = max(bisect_right(steps, rate + limits.apart) - at for at, rate in enumerate(steps))
        if together < largest:
            raise StrettoError(
                f"patterns of up to {largest} types need as many whose rates differ by at most "
                f"{limits.apart:.3g} events per second; at most {together} do (of {len(rates)} types)"
            )
        return cls(list(rates), chances.tolist(), ordered, seed, largest, limits, _random(seed, "motifs"))

    def patterns(
        self, frames: Sequence[PatternFrame], spread: float, draws: int = DRAWS
    ) -> list[McepPattern]:
        """As many different patterns as frames; TooFewError where they are not found.

        The n-th motif is used in proportion to (1 - 1 / spread) ** n: about `spread` of them are in use. Each pattern
        is the best of `draws` draws.
        """
        random = _random(self.seed, "patterns")
        seen: set[object] = set()
        made: list[McepPattern] = []
        for frame in frames:
            pattern = self._new(random, frame, spread, seen, draws)
            if pattern is None and frame.mark == "+" and frame.size > 2:
                pattern = self._new(random, replace(frame, mark="NOT"), spread, seen, draws)
            if pattern is None:
                raise TooFewError(
                    f"only {len(made)} different patterns of {len(frames)} could be found: "
                    "ask for fewer, longer ones, more types or a greater rate difference"
                )
            seen.add(_key(pattern))
            made.append(pattern)
        return made

    def _new(
        self, random: Random, frame: PatternFrame, spread: float, seen: set[object], draws: int
    ) -> McepPattern | None:
        """A new pattern: the one nearest to the limits, of `draws` draws for each of some motifs.

        Where all patterns of the popular motifs exist already, as can happen with two types, it gets its own motif.
        """
        best, least = None, float("inf")
        for tried in range(TRIES):
            if least <= NEAR or (best is not None and tried >= MOTIFS):
                break
            motif = self._motif(random, spread) if tried < TRIES // 2 else self._fresh(random)
            if motif is None:
                continue
            motif = motif.within(frame.size)
            for _ in range(draws):
                pattern = self._pattern(random, frame, motif, spread)
                if pattern is None or _key(pattern) in seen:
                    continue
                distance = self._distance(pattern)
                if distance < least:
                    best, least = pattern, distance
                if least <= NEAR:
                    break
        return best

    def _motif(self, random: Random, spread: float) -> Motif:
        """One of the pool, which grows as it is used."""
        number = int(log(1.0 - random.random()) / log(1.0 - 1.0 / spread)) if spread > 1.0 else 0
        failed = 0
        while len(self.pool) <= number:
            derived = self.pool and self.drawing.random() < DERIVED
            motif = self._derived() if derived else self._fresh(self.drawing)
            if motif is not None:
                self.pool.append(motif)
            elif (failed := failed + 1) > 100 * (TRIES + number):
                raise StrettoError("too few types are near enough in rate: ask for a greater rate difference")
        return self.pool[number]

    def _fresh(self, random: Random) -> Motif | None:
        """Two or three types near in rate, and the comparison of two that holds most seldom."""
        size = random.randint(2, 3)
        near_by = self._within(random, [random.randrange(len(self.rates))])
        if len(near_by) < self.largest:
            return None
        found: list[Motif] = []
        for _ in range(DRAWS):
            types = random.sample(near_by, size)
            comparison = min(permutations(types, 2), key=self._holds)
            found.append(Motif(tuple(types), comparison))
            if self._holds(comparison) <= SELDOM:
                return found[-1]
        return found[0]

    def _holds(self, comparison: Comparison) -> float:
        return self.chances[comparison[0]][comparison[1]]

    def _derived(self) -> Motif | None:
        """Another motif with one more type, or with the one exchanged that it does not compare."""
        random = self.drawing
        known = random.choice(self.pool)
        near_by = self._within(random, known.types)
        others = [t for t in random.sample(near_by, min(4, len(near_by))) if t not in known.types]
        if not others:
            return None
        if len(known.types) == 2:
            at = random.randint(0, 2)
            return Motif((*known.types[:at], others[0], *known.types[at:]), known.comparison)
        types = tuple(t if t in known.comparison else others[0] for t in known.types)
        return Motif(types, known.comparison)

    def _within(self, random: Random, types: Sequence[int]) -> list[int]:
        """Types whose rates lie in one stretch of the allowed length with those of the given ones."""
        apart = self.limits.apart
        if apart >= HIGHEST - LOWEST:
            return self.ordered
        rates = [self.rates[t] for t in types]
        start = random.uniform(max(rates) - apart, min(rates))
        low = bisect_left(self.ordered, start, key=self.rates.__getitem__)
        high = bisect_right(self.ordered, start + apart, key=self.rates.__getitem__)
        return self.ordered[low:high]

    def _pattern(
        self, random: Random, frame: PatternFrame, motif: Motif, spread: float
    ) -> McepPattern | None:
        """A pattern around a motif, and perhaps another one; None where the draw does not work out."""
        near_by = self._within(random, motif.types)
        motifs = [motif]
        if random.random() < SECOND and frame.comparisons > 1:
            other = self._motif(random, spread)
            fits = len(motif.types) + len(other.types) <= frame.size
            if fits and not set(motif.types) & set(other.types) and set(other.types) <= set(near_by):
                motifs.append(other)
        taken = [t for m in motifs for t in m.types]
        more = frame.size - len(taken)
        drawn = random.sample(near_by, min(frame.size, len(near_by)))
        fillers = [t for t in drawn if t not in taken][:more]
        if len(fillers) < more:
            return None
        if frame.mark == "+" and fillers:
            rare = [t for t in near_by if self.rates[t] <= RARE and t not in taken and t not in fillers]
            fillers[:1] = [random.choice(rare)] if rare else fillers[:1]
        types = _woven(random, [*(m.types for m in motifs), *((t,) for t in fillers)])
        comparisons = self._comparisons(random, types, motifs, frame.comparisons)
        if comparisons is None:
            return None
        return self._marked(random, McepPattern(frame.operator, types, comparisons), frame.mark, fillers)

    def _distance(self, pattern: McepPattern) -> float:
        """The factor of too many matches, times the factor of too many or too few partial matches.

        Comparisons with a type in common are taken to hold together, others independently.
        """
        negated = pattern.unusual if pattern.mark == "NOT" else -1
        bound = [t for t in pattern.types if t != negated]
        found, most, volume = 0.0, 0.0, 1.0
        for count, last in enumerate(bound, start=1):
            volume *= self.rates[last] * self.limits.seconds
            volume /= count if pattern.operator == "SEQ" else 1
            if count > 1:
                found = count * volume / self.limits.seconds * self._chance(pattern, bound[:count])
                most = max(most, found)
        if pattern.mark == "+":
            found *= exp(min(self.rates[pattern.unusual] * self.limits.seconds, 50.0))
        partial = self.limits.partial
        return max(found / self.limits.matches, 1.0) * max(most / partial, partial / most)

    def _chance(self, pattern: McepPattern, bound: Sequence[int]) -> float:
        """How probable it is that the comparisons between some types hold."""
        chance = 1.0
        for linked in _linked([c for c in pattern.comparisons if c[0] in bound and c[1] in bound]):
            chance *= min(map(self._holds, linked))
        return chance

    def _comparisons(
        self, random: Random, types: Sequence[int], motifs: Sequence[Motif], count: int
    ) -> tuple[Comparison, ...] | None:
        """The motifs' comparisons and more, none of them inside a motif, and no circle: nothing could satisfy one."""
        found = [motif.comparison for motif in motifs][:count]
        pairs = list(combinations(types, 2))
        random.shuffle(pairs)
        for first, second in pairs:
            if len(found) == count:
                break
            if any(first in motif.types and second in motif.types for motif in motifs):
                continue
            likelier = self.chances[first][second] > self.chances[second][first]
            one = (second, first) if likelier == (random.random() < RARER) else (first, second)
            if not _reaches(found, one[1], one[0]):
                found.append(one)
        return tuple(found) if len(found) == count else None

    def _marked(
        self, random: Random, plain: McepPattern, mark: str, fillers: Sequence[int]
    ) -> McepPattern | None:
        """The pattern with a NOT or a Kleene on one type, if possible one that belongs to no motif.

        None where a Kleene finds no rare type. A NOT stands inside, not at an end.
        """
        if not mark:
            return plain
        types = list(plain.types)
        some = fillers or types
        if mark == "+":
            unusual = min(some, key=self.rates.__getitem__)
            if self.rates[unusual] > RARE:
                return None
        else:
            unusual = random.choice(some)
            types.remove(unusual)
            types.insert(random.randint(1, len(types) - 1), unusual)
        return McepPattern(plain.operator, tuple(types), plain.comparisons, mark, unusual)


def _random(seed: int, purpose: str) -> Random:
    return Random(f"{purpose} {seed}")  # noqa: S311 - a workload is no secret


def _woven(random: Random, strands: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """The strands' types in a random order that keeps each strand's own."""
    left = [list(strand) for strand in strands]
    which = [number for number, strand in enumerate(left) for _ in strand]
    random.shuffle(which)
    return tuple(left[number].pop(0) for number in which)


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


def _key(pattern: McepPattern) -> object:
    types = pattern.types if pattern.operator == "SEQ" else tuple(sorted(pattern.types))
    return pattern.operator, types, frozenset(pattern.comparisons), pattern.mark, pattern.unusual
