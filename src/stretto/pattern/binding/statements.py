"""Statements as written to bound queries, with every mistake listed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stretto.errors import Mistake
from stretto.pattern.binding.catalog import Catalog
from stretto.pattern.binding.kinds import kind_of
from stretto.pattern.binding.patterns import BoundPattern, PatternBinder, check_sequence
from stretto.pattern.binding.scope import Report, Scope, check_size
from stretto.pattern.binding.terms import ExpressionBinder, NamedVariable, conjuncts
from stretto.pattern.binding.trends import Term, bind_trend, is_trend
from stretto.pattern.nodes import TIMES, Policy, Query, Return, TrendQuery, Variable, Window, column_of
from stretto.pattern.predicates import NEIGHBOURS, Which
from stretto.schema import Schema
from stretto.text import syntax
from stretto.text.printer import expression_text

RESULT_COLUMNS: Final = frozenset({"query", *TIMES})


@dataclass(frozen=True, slots=True)
class BoundStatements:
    """What came of a workload: its queries, what is right but cannot be run yet, and every mistake.

    `types`: the event types that it names; `definitions`: the names that it gives to selections and streams.
    """

    detections: tuple[Query, ...]
    trends: tuple[TrendQuery, ...]
    unsupported: tuple[Mistake, ...]
    mistakes: tuple[Mistake, ...]
    types: frozenset[str]
    definitions: frozenset[str]


def bind(statements: Sequence[syntax.Statement], schema: Schema | None) -> BoundStatements:
    """Bind a workload. Without a schema only what does not need one is checked, and no query comes back."""
    report, unsupported = Report(), Report()
    catalog = Catalog(statements, schema, report)
    catalog.bind_all()
    detections: list[Query] = []
    trends: list[TrendQuery] = []
    names: set[str] = set()
    for statement in statements:
        at = statement.name_span or statement.span
        if isinstance(statement, syntax.CreateStream):
            unsupported.add(f"not supported yet: derived streams (stream `{statement.name}`)", at)
        if not isinstance(statement, syntax.Query):
            continue
        own = Report()
        if statement.name in names:
            own.add(f"duplicate query `{statement.name}`", at, "another query has that name already")
        names.add(statement.name)
        query = _QueryBinder(statement, catalog, own, unsupported).bind()
        report.take(own, f"query `{statement.name}`")
        if isinstance(query, TrendQuery):
            trends.append(query)
        elif query is not None:
            detections.append(query)
    mistakes = tuple(dict.fromkeys(report.mistakes))
    return BoundStatements(
        tuple(detections),
        tuple(trends),
        tuple(unsupported.mistakes),
        mistakes,
        catalog.types,
        catalog.definitions,
    )


class _QueryBinder:
    """Binds one query; `unsupported` takes the queries that are right but cannot be run yet."""

    def __init__(self, query: syntax.Query, catalog: Catalog, report: Report, unsupported: Report) -> None:
        self.query = query
        self.report = report
        self.catalog = catalog
        self.unsupported = unsupported
        self.same: dict[str, None] = {}

    def bind(self) -> Query | TrendQuery | None:
        """The bound query, or None if it has mistakes, is not supported yet, or there is no schema."""
        query = self.query
        pattern = PatternBinder(self.catalog, self.report).bind(query.pattern)
        check_size(query.within.size, query.within.span, "window", self.report)
        scope = Scope({known.name: known for known in pattern.variables}, self.catalog.schema)
        terms = self._terms(scope)
        bound: Query | TrendQuery
        if is_trend(query):
            bound = bind_trend(query, pattern, scope, terms, tuple(self.same), self.report)
        else:
            bound = self._detection(pattern, scope, terms)
        for stream in pattern.derived:
            self._postpone("patterns over derived streams", f"query `{query.name}` reads `{stream}`")
        return None if self.report.mistakes or scope.schema is None or pattern.derived else bound

    def _detection(self, pattern: BoundPattern, scope: Scope, terms: Sequence[Term]) -> Query:
        """A detection query; with mistakes it lacks what could not be bound."""
        query = self.query
        policy = Policy(query.select or "ANY")
        self._check_detection(pattern, policy)
        variables = tuple(
            Variable(known.name, known.negated, known.kleene, known.groups) for known in pattern.variables
        )
        return Query(
            query.name,
            pattern.root,
            variables,
            tuple(dict.fromkeys(term for term, _, _ in terms if term is not None)),
            tuple(self.same),
            Window(query.within.size, query.within.unit),
            policy,
            self._returns(scope),
            query.name_span or query.span,
        )

    def _postpone(self, what: str, which: str) -> None:
        self.unsupported.add(f"not supported yet: {what} ({which})", self.query.name_span or self.query.span)

    # ---- WHERE -------------------------------------------------------------------------------------------

    def _terms(self, scope: Scope) -> list[Term]:
        """Every term with the variables it names; `[attr]`s are set apart in `same`."""
        binder = ExpressionBinder(scope, self.report, "WHERE", sets=True)
        terms = []
        for node in conjuncts(self.query.where):
            if isinstance(node, syntax.Same):
                self._same(node, scope)
                continue
            binder.uses = []
            bound = binder.condition(node)
            _check_uses(binder.uses, self.report)
            terms.append((bound, binder.uses, node))
        return terms

    def _same(self, node: syntax.Same, scope: Scope) -> None:
        """`[attr]`: an attribute that every variable has."""
        if node.attribute == "ts":
            self.report.add(
                "`[ts]` is no partition", node.span, "compare times in a term, as in `a.ts = b.ts`"
            )
            return
        for known in scope.variables.values():
            if known.attributes is not None and scope.kind(known, node.attribute) is None:
                note = scope.why_unknown(known, node.attribute)
                self.report.add(f"unknown attribute `{node.attribute}`", node.span, note)
                return
        self.same[node.attribute] = None

    # ---- the rest of a detection query -------------------------------------------------------------------

    def _check_detection(self, pattern: BoundPattern, policy: Policy) -> None:
        query = self.query
        for name in query.group_by:
            note = f"write `[{name.name}]` in WHERE"
            self.report.add("GROUP BY belongs to trend aggregation", name.span, note)
        if query.slide is not None:
            note = "a detection query reports every match once; write `[attr]` in WHERE to separate groups"
            self.report.add("SLIDE belongs to trend aggregation", query.slide.span, note)
        if policy is not Policy.ANY:
            check_sequence(pattern.root, query.pattern, policy, self.report)

    def _returns(self, scope: Scope) -> tuple[Return, ...]:
        binder = ExpressionBinder(scope, self.report, "RETURN", sets=True)
        names: set[str] = set()
        columns = {column_of(known.name): known.name for known in scope.variables.values()}
        returns: list[Return] = []
        for item in self.query.returning:
            binder.uses = []
            bound = binder.expression(item.value)
            for use in binder.uses:
                self._check_returned(use)
            name = item.name if item.name is not None else expression_text(item.value)
            at = item.span or item.value.span
            if name in names:
                self.report.add(f"duplicate RETURN column `{name}`", at, "name it otherwise with AS")
            elif name in RESULT_COLUMNS:
                self.report.add(
                    f"RETURN column `{name}` has the name of a result column", at, "choose another"
                )
            elif name in columns:
                whose = (
                    "a variable" if name == columns[name] else f"the column of the variable `{columns[name]}`"
                )
                self.report.add(f"RETURN column `{name}` has the name of {whose}", at, "choose another")
            names.add(name)
            if bound is not None:
                returns.append(Return(name, bound, kind_of(bound)))
        return tuple(returns)

    def _check_returned(self, use: NamedVariable) -> None:
        known = use.variable
        if known.negated:
            self.report.add(f"`{known.name}` is negated: a match has no such event", use.span)
        elif use.how in NEIGHBOURS:
            note = f"write FIRST({known.name}), LAST({known.name}) or an aggregate"
            self.report.add(f"`{known.name}[i]` in RETURN", use.span, note)
        elif use.how is Which.EACH and known.listed:
            note = f"write FIRST({known.name}), LAST({known.name}) or an aggregate"
            self.report.add(f"`{known.name}` can bind several events", use.span, note)


def _check_uses(uses: Sequence[NamedVariable], report: Report) -> None:
    """What a term may not do with the variables it names."""
    negated = list(dict.fromkeys(use.variable.name for use in uses if use.variable.negated))
    if len(negated) > 1:
        message = f"a term names two negated variables, `{negated[0]}` and `{negated[1]}`"
        at = next(use.span for use in uses if use.variable.name == negated[1])
        report.add(message, at, "each forbidden event is judged alone: write a term for each")
    ways: dict[str, dict[Which | str, NamedVariable]] = {}
    for use in uses:
        ways.setdefault(use.variable.name, {}).setdefault(use.how, use)
        if use.variable.negated and use.how is not Which.EACH:
            note = f"a forbidden event is one event: write `{use.variable.name}.attribute`"
            report.add(f"`{use.variable.name}` is negated and has no set of events", use.span, note)
    for name, found in ways.items():
        current, previous = found.get(Which.CURRENT), found.get(Which.PREVIOUS)
        indexed = current or previous
        if indexed is None or indexed.variable.negated:
            continue
        if not indexed.variable.kleene:
            note = f"only a repeated type has neighbours, as in `Type {name}+`"
            report.add(f"`{name}[i]` of a variable that is not repeated", indexed.span, note)
        elif current is None:
            report.add(
                f"`{name}[i-1]` without `{name}[i]`", indexed.span, f"plain `{name}` means every event"
            )
        elif previous is None:
            report.add(
                f"`{name}[i]` without `{name}[i-1]`", indexed.span, f"plain `{name}` means every event"
            )
        elif Which.EACH in found:
            note = "write two terms"
            report.add(f"plain `{name}` beside `{name}[i]` in one term", found[Which.EACH].span, note)
