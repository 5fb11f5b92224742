"""Values that keep their hash: it is that of equal values, and it stays in the process that computed it."""

import pickle
import subprocess
import sys

from stretto.pattern.nodes import Stream, Window
from stretto.pattern.order import NO_ORDER
from stretto.pattern.piece import Piece, Slot
from stretto.pattern.predicates import Apply, Ref
from stretto.schema import Kind


def _term(left: int, right: int) -> Apply:
    return Apply("<", (Ref(left, "x", Kind.INT), Ref(right, "x", Kind.INT)), Kind.BOOL)


def _piece() -> Piece:
    return Piece((Slot(Stream("A")), Slot(Stream("B"))), NO_ORDER, (_term(0, 1),), (), (), Window(10))


def test_equal_values_have_one_hash() -> None:
    one, other = _piece(), _piece()
    assert hash(one) == hash(other) == hash(one)
    assert {one, other} == {one}
    assert hash(_term(0, 1)) == hash(_term(1, 0).moved([1, 0]))


def test_a_hash_is_not_pickled() -> None:
    """Texts hash otherwise in another process: a hash from here would be wrong there."""
    piece = _piece()
    hash(piece)
    found = "import pickle, sys; p = pickle.loads(sys.stdin.buffer.read())"
    asked = f"{found}; print(hash(p) == hash(type(p)(p.slots, p.order, p.terms, (), (), p.window)))"
    done = subprocess.run(
        [sys.executable, "-c", asked], input=pickle.dumps(piece), capture_output=True, check=True
    )
    assert done.stdout.split() == [b"True"]
    assert not hasattr(pickle.loads(pickle.dumps(piece)), "_hash")


def test_a_term_that_stays_where_it_is_is_the_same_object() -> None:
    term = _term(0, 1)
    assert term.moved([0, 1]) is term
    assert term.moved([1, 0]) == _term(1, 0)
