"""Finds proofs for claims, each checked by `certificate.Verifier` before it is given out.

Cheapest first: regions that settle a claim by themselves; steps, weighted sums and cases over cells; clauses.

Proofs about releases that leaf values strengthened: wrapped, so that they hold of what was published.

A proof about the strengthened release becomes the last part of one by leaf values (`LeafValues`), whose steps are
those that some claims rest on; claims proved together share them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from solvers.cells.cutting import AnyCut, PartitionCut, WordLayout, labels_of, padded
from solvers.foundation.errors import CertificateError, EngineError, Inconclusive, Unsupported
from solvers.foundation.limits import STAGES, STEPS, Limits
from solvers.kernel.cells import NumberedStatements, cuts_of, live_cells, start_of
from solvers.kernel.checker import Verifier, negated, pieces_outside, possible_rows
from solvers.kernel.claims import (
    AnyClaim,
    AnyProof,
    AtLeast,
    AtMost,
    Claim,
    Drat,
    Form,
    LeafValues,
    NoWorld,
    OnlyWorld,
    OverCells,
    OverRows,
    Proof,
    ProofStep,
    Refined,
    RegionProof,
    Removals,
    RowLocation,
    Sum,
)
from solvers.kernel.leaf_values.blocks import say_more
from solvers.positions.assignments.world import Remembered, assigned
from solvers.proofs.certificates.leaf_steps import Steps, StepWalk, TracedReplay
from solvers.proofs.certificates.search import Base, ProofSearch
from solvers.proofs.certificates.trimming import places_left, trim_removals
from solvers.statements.boxes import Box, Region
from solvers.statements.questions.answers import BoxMultipliers, Side
from solvers.statements.release import AddedBlocks, Release


def _chain(release: Release) -> list[AddedBlocks]:
    """Return how a release was strengthened, the first model first; [] where it was not."""
    out: list[AddedBlocks] = []
    while release.settled is not None:
        out.append(release.settled)
        release = release.settled.before
    return out[::-1]


def _root_proofs(
    verifier: Verifier, settled: Sequence[AddedBlocks], proofs: dict[AnyClaim, AnyProof | None], limits: Limits
) -> dict[AnyClaim, AnyProof | None]:
    """Return proofs about the release before leaf values were used (`verifier` checks them); None where there is none.

    `proofs` are about the strengthened release. Claims that bounds on cells settle by themselves are proved with the
    steps behind these bounds alone; all others with the steps behind all bounds, which may take a part of the time
    left (`WHOLE`): what then is not done has no proof. Cost: a pass over the steps, and the weighted sums of those
    that are kept.
    """
    found: dict[AnyClaim, AnyProof | None] = dict.fromkeys(proofs)
    wanted = [claim for claim, proof in proofs.items() if proof is not None]
    if not wanted:
        return found
    last = settled[-1]
    with suppress(CertificateError, Inconclusive):
        facts = NumberedStatements(last.before, limits)
        traced = TracedReplay(facts, last.model, last.steps, limits)
        behind = {claim: traced.behind(claim) for claim in wanted}
        needed = set[int]().union(*(steps for steps in behind.values() if steps is not None))
        local = [claim for claim in wanted if behind[claim] is not None]
        if len(local) < len(wanted):  # such proofs name what all the steps leave: these may then serve all claims
            part = limits.stage("proofs by leaf values")
            try:
                whole = TracedReplay(facts, last.model, last.steps, part)
                steps = StepWalk(whole).back(whole.behind_all())
                again = TracedReplay(facts, last.model, steps, part)
                with_proofs = {claim: _regions(again, claim) or proofs[claim] for claim in wanted}
                checking = Verifier(verifier.facts.release, part)
                found |= _all_checked(checking, settled, steps, with_proofs)
                if not part.expired():
                    return found
            except (CertificateError, Inconclusive):
                limits.report(
                    "leaf values: a proof of all they say takes too long; claims about single cells are proved"
                )
        local = [claim for claim in local if found[claim] is None]
        if local:
            steps = StepWalk(traced).back(needed)
            again = TracedReplay(facts, last.model, steps, limits)
            found |= _all_checked(verifier, settled, steps, {claim: _regions(again, claim) for claim in local})
    return found


def _all_checked(
    verifier: Verifier, settled: Sequence[AddedBlocks], steps: Steps, proofs: Mapping[AnyClaim, AnyProof | None]
) -> dict[AnyClaim, AnyProof | None]:
    """Return the proofs by these steps that were verified, None for others and where time did not suffice."""
    layers = [(settled[-1].model, tuple(steps)), *((one.model, tuple(one.steps)) for one in reversed(settled[:-1]))]
    found: dict[AnyClaim, AnyProof | None] = dict.fromkeys(proofs)
    for claim, proof in proofs.items():
        if verifier.limits.expired():
            break
        found[claim] = None if proof is None else _checked_proof(verifier, layers, proof, claim)
    return found


def _checked_proof(
    verifier: Verifier, layers: Sequence[tuple[int, tuple[Refined | Form, ...]]], last: AnyProof, claim: AnyClaim
) -> AnyProof | None:
    """Return a proof with what models prove around it (number and steps, the last model first), if it is verified."""
    proof = last
    for model, steps in layers:
        proof = LeafValues(model, steps, proof)
    try:
        verifier.verify(claim, proof)
    except CertificateError:  # not verified in time, too
        return None
    return proof


def _regions(traced: TracedReplay, claim: AnyClaim) -> RegionProof | None:
    """Return regions of the blocks that the steps leave which settle a claim, None where none do."""
    facts, labels = traced.facts, traced.labels
    alive = traced.alive
    number = facts.rows + (np.cumsum(alive) - 1)[:, None] * labels + np.arange(labels)
    other = facts.rows + int(alive.sum()) * labels  # dropped cells, where nobody is: the last region, which counts 0
    statement = np.where(alive[:, None], number, other).reshape(-1)
    if isinstance(claim, AtMost):
        met = traced.touching(claim.box)
        if int(traced.upper[met].sum()) <= claim.rows:
            return RegionProof(tuple(sorted({*statement[met].tolist(), other})))
    if isinstance(claim, AtLeast):
        chosen = traced.enough(claim)
        if int(traced.lower[chosen].sum()) >= claim.rows:
            return RegionProof(tuple(sorted(statement[chosen].tolist())))
    cells = traced.whole_cells(claim)
    totals = traced.totals()[:2]
    low, high = (x.reshape(-1, labels)[alive] for x in (traced.lower, traced.upper))
    if cells is None or not say_more((totals[0][alive], totals[1][alive]), low, high, facts.release.rows.high):
        return None
    named = {other + 1 + int(i) for i in (np.cumsum(alive) - 1)[cells[alive[cells]]]}
    return RegionProof(tuple(sorted(named | ({other + 1 + int(alive.sum())} if isinstance(claim, AtMost) else set()))))


MAX_CLAUSES = 300_000  # beyond, clauses row by row are too many to refute
MAX_LEFT = 4_096  # pieces of a box that regions counting 0 may leave on the way
MAX_TRIMMED_POSITIONS = 20  # positions of which the removals that they do not rest on are always left out
MAX_TRIMMED = 5_000  # removals of which those that positions do not rest on are left out; mostly all are needed
MAX_COUNTED = 5_000  # statements of a rule list tried one by one


@dataclass(slots=True)
class ProofStart:
    """What proofs about a release start from: its fingerprint, and the cells of all its blocks."""

    fingerprint: str | None = None
    base: Base | None = None


class Certifier:
    """Proofs about one release within limits; the cells that are walked once serve every later one."""

    def __init__(
        self, release: Release, limits: Limits | None = None, multipliers: Mapping[Side, BoxMultipliers] | None = None
    ) -> None:
        """Start; `multipliers` are what an engine proved bounds on boxes with, for claims about these."""
        self.release, self.multipliers = release, multipliers or {}
        self.limits, self.late = _proof_limits(limits)
        self.verifier = Verifier(release, self.limits)
        self.facts = self.verifier.facts
        self.blocks = tuple(range(len(release.blocks)))
        self.settled = _chain(release)
        self.root = Verifier(self.settled[0].before, self.limits) if self.settled else self.verifier

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the statements as they were published, computed once per release."""
        walked = self.root.facts.release.derived.part(ProofStart)
        if walked.fingerprint is None:
            walked.fingerprint = self.root.facts.fingerprint
        return walked.fingerprint

    def rooted(self, proofs: Mapping[AnyClaim, AnyProof | None]) -> dict[AnyClaim, AnyProof | None]:
        """Return proofs that rest on what was published alone: of a release that leaf values strengthened, with these.

        Whoever gives a proof away passes it through here; claims that are proved together share steps.
        """
        if not self.settled:
            return dict(proofs)
        out, left = dict[AnyClaim, AnyProof | None](), dict[AnyClaim, AnyProof | None]()
        plain = Certifier(self.root.facts.release, self.limits)
        for claim, proof in proofs.items():
            by_regions = plain.regions(claim) if proof is not None and isinstance(claim, AtMost | AtLeast) else None
            try:
                if by_regions is not None:
                    self.root.verify(claim, by_regions)
            except CertificateError:
                by_regions = None
            (left if by_regions is None else out)[claim] = proof if by_regions is None else by_regions
        return out | _root_proofs(self.root, self.settled, left, self.limits)

    def prove(self, claim: Claim, clauses: bool = True) -> Proof | None:
        """Return a proof that was verified, None where none was found within the limits.

        `clauses`: as the last resort a solver may look for a refutation in clauses, in a process of its own.
        """
        if self.release.rows.high is None:
            return None
        for proof in self.candidates(claim, clauses):
            try:
                self.verifier.verify(claim, proof)
            except CertificateError:
                continue
            return proof
        return None

    @cached_property
    def removals(self) -> Removals | None:
        """Return the steps of propagation over rows distinguished; None where they cannot be, or nobody asked for them.

        Slots without known bags are not propagated for a proof alone.
        """
        if not self.release.bags and self.release.derived.part(Remembered).assigned is None:
            return None
        found = assigned(self.release, self.limits.stage("removals"))
        return None if found is None else Removals(found.steps)

    def located(self, rows: Sequence[int] | None = None) -> RowLocation | None:
        """Return where positions are by the removals; None where there are none, or nothing is known of them."""
        if self.removals is None or not self.release.bags:
            return None
        try:
            settled = self.verifier.settled(self.removals)
        except CertificateError:
            return None
        return places_left(settled, range(settled.problem.rows) if rows is None else rows)

    def trimmed(self, claims: Sequence[Claim]) -> dict[Claim, Proof | None]:
        """Return one proof by removals of some claims, with no more steps than it needs; without claims nothing.

        Where the shorter proof is not verified in time, the whole one serves.
        """
        if not claims or self.removals is None:
            return {}
        for proof in (self.shorter(claims), self.removals):
            try:
                for claim in claims:
                    self.verifier.verify(claim, proof)
            except CertificateError:
                continue
            return dict.fromkeys(claims, proof)
        return dict.fromkeys(claims, None)

    def shorter(self, claims: Sequence[Claim]) -> Removals:
        """Return the removals that some claims rest on, not verified yet; all of them where positions are claimed."""
        whole = self.removals or Removals(())
        if len(whole.steps) > MAX_TRIMMED and any(
            isinstance(c, RowLocation) and len(c.rows) > MAX_TRIMMED_POSITIONS for c in claims
        ):
            return whole
        try:
            return trim_removals(self.verifier.settled(whole), whole, claims, self.limits.stage("trimming"))
        except CertificateError:
            return whole

    def regions(self, claim: Claim) -> RegionProof | None:
        """Return regions that settle a claim, None where none were found within the limits."""
        try:
            return _regions_for(self, claim)
        except CertificateError:
            return None

    def candidates(self, claim: Claim, by_clauses: bool = True) -> Iterator[Proof]:
        """Yield proofs that may hold, the shortest kinds first; of a box, only by regions when time is short."""
        if isinstance(claim, RowLocation):
            if self.removals is not None:
                yield self.removals
            return
        # of bags no region says from above how many rows it has; of slots few say so from below
        first = self.base is None and isinstance(claim, AtMost if self.release.bags else AtMost | AtLeast)
        if first and self.removals is not None:
            yield self.removals
        if (by_regions := self.regions(claim)) is not None:
            yield by_regions
        if self.late and self.base is None and not first and self.removals is not None:
            yield self.removals
        if self.late and isinstance(claim, AtMost | AtLeast):
            return
        if self.base is not None:
            share = self.limits.stage("hard claim")
            for branching in (False, True):
                if (found := ProofSearch(self.base, claim, share).proof(branching)) is not None:
                    yield found
                if self.removals is not None and not branching:
                    yield self.removals
        elif not first and self.removals is not None:
            yield self.removals
        if self.base is None and (columns := self.by_columns(claim)) is not None:
            yield columns
        if by_clauses and not isinstance(claim, OnlyWorld) and (clauses := self.by_clauses(claim)) is not None:
            yield clauses

    @cached_property
    def cuts(self) -> list[AnyCut]:
        """Return what cuts the row space, block by block."""
        return cuts_of(self.facts, self.blocks)

    @cached_property
    def base(self) -> Base | None:
        """Return the cells of all blocks, None where they are too many."""
        walked = self.release.derived.part(ProofStart)
        if walked.base is None:
            try:
                live = live_cells(self.facts, self.blocks, self.limits.cells)
            except CertificateError:
                return None
            walked.base = Base(self.facts, live, self.blocks, self.limits)
        self.verifier.remember(self.blocks, walked.base.live)
        return walked.base.within(self.facts)

    def by_columns(self, claim: Claim) -> OverCells | None:
        """Return the weighted sum that column generation finds, over the cells of the blocks that it weighs."""
        if not isinstance(claim, AtMost | AtLeast):
            return None
        side = claim.box, isinstance(claim, AtMost)
        known = self.multipliers.get(side) or self.by_pricing(side)
        if known is None:
            return None
        pairs = tuple((int(s), int(y)) for s, y in sorted(known.of.items()) if y)
        blocks = tuple(sorted({self.facts.block_of(s) for s, _ in pairs if s != self.facts.rows}))
        return OverCells(blocks, (), (Sum(int(known.scale), pairs),), ProofStep((), 0))

    def by_pricing(self, side: Side) -> BoxMultipliers | None:
        """Return what column generation proves of a box that nobody asked about; None where that fails in time."""
        from solvers.programs.columns.master import MasterProgram

        share = self.limits.stage("claim by columns")
        try:
            master = MasterProgram.of(self.release, share)
            if master.refutes(share) is not None:
                return None
            bound = master.copied().bound(*side, share)
        except (Inconclusive, Unsupported):
            return None
        return BoxMultipliers(bound.multipliers, bound.scale)

    def by_clauses(self, claim: OverRows) -> Drat | None:
        """Return a refutation of the claim's opposite in clauses, None where none was found."""
        from solvers.cells.clauses.gates import clauses_needed
        from solvers.cells.clauses.lowering import lower
        from solvers.cells.clauses.sat import satisfy

        opposite = negated(self.release, self.blocks, claim)
        if clauses_needed(opposite, raw=False) > MAX_CLAUSES or importlib.util.find_spec("pysat") is None:
            return None
        try:
            share = self.limits.stage("hard claim")
            lowered = lower(opposite, share, raw=False, sorted_rows=True)
            found = satisfy(lowered, share, proof=True)
        except (Unsupported, Inconclusive, EngineError):
            return None
        return None if found.proof is None else Drat(self.blocks, tuple(found.proof))


