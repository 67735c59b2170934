"""The most likely histogram of a noisy release, the one with the least noise, and the confidence at which one exists.

It may have several partitions and loose counts, each with noise; `solvers.noisy.likelihood.maximum` finds the optimum.
The level search narrows symmetric intervals around the published figures until no histogram is left; what remains
is how unlikely the noise must have been at its most unlikely figure.

Source: Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of differentially private histograms through
consistency", VLDB 2010; joint levels of independent noise after docs/mathematics.md, "Noise".

A system over some possible rows only, where all cells are too many to be written down.

What is found there is a dataset like any other; bounds come from elsewhere (`multipliers.proved_anywhere`). Rows
are drawn at random, then by the prices of the linear relaxation over those known so far (column generation).

Source: Gilmore and Gomory, Operations Research 9, 1961; `solvers.programs.columns.pricing` for the search for rows.

Why there is no world: the statements that clash, and for noisy counts the confidence beyond which there is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from solvers.cells.cutting import WordLayout
from solvers.cells.linear_system import SparseStatements, propagate
from solvers.cells.system import CellSystem, Space, system_of
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import (
    ContradictionError,
    EmptyConfidenceSet,
    Inconclusive,
    ReleaseError,
    TooLarge,
    Unsupported,
)
from solvers.foundation.exact import DOUBLE, complement_text, level_text
from solvers.foundation.limits import Limits
from solvers.noisy.likelihood.maximum import Likeliest, greatest, greatest_of_some
from solvers.programs.cell_model import CellModel
from solvers.programs.concave.fractional import relax
from solvers.programs.concave.terms import ConcaveTerm, Gains, conjugates
from solvers.programs.linear_program import verdict
from solvers.statements.boxes import Box, Boxes
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.observations import (
    Observation,
    StatementIndex,
    certain_bounds,
    observations,
    widened,
    within_noise,
)
from solvers.statements.release import UNBOUNDED, Release, RowCount

if TYPE_CHECKING:
    from solvers.programs.columns.pricing import Pricer

DRAWN = 2_000  # random rows at once
SOME_CELLS_MAX_ROWS = 20_000  # rows in all
ROUNDS = 30
SCALE = 1 << 20  # prices are whole numbers over this
CHEAP = 1e-6

GainsOf = Callable[[CellSystem], Gains]


def _some_system(release: Release, gains_of: GainsOf, limits: Limits) -> tuple[CellSystem, Gains]:
    """Return a system over some rows of a release, each a cell of its own, and its gains over all counts.

    Raises `Inconclusive` where no possible row was found. Cost: half of the time left at most.
    """
    from solvers.programs.columns.pricing import Pricer

    share = limits.stage("noisy rows")
    pricer = Pricer(release, limits)
    nothing = np.zeros(pricer.incidence.total + 1, dtype=np.int64)
    rows = _possible(pricer, pricer.improve(_random_rows(release, pricer), nothing, 0, Box(), limits=share))
    if not len(rows):
        raise Inconclusive("no possible row was found at random: give the rows' domain, or a larger --max-cells")
    system = _over(release, pricer, rows)
    gains = gains_of(_ranged(system))
    for turn in range(ROUNDS):
        if share.expired() or len(rows) >= SOME_CELLS_MAX_ROWS:
            break
        share.report(f"rows for the noisy counts: round {turn}, {len(rows):,} rows")
        found = relax(system, gains, share.stage("noisy relaxation"))
        if found.rows is None:
            break
        weights = -np.rint(SCALE * found.worth).astype(np.int64)
        held = rows[found.rows > CHEAP]
        near = np.concatenate([_random_rows(release, pricer), held[:DRAWN]])
        new = _possible(pricer, np.concatenate([near, pricer.improve(near, weights, 0, Box(), limits=share)]))
        new = new[pricer.worth(new, weights)[0] > CHEAP * SCALE]
        more = np.unique(np.concatenate([rows, new]), axis=0)
        if len(more) == len(rows):
            break
        rows, system = more, _over(release, pricer, more)
    return system, gains


def _random_rows(release: Release, pricer: Pricer) -> Ints:
    """Return random rows, as the part of every attribute."""
    parts = [pricer.random.integers(len(a.sizes), size=DRAWN) for a in release.domain.attributes]
    return np.stack(parts, axis=1).astype(np.int64)


def _possible(pricer: Pricer, rows: Ints) -> Ints:
    """Return the possible ones among some rows, each once."""
    rows = np.unique(rows, axis=0)
    return rows[pricer.incidence.columns(rows)[2]]


def _over(release: Release, pricer: Pricer, rows: Ints) -> CellSystem:
    statements, coefs, _ = pricer.incidence.columns(rows)
    k, total = len(rows), pricer.incidence.total
    stated = pricer.incidence.bounds
    low = np.array([-UNBOUNDED if a is None else a for a in stated[0]], dtype=np.int64)
    high = np.array([UNBOUNDED if b is None else b for b in stated[1]], dtype=np.int64)
    column = np.repeat(np.arange(k, dtype=np.int64), statements.shape[1])
    linear = SparseStatements.of(statements.reshape(-1), column, coefs.reshape(-1), (low, high), k)
    layout = WordLayout(release.domain)
    boxes = [Box(tuple((a, 1 << int(p)) for a, p in enumerate(row))) for row in rows]
    words = layout.rows(Boxes.of(boxes))
    sizes = tuple(layout.sizes(words).tolist())
    maximum = release.rows.high if release.rows.high is not None else DOUBLE
    found = propagate(linear, np.zeros(k, dtype=np.int64), np.full(k, maximum, dtype=np.int64))
    return CellSystem(
        release, Space.of(release, Limits()), layout, words, np.arange(k, dtype=np.int64),
        sizes, sizes, linear, (), found, total, False,
    )  # fmt: skip


def _ranged(system: CellSystem) -> CellSystem:
    """Return the system with a cell for every statement alone, so that no count is bounded by the rows known."""
    linear, m = system.linear, len(system.linear)
    every = np.arange(m, dtype=np.int64)
    wide = SparseStatements.of(
        np.concatenate([linear.row, every]),
        np.concatenate([linear.col, linear.columns + every]),
        np.concatenate([linear.coef, np.ones(m, dtype=np.int64)]),
        (linear.low, linear.high),
        linear.columns + m,
    )
    maximum = system.release.rows.high or 0
    bounds = replace(
        system.bounds,
        lower=np.zeros(linear.columns + m, dtype=np.int64),
        upper=np.full(linear.columns + m, maximum, dtype=np.int64),
        conflict=None,
    )
    return replace(system, linear=wide, bounds=bounds)


def _fits(release: Release) -> bool:
    """Return whether a release can be searched over some rows: no alternatives, rows bounded, every count of rows."""
    return not release.choices and release.rows.high is not None


HALF = Fraction(1, 2)
CLOSE = 1.001  # ratio of tail probabilities between which the search goes on figure by figure
SAME = Fraction(1, 10**6)  # relative gain of a tail probability that is not looked for: radii are rounded
CAPS = tuple(Fraction(1, 10**k) for k in (9, 30, 100, 300, 1_000, 3_000))  # noise rarer than that: caps of the rows
BEYOND = 42.0  # nats, a factor of e^42: datasets with more rows than a cap are so much less likely than some dataset
SLOPES = tuple(0.9 * 4.0**e for e in range(-6, 30))  # of log-likelihoods, in units of the noise's scale
MAX_ROWS, FAR = DOUBLE, 1 << 30
NONE = "the statements without noise contradict each other: there is no possible world"
NO_END = "the number of rows is unbounded: give 'rows', at least between bounds"


def likeliest(system: CellSystem, seen: Sequence[Observation], limits: Limits) -> Likeliest:
    """Return the histogram of maximum likelihood within the system's statements, proved where time allows.

    Raises `ContradictionError` where no histogram has a positive likelihood, `Inconclusive` where none was found in
    time, `Unsupported` for noise on anything but counts and for an unbounded number of rows.
    Cost: some linear programs and CP-SAT solves over the free cells.
    """
    return greatest(system, gains_of(system, seen), limits)


def most_likely_of(release: Release, seen: Sequence[Observation], limits: Limits) -> tuple[CellSystem, Likeliest]:
    """Return the system of a release and its most likely histogram; see `likeliest`.

    Where the cells are too many, both are over some possible rows only, found by column generation: the bound then is
    that of the trees one by one.
    """
    limits = limits.limited()
    try:
        system = system_of(release, limits)
    except TooLarge:
        if not _fits(release):
            raise
        reduced, gains = _some_system(release, lambda wide: Gains(gains_of(wide, seen)), limits)
        return reduced, greatest_of_some(reduced, gains, limits)
    return system, likeliest(system, seen, limits)


def most_likely_counts(
    release: Release, seen: Sequence[Observation], limits: Limits
) -> tuple[dict[int, int], Likeliest]:
    """Return the counts of the noisy statements (by number) in the most likely histogram; see `most_likely_of`."""
    system, found = most_likely_of(release, seen, limits)
    sums = system.linear.sums(found.histogram)
    return {o.statement: int(sums[o.statement]) for o in seen}, found


def gains_of(system: CellSystem, seen: Sequence[Observation]) -> list[ConcaveTerm]:
    """Return the log-likelihood of every noisy figure as a function of its count."""
    minimum, maximum = reach(system, seen)
    out = []
    for o in seen:
        low, high = int(minimum[o.statement]), int(maximum[o.statement])
        if o.law.bounded and o.law.bound is not None:
            first, last = o.law.interval(o.published, o.law.bound)
            low, high = max(low, first), min(high, last)
        value = partial(o.law.log_likelihood, o.published)
        linear = "laplace" in o.law.name
        whole = linear and o.published.denominator == 1 and not (o.law.rounded or o.law.clamped)
        found = _gain(o, (low, high), value, (o.law.scale.numerator if linear else 1, whole))
        out.append(replace(found, **_shape_of(o)))
    return out


def _shape_of(seen: Observation) -> dict[str, Any]:
    """Return (shape, shift) of a figure's log-likelihood: a law's is one function of count less whole figure.

    Only a 0 that stands for "at most 0" has one of its own.
    """
    if seen.law.clamped and seen.published == 0:
        return {"shape": ("at most 0", seen.law), "shift": 0}
    whole = math.floor(seen.published)
    return {"shape": (replace(seen.law, clamped=False), seen.published - whole), "shift": whole}


def _gain(
    seen: Observation, ends: tuple[int, int], value: Callable[[Ints], Floats], denominator: tuple[int, bool]
) -> ConcaveTerm:
    """Return a concave function of a noisy count, its ends moved to where it is finite."""
    low, high = ends
    while low <= high and not np.isfinite(value(np.array([low], dtype=np.int64))[0]) and low <= ends[0] + 1:
        low += 1
    while low <= high and not np.isfinite(value(np.array([high], dtype=np.int64))[0]) and high >= ends[1] - 1:
        high -= 1
    near = math.floor(seen.published)
    tried = np.unique(np.clip(np.array([near, near + 1], dtype=object), low, high)).astype(np.int64)
    values = value(tried) if low <= high else np.array([-math.inf])
    if not np.isfinite(values).all():
        raise ContradictionError("no count that the statements leave can have been published", (seen.source,))
    at = int(np.argmax(values))
    return ConcaveTerm(seen.statement, value, low, high, int(tried[at]), float(values[at]), *denominator)


def reach(system: CellSystem, seen: Sequence[Observation] = ()) -> tuple[Ints, Ints]:
    """Return the least and greatest count that cells, statements and number of rows leave every statement of counts.

    Raises `Unsupported` where some of the noisy figures is not a count.
    """
    linear, bounds, rows = system.linear, system.bounds, system.release.rows
    for o in seen:
        if bool((linear.coef[int(linear.start[o.statement]) : int(linear.start[o.statement + 1])] != 1).any()):
            raise Unsupported(f"{o.source}: the likelihood of noise on a sum is not computed, only on counts")
    if rows.high is None:
        raise Unsupported(NO_END)
    if bounds.conflict is not None:
        raise ContradictionError("the exact statements contradict each other: there is no possible world", ())
    minimum = np.maximum(linear.sums(bounds.lower), np.where(system.always, linear.low, 0))
    maximum = np.minimum(linear.sums(np.minimum(bounds.upper, rows.high)), rows.high)
    return minimum, np.minimum(maximum, np.where(system.always, linear.high, UNBOUNDED))


@dataclass(frozen=True, eq=False)
class LeastConfidence:
    """How unlikely the noise must have been: no histogram keeps every figure's noise below a more likely size.

    `confidence` in [0, 1) is the level above which symmetric joint intervals hold a histogram, and below which they do
    not; `tail` the probability, at a figure, of noise at least as large as the largest used (to be compared between
    releases where `confidence` rounds to 1), `histogram` (cells,) attains it. `improbability`, 1 - `confidence`, is a
    p-value: noise draws counts that fit every dataset as badly with no greater probability. `conflict` names figures
    that clash just below, with the intervals there. `proved` is False where a limit ended the search: a lower level
    may do.
    """

    improbability: float
    tail: float
    histogram: Ints
    conflict: tuple[str, ...]
    proved: bool

    @property
    def confidence(self) -> float:
        """Return the least level, above which there is a histogram."""
        return 1.0 - self.improbability


def least_noise(system: CellSystem, seen: Sequence[Observation], limits: Limits) -> tuple[Ints, Fraction]:
    """Return the histogram with the least Σ |published - count|, and that sum.

    Raises like `likeliest`, and `Inconclusive` where the optimum was not proved in time.
    """
    minimum, maximum = reach(system, seen)

    def away(published: Fraction) -> Callable[[Ints], Floats]:
        return lambda counts: -np.abs(float(published) - counts)

    gains = [
        _gain(
            o,
            (int(minimum[o.statement]), int(maximum[o.statement])),
            away(o.published),
            (1, o.published.denominator == 1),
        )
        for o in seen
    ]
    found = greatest(system, gains, limits)
    if not found.proved:
        raise Inconclusive(f"the least noise lies between {-found.bound:g} and {-found.log_likelihood:g}: out of time")
    counts = system.linear.sums(found.histogram)
    return found.histogram, sum((abs(o.published - int(counts[o.statement])) for o in seen), Fraction(0))


def least_confidence(system: CellSystem, seen: Sequence[Observation], limits: Limits) -> LeastConfidence:
    """Return the least joint confidence at which a histogram exists, and what clashes just below it.

    Every figure gets the symmetric interval of the same level ρ^(1/m), m figures with independent noise, so that ρ is
    the joint level. Raises `ContradictionError` where no level helps, `Inconclusive` where no histogram was found.
    Cost: some twenty CP-SAT solves without an objective.
    """
    limits = limits.limited()
    narrowing = ConfidenceSearch(system, seen)
    known = narrowing.histogram(None, limits)
    if known is None:
        raise ContradictionError(NONE, ())
    best, tail = known, narrowing.tail(known)
    above, proved = Fraction(1), False
    while tail < 1 and not limits.expired():
        limits.report(f"most unlikely noise: probability between {float(tail):.3g} and {float(above):.3g}")
        near = above <= tail * Fraction(CLOSE)
        alpha = min(Fraction(1), tail * (1 + SAME)) if near else _middle(tail, above)
        try:
            z = narrowing.histogram(alpha, limits)
        except Inconclusive:
            break
        here = Fraction(0) if z is None else narrowing.tail(z)
        if z is not None and here > tail:
            best, tail = z, here
        elif near:
            proved = True
            break
        elif z is None:
            above = alpha
    conflict = narrowing.conflict(min(Fraction(1), tail * (1 + SAME)), limits) if proved else ()
    proved |= tail >= 1
    one = float(tail)
    improbability = 1.0 if one >= 1 else -math.expm1(len(seen) * math.log1p(-one))
    return LeastConfidence(max(improbability, math.ulp(0.0)), one, best, conflict, proved)


def level_beyond(wide: Release, limits: Limits) -> LeastConfidence:
    """Return `least_confidence` for a widened release (`solvers.statements.observations`), its rows bounded or not.

    Unbounded rows are capped where more of them need rarer noise than a histogram known. Raises like
    `least_confidence`, and `Unsupported` where no partition caps them.
    """
    seen = [o for o in observations(wide) if not o.law.bounded]  # bounded noise has one interval at every level
    if wide.rows.high is not None:
        return least_confidence(system_of(wide, limits), seen, limits)
    for i, alpha in enumerate(CAPS):
        capped = within_noise(wide, alpha)
        if capped.rows.high is None:
            raise Unsupported(NO_END)
        try:
            found = least_confidence(system_of(capped, limits), seen, limits)
            if found.tail > alpha * (1 + SAME):
                return found
        except ContradictionError:
            if i == 0 and verdict(system_of(wide, limits), limits).solvable is False:
                raise
    raise Inconclusive("so much noise is needed that its probability was not found")


def capped_rows(wide: Release, limits: Limits) -> Release:
    """Return a widened release with bounded rows: those of every dataset that is not far less likely than some dataset.

    Itself where the rows are bounded already. Raises `ContradictionError` where no histogram exists whatever the noise,
    `Inconclusive` where nothing bounds the rows. Cost: a CP-SAT solve without an objective, unless no rows do.
    """
    if wide.rows.high is not None:
        return wide
    seen = observations(wide)
    for i, alpha in enumerate(CAPS):
        capped = within_noise(wide, alpha)
        if capped.rows.high is None:
            raise Inconclusive("nothing bounds the number of rows: give 'rows', or at_most")
        system = system_of(capped, limits)
        if (known := _some_histogram(system, seen, limits)) is not None:
            counts = system.linear.sums(known)
            maximum = _rows_as_likely(wide, seen, counts, MAX_ROWS)
            maximum = (
                _rows_as_likely(wide, seen, counts, maximum) if maximum > FAR else maximum
            )  # floats blur less of fewer rows
            return replace(wide, rows=RowCount(wide.rows.low, maximum))
        if i == 0 and verdict(system_of(wide, limits), limits).solvable is False:
            raise ContradictionError(NONE, ())
    raise Inconclusive("so much noise is needed that its probability was not found: give 'rows', or at_most")


def _some_histogram(system: CellSystem, seen: Sequence[Observation], limits: Limits) -> Ints | None:
    """Return a histogram, whatever its noise: the least rows of every cell where they do; None where there is none."""
    if system.bounds.conflict is not None:
        return None
    lower: Ints = system.bounds.lower
    return lower if system.satisfied(lower) else ConfidenceSearch(system, seen).histogram(None, limits)


def _rows_as_likely(wide: Release, seen: Sequence[Observation], counts: Ints, top: int) -> int:
    """Return a number of rows, up to `top`, beyond which every dataset is BEYOND nats less likely than these counts.

    Of a partition's counts, adding up to n, the gains are at most max_k (f(k) - y k) each and y n together, for any
    y < 0, and all others at most their tops. The least n that this leaves over some slopes and all partitions.
    """
    every = Gains([_anywhere(o, top) for o in seen])
    far = math.fsum(every.top.tolist()) - every.total(counts) + BEYOND
    found, index = [top], StatementIndex(wide)
    for b, block in wide.partitions.items():
        inside = index.of_blocks([b])[every.statement]
        rest = np.setdiff1d(np.arange(len(block)), every.statement[inside] - index.first[b])
        open_above = bool((block.high[rest] == UNBOUNDED).any())
        if open_above or not inside.any():
            continue
        some = Gains([every.each[i] for i in np.flatnonzero(inside).tolist()])
        scale = float(max(seen[i].law.scale for i in np.flatnonzero(inside).tolist()))
        minimum = math.inf
        for y in (-slope / scale for slope in SLOPES):
            at, best, slack = conjugates(some, np.full(len(some), y))
            maximum = (math.fsum(best.tolist()) + slack - y * sum(at.tolist()) + far) / -y
            if maximum > 2 * minimum:
                break  # from flat slopes to steep ones it falls, then rises: convex over linear
            minimum = min(minimum, maximum)
        found.append(math.ceil(minimum) + 1 + sum(block.high[rest].tolist()))
    return max(wide.rows.low, min(found))


def _anywhere(seen: Observation, top: int) -> ConcaveTerm:
    """Return the log-likelihood of a noisy figure over all counts that any dataset of `top` rows may have."""
    low, high = certain_bounds(seen.law, seen.published)
    value = partial(seen.law.log_likelihood, seen.published)
    return replace(_gain(seen, (low, min(high, top)), value, (1, False)), **_shape_of(seen))


def _middle(low: Fraction, high: Fraction) -> Fraction:
    """Return a probability between two others, halfway on the scale of logarithms."""
    return min(high, max(low, Fraction(math.sqrt(float(low) * float(high))))) if float(low) > 0 else high / 1000


class ConfidenceSearch:
    """The system under intervals around the published figures that hold less and less noise."""

    def __init__(self, system: CellSystem, seen: Sequence[Observation]) -> None:
        self.system, self.seen = system, seen
        self.minimum, self.maximum = reach(system, seen)
        self.tails: dict[tuple[NoiseLaw, Fraction], Fraction] = {}
        self.radii: dict[tuple[NoiseLaw, Fraction], Fraction] = {}

    def noise(self, o: Observation, count: int) -> Fraction:
        """Return the least size of noise that turns the count into the published figure."""
        return max(Fraction(0), abs(o.published - count) - o.law.slack)

    def tail(self, z: Ints) -> Fraction:
        """Return the least probability, over the figures, that noise is at least as large as a histogram needs it."""
        counts, out = self.system.linear.sums(z), Fraction(1)
        for o in self.seen:
            key = o.law, self.noise(o, int(counts[o.statement]))
            if key not in self.tails:
                self.tails[key] = o.law.tail(key[1] - (1 if o.law.discrete else 0))[1]
            out = min(out, self.tails[key])
        return out

    def interval(self, o: Observation, alpha: Fraction | None) -> tuple[int, int]:
        """Return the counts whose noise, or larger, has a probability above alpha (None: with any noise allowed)."""
        low, high = int(self.minimum[o.statement]), int(self.maximum[o.statement])
        if alpha is None:
            if not o.law.bounded or o.law.bound is None:
                return low, high
            first, last = o.law.interval(o.published, o.law.bound)
            return max(low, first), min(high, last)
        key = o.law, alpha
        if key not in self.radii:
            self.radii[key] = o.law.radius(alpha)
        reached = self.radii[key] + o.law.slack
        first, last = math.ceil(o.published - reached), math.floor(o.published + reached)
        if not o.law.discrete:  # noise of exactly this size is too much
            first, last = math.floor(o.published - reached) + 1, math.ceil(o.published + reached) - 1
        return max(low, first), min(high, last)

    def histogram(self, alpha: Fraction | None, limits: Limits) -> Ints | None:
        """Return a histogram within the intervals, None where there is none; `Inconclusive` out of time."""
        linear = self.system.linear
        low, high = linear.low.copy(), linear.high.copy()
        for o in self.seen:
            low[o.statement], high[o.statement] = self.interval(o, alpha)
            if low[o.statement] > high[o.statement]:
                return None
        linear = replace(linear, low=low, high=high)
        always = linear.take(self.system.always) if self.system.choices else linear
        bounds = propagate(always, self.system.bounds.lower, self.system.bounds.upper, limits.expired, trace=False)
        if bounds.conflict is not None:
            return None
        found = CellModel(replace(self.system, linear=linear, bounds=bounds), limits).solve(None, True, limits)
        if found.histogram is None and not found.none:
            raise Inconclusive("whether a histogram exists was not settled in time")
        return found.histogram

    def conflict(self, alpha: Fraction, limits: Limits) -> tuple[str, ...]:
        """Return the figures that clash where noise must be less unlikely than alpha."""
        from solvers.programs.quickxplain import conflict_of

        ends = {o.statement: self.interval(o, alpha) for o in self.seen}
        alone = [o.source for o in self.seen if ends[o.statement][0] > ends[o.statement][1]]
        return tuple(alone[:1]) if alone else conflict_of(_bounded_release(self.system.release, ends), limits)


def _bounded_release(release: Release, ends: dict[int, tuple[int, int]]) -> Release:
    """Return the release with these bounds on its statements, numbered as in a system, and no noise."""
    index = StatementIndex(release)
    low, high = index.low.copy(), index.high.copy()
    for s, bounds in ends.items():
        low[s], high[s] = bounds
    spans = map(index.span, range(len(release.blocks)))
    blocks = tuple(b.bounded(low[at], high[at]) for b, at in zip(release.blocks, spans, strict=True))
    return replace(release, blocks=blocks, observed=(), confidence=None)


__all__ = [
    "LeastConfidence",
    "Likeliest",
    "capped_rows",
    "gains_of",
    "least_confidence",
    "least_noise",
    "level_beyond",
    "likeliest",
    "reach",
]


@dataclass(slots=True)
class Clash:
    """The statements of a release that clash, and those that clash whatever the noise; None where not looked for."""

    conflict: tuple[str, ...] | None = None
    beyond_noise: tuple[str, ...] | None = None


def known_conflict(release: Release, limits: Limits) -> tuple[str, ...]:
    """Return the statements that clash, found once per release; it may take some seconds more than the limits.

    Where intervals around noisy counts left fewer rows than were published, those intervals clash, not the rows.
    """
    from solvers.programs.quickxplain import conflict_of

    known = release.derived.part(Clash)
    if known.conflict is None:
        limits.report("there is no world: looking for the statements that clash")
        time_left = limits.stage("explanation")
        sure, found = release.certain_rows, tuple[str, ...]()
        if sure is not None and sure != release.rows:
            found = conflict_of(replace(release, rows=sure), time_left)
        known.conflict = found or conflict_of(release, time_left)
    return known.conflict


def clash_of(release: Release, conflict: tuple[str, ...], limits: Limits) -> tuple[str, ...]:
    """Return the statements that clash whatever the noise, of a release without a dataset at its confidence.

    Raises `EmptyConfidenceSet` where only this confidence leaves none: which statements clash at it, and beyond which
    confidence there is a dataset. `conflict`: what is known to clash here. Looked for once per release. How data sets
    are related stands behind them.
    """
    if release.confidence in {None, 1}:
        return tuple(dict.fromkeys((*conflict, *release.relations)))
    known = release.derived.part(Clash)
    if known.beyond_noise is None:
        known.beyond_noise = _beyond_noise(release, conflict, limits)
    return known.beyond_noise


def _beyond_noise(release: Release, conflict: tuple[str, ...], limits: Limits) -> tuple[str, ...]:
    """Return the statements that clash whatever the noise; see `clash_of`."""
    level = float(release.confidence or 1)
    text = f"no dataset has all its noise inside the joint intervals at confidence {level_text(level)}"
    text += f" ({'; '.join(conflict[:8])})" if conflict else ""
    wide = widened(release)
    try:
        found = level_beyond(wide, limits.stage("level that fits"))
    except ContradictionError:
        return known_conflict(wide, limits)
    except (Inconclusive, Unsupported, ReleaseError):
        if all(o is None or o.law.bounded for o in release.observed):
            return conflict
        text += ": so much noise is improbable, not impossible; ask at a higher confidence"
        raise EmptyConfidenceSet(text, level, conflict) from None
    text += f"; there is one beyond confidence {complement_text(found.improbability)}"
    raise EmptyConfidenceSet(text, level, conflict, found.improbability if found.proved else None)
