"""The sections of a plan's page: drawings, and tables of operators, of the edges of trends, and of queries.

Cells are texts; the template escapes them.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from stretto.explain.html.drawing import Drawing
from stretto.explain.html.lanes import LaneDrawing, lanes_of
from stretto.explain.html.picture import fitting, picture
from stretto.explain.measured import cells_of
from stretto.explain.model import SOURCES, Explanation, Row, TrendEdge
from stretto.explain.numbers import number_text, rows_text, share_text, some, time_text
from stretto.explain.text import label
from stretto.explain.units import UnitsShown
from stretto.explain.units import cells_of as units_cells
from stretto.records import dataclass
from stretto.screen import counted

FIGURE: Final = "operators"
MOST_DRAWN: Final = 2000
"""Rows of one drawing: more are slow to draw, and nobody finds anything in them."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """Cells, and what they have to do with a figure: `name` is the box they describe, `queries` are those it
    serves, `chooses` is the query that the first cell chooses. `about` says more of the cell with number `about_at`.
    """

    cells: Sequence[str]
    name: str = ""
    queries: Sequence[int] = ()
    chooses: int | None = None
    about: str = ""
    about_at: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """The first `words` columns hold texts, the others numbers; the one with number `code` holds a pattern."""

    heads: Sequence[str]
    rows: Sequence[TableRow]
    words: int = 1
    code: int | None = None
    figure: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with the names of its queries; `cyclic`: its lines lead in circles."""

    name: str
    picture: Drawing
    queries: Sequence[str]
    hint: str
    cyclic: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page under its title."""

    title: str
    lines: Sequence[str] = ()
    figure: Figure | None = None
    table: Table | None = None
    lanes: LaneDrawing | None = None


def sections(found: Explanation) -> Iterator[Section]:
    """The drawing, the table of operators, measured too if there was a run, edges of trends, and queries."""
    drawn = fitting(found, found.queries, MOST_DRAWN)
    left_out = len(found.queries) - len(drawn)
    lines = ["From events on the left to queries on the right; what is shared by several queries is marked."]
    if found.edges:
        lines.append(
            "Of trends, lines between types of events say which may follow which. What is computed once for several "
            "queries, or for the overlapping windows of one, begins at a MatPoint, with the thickest frame."
        )
    if left_out:
        lines.append(f"{counted(left_out, 'more query')}: too many to draw; the tables have all.")
    hint = "Choose a query, or point at an operator; a click leads to its line below."
    figure = Figure(FIGURE, picture(found, drawn), drawn, hint, cyclic=bool(found.edges))
    yield Section("The plan", lines, figure)
    if found.units is not None:
        yield _units(found.units)
    yield Section("Operators", [_about_operators(found)], table=_operators(found))
    if found.edges:
        about = "(q1, q2)(q3): q1 and q2 share the edge, q3 computes it alone; + closes a Kleene."
        yield Section("Edges of trends", [about], table=_edges(found))
    yield Section("Queries, and what each shares", [_about_queries(found)], table=_queries(found, len(drawn)))


def _units(shown: UnitsShown) -> Section:
    """The units as lanes, and as a table."""
    heads, rows = units_cells(shown)
    about = "One lane a unit, as long as its load; the fullest sets the speed."
    if shown.span is not None:
        about += " The thin bar below is what a run measured."
    table = Table(heads, [TableRow(cells) for cells in rows], words=2)
    return Section(shown.title, [about], table=table, lanes=lanes_of(shown))


def _about_operators(found: Explanation) -> str:
    if found.run is None:
        return f"What each computes, for whom; rows and CPU time {found.shown_for}, as estimated; the rule behind it."
    return (
        "What each computes, for whom, by which rule; rows and CPU time of the whole run as estimated and as measured. "
        "The q-error is the factor by which an estimate of rows is off."
    )


def _operators(found: Explanation) -> Table:
    heads = ["", "computes", "serves", "rule"]
    heads += (
        ["rows", "CPU time", "share"]
        if found.run is None
        else ["rows est.", "rows", "q-error", "CPU est.", "CPU", "share"]
    )
    numbers = {query: number for number, query in enumerate(found.queries)}
    rows = []
    for row in found.rows:
        cells = [f"{row.name} {row.title}", row.piece, named(row.serves), row.because, *_figures(found, row)]
        queries = [numbers[query] for query in row.serves]
        rows.append(TableRow(cells, row.name, queries, about=", ".join(row.serves), about_at=2))
    return Table(heads, rows, words=4, code=1, figure=FIGURE)


def _figures(found: Explanation, row: Row) -> list[str]:
    if found.run is not None:
        return cells_of(row, found.run, found.at_work)
    known, cost = found.estimate, row.cost
    return [
        "" if row.rows is None else rows_text(row.rows * found.period).partition(" row")[0],
        "" if cost is None else time_text(cost * found.period),
        "" if cost is None or known is None else share_text(cost, known.cost),
    ]


def _edges(found: Explanation) -> Table:
    heads = ["", "from", "to", "where", "queries", "MatPoint", "MatStates in a window", "benefit"]
    return Table(heads, [_edge(found, edge) for edge in found.edges], words=6, code=3)


def _edge(found: Explanation, edge: TrendEdge) -> TableRow:
    cells = [
        "+" if edge.loop else "",
        found.rows[edge.source].piece,
        found.rows[edge.target].piece,
        edge.condition,
        label(edge),
        ", ".join(found.rows[one.matpoint].piece for one in edge.shared),
        ", ".join(number_text(one.matstates) for one in edge.shared),
        ", ".join(number_text(one.benefit) for one in edge.shared),
    ]
    names = ", ".join(query for queries in edge.parted for query in queries)
    return TableRow(cells, about=names, about_at=4)


def _about_queries(found: Explanation) -> str:
    costs = (
        ""
        if found.estimate is None
        else " Its share of the CPU time divides each operator among those it serves."
    )
    return (
        f"{len(found.shared):,} of {counted(len(found.rows), 'operator')} serve more than one query. "
        f"Companions are the queries it has operators above events in common with.{costs}"
    )


def _queries(found: Explanation, drawn: int) -> Table:
    heads = ["query", "companions", "operators", "shared"]
    heads += [] if found.estimate is None else ["CPU time of all", "its share"]
    totals = None if found.run is None or not found.run.totals else found.run.totals
    heads += [] if totals is None else ["totals"]
    rows = []
    for number, query in enumerate(found.queries):
        needed = found.needs[query]
        common = [row for row in needed if len(row.serves) > 1]
        companions = list(
            dict.fromkeys(
                other for row in common if row.kind not in SOURCES for other in row.serves if other != query
            )
        )
        cells = [query, named(companions, always=True) or "none", f"{len(needed):,}", f"{len(common):,}"]
        if found.estimate is not None:
            cells += (time_text(cost * found.period) for cost in found.needed_cost(query))
        if totals is not None:
            cells.append(f"{totals[query]:,}" if query in totals else "")
        chooses = number if number < drawn else None
        rows.append(TableRow(cells, chooses=chooses, about=", ".join(companions), about_at=1))
    return Table(heads, rows, words=2, figure=FIGURE)


def named(queries: Sequence[str], *, always: bool = False) -> str:
    """`2: q1, q2`; a single query has its number only with `always`."""
    counts = len(queries) > 1 or (always and queries)
    return f"{len(queries):,}: {some(queries)}" if counts else some(queries)
