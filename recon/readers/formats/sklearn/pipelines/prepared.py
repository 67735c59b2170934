"""Fitted transformers of scikit-learn without a model: what they publish of single columns, as a table about all rows.

A scaler says the sum and the sum of squares of every column, a binning its quantiles, an encoder the values that occur,
a vectorizer how many texts have a word. Behind one another and side by side (pipelines, unions, `ColumnTransformer`)
they are followed from the raw columns on, as in front of a model.

Source: scikit-learn, sklearn/preprocessing and sklearn/feature_extraction/text.py (`TfidfTransformer.fit`), 1.0 to 1.9.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from encoders.domain.values import AnyAttribute, Categorical, Continuous, Test
from encoders.models.models import AnyModel, Provenance, PublishedFigure, Table, UnusedPublication
from recon.readers.formats.drafts.binding import Binder, Feature, other_columns
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.pipelines.binding import ColumnStatements, Hints, numbered, of_all_rows
from recon.readers.formats.sklearn.pipelines.columns import StepColumn
from recon.readers.formats.sklearn.pipelines.steps import columns_after, raw_names, steps_of
from recon.readers.formats.statistics.column_figures import WEIGHTED, column_figures
from recon.readers.formats.statistics.shares import count_of, rows_of
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

STATED = (
    "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "KBinsDiscretizer", "QuantileTransformer",
    "SimpleImputer", "OneHotEncoder", "OrdinalEncoder", "ColumnTransformer", "FeatureUnion",
)  # fmt: skip
TEXTS = ("CountVectorizer", "TfidfVectorizer")
KINDS = (*STATED, *TEXTS)
FLOATS = "the columns were given to the pipeline as 64-bit numbers"
PRESENT = Test(low=0.5)  # a text has a word once or more


@dataclass(frozen=True, eq=False)
class PreparedDraft(Draft):
    """Figures of columns, and of words of texts: `shares` of (texts + 1) or of texts (`added` 1 or 0) with a word.

    `of_values`: the rows are those with a value, as a StandardScaler stores one number where as many are missing of
    every column, and nobody said how many rows there are.
    """

    stated: tuple[ColumnStatements, ...] = ()
    figures: tuple[PublishedFigure, ...] = ()
    shares: Mapping[str, tuple[Fraction, Fraction]] | None = None
    added: int = 0
    of_values: bool = False

    def of_rows(self, rows: int) -> Draft:
        """Return the draft where somebody says how many rows there are."""
        if self.rows is not None and self.rows.exact and not (self.of_values and rows > self.rows.low):
            return replace(self, of_values=False)
        return replace(self, rows=RowCount(rows, rows), of_values=False)

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the table over a domain; what cannot be stated is named as unused."""
        names = [binder.features[one.name].attribute for one in self.features]
        domain = binder.domain
        if not any(name in domain.place or name in domain.columns for name in names):
            raise other_columns(names, "its steps")
        if self.of_values and any(domain.all[domain.place[name]].missing for name in names if name in domain.place):
            raise Unsupported(
                "n_samples_seen_ counts the rows with a value, and values may be missing: say how many rows there are "
                "(--rows)"
            )
        every = [one.named(names) for one in self.stated]
        figures, left = column_figures(every, binder.domain, self.rows)
        figures += [replace(one, condition=binder.translate(one.condition)) for one in (*self.figures, *self.counted())]
        if self.rows is not None and self.rows.exact:
            figures.insert(0, PublishedFigure((), count=self.rows.low, name="all rows"))
        if self.shares and self.rows is None:
            left.append(
                UnusedPublication(
                    "idf_",
                    "the number of texts with each word follows from it: say how many texts there were (--rows)",
                    about="columns",
                )
            )
        if not figures:
            raise Unsupported(f"{left[0].what}: {left[0].why}" if left else "the file has no figure of a column")
        origin = replace(self.origin, columns=tuple(every), unused=(*self.origin.unused, *dict.fromkeys(left)))
        return (Table(tuple(figures), "columns", origin=origin),)

    def counted(self) -> list[PublishedFigure]:
        """Return the number of texts with each word, where it is known of how many."""
        if not self.shares or self.rows is None or not self.rows.exact:
            return []
        of = self.rows.low + self.added
        return [
            PublishedFigure(
                ((word, PRESENT),), count=count_of(share, of, "idf_") - self.added, name=f"texts with {word}"
            )
            for word, share in self.shares.items()
        ]


