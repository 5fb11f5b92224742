"""Random workloads of trend queries, and streams for them, small enough that every trend can be built.

The queries of a workload are relatives: most repeat one core, such as `B b+` or `SEQ(A a, B b+)+`, with its terms, and
put other parts around it, so that there is something to share. `random_trends` draws everything from one
`random.Random`, so a seed names a workload for good.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

from hypothesis import strategies as st
from tests.support.random_events import SCHEMA, random_events
from tests.support.strategies import COMPARE, Sample

from stretto.oracle.bindings import Binding, Search
from stretto.oracle.values import Event
from stretto.pattern.nodes import Query, TrendQuery, Window
from stretto.pattern.workload import Workload, check

TYPES = ("A", "B", "C", "D")
MOST_STEPS = 12_000  # that the oracle's search may take for one query

CORES = (  # written with the names of the types in use; `%` is a fresh variable
    *("B %+",) * 4,
    *("SEQ(A %, B %+)",) * 2,
    *("SEQ(A %, B %+)+",) * 2,
    *("SEQ(B %+, C %)",) * 2,
    "SEQ(A %, B %)+",
    "SEQ(A %+, B %+)",
    "SEQ(A %+, B %)+",
    "SEQ(B %, B %+)",
    "(B %+)+",
    "(SEQ(A %, B %+)+)+",
    "SEQ(A %, SEQ(B %, C %)+)",
    "SEQ(A %, SEQ(B %+, C %)+)+",
    "SEQ(SEQ(A %, B %)+, C %+)+",
    "SEQ(A %, (B %+)+, A %)",
    "A %",
    "SEQ(A %, B %, C %)",
)
AROUND = (
    *("@",) * 9,
    *("SEQ(A %, @)",) * 3,
    *("SEQ(C %, @)",) * 2,
    "SEQ(@, D %)",
    "SEQ(C %+, @)",
    "SEQ(A %, @)+",
    "SEQ(@, C %)+",
    "SEQ(C %, @, D %)",
    "(@)+",
    "SEQ(A %, SEQ(@, C %)+)",
)
USUAL = {"k": 1, "s": "a", "f": True, "n": 2}
NAMES = ("p", "q", "r", "t", "u", "v", "w", "y", "z")


@dataclass(frozen=True, slots=True)
class Named:
    """A variable of a pattern: is it repeated itself?"""

    name: str
    many: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A pattern with its variables in order, and the terms that go with it."""

    text: str
    variables: tuple[Named, ...]
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TupleFrame:
    """What the relatives of a workload mostly have in common."""

    window: int
    slide: int | None
    groups: tuple[str, ...]
    same: tuple[str, ...]


def trend_workloads(most: int = 9) -> st.SearchStrategy[Sample]:
    """Samples that hypothesis can shrink, with few events, as it likes extremes."""
    samples = st.randoms(use_true_random=False).map(random_trends)
    return samples.map(lambda sample: replace(sample, events=sample.events[:most]))


def random_trends(rng: Random, queries: int | None = None) -> Sample:
    """So many trend queries, by default one to four, sometimes over a named selection, and a stream."""
    types = dict(zip(TYPES, rng.sample(TYPES, len(TYPES)), strict=True))
    real = dict(types)
    selection = ""
    if rng.random() < 0.2:
        condition = rng.choice(("x > 0", "n != 1", "k < 2 OR f", "s IS NOT NULL"))
        selection = f"CREATE EVENT Sel AS SELECT * FROM {types['B']} WHERE {condition};\n"
        types["B"] = "Sel"
    writer = _Writer(rng, types, selection)
    core, frame = writer.core(), _frame(rng)
    count = queries or rng.choice((1, 1, 2, 2, 3, 4))
    texts = [writer.query(f"q{i}", core, frame) for i in range(count)]
    used = [name for name in TYPES if any(f"{types[name]} " in text for text in texts)]
    streams = [real[name] for name in (*used, *used, "B", rng.choice(TYPES))]
    events = _alike(rng, random_events(rng, streams, most=rng.choice((14, 20, 26))), frame)
    return _affordable(Sample(selection + "\n".join(texts), SCHEMA, events))


