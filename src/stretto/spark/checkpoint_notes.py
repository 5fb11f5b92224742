"""Our own small files in a checkpoint: written whole or not at all, and read back by the next start."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from stretto.spark.errors import StrettoSparkError

V = TypeVar("V")


def write_note(path: Path, value: Any) -> None:
    """Keep a value for the next start; only its owner can read the folder, which is made if it is not there."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    hidden = path.with_name(f".{path.name}.partial")
    with hidden.open("w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    hidden.replace(path)


def read_note(
    path: Path, made: Callable[[Any], V], advice: str = "start with another checkpoint"
) -> V | None:
    """What `made` makes of the value that was written; None where there is none. StrettoSparkError for the rest."""
    try:
        return made(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except StrettoSparkError:
        raise
    except Exception as error:
        raise StrettoSparkError(f"the checkpoint is damaged: {path} cannot be read; {advice}") from error
