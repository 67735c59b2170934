"""What stands around scikit-learn's trees: pipelines, searches, votes, thresholds, calibration.

A pipeline's steps are followed from the raw columns to those that the model sees, so that its conditions become
conditions on the raw attributes, and what the steps store of them (categories, ranges) becomes the domain. Whatever
holds one model fitted on all rows is opened; what holds several is read as several models of the same rows.

Calibrations on folds, and the fits that cross-validation keeps: each model saw all rows but those of one fold, so that
they are of related data sets (`encoders.models.related`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from encoders.domain.values import AnyAttribute, Continuous, Test, Value
from encoders.models.models import AnyModel, Provenance, UnusedPublication
from encoders.models.related import DataSet, RelatedDataSets
from recon.readers.formats.drafts.binding import Binder, Feature
from recon.readers.formats.drafts.drafts import SUBSET, Draft
from recon.readers.formats.sklearn.pipelines.binding import (
    JOINED_VALUES,
    ColumnStatements,
    PipelineBinder,
    either,
    figures_beside,
    numbered,
    of_all_rows,
    straight,
)
from recon.readers.formats.sklearn.pipelines.columns import StepColumn
from recon.readers.formats.sklearn.pipelines.prepared import (
    FollowedPipeline,
    PreparedDraft,
    counts_values,
    open_pipeline,
    rows_of_figures,
)
from recon.readers.formats.sklearn.pipelines.steps import (
    DEEPEST,
    PIPELINES,
    SEEN,
    steps_of,
    word,
)
from recon.readers.formats.sklearn.trees.draft import TreesDraft
from recon.readers.formats.sklearn.trees.trees import class_values
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

SPLITS = ("KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold", "LeaveOneOut", "LeaveOneGroupOut")
WHOLE = "all rows"


def _is_folds(draft: Draft) -> bool:
    return isinstance(draft, SeveralDraft) and draft.related is not None


def read_folds(members: Sequence[Any], form: str, inner: Callable[[Any, str], Draft], where: str) -> Draft:
    """Return the models of cross-validation, which are of related data sets: all rows without one fold each.

    Raises `Unsupported` for folds inside folds, and where a model is not read, naming it.
    """
    drafts = []
    for k, member in enumerate(members):
        if not isinstance(member, Thing):
            raise ReleaseError(f"is {where} without a fitted model", place="calibrated_classifiers_")
        if _is_folds(found := inner(member, form)):
            raise Unsupported("a calibration inside a calibration is not read: store the model itself")
        drafts.append(_about_subset(found, k, len(members), where))
    return _joined_drafts(drafts, replace(drafts[0], reader_notes=()), _fold_relations(len(drafts)))


def _fold_relations(folds: int) -> RelatedDataSets:
    """Return all rows, so many folds that are their parts, and the rows of every fit: all without a fold."""
    parts = [f"fold {k}" for k in range(1, folds + 1)]
    fits = (DataSet(f"fit {k}", origin=WHOLE, without=name) for k, name in enumerate(parts, start=1))
    whole = (DataSet(WHOLE), *map(DataSet, parts), *fits)
    return RelatedDataSets(whole, parts=((tuple(parts), WHOLE),))


def _calibrated_folds(thing: Thing) -> list[Any]:
    """Return the models of a calibration that each saw another part of the rows; [] where one saw all of them."""
    members = thing.get("calibrated_classifiers_")
    if not isinstance(members, list) or len(members) < 2:
        return []
    found = [m.get("estimator", m.get("base_estimator")) if isinstance(m, Thing) else None for m in members]
    frozen = any(isinstance(m, Thing) and m.class_name == "FrozenEstimator" for m in found)
    return [] if frozen else found  # a frozen one was fitted before, on rows that nobody names


def _refuse_other_splits(thing: Thing) -> None:
    """Refuse a calibration whose parts are no folds: rows may be in several of them, or in none."""
    cv = thing.get("cv")
    if isinstance(cv, Thing) and cv.class_name not in SPLITS:
        raise Unsupported(
            f"the models of a CalibratedClassifierCV with cv={cv.class_name} may share or lack any rows: store the "
            "model itself, or fit it with cv=5"
        )
    if not isinstance(cv, (int, Thing, type(None))):
        raise Unsupported(
            "the models of a CalibratedClassifierCV with splits of its own may share or lack any rows: store the model "
            "itself, or fit it with cv=5"
        )


def _about_subset(draft: Draft, fold: int, folds: int, where: str) -> Draft:
    """Return a fold's draft, which says in its assumptions that it is about a part of the training rows."""
    form = f"{draft.origin.format}, fold {fold + 1} of {folds} in {where}"
    note = (
        f"{SUBSET}: the model was fitted on the training rows outside of fold {fold + 1} of {folds}, and every "
        "figure is about those alone (which rows they are is not known)"
    )
    return replace(draft, origin=replace(draft.origin, format=form, notes=(note, *draft.origin.notes)))


