"""Questions as data: what engines are asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from solvers.statements.boxes import Box

Convention = Literal["assigned", "ordered", "multiset"]
CONVENTIONS: tuple[Convention, ...] = ("assigned", "ordered", "multiset")


@dataclass(frozen=True, eq=False)
class Selections:
    """A batch of q selections of rows: per attribute, how many values of each part are allowed.

    `codes` is (q, attributes) int32 into `sizes[attribute]`, whose entry 0 is the full attribute. Which values of
    a part are meant does not matter, because no statement tells the values of a part apart.
    """

    codes: NDArray[np.int32]
    sizes: tuple[tuple[tuple[int, ...], ...], ...]

    def __len__(self) -> int:
        return len(self.codes)

    def distinct(self) -> tuple[Selections, NDArray[np.intp]]:
        """Return the distinct selections, and the number of each selection among them."""
        codes, back = np.unique(self.codes, axis=0, return_inverse=True)
        return Selections(codes, self.sizes), back.reshape(-1)

    def boxes(self) -> list[tuple[Box, Box]]:
        """Return each selection as two boxes of parts: those that it meets, and those that it holds entirely."""
        masks = [[_part_masks(code, every[0]) for code in every] for every in self.sizes]
        full = [(1 << len(every[0])) - 1 for every in self.sizes]
        out = []
        for codes in self.codes.tolist():
            pairs = [(k, *masks[k][c]) for k, c in enumerate(codes) if c]
            met = Box(tuple((k, m) for k, m, _ in pairs if m != full[k]))
            out.append((met, Box(tuple((k, w) for k, _, w in pairs if w != full[k]))))
        return out


def _part_masks(sizes: tuple[int, ...], full: tuple[int, ...]) -> tuple[int, int]:
    """Return the parts of which some values are allowed, and those of which all are, as bits."""
    pairs = list(enumerate(zip(sizes, full, strict=True)))
    return sum((z > 0) << p for p, (z, _) in pairs), sum((z == f) << p for p, (z, f) in pairs)


@dataclass(frozen=True, slots=True)
class Count:
    """Ask how many worlds there are."""

    convention: Convention


@dataclass(frozen=True, slots=True)
class Decide:
    """Ask for each selection: in how many rows at least and at most, and in which share of worlds at all."""

    selections: Selections
    convention: Convention


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """Ask what the release without one of its `inner` rows tells about the share of `inner` in `outer`."""

    inner: Selections
    outer: Selections
    convention: Convention = "ordered"


@dataclass(frozen=True, slots=True)
class ShareQuery:
    """Ask for bounds on the share of rows in `inner` among those in `outer` = `inner` and `other` (disjoint)."""

    inner: Selections
    other: Selections
    outer: Selections


@dataclass(frozen=True, slots=True)
class Enumerate:
    """Ask for the worlds, each dataset once up to row order."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Ask for k worlds drawn uniformly, in the convention's sense."""

    k: int
    seed: int
    convention: Convention


@dataclass(frozen=True, slots=True)
class MostLikely:
    """Ask for a world of maximum likelihood, among equals with the heaviest histogram."""

    seed: int = 0


@dataclass(frozen=True, eq=False)
class Extreme:
    """Ask for the least or greatest Σ coefs[cell] z[cell] over all worlds of a system, and a world that attains it."""

    coefs: NDArray[np.int64]
    greatest: bool
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Joint:
    """Ask how some sums over the cells of a system, sums @ z with sums (m, cells), are distributed over the worlds."""

    sums: NDArray[np.int64]
    convention: Convention


@dataclass(frozen=True, slots=True)
class PerCell:
    """Ask for the least and greatest number of rows of every cell of the system over all worlds."""


@dataclass(frozen=True, eq=False)
class Attain:
    """Ask for a world in which sums @ z (sums (m, cells)) take the given values (m,)."""

    sums: NDArray[np.int64]
    values: NDArray[np.int64]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Locate:
    """Ask what is left for the row at every position of the training file."""


@dataclass(frozen=True, slots=True)
class LeafLabelCounts:
    """Ask how many rows of every label the cells of boosted model number `model` have, by its leaf values.

    `lattices`: lattices are reduced for what weighted sums leave open; without, that is left, and it takes much less.
    """

    model: int = 0
    lattices: bool = True


@dataclass(frozen=True, slots=True)
class Targets:
    """Ask between which numbers the targets of the rows in every cell lie, by the leaf values of a regression.

    `model`: its number in `Release.boosted`. What the asker knows beside the release: targets are `whole` numbers, or
    lie `within` two numbers.
    """

    model: int = 0
    whole: bool = False
    within: tuple[float, float] | None = None


Query = (
    Attain
    | Count
    | Decide
    | Enumerate
    | Extreme
    | Joint
    | LeaveOneOut
    | Locate
    | MostLikely
    | PerCell
    | Sample
    | LeafLabelCounts
    | ShareQuery
    | Targets
)
