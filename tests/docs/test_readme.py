"""README.md and docs/tour.md tell the truth: examples print the output below them, mistakes read as shown."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from stretto.pattern.workload import Workload, check
from stretto.plan.optimizers import RECIPES, TREND_RECIPES
from stretto.schema import Kind, Schema

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
TOUR = (ROOT / "docs" / "tour.md").read_text()
LONGEST_PAGE = 150
LONGEST_LINE = 100


@pytest.mark.parametrize("page", [README, TOUR])
def test_the_example_prints_what_is_shown(page: str) -> None:
    ((code, shown),) = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", page, re.DOTALL)
    assert page.count("```python") == 1
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == shown


def test_the_mistake_reads_as_shown() -> None:
    text = "QUERY q PATTERN SEQ(A a, B b)\nWHERE a.prise < b.price\nWITHIN 1 s;\n"
    (mistake,) = check(text, "fraud.cep", Schema({"price": Kind.FLOAT}))
    assert f"```\n{mistake.show(text, 'fraud.cep')}\n```" in TOUR


def test_the_queries_of_the_tour_can_be_read() -> None:
    blocks = re.findall(r"^```\w*\n(.*?)^```", TOUR, re.MULTILINE | re.DOTALL)
    texts = [text for text in blocks if re.search("^QUERY", text, re.MULTILINE)]
    assert len(texts) == 3
    for text in texts:
        assert Workload.parse(text).queries


def test_readme_is_short_and_begins_with_what_it_is_and_how_to_install_it() -> None:
    lines = README.splitlines()
    assert len(lines) < LONGEST_PAGE
    assert max(map(len, lines)) <= LONGEST_LINE
    headings = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert headings == [
        "Install",
        "Example",
        "Why results can be trusted",
        "What other engines get wrong",
        "How fast",
        "Limits",
        "More",
    ]


def test_readme_has_the_two_commands_and_no_index() -> None:
    assert re.findall(r"^\./dev (\w+)", README, re.MULTILINE) == ["demo", "test"]
    assert not re.search(r"pip install '?stretto", README)


def test_links_lead_to_pages() -> None:
    for page, folder in ((README, ROOT), (TOUR, ROOT / "docs")):
        for link in re.findall(r"\]\(([^)#]+)\)", page):
            assert (folder / link).exists(), link


def test_the_tour_names_optimizers_that_exist() -> None:
    (table,) = re.findall(r"\| `--optimizer` .*?\n\n", TOUR, re.DOTALL)
    rows = [row.split("|")[1] for row in table.splitlines()[2:] if row]
    named = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    assert named <= {*RECIPES, *TREND_RECIPES}
