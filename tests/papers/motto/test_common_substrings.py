"""Common strings of operand lists, as MOTTO's examples have them."""

from itertools import combinations
from random import Random

from stretto.papers.motto.common_substrings import common_runs, interesting, longest_common


def words(operands: str, places: tuple[int, ...]) -> str:
    return " ".join(operands.split()[i] for i in places)


def found(left: str, right: str) -> list[str]:
    return [words(left, match.left) for match in interesting(left.split(), right.split())]


Q6, Q7 = "E1 E2 E3 E5 E6 E7 E8", "E1 E3 E6 E5 E7 E8"


def test_common_substrings_of_example_3() -> None:
    runs = common_runs(Q6.split(), Q7.split())
    assert [words(Q6, run.left) for run in runs] == ["E1", "E3", "E5", "E6", "E7 E8"]


def test_interesting_strings_of_example_3() -> None:
    assert sorted(found(Q6, Q7)) == ["E1 E3 E5", "E1 E3 E6", "E7 E8"]


def test_example_4_has_one_long_string() -> None:
    assert found("E1 E2 E3 E5", "E1 E3 E4") == ["E1 E3"]


def test_reversed_lists_have_no_long_string() -> None:
    assert found("A B C", "C B A") == []


def test_longest() -> None:
    (match,) = longest_common(Q6.split(), Q7.split())
    assert words(Q6, match.left) == "E7 E8"
    assert longest_common("AB", "BA") == []


def test_strings_stand_in_both_lists_and_cannot_be_made_longer() -> None:
    random = Random(5)
    for _ in range(300):
        left, right = (random.choices("ABCDEF", k=random.randint(0, 7)) for _ in range(2))
        runs = common_runs(left, right)
        substrings = {
            tuple(left[i:j])
            for i, j in combinations(range(len(left) + 1), 2)
            if any(right[k : k + j - i] == left[i:j] for k in range(len(right)))
        }
        parts = {
            tuple(left[i] for i in run.left[a:b])
            for run in runs
            for a, b in combinations(range(len(run.left) + 1), 2)
        }
        assert parts == substrings
        for match in interesting(left, right):
            assert [left[i] for i in match.left] == [right[i] for i in match.right]
            assert list(match.left) == sorted(set(match.left))
            assert list(match.right) == sorted(set(match.right))
            assert len(match.left) > 1
