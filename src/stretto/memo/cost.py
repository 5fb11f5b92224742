"""The cost of every way to compute a piece: how much work the engine has with it, times what such work costs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log
from operator import mul
from typing import Final, Protocol

from stretto.memo.core import growing_slots
from stretto.memo.memo import NO_WINDOW, Memo, Root
from stretto.memo.prices import NAMES, STEP, Prices
from stretto.memo.pricing import DEAREST, MOST_INPUTS
from stretto.memo.slot_masks import Facts
from stretto.memo.ways import Input, Kind, Way
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.order import NO_ORDER, members
from stretto.pattern.piece import Negation, Piece, Slot
from stretto.pattern.predicates import Reduce, Ref, walk
from stretto.stats.otherwise import otherwise

(
    EVENT, ATTRIBUTE, SCAN, A_STEP, STORE, STORE_LANE, SORT, PROBE, KEY, CANDIDATE, TERM, CHAIN, ROW, COLUMN,
    GATHER, GATHER_COLUMN, EVALUATE, FORBID, LINK, GROW, ELEMENT, UNITE, FOLLOW, EMIT, EMIT_COLUMN, _,
) = range(len(NAMES))  # fmt: skip

__all__ = ["NAMES", "CostModel", "Estimates", "Work"]

Work = list[float]
"""Units of work per second of the stream, in the order of the prices."""

LOOKED_AT_FIRST: Final = 16.0
"""Forbidden events of an interval that are compared before the others."""
COMPUTED_EQUAL: Final = 0.1
"""The share of pairs that is guessed to pass an equality of computed values."""
MOST_LINKS: Final = 60
"""Repetitions beyond which chains are not counted."""
MICROSECONDS: Final = 1e6


class Estimates(Protocol):
    """What is expected of the events; `stretto.stats.estimate.Estimator` tells it."""

    @property
    def total_rate(self) -> float:
        """Events per second."""
        ...

    def rows(self, piece: Piece) -> float:
        """Rows of a piece per second."""
        ...

    def selectivity_of_equalities(self, piece: Piece, left: Sequence[int], right: Sequence[int]) -> float:
        """The share of pairs of rows over two sets of slots that satisfy the equalities between them."""
        ...


class CostModel:
    """Nanoseconds per second of the stream, as the engine would spend them.

    A `before` join looks from each right row at the left rows that ended inside the window and before it began. Any
    other lets the later row of a pair find it; where the order says which side that is, only that side looks.
    """

    def __init__(self, estimator: Estimates, prices: Prices) -> None:
        self.estimator, self.prices = estimator, prices
        self._values = prices.values()
        self._steps = estimator.total_rate / STEP
        self._forget(None)

    def _forget(self, memo: Memo | None) -> None:
        self._memo = memo
        self._known: dict[int, Facts] = {}
        self._rows: dict[int, float] = {}
        self._demanded: dict[int, int] = {}
        self._parts: dict[tuple[int, int], float] = {}
        self._shares: dict[tuple[int, int, int], float] = {}
        self._judged: dict[tuple[int, int, int], float] = {}
        self._settled_in: dict[tuple[int, int], frozenset[int]] = {}

    # ---- what a solver asks ----------------------------------------------------------------------------------------

    def rows(self, memo: Memo, number: int) -> float:
        """Rows per second of a piece, estimated."""
        if memo is not self._memo:
            self._forget(memo)
        found = self._rows.get(number)
        if found is None:
            found = self._rows[number] = self.estimator.rows(memo.pieces[number])
        return found

    @otherwise(lambda *_: DEAREST)
    def cost(self, memo: Memo, number: int, way: Way) -> float:
        """The cost of computing a piece this way, its inputs given."""
        return self.price(self.work(memo, number, way))

    def price(self, work: Work) -> float:
        """Nanoseconds of some work."""
        total: float = sum(map(mul, work, self._values))
        return total

    def work(self, memo: Memo, number: int, way: Way) -> Work:
        """The units of work of one way."""
        if memo is not self._memo:
            self._forget(memo)
        work = [0.0] * len(NAMES)
        match way.kind:
            case Kind.JOIN:
                self._join(memo, number, way, work)
            case Kind.SCAN:
                self._scan(memo.pieces[number], work)
            case Kind.FILTER | Kind.FORBID:
                self._narrow(memo, number, way.inputs[0], work)
            case Kind.GROW:
                self._grow(memo, number, way, work)
            case Kind.UNITE:
                self._unite(memo, number, way, work)
            case Kind.NEXT:
                self._next(memo, number, work)
        return work

    @otherwise(lambda *_: 0.0)
    def emit_cost(self, memo: Memo, root: Root) -> float:
        """The cost of handing over the matches of one branch of a query, the same in every plan."""
        return self.price(self.emit_work(memo, root))

    def emit_work(self, memo: Memo, root: Root) -> Work:
        work = [0.0] * len(NAMES)
        rows, piece = self.rows(memo, root.piece), memo.pieces[root.piece]
        work[A_STEP] += 0.1 * self._steps
        work[EMIT] += rows
        work[EMIT_COLUMN] += rows * piece.width
        return work

    @otherwise(lambda *_: 0.0)
    def fixed_cost(self, memo: Memo | None = None) -> float:
        """The cost of taking the events in, the same in every plan of the memo (None: the one priced last)."""
        return self.price(self.fixed_work(memo))

    def fixed_work(self, memo: Memo | None = None) -> Work:
        """Every event, and every attribute of it that some query reads."""
        work = [0.0] * len(NAMES)
        memo = self._memo if memo is None else memo
        pieces = [memo.pieces[root.piece] for root in memo.roots] if memo is not None else []
        read = {name for piece in pieces for name in attributes(piece)}
        work[EVENT] = self.estimator.total_rate
        work[ATTRIBUTE] = self.estimator.total_rate * len(read)
        return work

    # ---- joins -----------------------------------------------------------------------------------------------------

    def _join(self, memo: Memo, number: int, way: Way, work: Work) -> None:
        """The sides from left to right; between them rows that nothing else reads. Of many each costs as the last."""
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
            self._pairs(number, facts, (left, left_rows), (right, right_rows), made, work)
            left, left_rows = joined, rows
        if len(way.inputs) > MOST_INPUTS:
            more = len(way.inputs) - MOST_INPUTS
            work[:] = [now + more * (now - then) for now, then in zip(work, before, strict=True)]

    def _side(self, memo: Memo, number: int, facts: Facts, part: Input, work: Work) -> tuple[int, float]:
        """The slots and rows of an input; of a weaker one, what is left when all that it lacks has been checked."""
        slots, rows = facts.slots(part.columns), self.rows(memo, part.piece)
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
    ) -> None:
        """Rows kept, rows that probe, candidates, and the rows made."""
        (one, one_rows), (other, other_rows) = left, right
        joined = one | other
        keys = equal = rest = alike = 0
        share = 1.0
        if facts.equal or facts.piece.same:
            equal, share = self._equalities(number, facts, one, other)
        for term in facts.compared:
            if term.crosses(one, other):
                if term.equal:
                    share *= 1.0 if equal else COMPUTED_EQUAL
                    equal += 1
                else:
                    keys += 1
        for mask, _ in facts.rest:
            rest += bool(mask & one and mask & other) and not mask & ~joined
        pairs = self._unjudged(number, facts, one, other, made) if rest else made
        for slot in members(one) if facts.any_alike else ():
            alike += (facts.alike[slot] & other).bit_count()
        window = self.seconds(facts.piece.window)
        looks = facts.orders.looks(one, other)
        work[A_STEP] += self._steps * len(looks)
        for look in looks:
            kept, looking = (one_rows, other_rows) if look.stored == one else (other_rows, one_rows)
            width = facts.width(look.stored)
            candidates = kept * looking * window * look.share
            terms = keys + look.terms + (2 * equal if equal > 1 else 0) + look.floor
            work[STORE] += kept
            work[STORE_LANE] += kept * (terms + width + (width > 1) + (2 if equal else 0))
            if look.sorts:
                work[SORT] += kept
            work[PROBE] += looking
            work[KEY] += (keys + equal + look.terms) * (kept + looking) + look.times * looking
            if equal:
                met = candidates * share
                work[CHAIN] += met + kept + looking
                work[TERM] += met * terms
                continue
            work[CANDIDATE] += candidates
            if terms > 1:
                work[TERM] += candidates
            if terms > 2 and candidates > 0:
                work[TERM] += candidates * (terms - 2) * min(made / candidates, 1.0) ** (2 / terms)
        columns = facts.width(joined)
        if equal or rest or alike:
            work[GATHER] += made
            work[GATHER_COLUMN] += made * columns
            work[EVALUATE] += made * alike + pairs * rest
        else:
            work[ROW] += made
            work[COLUMN] += made * columns

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
        events = self.estimator.rows(_alone(negation.stream, piece.same))
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

    # ---- the other ways --------------------------------------------------------------------------------------------

    def _scan(self, piece: Piece, work: Work) -> None:
        (slot,) = piece.slots
        assert isinstance(slot.source, Stream)
        work[SCAN] += self.estimator.rows(_alone(Stream(slot.source.type), ())) * (1 + len(slot.source.where))

    def _narrow(self, memo: Memo, number: int, part: Input, work: Work) -> None:
        """Rows that pass what is missing; then the negations that are."""
        facts, theirs = self._facts(memo, number), self._facts(memo, part.piece)
        rows, kept = self.rows(memo, part.piece), self.rows(memo, number)
        wider = theirs.piece.window != facts.piece.window
        missing = self._demands(memo, number) - self._demands(memo, part.piece) + wider
        negations = facts.piece.negations[: len(facts.piece.negations) - len(theirs.piece.negations)]
        if missing > 0 or not negations:
            passed = self._without(facts.piece, len(theirs.piece.negations)) if negations else kept
            work[A_STEP] += self._steps
            work[EVALUATE] += rows * max(missing, 1)
            work[GATHER_COLUMN] += passed * (2 + facts.piece.width)
            rows = passed
        for negation in negations:
            self._judge(facts.piece, negation, rows, work)
        if negations:
            work[GATHER_COLUMN] += kept * (2 + facts.piece.width)

    def _without(self, piece: Piece, kept: int) -> float:
        """The rows of a piece with no more than so many of its negations."""
        return self.estimator.rows(replace(piece, negations=piece.negations[:kept]))

    def _grow(self, memo: Memo, number: int, way: Way, work: Work) -> None:
        """Slot by slot the earlier repetitions, then the negations that had to wait for them."""
        piece, core = memo.pieces[number], memo.pieces[way.inputs[0].piece]
        late = piece.negations[: len(piece.negations) - len(core.negations)]
        rows, kept = self.rows(memo, way.inputs[0].piece), self.rows(memo, number)
        grown = self.estimator.rows(replace(piece, negations=core.negations)) if late else kept
        growing = sorted(growing_slots(piece))
        times = max(grown / rows, 1e-9) ** (1 / max(len(growing), 1)) if rows > 0 else 1.0
        elements = {frozenset(part.columns): part.piece for part in way.inputs[1:]}
        for slot in growing:
            group = elements.get(frozenset(piece.columns(slot)))
            events = self._repetitions(piece, slot) if group is None else self.rows(memo, group)
            rows = self._repeat(piece, piece.slots[slot], rows, events, times, work)
        for negation in late:
            self._judge(piece, negation, rows, work)
        if late:
            work[GATHER_COLUMN] += kept * (2 + piece.width)

    def _repetitions(self, piece: Piece, slot: int) -> float:
        source = piece.slots[slot].source
        assert isinstance(source, Stream)
        return self.estimator.rows(_alone(source, piece.same))

    def _repeat(
        self, piece: Piece, slot: Slot, rows: float, events: float, times: float, work: Work
    ) -> float:
        """One slot grown; the rows with all of its chains come back."""
        links, length = chains(slot, times)
        made = rows * times
        candidates = rows * events * self.seconds(piece.window)
        work[A_STEP] += 2 * self._steps
        work[STORE] += events
        work[STORE_LANE] += events * (1 + slot.width)
        work[PROBE] += rows
        if piece.same:
            work[CHAIN] += rows * links + events
        else:
            work[CANDIDATE] += candidates
        work[LINK] += rows * links
        work[GROW] += made
        work[GATHER_COLUMN] += made * (1 + piece.width)
        work[ELEMENT] += made * length
        return made

    def _unite(self, memo: Memo, number: int, way: Way, work: Work) -> None:
        work[A_STEP] += self._steps
        work[UNITE] += sum(self.rows(memo, part) for part in way.pieces)
        work[GATHER_COLUMN] += self.rows(memo, number) * memo.pieces[number].width

    def _next(self, memo: Memo, number: int, work: Work) -> None:
        """Every event of a step may begin a run or be taken by one."""
        piece = memo.pieces[number]
        rows = self.rows(memo, number)
        streams = [slot.source for slot in piece.slots if isinstance(slot.source, Stream)]
        taken = sum(self.estimator.rows(_alone(stream, piece.same)) for stream in streams)
        work[A_STEP] += len(streams) * self._steps
        work[FOLLOW] += taken + rows
        work[GATHER_COLUMN] += rows * piece.width

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


def attributes(piece: Piece) -> set[str]:
    """The attributes that a piece's terms read; times and positions are not among them."""
    found = set(piece.same)
    terms = [*piece.terms, *(term for negation in piece.negations for term in negation.terms)]
    streams = [negation.stream for negation in piece.negations]
    for slot in piece.slots:
        if isinstance(slot.source, Stream):
            streams.append(slot.source)
        else:
            found.update(*(attributes(branch.piece) for branch in slot.source.branches))
    terms += [term for stream in streams for term in stream.where]
    nodes = (node for term in terms for node in walk(term) if isinstance(node, Ref | Reduce))
    found.update(node.attribute for node in nodes)
    return {name for name in found if name and name != "ts" and not name.startswith("@")}


