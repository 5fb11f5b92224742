"""How many rows sub-queries have in a window, from the rates of types and the selectivities of pairs.

DecoPa, sec. 5.3.1: SEQ multiplies rates, AND of k children gives k times the product, and the selectivities of all
pairs apply. A repeated type adds its non-empty sets: sum over i >= 1 of C(r, i) s^(i-1) p^i = ((1 + s p)^r - 1) / s,
where s is the selectivity between two of its events and p that between one of them and all others of the sub-query.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from stretto.pattern.order import members
from stretto.records import dataclass


class Tree(NamedTuple):
    """A pattern over slots: SEQ or AND of slots and of further trees."""

    kind: Literal["SEQ", "AND"]
    parts: tuple["int | Tree", ...]


class SubQuery(NamedTuple):
    """Some slots of a query, as bits, and those among them whose repetitions have been matched."""

    slots: int
    grown: int = 0


@dataclass(frozen=True)
class RatedQuery:
    """A query with the rate of each slot per window; `repeated` are slots as bits.

    `selectivity` of pairs of slots (lower one first) is 1 where none is given; that of (i, i) is between repetitions.
    """

    tree: Tree
    rates: tuple[float, ...]
    selectivity: Mapping[tuple[int, int], float]
    repeated: int = 0

    @classmethod
    def even(cls, tree: Tree, rates: Sequence[float], selectivity: float, repeated: int = 0) -> "RatedQuery":
        """The same selectivity between all pairs."""
        pairs = {(i, j): selectivity for i in range(len(rates)) for j in range(i, len(rates))}
        return cls(tree, tuple(rates), pairs, repeated)

    @property
    def whole(self) -> SubQuery:
        return SubQuery((1 << len(self.rates)) - 1, self.repeated)

    @cached_property
    def _known(self) -> dict[SubQuery, float]:
        return {}

    def rate(self, part: SubQuery) -> float:
        """Rows of a sub-query in a window."""
        found = self._known.get(part)
        if found is None:
            found = self._known[part] = self._rate(part)
        return found

    def _rate(self, part: SubQuery) -> float:
        plain = part.slots & ~part.grown
        rows = (_product(self.tree, plain, self.rates) or 1.0) if plain else 1.0
        inside = members(plain)
        for place, i in enumerate(inside):
            for j in inside[place + 1 :]:
                rows *= self.between(i, j)
        for k in members(part.grown):
            each = self.between(k, k)
            others = 1.0
            for x in members(part.slots & ~(1 << k)):
                others *= self.between(x, k)
            rows *= ((1.0 + each * others) ** self.rates[k] - 1.0) / each
        return rows

    def between(self, i: int, j: int) -> float:
        return self.selectivity.get((min(i, j), max(i, j)), 1.0)


def _product(tree: int | Tree, slots: int, rates: Sequence[float]) -> float | None:
    """The rate of a pattern projected on some slots, selectivities apart; a part with one child is that child."""
    if isinstance(tree, int):
        return rates[tree] if slots >> tree & 1 else None
    found = [rate for part in tree.parts if (rate := _product(part, slots, rates)) is not None]
    if not found:
        return None
    rows = float(len(found)) if tree.kind == "AND" and len(found) > 1 else 1.0
    for rate in found:
        rows *= rate
    return rows
