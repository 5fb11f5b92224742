"""The m-rules, one per file. A rule gives a key to an m-op that it is for; m-ops with one key are what it merges."""

from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType
from typing import Final

from stretto.memo.mops.mplan import MOp, MPlan
from stretto.papers.rumor.rules.c_alpha import c_alpha
from stretto.papers.rumor.rules.c_join import c_join
from stretto.papers.rumor.rules.c_mu import c_mu
from stretto.papers.rumor.rules.c_pi import c_pi
from stretto.papers.rumor.rules.c_seq import c_seq
from stretto.papers.rumor.rules.c_sigma import c_sigma
from stretto.papers.rumor.rules.s_alpha import s_alpha
from stretto.papers.rumor.rules.s_join import s_join
from stretto.papers.rumor.rules.s_mu import s_mu
from stretto.papers.rumor.rules.s_seq import s_seq
from stretto.papers.rumor.rules.s_sigma import s_sigma

Rule = Callable[[MOp, MPlan], Hashable | None]

PRIORITIES: Final[tuple[Rule, ...]] = (
    s_sigma,  # before channels: these hold the streams of one m-op
    s_alpha,
    s_join,
    s_seq,
    s_mu,
    c_sigma,
    c_pi,
    c_alpha,
    c_join,
    c_seq,
    c_mu,
)
"""Which rule comes first where several apply; the paper leaves it open (3.3, 7)."""

RULES: Final[Mapping[str, Rule]] = MappingProxyType({rule.__name__: rule for rule in PRIORITIES})
CHANNELS: Final = frozenset(name for name in RULES if name.startswith("c_"))
