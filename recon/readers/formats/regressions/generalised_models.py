"""Generalised linear models of scikit-learn, statsmodels and R: what their fits say once everybody's columns are known.

scikit-learn's lbfgs and Newton solvers stop where no gradient is above `tol`, of the mean loss from 1.2 on.
statsmodels stores the gradient itself (`mle_retvals`; of `MNLogit` that of every class but the first), or the
coefficients after every step (`fit_history` of `GLM`), both also after `remove_data`. R's `glm` stops where the
deviance changes by less than `epsilon` of itself; the object and its summary hold coefficients with 16 digits.

Source: scikit-learn, sklearn/linear_model/_logistic.py, 1.2 to 1.9; statsmodels 0.13 to 0.15,
discrete/discrete_model.py and genmod/generalized_linear_model.py (`_fit_irls`); R 4.2, src/library/stats/R/glm.R
(`glm.fit`, `summary.glm`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.values import Value, plain_number
from encoders.models.models import Provenance, Table
from recon.readers.formats.drafts.binding import Binder, Feature, free_label
from recon.readers.formats.drafts.drafts import Draft, MadeOf
from recon.readers.formats.printed.rpart_rds import NOTHING, attribute, matrix, models_in, named_parts, vector
from recon.readers.formats.regressions.printed_coefficients import EPSILON, SEPARATED, SEPARATING, STEPS
from recon.readers.formats.regressions.score_equations import (
    CONVERGED,
    COUNTS,
    ROUNDING,
    SHARES,
    STOPPED,
    UNWEIGHTED,
    Floats,
    ScoreDraft,
    SumBox,
    mean_function,
    with_constant,
)
from recon.readers.formats.regressions.sums_of_products import Ends
from recon.readers.formats.sklearn.trees.trees import class_values, feature_names
from recon.readers.stored.binary.rds import RObject
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported

KINDS = (
    "LogisticRegression",
    "BinaryResultsWrapper",
    "LogitResults",
    "PoissonResultsWrapper",
    "PoissonResults",
    "GLMResultsWrapper",
    "GLMResults",
    "MultinomialResultsWrapper",
    "MultinomialResults",
)
SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
FURTHER = 4  # times the tolerance that a gradient may be above 0: lbfgs looks at the largest entry, after its last step
BESIDE = 1e-6  # of every equation, where the stored gradient was rounded
WEIGHED = "a weighted fit is not read: its sums are of rows by weight; fit it without weights"
SHIFTED = "a fit with offsets or exposures is not read: what it predicts follows from more than its columns"
FAMILIES = {"Logit": ("binomial", "logit"), "Poisson": ("poisson", "log"), "MNLogit": ("binomial", "logit")}
GRADIENTS = ("score", "gopt")  # what Newton's method, and BFGS and L-BFGS, call the gradient of the mean at the end
PLAIN_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,15})?", re.ASCII)


def exactly(weights: Sequence[float]) -> tuple[Ends, ...]:
    """Return coefficients that are known to all digits as intervals."""
    return tuple((Fraction(w), Fraction(w)) for w in weights)


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
    fits = len(classes) if len(classes) > 2 else 1
    if len(classes) < 2 or not isinstance(coef, np.ndarray) or coef.shape != (fits, len(names)):
        raise ReleaseError(f"has no coefficients of {len(classes)} classes and {len(names)} columns", place="coef_")
    if solver not in SOLVERS:
        raise Unsupported(f"the solver {str(solver)[:20]} stops at no known gradient: {', '.join(SOLVERS)} are read")
    if penalty not in {"l2", "deprecated", None, "none"} or (penalty == "deprecated" and thing.get("l1_ratio")):
        raise Unsupported(f"the penalty {str(penalty)[:20]} is not smooth: only l2 is read")
    if thing.get("class_weight") is not None:
        raise Unsupported("class_weight: the sums are of rows by weight, which are not read")
    if not all(isinstance(x, (int, float)) and x > 0 for x in (strength, tolerance, most)):
        raise ReleaseError("has no settings C, tol and max_iter above 0")
    if not isinstance(steps, np.ndarray) or not steps.size:
        raise ReleaseError("has no number of steps", place="n_iter_")
    if steps.size > 1:
        raise Unsupported("a fit by itself for every class (multi_class='ovr') is not read: multinomial ones are")
    if int(steps[0]) >= most:
        raise Unsupported(f"the solver took all of its {most} steps (n_iter_): how far its gradient was is not known")
    free = penalty in {None, "none"} or (penalty == "deprecated" and math.isinf(strength))
    fitted = bool(thing.get("fit_intercept", True))
    ones = np.ravel(constant).astype(np.float64) if fitted else np.zeros(fits)
    if ones.shape != (fits,) or not (np.isfinite(coef).all() and np.isfinite(ones).all()):
        raise ReleaseError("has a coefficient that is no number", place="coef_")
    each = [[*row, *([one] if fitted else [])] for row, one in zip(coef.tolist(), ones.tolist(), strict=True)]
    penalised = [[0.0 if free else -w / strength for w in row] + [0.0] * fitted for row in coef.tolist()]
    draft = ScoreDraft(
        Provenance(f"scikit-learn LogisticRegression ({form})", ("size",), (UNWEIGHTED, STOPPED)),
        tuple(Feature(name, name) for name in names),
        classes=classes,
        label=free_label(names),
        named=named,
        terms=(*names, *([""] if fitted else [])),
        weights=exactly(each[0]),
        ends=tuple(penalised[0]),
        off=FURTHER * tolerance,
        beside=FURTHER * tolerance / strength,
    )
    if fits == 1:
        return draft
    return MultinomialDraft.of(draft, each, penalised)


@dataclass(frozen=True, eq=False)
class MultinomialDraft(ScoreDraft):
    """A fit of several classes: coefficients of each, and what Σ (μ - y) x of each is; `members`: its drafts by class.

    μ is the share exp(η_k) / Σ exp(η) of class k, so that an equation per class and column holds.
    """

    each: tuple[tuple[float, ...], ...] = ()
    given: tuple[tuple[float, ...], ...] = ()
    members: tuple[ScoreDraft, ...] = ()

    @classmethod
    def of(
        cls, draft: ScoreDraft, each: Sequence[Sequence[float]], given: Sequence[Sequence[float]]
    ) -> MultinomialDraft:
        """Return a fit of several classes that shares everything else with a draft."""
        shared = {one.name: getattr(draft, one.name) for one in fields(draft)}
        return cls(**shared, each=tuple(map(tuple, each)), given=tuple(map(tuple, given)))

    def of_known(self, table: pd.DataFrame, label: str) -> ScoreDraft:
        """Return the draft with the sums of every class; raises as for two classes."""
        return self._of_members([super(MultinomialDraft, one).of_known(table, label) for one in self._by_class()])

    def of_made(self, table: pd.DataFrame, columns: Sequence[MadeOf]) -> ScoreDraft:
        """Return the same where a pipeline makes the columns."""
        return self._of_members([super(MultinomialDraft, one).of_made(table, columns) for one in self._by_class()])

    def _by_class(self) -> list[MultinomialDraft]:
        return [replace(self, position=k) for k in range(len(self.each))]

    @staticmethod
    def _of_members(members: list[ScoreDraft]) -> ScoreDraft:
        return replace(members[0], members=tuple(members))  # type: ignore[call-arg]

    def _sums(self, design: Floats) -> SumBox:
        """Return Σ y x of every column for the class at `position`; coefficients have all their digits."""
        weights, rows, sizes = np.array(self.each), len(design), np.abs(design)
        eta = design @ weights.T
        shares = np.exp(eta - eta.max(axis=1, keepdims=True))
        mean = (shares / shares.sum(axis=1, keepdims=True))[:, self.position]
        given = self.given[self.position]
        sums = [math.fsum((mean * column).tolist()) - end for column, end in zip(design.T, given, strict=True)]
        by_row = 2 + 2 * (sizes @ np.abs(weights).T).max(axis=1)
        rest = rows * self.off + self.beside + ROUNDING * (rows + 8) * (sizes.T @ by_row + np.abs(np.array(given)))
        if not np.isfinite(rest).all():
            raise ReleaseError("the coefficients predict numbers beyond doubles for these columns")
        none = np.zeros(len(given))
        return SumBox(tuple(map(Fraction, sums)), np.eye(len(given)), none, rest)

    def bound(self, binder: Binder) -> tuple[Table, ...]:
        """Return the table of all classes; `Unsupported` where nobody's columns are known."""
        if not self.members:
            return super().bound(binder)
        tables = [table for one in self.members for table in ScoreDraft.bound(one, binder)]
        figures = dict.fromkeys(one for table in tables for one in table.statements)
        return (replace(tables[0], statements=tuple(figures)),)


