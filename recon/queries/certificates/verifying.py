"""`recon verify`: every certificate in a result, re-checked from the release alone with no solver.

Reads what `audit`, `certify`, `count`, `reconstruct --json` wrote, or a single certificate; executes nothing of it.
What a result says beside its certificates (a verdict, the rows of a reconstruction) must be what they claim.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from encoders.encode.encoder import EncodedRelease
from encoders.models.related import RelatedDataSets
from recon.io.files.named_files import MAX_FILES, named_file, read_regular
from recon.io.files.opening import read_whole
from recon.queries.answers.compared import split_answers
from recon.queries.certificates.agreement import VerifiedClaim, agreement, contradicted, is_audit
from recon.queries.certificates.aligning import ORDER, check_aligned
from recon.queries.certificates.certificate_format import (
    SHARING,
    VALUES,
    VERSION,
    Boxes,
    Json,
    boxes_of,
    claim_of,
    claim_text,
    digest,
    level_of,
    profiles_in,
    seal_of,
    stated_relations,
    with_steps,
)
from recon.readers.formats.release.reading import related_of, strict_json
from recon.readers.loading.adversary import Knows, adversary_of
from recon.readers.loading.known_positions import Table, with_known_positions
from recon.readers.loading.loading import Released, release_of
from solvers.foundation.displayed import LINES, Displayed, DisplayFacts
from solvers.foundation.errors import CertificateError, NotVerified, ReleaseError
from solvers.foundation.limits import Limits
from solvers.kernel.checker import Verifier
from solvers.kernel.claims import AnyProof, LeafValues, NoWorld, Removals
from solvers.kernel.proof_format import (
    MAX_MODELS,
    keys,
    leaf_steps,
    number,
    printable,
    proof_from,
    quoted,
    text,
)

COMMON = {"recon_certificate", "release_files", "release_sha256", "statements_sha256", "claim"}
CONTENT = COMMON | {"assumptions", "proof", "seal"}
BESIDE = {"known", "related", "adversary"}  # what no file of the release says
NAMED = COMMON | {"file", "sha256"}
LEVEL: dict[int, set[str]] = {1: set(), 2: {"confidence"}}  # what each format adds


@dataclass(frozen=True)
class CheckedCertificate:
    """One certificate: where it stands, what it claims in words, by which kind of proof; `error` "" if verified.

    `open`: a limit ended the check, the certificate may be right. `confidence`: below 1, the claim holds where all
    noise lies within its joint intervals at that level.
    """

    place: str
    claim: str
    kind: str
    error: str = ""
    open: bool = False
    confidence: float = 1.0


@dataclass(frozen=True, repr=False)
class Verification(Displayed):
    """What became of a result: its certificates, and its claims that none of them proves (`bare`).

    `release` and `sha256` say which release it was checked against; `unchecked` are keys of the result whose values
    never have a proof, such as probabilities.
    """

    checked: tuple[CheckedCertificate, ...]
    bare: tuple[str, ...]
    assumptions: tuple[str, ...]
    inconsistent: tuple[str, ...] = ()
    release: str = ""
    sha256: str = ""
    unchecked: tuple[str, ...] = ()

    def _facts(self) -> DisplayFacts:
        figures = ("verified", len(self.verified)), ("rejected", len(self.rejected)), ("unsettled", len(self.unsettled))
        pairs = [
            ("release", self.release),
            ("SHA-256", self.sha256),
            ("claims without a proof", len(self.bare)),
            *figures,
        ]
        lines = [(c.place, c.claim, c.error or "verified") for c in self.checked[:LINES]]
        line = ", ".join(f"{n:,} {word}" for word, n in figures)
        return DisplayFacts(
            line, pairs, ("place", "claim", "result"), lambda: lines, len(self.checked), self.assumptions
        )

    def to_dict(self) -> Json:
        """Return the verification as an object ready for JSON."""
        return {
            "release": self.release,
            "release_sha256": self.sha256 or None,
            "verified": len(self.verified),
            "rejected": [{"place": c.place, "claim": c.claim, "reason": c.error} for c in self.rejected],
            "unsettled": [{"place": c.place, "claim": c.claim, "reason": c.error} for c in self.unsettled],
            "inconsistent": list(self.inconsistent),
            "not_certified": list(self.bare),
            "not_checked": list(self.unchecked),
            "certificates": [
                {"place": c.place, "claim": c.claim, "kind": c.kind, "confidence": c.confidence} for c in self.verified
            ],
            "assumptions": list(self.assumptions),
        }

    @property
    def rejected(self) -> tuple[CheckedCertificate, ...]:
        """Return the certificates that do not hold."""
        return tuple(c for c in self.checked if c.error and not c.open)

    @property
    def verified(self) -> tuple[CheckedCertificate, ...]:
        """Return the certificates that hold."""
        return tuple(c for c in self.checked if not c.error)

    @property
    def unsettled(self) -> tuple[CheckedCertificate, ...]:
        """Return the certificates whose check met a limit."""
        return tuple(c for c in self.checked if c.open)


def read_result(path: str, memory: int) -> Any:
    """Return the JSON of a result file (.json, or compressed); `ReleaseError` for whatever is none or too large."""
    try:
        return _json_of(read_whole(path), memory)
    except ReleaseError as error:
        raise error.at(file=path) from None


def _json_of(data: bytes, memory: int) -> Any:
    """Return the JSON in the bytes of a file, also compressed ones; `ReleaseError` for none, or one too large."""
    try:
        whole = _decompressed(data, memory) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        raise ReleaseError(f"cannot be unpacked: {error}") from None
    if whole is None or len(data) > memory:
        raise ReleaseError(f"is larger than the {memory >> 20:,} MB that --memory allows")
    try:
        return strict_json(whole.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ReleaseError("is not text in UTF-8") from None


def _decompressed(data: bytes, memory: int) -> bytes | None:
    """Return decompressed bytes, None where they are more than `memory`."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        out = file.read(memory + 1)
    return None if len(out) > memory else out


