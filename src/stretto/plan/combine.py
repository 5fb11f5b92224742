"""The operators of joins and filters: whatever their inputs do not provide is checked as early as it can be."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stretto.pattern.columns import moved
from stretto.pattern.duties import equal, fit, joinable
from stretto.pattern.nodes import Window
from stretto.pattern.order import mask_of
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Expr, Which, columns_of, move_columns
from stretto.pattern.project import Projector
from stretto.plan.build import Builder, Part
from stretto.plan.draft import Draft
from stretto.plan.forbid import forbid, slots_inside
from stretto.plan.made import Made, draft_of
from stretto.plan.ops import Filter, Join
from stretto.plan.rearrange import rearrange, slots_of
from stretto.plan.residual import (
    Provided,
    missing_negations,
    missing_order,
    missing_terms,
    missing_where,
)


@dataclass(frozen=True, slots=True)
class Source:
    """Rows that a way reads: their piece, and for each of its columns the column of the piece that is computed."""

    made: Made
    piece: Piece
    columns: tuple[int, ...]

    @property
    def row(self) -> tuple[int, ...]:
        """The columns of the computed piece, in the order of the rows."""
        return tuple(self.columns[column] for column in self.made.layout)


def join_all(piece: Piece, sources: Sequence[Source], builder: Builder, because: str) -> Made:
    """The sources, which cover the piece's slots, joined from left to right."""
    row = tuple(column for source in sources for column in source.row)
    steps = Projector(rearrange(piece, row))  # seen through its first slots it is what each join makes
    places = _Places(piece, row)
    made, provided = sources[0].made, Provided()
    places.add(provided, sources[0])
    for source in sources[1:]:
        places.add(provided, source)
        so_far = steps.project(range(len(made.parts) + len(source.made.parts)))
        made = _Step(so_far, made, source.made, provided, builder).join(because)
        provided = Provided.all_of(so_far)
    return Made(row, made.parts, made.whole)


def narrow(piece: Piece, source: Source, builder: Builder, because: str) -> Made:
    """The rows of a source over the same slots that the piece leaves."""
    row = source.row
    here = rearrange(piece, row)
    provided = provided_by([source], piece, row)
    draft = draft_of(here, source.made.parts, frozenset(), builder)
    draft.op = source.made.op
    terms = fit(_all_terms(draft, provided), draft.sets)
    window = here.window if is_wider(source.piece.window, here.window, len(here.slots)) else None
    if terms or window:
        draft.add(Filter(draft.op, terms, window), because)
    _forbid_missing(draft, provided)
    return Made(row, source.made.parts, draft.part())


def is_wider(theirs: Window, ours: Window, slots: int) -> bool:
    return slots > 1 and theirs.size > ours.size


def provided_by(sources: Iterable[Source], piece: Piece, row: Sequence[int]) -> Provided:
    """What the sources of some rows of a piece provide, in the columns of the row."""
    places, provided = _Places(piece, row), Provided()
    for source in sources:
        places.add(provided, source)
    return provided


class _Places:
    """Where the columns of a piece and their slots stand in a row."""

    def __init__(self, piece: Piece, row: Sequence[int]) -> None:
        number = {slot: place for place, slot in enumerate(slots_of(piece, row))}
        owner = [slot for slot in range(len(piece.slots)) for _ in piece.columns(slot)]
        self._at = {column: place for place, column in enumerate(row)}
        self._slot_of = {column: number[owner[column]] for column in row}

    def add(self, provided: Provided, source: Source) -> None:
        """Rows of a source are part of the row."""
        slots = [self._slot_of[source.columns[start]] for start in source.piece.starts[:-1]]
        provided.add(source.piece, slots, [self._at[column] for column in source.columns])


def _all_terms(draft: Draft, provided: Provided) -> list[Expr]:
    """Everything about single rows that is still to be checked, negations apart."""
    where = missing_where(draft.piece, provided)
    order = missing_order(draft.piece, provided)
    return [
        *(moved(term, {0: draft.starts[slot]}) for slot, term in where),
        *(term for i, j in order for term in draft.after_terms([i], draft.entries(j), draft.sets)),
        *missing_terms(draft.piece, provided),
    ]


def _forbid_missing(draft: Draft, provided: Provided) -> None:
    for negation in missing_negations(draft.piece, draft.piece.negations, provided):
        forbid(draft, negation, slots_inside(draft, negation))


class _Step:
    """One join of two sides into the rows of `piece`, whose columns are the left's and then the right's."""

    def __init__(self, piece: Piece, left: Made, right: Made, provided: Provided, builder: Builder) -> None:
        self.parts = (*left.parts, *right.parts)
        self.draft = draft_of(piece, self.parts, frozenset(), builder)
        self.left, self.right, self.provided, self.builder = left, right, provided, builder
        self.width = left.whole.width
        self.left_slots = range(len(left.parts))
        self.right_slots = range(len(left.parts), len(self.parts))

    def join(self, because: str) -> Made:
        draft = self.draft
        right = mask_of(self.right_slots)
        before = all(not right & ~draft.order.behind(i) for i in self.left_slots)
        terms = fit(_all_terms(draft, self.provided), draft.sets)
        sides = [self._side(term) for term in terms]
        cross = [term for term, side in zip(terms, sides, strict=True) if side is None]
        ordered = {*self._order_terms()} if before else set()
        join = Join(
            left=self._own(self.left.whole, [t for t, s in zip(terms, sides, strict=True) if s == 0], 0),
            right=self._own(
                self.right.whole, [t for t, s in zip(terms, sides, strict=True) if s == 1], self.width
            ),
            window=draft.piece.window,
            order="before" if before else "any",
            terms=(
                *self._same_terms(),
                *(term for term in cross if joinable(term) and term not in ordered),
            ),
            distinct=tuple(self._clashes()),
        )
        draft.add(join, because)
        draft.filter(tuple(term for term in cross if not joinable(term)))
        _forbid_missing(draft, self.provided)
        return Made(tuple(range(len(draft.sets))), self.parts, draft.part())

    def _side(self, term: Expr) -> int | None:
        """0 for a term over the left alone, 1 for one over the right alone."""
        columns = columns_of(term)
        if all(column < self.width for column in columns):
            return 0
        return 1 if all(column >= self.width for column in columns) else None

    def _own(self, part: Part, terms: Sequence[Expr], start: int) -> int:
        if not terms:
            return part.op
        own = tuple(move_columns(term, lambda column: column - start) for term in terms)
        return self.builder.add(Filter(part.op, own), "filter_terms")

    def _order_terms(self) -> list[Expr]:
        draft = self.draft
        return [
            term
            for i, j in missing_order(draft.piece, self.provided)
            if i in self.left_slots and j in self.right_slots
            for term in fit(draft.after_terms([i], draft.entries(j), draft.sets), draft.sets)
        ]

    def _same_terms(self) -> list[Expr]:
        draft = self.draft
        return [
            equal(
                draft.edge(one, Which.LAST, draft.sets, name), draft.edge(other, Which.LAST, draft.sets, name)
            )
            for name in draft.piece.same
            for one in draft.anchors(self.left_slots)
            for other in draft.anchors(self.right_slots)
        ]

    def _clashes(self) -> Iterable[tuple[int, int]]:
        """Pairs (left column, right column by its own number) that could be one event, but must not."""
        draft, order = self.draft, self.draft.order
        for i in self.left_slots:
            for j in self.right_slots:
                if (i, j) in order or (j, i) in order:
                    continue
                for a in draft.piece.columns(i):
                    for b in draft.piece.columns(j):
                        if draft.types[a] & draft.types[b]:
                            yield a, b - self.width
