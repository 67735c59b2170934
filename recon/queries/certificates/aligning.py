"""Two forests whose bags are known, over rows that keep their order: which row of one file is which of the other.

Trees of both files work on each row that surely is in both; what they leave is aligned again, until nothing changes.
Whoever finds and whoever checks goes the same way (`aligned`): the one locates rows, the other replays removals.

Source: docs/certificates.md, "Alignment: rows of two files".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease, encode
from encoders.encode.typed_rows import domain_without_types
from encoders.models.models import Forest
from recon.queries.certificates.position_claims import positions_json, row_location
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import CertificateError, ContradictionError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.kernel.alignment import NOBODY, Alignment, PlacedBoxes, align
from solvers.kernel.claims import AlignmentReplays, AnyProof, Removals, RowLocation
from solvers.kernel.located import LocatedValues, replayed
from solvers.kernel.proof_format import entry, keys, number

Json = dict[str, Any]
ROUNDS = 4  # of aligning again with the boxes that the trees of both files leave
TRIED = 8  # positions that are left for one that is gone: each is tried with the trees of both files
ORDER = "rows that stayed are in the same order in both training files"


Left = tuple[Ints, Ints, Mapping[int, Bits]]  # of every row: start, end and sets, as `PlacedBoxes` has them
Locating = Callable[[EncodedRelease, bool], Left]  # of a release, whether values are tried too; ContradictionError


@dataclass(frozen=True, eq=False)
class PlacedTrees:
    """The trees of both files over rows put together: the place of every row before and after (-1: none)."""

    release: EncodedRelease
    before: Ints
    after: Ints


@dataclass(frozen=True, eq=False)
class BothFiles:
    """The trees of two files over one domain, and how many rows left and came between them."""

    domain: Domain
    forests: tuple[Forest, Forest]
    file: str
    removed: int
    added: int
    known: dict[bytes, PlacedTrees] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, joined: EncodedRelease) -> BothFiles:
        """Return the forests of a release of two versions.

        Raises `Inconclusive` where bags are not known, `Unsupported` where the numbers of who left and came are not.
        """
        datasets = () if joined.related is None else joined.related.datasets
        if len(datasets) != 2 or datasets[1].origin != datasets[0].name:
            raise Unsupported("rows are aligned between two data sets, the second made 'from' the first")
        left, came = datasets[1].removed, datasets[1].added
        if left is None or came is None or not left.exact or not came.exact:
            raise Unsupported(
                "rows are aligned where the numbers of those who left and came are known (--removed, --added)"
            )
        pair = _forest_of(joined, datasets[0].name), _forest_of(joined, datasets[1].name)
        return cls(domain_without_types(joined.domain, joined.related), pair, joined.file, left.low, came.low)

    @property
    def rows(self) -> tuple[int, int]:
        """Return the numbers of rows before and after."""
        first, second = (np.asarray(one.multiplicities).shape[1] for one in self.forests)
        return first, second

    def together(self, partner: Ints) -> PlacedTrees:
        """Return the trees over the rows of both; `partner`: of rows before, the row after that each surely is."""
        if (key := partner.tobytes()) not in self.known:
            self.known[key] = self._put_together(partner)
        return self.known[key]

    def _put_together(self, partner: Ints) -> PlacedTrees:
        bags = [np.asarray(one.multiplicities) for one in self.forests]
        rows, later = self.rows
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
        return PlacedTrees(replace(encode(self.domain, [forest]), file=self.file), before, after)


def _forest_of(joined: EncodedRelease, name: str) -> Forest:
    """Return the forest of a data set whose bags are known, that with most trees."""
    found = [m for m in joined.models if m.dataset == name and isinstance(m, Forest) and m.multiplicities is not None]
    if not found:
        raise Inconclusive(f"{name}: which rows each tree drew is not known, so that rows have no position")
    return max(found, key=lambda one: len(one.trees))


def aligned(both: BothFiles, locate: Locating) -> tuple[PlacedTrees, Alignment] | None:
    """Return the trees over rows put together as far as is sure, and the alignments left; None where there is none.

    `locate` is asked for what is left of every row, time after time, and to try values only where rows are not put
    together without: the proof holds its removals in this order.
    """
    rows, later = both.rows
    placed, paths = both.together(np.full(rows, NOBODY)), None
    tries, turn, done = False, 0, False
    while not done:
        boxes = PlacedBoxes(*locate(placed.release, tries), placed.before, placed.after)
        now = align(rows, later, both.removed, both.added, boxes.meeting)
        if now is None:
            if paths is None:
                return None
            raise _contradiction()
        same = paths is not None and bool((now.partner == paths.partner).all())
        paths, placed, turn = now, both.together(now.partner), turn + 1
        last = same or turn == ROUNDS
        done = (last and tries) or int((now.partner != NOBODY).sum()) == rows - both.removed
        tries, turn = (True, 0) if last else (tries, turn)
    assert paths is not None
    return _without_impossible(both, placed, paths, locate)


def _contradiction() -> ContradictionError:
    return ContradictionError("no rows in the same order fit the trees of both files", (ORDER,))


def _without_impossible(
    both: BothFiles, placed: PlacedTrees, paths: Alignment, locate: Locating
) -> tuple[PlacedTrees, Alignment]:
    """Return the alignment where one row left and a few positions are open: each is tried with all trees."""
    open_ones = np.flatnonzero(paths.left)
    if (both.removed, both.added) != (1, 0) or not 1 < len(open_ones) <= TRIED:
        return placed, paths
    rows, fitting = len(paths.left), []
    for gone in open_ones.tolist():
        partner = np.arange(rows) - (np.arange(rows) > gone)
        partner[gone] = NOBODY
        tried = both.together(partner)
        try:
            locate(tried.release, True)
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


# ---------------------------------------------------------------- proofs


@dataclass(frozen=True, eq=False)
class Replays:
    """Removals of each release that is asked about, replayed: `steps_of` says which; `made` lists them in order."""

    steps_of: Callable[[EncodedRelease], Removals]
    limits: Limits
    made: list[Removals] = field(default_factory=list)
    done: dict[int, LocatedValues] = field(default_factory=dict)  # by the id of a release, which `BothFiles` keeps

    def of(self, release: EncodedRelease) -> LocatedValues:
        """Return what is left of a release; its removals are replayed once."""
        if id(release) not in self.done:
            steps = self.steps_of(release)
            self.made.append(steps)
            self.done[id(release)] = replayed(release.statements, steps, self.limits)
        return self.done[id(release)]

    def locate(self, release: EncodedRelease, _: bool = True) -> Left:
        """Return what is left of every row."""
        found = self.of(release)
        if found.left.over:
            raise _contradiction()
        return *found.hulls, found.sets


def aligned_claim(found: tuple[PlacedTrees, Alignment], where: RowLocation | None) -> Json:
    """Return as JSON what alignments leave, and where rows are: a line of each that is in both files or known of."""
    placed, paths = found
    rows = range(len(placed.before))
    tests = {one["position"]: one["where"] for one in _tests_of(placed.release, where)}
    lines = [
        {"position": p, "position_after": q, "where": tests.get(i, {})}
        for i, p, q in zip(rows, placed.before.tolist(), placed.after.tolist(), strict=True)
        if i in tests or NOBODY not in (p, q)
    ]
    left, came = (np.flatnonzero(one).tolist() for one in (paths.left, paths.came))
    return {"aligned": {"left": left, "came": came, "positions": lines}}


def _tests_of(release: EncodedRelease, where: RowLocation | None) -> list[Json]:
    found: list[Json] = [] if where is None else positions_json(release, where)["positions"]
    return found


def check_aligned(claim: Json, proof: AnyProof, release: EncodedRelease, limits: Limits) -> None:
    """Check that a proof shows how the rows of two versions are aligned; raise `CertificateError` otherwise.

    The claim may say less than the proof: more positions that can have left or come, fewer rows, wider tests.
    """
    keys(claim, {"aligned"}, "the claim")
    said = claim["aligned"]
    keys(said, {"left", "came", "positions"}, "claim.aligned")
    if not isinstance(proof, AlignmentReplays):
        raise CertificateError("which rows of two files are the same is proved by an alignment, nothing else")
    steps = iter(proof.replays)
    replays = Replays(lambda _: _next(steps), limits)
    try:
        found = aligned(BothFiles.of(release), replays.locate)
        if found is None:
            raise CertificateError("the proof leaves no rows in the same order that fit both files")
        left = replays.of(found[0].release)
    except (ContradictionError, Inconclusive, Unsupported) as error:
        raise CertificateError(str(error)) from None
    if next(steps, None) is not None:
        raise CertificateError("the proof has removals that nothing asks for")
    for key, possible in (("left", found[1].left), ("came", found[1].came)):
        listed = _positions(said[key], f"claim.aligned.{key}")
        if strange := set(np.flatnonzero(possible).tolist()) - listed:
            raise CertificateError(f"the proof does not exclude position {min(strange)}, which the claim leaves out")
    left.check(_rows_of_claim(said["positions"], found[0]))


def _next(steps: Iterator[Removals]) -> Removals:
    found = next(steps, None)
    if found is None:
        raise CertificateError("the proof ends before the rows are aligned")
    return found


def _positions(listed: Any, place: str) -> set[int]:
    if not isinstance(listed, list):
        raise CertificateError(f"{place} is not a list")
    return {number(one, f"{place}[{j}]") for j, one in enumerate(listed)}


def _rows_of_claim(listed: Any, placed: PlacedTrees) -> RowLocation:
    """Return what a claim says of rows, which must be put together as it says, over parts."""
    if not isinstance(listed, list):
        raise CertificateError("claim.aligned.positions is not a list")
    pairs = zip(placed.before.tolist(), placed.after.tolist(), strict=True)
    row, lines = {pair: i for i, pair in enumerate(pairs)}, []
    for j, one in enumerate(listed):
        place = f"claim.aligned.positions[{j}]"
        where = entry(one, "where", place)
        keys(one, {"position", "position_after", "where"}, place)
        pair = number(one["position"], f"{place}.position"), number(one["position_after"], f"{place}.position_after")
        if pair not in row:
            raise CertificateError(f"the proof does not show that positions {pair[0]} and {pair[1]} are of one row")
        lines.append({"position": row[pair], "where": where})
    return row_location({"positions": lines}, placed.release)
