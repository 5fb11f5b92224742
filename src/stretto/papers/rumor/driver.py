"""Rules applied until none has anything left to merge: inputs first, and by their priorities."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.memo.mops.operators import OperatorKind, StreamOperator
from stretto.papers.rumor.channels import Worth, map_streams
from stretto.papers.rumor.rules import CHANNELS, PRIORITIES, Rule

EQUAL = "equal"
"""In place of a rule: common sub-expressions."""
EQUAL_OUTPUTS = ("s_seq", "s_mu", "s_join")
"""Rules whose operators do the same with the same, but for what is checked after: what they give is one stream."""


def always(_plan: MPlan, _streams: Sequence[str], _readers: Sequence[MOp]) -> bool:
    """The paper has no costs: a channel that can be is."""
    return True


def merged(
    operators: Iterable[StreamOperator], rules: Sequence[Rule] = PRIORITIES, worth: Worth = always
) -> MPlan:
    """The operators as m-ops, with channels between them; every step is kept in the plan.

    Of the operators that are as far from the sources, first common sub-expressions are found. Then rules are applied,
    those of higher priority first, until none applies. Before a rule over channels, streams are mapped to them.
    """
    operators = tuple(operators)
    plan = MPlan.of(operators)
    for level in levels(operators):
        _find_equal(plan, level)
        again = True
        while again:
            again = False
            for rule in rules:
                again |= _apply(plan, level, rule, worth)
    return plan


def levels(operators: Sequence[StreamOperator]) -> Iterator[tuple[str, ...]]:
    """The streams that operators give, by how far these are from the sources."""
    depth: dict[str, int] = {}
    found: defaultdict[int, list[str]] = defaultdict(list)
    for operator in operators:
        depth[operator.output] = 1 + max((depth.get(name, 0) for name in operator.inputs), default=0)
        found[depth[operator.output]].append(operator.output)
    return (tuple(found[number]) for number in sorted(found))


def _find_equal(plan: MPlan, level: Sequence[str]) -> None:
    """Equal operators over the same streams are one; `;` and mu are left to their own rules."""
    groups: defaultdict[Hashable, list[MOp]] = defaultdict(list)
    for mop in _of(plan, level):
        (operator,) = mop.operators
        if operator.kind not in (OperatorKind.SEQ, OperatorKind.MU):
            groups[operator.kind, plan.inputs(operator), operator.definition].append(mop)
    for group in groups.values():
        if len(group) > 1:
            _one_stream(plan, plan.merge(group, EQUAL, group[0].outputs[0]))


def _one_stream(plan: MPlan, mop: MOp) -> None:
    first, *others = mop.outputs
    plan.same |= dict.fromkeys(others, first)


def _apply(plan: MPlan, level: Sequence[str], rule: Rule, worth: Worth) -> bool:
    """Merge what a rule merges; whether that was anything."""
    name = rule.__name__
    if name in CHANNELS:
        map_streams(plan, _of(plan, level), OperatorKind(name.removeprefix("c_")), worth)
    groups: defaultdict[Hashable, list[MOp]] = defaultdict(list)
    for mop in _of(plan, level):
        key = rule(mop, plan)
        if key is not None:
            groups[key].append(mop)
    found = False
    for group in groups.values():
        if len(group) > 1:
            found = True
            into = plan.merge(group, name, group[0].outputs[0])
            if name in EQUAL_OUTPUTS:
                _one_stream(plan, into)
    return found


def _of(plan: MPlan, level: Sequence[str]) -> list[MOp]:
    return list({id(mop): mop for mop in map(plan.by_output.__getitem__, level)}.values())
