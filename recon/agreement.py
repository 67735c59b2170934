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
from recon.selections import odd_cells, raw_indices
from recon.statements import VALUES, Json, claim_text
from solvers.errors import ReleaseError
from solvers.numbers import level_text

WANTED: dict[str, Json | None] = {
    "certain": {"at_least": 1},
    "impossible": {"at_most": 0},
    "possible": None,
    "unknown": None,
}
STATUSES = ("exact", "bounds", "unsat", "empty", "unknown")


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
        said, level, here = claims.get(proof), levels.get(proof, 1.0), place or "the whole result"
        checks: list[list[str] | None] = []
        if "verdict" in line:
            checks.append(of_verdict(line, said, release))
        if "unique" in line:
            checks.append(of_reconstruction(line, said, release))
        if "status" in line or nothing_left(line):
            checks.append(of_count(line, said))
        found = [f"{here}: {text}" for one in checks for text in one or []]
        if None in checks:
            bare.append(here)
        elif checks and not found and said is not None and level < wanted_level(line):
            found = [f"{here}: its certificate holds only at confidence {level_text(level)}"]
        wrong += found
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


def wanted_level(line: Json) -> float:
    """Return the confidence that a certificate of a result must hold at; a contradiction is said for certain."""
    said = line.get("confidence", 1)
    whole = line.get("status") == "unsat" or isinstance(said, bool) or not isinstance(said, int | float)
    return 1.0 if whole else float(said)


def of_outside(line: Json, said: Any, release: EncodedRelease) -> list[str] | None:
    """Return what is wrong with the verdict that no row of the domain is like a profile, which the domain settles."""
    profile = line.get("profile_values")
    if not isinstance(profile, dict):
        return None
    try:
        odd = odd_cells(release, pd.DataFrame([profile], dtype=object))
    except ReleaseError as error:
        return [f"the verdict is outside, its profile cannot be read: {error}"]
    figures = [line.get("min_count"), line.get("max_count"), said]
    return [] if odd and figures == [None] * 3 else ["the verdict is outside, its profile is not"]


def of_verdict(line: Json, said: Any, release: EncodedRelease) -> list[str] | None:
    """Return what is wrong with a verdict; None where it should have a certificate and has none."""
    verdict = line["verdict"]
    if verdict == "outside":
        return of_outside(line, said, release)
    if not isinstance(verdict, str) or verdict not in WANTED:
        return [f"{verdict!r} is no verdict"]
    wanted, below = WANTED[verdict], line.get("confidence", 1) != 1
    least, most = line.get("min_count"), line.get("max_count")
    present = isinstance(least, int) and least >= 1
    if verdict == "certain" and below:
        return ["the verdict is certain at a confidence below 1"]
    if (verdict == "certain" and least == 0) or (verdict == "impossible" and isinstance(most, int) and most >= 1):
        return [f"the verdict is {verdict}, with {least} rows at least and {most} at most"]
    if verdict in {"possible", "unknown"} and present:
        if not below:
            return [f"the verdict is {verdict}, though there are {least} rows at least"]
        wanted = WANTED["certain"]  # rows are present at that confidence
    if said is None:
        return [] if wanted is None else None
    profile = line.get("profile_values", said.get("profile") if isinstance(said, dict) else None)
    if wanted is None or said != {"profile": profile, **wanted}:
        return [f"the verdict is {verdict}, its certificate says: {claim_text(said)}"]
    return [] if "profile_values" in line else None  # nobody can tell whose verdict it is


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


def nothing_left(line: Json) -> bool:
    """Tell whether a result says that there is no possible world."""
    return line.get("status") in ("unsat", "empty") or "0" in (str(line.get("worlds")), str(line.get("datasets")))


def of_count(line: Json, said: Any) -> list[str] | None:
    """Return what is wrong with a count or an audit; None where it should have a certificate and has none."""
    status, none = line.get("status"), nothing_left(line)
    if status not in STATUSES:
        return [f"{status!r} is no status"]
    if none and status not in ("unsat", "empty"):
        return [f"the status is {status}, though no world is left"]
    if said is None:
        return None if none else []
    one = str(line.get("datasets", line.get("worlds"))) == "1"
    told = isinstance(said, dict) and (("worlds" in said) if none else (one and "only_world" in said))
    return [] if told else [f"status is {status}, its certificate says: {claim_text(said)}"]


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
