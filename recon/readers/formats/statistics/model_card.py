"""Model cards: a confusion matrix, accuracy and rates of the training rows, as figures over the model's own regions.

A rate of a card is a quotient of two numbers of rows, each of rows of some label in the regions where the model
predicts some label: with its digits it is an interval, and that is two linear figures. Where the number of rows is
known, the ends become the nearest quotients of so many rows, which loses nothing.

Source: Mitchell et al., "Model cards for model reporting", FAT* 2019; Hugging Face's `model-index`; Google's Model Card
Toolkit (`quantitative_analysis`); scikit-learn's `confusion_matrix` and `classification_report`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import msgspec

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import AnyAttribute, Ranges, Value, from_text, intersection
from encoders.encode.joining import PublishedFile, joint_rows
from encoders.encode.predicted_regions import Predicted, Region, predicted_regions, shared_region
from encoders.models.linear_figures import LinearFigure, LinearTerm, condition_text
from encoders.models.models import (
    AnyModel,
    Provenance,
    PublishedFigure,
    Table,
    UnusedPublication,
    kind_words,
)
from recon.readers.formats.drafts.binding import as_test
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.release.parts import to_condition, to_exact
from recon.readers.formats.release.reading import converted
from recon.readers.formats.release.schema import ConditionPart, Number, Scalar, SchemaPart, Whole, schema_of
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.foundation.exact import exact_number
from solvers.statements.release import RowCount

FORMAT, OTHER = "model card", "model card of another tool"
TRAINING = {"train", "training", "training set", "training data"}  # what other cards call the training rows
LONG, ROUNDED = 15, Fraction(1, 1 << 48)  # digits of a number that was not rounded for people, and how far it is off
ALIASES = {
    "acc": "accuracy", "error": "error_rate", "ppv": "precision", "positive_predictive_value": "precision",
    "tpr": "recall", "sensitivity": "recall", "true_positive_rate": "recall", "tnr": "specificity",
    "true_negative_rate": "specificity", "fpr": "false_positive_rate", "fnr": "false_negative_rate", "f1-score": "f1",
    "f1_score": "f1", "positive_rate": "selection_rate", "base_rate": "prevalence",
}  # fmt: skip
Cell = Callable[[int, int], int]  # of a row's label and the one predicted: how often the row counts
REPORTED = ("precision", "recall", "f1-score")  # of a class, in scikit-learn's report; beside it "support"
AVERAGES = ("macro avg", "weighted avg", "micro avg", "samples avg")


class MetricPart(SchemaPart, kw_only=True):
    """A rate of a model card: a number, or a percentage as text ("93.1 %"), as exact as its digits, or `within`.

    `of`: of which class; left out, the second of two (accuracy and error rate are of none).
    """

    metric: str
    value: Number | str
    of: Scalar | None = None
    within: Number | str | None = None


class CardFiguresPart(SchemaPart, kw_only=True):
    """The figures of a group of training rows.

    `confusion_matrix`: a line per label, a column per predicted label, numbers of rows, as scikit-learn's function
    returns it; `classification_report`: scikit-learn's, as an object (`output_dict=True`).
    """

    confusion_matrix: list[list[Whole]] | None = None
    classification_report: dict[str, Any] | None = None
    metrics: list[MetricPart] = msgspec.field(default_factory=list)


class CardGroupPart(CardFiguresPart, kw_only=True):
    """The figures of the training rows that meet `where`."""

    where: ConditionPart


class CardPart(CardFiguresPart, kw_only=True):
    """A model card: how often the model that stands in another file is right on its training rows, also by groups.

    `rows`: of which rows the figures are. `model`: its name, where several models predict. `labels`: the order of the
    matrices, by default ascending.
    """

    recon_card: Literal[1]
    rows: str
    model: str | None = None
    labels: list[Scalar] | None = None
    groups: list[CardGroupPart] = msgspec.field(default_factory=list)


def card_schema() -> dict[str, Any]:
    """Return the JSON Schema of model cards."""
    return schema_of(CardPart)


def read_card(content: dict[str, Any]) -> CardDraft:
    """Return a model card; `ReleaseError` naming the place of what is none, or not of training rows."""
    left: list[UnusedPublication] = []
    form = FORMAT if "recon_card" in content else OTHER
    if form == OTHER:
        content = _of_others(content, left)
    part: CardPart = converted(content, CardPart)
    if part.rows != "training":
        message = f"its figures are of {part.rows!r} rows: only figures of the training rows say something about them"
        raise Unsupported(message)
    return CardDraft(Provenance(form, ("exact",), unused=tuple(left)), (), card=part)


def _of_others(content: Mapping[str, Any], left: list[UnusedPublication]) -> dict[str, Any]:
    """Return the card of another tool as one of recon: its accuracies on training rows; what else it says is left."""
    found: list[dict[str, Any]] = []
    said: list[tuple[str, Any, Any]] = []  # which rows, which metric, its value
    for model in content.get("model-index") or ():
        for result in model.get("results") or ():
            rows = str((result.get("dataset") or {}).get("split", ""))
            said += ((rows, one.get("type"), one.get("value")) for one in result.get("metrics") or ())
    for one in (content.get("quantitative_analysis") or {}).get("performance_metrics") or ():
        said.append((str(one.get("slice") or ""), one.get("type"), one.get("value")))
    for rows, metric, value in said:
        if rows.lower() not in TRAINING:
            continue  # figures of other rows say nothing about these
        if str(metric).lower() in ("accuracy", "acc"):
            found.append({"metric": "accuracy", "value": value})
        else:
            left.append(UnusedPublication(f"{metric} {value}", "the card does not say of which class it is"))
    if not found:
        raise Unsupported(
            "is a model card without the accuracy on its training rows (split or slice 'train'): write what it says of "
            "them as a card of recon (recon schema card)"
        )
    return {"recon_card": 1, "rows": "training", "metrics": found}


@dataclass(frozen=True)
class CardDraft(Draft):
    """A model card: figures about the regions of a model that stands in another file."""

    card: CardPart = field(default_factory=lambda: CardPart(recon_card=1, rows="training"))

    def refuse_alone(self) -> None:
        """Refuse a card without its model."""
        raise ReleaseError("is a model card: give it beside the file of its model (recon audit MODEL CARD)")

    def published(
        self, parts: Sequence[PublishedFile], declared: Domain | None, n: int | None, path: str, sha256: str
    ) -> PublishedFile:
        """Return the card as figures about one of the models of other files; `n`: how many rows are said to be.

        Raises `ReleaseError` where it is about none of them, or about several, and what `table` raises.
        """
        try:
            model = _model_of([model for part in parts for model in part.models], self.card.model)
            part = next(part for part in parts if any(one is model for one in part.models))
            domain = part.domain if declared is None else declared
            known = RowCount() if any(part.related is not None for part in parts) else joint_rows(parts)
            known = RowCount(n, n) if n is not None and not known.exact else known
            return PublishedFile(path, sha256, domain, (self.table(model, domain, known, path),), None)
        except ReleaseError as error:
            raise error.at(file=path) from None
        except ContradictionError as error:
            raise ContradictionError(f"{path}: {error}", error.conflict) from None
        except Unsupported as error:
            raise Unsupported(f"{path}: {error}") from None

    def table(self, model: AnyModel, domain: Domain, rows: RowCount, file: str) -> Table:
        """Return the card's figures about its model; `rows`: how many there are.

        Raises `ReleaseError` naming the place of what does not fit the model, `Unsupported` naming the model where its
        predictions are not regions.
        """
        labels = domain.label
        if labels is None:
            raise Unsupported(f"the {kind_words(model)} '{model.name}' has no label, and predicts nothing")
        regions = predicted_regions(model, domain)
        figures = _Figures(domain, regions, rows, _labels_of(self.card, labels))
        found: list[PublishedFigure] = []
        left = list(self.origin.unused)
        for place, part, where in _groups_of(self.card):
            found += figures.of_part(part, where, place, left)
        if not found:
            raise ReleaseError("says nothing: there is no confusion matrix, report or metric")
        notes = [
            f"the figures of {os.path.basename(file)} are of the training rows, rounded to their nearest last digit"
        ]
        open_ones = sum(len(region.labels) > 1 for region in regions)
        if open_ones:
            notes.append(f"in {open_ones:,} regions of the {kind_words(model)} '{model.name}' classes tie: which it "
                         "predicts there is left open")  # fmt: skip
        origin = replace(self.origin, notes=tuple(notes), unused=tuple(left))
        name = f"{FORMAT} ({os.path.basename(file)})"
        return Table(tuple(found), name, origin=origin, dataset=model.dataset)


def _groups_of(card: CardPart) -> Iterator[tuple[str, CardFiguresPart, Condition]]:
    """Yield the figures of everybody and of each group, with their place and condition."""
    yield "", card, ()
    for i, group in enumerate(card.groups):
        yield f"groups[{i}].", group, to_condition(group.where, f"groups[{i}].where")


def _model_of(models: Sequence[AnyModel], name: str | None) -> AnyModel:
    """Return the model that a card is about."""
    able = [model for model in models if model.predicts and (name is None or model.name == name)]
    if len(able) == 1:
        return able[0]
    known = ", ".join(f"'{model.name}'" for model in models) or "none"
    if name is not None:
        raise ReleaseError(
            f"there is no one model '{name}' that predicts classes: the models are {known}", place="model"
        )
    if not able:
        raise Unsupported(f"a model card is about a tree, a forest or a rule list with classes: the models are {known}")
    raise ReleaseError(f"which model is it about? give 'model', one of {known}")


def _labels_of(card: CardPart, label: AnyAttribute) -> list[int]:
    """Return the labels of rows and columns of the card's matrices, by their number in the domain."""
    if card.labels is None:
        values = [label.value_at(i) for i in range(label.known[1])]
        if len(values) > 1 and values != sorted(values, key=lambda v: (isinstance(v, str), v)):
            raise ReleaseError(
                "give 'labels', the order of the rows and columns of matrices: the domain's is not sorted"
            )
        return list(range(len(values)))
    found = []
    for i, value in enumerate(card.labels):
        try:
            found.append(int(label.point(value)[0]))
        except ReleaseError as error:
            raise error.at(place=f"labels[{i}]") from None
    if len(set(found)) < len(found):
        raise ReleaseError("a label stands twice", place="labels")
    return found


