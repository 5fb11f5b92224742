"""Where compiled loops are kept, for installations that nobody may write to.

Numba keeps them beside the modules, else in the user's cache folder, and refuses to work where neither can be written:
in containers whose user has no home, for one. There they go to a folder of this user's own among temporary files.
"""

import os
import sys
from pathlib import Path
from typing import Final

SETTING: Final = "NUMBA_CACHE_DIR"
PRIVATE: Final = 0o700


def ensure_folder() -> None:
    """Name a folder for Numba, before it is loaded, if it would find none."""
    if os.environ.get(SETTING) or os.access(Path(__file__).parent, os.W_OK) or _can_make(_user_folder()):
        return
    os.environ[SETTING] = folder = str(_own_folder())
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder


def _user_folder() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else Path(os.path.expanduser("~")) / ".cache"  # noqa: PTH111 - never raises


def _can_make(folder: Path) -> bool:
    """Whether a folder is there to be written to, or can be made."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    return there.is_dir() and os.access(there, os.W_OK)


def _own_folder() -> Path:
    """A folder that is this user's alone: what is in it is run, so one that others may write to is not taken."""
    import tempfile  # noqa: PLC0415 - seldom needed, and slow to load

    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"stretto-compiled-{user}"
    try:
        folder.mkdir(PRIVATE, exist_ok=True)
        found = folder.stat(follow_symlinks=False)
        if not folder.is_symlink() and found.st_uid == user and not found.st_mode & 0o077:
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="stretto-compiled-"))
