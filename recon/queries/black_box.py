"""The released model as recon read it, as a black box: shares of classes per row; nothing of a file is ever run.

A tree or a rule list answers with the shares of the rows that its leaf or rule counts, a forest with the mean over its
trees: what scikit-learn's `predict_proba` gives, to the bit, where counts are exact. A boosted model whose leaf values
were read adds them up.

What leaves and rules answer: shares of the rows that they count, or what they add to scores.

The 0/1 views that a released model cuts its rows by, named as people read them, and their values in true rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Categorical, Ranges, Test, complement, equals, intersection
from encoders.encode.encoder import EncodedRelease
from encoders.models.models import (
    MEANING,
    AnyModel,
    Boosting,
    Forest,
    PublishedModel,
    RuleList,
    RuleSet,
    Table,
    Tree,
    TreeSums,
    kind_words,
    kinds_of,
)
from encoders.models.nodes import CountTable, Nodes
from recon.queries.inputs import Floats, InputColumn, InputLayout, Ints, NameLine, columns_of, line, numbers
from recon.readers.frames.selections import frame_ranges, whole_rows
from solvers.foundation.errors import ReleaseError, Unsupported


@dataclass(frozen=True)
class BinaryView:
    """A column of 0 and 1: where one test on one attribute (or column) of the domain holds."""

    name: str
    attribute: int
    ones: Ranges
    zeros: Ranges
    condition: Condition

    def of(self, codes: NDArray[np.int64], ranges: list[Ranges]) -> NDArray[np.bool_]:
        """Return (rows,) where the view is 1; `ReleaseError` for a row that leaves it open."""
        held = [intersection(found, self.ones) for found in ranges]
        left_open = [part not in ((), found) for part, found in zip(held, ranges, strict=True)]
        if any(left_open):
            row = int(np.flatnonzero(np.isin(codes, np.flatnonzero(left_open)))[0]) + 1
            raise ReleaseError(f"the data leave '{self.name}' open", place=f"row {row}")
        return np.array([bool(part) for part in held], dtype=bool)[codes]


def views_of(release: EncodedRelease) -> list[BinaryView]:
    """Return the views that the models test, in the domain's order: each once, a test and its contrary being one.

    A binary column or attribute is itself; any other attribute gives a 0/1 view of each test ("age <= 40"). The label
    is none. Raises `Unsupported` for boosted models, which say more than counts.
    """
    found: dict[tuple[int, Ranges], BinaryView] = {}
    for model in release.models:
        for condition in _conditions_of(model):
            for name, test in condition:
                view = _view_of(release.domain, name, test)
                if view is not None and not {(view.attribute, view.ones), (view.attribute, view.zeros)} & found.keys():
                    found[view.attribute, view.ones] = view
    return sorted(found.values(), key=lambda v: (v.attribute, v.ones))


def _conditions_of(model: AnyModel) -> Iterator[Condition]:
    """Yield the conditions of a model."""
    if model.scores:
        raise Unsupported(f"{model.name}: correlations are bounded from counts, not from a boosted model's leaf values")
    yield from model.conditions()


def _view_of(domain: Domain, name: str, test: Test) -> BinaryView | None:
    """Return the view of a test; None for the label, and where every row of the domain is on one side.

    A test for 0 of a binary column or attribute gives the column itself.
    """
    k, ones = domain.ranges(name, test)
    attribute = domain.all[k]
    zeros = complement(ones, attribute.span)
    if (domain.label is not None and k == len(domain.all) - 1) or not ones or not zeros:
        return None
    if name in domain.columns or (isinstance(attribute, Categorical) and attribute.values == (0, 1)):
        test, shown = equals(1), name
        k, ones = domain.ranges(name, test)
        zeros = complement(ones, attribute.span)
    else:
        shown = f"{name} {test}"
    return BinaryView(shown, k, ones, zeros, ((name, test),))


def named_view(release: EncodedRelease, views: list[BinaryView], name: str) -> BinaryView:
    """Return a view by its name: one of the model's, or any binary column or attribute of the domain.

    Raises `ReleaseError` naming what there is.
    """
    domain = release.domain
    if found := next((view for view in views if view.name == name), None):
        return found
    k = domain.place.get(name)
    binary = name in domain.columns if k is None else getattr(domain.all[k], "values", None) == (0, 1)
    view = _view_of(domain, name, equals(1)) if binary else None
    if view is None:
        known = ", ".join(f"'{view.name}'" for view in views)
        raise ReleaseError(f"'{name}' is not a column of 0 and 1; the model tests {known}")
    return view


def rows_of(release: EncodedRelease, data: pd.DataFrame, views: list[BinaryView]) -> NDArray[np.bool_]:
    """Return (rows, views) where each view is 1; `ReleaseError` where the data say nothing of one or leave it open."""
    found = frame_ranges(whole_rows(data, release.domain), release.domain)
    out = np.zeros((len(data), len(views)), dtype=bool)
    for i, view in enumerate(views):
        if view.attribute not in found:
            raise ReleaseError(f"the data say nothing about '{view.name}', which the model tests")
        out[:, i] = view.of(*found[view.attribute])
    return out


def labels_of(release: EncodedRelease, data: pd.DataFrame) -> NDArray[np.int64]:
    """Return (rows,) the number of each row's label among the domain's values; `ReleaseError` where there is none."""
    label = release.domain.label
    if label is None:
        raise ReleaseError("the release has no label: nothing is known that correlations could follow from")
    if label.name not in data.columns:
        told = "say which column is (--label NAME), or name the label in the domain"
        raise ReleaseError(f"the data have no column '{label.name}', the model's label: {told}")
    codes, ranges = frame_ranges(data[[label.name]], release.domain)[len(release.domain.all) - 1]
    if wide := [k for k, found in enumerate(ranges) if len(found) != 1 or found[0][1] - found[0][0] != 1]:
        row = int(np.flatnonzero(codes == wide[0])[0]) + 1
        raise ReleaseError(f"the data leave the label '{label.name}' open", place=f"row {row}")
    return np.array([found[0][0] for found in ranges], dtype=np.int64)[codes]


def _clipped(table: CountTable, classes: int) -> Floats:
    """Return (entries, classes) counts as floats; what noise made negative is 0."""
    counts = np.array([float(v) for v in table.values.tolist()]) if table.values.dtype == object else table.values
    return np.maximum(counts.astype(np.float64).reshape(len(table), classes), 0.0)


def _rule_shares(counts: Floats) -> Floats:
    """Return (rules, classes) shares; a rule without rows has those of all rules, or equal ones."""
    overall = counts.sum(axis=0) if counts.any() else np.ones(counts.shape[1])
    held = np.where(counts.any(axis=1, keepdims=True), counts, overall)
    shares: Floats = held / held.sum(axis=1, keepdims=True)
    return shares


def _leaf_shares(nodes: Nodes, classes: int) -> Floats:
    """Return (nodes, classes) shares at the leaves; a leaf without rows has those of the nearest node above with some.

    Equal ones where the tree counts no rows at all. Cost: linear in nodes.
    """
    held = np.zeros((len(nodes), classes))
    held[nodes.leaves] = _clipped(nodes.leaf_counts, classes)
    if not held[nodes.leaves].any(axis=1).all():
        levels = _levels_of(nodes)
        children = nodes.children
        for level in reversed(levels):
            inner = level[nodes.inner[level]]
            held[inner] = held[children[inner, 0].astype(np.int64)] + held[children[inner, 1].astype(np.int64)]
        if not held[0].any():
            held[0] = 1.0
        for level in levels:
            parents = np.repeat(level[nodes.inner[level]], 2)
            below = children[level[nodes.inner[level]]].astype(np.int64).ravel()
            empty = ~held[below].any(axis=1)
            held[below[empty]] = held[parents[empty]]
    total = held.sum(axis=1, keepdims=True)
    shares: Floats = held / np.where(total == 0, 1.0, total)
    return shares


def _leaf_steps(nodes: Nodes, sums: TreeSums, scores: int) -> Floats:
    """Return (nodes, scores) what each leaf of one tree of a boosted model adds to the scores."""
    found = np.zeros((len(nodes), scores))
    found[nodes.leaves, sums.of] = sums.step
    return found


def _linked(model: Boosting, scores: Floats, classes: int) -> Floats:
    """Return (rows, classes) the probabilities of a boosted model's scores; 0 for labels that it never saw."""
    found = np.zeros((len(scores), classes))
    if model.gradients.loss == "log_loss":
        from scipy.special import expit

        one = expit(model.gradients.scale * scores[:, 0])
        found[:, list(model.labels)] = np.column_stack([1.0 - one, one])
        return found
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    found[:, list(model.labels)] = shifted / shifted.sum(axis=1, keepdims=True)
    return found


