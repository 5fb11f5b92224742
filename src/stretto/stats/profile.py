"""What is known of a stream of events before it is planned: its schema, its span, its rates and its selectivities."""

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from importlib import import_module
from itertools import combinations, islice
from typing import Any, Final, Self

import pyarrow as pa

from stretto.errors import StrettoError, StrettoWarning
from stretto.json_depth import load_json
from stretto.pattern.piece import Detection, Piece
from stretto.pattern.project import Projector
from stretto.pattern.workload import Workload
from stretto.records import dataclass
from stretto.schema import Kind, Schema, Special
from stretto.screen import counted, html_table
from stretto.stats.estimate import Estimator
from stretto.stats.growth import once
from stretto.stats.merging import merged
from stretto.stats.sample import Sample, micros_of
from stretto.stats.sampling import (
    NUMBER,
    SIZE,
    STEP,
    Stretches,
    check_columns,
    in_order,
    number_for,
    usual_length,
)
from stretto.stats.selectivity import Selectivities
from stretto.stats.skew import figure, name_of
from stretto.values.tables import as_table, is_spark_frame
from stretto.values.time_units import as_numbers, in_unit, judged_unit

WHOLE: Final = (
    6  # slots up to which all parts of a piece are measured; of larger ones pairs, triples and the whole
)
PARTS: Final = 10_000  # parts of one piece that are measured at most


