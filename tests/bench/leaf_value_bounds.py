"""Leaf values of scikit-learn's boosting: are the intervals around sums of gradients true, and how tight are they?

    python tests/bench/leaf_value_bounds.py [fits per line, 200] [most rows, 400] [seed, 0]

Random small fits over all options; every figure is compared in rationals with gradients that scikit-learn's own loss
computes of its own scores. "used" is the part of its interval that a figure needs: above 1 it would be wrong. The last
lines are models whose rows were weighted or drawn, where figures must be far outside.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

import numpy as np  # noqa: E402
from boosted_cases import fit_gb, fit_hist, parts_of, random_case, release_of, true_points, used_parts  # noqa: E402

import recon  # noqa: E402

FAMILIES = {
    "gb2": "GradientBoostingClassifier, 2 classes",
    "hist2": "HistGradientBoostingClassifier, 2 classes",
    "gb3": "GradientBoostingClassifier, 3 classes",
    "hist3": "HistGradientBoostingClassifier, 3 classes",
    "gb4": "GradientBoostingClassifier, 4 classes",
    "hist4": "HistGradientBoostingClassifier, 4 classes",
    "gb0": "GradientBoostingRegressor",
    "hist0": "HistGradientBoostingRegressor",
}


def bounds(fits: int, most: int, seed: int) -> None:
    """Print a line per kind of model."""
    print("| model | fits | figures | outside | worst used | median of the worst | seconds |")
    print("|---|--:|--:|--:|--:|--:|--:|", flush=True)
    for family, name in FAMILIES.items():
        rng, begun = np.random.default_rng(seed), time.perf_counter()
        parts = [parts_of(random_case(rng, family, most)) for _ in range(fits)]
        worst = np.array([p.max() for p in parts if len(p)])
        total, outside = sum(map(len, parts)), sum(int((p > 1).sum()) for p in parts)
        line = [name, f"{len(worst):,}", f"{total:,}", str(outside), f"{worst.max():.3g}", f"{np.median(worst):.3g}"]
        print("| " + " | ".join([*line, f"{time.perf_counter() - begun:.0f}"]) + " |", flush=True)


def far_outside(trials: int, seed: int) -> None:
    """Print how far the figures of models are off whose rows were weighted or drawn and do not say so."""
    print("\n| model | trials | seen | least of the worst figures | median figure |")
    print("|---|--:|--:|--:|--:|")
    rng = np.random.default_rng(seed)
    for name in ("HistGradientBoosting, weights 1 and 2", "GradientBoosting, subsample 0.8 hidden"):
        found = []
        for _ in range(trials):
            case = random_case(rng, "hist2", 400)
            frame = case.frame
            if name.startswith("Hist"):
                model = fit_hist(frame, weights=rng.integers(1, 3, len(frame)), max_iter=10, min_samples_leaf=2)
            else:
                model = fit_gb(frame, subsample=0.8, n_estimators=10)
                model.subsample = 1.0
            release = release_of(model, recon.Domain.from_frame(frame, label="y"))
            if release.statements.boosted:
                found.append(used_parts(*true_points(release, frame)))
        worst = [float(p.max()) for p in found if len(p)]
        middle = [float(np.median(p)) for p in found if len(p)]
        seen = sum(w > 1 for w in worst)
        print(f"| {name} | {len(worst)} | {seen} | {min(worst):.3g} | {np.median(middle):.3g} |", flush=True)


if __name__ == "__main__":
    given = [int(x) for x in sys.argv[1:]]
    fits, most, seed = (*given, *(200, 400, 0)[len(given) :])
    bounds(fits, most, seed)
    far_outside(max(5, fits // 10), seed)