def _rate_cells(metric: str, c: int) -> tuple[Cell, Cell]:
    """Return which rows a rate counts and of which it is the share, by label and prediction; c: of which class."""
    hit: Cell = lambda t, p: t == p == c  # noqa: E731
    known: dict[str, tuple[Cell, Cell]] = {
        "accuracy": (lambda t, p: t == p, lambda t, p: 1),
        "error_rate": (lambda t, p: t != p, lambda t, p: 1),
        "precision": (hit, lambda t, p: p == c),
        "recall": (hit, lambda t, p: t == c),
        "specificity": (lambda t, p: c not in (t, p), lambda t, p: t != c),
        "false_positive_rate": (lambda t, p: t != c and p == c, lambda t, p: t != c),
        "false_negative_rate": (lambda t, p: t == c and p != c, lambda t, p: t == c),
        "f1": (lambda t, p: 2 * hit(t, p), lambda t, p: (t == c) + (p == c)),
        "selection_rate": (lambda t, p: p == c, lambda t, p: 1),
        "prevalence": (lambda t, p: t == c, lambda t, p: 1),
    }
    if metric not in known:
        raise ReleaseError(f"'{metric}' is no metric that is read: they are {', '.join(known)}")
    return known[metric]


OF_ALL = {"accuracy", "error_rate"}  # metrics that are of no class


