"""Proofs in words, step by step, for people who re-check them by hand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from encoders.encode.encoder import EncodedRelease
from recon.queries.certificates.certificate_format import claim_text, level_of
from recon.queries.certificates.verifying import certificates_in, open_certificate
from recon.readers.frames.describe import condition_text
from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements
from solvers.kernel.claims import (
    AlignmentReplays,
    AnyProof,
    Cases,
    CaseSplit,
    CountRevision,
    Drat,
    Hall,
    Labelled,
    LeafValues,
    ProofStep,
    Refined,
    RegionProof,
    Removal,
    Removals,
    Revised,
    Sum,
    Witness,
)
from solvers.kernel.leaf_values.replay import replayed
from solvers.kernel.proof_format import proof_from
from solvers.statements.boxes import Box
from solvers.statements.release import NO_COUNT, UNBOUNDED
from solvers.statements.row_problem import RowProblem, problem_of

MAX_STEPS = 10_000  # lines printed for one proof


def explained(
    data: Any, release: EncodedRelease, folders: Sequence[str], limits: Limits, held: Collection[str]
) -> list[str]:
    """Return the proofs of the certificates at some places, those that hold, in words."""
    out, facts = [], {}
    for place, found in certificates_in(data):
        if place not in held:
            continue
        whole = open_certificate(found, folders, limits.memory)
        at = release.at_confidence(level_of(whole))
        if at.confidence not in facts:
            facts[at.confidence] = NumberedStatements(at.statements)
        if _shares(whole["proof"]):
            notes = ["the steps are those of another certificate of this result, told there"]
        else:
            notes = list(Teller(at, facts[at.confidence]).proof(proof_from(whole["proof"])))
        more = [f"  ... and {len(notes) - MAX_STEPS:,} more lines"] if len(notes) > MAX_STEPS else []
        claim = claim_text(whole["claim"], whole.get("confidence", 1))
        out += [f"steps for {place}: {claim}", *(f"  {line}" for line in notes[:MAX_STEPS]), *more, ""]
    return out


class Teller:
    """Formats the proofs of one release for people."""

    def __init__(self, release: EncodedRelease, facts: NumberedStatements) -> None:
        self.release, self.facts = release, facts
        self.cells: tuple[tuple[int, ...], ...] = ()

    def proof(self, proof: AnyProof) -> Iterator[str]:
        """Yield the lines of a proof."""
        if isinstance(proof, RegionProof):
            yield "these regions settle it:"
            yield from (f"  {self.statement(s)}" for s in proof.statements)
        elif isinstance(proof, Witness):
            yield from self.world(proof)
        elif isinstance(proof, Drat):
            yield f"{len(proof.lines):,} clauses, each by unit propagation from the lowered release and those before"
        elif isinstance(proof, Removals):
            yield from self.removals(proof.steps)
        elif isinstance(proof, AlignmentReplays):
            for i, steps in enumerate(proof.replays):
                yield f"replay {i}, over the rows put together by those before: {len(steps.steps):,} removals"
        elif isinstance(proof, LeafValues):
            yield from self.leaf_values(proof)
        else:
            blocks = (
                "all blocks"
                if len(proof.blocks) == len(self.release.statements.blocks)
                else f"the blocks {list(proof.blocks)}"
            )
            yield f"over the cells that {blocks} leave; a cell is named by one of its rows:"
            self.cells = proof.cells
            for i, one in enumerate(proof.sums):
                yield f"sum {i}:"
                yield from (f"  {line}" for line in self.sum(one))
            yield from self.node(proof.tree)

    def removals(self, steps: Sequence[Removal]) -> Iterator[str]:
        """Yield the lines of values that are removed from rows."""
        problem = problem_of(self.release.statements)
        if problem is None:
            return
        for step in steps:
            if isinstance(step, Revised):
                yield f"row {step.row}: no value that misses all that some other tree leaves it"
            elif isinstance(step, CountRevision):
                yield f"{_value_text(problem, step.value)}: no more rows, and no fewer, than its counts allow"
            elif isinstance(step, Hall):
                values = "; ".join(_value_text(problem, v) for v in step.values)
                how = "are filled by rows" if step.full else "need all rows"
                yield f"tree {step.tree}: these {how} that it counts {step.times} times: {values}"
            elif isinstance(step, Labelled):
                yield f"the labels of {len(step.rows)} rows: any other breaks {len(step.weights)} class totals"
            else:
                yield f"row {step.row} is not in {_value_text(problem, step.value)}: suppose it were, then"
                yield from (f"  {line}" for line in self.removals(step.steps))

    def leaf_values(self, proof: LeafValues) -> Iterator[str]:
        """Yield the lines of bounds on cells by leaf values, and of the proof that uses them."""
        labels = self.release.statements.domain.labels
        for step in proof.steps:
            if isinstance(step, Refined):
                yield f"cells of the first {step.trees} trees:"
                continue
            terms = (f"{a if a != 1 else ''} z({c // labels}, {c % labels})".strip() for c, a in step.terms)
            says = str(step.low) if step.low == step.high else f"{step.low} to {step.high}"
            yield f"  {' + '.join(terms)}: {says}, by a sum of {len(step.multipliers):,} statements over {step.over}"
        yield "z(cell, label) are rows; what is known of cells is one more block, by which:"
        after = NumberedStatements(replayed(self.facts, proof, Limits()).release())
        yield from Teller(self.release, after).proof(proof.last)

    def world(self, proof: Witness) -> Iterator[str]:
        """Yield the rows of a possible world."""
        yield "this dataset meets every statement:"
        self.cells = proof.parts
        for i, often in enumerate(proof.times):
            yield f"  {often:,} {self.cell(i)}"
        if proof.instead is not None:
            i, row = proof.instead
            self.cells = (proof.parts[i], row)
            yield f"one of the {self.cell(0)} may be one of the {self.cell(1)}: no statement distinguishes them"

    def node(self, node: ProofStep) -> Iterator[str]:
        """Yield the lines of a node and of those below."""
        for step in node.steps:
            why = self.statement(step.reason) if step.reason >= 0 else f"sum {-1 - step.reason}"
            yield f"{self.cell(step.cell)}: {'at most' if step.upper else 'at least'} {step.value}, by {why}"
        if isinstance(node.end, CaseSplit):
            for side, inner in (
                (f"at most {node.end.value}", node.end.below),
                (f"at least {node.end.value + 1}", node.end.above),
            ):
                yield f"case {self.cell(node.end.cell)}: {side}"
                yield from (f"  {line}" for line in self.node(inner))
        elif isinstance(node.end, Cases):
            for i, inner in enumerate(node.end.nodes):
                yield f"case alternative {i + 1} of block {node.end.block}"
                yield from (f"  {line}" for line in self.node(inner))
        else:
            yield "then the bounds settle it" if node.end is None else f"then sum {node.end} settles it"

    def sum(self, one: Sum) -> Iterator[str]:
        """Yield the lines of a weighted sum."""
        for s, y in one.multipliers:
            yield f"{y}{'' if one.over == 1 else f'/{one.over}'} times: {self.statement(s)}"

    def statement(self, s: int) -> str:
        """Return a statement with its figure."""
        found = self.facts.statement(s)
        if found.low > found.high:
            text = NO_COUNT
        elif found.low == found.high:
            text = str(found.low)
        elif found.high == UNBOUNDED:
            text = f"at least {found.low}"
        else:
            text = f"at most {found.high}" if found.low <= 0 else f"{found.low} to {found.high}"
        return f"{found.source}: {text}"

    def cell(self, i: int) -> str:
        """Return a cell by the row that names it."""
        box = Box(tuple((k, 1 << part) for k, part in enumerate(self.cells[i])))
        return f"rows like [{condition_text(self.release.cut, box)}]"


def _shares(proof: Any) -> bool:
    """Return whether steps of a proof, or of one inside it, stand in another certificate."""
    return isinstance(proof, dict) and ("shared" in proof or _shares(proof.get("last")))


def _value_text(problem: RowProblem, v: int) -> str:
    """Return a value of a tree in words: the tree, its leaf and the class."""
    if not 0 <= v < len(problem.tree):
        return f"value {v}"
    t, label = int(problem.tree[v]), int(problem.label[v])
    name = f"tree {t}, {problem.names[t][int(problem.region[v])]}"
    return name if label < 0 else f"{name}, class {label}"
