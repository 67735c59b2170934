"""A released linear model: what its weights say of the correlations of the columns it was trained on, in closed form.

The model is read as inert data (a stored scikit-learn model, or a JSON object of weights); nothing of a file is run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.attacking.correlations import Correlations, correlations
from recon.attacks.correlation.intervals import label_correlations, linear_intervals, pair_interval, three_variables
from recon.attacks.correlation.matrices import checked_constraints
from recon.io.files.opening import budget_within, read_bytes
from recon.queries.inputs import Floats
from recon.readers.formats.release.reading import strict_json
from recon.readers.frames.selections import numbers_of
from recon.readers.loading.loading import Released, single_release_of
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import gunzip, open_stored
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits

KINDS = ("LogisticRegression", "LogisticRegressionCV", "LinearRegression", "Ridge", "RidgeClassifier", "LinearSVC",
         "SGDClassifier", "LinearDiscriminantAnalysis", "Perceptron")  # fmt: skip
KEYS = {"weights", "correlations", "standardised"}  # of a linear model in JSON
ALONE, MODEL = "label alone", "linear model"
KNOWS = {
    ALONE: "the correlation of either column with the label",
    MODEL: "the correlations of all columns with the label, and the model's weights",
}
ABOUT = (
    "the weights are taken for the best linear ones of the whole law (correlations times weights = a multiple of the "
    "correlations with the label), which training on a sample, a penalty, and columns that are not Gaussian only "
    "approach: an estimate, not a proof"
)
# How no other JSON that is read begins.
OURS = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:weights|correlations|standardised)"')


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A released linear model: weights (columns,) of columns by name; `given`: correlations with the label, if known.

    `standardised`: the weights are of columns divided by their standard deviation.
    """

    names: tuple[str, ...]
    weights: Floats
    file: str
    origin: str
    given: Floats | None = None
    standardised: bool = False


def read_linear(path: str, limits: Limits | None = None) -> LinearModel | None:
    """Return the linear model in a file, None where it holds anything else; nothing of the file is run.

    A stored scikit-learn model with one row of weights and names of its columns, at the end of a pipeline after a
    StandardScaler too, or JSON: {"weights": {column: number}} with "correlations": {column: number} where they are
    known. Raises `ReleaseError` naming file and value for weights that are not numbers, `Unsupported` for several rows
    of weights.
    """
    if path == "-":
        return None
    try:
        with budget_within(limits=limits) as budget:
            data, _ = read_bytes(path)
            stored = open_stored(data, budget.left)
            if stored is not None:
                return _of_object(stored.root, path, stored.format)
            text = gunzip(data, budget.left)
            if OURS.match(text):
                return _of_json(strict_json(text.decode("utf-8-sig")), path)
    except UnicodeDecodeError:
        return None
    except ReleaseError as error:
        raise error.at(file=path) from None
    return None


def _of_json(found: Any, path: str) -> LinearModel | None:
    """Return the linear model in a JSON object, None where it is a release file."""
    if not isinstance(found, dict) or "recon" in found or "weights" not in found:
        return None
    if unknown := sorted(found.keys() - KEYS):
        raise ReleaseError("unknown key", place=unknown[0])
    if not isinstance(found.get("standardised", False), bool):
        raise ReleaseError(f"is true or false, not {found['standardised']!r}", place="standardised")
    weights = _numbers_in(found["weights"], "weights")
    if len(weights) < 2:
        raise ReleaseError(f"a correlation is one of two columns; there are {len(weights)}", place="weights")
    given = None
    if "correlations" in found:
        known = _numbers_in(found["correlations"], "correlations")
        if set(known) != set(weights):
            odd = sorted(set(known) ^ set(weights))
            raise ReleaseError(
                f"'{odd[0]}' has a weight or a correlation with the label, not both", place="correlations"
            )
        given = checked_constraints(np.array([known[n] for n in weights]), tuple(weights))
    values = np.array(list(weights.values()), dtype=np.float64)
    return LinearModel(tuple(weights), values, path, "JSON", given, bool(found.get("standardised", given is not None)))


def _numbers_in(found: Any, place: str) -> dict[str, float]:
    """Return an object of numbers; `ReleaseError` naming what is none."""
    if not isinstance(found, dict):
        raise ReleaseError('is an object such as {"age": 0.5, "income": -1.2}', place=place)
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise ReleaseError(f"{value!r} is not a number", place=f"{place}.{name}")
    return {str(name): float(value) for name, value in found.items()}


