"""The cost of every way to compute a piece: how much work the engine has with it, times what such work costs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log
from operator import mul
from typing import Final

from stretto.memo.join_work import (
    A_STEP,
    ATTRIBUTE,
    CANDIDATE,
    CHAIN,
    COLUMN,
    COLUMN_BYTES,
    ELEMENT,
    EMIT,
    EMIT_COLUMN,
    EVALUATE,
    EVENT,
    FOLLOW,
    FRESH,
    GATHER,
    GATHER_COLUMN,
    GROW,
    LINK,
    PROBE,
    ROW_BYTES,
    SCAN,
    SORT,
    STORE,
    STORE_LANE,
    TEXT,
    UNITE,
    JoinWork,
    Work,
    evaluated,
    one_event,
)
from stretto.memo.memo import Memo, Root
from stretto.memo.prices import NAMES
from stretto.memo.pricing import DEAREST
from stretto.memo.scan_groups import scan_groups
from stretto.memo.ways import Input, Way, WayKind
from stretto.pattern.core import by_last_repetition, comparable, judged_by_last, unjudged
from stretto.pattern.disjunction import streams_of
from stretto.pattern.nodes import Stream
from stretto.pattern.order import mask_of
from stretto.pattern.piece import Group, Negation, Piece, Slot
from stretto.pattern.predicates import Reduce, Ref, columns_of, walk
from stretto.pattern.repetition_terms import duty
from stretto.stats.safe_estimates import otherwise

SORTED_EVENT: Final = 1.0
"""What an event costs that the predicate index sorts, by what a row does that is put in its place."""
HALF: Final = 0.5
"""Of the call of an operator, for a scan and for handing over."""
MOST_LINKS: Final = 60
"""Repetitions beyond which chains are not counted."""


class CostModel(JoinWork):
    """Nanoseconds per second of the stream, as the engine would spend them.

    A `before` join looks from each right row at the left rows that ended inside the window and before it began. Any
    other lets the later row of a pair find it; where the order says which side that is, only that side looks.
    """

    # ---- what a solver asks ----------------------------------------------------------------------------------------

    @otherwise(lambda *_: DEAREST)
    def cost(self, memo: Memo, number: int, way: Way) -> float:
        """The cost of computing a piece this way, its inputs given."""
        return self.price(self.work(memo, number, way))

    def hashed(self, memo: Memo, number: int, way: Way) -> tuple[bool, ...]:
        """For each join of a way whether it finds equal keys by hash: where that is cheaper than to compare all."""
        if memo is not self._memo:
            self._forget(memo)
        return tuple(self._join(memo, number, way, [0.0] * len(NAMES)))

    @property
    def step_cost(self) -> float:
        """The cost of calling one operator in every step."""
        return self._steps * self.prices.step

    def work(self, memo: Memo, number: int, way: Way) -> Work:
        """The units of work of one way."""
        if memo is not self._memo:
            self._forget(memo)
        work = [0.0] * len(NAMES)
        match way.kind:
            case WayKind.JOIN:
                self._join(memo, number, way, work)
                if memo.grows(number):
                    self._join_sets(memo, number, work)
            case WayKind.SCAN:
                self._scan(memo, memo.pieces[number], work)
            case WayKind.FORBID if memo.grows(number):
                self._forbid_grown(memo, number, way.inputs[0], work)
            case WayKind.FILTER | WayKind.FORBID:
                self._narrow(memo, number, way.inputs[0], work)
            case WayKind.COMPLETE:
                self._complete(memo, number, way.pieces[0], work)
            case WayKind.GROW:
                self._grow(memo, number, way, work)
            case WayKind.UNITE:
                self._unite(memo, number, way, work)
            case WayKind.NEXT:
                self._next(memo, number, way, work)
        if number in self._reported:
            work[FRESH] += self.rows(memo, number) * (ROW_BYTES + COLUMN_BYTES * memo.pieces[number].width)
        return work

    @otherwise(lambda *_: 0.0)
    def emit_cost(self, memo: Memo, root: Root) -> float:
        """The cost of handing over the matches of one branch of a query, the same in every plan."""
        return self.price(self.emit_work(memo, root))

    def emit_work(self, memo: Memo, root: Root) -> Work:
        work = [0.0] * len(NAMES)
        rows, piece = self.rows(memo, root.piece), memo.pieces[root.piece]
        work[A_STEP] += HALF * self._steps
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
        work[TEXT] = self.estimator.total_rate * sum(map(self.estimator.is_text, read))
        return work

    # ---- the other ways --------------------------------------------------------------------------------------------

    def _scan(self, memo: Memo, piece: Piece, work: Work) -> None:
        """All events of the type looked at term by term, or one term looked up in a column that is sorted once."""
        (slot,) = piece.slots
        stream = slot.source
        assert isinstance(stream, Stream)
        work[A_STEP] += HALF * self._steps
        events, terms = self.estimator.rows(one_event(Stream(stream.type), ())), len(stream.where)
        if self._scans is None:
            self._scans = scan_groups(memo)
        together = self._scans.get(stream)
        if together is None:
            work[SCAN] += events * (1 + terms)
        else:
            kept = self.estimator.rows(piece)
            work[SCAN] += events / together + kept * terms
            work[SORT] += SORTED_EVENT * (events / together + kept)

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
        """Slot by slot the repetitions that the rows lack; negations before them, or after them if they must be."""
        piece, first = memo.pieces[number], way.inputs[0]
        growing = piece.growing - grown_slots(piece, memo.pieces[first.piece], first)
        missing = self._missing(memo, number, first, growing)
        late = [n for n in missing if n.place.waits or not judged_by_last(n, piece, growing)]
        rows, kept = self.rows(memo, first.piece), self.rows(memo, number)
        known = tuple(n for n in piece.negations if n not in late)
        if len(late) < len(missing):
            for negation in missing:
                if negation not in late:
                    self._judge(piece, negation, rows, work)
            rows = self.estimator.rows(by_last_repetition(piece, growing, known))
        grown = self.estimator.rows(replace(piece, negations=known)) if late else kept
        times = max(grown / rows, 1e-9) ** (1 / max(len(growing), 1)) if rows > 0 else 1.0
        elements = {frozenset(part.columns): part.piece for part in way.inputs[1:]}
        if (
            len(piece.slots) > 1 and way.pieces[1:2] == way.pieces[:1]
        ):  # repetitions come from the rows of the core
            self._regrow(piece, rows, times, work)
            self._judge_grown(piece, late, rows * times, kept, work)
            return
        for slot in sorted(growing):
            group = elements.get(frozenset(piece.columns(slot)))
            events = self._repetitions(piece, slot) if group is None else self.rows(memo, group)
            self._evaluate(memo, piece, slot, first, rows * events * self.seconds(piece.window), work)
            rows = self._repeat(piece, piece.slots[slot], rows, events, times, work)
        self._judge_grown(piece, late, rows, kept, work)

    def _join_sets(self, memo: Memo, number: int, work: Work) -> None:
        """What rows that hold sets cost beside others: terms on all repetitions once more, and the sets' events."""
        piece, rows = memo.pieces[number], self.rows(memo, number)
        for slot in sorted(piece.growing):
            alone = memo.part(number, (slot,)).piece
            single = self.rows(memo, memo.ways[alone][0].pieces[0])
            times = self.rows(memo, alone) / single if single > 0 else 1.0
            _, length = chains(piece.slots[slot].low, piece.slots[slot].high, times)
            work[ELEMENT] += rows * length
            relating = [term for term in piece.terms if len(duty(term, piece, piece.growing).slots) > 1]
            evaluated([term for term in relating if columns_of(term) & {*piece.columns(slot)}], rows, work)
        work[GATHER] += rows
        work[GATHER_COLUMN] += rows * piece.width

    def _forbid_grown(self, memo: Memo, number: int, part: Input, work: Work) -> None:
        """Rows with all of their repetitions, judged by the negations that are missing."""
        piece = memo.pieces[number]
        missing = self._missing(memo, number, part, frozenset())
        self._judge_grown(piece, missing, self.rows(memo, part.piece), self.rows(memo, number), work)

    def _judge_grown(
        self, piece: Piece, negations: Sequence[Negation], rows: float, kept: float, work: Work
    ) -> None:
        """Rows judged one by one; those that are kept are written anew, with the events of their sets."""
        for negation in negations:
            self._judge(piece, negation, rows, work)
        if negations:
            work[GATHER_COLUMN] += kept * (2 + piece.width)

    @staticmethod
    def _missing(memo: Memo, number: int, part: Input, growing: frozenset[int]) -> list[Negation]:
        """The negations of a piece that an input, with some slots by their last repetition, was not judged by."""
        piece, source = memo.pieces[number], memo.pieces[part.piece]
        if not piece.negations:
            return []
        slots = piece.slots_of(part.columns[start] for start in source.starts[:-1])
        to = [*part.columns, piece.width]
        return unjudged(piece, growing, {comparable(n.moved(slots, to), piece) for n in source.negations})

    def _repetitions(self, piece: Piece, slot: int) -> float:
        source = piece.slots[slot].source
        assert isinstance(source, Stream)
        return self.estimator.rows(one_event(source, piece.same))

    def _repeat(
        self, piece: Piece, slot: Slot, rows: float, events: float, times: float, work: Work
    ) -> float:
        """One slot grown; the rows with all of its chains come back."""
        links, length = chains(slot.low, slot.high, times)
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

    def _complete(self, memo: Memo, number: int, source: int, work: Work) -> None:
        """All columns of a row are looked at, and the complete ones written anew."""
        width = memo.pieces[number].width
        work[A_STEP] += self._steps
        work[CANDIDATE] += self.rows(memo, source) * width
        work[GATHER_COLUMN] += self.rows(memo, number) * (2 + width)

    def _evaluate(self, memo: Memo, piece: Piece, slot: int, core: Input, pairs: float, work: Work) -> None:
        """Terms on single repetitions that are no comparisons of keys, for every repetition that a row looks at."""
        facts = self._facts(memo, core.piece)
        if not facts.rest:
            return
        own = {core.columns.index(column) for column in piece.columns(slot)}
        here = mask_of(i for i in range(len(facts.piece.slots)) if facts.piece.columns(i).start in own)
        evaluated([term for mask, term in facts.rest if mask & here], pairs, work)

    def _regrow(self, piece: Piece, rows: float, times: float, work: Work) -> None:
        """One slot grown from rows that agree in all others, which are sorted for that."""
        (slot,) = piece.growing
        links, length = chains(piece.slots[slot].low, piece.slots[slot].high, times)
        made = rows * times
        work[A_STEP] += 2 * self._steps
        work[SORT] += 2 * rows
        work[PROBE] += rows
        work[LINK] += rows * links
        work[GROW] += made
        work[GATHER_COLUMN] += made * (1 + piece.width)
        work[ELEMENT] += made * length

    def _unite(self, memo: Memo, number: int, way: Way, work: Work) -> None:
        piece = memo.pieces[number]
        if streams_of(piece) is not None:
            # No set comes twice, so the columns are handed on, and what is written are those that a part lacks. An
            # Emit takes the parts as they are, and asks of each column that only some rows of a part have.
            if is_root(memo, number):
                asked = ((part.piece, columns_of_some(memo.pieces[part.piece])) for part in way.inputs)
                work[CANDIDATE] += sum(self.rows(memo, part) * columns for part, columns in asked)
                return
            work[A_STEP] += self._steps
            lacking = ((part.piece, piece.width - len(part.columns)) for part in way.inputs)
            work[COLUMN] += sum(self.rows(memo, part) * columns for part, columns in lacking)
            return
        work[A_STEP] += self._steps
        work[UNITE] += sum(self.rows(memo, part) for part in way.pieces)
        work[GATHER_COLUMN] += self.rows(memo, number) * memo.pieces[number].width

    def _next(self, memo: Memo, number: int, way: Way, work: Work) -> None:
        """Every event of a step may begin a run or be taken by one; runs that have begun are taken as they are."""
        piece = memo.pieces[number]
        rows = self.rows(memo, number)
        begun = sum(len(part.columns) for part in way.inputs)
        streams = [slot.source for slot in piece.slots[begun:] if isinstance(slot.source, Stream)]
        taken = sum(self.rows(memo, part) for part in way.pieces) + sum(
            self.estimator.rows(one_event(stream, piece.same)) for stream in streams
        )
        work[A_STEP] += (len(streams) + len(way.inputs)) * self._steps
        work[FOLLOW] += taken + rows
        work[GATHER_COLUMN] += rows * piece.width


