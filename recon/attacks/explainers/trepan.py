"""TREPAN: a small tree with m-of-n tests, grown best-first by asking the black box about rows drawn on each path."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray
from scipy import special

from recon.attacks.explainers.sampling import IndependentColumns, Path, checked_rows, conditioned, query_target
from recon.attacks.explainers.surrogate import Literal, MofN, Surrogate, SurrogateNode
from recon.queries.inputs import Bits, Floats, Ints, RecordColumns, Target
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

Splits = Choice["m-of-n", "binary"]
BEAM = 2  # tests kept at each step of the search
THRESHOLDS = 32  # of a continuous column that are tried at a node
BETTER = 0.01  # a longer test must gain so much more, relatively
LOCAL = 30  # training rows at a node from which on its values, not its parent's, are drawn
GROWTH = 1e-12  # a gain above rounding


@dataclass(frozen=True)
class Settings:
    """How a tree is grown; see `trepan`."""

    splits: Splits = "m-of-n"
    minimum: int = 1000
    max_nodes: int = 15
    literals: int = 5
    purity: float = 0.99
    confidence: float = 0.95


@dataclass(frozen=True, eq=False)
class _OpenNode:
    """A node that may be split: its number, path and reach, the law of its rows, its training rows and all labelled."""

    number: int
    path: Path
    reach: float
    law: IndependentColumns
    training: int  # the first so many labelled rows are training rows
    x: Floats
    said: Ints

    def priority(self) -> float:
        """Return reach * (1 - fidelity): the share of rows that a split here might set right."""
        return self.reach * (1 - int(np.bincount(self.said).max()) / len(self.said))


def trepan(target: Target, x: Floats, columns: RecordColumns, classes: int, *, seed: int, splits: Splits = "m-of-n",
           minimum: int = 1000, max_nodes: int = 15, literals: int = 5, purity: float = 0.99, confidence: float = 0.95,
           limits: Limits | None = None) -> Surrogate:  # fmt: skip
    """Return TREPAN's tree for a black box (`target`, over class numbers below `classes`) from rows x (n, d).

    The node with the greatest reach * (1 - fidelity) is split first, until `max_nodes` nodes have tests. At each node
    at least `minimum` rows decide, training rows there and, where those are fewer, rows drawn from the columns' own
    values given the path. `splits`: "m-of-n" (tests of at most `literals` literals, found from the best single one by
    beam search with the operators m-of-(n+1) and (m+1)-of-(n+1)) or "binary". A node stays a leaf where the share of
    its majority class is above `purity` with this `confidence` (exact binomial bound), and where no test gains
    significantly (likelihood-ratio test at 1 - `confidence`). At the end, nodes all of whose leaves say the same are
    made leaves. The same seed gives the same tree. A tree that is to be released (`Surrogate.nodes`) is best grown with
    2 or 3 literals: with 5, the single tests of its m-of-n tests were 66,751 nodes on adult24, with 3 they were 791, at
    a fidelity of 0.96 in place of 0.97.

    Source: Craven, Shavlik, "Extracting Tree-Structured Representations of Trained Networks", NIPS 8, 1996. Beside it:
    continuous columns are drawn from their values, not from a kernel density; a node's own values are drawn where it
    has 30 training rows (theirs: where they differ significantly from the parent's); a step of the search must gain
    1 % more (theirs: a significantly different partition); seeds' complements are left out, as with literals of both
    signs they give the same partitions; a column stands once in a test, but may return further down.

    Raises `ReleaseError` (no rows, other columns, settings out of range), `Inconclusive` by `limits`. Cost: at most
    `minimum` queries for each of 2 `max_nodes` + 1 nodes, and one for each training row.
    """
    rows = checked_rows(x, columns)
    if splits not in ("m-of-n", "binary"):
        raise ReleaseError(f"splits = {splits!r} is neither 'm-of-n' nor 'binary'")
    if minimum < 1 or max_nodes < 0 or literals < 1:
        raise ReleaseError(f"minimum {minimum}, literals {literals}, max_nodes {max_nodes} must be 1, 1 and 0 at least")
    settings = Settings(splits, minimum, max_nodes, 1 if splits == "binary" else literals, purity, confidence)
    inner, queries = _Growth(target, columns, classes, settings, seed, limits).grown(rows)
    return Surrogate(f"trepan {splits}", columns, classes, _simplified(inner), queries)


class _Growth:
    """The growth of one tree: the black box and its queries, the random numbers, and the limits."""

    def __init__(self, target: Target, columns: RecordColumns, classes: int, settings: Settings, seed: int,
                 limits: Limits | None) -> None:  # fmt: skip
        self.target, self.columns, self.classes, self.settings = target, columns, classes, settings
        self.rng, self.limits, self.queries = np.random.default_rng(seed), limits, 0

    def grown(self, x: Floats) -> tuple[list[SurrogateNode], int]:
        """Return the nodes of the tree for training rows, before it is simplified, and the number of queries."""
        root = self.opened(0, (), 1.0, IndependentColumns(x, self.columns), x, self.ask(x), x)
        inner = [SurrogateNode(self.shares(root.said))]
        heap = [(-root.priority(), 0, root)]
        splits = 0
        while heap and splits < self.settings.max_nodes:
            if self.limits is not None:
                self.limits.check("TREPAN's tree was grown")
            _, number, at = heapq.heappop(heap)
            test = None if self.pure(at.said) else _best_test(at.x, at.said, self.classes, self.columns, self.settings)
            if test is None:
                continue
            splits += 1
            inner[number] = SurrogateNode(inner[number].shares, test, len(inner), len(inner) + 1)
            for outcome in (True, False):
                child = self.child(at, test, outcome, len(inner))
                inner.append(SurrogateNode(self.shares(child.said)))
                heapq.heappush(heap, (-child.priority(), child.number, child))
        return inner, self.queries

    def child(self, at: _OpenNode, test: MofN, outcome: bool, number: int) -> _OpenNode:
        """Return the node below another one on one side of its test."""
        side = test.holds(at.x) == outcome
        training = side[: at.training]
        x, said = at.x[: at.training][training], at.said[: at.training][training]
        law = IndependentColumns(x, self.columns) if len(x) >= LOCAL else at.law
        path = (*at.path, (test, outcome))
        return self.opened(number, path, at.reach * float(side.mean()), law, x, said, at.x[side])

    def opened(self, number: int, path: Path, reach: float, law: IndependentColumns, x: Floats, said: Ints,
               seeds: Floats) -> _OpenNode:  # fmt: skip
        """Return a node with as many labelled rows as decide: training rows x, then drawn ones."""
        missing = self.settings.minimum - len(x)
        if missing <= 0:
            return _OpenNode(number, path, reach, law, len(x), x, said)
        drawn = conditioned(law, path, seeds, missing, self.rng)
        both = np.concatenate([x, drawn])
        return _OpenNode(number, path, reach, law, len(x), both, np.concatenate([said, self.ask(drawn)]))

    def ask(self, x: Floats) -> Ints:
        """Return what the black box says, and count its queries."""
        said, queries = query_target(self.target, x, self.classes)
        self.queries += queries
        return said

    def shares(self, said: Ints) -> tuple[float, ...]:
        """Return the share of each class."""
        return tuple((np.bincount(said, minlength=self.classes) / len(said)).tolist())

    def pure(self, said: Ints) -> bool:
        """Return whether one class has all labelled rows, or surely more than the purity of the rows there are."""
        most, count = int(np.bincount(said).max()), len(said)
        if most == count:
            return True
        low = special.betaincinv(most, count - most + 1, 1 - self.settings.confidence)  # Clopper and Pearson's bound
        return bool(low > self.settings.purity)


def _simplified(inner: list[SurrogateNode]) -> list[SurrogateNode]:
    """Return a tree without the tests whose leaves all say what the node itself says: predictions stay as they are."""
    said: list[int | None] = [None] * len(inner)  # the one class below a node
    for k in reversed(range(len(inner))):
        node = inner[k]
        own = int(np.argmax(node.shares))
        said[k] = own if node.test is None or said[node.then] == said[node.other] == own else None
    kept: list[SurrogateNode] = []
    order = [0]
    for k in order:  # grows: children are numbered when their parent is written
        node = inner[k]
        if node.test is None or said[k] is not None:
            kept.append(SurrogateNode(node.shares))
        else:
            kept.append(SurrogateNode(node.shares, node.test, len(order), len(order) + 1))
            order += [node.then, node.other]
    return kept


def _best_test(x: Floats, said: Ints, classes: int, columns: RecordColumns, settings: Settings) -> MofN | None:
    """Return the test of labelled rows with the greatest information gain; None where none is significant."""
    candidates = _literals_of(x, columns)
    if not candidates or not len(x):
        return None
    held = np.column_stack([literal.holds(x) for literal in candidates])
    search = _BeamSearch(held, np.eye(classes, dtype=np.float32)[said], [c.column for c in candidates])
    beam = search.first()
    best = beam[0]
    while beam and len(beam[0].chosen) < settings.literals:
        beam = search.longer(beam)
        if not beam or beam[0].gain <= best.gain * (1 + BETTER) + GROWTH:
            break
        best = beam[0]
    present = int((np.bincount(said, minlength=classes) > 0).sum())
    if present < 2 or best.gain <= GROWTH:
        return None
    statistic = 2 * np.log(2) * len(x) * best.gain
    if special.chdtrc(present - 1, statistic) > 1 - settings.confidence:
        return None
    return MofN(best.needed, tuple(candidates[k] for k in best.chosen))


def _literals_of(x: Floats, columns: RecordColumns) -> list[Literal]:
    """Return the tests of single columns that are tried: both sides of .5 for bits, of some midpoints for numbers."""
    found = []
    for k, continuous in enumerate(columns.continuous):
        values = np.unique(x[:, k])
        if len(values) < 2:
            continue
        middles = (values[1:] + values[:-1]) / 2 if continuous else np.array([0.5])
        if len(middles) > THRESHOLDS:  # as many rows between two of them
            cuts = np.quantile(x[:, k], np.linspace(0, 1, THRESHOLDS + 2)[1:-1])
            middles = np.unique(middles[np.clip(np.searchsorted(values, cuts), 0, len(middles) - 1)])
        found += [Literal(k, t, at_most) for t in middles.tolist() for at_most in (True, False)]
    return found


@dataclass(frozen=True, eq=False)
class _State:
    """A test within the search: its literals by number, how many are needed, how many each row meets, its gain."""

    chosen: tuple[int, ...]
    needed: int
    met: NDArray[np.int8]
    gain: float


class _BeamSearch:
    """A beam search for m-of-n tests over literals that each row meets or not."""

    def __init__(self, held: Bits, labels: NDArray[np.float32], column: list[int]) -> None:
        self.held, self.labels, self.column = held, labels, np.array(column)
        self.floats = held.astype(np.float32)  # counts below 2^24 are exact
        self.total = labels.sum(axis=0, dtype=np.float64)

    def first(self) -> list[_State]:
        """Return the best tests of one literal."""
        gains = self.gains(self.labels.T @ self.floats)
        order = np.argsort(-gains, kind="stable")[:BEAM]
        return [_State((k,), 1, self.held[:, k].astype(np.int8), float(gains[k])) for k in order.tolist()]

    def longer(self, beam: list[_State]) -> list[_State]:
        """Return the best tests with one more literal than those of a beam, as many as a beam has."""
        found: dict[tuple[frozenset[int], int], tuple[float, _State, int]] = {}
        for state in beam:
            free = ~np.isin(self.column, self.column[list(state.chosen)])
            for needed in (state.needed, state.needed + 1):
                sure, edge = state.met >= needed, state.met == needed - 1
                counts = self.labels[sure].sum(axis=0)[:, None] + self.labels[edge].T @ self.floats[edge]
                gains = np.where(free, self.gains(counts), -1.0)
                for k in np.argsort(-gains, kind="stable")[:BEAM].tolist():
                    if gains[k] >= 0:
                        found.setdefault((frozenset((*state.chosen, k)), needed), (float(gains[k]), state, k))
        best = sorted(found.items(), key=lambda item: -item[1][0])[:BEAM]
        return [_State((*state.chosen, k), needed, state.met + self.held[:, k].astype(np.int8), gain)
                for (_, needed), (gain, state, k) in best]  # fmt: skip

    def gains(self, counts: NDArray[np.float32]) -> Floats:
        """Return (literals,) the information gain in bits of tests with so many rows per class where they hold."""
        inside = counts.astype(np.float64)
        outside = self.total[:, None] - inside
        whole = self.total.sum()
        found: Floats = (_entropy(self.total[:, None]) - _entropy(inside) - _entropy(outside)) / whole
        return found


def _entropy(counts: Floats) -> Floats:
    """Return per column of counts their sum times their entropy in bits."""
    total = counts.sum(axis=0)
    logs = np.log2(np.where(counts > 0, counts, 1.0))
    found: Floats = total * np.log2(np.where(total > 0, total, 1.0)) - (counts * logs).sum(axis=0)
    return found
