"""The rules of the house: each is broken once, and a house in order breaks none."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tools.house import House, main, remarks, table

from tools import house as rules

MAIN = "import typer\napp = typer.Typer()\napp.command()(run)\napp.command('show-all', hidden=True)(shown)\n"
RUN = "def run(batch_size: int = typer.Option('--events')) -> None: ...\n"
DEV = 'case "$1" in\n    test) pytest ;;\n    lint) ruff ;;\nesac\n'
ORDER = {
    "src/stretto/cli/app.py": MAIN,
    "src/stretto/cli/run.py": RUN,
    "src/stretto/plan/optimizers.py": "from stretto.papers.motto import steiner\n",
    "src/stretto/papers/motto/steiner.py": "import stretto.papers.costs\nclass Tree: ...\n",
    "src/stretto/papers/costs.py": "class _Tree: ...\n",
    "src/stretto/text/syntax.py": "class Seq: ...\n",
    "src/stretto/pattern/nodes.py": "class Seq: ...\n",
    "src/stretto/engine/kernels/loop.py": "def loop():\n" + "    pass\n" * 90,
    "dev": DEV,
    "README.md": "`stretto run --events x --batch-size 3`, `stretto show-all --help`, `./dev test`, `cli/run.py`\n",
    "docs/first.md": "See `cli/run.py`.\n\n```\nfrom stretto import a\nstretto run\ncat > plan/new.py\n```\n",
}
BROKEN = [
    (rules.long_files, "tests/test_a.py", "x = 1\n" * 601, "tests/test_a.py: 601 lines; 600 at most"),
    (rules.long_files, "src/stretto/a.py", "x = 1\n" * 601, "src/stretto/a.py: 601 lines; 600 at most"),
    (
        rules.long_functions,
        "src/stretto/a.py",
        "class A:\n    async def f(self):\n" + "        pass\n" * 60,
        "src/stretto/a.py: f has 61 lines; 60 at most",
    ),
    (
        rules.names_of_two_classes,
        "src/stretto/plan/tree.py",
        "class Tree: ...\n",
        "Tree: a public class in stretto.papers.motto.steiner and stretto.plan.tree",
    ),
    (
        rules.names_of_two_classes,
        "src/stretto/plan/seq.py",
        "class Seq: ...\n",
        "Seq: a public class in stretto.pattern.nodes and stretto.plan.seq and stretto.text.syntax",
    ),
    (
        rules.papers_in_the_product,
        "src/stretto/plan/other.py",
        "def f():\n    from stretto import papers\n",
        "src/stretto/plan/other.py: imports stretto.papers, which only stretto.plan.optimizers does",
    ),
    (
        rules.papers_in_the_product,
        "src/stretto/plan/other.py",
        "import stretto.papers.costs\n",
        "src/stretto/plan/other.py: imports stretto.papers, which only stretto.plan.optimizers does",
    ),
    (
        rules.commands_that_do_not_exist,
        "docs/a.md",
        "`stretto fly now`",
        "docs/a.md: there is no `stretto fly`",
    ),
    (
        rules.commands_that_do_not_exist,
        "docs/a.md",
        "```\n./dev fly\n```",
        "docs/a.md: there is no `./dev fly`",
    ),
    (
        rules.commands_that_do_not_exist,
        "docs/a.md",
        "`stretto run --high`",
        "docs/a.md: there is no option `--high`",
    ),
    (rules.paths_that_do_not_exist, "docs/a.md", "`cli/fly.py`", "docs/a.md: there is no `cli/fly.py`"),
    (
        rules.paths_that_do_not_exist,
        "README.md",
        "`tests/a/fly.py`",
        "README.md: there is no `tests/a/fly.py`",
    ),
]


@pytest.fixture
def ordered(tmp_path: Path) -> Path:
    for path, text in ORDER.items():
        write(tmp_path, path, text)
    return tmp_path


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_a_house_in_order(ordered: Path) -> None:
    assert [breach for rule in rules.RULES for breach in rule(House(ordered))] == []
    assert main(ordered) == 0


@pytest.mark.parametrize(
    ("rule", "path", "text", "breach"), BROKEN, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_broken_rule(
    ordered: Path,
    rule: Callable[[House], Iterator[str]],
    path: str,
    text: str,
    breach: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(ordered, path, text)
    assert list(rule(House(ordered))) == [breach]
    assert main(ordered) == 1
    assert breach in capsys.readouterr().out


def test_every_rule_is_broken_once() -> None:
    assert {rule for rule, *_ in BROKEN} == set(rules.RULES)


def test_a_large_folder_is_a_remark(ordered: Path) -> None:
    for number in range(21):
        write(ordered, f"src/stretto/many/m{number}.py", "")
    assert "src/stretto/many: 21 modules; folders again before there are 20" in list(remarks(House(ordered)))
    assert main(ordered) == 0


def test_the_table_counts(ordered: Path) -> None:
    lines = {line.split()[0]: line.split()[1:] for line in table(House(ordered))}
    assert lines["src/stretto/cli"] == ["2", "5", "4", "app.py", "1", "run"]
    assert lines["src/stretto/engine"] == ["1", "91", "91", "loop.py", "0"]
