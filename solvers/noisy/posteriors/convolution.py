"""Sums of independent counts with log-concave weights: tilted windows, and passes over partial sums.

What `solvers.noisy.posteriors.posterior` is computed with. Every cell has a log-concave weight per count; wanted is
everything about the counts given their sum. Weights are tilted by e^(θc), which changes nothing once the sum is given,
with θ such that the tilted means sum to what is asked: then each cell, and each partial sum, needs only a window around
its mean. All numbers are positive, so that a convolution keeps its relative precision; what windows leave out is
bounded.

Source: Esscher, "On the probability function in the collective theory of risk", 1932 (tilting); Keilson, Gerber, "Some
results for discrete unimodality", JASA 66, 1971 (log-concave sequences convolve to log-concave ones, and a tail beyond
a window is below a geometric series).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import ContradictionError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits

LogLikelihood = Callable[[Ints], Floats]
PASS_BYTES = 16  # of a sum, in the pass forward and the one back
PROBES = 512  # counts looked at together while a maximum or an edge is searched
BEND = 8.0  # nats by which the prior of the number of rows may leave its tangent inside one part
BLOCK, SHORT, PIECE = 128, 256, 4_096  # from SHORT on, products of matrices are faster than one dot product at a time
UNIT = 2.0**-53
GRID = np.sinh(np.linspace(-20.0, 20.0, 281))


class CountWeights:
    """The log weight of every count of one cell: ln likelihood, with `log_share` also c ln share - ln c!.

    `low` and `high` are the least and the greatest count with a likelihood above 0.
    """

    def __init__(self, index: int, law: LogLikelihood, log_share: float | None, bounds: tuple[int, int]) -> None:
        """Find the support. Cost: a few thousand likelihoods, all of `bounds` where the support is narrow."""
        self.index, self.law, self.log_share = index, law, log_share
        self.low, self.high = self._support(*bounds)

    def likelihood(self, counts: Ints) -> Floats:
        """Return ln likelihood, checked to be a number below infinity."""
        found = np.asarray(self.law(counts), dtype=np.float64)
        if np.isnan(found).any() or (found == np.inf).any():
            raise Unsupported(f"the log-likelihood of cell {self.index} is not a number below infinity for every count")
        return found

    def weight(self, counts: Ints) -> Floats:
        """Return the log weight."""
        found = self.likelihood(counts)
        if self.log_share is None:
            return found
        from scipy.special import gammaln

        out: Floats = found + counts * self.log_share - gammaln(counts + 1.0)
        return out

    def within(self, low: int, high: int) -> CountWeights:
        """Return the cell with its counts restricted to low..high, which must meet its support."""
        out = copy(self)
        out.low, out.high = max(low, self.low), min(high, self.high)
        return out

    def _support(self, low: int, high: int) -> tuple[int, int]:
        """Return the ends of the finite likelihoods, an interval because the likelihood is log-concave."""
        scans = (np.arange(i, min(high + 1, i + (1 << 20)), dtype=np.int64) for i in range(low, high + 1, 1 << 20))
        for probes in chain([_spaced(low, high)] if low <= high else [], scans):  # narrower than the gaps: scan all
            finite = np.flatnonzero(np.isfinite(self.likelihood(probes)))
            if len(finite):
                outside = int(probes[finite[0] - 1]) if finite[0] else low - 1
                beyond = int(probes[finite[-1] + 1]) if finite[-1] + 1 < len(probes) else high + 1
                return self._edge(int(probes[finite[0]]), outside), self._edge(int(probes[finite[-1]]), beyond)
        raise ContradictionError(
            f"no number of rows in cell {self.index} (counted from 0) agrees with what was published for it",
            (f"cell {self.index}",),
        )

    def _edge(self, inside: int, outside: int) -> int:
        """Return the last count with a likelihood between one that has it and one that has not."""
        while abs(outside - inside) > 1:
            middle = (inside + outside) // 2
            if np.isfinite(self.likelihood(np.array([middle], dtype=np.int64)))[0]:
                inside = middle
            else:
                outside = middle
        return inside

    def peak(self, theta: float) -> int:
        """Return a count of greatest weight once it is tilted by e^(theta c)."""
        low, high = self.low, self.high
        while True:
            probes = _spaced(low, high)
            best = int(np.argmax(self.weight(probes) + theta * (probes - self.low)))
            if len(probes) == high - low + 1:
                return int(probes[best])
            low, high = int(probes[max(0, best - 1)]), int(probes[min(len(probes) - 1, best + 1)])

    def tilted(self, theta: float, anchor: int, low: int, high: int) -> tuple[Floats, float]:
        """Return the tilted log weights of low..high less that of anchor, and a bound on their absolute error.

        Likelihoods count as rounded to double precision. ln c!/anchor! is a sum of log1p: log-gammas cancel.
        """
        counts = np.arange(low, high + 1, dtype=np.int64)
        away = (counts - anchor).astype(np.float64)
        found = self.likelihood(counts)
        change = found - found[anchor - low]
        rate, factorial, lost = theta, np.zeros(len(counts)), 0.0
        if self.log_share is not None:
            base = max(anchor, 1)
            rate = theta + self.log_share - math.log(base)
            terms = np.log1p((np.maximum(counts, 1) - base) / base)
            sums = np.cumsum(terms, dtype=np.longdouble)
            factorial = (sums - sums[anchor - low]).astype(np.float64)
            lost = float(np.abs(terms).sum()) * (2 * UNIT + len(counts) * float(np.finfo(np.longdouble).eps))
            lost += float(np.abs(away).max()) * 4 * UNIT * (abs(theta) + abs(self.log_share) + math.log(base))
        out = change + away * rate - factorial
        largest = np.abs(found) + np.abs(change) + np.abs(away * rate) + np.abs(factorial)
        return out, lost + 3 * UNIT * float(largest.max())


def check(limits: Limits) -> None:
    """Refuse to go on where the time is up."""
    if limits.expired():
        raise Inconclusive("the time ran out while the noisy counts of a partition were convolved: allow more time")


def _spaced(low: int, high: int) -> Ints:
    """Return all of low..high, or PROBES of them, evenly spaced with both ends."""
    if high - low < PROBES:
        return np.arange(low, high + 1, dtype=np.int64)
    return np.array([low + (high - low) * i // (PROBES - 1) for i in range(PROBES)], dtype=np.int64)


def powers(shares: Floats, counts: Ints) -> Floats:
    """Return (1 - share)^count for every share and count, 0^0 being 1."""
    logs = np.where(shares < 1, np.log1p(-np.minimum(shares, 1 - UNIT)), -1e4)  # e^-10000 is 0
    out: Floats = np.exp(logs[:, None] * counts[None, :])
    return out


class RowCountPrior:
    """The log prior weight of a count vector by its number of rows: n equally likely, then count vectors or worlds."""

    def __init__(self, worlds: bool, filled: int) -> None:
        self.worlds, self.filled = worlds, filled

    def weight(self, n: Ints) -> Floats:
        """Return -ln C(n + J - 1, n), or ln n! (shares of S^n are in the weights of the cells)."""
        from scipy.special import gammaln

        out: Floats = gammaln(np.asarray(n, dtype=np.float64) + 1.0)
        return out if self.worlds else out - gammaln(n + float(self.filled)) + gammaln(self.filled)

    def slope(self, n: float) -> float:
        """Return the derivative, which grows with n."""
        from scipy.special import digamma

        return float(digamma(n + 1.0) - (0.0 if self.worlds else digamma(n + float(self.filled))))

    def split(self, low: int, high: int) -> list[tuple[int, int]]:
        """Return ranges that cover low..high, in each of which the weight is close to a tangent."""
        middle = (low + high) // 2
        at = self.weight(np.array([low, middle, high]))
        slope = self.slope(float(middle))
        bend = max(at[0] - at[1] - slope * (low - middle), at[2] - at[1] - slope * (high - middle))
        if bend <= BEND or low == high:
            return [(low, high)]
        return self.split(low, middle) + self.split(middle + 1, high)


@dataclass(frozen=True, eq=False)
class LawWindow:
    """The tilted law of one cell between low and high: probabilities that sum to 1, the tail left out relative to them.

    A weight is exp(`scale` - θ count) times its probability; `mode` has the greatest one; `error` bounds the relative
    rounding error of the probabilities.
    """

    low: int
    values: Floats
    tail: float
    scale: float
    mode: int
    error: float

    @property
    def high(self) -> int:
        """Return the greatest count of the window."""
        return self.low + len(self.values) - 1


def window(cell: CountWeights, theta: float, spread: float, spare: float) -> LawWindow:
    """Return the least window around the tilted mode whose tails hold at most the share `spare` of the weight.

    By log-concavity the tail beyond an edge is below the geometric series with the mean ratio of the last steps.
    """
    mode = cell.peak(theta)
    reach = max(8, int(spread * math.log(1 / spare)))
    left, right = max(cell.low, mode - reach), min(cell.high, mode + reach)
    while True:
        logs, error = cell.tilted(theta, mode, left, right)
        top = float(logs.max())
        values = np.exp(logs - top)
        below = 0.0 if left == cell.low else _geometric(logs[: mode - left + 1], top)
        above = 0.0 if right == cell.high else _geometric(logs[mode - left :][::-1], top)
        total = float(values.sum())
        if below <= spare * total / 4 and above <= spare * total / 4:
            break
        if below > spare * total / 4:
            left = max(cell.low, mode - 2 * (mode - left) - 8)
        if above > spare * total / 4:
            right = min(cell.high, mode + 2 * (right - mode) + 8)
    bend = np.diff(logs, 2)
    if len(bend) and float(bend.max()) > 1e-6 + 8 * error:
        raise Unsupported(f"the log-likelihood of cell {cell.index} is not concave in the count, so no tail is bounded")
    first = int(np.searchsorted(np.cumsum(values) + below, spare * total / 2, side="right"))
    last = len(values) - int(np.searchsorted(np.cumsum(values[::-1]) + above, spare * total / 2, side="right"))
    kept = values[first:last]
    mass = float(kept.sum())
    out = float(values[:first].sum()) + float(values[last:].sum()) + below + above
    scale = top + math.log(mass) + float(cell.weight(np.array([mode], dtype=np.int64))[0]) + theta * mode
    return LawWindow(left + first, kept / mass, 1.01 * out / mass, scale, mode, error + 8 * UNIT)


def _geometric(logs: Floats, top: float) -> float:
    """Return a bound on Σ exp(log - top) over all before the first of a concave sequence, infinity if unknown."""
    step = (len(logs) - 1) // 2
    fall = float(logs[step] - logs[0]) if step else 0.0
    if fall < 1e-6:
        return math.inf
    return math.exp(logs[0] - top) * 1.01 / math.expm1(fall / step) if fall / step < 700 else 0.0


class Mixed:
    """All cells at once, by their weights at knots, to choose the tilt with: no figure depends on them."""

    def __init__(self, cells: Sequence[CountWeights], centre: Floats, unit: Floats) -> None:
        """Lay knots around `centre` at sevenths of `unit`, further out ever wider. Cost: 283 likelihoods per cell."""
        low, high = (np.array([getattr(c, end) for c in cells], dtype=np.float64)[:, None] for end in ("low", "high"))
        knots = np.rint(np.clip(centre[:, None] + unit[:, None] * GRID[None, :], low, high))
        self.knots = np.concatenate([low, knots, high], axis=1)
        self.values = np.stack([c.weight(k.astype(np.int64)) for c, k in zip(cells, self.knots, strict=True)])
        edges = (self.knots[:, 1:] + self.knots[:, :-1]) / 2
        self.width = np.diff(np.concatenate([low - 0.5, edges, high + 0.5], axis=1), axis=1)
        self.away = self.knots - centre[:, None]

    def moments(self, theta: float) -> tuple[Floats, Floats]:
        """Return the mean and the variance of every cell under the tilt; a knot stands for the counts closest to it."""
        logs = self.values + theta * self.away
        mass = np.exp(logs - logs.max(axis=1, keepdims=True)) * self.width
        mass /= mass.sum(axis=1, keepdims=True)
        mean = (mass * self.knots).sum(axis=1)
        variance: Floats = (mass * (self.knots - mean[:, None]) ** 2).sum(axis=1)
        return mean, variance


def exponential_tilt(
    cells: Sequence[CountWeights], rows: tuple[int, int], prior: RowCountPrior, still: int = 0
) -> tuple[float, Floats]:
    """Return θ and the spread of every cell, such that the tilted means sum to the likeliest number of rows.

    The probability of a number of rows is stationary where the slope of its log prior is θ; `still` rows are fixed.
    """
    minimum, maximum = still + sum(c.low for c in cells), still + sum(c.high for c in cells)
    first, last = max(rows[0], minimum + 0.5), min(rows[1], maximum - 0.5)
    centre, unit = np.array([float(c.peak(0.0)) for c in cells]), np.ones(len(cells))
    theta = 0.0
    for _ in range(8):
        mixed = Mixed(cells, centre, unit)

        def rises(at: float, mixed: Mixed = mixed) -> bool:
            total = still + float(mixed.moments(at)[0].sum())
            return total < first or (total <= last and prior.slope(total) > at)

        step = 1e-3 / float(unit.max())
        up = rises(theta)
        while rises(theta + step if up else theta - step) == up and step < 1e9:
            step *= 4
        low, high = (theta, theta + step) if up else (theta - step, theta)
        while high - low > 1e-4 / math.sqrt(float(np.sum(unit**2))) and low < (low + high) / 2 < high:
            middle = (low + high) / 2
            low, high = (middle, high) if rises(middle) else (low, middle)
        theta = (low + high) / 2
        mean, variance = mixed.moments(theta)
        spread = np.maximum(np.sqrt(variance), 1.0)
        settled = bool((np.abs(mean - centre) <= 0.5 * spread).all() and (np.abs(np.log(spread / unit)) < 0.5).all())
        centre, unit = mean, spread
        if settled:
            break
    return theta, unit


def _correlate(long: Floats, short: Floats) -> Floats:
    """Return Σ_j long[i + j] short[j] for every i where it is whole. Cost: the product of their lengths."""
    out = len(long) - len(short) + 1
    if min(out, len(short)) < SHORT:
        pieces = ((i, short[i : i + SHORT]) for i in range(0, len(short), SHORT))
        return sum((np.correlate(long[i : i + out + len(p) - 1], p, "valid") for i, p in pieces), np.zeros(out))
    total = np.zeros(out)
    size = min(PIECE, -(-out // BLOCK) * BLOCK)
    for start in range(0, len(short), size):
        piece = short[start : start + size]
        columns = -(-len(piece) // BLOCK)
        inner = np.zeros(columns * BLOCK)
        inner[: len(piece)] = piece
        outer = np.zeros(out + columns * BLOCK - 1)
        there = long[start : start + len(outer)]
        outer[: len(there)] = there
        view = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(outer, BLOCK))
        products = inner.reshape(columns, BLOCK) @ view.T
        for c in range(columns):
            total += products[c, c * BLOCK : c * BLOCK + out]
    return total


def between(low: int, values: Floats, first: int, last: int) -> Floats:
    """Return the values of first..last of a sequence that starts at low and is 0 outside."""
    out = np.zeros(last - first + 1)
    start, stop = max(first, low), min(last, low + len(values) - 1)
    if start <= stop:
        out[start - first : stop - first + 1] = values[start - low : stop - low + 1]
    return out


@dataclass(eq=False)
class WindowChain:
    """Windows one after the other, and the weight `ends` of every sum from `first` on.

    `forward[s]` are the probabilities of the sum of the first s counts (from `starts[s]` on), `backward[s]` the mean
    weight of the end given that sum; paths leave neither windows of counts nor of sums, and `lost` bounds the weight of
    those that do (1 as long as nothing is known: `ends` is at most 1), `total` is the weight of the others.
    """

    windows: list[LawWindow]
    first: int
    ends: Floats
    starts: list[int] = field(default_factory=list)
    forward: list[Floats] = field(default_factory=list)
    backward: list[Floats] = field(default_factory=list)
    total: float = 0.0
    lost: float = 1.0

    def advance(self, before: tuple[int, Floats], s: int, values: Floats, first: int, last: int) -> Floats:
        """Return the probabilities of the sums first..last after count s, whose probabilities are `values`."""
        low, high = self.windows[s].low, self.windows[s].high
        return _correlate(between(*before, first - high, last - low), values[::-1])

    def run_forward(self, spare: float, limits: Limits) -> None:
        """Fill `forward`; sums that cannot reach an end are left out, and tails up to `spare` on each side.

        Raises `Inconclusive` where the sums of both passes do not fit into the memory, or the time is up.
        """
        rest_low, rest_high = sum(w.low for w in self.windows), sum(w.high for w in self.windows)
        peaks = [float(w.values.max()) for w in self.windows]
        self.starts, self.forward, held = [0], [np.ones(1)], 1
        minimum = sorted(range(len(peaks)), key=peaks.__getitem__)[:2]
        self.lost = sum(w.tail * self._most([peaks[p] for p in minimum if p != s]) for s, w in enumerate(self.windows))
        for s, w in enumerate(self.windows):
            check(limits)
            rest_low, rest_high = rest_low - w.low, rest_high - w.high
            low, values = self.starts[-1], self.forward[-1]
            first = max(low + w.low, self.first - rest_high)
            last = min(low + len(values) - 1 + w.high, self.first + len(self.ends) - 1 - rest_low)
            if first > last:
                self.total = 0.0
                return
            held += last - first + 1
            if PASS_BYTES * held > limits.room:
                raise Inconclusive(
                    "the partial sums of the noisy counts need more memory than allowed: allow more memory"
                )
            found = self.advance((low, values), s, w.values, first, last)
            begin = int(np.searchsorted(np.cumsum(found), spare, side="right"))
            end = len(found) - int(np.searchsorted(np.cumsum(found[::-1]), spare, side="right"))
            if s + 1 == len(self.windows) or begin >= end:
                begin, end = 0, len(found)
            cut = float(found[:begin].sum()) + float(found[end:].sum())
            self.lost += 1.01 * cut * self._most(peaks[s + 1 :])
            self.starts.append(first + begin)
            self.forward.append(found[begin:end])
            held -= len(found) - (end - begin)
        self.total = float(self.forward[-1] @ self._ends())

    def _most(self, peaks: Sequence[float]) -> float:
        """Bound the mean weight of the end from anywhere: a sum is no likelier than the likeliest count of any term."""
        return min(float(self.ends.max()), float(self.ends.sum()) * min(peaks, default=1.0))

    def _ends(self) -> Floats:
        return between(self.first, self.ends, self.starts[-1], self.starts[-1] + len(self.forward[-1]) - 1)

    def run_backward(self, limits: Limits) -> list[Floats]:
        """Fill `backward` and return the marginal of every count, of sum 1 up to rounding."""
        at = self._ends()
        self.backward, marginals = [at], []
        for s in range(len(self.windows) - 1, -1, -1):
            check(limits)
            w, low, values = self.windows[s], self.starts[s], self.forward[s]
            near = between(self.starts[s + 1], at, low + w.low, low + len(values) - 1 + w.high)
            marginals.append(w.values * _correlate(near, values) / self.total)
            at = _correlate(near, w.values)
            self.backward.append(at)
        self.backward.reverse()
        return marginals[::-1]

    def mean(self, factors: dict[int, Floats]) -> float:
        """Return E Π factors[s][c_s] over the paths inside the windows. Cost: a pass from the first to the last s."""
        first, last = min(factors), max(factors)
        found = self.forward[first]
        for s in range(first, last + 1):
            values = self.windows[s].values * factors[s] if s in factors else self.windows[s].values
            stop = self.starts[s + 1] + len(self.forward[s + 1]) - 1
            found = self.advance((self.starts[s], found), s, values, self.starts[s + 1], stop)
        return float(found @ self.backward[last + 1]) / self.total

    def rounding(self) -> float:
        """Return a bound on the relative rounding error of every weight that the passes add up."""
        longest = max(len(f) for f in self.forward)
        terms = sum(2 * _additions(len(w.values)) + 8 + w.error / UNIT for w in self.windows)
        return UNIT * (terms + 2 * _additions(longest) + longest / SHORT + len(self.ends))


def _additions(terms: int) -> float:
    """Bound the roundings in a sum of that many products by `correlate`."""
    return min(terms, SHORT) + terms / BLOCK + 2
