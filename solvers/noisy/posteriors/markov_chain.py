"""A random walk over the histograms of a noisy release: draws from the posterior where counts are too coupled to sum.

A state is the cell of every row. The target is Π_s L_s(count_s) times the prior `worlds`: the number of rows uniform
between its bounds, every row uniform over all possible rows, restricted to the statements' bounds. Moves give a
row another cell, two rows two other cells that count alike in every exact statement, or add or remove a row. Releases
whose statements all carry unbounded noise are drawn from by `solvers.noisy.posteriors.gibbs`, to the same target.

Source: Metropolis et al., J. Chem. Phys. 21, 1953; Hastings, Biometrika 57, 1970; Diaconis, Sturmfels, "Algebraic
algorithms for sampling from conditional distributions", Annals of Statistics 26, 1998 (moves that keep exact
counts); Gelman et al., "Bayesian Data Analysis", 3rd ed., 2013, section 11.4-11.5 (split R-hat, effective sample size).

Draws from the posterior over histograms of noisy counts, as answers about rows: memberships and worlds.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import CellSystem, system_of
from solvers.cells.worlds import RandomSource, draw_world, filled_cells
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.system_membership import overlaps
from solvers.noisy.likelihood.most_likely import gains_of, likeliest, reach
from solvers.noisy.posteriors.gibbs import prior_space, scan, scannable
from solvers.statements.observations import Observation
from solvers.statements.questions.query import Selections
from solvers.statements.release import UNBOUNDED, Release, RowWorld

MAX_ENTRIES = 4_000_000  # of all tables of log-likelihoods together
PAIRS = 0.4  # share of moves that give two rows other cells, where exact statements tie them
BIRTHS = 0.2  # share of moves that add or remove a row, where the number of rows is open
SHARES = (0.35, 0.65)  # of single moves: cells by size, then cells of the same region of some partition, rest: any cell
SPREAD = 10  # moves per row, without noise, that take a chain away from the most likely histogram
WARM = 0.25  # draws that are thrown away, as a share of those that are kept
CONNECTED = "the moves connect all worlds"
UNCONNECTED = "the moves are not known to connect all worlds: some may be missing"
PRIOR = "prior 'worlds': number of rows {}, rows uniform over the row space"
CHUNK = 1_000  # figures that are diagnosed together

Key = tuple[int, ...]
Pair = tuple[Key, Key]


@dataclass(frozen=True, eq=False)
class ChainDraws:
    """Thinned draws of all chains, one after the other, and how far they may be trusted.

    `histograms` is (draws, cells), `counts` (draws, statements). `rhat` is the worst split R-hat and `ess` the least
    effective sample size over all statements and cells; `acceptance` the share of moves taken, `moves` their number.
    """

    histograms: Ints
    counts: Ints
    rhat: float
    ess: float
    acceptance: float
    moves: int
    connected: bool
    note: str

    def credible(self, level: float = 0.95) -> NDArray[np.float64]:
        """Return the equal-tailed credible interval of every statement's count as (statements, 2), from the draws."""
        ends = [(1 - level) / 2, (1 + level) / 2]
        out: NDArray[np.float64] = np.quantile(self.counts, ends, axis=0, method="inverted_cdf").T.astype(np.float64)
        return out


