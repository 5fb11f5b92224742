"""The events of closed windows, one cell (a window and a partition) after another, in order of time.

Values of a node stand side by side, one per COMPONENT: a member that has the node or, at a shared node, a MatState:
then they say how many trends lead from that state to the event, and `basis` what the state is for each member of the
part. Parts are independent: each has MatStates of its own, and reads what others have as what it is for a member. Sums
over the earlier events of an edge come from STORES: trees of which only prefixes are read, so that nothing is ever
subtracted, or lists to be scanned.
"""

from stretto.engine.trends.kernels.numbers import I32, Values, add, add_one, add_product, clear, copy, loop
from stretto.engine.trends.kernels.tables import Tables
from stretto.engine.trends.kernels.trees import keep, scan_all, scan_some, sum_all, sum_one, sum_some
from stretto.values.rows import I64

# ---- reads -------------------------------------------------------------------------------------------------


@loop
def _found(t: Tables, read: int, number: int, cell: int) -> tuple[int, int]:
    """The group that an occurrence reads, and how many of its leaves (0: none)."""
    at = t.target_at[read]
    if at < 0:
        return int(t.group_first[t.read_store[read]] + cell), 1
    return int(t.standing[at + number]), int(t.standing[t.count_at[read] + number])


@loop
def _read_all(v: Values, t: Tables, read: int, number: int, cell: int, to: int, comps: int) -> None:
    group, count = _found(t, read, number, cell)
    if count == 0:
        return
    row, width = t.group_row[group], t.group_width[group]
    if t.row_at[read] >= 0:
        scan_all(v, row, width, count, to, comps, t.holds, t.pairs[t.row_at[read] + number])
    elif width == 1 and comps == 1 and v.u.shape[1] == 1 and v.x.shape[1] == 0:
        sum_one(v.u, v.f, v.e, row, count, to)
    else:
        sum_all(v, row, width, count, to, comps)


@loop
def _read_some(v: Values, t: Tables, read: int, number: int, cell: int, to: int) -> None:
    group, count = _found(t, read, number, cell)
    if count == 0:
        return
    first, last = t.read_pair_first[read], t.read_pair_first[read + 1]
    row, width = t.group_row[group], t.group_width[group]
    if t.row_at[read] >= 0:
        begin = t.pairs[t.row_at[read] + number]
        scan_some(v, t, row, width, count, to, first, last, t.holds, begin)
    elif width == 1 and last == first + 1 and v.u.shape[1] == 1 and v.x.shape[1] == 0:
        sum_one(v.u, v.f, v.e, row, count, to + t.read_to[first])
    else:
        sum_some(v, t, row, width, count, to, first, last)


@loop
def _part_read(t: Tables, read: int) -> int:
    """The part whose values a read is of; -1: members' own."""
    return int(t.part[t.store_source[t.read_store[read]]])


@loop
def _read_members(
    v: Values,
    w: Values,
    t: Tables,
    read: int,
    number: int,
    cell: int,
    to: int,
    states: int,
) -> None:
    """Sums at nodes of a part, as what they are for each member: states times what leads on from them."""
    part = _part_read(t, read)
    for c in range(states):
        clear(w, t.sums + c)
    _read_all(w, t, read, number, cell, t.sums, states)
    for i in range(t.read_pair_first[read], t.read_pair_first[read + 1]):
        member, place = t.read_from[i], to + t.read_to[i]
        for c in range(states):
            state = t.basis[part] + c * t.sharers[part] + member
            row = t.share_first[part] + member
            add_product(v, place, v, state, w, t.sums + c, t.linear, t.extreme, row)


# ---- occurrences -------------------------------------------------------------------------------------------


@loop
def _passes(t: Tables, mask: int, number: int) -> bool:
    return mask < 0 or bool(t.mask[t.mask_at[mask] + number])


