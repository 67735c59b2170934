"""Logistic regressions beside everybody's columns: how many rows of class 1 have what, from the equations of the fit.

A fit by maximum likelihood ends where Σ (p - y) x = -penalty for every column x, with p the shares that it predicts.
Coefficients and columns give p, so that each Σ y x is known up to how far from there the solver stopped: the sum of
every column over the rows of class 1, and their number. scikit-learn's lbfgs and Newton solvers stop where no gradient
is above `tol`, of the mean loss from 1.2 on; statsmodels stores the gradient itself (`mle_retvals`).

Source: McCullagh, Nelder, "Generalized Linear Models", 1989, section 4.4 (score equations); scikit-learn,
sklearn/linear_model/_logistic.py, 1.2 to 1.9; statsmodels, discrete/discrete_model.py, 0.13 to 0.15.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.values import Categorical, Value, equals, plain_number
from encoders.models.linear_figures import LinearFigure, LinearTerm
from encoders.models.models import Provenance, PublishedFigure, Table
from recon.readers.formats.drafts.binding import Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.trees.trees import class_values, feature_names
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

KINDS = ("LogisticRegression", "BinaryResultsWrapper", "LogitResults")
SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
FURTHER = 4  # times the tolerance that a gradient may be above 0: lbfgs looks at the largest entry, after its last step
ROUNDING = 1e-12  # of sums of so many doubles, relative
STOPPED = "the solver stopped where its gradient was within its tolerance (a fit that warned of no convergence did not)"
UNWEIGHTED = "the rows were fitted without sample_weight"
NO_COLUMNS = (
    "coefficients of a logistic regression give sums over the rows of class 1 where everybody's columns are known: "
    "give --known-columns (recon.load(..., known_columns=...)); `recon inspect` says what else the file holds"
)


@dataclass(frozen=True, eq=False)
class LogisticDraft(Draft):
    """A fit before anybody's columns are known: weights, the last of them of a column of ones where there is one.

    Σ (p - y) x of column j is `ends[j]` up to `off` per row and `beside`. `count`: rows, where the file says it.
    """

    weights: tuple[float, ...] = ()
    constant: bool = True
    ends: tuple[float, ...] = ()
    off: float = 0.0
    beside: float = 0.0
    count: int | None = None

    def of_known(self, table: pd.DataFrame, label: str) -> LogisticDraft:
        """Return the draft with the sums that follow from everybody's columns.

        Raises `ReleaseError` for columns that the table does not have, are no numbers, or leave no sum.
        """
        names = [one.name for one in self.features]
        if not self.named:
            own = [str(c) for c in table.columns if str(c) != label]
            if len(own) != len(names):
                raise ReleaseError(f"the model has {len(names)} columns without names, the table has {len(own)}")
            names = own
        if missing := [name for name in names if name not in table.columns]:
            raise ReleaseError(f"the table of known rows has no column '{missing[0]}', which the model has")
        if self.count is not None and len(table) != self.count:
            raise ReleaseError(f"the table has {len(table):,} rows, the model is of {self.count:,}")
        columns = table[names].apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
        if not np.isfinite(columns).all():
            at = names[int(np.flatnonzero(~np.isfinite(columns).all(axis=0))[0])]
            raise ReleaseError(f"column '{at}' of the table of known rows has values that are no numbers")
        figures = self._figures(names, columns, len(table))
        hints = {name: _column_values(name, columns[:, j]) for j, name in enumerate(names)}
        return replace(
            self,
            features=tuple(Feature(name, name) for name in names),
            models=(Table(tuple(figures), "score equations"),),
            rows=RowCount(len(table), len(table)),
            hints={name: one for name, one in hints.items() if one is not None},
            label=free_label(names, self.label),
            named=True,
        )

    def _figures(self, names: Sequence[str], columns: NDArray[np.float64], rows: int) -> list[PublishedFigure]:
        """Return the number of rows of class 1, where there is a constant, and the sum of every column over them."""
        design = np.column_stack([columns, np.ones(rows)]) if self.constant else columns
        share = 1 / (1 + np.exp(-np.clip(design @ np.array(self.weights), -700, 700)))
        assert self.classes is not None
        event = ((self.label, equals(self.classes[1])),)
        out = [PublishedFigure((), count=rows, name="all rows")]
        for j, column in enumerate(design.T):
            size = float(np.abs(column).sum())
            slope = float((share * (1 - share) * np.abs(column)) @ (np.abs(design) @ np.abs(self.weights)))
            off = rows * self.off + self.beside + ROUNDING * (rows + 8) * (size + slope + abs(self.ends[j]))
            middle = math.fsum((share * column).tolist()) - self.ends[j]
            low, high = Fraction(middle) - Fraction(off), Fraction(middle) + Fraction(off)
            of = () if j == len(names) else (names[j],)
            figure = LinearFigure((LinearTerm((event,), of),), low, high)
            out.append(PublishedFigure((), linear=figure, name=f"{of[0] if of else 'rows'} in class {event[0][1]}"))
        return out

    def bound(self, binder: Any) -> Any:
        """Return the table over a domain; `Unsupported` where nobody's columns are known."""
        if not self.models:
            raise Unsupported(NO_COLUMNS)
        return super().bound(binder)


