"""Common substrings of operand lists, and the strings that their single operands add up to."""

from collections.abc import Sequence
from typing import Final

from stretto.records import dataclass

MOST_STRINGS: Final = 16  # long strings of one pair of lists


@dataclass(frozen=True, slots=True)
class CommonString:
    """Places in the left list and the equal operands' places in the right one."""

    left: tuple[int, ...]
    right: tuple[int, ...]


def common_runs(left: Sequence[str], right: Sequence[str]) -> list[CommonString]:
    """The common substrings that cannot be made longer, in the order of the left list.

    Source: MOTTO, sec. IV-B. A list has few operands, so equal places are found by a table in place of a suffix tree.
    """
    places: dict[str, list[int]] = {}
    for j, operand in enumerate(right):
        places.setdefault(operand, []).append(j)
    found: list[CommonString] = []
    for i, operand in enumerate(left):
        for j in places.get(operand, ()):
            if i and j and left[i - 1] == right[j - 1]:
                continue  # part of a run that began before
            length = 1
            while (
                i + length < len(left) and j + length < len(right) and left[i + length] == right[j + length]
            ):
                length += 1
            found.append(CommonString(tuple(range(i, i + length)), tuple(range(j, j + length))))
    return found


def interesting(left: Sequence[str], right: Sequence[str]) -> list[CommonString]:
    """The common strings worth sharing: common substrings of two and more, and the long strings of single operands.

    Single operands that stand in the other order are kept apart, so a long string stands in the order of both lists.
    """
    runs = common_runs(left, right)
    longer = [run for run in runs if len(run.left) > 1]
    single = [(run.left[0], run.right[0]) for run in runs if len(run.left) == 1]
    chains = (chain for chain in _chains(single) if len(chain) > 1)
    return longer + [CommonString(*(tuple(side) for side in zip(*chain, strict=True))) for chain in chains]


def _chains(places: Sequence[tuple[int, int]]) -> list[tuple[tuple[int, int], ...]]:
    """The longest strings of places that go forward in both lists: none can take in another place."""

    def between(low: tuple[int, int], place: tuple[int, int], high: tuple[int, int] | None) -> bool:
        after = low[0] < place[0] and low[1] < place[1]
        return after and (high is None or (place[0] < high[0] and place[1] < high[1]))

    found: list[tuple[tuple[int, int], ...]] = []
    pending: list[tuple[tuple[int, int], ...]] = [()]
    while pending and len(found) < MOST_STRINGS:
        chain = pending.pop()
        last = chain[-1] if chain else (-1, -1)
        following = [place for place in places if between(last, place, None)]
        if not following and chain:
            found.append(chain)
        nearest = [p for p in following if not any(between(last, q, p) for q in following)]
        pending.extend((*chain, place) for place in reversed(nearest))
    return found


def longest_common(left: Sequence[str], right: Sequence[str]) -> list[CommonString]:
    """The longest common substring of two and more operands, if there is any; the first of several."""
    runs = [run for run in common_runs(left, right) if len(run.left) > 1]
    return sorted(runs, key=lambda run: -len(run.left))[:1]
