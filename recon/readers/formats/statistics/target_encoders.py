"""Target encoders of scikit-learn and category_encoders: rows and events of every category, solved from its code.

A code is the share k / n of events among the n rows of a category, drawn towards the share of all: a function of n
and k. With two classes both are whole numbers, and few pairs give a double to its last digits: scikit-learn's
`TargetEncoder` with smooth=s codes (k + s p) / (n + s), with "auto" a weighted mean of k / n and p whose weight rests
on n and the variance within the category; category_encoders weighs k / n by a sigmoid of n. For each n, k is the root
of a linear or quadratic equation. Categories of one column have all rows together, and each column the same number of
them: where one choice of pairs alone adds up, the counts are solved. What is solved gives the code again.

Source: Micci-Barreca, "A preprocessing scheme for high-cardinality categorical attributes in classification and
prediction problems", SIGKDD Explorations 3, 2001, eqs. 3 to 7; scikit-learn 1.3 to 1.9, _target_encoder_fast.pyx;
category_encoders 2.6 to 2.11, target_encoder.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Categorical, Value, equals
from encoders.models.models import AnyModel, Provenance, UnusedPublication
from recon.io.files.opening import current
from recon.readers.formats.drafts.binding import IS_MISSING, Binder, Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.trees.trees import class_values, feature_names
from recon.readers.formats.statistics.column_tables import category_tree
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

KINDS = ("TargetEncoder",)
LARGEST = 20_000  # rows for which codes are solved, where nobody says how many there are
MAX_SUMS = 100_000  # sums of pairs of one column that are kept
FREE = 64  # pairs from which on a category is left to what the others leave
NO_GAPS = "no value of an encoded column was missing, unless missing ones have a code of their own"
MORE_ROWS = "the codes fit several numbers of rows: say how many there were (--rows)"
Pair = tuple[int, int]
Counts = NDArray[np.float64]


@dataclass(frozen=True)
class EncodedColumn:
    """A column with the code of every category (None: of missing values)."""

    name: str
    values: tuple[Value | None, ...]
    codes: tuple[float, ...]


@dataclass(frozen=True)
class Encoding:
    """How a code follows from rows n and events k, for the share p of all.

    `events`: which k (real numbers) a code leaves for each n, one array per root; `code`: the code of rows and events.
    """

    events: Callable[[float, Counts], Sequence[Counts]]
    code: Callable[[Counts, Counts], Counts]

    def pairs(self, code: float, most: int) -> list[Pair]:
        """Return the rows and events that give a code, up to so many rows."""
        n = np.arange(1, most + 1, dtype=np.float64)
        found: set[Pair] = set()
        with np.errstate(all="ignore"):
            for root in self.events(code, n):
                k = np.rint(root)
                fits = (k >= 0) & (k <= n) & (np.abs(self.code(n, k) - code) <= 1e-15 * (n + 64))
                found |= set(zip(n[fits].astype(int).tolist(), k[fits].astype(int).tolist(), strict=True))
        return sorted(found)


def smooth_encoding(smooth: float, p: float) -> Encoding:
    """Return scikit-learn's encoding with a number to smooth by."""
    return Encoding(lambda code, n: [code * (n + smooth) - smooth * p], lambda n, k: (k + smooth * p) / (n + smooth))


def empirical_encoding(p: float) -> Encoding:
    """Return scikit-learn's encoding with smooth="auto": k / n = m weighs v n / (v n + m (1 - m)), v = p (1 - p)."""
    v = p * (1 - p)

    def events(code: float, n: Counts) -> list[Counts]:
        off = code - p  # off (v n + m - m^2) = v n (m - p)
        b, c = off - v * n, v * n * (off + p)
        if abs(off) < 1e-300:
            return [n * p, np.zeros_like(n), n]
        root = np.sqrt(np.maximum(b * b + 4 * off * c, 0))
        other = -2 * c / (b - root)  # of both roots this form is stable
        return [n * other, n * (b - root) / (2 * off), np.zeros_like(n), n]

    def code_of(n: Counts, k: Counts) -> Counts:
        m = k / n
        weight = v * n / (v * n + m * (1 - m))
        found: Counts = weight * m + (1 - weight) * p
        return found

    return Encoding(events, code_of)