def _of_object(root: Any, path: str, form: str) -> LinearModel | None:
    """Return the linear model that a stored object is, None for any other."""
    thing, scale = root, None
    if isinstance(thing, Thing) and thing.class_name == "Pipeline":
        steps = thing.get("steps")
        models = [step[1] for step in steps if isinstance(step, tuple) and len(step) == 2] if steps else []
        if len(models) != 2 or not all(isinstance(m, Thing) for m in models):
            return None
        if models[0].class_name != "StandardScaler" or models[1].class_name not in KINDS:
            return None
        thing, scale = models[1], models[0].get("scale_")
        names = models[0].get("feature_names_in_")
    elif isinstance(thing, Thing) and thing.class_name in KINDS:
        names = thing.get("feature_names_in_")
    else:
        return None
    coef = thing.get("coef_")
    if not isinstance(coef, np.ndarray) or coef.dtype.kind != "f" or coef.size < 2:
        raise ReleaseError(f"a {thing.class_name} without weights of two columns or more: is it fitted?", place="coef_")
    if coef.ndim == 2 and len(coef) != 1:
        raise Unsupported(f"{path}: a {thing.class_name} of {len(coef)} classes has as many rows of weights: two only")
    weights = coef.reshape(-1).astype(np.float64)
    if not np.isfinite(weights).all():
        raise ReleaseError("holds a weight that is not a number", place="coef_")
    if isinstance(scale, np.ndarray):
        if scale.shape != weights.shape or not (scale > 0).all():
            raise ReleaseError("does not have one scale above 0 per weight", place="scale_")
        weights = weights / scale
    named = isinstance(names, np.ndarray) and names.shape == weights.shape
    columns = tuple(map(str, names.tolist())) if named else tuple(f"x{i}" for i in range(len(weights)))
    return LinearModel(columns, weights, path, f"scikit-learn {thing.class_name} ({form})")


def linear_correlations(
    model: LinearModel, data: pd.DataFrame | None, label: str | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
) -> Correlations:  # fmt: skip
    """Return where the correlations of a linear model's columns lie, by what is known.

    `data`: rows that say the correlations of the columns with the label (its column `label`, by default the last one),
    their deviations, and the truth; without it the model must come with the correlations. Two columns: a point
    (`estimate`), else intervals. Raises `ReleaseError` for columns that lack or are unknown, constant columns, a label
    of one value or not of numbers, and where no correlation matrix has the weights and the correlations given.
    Source: `recon.attacks.correlation.intervals`.
    """
    truth: Floats | None = None
    weights, rho = model.weights, model.given
    if data is not None:
        x, y = _rows_of(model, data, label)
        rho = label_correlations(x, y, model.names)
        weights = weights if model.standardised else weights * x.std(axis=0)
        truth = np.asarray(np.corrcoef(x, rowvar=False), dtype=np.float64)
    if rho is None:
        raise ReleaseError("there are no data beside the model: give rows with its columns and the label (--data), or "
                           'say its "correlations" with the label in the file', file=model.file)  # fmt: skip
    if data is None and not model.standardised:
        raise ReleaseError("weights of columns as they are say nothing without the columns' deviations: give rows "
                           "(--data), or weights of standardised columns", file=model.file)  # fmt: skip
    asked = _asked_pairs(model, pairs)
    intervals = linear_intervals(weights, rho)
    notes = [ABOUT]
    if intervals is None and data is None:
        message = "no correlation matrix has these weights and these correlations with the label"
        raise ReleaseError(message, file=model.file)
    if intervals is None:
        notes.append("no correlation matrix has these weights and the correlations with the label exactly: the weights "
                     "narrow nothing down")  # fmt: skip
    lines = []
    for i, j in asked:
        low, high = (float(v) for v in pair_interval(rho[i], rho[j]))
        lines.append(_line_of(model, i, j, ALONE, low, high, truth))
        if intervals is not None:
            low, high = float(intervals[0][i, j]), float(intervals[1][i, j])
            one = _line_of(model, i, j, MODEL, low, high, truth)
            if len(model.names) == 2:
                point = float(three_variables(weights[None, :], rho[None, :])[0])
                one |= {"low": point, "high": point, "width": 0.0, "estimate": point, "holds": None}
            lines.append(one)
    frame = pd.DataFrame(lines, columns=["first", "second", "attacker", "low", "high", "width", "truth", "holds",
                                         "confidence", "status", "engine", "estimate"])  # fmt: skip
    return Correlations(frame, dict(KNOWS), model.names, tuple(notes))


