"""What KEEP and LIMIT must say, whether they come from text, JSON or Python."""

from stretto.errors import Mistake
from stretto.text import syntax
from stretto.text.values import MAX_INT, size_problem

KEEP_WORDS = ("ALL", "FIRST", "APART", "LONGEST")


def keep_problem(keep: syntax.Keep) -> tuple[str, str] | None:
    """What is wrong with a KEEP, and what to write; None if nothing is."""
    if keep.word not in KEEP_WORDS:
        return f"unknown KEEP `{keep.word}`", "expected `ALL`, `FIRST`, `APART` or `LONGEST`"
    if keep.word == "FIRST" and keep.lasting is None:
        return "KEEP FIRST says for how long", "as in `KEEP FIRST PER a.user FOR 1 HOUR`"
    if keep.word != "FIRST" and keep.lasting is not None:
        return f"KEEP {keep.word} takes no FOR", "only `KEEP FIRST` lasts for a time"
    if keep.word in ("ALL", "LONGEST") and keep.per:
        return f"KEEP {keep.word} takes no PER", "`KEEP FIRST` and `KEEP APART` tell matches apart by values"
    return None if keep.lasting is None else size_problem(keep.lasting.us, "duration")


def limit_problem(limit: syntax.Limit) -> tuple[str, str] | None:
    """What is wrong with a LIMIT, and what to write; None if nothing is."""
    whole = type(limit.count) is int and 1 <= limit.count <= MAX_INT
    if not whole:
        return "LIMIT takes a whole number above 0", "as in `LIMIT 10 PER 1 HOUR`"
    if limit.per.us == 0:
        return "LIMIT needs a period", "as in `LIMIT 10 PER 1 HOUR`; a global top-N is not supported"
    return size_problem(limit.per.us, "period of LIMIT")


def problems(keep: syntax.Keep | None, limit: syntax.Limit | None) -> list[Mistake]:
    """The mistakes of both, each at its place."""
    found = [] if keep is None else [(keep_problem(keep), keep.span)]
    found += [] if limit is None else [(limit_problem(limit), limit.span)]
    return [Mistake(wrong[0], at, wrong[1]) for wrong, at in found if wrong is not None]
