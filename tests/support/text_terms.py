"""Random conditions over texts, times, lists and fields of structs, events that have them, and workloads of both."""

from collections.abc import Sequence
from random import Random

import pyarrow as pa

from stretto.oracle.values import Event
from stretto.schema import Kind, Schema

ATTRIBUTES = {
    "s": Kind.STRING,
    "u": Kind.STRING,
    "n": Kind.INT,
    "x": Kind.FLOAT,
    "at": Kind.TIME,
    "ip": Kind.STRING,
    "args": Kind.STRINGS,
    "ports": Kind.INTS,
    "loads": Kind.FLOATS,
    "p.name": Kind.STRING,
    "p.q.z": Kind.INT,
}
SCHEMA = Schema(ATTRIBUTES)
TEXTS = (
    "", "a", "ab", "abc", "aXb", "A.B", "Powershell -enc", "pOWER%_x", "  a b\t", "ß", "ẞss", "ſK", "kKk", "Σίσυφος",
    "ΣΑΣ", "İi̇ı", "ﬀ", "e\u0301é", "𝄞a", "a\nb", "line\n", "\\d+", "[a]", "a'b", "x\x1fy\\", "10%", "éÉ",
)  # fmt: skip
PATTERNS = (
    "%",
    "_",
    "a%",
    "%b",
    "%a%",
    "a_b",
    "%A%b",
    "__",
    "%Σ%",
    "",
    "abc",
    "%k_",
    "ß%",
    "%\n%",
    "%\\%",
    "[a]",
    "a.c",
    "%!%%",
    "s_%",
)
REGEXES = (
    "a",
    "^a",
    "b$",
    "^a.b$",
    "[A-C]+",
    "(a|b)c?",
    r"\d+",
    r"\\d",
    "a{2,}",
    "^$",
    r"\.B",
    "k",
    "ſ",
    "Σ",
    "x|y",
    r"[\d%]",
    "^[^a]",
)
ADDRESSES = ("10.1.2.3", "192.168.0.1", "fd00::1", "::1", "10.0.0", "", "2001:db8::7", "::ffff:10.0.0.1")
NETWORKS = ("10.0.0.0/8", "192.168.0.0/31", "fd00::/8", "::/0", "0.0.0.0/0", "10.1.2.3/32", "10.1.2.3/8")
TIMES = (
    0, 1, -1, 951_782_400_000_000, 951_868_799_999_999, 1_711_846_799_000_000, 1_711_846_800_000_000,
    1_729_990_800_000_000, 1_730_000_000_123_456, 4_102_444_800_000_000, -2_208_988_800_000_000,
    10**17, -(10**17), 4 * 10**18, -4 * 10**18, 2**63 - 1, -(2**63), 1_325_239_200_000_000,
)  # fmt: skip
ZONES = (
    "",
    "",
    ", 'UTC'",
    ", 'Europe/Berlin'",
    ", 'America/New_York'",
    ", 'Asia/Kolkata'",
    ", 'Australia/Lord_Howe'",
)
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
PARTS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "WEEKDAY")
NUMBERS = (-(2**63), -2, -1, 0, 1, 2, 3, 5, 2**63 - 1)


def _some(rng: Random, values: Sequence[object]) -> object:
    return None if rng.random() < 0.1 else rng.choice(values)


def _list(rng: Random, values: Sequence[object]) -> object:
    size = rng.choice((0, 1, 1, 2, 3))
    return None if rng.random() < 0.15 else tuple(_some(rng, values) for _ in range(size))


