"""Packed rows between units: what a source or a unit gives, and what the units of later stages take."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from stretto.engine.live_plan import outputs_of
from stretto.engine.results.matches import Matches
from stretto.engine.units.parcels import Parcel
from stretto.engine.units.staged import StagedSource
from stretto.engine.units.staged_unit import Given, StagedPlan, StagedUnit
from stretto.plan.dag import Plan
from stretto.plan.placement.fragments import Fragment
from stretto.plan.spread.staged import Staged
from stretto.spark.packed import Packed, from_payload, to_payload

SCANNED: Final = "scanned"
"""Rows of single events, as a source makes them: in a stream some may be late."""
ROWS: Final = "rows"
"""Rows that a unit made."""
LENGTH: Final = 8


@dataclass(frozen=True)
class UnitsOfPlan:
    """A plan on staged units: whose turn it is at which stage, and what goes where."""

    plan: Plan
    staged: Staged

    @cached_property
    def cut(self) -> StagedPlan:
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

    def is_at(self, address: int, stage: int) -> bool:
        """Whether an address is that of a unit of a stage; what is for others is handed on."""
        if not 0 <= address < self.staged.targets:
            return False
        return self.staged.stages[self.staged.at(address)[0] - 1] == stage

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


def parcel_payload(parcel: Parcel) -> bytes:
    """Events and rows as compressed Arrow streams, one behind the other."""
    events, rows = to_payload(parcel.events), to_payload(parcel.rows)
    return len(events).to_bytes(LENGTH, "little") + events + rows
