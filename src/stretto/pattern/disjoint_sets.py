"""Disjoint sets that grow together (union-find): what is connected, or equal, or agrees, by pairs that say so.

Source: Tarjan, "Efficiency of a Good But Not Linear Set Union Algorithm" (J. ACM 22(2), 1975); paths are halved.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class DisjointSets(Generic[T]):
    """Each member in one set; a member that was not named before is alone in its own."""

    def __init__(self, joined: Iterable[Iterable[T]] = ()) -> None:
        """The members, each of these groups in one set."""
        self._above: dict[T, T] = {}
        for group in joined:
            self.join(*group)

    def find(self, member: T) -> T:
        """The one member that stands for the set of this one."""
        above = self._above
        while (higher := above.setdefault(member, member)) != member:
            above[member] = member = above[higher]
        return member

    def join(self, *members: T) -> bool:
        """Put the sets of some members together; whether they were not together yet."""
        first, *others = map(self.find, members)
        for other in others:
            self._above[other] = first
        return any(other != first for other in others)

    def __iter__(self) -> Iterator[T]:
        """The members, in the order in which they were first named."""
        return iter(self._above)

    def sets(self) -> list[list[T]]:
        """The sets, by their first members; members in the order in which they were first named."""
        found: dict[T, list[T]] = {}
        for member in self._above:
            found.setdefault(self.find(member), []).append(member)
        return list(found.values())
