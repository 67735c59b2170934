"""Membership over a coupled system, in batches: one forward-backward pass serves every profile of one cell.

A profile meets some cells; its rows are the rows of cells that lie inside it, and may be rows of cells that it
meets. Profiles that meet several free cells of one component take a pass of their own.

Source: docs/mathematics.md, "Membership": P(absent) = Σ_k P(z_c = k) ((s - m) / s)^k, `multiset` with rising terms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from solvers.cells.cutting import WordLayout, Words, distinct_words
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Bits, Floats, Ints
from solvers.foundation.exact import log_absent_multiset
from solvers.foundation.limits import Limits
from solvers.histograms.branches import HistogramBranch, WeightedHistograms, extreme_histogram
from solvers.histograms.partition_membership import BoxIndex, PriorMembership, box_pairs, chunk_of
from solvers.statements.questions.answers import DecideAnswer, LeaveOneOutAnswer, ShareAnswer
from solvers.statements.questions.query import Convention, Decide, LeaveOneOut, Selections, ShareQuery
from solvers.statements.release import ANY_LABEL

ASKED = "profiles were asked about"
EPSILON = 1e-9  # below this share of the rows, rounding is all that is left of a difference


@dataclass(frozen=True, eq=False)
class Overlap:
    """The cells that one selection meets: the share of each cell's rows inside, and whether that is all."""

    cells: tuple[int, ...]
    ratios: tuple[float, ...]
    whole: tuple[bool, ...]

    @property
    def inside(self) -> tuple[int, ...]:
        """Return the cells that lie inside the selection."""
        return tuple(c for c, w in zip(self.cells, self.whole, strict=True) if w)


class PieceWeights(BoxIndex):
    """The same for pieces given by their words: no box is built."""

    def __init__(self, layout: WordLayout, words: Words, sizes: Sequence[tuple[tuple[int, ...], ...]]) -> None:
        super().__init__((), sizes)
        self.boxes, self._layout, self._words = len(words), layout, words
        every = range(len(layout.domain.attributes))
        self.mentioned = {k for k in every if (words[:, layout.span(k)] != layout.full[layout.span(k)]).any()}

    def masks(self, k: int) -> tuple[list[int], NDArray[np.intp]]:
        """Return the distinct masks of attribute k, and which of them every piece has."""
        found, at = distinct_words(self._words[:, self._layout.span(k)])
        masks = [sum(w << (64 * j) for j, w in enumerate(row)) for row in found.tolist()]
        return masks, at.astype(np.intp)


def overlaps(system: CellSystem, chosen: Selections, limits: Limits | None = None) -> list[Overlap]:
    """Return what every selection meets of the cells that can hold rows. Cost: pairs that meet.

    Raises `Inconclusive` when time is up.
    """
    limits = limits or Limits()
    limits.check(ASKED)
    alive = np.flatnonzero(system.bounds.upper[system.cell] > 0)
    table = PieceWeights(system.layout, system.words[alive], chosen.sizes)
    out: list[Overlap] = []
    step = chunk_of(table)
    for i in range(0, len(chosen), step):
        limits.check(ASKED)
        out += _overlaps_of_chunk(system, Selections(chosen.codes[i : i + step], chosen.sizes), table, alive)
    return out


def _overlaps_of_chunk(system: CellSystem, chosen: Selections, table: BoxIndex, alive: Ints) -> list[Overlap]:
    """Return what each selection of a chunk meets."""
    query, column, ratio, whole = box_pairs(chosen, table)
    piece = alive[column]
    cell = system.cell[piece]
    part = ratio * _shares_of_cell(system)[piece]
    key, back = np.unique(query * len(system.sizes) + cell, return_inverse=True)
    ratios = np.bincount(back.reshape(-1), part, minlength=len(key))
    held = np.bincount(back.reshape(-1), whole, minlength=len(key)).astype(np.int64)
    pieces = np.bincount(system.cell, minlength=len(system.sizes))
    of, cells = key // len(system.sizes), key % len(system.sizes)
    inside = held == pieces[cells]
    ratios = np.where(inside, 1.0, ratios)
    starts = np.searchsorted(of, np.arange(len(chosen) + 1))
    out = []
    for a, b in pairwise(starts.tolist()):
        out.append(Overlap(tuple(cells[a:b].tolist()), tuple(ratios[a:b].tolist()), tuple(inside[a:b].tolist())))
    return out


