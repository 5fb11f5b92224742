"""A program run over cells: occurrences placed in stores, room for all values, and the totals that come of it."""

from dataclasses import field

import numpy as np

from stretto.engine.trends.cells import Cells
from stretto.engine.trends.conditions import Store, StoreLookup, meets
from stretto.engine.trends.kernels.reference import by_reference
from stretto.engine.trends.kernels.tables import Tables, ints
from stretto.engine.trends.kernels.windowed import run_ticks
from stretto.engine.trends.numbers import I32, Values, take_values, zeros
from stretto.engine.trends.pair_conditions import ScannedRead, pair_blocks
from stretto.engine.trends.program import UnitProgram
from stretto.engine.trends.stores import FoundGroups, Ranked
from stretto.records import dataclass
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Bool


@dataclass(frozen=True, slots=True)
class Weighed:
    """The weights of the kept events from number `first` on; without columns one row serves all."""

    first: int
    weights: Values
    each: bool


class Rankings:
    """Stores over the same cells, each ranked once for all programs that use it."""

    def __init__(self, cells: Cells, events: Events) -> None:
        self.cells, self.events = cells, events
        self._ranked: dict[Store, Ranked] = {}
        self._found: dict[StoreLookup, FoundGroups] = {}

    def ranked(self, store: Store) -> Ranked:
        if store not in self._ranked:
            self._ranked[store] = Ranked(store, self.cells, self.events)
        return self._ranked[store]

    def found(self, look: StoreLookup) -> FoundGroups:
        if look not in self._found:
            self._found[look] = self.ranked(look.store).target(look)
        return self._found[look]

    def keep_only(self, stores: frozenset[Store]) -> None:
        """Forget what no other program asks for."""
        self._ranked = {store: ranked for store, ranked in self._ranked.items() if store in stores}
        self._found = {look: found for look, found in self._found.items() if look.store in stores}


def is_plain(look: StoreLookup) -> bool:
    """Whether every occurrence of the target reads the one sum of its cell."""
    return look.store.is_total and not look.where


def totals(
    program: UnitProgram, rankings: Rankings, weighed: Weighed, states: I64, lanes: tuple[int, int]
) -> Values:
    """The totals, a row per cell and member. `states`: MatStates of occurrences, where the program has them."""
    cells = rankings.cells
    count = _counted(program, cells, states)
    places = _places(program, rankings, count)
    most = int(count.max(initial=0))
    own_values, shared_values = _values_at_once(program, cells, most)
    basis = np.cumsum([0, *(count.max(axis=1, initial=0) * program.tables["sharers"])]).astype(np.int64)
    at = _offsets(program, places, len(cells), most, int(basis[-1]))
    own = zeros(at.own + own_values, *lanes)
    shared = zeros(at.common + shared_values, *program.lanes)
    mask, mask_at = _masks(program, rankings)
    weight = cells.event - weighed.first if weighed.each else np.zeros(len(cells.event), np.int64)
    opened = np.zeros(len(program.parts), np.int64)
    for begin, end, pairs in pair_blocks(places.scans, len(program.reads), cells, rankings.events):
        tables = Tables(
            members=len(program.chosen),
            basis=at.basis + basis[:-1],
            totals=at.totals,
            own=at.own,
            sums=at.sums,
            ends=at.ends,
            most=most,
            common=at.common,
            **program.tables,
            **places.tables,
            mask_at=mask_at,
            row_at=pairs.at,
            standing=places.standing,
            mask=mask,
            pairs=pairs.rows,
            holds=pairs.holds,
            weigh_linear=program.weigh.linear,
            weigh_extreme=program.weigh.extreme,
            linear=program.states.linear,
            extreme=program.states.extreme,
        )
        run_ticks(
            begin,
            end,
            opened,
            len(cells.of_node),
            by_reference(tables),
            cells.tick_first,
            cells.tick_cell,
            cells.node,
            cells.number,
            weight,
            states,
            by_reference(own),
            by_reference(shared),
            by_reference(weighed.weights),
        )
    return take_values(own, slice(at.totals, at.own))


@dataclass(frozen=True, slots=True)
class _Offsets:
    """Where the rows of each kind begin: `basis`, `totals` and `own` of own values; the others of shared ones."""

    basis: int
    totals: int
    own: int
    sums: int
    ends: int
    common: int


def _counted(program: UnitProgram, cells: Cells, states: I64) -> I64:
    """The MatStates of every part in every cell."""
    count = np.zeros((len(program.parts), len(cells)), np.int64)
    some = np.flatnonzero(states >= 0)
    part = program.tables["part"][cells.node[some]]
    np.maximum.at(count, (part, cells.cell[some]), states[some] + 1)
    return count


