"""Pieces with repetitions and groups seen as pieces of single events, and what repeating adds to their number.

A piece with groups is the union of pieces in which one alternative of each group stands in the group's place. A
repeated slot is its last repetition; every earlier one is one more slot before it. So the number of matches is a sum
over pieces of single events with more and more slots, and the terms of that sum follow a law that the first ones tell.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from math import exp, inf, lgamma, log, prod
from typing import Final, NamedTuple

import numpy as np

from stretto.pattern.nodes import Stream
from stretto.pattern.order import NO_ORDER, Order
from stretto.pattern.piece import Group, Negation, Piece, Slot
from stretto.pattern.predicates import (
    NEIGHBOURS,
    Apply,
    Changed,
    Expr,
    Reduce,
    Ref,
    Which,
    columns_of,
    rewrite,
    walk,
)
from stretto.pattern.repetition_terms import Use, duty
from stretto.records import dataclass
from stretto.values.rows import F64

BRANCHES: Final = 8  # alternatives of a piece that are looked at; more are counted as if they were like these
BRANCHES_ONCE: Final = 64  # the same where groups do not repeat
LENGTH: Final = 256  # slots that repetitions may add before the sum is cut off: far beyond CAP
CAP: Final = 1e15  # the most matches of one core match that an estimate tells apart
POINTS: Final = 12  # values that stand for a distribution
NONE: Final = -inf


@dataclass(frozen=True, slots=True)
class Repeated:
    """Slots of a piece of single events that are the last repetition of something.

    `each` are the terms that hold for every repetition, `adjacent` those between neighbours, over the piece's columns
    and one more behind them: the event before. `own` is the alternative that a group's slots are, `others` the rest
    of its alternatives, which the other repetitions may be.
    """

    slots: tuple[int, ...]
    low: int
    high: int | None
    each: tuple[Expr, ...] = ()
    adjacent: tuple[Expr, ...] = ()
    own: Piece | None = None
    others: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Once:
    """A piece of single events, what of it repeats, and terms that are only known for the whole of a set.

    `optional` slots may be left out, which happens under the policy NEXT alone.
    """

    piece: Piece
    repeated: tuple[Repeated, ...] = ()
    whole: tuple[Expr, ...] = ()
    optional: frozenset[int] = frozenset()


def once(piece: Piece) -> tuple[list[Once], float]:
    """A piece as alternatives of single events, and how many alternatives each of them stands for."""
    if piece.is_plain:
        return [Once(piece)], 1.0
    number = 1
    for slot in piece.slots:
        number *= len(slot.source.branches) if isinstance(slot.source, Group) else 1
    most = BRANCHES if piece.growing else BRANCHES_ONCE
    found = list(islice(_flattened(piece), most))
    return [_once(flat, groups) for flat, groups, _ in found], max(1.0, number / max(len(found), 1))


def rows_of_sets(rates: Sequence[float], always: Sequence[float], window_s: float) -> float:
    """Sets of events per second, at most one of each independent stream, inside a window; those with all of `always`.

    A set of k events is k W^(k-1) times the product of their rates often: the derivative by W of W^k times it. The sum
    over all sets of some streams is so that of the product of 1 + W r; without the empty set, where `always` is one.
    """
    product = prod(1.0 + window_s * rate for rate in rates)
    derivative = product * sum(rate / (1.0 + window_s * rate) for rate in rates)
    return prod(always) * (product - 1.0 + window_s * derivative) if always else derivative


# ---- groups ----------------------------------------------------------------------------------------------------


_Flat = tuple[Piece, tuple[Repeated, ...], dict[int, int]]


def _flattened(piece: Piece) -> Iterator[_Flat]:
    """The piece with one alternative of each group in the group's place; and its columns by the piece's own."""
    options = [list(_alternatives(slot)) for slot in piece.slots]
    for chosen in product(*options):
        yield _composed(piece, chosen)


class _Part(NamedTuple):
    """What stands for a slot; `columns` are the slot's columns that it binds, by its own."""

    slots: tuple[Slot, ...]
    order: Order
    terms: tuple[Expr, ...]
    negations: tuple[Negation, ...]
    repeated: tuple[Repeated, ...]
    columns: dict[int, int]


