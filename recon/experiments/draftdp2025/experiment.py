"""The experiment: forests of random trees, privacy budgets 0.1 to 30, and draws from the posterior for some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from recon.experiments.draftdp2025.findings import findings
from recon.experiments.draftdp2025.forests import run
from recon.experiments.experiment import Experiment, Point, Scalar, Size

ROWS = 100  # the first of the file, as in the paper
EPSILONS = (0.1, 1.0, 5.0, 10.0, 20.0, 30.0)
SOME = (1.0, 10.0, 30.0)
TREES, DEPTH = (1, 5, 10, 20), 5
DEPTHS = (3, 7)
CAPS = {"compas14": 20.0, "adult19": 40.0, "credit21": 40.0}  # seconds for one question
ENOUGH, LONGER = 20, 30.0  # trees from which on a proof may take longer
COSTS = {"compas14": 4.0, "adult19": 20.0, "credit21": 20.0}
DRAWS = 400


def points(size: Size) -> list[Point]:
    """Return a point per forest and budget."""
    if size == "quick":
        found = [*grid("compas14", (1, 5), DEPTH, (1.0, 10.0), range(1), cap=8.0)]
        return [*found, *grid("compas14", (5,), 3, (10.0,), range(1), 200, cap=8.0)]
    found = [*grid("compas14", (1, 5), DEPTH, EPSILONS, range(3)), *grid("compas14", (20,), DEPTH, EPSILONS, range(2))]
    found += grid("compas14", (10,), DEPTH, EPSILONS, range(1, 3))
    found += grid("compas14", (10,), DEPTH, EPSILONS, range(1), DRAWS)
    for depth in DEPTHS:
        found += grid("compas14", (10,), depth, EPSILONS, range(2))
    found += grid("compas14", (1,), 3, SOME, range(3))
    for name in ("adult19", "credit21"):
        found += grid(name, (10,), DEPTH, SOME, range(1))
        found += grid(name, (1, 5), DEPTH, (10.0,), range(1))
    return found


def grid(
    name: str, trees: Sequence[int], depth: int, epsilons: Sequence[float], seeds: Sequence[int], draws: int = 0,
    cap: float | None = None,
) -> Iterator[Point]:  # fmt: skip
    """Yield forests of one data set and depth."""
    for number, epsilon, seed in product(trees, epsilons, seeds):
        named: dict[str, Scalar] = {"rows": ROWS, "trees": number, "depth": depth, "epsilon": epsilon, "seed": seed}
        usual = max(LONGER if number >= ENOUGH else 0.0, CAPS[name])
        seconds = usual if cap is None else cap
        yield Point(name, named | {"draws": draws, "cap_seconds": seconds}, COSTS[name] + (10.0 if draws else 0.0))


FIGURES: dict[str, dict[str, tuple[Scalar, ...]]] = {
    "errors-by-trees": {"depth": (DEPTH,)},
    "errors-by-depth": {"trees": (10,)},
    "errors-by-accuracy": {"rows": (ROWS,)},
    "posterior": {"draws": (DRAWS,)},
}


EXPERIMENT = Experiment(
    "draftdp2025",
    "how much of their training rows forests with noisy counts give back",
    "Gorgé, Ferry, Gambs, Vidal, Training Set Reconstruction from Differentially Private Forests: How Effective is "
    "DP?, arXiv:2502.05307 (2025), SaTML 2026.",
    points,
    run,
    findings,
    needs={"sklearn": "sklearn"},
    figures=FIGURES,
)
