"""The operators of a plan. An operator names its inputs by their numbers in the plan and yields rows.

A row binds columns to events: one event each, or, once a Repeat has grown it, a set of events. A column may be
unbound in a row (an alternative that lacks it); a term that reads an unbound column does not apply. Every row also
has a first and a last time. Terms are conjuncts; their columns are those given at each operator.
"""

from dataclasses import field
from typing import Literal as OneOf

from stretto.pattern.nodes import Return, Stream, Thinning, Window
from stretto.pattern.piece import Place
from stretto.pattern.predicates import Expr
from stretto.plan.families.members import Constants, Route
from stretto.plan.front.leaves import Listing
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class Op:
    """An operator; immutable and picklable."""

    @property
    def inputs(self) -> tuple[int, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Scan(Op):
    """Events of a stream, one column."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class Join(Op):
    """Pairs of a left and a right row inside the window; columns: the left's, then the right's.

    `order` "before": all left events are strictly earlier than all right events; "any": no such rule (finer order
    constraints are terms over `ts`). `distinct`: pairs (left column, right column) that must not be one event, by the
    right's own numbering. `hashed`: rows with equal keys are found by hash; else equalities are compared with all rows
    of the window, as other terms are. `same`: pairs (left column, right column by its own numbering) that hold one
    event; rows are found by a hash of it, and the right's copy is left out of the result, whose columns the terms read.
    """

    left: int
    right: int
    window: Window
    order: OneOf["before", "any"] = "any"
    terms: tuple[Expr, ...] = ()
    distinct: tuple[tuple[int, int], ...] = ()
    hashed: bool = True
    same: tuple[tuple[int, int], ...] = ()

    @property
    def inputs(self) -> tuple[int, ...]:
        return (self.left, self.right)

    def added(self, width: int) -> list[int]:
        """Those of the right's columns, of which there are so many, that the result has."""
        held = {right for _, right in self.same}
        return [column for column in range(width) if column not in held]


@dataclass(frozen=True, slots=True)
class Filter(Op):
    """Rows that pass the terms and, where a window is given, keep inside it; none of the columns `bound` is unbound."""

    input: int
    terms: tuple[Expr, ...]
    window: Window | None = None
    bound: tuple[int, ...] = ()

    @property
    def inputs(self) -> tuple[int, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True)
class Repeat(Op):
    """Rows of `base`, whose columns `final` hold the last repetition, with the earlier repetitions added.

    Let w be the width of the base and e that of `element` (= len(final)). For every base row, every chain of element
    rows e1, e2, .., en (n from low - 1 to high - 1), each strictly before the next and the last strictly before the
    final repetition, inside the window (every element's first event is at most the window before the row's last):
    - `terms`, over columns base 0..w-1 and element w..w+e-1, hold for every element of the chain;
    - `adjacent`, over base 0..w-1, earlier element w..w+e-1, later element w+e..w+2e-1, hold for every two
      neighbours, the final repetition being the last of them;
    - `start`, over base and element as in `terms`, hold for the earliest repetition (the final one, if n = 0);
    - `distinct` pairs (base column, element column, by the element's own numbering) are not one event.
    Out come the base's columns; those of `final` become sets that hold all repetitions' events.
    `agreeing`: the element is the base itself, and repetitions are the final events of rows that agree with a row in
    all other columns; `start` reads them as column w. There are no terms, as rows of the base have passed them.
    """

    base: int
    element: int
    final: tuple[int, ...]
    low: int
    high: int | None
    window: Window
    terms: tuple[Expr, ...] = ()
    adjacent: tuple[Expr, ...] = ()
    start: tuple[Expr, ...] = ()
    distinct: tuple[tuple[int, int], ...] = ()
    agreeing: bool = False

    @property
    def inputs(self) -> tuple[int, ...]:
        return (self.base,) if self.agreeing else (self.base, self.element)


@dataclass(frozen=True, slots=True)
class Forbid(Op):
    """Rows of `input` (width w) without an event of `events`, a Scan, in the interval of `place`.

    `after` and `before` are columns of the input. `terms` read the forbidden event as column w. An event bound to
    one of the `distinct` columns of the row is not a forbidden one. Rows of a waiting place come out when their
    interval has passed.
    """

    input: int
    events: int
    place: Place
    window: Window
    after: tuple[int, ...] = ()
    before: tuple[int, ...] = ()
    terms: tuple[Expr, ...] = ()
    distinct: tuple[int, ...] = ()

    @property
    def inputs(self) -> tuple[int, ...]:
        return (self.input, self.events)


@dataclass(frozen=True, slots=True)
class Next(Op):
    """Skip-till-next-match over the steps of a sequence: one column per step; `bounds[i]` are its repetitions.

    `steps` are Scans, but for the first one if `begun` is more than 1: that gives the rows of runs over so many first
    steps, which go on here. Of the terms those that read other steps too are left. A step with bounds other than (1, 1)
    has a set column, unbound if it took nothing.
    `terms` read the columns; each is judged when the event taken makes it decidable: terms with aggregates, FIRST or
    LAST of a repeated step when the run leaves that step or reports. An event that fails those of `having` is taken
    all the same, and ends the run.
    """

    steps: tuple[int, ...]
    bounds: tuple[tuple[int, int | None], ...]
    window: Window
    terms: tuple[Expr, ...] = ()
    having: tuple[Expr, ...] = ()
    begun: int = 1

    @property
    def inputs(self) -> tuple[int, ...]:
        return self.steps


@dataclass(frozen=True, slots=True)
class PairedNext(Next):
    """An event and the next one behind it, for all entries of a family at once; `terms` are equalities with constants.

    Each reads one of the two steps, and Params. Rows have the number of their entry as a third column.
    """

    entries: Constants = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class StepGap:
    """What must not come between step `after` and the one behind it: rows of `events`, a Scan.

    `terms` read the steps' columns up to `after`, and the forbidden event as the column behind all steps.
    """

    events: int
    after: int
    terms: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Last(Op):
    """The most recent partial match of each number of steps, one per combination of values of `same`.

    `steps` are Scans, one column each. An event is offered to the steps from the last to the first: it moves the
    partial match on that stands before the step, if the `terms` it makes decidable hold, and takes its place.
    """

    steps: tuple[int, ...]
    window: Window
    same: tuple[Expr, ...] = ()
    terms: tuple[Expr, ...] = ()
    gaps: tuple[StepGap, ...] = ()

    @property
    def inputs(self) -> tuple[int, ...]:
        return (*self.steps, *(gap.events for gap in self.gaps))


@dataclass(frozen=True, slots=True)
class Union(Op):
    """All rows of the parts; column i of part k becomes column `columns[k][i]` of `width`, others stay unbound.

    `sets`: the columns that are sets in the result; single columns of a part are widened to sets of one.
    `distinct`: equal rows come out once.
    """

    parts: tuple[int, ...]
    columns: tuple[tuple[int, ...], ...]
    width: int
    sets: tuple[bool, ...]
    distinct: bool

    @property
    def inputs(self) -> tuple[int, ...]:
        return self.parts


@dataclass(frozen=True, slots=True)
class Emit(Op):
    """The matches of one query, from all of its parts: names for the columns, and the values to return.

    Column i of part k is variable `columns[k][i]`; variables that a part's columns do not name are unbound in
    its matches. `kleene`: the variables reported as lists. Single columns of a part are widened to sets of
    one; the set column of a variable that is no list (a step of Next that may be left out) holds at most one
    event and becomes single. `waits[k]`: a waiting negation makes the matches of part k certain only at
    first.ts + `window`; other matches are certain at their last event. `open_ends`: where steps of a run may be left
    out, pairs of variables (earlier, later): a match waits only if for some pair an earlier one is bound and no later
    one; empty where all matches of a part that waits do. `distinct`: equal matches, of one part
    or of several, come out once, when the first of them is certain. Columns in `returns` are numbers of
    variables. `listings[i]`: what is listed of variable i, where its events need not be raw ones; empty where all
    variables hold raw events. `route`: of a family, from rows of its template to the members. `thinning`: which of the
    matches are reported; what computes them is the same without.
    """

    query: str
    variables: tuple[str, ...]
    kleene: tuple[bool, ...]
    parts: tuple[int, ...]
    columns: tuple[tuple[int, ...], ...]
    waits: tuple[bool, ...]
    window: Window
    distinct: bool = False
    returns: tuple[Return, ...] = ()
    listings: tuple[tuple[Listing, ...], ...] = ()
    route: Route | None = field(default=None, compare=False)
    thinning: Thinning | None = None
    open_ends: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()

    @property
    def inputs(self) -> tuple[int, ...]:
        return self.parts

    @property
    def shown(self) -> tuple[Return, ...]:
        """The columns of the result; the others are for KEEP."""
        return tuple(item for item in self.returns if not item.hidden)

    @property
    def numbers_events(self) -> bool:
        """Whether matches are compared by numbers of their events: different events may list the same ids."""
        return bool(self.listings) and self.thinning is not None and self.thinning.word == "LONGEST"

    @property
    def listed(self) -> tuple[str, ...]:
        """The names under which ids are listed."""
        if not self.listings:
            return self.variables
        named = zip(self.variables, self.listings, strict=True)
        return tuple(listing.under(variable) for variable, under in named for listing in under)

    @property
    def by_name(self) -> tuple[int, ...]:
        """The order in which the ids in `listed` break ties of KEEP: variable by variable, leaves by their names."""
        if not self.listings:
            return tuple(range(len(self.variables)))
        paths = [(number, listing.path) for number, under in enumerate(self.listings) for listing in under]
        return tuple(sorted(range(len(paths)), key=paths.__getitem__))

    @property
    def lists(self) -> tuple[bool, ...]:
        """Which of these are lists."""
        if not self.listings:
            return self.kleene
        known = zip(self.kleene, self.listings, strict=True)
        return tuple(several or listing.many for several, under in known for listing in under)
