"""Kinds guessed from the terms of a workload."""

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