def _offsets(program: UnitProgram, places: "_Placed", cells: int, most: int, states: int) -> _Offsets:
    """Stores come first, from row 1 on; what one tick needs comes last, and is used again by the next."""
    members = len(program.chosen)
    basis, sums = 1 + places.own_rows, 1 + places.shared_rows
    totals, ends = basis + states, sums + most
    return _Offsets(basis, totals, totals + cells * members, sums, ends, ends + program.ends * most)


def _values_at_once(program: UnitProgram, cells: Cells, most: int) -> tuple[int, int]:
    """Rows for the values of one tick, of members' own nodes and of shared ones, at most."""
    first = cells.tick_first[:-1]
    own = np.add.reduceat(program.tables["comps"][cells.node], first)
    shared = np.add.reduceat((program.tables["part"][cells.node] >= 0).astype(np.int64), first)
    return int(own.max(initial=0)), int(shared.max(initial=0)) * most


class _Standing:
    """Groups, and leaves or counts, of occurrences, one after another; each list is found by where it begins."""

    def __init__(self) -> None:
        self._arrays: list[I32] = []
        self._length = 0

    def add(self, found: FoundGroups | None, shift: int) -> tuple[int, int]:
        """Where the groups and the others begin, -1 for none; groups are renumbered by `shift`."""
        if found is None:
            return -1, -1
        groups, others = found
        self._arrays += [groups + np.int32(shift), others]
        begin = self._length
        self._length += 2 * len(groups)
        return begin, begin + len(groups)

    @property
    def array(self) -> I32:
        return np.concatenate([*self._arrays, np.zeros(0, np.int32)])


@dataclass(frozen=True, slots=True)
class _Placed:
    """Where all occurrences stand, what is scanned, and how many rows the stores take: own and shared ones."""

    tables: dict[str, I64]
    standing: I32
    scans: list[ScannedRead]
    own_rows: int
    shared_rows: int


@dataclass(slots=True)
class _Groups:
    """The groups of all stores, each with its first row, its leaves and their width."""

    rows: list[I64] = field(default_factory=list)
    sizes: list[I64] = field(default_factory=list)
    widths: list[I64] = field(default_factory=list)
    first: list[int] = field(default_factory=lambda: [0])
    taken: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})

    def add(self, size: I64, width: I64, *, shared: bool) -> None:
        room = size * width
        self.rows.append(1 + self.taken[shared] + np.cumsum(room) - room)
        self.taken[shared] += int(room.sum())
        self.sizes.append(size)
        self.widths.append(width)
        self.first.append(self.first[-1] + len(size))


def _places(program: UnitProgram, rankings: Rankings, count: I64) -> _Placed:
    groups, standing = _Groups(), _Standing()
    sources, targets = [], []
    for store, width in zip(program.stores, program.widths, strict=True):
        ranked = None if store.is_total else rankings.ranked(store)
        sources.append(standing.add(None if ranked is None else ranked.source, groups.first[-1]))
        cell = np.arange(len(rankings.cells)) if ranked is None else ranked.cell
        size = np.ones(len(cell), np.int64) if ranked is None else ranked.size
        part = int(program.tables["part"][store.source])
        widths = np.full(len(cell), width) if part < 0 else count[part, cell]
        groups.add(size, widths, shared=part >= 0)
    group_first = dict(zip(program.stores, groups.first[:-1], strict=True))
    scans = []
    for number, read in enumerate(program.reads):
        found = None if is_plain(read.look) else rankings.found(read.look)
        targets.append(standing.add(found, group_first[read.look.store]))
        if found is not None and read.look.pairs is not None:
            scans.append(ScannedRead(number, read.look, rankings.ranked(read.look.store), found))
    tables = {
        "source_at": ints(at for at, _ in sources),
        "leaf_at": ints(at for _, at in sources),
        "target_at": ints(at for at, _ in targets),
        "count_at": ints(at for _, at in targets),
        "group_first": ints(groups.first[:-1]),
        "group_row": np.concatenate([ints(()), *groups.rows]),
        "group_size": np.concatenate([ints(()), *groups.sizes]),
        "group_width": np.concatenate([ints(()), *groups.widths]),
    }
    return _Placed(tables, standing.array, scans, groups.taken[False], groups.taken[True])


def _masks(program: UnitProgram, rankings: Rankings) -> tuple[Bool, I64]:
    cells = rankings.cells
    masks = [
        meets(condition, cells.event[cells.of_node[node]], rankings.events)
        for node, condition in program.masks
    ]
    at = np.cumsum([0, *(len(mask) for mask in masks)])[:-1].astype(np.int64)
    return np.concatenate([*masks, np.zeros(0, np.bool_)]), at
