"""Derived streams, HAVING, tables and families in their bound form."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import stretto
from stretto import E, R
from stretto.errors import QueryError
from stretto.pattern.derived.streams import (
    JoinStream,
    PatternStream,
    Selection,
    WindowAggregate,
    attributes_of,
    sources_of,
)
from stretto.pattern.nodes import streams_of
from stretto.pattern.predicates import Apply, Const, Ref
from stretto.pattern.workload import BoundWorkload, Workload
from stretto.schema import Kind, Schema

SCHEMA = Schema(
    {"pid": Kind.INT, "load": Kind.INT, "host": Kind.STRING, "temp": Kind.FLOAT}, frozenset({"cpu", "sensor"})
)
STREAMS = """
CREATE STREAM ramp AS PATTERN smoothed d{2,} WHERE [pid] HAVING d[i].load > d[i-1].load WITHIN 1 HOUR SELECT NEXT
  RETURN FIRST(d).pid AS pid, LAST(d).load AS load;
CREATE STREAM smoothed AS SELECT pid, AVG(load) AS load FROM busy GROUP BY pid WITHIN 60 SECONDS;
CREATE EVENT busy AS SELECT * FROM cpu WHERE load >= 0;
CREATE STREAM hot AS SELECT c.pid, c.load, s.temp FROM cpu c JOIN sensor s ON c.host = s.host WITHIN 5 SECONDS;
CREATE STREAM halved AS SELECT pid AS p, load / 2 AS load FROM smoothed WHERE load > 1;
"""


def bound(text: str) -> BoundWorkload:
    return Workload.parse(text).bind(SCHEMA)


def test_streams_come_after_those_they_read() -> None:
    found = {stream.name: stream for stream in bound(STREAMS).streams}
    assert list(found) == ["smoothed", "ramp", "hot", "halved"]
    kinds = [type(stream) for stream in found.values()]
    assert kinds == [WindowAggregate, PatternStream, JoinStream, Selection]
    assert [sources_of(stream) for stream in found.values()] == [
        ("cpu",),
        ("smoothed",),
        ("cpu", "sensor"),
        ("smoothed",),
    ]
    assert attributes_of(found["smoothed"]) == {"pid": Kind.INT, "load": Kind.FLOAT}
    assert attributes_of(found["ramp"]) == {"start": Kind.TIME, "pid": Kind.INT, "load": Kind.FLOAT}
    assert attributes_of(found["halved"]) == {"p": Kind.INT, "load": Kind.FLOAT}


def test_an_attribute_belongs_to_its_stream() -> None:
    text = STREAMS + "QUERY q PATTERN SEQ(cpu a, smoothed b) WHERE a.load < b.load WITHIN 1 s;"
    found = bound(text)
    (query,) = found.detections
    left, right = Apply("to_float", (Ref(0, "load", Kind.INT),), Kind.FLOAT), Ref(1, "load", Kind.FLOAT)
    assert query.terms == (Apply("<", (left, right), Kind.BOOL),)
    assert streams_of(query) == ("cpu", "smoothed")
    plan = stretto.optimize(Workload.parse(text), SCHEMA)
    assert plan.front is not None
    assert plan.front.columns["load"] is Kind.INT
    assert plan.front.columns["smoothed.load"] is Kind.FLOAT


@pytest.mark.parametrize("policy", ["ANY", "STRICT"])
def test_having_is_where_unless_runs_can_end(policy: str) -> None:
    pattern = "QUERY q PATTERN cpu d+ {} d[i].load > d[i-1].load WITHIN 1 s SELECT "
    (having,) = bound(pattern.format("HAVING") + f"{policy};").detections
    (where,) = bound(pattern.format("WHERE") + f"{policy};").detections
    assert having == where
    (ending,) = bound(pattern.format("HAVING") + "NEXT;").detections
    assert (len(ending.having), ending.terms) == (1, ())


FAMILY = """
CREATE TABLE limits FROM 'limits.csv';
QUERY breach FOR EACH limits r KEY r.id PATTERN SEQ(cpu a, cpu b+)
WHERE a.host = r.host AND a.load < r.low AND LAST(b).load IN (r.low, 7) WITHIN r.horizon RETURN r.owner AS owner;
"""
WRITTEN = """
QUERY "breach[x]" PATTERN SEQ(cpu a, cpu b+)
WHERE a.host = 'h1' AND a.load < 1.5 AND LAST(b).load IN (1.5, 7) WITHIN 10 s RETURN 'ann' AS owner;
QUERY "breach[y]" PATTERN SEQ(cpu a, cpu b+)
WHERE a.host = 'h2' AND a.load < 2.0 AND LAST(b).load IN (2.0, 7) WITHIN 1 min RETURN 'bob' AS owner;
"""
ROWS = "id,host,low,horizon,owner\nx,h1,1.5,10 s,ann\ny,h2,2,1 minute,bob\n"


def test_a_family_is_its_queries_with_the_constants_written_in(tmp_path: Path) -> None:
    (tmp_path / "limits.csv").write_text(ROWS)
    (tmp_path / "w.cep").write_text(FAMILY)
    found = Workload.read(tmp_path / "w.cep").bind(SCHEMA)
    (family,) = found.families
    assert (family.members, family.parameters) == (("x", "y"), ("host", "low", "owner"))
    plain = [replace(query, family=None, member=None) for query in family.queries()]
    assert tuple(plain) == bound(WRITTEN).detections
    assert [(query.family, query.member) for query in family.queries()] == [("breach", "x"), ("breach", "y")]


def test_a_table_of_a_program_needs_no_file() -> None:
    rows = pa.table({"id": [3, 4], "low": pa.array([None, 2.5])})
    r, a = R("r"), E("cpu", "a")
    query = stretto.query("q", a).where(a.temp < r.low).within("1 s").for_each("limits", r, key=r.id)
    workload = Workload().table("limits", rows).add(query)
    names = {one.name: one.terms[0] for one in workload.bind(SCHEMA).families[0].queries()}
    assert list(names) == ["q[3]", "q[4]"]
    assert names["q[3]"] == Apply("<", (Ref(0, "temp", Kind.FLOAT), Const(None, Kind.FLOAT)), Kind.BOOL)
    with pytest.raises(QueryError, match="the rows of table `limits` are not here"):
        Workload.from_json(workload.to_json()).bind(SCHEMA)


def test_other_rows_are_another_text(tmp_path: Path) -> None:
    query = "QUERY q FOR EACH t r PATTERN cpu a WHERE a.pid = r.p WITHIN 1 s;"
    texts = [Workload.parse(query).table("t", {"p": values}).to_text() for values in ([5, 6], [5, 6], [5, 7])]
    assert texts[0] == texts[1] != texts[2]
    assert Workload.parse(texts[0]).statements == Workload.parse(query).statements
    plan = stretto.optimize(Workload.parse(query).table("t", {"p": [5]}), SCHEMA)
    assert "1 query like q" in plan.explain()
    (tmp_path / "t.csv").write_text("p\n5\n")
    (tmp_path / "w.cep").write_text(f"CREATE TABLE t FROM 't.csv'; {query}")
    before = Workload.read(tmp_path / "w.cep").to_text()
    (tmp_path / "t.csv").write_text("p\n6\n")
    assert Workload.read(tmp_path / "w.cep").to_text() != before


def test_without_a_key_a_row_goes_by_its_number() -> None:
    workload = Workload.parse("QUERY q FOR EACH t r PATTERN cpu a WHERE a.pid = r.p WITHIN 1 s;")
    found = workload.table("t", {"p": [5, 5]}).bind(SCHEMA)
    assert found.families[0].members == ("1", "2")


def test_a_workload_takes_its_tables_along(tmp_path: Path) -> None:
    (tmp_path / "limits.csv").write_text(ROWS)
    (tmp_path / "w.cep").write_text(FAMILY)
    workload = Workload.read(tmp_path / "w.cep")
    added = Workload().add(workload)
    (tmp_path / "limits.csv").rename(tmp_path / "moved.csv")
    make, parts = workload.__reduce__()
    assert len(make(*parts).bind(SCHEMA).families[0].members) == 2
    with pytest.raises(QueryError, match="is not there"):
        added.bind(SCHEMA)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl", ".arrow"])
def test_tables_are_read_from_files_of_every_kind(tmp_path: Path, ending: str) -> None:
    rows = pa.table({"id": ["x", "y"], "n": [1, None], "f": [0.5, 2.0]})
    file = tmp_path / f"t{ending}"
    match ending:
        case ".csv":
            pa.csv.write_csv(rows, file)
        case ".parquet":
            pa.parquet.write_table(rows, file)
        case ".jsonl":
            file.write_text('{"id": "x", "n": 1, "f": 0.5}\n{"id": "y", "n": null, "f": 2.0}\n')
        case _:
            with pa.ipc.new_file(str(file), rows.schema) as sink:
                sink.write_table(rows)
    text = f"CREATE TABLE t FROM 't{ending}'; QUERY q FOR EACH t r KEY r.id PATTERN cpu a WHERE a.pid = r.n "
    text += "AND a.temp > r.f WITHIN 1 s;"
    (tmp_path / "w.cep").write_text(text)
    (family,) = Workload.read(tmp_path / "w.cep").bind(SCHEMA).families
    assert family.members == ("x", "y")
    assert (family.table.values("n"), family.table.values("f")) == ([1, None], [0.5, 2.0])


def test_streams_are_built_in_python_as_in_text() -> None:
    c, s, d = E("cpu", "c"), E("sensor", "s"), E("smoothed", "d")
    smoothed = stretto.stream("smoothed", "cpu").select("pid", load="AVG(load)").where("load >= 0")
    hot = stretto.stream("hot", c).join(s).on(c.host == s.host).select(c.pid, c.load, s.temp)
    ramp = (
        stretto.query("any", d.times(2, None))
        .same("pid")
        .having(d.i.load > d.prev.load)
        .within("1 hour")
        .select("NEXT")
        .returning(pid=d.first.pid, load=d.last.load)
    )
    built = Workload().add(
        smoothed.group_by("pid").within("60 s"), hot.within("5 s"), stretto.stream("ramp", ramp)
    )
    text = """
    CREATE STREAM smoothed AS SELECT pid, AVG(load) AS load FROM cpu WHERE load >= 0 GROUP BY pid WITHIN 60 SECONDS;
    CREATE STREAM hot AS SELECT c.pid, c.load, s.temp FROM cpu c JOIN sensor s ON c.host = s.host WITHIN 5 SECONDS;
    CREATE STREAM ramp AS PATTERN smoothed d{2,} WHERE [pid] HAVING d[i].load > d[i-1].load WITHIN 1 HOUR SELECT NEXT
      RETURN FIRST(d).pid AS pid, LAST(d).load AS load;
    """
    assert built.statements == Workload.parse(text).statements
    assert Workload.parse(built.to_text()) == built
    assert Workload.from_json(built.to_json()) == built
