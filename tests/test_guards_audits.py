"""Guards of audits that no other test reaches: each fails where its guard is left out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Test
from encoders.encode.encoder import encode
from encoders.models.models import Noise, PublishedFigure, Table, Tree
from encoders.models.nodes import ModelNode, Support
from recon.queries.located import against_truth
from recon.queries.measures.measures import measure
from recon.queries.questions import questions
from recon.readers.loading.settled import PicklableRelease
from recon.release.auditing import auditing, matching, together
from recon.release.auditing.auditing import AuditInputs, beside_truth, certificate_wanted, group_disclosure, run_audit
from recon.release.auditing.beside import AdversaryAudit
from recon.release.auditing.evidence import _of_block, _published_groups, _totals
from recon.release.auditing.findings import (
    AuditContext,
    QuestionBatch,
    ReconstructionGuess,
    _proved_rows,
    check_truth,
    first_asked,
    truth_check,
)
from recon.release.auditing.matching import Chance, Match, compare
from recon.release.auditing.persons.exposed_rows import _first_of_gap, _line, by_group, exposed_rows, values
from recon.release.auditing.persons.row_groups import RowGroups
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.release import RowCount

DOMAIN = Domain((Categorical("a", (0, 1, 2, 3)), Categorical("b", (0, 1))), Categorical("y", (0, 1)))
A, Y = (("a", Test((0, 1))),), (("y", Test((1,))),)
TRUTH = pd.DataFrame({"a": [0, 1, 1, 3], "b": [0, 1, 1, 0], "y": [0, 0, 0, 1]})


def tree(left, right, condition=A):
    return Tree((ModelNode(Support(), condition, 1, 2), ModelNode(Support(left)), ModelNode(Support(right))))


RELEASE = encode(DOMAIN, [tree((3, 0), (0, 1))])
BMI = encode(Domain((Continuous("bmi", Fraction(10), Fraction(60)),), DOMAIN.label),
             [tree((3, 0), (0, 1), (("bmi", Test(high=22.5)),))])  # fmt: skip
PEOPLE = pd.DataFrame({"bmi": [20.0, 21.0, 22.0, 30.0], "y": [0, 0, 0, 1]})


# ---------------------------------------------------------------- the audit


def test_what_is_right_by_chance_needs_rows_to_draw_from():
    found = beside_truth(RELEASE, SimpleNamespace(number=0), TRUTH, None)
    assert 0.0 <= found["marginals"] <= 1.0
    assert 0.0 <= found["other"] <= 1.0
    one = beside_truth(RELEASE, SimpleNamespace(number=0), TRUTH.iloc[:1], None)
    assert (one["marginals"], one["other"], one["right"]) == (1.0, None, None)
    none = beside_truth(RELEASE, SimpleNamespace(number=0), TRUTH.iloc[:0], None)
    assert (none["marginals"], none["other"]) == (None, None)


@pytest.mark.parametrize(
    ("status", "certain", "log2", "convention", "wanted"),
    [("unsat", False, None, "multiset", "none"), ("exact", True, 0.0, "multiset", "one"),
     ("exact", False, 0.0, "multiset", None), ("exact", True, 0.0, "ordered", None),
     ("exact", True, 1.0, "multiset", None)],
)  # fmt: skip
def test_a_certificate_is_wanted_of_no_data_set_or_of_the_only_one(status, certain, log2, convention, wanted):
    datasets = SimpleNamespace(log2=log2, convention=convention)
    for found in (SimpleNamespace(status=status, datasets=datasets, counted=None),
                  SimpleNamespace(status=status, datasets=None, counted=datasets)):  # fmt: skip
        assert certificate_wanted(SimpleNamespace(certain=certain), found) == wanted


def test_small_cells_are_those_of_groups_that_are_not_small():
    found = group_disclosure(encode(DOMAIN, [tree((20, 3), (4, 1))]))
    assert found.small_cells == (("leaf 1", "1", 3),)


def test_tables_with_too_many_combinations_are_not_counted(monkeypatch):
    figures = PublishedFigure(A, low=1, high=3), PublishedFigure((), count=9)
    wide = encode(DOMAIN, [Table(figures, "t")])
    assert auditing._too_wide(wide) is None
    monkeypatch.setattr(auditing, "WIDEST", 0)
    assert "combinations together: data sets are not counted" in auditing._too_wide(wide)
    assert auditing._too_wide(RELEASE) is None
    found = run_audit(wide, AuditInputs(), Limits())
    assert (found.measures.status, found.together) == ("bounds", None)


def test_true_rows_are_checked_where_they_are_given():
    assert run_audit(RELEASE, AuditInputs(), Limits()).truth is None
    found = run_audit(RELEASE, AuditInputs(truth=TRUTH), Limits()).truth
    assert (found.is_world, found.comparison is None) == (True, False)


def test_a_release_without_noise_is_held_against_the_noisy_one_where_it_is_given():
    noise = Noise(NoiseLaw("discrete_laplace", Fraction(1)))
    noisy = encode(DOMAIN, [replace(RELEASE.models[0], noise=noise)], RowCount(4, 4))
    found = [run_audit(noisy, AuditInputs(without_noise=exact), Limits()).bought for exact in (None, RELEASE)]
    assert [one is None for one in found] == [True, False]


@pytest.mark.parametrize(("truth", "beside"), [(None, None), (TRUTH, "compared"), (TRUTH.iloc[:3], None)])
def test_only_as_many_true_rows_are_held_against_positions(monkeypatch, truth, beside):
    monkeypatch.setattr(against_truth, "compared", lambda *_: "compared")
    monkeypatch.setattr(together, "groups_at_positions", lambda _: "groups")
    found = auditing._with_positions(run_audit(RELEASE, AuditInputs(), Limits()), SimpleNamespace(rows=4), truth)
    assert (found.positions_truth, found.position_groups) == (beside, "groups")


def test_figures_that_nobody_has_have_no_line():
    nobody, adversary = {"log2_worlds": 2.0}, {"log2_worlds": 1.0, "dist_g": None}
    found = AdversaryAudit("k.csv", "0" * 64, "multiset", nobody, adversary, ())
    assert [line.partition(":")[0] for line in found.sentences] == [
        "possible training sets (log2)", "this adversary knows what k.csv says (SHA-256 " + "0" * 64 + ")"
    ]  # fmt: skip


# ---------------------------------------------------------------- groups and true rows


def test_noisy_counts_are_no_groups_of_people():
    table = Table((PublishedFigure(A, count=3), PublishedFigure((*A, *Y), count=2)), "t")
    groups, cells = _published_groups(encode(DOMAIN, [table], RowCount(0, None)))
    assert ([one["rows"] for one in groups], [one["rows"] for one in cells]) == ([[3, 3]], [[2, 2]])
    noisy = replace(table, noise=Noise(NoiseLaw("discrete_laplace", Fraction(1))))
    assert _published_groups(encode(DOMAIN, [noisy], RowCount(0, None))) == ([], [])
    assert _published_groups(encode(DOMAIN, [table], RowCount(9, 9))) == ([], [])  # statements carry them
    unlabelled = Domain((*DOMAIN.attributes, DOMAIN.label))
    groups, cells = _published_groups(encode(unlabelled, [table], RowCount(0, None)))
    assert ([one["rows"] for one in groups], cells) == ([[2, 2], [3, 3]], [])


def settled(rows=4):
    """Return what leaf values of one boosted model settle."""
    before = SimpleNamespace(boosted=[SimpleNamespace(name="m")], rows=RowCount(0, rows))
    return SimpleNamespace(before=before, model=0)


def test_cells_of_leaf_values_are_groups_where_they_surely_have_rows():
    """The last box of a block is everything else."""
    for left, least in (((3, 0), (3, 3)), ((0, 0), None)):
        release = encode(DOMAIN, [tree(left, (0, 1))])
        found = _of_block(release, settled(sum(left) + 1), release.statements.single)
        assert found.least == least
        assert [one["class"] for one in found.cells] == ["0"] * bool(sum(left))
    leaves = Tree((ModelNode(Support(), A, 1, 2), ModelNode(Support(None, 3)), ModelNode(Support(None, 1))))
    unlabelled = encode(Domain(DOMAIN.attributes), [leaves])
    found = _of_block(unlabelled, settled(), unlabelled.statements.single)
    assert (found.least, ["class" in one for one in found.cells]) == ((3, 3), [False])


def test_a_block_of_totals_bounds_the_cells_before_it():
    block = RELEASE.statements.single
    totals = replace(block, low=np.array([1, 0, 0, 0]), high=np.array([2, 0, 0, 0]))
    low, high = np.array([[0, 0]]), np.array([[3, 3]])
    for blocks, ends in (((block,), (0, 4)), ((block, totals), (1, 2)), ((block, replace(totals, boxes=None)), (0, 4))):
        least, most = _totals(SimpleNamespace(blocks=blocks), settled(), block, low, high)
        assert (int(least[0]), int(most[0])) == ends


def context(release=RELEASE, truth=TRUTH, population=None):
    return AuditContext(PicklableRelease.of(release), truth, population, 0)


def test_chance_draws_from_the_population_that_is_given():
    assert context().chance.population is None
    assert context(population=TRUTH).chance.population.shape == (4, 3)


def test_a_reconstruction_is_asked_where_there_are_single_values():
    assert set(first_asked(RELEASE, measure(RELEASE))) == {"guess", "broken"}
    assert set(first_asked(BMI, measure(BMI))) == {"broken"}
    found = check_truth(BMI, PEOPLE, None, measure(BMI), 0)
    assert (found.is_world, found.comparison) == (True, None)
    assert found.note.startswith("no reconstruction: the attribute 'bmi' is continuous")
    turn = QuestionBatch(context(), Limits())
    late = truth_check(turn, measure(RELEASE), {"broken": (), "guess": ReconstructionGuess(None, "late", ("a",))})
    assert (late.comparison, late.note, late.trail) == (None, "late", ("a",))


@pytest.mark.parametrize(
    ("verdicts", "proved"), [(["unknown", "unknown"], None), (["certain", "unknown"], 1), (["possible"], 0), ([], 0)]
)
def test_rows_of_which_nothing_was_decided_are_not_counted(monkeypatch, verdicts, proved):
    monkeypatch.setattr(questions, "certify", lambda *_, **__: pd.DataFrame({"verdict": verdicts}))
    assert _proved_rows(context(), Limits()) == proved


# ---------------------------------------------------------------- rows beside each other


def test_what_is_too_large_to_be_matched_has_no_share_of_values(monkeypatch):
    truth, guess = np.array([[0, 0], [1, 1]]), np.array([[0, 1], [1, 0]])
    assert compare(truth, guess).cells_right == 0.5
    monkeypatch.setattr(matching, "MAX_ASSIGNED", 0)
    assert compare(truth, guess).cells_right == 0.5
    monkeypatch.setattr(matching, "MAX_ARCS", 3)
    found = compare(truth, guess)
    assert (found.cells_right, found.share_right) == (None, 0.0)
    assert found.note == "2 x 2 distinct rows are too many for a minimum-cost matching"


@pytest.mark.parametrize(
    ("more", "said"),
    [({"repeats": 0}, "0 repeats"), ({"totals": (2,)}, "1 totals for 2 attributes"),
     ({"population": np.zeros((0, 2), dtype=int)}, "the population has no rows")],
)  # fmt: skip
def test_chance_needs_repeats_values_and_people(more, said):
    given = {"truth": np.zeros((3, 2), dtype=int), "totals": (2, 2)}
    assert Chance(**given).repeats == 3
    with pytest.raises(ReleaseError, match=said):
        Chance(**{**given, **more})


def test_a_baseline_is_the_mean_of_all_of_its_draws():
    chance = Chance(np.zeros((1, 2), dtype=int), (2, 2), repeats=2)
    one, two = Match(1, 1, 1.0, 1.0, 1, 1), Match(1, 0, 0.0, None, 1, 0)
    assert [(b.name, b.share_right, b.cells_right) for b in chance.baselines([one, one, one, two])] == [
        ("uniform rows", 1.0, 1.0), ("product of marginals", 0.5, None)
    ]  # fmt: skip
    assert [b.name for b in chance.baselines([one, None, two, two])] == ["product of marginals"]


# ---------------------------------------------------------------- people


def test_groups_without_a_figure_have_none(recwarn):
    nowhere, none, at = np.full(3, np.nan), np.zeros(3, dtype=bool), np.array([0, 0, -1])
    bits, share = np.array([1.0, 3.0, np.nan]), np.array([0.25, 0.75, np.nan])
    rows = RowGroups(at, bits, share, at, at, none, ["leaf"], [2], none, none, nowhere)
    found, notes = by_group(rows, pd.Series(["f", "f", "m"]), "sex")
    figures = ("value", "rows", "mean_bits_left", "mean_share_left", "least_bits_left")
    assert [tuple(line[key] for key in figures) for line in found["groups"]] == [
        ("f", 2, 2.0, 0.5, 1.0), ("m", 1, None, None, None)
    ]  # fmt: skip
    assert "means by group are over the rows that have a figure" in notes
    assert not recwarn.list
    assert ([rows.name(i) for i in range(3)], [rows.worlds_per_row(i) for i in range(3)]) == (
        ["leaf", "leaf", None], [2, 2, None]
    )  # fmt: skip
    there = replace(rows, by_position=~none, pinned=np.array([True, False, False]))
    assert [there.worlds_per_row(i) for i in range(3)] == [1, None, None]


def test_gaps_are_of_plain_numbers():
    def found(*values, text=False):
        return _first_of_gap(BMI, 0, pd.Series(values, name="bmi", dtype=object if text else None), text)

    assert found(20.0, 21.0, 30.0).tolist() == [20.0, 20.0, 30.0]
    assert found(20.0, float("inf")) is None
    assert found(20.0, float("nan")) is None
    assert found("20", "x", text=True) is None
    assert _first_of_gap(BMI, 0, pd.Series([], name="bmi", dtype=float), False) is None


@pytest.mark.parametrize(
    ("release", "rows", "label", "own"),
    [(RELEASE, TRUTH, None, "y"), (RELEASE, TRUTH.rename(columns={"y": "ill"}), "ill", "ill"),
     (encode(Domain(DOMAIN.attributes), [Tree((ModelNode(Support(None, 4)),))]), TRUTH[["a", "b"]], None, None)],
)  # fmt: skip
def test_the_label_is_called_as_the_data_call_it(release, rows, label, own):
    found = exposed_rows(release, measure(release), rows, label)
    assert (found["label"], found["in_all"]) == (own, 4)
    assert ["row" in line for line in found["most_exposed"]] == [False] * 4
    shown = exposed_rows(release, measure(release), rows, label, show_rows=True)["most_exposed"]
    assert [line["row"]["a"] for line in shown] == [rows["a"][line["position"]] for line in shown]


def test_what_is_not_known_of_a_row_is_null():
    """In JSON there is no infinity, and nobody writes None in quotes."""
    none, nowhere = np.zeros(2, dtype=bool), np.full(2, np.nan)
    at, less = np.array([0, -1]), np.array([3, -1])
    rows = RowGroups(at, np.array([1.0, np.inf]), nowhere, less, less, none, ["leaf"], [2], none, none, nowhere)
    keys = ("group", "bits_left", "worlds_per_row", "group_rows")
    assert [tuple(_line(rows, i, None)[key] for key in keys) for i in range(2)] == [
        ("leaf", 1.0, "2", [3, 3]), (None, None, None, None)
    ]  # fmt: skip
    frame = pd.DataFrame({"a": [1, None], "b": ["x", None], "c": [float("inf"), 0.5]})
    assert [values(frame, i) for i in range(2)] == [
        {"a": 1.0, "b": "x", "c": "inf"}, {"a": None, "b": None, "c": 0.5}
    ]  # fmt: skip
