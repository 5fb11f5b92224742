"""Where Spark's hash puts targets: how many partitions it takes for few of them to share one."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Final

WORD: Final = 0xFFFFFFFF
SEED: Final = 42
ROOM: Final = 3
"""So many partitions for each target at most: an empty one costs a task."""


@cache
def partitions_for(targets: int) -> int:
    """The number of partitions with the fewest targets in the fullest one; of these the least."""
    return partitions_for_stages([range(targets)])


def partitions_for_stages(stages: Sequence[Sequence[int]]) -> int:
    """The same for targets that are at work stage by stage."""
    numbers = [[spark_hash(target) for target in targets] for targets in stages]
    widest = max(map(len, numbers))

    def fullest(partitions: int) -> int:
        return sum(max(Counter(number % partitions for number in stage).values()) for stage in numbers)

    return min(range(widest, ROOM * widest + 1), key=lambda partitions: (fullest(partitions), partitions))


@cache
def keys_apart(targets: int) -> tuple[int, ...]:
    """A key for each target, so that Spark's hash puts each into a partition of its own, of as many as targets.

    For streams, where a partition without a target costs a task and the commit of its state in every micro-batch.
    """
    found: dict[int, int] = {}
    key = 0
    while len(found) < targets:
        found.setdefault(spark_hash(key) % targets, key)
        key += 1
    return tuple(found[partition] for partition in range(targets))


def spark_hash(value: int) -> int:
    """Spark's hash of an integer of 32 bits: Murmur3 for x86, 32 bits, signed."""
    word = _turned(value * 0xCC9E2D51 & WORD, 15) * 0x1B873593 & WORD
    state = (_turned(SEED ^ word, 13) * 5 + 0xE6546B64) & WORD
    state ^= 4  # the number of bytes
    state = (state ^ state >> 16) * 0x85EBCA6B & WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & WORD
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & WORD
