"""A tiny experiment of a module of its own, so that other processes find it: squares, and points that fail."""

from __future__ import annotations

import os
import time

import pandas as pd

from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import Experiment, ExperimentFindings, Point, ResultTable
from solvers.foundation.errors import ReleaseError


def points(size):
    """Return ten points, three for the quick one."""
    return [Point("", {"x": x}, cost=x) for x in range(3 if size == "quick" else 10)]


def run(point, frame, limits):
    """Return the square; every call leaves a line in the file that the environment names."""
    assert frame is None
    if os.environ.get("RECON_TEST_DIES") == str(point["x"]):
        os._exit(9)
    if path := os.environ.get("RECON_TEST_CALLS"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{point['x']}\n")
    if os.environ.get("RECON_TEST_FAILS") == str(point["x"]):
        raise ReleaseError("this point was told to fail")
    if os.environ.get("RECON_TEST_LASTS") == str(point["x"]):  # as an engine that was stopped: with what it has
        while not limits.expired():
            time.sleep(0.01)
        return [{"square": -1, "nothing": None, "half": 0.0}]
    return [{"square": point["x"] ** 2, "nothing": None, "half": point["x"] / 2}]


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return a table, a figure and a sentence."""
    line = PlotLine(
        "squares", results["x"].tolist(), results["square"].tolist(), hollow=[x % 2 == 1 for x in results["x"]]
    )
    return ExperimentFindings(
        [ResultTable("squares", results[["x", "square"]], "A number and its square.")],
        [PanelFigure("squares", "Squares grow.", [Panel("squares", "x", "x squared", [line])])],
        [f"the largest square is {results['square'].max()}"],
    )


EXPERIMENT = Experiment("squares", "squares of small numbers", "Euclid", points, run, findings)
