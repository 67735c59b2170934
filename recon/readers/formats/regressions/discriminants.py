"""Means and covariances of columns, in classes or of all rows: sums, and sums of products of two columns.

`LinearDiscriminantAnalysis` keeps the mean of every column in every class, and the pooled covariance where it was asked
for (`store_covariance`, or another solver); `QuadraticDiscriminantAnalysis` the axes of every class, whose covariance
follows; `PCA` the same of all rows, whole where it keeps all components. R's MASS keeps means (`lda`, `qda`), and the
inverse root of each class's covariance (`qda`). With the rows of a class a mean is a sum, and a covariance the sum of
products less that of the means: an interval, of what rounding leaves, in which mostly one sum of the domain's values
lies.

Rounding. Covariances of n rows with p columns, by singular values or by products, are off by less than
`JOINED` (n + p + 16) u times Σ n L², with u half the last digit of 1 and L the largest size of each column's values
(of a column without values in the domain: n L^2 is twice what its squares sum to by the stored numbers).

Source: scikit-learn 1.2 to 1.9, discriminant_analysis.py (`_class_cov`, `_solve_svd`), decomposition/_pca.py; MASS 7.3,
R/lda.R, R/qda.R; Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed. 2002, section 20.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition
from encoders.domain.values import Continuous, equals
from encoders.models.linear_figures import LinearFigure, LinearTerm
from encoders.models.models import AnyModel, Provenance, PublishedFigure, Table, UnusedPublication
from recon.readers.formats.drafts.binding import Binder, Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.printed.rpart_rds import NOTHING, attribute, matrix, models_in, named_parts, vector
from recon.readers.formats.regressions.least_squares import attribute_column
from recon.readers.formats.sklearn.trees.settings import fitted_by
from recon.readers.formats.sklearn.trees.trees import class_values, feature_names
from recon.readers.formats.statistics.column_figures import MeansDraft
from recon.readers.formats.statistics.column_tables import (
    DOUBLE,
    JOINED,
    SINGLE,
    ColumnMean,
    class_rows,
    texts_or_numbers,
)
from recon.readers.stored.binary.rds import RObject
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.statements.release import RowCount

KINDS = ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "PCA")
Floats = NDArray[np.float64]
UNWEIGHTED = "the rows were fitted without weights"
NEAR = 1e-9  # of a share of classes to a whole number of rows
NOT_WHOLE = "only {} of {} components are kept: their covariance is not that of the columns"
NO_COVARIANCE = "the file keeps directions that distinguish classes, no covariance (store_covariance=True stores it)"
SHRUNK = "it was drawn towards another matrix (shrinkage, reg_param) by as much as the file does not say"


@dataclass(frozen=True, eq=False)
class Scatter:
    """Σ (x_i - m_i)(x_j - m_j) over rows that meet a condition, each about the mean of its group.

    `groups`: rows and means of every group. `condition`: how much more it is off than rounding, relative.
    """

    matrix: Floats
    groups: tuple[tuple[int, Floats], ...]
    where: Condition = ()
    unit: Fraction = DOUBLE
    name: str = ""
    condition: float = 1.0

    def squares(self, k: int) -> Fraction:
        """Return more than what the squares of a column sum to, by the numbers that are stored."""
        of_means = sum(n * Fraction(float(means[k])) ** 2 for n, means in self.groups)
        return 2 * (abs(Fraction(float(self.matrix[k, k]))) + of_means)


@dataclass(frozen=True, eq=False)
class ScatterDraft(MeansDraft):
    """Means and scatters of a model; `shares` of classes where the file does not say how many rows there are.

    `spread`: per class, or of all (`pooled`), the covariance before its rows are known: per class over `less` fewer.
    """

    shares: tuple[float, ...] = ()
    class_means: Floats | None = None
    spread: tuple[Floats, ...] = ()
    pooled: bool = False
    less: int = 1
    unit: Fraction = DOUBLE
    scatters: tuple[Scatter, ...] = ()

    def of_rows(self, rows: int) -> Draft:
        """Return the draft with the rows of every class; `ContradictionError` where shares are of no such rows."""
        if not self.shares or self.class_means is None:
            return self
        counts = [round(share * rows) for share in self.shares]
        if any(abs(n - s * rows) > NEAR * rows for n, s in zip(counts, self.shares, strict=True)) or not all(counts):
            shown = ", ".join(f"{s:.6g}" for s in self.shares[:5])
            message = f"the classes' shares {shown} are not of {rows:,} rows: the number of rows is a multiple of "
            message += f"{_denominator(self.shares):,}, or priors were given"
            raise ContradictionError(message, ("the classes' shares of the rows",))
        return _with_counts(self, counts)

    def of_known(self, table: Any, label: str) -> Draft:
        """Return the draft with the rows of every class: those of the table are all."""
        return self.of_rows(len(table)) if self.rows is None else self

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the tables of sums and of sums of products; `Unsupported` where no number of rows is known."""
        if self.rows is None:
            raise Unsupported(
                f"the classes' shares are of a multiple of {_denominator(self.shares):,} rows, of how many the file "
                "does not say: give --rows, or --known-columns with a line for everybody"
            )
        models, figures, left = super().bound(binder), list[PublishedFigure](), list[UnusedPublication]()
        for scatter in self.scatters:
            for one in self._products(scatter, binder):
                (figures if isinstance(one, PublishedFigure) else left).append(one)  # type: ignore[arg-type]
        if figures:
            models = (*models, Table(tuple(figures), "sums of products"))
        first = next((model.origin for model in models if model.origin is not None), self.origin)
        origin = replace(first, unused=tuple(dict.fromkeys((*first.unused, *left))))
        return tuple(replace(model, origin=origin) for model in models)

    def _products(self, scatter: Scatter, binder: Binder) -> Iterator[PublishedFigure | UnusedPublication]:
        """Yield the sum of products of every two columns; columns that cannot be multiplied are named."""
        domain, columns = binder.domain, []
        for feature in self.features:
            found, made = binder.features[feature.name], None
            if found.make is None and found.attribute in domain.place:
                made = attribute_column(domain.all[domain.place[found.attribute]], found.attribute)
            why = "a step before it changes the column, or the domain has none" if made is None else made.why
            if made is None or made.unit is None:
                what = f"the covariances of '{feature.name[:60]}'"
                yield UnusedPublication(what, why, labels=bool(scatter.where), about="columns")
                made = None
            columns.append(made)
        sizes = [Fraction(0) if c is None else max(abs(c.ends[0]), abs(c.ends[1]), Fraction(1)) for c in columns]
        rows = sum(n for n, _ in scatter.groups)
        off = JOINED * (rows + len(columns) + 16) * scatter.unit * Fraction(scatter.condition)
        all_off = off * sum(
            scatter.squares(k) if one is None else rows * size * size
            for k, (one, size) in enumerate(zip(columns, sizes, strict=True))
        )
        where = binder.translate(scatter.where)
        for i, one in enumerate(columns):
            for j, other in enumerate(columns[: i + 1]):
                if one is None or other is None or (i == j and one.bit):
                    continue
                names = " and ".join(f"'{self.features[k].name[:60]}'" for k in dict.fromkeys((j, i)))
                if why := one.beside(other):
                    what = f"the covariance of {names}"
                    yield UnusedPublication(what, why, labels=bool(scatter.where), about="columns")
                    continue
                total, error = Fraction(float(scatter.matrix[i, j])), all_off
                for n, means in scatter.groups:
                    total += n * Fraction(float(means[i])) * Fraction(float(means[j]))
                    each = JOINED * (n + 8) * scatter.unit
                    error += n * sizes[i] * sizes[j] * each * (2 + each)
                unit = one.unit * other.unit  # type: ignore[operator]  # columns without one are None here
                low, high = unit * math.ceil((total - error) / unit), unit * math.floor((total + error) / unit)
                if low > high:
                    raise ContradictionError(
                        f"no sum of products of {names}{scatter.name} has these digits: {float(total):.10g} follows, "
                        f"and sums are multiples of {float(unit):.6g}; rows were weighted, or the file was changed",
                        (f"the covariance of {names}{scatter.name}",),
                    )
                term = LinearTerm((tuple(dict.fromkeys((*where, *one.where, *other.where))),), (*one.of, *other.of))
                figure = LinearFigure((term,), low, high)
                yield PublishedFigure((), linear=figure, name=f"products of {names}{scatter.name}")


