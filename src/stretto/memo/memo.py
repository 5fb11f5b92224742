"""The memo: every piece once, in its one form, and the ways to compute it; an AND-OR graph without cycles."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from stretto.memo.ways import Input, Way, WayKind
from stretto.pattern.canonical.pieces import canonical
from stretto.pattern.core import core_of
from stretto.pattern.disjunction import disjunction, one_more, streams_of
from stretto.pattern.nodes import Policy, Stream, Window
from stretto.pattern.order import NO_ORDER
from stretto.pattern.piece import Detection, Group, Piece, Slot
from stretto.pattern.predicates import numbered
from stretto.pattern.project import Projector
from stretto.pattern.repetition_terms import tighten
from stretto.records import dataclass

Analysed = TypeVar("Analysed")

WIDE: Final = 64
"""Cores with more slots are computed as they are written: what can be taken from a core grows with its square."""
MOST_ALTERNATIVES: Final = 64
"""An ANY that has more is given as one of fewer streams and one more; of others the alternatives are given."""
NO_WINDOW = Window(0)
"""The window of one event, whatever the window around it."""


def never() -> bool:
    """The time is never up."""
    return False


@dataclass(frozen=True, slots=True)
class Root:
    """A branch of a query, and the piece that answers it: its column i is column `columns[i]` of the branch."""

    query: str
    branch: int
    piece: int
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Whole:
    """The piece whose projections give the parts of another, which is a part of it or itself.

    `slots[i]` is the whole's slot that slot i of the part is, `place` gives for a column of the whole that of the part.
    """

    number: int
    projector: Projector
    slots: tuple[int, ...]
    place: Mapping[int, int]

    @classmethod
    def of(cls, number: int, piece: Piece) -> "_Whole":
        """A piece as a part of itself."""
        columns = range(piece.width)
        return cls(
            number, Projector(piece), tuple(range(len(piece.slots))), dict(zip(columns, columns, strict=True))
        )

    def part(self, piece: Piece, columns: Sequence[int]) -> "_Whole":
        """The same for a part of it, given the whole's columns that the part's columns are."""
        slot_of = self.projector.slot_of_column
        slots = tuple(slot_of[columns[start]] for start in piece.starts[:-1])
        return _Whole(self.number, self.projector, slots, numbered(columns))


class Memo:
    """Pieces by number, ways by piece, and the roots: what has to be computed.

    A piece is stored in its canonical form, cores and whole pieces alike. `own_order[p]` gives the slots of a piece in
    the order in which the first query that brought it wrote them; parts of cores have none. `ends` tells rules whether
    no more ways may be sought.

    A rule reads the memo and yields ways. It changes nothing but this: the pieces that its ways read are interned, by
    `part` and `input`, and those that no query wrote by `invent`. What several rules need to know is an `analysis`.

    The first way of a piece that is no core is its given one.
    """

    def __init__(self) -> None:
        self.ends: Callable[[], bool] = never
        self.found = 0
        self.pieces: list[Piece] = []
        self.ways: list[list[Way]] = []
        self.roots: list[Root] = []
        self.own_order: dict[int, tuple[int, ...]] = {}
        self._numbers: dict[Piece, int] = {}
        self._seen: dict[Piece, tuple[int, tuple[int, ...]]] = {}
        self._parts: dict[tuple[int, tuple[int, ...]], Input] = {}
        self._wholes: dict[int, _Whole] = {}
        self._cores: dict[int, bool] = {}
        self._needed: list[int] | None = None
        self._analyses: dict[Hashable, tuple[Hashable, Any]] = {}

    # ---- pieces ------------------------------------------------------------------------------------------------

    def intern(self, piece: Piece) -> tuple[int, tuple[int, ...]]:
        """The number of a piece, and for each column of its one form the column of `piece` that it is."""
        known = self._seen.get(piece)
        if known is not None:
            return known
        plain = _without_needless_window(piece)
        form, columns = canonical(plain)
        number = self._numbers.get(form)
        if number is None:
            number = len(self.pieces)
            self._numbers[form] = number
            self.pieces.append(form)
            self.ways.append([])
            self._add_given_way(number)
        self._seen[piece] = number, columns
        return number, columns

    def input(self, piece: Piece, columns: Sequence[int] | None = None) -> Input:
        """A piece as an input of another, in which its columns are `columns` (None: the same ones)."""
        number, own = self.intern(piece)
        return Input(number, own if columns is None else tuple([columns[c] for c in own]))

    def part(self, number: int, slots: Sequence[int]) -> Input:
        """The projection of a core on some of its slots, as an input of it."""
        wanted = tuple(slots)
        known = self._parts.get((number, wanted))
        if known is None:
            known = self._parts[number, wanted] = self._projected(number, wanted)
        return known

    def _projected(self, number: int, slots: tuple[int, ...]) -> Input:
        """A part of a part is looked up as a part of what that was first seen in: projections compose."""
        whole = self._wholes.get(number)
        if whole is None:
            whole = self._wholes[number] = _Whole.of(number, self.pieces[number])
        if whole.number != number:
            found = self.part(whole.number, sorted([whole.slots[slot] for slot in slots]))
            return Input(found.piece, tuple([whole.place[column] for column in found.columns]))
        found = self.input(whole.projector.project(slots), whole.projector.piece.columns_of(slots))
        if found.piece not in self._wholes and len(self.pieces[found.piece].slots) > 1:
            self._wholes[found.piece] = whole.part(self.pieces[found.piece], found.columns)
        return found

    def invent(self, piece: Piece, reader: int, columns: Sequence[int] | None = None) -> Input:
        """A piece that no query may have written, as an input of `reader`, whose order of the text it takes over.

        Sub-queries, wider windows and fewer negations come from here. A piece that has an order keeps it.
        """
        found = self.input(piece, columns)
        if found.piece not in self.own_order:
            owner = self.pieces[reader]
            place = {
                column: i for i, slot in enumerate(self.text_order(reader)) for column in owner.columns(slot)
            }
            self._keep_own_order(found.piece, [place[column] for column in found.columns])
        return found

    def text_order(self, number: int) -> Sequence[int]:
        """The slots of a piece as its first query wrote them; of a part as they are numbered."""
        return self.own_order.get(number) or range(len(self.pieces[number].slots))

    def is_core(self, number: int) -> bool:
        """Whether a piece has several slots and is computed by joins: the ways to do so are the rules' to find."""
        known = self._cores.get(number)
        if known is None:
            piece = self.pieces[number]
            known = len(piece.slots) > 1 and piece.policy is Policy.ANY and not self._grows(piece)
            self._cores[number] = known
        return known

    def grows(self, number: int) -> bool:
        """Whether a piece is given as a core with repetitions or late negations on it."""
        return any(way.kind is WayKind.GROW for way in self.ways[number][:1])

    def is_wide(self, number: int) -> bool:
        """Whether a piece has too many slots to be taken apart."""
        return len(self.pieces[number].slots) > WIDE

    def cores(self) -> list[int]:
        """The cores that the roots need, those of repeated groups included; each once."""
        return [number for number in self.needed() if self.is_core(number)]

    def needed(self) -> list[int]:
        """The roots' pieces and what their given ways read, down to cores and single slots; each once."""
        if self._needed is not None:
            return list(self._needed)
        found: dict[int, None] = {}
        pending = [root.piece for root in self.roots][::-1]
        while pending:
            number = pending.pop()
            if number in found:
                continue
            found[number] = None
            if self.is_core(number):
                slots = range(len(self.pieces[number].slots))
                pending.extend(self.part(number, (slot,)).piece for slot in slots)
            else:
                pending.extend(piece for way in self.ways[number][:1] for piece in way.pieces)
        self._needed = list(found)
        return list(found)

    def analysis(self, name: Hashable, version: Hashable, compute: Callable[[], Analysed]) -> Analysed:
        """What is known of this memo under a name: computed once, and anew when the version is another one.

        The version says what the analysis reads, such as the number of pieces or of cores. So rules need no memory of
        their own: applied again they read the same, and find the same.
        """
        known = self._analyses.get(name)
        if known is None or known[0] != version:
            known = self._analyses[name] = version, compute()
        found: Analysed = known[1]
        return found

    # ---- ways --------------------------------------------------------------------------------------------------

    def add(self, number: int, way: Way) -> bool:
        """Add a way to compute a piece, unless it is known."""
        for known in self.ways[number]:
            if known.pieces == way.pieces and known.kind is way.kind and known.inputs == way.inputs:
                return False
        self.ways[number].append(way)
        self.found += 1
        return True

    def alone(self, number: int) -> Way:
        """The way that computes a core from its single slots, in the order of the text."""
        parts = tuple(self.part(number, (slot,)) for slot in self.text_order(number))
        return Way(WayKind.JOIN, parts, "join_left_to_right")

    def one_stream_more(self, number: int, last: int, rule: str) -> Way:
        """The way that has an ANY from the ANY of the streams but one: its sets, the events of that one, and both."""
        piece = self.pieces[number]
        streams = streams_of(piece)
        assert streams is not None
        rest = [column for column in range(len(streams)) if column != last]
        others, stream = [streams[column] for column in rest], streams[last]
        parts = (
            self.input(disjunction(others, piece.window), rest),
            self.input(disjunction([stream], piece.window), [last]),
            self.input(one_more(others, stream, piece.window), [*rest, last]),
        )
        return Way(WayKind.UNITE, parts, rule)

    def give(self, number: int, way: Way) -> None:
        """Make one of a piece's ways the given one."""
        ways = self.ways[number]
        ways.remove(way)
        ways.insert(0, way)
        self._needed = None

    def add_root(self, detection: Detection) -> None:
        """Add the branches of a query."""
        self._needed = None
        for i, branch in enumerate(detection.branches):
            piece = tighten(branch.piece)
            number, columns = self.intern(piece)
            self.roots.append(Root(detection.name, i, number, columns))
            self._keep_own_order(number, columns)

    def _keep_own_order(self, number: int, text: Sequence[int]) -> None:
        """Keep the order of the text for a piece and all below it; column i of the piece is column text[i] there."""
        if number in self.own_order:
            return
        piece = self.pieces[number]
        columns = [piece.columns(slot) for slot in range(len(piece.slots))]
        first = [min(text[column] for column in own) for own in columns]
        self.own_order[number] = tuple(sorted(range(len(first)), key=first.__getitem__))
        if self.is_core(number):
            groups = [i for i, slot in enumerate(piece.slots) if isinstance(slot.source, Group)]
            inputs = [self.part(number, (slot,)) for slot in groups]
        else:
            inputs = [part for way in self.ways[number][:1] for part in way.inputs]
        for part in inputs:
            self._keep_own_order(part.piece, [text[column] for column in part.columns])

    def _add_given_way(self, number: int) -> None:
        """The first way of a piece that is no core: it needs no rule."""
        piece = self.pieces[number]
        if piece.follows:
            rule = "follow_next" if piece.policy is Policy.NEXT else "follow_last"
            self.add(number, Way(WayKind.NEXT, (), rule))
        elif self._grows(piece):
            inputs = [self.input(core_of(piece)), *self._elements(piece)]
            self.add(number, Way(WayKind.GROW, tuple(inputs), "grow_repetitions"))
        elif len(piece.slots) == 1:
            source = piece.slots[0].source
            if isinstance(source, Stream):
                self.add(number, Way(WayKind.SCAN, (), "scan_stream"))
            elif len(source.branches) > MOST_ALTERNATIVES and streams_of(piece):
                self.add(number, self.one_stream_more(number, piece.width - 1, "unite_disjunction"))
            else:
                parts = [self.input(tighten(b.piece), b.columns) for b in source.branches]
                self.add(number, Way(WayKind.UNITE, tuple(parts), "unite_alternatives"))

    def _elements(self, piece: Piece) -> Iterator[Input]:
        """One repetition of each group that grows."""
        for slot in sorted(piece.growing):
            source = piece.slots[slot].source
            if isinstance(source, Group):
                alone = Piece((Slot(source),), NO_ORDER, (), piece.same, (), piece.window)
                yield self.input(alone, list(piece.columns(slot)))

    @staticmethod
    def _grows(piece: Piece) -> bool:
        return piece.policy is Policy.ANY and core_of(piece) is not piece

    def __len__(self) -> int:
        return len(self.pieces)


def _without_needless_window(piece: Piece) -> Piece:
    """One event has no extent, so the window around it does not matter."""
    single = len(piece.slots) == 1 and isinstance(piece.slots[0].source, Stream)
    if single and piece.policy is Policy.ANY and not piece.slots[0].repeats and not piece.negations:
        return replace(piece, window=NO_WINDOW)
    return piece


def build_memo(detections: Iterable[Detection], *, as_written: bool = True) -> Memo:
    """The memo of a workload before any rule: roots, whole pieces, and single slots.

    Not `as_written`: cores begin with their slots as they are numbered. AND has no order, and one meaning has one plan.
    """
    memo = Memo()
    for detection in detections:
        memo.add_root(detection)
    if not as_written:
        memo.own_order = {number: tuple(range(len(order))) for number, order in memo.own_order.items()}
    return memo
