"""Proofs about releases that leaf values strengthened: wrapped, so that they hold of what was published.

A proof about the strengthened release becomes the last part of one by leaf values (`LeafValues`), whose steps are
those that some claims rest on; claims proved together share them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.certificates.leaf_steps import Traced, Walk
from solvers.foundation.errors import CertificateError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.kernel.checker import Verifier
from solvers.kernel.claims import AnyClaim, AnyProof, AtLeast, AtMost, LeafValues, Regions
from solvers.kernel.facts import Facts
from solvers.statements.release import Release, Settled


def chain(release: Release) -> list[Settled]:
    """Return how a release was strengthened, the first model first; [] where it was not."""
    out: list[Settled] = []
    while release.settled is not None:
        out.append(release.settled)
        release = release.settled.before
    return out[::-1]


def rooted(
    verifier: Verifier, settled: Sequence[Settled], proofs: dict[AnyClaim, AnyProof | None], limits: Limits
) -> dict[AnyClaim, AnyProof | None]:
    """Return proofs about the release before leaf values were used (`verifier` checks them); None where there is none.

    `proofs` are about the strengthened release. Claims that bounds on cells settle by themselves are proved with the
    steps behind these bounds alone; all others with the steps behind all bounds. Cost: a pass over the steps, and the
    weighted sums of those that are kept.
    """
    found: dict[AnyClaim, AnyProof | None] = dict.fromkeys(proofs)
    wanted = [claim for claim, proof in proofs.items() if proof is not None]
    if not wanted:
        return found
    try:
        last = settled[-1]
        traced = Traced(Facts(last.before, limits), last.model, last.steps, limits)
        behind = {claim: traced.behind(claim) for claim in wanted}
        local = {claim for claim, steps in behind.items() if steps is not None}
        needed = set[int]().union(*(steps for steps in behind.values() if steps is not None))
        rest = [claim for claim in wanted if claim not in local]
        if rest:  # such proofs name what all the steps leave: then these serve all claims
            needed |= traced.now.behind(np.arange(len(traced.lower)))
        steps = Walk(traced).back(needed)
        traced = Traced(Facts(last.before, limits), last.model, steps, limits)
        for claim in wanted:
            proof = regions(traced, claim) if claim in local else proofs[claim]
            if proof is not None:
                found[claim] = checked(verifier, settled, LeafValues(last.model, steps, proof), claim)
    except (CertificateError, Inconclusive):
        pass
    return found


def checked(verifier: Verifier, settled: Sequence[Settled], proof: LeafValues, claim: AnyClaim) -> LeafValues | None:
    """Return a proof with what earlier models prove around it, if it is verified."""
    for one in reversed(settled[:-1]):
        proof = LeafValues(one.model, tuple(one.steps), proof)
    try:
        verifier.verify(claim, proof)
    except CertificateError:
        return None
    return proof


def regions(traced: Traced, claim: AnyClaim) -> Regions | None:
    """Return regions of the block that the steps leave which settle a claim."""
    facts, labels = traced.facts, traced.labels
    alive = traced.alive
    number = facts.rows + (np.cumsum(alive) - 1)[:, None] * labels + np.arange(labels)
    statement = np.where(alive[:, None], number, facts.rows + int(alive.sum()) * labels).reshape(-1)
    if isinstance(claim, AtMost):  # where dropped cells are, nobody is: the last region, which counts 0
        every = {*statement[traced.touching(claim.box)].tolist(), facts.rows + int(alive.sum()) * labels}
        return Regions(tuple(sorted(every)))
    if isinstance(claim, AtLeast):
        return Regions(tuple(sorted(statement[traced.enough(claim)].tolist())))
    return None
