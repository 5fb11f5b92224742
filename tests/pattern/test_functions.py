import numpy as np
import pytest

from stretto.pattern.functions import _registered, register_function, user_function
from stretto.pattern.predicates import Apply, Const, Ref
from stretto.pattern.workload import Workload, check
from stretto.schema import Kind, Schema

SCHEMA = Schema({"n": Kind.INT, "s": Kind.STRING})


@pytest.fixture(autouse=True)
def _clean():
    before = dict(_registered)
    yield
    _registered.clear()
    _registered.update(before)


def test_a_registered_function_can_be_called() -> None:
    register_function("cube", lambda x: np.power(x, 3), [Kind.FLOAT], Kind.FLOAT)
    (query,) = Workload.parse("QUERY q PATTERN A a WHERE Cube(a.n) > 8 WITHIN 1 s;").bind(SCHEMA).detections
    argument = Apply("to_float", (Ref(0, "n", Kind.INT),), Kind.FLOAT)
    cube = Apply("user:CUBE", (argument,), Kind.FLOAT)
    assert query.terms == (Apply(">", (cube, Const(8.0, Kind.FLOAT)), Kind.BOOL),)
    found = user_function("CUBE")
    assert found is not None
    assert found.function(2.0) == 8.0


def test_arguments_are_checked() -> None:
    register_function("cube", lambda x: x, [Kind.FLOAT], Kind.FLOAT)
    text = "QUERY q PATTERN A a WHERE CUBE(a.s) > 8 AND CUBE() > 1 AND CUB(1) > 1 WITHIN 1 s;"
    assert [(mistake.message, mistake.note) for mistake in check(text, schema=SCHEMA)] == [
        ("`CUBE` cannot take a string", "it takes: double"),
        ("`CUBE` takes 1 argument, not 0", ""),
        ("unknown function `CUB`", "did you mean `CUBE`?"),
    ]


@pytest.mark.parametrize("name", ["min", "FIRST", "no name", ""])
def test_names_that_are_taken_or_odd_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a function"):
        register_function(name, lambda x: x, [Kind.INT], Kind.INT)
