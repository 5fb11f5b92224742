"""Totals of nodes that members share: one set of coefficients for the windows of all members of a part.

When something enters the nodes of a part for some members only, the coefficients up to then are put on a ladder. The
others catch up later, many steps at once: a rung of level v holds what became of 2^v steps together.
"""

import numpy as np

from stretto.engine.trends.kernels.layout import Lanes, Layout, Reads, Scratch, State
from stretto.engine.trends.kernels.numbers import I32, Values, add, add_one, add_product, clear, copy, loop
from stretto.values.rows import I64


@loop
def size_of(layout: Layout, part: int) -> int:
    """The nodes of a part."""
    return int(layout.places[part + 1] - layout.places[part])


@loop
def basis_of(layout: Layout, part: int) -> int:
    """Its rows: a node each, and what enters."""
    return size_of(layout, part) + int(layout.entries[part + 1] - layout.entries[part])


@loop
def matrix_of(layout: Layout, block: int, part: int) -> int:
    """Where the coefficients of a part begin."""
    return int(block * layout.matrix[-1] + layout.matrix[part])


@loop
def rung(layout: Layout, block: int, part: int, level: int, n: int) -> int:
    """Where the coefficients of rung n of a level begin on the ladder of a part."""
    size = 2 * layout.steps[part]
    matrix = size_of(layout, part) * basis_of(layout, part)
    return int(block * layout.ladder[-1] + layout.ladder[part] + (size - (size >> level) + n) * matrix)


@loop
def catch_up(layout: Layout, lanes: Lanes, state: State, scratch: Scratch, block: int, share: int) -> None:
    """Bring a share's rows, in all open windows of its member, to the beginning of the part's coefficients."""
    part = layout.share_part[share]
    at, last = state.caught[block, share], state.steps[block, part]
    if at == last:
        return
    m, shared, basis, room = (
        layout.share_member[share],
        size_of(layout, part),
        basis_of(layout, part),
        layout.rows,
    )
    ring, width, frame = layout.ring[m], layout.width[m], layout.frame[m]
    first = block * layout.rows + layout.base[m] + layout.share_row[share]
    while at < last:
        # The largest rung that begins here and does not go past the last step, as in a binary number: a member that is
        # n steps behind takes about 2 log n rungs.
        level = 0
        while at % (2 << level) == 0 and at + (2 << level) <= last:
            level += 1
        matrix = rung(layout, block, part, level, at >> level)
        for k in range(state.low[block, frame], state.high[block, frame] + 1):
            row = first + (k % ring) * width
            for p in range(shared):
                clear(scratch.values, room + p)
                for b in range(basis):
                    add_product(
                        scratch.values, room + p, state.totals, row + b,
                        state.ladder, matrix + p * basis + b, lanes.member, lanes.member_extreme, share,
                    )  # fmt: skip
            for p in range(shared):
                copy(state.totals, row + p, scratch.values, room + p)
        at += 1 << level
    state.caught[block, share] = last


@loop
def add_shared_total(
    layout: Layout, lanes: Lanes, state: State, scratch: Scratch,
    block: int, share: int, row: int, p: int, v: Values, i: int,
) -> None:  # fmt: skip
    """Add to row i of v the total of a part's node p by its coefficients; the share's rows begin at `row`."""
    catch_up(layout, lanes, state, scratch, block, share)
    part = layout.share_part[share]
    basis = basis_of(layout, part)
    at = matrix_of(layout, block, part) + p * basis
    for b in range(basis):
        add_product(
            v, i, state.totals, row + b, state.coefficients, at + b, lanes.member, lanes.member_extreme, share
        )


@loop
def add_total(
    layout: Layout, lanes: Lanes, state: State, scratch: Scratch,
    block: int, share: int, row: int, place: int, v: Values, i: int,
) -> None:  # fmt: skip
    """Add to row i of v the total at a place, of this share or (-1) a member's own, of the instance at `row`."""
    if share < 0 or state.flat[block, layout.share_part[share]]:
        add(v, i, state.totals, row + place)
    else:
        first = layout.share_row[share]
        add_shared_total(layout, lanes, state, scratch, block, share, row + first, place - first, v, i)


@loop
def flatten(layout: Layout, lanes: Lanes, state: State, scratch: Scratch, block: int, part: int) -> None:
    """Write the totals of a part's nodes into the rows of all open instances."""
    if state.flat[block, part]:
        return
    shared, room = size_of(layout, part), layout.rows + layout.most
    for share in range(layout.shares[part], layout.shares[part + 1]):
        m = layout.share_member[share]
        frame, first = layout.frame[m], block * layout.rows + layout.base[m] + layout.share_row[share]
        for k in range(state.low[block, frame], state.high[block, frame] + 1):
            row = first + (k % layout.ring[m]) * layout.width[m]
            for p in range(shared):
                clear(scratch.values, room + p)
                add_shared_total(
                    layout, lanes, state, scratch, block, share, row, p, scratch.values, room + p
                )
            for p in range(shared):
                copy(state.totals, row + p, scratch.values, room + p)
        state.caught[block, share] = 0
    state.steps[block, part] = 0
    state.flat[block, part] = True