def _shares_of_cell(system: CellSystem) -> Floats:
    """Return the share of its cell that every piece is, computed once."""
    known = system.derived.part(KnownShares)
    if known.shares is None:
        pairs = zip(system.piece_sizes, system.cell.tolist(), strict=True)
        known.shares = np.array([size / system.sizes[c] for size, c in pairs])
    return known.shares


@dataclass(slots=True)
class KnownShares:
    """The share of its cell that every piece of a system is."""

    shares: Floats | None = None


class Ranges:
    """The least and greatest number of rows in sets of cells, over all branches; remembers what it computed."""

    def __init__(self, solution: WeightedHistograms) -> None:
        self.solution = solution
        self._known: dict[tuple[tuple[int, ...], bool], int] = {}

    def of(self, cells: tuple[int, ...], greatest: bool) -> int:
        """Return the least or greatest total of the cells over all histograms."""
        key = (cells, greatest)
        if key not in self._known:
            every = [self._branch(b, cells, greatest) for b in range(len(self.solution.branches))]
            self._known[key] = max(every) if greatest else min(every)
        return self._known[key]

    def _branch(self, b: int, cells: tuple[int, ...], greatest: bool) -> int:
        branch = self.solution.branches[b]
        total = int(branch.bounds.lower[list(cells)].sum()) if cells else 0
        for g, positions in _by_graph(branch, cells).items():
            total += branch.graphs[g].extent(positions, greatest)
        return total


def _by_graph(branch: HistogramBranch, cells: Iterable[int]) -> dict[int, list[int]]:
    """Return graph -> positions of the given cells that are free."""
    out: dict[int, list[int]] = {}
    for c in cells:
        if c in branch.place:
            g, i = branch.place[c]
            out.setdefault(g, []).append(i)
    return out


def _absent_ratio(size: int, low: int, room: int, met: tuple[float, bool], convention: Convention) -> Floats:
    """Return, for low + y rows of a cell, y = 0..room, the share of choices with no row in the selection."""
    ratio, whole = met
    rows = range(low, low + room + 1)
    if whole or ratio >= 1.0:
        return np.array([float(z == 0) for z in rows])
    if convention == "multiset":
        return np.array([math.exp(log_absent_multiset(ratio, size, z)) for z in rows])
    shares: Floats = np.exp(np.arange(low, low + room + 1) * math.log1p(-ratio))
    return shares


def _absent(solution: WeightedHistograms, met: Overlap) -> float:
    """Return the share of worlds with no row in the selection."""
    return math.fsum(share * _absent_in(solution, b, f, met) for (b, f), share in solution.shares.items())


def _absent_in(solution: WeightedHistograms, b: int, f: int, met: Overlap) -> float:
    """Return the share of worlds of one final state with no row in the selection."""
    branch, out = solution.branches[b], 1.0
    ratios: dict[int, dict[int, Floats]] = {}
    for c, ratio, whole in zip(met.cells, met.ratios, met.whole, strict=True):
        room = int(branch.bounds.upper[c] - branch.bounds.lower[c])
        found = _absent_ratio(
            solution.system.sizes[c], int(branch.bounds.lower[c]), room, (ratio, whole), solution.convention
        )
        if c in branch.place:
            g, i = branch.place[c]
            ratios.setdefault(g, {})[i] = found
        else:
            out *= float(found[0])
    for g, found_here in ratios.items():
        state = branch.final(g, f)
        if len(found_here) == 1:
            ((i, ratio_by_y),) = found_here.items()
            out *= float(solution.marginals(b, g, state)[i] @ ratio_by_y)
        else:
            out *= solution.weighed(b, g).mean_product(found_here, state)
    return out