@dataclass(frozen=True)
class FollowedPipeline:
    """A pipeline followed to its end: the model there, the columns it sees, the raw columns' names and values.

    `sampled`: of how many rows the ranges of some raw columns are, drawn if there were more.
    """

    final: Thing
    columns: tuple[StepColumn, ...]
    raw: tuple[str, ...]
    named: bool
    hints: dict[str, AnyAttribute]
    reader_notes: tuple[str, ...]
    notes: tuple[str, ...]
    kinds: tuple[str, ...]
    stated: tuple[ColumnStatements, ...] = ()
    sampled: Mapping[str, int] = field(default_factory=dict)


def open_pipeline(thing: Thing) -> FollowedPipeline:
    """Return the final model of a pipeline and the columns it was fitted on.

    Raises `Unsupported` naming a step that is not read, `ReleaseError` for steps that do not fit each other.
    """
    steps = steps_of(thing, "steps", 2, "Pipeline")
    final = steps[-1][1]
    if not isinstance(final, Thing):
        raise Unsupported("the pipeline ends without a model: store one that ends in a tree or a forest")
    raw, named = raw_names([step for _, step in steps])
    columns, hints = [StepColumn(name, i) for i, name in enumerate(raw)], Hints()
    for name, step in steps[:-1]:
        columns = columns_after(step, columns, hints, name[:60])
    if not columns:
        raise ReleaseError("the steps of the pipeline leave no column to the model")
    found = {i: hints.attribute(i, name) for i, name in enumerate(raw)}
    return FollowedPipeline(
        final,
        tuple(
            StepColumn(name, c.source, c.maps)
            for name, c in zip(numbered([c.name for c in columns]), columns, strict=True)
        ),
        tuple(raw),
        named,
        {raw[i]: attribute for i, attribute in found.items() if attribute is not None},
        tuple(hints.reader_notes),
        (FLOATS,) if hints.floats else (),
        tuple(step.class_name for _, step in steps[:-1] if isinstance(step, Thing)),
        tuple(hints.stated),
        {raw[i]: drawn for i, drawn in hints.sampled.items()},
    )


def read(thing: Thing, form: str) -> Draft:
    """Return what a fitted transformer, or several of them, publish of single columns.

    Raises `Unsupported` for transformers that mix columns, `ReleaseError` for what is not fitted or broken.
    """
    if any(one.class_name in TEXTS for one in _steps(thing)):
        return _of_texts(thing, form)
    raw, named = raw_names([thing])
    hints = Hints()
    columns_after(thing, [StepColumn(name, i) for i, name in enumerate(raw)], hints, thing.class_name)
    found: dict[str, AnyAttribute] = {}
    for i, name in enumerate(raw):
        attribute = hints.attribute(i, name)
        found[name] = Continuous(name, missing=hints.gaps.get(i, False)) if attribute is None else attribute
    rows, kinds = rows_of_figures(hints.stated), [one.class_name for one in _steps(thing)]
    notes = (WEIGHTED,) if rows is not None else ()
    return PreparedDraft(
        Provenance(f"scikit-learn {_kind(thing)} ({form})", ("exact",), notes),
        tuple(Feature(name, name) for name in raw),
        rows=rows,
        hints=of_all_rows(found, {raw[i]: drawn for i, drawn in hints.sampled.items()}, rows),
        named=named,
        reader_notes=tuple(hints.reader_notes),
        stated=tuple(hints.stated),
        of_values=rows is not None and rows.exact and counts_values(hints.stated, kinds),
    )


def transforms(thing: Any) -> bool:
    """Return whether a stored object is a transformer that is read by itself, or a pipeline that ends in one."""
    steps = _steps(thing) if isinstance(thing, Thing) else []
    return bool(steps) and (steps[-1].class_name in KINDS or steps[-1].class_name == "TfidfTransformer")


def _steps(thing: Thing) -> list[Thing]:
    """Return the steps of a pipeline (and of one at its end), or the one transformer."""
    if thing.class_name != "Pipeline":
        return [thing]
    steps = [one for _, one in steps_of(thing, "steps", 2, "Pipeline") if isinstance(one, Thing)]
    return [*steps[:-1], *(_steps(steps[-1]) if steps[-1] is not thing else [])] if steps else []


def _kind(thing: Thing) -> str:
    """Return what was read in words: "StandardScaler", "SimpleImputer and StandardScaler"."""
    kinds = list(dict.fromkeys(one.class_name for one in _steps(thing)))
    return " and ".join(kinds)