@loop
def _start(v: Values, t: Tables, node: int, number: int, to: int) -> None:
    for start in range(t.start_first[node], t.start_first[node + 1]):
        if _passes(t, t.start_mask[start], number):
            first = t.start_comp_first[start]
            for i in range(first, t.start_comp_first[start + 1]):
                add_one(v, to + t.start_comp[i])


@loop
def _weigh(v: Values, t: Tables, to: int, weights: Values, weight: int, lanes: int) -> None:
    """The value at row `to` times the event's weights; row 0 is free for this."""
    if lanes >= 0 and v.f[to, 0] != 0.0:
        copy(v, 0, v, to)
        clear(v, to)
        add_product(v, to, v, 0, weights, weight, t.weigh_linear, t.weigh_extreme, lanes)


@loop
def _open(
    v: Values,
    w: Values,
    t: Tables,
    node: int,
    number: int,
    cell: int,
    states: int,
    before: I64,
) -> None:
    """A new MatState, number `states` of its part: what enters a shared node now, for every member of the part."""
    part = t.part[node]
    to = t.basis[part] + states * t.sharers[part]
    for member in range(t.sharers[part]):
        clear(v, to + member)
    _start(v, t, node, number, to)
    for read in range(t.read_first[node], t.read_first[node + 1]):
        if not t.read_enters[read]:
            continue
        source = _part_read(t, read)
        if source >= 0:
            _read_members(v, w, t, read, number, cell, to, before[source])
        else:
            _read_some(v, t, read, number, cell, to)


@loop
def _place(t: Tables, store: int, number: int, cell: int) -> tuple[int, int]:
    """The group that keeps an occurrence, and its leaf there (-1: it is not kept)."""
    at = t.source_at[store]
    if at < 0:
        return int(t.group_first[store] + cell), 0
    return int(t.standing[at + number]), int(t.standing[t.leaf_at[store] + number])


@loop
def _settle(v: Values, t: Tables, node: int, number: int, cell: int, value: int) -> None:
    """Keep the values of an occurrence for later events, and for the totals."""
    for store in range(t.store_first[node], t.store_first[node + 1]):
        group, leaf = _place(t, store, number, cell)
        if leaf >= 0:
            first = t.store_comp_first[store]
            for i in range(first, t.store_comp_first[store + 1]):
                keep(v, t, store, group, leaf, value + t.store_comp[i], i - first)
    for end in range(t.end_first[node], t.end_first[node + 1]):
        if _passes(t, t.end_mask[end], number):
            to = t.totals + cell * t.members
            for i in range(t.end_comp_first[end], t.end_comp_first[end + 1]):
                one = value + t.end_comp[i]
                if v.f[one, 0] != 0.0:
                    add(v, to + t.end_member[i], v, one)


@loop
def _settle_shared(w: Values, t: Tables, node: int, number: int, cell: int, value: int, states: int) -> None:
    for store in range(t.store_first[node], t.store_first[node + 1]):
        group, leaf = _place(t, store, number, cell)
        if leaf >= 0:
            for c in range(states):
                keep(w, t, store, group, leaf, value + c, c)
    for end in range(t.end_first[node], t.end_first[node + 1]):
        if _passes(t, t.end_mask[end], number):
            to = t.ends + t.end_row[end] * t.most
            for c in range(states):
                if w.f[value + c, 0] != 0.0:
                    add(w, to + c, w, value + c)


@loop
def _finish(v: Values, w: Values, t: Tables, nodes: int, cell: int, opened: I64) -> None:
    """What ended at shared nodes becomes part of each member's totals."""
    for node in range(nodes):
        part = t.part[node]
        if part < 0:
            continue
        for end in range(t.end_first[node], t.end_first[node + 1]):
            ended = t.ends + t.end_row[end] * t.most
            for i in range(t.end_comp_first[end], t.end_comp_first[end + 1]):
                to = t.totals + cell * t.members + t.end_member[i]
                row = t.share_first[part] + t.end_comp[i]
                for c in range(opened[part]):
                    state = t.basis[part] + c * t.sharers[part] + t.end_comp[i]
                    add_product(v, to, v, state, w, ended + c, t.linear, t.extreme, row)