def certificates_in(data: Any, place: str = "") -> Iterator[tuple[str, Json]]:
    """Yield every object that is a certificate, with its place; nothing inside one is looked at."""
    stack = [(place, data)]
    while stack:
        where, found = stack.pop()
        if isinstance(found, dict):
            if "recon_certificate" in found:
                yield where or "the certificate", found
                continue
            inner = [(key, value) for key, value in reversed(found.items()) if key not in VALUES]
            stack += [(f"{where}.{key}" if where else str(key), value) for key, value in inner]
        elif isinstance(found, list):
            stack += [(f"{where}[{i}]", value) for i, value in reversed(list(enumerate(found)))]


def verify(
    data: Any,
    release: Released,
    limits: Limits | None = None,
    folder: str = ".",
    certificates: str | None = None,
    known: Table | None = None,
    adversary: Knows | None = None,
) -> Verification:
    """Return whether each certificate in a result about a release holds (`data`: the JSON as it was read).

    Raises nothing for a certificate that does not hold: its `error` says why. Files that certificates name are
    opened in `folder` and `certificates`, nowhere else. `known`: the table of `recon.positions`; `adversary`:
    what the answers for an adversary in the result rest on (`_adversary`). Cost: the cells of the
    release are walked once; then linear in the length of the proofs.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> line = recon.certify(release, [{"smoker": 0, "ill": 1}]).iloc[0]
    >>> recon.verify(line["certificate"], release)
    <Verification: 1 verified, 0 rejected, 0 unsettled>
    """
    release = release_of(release, limits)
    if known is not None:
        release = with_known_positions(release, known)
    nobody, theirs = split_answers(data)
    if adversary is None and theirs is None:
        return _verify_one(data, release, limits, folder, certificates)
    whose = release if adversary is None else adversary_of(adversary).beside(release, None, limits)
    if adversary is not None and theirs is None:
        return _verify_one(data, whose, limits, folder, certificates)
    first, second = (
        _verify_one(part, one, limits, folder, certificates) for part, one in ((nobody, release), (theirs, whose))
    )
    return _joined_verification(first, second)


def _joined_verification(nobody: Verification, adversary: Verification) -> Verification:
    """Return what became of the answers for nobody, and of those for an adversary, together."""
    theirs = (replace(one, place=f"{one.place} (adversary)") for one in adversary.checked)
    bare, wrong = ([f"adversary: {line}" for line in some] for some in (adversary.bare, adversary.inconsistent))
    return Verification(
        (*nobody.checked, *theirs), (*nobody.bare, *bare), tuple(dict.fromkeys((*nobody.assumptions,
        *adversary.assumptions))), (*nobody.inconsistent, *wrong), nobody.release, nobody.sha256,
        tuple(dict.fromkeys((*nobody.unchecked, *adversary.unchecked))),
    )  # fmt: skip