def _proof_limits(limits: Limits | None) -> tuple[Limits, bool]:
    """Return the limits of proofs, and whether what was asked before has used up the time: then there is a tenth more.

    A verdict that took all the time still needs its proof, which mostly is a look at one leaf.
    """
    limits = limits or Limits()
    if limits.seconds is None:
        return limits.limited(), False
    reserved = STAGES["late certificates"].share * limits.seconds
    late = not replace(limits, name="late certificates").affords(reserved)
    return (limits.beyond(reserved), True) if late else (limits, False)


def _regions_for(certifier: Certifier, claim: Claim) -> RegionProof | None:
    """Return regions that settle a claim by themselves, None where none were found."""
    if isinstance(claim, AtMost):
        return _covering(certifier, claim)
    if isinstance(claim, AtLeast):
        return _enough_inside(certifier, claim)
    return _empty_but_counted(certifier) if isinstance(claim, NoWorld) else None


def _covering(certifier: Certifier, claim: AtMost) -> RegionProof | None:
    """Return statements whose regions cover the box: of one partition, or, each counting 0, of several blocks."""
    facts, cuts = certifier.facts, certifier.cuts
    if claim.rows <= 0 and certifier.base is not None and certifier.base.live.meeting(claim.box).any():
        return None  # what regions that count 0 leave is known
    layout = WordLayout(certifier.release.domain)
    left = start_of(facts, cuts, possible_rows(facts, claim.box))
    zeros, every = list[int](), np.ones(len(facts), dtype=bool)
    for cut in cuts:
        if not len(left) or len(left) > MAX_LEFT:
            break
        words, _, value = cut.apply(left, labels_of(layout, left), every, facts.make_room)
        if isinstance(cut, PartitionCut):
            met = np.unique(value)
            if not zeros and sum(facts.high[met].tolist()) <= claim.rows:
                return RegionProof(tuple(met.tolist()))
            empty = facts.high[value] <= 0
            new = np.unique(value[empty]).tolist()
        else:
            new = [s for s in cut.statements if cut.of is None and facts.unconditional[s] and facts.high[s] <= 0][:1]
            empty = (value >= 0) & bool(new)
        if empty.any():
            zeros += new
            left = words[~empty]
    return RegionProof(tuple(zeros)) if not len(left) and claim.rows >= 0 else None


