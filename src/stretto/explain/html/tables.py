"""What the page of a plan shows: tables, figures, sections made of them. Cells are texts; the template escapes them."""

from collections.abc import Sequence
from dataclasses import dataclass

from stretto.explain.html.drawing import Drawing


@dataclass(frozen=True, slots=True)
class TableRow:
    """Cells, and what they have to do with a figure: `name` is that of the box they tell of, `queries` are those it
    serves, `chooses` the query that the first cell chooses there. `about`: more about the cell with number `about_at`.
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