def _column_values(name: str, column: NDArray[np.float64]) -> Categorical | None:
    """Return a column of the values that occur in it; None where all are the same."""
    values = [plain_number(Fraction(repr(v))) for v in np.unique(column).tolist()]
    return Categorical(name, tuple(values)) if len(values) > 1 else None


def read(thing: Thing, form: str) -> Draft:
    """Return what a fitted model says once everybody's columns are known.

    Raises `Unsupported` naming solvers, penalties, weights and classes for which no equation holds.
    """
    return _of_sklearn(thing, form) if thing.class_name == "LogisticRegression" else _of_statsmodels(thing, form)


def _of_sklearn(thing: Thing, form: str) -> Draft:
    """Return the fit of scikit-learn."""
    names, named = feature_names(thing)
    classes: tuple[Value, ...] = class_values(thing)
    coef, constant, steps = resolve(thing.get("coef_")), resolve(thing.get("intercept_")), resolve(thing.get("n_iter_"))
    solver, penalty = thing.get("solver"), thing.get("penalty")
    strength, tolerance, most = thing.get("C"), thing.get("tol"), thing.get("max_iter")
    if len(classes) != 2 or not isinstance(coef, np.ndarray) or coef.shape != (1, len(names)):
        message = f"a LogisticRegression of {len(classes)} classes is not read ({form})"
        raise Unsupported(f"{message}, two are: `recon inspect` says what the file holds")
    if solver not in SOLVERS:
        raise Unsupported(f"the solver {str(solver)[:20]} stops at no known gradient: {', '.join(SOLVERS)} are read")
    if penalty not in {"l2", "deprecated", None, "none"} or (penalty == "deprecated" and thing.get("l1_ratio")):
        raise Unsupported(f"the penalty {str(penalty)[:20]} is not smooth: only l2 is read")
    if thing.get("class_weight") is not None:
        raise Unsupported("class_weight: the sums are of rows by weight, which are not read")
    if not all(isinstance(x, (int, float)) and x > 0 for x in (strength, tolerance, most)):
        raise ReleaseError("has no settings C, tol and max_iter above 0")
    if not isinstance(steps, np.ndarray) or not steps.size or int(steps.max()) >= most:
        raise Unsupported(f"the solver took all of its {most} steps (n_iter_): how far its gradient was is not known")
    free = penalty in {None, "none"} or (penalty == "deprecated" and math.isinf(strength))
    fitted = bool(thing.get("fit_intercept", True))
    weights = [*coef[0].tolist(), *([float(np.ravel(constant)[0])] if fitted else [])]
    if not np.isfinite(weights).all():
        raise ReleaseError("has a coefficient that is no number", place="coef_")
    penalised = [0.0 if free else -w / strength for w in coef[0].tolist()] + [0.0] * fitted
    return LogisticDraft(
        Provenance(f"scikit-learn LogisticRegression ({form})", ("size",), (UNWEIGHTED, STOPPED)),
        tuple(Feature(name, name) for name in names),
        classes=classes,
        label=free_label(names),
        named=named,
        weights=tuple(weights),
        constant=fitted,
        ends=tuple(penalised),
        off=FURTHER * tolerance,
        beside=FURTHER * tolerance / strength,
    )


def _of_statsmodels(thing: Thing, form: str) -> Draft:
    """Return the fit of statsmodels: Logit, with or without its data."""
    found = thing.get("_results", thing)
    model = found.get("model") if isinstance(found, Thing) else None
    if not isinstance(model, Thing) or model.class_name != "Logit":
        raise Unsupported(f"of statsmodels' binary models Logit is read, not {getattr(model, 'class_name', 'this')}")
    weights, told, rows = resolve(found.get("params")), found.get("mle_retvals"), found.get("nobs")
    gradient = resolve(told.get("score")) if isinstance(told, dict) else None
    if not isinstance(weights, np.ndarray) or weights.ndim != 1 or not np.isfinite(weights).all():
        raise ReleaseError("has no coefficients", place="params")
    if not isinstance(gradient, np.ndarray) or gradient.shape != weights.shape or not found.get("converged"):
        raise Unsupported("how far the solver was from the equations is not stored (mle_retvals), or it did not end")
    if not isinstance(rows, (int, float)) or rows != int(rows) or model.get("offset") is not None:
        raise Unsupported("numbers of rows that are not whole, and offsets, are not read")
    place = getattr(model.get("data"), "get", lambda *_: None)("const_idx")
    names = getattr(model.get("data"), "get", lambda *_: None)("xnames")
    order = [j for j in range(len(weights)) if j != place] + ([] if place is None else [int(place)])
    inner = order if place is None else order[:-1]
    named = isinstance(names, list) and len(names) == len(weights)
    own = [str(names[j]) if isinstance(names, list) and named else f"x{i}" for i, j in enumerate(inner)]
    return LogisticDraft(
        Provenance(f"statsmodels Logit ({form})", ("size",), (UNWEIGHTED,)),
        tuple(Feature(name, name) for name in own),
        classes=(0, 1),
        label=free_label(own),
        named=named,
        weights=tuple(weights[order].tolist()),
        constant=place is not None,
        ends=(0.0,) * len(order),
        off=float(np.abs(gradient).max()),
        beside=1e-6,
        count=int(rows),
    )
