"""Random generalised linear models with everybody's columns known, and random discriminant analyses and components.

All are read back and held against the rows they are of.

Fits by iterated least squares that stop as R's `glm` does, printed as R and statsmodels print them and as CSV with so
many digits; `LogisticRegression` of scikit-learn, stored. Columns of 0 and 1, of small whole numbers, of categories and
of numbers with two decimals; responses of 0 and 1, counts, numbers; rows that columns separate among them.
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

import recon
from encoders.models.models import Table
from recon.readers.frames.world import violations
from solvers.foundation.errors import ReconError

OPEN = ("beyond doubles", "are not listed")  # what is refused of true fits
Floats = NDArray[np.float64]


def people(seed: int, family: str, rows: int = 0) -> pd.DataFrame:
    """Return rows of random columns and a response `y` that depends on them."""
    rng = np.random.default_rng(seed)
    n = rows or int(rng.integers(15, 80))
    frame = pd.DataFrame({f"a{k}": rng.integers(0, 2, n) for k in range(int(rng.integers(1, 5)))})
    if seed % 2:
        frame["age"] = rng.integers(20, 70, n)
    if seed % 3 == 0:
        frame["size"] = rng.normal(0, 2, n).round(2)
    if seed % 5 == 0:
        frame["town"] = rng.choice(["Bonn", "Kiel", "Ulm"], n)
    eta = frame.select_dtypes("number").to_numpy(dtype=float)
    eta = (eta - eta.mean(axis=0)) @ rng.normal(0, 0.5 / (1 + eta.std(axis=0)))
    if family == "binomial":
        y = (rng.random(n) < 1 / (1 + np.exp(-eta * (1 + 20 * (seed % 7 == 0))))).astype(int)
        y[:2] = [0, 1]
    else:
        y = rng.poisson(np.exp(eta)) if family == "poisson" else rng.integers(90, 160, n)
    return frame.assign(y=y)


def design_of(frame: pd.DataFrame, constant: bool = True) -> tuple[list[str], Floats]:
    """Return names and columns of a fit, R's way: the first value of every category left out."""
    names, columns = ["(Intercept)"] * constant, [np.ones(len(frame))] * constant
    for name in frame.columns.drop("y"):
        if frame[name].dtype.kind in "if":
            names, columns = [*names, name], [*columns, frame[name].to_numpy(dtype=float)]
        else:
            for value in sorted(frame[name].unique())[1:]:
                names, columns = [*names, f"{name}{value}"], [*columns, (frame[name] == value).to_numpy(dtype=float)]
    return names, np.column_stack(columns)


def fitted(design: Floats, y: Floats, family: str, epsilon: float = 1e-8) -> tuple[Floats, Floats, float] | None:
    """Return coefficients, their standard errors and the deviance, as R's glm.fit; None where it does not end."""
    mu = {"binomial": (y + 0.5) / 2, "poisson": y + 0.1, "gaussian": y}[family]
    eta = {"binomial": lambda m: np.log(m / (1 - m)), "poisson": np.log, "gaussian": lambda m: m}[family](mu)
    before = np.inf
    for _ in range(25):
        slope = {"binomial": mu * (1 - mu), "poisson": mu, "gaussian": np.ones(len(y))}[family]
        keep = slope > 1e-12
        if keep.sum() < design.shape[1]:
            return None
        root = np.sqrt(slope[keep])
        z = eta[keep] + (y - mu)[keep] / slope[keep]
        found, _, rank, _ = np.linalg.lstsq(design[keep] * root[:, None], z * root, rcond=1e-11)
        if rank < design.shape[1]:
            return None
        eta = design @ found
        mu = {"binomial": 1 / (1 + np.exp(-np.clip(eta, -30, 30))), "poisson": np.exp(np.clip(eta, -30, 30)),
              "gaussian": eta}[family]  # fmt: skip
        deviance = _deviance(y, mu, family)
        if abs(deviance - before) / (abs(deviance) + 0.1) < epsilon or family == "gaussian":
            covariance = np.linalg.inv(design.T @ (slope[:, None] * design))
            return found, np.sqrt(np.abs(np.diag(covariance))), float(deviance)
        before = deviance
    return None


