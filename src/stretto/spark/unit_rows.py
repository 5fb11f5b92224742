"""Packed rows between units: what a source or a unit gives, and what the units of later stages take."""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from stretto.engine.live_plan import outputs_of
from stretto.engine.results.matches import Matches
from stretto.engine.units.parcels import Parcel
from stretto.engine.units.staged import StagedSource
from stretto.engine.units.staged_unit import Given, StagedPlan, StagedUnit
from stretto.plan.dag import Plan
from stretto.plan.placement.fragments import Fragment
from stretto.plan.spread.staged import Staged
from stretto.records import dataclass
from stretto.spark.packed import END, EVENTS, MATCHES, REJECTED, Packed, from_payload, to_payload

SCANNED: Final = "scanned"
"""Rows of single events, as a source makes them: in a stream some may be late."""
ROWS: Final = "rows"
"""Rows that a unit made."""
LENGTH: Final = 8
KEY: Final = "key"
CARRIERS: Final = 4
"""Groups of what only passes through a stage: as many as keep some cores at it, as a group costs a call."""


@dataclass(frozen=True)
class UnitsOfPlan:
    """A plan on staged units: whose turn it is at which stage, and what goes where."""

    plan: Plan
    staged: Staged

    @cached_property
    def cut(self) -> StagedPlan:
        """The plan in fragments."""
        return StagedPlan(self.staged.placed(self.plan))

    def __getstate__(self) -> dict[str, object]:
        return {"plan": self.plan, "staged": self.staged}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    def source(self) -> StagedSource:
        return StagedSource(self.cut)

    def fragment(self, address: int) -> Fragment:
        return self.cut.fragments[self.staged.at(address)[0]]

    def unit(self, address: int, memory_bytes: int) -> StagedUnit:
        """The unit of an address, new."""
        return StagedUnit(self.cut, self.fragment(address), memory_bytes)

    def resumed(self, unit: StagedUnit, address: int) -> StagedUnit:
        """A unit that was kept in a file, at work again."""
        unit.belong(self.cut, self.fragment(address))
        return unit

    def matches(self, given: Given) -> Matches:
        found = Matches(outputs_of(self.plan))
        for query, chunks in given.matches:
            found.add(query, chunks)
        return found

    def rows(self, given: Given, kind: str) -> Iterator[Packed]:
        """The parcels of what was given, each for its unit."""
        for parcel in given.parcels:
            at = parcel.at
            yield Packed(
                self.staged.address(parcel.fragment, parcel.unit),
                kind,
                parcel_payload(parcel),
                len(at),
                parcel.side,
                int(at.min()),
                int(at.max()),
            )

    def parcel(self, address: int, payload: bytes, side: int) -> Parcel:
        """The parcel of a packed row."""
        fragment, unit = self.staged.at(address)
        size = int.from_bytes(payload[:LENGTH], "little")
        events, rows = payload[LENGTH : LENGTH + size], payload[LENGTH + size :]
        return Parcel(fragment, unit, side, from_payload(events), from_payload(rows))


def by_unit(rows: DataFrame, staged: Staged, stage: int) -> DataFrame:
    """Packed rows with a key: the address of the unit of a stage that takes them, a number below 0 for all others."""
    takes = F.col("kind").isin(SCANNED, ROWS, END, *((EVENTS, REJECTED, MATCHES) if stage == 1 else ()))
    mine = takes & F.col("target").isin(staged.addresses(stage))
    return rows.withColumn(KEY, F.when(mine, F.col("target")).otherwise(-1 - F.abs("target") % CARRIERS))


def parcel_payload(parcel: Parcel) -> bytes:
    """Events and rows as compressed Arrow streams, one behind the other."""
    events, rows = to_payload(parcel.events), to_payload(parcel.rows)
    return len(events).to_bytes(LENGTH, "little") + events + rows
