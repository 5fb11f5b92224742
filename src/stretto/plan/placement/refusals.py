"""What units cannot compute: results that depend on events which a unit does not see."""

from stretto.errors import StrettoError
from stretto.plan.dag import Plan, window_of


def refuse_units(plan: Plan) -> None:
    """Raise StrettoError for a plan whose results units would change."""
    reason = why_no_units(plan)
    if reason is not None:
        raise StrettoError(f"cannot spread by units: {reason}")


def why_no_units(plan: Plan) -> str | None:
    """Why a plan's results would be wrong if its events were divided among units; None if they are right."""
    if plan.trends is not None:
        return "trends are counted over all events of their types"
    if plan.front is not None:
        return "derived streams are made of all events"
    if any(window is not None and window.unit == "events" for window in map(window_of, plan.ops)):
        return "a window in EVENTS counts events that other units hold"
    if any(name.startswith("@") for name in plan.specials()):
        return "STRICT looks at neighbouring events, which other units may hold"
    return None
