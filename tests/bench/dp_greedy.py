"""Accuracy, vulnerability and time of GreedyRL and DP-GreedyRL beside the figures of the brief (learners.md, 4.5).

    python tests/bench/dp_greedy.py [--runs N]

Random 70/30 splits, 5 rules, conjunctions of two literals met by 5 to 95 % of all rows (given as public rules). The
± is the standard error over the runs. Data: RECON_DATA, or the folder shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from recon.learners.private.dp_greedy_rule_list import DPGreedyRuleListClassifier  # noqa: E402
from recon.learners.rule_lists.estimator import binary_columns  # noqa: E402
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier  # noqa: E402
from recon.learners.rule_lists.mining import conjunctions, mine, rule_masks  # noqa: E402
from recon.learners.rule_lists.vulnerability import vulnerability_of  # noqa: E402

DATA = Path(os.environ.get("RECON_DATA", ROOT.parent / "shared" / "data"))
LEARNERS = {
    "sm-Laplace": {"mechanism": "smooth_laplace", "min_support": 0.05},
    "sm-Cauchy": {"mechanism": "smooth_cauchy", "min_support": 0.05},
    "gl-Laplace": {"mechanism": "global_laplace"},
    "gl-Gauss": {"mechanism": "global_gaussian"},
    "exponential": {"mechanism": "exponential"},
    "counts": {"mechanism": "noisy_counts"},
    "pure": {"mechanism": "pure"},
    "sm-Lap rep.": {"mechanism": "smooth_laplace", "min_support": 0.05, "repaired": True},
    "exp rep.": {"mechanism": "exponential", "repaired": True},
}
COMPAS = {  # of the brief; its "pure" divides epsilon by 9, ours by 5
    0.1: (0.573, 0.576, 0.563, None, 0.563, None, 0.568),
    0.5: (0.602, 0.587, 0.579, None, 0.577, None, 0.634),
    1.0: (0.620, 0.588, 0.580, None, 0.579, None, 0.649),
    5.0: (0.655, 0.589, 0.580, None, 0.580, None, 0.658),
    10.0: (0.660, 0.591, 0.580, None, 0.580, None, 0.659),
}
ADULT = {
    0.1: (0.761, None, 0.760, None, None, None, 0.774),
    1.0: (0.787, None, 0.760, None, None, None, 0.794),
    10.0: (0.794, None, 0.760, None, None, None, 0.794),
}


def table(name: str, without: tuple[str, ...] = ()) -> tuple[pd.DataFrame, pd.Series]:
    """Return (columns but those with a prefix, label)."""
    frame = pd.read_csv(DATA / name)
    kept = [c for c in frame.columns[:-1] if not c.startswith(without)] if without else list(frame.columns[:-1])
    return frame[kept], frame.iloc[:, -1]


def evaluate(learner, x, y, runs: int):
    """Return (mean accuracy, its standard error, mean V, mean V as the authors compute it, seconds per fit)."""
    shares, formula, authors, seconds = [], [], [], 0.0
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(len(x))
        cut = int(0.7 * len(x))
        train, test = ((x.iloc[i], y.iloc[i]) for i in (order[:cut], order[cut:]))
        if "random_state" in learner.get_params():
            learner.set_params(random_state=seed)
        start = time.perf_counter()
        learner.fit(*train)
        seconds += time.perf_counter() - start
        shares.append(learner.score(*test))
        formula.append(vulnerability_of(learner, train, test))
        authors.append(vulnerability_of(learner, train, test, "authors"))
    error = float(np.std(shares) / max(1, runs - 1) ** 0.5)
    return float(np.mean(shares)), error, float(np.mean(formula)), float(np.mean(authors)), seconds / runs


def greedy(runs: int) -> None:
    """Print the baselines."""
    print("GreedyRL                          accuracy        (brief)  V       authors' V  majority  s per fit")
    for title, name, without, brief in (
        ("COMPAS, nothing removed", "compas27.csv.gz", (), ".660"),
        ("COMPAS, no Race, Age, Gender", "compas27.csv.gz", ("Race", "Age", "Gender"), ".652"),
        ("Adult, no age", "adult24.csv.gz", ("age",), ".797"),
    ):
        x, y = table(name, without)
        share, error, v, authors, seconds = evaluate(
            GreedyRuleListClassifier(width=2, min_support=0.05, max_length=5), x, y, runs
        )
        most = max(y.mean(), 1 - y.mean())
        print(
            f"{title:32s}  {share:.4f}±{error:.4f}  {brief}     {v:.4f}  {authors:.4f}     {most:.3f}    {seconds:.3f}"
        )


def compare(title: str, x: pd.DataFrame, y: pd.Series, figures, runs: int) -> None:
    """Print the accuracies of all mechanisms, the brief's figures below."""
    names, bits = binary_columns(x)
    rules = conjunctions(names)
    weight = np.ones(len(bits))
    rules, _ = mine(rules, rule_masks(rules, names, bits).astype(np.float32), weight, 0.05 * len(x), 0.95 * len(x))
    print(f"\n{title}: {len(x):,} rows, {len(rules)} public rules, {runs} runs")
    print("epsilon  " + "  ".join(f"{n:>12s}" for n in LEARNERS))
    spent = dict.fromkeys(LEARNERS, 0.0)
    for epsilon, brief in figures.items():
        cells = []
        for name, more in LEARNERS.items():
            learner = DPGreedyRuleListClassifier(epsilon=epsilon, rules=rules, **more)
            share, error, *_, seconds = evaluate(learner, x, y, runs)
            spent[name] = max(spent[name], seconds)
            cells.append(f"{share:.4f}±{error:.4f}"[1:].rjust(12))
        print(f"{epsilon:7g}  " + "  ".join(cells), flush=True)
        print("  brief  " + "  ".join(("" if b is None else f"{b:.3f}"[1:]).ljust(9).rjust(12) for b in brief).rstrip())
    print("s a fit  " + "  ".join(f"{s:12.3f}" for s in spent.values()))


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="splits of every table")
    runs = parser.parse_args().runs
    greedy(runs)
    compare("COMPAS", *table("compas27.csv.gz"), COMPAS, runs)
    compare("Adult", *table("adult24.csv.gz", ("age",)), ADULT, runs)


if __name__ == "__main__":
    main()