def _line_of(
    model: LinearModel, i: int, j: int, who: str, low: float, high: float, truth: Floats | None
) -> dict[str, Any]:
    """Return the line of one pair and attacker."""
    true = None if truth is None else float(truth[i, j])
    holds = None if true is None else bool(low - 1e-9 <= true <= high + 1e-9)
    return {"first": model.names[i], "second": model.names[j], "attacker": who, "low": low, "high": high,
            "width": high - low, "truth": true, "holds": holds, "confidence": 1.0 if who == ALONE else None,
            "status": "exact" if who == ALONE else "estimate", "engine": "", "estimate": None}  # fmt: skip


def _asked_pairs(model: LinearModel, pairs: Sequence[tuple[str, str]] | None) -> list[tuple[int, int]]:
    """Return the pairs asked about by number; `ReleaseError` naming a column that the model does not have."""
    if pairs is None:
        return list(combinations(range(len(model.names)), 2))
    place = {name: i for i, name in enumerate(model.names)}
    for pair in pairs:
        for name in pair:
            if name not in place:
                raise ReleaseError(f"the model has no column '{name}'", file=model.file)
        if pair[0] == pair[1]:
            raise ReleaseError(f"a correlation is one of two columns, not of '{pair[0]}' with itself")
    return [(place[a], place[b]) for a, b in pairs]


def _rows_of(model: LinearModel, data: pd.DataFrame, label: str | None) -> tuple[Floats, Floats]:
    """Return (rows, columns) the values of a linear model's columns, and (rows,) the label as numbers."""
    file, frame = data.attrs.get("file", ""), numbers_of(data)
    frame.columns = pd.Index([str(c) for c in frame.columns])
    named = str(frame.columns[-1]) if label is None else label
    if named not in frame.columns:
        raise ReleaseError(f"there is no column '{named}', the label (--label)", file=file)
    lacking = [n for n in model.names if n not in frame.columns]
    if lacking:
        raise ReleaseError(f"the model has a weight for '{lacking[0]}', and the rows no such column", file=file)
    unknown = [str(c) for c in frame.columns if c not in model.names and c != named]
    if unknown:
        raise ReleaseError(
            f"the model has no column '{unknown[0]}'; drop it, or say which is the label (--label)", file=file
        )
    if not len(frame):
        raise ReleaseError("there are no rows", file=file)
    x = np.empty((len(frame), len(model.names)))
    for j, name in enumerate(model.names):
        x[:, j] = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
        if not np.isfinite(x[:, j]).all():
            row = int(np.argmin(np.isfinite(x[:, j]))) + 1
            raise ReleaseError(f"column '{name}' holds no number", place=f"row {row}", file=file)
    classes = sorted(frame[named].dropna().unique().tolist(), key=str)
    if frame[named].isna().any() or len(classes) != 2:
        raise ReleaseError(f"the label '{named}' has {len(classes)} values (or gaps): two are needed", file=file)
    return x, (frame[named] == classes[1]).to_numpy(dtype=np.float64)


def attack_correlation(
    model: Released | LinearModel,
    data: pd.DataFrame | None,
    pairs: Sequence[tuple[str, str]] | None = None,
    epsilons: Sequence[float] = (10.0, 1.0, 0.1),
    *,
    label: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    limits: Limits | None = None,
) -> Correlations:
    """Return what attackers who know more and more can say about the correlations of columns.

    `model`: a release (`recon.attacks.attacking.correlations.correlations`), with `data` its training rows and
    `epsilons` those of noise on its counts, drawn with `seed`; or a linear model (`linear_correlations`). `pairs`: of
    which columns (None: all pairs); `label`: the column of the target in `data` (None: the last); `confidence`: of
    intervals around noisy counts. Raises what these raise.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> recon.attack_correlation(release, rows, epsilons=()).frame[["attacker", "low", "high"]].round(2)
                attacker   low  high
    0  positive definite -0.33   1.0
    1     exact discrete  0.00   1.0
    2             worlds  0.00   0.0
    """
    if isinstance(model, (str, os.PathLike)):
        model = read_linear(os.fspath(model), limits) or model
    if isinstance(model, LinearModel):
        return linear_correlations(model, data, label, pairs)
    model = single_release_of(model, limits)
    if data is None:
        raise ReleaseError("there are no data beside the model: give its training rows (--data)", file=model.file)
    from recon.readers.frames.describe import named_like

    frame, notes = named_like(data, model.domain, label)
    found = correlations(model, frame, pairs, epsilons, confidence, seed, limits)
    return replace(found, notes=(*notes, *found.notes))


__all__ = ["LinearModel", "attack_correlation", "linear_correlations", "read_linear"]