def _deviance(y: Floats, mu: Floats, family: str) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(y > 0, y * np.log(y / mu), 0)
        other = np.where(y < 1, (1 - y) * np.log((1 - y) / (1 - mu)), 0)
    each = {"binomial": own + other, "poisson": own - (y - mu), "gaussian": (y - mu) ** 2 / 2}[family]
    return float(2 * each.sum())


def printed_by_r(names: Sequence[str], found: Floats, errors: Floats, deviance: float, rows: int, family: str,
                 decimals: int) -> str:  # fmt: skip
    """Return what `print(summary(m))` writes of a fit, with so many decimals."""
    wide, letter = max(map(len, names)), "t" if family == "gaussian" else "z"
    lines = ["", "Call:", f"{'lm' if letter == 't' else 'glm'}(formula = y ~ ., family = {family}, data = d)", "",
             "Coefficients:", f"{' ' * wide} Estimate Std. Error {letter} value Pr(>|{letter}|)"]  # fmt: skip
    for name, value, error in zip(names, found, errors, strict=True):
        lines.append(f"{name:<{wide}} {value:.{decimals}f} {error:.{decimals}f} {value / error:8.3f}  <2e-16 ***")
    free = rows - len(names)
    if family == "gaussian":
        return "\n".join([*lines, "---", "", f"Residual standard error: 1.234 on {free} degrees of freedom", ""])
    lines += ["", f"(Dispersion parameter for {family} family taken to be 1)", ""]
    said = f"Residual deviance: {deviance:.2f}  on {free}  degrees of freedom"
    return "\n".join([*lines, f"    Null deviance: 99.99  on {rows - 1}  degrees of freedom", said, ""])


def printed_by_statsmodels(names: Sequence[str], found: Floats, errors: Floats, rows: int, family: str) -> str:
    """Return what `print(m.summary())` writes of a fit."""
    title = {"binomial": "Logit", "poisson": "Poisson", "gaussian": "OLS"}[family]
    names = ["const" if name == "(Intercept)" else name for name in names]
    lines = [f"{title + ' Regression Results':^78}", "=" * 78,
             f"Dep. Variable:{'y':>23}   No. Observations:{rows:>19}", f"Model:{title:>31}", "=" * 78,
             f"{'':<14}{'coef':>7}{'std err':>11}{'z':>11}{'P>|z|':>11}{'[0.025':>12}", "-" * 78]  # fmt: skip
    for name, value, error in zip(names, found, errors, strict=True):
        small = not 1e-4 <= abs(value) < 1e4
        shown = f"{value:10.4g}" if small else f"{value:10.4f}"
        lines.append(f"{name:<12}{shown}  {error:9.3f}  {value / error:9.3f}  {0.5:9.3f}  {value:9.3f}  {value:9.3f}")
    return "\n".join([*lines, "=" * 78, ""])


def as_csv(names: Sequence[str], found: Floats, errors: Floats, rows: int, family: str, digits: int) -> str:
    """Return coefficients with so many significant digits as CSV."""
    lines = ["term,coef,std err"]
    lines += [f"{n},{v:.{digits}g},{e:.{digits}g}" for n, v, e in zip(names, found, errors, strict=True)]
    return "\n".join([*lines, f"family,{family}", f"nobs,{rows}", "response,y", ""])


MOMENTS: tuple[Callable[[], Any], ...] = (
    LinearDiscriminantAnalysis,
    lambda: LinearDiscriminantAnalysis(store_covariance=True),
    lambda: LinearDiscriminantAnalysis(solver="lsqr"),
    QuadraticDiscriminantAnalysis,
    PCA,
    lambda: PCA(2),
    lambda: PCA(svd_solver="covariance_eigh"),
)


