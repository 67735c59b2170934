"""What a certificate claims, and the forms a proof can take: data that anybody can write down, read and re-check.

A proof over cells is a tree in the manner of VIPR: every node moves bounds on the number of rows in cells, each by
one statement or by one weighted sum of statements, and ends in a weighted sum that settles the claim, or in two
nodes (at most v rows in a cell, at least v + 1), or in one node per alternative of a choice.

Source: Cheung, Gleixner, Steffy, "Verifying integer programming results", IPCO 2017 (trees of derived bounds);
Farkas, 1902 (weighted sums); Wetzler, Heule, Hunt, "DRAT-trim", SAT 2014 (clausal proofs).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from solvers.statements.boxes import Box


@dataclass(frozen=True, slots=True)
class AtMost:
    """In every possible world at most `rows` rows lie in the box."""

    box: Box
    rows: int


@dataclass(frozen=True, slots=True)
class AtLeast:
    """In every possible world at least `rows` rows lie in the box."""

    box: Box
    rows: int


@dataclass(frozen=True, slots=True)
class NoWorld:
    """The statements contradict each other."""


@dataclass(frozen=True, slots=True)
class OnlyWorld:
    """Row `parts[i]` (a part per attribute) occurs `times[i]` times, and no other dataset is a possible world."""

    parts: tuple[tuple[int, ...], ...]
    times: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RowLocation:
    """In every possible world the row at position `rows[i]` of the training file lies in `boxes[i]`."""

    rows: tuple[int, ...]
    boxes: tuple[Box, ...]


OverRows = AtMost | AtLeast | NoWorld | OnlyWorld  # whatever the positions
Claim = OverRows | RowLocation  # about every possible world


@dataclass(frozen=True, slots=True)
class Possible:
    """In some possible world a row lies in the box."""

    box: Box


AnyClaim = Claim | Possible


@dataclass(frozen=True, slots=True)
class RegionProof:
    """The regions of these statements settle the claim by themselves.

    At most: they cover the box, and their counts add up to no more. At least: they are disjoint regions of one
    partition inside the box, and their counts add up to no less.
    """

    statements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """The weighted sum of statements Σ (y / over) * statement, with (statement, y) pairs; y may be negative."""

    over: int
    multipliers: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class BoundStep:
    """A new bound on the rows in a cell: by statement `reason`, or, negative, by sum -1 - `reason`."""

    cell: int
    upper: bool
    value: int
    reason: int


@dataclass(frozen=True, slots=True)
class CaseSplit:
    """Two cases: at most `value` rows in a cell, and at least `value` + 1."""

    cell: int
    value: int
    below: ProofStep
    above: ProofStep


@dataclass(frozen=True, slots=True)
class Cases:
    """One case per alternative of a choice, the block of that number."""

    block: int
    nodes: tuple[ProofStep, ...]


@dataclass(frozen=True, slots=True)
class ProofStep:
    """Steps, then how the claim follows: from the bounds alone (`end` None), a sum's number, or cases."""

    steps: tuple[BoundStep, ...] = ()
    end: int | CaseSplit | Cases | None = None


@dataclass(frozen=True, slots=True)
class OverCells:
    """A proof over the cells into which the regions of `blocks` cut the row space; `cells` has a row of each named."""

    blocks: tuple[int, ...]
    cells: tuple[tuple[int, ...], ...]
    sums: tuple[Sum, ...]
    tree: ProofStep

    @property
    def kind(self) -> str:
        """Return "propagation", "farkas" (some weighted sum is used) or "branching"."""
        if isinstance(self.tree.end, CaseSplit | Cases):
            return "branching"
        return "farkas" if self.sums else "propagation"


