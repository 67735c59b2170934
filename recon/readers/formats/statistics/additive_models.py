"""Explainable Boosting Machines of interpret: how many rows are in each bin of every column and pair of columns.

Every term keeps the weight of the training rows in each of its bins (`bin_weights_`), those of missing values first and
of values never seen last; without weights these are counts. A column's bins separate all its values up to 1,024 of
them, those of a pair up to 64. Beside them stand the rows of about twenty bins of equal width (`histogram_weights_`),
and the least and the greatest value of every column. Read are the stored objects, and `to_json` at the levels of detail
that hold counts ("minimal" holds none). Every term is a tree whose leaves count rows; bins without rows are put
together.

Sources: interpret 0.7.8, glassbox/_ebm/_bin.py, _json.py and utils/_preprocessor.py; Nori, Jenkins, Koch, Caruana,
"InterpretML: a unified framework for machine learning interpretability", arXiv:1909.09223, 2019.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition
from encoders.domain.values import AnyAttribute, Categorical, Continuous, Grid, Test, Value, exact
from encoders.models.models import AnyModel, Forest, Provenance, PublishedFigure, Table, Tree, UnusedPublication
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.io.files.opening import current
from recon.readers.formats.drafts.binding import IS_MISSING, Binder, Feature
from recon.readers.formats.drafts.drafts import Draft, bind
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, TooLarge, Unsupported
from solvers.statements.release import RowCount

KINDS = ("ExplainableBoostingClassifier", "ExplainableBoostingRegressor",
         "DPExplainableBoostingClassifier", "DPExplainableBoostingRegressor")  # fmt: skip
FORMAT = "Explainable Boosting Machine"
VERSION = "1.0"
LARGEST = 1 << 53
MAX_CELLS = 20_000_000  # bins of all terms together
MAX_NODES = 3_000_000
UNNAMED = re.compile(r"feature_\d{4,}")
NOT_WEIGHTED = "the rows were fitted without weights: weights that are all whole numbers look like counts of rows"

DIFFERENT = UnusedPublication(
    "how many different values columns have, scores of terms and of bags",
    "no statement is made of them (which rows a bag held follows from random_state, 42 unless it was set)",
    about="columns",
)
NO_EDGES = UnusedPublication("histogram_weights", "JSON does not say where their bins end", about="sizes")


@dataclass(frozen=True)
class BinnedColumn:
    """A column of the model: its bins at each level of detail (ends of ranges, or categories), its extremes.

    `bins`: the first for the column alone, the last for pairs. `edges`, `histogram`: bins of equal width between the
    extremes, and their rows (None: not stored).
    """

    name: str
    bins: tuple[tuple[Any, ...], ...]
    is_number: bool
    extremes: tuple[float, float] | None = None
    edges: tuple[float, ...] = ()
    histogram: NDArray[np.int64] | None = None

    def level(self, columns: int) -> tuple[Any, ...]:
        """Return the ends or categories of the bins in a term of so many columns."""
        return self.bins[min(len(self.bins), columns) - 1]


@dataclass(frozen=True)
class BinnedTerm:
    """A term: its columns with the ends or categories of their bins, and the rows of every bin, missing ones first."""

    name: str
    columns: tuple[BinnedColumn, ...]
    bins: tuple[tuple[Any, ...], ...]
    rows: NDArray[np.int64]

    def tree(self, missing: Collection[str]) -> Tree:
        """Return the tree of the bins; `missing`: the columns that may have no value."""
        starts = [0 if column.name in missing else 1 for column in self.columns]
        known = self.rows[tuple(slice(start, None) for start in starts)]
        nodes: list[ModelNode] = []
        self._grow(nodes, known, starts)
        return Tree(Nodes.of(nodes), self.name)

    def _grow(self, nodes: list[ModelNode], rows: NDArray[np.int64], starts: Sequence[int]) -> int:
        """Add the nodes of a block of bins, which begins at `starts`, and return the number of its root."""
        at, place = len(nodes), self._place(rows, starts)
        if place is None:
            nodes.append(ModelNode(Support(count=int(rows.sum()))))
            return at
        if at > MAX_NODES:
            raise TooLarge(f"the terms have more than {MAX_NODES:,} bins with rows")
        nodes.append(ModelNode(Support()))
        axis, cut = place
        below, above = np.split(rows, [cut - starts[axis]], axis=axis)
        left = self._grow(nodes, below, starts)
        right = self._grow(nodes, above, [*starts[:axis], cut, *starts[axis + 1 :]])
        nodes[at] = ModelNode(Support(), (self._test(axis, starts[axis], cut),), left, right)
        return at

    def _place(self, rows: NDArray[np.int64], starts: Sequence[int]) -> tuple[int, int] | None:
        """Return along which column and before which bin a block is cut; None where it holds one bin or no row."""
        if rows.size == 1 or not rows.any():
            return None
        best: tuple[int, int, int] | None = None
        for axis, start in enumerate(starts):
            length = rows.shape[axis]
            if start == 0 and length > 1:
                return axis, 1
            held = np.flatnonzero(rows.any(axis=tuple(k for k in range(rows.ndim) if k != axis)))
            low, high = int(held[0]), int(held[-1]) + 1
            for empty, cut in ((low, low), (length - high, high)):
                if empty and (best is None or empty * (rows.size // length) > best[0]):
                    best = empty * (rows.size // length), axis, start + cut
        if best is None:
            axis = int(np.argmax(rows.shape))
            return axis, starts[axis] + rows.shape[axis] // 2
        return best[1:]

    def _test(self, axis: int, start: int, cut: int) -> tuple[str, Test]:
        """Return what the rows before a bin pass, of those in bin `start` or behind it."""
        name, bins = self.columns[axis].name, self.bins[axis]
        if start == 0:
            return name, IS_MISSING
        if self.columns[axis].is_number:
            return name, Test(high=bins[cut - 2], high_open=True)
        return name, Test(values=tuple(v for texts in bins[start - 1 : cut - 1] for v in texts))


@dataclass(frozen=True)
class AdditiveDraft(Draft):
    """A model of terms before it is known which columns of the domain may be missing."""

    terms: tuple[BinnedTerm, ...] = ()
    columns: tuple[BinnedColumn, ...] = ()

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the terms' trees over a domain, and its extremes where the domain has other values."""
        may, places = set(), {}
        for column in self.columns:
            feature = binder.features[column.name]
            place = binder.domain.place.get(feature.attribute)
            if place is not None:
                places[column.name] = binder.domain.all[place]
                if places[column.name].missing:
                    may.add(column.name)
        forest = bind(self.models[0] if may == self.gaps else _forest(self.terms, may), binder)
        figures = [
            replace(one, condition=binder.translate(one.condition))
            for column in self.columns
            if column.extremes is not None and column.name in places
            for one in _extremes(column, places[column.name])
        ]
        tables = (Table(tuple(figures), "extremes", origin=self.origin),) if figures else ()
        return (replace(forest, origin=self.origin), *tables)


