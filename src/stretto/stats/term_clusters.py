"""What relates the slots of a piece, taken apart: equalities, neighbours in position, and clusters of other terms.

A cluster is a set of slots that terms connect, with all those terms: their selectivity is measured together, since
terms that share an event are rarely independent. Clusters that share no event multiply.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from stretto.pattern.canonical.pieces import canonical
from stretto.pattern.canonical.terms import canonical_conditions
from stretto.pattern.comparisons import equality
from stretto.pattern.describe import frame_key, key_text, stream_key
from stretto.pattern.disjoint_sets import DisjointSets
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.order import NO_ORDER, Order
from stretto.pattern.piece import Piece, Slot
from stretto.pattern.predicates import POSITION, Apply, Const, Expr, Reduce, Ref, columns_of, numbered, walk
from stretto.stats.drawn_tuples import Link, TupleFrame

STEPS: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


class Cluster(NamedTuple):
    """Terms over the slots of a frame."""

    frame: TupleFrame
    terms: tuple[Expr, ...]


class Equals(NamedTuple):
    """Attributes that are equal: (slot, attribute) each, by slot."""

    members: tuple[tuple[int, str], ...]


class Related(NamedTuple):
    """What relates the slots of a piece of single events.

    `chains` are runs of slots at consecutive positions; `partitioned` says that positions count among events with
    the same values.
    """

    equals: tuple[Equals, ...]
    clusters: tuple[Cluster, ...]
    chains: tuple[tuple[int, ...], ...]
    partitioned: bool


class _TermShape(NamedTuple):
    columns: tuple[int, ...]
    equal: tuple[Ref, Ref] | None
    neighbours: tuple[Ref, Ref] | None


@lru_cache(maxsize=1 << 16)
def _shape(term: Expr) -> _TermShape:
    return _TermShape(tuple(sorted(columns_of(term))), _equality(term), _neighbours(term))


def _equality(term: Expr) -> tuple[Ref, Ref] | None:
    """The sides of an equality of values; times and positions are related otherwise."""
    sides = equality(term)
    hidden = sides and ("ts" in (side.attribute for side in sides) or sides[0].attribute.startswith("@"))
    return None if hidden else sides


def _neighbours(term: Expr) -> tuple[Ref, Ref] | None:
    """(earlier, later) of a term that says that they stand at consecutive positions."""
    match term:
        case (
            Apply(
                op="=",
                arguments=(Ref() as later, Apply(op="+", arguments=(Ref() as earlier, Const(value=1)))),
            )
            | Apply(
                op="=",
                arguments=(Apply(op="+", arguments=(Ref() as earlier, Const(value=1))), Ref() as later),
            )
        ) if later.attribute.startswith(POSITION) and later.column != earlier.column:
            return earlier, later
    return None


def is_neighbour(term: Expr) -> bool:
    """Whether a term says that two events stand at consecutive positions."""
    return _shape(term).neighbours is not None


def relate(piece: Piece) -> Related:
    """What relates the slots of a piece whose slots are all single events; slot and column numbers are the same."""
    classes: list[list[tuple[int, str]]] = [
        [(slot, attribute) for slot in range(len(piece.slots))] for attribute in piece.same
    ]
    pairs: list[tuple[tuple[int, str], tuple[int, str]]] = []
    followed: list[tuple[int, int]] = []
    partitioned = False
    others: list[tuple[tuple[int, ...], Expr]] = []
    for term in piece.terms:
        shape = _shape(term)
        if shape.equal is not None:
            left, right = shape.equal
            pairs.append(((left.column, left.attribute), (right.column, right.attribute)))
        elif shape.neighbours is not None:
            earlier, later = shape.neighbours
            followed.append((earlier.column, later.column))
            partitioned |= later.attribute != POSITION
        elif shape.columns:
            others.append((shape.columns, term))
    if pairs:
        classes = list(map(sorted, DisjointSets([*classes, *pairs]).sets()))
    equals = tuple(Equals(tuple(members)) for members in classes)
    return Related(equals, _clusters(piece, others, equals), _chains(followed), partitioned)


def _chains(followed: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    after = dict(followed)
    starts = [earlier for earlier in after if earlier not in after.values()]
    found = []
    for start in starts:
        chain = [start]
        # Terms may contradict themselves in a circle: the length ends it.
        while chain[-1] in after and len(chain) <= len(after):
            chain.append(after[chain[-1]])
        found.append(tuple(chain))
    return tuple(found)


def _clusters(
    piece: Piece, terms: Sequence[tuple[tuple[int, ...], Expr]], equals: Sequence[Equals]
) -> tuple[Cluster, ...]:
    # How far two events are apart depends on what stands between them, so times are read in the whole piece.
    everything = tuple(range(len(piece.slots)))
    spans = [everything if _reads_time(term) else columns for columns, term in terms]
    together = DisjointSets(spans)
    inside: dict[int, list[Expr]] = {}
    for span, (_, term) in zip(spans, terms, strict=True):
        inside.setdefault(together.find(span[0]), []).append(term)
    return tuple(
        _cluster(piece, sorted(slots), inside[together.find(slots[0])], equals) for slots in together.sets()
    )


def _cluster(piece: Piece, slots: Sequence[int], terms: Iterable[Expr], equals: Sequence[Equals]) -> Cluster:
    to = numbered(slots)
    whole = len(slots) == len(piece.slots)
    moved_terms = tuple(terms) if whole else tuple(term.moved(to) for term in terms)
    # Selectivities change slowly with the window, so near windows share one measure; terms on times are about the
    # window itself.
    window = piece.window if any(_reads_time(term) for term in terms) else rounded(piece.window)
    return Cluster(
        TupleFrame(
            tuple(stream_of(piece.slots[slot]) for slot in slots),
            piece.order.part(slots),
            tuple(link for same in equals for link in _links(same, to)),
            window,
        ),
        moved_terms,
    )


def whole_cluster(piece: Piece, related: Related) -> Cluster:
    """All slots of a piece as one frame, with what is equal in it, and all other terms of its clusters."""
    shapes = [(term, _shape(term)) for term in piece.terms]
    terms = tuple(term for term, shape in shapes if shape.columns and not (shape.equal or shape.neighbours))
    found = _cluster(piece, range(len(piece.slots)), terms, related.equals)
    # Times often are whole minutes: what a window of two minutes holds one of 100 seconds does not. So tuples are
    # counted in the window itself.
    return found._replace(frame=found.frame._replace(window=piece.window))


def _links(equals: Equals, to: dict[int, int]) -> Iterable[Link]:
    inside = [(to[slot], attribute) for slot, attribute in equals.members if slot in to]
    for (left, one), (right, other) in pairwise(inside):
        yield Link(left, one, right, other)


@lru_cache(maxsize=1 << 14)
def _reads_time(term: Expr) -> bool:
    return any(isinstance(node, Ref | Reduce) and node.attribute == "ts" for node in walk(term))


def standard(cluster: Cluster) -> Cluster:
    """The one form of clusters that differ by the numbers of their slots or the writing of their terms."""
    frame = cluster.frame
    slots = tuple(Slot(stream) for stream in frame.streams)
    window = frame.window or Window(0)
    form, columns = canonical(Piece(slots, frame.order, cluster.terms, (), (), window))
    to = numbered(columns)
    given = sorted(
        Link(*sorted_pair)
        for sorted_pair in (
            (to[a], x, to[b], y) if to[a] < to[b] else (to[b], y, to[a], x) for a, x, b, y in frame.given
        )
    )
    streams = tuple(stream_of(slot) for slot in form.slots)
    return Cluster(TupleFrame(streams, form.order, tuple(given), frame.window), form.terms)


def pair(piece: Piece, left: tuple[int, str], right: tuple[int, str]) -> tuple[TupleFrame, Link]:
    """Two events of a piece as a frame of their types, and an equality between them, in one form."""
    (i, x), (j, y) = left, right
    one, other = stream_of(piece.slots[i]).type, stream_of(piece.slots[j]).type
    ordered = (i, j) in piece.order
    # The earlier event is the left one, else the smaller name: A.k = B.k and B.k = A.k are measured once.
    if (j, i) in piece.order or (not ordered and (other, y) < (one, x)):
        one, x, other, y = other, y, one, x
        ordered = (j, i) in piece.order
    order = Order.total(2) if ordered else NO_ORDER
    return TupleFrame((Stream(one), Stream(other)), order, (), rounded(piece.window)), Link(0, x, 1, y)


def stream_of(slot: Slot) -> Stream:
    assert isinstance(slot.source, Stream)
    return slot.source


@lru_cache(maxsize=1 << 12)
def rounded(window: Window) -> Window:
    """A window near this one: windows of about one size share what is measured in them."""
    digits = len(str(window.size)) - 1
    if not digits:
        return window
    unit = 10**digits
    nearest = min(STEPS, key=lambda step: abs(step * unit - window.size))
    return Window(int(nearest * unit), window.unit)


# ---- text ------------------------------------------------------------------------------------------------------


def stream_words(stream: Stream) -> tuple[str, str]:
    """The conjunction that a stream's events pass, and whose events they are."""
    terms = canonical_conditions(stream.where)
    return " AND ".join(key_text(term, (stream.type,)) for term in terms), stream.type


