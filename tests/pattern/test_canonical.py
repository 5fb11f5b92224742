"""Pieces that mean the same have one form, however the query was written."""

from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.pattern.canonical.pieces import canonical, piece_key
from stretto.pattern.canonical.terms import (
    canonical_term,
    canonical_terms,
    equality_classes,
    equality_terms,
    key,
)
from stretto.pattern.normal import normalize
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Apply, Const, Ref
from stretto.pattern.project import project
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.FLOAT, "n": Kind.INT, "k": Kind.INT, "f": Kind.BOOL}, frozenset("ABCN"))
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


def piece_of(pattern: str, where: str = "", rest: str = "WITHIN 10 s") -> Piece:
    text = f"QUERY q PATTERN {pattern} {'WHERE ' + where if where else ''} {rest};"
    (query,) = Workload.parse(text).bind(SCHEMA).detections
    (branch,) = normalize(query).branches
    return branch.piece


def form_of(pattern: str, where: str = "") -> Piece:
    return canonical(piece_of(pattern, where))[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("SEQ(A a, B b)", "a.x < b.x"), ("SEQ(A p, B q)", "q.x > p.x")),
        (("AND(A a, B b)", "a.x + b.x = 3"), ("AND(B b, A a)", "3 = b.x + a.x")),
        (("SEQ(A a, SEQ(B b, C c))", ""), ("SEQ(SEQ(A a, B b), C c)", "")),
        (("AND(A a, A b)", "a.x < b.x"), ("AND(A a, A b)", "b.x < a.x")),
        (
            ("SEQ(A a, B b, C c)", "a.k = b.k AND b.k = c.k"),
            ("SEQ(A a, B b, C c)", "c.k = a.k AND b.k = c.k"),
        ),
        (("SEQ(A a, B b)", "[k] AND a.k = b.k"), ("SEQ(A a, B b)", "[k]")),
        (("SEQ(A a, B b)", "NOT (a.n < b.n)"), ("SEQ(A a, B b)", "a.n >= b.n")),
        (("SEQ(A a, B b)", "NOT (NOT a.x < b.x)"), ("SEQ(A a, B b)", "a.x < b.x")),
        (("A a", "a.n IN (2, 1, 2)"), ("A a", "a.n IN (1, 2)")),
        (("A a", "a.n IN (2)"), ("A a", "a.n = 1 + 1")),
        (("A a", "a.n BETWEEN 1 AND 2"), ("A a", "a.n <= 2 AND a.n >= 1 AND 2 >= a.n")),
        (("A a", "a.f OR a.n > 1 OR a.f"), ("A a", "a.n > 1 OR a.f")),
        (("A a", "a.n > 1 AND TRUE"), ("A a", "a.n > 1")),
        (("AND(A a, B b)+", "a.x < b.x"), ("AND(B q, A p)+", "q.x > p.x")),
        (("SEQ(A a, AND(B b, B c)+)", "a.x < b.x"), ("SEQ(A a, AND(B b, B c)+)", "a.x < c.x")),
        (("OR(SEQ(A a, B b), C c)+", ""), ("OR(C c, SEQ(A a, B b))+", "")),
        (("OR(A a, A b)+", "a.n > 1"), ("OR(A b, A a)+", "b.n > 1")),
        (("AND(A a, NOT(N n), NOT(N m))", "n.x > 1"), ("AND(NOT(N n), A a, NOT(N m))", "m.x > 1")),
        (("SEQ(A a, B b+)", "LAST(b).x > a.x"), ("SEQ(A a, B b+)", "a.x < LAST(b).x")),
    ],
)
def test_alike(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert form_of(*one) == form_of(*other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("SEQ(A a, B b)", ""), ("SEQ(B b, A a)", "")),
        (("SEQ(A a, A b)", "a.x < b.x"), ("SEQ(A a, A b)", "b.x < a.x")),
        (("SEQ(A a, B b)", "NOT (a.x < b.x)"), ("SEQ(A a, B b)", "a.x >= b.x")),  # NaN
        (("A a", "a.n + 1 + 2 > 5"), ("A a", "a.n + 3 > 5")),  # overflow
        (("A a", "a.n = 1"), ("A a", "a.x = 1")),
        (("SEQ(A a, B b+)", "b.k = a.k"), ("SEQ(A a, B b+)", "FIRST(b).k = a.k")),
    ],
)
def test_different(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert form_of(*one) != form_of(*other)
    assert piece_key(form_of(*one)) != piece_key(form_of(*other))


def test_many_alike_slots_take_little_time() -> None:
    slots = ", ".join(f"A a{i}" for i in range(9))
    form = form_of(f"AND({slots})", "a3.x < a5.x")
    assert form == form_of(f"AND({slots})", "a8.x > a1.x")


# ---- one query, written in two ways ------------------------------------------------------------------------


@dataclass
class Written:
    """A pattern and its terms; `names` are the variables in the order of the leaves."""

    rng: Random
    count: int = 0

    def tree(self, depth: int, *, plain: bool = False) -> tuple:
        if depth == 0 or self.rng.random() < 0.2:
            self.count += 1
            sign = "" if plain else self.rng.choice(("", "", "", "+"))
            return ("leaf", self.rng.choice("ABA"), f"v{self.count}", sign)
        word = self.rng.choice(("SEQ", "AND", "AND"))
        parts = [self.tree(depth - 1, plain=plain) for _ in range(self.rng.choice((2, 2, 3)))]
        return (word, parts, "+" if not plain and self.rng.random() < 0.2 else "")

    def terms(self) -> list[tuple[str, str, str, str]]:
        names = [f"v{i + 1}" for i in range(self.count)]
        drawn = range(self.rng.choice((0, 1, 2, 3)))
        pairs = [self.rng.sample(names, 2) for _ in drawn] if len(names) > 1 else []
        return [
            (a, self.rng.choice(("=", "=", "<", "<=", "!=")), b, self.rng.choice("xnk")) for a, b in pairs
        ]


def text_of(node: tuple, rng: Random | None, names: dict[str, str]) -> str:
    if node[0] == "leaf":
        return f"{node[1]} {names[node[2]]}{node[3]}"
    word, parts, sign = node
    texts = [text_of(part, rng, names) for part in parts]
    if rng is not None and word == "AND":
        rng.shuffle(texts)
    return f"{word}({', '.join(texts)}){sign}"


@given(st.randoms(use_true_random=False))
def test_writing_does_not_matter(rng: Random) -> None:
    written = Written(rng)
    tree = written.tree(2)
    terms = written.terms()
    names = [f"v{i + 1}" for i in range(written.count)]
    other = dict(zip(names, rng.sample([f"w{i}" for i in range(20)], len(names)), strict=True))
    where = " AND ".join(f"{a}.{x} {op} {b}.{x}" for a, op, b, x in terms)
    flipped = [f"{other[b]}.{x} {FLIPPED[op]} {other[a]}.{x}" for a, op, b, x in terms]
    rng.shuffle(flipped)
    one = piece_of(text_of(tree, None, {name: name for name in names}), where)
    two = piece_of(text_of(tree, rng, other), " AND ".join(flipped))
    assert canonical(one)[0] == canonical(two)[0]


@given(st.randoms(use_true_random=False))
def test_slots_may_be_given_in_any_order(rng: Random) -> None:
    written = Written(rng)
    tree = written.tree(2)
    where = " AND ".join(f"{a}.{x} {op} {b}.{x}" for a, op, b, x in written.terms())
    piece = piece_of(text_of(tree, None, {f"v{i}": f"v{i}" for i in range(1, written.count + 1)}), where)
    slots = rng.sample(range(len(piece.slots)), len(piece.slots))
    assert canonical(project(piece, slots))[0] == canonical(piece)[0]


# ---- projection and terms ----------------------------------------------------------------------------------


def test_projection_keeps_equalities_that_follow() -> None:
    piece = piece_of("SEQ(A a, B b, C c)", "a.k = b.k AND b.k = c.k AND a.x < b.x")
    assert canonical(project(piece, [0, 2]))[0] == form_of("SEQ(A a, C c)", "a.k = c.k")


def test_projection_keeps_settled_negations_only() -> None:
    piece = piece_of("SEQ(A a, NOT(N n), B b, NOT(C d), C c)", "n.x > a.x AND d.x > a.x")
    assert canonical(project(piece, [0, 1]))[0] == form_of("SEQ(A a, NOT(N n), B b)", "n.x > a.x")
    assert project(piece, [1, 2]).negations == ()
    bound = piece_of("AND(SEQ(A a, NOT(N n), B b), N c)")
    assert project(bound, [0, 1]).negations == ()  # c may be the event between a and b


def ref(column: int, attribute: str = "k") -> Ref:
    return Ref(column, attribute, Kind.INT)


def test_equal_attributes_of_one_event_are_compared_through_another() -> None:
    pairs = [(ref(0, "k"), ref(1)), (ref(0, "m"), ref(1))]
    (members,) = equality_classes(pairs)
    written = {key(term) for term in equality_terms(members)}
    assert written == {key(Apply("=", pair, Kind.BOOL)) for pair in pairs}


def test_constants_are_folded_where_exact() -> None:
    most = Const(2**63 - 1, Kind.INT)
    overflow = Apply("+", (most, Const(1, Kind.INT)), Kind.INT)
    assert isinstance(canonical_term(overflow), Apply)
    assert canonical_term(Apply("*", (Const(6, Kind.INT), Const(7, Kind.INT)), Kind.INT)) == Const(
        42, Kind.INT
    )
    assert canonical_terms([Apply("<", (Const(1, Kind.INT), Const(2, Kind.INT)), Kind.BOOL)]) == ()
