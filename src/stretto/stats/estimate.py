"""How many rows a piece has: events as Poisson processes, terms by their selectivities.

k events of streams with rates r_1 .. r_k, in any order, lie in one window W of time k * W^(k-1) * r_1 * .. * r_k times
per second: the last comes at any moment, the others within W before it. A partial order keeps its share of the k!
orders, terms keep theirs. With a window of n positions the others take any of the n - 1 places before the last.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import exp, factorial, fsum, log, prod
from typing import TYPE_CHECKING, Any, Final

from stretto.pattern.disjunction import all_sets
from stretto.pattern.linear_extensions import count_linear_extensions, gaps_between
from stretto.pattern.nodes import Policy, Stream, Window
from stretto.pattern.order import NO_ORDER, Order
from stretto.pattern.piece import Negation, Piece, Place, Slot
from stretto.pattern.predicates import Changed
from stretto.pattern.repetition_terms import tighten
from stretto.schema import Kind
from stretto.stats.counted_tuples import TupleCounts
from stretto.stats.growth import (
    Law,
    Once,
    Repeated,
    grown,
    once,
    rows_of_sets,
    spread_of,
    thinned,
    with_earlier,
)
from stretto.stats.meetings import MOST_COUNTED, ONE_BY_ONE
from stretto.stats.next_runs import latest_runs, runs
from stretto.stats.remembered import remembered
from stretto.stats.safe_estimates import otherwise
from stretto.stats.selectivity import assumed
from stretto.stats.term_clusters import Equals, Related, is_neighbour, pair, relate, stream_of, whole_cluster

if TYPE_CHECKING:
    from stretto.stats.profile import Stats

MICROSECONDS: Final = 1e6
TAIL: Final = 100.0  # how far the number of sets may be beyond that of the usual number of candidates
MOST: Final = 1e60  # rows per second that stand for any more: costs, products of two, stay far from infinity
LEAST: Final = 1e-30  # events per second that are as good as none: no window of so many lasts forever


class Estimator:
    """Rows per second of pieces, from statistics. Everything is remembered, by piece."""

    def __init__(self, stats: "Stats") -> None:
        self.stats = stats
        self.selectivities = stats.selectivities
        self.counts = TupleCounts(stats.selectivities)
        self.total_rate = min(stats.total_rate, MOST) if stats.total_rate >= LEAST else 0.0
        self._rows: dict[Piece, float] = {}
        self._remembered: dict[tuple[Any, ...], Any] = {}
        self._known: dict[
            int, tuple[Piece, float]
        ] = {}  # by identity: most pieces are asked for again and again
        self._rates: dict[Stream, float] = {}

    # ---- what is asked -----------------------------------------------------------------------------------------

    def rate(self, stream: Stream, same: Sequence[str] = ()) -> float:
        """Events per second of a stream; with `same` only those that have these attributes."""
        found = self._rates.get(stream)
        if found is None:
            found = min(self.stats.rate(stream.type), MOST)
            if stream.where:
                found *= self.selectivities.of_stream(stream).value
            self._rates[stream] = found
        for attribute in same:
            found *= self.selectivities.skew(stream, attribute).present
        return found

    def is_text(self, attribute: str) -> bool:
        """Whether an attribute of the events holds texts."""
        return self.stats.schema.attributes.get(attribute) is Kind.STRING

    @property
    def made(self) -> int:
        """How many pieces were estimated."""
        return len(self._rows)

    def rows(self, piece: Piece) -> float:
        """Rows per second of any piece; finite and at least 0."""
        known = self._known.get(id(piece))
        if known is not None and known[0] is piece:
            return known[1]
        found = self._rows.get(piece)
        if found is None:
            found = self._rows[piece] = self._estimate(piece)
        self._known[id(piece)] = piece, found
        return found

    @remembered
    def extent(self, piece: Piece) -> float:
        """Seconds from the first to the last event of a row, on average."""
        if piece.follows or piece.is_plain:
            slots = float(len(piece.slots))
            if piece.terms:
                slots -= sum(len(chain) - 1 for chain in relate(piece).chains)
            return self.window(piece) * (slots - 1.0) / slots
        alternatives, _ = once(tighten(piece))
        found = [(self._grown(one), len(one.piece.slots)) for one in alternatives]
        total = sum(rows for (rows, _), _ in found)
        slots = sum(rows * (count + more) for (rows, more), count in found) / total if total else found[0][1]
        return self.window(piece) * max(slots - 1.0, 0.0) / max(slots, 1.0)

    def selectivity(self, piece: Piece) -> float:
        """The share of a piece's tuples in window and order that satisfy its terms and `same`; no repetitions."""
        return self._selectivity(piece, relate(piece))

    @otherwise(lambda *_: 1.0)
    def selectivity_of_equalities(self, piece: Piece, left: Sequence[int], right: Sequence[int]) -> float:
        """The share of pairs of a row over the `left` slots and one over the `right` slots that agree.

        On all equality terms and `same` between the two sides; 1 where there are none.
        """
        if not piece.is_plain:
            return self._sides_of_groups(piece, left, right)
        result = 1.0
        for equals in relate(piece).equals:
            mine = tuple(member for member in equals.members if member[0] in left)
            other = tuple(member for member in equals.members if member[0] in right)
            if mine and other:
                # Rows of a side agree among themselves already, so what the sides add is the chance of all over those
                # of each.
                both = self._equal(piece, tuple(sorted(mine + other)))
                apart = self._equal(piece, mine) * self._equal(piece, other)
                result *= min(1.0, both / apart) if apart else 1.0
        return result

    @otherwise(lambda *_: 1.0)
    def crowding(self, piece: Piece, left: Sequence[int], right: Sequence[int]) -> float:
        """How many more pairs of rows over two sets of slots a window holds than with independent streams.

        As the two streams tell that meet most: rows of several events stand where there are many of each.
        """
        if len(piece.slots) > MOST_COUNTED:
            left, right = left[-1:], right[:1]
        return max(self._meeting(piece, i, j) for i in left for j in right)

    def _meeting(self, piece: Piece, i: int, j: int) -> float:
        if (j, i) in piece.order:
            i, j = j, i
        order = ONE_BY_ONE if (i, j) in piece.order else NO_ORDER
        one, other = self._any_stream(piece.slots[i]), self._any_stream(piece.slots[j])
        return self.counts.meetings.of_pair(one, other, order, piece.window)

    def window(self, piece: Piece) -> float:
        """The seconds of a piece's window."""
        return seconds_of(piece.window, self.total_rate)

    # ---- pieces ------------------------------------------------------------------------------------------------

    @otherwise(lambda self, _: self.total_rate)
    def _estimate(self, piece: Piece) -> float:
        """Rows per second; where nothing can be told, as many as there are events."""
        return min(self._counted(piece), MOST)

    def _counted(self, piece: Piece) -> float:
        if piece.policy is Policy.NEXT:
            return runs(piece, self)
        if piece.policy is Policy.LAST:
            return latest_runs(piece, self)
        if piece.is_plain:
            return self._survivors(piece) if piece.negations else self._single_events(piece)
        alternatives, times = once(tighten(piece))
        if times > 1.0 and (sets := all_sets(piece)) is not None:
            some, always = ([self.rate(stream) for stream in streams] for streams in sets)
            return rows_of_sets(some, always, self.window(piece))
        return times * sum(self._grown(found)[0] for found in alternatives)

    def _single_events(self, piece: Piece) -> float:
        """Rows of a piece of single events, its negations left aside."""
        slots = piece.slots
        rates = [self.rate(stream_of(slot)) for slot in slots]
        if len(slots) == 1:
            return rates[0] * self._selectivity(piece, relate(piece))
        related = relate(piece)
        if related.chains:
            return self._selectivity(piece, related) * self._chained(piece, rates, related)
        assumed_rows = self._placed(piece.window, rates, piece.order)
        return assumed_rows * self._crowded(piece, related) if assumed_rows else 0.0

    def _crowded(self, piece: Piece, related: Related) -> float:
        """How many rows there are for one of independent Poisson streams without terms.

        None where each two streams meet as often as independent ones do. Else counted with all terms at once if the
        sample has such tuples; else without them, and their selectivities multiply; else by what pairs of streams
        tell. All were counted at the rates of the sample.
        """
        whole = whole_cluster(piece, related)
        meetings = self.counts.meetings
        # Which keys the terms of a stream leave is often told by those terms, so then rows are counted anyway.
        filtered = related.equals and any(stream.where for stream in whole.frame.streams)
        if not filtered and meetings.are_even(whole.frame):
            return self._selectivity(piece, related)
        then = [meetings.rate(stream) for stream in whole.frame.streams]
        window = whole.frame.window
        expected = 0.0 if window is None else self._placed(window, then, piece.order)
        if expected and len(piece.slots) <= MOST_COUNTED:
            found = self.counts.rows(whole)
            if found is not None:
                return found / expected
            found = self.counts.rows(whole._replace(terms=())) if whole.terms else None
            if found is not None:
                return found / expected * self._of_clusters(related)
        return meetings.crowd(whole.frame) * self._selectivity(piece, related)

    def _of_clusters(self, related: Related) -> float:
        return prod(self.selectivities.of_cluster(cluster).value for cluster in related.clusters)

    def _placed(self, window: Window, rates: Sequence[float], order: Order) -> float:
        """Rows of independent streams with these rates in a window and in an order."""
        count = len(rates)
        if count == 1:
            return rates[0]
        if window.unit == "us":
            steps = [window.size / MICROSECONDS] * (count - 1)
        elif self.total_rate:
            # A place holds an event of a stream with the chance rate / total, and no two events stand at one place.
            steps = [max(window.size - place, 0) / self.total_rate for place in range(1, count)]
        else:
            return 0.0
        # All k! orders of independent events are alike likely, so an order with e linear extensions keeps e / k! of the
        # k * W^(k-1) * rates: the k cancels, and (k - 1)! is left.
        return product_of([*rates, *steps], count_linear_extensions(count, order), factorial(count - 1))

    def _chained(self, piece: Piece, rates: Sequence[float], related: Related) -> float:
        """Rows where runs of slots stand at consecutive positions: a run moves as one event."""
        first = {slot: chain[0] for chain in related.chains for slot in chain}
        left = [slot for slot in range(len(rates)) if first.get(slot, slot) == slot]
        number = {slot: i for i, slot in enumerate(left)}
        order = {(number[first.get(i, i)], number[first.get(j, j)]) for i, j in piece.order}
        kept = Order.closing(pair for pair in order if pair[0] != pair[1])
        result = 1.0
        for chain in related.chains:
            for slot in chain[1:]:
                result *= rates[slot] / self.total_rate if self.total_rate else 0.0
            result *= self._in_time(piece, len(chain) - 1, partitioned=related.partitioned)
        return result * self._placed(piece.window, [rates[slot] for slot in left], kept)

    def _in_time(self, piece: Piece, steps: int, *, partitioned: bool) -> float:
        """The chance that as many consecutive events as this take no longer than the window."""
        if piece.window.unit == "events":
            return 1.0 if steps < piece.window.size or partitioned else 0.0
        expected = self.total_rate * self.window(piece)
        if partitioned:
            for attribute in piece.same:
                expected *= self.selectivities.skew(stream_of(piece.slots[0]), attribute).sum_of_squares
        # The time that n consecutive events take is Erlang distributed: it fits into the window unless fewer than n
        # Poisson events fall into it.
        term = exp(-min(expected, 700.0))
        fewer = term
        for n in range(1, steps):
            term *= expected / n
            fewer += term
        return max(0.0, 1.0 - fewer)

    # ---- selectivities -----------------------------------------------------------------------------------------

    def _selectivity(self, piece: Piece, related: Related) -> float:
        result = 1.0
        for equals in related.equals:
            loose = self._loose(piece, equals, related) if related.chains else equals.members
            result *= self._equal(piece, loose)
        return result * self._of_clusters(related)

    @staticmethod
    def _loose(piece: Piece, equals: Equals, related: Related) -> tuple[tuple[int, str], ...]:
        """Where positions are counted among events equal on `same`, neighbours agree on that already."""
        if not related.partitioned:
            return equals.members
        behind = {slot for chain in related.chains for slot in chain[1:]}
        return tuple(m for m in equals.members if m[0] not in behind or m[1] not in piece.same)

    def _equal(self, piece: Piece, members: tuple[tuple[int, str], ...]) -> float:
        """The chance that the members of a class agree, all in one window."""
        slots = piece.slots
        key = tuple((stream_of(slots[slot]), attribute) for slot, attribute in members)
        result = self.selectivities.agreement(key)
        # Events near each other agree more often than any two of the stream. That is measured between neighbours in the
        # class alone: of three that agree, the outer two then agree anyway.
        for left, right in pairwise(members):
            result *= self.selectivities.nearness(*pair(piece, left, right))
        return min(result, 1.0)

    def _sides_of_groups(self, piece: Piece, left: Sequence[int], right: Sequence[int]) -> float:
        """The same where slots hold groups: by what the first alternative binds."""
        result = 1.0
        for attribute in piece.same:
            skews = [self._any_stream(piece.slots[slot]) for slot in (left[0], right[0])]
            members = tuple((stream, attribute) for stream in skews)
            result *= self.selectivities.agreement(members)
        return min(result, 1.0)

    def _any_stream(self, slot: Slot) -> Stream:
        while not isinstance(slot.source, Stream):
            slot = slot.source.branches[0].piece.slots[0]
        return slot.source

    # ---- negations ---------------------------------------------------------------------------------------------

    def _survivors(self, piece: Piece) -> float:
        """Rows of a piece of single events in whose intervals nothing forbidden happens."""
        result = self._single_events(piece)
        for negation in piece.negations:
            if result:
                result *= self._spared(piece, negation)
        return result

    def _spared(self, piece: Piece, negation: Negation) -> float:
        """The chance that a negation spares a row; as counted, or as Poisson processes would have it."""
        counted = self._spared_as_counted(piece, negation)
        if counted is not None:
            return counted
        slots = len(piece.slots)
        expected = self.rate(negation.stream) * self.window(piece)
        if negation.place is Place.ANYWHERE:
            gaps = float(slots), float(slots)
        else:
            orders = [_order_with_forbidden(piece, negation, number) for number in (1, 2)]
            gaps = gaps_between(slots, piece.order, *orders)
        shares = self._forbidding(piece, negation)
        # The two values of `gaps` are each true of half of the rows, as in `Law`.
        found = [weight * thinned(m, slots, expected * share) for share, weight in shares for m in gaps]
        return sum(found) / 2.0

    def _spared_as_counted(self, piece: Piece, negation: Negation) -> float | None:
        if len(piece.slots) >= MOST_COUNTED:
            return None
        alone = replace(piece, negations=())
        related = relate(alone)
        if related.chains or piece.policy is not Policy.ANY:
            return None
        one = replace(self._with_forbidden(alone, negation, 1), terms=alone.terms)
        cluster = whole_cluster(one, relate(one))
        if self.counts.meetings.are_even(cluster.frame):
            return None
        return self.counts.spared(cluster, tuple(negation.terms), negation.place)

    def _with_forbidden(self, piece: Piece, negation: Negation, number: int) -> Piece:
        """The piece with one or two forbidden events, in order, as further slots with their terms."""
        slots = len(piece.slots)
        new = range(slots, slots + number)
        terms = [term.moved(Changed({slots: one})) for one in new for term in negation.terms]
        return replace(
            piece,
            slots=(*piece.slots, *(Slot(negation.stream) for _ in new)),
            order=_order_with_forbidden(piece, negation, number),
            terms=(*piece.terms, *terms),
            negations=(),
        )

    def _forbidding(self, piece: Piece, negation: Negation) -> list[tuple[float, float]]:
        """The shares of the stream's events in the window that are forbidden, with the shares of rows that have them.

        Rows differ: what a small value forbids a great one may not. One and two forbidden events tell by how much.
        """
        if not negation.terms and not piece.same:
            return [(1.0, 1.0)]
        related = relate(piece)
        # Terms in clusters are left out on both sides of the ratio below, so that it tells of the negation alone and is
        # measured on as many tuples as there are.
        alone = (
            {term for cluster in related.clusters for term in cluster.terms} if related.clusters else set()
        )
        base = replace(piece, terms=tuple(term for term in piece.terms if term not in alone), negations=())
        before = self.selectivity(base)
        one = self._with_forbidden(base, negation, 1)
        mean = min(1.0, self.selectivity(one) / before) if before else 0.0
        if not relate(one).clusters or not 0.0 < mean < 1.0:
            return [(mean, 1.0)]
        square = self.selectivity(self._with_forbidden(base, negation, 2)) / before
        return spread_of(mean, square - mean * mean)

    # ---- repetitions -------------------------------------------------------------------------------------------

    def _grown(self, found: Once) -> tuple[float, float]:
        """Rows of a piece with repetitions, and how many slots a row has more than its core."""
        piece = found.piece
        base = self._survivors(piece) * assumed(found.whole)
        if not base:
            return 0.0, 0.0
        plain = replace(piece, negations=())
        counted = self._grown_as_counted(plain, found)
        if counted is not None:
            return base * counted[0], counted[1]
        laws: list[Law] = []
        for repeated in found.repeated:
            if any(is_neighbour(term) for term in repeated.adjacent):
                base *= self._run_lengths(plain, repeated)
            else:
                laws.append(self._law(plain, repeated))
        if not laws:
            return base, 0.0
        factor, more = grown(laws, len(piece.slots))
        return base * min(factor, self._usually(found)), more

    def _grown_as_counted(self, piece: Piece, found: Once) -> tuple[float, float] | None:
        """What a match of the core becomes, as counted; None where streams are even, or nothing can be counted."""
        single = all(len(one.slots) == 1 and one.own is None for one in found.repeated)
        if not found.repeated or not single or relate(piece).chains:
            return None
        for one in found.repeated:
            if any(is_neighbour(term) for term in one.adjacent):
                return None
        longer = [with_earlier(piece, one, 1) for one in found.repeated]
        frames = [whole_cluster(one, relate(one)).frame for one in longer]
        if all(map(self.counts.meetings.are_even, frames)):
            return None
        return self.counts.grown(piece, found.repeated)

    def _usually(self, found: Once) -> float:
        """More matches of a core match than this come from intervals so full that they are hardly ever met."""
        piece = replace(found.piece, negations=())
        alone, none = self._single_events(piece), self.selectivity(piece)
        if not alone or not none or any(repeated.own is not None for repeated in found.repeated):
            return MOST  # the repetitions of a group can be other alternatives of it
        counts = 0.0
        for repeated in found.repeated:
            one = with_earlier(piece, repeated, 1)
            # Rare terms are measured badly; a further event never makes them likelier.
            counts += self._single_events(one) / alone / max(1.0, self.selectivity(one) / none)
        # Where n candidates lie in an interval there are up to 2^n sets. Their mean over intervals comes from the
        # fullest ones, which a stream of any length hardly meets; 2^(mean of n) is what is usually met (Jensen).
        return TAIL * float(2.0 ** min(counts, 100.0))

    def _law(self, piece: Piece, repeated: Repeated) -> Law:
        width, slots = len(repeated.slots), len(piece.slots)
        one, two = with_earlier(piece, repeated, 1), with_earlier(piece, repeated, 2)
        gaps, ways, among = (1.0, 1.0), 1, 1
        crowd = 1.0
        if width == 1:
            gaps = gaps_between(slots, piece.order, one.order, two.order)
            stream = stream_of(piece.slots[repeated.slots[0]])
            crowd = self.counts.meetings.of_pair(stream, stream, ONE_BY_ONE, piece.window)
        else:
            ways = count_linear_extensions(slots + width, one.order)
            among = count_linear_extensions(slots, piece.order) or 1
        factors = [self.window(piece)] * width + [crowd]
        factors += [self.rate(stream_of(piece.slots[slot])) for slot in repeated.slots]
        if repeated.others and repeated.own is not None:
            own = self.rows(repeated.own)
            others = sum(self.rows(other) for other in repeated.others)
            factors.append(1.0 + min(others / own, MOST) if own else 1.0)
        x = product_of(factors, ways, among)
        none, first, second = (self.selectivity(part) for part in (piece, one, two))
        return Law(
            x,
            width,
            gaps,
            min(first / none, 1.0) if none else 0.0,
            min(second / first, 1.0) if first else 0.0,
            repeated.low,
            repeated.high,
        )

    def _run_lengths(self, piece: Piece, repeated: Repeated) -> float:
        """STRICT repetitions: each one before needs the next position to hold one more."""
        (slot,) = repeated.slots
        base = self.selectivity(piece)
        share = min(1.0, self.selectivity(with_earlier(piece, repeated, 1)) / base) if base else 0.0
        again = min(share * self.rate(stream_of(piece.slots[slot])) / self.total_rate, 0.999)
        most = 1e9 if repeated.high is None else repeated.high
        least = max(repeated.low, 1)
        # The geometric series of again^(j - 1) over the allowed numbers j of repetitions.
        return float((again ** (least - 1) - again**most) / (1.0 - again)) if again else float(least == 1)


def seconds_of(window: Window, total_rate: float) -> float:
    """The seconds of a window; one of events lasts as long as that many take on average, at so many per second."""
    if window.unit == "us":
        return window.size / MICROSECONDS
    return window.size / total_rate if total_rate > 0 else 0.0


def _order_with_forbidden(piece: Piece, negation: Negation, number: int) -> Order:
    """The order of a piece with one or two forbidden events behind its slots."""
    order, after = piece.order, [*negation.after]
    for one in range(len(piece.slots), len(piece.slots) + number):
        order = order.with_between(one, after, negation.before)
        after.append(one)
    return order


def product_of(factors: Sequence[float], ways: int = 1, among: int = 1) -> float:
    """The product of some factors times ways / among, at most `MOST`.

    With many slots its parts lie far beyond what doubles hold, so it is computed by logarithms.
    """
    if not ways or min(factors) <= 0.0:
        return 0.0
    return exp(min(log(ways) - log(among) + fsum(map(log, factors)), log(MOST)))
