"""Verdicts from noisy counts: at a confidence over the noise, never for certain, beside posterior probabilities.

Source: docs/mathematics.md, "Noise": 1 - α is over the mechanism's noise with the data fixed, simultaneous over all
questions; it is not the probability that somebody is absent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.values import Value
from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.counting import decide, share, why_open
from recon.queries.answers.exact import MAX_CERTIFIED, certify_exact, maximum_rows, select_with, verdict_table
from recon.queries.certificates.issuing import profile_certificates
from recon.queries.noisy.posterior import Posterior, posterior, why_none
from recon.readers.frames.selections import select_frame
from solvers.engines.figures.partition import decide_in_intervals, without_rows
from solvers.foundation.errors import EngineError, Inconclusive, Unsupported
from solvers.foundation.exact import level_text
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import DecideAnswer
from solvers.statements.questions.query import Convention, Selections, ShareQuery


def certify_noisy(
    release: EncodedRelease,
    frame: pd.DataFrame,
    convention: Convention,
    limits: Limits | None,
    certificates: bool | None,
) -> pd.DataFrame:
    """Return one line per profile; see `recon.certify`.

    What exact statements and bounded noise settle is certain (confidence 1); what the joint intervals settle holds at
    the release's confidence: "impossible", or at least `min_count` rows where the verdict is "possible".
    """
    if release.certain:
        out = certify_exact(release, frame, convention, limits, certificates)
    else:
        out = _at_confidence(release, frame, convention, limits)
        excluded = _outside_domain(release, select_frame(release, frame), limits)
        for name, value in (("verdict", "impossible"), ("min_count", 0), ("max_count", 0), ("confidence", 1.0)):
            out.loc[excluded, name] = value
        sure = _certain_verdicts(release, frame, convention, limits)
        if sure is not None:
            settled = sure["verdict"].isin(["certain", "impossible"]).to_numpy()
            columns = ["verdict", "min_count", "max_count", "confidence"]
            out.loc[settled, columns] = sure.loc[settled, columns]
        if certificates or (certificates is None and len(frame) <= MAX_CERTIFIED):
            out["certificate"] = pd.Series(_proofs(release, frame, out, limits), dtype=object)
    found, membership = known_posterior(release, limits), None
    if found is not None:
        try:
            membership = found.membership(frame, limits)
        except Inconclusive:
            found = None
    names = ["probability", "probability_before", "expected_count"]
    if membership is None:
        out[names] = np.nan
    else:
        settled = (out["confidence"] == 1.0).to_numpy() & out["verdict"].isin(["certain", "impossible"]).to_numpy()
        for name in names:
            out[name] = np.where(settled & (name == "probability"), out["verdict"] == "certain", membership[name])
    out["prior"] = None if found is None else f"{found.prior}: {found.prior_text}"
    out.attrs.update(assumptions=list(release.assumptions), convention=convention, confidence=release.confidence)
    out.attrs["notes"] = [*out.attrs.get("notes", ()), *_notes(release, found)]
    return out


def _proofs(
    release: EncodedRelease, frame: pd.DataFrame, out: pd.DataFrame, limits: Limits | None
) -> list[dict[str, Any] | None]:
    """Return the certificates of verdicts, each at its own confidence: 1, or that of the release."""
    sure, verdicts = (out["confidence"] == 1.0).to_numpy(), out["verdict"].to_numpy(dtype=object).copy()
    verdicts[~sure & (verdicts == "possible") & (out["min_count"] > 0).to_numpy()] = (
        "certain"  # present at that confidence
    )
    found: list[dict[str, Any] | None] = [None] * len(out)
    for at, those in ((release.at_confidence(1), sure), (release, ~sure)):
        if those.any():
            here = profile_certificates(at, frame, np.where(those, verdicts, "unknown").tolist(), limits)
            found = [new or old for new, old in zip(here, found, strict=True)]
    return found


def _notes(release: EncodedRelease, found: Posterior | None) -> list[str]:
    """Return what has to be known to read verdicts and probabilities from noisy counts."""
    out, level = [], level_text(release.confidence)
    if not release.certain:
        out.append(
            f"where confidence is {level}, 'impossible' means impossible at confidence {level} and min_count rows are "
            "present at it, over the noise, for all profiles together"
        )
    if found is None:
        return [*out, f"no probabilities: {why_none(release) or 'not within the limits'}"]
    return [*out, f"probabilities: posterior, prior {found.prior}: {found.prior_text}"]


def known_posterior(release: EncodedRelease, limits: Limits | None) -> Posterior | None:
    """Return the posterior under the default prior, None where there is none."""
    if why_none(release) is not None:
        return None
    try:
        return posterior(release, limits=limits)
    except (Inconclusive, Unsupported):
        return None


def _at_confidence(
    release: EncodedRelease, frame: pd.DataFrame, convention: Convention, limits: Limits | None
) -> pd.DataFrame:
    """Return what the joint intervals say about every profile."""
    found = _decided(release, select_frame(release, frame), convention, limits)
    out = verdict_table(release, found, np.where(found.high > 0, "possible", "impossible"), release.confidence)
    out.attrs["notes"] = why_open(found)
    return out


def _decided(
    release: EncodedRelease, chosen: Selections, convention: Convention, limits: Limits | None
) -> DecideAnswer:
    """Return bounds on the rows of every selection inside the joint intervals.

    Of one tree or rule list they are exact sums over its intervals; other releases are asked of the engines.
    """
    try:
        found = decide_in_intervals(release.statements, chosen, limits or Limits())
    except Inconclusive:
        found = None
    return decide(release, chosen, convention, limits) if found is None else found


def _outside_domain(release: EncodedRelease, chosen: Selections, limits: Limits | None) -> NDArray[np.bool_]:
    """Return which selections hold no row of the domain, whatever was released; none where the time is up before."""
    limits = limits or Limits()
    try:
        return without_rows(release.statements, chosen, limits)
    except (Inconclusive, EngineError):  # sizes between bounds say nothing
        if not limits.expired():
            raise
        return np.zeros(len(chosen), dtype=bool)


def _certain_verdicts(
    release: EncodedRelease, frame: pd.DataFrame, convention: Convention, limits: Limits | None
) -> pd.DataFrame | None:
    """Return what follows without the unbounded noise; None where nothing else was released or no engine says."""
    sure = release.at_confidence(1)
    pairs = zip(sure.statements.blocks, sure.statements.observed, strict=True)
    kept = [(block, seen) for block, seen in pairs if seen is None or seen.law.bounded]
    if not kept or sure.rows.high is None:
        return None
    blocks, observed = (tuple(part) for part in zip(*kept, strict=True))
    statements = replace(sure.statements, blocks=blocks, observed=observed)
    try:
        return certify_exact(replace(sure, statements=statements), frame, convention, limits, certificates=False)
    except (Inconclusive, Unsupported):
        return None


def attribute_noisy(
    release: EncodedRelease,
    frame: pd.DataFrame,
    target: tuple[str, tuple[Value, ...]],
    convention: Convention,
    limits: Limits | None,
) -> pd.DataFrame:
    """Return what noisy counts say about a sensitive column; see `recon.attribute`.

    Bounds hold at the release's confidence; probabilities are posterior (E[#(q,v)] / E[#q]), NaN without a posterior.
    `certain` is only true where it holds whatever the noise.
    """
    sensitive, values = target
    found = known_posterior(release, limits)
    outer = select_frame(release, frame)
    lines, status = [], "exact"
    for i, value in enumerate(values):
        inner = select_with(release, frame, sensitive, [value])
        other = select_with(release, frame, sensitive, [v for j, v in enumerate(values) if j != i])
        counted, without = (_decided(release, one, convention, limits) for one in (inner, other))
        between = share(release, ShareQuery(inner, other, outer), limits)
        probability, before = _shares(found, inner, outer)
        if counted.open.any() or without.open.any() or between.status != "exact":
            status = "bounds"
        alone = (counted.high > 0) & (without.high == 0) & ~counted.open
        line: dict[str, Any] = {
            "profile": np.arange(len(frame)),
            "value": [value] * len(frame),
            "probability": probability,
            "lower": between.lower,
            "upper": between.upper,
            "certain": alone if release.certain else np.zeros(len(frame), dtype=bool),
            "min_count": counted.low,
            "max_count": maximum_rows(release, counted),
            "probability_before": before,
            "leave_one_out": np.nan,
            "confidence": release.confidence,
            "order": i,
        }
        lines.append(pd.DataFrame(line))
    out = pd.concat(lines).sort_values(["profile", "order"], kind="stable").drop(columns="order")
    out = out.reset_index(drop=True)
    out["prior"] = None if found is None else f"{found.prior}: {found.prior_text}"
    out.attrs.update(assumptions=list(release.assumptions), convention=convention, status=status)
    out.attrs.update(confidence=release.confidence, notes=_notes(release, found))
    return out


def _shares(
    found: Posterior | None, inner: Selections, outer: Selections
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return E[#inner] / E[#outer] after and before the release, NaN without a posterior."""
    if found is None:
        nothing = np.full(len(inner), np.nan)
        return nothing, nothing
    part, whole = found.expected(inner), found.expected(outer)
    with np.errstate(invalid="ignore", divide="ignore"):
        return part[0] / whole[0], part[1] / whole[1]
