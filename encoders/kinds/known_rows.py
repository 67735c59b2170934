"""What an adversary knows of everybody as a partition: a region per distinct row, as far as statements tell rows apart.

It cuts nothing: rows that no statement tells apart are one region, with as many rows. A last region holds everything
else, and nobody. Labels that are known are a second partition of the same regions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import GUESSED, AttributeCuts, Domain
from encoders.domain.values import Categorical, Cell, Continuous, Position, Ranges, Test, intersection
from encoders.models.models import KnownRows
from encoders.parts.base import CutDomain, Encoder, PartitionSupports, Resolutions, label_texts, partition
from solvers.foundation.errors import ReleaseError
from solvers.statements.boxes import Box, Boxes
from solvers.statements.release import Block, RowCount

KIND, LABELS = "known rows", "known labels"
NOT_PUBLISHED = (KIND, LABELS)  # what an adversary knows is not a figure of a release
Ints = NDArray[np.int64]


class KnownRowsEncoder(Encoder[KnownRows]):
    """Known rows: how many of everybody are alike, and the labels that are known."""

    def check(self, model: KnownRows, domain: Domain, place: str) -> None:
        """Refuse tables without rows or columns, and names that the domain does not have."""
        if not len(model.codes):
            raise ReleaseError("there are no rows: everybody's features are needed", place=place)
        own = None if domain.label is None else domain.label.name
        if not [name for name in model.columns if name != own]:
            raise ReleaseError("there is no column of a feature", place=place)
        for name in model.columns:
            if name not in domain.place and name not in domain.columns:
                raise ReleaseError(f"'{name}' is neither an attribute nor a column of the domain", place=place)

    def further_cuts(self, model: KnownRows, domain: Domain) -> Mapping[int, set[Position]]:
        """Return the values of the table where questions are about single ones (`by_value`)."""
        out: dict[int, set[Position]] = {}
        for k, columns in _columns_of(model, domain).items() if model.by_value else ():
            for j in columns:
                for code, value in enumerate(model.values[j]):
                    try:
                        ranges = _positions(domain, k, [(model.columns[j], value)])
                    except ReleaseError as error:
                        raise ReleaseError(error.message, place=_row_of(model, [j], [code])) from None
                    out.setdefault(k, set()).update(end for one in ranges for end in one)
        return out

    def total(self, model: KnownRows) -> int:
        """Return the number of rows."""
        return len(model.codes)

    def evidence(self, model: KnownRows, minimum: int) -> str:
        """Return why there are that many rows."""
        return f"{model.file or model.name} has {minimum} rows, which must be everybody's"

    def assumes(self, model: KnownRows) -> tuple[str, ...]:
        """Return what the adversary knows."""
        return (f"everybody's features are known from {model.file or 'a table'}: that is not released",)

    def blocks(
        self, model: KnownRows, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> tuple[Block, ...]:
        """Return the rows per region, and per region and label where some labels are known."""
        regions = KnownRegions.of(model, cut)
        names = [f"like row {i + 1}" for i in regions.first.tolist()] + ["any other row"]
        boxes = Boxes.of([*regions.boxes, Box()])
        times = np.append(regions.times, 0)
        counted = PartitionSupports(
            np.arange(len(boxes), dtype=np.int32), np.full(len(boxes), -1, dtype=np.int32), times, times
        )
        out = [partition(KIND, boxes, counted, names, cut.domain, True)]
        known = regions.labels(model, cut)
        if known is not None:
            labels = len(label_texts(cut.domain))
            rest = times - known.sum(axis=1)
            region, label = np.divmod(np.arange(known.size), labels)
            low, high = known.ravel(), (known + rest[:, None]).ravel()
            each = PartitionSupports(region.astype(np.int32), label.astype(np.int32), low, high)
            out.append(partition(LABELS, boxes, each, names, cut.domain, True))
        return tuple(out)


@dataclass(frozen=True, eq=False)
class KnownRegions:
    """The regions of known rows: boxes, numbers of rows, the first row of each, and the region of each row."""

    boxes: tuple[Box, ...]
    times: Ints
    first: Ints
    of_row: Ints

    @classmethod
    def of(cls, model: KnownRows, cut: CutDomain) -> KnownRegions:
        """Return the regions; `ReleaseError` naming the row and column for values that the domain does not have.

        Cost: linear in rows times columns, and in distinct values.
        """
        ids, masks = [], []
        for k, columns in _columns_of(model, cut.domain).items():
            found = _masks_of(model, cut, k, columns)
            if found is not None:
                ids.append(found[0])
                masks.append((k, found[1]))
        table = np.stack(ids, axis=1) if ids else np.zeros((len(model.codes), 1), dtype=np.int64)
        distinct, first, of_row, times = np.unique(
            table, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        boxes = tuple(
            Box.of((k, every[i]) for i, (k, every) in zip(line, masks, strict=False)) for line in distinct.tolist()
        )
        return cls(boxes, times.astype(np.int64), first.astype(np.int64), of_row.reshape(-1).astype(np.int64))

    def labels(self, model: KnownRows, cut: CutDomain) -> Ints | None:
        """Return (regions and the last one, labels): the rows whose label is known; None where none is."""
        value = known_labels(model, cut.domain)
        if (value < 0).all() or cut.domain.label is None:
            return None
        out = np.zeros((len(self.boxes) + 1, cut.domain.label.span[1]), dtype=np.int64)
        given = value >= 0
        np.add.at(out, (self.of_row[given], value[given]), 1)
        return out


def _columns_of(model: KnownRows, domain: Domain) -> dict[int, list[int]]:
    """Return, per attribute that is no label, the columns that speak about it."""
    out: dict[int, list[int]] = {}
    for j, name in enumerate(model.columns):
        k = domain.place[name] if name in domain.place else domain.view_ranges(name)[0]
        if domain.label is None or k != len(domain.all) - 1:
            out.setdefault(k, []).append(j)
    return out


def known_labels(model: KnownRows, domain: Domain) -> Ints:
    """Return the number of each row's label among its values, -1 where it is not known."""
    if domain.label is None or domain.label.name not in model.columns:
        return np.full(len(model.codes), -1, dtype=np.int64)
    j, found = model.columns.index(domain.label.name), []
    for code, value in enumerate(model.values[j]):
        try:
            found.append(-1 if value is None else int(domain.label.point(value)[0]))
        except ReleaseError as error:
            raise ReleaseError(error.message, place=_row_of(model, [j], [code])) from None
    return np.array(found, dtype=np.int64)[model.codes[:, j]]


