"""Certificates as users hold them: a claim in the release's own words, its proof, and what both rest on.

Nothing is called certified before `solvers.kernel.checker` has re-checked the proof from the release alone; the proofs
are found, and checked, by `solvers.proofs.certificates.certifier`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.domain.values import Categorical, from_text, plain_number
from encoders.encode.encoder import EncodedRelease
from recon.io.files.writing import writing
from recon.queries.certificates.agreement import contradicted, refuted
from recon.queries.certificates.aligning import ORDER, BothFiles, Replays, aligned, aligned_claim, check_aligned
from recon.queries.certificates.certificate_format import (
    VERSION,
    Json,
    digest,
    level_json,
    naming_steps,
    only_world,
    seal_of,
    stated_relations,
)
from recon.queries.certificates.position_claims import positions_json, row_location
from recon.readers.frames.selections import missing, select_frame
from recon.readers.frames.world import World, wrap
from recon.readers.loading.settled import as_released
from solvers.engines.chain import ask
from solvers.foundation.errors import CertificateError, ContradictionError, ReleaseError
from solvers.foundation.limits import Limits
from solvers.kernel.checker import Verifier
from solvers.kernel.claims import (
    AlignmentReplays,
    AnyProof,
    AtLeast,
    AtMost,
    Claim,
    LeafValues,
    NoWorld,
    Proof,
    Removals,
)
from solvers.kernel.proof_format import proof_json, steps_json
from solvers.positions.assignments.world import assigned
from solvers.proofs.certificates.certifier import Certifier
from solvers.proofs.certificates.trimming import places_left
from solvers.statements.questions.answers import BoxMultipliers, Side, WorldsAnswer
from solvers.statements.questions.query import MostLikely, Selections

if TYPE_CHECKING:
    import pandas as pd


def as_proved(release: EncodedRelease) -> EncodedRelease:
    """Return the release as claims about it are proved: what holds whatever the noise is proved at confidence 1.

    Where leaf values prove nothing, they are no part of a proof either.
    """
    if release.statements.settled is None:
        release = as_released(release)
    return release.at_confidence(1) if release.certain else release


def certificate_json(
    release: EncodedRelease, fingerprint: str, claim: Json, proof: AnyProof, written: WrittenProofs | None = None
) -> Json:
    """Return the certificate of a claim that is proved of the release as it is read: at its confidence.

    `written`: removals that were written as JSON before, which certificates of one result hold together.
    """
    level = None if release.certain else release.statements.confidence
    order = [ORDER] if "aligned" in claim else []
    below = level is not None and level != 1
    release, written = as_released(release), written or WrittenProofs()
    data = written.of(proof)
    content = {
        "recon_certificate": VERSION if below else 1,
        **({"confidence": level_json(level)} if level is not None and below else {}),
        "release_files": list(release.files),
        "release_sha256": release.sha256 or None,
        "statements_sha256": fingerprint,
        "claim": claim,
        **({} if release.beside is None else {"known": release.beside.to_dict()}),
        **({} if release.knowledge is None else {"adversary": release.knowledge.to_dict()}),
        **stated_relations(release),
        "assumptions": [*order, *as_released(release).assumptions],
        "proof": data,
    }
    return content | {"seal": seal_of(naming_steps(content, written.names))}


class WrittenProofs:
    """Proofs of one result as JSON; steps that prove many claims at once are written and hashed once."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, list[Any]]] = {}
        self.names: dict[int, str] = {}

    def of(self, proof: AnyProof) -> Json:
        """Return a proof as JSON; `names` has the SHA-256 of its steps, by their id, where others can share them."""
        if not isinstance(proof, Removals | LeafValues):
            return proof_json(proof)
        if id(proof.steps) not in self.known:
            steps = steps_json(proof)
            self.known[id(proof.steps)] = proof.steps, steps
            self.names[id(steps)] = digest(steps)
        steps = self.known[id(proof.steps)][1]
        if isinstance(proof, Removals):
            return {"kind": "removals", "steps": steps}
        return {"kind": "leaf_values", "model": proof.model, "steps": steps, "last": self.of(proof.last)}


