"""How many of the orders in which events can come a partial order allows."""

from functools import lru_cache
from math import factorial, prod, sqrt

MOST = 12  # slots up to which the orders are counted one by one

Order = tuple[tuple[int, int], ...]


@lru_cache(maxsize=1 << 14)
def linear_orders(count: int, order: Order) -> int:
    """The linear extensions of a partial order over `count` elements; an estimate beyond `MOST` of them.

    Beyond 170 elements there may be more than a double can tell: what is read of them are ratios and logarithms.
    """
    if not order:
        return factorial(count)
    if len(order) == count * (count - 1) // 2:
        return 1
    return _counted(count, order) if count <= MOST else _by_hooks(count, order)


def _counted(count: int, order: Order) -> int:
    """Ways to build up the set of all elements, each after those before it: one number per set of elements."""
    needs = [0] * count
    for earlier, later in order:
        needs[later] |= 1 << earlier
    ways = [0] * (1 << count)
    ways[0] = 1
    for placed in range(1 << count):
        here = ways[placed]
        if here:
            for element in range(count):
                if not placed >> element & 1 and needs[element] & placed == needs[element]:
                    ways[placed | 1 << element] += here
    return ways[-1]


def _by_hooks(count: int, order: Order) -> int:
    """The factorial over the product of how many elements each one precedes, itself included: exact for forests."""
    behind = [1] * count
    for earlier, _ in order:
        behind[earlier] += 1
    return max(factorial(count) // prod(behind), 1)


def gaps_between(count: int, order: Order, one: Order, two: Order) -> tuple[float, float]:
    """Among how many of the gaps between `count` events an added one may stand: two values, each in half of the orders.

    `one` is the order with one element more, `two` with two that follow each other; their numbers of linear orders
    give the mean and the spread.
    """
    base = linear_orders(count, order) or 1
    mean = linear_orders(count + 1, one) / base
    square = 2 * linear_orders(count + 2, two) / base - mean
    deviation = sqrt(max(square - mean * mean, 0.0))
    return max(mean - deviation, 0.5), mean + deviation
