"""The hundred patterns of `stretto demo`: twenty for every sector of the exchange, over its four symbols."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from stretto.generate.trades import BLOCK, SECTORS, SYMBOLS

LETTERS: Final = "abcdefgh"
SWEEP: Final = 45_000
"""Shares of a very large trade: one of some thousand."""
Four = tuple[str, str, str, str]


def demo_workload() -> str:
    """The text of the workload file."""
    parts = [
        "-- A hundred patterns of large trades (blocks) that lead to a very large one (a sweep).",
        "\n".join(map(_selected, SYMBOLS)),
    ]
    for sector, symbols in SECTORS.items():
        parts += _sector(sector, symbols)
    return "\n\n".join(parts) + "\n"


def _selected(symbol: str) -> str:
    sizes = {"block": BLOCK, "sweep": SWEEP}
    return "\n".join(
        f"CREATE EVENT {symbol}_{name} AS SELECT * FROM {symbol} WHERE volume >= {size};"  # noqa: S608 - not SQL
        for name, size in sizes.items()
    )


def _sector(sector: str, symbols: Four) -> Iterator[str]:
    """The queries of one sector. Three symbols are named by their places: 123 are its first three."""
    for places in ("123", "124", "134", "234", "1234"):
        yield _relay(f"{sector}_relay_{places}", _at(symbols, places))
    for places in ("123", "124", "134", "1234"):
        yield _basket(f"{sector}_basket_{places}", _at(symbols, places))
    for places in ("121", "131", "141"):
        yield _reversal(f"{sector}_reversal_{places}", _at(symbols, places))
    for places in ("123", "124"):
        one, two, three = _at(symbols, places)
        yield _undisturbed(f"{sector}_undisturbed_{places}", one, two, three)
        yield _dries_up(f"{sector}_dries_up_{places}", one, two, three)
        yield _climb(f"{sector}_climb_{places}", one, two, three)
        yield _slow_relay(f"{sector}_slow_relay_{places}", one, two, three)


def _relay(name: str, symbols: Sequence[str]) -> str:
    """Blocks run through the symbols on one side, each larger than the one before, up to a sweep that moves prices."""
    terms = [*_one_side(symbols), *_rising(symbols), f"{LETTERS[len(symbols) - 1]}.change > 0.5"]
    return _query(name, f"SEQ({', '.join(_bound(symbols))})", terms, "10 MINUTES", symbols)


def _slow_relay(name: str, *symbols: str) -> str:
    """The same with more time between them, and prices that move more."""
    terms = [*_one_side(symbols), *_rising(symbols), "a.change > 0.5", "c.change > 0.5"]
    return _query(name, f"SEQ({', '.join(_bound(symbols))})", terms, "20 MINUTES", symbols)


def _basket(name: str, symbols: Sequence[str]) -> str:
    """All of them on one side in any order, larger from the first to the last: somebody buys or sells the sector."""
    terms = [*_one_side(symbols), *_rising(symbols)]
    return _query(name, f"AND({', '.join(_bound(symbols))})", terms, "1 MINUTE", symbols)


def _reversal(name: str, symbols: Sequence[str]) -> str:
    """The first symbol leads another one and then turns to the other side in a sweep, at a price that jumps."""
    terms = [
        "a.side = b.side",
        "a.volume < b.volume",
        "b.volume < c.volume",
        "c.side != a.side",
        "c.change < -0.5",
    ]
    return _query(name, f"SEQ({', '.join(_bound(symbols))})", terms, "10 MINUTES", symbols)


def _undisturbed(name: str, one: str, two: str, three: str) -> str:
    """A relay in which nobody takes the other side of the first symbol before the sweep."""
    pattern = f"SEQ({one}_block a, {two}_block b, NOT({one}_block n), {three}_sweep c)"
    symbols = [one, two, three]
    terms = [*_one_side(symbols), *_rising(symbols), "n.side != a.side"]
    return _query(name, pattern, terms, "10 MINUTES", symbols)


def _dries_up(name: str, one: str, two: str, three: str) -> str:
    """A relay that the third symbol does not take up: known only when its time is over."""
    pattern = f"SEQ({one}_block a, {two}_sweep b, NOT({three}_block n))"
    terms = ["a.side = b.side", "a.volume < b.volume", "n.side = a.side"]
    return _query(name, pattern, terms, "1 MINUTE", [one, two])


def _climb(name: str, one: str, two: str, three: str) -> str:
    """Two or three blocks of the second symbol between the other two, each larger than the last."""
    pattern = f"SEQ({one}_block a, {two}_block b{{2,3}}, {three}_sweep c)"
    terms = [
        "a.side = b.side",
        "b.side = c.side",
        "b[i].volume > b[i-1].volume",
        "a.volume < b.volume",
        "b.volume < c.volume",
        "c.change > 0.5",
    ]
    money = "a.price * a.volume + SUM(b.volume) * LAST(b).price + c.price * c.volume"
    return _clauses(name, pattern, terms, "1 MINUTE", money)


def _query(name: str, pattern: str, terms: Sequence[str], window: str, symbols: Sequence[str]) -> str:
    """A query that returns the money its trades moved."""
    money = " + ".join(f"{letter}.price * {letter}.volume" for letter in LETTERS[: len(symbols)])
    return _clauses(name, pattern, terms, window, money)


def _clauses(name: str, pattern: str, terms: Sequence[str], window: str, money: str) -> str:
    where = " AND ".join(terms)
    return f"QUERY {name}\nPATTERN {pattern}\nWHERE   {where}\nWITHIN  {window}\nRETURN  {money} AS money;"


def _at(symbols: Four, places: str) -> list[str]:
    return [symbols[int(place) - 1] for place in places]


def _bound(symbols: Sequence[str]) -> list[str]:
    """Blocks, and a sweep of the last symbol."""
    sizes = [*["block"] * (len(symbols) - 1), "sweep"]
    return [
        f"{symbol}_{size} {letter}" for symbol, size, letter in zip(symbols, sizes, LETTERS, strict=False)
    ]


def _one_side(symbols: Sequence[str]) -> list[str]:
    letters = LETTERS[: len(symbols)]
    return [f"{one}.side = {two}.side" for one, two in pairwise(letters)]


def _rising(symbols: Sequence[str]) -> list[str]:
    letters = LETTERS[: len(symbols)]
    return [f"{one}.volume < {two}.volume" for one, two in pairwise(letters)]
