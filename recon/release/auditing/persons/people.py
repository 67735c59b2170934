"""Given people beside the release: who certainly, possibly or certainly not is among the training rows, and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from encoders.encode.encoder import EncodedRelease
from recon.io.files.opening import current
from recon.queries.certificates.certificate_format import Json, sharing_steps
from recon.queries.certificates.issuing import profiles_json
from recon.queries.questions.questions import certify
from recon.readers.frames.describe import named_like
from recon.readers.frames.selections import missing
from solvers.foundation.exact import level_text
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

PLACES = 100  # positions that are listed of every verdict, however many there are of graver ones
PROFILE = 1_000  # bytes of one with its verdict, before the most exposed are listed
LISTED = 10_000  # people in one report, the gravest verdicts first
GRAVITY = ("certain", "unknown", "possible", "outside", "impossible")
OWN_NAMES = ("name", "id")  # columns by which an officer knows people; no attribute of the model
WHY = {
    "certain": "every data set that agrees with the release has such a row",
    "possible": "some data sets that agree with the release have such a row, others do not",
    "impossible": "no data set that agrees with the release has such a row",
    "unknown": "not decided within the limits",
    "outside": "no row of the domain is like this",
}


def people(
    release: EncodedRelease,
    profiles: pd.DataFrame,
    limits: Limits | None = None,
    seed: int = 0,
    show_rows: bool = False,
    label: str | None = None,
) -> dict[str, Any]:
    """Return the `profiles` object of an audit: a verdict per given person, how sure, and why; ready for JSON.

    `rows`: at most 10,000 of `rows_in_all`, certain ones first, then unknown, possible, outside, impossible, each by
    position (from 0). `probability` is the share of worlds of the `convention` with such a row (of noisy counts: of the
    posterior under the prior named there), None where it is not known. `certificate`: the seal (SHA-256) of what proves
    the verdict, None where there is no proof. A column `name` or `id` that the model does not know names people and is
    no part of their profile. `show_rows`: with names, `profile_values`, and in `certificates` the certificates, so that
    `recon verify` can re-check the document; they repeat the profiles, so without it only seals are given.
    `label`: the profiles' name for the domain's label. Nothing is drawn at random: `seed` changes no figure.
    Raises `ReleaseError` for unknown columns, and where so many profiles need more memory than is allowed.
    Cost: that of `recon.certify`.
    """
    limits = limits or Limits()
    asked, own = without_names(profiles, release)  # before columns are taken in order
    asked = named_like(asked, release.domain, label)[0]
    current().bytes(PROFILE * len(asked), f"an audit of {len(asked):,} profiles with a line each")
    found = certify(release, asked, limits=limits)
    lines: list[Json] = [dict(zip(found.columns, one, strict=True)) for one in found.itertuples(index=False, name=None)]
    prior = found["prior"].tolist() if "prior" in found else [None] * len(lines)
    names = _person_names(own) if show_rows else [None] * len(lines)
    rows: list[Json] = [
        {
            "position": int(one["profile"]),
            "name": name,
            "verdict": one["verdict"],
            "probability": probability(one),
            "convention": (given or found.attrs["convention"]) if probability(one) is not None else None,
            "certificate": seal(one["certificate"]),
            "why": why(one, release, show_rows),
        }
        for one, name, given in zip(lines, names, prior, strict=True)
    ]
    order = sorted(range(len(rows)), key=lambda i: (GRAVITY.index(rows[i]["verdict"]), i))[:LISTED]
    verdicts = dict(Counter(one["verdict"] for one in rows))
    places = {v: [one["position"] for one in rows if one["verdict"] == v][:PLACES] for v in verdicts}
    out: dict[str, Any] = {"rows": [rows[i] for i in order], "rows_in_all": len(rows), "shown": show_rows}
    out |= {"verdicts": verdicts, "positions": places}
    if not show_rows:
        return out
    proved = certificates(release, asked, found, limits)
    values = profiles_json(release, asked)
    for i in order:
        rows[i]["profile_values"] = values[i]
        if rows[i]["certificate"] is None and proved[i]:
            rows[i]["certificate"] = seal(proved[i][0])
    return out | {"certificates": sharing_steps([one for i in order for one in proved[i]])}


def without_names(frame: pd.DataFrame, release: EncodedRelease) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the profiles without columns that only name people, and those columns."""
    known = {*release.domain.place, *release.domain.columns}
    names = [str(column) for column in frame.columns]
    own = [i for i, name in enumerate(names) if name.strip().lower() in OWN_NAMES and name not in known]
    kept = [i for i in range(len(names)) if i not in own]
    asked = frame.iloc[:, kept]
    asked.attrs.update(frame.attrs)
    return asked, frame.iloc[:, own]


