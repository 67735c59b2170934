"""Naive Bayes models of scikit-learn: the table of every column with the class, or the sums of columns in each class.

`CategoricalNB` counts the rows of each class with each category (`category_count_`), `BernoulliNB` those above its
threshold (`feature_count_`): trees about the same rows. `MultinomialNB` and `ComplementNB` sum each column in each
class: totals. Rows with weights leave sums of weights, which are refused where they are not whole numbers.

Source: scikit-learn, sklearn/naive_bayes.py, versions 1.2 to 1.9 (`_count` of each class).

Naive Bayes of R's e1071 (.rds): shares of every level in each class times the class's rows, means of numbers.

`naiveBayes` keeps the rows of every class (`apriori`) and, of each column of levels, the share of every level among the
rows of a class that have a value, (k + laplace) / (rows + laplace * levels); `laplace` itself only stands in the call,
mostly as a name. It is the one of some usual numbers by which all counts come out whole. Of numbers it keeps the mean
and the standard deviation in each class. Rows without a value are left out column by column: where a domain has missing
values, every number of rows that makes the shares whole counts is possible, up to those of the class.

Source: e1071 1.7, R/naiveBayes.R (`naiveBayes.default`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import AnyAttribute, Categorical, Continuous, Test, Value, equals
from encoders.models.models import (
    AnyModel,
    Forest,
    Provenance,
    PublishedFigure,
    Table,
    Tree,
    UnusedPublication,
)
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.readers.formats.drafts.binding import IS_MISSING, Binder, Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.printed.rpart_rds import attribute, matrix, models_in, named_parts, vector
from recon.readers.formats.sklearn.trees.trees import class_values, feature_names
from recon.readers.formats.statistics.column_figures import MeansDraft
from recon.readers.formats.statistics.column_tables import (
    DOUBLE,
    SINGLE,
    ColumnMean,
    category_tree,
    class_rows,
    texts_or_numbers,
)
from recon.readers.stored.binary.rds import RObject
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

FORMAT = "R e1071 naiveBayes object (.rds)"
LAPLACE = (0.0, 1.0, 2.0, 3.0, 0.5, 0.1, 0.01, 0.001)
NEAR = 1e-9
MAX_ROWS = 10_000_000
GENERATED = {"Y", "y", ""}
Counts = tuple[tuple[int, ...], ...]  # by class, then by level


def bayes_object(root: RObject) -> RObject | None:
    """Return the only e1071 model in an R object, None where there is none, or others as well."""
    models = models_in(root)
    found = [one.value for one in models if "naiveBayes" in one.value.classes]
    return found[0] if len(found) == 1 == len(models) else None


@dataclass(frozen=True)
class LevelShares:
    """A column of levels: the shares of its levels in every class, and the pseudocount that was added to each count."""

    name: str
    values: tuple[Value, ...]
    shares: tuple[tuple[float, ...], ...]
    rows: tuple[int, ...]
    laplace: float = 0.0
    others: tuple[float, ...] = ()

    def options(self, k: int) -> list[tuple[int, ...]]:
        """Return the counts that class k may have: of every pseudocount and number of rows with a value that fit."""
        each = [replace(self, laplace=one) for one in dict.fromkeys((self.laplace, *self.others))]
        return list(dict.fromkeys(one.counts(k, n) for one in each for n in one.sizes(k)))

    def sizes(self, k: int) -> list[int]:
        """Return how many rows of class k may have had a value: those numbers that make all counts whole."""
        if not self.rows[k]:
            return [0]
        n = np.arange(1, self.rows[k] + 1, dtype=np.float64)[:, None]
        counts = np.array(self.shares[k]) * (n + self.laplace * len(self.values)) - self.laplace
        near = np.abs(counts - np.rint(counts)) <= NEAR * np.maximum(1, n)
        return [1 + int(i) for i in np.flatnonzero((near & (counts > -0.5)).all(axis=1))]

    def counts(self, k: int, n: int) -> tuple[int, ...]:
        """Return the counts of the levels in class k of which n rows have a value."""
        if not n:
            return (0,) * len(self.values)
        wide = self.laplace * len(self.values)
        return tuple(round(share * (n + wide) - self.laplace) for share in self.shares[k])

    def models(self, missing: bool) -> list[AnyModel]:
        """Return a tree where all counts follow, else the least and the most of every level and class.

        `missing`: rows may have had no value. Raises `ReleaseError` where they must not, and some had none.
        """
        if not missing and any(n not in self.sizes(k) for k, n in enumerate(self.rows)):
            raise ReleaseError(f"some rows had no value of '{self.name[:60]}': declare it with \"missing\": true")
        every = [self.options(k) if missing else [self.counts(k, n)] for k, n in enumerate(self.rows)]
        if all(len(one) == 1 for one in every):
            known = [one[0] for one in every]
            groups = [(equals(v), tuple(c[i] for c in known)) for i, v in enumerate(self.values)]
            gap = tuple(n - sum(c) for n, c in zip(self.rows, known, strict=True))
            return [category_tree(self.name, [*([(IS_MISSING, gap)] if missing else []), *groups])]
        return []

    def bounds(self, label: str, classes: Sequence[Value]) -> list[PublishedFigure]:
        """Return the least and the most rows of every level and class, by the numbers of rows that may have a value."""
        out = []
        for k, value in enumerate(classes):
            every = np.array(self.options(k))
            for i, level in enumerate(self.values):
                here = ((self.name, equals(level)), (label, equals(value)))
                least, most = int(every[:, i].min()), int(every[:, i].max())
                out.append(PublishedFigure(here, low=least, high=most, name=f"{self.name} {level} in class {value}"))
        return out


@dataclass(frozen=True)
class BayesDraft(MeansDraft):
    """Shares of levels before it is known which columns may be missing."""

    columns: tuple[LevelShares, ...] = ()

    def tables(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the rows of classes, and the counts of every column of levels over a domain."""
        found, figures = list[AnyModel](self.models[:1]), list[PublishedFigure]()
        for one in self.columns:
            place = binder.domain.place.get(binder.features[one.name].attribute)
            missing = place is not None and binder.domain.all[place].missing
            mine = one.models(missing)
            found += mine
            if not mine:
                figures += one.bounds(self.label, self.classes or ())
        if figures:
            found.append(Table(tuple(figures), "levels, by how many rows may have a value"))
        return super(BayesDraft, replace(self, models=tuple(found))).tables(binder)


