"""Types that change places as a stream goes on."""

import numpy as np
import pyarrow as pa
import pytest

from stretto.errors import EventsError
from stretto.generate.reshuffle import DRAWN, Reshuffle
from stretto.generate.streams import StreamOptions, generate, generate_batches


def pairs(how: Reshuffle, events: int = 20_000, kind: str = "mcep-stocks") -> tuple[np.ndarray, np.ndarray]:
    """The types of the events as they were and as they became."""
    types = None if kind == "mcep-stocks" else 8
    plain = generate(kind, events, seed=4, types=types)
    changed = generate(kind, events, seed=4, types=types, reshuffle=how)
    assert plain.drop_columns("type").equals(changed.drop_columns("type"))
    return tuple(t["type"].combine_chunks().indices.to_numpy() for t in (plain, changed))  # type: ignore[return-value]


@pytest.mark.parametrize("lasting", [False, True])
def test_the_same_however_it_is_cut(lasting: bool) -> None:
    how = Reshuffle(7, 3, lasting)
    whole = generate("uniform", 70_000, seed=1, reshuffle=how)
    options = StreamOptions(seed=1, reshuffle=how)
    cut = pa.Table.from_batches(generate_batches("uniform", 70_000, options, batch=777))
    assert cut.combine_chunks().equals(whole)
    assert generate("uniform", 999, seed=1, reshuffle=how).equals(whole.slice(0, 999).combine_chunks())


def test_each_stretch_has_its_own_few_types_that_go_round() -> None:
    before, after = pairs(Reshuffle(2_000, 5))
    for start in range(0, 20_000, 2_000):
        stretch = slice(start, start + 2_000)
        changes = {(a, b) for a, b in zip(before[stretch], after[stretch], strict=True) if a != b}
        origin, place = {a for a, _ in changes}, {b for _, b in changes}
        assert 0 < len(origin) <= 5
        assert len(origin) == len(changes) == len(place)


def test_without_lasting_most_events_keep_their_type() -> None:
    before, after = pairs(Reshuffle(100, 5))
    assert (before != after).mean() < 0.05


def test_lasting_changes_pile_up() -> None:
    before, after = pairs(Reshuffle(100, 5, lasting=True))
    changed = before != after
    assert changed[:1_000].mean() < 0.3
    assert changed[-1_000:].mean() > 0.9


def test_lasting_places_stay_a_permutation() -> None:
    before, after = pairs(Reshuffle(50, 3, lasting=True), kind="uniform")
    for start in range(0, len(before), 50 * DRAWN):
        stretch = slice(start, start + 50)
        found = dict(zip(before[stretch].tolist(), after[stretch].tolist(), strict=True))
        assert len(set(found.values())) == len(found)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Reshuffle(0), "every 1 or more events"),
        (lambda: Reshuffle(10, 1), "at least 2 types"),
        (lambda: generate("uniform", 1, types=3, reshuffle=Reshuffle(10, 4)), "4 types cannot change places"),
    ],
)
def test_refusals(call, message: str) -> None:
    with pytest.raises(EventsError, match=message):
        call()
