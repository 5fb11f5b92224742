"""Algorithm 1 of DecoPa: splits over rate-reducing sub-queries by dynamic programming, then units.

Misprints mended: line 9 updates the costs of the plan, `E_s` is E_2 and `PlanCosts` is PCosts. Costs are the sum of all
comparisons, as the paper has it, although the objective is the greatest load.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Final

from stretto.papers.decopa.baselines import proportional
from stretto.pattern.order import members
from stretto.solve.units.allocation import Allocated
from stretto.solve.units.loads import Capacity
from stretto.solve.units.rates import RatedQuery, SubQuery
from stretto.solve.units.splits import Choice, Split, binary, is_event, joined, left_deep, subsets, unary

SAMPLED: Final = 40
"""Left-deep splits that are drawn for each sub-query."""


def decopa(query: RatedQuery, units: int, capacity: Capacity, seed: int = 0) -> Allocated | None:
    """The plan of Algorithm 1; None if there are fewer units than its split has sub-queries."""
    return proportional(construct(query, units, seed), units, capacity)


def rate_reducing(query: RatedQuery) -> list[SubQuery]:
    """Sub-queries with fewer rows than the commonest of their types (sec. 6.1), small ones first."""
    found = []
    for slots in subsets(query.whole.slots):
        repeated = query.repeated & slots
        for grown in {0, repeated}:
            part = SubQuery(slots, grown)
            if not is_event(part) and slots & (slots - 1):
                commonest = max(query.rates[slot] for slot in members(slots))
                if query.rate(part) < commonest:
                    found.append(part)
    return sorted(found, key=lambda part: (part.slots.bit_count(), part.grown.bit_count(), part))


Given = Callable[[SubQuery], bool]
"""Which sub-queries other queries have: they cost nothing (sec. 6.3)."""


def nothing_given(_part: SubQuery) -> bool:
    return False


def construct(query: RatedQuery, units: int, seed: int = 0, given: Given = nothing_given) -> Split:
    """The split of the whole query (lines 1 to 16)."""
    random = Random(seed)  # noqa: S311 - nothing is kept secret

    def cost_of(split: Split, own: int = 1) -> float:
        return total_comparisons({part: step for part, step in split.items() if not given(part)}, own)

    reducing = [part for part in rate_reducing(query) if part != query.whole]
    splits: dict[SubQuery, Split] = {}
    for part in [*reducing, query.whole]:
        drawn = [_left_deep_of(query, part, random) for _ in range(SAMPLED)]
        splits[part] = min(drawn, key=cost_of)
    costs = {part: cost_of(split) for part, split in splits.items()}
    everything = sum(costs.values())
    for part in [*reducing, query.whole]:
        own = max(1, round(units * costs[part] / everything)) if everything else 1
        best, least = splits[part], cost_of(splits[part], own)
        below = [
            one
            for one in reducing
            if one.slots & ~part.slots == 0 and one != part and costs[one] < costs[part]
        ]
        for split in _candidates(query, part, below, splits):
            cost = cost_of(split, own)
            if cost < least:
                best, least = split, cost
        splits[part], costs[part] = best, cost_of(best)
    return splits[query.whole]


def _candidates(
    query: RatedQuery, part: SubQuery, below: list[SubQuery], splits: dict[SubQuery, Split]
) -> Iterator[Split]:
    """Splits whose last step reads two sub-queries that cover the part, or one that lacks repetitions."""
    events = [SubQuery(1 << slot) for slot in members(part.slots)]
    sources = [*below, *events]
    for place, one in enumerate(sources):
        for other in sources[place + 1 :]:
            covers = one.slots | other.slots == part.slots and one.grown | other.grown == part.grown
            twice = one.slots & other.slots & part.grown
            if covers and not twice and part.slots not in (one.slots, other.slots):
                yield _with(part, joined(query, one, other), splits)
    for slot in members(part.grown):
        for choice in (unary(query, part, slot), binary(query, part, slot)):
            if all(is_event(source) or source in splits for source in choice.inputs):
                yield _with(part, choice, splits)


def _with(part: SubQuery, choice: Choice, splits: dict[SubQuery, Split]) -> Split:
    found: dict[SubQuery, Choice] = {part: choice}
    for source in choice.inputs:
        if not is_event(source):
            found.update(splits[source])
    return found


def _left_deep_of(query: RatedQuery, part: SubQuery, random: Random) -> Split:
    slots = members(part.slots)
    random.shuffle(slots)
    seen = query if query.repeated == part.grown else replace(query, repeated=part.grown)
    return left_deep(seen, slots)


def total_comparisons(split: Split, units: int = 1) -> float:
    """The sum of the comparisons of all sub-queries, each on so many units."""
    return sum(choice.step.compared(units) for choice in split.values())