def cluster_words(cluster: Cluster) -> tuple[str, str]:
    """The terms of a cluster by event types, and the frame in which they are measured."""
    names = _names(cluster.frame.streams)
    return " AND ".join(key_text(term, names) for term in cluster.terms), frame_words(cluster.frame)


def link_words(frame: TupleFrame, link: Link) -> tuple[str, str]:
    """An equality by event types, and the frame in which it is measured."""
    return _link_text(link, _names(frame.streams)), frame_words(frame)


def _link_text(link: Link, names: Sequence[str]) -> str:
    return f"{names[link.left]}.{link.left_attribute} = {names[link.right]}.{link.right_attribute}"


def frame_words(frame: TupleFrame) -> str:
    """A frame as text: its shape, what is equal in it, and its window."""
    names = _names(frame.streams)
    given = [_link_text(link, names) for link in frame.given]
    on = f" given {' AND '.join(given)}" if given else ""
    if frame.window is None or len(frame.streams) == 1:
        return ", ".join(stream_key(stream) for stream in frame.streams) + on
    slots = tuple(Slot(stream) for stream in frame.streams)
    shape, _, window = frame_key(Piece(slots, frame.order, (), (), (), frame.window)).rpartition(" within ")
    return f"{shape}{on} within {window}"


def _names(streams: Sequence[Stream]) -> list[str]:
    """A type's second event is `B#2`."""
    names: list[str] = []
    for i, stream in enumerate(streams):
        before = sum(other.type == stream.type for other in streams[:i])
        names.append(f"{stream.type}#{before + 1}" if before else stream.type)
    return names
