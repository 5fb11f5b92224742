"""A unit as tables for the kernel, for some of its members: components, starts, ends, stores and reads."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from stretto.engine.trends.conditions import Store, StoreLookup, looks_of
from stretto.engine.trends.kernels.tables import ints, ragged
from stretto.engine.trends.lanes import Columns, LaneMap, shared_lanes, shared_measures, split, weight_lanes
from stretto.records import dataclass
from stretto.trends.plan import Condition, Edge, Entry, Measure, Member, TrendUnit
from stretto.values.rows import I64


@dataclass(frozen=True, slots=True)
class Read:
    """A look in a store, for members (by their places); `enters`: a member's own edge into a shared node."""

    look: StoreLookup
    members: tuple[int, ...]
    enters: bool
    common: bool


@dataclass(frozen=True, slots=True, eq=False)
class UnitProgram:
    """What the kernel runs for the members `chosen` of a unit: its tables, and what they stand for.

    `masks`: nodes and conditions on single events. Stores are numbered by source, reads by target. `parts`: the parts
    of the unit, by number, that are computed for MatStates; values at their nodes have `lanes` of their own, linear
    and extreme ones.
    """

    chosen: tuple[int, ...]
    parts: tuple[int, ...]
    tables: dict[str, I64]
    masks: tuple[tuple[int, Condition], ...]
    stores: tuple[Store, ...]
    widths: tuple[int, ...]
    reads: tuple[Read, ...]
    weigh: LaneMap
    states: LaneMap
    lanes: tuple[int, int]
    ends: int


def program_of(
    unit: TrendUnit, chosen: Sequence[int], columns: Columns, parts: Sequence[int] = ()
) -> UnitProgram:
    """The program for these members, all of them where some parts are computed for MatStates.

    Every other node has a value for each member that has it.
    """
    assert not parts or len(chosen) == len(unit.members)
    return _Builder(unit, tuple(chosen), columns, tuple(parts)).build()


def merged(entries: Iterable[Entry]) -> dict[int, Condition | None]:
    """The conditions by node; of several for one node any will do."""
    found: dict[int, Condition | None] = {}
    for entry in entries:
        earlier = found.get(entry.node, ())
        found[entry.node] = None if earlier is None or entry.condition is None else earlier + entry.condition
    return found


def _lists(name: str, lists: Sequence[Sequence[int]]) -> dict[str, I64]:
    """Lists as two tables: where each begins, and the items of all."""
    first, items = ragged(lists)
    return {f"{name}_first": first, name: items}


