"""How terms use repeated slots, and terms rewritten for the columns of one operator."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from stretto.pattern.comparisons import RANGES, flipped
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Piece, Slot
from stretto.pattern.predicates import (
    NEIGHBOURS,
    Apply,
    Const,
    Expr,
    Reduce,
    Ref,
    Which,
    columns_of,
    rewrite,
    walk,
)
from stretto.records import dataclass
from stretto.schema import Kind


def fit(terms: Sequence[Expr], sets: Sequence[bool]) -> tuple[Expr, ...]:
    """The terms over columns of which `sets` says what they hold.

    FIRST and LAST of a single event are the event; a term over the neighbours of a single event holds, as
    there are none, and is left out.
    """

    def plain(node: Expr) -> Expr | None:
        if isinstance(node, Ref) and node.which in (Which.FIRST, Which.LAST) and not sets[node.column]:
            return replace(node, which=Which.EACH)
        return None

    fitted = (rewrite(term, plain) for term in terms)
    return tuple(term for term in fitted if all(sets[column] for column in neighbours(term)))


def neighbours(term: Expr) -> frozenset[int]:
    """The columns that a term reads as d[i] or d[i-1]."""
    return frozenset(n.column for n in walk(term) if isinstance(n, Ref) and n.which in NEIGHBOURS)


def joinable(term: Expr) -> bool:
    """Whether a join may check it: no neighbours, no aggregates."""
    return not neighbours(term) and not any(isinstance(node, Reduce) for node in walk(term))


def of_last(terms: Sequence[Expr], columns: frozenset[int]) -> list[Expr]:
    """What comparisons that hold for every repetition say of the last, by which joins find rows; `columns` repeat."""

    def last(node: Expr) -> Expr | None:
        if isinstance(node, Ref) and node.which is Which.EACH and node.column in columns:
            return replace(node, which=Which.LAST)
        return None

    compared = [term for term in terms if isinstance(term, Apply) and term.op in RANGES]
    moved = (rewrite(term, last) for term in compared)
    return [new for new, term in zip(moved, compared, strict=True) if new != term]


class Use(StrEnum):
    """How a term uses a slot whose repetitions are still to be grown."""

    EACH = "each"  # every repetition (and perhaps the last)
    ADJACENT = "adjacent"  # every two neighbours
    FIRST = "first"
    LAST = "last"  # the last alone, which the joins bind
    WHOLE = "whole"  # anything that needs the grown set


def use_of(term: Expr, columns: range, slot: Slot) -> Use:
    """How a term that reads some of a slot's columns uses its repetitions."""
    if not isinstance(slot.source, Stream):
        return Use.EACH  # FIRST, COUNT, .. are of one repetition's own set
    found = [n for n in walk(term) if isinstance(n, Ref | Reduce) and n.column in columns]
    if any(isinstance(node, Reduce) for node in found):
        return Use.WHOLE
    which = {node.which for node in found if isinstance(node, Ref)} - {Which.LAST}
    if not which:
        return Use.LAST
    if which == {Which.EACH}:
        return Use.EACH
    if which == {Which.FIRST}:
        return Use.FIRST
    return Use.ADJACENT if which <= set(NEIGHBOURS) else Use.WHOLE


@dataclass(frozen=True, slots=True)
class Duty:
    """A term that a piece's rows must satisfy, and how it uses the slots that grow.

    It is checked once all `hard` slots have grown, and again for each repetition that a `soft` slot adds.
    """

    term: Expr
    slots: frozenset[int]
    uses: Mapping[int, Use]

    @property
    def soft(self) -> frozenset[int]:
        return frozenset(slot for slot, use in self.uses.items() if use is Use.EACH)

    @property
    def hard(self) -> frozenset[int]:
        return frozenset(slot for slot, use in self.uses.items() if use not in (Use.EACH, Use.LAST))