def _of_statsmodels(thing: Thing, form: str) -> Draft:
    """Return the fit of statsmodels: Logit, MNLogit, Poisson or GLM, with or without its data."""
    found = thing.get("_results", thing)
    model: Any = found.get("model") if isinstance(found, Thing) else None
    name = model.class_name if isinstance(model, Thing) else "this"
    if name not in {*FAMILIES, "GLM"}:
        raise Unsupported(
            f"of statsmodels' models of classes and counts {', '.join(FAMILIES)} and GLM are read, not {name}"
        )
    weights, rows, several = resolve(found.get("params")), found.get("nobs"), name == "MNLogit"
    if (
        not isinstance(weights, np.ndarray)
        or weights.ndim != 1 + several
        or not np.isfinite(weights).all()
        or not weights.size
    ):
        raise ReleaseError("has no coefficients", place="params")
    if not isinstance(rows, (int, float)) or rows != int(rows):
        raise Unsupported("numbers of rows that are not whole are not read")
    family = FAMILIES.get(name, ("", ""))
    step, off = tuple[float, ...](), 0.0
    if name == "GLM":
        family = _glm_family(model)
        step = _last_step(found.get("fit_history"), weights)
    else:
        _refuse_shifted(model.get("offset"), model.get("exposure"))
        off = _furthest_gradient(found.get("mle_retvals"), weights)
    data = model.get("data")
    get = data.get if isinstance(data, Thing) else lambda *_: None
    place, names, own = get("const_idx"), _names_of(get, "xnames"), _names_of(get, "ynames")
    named = names is not None and len(names) == len(weights)
    shown = names if named and names is not None else [f"x{j}" for j in range(len(weights))]
    terms = tuple("" if j == place else str(one) for j, one in enumerate(shown))
    mean = mean_function(*family)
    draft = ScoreDraft(
        Provenance(f"statsmodels {name} ({form})", ("size",), (UNWEIGHTED,)),
        tuple(Feature(one, one) for one in terms if one),
        classes=_class_names(model, 1 + weights.shape[1]) if several else (0, 1) if mean in {SHARES, COUNTS} else None,
        label=free_label(terms, own[0] if own else "label"),
        named=named,
        terms=terms,
        weights=exactly(weights[:, 0].tolist() if several else weights.tolist()),
        mean=mean,
        off=off,
        beside=0.0 if step else BESIDE,
        step=step,
        count=int(rows),
    )
    if not several:
        return draft
    each = [[0.0] * len(weights), *weights.T.tolist()]  # the first class is what the others are held against
    return MultinomialDraft.of(draft, each, [[0.0] * len(weights)] * len(each))


