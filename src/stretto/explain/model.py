"""An explanation of a plan: what every view of it shows, whether it is text, JSON, a flowchart or a page.

A row is an operator, the events of a type that trend queries read, or a unit of trend queries computed together. Costs
are nanoseconds per second of the stream.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Final

from stretto.explain.units import UnitsShown
from stretto.pattern.piece import Piece
from stretto.records import dataclass
from stretto.screen import counted

NANOSECONDS: Final = 1e9
MILLION: Final = 1e6
EVENTS: Final = "events"
"""The kind of a row that is events of a type, for trend queries."""
UNIT: Final = "trends"
"""The kind of a row that is a unit of trend queries."""
SOURCES: Final = ("scan", EVENTS)
"""Kinds of rows that read the stream."""
ENDS: Final = ("emit", UNIT)
"""Kinds of rows that answer queries."""
LIKE: Final = "queries like "
"""Before the name of the first of some queries that are alike, where they are written one by one."""


@dataclass(frozen=True, slots=True)
class Tried:
    """Plans were run on so many events of the sample: the cost of the chosen one as estimated before and as counted."""

    events: int
    plans: int
    estimated: float
    counted: float


@dataclass(frozen=True, slots=True)
class Templates:
    """Queries that differ in constants alone: the cost with each family of them as one template, and one by one.

    Nothing else is shared or reordered in either.
    """

    queries: int
    together: float
    apart: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the optimizer expects of a plan.

    `alone` is the cost of the plan that `--optimizer none` makes of the same workload, `lower_bound` what no plan
    that was considered can go below, if that is known, `seconds` the time the optimizer took. Where the plan
    was `tried` its cost is what was counted; `alone` and the bound are estimates.
    `templates`: what these save by themselves.
    `events`: how many the statistics were counted on, and their `rate` per second; zeros where nobody counted.
    """

    cost: float
    alone: float
    lower_bound: float | None
    seconds: float
    tried: Tried | None = None
    templates: Templates | None = None
    events: int = 0
    rate: float = 0.0

    @property
    def estimated(self) -> float:
        """The cost before anything was tried, which other estimates compare with."""
        return self.cost if self.tried is None else self.tried.estimated

    @property
    def gap(self) -> float | None:
        """The share of the estimated cost that may still be saved: 0 is a proven optimum."""
        if self.lower_bound is None:
            return None
        return max(0.0, 1.0 - self.lower_bound / self.estimated) if self.estimated > 0 else 0.0


@dataclass(frozen=True, slots=True)
class MatStateFigures:
    """Of a unit that shares: MatStates per second as estimated, those that a run made, and how often it shared.

    `shared`: of all `turns` in which there was something to share, those that did so.
    """

    rate: float | None = None
    made: int = 0
    shared: int = 0
    turns: int = 0


