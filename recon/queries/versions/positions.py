"""Two versions of a forest whose bags are known, row by row: which position left, and what both say of all others.

Rows keep their order between two fits, positions shift. What each file says of its rows by position tells which can be
the same; trees of both files then work on each row that surely stayed, and the new boxes are aligned again. A row that
left is in no bag of the later trees.

Source: `solvers.kernel.alignment`; Ferry et al., ICML 2024 (what trees on known bags give away).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease
from encoders.models.related import RelatedDataSets
from recon.queries.answers.counting import no_positions_reason
from recon.queries.certificates.aligning import ORDER, BothFiles, Left, aligned
from recon.queries.certificates.issuing import aligned_certificate
from recon.queries.located.placed_rows import PlacedRows, attributes
from recon.queries.located.positions import locate_rows, position_results
from recon.queries.versions.difference import (
    Difference,
    difference,
    joined_versions,
    names_of,
    relation_between,
    version_release,
)
from recon.readers.loading.loading import Released
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.kernel.alignment import NOBODY

LISTED = 10  # positions in a sentence
OTHERWISE = "no rows of the two files can be aligned in their order (shuffled?): rows are compared without one"


@dataclass(frozen=True, eq=False)
class AlignedRows:
    """What the trees of two versions say of every row of both training files.

    `found`: the rows of both, one line of each that surely stayed (where `before` and `after` have its positions), and
    one of every other row of either (-1: it has no position there). `left`, `came`: the positions that can be those of
    the rows that left (before) and came (after); of one row, of many or of none as `removed` and `added` say.
    """

    found: PlacedRows
    before: Ints
    after: Ints
    left: Ints
    came: Ints
    relation: RelatedDataSets
    removed: int
    added: int
    joined: EncodedRelease = field(repr=False)
    both: BothFiles = field(repr=False)

    def certificate(self, limits: Limits | None = None) -> dict[str, Any] | None:
        """Return the certificate of all of it, which `recon.verify` accepts with `joined`; None: not proved in time."""
        return aligned_certificate(self.joined, self.both, limits)

    @property
    def kept(self) -> Bits:
        """Return which lines of `found` are rows that surely stayed."""
        both: Bits = (self.before != NOBODY) & (self.after != NOBODY)
        return both

    @property
    def known(self) -> Bits:
        """Return which lines of `found` are known with every value."""
        known: Bits = np.logical_and.reduce([one.exact for one in self.found.columns])
        return known

    @property
    def assumptions(self) -> list[str]:
        """Return what all of it assumes."""
        return [ORDER, *self.relation.lines(), *attributes(self.found)["assumptions"]]

    def groups(self) -> list[str]:
        """Return of every line of `found` whether its row is kept, removed, added, or which of these is open."""
        gone, new = set(self.left.tolist()), set(self.came.tolist())
        out = []
        for p, q in zip(self.before.tolist(), self.after.tolist(), strict=True):
            if q == NOBODY:
                out.append("kept" if p not in gone else "removed" if len(gone) == self.removed else "open")
            elif p == NOBODY:
                out.append("kept" if q not in new else "added" if len(new) == self.added else "open")
            else:
                out.append("kept")
        return out

    def to_frame(self) -> pd.DataFrame:
        """Return a line per row and attribute: `position` and `position_after` (-1: none), `rows`, what is proved."""
        frame, width = self.found.to_frame(), len(self.found.columns)
        frame["position"] = np.repeat(self.before, width)
        frame.insert(1, "position_after", np.repeat(self.after, width))
        frame.insert(2, "rows", np.repeat(np.array(self.groups(), dtype=object), width))
        return frame

    def figures(self) -> dict[str, Any]:
        """Return the summary as named figures."""
        known, both = self.known, self.kept
        return {
            "removed": self.removed, "added": self.added, "removed_positions": self.left.tolist(),
            "added_positions": self.came.tolist(), "rows_aligned": int(both.sum()),
            "kept_known": int(known[both].sum()),
            "removed_known": self._people_known("removed", self.removed, self.before, self.left),
            "added_known": self._people_known("added", self.added, self.after, self.came),
        }  # fmt: skip

    def _people_known(self, word: str, number: int, place: Ints, candidates: Ints) -> int:
        """Return how many of those who left or came are known with every value.

        By their position; or one, whose positions are several of rows that are known and all alike.
        """
        if number == 1 < len(candidates):
            lines = np.flatnonzero(np.isin(place, candidates))
            first = self.found.answer.start[lines]
            return int(bool(self.known[lines].all() and (first == first[0]).all()))
        return int(sum(k for k, group in zip(self.known.tolist(), self.groups(), strict=True) if group == word))

    def sentences(self) -> list[str]:
        """Return what was found, in words."""
        names, figures = [one.name for one in self.relation.datasets], self.figures()
        out = []
        for word, number, places, name in (
            ("left", self.removed, self.left, names[0]), ("came", self.added, self.came, names[1]),
        ):  # fmt: skip
            if not number:
                continue
            people = "the row that" if number == 1 else f"the {number:,} rows that"
            listed = ", ".join(f"{p:,}" for p in places[:LISTED].tolist()) + (", ..." if len(places) > LISTED else "")
            known = figures["removed_known" if word == "left" else "added_known"]
            if len(places) == number:
                whole = "its values are all known" if number == known == 1 else f"{known:,} of {number:,} fully known"
                out.append(f"{people} {word}: position{'' if number == 1 else 's'} {listed} of {name}; {whole}")
            else:
                alike = "; these rows are alike, and all values known" if known else ""
                out.append(f"{people} {word}: {len(places):,} positions of {name} are possible ({listed}){alike}")
        both = int(self.kept.sum())
        whole = figures["kept_known"]
        out.append(f"{both:,} rows that stayed are found in both files; {whole:,} of them are fully known")
        return out


def aligned_rows(
    before: Released, after: Released, removed: int | None = None, added: int | None = None, domain: Any = None,
    limits: Limits | None = None, names: tuple[str, str] | None = None,
) -> AlignedRows | Difference:  # fmt: skip
    """Return what two versions of a forest say of every row by its position in either training file.

    Arguments as those of `recon.difference`. Where the rows cannot be aligned in their order the difference of
    unordered rows is the answer. Raises `Inconclusive` for versions whose bags are not known, naming it. Cost: that of
    `recon.positions` of the trees of both, a few times.
    """
    limits = limits or Limits()
    called = names or names_of(before, after)
    pair = [version_release(one, domain, limits) for one in (before, after)]
    for name, one in zip(called, pair, strict=True):
        if why := no_positions_reason(one):
            raise Inconclusive(f"{name}: {why}")
    relation = relation_between(pair[0], pair[1], called, removed, added)
    joined = joined_versions(before, after, pair, relation, domain, limits)
    both = BothFiles.of(joined)
    found = aligned(both, lambda release, tries: _boxes_left(release, tries, limits))
    if found is None:
        try:
            return difference(pair[0], pair[1], removed, added, limits=limits, names=called)
        except Inconclusive as error:
            raise Inconclusive(f"{OTHERWISE}; {error}") from None
    placed, paths = found
    return AlignedRows(
        position_results(placed.release, limits=limits), placed.before, placed.after, np.flatnonzero(paths.left),
        np.flatnonzero(paths.came), relation, both.removed, both.added, joined, both,
    )  # fmt: skip


def _boxes_left(release: EncodedRelease, tries: bool, limits: Limits) -> Left:
    """Return what trees leave of every row."""
    found = locate_rows(release, limits, tries)
    return found.start, found.end, found.sets