def _enough_inside(certifier: Certifier, claim: AtLeast) -> RegionProof | None:
    """Return statements of one block whose regions lie inside the box and count enough rows."""
    facts, layout = certifier.facts, WordLayout(certifier.release.domain)
    for cut in certifier.cuts:
        if isinstance(cut, PartitionCut):
            beyond = np.zeros(len(cut.block.boxes), dtype=bool)
            labels = np.ones(certifier.release.domain.labels, dtype=bool)
            rows = layout.rows(cut.block.boxes)
            for k, mask in claim.box.literals:
                span = layout.span(k)
                if k == certifier.release.domain.label:
                    labels = np.array([bool(mask >> i & 1) for i in range(len(labels))])
                else:
                    beyond |= (rows[:, span] & ~padded(mask, span.stop - span.start)).any(axis=1)
            inside = ~beyond[cut.block.region] & (labels.all() | (cut.block.label >= 0) & labels[cut.block.label])
            counted = np.flatnonzero(inside & (cut.block.low > 0))
            if int(cut.block.low[counted].sum()) >= claim.rows > 0:
                enough = int(np.searchsorted(np.cumsum(cut.block.low[counted]), claim.rows)) + 1
                return RegionProof(tuple((counted[:enough] + facts.first[cut.b]).tolist()))
            continue
        for s in cut.statements if cut.of is None else ():
            if facts.unconditional[s] and facts.low[s] >= claim.rows and _lies_inside(facts, cut.region, claim.box):
                return RegionProof((s,))
    return _within_one(certifier, claim.box, claim.rows) if certifier.base is None else None