def _denominator(shares: Sequence[float]) -> int:
    """Return the least number of rows of which all shares are whole numbers, as far as doubles say."""
    return math.lcm(*(Fraction(share).limit_denominator(1_000_000).denominator for share in shares))


def _with_counts(draft: ScatterDraft, counts: Sequence[int]) -> ScatterDraft:
    """Return the draft with means and scatters of so many rows per class."""
    assert draft.classes is not None
    assert draft.class_means is not None
    means = draft.class_means
    each = [(int(n), means[k]) for k, n in enumerate(counts)]
    scatters = []
    for k, spread in enumerate(draft.spread):
        if draft.pooled:
            scatters.append(Scatter(spread * sum(counts), tuple(each), unit=draft.unit))
        else:
            value = draft.classes[k]
            where, said = ((draft.label, equals(value)),), f" in class {value}"
            scatters.append(Scatter(spread * (counts[k] - draft.less), (each[k],), where, draft.unit, said))
    rows = sum(counts)
    return replace(
        draft,
        rows=RowCount(rows, rows),
        models=(class_rows(counts, draft.classes, draft.label),),
        means=tuple(
            ColumnMean(feature.name, float(means[k, i]), n, n, ((draft.label, equals(value)),), draft.unit,
                       f"{feature.name} in class {value}")
            for k, (value, n) in enumerate(zip(draft.classes, counts, strict=True))
            for i, feature in enumerate(draft.features)
        ),
        scatters=tuple(scatters),
    )  # fmt: skip


