"""The loops over chains against their plain statements."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.engine.kernels.chains import (
    chain_lengths,
    chain_lengths_reference,
    chains,
    chains_reference,
    wanted_lengths,
)

NONE = np.empty(0, np.int64)


@st.composite
def graphs(draw):
    """Nodes per row, each linked to some earlier ones of its row; by links or, if they are ranges, without."""
    counts = draw(st.lists(st.integers(0, 6), max_size=4))
    linked = draw(st.booleans())
    links, roots, nodes, start = [], [], [], 0
    for count in counts:
        ids = list(range(start, start + count))
        before = []
        for v in [*ids, start + count]:
            earlier = [u for u in ids if u < v]
            before.append(
                draw(st.lists(st.sampled_from(earlier), unique=True)) if linked and earlier
                else earlier[: draw(st.integers(0, len(earlier)))]
            )  # fmt: skip
        for some, of in zip(before, [*[nodes] * count, roots], strict=True):
            of.append((len(links), len(links) + len(some)) if linked else (start, start + len(some)))
            links += some if linked else []
        start += count
    return _ranges(roots), _ranges(nodes), np.array(links, np.int64)


def _ranges(pairs):
    array = np.array(pairs, np.int64).reshape(-1, 2)
    return np.ascontiguousarray(array[:, 0]), np.ascontiguousarray(array[:, 1])


@settings(max_examples=60, deadline=None)
@given(graphs(), st.data())
def test_chain_lengths(graph, data):
    _, nodes, links = graph
    starts = np.array([data.draw(st.booleans()) for _ in nodes[0]], np.bool_)
    expected = chain_lengths_reference(nodes, links, starts)
    np.testing.assert_array_equal(chain_lengths(nodes, links, starts), expected)


@settings(max_examples=150, deadline=None)
@given(graphs(), st.integers(0, 3), st.integers(0, 4), st.data())
def test_chains(graph, least, extra, data):
    """With room for a few chains at a time, what comes out is the same, and nothing twice."""
    roots, nodes, links = graph
    most = least + extra
    pruned = data.draw(st.booleans()) or least > 1
    starts = np.array([not pruned or data.draw(st.booleans()) for _ in nodes[0]], np.bool_)
    bare = np.array([data.draw(st.booleans()) for _ in roots[0]], np.bool_)
    if most == 0:
        roots = (roots[0], roots[0])
    expected = sorted(chains_reference(roots, nodes, links, starts, bare, least, most))
    lengths = chain_lengths(nodes, links, starts) if pruned else NONE
    wanted = wanted_lengths(least, most, 7) if pruned else NONE
    n, m = len(roots[0]), len(nodes[0])
    labels = np.arange(n) + 1000, np.arange(m)
    first = np.arange(n) + 3, np.arange(m)
    state, stack, path = np.zeros(4, np.int64), np.zeros((8, 2), np.int64), np.zeros(8, np.int64)
    room, space = data.draw(st.integers(1, 20)), data.draw(st.integers(8, 40))
    found = []
    while state[0] < n:
        rows, firsts = np.zeros(room, np.int64), np.zeros(room, np.int64)
        offsets, values = np.zeros(room + 1, np.int64), np.zeros(space, np.int64)
        out = rows, firsts, offsets, values
        made = chains(
            roots, nodes, links, lengths, wanted, labels, first, bare, least, most, state, stack, path, out
        )
        for i in range(made):
            *chain, final = values[offsets[i] : offsets[i + 1]].tolist()
            assert final == 1000 + rows[i]
            assert firsts[i] == min([rows[i] + 3, *chain[:1]])
            found.append((rows[i], tuple(chain)))
    assert sorted(found) == expected


def test_wanted_lengths():
    assert wanted_lengths(2, 3, 3).tolist() == [0b1100, 0b110, 0b10, 0]
    assert wanted_lengths(0, 1 << 62, 0).tolist() == [(1 << 63) - 2]


def test_nothing_is_walked_that_ends_in_nothing():
    """Forty nodes in a row have 2**40 chains; none may begin, so none is tried."""
    nodes = np.zeros(40, np.int64), np.arange(40)
    roots = np.zeros(1, np.int64), np.full(1, 40)
    starts, bare = np.zeros(40, np.bool_), np.zeros(1, np.bool_)
    lengths, wanted = chain_lengths(nodes, NONE, starts), wanted_lengths(0, 1 << 62, 40)
    labels = np.zeros(1, np.int64), np.arange(40)
    out = np.zeros(4, np.int64), np.zeros(4, np.int64), np.zeros(5, np.int64), np.zeros(64, np.int64)
    state, stack, path = np.zeros(4, np.int64), np.zeros((41, 2), np.int64), np.zeros(41, np.int64)
    made = chains(
        roots, nodes, NONE, lengths, wanted, labels, labels, bare, 0, 1 << 62, state, stack, path, out
    )
    assert made == 0
    assert state[0] == 1
