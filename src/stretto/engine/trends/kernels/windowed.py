"""The events of closed windows, one cell (a window and a partition) after another, in order of time.

Values of a node stand side by side, one per COMPONENT: a member that has the node or, at a shared node, a MatState:
then they say how many trends lead from that state to the event, and `basis` what the state is for each member. Sums
over the earlier events of an edge come from STORES: trees of which only prefixes are read, so that nothing is ever
subtracted, or lists to be scanned.

All tables of integers lie in one array, the tape `t`: it begins with where each of them begins, `t[COMPS]` and so on. A
loop over many arrays would spend most of its time on counting references to them.
"""

from stretto.engine.trends.kernels.numbers import I32, Values, add, add_one, add_product, clear, copy, loop
from stretto.engine.trends.kernels.tape import (
    BASIS,
    COMMON,
    COMPS,
    COUNT_AT,
    END_COMP,
    END_COMP_FIRST,
    END_FIRST,
    END_MASK,
    END_MEMBER,
    END_ROW,
    ENDS,
    GROUP_FIRST,
    GROUP_ROW,
    GROUP_WIDTH,
    LEAF_AT,
    MASK_AT,
    MEMBERS,
    MOST,
    OWN,
    READ_ENTERS,
    READ_FIRST,
    READ_FROM,
    READ_PAIR_FIRST,
    READ_STORE,
    READ_TO,
    ROW_AT,
    SHARED,
    SOURCE_AT,
    START_COMP,
    START_COMP_FIRST,
    START_FIRST,
    START_MASK,
    STORE_COMP,
    STORE_COMP_FIRST,
    STORE_FIRST,
    STORE_SOURCE,
    SUMS,
    TARGET_AT,
    TOTALS,
    WEIGH,
    WEIGH_FIRST,
)
from stretto.engine.trends.kernels.trees import keep, scan_all, scan_some, sum_all, sum_one, sum_some
from stretto.values.rows import I64, Bool

# ---- reads -------------------------------------------------------------------------------------------------


@loop
def _found(t: I64, s: I32, read: int, number: int, cell: int) -> tuple[int, int]:
    """The group that an occurrence reads, and how many of its leaves (0: none)."""
    at = t[t[TARGET_AT] + read]
    if at < 0:
        return int(t[t[GROUP_FIRST] + t[t[READ_STORE] + read]] + cell), 1
    return int(s[at + number]), int(s[t[t[COUNT_AT] + read] + number])


@loop
def _read_all(
    v: Values, t: I64, s: I32, r: I64, h: Bool, read: int, number: int, cell: int, to: int, comps: int
) -> None:
    group, count = _found(t, s, read, number, cell)
    if count == 0:
        return
    row, width = t[t[GROUP_ROW] + group], t[t[GROUP_WIDTH] + group]
    if t[t[ROW_AT] + read] >= 0:
        scan_all(v, row, width, count, to, comps, h, r[t[t[ROW_AT] + read] + number])
    elif width == 1 and comps == 1 and v.u.shape[1] == 1 and v.x.shape[1] == 0:
        sum_one(v.u, v.f, v.e, row, count, to)
    else:
        sum_all(v, row, width, count, to, comps)


@loop
def _read_some(
    v: Values, t: I64, s: I32, r: I64, h: Bool, read: int, number: int, cell: int, to: int
) -> None:
    group, count = _found(t, s, read, number, cell)
    if count == 0:
        return
    first, last = t[t[READ_PAIR_FIRST] + read], t[t[READ_PAIR_FIRST] + read + 1]
    row, width = t[t[GROUP_ROW] + group], t[t[GROUP_WIDTH] + group]
    if t[t[ROW_AT] + read] >= 0:
        begin = r[t[t[ROW_AT] + read] + number]
        scan_some(v, t, row, width, count, to, first, last, h, begin)
    elif width == 1 and last == first + 1 and v.u.shape[1] == 1 and v.x.shape[1] == 0:
        sum_one(v.u, v.f, v.e, row, count, to + t[t[READ_TO] + first])
    else:
        sum_some(v, t, row, width, count, to, first, last)


@loop
def _read_members(
    v: Values,
    w: Values,
    t: I64,
    s: I32,
    r: I64,
    h: Bool,
    read: int,
    number: int,
    cell: int,
    to: int,
    states: int,
    linear: I32,
    extreme: I32,
) -> None:
    """Sums at shared nodes, as what they are for each member: states times what leads on from them."""
    for c in range(states):
        clear(w, t[SUMS] + c)
    _read_all(w, t, s, r, h, read, number, cell, t[SUMS], states)
    for i in range(t[t[READ_PAIR_FIRST] + read], t[t[READ_PAIR_FIRST] + read + 1]):
        member, place = t[t[READ_FROM] + i], to + t[t[READ_TO] + i]
        for c in range(states):
            state = t[BASIS] + c * t[MEMBERS] + member
            add_product(v, place, v, state, w, t[SUMS] + c, linear, extreme, member)


