"""Proofs of all that `recon certify --json` claims beside its verdicts: counts of rows, and that a row is possible.

Bounds on every world are proved as verdicts are; "possible" by a world that has such a row, found by the engines and
checked by `solvers.kernel.cells`. Profiles share worlds: a row may stand for another that no statement tells from
it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.exact import MAX_CERTIFIED
from recon.queries.certificates.certificate_format import Json
from recon.queries.certificates.issuing import WrittenProofs, as_proved, certificate_json, profiles_json
from recon.readers.frames.selections import select_frame
from recon.readers.loading.settled import strengthened_release
from solvers.engines.chain import ask
from solvers.engines.figures.system import SelectionSums, SystemFigures
from solvers.foundation.errors import CertificateError, EngineError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.kernel.cells import Live, cells_at
from solvers.kernel.claims import AnyProof, AtLeast, AtMost, Claim, Possible, Proof, Witness
from solvers.proofs.certificates.certifier import Certifier
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import ExtremeAnswer, WorldsAnswer
from solvers.statements.questions.query import Extreme, MostLikely, Selections
from solvers.statements.release import RowWorld

MAX_NUMBERS = 5_000_000  # parts of rows written into one result
MAX_WORLDS = 100  # kept to look for rows in
Parts = tuple[tuple[int, ...], ...]


def line_proofs(
    release: EncodedRelease, frame: pd.DataFrame, found: pd.DataFrame, limits: Limits, wanted: bool = False
) -> list[list[Json]]:
    """Return, per line of `recon.certify`, certificates of its counts and that its row is possible, all verified.

    What the line's own certificate or the number of rows says is left out; so is what was not proved within the limits
    (20 s where there is no time limit), which `recon verify` then names. Made for at most 1,000 profiles unless
    `wanted`. Cost: as verdicts' proofs, and an extreme of the release per profile that no world found before has.
    """
    limits = limits.stage("line proofs") if math.isinf(limits.work_left()) else limits
    release = strengthened_release(release, limits)
    proofs: list[list[Json]] = [[] for _ in range(len(found))]
    if not wanted and len(found) > MAX_CERTIFIED:
        return proofs
    kept = np.flatnonzero((found["verdict"] != "outside").to_numpy())
    if len(kept) < len(found):  # profiles that no row can be have no answer to prove, and no selection
        for i, made in zip(
            kept.tolist(), _proofs_inside_domain(release, frame, found, kept, limits, wanted), strict=True
        ):
            proofs[i] = made
        return proofs
    columns = ["verdict", "min_count", "max_count", "certificate"]
    lines = list(zip(*(found[name].tolist() for name in columns), strict=True))
    sure = (found["confidence"] == 1.0).to_numpy()
    levels = [(as_proved(release), np.ones(len(found), dtype=bool))]
    if not release.certain:
        levels = [(release.at_confidence(1), sure), (release, ~sure)]
    for at, those in levels:
        if those.any():
            prover = LineProver(at, frame, limits)
            said = {i: list(prover.line(i, *lines[i])) for i in np.flatnonzero(those).tolist()}
            prover.root()
            for i, claims in said.items():
                proofs[i] = list(prover.written_down(i, claims))
    return proofs


def _proofs_inside_domain(
    release: EncodedRelease, frame: pd.DataFrame, found: pd.DataFrame, kept: NDArray[Any], limits: Limits, wanted: bool
) -> list[list[Json]]:
    """Return the certificates of the kept lines alone."""
    people = frame.iloc[kept]
    people.attrs.update(frame.attrs)
    return line_proofs(release, people, found.iloc[kept], limits, wanted)


class LineProver:
    """Proves what lines say about one release, at its confidence; equal claims once."""

    def __init__(self, release: EncodedRelease, frame: pd.DataFrame, limits: Limits) -> None:
        self.release, self.limits = release, limits
        self.chosen: Selections = select_frame(release, frame)
        self.boxes = self.chosen.boxes()
        self.profiles = profiles_json(release, frame)
        self.certifier = Certifier(release.statements, limits)
        self.worlds = Worlds(release, self.certifier, self.chosen, limits)
        self.known: dict[Claim | Possible, AnyProof | None] = {}
        self.room = MAX_NUMBERS
        self.written = WrittenProofs()

    def line(
        self, i: int, verdict: str, minimum: Any, maximum: Any, certificate: Json | None
    ) -> Iterator[tuple[Claim | Possible, Json]]:
        """Yield what is claimed in one line and can be proved; nothing where nothing is said of its counts."""
        if verdict == "outside" or pd.isna(minimum) or pd.isna(maximum):
            return
        stated = self.release.statements
        if verdict == "unknown" and not stated.bags and stated.settled is None:  # other bounds have no proofs
            return
        (met, inside), rows = self.boxes[i], self.release.statements.rows.high
        has = None if certificate is None else certificate["claim"]
        if minimum > 0 and not (minimum == 1 and has is not None and "at_least" in has):
            yield self.proved(i, AtLeast(inside, int(minimum))), {"at_least": int(minimum)}
        if (rows is None or maximum < rows) and not (maximum == 0 and has is not None and "at_most" in has):
            yield self.proved(i, AtMost(met, int(maximum))), {"at_most": int(maximum)}
        if verdict == "possible" and minimum == 0:
            yield self.proved(i, Possible(met)), {"possible": True}

    def proved(self, i: int, claim: Claim | Possible) -> Claim | Possible:
        """Return a claim about profile i, after a proof of it was looked for."""
        if claim not in self.known:
            self.limits.report(f"proving what is said of profile {i + 1}")
            self.known[claim] = None if self.limits.expired() else self.proof(i, claim)
        return claim

    def root(self) -> None:
        """Make proofs rest on what was published alone."""
        self.known = self.certifier.rooted(self.known)

    def written_down(self, i: int, claims: list[tuple[Claim | Possible, Json]]) -> Iterator[Json]:
        """Yield the certificates of what was proved about profile i."""
        for claim, said in claims:
            if (proof := self.known[claim]) is None:
                continue
            if isinstance(proof, Witness):
                self.room -= sum(map(len, proof.parts))
                if self.room < 0:
                    return
            stated = {"profile": self.profiles[i], **said}
            yield certificate_json(self.release, self.certifier.fingerprint, stated, proof, self.written)

    def proof(self, i: int, claim: Claim | Possible) -> Proof | Witness | None:
        """Return a proof that was verified; None where none was found."""
        if not isinstance(claim, Possible):
            return self.certifier.prove(claim, clauses=False)
        for witness in self.worlds.witnesses(i, claim.box):
            try:
                self.certifier.verifier.verify(claim, witness)
            except CertificateError:
                continue
            return witness
        return None


@dataclass(frozen=True, eq=False)
class WorldRows:
    """A world by one row per cell: its parts, how often, and (where cells are known) which row stands for a cell."""

    parts: Parts
    times: tuple[int, ...]
    row_of: dict[int, int]


class Worlds:
    """Possible worlds found so far, and where else to look for one with a row of a profile."""

    def __init__(self, release: EncodedRelease, certifier: Certifier, chosen: Selections, limits: Limits) -> None:
        self.release, self.certifier, self.chosen, self.limits = release, certifier, chosen, limits
        self.found: list[WorldRows] | None = None
        self.sums: SelectionSums | None = None

    @property
    def live(self) -> Live | None:
        """Return the cells of all blocks, None where they are too many."""
        return None if self.certifier.base is None else self.certifier.base.live

    def witnesses(self, i: int, box: Box) -> Iterator[Witness]:
        """Yield worlds that may have a row in the box, known ones first, then one asked for; nothing is verified."""
        if self.found is None:
            self.found = []
            self.keep(self.likely())
        for held in self.found:
            if (witness := self.within(held, box)) is not None:
                yield witness
        held_now = self.keep(self.with_row(i))
        if held_now is not None and (witness := self.within(held_now, box)) is not None:
            yield witness

    def keep(self, world: RowWorld | None) -> WorldRows | None:
        """Keep a world, the newest first, and return it as it is kept."""
        if world is None:
            return None
        held = self.held(world)
        self.found = [held, *(self.found or [])[: MAX_WORLDS - 1]]
        return held

    def likely(self) -> RowWorld | None:
        """Return a world without asking for anything; None where no engine gives one."""
        try:
            return next(ask(self.release.statements, MostLikely(), WorldsAnswer, self.limits).worlds, None)
        except (EngineError, Inconclusive, Unsupported):
            return None

    def with_row(self, i: int) -> RowWorld | None:
        """Return a world with as many rows of profile i as can be; None where no engine gives one."""
        try:
            if self.sums is None:
                self.sums = SystemFigures.of(self.release.statements, self.limits).selections(self.chosen)
            coefs = self.sums[i][1]
            if not coefs.any():
                return None
            share = self.limits.stage("one line proof")
            return ask(self.release.statements, Extreme(coefs, True), ExtremeAnswer, share).world
        except (EngineError, Inconclusive, Unsupported):
            return None

    def held(self, world: RowWorld) -> WorldRows:
        """Return a world by its parts; rows of one cell become one row, which every statement weighs alike."""
        cuts = self.release.cut.cuts
        columns = []
        for k, cut in enumerate(cuts):
            values, back = np.unique(world.values[:, k], return_inverse=True)
            columns.append(np.array([cut.part_of_raw(int(v)) for v in values], dtype=np.int64)[back.reshape(-1)])
        table = np.stack(columns, axis=1)
        rows, back = np.unique(table, axis=0, return_inverse=True)
        times = np.zeros(len(rows), dtype=np.int64)
        np.add.at(times, back.reshape(-1), world.times)
        rows, times = rows[times > 0], times[times > 0]
        if self.live is None:
            return WorldRows(tuple(map(tuple, rows.tolist())), tuple(times.tolist()), {})
        cell = cells_at(self.certifier.facts, self.live, rows.tolist())
        distinct, first, which = np.unique(cell, return_index=True, return_inverse=True)
        counts = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(counts, which.reshape(-1), times)
        kept = tuple(map(tuple, rows[first].tolist()))
        return WorldRows(kept, tuple(counts.tolist()), {int(c): n for n, c in enumerate(distinct.tolist())})

    def within(self, held: WorldRows, box: Box) -> Witness | None:
        """Return the world with a row in the box, another row of a cell put in its place if need be; None without."""
        if any(all(mask >> row[k] & 1 for k, mask in box.literals) for row in held.parts):
            return Witness(held.parts, held.times)
        live = self.live
        if live is None:
            return None
        pieces = live.pieces_meeting(box)
        for p in pieces[np.isin(live.cell[pieces], list(held.row_of))][:1].tolist():
            row = _row_within(live, live.words[p : p + 1], box)
            return Witness(held.parts, held.times, (held.row_of[int(live.cell[p])], row))
        return None


def _row_within(live: Live, piece: NDArray[Any], box: Box) -> tuple[int, ...]:
    """Return the parts of the first row of a piece that lies in a box."""
    masks, out = dict(box.literals), []
    for k in range(len(live.layout.domain.attributes)):
        parts = np.flatnonzero(live.layout.parts(piece, k)[0]).tolist()
        out.append(next(part for part in parts if k not in masks or masks[k] >> part & 1))
    return tuple(out)
