"""Checks datasets: whether one is a possible world, and has a row of some kind; whole numbers, nothing searched.

Source: docs/mathematics.md, "Cells and histograms" (a possible world meets every statement; statements weigh the rows
of a cell alike).
"""

from __future__ import annotations

import numpy as np

from solvers.foundation.errors import CertificateError
from solvers.kernel.cells import cells_at, live_cells, statement_sums
from solvers.kernel.claims import AnyClaim, AnyProof, Possible, Witness, printable
from solvers.kernel.facts import Facts
from solvers.statements.release import Choice, Loose

SAFE = 1 << 61  # sums below stay exact in 64 bits
Parts = tuple[tuple[int, ...], ...]
Dataset = tuple[Parts, tuple[int, ...]]  # rows by their parts, and how often each occurs


def check_witness(facts: Facts, claim: AnyClaim, proof: AnyProof, known: set[Dataset]) -> None:
    """Check a possible world with a row of the claim; `known` are worlds checked before, which many profiles share."""
    if not isinstance(claim, Possible) or not isinstance(proof, Witness):
        raise CertificateError("a world proves what is possible; nothing else does, and it proves nothing else")
    if (world := (proof.parts, proof.times)) not in known:
        check_world(facts, *world)
        known.add(world)
    rows = proof.parts
    if proof.instead is not None:
        check_exchange(facts, proof)
        rows = (proof.instead[1],)
    if not any(all(mask >> row[k] & 1 for k, mask in claim.box.literals) for row in rows):
        raise CertificateError("no row of the world is one that the claim is about")


def check_exchange(facts: Facts, proof: Witness) -> None:
    """Refuse a row in the place of another that some statement does not weigh alike, or that cannot exist."""
    i, row = proof.instead or (0, ())
    if not 0 <= i < len(proof.parts):
        raise CertificateError(f"the world has no row {printable(i)} to exchange")
    cells_at(facts, live_cells(facts, ()), (row,))
    if (statement_sums(facts, (row,), (1,)) != statement_sums(facts, (proof.parts[i],), (1,))).any():
        raise CertificateError("some statement tells the row that is exchanged from the one in its place")


def check_world(facts: Facts, parts: tuple[tuple[int, ...], ...], times: tuple[int, ...]) -> None:
    """Refuse a dataset, rows given by their parts, that does not meet every statement."""
    if facts.release.unstated:
        raise CertificateError("not all that was published is stated exactly: which worlds are possible is not checked")
    if len(parts) != len(times) or any(t < 1 for t in times):
        raise CertificateError("the world does not say how often each of its rows occurs")
    if len(set(parts)) != len(parts):
        raise CertificateError("the world lists a row twice")
    if sum(times) > SAFE:
        raise CertificateError("the world has more rows than can be added up")
    cells_at(facts, live_cells(facts, ()), parts)  # no impossible row, no part that does not exist
    sums = statement_sums(facts, parts, times)
    met = (sums >= facts.low) & (sums <= facts.high)
    wrong = np.flatnonzero(facts.unconditional & ~met)
    if len(wrong):
        s = int(wrong[0])
        raise CertificateError(f"the world has {sums[s]} where {facts.statement(s).source} says otherwise")
    for b, block in enumerate(facts.release.blocks):
        if isinstance(block, Choice) and sum(bool(met[a].all()) for a in facts.alternatives(b)) != 1:
            raise CertificateError(f"the world does not meet {block.name}")
        for statement in block.members if isinstance(block, Choice | Loose) else ():
            if statement.coarse:
                raise CertificateError(f"{statement.source}: only bounds on what was published can be checked")
