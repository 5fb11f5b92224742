"""Binary trees of joins, each kept once: patterns that contain equal trees compute them together.

Source: MCEP, sec. 5 (multi-pattern multitree) and App. C (its cost).
"""

from collections.abc import Callable

from stretto.memo.pricing import Pricing
from stretto.memo.ways import Way, WayKind
from stretto.papers.mcep.sub_patterns import SubPatterns
from stretto.pattern.predicates import numbered

Columns = tuple[int, ...]
Side = tuple[int, int, Columns]
"""A side of a join: its shape, its window, and its columns in the whole."""
RULE = "split_in_two"


class Trees:
    """Trees by number. A leaf is a single slot; any other joins two trees, and `inner[t]` are all joins in it, t last.

    `sides[t]` is (left tree, columns, right tree, columns): which columns of the whole shape a side's own columns are.
    The left side is the one that holds column 0, so that A with B and B with A are one tree.
    """

    def __init__(self, shapes: SubPatterns, pricing: Pricing) -> None:
        self.shapes = shapes
        self.pricing = pricing
        self.shape: list[int] = []
        self.sides: list[tuple[int, Columns, int, Columns] | None] = []
        self.inner: list[tuple[int, ...]] = []
        self._leaves: dict[int, int] = {}
        self._joins: dict[tuple[int, int, Columns, int, Columns], int] = {}
        self._prices: dict[tuple[int, int, int, int, int, int], float] = {}

    def leaf(self, shape: int) -> int:
        """The tree of a single slot."""
        known = self._leaves.get(shape)
        if known is None:
            known = self._leaves[shape] = len(self.shape)
            self.shape.append(shape)
            self.sides.append(None)
            self.inner.append(())
        return known

    def join(self, shape: int, left: int, left_columns: Columns, right: int, right_columns: Columns) -> int:
        """The tree that joins two others to this shape."""
        if 0 in right_columns:
            left, left_columns, right, right_columns = right, right_columns, left, left_columns
        key = shape, left, left_columns, right, right_columns
        known = self._joins.get(key)
        if known is None:
            known = self._joins[key] = len(self.shape)
            self.shape.append(shape)
            self.sides.append((left, left_columns, right, right_columns))
            self.inner.append((*dict.fromkeys((*self.inner[left], *self.inner[right])), known))
        return known

    def last_join(self, tree: int, size: int, window: Callable[[int], int]) -> tuple[int, int, Side, Side]:
        """The last join of a tree at a window, its sides at that window too, or at their own where that is wider."""
        sides = self.sides[tree]
        assert sides is not None, "leaves are no joins"
        left, left_columns, right, right_columns = sides
        return (
            self.shape[tree],
            size,
            (self.shape[left], max(size, window(left)), left_columns),
            (self.shape[right], max(size, window(right)), right_columns),
        )

    def join_price(self, shape: int, size: int, left: Side, right: Side) -> float:
        """The cost of joining two shapes to a third."""
        key = shape, size, left[0], left[1], right[0], right[1]
        known = self._prices.get(key)
        if known is None:
            number, way = self.join_way(shape, size, left, right)
            known = self._prices[key] = self.pricing.cost(self.shapes.memo, number, way)
        return known

    def join_way(self, shape: int, size: int, left: Side, right: Side) -> tuple[int, Way]:
        """The same join as a way of a piece of the memo."""
        whole = self.shapes.at(shape, size)
        place = numbered(whole.columns)
        inputs = (
            self.shapes.input(side, wide, [place[c] for c in columns])
            for side, wide, columns in (left, right)
        )
        return whole.piece, Way(WayKind.JOIN, tuple(inputs), RULE)

    def narrow_way(self, shape: int, size: int, wider: int) -> tuple[int, Way]:
        """The shape at a window from itself at a wider one."""
        whole = self.shapes.at(shape, size)
        place = numbered(whole.columns)
        part = self.shapes.input(shape, wider, [place[c] for c in range(len(place))])
        return whole.piece, Way(WayKind.FILTER, (part,), "narrow_window")