def sigmoid_encoding(least: float, smoothing: float, p: float) -> Encoding:
    """Return category_encoders' encoding: the weight of k / n is 1 / (1 + exp((least - n) / smoothing))."""

    def weight(n: Counts) -> Counts:
        found: Counts = 1 / (1 + np.exp(-(n - least) / smoothing))
        return found

    return Encoding(
        lambda code, n: [n * (code - p * (1 - weight(n))) / weight(n)],
        lambda n, k: p * (1 - weight(n)) + k / n * weight(n),
    )


def _totals_of(column: Sequence[Sequence[Pair]], p: float, most: int) -> set[Pair] | None:
    """Return the rows and events of all that pairs of a column's categories add up to; None where they are too many."""
    sums: set[Pair] = {(0, 0)}
    for pairs in column:
        sums = {(n + a, k + b) for n, k in sums for a, b in pairs if n + a <= most}
        if len(sums) > MAX_SUMS:
            return None
    return {(n, k) for n, k in sums if abs(k / n - p) <= 1e-14 * (n + 8)}


def _solutions(column: Sequence[Sequence[Pair]], total: Pair) -> list[tuple[Pair, ...]]:
    """Return the choices of a pair per category that add up to the rows and events of all, at most two of them."""
    order = sorted(range(len(column)), key=lambda c: len(column[c]))
    last = set(column[order[-1]])
    states: dict[Pair, list[tuple[Pair, ...]]] = {total: [()]}
    for c in order[:-1]:
        found: dict[Pair, list[tuple[Pair, ...]]] = {}
        for (n, k), ways in states.items():
            for a, b in column[c]:
                if a <= n and b <= k:
                    kept = found.setdefault((n - a, k - b), [])
                    kept += [(*way, (a, b)) for way in ways[: 2 - len(kept)]]
            if len(found) > MAX_SUMS:
                return []
        states = found
    whole = [(*way, rest) for rest, ways in states.items() if rest in last for way in ways][:2]
    places = {c: i for i, c in enumerate(order)}
    return [tuple(way[places[c]] for c in range(len(column))) for way in whole]


