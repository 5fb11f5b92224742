"""Sub-queries that several queries have in common, and ways that read a query or sub-query as an operand of another."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from stretto.memo.claims import Lacks, claims, columns_between
from stretto.memo.memo import Memo
from stretto.memo.operands import Operands, levels
from stretto.memo.strings import Match
from stretto.memo.ways import Input, Kind, Way
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.piece import Negation, Piece

MOST_OPERANDS: Final = 10  # lists of so many are looked up by all of their subsequences
PARTNERS: Final = 120  # lists that one list is compared with: those with the most operands in common

Strings = tuple[str, ...]
Lists = dict[Strings, list[Operands]]
Find = Callable[[Sequence[str], Sequence[str]], Iterable[Match]]


# ---- a source as an operand of its reader ------------------------------------------------------------------


def read_as_operand(memo: Memo, reader: int, source: Input, slots: Sequence[int], rule: str) -> Way:
    """The way that computes `reader` from `source` over these of its slots, and from the single slots that are left.

    They are joined in the order of the text, the source at the place of its first slot; over all slots it is a filter.
    """
    covered = frozenset(slots)
    if len(covered) == len(memo.pieces[reader].slots):
        return Way(_narrowing(memo.pieces[source.piece], memo.pieces[reader]), (source,), rule)
    inputs: list[Input] = []
    for slot in text_order(memo, reader):
        if slot not in covered:
            inputs.append(single(memo, reader, slot))
        elif source not in inputs:
            inputs.append(source)
    return Way(Kind.JOIN, tuple(inputs), rule)


def _narrowing(source: Piece, reader: Piece) -> Kind:
    """What turns a piece into one with the same terms: only negations are missing, or order or window too."""
    alike = len(source.order) == len(reader.order) and source.window == reader.window
    return Kind.FORBID if alike else Kind.FILTER


def text_order(memo: Memo, number: int) -> tuple[int, ...]:
    known = memo.own_order.get(number)
    return tuple(range(len(memo.pieces[number].slots))) if known is None else known


def alone(memo: Memo, number: int) -> Way:
    """The way that computes a piece from its single slots, in the order of the text."""
    parts = tuple(single(memo, number, slot) for slot in text_order(memo, number))
    return Way(Kind.JOIN, parts, "join_left_to_right")


def single(memo: Memo, number: int, slot: int) -> Input:
    """One slot of a core, as an input of it."""
    piece = memo.pieces[number]
    if not isinstance(piece.slots[slot].source, Stream):
        return memo.part(number, (slot,))
    return memo.input(Piece((piece.slots[slot],), (), (), piece.same, (), piece.window), piece.columns(slot))


def keep_text_order(memo: Memo, source: Input, reader: int) -> None:
    """Give a piece the order in which the query that reads it writes its slots, if it has none yet."""
    if source.piece in memo.own_order:
        return
    owner, piece = memo.pieces[reader], memo.pieces[source.piece]
    place = {slot: i for i, slot in enumerate(text_order(memo, reader))}
    slot_of = [slot for slot in range(len(owner.slots)) for _ in owner.columns(slot)]
    theirs = [place[slot_of[source.columns[piece.columns(slot).start]]] for slot in range(len(piece.slots))]
    memo.own_order[source.piece] = tuple(sorted(range(len(theirs)), key=theirs.__getitem__))


# ---- sources that are there --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contained:
    """A query or sub-query whose operands are found in a level of another piece, at these places."""

    source: int
    source_slots: tuple[int, ...]
    reader: Operands
    places: tuple[int, ...]

    @property
    def slots(self) -> tuple[int, ...]:
        return self.reader.slots_at(self.places)

    @property
    def contiguous(self) -> bool:
        return self.places[-1] - self.places[0] == len(self.places) - 1

    def columns(self, memo: Memo) -> tuple[int, ...]:
        """For each column of the source the reader's column that it is."""
        pieces = memo.pieces[self.source], memo.pieces[self.reader.owner]
        return columns_between(pieces[0], self.source_slots, pieces[1], self.slots)

    def way(self, memo: Memo, rule: str) -> Way:
        source = Input(self.source, self.columns(memo))
        return read_as_operand(memo, self.reader.owner, source, self.slots, rule)


_seen: WeakKeyDictionary[Memo, dict[bool, tuple[int, list[Contained]]]] = WeakKeyDictionary()


def contained(memo: Memo, *, relaxed: bool = False) -> list[Contained]:
    """Every core that another has as a part, whatever their windows; `relaxed`: only those that it has but for order.

    Terms are the same on both sides; a source may lack negations of its reader.
    """
    seen = _seen.setdefault(memo, {})
    if relaxed not in seen or seen[relaxed][0] < len(memo):
        seen[relaxed] = len(memo), list(_contained(memo, relaxed=relaxed))
    return seen[relaxed][1]


