"""Drafts of models that carry no counts: their structure, and the little that a predicted label says.

A leaf that predicts a class by majority says that the class is at least the commonest there, provided that the leaf
is not empty. The structure is kept beside it, so that `recon.attach_counts` can count rows per leaf or rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from encoders.domain.domain import Condition
from encoders.domain.values import Test, Value
from encoders.models.models import AnyModel, PublishedFigure, RuleList, Statistic, Tree
from encoders.models.nodes import ModelNode
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.drafts.drafts import Draft, bind
from recon.readers.formats.drafts.facts import conditions
from solvers.foundation.errors import Unsupported

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
            for condition in conditions(self.skeleton):
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
    minimum = 50 if classes == 2 else 100 // classes  # per cent, rounded down
    half = (100 - minimum) / 200
    return PublishedFigure(condition, statistic=Statistic("mean", f"{label}={value}", 1 - half, half), name=name)


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
