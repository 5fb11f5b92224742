"""Stretto: hundreds of event patterns in one job, shared, explained, exact.

The public names, and nothing else. They are loaded when first used, so that a command that needs no kernel does not
pay for one.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from stretto.compiled_loops import ensure_folder

if TYPE_CHECKING:
    from stretto.engine.adapt import AdaptOptions
    from stretto.engine.results.matches import Matches
    from stretto.engine.run import Engine
    from stretto.errors import EngineError, EventsError, PlanError, QueryError, StrettoError, StrettoWarning
    from stretto.face.calls import optimize, run
    from stretto.pattern.functions import register_function
    from stretto.pattern.workload import Workload
    from stretto.plan.dag import Plan
    from stretto.schema import Kind, Schema, Special
    from stretto.stats.profile import Stats
    from stretto.text.build import AND, ANY, NOT, OR, SEQ, E, R, query
    from stretto.text.build_streams import stream
    from stretto.text.terms import call

    __version__: str

ensure_folder()

_HOMES = {
    "stretto.engine.results.matches": ("Matches",),
    "stretto.engine.adapt": ("AdaptOptions",),
    "stretto.engine.run": ("Engine",),
    "stretto.face.calls": ("optimize", "run"),
    "stretto.errors": (
        "EngineError",
        "EventsError",
        "PlanError",
        "QueryError",
        "StrettoError",
        "StrettoWarning",
    ),
    "stretto.pattern.functions": ("register_function",),
    "stretto.pattern.workload": ("Workload",),
    "stretto.plan.dag": ("Plan",),
    "stretto.schema": ("Kind", "Schema", "Special"),
    "stretto.stats.profile": ("Stats",),
    "stretto.text.build": ("AND", "ANY", "NOT", "OR", "SEQ", "E", "R", "query"),
    "stretto.text.build_streams": ("stream",),
    "stretto.text.terms": ("call",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AND",
    "ANY",
    "NOT",
    "OR",
    "SEQ",
    "AdaptOptions",
    "E",
    "Engine",
    "EngineError",
    "EventsError",
    "Kind",
    "Matches",
    "Plan",
    "PlanError",
    "QueryError",
    "R",
    "Schema",
    "Special",
    "Stats",
    "StrettoError",
    "StrettoWarning",
    "Workload",
    "call",
    "explain",
    "optimize",
    "query",
    "register_function",
    "run",
    "stream",
]


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))


class _Package(ModuleType):
    """The package: its name `explain` is the call, also once the room of that name has been imported."""

    @property
    def explain(self) -> Any:
        return import_module("stretto.face.calls").explain

    @explain.setter
    def explain(self, room: ModuleType) -> None:
        """What the import system does with a room; it is found by its whole name."""


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("stretto")
    if name not in _HOME_OF:
        raise AttributeError(f"module `stretto` has no attribute `{name}`")
    return getattr(import_module(_HOME_OF[name]), name)