def _alone(stream: Stream, same: tuple[str, ...]) -> Piece:
    """One event of a stream."""
    return Piece((Slot(stream),), NO_ORDER, (), same, (), NO_WINDOW)


def chains(slot: Slot, times: float) -> tuple[float, float]:
    """Earlier repetitions that a row may take and the mean number that its chains hold, of all chains together.

    `times`: how many chains a row has on average. With x repetitions to take from in the mean, Poisson gives x^n / n!
    chains of n of them.
    """
    low, high = max(slot.low - 1, 0), MOST_LINKS if slot.high is None else min(slot.high - 1, MOST_LINKS)
    if high < 1:
        return 0.0, 1.0
    if low == 0 and slot.high is None:
        links = log(max(times, 1.0))
        return links, 1.0 + links
    least, most = 0.0, float(MOST_LINKS)
    for _ in range(40):
        links = (least + most) / 2
        least, most = (links, most) if sum(_terms(links, low, high)) < times else (least, links)
    found = list(_terms(links, low, high))
    total = sum(found)
    return links, 1.0 + (sum(map(mul, found, range(low, high + 1))) / total if total > 0 else low)


def _terms(links: float, low: int, high: int) -> Iterator[float]:
    """x^n / n! for n from low to high."""
    term = 1.0
    for n in range(1, high + 1):
        if n > low:
            yield term
        term *= links / n
    yield term