def _table(value: Any, shape: Sequence[int], place: str) -> Floats:
    """Return a table of finite numbers of a shape; `ReleaseError` naming the attribute."""
    found = resolve(value)
    if not isinstance(found, np.ndarray) or found.shape != tuple(shape) or found.dtype.kind != "f":
        raise ReleaseError(f"is not a table of {' x '.join(map(str, shape))} numbers", place=place)
    if not np.isfinite(found).all():
        raise ReleaseError(f"holds {float(found[~np.isfinite(found)][0])}", place=place)
    return found.astype(np.float64)


def _unit_of(values: Floats) -> Fraction:
    """Return how far numbers were rounded: numbers that are all of 32 bits may be of columns of 32 bits."""
    return SINGLE if bool((values == values.astype(np.float32)).all()) else DOUBLE


def read(thing: Thing, form: str) -> Draft:
    """Return the sums that means and covariances of a fitted model stand for. Cost: quadratic in the columns.

    Raises `ReleaseError` naming the attribute that is broken, `Unsupported` for priors that were given.
    """
    names, named = feature_names(thing)
    if thing.class_name == "PCA":
        return _of_components(thing, names, named, form)
    classes = class_values(thing)
    priors = resolve(thing.get("priors_"))
    if thing.get("priors") is not None:
        raise Unsupported("its priors were given, and are no shares of the rows: sums per class do not follow")
    shares = _table(priors, (len(classes),), "priors_")
    means = _table(thing.get("means_"), (len(classes), len(names)), "means_")
    spread, why = (_pooled if thing.class_name.startswith("Linear") else _of_classes)(thing, len(names), len(classes))
    label = free_label(names)
    unused = (UnusedPublication("the covariance", why, labels=True, about="columns"),) if why else ()
    return ScatterDraft(
        Provenance(f"scikit-learn {thing.class_name} ({form})", ("exact",), (UNWEIGHTED,), unused=unused),
        tuple(Feature(name, name) for name in names),
        (),
        classes,
        label,
        None,
        {name: Continuous(name) for name in names},
        named=named,
        shares=tuple(shares.tolist()),
        class_means=means,
        spread=spread,
        pooled=thing.class_name.startswith("Linear"),
        less=_fewer_rows(thing),
        unit=_unit_of(means),
    )


def _fewer_rows(thing: Thing) -> int:
    """Return how many rows less than its own a class's covariance is over: none from scikit-learn 1.9 on, else one."""
    return 0 if fitted_by(thing) >= (1, 9) else 1


def _pooled(thing: Thing, size: int, _: int) -> tuple[tuple[Floats, ...], str]:
    """Return the pooled covariance of a linear analysis, or why it is not known."""
    if thing.get("covariance_") is None:
        return (), NO_COVARIANCE
    if thing.get("shrinkage") is not None or thing.get("covariance_estimator") is not None:
        return (), SHRUNK
    return (_table(thing.get("covariance_"), (size, size), "covariance_"),), ""


def _of_classes(thing: Thing, size: int, classes: int) -> tuple[tuple[Floats, ...], str]:
    """Return the covariance of every class of a quadratic analysis, from its axes, or why it is not known."""
    axes, lengths, drawn = thing.get("rotations_"), thing.get("scalings_"), thing.get("reg_param", 0.0)
    if not isinstance(axes, list) or not isinstance(lengths, list) or len(axes) != classes or len(lengths) != classes:
        raise ReleaseError("has not the axes of every class: the model is not fitted", place="rotations_")
    if not thing.get("_sklearn_version"):
        return (), "the version of scikit-learn, which says over how many rows it is, is not stored"
    if drawn or thing.get("shrinkage") is not None or thing.get("solver", "svd") != "svd":
        return (), SHRUNK
    out = []
    for axis, length in zip(axes, lengths, strict=True):
        long = resolve(length)
        kept = len(long) if isinstance(long, np.ndarray) and long.ndim == 1 else -1
        if kept != size:
            return (), NOT_WHOLE.format(max(kept, 0), size)
        root = _table(axis, (size, size), "rotations_")
        out.append((root * _table(length, (size,), "scalings_")) @ root.T)
    return tuple(out), ""


