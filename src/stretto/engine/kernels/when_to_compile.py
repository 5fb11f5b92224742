"""When a loop is worth compiling: its NumPy twin serves until there is enough work for it.

A small file is done before a compiler has started. Past that, the first process compiles and keeps the result on disk,
and later ones load it.
"""

from collections import Counter
from typing import Any

PATIENCE = 1 << 18
"""Elements that a twin looks at, all calls together, before its loop is compiled."""

always: bool | None = None
"""For tests and benchmarks: True takes loops at once, False never."""

_spent: Counter[int] = Counter()
_due: dict[int, Any] = {}  # loops that were due once, by id: a loop takes long to say that it is compiled


def is_due(kernel: Any, work: int) -> bool:
    """Whether to call the compiled loop rather than its twin, for so many elements."""
    if always is not None:
        return always
    key = id(kernel)
    if key in _due:
        return True
    _spent[key] += work
    due = _spent[key] > PATIENCE or is_compiled(kernel)
    if due:
        _due[key] = kernel
    return due


def is_compiled(kernel: Any) -> bool:
    """Return whether the loop was compiled, or loaded from disk, in this process."""
    return bool(kernel.signatures)
