"""What lies where on the tape of tables that the windows' loops read: places of the array's first entries.

`*_FIRST` has one entry more than its owners: where what each of them has begins. Comps of a start, an end, a store or a
read are numbers of components at their node; of a shared node, of members.
"""

from typing import Final

# numbers, which stand there themselves; of all others, where the table begins
MEMBERS: Final = 0
BASIS: Final = 1  # first row of the MatStates' values for each member
TOTALS: Final = 2
OWN: Final = 3  # first row of the values of one tick's occurrences
SUMS: Final = 4  # of the shared values: first row of sums on their way to members,
ENDS: Final = 5  # of what ended at shared nodes,
MOST: Final = 6  # with so many components at most,
COMMON: Final = 7  # and of the values of one tick's occurrences
# by node
SHARED: Final = 8
COMPS: Final = 9  # number of components, where not shared
WEIGH_FIRST: Final = 10
WEIGH: Final = 11  # row of the weights' lane map, by component, at a shared node the only one; -1: no measure
START_FIRST: Final = 12
START_MASK: Final = 13  # -1: all events
START_COMP_FIRST: Final = 14
START_COMP: Final = 15
END_FIRST: Final = 16
END_MASK: Final = 17
END_COMP_FIRST: Final = 18
END_COMP: Final = 19
END_MEMBER: Final = 20
END_ROW: Final = 21  # among the ends at shared nodes
# by store; stores are numbered by their source
STORE_FIRST: Final = 22
STORE_SOURCE: Final = 23
STORE_SCANNED: Final = 24
STORE_COMP_FIRST: Final = 25
STORE_COMP: Final = 26
# by read; reads are numbered by their target
READ_FIRST: Final = 27
READ_STORE: Final = 28
READ_ENTERS: Final = 29  # a member's own edge into a shared node
READ_PAIR_FIRST: Final = 30
READ_FROM: Final = 31  # component of the store; of a shared one, a member
READ_TO: Final = 32
# where occurrences stand: groups and, behind them, leaves or counts, in an array of their own
SOURCE_AT: Final = 33  # by store, -1: one sum per cell keeps everything
LEAF_AT: Final = 34
TARGET_AT: Final = 35  # by read, -1: everything of the cell is read
COUNT_AT: Final = 36
GROUP_FIRST: Final = 37  # by store: its first group
GROUP_ROW: Final = 38
GROUP_SIZE: Final = 39
GROUP_WIDTH: Final = 40
MASK_AT: Final = 41
ROW_AT: Final = 42  # by read: where the rows of its pairs are listed; -1: it is not scanned

NUMBERS: Final = range(8)
LENGTH: Final = 43
"""Entries before the first table."""
