"""The transformers of scikit-learn that make every column from one raw column, read without running them.

Sources: `transform` of each class in sklearn/preprocessing, sklearn/impute, sklearn/compose and
sklearn/feature_selection, versions 1.0 to 1.9. What mixes columns, or gives training rows other values than later ones
(TargetEncoder), is refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Cell, is_number
from encoders.models.models import ColumnFigures
from recon.readers.formats.sklearn.pipelines.binding import Hints
from recon.readers.formats.sklearn.pipelines.columns import (
    Above,
    Binned,
    ByQuantiles,
    GapIndicator,
    Imputed,
    InBin,
    ScaledMap,
    StepColumn,
)
from recon.readers.formats.sklearn.pipelines.encoders import one_hot, ordinal_codes, plain_category
from recon.readers.formats.sklearn.trees.settings import fitted_by
from recon.readers.formats.sklearn.trees.trees import feature_names
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported

Columns = list[StepColumn]
MAX_COLUMNS = 200_000
MAX_WORK = 3_000_000  # columns through all steps: a file can name one step many times
DEEPEST = 20
PIPELINES = ("Pipeline", "PMMLPipeline")  # sklearn2pmml's adds what it writes beside the model
SEEN = ("feature_names_in_", "n_features_in_", "n_features_")  # say how many columns there were
PER_COLUMN = ("scale_", "mean_", "center_", "data_min_", "statistics_")
CONSTANT = [-math.inf, math.inf]  # the edges of the one bin of a column with one value
UNPUSHED = (1, 1)  # the version from which KBinsDiscretizer takes values as they are (scikit-learn #22526)
ADVICE = "fit the model on the columns that come out of it, or leave it out"
MIXING = (
    "PCA IncrementalPCA KernelPCA TruncatedSVD FastICA NMF PolynomialFeatures Normalizer KNNImputer IterativeImputer "
    "Nystroem RBFSampler LinearDiscriminantAnalysis"
)
WHY_NOT = dict.fromkeys(MIXING.split(), "it does not make every column from one column alone") | {
    "PowerTransformer": "its powers are not turned back into the values of a column",
    "SplineTransformer": "its splines are not turned back into the values of a column",
    "TargetEncoder": "it gives training rows other codes than later ones",
    "SelectFromModel": "which columns it keeps is not stored",
    "FunctionTransformer": "its function is code, which is not run",
}


def columns_after(step: Any, columns: Columns, hints: Hints, place: str, depth: int = 0) -> Columns:
    """Return the columns after a step of a pipeline.

    Raises `Unsupported` naming a step that is not read, `ReleaseError` where it does not fit its columns.
    """
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return columns
    if not isinstance(step, Thing):
        raise ReleaseError(f"is not a transformer but a {type(step).__name__}", place=place)
    hints.work += 1 + sum(1 + len(c.maps) for c in columns)
    if depth > DEEPEST or hints.work > MAX_WORK:
        raise ReleaseError("pipelines are nested too deeply, or have too many columns", place=place)
    if step.kind.startswith("imblearn."):
        raise Unsupported(
            f"{place}: {step.class_name} makes up, copies or drops rows before the fit: what the model counts "
            "are not the training rows. Fit it without that step to have it read"
        )
    read = STEPS.get(step.class_name) or PARTS.get(step.class_name)
    if read is None or step.get("func") is not None:
        why = WHY_NOT.get(step.class_name, "recon does not know how it makes its columns")
        raise Unsupported(f"the step '{place}' ({step.class_name}) is not read, because {why}: {ADVICE}")
    number = step.get("n_features_in_", len(columns))
    if number != len(columns):
        raise ReleaseError(f"does not take the {len(columns)} columns that it gets", place=place)
    if step.class_name in PARTS:
        out = PARTS[step.class_name](step, columns, hints, place, depth + 1)
    else:
        out = STEPS[step.class_name](step, columns, hints, place)
    if len(out) > MAX_COLUMNS:
        raise ReleaseError(f"gives more than {MAX_COLUMNS:,} columns", place=place)
    return out


def steps_of(thing: Thing, name: str, width: int, place: str) -> list[tuple[Any, ...]]:
    """Return the named parts of a pipeline, a union or a ColumnTransformer."""
    found = thing.get(name)
    if not isinstance(found, list) or not found:
        raise ReleaseError(f"has no {name}: it is not fitted, or a version that is not known wrote it", place=place)
    for part in found:
        if not isinstance(part, tuple) or len(part) != width or not isinstance(part[0], str):
            raise ReleaseError(f"has {name} that are no named steps", place=place)
    return found


def _nested(thing: Thing, columns: Columns, hints: Hints, place: str, depth: int) -> Columns:
    """Return the columns after a pipeline of transformers."""
    for name, step in steps_of(thing, "steps", 2, place):
        columns = columns_after(step, columns, hints, f"{place}.{name[:60]}", depth)
    return columns


def _union(thing: Thing, columns: Columns, hints: Hints, place: str, depth: int) -> Columns:
    """Return the columns of all parts of a FeatureUnion, one after the other."""
    out: Columns = []
    for name, step in steps_of(thing, "transformer_list", 2, place):
        if not (isinstance(step, str) and step == "drop"):
            found = columns_after(step, columns, hints, f"{place}.{name[:60]}", depth)
            out += _weighted_columns(
                thing, name, [StepColumn(f"{name}__{c.name}", c.source, c.maps) for c in found], place
            )
    return out


def _parted(thing: Thing, columns: Columns, hints: Hints, place: str, depth: int) -> Columns:
    """Return the columns of all parts of a ColumnTransformer, one after the other."""
    out: Columns = []
    prefixed = thing.get("verbose_feature_names_out", True) is True
    for name, step, chosen in steps_of(thing, "transformers_", 3, place):
        inside = f"{place}.{name[:60]}"
        if isinstance(step, str) and step == "drop":
            continue
        taken = [columns[i] for i in _indices_of(thing, name, chosen, len(columns), inside)]
        if taken:
            found = columns_after(step, taken, hints, inside, depth)
            found = [StepColumn(f"{name}__{c.name}", c.source, c.maps) for c in found] if prefixed else found
            out += _weighted_columns(thing, name, found, place)
        if len(out) > MAX_COLUMNS:
            raise ReleaseError(f"gives more than {MAX_COLUMNS:,} columns", place=place)
    return out


def _indices_of(thing: Thing, name: str, chosen: Any, number: int, place: str) -> list[int]:
    """Return the numbers of the columns that one part gets."""
    known = thing.get("_transformer_to_input_indices")
    if isinstance(known, dict) and name in known:
        chosen = known[name]
    if isinstance(chosen, slice):
        raise Unsupported(
            f"{place}: the version of scikit-learn is too old (before 1.0): save the model with a newer one"
        )
    found = chosen.tolist() if isinstance(chosen, np.ndarray) else chosen
    if not isinstance(found, list):
        raise ReleaseError("does not say which columns it gets", place=place)
    if not all(isinstance(i, int) and not isinstance(i, bool) and 0 <= i < number for i in found):
        raise ReleaseError(f"gets columns that are none of the {number}", place=place)
    return found


def _weighted_columns(thing: Thing, name: str, columns: Columns, place: str) -> Columns:
    """Return the columns times the part's weight, where it has one."""
    weights = thing.get("transformer_weights")
    if weights is None:
        return columns
    weight = weights.get(name) if isinstance(weights, dict) else math.nan
    if weight is None:
        return columns
    if not isinstance(weight, (int, float)) or not 0 < weight < 1e300:
        raise ReleaseError("has a weight that is not a positive number", place=f"{place}.transformer_weights")
    return [c.then(ScaledMap(multiply=float(weight))) for c in columns]


