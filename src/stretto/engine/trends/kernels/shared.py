"""Totals of nodes that members share: one set of coefficients for the windows of all members.

When something enters the shared nodes for some members only, the coefficients up to then are put on a ladder. The
others catch up later, many steps at once: a rung of level v holds what became of 2^v steps together.
"""

import numpy as np

from stretto.engine.trends.kernels.layout import Lanes, Layout, Scratch, State
from stretto.engine.trends.kernels.numbers import I32, Values, add, add_one, add_product, clear, copy, loop
from stretto.values.rows import I64


@loop
def basis_of(layout: Layout) -> int:
    return len(layout.entry) + len(layout.entered)


@loop
def rung(layout: Layout, block: int, level: int, n: int) -> int:
    """Where the coefficients of rung n of a level begin on a block's ladder."""
    size = 2 * layout.steps
    return (block * size + size - (size >> level) + n) * len(layout.entry) * basis_of(layout)


@loop
def catch_up(layout: Layout, lanes: Lanes, state: State, scratch: Scratch, block: int, m: int) -> None:
    """Bring a member's rows, in all its open windows, to the beginning of the block's coefficients."""
    at, last = state.caught[block, m], state.steps[block]
    if at == last:
        return
    shared, basis, room = layout.entry.shape[0], basis_of(layout), layout.rows
    ring, width, frame = layout.ring[m], layout.width[m], layout.frame[m]
    while at < last:
        # The largest rung that begins here and does not go past the last step, as in a binary number: a member that is
        # n steps behind takes about 2 log n rungs.
        level = 0
        while at % (2 << level) == 0 and at + (2 << level) <= last:
            level += 1
        matrix = rung(layout, block, level, at >> level)
        for k in range(state.low[block, frame], state.high[block, frame] + 1):
            row = block * layout.rows + layout.base[m] + (k % ring) * width
            for p in range(shared):
                clear(scratch.values, room + p)
                for b in range(basis):
                    add_product(
                        scratch.values, room + p, state.totals, row + b,
                        state.ladder, matrix + p * basis + b, lanes.member, lanes.member_extreme, m,
                    )  # fmt: skip
            for p in range(shared):
                copy(state.totals, row + p, scratch.values, room + p)
        at += 1 << level
    state.caught[block, m] = last


@loop
def add_shared_total(
    layout: Layout, lanes: Lanes, state: State, scratch: Scratch,
    block: int, m: int, row: int, place: int, v: Values, i: int,
) -> None:  # fmt: skip
    """Add to row i of v the total of a shared node by its coefficients."""
    catch_up(layout, lanes, state, scratch, block, m)
    basis = basis_of(layout)
    at = (block * layout.entry.shape[0] + place) * basis
    for b in range(basis):
        add_product(
            v, i, state.totals, row + b, state.coefficients, at + b, lanes.member, lanes.member_extreme, m
        )


@loop
def add_total(
    layout: Layout, lanes: Lanes, state: State, scratch: Scratch,
    block: int, m: int, row: int, place: int, v: Values, i: int,
) -> None:  # fmt: skip
    """Add to row i of v the total at a place of member m's instance, whose rows begin at `row`."""
    if place >= layout.entry.shape[0] or state.flat[block]:
        add(v, i, state.totals, row + place)
    else:
        add_shared_total(layout, lanes, state, scratch, block, m, row, place, v, i)


@loop
def flatten(layout: Layout, lanes: Lanes, state: State, scratch: Scratch, block: int) -> None:
    """Write the totals of the shared nodes into the rows of all open instances."""
    if state.flat[block]:
        return
    shared, room = layout.entry.shape[0], layout.rows + layout.entry.shape[0]
    for m in range(layout.frame.shape[0]):
        frame = layout.frame[m]
        for k in range(state.low[block, frame], state.high[block, frame] + 1):
            row = block * layout.rows + layout.base[m] + (k % layout.ring[m]) * layout.width[m]
            for p in range(shared):
                clear(scratch.values, room + p)
                add_shared_total(layout, lanes, state, scratch, block, m, row, p, scratch.values, room + p)
            for p in range(shared):
                copy(state.totals, row + p, scratch.values, room + p)
        state.caught[block, m] = 0
    state.steps[block] = 0
    state.flat[block] = True


@loop
def enter(layout: Layout, state: State, block: int, m: int) -> None:
    """Write down what enters the shared nodes in all open windows of a member."""
    shared, frame = layout.entry.shape[0], layout.frame[m]
    for k in range(state.low[block, frame], state.high[block, frame] + 1):
        row = block * layout.rows + layout.base[m] + (k % layout.ring[m]) * layout.width[m]
        for e in range(layout.entered.shape[0]):
            seat, at = layout.entered[e] + m, row + shared + e
            clear(state.totals, at)
            if layout.start[seat]:
                add_one(state.totals, at)
            for j in range(layout.own[seat], layout.own[seat + 1]):
                add(state.totals, at, state.totals, row + layout.source[j])


