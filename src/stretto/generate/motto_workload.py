"""MOTTO's workloads (sec. VII-A, Table IV): pairs of queries with seven types of sharing between them.

The basic group holds pairs with one operator and one window, where the first list L of types is, in the second list
L', 1 a prefix, 2 a suffix, 3 a subsequence but no substring, or 4 has a substring in common and is none of these. The
complex group holds 5 pairs with different windows, 6 with one list and different operators, 7 nested queries whose
inmost sub-query is the same. No two queries are equal. Lists of AND are written in the order of the types' numbers, in
which MOTTO compares them.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Final

import numpy as np

from stretto.errors import StrettoError
from stretto.generate.streams import SYMBOLS
from stretto.generate.workload_text import LETTERS, Written, need_shares
from stretto.records import dataclass
from stretto.text.parser import option_us
from stretto.text.values import duration_text

TRIES: Final = 2_000
RATIOS: Final = ("4:1", "2:1", "1:2", "1:4")
LEVELS: Final = (2, 8)
ABOUT: Final = {
    1: "a prefix",
    2: "a suffix",
    3: "a subsequence, no substring",
    4: "a common substring",
    5: "other windows",
    6: "another operator",
    7: "one inmost sub-query",
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """The types of an application, how they are defined, and how many a list may hold."""

    types: tuple[str, ...]
    shortest: int
    longest: int
    definitions: tuple[str, ...] = ()


STOCKS: Final = Scenario(SYMBOLS, 3, 5)


def _datacenter() -> Scenario:
    """36 types of events as the paper has them: packets by step, size and kind of machine, and readings by load."""
    sizes = {"small": "size < 500", "medium": "size >= 500 AND size < 1500", "large": "size >= 1500"}
    loads = {"low": "load < 0.2", "middle": "load >= 0.2 AND load < 0.4", "high": "load >= 0.4"}
    found: dict[str, str] = {}
    steps = ("start", "delivery", "end", "ack", "error")
    for step, (size, by_size), side in product(steps, sizes.items(), (0, 1)):
        found[f"{step}_{size}_{side}"] = f"FROM {step} WHERE {by_size} AND machine % 2 = {side}"
    for reading, (load, by_load) in product(("cpu", "net"), loads.items()):
        found[f"{reading}_{load}"] = f"FROM {reading} WHERE {by_load}"
    definitions = tuple(f"CREATE EVENT {name} AS SELECT * {source};" for name, source in found.items())
    return Scenario(tuple(found), 2, 3, definitions)


DATACENTER: Final = _datacenter()


@dataclass(frozen=True, slots=True, kw_only=True)
class MottoOptions:
    """`ratio`: the share of queries in the basic group. `window`: of all queries but the shorter ones of type 5.

    `level`: how deep the queries of type 7 are nested. `window_ratio`: the windows of the first and the second query of
    all pairs, such as `4:1`, the longer one being `window`; else only those of type 5 differ. `disjunctions`: the share
    of type 6 in which one operator is MOTTO's DISJ, here ANY.
    """

    ratio: float = 0.5
    window: str = "10 SECONDS"
    level: int = 2
    window_ratio: str | None = None
    disjunctions: float = 0.1

    def __post_init__(self) -> None:
        need_shares(ratio=self.ratio, disjunctions=self.disjunctions)
        if not LEVELS[0] <= self.level <= LEVELS[1]:
            raise StrettoError(f"queries are nested {LEVELS[0]} to {LEVELS[1]} levels deep, not {self.level}")
        windows(self.window, self.window_ratio or "1:1")


def windows(longer: str, ratio: str) -> tuple[str, str]:
    """The windows of a source and of its beneficiary; the longer one is given."""
    left, colon, right = ratio.partition(":")
    if not (colon and left.isdigit() and right.isdigit() and int(left) and int(right)):
        raise StrettoError(f"the ratio of two windows is written like 4:1 or 1:2, not `{ratio}`")
    source, beneficiary = int(left), int(right)
    longest_us, most = option_us(longer, "window", positive=True), max(source, beneficiary)
    return duration_text(longest_us * source // most), duration_text(longest_us * beneficiary // most)


@dataclass(frozen=True, slots=True)
class OperatorTree:
    """A pattern: an operator over types and patterns."""

    operator: str
    parts: "tuple[str | OperatorTree, ...]"

    def leaves(self) -> tuple[str, ...]:
        """Its types from left to right."""
        found: list[str] = []
        for part in self.parts:
            found += part.leaves() if isinstance(part, OperatorTree) else [part]
        return tuple(found)

    def key(self) -> tuple[str, tuple[object, ...]]:
        """Equal for patterns that mean the same: SEQ in SEQ and AND in AND are flat, AND and ANY have no order."""
        parts: list[object] = []
        for part in self.parts:
            if isinstance(part, OperatorTree) and part.operator == self.operator and self.operator != "ANY":
                parts += part.key()[1]
            else:
                parts.append(part.key() if isinstance(part, OperatorTree) else part)
        ordered = parts if self.operator == "SEQ" else sorted(parts, key=repr)
        return self.operator, tuple(ordered)

    def text(self, letters: "list[str] | None" = None) -> str:
        """The pattern in the language; variables are a, b, .. from left to right."""
        left = list(LETTERS) if letters is None else letters
        texts = [
            part.text(left) if isinstance(part, OperatorTree) else f"{part} {left.pop(0)}"
            for part in self.parts
        ]
        return f"{self.operator}({', '.join(texts)})"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two queries with one type of sharing: the source and its beneficiary, each with its window."""

    type: int
    source: OperatorTree
    beneficiary: OperatorTree
    windows: tuple[str, str]


