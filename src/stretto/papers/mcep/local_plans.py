"""The cheapest plan of one pattern alone, perhaps with given sub-trees in it: the algorithm A of MCEP, sec. 4.2 and 5.

Dynamic programming over sets of slots (Selinger et al., SIGMOD 1979; over bushy trees DPsub, Vance and Maier, SIGMOD
1996). A given sub-tree is one item that is not taken apart, so that given ones make
the search smaller. Where more than `ALL_SUBSETS` items are left, trees are found over runs of neighbouring items and
greedily, orders greedily; beyond `RUNS` items the order of the text is kept.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import reduce
from math import inf
from operator import or_

from stretto.papers.mcep.sub_patterns import ALL_SUBSETS, RUNS, CoreParts
from stretto.papers.mcep.trees import Columns, Trees
from stretto.solve.common.budget import Budget

Placed = tuple[int, int]
"""A tree and where it stands: (slots of the core as bits, number of the tree)."""

A_JOIN = 2.5e-5
"""Seconds that it takes to price a join, when its rows have been estimated."""
MOST_KEPT = 20_000
"""Plans that are remembered per pattern."""


class TimeIsUpError(Exception):
    """No more joins are to be priced."""


class LocalPlans(ABC):
    """Plans of one core. `best` gives the cheapest tree over some of its slots that contains the given trees.

    When the budget is over nothing more is priced: what is left to find is joined in the order of the text.
    """

    def __init__(self, trees: Trees, parts: CoreParts, budget: Budget | None = None) -> None:
        self.trees = trees
        self.parts = parts
        self._budget = budget
        self._found: dict[tuple[int, tuple[Placed, ...]], int] = {}
        self._places: dict[tuple[int, int], tuple[Placed, ...]] = {}
        self._splits: dict[tuple[int, int], tuple[int, Columns, Columns]] = {}
        self._prices: dict[tuple[int, int], float] = {}

    def best(self, given: tuple[Placed, ...] = (), within: int | None = None) -> int:
        """The cheapest tree over the slots `within` (None: all) that contains `given`, whose slots do not overlap."""
        mask = self.parts.full if within is None else within
        key = mask, given
        known = self._found.get(key)
        if known is None:
            if len(self._found) >= MOST_KEPT:
                self._found.clear()
            items = self._items(mask, given)
            try:
                known = self._plan(items)
            except TimeIsUpError:
                known = self._chain(self._in_text_order(items))
            self._found[key] = known
        return known

    def in_order(self, slots: Sequence[int]) -> int:
        """The left-deep tree that takes the slots in this order."""
        return self._chain([(1 << slot, self._leaf(slot)) for slot in slots])

    def joins(self, tree: int, within: int | None = None) -> tuple[Placed, ...]:
        """Every join of a tree over these slots, with its own slots; a whole before its parts."""
        mask = self.parts.full if within is None else within
        known = self._places.get((mask, tree))
        if known is None:
            if len(self._places) >= MOST_KEPT:
                self._places.clear()
            known = self._places[mask, tree] = tuple(self._placed(tree, self.parts[mask][1]))
        return known

    @abstractmethod
    def maximal(self, shared: Sequence[Placed], inside: int) -> tuple[Placed, ...]:
        """Which of some joins of one tree, wholes first, a plan over the slots `inside` can contain together."""

    @abstractmethod
    def beside(self, shared: Sequence[Placed], mask: int) -> tuple[Placed, ...]:
        """Which of them it can contain if it has to contain another tree over the slots `mask` as well."""

    @abstractmethod
    def _plan(self, items: list[Placed]) -> int:
        """The cheapest tree over all of the items."""

    def _items(self, mask: int, given: tuple[Placed, ...]) -> list[Placed]:
        """The given trees and the single slots that they leave, by their first slot."""
        items = list(given)
        for slots, _ in given:
            mask &= ~slots
        items += [(1 << slot, self._leaf(slot)) for slot in range(self.parts.count) if mask >> slot & 1]
        items.sort(key=lambda item: item[0] & -item[0])
        return items

    def _leaf(self, slot: int) -> int:
        return self.trees.leaf(self.parts[1 << slot][0])

    def _placed(self, tree: int, columns: Columns) -> Iterator[Placed]:
        pending = [(tree, columns)]
        while pending:
            node, own = pending.pop()
            sides = self.trees.sides[node]
            if sides is None:
                continue
            yield self.parts.mask(own), node
            left, left_columns, right, right_columns = sides
            pending.append((right, tuple(own[c] for c in right_columns)))
            pending.append((left, tuple(own[c] for c in left_columns)))

    def _split(self, one: int, other: int) -> tuple[int, Columns, Columns]:
        """The shape of two sets of slots together, and the columns in it of either."""
        known = self._splits.get((one, other))
        if known is None:
            shape, columns = self.parts[one | other]
            place = {column: i for i, column in enumerate(columns)}
            first = tuple(place[column] for column in self.parts[one][1])
            second = tuple(place[column] for column in self.parts[other][1])
            known = self._splits[one, other] = shape, first, second
        return known

    def price(self, one: int, other: int) -> float:
        """The cost of joining two sets of slots at the core's own window; TimeIsUpError if there is no time for it."""
        known = self._prices.get((one, other))
        if known is None:
            if self._budget is not None and self._budget.denies((one | other).bit_count()):
                raise TimeIsUpError
            if self._budget is not None:
                self._budget.work(A_JOIN)
            shape, first, second = self._split(one, other)
            size = self.parts.size
            # The side with column 0 is the left one, as in `Trees.join`: both ways round are one join, with one price.
            left = self.parts[one][0], size, first
            right = self.parts[other][0], size, second
            if 0 in second:
                left, right = right, left
            known = self.trees.join_price(shape, size, left, right)
            self._prices[one, other] = self._prices[other, one] = known
        return known

    def _join(self, one: Placed, other: Placed) -> Placed:
        shape, first, second = self._split(one[0], other[0])
        return one[0] | other[0], self.trees.join(shape, one[1], first, other[1], second)

    def _chain(self, items: Sequence[Placed]) -> int:
        made = items[0]
        for item in items[1:]:
            made = self._join(made, item)
        return made[1]

    def _cheapest_pair(self, items: Sequence[Placed]) -> tuple[float, int, int]:
        """The cost of the cheapest join of two items, and the places of these, the later one first."""
        return min(
            (self.price(a[0], b[0]), i, j) for i, a in enumerate(items) for j, b in enumerate(items[:i])
        )

    def cheapest_next(self, done: int, left: list[Placed]) -> Iterator[Placed]:
        """The items left, which are taken off one by one: always the one that is the cheapest to join to those done."""
        while left:
            _, i = min((self.price(done, bits), i) for i, (bits, _) in enumerate(left))
            done |= left[i][0]
            yield left.pop(i)

    def _in_text_order(self, items: Sequence[Placed]) -> list[Placed]:
        place = {1 << slot: i for i, slot in enumerate(self.parts.own_order)}

        def first(item: Placed) -> int:
            return min(place[bit] for bit in place if bit & item[0])

        return sorted(items, key=first)


