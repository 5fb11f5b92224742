from dataclasses import replace
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.papers.muse.costs import paper_costs
from stretto.trends.benefit import Load, Model, engine_costs

MODELS = [paper_costs, engine_costs]
counts = st.floats(1.0, 1e6)


@st.composite
def loads(draw: st.DrawFn) -> Load:
    """Loads with as many MatStates as there can be: no more than events before."""
    before, events = draw(counts), draw(counts)
    queries = draw(st.integers(2, 300))
    matstates = draw(st.floats(1.0, before))
    return Load(before, events, queries, queries, matstates=matstates, conditioned=draw(st.booleans()))


def test_equations_1_to_3() -> None:
    before, events, queries, m = 64.0, 256.0, 3, 2.0
    found = paper_costs(Load(before, events, queries, queries, matstates=m))
    assert found.alone == queries * events * (log2(before) + before + log2(events))
    assert found.shared == events * (log2(before) + m * before + log2(events))
    assert found.evaluation == events * queries * m
    assert found.benefit == found.alone - found.shared - found.evaluation


@pytest.mark.parametrize("model", MODELS)
@given(load=loads(), more=st.integers(1, 100))
def test_lemma_1(model: Model, load: Load, more: int) -> None:
    larger = replace(load, queries=load.queries + more, values=load.values + more)
    gained = model(larger).benefit - model(load).benefit
    assert gained >= -1e-9 * model(larger).alone


@pytest.mark.parametrize("model", MODELS)
@given(load=loads(), fewer=st.floats(0.0, 1.0))
def test_lemma_2(model: Model, load: Load, fewer: float) -> None:
    smaller = replace(load, matstates=1.0 + fewer * (load.matstates - 1.0))
    gained = model(smaller).benefit - model(load).benefit
    assert gained >= -1e-9 * model(load).alone


@pytest.mark.parametrize("model", MODELS)
def test_sharing_pays_until_matstates_are_many(model: Model) -> None:
    load = Load(10_000.0, 10_000.0, 100, 100)
    few, many = (model(replace(load, matstates=m)).benefit for m in (1.0, 10_000.0))
    assert few > 0.9 * model(load).alone
    assert many < 0.0


def test_conditions_share_at_least_the_search() -> None:
    load = Load(10_000.0, 10_000.0, 100, 100, conditioned=True, matstates=10_000.0)
    assert engine_costs(load).benefit > 0.0
