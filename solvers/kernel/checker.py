"""Re-checks a proof from the release alone: whole numbers, no solver, and nothing taken from whoever found it.

What has to be trusted is listed in docs/certificates.md, "What has to be trusted": this room and the little below it.
Every check raises `CertificateError` in one sentence; a limit that is met means "not verified".

Source: docs/certificates.md, "The kinds of proof"; the rules of a step are those of bounds propagation (Harvey, Stuckey
2003), a weighted sum is Farkas' lemma with bounds on the variables, both as in VIPR (Cheung, Gleixner, Steffy 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.cutting import WordLayout, Words, split_pieces
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import CertificateError, Inconclusive, NotVerified, Unsupported
from solvers.foundation.limits import Limits
from solvers.kernel.cells import (
    SAFE,
    Dataset,
    Live,
    NumberedStatements,
    cells_at,
    check_witness,
    check_world,
    live_cells,
    subtract,
)
from solvers.kernel.claims import (
    AlignmentReplays,
    AnyClaim,
    AnyProof,
    AtLeast,
    AtMost,
    BoundStep,
    Cases,
    CaseSplit,
    Drat,
    LeafValues,
    NoWorld,
    OnlyWorld,
    OverCells,
    OverRows,
    Possible,
    ProofStep,
    RegionProof,
    Removals,
    RowLocation,
    Sum,
    Witness,
)
from solvers.kernel.leaf_values import replay
from solvers.kernel.located import LocatedValues, replayed
from solvers.kernel.proof_format import printable
from solvers.statements.boxes import Box, Region
from solvers.statements.release import UNBOUNDED, Loose, Partition, Release, RowCount, Statement

LOOK = 256  # steps between looks at the clock
Whole = NDArray[Any]  # int64, or Python integers where sums may be larger


class Verifier:
    """Checks proofs about one release; cells of the same blocks are walked once, the same removals replayed once.

    `fixed`: boosted models of which leaf values say all, so that no world is left that breaks a figure.
    """

    def __init__(self, release: Release, limits: Limits | None = None, fixed: frozenset[int] = frozenset()) -> None:
        self.limits, self.fixed = limits or Limits(), fixed
        self.facts = NumberedStatements(release, self.limits)
        self._live: dict[tuple[int, ...], Live] = {}
        self._worlds: set[Dataset] = set()
        self._settled: tuple[Removals, LocatedValues] | None = None
        self._replayed: tuple[LeafValues, replay.LeafValueReplay] | None = None
        self._beyond: dict[tuple[bool, bool], Verifier] = {}

    def verify(self, claim: AnyClaim, proof: AnyProof) -> None:
        """Return when the proof proves the claim; raise `CertificateError` otherwise."""
        if self.facts.release.rows.high is None:
            raise CertificateError("the number of rows is unbounded: nothing can be verified")
        if isinstance(proof, AlignmentReplays):
            raise CertificateError("removals for rows of two files prove which of them are the same, nothing else")
        if isinstance(proof, LeafValues):
            self.beyond(proof, isinstance(claim, OnlyWorld | Possible)).verify(claim, proof.last)
            return
        if isinstance(claim, Possible) or isinstance(proof, Witness):
            check_witness(self.facts, claim, proof, self._worlds)
            return
        if isinstance(claim, OnlyWorld):
            check_world(self.facts, claim.parts, claim.times)
        if isinstance(proof, Removals):
            self.settled(proof).check(claim)
        elif isinstance(claim, RowLocation):
            raise CertificateError("where positions are is proved by removals, nothing else")
        elif isinstance(proof, RegionProof):
            _check_regions(self.facts, claim, proof)
        elif isinstance(proof, OverCells):
            live = self.live(proof.blocks)
            CellReplay(self.facts, live, proof, self.limits).check(claim)
        else:
            _check_drat(self.facts, claim, proof, self.limits)

    def replayed(self, proof: LeafValues) -> replay.LeafValueReplay:
        """Return what the steps of a proof by leaf values leave, replayed once for all claims that share them."""
        known = self._replayed
        if known is None or known[0].model != proof.model or known[0].steps != proof.steps:
            self._replayed = known = proof, replay.replayed(self.facts, proof, self.limits)
            self._beyond = {}
        return known[1]

    def beyond(self, proof: LeafValues, worlds: bool) -> Verifier:
        """Return who checks what follows from leaf values; of `worlds`, models that say nothing more are left out."""
        found, inner = self.replayed(proof), isinstance(proof.last, LeafValues)
        if (worlds, inner) not in self._beyond:
            release = found.release()
            fixed = self.fixed | ({proof.model} if worlds and found.fixed() else set())
            kept = (one for i, one in enumerate(release.boosted) if inner or i not in fixed)  # named by number inside
            self._beyond[worlds, inner] = Verifier(replace(release, boosted=tuple(kept)), self.limits, fixed)
        return self._beyond[worlds, inner]

    def settled(self, proof: Removals) -> LocatedValues:
        """Return what some removals leave; they are replayed once for all claims that share them."""
        if self._settled is None or self._settled[0] != proof:
            self._settled = proof, replayed(self.facts.release, proof, self.limits)
        return self._settled[1]

    def remember(self, blocks: tuple[int, ...], live: Live) -> Live:
        """Keep cells that were walked already."""
        return self._live.setdefault(blocks, live)

    def live(self, blocks: tuple[int, ...]) -> Live:
        """Return the cells of some blocks, from memory if they were walked."""
        if blocks not in self._live:
            if len(set(blocks)) != len(blocks):
                raise CertificateError("the proof names a block twice")
            self._live[blocks] = live_cells(self.facts, blocks)
        return self._live[blocks]


def _check_regions(facts: NumberedStatements, claim: OverRows, proof: RegionProof) -> None:
    """Check that regions with known counts settle a claim by themselves."""
    numbers = proof.statements
    if len(set(numbers)) != len(numbers):
        raise CertificateError("the proof names a statement twice")
    for s in numbers:
        if facts.block_of(s) < 0 or not facts.unconditional[s] or facts.statement(s).region is None:
            raise CertificateError(f"statement {s} is not a count that holds in every world")
    release, regions = facts.release, [facts.statement(s).summands[0].region for s in numbers]
    if isinstance(claim, AtMost):
        left = possible_rows(facts, claim.box)
        for region in regions:
            left = _without(facts, left, region)
        total = sum(int(facts.high[s]) for s in numbers)
        if len(left):
            raise CertificateError("the regions that the proof names do not cover the rows of the claim")
        if total > claim.rows or any(facts.high[s] == UNBOUNDED for s in numbers):
            raise CertificateError(f"the regions count up to {total} rows, the claim says at most {claim.rows}")
        return
    if isinstance(claim, OnlyWorld):
        raise CertificateError("regions alone do not prove that a world is the only one")
    box, rows = (Box(((0, 0),)), 1) if isinstance(claim, NoWorld) else (claim.box, claim.rows)
    if len({facts.block_of(s) for s in numbers}) > 1:
        raise CertificateError("the regions of different models may hold the same rows")
    if numbers and not isinstance(release.blocks[facts.block_of(numbers[0])], Partition) and len(numbers) > 1:
        raise CertificateError("regions outside a partition may hold the same rows")
    for s, region in zip(numbers, regions, strict=True):
        if len(pieces_outside(facts, region, box)):
            raise CertificateError(f"the region of {facts.statement(s).source} is not inside that of the claim")
    total = sum(int(facts.low[s]) for s in numbers)
    if total < rows:
        raise CertificateError(f"the regions count at least {total} rows, the claim needs {rows}")


def possible_rows(facts: NumberedStatements, box: Box) -> Words:
    """Return the possible rows of a box as pieces."""
    layout = WordLayout(facts.release.domain)
    inside, _, _, _ = split_pieces(layout, layout.full[None].copy(), box)
    return subtract(facts, inside, facts.release.impossible)


def _without(facts: NumberedStatements, words: Words, region: Region) -> Words:
    """Return pieces without a region (a box minus boxes)."""
    layout = WordLayout(facts.release.domain)
    inside, _, rest, _ = split_pieces(layout, words, region.box)
    kept = [rest]
    for box in region.minus:
        hit, _, inside, _ = split_pieces(layout, inside, box)
        kept.append(hit)
        facts.make_room(len(inside) + sum(map(len, kept)), words.shape[1])
    found: Words = np.concatenate(kept)
    return found


def pieces_outside(facts: NumberedStatements, region: Region, box: Box) -> Words:
    """Return the possible rows of a region that are not in a box, as pieces."""
    layout = WordLayout(facts.release.domain)
    inside, _, _, _ = split_pieces(layout, layout.full[None].copy(), region.box)
    _, _, beyond, _ = split_pieces(layout, inside, box)
    return subtract(facts, beyond, (*region.minus, *facts.release.impossible))


@dataclass(frozen=True, eq=False)
class Goal:
    """What a proof over cells must show of every histogram z: weights @ z <= most, or (`target` given) z == target.

    A proof that no histogram is left shows both.
    """

    weights: Ints
    maximum: int
    target: Ints | None = None


def goal_of(facts: NumberedStatements, live: Live, claim: OverRows) -> Goal:
    """Return what must be shown over cells for a claim."""
    weights = np.zeros(live.cells, dtype=np.int64)
    if isinstance(claim, AtMost):
        weights[live.meeting(claim.box)] = 1
        return Goal(weights, claim.rows)
    if isinstance(claim, AtLeast):
        weights[live.inside(claim.box)] = -1
        return Goal(weights, -claim.rows)
    return Goal(weights, -1, _rows_of_world(facts, live, claim) if isinstance(claim, OnlyWorld) else None)


def _rows_of_world(facts: NumberedStatements, live: Live, claim: OnlyWorld) -> Ints:
    """Return how many rows of every cell the world has; each cell with rows must hold a single raw row."""
    at = cells_at(facts, live, claim.parts)
    out = np.zeros(live.cells, dtype=np.int64)
    np.add.at(out, at, np.array(claim.times, dtype=np.int64))
    sizes = live.sizes()
    if facts.release.domain.relative or any(sizes[c] != 1 for c in np.flatnonzero(out).tolist()):
        raise CertificateError("a row of the world can be exchanged for another that no statement tells from it")
    return out


class CellReplay:
    """A proof over cells, replayed: bounds on every cell that move only by what a statement or a sum implies."""

    def __init__(self, facts: NumberedStatements, live: Live, proof: OverCells, limits: Limits) -> None:
        self.facts, self.live, self.proof, self.limits = facts, live, proof, limits
        self.maximum = maximum = int(facts.release.rows.high or 0)
        self.known = facts.within(proof.blocks)
        self.usable = facts.unconditional & self.known
        self.cells = cells_at(facts, live, proof.cells)
        if len(set(self.cells.tolist())) != len(self.cells):
            raise CertificateError("the proof names a cell twice")
        linear = live.linear
        reach = int(np.abs(linear.coef).max(initial=1)) * max(1, maximum) * max(1, live.cells)
        kind: type = np.int64 if reach < SAFE else object
        self.coef: Whole = linear.coef.astype(kind)
        self.lower: Whole = np.zeros(live.cells, dtype=kind)
        self.upper: Whole = np.full(live.cells, maximum, dtype=kind)
        self._combined: tuple[int, Whole] | None = None
        for one in proof.sums:
            self._check_sum(one)

    def check(self, claim: OverRows) -> None:
        """Check that the tree proves the claim."""
        self._node(self.proof.tree, goal_of(self.facts, self.live, claim))

    def _node(self, node: ProofStep, goal: Goal) -> None:
        """Check a node: the goal holds for all that is left within the bounds."""
        if self.limits.expired():
            raise NotVerified("not verified: the time was up")
        for i, step in enumerate(node.steps):
            if i % LOOK == LOOK - 1 and self.limits.expired():
                raise NotVerified("not verified: the time was up")
            self._step(step, i)
        end = node.end
        if isinstance(end, CaseSplit):
            cell = self._cell(end.cell)
            if not 0 <= end.value <= int(self.facts.release.rows.high or 0):
                raise CertificateError(f"a branch at {end.value} rows leaves nothing to distinguish")
            for below, inner in ((True, end.below), (False, end.above)):
                saved = self.lower.copy(), self.upper.copy()
                if below:
                    self.upper[cell] = min(self.upper[cell], end.value)
                else:
                    self.lower[cell] = max(self.lower[cell], end.value + 1)
                self._node(inner, goal)
                self.lower, self.upper = saved
        elif isinstance(end, Cases):
            self._cases(end, goal)
        elif not bool((self.lower > self.upper).any()):
            self._ends(end, goal)

    def _cases(self, cases: Cases, goal: Goal) -> None:
        """Check one node per alternative of a choice, whose statements hold there."""
        alternatives = self.facts.alternatives(cases.block)
        if cases.block not in self.proof.blocks or len(alternatives) != len(cases.nodes):
            raise CertificateError(f"the cases of block {cases.block} are not all there")
        for numbers, inner in zip(alternatives, cases.nodes, strict=True):
            saved = self.lower.copy(), self.upper.copy(), self.usable.copy()
            self.usable[numbers] = True
            self._node(inner, goal)
            self.lower, self.upper, self.usable = saved

    def _ends(self, end: int | None, goal: Goal) -> None:
        """Check that the bounds, or a weighted sum within them, settle the claim."""
        if goal.target is not None and end is None:
            if not (np.array_equal(self.lower, goal.target) and np.array_equal(self.upper, goal.target)):
                raise CertificateError("the proof leaves room for another world")
            return
        found = self.greatest(goal.weights, end)
        if found > goal.maximum:
            raise CertificateError(
                f"the proof shows at most {printable(found)}, the claim needs at most {printable(goal.maximum)}"
            )

    def greatest(self, weights: Whole, number: int | None) -> int:
        """Return a bound on weights @ z from a sum and the bounds on cells, rounded down."""
        if number is None:
            return int((weights * np.where(weights > 0, self.upper, self.lower)).sum())
        if not 0 <= number < len(self.proof.sums):
            raise CertificateError(f"there is no sum {number} in the proof")
        if self._combined is None or self._combined[0] != number:
            self._combined = number, self.combine(self.proof.sums[number])
        return self.by_sum(weights, self.proof.sums[number], self._combined[1])

    def by_sum(self, weights: Whole, one: Sum, combined: Whole) -> int:
        """Return the bound on weights @ z that a sum (`combined` over the cells) proves, rounded down."""
        rest = weights.astype(object) * one.over - combined
        total = self._stated(one)
        total += sum(int(r) * int(u) for r, u in zip(rest[rest > 0], self.upper[rest > 0], strict=True))
        total += sum(int(r) * int(low) for r, low in zip(rest[rest < 0], self.lower[rest < 0], strict=True))
        return total // one.over

    def _check_sum(self, one: Sum) -> None:
        """Refuse a sum of statements that are not in the blocks of the proof."""
        for s, _ in one.multipliers:
            if not 0 <= s < len(self.facts) or not self.known[s]:
                raise CertificateError(f"statement {s} is in none of the blocks of the proof")

    def combine(self, one: Sum) -> Whole:
        """Return Σ y a over every cell, exactly."""
        out: Whole = np.zeros(self.live.cells, dtype=object)
        linear = self.live.linear
        for s, y in one.multipliers:
            span = slice(int(linear.start[s]), int(linear.start[s + 1]))
            out[linear.col[span]] += self.coef[span].astype(object) * y
        return out

    def _stated(self, one: Sum) -> int:
        """Return the greatest that Σ y * statement can be by what the statements say."""
        total = 0
        for s, y in one.multipliers:
            bound = int(self.facts.high[s] if y > 0 else self.facts.low[s])
            if y == 0 or not self.usable[s] or abs(bound) == UNBOUNDED:
                raise CertificateError(f"statement {s} says nothing that its multiplier {y} could use")
            total += y * bound
        return total

    def _cell(self, i: int) -> int:
        if not 0 <= i < len(self.cells):
            raise CertificateError(f"there is no cell {i} in the proof")
        return int(self.cells[i])

    def _step(self, step: BoundStep, i: int) -> None:
        """Move one bound, if the step says exactly what its reason implies."""
        cell = self._cell(step.cell)
        value = self.implied(cell, step.upper, step.reason)
        if value is None or value != step.value:
            says, side = "nothing" if value is None else printable(value), "<=" if step.upper else ">="
            raise CertificateError(f"step {i} says {side} {printable(step.value)}, but its reason implies {says}")
        # Beyond these ends bounds cross already, and go on fitting into 64 bits.
        if step.upper:
            self.upper[cell] = max(-1, min(self.upper[cell], value))
        else:
            self.lower[cell] = min(self.maximum + 1, max(self.lower[cell], value))

    def implied(self, cell: int, upper: bool, reason: int) -> int | None:
        """Return the bound that a statement, or a sum, implies for a cell within the present bounds; None for none."""
        if reason < 0:
            weights: Whole = np.zeros(self.live.cells, dtype=np.int64)
            weights[cell] = 1 if upper else -1
            found = self.greatest(weights, -1 - reason)
            return found if upper else -found
        if not 0 <= reason < len(self.facts) or not self.usable[reason]:
            raise CertificateError(f"statement {reason} is not one that this proof may use")
        linear = self.live.linear
        span = slice(int(linear.start[reason]), int(linear.start[reason + 1]))
        cells, coef = linear.col[span], self.coef[span]
        here = np.flatnonzero(cells == cell)
        if not len(here):
            return None
        a = int(coef[here[0]])
        minimum = (coef > 0) == (upper == (a > 0))  # where the others' least rows count in what is left for the cell
        others = coef * np.where(minimum, self.lower[cells], self.upper[cells])
        rest = int(others.sum()) - int(others[here[0]])
        bound = int(self.facts.high[reason] if upper == (a > 0) else self.facts.low[reason])
        if abs(bound) == UNBOUNDED:
            return None
        left = bound - rest
        return left // a if upper else -(-left // a)


def _check_drat(facts: NumberedStatements, claim: OverRows, proof: Drat, limits: Limits) -> None:
    """Check clauses by unit propagation, from our own lowering of the blocks and the claim's negation."""
    from solvers.cells.clauses.lowering import lower
    from solvers.kernel.rup import check

    try:
        lowered = lower(negated(facts.release, proof.blocks, claim), limits, raw=False, sorted_rows=True)
    except (Unsupported, Inconclusive) as error:
        raise NotVerified(f"not verified: {error}") from None
    check(lowered.clauses, proof.lines, limits)


def negated(release: Release, blocks: Sequence[int], claim: OverRows) -> Release:
    """Return the release of some blocks whose worlds are the exceptions to a claim."""
    if isinstance(claim, OnlyWorld):
        raise CertificateError("clauses do not prove that a world is the only one in this version")
    if len(set(blocks)) != len(blocks) or any(not 0 <= b < len(release.blocks) for b in blocks):
        raise CertificateError("the proof names a block twice, or one that does not exist")
    kept = tuple(release.blocks[b] for b in blocks)
    if isinstance(claim, AtMost):
        opposite = Statement.count(Region(claim.box), claim.rows + 1, UNBOUNDED, "the claim's opposite")
        kept = (*kept, Loose((opposite,)))
    elif isinstance(claim, AtLeast):
        opposite = Statement.count(Region(claim.box), 0, claim.rows - 1, "the claim's opposite")
        kept = (*kept, Loose((opposite,)))
    return Release(release.domain, RowCount(release.rows.low, release.rows.high), kept, release.impossible)
