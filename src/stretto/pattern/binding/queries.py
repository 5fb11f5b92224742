"""Queries as written to bound queries: patterns, terms, RETURN, and what each kind of query asks of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from stretto.errors import Span, near
from stretto.pattern.binding.catalog import Catalog
from stretto.pattern.binding.kinds import a, kind_of
from stretto.pattern.binding.never_holds import never_holding
from stretto.pattern.binding.patterns import BoundPattern, PatternBinder, check_sequence
from stretto.pattern.binding.scope import FamilyRow, Known, Report, Scope, check_size, listing
from stretto.pattern.binding.streams import TAKEN
from stretto.pattern.binding.terms import ExpressionBinder
from stretto.pattern.binding.trends import Term, bind_trend, is_trend
from stretto.pattern.binding.whole_events import starred, whole_event
from stretto.pattern.binding.written import NamedVariable, conjuncts
from stretto.pattern.derived.streams import PatternStream
from stretto.pattern.nodes import (
    TIMES,
    Combine,
    Not,
    Policy,
    Query,
    Return,
    Thinning,
    TrendQuery,
    Variable,
    Window,
    atoms_of,
    column_of,
)
from stretto.pattern.predicates import NEIGHBOURS, Expr, Which, columns_of
from stretto.schema import LISTS, Kind
from stretto.text import syntax
from stretto.text.printer import expression_text

RESULT_COLUMNS: Final = frozenset({"query", *TIMES})


def bind_pattern_stream(
    catalog: Catalog, statement: syntax.CreatePatternStream, report: Report
) -> PatternStream | None:
    """The bound stream, or None if it has mistakes or there is no schema."""
    query = QueryBinder(_with_names(statement.query, report), catalog, report).bind(stream=True)
    return PatternStream(statement.name, query) if isinstance(query, Query) else None


def _with_names(query: syntax.Query, report: Report) -> syntax.Query:
    """What a stream returns are its attributes: a plain one goes by its own name, any other needs one."""
    items = []
    for item in query.returning:
        plain = item.value.name if isinstance(item.value, syntax.Name) else None
        name = plain if item.name is None else item.name
        at = item.span or item.value.span or query.name_span
        if isinstance(item.value, syntax.Star):
            note = "a stream has values as attributes: name them, as in `RETURN a.x AS x`"
            report.add("whole events in a stream", at, note)
            continue
        if name is None:
            note = "as in `LAST(d).load AS load`"
            report.add("an output that is no attribute needs a name", at, note)
        elif name in TAKEN:
            note = "name it otherwise with AS"
            report.add(f"output `{name}` has the name of a special column", at, note)
        items.append(replace(item, name=name))
    return replace(query, returning=tuple(items))


class QueryBinder:
    """Binds one query; `derived` are then the derived streams that it reads."""

    def __init__(
        self, query: syntax.Query, catalog: Catalog, report: Report, row: FamilyRow | None = None
    ) -> None:
        self.query = query
        self.report = report
        self.catalog = catalog
        self.row = row
        self.same: dict[str, None] = {}
        self.derived: list[str] = []

    def bind(self, *, stream: bool = False) -> Query | TrendQuery | None:
        """The bound query, or None if it has mistakes or there is no schema. A stream is never about trends."""
        query = self.query
        pattern = PatternBinder(self.catalog, self.report).bind(query.pattern)
        self.derived = pattern.derived
        self._check_window()
        variables = {known.name: known for known in pattern.variables}
        if self.row is not None and self.row.name in variables:
            at = None if query.for_each is None else query.for_each.span
            message = f"`{self.row.name}` is a row and a variable of the pattern"
            self.report.add(message, at, "name the row otherwise")
        returned = {item.name: item.value for item in query.returning if item.name is not None}
        scope = Scope(variables, self.catalog.schema, row=self.row, returned=returned)
        terms = self._terms(scope)
        bound: Query | TrendQuery
        for word, clause in (("KEEP", query.keep), ("LIMIT", query.limit)) if stream else ():
            if clause is not None:
                note = "it says what a query reports; a stream has an event per match"
                self.report.add(f"{word} in a stream", clause.span, note)
        if stream and query.aggregating:
            note = "a stream is of matches: write RETURN"
            self.report.add("AGGREGATE in a stream", query.returning[0].span, note)
        if not stream and is_trend(query, self.report):
            self._check_trend()
            bound = bind_trend(query, pattern, scope, terms, tuple(self.same), self.report)
        else:
            bound = self._detection(pattern, scope, terms)
        return None if self.report.mistakes or scope.schema is None else bound

    def _check_window(self) -> None:
        within = self.query.within
        if within.row is None:
            check_size(within.size, within.span, "window", self.report)
        elif self.row is None:
            note = "only a query FOR EACH row of a table has it"
            self.report.add(f"`{expression_text(within.row)}` is no window", within.span, note)

    def _check_trend(self) -> None:
        query = self.query
        if query.having:
            note = (
                "a query does not filter its totals: filter the result, where each total is a row with `name`"
            )
            note += " and `value` (a column with `--layout typed`); conditions on events stand in WHERE"
            self.report.add("HAVING in trend aggregation", query.having[0].span, note)
        if query.for_each is not None:
            note = "it is for detection queries: GROUP BY parts trends"
            self.report.add("FOR EACH in trend aggregation", query.for_each.span, note)
        for word, clause in (("KEEP", query.keep), ("LIMIT", query.limit)):
            if clause is not None:
                note = "trends are counted, not reported one by one"
                self.report.add(f"{word} in trend aggregation", clause.span, note)

    def _detection(self, pattern: BoundPattern, scope: Scope, terms: Sequence[Term]) -> Query:
        """A detection query; with mistakes it lacks what could not be bound."""
        query = self.query
        policy = Policy(query.select or "ANY")
        self._check_detection(pattern, policy, terms)
        judging = self._judging(scope)
        bound = [term for term, _, _ in terms if term is not None]
        variables = tuple(
            Variable(known.name, known.negated, known.kleene, known.groups) for known in pattern.variables
        )
        return Query(
            query.name,
            pattern.root,
            variables,
            tuple(
                dict.fromkeys((*bound, *(term for term in judging if not _ends_runs(term, pattern, policy))))
            ),
            tuple(self.same),
            Window(query.within.size, query.within.unit),
            policy,
            (*self._returns(scope), *self._told_apart(scope)),
            query.name_span or query.span,
            tuple(dict.fromkeys(term for term in judging if _ends_runs(term, pattern, policy))),
            thinning=_thinning(query),
        )

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
        self.report.remarks += never_holding((node for _, _, node in terms), scope.variables)
        return terms

    def _judging(self, scope: Scope) -> list[Expr]:
        """The terms of HAVING."""
        binder = ExpressionBinder(scope, self.report, "HAVING", sets=True)
        terms = []
        for node in conjuncts(self.query.having):
            binder.uses = []
            bound = binder.condition(node)
            _check_uses(binder.uses, self.report)
            terms += [] if bound is None else [bound]
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
        if _have_one_kind(node.attribute, node.span, scope, self.report):
            self.same[node.attribute] = None

    # ---- the rest of a detection query -------------------------------------------------------------------

    def _check_detection(self, pattern: BoundPattern, policy: Policy, terms: Sequence[Term]) -> None:
        query = self.query
        for name in query.group_by:
            note = f"write `[{name.name}]` in WHERE"
            self.report.add("GROUP BY belongs to trend aggregation", name.span, note)
        if query.slide is not None:
            note = "a detection query reports every match once; write `[attr]` in WHERE to separate groups"
            self.report.add("SLIDE belongs to trend aggregation", query.slide.span, note)
        keep = query.keep
        if keep is not None and keep.word == "LONGEST" and query.within.unit == "events":
            note = "a match is the longest once time has passed: write WITHIN with a duration"
            self.report.add("KEEP LONGEST needs a window of time", keep.span, note)
        if policy is not Policy.ANY:
            check_sequence(pattern.root, query.pattern, policy, self.report)
        if policy is Policy.LAST:
            self._check_last(pattern, terms)

    def _check_last(self, pattern: BoundPattern, terms: Sequence[Term]) -> None:
        """What is known of an event when it comes says whether it moves a partial match on, or ends it."""
        if self.query.having:
            note = "there is no run to end: write the terms in WHERE"
            self.report.add("HAVING under SELECT LAST", self.query.having[0].span, note)
        parts = pattern.root.parts if isinstance(pattern.root, Combine) else ()
        steps = [number for number, part in enumerate(parts) if not isinstance(part, Not)]
        for place, part in enumerate(parts):
            if not isinstance(part, Not) or not steps or not steps[0] < place < steps[-1]:
                continue
            later = {atom.variable for other in parts[place + 1 :] for atom in atoms_of(other)}
            for _, uses, _ in terms:
                use = next((use for use in uses if use.variable.number in later), None)
                if use is not None and any(use.variable.number == part.part.variable for use in uses):
                    forbidden = pattern.variables[part.part.variable].name
                    note = f"`{forbidden}` ends what stands before it: its terms may name earlier steps only"
                    self.report.add(f"`{use.variable.name}` comes after the NOT", use.span, note)

    def _returns(self, scope: Scope) -> tuple[Return, ...]:
        binder = ExpressionBinder(scope, self.report, "RETURN", sets=True)
        names: set[str] = set()
        columns = {column_of(known.name): known.name for known in scope.variables.values()}
        returns: list[Return] = []
        for item, known in self._items(scope):
            binder.uses = []
            bound = None if known is not None else binder.expression(item.value)
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
            elif known is not None and scope.schema is not None:
                returns += whole_event(known, name, scope)
        return tuple(returns)

    def _items(self, scope: Scope) -> Iterator[tuple[syntax.Item, Known | None]]:
        """What RETURN lists; where that is a whole event, once for each variable, and with it."""
        for item in self.query.returning:
            node = item.value
            if not isinstance(node, syntax.Star):
                yield item, None
                continue
            at = item.span or node.span
            meant = starred(node, scope)
            if meant is None:
                note = near(str(node.variable), scope.variables) or f"known here: {listing(scope.variables)}"
                self.report.add(f"unknown variable `{node.variable}`", at, note)
            elif any(known.negated for known in meant):
                self.report.add(f"`{node.variable}` is negated: a match has no such event", at)
            else:
                for known in meant:
                    yield replace(item, value=syntax.Star(known.name)), known

    def _told_apart(self, scope: Scope) -> Iterator[Return]:
        """The values of PER, as columns that are not shown."""
        binder = ExpressionBinder(scope, self.report, "RETURN", sets=True)
        for number, node in enumerate(() if self.query.keep is None else self.query.keep.per):
            binder.uses = []
            bound = binder.expression(node)
            for use in binder.uses:
                self._check_returned(use)
            if bound is not None:
                yield Return(f"PER {number}", bound, kind_of(bound), hidden=True)

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


def _thinning(query: syntax.Query) -> Thinning | None:
    keep, limit = query.keep or syntax.Keep("ALL"), query.limit
    if keep.word == "ALL" and limit is None:
        return None
    lasting = 0 if keep.lasting is None else keep.lasting.us
    return Thinning(keep.word, lasting, *((0, 0) if limit is None else (limit.count, limit.per.us)))


def _ends_runs(term: Expr, pattern: BoundPattern, policy: Policy) -> bool:
    """Whether a term of HAVING is more than one of WHERE: NEXT has runs to end, which negations never steer."""
    negated = {known.number for known in pattern.variables if known.negated}
    return policy is Policy.NEXT and not columns_of(term) & negated


def _have_one_kind(attribute: str, span: Span | None, scope: Scope, report: Report) -> bool:
    """Whether an attribute that events are to agree on has one kind in all streams of the pattern."""
    kinds: dict[Kind, str] = {}
    for known in scope.variables.values():
        found = scope.kind(known, attribute)
        if attribute in known.clashes:
            report.add(f"`[{attribute}]` has different kinds in the alternatives of `{known.name}`", span)
            return False
        if found is not None:
            kinds.setdefault(found[1], known.name)
    if LISTS & kinds.keys():
        report.add(
            f"`[{attribute}]` is a list", span, "events agree on texts, numbers, times and truth values"
        )
        return False
    if len(kinds) < 2:
        return True
    (one, first), (other, second) = list(kinds.items())[:2]
    message = f"`[{attribute}]` is {a(one)} of `{first}` and {a(other)} of `{second}`"
    report.add(message, span, f"compare them, as in `{first}.{attribute} = {second}.{attribute}`")
    return False


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
