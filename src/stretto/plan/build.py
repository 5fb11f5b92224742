"""A plan under construction: operators are added one by one, equal streams are scanned once."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from stretto.pattern.comparisons import equal
from stretto.pattern.nodes import Stream
from stretto.pattern.predicates import Ref, Which
from stretto.plan.ops import Op, Scan
from stretto.plan.record import Computed, Record
from stretto.records import dataclass
from stretto.schema import Kind


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of an operator, as the operators above it need to know them.

    `types`: per column, the types its events may have. `always`: the columns bound in every row. `entries`
    and `exits`: columns among which every row has its earliest and its latest event.
    """

    op: int
    sets: tuple[bool, ...]
    types: tuple[frozenset[str], ...]
    always: tuple[int, ...]
    entries: tuple[int, ...]
    exits: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.sets)


@dataclass(slots=True)
class Builder:
    """Operators so far, with what is known of each. `kinds` are those of the schema's attributes."""

    kinds: Mapping[str, Kind]
    ops: list[Op] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    scans: dict[Stream, int] = field(default_factory=dict)

    def add(self, op: Op, because: str, computed: Computed | None) -> int:
        self.ops.append(op)
        self.records.append(Record(because, computed))
        return len(self.ops) - 1

    def expect(self, op: int, rows: float, cost: float) -> None:
        """So many rows come out of an operator at this cost, which adds to what it has; an Emit gathers several."""
        known = self.records[op]
        more = (known.rows or 0.0) + rows if known.computed is None else rows
        self.records[op] = replace(known, rows=more, cost=(known.cost or 0.0) + cost)

    def scan(self, stream: Stream, same: Iterable[str]) -> int:
        """The scan of those events of a stream that have a value, neither null nor NaN, of all `same`."""
        valued = (equal(self.ref(0, name), self.ref(0, name)) for name in same)
        where = (*stream.where, *(term for term in valued if term not in stream.where))
        wanted = replace(stream, where=where)
        if wanted not in self.scans:
            self.scans[wanted] = self.add(Scan(wanted), "scan_stream", Computed.event(wanted))
        return self.scans[wanted]

    def scan_part(self, stream: Stream, same: Iterable[str]) -> Part:
        return Part(self.scan(stream, same), (False,), (frozenset((stream.type,)),), (0,), (0,), (0,))

    def ref(self, column: int, attribute: str, which: Which = Which.EACH) -> Ref:
        kind = Kind.TIME if attribute == "ts" else self.kinds[attribute]
        return Ref(column, attribute, kind, which)