def _verify_one(
    data: Any, release: EncodedRelease, limits: Limits | None, folder: str, certificates: str | None
) -> Verification:
    """Return what became of every certificate in a result about one release; see `verify`."""
    limits = limits or Limits()
    readings, checked = Readings(release, limits), []
    release, levels = readings.at(Fraction(1))[0], set()
    folders = certificate_folders(folder, certificates)
    found = [(place, one, *_opened_or_not(one, folders, limits.memory)) for place, one in certificates_in(data)]
    readings.steps = _shared_steps(whole for _, _, whole, _ in found)
    places = _profile_boxes([whole for _, _, whole, _ in found], release)
    for (place, one, whole, error), boxes in zip(found, places, strict=True):
        limits.report(f"verifying {place}")
        claim, level = ((one if whole is None else whole).get(key, 1) for key in ("claim", "confidence"))
        reason, limit = (error, False) if whole is None else _refusal(whole, readings, boxes)
        if whole is not None and not reason:
            levels.add(level_of(whole))
        sure = 1.0 if reason or whole is None else _in_floats(level_of(whole))
        checked.append(CheckedCertificate(place, claim_text(claim, level), _kind_of(whole or one), reason, limit, sure))
    claims = {place: (one if whole is None else whole).get("claim") for place, one, whole, _ in found}
    verified = {c.place: VerifiedClaim(claims[c.place] or {}, c.confidence) for c in checked if not c.error}
    agreed = agreement(data, claims, verified, release)
    assumed = [ORDER] if any("aligned" in one.claim for one in verified.values()) else []
    assumed += [text for at in sorted(levels or {Fraction(1)}) for text in readings.at(at)[0].assumptions]
    about = release.file, release.sha256, tuple(agreed.unchecked)
    return Verification(
        tuple(checked), tuple(agreed.unproved), tuple(dict.fromkeys(assumed)),
        (*_of_another(data, release), *agreed.wrong), *about,
    )  # fmt: skip


def _in_floats(level: Fraction) -> float:
    """Return a confidence as a float, 1 only where it is 1: what is proved at less is never proved for certain."""
    return 1.0 if level == 1 else min(float(level), math.nextafter(1.0, 0.0))


class Readings:
    """The release as it is read at each confidence that certificates name, and who checks claims about it."""

    def __init__(self, release: EncodedRelease, limits: Limits) -> None:
        self.release, self.limits = release, limits
        self.known: dict[Fraction, tuple[EncodedRelease, Verifier]] = {}
        self.steps: dict[str, Any] = {}
        self._read: dict[tuple[str, str], Any] = {}

    def at(self, level: Fraction) -> tuple[EncodedRelease, Verifier]:
        """Return both at a confidence; `CertificateError` below 1 where no noise is unbounded."""
        if level != 1 and self.release.certain:
            raise CertificateError(
                "it claims at a confidence what holds for certain or not at all: no noise is unbounded"
            )
        if level not in self.known:
            found = self.release.at_confidence(level)
            self.known[level] = found, Verifier(found.statements, self.limits)
        return self.known[level]

    def proof(self, data: Any, depth: int = 0) -> AnyProof:
        """Return a proof, also one whose steps stand in another certificate of the same result; those are read once."""
        kind = data.get("kind") if isinstance(data, dict) else None
        if kind not in SHARING:
            return proof_from(data)
        known = {"kind", "steps"} if kind == "removals" else {"kind", "steps", "model", "last"}
        if "shared" in data:
            keys(data, known - {"steps"} | {"shared"}, "proof")
            if (name := text(data["shared"], "proof.shared")) not in self.steps:
                raise CertificateError("its steps are those of another certificate, which this result does not hold")
        elif not isinstance(data.get("steps"), list) or (name := digest(data["steps"])) not in self.steps:
            return proof_from(data, depth)
        if (kind, name) not in self._read:
            steps = self.steps[name]
            self._read[kind, name] = (
                proof_from({"kind": kind, "steps": steps}) if kind == "removals" else leaf_steps(steps)
            )
        found = self._read[kind, name]
        if isinstance(found, Removals):
            return found
        keys(data, known if "steps" in data else known - {"steps"} | {"shared"}, "proof")
        if depth >= MAX_MODELS:
            raise CertificateError(f"proof.last is of more than {MAX_MODELS} boosted models")
        return LeafValues(number(data["model"], "proof.model"), found, self.proof(data["last"], depth + 1))


def _shared_steps(certificates: Iterable[Json | None]) -> dict[str, Any]:
    """Return the steps that certificates may share, by their SHA-256."""
    out, seen = {}, set()
    for one in certificates:
        for proof in with_steps(None if one is None else one.get("proof")):
            steps = proof["steps"]
            if id(steps) not in seen:
                seen.add(id(steps))
                with suppress(TypeError, ValueError, RecursionError):  # what JSON cannot hold has no name
                    out[digest(steps)] = steps
    return out


