"""The least and the greatest value of columns, where they are known: given, or the ends of the declared domain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from encoders.domain.domain import Domain
from encoders.domain.values import AnyAttribute, Continuous, Grid, is_number
from solvers.foundation.errors import ReleaseError

ATTAINED = "attained"  # --ranges attained: the ends of the domain are values of training rows
COLUMNS = ("attribute", "min", "max")

Ranges = Mapping[str, tuple[float, float]] | str | None


@dataclass(frozen=True)
class KnownRanges:
    """Columns whose least and greatest value among all training rows are known, by the attribute's name.

    `given`: these are attained by training rows. All others are known as far as the domain declares them.
    """

    given: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def of(self, attribute: AnyAttribute) -> tuple[float, float] | None:
        """Return the range of an attribute's numbers, None where an end is not known."""
        if attribute.name in self.given:
            return self.given[attribute.name]
        return _declared(attribute)


def _declared(attribute: AnyAttribute) -> tuple[float, float] | None:
    """Return the ends that the domain declares for an attribute of numbers, None where there are none."""
    if isinstance(attribute, Grid):
        return float(attribute.minimum), float(attribute.maximum)
    if isinstance(attribute, Continuous) and attribute.minimum is not None and attribute.maximum is not None:
        return float(attribute.minimum), float(attribute.maximum)
    return None


def known_ranges(domain: Domain, ranges: Ranges) -> KnownRanges:
    """Return the ranges of columns: given by name (or as the table of a file), or "attained", the domain's ends.

    Raises `ReleaseError` for unknown names, ends that are no numbers, and where the domain has no ends to attain.
    """
    if ranges is None:
        return KnownRanges()
    if isinstance(ranges, str):
        if ranges != ATTAINED:
            return KnownRanges(_read_ranges(domain, ranges))
        found = {a.name: ends for a in domain.attributes if (ends := _declared(a)) is not None}
        if not found:
            message = "no attribute of the domain has two ends that could be attained: declare them (--domain)"
            raise ReleaseError(message, place="ranges")
        return KnownRanges(found)
    return KnownRanges({str(name): _checked_ends(domain, str(name), ends, "ranges") for name, ends in ranges.items()})


def _read_ranges(domain: Domain, path: str) -> dict[str, tuple[float, float]]:
    """Return the ranges in a table of attribute, min, max; `ReleaseError` names the file and the line."""
    from recon.readers.frames.selections import read_table

    frame = read_table(path)
    if missing := [name for name in COLUMNS if name not in frame.columns]:
        message = f"has no column '{missing[0]}': ranges are a table with the columns {', '.join(COLUMNS)}"
        raise ReleaseError(message, file=path)
    found: dict[str, tuple[float, float]] = {}
    for row, line in enumerate(frame[list(COLUMNS)].itertuples(index=False), start=1):
        name, *ends = line
        if str(name) in found:
            raise ReleaseError(f"'{name}' stands twice", place=f"row {row}", file=path)
        try:
            found[str(name)] = _checked_ends(domain, str(name), ends, f"row {row}")
        except ReleaseError as error:
            raise error.at(file=path) from None
    return found


def _checked_ends(domain: Domain, name: str, ends: Any, place: str) -> tuple[float, float]:
    """Return the two ends of an attribute as numbers; `ReleaseError` naming what is wrong."""
    k = domain.place.get(name)
    if k is None or not isinstance(domain.all[k], Continuous | Grid):
        raise ReleaseError(f"'{name}' is no attribute of numbers in the domain", place=place)
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        raise ReleaseError(f"'{name}' needs two numbers, min and max, not {ends!r}", place=place) from None
    if not (is_number(low) and is_number(high)) or not low <= high or math.isinf(high - low):
        raise ReleaseError(f"'{name}' needs a min that is at most its max, not {low:g} and {high:g}", place=place)
    return low, high