@dataclass(frozen=True, eq=False)
class _Figures:
    """What makes the figures of a card: the regions of its model, how many rows there are, the order of its labels."""

    domain: Domain
    regions: list[Predicted]
    rows: RowCount
    labels: list[int]
    made: dict[tuple[int, tuple[int, ...]], Condition] = field(default_factory=dict)

    @property
    def label(self) -> AnyAttribute:
        """Return the label."""
        assert self.domain.label is not None
        return self.domain.label

    def of_part(
        self, part: CardFiguresPart, where: Condition, place: str, left: list[UnusedPublication]
    ) -> list[PublishedFigure]:
        """Return the figures of everybody or of one group; what cannot be used is added to `left`."""
        try:
            group = self.domain.resolve(where)
        except ReleaseError as error:
            raise error.at(place=f"{place}where") from None
        of = f" where {condition_text(where)}" if where else ""
        out: list[PublishedFigure] = []
        if part.confusion_matrix is not None:
            out += self._of_matrix(part.confusion_matrix, where, group, f"{place}confusion_matrix", of)
        if part.classification_report is not None:
            out += self._of_report(part.classification_report, group, f"{place}classification_report", of, left)
        for i, metric in enumerate(part.metrics):
            at = f"{place}metrics[{i}]"
            try:
                out += self._of_metric(metric, group, at, of)
            except ReleaseError as error:
                raise error.at(place=at) from None
        return out

    def _of_matrix(
        self, matrix: list[list[int]], where: Condition, group: Region, place: str, of: str
    ) -> list[PublishedFigure]:
        """Return a figure per cell of a confusion matrix: rows are labels, columns predictions, as scikit-learn's."""
        k = len(self.labels)
        if len(matrix) != k or any(len(line) != k for line in matrix):
            raise ReleaseError(f"is no table of {k} rows and columns, one per label (rows: true, columns: predicted)",
                               place=place)  # fmt: skip
        out: list[PublishedFigure] = []
        for i, t in enumerate(self.labels):
            for j, p in enumerate(self.labels):
                n, name = Fraction(matrix[i][j]), f"confusion matrix, label {self._value(t)} as {self._value(p)}{of}"
                cell: Cell = lambda a, b, t=t, p=p: a == t and b == p  # type: ignore[misc]  # noqa: E731
                out += self.between(cell, n, n, group, name)
        if k == self.label.known[1]:
            out.append(PublishedFigure(where, count=sum(map(sum, matrix)), name=f"confusion matrix, all rows{of}"))
        return out

    def _of_report(
        self, report: Mapping[str, Any], group: Region, place: str, of: str, left: list[UnusedPublication]
    ) -> list[PublishedFigure]:
        """Return the figures of scikit-learn's classification_report(output_dict=True)."""
        out: list[PublishedFigure] = []
        for key, line in report.items():
            at = f"{place}.{key}"
            if key in AVERAGES:
                left.append(
                    UnusedPublication(f"'{key}' of the classification report{of}", "a mean of rates of classes")
                )
                continue
            given = {"accuracy": line} if key == "accuracy" else line
            if not isinstance(given, dict) or not given.keys() <= {"accuracy", "support", *REPORTED}:
                raise ReleaseError("is no line of a classification report", place=at)
            try:
                c = 0 if key == "accuracy" else int(self.label.point(from_text(key, self.label))[0])
                for metric, value in given.items():
                    if metric != "support":
                        part = MetricPart(metric=metric, value=value)
                        out += self._of_rate(part, c, group, of if key == "accuracy" else f" of {key}{of}")
                        continue
                    low, high = (value, value) if isinstance(value, int) else _interval(value, None)
                    out += self.between(lambda t, p, c=c: t == c, Fraction(low), Fraction(high), group,  # type: ignore[misc]
                                        f"support of {key}{of}")  # fmt: skip
            except ReleaseError as error:
                raise error.at(place=at) from None
        return out

    def _of_metric(self, part: MetricPart, group: Region, place: str, of: str) -> list[PublishedFigure]:
        metric = ALIASES.get(part.metric, part.metric)
        if metric in OF_ALL and part.of is not None:
            raise ReleaseError(f"{metric} is of no class: leave 'of' out", place=f"{place}.of")
        if part.of is not None:
            c = int(self.label.point(part.of)[0])
        elif metric in OF_ALL:
            c = 0
        elif len(self.labels) == 2:
            c = self.labels[1]
        else:
            raise ReleaseError(f"of which class is the {part.metric}? give 'of'")
        return self._of_rate(part, c, group, of if metric in OF_ALL else f" of {self._value(c)}{of}")

    def _of_rate(self, part: MetricPart, c: int, group: Region, of: str) -> list[PublishedFigure]:
        """Return a rate as figures: its numerator between both ends of its interval times its denominator."""
        metric = ALIASES.get(part.metric, part.metric)
        above, below = _rate_cells(metric, c)
        low, high = _interval(part.value, part.within)
        if high < 0 or low > 1:
            message = f'{part.value} is no share between 0 and 1: a percentage is a text with its sign ("93.1 %")'
            raise ReleaseError(message)
        low, high = max(low, Fraction(0)), min(high, Fraction(1))
        n = self.rows.high
        if n is not None:
            most = max(1, n * (2 if metric == "f1" else 1))
            low, high = -_at_most(-low, most), _at_most(high, most)
        name = f"{part.metric}{of}: {part.value}"
        if low > high:
            message = f"{name}, which no quotient of {n:,} rows or fewer is"
            raise ContradictionError(message, (name,))
        if not group and self.rows.exact and metric in ("accuracy", "error_rate", "selection_rate", "prevalence"):
            return self.between(above, low * self.rows.low, high * self.rows.low, group, name)
        at_most = self.sums(lambda t, p: above(t, p) - high * below(t, p), min, group)
        at_least = self.sums(lambda t, p: above(t, p) - low * below(t, p), max, group)
        if low == high and at_most == at_least:
            return [_figure(at_most, Fraction(0), Fraction(0), name)]
        return [_figure(at_most, None, Fraction(0), name), _figure(at_least, Fraction(0), None, name)]

    def between(self, cell: Cell, low: Fraction, high: Fraction, group: Region, name: str) -> list[PublishedFigure]:
        """Return that so many rows of a group are in some cells of its confusion matrix."""
        least, most = (self.sums(lambda t, p: Fraction(cell(t, p)), end, group) for end in (min, max))
        if least == most:
            return [_figure(least, low, high, name)]
        return [_figure(least, None, high, name), _figure(most, low, None, name)]

    def sums(
        self, worth: Callable[[int, int], Fraction | int], end: Callable[[Iterable[Any]], Any], group: Region
    ) -> list[LinearTerm]:
        """Return what rows add up to by label and region, the least (or greatest) over predictions that tie."""
        out: list[LinearTerm] = []
        for r, region in enumerate(self.regions):
            box = shared_region(region.box, group)
            if box is None:
                continue
            each = [Fraction(end(worth(t, p) for p in region.labels)) for t in range(self.label.known[1])]
            for times in dict.fromkeys(each):
                if times:
                    some = tuple(t for t, one in enumerate(each) if one == times)
                    out.append(LinearTerm((self._condition(r, box, some, bool(group)),), (), times))
        return out

    def _condition(self, r: int, box: Region, labels: tuple[int, ...], fresh: bool) -> Condition:
        """Return the condition of a region's rows with some labels."""
        if not fresh and (r, labels) in self.made:
            return self.made[r, labels]
        every = self.domain.all
        held = {k: ranges for k, ranges in box.items() if ranges != (every[k].span,)}
        if len(labels) < self.label.known[1]:
            k = len(every) - 1
            own: Ranges = tuple((t, t + 1) for t in labels)
            held[k] = intersection(held[k], own) if k in held else own
        found = tuple((every[k].name, as_test(every[k], ranges)) for k, ranges in held.items())
        if not fresh:
            self.made[r, labels] = found
        return found

    def _value(self, c: int) -> Value:
        return self.label.value_at(c)


