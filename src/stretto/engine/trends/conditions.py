"""Conditions between neighbours of a trend, as what is kept of the earlier events and what later ones ask of it.

An event at the end of an edge needs the sum over all earlier events at its start that meet the condition. Equalities
divide the earlier events into groups, one comparison of order ranks them inside a group: the sum is then that of a
prefix of ranks. `!=` is two such prefixes. What fits none of this is decided pair by pair.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stretto.engine.kernels.order_keys import LEAST, MOST
from stretto.engine.rows.join_keys import order_keys
from stretto.pattern.comparisons import COMPARISONS, RANGES, flipped
from stretto.pattern.predicates import Apply, Const, Expr, Ref, Which, columns_of, rewrite
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.trends.plan import Condition, Edge
from stretto.values.evaluate import Events, holds, value
from stretto.values.rows import I64, Bool

EARLIER, LATER = frozenset({0}), frozenset({1})

MANY = 8
"""Looks for one edge; where it would take more, its pairs are scanned."""


@dataclass(frozen=True, slots=True)
class Store:
    """How the earlier events of an edge are kept: which, in what groups, and in what order. Expressions: column 0.

    `falling`: ranked from the greatest down. `apart`: NaN is a value that differs from all, as `!=` has it.
    `scanned`: kept in order of time, for conditions on pairs.
    """

    source: int
    where: tuple[Expr, ...] = ()
    equal: tuple[Expr, ...] = ()
    order: Expr | None = None
    falling: bool = False
    apart: bool = False
    scanned: bool = False

    @property
    def is_total(self) -> bool:
        """Whether one sum says everything: no event is left out or told apart from another."""
        return not (self.where or self.equal or self.order or self.scanned)


@dataclass(frozen=True, slots=True)
class StoreLookup:
    """What a later event asks of a store. Expressions are over column 0, but for those of `pairs`.

    `strict`: only ranks before its own. `pairs`: what a pair has to meet beside; column 0 the earlier event.
    """

    store: Store
    target: int
    where: tuple[Expr, ...] = ()
    equal: tuple[Expr, ...] = ()
    order: Expr | None = None
    strict: bool = False
    pairs: Condition | None = None

    @property
    def mirrors(self) -> bool:
        """Whether a later event asks for its own place among the kept ones: they are the same events and values."""
        store = self.store
        return (
            store.source == self.target
            and not self.where
            and not store.where
            and not store.scanned
            and not store.apart
            and (self.equal, self.order) == (store.equal, store.order)
        )


# ---- from conditions to stores and looks -------------------------------------------------------------------


def looks_of(edge: Edge) -> tuple[StoreLookup, ...]:
    """The looks whose sums add up to what the edge brings; no pair of events is counted by two of them."""
    common, alternatives = _factored(edge.condition)
    if alternatives is None:
        return _conjunction(edge, common)
    apart = _disjoint(alternatives)
    if apart is not None:
        return tuple(look for terms in apart for look in _conjunction(edge, (*common, *terms)))
    sides = _Sides.of(common)
    pairs = tuple((*sides.orders, *sides.rest, *terms) for terms in alternatives)
    return (_scanning(edge, sides, pairs),)


def _conjunction(edge: Edge, terms: tuple[Expr, ...]) -> tuple[StoreLookup, ...]:
    sides = _Sides.of(terms)
    if sides.rest or len(sides.orders) > 1:
        return (_scanning(edge, sides, ((*sides.orders, *sides.rest),)),)
    if not sides.orders:
        return (_look(edge, sides, None, None, ""),)
    early, late, op = _compared(sides.orders[0])
    if op == "!=":
        return tuple(_look(edge, sides, early, late, one, apart=True) for one in ("<", ">"))
    return (_look(edge, sides, early, late, op),)


def _disjoint(alternatives: Condition) -> list[tuple[Expr, ...]] | None:
    """Conjunctions of which any pair of events meets one at most, and the same pairs; None: better scanned.

    Alternatives that ask something of each event alone can be excluded from the others, one event at a time.
    """
    single = [terms for terms in alternatives if all(len(columns_of(term)) < 2 for term in terms)]
    related = [terms for terms in alternatives if terms not in single]
    if len(related) > 1:
        return None
    found = [
        terms
        for number, alternative in enumerate((*single, *related))
        for terms in _without(alternative, single[:number])
    ]
    return found if len(found) <= MANY else None


def _without(terms: tuple[Expr, ...], others: list[tuple[Expr, ...]]) -> list[tuple[Expr, ...]]:
    """What meets the terms and none of the others, in parts: the later event excludes one, or the earlier does."""
    if not others:
        return [terms]
    early = tuple(term for term in others[0] if columns_of(term) == EARLIER)
    late = tuple(term for term in others[0] if term not in early)
    found: list[tuple[Expr, ...]] = []
    if late:
        found += _without((*terms, _untrue(late)), others[1:])
    if early:
        found += _without((*terms, *late, _untrue(early)), others[1:])
    return found


def _untrue(terms: tuple[Expr, ...]) -> Expr:
    """That some of the terms is false or null."""
    every = terms[0] if len(terms) == 1 else Apply("and", terms, Kind.BOOL)
    return Apply("or", (Apply("not", (every,), Kind.BOOL), Apply("is_null", (every,), Kind.BOOL)), Kind.BOOL)


def _look(
    edge: Edge, sides: "_Sides", early: Expr | None, late: Expr | None, op: str, *, apart: bool = False
) -> StoreLookup:
    store = Store(edge.source, sides.early, sides.equal_early, early, falling=op in (">", ">="), apart=apart)
    return StoreLookup(store, edge.target, sides.late, sides.equal_late, late, strict=op in ("<", ">"))


def _scanning(edge: Edge, sides: "_Sides", pairs: Condition) -> StoreLookup:
    store = Store(edge.source, sides.early, sides.equal_early, scanned=True)
    return StoreLookup(store, edge.target, sides.late, sides.equal_late, pairs=pairs)


def _factored(condition: Condition | None) -> tuple[tuple[Expr, ...], Condition | None]:
    """Terms that hold in every alternative, and what else one of them asks (None: nothing)."""
    if condition is None:
        return (), None
    if not condition:
        return (Const(value=False, kind=Kind.BOOL),), None
    plain = [tuple(dict.fromkeys(_separated(_plain(term)) for term in terms)) for terms in condition]
    least = [a for a in plain if not any(set(b) < set(a) for b in plain)]
    alternatives = list({frozenset(a): a for a in least}.values())
    common = tuple(t for t in alternatives[0] if all(t in other for other in alternatives))
    rest = tuple(tuple(t for t in a if t not in common) for a in alternatives)
    return common, None if any(not a for a in rest) else rest


def _plain(term: Expr) -> Expr:
    """The term with every reference to the one event of its column."""

    def single(node: Expr) -> Expr | None:
        if isinstance(node, Ref) and node.which is not Which.EACH:
            return replace(node, which=Which.EACH)
        return None

    return rewrite(term, single)


def _separated(term: Expr) -> Expr:
    """A limit on the time between two events, `b.ts - a.ts <= 5 MINUTES`, as a comparison of two values."""
    if not isinstance(term, Apply) or term.op not in RANGES:
        return term
    gap, limit = term.arguments
    if columns_of(limit) and not columns_of(gap):
        return _separated(flipped(term))
    if columns_of(limit) or not isinstance(gap, Apply) or gap.op != "-":
        return term
    later, earlier = gap.arguments
    if not all(isinstance(side, Ref) and side.attribute == "ts" for side in (later, earlier)):
        return term
    return Apply(term.op, (later, Apply("+", (earlier, limit), Kind.TIME)), Kind.BOOL)


@dataclass(frozen=True, slots=True)
class _Sides:
    """The terms of a conjunction by the events they read: one of the two, both and separable, or both."""

    early: tuple[Expr, ...]
    late: tuple[Expr, ...]
    equal_early: tuple[Expr, ...]
    equal_late: tuple[Expr, ...]
    orders: tuple[Expr, ...]
    rest: tuple[Expr, ...]

    @staticmethod
    def of(terms: tuple[Expr, ...]) -> "_Sides":
        early: list[Expr] = []
        late: list[Expr] = []
        equal: list[tuple[Expr, Expr]] = []
        orders: list[Expr] = []
        rest: list[Expr] = []
        for term in terms:
            columns = columns_of(term)
            if columns == EARLIER:
                early.append(term)
            elif columns <= LATER:
                late.append(_first_column(term))
            elif not _is_comparison(term):
                rest.append(term)
            else:
                one, other, op = _compared(term)
                if op == "=":
                    equal.append((one, other))
                else:
                    orders.append(term)
        ones, others = tuple(one for one, _ in equal), tuple(other for _, other in equal)
        return _Sides(tuple(early), tuple(late), ones, others, tuple(orders), tuple(rest))


def _is_comparison(term: Expr) -> bool:
    if not isinstance(term, Apply) or term.op not in COMPARISONS:
        return False
    return {columns_of(side) for side in term.arguments} == {EARLIER, LATER}


def _compared(term: Expr) -> tuple[Expr, Expr, str]:
    """`earlier op later`, each side over column 0."""
    assert isinstance(term, Apply)
    one, other = term.arguments
    if columns_of(one) == EARLIER:
        return one, _first_column(other), term.op
    return _compared(flipped(term))


def _first_column(expr: Expr) -> Expr:
    return expr.moved(dict.fromkeys(columns_of(expr), 0))


# ---- what events have of them ------------------------------------------------------------------------------


def meets(condition: Condition | None, positions: I64, events: Events) -> Bool:
    """Which of the events meet any of the conjunctions over column 0."""
    if condition is None:
        return np.ones(len(positions), np.bool_)
    met = np.zeros(len(positions), np.bool_)
    for terms in condition:
        met |= holds([_plain(term) for term in terms], (positions,), len(positions), events)
    return met


def pairs_meet(condition: Condition, early: I64, late: I64, events: Events) -> Bool:
    """Which of the pairs of events meet any of the conjunctions."""
    met = np.zeros(len(early), np.bool_)
    for terms in condition:
        met |= holds(terms, (early, late), len(early), events)
    return met


def kept(store: Store, positions: I64, events: Events) -> tuple[list[I64], I64 | None, Bool]:
    """The source events' keys of the equalities and of the order, and which events are kept at all.

    The order's keys ascend in the order of ranks.
    """
    return _keys(store, store, positions, events, nan=LEAST)


def asked(look: StoreLookup, positions: I64, events: Events) -> tuple[list[I64], I64 | None, Bool]:
    """The target events' keys, so that a kept event counts if its own are equal, and at most that of the order.

    Last: which events can find anything.
    """
    equal, keys, alive = _keys(look, look.store, positions, events, nan=MOST)
    if keys is not None and look.strict:
        alive &= keys > LEAST
        keys = keys - 1
    return equal, keys, alive


def _keys(
    of: Store | StoreLookup, store: Store, positions: I64, events: Events, *, nan: int
) -> tuple[list[I64], I64 | None, Bool]:
    """The keys of events on one side of a store, and which of them have any; `nan`: that of a NaN, where it counts."""
    alive = holds(of.where, (positions,), len(positions), events)
    equal = list(_equality_keys(of.equal, positions, events, alive))
    if of.order is None:
        return equal, None, alive
    keys, numbers, known = _ordered(of.order, positions, events)
    if store.apart and not store.falling:
        # `<` holds for a NaN that is kept and whatever asks, and for a NaN that asks; `>` for no NaN. So each pair with
        # a NaN is counted by one of the two, as `!=` has it.
        keys = np.where(numbers, keys, nan)
        alive &= known
    else:
        alive &= known & numbers
    return equal, ~keys if store.falling else keys, alive


def _equality_keys(exprs: tuple[Expr, ...], positions: I64, events: Events, alive: Bool) -> Iterator[I64]:
    for expr in exprs:
        vector = value(expr, (positions,), len(positions), events)
        keys, usable = order_keys(vector, _kind(expr))
        if usable is not None:
            alive &= usable
        yield keys


def _ordered(expr: Expr, positions: I64, events: Events) -> tuple[I64, Bool, Bool]:
    """Keys in the order of the values, which of them are numbers (not NaN), and which are not null."""
    vector = value(expr, (positions,), len(positions), events)
    known = ~vector.nulls
    kind = _kind(expr)
    if kind is Kind.STRING:
        return events.strings.rank(vector.data), np.ones(len(known), np.bool_), known
    keys, _ = order_keys(vector, kind)
    numbers = vector.data == vector.data  # NaN is the value that differs from itself
    return keys, np.asarray(numbers), known


def _kind(expr: Expr) -> Kind:
    kind = getattr(expr, "kind", None)
    assert isinstance(kind, Kind), expr
    return kind