def random_events(rng: Random, count: int) -> list[Event]:
    ts, events = 0, []
    for number in range(count):
        ts += rng.choice((0, 1, 1, 2, 4))
        values = {
            "s": _some(rng, TEXTS),
            "u": _some(rng, TEXTS[:8]),
            "n": _some(rng, NUMBERS),
            "x": _some(
                rng, (0.5, -0.5, 1.5, 2.5, 0.49999999999999994, -2.5, float("nan"), float("inf"), 2.0**60)
            ),
            "at": _some(rng, TIMES),
            "ip": _some(rng, ADDRESSES),
            "args": _list(rng, TEXTS),
            "ports": _list(rng, (0, 1, 80, -5, 2**62)),
            "loads": _list(rng, (0.5, -1.0, float("nan"), 1e300, float("inf"))),
            "p.name": _some(rng, TEXTS[:5]),
            "p.q.z": _some(rng, (0, 1, 2)),
        }
        events.append(Event(number, ts, rng.choice("AB"), values))
    return events


def to_table(events: Sequence[Event]) -> pa.Table:
    """The events with a struct in a struct, as the engine reads them."""
    columns = {
        "ts": pa.array([event.ts for event in events], pa.timestamp("us")),
        "type": pa.array([event.type for event in events], pa.string()),
        "id": pa.array([event.id for event in events], pa.int64()),
    }
    for name, kind in ATTRIBUTES.items():
        if "." not in name:
            columns[name] = pa.array([event.attributes[name] for event in events], kind.arrow)
    shape = pa.struct([("name", pa.string()), ("q", pa.struct([("z", pa.int64())]))])
    inner = [(event.attributes["p.name"], event.attributes["p.q.z"]) for event in events]
    structs = [
        None if (a, b) == (None, None) else {"name": a, "q": None if b is None else {"z": b}}
        for a, b in inner
    ]
    return pa.table(columns | {"p": pa.array(structs, shape)})


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class TextTerms:
    """Writes conditions over the attributes of one variable, or of two."""

    def __init__(self, rng: Random, variables: Sequence[str]) -> None:
        self.rng, self.variables = rng, variables

    def condition(self, depth: int = 2) -> str:
        roll, inner = self.rng.random(), depth - 1
        if depth and roll < 0.15:
            return f"({self.condition(inner)} {self.rng.choice(('AND', 'OR'))} {self.condition(inner)})"
        if depth and roll < 0.22:
            return f"NOT ({self.condition(inner)})"
        if depth and roll < 0.27:
            return f"CASE WHEN {self.condition(inner)} THEN {self.condition(0)} ELSE {self.condition(0)} END"
        forms = (
            self.tested,
            self.tested,
            self.tested,
            self.compared,
            self.parts,
            self.dates,
            self.lists,
            self.lists,
            self.address,
        )
        return self.rng.choice(forms)()

    def named(self, *names: str) -> str:
        return f"{self.rng.choice(self.variables)}.{self.rng.choice(names)}"

    def text(self, depth: int = 1) -> str:
        roll = self.rng.random()
        if roll < 0.12:
            return _quoted(self.rng.choice(TEXTS))
        if not depth or roll < 0.6:
            return self.named("s", "s", "u", "p.name")
        inner = self.text(depth - 1)
        number = self.rng.choice((*map(str, NUMBERS[1:-1]), self.named("n")))
        forms = (
            f"LOWER({inner})",
            f"UPPER({inner})",
            f"TRIM({inner})",
            f"SUBSTR({inner}, {number})",
            f"SUBSTR({inner}, {number}, {self.rng.choice((-1, 0, 1, 2, 9))})",
            f"CONCAT({inner}, {self.text(0)})",
            f"COALESCE({inner}, {self.text(0)})",
            f"CASE WHEN {self.condition(0)} THEN {inner} END",
        )
        return self.rng.choice(forms)

    def test(self, value: str) -> str:
        no = self.rng.choice(("", "", "NOT "))
        word = self.rng.choice(("LIKE", "LIKE", "ILIKE", "ILIKE", "MATCHES", "IMATCHES"))
        if word in ("MATCHES", "IMATCHES"):
            return f"{value} {no}{word} {_quoted(self.rng.choice(REGEXES))}"
        escape = self.rng.random() < 0.2
        pattern = self.rng.choice(PATTERNS)
        wrong = escape and (len(pattern) - len(pattern.rstrip("!"))) % 2
        return f"{value} {no}{word} {_quoted(pattern)}" + (" ESCAPE '!'" if escape and not wrong else "")

    def tested(self) -> str:
        return self.test(self.text())

    def compared(self) -> str:
        one, two = self.text(), self.text()
        function = self.rng.choice(("STARTS_WITH", "ENDS_WITH", "CONTAINS"))
        forms = (
            f"{one} {self.rng.choice(('=', '!=', '<', '>='))} {two}",
            f"{function}({one}, {two})",
            f"{one} CONTAINS {two}",
            f"{one} IN ('a', 'ab', 'ΣΑΣ')",
            f"LENGTH({one}) {self.rng.choice(('=', '<', '>'))} {self.rng.choice((0, 1, 3))}",
        )
        return self.rng.choice(forms)

    def parts(self) -> str:
        zone, value = self.rng.choice(ZONES), self.named("at", "at", "ts")
        number = self.rng.choice((1, 2, 7, 12, 24, 30, 1970, 2000, 2024))
        return f"{self.rng.choice(PARTS)}({value}{zone}) {self.rng.choice(('=', '<', '>='))} {number}"

    def dates(self) -> str:
        one, two = self.named("at"), self.named("at", "ts")
        zone, unit = self.rng.choice(ZONES), self.rng.choice(UNITS)
        cut = f"DATE_TRUNC('{unit}', {one}{zone})"
        return self.rng.choice(
            (
                f"{cut} = {two}",
                f"{cut} < DATE_TRUNC('{unit}', {two}{zone})",
                f"{cut} IS NULL",
                f"{two} - {cut} < 1 DAY",
            )
        )

    def lists(self) -> str:
        some = self.rng.choice(("ANY", "ALL"))
        args, ports, loads = self.named("args"), self.named("ports"), self.named("loads")
        sign = self.rng.choice(("=", "!=", "<", ">="))
        forms = (
            self.test(f"{some}({args})"),
            self.test(f"{some}({args})"),
            f"{some}({args}) {sign} {self.text(0)}",
            f"{some}({ports}) {sign} {self.rng.choice(('80', self.named('n')))}",
            f"{some}({loads}) {sign} 0.5",
            f"{some}({ports}) BETWEEN 0 AND 80",
            f"{some}({args}) IN ('a', 'ab')",
            f"LOWER({some}({args})) = {self.text(0)}",
            f"{args} CONTAINS {self.text(0)}",
            f"CONTAINS({ports}, {self.rng.choice(('80', self.named('n')))})",
            f"{loads} CONTAINS 0.5",
            f"LENGTH({self.rng.choice((args, ports, loads))}) {sign} 1",
            f"{args} IS NULL",
            f"{some}({args}) IS NULL",
            f"ROUND({self.named('x')}) {sign} {self.rng.choice((0, 1, 2, 3))}",
        )
        return self.rng.choice(forms)

    def address(self) -> str:
        nets = ", ".join(f"'{net}'" for net in self.rng.sample(NETWORKS, self.rng.choice((1, 1, 2))))
        return f"CIDR_MATCH({self.named('ip')}, {nets})"


def random_text_query(rng: Random, name: str) -> str:
    """A query of one event or of two, with conditions over both."""
    alone, pair = TextTerms(rng, ["a"]), TextTerms(rng, ["a", "b"])
    if rng.random() < 0.4:
        returned = f"a.args AS list, {alone.text()} AS text"
        return f"QUERY {name} PATTERN A a WHERE {alone.condition()} WITHIN 9 us RETURN {returned};"
    pattern = rng.choice(("SEQ(A a, B b)", "AND(A a, B b)", "SEQ(A a, NOT(A c), B b)"))
    where = f"{pair.condition()} AND {alone.condition(1)}"
    return f"QUERY {name} PATTERN {pattern} WHERE {where} WITHIN {rng.choice((2, 5, 9))} us;"
