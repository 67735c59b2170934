"""What a file says before a domain is known, in the file's own terms: features, models, classes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from encoders.domain.domain import Condition
from encoders.domain.values import AnyAttribute, Test, Value
from encoders.models.models import AnyModel, Provenance
from solvers.statements.release import RowCount

IS_MISSING = Test(values=(), missing=True)


def free_label(names: Container[str], label: str = "label") -> str:
    """Return a name for the label that no feature has."""
    while label in names:
        label += "_"
    return label


@dataclass(frozen=True)
class Feature:
    """One input of a model: the attribute behind it, and how preprocessing makes it from the attribute's value.

    `make` (None: the value itself) gives what the model compares, for a value or for None where it is missing; it must
    increase (weakly) with a numeric attribute. `invert` turns a test on what is compared into one on the value:
    for attributes that turn out to be continuous.
    """

    name: str
    attribute: str
    make: Callable[[Value | None], Value] | None = None
    invert: Callable[[Test], Test] | None = None


@dataclass(frozen=True)
class DraftFacts:
    """The models of one file in its own terms.

    `features` in the file's order; `named` is False where the file only numbers them, `more` says that there may be
    more of them than it shows. `classes` is the order of the counts (None: there are none per class), `label` the name
    the file gives the label. `rows`: what the file says about the number of training rows. `single`: values are
    compared as float32(value). `occurring`: each of the classes has a training row and no other has one ("each"), no
    other has one ("only"), or nothing is said (""). `slack`: thresholds were printed with few digits and may be off by
    so much. `reader_notes`: sentences for the reader of the file, not assumptions. `gaps`: features of which the file
    shows that some training rows had no value. `groups`: conditions name groups of people, which may be everybody, and
    are no splits. `impossible`: what the values of hints cannot be together.
    `heeded`: of a table of counts, which of the options that are about some tables alone were about this one.
    """

    origin: Provenance
    features: tuple[Feature, ...]
    models: tuple[AnyModel, ...] = ()
    classes: tuple[Value, ...] | None = None
    label: str = "label"
    rows: RowCount | None = None
    hints: Mapping[str, AnyAttribute] = field(default_factory=dict)
    named: bool = True
    more: bool = False
    single: bool = False
    occurring: Literal["", "each", "only"] = ""
    slack: Callable[[Value], Fraction] | None = None
    reader_notes: tuple[str, ...] = ()
    gaps: frozenset[str] = frozenset()
    groups: bool = False
    impossible: tuple[Condition, ...] = ()
    heeded: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Have the models' origin say it, too, that numbers of 32 bits are compared."""
        if self.origin.single != self.single:
            object.__setattr__(self, "origin", replace(self.origin, single=self.single))

    def tests(self) -> Iterator[tuple[str, Test]]:
        """Yield the features that the models name, with the tests on them."""
        for model in self.models:
            for condition in model.conditions():
                yield from condition
        for name in sorted(self.gaps):
            yield name, IS_MISSING

    def missing(self) -> Iterable[str]:
        """Return the features of which some training rows had no value, as the file shows."""
        return self.gaps
