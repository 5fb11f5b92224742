"""Random workloads over streams of a size at which buffers grow, move and are used again.

The queries are those that `strategies` and `variations` draw. Windows hold few events, so that the oracle can judge
them, and the streams hold many windows. A seed names a workload for good.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.support.keeps import CLAUSES
from tests.support.random_events import TYPES, VALUES
from tests.support.strategies import Event, random_query
from tests.support.variations import sharing_queries

from stretto.pattern.workload import Workload

FEWEST, MOST = 1_000, 5_000

GAPS = ((0, 1, 1, 1, 2, 3), (1, 2, 2, 3, 5), (0, 0, 0, 1, 3, 5), (0, 1, 1, 2, 2, 3))
PAUSE = 0.01  # the chance that nothing happens for longer than any window
WORDS = 400


@dataclass(frozen=True, slots=True)
class Sized:
    """Queries by name, the selections that they may read, and events in time order, those of one time by id."""

    selections: tuple[str, ...]
    queries: Mapping[str, str]
    events: tuple[Event, ...]

    def workload(self, names: Iterable[str] | None = None) -> Workload:
        """All of it, or some of the queries."""
        texts = self.queries.values() if names is None else [self.queries[name] for name in names]
        return Workload.parse("\n".join([*self.selections, *texts]))

    def only(self, names: Iterable[str]) -> "Sized":
        return replace(self, queries={name: self.queries[name] for name in names})


def sized_workload(rng: Random) -> Sized:
    """Twelve to eighteen queries, in most workloads some of them with much to share, and a stream."""
    types, queries = rng.sample(TYPES, rng.choice((2, 2, 3, 4))), {}
    if rng.random() < 0.7:
        base, texts = sharing_queries(rng)
        types = sorted({*types, *base})
        queries = {f"q{number}": text for number, text in enumerate(texts)}
    selections = {f"Sel{i}": rng.choice(types) for i in range(rng.choice((0, 0, 1, 2)))}
    for number in range(len(queries), rng.randint(12, 18)):
        text, _ = random_query(rng, f"q{number}", (*types, *types, *selections), window_sizes)
        queries[f"q{number}"] = text
    texts = [
        f"CREATE EVENT {name} AS SELECT * FROM {source} WHERE {_selected(rng)};"
        for name, source in selections.items()
    ]
    events = sized_events(rng, types)
    return Sized(tuple(texts), _with_keeps(rng, queries), events)


def _with_keeps(rng: Random, queries: Mapping[str, str]) -> dict[str, str]:
    """A third of the queries over windows of time, with KEEP and LIMIT clauses."""
    return {
        name: text
        if "EVENTS" in text or rng.random() > 0.33
        else f"{text.removesuffix(';')}{rng.choice(CLAUSES)};"
        for name, text in queries.items()
    }


def window_sizes(weight: int) -> Sequence[int]:
    """The heavier the pattern, the fewer events of a window."""
    return (3, 5, 6, 8) if weight <= 3 else (3, 4, 5) if weight <= 5 else (2, 3)


def _selected(rng: Random) -> str:
    return rng.choice(("x >= 0.5", "n IN (0, 1, 2)", "k = 1 OR f", "s < 'b'", "x < n"))


# ---- events ------------------------------------------------------------------------------------------------


def sized_events(rng: Random, types: Sequence[str], size: int | None = None) -> tuple[Event, ...]:
    """Events of one of several kinds: types mixed, skewed, in long runs of one, or nearly all of one."""
    size = size or round(FEWEST * (MOST / FEWEST) ** rng.random() ** 8)
    gaps, wild, worded = rng.choice(GAPS), rng.choice((0.0, 0.0, 0.05, 0.2)), rng.random() < 0.25
    names, times = _types(rng, types, size), []
    ts = rng.choice((0, 0, 0, -7, -(10**9), 10**15))
    for _ in range(size):
        ts += rng.randint(20, 2000) if rng.random() < PAUSE else rng.choice(gaps)
        times.append(ts)
    values = [{name: _value(rng, name, wild) for name in VALUES} for _ in range(size)]
    if worded:
        for attributes in values:
            attributes["s"] = rng.choice((attributes["s"], f"w{rng.randrange(WORDS)}"))
    ids = _ids(rng, times)
    return tuple(Event(*fields) for fields in zip(ids, times, names, values, strict=True))


def _value(rng: Random, name: str, wild: float) -> object:
    usual, rare = VALUES[name]
    return None if rng.random() < 0.05 else rng.choice(rare if rng.random() < wild else usual)


def _types(rng: Random, types: Sequence[str], size: int) -> list[str]:
    others = [*types, "E"] if rng.random() < 0.5 else list(types)
    kind = rng.choice(("mixed", "mixed", "skewed", "runs", "one"))
    if kind == "mixed":
        return rng.choices(others, k=size)
    if kind == "skewed":
        return rng.choices(others, [4**-i for i in range(len(others))], k=size)
    if kind == "one":
        return rng.choices(others, [60] + [1] * (len(others) - 1), k=size)
    found: list[str] = []
    while len(found) < size:
        found += [rng.choice(others)] * rng.choice((1, 1, 1, 3, 10, 60, 200))
    return found[:size]


def _ids(rng: Random, times: Sequence[int]) -> list[int]:
    """Distinct ids: numbers of arrival, such up to some event, ascending ones with gaps, or descending with time."""
    size, kind = len(times), rng.choice(("count", "count", "break", "gaps", "descending"))
    if kind == "gaps":
        return sorted(rng.sample(range(-(10**12), 10**12), size))
    ids = list(range(size))
    if kind == "break":
        at = rng.randrange(size)
        return ids[:at] + [number + 7 for number in ids[at:]]
    if kind == "descending":
        ids.sort(key=lambda number: (-times[number], number))
        found = [0] * size
        for place, number in enumerate(ids):
            found[number] = place
        return found
    return ids