def _flag(thing: Thing, name: str, default: bool, place: str) -> bool:
    """Return a setting that is true or false."""
    found = thing.get(name, default)
    if not isinstance(found, (bool, int)):
        raise ReleaseError("is neither true nor false", place=f"{place}.{name}")
    return bool(found)


def word(thing: Thing, name: str) -> str:
    """Return a setting that is a word, "" where it is something else."""
    found = thing.get(name)
    return found if isinstance(found, str) else ""


def _figures(thing: Thing, name: str, number: int, place: str) -> list[float]:
    """Return one finite number per column."""
    found = thing.get(name)
    if not isinstance(found, np.ndarray) or found.shape != (number,) or found.dtype.kind not in "biuf":
        raise ReleaseError(f"has not one number per column ({number})", place=f"{place}.{name}")
    if not np.isfinite(found).all():
        raise ReleaseError("has numbers that are not finite", place=f"{place}.{name}")
    return [float(x) for x in found.tolist()]


def _divisors(thing: Thing, number: int, place: str) -> list[float]:
    """Return the scale of every column: positive numbers."""
    found = _figures(thing, "scale_", number, place)
    if any(scale <= 0 for scale in found):
        raise ReleaseError("has a scale that is not positive", place=f"{place}.scale_")
    return found


def _standard(thing: Thing, columns: Columns, hints: Hints, place: str) -> Columns:
    """Return (x - mean) / scale (StandardScaler), (x - centre) / scale (RobustScaler)."""
    robust, number = thing.class_name == "RobustScaler", len(columns)
    centring = _flag(thing, "with_centering" if robust else "with_mean", True, place)
    scaling = _flag(thing, "with_scaling" if robust else "with_std", True, place)
    shifts = _figures(thing, "center_" if robust else "mean_", number, place) if centring else [None] * number
    scales = _divisors(thing, number, place) if scaling else [None] * number
    hints.floats = True
    if not robust:
        _moments(thing, columns, hints, place)
    for column, middle in zip(columns, shifts, strict=True) if robust else ():
        if middle is not None:
            hints.state(column, thing, "center_", ColumnFigures("", f"{place}.center_", quantiles=((1, 2, middle),)))
    return [c.then(ScaledMap(subtract=s, divide=d)) for c, s, d in zip(columns, shifts, scales, strict=True)]


