"""The normal form of a detection query: alternatives split off, each a piece over its own columns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations

from stretto.errors import Mistake, QueryError
from stretto.pattern.branches import (
    Alternative,
    Forbidden,
    Leaf,
    NotPlannable,
    RepeatedGroup,
    alternatives,
    always_bound,
    repeated_variables,
    variables_of,
)
from stretto.pattern.canonical.pieces import canonical, piece_key
from stretto.pattern.canonical.terms import TRUE, canonical_term
from stretto.pattern.nodes import Atom, Combine, Not, Pattern, Policy, Query, Repeat, Return, Stream
from stretto.pattern.order import Order
from stretto.pattern.piece import Branch, Detection, Group, Negation, Piece, Slot
from stretto.pattern.predicates import (
    NEIGHBOURS,
    Apply,
    Const,
    Expr,
    Reduce,
    Ref,
    Which,
    position_among,
    walk,
)
from stretto.pattern.repetition_terms import as_single
from stretto.pattern.split_conjunctions import separated
from stretto.records import dataclass
from stretto.schema import Kind


def normalize(query: Query) -> Detection:
    """The normal form of a bound query.

    Raises QueryError where the query is right but no plan can answer it: it splits into too many alternatives, or
    a term needs the borders of repetitions that rows do not keep.
    """
    try:
        return _Normalizer(query).detection()
    except NotPlannable as reason:
        text = f"not supported yet: {reason} (query `{query.name}`)"
        raise QueryError([Mistake(text, query.span)]) from None


@dataclass(frozen=True, slots=True)
class _Term:
    """A term with the variables it names, and those of them it names other than plainly."""

    expr: Expr
    variables: frozenset[int]
    sets: frozenset[int]


def _term(expr: Expr) -> _Term:
    variables: set[int] = set()
    sets: set[int] = set()
    for node in walk(expr):
        if isinstance(node, Ref | Reduce):
            variables.add(node.column)
            if isinstance(node, Reduce) or node.which is not Which.EACH:
                sets.add(node.column)
    return _Term(expr, frozenset(variables), frozenset(sets))


class _Normalizer:
    def __init__(self, query: Query) -> None:
        self.query = query
        self.same = tuple(sorted(query.same))
        self.follows = query.policy in (Policy.NEXT, Policy.LAST)
        having = [_term(term) for term in query.having]
        # What no event decides is decided before the first one: a constant of HAVING is one of WHERE.
        terms = [*map(_term, query.terms), *(term for term in having if not term.variables)]
        negated = frozenset(i for i, variable in enumerate(query.variables) if variable.negated)
        self.positive = [i for i in range(len(query.variables)) if i not in negated]
        self.terms = [term for term in terms if not term.variables & negated]
        self.having = [term for term in having if term.variables]
        self.on_forbidden = [term for term in terms if term.variables & negated]

    def detection(self) -> Detection:
        query = self.query
        terms = (*self.terms, *self.having, *self.on_forbidden)
        sets = frozenset[int]().union(*(term.sets for term in terms))
        pattern = query.pattern if self.follows else _unbracketed(query.pattern, sets)
        parts = [part for part in alternatives(pattern, split=not self.follows) if part.slots]
        column = {variable: i for i, variable in enumerate(self.positive)}
        branches = [self.branch(part, column) for part in parts]
        # Alternatives have no order: the text's would tell OR(A, B) from OR(B, A), and ANY from the OR of its parts.
        if len(branches) > 1:
            branches.sort(key=lambda branch: (piece_key(canonical(branch.piece)[0]), branch.columns))
        lists = frozenset(_listed(query.pattern, inside=False))
        always = frozenset.intersection(*(always_bound(part) for part in parts)) if parts else frozenset()
        return Detection(
            query.name,
            tuple(query.variables[i].name for i in self.positive),
            tuple(i in lists for i in self.positive),
            tuple(branches),
            tuple(self.returned(item, lists, always, column) for item in query.returns),
            _is_ambiguous(parts),
            query.thinning,
        )

    def returned(
        self, item: Return, lists: frozenset[int], always: frozenset[int], column: dict[int, int]
    ) -> Return:
        value = as_single(item.value, lambda i: i not in lists, always)
        return replace(item, value=value.moved(column))

    def branch(self, part: Alternative, column: dict[int, int]) -> Branch:
        """One alternative as a piece; every match of it binds at least one event."""
        piece, variables = self.piece(part, self.terms, self.query.policy)
        return Branch(piece, tuple(column[variable] for variable in variables))

    # ---- pieces ------------------------------------------------------------------------------------------

    def piece(
        self, part: Alternative, terms: Iterable[_Term], policy: Policy
    ) -> tuple[Piece, tuple[int, ...]]:
        """The piece of an alternative, and the variables of its columns.

        A term goes to the slot that has all of its variables, else it stays; one whose variables the alternative
        cannot all bind does not apply.
        """
        variables = tuple(variables_of(part))
        scope = _Scope.of(part)
        inner: list[list[_Term]] = [[] for _ in part.slots]
        kept: list[Expr] = []
        judged = list(self.applying(self.having, scope))
        # A COUNT of one event may leave a constant of HAVING: what no event decides is one of WHERE.
        for term in (*self.applying(terms, scope), *(term for term in judged if not term.variables)):
            slots = {scope.slot[variable] for variable in term.variables}
            if not slots:
                for own in inner:
                    own.append(term)
            elif len(slots) == 1 and self.belongs_inside(part.slots[min(slots)], term):
                inner[min(slots)].append(term)
            else:
                _check_borders(term, part, slots)
                kept.append(term.expr)
        column = {variable: i for i, variable in enumerate(variables)}
        terms_here = [term.moved(column) for term in kept]
        order = part.order
        if policy is Policy.ANY and all(isinstance(slot, Leaf) and not slot.repeats for slot in part.slots):
            order, terms_here = _ordered_by_terms(order, terms_here)
        if policy is Policy.STRICT:
            terms_here += _consecutive(part, self.same)
        piece = Piece(
            tuple(self.slot(slot, own) for slot, own in zip(part.slots, inner, strict=True)),
            order,
            tuple(dict.fromkeys(terms_here)),
            self.same,
            tuple(self.negation(forbidden, part, scope, column) for forbidden in part.forbidden),
            self.query.window,
            Policy.ANY if policy is Policy.STRICT else policy,
            # A term over one variable is no filter of its stream here: the event that fails it ends a run.
            tuple(dict.fromkeys(term.expr.moved(column) for term in judged if term.variables)),
        )
        return piece, variables

    def applying(self, terms: Iterable[_Term], scope: "_Scope") -> Iterator[_Term]:
        """The terms whose variables can all be bound here, sets of one event read as that event."""
        bindable = [term for term in terms if term.variables <= scope.slot.keys()]
        for term in chain.from_iterable(self.parts(term, scope) for term in bindable):
            if not term.sets <= scope.repeated:
                counted = self.query.policy is not Policy.LAST or len(term.variables) == 1
                single = scope.as_single(term, counted=counted)
                if single is None:
                    continue
                term = single  # noqa: PLW2901 - the same term, read more simply
            if not term.variables and canonical_term(term.expr) == TRUE:
                continue
            yield term

    def parts(self, term: _Term, scope: "_Scope") -> Iterable[_Term]:
        """A term, or the terms that say the same here."""
        parts = separated(term.expr, scope.always, at_once=self.follows)
        return (term,) if len(parts) == 1 else map(_term, parts)

    def belongs_inside(self, slot: Leaf | RepeatedGroup, term: _Term) -> bool:
        """Whether a term over one slot is judged below it: on each event, or on each repetition of a group."""
        return isinstance(slot, RepeatedGroup) or not term.sets

    def slot(self, slot: Leaf | RepeatedGroup, terms: Sequence[_Term]) -> Slot:
        if isinstance(slot, Leaf):
            return Slot(_narrowed(slot.stream, terms), slot.low, slot.high)
        column = {variable: i for i, variable in enumerate(slot.variables)}
        branches = []
        for part in slot.alternatives:
            piece, variables = self.piece(part, terms, Policy.ANY)
            branches.append(Branch(piece, tuple(column[variable] for variable in variables)))
        return Slot(Group(len(slot.variables), tuple(dict.fromkeys(branches))), slot.low, slot.high)

    def negation(
        self, forbidden: Forbidden, part: Alternative, scope: "_Scope", column: dict[int, int]
    ) -> Negation:
        """A negation; its terms over the forbidden event alone narrow the stream."""
        it = forbidden.variable
        alone: list[_Term] = []
        related: list[Expr] = []
        places = {**column, it: len(column)}
        mine = [term for term in self.on_forbidden if it in term.variables]
        for term in self.applying(mine, scope.with_forbidden(it)):
            others = term.variables - {it}
            if others:
                _check_borders(term, part, {scope.slot[variable] for variable in others}, outside=True)
                related.append(term.expr.moved(places))
            else:
                alone.append(term)
        stream = _narrowed(forbidden.stream, alone)
        return Negation(
            stream, forbidden.place, forbidden.after, forbidden.before, tuple(dict.fromkeys(related))
        )


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where the variables of an alternative stand."""

    slot: dict[int, int]
    repeated: frozenset[int]
    always: frozenset[int]

    @classmethod
    def of(cls, part: Alternative) -> "_Scope":
        slot: dict[int, int] = {}
        for number, source in enumerate(part.slots):
            if isinstance(source, Leaf):
                slot[source.variable] = number
            else:
                slot.update(dict.fromkeys(source.variables, number))
        return cls(slot, repeated_variables(part), always_bound(part))

    def with_forbidden(self, variable: int) -> "_Scope":
        return _Scope({**self.slot, variable: -1}, self.repeated, self.always)

    def as_single(self, term: _Term, *, counted: bool) -> _Term | None:
        """The term with sets of one event read as that event; None if it holds for lack of neighbours.

        `counted`: a COUNT of one event is 1. Under LAST it is not, unless the term is about that event alone: there it
        is the event that is counted at which the term is judged, and an event of an earlier step takes the place of
        another whatever the term says.
        """
        for node in walk(term.expr):
            if isinstance(node, Ref) and node.column not in self.repeated and node.which in NEIGHBOURS:
                return None
        always = self.always if counted else frozenset()
        return _term(as_single(term.expr, lambda i: i not in self.repeated, always))


