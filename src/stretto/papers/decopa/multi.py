"""Several queries over the same types (sec. 6.3): shared sub-queries in one general form, units given once.

All queries are brought to the widest window, the disjunction of their predicates and AND instead of SEQ, so that the
same types are the same sub-query. The dearest query is planned first, then the others with what is there at no cost;
once more with all that the others have. A sub-query that nobody else came to read goes back to its own form.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from stretto.papers.decopa.baselines import proportional
from stretto.papers.decopa.construction import construct, total_comparisons
from stretto.records import dataclass
from stretto.solve.units.allocation import Allocated
from stretto.solve.units.loads import Capacity, MakingStep
from stretto.solve.units.rates import RatedQuery, SubQuery, Tree
from stretto.solve.units.splits import Choice, Split, is_event, joined


@dataclass(frozen=True)
class PartQuery(RatedQuery):
    """A query over some of the types of a workload, as bits; `tree`, rates and selectivities are the workload's."""

    types: int = 0

    @property
    def whole(self) -> SubQuery:
        return SubQuery(self.types, self.repeated & self.types)


def normalised(queries: Sequence[PartQuery]) -> list[PartQuery]:
    """The queries with AND over all types, and of every pair the selectivity of either: the general form."""
    every = range(len(queries[0].rates))
    pairs: dict[tuple[int, int], float] = {}
    for i in every:
        for j in range(i, len(queries[0].rates)):
            both = 1 << i | 1 << j
            having = [q.between(i, j) for q in queries if q.types & both == both]
            pairs[i, j] = 1.0 - _product([1.0 - one for one in set(having)]) if having else 1.0
    tree = Tree("AND", tuple(every))
    return [replace(query, tree=tree, selectivity=pairs) for query in queries]


def decopa_of_all(queries: Sequence[PartQuery], units: int, capacity: Capacity) -> Allocated | None:
    """Splits of all queries, with units in proportion to comparisons; None: too few units."""
    return proportional(construct_all(queries, units), units, capacity)


def construct_all(queries: Sequence[PartQuery], units: int) -> Split:
    """What the queries need, shared sub-queries once."""
    general = normalised(queries)
    splits = [construct(query, units) for query in general]
    for everything in (False, True):
        done: dict[int, Split] = dict(enumerate(splits)) if everything else {}
        for number in sorted(range(len(queries)), key=lambda n: -total_comparisons(splits[n])):
            others = [split for other, split in done.items() if other != number]
            same = [split for split in others if general[number].whole in split]
            splits[number] = (
                same[0]
                if same
                else construct(
                    general[number], units, given=partial(_is_among, {p for one in others for p in one})
                )
            )
            done[number] = splits[number]
    return _merged(queries, general, splits)


def _merged(queries: Sequence[PartQuery], general: Sequence[PartQuery], splits: Sequence[Split]) -> Split:
    """Every sub-query once, as far as the queries need it."""
    readers: dict[SubQuery, set[int]] = {}
    for number, split in enumerate(splits):
        for part in split:
            readers.setdefault(part, set()).add(number)
    found: dict[SubQuery, Choice] = {}
    for number, split in enumerate(splits):
        for part, choice in split.items():
            found.setdefault(part, _own_form(queries[number], general[number], choice, readers))
    needed: dict[SubQuery, Choice] = {}
    pending = [query.whole for query in general]
    while pending:
        part = pending.pop()
        if part not in needed and not is_event(part):
            needed[part] = found[part]
            pending.extend(found[part].inputs)
    return needed


def _is_among(parts: set[SubQuery], part: SubQuery) -> bool:
    return part in parts


def _own_form(
    query: PartQuery, general: PartQuery, choice: Choice, readers: dict[SubQuery, set[int]]
) -> Choice:
    """A step over inputs that are in their general form only where several queries read them."""
    if choice.step.kind != "join":
        return choice
    rates = [(general if len(readers.get(part, ())) > 1 else query).rate(part) for part in choice.inputs]
    left, right = sorted(rates, reverse=True)
    plain: MakingStep = joined(general, *choice.inputs).step
    return replace(choice, step=replace(plain, left=left, right=right))


def _product(values: Sequence[float]) -> float:
    found = 1.0
    for value in values:
        found *= value
    return found