def _moments(thing: Thing, columns: Columns, hints: Hints, place: str) -> None:
    """Note means and variances of columns, where the scales are the roots of the variances."""
    number, seen = len(columns), thing.get("n_samples_seen_")
    counts = seen.tolist() if isinstance(seen, np.ndarray) and seen.shape == (number,) else [seen] * number
    means, squares = (_doubles(thing.get(name), number) for name in ("mean_", "var_"))
    if means is None or not all(
        isinstance(n, (int, float)) and n > 0 and (isinstance(n, int) or n.is_integer()) for n in counts
    ):
        return
    scales = thing.get("scale_")
    if squares is not None and scales is not None:
        roots = np.sqrt(squares)
        same = np.isclose(scales, roots, rtol=1e-12, atol=0) | (np.asarray(scales) == 1)
        if not same.all():
            return  # predictions and variances are of different data
    for i, column in enumerate(columns):
        variance = None if squares is None else float(squares[i])
        found = ColumnFigures("", f"{place}.mean_", rows=int(counts[i]), mean=float(means[i]), variance=variance)
        hints.state(column, thing, "mean_ var_ scale_ n_samples_seen_", found)


def _doubles(stored: Any, number: int) -> NDArray[np.float64] | None:
    """Return one finite 64-bit number per column, None for anything else."""
    if not isinstance(stored, np.ndarray) or stored.shape != (number,) or stored.dtype != np.float64:
        return None
    return stored if np.isfinite(stored).all() else None


def _min_max(thing: Thing, columns: Columns, hints: Hints, place: str) -> Columns:
    """Return x * scale + min, clipped where the setting says so."""
    number, clip, clipped = len(columns), thing.get("feature_range", (0, 1)), _flag(thing, "clip", False, place)
    if not isinstance(clip, (tuple, list)) or len(clip) != 2 or not all(isinstance(x, (int, float)) for x in clip):
        raise ReleaseError("has a range that is not a pair of numbers", place=f"{place}.feature_range")
    ends = (float(clip[0]), float(clip[1])) if clipped else None
    lows, highs = _figures(thing, "data_min_", number, place), _figures(thing, "data_max_", number, place)
    for column, low, high in zip(columns, lows, highs, strict=True):
        hints.ranged(column, low, high)
    hints.floats = True
    hints.reader_notes["ranges of scaled columns are those of the training data (MinMaxScaler)"] = None
    scales, shifts = _divisors(thing, number, place), _figures(thing, "min_", number, place)
    spans = np.array(highs) - np.array(lows)
    follow = (clip[1] - clip[0]) / np.where(spans == 0, 1, spans)
    if np.isclose(scales, follow, rtol=1e-12).all() and np.isclose(shifts, clip[0] - np.array(lows) * follow).all():
        for column, low, high in zip(columns, lows, highs, strict=True):
            found = ColumnFigures("", f"{place}.data_min_", least=low, greatest=high)
            hints.state(column, thing, "data_min_ data_max_ data_range_ scale_ min_", found)
    return [c.then(ScaledMap(multiply=m, add=a, clip=ends)) for c, m, a in zip(columns, scales, shifts, strict=True)]


