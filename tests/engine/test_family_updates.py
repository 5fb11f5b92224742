"""Members of a family come, change and go while an engine runs."""

from random import Random

import pyarrow as pa
import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import SCHEMA, random_events, to_table

from stretto import oracle
from stretto.engine.planning import optimize
from stretto.engine.run import Engine
from stretto.pattern.workload import Workload

FAMILIES = (
    "SEQ(A a, B b) WHERE a.k = r.k AND b.x > r.low WITHIN r.horizon SELECT NEXT",
    "SEQ(A a, B b) WHERE a.k = r.k AND b.x > r.low WITHIN r.horizon RETURN r.low AS low",
    "SEQ(A a, B b) WHERE a.x < b.x WITHIN r.horizon SELECT NEXT",
    "SEQ(A a, B b, NOT(A c)) WHERE c.k = r.k AND a.k = r.k WITHIN r.horizon",
    "A a WHERE a.x > r.low WITHIN r.horizon",
)


def table_of(rng: Random, keys: list[int]) -> pa.Table:
    return pa.table(
        {
            "id": keys,
            "k": [rng.choice((0, 1, 2)) for _ in keys],
            "low": [rng.choice((-1.5, 0.5, 1.0)) for _ in keys],
            "horizon": pa.array([rng.choice((2, 5, 9)) for _ in keys], pa.duration("us")),
        }
    )


@pytest.mark.parametrize("text", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_members_are_added_changed_and_removed(text: str, seed: int) -> None:
    rng = Random(seed)
    events = sorted(random_events(rng, ("A", "B"), most=24), key=lambda event: event.ts)
    workload = Workload.parse(f"QUERY q FOR EACH rows r KEY r.id PATTERN {text};")
    before = table_of(rng, [1, 2, 3])
    # 1 goes, 2 stays, 3 changes, 4 and 5 come
    after = pa.concat_tables([before.slice(1, 1), table_of(rng, [3, 4, 5])])
    first, second = workload.table("rows", before), workload.table("rows", after)
    engine = Engine(optimize(first, SCHEMA), updatable=True, history_us=1 << 40)
    cut = len(events) // 2
    early = engine.push(to_table(events).slice(0, cut))
    engine.update(second)
    since, late = engine.until_us, engine.nothing()
    late.extend(engine.push(to_table(events).slice(cut)))
    late.extend(engine.flush())
    for part, known, wanted in (
        (early, first, lambda detected: detected < since),
        (late, second, lambda detected: detected >= since),
    ):
        (family,) = known.bind(SCHEMA).families
        for member, matches in oracle.family_matches(family, events).items():
            found = matches_of(part[f"q[{member}]"], family.template)
            assert_same_matches(found, [match for match in matches if wanted(match.detected)], about=member)
    assert set(late.members("q")) <= {"2", "3", "4", "5"}


def test_a_family_can_come_later() -> None:
    """The first plan has no derived events, the second one pairs them."""
    plain = "QUERY p PATTERN SEQ(A a, B b) WHERE a.k = b.k WITHIN 9 us;"
    family = (
        "QUERY q FOR EACH rows r PATTERN SEQ(A a, B b) WHERE a.k = r.k AND b.k = r.k WITHIN 9 us SELECT NEXT;"
    )
    events = sorted(random_events(Random(5), ("A", "B"), most=24), key=lambda event: event.ts)
    rows = {"k": [0, 1, 2]}
    engine = Engine(optimize(Workload.parse(plain), SCHEMA), updatable=True, history_us=1 << 40)
    found = engine.push(to_table(events).slice(0, 12))
    both = Workload.parse(plain + family).table("rows", rows)
    engine.update(both)
    found.extend(engine.push(to_table(events).slice(12)))
    found.extend(engine.flush())
    (query,) = both.bind(SCHEMA).detections
    assert_same_matches(matches_of(found["p"], query), oracle.matches(query, events))
    engine.update(Workload.parse(plain))
    assert list(engine.flush().counts()) == ["p"]