def read_bayes_rds(value: RObject) -> Draft:
    """Return what an e1071 model publishes. Cost: linear in its tables times the rows of a class.

    Raises `ReleaseError` naming the part that is broken, or has shares that no counts have.
    """
    try:
        return _draft(value)
    except ReleaseError:  # a ValueError too
        raise
    except (TypeError, ValueError, LookupError) as error:
        raise ReleaseError(f"the R object is broken: {str(error)[:80]}") from None


def _draft(value: RObject) -> Draft:
    parts = named_parts(value)
    apriori, tables = parts["apriori"], named_parts(parts["tables"])
    label, texts = _dimension(apriori, 0)
    numbers = vector(apriori, "apriori")
    if len(numbers) != len(texts):
        raise ReleaseError("has not one name for each class", place="apriori")
    rows = [_row_number(n, f"apriori['{text[:40]}']") for n, text in zip(numbers, texts, strict=True)]
    if not sum(rows) or sum(rows) > MAX_ROWS:
        raise ReleaseError(f"counts {sum(rows):,} rows, not 1 to {MAX_ROWS:,}", place="apriori")
    classes = texts_or_numbers(texts)
    given = label.rpartition("$")[2]
    label = free_label(tables, "label" if given in GENERATED else given)
    columns, means = list[LevelShares](), list[ColumnMean]()
    for name, table in tables.items():
        found = matrix(table, f"tables${name[:60]}")
        if len(found) != len(rows):
            raise ReleaseError(f"has {len(found)} lines for {len(rows)} classes", place=f"tables${name[:60]}")
        levels = _dimension(table, 1)[1]
        if levels:
            _check_shares(found, rows, f"tables${name[:60]}")
            columns.append(LevelShares(name, texts_or_numbers(levels), tuple(map(tuple, found)), tuple(rows)))
        else:
            means += _means(name, found, rows, label, classes)
    laplace = _laplace(columns)
    columns = [replace(one, laplace=laplace, others=LAPLACE) for one in columns]
    gaps = {one.name for one in columns if any(n not in one.sizes(k) for k, n in enumerate(one.rows))}
    trees = [tree for one in columns for tree in one.models(one.name in gaps)]
    hints: dict[str, AnyAttribute] = {one.feature: Continuous(one.feature) for one in means}
    hints |= {
        one.name: Categorical(one.name, one.values, missing=one.name in gaps) for one in columns if len(one.values) > 1
    }
    return BayesDraft(
        Provenance(FORMAT, ("exact",)),
        tuple(Feature(name, name) for name in tables),
        (class_rows(rows, classes, label), *trees),
        classes,
        label,
        RowCount(sum(rows), sum(rows)),
        hints,
        gaps=frozenset(gaps),
        columns=tuple(columns),
        means=tuple(means),
    )


