"""The experiment: GreedyRL and all mechanisms of DP-GreedyRL, five budgets, on COMPAS, Adult and German credit."""

from __future__ import annotations

from dataclasses import dataclass

from recon.experiments.experiment import Point, Scalar, Size, in_chunks
from recon.experiments.ly2024.findings import DECLARED, findings
from recon.experiments.ly2024.fits import GREEDY, MECHANISMS, UNBOUNDED, run

BUDGETS = (0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 100.0)
ATTACKED = ("smooth Laplace", "global Laplace")  # and GreedyRL, by membership inference
ATTACKS = 10  # random splits of an attack
LONGEST = 5  # rules, the default one included
COSTLY = {"noisy counts": 1.8, "exponential": 1.3, "exponential, repaired": 1.3, "pure": 1.3}  # exact draws


@dataclass(frozen=True)
class TableSetting:
    """A table as the learners see it: columns that begin with one of some words left out, width and support of rules.

    `runs`: random splits of the full experiment, `chunk` of them to a point; `cost`: expected seconds of a fit.
    """

    dataset: str
    without: str
    width: int
    support: float
    runs: int
    chunk: int
    cost: float


SETTINGS = (
    TableSetting("compas27", "", 2, 0.05, 100, 25, 0.06),
    TableSetting("compas27", "Race, Age, Gender", 2, 0.05, 100, 25, 0.02),
    TableSetting("adult24", "age", 2, 0.05, 50, 25, 0.09),
    TableSetting("german-credit", "", 1, 0.12, 100, 50, 0.035),
)
ONLY_GREEDY = (
    (GREEDY, TableSetting("adult24", "gender, age", 2, 0.05, 50, 25, 0.1)),
    (UNBOUNDED, TableSetting("compas27", "", 2, 0.0, 100, 25, 0.1)),
    (UNBOUNDED, TableSetting("adult24", "age", 2, 0.0, 50, 25, 0.1)),
    (UNBOUNDED, TableSetting("german-credit", "", 1, 0.0, 100, 50, 0.03)),
)


def _points(size: Size) -> list[Point]:
    """Return a point per setting, learner, budget and chunk of seeds; quick: the first chunk's first two seeds."""
    found = []
    for setting in SETTINGS:
        for learner in (GREEDY, *MECHANISMS):
            budgets = (None,) if learner == GREEDY else BUDGETS[1::2] if size == "quick" else BUDGETS
            found += [one for epsilon in budgets for one in _chunks(setting, learner, epsilon, size)]
    if size == "full":
        found += [one for learner, setting in ONLY_GREEDY for one in _chunks(setting, learner, None, size)]
    return found + _attacks(size)


def _attacks(size: Size) -> list[Point]:
    """Return the points of membership inference on GreedyRL and on private lists."""
    out = []
    for setting in (SETTINGS[0], SETTINGS[2], SETTINGS[3])[: 1 if size == "quick" else 3]:
        cases: list[tuple[str, float | None]] = [(GREEDY, None)]
        budgets = (1.0,) if size == "quick" else (0.01, 1.0, 100.0)
        cases += [(name, epsilon) for name in ATTACKED for epsilon in budgets]
        for name, epsilon in cases:
            found = _chunks(setting, name, epsilon, size)[0]
            named = {**found.parameters, "part": "attack", "seeds": 2 if size == "quick" else ATTACKS}
            out.append(Point(setting.dataset, named, 6.0))
    return out


def _chunks(setting: TableSetting, learner: str, epsilon: float | None, size: Size) -> list[Point]:
    """Return the points of one learner with one budget (None: GreedyRL has none)."""
    runs, chunk = (2, 2) if size == "quick" else (setting.runs, setting.chunk)
    named: dict[str, Scalar] = {
        "without": setting.without, "learner": learner, "epsilon": epsilon, "width": setting.width,
        "support": setting.support, "max_length": LONGEST,
    }  # fmt: skip
    return in_chunks(setting.dataset, named, runs, chunk, setting.cost * COSTLY.get(learner, 0.8))


EXPERIMENT = DECLARED.experiment(_points, run, findings)
