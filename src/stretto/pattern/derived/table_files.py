"""Readers of table files, by the ending of their names. They are a module of their own, as few workloads need them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from stretto.json_depth import HALF_PAIR, TOO_DEEP, has_half_pair, too_deep_at

_BLOCK: Final = 2**31 - 1


def _csv(file: Any, delimiter: str = ",") -> pa.Table:
    """All rows tell the kinds, so the file is one block; an empty field is null, an empty text in quotes is not."""
    return pa_csv.read_csv(
        file,
        read_options=pa_csv.ReadOptions(block_size=min(max(file.size(), 1), _BLOCK)),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )


def _json(file: Any) -> pa.Table:
    data = file.read()
    line = too_deep_at(data)
    if line is not None:
        raise ValueError(f"line {line} is {TOO_DEEP}")
    if data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"null"):  # Arrow ends the process
        raise ValueError("its first row is null, not an object")
    if has_half_pair(data):
        raise ValueError(f"it holds {HALF_PAIR}, which is not Unicode text")
    return pa_json.read_json(
        pa.BufferReader(data), read_options=pa_json.ReadOptions(block_size=min(max(len(data), 1), _BLOCK))
    )


READERS: Final[Mapping[str, Callable[[Any], pa.Table]]] = {
    ".csv": _csv,
    ".tsv": lambda file: _csv(file, "\t"),
    ".parquet": pq.read_table,
    ".jsonl": _json,
    ".ndjson": _json,
    ".json": _json,
    ".arrow": lambda file: pa.ipc.open_file(file).read_all(),
}