class TreePlans(LocalPlans):
    """Plans are all binary trees (MCEP, sec. 5)."""

    def maximal(self, shared: Sequence[Placed], inside: int) -> tuple[Placed, ...]:
        taken = 0
        found: list[Placed] = []
        for mask, tree in shared:
            if not mask & taken and not mask & ~inside:
                taken |= mask
                found.append((mask, tree))
        return tuple(sorted(found))

    def beside(self, shared: Sequence[Placed], mask: int) -> tuple[Placed, ...]:
        return self.maximal(shared, self.parts.full & ~mask)

    def _plan(self, items: list[Placed]) -> int:
        if len(items) <= ALL_SUBSETS:
            return self._over_subsets(items)
        if len(items) <= RUNS:
            return self._over_runs(items)
        return self._chain(self._in_text_order(items))

    def _over_subsets(self, items: list[Placed]) -> int:
        """Dynamic programming over all sets of items; sets are bits, and each is split in every way."""
        count = len(items)
        union = [0] * (1 << count)
        costs = [0.0] * (1 << count)
        splits = [0] * (1 << count)
        prices, price = self._prices, self.price
        for some in range(1, 1 << count):
            low = some & -some
            rest = some ^ low
            union[some] = union[rest] | items[low.bit_length() - 1][0]
            if not rest:
                continue
            best, best_split = inf, 0
            # Every subset of `rest` once, by (right - 1) & rest; the lowest item stays left, so that no split is seen
            # twice. Subsets have smaller numbers than the set: their costs are known.
            right = rest
            while right:
                left = some ^ right
                one, other = union[left], union[right]
                own = prices.get((one, other))
                cost = costs[left] + costs[right] + (price(one, other) if own is None else own)
                if cost < best or not best_split:
                    best, best_split = cost, right
                right = (right - 1) & rest
            costs[some], splits[some] = best, best_split
        return self._built(items, splits)

    def _built(self, items: list[Placed], splits: list[int]) -> int:
        made: dict[int, Placed] = {1 << i: item for i, item in enumerate(items)}
        pending = [(1 << len(items)) - 1]
        while pending:
            some = pending[-1]
            if some in made:
                pending.pop()
                continue
            right = splits[some]
            missing = [side for side in (some ^ right, right) if side not in made]
            if missing:
                pending.extend(missing)
            else:
                made[some] = self._join(made[some ^ right], made[right])
        return made[(1 << len(items)) - 1][1]

    def _over_runs(self, items: list[Placed]) -> int:
        """The cheaper of the best tree over runs of items and of joining the cheapest two again and again."""
        cost_of_runs, by_runs = self._best_runs(items)
        greedy_cost, greedy = self._cheapest_first(items)
        return by_runs if cost_of_runs <= greedy_cost else greedy

    def _best_runs(self, items: list[Placed]) -> tuple[float, int]:
        count = len(items)
        best: dict[tuple[int, int], tuple[float, Placed]] = {
            (i, i + 1): (0.0, item) for i, item in enumerate(items)
        }
        for length in range(2, count + 1):
            for start in range(count - length + 1):
                end = start + length
                options = []
                for cut in range(start + 1, end):
                    (left, one), (right, other) = best[start, cut], best[cut, end]
                    options.append((left + right + self.price(one[0], other[0]), cut))
                cost, cut = min(options)
                best[start, end] = cost, self._join(best[start, cut][1], best[cut, end][1])
        cost, whole = best[0, count]
        return cost, whole[1]

    def _cheapest_first(self, items: list[Placed]) -> tuple[float, int]:
        left = list(items)
        total = 0.0
        while len(left) > 1:
            cost, i, j = self._cheapest_pair(left)
            total += cost
            left[j] = self._join(left[j], left[i])
            del left[i]
        return total, left[0][1]