def _alternatives(slot: Slot) -> Iterator[_Part]:
    if isinstance(slot.source, Stream):
        yield _Part((slot,), NO_ORDER, (), (), (), {0: 0})
        return
    found = [(branch, flat) for branch in slot.source.branches for flat in _flattened(branch.piece)]
    pieces = [flat[0] for _, flat in found]
    for number, (branch, (flat, inner, bound)) in enumerate(found):
        others = tuple(pieces[:number] + pieces[number + 1 :])
        own = Repeated(tuple(range(len(flat.slots))), slot.low, slot.high, own=flat, others=others)
        repeated = inner if slot.low == slot.high == 1 else (*inner, own)
        columns = {outer: bound[i] for i, outer in enumerate(branch.columns) if i in bound}
        yield _Part(flat.slots, flat.order, flat.terms, flat.negations, repeated, columns)


def _composed(piece: Piece, parts: Sequence[_Part]) -> _Flat:
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + len(part.slots))
    width = starts[-1]
    order = [
        (starts[i] + a, starts[j] + b)
        for i, j in piece.order
        for a in range(len(parts[i].slots))
        for b in range(len(parts[j].slots))
    ]
    # The column behind all others is the forbidden event of a negation: it stays behind all.
    to_column = {piece.width: width}
    terms: list[Expr] = []
    negations: list[Negation] = []
    repeated: list[Repeated] = []
    for slot, (part, start) in enumerate(zip(parts, starts, strict=False)):
        inner = [*range(start, start + len(part.slots)), width]
        order += [(start + a, start + b) for a, b in part.order]
        terms += [term.moved(inner) for term in part.terms]
        negations += [negation.moved(inner, inner) for negation in part.negations]
        repeated += [replace(found, slots=tuple(start + i for i in found.slots)) for found in part.repeated]
        outer = piece.columns(slot)
        to_column |= {outer.start + column: start + i for column, i in part.columns.items()}
    # A term that reads a column which this alternative does not bind says nothing here: it is left out, as in a match.
    terms += [term.moved(to_column) for term in piece.terms if columns_of(term) <= to_column.keys()]
    spread = {i: tuple(range(starts[i], starts[i + 1])) for i in range(len(parts))}
    for negation in piece.negations:
        known = tuple(term for term in negation.terms if columns_of(term) <= to_column.keys())
        after = tuple(slot for i in negation.after for slot in spread[i])
        before = tuple(slot for i in negation.before for slot in spread[i])
        own = tuple(term.moved(to_column) for term in known)
        negations.append(replace(negation, after=after, before=before, terms=own))
    slots = tuple(slot for part in parts for slot in part.slots)
    flat = replace(piece, slots=slots, order=Order.of(order), terms=tuple(terms), negations=tuple(negations))
    return flat, tuple(repeated), to_column


# ---- repeated slots --------------------------------------------------------------------------------------------


def _once(piece: Piece, groups: Sequence[Repeated]) -> Once:
    """A piece without groups by the last repetition of every slot."""
    growing = piece.growing
    each: dict[int, list[Expr]] = {slot: [] for slot in growing}
    adjacent: dict[int, list[Expr]] = {slot: [] for slot in growing}
    terms: list[Expr] = []
    whole: list[Expr] = []
    for term in piece.terms:
        uses = duty(term, piece, growing).uses
        neighbours = [slot for slot, use in uses.items() if use is Use.ADJACENT]
        if neighbours:
            (whole if len(neighbours) > 1 else adjacent[neighbours[0]]).append(
                term if len(neighbours) > 1 else _of_two(term, neighbours[0], len(piece.slots))
            )
            continue
        # What is asked of the first, the last or an extreme event of a set is asked of one event; what is asked of a
        # sum or a count cannot be told from one.
        single = _of_one(term)
        if single is None:
            whole.append(term)
            continue
        terms.append(single)
        for slot, use in uses.items():
            if use is Use.EACH:
                each[slot].append(single)
    repeated = [
        Repeated(
            (slot,), piece.slots[slot].low, piece.slots[slot].high, tuple(each[slot]), tuple(adjacent[slot])
        )
        for slot in sorted(growing)
    ]
    for group in groups:
        inside = frozenset(group.slots)
        repeated.append(
            replace(group, each=tuple(term for term in terms if not inside.isdisjoint(columns_of(term))))
        )
    slots = tuple(Slot(slot.source) for slot in piece.slots)
    negations = tuple(
        replace(n, terms=tuple(found for term in n.terms if (found := _of_one(term)) is not None))
        for n in piece.negations
    )
    return Once(
        replace(piece, slots=slots, terms=tuple(dict.fromkeys(terms)), negations=negations),
        tuple(repeated),
        tuple(whole),
        _optional(piece, groups),
    )