@dataclass(frozen=True)
class EncodedDraft(Draft):
    """Codes of columns before it is known how many rows there are."""

    columns: tuple[EncodedColumn, ...] = ()
    encoding: Encoding | None = None
    share: float = 0.0
    solved: tuple[tuple[EncodedColumn, tuple[Pair, ...]], ...] = ()

    def of_rows(self, rows: int | None) -> EncodedDraft:
        """Return the draft with the counts that follow; `rows` None: their number follows from the codes, too.

        Raises `ReleaseError` where no counts of so many rows have the codes.
        """
        assert self.encoding is not None
        most = LARGEST if rows is None else rows
        if not most:
            raise ReleaseError("codes are of one row or more, not of 0 (--rows)")
        pairs = {}
        for one in self.columns:
            current().check()
            pairs[one.name] = [self.encoding.pairs(code, most) for code in one.codes]
        totals: set[Pair] | None = None
        if rows is not None:
            totals = {(rows, round(self.share * rows))}
            if abs(round(self.share * rows) / rows - self.share) > 1e-14 * (rows + 8):
                raise ReleaseError(
                    f"the share {self.share:.10g} of {rows:,} rows is not a whole number of events (--rows)"
                )
        for found in pairs.values():
            if all(0 < len(one) < FREE for one in found):
                sums = _totals_of(found, self.share, most)
                totals = totals if sums is None else sums if totals is None else totals & sums
        if totals is not None and not totals:
            raise ReleaseError("no numbers of rows and of events have these codes: rows were weighted, or are others")
        if totals is None or len(totals) > 1:
            return self
        ((n, k),) = totals
        solved, unused = [], list(self.origin.unused)
        for one in self.columns:
            ways = _solutions(pairs[one.name], (n, k))
            if len(ways) == 1:
                solved.append((one, ways[0]))
            else:
                unused.append(UnusedPublication(f"the codes of '{one.name}'", "several counts have them", labels=True))
        known = replace(
            self, solved=tuple(solved), rows=RowCount(n, n), origin=replace(self.origin, unused=tuple(unused))
        )
        return replace(known, models=tuple(known.tree(one, found, True) for one, found in solved))

    def tree(self, column: EncodedColumn, found: Sequence[Pair], missing: bool) -> AnyModel:
        """Return the tree of a column: others and events of every category."""
        groups = [
            (IS_MISSING if value is None else equals(value), (n - k, k))
            for value, (n, k) in zip(column.values, found, strict=True)
            if value is not None or missing
        ]
        return category_tree(column.name, groups)

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the trees over a domain. Raises `ReleaseError` where the number of rows is open."""
        if not self.solved:
            raise ReleaseError(MORE_ROWS)
        left = list(self.origin.unused)
        kept: list[AnyModel] = []
        for column, found in self.solved:
            place = binder.domain.place.get(binder.features[column.name].attribute)
            gap = place is not None and binder.domain.all[place].missing
            if gap and None not in column.values:
                left.append(
                    UnusedPublication(f"the codes of '{column.name}'", "rows without a value are in none of them")
                )
                continue
            kept.append(self.tree(column, found, gap))
        origin = replace(self.origin, unused=tuple(left))
        mine = replace(self, models=tuple(kept), origin=origin)
        return super(EncodedDraft, mine).bound(binder)


def read(thing: Thing, form: str) -> Draft:
    """Return what the codes of an encoder say. Cost: linear in categories times rows.

    Raises `Unsupported` for targets that are not of two classes, `ReleaseError` naming what is broken.
    """
    if thing.kind.startswith("category_encoders."):
        columns, encoding, share, classes, named = _of_category_encoders(thing)
        library = "category_encoders"
    else:
        columns, encoding, share, classes, named = _of_sklearn(thing)
        library = "scikit-learn"
    if not 0 < share < 1:
        raise Unsupported(f"the target's mean is {share:.10g}: codes are solved where the target is one of two classes")
    names = [one.name for one in columns]
    gaps = frozenset(one.name for one in columns if None in one.values)
    hints = {
        one.name: Categorical(one.name, tuple(v for v in one.values if v is not None), missing=one.name in gaps)
        for one in columns
        if sum(v is not None for v in one.values) > 1
    }
    draft = EncodedDraft(
        Provenance(f"{library} TargetEncoder ({form})", ("exact",), (NO_GAPS,)),
        tuple(Feature(name, name) for name in names),
        (),
        classes,
        free_label(names),
        None,
        hints,
        named=named,
        gaps=gaps,
        columns=tuple(columns),
        encoding=encoding,
        share=share,
    )
    return draft.of_rows(None)


Solved = tuple[list[EncodedColumn], Encoding, float, tuple[Value, ...], bool]


def _of_sklearn(thing: Thing) -> Solved:
    """Return columns, encoding, share of events and classes of scikit-learn's, and whether its columns have names."""
    from recon.readers.formats.sklearn.pipelines.encoders import categories_of

    kind = thing.get("target_type_")
    if kind != "binary":
        raise Unsupported(f"the target of the TargetEncoder is {str(kind)[:20]}: codes are solved of two classes only")
    names, named = feature_names(thing)
    codes, share, smooth = thing.get("encodings_"), thing.get("target_mean_"), thing.get("smooth")
    if not isinstance(codes, list) or len(codes) != len(names):
        raise ReleaseError("has not one list of codes per column: the encoder is not fitted", place="encodings_")
    columns = []
    for i, (name, known) in enumerate(zip(names, categories_of(thing, names, "TargetEncoder"), strict=True)):
        mine = _numbers(codes[i], f"encodings_[{i}]")
        if len(mine) != len(known.values):
            raise ReleaseError(f"has {len(mine)} codes for {len(known.values)} categories", place=f"encodings_[{i}]")
        values = tuple(None if k == known.gap else v for k, v in enumerate(known.values))
        columns.append(EncodedColumn(name, values, mine))
    if not isinstance(share, (int, float)) or isinstance(share, bool):
        raise ReleaseError("is not a number", place="target_mean_")
    p = float(share)
    if isinstance(smooth, str):
        return columns, empirical_encoding(p), p, class_values(thing), named
    if not isinstance(smooth, (int, float)) or smooth < 0:
        raise ReleaseError("is not a number from 0 on", place="smooth")
    return columns, smooth_encoding(float(smooth), p), p, class_values(thing), named


