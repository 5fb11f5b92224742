"""Names, kinds and shapes of bound queries; the texts of mistakes are golden files."""

import pickle

import pytest

from stretto.errors import QueryError
from stretto.pattern import nodes
from stretto.pattern.describe import term_text
from stretto.pattern.predicates import Apply, Const, Reduce, Ref, Which
from stretto.pattern.workload import Workload, check
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema, Special

ATTRIBUTES = {"x": Kind.FLOAT, "n": Kind.INT, "s": Kind.STRING, "f": Kind.BOOL, "gap": Kind.DURATION}
SCHEMA = Schema(ATTRIBUTES, frozenset("ABCN"))


def bound(pattern: str, where: str = "", rest: str = "", schema: Schema = SCHEMA) -> nodes.Query:
    text = f"QUERY q PATTERN {pattern} {'WHERE ' + where if where else ''} WITHIN 10 s {rest};"
    (query,) = Workload.parse(text).bind(schema).detections
    return query


def term(where: str, pattern: str = "SEQ(A a, B b+)") -> object:
    (found,) = bound(pattern, where).terms
    return found


def test_numbers_of_two_kinds_become_doubles() -> None:
    x, n = Ref(0, "x", Kind.FLOAT), Ref(0, "n", Kind.INT)
    as_double = Apply("to_float", (n,), Kind.FLOAT)
    assert term("a.x > 1") == Apply(">", (x, Const(1.0, Kind.FLOAT)), Kind.BOOL)
    assert term("a.n > 1") == Apply(">", (n, Const(1, Kind.INT)), Kind.BOOL)
    assert term("a.n > a.x") == Apply(">", (as_double, x), Kind.BOOL)
    assert term("a.n / 2 > 1") == Apply(
        ">",
        (Apply("/", (as_double, Const(2.0, Kind.FLOAT)), Kind.FLOAT), Const(1.0, Kind.FLOAT)),
        Kind.BOOL,
    )
    assert term("a.n IN (1, 2.5)") == Apply(
        "in", (as_double, Const(1.0, Kind.FLOAT), Const(2.5, Kind.FLOAT)), Kind.BOOL
    )


def test_literals_of_true_and_one_differ() -> None:
    assert term("a.f = TRUE") == Apply("=", (Ref(0, "f", Kind.BOOL), Const(True, Kind.BOOL)), Kind.BOOL)


@pytest.mark.parametrize(
    "where",
    [
        "b.ts - a.ts <= 5 s",
        "a.ts + 1 s < b.ts",
        "1 s + a.ts < b.ts",
        "a.gap * 2 > 1 s",
        "2 * a.gap > 1 s",
        "a.gap / 1 s > 2",
        "-a.gap < ABS(a.gap)",
        "LEAST(a.n, a.x) > 1",
        "MAX(a.n, 3) > MIN(a.x, 2)",
        "GEO_DISTANCE(a.x, a.n, 1, 2.5) < 100",
        "FLOOR(a.n) + CEIL(a.n) = 2",
        "a.ts > TIMESTAMP '2013-10-07 09:30:00'",
        "a.s IN ('p', 'q') OR a.s IS NOT NULL",
        "a.f",
        "a.n NOT BETWEEN 1 AND 2",
        "a.n > -9223372036854775808",
    ],
)
def test_allowed(where: str) -> None:
    assert bound("SEQ(A a, B b)", where).terms


def test_references_to_sets() -> None:
    assert term("b[i].n > b[i-1].n") == Apply(
        ">", (Ref(1, "n", Kind.INT, Which.CURRENT), Ref(1, "n", Kind.INT, Which.PREVIOUS)), Kind.BOOL
    )
    assert term("FIRST(b).n > LAST(b).n") == Apply(
        ">", (Ref(1, "n", Kind.INT, Which.FIRST), Ref(1, "n", Kind.INT, Which.LAST)), Kind.BOOL
    )
    assert term("SUM(b.n) > COUNT(b)") == Apply(
        ">", (Reduce("SUM", 1, "n", Kind.INT), Reduce("COUNT", 1, "", Kind.INT)), Kind.BOOL
    )
    assert term("MIN(b.x) > AVG(b.n)") == Apply(
        ">", (Reduce("MIN", 1, "x", Kind.FLOAT), Reduce("AVG", 1, "n", Kind.FLOAT)), Kind.BOOL
    )


def test_conjunctions_are_split() -> None:
    query = bound("A a", "[n] AND a.n BETWEEN 1 AND 2 AND (a.x > 1 AND a.f) AND [s]")
    assert [term_text(term, ["a"]) for term in query.terms] == ["a.n >= 1 AND a.n <= 2", "a.x > 1", "a.f"]
    assert query.same == ("n", "s")


def test_variables_and_groups() -> None:
    query = bound("SEQ(A, SEQ(B b, SEQ(C c+, A d)+)+, NOT(N n), B e?)")
    named = {variable.name: variable for variable in query.variables}
    assert list(named) == ["a", "b", "c", "d", "n", "e"]
    assert (named["a"].groups, named["b"].groups, named["c"].groups) == ((), (0,), (0, 1))
    assert [v.name for v in query.variables if v.kleene] == ["c"]
    assert [v.name for v in query.variables if v.negated] == ["n"]


def test_alternatives_share_a_variable() -> None:
    query = bound("OR(SEQ(A t, B b), SEQ(B t, C))", "t.x > 1")
    assert [variable.name for variable in query.variables] == ["t", "b", "c"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("SEQ(B b)+", "B b+"),
        ("AND(OR(B b))", "B b"),
        ("(B b?){2,3}", "B b{0,3}"),
        ("(B b+)?", "B b*"),
        ("(B b{0,4})?", "B b{0,4}"),
        ("B b{1,1}", "B b"),
        ("SEQ(A a, SEQ(NOT(N n)), C c)", "SEQ(A a, NOT(N n), C c)"),
    ],
)
def test_needless_words_are_dropped(written: str, meant: str) -> None:
    assert bound(written) == bound(meant)


