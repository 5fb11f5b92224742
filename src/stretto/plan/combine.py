"""The operators of joins and filters: whatever their inputs do not provide is checked as early as it can be."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stretto.pattern.columns import moved
from stretto.pattern.duties import equal, fit, joinable
from stretto.pattern.nodes import Window
from stretto.pattern.order import mask_of
from stretto.pattern.piece import Negation, Piece
from stretto.pattern.predicates import Expr, Which, columns_of, move_columns
from stretto.pattern.project import Projector
from stretto.plan.build import Builder
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
    draft.pending = _missing(draft, provided)
    if terms or window:
        draft.add(Filter(draft.op, terms, window), because)
    _forbid_pending(draft)
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


def _missing(draft: Draft, provided: Provided) -> tuple[Negation, ...]:
    return tuple(missing_negations(draft.piece, draft.piece.negations, provided))


def _forbid_pending(draft: Draft) -> None:
    for negation in draft.pending:
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
        cross = [term for term in terms if self._side(term) is None]
        ordered = {*self._order_terms()} if before else set()
        draft.pending = _missing(draft, self.provided)
        join = Join(
            left=self._own(self.left.op, terms, 0, self.left_slots),
            right=self._own(self.right.op, terms, 1, self.right_slots),
            window=draft.piece.window,
            order="before" if before else "any",
            terms=(
                *self._same_terms(),
                *(term for term in cross if joinable(term) and term not in ordered),
            ),
            distinct=tuple(self._clashes()),
        )
        late = tuple(term for term in cross if not joinable(term))
        draft.add(join, because, tuple(t for t in draft.piece.terms if late and self._is_late(t)))
        draft.filter(late)
        _forbid_pending(draft)
        return Made(tuple(range(len(draft.sets))), self.parts, draft.part())

    def _side(self, term: Expr) -> int | None:
        """0 for a term over the left alone, 1 for one over the right alone."""
        columns = columns_of(term)
        if all(column < self.width for column in columns):
            return 0
        return 1 if all(column >= self.width for column in columns) else None

    def _is_late(self, term: Expr) -> bool:
        return not joinable(term) and self._side(term) is None

    def _own(self, op: int, terms: Sequence[Expr], side: int, slots: range) -> int:
        """The rows of one side that pass the terms over it alone."""
        start = self.width if side else 0
        own = [move_columns(t, lambda column: column - start) for t in terms if self._side(t) == side]
        if not own:
            return op
        return self.builder.add(Filter(op, tuple(own)), "filter_terms", self.draft.computed(slots))

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
