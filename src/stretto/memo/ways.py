"""Ways to compute a piece: what they read, and the rule that found them."""

from dataclasses import field
from enum import StrEnum

from stretto.records import dataclass


class WayKind(StrEnum):
    """What a way does. Whatever of its piece its inputs do not provide, it checks itself."""

    SCAN = "scan"  # the events of a stream; no inputs
    UNITE = "unite"  # one repetition of a group: a match of any of its alternatives, which are the inputs
    JOIN = "join"  # the inputs, which cover the slots, joined from left to right; shared slots hold the same events
    FILTER = "filter"  # one input over the same slots with less order, fewer terms or a wider window
    COMPLETE = "complete"  # one input with columns that may be unbound: those of its rows in which none is
    FORBID = "forbid"  # one input, the same piece without some of its negations
    # The first input is the core; the others are one repetition of each group that grows, or the core once more, whose
    # rows then give the repetitions.
    GROW = "grow"
    NEXT = "next"  # a run of steps under NEXT or LAST; its input, if any, are the runs over the first of them


@dataclass(frozen=True, slots=True)
class Input:
    """A piece that is read: its column i is column `columns[i]` of the piece that reads it."""

    piece: int
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to compute a piece; `rule` names the rule that found it, `pieces` are the numbers of those it reads."""

    kind: WayKind
    inputs: tuple[Input, ...]
    rule: str
    pieces: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pieces", tuple([part.piece for part in self.inputs]))
