"""What learners over binary columns share: reading them and labels, scikit-learn's interface; rule lists: all the rest.

The interface is scikit-learn's (https://scikit-learn.org/stable/developers/develop.html) without importing it.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from encoders.domain.values import Test, Value
from encoders.models.models import Provenance, Rule, RuleList, Tree
from encoders.models.nodes import Support
from solvers.foundation.errors import ReleaseError

if TYPE_CHECKING:
    from encoders.models.learner_facts import Learner
    from encoders.models.models import Noise

Literal = tuple[str, int]
Antecedent = tuple[Literal, ...]
Counts = Sequence[int | Fraction]  # per class


class BinaryClassifier:
    """A classifier over columns of 0 and 1 with scikit-learn's estimator interface; subclasses fit it.

    After `fit`: `classes_`, `feature_names_in_`, `n_features_in_`.
    """

    _estimator_type = "classifier"
    fitted = "classes_"  # what is there once it is fitted
    classes_: NDArray[Any]
    multi_class = True  # whether it can learn more than two classes

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803 - scikit-learn's name
        """Return the fitted classifier; each learner says how."""
        raise NotImplementedError(f"{type(self).__name__} does not learn")

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return (rows, classes) shares; each kind of model says of what."""
        raise NotImplementedError(f"{type(self).__name__} does not predict")

    def summary(self) -> str:
        """Return in a few words what was learned."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it learned")

    def to_model(self, name: str = "model", label_values: Sequence[Value] | None = None) -> RuleList | Tree:
        """Return the published model; counts follow `label_values`."""
        raise NotImplementedError(f"{type(self).__name__} publishes nothing")

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
            classifier_tags=ClassifierTags(multi_class=self.multi_class),
            input_tags=InputTags(categorical=True),  # there is no tag for columns of 0 and 1
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self.fitted)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.get_params().items())})"

    def _check_fitted(self) -> None:
        """Raise `ReleaseError` before `fit` (scikit-learn's `NotFittedError` too where scikit-learn is loaded)."""
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()(f"this {type(self).__name__} is not fitted yet: call 'fit' first")

    def _note_columns(self, names: list[str]) -> None:
        """Remember the columns of `fit`."""
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)

    def _noted_classes(self, names: list[str], target: NDArray[Any]) -> NDArray[np.intp]:
        """Return (rows,) the class numbers of training labels; remembers classes and columns.

        Raises `ReleaseError` where there are no rows, and for labels without an order.
        """
        if not len(target):
            raise ReleaseError(f"0 rows of {len(names)} columns: there must be some of both")
        try:
            self.classes_, codes = np.unique(target, return_inverse=True)
        except TypeError:
            raise ReleaseError("the labels mix values that have no order, such as numbers and text") from None
        self._note_columns(names)
        return codes.reshape(-1)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the majority class of the training rows that each row falls together with (ties: the first class)."""
        self._check_fitted()
        found: NDArray[Any] = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return found

    def score(self, X: Any, y: ArrayLike) -> float:  # noqa: N803
        """Return the share of rows predicted right."""
        found = self.predict(X)
        return float((found == labels_of(y, len(found))).mean())

    def _order(self, label_values: Sequence[Value] | None) -> list[int | None]:
        """Return for each of the label's values the class that it is, None where no row had it.

        Raises `ReleaseError` for a class that is none of the values.
        """
        self._check_fitted()
        seen = [c.item() if isinstance(c, np.generic) else c for c in self.classes_]
        values = list(seen if label_values is None else label_values)
        if unknown := [c for c in seen if c not in values]:
            raise ReleaseError(f"the class {unknown[0]!r} is not among the label's values {values}")
        return [seen.index(v) if v in seen else None for v in values]


class RuleListClassifier(BinaryClassifier):
    """A fitted rule list over binary columns, with scikit-learn's estimator interface; subclasses fit it.

    After `fit`: `rules_`, a list of (literals, counts per class), the default rule last with no literals; counts
    may carry noise (be negative or fractional). `classes_`, `feature_names_in_`, `n_features_in_`; `noise_`, the
    law of the noise on the counts, None for exact ones; `learner_`, its settings in rows, None where they say nothing
    about the rows.
    """

    fitted = "rules_"
    learner_: Learner | None = None
    rules_: Sequence[tuple[Antecedent, Counts]]
    noise_: Noise | None = None

    def summary(self) -> str:
        """Return the number of rules in words."""
        return f"{len(self.rules_)} rules"

    def apply(self, X: Any) -> NDArray[np.intp]:  # noqa: N803 - scikit-learn's name
        """Return for every row the index in `rules_` of the rule that captures it."""
        self._check_fitted()
        names, bits = binary_columns(X, [str(n) for n in self.feature_names_in_], type(self).__name__)
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

    def to_model(self, name: str = "rule list", label_values: Sequence[Value] | None = None) -> RuleList:
        """Return the published list; counts follow `label_values` (the domain's label).

        Exact counts of a value that no row had are 0; noisy counts of it were never published: `ReleaseError`.
        """
        order = self._order(label_values)
        if self.noise_ is not None and label_values is not None and None in order:
            missing = label_values[order.index(None)]
            raise ReleaseError(f"no noisy count of the label {missing!r} was published: fit with all classes")

        def support(counts: Counts) -> Support:
            return Support(tuple(0 if i is None else counts[i] for i in order))

        rules = tuple(
            Rule(tuple((column, Test(values=(value,))) for column, value in literals), support(counts))
            for literals, counts in self.rules_
        )
        origin = None if self.learner_ is None else Provenance("", (), learner=self.learner_)
        return RuleList(rules, name, noise=self.noise_, origin=origin)


def is_whole(value: Any) -> bool:
    """Return whether a parameter is an integer and no boolean."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def support_rows(share: float | int, n: int) -> Fraction:
    """Return a minimum support, a share of n rows or a number of rows, in rows; `ReleaseError` for neither."""
    if is_whole(share) and share >= 0:
        return Fraction(int(share))
    if isinstance(share, (float, np.floating)) and 0 <= share <= 1:
        return Fraction(repr(float(share))) * n
    raise ReleaseError(f"min_support must be a share from 0.0 to 1.0 or a number of rows, not {share!r}")


class NoCellError(ReleaseError, TypeError):
    """A cell that holds something that is not a value at all, such as a dictionary."""


@cache
def _not_fitted() -> type[ReleaseError]:
    """Return the exception of an estimator that is not fitted: ours, and scikit-learn's where it is loaded."""
    exceptions = sys.modules.get("sklearn.exceptions")
    if exceptions is None:
        return ReleaseError
    return type("NotFittedError", (ReleaseError, exceptions.NotFittedError), {"__doc__": "Called before `fit`."})


def _warn_of_column() -> None:
    """Warn that labels in one column are taken as they are, with scikit-learn's own class where it is loaded."""
    exceptions = sys.modules.get("sklearn.exceptions")
    kind = UserWarning if exceptions is None else exceptions.DataConversionWarning
    text = "A column-vector y was passed when a 1d array was expected: labels of shape (rows, 1) are read as (rows,)"
    warnings.warn(text, kind, stacklevel=5)


def labels_of(y: ArrayLike | None, n: int) -> NDArray[Any]:
    """Return the (n,) labels, of one column (n, 1) with a warning.

    Raises `ReleaseError` for another shape, a missing or infinite label, and real numbers that are not whole.
    """
    import pandas as pd

    if y is None:
        raise ReleaseError("a classifier requires y to be passed, but the target y is None: give the labels")
    labels = np.asarray(y)
    if labels.shape == (n, 1):
        _warn_of_column()
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise ReleaseError(f"{n} rows and labels of shape {labels.shape}: there must be as many labels as rows")
    missing = np.asarray(pd.isna(labels))
    if missing.any():
        raise ReleaseError(f"row {int(missing.argmax()) + 1} has no label (NaN)")
    if labels.dtype.kind == "f":
        infinite, broken = np.isinf(labels), labels != np.floor(labels)
        if infinite.any():
            raise ReleaseError(f"the label of row {int(infinite.argmax()) + 1} is infinity (inf): labels are classes")
        if broken.any():
            value = float(labels[int(broken.argmax())])
            raise ReleaseError(f"Unknown label type: continuous labels such as {value:g}, where classes are needed")
    return labels


def _dense(x: Any) -> NDArray[Any]:
    """Return an array of a table without names; `ReleaseError` for sparse, complex and one-dimensional data."""
    if hasattr(x, "toarray"):
        raise ReleaseError("sparse data are not read: give a dense table (X.toarray())")
    values = np.asarray(x)
    if values.dtype.kind == "c":
        raise ReleaseError("Complex data not supported: columns are 0 or 1")
    if values.ndim != 2:
        raise ReleaseError(
            f"Expected 2D array, got {values.ndim}D array instead (of shape {values.shape}): one row per person, one "
            "column per question. Reshape your data with reshape(-1, 1) for one column, reshape(1, -1) for one row"
        )
    return values


def distinct_rows(bits: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return the different rows in lexicographic order, and for every row which of them it is.

    The result of `np.unique(bits, axis=0, return_inverse=True)`; rows are compared 64 columns at a time.
    """
    packed = np.packbits(bits, axis=1)
    words = np.zeros((len(bits), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    whole = words.view(">u8").astype(np.uint64)
    keys = whole[:, 0] if whole.shape[1] == 1 else whole
    _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return bits[first], back.reshape(-1)


def training_data(x: Any, y: ArrayLike | None) -> tuple[list[str], NDArray[np.bool_], NDArray[Any]]:
    """Return the column names, (rows, columns) booleans and (rows,) labels of a table to learn from.

    Raises `ReleaseError`: see `labels_of` and `binary_columns`.
    """
    names, values = _names_and_cells(x)
    target = labels_of(y, len(values))
    return names, _bits_of(names, values), target


def binary_columns(x: Any, expected: list[str], learner: str) -> tuple[list[str], NDArray[np.bool_]]:
    """Return the names and (rows, columns) booleans of a table to predict for; `ReleaseError` for other columns."""
    names, values = _names_and_cells(x, expected)
    if len(expected) != values.shape[1]:
        message = f"X has {values.shape[1]} features, but {learner} is expecting {len(expected)} features as input"
        raise ReleaseError(f"{message}: those of fit")
    if names != expected:
        raise ReleaseError(f"the columns are not those of fit: {names[:5]} instead of {expected[:5]}")
    return names, _bits_of(names, values)


def _names_and_cells(x: Any, expected: list[str] | None = None) -> tuple[list[str], NDArray[Any]]:
    """Return the column names (those expected, else x0, x1, ... where there are none) and the cells of a table."""
    if not hasattr(x, "columns"):
        values = _dense(x)
        return expected or [f"x{k}" for k in range(values.shape[1])], values
    names = [str(c) for c in x.columns]
    if double := next((n for k, n in enumerate(names) if n in names[:k]), None):
        raise ReleaseError(f"two columns named '{double}'")
    return names, _dense(x.to_numpy())


def _bits_of(names: list[str], values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the cells as booleans; `ReleaseError` naming the row and column of one that is neither 0 nor 1."""
    import pandas as pd

    if not values.shape[1]:
        raise ReleaseError(f"0 feature(s) (shape={values.shape}) while a minimum of 1 is required: give some columns")
    if values.dtype == object:  # pandas.NA has no truth value
        values = np.where(np.asarray(pd.isna(values)), np.nan, values)
        odd = next((v for v in values.flat if isinstance(v, (dict, list, tuple, set))), None)
        if odd is not None:
            raise NoCellError(f"argument must be a string or a number, not a {type(odd).__name__}: cells are 0 or 1")
    bits = values == 1
    wrong = ~(bits | (values == 0))
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        value = values[row, column]
        shown = value.item() if isinstance(value, np.generic) else value
        kind = {"nan": " (NaN)", "inf": " (infinity)", "-inf": " (infinity)"}.get(str(shown), "")
        raise ReleaseError(f"row {row + 1}, column '{names[column]}': {shown!r}{kind} is neither 0 nor 1")
    return np.asarray(bits, dtype=bool)
