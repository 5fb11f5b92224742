"""The rules of `auto`, one per file, and those that every optimizer builds on."""

from typing import Final

from stretto.memo.explore import PieceRule, Rules, WorkloadRule
from stretto.memo.rules.continue_runs import continue_runs
from stretto.memo.rules.forbid_after import forbid_after
from stretto.memo.rules.forbid_after_growth import forbid_after_growth
from stretto.memo.rules.grow_after_forbid import grow_after_forbid
from stretto.memo.rules.grow_one_more import grow_one_more
from stretto.memo.rules.grow_unary import grow_unary
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.rules.join_wider import join_wider
from stretto.memo.rules.keep_complete import keep_complete
from stretto.memo.rules.meet import meet
from stretto.memo.rules.relax_terms import relax_terms
from stretto.memo.rules.split_in_two import split_in_two
from stretto.memo.rules.split_kleene import split_kleene
from stretto.memo.rules.split_overlapping import split_overlapping
from stretto.memo.rules.unite_disjunction import unite_disjunction

DISJUNCTION: Final[tuple[WorkloadRule, ...]] = (
    unite_disjunction,
    keep_complete,  # it reads what the other one invents
)
OURS: Final = Rules(
    (forbid_after,),
    (
        meet,  # first: the others read what it invents
        relax_terms,
        join_wider,
    ),
)
AUTO: Final = Rules(
    (join_left_to_right, split_in_two, *OURS.pieces),
    OURS.workload,
    grown=(forbid_after_growth, grow_after_forbid, grow_one_more, grow_unary),
    first=DISJUNCTION,
)

ALL: Final[tuple[PieceRule | WorkloadRule, ...]] = (
    *AUTO.pieces,
    split_overlapping,  # `auto` takes of its ways those that may pay
    *AUTO.grown,
    split_kleene,  # the same
    *AUTO.first,
    *AUTO.workload,
    continue_runs,  # for those who say that prefixes of runs may be shared
)
