"""Events such as nobody plans for, and what statistics tell of them: by name, so that a failure says which."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from tests.support.random_events import to_table
from tests.support.strategies import Sample

from stretto.oracle.detections import Event
from stretto.pattern.workload import Workload
from stretto.stats.profile import Stats

Events = tuple[Event, ...]
Change = Callable[[Random, Events], Events]

NAN, INF = float("nan"), float("inf")
DAY_US = 86_400_000_000


def _each(values: Mapping[str, Sequence[object]]) -> Change:
    """Every event with values drawn from these, by attribute."""

    def change(rng: Random, events: Events) -> Events:
        return tuple(
            replace(
                event,
                attributes={**event.attributes, **{name: rng.choice(of) for name, of in values.items()}},
            )
            for event in events
        )

    return change


def _moved(move: Callable[[int], int]) -> Change:
    """Every event at another time; the order stays."""
    return lambda _rng, events: tuple(replace(event, ts=move(event.ts)) for event in events)


def _all_alike(_rng: Random, events: Events) -> Events:
    return tuple(replace(event, attributes=events[0].attributes) for event in events)


def _some_wild(rng: Random, events: Events) -> Events:
    """One bad value among good ones is the usual case."""
    return tuple(
        replace(event, attributes={**event.attributes, "x": rng.choice((NAN, INF, -INF))})
        if rng.random() < 0.15
        else event
        for event in events
    )


CHARACTERS: Mapping[str, Change] = {
    "as they are": lambda _rng, events: events,
    "some NaN": _some_wild,
    "NaN only": _each({"x": (NAN,)}),
    "infinities only": _each({"x": (INF, -INF)}),
    "nulls only": _each(dict.fromkeys(("x", "n", "k", "s", "f", "at"), (None,))),
    "huge": _each(
        {
            "x": (1e308, -1e308, 5e-324, 0.0),
            "n": (2**63 - 1, -(2**63)),
            "k": (2**62, 0),
            "at": (2**63 - 1, -(2**63)),
        }
    ),
    "all alike": _all_alike,
    "one event": lambda _rng, events: events[:1],
    "no event": lambda _rng, _events: (),
    "one time": _moved(lambda _ts: 7),
    "days apart": _moved(lambda ts: ts * DAY_US if abs(ts) < 10**6 else ts),
}


def wild(rng: Random, sample: Sample, character: str) -> Sample:
    """A workload with its events changed."""
    return replace(sample, events=CHARACTERS[character](rng, sample.events))


# ---- statistics --------------------------------------------------------------------------------------------


def of_all(_rng: Random, sample: Sample, _workload: Workload) -> Stats:
    """Measured on every event, when asked for."""
    return Stats.of(to_table(sample.events))


def of_few(rng: Random, sample: Sample, _workload: Workload) -> Stats:
    """Measured on a few events of several stretches."""
    return Stats.of(to_table(sample.events), sample=rng.choice((1, 3, 8)), seed=rng.randrange(9))


def from_file(_rng: Random, sample: Sample, workload: Workload) -> Stats:
    """Measured, written and read: what a command passes to another."""
    stats = replace(Stats.of(to_table(sample.events)), schema=sample.schema)
    return Stats.from_json(stats.measured(workload).to_json())


def with_wild_rates(rng: Random, sample: Sample, workload: Workload) -> Stats:
    """Rates far from those of the events."""
    stats = of_all(rng, sample, workload)
    rates = {kind: rng.choice((0.0, 5e-324, 1e-9, 1.0, 1e12, 1e300)) for kind in sample.schema.types or ()}
    return stats.with_rates(rates)


KINDS = (of_all, of_all, of_few, from_file, with_wild_rates)


def statistics(rng: Random, sample: Sample, workload: Workload) -> tuple[str, Stats]:
    """Statistics of a sample's events, of which some types may be missing, and how they were made."""
    kind = rng.choice(KINDS)
    return kind.__name__, replace(kind(rng, sample, workload), schema=sample.schema)
