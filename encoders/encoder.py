"""From published models to one release: cut the attributes, then let each kind's encoder write its block.

An encoder is one file named after the kind (`tree`, `rule_list`, ...) with a class `KindEncoder`; it is found
by that name, so adding a kind touches nothing here.
"""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from encoders.domain import DECLARED, Condition, Domain
from encoders.models import AnyModel, Support
from encoders.values import Cuts, Position, Ranges
from solvers.errors import ContradictionError, ReleaseError, Unsupported
from solvers.release import (
    ANY_LABEL,
    Attribute,
    Block,
    Box,
    Partition,
    Release,
    Rows,
)
from solvers.release import Domain as SolverDomain

M = TypeVar("M")
MOST_ROWS = 1 << 53  # sums of counts stay exact in double precision


@dataclass(frozen=True)
class CutDomain:
    """A declared domain cut into parts: conditions become boxes."""

    domain: Domain
    cuts: tuple[Cuts, ...]

    @cached_property
    def solver(self) -> SolverDomain:
        """Return the row space as the engines see it."""
        return SolverDomain(
            tuple(Attribute(c.attribute.name, c.sizes) for c in self.cuts),
            label=None if self.domain.label is None else len(self.cuts) - 1,
            relative=bool(self.domain.continuous),
        )

    def box(self, resolved: dict[int, Ranges]) -> Box:
        """Return the box of resolved conditions; attributes that allow everything are left out."""
        pairs = ((k, self.cuts[k].mask(ranges)) for k, ranges in resolved.items())
        return Box.of((k, m) for k, m in pairs if m != (1 << len(self.cuts[k].sizes)) - 1)


