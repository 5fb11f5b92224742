"""Rates of single types in a generated stream: those that are given, and what is left for the others."""

from collections.abc import Mapping

import numpy as np

from stretto.errors import EventsError, instead_of
from stretto.generate.arrivals import F64


def settle_rates(
    usual: Mapping[str, float], given: Mapping[str, float] | None, total: float | None, otherwise: float
) -> F64:
    """Events per second of every type, in the order of `usual`, which holds their usual shares.

    Types with a given rate have it; the others share the rest of `total` as usual. Without a total there is no rest:
    only the given types occur. With neither, all types share `otherwise`.
    """
    given = given or {}
    for name, rate in given.items():
        if name not in usual:
            raise EventsError(f"the stream has no type `{name}`{instead_of(name, usual)}")
        if not 0.0 <= rate < float("inf"):
            raise EventsError(f"the rate of {name} must not be negative: {rate}")
    named = sum(given.values())
    whole = total if total is not None else named if given else otherwise
    if named > whole * (1.0 + 1e-9):
        raise EventsError(
            f"the rates of single types come to {named:g} per second, more than {whole:g} in all"
        )
    rest = {name: share for name, share in usual.items() if name not in given}
    left, shares = max(whole - named, 0.0), sum(rest.values())
    rates = np.array([given[name] if name in given else left * usual[name] / shares for name in usual])
    if not rates.sum() > 0.0:
        raise EventsError("at least one type must have a rate above 0")
    return rates