@loop
def climb(layout: Layout, lanes: Lanes, state: State, block: int) -> None:
    """Put the coefficients on the ladder, and together with what lies there in pairs."""
    shared, basis = layout.entry.shape[0], basis_of(layout)
    n = state.steps[block]
    at = rung(layout, block, 0, n)
    for i in range(shared * basis):
        copy(state.ladder, at + i, state.coefficients, block * shared * basis + i)
    level = 0
    while n & 1:
        first, second = rung(layout, block, level, n - 1), rung(layout, block, level, n)
        level, n = level + 1, n >> 1
        at = rung(layout, block, level, n)
        for p in range(shared):
            for b in range(basis):
                to = at + p * basis + b
                clear(state.ladder, to)
                if b >= shared:  # what enters is the same in both steps
                    add(state.ladder, to, state.ladder, second + p * basis + b)
                for r in range(shared):
                    add_product(
                        state.ladder, to, state.ladder, second + p * basis + r,
                        state.ladder, first + r * basis + b, lanes.same, lanes.same_extreme, 0,
                    )  # fmt: skip
    state.steps[block] += 1


@loop
def materialise(layout: Layout, lanes: Lanes, state: State, scratch: Scratch, block: int) -> None:
    """Write down what enters the shared nodes wherever it has changed: a MatState.

    From here on the coefficients say what has become of it; they begin as the identity.
    """
    shared, basis = layout.entry.shape[0], basis_of(layout)
    members, nodes = layout.frame.shape[0], layout.shared.shape[0]
    changed = 0
    for node in range(nodes):
        if state.upset[block, node]:
            changed += layout.affects[node + 1] - layout.affects[node]
    if (
        state.dirty[block]
        or state.flat[block]
        or 2 * changed > members
        or state.steps[block] == layout.steps - 1
    ):
        flatten(layout, lanes, state, scratch, block)
        for m in range(members):
            enter(layout, state, block, m)
    else:
        climb(layout, lanes, state, block)
        for node in range(nodes):
            if state.upset[block, node]:
                for j in range(layout.affects[node], layout.affects[node + 1]):
                    catch_up(layout, lanes, state, scratch, block, layout.affected[j])
                    enter(layout, state, block, layout.affected[j])
    for p in range(shared):
        at = (block * shared + p) * basis
        for b in range(basis):
            clear(state.coefficients, at + b)
        add_one(state.coefficients, at + p)
    state.upset[block, :] = False
    state.stale[block] = state.dirty[block] = state.flat[block] = False
    state.made[0] += 1


@loop
def shared_value(layout: Layout, state: State, block: int, p: int, v: Values, i: int) -> None:
    """Rows i.. of v become the coefficients of trends that an event at shared place p may join."""
    shared, basis = layout.entry.shape[0], basis_of(layout)
    for b in range(basis):
        clear(v, i + b)
    for k in range(layout.inner[p], layout.inner[p + 1]):
        at = (block * shared + layout.inside[k]) * basis
        for b in range(basis):
            add(v, i + b, state.coefficients, at + b)
    if layout.entry[p] >= 0:
        add_one(v, i + layout.entry[p])


@loop
def shared_apply(
    layout: Layout, lanes: Lanes, state: State, block: int, p: int, v: Values, i: int, weights: Values, w: int
) -> None:
    """The event of weight w joins the trends of rows i.. of v."""
    basis = basis_of(layout)
    at = (block * layout.entry.shape[0] + p) * basis
    for b in range(basis):
        add_product(state.coefficients, at + b, v, i + b, weights, w, lanes.shared, lanes.shared_extreme, p)


@loop
def work_ahead(layout: Layout, reads: I64, touches: I64, nodes: I32, blocks: I64, count: int) -> I64:
    """Per block: events of shared nodes, MatStates before them, instances in these, and shared totals read."""
    work = np.zeros((count, 4), np.int64)
    upset = np.zeros(count, np.int64)
    most = np.sum(layout.ring)
    for i in range(nodes.shape[0]):
        block, node = blocks[i], nodes[i]
        if layout.shared[node] >= 0:
            work[block, 0] += 1
            if upset[block] > 0:
                work[block, 1] += 1
                work[block, 2] += min(upset[block], most)
                upset[block] = 0
        work[block, 3] += reads[node]
        upset[block] += touches[node]
    return work
