"""A record of options becomes the parameters of a command, and comes back filled."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from stretto.cli.records import given, takes


@dataclass(frozen=True, slots=True)
class Size:
    """Options that several commands share."""

    width: Annotated[int | None, typer.Option("--width", help="How wide.")] = None
    unit: Annotated[str, typer.Option("--in", help="Of what.")] = "cm"


@dataclass(frozen=True, slots=True)
class Drawing:
    """All options of a command."""

    name: Annotated[str, typer.Argument(metavar="NAME")]
    size: Size
    dark: Annotated[bool, typer.Option("--dark")] = False


def drawn(*words: str) -> tuple[Drawing | None, int, str]:
    seen: list[Drawing] = []

    @takes(Drawing)
    def draw(options: Drawing) -> None:
        """Draw something."""
        seen.append(options)

    app = typer.Typer()
    app.command()(draw)
    result = CliRunner().invoke(app, words)
    return (seen[0] if seen else None), result.exit_code, result.output


def test_a_command_gets_its_record() -> None:
    assert drawn("tree")[0] == Drawing("tree", Size(), dark=False)
    assert drawn("tree", "--width", "3", "--in", "mm", "--dark")[0] == Drawing(
        "tree", Size(3, "mm"), dark=True
    )


def test_typer_refuses_what_the_record_has_not() -> None:
    assert drawn()[:2] == (None, 2)
    assert drawn("tree", "--width", "wide")[:2] == (None, 2)
    assert drawn("tree", "--height", "3")[:2] == (None, 2)


def test_help_shows_the_options_in_the_order_of_the_fields() -> None:
    _, code, text = drawn("--help")
    assert code == 0
    assert "Draw something." in text
    places = [text.index(word) for word in ("--width", "--in", "--dark")]
    assert places == sorted(places)


def test_what_was_given() -> None:
    assert given(Size()) == {"unit": "cm"}
    assert given(Size(width=0)) == {"width": 0, "unit": "cm"}
