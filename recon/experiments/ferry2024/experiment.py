"""The experiment: four learners on COMPAS and Adult, five supports, five splits, depths and lengths 1 to 10."""

from __future__ import annotations

from itertools import product

from recon.experiments.experiment import Experiment, Point, Scalar, Size
from recon.experiments.ferry2024.findings import findings
from recon.experiments.ferry2024.fits import FITS, run

DATASETS = ("compas27", "adult24")
SUPPORTS = (0.01, 0.02, 0.03, 0.04, 0.05)
SEEDS = (0, 1, 2, 3, 4)
CAP = 240.0  # seconds for all depths or lengths of one optimal learner
COSTS = {"greedy trees": 2.0, "optimal trees": 30.0, "greedy rule lists": 2.0, "optimal rule lists": 2.0}  # seconds
TIES = ((0.01, 5, 10.0), (0.05, 10, 20.0), (0.01, 10, 120.0))  # support, depth, expected seconds: published figures
PUBLISHED_TIES = "compas27"


def points(size: Size) -> list[Point]:
    """Return a point per data set, learner, support and split, and the spreads of ties beside published figures."""
    quick = size == "quick"
    found = [
        fitted(dataset, learner, support, seed)
        for dataset in DATASETS
        for learner in FITS
        for support in (SUPPORTS[::4] if quick else SUPPORTS)
        for seed in (SEEDS[:1] if quick else SEEDS)
    ]
    for support, depth, cost in TIES[:2] if quick else TIES:
        for seed, minimal in product(SEEDS[:1] if quick else SEEDS, (True, False)):
            named: dict[str, Scalar] = {"learner": "ties", "support": support, "seed": seed, "cap_seconds": CAP}
            found.append(Point(PUBLISHED_TIES, named | {"depth": depth, "minimal": minimal}, cost))
    return found


def fitted(dataset: str, learner: str, support: float, seed: int) -> Point:
    """Return the point of one learner; greedy ones need no cap."""
    named: dict[str, Scalar] = {"learner": learner, "support": support, "seed": seed}
    if learner.startswith("optimal"):
        named["cap_seconds"] = CAP
    return Point(dataset, named, COSTS[learner] * (0.01 / support if learner == "optimal trees" else 1))


TREES, LISTS = (tuple(name for name in FITS if name.endswith(kind)) for kind in ("trees", "rule lists"))
SHOWN = (0.01,)  # the support of figure 4
FIGURES: dict[str, dict[str, tuple[Scalar, ...]]] = {
    **{f"figure-{number}": {"learner": TREES} for number in ("2a", "2b", "5a", "5b")},
    **{f"figure-{number}": {"learner": LISTS} for number in ("3a", "3b", "6a", "6b")},
    "figure-4": {"learner": tuple(FITS), "support": SHOWN},
    "figure-7": {"learner": tuple(FITS)},
}


EXPERIMENT = Experiment(
    "ferry2024",
    "what optimal and greedy trees and rule lists leak",
    "Ferry, Aïvodji, Gambs, Huguet, Siala, Probabilistic Dataset Reconstruction from Interpretable Models, SaTML 2024, "
    "Figures 2 to 7.",
    points,
    run,
    findings,
    version=2,
    needs={"sklearn": "sklearn"},
    figures=FIGURES,
)
