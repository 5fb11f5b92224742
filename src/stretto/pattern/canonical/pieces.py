"""One form for pieces that mean the same: equal parts of differently written queries become equal objects."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, islice, permutations, product
from math import factorial
from typing import Final

from stretto.pattern.canonical.colour_refinement import LabelledPiece, orders
from stretto.pattern.canonical.terms import (
    canonical_negation,
    canonical_stream,
    canonical_term,
    canonical_terms,
    equality_classes,
    equality_terms,
    key,
)
from stretto.pattern.comparisons import equality
from stretto.pattern.nodes import Stream
from stretto.pattern.order import Order
from stretto.pattern.piece import Branch, Group, Negation, Piece, Slot
from stretto.pattern.predicates import Expr, Ref, numbered
from stretto.records import dataclass

MAX_FORMS: Final = 24  # ways to number a group's columns that are tried around it

Columns = tuple[int, ...]


def canonical(piece: Piece) -> tuple[Piece, Columns]:
    """The one form of a piece, and for each of its columns the column of `piece` that it is.

    Slots come in an order that agrees with the piece's own; terms are in one form, equalities closed and written one
    way. Pieces that differ by the names of variables, the order of AND's operands or the writing of terms have one
    form; where very many slots are alike they may keep several. The meaning never changes.
    """
    form, columns = _forms(piece, every=False)
    return form, columns[0]


def piece_key(piece: Piece) -> str:
    """A text by which canonical pieces can be sorted; equal for equal pieces only."""
    slots = ";".join(slot_key(slot) for slot in piece.slots)
    terms = ";".join(key(term) for term in piece.terms)
    negations = ";".join(_negation_key(negation) for negation in piece.negations)
    rest = f"{tuple(piece.order)}|{piece.same}|{piece.window.size}{piece.window.unit}|{piece.policy}"
    rest += "".join(f"|{key(term)}" for term in piece.having)
    return f"<{slots}|{terms}|{negations}|{rest}>"


@lru_cache(maxsize=1 << 14)
def parted_terms(piece: Piece) -> tuple[tuple[Expr, ...], tuple[tuple[Ref, ...], ...]]:
    """The terms of a piece in one form: those that are no equality of single events, and the classes of what is equal.

    Equalities of plain references to single events are transitive; those that `[attr]` says already are dropped.
    """
    if not piece.terms:
        return (), ()
    repeated = {column for i, slot in enumerate(piece.slots) if slot.repeats for column in piece.columns(i)}
    # `a = b AND b = c` and `a = b AND a = c` say the same: as a class of equals they are one. An equality with a
    # repeated slot is said of each of its events and stays the term that it is. So does one under NEXT or LAST: which
    # event a step takes depends on which terms it can decide.
    kept: list[Expr] = []
    pairs: list[tuple[Ref, Ref]] = []
    for term in canonical_terms(piece.terms):
        sides = equality(term)
        if sides is None:
            kept.append(term)
            continue
        left, right = sides
        if left.attribute == right.attribute and left.attribute in piece.same:
            continue
        if piece.follows or left.column in repeated or right.column in repeated:
            kept.append(term)
        else:
            pairs.append(sides)
    return tuple(kept), equality_classes(pairs)


@lru_cache(maxsize=1 << 14)
def closed_terms(piece: Piece) -> frozenset[Expr]:
    """The terms of a piece in one form, with every equality that follows from them."""
    kept, classes = parted_terms(piece)
    closed = (
        equality_terms([left, right])[0]
        for members in classes
        for left, right in combinations(members, 2)
        if left.column != right.column
    )
    return frozenset((*kept, *closed))


# ---- slots and groups ------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 14)
def _slot_form(slot: Slot) -> tuple[Slot, tuple[Columns, ...]]:
    """The one form of a slot, one object for all pieces that have it, and the ways to number its columns."""
    if isinstance(slot.source, Stream):
        return replace(slot, source=canonical_stream(slot.source)), ((0,),)
    group, forms = _group_form(slot.source)
    return replace(slot, source=group), tuple(forms)


def _group_form(group: Group) -> tuple[Group, list[Columns]]:
    """The one form of a group, and the ways to number its columns that give it."""
    # Columns are numbered as the sorted branches first use them. Branches that are equal can change places, and one may
    # have several numberings that write it the same: of all results the least is the form. Every numbering that gives
    # it is kept, because the piece around the group may tell them apart.
    branches = [(*_forms(branch.piece, every=True), branch.columns) for branch in group.branches]
    branches.sort(key=lambda branch: piece_key(branch[0]))
    pieces = [piece for piece, _, _ in branches]
    best: list[Columns] = []
    best_numbers: tuple[Columns, ...] | None = None
    for arranged in _arrangements(pieces):
        ways = [[tuple(branches[i][2][c] for c in form) for form in branches[i][1]] for i in arranged]
        for chosen in islice(product(*ways), MAX_FORMS):
            columns = tuple(dict.fromkeys(column for way in chosen for column in way))
            number = numbered(columns)
            numbers = tuple(tuple(number[column] for column in way) for way in chosen)
            if best_numbers is None or numbers < best_numbers:
                best, best_numbers = [columns], numbers
            elif numbers == best_numbers and columns not in best and len(best) < MAX_FORMS:
                best.append(columns)
    assert best_numbers is not None
    parts = dict.fromkeys(Branch(piece, way) for piece, way in zip(pieces, best_numbers, strict=True))
    return Group(group.width, tuple(parts)), best


def _arrangements(pieces: Sequence[Piece]) -> Iterator[tuple[int, ...]]:
    """The orders of sorted branches that only change places of equal ones."""
    runs: list[list[int]] = []
    for i, piece in enumerate(pieces):
        if runs and pieces[runs[-1][0]] == piece:
            runs[-1].append(i)
        else:
            runs.append([i])
    few = [permutations(run) if factorial(len(run)) <= MAX_FORMS else [tuple(run)] for run in runs]
    for chosen in islice(product(*few), MAX_FORMS):
        yield tuple(i for run in chosen for i in run)


# ---- pieces ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """A piece written with its slots in one order."""

    columns: Columns
    order: Order
    terms: tuple[Expr, ...]
    negations: tuple[Negation, ...]
    slots: tuple[int, ...]

    def keys(self) -> tuple[object, ...]:
        """By these the best of several forms is told."""
        terms, negations = map(key, self.terms), map(_negation_key, self.negations)
        return tuple(self.order), tuple(terms), tuple(negations)


def _forms(piece: Piece, *, every: bool) -> tuple[Piece, list[Columns]]:
    """The one form of a piece, and with `every` all ways to number its columns that give it (else one)."""
    slots, ways = zip(*map(_slot_form, piece.slots), strict=True)
    negations = tuple(dict.fromkeys(canonical_negation(negation) for negation in piece.negations))
    terms, classes = parted_terms(piece)
    seen = LabelledPiece(
        tuple(map(slot_key, slots)),
        piece.order,
        terms,
        classes,
        negations,
        tuple([place for slot, way in enumerate(ways) for place in _parts(slot, way)]),
    )
    # The form is the least of those that some orders of the slots give. Isomorphic pieces are given corresponding
    # orders, and a written form knows nothing of the old numbers, so they have the same least form. Which orders are
    # tried never touches the meaning: where they are cut short, equal pieces may keep two forms and share less.
    forms = (
        _written(seen, order, columns)
        for order in orders(seen, every=every)
        for columns in _numberings(order, ways, piece.starts)
    )
    best = _least(forms)
    first = best[0]
    found = Piece(
        tuple([slots[slot] for slot in first.slots]),
        first.order,
        first.terms,
        tuple(sorted(set(piece.same))),
        first.negations,
        piece.window,
        piece.policy,
        canonical_terms(piece.having) if piece.having else (),  # a sequence has one order of its slots
    )
    return found, list(dict.fromkeys(form.columns for form in best)) if every else [first.columns]


def _numberings(
    order: Sequence[int], ways: Sequence[Sequence[Columns]], starts: Sequence[int]
) -> Iterator[Columns]:
    """The columns of slots in this order, by the ways to number those of each."""
    for chosen in islice(product(*(ways[slot] for slot in order)), MAX_FORMS):
        yield tuple(starts[slot] + column for slot, way in zip(order, chosen, strict=True) for column in way)


def _least(forms: Iterator[_Form]) -> list[_Form]:
    """The first of some forms by their keys, and those that are written the same."""
    best = [next(forms)]
    least: tuple[object, ...] | None = None  # keys are told where there is more than one form
    for form in forms:
        least = best[0].keys() if least is None else least
        found = form.keys()
        if found < least:
            best, least = [form], found
        elif found == least and len(best) < MAX_FORMS:
            best.append(form)
    return best


def _parts(slot: int, ways: Sequence[Columns]) -> list[tuple[int, int]]:
    """For each column of a slot the least place that some way to number it gives."""
    if len(ways) == 1 == len(ways[0]):
        return [(slot, 0)]
    return [(slot, min(way.index(column) for way in ways)) for column in range(len(ways[0]))]


def _written(seen: LabelledPiece, slots: tuple[int, ...], columns: Columns) -> _Form:
    """The piece that is seen with its slots and columns in this order."""
    to_slot, to_column = numbered(slots), numbered(columns)
    to_column[len(columns)] = len(columns)  # the forbidden event of a negation
    # Renumbering can turn the sides of a comparison around, and the first member of a class: both are settled again.
    terms = {canonical_term(term.moved(to_column)) for term in seen.terms}
    for refs in seen.equal:
        terms.update(equality_terms(sorted([ref.moved(to_column) for ref in refs], key=key)))
    negations = (canonical_negation(n.moved(to_slot, to_column)) for n in seen.negations)
    return _Form(
        columns,
        seen.order.part(slots),
        tuple(sorted(terms, key=key)),
        tuple(sorted(negations, key=_negation_key)),
        slots,
    )


# ---- keys ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 14)
def slot_key(slot: Slot) -> str:
    """A text that equal slots share, and only those; texts give slots an order."""
    if isinstance(slot.source, Stream):
        return f"{_stream_key(slot.source)}{{{slot.low},{slot.high}}}"
    inner = ",".join(f"{piece_key(branch.piece)}{branch.columns}" for branch in slot.source.branches)
    return f"({slot.source.width}:{inner}){{{slot.low},{slot.high}}}"


def _stream_key(stream: Stream) -> str:
    return f"{stream.type!r}[{'&'.join(key(term) for term in stream.where)}]"


def _negation_key(negation: Negation) -> str:
    terms = "&".join(key(term) for term in negation.terms)
    return f"{_stream_key(negation.stream)}{negation.place}{negation.after}{negation.before}[{terms}]"