def _of_components(thing: Thing, names: Sequence[str], named: bool, form: str) -> Draft:
    """Return the sums of a principal component analysis."""
    rows = thing.get("n_samples_")
    if not isinstance(rows, (int, np.integer)) or not 1 < rows < 1 << 40:
        raise ReleaseError(f"{rows} is not a number of rows", place="n_samples_")
    rows, size = int(rows), len(names)
    means, lengths = _table(thing.get("mean_"), (size,), "mean_"), resolve(thing.get("explained_variance_"))
    kept = len(lengths) if isinstance(lengths, np.ndarray) and lengths.ndim == 1 else 0
    unit, scatters, unused = _unit_of(means), tuple[Scatter, ...](), tuple[UnusedPublication, ...]()
    solver = thing.get("_fit_svd_solver", thing.get("svd_solver"))
    if kept == size and solver in {"full", "covariance_eigh"}:
        axes = _table(thing.get("components_"), (size, size), "components_")
        spread = (axes.T * _table(lengths, (size,), "explained_variance_")) @ axes * (rows - 1)
        scatters = (Scatter(spread, ((rows, means),), unit=unit),)
    else:
        why = NOT_WHOLE.format(kept, size) if kept < size else f"the solver {solver} finds components approximately"
        unused = (UnusedPublication("the covariance", why, about="columns"),)
    return ScatterDraft(
        Provenance(f"scikit-learn PCA ({form})", ("exact",), (UNWEIGHTED,), unused=unused),
        tuple(Feature(name, name) for name in names),
        (Table((PublishedFigure((), count=rows, name="all rows"),), "rows"),),
        rows=RowCount(rows, rows),
        hints={name: Continuous(name) for name in names},
        named=named,
        means=tuple(
            ColumnMean(name, float(m), rows, rows, unit=unit, name=name)
            for name, m in zip(names, means.tolist(), strict=True)
        ),
        scatters=scatters,
    )


def discriminant_object(root: RObject) -> RObject | None:
    """Return the only `lda` or `qda` of MASS in an R object, None where there is none, or others as well."""
    models = models_in(root)
    wanted = {"means", "counts", "N", "scaling"}
    found = [m.value for m in models if m.value.classes[0] in {"lda", "qda"} and wanted <= named_parts(m.value).keys()]
    return found[0] if len(found) == 1 == len(models) else None


def read_discriminant_rds(value: RObject) -> Draft:
    """Return the sums of columns in every class of an analysis of MASS, of `qda` those of products too.

    Raises `Unsupported` for robust methods, `ReleaseError` for parts that are broken.
    """
    parts, kind = named_parts(value), value.classes[0]
    if "method" in dict(parts.get("call", NOTHING).parts):
        raise Unsupported("an analysis by another method than moments is not read: its means weigh the rows")
    means = np.array(matrix(parts["means"], "means"))
    counts = [int(str(v)) for v in vector(parts["counts"], "counts")]
    held = attribute(parts["means"], "dimnames").values or []
    if len(held) != 2 or means.shape[0] != len(counts) or not np.isfinite(means).all():
        raise ReleaseError("has no mean of every column in every class", place="means")
    texts, names = ([str(v) for v in vector(one, "dimnames(means)")] for one in held)
    size, spread, why, condition = len(names), list[Floats](), NO_COVARIANCE.partition(" (")[0], 1.0
    if kind == "qda":
        roots = np.array([float(str(v)) for v in vector(parts["scaling"], "scaling")])
        if roots.size != size * size * len(counts) or not np.isfinite(roots).all():
            raise ReleaseError("is not a root of every class's covariance", place="scaling")
        why = ""
        for root in roots.reshape((len(counts), size, size)).transpose(0, 2, 1):
            inner = np.linalg.inv(root)
            condition = max(condition, float(np.linalg.cond(root)))
            spread.append(inner.T @ inner)
    label = free_label(names)
    unused = (UnusedPublication("the covariance", why, labels=True, about="columns"),) if why else ()
    draft = ScatterDraft(
        Provenance(f"R MASS {kind} object (.rds)", ("exact",), (UNWEIGHTED,), unused=unused),
        tuple(Feature(name, name) for name in names),
        (),
        texts_or_numbers(texts),
        label,
        None,
        {name: Continuous(name) for name in names},
        shares=tuple(n / sum(counts) for n in counts),
        class_means=means,
        spread=tuple(spread),
    )
    found = _with_counts(draft, counts)
    return replace(found, scatters=tuple(replace(one, condition=condition * size) for one in found.scatters))
