"""Trend patterns as lists of sequences without repetition: every word of variables that a pattern can spell.

A pattern's positions are its variables. A step from one to the next is taken inside a SEQ, by a variable's own `+`, or
by the `+` of a group; which one it is decides what terms say about it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from stretto.errors import StrettoError
from stretto.pattern.binding.written import conjuncts
from stretto.text import syntax
from stretto.text.walk import children_of, fold_syntax

By = Literal["seq", "own", "group"]


@dataclass(frozen=True, slots=True)
class Paths:
    """Where a part of a pattern begins and ends, and its steps."""

    first: tuple[str, ...]
    last: tuple[str, ...]
    steps: Mapping[tuple[str, str], By]
    types: Mapping[str, str]


def paths_of(query: syntax.Query) -> Paths:
    """The steps of a query's pattern, which has types, SEQ and `+` only."""
    found = fold_syntax(query.pattern, _paths)
    ends = {name for term in conjuncts(query.where) for name, how in uses(term) if how in ("FIRST", "LAST")}
    for name, other in _doubled(query.pattern):
        # Two `+` around one part take the same step; the group's own asks nothing of it but FIRST and LAST.
        if ends & {name, other}:
            raise StrettoError(f"query `{query.name}`: FIRST and LAST under two `+` around the same part")
    return found


def _paths(node: syntax.Node, below: list[Paths]) -> Paths:
    match node:
        case syntax.Atom(type, variable):
            name = type.lower() if variable is None else variable
            return Paths((name,), (name,), {}, {name: type})
        case syntax.Combine("SEQ"):
            steps: dict[tuple[str, str], By] = {}
            types: dict[str, str] = {}
            for before, part in zip([None, *below], below, strict=False):
                steps |= part.steps
                types |= part.types
                if before is not None:
                    steps |= {(a, b): "seq" for a in before.last for b in part.first}
            return Paths(below[0].first, below[-1].last, steps, types)
        case syntax.Repeat(part, 1, None):
            (inner,) = below
            by: By = "own" if isinstance(part, syntax.Atom) else "group"
            again: dict[tuple[str, str], By] = {(a, b): by for a in inner.last for b in inner.first}
            return replace(inner, steps={**inner.steps, **again})
    raise StrettoError("only types, SEQ and `+` can be flattened")


def _doubled(node: syntax.Node) -> Iterator[tuple[str, str]]:
    """Steps that a variable's own `+` takes, and one around it too."""
    if isinstance(node, syntax.Repeat):
        inner = fold_syntax(node.part, _paths)
        yield from ((a, b) for a in inner.last for b in inner.first if inner.steps.get((a, b)) == "own")
    for child in children_of(node):
        yield from _doubled(child)


Word = tuple[tuple[str, By | None], ...]
"""The variables of a sequence in order, each with the step that leads to it."""


def words(paths: Paths, most: Mapping[str, int], source: Callable[[str], str]) -> Iterator[Word]:
    """Every word with at most so many events of each type; `source` gives the type behind a name."""
    after: dict[str, list[tuple[str, By]]] = {}
    for (one, other), by in paths.steps.items():
        after.setdefault(one, []).append((other, by))
    types = {name: source(kind) for name, kind in paths.types.items()}
    pending: list[Word] = [((name, None),) for name in paths.first]
    while pending:
        word = pending.pop()
        used = Counter(types[name] for name, _ in word)
        if any(count > most.get(kind, 0) for kind, count in used.items()):
            continue
        end = word[-1][0]
        if end in paths.last:
            yield word
        pending += [(*word, step) for step in after.get(end, [])]


# ---- terms -----------------------------------------------------------------------------------------------------


def uses(term: syntax.Expression) -> Iterator[tuple[str, str]]:
    """The variables that a term names, and how: "", "i", "i-1", FIRST, LAST, or the name of an aggregate."""
    pending: list[syntax.Node] = [term]
    while pending:
        node = pending.pop()
        match node:
            case syntax.Name(_, str(variable), index):
                yield variable, index
            case syntax.Call(function, (syntax.Name(name, None),)):
                yield name, function
            case _:
                pending.extend(children_of(node))


def flat_terms(
    where: tuple[syntax.Expression, ...], word: Word, copies: list[str]
) -> Iterator[syntax.Expression]:
    """What the terms say about a word whose places have these variables."""
    for term in conjuncts(where):
        named = dict.fromkeys(uses(term))
        variables = list(dict.fromkeys(name for name, _ in named))
        if not variables:
            yield term
        for places in _places(named, variables, word):
            yield _renamed(term, {name: copies[place] for name, place in places.items()})


def _places(
    named: Mapping[tuple[str, str], None], variables: list[str], word: Word
) -> Iterator[dict[tuple[str, str], int]]:
    """The places of a word of which a term speaks, by variable and how it is named."""
    hows = {how for _, how in named}
    if hows - {"", "i", "i-1", "FIRST", "LAST"}:
        raise StrettoError("only terms over single events and neighbours can be flattened")
    if len(variables) == 1 and not hows & {"i", "i-1"}:
        for place, (name, by) in enumerate(word):
            following = word[place + 1][1] if place + 1 < len(word) else None
            begins, ends = by != "own", following != "own"
            if name == variables[0] and ("FIRST" not in hows or begins) and ("LAST" not in hows or ends):
                yield dict.fromkeys(named, place)
        return
    for place in range(1, len(word)):
        (before, _), (name, by) = word[place - 1], word[place]
        if len(variables) == 1:
            if name == before == variables[0] and by == "own":
                yield {(one, how): place - (how == "i-1") for one, how in named}
        elif {before, name} == set(variables) and by == "seq":
            yield {(one, how): place - (one == before) for one, how in named}


def _renamed(term: syntax.Expression, copies: Mapping[tuple[str, str], str]) -> syntax.Expression:
    """The term with other variables, each a single event."""

    def build(node: syntax.Node, below: list[Any]) -> Any:
        match node:
            case syntax.Name(name, str(variable), index):
                return syntax.Name(name, copies[variable, index])
            case syntax.Call(function, (syntax.Name(variable, None),), str(attribute)):
                return syntax.Name(attribute, copies[variable, function])
        return _with_children(node, below)

    renamed: syntax.Expression = fold_syntax(term, build)
    return renamed


def _with_children(node: syntax.Node, below: list[Any]) -> syntax.Node:
    match node:
        case syntax.Logic():
            return replace(node, parts=tuple(below))
        case syntax.Call():
            return replace(node, arguments=tuple(below))
        case syntax.Unary() | syntax.IsNull():
            return replace(node, value=below[0])
        case syntax.Binary():
            return replace(node, left=below[0], right=below[1])
        case syntax.In():
            return replace(node, value=below[0], options=tuple(below[1:]))
        case syntax.Between():
            return replace(node, value=below[0], low=below[1], high=below[2])
    return node
