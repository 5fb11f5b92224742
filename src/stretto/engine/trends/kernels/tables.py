"""What the windows' loops read of a unit.

`*_first` has one entry more than its owners: where what each of them has begins. Comps of a start, an end, a store or a
read are numbers of components at their node; of a shared node, of its part's members.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from stretto.engine.trends.kernels.numbers import I32
from stretto.values.rows import I64, Bool


class Tables(NamedTuple):
    """Of some members of a unit, and of the occurrences (events at nodes) of some windows."""

    members: int
    totals: int
    own: int  # first row of the values of one tick's occurrences
    sums: int  # of the shared values: first row of sums on their way to members,
    ends: int  # of what ended at shared nodes,
    most: int  # with so many components at most,
    common: int  # and of the values of one tick's occurrences
    # by part that is computed for MatStates
    basis: I64  # first row of its MatStates' values, each for all its members
    sharers: I64  # how many these are
    share_first: I64  # the first of their rows in the lane maps
    # by node
    part: I64  # -1: it is in none of these
    comps: I64  # number of components, where not shared
    weigh_first: I64
    weigh: I64  # row of the weights' lane map, by component, at a shared node the only one; -1: no measure
    start_first: I64
    start_mask: I64  # -1: all events
    start_comp_first: I64
    start_comp: I64
    end_first: I64
    end_mask: I64
    end_comp_first: I64
    end_comp: I64
    end_member: I64
    end_row: I64  # among the ends at shared nodes
    # by store; stores are numbered by their source
    store_first: I64
    store_source: I64
    store_scanned: I64
    store_comp_first: I64
    store_comp: I64
    # by read; reads are numbered by their target
    read_first: I64
    read_store: I64
    read_enters: I64  # a member's own edge into a shared node
    read_pair_first: I64
    read_from: I64  # component of the store; of a shared one, a member of its part
    read_to: I64
    # where occurrences stand: groups and, behind them, leaves or counts, in an array of their own
    source_at: I64  # by store, -1: one sum per cell keeps everything
    leaf_at: I64
    target_at: I64  # by read, -1: everything of the cell is read
    count_at: I64
    group_first: I64  # by store: its first group
    group_row: I64
    group_size: I64
    group_width: I64
    mask_at: I64
    row_at: I64  # by read: where the rows of its pairs are listed; -1: it is not scanned
    standing: I32
    mask: Bool  # of conditions on single events
    pairs: I64  # rows of pairs,
    holds: Bool  # and which of them hold
    # lane maps from weights to values, and from shared values to those of each member of a part
    weigh_linear: I32
    weigh_extreme: I32
    linear: I32
    extreme: I32


def ints(numbers: Iterable[int]) -> I64:
    return np.array(list(numbers), np.int64)


def ragged(lists: Sequence[Sequence[int]]) -> tuple[I64, I64]:
    """Lists of different lengths, one after another: where each begins, one entry more for the end, and the items."""
    return np.cumsum([0, *map(len, lists)]).astype(np.int64), ints(item for one in lists for item in one)
