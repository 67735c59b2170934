"""Whether a result says what its certificates claim: verdicts, counts of rows, the rows of a reconstruction.

A certificate that holds proves its own claim. What stands beside it in a file was written by somebody, and may have
been changed since. Claims of a result are: no world (`status` unsat, `worlds` 0), the only world (`unique`), `datasets`
(`worlds` where it says the same), verdicts wherever they stand, `min_count` and `max_count`, what lines with a
`position` and an `attribute` say of it. Each needs a certificate
that was verified; what else stands there never has a proof, and its names are told.

What certificates cannot rest on: assumptions of a reader that the figures of a model file themselves contradict.

A model file says less than its reader has to assume: that no row was drawn, weighted or left out, that training was not
continued, that nothing was taken for missing, that this version of the library writes what others write. Where no data
set fits all figures, or leaf values refute counts, one of these is false: a proof from them proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.queries.certificates.certificate_format import VALUES, Json, claim_text
from recon.queries.certificates.position_claims import CHANGED, Positions
from recon.readers.frames.selections import odd_cells, raw_indices
from recon.readers.loading.settled import as_released
from solvers.engines.chain import NOT_USED
from solvers.foundation.errors import ReleaseError
from solvers.foundation.exact import level_text
from solvers.kernel.proof_format import printable, quoted

TABLES = "table of counts"  # how the format of published tables begins: nothing is assumed of a learner there
ALSO = "rows drawn or weighted, training continued, values taken for missing, or an unknown version of the library"
NAMED = 4  # assumptions named in a sentence


def contradicted(release: EncodedRelease) -> str:
    """Return which assumptions must be false where no data set fits a release, "" where none is a reader's."""
    release = as_released(release)
    read = [m.origin for m in release.models if m.origin is not None and m.origin.format]
    read = [origin for origin in read if not origin.format.startswith(TABLES)]
    if not read:
        return ""
    notes = list(dict.fromkeys(note.partition(" (")[0] for origin in read for note in origin.notes))
    shown = "; ".join(notes[:NAMED]) + ("; ..." if len(notes) > NAMED else "")
    formats = ", ".join(dict.fromkeys(origin.format for origin in read))
    which = f"assumed were: {shown}; not excluded are {ALSO}" if notes else f"not excluded are {ALSO}"
    joined = ", or the files are not of the same rows" if len(release.files) > 1 else ""
    return f"something that reading {formats} assumes is false, or the domain is{joined}: {which}"


def refuted(release: EncodedRelease) -> bool:
    """Return whether leaf values contradicted what their model was assumed to be: no verdict on it is certified."""
    return any(NOT_USED in line for line in release.statements.loosened)


WANTED: dict[str, Json | None] = {
    "certain": {"at_least": 1},
    "impossible": {"at_most": 0},
    "possible": {"possible": True},
    "unknown": None,
    "outside": None,
}
# Parts of an audit's document that say its figures again: for policies, how they were come by, beside other releases.
DERIVED = ("assessment", "how", "adds", "remedies", "adversary")
COUNTED = ("profiles.verdicts", "profiles.positions")  # the verdicts of the rows beside them, counted
STATUSES = ("exact", "bounds", "unsat", "empty", "unknown")
COUNTING = ("", "without_row_order")  # places of an audit's document where the number of datasets stands
SEVERAL = re.compile("[2-9]|[1-9][0-9]+")  # 2 or more, in decimal
KEYS = ("verdict", "unique", "status", "datasets", "worlds", "min_count", "max_count")  # where claims stand
NUMBERS = ("datasets", "worlds")
WORDS = ("certain", "impossible", "possible", "unsat")  # verdicts, under whatever key
TEXTS = frozenset(
    [
        "assumptions",
        "class",
        "classes",
        "columns",
        "conflict",
        "file",
        "files",
        "name",
        "names",
        "note",
        "notes",
        "of",
        "path",
        "place",
        "places",
        "trail",
        "value",
        "values",
        "violated",
        "what",
        "where",
        "why_bounds",
    ]
)  # keys below which our own results have names and values
LONGEST = 100  # characters of a verdict, blanks included
SHOWN = ("certificate", "proofs", "profile", "confidence", "profile_values")  # read with a claim