@loop
def _reads_shared(t: I64, read: int) -> bool:
    return bool(t[t[SHARED] + t[t[STORE_SOURCE] + t[t[READ_STORE] + read]]])


# ---- occurrences -------------------------------------------------------------------------------------------


@loop
def _passes(t: I64, b: Bool, mask: int, number: int) -> bool:
    return mask < 0 or bool(b[t[t[MASK_AT] + mask] + number])


@loop
def _start(v: Values, t: I64, b: Bool, node: int, number: int, to: int) -> None:
    for start in range(t[t[START_FIRST] + node], t[t[START_FIRST] + node + 1]):
        if _passes(t, b, t[t[START_MASK] + start], number):
            first = t[t[START_COMP_FIRST] + start]
            for i in range(first, t[t[START_COMP_FIRST] + start + 1]):
                add_one(v, to + t[t[START_COMP] + i])


@loop
def _weigh(v: Values, to: int, weights: Values, weight: int, linear: I32, extreme: I32, lanes: int) -> None:
    """The value at row `to` times the event's weights; row 0 is free for this."""
    if lanes >= 0 and v.f[to, 0] != 0.0:
        copy(v, 0, v, to)
        clear(v, to)
        add_product(v, to, v, 0, weights, weight, linear, extreme, lanes)


@loop
def _open(
    v: Values,
    w: Values,
    t: I64,
    s: I32,
    b: Bool,
    r: I64,
    h: Bool,
    node: int,
    number: int,
    cell: int,
    states: int,
    before: int,
    linear: I32,
    extreme: I32,
) -> None:
    """A new MatState: what enters a shared node now, for every member."""
    to = t[BASIS] + states * t[MEMBERS]
    for member in range(t[MEMBERS]):
        clear(v, to + member)
    _start(v, t, b, node, number, to)
    for read in range(t[t[READ_FIRST] + node], t[t[READ_FIRST] + node + 1]):
        if not t[t[READ_ENTERS] + read]:
            continue
        if _reads_shared(t, read):
            _read_members(v, w, t, s, r, h, read, number, cell, to, before, linear, extreme)
        else:
            _read_some(v, t, s, r, h, read, number, cell, to)


@loop
def _place(t: I64, s: I32, store: int, number: int, cell: int) -> tuple[int, int]:
    """The group that keeps an occurrence, and its leaf there (-1: it is not kept)."""
    at = t[t[SOURCE_AT] + store]
    if at < 0:
        return int(t[t[GROUP_FIRST] + store] + cell), 0
    return int(s[at + number]), int(s[t[t[LEAF_AT] + store] + number])


@loop
def _settle(v: Values, t: I64, s: I32, b: Bool, node: int, number: int, cell: int, value: int) -> None:
    """Keep the values of an occurrence for later events, and for the totals."""
    for store in range(t[t[STORE_FIRST] + node], t[t[STORE_FIRST] + node + 1]):
        group, leaf = _place(t, s, store, number, cell)
        if leaf >= 0:
            first = t[t[STORE_COMP_FIRST] + store]
            for i in range(first, t[t[STORE_COMP_FIRST] + store + 1]):
                keep(v, t, store, group, leaf, value + t[t[STORE_COMP] + i], i - first)
    for end in range(t[t[END_FIRST] + node], t[t[END_FIRST] + node + 1]):
        if _passes(t, b, t[t[END_MASK] + end], number):
            to = t[TOTALS] + cell * t[MEMBERS]
            for i in range(t[t[END_COMP_FIRST] + end], t[t[END_COMP_FIRST] + end + 1]):
                one = value + t[t[END_COMP] + i]
                if v.f[one, 0] != 0.0:
                    add(v, to + t[t[END_MEMBER] + i], v, one)


@loop
def _settle_shared(
    w: Values, t: I64, s: I32, b: Bool, node: int, number: int, cell: int, value: int, states: int
) -> None:
    for store in range(t[t[STORE_FIRST] + node], t[t[STORE_FIRST] + node + 1]):
        group, leaf = _place(t, s, store, number, cell)
        if leaf >= 0:
            for c in range(states):
                keep(w, t, store, group, leaf, value + c, c)
    for end in range(t[t[END_FIRST] + node], t[t[END_FIRST] + node + 1]):
        if _passes(t, b, t[t[END_MASK] + end], number):
            to = t[ENDS] + t[t[END_ROW] + end] * t[MOST]
            for c in range(states):
                if w.f[value + c, 0] != 0.0:
                    add(w, to + c, w, value + c)