def motto_workload(scenario: Scenario, queries: int, seed: int, options: MottoOptions) -> list[Written]:
    """The queries of the pairs, one after another."""
    written: list[Written] = []
    for number, pair in enumerate(pairs(scenario, queries, seed, options), start=1):
        note = f"pair {number}, type {pair.type}: {ABOUT[pair.type]}"
        for pattern, window in zip((pair.source, pair.beneficiary), pair.windows, strict=True):
            written.append(Written(pattern.text(), window, note=note))
    return written[:queries]


def pairs(scenario: Scenario, queries: int, seed: int, options: MottoOptions) -> list[Pair]:
    """The pairs for `queries` queries, all types equally often.

    If the number is odd, only the source of the last pair counts.
    """
    random = np.random.default_rng([seed, 4])
    count = (queries + 1) // 2
    basic = round(options.ratio * count)
    types = [1 + k % 4 for k in range(basic)] + [5 + k % 3 for k in range(count - basic)]
    made: list[Pair] = []
    seen: set[object] = set()
    for kind in random.permutation(np.array(types, np.int64)).tolist():
        made.append(_new_pair(_Maker(scenario, options, random), kind, seen))
    return made


def _new_pair(maker: "_Maker", kind: int, seen: set[object]) -> Pair:
    for _ in range(TRIES):
        pair = maker.pair(kind)
        both = zip((pair.source, pair.beneficiary), pair.windows, strict=True)
        keys = {(pattern.key(), window) for pattern, window in both}
        if len(keys) == 2 and not keys & seen:
            seen |= keys
            return pair
    raise StrettoError(
        f"no further pair of type {kind} ({ABOUT[kind]}) could be found that repeats no query: "
        "ask for fewer queries or another ratio"
    )


