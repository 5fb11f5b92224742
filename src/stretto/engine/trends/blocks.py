"""Blocks of totals, one per partition value that has an open window."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from stretto.engine.memory import reuse
from stretto.engine.trends.kernels.layout import State
from stretto.engine.trends.kernels.numbers import LEAST
from stretto.engine.trends.layout import Arrays
from stretto.engine.trends.numbers import Values, concat_values, size_of, zeros
from stretto.values.rows import I64

NONE = -1
LONG_AGO = LEAST // 2  # a window that no event is in, nor the one after it


class Blocks:
    """Gives out blocks and takes them back; they grow in number as needed."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._of_key = np.empty(0, np.int64)
        self._free: list[int] = []
        self._each = 0  # bytes of a block, once they are asked for
        self.state = self._new_state(0)

    def __len__(self) -> int:
        """How many there are, in use or not."""
        return len(self.state.change)

    @property
    def used(self) -> I64:
        """The blocks in use."""
        return np.flatnonzero(self.state.key != NONE)

    @property
    def held(self) -> int:
        return _size_of(self.state) + self._of_key.nbytes

    def ahead(self, keys: I64) -> tuple[int, int]:
        """Bytes that blocks for these keys take anew, beside the old ones, and how many are in use then."""
        top = int(keys.max(initial=-1)) + 1
        known = keys[keys < len(self._of_key)]
        missing = np.concatenate([keys[keys >= len(self._of_key)], known[self._of_key[known] == NONE]])
        new = len(np.unique(missing))
        used = len(self) - len(self._free) + new
        size = 16 * top if top > len(self._of_key) else 0
        if new > len(self._free):
            if not self._each:
                self._each = _size_of(self._new_state(1))
            size += (len(self) + max(new - len(self._free), len(self))) * self._each
        return size, used

    def of(self, keys: I64) -> I64:
        """The blocks of these keys; a key that has none gets one, without any open window."""
        top = int(keys.max()) + 1
        if top > len(self._of_key):
            more = max(top, 2 * len(self._of_key)) - len(self._of_key)
            self._of_key = np.concatenate([self._of_key, np.full(more, NONE)])
        blocks = self._of_key[keys]
        missing = blocks == NONE
        if missing.any():
            self._give(np.unique(keys[missing]))
            blocks = self._of_key[keys]
        return blocks

    def release(self, blocks: I64) -> None:
        self._of_key[self.state.key[blocks]] = NONE
        self.state.key[blocks] = NONE
        self._free += blocks.tolist()
        if reuse.debug and len(blocks):
            self._forget(blocks)

    def _give(self, keys: I64) -> None:
        if len(keys) > len(self._free):
            self._grow(max(len(keys) - len(self._free), len(self)))
        blocks = np.array(self._free[-len(keys) :], np.int64)
        del self._free[-len(keys) :]
        state = self.state
        self._of_key[keys] = blocks
        state.key[blocks] = keys
        state.high[blocks] = LONG_AGO
        state.low[blocks] = LONG_AGO + 1
        state.change[blocks] = LEAST
        state.steps[blocks] = 0
        state.caught[blocks] = 0
        state.upset[blocks] = False
        state.stale[blocks] = state.dirty[blocks] = state.flat[blocks] = True
        state.sharing[blocks] = False

    def _grow(self, more: int) -> None:
        old, new = self.state, self._new_state(more)
        self._free += range(len(self) + more - 1, len(self) - 1, -1)
        both: Iterable[tuple[Any, Any]] = zip(old, new, strict=True)
        grown = (concat_values(two) if isinstance(two[0], Values) else np.concatenate(two) for two in both)
        self.state = State._make(grown)._replace(made=old.made)
        for values in (old.totals, old.coefficients, old.ladder):
            reuse.forgotten(*values)

    def _forget(self, blocks: I64) -> None:
        """In debug mode: the values of blocks that nobody has are none."""
        for values in (self.state.totals, self.state.coefficients, self.state.ladder):
            by_block = [array.reshape(len(self), -1) for array in values]
            reuse.forgotten(*(array[block] for array in by_block for block in blocks))

    def _new_state(self, count: int) -> State:
        arrays, layout = self._arrays, self._arrays.layout
        frames, parts, shared = (
            len(layout.window),
            len(layout.steps),
            (arrays.shared_linear, arrays.shared_extreme),
        )
        return State(
            totals=zeros(count * layout.rows, arrays.linear, arrays.extreme),
            coefficients=zeros(count * int(layout.matrix[-1]), *shared),
            ladder=zeros(count * int(layout.ladder[-1]), *shared),
            low=np.zeros((count, frames), np.int64),
            high=np.zeros((count, frames), np.int64),
            change=np.zeros(count, np.int64),
            key=np.full(count, NONE),
            steps=np.zeros((count, parts), np.int64),
            caught=np.zeros((count, len(layout.share_part)), np.int64),
            upset=np.zeros((count, len(layout.touches_part)), np.bool_),
            stale=np.zeros((count, parts), np.bool_),
            dirty=np.zeros((count, parts), np.bool_),
            flat=np.zeros((count, parts), np.bool_),
            sharing=np.zeros((count, parts), np.bool_),
            made=np.zeros(1, np.int64),
        )


def _size_of(state: State) -> int:
    values = size_of(state.totals) + size_of(state.coefficients) + size_of(state.ladder)
    return int(values + sum(array.nbytes for array in state[3:]))
