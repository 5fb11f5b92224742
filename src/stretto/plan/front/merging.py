"""Streams and queries in the form that m-ops give them: channels in place of streams that are read alike.

Every stream keeps its name. One that is in a channel is decoded where something reads it by itself. Members of a
channel have the same number in all channels that are made of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind, selected
from stretto.memo.mops.patterns import Parts, first_atom, is_of, parts_of, with_first
from stretto.pattern.derived.streams import (
    DerivedStream,
    JoinStream,
    PatternStream,
    Selection,
    WindowAggregate,
    attributes_of,
    sources_of,
)
from stretto.pattern.nodes import Query, Return, Stream, TrendQuery, Window, streams_of
from stretto.pattern.predicates import Apply, Const, Expr, Reduce, Ref, walk
from stretto.plan.front.channel_streams import (
    EncodedAggregate,
    EncodedSelections,
    common_class,
    decoded,
    kept_class,
)
from stretto.records import dataclass
from stretto.schema import Kind

BEGUN = (OperatorKind.SEQ, OperatorKind.MU)
SAME = ("equal", "s_seq", "s_mu")
"""Rules that find streams which are the same."""
EXTENT = "extent#"
"""The column of a join that says how far apart the two events of a pair are."""


@dataclass(frozen=True, slots=True)
class QueryMember:
    """A query that has its matches from those of another: which of them, and what is left to check.

    `number`: the first event is to be of this member of the channel; None: it is of every query.
    """

    query: Query
    number: int | None
    extent: int | None
    reported: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class MergedQuery:
    """A query that finds the matches of several; `channel`: the stream of its first events, if that is one."""

    query: Query
    channel: str | None
    members: tuple[QueryMember, ...]
    rule: str


@dataclass(frozen=True, slots=True)
class MergedWorkload:
    """`together`: aggregates that keep one window; `because`: the rules behind streams that several share."""

    streams: tuple[DerivedStream, ...]
    detections: tuple[Query, ...]
    queries: tuple[MergedQuery, ...] = ()
    together: Mapping[str, str] = field(default_factory=dict)
    because: Mapping[str, str] = field(default_factory=dict)


def merged_workload(
    plan: MPlan,
    streams: Sequence[DerivedStream],
    detections: Sequence[Query],
    others: Sequence[Query | TrendQuery],
    attributes: Mapping[str, Kind],
) -> MergedWorkload:
    """What runs in place of streams and queries; they mean what they meant.

    `others`: queries that read streams as they are. `attributes`: those of raw events.
    """
    merger = _Merger(plan, streams, attributes)
    for stream in streams:
        merger.add(stream)
    plain, merged = merger.queries(detections)
    readers: list[Query | TrendQuery] = [*plain, *others, *(one.query for one in merged)]
    read = {name for query in readers for name in streams_of(query)}
    return MergedWorkload(
        tuple(merger.decoding(read)), tuple(plain), tuple(merged), merger.together, merger.because
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a stream is found: a channel, and its number there."""

    channel: str
    number: int


