"""MOTTO's rules, one per file; the tuples name those that each variant of it uses."""

from typing import Final

from stretto.memo.explore import PieceRule, Rules, WorkloadRule
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.papers.motto.rules.decompose_common import decompose_common
from stretto.papers.motto.rules.merge_subsequence import merge_subsequence
from stretto.papers.motto.rules.merge_substring import merge_substring
from stretto.papers.motto.rules.narrow_window import narrow_window
from stretto.papers.motto.rules.share_longest_common import share_longest_common
from stretto.papers.motto.rules.transform_operator import transform_operator
from stretto.papers.motto.rules.widen_window import widen_window

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

ALL: Final[tuple[PieceRule | WorkloadRule, ...]] = (*MOTTO.workload, *LCSE.workload)
