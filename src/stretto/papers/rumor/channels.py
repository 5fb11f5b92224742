"""Which streams become a channel (3.2): sharable ones that one m-op makes, read by operators of one definition."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind
from stretto.papers.rumor.sharable import sharing_class
from stretto.pattern.predicates import Const, Expr, walk

Worth = Callable[[MPlan, Sequence[str], Sequence[MOp]], bool]
"""Whether a channel of these streams, for these readers, is worth its classes."""


def map_streams(plan: MPlan, readers: Iterable[MOp], kind: OperatorKind, worth: Worth) -> bool:
    """Encode what readers of a kind can read as channels; whether there is a new one."""
    groups: defaultdict[Hashable, list[MOp]] = defaultdict(list)
    for mop in readers:
        key = _criteria(plan, mop) if mop.kind is kind else None
        if key is not None:
            groups[key].append(mop)
    found = False
    for group in groups.values():
        read = [plan.inputs(mop.operators[0]) for mop in group]
        for streams in zip(*read, strict=True):
            distinct = tuple(dict.fromkeys(streams))
            if len(distinct) > 1 and kind is not OperatorKind.JOIN:  # whose two channels have the same order
                distinct = in_order(plan, distinct)
            free = len(distinct) > 1 and not any(plan.channel(one) for one in distinct)
            if free and worth(plan, distinct, group):
                plan.encode(distinct, f"channel{len(plan.channels) + 1}")
                found = True
    return found


def in_order(plan: MPlan, streams: Sequence[str]) -> tuple[str, ...]:
    """Streams by the constants of their selections: those that have an event in common are then mostly neighbours."""

    def constants(stream: str) -> list[tuple[str, float | str]]:
        definition = plan.operators[stream].definition
        terms = sorted(definition, key=repr) if isinstance(definition, frozenset) else []
        nodes = [node for term in terms if isinstance(term, Expr) for node in walk(term)]
        values = [node.value for node in nodes if isinstance(node, Const) and node.value is not None]
        return [(type(value).__name__, value) for value in values if isinstance(value, int | float | str)]

    try:
        return tuple(sorted(streams, key=constants))
    except TypeError:
        return tuple(streams)


def _criteria(plan: MPlan, mop: MOp) -> Hashable | None:
    """What must be equal for streams to become one: their class, what makes them, and what reads them."""
    (operator, *_) = mop.operators
    if len({one.definition for one in mop.operators}) > 1:
        return None
    first, *others = plan.inputs(operator)
    if plan.producer(first) is None:
        return None
    both = operator.kind is OperatorKind.JOIN
    rest = [_origin(plan, name) if both else name for name in others]
    return operator.definition, _origin(plan, first), *rest


def _origin(plan: MPlan, stream: str) -> Hashable:
    mop = plan.producer(stream)
    return stream if mop is None else (id(mop), sharing_class(plan, stream))