class OrderPlans(LocalPlans):
    """Plans are orders of the slots, as left-deep trees; a given tree is how the order starts (MCEP, sec. 4.2).

    Orders that differ in their first two slots alone join the same two things first and are one.
    """

    def maximal(self, shared: Sequence[Placed], inside: int) -> tuple[Placed, ...]:
        return next(((item,) for item in shared if not item[0] & ~inside), ())

    def beside(self, shared: Sequence[Placed], mask: int) -> tuple[Placed, ...]:  # noqa: ARG002 - one start
        return ()

    def _plan(self, items: list[Placed]) -> int:
        given = [item for item in items if item[0].bit_count() > 1]
        assert len(given) <= 1, "an order starts in one way"
        steps = [item for item in items if item not in given]
        if not steps:
            return given[0][1]
        if len(items) <= ALL_SUBSETS:
            return self._chain([*given, *self._over_subsets(given, steps)])
        if len(items) <= RUNS:
            return self._chain(self._cheapest_next(given, steps))
        return self._chain([*given, *self._in_text_order(steps)])

    def _over_subsets(self, given: list[Placed], steps: list[Placed]) -> list[Placed]:
        """The cheapest order of the steps after the given start."""
        best: dict[int, tuple[float, int]] = {0: (0.0, -1)}
        union = [given[0][0] if given else 0]
        for some in range(1, 1 << len(steps)):
            low = some & -some
            union.append(union[some ^ low] | steps[low.bit_length() - 1][0])
            options = []
            for i, (bit, _) in enumerate(steps):
                if some >> i & 1:
                    before = some ^ (1 << i)
                    done = union[before]
                    options.append((best[before][0] + (self.price(done, bit) if done else 0.0), i))
            best[some] = min(options)
        order: list[Placed] = []
        some = (1 << len(steps)) - 1
        while some:
            last = best[some][1]
            order.append(steps[last])
            some ^= 1 << last
        return order[::-1]

    def _cheapest_next(self, given: list[Placed], steps: list[Placed]) -> list[Placed]:
        """The given start, or else the two steps that are the cheapest to join; then always the cheapest next."""
        start, left = list(given), list(steps)
        if not start:
            _, i, j = self._cheapest_pair(left)
            start = [left[j], left.pop(i)]
            left.remove(start[0])
        return [*start, *self.cheapest_next(reduce(or_, (bits for bits, _ in start)), left)]
