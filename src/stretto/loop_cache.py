"""Compiled loops on disk, where a cache that is damaged, full or read-only costs time and never ends a run."""

from contextlib import suppress
from typing import Any

from numba.core.caching import FunctionCache

from stretto.errors import warn


class ForgivingCache(FunctionCache):
    """Numba's cache of one function; what cannot be read is compiled again, what cannot be written is not kept."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature; None where the cache has none, or none that can be read."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception as reason:  # noqa: BLE001 - unpickling damaged bytes raises anything
            _warn_once(
                f"a file of compiled loops in {self.cache_path} cannot be read ({_text(reason)}):"
                " these loops are compiled again"
            )
            with suppress(OSError):
                # The damaged index would stop the next save, and the next run as well.
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, if the folder can hold it."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except Exception as reason:  # noqa: BLE001 - a full disk, and an index that is damaged
            _warn_once(
                f"compiled loops cannot be kept in {self.cache_path} ({_text(reason)}), so every run compiles"
                " them anew; free space there, or name another folder in NUMBA_CACHE_DIR"
            )


def keep_on_disk(compiled: Any) -> Any:
    """Return a compiled function that loads its code from disk and keeps it there, where that is possible."""
    try:
        compiled._cache = ForgivingCache(compiled.py_func)  # type: ignore[no-untyped-call]  # noqa: SLF001 - as `enable_caching`
    except (RuntimeError, OSError) as reason:  # no folder can be written to
        _warn_once(
            f"no folder for compiled loops ({_text(reason)}), so every run compiles them anew;"
            " name a folder in NUMBA_CACHE_DIR"
        )
    return compiled


_warned: list[str] = []
"""The warning of this process, once there is one."""


def _warn_once(text: str) -> None:
    """Warn of the first trouble only: it is the same for hundreds of loops."""
    if not _warned:
        _warned.append(text)
        warn(text)


def _text(reason: Exception) -> str:
    """Say what a reason is in one line."""
    name = type(reason).__name__
    return f"{name}: {reason}".splitlines()[0] if str(reason) else name
