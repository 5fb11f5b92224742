"""Every mistake has its own message, with the place and what was expected. STRETTO_BLESS=1 rewrites the files."""

import os
import re
from pathlib import Path

import pytest

from stretto.errors import QueryError
from stretto.text.parser import parse

GOLDEN = Path(__file__).parent.parent / "golden" / "text"
CASES = sorted(GOLDEN.glob("*.cep"))
TERMINALS = re.compile(r"\b(LPAR|RPAR|[LR]SQB|COMMA|STAR|PLUS|MINUS|COMBINE|NEGATE|LITERAL|NAME)\b|\$END")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_mistakes(case: Path) -> None:
    with pytest.raises(QueryError) as caught:
        parse(case.read_text("utf-8"), case.name)
    shown = f"{caught.value}\n"
    assert not TERMINALS.search(shown)
    expected = case.with_suffix(".err")
    if os.environ.get("STRETTO_BLESS") == "1":
        expected.write_text(shown, "utf-8")
    assert shown == expected.read_text("utf-8")


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 25
    assert {path.stem for path in GOLDEN.glob("*.err")} == {case.stem for case in CASES}
