"""The rules, one per file; the tuples here name those that a paper uses, and ours."""

from typing import Final

from stretto.memo.explore import PieceRule, Rules, WorkloadRule
from stretto.memo.rules.decompose_common import decompose_common
from stretto.memo.rules.forbid_after import forbid_after
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.rules.join_wider import join_wider
from stretto.memo.rules.meet import meet
from stretto.memo.rules.merge_subsequence import merge_subsequence
from stretto.memo.rules.merge_substring import merge_substring
from stretto.memo.rules.narrow_window import narrow_window
from stretto.memo.rules.relax_terms import relax_terms
from stretto.memo.rules.share_longest_common import share_longest_common
from stretto.memo.rules.split_in_two import split_in_two
from stretto.memo.rules.split_off_last import split_off_last
from stretto.memo.rules.transform_operator import transform_operator
from stretto.memo.rules.widen_window import widen_window

MOTTO: Final = Rules(
    (join_left_to_right,),
    (
        merge_substring,  # whole queries first; what the others invent is merged when the rules are applied again
        merge_subsequence,
        decompose_common,
        transform_operator,
        widen_window,
        narrow_window,
    ),
)
MOTTO_MST: Final = Rules((join_left_to_right,), (merge_substring, merge_subsequence))
LCSE: Final = Rules((join_left_to_right,), (share_longest_common,))
PREFIXES: Final = Rules((join_left_to_right, split_off_last))
OURS: Final = Rules(
    (forbid_after,),
    (
        meet,  # first: the others read what it invents
        relax_terms,
        join_wider,
    ),
)
AUTO: Final = Rules((join_left_to_right, split_in_two, *OURS.pieces), OURS.workload)

ALL: Final[tuple[PieceRule | WorkloadRule, ...]] = (
    *AUTO.pieces,
    split_off_last,
    *AUTO.workload,
    *MOTTO.workload,
    *LCSE.workload,
)