def _numbers(value: Any, place: str) -> tuple[float, ...]:
    """Return the finite numbers of an array."""
    found = resolve(value)
    if not isinstance(found, np.ndarray) or found.ndim != 1 or found.dtype.kind not in "iuf":
        raise ReleaseError("is not a list of numbers", place=place)
    if not np.isfinite(found).all():
        raise ReleaseError(f"has the code {float(found[~np.isfinite(found)][0])}", place=place)
    return tuple(found.astype(np.float64).tolist())


def _of_category_encoders(thing: Thing) -> Solved:
    """Return the same of category_encoders' encoder; its events are 1, the other rows 0."""
    share, least, smoothing = (thing.get(name) for name in ("_mean", "min_samples_leaf", "smoothing"))
    if any(isinstance(x, bool) or not isinstance(x, (int, float)) for x in (share, least, smoothing)) or smoothing <= 0:
        raise ReleaseError("has no mean of the target and no settings: the encoder is not fitted", place="_mean")
    if thing.get("hierarchy") is not None:
        raise Unsupported("a TargetEncoder with a hierarchy of categories is not read")
    inner, mapping = thing.get("ordinal_encoder"), thing.get("mapping")
    listed = inner.get("mapping") if isinstance(inner, Thing) else None
    if not isinstance(listed, list) or not isinstance(mapping, dict):
        raise ReleaseError("has no codes of its columns: the encoder is not fitted", place="mapping")
    columns = []
    for one in listed:
        name = str(one.get("col")) if isinstance(one, dict) else ""
        if name not in mapping:
            raise ReleaseError(f"has no codes of the column '{name[:60]}'", place="mapping")
        numbers, codes = series_of(one["mapping"], name), series_of(mapping[name], name)
        values, mine = [], []
        for value, number in numbers.items():
            if number > 0:  # -1 and -2 are for unknown and missing values, by a rule of their own
                if number not in codes:
                    raise ReleaseError(
                        f"has no code of the category {str(value)[:40]!r}", place=f"mapping['{name[:60]}']"
                    )
                values.append(value)
                mine.append(codes[number])
        columns.append(EncodedColumn(name, tuple(values), tuple(mine)))
    p = float(share)
    return columns, sigmoid_encoding(float(least), float(smoothing), p), p, (0, 1), True


def series_of(thing: Any, name: str) -> dict[Any, float]:
    """Return the numbers of a pandas Series by its index, texts and whole numbers; NaN is None.

    Raises `ReleaseError` for what is no Series of numbers.
    """
    place = f"mapping['{name[:60]}']"
    try:
        inner = thing.get("_mgr").state[3]["0.14.1"]
        data = resolve(inner["axes"][0].args[1]["data"])
        values = np.asarray(resolve(inner["blocks"][0]["values"])).reshape(-1)
    except (AttributeError, LookupError, TypeError) as error:
        raise ReleaseError("is not pandas Series of codes, or of a version that is not known", place=place) from error
    if not isinstance(data, np.ndarray) or data.shape != values.shape or values.dtype.kind not in "iuf":
        raise ReleaseError("is not pandas Series of numbers", place=place)
    keys = [None if isinstance(v, float) and math.isnan(v) else v for v in data.tolist()]
    if not all(isinstance(v, (str, int, float, type(None))) for v in keys):
        raise ReleaseError("has categories that are neither texts nor numbers", place=place)
    return dict(zip(keys, values.astype(np.float64).tolist(), strict=True))
