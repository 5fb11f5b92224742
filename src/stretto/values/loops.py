"""Loops that are compiled when they are first called: loading the compiler takes longer than running a small file."""

from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


class Loop:
    """A function that Numba compiles when it is called, or loads from disk if it has done so before."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func = function
        self.__doc__ = function.__doc__
        self._options = options

    def __call__(self, *args: Any) -> Any:
        return self.compiled(*args)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        """By its name: an engine that is kept holds loops."""
        return _named, (self.py_func.__module__, self.py_func.__qualname__)

    @property
    def signatures(self) -> list[Any]:
        """The types for which it has been compiled."""
        return self.compiled.signatures if "compiled" in vars(self) else []

    @cached_property
    def compiled(self) -> Any:
        from numba import njit  # noqa: PLC0415 - what this is for

        from stretto.loop_cache import keep_on_disk  # noqa: PLC0415 - loads Numba

        known = self.py_func.__globals__
        for name in self.py_func.__code__.co_names:
            called = known.get(name)
            if isinstance(called, (Loop, Operation)):
                known[name] = called.compiled  # Numba knows its own loops only
        return keep_on_disk(njit(nogil=True, **self._options)(self.py_func))


class Operation:
    """A function that loops call and that is built from LLVM's instructions; a call from elsewhere is slow.

    `build` says what Numba's `intrinsic` asks for: given the types of the arguments, a signature and a generator.
    """

    def __init__(self, function: Callable[..., Any], build: Callable[..., Any]) -> None:
        self.py_func = function
        self.__doc__ = function.__doc__
        self._build = build

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)

    @cached_property
    def compiled(self) -> Any:
        from numba.extending import intrinsic  # noqa: PLC0415 - as above

        return intrinsic(self._build)


def _named(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def loop(function: Function) -> Function:
    """Compile a function when it is called."""
    return cast("Function", Loop(function, {}))


def inlined(function: Function) -> Function:
    """Likewise, into the loops that call it."""
    return cast("Function", Loop(function, {"inline": "always"}))


def loop_as_numpy(function: Function) -> Function:
    """Likewise; its divisions by zero are infinities, as in NumPy."""
    return cast("Function", Loop(function, {"error_model": "numpy"}))


def operation(build: Callable[..., Any]) -> Callable[[Function], Function]:
    """Let loops call what `build` makes in place of a function."""

    def operation_of(function: Function) -> Function:
        return cast("Function", Operation(function, build))

    return operation_of
