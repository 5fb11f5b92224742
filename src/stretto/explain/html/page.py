"""A plan as one HTML page: what it costs, its operators as a drawing and as tables, and what a run of it measured."""

from collections.abc import Iterator

from stretto.explain.numbers import factor_text, number_text, share_text, time_text
from stretto.plan.analyze import NANOSECONDS, Analysis, analysis_text
from stretto.plan.dag import Estimate, Plan
from stretto.plan.explain import bound_text, counted, explain, saving_text, shared
from stretto.plan.q_error import geometric_mean, q_error_text
from stretto.report.operator_parts import operator_parts
from stretto.report.page import rendered
from stretto.report.trend_parts import trend_parts
from stretto.stats.profile import Stats
from stretto.trends.estimate import TrendEstimate, estimated

Card = tuple[str, str]


def explain_page(
    plan: Plan, *, title: str = "Plan", stats: Stats | None = None, analysis: Analysis | None = None
) -> str:
    """The page as text. Trend queries have estimates by `stats`; with an analysis, what was measured is shown too."""
    trends = None if plan.trends is None or stats is None else estimated(plan.trends, stats)
    parts = list(operator_parts(plan, analysis)) if plan.queries else []
    if plan.trends is not None:
        parts += trend_parts(plan.trends, trends, None if analysis is None else analysis.trends)
    return rendered(
        "explain.html",
        title=title,
        subtitle=_subtitle(plan, analysis),
        cards=[*_cards(plan), *_trend_cards(plan, trends), *_measured_cards(analysis)],
        summary=list(_summary(plan)),
        parts=parts,
        texts=list(_texts(plan, analysis)),
    )


def _subtitle(plan: Plan, analysis: Analysis | None) -> str:
    trends = 0 if plan.trends is None else len(plan.trends.queries)
    sizes = [counted(len(plan.queries), "query")] if plan.queries else []
    sizes += [counted(trends, "trend query")] if trends else []
    run = "" if analysis is None else f"; run over {counted(analysis.measured.events, 'event')}"
    return f"{' and '.join(sizes)}, planned by {plan.optimizer}{run}"


def _cards(plan: Plan) -> Iterator[Card]:
    yield plan.optimizer, "optimizer"
    if not plan.queries:
        return
    yield f"{len(plan.ops):,}", f"operators, {len(shared(plan)):,} for several queries"
    known = plan.estimate
    if known is None:
        return
    yield time_text(known.cost), "estimated cost per second of stream"
    yield time_text(known.alone), _against(known)
    yield ("unknown" if known.gap is None else share_text(known.gap, 1.0)), _bound(known)
    yield time_text(known.seconds * NANOSECONDS), "to plan"


def _against(known: Estimate) -> str:
    times = f", {factor_text(known.alone / known.cost)} as much" if known.cost > 0 else ""
    return f"by none, with nothing shared or reordered{times}"


def _bound(known: Estimate) -> str:
    """What the gap means."""
    if known.lower_bound is None:
        return "gap to the best plan: no lower bound"
    return f"gap to the best plan at most; lower bound {time_text(known.lower_bound)}"


def _trend_cards(plan: Plan, estimate: TrendEstimate | None) -> Iterator[Card]:
    if plan.trends is None:
        return
    yield f"{len(plan.trends.units):,}", f"units of {counted(len(plan.trends.queries), 'trend query')}"
    if estimate is not None:
        yield number_text(estimate.cost), "estimated updates of trends per second of stream"
        yield number_text(estimate.alone), "the same with nothing shared"


def _measured_cards(analysis: Analysis | None) -> Iterator[Card]:
    if analysis is None:
        return
    yield time_text(analysis.measured.elapsed * NANOSECONDS), "the whole run"
    if errors := analysis.q_errors():
        mean = geometric_mean([error for error, _ in errors])
        yield (
            q_error_text(mean),
            f"q-error of rows, mean; worst {q_error_text(errors[-1][0])} at n{errors[-1][1]}",
        )
    if analysis.trends is not None:
        totals = sum(analysis.trends.measured.totals.values())
        yield f"{totals:,}", f"totals of trends in {time_text(analysis.trends.at_work * NANOSECONDS)}"


def _summary(plan: Plan) -> Iterator[str]:
    if plan.queries and plan.estimate is None:
        yield "Without statistics of the events nothing is known about rows and costs: give --events or --stats."
    elif plan.queries and plan.estimate is not None:
        said = [text for text in (saving_text(plan.estimate), bound_text(plan.estimate)) if text]
        if said:
            yield f"{'; '.join(said)}."


def _texts(plan: Plan, analysis: Analysis | None) -> Iterator[tuple[str, str]]:
    yield "The plan", explain(plan)
    if analysis is not None:
        yield "Estimated and measured", analysis_text(analysis)
    if plan.workload is not None:
        yield "The queries", plan.workload.text or plan.workload.to_text()