def _figure(terms: list[LinearTerm], low: Fraction | None, high: Fraction | None, name: str) -> PublishedFigure:
    """Return that terms add up to at least and at most so much; no term: nobody adds anything."""
    every = tuple(terms) or (LinearTerm(((),), (), Fraction(0)),)
    return PublishedFigure((), name=name, linear=LinearFigure(every, low, high))


def _interval(value: Any, within: Any) -> tuple[Fraction, Fraction]:
    """Return the interval that the digits of a number, or of a percentage as text, stand for."""
    text = value.strip() if isinstance(value, str) else repr(value)
    percent = text.endswith("%")
    text = text.removesuffix("%").strip()
    try:
        number = exact_number(text)
        digits = Decimal(text).as_tuple() if "/" not in text else None
    except (ReleaseError, ValueError, ArithmeticError):
        raise ReleaseError(f"{value!r} is no number and no percentage") from None
    if within is not None:
        half = to_exact(within, "within")
        if half < 0:
            raise ReleaseError(f"{within} is negative", place="within")
    elif digits is None:
        half = Fraction(0)
    else:
        half = Fraction(10) ** int(digits.exponent) / 2
        if len(digits.digits) >= LONG:
            half = max(half, abs(number) * ROUNDED)
    scale = 100 if percent else 1
    return (number - half) / scale, (number + half) / scale


def _at_most(x: Fraction, most: int) -> Fraction:
    """Return the greatest fraction up to x whose denominator is at most so much (its neighbour in a Farey sequence)."""
    near = x.limit_denominator(most)
    if near <= x:
        return near
    p, q = near.numerator, near.denominator
    b = pow(p, -1, q) if q > 1 else 0
    b += (most - b) // q * q
    return Fraction(p * b - 1, q * b)
