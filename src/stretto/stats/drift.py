"""Statistics of a stream as it runs, and whether they have left what a plan was made for.

Counts fade: what is `half_life` seconds old counts half, by the events' own time. A change is drastic where a figure
has become several times what it was, and where enough has been seen to say so (MCEP, sec. 2 and 6.2.3: plans are
calculated again when the statistics change drastically).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stretto.stats.profile import Stats

HALF_LIFE: Final = 60.0
THRESHOLD: Final = 2.0
SURE: Final = 3.0  # standard deviations by which a count must miss the expected one
ENOUGH: Final = 0.02  # types that are rarer than this share of all events, before and now, change no plan


@dataclass(frozen=True, slots=True)
class Drift:
    """A figure that changed drastically: a rate (`what` is a type) or a selectivity (an operator)."""

    what: str
    before: float
    now: float

    @property
    def factor(self) -> float:
        """How many times more or less, at least 1; infinite where one of the two is zero."""
        low, high = sorted((self.before, self.now))
        return high / low if low > 0.0 else float("inf")


@dataclass(slots=True)
class _Share:
    passed: float = 0.0
    total: float = 0.0


class Running:
    """Rates per type, and shares of rows that pass per operator, of the recent past."""

    def __init__(self, half_life: float = HALF_LIFE) -> None:
        self.half_life = half_life
        self.seconds = 0.0  # faded, as the counts are
        self._counts: dict[str, float] = {}
        self._shares: dict[str, _Share] = {}

    def push(self, counts: Mapping[str, int], seconds: float) -> None:
        """Count a batch: events per type in the stretch of time since the batch before."""
        seconds = max(seconds, 0.0)
        kept = 0.5 ** (seconds / self.half_life)
        # What came within the batch fades with it: on average by the mean of 2^-(age / half_life).
        own = (1.0 - kept) / (seconds / self.half_life * 0.6931471805599453) if seconds else 1.0
        self.seconds = self.seconds * kept + seconds * own
        for name in self._counts:
            self._counts[name] *= kept
        for name, count in counts.items():
            self._counts[name] = self._counts.get(name, 0.0) + count * own
        for share in self._shares.values():
            share.passed *= kept
            share.total *= kept

    def observe(self, what: str, passed: float, total: float) -> None:
        """Count what an operator let through of what it looked at, since the last `push`."""
        share = self._shares.setdefault(what, _Share())
        share.passed += passed
        share.total += total

    @property
    def rates(self) -> dict[str, float]:
        """Events per second by type."""
        return {name: count / self.seconds for name, count in self._counts.items()} if self.seconds else {}

    @property
    def selectivities(self) -> dict[str, float]:
        """The shares that operators let through, where they looked at anything."""
        return {name: s.passed / s.total for name, s in self._shares.items() if s.total > 0.0}

    def stats(self, known: "Stats") -> "Stats":
        """Known statistics with the rates of now; a type that does not come any more has the rate 0."""
        return known.with_rates({**dict.fromkeys(known.rates, 0.0), **self.rates}) if self.seconds else known

    def drifts(self, known: "Stats | Mapping[str, float]", threshold: float = THRESHOLD) -> list[Drift]:
        """The rates that have drastically left the known ones, the greatest changes first."""
        rates = known if isinstance(known, Mapping) else known.rates
        return drifted(rates, self.rates, threshold, self.seconds)

    def selectivity_drifts(self, known: Mapping[str, float], threshold: float = THRESHOLD) -> list[Drift]:
        """The same of selectivities, against those that a plan was made with."""
        found = []
        for what, share in self._shares.items():
            before = known.get(what)
            if before is None or share.total <= 0.0:
                continue
            drift = Drift(what, before, share.passed / share.total)
            deviation = sqrt(max(before * share.total, 1.0))
            if drift.factor >= threshold and abs(share.passed - before * share.total) > SURE * deviation:
                found.append(drift)
        return sorted(found, key=lambda drift: -drift.factor)


def drifted(
    old: Mapping[str, float], new: Mapping[str, float], threshold: float = THRESHOLD, seconds: float = 1e9
) -> list[Drift]:
    """The rates that differ by at least this factor, the greatest changes first.

    `seconds` is for how long the new ones were counted: a change that chance explains is none. Types that are rare
    before and now are left out.
    """
    least = ENOUGH * max(sum(old.values()), sum(new.values()))
    found = []
    for name in {**old, **new}:
        before, now = old.get(name, 0.0), new.get(name, 0.0)
        if max(before, now) < least:
            continue
        drift = Drift(name, before, now)
        deviation = sqrt(max(before * seconds, 1.0))
        if drift.factor >= threshold and abs(now - before) * seconds > SURE * deviation:
            found.append(drift)
    return sorted(found, key=lambda drift: (-drift.factor, drift.what))
