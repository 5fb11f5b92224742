"""The columns of a source's events: given, remembered from the last start, or found out from the first events."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import to_arrow_schema

from stretto.data.columnar import blamed
from stretto.data.files import EventFile, common_unit, ending, open_events
from stretto.data.json_paths import Places
from stretto.data.json_text import JsonPart
from stretto.data.parts import FilePart, need_special
from stretto.errors import EventsError
from stretto.json_depth import load_json
from stretto.schema import Kind, Schema, Special, need_once
from stretto.spark.checkpoint_notes import read_note
from stretto.spark.errors import StrettoSparkError
from stretto.spark.io.ddl import columns_of_ddl
from stretto.spark.io.passwords import redacted
from stretto.spark.io.specs import FORMATS, Spec
from stretto.values.time_units import WORDS

PACKED: Final = ("", ".gz", ".bz2")
SAMPLED_FILES: Final = 8
LOOK_EVERY_S: Final = 0.5
NANOS_AS_LONG: Final = "spark.sql.legacy.parquet.nanosAsLong"
CASE_SENSITIVE: Final = "spark.sql.caseSensitive"
NANOSECONDS: Final = {"unit": "nanoseconds"}
UNIT: Final = "times"

SPARK_TYPES: Final[Mapping[Kind, T.DataType]] = {
    Kind.INT: T.LongType(),
    Kind.FLOAT: T.DoubleType(),
    Kind.STRING: T.StringType(),
    Kind.BOOL: T.BooleanType(),
    Kind.TIME: T.TimestampType(),
    Kind.STRINGS: T.ArrayType(T.StringType()),
    Kind.INTS: T.ArrayType(T.LongType()),
    Kind.FLOATS: T.ArrayType(T.DoubleType()),
}


def parse_schema(text: str) -> T.StructType:
    """Columns as Spark writes them: `ts TIMESTAMP, type STRING, price DOUBLE`, or a file with that or with JSON."""
    path = Path(text)
    try:
        given = path.read_text(encoding="utf-8") if len(text) < 1_000 and path.is_file() else text
        return _columns_of_json(given) if given.lstrip().startswith("{") else columns_of_ddl(given)
    except (OSError, PySparkException, ValueError) as error:
        raise StrettoSparkError(
            f"--schema: `{text}` is no list of columns (write one like `ts TIMESTAMP, type STRING, price DOUBLE`):"
            f" {error}"
        ) from None


def _columns_of_json(text: str) -> T.StructType:
    read = load_json(text)
    try:
        return T.StructType.fromJson(read)
    except (AttributeError, KeyError, TypeError, AssertionError) as error:
        raise ValueError("it is not the JSON that Spark writes for columns") from error


def arrow_columns(df: DataFrame) -> pa.Schema:
    """The columns of a DataFrame as its events are read; EventsError for those that Spark cannot tell apart."""
    refuse_twins("the DataFrame", df.columns, df.sparkSession)
    return to_arrow_schema(df.schema, timezone="UTC")


def expected_schema(columns: T.StructType, special: Special) -> Schema:
    """The schema of events that are read with these columns: whatever times and types are read as, they become that."""
    own = {special.ts: T.TimestampType(), special.type: T.StringType()}
    fields = [T.StructField(f.name, own.get(f.name, f.dataType)) for f in columns.fields]
    return Schema.of(to_arrow_schema(T.StructType(fields), timezone="UTC"), None, special)


def refuse_twins(what: str, names: Collection[str], spark: SparkSession) -> None:
    """EventsError for columns of one name, which capitals do not make another one unless Spark is told so."""
    need_once(names, what)
    if spark.conf.get(CASE_SENSITIVE, "false") == "true":
        return
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise EventsError(
                f"{what}: Spark takes the columns `{other}` and `{name}` for one"
                f" (rename one of them, or set {CASE_SENSITIVE} to true)"
            )


def refuse_ids(columns: T.StructType, special: Special) -> None:
    """EventsError for ids that are no integers or strings; unsigned ones of Parquet Spark reads as decimals."""
    kind = columns[special.id].dataType if special.id in columns.names else None
    if kind is not None and not isinstance(kind, T.IntegralType | T.StringType):
        raise EventsError(
            f"column `{special.id}` holds {kind.simpleString()}: ids are integers of 64 bits or strings"
            " (name another column with --id; with a name that does not exist, events are numbered)"
        )


def file_pattern(form: str) -> str:
    return f"*{{{','.join(end + packed for end in FORMATS[form] for packed in PACKED)}}}"


def event_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """The event files of a folder by name, each with its format."""
    forms = {end: form for form, ends in FORMATS.items() for end in ends}
    for file in sorted(folder.iterdir()):
        if file.name[0] not in "._" and ending(file) in forms and file.is_file():
            yield file, forms[ending(file)]


def first_file(spec: Spec, form: str | None = None) -> Path | None:
    """The first event file of a folder on this machine, or of those of a format, if there is one."""
    folder = Path(spec.place)
    files = event_files(folder) if folder.is_dir() else iter(())
    return next((file for file, found in files if form in (None, found)), None)


def form_of_folder(folder: Path, *, patient: bool) -> str:
    """The format of a folder's first file; the patient wait until there is one."""
    if "://" in str(folder):
        raise StrettoSparkError(
            f"--source: files:{redacted(str(folder))} needs --source-format, as it is not on this machine"
        )
    if not folder.is_dir():
        raise StrettoSparkError(f"--source: {folder} is no folder")
    while True:
        first = next(event_files(folder), None)
        if first is not None:
            return first[1]
        if not patient:
            raise StrettoSparkError(
                f"--source: {folder} holds no event files yet; name their format and columns with --source-format"
                " and --schema"
            )
        time.sleep(LOOK_EVERY_S)