def _row_of(model: KnownRows, columns: list[int], codes: list[int]) -> str:
    """Return the first row with these values, as a place."""
    row = int(np.flatnonzero((model.codes[:, columns] == codes).all(axis=1))[0]) + 1
    return f"row {row}, column '{model.columns[columns[0]]}'"


def _masks_of(model: KnownRows, cut: CutDomain, k: int, columns: list[int]) -> tuple[Ints, list[int]] | None:
    """Return a number per row, and the parts of attribute k as bits by that number; None where all parts are alike."""
    cuts, domain = cut.cuts[k], cut.domain
    untested = len(cuts.sizes) == 1
    if untested and domain.source == GUESSED and isinstance(cuts.attribute, Categorical):
        return None  # nobody said which values it has
    distinct, of_row = np.unique(model.codes[:, columns], axis=0, return_inverse=True)
    masks: list[int] = []
    for codes in distinct.tolist():
        try:
            cells = [(model.columns[j], model.values[j][c]) for j, c in zip(columns, codes, strict=True)]
            masks.append(_parts_meeting(cuts, _positions(domain, k, cells)))
        except ReleaseError as error:
            raise ReleaseError(error.message, place=_row_of(model, columns, codes)) from None
    if untested:
        return None
    every = list(dict.fromkeys(masks))
    if sum(m.bit_count() for m in every) > reduce(int.__or__, every).bit_count():
        names = ", ".join(f"'{model.columns[j]}'" for j in columns)
        message = f"{names} leave '{cuts.attribute.name}' open where the release distinguishes its values"
        raise ReleaseError(f"{message}: give its values")
    number = {mask: i for i, mask in enumerate(every)}
    return np.array([number[m] for m in masks], dtype=np.int64)[of_row.reshape(-1)], every


def _positions(domain: Domain, k: int, cells: list[tuple[str, Cell]]) -> Ranges:
    """Return the positions of attribute k that all given columns of a row allow; `ReleaseError` for none."""
    attribute = domain.all[k]
    found: Ranges = (attribute.span,)
    for name, value in cells:
        if value is None and not (name in domain.place and attribute.missing):
            message = f"'{name}' is empty: everybody's features must be known (leave the column out"
            raise ReleaseError(f"{message}{'' if name in domain.columns else ', or declare it missing'})")
        if value is not None and isinstance(attribute, Continuous) and name in domain.place:
            allowed: Ranges = (attribute.point(value),)
        else:
            test = Test(missing=True) if value is None else Test(values=(value,))
            allowed = domain.ranges(name, test)[1]
        found = intersection(found, allowed)
    if not found:
        said = ", ".join(f"{name}={value}" for name, value in cells)
        raise ReleaseError(f"no value of '{attribute.name}' has {said}")
    return found


def _parts_meeting(cuts: AttributeCuts, ranges: Ranges) -> int:
    """Return the parts that hold some of the positions, as bits."""
    mask = 0
    for start, end in ranges:
        mask |= (1 << cuts.last_part(end) + 1) - (1 << cuts.part(start))
    return mask
