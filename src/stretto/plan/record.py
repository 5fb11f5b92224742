"""What is kept of an operator besides what it does: what its rows are, by which rule, how many, and at what cost."""

from dataclasses import replace
from functools import lru_cache

from stretto.memo.memo import NO_WINDOW
from stretto.pattern.canonical.terms import canonical_term
from stretto.pattern.core import by_last_repetition
from stretto.pattern.nodes import Stream
from stretto.pattern.order import NO_ORDER
from stretto.pattern.piece import Negation, Piece, Slot
from stretto.pattern.predicates import Expr
from stretto.pattern.project import Projector
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class Computed:
    """Rows on their way to those of a piece: column i of the rows is column i of its `slots`, which stand side by side.

    Of the slots in `ungrown` rows bind the last repetition alone. `terms` and `negations` are those of the piece that
    are still to be checked, of what rows over these slots can be checked for.
    """

    piece: Piece
    slots: range
    ungrown: frozenset[int] = frozenset()
    terms: tuple[Expr, ...] = ()
    negations: tuple[Negation, ...] = ()

    @classmethod
    def whole(cls, piece: Piece) -> "Computed":
        return cls(piece, range(len(piece.slots)))

    @classmethod
    def event(cls, stream: Stream) -> "Computed":
        return cls.whole(Piece((Slot(stream),), NO_ORDER, (), (), (), NO_WINDOW))

    def form(self) -> Piece:
        """The piece that the rows are those of."""
        found = self.piece
        if self.terms:
            missing = {canonical_term(term) for term in self.terms}
            kept = tuple(term for term in found.terms if canonical_term(term) not in missing)
            found = replace(found, terms=kept)
        if self.negations:
            judged = tuple(n for n in found.negations if n not in self.negations)
            found = replace(found, negations=judged)
        if self.ungrown:
            found = by_last_repetition(found, self.ungrown, found.negations)
        return found if len(self.slots) == len(found.slots) else _projector(found).project(self.slots)


@lru_cache(maxsize=4)
def _projector(piece: Piece) -> Projector:
    """The same for all steps of a join of many inputs, which come one after another."""
    return Projector(piece)


@dataclass(frozen=True, slots=True)
class Record:
    """The rule behind an operator, what it computes (None: an Emit), its rows per second and its cost, where known.

    A cost is that of all operators of one computation, and stands at the last of them.
    """

    because: str
    computed: Computed | None = None
    rows: float | None = None
    cost: float | None = None
