"""What goes into an executor of trend totals and what comes out."""

from typing import Final, Protocol

import numpy as np

from stretto.engine.trends.numbers import I32, Values, concat_values, size_of, take_values, zeros
from stretto.records import dataclass
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Bool

FREE: Final = 1 << 62
"""As much memory as it takes."""
TOTAL_BYTES: Final = 512
"""What the total of a window takes as a row of each aggregate, while it becomes one."""


@dataclass(frozen=True, slots=True)
class TakenEvents:
    """The events of one unit in one step, in time order, each with all of the local nodes that take it.

    Event i is taken by `nodes[first[i]:first[i + 1]]`, at least one. `keys` are dense codes of the partition's values,
    from 0, the same for the life of the unit.
    """

    ts: I64
    first: I64
    nodes: I32
    keys: I64
    positions: I64

    def __len__(self) -> int:
        return len(self.ts)


@dataclass(frozen=True, slots=True)
class Results:
    """Closed windows: one row per member, window and key that has a trend.

    `values` has the lanes of the member's measures, as many as the member with most of them needs.
    """

    member: I32
    window_start: I64
    key: I64
    values: Values

    def __len__(self) -> int:
        return len(self.member)

    @property
    def nbytes(self) -> int:
        return self.member.nbytes + self.window_start.nbytes + self.key.nbytes + size_of(self.values)

    def take(self, index: I64 | Bool | slice) -> "Results":
        return Results(
            self.member[index], self.window_start[index], self.key[index], take_values(self.values, index)
        )


def no_results(linear: int, extreme: int) -> Results:
    none = np.empty(0, np.int64)
    return Results(none.astype(np.int32), none, none, zeros(0, linear, extreme))


def concat_results(parts: list[Results]) -> Results:
    """All rows of these, at least one of them."""
    if len(parts) == 1:
        return parts[0]
    return Results(
        np.concatenate([p.member for p in parts]),
        np.concatenate([p.window_start for p in parts]),
        np.concatenate([p.key for p in parts]),
        concat_values([p.values for p in parts]),
    )


class Executor(Protocol):
    """Totals of one unit. Times ascend over the calls; no call splits events of the same time."""

    def take(self, taken: TakenEvents, events: Events) -> None:
        """Count these events in."""
        ...

    def ahead(self, taken: TakenEvents | None, until: int, partitions: int) -> int:
        """Bytes that it may take beside what is held, at most, to count these events in and to close windows.

        `partitions`: how many keys there have been.
        """
        ...

    def close(self, until: int, room: int = FREE) -> Results:
        """The windows that end at `until` or before; each comes once. No later event is earlier than `until`.

        `room`: bytes for what is worked out on the way; TooMuch where one window takes more.
        """
        ...

    @property
    def held(self) -> int:
        """Bytes of state."""
        ...

    @property
    def sharing(self) -> tuple[int, int, int]:
        """MatStates so far, turns that shared, and all turns in which that could be chosen: as in `UnitWork`."""
        ...
