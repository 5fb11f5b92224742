"""Sub-queries that several queries have in common, computed once for all of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from stretto.memo.containment import Lacks
from stretto.memo.memo import Memo
from stretto.memo.ways import Input, Way
from stretto.papers.motto.common_substrings import CommonString
from stretto.papers.motto.merging import read_as_operand
from stretto.papers.motto.operands import Operands, levels
from stretto.pattern.nodes import Window
from stretto.pattern.piece import Negation, Piece
from stretto.records import dataclass

PARTNERS: Final = 120  # lists that one list is compared with: those with the most operands in common

Strings = tuple[str, ...]
Lists = dict[Strings, list[Operands]]
Find = Callable[[Sequence[str], Sequence[str]], Iterable[CommonString]]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A common string in a level of a query; the sub-query over it has its slots in the string's order."""

    reader: Operands
    places: tuple[int, ...]
    piece: Piece

    @property
    def window(self) -> Window:
        return self.piece.window

    @property
    def negations(self) -> frozenset[Negation]:
        """The negations that the sub-query could have."""
        return frozenset(self.part(self.window).negations) if self.piece.negations else frozenset()

    def part(self, window: Window) -> Piece:
        return self.reader.part(self.piece, self.places, window)

    def input(self, memo: Memo, piece: Piece) -> Input:
        owner = memo.pieces[self.reader.owner]
        slots = self.reader.slots_at(self.places)
        columns = [column for slot in slots for column in owner.columns(slot)]
        return memo.invent(piece, self.reader.owner, columns)


Pick = Callable[[Sequence[Occurrence]], Iterable[tuple[Window, list[Occurrence]]]]


def same_window(found: Sequence[Occurrence]) -> Iterator[tuple[Window, list[Occurrence]]]:
    """The occurrences within each window that several queries have."""
    for window in dict.fromkeys(one.window for one in found):
        yield window, [one for one in found if one.window == window]


def wider_window(found: Sequence[Occurrence]) -> Iterator[tuple[Window, list[Occurrence]]]:
    """For each window but the narrowest the occurrences that it contains."""
    for window in sorted({one.window for one in found}, key=lambda window: window.size)[1:]:
        yield window, [one for one in found if one.window.size <= window.size]


def share_common(
    memo: Memo, rule: str, find: Find, pick: Pick = same_window, *, relaxed: bool = False, again: bool = True
) -> list[tuple[int, Way]]:
    """Ways that read sub-queries which several queries have in common, and the ways to compute these.

    `find` tells the strings that two operand lists share, `pick` whose occurrences are served together, `relaxed` lets
    SEQs meet ANDs. With `again` the sub-queries found are searched in the same way, until there are no more.
    """
    numbers = memo.cores()
    # What queries have in common does not change by what is found: the number of their cores is the version.
    return memo.analysis(
        (rule, relaxed),
        len(numbers),
        lambda: list(_share_common(memo, numbers, rule, find, pick, relaxed=relaxed, again=again)),
    )


def _share_common(
    memo: Memo, numbers: list[int], rule: str, find: Find, pick: Pick, *, relaxed: bool, again: bool
) -> Iterator[tuple[int, Way]]:
    seen: set[int] = set()
    while numbers:
        made: dict[int, None] = {}
        for group in _groups(memo, numbers, find, relaxed=relaxed):
            if memo.ends():
                return
            for window, occurrences in pick(group):
                for negations, readers in _by_negations(occurrences):
                    if len({one.reader.owner for one in readers}) < 2:
                        continue
                    yield from _serve(memo, window, negations, readers, rule, made)
        fresh = [number for number in made if number not in seen]
        seen.update(fresh)
        numbers = fresh if again else []


def _serve(
    memo: Memo,
    window: Window,
    negations: tuple[Negation, ...],
    readers: Sequence[Occurrence],
    rule: str,
    made: dict[int, None],
) -> Iterator[tuple[int, Way]]:
    """The way to compute a sub-query, which is added to those `made`, and the ways that read it."""
    for one in readers:
        source = one.input(memo, replace(one.part(window), negations=negations))
        if source.piece not in made:
            made[source.piece] = None
            yield source.piece, memo.alone(source.piece)
        if source.piece != one.reader.owner:
            slots = one.reader.slots_at(one.places)
            yield one.reader.owner, read_as_operand(memo, one.reader.owner, source, slots, rule)


