"""What follows from a stored attribute, computed from the file: numbers where exact, nothing where they are not.

Every function takes the object and the attribute's value and returns what to say, with a level where it differs from
the rule's, or None where nothing follows. The formulas are those of scikit-learn's `fit` methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from recon.readers.formats.sklearn.trees.settings import labels_from_weights
from recon.readers.inspection.findings.findings import (
    SMALL,
    Claim,
    tree,
)
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.pickles import Thing

_WHOLE = 1e-6  # relative: how near a sum of floats must come to a whole number to be one


def is_whole(values: npt.NDArray[Any]) -> bool:
    """Return whether all values are whole numbers up to rounding."""
    numbers = np.asarray(values, dtype=float)
    near = np.abs(numbers - np.rint(numbers)) <= _WHOLE * np.maximum(1.0, np.abs(numbers)) * 0.01
    return bool(numbers.size and np.isfinite(numbers).all() and near.all())


def listed_values(values: npt.NDArray[Any], limit: int = 4) -> str:
    """Return the first numbers of an array in words."""
    flat = np.asarray(values, dtype=float).reshape(-1)
    return ", ".join(f"{v:.10g}" for v in flat[:limit]) + (", ..." if flat.size > limit else "")


def numbers(value: Any) -> npt.NDArray[np.float64] | None:
    """Return an array of finite or infinite numbers, None for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return np.array([value], dtype=float)
    return value.astype(float) if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.size else None


def present(owner: Thing, value: Any) -> Claim:
    """Return the rule's own words wherever the attribute holds anything."""
    empty = value is None or (isinstance(value, (list, tuple, dict, np.ndarray)) and len(value) == 0)
    return None if empty else ""


def cached_statistics(owner: Thing, value: Any) -> Claim:
    """Return the rule's own words unless nothing but names of statistics is left: what `remove_data` leaves of them."""
    emptied = isinstance(value, dict) and all(one is None for one in value.values())
    return None if emptied else ""


def class_index(owner: Thing, value: Any) -> Claim:
    """Return the finding on neighbours' labels: indices into the classes, or values."""
    if isinstance(owner.get("classes_"), (np.ndarray, list)):
        return "the label of every training row, in file order, as an index into classes_"
    return None if value is None else "the target of every training row, in file order"


def support_vectors(owner: Thing, value: Any) -> Claim:
    """Return how many training rows are support vectors; none are stored where the kernel is precomputed."""
    shape = owner.get("shape_fit_")
    rows = f" of {shape[0]:,}" if isinstance(shape, tuple) and shape and isinstance(shape[0], int) else ""
    found = value.shape[0] if isinstance(value, np.ndarray) and value.ndim == 2 else None
    if found == 0:
        return None
    return f"{'they' if found is None else f'{found:,}'}{rows} training rows stand here, complete"


def support_positions(owner: Thing, value: Any) -> Claim:
    """Return that the support vectors come class by class, where their number per class is stored."""
    per_class = owner.get("_n_support", owner.get("n_support_"))
    if not isinstance(value, np.ndarray) or not value.size:
        return None
    text = "the positions of the support vectors in the training file"
    classes = owner.get("classes_")
    if isinstance(per_class, np.ndarray) and isinstance(classes, np.ndarray) and per_class.sum() == value.size:
        text += (
            f"; they come class by class ({', '.join(str(int(c)) for c in per_class[:6])}), so their labels are known"
        )
    return text


def kernel_targets(owner: Thing, value: Any) -> Claim:
    """Return that the targets follow; with row weights they follow up to these."""
    return None if numbers(value) is None else ""


def quantile_targets(owner: Thing, value: Any) -> Claim:
    """Return the targets of the first rows: the forest has all of them in ascending order, `sorter_` whose they are."""
    forest, order = owner.get("forest_"), value.reshape(-1) if isinstance(value, np.ndarray) else None
    ascending = numbers(resolve(forest.args[0])) if isinstance(forest, Thing) and forest.args else None
    if order is None or ascending is None or sorted(order.tolist()) != list(range(ascending.size)):
        return ""
    return f"the target of every training row, in file order: {listed_values(ascending.reshape(-1)[np.argsort(order)])}"


def subcluster(owner: Thing, value: Any) -> Claim:
    """Return how many rows the sum of a subcluster has."""
    rows = owner.get("n_samples_")
    if not isinstance(rows, int) or rows < 1 or not isinstance(value, np.ndarray):
        return None
    if rows == 1:
        return "this is a training row: the subcluster has one row"
    return "high" if rows < SMALL else "medium", f"the exact sum of the {rows:,} training rows of a subcluster"


