"""Numbers, lists and names out of stored objects, checked: whoever wrote the file may have put anything into them.

Drafts of models that carry no counts: their structure, and the little that a predicted label says.

A leaf that predicts a class by majority says that the class is at least the commonest there, provided that the leaf
is not empty. The structure is kept beside it, so that `recon.attach_counts` can count rows per leaf or rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.domain.domain import Condition
from encoders.domain.values import Test, Value
from encoders.models.models import AnyModel, PublishedFigure, RuleList, Statistic, Tree
from encoders.models.nodes import ModelNode
from recon.readers.formats.drafts.binding import Binder, Feature
from recon.readers.formats.drafts.drafts import Draft, bind
from recon.readers.formats.sklearn.trees.trees import class_values, feature_names
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported

NO_COUNTS = "it carries no counts: recon.attach_counts(model, X, y) counts the training rows per leaf or rule"


@dataclass(frozen=True)
class SkeletonDraft(Draft):
    """A draft whose `models` hold only what labels say; `skeleton` is the model itself, without counts.

    `predicted`: the class of each leaf (in node order) or rule of the skeleton.
    """

    skeleton: Tree | RuleList | None = None
    predicted: tuple[Value, ...] = ()

    def tests(self) -> Iterator[tuple[str, Test]]:
        """Yield the features that the skeleton names, with the tests on them."""
        if self.skeleton is not None:
            for condition in self.skeleton.conditions():
                yield from condition

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return what labels say over the binder's domain; `Unsupported` where they say nothing."""
        if not self.models:
            raise Unsupported(f"the {self.origin.format} says which class is predicted where, but {NO_COUNTS}")
        return super().bound(binder)

    def structure(self, binder: Binder) -> AnyModel | None:
        """Return the skeleton over the binder's domain."""
        return None if self.skeleton is None else bind(self.skeleton, binder)


def commonest(condition: Condition, label: str, value: Value, classes: int, name: str) -> PublishedFigure:
    """Return that a class is at least the commonest of the rows that meet a condition, and that there are some."""
    least = 100 // classes  # per cent, rounded down
    middle, half = (100 + least) / 200, (100 - least) / 200  # each as it is written: together they are 1
    return PublishedFigure(condition, statistic=Statistic("mean", f"{label}={value}", middle, half), name=name)


def leaf_paths(nodes: Sequence[ModelNode]) -> Iterator[tuple[int, Condition]]:
    """Yield every leaf with the tests on its path; else-sides of single tests only."""
    stack: list[tuple[int, Condition]] = [(0, ())]
    while stack:
        i, path = stack.pop()
        node = nodes[i]
        if node.condition is None:
            yield i, path
            continue
        ((name, test),) = node.condition
        stack.append((node.otherwise, (*path, (name, opposite(test)))))
        stack.append((node.then, (*path, (name, test))))


def opposite(test: Test) -> Test:
    """Return the complement of a test for 0 or 1, or of a one-sided range (these libraries refuse missing values)."""
    if test.values in {(1,), (0,)}:
        return Test(values=(0 if test.values == (1,) else 1,))
    if test.values is None and test.low is None and test.high is not None:
        return Test(low=test.high, low_open=not test.high_open)
    if test.values is None and test.high is None and test.low is not None:
        return Test(high=test.low, high_open=not test.low_open)
    raise Unsupported(f"the test {test} has no complement that is one test")


MAX_ROWS = 1 << 53  # what double precision counts
MAX_PARTS = 1_000_000  # rules or nodes of one model
WHOLE_TOLERANCE = 1e-6  # a share times a number of rows is whole to this precision (measured: 2e-13 at 10^5 rows)


def number(value: Any, place: str) -> float:
    """Return a finite number; `ReleaseError` naming the place otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > 1e300 or math.isnan(value):
        raise ReleaseError(f"holds {short_text(value)}, which is not a number", place=place)
    return float(value)


def count(value: Any, place: str) -> int:
    """Return a number of rows; `ReleaseError` naming the place otherwise."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= MAX_ROWS:
        raise ReleaseError(f"holds {short_text(value)}, which is not a number of rows", place=place)
    if value != int(value):
        raise ReleaseError(f"holds {short_text(value)}, which is not a whole number of rows", place=place)
    return int(value)


def share_of(share: Any, rows: int, place: str) -> int:
    """Return how many of so many rows a share of them is; `ReleaseError` where that is not a whole number."""
    if not rows:
        return 0
    found = number(share, place) * rows
    if not 0 <= round(found) <= rows or abs(found - round(found)) > max(WHOLE_TOLERANCE, rows * 1e-14):
        raise ReleaseError(f"holds {short_text(share)}, which is not a share of {rows} rows", place=place)
    return round(found)


def parts(value: Any, what: str, place: str) -> list[Any]:
    """Return a list that is not empty; `ReleaseError` naming the place otherwise."""
    found = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
    if not isinstance(found, (list, tuple)) or not found:
        raise ReleaseError(f"holds no {what}: the model is not fitted", place=place)
    if len(found) > MAX_PARTS:
        raise ReleaseError(f"holds {len(found):,} {what}, more than {MAX_PARTS:,}", place=place)
    return list(found)


def index(value: Any, size: int, place: str) -> int:
    """Return an index below `size`; `ReleaseError` naming the place otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
        raise ReleaseError(f"names feature {short_text(value)} of {size}", place=place)
    return value


def short_text(value: Any) -> str:
    """Return a value for a message, never long."""
    if isinstance(value, int) and value.bit_length() > 64:
        return "a huge number"
    return f"{value!r:.60}" if isinstance(value, (int, float, str, bool, type(None))) else f"a {type(value).__name__}"


def texts(value: Any) -> list[str] | None:
    """Return names out of a list, an array or a pandas Index; None where there are none."""
    if isinstance(value, Thing):  # pandas: _new_Index(Index, {"data": array, "name": ...})
        from recon.readers.stored.objects.pandas_tables import stored_cells

        try:
            value = stored_cells(value.args[1].get("data"))
        except (AttributeError, LookupError, TypeError, ValueError):
            return None
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(v, str) for v in value):
        return None
    return [str(v) for v in value]


def model_features(thing: Thing, also: Sequence[str] = ("feature_names_", "feature_names")) -> tuple[list[str], bool]:
    """Return the name of every feature, and whether they are names (imodels calls features of arrays X0, X1, ...)."""
    if texts(thing.get("feature_names_in_")) is None:
        for attribute in also:
            found = texts(thing.get(attribute))
            if found is not None and len(set(found)) == len(found):
                automatic = any(found == [f"{x}{i}" for i in range(len(found))] for x in ("X", "X_"))
                return found, not automatic
    return feature_names(thing)


def as_features(names: Sequence[str]) -> tuple[Feature, ...]:
    """Return features that are attributes themselves."""
    return tuple(Feature(name, name) for name in names)


def two_classes(thing: Thing) -> tuple[Value, Value]:
    """Return both classes, 0 and 1 in files of versions that did not store them."""
    if not thing.has("classes_"):
        return 0, 1
    found = class_values(thing)
    if len(found) != 2:
        raise ReleaseError(f"has {len(found)} classes, not two", place="classes_")
    return found[0], found[1]
