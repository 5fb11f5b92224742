"""How unevenly the values of an attribute are spread, and what that says of equalities."""

from collections.abc import Sequence
from dataclasses import asdict
from math import inf, isinf
from typing import Any, Final, Self

import numpy as np

from stretto.records import dataclass
from stretto.stats.sample import NULL, Sample
from stretto.values.rows import I64

HEAVY: Final = 32  # values whose shares are kept one by one
SEEN: Final = 3  # a value seen less often than this has no share of its own


@dataclass(frozen=True, slots=True)
class Skew:
    """Shares of the heaviest values, and the rest as if it were `effective` equally likely ones.

    `distinct` counts the values seen. `sum_of_squares` is the chance that two events agree. Shares are of all
    events: where some are null they do not add up to one.
    """

    distinct: int
    sum_of_squares: float
    heaviest: float
    heavy: tuple[tuple[Any, float], ...]
    rest: float
    effective: float

    @property
    def present(self) -> float:
        """The share of events that are not null."""
        return self.rest + sum(share for _, share in self.heavy)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "heavy": [[_in_json(value), share] for value, share in self.heavy]}

    @classmethod
    def from_json(cls, read: dict[str, Any]) -> Self:
        return cls(
            int(figure(read["distinct"])),
            figure(read["sum_of_squares"]),
            figure(read["heaviest"]),
            tuple((_plain(heavy[0]), figure(heavy[1])) for heavy in read["heavy"]),
            figure(read["rest"]),
            figure(read["effective"]),
        )


def name_of(read: Any) -> str:
    """Return a name of a file of statistics; raise ValueError where it is no text."""
    if not isinstance(read, str):
        raise ValueError(f"{read!r} stands where a name is due")  # noqa: TRY004 - what is wrong is the file
    return read


def _plain(read: Any) -> Any:
    """Return a value of an attribute; raise ValueError for a list or an object."""
    if isinstance(read, list | dict):
        raise ValueError(f"{read!r} stands where a value is due")  # noqa: TRY004 - what is wrong is the file
    return read


def figure(read: Any) -> float:
    """A number of a file of statistics; ValueError where it is none that was ever measured."""
    number = float(read) if isinstance(read, int | float) else -1.0
    if not 0.0 <= number < inf:
        raise ValueError(f"{read!r} stands where a number of at least 0 is due")
    return number


def _in_json(value: Any) -> Any:
    """JSON has no infinities; as texts they are still themselves."""
    return str(value) if isinstance(value, float) and isinf(value) else value


UNKNOWN: Final = Skew(10, 0.1, 0.1, (), 1.0, 10.0)
"""What is assumed of values that nobody has seen: two of them agree once in ten times."""


def skew_of(sample: Sample, attribute: str, positions: I64) -> Skew | None:
    """The skew of an attribute over some events; None without a value."""
    codes = sample.codes(attribute, attribute)[0][positions]
    total = len(codes)
    codes, first, counts = np.unique(codes, return_index=True, return_counts=True)
    known = codes != NULL
    first, counts = first[known], counts[known]
    if not len(counts):
        return None
    order = np.argsort(-counts, kind="stable")
    top = order[:HEAVY]
    top = top[counts[top] >= SEEN]
    values = sample.values(attribute, positions[first[top]]).data.tolist()
    heavy = tuple(
        (sample.text(attribute, value), count / total)
        for value, count in zip(values, counts[top].tolist(), strict=True)
    )
    others = counts[order[len(top) :]]
    rest = float(others.sum()) / total
    return Skew(
        len(counts),
        _agreement(counts, total),
        float(counts.max()) / total,
        heavy,
        rest,
        _effective(others, total),
    )


def _agreement(counts: I64, total: int) -> float:
    """The chance that two different events agree: pairs that do, of all pairs."""
    if total < 2:
        return 1.0
    return float((counts * (counts - 1.0)).sum()) / (total * (total - 1.0))


def _effective(counts: I64, total: int) -> float:
    """How many equally likely values would agree as often as these do."""
    number = float(counts.sum())
    if not number:
        return 1.0
    pairs = _agreement(counts, total)
    share = number / total
    # Without any agreement there may be any number of values; as many as would have shown one is the least guess.
    unseen = max(number, number * (number - 1.0) / 2.0)
    return max(1.0, min(share * share / pairs, unseen) if pairs else unseen)


def agreement(skews: Sequence[Skew]) -> float:
    """The chance that one event of each agrees with all others: the sum over values of the product of shares."""
    if len(skews) == 1:
        return skews[0].present
    # Values without a share of their own: as if all streams spread them evenly over as many as the most varied one
    # has. Then each of these values is met by all with the product of their parts.
    spread = max(skew.effective for skew in skews)
    rests = [skew.rest / skew.effective for skew in skews]
    total = spread
    for rest in (skew.rest for skew in skews):
        total *= rest / spread
    heavies = [dict(skew.heavy) for skew in skews]
    for value in dict.fromkeys(value for heavy in heavies for value in heavy):
        product = 1.0
        for heavy, rest in zip(heavies, rests, strict=True):
            product *= heavy.get(value, rest)
        total += product
    return min(total, 1.0)
