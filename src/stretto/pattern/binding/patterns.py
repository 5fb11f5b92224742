"""Patterns as written to bound patterns: variables numbered, types looked up, every part in its place checked."""

from collections import ChainMap
from dataclasses import field, replace
from typing import Final

from stretto.errors import Span
from stretto.pattern import nodes
from stretto.pattern.binding.catalog import Catalog
from stretto.pattern.binding.scope import Attributes, Known, Report
from stretto.records import dataclass
from stretto.text import syntax

MAX_DEPTH: Final = 100
MAX_REPEATED: Final = 20
"""Repetitions inside each other: the work of planning grows with the square of the levels, and with it the stack."""

# The alternatives of ORs around an atom: (number of the OR, number of the alternative), outermost first.
Choices = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around a part of a pattern."""

    holder: str = ""  # the word of the node that directly holds it
    choices: Choices = ()
    groups: tuple[int, ...] = ()
    listed: bool = False  # some repetition around it can have more than one turn
    repeated: bool = False


@dataclass(slots=True)
class _Occurrence:
    atom: syntax.Atom
    choices: Choices


@dataclass(slots=True)
class BoundPattern:
    """A bound pattern with its variables by number; `derived` are the derived streams it reads."""

    root: nodes.Pattern
    variables: list[Known]
    derived: list[str]


@dataclass(slots=True)
class PatternBinder:
    """Binds the pattern of one query."""

    catalog: Catalog
    report: Report
    variables: dict[str, Known] = field(default_factory=dict)
    derived: list[str] = field(default_factory=list)
    _occurrences: dict[str, list[_Occurrence]] = field(default_factory=dict)
    _groups: int = 0
    _choices: int = 0

    def bind(self, pattern: syntax.Pattern) -> BoundPattern:
        root = self._part(simplify(pattern, self.report), _Around())
        for name in self.variables:
            column = nodes.column_of(name)
            if column != name and column in self.variables:
                at = self._occurrences[column][0].atom.span
                message = f"variable `{column}` has the name of the column of the variable `{name}`"
                self.report.add(message, at, "choose another")
        return BoundPattern(root, list(self.variables.values()), self.derived)

    def _part(self, node: syntax.Pattern, around: _Around) -> nodes.Pattern:
        match node:
            case syntax.Atom():
                return self._atom(node, around, kleene=False, negated=False)
            case syntax.Repeat():
                return self._repeat(node, around)
            case syntax.Not():
                return self._not(node, around)
            case syntax.Combine():
                return self._combine(node, around)
        raise AssertionError(node)

    def _combine(self, node: syntax.Combine, around: _Around) -> nodes.Pattern:
        if node.word in ("SEQ", "AND") and all(isinstance(part, syntax.Not) for part in node.parts):
            note = "add the type that must occur"
            self.report.add(f"{node.word} holds nothing but NOT", node.span, note)
        around = replace(around, holder=node.word)
        if node.word != "OR":
            return nodes.Combine(node.word, tuple(self._part(part, around) for part in node.parts))
        self._choices += 1
        here = self._choices
        parts = [
            self._part(part, replace(around, choices=(*around.choices, (here, i))))
            for i, part in enumerate(node.parts)
        ]
        return nodes.Combine("OR", tuple(parts))

    def _repeat(self, node: syntax.Repeat, around: _Around) -> nodes.Pattern:
        listed = around.listed or node.high != 1
        if isinstance(node.part, syntax.Atom):
            inside = replace(around, listed=listed)
            part: nodes.Pattern = self._atom(node.part, inside, kleene=node.high != 1, negated=False)
        else:
            groups = (*around.groups, self._groups)
            self._groups += 1
            inside = replace(around, holder="", groups=groups, listed=listed, repeated=True)
            part = self._part(node.part, inside)
        return nodes.Repeat(part, node.low, node.high)

    def _not(self, node: syntax.Not, around: _Around) -> nodes.Pattern:
        if around.repeated:
            self.report.add(
                "NOT under a repetition", node.span, "NOT stands in a SEQ or AND that is not repeated"
            )
        elif around.holder in ("OR", "ANY"):
            note = f"NOT stands in SEQ or AND, as in `{around.holder}(..., SEQ(A a, NOT(B b), C c))`"
            self.report.add(f"NOT as an alternative of {around.holder}", node.span, note)
        elif not around.holder:
            note = "NOT stands in SEQ or AND, as in `SEQ(A a, NOT(B b), C c)`"
            self.report.add("NOT alone is no pattern", node.span, note)
        if isinstance(node.part, syntax.Atom):
            return nodes.Not(self._atom(node.part, around, kleene=False, negated=True))
        if isinstance(node.part, syntax.Not):
            self.report.add("NOT inside NOT", node.part.span, "write the type itself")
        else:
            note = "as in `NOT(Type v)`; several NOTs may stand side by side"
            self.report.add("NOT takes one event type", node.part.span or node.span, note)
        inside = self._part(node.part, replace(around, holder="SEQ", repeated=False))
        return inside if isinstance(inside, nodes.Not) else nodes.Not(nodes.Atom(0, nodes.Stream("")))

    def _atom(self, node: syntax.Atom, around: _Around, *, kleene: bool, negated: bool) -> nodes.Atom:
        if not node.type:  # it stands for a pattern that was refused
            return nodes.Atom(0, nodes.Stream(""))
        origin = self.catalog.resolve(node.type, node.span, self.report)
        if origin.derived and node.type not in self.derived:
            self.derived.append(node.type)
        name = node.variable if node.variable is not None else node.type.lower()
        self._check_unique(name, node, around.choices)
        new = Known(
            len(self.variables), name, origin.attributes, negated, kleene, around.listed, around.groups
        )
        old = self.variables.get(name)
        known = new if old is None else self._merged(old, new, node.span)
        self.variables[name] = known
        return nodes.Atom(known.number, origin.stream or nodes.Stream(node.type))

    def _check_unique(self, name: str, node: syntax.Atom, choices: Choices) -> None:
        """A name may come again only in another alternative of the same OR."""
        occurrences = self._occurrences.setdefault(name, [])
        for other in occurrences:
            if _exclude_each_other(other.choices, choices):
                continue
            if node.variable is None and other.atom.variable is None and node.type == other.atom.type:
                message = f"type `{node.type}` occurs twice without a variable"
                self.report.add(message, node.span, f"name them, as in `{node.type} {name}1`")
            elif node.variable is None:
                message = f"`{node.type}` without a variable is `{name}`, which is taken"
                self.report.add(message, node.span, f"name it, as in `{node.type} {name}1`")
            else:
                note = "a name may come again only in another alternative of the same OR"
                self.report.add(f"duplicate variable `{name}`", node.span, note)
            break
        occurrences.append(_Occurrence(node, choices))

    def _merged(self, old: Known, new: Known, span: Span | None) -> Known:
        """One variable that several alternatives bind."""
        if old.negated != new.negated:
            self.report.add(
                f"variable `{new.name}` is negated in one alternative only", span, "use two names"
            )
        elif old.groups != new.groups:
            note = "use two names"
            self.report.add(f"variable `{new.name}` belongs to different repeated groups", span, note)
        attributes: Attributes | None = None
        clashes = old.clashes
        if old.attributes is not None and new.attributes is not None:
            same = old.attributes is new.attributes
            attributes = old.attributes if same else ChainMap(dict(old.attributes), dict(new.attributes))
            both = old.attributes.keys() & new.attributes.keys()
            clashes |= {name for name in both if old.attributes[name] is not new.attributes[name]}
        kleene, listed = old.kleene or new.kleene, old.listed or new.listed
        return replace(old, attributes=attributes, kleene=kleene, listed=listed, clashes=clashes)


def _exclude_each_other(left: Choices, right: Choices) -> bool:
    """Whether two atoms stand in different alternatives of one OR."""
    taken = dict(left)
    return any(taken.get(number, chosen) != chosen for number, chosen in right)


def simplify(node: syntax.Pattern, report: Report, depth: int = 0, repeated: int = 0) -> syntax.Pattern:
    """The pattern without single-operand SEQ, AND, OR, ANY and needless repetitions; wrong bounds are reported.

    `P{1,1}` is P. A repetition of something optional needs no repetition at all: `(P?){m,n}` is `P{0,n}`,
    and `(P{0,n})?` and `(P{1,n})?` are `P{0,n}`.
    """
    if depth > MAX_DEPTH:
        report.add(f"pattern nested more than {MAX_DEPTH} deep", node.span)
        return syntax.Atom("", span=node.span)
    repeated += isinstance(node, syntax.Repeat) and node.high != 1
    if repeated > MAX_REPEATED:
        note = "a repetition of a repetition of one type is one repetition: `(A a+)+` is `A a+`"
        report.add(f"repetitions nested more than {MAX_REPEATED} deep", node.span, note)
        return syntax.Atom("", span=node.span)
    match node:
        case syntax.Combine(_, parts):
            simple = tuple(simplify(part, report, depth + 1, repeated) for part in parts)
            return simple[0] if len(simple) == 1 else replace(node, parts=simple)
        case syntax.Not(part):
            return replace(node, part=simplify(part, report, depth + 1, repeated))
        case syntax.Repeat():
            return _simple_repeat(node, simplify(node.part, report, depth + 1, repeated), report)
    return node


def _simple_repeat(node: syntax.Repeat, part: syntax.Pattern, report: Report) -> syntax.Pattern:
    low, high = node.low, node.high
    if low < 0 or (high is not None and (high < 1 or high < low)):
        note = "expected 0 <= m <= n and 1 <= n"
        report.add(f"impossible repetition {{{low},{high}}}", node.span, note)
        low, high = 0, None
    if isinstance(part, syntax.Repeat):
        if (part.low, part.high) == (0, 1):
            low, part = 0, part.part
        elif (low, high) == (0, 1) and part.low <= 1:
            high, part = part.high, part.part
    return part if (low, high) == (1, 1) else replace(node, part=part, low=low, high=high)


def check_sequence(node: nodes.Pattern, written: syntax.Pattern, policy: str, report: Report) -> None:
    """NEXT and STRICT read types and repeated types, one after another, LAST types alone."""
    is_step, is_steps, types = _is_step, _is_steps, "types, repeated types and NOTs"
    if policy == nodes.Policy.LAST:
        is_step, is_steps, types = _is_type, _is_type_or_not, "types and NOTs"
    if is_step(node) or (
        isinstance(node, nodes.Combine) and node.word == "SEQ" and all(is_steps(part) for part in node.parts)
    ):
        return
    note = f"it takes a SEQ of {types}; SELECT ANY takes every pattern"
    report.add(f"SELECT {policy} cannot read this pattern", written.span, note)


def _is_type(node: nodes.Pattern) -> bool:
    return isinstance(node, nodes.Atom)


def _is_type_or_not(node: nodes.Pattern) -> bool:
    return isinstance(node, nodes.Atom | nodes.Not)


def _is_step(node: nodes.Pattern) -> bool:
    return isinstance(node, nodes.Atom) or (
        isinstance(node, nodes.Repeat) and isinstance(node.part, nodes.Atom)
    )


def _is_steps(node: nodes.Pattern) -> bool:
    if isinstance(node, nodes.Combine):
        return node.word == "SEQ" and all(_is_steps(part) for part in node.parts)
    return isinstance(node, nodes.Not) or _is_step(node)