def _by_negations(found: Sequence[Occurrence]) -> Iterator[tuple[tuple[Negation, ...], list[Occurrence]]]:
    """The negations that several occurrences agree on, and whom a sub-query with them serves."""
    sets = [one.negations for one in found]
    common = frozenset.intersection(*sets)
    wanted = dict.fromkeys((common, *(own for own, count in Counter(sets).items() if count > 1)))
    for negations in wanted:
        served = [one for one, own in zip(found, sets, strict=True) if negations <= own]
        yield tuple(sorted(negations, key=repr)), served


def _groups(memo: Memo, numbers: Sequence[int], find: Find, *, relaxed: bool) -> Iterator[list[Occurrence]]:
    """Occurrences of common strings with the same terms and `same`, several queries in each group."""
    found: dict[tuple[object, ...], list[Occurrence]] = {}
    for reader, places in _common_strings(memo, numbers, find, relaxed=relaxed):
        one = Occurrence(reader, places, memo.pieces[reader.owner])
        key = (reader.word, tuple(reader.keys[i] for i in places), *_about(one))
        found.setdefault(key, []).append(one)
    for group in found.values():
        several = len({one.reader.owner for one in group}) > 1
        if several and not all(one.reader.relaxed for one in group):
            yield group


def _about(one: Occurrence) -> tuple[object, ...]:
    """What has to be equal for a sub-query to be the same, whatever its window and negations."""
    facts = one.reader.claims(one.piece, one.places)
    return frozenset(fact for fact in facts if not isinstance(fact, Lacks)), one.piece.same, one.window.unit


def _common_strings(
    memo: Memo, numbers: Sequence[int], find: Find, *, relaxed: bool
) -> Iterable[tuple[Operands, tuple[int, ...]]]:
    """The levels and the places in them at which a string stands that another level has too."""
    found: dict[tuple[Operands, tuple[int, ...]], None] = {}
    for left, right in _pairs_of_lists(memo, numbers, relaxed=relaxed):
        if memo.ends():
            break
        for match in find(left[0].keys, right[0].keys):
            found.update(dict.fromkeys((one, match.left) for one in left))
            found.update(dict.fromkeys((one, match.right) for one in right))
    return found


def _pairs_of_lists(
    memo: Memo, numbers: Sequence[int], *, relaxed: bool
) -> Iterator[tuple[list[Operands], list[Operands]]]:
    """The levels with one list of operands and those with another, of one operator, with two operands in common."""
    lists: dict[str, Lists] = {"SEQ": {}, "AND": {}, "MIXED": {}}
    loose: Lists = {}
    for number in numbers:
        if memo.is_wide(number):
            continue
        for level in levels(memo, number):
            lists[level.word].setdefault(level.keys, []).append(level)
            if relaxed and level.word == "SEQ":
                as_and = level.as_and()
                loose.setdefault(as_and.keys, []).append(as_and)
    if relaxed:
        yield from _partners(loose, lists["AND"])
    else:
        for same_word in lists.values():
            yield from _partners(same_word, same_word)


def _partners(left: Lists, right: Lists) -> Iterator[tuple[list[Operands], list[Operands]]]:
    """Pairs with at least two operands in common; of very many those with the most."""
    if not left or not right:
        return
    keys = {key: i for i, key in enumerate(dict.fromkeys(key for keys in (*left, *right) for key in keys))}
    rows, columns = list(left), list(right)
    common = _incidence(rows, keys) @ _incidence(columns, keys).T
    for i, row in enumerate(rows):
        near = np.flatnonzero(common[i] >= 2)
        if len(near) > PARTNERS:
            near = np.sort(near[np.argsort(-common[i][near], kind="stable")[:PARTNERS]])
        elif left is right:
            near = near[near >= i]
        for j in near.tolist():
            if left is not right or i != j or len(left[row]) > 1:
                yield left[row], right[columns[j]]


def _incidence(
    lists: Sequence[Strings], keys: dict[str, int]
) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    found = np.zeros((len(lists), len(keys)), np.int32)
    for i, operands in enumerate(lists):
        for key in operands:
            found[i, keys[key]] = 1
    return found
