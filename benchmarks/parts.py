"""An experiment in parts: some of its workloads or contestants, and results read back from their JSON.

Each part is run into a folder of its own (`--out`); `--join FILE...` then makes the tables of all of them.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Record = TypeVar("Record")


def add_join(parser: argparse.ArgumentParser) -> None:
    """The option that names the parts."""
    parser.add_argument(
        "--join", type=Path, nargs="+", metavar="FILE", help="measure nothing; JSON of earlier runs as one"
    )


def named(known: Iterable[str]) -> Callable[[str], list[str]]:
    """The kind of an option that takes some of these names, with commas between them."""
    names = list(known)

    def parse(text: str) -> list[str]:
        given = text.split(",")
        for name in given:
            if name not in names:
                raise argparse.ArgumentTypeError(f"unknown: {name} (there are: {', '.join(names)})")
        return given

    return parse


def read(kind: type[Record], paths: Sequence[Path]) -> list[Record]:
    """The record that each file holds, as `dataclasses.asdict` wrote it; what it holds beside is left out."""
    return [record(kind, json.loads(path.read_text(encoding="utf-8"))) for path in paths]


def record(kind: Any, value: Any) -> Any:
    """`value`, made of what JSON has, as a value of that kind."""
    if is_dataclass(kind):
        kinds = get_type_hints(kind)
        known = [field.name for field in fields(kind) if field.name in value]
        return kind(**{name: record(kinds[name], value[name]) for name in known})
    arguments = get_args(kind)
    if get_origin(kind) is tuple:
        return tuple(record(arguments[0], one) for one in value)
    if get_origin(kind) in (dict, Mapping):
        return {name: record(arguments[1], one) for name, one in value.items()}
    return value