def _max_abs(thing: Thing, columns: Columns, hints: Hints, place: str) -> Columns:
    """Return x / scale, clipped where the setting says so."""
    for column, maximum in zip(columns, _figures(thing, "max_abs_", len(columns), place), strict=True):
        hints.ranged(column, -maximum, maximum)
        hints.state(column, thing, "max_abs_ scale_", ColumnFigures("", f"{place}.max_abs_", largest=maximum))
    hints.floats = True
    hints.reader_notes["no scaled column is larger in size than the largest of the training data (MaxAbsScaler)"] = None
    ends = (-1.0, 1.0) if _flag(thing, "clip", False, place) else None
    return [
        c.then(ScaledMap(divide=d, clip=ends))
        for c, d in zip(columns, _divisors(thing, len(columns), place), strict=True)
    ]


def _bins(thing: Thing, columns: Columns, hints: Hints, place: str) -> Columns:
    """Return the bin of every column, or a column per bin."""
    stored, encode = thing.get("bin_edges_"), word(thing, "encode")
    if encode not in {"ordinal", "onehot", "onehot-dense"}:
        raise ReleaseError("has an encoding that no version knows", place=f"{place}.encode")
    kind = thing.get("dtype")
    if kind is not None and str(kind) not in {"numpy.float64", "float64"}:
        raise Unsupported(f"the step '{place}' bins 32-bit numbers: leave its dtype to the default")
    rows = list(stored) if isinstance(stored, (list, np.ndarray)) else []
    if len(rows) != len(columns):
        raise ReleaseError("has not one set of edges per column", place=f"{place}.bin_edges_")
    out, pushed = [], (0, 0) < fitted_by(thing) < UNPUSHED
    hints.floats = True
    every = [_edges_of(row, f"{place}.bin_edges_") for row in rows]
    _edges_stated(thing, columns, every, hints, place)
    hints.reader_notes[
        "ranges of binned columns are those of the rows that the bins were made of (KBinsDiscretizer)"
    ] = None
    for column, edges in zip(columns, every, strict=True):
        binned = column.then(Binned(tuple(edges[1:-1]), pushed))
        hints.ranged(column, edges[0], edges[-1], _sample_size(thing))
        if encode == "ordinal":
            out.append(binned)
            continue
        number = len(edges) - 1
        out += [binned.then(InBin(k, number), f"{column.name}_{float(k)}") for k in range(number)]
    return out


def _edges_stated(thing: Thing, columns: Columns, edges: Sequence[list[float]], hints: Hints, place: str) -> None:
    """Note the extremes and quantiles that edges of bins are, where no bin was left out."""
    strategy, asked = word(thing, "strategy"), thing.get("n_bins")
    each = asked.tolist() if isinstance(asked, np.ndarray) else asked
    each = each if isinstance(each, list) and len(each) == len(edges) else [each] * len(edges)
    if strategy == "uniform":
        known = [one != CONSTANT and np.array_equal(one, np.linspace(one[0], one[-1], len(one))) for one in edges]
    else:
        known = [strategy == "quantile" and len(one) - 1 == n for one, n in zip(edges, each, strict=True)]
    for column, one in ((c, one) for c, one, kept in zip(columns, edges, known, strict=True) if kept):
        inner = [(j, len(one) - 1, x) for j, x in enumerate(one)][1:-1] if strategy == "quantile" else []
        found = ColumnFigures(
            "", f"{place}.bin_edges_", least=one[0], greatest=one[-1], quantiles=tuple(inner), drawn=_sample_size(thing)
        )
        hints.state(column, thing, "bin_edges_ n_bins_", found)


def _sample_size(thing: Thing) -> int | None:
    """Return the number of rows of the sample that figures are of where there are more, None where they are of all."""
    found = thing.get("subsample")
    return int(found) if is_number(found) else None


