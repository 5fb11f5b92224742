"""Sums over what is kept of earlier events: Fenwick trees over ranks, or lists in order of time to be scanned.

A Fenwick tree (Fenwick, A new data structure for cumulative frequency tables, 1994) keeps in node i, counted from 1,
the sum of the leaves i - (i & -i) + 1 to i. A sum of the first leaves takes one node per bit of their number, and a
leaf is part of one node per level.
"""

from stretto.engine.trends.kernels.numbers import I32, U64, Values, add, copy, loop, plus
from stretto.engine.trends.kernels.tables import Tables
from stretto.values.rows import F64, Bool


@loop
def sum_one(u: U64, f: F64, e: I32, row: int, count: int, to: int) -> None:
    """As `sum_all` for one component with one lane, which stays in registers."""
    total, g, d = u[to, 0], f[to, 0], e[to, 0]
    while count > 0:
        at = row + count - 1  # node `count`: the rows begin at node 1
        total += u[at, 0]
        g, d = plus(g, d, f[at, 0], e[at, 0])
        count &= count - 1  # without its lowest bit: the leaves before those that this node sums up
    u[to, 0], f[to, 0], e[to, 0] = total, g, d


@loop
def sum_all(v: Values, row: int, width: int, count: int, to: int, comps: int) -> None:
    """Add the first `count` leaves of a tree, component by component, to the rows from `to` on."""
    while count > 0:
        at = row + (count - 1) * width
        for c in range(comps):
            if v.f[at + c, 0] != 0.0:
                add(v, to + c, v, at + c)
        count &= count - 1


@loop
def sum_some(v: Values, t: Tables, row: int, width: int, count: int, to: int, first: int, last: int) -> None:
    """As `sum_all`, for the pairs of components `first` to `last` - 1 of reads."""
    while count > 0:
        at = row + (count - 1) * width
        for i in range(first, last):
            one = at + t.read_from[i]
            if v.f[one, 0] != 0.0:
                add(v, to + t.read_to[i], v, one)
        count &= count - 1


@loop
def scan_all(v: Values, row: int, width: int, count: int, to: int, comps: int, h: Bool, begin: int) -> None:
    """Add what is kept first, `count` events, where `h` says so from `begin` on."""
    for leaf in range(count):
        if h[begin + leaf]:
            at = row + leaf * width
            for c in range(comps):
                if v.f[at + c, 0] != 0.0:
                    add(v, to + c, v, at + c)


@loop
def scan_some(
    v: Values,
    t: Tables,
    row: int,
    width: int,
    count: int,
    to: int,
    first: int,
    last: int,
    h: Bool,
    begin: int,
) -> None:
    for leaf in range(count):
        if h[begin + leaf]:
            for i in range(first, last):
                one = row + leaf * width + t.read_from[i]
                if v.f[one, 0] != 0.0:
                    add(v, to + t.read_to[i], v, one)


@loop
def _keep_one(u: U64, f: F64, e: I32, row: int, size: int, leaf: int, value: int) -> None:
    """As `keep` in a tree with one component of one lane."""
    total, g, d = u[value, 0], f[value, 0], e[value, 0]
    leaf += 1
    while leaf <= size:
        at = row + leaf - 1
        u[at, 0] += total
        f[at, 0], e[at, 0] = plus(f[at, 0], e[at, 0], g, d)
        leaf += leaf & -leaf  # the next node that sums this leaf up


@loop
def keep(v: Values, t: Tables, store: int, group: int, leaf: int, value: int, place: int) -> None:
    """Add a value, if it is not zero, to component `place` of a leaf: to all tree nodes that sum it up."""
    if v.f[value, 0] == 0.0:
        return
    row, size, width = t.group_row[group], t.group_size[group], t.group_width[group]
    if t.store_scanned[store]:
        copy(v, row + leaf * width + place, v, value)
        return
    if width == 1 and v.u.shape[1] == 1 and v.x.shape[1] == 0:
        _keep_one(v.u, v.f, v.e, row, size, leaf, value)
        return
    leaf += 1
    while leaf <= size:
        add(v, row + (leaf - 1) * width + place, v, value)
        leaf += leaf & -leaf
