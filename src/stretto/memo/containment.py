"""What a piece claims of its rows, one fact at a time: a piece is weaker than another if it claims no more.

Facts are written over slots and columns in an order that both pieces are brought to, so that comparing pieces is
comparing sets. Windows, `same` and the types of the slots are compared apart.
"""

from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from typing import Final

from stretto.pattern.canonical.pieces import closed_terms, slot_key
from stretto.pattern.canonical.terms import canonical_negation, canonical_term, key
from stretto.pattern.comparisons import COMPARISONS
from stretto.pattern.linear_extensions import linear_extensions
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import FORBIDDEN, Negation, Piece, Slot
from stretto.pattern.predicates import Apply, Const, Expr, columns_of, numbered
from stretto.records import dataclass
from stretto.schema import Kind

MOST_ARRANGEMENTS: Final = 24  # ways to match slots of the same type that are tried

_WEAKER: Final = {"<": ("<=", "!="), ">": (">=", "!="), "=": ("<=", ">=")}
_NUMBERS: Final = frozenset({Kind.INT, Kind.FLOAT, Kind.TIME, Kind.DURATION})


@dataclass(frozen=True, slots=True)
class Before:
    """One slot comes before another."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Holds:
    """A term over several events holds."""

    term: Expr


@dataclass(frozen=True, slots=True)
class Passes:
    """The event of a slot passes a term, which reads it as column 0."""

    slot: int
    term: Expr


@dataclass(frozen=True, slots=True)
class Lacks:
    """A negation, in its one form; the forbidden event is column `FORBIDDEN`."""

    about: Negation


Fact = Before | Holds | Passes | Lacks


def claims(piece: Piece, slots: Sequence[int]) -> frozenset[Fact]:
    """The facts that a piece claims, with its slot `slots[i]` written as slot i; what concerns other slots is left out.

    `slots` are all slots of a piece with negations: whether a part keeps one depends on the slots beside it.
    """
    to = numbered(piece.columns_of(slots))
    to[piece.width] = FORBIDDEN
    found: set[Fact] = {Before(i, j) for i, j in piece.order.part(slots)}
    if piece.terms:
        whole = len(slots) == len(piece.slots)
        terms = (
            closed_terms(piece) if whole else (t for t in closed_terms(piece) if columns_of(t) <= to.keys())
        )
        found |= {Holds(canonical_term(term.moved(to))) for term in terms}
    for i, slot in enumerate(slots):
        source = piece.slots[slot].source
        if isinstance(source, Stream):
            found |= {Passes(i, term) for term in source.where}
    if piece.negations:
        place = numbered(slots)
        found |= {Lacks(canonical_negation(negation.moved(place, to))) for negation in piece.negations}
    return frozenset(found)


# ---- slots that can stand for each other -------------------------------------------------------------------


def slot_type(slot: Slot) -> str:
    """A text that two slots share if they bind the same events but for terms over single ones."""
    if isinstance(slot.source, Stream):
        return slot.source.type
    return slot_key(slot)


def arrangements(piece: Piece) -> list[tuple[int, ...]]:
    """The slots sorted by type, those of one type in every order that agrees with the piece's own.

    The slots of a weaker piece match those of a stronger one in one of its arrangements, whichever arrangement
    the stronger one has. None come back where there are very many.
    """
    runs: dict[str, list[int]] = {}
    for slot, held in enumerate(piece.slots):
        runs.setdefault(slot_type(held), []).append(slot)
    found: list[tuple[int, ...]] = [()]
    for kind in sorted(runs):
        sequences = list(islice(linear_extensions(piece.order, runs[kind]), MOST_ARRANGEMENTS + 1))
        found = [(*before, *run) for before in found for run in sequences]
        if len(found) > MOST_ARRANGEMENTS:
            return []
    return found


def columns_between(source: Piece, slots: Sequence[int], reader: Piece, to: Sequence[int]) -> tuple[int, ...]:
    """For each column of `source` the column of `reader` that it is, where slot `slots[i]` is the reader's `to[i]`."""
    found = dict(zip(source.columns_of(slots), reader.columns_of(to), strict=True))
    return tuple([found[column] for column in range(source.width)])


# ---- what follows from what --------------------------------------------------------------------------------


def consequences(facts: Iterable[Fact]) -> dict[Fact, list[Fact]]:
    """For each of the facts those among them that follow from it, itself included."""
    compared: dict[Hashable, list[tuple[Fact, Apply]]] = {}
    found: dict[Fact, list[Fact]] = {}
    for fact in facts:
        found[fact] = [fact]
        if (parts := _compared(fact)) is not None:
            compared.setdefault(parts[0], []).append((fact, parts[1]))
    for alike in compared.values():
        for fact, term in alike:
            found[fact] += [other for other, weak in alike if other != fact and implies(term, weak)]
    return found


def _compared(fact: Fact) -> tuple[Hashable, Apply] | None:
    """What a fact compares (both sides, or one with a constant), and the comparison."""
    if not isinstance(fact, Holds | Passes):
        return None
    term = fact.term
    if not isinstance(term, Apply) or len(term.arguments) != 2 or term.op not in COMPARISONS:
        return None
    slot = fact.slot if isinstance(fact, Passes) else None
    left, right = term.arguments
    if isinstance(right, Const):
        return (slot, left, right.kind), term
    return (slot, left, right), term


def implies(strong: Apply, weak: Apply) -> bool:
    """Whether one comparison follows from another of the same sides, or of the same side with another constant."""
    if strong == weak:
        return True
    mine, theirs = strong.arguments[1], weak.arguments[1]
    if not (isinstance(mine, Const) and isinstance(theirs, Const)):
        return mine == theirs and weak.op in _WEAKER.get(strong.op, ())
    if mine == theirs:
        return weak.op in _WEAKER.get(strong.op, ())
    if mine.kind is not theirs.kind or mine.kind not in _NUMBERS:
        return False
    if not isinstance(mine.value, int | float) or not isinstance(theirs.value, int | float):
        return False
    return _follows(strong.op, mine.value, weak.op, theirs.value)


def _follows(strong: str, mine: float, weak: str, theirs: float) -> bool:
    """Whether `v strong mine` gives `v weak theirs`, for different numbers that are no NaN."""
    if mine < theirs:
        return strong in ("<", "<=", "=") and weak in ("<", "<=", "!=")
    if mine > theirs:
        return strong in (">", ">=", "=") and weak in (">", ">=", "!=")
    return False


def strongest(known: Iterable[Fact]) -> list[Fact]:
    """The facts without those that follow from another one; of equivalent ones the first by its text."""
    kept = dict.fromkeys(sorted(known, key=_text))
    follows = consequences(kept)
    for fact in list(kept):
        if any(fact in follows[other] for other in kept if other != fact):
            del kept[fact]
    return list(kept)


def _text(fact: Fact) -> str:
    match fact:
        case Before(first, second):
            return f"0{first:04d}{second:04d}"
        case Holds(term):
            return f"1{key(term)}"
        case Passes(slot, term):
            return f"2{slot:04d}{key(term)}"
        case Lacks(about):
            return f"3{about!r}"
