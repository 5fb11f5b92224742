"""The tables that lead from a paper to its code name what there is."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import stretto.papers

ROOMS = sorted(path.parent for path in Path(stretto.papers.__file__).parent.glob("*/README.md"))


def rows(room: Path) -> list[list[str]]:
    lines = (room / "README.md").read_text().splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")][2:]


def named(room: Path) -> list[str]:
    return [name for row in rows(room) for name in re.findall(r"`([^`]+)`", row[1])]


def found(room: Path, name: str) -> object:
    """What `module.function` is: seen from the paper's room, from the room above (`..`), or by its full name."""
    if name.startswith(".."):
        name = f"stretto.papers.{name[2:]}"
    elif not name.startswith("stretto."):
        name = f"stretto.papers.{room.name}.{name}"
    parts = name.split(".")
    start = next(i for i, part in enumerate(parts) if part != part.lower() or i == len(parts) - 1)
    value: object = import_module(".".join(parts[:start]))
    for part in parts[start:]:
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_everything_named_is_there(room: Path) -> None:
    names = named(room)
    assert names
    assert all(callable(found(room, name)) for name in names)
    assert all(row[0] and row[1] for row in rows(room))


def test_every_paper_has_a_table() -> None:
    assert [room.name for room in ROOMS] == ["decopa", "mcep", "motto", "muse", "rumor"]
