"""Sets of operators that are computed as one (m-ops), the channels between them, and how it came to that."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import field

from stretto.memo.mops.operators import OperatorKind, StreamOperator
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class MOp:
    """Operators that are computed as one; it means what they mean one by one. `rule`: what merged them."""

    operators: tuple[StreamOperator, ...]
    rule: str = ""

    @property
    def kind(self) -> OperatorKind:
        return self.operators[0].kind

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(operator.output for operator in self.operators)


@dataclass(frozen=True, slots=True)
class MChannel:
    """Streams that are one: an event is there once, and says of which of them it is one."""

    name: str
    streams: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergeStep:
    """A rule that merged m-ops, or mapped streams to a channel, and what came of it."""

    rule: str
    merged: tuple[str, ...]
    into: str


@dataclass
class MPlan:
    """M-ops and operators by the stream that each operator gives; `same`: streams that are equal to another one."""

    by_output: dict[str, MOp]
    operators: Mapping[str, StreamOperator]
    channels: list[MChannel] = field(default_factory=list)
    steps: list[MergeStep] = field(default_factory=list)
    same: dict[str, str] = field(default_factory=dict)
    _channel: dict[str, MChannel] = field(default_factory=dict)
    _shapes: dict[str, Hashable] = field(default_factory=dict)

    @classmethod
    def of(cls, operators: Iterable[StreamOperator]) -> "MPlan":
        """Every operator by itself."""
        known = {operator.output: operator for operator in operators}
        return cls({output: MOp((operator,)) for output, operator in known.items()}, known)

    @property
    def mops(self) -> list[MOp]:
        """Each m-op once."""
        return list({id(mop): mop for mop in self.by_output.values()}.values())

    def one(self, stream: str) -> str:
        """The stream that stands for all that are equal to it."""
        while stream in self.same:
            stream = self.same[stream]
        return stream

    def inputs(self, operator: StreamOperator) -> tuple[str, ...]:
        return tuple(self.one(name) for name in operator.inputs)

    def producer(self, stream: str) -> MOp | None:
        """What makes a stream; None: it is a source."""
        return self.by_output.get(self.one(stream))

    def channel(self, stream: str) -> MChannel | None:
        return self._channel.get(self.one(stream))

    def merge(self, mops: Iterable[MOp], rule: str, name: str) -> MOp:
        """One m-op in place of several."""
        merged = MOp(tuple(operator for mop in mops for operator in mop.operators), rule)
        for output in merged.outputs:
            self.by_output[output] = merged
        self.steps.append(MergeStep(rule, merged.outputs, name))
        return merged

    def encode(self, streams: Iterable[str], name: str) -> MChannel:
        """Streams of one m-op as a channel."""
        found = MChannel(name, tuple(dict.fromkeys(self.one(stream) for stream in streams)))
        self.channels.append(found)
        self._channel.update(dict.fromkeys(found.streams, found))
        self.steps.append(MergeStep("channel", found.streams, name))
        return found

    def shapes(self) -> dict[str, Hashable]:
        """What was found out about streams; see the room that asks."""
        return self._shapes

    @property
    def shares(self) -> bool:
        """Whether operators of patterns are computed as one."""
        return any(mop.rule and mop.kind in (OperatorKind.SEQ, OperatorKind.MU) for mop in self.mops)

    def because(self) -> Mapping[str, str]:
        """By which rule each stream is made, where it was merged."""
        return {name: mop.rule for mop in self.mops if mop.rule for name in mop.outputs}