def _person_names(own: pd.DataFrame) -> list[str | None]:
    """Return what every person is called: the first such column; None where it is empty."""
    if not own.shape[1]:
        return [None] * len(own)
    column = own.iloc[:, 0]
    empty = (column.isna() | (column == "")).tolist()
    return [None if gone else str(one) for one, gone in zip(column.tolist(), empty, strict=True)]


def probability(line: Json) -> float | None:
    """Return the share of worlds as JSON has it, None where there is none."""
    share = line["probability"]
    return None if missing(share) else float(share)


def seal(certificate: Json | None) -> str | None:
    """Return the SHA-256 by which a certificate is known, None without one."""
    return None if certificate is None else str(certificate["seal"])


def why(line: Json, release: EncodedRelease, show_rows: bool) -> str:
    """Return a verdict in a sentence: how many rows at least, at which confidence; with values only if `show_rows`."""
    verdict = line["verdict"]
    text = WHY[verdict]
    if verdict == "outside":
        return f"{text}: {line['reason'] if show_rows else 'a value is none of the domain (recon certify says which)'}"
    if isinstance(box := line.get("box"), str) and box:
        held = int(line["box_rows"])
        near = f"at least {held:,} {'row is' if held == 1 else 'rows are'} proved to be near"
        return f"{text}; {near}" + (f": {box}" if show_rows else "")
    least = line["min_count"]
    some = 0 if missing(least) else int(least)
    if verdict == "certain":
        return text if some < 2 else f"every data set that agrees with the release has at least {some:,} such rows"
    if line["confidence"] == 1.0 or verdict == "unknown":
        return text
    level = level_text(release.confidence)
    if verdict == "possible":
        there = f"at least {some:,} such {'row is' if some == 1 else 'rows are'} there at confidence {level}"
        return f"{there} over the noise" if some else text
    return f"{text}, at confidence {level} over the noise"


def certificates(release: EncodedRelease, asked: pd.DataFrame, found: pd.DataFrame, limits: Limits) -> list[list[Json]]:
    """Return the certificates of every verdict: of what is certain or impossible, and that a row is possible."""
    import pandas as pd

    from recon.queries.questions.line_proofs import line_proofs

    stated = found.copy(deep=False)
    if release.rows.high is not None:  # only the verdict is said, so only that is proved: no counts
        verdict = found["verdict"]
        most = verdict.map(lambda one: None if one == "outside" else 0 if one == "impossible" else release.rows.high)
        least = verdict.map(lambda one: None if one == "outside" else 1 if one == "certain" else 0)
        sure = (found["confidence"] == 1.0).to_numpy(dtype=bool)
        stated["max_count"] = pd.array(most.where(sure, found["max_count"]).tolist(), dtype="Int64")
        stated["min_count"] = pd.array(least.where(sure, found["min_count"]).tolist(), dtype="Int64")
    more = line_proofs(release, asked, stated, limits)
    own = found["certificate"].tolist()
    return [[*([] if one is None else [one]), *rest] for one, rest in zip(own, more, strict=True)]