def _levels_of(nodes: Nodes) -> list[Ints]:
    """Return the nodes by level, the root first."""
    out, level = [], np.zeros(1, dtype=np.int64)
    while len(level):
        out.append(level)
        level = nodes.children[level[nodes.inner[level]]].astype(np.int64).ravel()
    return out


CHUNK = 1 << 20  # entries of a table of rows at a time
ABOVE = np.iinfo(np.int32).max  # a missing value above all parts
Predicting = Tree | Forest | RuleList | Boosting
ADDED_UP = ("AdaBoost", "Boosting", "LightGBM", "XGBoost", "CatBoost")  # whose trees are no votes, by their format


def predicting(release: EncodedRelease) -> Predicting:
    """Return the one model of a release that predicts classes; `Unsupported` says by name why there is none."""
    label = release.domain.label
    models = release.models
    if label is None:
        raise Unsupported(
            f"{_model_label(models[0])} cannot be attacked as a black box: it has no label, and predicts nothing"
        )
    able = [cast("Predicting", model) for model in models if model.predicts]
    if len(able) == 1:
        _refuse_unreadable(able[0])
        return able[0]
    if able:
        names = ", ".join(_model_label(m) for m in able[:3]) + (", ..." if len(able) > 3 else "")
        raise Unsupported(f"a release of {len(able)} models ({names}) has no one prediction: attack one file at a time")
    raise Unsupported(_why_not(models[0]))