def run_chains(
    system: CellSystem,
    seen: Sequence[Observation],
    draws: int,
    seed: int,
    limits: Limits,
    chains: int = 4,
    thin: int = 0,
) -> ChainDraws:
    """Return at least `draws` draws in all, fewer when time is up; `thin` moves apart (0: twice the number of rows).

    Raises `Unsupported` for alternatives (medians of an even number of rows) and an unbounded number of rows,
    `Inconclusive` when no draw was made in time, and what `likeliest` raises.
    """
    if system.choices:
        raise Unsupported("statements with alternatives are not walked over")
    if not thin and scannable(system, seen):
        found = scan(system, seen, draws, seed, limits)
        return _chain_draws(system, found.histograms, (found.tried, found.taken), True)
    board = ChainState(system, seen)
    start = likeliest(system, seen, limits).histogram
    starts = [MarkovChain(board, start, np.random.default_rng([seed, k])) for k in range(chains)]
    for chain in starts[1:]:
        chain.advance(SPREAD * max(10, len(chain.rows)), board.flat)
    apart = thin or max(20, 2 * int(start.sum()))
    each = -(-draws // chains)
    warm = math.ceil(WARM * each)
    kept: list[list[Ints]] = []
    for i in range(warm + each):
        if limits.expired():
            break
        for chain in starts:
            chain.advance(apart, board.tables)
        if i >= warm:
            kept.append([chain.histogram() for chain in starts])
        if i % 100 == 0:
            limits.report(f"random walk: {i} of {warm + each} draws per chain")
    shape = (len(kept), chains, len(start))
    every = np.array(kept, dtype=np.int64).reshape(shape).transpose(1, 0, 2)
    return _chain_draws(system, every, (sum(c.tried for c in starts), sum(c.taken for c in starts)), board.connected)


def _chain_draws(system: CellSystem, every: Ints, moves: tuple[int, int], connected: bool) -> ChainDraws:
    """Return the draws (chains, draws, cells) with their diagnostics; `moves` were tried and taken.

    `Inconclusive` where there is no draw.
    """
    if not every.size:
        raise Inconclusive("the time was up before the random walk made its first draw")
    flat = every.reshape(-1, every.shape[2])
    counts = np.array([system.linear.sums(z) for z in flat], dtype=np.int64)
    rhat, ess = 1.0, float(len(flat))
    for figures in (every, counts.reshape(*every.shape[:2], -1)):
        for first in range(0, figures.shape[2], CHUNK):
            found = _diagnose(figures[:, :, first : first + CHUNK].astype(np.float64))
            rhat, ess = max(rhat, found[0]), min(ess, found[1])
    rows = system.release.rows
    number = "known" if rows.exact else f"uniform from {rows.low:,} to {rows.high:,}"
    note = f"{PRIOR.format(number)}; {CONNECTED if connected else UNCONNECTED}"
    return ChainDraws(flat, counts, rhat, ess, moves[1] / max(1, moves[0]), moves[0], connected, note)


@dataclass(frozen=True, eq=False)
class LooseStatement:
    """A statement outside partitions: how often each cell counts, its log-likelihoods (None: exact) and bounds."""

    statement: int
    coefs: list[int]
    low: int
    high: int


class ChainState:
    """What all chains share: cells, statements, tables of log-likelihoods, and where moves may lead.

    `tables` has one list per statement, indexed by the count; `flat` is 0 where they are finite.
    """

    def __init__(self, system: CellSystem, seen: Sequence[Observation]) -> None:
        linear, self.system = system.linear, system
        reach(system, seen)  # refuses an unbounded number of rows
        self.bounds = system.release.rows
        self.maximum = int(self.bounds.high or 0)
        self.cells = np.flatnonzero(system.bounds.upper > 0).tolist()
        self.of: list[Ints] = []  # per partition, the statement of every cell
        index = system.index
        for b in system.release.partitions:
            inside = index.of_blocks([b])[linear.row]
            column = np.zeros(len(system.sizes), dtype=np.int64)
            column[linear.col[inside]] = linear.row[inside]
            self.of.append(column)
        self.places = list(zip(*(column.tolist() for column in self.of), strict=True)) or [()] * len(system.sizes)
        others = np.flatnonzero(~index.partitioned[: len(linear)]).tolist()
        self.loose = [self._loose(s) for s in others if s != system.total]
        self.tables, self.flat = self._tables(seen)
        self.logs = [math.log(size) for size in system.sizes]
        self._groups()
        noisy = {o.statement for o in seen}
        bound = (linear.low > 0) | ((linear.high != UNBOUNDED) & (linear.high < self.maximum))
        stated = [s for s in np.flatnonzero(bound).tolist() if s != system.total]
        pinned = bool(system.bounds.fixed.all()) or not self.cells
        unbounded = not any(o.law.bounded for o in seen)
        self.connected = pinned or (unbounded and not stated and noisy.issuperset(self._unfree()))

    def _unfree(self) -> set[int]:
        """Return the statements of summed values: their bounds may be negative."""
        return {v.statement for v in self.loose if v.low > -UNBOUNDED and min(v.coefs, default=0) < 0}

    def _loose(self, s: int) -> LooseStatement:
        """Return one statement outside partitions."""
        linear = self.system.linear
        at = slice(int(linear.start[s]), int(linear.start[s + 1]))
        coefs = np.zeros(linear.columns, dtype=np.int64)
        coefs[linear.col[at]] = linear.coef[at]
        return LooseStatement(s, coefs.tolist(), int(linear.low[s]), int(linear.high[s]))

    def _tables(self, seen: Sequence[Observation]) -> tuple[list[list[float]], list[list[float]]]:
        """Return, per statement, the log-likelihood of every count; none for exact statements outside partitions."""
        linear, counts = self.system.linear, np.arange(self.maximum + 2, dtype=np.int64)
        gains = {g.statement: g for g in gains_of(self.system, seen)}
        needed = set(gains) | {int(s) for column in self.of for s in np.unique(column)}
        if len(needed) * len(counts) > MAX_ENTRIES:
            raise TooLarge(f"{len(needed):,} statements over counts up to {self.maximum:,} need too large tables")
        tables: list[list[float]] = [[] for _ in range(len(linear))]
        flat: list[list[float]] = [[] for _ in range(len(linear))]
        for s in needed:
            inside = (counts >= linear.low[s]) & (counts <= linear.high[s])
            values = gains[s].value(counts) if s in gains else np.zeros(len(counts))
            tables[s] = np.where(inside, values, -math.inf).tolist()
            flat[s] = np.where(inside & np.isfinite(values), 0.0, -math.inf).tolist()
        return tables, flat

    def _groups(self) -> None:
        """Group the cells that count alike in every exact statement, and list the cells of every region."""
        linear, sizes = self.system.linear, self.system.sizes
        exact = linear.low == linear.high
        fixed = [v for v in self.loose if exact[v.statement]]
        self.partitions = len(self.of)
        keys = [
            (*(s if exact[s] else -1 for s in places), *(v.coefs[c] for v in fixed))
            for c, places in enumerate(self.places)
        ]
        self.key: list[Key] = keys
        self.members: dict[Key, list[int]] = {}
        self.region: dict[int, list[int]] = {}
        for c in self.cells:
            self.members.setdefault(keys[c], []).append(c)
            for s in self.places[c]:
                self.region.setdefault(s, []).append(c)
        self.group = [self.members.get(k, []) for k in keys]
        self.reached: dict[Key, list[float]] = {}
        self.weight: dict[Key, float] = {}  # log of the size of a group
        for k, members in self.members.items():
            whole = sum(sizes[c] for c in members)
            self.weight[k] = math.log(whole)
            self.reached[k] = [part / whole for part in accumulate(sizes[c] for c in members)]
        whole = sum(sizes[c] for c in self.cells)
        self.anywhere = [part / whole for part in accumulate(sizes[c] for c in self.cells)]
        self.alive = (
            math.log(whole) - math.log(prior_space(self.system)) if whole else 0.0
        )  # log of the share of rows in live cells
        self.options: dict[Pair, list[Pair]] = {}

    def drawn(self, reached: list[float], members: list[int], ticket: float) -> int:
        """Return the cell that a number in [0, 1) picks, by size."""
        return members[min(bisect_right(reached, ticket), len(members) - 1)]

    def pairs(self, one: Key, two: Key) -> list[Pair]:
        """Return the pairs of keys that together count like these two in every exact statement."""
        known = self.options.get((one, two))
        if known is not None:
            return known
        found: list[Pair] = []
        for key in self.members:
            rest = tuple(
                (a + b - c if i >= self.partitions or c in (a, b) else -2)
                for i, (a, b, c) in enumerate(zip(one, two, key, strict=True))
            )
            if rest in self.members:
                found.append((key, rest))
        self.options[one, two] = found
        return found


@dataclass(eq=False)
class MarkovChain:
    """One walk: the cell of every row, the count of every statement, and how many moves were tried and taken."""

    board: ChainState
    start: Ints
    random: np.random.Generator
    rows: list[int] = field(init=False)
    sums: list[int] = field(init=False)
    tried: int = 0
    taken: int = 0

    def __post_init__(self) -> None:
        """Lay out the rows of the start."""
        self.rows = np.repeat(np.arange(len(self.start)), self.start).tolist()
        self.sums = self.board.system.linear.sums(self.start).tolist()

    def histogram(self) -> Ints:
        """Return the rows per cell."""
        return np.bincount(np.array(self.rows, dtype=np.int64), minlength=len(self.start)).astype(np.int64)

    def advance(self, moves: int, tables: list[list[float]]) -> None:
        """Make so many moves, taken or not."""
        board, rows, sums = self.board, self.rows, self.sums
        places, logs, loose = board.places, board.logs, board.loose
        tickets, heights = self.random.random((moves, 4)).tolist(), np.log(1 - self.random.random(moves)).tolist()
        pairs = PAIRS if len(board.members) > 1 else 0.0
        births = 0.0 if board.bounds.exact else BIRTHS
        by_size, by_region = SHARES if board.partitions else (0.5, 0.5)
        self.tried += moves
        for (kind, which, where, more), height in zip(tickets, heights, strict=True):
            if kind < births:
                self.taken += self._birth(kind < births / 2, which, where, height, tables)
                continue
            if not rows or not board.cells:
                continue
            share = (kind - births) / (1 - births)
            if share < pairs:
                self.taken += len(rows) > 1 and self._pair(height, tables)
                continue
            share = (share - pairs) / (1 - pairs)
            i = int(which * len(rows))
            a = rows[i]
            weight = 0.0
            if share < by_size:
                b = board.drawn(board.reached[board.key[a]], board.group[a], where)
            else:
                near = share < by_region
                around = board.region[places[a][int(more * board.partitions)]] if near else board.group[a]
                b = around[int(where * len(around))]
                weight = logs[b] - logs[a]
            if a == b:
                continue
            for s, t in zip(places[a], places[b], strict=True):
                if s != t:
                    here, there, x, y = tables[s], tables[t], sums[s], sums[t]
                    weight += here[x - 1] - here[x] + there[y + 1] - there[y]
            if loose:
                weight += self._outside((a,), (b,), tables)
            if weight < height:
                continue
            self._step((a,), (b,))
            rows[i] = b
            self.taken += 1

    def _outside(self, old: tuple[int, ...], new: tuple[int, ...], tables: list[list[float]]) -> float:
        """Return what loose statements say to replacing cells: a difference of log-likelihoods."""
        out = 0.0
        for v in self.board.loose:
            change = sum(v.coefs[c] for c in new) - sum(v.coefs[c] for c in old)
            if change:
                x = self.sums[v.statement]
                if not v.low <= x + change <= v.high:
                    return -math.inf
                table = tables[v.statement]
                out += table[x + change] - table[x] if table else 0.0
        return out

    def _inside(self, old: tuple[int, ...], new: tuple[int, ...], tables: list[list[float]]) -> float:
        """Return what partitions say to replacing cells: a difference of log-likelihoods."""
        changes: dict[int, int] = {}
        for cells, sign in ((old, -1), (new, 1)):
            for c in cells:
                for s in self.board.places[c]:
                    changes[s] = changes.get(s, 0) + sign
        return sum(tables[s][self.sums[s] + d] - tables[s][self.sums[s]] for s, d in changes.items() if d)

    def _step(self, old: tuple[int, ...], new: tuple[int, ...]) -> None:
        """Count the rows in their new cells."""
        for cells, sign in ((old, -1), (new, 1)):
            for c in cells:
                for s in self.board.places[c]:
                    self.sums[s] += sign
                for v in self.board.loose:
                    self.sums[v.statement] += sign * v.coefs[c]

    def _birth(self, add: bool, which: float, where: float, height: float, tables: list[list[float]]) -> bool:
        """Add a row, its cell by size, or remove one; tell whether that was taken."""
        board, rows = self.board, self.rows
        if not board.cells or not board.bounds.low <= len(rows) + (1 if add else -1) <= board.maximum:
            return False
        i = int(which * len(rows))
        fresh = board.drawn(board.anywhere, board.cells, where)
        old: tuple[int, ...] = () if add else (rows[i],)
        new: tuple[int, ...] = (fresh,) if add else ()
        # Cells are drawn among the live ones, the prior draws rows from the whole row space: their share remains.
        weight = board.alive if add else -board.alive
        if self._inside(old, new, tables) + self._outside(old, new, tables) + weight < height:
            return False
        self._step(old, new)
        if add:
            rows.append(fresh)
        else:
            rows[i] = rows[-1]
            rows.pop()
        return True

    def _pair(self, height: float, tables: list[list[float]]) -> bool:
        """Give two rows other cells that together count alike in every exact statement; tell whether taken."""
        board, rows = self.board, self.rows
        first, second, choice, one, two = self.random.random(5).tolist()
        i, j = int(first * len(rows)), int(second * (len(rows) - 1))
        j += j >= i
        old = rows[i], rows[j]
        options = board.pairs(board.key[old[0]], board.key[old[1]])
        keys = options[int(choice * len(options))]
        tickets = zip(keys, (one, two), strict=True)
        picked = [board.drawn(board.reached[key], board.members[key], ticket) for key, ticket in tickets]
        new = picked[0], picked[1]
        change = self._inside(old, new, tables) + self._outside(old, new, tables)
        # Cells are drawn by size within their groups, the groups evenly: the sizes of the groups remain.
        weight = sum(board.weight[key] for key in keys) - sum(board.weight[board.key[c]] for c in old)
        if change + weight < height:
            return False
        self._step(old, new)
        rows[i], rows[j] = new
        return True


def _diagnose(series: Floats) -> tuple[float, float]:
    """Return the worst split R-hat and least effective sample size of (chains, draws, figures)."""
    chains, draws, figures = series.shape
    half = draws // 2
    if half < 2 or not figures:
        return math.inf, 0.0
    split = np.concatenate([series[:, :half], series[:, half : 2 * half]])
    within = split.var(axis=1, ddof=1).mean(axis=0)
    between = half * split.mean(axis=1).var(axis=0, ddof=1)
    mixed = (half - 1) / half * within + between / half
    moving = mixed > 0
    if not moving.any():
        return 1.0, float(chains * draws)
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.sqrt(mixed / within)[moving]
        centred = split - split.mean(axis=1, keepdims=True)
        spectrum = np.abs(np.fft.rfft(centred, 2 * half, axis=1)) ** 2
        lags = np.fft.irfft(spectrum, 2 * half, axis=1)[:, :half].mean(axis=0) / half
        correlation = (1 - (within - lags) / mixed)[:, moving]
    even = half - half % 2
    sums = correlation[0:even:2] + correlation[1:even:2]
    positive = np.logical_and.accumulate(sums > 0, axis=0)
    smooth = np.where(positive, np.minimum.accumulate(sums, axis=0), 0.0).sum(axis=0)  # Geyer's monotone sequence
    ess = 2 * chains * half / np.maximum(2 * smooth - 1, 1 / math.log10(2 * chains * half + 10))
    return float(rhat.max()), float(ess.min())


__all__ = ["ChainDraws", "run_chains"]


@dataclass(frozen=True, eq=False)
class SampledWorlds:
    """Histograms drawn by a Markov chain, over the cells of a release; `run_chains` has the diagnostics."""

    walk: ChainDraws
    _system: CellSystem

    @classmethod
    def of(cls, release: Release, seen: Sequence[Observation], draws: int, seed: int, limits: Limits) -> SampledWorlds:
        """Return draws; see `solvers.noisy.posteriors.markov_chain.run_chains` for what it raises and costs."""
        system = system_of(release, limits)
        return cls(run_chains(system, seen, draws, seed, limits), system)

    def __len__(self) -> int:
        return len(self.walk.histograms)

    def membership(self, chosen: Selections) -> NDArray[np.float64]:
        """Return (selections, 2): the probability that a row is in the selection, the expected number of its rows."""
        out = np.zeros((len(chosen), 2))
        for i, met in enumerate(overlaps(self._system, chosen)):
            drawn, shares = self.walk.histograms[:, list(met.cells)], np.array(met.ratios)
            absent = np.prod(np.power(1.0 - shares, drawn), axis=1)
            out[i] = 1.0 - absent.mean(), (drawn @ shares).mean() if len(shares) else 0.0
        return out

    def worlds(self, k: int, seed: int) -> list[RowWorld]:
        """Return k worlds: draws spread over the chains, rows drawn uniformly inside their cells."""
        drawn, random = self.walk.histograms, RandomSource(seed)
        at = np.linspace(0, len(drawn) - 1, k).astype(int)
        filled = (filled_cells(self._system, drawn[i]) for i in at.tolist())
        return [draw_world(self._system.release.domain, one, "ordered", random) for one in filled]
