"""Records are what the library's dataclasses are, made with less work."""

import dataclasses
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from functools import cached_property
from math import nan
from typing import Any

import pytest

from stretto.pattern.predicates import HashedOnce, hashed_once
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """Two numbers, and what is not compared."""

    x: float
    y: float = 2
    note: str = field(default="", compare=False, repr=False)
    near: list[int] = field(default_factory=list, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Place(Point):
    """A point that checks itself."""

    name: str = "here"

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("no name")


@dataclass(slots=True)
class Count:
    """What may be changed."""

    n: int = 0
    seen: dict[str, int] = field(init=False, default_factory=dict)


@dataclass(frozen=True)
class Open:
    """A record with a dictionary."""

    x: int

    @cached_property
    def double(self) -> int:
        return 2 * self.x


@dataclass(frozen=True, slots=True, eq=False)
class Itself:
    """Equal to itself alone."""

    x: int


@dataclass(frozen=True, slots=True)
class Nothing:
    """No field at all."""


@dataclass(frozen=True)
class Listed:
    """What is compared need not be hashed."""

    name: str
    found: dict[str, int] = field(default_factory=dict, hash=False)


def test_a_field_may_be_compared_and_not_hashed() -> None:
    assert Listed("a", {"x": 1}) != Listed("a")
    assert hash(Listed("a", {"x": 1})) == hash(Listed("a"))


def test_values_are_equal_and_hash_by_what_is_compared() -> None:
    assert Point(1) == Point(1, 2, "other", near=[3])
    assert hash(Point(1)) == hash(Point(1, 2, "other"))
    assert Point(1) != Point(2)
    assert Point(nan) != Point(-nan)
    same = Point(nan)
    assert same == Point(same.x)
    assert Point(1) != Place(1)
    assert Place(1) != Point(1)
    assert len({Place(1), Place(1), Place(1, name="there")}) == 2
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(())
    assert Itself(1) != Itself(1)
    assert len({Itself(1), Itself(1)}) == 2


def test_a_method_is_compiled_once() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        """Nobody has made one."""

        x: int

    first: Any = Fresh.__init__
    assert Fresh(1) == Fresh(x=1)
    assert Fresh.__init__ is not first
    later: Any = Fresh.__init__
    assert Fresh(2).x == 2
    assert Fresh.__init__ is later


def test_fields_and_copies_as_the_library_has_them() -> None:
    assert [one.name for one in fields(Place)] == ["x", "y", "note", "near", "name"]
    assert replace(Place(1), y=5) == Place(1, 5)
    assert asdict(Point(1, near=[2])) == {"x": 1, "y": 2, "note": "", "near": [2]}
    assert dataclasses.is_dataclass(Point)
    match Point(3, 4):
        case Point(x, y):
            assert (x, y) == (3, 4)


def test_what_is_wrong_is_said_as_the_library_says_it() -> None:
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Point.__init__\(\) got an unexpected keyword argument 'z'"):
        Point(1, z=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="no name"):
        Place(1, name="")


def test_frozen_records_cannot_be_changed() -> None:
    for record in (Point(1), Open(1)):
        with pytest.raises(FrozenInstanceError):
            record.x = 2  # type: ignore[misc]
        with pytest.raises(FrozenInstanceError):
            del record.x
    assert Open(2).double == 4
    assert not hasattr(Point(1), "__dict__")


def test_others_can_and_have_no_hash() -> None:
    count = Count()
    count.n += 1
    count.seen["a"] = 1
    assert count != Count(1)
    assert Count().seen == {}
    with pytest.raises(TypeError, match="unhashable"):
        hash(count)


def test_they_are_shown() -> None:
    assert repr(Place(1)) == "Place(x=1, y=2, near=[], name='here')"
    assert repr(Count(3)) == "Count(n=3, seen={})"


@pytest.mark.parametrize("record", [Point(1, note="n", near=[1]), Place(2), Open(3), Nothing()])
def test_they_are_pickled(record: object) -> None:
    copy = pickle.loads(pickle.dumps(record))
    assert copy == record
    assert repr(copy) == repr(record)


def test_a_hash_is_worked_out_once() -> None:
    class Counting:
        asked = 0

        def __hash__(self) -> int:
            Counting.asked += 1
            return 1

    @hashed_once
    @dataclass(frozen=True, slots=True)
    class Kept(HashedOnce):
        of: Counting

    for times in (1, 2):
        kept = Kept(Counting())
        assert {hash(kept) for _ in range(3)} == {hash(kept)}
        assert Counting.asked == times
