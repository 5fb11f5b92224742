"""Stretto: hundreds of event patterns in one job, shared, explained, exact.

The public names, and nothing else. They are loaded when first used, so that a command that needs no kernel does not
pay for one.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stretto.engine.adapt import AdaptOptions
    from stretto.engine.planning import optimize
    from stretto.engine.results.matches import Matches
    from stretto.engine.run import Engine
    from stretto.engine.whole_table import run
    from stretto.errors import EngineError, EventsError, PlanError, QueryError, StrettoError
    from stretto.pattern.functions import register_function
    from stretto.pattern.workload import Workload
    from stretto.plan.dag import Plan
    from stretto.schema import Kind, Schema, Special
    from stretto.stats.profile import Stats
    from stretto.text.build import AND, ANY, NOT, OR, SEQ, E, R, query
    from stretto.text.build_streams import stream
    from stretto.text.terms import call

__version__ = version("stretto")

_HOMES = {
    "stretto.engine.results.matches": ("Matches",),
    "stretto.engine.adapt": ("AdaptOptions",),
    "stretto.engine.run": ("Engine",),
    "stretto.engine.whole_table": ("run",),
    "stretto.errors": ("EngineError", "EventsError", "PlanError", "QueryError", "StrettoError"),
    "stretto.pattern.functions": ("register_function",),
    "stretto.pattern.workload": ("Workload",),
    "stretto.plan.dag": ("Plan",),
    "stretto.engine.planning": ("optimize",),
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
    "Workload",
    "call",
    "optimize",
    "query",
    "register_function",
    "run",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module `stretto` has no attribute `{name}`")
    return getattr(import_module(_HOME_OF[name]), name)
