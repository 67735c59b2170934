"""One numbering of statements: systems, certificates, noisy figures and exports number them as they are listed."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import weights

from solvers.cells.system import _build, refine
from solvers.foundation.errors import CertificateError
from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements, live_cells, statement_sums
from solvers.proofs.export.integer_program import IntegerProgram
from solvers.statements.boxes import Attribute, Box, Boxes, Region, RowSpace
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.observations import StatementIndex, observations, widened
from solvers.statements.release import (
    ANY_LABEL,
    UNBOUNDED,
    Choice,
    Loose,
    Observed,
    Partition,
    Release,
    RowCount,
    Statement,
)

DOMAIN = RowSpace((Attribute("a", (1, 1, 1)), Attribute("b", (1, 2))))


def tree(name, k, counts):
    """A tree that tells the parts of attribute k apart, the last of them together."""
    boxes = Boxes.of([Box(((k, 1),)), Box(((k, DOMAIN.attributes[k].full & ~1),))])
    low = np.array(counts, dtype=np.int64)
    label = np.full(2, ANY_LABEL, dtype=np.int32)
    return Partition(name, boxes, False, np.arange(2, dtype=np.int32), label, low, low.copy(), ("leaf 0", "leaf 1"))


def summed(low, high, source):
    """Twice the rows with a = 1 and three times those with a = 2, of those with b = 0."""
    return Statement.sum(Region(Box(((1, 1),))), low, high, source, 0, (0, 2, 3))


def mixed():
    """Loose statements and a choice before and between trees; two of the statements are of the same region."""
    counted = Statement.count(Region(Box(((1, 1),))), 1, 3, "rows with b = 0")
    above = Statement.count(Region(Box(((0, 6),)), (Box(((0, 6), (1, 1))),)), 0, 2, "a > 0 without b = 0")
    halves = Choice(((summed(0, 3, "low half"),), (summed(4, 9, "high half"), counted)), "some median")
    blocks = (
        (counted, above),
        tree("tree 0", 0, (2, 2)),
        halves,
        (summed(2, 9, "a total"),),
        tree("tree 1", 1, (3, 1)),
    )
    return Release(DOMAIN, RowCount(4, 4), blocks)


def test_numbers_are_positions_in_the_list_of_statements():
    release = mixed()
    index, every = StatementIndex(release), list(release.statements())
    assert len(index) == len(every) + 1 == 11
    assert index.rows == 10
    for s, statement in enumerate(every):
        assert index.statement(s) == statement
        assert index.source(s) == statement.source
        assert (index.low[s], index.high[s]) == (statement.low, statement.high)
        assert index.span(index.block_of(s)).start <= s < index.span(index.block_of(s)).stop
    assert list(index.sources()) == [s.source for s in every]
    assert index.source(10) == "the number of rows"
    assert (index.low[10], index.high[10]) == (4, 4)
    assert index.choices == (((4,), (5, 6)),)
    assert np.flatnonzero(~index.unconditional).tolist() == [4, 5, 6]
    assert np.flatnonzero(index.partitioned).tolist() == [2, 3, 8, 9]
    for s in (-1, 10):
        with pytest.raises(IndexError):
            index.block_of(s)
        with pytest.raises(CertificateError, match=f"there is no statement {s} in a block"):
            NumberedStatements(release).block_of(s)


def test_systems_certificates_and_exports_share_the_numbers():
    """Every statement counts the same rows of a dataset in the system, in the walked cells and one by one."""
    release = mixed()
    system, facts = _build(release, Limits()), NumberedStatements(release)
    every = list(release.statements())
    assert system.choices == facts.choices
    assert len(system.linear) == len(every)  # the trees' counts imply the number of rows
    source = IntegerProgram.of(release, Limits()).sources()
    assert [source(s) for s in range(len(every))] == [s.source for s in every]
    assert [system.source(s) for s in range(11)] == [*(s.source for s in every), "the number of rows"]
    assert system.figure(2) == "tree 0, leaf 0: 2"
    live = live_cells(facts, range(len(release.blocks)))
    for parts in ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)):
        row = [weights.weight(s, parts) for s in every]
        assert statement_sums(facts, (parts,), (1,)).tolist() == [*row, 1]
        box = Box(((0, 1 << parts[0]), (1, 1 << parts[1])))
        (cell,) = {int(live.cell[p]) for p in live.pieces_meeting(box)}
        z = np.zeros(live.cells, dtype=np.int64)
        z[cell] = 1
        assert live.linear.sums(z).tolist() == [*row, 1]
        holds = [bool((np.array(b.literals) == np.array(box.literals)).all()) for b in system.boxes]
        for piece in np.flatnonzero(holds).tolist():
            z = np.zeros(system.linear.columns, dtype=np.int64)
            z[system.cell[piece]] = 1
            assert system.linear.sums(z).tolist() == row


def test_a_count_in_a_region_that_is_summed_takes_no_step_of_its_own():
    refined = refine(mixed(), Limits())
    regions = [cut.region for cut in refined.cuts if hasattr(cut, "region")]
    assert len(regions) == len(set(regions)) == 2
    assert {s for cut, _ in refined.values(Limits()) for s in getattr(cut, "statements", ())} == {0, 1, 4, 5, 6, 7}


def test_noisy_figures_are_numbered_like_statements():
    law = NoiseLaw("laplace", Fraction(1))
    loose = (Statement.count(Region(Box(((0, 1),))), 0, UNBOUNDED, "rule"),)
    seen = (Observed(law, (Fraction(3),)), Observed(law, (Fraction(1), None)))
    release = Release(DOMAIN, RowCount(2, 4), (loose, tree("tree", 0, (1, 1))), observed=seen, confidence=Fraction(1))
    assert [(o.statement, o.source, o.published) for o in observations(release)] == [
        (0, "rule", 3),
        (1, "tree, leaf 0", 1),
    ]
    assert StatementIndex(widened(release)).high[:3].tolist() == [UNBOUNDED, UNBOUNDED, 1]


@pytest.mark.parametrize("b", range(5))
def test_every_block_answers_alike(b):
    release = mixed()
    block = release.blocks[b]
    views = [block.statement(s, DOMAIN) for s in range(len(block))]
    assert block.low.tolist() == [s.low for s in views]
    assert block.high.tolist() == [s.high for s in views]
    assert [block.source(s) for s in range(len(block))] == [s.source for s in views]
    assert block.coarse is False
    named = {k for s in views for box in s.boxes for k, _ in box.literals}
    assert block.mentioned(DOMAIN) == named | ({weights.of(s) for s in views} - {None})
    other = block.bounded(block.low - 1, block.high + 1)
    assert type(other) is type(block)
    assert [other.statement(s, DOMAIN) for s in range(len(block))] == [
        replace(s, low=s.low - 1, high=s.high + 1) for s in views
    ]
    assert b in {Partition: release.partitions, Choice: release.choices, Loose: release.loose}[type(block)]
