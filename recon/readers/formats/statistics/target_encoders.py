"""Encoders of scikit-learn, category_encoders and toad: rows and events of categories, stored or solved from codes.

A code is the share k / n of events among the n rows of a category, drawn towards the share of all: a function of n
and k. With two classes both are whole numbers, and few pairs give a double to its last digits: scikit-learn's
`TargetEncoder` with smooth=s codes (k + s p) / (n + s), with "auto" a weighted mean of k / n and p whose weight rests
on n and the variance within the category; category_encoders weighs k / n by a sigmoid of n, or smooths it
(`MEstimateEncoder`); a weight of evidence is the logarithm of k / (n - k) against that of all rows. For each n, k is
the root of a linear or quadratic equation. Categories of one column have all rows together, and each column the same
number of them: where one choice of pairs alone adds up, the counts are solved. What is solved gives the code again.

`CountEncoder`, `CountTargetEncoder`, `LeaveOneOutEncoder` and `CatBoostEncoder` keep the counts themselves. toad's
`WOETransformer` (also its `export()` as JSON) stores neither the rows nor the events of all: with the rows (--rows),
that number of events is taken for which every column adds up.

Source: Micci-Barreca, "A preprocessing scheme for high-cardinality categorical attributes in classification and
prediction problems", SIGKDD Explorations 3, 2001, eqs. 3 to 7; scikit-learn 1.3 to 1.9, _target_encoder_fast.pyx;
category_encoders 2.6 to 2.11, the modules of the encoders; toad 0.1.7, transform.py and stats.py (`probability`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Categorical, Value, equals
from encoders.models.models import AnyModel, Provenance, UnusedPublication
from recon.io.files.opening import current
from recon.readers.formats.drafts.binding import IS_MISSING, Binder, Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.trees.trees import class_values, feature_names
from recon.readers.formats.statistics.column_tables import category_tree, texts_or_numbers
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.objects.pandas_tables import indexed_columns, series_of
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

_SUMS = ("LeaveOneOutEncoder", "CatBoostEncoder")  # rows and events of every category, as they are
KINDS = (
    "TargetEncoder",
    "MEstimateEncoder",
    "WOEEncoder",
    "CountEncoder",
    "CountTargetEncoder",
    *_SUMS,
    "WOETransformer",
)
LIBRARY = "category_encoders."  # how the kinds of category_encoders begin
LARGEST = 20_000  # rows for which codes are solved, where nobody says how many there are
MAX_SUMS = 100_000  # sums of pairs of one column that are kept
MAX_EVIDENCE = 3_000  # rows for which weights of evidence are solved that leave the events open
LIGHT = 1e-13  # weights of k / n below which a double does not hold it
FREE = 64  # pairs from which on a category is left to what the others leave
EVIDENCE = "toad WOETransformer (JSON)"
NO_GAPS = "no value of an encoded column was missing, unless missing ones have a code of their own"
ZERO_OR_ONE = "the target is 0 or 1 in every row: category_encoders does not store whether it was"
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

    def events(code: float, n: Counts) -> list[Counts]:
        root, light = n * (code - p * (1 - weight(n))) / weight(n), weight(n) < LIGHT
        most = int(n[light].max(initial=-1.0))  # of so few rows that the code does not tell their events
        return [root, *(np.where(light, float(k), root) for k in range(min(most, FREE) + 1))]

    return Encoding(events, lambda n, k: p * (1 - weight(n)) + k / n * weight(n))


def evidence_encoding(regularization: float, p: float, rows: int) -> Encoding:
    """Return category_encoders' weight of evidence for a share p of so many rows; a category of one row has 0."""
    r, total = regularization, rows * p
    odds = (total + 2 * r) / (rows - total + 2 * r)

    def events(code: float, n: Counts) -> list[Counts]:
        ratio = math.exp(min(code, 700.0)) * odds
        return [(ratio * (n + r) - r) / (1 + ratio), np.zeros_like(n), n]

    def code_of(n: Counts, k: Counts) -> Counts:
        found: Counts = np.where(n == 1, 0.0, np.log((k + r) / (n - k + r) / odds))
        return found

    return Encoding(events, code_of)


