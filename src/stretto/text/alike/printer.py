"""Statements as text, where many queries are alike: one is written, the others put their own constants into it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from stretto.text import syntax
from stretto.text.alike.expressions import Constant, placed
from stretto.text.alike.statements import AlikeQueries, Statements
from stretto.text.printer import literal_text, name_text, statement_text, to_text
from stretto.text.values import duration_text

# A name that no text has, with the number of what stands there.
_MARK: Final = "\0{}\0"
_MARKED: Final = re.compile(r'"\0(\d+)\0"')


def workload_text(statements: Sequence[syntax.Statement]) -> str:
    """The text of `to_text`; alike queries are not parsed for it."""
    if not isinstance(statements, Statements):
        return to_text(statements)
    found = {number: statement_text(one) for number, one in statements.plain}
    for run in statements.alike:
        found.update(zip(run.numbers, _texts(run), strict=True))
    return "\n\n".join(found[number] for number in sorted(found)) + "\n"


def _texts(run: AlikeQueries) -> Iterator[str]:
    first, constants = run.template.first, run.template.constants
    marks = {id(one.node): _mark(number) for number, one in enumerate(constants) if one.node is not None}
    query: syntax.Query = replace(placed(first, marks), name=_mark(len(constants)).name)
    for number, one in enumerate(constants):
        if one.node is None:
            query = replace(query, within=syntax.Within(0, row=_mark(number)))
    texts, places = _MARKED.split(statement_text(query))[0::2], _MARKED.findall(statement_text(query))
    if sorted(map(int, places)) != list(range(len(constants) + 1)):  # a text of the query looks like a mark
        yield from map(statement_text, run.queries())
        return
    columns = [list(map(_writer(one), values)) for one, values in zip(constants, run.columns(), strict=True)]
    columns.append(list(map(name_text, run.names)))
    for row in zip(*(columns[int(place)] for place in places), strict=True):
        yield "".join(part for pair in zip(texts, (*row, ""), strict=True) for part in pair)


def _mark(number: int) -> syntax.Name:
    return syntax.Name(_MARK.format(number))


def _writer(constant: Constant) -> Callable[..., str]:
    return duration_text if constant.kind == "duration" else literal_text
