"""Splits of a query: a step for every sub-query that is used, and the ways there are to make each."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from stretto.pattern.order import members
from stretto.records import dataclass
from stretto.solve.units.loads import MakingStep
from stretto.solve.units.rates import RatedQuery, SubQuery

Part = TypeVar("Part", bound=Hashable)


@dataclass(frozen=True, slots=True)
class MadeBy(Generic[Part]):
    """One way to make a part of a query: from these others, by this step. Events are there anyway."""

    inputs: tuple[Part, ...]
    step: MakingStep


Choice = MadeBy[SubQuery]
Split = Mapping[SubQuery, Choice]
"""How each used sub-query is made; all that a choice reads is a single slot or used too."""


def is_event(part: SubQuery) -> bool:
    """Whether a sub-query is one slot, which is read from the stream."""
    return part.slots & (part.slots - 1) == 0 and not part.grown


def joined(query: RatedQuery, one: SubQuery, other: SubQuery) -> Choice:
    """Rows of both parts, joined; the larger one is the first."""
    first, second = sorted((one, other), key=lambda part: -query.rate(part))
    common = SubQuery(one.slots & other.slots)
    shared = query.rate(common) if common.slots else 0.0
    return MadeBy((first, second), MakingStep("join", query.rate(first), query.rate(second), shared=shared))


def unary(query: RatedQuery, part: SubQuery, slot: int) -> Choice:
    """The repetitions of a slot, grown from rows with one of them each."""
    below = SubQuery(part.slots, part.grown & ~(1 << slot))
    return MadeBy((below,), MakingStep("unary", query.rate(below), made=query.rate(part)))


def binary(query: RatedQuery, part: SubQuery, slot: int) -> Choice:
    """The repetitions of a slot, from rows without it and its events."""
    bit = 1 << slot
    others, event = SubQuery(part.slots & ~bit, part.grown & ~bit), SubQuery(bit)
    sets = query.rate(SubQuery(bit, bit))
    step = MakingStep("binary", query.rate(others), query.rate(event), query.rate(part), sets)
    return MadeBy((others, event), step)


def choices(query: RatedQuery, part: SubQuery) -> Iterator[Choice]:
    """Every way to make a sub-query: two parts that cover it and may overlap, and the splits of what repeats."""
    for slot in members(part.grown):
        yield unary(query, part, slot)
        if part.slots & ~(1 << slot):
            yield binary(query, part, slot)
    free = part.slots & ~part.grown
    for one in subsets(part.slots):
        missing = part.slots & ~one
        if not missing or one == part.slots:
            continue
        # What has been repeated is in one part alone; single events may be in both.
        for common in _all_subsets(one & free):
            other = missing | common
            if other != part.slots and one > other:
                left, right = SubQuery(one, part.grown & one), SubQuery(other, part.grown & other)
                yield joined(query, left, right)


def subsets(slots: int) -> Iterator[int]:
    """All sets of some slots but the empty one, as bits."""
    part = slots
    while part:
        yield part
        part = (part - 1) & slots


def _all_subsets(slots: int) -> Iterator[int]:
    yield from subsets(slots)
    yield 0


def left_deep(query: RatedQuery, order: Sequence[int]) -> Split:
    """Slots joined one after another in an order; each that repeats by a binary split."""
    found: dict[SubQuery, Choice] = {}
    first, *others = order
    so_far = SubQuery(1 << first)
    for slot in others:
        bit = 1 << slot
        if is_event(so_far) and query.repeated & so_far.slots:
            # What repeats comes first: it needs rows of others to begin with.
            now = SubQuery(so_far.slots | bit, so_far.slots)
            found[now] = binary(query, now, first)
            if query.repeated & bit:
                below, now = now, SubQuery(now.slots, now.slots)
                found[now] = MadeBy((below,), unary(query, now, slot).step)
        elif query.repeated & bit:
            now = SubQuery(so_far.slots | bit, so_far.grown | bit)
            found[now] = binary(query, now, slot)
        else:
            now = SubQuery(so_far.slots | bit, so_far.grown)
            found[now] = joined(query, so_far, SubQuery(bit))
        so_far = now
    return found
