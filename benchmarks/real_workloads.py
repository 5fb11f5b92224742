"""Random workloads over real events: types, keys, values and windows are drawn from what the events hold.

Queries of one workload draw from the same few types, terms and windows, as those of one team do, so that parts of
them are alike. A query alone must be runnable: one that finds far more than there are events, or takes too long, is
drawn again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import process_time
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stretto.engine.run import Engine
from stretto.errors import EngineError
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.stats.profile import Stats

SETS: Final = {
    "flights": "flights_nyc_2013.parquet",
    "home": "smarthome_opensmarthome_2017.parquet",
    "ticks": "stock_ticks_lean_2013.parquet",
    "security": "security_windows_lsass_2023.parquet",
    "cluster": "google_cluster_decopa.parquet",
}
IN_WINDOW: Final = (4, 8, 16, 32, 64, 128, 256)
"""Events that a window holds beside one of them, at the median."""
WINDOWS: Final = 2
POOL: Final = 6
"""Types that the queries of one workload are about."""
TRIED: Final = 1 << 12
ALONE_SECONDS: Final = 0.4
MATCHES: Final = 3
"""So many matches for each event are let through."""
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def events_of(folder: Path, name: str, count: int, random: Random) -> pa.Table:
    """`count` events of a set that follow each other, from a place drawn by chance."""
    table = pq.read_table(folder / SETS[name])
    start = random.randrange(max(table.num_rows - count, 0) + 1)
    return table.slice(start, count).combine_chunks()


@dataclass(frozen=True, slots=True)
class Attribute:
    """What can be said of an attribute: values to compare with, and the types whose events mostly have one."""

    name: str
    number: bool
    key: bool
    values: tuple[object, ...]
    types: frozenset[str]


class Drawing:
    """Draws the queries of one workload."""

    def __init__(self, table: pa.Table, random: Random) -> None:
        self._random = random
        counts = {
            str(one["values"]): one["counts"]
            for one in pc.value_counts(table["type"]).to_pylist()
            if NAME.fullmatch(str(one["values"]))
        }
        self._types = _weighted(random, {name: count**0.5 for name, count in counts.items()}, POOL)
        self._attributes = _attributes(table, self._types, random)
        times = table["ts"].cast(pa.int64()).to_numpy()
        held = random.sample(IN_WINDOW, WINDOWS)
        self._windows = [_window(times, many) for many in held]

    def query(self, name: str) -> str:
        """The text of a query."""
        random = self._random
        size = random.choices((2, 3, 4), (35, 40, 25))[0]
        types = [random.choice(self._types) for _ in range(size)]
        names = "abcd"[:size]
        slots = [f"{kind} {slot}" for kind, slot in zip(types, names, strict=True)]
        shape = random.random()
        if shape < 0.12:
            at = random.randrange(size)
            slots[at] += random.choice(("{1,2}", "{1,3}", "+"))
        bound = dict(zip(names, types, strict=True))
        if 0.12 <= shape < 0.27:
            bound["n"] = random.choice(self._types)
            slots.insert(random.randrange(1, size), f"NOT({bound['n']} n)")
        pattern = f"{'AND' if shape > 0.85 else 'SEQ'}({', '.join(slots)})"
        terms = self._terms(bound)
        where = f" WHERE {' AND '.join(terms)}" if terms else ""
        return f"QUERY {name} PATTERN {pattern}{where} WITHIN {random.choice(self._windows)} MICROSECONDS;"

    def _terms(self, bound: dict[str, str]) -> list[str]:
        random = self._random
        terms = []
        common = [one for one in self._attributes if one.key and one.types >= set(bound.values())]
        if common and random.random() < 0.55:
            terms.append(f"[{random.choice(common).name}]")
        for _ in range(random.choice((0, 1, 1, 2))):
            terms.append(random.choice((self._pair, self._constant))(bound))
        return list(dict.fromkeys(term for term in terms if term))

    def _pair(self, bound: dict[str, str]) -> str:
        """A comparison of two variables."""
        left, right = self._random.sample(sorted(bound), 2)
        both = {bound[left], bound[right]}
        usable = [one for one in self._attributes if one.types >= both]
        if not usable:
            return ""
        one = self._random.choice(usable)
        sign = self._random.choice(("<", ">", "=")) if one.number else "="
        return f"{left}.{one.name} {sign} {right}.{one.name}"

    def _constant(self, bound: dict[str, str]) -> str:
        """A comparison with a value that occurs."""
        slot = self._random.choice(sorted(bound))
        usable = [one for one in self._attributes if bound[slot] in one.types and one.values]
        if not usable:
            return ""
        one = self._random.choice(usable)
        value = self._random.choice(one.values)
        if one.number:
            return f"{slot}.{one.name} {self._random.choice(('<', '>'))} {value!r}"
        text = str(value).replace("'", "''")
        return f"{slot}.{one.name} {self._random.choice(('=', '!='))} '{text}'"


def workload_over(table: pa.Table, stats: Stats, random: Random, queries: int) -> str:
    """The text of a workload of so many queries, each of which can be run alone."""
    drawing = Drawing(table, random)
    found: list[str] = []
    for _ in range(queries * 20):
        text = drawing.query(f"q{len(found)}")
        if _runs(text, table, stats):
            found.append(text)
            if len(found) == queries:
                break
    return "\n".join(found)


def _runs(text: str, table: pa.Table, stats: Stats) -> bool:
    """Whether a query alone ends soon and finds no flood of matches."""
    engine = Engine(optimize(Workload.parse(text), stats, "none"), memory_bytes=1 << 30)
    began, found = process_time(), 0
    try:
        for batch in table.to_batches(max_chunksize=TRIED):
            found += len(engine.push(batch))
            if found > MATCHES * table.num_rows or process_time() - began > ALONE_SECONDS:
                return False
        found += len(engine.flush())
    except EngineError:
        return False
    return found <= MATCHES * table.num_rows


def _attributes(table: pa.Table, types: Sequence[str], random: Random) -> list[Attribute]:
    found = []
    for name in table.column_names:
        if name in ("ts", "type"):
            continue
        column = table[name]
        kind = column.type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not number and not pa.types.is_string(kind):
            continue
        mostly = []
        for one in types:
            here = column.filter(pc.equal(table["type"], one))
            if len(here) and here.null_count < len(here) / 2:
                mostly.append(one)
        if not mostly:
            continue
        there = column.drop_null()
        distinct = pc.count_distinct(there).as_py()
        drawn = there.take(pa.array([random.randrange(len(there)) for _ in range(8)])).to_pylist()
        key = not pa.types.is_floating(kind) and 2 <= distinct <= len(there) / 4
        found.append(Attribute(name, number, key, tuple(dict.fromkeys(drawn)), frozenset(mostly)))
    return found


def _weighted(random: Random, weights: dict[str, float], count: int) -> list[str]:
    """Some of the names, each at most once, by weight."""
    left, found = dict(weights), []
    while left and len(found) < count:
        name = random.choices(list(left), list(left.values()))[0]
        found.append(name)
        del left[name]
    return found


def _window(times: np.ndarray, held: int) -> int:
    """Microseconds in which an event is followed by so many others, at the median of the events."""
    return max(1, int(np.median(times[held:] - times[:-held]))) if len(times) > held else 1