def _forest(terms: Sequence[BinnedTerm], missing: Collection[str]) -> Forest:
    """Return the trees of all terms."""
    trees = []
    for term in terms:
        current().check()
        trees.append(term.tree(missing))
    return Forest(tuple(trees), "terms")


def _extremes(column: BinnedColumn, attribute: AnyAttribute) -> Iterator[PublishedFigure]:
    """Yield that no row lies beyond the least and the greatest value of a column, and that both occur.

    Of a continuous attribute no single value is told from those around it.
    """
    assert column.extremes is not None
    if isinstance(attribute, Categorical) and not attribute.numeric:
        return
    first, last = span_of(attribute)
    least, greatest = column.extremes
    single = () if isinstance(attribute, Continuous) else dict.fromkeys(((least, "least"), (greatest, "greatest")))
    for value, what in single:
        here: Condition = ((column.name, Test(low=value, high=value)),)
        yield PublishedFigure(here, low=1, name=f"the {what} value of {column.name}")
    if first is None or first < exact(least):
        yield PublishedFigure(((column.name, Test(high=least, high_open=True)),), count=0, name=f"{column.name} below")
    if last is None or last > exact(greatest):
        yield PublishedFigure(((column.name, Test(low=greatest, low_open=True)),), count=0, name=f"{column.name} above")


def span_of(attribute: AnyAttribute) -> tuple[Any, Any]:
    """Return the first and the last number of an attribute, None where it has no end."""
    if isinstance(attribute, Continuous):
        ends = attribute.known[0][0], attribute.known[1][0]
        return tuple(None if isinstance(end, float) else end for end in ends)  # type: ignore[return-value]
    assert isinstance(attribute, Categorical | Grid)
    return exact(attribute.value_at(0)), exact(attribute.value_at(attribute.known[1] - 1))


