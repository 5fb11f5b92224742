"""Sets as chains of nodes against lists of their events, with steps undone and nodes dropped on the way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.engine.kernels.linked_sets import (
    reached,
    reached_reference,
    written_out,
    written_out_reference,
)
from stretto.engine.rows import linked_sets
from stretto.engine.rows.linked_sets import LinkedNodes, LinkedSets, no_events
from stretto.values.rows import concat_columns, take_column

HOW = st.lists(
    st.tuples(st.sampled_from(["grow", "branch", "drop", "undo", "compact"]), st.integers(0, 1 << 30)),
    max_size=40,
)


NO_EVENTS = None
"""Nothing is reduced, so nothing is read."""


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(linked_sets, "FEWEST", 2)


def same(column: LinkedSets, lists) -> None:
    plain = column.plain()
    assert [plain.values[a:b].tolist() for a, b in zip(plain.offsets, plain.offsets[1:])] == lists  # noqa: B905
    assert column.lengths.tolist() == [len(one) for one in lists]
    some = np.flatnonzero(column.lengths)
    assert column.firsts(some).tolist() == [one[0] for one in lists if one]
    assert column.lasts(some).tolist() == [one[-1] for one in lists if one]


@settings(max_examples=150, deadline=None)
@given(HOW)
def test_chains_are_the_lists_they_stand_for(how):
    nodes = LinkedNodes()
    column, lists = no_events(nodes, 3), [[], [], []]
    for event, (what, seed) in enumerate(how):
        rng = np.random.default_rng(seed)
        before, undo = column, nodes.mark()
        rows = rng.integers(0, max(len(lists), 1), int(rng.integers(0, 4)) if lists else 0)
        if what == "grow":
            column = column.extended(np.full(len(column), event), NO_EVENTS)
            lists = [[*one, event] for one in lists]
        elif what == "branch":
            grown = take_column(column, rows).extended(np.full(len(rows), event), NO_EVENTS)
            column = concat_columns([column, grown])
            lists = lists + [[*lists[row], event] for row in rows]
        elif what == "drop":
            column, lists = take_column(column, rows), [lists[row] for row in rows]
        elif what == "undo":
            column.extended(np.full(len(column), -7), NO_EVENTS)
            undo()
            column = before
        else:
            numbers = nodes.compacted(column.heads)
            if numbers is not None:
                column = column.renumbered(numbers)
                assert len(nodes) <= sum(map(len, lists))
        same(column, lists)


@given(st.lists(st.integers(-1, 30), min_size=1, max_size=30), st.lists(st.integers(-1, 29), max_size=6))
def test_loops_and_their_twins(links, heads):
    parents = np.array([min(link, node - 1) for node, link in enumerate(links)], np.int64)
    ends = np.array([min(head, len(links) - 1) for head in heads], np.int64)
    assert (reached(parents, ends) == reached_reference(parents, ends)).all()
    depth = [0]
    for parent in parents:
        depth.append(1 if parent < 0 else 1 + depth[1 + parent])
    offsets = np.cumsum([0] + [depth[1 + head] for head in ends])
    positions = np.arange(len(parents)) * 10
    written = written_out(parents, positions, ends, offsets)
    assert (written == written_out_reference(parents, positions, ends, offsets)).all()
    assert len(written) == offsets[-1]
