"""Proofs about releases that leaf values strengthened: wrapped, so that they hold of what was published.

A proof about the strengthened release becomes the last part of one by leaf values (`LeafValues`), whose steps are
those that some claims rest on; claims proved together share them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

from solvers.foundation.errors import CertificateError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.kernel.checker import Verifier
from solvers.kernel.claims import AnyClaim, AnyProof, AtLeast, AtMost, Form, LeafValues, Refined, RegionProof
from solvers.kernel.facts import NumberedStatements
from solvers.kernel.leaf_values.blocks import say_more
from solvers.proofs.certificates.leaf_bounds import Steps
from solvers.proofs.certificates.leaf_steps import StepWalk, TracedReplay
from solvers.statements.release import AddedBlocks, Release


def chain(release: Release) -> list[AddedBlocks]:
    """Return how a release was strengthened, the first model first; [] where it was not."""
    out: list[AddedBlocks] = []
    while release.settled is not None:
        out.append(release.settled)
        release = release.settled.before
    return out[::-1]


def rooted(
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
                with_proofs = {claim: regions(again, claim) or proofs[claim] for claim in wanted}
                checking = Verifier(verifier.facts.release, part)
                found |= all_checked(checking, settled, steps, with_proofs)
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
            found |= all_checked(verifier, settled, steps, {claim: regions(again, claim) for claim in local})
    return found


def all_checked(
    verifier: Verifier, settled: Sequence[AddedBlocks], steps: Steps, proofs: Mapping[AnyClaim, AnyProof | None]
) -> dict[AnyClaim, AnyProof | None]:
    """Return the proofs by these steps that were verified, None for others and where time did not suffice."""
    layers = [(settled[-1].model, tuple(steps)), *((one.model, tuple(one.steps)) for one in reversed(settled[:-1]))]
    found: dict[AnyClaim, AnyProof | None] = dict.fromkeys(proofs)
    for claim, proof in proofs.items():
        if verifier.limits.expired():
            break
        found[claim] = None if proof is None else checked(verifier, layers, proof, claim)
    return found


def checked(
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


def regions(traced: TracedReplay, claim: AnyClaim) -> RegionProof | None:
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
