"""The work of joins and negations: rows kept, rows that look for partners, candidates compared, rows made."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from operator import mul
from typing import Final, Protocol

from stretto.memo.memo import NO_WINDOW, Memo
from stretto.memo.orders import JoinLook
from stretto.memo.prices import GROWTH, LARGE_STEP, NAMES, STEP, Prices
from stretto.memo.pricing import MOST_INPUTS, RowEstimates
from stretto.memo.slot_masks import Facts
from stretto.memo.ways import Input, Way
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.order import NO_ORDER, members
from stretto.pattern.piece import Negation, Piece, Slot
from stretto.pattern.predicates import Apply, Expr, walk

(
    EVENT, ATTRIBUTE, SCAN, A_STEP, STORE, STORE_LANE, SORT, PROBE, KEY, CANDIDATE, TERM, CHAIN, ROW, COLUMN, COPY,
    GATHER, GATHER_COLUMN, EVALUATE, FORBID, LINK, GROW, ELEMENT, UNITE, FOLLOW, EMIT, EMIT_COLUMN, _, TEXT,
    FRESH, _, _, DISTANCE,
) = range(len(NAMES))  # fmt: skip

Work = list[float]
"""Units of work per second of the stream, in the order of the prices."""


def evaluated(terms: Sequence[Expr], times: float, work: Work) -> None:
    """Terms that are no comparisons of keys, on so many pairs."""
    far = sum(map(_is_distance, terms))
    work[EVALUATE] += times * (len(terms) - far)
    work[DISTANCE] += times * far


def _across(facts: Facts, one: int, other: int) -> list[Expr]:
    """The terms between two sides that are no comparisons of keys."""
    both = one | other
    return [term for mask, term in facts.rest if mask & one and mask & other and not mask & ~both]


@cache
def _is_distance(term: Expr) -> bool:
    """Whether a term computes a distance on a globe, which is dearer than other terms."""
    return any(isinstance(node, Apply) and node.op == "geo_distance" for node in walk(term))


ROW_BYTES: Final = 8
COLUMN_BYTES: Final = 4
"""Of the rows of matches, which stay: their two times, and each event."""
LOOKED_AT_FIRST: Final = 16.0
"""Forbidden events of an interval that are compared before the others."""
LAST_STEP: Final = 0.25
"""What the end of the input takes of a step: few operators have something left to do."""
COMPUTED_EQUAL: Final = 0.1
"""The share of pairs that is guessed to pass an equality of computed values."""
MICROSECONDS: Final = 1e6


Searched = tuple[JoinLook, float, float, float]
"""A look, the rows that it keeps, those that look, and how many they could meet."""


class Estimates(RowEstimates, Protocol):
    """What joins need to know in addition."""

    def selectivity_of_equalities(self, piece: Piece, left: Sequence[int], right: Sequence[int]) -> float:
        """The share of pairs of rows over two sets of slots that satisfy the equalities between them."""
        ...

    def is_text(self, attribute: str) -> bool:
        """Whether an attribute of the events holds texts."""
        ...

    def crowding(self, piece: Piece, left: Sequence[int], right: Sequence[int]) -> float:
        """How many more pairs of rows over two sets of slots a window holds than with independent streams."""
        ...


class JoinWork:
    """Units of work, added to a list in the order of the prices.

    Sets of slots are bits, so that a part of a piece is one integer and all that is known of it is kept by (piece,
    slots): a solver asks for thousands of joins over the same few parts. What is kept belongs to one memo and is
    forgotten when another one is asked about.
    """

    def __init__(self, estimator: Estimates, prices: Prices, events: int = 0) -> None:
        """`events`: how many there are, if that is known; the engine takes few in few steps."""
        self.estimator, self.prices, self.events = estimator, prices, events
        self._values = prices.values()
        self._steps = steps_per_second(estimator.total_rate, events)
        self._forget(None)

    def _forget(self, memo: Memo | None) -> None:
        self._memo = memo
        self._known: dict[int, Facts] = {}
        self._rows: dict[int, float] = {}
        self._demanded: dict[int, int] = {}
        self._parts: dict[tuple[int, int], float] = {}
        self._shares: dict[tuple[int, int, int], float] = {}
        self._crowds: dict[tuple[int, int, int], float] = {}
        self._judged: dict[tuple[int, int, int], float] = {}
        self._settled_in: dict[tuple[int, int], frozenset[int]] = {}
        self._scans: dict[Stream, int] | None = None
        self._reported = frozenset(() if memo is None else (root.piece for root in memo.roots))

    def rows(self, memo: Memo, number: int) -> float:
        """Rows per second of a piece, estimated."""
        if memo is not self._memo:
            self._forget(memo)
        found = self._rows.get(number)
        if found is None:
            found = self._rows[number] = self.estimator.rows(memo.pieces[number])
        return found

    def price(self, work: Work) -> float:
        """Nanoseconds of some work."""
        total: float = sum(map(mul, work, self._values))
        return total

    # ---- joins -----------------------------------------------------------------------------------------------------

    def _join(self, memo: Memo, number: int, way: Way, work: Work) -> list[bool]:
        """The sides from left to right; between them rows that nothing else reads. Of many each costs as the last.

        For each join comes back whether it hashes.
        """
        hashed: list[bool] = []
        facts = self._facts(memo, number)
        left, left_rows = self._side(memo, number, facts, way.inputs[0], work)
        provided = len(memo.pieces[way.inputs[0].piece].negations)
        for part in way.inputs[1:MOST_INPUTS]:
            before = work[:]
            right, right_rows = self._side(memo, number, facts, part, work)
            provided += len(memo.pieces[part.piece].negations)
            joined = left | right
            rows = self._part_rows(memo, number, facts, joined)
            made = rows
            if facts.piece.negations:
                made = self._forbidden(number, facts, left, right, rows, provided, work)
                provided = len(self._settled(number, facts, joined))
            sides = (left, left_rows), (right, right_rows)
            if left & right:
                self._sharing(memo, number, facts, *sides, made, work)
                hashed.append(True)
            else:
                hashed.append(self._pairs(number, facts, *sides, made, work))
            left, left_rows = joined, rows
        if len(way.inputs) > MOST_INPUTS:
            more = len(way.inputs) - MOST_INPUTS
            work[:] = [now + more * (now - then) for now, then in zip(work, before, strict=True)]
            hashed += hashed[-1:] * more
        return hashed

    def _side(self, memo: Memo, number: int, facts: Facts, part: Input, work: Work) -> tuple[int, float]:
        """The slots and rows of an input; of a weaker one, what is left when all that it lacks has been checked."""
        slots, rows = facts.slots(part.columns), self.rows(memo, part.piece)
        # The input claims no more than the projection; so counting what either demands tells how much it lacks.
        missing = facts.demands(slots) - self._demands(memo, part.piece)
        if missing <= 0:
            return slots, rows
        kept = self._part_rows(memo, number, facts, slots)
        work[A_STEP] += self._steps
        work[EVALUATE] += rows * missing
        work[GATHER_COLUMN] += kept * (2 + facts.width(slots))
        return slots, kept

    def _pairs(
        self,
        number: int,
        facts: Facts,
        left: tuple[int, float],
        right: tuple[int, float],
        made: float,
        work: Work,
    ) -> bool:
        """Rows kept, rows that probe, candidates, and the rows made. Whether equal keys are hashed comes back."""
        (one, one_rows), (other, other_rows) = left, right
        joined = one | other
        alike = 0
        keys, equal, share = self._compared(number, facts, one, other)
        rest = _across(facts, one, other)
        pairs = self._unjudged(number, facts, one, other, made) if rest else made
        for slot in members(one) if facts.any_alike else ():
            alike += (facts.alike[slot] & other).bit_count()
        window = self.seconds(facts.piece.window) * self._crowd(number, facts, one, other)
        looks = facts.orders.looks(one, other)
        # One look where the order says which side holds a pair's last event, else two: each side stores its rows and
        # looks among the other's. A look meets the stored rows of its band, window times rate, but for what the
        # order takes off (`share`), or more where events come in bursts; where equalities are hashed only rows of the
        # same chain are met.
        work[A_STEP] += self._steps * len(looks)
        searched: list[Searched] = []
        for look in looks:
            kept, looking = (one_rows, other_rows) if look.stored == one else (other_rows, one_rows)
            searched.append((look, kept, looking, kept * looking * window * look.share))
        # Pairs that are made of equal keys cost alike, however they were found.
        gathers = bool(equal or rest or alike)
        hashed = not equal or self._hash_pays(searched, keys, equal, share, made)
        if not hashed:
            keys, equal = keys + 2 * equal, 0
        copied = not gathers and not keys
        for look, kept, looking, candidates in searched:
            # Several equalities are hashed together and compared again one by one.
            terms = keys + look.terms + (2 * equal if equal > 1 else 0) + look.floor
            width = facts.width(look.stored)
            lanes = terms + width + (width > 1) + (2 if equal else 0)
            _store_and_probe(look, kept, looking, lanes, keys + equal, work)
            if equal:
                work[SORT] += looking if look.mixed else 0.0
                met = candidates * share
                work[CHAIN] += met + kept + looking
                work[TERM] += met * terms
            elif terms:
                work[CANDIDATE] += candidates
                work[TERM] += further_terms(candidates, terms, made)
                copied = False
        columns = facts.width(joined)
        if gathers:
            work[GATHER] += made
            work[GATHER_COLUMN] += made * columns
            work[EVALUATE] += made * alike
            evaluated(rest, pairs, work)
        else:
            _write_rows(made, columns, work, copied=copied)
        return hashed

    def _sharing(
        self,
        memo: Memo,
        number: int,
        facts: Facts,
        left: tuple[int, float],
        right: tuple[int, float],
        made: float,
        work: Work,
    ) -> None:
        """Rows that share events are found by a hash of these: met are all pairs that have the same ones."""
        (one, one_rows), (other, other_rows) = left, right
        shared = one & other
        # The right side looks. So does the left, unless a shared event is the last or comes before one that is.
        after = facts.orders.after
        both = not all(shared >> slot & 1 or after[slot] & other for slot in members(one))
        crossing = [mask for mask in facts.asked if mask & one & ~shared and mask & other & ~shared]
        # Each shared row has its partners on either side; they count as independent.
        each = self._part_rows(memo, number, facts, shared)
        met = max(one_rows * other_rows / each if each > 0 else 0.0, made)
        rows = one_rows + other_rows
        kept, looking = (rows, rows) if both else (one_rows, other_rows)
        work[A_STEP] += self._steps * (1 + both)
        work[STORE] += kept
        work[STORE_LANE] += kept * (3 + len(crossing) + facts.width(one))
        work[SORT] += kept + looking
        work[PROBE] += looking
        work[KEY] += (kept + looking) * (shared.bit_count() + len(crossing))
        work[CHAIN] += met + kept + looking
        work[TERM] += met * len(crossing)
        evaluated([term for mask, term in facts.rest if mask in crossing], met, work)
        work[GATHER] += made
        work[GATHER_COLUMN] += made * facts.width(one | other)

    def _compared(self, number: int, facts: Facts, one: int, other: int) -> tuple[int, int, float]:
        """How many comparisons and equalities of keys relate two sides, and the share of pairs that have equal keys."""
        keys, equal, share = 0, 0, 1.0
        if facts.equal or facts.piece.same:
            equal, share = self._equalities(number, facts, one, other)
        for term in facts.compared:
            if term.crosses(one, other):
                if term.equal:
                    share *= 1.0 if equal else COMPUTED_EQUAL
                    equal += 1
                else:
                    keys += 1
        return keys, equal, share

    def _hash_pays(
        self, searched: Sequence[Searched], keys: int, equal: int, share: float, made: float
    ) -> bool:
        """Whether rows of a chain cost less to meet than all rows of the window, each compared twice per equality.

        The same rows come of either, in no promised order, so the cheaper one is taken for each join by itself. With
        few different values a chain holds most rows of the window, and to walk it is dearer than to run over them.
        """
        value, gained = self._values, 0.0
        for look, kept, looking, candidates in searched:
            others = keys + look.terms + look.floor
            met, again = candidates * share, 2 * equal if equal > 1 else 0
            gained += value[CANDIDATE] * candidates
            gained += value[TERM] * (
                further_terms(candidates, others + 2 * equal, made) - met * (others + again)
            )
            gained += value[KEY] * equal * (kept + looking)
            gained -= value[CHAIN] * (met + kept + looking)
        return gained >= 0

    def _unjudged(self, number: int, facts: Facts, one: int, other: int, made: float) -> float:
        """Pairs on which the terms that are no comparison of keys are evaluated."""
        key = (number, one | other, one)
        found = self._judged.get(key)
        if found is None:
            crossing = {term for mask, term in facts.rest if mask & one and mask & other}
            kept = tuple(term for term in facts.piece.terms if term not in crossing)
            free = Facts.of(replace(facts.piece, terms=kept)).part(one | other)
            found = self._judged[key] = max(self.estimator.rows(free), made)
        return found

    def _equalities(self, number: int, facts: Facts, one: int, other: int) -> tuple[int, float]:
        """How many equalities relate two sides, and the share of pairs that satisfy all of them."""
        found = len(facts.piece.same)
        read = facts.whole if found else 0
        for members_ in facts.equal:
            slots = 0
            for bit, _ in members_:
                slots |= bit
            if slots & one and slots & other:
                found += 1
                read |= slots
        return found, self._share(number, facts, one & read, other & read) if found else 1.0

    def _share(self, number: int, facts: Facts, one: int, other: int) -> float:
        """The share of pairs of rows over two sets of slots that satisfy all equalities between them."""
        key = (number, one, other)
        found = self._shares.get(key)
        if found is None:
            sides = members(one), members(other)
            found = self._shares[key] = self.estimator.selectivity_of_equalities(facts.piece, *sides)
        return found

    def _crowd(self, number: int, facts: Facts, one: int, other: int) -> float:
        """How many more pairs of rows over two sets of slots a window holds than with independent streams."""
        key = (number, one, other)
        found = self._crowds.get(key)
        if found is None:
            sides = members(one), members(other)
            found = self._crowds[key] = self.estimator.crowding(facts.piece, *sides)
        return found

    # ---- negations -------------------------------------------------------------------------------------------------

    def _forbidden(
        self, number: int, facts: Facts, one: int, other: int, rows: float, provided: int, work: Work
    ) -> float:
        """Rows that a join makes before the negations that only it can judge have dropped some."""
        settled = self._settled(number, facts, one | other)
        if len(settled) <= provided:
            return rows
        kept = self._settled(number, facts, one) | self._settled(number, facts, other)
        if len(kept) != provided:
            kept = frozenset()
        negations = facts.piece.negations
        piece = facts.part(one | other)
        of_part = dict(zip(sorted(settled), piece.negations, strict=True))
        free = replace(piece, negations=tuple(of_part[i] for i in sorted(kept)))
        made = self.estimator.rows(free)
        for i in settled - kept:
            self._judge(piece, negations[i], made, work)
        return made

    def _settled(self, number: int, facts: Facts, slots: int) -> frozenset[int]:
        """The negations that the projection on some slots has."""
        key = (number, slots)
        found = self._settled_in.get(key)
        if found is None:
            found = self._settled_in[key] = facts.projector.settled(members(slots))
        return found

    def _judge(self, piece: Piece, negation: Negation, rows: float, work: Work) -> None:
        """Rows looked up among the forbidden events of their interval."""
        events = self.estimator.rows(one_event(negation.stream, piece.same))
        work[A_STEP] += self._steps
        work[STORE] += events
        work[STORE_LANE] += 2 * events
        work[FORBID] += rows
        if negation.terms or piece.same:
            interval = self.seconds(piece.window) / max(len(piece.slots), 1)
            equal = bool(piece.same)
            met = rows * min(events * interval, LOOKED_AT_FIRST)
            work[FORBID] += rows
            work[CHAIN if equal else CANDIDATE] += met
            work[KEY] += (rows + events) * (len(negation.terms) + len(piece.same))
            work[GATHER] += rows

    # ---- what is known of pieces -----------------------------------------------------------------------------------

    def seconds(self, window: Window) -> float:
        """A window in seconds of the stream."""
        if window.unit == "us":
            return window.size / MICROSECONDS
        return window.size / self.estimator.total_rate if self.estimator.total_rate > 0 else 0.0

    def _facts(self, memo: Memo, number: int) -> Facts:
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = Facts.of(memo.pieces[number])
        return found

    def _demands(self, memo: Memo, number: int) -> int:
        found = self._demanded.get(number)
        if found is None:
            facts = self._facts(memo, number)
            found = self._demanded[number] = facts.demands(facts.whole)
        return found

    def _part_rows(self, memo: Memo, number: int, facts: Facts, slots: int) -> float:
        """Rows of a piece projected on some slots."""
        if slots == facts.whole:
            return self.rows(memo, number)
        key = (number, slots)
        found = self._parts.get(key)
        if found is None:
            found = self._parts[key] = self.estimator.rows(facts.part(slots))
        return found


def steps_per_second(rate: float, events: int) -> float:
    """Steps of the engine, which grow while operators have little to do (engine/pace.py), and the one that ends it."""
    if not events:
        return rate / STEP
    steps, left, size = LAST_STEP, float(events), STEP
    while left > 0 and size < LARGE_STEP:
        steps, left, size = steps + min(1.0, left / size), left - size, size * GROWTH
    steps += max(left, 0.0) / LARGE_STEP
    return rate * steps / events


def one_event(stream: Stream, same: tuple[str, ...]) -> Piece:
    """One event of a stream."""
    return Piece((Slot(stream),), NO_ORDER, (), same, (), NO_WINDOW)


def _store_and_probe(look: JoinLook, kept: float, looking: float, lanes: int, keys: int, work: Work) -> None:
    """One side keeps its rows with their keys, the other turns its own into keys and probes."""
    work[STORE] += kept
    work[STORE_LANE] += kept * lanes
    if look.sorts:
        work[SORT] += kept
    work[PROBE] += looking
    work[KEY] += (keys + look.terms) * (kept + looking) + look.times * looking


def _write_rows(made: float, columns: int, work: Work, *, copied: bool) -> None:
    """Rows that the loop writes which finds them: one by one, or as ranges of rows where nothing is compared."""
    if copied:
        work[COPY] += made * (2 + columns)
    else:
        work[ROW] += made
        work[COLUMN] += made * columns


def further_terms(candidates: float, terms: int, made: float) -> float:
    """How often a term behind the first is looked at.

    The first two are looked at for every candidate. Of the others the k-th is reached by those that passed the ones
    before; with equal selectivities about made / candidates to the power 2 / terms.
    """
    if terms <= 1:
        return 0.0
    if terms == 2 or candidates <= 0:
        return candidates
    reached: float = min(made / candidates, 1.0) ** (2 / terms)
    return candidates * (1 + (terms - 2) * reached)