Inner = Callable[[Any, str], Draft]
SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
THRESHOLDS = ("TunedThresholdClassifierCV", "FixedThresholdClassifier")
SEVERAL = ("VotingClassifier", "VotingRegressor", "StackingClassifier", "StackingRegressor")
KINDS = (*PIPELINES, *SEARCHES, *THRESHOLDS, "CalibratedClassifierCV", "FrozenEstimator", *SEVERAL)
MAX_MODELS = 1_000
TREES = ("tree_", "_predictors", "estimators_", "_Booster", "_handle", "booster_")  # of models with counts
BESIDE = (
    "worlds are those of the counts: figures of single columns (means, extremes, categories) rule out some of them, "
    "and count towards the people who are fully known"
)
ASSUMED = "are taken for fits on folds of one data set (cross-validation): every row is in all of them but one"
UNSTATED = UnusedPublication(
    "figures of single columns",
    f"they are stated of related data sets where rows have at most {JOINED_VALUES:,} combinations of values: declare a "
    "coarser domain (--domain)",
    about="columns",
)


def read(thing: Thing, form: str, inner: Inner) -> Draft:
    """Return the draft of the model inside; `inner` reads a model, `form` is the container's word.

    Raises `Unsupported` for a step or a wrapper that is not read, `ReleaseError` for what is broken.
    """
    _check_nesting(thing)
    if thing.class_name in SEVERAL:
        return _several(thing, form, inner)
    if thing.class_name in PIPELINES:
        if (lone := _alone(thing)) is not None:
            draft = inner(lone, form)
            return _renamed(draft, f"{draft.origin.format}, in a Pipeline")
        opened = open_pipeline(thing)
        return _behind(inner(opened.final, form), opened)
    if thing.class_name == "CalibratedClassifierCV" and (members := _calibrated_folds(thing)):
        _refuse_other_splits(thing)
        return read_folds(members, form, inner, "a CalibratedClassifierCV")
    found, how = _unwrap(thing)
    draft = inner(found, form)
    return _renamed(draft, f"{draft.origin.format}, {how}")


def _renamed(draft: Draft, form: str) -> Draft:
    """Return the draft with another name of its format."""
    return replace(draft, origin=replace(draft.origin, format=form))


def _check_nesting(thing: Thing) -> None:
    """Refuse models inside models without end: a file may say that a search's best model is the search itself."""
    level, opened = [thing], 0
    for _ in range(DEEPEST):
        level = [one for outer in level for one in inner_models(outer) if isinstance(one, Thing)]
        opened += len(level)
        if opened > MAX_MODELS:
            break
        if not level:
            return
    raise ReleaseError("models are nested too deeply in one another, or are too many")


def inner_models(thing: Thing) -> list[Any]:
    """Return what stands inside a wrapper of models."""
    if thing.class_name in PIPELINES:
        return [step[1] for step in steps_of(thing, "steps", 2, "Pipeline")[-1:]]
    if thing.class_name in SEVERAL:
        found = thing.get("estimators_")
        return found if isinstance(found, list) else []
    if thing.class_name == "CalibratedClassifierCV" and (members := _calibrated_folds(thing)):
        return members
    return [_unwrap(thing)[0]] if thing.class_name in KINDS else []