def row_weights(owner: Thing, value: Any) -> Claim:
    """Return which labels follow from row weights: settled by the trees' class counts, or not at all."""
    if not isinstance(value, np.ndarray):
        return None
    labels, why = labels_from_weights(owner)
    if labels is not None:
        sizes = np.bincount(labels, minlength=len(owner.get("classes_")))
        text = ", ".join(f"{size:,}" for size in sizes)
        return "critical", (
            f"with class_weight every weight is its class's: the label of every training row follows, in file order "
            f"(rows per class: {text}); {why}"
        )
    levels, sizes = np.unique(value, return_counts=True)
    balanced = owner.get("class_weight") == "balanced" and len(levels) == len(owner.get("classes_", ()))
    if balanced and np.allclose(
        levels * len(levels) * sizes, value.size, rtol=1e-9
    ):  # n / (classes * rows of the class)
        text = ", ".join(f"{size:,}" for size in sizes)
        return "critical", (
            "with balanced classes every weight is its class's: the training rows of each class are known, in "
            f"file order ({text} rows); which class is which is not: {why}"
        )
    if len(levels) == 1:
        return "info", "all training rows have one weight: only their number follows"
    return f"the weight of every training row, in file order ({len(levels):,} different ones; no labels: {why})"


def clusters(owner: Thing, value: Any) -> Claim:
    """Return how many rows every cluster has."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or not value.size:
        return None
    sizes = np.unique(value, return_counts=True)[1]
    return (
        f"the cluster of every training row, in file order: {len(sizes):,} clusters, the smallest of "
        f"{int(sizes.min()):,} rows"
    )


def centres(owner: Thing, value: Any) -> Claim:
    """Return which centres are training rows, as far as the rows' clusters are stored."""
    labels = owner.get("labels_")
    if not isinstance(value, np.ndarray):
        return None
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu" and labels.size:
        single = int((np.unique(labels, return_counts=True)[1] == 1).sum())
        if owner.class_name == "Birch":
            single = len(value) if len(value) == labels.size else 0
        if single:
            return (
                "critical",
                f"the mean of the rows of every cluster: {single:,} clusters have one row and are that row",
            )
    return "the mean of the rows of every cluster: of a cluster of one row, that row"


def scaler(owner: Thing, value: Any) -> Claim:
    """Return the exact sums and sums of squares that mean, variance and number of rows give."""
    mean, var = numbers(owner.get("mean_")), numbers(owner.get("var_"))
    seen = numbers(owner.get("n_samples_seen_"))
    if mean is None:
        return None if var is None else "the variance of every column"
    if seen is None:
        return "the mean of every column"
    sums = mean * seen
    text = f"the sum of every column is mean_ * n_samples_seen_: {listed_values(sums)}"
    if var is not None:
        text += f"; the sum of squares is n_samples_seen_ * (var_ + mean_**2): {listed_values(seen * (var + mean**2))}"
    return text + ("; the sums are whole numbers, so they are exact" if is_whole(sums) else "")


def quantiles(owner: Thing, value: Any) -> Claim:
    """Return that the sorted columns stand there, if there were fewer rows than quantiles."""
    made, asked = owner.get("n_quantiles_"), owner.get("n_quantiles")
    if not isinstance(value, np.ndarray) or not value.size:
        return None
    if isinstance(made, int) and isinstance(asked, int) and made < asked and value.shape[0] == made:
        return "critical", (
            f"there were {made:,} training rows for {asked:,} quantiles: these are whole columns of the training data, "
            f"each sorted (where values are missing, interpolated between the others)"
        )
    return f"{value.shape[0]:,} quantiles of every column; the first and last are its smallest and largest value"


def bins(owner: Thing, value: Any) -> Claim:
    """Return which bin edges are data."""
    strategy = owner.get("strategy")
    text = "the outer edges of every column are its smallest and largest value"
    if strategy == "quantile":
        return text + "; the inner ones are quantiles"
    return text + ("; the inner ones follow from k-means" if strategy == "kmeans" else "; the inner ones follow")


def spline_knots(owner: Thing, value: Any) -> Claim:
    """Return that knots lie between extremes of a column where the splines are a basis, that is have no coefficients.

    A basis has as many splines as knots less those of its degree, and the unit matrix as coefficients.
    """
    weights = next((resolve(owner.get(name)) for name in ("c", "_c") if owner.has(name)), None)
    degree = owner.get("k")
    basis = (
        isinstance(weights, np.ndarray)
        and isinstance(value, np.ndarray)
        and weights.ndim == 2
        and value.ndim == 1
        and isinstance(degree, int)
        and len(weights) == weights.shape[1] == len(value) - degree - 1
        and np.array_equal(weights, np.eye(len(weights)))
    )
    return ("medium", "the knots of a column: its smallest and largest value, or quantiles of it") if basis else ""


def imputer(owner: Thing, value: Any) -> Claim:
    """Return which statistic fills the gaps."""
    strategy = owner.get("strategy")
    if strategy == "constant":
        return None
    words = {"mean": "the mean", "median": "the median", "most_frequent": "the most frequent value"}
    return f"{words.get(str(strategy), 'a statistic')} of every column's known values"


