"""MOTTO's workloads: the seven types of sharing are what Table IV says, in the asked proportions."""

from collections import Counter

import pytest

from stretto.errors import StrettoError
from stretto.generate.motto_workload import (
    DATACENTER,
    STOCKS,
    MottoOptions,
    OperatorTree,
    Pair,
    Scenario,
    pairs,
    windows,
)

SCENARIOS = {"stocks": STOCKS, "datacenter": DATACENTER}


def made(scenario: Scenario, queries: int = 100, seed: int = 1, **options) -> list[Pair]:
    return pairs(scenario, queries, seed, MottoOptions(**options))


def is_substring(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    return any(long[at : at + len(short)] == short for at in range(len(long) - len(short) + 1))


def is_subsequence(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    rest = iter(long)
    return all(name in rest for name in short)


def have_common_substring(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    return any(is_substring(first[at : at + 2], second) for at in range(len(first) - 1))


def related(kind: int, short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    match kind:
        case 1:
            return len(short) < len(long) and long[: len(short)] == short
        case 2:
            return len(short) < len(long) and long[-len(short) :] == short
        case 3:
            return is_subsequence(short, long) and not is_substring(short, long)
        case 4:
            apart = not is_subsequence(short, long) and not is_subsequence(long, short)
            return have_common_substring(short, long) and apart
    raise ValueError(kind)


@pytest.fixture(params=SCENARIOS)
def scenario(request) -> Scenario:
    return SCENARIOS[request.param]


def test_the_data_centre_has_36_types() -> None:
    assert len(DATACENTER.types) == len(set(DATACENTER.types)) == len(DATACENTER.definitions) == 36
    assert len(STOCKS.types) == 13


def test_basic_types_are_what_they_say(scenario: Scenario) -> None:
    found = made(scenario, ratio=1.0)
    assert Counter(pair.type for pair in found) == {1: 13, 2: 13, 3: 12, 4: 12}
    for pair in found:
        assert pair.source.operator == pair.beneficiary.operator
        assert pair.windows == ("10 SECONDS", "10 SECONDS")
        short, long = pair.source.leaves(), pair.beneficiary.leaves()
        assert related(pair.type, short, long), pair
        assert len(set(long)) == len(long)


def test_lists_of_and_are_in_the_order_of_the_types(scenario: Scenario) -> None:
    for pair in made(scenario, ratio=1.0):
        if pair.source.operator == "AND":
            for pattern in (pair.source, pair.beneficiary):
                numbers = [scenario.types.index(name) for name in pattern.leaves()]
                assert numbers == sorted(numbers)


def test_complex_types_are_what_they_say(scenario: Scenario) -> None:
    found = made(scenario, ratio=0.0, disjunctions=0.5)
    assert Counter(pair.type for pair in found) == {5: 17, 6: 17, 7: 16}
    for pair in found:
        if pair.type == 5:
            assert pair.windows[0] != pair.windows[1]
            assert any(
                related(kind, pair.source.leaves(), pair.beneficiary.leaves()) for kind in (1, 2, 3, 4)
            )
        if pair.type == 6:
            assert pair.source.parts == pair.beneficiary.parts
            assert pair.source.operator != pair.beneficiary.operator
        if pair.type == 7:
            assert inmost(pair.source) == inmost(pair.beneficiary)
    operators = {pattern.operator for pair in found for pattern in (pair.source, pair.beneficiary)}
    assert operators == {"SEQ", "AND", "ANY"}


def inmost(node: OperatorTree) -> OperatorTree:
    inner = [part for part in node.parts if isinstance(part, OperatorTree)]
    return inmost(inner[0]) if inner else node


def depth(node: OperatorTree) -> int:
    return 1 + max((depth(part) for part in node.parts if isinstance(part, OperatorTree)), default=0)


@pytest.mark.parametrize("level", [2, 5, 8])
def test_nested_to_the_asked_level(scenario: Scenario, level: int) -> None:
    for pair in made(scenario, queries=30, ratio=0.0, level=level):
        if pair.type == 7:
            assert depth(pair.source) == depth(pair.beneficiary) == level
            assert len(inmost(pair.source).parts) == 2
            leaves = pair.source.leaves()
            assert len(set(leaves)) == len(leaves) == level + 2


@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0])
def test_the_ratio_of_the_basic_group(ratio: float) -> None:
    found = made(STOCKS, ratio=ratio)
    assert sum(pair.type <= 4 for pair in found) == round(50 * ratio)


def test_no_query_twice(scenario: Scenario) -> None:
    found = made(scenario, queries=200, ratio=0.5)
    queries = [
        (pattern.key(), window)
        for pair in found
        for pattern, window in zip((pair.source, pair.beneficiary), pair.windows, strict=True)
    ]
    assert len(set(queries)) == 200


def test_equal_patterns_have_equal_keys() -> None:
    flat = OperatorTree("SEQ", ("A", "B", "C"))
    assert OperatorTree("SEQ", ("A", OperatorTree("SEQ", ("B", "C")))).key() == flat.key()
    assert OperatorTree("SEQ", ("B", "A", "C")).key() != flat.key()
    assert (
        OperatorTree("AND", ("B", "A", "C")).key()
        == OperatorTree("AND", (OperatorTree("AND", ("C", "A")), "B")).key()
    )
    assert (
        OperatorTree("AND", ("A", OperatorTree("SEQ", ("B", "C")))).key()
        != OperatorTree("AND", ("A", "B", "C")).key()
    )


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        ("4:1", ("10 SECONDS", "2500 MILLISECONDS")),
        ("1:2", ("5 SECONDS", "10 SECONDS")),
        ("1:1", ("10 SECONDS", "10 SECONDS")),
        ("1:3", ("3333333 MICROSECONDS", "10 SECONDS")),
    ],
)
def test_windows_by_ratio(ratio: str, expected: tuple[str, str]) -> None:
    assert windows("10 SECONDS", ratio) == expected
    assert {pair.windows for pair in made(STOCKS, ratio=1.0, window_ratio=ratio)} == {expected}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 1.5}, "ratio must be between 0 and 1"),
        ({"disjunctions": -1.0}, "disjunctions must be between 0 and 1"),
        ({"level": 9}, "2 to 8 levels deep, not 9"),
        ({"window_ratio": "four"}, "written like 4:1"),
        ({"window_ratio": "0:1"}, "written like 4:1"),
        ({"window": "10 EVENTS"}, "window: `10 EVENTS` is not a duration"),
        ({"window": "0 s"}, "window: `0 s`: the duration must be longer than zero"),
    ],
)
def test_refusals(options, message: str) -> None:
    with pytest.raises(StrettoError, match=message):
        MottoOptions(**options)


def test_too_many_queries_are_refused() -> None:
    few = Scenario(("A", "B", "C", "D", "E"), 2, 3)
    with pytest.raises(StrettoError, match="no further pair of type"):
        made(few, queries=2_000, ratio=1.0)