def test_selections_expand() -> None:
    text = """
    CREATE EVENT Big AS SELECT * FROM A WHERE x > 10;
    CREATE EVENT Huge AS SELECT * FROM Big WHERE Big.x > 100 AND n = 1;
    QUERY q PATTERN SEQ(Huge h, Big b) WITHIN 1 s;
    """
    (query,) = Workload.parse(text).bind(SCHEMA).detections
    assert isinstance(query.pattern, nodes.Combine)
    huge, big = query.pattern.parts
    assert isinstance(huge, nodes.Atom)
    assert isinstance(big, nodes.Atom)
    assert huge.stream.type == big.stream.type == "A"
    assert [term_text(term, [""]) for term in huge.stream.where] == ["x > 10", "x > 100", "n = 1"]


def test_the_time_column_may_have_another_name() -> None:
    schema = Schema({"x": Kind.FLOAT}, None, Special(ts="at"))
    one, other = bound("SEQ(A a, B b)", "a.at < b.ts", schema=schema), bound("SEQ(A a, B b)", "a.ts < b.ts")
    assert one.terms == other.terms


def test_queries_are_sorted_by_what_runs_them() -> None:
    text = """
    CREATE STREAM calm AS SELECT n, AVG(x) AS mean FROM A GROUP BY n WITHIN 60 s;
    QUERY counts PATTERN SEQ(A a, B b+) WHERE b[i].x > b[i-1].x AND a.x < FIRST(b).x
      GROUP BY n WITHIN 10 s SLIDE 5 s RETURN COUNT(*), SUM(b.x);
    QUERY mixed PATTERN SEQ(calm a, B b) WHERE a.mean < b.x WITHIN 10 s;
    QUERY plain PATTERN SEQ(A a, B b) WITHIN 10 s RETURN COUNT(b) + 1 AS more;
    """
    found = Workload.parse(text).bind(SCHEMA)
    assert [query.name for query in found.detections] == ["mixed", "plain"]
    assert [query.name for query in found.trends] == ["counts"]
    assert [stream.name for stream in found.streams] == ["calm"]


def test_without_a_schema_only_what_needs_none_is_checked() -> None:
    text = "QUERY q PATTERN SEQ(Some a, Other b) WHERE a.thing > b.other AND c.x = 1 AND 'x' < 1 WITHIN 1 s;"
    assert [mistake.message for mistake in check(text)] == [
        "unknown variable `c`",
        "type clash: string < integer",
    ]
    right = Workload.parse("QUERY q PATTERN SEQ(Some a, Other b) WHERE a.thing > b.other WITHIN 1 s;")
    right.verify()
    assert right.bind(None).detections == ()


def test_mistakes_without_a_place_name_their_query() -> None:
    wrong = Workload.parse("QUERY q PATTERN A a WHERE b.x > 1 WITHIN 1 s;")
    with pytest.raises(QueryError, match="query `q`: unknown variable `b`"):
        Workload().add(wrong).bind(SCHEMA)


REPEATED = {
    "groups": lambda n: "(" * n + "A a" + "".join(f", B b{i})+" for i in range(n)),
    "signs": lambda n: "A a" + "+" * n,
    "alternatives": lambda n: "OR(" * n + "A a" + "".join(f", B b{i}){{2}}" for i in range(n)),
    "inside of others": lambda n: (
        "SEQ(" * 55 + REPEATED["groups"](n) + "".join(f", C c{i})" for i in range(55))
    ),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_repetitions_nest_as_deep_as_the_manual_says(kind: str) -> None:
    text = "QUERY q PATTERN {} WITHIN 5 us;"
    plan = optimize(Workload.parse(text.format(REPEATED[kind](20))), SCHEMA, optimizer="none")
    assert pickle.loads(pickle.dumps(plan)).queries.keys() == {"q"}
    for deep in (21, 70, 98, 300):
        found = check(text.format(REPEATED[kind](deep)), schema=SCHEMA)
        assert found
        assert all("deep" in mistake.message and mistake.at is not None for mistake in found)


@pytest.mark.parametrize("word", ["ABS(", "TRIM(", "LOWER("])
def test_functions_nest_as_deep_as_the_manual_says(word: str) -> None:
    value = "a.x" if word == "ABS(" else "a.s"
    text = f"QUERY q PATTERN A a WHERE {{}}{value}{{}} IS NOT NULL WITHIN 5 us;"
    optimize(Workload.parse(text.format(word * 99, ")" * 99)), SCHEMA, optimizer="none")
    (mistake,) = check(text.format(word * 190, ")" * 190), schema=SCHEMA)
    assert mistake.message == "expression nested more than 200 deep"
    assert mistake.at is not None


def test_deep_nesting_is_a_mistake_and_no_crash() -> None:
    deep = "SEQ(A a, " * 150 + "B b" + ")" * 150
    assert check(f"QUERY q PATTERN {deep} WITHIN 1 s;", schema=SCHEMA)
    early = "SEQ(" * 101 + "A a" + "".join(f", B b{i})" for i in range(101))
    found = check(f"QUERY q PATTERN {early} WITHIN 1 s;", schema=SCHEMA)
    assert {mistake.message for mistake in found} == {"pattern nested more than 100 deep"}
    long = " + ".join(["a.x"] * 400)
    assert check(f"QUERY q PATTERN A a WHERE {long} > 1 WITHIN 1 s;", schema=SCHEMA)
