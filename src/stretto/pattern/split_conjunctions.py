"""A conjunction inside one term, such as BETWEEN, taken apart into terms of their own where that says the same.

Terms of their own can be checked earlier, by an index, or inside of a repeated group. But a term applies as a whole: it
says nothing where one of its variables is unbound, and it says which events are forbidden where one is negated. So
`a.x BETWEEN n.x AND b.x` beside NOT(N n) is not `a.x >= n.x` and `a.x <= b.x`: the second would refuse matches.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from stretto.pattern.predicates import NEIGHBOURS, Apply, Expr, Reduce, Ref, Which, columns_of, walk


def separated(term: Expr, always: AbstractSet[int], *, at_once: bool = False) -> tuple[Expr, ...]:
    """The parts of a conjunction, or the term alone where a part by itself would say something else.

    `always` are the columns that no match leaves unbound, and no negated ones: only these may be missing in a part.
    `at_once`: a run under NEXT takes or skips an event by the terms that it decides, so parts must be decided together.
    """
    parts = tuple(_conjuncts(term))
    if len(parts) == 1:
        return parts
    needed = columns_of(term) - (frozenset() if at_once else always)
    neighbours, sets = _neighbours(term), _sets(term)

    def says_the_same(part: Expr) -> bool:
        together = not at_once or _sets(part) == sets
        return needed <= columns_of(part) and _neighbours(part) == neighbours and together

    return parts if all(map(says_the_same, parts)) else (term,)


def _conjuncts(term: Expr) -> Iterator[Expr]:
    match term:
        case Apply("and", parts):
            for part in parts:
                yield from _conjuncts(part)
        case Apply("not", (Apply("not", (inner,)),)):
            yield from _conjuncts(inner)
        case _:
            yield term


def _neighbours(term: Expr) -> frozenset[tuple[int, Which]]:
    """What a term reads as d[i] and d[i-1]: it holds where d has no neighbours."""
    found = (node for node in walk(term) if isinstance(node, Ref))
    return frozenset((node.column, node.which) for node in found if node.which in NEIGHBOURS)


def _sets(term: Expr) -> frozenset[int]:
    """The columns of which a term reads more than each event: it waits until they are complete."""
    return frozenset(
        node.column
        for node in walk(term)
        if isinstance(node, Reduce) or (isinstance(node, Ref) and node.which is not Which.EACH)
    )
