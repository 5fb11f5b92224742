"""DecoPa's table and figures through the model: published rates, stated formulas, no events. See `decopa`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, permutations
from random import Random
from statistics import median
from time import process_time

from stretto.papers.decopa.baselines import (
    centralized,
    hybrid,
    hybrid_exact,
    proportional,
    rip,
    state_parallel,
)
from stretto.papers.decopa.construction import construct, decopa
from stretto.papers.decopa.multi import PartQuery, construct_all, decopa_of_all, normalised
from stretto.papers.decopa.published import QUERIES, SERVER_CAPACITY
from stretto.pattern.order import members
from stretto.solve.common.budget import Budget
from stretto.solve.units.allocation import Allocated, allocate
from stretto.solve.units.loads import Capacity
from stretto.solve.units.rates import RatedQuery, SubQuery, Tree
from stretto.solve.units.splits import Split, left_deep
from stretto.solve.units.together import fastest

BUDGET_S = 10.0
Contestant = Callable[[RatedQuery, int, Capacity], float | None]


def _speed(found: Allocated | None) -> float | None:
    return None if found is None else found.speed


SPAN = 24.0
"""Windows in the batch that slices of time are cut from."""


def time_slices(query: RatedQuery, units: int, capacity: Capacity) -> float:
    """A batch cut into as many slices as units, each with one window more before it, by the best order of joins."""
    share = min(1.0, 1.0 / units + 1.0 / SPAN)
    orders = [left_deep(query, order) for order in islice(permutations(range(len(query.rates))), 120)]
    compared = min(sum(one.step.compared(1) for one in split.values()) for split in orders)
    return 1.0 / (share * max(sum(query.rates) / capacity.iota, compared / capacity.kappa))


CONTESTANTS: Mapping[str, Contestant] = {
    "decopa": lambda query, units, capacity: _speed(decopa(query, units, capacity)),
    "hybrid": lambda query, units, capacity: _speed(hybrid(query, units, capacity)),
    "hybrid, exact": lambda query, units, capacity: _speed(hybrid_exact(query, units, capacity)),
    "rip": rip,
    "time slices": time_slices,
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
    """Fig. 11, Kleene: a type that repeats, the more events of it the dearer."""
    for rate in rates:
        made = []
        for seed in range(queries):
            query = zipfian(Random(seed), 4)
            made.append(RatedQuery(query.tree, (rate, *query.rates[1:]), query.selectivity, 1))
        yield medians("events that repeat", rate, made, units, SERVER_CAPACITY)


def _depth(found: Allocated) -> dict[SubQuery, int]:
    """The stage of each sub-query: after all that it reads."""
    depth: dict[SubQuery, int] = {}
    for part in sorted(found.split, key=lambda one: (one.slots.bit_count(), one.grown.bit_count())):
        depth[part] = 1 + max((depth.get(source, 0) for source in found.split[part].inputs), default=0)
    return depth


def latency(found: Allocated, speed: float) -> float:
    """Windows of stream from the last event of a match to the match, at a speed: each stage behind the one before."""
    stages: dict[int, float] = {}
    for part, stage in _depth(found).items():
        stages[stage] = max(stages.get(stage, 0.0), found.grids[part].load * speed)
    return sum(stages.values())


def exchanged(found: Allocated) -> float:
    """Rows and events that reach units in a window."""
    total = 0.0
    for part, grid in found.grids.items():
        step = found.split[part].step
        total += step.left * grid.right + step.right * grid.left
    return total


def plans(query: RatedQuery, units: int, capacity: Capacity) -> dict[str, Allocated]:
    known = construct(query, units)
    found = {
        "hybrid": hybrid(query, units, capacity),
        "hybrid, exact": hybrid_exact(query, units, capacity),
        "decopa": proportional(known, units, capacity),
        "units, ours": fastest(query, units, capacity, Budget(BUDGET_S), known=[known], beyond=True),
    }
    return {name: one for name, one in found.items() if one is not None}


def by_hybrid_speed(queries: int, units: int = 20, length: int = 5) -> Rows:
    """Fig. 13 and 14: latency, and events exchanged, at the greatest speed that hybrid has."""
    made = [plans(zipfian(Random(seed), length), units, SERVER_CAPACITY) for seed in range(queries)]
    for name in made[0]:
        some = [(one[name], one["hybrid"].speed) for one in made if name in one]
        yield {
            "plan": name,
            "latency, windows": median(latency(found, speed) for found, speed in some),
            "exchanged in a window": median(exchanged(found) for found, _ in some),
        }


def workload(rng: Random, count: int, types: int = 8, length: int = 5) -> list[PartQuery]:
    """Sequences of some of the same types, whose predicates they share."""
    rates = [1000.0 / rank**1.2 for rank in range(1, types + 1)]
    rng.shuffle(rates)
    pairs = {(i, j): rng.uniform(0.01, 0.1) for i in range(types) for j in range(i, types)}
    tree = Tree("SEQ", tuple(range(types)))
    masks = [sum(1 << slot for slot in rng.sample(range(types), length)) for _ in range(count)]
    return [PartQuery(tree, tuple(rates), pairs, 0, mask) for mask in dict.fromkeys(masks)]


def by_queries(rounds: int, counts: Sequence[int] = (1, 3, 5, 7), units: int = 40) -> Rows:
    """Fig. 15: several queries, shared or not; as multiples of one unit for all."""
    for count in counts:
        found: dict[str, list[float]] = {}
        for seed in range(rounds):
            queries = workload(Random(seed), count)
            alone = [(i, part, choice) for i, q in enumerate(queries) for part, choice in _text(q).items()]
            base = SERVER_CAPACITY.kappa / sum(choice.step.compared(1) for _, _, choice in alone)
            apart = {SubQuery(part.slots | i << 16): choice for i, part, choice in alone}
            general = normalised(queries)
            roots = list(dict.fromkeys(query.whole for query in general))
            several = {
                "hybrid": proportional(apart, units, SERVER_CAPACITY),
                "hybrid, exact": allocate(apart, units, SERVER_CAPACITY),
                "decopa, 6.3": decopa_of_all(queries, units, SERVER_CAPACITY),
                "units, ours": fastest(
                    general[0],
                    units,
                    SERVER_CAPACITY,
                    Budget(BUDGET_S),
                    known=[construct_all(queries, units)],
                    beyond=True,
                    roots=roots,
                ),
            }
            for name, one in several.items():
                if one is not None:
                    found.setdefault(name, []).append(one.speed / base)
        yield {"queries": count, **{name: median(values) for name, values in found.items()}}


def _text(query: PartQuery) -> Split:
    """Left-deep in the order of the text."""
    return left_deep(query, members(query.types))


def by_planning(rounds: int, lengths: Sequence[int] = (4, 5, 6, 7, 8), units: int = 20) -> Rows:
    """Fig. 16: seconds of a processor to plan, and how far from the proven best."""
    for length in lengths:
        theirs, ours, gaps = [], [], []
        for seed in range(rounds):
            query = zipfian(Random(seed), length)
            begun = process_time()
            known = construct(query, units)
            between = process_time()
            found = fastest(query, units, SERVER_CAPACITY, Budget(BUDGET_S), known=[known], beyond=True)
            theirs.append(between - begun)
            ours.append(process_time() - between)
            assert found is not None
            gaps.append(1.0 if found.bound is None else 1.0 - found.speed / found.bound)
        yield {
            "types": length,
            "decopa s": median(theirs),
            "units s, median": median(ours),
            "units s, most": max(ours),
            "gap, most": max(gaps),
        }


def by_bounds(queries: int, lengths: Sequence[int] = (4, 5, 6), units: int = 20) -> Rows:
    """Fig. 17: bound by what is taken in, and by comparisons."""
    for name, capacity in (
        ("ingestion", Capacity(2_000.0, 500_000.0)),
        ("comparison", Capacity(15_000.0, 60_000.0)),
    ):
        for length in lengths:
            made = [zipfian(Random(seed), length) for seed in range(queries)]
            yield {"bound by": name, **medians("types", length, made, units, capacity)}
