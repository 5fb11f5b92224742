"""What the operators of a plan did, as the units of work that the cost model has prices for.

The model estimates these units before a plan runs; here they follow from what was counted while it did. So a plan is
judged by the same prices before and after, and what differs is what was misjudged of the events.
"""

from collections.abc import Mapping, Sequence
from math import sqrt

from stretto.memo.cost import HALF, chains
from stretto.memo.join_work import (
    CANDIDATE,
    CHAIN,
    COLUMN,
    COLUMN_BYTES,
    COPY,
    ELEMENT,
    EMIT,
    EMIT_COLUMN,
    EVALUATE,
    FOLLOW,
    FORBID,
    FRESH,
    GATHER,
    GATHER_COLUMN,
    GROW,
    KEY,
    LINK,
    LOOKED_AT_FIRST,
    PROBE,
    ROW,
    ROW_BYTES,
    SCAN,
    SORT,
    STORE,
    STORE_LANE,
    TERM,
    UNITE,
    Estimates,
    Work,
    further_terms,
)
from stretto.memo.prices import NAMES
from stretto.memo.slot_masks import comparison
from stretto.pattern.comparisons import equality
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Apply, Expr, Ref, columns_of
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit, Filter, Forbid, Join, Last, Next, Op, Repeat, Scan, Union
from stretto.plan.record import Computed
from stretto.records import dataclass

LEFT, RIGHT = 1, 2


@dataclass(frozen=True, slots=True)
class Counted:
    """What the operators of a plan did with so many events: rows they gave, and kept rows that they looked through."""

    events: int
    rows: Sequence[int]
    candidates: Sequence[int]


@dataclass(frozen=True, slots=True)
class Demands:
    """What a join checks of pairs, by how it is checked.

    An equality that is not hashed is two keys; `keyed`: there is one, hashed or not.
    """

    equal: int = 0
    keys: int = 0
    rest: int = 0
    in_order: int = 0
    keyed: bool = False

    @classmethod
    def of(cls, op: Join, width: int) -> "Demands":
        """Of a join whose left rows have so many columns."""
        bits = [LEFT] * width + [RIGHT] * (
            1 + max((max(columns_of(t), default=0) for t in op.terms), default=0)
        )
        equal, keys, rest, in_order, compared = len(op.same), 0, 0, 0, 0
        for term in op.terms:
            found = comparison(term, bits)
            if _of_times(term):
                in_order += 1
            elif equality(term) is not None or (found is not None and found.equal):
                equal += op.hashed
                compared += not op.hashed
            elif found is not None:
                keys += 1
            else:
                rest += 1
        return cls(equal, keys + 2 * compared, rest + len(op.distinct), in_order, bool(equal or compared))


class WorkOf:
    """Turns counts into units of work, operator by operator; `estimates` tell how many kept rows have equal keys."""

    def __init__(self, plan: Plan, estimates: Estimates) -> None:
        self.plan = plan
        self._demands = {
            number: Demands.of(op, plan.width(op.left))
            for number, op in enumerate(plan.ops)
            if isinstance(op, Join)
        }
        self._sorted = _sorted(plan, self._demands)
        self._of_some = _columns_of_some(plan)
        self._reported = frozenset(i for op in plan.ops if isinstance(op, Emit) for i in op.inputs)
        # Of rows that share events those with the same events are counted, and no others.
        self._shares = {
            number: 1.0
            if op.same
            else _equal_share(plan.records[number].computed, plan.width(op.left), estimates)
            for number, op in enumerate(plan.ops)
            if isinstance(op, Join) and self._demands[number].equal
        }

    def all(self, counted: Counted) -> list[Work]:
        """The work of every operator, but for the steps that it was called in."""
        return [self._work(number, op, counted) for number, op in enumerate(self.plan.ops)]

    def calls(self, counted: Counted) -> list[float]:
        """How many calls an operator costs in a step, as the model has it.

        Two of a join where both sides look; half a one of a scan, or where it hands over or has nothing to do.
        """
        return [self._calls(number, op, counted) for number, op in enumerate(self.plan.ops)]

    def _calls(self, number: int, op: Op, counted: Counted) -> float:
        if isinstance(op, Scan | Emit) or not all(counted.rows[i] for i in op.inputs):
            return HALF
        return 2.0 if isinstance(op, Join) and both_look(op, self._demands[number]) else 1.0

    def _work(self, number: int, op: Op, counted: Counted) -> Work:
        work = [0.0] * len(NAMES)
        rows, width, taken = (
            counted.rows[number],
            self.plan.width(number),
            [counted.rows[i] for i in op.inputs],
        )
        match op:
            case Scan():
                work[SCAN] += rows * (1 + len(op.stream.where))
            case Join():
                self._join(number, op, counted, work)
            case Filter():
                work[CANDIDATE] += taken[0] * len(op.bound)
                work[EVALUATE] += taken[0] * max(len(op.terms), 0 if op.bound else 1)
                work[GATHER_COLUMN] += rows * (2 + width)
            case Forbid():
                _forbid(op, counted.candidates[number], taken, work)
                work[GATHER_COLUMN] += rows * (2 + width)
            case Repeat():
                _repeat(op, counted.candidates[number], rows, width, taken, work)
            case Union():
                if op.distinct:
                    work[UNITE] += sum(taken)
                    work[GATHER_COLUMN] += rows * width
                lacking = (count * (width - len(own)) for count, own in zip(taken, op.columns, strict=True))
                work[COLUMN] += sum(lacking)
            case Next() | Last():
                work[FOLLOW] += sum(taken) + rows
                work[GATHER_COLUMN] += rows * width
            case Emit():
                work[EMIT] += rows
                work[EMIT_COLUMN] += rows * width
                asked = (count * self._of_some[i] for count, i in zip(taken, op.inputs, strict=True))
                work[CANDIDATE] += sum(asked)
        if number in self._reported:
            work[FRESH] += rows * (ROW_BYTES + COLUMN_BYTES * width)
        return work

    def _join(self, number: int, op: Join, counted: Counted, work: Work) -> None:
        asked = self._demands[number]
        made, candidates = counted.rows[number], float(counted.candidates[number])
        left, right = counted.rows[op.left], counted.rows[op.right]
        both = both_look(op, asked)
        kept, looking = (left + right, left + right) if both else (left, right)
        terms = asked.keys + (2 * asked.equal if asked.equal > 1 else 0) + (self.plan.width(op.left) > 1)
        work[STORE] += kept
        work[STORE_LANE] += kept * (terms + self.plan.width(op.left) + (2 if asked.equal else 0))
        work[PROBE] += looking
        work[KEY] += (asked.keys + asked.equal) * (kept + looking)
        work[SORT] += self._to_sort(op, asked, left, right, both=both)
        met = candidates
        if asked.equal:
            met = max(candidates * self._shares[number], float(made))
            work[CHAIN] += met + kept + looking
            work[TERM] += met * terms
        elif terms:
            work[CANDIDATE] += candidates
            work[TERM] += further_terms(candidates, terms, made)
        if asked.rest:
            # What the keys let through is not counted: it lies between what came out and what was met.
            work[EVALUATE] += (sqrt(met * made) if asked.keys or asked.equal else met) * asked.rest
        if asked.keyed or asked.rest:
            work[GATHER] += made
            work[GATHER_COLUMN] += made * self.plan.width(number)
        elif not terms:
            work[COPY] += made * (2 + self.plan.width(number))
        else:
            work[ROW] += made
            work[COLUMN] += made * self.plan.width(number)

    def _to_sort(self, op: Join, asked: Demands, left: int, right: int, *, both: bool) -> float:
        """Rows that are put in order: those kept, and where keys are hashed those that look."""
        found = 0.0 if self._sorted[op.left] else float(left)
        if both and not self._sorted[op.right]:
            found += right
        if asked.equal:
            in_turn = self.plan.width(op.right) == 1 or (both and self._sorted[op.right])
            found += 0.0 if in_turn else right
            found += left if both and not self._sorted[op.left] else 0.0
        return found