@dataclass(frozen=True, slots=True)
class _Maker:
    """Draws pairs of each type."""

    scenario: Scenario
    options: MottoOptions
    random: np.random.Generator

    def pair(self, kind: int) -> Pair:
        window, ratio = self.options.window, self.options.window_ratio
        if kind <= 4:
            source, beneficiary = self._related(RELATIONS[kind])
        elif kind == 5:
            ratio = ratio or str(self.random.choice(RATIOS))
            source, beneficiary = self._related(RELATIONS[int(self.random.integers(1, 5))])
        elif kind == 6:
            source, beneficiary = self._other_operator()
        else:
            source, beneficiary = self._nested()
        return Pair(kind, source, beneficiary, windows(window, ratio or "1:1"))

    def _related(self, relation: "Relation") -> tuple[OperatorTree, OperatorTree]:
        """Two lists under one operator."""
        operator = self._operator()
        longest = self.scenario.longest
        shortest = max(self.scenario.shortest, 3)
        length = int(self.random.integers(shortest, max(longest, shortest) + 1))
        types = self._types(length + 2, in_order=operator == "AND")
        short, long = relation(types, length)
        return OperatorTree(operator, tuple(short)), OperatorTree(operator, tuple(long))

    def _other_operator(self) -> tuple[OperatorTree, OperatorTree]:
        """One list under two operators."""
        length = int(self.random.integers(self.scenario.shortest, self.scenario.longest + 1))
        first, second = "SEQ", "AND"
        if self.random.random() < self.options.disjunctions:
            first, second = ("SEQ" if self.random.random() < 0.5 else "AND"), "ANY"
            length = min(length, 3)  # an ANY of more has many alternatives
        types = tuple(self._types(length))
        if self.random.random() < 0.5:
            first, second = second, first
        return OperatorTree(first, types), OperatorTree(second, types)

    def _nested(self) -> tuple[OperatorTree, OperatorTree]:
        """Two queries around one sub-query of two types."""
        level = self.options.level
        types = self._types(2 + level)
        inmost = OperatorTree(self._operator(), tuple(types[:2]))
        others = [name for name in self._types(len(self.scenario.types)) if name not in inmost.parts]
        return self._around(inmost, types[2:]), self._around(inmost, others[:level])

    def _around(self, inmost: OperatorTree, others: Sequence[str]) -> OperatorTree:
        """Each level has a new operator and one more type; the second level has a type on both sides."""
        operator = self._operator()
        node = OperatorTree(operator, (others[0], inmost, others[1]))
        for other in others[2:]:
            operator = "AND" if operator == "SEQ" else "SEQ"
            node = OperatorTree(operator, (other, node) if self.random.random() < 0.5 else (node, other))
        return node

    def _operator(self) -> str:
        return "SEQ" if self.random.random() < 0.5 else "AND"

    def _types(self, count: int, *, in_order: bool = False) -> list[str]:
        known = self.scenario.types
        numbers = self.random.choice(len(known), count, replace=False)
        return [known[number] for number in (sorted(numbers) if in_order else numbers)]


Relation = Callable[[Sequence[str], int], tuple[Sequence[str], Sequence[str]]]
"""From some types and the length of the longer list to a source's and a beneficiary's list."""


def _prefix(types: Sequence[str], length: int) -> tuple[Sequence[str], Sequence[str]]:
    return types[: length - 1], types[:length]


def _suffix(types: Sequence[str], length: int) -> tuple[Sequence[str], Sequence[str]]:
    return types[1:length], types[:length]


def _subsequence(types: Sequence[str], length: int) -> tuple[Sequence[str], Sequence[str]]:
    """The list with one more type somewhere between its first and its last."""
    at = length // 2
    return [*types[:at], *types[at + 1 : length]], types[:length]


def _substring(types: Sequence[str], length: int) -> tuple[Sequence[str], Sequence[str]]:
    """A middle part in common, another beginning; two types are kept for it, before and after in the order."""
    core = types[2:length]
    return [types[0], *core, types[length]], [types[1], *core, types[length]]


RELATIONS: Final[Mapping[int, Relation]] = {1: _prefix, 2: _suffix, 3: _subsequence, 4: _substring}