@dataclass(frozen=True)
class EncodedRelease:
    """A release as users hold it: the declared domain, the published models and the statements."""

    domain: Domain
    models: tuple[AnyModel, ...]
    cut: CutDomain
    statements: Release
    file: str = ""
    sha256: str = ""

    @property
    def rows(self) -> Rows:
        """Return the number of training rows."""
        return self.statements.rows

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what every answer about this release assumes."""
        return self.statements.assumptions


@dataclass(frozen=True)
class Supports:
    """The statements of one partition while it is being written."""

    regions: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)

    def add(self, region: int, support: Support) -> None:
        """Add the published support of a region: one statement, or one per class."""
        if support.counts is not None:
            for label, count in enumerate(support.counts):
                self.between(region, label, count, count)
        elif support.count is not None:
            self.between(region, ANY_LABEL, support.count, support.count)

    def between(self, region: int, label: int, low: int, high: int) -> None:
        """Add one statement."""
        self.regions.append(region)
        self.labels.append(label)
        self.low.append(low)
        self.high.append(high)


class Encoder(ABC, Generic[M]):
    """What each kind of model must tell: its conditions (to cut the domain) and its block."""

    @abstractmethod
    def check(self, model: M, domain: Domain, place: str) -> None:
        """Refuse a malformed model with `ReleaseError`, naming the place."""

    @abstractmethod
    def conditions(self, model: M, place: str) -> list[tuple[Condition, str]]:
        """Return every condition with the place it stands at."""

    @abstractmethod
    def blocks(
        self, model: M, cut: CutDomain, resolved: list[dict[int, Ranges]], rows: Rows | None
    ) -> tuple[Block, ...]:
        """Return the statements; `resolved` are the conditions in the order `conditions` gave them."""

    def cut_fully(self, model: M, domain: Domain) -> frozenset[int]:
        """Return the attributes whose every value must be a part of its own (statistics of their values)."""
        return frozenset()

    @abstractmethod
    def total(self, model: M) -> int | None:
        """Return the number of rows the model itself publishes, None where it leaves it open."""


def encoder_for(kind: str) -> Encoder[AnyModel]:
    """Return the encoder of a kind; `Unsupported` when this version has none."""
    if importlib.util.find_spec(f"encoders.{kind}") is None:
        raise Unsupported(f"models of kind '{kind}' cannot be encoded by this version of recon")
    found: Encoder[AnyModel] = importlib.import_module(f"encoders.{kind}").KindEncoder()
    return found


def partition(
    kind: str, boxes: Sequence[Box], supports: Supports, names: Sequence[str], domain: Domain, first_match: bool
) -> Partition:
    """Return the partition block of the collected supports."""
    from solvers.release import Boxes

    label, often = domain.label, Counter(names)
    values = () if label is None else tuple(str(label.value(i)) for i in range(label.span[1]))
    return Partition(
        kind,
        Boxes.of(boxes),
        first_match,
        np.array(supports.regions, dtype=np.int32),
        np.array(supports.labels, dtype=np.int32),
        np.array(supports.low, dtype=np.int64),
        np.array(supports.high, dtype=np.int64),
        tuple(n if often[n] == 1 else f"{n} (region {j})" for j, n in enumerate(names)),
        values,
    )


def check_support(support: Support, domain: Domain, place: str) -> None:
    """Refuse counts that do not fit the label, or negative ones."""
    if support.counts is not None:
        if domain.label is None:
            raise ReleaseError("counts per class need a label in the domain; use 'count' without one", place=place)
        if len(support.counts) != domain.label.span[1]:
            raise ReleaseError(
                f"{len(support.counts)} counts for {domain.label.span[1]} values of the label '{domain.label.name}'",
                place=f"{place}.counts",
            )
    published = support.counts if support.counts is not None else (support.count,)
    for count in published:
        if count is not None and not 0 <= count <= MOST_ROWS:
            raise ReleaseError(f"the count {count:.3g} is not between 0 and 2^53", place=place)


def encode(domain: Domain, models: Sequence[AnyModel], rows: Rows | None = None, file: str = "") -> EncodedRelease:
    """Return the release that the published models make over the domain.

    `rows` None means: as many as the models count. Raises `ReleaseError` for malformed models and
    `ContradictionError` when two models count different numbers of rows. Cost: linear in nodes and literals.
    """
    if not models:
        raise ReleaseError("there is no model in the release", place="models", file=file)
    positions: dict[int, set[Position]] = {}
    impossible = [domain.resolve(c, f"domain.impossible[{i}]") for i, c in enumerate(domain.impossible)]
    resolved: list[list[dict[int, Ranges]]] = []
    encoders = [encoder_for(m.kind) for m in models]
    for i, (model, encoder) in enumerate(zip(models, encoders, strict=True)):
        encoder.check(model, domain, f"models[{i}]")
        conditions = encoder.conditions(model, f"models[{i}]")
        resolved.append([domain.resolve(c, place) for c, place in conditions])
    for one in (*impossible, *(r for model_resolved in resolved for r in model_resolved)):
        domain.cut_points(one, positions)
    for model, encoder in zip(models, encoders, strict=True):
        for k in encoder.cut_fully(model, domain):
            positions.setdefault(k, set()).update(range(*domain.all[k].span))
    if domain.label is not None:
        positions.setdefault(len(domain.all) - 1, set()).update(range(domain.label.span[1]))
    cut = CutDomain(domain, tuple(Cuts.at(a, positions.get(k, set())) for k, a in enumerate(domain.all)))
    known = total_rows(models, encoders, rows)
    blocks = tuple(
        block
        for m, r, encoder in zip(models, resolved, encoders, strict=True)
        for block in encoder.blocks(m, cut, r, rows if rows is not None else known)
    )
    boxes = tuple(cut.box(r) for r in impossible)
    release = Release(cut.solver, known, blocks, boxes, assumptions(domain, known, len(models)))
    return EncodedRelease(domain, tuple(models), cut, release, file)


def total_rows(models: Sequence[AnyModel], encoders: Sequence[Encoder[AnyModel]], rows: Rows | None) -> Rows:
    """Return the number of rows that the models and `rows` agree on.

    Raises `ReleaseError` when one model's counts do not sum to `rows`, `ContradictionError` when two models do
    not agree.
    """
    totals = [encoder.total(model) for model, encoder in zip(models, encoders, strict=True)]
    for i, total in enumerate(totals):
        if total is not None and total > MOST_ROWS:
            raise ReleaseError(f"the counts sum to {total}, more than 2^53 rows", place=f"models[{i}]")
        if total is None or rows is None:
            continue
        if total < rows.low or (rows.high is not None and total > rows.high):
            said = str(rows.low) if rows.exact else f"{rows.low} to {'any' if rows.high is None else rows.high}"
            raise ReleaseError(f"rows is {said}, but the counts sum to {total}", place=f"models[{i}]")
    found = [t for t in totals if t is not None]
    if len(set(found)) > 1:
        named = tuple(f"models[{i}] counts {t} rows" for i, t in enumerate(totals) if t is not None)
        raise ContradictionError("the models count different numbers of rows", named)
    if found:
        return Rows(found[0], found[0])
    return rows if rows is not None else Rows()


def assumptions(domain: Domain, rows: Rows, models: int) -> tuple[str, ...]:
    """Return what every verdict about the release assumes (design.md, section 2)."""
    if domain.source == DECLARED:
        where = "the domain is as declared: no row lies outside it"
    else:
        where = f"the domain was read off the {domain.source}: an adversary may not know it"
    n = f"exactly {rows.low} rows" if rows.exact else f"at least {rows.low} rows"
    if not rows.exact and rows.high is not None:
        n = f"between {rows.low} and {rows.high} rows"
    said = [
        where,
        n,
        "counts are of raw training rows: unweighted, not resampled, without noise or missing values",
        "the adversary does not use how the learner chose the model",
        *domain.notes,
    ]
    if models > 1:
        said.append("all models were trained on the same rows")
    if domain.continuous:
        said.append(f"continuous without a resolution, only relative figures: {', '.join(domain.continuous)}")
    return tuple(said)