def profile_certificates(
    release: EncodedRelease,
    frame: pd.DataFrame,
    verdicts: Sequence[str],
    limits: Limits | None,
    asked: tuple[Selections, Mapping[Side, BoxMultipliers]] | None = None,
) -> list[Json | None]:
    """Return one certificate per profile that is certain or impossible, None for others and where none was found.

    At a confidence below 1 "certain" stands for rows that are present at that confidence. Equal profiles are proved
    once; certificates that rest on the same removals hold them together, as one object. `asked`: the profiles as they
    were asked about, and the multipliers of the answer. Cost: a proof per distinct profile, most by a look at one leaf.
    """
    if refuted(release):
        return [None] * len(verdicts)
    read, release = release, as_proved(release)
    chosen, multipliers = asked if asked is not None and release is read else (select_frame(release, frame), {})
    boxes = chosen.boxes()
    certifier = Certifier(release.statements, limits, multipliers)
    claims: dict[int, Claim] = {}
    proofs: dict[Claim, Proof | None] = {}
    for i, verdict in enumerate(verdicts):
        if verdict in {"certain", "impossible"}:
            claims[i] = AtMost(boxes[i][0], 0) if verdict == "impossible" else AtLeast(boxes[i][1], 1)
            if claims[i] not in proofs:
                certifier.limits.report(f"certificates: {i} of {len(verdicts)} profiles")
                proofs[claims[i]] = None if certifier.limits.expired() else certifier.prove(claims[i])
    proofs |= certifier.trimmed([claim for claim, proof in proofs.items() if isinstance(proof, Removals)])
    rooted = certifier.rooted(dict(proofs.items()))
    profiles, written = profiles_json(release, frame), WrittenProofs()
    out: list[Json | None] = [None] * len(verdicts)
    for i, claim in claims.items():
        if (proof := rooted[claim]) is not None:
            stated = {"profile": profiles[i], **({"at_most": 0} if isinstance(claim, AtMost) else {"at_least": 1})}
            out[i] = certificate_json(release, certifier.fingerprint, stated, proof, written)
    return out


def position_certificate(
    release: EncodedRelease, limits: Limits | None, rows: Sequence[int] | None = None
) -> Json | None:
    """Return one certificate of where the positions of the training file are (`rows`: only some of them).

    None where positions are not known or nothing was proved of them. Of each position it says what is proved of every
    attribute, the label included. Cost: a replay of all removals, and another of those that it rests on.
    """
    if refuted(release):
        return None
    release = as_proved(release)
    certifier = Certifier(release.statements, limits)
    if (claim := certifier.located(rows)) is None:
        return None
    stated = positions_json(release, claim)
    certified = row_location(stated, release)
    proof = certifier.rooted({certified: certifier.trimmed([certified]).get(certified)})[certified]
    return None if proof is None else certificate_json(release, certifier.fingerprint, stated, proof)


def aligned_certificate(joined: EncodedRelease, both: BothFiles, limits: Limits | None) -> Json | None:
    """Return the certificate of which rows of two versions are the same, which left or came, and where all are.

    None where the removals prove no alignment. Cost: a replay of all removals per time that rows were put together.
    """
    limits = limits or Limits()

    def removals(release: EncodedRelease) -> Removals:
        found = assigned(release.statements, limits.stage("removals"), tries=False)  # remembered: what was found
        if found is None:
            raise CertificateError("nothing is removed")
        return Removals(found.steps)

    replays = Replays(removals, limits)
    try:
        found = aligned(both, replays.locate)
        if found is None:
            return None
        left = replays.of(found[0].release)
        claim = aligned_claim(found, places_left(left, range(len(found[0].before))))
        proof = AlignmentReplays(tuple(replays.made))
        check_aligned(claim, proof, joined, limits)
    except (CertificateError, ContradictionError):
        return None
    fingerprint = Verifier(joined.statements, limits).facts.fingerprint
    return certificate_json(joined, fingerprint, claim, proof)


