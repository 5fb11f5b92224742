import pytest

from stretto.errors import QueryError
from stretto.pattern.workload import Workload, check
from stretto.schema import Kind, Schema
from stretto.text.build import SEQ, E, query

SCHEMA = Schema({"x": Kind.FLOAT}, frozenset("AB"))
TEXT = """CREATE EVENT Big AS SELECT * FROM A WHERE x > 1;
QUERY p PATTERN SEQ(Big a, B b) WHERE a.x < b.x WITHIN 1 s;
QUERY q PATTERN A a WITHIN 2 s;"""


def test_statements_come_and_go() -> None:
    workload = Workload.parse(TEXT)
    assert (len(workload), [one.name for one in workload.queries]) == (2, ["p", "q"])
    assert workload.remove("q").add("QUERY q PATTERN A a WITHIN 2 s;") == workload
    assert len(workload.statements) == 3
    a, b = E("A", "a"), E("B", "b")
    built = workload.add(query("r", SEQ(a, b)).where(a.x < b.x).within("1 second"))
    assert [one.name for one in built.bind(SCHEMA).detections] == ["p", "q", "r"]
    assert len(workload.remove("p", "q", "Big").statements) == 0


def test_an_unknown_name_cannot_be_removed() -> None:
    with pytest.raises(QueryError, match=r"no query `pp` to remove .*did you mean `p`"):
        Workload.parse(TEXT).remove("pp")


def test_text_and_json_give_the_workload_back() -> None:
    workload = Workload.parse(TEXT)
    assert Workload.parse(workload.to_text()) == workload
    assert Workload.from_json(workload.to_json()) == workload


def test_mistakes_in_added_text_point_into_the_whole() -> None:
    workload = Workload.parse(TEXT, "w.cep").add("QUERY r\nPATTERN A a WHERE a.y > 1 WITHIN 1 s;")
    with pytest.raises(QueryError) as refused:
        workload.bind(SCHEMA)
    assert str(refused.value).startswith(
        "w.cep:5:19: unknown attribute `y`\n  5 | PATTERN A a WHERE a.y > 1 WITHIN 1 s;\n"
    )
    with pytest.raises(QueryError, match=r"w\.cep:4:"):
        Workload.parse(TEXT, "w.cep").add("QUERY r PATTERN WITHIN 1 s;")


def test_syntax_and_meaning_are_listed_together() -> None:
    text = "QUERY p PATTERN A WHERE b.x > 1 WITHIN 1 s;\nQUERY q PATTERN SEQ(A a WITHIN 1 s;\n"
    with pytest.raises(QueryError) as refused:
        Workload.parse(text)
    assert [mistake.at.line for mistake in refused.value.mistakes if mistake.at] == [1, 2]
    assert check(text, schema=SCHEMA) == refused.value.mistakes


def test_normal_forms_list_all_that_cannot_be_planned() -> None:
    wide = ", ".join(f"A a{i}" for i in range(13))
    text = "\n".join(f"QUERY q{i} PATTERN ANY({wide}) WITHIN 1 s;" for i in range(2))
    with pytest.raises(QueryError) as refused:
        Workload.parse(text, "w.cep").bind(SCHEMA).normal_forms()
    assert [mistake.at.line for mistake in refused.value.mistakes if mistake.at] == [1, 2]
    assert "w.cep:2:7" in str(refused.value)


def test_names_that_differ_by_case_are_two() -> None:
    remarks = Workload.parse("QUERY q PATTERN a WITHIN 1 s;").bind(SCHEMA).remarks
    assert [remark.note for remark in remarks] == ["did you mean `A`?"]
