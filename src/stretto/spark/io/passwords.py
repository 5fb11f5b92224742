"""Passwords in addresses: no message, no file of ours and no representation of an object shows them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import unquote

from stretto.spark.errors import StrettoSparkError

HIDDEN: Final = "***"
USER: Final = re.compile(r"(//[^/@:]*:)(.*)@", re.DOTALL)
"""`//user:password@host`; to the last `@`, as one may stand in a password that was not encoded."""
NAMED: Final = re.compile(r"(password\s*=\s*)('(?:[^'\\]|\\.)*'?|[^\s&]*)", re.IGNORECASE)
"""`password=..` among the parameters of an address, or in a list of settings."""


def redacted(address: str) -> str:
    """An address without its password."""
    return NAMED.sub(rf"\1{HIDDEN}", USER.sub(rf"\1{HIDDEN}@", address))


@contextmanager
def hiding(address: str) -> Iterator[None]:
    """Errors in here come out without the password of an address; drivers quote parts of what they cannot read."""
    try:
        yield
    except Exception as error:
        said = str(error)
        for secret in _secrets(address):
            said = said.replace(secret, HIDDEN)
        if said == str(error):
            raise
        raise StrettoSparkError(f"{type(error).__name__}: {said}") from None


def _secrets(address: str) -> list[str]:
    """The passwords of an address as they are written and as they are meant, and their parts; long ones first."""
    written = [found[2].strip("'") for pattern in (USER, NAMED) for found in pattern.finditer(address)]
    parts = {part for text in written for part in (text, unquote(text), *re.split(r"[@:/\s]", text))}
    return sorted(filter(None, parts), key=len, reverse=True)
