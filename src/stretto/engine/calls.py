"""Guard of an engine: calls change it one at a time, and after a call that ended half-way no call may."""

from dataclasses import field
from threading import get_ident
from types import TracebackType
from typing import Final, Self

from stretto.errors import EngineError
from stretto.records import dataclass

GIVEN_IN_PARTS: Final = frozenset({"pushing", "flushing"})
"""Calls that give matches while they run, and must be read to the end."""
_OPEN: Final = "open"

RESTORE: Final = (
    "Build a new engine from the last snapshot with `Engine.restore(plan, snapshot)` and push all events that came "
    "after that snapshot again. Without a snapshot, start a new engine with the first event."
)
"""Advice after a call that ended half-way."""


@dataclass(slots=True)
class EngineCall:
    """A call that changes an engine, as a context manager.

    `is_undone`: if the call fails now, the engine is as it was before the call. `has_changed`: the call has changed the
    engine. `failure`: how the call ended half-way.
    """

    name: str
    calls: "dict[str, EngineCall]"
    is_undone: bool = False
    has_changed: bool = False
    failure: str = ""
    thread: int = field(default_factory=get_ident)

    def __enter__(self) -> Self:
        # `setdefault` tests and sets in one step, also where several threads call it.
        other = self.calls.setdefault(_OPEN, self)
        if other is not self:
            raise EngineError(other.refusal(self.name))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or self.is_undone:
            # `del` is one bytecode: no interrupt can come between here and the end of the call.
            del self.calls[_OPEN]
        elif isinstance(error, GeneratorExit) and self.name in GIVEN_IN_PARTS:
            self.failure = "its matches were not read to the end"
        elif isinstance(error, GeneratorExit | KeyboardInterrupt):
            self.failure = "it was interrupted"
        else:
            self.failure = f"it failed with {type(error).__name__}: {error}"

    def refusal(self, name: str) -> str:
        """Say why another call cannot begin, and what to do."""
        if self.failure:
            return (
                f"cannot {name}: an earlier `{self.name}` ended half-way ({self.failure}), so this engine has run only "
                f"a part of its events. {RESTORE}"
            )
        if self.thread != get_ident():
            return (
                f"cannot {name}: another thread is inside `{self.name}` of this engine. An engine takes one call at a "
                "time: hold a lock around its calls, or give each thread its own engine."
            )
        return (
            f"cannot {name}: an earlier `{self.name}` has not ended. Read the matches of `pushing` and `flushing` to "
            f"the end before the next call. If the earlier call was interrupted, this engine cannot go on. {RESTORE}"
        )


@dataclass(slots=True)
class EngineCalls:
    """The call that an engine is in; after a call that ended half-way, that call for ever."""

    calls: dict[str, EngineCall] = field(default_factory=dict)

    def begin(self, name: str) -> EngineCall:
        """Return the context of a call. Entering it raises EngineError while another call is open."""
        return EngineCall(name, self.calls)
