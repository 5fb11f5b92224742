"""`stretto calibrate` on a few small trials, and the fit behind it."""

import json

import numpy as np
import pytest

from stretto.cli.calibrate import command as calibrate
from stretto.cli.calibrate import trials as price_trials
from stretto.cli.calibrate.fit import fit_prices, non_negative_least_squares
from stretto.cli.calibrate.trials import TRIALS
from stretto.cli.calibrate.unit_prices import unit_prices
from stretto.memo.prices import NAMES, STEP, Prices, load


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        price_trials, "TRIALS", tuple(t for t in TRIALS if t.name in ("events", "rows", "gap"))
    )
    monkeypatch.setattr(calibrate, "QUICK_EVENTS", 3_000)
    monkeypatch.setattr(calibrate, "QUICK_RUNS", 1)


@pytest.mark.usefixtures("few")
def test_prices_are_measured_and_stored(call, tmp_path) -> None:
    place = tmp_path / "deep" / "prices.json"
    result = call("calibrate", "--quick", "--out", str(place))
    assert result.code == 0, result
    for name in NAMES:
        assert f"\n{name} " in result.out
    assert "3 trials; predicted and measured differ by a factor of" in result.out
    assert load(place) != Prices()
    assert json.loads(place.read_text())["unit"] == "ns"


@pytest.mark.usefixtures("few")
def test_a_spoiled_file_is_replaced(call, tmp_path, monkeypatch) -> None:
    place = tmp_path / "prices.json"
    place.write_text("{")
    monkeypatch.setenv("STRETTO_PRICES", str(place))
    assert call("calibrate", "--quick").code == 0
    assert load(place) != Prices()


def test_a_folder_is_no_place_for_prices(call, tmp_path) -> None:
    result = call("calibrate", "--out", str(tmp_path))
    assert result.code == 2
    assert "is a folder" in result.err


def test_trials_have_names_of_their_own() -> None:
    assert len({trial.name for trial in TRIALS}) == len(TRIALS)


def test_every_price_is_tried_or_stays() -> None:
    bench = price_trials.Bench(2_000)
    work = np.array([bench.planned(trial)[1] for trial in TRIALS])
    untried = {name for name, total in zip(NAMES, work.sum(axis=0), strict=True) if total == 0}
    # Trials have no alternatives of groups and no trends; texts, new memory and units are measured without a fit.
    assert untried == {"unite", "update", "text", "fresh", "move", "hop", "distance"}


def test_steps_are_counted_as_trials_take_them() -> None:
    events = 5_000
    bench = price_trials.Bench(events)
    steps = {}
    for trial in (TRIALS[0], next(trial for trial in TRIALS if trial.name == "steps")):
        steps[trial.name] = bench.planned(trial)[1][NAMES.index("step")] * bench.stats.seconds
    assert steps["events"] == pytest.approx(
        events / STEP, rel=0.01
    )  # half a call of the scan, half of the emit
    # Two scans, 19 joins (0.91 is 0.910) and 20 that hand over; what the steps are is up to the runs.
    assert steps["steps"] == pytest.approx((2 / 2 + 19 + 20 / 2) * events / STEP, rel=0.01)


def test_what_is_measured_by_itself() -> None:
    found = unit_prices(Prices(text=0.0, fresh=0.0, move=0.0, hop=0.0, distance=0.0), 2_000, 1)
    assert min(found.text, found.fresh, found.move, found.hop, found.distance) > 0
    assert found.hop > found.move
    assert found.candidate == Prices().candidate


def test_known_prices_are_found_again() -> None:
    random = np.random.default_rng(1)
    wanted = np.array(Prices().values()) * random.uniform(0.9, 1.1, len(NAMES))
    work = random.uniform(0.1, 10, (200, len(NAMES))) / wanted
    fit = fit_prices(work, list(work @ wanted), Prices())
    np.testing.assert_allclose(fit.prices.values(), wanted, rtol=0.05)
    assert fit.error < 1.01


def test_what_trials_do_not_tell_goes_by_the_speed_of_the_machine() -> None:
    random = np.random.default_rng(1)
    old = np.array(Prices().values())
    work = random.uniform(0.1, 10, (200, len(NAMES))) / old
    work[:, NAMES.index("unite")] = 0
    fit = fit_prices(work, list(work @ old / 3), Prices())
    np.testing.assert_allclose(fit.prices.values(), old / 3, rtol=0.01)


def test_no_price_is_below_zero() -> None:
    design = np.array([[1.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(
        non_negative_least_squares(design, np.array([1.0, 2.0])), [1.5, 0.0], atol=1e-6
    )
    np.testing.assert_allclose(
        non_negative_least_squares(design, np.array([3.0, 2.0])), [2.0, 1.0], atol=1e-6
    )
