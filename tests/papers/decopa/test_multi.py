"""Several queries: what they have in common is made once, and what nobody shares keeps its own form."""

import pytest

from stretto.papers.decopa.construction import construct, total_comparisons
from stretto.papers.decopa.multi import PartQuery, construct_all, decopa_of_all, normalised
from stretto.solve.common.budget import Budget
from stretto.solve.units.allocation import allocate
from stretto.solve.units.loads import Capacity
from stretto.solve.units.rates import SubQuery, Tree
from stretto.solve.units.together import fastest

RATES = (900.0, 700.0, 20.0, 400.0, 300.0)
PAIRS = {(i, j): 0.02 for i in range(5) for j in range(i, 5)}
CAPACITY = Capacity(6_500.0, 60_000.0)


def query(types: int, kind: str = "SEQ") -> PartQuery:
    tree = Tree("SEQ" if kind == "SEQ" else "AND", tuple(range(5)))
    return PartQuery(tree, RATES, PAIRS, 0, types)


def test_one_query_is_as_without_others() -> None:
    alone = query(0b01111)
    assert total_comparisons(construct_all([alone], 20)) <= total_comparisons(construct(alone, 20)) * (
        1 + 1e-9
    )
    assert alone.whole == SubQuery(0b01111)


def test_equal_queries_are_made_once() -> None:
    one = construct_all([query(0b01111)], 20)
    two = construct_all([query(0b01111), query(0b01111)], 20)
    assert len(two) == len(one)
    assert total_comparisons(two) < 1.9 * total_comparisons(construct(normalised([query(0b01111)])[0], 20))


def test_a_query_reads_what_another_has() -> None:
    queries = [query(0b00111), query(0b01111)]
    shared = construct_all(queries, 20)
    assert {q.whole for q in queries} <= shared.keys()
    apart = sum(len(construct(q, 20)) for q in normalised(queries))
    assert len(shared) < apart


def test_general_form_lets_either_predicate_pass() -> None:
    other = PartQuery(Tree("SEQ", tuple(range(5))), RATES, {**PAIRS, (0, 1): 0.5}, 0, 0b00011)
    general = normalised([query(0b00111), other])
    assert general[0].between(0, 1) == pytest.approx(1 - 0.98 * 0.5)
    assert general[0].tree.kind == "AND"


def test_units_for_all_queries_together() -> None:
    queries = [query(0b00111), query(0b01110), query(0b11100)]
    general = normalised(queries)
    theirs = decopa_of_all(queries, 20, CAPACITY)
    known = construct_all(queries, 20)
    roots = [q.whole for q in general]
    ours = fastest(general[0], 20, CAPACITY, Budget(600.0), known=[known], beyond=True, roots=roots)
    again = allocate(known, 20, CAPACITY, beyond=True)
    assert ours is not None
    assert theirs is not None
    assert again is not None
    assert ours.speed >= max(theirs.speed, again.speed) * (1 - 1e-9)
    assert set(roots) <= set(ours.split)
