"""Linear extensions of a partial order: the sequences that agree with it, one by one or counted.

Counting them is #P-complete (Brightwell and Winkler, 1991), so parts in series and in parallel are taken apart first,
and what is left beyond `MOST` things is estimated.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import factorial, prod, sqrt

from stretto.pattern.order import Order, mask_of

MOST = 12  # slots up to which the orders are counted one by one


def linear_extensions(order: Order, things: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """The sequences of some things that agree with an order; none if it contradicts itself."""
    given = list(things)
    if len(given) == 1:  # most runs of slots of one type
        yield tuple(given)
        return
    left, chosen = mask_of(given), list[int]()
    pending = [
        iter(order.earliest(given))
    ]  # backtracking without recursion: a query may have a thousand slots
    while pending:
        one = next(pending[-1], None)
        if one is not None:
            chosen.append(one)
            left ^= 1 << one
            pending.append(iter(order.earliest([i for i in given if left >> i & 1])))
            continue
        if not left:
            yield tuple(chosen)
        pending.pop()
        if chosen:
            left |= 1 << chosen.pop()


@lru_cache(maxsize=1 << 14)
def count_linear_extensions(count: int, order: Order) -> int:
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
    base = count_linear_extensions(count, order) or 1
    mean = count_linear_extensions(count + 1, one) / base
    square = 2 * count_linear_extensions(count + 2, two) / base - mean
    deviation = sqrt(max(square - mean * mean, 0.0))
    return max(mean - deviation, 0.5), mean + deviation
