"""What a certificate says: its format, its seal, and its claim in the release's own words.

Needs no solver: `recon verify` reads certificates with this module, `recon.queries.certificates.issuing` writes them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease, confidence_level
from recon.readers.frames.selections import missing, raw_indices, select_frame
from solvers.foundation.displayed import quote
from solvers.foundation.errors import CertificateError, ReleaseError
from solvers.kernel.claims import AnyClaim, AtLeast, AtMost, NoWorld, OnlyWorld, Possible
from solvers.kernel.proof_format import entry, keys, number, printable, quoted
from solvers.statements.boxes import Box

VERSION = 2  # 2: at a confidence below 1, which is named; 1: whatever the noise
Json = dict[str, Any]
SHARING = ("removals", "leaf_values")  # kinds of proofs whose steps several certificates of a result can share
VALUES = ("rows", "profile_values", "regions", "truth")  # keys below which attributes, not results, have names


def seal_of(content: Json) -> str:
    """Return the SHA-256 of a certificate without its seal, written as JSON with sorted keys and no spaces.

    Of removals and leaf values it covers the SHA-256 of the steps, so that a certificate has one seal whether it holds
    its steps or names them.
    """
    return digest({key: value for key, value in naming_steps(content).items() if key != "seal"})


def stated_relations(release: EncodedRelease) -> Json:
    """Return how data sets are related where no file of the release says it, as a key of a certificate; else none."""
    related = release.related
    if related is None or not related.stated:
        return {}
    return {"related": related.to_json() | ({"fewest": True} if related.fewest else {})}


def digest(data: Any) -> str:
    """Return the SHA-256 of data written as JSON with sorted keys and no spaces."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def naming_steps(content: Json, names: Mapping[int, str] | None = None) -> Json:
    """Return a certificate whose proof names its steps (their SHA-256) in their place where others can share them.

    `names`: those of lists of steps that are known already, by the id of the list.
    """
    proof = content.get("proof")
    return {**content, "proof": _named_proof(proof, names or {})} if isinstance(proof, dict) else content


def _named_proof(proof: Json, names: Mapping[int, str], only: bool = False) -> Json:
    """Return a proof that names its steps, and those of the proof inside it; `only`: those that `names` has."""
    if proof.get("kind") not in SHARING:
        return proof
    out = dict(proof)
    if "steps" in out and (not only or id(out["steps"]) in names):
        steps = out.pop("steps")
        out["shared"] = names[id(steps)] if id(steps) in names else digest(steps)
    if isinstance(out.get("last"), dict):
        out["last"] = _named_proof(out["last"], names, only)
    return out


def sharing_steps(certificates: Sequence[Json | None]) -> list[Json | None]:
    """Return certificates of one result, equal steps held by the first of them and named by the others."""
    held: dict[int, str] = {}
    out: list[Json | None] = []
    for one in certificates:
        proof = None if one is None else one.get("proof")
        if one is None or not isinstance(proof, dict):
            out.append(one)
            continue
        out.append({**one, "proof": _named_proof(proof, held, only=True)})
        for inner in with_steps(proof):
            if id(inner["steps"]) not in held:
                held[id(inner["steps"])] = digest(inner["steps"])
    return out


def with_steps(proof: Any) -> Iterator[Json]:
    """Yield a proof, and those inside it, that hold steps which others can share."""
    while isinstance(proof, dict):
        if proof.get("kind") in SHARING and isinstance(proof.get("steps"), list):
            yield proof
        proof = proof.get("last")


SHOWN_PLACES = 10  # positions that a sentence lists
Boxes = tuple[Box, Box]  # the parts that a profile meets, and those that it holds entirely


def boxes_of(profiles: list[Json], release: EncodedRelease) -> list[Boxes]:
    """Return profiles as boxes of parts; raises `ReleaseError` for names and values that the domain does not have."""
    import pandas as pd

    names = {name for profile in profiles for name in profile}
    frame = pd.DataFrame(profiles, dtype=object) if names else pd.DataFrame(index=range(len(profiles)))
    return select_frame(release, frame).boxes()


def claim_of(claim: Any, release: EncodedRelease, known: Boxes | None = None) -> AnyClaim:
    """Return the claim that a certificate makes, over parts and cells; `known` are the boxes of its profile."""
    import pandas as pd

    from recon.queries.certificates.position_claims import row_location

    if not isinstance(claim, dict):
        raise CertificateError("the claim is not an object")
    if "profile" in claim:
        return _profile_claim(claim, known if known is not None else boxes_of(profiles_in(claim), release)[0])
    if "positions" in claim:
        return row_location(claim, release)
    if "worlds" in claim:
        keys(claim, {"worlds"}, "the claim")
        if number(claim["worlds"], "claim.worlds") != 0:
            raise CertificateError(f"claim.worlds is {claim['worlds']}: only that there is no world can be claimed")
        return NoWorld()
    world = entry(claim, "only_world", "the claim")
    keys(claim, {"only_world"}, "the claim")
    keys(world, {"columns", "rows", "times"}, "claim.only_world")
    if not all(isinstance(world[key], list) for key in ("columns", "rows", "times")):
        raise CertificateError("claim.only_world is not made of lists")
    if world["columns"] != [a.name for a in release.domain.all]:
        raise CertificateError("claim.only_world does not have the attributes of the domain")
    if not all(isinstance(row, list) and len(row) == len(world["columns"]) for row in world["rows"]):
        raise CertificateError("a row of claim.only_world does not have all attributes")
    frame = pd.DataFrame(world["rows"], columns=world["columns"], dtype=object)
    times = np.array([number(t, "claim.only_world.times") for t in world["times"]], dtype=object)
    return only_world(release, raw_indices(release.domain, frame), times)


