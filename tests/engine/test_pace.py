"""The length of steps follows the work of the operators."""

from stretto.engine.pace import BUSY_S, CROWDED_S, IDLE_S, LARGE_STEP, SMALL_STEP, STEP, Pace

MUCH_MEMORY = 1 << 40


def followed(pace: Pace, seconds: float, steps: int) -> int:
    for _ in range(steps):
        pace.follow(pace.size, 10, 10 * seconds, MUCH_MEMORY)
    return pace.size


def test_calls_that_cost_more_than_rows_make_steps_longer() -> None:
    assert followed(Pace(STEP, fixed=False), IDLE_S / 4, 9) == LARGE_STEP


def test_busy_operators_come_back_to_the_usual_step_and_stay_there() -> None:
    busy = (BUSY_S + CROWDED_S) / 2
    assert followed(Pace(LARGE_STEP, fixed=False), busy, 9) == STEP
    assert followed(Pace(STEP, fixed=False), busy, 9) == STEP
    assert followed(Pace(SMALL_STEP, fixed=False), busy, 9) == SMALL_STEP


def test_operators_with_more_rows_than_a_cache_holds_make_steps_shorter_than_usual() -> None:
    pace = Pace(STEP, fixed=False)
    assert followed(pace, 2 * CROWDED_S, 1) == STEP // 2
    assert followed(pace, 2 * CROWDED_S, 9) == SMALL_STEP


def test_short_steps_become_longer_again() -> None:
    pace = Pace(SMALL_STEP, fixed=False)
    assert followed(pace, IDLE_S / 4, 1) > SMALL_STEP


def test_a_given_length_stays() -> None:
    pace = Pace(100, fixed=True)
    assert followed(pace, 2 * CROWDED_S, 3) == 100
    assert followed(pace, IDLE_S / 4, 3) == 100
