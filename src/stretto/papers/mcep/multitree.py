"""The trees chosen for a set of patterns, and what they cost together; a change costs what it changes.

Source: MCEP, sec. 3.2 and 5: equal sub-trees are shared unconditionally; sec. 3.1: a shared one has the largest
window among the patterns that share it.
"""

from collections.abc import Iterable, Mapping

from stretto.papers.mcep.trees import Trees


class Multitree:
    """One tree per pattern, all patterns with windows of one size. `count[t]` patterns have the join t in their tree.

    `cost` is the sum over the joins with at least one pattern; scans and what follows the cores are the same in all.
    """

    def __init__(self, trees: Trees, sizes: Mapping[int, int]) -> None:
        self.trees = trees
        self.sizes = dict(sizes)
        self.chosen: dict[int, int] = {}
        self.count: dict[int, int] = {}
        self.cost = 0.0
        self._prices: dict[int, float] = {}

    def put(self, pattern: int, tree: int) -> int | None:
        """Give a pattern this tree; the one it had before comes back."""
        old = self.chosen.get(pattern)
        if old == tree:
            return old
        self.chosen[pattern] = tree
        self._use(pattern, tree)
        if old is not None:
            self._drop(pattern, old)
        return old

    def take(self, pattern: int) -> int:
        """Take a pattern's tree away and give it back."""
        old = self.chosen.pop(pattern)
        self._drop(pattern, old)
        return old

    def shared(self, tree: int) -> bool:
        """Whether several patterns compute this tree."""
        return self.count.get(tree, 0) > 1

    def size(self, tree: int) -> int:
        """The window at which a join is computed."""
        return self.sizes[next(iter(self.sizes))] if tree in self.count else 0

    def _use(self, pattern: int, tree: int) -> None:  # noqa: ARG002 - its window is that of all
        count = self.count
        for join in self.trees.inner[tree]:
            held = count.get(join, 0)
            count[join] = held + 1
            if not held:
                self.cost += self._prices.get(join) or self._price(join)

    def _drop(self, pattern: int, tree: int) -> None:  # noqa: ARG002 - its window is that of all
        count = self.count
        for join in self.trees.inner[tree]:
            held = count[join] - 1
            if held:
                count[join] = held
            else:
                del count[join]
                self.cost -= self._prices[join]

    def _price(self, join: int) -> float:
        known = self._prices.get(join)
        if known is None:
            size = next(iter(self.sizes.values()))
            known = self._prices[join] = self._own_price(join, size)
        return known

    def _own_price(self, join: int, size: int) -> float:
        """What a join costs at a window; its sides have that of their own patterns, of a leaf the reader's."""
        return self.trees.join_price(*self.trees.last_join(join, size, self.size))


class MixedWindowMultitree(Multitree):
    """The same for patterns with windows of several sizes.

    A join is computed at the largest window among its patterns. A pattern whose whole tree is computed at a wider
    window than its own reads that through a filter, or joins the same inputs again at its own window, whichever is
    cheaper.
    """

    def __init__(self, trees: Trees, sizes: Mapping[int, int]) -> None:
        super().__init__(trees, sizes)
        self._held: dict[int, dict[int, int]] = {}  # join -> window -> patterns
        self._above: dict[int, set[int]] = {}  # join -> joins now computed that read it
        self._whose: dict[int, set[int]] = {}  # join -> patterns whose whole tree it is
        self._paid: dict[int, float] = {}

    def size(self, tree: int) -> int:
        held = self._held.get(tree)
        return max(held) if held else 0

    def narrow_by_filter(self, pattern: int) -> bool:
        """Whether a pattern narrower than its tree reads it through a filter."""
        tree, size = self.chosen[pattern], self.sizes[pattern]
        return self._filter_price(tree, size) <= self._own_price(tree, size)

    def _use(self, pattern: int, tree: int) -> None:
        size = self.sizes[pattern]
        touched: set[int] = {tree}
        self._whose.setdefault(tree, set()).add(pattern)
        for join in self.trees.inner[tree]:
            held = self._held.get(join)
            if held is None:
                self._held[join] = {size: 1}
                touched.add(join)
                for side in self._sides(join):
                    self._above.setdefault(side, set()).add(join)
            else:
                widest = max(held)
                held[size] = held.get(size, 0) + 1
                if size > widest:
                    touched |= {join, *self._above.get(join, ())}
            self.count[join] = self.count.get(join, 0) + 1
        self._pay(touched)

    def _drop(self, pattern: int, tree: int) -> None:
        size = self.sizes[pattern]
        touched: set[int] = {tree}
        self._whose[tree].discard(pattern)
        for join in self.trees.inner[tree]:
            held = self._held[join]
            held[size] -= 1
            self.count[join] -= 1
            if held[size]:
                continue
            del held[size]
            if not held:
                del self._held[join], self.count[join]
                touched.add(join)
                for side in self._sides(join):
                    self._above[side].discard(join)
            elif size > max(held):
                touched |= {join, *self._above.get(join, ())}
        self._pay(touched)

    def _sides(self, join: int) -> tuple[int, int]:
        sides = self.trees.sides[join]
        assert sides is not None, "leaves are not counted"
        return sides[0], sides[2]

    def _pay(self, touched: Iterable[int]) -> None:
        for join in sorted(touched):
            paid = self._price(join) if join in self._held else 0.0
            self.cost += paid - self._paid.pop(join, 0.0)
            if join in self._held:
                self._paid[join] = paid

    def _price(self, join: int) -> float:
        """What a join costs at its window, with the narrower patterns that end in it."""
        size = self.size(join)
        narrower = (
            self.sizes[pattern] for pattern in self._whose.get(join, ()) if self.sizes[pattern] < size
        )
        extra = sum(
            min(self._filter_price(join, own), self._own_price(join, own)) for own in sorted(narrower)
        )
        return self._own_price(join, size) + extra

    def _filter_price(self, join: int, size: int) -> float:
        number, way = self.trees.narrow_way(self.trees.shape[join], size, self.size(join))
        return self.trees.pricing.cost(self.trees.shapes.memo, number, way)


def multitree(trees: Trees, sizes: Mapping[int, int]) -> Multitree:
    """An empty multitree for patterns with these windows."""
    return (Multitree if len(set(sizes.values())) <= 1 else MixedWindowMultitree)(trees, sizes)
