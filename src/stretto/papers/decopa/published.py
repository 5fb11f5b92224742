"""The paper's six queries with the rates, selectivity and capacities that reproduce its plans (sec. 7.1 and 7.3).

Types are named A to I as in the authors' inputs; rates are per window.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from stretto.solve.units.loads import Capacity
from stretto.solve.units.rates import RatedQuery, Tree

CITI: Final[Mapping[str, float]] = MappingProxyType(
    dict(zip("ABCDEFGHI", (4.5, 348.0, 2854.0, 35.0, 3120.0, 20833.0, 6.0, 244.0, 5950.0), strict=True))
)
GOOGLE: Final[Mapping[str, float]] = MappingProxyType(
    dict(zip("ABCDEFGHI", (5002.8, 4761.0, 575.6, 190.8, 2849.6, 1265.0, 0.64, 0.01, 0.2208), strict=True))
)
SELECTIVITY: Final = 0.07
CITI_CAPACITY: Final = Capacity(2_500.0, 80_000.0)
GOOGLE_CAPACITY: Final = Capacity(2_500.0, 500_000.0)
SERVER_CAPACITY: Final = Capacity(6_500.0, 60_000.0)


def _rated(tree: Tree, types: str, rates: Mapping[str, float], repeated: str = "") -> RatedQuery:
    bits = sum(1 << types.index(name) for name in repeated)
    return RatedQuery.even(tree, [rates[name] for name in types], SELECTIVITY, bits)


QUERIES: Final[Mapping[str, tuple[RatedQuery, Capacity]]] = MappingProxyType(
    {
        "citi1": (_rated(Tree("AND", (0, 1, 2, 3)), "CEGD", CITI), CITI_CAPACITY),
        "citi2": (_rated(Tree("AND", (0, 1, 2, 3, 4)), "CBADH", CITI), CITI_CAPACITY),
        "citi3": (_rated(Tree("AND", (0, 1, 2, 3)), "EDAH", CITI, "D"), CITI_CAPACITY),
        "google1": (_rated(Tree("AND", (Tree("SEQ", (0, 1, 2)), 3)), "CEAG", GOOGLE), GOOGLE_CAPACITY),
        "google2": (_rated(Tree("AND", (0, 1, 2, 3)), "CEDI", GOOGLE), GOOGLE_CAPACITY),
        "google3": (_rated(Tree("AND", (0, 1, 2)), "DIB", GOOGLE, "D"), GOOGLE_CAPACITY),
    }
)