def _optional(piece: Piece, groups: Iterable[Repeated]) -> frozenset[int]:
    alone = {i for i, slot in enumerate(piece.slots) if slot.low == 0}
    return frozenset(alone.union(*(group.slots for group in groups if group.low == 0)))


def _of_one(term: Expr) -> Expr | None:
    """A term with every set read as one event of it; None where that says nothing."""

    def rule(node: Expr) -> Expr | None:
        if isinstance(node, Reduce) and node.function in ("MIN", "MAX"):
            return Ref(node.column, node.attribute, node.kind)
        if (
            isinstance(node, Reduce) and node.function == "AVG"
        ):  # a double, whatever the kind of its attribute
            return Apply("to_float", (Ref(node.column, node.attribute, node.kind),), node.kind)
        if isinstance(node, Ref) and node.which in (Which.FIRST, Which.LAST):
            return Ref(node.column, node.attribute, node.kind)
        return None

    found = rewrite(term, rule)
    known = all(
        not isinstance(node, Reduce) and not (isinstance(node, Ref) and node.which in NEIGHBOURS)
        for node in walk(found)
    )
    return found if known else None


def _of_two(term: Expr, slot: int, behind: int) -> Expr:
    """A term over neighbours: d[i] is the slot's own column, d[i-1] the one behind all."""

    def rule(node: Expr) -> Expr | None:
        if isinstance(node, Ref):
            before = node.column == slot and node.which is Which.PREVIOUS
            return Ref(behind if before else node.column, node.attribute, node.kind)
        return None

    return rewrite(term, rule)


def with_earlier(piece: Piece, repeated: Repeated, number: int) -> Piece:
    """A piece of single events with `number` more repetitions, each before the next, behind its own columns."""
    slots = list(piece.slots)
    terms = list(piece.terms)
    next_ones = repeated.slots
    for _ in range(number):
        mine = tuple(range(len(slots), len(slots) + len(repeated.slots)))
        to = Changed(zip(repeated.slots, mine, strict=True))
        slots += [piece.slots[slot] for slot in repeated.slots]
        terms += [term.moved(to) for term in repeated.each]
        if repeated.adjacent:
            (own,), (later,) = mine, next_ones
            pair = Changed({repeated.slots[0]: later, len(piece.slots): own})
            terms += [term.moved(pair) for term in repeated.adjacent]
        next_ones = mine
    return replace(
        piece,
        slots=tuple(slots),
        order=_order_with_earlier(piece, repeated.slots, number),
        terms=tuple(dict.fromkeys(terms)),
        negations=(),
    )


def _order_with_earlier(piece: Piece, repeated: tuple[int, ...], number: int) -> Order:
    """Each repetition after what precedes its slots, in the order of its slots, and before the next."""
    count, order = len(piece.slots), piece.order
    if len(repeated) == 1:
        before = [i for i in range(count) if order.behind(i) >> repeated[0] & 1]
        later = repeated[0]
        for new in range(count, count + number):
            order, later = order.with_between(new, before, [later]), new
        return order
    pairs = list(order)
    next_ones = repeated
    for again in range(number):
        start = count + again * len(repeated)
        to = Changed({slot: start + i for i, slot in enumerate(repeated)})
        pairs += [(to[i], to[j]) for i, j in order if j in to]
        pairs += [(i, j) for i in to.values() for j in next_ones]
        next_ones = tuple(to.values())
    return Order.closing(pairs)


# ---- sums ------------------------------------------------------------------------------------------------------


class Law(NamedTuple):
    """The number of rows as one slot's repetitions grow.

    j more repetitions of `width` slots give x^j * (gaps)_(j*width) / (j*width)! * s_1 * .. * s_j times as many rows,
    before the division by (slots)_n that all repeated slots share. `gaps` are two values, each true of half of the
    rows: where there is no order, the room before a repetition depends on which event came when.

    `first` and `second` are s_1 and s_2. They are equal where repetitions are independent, and so are all others. Else
    1/s_j grows by equal steps (it is j + 1 for chains whose values rise), or 1/(1 - s_j) does (it is j + 2 where all
    are compared with one event: those that passed say that the next one passes).
    """

    x: float
    width: int
    gaps: tuple[float, float]
    first: float
    second: float
    low: int
    high: int | None