def duty(term: Expr, piece: Piece, growing: frozenset[int]) -> Duty:
    """A term of a piece (or of one of its negations) with the slots it reads."""
    own = (column for column in columns_of(term) if column < piece.width)
    slots = frozenset(bisect_right(piece.starts, column) - 1 for column in own)
    return Duty(
        term, slots, {i: use_of(term, piece.columns(i), piece.slots[i]) for i in sorted(slots & growing)}
    )


def as_single(expr: Expr, is_single: Callable[[int], bool], always: frozenset[int]) -> Expr:
    """Sets of one event read as that event. A COUNT stays where its variable may be unbound."""

    def rule(node: Expr) -> Expr | None:
        if isinstance(node, Ref) and node.which is not Which.EACH and is_single(node.column):
            return Ref(node.column, node.attribute, node.kind)
        if isinstance(node, Reduce) and is_single(node.column):
            if node.function == "COUNT":
                return Const(1, Kind.INT) if node.column in always else None
            if node.function != "AVG":  # an average does not know the kind of its attribute
                return Ref(node.column, node.attribute, node.kind)
        return None

    return rewrite(expr, rule)


def survives_flattening(term: Expr, columns: range) -> bool:
    """Whether a term over a repeated group can be judged on its grown sets, which mix the repetitions."""
    found = [n for n in walk(term) if isinstance(n, Ref | Reduce) and n.column in columns]
    return len({n.column for n in found}) == 1 and all(
        isinstance(n, Ref) and n.which is Which.EACH for n in found
    )


def tighten(piece: Piece) -> Piece:
    """The same piece with terms such as `COUNT(d) >= 3` as bounds of their slots.

    Not under the policy NEXT: there a bound keeps a run from taking an event, a COUNT is judged on what it took.
    """
    if piece.follows:
        return piece
    slots = list(piece.slots)
    starts = {piece.columns(i).start: i for i in range(len(slots)) if isinstance(slots[i].source, Stream)}
    kept: list[Expr] = []
    for term in piece.terms:
        counted = _counted(term)
        slot = starts.get(counted[0]) if counted else None
        bounds = _bounds(slots[slot], counted[1], counted[2]) if counted and slot is not None else None
        if slot is None or bounds is None:
            kept.append(term)
        else:
            slots[slot] = replace(slots[slot], low=bounds[0], high=bounds[1])
    if len(kept) == len(piece.terms):
        return piece
    for column, i in starts.items():
        if piece.slots[i].repeats and not slots[i].repeats:
            slots[i], kept = _single(slots[i], column, kept)
    return replace(piece, slots=tuple(slots), terms=tuple(kept))


def _single(slot: Slot, column: int, terms: Sequence[Expr]) -> tuple[Slot, list[Expr]]:
    """A slot of one event with what terms say of it alone, and the other terms."""
    assert isinstance(slot.source, Stream)
    mine = [term for term in terms if columns_of(term) == {column}]
    plain = [
        as_single(term, lambda _: True, frozenset([column])).moved({column: 0})
        for term in mine
        if not neighbours(term)  # it has none, so the term holds
    ]
    where = tuple(dict.fromkeys((*slot.source.where, *plain)))
    others = [term for term in terms if term not in mine]
    return replace(slot, source=replace(slot.source, where=where)), others


def _counted(term: Expr) -> tuple[int, str, int] | None:
    """(column, comparison, constant) of a term that compares COUNT of a column with an integer."""
    match term:
        case Apply(
            op=op, arguments=(Reduce(function="COUNT", column=column), Const(value=int(value), kind=Kind.INT))
        ) if op in RANGES:
            return column, op, value
        case Apply(op=op, arguments=(Const(), Reduce())) if op in RANGES:
            return _counted(flipped(term))
    return None


def _bounds(slot: Slot, comparison: str, value: int) -> tuple[int, int | None] | None:
    """The slot's bounds under one more condition on their number; None if nothing is left."""
    low, high = slot.low, slot.high
    if comparison in ("=", ">=", ">"):
        low = max(low, value + (comparison == ">"))
    if comparison in ("=", "<=", "<"):
        most = value - (comparison == "<")
        high = most if high is None else min(high, most)
    return None if high is not None and high < low else (low, high)