def filled_encoding(odds: float) -> Encoding:
    """Return toad's weight of evidence for the odds of all rows: a class without rows counts as one."""

    def events(code: float, n: Counts) -> list[Counts]:
        ratio = math.exp(min(code, 700.0)) * odds
        return [n * ratio / (1 + ratio), np.zeros_like(n), n]

    def code_of(n: Counts, k: Counts) -> Counts:
        found: Counts = np.log(np.maximum(k, 1) / np.maximum(n - k, 1) / odds)
        return found

    return Encoding(events, code_of)


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
    solved: tuple[tuple[EncodedColumn, tuple[tuple[int, ...], ...]], ...] = ()  # rows by class, or of all, per category

    def of_rows(self, rows: int | None) -> EncodedDraft:
        """Return the draft with the counts that follow; `rows` None: their number follows from the codes, too.

        Raises `ReleaseError` where no counts of so many rows have the codes.
        """
        stated = self.rows or RowCount()
        if self.solved and rows in {None, stated.low}:
            return self
        if self.encoding is None:
            raise ReleaseError(f"the categories have {stated.low:,} rows, not {rows:,} (--rows)")
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
                solved.append((one, tuple((a - b, b) for a, b in ways[0])))
            else:
                unused.append(UnusedPublication(f"the codes of '{one.name}'", "several counts have them", labels=True))
        known = replace(
            self, solved=tuple(solved), rows=RowCount(n, n), origin=replace(self.origin, unused=tuple(unused))
        )
        return replace(known, models=tuple(known.tree(one, found, True) for one, found in solved))

    def tree(self, column: EncodedColumn, found: Sequence[tuple[int, ...]], missing: bool) -> AnyModel:
        """Return the tree of a column: the rows of every category by class, or of all classes."""
        groups = [
            (IS_MISSING if value is None else equals(value), counts)
            for value, counts in zip(column.values, found, strict=True)
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


@dataclass(frozen=True)
class EvidenceDraft(EncodedDraft):
    """Weights of evidence of columns, of which neither the rows nor the events are stored."""

    def of_rows(self, rows: int | None) -> EncodedDraft:
        """Return the draft with the counts that follow from a number of rows (None: nothing follows).

        Raises `ReleaseError` where no number of events has the weights, `Unsupported` where several have them. Cost:
        for every number of events, linear in the rows for the first codes that no pair has.
        """
        if rows is None:
            return self
        if rows > MAX_EVIDENCE:
            raise Unsupported(f"weights of evidence are solved for up to {MAX_EVIDENCE:,} rows, not {rows:,}")
        found = []
        for events in range(1, rows):
            current().check()
            tried = replace(self, encoding=filled_encoding(events / (rows - events)), share=events / rows)
            if all(_solutions(pairs, (rows, events)) for pairs in tried.column_pairs(rows)):
                found.append(tried)
        if len(found) != 1:
            what = "no number of events has" if not found else "several numbers of events have"
            raise ReleaseError(f"{what} these weights of evidence over {rows:,} rows (--rows)")
        known = found[0]
        return super(EvidenceDraft, known).of_rows(rows)

    def column_pairs(self, rows: int) -> Iterator[list[list[Pair]]]:
        """Yield the pairs of the codes of each column; none of a column of which a code has no pair."""
        assert self.encoding is not None
        for one in self.columns:
            pairs = []
            for code in one.codes:
                pairs.append(self.encoding.pairs(code, rows))
                if not pairs[-1]:
                    break
            yield pairs if pairs[-1] else [[]]


def _of_toad(thing: Thing, form: str) -> Draft:
    """Return what the weights of evidence of toad say once the number of rows is known."""
    rules = thing.get("rules") or thing.get("_rules")
    if not isinstance(rules, dict) or not rules:
        raise ReleaseError("has no weights of evidence: the transformer is not fitted", place="_rules")
    columns = []
    for name, rule in rules.items():
        place = f"_rules['{str(name)[:60]}']"
        if not isinstance(rule, dict):
            raise ReleaseError("has no values and weights", place=place)
        values, codes = resolve(rule.get("value")), _numbers(rule.get("woe"), place)
        listed = values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else []
        plain = tuple(None if isinstance(v, float) and math.isnan(v) else v for v in listed)
        if len(plain) != len(codes) or not all(isinstance(v, str | int | float | type(None)) for v in plain):
            raise ReleaseError("has not one weight of evidence for each of its values", place=place)
        columns.append(EncodedColumn(str(name), plain, codes))
    return _evidence(columns, form)


def _evidence(columns: Sequence[EncodedColumn], form: str) -> Draft:
    """Return the draft of weights of evidence by column and value."""
    draft = _draft(f"toad WOETransformer ({form})", columns, (0, 1), True, (NO_GAPS,))
    return EvidenceDraft(**{one.name: getattr(draft, one.name) for one in fields(draft)})


def is_evidence_json(found: Mapping[str, Any]) -> bool:
    """Return whether parsed JSON has weights of several values for each column: in none all above 0, or all below."""
    weights = [list(one.values()) if isinstance(one, dict) else [] for one in found.values()]
    numbers = all(isinstance(x, float | int) and not isinstance(x, bool) for one in weights for x in one)
    return bool(weights) and numbers and all(len(one) > 1 and min(one) <= 0 <= max(one) for one in weights)


def read_evidence_json(found: Mapping[str, Mapping[str, float]]) -> Draft:
    """Return what `WOETransformer.export()` of toad says, whose values are texts in JSON."""
    columns = []
    for name, weights in found.items():
        known = texts_or_numbers([value for value in weights if value.lower() != "nan"])
        given = iter(known)
        values = tuple(None if value.lower() == "nan" else next(given) for value in weights)
        columns.append(EncodedColumn(name, values, tuple(map(float, weights.values()))))
    return _evidence(columns, "JSON")


def read(thing: Thing, form: str) -> Draft:
    """Return what the codes of an encoder say. Cost: linear in categories times rows.

    Raises `Unsupported` for targets that are not of two classes, `ReleaseError` naming what is broken.
    """
    if thing.class_name == "WOETransformer":
        return _of_toad(thing, form)
    if not thing.kind.startswith(LIBRARY):
        columns, encoding, share, classes, named = _of_sklearn(thing)
        draft = _draft(f"scikit-learn TargetEncoder ({form})", columns, classes, named, (NO_GAPS,))
        return replace(draft, encoding=encoding, share=_inner(share)).of_rows(None)
    about = f"category_encoders {thing.class_name} ({form})"
    if thing.class_name in ("CountEncoder", "CountTargetEncoder", *_SUMS):
        return _counts_kept(thing, about)
    if thing.class_name not in KINDS:
        raise Unsupported(
            f"{thing.class_name} of category_encoders is not read ({form}): counts of rows are not worked out of its "
            "codes; `recon inspect` says what it stores"
        )
    columns, encoding, share, rows = _of_category_encoders(thing)
    notes = (NO_GAPS,) if thing.class_name == "WOEEncoder" else (NO_GAPS, ZERO_OR_ONE)
    draft = _draft(about, columns, (0, 1), True, notes)
    return replace(draft, encoding=encoding, share=_inner(share)).of_rows(rows)


def _inner(share: float) -> float:
    """Return the share of events among all rows. Raises `Unsupported` where the target is not of two classes."""
    if not 0 < share < 1:
        raise Unsupported(f"the target's mean is {share:.10g}: codes are solved where the target is one of two classes")
    return share


def _draft(
    about: str, columns: Sequence[EncodedColumn], classes: tuple[Value, ...], named: bool, notes: tuple[str, ...]
) -> EncodedDraft:
    """Return the draft of columns with codes, before anything is solved."""
    names = [one.name for one in columns]
    gaps = frozenset(one.name for one in columns if None in one.values)
    hints = {
        one.name: Categorical(one.name, tuple(v for v in one.values if v is not None), missing=one.name in gaps)
        for one in columns
        if sum(v is not None for v in one.values) > 1
    }
    return EncodedDraft(
        Provenance(about, ("exact",), notes),
        tuple(Feature(name, name) for name in names),
        (),
        classes or None,
        free_label(names),
        None,
        hints,
        named=named,
        gaps=gaps,
        columns=tuple(columns),
    )


def _counts_kept(thing: Thing, about: str) -> Draft:
    """Return the rows, where they are kept by class, of every category of an encoder that keeps them.

    Raises `ReleaseError` for what are no counts, `Unsupported` for categories that were put together.
    """
    name = "counts_" if thing.class_name == "CountTargetEncoder" else "mapping"
    mapping, labels = thing.get(name), thing.get("_class_labels")
    if not isinstance(mapping, dict) or not mapping:
        raise ReleaseError("has no counts of its columns: the encoder is not fitted", place=name)
    if thing.get("_min_group_categories"):
        raise Unsupported("puts categories of few rows together (min_group_size), so that their counts are not known")
    shares = thing.get("_normalize")
    if shares is True or (isinstance(shares, dict) and any(shares.values())):
        raise Unsupported("keeps shares of rows (normalize=True): fit it with normalize=False, which keeps counts")
    classes = {"CountEncoder": (), "CountTargetEncoder": _plain_classes(labels)}.get(thing.class_name, (0, 1))
    solved: list[tuple[EncodedColumn, tuple[tuple[int, ...], ...]]] = []
    for column, held in mapping.items():
        place = f"{name}['{str(column)[:60]}']"
        found = _held_counts(held, str(column), place, thing.class_name)
        for value, counts in found.items():
            if not all(isinstance(x, int | float) and x == math.floor(x) and x >= 0 for x in counts):
                shown = ", ".join(f"{x:.10g}" if isinstance(x, int | float) else str(x)[:20] for x in counts)
                raise ReleaseError(f"{shown} of {str(value)[:40]!r} are not numbers of rows", place=place)
        whole = tuple(tuple(int(x) for x in counts) for counts in found.values())
        if len({len(one) for one in whole} | {max(1, len(classes))}) > 1:
            raise ReleaseError(f"has not one number of rows for each of {len(classes)} classes", place=place)
        solved.append((EncodedColumn(str(column), tuple(found), ()), whole))
    sizes = {tuple(map(sum, zip(*whole, strict=True))) for _, whole in solved}
    if len(sizes) > 1:
        raise ReleaseError("the categories of one column have other rows than those of another", place=name)
    rows = sum(sizes.pop())
    notes = (ZERO_OR_ONE,) if thing.class_name in _SUMS else ()
    draft = _draft(about, [one for one, _ in solved], classes, True, notes)
    known = replace(draft, solved=tuple(solved), rows=RowCount(rows, rows))
    return replace(known, models=tuple(known.tree(one, whole, True) for one, whole in solved))


def _plain_classes(labels: Any) -> tuple[Value, ...]:
    """Return the classes of an encoder that counts rows by class."""
    found = labels.tolist() if isinstance(labels, np.ndarray) else labels
    if not isinstance(found, list | tuple) or not all(isinstance(one, str | int | float) for one in found):
        return ()
    return tuple(int(one) if isinstance(one, bool) else one for one in found)


def _held_counts(held: Any, column: str, place: str, kind: str) -> dict[Any, tuple[Any, ...]]:
    """Return the rows of every category of a column by class, or of all classes, as they are stored."""
    if kind == "CountEncoder":
        found = series_of(held, column)
        if any(math.isnan(n) for n in found.values()):  # of no value, whether or not rows had none
            raise Unsupported(
                "does not count rows without a value (handle_missing='return_nan'), so that their number is open: "
                "fit it with handle_missing='value'"
            )
        return {value: (n,) for value, n in found.items()}
    table = indexed_columns(held, place)
    if kind == "CountTargetEncoder":
        return dict(
            zip(next(iter(table.values())), zip(*(one.values() for one in table.values()), strict=True), strict=True)
        )
    if not {"sum", "count"} <= set(table):
        raise ReleaseError("has no columns 'sum' and 'count'", place=place)
    if any(not isinstance(x, int | float) for one in table.values() for x in one.values()):
        raise ReleaseError("has sums or counts that are not numbers", place=place)
    return {value: (n - table["sum"][value], table["sum"][value]) for value, n in table["count"].items()}


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


def _settings(thing: Thing) -> tuple[Callable[[float, int | None], Encoding], float, int | None]:
    """Return the encoding by the share of events and the rows, that share, and the rows (None: not stored)."""
    wanted = {
        "TargetEncoder": ("_mean", "min_samples_leaf", "smoothing"),
        "MEstimateEncoder": ("_sum", "_count", "m"),
        "WOEEncoder": ("_sum", "_count", "regularization"),
    }[thing.class_name]
    found = [thing.get(name) for name in wanted]
    if any(isinstance(x, bool) or not isinstance(x, (int, float)) or not math.isfinite(x) for x in found):
        raise ReleaseError("has no mean of the target and no settings: the encoder is not fitted", place=wanted[0])
    first, second, third = map(float, found)
    if third < 0 or (thing.class_name == "TargetEncoder" and third == 0):
        raise ReleaseError(f"is {third:.10g}, which no encoder takes", place=wanted[2])
    if thing.class_name == "TargetEncoder":
        return lambda p, rows: sigmoid_encoding(second, third, p), first, None
    if not (second >= 1 and second == math.floor(second) and 0 <= first <= second):
        raise ReleaseError(f"the target adds up to {first:.10g} over {second:.10g} rows", place="_count")
    rows = int(second)
    if thing.class_name == "MEstimateEncoder":
        return lambda p, rows: smooth_encoding(third, p), first / second, rows
    return lambda p, rows: evidence_encoding(third, p, rows or 0), first / second, rows


def _of_category_encoders(thing: Thing) -> tuple[list[EncodedColumn], Encoding, float, int | None]:
    """Return columns, encoding, share of events and rows of category_encoders' encoders; events are 1, others 0."""
    encoding, share, rows = _settings(thing)
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
    return columns, encoding(share, rows), share, rows
