"""DecoPa's table and figures through the model: published rates, stated formulas, no events. See `decopa`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from statistics import median

from stretto.papers.decopa.baselines import centralized, hybrid, hybrid_exact, rip, state_parallel
from stretto.papers.decopa.construction import construct, decopa
from stretto.papers.decopa.published import QUERIES, SERVER_CAPACITY
from stretto.solve.common.budget import Budget
from stretto.solve.units.allocation import Allocated
from stretto.solve.units.loads import Capacity
from stretto.solve.units.rates import RatedQuery, Tree
from stretto.solve.units.together import fastest

BUDGET_S = 10.0
Contestant = Callable[[RatedQuery, int, Capacity], float | None]


def _speed(found: Allocated | None) -> float | None:
    return None if found is None else found.speed


CONTESTANTS: Mapping[str, Contestant] = {
    "decopa": lambda query, units, capacity: _speed(decopa(query, units, capacity)),
    "hybrid": lambda query, units, capacity: _speed(hybrid(query, units, capacity)),
    "hybrid, exact": lambda query, units, capacity: _speed(hybrid_exact(query, units, capacity)),
    "rip": rip,
    "state-parallel": lambda query, _, capacity: state_parallel(query, capacity),
    "optimal as divided there": lambda query, units, capacity: _speed(
        fastest(query, units, capacity, Budget(BUDGET_S), known=[construct(query, units)])
    ),
    "units, ours": lambda query, units, capacity: _speed(
        fastest(query, units, capacity, Budget(BUDGET_S), known=[construct(query, units)], beyond=True)
    ),
}

Rows = Iterator[dict[str, object]]


def gains(query: RatedQuery, units: int, capacity: Capacity) -> dict[str, float | None]:
    """Replay speeds as multiples of the centralized one; None: too few units for any of its splits."""
    base = centralized(query, capacity)
    found = {name: speed(query, units, capacity) for name, speed in CONTESTANTS.items()}
    return {name: None if speed is None else speed / base for name, speed in found.items()}


def table_3(units: Sequence[int]) -> Rows:
    """The six queries on so many units (Table 3)."""
    for name, (query, capacity) in QUERIES.items():
        for count in units:
            yield {"query": name, "units": count, **gains(query, count, capacity)}


def zipfian(rng: Random, length: int) -> RatedQuery:
    """A conjunction of types whose rates fall by Zipf's law with exponent 1.2, pairs of selectivity 1 to 10%."""
    rates = [1000.0 / rank**1.2 for rank in range(1, length + 1)]
    rng.shuffle(rates)
    pairs = {(i, j): rng.uniform(0.01, 0.1) for i in range(length) for j in range(i, length)}
    return RatedQuery(Tree("AND", tuple(range(length))), tuple(rates), pairs)


def medians(
    label: str, value: object, made: Sequence[RatedQuery], units: int, capacity: Capacity
) -> dict[str, object]:
    """The median gain of each contestant over some queries."""
    found = [gains(query, units, capacity) for query in made]
    known = {name: [gain for one in found if (gain := one[name]) is not None] for name in CONTESTANTS}
    return {label: value, **{name: median(values) if values else None for name, values in known.items()}}


def by_units(queries: int, units: Sequence[int], length: int = 5) -> Rows:
    """Fig. 9 a and 17 a: more and more units."""
    made = [zipfian(Random(seed), length) for seed in range(queries)]
    for count in units:
        yield medians("units", count, made, count, SERVER_CAPACITY)


def by_length(queries: int, lengths: Sequence[int], units: int = 15) -> Rows:
    """Fig. 9 b and 17 b: longer and longer queries."""
    for length in lengths:
        yield medians(
            "types",
            length,
            [zipfian(Random(seed), length) for seed in range(queries)],
            units,
            SERVER_CAPACITY,
        )


def by_kappa(queries: int, units: int = 20, length: int = 5) -> Rows:
    """Fig. 11 and 12: cheap and dear comparisons, types by rising rates (the worst text order) and by falling ones."""
    for kappa in (60_000.0, 600_000.0):
        for order in ("rising", "falling"):
            made = []
            for seed in range(queries):
                query = zipfian(Random(seed), length)
                rates = tuple(sorted(query.rates, reverse=order == "falling"))
                made.append(RatedQuery(query.tree, rates, query.selectivity))
            capacity = SERVER_CAPACITY._replace(kappa=kappa)
            yield {"rates": order, **medians("kappa", kappa, made, units, capacity)}


def by_repetition(queries: int, rates: Sequence[float] = (2.0, 5.0, 10.0, 20.0), units: int = 20) -> Rows:
    """Fig. 14: a type that repeats, the more events of it the dearer."""
    for rate in rates:
        made = []
        for seed in range(queries):
            query = zipfian(Random(seed), 4)
            made.append(RatedQuery(query.tree, (rate, *query.rates[1:]), query.selectivity, 1))
        yield medians("events that repeat", rate, made, units, SERVER_CAPACITY)
