"""What can be fuzzed. A case is plain data, so that a failing one can be kept as a file and run again."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from random import Random
from time import monotonic
from typing import Any

from tests.exactness import test_engine, test_optimizers, test_switching, test_wild_statistics
from tests.fuzz import derived_trials
from tests.fuzz.hostile_files import Unclear, hostile
from tests.fuzz.hostile_worker import FileTally, Watched
from tests.fuzz.sized_streams import Sized, sized_workload
from tests.fuzz.sized_trends import TiledTrends, compare_trends, tiled_trends, trend_way
from tests.fuzz.tiled_trials import compare_tiled
from tests.fuzz.trials import Differs, Tally, compare
from tests.fuzz.ways import Way, some_way
from tests.support.random_events import ATTRIBUTES, SCHEMA
from tests.support.strategies import Event, Sample, random_workload
from tests.support.variations import sharing_workload
from tests.support.wild import CHARACTERS, wild
from tests.text.mutations import mutated
from tests.text.test_mutated import TEXTS, check_text

from stretto.plan.optimizers import RECIPES

Case = dict[str, Any]

EVENTS_RUN = 36_000  # by all runs of a sized workload: thirty-six ways for a thousand events
TREND_WAYS = 10
MUTATIONS = 200  # texts of a case
SHRINK_S = 60.0


@dataclass(frozen=True, slots=True)
class Kind:
    """`draw` makes the case of a seed, `check` raises where something is wrong with it.

    `shrink` makes a failing one smaller. `every`: one in so many cases is of this kind, where all kinds are run.
    `enough`: so many comparisons are a whole run of this kind alone.
    """

    about: str
    draw: Callable[[int], Case]
    check: Callable[[Case], Tally]
    shrink: Callable[[Case, Exception], Case] = lambda case, _: case
    every: int = 1
    enough: int | None = None


# ---- sized: streams that are longer than the buffers -----------------------------------------------------------


def draw_sized(seed: int) -> Case:
    rng = Random(seed)
    sized = sized_workload(rng)
    ways = [some_way(rng) for _ in range(max(6, EVENTS_RUN // len(sized.events)))]
    return sized_case(sized, ways)


def sized_case(sized: Sized, ways: Iterable[Way]) -> Case:
    return {
        "selections": list(sized.selections),
        "queries": dict(sized.queries),
        "ways": [asdict(way) for way in ways],
        "events": _listed(sized.events),
    }


def check_sized(case: Case) -> Tally:
    return compare(_sized(case), [Way(**way) for way in case["ways"]])


def _sized(case: Case) -> Sized:
    return Sized(tuple(case["selections"]), case["queries"], _events(case["events"]))


def shrink_sized(case: Case, error: Exception) -> Case:
    """The queries and the way that failed, and fewer events, as far as that is found in a minute."""
    if not isinstance(error, Differs):
        return case
    ways = [] if error.way is None else [asdict(error.way)]
    fails = _failing(check_sized)
    tries = [case | {"ways": ways, "queries": {name: case["queries"][name]}} for name in error.names]
    tries.append(case | {"ways": ways})
    case = next(filter(fails, tries), case)
    for name in ATTRIBUTES:
        smaller = case | {"events": [[*event[:3], _without(event[3], name)] for event in case["events"]]}
        case = smaller if fails(smaller) else case
    return _with_fewer(case, "events", fails)


def _failing(check: Callable[[Case], Tally]) -> Callable[[Case], bool]:
    def fails(case: Case) -> bool:
        try:
            check(case)
        except Differs:
            return True
        return False

    return fails


def _with_fewer(case: Case, name: str, fails: Callable[[Case], bool]) -> Case:
    """The case with as few elements of a list as are found to fail in a minute."""
    size, begun = len(case[name]) // 2, monotonic()
    while size >= 1:
        at = 0
        while at < len(case[name]) and monotonic() - begun < SHRINK_S:
            smaller = case | {name: case[name][:at] + case[name][at + size :]}
            if smaller[name] and fails(smaller):
                case = smaller
            else:
                at += size
        size //= 2
    return case


def _without(attributes: Mapping[str, Any], left_out: str) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if name != left_out}


# ---- trends: the same for totals -----------------------------------------------------------------------------------


def draw_trends(seed: int) -> Case:
    rng = Random(seed)
    tiled = tiled_trends(rng)
    ways = [asdict(trend_way(rng)) for _ in range(TREND_WAYS)]
    tiles = [_listed(tile) for tile in tiled.tiles]
    return {"text": tiled.text, "tiles": tiles, "order": list(tiled.order), "ways": ways}


def check_trends(case: Case) -> Tally:
    tiles = tuple(_events(tile) for tile in case["tiles"])
    tiled = TiledTrends(case["text"], tiles, tuple(case["order"]))
    return compare_trends(tiled, [Way(**way) for way in case["ways"]])


def shrink_trends(case: Case, error: Exception) -> Case:
    if not isinstance(error, Differs) or error.way is None:
        return case
    return _with_fewer(case | {"ways": [asdict(error.way)]}, "order", _failing(check_trends))


# ---- small: short streams, by every optimizer and runner ---------------------------------------------------------


def draw_small(seed: int) -> Case:
    rng = Random(seed)
    sample = random_workload(rng) if seed % 2 else sharing_workload(rng)
    return {"seed": seed, "text": sample.text, "events": _listed(sample.events)}


def check_small(case: Case) -> Tally:
    seed, sample = case["seed"], Sample(case["text"], SCHEMA, _events(case["events"]))
    found = test_engine.check(sample, seed)
    if found < 0:
        return Tally(workloads=1, refused=1)
    test_optimizers.check(sample, seed)
    lives = test_switching.switch_plans(sample, seed)
    lives += test_switching.update_queries(sample, seed)
    runs = len(test_engine.RUNNERS) + len(RECIPES) + 1  # changing plans; lives of queries are not counted
    return Tally(1, runs * sample.text.count("QUERY "), runs * found + lives)


# ---- optimize: statistics of events that nobody plans for ----------------------------------------------------------


def draw_optimize(seed: int) -> Case:
    rng = Random(seed)
    character = rng.choice([*CHARACTERS])
    sample = wild(rng, random_workload(rng) if seed % 3 else sharing_workload(rng), character)
    names = rng.sample(test_wild_statistics.NAMES, test_wild_statistics.EACH)
    return {"seed": seed, "text": sample.text, "optimizers": names, "events": _listed(sample.events)}


def check_optimize(case: Case) -> Tally:
    seed, sample = case["seed"], Sample(case["text"], SCHEMA, _events(case["events"]))
    found = test_wild_statistics.check(sample, Random(seed), case["optimizers"], f"seed {seed}")
    if found < 0:
        return Tally(workloads=1, refused=1)
    runs = len(case["optimizers"])
    return Tally(1, runs * sample.text.count("QUERY "), runs * found)


# ---- large and text ----------------------------------------------------------------------------------------------


def check_large(case: Case) -> Tally:
    return compare_tiled(case["seed"])


def draw_text(seed: int) -> Case:
    rng = Random(seed)
    return {"texts": [mutated(rng, TEXTS) for _ in range(MUTATIONS)]}


def check_text_case(case: Case) -> Tally:
    for text in case["texts"]:
        for schema in (None, SCHEMA):
            try:
                check_text(text, schema)
            except Exception as error:
                error.add_note(text)
                raise
    return Tally(workloads=len(case["texts"]))


def shrink_text(case: Case, error: Exception) -> Case:
    return {"texts": error.__notes__[-1:]}


# ---- files -----------------------------------------------------------------------------------------------------

TEXTS_PER_FILE = 10
WATCHED = Watched()


def draw_files(seed: int) -> Case:
    """One hostile file, and ten damaged texts."""
    rng = Random(f"texts/{seed}")
    return hostile(seed) | {"texts": [mutated(rng, TEXTS) for _ in range(TEXTS_PER_FILE)]}


def check_files(case: Case) -> Tally:
    how = WATCHED.ask(case)
    return FileTally(
        workloads=1, comparisons=1, outcomes=Counter([(case["kind"], how)]), texts=len(case["texts"])
    )


def shrink_files(case: Case, error: Exception) -> Case:
    """The file alone, or the text alone that failed."""
    if isinstance(error, Unclear) and error.text is not None:
        return case | {"files": {}, "texts": [error.text]}
    return case | {"texts": []}


# ---- events as lists -----------------------------------------------------------------------------------------------


def _listed(events: Iterable[Event]) -> list[list[Any]]:
    """Without what is null."""
    return [
        [event.id, event.ts, event.type, {k: v for k, v in event.attributes.items() if v is not None}]
        for event in events
    ]


def _events(listed: Iterable[list[Any]]) -> tuple[Event, ...]:
    return tuple(Event(*fields) for fields in listed)


KINDS: dict[str, Kind] = {
    "sized": Kind("streams longer than the buffers, in many ways", draw_sized, check_sized, shrink_sized),
    "trends": Kind("the same for totals of trends", draw_trends, check_trends, shrink_trends),
    "small": Kind("short streams, every optimizer and runner", draw_small, check_small),
    "optimize": Kind("plans by statistics of wild events", draw_optimize, check_optimize),
    "derived": Kind(
        "derived streams, HAVING, channels and families by none, auto and rumor",
        lambda seed: {"seed": seed},
        lambda case: derived_trials.check(case["seed"]),
    ),
    "text": Kind("texts damaged in their structure", draw_text, check_text_case, shrink_text),
    "files": Kind(
        "hostile files and damaged texts, read in a process of their own",
        draw_files,
        check_files,
        shrink_files,
        enough=10_000,
    ),
    "large": Kind("a million events", lambda seed: {"seed": seed}, check_large, every=20),
}
