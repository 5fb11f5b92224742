"""Random workloads: texts in the language with events to run them on.

`random_workload` draws everything from one `random.Random`, so a seed names a workload for good. Sizes are
such that brute force stays quick: few slots, few events, small windows.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from hypothesis import strategies as st
from tests.support.random_events import SCHEMA, TYPES, random_events, show_event

from stretto.oracle.detections import Event
from stretto.schema import Schema

SIZES = (3, 5, 6, 8, 10, 15)  # of windows
NAMES = ("p", "q", "r", "t", "u", "v", "w", "y", "z", "p1", "q1", "r1", "t1", "u1", "v1", "w1", "y1", "z1")
COMPARE = ("=", "!=", "!=", "<", "<=", "<=", ">", ">=", ">=")  # rather those that let something pass
REPEATS = ("+", "+", "+", "*", "?", "?", "{1,2}", "{2,3}", "{2}", "{,2}", "{2,}", "{0,2}")
GROUP_REPEATS = ("+", "+", "*", "?", "{1,2}", "{2}", "{2,3}", "{,2}", "{0,2}")


@dataclass(frozen=True, slots=True)
class Sample:
    """A workload's text, the schema it is bound to, and events in arrival order."""

    text: str
    schema: Schema
    events: tuple[Event, ...]

    def __str__(self) -> str:
        return f"{self.text}\n-- events\n{' '.join(show_event(*numbered) for numbered in enumerate(self.events))}"


def workloads(most: int = 8) -> st.SearchStrategy[Sample]:
    """Samples that hypothesis can shrink.

    It likes extremes, such as repeated variables over a stream of one type, on which brute force takes time that
    is exponential in the events; so these are few.
    """
    samples = st.randoms(use_true_random=False).map(random_workload)
    return samples.map(lambda sample: replace(sample, events=sample.events[:most]))


def random_workload(rng: Random) -> Sample:
    """One to three queries over few types, sometimes over named selections, and a stream."""
    types = rng.sample(TYPES, rng.choice((2, 2, 2, 3, 3, 4)))
    selections = {f"Sel{i}": rng.choice(types) for i in range(rng.choice((0, 0, 0, 1, 2)))}
    texts = []
    for name, source in selections.items():
        condition = Terms(rng, [Variable("")]).condition()
        texts.append(f"CREATE EVENT {name} AS SELECT * FROM {source} WHERE {condition};")
    heaviest = 0
    for i in range(rng.choice((1, 1, 1, 2, 3))):
        text, weight = random_query(rng, f"q{i}", (*types, *types, *selections))
        texts.append(text)
        heaviest = max(heaviest, weight)
    return Sample("\n".join(texts), SCHEMA, random_events(rng, types, most=max(8, 31 - 2 * heaviest)))


