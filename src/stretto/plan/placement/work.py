"""What the operators of a plan take in, compare and keep in a second, and what of that falls to each unit of a grid."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import log, sqrt
from typing import Final

from stretto.memo.prices import Prices
from stretto.memo.slot_masks import comparison
from stretto.pattern.comparisons import equality
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Apply, Expr, columns_of, walk
from stretto.pattern.project import project
from stretto.plan.dag import Plan, window_of
from stretto.plan.ops import Forbid, Join, Op, Repeat
from stretto.plan.placement.heavy import HeavyEvent, pairs_of
from stretto.plan.placement.placement import Grid, why_not
from stretto.records import dataclass
from stretto.solve.units.loads import Capacity
from stretto.stats.estimate import Estimator

ROW_BYTES: Final = 24
COLUMN_BYTES: Final = 8
LEFT, RIGHT = 1, 2


@dataclass(frozen=True, slots=True)
class OperatorWork:
    """Rows per second of both inputs, pairs of them compared, and bytes that each input keeps for a window.

    A pair that is found by a comparison of keys counts once; one on which terms have to be evaluated counts as many
    such comparisons as that costs. `keys`: shared events, or tuples of them, that are in a window at a time; `heavy`:
    those that many rows hold, where that was counted.
    """

    rows: tuple[float, float]
    compared: float
    bytes: tuple[float, float]
    keys: float = 0.0
    heavy: tuple[HeavyEvent, ...] = ()

    def of_unit(self, grid: Grid) -> "OperatorWork":
        """What falls to the fullest unit: rows are spread evenly, shared events as evenly as a hash does it."""
        cells = grid.left * grid.right
        one, other, met = self._of_group(grid)
        if grid.heavy:  # their rows are spread over all units
            heavy = self.heavy
            across = grid.across
            light = [1.0 - sum(event[side] for event in heavy) for side in (1, 2)]
            parts = [light[0] * one + (1.0 - light[0]) * grid.left / across[0]]
            parts.append(light[1] * other + (1.0 - light[1]) * grid.right / across[1])
            alone = sum(pairs_of(heavy, self.keys))
            one, other, met = *parts, (1.0 - alone) * met + alone * cells / grid.units
        rows = (self.rows[0] * one / grid.left, self.rows[1] * other / grid.right)
        held = (self.bytes[0] * one / grid.left, self.bytes[1] * other / grid.right)
        return OperatorWork(rows, self.compared * met / cells, held, self.keys)

    def _of_group(self, grid: Grid) -> tuple[float, float, float]:
        """The shares of both inputs and of all pairs that the fullest group has; split events are in no group."""
        share = crowding(grid.groups, self.keys) / grid.groups
        if grid.groups == 1 or grid.heavy or not self.heavy:
            return share, share, share
        met = pairs_of(self.heavy, self.keys)
        first, second = (max(event[side] for event in self.heavy) for side in (1, 2))
        return (
            max(first, share),
            max(second, share),
            max(most + (1.0 - sum(met)) * share for most in met),
        )

    def load(self, capacity: Capacity) -> tuple[float, str]:
        """The share of the scarcer capacity, and which one that is."""
        taken, compared = sum(self.rows) / capacity.iota, self.compared / capacity.kappa
        return (taken, "rows taken in") if taken >= compared else (compared, "comparisons")


def crowding(groups: int, keys: float) -> float:
    """How much more than the mean the fullest of some groups has, if so many keys are hashed to them.

    The mean and the deviation of balls in bins, sqrt(2 ln g * keys / g) above keys / g (Raab and Steger, 1998).
    """
    if groups == 1:
        return 1.0
    return min(1.0 + sqrt(2.0 * log(groups) * groups / max(keys, 1e-9)), float(groups))


def works_of(plan: Plan, estimator: Estimator, prices: Prices) -> dict[int, OperatorWork]:
    """The work of every operator that brings rows together; the others run where their rows are."""
    forms = [None if record.computed is None else record.computed.form() for record in plan.records]
    rates = [0.0 if form is None else estimator.rows(form) for form in forms]
    found: dict[int, OperatorWork] = {}
    for number, op in enumerate(plan.ops):
        if not isinstance(op, Join | Repeat | Forbid):
            continue
        window = window_of(op)
        assert window is not None
        seconds = window.size / 1e6
        if isinstance(op, Repeat) and op.agreeing:
            kept = rates[op.base] * seconds * (ROW_BYTES + COLUMN_BYTES * plan.width(op.base))
            found[number] = OperatorWork((rates[op.base], 0.0), rates[number], (kept, 0.0))
            continue
        left, right = (rates[source] for source in op.inputs)
        pairs, keys = left * right * seconds, 0.0
        if isinstance(op, Join):
            keys = _keys(op, forms, estimator) if op.same else 0.0
            met = pairs / keys if keys > 0 else _equal(plan, op, forms[number], pairs, estimator)
            pairs = met * _weight(plan, op, prices)
        held = [
            rates[source] * seconds * (ROW_BYTES + COLUMN_BYTES * plan.width(source)) for source in op.inputs
        ]
        found[number] = OperatorWork((left, right), pairs, (held[0], held[1]), keys)
    return found


def _keys(op: Join, forms: Sequence[Piece | None], estimator: Estimator) -> float:
    """Rows over the shared slots that are in a window at a time."""
    form = forms[op.left]
    assert form is not None
    slots = sorted(form.slots_of(left for left, _ in op.same))
    return estimator.rows(project(form, slots)) * op.window.size / 1e6


def _equal(plan: Plan, op: Join, form: Piece | None, pairs: float, estimator: Estimator) -> float:
    """The pairs of a window that a join looks at: all, or where keys are hashed those with equal ones."""
    if not op.hashed or form is None or not any(equality(term) for term in op.terms):
        return pairs
    width = plan.width(op.left)
    sides: tuple[list[int], list[int]] = [], []
    for slot in range(len(form.slots)):
        sides[form.columns(slot).start >= width].append(slot)
    return pairs * estimator.selectivity_of_equalities(form, *sides) if all(sides) else pairs


def _weight(plan: Plan, op: Join, prices: Prices) -> float:
    """Comparisons of keys that one pair is worth: more where terms are evaluated and no key has dropped it before."""
    bits = [LEFT] * plan.width(op.left) + [RIGHT] * plan.width(op.right)
    terms = [term for term in op.terms if columns_of(term)]
    rest = [term for term in terms if comparison(term, bits) is None]
    if len(rest) < len(terms) or not rest:
        return 1.0
    return 1.0 + sum(_evaluated(term, prices) for term in rest) / max(prices.candidate, 1e-3)


def _evaluated(term: Expr, prices: Prices) -> float:
    """Nanoseconds that it takes to evaluate a term on a pair."""
    far = any(isinstance(node, Apply) and node.op == "geo_distance" for node in walk(term))
    return prices.distance if far else prices.evaluate


def grids(ops: tuple[Op, ...], number: int, units: int, heavy: Sequence[HeavyEvent] = ()) -> Iterator[Grid]:
    """The grids of at most so many units that an operator can have; with groups also such that split heavy events."""
    ids = tuple(event.number for event in heavy)
    for groups in range(1, units + 1):
        for left in range(1, units // groups + 1):
            for right in range(1, units // groups // left + 1):
                grid = Grid(groups, left, right)
                if why_not(ops, number, grid) is None:
                    yield grid
                    if ids and groups > 1:
                        yield replace(grid, heavy=ids)
