"""What is known of the order in time of the events that a row binds, and what follows from it for a join."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from stretto.engine.shape import Shape
from stretto.pattern.predicates import Apply, Expr, Ref, Which


def order_of(term: Expr) -> tuple[int, int] | None:
    """The columns (earlier, later) of a term that says just that the one event is strictly before the other."""
    match term:
        case Apply(
            op="<" | ">" as op,
            arguments=(
                Ref(attribute="ts", which=Which.EACH) as one,
                Ref(attribute="ts", which=Which.EACH) as other,
            ),
        ) if one.column != other.column:
            return (one.column, other.column) if op == "<" else (other.column, one.column)
    return None


def ordered(shape: Shape, terms: Iterable[Expr]) -> Shape:
    """The shape of those rows that satisfy the terms."""
    found = {pair for term in terms if (pair := certain_order(term, shape))}
    return replace(shape, order=closed(shape.order | found)) if found else shape


def certain_order(term: Expr, shape: Shape) -> tuple[int, int] | None:
    """As `order_of`, if every row binds one event to both columns: a term over an unbound column does not apply."""
    pair = order_of(term)
    if pair is None or any(shape.sets[c] or shape.optional[c] for c in pair):
        return None
    return pair


def closed(pairs: Iterable[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """The pairs and all that follow from two of them that meet."""
    later: defaultdict[int, int] = defaultdict(int)  # bits: the columns that come after each one
    for a, b in pairs:
        later[a] |= 1 << b
    for middle in tuple(later):
        for a in later:
            if later[a] >> middle & 1:
                later[a] |= later[middle]
    return frozenset((a, b) for a, bits in later.items() for b in range(bits.bit_length()) if bits >> b & 1)


def latest(columns: Sequence[int], order: frozenset[tuple[int, int]]) -> tuple[int, ...]:
    """Those of the columns that no other of them is known to come after: a row's last event is in one of them."""
    return tuple(c for c in columns if not any((c, other) in order for other in columns))


def earliest(columns: Sequence[int], order: frozenset[tuple[int, int]]) -> tuple[int, ...]:
    """Those of the columns that no other of them is known to come before."""
    return tuple(c for c in columns if not any((other, c) in order for other in columns))


def joined(left: Shape, right: Shape, terms: Iterable[Expr], *, before: bool) -> Shape:
    """The shape of pairs; `before`: all left events are strictly earlier than all right ones."""
    at, width = left.width, left.width + right.width
    both = Shape((*left.sets, *right.sets), (*left.optional, *right.optional))
    known = {*left.order, *((a + at, b + at) for a, b in right.order)}
    if before:
        bound = [c for c in range(width) if not (both.sets[c] or both.optional[c])]
        known |= {(a, b) for a in bound if a < at for b in bound if b >= at}
    known |= {pair for term in terms if (pair := certain_order(term, both))}
    return replace(both, order=closed(known))


@dataclass(frozen=True, slots=True)
class Place:
    """What order terms say of the last event of a stored row, given the row that probes, by the pair's columns.

    It comes after the events of all columns in `after`, and before the latest of what the groups in `before` stand
    for: each for its earliest event. No groups: nothing is known. `settled` are the terms that say no more than that.
    `inside`: no stored row begins before the probing row does.
    """

    after: tuple[int, ...]
    before: tuple[tuple[int, ...], ...]
    settled: tuple[Expr, ...]
    inside: bool


def place_of(pair: Shape, stored: range, probing: range, terms: Sequence[Expr]) -> Place:
    """Where the stored rows of a join stand that satisfy its order terms."""
    order = pair.order
    found = [(*columns, term) for term in terms if (columns := certain_order(term, pair))]
    across = [(a, b, term) for a, b, term in found if (a in stored) != (b in stored)]
    last = latest(stored, order)
    groups = [earliest(tuple({b for a, b, _ in across if a == c}), order) for c in last]
    return Place(
        after=latest(tuple({a for a, b, _ in across if b in stored}), order),
        before=tuple(groups) if all(groups) else (),
        settled=tuple(term for a, b, term in across if len(last) == 1 and last[0] in (a, b)),
        inside=all(any((p, c) in order for p in probing) for c in earliest(stored, order)),
    )


def never_last(side: range, other: range, order: frozenset[tuple[int, int]]) -> bool:
    """Whether the last event of a pair is always on the other side."""
    return all(any((c, b) in order for b in other) for c in latest(side, order))