def _furthest_gradient(told: Any, weights: Floats) -> float:
    """Return how far an equation was from its end, by row: of a class, and of the first, all others' together."""
    found = (resolve(told.get(one)) for one in GRADIENTS) if isinstance(told, dict) else ()
    gradient = next((one for one in found if isinstance(one, np.ndarray)), None)
    if gradient is None or gradient.size != weights.size or not np.isfinite(gradient).all():
        raise Unsupported(
            "how far the solver was from the equations is not stored (mle_retvals): fit by the default method, newton"
        )
    return float(np.abs(gradient).reshape(weights.shape, order="F").reshape(len(weights), -1).sum(axis=1).max())


def _class_names(model: Thing, size: int) -> tuple[Value, ...]:
    """Return the classes of a fit of several, which statsmodels keeps as texts."""
    found = model.get("_ynames_map")
    held = [found.get(k) for k in range(size)] if isinstance(found, dict) and len(found) == size else []
    names = [one for one in held if isinstance(one, str)]
    if len(set(names)) < size:
        raise ReleaseError(f"has no names of its {size} classes", place="model._ynames_map")
    numbers = [plain_number(Fraction(one)) if PLAIN_NUMBER.fullmatch(one) else None for one in names]
    same = all(str(number) == one.removesuffix(".0") for number, one in zip(numbers, names, strict=True))
    return tuple(number for number in numbers if number is not None) if same else tuple(names)


def _names_of(get: Any, key: str) -> list[str] | None:
    """Return names that statsmodels keeps of its data, outright or worked out once."""
    kept = get("_cache")
    found = next((v for v in (get(key), kept.get(key) if isinstance(kept, dict) else None) if v), None)
    found = [found] if isinstance(found, str) else found
    return [str(v) for v in found] if isinstance(found, list) else None


def _refuse_shifted(*given: Any) -> None:
    if any(np.any(resolve(one)) for one in given):
        raise Unsupported(SHIFTED)


def _glm_family(model: Thing) -> tuple[str, str]:
    """Return family and link of a GLM; `Unsupported` naming weights, offsets and counts of trials."""
    family = model.get("family")
    if not isinstance(family, Thing):
        raise ReleaseError("has no family", place="model.family")
    if model.get("_has_freq_weights") or model.get("_has_var_weights"):
        raise Unsupported(WEIGHED)
    if model.get("_has_offset") or model.get("_has_exposure"):
        raise Unsupported(SHIFTED)
    trials = resolve(model.get("n_trials", family.get("n")))
    if trials is not None and np.any(np.asarray(trials, dtype=np.float64) != 1):
        raise Unsupported("a binomial model of several trials per row is not read: of 0 and 1 it is")
    link = family.get("_link", family.get("link"))
    name = getattr(link, "class_name", "unknown").lower()
    return family.class_name.lower(), {"logit": "logit", "log": "log", "identity": "identity"}.get(name, name)