def _quantiles(thing: Thing, columns: Columns, hints: Hints, place: str) -> Columns:
    """Return the share of the rows below each value, of a uniform or a normal distribution (QuantileTransformer)."""
    stored, places = thing.get("quantiles_"), thing.get("references_")
    shape = (len(places), len(columns)) if isinstance(places, np.ndarray) and places.ndim == 1 else None
    if not isinstance(stored, np.ndarray) or stored.shape != shape or stored.dtype.kind != "f" or len(stored) < 2:
        raise ReleaseError("has not one list of quantiles per column", place=f"{place}.quantiles_")
    if not np.isfinite(stored).all() or (np.diff(stored, axis=0) < 0).any():
        raise ReleaseError("has quantiles that do not ascend", place=f"{place}.quantiles_")
    normal, hints.floats = word(thing, "output_distribution") == "normal", True
    parts, asked, out = len(stored) - 1, thing.get("n_quantiles"), []
    even = np.array_equal(places, np.linspace(0, 1, len(stored)))
    every = isinstance(asked, int) and len(stored) < asked  # fewer quantiles than were asked for: one for each row
    for column, mine in zip(columns, stored.T.tolist(), strict=True):
        figures = ColumnFigures(
            "", f"{place}.quantiles_", rows=parts + 1 if every else None, least=mine[0], greatest=mine[-1],
            quantiles=tuple((j, parts, x) for j, x in enumerate(mine))[1:-1],
            drawn=None if every else _sample_size(thing),
        )  # fmt: skip
        if even and thing.get("ignore_implicit_zeros") is not True:
            hints.state(column, thing, "quantiles_ references_ n_quantiles_", figures)
        hints.ranged(column, mine[0], mine[-1], figures.drawn)
        out.append(column.then(ByQuantiles(tuple(mine), tuple(places.tolist()), normal)))
    return out


def _edges_of(row: Any, place: str) -> list[float]:
    """Return the edges of one column's bins, ascending."""
    if not isinstance(row, np.ndarray) or row.ndim != 1 or len(row) < 2 or row.dtype.kind not in "iuf":
        raise ReleaseError("has a column without edges", place=place)
    found = [float(x) for x in row.tolist()]
    if found != CONSTANT and (not np.isfinite(row).all() or (np.diff(row) < 0).any()):
        raise ReleaseError("has edges that do not ascend", place=place)
    return found


def _imputed(thing: Thing, columns: Columns, hints: Hints, place: str) -> Columns:
    """Return the columns with their gaps filled, then a column per gap that the step tells."""
    stored, mark = thing.get("statistics_"), _gap_mark(thing, place)
    if not isinstance(stored, np.ndarray) or stored.shape != (len(columns),):
        raise ReleaseError("has not one value to fill in per column", place=f"{place}.statistics_")
    constant = word(thing, "strategy") == "constant"
    indicated = _indicated_columns(thing, columns, place) if _flag(thing, "add_indicator", False, place) else None
    out = []
    _fills_stated(thing, columns, stored.tolist(), mark, hints, place)
    for i, (column, fill) in enumerate(zip(columns, stored.tolist(), strict=True)):
        if mark is None and column.near:
            gap = indicated is None or i in indicated
            hints.gaps[column.source] = hints.gaps.get(column.source, False) or gap
        if isinstance(fill, float) and math.isnan(fill):
            if constant or _flag(thing, "keep_empty_features", False, place):
                raise Unsupported(f"the step '{place}' fills gaps with NaN: leave it out")
            continue  # a column without any value is dropped
        out.append(column.then(Imputed(plain_category(fill, f"{place}.statistics_"), mark, constant)))
    return [
        *out,
        *(columns[i].then(GapIndicator(mark), f"missingindicator_{columns[i].name}") for i in indicated or ()),
    ]