def _ordered_by_terms(order: Order, terms: Sequence[Expr]) -> tuple[Order, list[Expr]]:
    """The order with what terms such as `a.ts < b.ts` say of single events, and the terms that say something else.

    Terms that contradict the order, or each other, stay: there is no order that says so.
    """
    kept: list[Expr] = []
    for term in terms:
        match canonical_term(term):
            case Apply(
                "<" | ">" as op, (Ref(one, "ts", which=Which.EACH), Ref(other, "ts", which=Which.EACH))
            ):
                early, late = (one, other) if op == "<" else (other, one)
                if early != late and (late, early) not in order:
                    order = Order.closing([*order, (early, late)])
                    continue
        kept.append(term)
    return order, kept


def _narrowed(stream: Stream, terms: Sequence[_Term]) -> Stream:
    if not terms:
        return stream
    where = (term.expr.moved(dict.fromkeys(term.variables, 0)) for term in terms)
    return Stream(stream.type, tuple(dict.fromkeys((*stream.where, *where))))


def _consecutive(part: Alternative, same: tuple[str, ...]) -> Iterator[Expr]:
    """STRICT: positions go up by one, from slot to slot and inside repeated ones."""
    attribute = position_among(same)

    def at(column: int, which: Which) -> Ref:
        repeats = part.slots[column].repeats
        return Ref(column, attribute, Kind.INT, which if repeats else Which.EACH)

    def follows(later: Ref, earlier: Ref) -> Expr:
        return Apply("=", (later, Apply("+", (earlier, Const(1, Kind.INT)), Kind.INT)), Kind.BOOL)

    for column, slot in enumerate(part.slots):
        if column:
            yield follows(at(column, Which.FIRST), at(column - 1, Which.LAST))
        if slot.repeats:
            yield follows(at(column, Which.CURRENT), at(column, Which.PREVIOUS))