def columns_of_some(piece: Piece) -> int:
    """The columns of a piece that some of its rows lack: those of alternatives that bind different ones."""
    found = 0
    for slot in piece.slots:
        if isinstance(slot.source, Group):
            branches = [set(branch.columns) for branch in slot.source.branches]
            found += slot.width - len(set.intersection(*branches))
    return found


def is_root(memo: Memo, number: int) -> bool:
    """Whether a piece is what some query asks for."""
    roots = memo.analysis("roots", len(memo.roots), lambda: frozenset(root.piece for root in memo.roots))
    return number in roots


def grown_slots(piece: Piece, source: Piece, part: Input) -> frozenset[int]:
    """The slots of a piece that have all of their repetitions in an input."""
    return frozenset(piece.slots_of(part.columns[column] for column in source.columns_of(source.growing)))


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


def chains(fewest: int, many: int | None, times: float) -> tuple[float, float]:
    """Earlier repetitions that a row may take and the mean number that its chains hold, of all chains together.

    A slot has `fewest` to `many` repetitions. `times`: how many chains a row has on average. With x repetitions to take
    from in the mean, Poisson gives x^n / n! chains of n of them.
    """
    low, high = max(fewest - 1, 0), MOST_LINKS if many is None else min(many - 1, MOST_LINKS)
    if high < 1:
        return 0.0, 1.0
    if low == 0 and many is None:
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
