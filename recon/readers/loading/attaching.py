"""Counts for models that carry none: training rows per class in every leaf or rule.

They are counted through the model's own conditions, so that what the release says about X and y is true by
construction.

DL8.5, STreeD, CORELS, GOSDT and ONNX files hold a structure and labels; with the rows they were fitted on at hand the
same release can be made as from a model that stores counts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import count, repeat
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from encoders.encode.encoder import encode as encode_models
from encoders.models.models import (
    AnyModel,
    Boosting,
    Forest,
    Provenance,
    PublishedModel,
    Rule,
    RuleList,
    RuleSet,
    Tree,
    UnusedPublication,
    unsupported,
)
from encoders.models.nodes import Nodes, Support
from recon.readers.formats.drafts.binding import Binder, Feature
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.rules.plain_values import SkeletonDraft
from recon.readers.frames.world import TrueRows, violations
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

COUNTED = "class counts were counted on the given X and y, through the model's conditions, not read off the model"
OTHER_ROWS = "the model itself says otherwise about its rows: X and y are not (all) those it was fitted on"
SUMS = UnusedPublication("its leaf values", "the counts of the given rows replace them")
EMPTY = Support(count=0)
NO_REGIONS = "it has no rows of its own to count"


def attach_counts(model: Any, X: Any, y: Any, domain: Domain | None = None) -> EncodedRelease:  # noqa: N803
    """Return the release of a fitted model with the class counts of the given training rows in every leaf or rule.

    `model`: a fitted object, a draft, or the path of a model file. `X` (rows, features) is a DataFrame or an array
    with the model's features in order, `y` one label per row. `domain`: which rows can exist; by default read off X
    and y, so that every answer says so. Where the model can predict, rows that it distinguishes must be in different
    leaves or rules. Raises `ReleaseError` for rows that do not fit model or domain, or contradict its predictions,
    `Unsupported` for what is not read. Cost: that of encoding, and one look at every row per attribute.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(rows[["smoker", "old"]], rows["ill"])
    >>> recon.attach_counts(model, rows[["smoker", "old"]], rows["ill"])
    <EncodedRelease: tree of 3 nodes, 4 rows, 2 attributes, label 'ill'>
    """
    draft = _source_of(model)
    frame, label = _table_of(X, y, draft, domain)
    draft = _named_by(draft, [c for c in frame.columns if c != label])
    found = Domain.from_frame(frame, label=label) if domain is None else domain
    if found.label is None:
        raise ReleaseError("the domain has no label: counts per class need one")
    shape = _structure(draft, Binder(draft, found))
    empty = encode_models(found, [emptied(shape)], RowCount(0))
    rows = TrueRows.of(empty, frame)
    located = _locate(shape, empty, rows)
    counted = _filled(shape, [_per_class(rows, r, found) for r in located])
    unused = _unused_of(draft, shape)
    origin = Provenance(f"{draft.origin.format}, counts attached", ("exact",), (COUNTED,), unused=unused)
    release = encode_models(found, [replace(counted, origin=origin)], RowCount(len(frame), len(frame)))
    notes = [] if _keeps_figures(draft, found, frame) else [OTHER_ROWS]
    return replace(release, reader_notes=(*notes, *_compared(model, X, draft, located, rows)))


def _unused_of(draft: Draft, shape: AnyModel) -> tuple[UnusedPublication, ...]:
    """Return the figures of the model itself that attached counts leave out: its reader's, and sums of gradients.

    Those that are about the labels of one group's rows alone are told by its counts.
    """
    own = () if shape.origin is None else shape.origin.unused
    every = (*draft.origin.unused, *own, *([SUMS] if shape.scores else []))
    return tuple(dict.fromkeys(one for one in every if not one.labels))


def _source_of(model: Any) -> Draft:
    """Return the draft of a fitted object, a file, or the draft itself."""
    from recon.readers.loading.loading import draft_of, read_file

    if isinstance(model, Draft):
        return model
    if isinstance(model, (str, os.PathLike)):
        content = read_file(os.fspath(model)).content
        if isinstance(content, Draft):
            return content
        raise ReleaseError("is a release file, which has its counts: give a model", file=os.fspath(model))
    return draft_of(model)


def _table_of(X: Any, y: Any, draft: Draft, domain: Domain | None) -> tuple[pd.DataFrame, str]:  # noqa: N803
    """Return features and label as one table, and the label's name: the domain's, y's own, or the draft's."""
    if isinstance(X, pd.DataFrame):
        frame = X.reset_index(drop=True)
        frame.columns = pd.Index([str(c) for c in X.columns])
    else:
        values = np.asarray(X)
        if values.ndim != 2:
            raise ReleaseError(f"X has {values.ndim} dimensions: a table of rows and features is needed")
        names = [f.attribute for f in draft.features]
        if not draft.named or len(names) != values.shape[1]:
            names = [f"x{i}" for i in range(values.shape[1])]
        frame = pd.DataFrame(values, columns=pd.Index(names)).infer_objects()
    labels = pd.Series(np.asarray(y).reshape(-1), dtype=getattr(y, "dtype", None))
    if len(labels) != len(frame):
        raise ReleaseError(f"X has {len(frame)} rows and y {len(labels)} labels")
    if not len(frame) or labels.isna().any():
        raise ReleaseError("there are no rows" if not len(frame) else "y has missing labels: every row needs one")
    given = getattr(y, "name", None)
    label = str(given) if given is not None else draft.label
    if domain is not None and domain.label is not None:
        label = domain.label.name
    while domain is None and label in frame.columns:
        label += "_"
    return frame.assign(**{label: labels}), label


def _named_by(draft: Draft, columns: Sequence[str]) -> Draft:
    """Return the draft with its unnamed features called like the columns in order."""
    if draft.named:
        return draft
    partial = isinstance(draft, SkeletonDraft)  # may name only the features that it tests
    if len(draft.features) > len(columns) or (len(draft.features) < len(columns) and not partial):
        message = f"the model was fitted on {len(draft.features)} unnamed features, X has {len(columns)}"
        raise ReleaseError(message)
    own = tuple(replace(f, attribute=c) for f, c in zip(draft.features, columns, strict=False))
    more = tuple(Feature(f"x{i}", columns[i]) for i in range(len(own), len(columns)))
    return replace(draft, features=(*own, *more), named=True)


def _structure(draft: Draft, binder: Binder) -> AnyModel:
    """Return the model behind a draft over the binder's domain, whatever it counts."""
    found = draft.structure(binder) if isinstance(draft, SkeletonDraft) else None
    if found is not None:
        return found
    models = draft.bound(binder)
    shaped = [model for model in models if not model.figures()]
    if len(shaped) > 1 or not models:
        raise Unsupported(f"{draft.origin.format} publishes {len(shaped)} models: attach counts to one at a time")
    if shaped:
        return shaped[0]
    label = None if binder.domain.label is None else binder.domain.label.name
    conditions = [
        tuple(pair for pair in condition if pair[0] != label) for model in models for condition in model.conditions()
    ]
    return RuleSet(tuple(Rule(c, EMPTY) for c in dict.fromkeys(conditions) if c))


