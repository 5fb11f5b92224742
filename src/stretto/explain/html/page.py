"""A plan as one HTML page: what it costs, its operators as a drawing and as tables, and what a run of it measured.

A page holds all it needs: it loads nothing from elsewhere, and every text in it is escaped.
"""

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from stretto.explain.html.sections import sections
from stretto.explain.measured import geometric_mean, measured_text, q_error_text, q_errors
from stretto.explain.model import NANOSECONDS, Estimate, Explanation
from stretto.explain.numbers import factor_text, share_text, time_text
from stretto.explain.text import bound_text, explanation_text, is_none, saving_text, template_lines
from stretto.explain.units import units_text
from stretto.screen import LINES, counted, visible

HERE: Final = "stretto.explain.html"
Card = tuple[str, str]


def explain_page(found: Explanation, *, title: str = "Plan") -> str:
    """The page as text; if the plan was run, with what was measured."""
    return rendered(
        "explain.html",
        title=title,
        subtitle=_subtitle(found),
        cards=[*_cards(found), *_measured_cards(found)],
        summary=list(_summary(found)),
        sections=list(sections(found)),
        texts=list(_texts(found)),
    )


def _subtitle(found: Explanation) -> str:
    run = "" if found.run is None else f"; run over {counted(found.run.events, 'event')}"
    return f"{counted(found.answered, 'query')}, planned by {found.optimizer}{run}"


def _cards(found: Explanation) -> Iterator[Card]:
    yield found.optimizer, "optimizer"
    yield f"{len(found.rows):,}", f"operators, {len(found.shared):,} for several queries"
    known = found.estimate
    if known is None:
        return
    period = found.period
    counted_too = (
        "" if known.tried is None else f"; {time_text(known.cost * period)} by the work counted on a sample"
    )
    yield time_text(known.estimated * period), f"estimated CPU time {found.shown_for}{counted_too}"
    if not is_none(found):
        yield time_text(known.alone * period), _against(known)
    yield ("unknown" if known.gap is None else share_text(known.gap, 1.0)), _bound(found, known)
    yield time_text(known.seconds * NANOSECONDS), "to plan"


def _against(known: Estimate) -> str:
    times = f", {factor_text(known.alone / known.estimated)} as much" if known.estimated > 0 else ""
    return f"with --optimizer none{times}"


def _bound(found: Explanation, known: Estimate) -> str:
    """What the gap means."""
    if known.lower_bound is None:
        return "gap to the best of the plans considered: no lower bound"
    lowest = time_text(known.lower_bound * found.period)
    return f"gap to the best of the plans considered, at most; lower bound {lowest}"


def _measured_cards(found: Explanation) -> Iterator[Card]:
    if found.run is None:
        return
    yield time_text(found.run.elapsed * NANOSECONDS), "the whole run"
    if errors := q_errors(found):
        mean = q_error_text(geometric_mean([error for error, _ in errors]))
        worst, number = errors[-1]
        yield mean, f"q-error of rows, mean; worst {q_error_text(worst)} at n{number}"
    if found.run.totals:
        yield f"{sum(found.run.totals.values()):,}", "totals of trends"


def _summary(found: Explanation) -> Iterator[str]:
    if found.estimate is None:
        yield "Rows and CPU time are unknown without statistics of the events: give --events or --stats."
        return
    saving = "" if is_none(found) else saving_text(found.estimate)
    sentences = (saving, *template_lines(found.estimate), bound_text(found.estimate))
    if said := "; ".join(filter(None, sentences)):
        yield f"{said[0].upper()}{said[1:]}."


def _texts(found: Explanation) -> Iterator[tuple[str, str]]:
    yield "The plan", explanation_text(found)
    if found.run is not None:
        yield "Estimated and measured", measured_text(found)
    if found.units is not None:
        yield "Units", units_text(found.units)
    if found.workload:
        yield "The queries", found.workload


@cache
def _environment(package: str) -> Environment:
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(HERE)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: visible(value, LINES) if type(value) is str else value,
    )


def rendered(template: str, package: str = HERE, **values: Any) -> str:
    """The page of a template of a package. Browsers may run our one script, and load nothing."""
    script = files(HERE).joinpath("templates/explain.js").read_text(encoding="utf-8")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return (
        _environment(package).get_template(template).render(script=Markup(script), digest=digest, **values)  # noqa: S704 - our own file
    )
