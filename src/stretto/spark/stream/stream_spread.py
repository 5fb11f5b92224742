"""How a stream's events get to targets: chosen once, and noted in the checkpoint."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.plan.placement.cells import ByCell
from stretto.plan.placement.placement import Grid
from stretto.plan.spread.partition_keys import key_attributes, of_single_events
from stretto.plan.spread.spreads import ByKey, Whole
from stretto.plan.spread.staged import Staged
from stretto.plan.spread.stream_choice import units_if_they_pay
from stretto.plan.spread.stream_slices import Slices, StreamSpread
from stretto.spark.checkpoint_notes import read_note, write_note
from stretto.spark.errors import StrettoSparkError
from stretto.text.values import duration_text

BUCKETS: Final = 16
"""Key buckets of a stream. A checkpoint is bound to their number, so it depends on nothing."""
SPREAD_FILE: Final = "spread.json"
NAMES: Final = ("auto", "key", "time", "units", "whole")


def stream_spread(
    plan: Plan,
    name: str = "auto",
    folder: str | Path | None = None,
    *,
    width_us: int | None = None,
    units: int | None = None,
    cores: int = 1,
    ids: bool = True,
) -> StreamSpread:
    """How a stream's events get to targets: `auto`, by key where all queries allow it, by cells where these pay, else
    all to one.

    The state is laid out by it, so it must stay the same for as long as a checkpoint is used: with a folder, it is
    chosen once and noted there. `width_us`: that of slices, `units`: the number of cells, where they are asked for;
    as many as `cores`, if there is no number. `ids`: whether events have some.
    """
    if name not in NAMES:
        raise StrettoSparkError(f"a stream cannot be spread by `{name}`; there are: {', '.join(NAMES)}")
    if width_us is not None and name != "time":
        raise StrettoSparkError(f"a slice is for a stream that is spread by `time`, not by `{name}`")
    if units is not None and name != "units":
        raise StrettoSparkError(
            f"a number of units is for a stream that is spread by `units`, not by `{name}`"
        )
    note = None if folder is None else Path(folder) / SPREAD_FILE
    noted = None if note is None else read_note(note, _spread_of)
    spread = noted or _chosen(plan, name, width_us, units, cores, ids=ids)
    if isinstance(spread, ByCell) and folder is not None:
        spread = replace(spread, types=None)  # a later version may read any type
    wrong = spread.check(plan)
    if wrong is None and noted is not None:
        wrong = _otherwise(noted, name, width_us, units)
    if wrong is not None:
        other = "" if noted is None else " (another spread needs another checkpoint)"
        raise StrettoSparkError(f"the workload does not fit the stream: {wrong}{other}")
    require_ids(plan, spread, ids=ids, follows=folder is not None)
    if note is not None and noted is None:
        write_note(note, {"spread": _noted_name(spread), **asdict(spread)})
    return spread


def spread_told(plan: Plan, spread: StreamSpread, cores: int) -> str:
    """One line on how a stream is spread, and what that excludes for as long as its checkpoint is used."""
    if isinstance(spread, ByKey):
        keys = ", ".join(f"`{name}`" for name in spread.attributes)
        return (
            f"spread by key {keys} into {spread.buckets} buckets: queries that are added later must be tied by it too"
            " (`[attr]`; --spread whole takes any query)"
        )
    if isinstance(spread, Slices):
        return (
            f"spread by slices of time, {duration_text(spread.width_us)} each:"
            " queries that are added later must have windows that fit"
        )
    weighed = units_if_they_pay(plan, cores).because
    if isinstance(spread, Staged):
        return (
            f"spread by units, {spread.targets} staged ones in {spread.last_stage} stages ({weighed}): the workload"
            " cannot change while the checkpoint is used"
        )
    if isinstance(spread, ByCell):
        grid = " x ".join(f"`{name}` in {parts}" for name, parts in spread.anchors)
        return (
            f"spread by units, {spread.targets} cells ({grid}; {weighed}): in queries that are added later, matches"
            " must hold one event of a divided type or none"
        )
    return (
        f"not spread: all events go to one target, so any query can be added later (not by units: {weighed})"
    )


def _otherwise(noted: StreamSpread, name: str, width_us: int | None, units: int | None) -> str | None:
    """How the spread of a checkpoint differs from what is asked for; None if it does not."""
    if name not in ("auto", _name(noted)):
        return f"its events were spread by {_name(noted)} so far, not by {name}"
    if isinstance(noted, Slices) and width_us not in (None, noted.width_us):
        return f"its slices were {duration_text(noted.width_us)} wide so far, not {duration_text(width_us)}"
    if isinstance(noted, ByCell) and units not in (None, noted.targets):
        return f"its events went to {noted.targets} cells so far, not to {units}"
    if isinstance(noted, Staged) and units not in (None, max(noted.units)):
        return f"its operators had {max(noted.units)} units each so far, not {units}"
    return None


def _chosen(
    plan: Plan, name: str, width_us: int | None, units: int | None, cores: int, *, ids: bool
) -> StreamSpread:
    if name == "whole":
        return Whole()
    if name == "units":
        found = units_if_they_pay(plan, cores, units)
        if found.best is None:
            raise StrettoSparkError(f"cannot spread by units: {found.because}")
        return found.best
    if name == "time":
        try:
            return Slices.of(plan, width_us)
        except StrettoError as error:
            raise StrettoSparkError(str(error)) from error
    # A stream's key is for good, so a query must name it: later ones have to be tied by it too.
    attributes = key_attributes(plan)
    if attributes:
        return ByKey(attributes, BUCKETS)
    if name == "key" and of_single_events(plan):
        raise StrettoSparkError(
            "cannot spread by key: all queries are about single events, and none names a key (write `[attr]` in one)"
        )
    if name == "key":
        raise StrettoSparkError("cannot spread by key: no attribute ties all events of every query")
    return (units_if_they_pay(plan, cores).units if ids else None) or Whole()


def _name(spread: StreamSpread) -> str:
    if isinstance(spread, Slices):
        return "time"
    if isinstance(spread, ByCell | Staged):
        return "units"
    return "key" if isinstance(spread, ByKey) else "whole"


def _noted_name(spread: StreamSpread) -> str:
    if isinstance(spread, ByCell):
        return "cells"
    return "staged" if isinstance(spread, Staged) else _name(spread)


def _spread_of(noted: dict[str, Any]) -> StreamSpread:
    name = noted.pop("spread")
    if name == "staged":
        grids = tuple(Grid(**grid | {"heavy": tuple(grid.get("heavy", ()))}) for grid in noted["grids"])
        return Staged(
            grids, tuple(noted["stages"]), tuple(noted["units"]), noted["digest"], tuple(noted["taken"])
        )
    if name == "whole":
        return Whole()
    if name == "time":
        return Slices(**noted)
    if name == "units":  # as version 0.2 noted cells, whose state lies under other keys
        raise StrettoSparkError(
            "the checkpoint holds cells of an earlier version, and what they keep would not be found:"
            " start with another checkpoint"
        )
    if name == "cells":
        types = noted["types"]
        anchors = tuple((str(anchor), int(parts)) for anchor, parts in noted["anchors"])
        return ByCell(anchors, None if types is None else tuple(types))
    return ByKey(tuple(noted["attributes"]), int(noted["buckets"]))


def require_ids(plan: Plan, spread: StreamSpread, *, ids: bool, follows: bool) -> None:
    """The numbers that a target gives are its own. Totals of trends need none, and a later version may find matches."""
    if isinstance(spread, Slices) and not ids and (plan.queries or follows):
        raise StrettoSparkError(
            "the events have no column of ids: spread by time, an event may go to two targets, "
            "and both must know it by one id"
        )
    if isinstance(spread, ByCell | Staged) and not ids:
        raise StrettoSparkError(
            "the events have no column of ids: spread by units, events go to units by their ids"
        )
