"""Partial orders between numbered things, as bit masks: a total order of n things is n masks, not n² pairs."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class Order(Collection[tuple[int, int]]):
    """Pairs (i, j) with i before j, transitively closed; iterated, they come sorted.

    Bit j of `after[i]` says that i comes before j; the last mask is not 0, so that equal orders are equal objects.
    """

    after: tuple[int, ...] = ()

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> "Order":
        """The order of these pairs, which are closed."""
        return cls.of_masks(_masks(pairs))

    @classmethod
    def closing(cls, pairs: Iterable[tuple[int, int]]) -> "Order":
        """The order of these pairs and of all that follows from them: the transitive closure (Warshall, 1962)."""
        after = _masks(pairs)
        for middle, behind in enumerate(after):
            if behind:
                bit = 1 << middle
                for i, later in enumerate(after):
                    if later & bit:
                        after[i] = later | behind
        return cls.of_masks(after)

    @classmethod
    def of_masks(cls, after: Sequence[int]) -> "Order":
        """The order with these masks, whatever zeros are at their end."""
        count = len(after)
        while count and not after[count - 1]:
            count -= 1
        return cls(tuple(after[:count]))

    @classmethod
    def total(cls, count: int) -> "Order":
        """So many things one after another."""
        everything = (1 << count) - 1
        return cls(tuple([everything >> i << i for i in range(1, count)]))

    # ---- pairs -----------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for i, later in enumerate(self.after):
            for j in members(later):
                yield i, j

    def __contains__(self, pair: object) -> bool:
        assert isinstance(pair, tuple)
        i, j = pair
        return i < len(self.after) and bool(self.after[i] >> j & 1)

    def __len__(self) -> int:
        return sum([later.bit_count() for later in self.after])

    def __bool__(self) -> bool:
        return bool(self.after)

    # ---- masks -----------------------------------------------------------------------------------------------------

    def behind(self, thing: int) -> int:
        """The things that come after one, as bits."""
        return self.after[thing] if thing < len(self.after) else 0

    def before(self, count: int) -> list[int]:
        """For each of so many things, as bits, those that come before it."""
        if count > WIDE:
            return _transposed(self.after, count)
        found = [0] * count
        for i, later in enumerate(self.after):
            bit = 1 << i
            for j in members(later):
                found[j] |= bit
        return found

    def latest(self, things: Iterable[int]) -> list[int]:
        """The maximal elements of some things: those that none of the others comes after."""
        found = list(things)
        among = mask_of(found)
        return [i for i in found if not self.behind(i) & among]

    def earliest(self, things: Iterable[int]) -> list[int]:
        """The minimal elements of some things: those that none of the others comes before."""
        found = list(things)
        later = self.behind_any(found)
        return [i for i in found if not later >> i & 1]

    def behind_any(self, things: Iterable[int]) -> int:
        """The things that come after at least one of some, as bits."""
        found = 0
        for i in things:
            found |= self.behind(i)
        return found

    def never_last(self, things: Iterable[int], others: int) -> bool:
        """Whether each of some things comes before one of the others, which are bits."""
        return all(self.behind(i) & others for i in things)

    def never_first(self, things: Iterable[int], others: Iterable[int]) -> bool:
        """Whether each of some things comes after one of the others."""
        later = self.behind_any(others)
        return all(later >> i & 1 for i in things)

    # A mask of thousands of bits is read in time proportional to its length. These two take one step for each thing
    # that they find, where `latest` and `earliest` take one for each that they are given.

    def latest_in(self, among: int, before: Sequence[int]) -> Iterator[int]:
        """`latest` of things as bits, the greatest numbers first, given what is `before` each."""
        while among:
            i = among.bit_length() - 1
            while later := self.behind(i) & among:
                i = later.bit_length() - 1
            yield i
            among &= ~(before[i] | 1 << i)

    def earliest_in(self, among: int, before: Sequence[int]) -> Iterator[int]:
        """`earliest` of things as bits, the least numbers first."""
        while among:
            i = _lowest(among)
            while sooner := before[i] & among:
                i = _lowest(sooner)
            yield i
            among &= ~(self.behind(i) | 1 << i)

    def in_series(self, things: Sequence[int]) -> list[list[int]]:
        """Some things in sets of which each is wholly before the next."""
        among = mask_of(things)
        # Whatever stands before a cut has more behind it than what stands after the cut.
        ranked = sorted(things, key=lambda i: (-(self.behind(i) & among).bit_count(), i))
        found: list[list[int]] = [[]]
        left, behind_all = among, among
        for i in ranked:
            if found[-1] and not left & ~behind_all:
                found.append([])
            found[-1].append(i)
            left &= ~(1 << i)
            behind_all &= self.behind(i)
        return found

    def unrelated(self, things: Sequence[int]) -> list[list[int]]:
        """Some things in sets between which there is no order: the connected components, found by masks."""
        among = mask_of(things)
        parts: list[tuple[int, int]] = []  # each with all that is behind it
        for i in things:
            mine = 1 << i
            reach = self.behind(i) & among
            apart = []
            for part, reached in parts:
                if reached & mine or part & reach:
                    mine, reach = mine | part, reach | reached
                else:
                    apart.append((part, reached))
            parts = [*apart, (mine, reach)]
        return sorted(members(part) for part, _ in parts)

    # ---- other orders ----------------------------------------------------------------------------------------------

    def part(self, things: Sequence[int]) -> "Order":
        """The order between some of the things: the i-th of them is thing i."""
        count = len(things)
        if list(things) == list(range(count)):
            kept = (1 << count) - 1
            return Order.of_masks([later & kept for later in self.after[:count]])
        chosen = mask_of(things)
        bit = {old: 1 << new for new, old in enumerate(things)}
        found = []
        for old in things:
            mask = 0
            for other in members(self.behind(old) & chosen):
                mask |= bit[other]
            found.append(mask)
        return Order.of_masks(found)

    def with_between(self, count: int, after: Iterable[int], before: Iterable[int]) -> "Order":
        """With one more thing behind `count` others, which comes after some of those and before others."""
        first, later = mask_of(after), mask_of(before)
        later |= self.behind_any(members(later))
        more = later | 1 << count
        masks = [self.behind(i) for i in range(count)]
        return Order.of_masks(
            [*(own | more if (own | 1 << i) & first else own for i, own in enumerate(masks)), later]
        )

    def with_pairs(self, pairs: Iterable[tuple[int, int]]) -> "Order":
        """With more pairs and what follows from them."""
        found = list(self.after)
        for i, j in pairs:
            found += [0] * (max(i, j) + 1 - len(found))
            if not found[i] >> j & 1:
                later = found[j] | 1 << j
                for k, own in enumerate(found):
                    if k == i or own >> i & 1:
                        found[k] = own | later
        return Order.of_masks(found)

    def followed(self, count: int, other: "Order", things: int, others: int) -> "Order":
        """Beside `count` things those of another order, numbered behind them; all `things` are before all `others`."""
        found = [self.behind(i) for i in range(count)] + [later << count for later in other.after]
        for i in members(things):
            found[i] |= others << count
        return Order.of_masks(found)

    def shifted(self, by: int) -> "Order":
        """The same order between things with greater numbers."""
        return Order((*(0,) * by, *(later << by for later in self.after))) if self.after else self


NO_ORDER: Final = Order()
WIDE: Final = 64
"""Bits beyond which a mask is no longer a small number, so that taking one bit off takes time in proportion to all."""


def mask_of(things: Iterable[int]) -> int:
    """Some things as bits."""
    found = 0
    for thing in things:
        found |= 1 << thing
    return found


def members(mask: int) -> list[int]:
    """The numbers of the bits in a mask."""
    if mask >> WIDE and mask.bit_count() > WIDE:
        return [i for i, bit in enumerate(reversed(f"{mask:b}")) if bit == "1"]
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _transposed(masks: Sequence[int], count: int) -> list[int]:
    """For each of so many bits the masks that have it, as bits: rows and columns of a matrix change places."""
    rows = [f"{mask:0{count}b}" for mask in reversed(masks)]
    if not rows:
        return [0] * count
    return [int("".join(column), 2) for column in zip(*rows, strict=True)][::-1]


def _masks(pairs: Iterable[tuple[int, int]]) -> list[int]:
    after: list[int] = []
    for i, j in pairs:
        if i >= len(after):
            after.extend([0] * (i + 1 - len(after)))
        after[i] |= 1 << j
    return after