class _Builder:
    def __init__(
        self, unit: TrendUnit, chosen: tuple[int, ...], columns: Columns, parts: tuple[int, ...]
    ) -> None:
        self.unit, self.chosen, self.columns, self.parts = unit, chosen, columns, parts
        self.members: list[Member] = [unit.members[c] for c in chosen]
        self.active = [unit.parts[part] for part in parts]
        self.shared = {node: number for number, part in enumerate(self.active) for node in part.nodes}
        self.place_in = [{m: place for place, m in enumerate(part.members)} for part in self.active]
        self.nodes = range(len(unit.nodes))
        self.edges: dict[Edge, list[int]] = defaultdict(list)
        others = [part for number, part in enumerate(unit.parts) if number not in parts]
        having: list[set[int]] = [set() for _ in self.nodes]
        for place, (c, member) in enumerate(zip(chosen, self.members, strict=True)):
            edges = (*member.edges, *(edge for part in others if c in part.members for edge in part.edges))
            for edge in dict.fromkeys(edges):
                self.edges[edge].append(place)
                having[edge.source].add(place)
                having[edge.target].add(place)
            for entry in (*member.starts, *member.ends):
                having[entry.node].add(place)
        self.comps = [() if p in self.shared else tuple(sorted(having[p])) for p in self.nodes]
        self.masks: list[tuple[int, Condition]] = []
        self.measures = [shared_measures(unit, part) for part in self.active]

    def build(self) -> UnitProgram:
        stores, reads = self._reads()
        weigh, weigh_rows = self._weights()
        starts, _ = self._entries("start", [m.starts for m in self.members])
        ends, end_members = self._entries("end", [m.ends for m in self.members])
        end_nodes = np.repeat(np.arange(len(self.nodes)), np.diff(ends["end_first"]))
        at_shared = np.isin(end_nodes, sorted(self.shared))
        store_comps = self._store_comps(stores, reads)
        number = {store: place for place, store in enumerate(stores)}
        pairs = [self._pairs(read, store_comps[read.look.store]) for read in reads]
        pair_first, pair_from = ragged([[one for one, _ in some] for some in pairs])
        tables = {
            "part": ints(self.shared.get(p, -1) for p in self.nodes),
            "sharers": ints(len(part.members) for part in self.active),
            "share_first": self._begins(len(part.members) for part in self.active)[:-1],
            "comps": ints(map(len, self.comps)),
            **_lists("weigh", weigh_rows),
            **starts,
            **ends,
            "end_member": ragged(end_members)[1],
            "end_row": np.where(at_shared, np.cumsum(at_shared) - 1, -1),
            "store_first": self._first(store.source for store in stores),
            "store_source": ints(store.source for store in stores),
            "store_scanned": ints(store.scanned for store in stores),
            **_lists("store_comp", [store_comps[store] for store in stores]),
            "read_first": self._first(read.look.target for read in reads),
            "read_store": ints(number[read.look.store] for read in reads),
            "read_enters": ints(read.enters for read in reads),
            "read_pair_first": pair_first,
            "read_from": pair_from,
            "read_to": ints(to for some in pairs for _, to in some),
        }
        return UnitProgram(
            self.chosen,
            self.parts,
            tables,
            tuple(self.masks),
            tuple(stores),
            tuple(len(store_comps[store]) for store in stores),
            tuple(reads),
            weigh,
            self._states(),
            self._lanes(),
            int(at_shared.sum()),
        )

    def _states(self) -> LaneMap:
        """For every member of every part its lanes; the last rows only make the map as wide as any member's values."""
        members = self.unit.members
        rows = [
            (members[m].measures, measures)
            for part, measures in zip(self.active, self.measures, strict=True)
            for m in part.members
        ]
        return shared_lanes([*rows, *((member.measures, ()) for member in members)])

    def _lanes(self) -> tuple[int, int]:
        """As many as the part that measures most needs."""
        kinds = [split(measures) for measures in self.measures]
        return 1 + max((len(sums) for sums, _ in kinds), default=0), max(
            (len(x) for _, x in kinds), default=0
        )

    @staticmethod
    def _begins(sizes: Iterable[int]) -> I64:
        return np.cumsum([0, *sizes]).astype(np.int64)

    def _first(self, owners: Iterable[int]) -> I64:
        counts = np.bincount(ints(owners), minlength=len(self.nodes))
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def _reads(self) -> tuple[list[Store], list[Read]]:
        reads = [
            Read(look, tuple(members), enters=edge.target in self.shared, common=False)
            for edge, members in self.edges.items()
            for look in looks_of(edge)
        ]
        if self.shared:
            reads += [
                Read(look, (), enters=False, common=True)
                for part in self.active
                for edge in part.edges
                for look in looks_of(edge)
            ]
        reads.sort(key=lambda read: read.look.target)
        stores = list(dict.fromkeys(read.look.store for read in reads))
        stores.sort(key=lambda store: store.source)
        return stores, reads

    def _store_comps(self, stores: list[Store], reads: list[Read]) -> dict[Store, list[int]]:
        """Components of the sources that are read by someone."""
        readers: dict[Store, set[int]] = defaultdict(set)
        for read in reads:
            readers[read.look.store].update(read.members)
        return {
            store: [c for c, member in enumerate(self.comps[store.source]) if member in readers[store]]
            for store in stores
        }

    def _pairs(self, read: Read, kept: list[int]) -> list[tuple[int, int]]:
        """Per member, the component of the store (of a shared one its place in the part) and where its sum goes."""
        if read.common:
            return []
        source, target = read.look.store.source, read.look.target
        of = {self.comps[source][c]: place for place, c in enumerate(kept)}
        of, at = self._seats(source, of), self._seats(target)
        return [(of[m], at[m]) for m in read.members]

    def _seats(self, node: int, own: dict[int, int] | None = None) -> dict[int, int]:
        """By member its place in the part of a node; or, if the node is in none, its component there (or `own`)."""
        if node in self.shared:
            return self.place_in[self.shared[node]]
        return {m: place for place, m in enumerate(self.comps[node])} if own is None else own

    def _entries(
        self, name: str, entries: Sequence[tuple[Entry, ...]]
    ) -> tuple[dict[str, I64], list[list[int]]]:
        """Tables of starts, or ends, by node: how many, their masks and components; and the members that have each."""
        found: dict[tuple[int, Condition | None], list[int]] = defaultdict(list)
        for place, own in enumerate(entries):
            for node, condition in merged(own).items():
                found[node, condition].append(place)
        masks: list[int] = []
        comps: list[list[int]] = []
        ordered = sorted(found, key=lambda key: key[0])
        for node, condition in ordered:
            masks.append(-1 if condition is None else len(self.masks))
            if condition is not None:
                self.masks.append((node, condition))
            places = found[node, condition]
            at = self._seats(node)
            comps.append([at[m] for m in places])
        first = self._first(node for node, _ in ordered)
        tables = {f"{name}_first": first, f"{name}_mask": ints(masks), **_lists(f"{name}_comp", comps)}
        return tables, [found[key] for key in ordered]

    def _weights(self) -> tuple[LaneMap, list[list[int]]]:
        """Lane maps of the weights, and for every component of every node its row in them.

        The first rows only make the maps as wide as any member's values are.
        """
        rows: list[tuple[int, Sequence[Measure]]] = [(-1, member.measures) for member in self.unit.members]
        lists: list[list[int]] = []
        for p in self.nodes:
            part = self.shared.get(p)
            own = [self.members[m].measures for m in self.comps[p]]
            kinds = own if part is None else [self.measures[part]]
            places = []
            for measures in kinds:
                measured = any(m.node == p for m in measures)
                places.append(len(rows) if measured else -1)
                if measured:
                    rows.append((p, measures))
            lists.append(places)
        return weight_lanes(rows, self.columns), lists