@dataclass(frozen=True)
class VerifiedClaim:
    """A certificate that was verified: its claim, and the confidence at which it holds."""

    claim: Json
    level: float


@dataclass
class Agreement:
    """What a result says: claims that nothing proves, claims that certificates refute, keys that nobody checked."""

    unproved: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    unchecked: dict[str, None] = field(default_factory=dict)


class ProvedFacts:
    """What the certificates that were verified prove, about the whole and by profile."""

    def __init__(self, held: list[VerifiedClaim], release: EncodedRelease) -> None:
        self.release = release
        self.none = max((h.level for h in held if "worlds" in h.claim), default=0.0)
        self.only = max((h.level for h in held if "only_world" in h.claim), default=0.0)
        placed = [(h.claim, h.level) for h in held if {"positions", "aligned"} & set(h.claim)]
        self.positions = Positions(placed, release)
        self.by_profile: dict[object, list[VerifiedClaim]] = {}
        for one in held:
            if "profile" in one.claim:
                self.by_profile.setdefault(_profile_key(one.claim["profile"]), []).append(one)

    def holds(self, profile: Any, wanted: Json, level: float) -> bool:
        """Return whether something is proved of a profile at a confidence.

        Bounds on every world hold where intervals are narrower, a world is possible where they are wider.
        """
        (side, k), rows = next(iter(wanted.items())), self.release.statements.rows
        if side != "possible" and self.none >= level:
            return True
        if (side == "at_least" and k <= 0) or (side == "at_most" and rows.high is not None and k >= rows.high):
            return True
        here = [h for h in self.by_profile.get(_profile_key(profile), []) if side in h.claim]
        if side == "possible":
            return any(h.level <= level for h in here)
        bounds = [h.claim[side] for h in here if h.level >= level]
        return any(bound >= k if side == "at_least" else bound <= k for bound in bounds)

    def refutes(self, profile: Any, side: str, k: int, level: float) -> str:
        """Return the proved claim by which no world has at least, or at most, so many rows; "" where there is none."""
        if self.none >= level:
            return ""
        other = "at_most" if side == "at_least" else "at_least"
        for held in self.by_profile.get(_profile_key(profile), []):
            if other in held.claim and held.level >= level:
                bound = held.claim[other]
                if bound < k if side == "at_least" else bound > k:
                    return claim_text(held.claim)
        return ""


def _profile_key(profile: Any) -> object:
    """Return what equal profiles share: 1, 1.0 and true are one value, as everywhere."""
    if not isinstance(profile, dict):
        return None
    try:
        return frozenset(profile.items())
    except TypeError:  # lists or objects are not values
        return None


def agreement(data: Any, claims: dict[str, Any], held: dict[str, VerifiedClaim], release: EncodedRelease) -> Agreement:
    """Return what agrees and what does not: `claims` of all certificates by their places, `held` those verified."""
    out, proved = Agreement(), ProvedFacts(list(held.values()), release)
    names = {*release.domain.place, *release.domain.columns}
    people = _given_people(data)
    for place, key, value in _everything(data, names):
        here = place or "the whole result"
        if (
            (part := re.split(r"[.\[]", place, maxsplit=1)[0]) in DERIVED
            or place.startswith(COUNTED)
            or place == "facts"
        ):
            out.unchecked[part] = None
        elif isinstance(value, dict) and place in COUNTING and is_audit(data) and _several_in(value):
            out.unchecked[next(key for key in NUMBERS if value.get(key) is not None)] = None
            if proved.only >= _wanted_level(value):
                out.wrong.append(
                    f"{here}: datasets {quoted(_datasets_in(value))}, but a certificate says: the only one"
                )
            rest = {key: one for key, one in value.items() if key not in NUMBERS or not _is_several(one)}
            _add_object(out, (place, here), rest, claims, held, proved)
        elif isinstance(value, dict):
            # there are the verdicts once more, of people who are told by position
            known = people.get(repr(value.get("position")), {}) if place.startswith("facts.profiles[") else {}
            _add_object(out, (place, here), known | value, claims, held, proved)
            out.unproved += [f"{here}: {quoted(key)}"] if value and _plain_key(key) in WORDS else []
        elif _hidden_claim(key, value):
            out.unproved.append(f"{here}: {quoted(value)}")
        elif key not in KEYS and key not in SHOWN:
            out.unchecked[key] = None
    return out