def profiles_in(claim: Any) -> list[Json]:
    """Return the profile of a claim in a list; empty for claims about all rows."""
    if not isinstance(claim, dict) or "profile" not in claim:
        return []
    if not isinstance(claim["profile"], dict):
        raise CertificateError("the claim's profile is not an object")
    if any(missing(value) for value in claim["profile"].values()):
        raise CertificateError("the claim's profile has an empty value: what is open is left out of a profile")
    return [claim["profile"]]


def _profile_claim(claim: Json, boxes: Boxes) -> AnyClaim:
    """Return what is claimed about the rows that fit a profile."""
    if "at_most" in claim:
        keys(claim, {"profile", "at_most"}, "the claim")
        return AtMost(boxes[0], number(claim["at_most"], "claim.at_most"))
    if "possible" in claim:
        keys(claim, {"profile", "possible"}, "the claim")
        if claim["possible"] is not True:
            raise CertificateError("claim.possible is not true: only that a row is possible can be claimed")
        return Possible(boxes[0])
    keys(claim, {"profile", "at_least"}, "the claim")
    return AtLeast(boxes[1], number(claim["at_least"], "claim.at_least"))


def only_world(release: EncodedRelease, indices: NDArray[Any], times: NDArray[Any]) -> OnlyWorld:
    """Return the claim that these distinct rows, given by raw value indices, are the only possible world."""
    parts = [[cuts.part(int(i)) for cuts, i in zip(release.cut.cuts, row, strict=True)] for row in indices.tolist()]
    return OnlyWorld(tuple(map(tuple, parts)), tuple(int(t) for t in times))


def level_json(level: Fraction) -> float | str:
    """Return a confidence as JSON has it: a number where that is the same one, else a fraction in words."""
    return float(level) if Fraction(str(float(level))) == level else str(level)


def level_of(found: Json) -> Fraction:
    """Return the confidence at which a certificate claims: 1 in format 1; `CertificateError` for what is none."""
    if found["recon_certificate"] == 1:
        if "confidence" in found:
            raise CertificateError("a certificate of format 1 has no confidence")
        return Fraction(1)
    stated = entry(found, "confidence", "the certificate")
    if isinstance(stated, bool) or not isinstance(stated, int | float | str):
        raise CertificateError("its confidence is not a number")
    try:
        level = confidence_level(stated)
    except (ReleaseError, ValueError):
        raise CertificateError(f"its confidence {quote(printable(stated))} is not a number in (0, 1)") from None
    if level == 1:
        raise CertificateError("its confidence is 1: such certificates are of format 1")
    return level


def proof_word(found: Json) -> str:
    """Return how a certificate that holds is called: what holds only at a confidence is not certified, but proved."""
    return "certified" if found.get("confidence", 1) == 1 else "proved"


def claim_text(claim: Any, level: Any = 1) -> str:
    """Format a claim for people, with the confidence at which it holds where that is below 1."""
    return _words_of(claim) if level == 1 else f"at confidence {quote(printable(level))}, {_words_of(claim)}"


def _words_of(claim: Any) -> str:
    """Format a claim for people, whatever its confidence."""
    if not isinstance(claim, dict):
        return "nothing that can be read"
    if "only_world" in claim:
        return "there is exactly one possible training set"
    if "worlds" in claim:
        return "there is no possible training set"
    if "positions" in claim:
        listed = claim["positions"]
        many = f"{len(listed):,} rows" if isinstance(listed, list) else "nothing that can be read"
        of = f" of {quoted(claim['of'])}" if "of" in claim else ""
        return f"{many} of the training file{of}, by position, are where the claim says"
    if "aligned" in claim:
        said = claim["aligned"] if isinstance(claim["aligned"], dict) else {}
        left, came = (_places_of(said.get(key)) for key in ("left", "came"))
        return f"by position, {left} can have left and {came} come, and rows of both files are where the claim says"
    profile = claim.get("profile")
    tests = [f"{quote(k)} = {quote(printable(v))}" for k, v in profile.items()] if isinstance(profile, dict) else []
    who = f" has {' and '.join(tests)}" if tests else " exists"
    if "possible" in claim:
        return f"in some possible training set a row{who}"
    if claim.get("at_most") == 0:
        return f"no training row{who}"
    if claim.get("at_least") == 1:
        return f"some training row{who}"
    side, number = ("least", claim["at_least"]) if "at_least" in claim else ("most", claim.get("at_most"))
    return f"at {side} {quote(printable(number))} training rows {'have ' + ' and '.join(tests) if tests else 'exist'}"


def _places_of(listed: Any) -> str:
    """Format positions for people, the first few of many."""
    if not isinstance(listed, list):
        return "nothing that can be read"
    shown = ", ".join(quote(printable(one)) for one in listed[:SHOWN_PLACES]) + (
        ", ..." if listed[SHOWN_PLACES:] else ""
    )
    return f"{'positions' if len(listed) > 1 else 'position'} {shown}" if listed else "nobody"


def certified_lines(certificate: Json | None) -> list[str]:
    """Return what a certificate says, one line; it was verified before it got here.

    What holds only at a confidence over the noise is proved at it, and never called certified.
    """
    if certificate is None:
        return []
    text = claim_text(certificate["claim"], certificate.get("confidence", 1))
    return [f"{proof_word(certificate)} ({certificate['proof']['kind']}): {text}; recon verify re-checks it"]
