"""The questions of the contract: each builds a query, asks the engines, and returns what users read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.encoder import EncodedRelease
from encoders.values import MISSING, Continuous, Listed, Value, intersection
from recon.certificates import profile_certificates
from recon.selections import columns_by_attribute, one_of, profile_ranges, select_frame, selections_of
from recon.world import World, wrap
from solvers.engine import ask
from solvers.errors import ReleaseError, Unsupported
from solvers.limits import Limits
from solvers.numbers import level_text
from solvers.query import (
    CONVENTIONS,
    Convention,
    Count,
    CountAnswer,
    Decide,
    DecideAnswer,
    Enumerate,
    LeaveOneOut,
    LeaveOneOutAnswer,
    MostLikely,
    Sample,
    Selections,
    Share,
    ShareAnswer,
    WorldsAnswer,
)
from solvers.release import Partition

MOST_CERTIFIED = 1_000  # profiles that get certificates without being asked for
MOST_VALUES = 1_000  # a sensitive attribute is answered value by value
BARE = {
    True: "no proof was found within the limits; more time (--time) or cells (--max-cells) may find one",
    False: f"they are made for at most {MOST_CERTIFIED:,} profiles unless asked for",
}
Profiles = pd.DataFrame | Sequence[dict[str, Any]]


def convention_of(release: EncodedRelease, convention: str | None) -> Convention:
    """Return the convention asked for; by default `assigned` for one partition, else `ordered`."""
    blocks = release.statements.blocks
    one = len(blocks) == 1 and isinstance(blocks[0], Partition) and blocks[0].open_counts <= 1
    one = one and not release.noisy and not release.statements.loosened
    if convention is None:
        return "assigned" if one else "ordered"
    if convention not in CONVENTIONS:
        raise Unsupported(f"there is no convention '{convention}': choose assigned, ordered or multiset")
    if convention == "assigned" and not one:
        raise Unsupported("the convention 'assigned' needs exactly one tree or rule list with exact counts")
    return convention


def count(release: EncodedRelease, convention: str | None = None, limits: Limits | None = None) -> CountAnswer:
    """Return how many worlds there are: `.value`, `.factors`, `.log2`, `.bounds` (log2), `.status`.

    Raises `Unsupported` (no engine accepts) and `Inconclusive` (the number of rows is unbounded).
    """
    found = ask(release.statements, Count(convention_of(release, convention)), CountAnswer, limits)
    return (
        found
        if release.certain or found.status == "unsat"
        else replace(found, guarantee=f"confidence {level_text(release.confidence)}")
    )


def worlds(
    release: EncodedRelease, limit: int | None = 10, convention: str | None = None, limits: Limits | None = None
) -> Iterator[World]:
    """Yield worlds, each dataset once up to row order, at most `limit` (None: all); nothing is built ahead.

    The worlds are the same in every convention; `convention` is checked and otherwise ignored.
    """
    convention_of(release, convention)
    if limit is not None and limit < 0:
        raise ReleaseError(f"cannot list {limit} worlds")
    found = ask(release.statements, Enumerate(), WorldsAnswer, limits).worlds
    for i, world in enumerate(found):
        if limit is not None and i >= limit:
            return
        yield wrap(release, world)


def sample(
    release: EncodedRelease, k: int = 100, seed: int = 0, convention: str | None = None, limits: Limits | None = None
) -> list[World]:
    """Return k worlds drawn independently, exactly uniform over the convention's worlds.

    With the number of rows in an interval, it is drawn uniformly first. Of noisy counts: over the worlds inside the
    joint intervals, which their note says; `recon.sampled` weighs worlds by the noise.
    """
    if k < 0:
        raise ReleaseError(f"cannot draw {k} worlds")
    query = Sample(k, seed, convention_of(release, convention))
    found = ask(release.statements, query, WorldsAnswer, limits).worlds
    if release.certain:
        return [wrap(release, w) for w in found]
    level = level_text(release.confidence)
    level = f"from the worlds inside the joint intervals at confidence {level}, not weighted by the noise"
    return [wrap(release, replace(w, note="; ".join(filter(None, (w.note, level))))) for w in found]


def reconstruct(release: EncodedRelease, seed: int = 0, limits: Limits | None = None) -> World:
    """Return a world of maximum likelihood, among equals with the heaviest histogram; `.unique` says if it is alone.

    Exact counts leave all worlds equally likely; noisy ones favour worlds that need little noise, whatever the
    confidence. Inside a cell rows are spread evenly and drawn with `seed`.
    """
    statements = release.statements
    if release.noisy:
        from recon.denoising import certain_release

        statements = certain_release(release, limits or Limits())
    return wrap(release, next(ask(statements, MostLikely(seed), WorldsAnswer, limits).worlds))


def as_frame(profiles: Profiles) -> pd.DataFrame:
    """Return profiles as a frame of objects; missing keys are empty cells."""
    if isinstance(profiles, pd.DataFrame):
        return profiles
    listed = [profiles] if isinstance(profiles, dict) else profiles
    if isinstance(listed, str) or not all(isinstance(p, dict) for p in listed):
        raise ReleaseError("profiles are a DataFrame, or a list of objects such as {'age': 30}")
    return pd.DataFrame(list(listed), dtype=object)


def certify(
    release: EncodedRelease,
    profiles: Profiles,
    convention: str | None = None,
    limits: Limits | None = None,
    certificates: bool | None = None,
) -> pd.DataFrame:
    """Return one line per profile: verdict certain | possible | impossible | unknown, and how sure.

    Columns: profile (0-based), verdict, min_count, max_count (rows over all worlds), probability (share of worlds
    of the convention with at least one such row), probability_before (the same before the release),
    expected_count, confidence (1: it holds for certain; below, noisy counts: it holds at that confidence, jointly for
    all profiles, and the verdict is never "certain"), certificate (of the verdicts certain and impossible: an
    object that `recon.verify` accepts, verified before it is given out; None where there is none). Certificates are
    made for at most 1,000 profiles unless asked for. Of one noisy tree or rule list, the probabilities are those of
    `recon.posterior` (`attrs["prior"]`), of other noisy releases NaN. `attrs` has the assumptions and the convention.
    Cost: linear in distinct profiles times attributes; certificates about 1 ms per profile of a deep forest.
    """
    frame = as_frame(profiles)
    chosen = convention_of(release, convention)
    if release.noisy:
        from recon.noisy_questions import certify_noisy

        return certify_noisy(release, frame, chosen, limits, certificates)
    return certify_exact(release, frame, chosen, limits, certificates)


def certify_exact(
    release: EncodedRelease,
    frame: pd.DataFrame,
    chosen: Convention,
    limits: Limits | None,
    certificates: bool | None = None,
) -> pd.DataFrame:
    """Return the verdicts that hold for certain where the statements do; see `certify`."""
    found = ask(release.statements, Decide(select_frame(release, frame), chosen), DecideAnswer, limits)
    verdict = np.where(found.low > 0, "certain", np.where(found.high > 0, "possible", "impossible")).astype(object)
    verdict[found.open] = "unknown"
    share = undefined_if_continuous(release, found)
    out = pd.DataFrame(
        {
            "profile": np.arange(len(frame)),
            "verdict": verdict,
            "min_count": found.low,
            "max_count": found.high,
            "probability": share["probability"],
            "probability_before": share["before"],
            "expected_count": share["expected"],
            "confidence": 1.0,
            "certificate": None,
        }
    )
    wanted = certificates or (certificates is None and len(frame) <= MOST_CERTIFIED)
    if wanted:
        out["certificate"] = pd.Series(
            list[Any](profile_certificates(release, frame, verdict.tolist(), limits)), dtype=object
        )
    bare = int((np.isin(verdict, ["certain", "impossible"]) & out["certificate"].isna().to_numpy()).sum())
    notes = [f"{bare:,} certain or impossible verdicts have no certificate: {BARE[bool(wanted)]}"] if bare else []
    out.attrs.update(assumptions=list(release.assumptions), convention=chosen, notes=notes)
    return out


def undefined_if_continuous(release: EncodedRelease, found: DecideAnswer) -> dict[str, Any]:
    """Return the shares, NaN for a domain with a continuous attribute: a point has no share of a volume."""
    names = ("probability", "before", "expected")
    if release.domain.continuous:
        return {name: np.where(found.low > 0, 1.0, np.nan) if name == "probability" else np.nan for name in names}
    return {name: getattr(found, name) for name in names}


def attribute(
    release: EncodedRelease,
    profiles: Profiles,
    sensitive: str,
    convention: str | None = None,
    limits: Limits | None = None,
) -> pd.DataFrame:
    """Return what follows for a sensitive column of people known to be in the data, with partial profiles q.

    One line per profile and value v: probability E[#(q,v)]/E[#q] over worlds; lower and upper bounds on the share
    #(q,v)/#q over the worlds that have a q; certain (no world has q with another value, and some has q with v);
    min_count, max_count of (q,v); probability_before (the row space alone); leave_one_out (what the release
    without one row that is (q,v) would say: what the person's own presence does not add; NaN where nothing else
    remains). Undefined shares are NaN.
    """
    domain, frame = release.domain, as_frame(profiles)
    k = domain.place.get(sensitive)
    if k is None and sensitive not in domain.columns:
        raise ReleaseError(f"the sensitive column '{sensitive}' is neither an attribute nor a column of the domain")
    source = domain.all[k] if k is not None else Listed(sensitive, (0, 1))
    if isinstance(source, Continuous) or source.span[1] > MOST_VALUES:
        limit = f"the sensitive attribute '{sensitive}' must have at most {MOST_VALUES:,} values"
        raise ReleaseError(f"{limit} ({source.describe()})")
    values = tuple(MISSING if v is None else v for v in map(source.value, range(source.span[1])))
    refuse_known(release, frame, sensitive)
    chosen = convention_of(release, convention)
    if release.noisy:
        from recon.noisy_questions import attribute_noisy

        return attribute_noisy(release, frame, (sensitive, values), chosen, limits)
    lines = []
    known = ask(release.statements, Decide(select_frame(release, frame), chosen), DecideAnswer, limits)
    for i in range(len(values)):
        lines.append(attribute_value(release, frame, (sensitive, values, i), known, (chosen, limits)))
    out = pd.concat(lines).sort_values(["profile", "order"], kind="stable").drop(columns="order")
    status = "bounds" if any(line.attrs["status"] != "exact" for line in lines) else known.status
    out = out.reset_index(drop=True)
    out.attrs.update(assumptions=list(release.assumptions), convention=chosen, status=status)
    return out


def refuse_known(release: EncodedRelease, frame: pd.DataFrame, sensitive: str) -> None:
    """Refuse profiles that say the sensitive column: by its name, or by other columns that leave one value of it.

    Columns that only narrow it down stay: they are part of what is known of a person.
    """
    domain = release.domain
    if sensitive in frame.columns:
        raise ReleaseError(f"the profiles already say '{sensitive}', the sensitive column")
    k = domain.place[sensitive] if sensitive in domain.place else domain.view_ranges(sensitive)[0]
    if k not in (said := profile_ranges(release, frame)):
        return
    back, every = said[k]
    for code, left in enumerate(every):
        if sensitive in domain.columns:
            settled = intersection(left, domain.view_ranges(sensitive)[1]) in ((), left)
        else:
            settled = sum(end - start for start, end in left) == 1
        if settled and left != (domain.all[k].span,):
            names = ", ".join(f"'{frame.columns[i]}'" for i in columns_by_attribute(frame, domain)[k])
            message = f"the profiles already say '{sensitive}', the sensitive column: leave out {names}"
            place = f"row {int(np.argmax(back == code)) + 1}"
            raise ReleaseError(message, place=place, file=frame.attrs.get("file", ""))


def attribute_value(
    release: EncodedRelease,
    frame: pd.DataFrame,
    target: tuple[str, tuple[Value, ...], int],
    known: DecideAnswer,
    how: tuple[Convention, Limits | None],
) -> pd.DataFrame:
    """Return the lines of one sensitive value; see `attribute`."""
    sensitive, values, at = target
    value = values[at]
    chosen, limits = how
    selected = select_with(release, frame, sensitive, [value])
    with_value = ask(release.statements, Decide(selected, chosen), DecideAnswer, limits)
    rest = [v for i, v in enumerate(values) if i != at]
    others = select_with(release, frame, sensitive, rest)
    without = ask(release.statements, Decide(others, chosen), DecideAnswer, limits)
    outer = select_frame(release, frame)
    loo = ask(release.statements, LeaveOneOut(selected, outer, chosen), LeaveOneOutAnswer, limits).share
    between = ask(release.statements, Share(selected, others, outer), ShareAnswer, limits)
    with np.errstate(invalid="ignore", divide="ignore"):
        probability = with_value.expected / known.expected
        before = with_value.expected_before / known.expected_before
    out = pd.DataFrame(
        {
            "profile": np.arange(len(frame)),
            "value": [value] * len(frame),
            "probability": probability,
            "lower": between.lower,
            "upper": between.upper,
            "certain": (with_value.high > 0) & (without.high == 0),
            "min_count": with_value.low,
            "max_count": with_value.high,
            "probability_before": before,
            "leave_one_out": loo,
            "order": at,
        }
    )
    exact = all(a.status == "exact" for a in (with_value, without, between))
    out.attrs["status"] = "exact" if exact else "bounds"
    return out


def select_with(release: EncodedRelease, frame: pd.DataFrame, name: str, values: list[Any]) -> Selections:
    """Return the frame's selections, each narrowed to the given values of one column."""
    found = profile_ranges(release, frame)
    k, wanted = release.domain.ranges(name, one_of(release.domain, name, values))
    span = release.domain.all[k].span
    back, every = found.get(k, (np.zeros(len(frame), dtype=np.int64), [(span,)]))
    narrowed = [intersection(r, wanted) for r in every]
    return selections_of(release, len(frame), {**found, k: (back, narrowed)})