@dataclass(frozen=True)
class Meaning:
    """What a row computes. Each function is called when it is first needed: for a wide plan both take long."""

    find_form: Callable[[], Piece | Hashable]
    write_text: Callable[[], str]

    @cached_property
    def form(self) -> Piece | Hashable:
        """A piece over the columns of the row, or what stands for one; None of an Emit. Equal forms mean the same."""
        return self.find_form()

    @cached_property
    def text(self) -> str:
        return self.write_text()


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `rows` are those it gives per second (of a unit, the events it takes), None where nothing is known.

    `does` names its inputs. `measured` are the rows of a whole run, `worked` its processor seconds.
    `members`: the queries of a family that is answered here.
    """

    id: int
    kind: str
    inputs: tuple[int, ...]
    does: str
    meaning: Meaning
    serves: tuple[str, ...]
    because: str
    rows: float | None = None
    cost: float | None = None
    measured: int | None = None
    worked: float | None = None
    is_matpoint: bool = False
    is_shared: bool = False
    matstates: MatStateFigures | None = None
    members: Callable[[], Sequence[str]] | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        return f"n{self.id}"

    @property
    def piece(self) -> str:
        """What it computes, as text."""
        return self.meaning.text

    @property
    def title(self) -> str:
        """What it does in a word; an Emit is named by its query."""
        return f"emit {self.serves[0]}" if self.kind == "emit" else self.kind


@dataclass(frozen=True, slots=True)
class SharedEdge:
    """Queries that share an edge of trends from a MatPoint on, with MatStates of a window and the benefit expected."""

    queries: tuple[str, ...]
    matpoint: int
    matstates: float
    benefit: float


@dataclass(frozen=True, slots=True)
class TrendEdge:
    """An event of the row `target` may directly follow one of `source`; `condition` is empty where it always may.

    `parted` are the queries that have the edge, in the sets that share it; a set of one computes it alone. `loop`: it
    closes a Kleene.
    """

    source: int
    target: int
    condition: str
    loop: bool
    parted: tuple[tuple[str, ...], ...]
    shared: tuple[SharedEdge, ...]

    @property
    def matpoints(self) -> tuple[int, ...]:
        """The rows where the sharing begins, each once."""
        return tuple(dict.fromkeys(one.matpoint for one in self.shared))


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the plan: `span` are the seconds from its first event to the last, `elapsed` those that it took.

    `worked` are its seconds of processor time, where they were counted.
    `totals` are the rows of totals of every trend query.
    """

    events: int
    span: float
    elapsed: float
    totals: Mapping[str, int] = field(default_factory=dict)
    worked: float | None = None

    @property
    def seconds(self) -> float:
        """The factor for figures per second; a span of zero counts as one second."""
        return self.span or 1.0


@dataclass(frozen=True)
class Explanation:
    """A plan: its rows, inputs before their users, and for each query the row that answers it.

    `families`: how many queries stand behind the name of one. `per_million`: figures are shown per million events, not
    for the events that were counted.
    """

    optimizer: str
    rows: tuple[Row, ...]
    queries: Mapping[str, int]
    edges: tuple[TrendEdge, ...] = ()
    estimate: Estimate | None = None
    run: Run | None = None
    workload: str = ""
    families: Mapping[str, int] = field(default_factory=dict)
    units: UnitsShown | None = None
    per_million: bool = False

    @property
    def period(self) -> float:
        """The seconds of stream that rows and times are shown for: those of the events counted, or of a million."""
        known = self.estimate
        if known is None or not known.rate:
            return 1.0
        return (MILLION if self.per_million or not known.events else known.events) / known.rate

    @property
    def shown_for(self) -> str:
        """What rows and times are shown for, in words."""
        known = self.estimate
        if known is None or not known.rate:
            return "per second of stream"
        if self.per_million or not known.events:
            return "per million events"
        return f"for these {counted(known.events, 'event')}" if known.events > 1 else "for this event"

    @property
    def answered(self) -> int:
        """How many queries there are, those of families one by one."""
        return sum(self.behind(name) for name in self.queries)

    def behind(self, name: str) -> int:
        """How many queries a name stands for."""
        return self.families.get(name, 1)

    def called(self, name: str) -> str:
        """A query by its name, a family by how many it is."""
        if name not in self.families:
            return name
        return f"{counted(self.families[name], 'query')} like {name.removeprefix(LIKE)}"

    @cached_property
    def needs(self) -> Mapping[str, Sequence[Row]]:
        """The rows that each query depends on, in order."""
        found: dict[str, list[Row]] = {query: [] for query in self.queries}
        for row in self.rows:
            for query in row.serves:
                found[query].append(row)
        return found

    @cached_property
    def shared(self) -> Sequence[Row]:
        """The rows that serve more than one query."""
        return [row for row in self.rows if sum(map(self.behind, row.serves)) > 1]

    @property
    def at_work(self) -> float:
        """The seconds of all rows together."""
        return sum(row.worked or 0.0 for row in self.rows)

    def needed_cost(self, query: str) -> tuple[float, float]:
        """The cost of all rows that a query needs, and its share if each is divided among the queries it serves."""
        rows = self.needs[query]
        return sum(row.cost or 0.0 for row in rows), sum((row.cost or 0.0) / len(row.serves) for row in rows)
