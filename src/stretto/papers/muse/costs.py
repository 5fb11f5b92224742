"""MUSE's own model of what sharing an edge costs and saves (sec. 3, equations 1 to 3)."""

from stretto.trends.benefit import Costs, Load, log2_of


def paper_costs(load: Load) -> Costs:
    """Equations 1 to 3 of MUSE: an event of E reads all of E' before it, found and kept in trees."""
    trees = log2_of(load.before) + log2_of(load.events)
    matstates = min(load.matstates, max(load.before, 1.0))
    return Costs(
        load.values * load.events * (trees + load.before),
        load.lanes * load.events * (trees + matstates * load.before),
        load.values * load.events * matstates,
    )