@dataclass(frozen=True, slots=True, repr=False)
class Stats:
    """The schema of some events, the seconds from the first to the last, and events per second by type.

    A span of zero (one event, or all at one time) counts as one second for the rates. `events` counts them. A type
    that did not occur has the rate `otherwise`. Selectivities are measured on a sample when they are first asked
    for; a file holds those that were.
    """

    schema: Schema
    seconds: float = 0.0
    rates: Mapping[str, float] = field(default_factory=dict)
    events: int = 0
    otherwise: float = 0.0
    selectivities: Selectivities = field(default_factory=Selectivities, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        table: Any,
        special: Special | None = None,
        *,
        workload: Workload | None = None,
        sample: int = SIZE,
        seed: int = 0,
        ts_unit: str | None = None,
        at_once: bool = True,
    ) -> Self:
        """The statistics of an Arrow table, or of any that offers itself as one (pandas, Polars, DuckDB).

        `ts_unit`: that of times which are integers; without it they are what they must be to lie in 1973 to 2100,
        which is said where it is not microseconds, and microseconds where they can be nothing of the kind.

        `sample` events are kept to measure terms on. With a workload the sample is made of stretches that its windows
        fit into, and its terms are measured `at_once`, else when planning asks for them.

        A DataFrame of Spark is measured where it lies, by `stretto.spark.profile`.
        """
        if is_spark_frame(table):
            # The room of Spark is above this one, and there where its DataFrames are.
            spark = import_module("stretto.spark")
            profiled: Self = spark.profile(workload, table, special=special, seed=seed, ts_unit=ts_unit)
            return profiled
        special = special or Special()
        events = _timed(as_table(table), special, ts_unit)
        check_columns(events.schema, special)
        schema = Schema.of(events.schema, None, special)
        ordered = in_order(events, special.ts) if events.num_rows > sample else events
        number = NUMBER
        if workload is not None and events.num_rows > sample:
            times = micros_of(ordered[special.ts]).data
            windows = workload.windows
            number = number_for(windows, lambda number: usual_length(times, sample, number))
        stats = cls.of_batches(
            ordered.to_batches(STEP), schema, events.num_rows, sample=sample, seed=seed, stretches=number
        )
        return stats.measured(workload) if workload is not None and at_once else stats

    @classmethod
    def of_batches(
        cls,
        batches: Iterable[pa.RecordBatch],
        schema: Schema,
        rows: int,
        *,
        sample: int = SIZE,
        seed: int = 0,
        stretches: int = NUMBER,
    ) -> Self:
        """The statistics of `rows` events that are read once, batch by batch, and never held all together.

        The sample comes in so many `stretches`; windows should fit into one several times.
        """
        found = Stretches(schema, rows, sample, seed, stretches)
        for batch in batches:
            found.add(batch)
        rates = found.rates()
        ordered = {name: rates[name] for name in sorted(rates)}
        schema = replace(schema, types=frozenset(ordered) or None)  # without events any type may come
        selectivities = Selectivities(found.sample(), seed, rates=ordered)
        return cls(schema, found.seconds, ordered, found.events, selectivities=selectivities)

    @classmethod
    def assumed(cls, schema: Schema) -> Self:
        """Statistics where only the schema is known: one event per second of every type."""
        return cls(schema, 0.0, dict.fromkeys(sorted(schema.types or ()), 1.0), 0, otherwise=1.0)

    def __repr__(self) -> str:
        known = f"{counted(len(self.rates), 'type')}, {counted(len(self.schema.attributes), 'attribute')}"
        return f"<Stats: {counted(self.events, 'event')} in {self.seconds:,.6g} s, {known}>"

    def _repr_html_(self) -> str:
        """Rates and measured selectivities, for a notebook."""
        rates = html_table(
            ("type", "events per second"), [(name, f"{rate:.4g}") for name, rate in self.rates.items()]
        )
        terms = [
            (term, frame, f"{known.value:.4g}")
            for (term, frame), known in sorted(self.selectivities.known.items())
        ]
        return rates + (html_table(("term", "of", "selectivity"), terms) if terms else "")

    # ---- rates -------------------------------------------------------------------------------------------------

    def rate(self, kind: str) -> float:
        """Events of a type per second."""
        return self.rates.get(kind, self.otherwise)

    @property
    def total_rate(self) -> float:
        """Events of all types per second."""
        return sum(self.rates.values()) if self.rates else 10.0 * self.otherwise

    def with_rates(self, rates: Mapping[str, float]) -> Self:
        """The same statistics with the rates of some types replaced."""
        return replace(self, rates={**self.rates, **rates})

    # ---- selectivities -----------------------------------------------------------------------------------------

    @property
    def sample(self) -> Sample | None:
        """The events that terms are measured on, if there are any."""
        return self.selectivities.sample

    def measured(self, what: Workload | Iterable[Piece | Detection]) -> Self:
        """These statistics, with every selectivity known that planning a workload, or pieces, can ask for."""
        if isinstance(what, Workload):
            what = what.bind(self.schema).normal_forms()
        estimator = Estimator(self)
        for one in what:
            for piece in [branch.piece for branch in one.branches] if isinstance(one, Detection) else [one]:
                estimator.rows(piece)
                for part in islice(_parts(piece), PARTS):
                    estimator.rows(part)
                    if len(part.slots) == 2:
                        estimator.selectivity_of_equalities(part, (0,), (1,))
        return self

    def merged(self, *others: "Stats") -> "Stats":
        """These statistics together with those of other parts of the same stream, such as other days or files."""
        return merged((self, *others))

    # ---- files -------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The statistics as the text of a file, without the sample; `from_json` reads it back."""
        special = self.schema.special
        return json.dumps(
            {
                "seconds": self.seconds,
                "rates": dict(self.rates),
                **self.selectivities.to_json(),
                "events": self.events,
                "otherwise": self.otherwise,
                "schema": self.schema.to_json(),
                "special": {"ts": special.ts, "type": special.type, "id": special.id},
            },
            indent=2,
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            read = load_json(text)
            found = read["schema"]
            types = None if found["types"] is None else frozenset(map(name_of, found["types"]))
            special = Special(**{name: name_of(column) for name, column in read["special"].items()})
            schema = Schema({name: Kind(kind) for name, kind in found["attributes"].items()}, types, special)
            return cls(
                schema,
                figure(read["seconds"]),
                {name: figure(rate) for name, rate in read["rates"].items()},
                int(figure(read["events"])),
                figure(read.get("otherwise", 0.0)),
                Selectivities.from_json(read),
            )
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
            what: object = error
            if isinstance(error, KeyError):
                what = f"{error} is missing"
            elif isinstance(error, AttributeError | IndexError | TypeError):
                what = "something else stands where an object or a list is due"
            raise StrettoError(
                f"not a file of statistics, or damaged: {what} (`stretto stats` writes a new one)"
            ) from error


def _parts(piece: Piece) -> Iterable[Piece]:
    """The parts of a piece that plans may compute: its cores seen through some of their slots, and sets that grow."""
    if piece.follows:
        return
    for found in once(piece)[0]:
        slots, seen = range(len(found.piece.slots)), Projector(found.piece)
        for size in slots if len(slots) <= WHOLE else (2, 3):
            for chosen in combinations(slots, size):
                if size > 1:
                    yield seen.project(chosen)
    if piece.growing and not piece.negations and len(piece.slots) <= WHOLE:
        slots, seen = range(len(piece.slots)), Projector(piece)
        for size in slots:
            for chosen in combinations(slots, size):
                if not piece.growing.isdisjoint(chosen):
                    yield seen.project(chosen)


def _timed(events: pa.Table, special: Special, unit: str | None) -> pa.Table:
    """The events with times of a unit, where they are integers."""
    place = events.schema.get_field_index(special.ts)  # none, or two: told when the columns are checked
    if place < 0 or not pa.types.is_integer(events.schema.field(place).type):
        return events
    column = events.column(place)
    if unit is None:
        judged = judged_unit(as_numbers(column))
        if judged is None or judged.unit == "us":
            return events
        warnings.warn(judged.told(special.ts), StrettoWarning, stacklevel=3)
        unit = judged.unit
    times = [in_unit(chunk, unit) for chunk in column.chunks]
    return events.set_column(
        place, special.ts, pa.chunked_array(times, times[0].type if times else column.type)
    )