@singledispatch
def emptied(model: PublishedModel) -> AnyModel:
    """Return a model that counts no rows, to be cut and encoded; `Unsupported` of a kind without regions."""
    raise unsupported(model, NO_REGIONS)


@emptied.register
def _(model: Tree) -> AnyModel:
    return replace(model, nodes=_uncounted_nodes(model.nodes), noise=None, origin=None)


@emptied.register
def _(model: Forest | Boosting) -> AnyModel:
    return Forest(tuple(replace(t, nodes=_uncounted_nodes(t.nodes)) for t in model.trees), model.name)


@emptied.register
def _(model: RuleList) -> AnyModel:
    rules = tuple(replace(rule, support=EMPTY) for rule in _with_default(model))
    return replace(model, rules=rules, noise=None, origin=None)


@emptied.register
def _(model: RuleSet) -> AnyModel:
    rules = tuple(replace(rule, support=EMPTY) for rule in model.rules)
    return replace(model, rules=rules, noise=None, origin=None)


def _with_default(model: RuleList) -> tuple[Rule, ...]:
    """Return the rules of a list, a last one for all other rows included."""
    return model.rules if model.rules and not model.rules[-1].condition else (*model.rules, Rule((), EMPTY))


def _uncounted_nodes(nodes: Nodes) -> Nodes:
    """Return nodes whose leaves count no rows."""
    return nodes.counting_leaves(repeat(EMPTY))


def _locate(model: AnyModel, empty: EncodedRelease, rows: TrueRows) -> list[NDArray[np.int64]]:
    """Return per partition the region of each distinct row; of rules that overlap one partition each (0: inside)."""
    if not model.disjoint:
        boxes = (empty.cut.box(empty.domain.resolve(condition)) for condition in model.conditions())
        return [np.where(rows.inside(box), 0, 1).astype(np.int64) for box in boxes]
    blocks = empty.statements.partitions.values()
    found = [rows.regions(block.boxes) for block in blocks]
    for regions in found:
        if (regions < 0).any():
            row = int(np.flatnonzero((regions < 0)[rows.back])[0])
            raise ReleaseError(f"row {row + 1} of X leaves open which leaf or rule it is in: a value is missing")
    return found


