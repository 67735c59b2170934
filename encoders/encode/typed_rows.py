"""Rows with types: of related data sets a row says in which of them it is, and every model counts the rows of one.

A type is a value of one more attribute, so that every engine, verdict and certificate is about rows of a type. A
partition gets its regions cut down to the types of its data set, and one more region for all other rows; a statement
that stands alone is cut down. Numbers that relations state (how many left) are statements where no such region says
them already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Test, View
from encoders.models.models import AnyModel
from encoders.models.related import (
    NumbersError,
    RelatedDataSets,
    StatedNumber,
    number_words,
    total,
)
from encoders.parts.base import MAX_ROWS
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.statements.boxes import Box, Boxes, Region
from solvers.statements.gradients.boosted import Boosted
from solvers.statements.release import (
    ANY_LABEL,
    UNBOUNDED,
    Block,
    Choice,
    Loose,
    Observed,
    Partition,
    RowCount,
    Statement,
    TreeBags,
)

TypedBlocks = list[tuple[Block, Observed | None]]

NAMED = 2  # models named as the source of a number
OTHERS = "rows that are not in "  # how the region of the other rows is called
TYPE = "in"  # what the attribute is called
NOT_USED = "leaf values are not used: not every value of the label is a class of the model"


def type_attribute(domain: Domain) -> str:
    """Return what the attribute of types is called in a domain without it: "in" where that name is free."""
    name = TYPE
    while name in domain.place or name in domain.columns:
        name += " data set"
    return name


def typed_domain(domain: Domain, related: RelatedDataSets, rows: RowCount | None = None) -> Domain:
    """Return the domain of rows with types: one more attribute, and a binary column per data set ("in march").

    `rows`: a number of rows declared of all models together, which data sets do not have (`ReleaseError`).
    """
    if rows is not None:
        raise ReleaseError("each of several data sets has its own number: give 'rows' in 'datasets'", place="rows")
    name = type_attribute(domain)
    columns = dict(domain.columns)
    for one in related.datasets:
        values = tuple(n for t, n in enumerate(related.type_names) if related.within(one.name) >> t & 1)
        column = column_of(name, one.name)
        if column in domain.place or column in columns:
            raise ReleaseError(f"'{column}' is a name of the domain: call the data set '{one.name}' otherwise")
        columns[column] = View(name, Test(values=values))
    return replace(domain, attributes=(*domain.attributes, Categorical(name, related.type_names)), columns=columns)


def column_of(attribute: str, dataset: str) -> str:
    """Return the binary column that is 1 for the rows of a data set."""
    return f"{attribute} {dataset}"


def domain_without_types(domain: Domain, related: RelatedDataSets | None) -> Domain:
    """Return the domain without types, as it was declared."""
    if related is None:
        return domain
    added = {column_of(domain.attributes[-1].name, one.name) for one in related.datasets}
    columns = {name: view for name, view in domain.columns.items() if name not in added}
    return replace(domain, attributes=domain.attributes[:-1], columns=columns)


@dataclass(frozen=True, eq=False)
class TypedRows:
    """The types of a release of related data sets, and how many rows there are of each.

    `stated`: the numbers behind `numbers`, with their sources.
    """

    related: RelatedDataSets
    attribute: int
    numbers: tuple[RowCount, ...]
    stated: tuple[StatedNumber, ...]

    @classmethod
    def among(
        cls,
        domain: Domain,
        related: RelatedDataSets,
        models: Sequence[AnyModel],
        origins: Sequence[Any],
        rows_of: Callable[[Sequence[AnyModel], RowCount | None, Sequence[Any]], RowCount],
    ) -> TypedRows:
        """Return the types of data sets that models count the rows of; `rows_of`: how many, by some of them.

        Raises `ReleaseError` where the relations cannot hold, `ContradictionError` where the models do not fit them.
        """
        published = {}
        for one in related.datasets:
            own = [(model, o) for model, o in zip(models, origins, strict=False) if model.dataset == one.name]
            if own:
                some, places = zip(*own, strict=True)
                found = rows_of(some, None, places)
                source = " and ".join(dict.fromkeys(str(o) for _, o in own[:NAMED]))
                source = f"{source}{', ...' if len(own) > NAMED else ''} (data set {one.name})"
                published[one.name] = found, f"{source}: {number_words(found)}"
        try:
            related.numbers(related.stated_numbers({}))
        except NumbersError as error:
            raise ReleaseError(f"these cannot hold together: {error}", place="datasets") from None
        stated = related.stated_numbers(published)
        try:
            numbers = related.numbers(stated)
        except NumbersError as error:
            raise ContradictionError("the versions contradict each other", error.sources) from None
        return cls(related, len(domain.attributes) - 1, tuple(numbers), tuple(stated))

    @property
    def rows(self) -> RowCount:
        """Return the number of all rows, each counted once in however many data sets it is."""
        return self.between(self.related.everybody)

    def of_dataset(self, name: str) -> RowCount:
        """Return the number of rows of a data set, of all where it is "" (questions)."""
        return self.between(self.related.within(name)) if name else self.rows

    def between(self, types: int) -> RowCount:
        """Return between how many rows are of some types (bits), by what is stated of these very types and of each."""
        found = total(self.numbers, types)
        for one in self.stated:
            if one.types == types:
                tops = [high for high in (found.high, one.rows.high) if high is not None]
                found = RowCount(max(found.low, one.rows.low), min(tops, default=None))
        return found

    def _cut_down(self, block: Block, dataset: str) -> Block:
        """Return a block about the rows of one data set only."""
        here = self.related.within(dataset)
        if here == self.related.everybody:
            return block
        if isinstance(block, Partition):
            return self._partition(block, dataset, here)
        types = Box(((self.attribute, here),))
        if isinstance(block, Loose):
            return Loose(tuple(s.within(types) for s in block))
        if isinstance(block, Choice):
            some = tuple(tuple(s.within(types) for s in one) for one in block.alternatives)
            return Choice(some, block.name)
        raise Unsupported(f"a {type(block).__name__} is not taken of related data sets")

    def _partition(self, block: Partition, dataset: str, here: int) -> Partition:
        """Return a partition of the rows of some types, and one more region for the others; bags' draws are left."""
        others = self.related.everybody & ~here
        n = self.between(others)
        said = sorted((one.whole, one.source) for one in self.stated if one.types == others)
        high = MAX_ROWS if n.high is None else min(n.high, MAX_ROWS)
        return replace(
            block,
            boxes=_typed_boxes(block.boxes, self.attribute, here, Box(((self.attribute, others),))),
            region=np.append(block.region, np.int32(len(block.boxes))),
            label=np.append(block.label, np.int32(ANY_LABEL)),
            low=np.append(block.low, np.int64(n.low)),
            high=np.append(block.high, np.int64(high)),
            names=(*block.names, f"{OTHERS}{dataset}" + (f" ({said[0][1]})" if said else "")),
            draws=None,
        )

    def of_model(
        self, model: Any, own: TypedBlocks, values: Sequence[Boosted], placed: Sequence[TreeBags], labels: int
    ) -> tuple[TypedBlocks, tuple[Boosted, ...], list[str]]:
        """Return the blocks of a model cut down, leaf values beside them, and in words what is left out.

        Questions are about all rows. What trees on known bags say of positions is left out, and leaf values where rows
        of other data sets could have a label that the model does not have.
        """
        dataset = getattr(model, "dataset", "")
        if not dataset:
            return own, tuple(values), []
        blocks = [(_of_dataset(self._cut_down(block, dataset), dataset), seen) for block, seen in own]
        left = [bags.left_out for bags in placed]
        if self.related.within(dataset) == self.related.everybody:
            return blocks, tuple(values), left
        kept = tuple(_with_rest_leaf(one) for one in values if len(one.labels) == labels)
        return blocks, kept, [*left, *(f"{one.name}: {NOT_USED}" for one in values if len(one.labels) != labels)]

    def relations(self, blocks: Sequence[Block]) -> list[Loose]:
        """Return the numbers of the relations as one block, none where partitions say them all by themselves.

        One that is unknown says nothing, but cuts the cells where the relation does.
        """
        out, seen = [], self._implied(blocks)
        for one in self.stated:
            n = self.between(one.types)
            if not one.types or one.types in seen:
                continue
            seen.add(one.types)
            box = Box() if one.types == self.related.everybody else Box(((self.attribute, one.types),))
            high = UNBOUNDED if n.high is None else n.high
            out.append(Statement.count(Region(box), n.low, high, one.source))
        return [Loose(tuple(out))] if out else []

    def _implied(self, blocks: Sequence[Block]) -> set[int]:
        """Return the sets of types whose numbers of rows are counts, or sums of counts, of some partition."""
        found, everybody = set[int](), self.related.everybody
        for block in blocks:
            if not isinstance(block, Partition) or not len(block.boxes):
                continue
            last = dict(block.boxes[len(block.boxes) - 1].literals)
            others = last[self.attribute] if block.names[-1].startswith(OTHERS) else 0
            found.add(others)
            rest = slice(None, -1) if others else slice(None)
            if (block.low[rest] == block.high[rest]).all():
                found.add(everybody & ~others)
        return found

    def lines(self) -> list[str]:
        """Return what every answer assumes of how data sets are related."""
        sizes = (f"{one.name} has {number_words(self.of_dataset(one.name))}" for one in self.related.datasets)
        return [*self.related.lines(), "; ".join(sizes)]


