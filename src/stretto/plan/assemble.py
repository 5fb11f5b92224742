"""From a solution to a plan: every computation becomes its operators, a shared one once."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from stretto.memo.cost import CostModel
from stretto.memo.memo import Memo
from stretto.memo.ways import WayKind
from stretto.pattern.core import unjudged
from stretto.pattern.disjunction import streams_of
from stretto.pattern.nodes import Policy, Stream
from stretto.pattern.order import NO_ORDER
from stretto.pattern.piece import Branch, Detection, Piece, Place, Slot
from stretto.pattern.predicates import numbered
from stretto.pattern.project import rearrange
from stretto.pattern.repetition_terms import duty, fit
from stretto.plan.build import Builder, Part
from stretto.plan.combine import Source, join_all, narrow, provided_by
from stretto.plan.follow import follow_last, follow_next
from stretto.plan.forbid import forbid, forbid_known
from stretto.plan.grow import grow_slot, growth_order
from stretto.plan.made import Made, draft_of, of_one_slot
from stretto.plan.ops import Emit, Filter, Union
from stretto.plan.record import Computed
from stretto.solve.common.solution import Computation, Solution, inputs_first


class Assembler:
    """Adds the operators of nodes to a plan under construction.

    With a pricing, the operators that finish a computation get its rows and cost. `ambiguous`: alternatives of a group
    could give one repetition twice.
    """

    def __init__(self, memo: Memo, builder: Builder, pricing: CostModel | None, *, ambiguous: bool) -> None:
        self.memo, self.builder, self.pricing, self.ambiguous = memo, builder, pricing, ambiguous
        # By identity: a shared computation is one object of the solution, and its operators are added once.
        self._made: dict[int, Made] = {}
        self._scans: set[int] = set()

    def add(self, node: Computation) -> None:
        """Add the operators of one computation; those of its inputs are there."""
        piece = self.memo.pieces[node.piece]
        sources = [
            Source(self._made[id(part)], self.memo.pieces[read.piece], read.columns)
            for part, read in zip(node.inputs, node.way.inputs, strict=True)
        ]
        made = self._make(piece, node, sources)
        self._made[id(node)] = made
        if self.pricing is not None and not self._is_priced_scan(node):
            rows, cost = (
                self.pricing.rows(self.memo, node.piece),
                self.pricing.cost(self.memo, node.piece, node.way),
            )
            self.builder.expect(made.op, rows, cost)

    def _is_priced_scan(self, node: Computation) -> bool:
        """Return whether this is a scan like one before: equal selections are one operator in every plan."""
        if node.way.kind is not WayKind.SCAN:
            return False
        before = len(self._scans)
        self._scans.add(node.piece)
        return len(self._scans) == before

    def parts(self, node: Computation, seen: set[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The operators whose rows are those of a query's branch, with the piece's columns that theirs are.

        An Emit puts the sets of an ANY together itself. Nodes in `seen` are there, the others are added.
        """
        united = node.way.kind is WayKind.UNITE and streams_of(self.memo.pieces[node.piece]) is not None
        for top in node.inputs if united else (node,):
            for needed in inputs_first(top, seen):
                self.add(needed)
        if not united:
            yield self._made[id(node)].op, self._made[id(node)].layout
            return
        for part, read in zip(node.inputs, node.way.inputs, strict=True):
            made = self._made[id(part)]
            yield made.op, tuple(read.columns[column] for column in made.layout)

    def _make(self, piece: Piece, node: Computation, sources: Sequence[Source]) -> Made:
        match node.way.kind:
            case WayKind.SCAN:
                source = piece.slots[0].source
                assert isinstance(source, Stream)
                return of_one_slot(self.builder.scan_part(source, piece.same), (0,))
            case WayKind.UNITE:
                return self._unite(piece, sources, node.way.rule)
            case WayKind.JOIN:
                return join_all(piece, sources, self.builder, node.way.rule, self._hashed(node))
            case WayKind.FILTER | WayKind.FORBID:
                return narrow(piece, sources[0], self.builder, node.way.rule)
            case WayKind.COMPLETE:
                return self._complete(piece, sources[0], node.way.rule)
            case WayKind.GROW:
                return self._grow(piece, sources, node.way.rule)
            case WayKind.NEXT:
                if piece.policy is Policy.LAST:
                    part = follow_last(piece, self.builder)
                else:
                    part = follow_next(piece, self.builder, *sources)
                return of_one_slot(part, range(part.width))

    def _hashed(self, node: Computation) -> tuple[bool, ...]:
        """How the joins of a way find equal keys; by hash, where costs are not known."""
        if self.pricing is None:
            return (True,) * (len(node.inputs) - 1)
        return self.pricing.hashed(self.memo, node.piece, node.way)

    def _unite(self, piece: Piece, sources: Sequence[Source], because: str) -> Made:
        """The repetitions of a group: the rows of its alternatives, united; then the terms over it alone."""
        part, layout = sources[0].made.whole, sources[0].row
        if len(sources) > 1 or len(layout) < piece.width:
            united = replace(piece, terms=())
            part, layout = self._united(united, sources, because), tuple(range(piece.width))
        here = rearrange(piece, layout)
        terms = fit(here.terms, part.sets)
        if terms:
            kept = self.builder.add(Filter(part.op, terms), "filter_terms", Computed.whole(here))
            part = replace(part, op=kept)
        return of_one_slot(part, layout)

    def _complete(self, piece: Piece, source: Source, because: str) -> Made:
        """The rows of an ANY that lack no event, as those of the AND of its streams."""
        row, known = source.row, source.made.whole
        here = rearrange(piece, row)
        parts = [
            self.builder.scan_part(slot.source, here.same)
            for slot in here.slots
            if isinstance(slot.source, Stream)
        ]
        missing = tuple(column for column in range(known.width) if column not in known.always)
        rows = draft_of(here, parts, frozenset(), self.builder)
        rows.op = self.builder.add(Filter(known.op, (), bound=missing), because, Computed.whole(here))
        return Made(row, tuple(parts), rows.part())

    def _united(self, piece: Piece, sources: Sequence[Source], because: str = "unite_alternatives") -> Part:
        width = piece.width
        sets = [False] * width
        types: list[frozenset[str]] = [frozenset()] * width
        for source in sources:
            whole = source.made.whole
            for column, held, own in zip(source.row, whole.sets, whole.types, strict=True):
                sets[column] |= held
                types[column] |= own
        union = Union(
            parts=tuple(source.made.op for source in sources),
            columns=tuple(source.row for source in sources),
            width=width,
            sets=tuple(sets),
            distinct=self.ambiguous and len(sources) > 1 and streams_of(piece) is None,
        )
        moved = [
            [{source.row[c] for c in columns} for columns in (whole.always, whole.entries, whole.exits)]
            for source in sources
            for whole in (source.made.whole,)
        ]
        always, entries, exits = zip(*moved, strict=True)
        return Part(
            op=self.builder.add(union, because, Computed.whole(piece)),
            sets=tuple(sets),
            types=tuple(types),
            always=tuple(sorted(set.intersection(*always))),
            entries=tuple(sorted(set.union(*entries))),
            exits=tuple(sorted(set.union(*exits))),
        )

    def _grow(self, piece: Piece, sources: Sequence[Source], because: str) -> Made:
        """The repetitions that the rows lack, slot by slot; negations as soon as the rows they judge are whole."""
        core = sources[0]
        row = core.row
        here = rearrange(piece, row)
        growing, grown = here.growing, core.grown
        # One repetition of a group has one slot; a core that stands twice has more.
        agreeing = len(here.slots) > 1 and len(sources) == 2 and sources[1].made is core.made
        parts = list(core.made.parts)
        if not agreeing:
            parts = self._elements(here, growing - grown, parts, row, sources[1:])
        rows = draft_of(here, parts, growing, self.builder)
        rows.op, rows.grown = core.made.op, set(grown)
        duties = tuple(duty(term, here, growing) for term in here.terms)
        provided = provided_by([core], piece, row)
        rows.pending = tuple(unjudged(here, growing - grown, provided.negations))
        # A negation that is judged early drops rows before their repetitions are enumerated. It must not be judged
        # before the slots that its interval or its terms depend on have grown: those would have more events then.
        pending = forbid_known(rows, rows.pending)
        for slot in growth_order(here, growing, duties):
            if slot not in grown:
                grow_slot(rows, slot, duties, because, agreeing=agreeing)
                pending = forbid_known(rows, pending)
        for negation in pending:
            forbid(rows, negation, range(len(parts)))
        sets = [rows.sets[here.starts[slot] : here.starts[slot + 1]] for slot in range(len(parts))]
        whole = (replace(part, sets=held) for part, held in zip(parts, sets, strict=True))
        return Made(row, tuple(whole), rows.part())

    def _elements(
        self,
        here: Piece,
        growing: frozenset[int],
        parts: Sequence[Part],
        row: Sequence[int],
        groups: Sequence[Source],
    ) -> list[Part]:
        """The parts of the slots, with the operator that gives single repetitions where a slot is to grow."""
        found = list(parts)
        group_of = {frozenset(source.columns): source for source in groups}
        for slot in sorted(growing):
            source = here.slots[slot].source
            if isinstance(source, Stream):
                found[slot] = self.builder.scan_part(source, here.same)
            else:
                columns = [row[column] for column in here.columns(slot)]
                alone = Piece((Slot(source),), NO_ORDER, (), here.same, (), here.window)
                found[slot] = self._aligned(group_of[frozenset(columns)], columns, alone)
        return found

    def _aligned(self, source: Source, columns: Sequence[int], group: Piece) -> Part:
        """The rows of a group with their columns in the order in which the core's rows hold them."""
        if list(source.row) == list(columns):
            return source.made.whole
        place = numbered(columns)
        moved = replace(source, columns=tuple(place[column] for column in source.columns))
        return self._united(group, [moved])