@loop
def enter(layout: Layout, lanes: Lanes, state: State, scratch: Scratch, block: int, share: int) -> None:
    """Write down what enters a part in all open windows of a share, whose own rows are up to date."""
    part, m = layout.share_part[share], layout.share_member[share]
    shared, frame = size_of(layout, part), layout.frame[m]
    first, turn = layout.entries[part], share - layout.shares[part]
    for k in range(state.low[block, frame], state.high[block, frame] + 1):
        row = block * layout.rows + layout.base[m] + (k % layout.ring[m]) * layout.width[m]
        for e in range(first, layout.entries[part + 1]):
            seat, at = layout.entered[e] + turn, row + layout.share_row[share] + shared + e - first
            clear(state.totals, at)
            if layout.start[seat]:
                add_one(state.totals, at)
            for j in range(layout.own[seat], layout.own[seat + 1]):
                # The rows of this part are totals just now, whatever its coefficients say.
                other = layout.source_share[j]
                if other == share:
                    add(state.totals, at, state.totals, row + layout.source[j])
                else:
                    add_total(
                        layout, lanes, state, scratch, block, other, row, layout.source[j], state.totals, at
                    )


@loop
def climb(layout: Layout, lanes: Lanes, state: State, block: int, part: int) -> None:
    """Put the coefficients on the ladder, and together with what lies there in pairs."""
    shared, basis = size_of(layout, part), basis_of(layout, part)
    n = state.steps[block, part]
    at, matrix = rung(layout, block, part, 0, n), matrix_of(layout, block, part)
    for i in range(shared * basis):
        copy(state.ladder, at + i, state.coefficients, matrix + i)
    level = 0
    while n & 1:
        first, second = rung(layout, block, part, level, n - 1), rung(layout, block, part, level, n)
        level, n = level + 1, n >> 1
        at = rung(layout, block, part, level, n)
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
    state.steps[block, part] += 1


@loop
def changed_shares(layout: Layout, state: State, block: int, part: int) -> int:
    """How many shares of a part something else enters than was written down; some may count twice."""
    changed = 0
    for touch in range(layout.touched[part], layout.touched[part + 1]):
        if state.upset[block, touch]:
            changed += layout.concerns[touch + 1] - layout.concerns[touch]
    return changed


@loop
def materialise(layout: Layout, lanes: Lanes, state: State, scratch: Scratch, block: int, part: int) -> None:
    """Write down what enters the nodes of a part wherever it has changed: a MatState.

    From here on the coefficients say what has become of it; they begin as the identity.
    """
    shared, basis = size_of(layout, part), basis_of(layout, part)
    first, last = layout.shares[part], layout.shares[part + 1]
    if (
        state.dirty[block, part]
        or state.flat[block, part]
        or 2 * changed_shares(layout, state, block, part) > last - first
        or state.steps[block, part] == layout.steps[part] - 1
    ):
        flatten(layout, lanes, state, scratch, block, part)
        for share in range(first, last):
            enter(layout, lanes, state, scratch, block, share)
    else:
        climb(layout, lanes, state, block, part)
        for touch in range(layout.touched[part], layout.touched[part + 1]):
            if state.upset[block, touch]:
                for j in range(layout.concerns[touch], layout.concerns[touch + 1]):
                    catch_up(layout, lanes, state, scratch, block, layout.concerned[j])
                    enter(layout, lanes, state, scratch, block, layout.concerned[j])
    matrix = matrix_of(layout, block, part)
    for p in range(shared):
        for b in range(basis):
            clear(state.coefficients, matrix + p * basis + b)
        add_one(state.coefficients, matrix + p * basis + p)
    state.upset[block, layout.touched[part] : layout.touched[part + 1]] = False
    state.stale[block, part] = state.dirty[block, part] = state.flat[block, part] = False
    state.made[0] += 1


@loop
def shared_value(layout: Layout, state: State, block: int, part: int, p: int, v: Values, i: int) -> None:
    """Rows i.. of v become the coefficients of trends that an event at node p of a part may join."""
    basis, matrix = basis_of(layout, part), matrix_of(layout, block, part)
    node = layout.places[part] + p
    for b in range(basis):
        clear(v, i + b)
    for k in range(layout.inner[node], layout.inner[node + 1]):
        at = matrix + layout.inside[k] * basis
        for b in range(basis):
            add(v, i + b, state.coefficients, at + b)
    if layout.entry[node] >= 0:
        add_one(v, i + layout.entry[node])


@loop
def shared_apply(
    layout: Layout, lanes: Lanes, state: State,
    block: int, part: int, p: int, v: Values, i: int, weights: Values, w: int,
) -> None:  # fmt: skip
    """The event of weight w joins the trends of rows i.. of v."""
    basis = basis_of(layout, part)
    at, node = matrix_of(layout, block, part) + p * basis, layout.places[part] + p
    for b in range(basis):
        add_product(
            state.coefficients, at + b, v, i + b, weights, w, lanes.shared, lanes.shared_extreme, node
        )


@loop
def work_ahead(
    layout: Layout, most: I64, reads: Reads, touches: I64, nodes: I32, blocks: I64, count: int
) -> tuple[I64, I64]:
    """Per block and part: events of its nodes, MatStates before them, and instances in these, of at most `most`.

    And per block and link the totals that events read along it.
    """
    work = np.zeros((count, len(most), 3), np.int64)
    read = np.zeros((count, len(reads.links)), np.int64)
    upset = np.zeros((count, len(most)), np.int64)
    for i in range(nodes.shape[0]):
        block, node = blocks[i], nodes[i]
        part = layout.part[node]
        if part >= 0:
            work[block, part, 0] += 1
            if upset[block, part] > 0:
                work[block, part, 1] += 1
                work[block, part, 2] += min(upset[block, part], most[part])
                upset[block, part] = 0
        for j in range(reads.first[node], reads.first[node + 1]):
            read[block, reads.link[j]] += reads.totals[j]
        for j in range(layout.affects[node], layout.affects[node + 1]):
            touch = layout.touch[j]
            upset[block, layout.touches_part[touch]] += touches[touch]
    return work, read
