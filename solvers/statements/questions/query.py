"""Questions as data: what engines are asked."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from solvers.statements.boxes import Box

Convention = Literal["assigned", "ordered", "multiset", "population"]  # the last: `ordered`, of a list of people
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


class Query:
    """What engines are asked: a kind of question, about one release.

    `question`, `about`: its name and what it asks for in `recon plan` ("": recon alone asks it, of some releases only).
    `lists_worlds`: it asks for worlds one by one; `of_worlds`: for single worlds, or for how they share out, where
    nothing follows unless all that is published is used. `uses_figures`: its engines know themselves what they leave
    out of the published figures.
    """

    __slots__ = ()
    question: ClassVar[str] = ""
    about: ClassVar[str] = ""
    lists_worlds: ClassVar[bool] = False
    of_worlds: ClassVar[bool] = False
    uses_figures: ClassVar[bool] = False

    @classmethod
    def example(cls, convention: Convention) -> Self:
        """Return a question of the kind about nothing in particular: engines refuse kinds and conventions."""
        blank = {"Selections": NOTHING, "NDArray[np.int64]": NO_SUMS, "Convention": convention, "int": 1, "bool": True}
        asked = (f for f in fields(cls) if f.default is MISSING or f.type == "Convention")  # type: ignore[arg-type]
        return cls(**{f.name: blank[f.type] for f in asked})  # type: ignore[index]


NOTHING = Selections(np.zeros((0, 0), dtype=np.int32), ())
NO_SUMS = np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Count(Query):
    """Ask how many worlds there are."""

    question: ClassVar[str] = "count"
    about: ClassVar[str] = "how many worlds there are"
    convention: Convention


@dataclass(frozen=True, slots=True)
class Decide(Query):
    """Ask for each selection: in how many rows at least and at most, and in which share of worlds at all.

    `shares`: whether the share is asked for; without it the engines that bound come sooner.
    """

    question: ClassVar[str] = "decide"
    about: ClassVar[str] = "in how many rows at least and at most, and in which share of worlds at all"
    selections: Selections
    convention: Convention
    shares: bool = True


@dataclass(frozen=True, slots=True)
class LeaveOneOut(Query):
    """Ask what the release without one of its `inner` rows tells about the share of `inner` in `outer`."""

    question: ClassVar[str] = "leave-one-out"
    about: ClassVar[str] = "what is known of a person without the person's own row"
    inner: Selections
    outer: Selections
    convention: Convention = "ordered"


@dataclass(frozen=True, slots=True)
class ShareQuery(Query):
    """Ask for bounds on the share of rows in `inner` among those in `outer` = `inner` and `other` (disjoint)."""

    question: ClassVar[str] = "share"
    about: ClassVar[str] = "which share of some rows has a value"
    inner: Selections
    other: Selections
    outer: Selections


@dataclass(frozen=True, slots=True)
class Enumerate(Query):
    """Ask for the worlds, each dataset once up to row order."""

    question: ClassVar[str] = "enumerate"
    about: ClassVar[str] = "the worlds one by one"
    lists_worlds: ClassVar[bool] = True
    of_worlds: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Sample(Query):
    """Ask for k worlds drawn uniformly, in the convention's sense."""

    question: ClassVar[str] = "sample"
    about: ClassVar[str] = "worlds drawn uniformly"
    lists_worlds: ClassVar[bool] = True
    of_worlds: ClassVar[bool] = True
    k: int
    seed: int
    convention: Convention


@dataclass(frozen=True, slots=True)
class MostLikely(Query):
    """Ask for a world of maximum likelihood, among equals with the heaviest histogram."""

    question: ClassVar[str] = "most-likely"
    about: ClassVar[str] = "one most likely world"
    lists_worlds: ClassVar[bool] = True
    of_worlds: ClassVar[bool] = True
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Extreme(Query):
    """Ask for the least or greatest Σ coefs[cell] z[cell] over all worlds of a system, and a world that attains it."""

    question: ClassVar[str] = "extreme"
    about: ClassVar[str] = "the least or greatest sum over all worlds"
    coefs: NDArray[np.int64]
    greatest: bool
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Joint(Query):
    """Ask how some sums over the cells of a system, sums @ z with sums (m, cells), are distributed over the worlds."""

    question: ClassVar[str] = "joint"
    about: ClassVar[str] = "how sums are distributed over the worlds"
    of_worlds: ClassVar[bool] = True
    sums: NDArray[np.int64]
    convention: Convention

    @classmethod
    def example(cls, convention: Convention) -> Self:
        """Return the question about no sums: `assigned` counts worlds, it does not spread sums."""
        return cls(NO_SUMS, "ordered" if convention == "assigned" else convention)


@dataclass(frozen=True, slots=True)
class PerCell(Query):
    """Ask for the least and greatest number of rows of every cell of the system over all worlds."""

    question: ClassVar[str] = "per-cell"
    about: ClassVar[str] = "the least and greatest number of rows of every cell"


@dataclass(frozen=True, eq=False)
class Attain(Query):
    """Ask for a world in which sums @ z (sums (m, cells)) take the given values (m,)."""

    question: ClassVar[str] = "attain"
    about: ClassVar[str] = "a world in which sums take given values"
    of_worlds: ClassVar[bool] = True
    sums: NDArray[np.int64]
    values: NDArray[np.int64]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Locate(Query):
    """Ask what is left for the row at every position of the training file.

    `tries`: values are tried one by one for what propagation leaves open; without, it takes much less, and the answer
    is not complete.
    """

    tries: bool = True


@dataclass(frozen=True, slots=True)
class LeafLabelCounts(Query):
    """Ask how many rows of every label the cells of boosted model number `model` have, by its leaf values.

    `lattices`: lattices are reduced for what weighted sums leave open; without, that is left, and it takes much less.
    """

    uses_figures: ClassVar[bool] = True
    model: int = 0
    lattices: bool = True


@dataclass(frozen=True, slots=True)
class Targets(Query):
    """Ask between which numbers the targets of the rows in every cell lie, by the leaf values of a regression.

    `model`: its number in `Release.boosted`. What the asker knows beside the release: targets are `whole` numbers, or
    lie `within` two numbers.
    """

    uses_figures: ClassVar[bool] = True
    model: int = 0
    whole: bool = False
    within: tuple[float, float] | None = None


QUERIES: tuple[type[Query], ...] = (
    Count, Decide, LeaveOneOut, ShareQuery, Enumerate, Sample, MostLikely, Extreme, Joint, PerCell, Attain,
)  # fmt: skip  # the kinds that may be asked of any release, in the order of `recon plan`
