"""Tiny boosted models beside brute force over every dataset: nothing that is possible is ever excluded.

Many more: tests/bench/boosted_oracle_run.py.
"""

from __future__ import annotations

import itertools
import math

import boosted_oracle as bo
import numpy as np
import pytest
from boosted_comparison import Case, compared, random_case, spoiled, truth_kept
from extras import batches

import recon

PER_BATCH = 5
pytestmark = pytest.mark.filterwarnings("ignore")  # of fits: constant columns, one label in a node


# ---------------------------------------------------------------- the oracle itself


def test_one_stump_by_hand():
    rows = (((0.0,), 0.0), ((0.0,), 1.0), ((1.0,), 1.0), ((1.0,), 1.0))
    for kind in ("sk", "hist"):
        options = {"learning_rate": 1.0, "max_depth": 1, "random_state": 0}
        more = {"n_estimators": 1} if kind == "sk" else {"max_iter": 1, "min_samples_leaf": 1}
        case = Case("by hand", ((0, 1),), (0, 1), rows, kind, False, options | more)
        model = bo.ensemble(case.fitted())
        leaves = [node for node in model.rounds[0][0] if node.leaf]
        # p = 3/4: (0.25 - 0.75) / (2 * 3/16) and (2 * 0.25) / (2 * 3/16)
        assert [n.value for n in leaves] == pytest.approx([-4 / 3, 4 / 3])
        found = bo.worlds(model, bo.grid(((0, 1),), (0, 1)), 4)
        assert found.z.tolist() == [[1, 1, 0, 2]]
        assert (found.multiset, found.ordered) == (1, 12)
        assert found.verdict(found.rows([0.0], 1.0)) == "certain"
        assert found.verdict(found.rows([1.0], 0.0)) == "impossible"
        alone = bo.worlds(model, bo.grid(((0, 1),), (0, 1)), 4, frozenset({"count"}))
        assert alone.multiset == 9  # two rows on each side, each with 0, 1 or 2 ones


def test_multisets_are_all_and_once():
    listed = bo.multisets(4, 5)
    assert len(listed) == math.comb(8, 5) == len(set(map(tuple, listed.tolist())))
    assert (listed.sum(axis=1) == 5).all()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("task", ["binary", "squared"])
def test_a_model_fitted_anew_in_plain_python_has_the_published_figures(task):
    for seed in range(10):
        case = random_case(seed, most=5, task=task)
        model = bo.ensemble(case.fitted())
        anew, published = bo.boosted_anew(model, case.rows), bo.published(model)
        assert np.allclose(anew, published, rtol=1e-6, atol=1e-8), case


@pytest.mark.slow
def test_the_datasets_kept_are_those_that_give_the_same_model_anew():
    compared_worlds = 0
    for seed in range(100, 108):
        case = random_case(seed, most=4)
        model, kinds = bo.ensemble(case.fitted()), bo.grid(case.values, case.labels)
        found = bo.worlds(model, kinds, len(case.rows))
        if found.ambiguous or found.near:
            continue
        wanted = bo.published(model)
        for rows in itertools.combinations_with_replacement(kinds, len(case.rows)):
            with np.errstate(all="ignore"):
                same = np.allclose(bo.boosted_anew(model, rows), wanted, rtol=1e-6, atol=1e-9)
            assert same == found.has(rows), (case, rows)
            compared_worlds += same
    assert compared_worlds > 8


@pytest.mark.sampled(1)
@pytest.mark.parametrize("task", ["binary", "softmax", "squared"])
def test_the_oracle_never_misses_the_truth(task):
    for seed in range(15):
        case = random_case(seed, most=4, task=task)
        found = bo.worlds(bo.ensemble(case.fitted()), bo.grid(case.values, case.labels), len(case.rows))
        assert found.has(case.rows), case


# ---------------------------------------------------------------- recon beside it


@pytest.mark.slow
@pytest.mark.parametrize("batch", batches(1, 53))
def test_no_possible_dataset_is_excluded(batch):
    for seed in range(PER_BATCH * batch, PER_BATCH * (batch + 1)):
        found = compared(random_case(seed), recon.Limits(seconds=20))
        assert found is None or not found.wrong, (found.case, found.wrong)


@pytest.mark.slow
def test_proofs_are_accepted_for_what_leaf_values_say():
    proved = 0
    for seed in (5, 18):
        found = compared(random_case(seed), recon.Limits(seconds=20), certificates=True)
        assert found is not None
        assert not found.wrong, (found.case, found.wrong)
        assert not found.missing, (found.case, found.missing)
        proved += found.certified
    assert proved > 10


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("task", ["softmax", "squared"])
@pytest.mark.parametrize("batch", batches(1, 20))
def test_no_possible_dataset_of_several_classes_or_numbers_is_excluded(task, batch):
    for seed in range(PER_BATCH * batch, PER_BATCH * (batch + 1)):
        found = compared(random_case(seed, most=5, task=task), recon.Limits(seconds=20))
        assert found is None or not found.wrong, (found.case, found.wrong)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", ["weights", "subsample", "more"])
@pytest.mark.parametrize("batch", batches(1, 20))
def test_models_that_break_an_assumption_prove_nothing_wrong(how, batch):
    kinds = ("sk",) if how == "subsample" else ("sk", "hist")
    for seed in range(PER_BATCH * batch, PER_BATCH * (batch + 1)):
        case = spoiled(random_case(seed, kinds), how)
        kept, said = truth_kept(case, recon.Limits(seconds=20))
        assert kept, (case, said)
