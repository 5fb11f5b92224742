"""Where an estimate fails the plan is made without it: the one place that says so.

An estimate only chooses between plans that are all right. So nothing that goes wrong with it may end the planning:
neither a function of the user that raises on the sample, nor a mistake of ours about data that nobody thought of. The
latter is logged, once for each kind, and raised where `strict` is set, as it is in the tests.
"""

import logging
from collections.abc import Callable
from functools import wraps
from math import inf
from typing import Any, Final, TypeVar

from stretto.errors import StrettoError

strict = False
"""Whether a failure that nobody foresaw is raised."""

_LOG: Final = logging.getLogger("stretto.stats")
_told: set[tuple[str, str]] = set()

Method = TypeVar("Method", bound=Callable[..., Any])


def otherwise(default: Callable[..., Any]) -> Callable[[Method], Method]:
    """A method that estimates, made safe: where it raises, or gives a number that is negative, infinite or none at all,
    `default` of the same arguments stands for it.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def safe(*asked: Any) -> Any:
            try:
                found = method(*asked)
                if _is_sound(found):
                    return found
                raise ArithmeticError(f"{found} is no estimate")  # noqa: TRY301 - as if it had been raised there
            except MemoryError:
                raise
            except StrettoError:
                pass
            except Exception as error:
                if strict:
                    raise
                _tell(method.__qualname__, error)
            return default(*asked)

        return safe  # type: ignore[return-value]  # called as the method is

    return decorate


def _is_sound(found: object) -> bool:
    if isinstance(found, float):
        return 0.0 <= found < inf
    return not isinstance(found, tuple) or all(map(_is_sound, found))


def _tell(method: str, error: Exception) -> None:
    if (method, type(error).__name__) not in _told:
        _told.add((method, type(error).__name__))
        _LOG.warning(
            "an estimate failed (%s, %s: %s); plans are made without it", method, type(error).__name__, error
        )
