"""From a sample to its population: how many people fit a profile in each, as proved intervals, and the risks of both.

A tool that sees the sample alone estimates how many people of the population are like a row (ARX by population models,
sdcMicro by sampling weights). Public figures about the population leave an interval instead, with certificates.

Source: Prasser, Kohlmayer, "Putting statistical disclosure control into practice: the ARX data anonymization tool",
2015 (prosecutor, journalist and marketer); Templ, "Statistical disclosure control for microdata", 2017 (sdcMicro).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.exact import Profiles, as_frame, certify_exact
from recon.queries.certificates.issuing import profiles_json
from recon.queries.questions.line_proofs import line_proofs
from recon.readers.frames.describe import named_like
from recon.readers.frames.out_of_domain import answered
from recon.readers.frames.selections import with_rows_of
from recon.readers.loading.adversary import POPULATION, Knows
from recon.readers.loading.loading import Released
from recon.readers.loading.settled import asked_release, strengthened_release
from solvers.foundation.array_types import Floats
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits

NO_POPULATION = "nothing is known of a population: give the adversary's file a 'population' (docs/adversary.md)"


def population(
    release: Released,
    adversary: Knows,
    profiles: Profiles,
    limits: Limits | None = None,
    label: str | None = None,
    certificates: bool = False,
) -> pd.DataFrame:
    """Return how many rows of the data (f) and people of the population (F) fit each profile, as proved intervals.

    Columns: profile; sample_min, sample_max (f); population_min, population_max (F); prosecutor_min, prosecutor_max
    (1 / f, of somebody known to be in the data), journalist_min, journalist_max (1 / F, of somebody who is, for an
    attacker who does not know that), NaN where nobody fits; population_unique (True:
    exactly one person of the population fits, F = 1; False: it is not so; None: not decided). With `certificates`
    also `proofs`: of "sample" and "population" the profile and a list of certificates, which `recon.verify` takes with
    the adversary. `attrs["marketer"]`: the least and greatest mean of 1 / F over the rows of the data that fit the
    profiles, each counted in one. `label`: the profiles' name for the domain's label. Raises `Unsupported` without a
    population, and what `certify` raises. Cost: that of `certify`, twice for each profile.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> people = pd.DataFrame({"smoker": [0, 0, 0, 1, 1, 1], "old": [0, 1, 1, 0, 1, 1]})
    >>> neighbour = recon.Adversary(population={"people": people})
    >>> found = recon.population(release, neighbour, [{"smoker": 1, "old": 1}])
    >>> found[["population_min", "population_max"]].values.tolist()
    [[2, 2]]
    """
    beside = asked_release(release, adversary, limits)
    knowledge = beside.knowledge
    if knowledge is None or not knowledge.data:
        raise Unsupported(NO_POPULATION)
    people, notes = named_like(as_frame(profiles), beside.domain, label)
    strengthened = strengthened_release(beside, limits)

    def answer(inside: pd.DataFrame) -> pd.DataFrame:
        return certify_exact(strengthened, inside, "ordered", limits, certificates=False, shares=False)

    sample, everybody = (
        answered(strengthened, with_rows_of(strengthened, people, of), answer) for of in (knowledge.data, POPULATION)
    )
    out = pd.DataFrame({"profile": sample["profile"]})
    for word, found in (("sample", sample), ("population", everybody)):
        out[f"{word}_min"], out[f"{word}_max"] = found["min_count"], found["max_count"]
    for word, of in (("prosecutor", "sample"), ("journalist", "population")):
        least, most = _risk(out[f"{of}_min"], out[f"{of}_max"])
        out[f"{word}_min"], out[f"{word}_max"] = least, most
    one = (out["population_min"] == 1) & (out["population_max"] == 1)
    not_one = (out["population_min"] >= 2) | (out["population_max"] == 0)
    proved = zip(one.fillna(False), not_one.fillna(False), strict=True)  # nothing is known of what was not answered
    out["population_unique"] = [True if a else (False if b else None) for a, b in proved]
    open_ends = any((found["verdict"] == "unknown").any() for found in (sample, everybody))
    if certificates:
        out["proofs"] = _proofs(
            beside,
            people,
            [("sample", knowledge.data, sample), ("population", POPULATION, everybody)],
            limits or Limits(),
        )
    outside = sample["verdict"] == "outside"
    if outside.any():
        first = sample.loc[outside].iloc[0]
        said = f"{int(outside.sum())} of {len(sample)} profiles lie outside the domain, and have no numbers"
        notes = [*notes, f"{said}; row {int(first['profile']) + 1}: {first['reason']}"]
    out.attrs.update(
        marketer=_marketer(out.loc[~outside]), notes=notes, convention="ordered",
        assumptions=list(beside.assumptions), status="unknown" if open_ends else "exact",
    )  # fmt: skip
    return out


def _risk(least: pd.Series[Any], most: pd.Series[Any]) -> tuple[Floats, Floats]:
    """Return the least and greatest 1 / n of at least one row, NaN where there is none."""
    high, low = most.to_numpy(dtype=np.float64), np.maximum(least.to_numpy(dtype=np.float64), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(high >= 1, 1 / high, np.nan), np.where(high >= 1, 1 / low, np.nan)


def _marketer(out: pd.DataFrame) -> tuple[float, float] | None:
    """Return the least and greatest mean of 1 / F over the rows of the data that fit the profiles; None of no row."""
    low, high = (out[f"sample_{end}"].to_numpy(dtype=np.float64) for end in ("min", "max"))
    least, most = (out[f"journalist_{end}"].fillna(0).to_numpy(dtype=np.float64) for end in ("min", "max"))
    if not high.sum():
        return None
    return float((low * least).sum() / high.sum()), float(min(1.0, (high * most).sum() / max(low.sum(), 1)))


def _proofs(
    beside: EncodedRelease, people: pd.DataFrame, asked: list[tuple[str, str, pd.DataFrame]], limits: Limits
) -> pd.Series[Any]:
    """Return the certificates of both numbers of every profile, and the profile that they are about."""
    every: list[dict[str, Any]] = [{} for _ in range(len(people))]
    for word, of, found in asked:
        own = with_rows_of(beside, people, of)
        made = zip(every, profiles_json(beside, own), line_proofs(beside, own, found, limits, True), strict=True)
        for line, values, proofs in made:
            line[word] = values, proofs
    return pd.Series(every, dtype=object)
