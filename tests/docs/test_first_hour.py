"""The first hour goes as its page says: every block runs, in order, in a copy of the project."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "first-hour.md").read_text()
BLOCKS = re.findall(r"^```bash\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
COPIED = ("src", "docs", "tests/memo", "tests/support", "tests/exactness", "tests/cases")
HALF_WRITTEN = ("*.tmp.*", "*.pyc.*")
# The copy runs in this environment, in one process.
DEV = '#!/bin/sh\nshift\nexec "$PYTHON" -m pytest -p no:randomly "$@"\n'
STRETTO = '#!/bin/sh\nexec "$PYTHON" -c "from stretto.cli.main import main; main()" "$@"\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("first") / "project"
    for folder in COPIED:  # with what is compiled, as far as other tests have got
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns(*HALF_WRITTEN))
    for file in ("pyproject.toml", "tests/conftest.py"):
        shutil.copy(ROOT / file, root / file)
    for name, text in (("dev", DEV), ("bin/stretto", STRETTO)):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
        (root / name).chmod(0o755)
    return root


def run(project: Path, block: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    settings = {
        "PATH": f"{project / 'bin'}:{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "PYTHONPATH": f"{project / 'src'}:{project}",
    }
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=project,
        env=kept | settings,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_block_runs(project: Path) -> None:
    printed = ""
    for block in BLOCKS:
        done = run(project, block)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        printed += done.stdout
    assert "SEQ(A, B, C) within 10s <- JOIN C; B; A" in printed
    assert re.search(r"^join_right_to_left +1$", printed, flags=re.MULTILINE)
    assert (project / "plan.html").exists()


def test_there_are_blocks_and_no_others() -> None:
    assert len(BLOCKS) >= 8
    assert PAGE.count("```") == 2 * len(BLOCKS)


def test_the_functions_of_each_step_exist() -> None:
    names = re.findall(r"^\|[^|]*\| `([\w.]+)` \|", PAGE, flags=re.MULTILINE)
    assert len(names) >= 10
    for name in names:
        parts = name.split(".")
        cut = next(i for i, part in enumerate(parts) if part[0].isupper() or i == len(parts) - 1)
        found = importlib.import_module(".".join(["stretto", *parts[:cut]]))
        for part in parts[cut:]:
            found = getattr(found, part)
        assert callable(found), name
