"""SELECT LAST, event by event: the partial match that stands at each step, per combination of key values.

A *node* is an event at a step. The nodes of a step lie together, those of partial matches that were carried over
before the new ones, in order of position. A partial match is its last node; `parent` leads back from there, so that a
state is one number per key and step. An event has at most one partial match at a step: parents are never ambiguous.

Terms that are no comparison of one value with another cannot be judged here. The loop guesses that they fail, notes
what it would have asked, and is run again once all of that has been judged; each run is right at least up to the first
question that had no answer, and mostly far beyond, as every first step stands for itself.
"""

import numpy as np
import numpy.typing as npt

from stretto.values.loops import loop
from stretto.values.rows import I64, Bool

NOWHERE = -1
NEVER = np.iinfo(np.int64).max
UNKNOWN, NO, YES = 0, 1, 2


@loop
def follow_latest(
    starts: I64,
    carried: I64,
    nodes: tuple[I64, I64, I64, I64, I64, I64, I64],
    gap_starts: I64,
    gaps: tuple[I64, ...],
    after: I64,
    window: int,
    by_time: bool,
    terms: I64,
    term_starts: I64,
    stored: tuple[I64, Bool],
    probing: tuple[I64, Bool],
    asks: Bool,
    asked: I64,
    answers: npt.NDArray[np.int8],
    state: I64,
    reported: I64,
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Offer all new events to their steps, by position, the last step first; returns (reported, asked, looked).

    `starts[j]`..: the nodes of step j, of which `carried[j]` are old. `nodes` is (position, ts, key, parent, first ts,
    first position, ts of what forbids it); `gaps` is (position, ts, key) of the forbidden events, those of gap g at
    `gap_starts[g]`.., forbidden after step `after[g]`. Gate j < n is step j, gate n + g gap g. `terms[t]` is (step of
    the stored side, whether it is an equality, where the stored keys begin, where the probing ones do), those of gate j
    at `term_starts[j]`... A key of a row that cannot satisfy its term is told by `ok` beside it. `asks[j]`: gate j has
    terms that are asked; `asked[e]` is what e was asked with, node by node, and `answers[e]` the answer.
    """
    position, ts, key, parent, first_ts, first_position, dead = nodes
    gap_position, gap_ts, gap_key = gaps
    stored_keys, stored_ok = stored
    probing_keys, probing_ok = probing
    steps = carried.shape[0]
    gates = steps + after.shape[0]
    at = np.empty(gates, np.int64)
    end = np.empty(gates, np.int64)
    for j in range(steps):
        at[j] = starts[j] + carried[j]
        end[j] = starts[j + 1]
    for g in range(after.shape[0]):
        at[steps + g] = gap_starts[g]
        end[steps + g] = gap_starts[g + 1]
    chain = np.empty(steps, np.int64)
    made, questions, looked = 0, 0, 0
    while True:
        now = NEVER
        for j in range(gates):
            if at[j] < end[j]:
                there = position[at[j]] if j < steps else gap_position[at[j]]
                now = min(now, there)
        if now == NEVER:
            return made, questions, looked
        for turn in range(gates):
            j = steps - 1 - turn if turn < steps else turn
            if at[j] == end[j]:
                continue
            e = at[j]
            if (position[e] if j < steps else gap_position[e]) != now:
                continue
            at[j] += 1
            own = (key[e] if j < steps else gap_key[e]) * steps
            time = ts[e] if j < steps else gap_ts[e]
            before = j - 1 if j < steps else after[j - steps]
            p = NOWHERE
            if before >= 0:
                p = state[own + before]
                if p == NOWHERE or time <= ts[p]:
                    continue
                if dead[p] < time:
                    state[own + before] = NOWHERE
                    continue
                if by_time:
                    inside = time - first_ts[p] <= window
                else:
                    inside = now - first_position[p] < window
                if not inside:
                    state[own + before] = NOWHERE
                    continue
                looked += 1
                q = p
                for back in range(before, -1, -1):
                    chain[back] = q
                    q = parent[q]
                # Where the new rows of a gate begin: what its probing keys are counted from.
                base = starts[j] + carried[j] if j < steps else gap_starts[j - steps]
                passed = True
                for t in range(term_starts[j], term_starts[j + 1]):
                    column = terms[t, 0]
                    left = terms[t, 2] + chain[column] - starts[column]
                    right = terms[t, 3] + e - base
                    if not (stored_ok[left] and probing_ok[right]):
                        passed = False
                    elif terms[t, 1]:
                        passed = stored_keys[left] == probing_keys[right]
                    else:
                        passed = stored_keys[left] <= probing_keys[right]
                    if not passed:
                        break
                if passed and asks[j]:
                    row = e if j < steps else starts[steps] + e
                    known = answers[row] != UNKNOWN
                    for back in range(before + 1):
                        if asked[row, back] != chain[back]:
                            known = False
                            asked[row, back] = chain[back]
                    if known:
                        passed = answers[row] == YES
                    else:
                        answers[row] = UNKNOWN
                        questions += 1
                        passed = False
                if not passed:
                    continue
            if j >= steps:
                dead[p] = time
                continue
            parent[e] = p
            dead[e] = NEVER
            if p == NOWHERE:
                first_ts[e] = time
                first_position[e] = now
            else:
                first_ts[e] = first_ts[p]
                first_position[e] = first_position[p]
                state[own + before] = NOWHERE
            if j == steps - 1:
                reported[made] = e
                made += 1
            else:
                state[own + j] = e