def read(thing: Thing, form: str) -> Draft:
    """Return the counts of a stored model.

    Raises `ReleaseError` naming the place for weights that are no counts or do not fit the bins, `Unsupported` for
    models with noise.
    """
    if thing.class_name.startswith("DP") or thing.get("noise_scale_binning_") is not None:
        raise Unsupported("a private Explainable Boosting Machine has noise on its counts of bins, which is not read")
    names, bins = _list(thing, "feature_names_in_"), _list(thing, "bins_")
    types = _list(thing, "feature_types_in_")
    bounds, edges = resolve(thing.get("feature_bounds_")), thing.get("histogram_edges_")
    histograms = thing.get("histogram_weights_")
    columns = []
    if not len(names) == len(bins) == len(types):
        raise ReleaseError("has other numbers of names, types and bins of columns", place="bins_")
    for i, (name, levels, kind) in enumerate(zip(names, bins, types, strict=True)):
        place = f"bins_[{i}]"
        if kind not in {"continuous", "nominal", "ordinal"}:
            raise Unsupported(f"the column '{str(name)[:60]}' is of the type {str(kind)[:20]!r}, which is not read")
        if not isinstance(levels, list) or not levels:
            raise ReleaseError("has no bins", place=place)
        each = tuple(_cuts(one, place) if kind == "continuous" else _categories(one, place) for one in levels)
        least = bounds[i].tolist() if isinstance(bounds, np.ndarray) and bounds.shape == (len(names), 2) else None
        ends = resolve(edges[i]) if isinstance(edges, list) and len(edges) == len(names) else None
        width = resolve(histograms[i]) if isinstance(histograms, list) and len(histograms) == len(names) else None
        columns.append(_column(str(name), each, kind == "continuous", least, ends, width, i))
    terms = []
    for t, (which, weights) in enumerate(
        zip(_list(thing, "term_features_"), _list(thing, "bin_weights_"), strict=True)
    ):
        terms.append(_term(columns, which, resolve(weights), f"bin_weights_[{t}]"))
    return _draft(f"{FORMAT} ({form})", columns, terms)


def read_additive_json(found: Mapping[str, Any]) -> Draft:
    """Return the counts of a model in JSON.

    Raises `ReleaseError` as `read`, and `Unsupported` for versions that are not known, or detail without counts.
    """
    if found.get("version") != VERSION:
        stated = f"of version {str(found['version'])[:20]!r}" if "version" in found else "without a version"
        raise Unsupported(f"is an {FORMAT} in JSON {stated}: the text {VERSION!r} is read")
    model = found["ebm"]
    if "noise_scale_binning" in model:
        raise Unsupported("a private Explainable Boosting Machine has noise on its counts of bins, which is not read")
    features, stated = model["features"], model["terms"]
    if not isinstance(features, list) or not isinstance(stated, list):
        raise ReleaseError("is not a list", place="ebm.features" if not isinstance(features, list) else "ebm.terms")
    if not any(isinstance(one, dict) and "bin_weights" in one for one in stated):
        raise Unsupported("holds no counts of rows: it was written with detail='minimal'")
    columns = []
    for i, one in enumerate(features):
        place = f"ebm.features[{i}]"
        kind = one.get("type") if isinstance(one, dict) else None
        levels = one.get("cuts" if kind == "continuous" else "categories") if isinstance(one, dict) else None
        if kind not in {"continuous", "nominal", "ordinal"} or not isinstance(levels, list) or not levels:
            raise ReleaseError("has no cuts and no categories", place=place)
        listed = [[c if isinstance(c, list) else [c] for c in level] for level in levels if isinstance(level, list)]
        each = tuple(
            _cuts(_numbers(level, f"{place}.cuts[{n}]"), place)
            if kind == "continuous"
            else _categories({str(text): k for k, texts in enumerate(listed[n], 1) for text in texts}, place)
            for n, level in enumerate(levels)
        )
        extremes = [one["min"], one["max"]] if "min" in one and "max" in one else None
        columns.append(_column(str(one.get("name")), each, kind == "continuous", extremes, None, None, i))
    places = {column.name: i for i, column in enumerate(columns)}
    _refuse_double(columns, "ebm.features")
    terms = []
    for t, one in enumerate(stated):
        place = f"ebm.terms[{t}]"
        which = [places.get(name, -1) for name in one.get("term_features", ())] if isinstance(one, dict) else []
        inner = f"{place}.bin_weights"
        terms.append(_term(columns, which, _numbers(one.get("bin_weights"), inner) if which else None, inner))
    widths = any("histogram_weights" in one for one in features)
    return _draft(f"{FORMAT} (JSON)", columns, terms, (NO_EDGES,) if widths else ())


