"""Kinds guessed from the terms of a workload."""

from datetime import UTC, datetime

from stretto.pattern.guessed_schema import guess_schema
from stretto.pattern.workload import Workload
from stretto.schema import Kind

TEXT = """
CREATE EVENT Big AS SELECT * FROM T WHERE side = 'buy' AND volume > 1000;
QUERY q PATTERN SEQ(Big a, Big b+, T c)
WHERE a.name = b.name AND c.name IN ('x', 'y') AND c.hot = TRUE AND LAST(b).seen < TIMESTAMP '2020-01-01 00:00:00'
  AND a.due = b.ts AND [host] AND a.price < c.price
WITHIN 1 MINUTE;
"""


def test_constants_decide_the_kinds_of_what_they_are_compared_with():
    schema = guess_schema(Workload.parse(TEXT))
    strings = {"side": Kind.STRING, "name": Kind.STRING}
    others = {"volume": Kind.FLOAT, "hot": Kind.BOOL, "seen": Kind.TIME, "due": Kind.TIME}
    assert dict(schema.attributes) == strings | others | {"host": Kind.FLOAT, "price": Kind.FLOAT}
    Workload.parse(TEXT).bind(schema)


def test_columns_of_a_table_decide_as_constants_do():
    text = "QUERY q FOR EACH rows r PATTERN T a WHERE a.name = r.name AND a.due IN (r.due) AND a.x < r.n WITHIN 1 s;"
    workload = Workload.parse(text).table(
        "rows", {"name": ["x"], "due": [datetime(2020, 1, 1, tzinfo=UTC)], "n": [1]}
    )
    schema = guess_schema(workload)
    assert dict(schema.attributes) == {"name": Kind.STRING, "due": Kind.TIME, "x": Kind.FLOAT}
    assert len(workload.bind(schema).families) == 1