@loop
def _finish(
    v: Values, w: Values, t: I64, nodes: int, cell: int, states: int, linear: I32, extreme: I32
) -> None:
    """What ended at shared nodes becomes part of each member's totals."""
    for node in range(nodes):
        if not t[t[SHARED] + node]:
            continue
        for end in range(t[t[END_FIRST] + node], t[t[END_FIRST] + node + 1]):
            ended = t[ENDS] + t[t[END_ROW] + end] * t[MOST]
            for i in range(t[t[END_COMP_FIRST] + end], t[t[END_COMP_FIRST] + end + 1]):
                member = t[t[END_MEMBER] + i]
                to = t[TOTALS] + cell * t[MEMBERS] + member
                for c in range(states):
                    state = t[BASIS] + c * t[MEMBERS] + member
                    add_product(v, to, v, state, w, ended + c, linear, extreme, member)


@loop
def run_ticks(
    first_tick: int,
    last_tick: int,
    states: int,
    nodes: int,
    t: I64,
    s: I32,
    b: Bool,
    r: I64,
    h: Bool,
    tick_first: I64,
    tick_cell: I64,
    node_of: I32,
    number_of: I64,
    weight_of: I64,
    matstate_of: I64,
    v: Values,
    w: Values,
    weights: Values,
    weigh_linear: I32,
    weigh_extreme: I32,
    linear: I32,
    extreme: I32,
) -> int:
    """Go through these ticks, after `states` MatStates of the cell of the first; return those of the last.

    A tick is all occurrences (events at nodes) of one cell and time. `s`: where occurrences stand in stores, `b`:
    masks of conditions on single events, `r` and `h`: rows of pairs and which of them hold. `v`: own values, `w`:
    shared ones. Lane maps: from weights to values (`weigh_*`, a row per component), and from shared values to those
    of each member.
    """
    for tick in range(first_tick, last_tick):
        cell = tick_cell[tick]
        begin, end = tick_first[tick], tick_first[tick + 1]
        if tick == 0 or tick_cell[tick - 1] != cell:
            states = 0
            for row in range(t[ENDS], t[COMMON]):
                clear(w, row)
        before = states
        for i in range(begin, end):
            if matstate_of[i] == states:
                _open(v, w, t, s, b, r, h, node_of[i], number_of[i], cell, states, before, linear, extreme)
                states += 1
        own, common = t[OWN], t[COMMON]
        for i in range(begin, end):
            node, number = node_of[i], number_of[i]
            reads = range(t[t[READ_FIRST] + node], t[t[READ_FIRST] + node + 1])
            lanes = t[WEIGH] + t[t[WEIGH_FIRST] + node]
            if t[t[SHARED] + node]:
                for c in range(states):
                    clear(w, common + c)
                if matstate_of[i] >= 0:
                    add_one(w, common + matstate_of[i])
                for read in reads:
                    if not t[t[READ_ENTERS] + read]:
                        _read_all(w, t, s, r, h, read, number, cell, common, before)
                for c in range(states):
                    _weigh(w, common + c, weights, weight_of[i], weigh_linear, weigh_extreme, t[lanes])
                common += states
                continue
            comps = t[t[COMPS] + node]
            for c in range(comps):
                clear(v, own + c)
            _start(v, t, b, node, number, own)
            for read in reads:
                if _reads_shared(t, read):
                    _read_members(v, w, t, s, r, h, read, number, cell, own, before, linear, extreme)
                else:
                    _read_some(v, t, s, r, h, read, number, cell, own)
            for c in range(comps):
                _weigh(v, own + c, weights, weight_of[i], weigh_linear, weigh_extreme, t[lanes + c])
            own += comps
        own, common = t[OWN], t[COMMON]
        for i in range(begin, end):
            node = node_of[i]
            if t[t[SHARED] + node]:
                _settle_shared(w, t, s, b, node, number_of[i], cell, common, states)
                common += states
            else:
                _settle(v, t, s, b, node, number_of[i], cell, own)
                own += t[t[COMPS] + node]
        if tick + 1 == tick_cell.shape[0] or tick_cell[tick + 1] != cell:
            _finish(v, w, t, nodes, cell, states, linear, extreme)
    return states