def contradiction_certificate(release: EncodedRelease, limits: Limits | None) -> Json | None:
    """Return the certificate that there is no possible world, None where no proof was found.

    None as well of a model file: what contradicts itself there are its figures and what its reader assumes.
    At a confidence below 1: that no dataset has all its noise inside the joint intervals.
    """
    if contradicted(release):
        return None
    release = as_proved(release)
    certifier = Certifier(release.statements, limits)
    proof = certifier.prove(NoWorld())
    if isinstance(proof, Removals):
        proof = certifier.trimmed([NoWorld()]).get(NoWorld())
    rooted = certifier.rooted({NoWorld(): proof})[NoWorld()]
    return None if rooted is None else certificate_json(release, certifier.fingerprint, {"worlds": 0}, rooted)


def world_certificate(release: EncodedRelease, world: World, limits: Limits | None) -> Json | None:
    """Return the certificate that a world is the only one, None where no proof was found."""
    if refuted(release):
        return None
    release = as_proved(release)
    certifier = Certifier(release.statements, limits)
    indices, back = np.unique(world.inner.values, axis=0, return_inverse=True)
    times = np.zeros(len(indices), dtype=np.int64)
    np.add.at(times, back.reshape(-1), world.inner.times)
    claimed = only_world(release, indices, times)
    proof = certifier.rooted({claimed: certifier.prove(claimed)})[claimed]
    if proof is None:
        return None
    columns = [a.name for a in release.domain.all]
    rows = [[json_value(a.value(int(i))) for a, i in zip(release.domain.all, row, strict=True)] for row in indices]
    claim = {"only_world": {"columns": columns, "rows": rows, "times": times.tolist()}}
    return certificate_json(release, certifier.fingerprint, claim, proof)


def all_of_it(release: EncodedRelease, limits: Limits | None) -> Json | None:
    """Return the certificate that a release with a single possible world has no other; None where not proved."""
    world = next(ask(release.statements, MostLikely(), WorldsAnswer, limits).worlds)
    return world_certificate(release, wrap(release, world), limits)


def profiles_json(release: EncodedRelease, frame: pd.DataFrame) -> list[Json]:
    """Return every profile as an object column -> value, cells of CSV files as the values they stand for."""
    domain, text = release.domain, bool(frame.attrs.get("text"))
    out: list[Json] = [{} for _ in range(len(frame))]
    for i, name in enumerate(map(str, frame.columns)):
        attribute = domain.all[domain.place[name]] if name in domain.place else Categorical(name, (0, 1))
        for row, cell in enumerate(frame.iloc[:, i].tolist()):
            if missing(cell):
                continue
            value = from_text(cell, attribute) if text and isinstance(cell, str) else cell
            out[row][name] = json_value(value)
    return out


def json_value(value: Any) -> Any:
    """Return a value as JSON has it; exact numbers of other types become whole numbers or floats."""
    found = value.item() if isinstance(value, np.generic) else value
    return plain_number(Fraction(found)) if isinstance(found, Fraction | Decimal) else found


def store_certificate(certificate: Json, folder: str, name: str, seen_from: str) -> Json:
    """Write a certificate to FOLDER/NAME.json.gz and return what names it: its claim, the file and its checksum.

    The file is named as seen from the folder `seen_from`, where the result goes.
    """
    path = Path(folder) / f"{name}.json.gz"
    text = json.dumps(certificate, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = gzip.compress(text.encode("utf-8", "surrogatepass"), mtime=0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(f"cannot be written: {error.strerror or error}", file=str(path)) from None
    with writing(str(path), private=True, binary=True) as file:  # some list the rows of a possible world
        file.write(data)
    left_out = ("known", "adversary", "assumptions", "proof", "seal")
    named = {key: value for key, value in certificate.items() if key not in left_out}
    if "only_world" in named["claim"]:
        named["claim"] = {"only_world": None}
    return {**named, "file": os.path.relpath(path, seen_from or "."), "sha256": hashlib.sha256(data).hexdigest()}
