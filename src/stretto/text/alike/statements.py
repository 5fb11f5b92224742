"""The statements of a text in which many queries are alike: those have no tree until somebody asks for it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import field, replace
from itertools import chain
from operator import itemgetter
from typing import Any, Final, overload

from stretto.records import dataclass
from stretto.text import syntax
from stretto.text.alike.expressions import Row, Template, make_template, signature
from stretto.text.clauses import drafts
from stretto.text.statements import Parsed, parse_statement
from stretto.text.tokens import TokenChunk, line_starts, tokenize

FEWEST: Final = 64
"""So many queries are held as rows of constants; fewer that are alike are worth a tree each."""
_LIKE_TO_TRY: Final = 8
"""So many statements of one shape are parsed before the next are expected to be like them, ..."""
_TEMPLATES_TO_TRY: Final = 16
"""... and so many shapes are tried on a statement, the last that fitted first."""


@dataclass(frozen=True, slots=True, eq=False)
class AlikeQueries:
    """Queries that match one template: for each its name and constants as text, where it begins in the text, and
    the how-manieth statement it is.
    """

    template: Template
    text: str = field(repr=False)
    rows: list[Row] = field(default_factory=list, repr=False)
    starts: list[int] = field(default_factory=list, repr=False)
    numbers: list[int] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(row[0] for row in self.rows)

    def columns(self) -> list[list[Any]]:
        """The values of each constant of the template, query by query."""
        return [constant.values(self.rows) for constant in self.template.constants]

    def queries(self) -> Iterator[syntax.Query]:
        """Every query with its tree, parsed for the one who asks."""
        lines = line_starts(self.text)
        for start in self.starts:
            yield _query_at(self.text, start, lines)

    def without(self, gone: Collection[str]) -> "AlikeQueries":
        return self._kept(lambda name: name not in gone)

    def only(self, names: Collection[str]) -> "AlikeQueries":
        return self._kept(lambda name: name in names)

    def _kept(self, keeps: Callable[[str], bool]) -> "AlikeQueries":
        kept = [at for at, row in enumerate(self.rows) if keeps(row[0])]
        if len(kept) == len(self):
            return self
        rows = [self.rows[at] for at in kept]
        starts, numbers = ([column[at] for at in kept] for column in (self.starts, self.numbers))
        return AlikeQueries(self.template, self.text, rows, starts, numbers)

    def longest_window(self) -> syntax.Within:
        for constant in self.template.constants:
            if constant.node is None:
                return syntax.Within(max(int(us) for us in constant.values(self.rows)))
        return self.template.first.within


@dataclass(frozen=True, slots=True, eq=False)
class Statements(Sequence[syntax.Statement]):
    """Statements in the order of their text, equal to the tuple of them. `plain` are those with a tree and which
    they are, `alike` the others.
    """

    plain: tuple[tuple[int, syntax.Statement], ...]
    alike: tuple[AlikeQueries, ...]
    _whole: list[tuple[syntax.Statement, ...]] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.plain) + sum(map(len, self.alike))

    def __iter__(self) -> Iterator[syntax.Statement]:
        return iter(self.whole())

    @overload
    def __getitem__(self, at: int) -> syntax.Statement: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[syntax.Statement, ...]: ...
    def __getitem__(self, at: int | slice) -> syntax.Statement | tuple[syntax.Statement, ...]:
        return self.whole()[at]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Statements):
            return self.whole() == other.whole()
        return self.whole() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.whole())

    def __reduce__(self) -> tuple[type["Statements"], tuple[Any, ...]]:
        return Statements, (self.plain, self.alike)

    def whole(self) -> tuple[syntax.Statement, ...]:
        """All of them with their trees, which are parsed once."""
        if not self._whole:
            found = dict(self.plain)
            for run in self.alike:
                found.update(zip(run.numbers, run.queries(), strict=True))
            self._whole.append(tuple(found[number] for number in sorted(found)))
        return self._whole[0]


def samples(statements: Sequence[syntax.Statement]) -> tuple[syntax.Statement, ...]:
    """The statements that have trees, and one of those that are alike."""
    if not isinstance(statements, Statements):
        return tuple(statements)
    return (*(one for _, one in statements.plain), *(run.template.first for run in statements.alike))


def with_names_once(statements: Sequence[syntax.Statement]) -> Sequence[syntax.Statement]:
    """The same statements; alike queries whose name occurs again have a tree, so that the second can be told of."""
    counted = Counter(query_names(statements)) if isinstance(statements, Statements) else {}
    again = {name for name, count in counted.items() if count > 1}
    if not isinstance(statements, Statements) or not again:
        return statements
    found = dict(statements.plain)
    for run in (run.only(again) for run in statements.alike):
        found.update(zip(run.numbers, run.queries(), strict=True))
    alike = (run.without(again) for run in statements.alike)
    return Statements(
        tuple(sorted(found.items(), key=itemgetter(0))), tuple(run for run in alike if run.rows)
    )


def query_names(statements: Sequence[syntax.Statement]) -> list[str]:
    """The names of all queries."""
    if not isinstance(statements, Statements):
        return [one.name for one in statements if isinstance(one, syntax.Query)]
    plain = [one.name for _, one in statements.plain if isinstance(one, syntax.Query)]
    return [*plain, *(row[0] for run in statements.alike for row in run.rows)]


def joined(
    above: Sequence[syntax.Statement], below: Sequence[syntax.Statement]
) -> Sequence[syntax.Statement]:
    """Statements and others behind them; alike ones stay what they are."""
    if not isinstance(above, Statements) and not isinstance(below, Statements):
        return (*above, *below)
    first, second = _numbered(above), _numbered(below)
    plain_numbers = (number for number, _ in first.plain)
    shift = 1 + max(chain(plain_numbers, *(run.numbers for run in first.alike)), default=-1)
    return Statements(
        (*first.plain, *((number + shift, one) for number, one in second.plain)),
        (*first.alike, *(replace(run, numbers=[n + shift for n in run.numbers]) for run in second.alike)),
    )


def without(
    statements: Sequence[syntax.Statement], names: Collection[str], kind: type[syntax.Statement]
) -> Sequence[syntax.Statement]:
    """The statements that are not of this kind, or have none of these names."""
    if not isinstance(statements, Statements):
        return tuple(one for one in statements if not (isinstance(one, kind) and one.name in names))
    plain = tuple(
        (number, one) for number, one in statements.plain if not (isinstance(one, kind) and one.name in names)
    )
    alike = statements.alike
    if issubclass(syntax.Query, kind):
        alike = tuple(run for run in (run.without(names) for run in alike) if run.rows)
    return Statements(plain, alike)


def _numbered(statements: Sequence[syntax.Statement]) -> Statements:
    if isinstance(statements, Statements):
        return statements
    return Statements(tuple(enumerate(statements)), ())


@dataclass(slots=True)
class AlikeReader:
    """Reads a text statement by statement. What has been read stands in `parsed`, in the order of the text; None where
    a statement is one of the alike ones.
    """

    text: str
    lines: list[int]
    parsed: list[Parsed | None] = field(default_factory=list)
    alike: list[AlikeQueries] = field(default_factory=list)
    _recent: list[AlikeQueries] = field(default_factory=list)
    _seen: dict[tuple[str, ...], list[tuple[int, int]]] = field(default_factory=dict)

    def take_alike(self, at: int) -> int | None:
        """Where the statement that begins here ends, if it is like others; it is taken with all that follow it."""
        for run in self._recent:
            found = run.template.row(self.text, at)
            if found is not None:
                break
        else:
            return None
        if run is not self._recent[0]:
            self._recent.remove(run)
            self._recent.insert(0, run)
        row_at, add = run.template.row, self._add
        end = at
        while found is not None:
            add(run, found[0], end)
            end = found[1]
            found = row_at(self.text, end)
        return end

    def take_parsed(self, chunk: TokenChunk, start: int, found: list[Parsed]) -> None:
        """What was read of the tokens of a chunk; where it is one more of its shape, the next may be like it."""
        number = len(self.parsed)
        self.parsed += found
        query = found[0].statement if len(found) == 1 and not found[0].mistakes else None
        if chunk.mistakes or not isinstance(query, syntax.Query) or query.for_each is not None:
            return
        same = self._seen.setdefault(signature(self.text, chunk.tokens), [])
        same.append((start, number))
        if len(same) == _LIKE_TO_TRY:
            template = make_template(self.text, chunk.tokens, query)
            if template is not None:
                self._begin(template, same)

    def _begin(self, template: Template, seen: list[tuple[int, int]]) -> None:
        """A new shape; those of it that were parsed already are among its queries."""
        run = AlikeQueries(template, self.text)
        self.alike.append(run)
        self._recent.insert(0, run)
        del self._recent[_TEMPLATES_TO_TRY:]
        for start, number in seen:
            found = template.row(self.text, start)
            if found is not None:
                self.parsed[number] = None
                self._put(run, found[0], start, number)

    def _add(self, run: AlikeQueries, row: Row, start: int) -> None:
        self._put(run, row, start, len(self.parsed))
        self.parsed.append(None)

    def _put(self, run: AlikeQueries, row: Row, start: int, number: int) -> None:
        run.rows.append(row)
        run.starts.append(start)
        run.numbers.append(number)

    def finish(self) -> None:
        """Those that are few after all are parsed one by one."""
        for run in [run for run in self.alike if len(run) < FEWEST]:
            for number, query in zip(run.numbers, run.queries(), strict=True):
                self.parsed[number] = Parsed(query.name, query, query_span=query.name_span)
            self.alike.remove(run)


def _query_at(text: str, start: int, lines: list[int]) -> syntax.Query:
    """The query that begins at a place; that it is one is known."""
    chunk = next(tokenize(text, start=start, starts=lines))
    (draft,) = drafts(chunk, [])
    query = parse_statement(draft, text).statement
    assert isinstance(query, syntax.Query)
    return query
