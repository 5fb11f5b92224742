"""One pass over events in time order: each joins the trends that it may, of every open window."""

import numpy as np

from stretto.engine.trends.kernels.layout import Lanes, Layout, Out, Scratch, State
from stretto.engine.trends.kernels.numbers import (
    I32,
    MOST,
    Values,
    add,
    add_one,
    add_product,
    clear,
    copy,
    loop,
)
from stretto.engine.trends.kernels.shared import (
    add_total,
    basis_of,
    flatten,
    materialise,
    shared_apply,
    shared_value,
)
from stretto.values.rows import I64


@loop
def report(
    layout: Layout, lanes: Lanes, state: State, scratch: Scratch,
    block: int, frame: int, k: int, out: Out, n: int,
) -> int:  # fmt: skip
    """Put the totals of window k of all members of a frame, those with a trend, from n on; and how many there are."""
    for m in range(layout.frame.shape[0]):
        if layout.frame[m] != frame:
            continue
        row = block * layout.rows + layout.base[m] + (k % layout.ring[m]) * layout.width[m]
        clear(out.values, n)
        for j in range(layout.ends[m], layout.ends[m + 1]):
            share = layout.end_share[j]
            add_total(layout, lanes, state, scratch, block, share, row, layout.end[j], out.values, n)
        if out.values.f[n, 0] != 0.0:
            out.member[n] = m
            out.start[n] = k * layout.slide[frame]
            out.key[n] = state.key[block]
            n += 1
    return n


@loop
def open_window(layout: Layout, state: State, block: int, frame: int, k: int) -> None:
    """Nothing is known of window k yet. What enters is to be written down before a node of a part takes an event."""
    for m in range(layout.frame.shape[0]):
        if layout.frame[m] == frame:
            width = layout.width[m]
            row = block * layout.rows + layout.base[m] + (k % layout.ring[m]) * width
            for i in range(row, row + width):
                clear(state.totals, i)
            for j in range(layout.joins[m], layout.joins[m + 1]):
                part = layout.joined[j]
                state.stale[block, part] = state.dirty[block, part] = True


@loop
def advance(
    layout: Layout, lanes: Lanes, state: State, scratch: Scratch, block: int, t: int, out: Out, n: int
) -> int:
    """Report the windows of a block that end at t or before, and open those that hold t."""
    # Open windows are low..high, at most `ring` of them, so window k has the slot k modulo the ring to itself. Nothing
    # opens or ends before `change`, and until then an event costs one comparison here.
    change = MOST
    for frame in range(layout.window.shape[0]):
        window, slide = layout.window[frame], layout.slide[frame]
        first, last = (t - window) // slide + 1, t // slide
        low, high = state.low[block, frame], state.high[block, frame]
        for k in range(low, min(high, first - 1) + 1):
            n = report(layout, lanes, state, scratch, block, frame, k, out, n)
        for k in range(max(high + 1, first), last + 1):
            open_window(layout, state, block, frame, k)
        state.low[block, frame] = max(low, first)
        state.high[block, frame] = last
        change = min(change, (last + 1) * slide)
        if first <= last:
            change = min(change, first * slide + window)
    state.change[block] = change
    return n


@loop
def own_value(
    layout: Layout, lanes: Lanes, state: State, scratch: Scratch,
    block: int, node: int, seat: int, row: int, v: Values, i: int,
) -> None:  # fmt: skip
    """Row i of v becomes the trends of one instance that an event of this node in this seat may join.

    If the node is in a part, that is flat in this block.
    """
    clear(v, i)
    if layout.start[seat]:
        add_one(v, i)
    for k in range(layout.own[seat], layout.own[seat + 1]):
        share = layout.source_share[k]
        add_total(layout, lanes, state, scratch, block, share, row, layout.source[k], v, i)
    part, p = layout.part[node], layout.shared[node]
    if part >= 0:
        first = row + layout.place[seat] - p
        for k in range(layout.inner[layout.places[part] + p], layout.inner[layout.places[part] + p + 1]):
            add(v, i, state.totals, first + layout.inside[k])