def _model_label(model: AnyModel) -> str:
    """Return a model's kind and name in words."""
    kind = kind_words(model)
    return f"the {kind}" if model.name == kind else f"the {kind} '{model.name}'"


def _why_not(model: AnyModel) -> str:
    """Return why a model that is not a tree, forest or rule list predicts nothing that could be asked for."""
    why = {
        Table.kind: "it publishes figures about groups of rows and predicts nothing",
        RuleSet.kind: "its rules overlap and do not say which of them decides",
    }
    return f"{_model_label(model)} cannot be attacked as a black box: {why.get(model.kind, 'it predicts nothing')}"


@singledispatch
def _refuse_unreadable(model: Predicting) -> None:
    """Refuse a model whose predictions do not follow from what was read of it: classes, or all leaf values."""
    form = "" if model.origin is None else model.origin.format
    if any(word in form for word in ADDED_UP):
        why = "its trees add up to scores, and their leaf values were not read"
        raise Unsupported(f"{_model_label(model)} ({form}) cannot be attacked as a black box: {why}")
    if all(table.by_class.all() for table in model.count_tables()):
        return
    kinds = "; ".join(MEANING[kind] for kind in kinds_of(model))
    raise Unsupported(
        f"{_model_label(model)} has no predictions to ask for: not every {model.group} says its classes ({kinds})"
    )


@_refuse_unreadable.register(Boosting)
def _(model: Boosting) -> None:
    if not model.labels or model.gradients.loss == "squared_error":
        raise Unsupported(f"{_model_label(model)} cannot be attacked as a black box: it predicts a number, no class")
    if len(model.sums) < len(model.trees):
        raise Unsupported(
            f"{_model_label(model)} cannot be attacked as a black box: not all of its leaf values were read"
        )