def _check_borders(term: _Term, part: Alternative, slots: set[int], *, outside: bool = False) -> None:
    """Refuse a term that reads a group by repetitions where only whole sets of it are left.

    A group is read by repetitions if the term names two of its variables, or one other than plainly. That can be
    judged as the group grows, beside single events only (`outside`: not even there).
    """
    for number in slots:
        slot = part.slots[number]
        if not isinstance(slot, RepeatedGroup):
            continue
        repeated_beside = any(part.slots[other].repeats for other in slots - {number})
        if (outside or repeated_beside) and _reads_repetitions(term, slot):
            beside = "a forbidden event" if outside else "another repeated part"
            raise NotPlannable(f"a term that relates each repetition of a group with {beside}")
        if any(_reads_repetitions(term, inner) for inner in _nested(slot)):
            raise NotPlannable(
                "a term that relates each repetition of a group in a group with an outer event"
            )


def _reads_repetitions(term: _Term, group: RepeatedGroup) -> bool:
    mine = term.variables.intersection(group.variables)
    return len(mine) > 1 or bool(mine & term.sets)


def _nested(group: RepeatedGroup) -> Iterator[RepeatedGroup]:
    for part in group.alternatives:
        for slot in part.slots:
            if isinstance(slot, RepeatedGroup):
                yield slot
                yield from _nested(slot)