def _unwrap(thing: Thing) -> tuple[Any, str]:
    """Return the one model inside a wrapper, fitted on all rows, and how it stood there in words.

    Raises `Unsupported` where there is none.
    """
    kind = thing.class_name
    if kind in SEARCHES:
        if not isinstance(thing.get("best_estimator_"), Thing):
            raise Unsupported(f"the {kind} has no best model: fit it with refit=True")
        return thing.get("best_estimator_"), f"the best of a {kind}"
    if kind in THRESHOLDS:
        found = thing.get("estimator_")
        if kind.startswith("Tuned") and word(thing, "cv") != "prefit" and thing.get("refit") is False:
            raise Unsupported(f"the {kind} was fitted on a part of the rows: fit it with refit=True")
        where = f"in a {kind}"
    elif kind == "CalibratedClassifierCV":
        found, where = _calibrated(thing), f"in a {kind}"
    else:
        found, where = thing.get("estimator"), f"in a {kind}"
    if not isinstance(found, Thing):
        raise ReleaseError(f"is a {kind} without a fitted model")
    return found, where


def _calibrated(thing: Thing) -> Any:
    """Return the one model that a calibration was given or fitted on all rows."""
    members, given = thing.get("calibrated_classifiers_"), thing.get("estimator", thing.get("base_estimator"))
    frozen = isinstance(given, Thing) and given.class_name == "FrozenEstimator"
    ensemble = thing.get("ensemble")
    if word(thing, "cv") == "prefit":
        ensemble = False
    if isinstance(ensemble, str):  # "auto", from 1.6 on
        ensemble = not frozen
    if not isinstance(members, list) or not members:
        raise ReleaseError("is a CalibratedClassifierCV that is not fitted")
    if ensemble is not False or len(members) != 1:
        raise Unsupported(
            f"a CalibratedClassifierCV of {len(members)} models is not read: each saw another part of the rows; "
            "fit it with ensemble=False, or store the model itself"
        )
    one = members[0]
    return one.get("estimator", one.get("base_estimator")) if isinstance(one, Thing) else None


def _alone(thing: Thing) -> Thing | None:
    """Return the model of a pipeline whose other steps do nothing, where it does not say how many columns it sees.

    So it is with boosters that were written before scikit-learn 0.24, as they are in no reader but their own.
    """
    *others, (_, final) = steps_of(thing, "steps", 2, "Pipeline")
    idle = all(step is None or (isinstance(step, str) and step == "passthrough") for _, step in others)
    known = isinstance(final, Thing) and (final.class_name in KINDS or any(map(final.has, SEEN)))
    return final if idle and isinstance(final, Thing) and not known else None


@dataclass(frozen=True, eq=False)
class PipelineDraft(Draft):
    """A model behind a pipeline: `inner` speaks of the pipeline's `columns`, this draft of the `raw` attributes."""

    inner: Draft | None = None
    columns: tuple[StepColumn, ...] = ()
    raw: tuple[str, ...] = ()
    raw_named: bool = True
    stated: tuple[ColumnStatements, ...] = ()
    kinds: tuple[str, ...] = ()

    def tests(self) -> Iterator[tuple[str, Test]]:
        """Yield the tests of the model."""
        return iter(()) if self.inner is None else self.inner.tests()

    def missing(self) -> Iterable[str]:
        """Return the features of the model of which some training rows had no value."""
        return () if self.inner is None else self.inner.missing()

    def of_known(self, table: Any, label: str) -> Draft:
        """Return the draft beside everybody's columns, where the model says something of them alone."""
        if self.inner is None or not self.inner.left_out():
            return self
        own = [str(c) for c in table.columns if str(c) != label]
        if not self.raw_named and len(own) != len(self.raw):
            raise ReleaseError(f"the pipeline has {len(self.raw)} columns without names, the table has {len(own)}")
        raw = self.raw if self.raw_named else tuple(own)
        inner = self.inner.of_made(table, [(raw[c.source], c.make, c.linear) for c in self.columns])
        return replace(
            self, inner=inner, columns=(), raw=raw, raw_named=True, features=inner.features, rows=inner.rows,
            hints={**self.hints, **inner.hints},
        )  # fmt: skip

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the models over the binder's domain; of a model that says nothing yet the figures of the columns."""
        if self.inner is None:
            return ()
        names = self.raw if self.raw_named else (binder.domain.in_order or self.raw)
        if why := self.inner.left_out():
            return self._columns_alone(binder, names, why)
        figures, table, left = figures_beside(self.stated, names, binder.domain, self.hints, self.rows)
        notes = (*self.origin.notes, *([BESIDE] if figures and table is None else []))
        origin = replace(self.origin, columns=figures, notes=notes, unused=(*self.origin.unused, *left))
        inner = replace(self.inner, origin=origin)
        if not self.columns:  # the model speaks of the raw columns
            return (*inner.bound(binder), *([] if table is None else [table]))
        own = PipelineBinder.of(self, self.columns, self.raw, self.raw_named, binder.domain)
        return (*(straight(model, binder.domain) for model in inner.bound(own)), *([] if table is None else [table]))

    def _columns_alone(self, binder: Binder, names: Sequence[str], why: str) -> tuple[AnyModel, ...]:
        """Return the figures of the columns as a table, the model among what is not used; `Unsupported` without any."""
        if not self.stated:
            raise Unsupported(why)
        model = UnusedPublication(f"the {self.origin.format.split()[1]}", why, labels=True, about="columns")
        rows = rows_of_figures(self.stated) if self.rows is None else self.rows
        named = [Feature(name, name) for name in names]
        table = PreparedDraft(
            Provenance(self.origin.format, ("exact",), self.origin.notes, unused=(model,)), tuple(named), rows=rows,
            stated=self.stated, of_values=counts_values(self.stated, self.kinds),
        )  # fmt: skip
        return table.bound(binder)