@loop
def _value(
    v: Values, t: Tables, node: int, number: int, cell: int, own: int,
    w: Values, before: I64, weights: Values, weight: int,
) -> None:  # fmt: skip
    """Rows own.. of v become what an event of a node that is in no part ends, for its components."""
    comps, lanes = t.comps[node], t.weigh_first[node]
    for c in range(comps):
        clear(v, own + c)
    _start(v, t, node, number, own)
    for read in range(t.read_first[node], t.read_first[node + 1]):
        part = _part_read(t, read)
        if part >= 0:
            _read_members(v, w, t, read, number, cell, own, before[part])
        else:
            _read_some(v, t, read, number, cell, own)
    for c in range(comps):
        _weigh(v, t, own + c, weights, weight, t.weigh[lanes + c])


@loop
def _shared_value(
    w: Values, t: Tables, node: int, number: int, cell: int, common: int,
    states: int, before: int, matstate: int, weights: Values, weight: int,
) -> None:  # fmt: skip
    """Rows common.. of w become what an event of a part's node ends: a row per MatState, of trends that begin there."""
    for c in range(states):
        clear(w, common + c)
    if matstate >= 0:
        add_one(w, common + matstate)
    for read in range(t.read_first[node], t.read_first[node + 1]):
        if not t.read_enters[read]:
            _read_all(w, t, read, number, cell, common, before)
    for c in range(states):
        _weigh(w, t, common + c, weights, weight, t.weigh[t.weigh_first[node]])


@loop
def run_ticks(
    first_tick: int,
    last_tick: int,
    opened: I64,
    nodes: int,
    t: Tables,
    tick_first: I64,
    tick_cell: I64,
    node_of: I32,
    number_of: I64,
    weight_of: I64,
    matstate_of: I64,
    v: Values,
    w: Values,
    weights: Values,
) -> None:
    """Go through these ticks. `opened`: per part the MatStates of the first one's cell so far, afterwards the last's.

    A tick is all occurrences (events at nodes) of one cell and time. `v`: own values, `w`: shared ones.
    """
    before = opened.copy()
    for tick in range(first_tick, last_tick):
        cell = tick_cell[tick]
        begin, end = tick_first[tick], tick_first[tick + 1]
        if tick == 0 or tick_cell[tick - 1] != cell:
            opened[:] = 0
            for row in range(t.ends, t.common):
                clear(w, row)
        # Events of one time do not see each other. So a tick has two passes: first all of its occurrences read what
        # earlier ticks kept, then all of them are kept. In between their values lie from `own` and `common` on.
        before[:] = opened
        for i in range(begin, end):
            part = t.part[node_of[i]]
            if part >= 0 and matstate_of[i] == opened[part]:
                _open(v, w, t, node_of[i], number_of[i], cell, opened[part], before)
                opened[part] += 1
        own, common = t.own, t.common
        for i in range(begin, end):
            node, number = node_of[i], number_of[i]
            part = t.part[node]
            if part >= 0:
                states = opened[part]
                _shared_value(
                    w,
                    t,
                    node,
                    number,
                    cell,
                    common,
                    states,
                    before[part],
                    matstate_of[i],
                    weights,
                    weight_of[i],
                )
                common += states
            else:
                _value(v, t, node, number, cell, own, w, before, weights, weight_of[i])
                own += t.comps[node]
        own, common = t.own, t.common  # the second pass, in the order of the first
        for i in range(begin, end):
            node = node_of[i]
            part = t.part[node]
            if part >= 0:
                _settle_shared(w, t, node, number_of[i], cell, common, opened[part])
                common += opened[part]
            else:
                _settle(v, t, node, number_of[i], cell, own)
                own += t.comps[node]
        if tick + 1 == tick_cell.shape[0] or tick_cell[tick + 1] != cell:
            _finish(v, w, t, nodes, cell, opened)
