"""What a channel costs, and what its streams cost one by one: nanoseconds per second of the stream."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind, StreamOperator
from stretto.memo.prices import Prices
from stretto.pattern.nodes import Stream
from stretto.pattern.predicates import Apply, Expr
from stretto.schema import Kind
from stretto.stats.estimate import Estimator

READ: Final[Mapping[OperatorKind, float]] = MappingProxyType(
    {
        OperatorKind.SIGMA: 10.0,
        OperatorKind.PI: 20.0,
        OperatorKind.ALPHA: 650.0,
        OperatorKind.JOIN: 300.0,
        OperatorKind.SEQ: 250.0,
        OperatorKind.MU: 290.0,
    }
)
"""Nanoseconds that an operator spends on an event that it reads, measured on the core that the prices are of."""
AGAIN: Final = 0.6
"""The part of an aggregate's work that is done for each stream of a channel: windows hold other events for each."""
ENCODE: Final = 60.0
"""Nanoseconds for the class of an event, by an index."""


class ChannelCosts:
    """Whether streams are worth a channel: where an event of their disjunction costs less than those of all of them."""

    def __init__(self, estimator: Estimator, prices: Prices, steps: float) -> None:
        """`steps`: how many the engine takes in a second of the stream."""
        self._estimator, self._prices, self._step = estimator, prices, steps * prices.step

    def __call__(self, plan: MPlan, streams: Sequence[str], readers: Sequence[MOp]) -> bool:
        """Whether readers of one definition, each of one of the streams, are worth a channel."""
        return self.together(plan, streams, readers) < self.apart(plan, streams, readers)

    def apart(self, plan: MPlan, streams: Sequence[str], readers: Sequence[MOp]) -> float:
        """The cost of the readers, and of what selects for them, each by itself."""
        read, looked = READ[readers[0].kind], self._prices.scan
        rows = sum(self._rate(plan, stream) for stream in streams)
        return len(streams) * (self._step + looked * self._around(plan, streams)) + rows * read

    def together(self, plan: MPlan, streams: Sequence[str], readers: Sequence[MOp]) -> float:
        """The cost of one reader of the channel, of classes, and of what is decoded again for those who read it."""
        read, kind = READ[readers[0].kind], readers[0].kind
        rates = [self._rate(plan, stream) for stream in streams]
        rows = self._disjunction(plan, streams)
        if kind is OperatorKind.ALPHA and rows:
            read *= 1.0 - AGAIN + AGAIN * sum(rates) / rows
        cost = self._step + rows * read
        if not any(self._made_of_channel(plan, stream) for stream in streams):
            cost += self._around(plan, streams) * ENCODE
        if not _read_alike(plan, readers):
            looked, made = self._prices.scan, READ[OperatorKind.PI]
            cost += len(streams) * (self._step + rows * looked) + sum(rates) * made
        return cost

    # ---- how many events there are -----------------------------------------------------------------------------

    def _rate(self, plan: MPlan, stream: str) -> float:
        """Events per second of a stream."""
        operator = plan.operators.get(plan.one(stream))
        if operator is None:
            return self._estimator.rate(Stream(stream))
        below = max(self._rate(plan, name) for name in plan.inputs(operator))
        return below * self._share(operator) if operator.kind is OperatorKind.SIGMA else below

    def _share(self, operator: StreamOperator) -> float:
        terms = _terms(operator)
        known = Stream(operator.inputs[0], terms)
        return self._estimator.selectivities.of_stream(known).value if terms else 1.0

    def _around(self, plan: MPlan, streams: Sequence[str]) -> float:
        """Events that are looked at for the streams: those of what they are selected from."""
        (first, *_) = (self._selection(plan, stream) for stream in streams)
        return self._rate(plan, streams[0]) if first is None else self._rate(plan, first.inputs[0])

    def _disjunction(self, plan: MPlan, streams: Sequence[str]) -> float:
        """Events per second of the channel: those that some stream has."""
        selections = [self._selection(plan, stream) for stream in streams]
        known = [one for one in selections if one is not None]
        if len(known) < len(streams) or len({one.inputs for one in known}) > 1:
            return max(self._rate(plan, stream) for stream in streams)
        source = known[0].inputs[0]
        anyone = Apply("or", tuple(_conjunction(_terms(one)) for one in known), Kind.BOOL)
        share = self._estimator.selectivities.of_stream(Stream(source, (anyone,))).value
        shares = [self._share(one) for one in known]
        return self._rate(plan, source) * min(max(share, *shares), sum(shares))

    def _selection(self, plan: MPlan, stream: str) -> StreamOperator | None:
        """The selection that tells a stream from others: its own, or that of what it is made of."""
        operator = plan.operators.get(plan.one(stream))
        while operator is not None and (operator.kind is not OperatorKind.SIGMA or not _terms(operator)):
            operator = plan.operators.get(plan.one(operator.inputs[0]))
        return operator

    def _made_of_channel(self, plan: MPlan, stream: str) -> bool:
        """Whether a stream's events have their classes from a channel below."""
        operator = plan.operators.get(plan.one(stream))
        return operator is not None and any(plan.channel(name) for name in plan.inputs(operator))


def _terms(operator: StreamOperator) -> tuple[Expr, ...]:
    """What a selection of single events selects by; nothing for one of matches, and for others."""
    found = operator.definition
    return tuple(sorted(found, key=repr)) if isinstance(found, frozenset) and found else ()


def _conjunction(terms: Sequence[Expr]) -> Expr:
    return terms[0] if len(terms) == 1 else Apply("and", tuple(terms), Kind.BOOL)


def _read_alike(plan: MPlan, mops: Iterable[MOp]) -> bool:
    """Whether all that reads what m-ops make could read it as a channel; what is reported to queries could."""
    outputs = {plan.one(name) for mop in mops for name in mop.outputs}
    readers = [one for one in plan.operators.values() if one.inputs and plan.one(one.inputs[0]) in outputs]
    others = [one for one in plan.operators.values() if any(plan.one(n) in outputs for n in one.inputs[1:])]
    return len({(one.kind, one.definition) for one in readers}) <= 1 and not others