def categories(owner: Thing, value: Any) -> Claim:
    """Return that the categories are those of the data, unless they were given."""
    given = owner.get("categories")
    if isinstance(given, (list, tuple, np.ndarray)):
        return "info", "these categories were declared before fitting: they are not read off the data"
    if not isinstance(value, list):
        return ""
    sizes = [len(v) for v in value if isinstance(v, np.ndarray)]
    text = f"every value that each column has in the training data ({', '.join(map(str, sizes[:8]))} values"
    text += ", ...)" if len(sizes) > 8 else ")"
    measured = [v for v in value if isinstance(v, np.ndarray) and v.dtype.kind == "f" and len(v) and not is_whole(v)]
    return ("high", text + "; values of a measured column, which mostly one row has each") if measured else text


def target_mean(owner: Thing, value: Any) -> Claim:
    """Return what smoothing leaves of the means."""
    smooth = owner.get("smooth")
    text = "the mean of the target in every category, drawn towards target_mean_, the exact mean of all rows"
    if isinstance(smooth, (int, float)) and not isinstance(smooth, bool):
        text += f", by (sum + {smooth:g} target_mean_) / (count + {smooth:g})"
        return text + (": with smooth = 0 it is the exact mean" if smooth == 0 else "")
    return text


def vocabulary(owner: Thing, value: Any) -> Claim:
    """Return that words were read off the texts, unless they were given."""
    if owner.get("fixed_vocabulary_") is True:
        return "info", "these words were declared before fitting: they are not read off the texts"
    return ""


def contingency(owner: Thing, value: Any) -> Claim:
    """Return the exact table of column against class, if its counts are whole (rows without weights)."""
    if owner.class_name == "CategoricalNB":
        tables = [t for t in (value if isinstance(value, list) else []) if isinstance(t, np.ndarray)]
        if not tables:
            return None
        what = "rows per category and class of every column"
    else:
        tables = [value] if isinstance(value, np.ndarray) else []
        if not tables:
            return None
        what = (
            "rows per class that have a 1 in the column"
            if owner.class_name == "BernoulliNB"
            else "column sums per class"
        )
    classes = numbers(owner.get("class_count_"))
    size = sum(int(t.size) for t in tables)
    whole = all(is_whole(t) for t in tables) and (classes is None or is_whole(classes))
    text = f"{size:,} exact numbers: {what}, the first {listed_values(tables[0])}"
    if classes is not None:
        text += f"; rows per class: {listed_values(classes)}"
    return text if whole else text.replace("exact numbers", "weighted sums")


def class_moments(owner: Thing, value: Any) -> Claim:
    """Return the sums that GaussianNB's means and counts give."""
    theta, rows = numbers(owner.get("theta_")), numbers(owner.get("class_count_"))
    if theta is None or rows is None or theta.ndim != 2 or len(theta) != len(rows):
        return ""
    sums = theta * rows[:, None]
    text = (
        f"the rows of every class ({listed_values(rows)}) and in each the sum of every column, theta_ * class_count_ "
        f"({listed_values(sums)}), and of its squares, class_count_ * (var_ - epsilon_ + theta_**2)"
    )
    return text + ("; the sums are whole numbers, so they are exact" if is_whole(sums) else "")


def mixture(owner: Thing, value: Any) -> Claim:
    """Return which components of a mixture are single rows: their spread is nothing but what the fit adds to it."""
    spread, added = numbers(owner.get("covariances_")), owner.get("reg_covar")
    if not isinstance(value, np.ndarray) or value.ndim != 2 or spread is None or not isinstance(added, (int, float)):
        return ""
    if spread.ndim == 3:
        spread = np.diagonal(spread, axis1=1, axis2=2)
    each = spread.reshape(len(spread), -1).max(axis=1) if len(spread) == len(value) else np.full(len(value), np.inf)
    single = int((each <= 1.1 * added + 1e-12).sum())
    if not single:
        return ""
    return (
        "critical",
        f"the mean of the rows of every component: {single:,} of {len(value):,} have no spread, so they are a row",
    )


def class_shares(owner: Thing, value: Any) -> Claim:
    """Return the classes' shares."""
    shares = numbers(value)
    if shares is None:
        return None
    return (
        f"the classes' exact shares of the training rows ({listed_values(shares)}): times their number, rows per class"
    )


def column_means(owner: Thing, value: Any) -> Claim:
    """Return the column sums that mean and number of rows give."""
    mean, rows = numbers(owner.get("mean_")), owner.get("n_samples_", owner.get("n_samples_seen_"))
    if mean is None:
        return None
    if not isinstance(rows, int):
        return "the mean of every column"
    sums = mean * rows
    text = f"the sum of every column is mean_ * n_samples: {listed_values(sums)}"
    return text + ("; the sums are whole numbers, so they are exact" if is_whole(sums) else "")


CLAIMS: dict[str, Callable[[Thing, Any], Claim]] = {
    one.__name__: one
    for one in (
        present, cached_statistics, class_index, support_vectors, support_positions, kernel_targets,
        quantile_targets, subcluster, row_weights, clusters,
        centres, scaler, quantiles, bins, spline_knots, imputer, categories, target_mean, vocabulary,
        contingency, class_moments, class_shares, column_means, tree, mixture,
    )
}  # fmt: skip