def _unbracketed(node: Pattern, sets: frozenset[int]) -> Pattern:
    """(B b+)+ is B b+: any number of events can be bracketed so. Not where a term looks at the set in each bracket."""
    match node:
        case Repeat(Repeat(Atom(variable, _) as atom, 1, None), low, _) if variable not in sets:
            return Repeat(atom, low, None)
        case Repeat(part, low, high):
            return Repeat(_unbracketed(part, sets), low, high)
        case Combine(word, parts):
            return Combine(word, tuple(_unbracketed(part, sets) for part in parts))
    return node


def _listed(node: Pattern, *, inside: bool) -> Iterator[int]:
    """The variables that can bind several events, by their own repetition or by a group's."""
    match node:
        case Atom(variable, _):
            if inside:
                yield variable
        case Combine(_, parts):
            for part in parts:
                yield from _listed(part, inside=inside)
        case Repeat(part, _, high):
            yield from _listed(part, inside=inside or high != 1)
        case Not():
            pass


def _is_ambiguous(parts: Sequence[Alternative]) -> bool:
    """Whether one match could come out twice: from two alternatives, or from two bracketings of a group."""
    if any(
        _brackets_freely(slot) for part in parts for slot in part.slots if isinstance(slot, RepeatedGroup)
    ):
        return True
    if len(parts) == 1:
        return False
    bounds = [(always_bound(part), frozenset(variables_of(part))) for part in parts]
    if all(least == most for least, most in bounds):
        return len({most for _, most in bounds}) < len(bounds)
    return any(a[0] | b[0] <= a[1] & b[1] for a, b in combinations(bounds, 2))


def _brackets_freely(group: RepeatedGroup) -> bool:
    return len(group.alternatives) > 1 or any(slot.repeats for slot in group.alternatives[0].slots)
