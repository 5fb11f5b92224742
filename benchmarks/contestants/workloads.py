"""The workloads of the experiment: what they say in the language, and their parts for the other contestants."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SECOND: Final = 1_000_000


class Shape(StrEnum):
    """What a query looks for, apart from its types and its window."""

    RISING = "SEQ with rising x"
    KEYED = "SEQ with rising x and one k"
    KLEENE = "SEQ(A, B+, C)"
    AND = "AND with a.x < b.x"


@dataclass(frozen=True, slots=True)
class Query:
    """One query over three types; its variables are the types' names in lower case."""

    name: str
    types: str
    seconds: int
    shape: Shape = Shape.RISING

    @property
    def window_us(self) -> int:
        return self.seconds * SECOND

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(self.types.lower())

    @property
    def text(self) -> str:
        a, b, c = self.variables
        first, second, third = (f"{t} {t.lower()}" for t in self.types)
        rising = f"{a}.x < {b}.x AND {b}.x < {c}.x"
        pattern, where = {
            Shape.RISING: (f"SEQ({first}, {second}, {third})", rising),
            Shape.KEYED: (f"SEQ({first}, {second}, {third})", f"[k] AND {rising}"),
            Shape.KLEENE: (f"SEQ({first}, {second}+, {third})", ""),
            Shape.AND: (f"AND({first}, {second}, {third})", f"{a}.x < {b}.x"),
        }[self.shape]
        clause = f"WHERE   {where}\n" if where else ""
        return f"QUERY {self.name}\nPATTERN {pattern}\n{clause}WITHIN  {self.seconds} SECONDS;\n"


@dataclass(frozen=True, slots=True)
class Workload:
    """Queries that run together."""

    name: str
    title: str
    queries: tuple[Query, ...]

    @property
    def text(self) -> str:
        return "\n".join(query.text for query in self.queries)


_TEN: Final = ["ABC", "ABD", "ABE", "BCD", "BCE", "ACD", "ACE", "ABF", "BCF", "ADF"]

WORKLOADS: Final = {
    w.name: w
    for w in (
        Workload("W1", "SEQ, rising, 10 s", (Query("W1", "ABC", 10),)),
        Workload("W2", "ten of W1", tuple(Query(f"W2_{types}", types, 10) for types in _TEN)),
        Workload("W3", "W1 in 60 s", (Query("W3", "ABC", 60),)),
        Workload("W4", "SEQ(A, B+, C), 5 s", (Query("W4", "ABC", 5, Shape.KLEENE),)),
        Workload("W5", "AND, 5 s", (Query("W5", "ABC", 5, Shape.AND),)),
        Workload("W6", "W1 with [k], 600 s", (Query("W6", "ABC", 600, Shape.KEYED),)),
    )
}
