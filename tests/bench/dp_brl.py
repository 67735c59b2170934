"""DP-BRL: out-of-sample AUC, list length and seconds on mushroom and Adult, per budget and target law.

Run: python tests/bench/dp_brl.py [seeds]. Antecedents are chosen on all rows (10 % support, then the 300 that go most
with the label), so these are the thesis's figures, which have no privacy guarantee, whatever the ledger says of public
antecedents; the last lines mine privately. The budget is counted as in the thesis: ε in all, a third each for mining,
drawing the list and the counts. Needs the data files (RECON_DATA, default ../shared/data).
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from recon.learners.private.private_mining import Mining, mine_exactly
from recon.learners.rule_lists.bayesian_rule_list import BayesianRuleListClassifier, DPBayesianRuleListClassifier
from recon.learners.rule_lists.mining import rule_masks

DATA = Path(os.environ.get("RECON_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
BUDGETS = (0.9, 0.5, 0.1, 0.01)


def mushroom() -> tuple[pd.DataFrame, np.ndarray]:
    """Return mushroom's columns and labels; the file has the label first and no header."""
    with gzip.open(DATA / "mushroom.txt.gz", "rt") as lines:
        values = np.loadtxt(lines, dtype=int)
    return pd.DataFrame(values[:, 1:], columns=[f"c{k}" for k in range(values.shape[1] - 1)]), values[:, 0]


def adult() -> tuple[pd.DataFrame, np.ndarray]:
    """Return Adult's 24 columns and labels."""
    frame = pd.read_csv(DATA / "adult24.csv.gz")
    return frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy()


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Return the area under the ROC curve, ties counting one half (Mann-Whitney)."""
    ranks, ones = rankdata(scores), labels == 1
    n, m = int(ones.sum()), int((~ones).sum())
    return float((ranks[ones].sum() - n * (n + 1) / 2) / (n * m))


def line(name: str, learner, x: pd.DataFrame, y: np.ndarray, train: int, seeds: int) -> None:
    """Fit on a random part per seed and print the means."""
    found = []
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(x))
        begun = time.perf_counter()
        fitted = learner.set_params(random_state=seed).fit(x.iloc[order[:train]], y[order[:train]])
        seconds = time.perf_counter() - begun
        rest = order[train:]
        proba = fitted.predict_proba(x.iloc[rest])[:, 1]
        hat = fitted.diagnostics_["r_hat"]["log_weight"]
        found.append((auc(y[rest], proba), len(fitted.rules_) - 1, hat if hat is not None else np.inf, seconds))
    mean, sd = np.mean(found, axis=0), np.std(found, axis=0)
    print(
        f"  {name:38s} AUC {mean[0]:.4f} ± {sd[0]:.4f}   rules {mean[1]:6.1f}   R-hat {mean[2]:7.2f}   "
        f"{mean[3]:5.1f} s   {len(fitted.antecedents_)} antecedents",
        flush=True,
    )


def associated(x: pd.DataFrame, y: np.ndarray, most: int = 300) -> list:
    """Return the antecedents of one or two columns, 10 % support, with the largest chi-square against the label."""
    names, bits = list(x.columns), x.to_numpy() == 1
    found = mine_exactly(names, bits, Mining(2, np.ceil(0.1 * len(x)))).antecedents
    met = rule_masks(found, names, bits)
    n = met.sum(axis=1)
    score = (met @ y - n * y.mean()) ** 2 / (n * (1 - n / len(x)) + 1e-9)
    return [found[i] for i in sorted(np.argsort(-score)[:most])]


def table(name: str, x: pd.DataFrame, y: np.ndarray, train: int, length: float, steps: int, seeds: int) -> None:
    """Print a data set's table."""
    print(
        f"{name}: {train} training rows, {len(x) - train} test rows, λ = {length}, η = 1, {steps} steps, {seeds} seeds"
    )
    common = {"expected_length": length, "steps": steps, "chains": 2}
    public = common | {"antecedents": associated(x, y)}
    line("plain", BayesianRuleListClassifier(**public), x, y, train, seeds)
    unbounded = {"neighbours": "add_remove", "n_max": train}
    runs = [("base_measure", e, {}) for e in BUDGETS] + [("base_measure", e, unbounded) for e in BUDGETS]
    runs += [("monotone", e, unbounded) for e in BUDGETS] + [("tempered_prior", 0.9, {})]
    for target, epsilon, more in runs:
        learner = DPBayesianRuleListClassifier(epsilon=epsilon * 2 / 3, target=target, **public, **more)
        line(f"{target} {learner.neighbours} ε = {epsilon}", learner, x, y, train, seeds)
    held = int(x.to_numpy().sum(axis=1).max())  # a public fact of the encoding: one column per attribute is 1
    for epsilon in (10.0, 0.9):
        learner = DPBayesianRuleListClassifier(epsilon=epsilon, most_items=held, **common)
        line(f"private mining ε = {epsilon}", learner, x, y, train, seeds)


if __name__ == "__main__":
    SEEDS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    table("mushroom", *mushroom(), 7_000, 7.0, 1_500, SEEDS)
    table("adult24", *adult(), 30_000, 13.0, 3_000, min(SEEDS, 2))
