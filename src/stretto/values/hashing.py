"""Hash functions over 64-bit words, the same in every process."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stretto.records import dataclass

U64 = npt.NDArray[np.uint64]

WORD = 8
"""Bytes that are mixed in at a time."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, made odd: its multiples spread numbers that count on (Fibonacci hashing; Knuth,
The Art of Computer Programming 3, section 6.4).
"""


@dataclass(frozen=True, slots=True)
class Lane:
    """One of several independent 64-bit hash functions: the odd numbers and the shifts that it mixes bits with."""

    step: int
    first: int
    second: int
    shifts: tuple[int, int, int]

    def mix(self, bits: U64) -> U64:
        """Every bit of the result depends on every bit given; different bits stay different."""
        mixed = bits ^ (bits >> np.uint64(self.shifts[0]))
        mixed *= np.uint64(self.first)
        mixed ^= mixed >> np.uint64(self.shifts[1])
        mixed *= np.uint64(self.second)
        mixed ^= mixed >> np.uint64(self.shifts[2])
        return mixed


# The finishers of SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014) and of
# MurmurHash3 (Appleby, 2011): both are known to flip every bit with nearly even chances.
LANES = (
    Lane(int(GOLDEN), 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, (30, 27, 31)),
    Lane(0xD1B54A32D192ED03, 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, (33, 33, 33)),
)


def text_hashes(texts: pa.Array, lane: Lane) -> U64:
    """A hash per text, of its bytes in UTF-8 and their number; no text is null."""
    raw = texts.cast(pa.large_binary())
    offsets = np.frombuffer(raw.buffers()[1], np.int64)[raw.offset : raw.offset + len(raw) + 1]
    data = np.zeros(int(offsets[-1]) + WORD if len(raw) else WORD, np.uint8)
    if len(raw) and raw.buffers()[2] is not None:
        data[: offsets[-1]] = np.frombuffer(raw.buffers()[2], np.uint8)[: offsets[-1]]
    starts, lengths = offsets[:-1], np.diff(offsets)
    state = lane.mix(lengths.astype(np.uint64) + np.uint64(lane.step))
    going = np.arange(len(raw))
    for start in range(0, int(lengths.max(initial=0)), WORD):
        going = going[lengths[going] > start]
        read = data[(starts[going] + start)[:, None] + np.arange(WORD)]
        read[np.arange(start, start + WORD) >= lengths[going][:, None]] = 0  # what follows is another text's
        state[going] = lane.mix(
            state[going] * np.uint64(lane.step) + read.view("<u8")[:, 0].astype(np.uint64)
        )
    return state