def _alike(rng: Random, events: Sequence[Event], frame: TupleFrame) -> tuple[Event, ...]:
    """Most events in one group, so that there are trends."""
    usual = {name: USUAL[name] for name in (*frame.groups, *frame.same)}
    return tuple(
        replace(event, attributes={**event.attributes, **usual}) if rng.random() < 0.6 else event
        for event in events
    )


def _frame(rng: Random) -> TupleFrame:
    window = rng.choice((6, 10, 16, 25, 40, 60))
    slide = rng.choice((None, None, None, 2, 3, 5, 8, 12, 30))
    groups = rng.choice(((),) * 7 + (("k",), ("k",), ("s",), ("k", "f"), ("n",)))
    return TupleFrame(window, slide, groups, rng.choice(((),) * 7 + (("k",), ("f",))))


def _affordable(sample: Sample) -> Sample:
    """With as many events as the oracle can bear, however the repetitions may be bracketed."""
    queries = Workload.parse(sample.text).bind(sample.schema).trends
    while sample.events and any(_is_dear(query, sample) for query in queries):
        sample = replace(sample, events=sample.events[: len(sample.events) * 5 // 6])
    return sample


def _is_dear(query: TrendQuery, sample: Sample) -> bool:
    plain = Query(query.name, query.pattern, query.variables, (), (), Window(query.window_us - 1))
    search = _Counted(plain, sorted(sample.events, key=lambda event: event.ts))
    return any(search.steps > MOST_STEPS for _ in search.bindings()) or search.steps > MOST_STEPS


class _Counted(Search):
    """A search that gives up after its most steps."""

    steps = 0

    def may_take(self, so_far: Binding, position: int, after: int | None) -> bool:
        self.steps += 1
        return self.steps <= MOST_STEPS and super().may_take(so_far, position, after)


@dataclass(slots=True)
class _Writer:
    """Writes the queries of one workload."""

    rng: Random
    types: dict[str, str]
    selection: str
    used: int = 0  # names of variables

    def core(self) -> Part:
        part = self.part(self.rng.choice(CORES))
        return replace(part, terms=self.terms(part, self.rng.choice((0, 0, 1, 1, 2))))

    def query(self, name: str, core: Part, frame: TupleFrame) -> str:
        """A relative of the others: mostly the same core and frame."""
        part = core if self.rng.random() < 0.8 else self.core()
        around = self.rng.choice(AROUND)
        if len(part.variables) == 1 and not part.variables[0].many:
            around = around.replace("(@)+", "@")  # else the variable itself were repeated
        whole = self.part(around, part)
        terms = [*part.terms] if self.rng.random() < 0.85 else []
        terms += self.terms(whole, self.rng.choice((0, 0, 0, 1)))
        if self.rng.random() < 0.25:
            frame = _frame(self.rng)
        elif self.rng.random() < 0.25:
            other = _frame(self.rng)
            frame = replace(frame, window=other.window, slide=other.slide)
        terms += [f"[{attribute}]" for attribute in frame.same]
        unit = self.rng.choice(("us", "MICROSECONDS"))
        slide = "" if frame.slide is None else f" SLIDE {frame.slide} {unit}"
        clauses = [
            f"WHERE {' AND '.join(dict.fromkeys(terms))}" if terms else "",
            f"GROUP BY {', '.join(frame.groups)}" if frame.groups else "",
            f"WITHIN {frame.window} {unit}{slide}",
            f"AGGREGATE {', '.join(self.aggregates(whole.variables))}",
        ]
        return "\n  ".join([f"QUERY {name} PATTERN {whole.text}", *filter(None, clauses)]) + ";"

    def part(self, form: str, core: Part | None = None) -> Part:
        """A form with its types and fresh variables filled in."""
        text, variables = "", []
        for i, sign in enumerate(form):
            if sign == "@":
                assert core is not None
                text += core.text
                variables += core.variables
            elif sign == "%":
                name = f"{NAMES[self.used % len(NAMES)]}{self.used // len(NAMES) or ''}"
                self.used += 1
                text += name
                variables.append(Named(name, many=form[i + 1 : i + 2] == "+"))
            else:
                text += self.types[sign] if sign in TYPES and form[i + 1 : i + 2] == " " else sign
        return Part(text, tuple(variables))

    # ---- terms and aggregates ----------------------------------------------------------------------------

    def terms(self, part: Part, count: int) -> tuple[str, ...]:
        found = [self.term(part) for _ in range(count)]
        return tuple(dict.fromkeys(term for term in found if term))

    def term(self, part: Part) -> str:
        """A term over one event or two neighbours; empty where the two are not repeated together."""
        several = [one for one in part.variables if one.many]
        roll = self.rng.random()
        if several and roll < 0.5:
            name = self.rng.choice(several).name
            return self.related(f"{name}[i-1]", f"{name}[i]")
        if len(part.variables) > 1 and roll < 0.75:
            one, two = self.rng.choice(list(pairwise(part.variables)))
            related = self.related(_end(one, "LAST"), _end(two, "FIRST"))
            text = f"{self.selection}QUERY q PATTERN {part.text} WHERE {related} WITHIN 1 us RETURN COUNT(*);"
            return "" if check(text, schema=SCHEMA) else related
        return self.single(self.rng.choice(part.variables))

    def related(self, one: str, two: str) -> str:
        """A condition on an event and its neighbour."""
        op, attribute = self.rng.choice(COMPARE), self.rng.choice("xxnnks")
        roll = self.rng.random()
        if roll < 0.5:
            return f"{two}.{attribute} {op} {one}.{attribute}"
        if roll < 0.6:
            return f"{two}.ts - {one}.ts {op} {self.rng.randint(1, 3)} us"
        forms = (
            f"{one}.x + 1 {op} {two}.n * 2",
            f"ABS({two}.n - {one}.n) {op} 2",
            f"({two}.k = {one}.k OR {two}.x {op} {one}.x)",
            f"({two}.k = {one}.k AND {two}.x {op} {one}.x)",
            f"({two}.k = {one}.k AND {two}.s {op} {one}.s AND {two}.f = {one}.f)",
            f"NOT ({two}.x {op} {one}.x)",
            f"{two}.f != {one}.f",
            f"({one}.x IS NULL OR {two}.x IS NOT NULL)",
            f"{one}.k + {two}.k {op} 2",
        )
        return self.rng.choice(forms)

    def single(self, variable: Named) -> str:
        """A condition on each event of a variable, or on the one at an end of its set."""
        one = self.rng.choice((variable.name, f"FIRST({variable.name})", f"LAST({variable.name})"))
        op, number = self.rng.choice(COMPARE), self.rng.choice((0, 1, 1.5, 2))
        forms = [f"{one}.x {op} {number}", f"{one}.n {op} {number}", f"{one}.x {op} {one}.n"]
        forms += [f"{one}.s IN ('a', 'b')", f"{one}.f", f"{one}.n % 2 = 1", f"({one}.k != 1 OR {one}.x > 0)"]
        forms += [f"{one}.x IS NOT NULL", f"{one}.k BETWEEN 0 AND 1", "1 < 2"]
        if not variable.many:
            name = variable.name
            forms += [
                f"COUNT({name}) = 1",
                f"SUM({name}.n) {op} {number}",
                f"AVG({name}.n) {op} MAX({name}.x)",
            ]
        return self.rng.choice(forms)

    def aggregates(self, variables: Sequence[Named]) -> list[str]:
        """One to four of them, some with names of their own."""
        items = ["COUNT(*)"] if self.rng.random() < 0.7 else []
        for _ in range(self.rng.choice((0, 1, 1, 2, 3)) if items else 1):
            name, attribute = self.rng.choice(variables).name, self.rng.choice("xnnk")
            function = self.rng.choice(("COUNT", "SUM", "SUM", "MIN", "MAX", "AVG"))
            argument = name if function == "COUNT" else f"{name}.{attribute}"
            if function in ("MIN", "MAX") and self.rng.random() < 0.2:
                argument = f"{name}.ts"
            items.append(f"{function}({argument})")
        items = list(dict.fromkeys(items))
        if self.rng.random() < 0.15:
            items[-1] += " AS out"
        return items


def _end(variable: Named, end: str) -> str:
    return f"{end}({variable.name})" if variable.many else variable.name
