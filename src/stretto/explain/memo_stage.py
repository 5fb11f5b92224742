"""A memo in figures: its pieces and ways, and the pieces that most queries could share."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from stretto.explain.numbers import columns, in_format, number_text, rate_text, some, time_text
from stretto.memo.cost import CostModel
from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.pattern.describe import piece_text
from stretto.records import dataclass
from stretto.screen import as_lines, counted

SHOWN: Final = 20
"""Pieces that are described one by one."""
NAMED: Final = 5
"""Queries that are named on one line of text."""


@dataclass(frozen=True, slots=True)
class Described:
    """A piece that several queries could share, the queries, and what is known of it.

    `rows` per second and the cost of its cheapest way per second, its inputs given; None without a pricing.
    """

    id: int
    piece: str
    slots: int
    queries: tuple[str, ...]
    ways: int
    rows: float | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class Description:
    """What a memo holds: pieces by their number of slots, ways by rule, and the most shared pieces.

    `shared` counts, also by slots, the pieces that some plan could use for more than one query.
    """

    queries: int
    roots: int
    pieces: dict[int, int]
    shared: dict[int, int]
    ways: dict[str, int]
    inputs: int
    most_shared: tuple[Described, ...]


def describe(memo: Memo, pricing: Pricing | None = None, *, most: int = SHOWN) -> Description:
    """A memo's figures, and `most` of its most shared pieces of two or more slots, the widest shared first."""
    names = list(dict.fromkeys(root.query for root in memo.roots))
    users = queries_of(memo, names)
    slots = [len(piece.slots) for piece in memo.pieces]
    used = [number for number in range(len(memo)) if users[number]]
    shared = [number for number in used if users[number].bit_count() > 1]
    ranked = sorted(
        (number for number in shared if slots[number] > 1),
        key=lambda number: (-users[number].bit_count(), -slots[number], number),
    )
    return Description(
        len(names),
        len({root.piece for root in memo.roots}),
        _sorted(Counter(slots[number] for number in used)),
        _sorted(Counter(slots[number] for number in shared)),
        _sorted(Counter(way.rule for number in used for way in memo.ways[number])),
        sum(len(way.inputs) for number in used for way in memo.ways[number]),
        tuple(_described(memo, pricing, number, _names(users[number], names)) for number in ranked[:most]),
    )


def queries_of(memo: Memo, names: list[str]) -> list[int]:
    """For each piece the queries that some way could use it for, as bits in the order of the names."""
    bit = {name: 1 << number for number, name in enumerate(names)}
    users = [0] * len(memo)
    for root in memo.roots:
        users[root.piece] |= bit[root.query]
    for number in _readers_first(memo):
        for way in memo.ways[number]:
            for piece in way.pieces:
                users[piece] |= users[number]
    return users


def _readers_first(memo: Memo) -> list[int]:
    """The pieces that the roots reach, each before all that its ways read."""
    done: dict[int, None] = {}
    seen: set[int] = set()
    for root in memo.roots:
        pending = [(root.piece, False)]
        while pending:
            number, left = pending.pop()
            if left:
                done[number] = None
            elif number not in seen:
                seen.add(number)
                pending.append((number, True))
                pending.extend((piece, False) for way in memo.ways[number] for piece in way.pieces)
    return list(done)[::-1]


def _described(memo: Memo, pricing: Pricing | None, number: int, queries: tuple[str, ...]) -> Described:
    piece = memo.pieces[number]
    names = [f"c{column}" for column in range(piece.width)]
    costs = [] if pricing is None else [pricing.cost(memo, number, way) for way in memo.ways[number]]
    return Described(
        number,
        piece_text(piece, names),
        len(piece.slots),
        queries,
        len(memo.ways[number]),
        None if pricing is None else pricing.rows(memo, number),
        min(costs, default=None),
    )


def _names(users: int, names: list[str]) -> tuple[str, ...]:
    return tuple(name for number, name in enumerate(names) if users >> number & 1)


def _sorted(counts: Counter[Any]) -> dict[Any, int]:
    return dict(sorted(counts.items()))


def memo_as(memo: Memo, pricing: Pricing | None, format: str) -> str:  # noqa: A002 - as in `explain`
    """A memo's description as `text` or `json`."""
    return in_format(format, lambda: memo_text(memo, pricing), lambda: memo_json(memo, pricing))


def memo_json(memo: Memo, pricing: Pricing | None = None) -> dict[str, Any]:
    """The description as an object."""
    found = describe(memo, pricing)
    return {
        "queries": found.queries,
        "roots": found.roots,
        "pieces": {
            "all": sum(found.pieces.values()),
            "shared": sum(found.shared.values()),
            "by_slots": [
                {"slots": slots, "pieces": count, "shared": found.shared.get(slots, 0)}
                for slots, count in found.pieces.items()
            ],
        },
        "ways": {"all": sum(found.ways.values()), "inputs": found.inputs, "by_rule": found.ways},
        "most_shared": [asdict(one) for one in found.most_shared],
    }


def memo_text(memo: Memo, pricing: Pricing | None = None) -> str:
    """The description as short tables."""
    found = describe(memo, pricing)
    pieces, ways, shared = (sum(counts.values()) for counts in (found.pieces, found.ways, found.shared))
    sizes = f"{pieces:,} pieces, {ways:,} ways to compute them, {found.inputs:,} inputs of ways"
    blocks = [
        [f"memo of {counted(found.queries, 'query')}: {sizes}"],
        list(_by_slots(found)),
        list(columns([["rule", "ways"], *([rule, f"{count:,}"] for rule, count in found.ways.items())])),
        list(_most_shared(found, shared, timed=isinstance(pricing, CostModel))),
    ]
    return "\n\n".join(as_lines(block) for block in blocks if block) + "\n"


def _by_slots(found: Description) -> Iterator[str]:
    rows = [["slots", "pieces", "for several queries"]]
    for slots, count in found.pieces.items():
        rows.append([f"{slots}", f"{count:,}", f"{found.shared.get(slots, 0):,}"])
    return columns(rows)


def _most_shared(found: Description, shared: int, *, timed: bool) -> Iterator[str]:
    if not found.most_shared:
        return
    yield f"most shared of {shared:,} pieces that could serve several queries, single events apart:"
    for one in found.most_shared:
        figures = [counted(one.ways, "way")]
        if one.rows is not None:
            figures.append(rate_text(one.rows))
        if one.cost is not None:
            figures.append(f"{_cost_text(one.cost, timed=timed)} at least")
        yield f"  {one.piece}  {', '.join(figures)}  for {len(one.queries):,}: {some(one.queries, NAMED)}"


def _cost_text(cost: float, *, timed: bool) -> str:
    """A cost per second of stream: of our model processor time, of the papers' a number of partial matches."""
    if timed:
        return f"{time_text(cost)} of CPU time per second of stream"
    return f"{number_text(cost)} partial matches/s"
