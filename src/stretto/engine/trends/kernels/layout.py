"""How a unit and its running totals lie in arrays.

The totals of one partition value lie in one block of rows. In it every member has, for each window that may be open at
once, an instance: for every part that it shares a row for each node of the part and one for what enters each of them
that can be entered, and a row for every node of its own. Window k is in instance k modulo their number. Places are row
numbers inside an instance. The rows of a part lie together, in the same order for all its members: they are the basis
of the part's coefficients in a block. While a part is not `flat` there, the total of its node p is the sum over b of
coefficient (p, b) times row b, the same coefficients for all instances (of members that have caught up with the
part's ladder).

A SHARE is a member in a part; those of part t are numbered from shares[t] up to shares[t + 1]. A TOUCH is a node
whose events change what enters a part; those of part t are numbered from touched[t] up to touched[t + 1].
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
    joins: I64  # the parts that it shares are joined[joins[m]:joins[m + 1]]
    joined: I64
    ends: I64  # its ends are end[ends[m]:ends[m + 1]]
    end: I64  # places
    end_share: I64  # the shares that these places are of, -1: the member's own
    users: I64
    member: I64  # per seat, ascending; the node of a part has a seat in every share of it, in their order
    place: I64
    start: Bool
    own: I64  # the member's own edges into the seat come from source[own[s]:own[s + 1]]
    source: I64  # places
    source_share: I64
    part: I64  # per node its part, -1 if it is in none
    shared: I64  # per node its place among the rows of its part
    affects: I64  # an event of node p makes the touches touch[affects[p]:affects[p + 1]]
    touch: I64
    touched: I64  # per part
    touches_part: I64  # per touch its part,
    concerns: I64  # and the shares whose entries it changes, concerned[concerns[c]:concerns[c + 1]]
    concerned: I64
    shares: I64  # per part
    share_part: I64  # per share its part, its member, and where the part's rows begin in an instance
    share_member: I64
    share_row: I64
    places: I64  # nodes of the parts, one after another: those of part t begin at places[t]
    inner: I64  # shared edges into the n-th of all these nodes come from inside[inner[n]:inner[n + 1]]
    inside: I64  # rows of the same part
    entry: I64  # per such node the row of what enters it, -1 if nothing can
    entries: I64  # those that can be entered, likewise: of part t from entries[t] on
    entered: I64  # per entry the first seat of its node
    steps: I64  # per part, of its ladder: a power of two
    matrix: I64  # per part, where its coefficients begin in a block, and last their number
    ladder: I64  # likewise of its ladder
    rows: int  # of a block
    most: int  # nodes of a part


class Reads(NamedTuple):
    """Totals of parts that an event of a node reads, over all instances, by links: readers and the part they read."""

    first: I64  # per node p: it reads totals[j] along link[j] for j from first[p] up to first[p + 1]
    link: I64
    totals: I64
    links: (
        I64  # per link the part of the reading nodes (-1: they are members' own), and the part that is read
    )


class Lanes(NamedTuple):
    """The lanes of four products: of weights and totals of a seat, weights and coefficients of a node of a part,
    coefficients and totals of a share, coefficients and coefficients.
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
    steps: I64  # per part, on its ladder
    caught: I64  # per share, how many of them its rows are past
    upset: Bool  # per touch, whether its events have changed what enters since it was last written down
    stale: Bool  # per part, whether any touch is, or a window was opened
    dirty: Bool  # per part, whether a window was opened
    flat: Bool  # per part: the rows of its nodes are their totals; coefficients are not in use
    sharing: Bool  # per part, what to do with the events of its nodes
    made: I64  # [0]: how often what enters was written down


class Scratch(NamedTuple):
    """Room for the values of events of the same time: of members, of coefficients, and weights.

    Values of members have further rows: two for every node of a part, for totals that are brought up to date, and one
    for an event that is alone; coefficients have further rows for such an event, too.
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