class _Merger:
    def __init__(self, plan: MPlan, streams: Sequence[DerivedStream], attributes: Mapping[str, Kind]) -> None:
        self._plan, self._attributes = plan, attributes
        self._named = {stream.name: stream for stream in streams}
        self._made: dict[str, DerivedStream] = {}
        self._places: dict[str, _Place] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self.together: dict[str, str] = {}
        self.because: dict[str, str] = {}

    # ---- streams -------------------------------------------------------------------------------------------------

    def add(self, stream: DerivedStream) -> None:
        """A stream as it is, or the channel that it is in; the first of a channel stands for all."""
        if stream.name in self._places:
            return
        pairs = selected(stream.name, "pairs")
        mop = self._plan.by_output[pairs if isinstance(stream, JoinStream) else stream.name]
        if mop.rule.startswith("c_"):
            self._add_channel(stream, mop)
            return
        if mop.rule == "s_join":
            self._add_widest(mop)
            return
        first = self._plan.operators[self._plan.one(mop.outputs[0])].of
        if mop.rule in SAME and first != stream.name and not isinstance(stream, Selection):
            self._made[stream.name] = _copied(stream, first)
            self.because[stream.name] = mop.rule
            return
        if mop.rule == "s_alpha":
            self.because[stream.name] = mop.rule
            self.together[stream.name] = mop.outputs[0]
        self._made[stream.name] = stream

    def _add_channel(self, stream: DerivedStream, mop: MOp) -> None:
        name = f"{mop.operators[0].of}+{len(mop.operators) - 1}"
        operator = next(one for one in mop.operators if one.of == stream.name)
        made: DerivedStream
        match stream:
            case Selection():
                made = self._selections(stream, name)
            case WindowAggregate():
                source = self._source(operator.inputs[0], stream.source, _read_by(stream, 0))
                made = EncodedAggregate(name, source, stream.columns, stream.groups, stream.window_us)
            case JoinStream():
                made = self._joined(stream, operator.inputs, mop, name)
            case PatternStream():
                made = self._pattern(stream, operator.inputs[0], name)
        self._made[name] = made
        self.because[name] = mop.rule
        for one in mop.operators:
            place = _Place(name, self._number(one.inputs[0]))
            self._places |= {one.output: place, one.of: place}

    def _selections(self, stream: Selection, name: str) -> Selection:
        below = self._plan.one(self._plan.operators[stream.name].inputs[0])
        sigma = self._plan.operators.get(below)
        if sigma is not None and sigma.kind is OperatorKind.SIGMA and below not in self._named:
            channel = self._plan.channel(below)
            if channel is not None and self._plan.channel(sigma.inputs[0]) is None:
                members = tuple(self._selected_by(one) for one in channel.streams)
                return EncodedSelections(name, Stream(stream.source.type), stream.columns, members)
        source = self._source(below, stream.source, ())
        return Selection(name, source, (*stream.columns, kept_class(name, source.type)))

    def _joined(self, stream: JoinStream, inputs: Sequence[str], mop: MOp, name: str) -> JoinStream:
        first, second = (
            self._source(one, source, _read_by(stream, number)) if self._plan.channel(one) else source
            for number, (one, source) in enumerate(zip(inputs, stream.sources, strict=True))
        )
        if self._plan.channel(inputs[1]) is None:
            kept, on = kept_class(name, first.type), stream.on
        else:
            numbers = [(self._number(one.inputs[0]), self._number(one.inputs[1])) for one in mop.operators]
            kept, term = common_class(name, (first.type, second.type), numbers)
            on = (*stream.on, term)
        return replace(stream, name=name, sources=(first, second), on=on, columns=(*stream.columns, kept))

    def _pattern(self, stream: PatternStream, below: str, name: str) -> PatternStream:
        atom = first_atom(stream.query)
        assert atom is not None
        parts = parts_of(stream.query, as_stream=True)
        query = self._over_channel(stream.query, parts, below, [stream.query])
        kept = kept_class(name, streams_of(query)[0], atom.variable)
        return PatternStream(name, replace(query, returns=(*query.returns, kept)))

    def _add_widest(self, mop: MOp) -> None:
        """The join with the widest window, and the others as selections of its pairs by how far apart these are."""
        joins = [self._named[one.of] for one in mop.operators]
        found = [join for join in joins if isinstance(join, JoinStream)]
        assert len(found) == len(joins)
        widest = max(found, key=lambda join: join.window_us)
        name, channel = f"{widest.name}+", f"{found[0].name}+{len(found) - 1}"
        columns = tuple(Return(item.name, Ref(0, item.name, item.kind), item.kind) for item in widest.columns)
        apart = Ref(0, EXTENT, Kind.DURATION)
        members = tuple(
            (Apply("<=", (apart, Const(join.window_us, Kind.DURATION)), Kind.BOOL),) for join in found
        )
        self._made[name] = replace(
            widest, name=name, columns=(*widest.columns, Return(EXTENT, _extent(), Kind.DURATION))
        )
        self._made[channel] = EncodedSelections(channel, Stream(name), columns, members)
        self.because |= {name: mop.rule, channel: mop.rule}
        self._places |= {join.name: _Place(channel, number) for number, join in enumerate(found)}

    # ---- what is read of a channel -------------------------------------------------------------------------------

    def _number(self, stream: str) -> int:
        """The number of a stream in the channel that it is in."""
        stream = self._plan.one(stream)
        if stream in self._places:
            return self._places[stream].number
        sigma = self._plan.operators[stream]
        channel = self._plan.channel(stream)
        assert channel is not None
        if self._plan.channel(sigma.inputs[0]) is not None:
            return self._number(sigma.inputs[0])
        return self._numbers.setdefault(
            channel.name, {one: number for number, one in enumerate(channel.streams)}
        )[stream]

    def _source(self, stream: str, written: Stream, read: Iterable[str]) -> Stream:
        """The channel that holds a stream, with the terms that are left to be judged."""
        one = self._plan.one(stream)
        if one in self._places:
            return Stream(self._places[one].channel)
        sigma = self._plan.operators[one]
        below = self._plan.channel(sigma.inputs[0])
        if below is not None:
            return Stream(self._places[self._plan.one(sigma.inputs[0])].channel, written.where)
        channel = self._plan.channel(one)
        assert channel is not None
        kinds = self._kinds(written.type)
        columns = tuple(
            Return(name, Ref(0, name, kinds[name]), kinds[name]) for name in read if name in kinds
        )
        known = self._made.get(channel.name)
        if isinstance(known, EncodedSelections):
            columns = tuple(dict.fromkeys((*known.columns, *columns)))
        members = tuple(self._selected_by(member) for member in channel.streams)
        self._made[channel.name] = EncodedSelections(channel.name, Stream(written.type), columns, members)
        self.because[channel.name] = self._plan.by_output[one].rule
        return Stream(channel.name)

    def _selected_by(self, stream: str) -> tuple[Expr, ...]:
        where = self._plan.operators[stream].definition
        assert isinstance(where, frozenset)
        return tuple(sorted(where, key=repr))

    def _kinds(self, name: str) -> Mapping[str, Kind]:
        return attributes_of(self._named[name]) if name in self._named else self._attributes

    # ---- queries -------------------------------------------------------------------------------------------------

    def queries(self, queries: Sequence[Query]) -> tuple[list[Query], list[MergedQuery]]:
        """The queries that stay as they are, and those that find the matches of several."""
        groups: dict[int, list[Query]] = {}
        rules: dict[int, MOp] = {}
        plain: list[Query] = []
        for query in queries:
            mop = self._mop(query)
            if mop is None:
                plain.append(query)
            else:
                rules[id(mop)] = mop
                groups.setdefault(id(mop), []).append(query)
        merged = [self._merged(rules[key], some) for key, some in groups.items()]
        return plain, merged

    def _mop(self, query: Query) -> MOp | None:
        """What a query's runs are computed by, together with those of others."""
        mop = self._plan.by_output.get(selected(query.name, "runs")) or self._plan.by_output[query.name]
        return mop if mop.rule and (mop.kind in BEGUN or mop.rule == "c_sigma") else None

    def _merged(self, mop: MOp, queries: Sequence[Query]) -> MergedQuery:
        (first, *_) = queries
        below = {one.of: one.inputs[0] for one in mop.operators}
        parts = _without_common([parts_of(query) for query in queries])
        channel = self._plan.channel(below[first.name])
        if channel:
            query = self._over_channel(first, parts[0], below[first.name], queries)
        else:
            query = _begun(first, parts[0])
        widest = max(query.window.size for query in queries)
        query = replace(query, window=Window(widest), name=f"{first.name}+{len(queries) - 1}", returns=())
        members = tuple(
            QueryMember(
                one,
                None if channel is None else self._number(below[one.name]),
                None if part.single or one.window.size == widest else one.window.size,
                part.reported,
            )
            for one, part in zip(queries, parts, strict=True)
        )
        name = streams_of(query)[0] if channel else None
        return MergedQuery(query, name, members, mop.rule)

    def _over_channel(self, query: Query, parts: Parts, below: str, readers: Sequence[Query]) -> Query:
        """A query over the channel of its first events; `readers`: all that read these."""
        assert parts.first is not None
        read = dict.fromkeys(name for one in readers for name in _first_attributes(one))
        source = self._source(below, parts.first, read)
        if parts.single:  # its sigma is the one that is merged: what it selects is the same for all
            source = replace(source, where=parts.first.where)
        return _begun(query, replace(parts, first=source))

    # ---- decoding ------------------------------------------------------------------------------------------------

    def decoding(self, read: Iterable[str]) -> Iterator[DerivedStream]:
        """The streams, each behind those it reads; those in channels by themselves where they are read."""
        needed = {*read}
        for stream in self._made.values():
            needed.update(sources_of(stream))
        by_channel: dict[str, list[str]] = {}
        for name, place in self._places.items():
            if name in needed and name in self._named:
                by_channel.setdefault(place.channel, []).append(name)
        for name, stream in self._made.items():
            yield stream
            for member in by_channel.get(name, ()):
                kinds = attributes_of(self._named[member])
                columns = tuple(Return(one, Ref(0, one, kind), kind) for one, kind in kinds.items())
                yield decoded(member, name, self._places[member].number, columns)