def _last_step(history: Any, weights: Any) -> tuple[float, ...]:
    """Return by how much the last step of a fit moved each coefficient; `Unsupported` where that is not stored."""
    steps = [resolve(one) for one in history.get("params", ())] if isinstance(history, dict) else []
    whole = [one for one in steps if isinstance(one, np.ndarray) and one.shape == weights.shape]
    if len(whole) < 2 or not np.allclose(whole[-1], weights, rtol=1e-12, atol=0):
        raise Unsupported("how far the solver was from the equations is not stored (fit_history): fit it by IRLS")
    return tuple(np.abs(whole[-1] - whole[-2]).tolist())


def glm_object(root: RObject) -> RObject | None:
    """Return the only generalised linear model, or summary of one, in an R object; else None."""
    models = models_in(root)
    needed = {"glm": {"coefficients", "family", "df.residual"}, "summary.glm": {"coefficients", "family", "df"}}
    found = [one.value for one in models if needed.get(one.value.classes[0], {""}) <= named_parts(one.value).keys()]
    return found[0] if len(found) == 1 == len(models) else None


def read_glm_rds(value: RObject) -> Draft:
    """Return what an R model says once everybody's columns are known.

    Raises `Unsupported` naming families, links, weights and offsets, `ReleaseError` for parts that are broken.
    """
    parts, kind = named_parts(value), value.classes[0]
    family = named_parts(parts["family"])
    mean = mean_function(*(str(vector(family[one], one)[0]) for one in ("family", "link")))
    prior, call = parts.get("prior.weights", NOTHING), parts.get("call", NOTHING)
    if "weights" in _arguments(call) or (prior.kind != "nothing" and any(v != 1 for v in vector(prior, "weights"))):
        raise Unsupported(WEIGHED)
    if parts.get("offset", NOTHING).kind != "nothing" or "offset" in _arguments(call):
        raise Unsupported(SHIFTED)
    deviance = float(str(vector(parts["deviance"], "deviance")[0])) if "deviance" in parts else math.inf
    ended = "converged" not in parts or bool(vector(parts["converged"], "converged")[0])
    if "iter" in parts and "converged" not in parts:  # a summary has the number of steps alone
        ended = vector(parts["iter"], "iter")[0] != STEPS
    if not ended and (mean is not SHARES or deviance > SEPARATED):
        raise Unsupported("the fit did not converge: how far it was from the equations is not known")
    found = parts["coefficients"]
    if kind == "glm":
        weights = [float(str(v)) for v in vector(found, "coefficients")]
        names = [str(v) for v in vector(attribute(found, "names"), "names(coefficients)")]
        free = int(str(vector(parts["df.residual"], "df.residual")[0]))
    else:
        weights = [line[0] for line in matrix(found, "coefficients")]
        held = attribute(found, "dimnames")
        names = [str(v) for v in vector(held.values[0], "dimnames")] if held.kind == "list" else []
        free = int(str(vector(parts["df"], "df")[1]))
    used = [(name, w) for name, w in zip(names, weights, strict=True) if math.isfinite(w)]  # NA: a combination
    control = named_parts(parts.get("control", NOTHING))
    epsilon = float(str(vector(control["epsilon"], "control")[0])) if "epsilon" in control else EPSILON
    terms = with_constant([name for name, _ in used])
    label = free_label(terms, next(_symbols(_second(call)), "label"))
    return ScoreDraft(
        Provenance(f"R {kind} object (.rds)", ("size",), (UNWEIGHTED, CONVERGED if ended else SEPARATING)),
        tuple(Feature(one, one) for one in terms if one),
        classes=(0, 1) if mean in {SHARES, COUNTS} else None,
        label=label,
        terms=terms,
        weights=exactly([w for _, w in used]),
        mean=mean,
        epsilon=epsilon if ended else math.inf,
        deviance=deviance if math.isfinite(deviance) else None,
        count=free + len(used),
    )


def _arguments(call: RObject) -> set[str]:
    """Return the names of the arguments of a call, and of what it calls inside of them."""
    out, stack = set[str](), [call]
    while stack:
        one = stack.pop()
        if one.kind == "reference":
            one = one.values
        for name, inner in one.parts if isinstance(one.values, list) else ():
            out.add(name)
            stack.append(inner)
        if one.kind == "symbol":
            out |= {str(one.values)} & {"offset"}
    return out


def _second(call: RObject) -> RObject:
    """Return the left side of the formula of a call, nothing where there is none."""
    formula = dict(call.parts).get("formula", NOTHING) if call.kind == "call" else NOTHING
    return formula.parts[1][1] if formula.kind == "call" and len(formula.parts) == 3 else NOTHING


def _symbols(value: RObject) -> Iterator[str]:
    """Yield the name that an expression is, where it is one alone."""
    one = value.values if value.kind == "reference" else value
    if isinstance(one, RObject) and one.kind == "symbol":
        yield str(one.values)
