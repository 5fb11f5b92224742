"""Drawings: boxes and lines with places, which the template `drawing.html` writes as SVG."""

from collections.abc import Sequence
from typing import Final

from stretto.records import dataclass

BOX_WIDTH: Final = 168
BOX_HEIGHT: Final = 26
COLUMN: Final = 226
ROW: Final = 33
MARGIN: Final = 8
LOOP: Final = 22
"""How far a loop stands out above its box."""
LONGEST: Final = 24
"""Characters that fit a box."""


@dataclass(frozen=True, slots=True)
class Box:
    """One node: its left edge, the middle of its height, what it says, and what it says to a pointer.

    `queries`: the numbers of those that it serves.
    """

    name: str
    x: float
    y: float
    label: str
    about: str
    kind: str
    queries: Sequence[int] = ()

    @property
    def top(self) -> float:
        return self.y - BOX_HEIGHT / 2

    @property
    def middle(self) -> float:
        return self.x + BOX_WIDTH / 2


@dataclass(frozen=True, slots=True)
class Connection:
    """One edge between boxes, by name; with a label, the place of its middle."""

    source: str
    target: str
    path: str
    kind: str = ""
    about: str = ""
    label: str = ""
    x: float = 0.0
    y: float = 0.0
    queries: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes above lines."""

    boxes: Sequence[Box]
    lines: Sequence[Connection]
    depth: float = 0.0
    box_width: int = BOX_WIDTH
    box_height: int = BOX_HEIGHT

    @property
    def width(self) -> float:
        return max((box.x for box in self.boxes), default=0.0) + BOX_WIDTH + MARGIN

    @property
    def height(self) -> float:
        """`depth`: how far lines go, if that is below all boxes."""
        lowest = max((box.y for box in self.boxes), default=0.0) + BOX_HEIGHT / 2
        return max(lowest, self.depth) + MARGIN


def place(column: int, row: float, down: float = 0.0) -> tuple[float, float]:
    """The left edge and the middle of the height of the box in this column and row."""
    return MARGIN + COLUMN * column, down + MARGIN + BOX_HEIGHT / 2 + ROW * row


def curve(source: tuple[float, float], target: tuple[float, float]) -> str:
    """A line from the right of one box to the left of another."""
    (x, y), (end, then) = source, target
    start = x + BOX_WIDTH
    middle = (start + end) / 2
    return f"M{start:.0f} {y:.0f}C{middle:.0f} {y:.0f} {middle:.0f} {then:.0f} {end:.0f} {then:.0f}"


def bow(source: tuple[float, float], target: tuple[float, float], lowest: float) -> tuple[str, float, float]:
    """A line that does not lead to the right, and where its label stands: over a box to itself, or back below all."""
    (x, y), (to, then) = source, target
    half = BOX_HEIGHT / 2
    if source == target:
        top = y - half
        start, end, over = x + 0.7 * BOX_WIDTH, x + 0.3 * BOX_WIDTH, top - LOOP
        return _bent(start, end, top, over, top), x + BOX_WIDTH / 2, over + 2
    down = lowest + 2 * LOOP
    path = _bent(x + BOX_WIDTH / 2, to + BOX_WIDTH / 2, y + half, down, then + half)
    return path, (x + to + BOX_WIDTH) / 2, down - LOOP / 2


def _bent(start: float, end: float, y: float, over: float, then: float) -> str:
    """A line that leaves and comes back upright, bent towards the height `over`."""
    return f"M{start:.0f} {y:.0f}C{start:.0f} {over:.0f} {end:.0f} {over:.0f} {end:.0f} {then:.0f}"


def short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}.."