def moment_failures(seed: int) -> tuple[list[str], dict[str, int]]:
    """Return the statements of a discriminant analysis or of components that the true rows break, and their number."""
    rng, model = np.random.default_rng(seed), MOMENTS[seed % len(MOMENTS)]()
    n, wide = int(rng.integers(15, 80)), int(rng.integers(2, 4))
    frame = pd.DataFrame({f"a{k}": rng.integers(0, 2, n) for k in range(wide)})
    if seed % 2:
        frame["age"] = rng.integers(20, 70, n)
    if seed % 3 == 0:
        frame["size"] = rng.normal(0, 5, n).round(2)
    y = pd.Series(rng.integers(0, 2 + (seed % 5 == 0), n), name="label")
    alone = isinstance(model, PCA)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(frame, None if alone else y)
        except ValueError:  # a class of one row, or columns that are combinations of others
            return [], {"no fit": 1}
        path = Path(folder, "fit.pkl")
        path.write_bytes(pickle.dumps(model))
        rows = frame if alone else frame.assign(label=y)
        domain = recon.Domain.from_frame(rows, label=None if alone else "label")
        release = recon.load(path, domain=domain, rows=n)
    tables = [model for model in release.models if isinstance(model, Table)]
    figures = [f.linear for model in tables for f in model.statements if f.linear is not None]
    exact = sum(f.low == f.high for f in figures)
    return [f"excluded: {one}" for one in violations(release, rows)], {"read": 1, "sums": len(figures), "exact": exact}


def failures(seed: int) -> tuple[list[str], dict[str, int]]:
    """Return the statements that the true rows break, and how many sums were exact, open or not read."""
    if seed % 3 == 2:
        return moment_failures(seed // 3)
    rng = np.random.default_rng(seed + 50_000)
    family = ("binomial", "binomial", "poisson", "gaussian")[seed % 4]
    frame = people(seed, family)
    way = int(rng.integers(5))
    names, design = design_of(frame, constant=True)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "fit")
        if way == 0 and family == "binomial":
            numbers = frame.drop(columns=["y", *frame.select_dtypes(exclude="number").columns])
            frame = numbers.assign(y=frame.y)
            model = LogisticRegression(C=float(rng.choice([0.1, 1, 100])), max_iter=2000,
                                       solver=str(rng.choice(["lbfgs", "newton-cg", "newton-cholesky"])))  # fmt: skip
            path.write_bytes(pickle.dumps(model.fit(numbers, frame.y)))
        else:
            found = fitted(design, frame.y.to_numpy(dtype=float), family)
            if found is None:
                return [], {"no fit": 1}
            weights, errors, deviance = found
            digits = int(rng.integers(3, 13))
            if way <= 1:
                text = as_csv(names, weights, errors, len(frame), family, digits)
            elif way <= 3:
                text = printed_by_r(names, weights, errors, deviance, len(frame), family, digits)
            else:
                text = printed_by_statsmodels(names, weights, errors, len(frame), family)
            path.write_text(text, encoding="utf-8")
        domain = recon.Domain.from_frame(frame, label="y") if family == "gaussian" else None
        try:
            release = recon.load(path, domain=domain, known_columns=frame.drop(columns="y"))
        except ReconError as error:
            known = any(text in str(error) for text in OPEN)
            return [] if known else [f"a true fit is refused: {error}"], {"not read": 1}
    label = release.domain.label
    assert label is not None
    true = frame.rename(columns={"y": label.name})
    tables = [model for model in release.models if isinstance(model, Table)]
    figures = [f.linear for model in tables for f in model.statements if f.linear is not None]
    exact = sum(f.low == f.high for f in figures)
    return [f"excluded: {one}" for one in violations(release, true)], {"read": 1, "sums": len(figures), "exact": exact}