def _sorted(plan: Plan, demands: Mapping[int, Demands]) -> list[bool]:
    """By operator, whether its rows come in order of their last event: of two sides that both look they do not."""
    found: list[bool] = []
    for number, op in enumerate(plan.ops):
        match op:
            case Join():
                found.append(not both_look(op, demands[number]) and found[op.right])
            case Union():
                found.append(False)
            case _:
                found.append(not op.inputs or found[op.inputs[0]])
    return found


def _columns_of_some(plan: Plan) -> list[int]:
    """By operator, how many columns only some of its rows have."""
    found: list[int] = []
    for number, op in enumerate(plan.ops):
        below = [found[i] for i in op.inputs]
        match op:
            case Join():
                found.append(sum(below))
            case Union():
                all_have = set.intersection(*map(set, op.columns))
                found.append(max(plan.width(number) - len(all_have), *below))
            case Filter():
                found.append(max(below[0] - len(op.bound), 0))
            case _:
                found.append(max(below, default=0))
    return found


def both_look(op: Join, asked: Demands) -> bool:
    """Whether either side of a join may end a pair, so that both look for the other's rows."""
    return op.order != "before" and not asked.in_order


def _forbid(op: Forbid, candidates: int, taken: Sequence[int], work: Work) -> None:
    rows, events = taken
    work[STORE] += events
    work[STORE_LANE] += 2 * events
    work[FORBID] += rows
    if op.terms:
        equal = any(equality(term) is not None for term in op.terms)
        work[FORBID] += rows
        work[CHAIN if equal else CANDIDATE] += min(candidates or rows, rows * LOOKED_AT_FIRST)
        work[KEY] += (rows + events) * len(op.terms)
        work[GATHER] += rows


def _repeat(op: Repeat, candidates: int, made: int, width: int, taken: Sequence[int], work: Work) -> None:
    rows, events = (taken[0], 0) if op.agreeing else taken
    links, length = chains(op.low, op.high, made / rows if rows else 1.0)
    if op.agreeing:
        work[SORT] += 2 * rows
    work[STORE] += events
    work[STORE_LANE] += events * (1 + len(op.final))
    work[PROBE] += rows
    if any(equality(term) is not None for term in op.terms):
        work[CHAIN] += rows * links + events
    else:
        work[CANDIDATE] += candidates
    work[LINK] += rows * links
    work[GROW] += made
    work[GATHER_COLUMN] += made * (1 + width)
    work[ELEMENT] += made * length


def _equal_share(computed: Computed | None, width: int, estimates: Estimates) -> float:
    """The share of a join's candidates whose keys are equal."""
    form = None if computed is None else computed.form()
    if not isinstance(form, Piece) or len(form.slots) < 2:
        return 1.0
    sides: tuple[list[int], list[int]] = [], []
    for slot in range(len(form.slots)):
        sides[form.columns(slot).start >= width].append(slot)
    if not all(sides):
        return 1.0
    return min(estimates.selectivity_of_equalities(form, *sides), 1.0)


def _of_times(term: Expr) -> bool:
    """Whether a term compares the times of two events: it bounds the range that is searched."""
    return (
        isinstance(term, Apply)
        and len(term.arguments) == 2
        and all(isinstance(side, Ref) and side.attribute == "ts" for side in term.arguments)
    )