def _check_shares(found: Sequence[Sequence[float]], rows: Sequence[int], place: str) -> None:
    """Refuse levels whose shares in a class that has rows do not sum to 1."""
    for line, n in zip(found, rows, strict=True):
        odd = next((share for share in line if n and not 0 <= share <= 1), None)
        if odd is not None:
            raise ReleaseError(f"has {odd:g} as the share of a level", place=place)
        if n and abs(sum(line) - 1) > NEAR:
            raise ReleaseError(f"has shares that sum to {sum(line):.6g} in a class, not to 1", place=place)


def _dimension(value: RObject, axis: int) -> tuple[str, list[str]]:
    """Return the name and the entries of a dimension of a table."""
    names = attribute(value, "dimnames")
    entries = names.values[axis] if names.kind == "list" and len(names.values) > axis else RObject("nothing", None)
    title = attribute(names, "names")
    titles = [str(v or "") for v in title.values] if title.kind == "character" else []
    texts = [str(v) for v in entries.values] if entries.kind == "character" else []
    return titles[axis] if len(titles) > axis else "", texts


def _row_number(value: object, place: str) -> int:
    """Return a number of rows."""
    if not isinstance(value, (int, float)) or not 0 <= value <= MAX_ROWS or value != int(value):
        raise ReleaseError(f"{value} is not a number of rows", place=place)
    return int(value)


def _means(
    name: str, found: Sequence[Sequence[float]], rows: Sequence[int], label: str, classes: Sequence[Value]
) -> list[ColumnMean]:
    """Return the mean of a column in every class that has rows; how many of these have a value is not known.

    The standard deviation is R's: squares about the mean over one less than the rows.
    """
    out = []
    for line, n, value in zip(found, rows, classes, strict=True):
        if n and line and math.isfinite(line[0]):
            known = len(line) > 1 and math.isfinite(line[1])
            variance = line[1] * line[1] * (n - 1) / n if known else None
            where = ((label, equals(value)),)
            out.append(ColumnMean(name, line[0], None, n, where, name=f"{name} in class {value}", variance=variance))
    return out


def _laplace(columns: Sequence[LevelShares]) -> float:
    """Return the pseudocount by which all counts are whole: of all rows of a class, or of fewer where none is then.

    Raises `Unsupported` where several or none do.
    """
    for whole in (True, False):
        found = []
        for laplace in LAPLACE:
            mine = [replace(one, laplace=laplace) for one in columns]
            sizes = [(one.rows[k], one.sizes(k)) for one in mine for k in range(len(one.rows))]
            if all(n in known if whole else known for n, known in sizes):
                found.append(laplace)
        if len(found) == 1 or (found and found[0] == 0.0 and not whole):
            return found[0]
        if found:
            raise Unsupported(f"the shares are whole counts with laplace = {', '.join(map(str, found))}: which was it?")
    raise ReleaseError("has shares that are no counts of the rows of its classes: rows were weighted", place="tables")


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
