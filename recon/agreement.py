"""Whether a result says what its certificates claim: verdicts, profiles, and the rows of a reconstruction.

A certificate that holds proves its own claim. What stands beside it in a file was written by somebody, and may have
been changed since.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from encoders.encoder import EncodedRelease
from recon.selections import raw_indices
from recon.statements import VALUES, Json, claim_text
from solvers.errors import ReleaseError
from solvers.numbers import level_text

WANTED: dict[str, Json | None] = {
    "certain": {"at_least": 1},
    "impossible": {"at_most": 0},
    "possible": None,
    "unknown": None,
}


def agreement(
    data: Any, claims: dict[str, Any], release: EncodedRelease, levels: dict[str, float]
) -> tuple[list[str], list[str]]:
    """Return the places of results without a certificate, and what does not agree with its certificate.

    `claims` are the claims of the certificates by their places, `levels` the confidences at which they hold.
    """
    bare: list[str] = []
    wrong: list[str] = []
    for place, line in objects_in(data):
        proof = f"{place}.certificate" if place else "certificate"
        said = claims.get(proof)
        here = place or "the whole result"
        found: list[str] | None = []
        if "verdict" in line:
            found = of_verdict(line, said)
        elif "unique" in line:
            found = of_reconstruction(line, said, release)
        elif "status" in line:
            found = of_count(line, said)
        if found is None:
            bare.append(here)
        elif found == [] and said is not None and not supported(line, levels.get(proof, 1.0)):
            wrong.append(f"{here}: its certificate holds only at confidence {level_text(levels[proof])}")
        else:
            wrong += [f"{here}: {text}" for text in found]
    return bare, wrong


def objects_in(data: Any) -> Iterator[tuple[str, Json]]:
    """Yield every object that may be a result, with its place: what holds values of attributes is none."""
    stack = [("", data)]
    while stack:
        place, found = stack.pop()
        if isinstance(found, dict) and "recon_certificate" not in found:
            yield place, found
            inner = [(key, value) for key, value in found.items() if key not in VALUES]
            stack += [(f"{place}.{key}" if place else str(key), value) for key, value in inner]
        elif isinstance(found, list):
            stack += [(f"{place}[{i}]", value) for i, value in enumerate(found)]


def supported(line: Json, level: float) -> bool:
    """Tell whether a certificate at a confidence supports what is said: at this confidence, or at a lower one."""
    said = line.get("confidence", 1)
    return level >= (1 if isinstance(said, bool) or not isinstance(said, int | float) else said)


def of_verdict(line: Json, said: Any) -> list[str] | None:
    """Return what is wrong with a verdict; None where it should have a certificate and has none."""
    verdict = line["verdict"]
    if not isinstance(verdict, str) or verdict not in WANTED:
        return [f"{verdict!r} is no verdict"]
    wanted, below = WANTED[verdict], line.get("confidence", 1) != 1
    if verdict == "certain" and below:
        return ["the verdict is certain at a confidence below 1"]
    if said is None:
        return [] if wanted is None else None
    least = line.get("min_count")
    if verdict == "possible" and below and isinstance(least, int) and least >= 1:
        wanted = WANTED["certain"]  # rows are present at that confidence
    profile = line.get("profile_values", said.get("profile") if isinstance(said, dict) else None)
    if wanted is None or said != {"profile": profile, **wanted}:
        return [f"the verdict is {verdict}, its certificate says: {claim_text(said)}"]
    return []


def of_reconstruction(line: Json, said: Any, release: EncodedRelease) -> list[str] | None:
    """Return what is wrong with a reconstruction; None where it should have a certificate and has none."""
    unique, only = line["unique"], isinstance(said, dict) and "only_world" in said
    if unique is not None and not isinstance(unique, bool):
        return [f"unique is {unique!r}, not true, false or null"]
    if said is None:
        return None if unique else []
    if only != (unique is True):
        return [f"unique is {unique}, its certificate says: {claim_text(said)}"]
    return same_rows(line.get("rows"), said["only_world"], release)


def of_count(line: Json, said: Any) -> list[str] | None:
    """Return what is wrong with a count or an audit; None where it should have a certificate and has none."""
    none = line["status"] in ("unsat", "empty")
    if said is None:
        return None if none else []
    one = str(line.get("datasets", line.get("worlds"))) == "1"
    told = isinstance(said, dict) and (("worlds" in said) if none else (one and "only_world" in said))
    return [] if told else [f"status is {line['status']}, its certificate says: {claim_text(said)}"]


def same_rows(rows: Any, world: Any, release: EncodedRelease) -> list[str]:
    """Return what is wrong where the rows of a reconstruction are not those that its certificate lists."""
    if not isinstance(rows, list):
        return ["it has no rows to compare with its certificate"]
    if not isinstance(world, dict):
        return ["its certificate could not be read, so its rows were not compared"]
    try:
        listed = pd.DataFrame(world["rows"], columns=world["columns"], dtype=object)
        if sum(world["times"]) != len(rows):
            return ["the reconstruction has not as many rows as its certificate lists"]
        certified = np.repeat(raw_indices(release.domain, listed), world["times"], axis=0)
        given = raw_indices(release.domain, pd.DataFrame(rows, dtype=object))
    except (ReleaseError, KeyError, TypeError, ValueError) as error:
        return [f"the rows of the reconstruction cannot be read: {error}"]
    if sorted(map(tuple, certified.tolist())) != sorted(map(tuple, given.tolist())):
        return ["the rows of the reconstruction are not those that its certificate lists"]
    return []
