"""How many events a step has: few where operators make many rows, many where calling them is most of the work."""

from collections.abc import Iterator

import numpy as np

from stretto.engine.stream.arena import Block
from stretto.records import dataclass

STEP = 1 << 16
LARGE_STEP = 1 << 20
IDLE_S = 4e-3
"""Calling an operator takes some fiftieth of this. Those that take less in a step, on average: the next is longer."""
EVENT_BYTES = 1 << 10
"""Of the memory that there is, for each event of a long step."""
BUSY_S = 16e-3
"""Operators that take more than this make many rows: the next step is half as long, down to the usual one."""


@dataclass(slots=True)
class Pace:
    """`size`: events of the next step. `fixed`: it stays so."""

    size: int
    fixed: bool

    def follow(self, events: int, turns: int, seconds: float, memory_bytes: int) -> None:
        """A step of so many events took so many turns of operators, and they took so long."""
        if self.fixed:
            return
        if events >= self.size and seconds < IDLE_S * turns:
            much = 2 if seconds > IDLE_S * turns / 8 else 4
            most = min(max(memory_bytes // EVENT_BYTES, STEP), LARGE_STEP)
            self.size = min(much * self.size, most)
        elif seconds > BUSY_S * turns:
            self.size = max(self.size // 2, STEP)

    def cut(self, blocks: list[Block]) -> Iterator[tuple[list[Block], int | None]]:
        """Blocks in time order as lists of about `size` events, with the time of the next event, if there is one.

        Events of one time stay together. The size may change from one list to the next.
        """
        part: list[Block] = []
        count = 0
        for block in blocks:
            at = 0
            while at < len(block):
                then = int(block.ts[at])
                if count >= self.size and then != part[-1].ts[-1]:
                    yield part, then
                    part, count = [], 0
                end = min(len(block), at + max(self.size - count, 1))
                end = int(np.searchsorted(block.ts, block.ts[end - 1], side="right"))
                part.append(block.take(slice(at, end)))
                count += end - at
                at = end
        if part:
            yield part, None
