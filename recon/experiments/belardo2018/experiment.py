"""The experiment: BRL and DP-BRL under three target laws, four budgets, the thesis's steps and longer chains."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from recon.experiments.belardo2018.findings import findings
from recon.experiments.belardo2018.fits import LAWS, MINED, PLAIN, run
from recon.experiments.belardo2018.traces import traced
from recon.experiments.experiment import Experiment, Point, Row, Scalar, Size, in_chunks
from recon.experiments.splits import shuffled
from solvers.foundation.limits import Limits

BUDGETS = (0.01, 0.1, 0.5, 0.9)


@dataclass(frozen=True)
class ChainSetting:
    """A data set: training rows, the prior's expected length, and per number of steps the random splits.

    `runs`: (steps, splits) of every law but `tempered_prior`, whose lists of hundreds of rules cost most: `tempered`.
    `cost`: expected seconds of 1,000 steps of all chains.
    """

    dataset: str
    rows: int
    expected_length: float
    runs: tuple[tuple[int, int], ...]
    tempered: tuple[int, int]
    cost: float


# Rows, expected lengths and the first number of steps of mushroom and Adult are the thesis's, the rest is ours.
SETTINGS = (
    ChainSetting("mushroom", 7_000, 7.0, ((1_500, 15), (15_000, 5)), (1_500, 5), 0.25),
    ChainSetting("adult24", 30_000, 13.0, ((3_000, 5), (12_000, 3)), (3_000, 4), 0.6),
    ChainSetting("kr-vs-kp", 2_500, 7.0, ((6_000, 5),), (1_500, 5), 0.15),
    ChainSetting("german-credit", 800, 7.0, ((6_000, 5),), (1_500, 5), 0.15),
    ChainSetting("tic-tac-toe", 750, 7.0, ((6_000, 5),), (1_500, 5), 0.15),
)
CHUNK = 5
TRIALS = (5_000, 3_000)  # steps of the chains that are followed: the thesis's trial on mushroom; Adult's own steps


def points(size: Size) -> list[Point]:
    """Return a point per data set, law, budget, number of steps and chunk of seeds."""
    found = []
    for setting in SETTINGS[:2] if size == "quick" else SETTINGS:
        for law in (PLAIN, *LAWS):
            runs: tuple[tuple[int, int], ...] = (setting.tempered,) if law == "tempered_prior" else setting.runs
            if law == MINED or size == "quick":
                runs = runs[:1]
            budgets = (None,) if law == PLAIN else BUDGETS[::3] if size == "quick" else BUDGETS
            for epsilon in budgets:
                for steps, seeds in runs:
                    found += chunks(setting, law, epsilon, steps, 1 if size == "quick" else seeds)
    return found + traces(size)


def traces(size: Size) -> list[Point]:
    """Return the points of chains that are followed: the thesis's data and steps of its trials, one split."""
    out = []
    for setting, steps in zip(SETTINGS[:2], TRIALS, strict=True):
        for law, epsilon in ((PLAIN, None), ("base_measure", 0.9), ("base_measure", 0.01))[
            : 1 if size == "quick" else 3
        ]:
            named: dict[str, Scalar] = {
                "part": "trace", "law": law, "epsilon": epsilon, "steps": 500 if size == "quick" else steps,
                "rows": setting.rows, "expected_length": setting.expected_length, "seed": 0,
            }  # fmt: skip
            out.append(Point(setting.dataset, named, setting.cost * steps / 1_000))
    return out


def run_point(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return the rows of a point: fitted lists, or chains that are followed."""
    if "part" not in point.parameters:
        return run(point, frame, limits)
    assert frame is not None
    return traced(point, shuffled(frame, point["rows"], point["seed"]), point["seed"], limits)


def chunks(setting: ChainSetting, law: str, epsilon: float | None, steps: int, runs: int) -> list[Point]:
    """Return the points of one law with one budget and number of steps."""
    named: dict[str, Scalar] = {
        "law": law, "epsilon": epsilon, "steps": steps, "rows": setting.rows,
        "expected_length": setting.expected_length,
    }  # fmt: skip
    seconds = setting.cost * (5.0 if law == "tempered_prior" else 1.0) * steps / 1_000
    return in_chunks(setting.dataset, named, runs, CHUNK, seconds)


FIGURES: dict[str, dict[str, tuple[Scalar, ...]]] = {
    "auc-by-epsilon": {"steps": (1_500, 3_000), "seeds": tuple(range(1, CHUNK + 1))},
    "auc-longer-chains": {"steps": (1_500, 15_000, 3_000, 12_000), "seeds": tuple(range(1, CHUNK + 1))},
    "auc-further-data": {"steps": (6_000, 1_500), "seeds": tuple(range(1, CHUNK + 1))},
    "mixing": {"seeds": tuple(range(1, CHUNK + 1))},
    **{name: {"part": ("trace",)} for name in ("traces", "convergence", "run-time")},
}


EXPERIMENT = Experiment(
    "belardo2018",
    "what differentially private Bayesian rule lists cost in AUC, and how long they are",
    "Belardo, Knowledge Discovery From Sensitive Data: Differentially Private Bayesian Rule Lists, Colgate University, "
    "2018: Tables 6.1, 6.2 and A.1.",
    points,
    run_point,
    findings,
    figures=FIGURES,
)