@dataclass(frozen=True)
class RegionCounts:
    """Training rows per class of one partition's regions: (regions, classes)."""

    table: NDArray[np.int64]

    def of(self, region: int) -> Support:
        """Return the rows per class of a region, zeros where no row is."""
        if region >= len(self.table):
            return Support((0,) * self.table.shape[1])
        return Support(tuple(int(n) for n in self.table[region]))


def _per_class(rows: TrueRows, regions: NDArray[np.int64], domain: Domain) -> RegionCounts:
    """Return the rows per region and value of the label."""
    last = len(domain.all) - 1
    value = rows.parts[last].argmax(axis=1)[rows.codes[:, last]]
    table = np.zeros((int(regions.max(initial=0)) + 1, rows.parts[last].shape[1]), dtype=np.int64)
    np.add.at(table, (regions, value), rows.times)
    return RegionCounts(table)


@singledispatch
def _filled(model: PublishedModel, counted: Sequence[RegionCounts]) -> AnyModel:
    """Return a model with the counts of its regions, those of each partition in file order."""
    raise unsupported(model, NO_REGIONS)


@_filled.register
def _(model: Tree, counted: Sequence[RegionCounts]) -> Tree:
    return replace(model, nodes=model.nodes.counting_leaves(map(counted[0].of, count())), noise=None)


@_filled.register
def _(model: Forest | Boosting, counted: Sequence[RegionCounts]) -> AnyModel:
    leaves = [t.nodes.counting_leaves(map(c.of, count())) for t, c in zip(model.trees, counted, strict=True)]
    trees = tuple(replace(t, nodes=nodes, noise=None) for t, nodes in zip(model.trees, leaves, strict=True))
    return Forest(trees, model.name)


@_filled.register
def _(model: RuleSet, counted: Sequence[RegionCounts]) -> AnyModel:
    rules = (replace(r, support=c.of(0)) for r, c in zip(model.rules, counted, strict=True))
    return replace(model, rules=tuple(rules), noise=None)


@_filled.register
def _(model: RuleList, counted: Sequence[RegionCounts]) -> AnyModel:
    rules = tuple(replace(rule, support=counted[0].of(j)) for j, rule in enumerate(_with_default(model)))
    return replace(model, rules=rules, noise=None)


def _keeps_figures(draft: Draft, domain: Domain, frame: pd.DataFrame) -> bool:
    """Return whether the rows keep whatever the model itself says about its training rows."""
    from recon.readers.loading.loading import bind_draft

    if isinstance(draft, SkeletonDraft) and not draft.models:
        return True
    wide, models = bind_draft(draft, domain)
    if any(m.resampled for m in models):
        return True  # counts of drawn rows do not say which rows were drawn
    return not violations(encode_models(wide, models, draft.rows), frame)


def _compared(
    model: Any,
    X: Any,  # noqa: N803
    draft: Draft,
    located: Sequence[NDArray[np.int64]],
    rows: TrueRows,
) -> tuple[str, ...]:
    """Return what is to be said about the model's predictions on X; `ReleaseError` where they contradict the regions.

    Rows of one region get one prediction; where the draft knows it, that one.
    """
    predict = getattr(model, "predict", None)
    if not callable(predict):
        return ("predictions were not compared: the model given has no predict",)
    try:
        predicted = np.asarray(predict(X)).reshape(-1)
    except Exception as error:  # a foreign predict may raise anything
        return (f"predictions were not compared: the model's predict failed on X ({error})",)
    if len(predicted) != len(rows.back):
        return (f"predictions were not compared: predict gave {len(predicted)} of {len(rows.back)} rows",)
    places = np.stack(located, axis=1)[rows.back]
    _, group = np.unique(places, axis=0, return_inverse=True)
    first: dict[int, Any] = {}
    expected = draft.predicted if isinstance(draft, SkeletonDraft) else ()
    for row, (g, value) in enumerate(zip(group.reshape(-1).tolist(), predicted.tolist(), strict=True)):
        wanted = expected[places[row, 0]] if expected and places[row, 0] < len(expected) else value
        if first.setdefault(g, value) != value or not _same(value, wanted):
            message = f"row {row + 1} of X is predicted {value!r}, others of its leaf or rule"
            other = first[g] if first[g] != value else wanted
            raise ReleaseError(f"{message} {other!r}: X is not encoded as the model was fitted")
    return ()


def _same(value: Any, wanted: Any) -> bool:
    """Return whether a prediction is a class, whatever type it has (True, 1, "1")."""
    return bool(value == wanted) or str(value) == str(wanted)
