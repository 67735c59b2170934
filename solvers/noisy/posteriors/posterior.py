"""The exact posterior of the counts of one noisy partition: disjoint cells that cover the row space, one figure each.

P(counts) ∝ Π_s w_s(c_s) given Σ c_s = n: one convolution, windowed around where the posterior lies, with a rigorous
bound on what the windows leave out. Two priors, named in every result:

- `counts`: every count vector that sums to n is equally likely, and rows are uniform inside a cell given its count;
  w_s(c) = likelihood.
- `worlds`: every sequence of n rows is equally likely; w_s(c) = likelihood * size_s^c / c!. A multinomial prior in the
  sizes of the cells, which overrides the noise where sizes and shares of rows differ.

With n in an interval each n is equally likely beforehand, then each count vector (or sequence) of that n: a count
vector has weight 1 / (number of vectors that sum to n), or n! / S^n. Inconsistent figures are a normal input.

Source: Barak et al., "Privacy, accuracy, and consistency too", PODS 2007, and Williams, McSherry, "Probabilistic
inference and differential privacy", NIPS 2010 (likelihood of noisy counts); the convolution is in
`solvers.noisy.posteriors.convolution`.

The exact posterior over the true counts of a release that is one noisy partition, computed once per release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from solvers.cells.partition_cells import cells_of
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError
from solvers.foundation.limits import Limits
from solvers.noisy.posteriors.convolution import (
    UNIT,
    CountWeights,
    LogLikelihood,
    RowCountPrior,
    WindowChain,
    between,
    check,
    exponential_tilt,
    powers,
    window,
)
from solvers.statements.observations import observations
from solvers.statements.release import Release

Prior = Literal["counts", "worlds"]
Convention = Literal["ordered", "assigned"]
CHUNK = 4_000_000
LAW_BYTES, LAW_WORK = 64, 3e-9  # of a law of up to n rows, by row: its arrays, and seconds of work of a pass over it


@dataclass(frozen=True, slots=True)
class Term:
    """One cell: its log-likelihood (natural, concave in the count), raw rows, and the least and greatest count.

    `log_likelihood` takes an int64 array of counts; -inf where a count is impossible. A cell without a noisy figure
    has 0 everywhere and says what it knows by `low` and `high` (None: no bound). A cell of size 0 holds no row.
    """

    log_likelihood: LogLikelihood
    size: int
    low: int = 0
    high: int | None = None


@dataclass(eq=False)
class PosteriorPart:
    """The posterior for a range of n: counts that cannot vary (`fixed`), and a chain for the cells in `order`."""

    fixed: Ints
    order: list[int]
    chain: WindowChain
    theta: float
    scale: float  # natural log of the weight that 1 in the chain stands for
    share: float = 1.0
    marginals: list[Floats] = field(default_factory=list)

    @property
    def log_total(self) -> float:
        """Return the natural log of the weight inside the windows."""
        return self.scale + math.log(self.chain.total) if self.chain.total > 0 else -math.inf

    def rows(self) -> tuple[int, Floats]:
        """Return the least number of rows and the probabilities from there on."""
        found = self.chain.forward[-1] * self.chain.backward[-1] / self.chain.total
        return self.chain.starts[-1] + int(self.fixed.sum()), found

    def laws(self) -> list[tuple[int, Floats]]:
        """Return the same for the count of every cell."""
        out = [(value, np.ones(1)) for value in self.fixed.tolist()]
        for s, w, marginal in zip(self.order, self.chain.windows, self.marginals, strict=True):
            out[s] = w.low, marginal
        return out

    def entropy(self) -> float:
        """Return the joint entropy of the counts in nats: ln total - E ln(weight)."""
        pairs = [(self.rows()[1], self.chain.backward[-1])]
        pairs += [(m, w.values) for m, w in zip(self.marginals, self.chain.windows, strict=True)]
        found = [m[m > 0] @ np.log(weight[m > 0]) for m, weight in pairs]
        return math.log(self.chain.total) - math.fsum(found)


@dataclass(frozen=True, eq=False)
class CountPosterior:
    """What a noisy partition says about its counts; arrays have one entry per cell, in the order of the terms.

    `marginals[s][i]` is P(c_s = low[s] + i), `remainder` bounds the posterior probability of all that the windows leave
    out, plus an allowance for rounding: no probability below is wrong by more. `rows_distribution` is P(n), `likely` a
    jointly most likely count vector. `entropy_counts_bits` is the joint entropy of the counts; the entropy of the data
    adds the mean log2 number of worlds given the counts, as sequences of rows (`entropy_rows_bits`) or with the
    cell of each row known (`entropy_assigned_bits`): under both priors worlds are uniform given the counts.
    """

    prior: Prior
    rows: tuple[int, int]
    low: Ints
    marginals: list[Floats]
    remainder: float
    rows_distribution: dict[int, float]
    expected: Floats
    likely: Ints
    entropy_counts_bits: float
    entropy_rows_bits: float
    entropy_assigned_bits: float
    sizes: tuple[int, ...] = field(repr=False)
    parts: list[PosteriorPart] = field(repr=False)

    def interval(self, p: float) -> tuple[Ints, Ints]:
        """Return the equal-tailed credible interval of every cell's count, of probability at least p."""
        if not 0 < p < 1:
            raise ReleaseError(f"a credible interval needs a probability between 0 and 1, not {p}")
        ends = np.zeros((2, len(self.low)), dtype=np.int64)
        for s, marginal in enumerate(self.marginals):
            rising = np.cumsum(marginal)
            at = np.searchsorted(rising / rising[-1], [(1 - p) / 2, (1 + p) / 2])
            ends[:, s] = self.low[s] + np.minimum(at, len(marginal) - 1)
        return ends[0], ends[1]

    def entropy(self, convention: Convention = "ordered") -> float:
        """Return the entropy of the data in bits: of the counts, and of the rows given the counts."""
        inside = self.entropy_rows_bits if convention == "ordered" else self.entropy_assigned_bits
        return self.entropy_counts_bits + inside

    def _pay_for_prior(self, passes: int, limits: Limits) -> None:
        """Count so many passes over laws of up to n rows; `Inconclusive` where there is no memory or time for them."""
        if LAW_BYTES * self.rows[1] > limits.room:
            raise Inconclusive(f"the prior of {self.rows[1]:,} rows needs more memory than allowed: allow more memory")
        if not limits.pay(LAW_WORK * passes * self.rows[1]):
            raise Inconclusive(f"the prior of {self.rows[1]:,} rows needs more time than is left: allow more time")

    def prior_entropy(self, convention: Convention = "ordered", limits: Limits | None = None) -> float:
        """Return the same entropy before the release, that of n included. Cost: O(n) per cell and n at most."""
        from scipy.special import gammaln

        self._pay_for_prior(30 + self.rows[1] - self.rows[0], limits or Limits())
        n, filled = np.arange(self.rows[0], self.rows[1] + 1), [size for size in self.sizes if size]
        if not filled:
            return 0.0
        mean, orders, inside = float(n.mean()), float(gammaln(n + 1.0).mean()), math.log(len(n))
        if self.prior == "worlds":
            inside += mean * math.log(sum(filled)) + (_multinomials(n, filled) - orders) * (convention == "assigned")
            return inside / math.log(2)
        inside += mean / len(filled) * math.fsum(map(math.log, filled)) - float(
            RowCountPrior(False, len(filled)).weight(n).mean()
        )
        return (inside + (orders - _compositions(n, len(filled))) * (convention == "ordered")) / math.log(2)

    def bits_removed(self, convention: Convention = "ordered") -> float:
        """Return by how many bits the release lowers the entropy of the data (negative where it raises it)."""
        return self.prior_entropy(convention) - self.entropy(convention)

    def expected_rows(self, shares: NDArray[np.float64]) -> Floats:
        """Return the mean number of rows in each profile; shares (k, J) are |profile ∩ cell| / size of the cell."""
        return self._checked(shares) @ self.expected

    def absent(self, shares: NDArray[np.float64]) -> Floats:
        """Return the probability that no row lies in each profile, E Π_s (1 - share_s)^c_s, within `remainder`.

        Cost: a product with one marginal where a profile meets one cell, else a pass over the cells between the first
        and the last one that it meets; equal profiles are answered once.
        """
        given = self._checked(shares)
        met, out = (given > 0).sum(axis=1), np.ones(len(given))
        for s, marginal in enumerate(self.marginals):
            mine = np.flatnonzero((met == 1) & (given[:, s] > 0))
            counts = self.low[s] + np.arange(len(marginal))
            for some in np.array_split(mine, 1 + len(mine) * len(marginal) // CHUNK):
                out[some] = powers(given[some, s], counts) @ marginal
        chosen, back = np.unique(given[met > 1], axis=0, return_inverse=True)
        found = [math.fsum(part.share * self._without(part, x) for part in self.parts) for x in chosen]
        out[met > 1] = np.array(found, dtype=np.float64)[back.reshape(-1)]
        return np.minimum(out, 1.0)

    def absent_before(self, shares: NDArray[np.float64], limits: Limits | None = None) -> Floats:
        """Return the same probability under the prior alone. Cost: O(n) per profile and cell that it meets.

        `counts`: a uniform composition is J geometric counts given their sum, so one first-order filter per cell that
        the profile meets tilts its geometric law by 1 - share.
        """
        from scipy.signal import lfilter

        limits = limits or Limits()
        held = [s for s, size in enumerate(self.sizes) if size]
        shares, n = self._checked(shares)[:, held], np.arange(self.rows[0], self.rows[1] + 1)
        if self.prior == "worlds":
            inside = shares @ np.array([self.sizes[s] / sum(self.sizes) for s in held])
            self._pay_for_prior(8 * len(inside), limits)
            return np.array([float(powers(x, n).mean()) for x in np.minimum(inside, 1.0)[:, None]])
        chosen, back = np.unique(np.sort(shares, axis=1), axis=0, return_inverse=True)
        met, out, first = (chosen > 0).sum(axis=1), np.zeros(len(chosen)), self.rows[0]
        while first <= n[-1]:  # in steps: sums further apart need geometric laws of different means
            self._pay_for_prior(30 * len(np.unique(met)), limits)
            last = min(self.rows[1], int(first * (1 + 10 / math.sqrt(max(1, len(held))))) + 1)
            z, counts = last / (last + len(held)) if held else 0.0, np.arange(last + 1)
            for many in np.unique(met).tolist():
                rest, base = len(held) - many, np.eye(1, last + 1)[0]
                if rest and last:
                    base = np.exp(
                        rest * math.log1p(-z) + counts * math.log(z) - RowCountPrior(False, rest).weight(counts)
                    )
                whole = base
                for _ in range(many):
                    whole = lfilter([1 - z], [1.0, -z], whole)
                for i in np.flatnonzero(met == many).tolist():
                    self._pay_for_prior(4 + 2 * many, limits)
                    found = base
                    for share in chosen[i, rest:].tolist():
                        found = lfilter([1 - z], [1.0, -z * (1 - share)], found)
                    out[i] += float((found[first:] / whole[first:]).sum())
            first = last + 1
        return np.minimum(out / len(n), 1.0)[back.reshape(-1)]

    def expected_before(self, shares: NDArray[np.float64]) -> Floats:
        """Return the mean number of rows in each profile under the prior alone."""
        filled, every = sum(size > 0 for size in self.sizes), max(1, sum(self.sizes))
        share = [(size > 0) / max(1, filled) if self.prior == "counts" else size / every for size in self.sizes]
        return self._checked(shares) @ np.array(share, dtype=np.float64) * ((self.rows[0] + self.rows[1]) / 2)

    def _without(self, part: PosteriorPart, shares: Floats) -> float:
        """Return the probability, in one part, that no row lies in the profile."""
        met = {s: i for i, s in enumerate(part.order) if shares[s] > 0}
        still = [s for s in np.flatnonzero(shares).tolist() if s not in met]
        known = math.prod(float(powers(shares[[s]], part.fixed[[s]])[0, 0]) for s in still)
        windows = part.chain.windows
        within = {i: powers(shares[[s]], windows[i].low + np.arange(len(windows[i].values)))[0] for s, i in met.items()}
        return known * part.chain.mean(within) if met else known

    def _checked(self, shares: NDArray[np.float64]) -> Floats:
        found = np.asarray(shares, dtype=np.float64)
        if found.ndim != 2 or found.shape[1] != len(self.sizes) or not ((found >= 0) & (found <= 1)).all():
            raise ReleaseError(f"shares must lie in [0, 1], one column for each of the {len(self.sizes)} cells")
        return found


def _posterior(
    terms: Sequence[Term], rows: tuple[int, int], prior: Prior = "counts", limits: Limits | None = None,
    precision: float = 1e-12
) -> CountPosterior:  # fmt: skip
    """Return the posterior of the counts of disjoint cells that cover the row space and hold n rows, rows[0]..rows[1].

    `precision` is the posterior probability that windows may leave out (rounding comes on top, `remainder` has both).
    ContradictionError where no count vector has a likelihood above 0, Inconclusive out of time or memory. Cost: J times
    (window of a count) times (window of a partial sum) multiplications, three times; more where n is a wide interval.
    """
    limits = limits or Limits()
    if not 0 <= rows[0] <= rows[1] or not 0 < precision < 1 or not terms or min(t.size for t in terms) < 0:
        raise ReleaseError("a posterior needs cells with sizes from 0 on, rows 0 <= low <= high and 0 < precision < 1")
    every, filled = sum(t.size for t in terms), sum(t.size > 0 for t in terms)
    cells = []
    for s, term in enumerate(terms):
        check(limits)
        maximum = rows[1] if term.high is None else min(term.high, rows[1])
        share = None
        if prior == "worlds" and term.size:  # the quotient of whole numbers is rounded once, unless it is too small
            ratio = term.size / every
            share = math.log(ratio) if ratio > 1e-300 else math.log(term.size) - math.log(every)
        cells.append(
            CountWeights(s, term.log_likelihood, share, (max(term.low, 0), maximum if term.size else min(maximum, 0)))
        )
    low, high = sum(c.low for c in cells), sum(c.high for c in cells)
    minimum, maximum = max(rows[0], low), min(rows[1], high)
    if minimum > maximum:
        raise ContradictionError(f"the cells hold {low} to {high} rows together, not {rows[0]} to {rows[1]}", ())
    cells = [c.within(minimum - high + c.high, maximum - low + c.low) for c in cells]
    weights = RowCountPrior(prior == "worlds", max(filled, 1))
    parts, lost = _solve(cells, weights, weights.split(minimum, maximum), limits, precision)
    likely = _climbed(cells, weights, parts[0].theta, minimum, maximum)
    return _summary(terms, (rows[0], rows[1] if filled else 0), prior, parts, lost, likely)


def _solve(
    cells: list[CountWeights], weights: RowCountPrior, ranges: list[tuple[int, int]], limits: Limits, precision: float
) -> tuple[list[PosteriorPart], float]:
    """Return the parts that matter, the likeliest first, and a bound on the posterior probability left out."""
    spare = precision / (8 * len(cells) ** 1.5)
    drafts = [(_draft(cells, weights, r, spare, limits), r) for r in ranges]
    parts: list[PosteriorPart] = []
    skipped: list[float] = []  # logs of what is left out altogether
    for part, r in sorted(drafts, key=lambda d: -d[0].scale):  # nothing in a chain weighs more than 1
        less, found = spare, part
        if all(part.scale > p.log_total + math.log(precision / (8 * len(drafts))) for p in parts):
            found.chain.run_forward(less, limits)
            while found.chain.lost > precision / 2 * found.chain.total and less > 1e-280:
                less *= min(1e-2, precision / 8 * found.chain.total / found.chain.lost + 1e-60)
                found = _draft(cells, weights, r, less, limits)
                found.chain.run_forward(less, limits)
        if found.chain.total == 0.0:
            skipped += [found.scale + math.log(found.chain.lost)] if found.chain.lost > 0 else []
            continue
        found.marginals = found.chain.run_backward(limits)
        parts.append(found)
    if not parts:
        raise Inconclusive("the noisy counts leave probabilities below the range of floating-point numbers only")
    parts.sort(key=lambda p: -p.log_total)
    top = parts[0].log_total
    total = math.fsum(math.exp(p.log_total - top) for p in parts)
    for p in parts:
        p.share = math.exp(p.log_total - top) / total
    lost = math.fsum(p.share * p.chain.lost / p.chain.total for p in parts)
    lost += 1.01 * math.fsum(math.exp(x - top) for x in skipped) / total
    rounding = max(p.chain.rounding() for p in parts)
    if ranges[0][0] < ranges[-1][1]:  # several n: their weights come from log-gammas and sums of logs
        ends = np.array([ranges[0][0], ranges[-1][1]])
        size = float(np.abs(weights.weight(ends)).max()) + max(abs(p.theta) * ends[1] + abs(p.scale) for p in parts)
        rounding += 8 * UNIT * (size + len(cells))
    return parts, min(1.0, lost + 2.1 * rounding)


def _draft(
    cells: list[CountWeights], weights: RowCountPrior, rows: tuple[int, int], spare: float, limits: Limits
) -> PosteriorPart:
    """Return the part for a range of n with its windows laid, widest last, before any pass."""
    minimum, maximum = sum(c.low for c in cells), sum(c.high for c in cells)
    tight = [c.within(rows[0] - maximum + c.high, rows[1] - minimum + c.low) for c in cells]
    fixed = np.array([c.low if c.low == c.high else 0 for c in tight], dtype=np.int64)
    free = [c for c in tight if c.low < c.high]
    theta, spread = exponential_tilt(free, rows, weights, int(fixed.sum())) if free else (0.0, np.zeros(0))
    windows = []
    for c, wide in zip(free, spread.tolist(), strict=True):
        check(limits)
        windows.append(window(c, theta, wide, spare))
    order = sorted(range(len(free)), key=lambda i: len(windows[i].values))
    still, n = int(fixed.sum()), np.arange(rows[0], rows[1] + 1)
    ends = weights.weight(n) - theta * (n - still)
    known = math.fsum(float(c.weight(np.array([c.low], dtype=np.int64))[0]) for c in tight if c.low == c.high)
    scale = known + float(ends.max()) + math.fsum(w.scale for w in windows)
    chain = WindowChain([windows[i] for i in order], rows[0] - still, np.exp(ends - ends.max()))
    return PosteriorPart(fixed, [free[i].index for i in order], chain, theta, scale)


def _climbed(cells: list[CountWeights], weights: RowCountPrior, theta: float, minimum: int, maximum: int) -> Ints:
    """Return a count vector of greatest posterior probability with least..most rows in all.

    A tilted mode is best for its own sum; from there the best unit more (or less) is best for the next sum, because
    the log weights are concave (Fox, "Discrete optimization via marginal analysis", Management Science 13, 1966).
    """
    start = np.array([c.peak(theta) for c in cells], dtype=np.int64)
    total = int(start.sum())
    up, more = _exchanged(cells, start, max(0, maximum - total), 1)
    down, less = _exchanged(cells, start, max(0, total - minimum), -1)
    value = np.concatenate([np.cumsum(less)[::-1], [0.0], np.cumsum(more)])
    n = np.arange(total - len(less), total + len(more) + 1)
    value = np.where((n >= minimum) & (n <= maximum), value + weights.weight(n), -np.inf)
    away = int(n[int(np.argmax(value))]) - total
    steps = up[:away] if away > 0 else down[:-away]
    return start + (1 if away > 0 else -1) * np.bincount(steps, minlength=len(cells))


def _exchanged(cells: list[CountWeights], start: Ints, steps: int, sign: int) -> tuple[Ints, Floats]:
    """Return the cells that give (sign 1) or lose (-1) a row, step by step, best first, and the log weight gained."""
    width = 2 * steps // len(cells) + 16
    while True:
        gains, terms, levels, unseen = [], [], [], []
        for c, at in zip(cells, start.tolist(), strict=True):
            room = min(steps, c.high - at if sign > 0 else at - c.low)
            many = min(width, room)
            gain = np.diff(c.tilted(0.0, at, min(at, at + sign * many), max(at, at + sign * many))[0][::sign])
            gains.append(np.minimum.accumulate(gain))
            terms.append(np.full(many, c.index))
            levels.append(np.arange(many))
            unseen.append(many < room)
        gain, term = np.concatenate(gains), np.concatenate(terms)
        order = np.lexsort((term, np.concatenate(levels), -gain))[:steps]
        used = np.bincount(term[order], minlength=len(cells))
        if not any(more and u >= width for more, u in zip(unseen, used.tolist(), strict=True)):
            return term[order], gain[order]
        width *= 4


def _summary(
    terms: Sequence[Term], rows: tuple[int, int], prior: Prior, parts: list[PosteriorPart], lost: float, likely: Ints
) -> CountPosterior:
    """Return the figures of all parts, weighed by their shares."""
    from scipy.special import gammaln

    def mixed(pieces: Sequence[tuple[int, Floats]]) -> tuple[int, Floats]:
        first, last = min(a for a, _ in pieces), max(a + len(m) - 1 for a, m in pieces)
        return first, np.sum([p.share * between(a, m, first, last) for p, (a, m) in zip(parts, pieces, strict=True)], 0)

    cells = [mixed(laws) for laws in zip(*(p.laws() for p in parts), strict=True)]
    low, marginals = np.array([a for a, _ in cells], dtype=np.int64), [m for _, m in cells]
    first, distribution = mixed([p.rows() for p in parts])
    n = np.arange(first, first + len(distribution))
    counts = [a + np.arange(len(m)) for a, m in zip(low, marginals, strict=True)]
    expected = np.array([float(c @ m) for c, m in zip(counts, marginals, strict=True)])
    orders = float(distribution @ gammaln(n + 1.0))
    orders -= math.fsum(float(m @ gammaln(c + 1.0)) for c, m in zip(counts, marginals, strict=True))
    inside = math.fsum(e * math.log2(t.size) for e, t in zip(expected.tolist(), terms, strict=True) if t.size)
    joint = math.fsum(p.share * (p.entropy() - math.log(p.share)) for p in parts if p.share > 0)
    bits = max(0.0, joint) / math.log(2), inside + orders / math.log(2), inside
    of_rows, sizes = dict(zip(n.tolist(), distribution.tolist(), strict=True)), tuple(t.size for t in terms)
    return CountPosterior(prior, rows, low, marginals, lost, of_rows, expected, likely, *bits, sizes, parts)


def _compositions(n: Ints, filled: int) -> float:
    """Return Σ_s E ln c_s! for uniform count vectors, the mean over n: J Σ_m C(m+J-1, m) ln(n-m) / C(n+J-1, n)."""
    ways = -RowCountPrior(False, filled).weight(np.arange(n[-1] + 1))
    logs = np.log(np.arange(1, n[-1] + 1))[::-1]  # ln of n - m at place m + (last - n)
    found = []
    for some in np.array_split(n, 1 + len(n) // 64):
        scaled = np.exp(ways[: some[-1] + 1] - ways[some[-1]])
        found += [float(scaled[:k] @ logs[len(logs) - k :] / scaled[k]) for k in some.tolist()]
    return filled * math.fsum(found) / len(n)


def _multinomials(n: Ints, sizes: Sequence[int]) -> float:
    """Return Σ_s E ln c_s! for rows that are uniform and independent, the mean over n."""
    from scipy.special import gammaln, xlog1py, xlogy

    found = 0.0
    for size in set(sizes):
        p = size / sum(sizes)
        for k in n.tolist():
            wide = 12 * math.sqrt(k * p * (1 - p)) + 40  # what lies beyond is below 1e-30
            c = np.arange(max(0, int(k * p - wide)), min(k, int(k * p + wide)) + 1)
            law = np.exp(gammaln(k + 1.0) - gammaln(c + 1.0) - gammaln(k - c + 1.0) + xlogy(c, p) + xlog1py(k - c, -p))
            found += sizes.count(size) * float(law @ gammaln(c + 1.0) / law.sum())
    return found / len(n)


Law = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@dataclass(slots=True)
class KnownPosteriors:
    """The posteriors of a release, by prior and interval of the number of rows."""

    of: dict[tuple[Prior, tuple[int, int]], CountPosterior] = field(default_factory=dict)


def posterior_of(release: Release, rows: tuple[int, int], prior: Prior, limits: Limits) -> CountPosterior:
    """Return the posterior over the counts of its cells, the number of rows uniform in `rows` a priori.

    `release` is one partition at confidence 1, where intervals are what bounded noise makes certain. Raises
    `Inconclusive` where sizes are only known between bounds, or time is up.
    """
    cells = cells_of(release, limits)
    if not cells.exact:
        raise Inconclusive("the sizes of the regions are only known between bounds: no exact posterior")
    known = release.derived.part(KnownPosteriors).of
    if (prior, rows) not in known:
        seen, block = {o.statement: o for o in observations(release)}, cells.block
        terms = []
        for s, size in enumerate(cells.low):
            one = seen.get(s)
            law: Law = _flat if one is None else partial(one.law.log_likelihood, one.published)
            terms.append(Term(law, size, int(block.low[s]), min(rows[1], int(block.high[s]))))
        known[prior, rows] = _posterior(terms, rows, prior, limits)
    return known[prior, rows]


def _flat(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log-likelihood of counts of which nothing was published."""
    return np.zeros(len(counts))