def certificate_folders(folder: str, certificates: str | None) -> tuple[str, ...]:
    """Return the folders in which files that a result names may stand."""
    return (folder,) if certificates is None else (folder, certificates)


def _opened_or_not(found: Json, folders: Sequence[str], memory: int) -> tuple[Json | None, str]:
    """Return a certificate, or None and why it cannot be read."""
    try:
        return open_certificate(found, folders, memory), ""
    except (CertificateError, ReleaseError) as error:
        return None, str(error)
    except (MemoryError, OSError, TypeError, ValueError) as error:
        return None, f"it is malformed ({type(error).__name__})"
    except RecursionError:
        return None, "it is nested too deeply to be a certificate"


def _profile_boxes(certificates: list[Json | None], release: EncodedRelease) -> list[Boxes | None]:
    """Return the boxes of each certificate's profile, all found at once; None where there is none to be found."""
    try:
        asked = [profiles_in(c["claim"]) if c is not None else [] for c in certificates]
        found = iter(boxes_of([profile for one in asked for profile in one], release))
        return [next(found) if one else None for one in asked]
    except (CertificateError, ReleaseError):
        return [None] * len(certificates)  # one of them cannot be read: each is looked at by itself


def _refusal(found: Json, readings: Readings, boxes: Boxes | None) -> tuple[str, bool]:
    """Return why a certificate does not hold ("" where it does), and whether that is only a limit that was met."""
    if readings.limits.expired():
        return "not verified: the time was up", True
    try:
        _check(found, readings, boxes)
    except (CertificateError, ReleaseError) as error:
        return str(error), isinstance(error, NotVerified)
    except RecursionError:
        return "it is nested too deeply to be a certificate", False
    except MemoryError:
        return "not verified: out of memory", True
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # what no check foresaw is no proof either
        return f"it is malformed ({type(error).__name__})", False
    return "", False


def named_files(data: Any, result: str, folders: Sequence[str]) -> list[str]:
    """Return the release files that a result names, inside the folders; `ReleaseError` where one is not there."""
    first = next((c for _, c in certificates_in(data)), None)
    if first is None and not is_audit(data):
        message = "holds no certificate: give what certify, reconstruct, audit or count --json wrote"
        raise ReleaseError(message, file=result)
    names = _audited_files(data) if first is None else first.get("release_files")
    if not isinstance(names, list) or not 0 < len(names) <= MAX_FILES:
        raise ReleaseError("it names no release file: recon verify RESULT FILE...", file=result)
    try:
        return [named_file(name, folders) for name in names]
    except CertificateError as error:
        message = f"the release cannot be opened: {error}; give the release's files: recon verify RESULT FILE..."
        raise ReleaseError(message, file=result) from None


def _audited_files(data: Any) -> list[Any]:
    """Return the files that an audit was of, as it names them, [] where it does not."""
    about = data.get("audited")
    files = about.get("files") if isinstance(about, dict) else None
    return [one.get("file") for one in files if isinstance(one, dict)] if isinstance(files, list) else []


def _of_another(data: Any, release: EncodedRelease) -> list[str]:
    """Return in one line that an audit is about another release, [] where it is not or does not say."""
    said = data.get("release_sha256") if is_audit(data) else None
    if not said or not release.sha256 or said == release.sha256:
        return []
    return [f"release_sha256: the audit is about another release (SHA-256 {quoted(said)})"]


def relations_in(data: Any, result: str) -> RelatedDataSets | None:
    """Return how a result says that its files are related, from which the types of rows are derived anew; None: not.

    `ReleaseError` where two certificates do not say the same, or something that cannot hold.
    """
    stated = [one["related"] for _, one in certificates_in(data) if "related" in one]
    if any(one != stated[0] for one in stated):
        raise ReleaseError("its certificates rest on data sets that are related in two ways", file=result)
    try:
        return related_of(stated[0]) if stated else None
    except ReleaseError as error:
        raise error.at(place="related", file=result) from None


