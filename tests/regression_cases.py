"""Random linear regressions printed in many ways, read back from text and held against the rows they were fitted on.

Columns of 0 and 1, of small whole numbers and of categories; responses of 0 and 1 and of whole numbers; numbers with so
many significant digits, so many decimals, or all of them; with and without the number of rows, the variance of
residuals, standard errors, coefficients.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import recon
from recon.readers.frames.world import violations
from solvers.foundation.errors import ReconError

OPEN = ("so few digits", "no matrix with an inverse", "not above 0", "leave the number of rows open")


def people(seed, rows=0, bits=0):
    """Return rows of columns of 0 and 1, of a column of small whole numbers every other time, and a response."""
    rng = np.random.default_rng(seed)
    n = rows or int(rng.integers(12, 80))
    frame = pd.DataFrame({f"a{k}": rng.integers(0, 2, n) for k in range(bits or int(rng.integers(1, 5)))})
    if seed % 2:
        frame["age"] = rng.integers(20, 70, n)
    response = rng.integers(0, 2, n) if seed % 3 else rng.integers(90, 160, n)
    return frame.assign(y=response)


def fitted(frame, weights=None):
    """Return names, coefficients, (X'X)^-1, the variance of residuals: least squares with a constant."""
    design = np.column_stack([np.ones(len(frame)), frame.drop(columns="y").to_numpy(dtype=float)])
    root = np.sqrt(np.ones(len(frame)) if weights is None else weights)
    design, y = design * root[:, None], frame.y.to_numpy() * root
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ (design.T @ y)
    left = y - design @ found
    return ["const", *frame.columns.drop("y")], found, inverse, float(left @ left) / (len(frame) - len(found))


def table(frame, digits, more=True, weights=None, errors=None):
    """Return the coefficients and covariances of a fit as CSV, with so many digits."""
    names, found, inverse, scale = fitted(frame, weights)
    covariance = inverse * scale
    spread = np.sqrt(np.diag(covariance)) if errors is None else errors
    write = f"{{:.{digits}g}}".format
    lines = [",".join(["term", "coef", "std err", "t", *names])]
    for j, name in enumerate(names):
        numbers = [found[j], spread[j], found[j] / spread[j], *covariance[j]]
        lines.append(",".join([name, *map(write, numbers)]))
    lines += [f"nobs,{len(frame)}", f"scale,{write(scale)}", "response,y"] if more else []
    return "\n".join(lines) + "\n"


def printed(seed: int, frame: pd.DataFrame) -> str:
    """Return a fit as text, in one of many ways."""
    rng = np.random.default_rng(seed + 10_000)
    design = frame.drop(columns="town", errors="ignore").copy()
    if "town" in frame:
        towns = sorted(frame.town.unique())[1:]
        design = pd.concat([pd.get_dummies(frame.town)[towns].astype(int).add_prefix("town_"), design], axis=1)
    names, found, inverse, scale = fitted(design)
    digits = int(rng.integers(3, 15))
    ways: list[Callable[[float], str]] = [
        f"{{:.{digits}g}}".format,
        f"{{:.{digits}f}}".format,
        f"{{:.{digits}e}}".format,
        repr,
    ]
    write = ways[int(rng.integers(4))]
    unscaled = rng.random() < 0.2
    matrix = inverse if unscaled else inverse * scale
    beside, errors = rng.random() < 0.8, rng.random() < 0.6
    lines = [
        ",".join(["term", *(["Estimate"] if beside else []), *(["Std. Error"] if errors and beside else []), *names])
    ]
    for j, name in enumerate(names):
        numbers = [found[j]] * beside + [(inverse[j, j] * scale) ** 0.5] * (errors and beside) + [*matrix[j]]
        lines.append(",".join([name, *(write(float(v)) for v in numbers)]))
    said = [f"nobs,{len(frame)}", f"sigma,{write(scale**0.5)}" if seed % 2 else f"scale,{write(scale)}"]
    keep = int(rng.integers(3))  # both, the rows alone, the variance alone
    lines += said if keep == 0 else said[:1] if keep == 1 else said[1:]
    return "\n".join([*lines, *(["covariance,unscaled"] if unscaled else []), "response,y"]) + "\n"


def failures(seed: int) -> tuple[list[str], dict[str, int]]:
    """Return the statements that the true rows break, and how many sums were exact, open or not read."""
    frame = people(seed)
    if seed % 5 == 0:
        frame["town"] = np.random.default_rng(seed).choice(["Bonn", "Kiel", "Ulm"], len(frame))
    if (
        np.linalg.matrix_rank(
            np.column_stack(
                [
                    np.ones(len(frame)),
                    pd.get_dummies(frame.drop(columns="y"), drop_first=True)
                    if "town" in frame
                    else frame.drop(columns="y"),
                ]
            ).astype(float)
        )
        < (1 + frame.shape[1] - 1 + ("town" in frame))
        or fitted(pd.get_dummies(frame, columns=["town"] if "town" in frame else [], dtype=int, drop_first=True))[3]
        < 1e-9
    ):
        return [], {"no regression": 1}
    domain = recon.Domain.from_frame(frame, label="y")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fit.csv")
        path.write_text(printed(seed, frame), encoding="utf-8")
        try:
            release = recon.load(path, domain=domain)
        except ReconError as error:
            known = any(text in str(error) for text in OPEN)
            return [] if known else [f"a true fit is refused: {error}"], {"too few digits": 1}
    figures = [f for model in release.models for f in model.statements]
    exact = sum(f.count is not None or (f.linear is not None and f.linear.low == f.linear.high) for f in figures)
    wrong = [f"excluded: {one}" for one in violations(release, frame)]
    return wrong, {"read": 1, "sums": len(figures), "exact": exact}
