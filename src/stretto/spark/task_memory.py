"""The memory of the engines of tasks: what the user has set, or a part of the memory of the machine."""

import os

from stretto.engine.memory.available import default_memory_bytes
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class TaskMemory:
    """The memory of the engine of a task. `asked`: the bytes that the user has set; None: tasks share half a machine.

    `at_once`: at most so many tasks run at a time. `is_local`: all of them run on the machine of the driver.
    """

    asked: int | None = None
    at_once: int = 1
    is_local: bool = False

    @property
    def bytes_here(self) -> int:
        """The bytes of one engine on the machine of this process."""
        if self.asked is not None:
            return self.asked
        # A worker of a cluster does not know its neighbours: its machine runs a task on each core, at most.
        return default_memory_bytes(self.at_once if self.is_local else min(self.at_once, available_cores()))


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
