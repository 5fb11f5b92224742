"""The operators of joins and filters: whatever their inputs do not provide is checked as early as it can be."""

from collections.abc import Iterable, Sequence

from stretto.pattern.nodes import Window
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Expr, numbered
from stretto.pattern.project import rearrange, slots_inside
from stretto.pattern.repetition_terms import fit
from stretto.plan.build import Builder
from stretto.plan.chain import Chain
from stretto.plan.draft import Draft
from stretto.plan.forbid import forbid
from stretto.plan.made import Made, draft_of
from stretto.plan.ops import Filter
from stretto.plan.residual import (
    Provided,
    missing_negations,
    missing_order,
    missing_terms,
    missing_where,
)
from stretto.records import dataclass


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

    @property
    def grown(self) -> frozenset[int]:
        """The slots of the rows, numbered as the rows hold them, that bind all of their repetitions."""
        growing = self.piece.growing
        return frozenset(i for i, slot in enumerate(self.piece.slots_of(self.made.layout)) if slot in growing)


def join_all(
    piece: Piece, sources: Sequence[Source], builder: Builder, because: str, hashed: Sequence[bool]
) -> Made:
    """The sources, which cover the piece's slots, joined from left to right; `hashed` says how each join finds keys.

    A slot that several of them bind holds one event, the same in all.
    """
    row = tuple(dict.fromkeys(column for source in sources for column in source.row))
    here, places = rearrange(piece, row), _Places(piece, row)
    # Slots by their first columns, in the order of the row: what a source shares with those before it stands there.
    parts = {source.row[at]: part for source in reversed(sources) for at, part in source.made.slots()}
    chain, provided = Chain(here, [parts[row[start]] for start in here.starts[:-1]], builder), Provided()
    chain.begin(sources[0].made)
    places.add(provided, sources[0])
    for source, by_hash in zip(sources[1:], hashed, strict=True):
        places.add(provided, source)
        chain.join(source.made, places.of(source), provided, because, hashed=by_hash)
        # All that concerns the slots joined so far has been checked: from here on it is enough to know how many.
        joined = chain.draft.joined
        provided = Provided(joined, here.starts[joined])
    return Made(row, chain.draft.parts, chain.draft.part())


def narrow(piece: Piece, source: Source, builder: Builder, because: str) -> Made:
    """The rows of a source over the same slots that the piece leaves."""
    row = source.row
    here = rearrange(piece, row)
    provided = provided_by([source], piece, row)
    draft = draft_of(here, source.made.parts, frozenset(), builder)
    draft.op = source.made.op
    terms = fit(_all_terms(draft, provided), draft.sets)
    window = here.window if is_wider(source.piece.window, here.window, len(here.slots)) else None
    draft.pending = tuple(missing_negations(here, here.negations, provided))
    if terms or window:
        draft.add(Filter(draft.op, terms, window), because)
    # Rows that wait are not looked at before their interval has passed: what can drop them at once comes first.
    for negation in sorted(draft.pending, key=lambda n: n.place.waits):
        forbid(draft, negation, slots_inside(negation, draft.piece), because if here.growing else None)
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
        number, owner = numbered(piece.slots_of(row)), piece.slot_of_column
        self._at = numbered(row)
        self._slot_of = {column: number[owner[column]] for column in row}

    def of(self, source: Source) -> list[int]:
        """Where the columns of a source's rows stand."""
        return [self._at[column] for column in source.row]

    def add(self, provided: Provided, source: Source) -> None:
        """Rows of a source are part of the row."""
        slots = [self._slot_of[source.columns[start]] for start in source.piece.starts[:-1]]
        provided.add(source.piece, slots, [self._at[column] for column in source.columns])


def _all_terms(draft: Draft, provided: Provided) -> list[Expr]:
    """Everything about single rows that is still to be checked, negations apart."""
    piece, slots = draft.piece, range(len(draft.piece.slots))
    order = missing_order(piece.order, piece.order.before(len(slots)), slots, provided)
    return [
        *(term.moved({0: draft.starts[slot]}) for slot, term in missing_where(piece, slots, provided)),
        *(term for i, j in order for term in draft.after_terms([i], draft.entries(j), draft.sets)),
        *missing_terms(piece, provided),
    ]