def _of_dataset(block: Block, dataset: str) -> Block:
    """Return a block whose statements say which data set they are of."""

    def named(source: str) -> str:
        return source if dataset in source else f"{dataset}: {source}"

    if isinstance(block, Partition):
        return replace(block, kind=named(block.kind))
    if isinstance(block, Loose):
        return Loose(tuple(replace(one, source=named(one.source)) for one in block))
    return block


def _with_rest_leaf(values: Boosted) -> Boosted:
    """Return leaf values whose trees have one more leaf: rows of other data sets, which no figure is about."""
    return replace(values, trees=tuple(replace(tree, step=np.append(tree.step, 0.0)) for tree in values.trees))


def _typed_boxes(boxes: Boxes, attribute: int, mask: int, last: Box) -> Boxes:
    """Return boxes that allow some parts of an attribute they do not name, and one more box behind them."""
    if boxes.attribute.max(initial=-1) > attribute or not isinstance(boxes.mask, np.ndarray):
        return Boxes.of([*(box & Box(((attribute, mask),)) for box in boxes), last])
    start = np.append(boxes.start + np.arange(len(boxes) + 1), 0)
    start[-1] = start[-2] + len(last.literals)
    names = np.append(np.insert(boxes.attribute, boxes.start[1:], np.int32(attribute)), np.int32(attribute))
    parts = np.append(np.insert(boxes.mask, boxes.start[1:], mask), last.literals[0][1])
    return Boxes(start, names, parts.astype(boxes.mask.dtype))


def refuse_unnamed(
    models: Sequence[AnyModel], origins: Sequence[Any], related: RelatedDataSets | None, beside: bool
) -> None:
    """Refuse models of no data set beside related ones, and of one that nobody declared, with `ReleaseError`.

    `beside`: whether the adversary knows more, which is not taken there (`Unsupported`).
    """
    if related is not None and beside:
        raise Unsupported("what is known of everybody, or of the learner, is not taken beside related data sets")
    for model, origin in zip(models, origins, strict=False):
        where = {"place": origin.place, "file": origin.file}
        if related is None and model.dataset:
            message = f"models of the data set '{model.dataset}' are asked about beside 'datasets', which declares it"
            raise ReleaseError(message, **where)
        if related is not None and not model.dataset:
            raise ReleaseError("of which data set is the model? give 'dataset'", **where)
        if related is not None and model.dataset not in related.number:
            known = ", ".join(f"'{n}'" for n in related.number)
            raise ReleaseError(f"there is no data set '{model.dataset}': declared are {known}", **where)
        if related is not None and model.noise is not None:
            raise Unsupported(f"{origin}: noisy counts of related data sets are not taken by this version")
