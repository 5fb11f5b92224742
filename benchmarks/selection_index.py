"""How long a step of events takes with a hundred thousand selections in one index.

    python benchmarks/selection_index.py [SELECTIONS]

CPU time of a step of 65,536 events, best of five; pairs of an event and a class; members of a class on average.
"""

import sys
from collections.abc import Iterator
from time import process_time

import numpy as np

from stretto.engine.rows.join_keys import LEAST
from stretto.engine.stream.selection_index import SelectionIndex
from stretto.engine.stream.selection_terms import IndexedSelection, RangeTerm
from stretto.values.vector import Vector

EVENTS = 65_536
SEED = 1
FAR, NEAR = 200_000, 1_000
"""How many values the first and the second attribute have."""
REPEAT = 5
LISTED = 100


def settings(count: int) -> Iterator[tuple[str, list[IndexedSelection]]]:
    random = np.random.default_rng(SEED)
    far, near = random.integers(0, FAR, count).tolist(), random.integers(0, NEAR, count).tolist()
    pairs = list(zip(far, near, strict=True))
    yield "a = c", [equal(0, c) for c in range(count)]
    yield "a < c", [IndexedSelection((below(0, c),)) for c in far]
    yield "a BETWEEN c AND c + 2000", [IndexedSelection((RangeTerm(0, ((c, c + 2_000),)),)) for c in far]
    yield "b = d AND a < c", [IndexedSelection((*equal(1, d).terms, below(0, c))) for c, d in pairs]
    narrow = [RangeTerm(0, ((c, c + 20),)) for c in far]
    yield (
        "a BETWEEN c AND c + 20, b < d",
        [IndexedSelection((n, below(1, d))) for n, d in zip(narrow, near, strict=True)],
    )
    yield "a < c AND b < d", [IndexedSelection((below(0, c), below(1, d))) for c, d in pairs]
    yield (
        "a mix of these",
        [
            (
                equal(0, c),
                IndexedSelection((below(0, c), *equal(1, d).terms)),
                IndexedSelection((narrow[i],)),
                IndexedSelection((below(1, d),)),
            )[i % 4]
            for i, (c, d) in enumerate(pairs)
        ],
    )


def equal(attribute: int, value: int) -> IndexedSelection:
    return IndexedSelection((RangeTerm(attribute, ((value, value),)),))


def below(attribute: int, value: int) -> RangeTerm:
    return RangeTerm(attribute, ((LEAST, value - 1),))


def measure(name: str, selections: list[IndexedSelection]) -> str:
    random = np.random.default_rng(SEED)
    index = SelectionIndex()
    started = process_time()
    index.update(dict(enumerate(selections)))
    built = process_time() - started
    seconds = []
    for _ in range(REPEAT + 1):  # the first one compiles
        keys = [Vector(random.integers(0, values, EVENTS)) for values in (FAR, NEAR)]
        started = process_time()
        passed = index.step(keys, EVENTS)
        seconds.append(process_time() - started)
    listed = random.choice(passed.classes, LISTED).tolist()
    members = np.mean([len(index.members(number)) for number in listed])
    started = process_time()
    index.update({len(selections): equal(0, -1)}, removed=[0])
    updated = process_time() - started
    figures = f"{built:8.2f} s{1e3 * min(seconds[1:]):8.1f} ms{1e3 * updated:8.2f} ms"
    return f"{name:32}{figures}{len(passed.events):10,}{members:10,.0f}"


def main(count: int = 100_000) -> None:
    print(f"{count:,} selections, {EVENTS:,} events a step, seed {SEED}")
    print(f"{'':32}{'build':>10}{'step':>11}{'update':>11}{'pairs':>10}{'members':>10}")
    for name, selections in settings(count):
        print(measure(name, selections), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
