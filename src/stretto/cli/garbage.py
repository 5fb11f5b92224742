"""When Python looks for garbage in cycles. Modules and plans are many objects, and nearly all of them stay."""

import gc
from typing import Final

LOADING: Final = 1_000_000
"""Objects that are made between two looks while modules are loaded and plans are made."""
RUNNING: Final = 50_000


def seldom() -> None:
    """Hardly ever look: from the start of a command on."""
    gc.set_threshold(LOADING)


def among_new_objects() -> None:
    """Look again, but never at what is there by now: from the first batch on. Nothing where this is no command."""
    if gc.get_threshold()[0] == LOADING:
        gc.freeze()
        gc.set_threshold(RUNNING)
