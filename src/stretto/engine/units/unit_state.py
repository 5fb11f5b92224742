"""What a unit can be made again from, also as bytes."""

from itertools import groupby
from typing import NamedTuple

import pyarrow as pa

from stretto.engine.snapshot import from_ipc, to_ipc
from stretto.engine.units.parcels import Parcel
from stretto.errors import EngineError


class UnitStep(NamedTuple):
    """A step that a unit has taken, and what it took."""

    since: int
    until: int
    parcels: tuple[Parcel, ...]


class UnitState(NamedTuple):
    """All that a unit needs to go on: the steps that its operators can still reach, and what waits for its time."""

    until: int
    steps: tuple[UnitStep, ...]
    ahead: tuple[Parcel, ...]

    def to_bytes(self) -> bytes:
        """The state as one Arrow stream; what is ahead is a step without an end."""
        steps = [*self.steps, UnitStep(self.until, self.until, self.ahead)]
        found = [
            (number, step.since, step.until, parcel.fragment, parcel.unit, parcel.side, *parcel.to_bytes())
            for number, step in enumerate(steps)
            for parcel in step.parcels
        ]
        columns = list(zip(*found, strict=True)) or [()] * len(SAVED)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, SAVED, strict=True)]
        about = {"until": str(self.until), "ahead": str(len(self.steps))}
        return to_ipc(pa.RecordBatch.from_arrays(arrays, schema=SAVED.with_metadata(about)))

    @classmethod
    def from_bytes(cls, data: bytes) -> "UnitState":
        """Return the state that `to_bytes` wrote; raise EngineError for damaged bytes."""
        try:
            batch = from_ipc(data)
            batch = batch.select(SAVED.names).cast(SAVED.with_metadata(batch.schema.metadata))
            about = {key.decode(): int(value) for key, value in (batch.schema.metadata or {}).items()}
            last, until = about["ahead"], about["until"]
            steps: list[UnitStep] = []
            ahead: tuple[Parcel, ...] = ()
            for number, rows in groupby(batch.to_pylist(), key=lambda row: row["step"]):
                own = list(rows)
                parcels = tuple(
                    Parcel.from_bytes(row["fragment"], row["unit"], row["side"], row["events"], row["rows"])
                    for row in own
                )
                if number == last:
                    ahead = parcels
                else:
                    steps.append(UnitStep(own[0]["since"], own[0]["until"], parcels))
        except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else error
            raise EngineError(f"a damaged state of a unit: {what} (start with another checkpoint)") from error
        return cls(until, tuple(steps), ahead)


SAVED = pa.schema(
    [
        ("step", pa.int64()),
        ("since", pa.int64()),
        ("until", pa.int64()),
        ("fragment", pa.int32()),
        ("unit", pa.int32()),
        ("side", pa.int32()),
        ("events", pa.binary()),
        ("rows", pa.binary()),
    ]
)
