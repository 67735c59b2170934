"""Naive Bayes models of scikit-learn: the table of every column with the class, or the sums of columns in each class.

`CategoricalNB` counts the rows of each class with each category (`category_count_`), `BernoulliNB` those above its
threshold (`feature_count_`): trees about the same rows. `MultinomialNB` and `ComplementNB` sum each column in each
class: totals. Rows with weights leave sums of weights, which are refused where they are not whole numbers.

Source: scikit-learn, sklearn/naive_bayes.py, versions 1.2 to 1.9 (`_count` of each class).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Categorical, Continuous, Test, Value, equals
from encoders.models.models import (
    AnyModel,
    Forest,
    Provenance,
    Tree,
    UnusedPublication,
)
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.readers.formats.drafts.binding import Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.trees.trees import class_values, feature_names
from recon.readers.formats.statistics.column_figures import MeansDraft
from recon.readers.formats.statistics.column_tables import DOUBLE, SINGLE, ColumnMean, class_rows
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount

KINDS = ("CategoricalNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "GaussianNB")
LARGEST = 1 << 53
NOT_WEIGHTED = "the rows were fitted without weights: weights that are all whole numbers look like counts of rows"
NO_SQUARES = UnusedPublication(
    "var_, epsilon_", "not one finite variance per class and column stands there", labels=True, about="columns"
)
GIVEN = "the columns are whole numbers from 0 on, as the model was given them"


def read(thing: Thing, form: str) -> Draft:
    """Return the counts or sums of a fitted model.

    Raises `ReleaseError` naming the attribute for what is no count, or does not add up to the classes. Cost: linear in
    the entries of its tables.
    """
    names, named = feature_names(thing)
    classes = class_values(thing)
    totals = _integer_counts(thing.get("class_count_"), (len(classes),), "class_count_")
    if not totals.any():
        raise ReleaseError("counts no row", place="class_count_")
    label = free_label(names)
    hints: dict[str, Any] = {}
    notes: tuple[str, ...] = (NOT_WEIGHTED,)
    models: tuple[AnyModel, ...]
    means: tuple[ColumnMean, ...] = ()
    if thing.class_name == "CategoricalNB":
        models = (_of_categories(thing, names, totals),)
        tables = resolve(thing.get("category_count_"))
        hints = {name: Categorical(name, tuple(range(one.shape[1]))) for name, one in zip(names, tables, strict=True)}
        notes = (*notes, GIVEN)
    elif thing.class_name == "BernoulliNB":
        models = (_of_bits(thing, names, totals),)
    elif thing.class_name == "GaussianNB":
        models = (class_rows(totals.tolist(), classes, label),)
        means = _of_means(thing, names, totals, classes, label)
        hints = {name: Continuous(name) for name in names}
    else:
        models = (class_rows(totals.tolist(), classes, label),)
        means = _of_sums(thing, names, totals, classes, label)
        hints = {name: Continuous(name, Fraction(0)) for name in names}
    rows = int(totals.sum())
    unused = (NO_SQUARES,) if thing.class_name == "GaussianNB" and any(one.variance is None for one in means) else ()
    return MeansDraft(
        Provenance(f"scikit-learn {thing.class_name} ({form})", ("exact",), notes, unused=unused),
        tuple(Feature(name, name) for name in names),
        models,
        classes,
        label,
        RowCount(rows, rows),
        hints,
        named=named,
        means=means,
    )


def _integer_counts(value: Any, shape: Sequence[int | None], place: str) -> NDArray[np.int64]:
    """Return a table of counts; `ReleaseError` for other shapes, and with the first entry that is no whole number."""
    found = resolve(value)
    if not isinstance(found, np.ndarray) or not found.size or found.dtype.kind not in "iuf" or found.ndim != len(shape):
        raise ReleaseError("is not a table of numbers: the model is not fitted", place=place)
    if any(want is not None and have != want for have, want in zip(found.shape, shape, strict=True)):
        raise ReleaseError(f"has {' x '.join(map(str, found.shape))} entries, the model other classes", place=place)
    numbers = found.astype(np.float64)
    bad = ~((numbers >= 0) & (numbers < LARGEST) & (numbers == np.floor(numbers)))
    if bad.any():
        raise ReleaseError(
            f"{float(numbers[bad][0]):.10g} is not a count of rows: the model was fitted with weights, or on "
            "numbers that "
            "are not whole",
            place=place,
        )
    return numbers.astype(np.int64)


def _of_categories(thing: Thing, names: Sequence[str], totals: NDArray[np.int64]) -> Forest:
    """Return a tree per column, a leaf per category from the first to the last that has a row.

    That nobody has a lower or a higher one is not said: a domain need not have any.
    """
    tables = resolve(thing.get("category_count_"))
    if not isinstance(tables, list) or len(tables) != len(names):
        raise ReleaseError("has no table for each column", place="category_count_")
    trees = []
    for i, (name, one) in enumerate(zip(names, tables, strict=True)):
        place = f"category_count_[{i}]"
        counts = _integer_counts(one, (len(totals), None), place)
        _check_sums(counts.sum(axis=1), totals, place)
        held = np.flatnonzero(counts.any(axis=0)).tolist()
        nodes: list[ModelNode] = []
        for value in range(held[0], held[-1]):
            test = Test(high=value + 0.5)
            nodes += [
                ModelNode(Support(), ((name, test),), len(nodes) + 1, len(nodes) + 2),
                ModelNode(Support(tuple(counts[:, value].tolist()))),
            ]
        nodes.append(ModelNode(Support(tuple(counts[:, held[-1]].tolist()))))
        trees.append(Tree(Nodes.of(nodes), name))
    return Forest(tuple(trees), "columns")


def _of_bits(thing: Thing, names: Sequence[str], totals: NDArray[np.int64]) -> Forest:
    """Return a tree per column: the rows above the threshold, and the others."""
    above = _integer_counts(thing.get("feature_count_"), (len(totals), len(names)), "feature_count_")
    threshold = thing.get("binarize")
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, (int, float))):
        raise ReleaseError("is not a threshold", place="binarize")
    end: Value = 0.5 if threshold is None else threshold  # without one the columns are 0 and 1
    trees = []
    for name, mine in zip(names, above.T, strict=True):
        if (mine > totals).any():
            raise ReleaseError(
                f"'{name[:60]}' is above its threshold in more rows than there are", place="feature_count_"
            )
        nodes = [
            ModelNode(Support(), ((name, Test(high=end)),), 1, 2),
            ModelNode(Support(tuple((totals - mine).tolist()))),
            ModelNode(Support(tuple(mine.tolist()))),
        ]
        trees.append(Tree(Nodes.of(nodes), name))
    return Forest(tuple(trees), "columns")


def _of_sums(
    thing: Thing, names: Sequence[str], totals: NDArray[np.int64], classes: Sequence[Value], label: str
) -> tuple[ColumnMean, ...]:
    """Return the sum of every column in every class."""
    sums = _integer_counts(thing.get("feature_count_"), (len(totals), len(names)), "feature_count_")
    if thing.class_name == "ComplementNB":
        _check_sums(
            sums.sum(axis=0), _integer_counts(thing.get("feature_all_"), (len(names),), "feature_all_"), "feature_all_"
        )
    return tuple(
        ColumnMean(
            name, total / max(1, n), n, n, ((label, equals(value)),), name=f"{name} in class {value}", total=total
        )
        for value, n, mine in zip(classes, totals.tolist(), sums.tolist(), strict=True)
        for name, total in zip(names, mine, strict=True)
    )


def _of_means(
    thing: Thing, names: Sequence[str], totals: NDArray[np.int64], classes: Sequence[Value], label: str
) -> tuple[ColumnMean, ...]:
    """Return the mean and the variance of every column in every class that has rows (GaussianNB).

    Means that are all numbers of 32 bits may be of columns of 32 bits, whose sums are rounded to as many.
    """
    squares, added = resolve(thing.get("var_", thing.get("sigma_"))), thing.get("epsilon_")
    found = resolve(thing.get("theta_"))
    if not isinstance(found, np.ndarray) or found.shape != (len(totals), len(names)) or found.dtype.kind != "f":
        raise ReleaseError("has not one mean per class and column: the model is not fitted", place="theta_")
    if not np.isfinite(found).all():
        raise ReleaseError(f"has the mean {float(found[~np.isfinite(found)][0])}", place="theta_")
    unit = SINGLE if bool((found == found.astype(np.float32)).all()) else DOUBLE
    known = (
        isinstance(squares, np.ndarray)
        and squares.shape == found.shape
        and squares.dtype.kind == "f"
        and bool(np.isfinite(squares).all())
        and isinstance(added, float)
        and math.isfinite(added)
    )
    return tuple(
        ColumnMean(
            name,
            float(found[k, i]),
            rows,
            rows,
            ((label, equals(value)),),
            unit,
            f"{name} in class {value}",
            variance=float(squares[k, i]) if known else None,
            smoothing=float(added) if known else 0.0,
        )
        for k, (value, rows) in enumerate(zip(classes, totals.tolist(), strict=True))
        for i, name in enumerate(names)
        if rows
    )


def _check_sums(found: NDArray[np.int64], wanted: NDArray[np.int64], place: str) -> None:
    """Raise `ReleaseError` where numbers do not add up to what the model says of all."""
    if (found != wanted).any():
        at = int(np.flatnonzero(found != wanted)[0])
        raise ReleaseError(f"adds up to {found[at]:,} where the model counts {wanted[at]:,}", place=place)