@loop
def bring_up_to_date(
    layout: Layout, lanes: Lanes, state: State, scratch: Scratch, block: int, part: int
) -> None:
    if state.sharing[block, part]:
        materialise(layout, lanes, state, scratch, block, part)
    else:
        flatten(layout, lanes, state, scratch, block, part)


@loop
def prepare(layout: Layout, lanes: Lanes, state: State, scratch: Scratch, block: int, part: int) -> bool:
    """Make a part's totals ready for an event of its nodes (-1: nothing to do); whether the event is shared."""
    if part < 0:
        return False
    shares = bool(state.sharing[block, part])
    if state.flat[block, part] == shares or (shares and state.stale[block, part]):
        bring_up_to_date(layout, lanes, state, scratch, block, part)
    return shares


@loop
def upset_parts(layout: Layout, state: State, block: int, node: int) -> None:
    """After an event of a node something else enters the parts that it touches."""
    for j in range(layout.affects[node], layout.affects[node + 1]):
        touch = layout.touch[j]
        state.stale[block, layout.touches_part[touch]] = state.upset[block, touch] = True


@loop
def take_one(
    layout: Layout,
    lanes: Lanes,
    state: State,
    scratch: Scratch,
    block: int,
    node: int,
    weights: Values,
    w: int,
) -> None:
    """An event of one node, alone at its time."""
    part, p = layout.part[node], layout.shared[node]
    if prepare(layout, lanes, state, scratch, block, part):
        at = layout.matrix[-1]
        shared_value(layout, state, block, part, p, scratch.columns, at)
        shared_apply(layout, lanes, state, block, part, p, scratch.columns, at, weights, w)
    else:
        at = layout.rows + 2 * layout.most
        for seat in range(layout.users[node], layout.users[node + 1]):
            m = layout.member[seat]
            low = state.low[block, layout.frame[m]]
            ring = layout.ring[m]
            slot = low % ring if ring > 1 else 0
            for _ in range(low, state.high[block, layout.frame[m]] + 1):
                row = block * layout.rows + layout.base[m] + slot * layout.width[m]
                own_value(layout, lanes, state, scratch, block, node, seat, row, scratch.values, at)
                add_product(
                    state.totals, row + layout.place[seat], scratch.values, at,
                    weights, w, lanes.seat, lanes.seat_extreme, seat,
                )  # fmt: skip
                slot = slot + 1 if slot + 1 < ring else 0
    upset_parts(layout, state, block, node)


@loop
def look(layout: Layout, lanes: Lanes, state: State, scratch: Scratch, block: int, node: int) -> None:
    """First half of `take_one`: what the event may join, kept in scratch from rows `used` on, which move on."""
    used = scratch.used
    part = layout.part[node]
    if prepare(layout, lanes, state, scratch, block, part):
        shared_value(layout, state, block, part, layout.shared[node], scratch.columns, used[1])
        used[1] += basis_of(layout, part)
        return
    for seat in range(layout.users[node], layout.users[node + 1]):
        m = layout.member[seat]
        low = state.low[block, layout.frame[m]]
        ring = layout.ring[m]
        for k in range(low, state.high[block, layout.frame[m]] + 1):
            row = block * layout.rows + layout.base[m] + (k % ring) * layout.width[m]
            own_value(layout, lanes, state, scratch, block, node, seat, row, scratch.values, used[0])
            used[0] += 1


@loop
def join(layout: Layout, lanes: Lanes, state: State, scratch: Scratch, block: int, node: int, w: int) -> None:
    """Second half of `take_one`, in the same order."""
    used = scratch.used
    part, p = layout.part[node], layout.shared[node]
    if part >= 0 and state.sharing[block, part]:
        shared_apply(layout, lanes, state, block, part, p, scratch.columns, used[1], scratch.weights, w)
        used[1] += basis_of(layout, part)
    else:
        for seat in range(layout.users[node], layout.users[node + 1]):
            m = layout.member[seat]
            low = state.low[block, layout.frame[m]]
            ring = layout.ring[m]
            for k in range(low, state.high[block, layout.frame[m]] + 1):
                row = block * layout.rows + layout.base[m] + (k % ring) * layout.width[m]
                add_product(
                    state.totals, row + layout.place[seat], scratch.values, used[0],
                    scratch.weights, w, lanes.seat, lanes.seat_extreme, seat,
                )  # fmt: skip
                used[0] += 1
    upset_parts(layout, state, block, node)


