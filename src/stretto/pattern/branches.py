"""The alternatives of a bound pattern: OR, ANY, `?` and `*` split off, nesting flattened into a partial order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from math import prod
from typing import Final

from stretto.pattern.nodes import Atom, Combine, Not, Pattern, Repeat, Stream
from stretto.pattern.order import NO_ORDER, Order
from stretto.pattern.piece import Place
from stretto.records import dataclass

MAX_BRANCHES: Final = 4096


class NotPlannable(Exception):  # noqa: N818 - a fact about a query, turned into a QueryError by its caller
    """A query that is right, but that no plan can answer yet; the text says why."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A variable that takes `low` to `high` events of a stream."""

    variable: int
    stream: Stream
    low: int = 1
    high: int | None = 1

    @property
    def repeats(self) -> bool:
        return (self.low, self.high) != (1, 1)


@dataclass(frozen=True, slots=True)
class RepeatedGroup:
    """A repeated group: `low` to `high` repetitions of any of the alternatives, none of them empty."""

    alternatives: tuple["Alternative", ...]
    low: int
    high: int | None
    variables: tuple[int, ...]

    @property
    def repeats(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A negation; `after` and `before` are numbers of slots of its alternative."""

    variable: int
    stream: Stream
    place: Place
    after: tuple[int, ...] = ()
    before: tuple[int, ...] = ()

    def shifted(self, by: int) -> "Forbidden":
        if not by:
            return self
        after, before = tuple(i + by for i in self.after), tuple(i + by for i in self.before)
        return Forbidden(self.variable, self.stream, self.place, after, before)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to match a pattern: slots, which of them come before which, and what is forbidden."""

    slots: tuple[Leaf | RepeatedGroup, ...] = ()
    order: Order = NO_ORDER
    forbidden: tuple[Forbidden, ...] = ()


NOTHING: Final = Alternative()


def alternatives(pattern: Pattern, *, split: bool = True) -> tuple[Alternative, ...]:
    """Every way to match a pattern, each once, in the order of the text; one of them may bind nothing.

    Without `split`, as the policy NEXT reads it, a type that may occur zero times stays one slot.
    """
    match pattern:
        case Atom(variable, stream):
            return (Alternative((Leaf(variable, stream),)),)
        case Repeat(Atom(variable, stream), low, high):
            if not split:
                return (Alternative((Leaf(variable, stream, low, high),)),)
            some = Alternative((Leaf(variable, stream, max(low, 1), high),))
            return (some,) if low else (some, NOTHING)
        case Repeat(part, low, high):
            return _repeated(alternatives(part), low, high)
        case Combine("SEQ", parts):
            place = _in_sequence if split else _in_steps
            return _combined([_options(part, split=split) for part in parts], place)
        case Combine("AND", parts):
            return _combined([_options(part, split=True) for part in parts], _in_conjunction)
        case Combine("OR", parts):
            return _once(chain.from_iterable(alternatives(part) for part in parts))
        case Combine("ANY", parts):
            return _any([alternatives(part) for part in parts])
    raise AssertionError(pattern)


def _any(options: Sequence[tuple[Alternative, ...]]) -> tuple[Alternative, ...]:
    """Leaving a part out is as good as letting it bind nothing, but not all parts may be left out."""
    found = _combined([(*option, NOTHING) for option in options], _in_conjunction)
    if any(NOTHING in option for option in options):
        return found
    return tuple(part for part in found if part != NOTHING)


def _options(part: Pattern, *, split: bool) -> tuple[Alternative | Not, ...]:
    return (part,) if isinstance(part, Not) else alternatives(part, split=split)


def _once(found: Iterable[Alternative]) -> tuple[Alternative, ...]:
    kept = tuple(dict.fromkeys(found))
    _guard(len(kept))
    return kept


def _guard(count: int) -> None:
    if count > MAX_BRANCHES:
        raise NotPlannable(f"OR, ANY, `?` and `*` split into more than {MAX_BRANCHES:,} alternatives")


def _repeated(inner: tuple[Alternative, ...], low: int, high: int | None) -> tuple[Alternative, ...]:
    """Repetitions of a group. One that binds nothing is none, so a group that may be empty may be left out."""
    parts = tuple(part for part in inner if part.slots)
    if len(parts) < len(inner):
        low = 0
    if high == 1:
        found = parts
    else:
        variables = tuple(sorted({variable for part in parts for variable in variables_of(part)}))
        found = (Alternative((RepeatedGroup(parts, max(low, 1), high, variables),)),)
    return found if low else (*found, NOTHING)


def _combined(
    options: Sequence[tuple[Alternative | Not, ...]],
    place: Callable[[tuple[Alternative | Not, ...]], Alternative],
) -> tuple[Alternative, ...]:
    if all(len(option) == 1 for option in options):
        return (place(tuple(option[0] for option in options)),)
    _guard(prod(len(option) for option in options))
    return _once(place(chosen) for chosen in product(*options))


def _joined(
    chosen: Sequence[Alternative | Not], *, in_order: bool
) -> tuple[list[Leaf | RepeatedGroup], Order, list[Forbidden], list[range]]:
    """Slots, order and inner negations of the parts one after another, and the slots of each part."""
    slots: list[Leaf | RepeatedGroup] = []
    after: list[int] = []
    forbidden: list[Forbidden] = []
    ranges: list[range] = []
    for part in chosen:
        start = len(slots)
        if isinstance(part, Alternative):
            slots.extend(part.slots)
            after.extend(part.order.behind(i) << start for i in range(len(part.slots)))
            forbidden.extend(inner.shifted(start) for inner in part.forbidden)
        ranges.append(range(start, len(slots)))
    if in_order:
        everything = (1 << len(slots)) - 1
        for own in ranges:
            later = everything >> own.stop << own.stop
            for i in own:
                after[i] |= later
    return slots, Order.of_masks(after), forbidden, ranges


def _in_conjunction(chosen: tuple[Alternative | Not, ...]) -> Alternative:
    slots, order, forbidden, _ = _joined(chosen, in_order=False)
    for part in chosen:
        if isinstance(part, Not):
            forbidden.append(Forbidden(part.part.variable, part.part.stream, Place.ANYWHERE))
    return Alternative(tuple(slots), order, tuple(forbidden))


def _in_sequence(chosen: tuple[Alternative | Not, ...]) -> Alternative:
    slots, order, forbidden, ranges = _joined(chosen, in_order=True)
    for number, part in enumerate(chosen):
        if isinstance(part, Not):
            # What stands before the part before it ends earlier anyway; so do all slots but the last of a part.
            after = next((ranges[i] for i in range(number - 1, -1, -1) if ranges[i]), range(0))
            before = next((ranges[i] for i in range(number, len(ranges)) if ranges[i]), range(0))
            forbidden.extend(_placed(part, order.latest(after), order.earliest(before)))
    return Alternative(tuple(slots), order, tuple(forbidden))


def _in_steps(chosen: tuple[Alternative | Not, ...]) -> Alternative:
    """A sequence whose slots may take nothing: a NOT reaches over those to the nearest that must take something."""
    slots, order, forbidden, ranges = _joined(chosen, in_order=True)
    for number, part in enumerate(chosen):
        if isinstance(part, Not):
            start = ranges[number].start
            after = _reach(slots, range(start - 1, ranges[0].start - 1, -1))
            before = _reach(slots, range(start, ranges[-1].stop))
            closed = all(any(slots[i].low for i in side) for side in (after, before))
            forbidden.extend(_placed(part, sorted(after), before, Place.BETWEEN if closed else Place.OPEN))
    return Alternative(tuple(slots), order, tuple(forbidden))


def _reach(slots: Sequence[Leaf | RepeatedGroup], numbers: range) -> list[int]:
    """The slots up to the first that must take something; all of them if none must."""
    end = next((count for count, number in enumerate(numbers, 1) if slots[number].low > 0), len(numbers))
    return list(numbers[:end])


def _placed(
    part: Not, after: Sequence[int], before: Sequence[int], inside: Place = Place.BETWEEN
) -> Iterator[Forbidden]:
    """The negation between these slots; where the SEQ binds nothing there is nothing to forbid."""
    place = inside if after and before else Place.LAST if after else Place.FIRST
    if after or before:
        yield Forbidden(part.part.variable, part.part.stream, place, tuple(after), tuple(before))


def variables_of(part: Alternative) -> Iterator[int]:
    """The variables that an alternative can bind."""
    for slot in part.slots:
        if isinstance(slot, Leaf):
            yield slot.variable
        else:
            yield from slot.variables


def always_bound(part: Alternative) -> frozenset[int]:
    """The variables that every match of an alternative binds."""
    found: set[int] = set()
    for slot in part.slots:
        if isinstance(slot, RepeatedGroup):
            found |= frozenset.intersection(*(always_bound(inner) for inner in slot.alternatives))
        elif slot.low > 0:
            found.add(slot.variable)
    return frozenset(found)


def repeated_variables(part: Alternative) -> frozenset[int]:
    """The variables that can bind several events within one repetition of every group around them.

    So counts a step that a run may leave out (only NEXT has such slots): terms over its set are judged as of one.
    """
    found: set[int] = set()
    for slot in part.slots:
        if isinstance(slot, RepeatedGroup):
            found.update(*(repeated_variables(inner) for inner in slot.alternatives))
        elif slot.high != 1 or slot.low == 0:
            found.add(slot.variable)
    return frozenset(found)