Literal = tuple[int, list[tuple[int, int]], bool]  # a line, the runs of its parts that pass, whether missing passes


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Tests turned into comparisons: condition c holds where column `of[c]` is below `cut[c]`, or is not (`flipped`).

    The columns are the parts of line k (slots (k, False)), the same with missing values above all parts instead of
    below ((k, True)), and behind them a column per condition that is no single comparison: 0 where it holds.
    """

    lines: tuple[NameLine, ...]
    slots: tuple[tuple[int, bool], ...]
    of: NDArray[np.int32]
    cut: NDArray[np.int32]
    flipped: NDArray[np.bool_]
    derived: tuple[tuple[Literal, ...], ...]

    @classmethod
    def of_model(cls, conditions: Sequence[Condition], domain: Domain) -> Comparisons:
        """Return the comparisons of conditions; cost: linear in tests, and sorting them."""
        tests: dict[str, dict[Test, None]] = {}
        for condition in conditions:
            for name, test in condition:
                tests.setdefault(name, {})[test] = None
        lines = tuple(line(name, domain, asked) for name, asked in tests.items())
        place = {one.name: k for k, one in enumerate(lines)}
        known: dict[tuple[str, Test], Literal] = {}
        for name, asked in tests.items():
            known |= {(name, test): (place[name], *lines[place[name]].runs(test)) for test in asked}
        slots: dict[tuple[int, bool], int] = {}
        derived: list[tuple[Literal, ...]] = []
        rows: list[tuple[int, int, bool]] = []  # of derived ones: a number below 0
        for condition in conditions:
            literals = tuple(known[pair] for pair in condition)
            one = _compared(literals[0], lines) if len(literals) == 1 else None
            if one is None:
                derived.append(literals)
                rows.append((-len(derived), 1, False))
            else:
                rows.append((slots.setdefault(one[0], len(slots)), *one[1:]))
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        of = np.where(table[:, 0] < 0, len(slots) - 1 - table[:, 0], table[:, 0])
        return cls(lines, tuple(slots), of.astype(np.int32), table[:, 1].astype(np.int32), table[:, 2].astype(bool),
                   tuple(derived))  # fmt: skip

    def columns(self, parts: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return (rows, columns) what conditions compare, for rows of parts by line."""
        wide = np.empty((len(parts), len(self.slots) + len(self.derived)), dtype=np.int32)
        for j, (k, high) in enumerate(self.slots):
            own = parts[:, k]
            wide[:, j] = np.where(own < 0, ABOVE, own) if high else own
        for j, literals in enumerate(self.derived, start=len(self.slots)):
            wide[:, j] = ~_holding(parts, literals)
        return wide


def _compared(literal: Literal, lines: Sequence[NameLine]) -> tuple[tuple[int, bool], int, bool] | None:
    """Return one literal as slot, cut and whether it holds at or above it; None where that takes two comparisons."""
    k, runs, gap = literal
    if len(runs) != 1:
        return None
    ((start, end),) = runs
    if start == 0:
        return (k, not gap), end, False
    return ((k, gap), start, True) if end == len(lines[k].cuts) + 1 else None


def _holding(parts: NDArray[np.int32], literals: Sequence[Literal]) -> NDArray[np.bool_]:
    """Return which rows of parts meet all literals."""
    hit = np.ones(len(parts), dtype=bool)
    for k, runs, gap in literals:
        own = parts[:, k]
        met = (own < 0) & gap
        for start, end in runs:
            met |= (own >= start) & (own < end)
        hit &= met
    return hit


@singledispatch
def _shares_of(model: PublishedModel, classes: int) -> list[Floats]:
    """Return per tree the shares of the classes in its leaves, or what they add to scores."""
    return [_leaf_shares(tree.nodes, classes) for tree in model.members()]


@_shares_of.register(Boosting)
def _(model: Boosting, classes: int) -> list[Floats]:
    return [_leaf_steps(t.nodes, s, len(model.base)) for t, s in zip(model.trees, model.sums, strict=True)]


@singledispatch
def _start_of(model: PublishedModel, classes: int) -> tuple[float, ...]:
    """Return what the leaves of all trees are added to."""
    return (0.0,) * classes


@_start_of.register(Boosting)
def _(model: Boosting, classes: int) -> tuple[float, ...]:
    return model.base