def open_certificate(found: Json, folders: Sequence[str], memory: int) -> Json:
    """Return a certificate, read from the file in one of the folders that it names if it is not inline."""
    version = found["recon_certificate"]
    if isinstance(version, bool) or not isinstance(version, int):
        raise CertificateError(f"recon_certificate is {quoted(version)}, not a version")
    if version < 1:
        raise CertificateError(f"recon_certificate is {printable(version)}: there never was such a format")
    if version > VERSION:
        raise CertificateError(
            f"it is written in format {printable(version)}, this version of recon reads up to {VERSION}"
        )
    if "file" not in found:
        keys(found, CONTENT | LEVEL[version] | (BESIDE & set(found)), "the certificate")
        return found
    keys(found, NAMED | LEVEL[version] | ({"related"} & set(found)), "the certificate")
    data, name = read_regular(named_file(found["file"], folders), memory), quoted(found["file"])
    if hashlib.sha256(data).hexdigest() != found["sha256"]:
        raise CertificateError(f"the file {name} is not the one that was written with the result")
    try:
        whole = _json_of(data, memory)
        keys(whole, CONTENT | LEVEL[version] | (BESIDE & set(whole)), "the certificate")
    except (CertificateError, ReleaseError):
        raise CertificateError(f"the file {name} holds no certificate") from None
    same = ("recon_certificate", *LEVEL[version], "release_sha256", "statements_sha256")
    claims = whole["claim"], found["claim"]
    same += ("related",) if "related" in {*whole, *found} else ()
    if any(whole.get(key) != found.get(key) for key in same) or (
        claims[0] != claims[1] and claims[1] != {"only_world": None}
    ):
        raise CertificateError(f"the file {name} certifies something else")
    return dict(whole)


def _check(found: Json, readings: Readings, boxes: Boxes | None) -> None:
    """Check one certificate; raises `CertificateError` with the reason it does not hold."""
    release, verifier = readings.at(level_of(found))
    try:
        seal = seal_of(found)
    except (TypeError, ValueError) as error:
        raise CertificateError(f"it holds what JSON cannot hold ({error})") from None
    if found["seal"] != seal:
        raise CertificateError("its seal is broken: it was changed after it was written")
    if release.sha256 and found["release_sha256"] is not None and found["release_sha256"] != release.sha256:
        other = f"SHA-256 {quoted(found['release_sha256'])}, several files in the order in which they were given"
        raise CertificateError(f"it is about another release ({other})")
    known, given = found.get("known"), None if release.beside is None else release.beside.to_dict()
    if known is not None and given is None:
        wanted = known.get("sha256") if isinstance(known, dict) else None
        raise CertificateError(
            f"it rests on what is known of rows by position: give verify that table, SHA-256 {quoted(wanted)} (--known)"
        )
    if {**(given or {}), "file": ""} != {**(known or {}), "file": ""}:
        raise CertificateError(
            "it does not rest on the table of --known: leave that out" if known is None else
            f"it rests on another table of what is known, SHA-256 {quoted(known.get('sha256'))} (--known)"
        )  # fmt: skip
    _check_adversary(found.get("adversary"), release)
    if found.get("related") != stated_relations(release).get("related"):
        raise CertificateError("it rests on data sets that are related otherwise than those of the release")
    if found["statements_sha256"] != verifier.facts.fingerprint:
        how = (
            "give verify the same files, --domain, --rows and --known-columns"
            if found["release_sha256"] == release.sha256
            else "another release"
        )
        raise CertificateError(f"it is about other statements or another domain than this release: {how}")
    placed = isinstance(found["claim"], dict) and "aligned" in found["claim"]
    if found["assumptions"] != [*([ORDER] if placed else []), *release.assumptions]:
        raise CertificateError("it assumes something else than this release does")
    if placed:
        check_aligned(found["claim"], readings.proof(found["proof"]), release, readings.limits)
        return
    claim = claim_of(found["claim"], release, boxes)
    if isinstance(claim, NoWorld) and (why := contradicted(release)):
        raise CertificateError(f"that no data set fits a model file proves nothing about it: {why}")
    verifier.verify(claim, readings.proof(found["proof"]))


def _check_adversary(stated: Any, release: EncodedRelease) -> None:
    """Raise `CertificateError` where a certificate rests on other knowledge of an adversary than the release does."""
    wanted = stated.get("sha256") if isinstance(stated, dict) else None
    if stated is not None and release.knowledge is None:
        message = "it rests on what an adversary knows: give verify that file"
        raise CertificateError(f"{message}, SHA-256 {quoted(wanted)} (--adversary)")
    if stated is None and release.knowledge is not None:
        raise CertificateError("it does not rest on what the adversary of --adversary knows: leave that out")
    if release.knowledge is not None and wanted != release.knowledge.sha256:
        raise CertificateError(f"it rests on what another adversary knows, SHA-256 {quoted(wanted)} (--adversary)")


def _kind_of(found: Any) -> str:
    """Return the kind of a certificate's proof as far as it can be told."""
    proof = found.get("proof") if isinstance(found, dict) else None
    kind = proof.get("kind") if isinstance(proof, dict) else None
    return kind if isinstance(kind, str) else ""