def _without_common(parts: Sequence[Parts]) -> list[Parts]:
    """The parts with what is left to check for some: what all check of a run stays with it, and may end it early."""
    common = frozenset.intersection(*(frozenset(one.reported) for one in parts))
    return [
        replace(one, reported=tuple(term for term in one.reported if term not in common)) for one in parts
    ]


def _begun(query: Query, parts: Parts) -> Query:
    """A query without what is checked of what it reports; what is of its first event stands with the event's stream."""
    atom = first_atom(query)
    assert atom is not None
    assert parts.first is not None
    own = {term for term in (*query.terms, *query.having) if is_of(term, atom.variable)} | {*parts.reported}
    return replace(
        query,
        pattern=with_first(query.pattern, parts.first),
        terms=tuple(term for term in query.terms if term not in own),
        having=tuple(term for term in query.having if term not in own),
    )


def _first_attributes(query: Query) -> Iterator[str]:
    """What is read of a query's first event."""
    atom = first_atom(query)
    assert atom is not None
    exprs = (*query.terms, *query.having, *(item.value for item in query.returns))
    yield from query.same
    yield from _attributes(exprs, atom.variable)


def _attributes(exprs: Iterable[Expr], column: int) -> Iterator[str]:
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, Ref | Reduce) and node.column == column:
                yield node.attribute


def _read_by(stream: WindowAggregate | JoinStream, column: int) -> list[str]:
    """The attributes that a stream reads of a source."""
    exprs: list[Expr] = [item.value for item in stream.columns if item.value is not None]
    exprs += stream.groups if isinstance(stream, WindowAggregate) else stream.on
    return list(dict.fromkeys(_attributes(exprs, column)))


def _copied(stream: DerivedStream, first: str) -> Selection:
    """A stream that is the same as another."""
    columns = tuple(Return(name, Ref(0, name, kind), kind) for name, kind in attributes_of(stream).items())
    return Selection(stream.name, Stream(first), columns)


def _extent() -> Expr:
    """How far apart the two events of a pair are."""
    apart = Apply("-", (Ref(0, "ts", Kind.TIME), Ref(1, "ts", Kind.TIME)), Kind.DURATION)
    return Apply("abs", (apart,), Kind.DURATION)
