"""The experiment: three data sets, no bootstrap, bags that the file gives away, bags unknown; trees, depth and rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from recon.experiments.draft2024.findings import findings
from recon.experiments.draft2024.questions import GROUPS, KNOWN, NONE, UNKNOWN, ZEROS, run
from recon.experiments.experiment import Experiment, Point, Scalar, Size

ROWS = 100  # training rows, as in the paper
MAX_TREES = 100  # trees, scikit-learn's default
TREES = (1, 5, 10, 20, 50, 100)
DEPTHS = (2, 3, 5, 10)  # with 100 trees
MORE_ROWS = (25, 50, 200, 500)
CAPS = {NONE: 15.0, KNOWN: 15.0, UNKNOWN: 30.0}  # seconds for one forest, all questions together
COSTS = {NONE: 2.0, KNOWN: 5.0, UNKNOWN: 15.0, ZEROS: 0.2}
ENOUGH = 20  # trees on known bags that leave little to search: they need their time for sums, and end by themselves
LONGER = 60.0
HARD = ("adult19", "credit21")  # where unknown bags leave too much to search


def _points(size: Size) -> list[Point]:
    """Return a point per forest."""
    return quick() if size == "quick" else full()


def quick() -> list[Point]:
    """Return a few forests of every kind."""
    found = [_forest("compas14", bags, 50, trees, None, 0, 6.0) for bags in CAPS for trees in (5, 20)]
    found += [_forest(name, bags, ROWS, MAX_TREES, None, 0, 12.0) for name in HARD for bags in (NONE, KNOWN)]
    return [*found, _forest("compas14", NONE, ROWS, 20, 3, 0, 4.0)]


def full() -> list[Point]:
    """Return every forest: by trees, by depth with 100 trees, by rows with 100 full-grown trees."""
    found: list[Point] = []
    for name in GROUPS:
        hard = name in HARD
        found += _grid(name, NONE, range(3 if hard else 5), MORE_ROWS)
        found += _grid(name, KNOWN, range(2 if hard else 3), MORE_ROWS)
        found += [_forest(name, ZEROS, ROWS, 1, None, seed) for seed in range(5)]
        if hard:
            found += [_forest(name, UNKNOWN, ROWS, trees, None, 0) for trees in (1, 10, MAX_TREES)]
        else:
            found += _grid(name, UNKNOWN, range(3), MORE_ROWS[:2], range(1))
    return found


def _grid(
    name: str, bags: str, seeds: Sequence[int], rows: Sequence[int], fewer: Sequence[int] = range(2)
) -> Iterator[Point]:
    """Yield the forests of one data set and kind of bags; by depth and by rows with `fewer` seeds."""
    for trees, seed in product(TREES, seeds):
        yield _forest(name, bags, ROWS, trees, None, seed)
    for depth, seed in product(DEPTHS[name in HARD :], fewer):  # with the least depth, hard ones are hopeless
        yield _forest(name, bags, ROWS, MAX_TREES, depth, seed)
    for n, seed in product(rows, fewer):
        yield _forest(name, bags, n, MAX_TREES, None, seed)


def _forest(
    name: str, bags: str, rows: int, trees: int, depth: int | None, seed: int, cap: float | None = None
) -> Point:
    usual = LONGER if bags == KNOWN and trees >= ENOUGH else CAPS.get(bags, 0.0)
    seconds = usual if cap is None else cap
    named: dict[str, Scalar] = {"bags": bags, "rows": rows, "trees": trees, "depth": depth, "seed": seed}
    return Point(name, named | {"cap_seconds": seconds}, COSTS[bags])


FIGURES: dict[str, dict[str, tuple[Scalar, ...]]] = {
    "errors-by-trees": {"rows": (ROWS,), "depth": (None,)},
    "errors-by-depth": {"rows": (ROWS,), "trees": (MAX_TREES,)},
    "errors-by-rows": {"trees": (MAX_TREES,), "depth": (None,)},
    "worlds-by-trees": {"rows": (ROWS,), "depth": (None,)},
}


EXPERIMENT = Experiment(
    "draft2024",
    "how much of their training rows forests give back",
    "Ferry, Fukasawa, Pascal, Vidal, Trained Random Forests Completely Reveal your Dataset, ICML 2024, Section 7.2 "
    "and Appendix B.",
    _points,
    run,
    findings,
    needs={"sklearn": "sklearn"},
    figures=FIGURES,
)
