"""Draws from the posterior of noisy counts, row by row among many candidate cells, many chains at once.

The target is that of `solvers.noisy.posteriors.markov_chain`: the noise's likelihood times the prior `worlds`. A step
takes one row of every chain out and gives it a cell again: candidates are drawn from a fixed law q, the row's own cell
stays among them, and one is taken by its weight (size, likelihood of the counts it changes) over q. That leaves the
posterior as it is, whatever q; a good q makes long moves likely. q is the law of a row under the flattest table of
counts near the published ones. Rows are added and removed one by one where their number is open. Only for releases
whose statements all carry unbounded noise: then every histogram is possible, and the moves connect all.

Source: Andrieu, Lee, Vihola, "Uniform ergodicity of the iterated conditional SMC and geometric ergodicity of particle
Gibbs samplers", Bernoulli 24, 2018 (iterated sampling importance resampling); Berger, Della Pietra, Della Pietra, "A
maximum entropy approach to natural language processing", Computational Linguistics 22, 1996, and Kazama, Tsujii, EMNLP
2003 (log-linear fits to figures that are only near: box-constrained duals).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solvers.cells.cutting import WordLayout, minus
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import Inconclusive, TooLarge
from solvers.foundation.limits import Limits
from solvers.statements.observations import Observation
from solvers.statements.release import UNBOUNDED

MAX_ENTRIES = 16_000_000  # of all tables of log-likelihoods together
CANDIDATES = 48  # cells that a row chooses from in a step, its own included
CHAINS = 16
SPARE = 0.1  # share of q that goes by size alone
FAR = 60  # scales, beyond which log-likelihoods go on in a straight line (exactly so for Laplace laws)
MOVES = 4  # rows moved for each one added or removed, where the number of rows is open
TIMES = 20  # how often every row is moved between draws, of so many rows as make up
SMALL = 2_000  # moves; of more rows each is moved at least once
TURNS = 200  # of the fit of q


def scannable(system: CellSystem, seen: Sequence[Observation]) -> bool:
    """Return whether every histogram with an allowed number of rows has a positive likelihood, and counts only."""
    linear, rows, noisy = system.linear, system.release.rows, {o.statement for o in seen}
    if system.choices or not rows.high or any(o.law.bounded for o in seen) or not bool(system.bounds.upper.any()):
        return False
    maximum = np.zeros(len(linear), dtype=np.int64)
    minimum = maximum.copy()
    np.maximum.at(maximum, linear.row, linear.coef)
    np.minimum.at(minimum, linear.row, linear.coef)
    idle = ((linear.low <= 0) & (minimum >= 0)) | (linear.low == -UNBOUNDED)
    idle &= (linear.high == UNBOUNDED) | (linear.high >= rows.high * np.maximum(maximum, 0))
    stated = set(np.flatnonzero(~idle).tolist()) - {system.total}
    plain = all(bool((linear.coef[linear.row == s] == 1).all()) for s in noisy)
    return plain and not stated


def prior_space(system: CellSystem) -> int:
    """Return how many raw rows are possible, those in cells that the statements leave no row for included."""
    layout = WordLayout(system.release.domain)
    words = minus(layout, layout.full[None].copy(), system.release.impossible)
    return int(sum(layout.sizes(words).tolist()))


class Field:
    """What all chains share: per cell its noisy counts and its weight in the prior, tables of differences, and q.

    `places` is (cells, width), the noisy counts that each cell stands in, the last index for none. The log-likelihood
    of count i gains rises[at[i] + x] from x to x + 1 rows (x within `span`).
    """

    def __init__(self, system: CellSystem, seen: Sequence[Observation], limits: Limits) -> None:
        """Lay out the tables and fit q. Raises `TooLarge` for too many rows, `Inconclusive` when time is up."""
        linear, self.rows = system.linear, system.release.rows
        self.maximum = int(self.rows.high or 0)
        if 16 * CHAINS * self.maximum > limits.room:
            raise TooLarge(f"up to {self.maximum:,} rows in {CHAINS} chains need more memory than allowed")
        self.cells = np.flatnonzero(system.bounds.upper > 0).astype(np.int64)
        self.columns = linear.columns
        self.statements = np.array([o.statement for o in seen], dtype=np.int64)
        number = np.full(len(linear) + 1, -1, dtype=np.int64)
        number[self.statements] = np.arange(len(seen))
        place = np.full(linear.columns, -1, dtype=np.int64)
        place[self.cells] = np.arange(len(self.cells))
        used = (number[linear.row] >= 0) & (place[linear.col] >= 0)
        cell, count = place[linear.col[used]], number[linear.row[used]]
        order = np.argsort(cell, kind="stable")
        cell, count = cell[order], count[order]
        many = np.bincount(cell, minlength=len(self.cells))
        width = max(1, int(many.max(initial=0)))
        nth = np.arange(len(cell)) - np.repeat(np.cumsum(many) - many, many)
        self.places = np.full((len(self.cells), width), len(seen), dtype=np.int64)
        self.places[cell, nth] = count
        self.ones = np.ones(width)
        every = math.log(prior_space(system))
        self.logs = np.array([math.log(system.sizes[c]) - every for c in self.cells.tolist()])
        self._tables(seen)
        published = sum(float(o.published) for o in seen) / max(1.0, float(many.mean()))
        self.around = min(max(published, float(self.rows.low), 1.0), float(self.maximum))  # about as many rows
        self.law = _fitted(self, seen, limits)
        self._quantised()

    def _tables(self, seen: Sequence[Observation]) -> None:
        """Lay out the rises of every log-likelihood near the published figure, and none for no count."""
        wide = 8 * math.sqrt(self.maximum) + 64
        low, pieces = [], []
        for o in seen:
            far = wide + FAR * float(o.law.scale)
            first = int(min(max(0, float(o.published) - far), max(0, self.maximum - 1)))
            last = int(min(max(float(o.published) + far, first), self.maximum))
            values = o.law.log_likelihood(o.published, np.arange(first, last + 2, dtype=np.int64))
            low.append(first)
            pieces.append(np.diff(values))
            if sum(map(len, pieces)) > MAX_ENTRIES:
                raise TooLarge(f"{len(seen):,} noisy counts over up to {self.maximum:,} rows need too large tables")
        pieces.append(np.zeros(1))
        self.low = np.array([*low, 0], dtype=np.int64)
        self.last = np.array([len(p) - 1 for p in pieces], dtype=np.int64)
        self.at = np.cumsum([0, *map(len, pieces[:-1])]).astype(np.int64)
        self.rises = np.concatenate(pieces)

    def _quantised(self) -> None:
        """Round q to multiples of one over a power of two, so that a draw is a look into a table."""
        size = 1 << max(16, math.ceil(math.log2(8 * len(self.cells))))
        share = np.exp(self.logs - self.logs.max())
        q = (1 - SPARE) * self.law + SPARE * share / share.sum()
        times = np.maximum(1, np.floor(q / q.sum() * (size - len(self.cells)))).astype(np.int64)
        times[int(np.argmax(times))] += size - int(times.sum())
        self.table = np.repeat(np.arange(len(self.cells), dtype=np.int64), times)
        self.over = self.logs - np.log(times / size)  # log of prior weight over q

    def rise(self, count: Ints, x: Ints) -> Floats:
        """Return how much the log-likelihoods of these counts gain by a row more than x."""
        away = np.minimum(np.maximum(x - self.low.take(count), 0), self.last.take(count))
        found: Floats = self.rises.take(self.at.take(count) + away)
        return found


def _fitted(field: Field, seen: Sequence[Observation], limits: Limits) -> Floats:
    """Return the law of a row under the flattest table of counts whose figures are as near as their noise asks.

    The dual of an entropy program: one multiplier per figure, at most 1/scale either way under Laplace noise. Only
    speed depends on it. Cost: some hundred passes over cells times their counts.
    """
    from scipy.optimize import minimize

    published = np.array([float(o.published) for o in seen])
    scale = np.array([float(o.law.scale) for o in seen])
    flat = np.array([o.law.name in ("gaussian", "discrete_gaussian") for o in seen])
    n = field.around
    quadratic = np.where(flat, scale**2, 1e-3)

    def dual(theta: Floats) -> tuple[float, Floats]:
        if limits.expired():
            raise Inconclusive("the time was up before the random walk made its first draw")
        score = field.logs + np.append(theta, 0.0)[field.places].sum(axis=1)
        top = float(score.max())
        mass = np.exp(score - top)
        whole = float(mass.sum())
        rows = np.repeat(mass * (n / whole), field.places.shape[1])
        met = np.bincount(field.places.ravel(), rows, minlength=len(seen) + 1)[: len(seen)]
        value = n * (top + math.log(whole)) - float(theta @ published) + float(quadratic @ theta**2) / 2
        return value, met - published + quadratic * theta

    ends = [(-40.0, 40.0) if f else (-1 / s, 1 / s) for f, s in zip(flat, scale, strict=True)]
    found = minimize(dual, np.zeros(len(seen)), jac=True, method="L-BFGS-B", bounds=ends, options={"maxiter": TURNS})
    score = field.logs + np.append(found.x, 0.0)[field.places].sum(axis=1)
    law = np.exp(score - score.max())
    shares: Floats = law / law.sum()
    return shares


@dataclass(frozen=True, eq=False)
class Scan:
    """Draws of all chains: `histograms` (chains, draws, cells), `counts` (chains, draws, statements of the system)."""

    histograms: Ints
    tried: int
    taken: int


class LockstepChains:
    """Many chains in lockstep: the cell of every row, every noisy count, and what one row more would gain it."""

    def __init__(self, field: Field, chains: int, random: np.random.Generator) -> None:
        self.field, self.random, self.many = field, random, chains
        reach = 5 * math.sqrt(field.around) + 5
        minimum, maximum = (
            max(field.rows.low, int(field.around - reach)),
            min(field.maximum, math.ceil(field.around + reach)),
        )
        self.n = random.integers(minimum, maximum + 1, chains)
        self.cell = field.table[random.integers(0, len(field.table), (chains, field.maximum))]
        self.x = np.zeros((chains, len(field.at)), dtype=np.int64)
        for k, n in enumerate(self.n.tolist()):
            self.x[k] = np.bincount(field.places[self.cell[k, :n]].ravel(), minlength=len(field.at))
        self.chain = np.arange(chains)
        self.offset = (self.chain * len(field.at))[:, None, None]
        self.every = np.arange(len(field.at), dtype=np.int64)
        self.up = field.rise(np.broadcast_to(self.every, self.x.shape), self.x)
        self.tried = self.taken = 0

    def count(self, cells: Ints, sign: int, those: Ints) -> None:
        """Add or take away a row of these cells in those chains."""
        places = self.field.places.take(cells, axis=0)
        at = places + self.offset[those, 0]
        now = self.x.take(at) + sign
        self.x.put(at, now)  # the last count, of no figure, gains nothing whatever it is
        self.up.put(at, self.field.rise(places, now))

    def histograms(self) -> Ints:
        """Return the rows per cell of the system, of every chain."""
        out = np.zeros((self.many, self.field.columns), dtype=np.int64)
        for k, n in enumerate(self.n.tolist()):
            out[k, self.field.cells] = np.bincount(self.cell[k, :n], minlength=len(self.field.cells))
        return out

    def weights(self, cells: Ints) -> Floats:
        """Return ln (prior weight times likelihood over q) of a row in (chains, candidates) cells."""
        places = self.field.places.take(cells, axis=0)
        places += self.offset
        gained = np.matmul(self.up.ravel().take(places, mode="clip"), self.field.ones)
        found: Floats = gained + self.field.over.take(cells)
        return found

    def moved(self, steps: int) -> None:
        """Give so many rows of every chain, one after the other, a cell again."""
        field, minimum = self.field, CANDIDATES
        drawn = self.random.integers(0, len(field.table), (steps, self.many, minimum))
        which, ticket = self.random.random((2, steps, self.many))
        for candidates, one, pick in zip(drawn, which, ticket, strict=True):
            some = self.n > 0
            those = self.chain[some]
            row = (one * self.n).astype(np.int64)
            old = self.cell[self.chain, np.minimum(row, self.cell.shape[1] - 1)]
            self.count(old[some], -1, those)
            cells = field.table.take(candidates)
            cells[:, 0] = old
            weight = self.weights(cells)
            rising = np.cumsum(np.exp(weight - weight.max(axis=1, keepdims=True)), axis=1)
            best = (rising < (pick * rising[:, -1])[:, None]).sum(axis=1)
            new = cells[self.chain, np.minimum(best, minimum - 1)]
            self.count(new[some], 1, those)
            self.cell[those, row[some]] = new[some]
            self.taken += int((new != old)[some].sum())
        self.tried += steps * self.many

    def resized(self) -> None:
        """Add a row to every chain or take one away, or neither."""
        field = self.field
        add = self.random.random(self.many) < 0.5
        which, height = self.random.random(self.many), np.log(1 - self.random.random(self.many))
        able = np.where(add, self.n < field.maximum, self.n > field.rows.low)
        row = np.where(add, self.n, (which * self.n).astype(np.int64))
        at = np.minimum(row, self.cell.shape[1] - 1)
        fresh = field.table[self.random.integers(0, len(field.table), self.many)]
        cells = np.where(add, fresh, self.cell[self.chain, at])
        gone = able & ~add
        self.count(cells[gone], -1, self.chain[gone])
        weight = self.weights(cells[:, None])[:, 0]
        done = able & (np.where(add, weight, -weight) >= height)
        back = gone & ~done
        self.count(cells[back], 1, self.chain[back])
        new, out = done & add, done & ~add
        self.count(cells[new], 1, self.chain[new])
        self.cell[self.chain[new], row[new]] = cells[new]
        self.cell[self.chain[out], row[out]] = self.cell[self.chain[out], self.n[out] - 1]
        self.n += new.astype(np.int64) - out
        self.tried += self.many
        self.taken += int(done.sum())

    def advance(self, steps: int, limits: Limits) -> bool:
        """Make so many steps per chain; tell whether there was time for all."""
        left = steps
        while left > 0 and not limits.expired():
            some = min(left, 64)
            if self.field.rows.exact:
                self.moved(some)
            else:
                for _ in range(-(-some // MOVES)):
                    self.moved(MOVES)
                    self.resized()
            left -= some
        return left <= 0


def scan(system: CellSystem, seen: Sequence[Observation], draws: int, seed: int, limits: Limits) -> Scan:
    """Return at least `draws` draws of all chains together, fewer when time or memory are up.

    A fifth of the draws, the first, are left out. Cost: some microseconds per row and chain between draws.
    """
    field = Field(system, seen, limits)
    chains = LockstepChains(field, CHAINS, np.random.default_rng([seed, 23]))
    each = -(-draws // CHAINS) * 5 // 4 + 1
    each = max(4, min(each, limits.room // (32 * CHAINS * max(1, field.columns))))
    apart = max(min(SMALL, TIMES * math.ceil(field.around)), math.ceil(field.around))
    kept: list[Ints] = []
    for i in range(each):
        limits.report(f"draws: {i} of {each} of {CHAINS} chains")
        if not chains.advance(apart, limits):
            break
        kept.append(chains.histograms())
    kept = kept[len(kept) // 5 :]
    every = np.array(kept, dtype=np.int64).reshape(len(kept), CHAINS, field.columns).transpose(1, 0, 2)
    return Scan(every, chains.tried, chains.taken)
