"""Hypothesis strategies for every valid syntax tree."""

from hypothesis import strategies as st

from stretto.text import syntax
from stretto.text.actions import logic
from stretto.text.values import MAX_INT, MAX_WINDOW

PLAIN = (
    "a",
    "b",
    "d",
    "h",
    "s",
    "i",
    "min",
    "type",
    "events",
    "first",
    "price",
    "Buy",
    "seq",
    "ts",
    "x_1",
    "über",
)
ODD = (
    "and",
    "WHERE",
    "Within",
    "select",
    "two words",
    'say "hi"',
    "in",
    "null",
    "1st",
    "a.b",
    "--",
    ";",
    "new\nline",
)
names = st.sampled_from(PLAIN) | st.sampled_from(ODD) | st.text(min_size=1, max_size=6)
functions = st.sampled_from(["ABS", "COUNT", "FIRST", "GEO_DISTANCE", "NOT", "MY FUN", "TIMESTAMP", "SELECT"])
FIRST_TIME, LAST_TIME = -62135596800 * 10**6, 253402300799 * 10**6

literals = st.builds(
    syntax.Literal,
    st.none()
    | st.booleans()
    | st.integers(-MAX_INT - 1, MAX_INT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["it's", "--", ";", "'", "''", "a\nb"]),
)
references = st.builds(syntax.Name, names) | st.builds(
    syntax.Name, names, names, st.sampled_from(["", "i", "i-1"])
)
leaves = (
    literals
    | references
    | st.builds(
        syntax.Duration, st.integers(-MAX_INT, MAX_INT) | st.integers(-100, 100).map(lambda n: n * 10**6)
    )
    | st.builds(syntax.Timestamp, st.integers(FIRST_TIME, LAST_TIME))
    | st.builds(syntax.Same, names)
    | st.builds(syntax.Call, functions, st.just((syntax.Star(),)))
)


def _larger(inner: st.SearchStrategy[syntax.Expression]) -> st.SearchStrategy[syntax.Expression]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    two = st.lists(inner, min_size=2, max_size=4)
    operators = st.sampled_from(["+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">="])
    return (
        st.builds(syntax.Binary, operators, inner, inner)
        | st.builds(syntax.Unary, st.sampled_from(["-", "NOT"]), inner)
        | st.builds(logic, st.sampled_from(["AND", "OR"]), two)
        | st.builds(syntax.In, inner, several, st.booleans())
        | st.builds(syntax.Between, inner, inner, inner, st.booleans())
        | st.builds(syntax.IsNull, inner, st.booleans())
        | st.builds(
            syntax.TextTest,
            st.sampled_from(["LIKE", "ILIKE"]),
            inner,
            inner,
            st.none() | inner,
            st.booleans(),
        )
        | st.builds(syntax.TextTest, st.sampled_from(["MATCHES", "IMATCHES", "CONTAINS"]), inner, inner)
        | st.builds(
            syntax.Case,
            st.lists(st.tuples(inner, inner), min_size=1, max_size=2).map(tuple),
            st.none() | inner,
        )
        | st.builds(syntax.Call, functions, st.lists(inner, max_size=3).map(tuple), st.none() | names)
    )


expressions = st.recursive(leaves, _larger, max_leaves=12)
terms = expressions.filter(lambda e: not (isinstance(e, syntax.Logic) and e.word == "AND"))
wheres = st.lists(terms, max_size=3).map(tuple)

atoms = st.builds(syntax.Atom, names, st.none() | names)


@st.composite
def repeats(draw: st.DrawFn, inner: st.SearchStrategy[syntax.Pattern]) -> syntax.Repeat:
    low = draw(st.integers(0, 3) | st.integers(0, MAX_INT))
    high = draw(st.none() | st.integers(max(low, 1), MAX_INT) | st.just(max(low, 1)))
    return syntax.Repeat(draw(inner), low, high)


patterns = st.recursive(
    atoms,
    lambda inner: (
        st.builds(
            syntax.Combine,
            st.sampled_from(["SEQ", "AND", "OR", "ANY"]),
            st.lists(inner, min_size=1, max_size=4).map(tuple),
        )
        | st.builds(syntax.Not, inner)
        | repeats(inner)
    ),
    max_leaves=10,
)

items = st.lists(st.builds(syntax.Item, expressions, st.none() | names), min_size=1, max_size=3).map(tuple)
windows = st.builds(
    syntax.Within, st.integers(1, MAX_WINDOW) | st.integers(1, 1000), st.sampled_from(["us", "events"])
)
group_names = st.lists(st.builds(syntax.Name, names, st.none() | names), max_size=2).map(tuple)
columns = st.builds(syntax.Name, names, names)
for_each = st.builds(syntax.ForEach, names, st.none() | names, st.none() | columns)


durations = st.builds(syntax.Duration, st.integers(1, MAX_WINDOW))
several = st.lists(expressions, max_size=2).map(tuple)
keeps = (
    st.none()
    | st.builds(syntax.Keep, st.sampled_from(["ALL", "LONGEST"]))
    | st.builds(syntax.Keep, st.just("APART"), several)
    | st.builds(syntax.Keep, st.just("FIRST"), several, durations)
)


def _queries(
    name: st.SearchStrategy[str], each: st.SearchStrategy[syntax.ForEach | None]
) -> st.SearchStrategy[syntax.Query]:
    slides = st.none() | st.builds(syntax.Duration, st.integers(1, MAX_WINDOW))
    row_windows = st.builds(lambda row: (syntax.Within(0, row=row), None), columns)
    sized = st.tuples(windows, slides if each is for_each_or_none else st.none())
    return st.builds(
        lambda name, pattern, window, where, select, returning, groups, having, row, keep, limit, totals: (
            syntax.Query(
                name,
                pattern,
                window[0],
                where,
                select,
                returning,
                groups,
                window[1],
                having,
                row,
                keep,
                limit,
                aggregating=totals and bool(returning),
            )
        ),
        name,
        patterns,
        sized | row_windows if each is for_each_or_none else sized,
        wheres,
        st.sampled_from([None, "ANY", "NEXT", "STRICT"]),
        st.just(()) | items,
        group_names,
        wheres,
        each,
        keeps,
        st.none() | st.builds(syntax.Limit, st.integers(1, MAX_INT), durations),
        st.booleans(),
    )


for_each_or_none = st.none() | for_each
queries = _queries(names, for_each_or_none)
pattern_streams = _queries(names, st.none()).map(lambda query: syntax.CreatePatternStream(query.name, query))
tables = st.builds(syntax.CreateTable, names, st.text(min_size=1, max_size=12))
events = st.builds(syntax.CreateEvent, names, names, wheres)
sources = st.builds(syntax.Source, names, st.none() | names)
star_items = st.just((syntax.Item(syntax.Star()),))
plain_streams = st.builds(
    syntax.CreateStream,
    names,
    items | star_items,
    st.tuples(sources),
    st.just(()),
    wheres,
    group_names,
    st.none() | windows,
)
joins = st.builds(
    syntax.CreateStream,
    names,
    items | star_items,
    st.tuples(sources, sources),
    wheres,
    wheres,
    group_names,
    windows,
)
workloads = st.lists(queries | events | plain_streams | joins | pattern_streams | tables, max_size=3).map(
    tuple
)