@loop
def take_tie(
    layout: Layout, lanes: Lanes, state: State, scratch: Scratch,
    nodes: I32, block: int, weights: Values, rows: I64, i: int, j: int,
) -> None:  # fmt: skip
    """Events i up to j, of the same time and block, ordered by node; they do not see each other.

    Those of one node may join the same trends: they are one event with the sum of their weights.
    """
    met, count = scratch.met, 0
    for k in range(i, j):
        if count > 0 and met[count - 1] == nodes[k]:
            add(scratch.weights, count - 1, weights, rows[k])
        else:
            met[count] = nodes[k]
            copy(scratch.weights, count, weights, rows[k])
            count += 1
    # All look before any joins: otherwise an event would extend trends that end at its own time.
    scratch.used[0] = scratch.used[1] = 0
    for g in range(count):
        look(layout, lanes, state, scratch, block, met[g])
    scratch.used[0] = scratch.used[1] = 0
    for g in range(count):
        join(layout, lanes, state, scratch, block, met[g], g)


@loop
def take(
    layout: Layout, lanes: Lanes, state: State, scratch: Scratch,
    ts: I64, nodes: I32, blocks: I64, weights: Values, rows: I64, i: int, n: int, out: Out,
) -> tuple[int, int]:  # fmt: skip
    """Count events in from i on, one entry per event and node; report windows that end on the way.

    The entries are in order of time, block and node; `rows` are their rows of weights. Back come the entry to go on
    with, when there may not be room for the next windows, and the number of results, which was n before.
    """
    count = ts.shape[0]
    enough = out.member.shape[0] - np.sum(
        layout.ring
    )  # so there is room for all windows that one step may end
    while i < count:
        t, block, j = ts[i], blocks[i], i + 1
        if t >= state.change[block]:
            if n > enough:
                break
            n = advance(layout, lanes, state, scratch, block, t, out, n)
        while j < count and ts[j] == t and blocks[j] == block:
            j += 1
        if j == i + 1:
            take_one(layout, lanes, state, scratch, block, nodes[i], weights, rows[i])
        else:
            take_tie(layout, lanes, state, scratch, nodes, block, weights, rows, i, j)
        i = j
    return i, n


@loop
def close(
    layout: Layout, lanes: Lanes, state: State, scratch: Scratch,
    blocks: I64, i: int, until: int, n: int, out: Out,
) -> tuple[int, int]:  # fmt: skip
    """Report the windows of these blocks, from number i on, that end at `until` or before; returns as `take`."""
    enough = out.member.shape[0] - np.sum(layout.ring)
    while i < blocks.shape[0] and n <= enough:
        block = blocks[i]
        for frame in range(layout.window.shape[0]):
            first = (until - layout.window[frame]) // layout.slide[frame] + 1
            low, high = state.low[block, frame], state.high[block, frame]
            for k in range(low, min(high, first - 1) + 1):
                n = report(layout, lanes, state, scratch, block, frame, k, out, n)
            state.low[block, frame] = max(low, min(first, high + 1))
        i += 1
    return i, n


@loop
def order_ties(ts: I64, nodes: I32, blocks: I64) -> I64:
    """The entries in order of time, block and node, given those of the same time side by side."""
    order = np.arange(ts.shape[0])
    count = np.max(nodes) + 1 if ts.shape[0] else 1
    i = 0
    while i < ts.shape[0]:
        j = i + 1
        while j < ts.shape[0] and ts[j] == ts[i]:
            j += 1
        if j > i + 1:
            order[i:j] = i + np.argsort(blocks[i:j] * count + nodes[i:j], kind="mergesort")
        i = j
    return order