def _numbers(value: Any, place: str) -> NDArray[np.float64]:
    """Return the numbers in lists of lists of one shape; `ReleaseError` for what is none, with its place."""
    if not isinstance(value, list):
        raise ReleaseError(f"{str(value)[:40]!r} is not a list of numbers", place=place)
    if not value or not isinstance(value[0], list):
        bad = [i for i, one in enumerate(value) if isinstance(one, bool) or not isinstance(one, int | float)]
        if bad:
            raise ReleaseError(f"{str(value[bad[0]])[:40]!r} is not a number", place=f"{place}[{bad[0]}]")
        return np.array(value, dtype=np.float64)
    inner = [_numbers(one, f"{place}[{i}]") for i, one in enumerate(value)]
    if len({one.shape for one in inner}) > 1:
        raise ReleaseError("has rows of different lengths", place=place)
    return np.array(inner)


def _list(thing: Thing, name: str) -> list[Any]:
    """Return an attribute that has one entry per column or term."""
    found = resolve(thing.get(name))
    found = found.tolist() if isinstance(found, np.ndarray) else list(found) if isinstance(found, tuple) else found
    if not isinstance(found, list):
        if name == "bin_weights_":
            raise Unsupported("holds no counts of rows: its bin_weights_ were taken out")
        raise ReleaseError("is not a list: the model is not fitted, or of a version that is not known", place=name)
    return found


def _cuts(value: Any, place: str) -> tuple[float, ...]:
    """Return the ends of ranges, ascending: bin k holds what is at least end k - 1 and below end k."""
    found = resolve(value)
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "if" or found.ndim != 1:
        raise ReleaseError("holds no ends of bins", place=place)
    if not np.isfinite(found).all() or (np.diff(found) <= 0).any():
        raise ReleaseError("has ends of bins that do not ascend", place=place)
    return tuple(found.astype(np.float64).tolist())


def _categories(value: Any, place: str) -> tuple[tuple[str, ...], ...]:
    """Return the texts of each bin."""
    if not isinstance(value, dict) or not all(
        isinstance(k, str) and isinstance(v, int) and not isinstance(v, bool) for k, v in value.items()
    ):
        raise ReleaseError("holds no categories with their numbers", place=place)
    numbers = sorted(set(value.values()))
    if numbers != list(range(1, len(numbers) + 1)):
        raise ReleaseError("has categories that are not numbered from 1 on", place=place)
    out: list[list[str]] = [[] for _ in numbers]
    for text, number in value.items():
        out[number - 1].append(text)
    return tuple(map(tuple, out))


def _column(
    name: str, bins: tuple[tuple[Any, ...], ...], is_number: bool, extremes: Sequence[Any] | None, edges: Any,
    histogram: Any, i: int,
) -> BinnedColumn:  # fmt: skip
    """Return a column, categories that are all numbers as numbers."""
    if not is_number:
        texts = [text for level in bins for one in level for text in one]
        values = {text: number_of(text) for text in texts}
        if all(v is not None for v in values.values()) and len(set(values.values())) == len(values):
            bins = tuple(tuple(tuple(values[text] for text in one) for one in level) for level in bins)
        return BinnedColumn(name, bins, False)
    least: tuple[float, float] | None = None
    if extremes is not None:
        if not all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in extremes):
            raise ReleaseError("has extremes that are not numbers", place=f"feature_bounds_[{i}]")
        low, high = map(float, extremes)
        least = (low, high) if math.isfinite(low) and math.isfinite(high) else None
        if least is not None and low > high:
            raise ReleaseError(f"has {low:g} as the least value and {high:g} as the greatest", place=f"column {i}")
    if isinstance(edges, np.ndarray) and isinstance(histogram, np.ndarray) and len(edges) > 2:
        inner = _cuts(edges[1:-1], f"histogram_edges_[{i}]")
        if histogram.shape == (len(inner) + 3,):
            return BinnedColumn(name, bins, True, least, inner, _integer(histogram, f"histogram_weights_[{i}]"))
    return BinnedColumn(name, bins, True, least)


def number_of(text: str) -> Value | None:
    """Return the number that a category is written as, None for other texts."""
    if text in {"True", "False"}:
        return int(text == "True")
    try:
        value = float(text if "_" not in text else "")  # 10_19 is a range of years, in Python's own spelling a number
    except ValueError:
        return None
    return None if not math.isfinite(value) else int(value) if value.is_integer() else value


def _integer(weights: Any, place: str) -> NDArray[np.int64]:
    """Return weights as counts; `ReleaseError` with the first that is none."""
    found = np.asarray(weights, dtype=np.float64)
    bad = ~((found >= 0) & (found < LARGEST) & (found == np.rint(np.where(np.isfinite(found), found, 0.5))))
    if bad.any():
        value = float(found[bad].flat[0])
        raise ReleaseError(
            f"{value:.10g} is not a count of rows: the model was fitted with weights or merged from others, and "
            "its bins "
            "hold sums of weights",
            place=place,
        )
    return found.astype(np.int64)


