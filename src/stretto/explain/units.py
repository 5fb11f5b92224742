"""Units of a plan, as pages and texts show them: what a model expects of each, and what a run measured."""

from collections.abc import Iterator, Sequence

from stretto.explain.numbers import bytes_text, columns, rate_text, time_text
from stretto.records import dataclass

NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class MeasuredUnit:
    """What an operator did on one unit in a run: rows that reached it, kept rows looked at, bytes kept, seconds."""

    rows: int
    compared: int
    held: int
    seconds: float


@dataclass(frozen=True, slots=True)
class UnitShare:
    """What one operator has on a unit: rows and comparisons per second of stream, bytes kept, its load."""

    operator: str
    rows: float
    compared: float
    bytes: float
    load: float
    why: str
    measured: MeasuredUnit | None = None


@dataclass(frozen=True, slots=True)
class UnitLane:
    """A unit with its operators; only light ones share one."""

    name: str
    shares: tuple[UnitShare, ...]

    @property
    def load(self) -> float:
        return sum(share.load for share in self.shares)

    @property
    def seconds(self) -> float | None:
        """What the unit took in a run, if there was one."""
        found = [share.measured.seconds for share in self.shares if share.measured is not None]
        return sum(found) if found else None


@dataclass(frozen=True, slots=True)
class UnitsShown:
    """All units of a plan; `text` says the same in lines, `span`: seconds of stream that a run replayed."""

    title: str
    text: str
    lanes: tuple[UnitLane, ...]
    span: float | None = None


HEADS = ("unit", "operator", "rows in", "compared", "state", "load")
MEASURED = ("rows in, run", "looked at, run", "state, run", "time, run", "load, run")


def cells_of(shown: UnitsShown) -> tuple[Sequence[str], list[list[str]]]:
    """The units as a table: heads and cells."""
    return [*HEADS, *(MEASURED if shown.span is not None else ())], list(_cells(shown))


def _cells(shown: UnitsShown) -> Iterator[list[str]]:
    for lane in shown.lanes:
        for share in lane.shares:
            cells = [
                lane.name,
                share.operator,
                rate_text(share.rows),
                rate_text(share.compared),
                bytes_text(share.bytes),
                f"{share.load:.3g}",
            ]
            done = share.measured
            if done is not None and shown.span:
                cells += [
                    f"{done.rows:,}",
                    f"{done.compared:,}",
                    bytes_text(done.held),
                    time_text(done.seconds * NANOSECONDS),
                    f"{done.seconds / shown.span:.3g}",
                ]
            yield cells


def units_text(shown: UnitsShown) -> str:
    """What the model says, and below it the units as a table where a run measured them."""
    if shown.span is None:
        return shown.text
    heads, rows = cells_of(shown)
    return "\n".join([shown.text.rstrip("\n"), "", *columns([heads, *rows], left=2)]) + "\n"
