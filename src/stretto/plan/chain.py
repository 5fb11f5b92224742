"""Rows joined from left to right: every join looks at what it adds, so that many inputs take little more than few."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from stretto.pattern.canonical.pieces import parted_terms
from stretto.pattern.canonical.terms import key
from stretto.pattern.order import mask_of, members
from stretto.pattern.piece import Negation, Piece
from stretto.pattern.predicates import Expr, Ref, columns_of
from stretto.pattern.project import Projector, slots_inside
from stretto.pattern.repetition_terms import fit, joinable, of_last
from stretto.plan.build import Builder, Part
from stretto.plan.forbid import forbid
from stretto.plan.made import Made, draft_of
from stretto.plan.ops import Filter, Join
from stretto.plan.residual import Classes, Provided, missing_negations, missing_order, missing_where

T = TypeVar("T")


class Chain:
    """Rows that become those of `piece`, whose slots are `parts`: those of the inputs one after another.

    The first input is there to `begin` with; `join` adds the others, one by one.
    """

    def __init__(self, piece: Piece, parts: Sequence[Part], builder: Builder) -> None:
        self.piece, self.builder = piece, builder
        self.draft = draft_of(piece, parts, frozenset(), builder)
        self._sets = self.draft.sets
        self._before = piece.order.before(len(piece.slots))
        self._due = _Due(piece)
        self._grown = frozenset(piece.columns_of(sorted(piece.growing)))
        self._of_type: dict[str, int] = {}
        for slot, part in enumerate(self.draft.parts):
            for kind in frozenset().union(*part.types):
                self._of_type[kind] = self._of_type.get(kind, 0) | 1 << slot

    def begin(self, first: Made) -> None:
        """The rows of the first input."""
        self.draft.joined, self.draft.op = len(first.parts), first.op

    def join(
        self, right: Made, places: Sequence[int], provided: Provided, because: str, *, hashed: bool = True
    ) -> None:
        """Join the rows so far with those of an input; of both is `provided` what need not be checked.

        `places`: the piece's columns that the input's columns are. Those that the rows have already are shared.
        """
        draft = self.draft
        start = draft.joined
        width = self.piece.starts[start]
        same = tuple((place, own) for own, place in enumerate(places) if place < width)
        left, new = range(start), range(start, start + len(right.parts) - len(same))
        draft.joined = new.stop
        # What the right binds as well it has told from its own events.
        alone = mask_of(left) & ~mask_of(self.piece.slots_of(place for place, _ in same))
        draft.sets = self._sets[: self.piece.starts[new.stop]]
        whole_left = (1 << start) - 1
        before = not same and all(not whole_left & ~self._before[j] for j in new)
        order = missing_order(self.piece.order, self._before, range(new.stop), provided)
        due = self._due.terms(provided.slots, new.stop, provided)
        terms = fit([*self._where(provided), *self._after(order), *due], draft.sets)
        # A term over one side alone is checked on the rows of that side, of which there are fewer than pairs. Where the
        # whole left is before the whole right the join itself keeps that order, so the terms that say it are left out.
        sides = [_side(term, width, shares=bool(same)) for term in terms]
        cross = [term for term, side in zip(terms, sides, strict=True) if side is None]
        implied = [*self._after((i, j) for i, j in order if i < start <= j)] if before else []
        ordered = frozenset(fit(implied, draft.sets))
        settled = self._due.negations(provided.slots, new.stop)
        draft.pending = tuple(missing_negations(self.piece, settled, provided))
        join = Join(
            left=self._own(draft.op, [t for t, s in zip(terms, sides, strict=True) if s == 0], left),
            right=self._own(right.op, [t for t, s in zip(terms, sides, strict=True) if s == 1], new),
            window=self.piece.window,
            order="before" if before else "any",
            terms=(
                # A shared event agrees with all others of either side.
                *(() if same else draft.agreeing(draft.anchors(left), draft.anchors(new), draft.sets)),
                *(of_last(cross, self._grown) if self._grown else ()),
                *(term for term in cross if joinable(term) and term not in ordered),
            ),
            distinct=tuple((a, places.index(b)) for a, b in self._clashes(alone, new)),
            hashed=hashed or bool(same),
            same=same,
        )
        # Terms over neighbours and sums need whole sets: a filter follows, and until then rows count as not checked.
        late = tuple(term for term in cross if not joinable(term))
        unchecked = (
            (t for t in self.piece.terms if not joinable(t) and _side(t, width) is None) if late else ()
        )
        draft.add(join, because, tuple(unchecked))
        draft.filter(late)
        for negation in draft.pending:
            alike = members(self._of_type.get(negation.stream.type, 0))
            forbid(draft, negation, slots_inside(negation, draft.piece, alike))

    def _where(self, provided: Provided) -> Iterator[Expr]:
        new = range(provided.slots, self.draft.joined)
        for slot, term in missing_where(self.piece, new, provided):
            yield term.moved({0: self.piece.starts[slot]})

    def _after(self, pairs: Iterable[tuple[int, int]]) -> Iterator[Expr]:
        draft = self.draft
        for i, j in pairs:
            yield from draft.after_terms([i], draft.entries(j), draft.sets)

    def _own(self, op: int, terms: Sequence[Expr], slots: range) -> int:
        """The rows of one side, which binds these slots, that pass the terms over it alone."""
        if not terms:
            return op
        start = self.piece.starts[slots.start]
        own = tuple(term.moved(range(-start, self.piece.width)) for term in terms)
        return self.builder.add(Filter(op, own), "filter_terms", self.draft.computed(slots))

    def _clashes(self, left: int, right: range) -> list[tuple[int, int]]:
        """Pairs (left column, right column) that could be one event, but must not.

        Slots in order bind different events anyway, as order is strict: only those without are compared.
        """
        types, piece = self.draft.types, self.piece
        found: list[tuple[int, int, int, int]] = []
        for j in right:
            alike = 0
            for kind in frozenset().union(*self.draft.parts[j].types):
                alike |= self._of_type[kind]
            for i in members(alike & left & ~(self._before[j] | piece.order.behind(j))):
                found += [
                    (i, j, a, b) for a in piece.columns(i) for b in piece.columns(j) if types[a] & types[b]
                ]
        return [(a, b) for _, _, a, b in sorted(found)]


def _side(term: Expr, width: int, *, shares: bool = False) -> int | None:
    """0 for a term over the left alone, 1 for one over the right alone; pairs are as good for that, if it `shares`."""
    columns = columns_of(term)
    if all(column < width for column in columns):
        return 0
    if shares:
        return None
    return 1 if all(column >= width for column in columns) else None


class _Due:
    """The terms and negations of a piece, by the number of its first slots that have to be there to judge them."""

    def __init__(self, piece: Piece) -> None:
        self._slot_of = piece.slot_of_column
        self._starts = piece.starts
        kept, self._classes = parted_terms(piece)
        self._terms = _by_need((self._needed(columns_of(term)), term) for term in kept)
        self._equal = _by_need(
            (slot + 1, number)
            for number, refs in enumerate(self._classes)
            for slot in {self._slot_of[ref.column] for ref in refs}
        )
        needs = Projector(piece).needs
        self._negations = _by_need(
            (needed.bit_length(), negation) for needed, negation in zip(needs, piece.negations, strict=True)
        )

    def terms(self, since: int, joined: int, provided: Provided) -> list[Expr]:
        """What can be judged with so many slots, and not with those `since`; of equalities no more than are needed."""
        found = [term for term in _between(self._terms, since, joined) if term not in provided.terms]
        equal = Classes(provided)
        for number in sorted(set(_between(self._equal, since, joined))):
            found += equal.missing(
                self._bound(self._classes[number], self._starts[since], self._starts[joined])
            )
        return sorted(found, key=key)

    def negations(self, since: int, joined: int) -> list[Negation]:
        """The negations that so many slots settle, and those `since` do not."""
        return _between(self._negations, since, joined)

    @staticmethod
    def _bound(refs: Sequence[Ref], known: int, width: int) -> list[Ref]:
        """Those of equal references that are there; of several columns that are known to be equal the first."""
        inside = [ref for ref in refs if ref.column < width]
        before = [ref for ref in inside if ref.column < known]
        if len({ref.column for ref in before}) > 1:
            return [before[0], *inside[len(before) :]]
        return inside

    def _needed(self, columns: Iterable[int]) -> int:
        """How many slots have to be there for some columns to be bound; one at least."""
        return (
            max((self._slot_of[column] for column in columns if column < len(self._slot_of)), default=0) + 1
        )


def _by_need(found: Iterable[tuple[int, T]]) -> dict[int, list[T]]:
    by_need: dict[int, list[T]] = {}
    for need, one in found:
        by_need.setdefault(need, []).append(one)
    return by_need


def _between(by_need: dict[int, list[T]], since: int, joined: int) -> list[T]:
    """What needs no more than so many slots, and more than those `since`."""
    return [one for need in range(since + 1, joined + 1) for one in by_need.get(need, ())]