@dataclass(frozen=True, slots=True)
class Drat:
    """Clauses that follow one from the other by unit propagation, the last one empty.

    They start from our own lowering of `blocks` and of the claim's negation to clauses
    (`solvers.cells.clauses.lowering`).
    """

    blocks: tuple[int, ...]
    lines: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Witness:
    """A possible world: row `parts[i]` (a part per attribute) occurs `times[i]` times.

    `instead` (i, parts): one of the rows `parts[i]` is that row, which every statement weighs alike.
    """

    parts: tuple[tuple[int, ...], ...] = field(repr=False)
    times: tuple[int, ...] = field(repr=False)
    instead: tuple[int, tuple[int, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Revised:
    """Every value of row `row` that misses all the values left of some other tree that saw the row is removed.

    Repeated until nothing changes; then also every value that misses, in some attribute, what the others leave of it.
    """

    row: int


@dataclass(frozen=True, slots=True)
class CountRevision:
    """The number of rows of each multiplicity in value `value` is bounded anew, which removes or fixes rows."""

    value: int


@dataclass(frozen=True, slots=True)
class Hall:
    """Rows that tree `tree` counts `times` times each, and some of its values, which they fill.

    `full`: as many of them as the values take at most have no other value left, so that no other row may use these.
    Not `full`: no more of them can use the values than these take at least, so that they have no other value.
    """

    tree: int
    times: int
    full: bool
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Row `rows[i]` has label `labels[i]`: weighted sums of the trees' class totals leave less than one exception.

    `weights` has (tree, label, distinct, y): y / over times what the tree counts of the class, by multiplicity or
    (`distinct`) each row of its bag once.
    """

    rows: tuple[int, ...]
    labels: tuple[int, ...]
    over: int
    weights: tuple[tuple[int, int, bool, int], ...]


@dataclass(frozen=True, slots=True)
class ValueRemoval:
    """Row `row` in value `value` leads by these steps to a row without values, so that the value is removed."""

    row: int
    value: int
    steps: tuple[Removal, ...]


Removal = Revised | CountRevision | Hall | Labelled | ValueRemoval


@dataclass(frozen=True, slots=True)
class Removals:
    """Values removed step by step from rows distinguished by bags (`solvers.statements.row_problem`), in this order."""

    steps: tuple[Removal, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Refined:
    """Cells are cut by the trees before number `trees`, parts numbered in the order of their parents, then of leaves.

    Cells all of whose upper bounds are 0 are dropped before. What is known of a cell and label holds for the sum of its
    parts: one fact per old cell that was kept and label, in this order. Facts known before hold for the parts, which
    have the upper bounds of their cell, and the lower ones where they are its only part.
    """

    trees: int


@dataclass(frozen=True, slots=True)
class Form:
    """Σ coefficient * (rows of a cell with a label) lies between `low` and `high`: a new fact.

    `terms` are (column, coefficient), a column is cell * labels + label. The proof is the weighted sum of
    y / `over` times what source number s says, for (s, y) in `multipliers`: with the bounds known of every column it
    leaves no whole number outside of low..high (an end may also be what these bounds imply by themselves). A form of
    one term with coefficient 1 moves the bounds of its column.

    Sources: statements of the release by number, the number of rows among them; then the figures of the model, tree by
    tree; then facts in the order in which steps made them. Statements must be of partitions that cut the cells.
    """

    terms: tuple[tuple[int, int], ...]
    over: int
    multipliers: tuple[tuple[int, int], ...]
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class LeafValues:
    """Steps that bound the rows of the cells of boosted model number `model`, and a proof that uses what they show.

    Cells are cut by the partitions of the release that are trees of no boosted model before the first step (the last
    region of a first-match list is left out where it counts 0). What is left after the last step is one more block of
    the release, a partition: a region per cell that can hold rows, in order, with the bounds per label, and a last one
    for everything else, without rows. Where the bounds on a cell's rows, whatever their label, say more than those per
    label and the number of rows (a fact is about all labels of the model in one cell, once each), one more partition of
    the same regions has these. `last` is a proof over that release; of worlds, over the release without the
    models of which that says all.
    """

    model: int
    steps: tuple[Refined | Form, ...] = field(repr=False)
    last: AnyProof


@dataclass(frozen=True, slots=True)
class AlignmentReplays:
    """Removals for the trees of two files over rows of both, in the order in which aligning them asks for these."""

    replays: tuple[Removals, ...] = field(repr=False)


Proof = RegionProof | OverCells | Drat | Removals | LeafValues
AnyProof = Proof | Witness | AlignmentReplays
