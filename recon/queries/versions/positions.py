"""Two versions of a forest whose bags are known, row by row: which position left, and what both say of all others.

Rows keep their order between two fits, positions shift. What each file says of its rows by position tells which can be
the same; trees of both files then work on each row that surely stayed, and the new boxes are aligned again. A row that
left is in no bag of the later trees.

Source: `solvers.positions.alignment`; Ferry et al., ICML 2024 (what trees on known bags give away).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease, encode
from encoders.encode.typed_rows import domain_without_types
from encoders.models.models import Forest
from encoders.models.related import RelatedDataSets
from recon.queries.answers.undecided import no_positions_reason
from recon.queries.located.placed_rows import PlacedRows, attributes
from recon.queries.located.positions import locate_rows, position_results
from recon.queries.versions.difference import Difference, difference, names_of, relation_between, version_release
from recon.readers.loading.loading import Released, versions
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import ContradictionError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.positions.alignment import NOBODY, Alignment, align
from solvers.statements.questions.answers import LocatedAnswer

ROUNDS = 4  # of aligning again with the boxes that the trees of both files leave
TRIED = 8  # positions that are left for one that is gone: each is tried with the trees of both files
LISTED = 10  # positions in a sentence
ORDER = "rows that stayed are in the same order in both training files"
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
    change = relation.datasets[1]
    if change.removed is None or change.added is None:
        raise Unsupported(
            "rows are aligned where the numbers of those who left and came are known (--removed, --added)"
        )
    joined = versions(pair, relation, limits)
    forests = [_forest_of(joined, one.name) for one in relation.datasets]
    both = _BothFiles(domain_without_types(joined.domain, joined.related), forests, pair[0].file)
    found = _aligned(both, change.removed.low, change.added.low, limits)
    if found is None:
        try:
            return difference(pair[0], pair[1], removed, added, limits=limits, names=called)
        except Inconclusive as error:
            raise Inconclusive(f"{OTHERWISE}; {error}") from None
    (release, left_from, came_to), paths = found
    return AlignedRows(
        position_results(release, limits=limits), left_from, came_to, np.flatnonzero(paths.left),
        np.flatnonzero(paths.came), relation, change.removed.low, change.added.low,
    )  # fmt: skip


def _forest_of(joined: EncodedRelease, name: str) -> Forest:
    """Return the forest of a data set whose bags are known, that with most trees."""
    found = [m for m in joined.models if m.dataset == name and isinstance(m, Forest) and m.multiplicities is not None]
    if not found:
        raise Inconclusive(f"{name}: which rows each tree drew is not known, so that rows have no position")
    return max(found, key=lambda one: len(one.trees))


@dataclass(frozen=True, eq=False)
class _BothFiles:
    """The trees of two files over one domain, whose rows are put together as far as they are surely the same."""

    domain: Domain
    forests: Sequence[Forest]
    file: str

    def together(self, partner: Ints) -> tuple[EncodedRelease, Ints, Ints]:
        """Return the trees over the rows of both, and every row's position before and after (-1: none).

        `partner`: of rows before, the row after that each surely is (-1: not known).
        """
        bags = [np.asarray(one.multiplicities) for one in self.forests]
        rows, later = bags[0].shape[1], bags[1].shape[1]
        alone = np.setdiff1d(np.arange(later), partner)
        before = np.concatenate([np.arange(rows), np.full(len(alone), NOBODY)])
        after = np.concatenate([partner, alone])
        whole = np.zeros((sum(len(one) for one in bags), len(before)), dtype=np.int32)
        for first, table, place in ((0, bags[0], before), (len(bags[0]), bags[1], after)):
            held = place != NOBODY
            whole[first : first + len(table), held] = table[:, place[held]]
        trees = tuple(tree for one in self.forests for tree in one.trees)
        forest = Forest(
            trees, "both forests", origin=self.forests[0].origin, multiplicities=whole,
            bootstrap=any(one.bootstrap for one in self.forests), subsample=all(one.subsample for one in self.forests),
        )  # fmt: skip
        return replace(encode(self.domain, [forest]), file=self.file), before, after


Placed = tuple[EncodedRelease, Ints, Ints]


def _aligned(both: _BothFiles, removed: int, added: int, limits: Limits) -> tuple[Placed, Alignment] | None:
    """Return the trees over rows put together as far as is sure, and the alignments left; None where there is none."""
    rows, later = (np.asarray(one.multiplicities).shape[1] for one in both.forests)
    placed, paths = both.together(np.full(rows, NOBODY)), None
    for _ in range(ROUNDS):
        release, before, after = placed
        answer = locate_rows(release, limits)
        now = align(rows, later, removed, added, _Meetings(answer, before, after, rows))
        if now is None:
            if paths is None:
                return None
            raise _contradiction()
        if paths is not None and (now.partner == paths.partner).all():
            paths = now
            break
        paths = now
        placed = both.together(paths.partner)
        if (paths.partner != NOBODY).sum() == rows - removed:
            break
    assert paths is not None
    return _without_impossible(both, placed, paths, removed, added, limits)


def _contradiction() -> ContradictionError:
    return ContradictionError("no rows in the same order fit the trees of both files", (ORDER,))


def _without_impossible(
    both: _BothFiles, placed: Placed, paths: Alignment, removed: int, added: int, limits: Limits
) -> tuple[Placed, Alignment]:
    """Return the alignment where one row left and a few positions are open: each is tried with all trees."""
    open_ones = np.flatnonzero(paths.left)
    if (removed, added) != (1, 0) or not 1 < len(open_ones) <= TRIED:
        return placed, paths
    rows, fitting = len(paths.left), []
    for gone in open_ones.tolist():
        partner = np.arange(rows) - (np.arange(rows) > gone)
        partner[gone] = NOBODY
        tried = both.together(partner)
        try:
            locate_rows(tried[0], limits)
        except ContradictionError:
            continue
        fitting.append((gone, partner, tried))
    if not fitting:
        raise _contradiction()
    left = np.zeros(rows, dtype=bool)
    left[[gone for gone, _, _ in fitting]] = True
    if len(fitting) == 1:
        _, partner, placed = fitting[0]
        return placed, replace(paths, left=left, stayed=~left, partner=partner)
    return placed, replace(paths, left=left)


class _Meetings:
    """Which rows before can be which rows after: where their boxes meet, by what is left of each."""

    def __init__(self, answer: LocatedAnswer, before: Ints, after: Ints, rows: int) -> None:
        later = int(after.max(initial=NOBODY)) + 1
        self.answer, self.rows, self.later = answer, rows, later
        self.line = np.flatnonzero(before != NOBODY)[np.argsort(before[before != NOBODY])]
        self.other = np.flatnonzero(after != NOBODY)[np.argsort(after[after != NOBODY])]

    def __call__(self, d: int) -> Bits:
        """Return of every row before whether it can be the row d places on after."""
        out = np.zeros(self.rows, dtype=bool)
        first, end = max(0, -d), min(self.rows, self.later - d)
        if first >= end:
            return out
        p, q = self.line[first:end], self.other[first + d : end + d]
        low, high = (np.maximum, self.answer.start), (np.minimum, self.answer.end)
        start, behind = (narrower(ends[p], ends[q]) for narrower, ends in (low, high))
        met = (start < behind).all(axis=1)
        for k, held in self.answer.sets.items():
            place = np.arange(held.shape[1])
            inside = (place >= start[:, k, None]) & (place < behind[:, k, None])
            met &= (held[p] & held[q] & inside).any(axis=1)
        out[first:end] = met
        return out