def grown(laws: Sequence[Law], slots: int) -> tuple[float, float]:
    """How many matches one match of the core becomes, and how many slots they have more on average."""
    # Each law is a power series in the number of slots added. Their product is the series of all repetitions together.
    # The coefficients pass what doubles hold, so everything is done in logarithms.
    logs = np.full(LENGTH + 1, NONE)
    logs[0] = 0.0
    for law in laws:
        logs = _together(logs, _coefficients(law))
    numbers = np.arange(LENGTH + 1)
    shared = np.array([lgamma(slots + n) - lgamma(slots) for n in numbers])
    logs = logs - shared
    top = float(logs.max())
    if top == NONE:
        return 0.0, 0.0
    weights = np.exp(logs - top)
    total = float(weights.sum())
    factor = exp(min(top + log(total), log(CAP)))
    return factor, float((weights * numbers).sum()) / total


def _coefficients(law: Law) -> F64:
    """The logarithms of a law's terms by the number of slots that they add."""
    logs = np.full(LENGTH + 1, NONE)
    least = max(law.low - 1, 0)
    most = LENGTH // law.width if law.high is None else min(law.high - 1, LENGTH // law.width)
    here = 0.0
    for j in range(most + 1):
        n = j * law.width
        if j:
            step = law.x * _step(law, j)
            if step <= 0.0:
                break
            here += log(step)
        if j >= least:
            # (gaps)_n / n! in logarithms: in how many ways n events fall into so many gaps, order aside.
            placed = [lgamma(gaps + n) - lgamma(gaps) for gaps in law.gaps]
            logs[n] = here + float(np.logaddexp(placed[0], placed[1])) - log(2.0) - lgamma(n + 1)
    return logs


def _step(law: Law, j: int) -> float:
    if law.first <= 0.0:
        return 0.0
    if law.second <= 0.0 or law.first >= 1.0 or law.second >= 1.0:
        return law.first
    if law.second <= law.first:
        return 1.0 / (1.0 / law.first + (j - 1) * (1.0 / law.second - 1.0 / law.first))
    failing, next_failing = 1.0 - law.first, 1.0 - law.second
    return 1.0 - 1.0 / (1.0 / failing + (j - 1) * (1.0 / next_failing - 1.0 / failing))


def _together(one: F64, other: F64) -> F64:
    """Logarithms of the product of two power series, cut off at the same length."""
    # A convolution by hand, for np.convolve knows no logarithms.
    found = np.full(len(one), NONE)
    for n in np.flatnonzero(other > NONE):
        shifted = np.full(len(one), NONE)
        shifted[n:] = one[: len(one) - n] + other[n]
        found = np.logaddexp(found, shifted)
    return found


def thinned(gaps: float, slots: float, x: float) -> float:
    """The chance that no event falls into an interval of `gaps` of the `slots` gaps in a window.

    x is the number expected in the whole window. Gaps between uniform times share the window as a Beta(gaps, slots -
    gaps) does, so this is Kummer's M(gaps, slots, -x).
    """
    if x <= 0.0:
        return 1.0
    if gaps >= slots:
        return exp(-min(x, 700.0))
    # The first term of the asymptotic series (DLMF, sec. 13.7); the sum below would take as many steps as x.
    if x > 60.0:
        return min(1.0, exp(lgamma(slots) - lgamma(slots - gaps) - gaps * log(x)))
    # By Kummer's transformation (DLMF 13.2.39) M(a, b, -x) = exp(-x) M(b - a, b, x): all terms are positive, so that
    # nothing cancels.
    term = total = 1.0
    n = 0
    while term > 1e-12 * total or n < x:
        term *= (slots - gaps + n) / (slots + n) * x / (n + 1)
        total += term
        n += 1
    return min(1.0, total * exp(-x))


def spread_of(mean: float, variance: float) -> list[tuple[float, float]]:
    """Values between 0 and 1 with this mean and variance, as Beta distributions have them, and their weights."""
    variance = min(variance, 0.98 * mean * (1.0 - mean))
    if variance <= 0.01 * mean * (1.0 - mean):
        return [(mean, 1.0)]
    # A Beta distribution has this sum of its parameters, by the method of moments.
    scale = mean * (1.0 - mean) / variance - 1.0
    values = (np.arange(POINTS) + 0.5) / POINTS
    logs = (mean * scale - 1.0) * np.log(values) + ((1.0 - mean) * scale - 1.0) * np.log1p(-values)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    # The grid is coarse: its mean is put right, so that small shares stay small.
    values *= mean / float((weights * values).sum())
    return list(zip(np.minimum(values, 1.0).tolist(), weights.tolist(), strict=True))
