"""The experiment on private Bayesian rule lists: AUC and posterior from outside, and findings of what is there."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from extras import extra
from hypothesis import given, settings
from hypothesis import strategies as st

from recon.experiments import belardo2018 as fits
from recon.experiments.experiment import Point, experiment
from solvers.foundation.limits import Limits

EXPERIMENT = experiment("belardo2018")
LAWS = EXPERIMENT["LAWS"][1:]


@pytest.fixture(scope="module")
def frame():
    """Return 300 rows of four columns, the label mostly the first one."""
    rng = np.random.default_rng(2)
    bits = (rng.random((300, 4)) < [0.5, 0.4, 0.3, 0.6]).astype(int)
    label = np.where(rng.random(300) < 0.9, bits[:, 0], 1 - bits[:, 0])
    return pd.DataFrame(np.column_stack([bits, label]), columns=["a", "b", "c", "d", "y"])


def point(law, epsilon, first=0, seeds=2, steps=60):
    named = {"law": law, "epsilon": epsilon, "steps": steps, "rows": 200, "expected_length": 3.0}
    return Point("t", named | {"first_seed": first, "seeds": seeds})


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.2, 0.5, 0.9])), min_size=2, max_size=40))
def test_auc_is_that_of_scikit_learn(pairs):
    metrics = extra("sklearn.metrics")
    labels, given_ = np.array([a for a, _ in pairs]).astype(int), np.array([b for _, b in pairs])
    if 0 < labels.sum() < len(labels):
        assert fits.auc(labels, given_) == pytest.approx(metrics.roc_auc_score(labels, given_), abs=1e-12)
    else:
        assert math.isnan(fits.auc(labels, given_))


@pytest.mark.parametrize(("law", "epsilon"), [(fits.PLAIN, None), *((law, 1.0) for law in LAWS)])
def test_chunks_of_seeds_give_what_single_seeds_give(frame, law, epsilon):
    together = fits.run(point(law, epsilon), frame, Limits())
    assert together == [row for k in (0, 1) for row in fits.run(point(law, epsilon, k, 1), frame, Limits())]
    assert [row["seed"] for row in together] == [0, 1]


@pytest.mark.parametrize("law", [fits.PLAIN, "monotone"])
def test_a_row_is_what_its_list_says_by_hand(frame, law):
    metrics = extra("sklearn.metrics")
    one = point(law, None if law == fits.PLAIN else 1.0, first=5, seeds=1)
    (row,) = fits.run(one, frame, Limits())
    order = np.random.default_rng(5).permutation(300)
    train, test = frame.iloc[order[:200]], frame.iloc[order[200:]]
    some = fits.shuffled(frame, 200, 5)
    fitted = fits.learner(one, some, 5).fit(train.iloc[:, :-1], train["y"])
    chosen = [antecedent for antecedent, _ in fitted.rules_[:-1]]
    left, log, used, sizes = train, 0.0, 0, list(map(len, fitted.antecedents_))
    for antecedent in [*chosen, ()]:
        hit = np.ones(len(left), dtype=bool)
        for name, value in antecedent:
            hit &= (left[name] == value).to_numpy()
        ones, zeros = int(left["y"][hit].sum()), int((1 - left["y"][hit]).sum())
        log += math.log(math.factorial(ones) * math.factorial(zeros)) - math.log(math.factorial(ones + zeros + 1))
        used += bool(antecedent) and ones + zeros > 0
        left = left[~hit]
    assert row["log_likelihood"] == pytest.approx(log, abs=1e-6)
    poisson = [3.0**j / math.factorial(j) for j in range(len(sizes) + 1)]
    prior = poisson[len(chosen)] / sum(poisson)
    free = sizes.copy()
    for antecedent in chosen:  # how long the rule is, then which one of that length
        weights = {size: 1 / math.factorial(size) for size in free}
        prior *= weights[len(antecedent)] / sum(weights.values()) / free.count(len(antecedent))
        free.remove(len(antecedent))
    assert row["log_prior"] == pytest.approx(math.log(prior), abs=1e-9)
    assert (row["rules"], row["used"], row["antecedents"]) == (len(chosen), used, len(sizes))
    scores = fitted.predict_proba(test.iloc[:, :-1])[:, 1]
    assert row["auc"] == pytest.approx(metrics.roc_auc_score(test["y"], scores), abs=1e-12)


def test_antecedents_are_those_that_go_most_with_the_label(frame, monkeypatch):
    monkeypatch.setattr(fits, "MAX_ANTECEDENTS", 3)
    x, y = frame.iloc[:, :-1], frame["y"]
    chi2 = {}
    for literals in [(c,) for c in x] + [(c, d) for c, d in permutations(x, 2) if c < d]:
        met = np.all([x[name] == 1 for name in literals], axis=0)
        if met.sum() >= 30:
            table = pd.crosstab(met, y)
            expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(x)
            chi2[literals] = float(((table - expected) ** 2 / expected).to_numpy().sum())
    best = sorted(chi2, key=chi2.__getitem__)[-3:]
    found = fits.associated(x, y)
    assert {tuple(name for name, _ in one) for one in found} == set(best)
    assert all(value == 1 for one in found for _, value in one)


def test_points_are_all_different_and_quick_ones_few():
    for size, most in (("full", 200), ("quick", 20)):
        keys = [one.key("belardo2018", 1) for one in EXPERIMENT.points(size)]
        assert len(set(keys)) == len(keys) <= most
    steps = {(p.dataset, p["law"]): p["steps"] for p in reversed(EXPERIMENT.points("full"))}
    assert steps["mushroom", "base_measure"] == steps["mushroom", "tempered_prior"] == 1_500


@pytest.fixture(scope="module")
def invented():
    """Return results with known means: AUC falls with epsilon, chains of 1,500 steps have mixed at 0.01 only."""
    lines = []
    for law, epsilon, steps in [("plain", None, 1_500)] + [
        (law, e, s) for law in LAWS for e in (0.01, 0.1, 0.5, 0.9) for s in (1_500, 15_000)
    ]:
        level = {None: 0.99, 0.9: 0.98, 0.5: 0.97, 0.1: 0.96, 0.01: 0.7}[epsilon]
        for seed in (0, 1):
            lines.append({
                "dataset": "mushroom", "law": law, "epsilon": epsilon, "steps": steps, "rows": 7_000, "seed": seed,
                "auc": level + seed / 100 + 0.001 * (law == "monotone"), "train_auc": level, "used": 5, "width": 1.5,
                "rules": 200 if law == "tempered_prior" else 9, "antecedents": 300, "log_prior": -30.0,
                "log_likelihood": -670.0, "train_rows": 7_000, "exact": False, "r_hat_length": 1.0,
                "r_hat": 1.02 if steps > 1_500 else 1.05 if epsilon == 0.01 else None if epsilon == 0.1 else 1.3,
            })  # fmt: skip
    return pd.DataFrame(lines)


@pytest.fixture(scope="module")
def found(invented):
    """Return what is found in all of them."""
    return fits.EXPERIMENT.findings(invented)


@pytest.mark.slow
def test_what_has_not_mixed_is_hollow_and_named(found):
    base = next(line for line in found.figures[0].panels[0].lines if line.label == "base_measure")
    assert list(base.x) == [0.01, 0.1, 0.5, 0.9]
    assert list(base.hollow) == [False, True, True, True]  # an undefined R-hat has not mixed either
    assert base.y == pytest.approx([0.705, 0.965, 0.975, 0.985])
    longer = next(f for f in found.figures if f.name == "auc-longer-chains")
    assert not any(any(line.hollow or ()) for panel in longer.panels for line in panel.lines)
    named = next(s for s in found.sentences if s.startswith("mushroom, 1,500 steps"))
    assert "at most 1.1 in 4 of 17 cases" in named
    assert "base_measure (epsilon 0.1, 0.5, 0.9)" in named
    assert "plain;" in named


@pytest.mark.slow
def test_sentences_follow_from_the_results(found):
    text = "\n".join(found.sentences)
    assert "epsilon 0.9 0.985 ± 0.007 (0.978)" in text
    assert "epsilon 0.01 0.705 ± 0.007 (0.613 ± 0.314)" in text
    assert "falls in 4 of 4 steps; plain (0.995) above 0.9 (0.985) above 0.01 (0.705): yes" in text
    assert "monotone (1,500) +0.001 ± 0.000 at 0.01" in text
    assert "tempered_prior 200.0 to 200.0 rules" in text
    assert "too few for tempered_prior" in text
    assert "-0.100 at epsilon 0.9" in text
    table = found.tables[1].frame.set_index(["law", "epsilon", "steps"])
    assert table.loc[("monotone", 0.1, 1_500), ["published_auc", "published_train_auc"]].tolist() == [0.972, 0.878]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("laws", [["plain"], ["monotone"], ["base_measure", "tempered_prior"]])
@pytest.mark.parametrize("most", [1, 2])
def test_findings_of_incomplete_results(invented, laws, most):
    some = invented[invented["law"].isin(laws) & (invented["seed"] < most)]
    found = fits.EXPERIMENT.findings(some)
    assert len(found.tables[0].frame) == some.groupby(["law", "epsilon", "steps"], dropna=False).ngroups
    assert not any(" nan" in sentence for sentence in found.sentences)


def test_chains_are_followed_by_the_law_that_lists_are_drawn_from(frame):
    """Marks every 25 steps; at hardly any epsilon the rows weigh nothing, and the prior alone is left."""
    named = {"part": "trace", "law": fits.PLAIN, "epsilon": None, "steps": 200, "rows": 200, "expected_length": 3.0}
    named["seed"] = 1
    found = pd.DataFrame(EXPERIMENT.run(Point("mushroom", named), frame, Limits()))
    assert len(found) == fits.CHAINS * 200 // 25
    assert sorted(found["step"].unique()) == list(range(25, 201, 25))
    assert (found["per_row"] < 0).all()
    for _, chain in found.groupby("chain"):
        assert chain["seconds"].is_monotonic_increasing
    free = named | {"law": "base_measure", "epsilon": 1e-6}
    flat = pd.DataFrame(EXPERIMENT.run(Point("mushroom", free), frame, Limits()))
    assert flat["per_row"].mean() > found["per_row"].mean()
    drawn = fits.EXPERIMENT.findings(
        pd.concat([one.assign(dataset="mushroom", **how) for one, how in ((found, named), (flat, free))])
    )
    assert [figure.name for figure in drawn.figures] == ["traces", "convergence", "run-time"]
    assert {figure.name for figure in drawn.figures} < set(EXPERIMENT.figures)
    assert drawn.sentences[0].startswith("Chains, mushroom, 200 rows, plain: ")
