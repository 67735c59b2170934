"""What the rule list learners share: reading binary columns and labels, scikit-learn's interface, prediction, export.

The interface is scikit-learn's (https://scikit-learn.org/stable/developers/develop.html) without importing it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from encoders.models import Rule, RuleList, Support
from encoders.values import Test, Value
from solvers.errors import ReleaseError

if TYPE_CHECKING:
    from encoders.models import Noise

Literal = tuple[str, int]
Antecedent = tuple[Literal, ...]
Counts = Sequence[int | Fraction]  # per class


class RuleListClassifier:
    """A fitted rule list over binary columns, with scikit-learn's estimator interface; subclasses fit it.

    After `fit`: `rules_`, a list of (literals, counts per class), the default rule last with no literals; counts
    may carry noise (be negative or fractional). `classes_`, `feature_names_in_`, `n_features_in_`; `noise_`, the
    law of the noise on the counts, None for exact ones.
    """

    _estimator_type = "classifier"
    rules_: Sequence[tuple[Antecedent, Counts]]
    classes_: NDArray[Any]
    noise_: Noise | None = None

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803 - scikit-learn's name
        """Return the fitted list; each learner says how."""
        raise NotImplementedError(f"{type(self).__name__} does not learn")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Set constructor arguments; `ValueError` for a name it does not have."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ValueError(f"{type(self).__name__} has no parameter '{name}'")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(),
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.get_params().items())})"

    def _check_fitted(self) -> None:
        """Raise `ReleaseError` before `fit`."""
        if not hasattr(self, "rules_"):
            raise ReleaseError(f"this {type(self).__name__} is not fitted yet: call 'fit' first")

    def _note_columns(self, names: list[str]) -> None:
        """Remember the columns of `fit`."""
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)

    def apply(self, X: Any) -> NDArray[np.intp]:  # noqa: N803 - scikit-learn's name
        """Return for every row the index in `rules_` of the rule that captures it."""
        self._check_fitted()
        names, bits = binary_columns(X, [str(n) for n in self.feature_names_in_])
        column = {name: k for k, name in enumerate(names)}
        found = np.full(len(bits), len(self.rules_) - 1, dtype=np.intp)
        free = np.ones(len(bits), dtype=bool)
        for k, (literals, _) in enumerate(self.rules_):
            hit = free.copy()
            for name, value in literals:
                hit &= bits[:, column[name]] == bool(value)
            found[hit] = k
            free &= ~hit
        return found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return (rows, classes) shares of the training rows that the matching rule captured.

        Negative counts (noise) are 0; a rule without rows takes the shares of all rules, or equal ones.
        """
        index = self.apply(X)
        held = np.array([[float(c) for c in counts] for _, counts in self.rules_]).clip(min=0)
        overall = held.sum(axis=0) if held.any() else np.ones(held.shape[1])
        held[~held.any(axis=1)] = overall
        shares: NDArray[np.float64] = (held / held.sum(axis=1, keepdims=True))[index]
        return shares

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the majority class of the matching rule (ties: the first class)."""
        self._check_fitted()
        found: NDArray[Any] = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return found

    def score(self, X: Any, y: ArrayLike) -> float:  # noqa: N803
        """Return the share of rows predicted right."""
        found = self.predict(X)
        return float((found == labels_of(y, len(found))).mean())

    def to_model(self, name: str = "rule list", label_values: Sequence[Value] | None = None) -> RuleList:
        """Return the published list; counts follow `label_values` (the domain's label).

        Exact counts of a value that no row had are 0; noisy counts of it were never published: `ReleaseError`.
        """
        self._check_fitted()
        seen = [c.item() if isinstance(c, np.generic) else c for c in self.classes_]
        values = list(seen if label_values is None else label_values)
        if unknown := [c for c in seen if c not in values]:
            raise ReleaseError(f"the class {unknown[0]!r} is not among the label's values {values}")
        if self.noise_ is not None and (missing := [v for v in values if v not in seen]):
            raise ReleaseError(f"no noisy count of the label {missing[0]!r} was published: fit with all classes")
        order = [seen.index(v) if v in seen else None for v in values]

        def support(counts: Counts) -> Support:
            return Support(tuple(0 if i is None else counts[i] for i in order))

        rules = tuple(
            Rule(tuple((column, Test(values=(value,))) for column, value in literals), support(counts))
            for literals, counts in self.rules_
        )
        return RuleList(rules, name, noise=self.noise_)


def is_whole(value: Any) -> bool:
    """Tell whether a parameter is an integer and no boolean."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def support_rows(share: float | int, n: int) -> Fraction:
    """Return a minimum support, a share of n rows or a number of rows, in rows; `ReleaseError` for neither."""
    if is_whole(share) and share >= 0:
        return Fraction(int(share))
    if isinstance(share, (float, np.floating)) and 0 <= share <= 1:
        return Fraction(repr(float(share))) * n
    raise ReleaseError(f"min_support must be a share from 0.0 to 1.0 or a number of rows, not {share!r}")


def labels_of(y: ArrayLike, n: int) -> NDArray[Any]:
    """Return the (n,) labels; `ReleaseError` for another shape or a missing label."""
    import pandas as pd

    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ReleaseError(f"{n} rows and labels of shape {labels.shape}: there must be as many labels as rows")
    missing = np.asarray(pd.isna(labels))
    if missing.any():
        raise ReleaseError(f"row {int(missing.argmax()) + 1} has no label")
    return labels


def binary_columns(x: Any, expected: list[str] | None = None) -> tuple[list[str], NDArray[np.bool_]]:
    """Return column names and (rows, columns) booleans; `ReleaseError` naming column and value otherwise."""
    import pandas as pd

    if hasattr(x, "columns"):
        names = [str(c) for c in x.columns]
        values = x.to_numpy()
        if double := next((n for k, n in enumerate(names) if n in names[:k]), None):
            raise ReleaseError(f"two columns named '{double}'")
    else:
        values = np.asarray(x)
        names = expected or [f"x{k}" for k in range(values.shape[1] if values.ndim == 2 else 0)]
    if values.ndim != 2 or len(names) != values.shape[1]:
        raise ReleaseError(f"binary columns are a table of {len(names)} columns, not an array of shape {values.shape}")
    if expected is not None and names != expected:
        raise ReleaseError(f"the columns are not those of fit: {names[:5]} instead of {expected[:5]}")
    if values.dtype == object:  # pandas.NA has no truth value
        values = np.where(np.asarray(pd.isna(values)), np.nan, values)
    bits = values == 1
    wrong = ~(bits | (values == 0))
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        value = values[row, column]
        shown = value.item() if isinstance(value, np.generic) else value
        raise ReleaseError(f"row {row + 1}, column '{names[column]}': {shown!r} is neither 0 nor 1")
    return names, np.asarray(bits, dtype=bool)
