"""How many of the orders in which events can come a partial order allows."""

from functools import lru_cache
from math import factorial, prod, sqrt

from stretto.pattern.order import Order

MOST = 12  # slots up to which the orders are counted one by one


@lru_cache(maxsize=1 << 14)
def linear_orders(count: int, order: Order) -> int:
    """The linear extensions of a partial order over `count` elements.

    Parts one after another multiply, parts without order between them are shuffled. What can be taken apart in neither
    way is counted, and beyond `MOST` elements estimated. The numbers may be more than a double can tell: what is read
    of them are ratios and logarithms.
    """
    if any(order.behind(element) >> element & 1 for element in range(count)):
        return 0  # it contradicts itself
    return _among(list(range(count)), order)


def _among(elements: list[int], order: Order) -> int:
    """The same of some of its elements."""
    if len(elements) <= 1 or not order:
        return factorial(len(elements))
    parts = order.in_series(elements)
    if len(parts) > 1:
        return prod(_among(part, order) for part in parts if len(part) > 1)
    parts = order.unrelated(elements)
    if len(parts) > 1:
        found = factorial(len(elements))
        for part in parts:
            if len(part) > 1:
                found = found // factorial(len(part)) * _among(part, order)
        return found
    own = order.part(elements)
    return _counted(len(elements), own) if len(elements) <= MOST else _by_hooks(len(elements), own)


def _counted(count: int, order: Order) -> int:
    """Ways to build up the set of all elements, each after those before it: one number per set of elements."""
    needs = order.before(count)
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
    behind = (order.behind(element).bit_count() + 1 for element in range(count))
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