def _fills_stated(thing: Thing, columns: Columns, fills: Sequence[Any], mark: Cell, hints: Hints, place: str) -> None:
    """Note the mean, the median or the commonest value that gaps are filled with, where gaps are NaN."""
    strategy = word(thing, "strategy")
    if mark is not None or strategy not in {"mean", "median", "most_frequent"}:
        return
    if any(isinstance(v, float) and not math.isfinite(v) for v in fills):
        return
    for column, fill in zip(columns, fills, strict=True):
        found = ColumnFigures("", f"{place}.statistics_")
        if strategy == "most_frequent":
            found = replace(found, commonest=plain_category(fill, f"{place}.statistics_"))
        elif not isinstance(fill, (int, float)):
            return
        elif strategy == "mean":
            found = replace(found, mean=float(fill))
        else:
            found = replace(found, quantiles=((1, 2, float(fill)),))
        hints.state(column, thing, "statistics_", found)


def _gap_mark(thing: Thing, place: str) -> Cell:
    """Return the value that marks a gap, None where gaps are NaN, None or NA."""
    mark = thing.get("missing_values", math.nan)
    if mark is None or (isinstance(mark, float) and math.isnan(mark)):
        return None
    if isinstance(mark, (Thing, Name)):
        if mark.class_name.startswith("NA") if isinstance(mark, Thing) else mark.name.startswith("NA"):
            return None
        raise ReleaseError("marks gaps by an object", place=f"{place}.missing_values")
    return plain_category(mark, f"{place}.missing_values")


def _indicated_columns(thing: Thing, columns: Sequence[StepColumn], place: str) -> list[int]:
    """Return the columns of which an imputer's indicator tells the gaps."""
    indicator = thing.get("indicator_")
    if not isinstance(indicator, Thing):
        raise ReleaseError("has no indicator", place=f"{place}.indicator_")
    return _kept_indices(indicator, len(columns), f"{place}.indicator_")


def _kept_indices(indicator: Thing, number: int, place: str) -> list[int]:
    """Return the numbers of the columns that a MissingIndicator tells of."""
    found = indicator.get("features_")
    if not isinstance(found, np.ndarray) or found.ndim != 1 or found.dtype.kind not in "iu":
        raise ReleaseError("does not say of which columns it tells gaps", place=place)
    if len(found) and not 0 <= found.min() <= found.max() < number:
        raise ReleaseError(f"tells of columns that are none of the {number}", place=place)
    return [int(i) for i in found.tolist()]


def _indicated(thing: Thing, columns: Columns, hints: Hints, place: str) -> Columns:
    """Return a column per gap that is told (MissingIndicator)."""
    mark, kept = _gap_mark(thing, place), _kept_indices(thing, len(columns), place)
    for i in kept if mark is None else ():
        if columns[i].near:
            hints.gaps[columns[i].source] = True
    return [columns[i].then(GapIndicator(mark), f"missingindicator_{columns[i].name}") for i in kept]


def _binarized(thing: Thing, columns: Columns, hints: Hints, place: str) -> Columns:
    """Return 1 above the threshold, else 0."""
    threshold = thing.get("threshold", 0.0)
    if not isinstance(threshold, (int, float)) or not abs(threshold) < 1e300:
        raise ReleaseError("has a threshold that is not a number", place=f"{place}.threshold")
    hints.floats = True
    return [c.then(Above(float(threshold))) for c in columns]


def _selected_columns(thing: Thing, columns: Columns, hints: Hints, place: str) -> Columns:
    """Return the columns that a selection keeps."""
    mask = _support(thing, len(columns), place)
    return [c for c, kept in zip(columns, mask.tolist(), strict=True) if kept]