def with_ties(rng: Random, sample: Sample) -> Sample:
    """The same queries, more of them with windows in EVENTS; events with few times and ids in no order."""
    windows = re.compile(r"(WITHIN \d+) (?:us|MICROSECONDS)\b")
    text = windows.sub(lambda found: f"{found[1]} EVENTS" if rng.random() < 0.5 else found[0], sample.text)
    coarse = rng.choice((2, 3, 6))
    ids = rng.sample(range(-50, 200), len(sample.events))
    events = [
        replace(event, id=number, ts=event.ts // coarse * coarse)
        for event, number in zip(sample.events, ids, strict=True)
    ]
    return replace(sample, text=text, events=tuple(events))


# ---- queries -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variable:
    """`many`: can hold several events; `near`: directly repeated, so that [i] makes sense."""

    name: str
    many: bool = False
    near: bool = False
    negated: bool = False


def random_query(
    rng: Random, name: str, streams: Sequence[str], sizes: Callable[[int], Sequence[int]] = lambda _: SIZES
) -> tuple[str, int]:
    """A query, and how heavy brute force will find it; `sizes`: the windows to choose from, by that weight."""
    policy = rng.choice(("ANY", "ANY", "ANY", "ANY", "ANY", "NEXT", "NEXT", "STRICT"))
    writer = PatternWriter(rng, streams)
    pattern = writer.steps() if policy != "ANY" else writer.root()
    terms = Terms(rng, writer.variables)
    where = [terms.term() for _ in range(rng.choice((0, 0, 0, 1, 1, 1, 1, 2, 2, 3)))]
    if rng.random() < (0.4 if policy == "STRICT" else 0.15):
        where += [
            f"[{attribute}]" for attribute in rng.sample(("k", "k", "f", "s", "at"), rng.choice((1, 1, 1, 2)))
        ]
    size = rng.choice(sizes(writer.weight))
    clauses = [
        f"WITHIN {size} {'EVENTS' if rng.random() < 0.2 else rng.choice(('us', 'MICROSECONDS'))}",
        f"WHERE {' AND '.join(where)}" if where else "",
        f"SELECT {policy}" if policy != "ANY" or rng.random() < 0.1 else "",
        f"RETURN {', '.join(terms.returned())}" if rng.random() < 0.5 else "",
    ]
    rng.shuffle(clauses)
    text = "\n  ".join([f"QUERY {name} PATTERN {pattern}", *filter(None, clauses)]) + ";"
    return text, writer.weight + (size > 8)


@dataclass(slots=True)
class PatternWriter:
    """Writes one pattern and collects its variables."""

    rng: Random
    streams: Sequence[str]
    variables: list[Variable] = field(default_factory=list)
    slots: int = 0
    groups: int = 0  # how many groups may still be repeated
    sets: int = 2  # how many variables may still be repeated
    weight: int = 0

    def root(self) -> str:
        self.slots = self.rng.choice((1, 2, 2, 3, 3, 3, 4, 4, 5))
        self.groups = self.rng.choice((0, 0, 0, 1, 1, 2))
        self.sets = 1 if self.groups else 2
        return self.part(3, repeated=False)

    def steps(self, count: int = 0) -> str:
        """What NEXT and STRICT read: types, repeated types and NOTs, one after another; so many, if it is said."""
        count = count or self.rng.choice((1, 2, 2, 3, 3, 4))
        parts = [self.leaf(repeated=False) for _ in range(count)]
        parts = self.with_nots(parts, chance=0.25)
        if (
            len(parts) > 2
            and self.rng.random() < 0.15
            and not any(p[:3] in ("NOT", "NEG") for p in parts[-2:])
        ):
            parts[-2:] = [f"SEQ({parts[-2]}, {parts[-1]})"]
        return f"SEQ({', '.join(parts)})" if len(parts) > 1 else parts[0]

    def part(self, depth: int, *, repeated: bool) -> str:
        if depth == 0 or self.slots <= 1 or self.rng.random() < 0.25 * (depth < 3):
            self.slots -= 1
            return self.leaf(repeated=repeated)
        grouped = self.groups > 0 and self.rng.random() < 0.6
        self.groups -= grouped
        self.weight += grouped
        sign = self.rng.choice(GROUP_REPEATS) if grouped else ""
        inside = repeated or grouped
        words = (
            ("SEQ", "SEQ", "SEQ", "AND", "OR", "ANY")
            if inside
            else ("SEQ",) * 4 + ("AND", "AND", "OR", "ANY")
        )
        word = self.rng.choice(words)
        self.weight += 3 * (inside and word == "ANY")  # every subset, in every repetition
        if word == "OR" and self.rng.random() < 0.4:
            return self.shared(repeated=inside) + sign
        parts = [self.part(depth - 1, repeated=inside)]
        while len(parts) < 2 or (self.slots > 0 and len(parts) < 3):
            parts.append(self.part(depth - 1, repeated=inside))
        if word in ("SEQ", "AND") and not inside:
            parts = self.with_nots(parts, chance=0.22 if word == "SEQ" else 0.15)
        return self.spelled(word, parts, plain=not sign) + sign

    def spelled(self, word: str, parts: Sequence[str], *, plain: bool) -> str:
        other = {"AND": "CONJ", "ANY": "DISJ"}.get(word, word)
        infix = {"SEQ": ", ", "AND": " & ", "ANY": " | "}.get(word)
        roll = self.rng.random()
        if roll < 0.04 and infix and plain:
            return f"({infix.join(parts)})"
        return f"{other if roll > 0.93 else word}({', '.join(parts)})"

    def leaf(self, *, repeated: bool) -> str:
        stream = self.rng.choice(self.streams)
        sign = self.rng.choice(REPEATS) if self.sets > 0 and self.rng.random() < 0.3 else ""
        many = sign not in ("", "?")
        self.sets -= many
        self.weight += 1 + many
        left_out = self.rng.random() < 0.08 and all(v.name != stream.lower() for v in self.variables)
        name = self.new(many=many or repeated, near=many, name=stream.lower() if left_out else "")
        if left_out:
            return f"{stream}{sign}"
        if sign == "+" and self.rng.random() < 0.1:
            return f"KL({stream} {name})"
        return f"{stream} {name}{sign}"

    def shared(self, *, repeated: bool) -> str:
        """Alternatives that bind one variable."""
        self.slots -= 1
        self.weight += 1
        name = self.new(many=repeated, near=False)
        return f"OR({', '.join(f'{self.rng.choice(self.streams)} {name}' for _ in range(2))})"

    def with_nots(self, parts: list[str], chance: float) -> list[str]:
        parts = list(parts)
        while self.rng.random() < chance and len(parts) < 5:
            stream, name = self.rng.choice(self.streams), self.new(negated=True)
            written = self.rng.choice((f"NOT({stream} {name})",) * 4 + (f"NEG({stream} {name})",))
            parts.insert(self.rng.randint(0, len(parts)), written)
        return parts

    def new(self, *, many: bool = False, near: bool = False, negated: bool = False, name: str = "") -> str:
        name = name or NAMES[len(self.variables)]
        self.variables.append(Variable(name, many, near, negated))
        return name


@dataclass(slots=True)
class Terms:
    """Writes terms and returned values over a pattern's variables; a nameless one stands for bare names."""

    rng: Random
    variables: Sequence[Variable]
    chosen: list[Variable] = field(default_factory=list)
    whole: bool = False  # RETURN: sets are seen whole

    def term(self) -> str:
        """A conjunct over one to three variables, of which at most one is negated."""
        positive = [variable for variable in self.variables if not variable.negated]
        negated = [variable for variable in self.variables if variable.negated]
        count = min(len(positive), self.rng.choice((1, 1, 2, 2, 2, 3)))
        self.chosen = self.rng.sample(positive, count)
        if negated and self.rng.random() < 0.5:
            self.chosen = [self.rng.choice(negated), *self.chosen[: self.rng.choice((0, 1, 1, 2))]]
        near = [variable for variable in self.chosen if variable.near]
        if near and self.rng.random() < 0.5:
            return self.rng.choice((self.neighbours, self.neighbours, self.counted, self.whole_set))(near[0])
        return self.condition(self.rng.choice((1, 1, 1, 2)))

    def counted(self, variable: Variable) -> str:
        """How many events a set has, against numbers that it can have and such that it cannot."""
        number = self.rng.choice((0, 1, 1, 2, 2, 3))
        if self.rng.random() < 0.2:
            return f"{number} {self.rng.choice(COMPARE)} COUNT({variable.name})"
        return f"COUNT({variable.name}) {self.rng.choice(COMPARE)} {number}"

    def whole_set(self, variable: Variable) -> str:
        """Two values of one set, of any two attributes, reckoned together or compared."""
        name = variable.name
        sets = (
            "FIRST({}).{}",
            "LAST({}).{}",
            "SUM({}.{})",
            "AVG({}.{})",
            "MIN({}.{})",
            "MAX({}.{})",
            "{}.{}",
        )
        one, two = (form.format(name, self.rng.choice("xnk")) for form in self.rng.choices(sets, k=2))
        if self.rng.random() < 0.4:
            return f"{one} {self.rng.choice(COMPARE)} {two}"
        return f"{one} {self.rng.choice('+-*')} {two} {self.rng.choice(COMPARE)} {self.rng.choice((0, 1, 2))}"

    def neighbours(self, variable: Variable) -> str:
        name, op = variable.name, self.rng.choice(COMPARE)
        if self.rng.random() < 0.3:
            return f"{name}[i].ts - {name}[i-1].ts {op} {self.rng.randint(1, 4)} us"
        if self.rng.random() < 0.3:
            self.chosen = [other for other in self.chosen if other is not variable]
            return f"{name}[i].x - {name}[i-1].x {op} {self.number() if self.chosen else 0}"
        attribute = self.rng.choice(("x", "x", "n", "s"))
        return f"{name}[i].{attribute} {op} {name}[i-1].{attribute}"

    def condition(self, depth: int = 1) -> str:
        roll = self.rng.random()
        self.chosen = self.chosen or list(self.variables)
        inner = depth - 1
        if depth and roll < 0.12:
            return f"({self.condition(inner)} OR {self.condition(inner)})"
        if depth and roll < 0.17:
            return f"(({self.condition(inner)} AND {self.condition(inner)}) OR {self.condition(inner)})"
        if depth and roll < 0.22:
            return f"NOT ({self.condition(inner)})"
        if depth and roll < 0.25:
            return f"NOT (NOT ({self.condition(inner)} AND {self.condition(inner)}))"
        forms = [self.numbers] * 9 + [self.strings] * 2 + [self.times] * 2 + [self.equal] * 2
        forms += [self.membership, self.between, self.is_null, self.booleans]
        return self.rng.choice(forms)()

    def equal(self) -> str:
        """Two events agree on an attribute, mostly on one that few of them share."""
        if len(self.chosen) < 2:
            return self.numbers()
        name = self.rng.choice(("x", "n", "k", "k", "s", "f"))
        one, two = (self.attribute(variable, name) for variable in self.chosen[:2])
        return f"{one} = {two}"

    def numbers(self) -> str:
        """Two numbers compared, mostly of different variables."""
        if len(self.chosen) == 3 and self.rng.random() < 0.7:
            one, two, three = (self.value(variable) for variable in self.chosen)
            return f"{one} {self.rng.choice('+-*')} {two} {self.rng.choice(COMPARE)} {three}"
        if len(self.chosen) == 2:
            same = self.rng.choice(("x", "n", "k", ""))
            one, two = (self.value(variable, same) for variable in self.chosen)
            return f"{one} {self.rng.choice(COMPARE)} {two}{self.rng.choice(('', '', ' + 1', ' * 2'))}"
        return f"{self.value(self.chosen[0])} {self.rng.choice(COMPARE)} {self.number()}"

    def number(self, depth: int = 1) -> str:
        roll = self.rng.random()
        if roll < 0.25:
            return self.rng.choice(
                ("0", "1", "2", "1.5", "-1", "0", "1", "2", "4611686018427387904", "1e300")
            )
        if depth and roll < 0.45:
            one, two = self.number(0), self.number(0)
            return f"({one} {self.rng.choice('+-*/%')} {two})"
        if depth and roll < 0.6:
            one, two = self.number(0), self.number(0)
            forms = (f"ABS({one})", f"-({one})", f"SQRT({one})", f"FLOOR({one})", f"CEIL({one})")
            return self.rng.choice((*forms, f"LEAST({one}, {two})", f"GREATEST({one}, {two})"))
        return self.value(self.rng.choice(self.chosen))

    def value(self, variable: Variable, attribute: str = "") -> str:
        """A number that a variable has: of its one event, of each, or of its set."""
        attribute = attribute or self.rng.choice(("x", "x", "n", "n", "k"))
        if not variable.name:
            return attribute
        reduced = self.rng.choice(("FIRST", "LAST", "COUNT", "SUM", "AVG", "MIN", "MAX"))
        reduce = self.rng.random() < (0.5 if variable.near else 0.25 if variable.many else 0.03)
        if variable.negated or not (reduce or (variable.many and self.whole)):
            return f"{variable.name}.{attribute}"
        if reduced in ("FIRST", "LAST"):
            return f"{reduced}({variable.name}).{attribute}"
        return f"{reduced}({variable.name}{'' if reduced == 'COUNT' else '.' + attribute})"

    def attribute(self, variable: Variable, name: str) -> str:
        if not variable.name:
            return name
        plain = not variable.many or (not self.whole and self.rng.random() < 0.6)
        reference = variable.name if plain else f"{self.rng.choice(('FIRST', 'LAST'))}({variable.name})"
        return f"{reference}.{name}"

    def strings(self) -> str:
        one = self.attribute(self.chosen[0], "s")
        constant = self.rng.choice(("'a'", "'b'", "'ü'", "'a''b'"))
        two = self.attribute(self.chosen[1], "s") if len(self.chosen) > 1 else constant
        return f"{one} {self.rng.choice(COMPARE)} {two}"

    def booleans(self) -> str:
        one = self.attribute(self.chosen[0], "f")
        two = (
            self.attribute(self.chosen[1], "f")
            if len(self.chosen) > 1
            else self.rng.choice(("TRUE", "FALSE"))
        )
        return f"{one} {self.rng.choice(('=', '!='))} {two}"

    def times(self) -> str:
        names = self.rng.choice((("ts", "ts"), ("ts", "ts"), ("ts", "at"), ("at", "at")))
        if len(self.chosen) < 2:
            return self.numbers()
        one, two = map(self.attribute, self.chosen[:2], names)
        gap = f"{self.rng.randint(1, 5)} us"
        forms = (f"{two} - {one}", f"ABS({one} - {two})", f"({one} - {two}) * 2", f"-({one} - {two})")
        if self.rng.random() < 0.3:
            return f"{one} {self.rng.choice(COMPARE)} {two} + {gap}"
        return f"{self.rng.choice(forms)} {self.rng.choice(COMPARE)} {gap}"

    def membership(self) -> str:
        variable = self.rng.choice(self.chosen)
        forms = (
            f"{self.attribute(variable, 's')} IN ('a', 'b', 'zz')",
            f"{self.attribute(variable, 'k')} NOT IN (1, 2)",
            f"{self.value(variable)} IN (1, 2, 0.5)",
        )
        return self.rng.choice(forms)

    def between(self) -> str:
        no = self.rng.choice(("", "", "NOT "))
        return f"{self.value(self.rng.choice(self.chosen))} {no}BETWEEN {self.number(0)} AND {self.number(0)}"

    def is_null(self) -> str:
        variable = self.rng.choice(self.chosen)
        one = self.rng.choice(
            (self.attribute(variable, self.rng.choice(("x", "n", "s", "f", "at"))), f"({self.number()})")
        )
        return f"{one} IS {self.rng.choice(('', 'NOT '))}NULL"

    def returned(self) -> list[str]:
        """One to three named values; the first is no bare aggregate, which would ask for trends."""
        self.whole = True
        self.chosen = [variable for variable in self.variables if not variable.negated]
        some = self.rng.choice(self.chosen)
        firsts = (self.attribute(some, "s"), self.attribute(some, "ts"), f"({self.number()}) + 1")
        items = [self.rng.choice(firsts)]
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            forms = (self.number(), self.number(), f"({self.condition(0)})", self.attribute(some, "f"))
            items.append(self.rng.choice(forms))
        return [f"{item} AS out{i}" for i, item in enumerate(items)]
