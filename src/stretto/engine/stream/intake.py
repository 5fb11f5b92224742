"""Arrow batches to blocks: columns checked and converted, bad events set apart with the reason."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from stretto.engine.kernels.counting_sort import recoded
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.stream.arena import Block
from stretto.errors import EventsError, near, warn
from stretto.records import dataclass
from stretto.schema import LISTS, Kind, Special, column_of, kind_of, need_once
from stretto.values.convert import DIGITS, as_kind, beyond, loses_digits, plain
from stretto.values.lists import list_texts
from stretto.values.rows import I64, Bool
from stretto.values.strings import Strings, decoded, not_utf8, valid_texts
from stretto.values.times import END_OF_TIME, in_time
from stretto.values.vector import DTYPES, Vector

Bad = list[tuple[Bool, str]]
"""Masks of events, each with what is wrong with them."""

LEAST = np.iinfo(np.int64).min
WIDENED = frozenset({(Kind.INT, Kind.FLOAT), (Kind.INTS, Kind.FLOATS)})
"""Kinds of columns that another kind takes."""


@dataclass(frozen=True, slots=True)
class Intake:
    """What the engine takes from a batch: the attributes with their kinds, and a code for each type that is read.

    `spare`: attributes that no query reads now; they may be missing. `learning`: types without a code get one.
    `kept`: the batches are events that an engine kept, derived ones among them. `text_ids`: whether ids are texts,
    whose codes stand for them; None: as they come.
    """

    attributes: Mapping[str, Kind]
    types: dict[str, int]
    special: Special
    strings: Strings
    spare: frozenset[str] = frozenset()
    learning: bool = False
    kept: bool = False
    text_ids: bool | None = None

    def convert(
        self, batch: pa.RecordBatch, arrived: int, latest_us: int = END_OF_TIME - 1
    ) -> tuple[Block, I64 | None, list[tuple[I64, str]]]:
        """The good events, their rows in the batch (None: all), and rows of bad ones with a reason.

        `arrived` counts the events before this batch; ids follow it where the data has none. Events after `latest_us`
        are bad.
        """
        need_once(batch.schema.names)
        ts = self._times(batch)
        bad: Bad = []
        codes = self._types(batch, bad)
        nulls = [*_nulls(ts, self.special.ts), *_nulls(codes, self.special.type)]
        bad[:0] = [*nulls, *_bad_times(ts.data, self.special.ts, latest_us)]
        ids: I64 | range = range(arrived, arrived + batch.num_rows)
        if self.special.id in batch.schema.names:
            kind = self._id_kind(batch.column(self.special.id).type)
            found = self._converted(batch.column(self.special.id), self.special.id, kind, bad)
            if self.kept and kind is Kind.STRING:
                found = Vector(
                    found.data if found.valid is None else np.where(found.valid, found.data, LEAST)
                )
            bad += _nulls(found, self.special.id)
            if not self.kept and kind is Kind.INT:
                # The least integer stands for "no event" in results, and for "no raw event" in what is kept.
                bad.append((found.data == LEAST, f"{self.special.id} is out of range"))
            ids = found.data
        attributes = {name: self._attribute(batch, name, kind, bad) for name, kind in self.attributes.items()}
        block = Block(ts.data, codes.data, ids, attributes)
        rejected: list[tuple[I64, str]] = []
        good: Bool | None = None
        for mask, reason in bad:
            hit = mask if good is None else mask & good
            if hit.any():
                rejected.append((np.flatnonzero(hit), reason))
                good = ~hit if good is None else good & ~hit
        if good is None:
            return block, None, []
        rows = np.flatnonzero(good)
        return block.take(rows), rows, rejected

    def _id_kind(self, found: pa.DataType) -> Kind:
        """Integers or texts, as the queries were bound to them."""
        kind = Kind.INT if pa.types.is_null(found) else kind_of(found)
        if self.text_ids and pa.types.is_null(found):
            kind = Kind.STRING
        if kind not in (Kind.INT, Kind.STRING):
            raise EventsError(f"column `{self.special.id}` holds {found}: ids are integers or strings")
        if self.text_ids is not None and self.text_ids != (kind is Kind.STRING):
            bound = "strings" if self.text_ids else "integers"
            raise EventsError(
                f"column `{self.special.id}` holds {found}, where the queries were bound to ids that are {bound}"
            )
        return kind

    def _column(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        column = column_of(batch, name)
        if column is None:
            hint = near(name, batch.schema.names)
            raise EventsError(f"the events have no column `{name}`" + (f", {hint}" if hint else ""))
        return column

    def _times(self, batch: pa.RecordBatch) -> Vector:
        column = self._column(batch, self.special.ts)
        if not (
            pa.types.is_timestamp(column.type)
            or pa.types.is_date(column.type)
            or pa.types.is_integer(column.type)
        ):
            raise EventsError(f"column `{self.special.ts}` holds {column.type}, not timestamps")
        return plain(as_kind(column, Kind.TIME))

    def _types(self, batch: pa.RecordBatch, bad: Bad) -> Vector:
        column = self._column(batch, self.special.type)
        if not pa.types.is_dictionary(column.type):
            if kind_of(column.type) is not Kind.STRING:
                raise EventsError(f"column `{self.special.type}` holds {column.type}, not strings")
            column = column.dictionary_encode()
        try:
            words = column.dictionary.to_pylist()
        except UnicodeDecodeError:
            bad.append((not_utf8(column), f"{self.special.type} is not UTF-8 text"))
            words = decoded(column.dictionary)
        if self.learning:
            for word in words:
                if word is not None:
                    self.types.setdefault(word, len(self.types) + 1)
        code_of = np.array([*(self.types.get(word, 0) for word in words), 0], np.int32)
        indices = plain(column.indices.cast(pa.int64()) if column.indices.null_count else column.indices)
        valid = indices.valid
        nulls = [i for i, word in enumerate(words) if word is None]
        if nulls:
            named = ~np.isin(indices.data, nulls)
            valid = named if valid is None else valid & named
        if indices.data.dtype == np.int32 and is_due(recoded, len(indices.data)):
            return Vector(recoded(indices.data, code_of), valid)
        return Vector(code_of.take(indices.data), valid)

    def _attribute(self, batch: pa.RecordBatch, name: str, kind: Kind, bad: Bad) -> Vector:
        if name in self.spare and column_of(batch, name) is None:
            return Vector(np.zeros(batch.num_rows, DTYPES[kind]), np.zeros(batch.num_rows, np.bool_))
        column = self._column(batch, name)
        found = kind_of(column.type)
        if found is not kind and (found, kind) not in WIDENED and not pa.types.is_null(column.type):
            raise EventsError(
                f"column `{name}` holds {column.type}, where the queries were bound to {kind.value}"
            )
        return self._converted(column, name, kind, bad)

    def _converted(self, column: pa.Array, name: str, kind: Kind, bad: Bad) -> Vector:
        """The values of a column; those that the kind cannot hold are bad."""
        if kind in LISTS:
            column = list_texts(column, kind)
        elif kind is not Kind.STRING:
            misfit = beyond(column, kind)
            if misfit is not None:
                bad.append((misfit, f"{name} is out of range"))
            if loses_digits(column):
                warn(
                    f"column `{name}` holds decimals of more than {DIGITS} digits, which are compared as doubles:"
                    " values that differ in later digits are equal (give the column as integers, or as texts)"
                )
            return plain(as_kind(column, kind))
        try:
            return self.strings.encode(column)
        except UnicodeDecodeError:
            bad.append((not_utf8(column), f"{name} is not UTF-8 text"))
            return self.strings.encode(valid_texts(column))


def _nulls(vector: Vector, name: str) -> Bad:
    return [] if vector.valid is None else [(~vector.valid, f"{name} is null")]


def _bad_times(us: I64, name: str, latest_us: int) -> Bad:
    """Which events have no time that can be; that there is none, as in most batches, the least and greatest tell."""
    if not len(us):
        return []
    bad: Bad = []
    least, most = us.min(), us.max()
    if not in_time(np.array([least, most])).all():
        bad.append((~in_time(us), f"{name} is out of range"))
    if most > latest_us:
        bad.append((us > latest_us, f"{name} is too far ahead"))
    return bad


def set_apart(batch: pa.RecordBatch, bad: Iterable[tuple[I64, str]]) -> Iterator[pa.RecordBatch]:
    """Bad events as they came, with the reason as a further column; what is no text in them has U+FFFD."""
    for index, reason in bad:
        found = batch.take(pa.array(index))
        columns = [valid_texts(column) for column in found.columns]
        reasons = pa.repeat(pa.scalar(reason), len(index))
        yield pa.RecordBatch.from_arrays([*columns, reasons], names=[*found.schema.names, "reason"])
