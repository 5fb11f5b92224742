"""One form for pieces that mean the same: equal parts of differently written queries become equal objects."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, permutations, product
from math import factorial
from typing import Final

from stretto.pattern.canonical_terms import (
    canonical_conditions,
    canonical_term,
    canonical_terms,
    equality,
    equality_classes,
    equality_terms,
    key,
)
from stretto.pattern.columns import moved
from stretto.pattern.labelling import Labelled, orders
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Branch, Group, Negation, Piece, Slot
from stretto.pattern.predicates import Expr, Ref

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
    slots = ";".join(_slot_key(slot) for slot in piece.slots)
    terms = ";".join(key(term) for term in piece.terms)
    negations = ";".join(_negation_key(negation) for negation in piece.negations)
    rest = f"{piece.order}|{piece.same}|{piece.window.size}{piece.window.unit}|{piece.policy}"
    return f"<{slots}|{terms}|{negations}|{rest}>"


def closed_terms(piece: Piece) -> frozenset[Expr]:
    """The terms of a piece in one form, with every equality that follows from them.

    Equalities of plain references to single events are transitive; those that `[attr]` says already are dropped.
    """
    single = [not slot.repeats for slot in piece.slots for _ in range(slot.width)]
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
        if single[left.column] and single[right.column]:
            pairs.append(sides)
        else:
            kept.append(term)
    if len(pairs) == 1:
        return frozenset((*kept, equality_terms(list(pairs[0]))[0]))
    closed = [
        equality_terms([left, right])[0]
        for members in equality_classes(pairs)
        for left, right in combinations(members, 2)
        if left.column != right.column
    ]
    return frozenset((*kept, *closed))


# ---- slots and groups ------------------------------------------------------------------------------------


def _slot_form(slot: Slot) -> tuple[Slot, list[Columns]]:
    if isinstance(slot.source, Stream):
        return replace(slot, source=_stream_form(slot.source)), [(0,)]
    group, forms = _group_form(slot.source)
    return replace(slot, source=group), forms


def _stream_form(stream: Stream) -> Stream:
    return Stream(stream.type, canonical_conditions(stream.where)) if stream.where else stream


def _group_form(group: Group) -> tuple[Group, list[Columns]]:
    """The one form of a group, and the ways to number its columns that give it."""
    branches = [(*_forms(branch.piece, every=True), branch.columns) for branch in group.branches]
    branches.sort(key=lambda branch: piece_key(branch[0]))
    pieces = [piece for piece, _, _ in branches]
    best: list[Columns] = []
    best_numbers: tuple[Columns, ...] | None = None
    for arranged in _arrangements(pieces):
        ways = [[tuple(branches[i][2][c] for c in form) for form in branches[i][1]] for i in arranged]
        for chosen in islice(product(*ways), MAX_FORMS):
            columns = tuple(dict.fromkeys(column for way in chosen for column in way))
            number = {column: i for i, column in enumerate(columns)}
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
    """A piece written with its slots in one order, and the keys by which the best order is told."""

    keys: tuple[object, ...]
    columns: Columns
    order: tuple[tuple[int, int], ...]
    terms: tuple[Expr, ...]
    negations: tuple[Negation, ...]
    slots: tuple[int, ...]


def _forms(piece: Piece, *, every: bool) -> tuple[Piece, list[Columns]]:
    """The one form of a piece, and with `every` all ways to number its columns that give it (else one)."""
    slots, ways = zip(*(_slot_form(slot) for slot in piece.slots), strict=True)
    starts = _starts(piece.slots)
    negations = tuple(dict.fromkeys(_negation_form(negation) for negation in piece.negations))
    source = replace(piece, negations=negations)
    terms = closed_terms(piece)
    seen = Labelled(
        tuple(_slot_key(slot) for slot in slots),
        frozenset(piece.order),
        terms,
        negations,
        tuple(place for slot, way in enumerate(ways) for place in _parts(slot, way)),
    )
    best: list[_Form] = []
    for order in orders(seen, every=every):
        for chosen in islice(product(*(ways[slot] for slot in order)), MAX_FORMS):
            columns = tuple(
                starts[slot] + column for slot, way in zip(order, chosen, strict=True) for column in way
            )
            form = _written(source, terms, order, columns)
            if not best or form.keys < best[0].keys:
                best = [form]
            elif every and form.keys == best[0].keys and len(best) < MAX_FORMS:
                best.append(form)
    first = best[0]
    found = Piece(
        tuple(slots[slot] for slot in first.slots),
        first.order,
        first.terms,
        tuple(sorted(set(piece.same))),
        first.negations,
        piece.window,
        piece.policy,
    )
    return found, list(dict.fromkeys(form.columns for form in best))


def _starts(slots: Sequence[Slot]) -> list[int]:
    starts, column = [], 0
    for slot in slots:
        starts.append(column)
        column += slot.width
    return starts


def _parts(slot: int, ways: Sequence[Columns]) -> list[tuple[int, int]]:
    """For each column of a slot the least place that some way to number it gives."""
    return [(slot, min(way.index(column) for way in ways)) for column in range(len(ways[0]))]


def _written(piece: Piece, terms: Iterable[Expr], slots: tuple[int, ...], columns: Columns) -> _Form:
    to_slot = {old: new for new, old in enumerate(slots)}
    to_column = {old: new for new, old in enumerate(columns)}
    to_column[len(columns)] = len(columns)  # the forbidden event of a negation
    order = tuple(sorted((to_slot[i], to_slot[j]) for i, j in piece.order))
    written = _moved_terms(piece, terms, to_column)
    negations = tuple(
        sorted((_moved_negation(n, to_slot, to_column) for n in piece.negations), key=_negation_key)
    )
    keys = (order, tuple(key(term) for term in written), tuple(_negation_key(n) for n in negations))
    return _Form(keys, columns, order, written, negations, slots)


def _moved_terms(piece: Piece, terms: Iterable[Expr], to_column: dict[int, int]) -> tuple[Expr, ...]:
    """Terms over other columns, each class of equalities written one way."""
    single = [not slot.repeats for slot in piece.slots for _ in range(slot.width)]
    kept: list[Expr] = []
    pairs: list[tuple[Ref, Ref]] = []
    for term in terms:
        here = canonical_term(moved(term, to_column))
        sides = equality(term)
        if sides is None or not (single[sides[0].column] and single[sides[1].column]):
            kept.append(here)
        else:
            found = equality(here)
            assert found is not None
            pairs.append(found)
    for members in equality_classes(pairs):
        kept.extend(equality_terms(members))
    return tuple(sorted(set(kept), key=key))


def _negation_form(negation: Negation) -> Negation:
    after, before = tuple(sorted(negation.after)), tuple(sorted(negation.before))
    terms = canonical_terms(negation.terms)
    return Negation(_stream_form(negation.stream), negation.place, after, before, terms)


def _moved_negation(negation: Negation, to_slot: dict[int, int], to_column: dict[int, int]) -> Negation:
    return replace(
        negation,
        after=tuple(sorted(to_slot[i] for i in negation.after)),
        before=tuple(sorted(to_slot[i] for i in negation.before)),
        terms=canonical_terms(moved(term, to_column) for term in negation.terms),
    )


# ---- keys ------------------------------------------------------------------------------------------------


def _slot_key(slot: Slot) -> str:
    if isinstance(slot.source, Stream):
        return f"{_stream_key(slot.source)}{{{slot.low},{slot.high}}}"
    inner = ",".join(f"{piece_key(branch.piece)}{branch.columns}" for branch in slot.source.branches)
    return f"({slot.source.width}:{inner}){{{slot.low},{slot.high}}}"


def _stream_key(stream: Stream) -> str:
    return f"{stream.type!r}[{'&'.join(key(term) for term in stream.where)}]"


def _negation_key(negation: Negation) -> str:
    terms = "&".join(key(term) for term in negation.terms)
    return f"{_stream_key(negation.stream)}{negation.place}{negation.after}{negation.before}[{terms}]"