def _term(columns: Sequence[BinnedColumn], which: Any, weights: Any, place: str) -> BinnedTerm:
    """Return a term with its bins; `ReleaseError` where its weights do not fit them."""
    numbers = list(which) if isinstance(which, (tuple, list)) else []
    if not numbers or not all(isinstance(i, int) and 0 <= i < len(columns) for i in numbers):
        raise ReleaseError("is about columns that the model does not have", place=place)
    mine = tuple(columns[i] for i in numbers)
    if not isinstance(weights, np.ndarray) or weights.dtype.kind not in "iuf":
        raise ReleaseError("holds no weights of bins", place=place)
    bins = tuple(column.level(len(mine)) for column in mine)
    shape = tuple(
        len(one) + 3 if column.is_number else max(len(one), 1) + 1 + bool(one)
        for column, one in zip(mine, bins, strict=True)
    )
    if weights.shape != shape or weights.size > MAX_CELLS:
        raise ReleaseError(
            f"has {' x '.join(map(str, weights.shape))} weights for {' x '.join(map(str, shape))} bins", place=place
        )
    rows = _integer(weights, place)
    for axis, column in enumerate(mine):
        if np.take(rows, -1, axis=axis).any():
            raise Unsupported(
                f"{place}: rows have values of '{column.name}' that are in none of its bins (no numbers, or unknown)"
            )
    kept = tuple(slice(None, -1) if column.is_number else slice(None) for column in mine)
    return BinnedTerm(" & ".join(column.name for column in mine), mine, bins, rows[kept])


def _refuse_double(columns: Sequence[BinnedColumn], place: str) -> None:
    """Raise `ReleaseError` where two columns have one name."""
    names = sorted(column.name for column in columns)
    double = [name for name, other in pairwise(names) if name == other]
    if double:
        raise ReleaseError(f"two columns are called '{double[0][:60]}'", place=place)


def _draft(
    form: str, columns: Sequence[BinnedColumn], terms: Sequence[BinnedTerm], unused: Sequence[UnusedPublication] = ()
) -> Draft:
    """Return the draft of a model's columns and terms."""
    if not terms:
        raise Unsupported("the model has no terms, so that it counts nothing")
    _refuse_double(columns, "feature_names_in_")
    current().bytes(40 * sum(term.rows.size for term in terms))
    sizes = {int(term.rows.sum()) for term in terms}
    if len(sizes) > 1:
        raise ReleaseError(f"the bins of one term hold {min(sizes):,} rows, those of another {max(sizes):,}")
    rows = sizes.pop()
    more = [
        BinnedTerm(f"{c.name}, bins of equal width", (c,), (c.edges,), c.histogram[:-1])
        for c in columns
        if c.histogram is not None and len(c.edges)
    ]
    every = (*terms, *more)
    for term in more:
        if int(term.rows.sum()) != rows:
            raise ReleaseError(f"the histogram of '{term.columns[0].name}' is not of {rows:,} rows")
    gaps = frozenset(
        column.name
        for term in terms
        for axis, column in enumerate(term.columns)
        if np.take(term.rows, 0, axis=axis).any()
    )
    return AdditiveDraft(
        Provenance(form, ("size",), (NOT_WEIGHTED,), unused=(DIFFERENT, *unused)),
        tuple(Feature(column.name, column.name) for column in columns),
        (_forest(every, gaps),),
        rows=RowCount(rows, rows),
        hints=dict(_hints(columns, gaps)),
        named=not all(UNNAMED.fullmatch(column.name) for column in columns),
        gaps=gaps,
        terms=every,
        columns=tuple(columns),
    )


def _hints(columns: Sequence[BinnedColumn], gaps: Collection[str]) -> Iterator[tuple[str, AnyAttribute]]:
    """Yield what the model says of the values of its columns: all categories, the extremes of numbers."""
    for column in columns:
        if not column.is_number:
            values = dict.fromkeys(v for one in column.bins[0] for v in one)
            if len(values) > 1:
                ordered = sorted(values, key=exact) if all(isinstance(v, (int, float)) for v in values) else values
                yield column.name, Categorical(column.name, tuple(ordered), missing=column.name in gaps)
        elif column.extremes is not None and column.extremes[0] < column.extremes[1]:
            low, high = map(exact, column.extremes)
            yield column.name, Continuous(column.name, low, high, missing=column.name in gaps)
        elif column.extremes is not None:
            held = column.extremes[0]  # by all rows; a domain needs two values, and nobody has the second
            yield column.name, Categorical(column.name, (held, held + 1), missing=column.name in gaps)