@singledispatch
def _combined(model: PublishedModel, total: Floats, classes: int) -> Floats:
    """Return the shares that a model predicts from the sum over its trees: their mean."""
    return total / len(model.members())


@_combined.register(Boosting)
def _(model: Boosting, total: Floats, classes: int) -> Floats:
    return _linked(model, total, classes)


@dataclass(frozen=True, eq=False)
class ReleasedModel:
    """A released tree, rule list, forest or boosted model as a black box over rows of numbers by column, or tables.

    `columns`: what the columns of arrays are called (attributes and 0/1 columns of the domain, no label), by default
    the domain's own order; a listed attribute of texts has a column per value (`columns_of`). Nothing of the file is
    run: answers come from the counts that were read. Class weights of a learner are taken out of them: shares are of
    rows. Raises `Unsupported` naming the model for what has no predictions, `ReleaseError` for lacking columns.
    """

    release: EncodedRelease
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        predicting(self.release)
        self.layout.demand(line.name for line in self._conditions.lines)

    @cached_property
    def classes_(self) -> Ints:
        """Return the class numbers: places among the label's values in the domain."""
        label = self.release.domain.label
        return np.arange(0 if label is None else label.known[1], dtype=np.int64)

    @cached_property
    def model(self) -> Predicting:
        """Return the model that predicts."""
        return predicting(self.release)

    @cached_property
    def layout(self) -> InputLayout:
        """Return what the columns of arrays are."""
        return InputLayout(self.release.domain, columns_of(self.release.domain, self.columns))

    @property
    def inputs(self) -> tuple[InputColumn, ...]:
        """Return the columns of arrays in order."""
        return self.layout.columns

    @property
    def lines(self) -> tuple[NameLine, ...]:
        """Return the lines of the tested names, cut where they are tested."""
        return self._conditions.lines

    @property
    def tested(self) -> tuple[str, ...]:
        """Return the names that the model tests: attributes and 0/1 columns of the domain."""
        return tuple(one.name for one in self._conditions.lines)

    @cached_property
    def _trees(self) -> tuple[Tree, ...]:
        return self.model.members()

    @cached_property
    def _numbers(self) -> dict[int, int]:
        """Return, per table of conditions that trees share, where its conditions begin among all."""
        out: dict[int, int] = {}
        total = 0
        for tree in self._trees:
            if id(tree.nodes.conditions) not in out:
                out[id(tree.nodes.conditions)] = total
                total += len(tree.nodes.conditions)
        return out

    @cached_property
    def _conditions(self) -> Comparisons:
        if not self._trees:
            return Comparisons.of_model(list(self.model.conditions()), self.release.domain)
        found: dict[int, tuple[Condition, ...]] = {id(t.nodes.conditions): t.nodes.conditions for t in self._trees}
        return Comparisons.of_model([c for table in found.values() for c in table], self.release.domain)

    @cached_property
    def _shares(self) -> list[Floats]:
        classes = len(self.classes_)
        if not self._trees:
            return [_rule_shares(_clipped(self.model.count_tables()[0], classes))]
        return _shares_of(self.model, classes)

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803 - scikit-learn's name
        """Return (rows, classes) shares of the rows that each row's leaf or rule counts; of a forest the mean.

        `X`: an array of numbers by `columns`, or a table with names. Cost: distinct rows x depth x trees, in arrays.
        """
        parts, back = _distinct(self.parts(X))
        found = np.concatenate([self._answers(one) for one in _chunks(parts, len(self._conditions.derived))])
        answers: Floats = found[back]
        return answers

    def parts(self, X: Any) -> NDArray[np.int32]:  # noqa: N803
        """Return (rows, tested names) the part of each name's line that each row lies in."""
        layout = self.layout
        if isinstance(X, pd.DataFrame):
            names = [str(c) for c in X.columns]
            layout = InputLayout(self.release.domain, columns_of(self.release.domain, names))
            layout.demand(self.tested)
            layout.settled(X, self.release, self.lines)
            x = numbers(X, layout.columns, self.release)
        else:
            x = np.asarray(X, dtype=np.float64)
            if x.ndim != 2 or x.shape[1] != len(layout.columns):
                raise ReleaseError(f"rows of {len(layout.columns)} columns are needed, not an array {x.shape}")
        out = np.empty((len(x), len(self._conditions.lines)), dtype=np.int32)
        for k, one in enumerate(self._conditions.lines):
            out[:, k] = one.parts(layout.places(one.name, x))
        return out

    def _answers(self, parts: NDArray[np.int32]) -> Floats:
        wide = self._conditions.columns(parts)
        if not self._trees:
            return self._shares[0][self._captured(wide)]
        classes = len(self.classes_)
        total = np.tile(np.array(_start_of(self.model, classes), dtype=np.float64), (len(parts), 1))
        for tree, shares in zip(self._trees, self._shares, strict=True):
            total += shares[self._leaves(tree.nodes, wide)]
        return _combined(self.model, total, classes)

    def _captured(self, wide: NDArray[np.int32]) -> Ints:
        """Return the first rule that each row meets; `ReleaseError` where a list without a default has none."""
        found, left = np.full(len(wide), -1, dtype=np.int64), np.arange(len(wide))
        conditions = self._conditions
        for j, (of, cut, flipped) in enumerate(zip(conditions.of, conditions.cut, conditions.flipped, strict=True)):
            hit = (wide[left, of] < cut) != flipped
            found[left[hit]] = j
            left = left[~hit]
        if len(left):
            raise ReleaseError(
                "the rule list has no default rule, and some row meets no rule: it predicts nothing there"
            )
        return found

    def _leaves(self, nodes: Nodes, wide: NDArray[np.int32]) -> Ints:
        """Return the leaf that each row reaches: all rows go down one level at a time."""
        of, cut, children = self._compared(nodes)
        at = np.zeros(len(wide), dtype=np.int64)
        moving = np.arange(len(wide)) if nodes.inner[0] else np.zeros(0, dtype=np.int64)
        flat, start = wide.ravel(), moving * wide.shape[1]
        here = at[moving]
        while len(moving):
            here = children.take(2 * here + (flat.take(start + of.take(here)) >= cut.take(here)))
            done = of.take(here) < 0
            if done.any():
                at[moving[done]] = here[done]
                left = ~done
                moving, start, here = moving[left], start[left], here[left]
        return at

    def _compared(self, nodes: Nodes) -> tuple[Ints, NDArray[np.int32], Ints]:
        """Return per node its column (-1: a leaf) and cut, and the children below the cut and at or above it."""
        conditions = self._conditions
        code = np.where(nodes.inner, nodes.condition + self._numbers[id(nodes.conditions)], 0)
        if not len(conditions.of):
            nothing = np.full(len(nodes), -1, dtype=np.int32)
            return nothing.astype(np.int64), nothing, np.zeros(2 * len(nodes), dtype=np.int64)
        children = np.where(nodes.inner[:, None], nodes.children, 0).astype(np.int64)
        children = np.where(conditions.flipped[code][:, None], children[:, ::-1], children)
        return (
            np.where(nodes.inner, conditions.of[code], -1).astype(np.int64),
            conditions.cut[code],
            np.ascontiguousarray(children).ravel(),
        )


def _distinct(parts: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    """Return the distinct rows of a table of parts, and which of them every row is; column by column, no sorting."""
    code = np.zeros(len(parts), dtype=np.int64)
    for own in parts.T:
        code = pd.factorize(code * (int(own.max(initial=0)) + 2) + own + 1)[0].astype(np.int64)
    first = np.zeros(int(code.max(initial=-1)) + 1, dtype=np.int64)
    first[code[::-1]] = np.arange(len(parts))[::-1]
    return parts[first], code


def _chunks(parts: NDArray[np.int32], more: int) -> Iterator[NDArray[np.int32]]:
    """Yield the rows in pieces whose tables, with so many more columns, stay small; one piece where there are none."""
    step = max(1, CHUNK // max(1, parts.shape[1] + more))
    for start in range(0, max(1, len(parts)), step):
        yield parts[start : start + step]
