"""Every mistake has its own message, with the place and what was expected. `--bless` rewrites the files."""

import re
from pathlib import Path

import pytest
from tests.support.golden import Golden

from stretto.errors import QueryError
from stretto.text.parser import parse

GOLDEN = Path(__file__).parent.parent / "golden" / "text"
CASES = sorted(GOLDEN.glob("*.cep"))
TERMINALS = re.compile(r"\b(LPAR|RPAR|[LR]SQB|COMMA|STAR|PLUS|MINUS|COMBINE|NEGATE|LITERAL|NAME)\b|\$END")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_mistakes(case: Path, golden: Golden) -> None:
    with pytest.raises(QueryError) as caught:
        parse(case.read_text("utf-8"), case.name)
    shown = f"{caught.value}\n"
    assert not TERMINALS.search(shown)
    golden.check(case.with_suffix(".err"), shown)


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 25
    assert {path.stem for path in GOLDEN.glob("*.err")} == {case.stem for case in CASES}