def _compose_column(columns: Sequence[StepColumn], later: StepColumn) -> StepColumn:
    """Return a column of a later pipeline as one of the raw columns that the earlier one makes its columns from."""
    first = columns[later.source]
    return StepColumn(later.name, first.source, (*first.maps, *later.maps))


def _behind(draft: Draft, opened: FollowedPipeline) -> Draft:
    """Return the draft of a pipeline's model, spoken of the raw attributes.

    The steps in front of models on folds saw the rows of all folds, so that their figures are of no fit.
    """
    if isinstance(draft, SeveralDraft) and draft.related is not None:
        before = replace(opened, stated=(), hints=of_all_rows(opened.hints, opened.sampled, None))
        parts = [_behind(part, before) for part in draft.parts]
        later = (replace(one, column=_compose_column(opened.columns, one.column)) for one in draft.stated)
        found = _joined_drafts(parts, draft, draft.related)
        return replace(found, stated=(*opened.stated, *later), raw=opened.raw, raw_named=opened.named)
    if isinstance(draft, SeveralDraft):
        return _joined_drafts([_behind(part, opened) for part in draft.parts], draft)
    columns, stated = list(opened.columns), opened.stated
    if isinstance(draft, PipelineDraft) and draft.inner is not None:  # a pipeline at the end of a pipeline
        if len(draft.raw) != len(columns):
            raise ReleaseError(f"the model takes {len(draft.raw)} columns, the pipeline gives {len(columns)}")
        stated += tuple(replace(one, column=_compose_column(columns, one.column)) for one in draft.stated)
        columns = [_compose_column(columns, c) for c in draft.columns]
        remarks, notes, draft = draft.reader_notes, draft.origin.notes, replace(draft.inner, origin=draft.origin)
    else:
        remarks, notes = draft.reader_notes, draft.origin.notes
    if len(draft.features) != len(columns):
        raise ReleaseError(f"the model takes {len(draft.features)} columns, the pipeline gives {len(columns)}")
    assert all(f.make is None for f in draft.features)  # only pipelines prepare columns
    names = [f.name for f in draft.features] if draft.models else numbered([c.name for c in columns])
    inner = replace(draft, features=tuple(Feature(n, n) for n in names), named=True)
    if isinstance(inner, TreesDraft) and not any(c.lets_gaps_through for c in columns):
        inner = replace(inner, misplaced=False)  # the trees never met a missing value
    features = tuple(c.feature(n, opened.raw[c.source], draft.single) for n, c in zip(names, columns, strict=True))
    raw = [opened.raw[c.source] for c in columns]
    summed = (
        n for f, n in zip(draft.features, raw, strict=True) if isinstance(draft.hints.get(f.attribute), Continuous)
    )
    form = (
        f"{draft.origin.format}, behind {', '.join(opened.kinds)} in a Pipeline"
        if opened.kinds
        else (f"{draft.origin.format}, in a Pipeline")
    )
    carried = {f.name: getattr(draft, f.name) for f in fields(Draft)}
    carried |= {
        "origin": replace(draft.origin, format=form, notes=tuple(dict.fromkeys((*notes, *opened.notes)))),
        "features": features,
        "hints": {name: Continuous(name) for name in summed} | of_all_rows(opened.hints, opened.sampled, draft.rows),
        "others": (),
        "named": True,
        "reader_notes": tuple(dict.fromkeys((*remarks, *opened.reader_notes))),
    }
    return PipelineDraft(
        **carried,
        inner=inner,
        columns=tuple(columns),
        raw=opened.raw,
        raw_named=opened.named,
        stated=stated,
        kinds=opened.kinds,
    )


