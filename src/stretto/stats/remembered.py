"""Questions that are asked again and again, answered once."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


def remembered(method: Method) -> Method:
    """A method whose answer depends on its arguments alone and is never None; its object's `_remembered` keeps it."""
    name = method.__name__

    @wraps(method)
    def answer(self: Any, *asked: Any) -> Any:
        question = name, *asked
        known = self._remembered.get(question)
        if known is None:
            known = self._remembered[question] = method(self, *asked)
        return known

    return answer  # type: ignore[return-value]  # called as the method is