def _empty_but_counted(certifier: Certifier) -> RegionProof | None:
    """Return a statement that counts rows where none can be, looked for where cells are too many."""
    return _within_one(certifier, Box(((0, 0),)), 1) if certifier.base is None else None


def _within_one(certifier: Certifier, box: Box, rows: int) -> RegionProof | None:
    """Return a statement that counts enough rows and whose region, earlier rules left out, lies inside a box."""
    facts = certifier.facts
    candidates = np.flatnonzero(facts.unconditional & (facts.low >= rows))
    for i, s in enumerate(candidates[candidates < facts.rows][:MAX_COUNTED].tolist()):
        if i % STEPS == STEPS - 1 and certifier.limits.expired():
            return None
        if (region := facts.statement(s).region) is not None and _lies_inside(facts, region, box):
            return RegionProof((s,))
    return None


def _lies_inside(facts: NumberedStatements, region: Region, box: Box) -> bool:
    """Return whether no possible row of a region is beyond a box; most are by one look at their boxes."""
    held = dict(region.box.literals)
    beyond = any(held.get(k, facts.release.domain.attributes[k].full) & ~mask for k, mask in box.literals)
    if beyond and not (region.minus or facts.release.impossible or region.box.empty):
        return False
    return not len(pieces_outside(facts, region, box))