def assemble(
    detections: Sequence[Detection],
    memo: Memo,
    solution: Solution,
    builder: Builder,
    pricing: CostModel | None = None,
) -> dict[str, int]:
    """Add a solution's operators and an Emit for each query; the Emits' numbers by query come back."""
    assembler = Assembler(memo, builder, pricing, ambiguous=any(d.ambiguous for d in detections))
    nodes = {
        (root.query, root.branch): (root, node) for root, node in zip(memo.roots, solution.roots, strict=True)
    }
    seen: set[int] = set()
    emits: dict[str, int] = {}
    for detection in detections:
        parts: list[int] = []
        columns: list[tuple[int, ...]] = []
        waits: list[bool] = []
        for i, branch in enumerate(detection.branches):
            root, node = nodes[detection.name, i]
            for part, row in assembler.parts(node, seen):
                parts.append(part)
                columns.append(tuple(branch.columns[root.columns[column]] for column in row))
                waits.append(any(negation.place.waits for negation in branch.piece.negations))
        emit = Emit(
            query=detection.name,
            variables=detection.variables,
            kleene=detection.kleene,
            parts=tuple(parts),
            columns=tuple(columns),
            waits=tuple(waits),
            window=detection.branches[0].piece.window,
            distinct=detection.ambiguous,
            returns=detection.returns,
            thinning=detection.thinning,
            open_ends=_open_ends(detection.branches[0]),
        )
        emits[detection.name] = builder.add(emit, "emit_matches", None)
    return emits


def _open_ends(branch: Branch) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """The variables around each NOT that some runs wait for; empty where all runs of the branch do, or none.

    Only a branch with the policy NEXT has slots that may be left out, and it is the only one of its query.
    """
    piece = branch.piece
    late = [negation for negation in piece.negations if negation.place.waits]
    always = (n.place is not Place.OPEN and any(piece.slots[i].low for i in n.after) for n in late)
    if any(n.place is Place.ANYWHERE for n in late) or any(always):
        return ()

    def variables(slots: Sequence[int]) -> tuple[int, ...]:
        return tuple(branch.columns[column] for slot in slots for column in piece.columns(slot))

    return tuple((variables(negation.after), variables(negation.before)) for negation in late)