@dataclass(frozen=True, eq=False)
class SeveralDraft(Draft):
    """Several models of the same rows. A number before the name distinguishes their features, unless all agree.

    `related`: the data sets of folds; part i is of the i-th fit then, and what is `stated` of the `raw` columns, by the
    steps in front of all of them, of all rows.
    """

    parts: tuple[Draft, ...] = ()
    related: RelatedDataSets | None = None
    stated: tuple[ColumnStatements, ...] = ()
    raw: tuple[str, ...] = ()
    raw_named: bool = True

    def chosen(self, number: int | None, path: str) -> Draft:
        """Return the fold that a path asks for by its number, all of them by none."""
        if self.related is None or number is None:
            return super().chosen(number, path)
        if number > len(self.parts):
            raise Unsupported(f"{path}: there are {len(self.parts)} models of folds, no number {number}")
        return self.parts[number - 1]

    @property
    def agreed(self) -> bool:
        """Return whether all parts have the same raw features."""
        return all(p.features == self.parts[0].features and not isinstance(p, PipelineDraft) for p in self.parts)

    def of_known(self, table: Any, label: str) -> Draft:
        """Return the draft; `Unsupported` where its parts would need everybody's columns: they may be of few rows."""
        if any(part.left_out() for part in self.parts):
            raise Unsupported("several fits in one file are not read beside known columns: give one in a file alone")
        return self

    def tests(self) -> Iterator[tuple[str, Test]]:
        """Yield the tests of all parts."""
        for i, part in enumerate(self.parts):
            for name, test in part.tests():
                yield name if self.agreed else f"{i}: {name}", test

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the models of all parts over the binder's domain."""
        bound = [part.bound(Binder(part, binder.domain)) for part in self.parts]
        if self.related is None:
            return tuple(
                replace(model, name=f"{i}: {model.name}") for i, models in enumerate(bound, start=1) for model in models
            )
        found = [_of_fit(model, f"fit {k}") for k, models in enumerate(bound, start=1) for model in models]
        names = self.raw if self.raw_named else (binder.domain.in_order or self.raw)
        figures, table, left = figures_beside(self.stated, names, binder.domain, self.hints, None)
        origin = found[0].origin or self.origin
        notes = (f"the {len(self.parts)} models of the file {ASSUMED}", *origin.notes)
        unused = (*origin.unused, *left, *([UNSTATED] if figures and table is None else []))
        found[0] = replace(found[0], origin=replace(origin, notes=notes, unused=unused))
        return (*found, *([] if table is None else [replace(table, name=f"{WHOLE}: {table.name}", dataset=WHOLE)]))


def _of_fit(model: AnyModel, name: str) -> AnyModel:
    """Return a model of a fold, of the data set of its fit.

    What its file says of single columns is of the rows of one fit: it is stated as a table, or not used.
    """
    if model.origin is None:
        return replace(model, name=f"{name}: {model.name}", dataset=name)
    notes = tuple(note for note in model.origin.notes if not note.startswith(SUBSET) and note != BESIDE)
    unused = (*model.origin.unused, *([UNSTATED] if BESIDE in model.origin.notes else []))
    origin = replace(model.origin, notes=notes, unused=unused, columns=())
    return replace(model, name=f"{name}: {model.name}", dataset=name, origin=origin)


