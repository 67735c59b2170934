"""Calibrations on folds: each model saw another part of the training rows, so that each is a release of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from recon.readers.formats.drafts.drafts import SUBSET, Draft
from recon.readers.stored.objects.things import Thing
from solvers.foundation.errors import ReleaseError, Unsupported


class Folds(Unsupported):
    """Models that were each fitted on another part of the rows: releases of their own, never to be joined."""

    def __init__(self, drafts: Sequence[Draft], file: str = "") -> None:
        self.drafts = tuple(drafts)
        super().__init__(
            f"{file}{': ' if file else ''}holds {len(drafts)} calibrated models, each fitted on another part of the "
            f"rows: they are releases of their own and are never joined. Give one of them, {file or 'FILE'}#1 to "
            f"#{len(drafts)}; recon audit reports all of them"
        )

    def chosen(self, number: int | None, path: str) -> Draft:
        """Return the draft that a path asks for by its number; `Folds` with its name where it asks for none."""
        if number is None:
            raise Folds(self.drafts, path) from None
        if number > len(self.drafts):
            raise Unsupported(f"{path}: there are {len(self.drafts)} calibrated models, no number {number}") from None
        return self.drafts[number - 1]


def folds(thing: Thing) -> list[Any]:
    """Return the models of a calibration that each saw another part of the rows; [] where one saw all of them."""
    members = thing.get("calibrated_classifiers_")
    if not isinstance(members, list) or len(members) < 2:
        return []
    found = [m.get("estimator", m.get("base_estimator")) if isinstance(m, Thing) else None for m in members]
    frozen = any(isinstance(m, Thing) and m.class_name == "FrozenEstimator" for m in found)
    return [] if frozen else found  # a frozen one was fitted before, on rows that nobody names


def of_folds(members: Sequence[Any], form: str, inner: Callable[[Any, str], Draft]) -> Folds:
    """Return the refusal to join the models of a calibration, with the draft of each."""
    drafts = []
    for k, member in enumerate(members):
        if not isinstance(member, Thing):
            raise ReleaseError("is a CalibratedClassifierCV without a fitted model", place="calibrated_classifiers_")
        try:
            drafts.append(about_subset(inner(member, form), k, len(members)))
        except Folds:
            raise Unsupported("a calibration inside a calibration is not read: store the model itself") from None
    return Folds(drafts)


def about_subset(draft: Draft, fold: int, folds: int) -> Draft:
    """Return a fold's draft, which says in its assumptions that it is about a part of the training rows."""
    form = f"{draft.origin.format}, fold {fold + 1} of {folds} in a CalibratedClassifierCV"
    note = (
        f"{SUBSET}: the model was fitted on the training rows outside of fold {fold + 1} of {folds}, and every "
        "figure is about those alone (which rows they are is not known)"
    )
    return replace(draft, origin=replace(draft.origin, format=form, notes=(note, *draft.origin.notes)))