def _support(thing: Thing, number: int, place: str) -> NDArray[np.bool_]:
    """Return which columns a selection keeps, as the library works it out from what it stores."""
    kind = thing.class_name
    if kind in {"RFE", "RFECV", "SequentialFeatureSelector"}:
        return np.array(_figures(thing, "support_", number, place)) > 0
    settings = {"VarianceThreshold": "threshold", "SelectKBest": "k", "SelectPercentile": "percentile"}
    value = thing.get(settings.get(kind, "alpha"))
    if kind == "SelectKBest" and isinstance(value, str) and value == "all":
        return np.ones(number, dtype=bool)
    if not isinstance(value, (int, float)) or not 0 <= value < 1e300:
        raise ReleaseError(f"has a setting {settings.get(kind, 'alpha')} that is not a number", place=place)
    if kind == "VarianceThreshold":
        return np.array(_figures(thing, "variances_", number, place)) > value
    name = "scores_" if kind in {"SelectKBest", "SelectPercentile"} else "pvalues_"
    stored = thing.get(name)
    if not isinstance(stored, np.ndarray) or stored.shape != (number,) or stored.dtype.kind != "f":
        raise ReleaseError(f"has not one number per column ({number})", place=f"{place}.{name}")
    if name == "pvalues_":
        return _by_p_value(kind, stored, float(value))
    scores = np.where(np.isnan(stored), np.finfo(stored.dtype).min, stored)
    mask = np.zeros(number, dtype=bool)
    if kind == "SelectKBest":
        if value:
            mask[np.argsort(scores, kind="mergesort")[-int(min(value, number)) :]] = True
        return mask
    with np.errstate(invalid="ignore"):
        threshold = np.percentile(scores, 100 - value)
    mask = np.asarray(scores > threshold)
    mask[np.flatnonzero(scores == threshold)[: max(0, int(number * value / 100) - int(mask.sum()))]] = True
    return mask


def _by_p_value(kind: str, values: NDArray[np.float64], alpha: float) -> NDArray[np.bool_]:
    """Return the columns whose p-value passes: each alone (Fpr), by Benjamini-Hochberg (Fdr), by Bonferroni (Fwe)."""
    if kind == "SelectFpr":
        return np.asarray(values < alpha)
    if kind == "SelectFwe":
        return np.asarray(values < alpha / max(1, len(values)))
    ordered = np.sort(values)
    chosen = ordered[ordered <= alpha / max(1, len(values)) * np.arange(1, len(values) + 1)]
    return np.asarray(values <= chosen.max()) if len(chosen) else np.zeros(len(values), dtype=bool)


def _unchanged(thing: Thing, columns: Columns, hints: Hints, place: str) -> Columns:
    """Return the columns as they are (FunctionTransformer without a function)."""
    return columns


Step = Callable[[Thing, Columns, Hints, str], Columns]
STEPS: dict[str, Step] = {
    "OneHotEncoder": one_hot,
    "OrdinalEncoder": ordinal_codes,
    "KBinsDiscretizer": _bins,
    "StandardScaler": _standard,
    "RobustScaler": _standard,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
    "QuantileTransformer": _quantiles,
    "SimpleImputer": _imputed,
    "MissingIndicator": _indicated,
    "Binarizer": _binarized,
    "FunctionTransformer": _unchanged,
    **dict.fromkeys(("VarianceThreshold", "SelectKBest", "SelectPercentile"), _selected_columns),
    **dict.fromkeys(("SelectFpr", "SelectFdr", "SelectFwe"), _selected_columns),
    **dict.fromkeys(("RFE", "RFECV", "SequentialFeatureSelector"), _selected_columns),
}
PARTS: dict[str, Callable[[Thing, Columns, Hints, str, int], Columns]] = {
    "Pipeline": _nested,
    "FeatureUnion": _union,
    "ColumnTransformer": _parted,
}


def raw_names(steps: Sequence[Any]) -> tuple[list[str], bool]:
    """Return the names of the raw columns, and whether the file has them: the first step that knows says it."""
    for first in steps:
        step = first
        for _ in range(DEEPEST):
            if not isinstance(step, Thing) or step.class_name not in {*PIPELINES, "FeatureUnion"}:
                break
            parts = steps_of(step, "steps" if step.class_name in PIPELINES else "transformer_list", 2, "Pipeline")
            step = next((part for _, part in parts if isinstance(part, Thing)), None)
        if isinstance(step, Thing) and any(map(step.has, SEEN)):
            return feature_names(step)
        if isinstance(step, Thing) and (number := _array_length(step)):
            return [f"x{i}" for i in range(number)], False
    raise ReleaseError(
        "no step of the pipeline says how many columns it was fitted on: a scikit-learn before 0.24 wrote it, or it is "
        "not fitted. Store the last step alone: the model is read with the columns that the steps before it make"
    )


def _array_length(step: Thing) -> int:
    """Return how many columns a scaler or imputer of a scikit-learn before 0.24 has figures of, 0 where unknown."""
    arrays = [a for name in PER_COLUMN if isinstance(a := step.get(name), np.ndarray) and a.ndim == 1]
    return len(arrays[0]) if arrays else 0
