"""How a unit and its running totals lie in arrays.

The totals of one partition value lie in one block of rows. In it every member has, for each window that may be open at
once, an instance: a row for every shared node, a row for what enters each shared node that can be entered, a row for
every node of its own. Window k is in instance k modulo their number. Places are row numbers inside an instance; the
shared nodes and what enters them come first, in the same places for every member: they are the basis of the block's
coefficients. While a block is not `flat`, the total of a shared node p is the sum over b of coefficient (p, b) times
row b, the same coefficients for all instances (of members that have caught up with the block's ladder).
"""

from typing import NamedTuple

from stretto.engine.trends.kernels.numbers import I32, Values
from stretto.values.rows import I64, Bool


class Layout(NamedTuple):
    """A unit. A seat is a node in a member; the seats of node p are those from users[p] up to users[p + 1]."""

    window: I64  # per frame, a window and a slide that members have in common
    slide: I64
    frame: I64  # per member
    base: I64  # where its rows begin in a block
    width: I64  # rows of an instance
    ring: I64  # instances
    ends: I64  # its ends are end[ends[m]:ends[m + 1]]
    end: I64  # places
    users: I64
    member: I64  # per seat, ascending; shared nodes have a seat in every member
    place: I64
    start: Bool
    own: I64  # the member's own edges into the seat come from source[own[s]:own[s + 1]]
    source: I64  # places
    shared: I64  # per node its place if it is shared, -1 if not
    affects: I64  # an event of node p changes what enters for the members affected[affects[p]:affects[p + 1]]
    affected: I64
    inner: I64  # shared edges into place p come from inside[inner[p]:inner[p + 1]]
    inside: I64
    entry: I64  # per shared place the place of what enters it, -1 if nothing can
    entered: I64  # per entry the first seat of its node
    rows: int  # of a block
    steps: int  # of a block's ladder, a power of two


class Lanes(NamedTuple):
    """The lanes of four products: of weights and totals of a seat, weights and coefficients of a shared place,
    coefficients and totals of a member, coefficients and coefficients.
    """

    seat: I32
    seat_extreme: I32
    shared: I32
    shared_extreme: I32
    member: I32
    member_extreme: I32
    same: I32
    same_extreme: I32


class State(NamedTuple):
    """Per block: rows of totals, coefficients, the windows low..high that are open in each frame."""

    totals: Values
    coefficients: Values
    ladder: Values  # coefficients of steps gone by, that some members have not caught up with
    low: I64
    high: I64
    change: I64  # the time at which the open windows are others
    key: I64
    steps: I64  # on the ladder
    caught: I64  # per member, how many of them its rows are past
    upset: Bool  # per node, whether its events have changed what enters since it was last written down
    stale: Bool  # whether any node's have, or a window was opened
    dirty: Bool  # a window was opened
    flat: Bool  # the rows of shared nodes are their totals; coefficients are not in use
    sharing: Bool  # what to do with the shared nodes' events
    made: I64  # [0]: how often what enters was written down


class Scratch(NamedTuple):
    """Room for the values of events of the same time: of members, of coefficients, and weights.

    Values of members have further rows: two for every shared node, for totals that are brought up to date, and one for
    an event that is alone; coefficients have further rows for such an event, too.
    """

    values: Values
    columns: Values
    weights: Values
    met: I32  # the nodes of events of the same time
    used: I64  # rows of values, rows of columns


class Out(NamedTuple):
    """Room for results."""

    member: I32
    start: I64
    key: I64
    values: Values
