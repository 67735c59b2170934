"""The row space without impossible rows: its size, whole or when attributes have fewer values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from solvers.foundation.errors import EngineError
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box, RowSpace
from solvers.statements.release import ANY_LABEL, Release

if TYPE_CHECKING:
    from solvers.statements.regions.captures import Captures


@dataclass(frozen=True, eq=False)
class Space:
    """All possible rows of a domain; `found` counts what impossible boxes leave (None where there are none)."""

    domain: RowSpace
    found: Captures | None

    @classmethod
    def of(cls, release: Release, limits: Limits) -> Space:
        """Return the space of a release.

        Cost: a box minus the impossible boxes (`solvers.statements.regions.captures.captures`), once where its size is
        exact.
        """
        if not release.impossible:
            return cls(release.domain, None)
        known = release.derived.part(KnownSpace)
        if known.space is not None:
            return known.space
        from solvers.statements.regions.captures import captures

        found = captures(release.domain.part_sizes, [*release.impossible, Box()], limits)
        space = cls(release.domain, found)
        if found.lower[-1] == found.upper[-1]:
            known.space = space
        return space

    @cached_property
    def size(self) -> int:
        """Return the number of possible rows."""
        return self.within({})

    def labelled(self, label: int) -> int:
        """Return the number of possible rows with a label (ANY_LABEL: with any)."""
        return self.size if label == ANY_LABEL else self.within(self.one_label(label))

    def within(self, smaller: Mapping[int, tuple[int, ...]]) -> int:
        """Return the number of possible rows when attributes have only the given part sizes."""
        if self.found is None:
            attributes = enumerate(self.domain.attributes)
            return math.prod(sum(smaller[k]) if k in smaller else a.total for k, a in attributes)
        low, high = self.found.within(smaller) if smaller else (self.found.lower, self.found.upper)
        if low[-1] != high[-1]:
            raise EngineError("the impossible boxes are too many to count the row space exactly")
        return low[-1]

    def one_label(self, label: int) -> dict[int, tuple[int, ...]]:
        """Return the part sizes that keep one label value only."""
        k = self.domain.label
        if k is None or label == ANY_LABEL:
            return {}
        return {k: tuple(int(i == label) * s for i, s in enumerate(self.domain.attributes[k].sizes))}


@dataclass(slots=True)
class KnownSpace:
    """The row space of a release, where its size is exact."""

    space: Space | None = None
