"""`stretto calibrate`: measure what the engine's work costs on this machine."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stretto.cli.console import FAILED, reported, say, tell
from stretto.errors import StrettoError

if TYPE_CHECKING:
    from stretto.memo.prices import Prices

EVENTS, RUNS = 250_000, 4
QUICK_EVENTS, QUICK_RUNS = 60_000, 2


def calibrate(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Where the prices go; by default, where plans look: STRETTO_PRICES or ~/.config/stretto/prices.json.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use fewer events and runs: rougher, but done in seconds.")
    ] = False,
) -> None:
    """Measure the costs that optimizers use: run small workloads and fit prices to their times.

    Example: stretto calibrate --quick --out prices.json
    """
    with reported():
        from stretto.memo.prices import prices_path

        place = out or prices_path()
        if place.is_dir():
            raise IsADirectoryError(21, "is a folder", str(place))
        place.parent.mkdir(parents=True, exist_ok=True)
    with reported(FAILED):
        _calibrate(place, QUICK_EVENTS if quick else EVENTS, QUICK_RUNS if quick else RUNS)


def _calibrate(place: Path, events: int, runs: int) -> None:
    import numpy as np

    from stretto.cli.calibrate.fit import fit_prices
    from stretto.cli.calibrate.trials import TRIALS, Bench
    from stretto.cli.calibrate.unit_prices import unit_prices
    from stretto.cli.results.tables import show_table
    from stretto.memo.prices import NAMES, Prices, save
    from stretto.solve.units.loads import capacity_of

    old = _before(place)
    outcomes = []
    for outcome in Bench(events).outcomes(TRIALS, runs):
        outcomes.append(outcome)
        _progress(len(outcomes), len(TRIALS), outcome.trial.name)
    fit = fit_prices(np.array([o.work for o in outcomes]), [o.nanoseconds for o in outcomes], Prices())
    found = unit_prices(fit.prices, events, runs)
    save(found, place)
    rows = zip(NAMES, old.values(), found.values(), strict=True)
    cells = [[name, f"{before:,.2f}", f"{now:,.2f}"] for name, before, now in rows]
    show_table("nanoseconds per unit of work", ["price", "old", "new"], cells)
    worst = sorted(zip(fit.ratios, outcomes, strict=True), key=lambda one: -abs(np.log(max(one[0], 1e-9))))
    named = ", ".join(f"{outcome.trial.name} {ratio:.2f}" for ratio, outcome in worst[:3])
    tell(f"{len(outcomes)} trials; predicted and measured differ by a factor of {fit.error:.2f} on average")
    tell(f"farthest off (predicted / measured): {named}")
    iota, kappa = capacity_of(found)
    tell(f"a unit takes in {iota:,.0f} rows and makes {kappa:,.0f} comparisons of keys in a second")
    tell(f"{place}: written")


def _before(place: Path) -> "Prices":
    """The prices that are replaced: the defaults if there are none, or none that can be read."""
    from stretto.memo.prices import Prices, load

    try:
        return load(place) if place.exists() else Prices()
    except StrettoError:
        return Prices()


def _progress(done: int, of: int, name: str) -> None:
    if sys.stderr.isatty():
        say(f"{done}/{of} {name}")
