"""Every mistake of binding has its own text; `--bless` rewrites the files, and the diff is read."""

from pathlib import Path

import pytest
from tests.support.golden import Golden

from stretto.errors import QueryError
from stretto.pattern.workload import check
from stretto.schema import Kind, Schema

GOLDEN = Path(__file__).parents[2] / "golden" / "bind"
DEFAULT = "A B C D N; x double, n integer, k integer, s string, f boolean, at timestamp"
CASES = sorted(GOLDEN.glob("*.cep"))


def schema_of(text: str) -> Schema:
    """The schema of the first line, `-- schema: A B; x double`, or the usual one."""
    line = text.split("\n", 1)[0]
    types, attributes = (
        line.removeprefix("-- schema:").split(";") if line.startswith("-- schema:") else DEFAULT.split(";")
    )
    named = [pair.split() for pair in attributes.split(",")]
    return Schema({name: Kind(kind) for name, kind in named}, frozenset(types.split()))


def mistakes_of(case: Path) -> QueryError:
    text = case.read_text()
    return QueryError(check(text, str(case), schema_of(text)), text, case.name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_mistakes_are_listed(case: Path, golden: Golden) -> None:
    found = mistakes_of(case)
    golden.check(case.with_suffix(".err"), f"{found}\n".replace(f"{GOLDEN}/", ""))
    assert found.mistakes


def test_one_workload_lists_all_of_its_mistakes() -> None:
    assert len(mistakes_of(GOLDEN / "five_mistakes.cep").mistakes) == 5


def test_mistakes_are_many_and_distinct() -> None:
    first = {mistakes_of(case).mistakes[0].message for case in CASES}
    assert len(first) >= 25
