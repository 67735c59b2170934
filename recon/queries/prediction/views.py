"""The 0/1 views that a released model cuts its rows by, named as people read them, and their values in true rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Listed, Ranges, Test, complement, equals, intersection
from encoders.encode.encoder import EncodedRelease
from encoders.models.models import AnyModel, Boosting, Forest, RuleList, RuleSet, Table, Tree
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
        for condition in conditions_of(model):
            for name, test in condition:
                view = view_of(release.domain, name, test)
                if view is not None and not {(view.attribute, view.ones), (view.attribute, view.zeros)} & found.keys():
                    found[view.attribute, view.ones] = view
    return sorted(found.values(), key=lambda v: (v.attribute, v.ones))


def conditions_of(model: AnyModel) -> Iterator[Condition]:
    """Yield the conditions of a model."""
    if isinstance(model, Boosting):
        raise Unsupported(f"{model.name}: correlations are bounded from counts, not from a boosted model's leaf values")
    if isinstance(model, Tree):
        yield from model.nodes.tested()
    elif isinstance(model, Forest):
        for tree in model.trees:
            yield from tree.nodes.tested()
    elif isinstance(model, Table):
        yield from (figure.condition for figure in model.statements)
    elif isinstance(model, RuleList | RuleSet):
        yield from (rule.condition for rule in model.rules)


def view_of(domain: Domain, name: str, test: Test) -> BinaryView | None:
    """Return the view of a test; None for the label, and where every row of the domain is on one side.

    A test for 0 of a binary column or attribute gives the column itself.
    """
    k, ones = domain.ranges(name, test)
    attribute = domain.all[k]
    zeros = complement(ones, attribute.span)
    if (domain.label is not None and k == len(domain.all) - 1) or not ones or not zeros:
        return None
    if name in domain.columns or (isinstance(attribute, Listed) and attribute.values == (0, 1)):
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
    view = view_of(domain, name, equals(1)) if binary else None
    if view is None:
        known = ", ".join(f"'{view.name}'" for view in views)
        raise ReleaseError(f"'{name}' is no column of 0 and 1; the model tests {known}")
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