def is_audit(data: Any) -> bool:
    """Return whether a result is the document of an audit, which says figures that never have a proof."""
    return isinstance(data, dict) and type(data.get("audit")) is int


def _several_in(line: Json) -> bool:
    """Return whether an object says that several datasets fit: how many, no certificate can say."""
    return _is_several(_datasets_in(line))


def _is_several(value: Any) -> bool:
    """Return whether a number of datasets, as our own results write it, is 2 or more."""
    return isinstance(value, str) and SEVERAL.fullmatch(value) is not None


def _given_people(data: Any) -> dict[str, Json]:
    """Return the profiles of an audit's verdicts by their positions, as `profile_values`; {} where none is told."""
    told = data.get("profiles") if isinstance(data, dict) else None
    rows = told.get("rows") if isinstance(told, dict) else None
    found = [one for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []
    return {repr(x.get("position")): {"profile_values": x["profile_values"]} for x in found if "profile_values" in x}


def _everything(data: Any, names: set[str]) -> Iterator[tuple[str, str, Any]]:
    """Yield every object and every value outside certificates: its place, the last key above it, and itself.

    Values of attributes, which may be called like anything, are left out; an object is that only if all its keys are
    names of the domain.
    """
    stack: list[tuple[str, str, Any, bool]] = [("", "", data, False)]
    while stack:
        place, key, found, below = stack.pop()
        if isinstance(found, dict):
            if "recon_certificate" in found and not below:  # below values nobody takes it for a certificate
                continue
            if key in ("profile_values", "rows", "row") and set(found) <= names:
                continue
            yield place, key, found
            inner = [(f"{place}.{k}" if place else str(k), str(k), value) for k, value in reversed(found.items())]
            stack += [(*one, below or one[1] in VALUES) for one in inner]
        elif isinstance(found, list):
            stack += [(f"{place}[{i}]", key, value, below) for i, value in reversed(list(enumerate(found)))]
        else:
            yield place, key, found


@lru_cache(4_096)
def _plain_key(key: str) -> str:
    """Return a key as people read it."""
    return "_".join(key.strip().casefold().replace("-", " ").replace("_", " ").split())


def _hidden_claim(key: str, value: Any) -> bool:
    """Return whether a value says a verdict or count where no command of ours does: nobody compares it with a proof."""
    if value is None or value is False or value == "" or key in TEXTS:
        return False
    if _plain_key(key) in WORDS or (key not in KEYS and _plain_key(key) in KEYS):
        return True
    text = _plain_key(value) if isinstance(value, str) and len(value) < LONGEST else ""
    return text in WORDS and key not in ("verdict", "status")


def _add_object(
    out: Agreement,
    at: tuple[str, str],
    line: Json,
    claims: dict[str, Any],
    held: dict[str, VerifiedClaim],
    proved: ProvedFacts,
) -> None:
    """Add what an object says: `at` is its place, for certificates and for people."""
    place, here = at
    proof = f"{place}.certificate" if place else "certificate"
    claim, level = claims.get(proof), held[proof].level if proof in held else 1.0
    wrong, unproved = list[str](), list[str]()
    for found, what in (
        *([(_of_verdict(line, claim, proved), quoted(line["verdict"]))] if "verdict" in line else []),
        *([(_of_reconstruction(line, claim, proved.release), "the only world")] if "unique" in line else []),
        *([(_of_count(line, claim, proved), "no world")] if "status" in line or _nothing_left(line) else []),
        *((_of_bound(line, side, proved), f"{side} {quoted(line[side])}") for side in BOUNDS if side in line),
        *([(_of_position(line, proved), _position_text(line))] if "position" in line and "attribute" in line else []),
        *((proved.positions.of_changes(key, line[key]), key) for key in CHANGED if key in line),
        *((None, f"{key} {quoted(line.get(key))}") for key in NUMBERS if _unreadable(line.get(key))),
        *([(_of_datasets(line, proved), f"datasets {quoted(_datasets_in(line))}")] if _datasets_in(line) else []),
    ):
        wrong += found or []
        unproved += [what] if found is None else []
    settles = any(key in line for key in ("verdict", "unique", "status")) or _nothing_left(line)
    if settles and not wrong and claim is not None and level < _wanted_level(line):
        wrong = [f"its certificate holds only at confidence {level_text(level)}"]
    out.wrong += [f"{here}: {text}" for text in wrong]
    out.unproved += [f"{here}: {text}" for text in unproved]
    if "rows" in line and line.get("unique") is not True:
        out.unchecked["rows"] = None


def _wanted_level(line: Json) -> float:
    """Return the confidence that a certificate of a result must hold at; a contradiction is said for certain."""
    stated = line.get("confidence", 1)
    if line.get("status") == "unsat" or isinstance(stated, bool) or not isinstance(stated, int | float):
        return 1.0
    return float(stated) if 0 < stated <= 1 else 1.0  # what is no confidence lowers nothing


def _of_outside(line: Json, stated: Any, release: EncodedRelease) -> list[str] | None:
    """Return what is wrong with the verdict that no row of the domain is like a profile, which the domain settles."""
    profile = line.get("profile_values")
    if not isinstance(profile, dict):
        return None
    try:
        odd = odd_cells(release, pd.DataFrame([profile], dtype=object))
    except ReleaseError as error:
        return [f"the verdict is outside, its profile cannot be read: {error}"]
    figures = [line.get("min_count"), line.get("max_count"), stated]
    return [] if odd and figures == [None] * 3 else ["the verdict is outside, its profile is not"]


def _of_verdict(line: Json, stated: Any, proved: ProvedFacts) -> list[str] | None:
    """Return what is wrong with a verdict; None where it should have a certificate and has none."""
    verdict = line["verdict"]
    if verdict == "outside":
        return _of_outside(line, stated, proved.release)
    if not isinstance(verdict, str) or verdict not in WANTED:
        return [f"{quoted(verdict)} is not a verdict"]
    wanted, below = WANTED[verdict], line.get("confidence", 1) != 1
    minimum, maximum = line.get("min_count"), line.get("max_count")
    present = isinstance(minimum, int) and minimum >= 1
    if verdict == "certain" and below:
        return ["the verdict is certain at a confidence below 1"]
    if (verdict == "certain" and minimum == 0) or (
        verdict == "impossible" and isinstance(maximum, int) and maximum >= 1
    ):
        return [f"the verdict is {verdict}, with {quoted(minimum)} rows at least and {quoted(maximum)} at most"]
    if verdict in {"possible", "unknown"} and present:
        if not below:
            return [f"the verdict is {verdict}, though there are {minimum} rows at least"]
        wanted = WANTED["certain"]  # rows are present at that confidence
    profile = line.get("profile_values")
    if stated is not None:
        about = line.get("profile_values", stated.get("profile") if isinstance(stated, dict) else None)
        if wanted is None or stated != {"profile": about, **wanted}:
            return [f"the verdict is {verdict}, its certificate says: {claim_text(stated)}"]
    if wanted is None:
        return []
    settled = isinstance(profile, dict) and (stated is not None or proved.holds(profile, wanted, _wanted_level(line)))
    return [] if settled else None  # without a profile nobody can tell whose verdict it is


BOUNDS = {"min_count": "at_least", "max_count": "at_most"}


def _of_bound(line: Json, key: str, proved: ProvedFacts) -> list[str] | None:
    """Return what is wrong with a least or greatest number of rows; None where nothing proves it."""
    value, profile, level = line[key], line.get("profile_values"), _wanted_level(line)
    if value is None:
        return []
    digits = isinstance(value, str) and value.isdecimal() and len(value) <= 40
    if not digits and (isinstance(value, bool) or not isinstance(value, int)):
        return [f"{key} is {quoted(value)}, no whole number"]
    k = int(value)
    if isinstance(profile, dict) and (other := proved.refutes(profile, BOUNDS[key], k, level)):
        return [f"{key} is {k}, but a certificate says: {other}"]
    return [] if proved.holds(profile, {BOUNDS[key]: k}, level) else None


def _of_reconstruction(line: Json, stated: Any, release: EncodedRelease) -> list[str] | None:
    """Return what is wrong with a reconstruction; None where it should have a certificate and has none."""
    unique, only = line["unique"], isinstance(stated, dict) and "only_world" in stated
    if unique is not None and not isinstance(unique, bool):
        return [f"unique is {quoted(unique)}, not true, false or null"]
    if stated is None:
        return None if unique else []
    if only != (unique is True):
        return [f"unique is {unique}, its certificate says: {claim_text(stated)}"]
    return _same_rows(line.get("rows"), stated["only_world"], release)


def _of_position(line: Json, proved: ProvedFacts) -> list[str] | None:
    """Return what is wrong with what is said of a position and an attribute; None where nothing proves it."""
    level = _wanted_level(line)
    if proved.none >= level:
        return []
    found = [proved.positions.of_line(line, level)]
    if "position_after" in line and not found[0] and "rows" in line:
        found.append(proved.positions.of_group(line))
    wrong = [text for one in found for text in one or ()]
    return None if None in found and not wrong else wrong


def _position_text(line: Json) -> str:
    """Return what a line is about, for people."""
    return f"{quoted(line['attribute'])} of position {quoted(line['position'])}"


def _nothing_left(line: Json) -> bool:
    """Return whether a result says that there is no possible world."""
    return line.get("status") in ("unsat", "empty") or "0" in (
        printable(line.get("worlds")),
        printable(line.get("datasets")),
    )


def _of_count(line: Json, stated: Any, proved: ProvedFacts) -> list[str] | None:
    """Return what is wrong with a count or an audit; None where it should have a certificate and has none.

    A part of a result without a status of its own rests on the certificate of another part.
    """
    if line.get("status") is None and stated is None:
        return [] if not _nothing_left(line) or proved.none >= _wanted_level(line) else None
    status, none = line.get("status"), _nothing_left(line)
    if status not in STATUSES:
        return [f"{quoted(status)} is not a status"]
    if none and status not in ("unsat", "empty"):
        return [f"the status is {status}, though no world is left"]
    if stated is None:
        return None if none else []
    if not none and isinstance(stated, dict) and "positions" in stated and not {"datasets", "worlds"} & set(line):
        return []  # what is said of positions is compared line by line
    one = printable(line.get("datasets", line.get("worlds"))) == "1"
    right = isinstance(stated, dict) and (("worlds" in stated) if none else (one and "only_world" in stated))
    return [] if right else [f"status is {status}, its certificate says: {claim_text(stated)}"]


def _unreadable(number: Any) -> bool:
    """Return whether a number of datasets is written as no command of ours writes it, such as 0.0 or "00"."""
    if isinstance(number, str):
        return re.fullmatch("0|[1-9][0-9]*", number) is None
    return number is not None and type(number) is not int


def _datasets_in(line: Json) -> Any:
    """Return the number of datasets that an object says, None where it says none (0 is looked at by itself)."""
    if line.get("datasets") is not None:
        stated = line["datasets"]
    else:
        stated = line.get("worlds")
        if line.get("convention") != "multiset" and printable(stated) != "1":
            return None
    return None if printable(stated) == "0" else stated


def _of_datasets(line: Json, proved: ProvedFacts) -> list[str] | None:
    """Return nothing where the number of datasets is proved: one is; None where it is not."""
    one = type(found := _datasets_in(line)) in (int, str) and str(found) == "1"
    return [] if one and proved.only >= _wanted_level(line) else None


def _same_rows(rows: Any, world: Any, release: EncodedRelease) -> list[str]:
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