def _several(thing: Thing, form: str, inner: Inner) -> Draft:
    """Return the members of a vote or a stack as one draft: each was fitted on all the rows."""
    kind, members = thing.class_name, thing.get("estimators_")
    if not isinstance(members, list) or not members:
        raise ReleaseError(f"is a {kind} that is not fitted", place="estimators_")
    if word(thing, "cv") == "prefit":
        raise Unsupported(f"the members of a {kind} with cv='prefit' may know different rows: give their own files")
    classes: tuple[Value, ...] | None = class_values(thing) if kind.endswith("Classifier") else None
    parts, left_out, unused = [], [], []
    for i, member in enumerate(members):
        try:
            draft = _decoded_draft(inner(member, form), classes, f"estimators_[{i}]")
            if _is_folds(draft):
                raise Unsupported("its models are on folds")
        except Unsupported:  # carries no counts, or those of a part of the rows: the others do not depend on it
            left_out.append(member.class_name if isinstance(member, Thing) else str(member)[:40])
            if isinstance(member, Thing) and any(map(member.has, TREES)):
                unused.append(
                    UnusedPublication(f"the figures of member {i} of the {kind}", f"a {member.class_name} is not read")
                )
            continue
        parts.append(_renamed(draft, f"{draft.origin.format}, one of {len(members)} in a {kind}"))
    if not parts:
        raise Unsupported(f"no member of the {kind} is read ({', '.join(dict.fromkeys(left_out))}): recon inspect it")
    notes = [f"the {len(members)} members of the {kind} are read as models of the same rows"]
    if left_out:
        notes = [
            f"{len(parts)} of the {len(members)} members of the {kind} are read, as models of the same rows; left out, "
            f"for they carry no counts that are read: {', '.join(left_out)} (recon inspect says what they store)"
        ]
    if kind.startswith("Stacking"):
        notes.append("its final model is not read: it was fitted on what the members predict")
    parts[0] = replace(parts[0], origin=replace(parts[0].origin, unused=(*parts[0].origin.unused, *unused)))
    first = parts[0]
    return _joined_drafts(parts, replace(first, reader_notes=tuple(notes)))


def _joined_drafts(parts: Sequence[Draft], like: Draft, related: RelatedDataSets | None = None) -> SeveralDraft:
    """Return several drafts as one; `related`: the data sets that they are of, where these are several."""
    hints: dict[str, AnyAttribute | None] = {}
    for part in parts:  # fits on folds each saw other rows: a value of one row need not be known to all of them
        hints |= {name: either(hints.get(name, hint), hint) for name, hint in part.hints.items()}
    kinds = dict.fromkeys(k for p in parts for k in p.origin.counts)
    notes = dict.fromkeys(n for p in parts for n in p.origin.notes)
    carried = {f.name: getattr(parts[0], f.name) for f in fields(Draft)}
    carried |= {
        "origin": replace(parts[0].origin, counts=tuple(kinds), notes=tuple(notes)),
        "models": tuple(m for p in parts for m in p.models),
        "rows": None if related is not None else _agreed_rows([p.rows for p in parts if p.rows is not None]),
        "hints": {name: hint for name, hint in hints.items() if hint is not None},
        "named": all(p.named for p in parts),
        "reader_notes": tuple(dict.fromkeys((*like.reader_notes, *(s for p in parts for s in p.reader_notes)))),
    }
    found = SeveralDraft(**carried, parts=tuple(parts), related=related)
    if found.agreed:
        return found
    features = tuple(replace(f, name=f"{i}: {f.name}") for i, p in enumerate(parts) for f in p.features)
    return replace(found, features=features, named=True)


def _agreed_rows(stated: Sequence[RowCount]) -> RowCount | None:
    """Return the number of rows that all members allow."""
    if not stated:
        return None
    low, highs = max(r.low for r in stated), [r.high for r in stated if r.high is not None]
    if highs and low > min(highs):
        raise ReleaseError(f"one member was fitted on {low} rows, another on {min(highs)}", place="estimators_")
    return RowCount(low, min(highs, default=None))


def _decoded_draft(draft: Draft, classes: tuple[Value, ...] | None, place: str) -> Draft:
    """Return a member's draft with the vote's classes: members are fitted on their numbers 0 to K - 1."""
    if classes is None or draft.classes is None:
        return draft
    if isinstance(draft, SeveralDraft):
        return _joined_drafts([_decoded_draft(p, classes, place) for p in draft.parts], draft, draft.related)
    if not all(isinstance(c, int) and 0 <= c < len(classes) for c in draft.classes):
        raise ReleaseError("has classes that are not numbers of the classes of the vote", place=f"{place}.classes_")
    found = tuple(classes[int(c)] for c in draft.classes)
    if isinstance(draft, PipelineDraft) and draft.inner is not None:
        draft = replace(draft, inner=replace(draft.inner, classes=found))
    return replace(draft, classes=found)
