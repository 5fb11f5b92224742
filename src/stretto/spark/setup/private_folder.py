"""Folders that are this user's alone: whoever else could write there could have us load, or start, anything."""

import os
import stat
from pathlib import Path
from typing import Final

OWNER_ONLY: Final = 0o700


def is_private(folder: Path) -> bool:
    """Whether a folder, made if it is not there, is ours and nobody else can look into it."""
    try:
        folder.mkdir(mode=OWNER_ONLY, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    ours = found.st_uid == os.getuid() if hasattr(os, "getuid") else True
    closed = not found.st_mode & 0o077 or os.name == "nt"
    return ours and closed and stat.S_ISDIR(found.st_mode) and os.access(folder, os.W_OK | os.X_OK)