def several_windows(memo: Memo) -> bool:
    """Whether queries have different windows of one unit."""
    windows = {memo.pieces[number].window for number in memo.cores()}
    return len(windows) > len({window.unit for window in windows})


def _contained(memo: Memo, *, relaxed: bool) -> Iterator[Contained]:
    cores = [number for number in range(len(memo)) if memo.is_core(number)]
    sources: dict[tuple[str, Strings], list[int]] = {}
    for number in cores:
        outermost = levels(memo, number)[-1]
        sources.setdefault((outermost.word, outermost.keys), []).append(number)
    longest = max((len(keys) for _, keys in sources), default=0)
    for number in cores:
        for level in levels(memo, number):
            if relaxed and level.word != "SEQ":
                continue
            reader = level.as_and() if relaxed else level
            for places in _subsequences(reader, sources, longest):
                for source in sources.get((reader.word, tuple(reader.keys[i] for i in places)), ()):
                    found = Contained(
                        source, levels(memo, source)[-1].slots_at(range(len(places))), reader, places
                    )
                    if source != number and _serves(memo, found):
                        yield found


def _subsequences(
    reader: Operands, sources: dict[tuple[str, Strings], list[int]], longest: int
) -> Iterator[tuple[int, ...]]:
    """Places in a list at which a source could stand; in a long list of each source but the first ones."""
    count = len(reader.keys)
    if count <= MOST_OPERANDS:
        for size in range(2, min(count, longest) + 1):
            yield from combinations(range(count), size)
        return
    for word, keys in list(sources):
        if word == reader.word:
            places = _first_places(keys, reader.keys)
            if places is not None:
                yield places


def _first_places(keys: Strings, among: Strings) -> tuple[int, ...] | None:
    """The first places of a list that hold these keys in this order."""
    found: list[int] = []
    start = 0
    for key in keys:
        try:
            place = among.index(key, start)
        except ValueError:
            return None
        found.append(place)
        start = place + 1
    return tuple(found)


def _serves(memo: Memo, found: Contained) -> bool:
    """Whether the source is that part of its reader, but for window and negations that it may lack."""
    source, reader = memo.pieces[found.source], memo.pieces[found.reader.owner]
    if source.same != reader.same or source.window.unit != reader.window.unit:
        return False
    here = found.reader.claims(reader, found.places)
    theirs = claims(source, found.source_slots)
    return theirs <= here and all(isinstance(fact, Lacks) for fact in here - theirs)


# ---- sub-queries to invent ---------------------------------------------------------------------------------


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
        return memo.input(piece, [column for slot in slots for column in owner.columns(slot)])


Pick = Callable[[Sequence[Occurrence]], Iterable[tuple[Window, list[Occurrence]]]]


def same_window(found: Sequence[Occurrence]) -> Iterator[tuple[Window, list[Occurrence]]]:
    """The occurrences within each window that several queries have."""
    for window in dict.fromkeys(one.window for one in found):
        yield window, [one for one in found if one.window == window]


def wider_window(found: Sequence[Occurrence]) -> Iterator[tuple[Window, list[Occurrence]]]:
    """For each window but the narrowest the occurrences that it contains."""
    for window in sorted({one.window for one in found}, key=lambda window: window.size)[1:]:
        yield window, [one for one in found if one.window.size <= window.size]


_shared: WeakKeyDictionary[Memo, set[tuple[str, bool, int]]] = WeakKeyDictionary()


def share_common(
    memo: Memo, rule: str, find: Find, pick: Pick = same_window, *, relaxed: bool = False, again: bool = True
) -> Iterator[tuple[int, Way]]:
    """Ways that read sub-queries which several queries have in common, and the ways to compute these.

    `find` tells the strings that two operand lists share, `pick` whose occurrences are served together, `relaxed` lets
    SEQs meet ANDs. With `again` the sub-queries found are searched in the same way, until there are no more. What
    queries have in common does not change by what is found, so the second time for a memo there is nothing new.
    """
    numbers = memo.cores()
    asked = (rule, relaxed, len(numbers))
    if asked in _shared.setdefault(memo, set()):
        return
    _shared[memo].add(asked)
    seen: set[int] = set()
    while numbers:
        made: dict[int, None] = {}
        for group in _groups(memo, numbers, find, relaxed=relaxed):
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
            keep_text_order(memo, source, one.reader.owner)
            yield source.piece, alone(memo, source.piece)
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
