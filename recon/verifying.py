"""`recon verify`: every certificate in a result, re-checked from the release alone with no solver.

Reads what `audit`, `certify`, `count`, `reconstruct --json` wrote, or a single certificate; executes nothing of it.
What a result says beside its certificates (a verdict, the rows of a reconstruction) must be what they claim.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from encoders.encoder import EncodedRelease
from recon.agreement import agreement
from recon.formats.release_file import strict_json
from recon.statements import (
    VALUES,
    VERSION,
    Boxes,
    Json,
    boxes_of,
    claim_of,
    claim_text,
    level_of,
    profiles_in,
    seal_of,
)
from solvers.certificate import Verifier
from solvers.claims import keys, proof_from
from solvers.errors import CertificateError, NotVerified, ReleaseError
from solvers.limits import Limits

COMMON = {"recon_certificate", "release_files", "release_sha256", "statements_sha256", "claim"}
CONTENT = COMMON | {"assumptions", "proof", "seal"}
NAMED = COMMON | {"file", "sha256"}
LEVEL: dict[int, set[str]] = {1: set(), 2: {"confidence"}}  # what each format adds


@dataclass(frozen=True)
class Checked:
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


@dataclass(frozen=True)
class Verification:
    """What became of a result: its certificates, and the places of verdicts that carry none.

    `release` and `sha256` say which release it was checked against.
    """

    checked: tuple[Checked, ...]
    bare: tuple[str, ...]
    assumptions: tuple[str, ...]
    inconsistent: tuple[str, ...] = ()
    release: str = ""
    sha256: str = ""

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
            "certificates": [
                {"place": c.place, "claim": c.claim, "kind": c.kind, "confidence": c.confidence} for c in self.verified
            ],
            "assumptions": list(self.assumptions),
        }

    @property
    def rejected(self) -> tuple[Checked, ...]:
        """Return the certificates that do not hold."""
        return tuple(c for c in self.checked if c.error and not c.open)

    @property
    def verified(self) -> tuple[Checked, ...]:
        """Return the certificates that hold."""
        return tuple(c for c in self.checked if not c.error)

    @property
    def unsettled(self) -> tuple[Checked, ...]:
        """Return the certificates whose check met a limit."""
        return tuple(c for c in self.checked if c.open)


def read_result(path: str, memory: int) -> Any:
    """Return the JSON of a result file (.json, or compressed); `ReleaseError` for whatever is none or too large."""
    try:
        data = Path(path).read_bytes() if os.path.getsize(path) <= memory else None
        if data is not None and data[:2] == b"\x1f\x8b":
            data = unpacked(data, memory)
    except (OSError, EOFError, zlib.error) as error:
        raise ReleaseError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=path) from None
    if data is None:
        raise ReleaseError(f"is larger than the {memory >> 20:,} MB that --memory allows", file=path)
    try:
        return strict_json(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ReleaseError("is not text in UTF-8", file=path) from None
    except ReleaseError as error:
        raise error.at(file=path) from None


def unpacked(data: bytes, memory: int) -> bytes | None:
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


def verify(data: Any, release: EncodedRelease, limits: Limits | None = None, folder: str = ".") -> Verification:
    """Return what became of every certificate in a result about a release.

    Raises nothing for a certificate that does not hold: its `error` says why. Files that certificates name are looked
    for in `folder`. Cost: the cells of the release are walked once; then linear in the length of the proofs.
    """
    limits = limits or Limits()
    readings, checked = Readings(release, limits), []
    release, levels = readings.at(Fraction(1))[0], set()
    found = [(place, one, *opened_or_not(one, folder, limits.memory)) for place, one in certificates_in(data)]
    known = profile_boxes([whole for _, _, whole, _ in found], release)
    for (place, one, whole, error), boxes in zip(found, known, strict=True):
        limits.report(f"verifying {place}")
        claim, level = ((one if whole is None else whole).get(key, 1) for key in ("claim", "confidence"))
        said, limit = (error, False) if whole is None else refusal(whole, readings, boxes)
        if whole is not None and not said:
            levels.add(level_of(whole))
        sure = 1.0 if said else float(Fraction(level))
        checked.append(Checked(place, claim_text(claim, level), kind_of(whole or one), said, limit, sure))
    claims = {place: (one if whole is None else whole).get("claim") for place, one, whole, _ in found}
    bare, wrong = agreement(data, claims, release, {c.place: c.confidence for c in checked})
    assumed = dict.fromkeys(text for at in sorted(levels or {Fraction(1)}) for text in readings.at(at)[0].assumptions)
    return Verification(tuple(checked), tuple(bare), tuple(assumed), tuple(wrong), release.file, release.sha256)


class Readings:
    """The release as it is read at each confidence that certificates name, and who checks claims about it."""

    def __init__(self, release: EncodedRelease, limits: Limits) -> None:
        self.release, self.limits = release, limits
        self.known: dict[Fraction, tuple[EncodedRelease, Verifier]] = {}

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


def opened_or_not(found: Json, folder: str, memory: int) -> tuple[Json | None, str]:
    """Return a certificate, or None and why it cannot be read."""
    try:
        return opened(found, folder, memory), ""
    except (CertificateError, ReleaseError) as error:
        return None, str(error)
    except RecursionError:
        return None, "it is nested too deeply to be a certificate"


def profile_boxes(certificates: list[Json | None], release: EncodedRelease) -> list[Boxes | None]:
    """Return the boxes of each certificate's profile, all found at once; None where there is none to be found."""
    try:
        asked = [profiles_in(c["claim"]) if c is not None else [] for c in certificates]
        found = iter(boxes_of([profile for one in asked for profile in one], release))
        return [next(found) if one else None for one in asked]
    except (CertificateError, ReleaseError):
        return [None] * len(certificates)  # one of them cannot be read: each is looked at by itself