def decide_coupled(solution: WeightedHistograms, query: Decide, limits: Limits) -> DecideAnswer:
    """Return counts and shares of worlds for every selection.

    Raises `Inconclusive` when time is up.
    """
    system, selections = solution.system, query.selections
    found = overlaps(system, selections, limits)
    ranges = Ranges(solution)
    heard = limits.paced(found, ASKED, 1)
    ends = [(ranges.of(m.inside, greatest=False), ranges.of(m.cells, greatest=True)) for m in heard]
    low, high = np.array(ends, dtype=np.int64).reshape(len(found), 2).T
    means = solution.means
    expected = np.array([float(means[list(m.cells)] @ np.array(m.ratios)) if m.cells else 0.0 for m in found])
    share = np.array([
        1.0 if low[i] > 0 else 0.0 if high[i] == 0 else 1.0 - _absent(solution, m)
        for i, m in enumerate(limits.paced(found, ASKED, 1))
    ])  # fmt: skip
    before = before_release(system, selections, solution.convention, _row_numbers(solution))
    none = np.zeros(len(found), dtype=bool)
    return DecideAnswer.of(low, high, before, "exact", probability=share, expected=expected, open=none)


def share_coupled(solution: WeightedHistograms, query: ShareQuery, limits: Limits) -> ShareAnswer:
    """Return the least and greatest share of `inner` among `outer` over the worlds where `outer` has a row.

    A ratio of two counts is extreme where Σ (hit - t like) is 0 at its own t: Dinkelbach's iteration, in integers
    (Dinkelbach, "On nonlinear fractional programming", Management Science 13, 1967). Equal profiles share one.
    """
    system = solution.system
    inner, other, outer = (overlaps(system, x, limits) for x in (query.inner, query.other, query.outer))
    known: dict[tuple[tuple[int, ...], ...], tuple[float, float]] = {}
    out = []
    for hit, miss, like in limits.paced(zip(inner, other, outer, strict=True), ASKED, 1):
        key = (hit.cells, miss.cells, like.inside)
        if key not in known:
            options = Options.of(len(system.sizes), *key)
            known[key] = _extreme_share(solution, options, False), _extreme_share(solution, options, True)
        out.append(known[key])
    lower, upper = zip(*out, strict=True) if out else ((), ())
    return ShareAnswer("exact", lower=np.array(lower, dtype=np.float64), upper=np.array(upper, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Options:
    """What a row of each cell can be: a hit, a like row that is none, or neither."""

    hit: Bits
    miss: Bits
    neither: Bits

    @classmethod
    def of(cls, cells: int, hit: tuple[int, ...], miss: tuple[int, ...], inside: tuple[int, ...]) -> Options:
        """Return the options from the cells that hits and misses meet, and those inside their union."""
        found = np.zeros((3, cells), dtype=bool)
        found[0, list(hit)] = found[1, list(miss)] = found[2, list(inside)] = True
        return cls(found[0], found[1], ~found[2])

    def best(self, p: int, d: int, greatest: bool) -> tuple[Ints, Bits, Bits]:
        """Return, per cell, the extreme of d - p (hit), -p (miss), 0 (neither), and whether it is a hit or a miss."""
        worst = np.int64(-(1 << 40) if greatest else 1 << 40)
        values = np.stack([
            np.where(self.hit, d - p, worst), np.where(self.miss, -p, worst), np.where(self.neither, 0, worst)
        ])  # fmt: skip
        at = np.argmax(values, axis=0) if greatest else np.argmin(values, axis=0)
        return values[at, np.arange(len(at))], at == 0, at == 1


def _extreme_share(solution: WeightedHistograms, options: Options, greatest: bool) -> float:
    """Return the extreme of hits / (hits + misses) over all worlds, NaN where no world has either."""
    p, d = (-1, 1) if greatest else (2, 1)
    share = math.nan
    while True:
        costs, hit, miss = options.best(p, d, greatest)
        value, z = extreme_histogram(solution.branches, costs, greatest)
        if value == 0:
            return share
        hits, misses = int(z[hit].sum()), int(z[miss].sum())
        p, d = hits, hits + misses
        share = hits / d


def _row_numbers(solution: WeightedHistograms) -> list[int]:
    """Return every number of rows that some world has."""
    return sorted({solution.rows(final) for final in solution.finals})


def before_release(
    system: CellSystem, chosen: Selections, convention: Convention, rows: Sequence[int]
) -> tuple[Floats, Floats]:
    """Return the share of worlds and the mean rows before the release, averaged over the numbers of rows."""
    prior = PriorMembership(system.space, chosen, convention, {ANY_LABEL})
    shares = [-np.expm1(prior.log_absent({ANY_LABEL: n})) for n in rows]
    return np.mean(shares, axis=0), np.mean([prior.expected({ANY_LABEL: n}) for n in rows], axis=0)


def leave_one_out_coupled(solution: WeightedHistograms, query: LeaveOneOut, limits: Limits) -> LeaveOneOutAnswer:
    """Return, per pair (q, v), the share of v among q's rows in the release without one row that is (q, v).

    The row left out lies in cell c with probability proportional to E[z_c] r_c(q, v). Without it the worlds are
    those with a row in c, that row taken out; their weights are the old ones times z_c (`ordered`) or
    z_c / (size_c + z_c - 1) (`multiset`). NaN where nothing else remains to infer from.
    """
    inner, outer = (overlaps(solution.system, x, limits) for x in (query.inner, query.outer))
    near: dict[int, set[int]] = {}
    for part, whole in zip(inner, outer, strict=True):
        for c in part.cells:
            near.setdefault(c, set()).update(part.cells, whole.cells)
    reduced: dict[int, Floats] = {}
    share = np.full(len(inner), np.nan)
    for i, (part, whole) in enumerate(limits.paced(zip(inner, outer, strict=True), ASKED, 1)):
        total = seen = 0.0
        for c, ratio in zip(part.cells, part.ratios, strict=True):
            weight = float(solution.means[c]) * ratio
            if weight <= 0.0:
                continue
            if c not in reduced:
                reduced[c] = _means_without(solution, c, near[c])
            rest = float(reduced[c][list(whole.cells)] @ np.array(whole.ratios))
            hits = float(reduced[c][list(part.cells)] @ np.array(part.ratios))
            if rest > EPSILON * float(solution.means[list(whole.cells)] @ np.array(whole.ratios)):
                total += weight * max(0.0, hits) / rest
                seen += weight
        if seen:
            share[i] = total / seen
    return LeaveOneOutAnswer("exact", share=share)


def _means_without(solution: WeightedHistograms, c: int, cells: set[int]) -> Floats:
    """Return the mean number of rows of some cells in the release without one row of cell c; NaN of all others."""
    asked = sorted(cells | {c})
    out, whole = np.full(len(solution.system.sizes), np.nan), 0.0
    out[asked] = 0.0
    size = solution.system.sizes[c]
    for (b, f), share in solution.shares.items():
        branch = solution.branches[b]
        low = int(branch.bounds.lower[c])
        rows = np.arange(low, int(branch.bounds.upper[c]) + 1, dtype=np.float64)
        gain = rows if solution.convention != "multiset" else rows / np.maximum(size + rows - 1.0, 1.0)
        means = solution.branch_means(b, f).copy()
        if c in branch.place:
            g, i = branch.place[c]
            state = branch.final(g, f)
            weight = float(solution.marginals(b, g, state)[i] @ gain)
            if weight <= 0.0:
                continue
            positions = _by_graph(branch, asked)[g]
            found = solution.weighed(b, g).mean_rows(i, gain, positions, state)
            held = branch.graphs[g].part.cells
            for j, mean in found.items():
                means[held[j]] = branch.bounds.lower[held[j]] + mean / weight
        else:
            weight = float(gain[0])
        means[c] -= 1.0
        out[asked] += share * weight * means[asked]
        whole += share * weight
    return out / whole