def columns_of_files(spark: SparkSession, folder: str, form: str, special: Special) -> T.StructType:
    """The columns of the first files of a folder."""
    if form == "parquet":
        return _columns_of_parquet(spark, folder, special)
    files = [file for file, found in event_files(Path(folder)) if found == form]
    if not files:
        raise StrettoSparkError(
            f"--source: {folder} holds no {form} files yet; name their columns with --schema"
        )
    parts = [part for file in files[:SAMPLED_FILES] for part in open_events(file, special, alone=False).parts]
    return columns_of_parts(folder, parts, special)


def _columns_of_parquet(spark: SparkSession, folder: str, special: Special) -> T.StructType:
    fine = frozenset[str]()
    first = first_file(Spec("files", folder), "parquet")
    if first is not None:
        with blamed(str(first), "Parquet"):
            columns = pq.read_schema(first)
        refuse_twins(str(first), columns.names, spark)
        # Times in nanoseconds, as pandas writes them, Spark can read only as integers.
        fine = frozenset(f.name for f in columns if str(f.type).startswith("timestamp[ns"))
    if fine:
        spark.conf.set(NANOS_AS_LONG, "true")
    found = spark.read.option("pathGlobFilter", file_pattern("parquet")).parquet(folder).schema
    need_special(folder, found.names, special)
    fields = [
        T.StructField(f.name, f.dataType, metadata=NANOSECONDS if f.name in fine else None)
        for f in found.fields
    ]
    unit = special.unit
    if unit is None and first is not None and isinstance(found[special.ts].dataType, T.IntegralType):
        unit = open_events(first, special).special.unit
    return with_unit(T.StructType(fields), special, unit)


def nanosecond_columns(columns: T.StructType) -> list[str]:
    """The columns of times that are read as integers, in nanoseconds."""
    return [field.name for field in columns.fields if field.metadata == NANOSECONDS]


def columns_of_parts(name: str, parts: Iterable[FilePart], special: Special) -> T.StructType:
    """The columns of files that Spark reads as text: those that the language has a kind for, in their order."""
    found = EventFile(name, tuple(parts), special, None)
    kinds = found.schema.attributes
    order = dict.fromkeys(column for part in found.parts for column in part.columns())
    columns = _text_columns(order, kinds, special, special.unit or common_unit(found.parts))
    paths = {n: path for part in found.parts if isinstance(part, JsonPart) for n, path in part.paths.items()}
    return _with_objects(columns, paths)


def guessed(guess: Callable[[], Schema] | None, special: Special, what: str) -> T.StructType:
    """The columns that a workload names, with the kinds that its terms suggest."""
    if guess is None:
        raise StrettoSparkError(f"--source: {what} does not tell its columns; name them with --schema")
    kinds = guess().attributes
    columns = _text_columns(dict.fromkeys((special.ts, special.type, *kinds)), kinds, special)
    return _with_objects(columns, {name: tuple(name.split(".")) for name in kinds if name != special.id})


def _text_columns(
    names: Iterable[str], kinds: Mapping[str, Kind], special: Special, unit: str | None = None
) -> T.StructType:
    """Those of some columns that have a kind, and the times and types, which are read as texts first."""
    known = {name: SPARK_TYPES[kind] for name, kind in kinds.items()}
    known |= {special.ts: T.StringType(), special.type: T.StringType()}
    fields = [T.StructField(name, known[name]) for name in names if name in known]
    return with_unit(T.StructType(fields), special, unit)


def _with_objects(columns: T.StructType, paths: Mapping[str, tuple[str, ...]]) -> T.StructType:
    """The columns as JSON has them: those inside of objects are fields of structs, where the first of them stood."""
    places, found = Places([]), list[T.StructField]()
    for field in columns.fields:
        path = paths.get(field.name, (field.name,))
        if places.admit(path):
            _put(found, path, field)
    return T.StructType(found)


def _put(fields: list[T.StructField], path: tuple[str, ...], field: T.StructField) -> None:
    """A column at its place among others, in a struct that may be there already."""
    if len(path) == 1:
        fields.append(T.StructField(path[0], field.dataType, metadata=field.metadata))
        return
    whole = next((one for one in fields if one.name == path[0]), None)
    inner = whole.dataType.fields if whole is not None and isinstance(whole.dataType, T.StructType) else []
    _put(inner, path[1:], field)
    if whole is None:
        fields.append(T.StructField(path[0], T.StructType(inner)))
    else:
        whole.dataType = T.StructType(inner)


def with_unit(columns: T.StructType, special: Special, unit: str | None) -> T.StructType:
    """The columns with a note on the unit of times that are integers, which a restart finds again."""
    if unit is None:
        return columns
    return T.StructType(
        [
            T.StructField(f.name, f.dataType, metadata={UNIT: unit})
            if f.name == special.ts and f.metadata != NANOSECONDS
            else f
            for f in columns.fields
        ]
    )


def unit_of(columns: T.StructType, special: Special) -> str | None:
    """The unit of times that are integers: given, or noted with the columns; None: each tells by its size."""
    noted = columns[special.ts].metadata if special.ts in columns.names else None
    return special.unit or (noted or {}).get(UNIT)


def unit_told(columns: T.StructType, special: Special) -> str | None:
    """One line on the unit of times that are integers, where nobody gave it: the first events told it."""
    unit = unit_of(columns, special) if special.unit is None else None
    if unit is None:
        return None
    return (
        f"column `{special.ts}` holds integers, read as {WORDS[unit]} since 1970 (--ts-unit says otherwise)"
    )


def recall(memory: Path) -> T.StructType | None:
    """The columns of the last start, if there was one."""
    return read_note(memory, T.StructType.fromJson, "name the columns with --schema")