def refusal(found: Json, readings: Readings, boxes: Boxes | None) -> tuple[str, bool]:
    """Return why a certificate does not hold ("" where it does), and whether that is only a limit that was met."""
    try:
        check(found, readings, boxes)
    except (CertificateError, ReleaseError) as error:
        return str(error), isinstance(error, NotVerified)
    except RecursionError:
        return "it is nested too deeply to be a certificate", False
    except MemoryError:
        return "not verified: out of memory", True
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # what no check foresaw is no proof either
        return f"it is malformed ({type(error).__name__})", False
    return "", False


def named_files(data: Any, result: str) -> list[str]:
    """Return the release files that a result names, as they are or beside it; `ReleaseError` where none is there."""
    first = next((c for _, c in certificates_in(data)), None)
    if first is None:
        message = "holds no certificate: give what certify, reconstruct, audit or count --json wrote"
        raise ReleaseError(message, file=result)
    names = first.get("release_files")
    found = []
    for name in names if isinstance(names, list) else []:
        places = (str(name), os.path.join(os.path.dirname(result), str(name)))
        found += [place for place in places if os.path.isfile(place)][:1]
    if not found or not isinstance(names, list) or len(found) != len(names):
        raise ReleaseError("it names no release file that is there: recon verify RESULT FILE...", file=result)
    return found


def opened(found: Json, folder: str, memory: int) -> Json:
    """Return a certificate, read from the file that it names if it is not inline."""
    version = found["recon_certificate"]
    if isinstance(version, bool) or not isinstance(version, int):
        raise CertificateError(f"recon_certificate is {version!r}, not a version")
    if version < 1:
        raise CertificateError(f"recon_certificate is {version}: there never was such a format")
    if version > VERSION:
        raise CertificateError(f"it is written in format {version}, this version of recon reads up to {VERSION}")
    if "file" not in found:
        keys(found, CONTENT | LEVEL[version], "the certificate")
        return found
    keys(found, NAMED | LEVEL[version], "the certificate")
    path = next((p for p in (Path(folder) / str(found["file"]), Path(str(found["file"]))) if p.is_file()), None)
    if path is None:
        raise CertificateError(f"the file {found['file']} that it names is not there")
    if path.stat().st_size > memory:
        raise CertificateError(f"the file {path} is larger than --memory allows")
    if hashlib.sha256(path.read_bytes()).hexdigest() != found["sha256"]:
        raise CertificateError(f"the file {path} is not the one that was written with the result")
    whole = read_result(str(path), memory)
    keys(whole, CONTENT | LEVEL[version], "the certificate")
    same = ("recon_certificate", *LEVEL[version], "release_sha256", "statements_sha256")
    claims = whole["claim"], found["claim"]
    if any(whole[key] != found[key] for key in same) or (claims[0] != claims[1] and claims[1] != {"only_world": None}):
        raise CertificateError(f"the file {path} certifies something else")
    return dict(whole)


def check(found: Json, readings: Readings, boxes: Boxes | None) -> None:
    """Check one certificate; raises `CertificateError` with the reason it does not hold."""
    release, verifier = readings.at(level_of(found))
    try:
        seal = seal_of(found)
    except (TypeError, ValueError) as error:
        raise CertificateError(f"it holds what JSON cannot hold ({error})") from None
    if found["seal"] != seal:
        raise CertificateError("its seal is broken: it was changed after it was written")
    if release.sha256 and found["release_sha256"] is not None and found["release_sha256"] != release.sha256:
        other = f"SHA-256 {found['release_sha256']}, several files in the order in which they were given"
        raise CertificateError(f"it is about another release ({other})")
    if found["statements_sha256"] != verifier.facts.fingerprint:
        how = (
            "give verify the same files, --domain and --rows"
            if found["release_sha256"] == release.sha256
            else "another release"
        )
        raise CertificateError(f"it is about other statements or another domain than this release: {how}")
    if found["assumptions"] != list(release.assumptions):
        raise CertificateError("it assumes something else than this release does")
    verifier.verify(claim_of(found["claim"], release, boxes), proof_from(found["proof"]))


def kind_of(found: Any) -> str:
    """Return the kind of a certificate's proof as far as it can be told."""
    proof = found.get("proof") if isinstance(found, dict) else None
    kind = proof.get("kind") if isinstance(proof, dict) else None
    return kind if isinstance(kind, str) else ""
