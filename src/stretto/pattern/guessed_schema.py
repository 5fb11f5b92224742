"""A schema guessed from a workload alone, so that a plan can be looked at before there are events.

Attributes that are compared with each other have one kind: that of the first constant that one of them is compared
with, and a double where none says otherwise.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from stretto.pattern.comparisons import COMPARISONS
from stretto.pattern.derived.tables import TableError
from stretto.pattern.disjoint_sets import DisjointSets
from stretto.pattern.functions import SIGNATURES, user_function
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema
from stretto.text import syntax
from stretto.text.alike.statements import samples
from stretto.text.walk import children_of

_LITERALS = {"str": Kind.STRING, "bool": Kind.BOOL, "int": Kind.FLOAT, "float": Kind.FLOAT}


def guess_schema(workload: Workload) -> Schema:
    """Every attribute that the workload names, with the kind that its terms suggest; any type of event."""
    statements = samples(workload.statements)
    queries = [one for one in statements if isinstance(one, syntax.Query)]
    rows = {one.name: _row_kinds(workload, one) for one in queries}
    nodes = [
        _with_constants(node, rows.get(statement.name, {}))
        for statement in statements
        for node in _nodes(statement)
    ]
    compared = [list(_compared(node)) for node in nodes]
    names = [[name for side in sides for name in _attributes(side)] for sides in compared]
    alike = DisjointSets[str]()
    for node, together in zip(nodes, names, strict=True):
        for name in _attributes(node):
            alike.find(name)
        if together:
            alike.join(*together)
    kinds: dict[str, Kind] = {}
    for sides, together in zip(compared, names, strict=True):
        found = next(filter(None, map(_kind, sides)), None)
        if found and together:
            kinds.setdefault(alike.find(together[0]), found)
    lists = {name: kind for node in nodes for name, kind in (*_lists(node), *_taken(node))}
    guessed = {name: kinds.get(alike.find(name), Kind.FLOAT) for name in alike if name != "ts"}
    return Schema(guessed | {name: kind for name, kind in lists.items() if name in guessed})


def _taken(node: syntax.Node) -> Iterator[tuple[str, Kind]]:
    """What functions of users take."""
    known = user_function(node.function) if isinstance(node, syntax.Call) else None
    if known is not None and isinstance(node, syntax.Call):
        for argument, kind in zip(node.arguments, known.arguments, strict=False):
            yield from ((name, kind) for name in _attributes(argument))


def _lists(node: syntax.Node) -> Iterator[tuple[str, Kind]]:
    """What ANY and ALL in a comparison go through: texts, or numbers where it says so."""
    if not isinstance(node, syntax.Binary | syntax.In | syntax.Between | syntax.TextTest):
        return
    sides = children_of(node)
    numbers = any(_kind(side) is Kind.FLOAT for side in sides)
    for side in sides:
        if isinstance(side, syntax.Call) and side.function in ("ANY", "ALL"):
            for argument in side.arguments:
                for name in _attributes(argument):
                    yield name, Kind.FLOATS if numbers else Kind.STRINGS


def _nodes(statement: syntax.Statement) -> Iterator[syntax.Node]:
    """Every expression of a statement. Bare names are attributes in a selection, and variables in a query's calls."""
    pending: list[syntax.Node] = []
    query = statement.query if isinstance(statement, syntax.CreatePatternStream) else statement
    if isinstance(query, syntax.Query):
        pending += [*query.where, *query.having, *query.group_by, *(item.value for item in query.returning)]
    elif isinstance(statement, syntax.CreateEvent):
        pending += statement.where
    elif isinstance(statement, syntax.CreateStream):
        pending += [*statement.on, *statement.where, *statement.group_by]
        pending += [item.value for item in statement.items]
    while pending:
        node = pending.pop()
        yield node
        in_call = isinstance(node, syntax.Call) and isinstance(query, syntax.Query)
        pending += [
            child
            for child in children_of(node)
            if not (in_call and isinstance(child, syntax.Name) and child.variable is None)
        ]


Columns = Mapping[tuple[str | None, str], Kind]
_EXAMPLES: Final[Mapping[Kind, syntax.Expression]] = {
    Kind.STRING: syntax.Literal(""),
    Kind.BOOL: syntax.Literal(value=True),
    Kind.INT: syntax.Literal(0),
    Kind.FLOAT: syntax.Literal(0.0),
    Kind.TIME: syntax.Timestamp(0),
    Kind.DURATION: syntax.Duration(0),
}


def _row_kinds(workload: Workload, query: syntax.Query) -> Columns:
    """The columns of the row that a query is for, as terms name them; none where the table cannot be read."""
    each = query.for_each
    tables = [one for one in samples(workload.statements) if isinstance(one, syntax.CreateTable)]
    table = next((one for one in tables if each is not None and one.name == each.table), None)
    if each is None or table is None:
        return {}
    try:
        kinds = workload.read_table(table).kinds
    except TableError:
        return {}
    return {(each.variable or each.table, column): kind for column, kind in kinds.items()}


def _with_constants(node: syntax.Node, columns: Columns) -> syntax.Node:
    """A comparison of a family with constants of the right kinds in place of the row's columns."""

    def placed(one: syntax.Expression) -> syntax.Expression:
        kind = columns.get((one.variable, one.name)) if isinstance(one, syntax.Name) else None
        return one if kind is None else _EXAMPLES[kind]

    match node:
        case syntax.Name():
            return placed(node)
        case syntax.Binary():
            return replace(node, left=placed(node.left), right=placed(node.right))
        case syntax.In():
            return replace(node, value=placed(node.value), options=tuple(map(placed, node.options)))
        case syntax.Between():
            return replace(node, value=placed(node.value), low=placed(node.low), high=placed(node.high))
    return node


def _compared(node: syntax.Node) -> Iterator[syntax.Node]:
    """The sides of a comparison, which have one kind."""
    match node:
        case syntax.Binary(op=op, left=left, right=right) if op in COMPARISONS:
            yield from (left, right)
        case syntax.In(value=value, options=options):
            yield from (value, *options)
        case syntax.Between(value=value, low=low, high=high):
            yield from (value, low, high)
        case syntax.TextTest(value=value):
            yield from (value, syntax.Literal(""))
        case syntax.Call(function=name, arguments=arguments) if name in SIGNATURES and arguments:
            at = 1 if name == "DATE_TRUNC" and len(arguments) > 1 else 0
            takes = SIGNATURES[name].takes[at]
            yield from (arguments[at], syntax.Timestamp(0) if Kind.TIME in takes else syntax.Literal(""))
        case syntax.Call(function="CIDR_MATCH" | "CONCAT", arguments=arguments):
            yield from (*arguments, syntax.Literal(""))


def _attributes(node: syntax.Node) -> Iterator[str]:
    """The attribute that a node itself names."""
    match node:
        case syntax.Name(name=name):
            yield name
        case syntax.Call(attribute=str(name)):
            yield name
        case syntax.Same(attribute=name):
            yield name


def _kind(node: syntax.Node) -> Kind | None:
    match node:
        case syntax.Literal(kind=kind):
            return _LITERALS.get(kind)
        case syntax.Timestamp():
            return Kind.TIME
        case syntax.Name(name="ts"):
            return Kind.TIME
        case _:
            return None
