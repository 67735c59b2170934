"""A tiny experiment of a module of its own, so that other processes find it: squares, and points that fail.

Also the template of an experiment: what it is, its points, what it shows and says are declared (here in a text, else
in a file of `recon/experiments/papers`); what one point gives is a function, and so are the frames that all make.
"""

from __future__ import annotations

import os
import time

import pandas as pd

from recon.experiments.experiment import Declaration
from solvers.foundation.errors import ReleaseError

DECLARED = Declaration(
    "squares",
    """
sentences = '''
- the largest square is {{ squares.square.max() }}
'''

[experiment]
about = "squares of small numbers"
source = "Euclid"

[points.numbers]
x = "=range(3 if quick else 10)"
cost = "=x"

[tables.squares]
about = "A number and its square."

[figures.squares]
about = "Squares grow."
frame = "drawn"
title = "squares"
x = "x"
y = "x squared"
layers = [{ x = "x", y = "square", label = "squares", hollow = "odd" }]
""",
)


def run(point, frame, limits):
    """Return the square; every call leaves a line in the file that the environment names."""
    assert not len(frame.columns)
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


def frames(results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the lines of a table and of a figure."""
    return {"squares": results[["x", "square"]], "drawn": results.assign(odd=results["x"] % 2 == 1)}


EXPERIMENT = DECLARED.experiment(run, frames)
