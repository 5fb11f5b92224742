"""Whose a match of a family is: names, keys, counts and ids of single members."""

import pyarrow as pa
import pyarrow.compute as pc

import stretto
from stretto.engine.results.match_rows import SCHEMA as FILE
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema
from stretto.text.alike import statements as alike_statements

SCHEMA = Schema({"x": Kind.INT})
EVENTS = pa.table(
    {
        "ts": pa.array([1, 2, 3, 4, 5, 6], pa.timestamp("us")),
        "type": ["A", "A", "B", "A", "B", "B"],
        "x": [1, 2, 1, 2, 2, 1],
    }
)
TEXT = "PATTERN SEQ(A a, B b) WHERE a.x = {x} AND b.x >= {x} WITHIN {w} us SELECT NEXT;"
ROWS = {"id": ["u", "v", "w", "z"], "x": [1, 1, 2, 7], "w": ["2 us", "9 us", "9 us", "9 us"]}
FAMILY = "QUERY q FOR EACH t r KEY r.id PATTERN SEQ(A a, B b) WHERE a.x = r.x AND b.x >= r.x WITHIN r.w SELECT NEXT;"


def test_members_of_a_table_are_one_query() -> None:
    found = stretto.run(stretto.optimize(Workload.parse(FAMILY).table("t", ROWS), SCHEMA), EVENTS)
    assert found.counts() == {"q": 4}
    assert found.members("q") == {"u": 1, "v": 1, "w": 2}
    assert found["q"].column_names == ["member", "a", "b", "start", "end", "detected"]
    assert found["q[w]"].select(["a", "b"]).to_pylist() == [{"a": 1, "b": 4}, {"a": 3, "b": 4}]
    table = found.to_arrow()
    assert table.schema == FILE
    assert set(table["query"].to_pylist()) == {"q"}
    assert sorted(table["member"].to_pylist()) == ["u", "v", "w", "w"]
    assert len(set(table["match_id"].to_pylist())) == 4
    assert len(found.started(0, 2)) == 2
    assert found.only(["q"]).counts() == {"q": 4}


def test_alike_queries_are_what_they_are_alone() -> None:
    rows = [(n, 1 + n % 3, 2 + n % 5) for n in range(4 * alike_statements.FEWEST)]
    queries = {f"n{n}": f"QUERY n{n} " + TEXT.format(x=x, w=w) for n, x, w in rows}
    plan = stretto.optimize(Workload.parse("\n".join(queries.values())), SCHEMA)
    assert len(plan.queries) == 1
    assert plan.names == tuple(queries)
    found = stretto.run(plan, EVENTS)
    table = found.to_arrow()
    assert table["member"].null_count == len(table)
    for name in list(queries)[:12]:
        alone = stretto.run(stretto.optimize(Workload.parse(queries[name]), SCHEMA), EVENTS)
        assert found[name].equals(alone[name])
        mine = table.filter(pc.equal(table["query"], name))
        assert mine.sort_by("match_id").equals(alone.to_arrow().sort_by("match_id"))
        assert found.counts()[name] == len(alone)
        assert found.only([name]).counts() == {name: len(alone)}


def test_the_plan_tells_of_them() -> None:
    text = stretto.optimize(Workload.parse(FAMILY).table("t", ROWS), SCHEMA).explain()
    assert "to 4 queries like q by 3 combinations of constants" in text
    assert "A paired with 3 combinations of constants, looked up by x = row.x" in text
    told = stretto.optimize(Workload.parse(FAMILY).table("t", ROWS), SCHEMA).explain("json")
    assert '"q[u]"' in told
    alone = FAMILY.replace("SEQ(A a, B b)", "SEQ(A a+, B b)")
    text = stretto.optimize(Workload.parse(alone).table("t", ROWS), SCHEMA).explain()
    assert "one query per row: the run of each member takes other events" in text
