"""Binary trees of joins, each kept once: patterns that contain equal trees compute them together.

Source: MCEP, sec. 5 (multi-pattern multitree) and App. C (its cost).
"""

from stretto.memo.pricing import Pricing
from stretto.memo.ways import Input, Way, WayKind
from stretto.papers.mcep.sub_patterns import SubPatterns

Columns = tuple[int, ...]
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

    def price(self, tree: int, size: int, left_size: int, right_size: int) -> float:
        """The cost of the last join of a tree at a window, its sides' windows being at least as wide."""
        sides = self.sides[tree]
        assert sides is not None, "leaves are not chosen, so they have no price here"
        left, left_columns, right, right_columns = sides
        return self.join_price(
            self.shape[tree],
            size,
            (self.shape[left], left_size, left_columns),
            (self.shape[right], right_size, right_columns),
        )

    def join_price(
        self, shape: int, size: int, left: tuple[int, int, Columns], right: tuple[int, int, Columns]
    ) -> float:
        """The cost of joining two shapes, each with its window and its columns in the whole, to a third."""
        key = shape, size, left[0], left[1], right[0], right[1]
        known = self._prices.get(key)
        if known is None:
            number, way = self.join_way(shape, size, left, right)
            known = self._prices[key] = self.pricing.cost(self.shapes.memo, number, way)
        return known

    def join_way(
        self, shape: int, size: int, left: tuple[int, int, Columns], right: tuple[int, int, Columns]
    ) -> tuple[int, Way]:
        """The same join as a way of a piece of the memo."""
        whole = self.shapes.at(shape, size)
        place = {column: i for i, column in enumerate(whole.columns)}
        inputs = []
        for side, side_size, columns in (left, right):
            part = self.shapes.at(side, side_size)
            inputs.append(Input(part.piece, tuple(place[columns[c]] for c in part.columns)))
        return whole.piece, Way(WayKind.JOIN, tuple(inputs), RULE)

    def narrow_way(self, shape: int, size: int, wider: int) -> tuple[int, Way]:
        """The shape at a window from itself at a wider one."""
        whole, part = self.shapes.at(shape, size), self.shapes.at(shape, wider)
        place = {column: i for i, column in enumerate(whole.columns)}
        columns = tuple(place[c] for c in part.columns)
        return whole.piece, Way(WayKind.FILTER, (Input(part.piece, columns),), "narrow_window")