def rows_of_figures(stated: Sequence[ColumnStatements]) -> RowCount | None:
    """Return the number of rows that scalers and quantiles say; None where none does."""
    exact, least = set[int](), 0
    for one in stated:
        figures, seen = one.figures, one.owner.get("n_samples_seen_")
        if one.owner.class_name == "StandardScaler":
            if figures.rows is not None:
                exact |= set() if isinstance(seen, np.ndarray) else {figures.rows}
                least = max(least, figures.rows)
        elif isinstance(seen, int) and not isinstance(seen, bool):
            exact.add(seen)
        elif figures.rows is not None:
            exact.add(figures.rows)
    if len(exact) > 1:
        low, high = min(exact), max(exact)
        raise ReleaseError(f"one step was fitted on {low:,} rows, another on {high:,}", place="n_samples_seen_")
    if exact and least > min(exact):
        raise ReleaseError(f"{least:,} rows of a column, {min(exact):,} of all", place="n_samples_seen_")
    return RowCount(min(exact), min(exact)) if exact else RowCount(least, None) if least else None


def counts_values(stated: Sequence[ColumnStatements], kinds: Sequence[str]) -> bool:
    """Return whether the number of rows is said by scalers alone, which count values, and none were filled in."""
    others = (one for one in stated if one.owner.class_name != "StandardScaler")
    said = any(one.figures.rows is not None or one.owner.get("n_samples_seen_") is not None for one in others)
    return not said and not any("Imputer" in kind for kind in kinds)


def _of_texts(thing: Thing, form: str) -> Draft:
    """Return how many texts have each word: bounds by the vectorizer's settings, counts by the weights of words."""
    steps = _steps(thing)
    first, weights = steps[0], next((one for one in steps if one.class_name == "TfidfTransformer"), None)
    if first.class_name not in TEXTS:
        raise Unsupported(f"a {first.class_name} before texts become words is not read: store the vectorizer by itself")
    stored = first.get("vocabulary_")
    if not isinstance(stored, dict) or not stored or not all(isinstance(word, str) for word in stored):
        raise ReleaseError("has no words: the vectorizer is not fitted", place="vocabulary_")
    order = sorted(stored, key=lambda word: _index(stored[word], len(stored)))
    if sorted(_index(at, len(stored)) for at in stored.values()) != list(range(len(stored))):
        raise ReleaseError("does not number its words from 0 on", place="vocabulary_")
    if weights is None and isinstance(first.get("_tfidf"), Thing):
        weights = first.get("_tfidf")
    least, most = first.get("min_df", 1), first.get("max_df", 1.0)
    given = first.get("fixed_vocabulary_") is True
    low = 0 if given else least if isinstance(least, int) else 1
    high = most if isinstance(most, int) and not given else None
    bounds = [
        PublishedFigure(((word, PRESENT),), low=low or None, high=high, name=f"texts with {word}")
        for word in order
        if low or high is not None
    ]
    shares, added = _shares(weights, order) if weights is not None and weights.get("use_idf", True) else ({}, 0)
    of = rows_of(shares.values()) if shares else None
    return PreparedDraft(
        Provenance(f"scikit-learn {_kind(thing)} ({form})", ("exact",)),
        tuple(Feature(word, word) for word in order),
        rows=None if of is None else RowCount(of - added, of - added),
        hints={word: Categorical(word, (0, 1)) for word in order},
        figures=tuple(bounds),
        shares=shares,
        added=added,
        reader_notes=("a row is a text, and a column says how often it has a word",),
    )


def _index(value: Any, size: int) -> int:
    """Return the column of a word."""
    found = value.item() if isinstance(value, np.integer) else value
    if not isinstance(found, int) or not 0 <= found < size:
        raise ReleaseError(f"has the column {str(found)[:20]} of {size:,}", place="vocabulary_")
    return found


def _shares(weights: Thing, words: Sequence[str]) -> tuple[dict[str, tuple[Fraction, Fraction]], int]:
    """Return the share of texts with each word (with smooth_idf one more text that has every word), in intervals.

    A weight is ln(n / d) + 1.
    """
    found = resolve(weights.get("idf_"))
    if found is None and isinstance(weights.get("_idf_diag"), Thing):
        found = resolve(weights.get("_idf_diag").get("data"))
    if not isinstance(found, np.ndarray) or found.reshape(-1).shape != (len(words),) or found.dtype.kind != "f":
        raise ReleaseError(f"has not one weight for each of the {len(words)} words", place="idf_")
    small = found.dtype == np.float32
    out = {}
    for word, weight in zip(words, found.reshape(-1).tolist(), strict=True):
        if not math.isfinite(weight) or not 1 <= weight + 1e-6 < 60:
            raise ReleaseError(f"{weight:.10g} is no weight of a word", place="idf_")
        share, off = Fraction(math.exp(1 - weight)), Fraction(abs(weight) + 2) * Fraction(1, 1 << (21 if small else 49))
        out[word] = share * (1 - off), min(share * (1 + off), Fraction(1))
    return out, int(weights.get("smooth_idf", True) is True)
