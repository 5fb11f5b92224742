"""Units drawn as lanes: a bar per operator on a unit, as long as its load, and what a run measured below it."""

from typing import Final, Literal

from stretto.explain.units import UnitLane, UnitShare, UnitsShown
from stretto.records import dataclass

LEFT: Final = 64
FULL: Final = 760
"""Where bars begin, and how long the longest is."""
WIDTH: Final = 960
PITCH, BAR, THIN = 26, 16, 4
NAMED_FROM: Final = 30.0
"""So long a bar has room for a name."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle; `about` is shown to who points at it."""

    kind: Literal["load", "full", "measured"]
    x: float
    y: int
    width: float
    height: int
    about: str


@dataclass(frozen=True, slots=True)
class Word:
    """A text at a place."""

    kind: Literal["unit", "inside", "beside"]
    x: float
    y: int
    text: str


@dataclass(frozen=True, slots=True)
class LaneDrawing:
    """Bars and words, all that is drawn."""

    width: int
    height: int
    bars: tuple[Bar, ...]
    words: tuple[Word, ...]


def lanes_of(shown: UnitsShown) -> LaneDrawing:
    """A lane for each unit; the fullest is marked, and the longest bar is as long as there is room."""
    spans = shown.span or 0.0
    measured = [lane.seconds / spans for lane in shown.lanes if lane.seconds is not None and spans]
    fullest = max((lane.load for lane in shown.lanes), default=0.0)
    scale = FULL / max([fullest, *measured, 1e-300])
    bars: list[Bar] = []
    words: list[Word] = []
    for number, lane in enumerate(shown.lanes):
        top = number * PITCH + 4
        words.append(Word("unit", 4.0, top + 13, lane.name))
        x = float(LEFT)
        for share in lane.shares:
            width = max(share.load * scale, 1.0)
            kind: Literal["load", "full"] = "full" if lane.load >= fullest * (1 - 1e-9) else "load"
            bars.append(Bar(kind, x, top, width - 0.5, BAR, _about(lane, share)))
            if width >= NAMED_FROM:
                words.append(Word("inside", x + 5, top + 12, share.operator))
            x += width
        words.append(Word("beside", x + 6, top + 13, f"{lane.load:.3g}"))
        if lane.seconds is not None and spans:
            done = lane.seconds / spans
            about = f"{lane.name}, measured: load {done:.3g}"
            bars.append(Bar("measured", float(LEFT), top + BAR + 1, max(done * scale, 1.0), THIN, about))
    return LaneDrawing(WIDTH, max(len(shown.lanes) * PITCH + 8, 1), tuple(bars), tuple(words))


def _about(lane: UnitLane, share: UnitShare) -> str:
    return (
        f"{lane.name}: {share.operator}, load {share.load:.3g} by {share.why};"
        f" {share.rows:.3g} rows/s in, {share.compared:.3g} comparisons/s, {share.bytes:,.0f} bytes"
    )
