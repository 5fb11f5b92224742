"""How the options of `stretto stream` are read."""

from pathlib import Path
from typing import Any

from stretto.errors import QueryError, StrettoError
from stretto.text.parser import option_us, parse_duration

AVAILABLE_NOW = "available-now"


def trigger_of(text: str | None) -> dict[str, Any]:
    """Spark's words for `--trigger`."""
    if text is None:
        return {}
    if text.strip().lower() == AVAILABLE_NOW:
        return {"availableNow": True}
    try:
        us = 0 if text.strip() == "0" else parse_duration(text)
    except QueryError:
        us = -1
    if us < 0:
        raise StrettoError(
            f"--trigger: `{text}` is neither a duration (such as `10 seconds`) nor {AVAILABLE_NOW}"
        )
    return {"processingTime": f"{us // 1000} milliseconds"}


def slice_us(text: str | None) -> int | None:
    """The microseconds of `--slice`, if it was given."""
    return None if text is None else option_us(text, "--slice", positive=True)


def options_of(given: list[str] | None, option: str) -> dict[str, str]:
    """The options of `NAME=VALUE` texts."""
    found: dict[str, str] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise StrettoError(f"{option}: `{text}` should be NAME=VALUE")
        found[name] = value
    return found


def folder_of(checkpoint: str) -> Path:
    """The folder of a checkpoint."""
    if "://" in checkpoint:
        from stretto.spark.io.passwords import redacted

        raise StrettoError(
            f"--checkpoint: {redacted(checkpoint)} is an address; name a folder that this machine and all workers see"
        )
    place = Path(checkpoint)
    if place.exists() and not place.is_dir():
        raise StrettoError(f"--checkpoint: {checkpoint} is no folder")
    return place.absolute()
