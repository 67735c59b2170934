"""The `learner` of a model in a release file turned into settings, and back; what stands at its default is left out."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from encoders.models.learner import Learner, LearnerName
from recon.readers.formats.release.schema import LearnerPart
from solvers.foundation.errors import ReleaseError

SOURCE = "the file"
LEARNERS: dict[str, tuple[LearnerName, ...]] = {
    "tree": ("sklearn tree", "optimal tree"),
    "forest": ("sklearn forest",),
    "rule_list": ("greedy rule list", "optimal rule list"),
}
LISTS = ("width", "max_length", "min_support", "ties")


def to_learner(part: LearnerPart, kind: str, place: str) -> Learner:
    """Return the settings of the learner of a model of some kind (tree, forest, rule_list).

    Raises `ReleaseError` for a learner of other models, settings of rule lists on trees, and numbers not finite.
    """
    if part.name not in LEARNERS[kind]:
        said = " or ".join(f"'{name}'" for name in LEARNERS[kind])
        raise ReleaseError(f"a {kind} is learned by {said}, not by '{part.name}'", place=f"{place}.name")
    for name in LISTS:
        if getattr(part, name) is not None and kind != "rule_list":
            raise ReleaseError(f"belongs to rule lists, not to '{part.name}'", place=f"{place}.{name}")
    given = {f.name: getattr(part, f.name) for f in fields(Learner) if f.name != "source"}
    for name in ("min_weight_fraction_leaf", "min_impurity_decrease", "ccp_alpha"):
        given[name] = float(given[name])
        if not math.isfinite(given[name]):
            raise ReleaseError(f"the number {given[name]} is not finite", place=f"{place}.{name}")
    share = given["min_weight_fraction_leaf"]
    if share > 0.5:
        raise ReleaseError(f"is at most 0.5, but it is {share}", place=f"{place}.min_weight_fraction_leaf")
    return Learner(**given, source=SOURCE)


def learner_json(learner: Learner) -> dict[str, Any]:
    """Return the settings as they stand in a file: the name, and what is not at its default."""
    shown = (f for f in fields(Learner) if f.name not in {"name", "source"})
    found = {f.name: getattr(learner, f.name) for f in shown if getattr(learner, f.name) != f.default}
    return {"name": learner.name, **found}
