"""Half of a surrogate pair is no Unicode text: it is told with its place, in query text and in JSON."""

import json

import pytest

from stretto.errors import QueryError
from stretto.pattern.workload import Workload
from stretto.text.parser import parse_expression

TEXT = "QUERY q PATTERN A a\nWHERE a.x IMATCHES 'z' WITHIN 1 s;"


@pytest.mark.parametrize("word", ["IMATCHES", "MATCHES", "LIKE", "ILIKE", "CONTAINS", "="])
def test_in_text_and_in_json(word: str) -> None:
    text = TEXT.replace("IMATCHES", word)
    with pytest.raises(QueryError, match="half of a surrogate pair, which is not Unicode text") as refused:
        Workload.parse(text.replace("'z'", "'\udc00'"))
    (mistake,) = refused.value.mistakes
    assert mistake.at is not None
    assert (mistake.at.line, mistake.at.column) == (2, len(f"WHERE a.x {word} '") + 1)
    data = json.dumps(Workload.parse(text).to_json()).replace('"z"', '"\\ud800"')
    with pytest.raises(QueryError, match="statement 1 of the JSON form: it holds half of a surrogate pair"):
        Workload.from_json(json.loads(data))


def test_in_an_expression() -> None:
    with pytest.raises(QueryError, match="half of a surrogate pair"):
        parse_expression("x = '\ud800'")
