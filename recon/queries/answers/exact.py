"""Exact answers as users read them: verdicts with their certificates, and what profiles select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.values import intersection
from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.counting import decide, why_open
from recon.readers.frames.selections import one_of, profile_ranges, select_frame, selections_of
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import DecideAnswer
from solvers.statements.questions.query import Convention, Selections

MAX_CERTIFIED = 1_000  # profiles that get certificates without being asked for

NEARLY = float(np.nextafter(1.0, 0.0))  # the share of worlds where some world, however rare, has none

BARE = {
    True: "no proof was found within the limits; more time (--time) or cells (--max-cells) may find one",
    False: f"they are made for at most {MAX_CERTIFIED:,} profiles unless asked for",
}

Profiles = pd.DataFrame | Sequence[dict[str, Any]]


def as_frame(profiles: Profiles) -> pd.DataFrame:
    """Return profiles as a frame of objects; missing keys are empty cells."""
    if isinstance(profiles, pd.DataFrame):
        return profiles
    listed = [profiles] if isinstance(profiles, dict) else profiles
    if isinstance(listed, str) or not all(isinstance(p, dict) for p in listed):
        raise ReleaseError("profiles are a DataFrame, or a list of objects such as {'age': 30}")
    return pd.DataFrame(list(listed), dtype=object)


def certify_exact(
    release: EncodedRelease,
    frame: pd.DataFrame,
    chosen: Convention,
    limits: Limits | None,
    certificates: bool | None = None,
    shares: bool = True,
) -> pd.DataFrame:
    """Return the verdicts that hold for certain where the statements do; see `certify`, `shares` as in `decide`."""
    limits = limits or Limits()
    selections = select_frame(release, frame)
    found = decide(release, selections, chosen, limits, shares=shares)
    verdicts = np.where(found.low > 0, "certain", np.where(found.high > 0, "possible", "impossible"))
    out = verdict_table(release, found, verdicts, 1.0, **_undefined_if_continuous(release, found))
    verdict = out["verdict"].to_numpy()
    wanted = certificates or (certificates is None and len(frame) <= MAX_CERTIFIED)
    if wanted:
        from recon.queries.certificates.issuing import profile_certificates

        asked = selections, found.multipliers
        made: list[Any] = profile_certificates(release, frame, verdict.tolist(), limits, asked)
        out["certificate"] = pd.Series(made, dtype=object)
    bare = int((np.isin(verdict, ["certain", "impossible"]) & out["certificate"].isna().to_numpy()).sum())
    bare_note = f"{bare:,} certain or impossible verdicts have no certificate: {BARE[bool(wanted)]}"
    notes = [bare_note, *limits.cut_short()] if bare else []
    out.attrs.update(assumptions=list(release.assumptions), convention=chosen, notes=[*why_open(found), *notes])
    return out


def verdict_table(
    release: EncodedRelease, found: DecideAnswer, verdicts: Any, confidence: float, **shares: Any
) -> pd.DataFrame:
    """Return one line per profile: "unknown" where it is open, without certificates, and shares as far as given."""
    verdict = np.where(found.open, "unknown", verdicts).astype(object)
    likely = shares.get("probability", np.nan)
    return pd.DataFrame(
        {
            "profile": np.arange(len(verdict)),
            "verdict": verdict,
            "min_count": found.low,
            "max_count": maximum_rows(release, found),
            "probability": np.where(verdict == "possible", np.minimum(likely, NEARLY), likely),
            "probability_before": shares.get("before", np.nan),
            "expected_count": shares.get("expected", np.nan),
            "confidence": confidence,
            "certificate": None,
        }
    )


def maximum_rows(release: EncodedRelease, found: DecideAnswer) -> Any:
    """Return the most rows per profile; missing where the number of rows is open."""
    return found.high if release.rows.high is not None else pd.array([None] * len(found.high), dtype="Int64")


def _undefined_if_continuous(release: EncodedRelease, found: DecideAnswer) -> dict[str, Any]:
    """Return the shares, NaN for a domain with a continuous attribute: a point has no share of a volume."""
    names = ("probability", "before", "expected")
    if release.domain.continuous:
        return {name: np.where(found.low > 0, 1.0, np.nan) if name == "probability" else np.nan for name in names}
    return {name: getattr(found, name) for name in names}


def select_with(release: EncodedRelease, frame: pd.DataFrame, name: str, values: list[Any]) -> Selections:
    """Return the frame's selections, each narrowed to the given values of one column."""
    found = profile_ranges(release, frame)
    k, wanted = release.domain.ranges(name, one_of(release.domain, name, values))
    span = release.domain.all[k].span
    back, every = found.get(k, (np.zeros(len(frame), dtype=np.int64), [(span,)]))
    narrowed = [intersection(r, wanted) for r in every]
    return selections_of(release, len(frame), {**found, k: (back, narrowed)})


def settled_only(out: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of `attribute` with probabilities only where no size matters: 1 where certain, 0 where none.

    Where no row meets the profile in any world there is no probability, as before.
    """
    maximum = out["max_count"].astype("Float64").fillna(np.inf)  # open numbers of rows have no most
    some = (maximum.groupby(out["profile"]).transform("max") > 0).to_numpy(dtype=bool)
    none = some & (maximum == 0).to_numpy(dtype=bool)
    sure = np.where(out["certain"].to_numpy(dtype=bool), 1.0, np.where(none, 0.0, np.nan))
    return out.assign(probability=sure, probability_before=np.nan, leave_one_out=np.nan)
