"""Every optimizer says in a line what it is, and the page of optimizers says the same."""

from pathlib import Path

from stretto.plan.optimize import FOR_TRENDS
from stretto.plan.optimizers import RECIPES, TREND_RECIPES, about

PAGE = (Path(__file__).parents[2] / "docs" / "optimizers.md").read_text()


def test_every_name_says_what_it_is() -> None:
    lines = about()
    assert lines.keys() == RECIPES.keys() | TREND_RECIPES.keys() | FOR_TRENDS.keys()
    assert all(lines.values())
    assert all(recipe.about for recipe in TREND_RECIPES.values())
    assert len(set(lines.values())) == len(lines)


def test_the_page_has_every_line() -> None:
    _, _, rest = PAGE.partition("| name | what it is |\n| --- | --- |\n")
    table = rest.partition("\n\n")[0].splitlines()
    assert table == [f"| `{name}` | {line} |" for name, line in about().items()]
