"""What knowing how the model was chosen adds to a release, and about whom, as an audit has it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.learner_rule.counting import rule_or_reason
from recon.learner_rule.verdicts import certify
from recon.learner_rule.wording import rule_lines
from recon.release.auditing.persons.people import without_names
from solvers.foundation.display.displayed import many
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits

LIKELIER = 2.0  # times: from where on a person counts as much likelier to be in the data, or much less


def under_rule(
    release: EncodedRelease, learner: str, profiles: pd.DataFrame | None, limits: Limits, label: str | None = None
) -> dict[str, Any]:
    """Return the `learner_rule` object of an audit: figures, `people` where some were asked about, `lines` in words.

    `reason` instead of figures where nothing is known of the learner, or no count is made. `people`: how many were
    asked about, how many become certain or impossible by the rule alone, and how many are at least twice as likely (or
    half as likely) to be in the data as without it. Raises `ContradictionError` where the learner cannot have chosen
    the model. Cost: that of `recon.learner_rule.counting.learner_rule`, and of its verdicts.
    """
    try:
        found = rule_or_reason(release, learner, limits)
    except Unsupported as error:
        found = f"what knowing the learner adds is not worked out: {error}"
    if isinstance(found, str):
        return {"reason": found, "lines": [found]}
    out = found.to_json() | {"lines": rule_lines(found)}
    if profiles is None:
        return out
    try:
        people = about(certify(release, without_names(profiles, release)[0], learner, limits, label))
    except (Unsupported, Inconclusive) as error:
        return out | {"lines": [*out["lines"], f"  of the people asked about nothing is said under the rule: {error}"]}
    lines = out["lines"]
    at = next((i for i, line in enumerate(lines) if line.startswith("  assuming:")), len(lines))
    return out | {"people": people, "lines": [*lines[:at], people_line(people), *lines[at:]]}


def about(found: pd.DataFrame) -> dict[str, int]:
    """Return how many people the rule decides, and whom it makes likelier, out of verdicts beside those without it."""
    decided, inside = found["by_rule"].fillna(value=False).astype(bool), found["verdict"] != "outside"
    now, before = (found[name].astype(float) for name in ("probability", "probability_without"))
    open_still = (found["verdict"] == "possible") & (before > 0)
    return {
        "asked": int(inside.sum()),
        "certain_by_rule": int((decided & (found["verdict"] == "certain")).sum()),
        "impossible_by_rule": int((decided & (found["verdict"] == "impossible")).sum()),
        "likelier": int((open_still & (now >= LIKELIER * before)).sum()),
        "less_likely": int((open_still & (now * LIKELIER <= before)).sum()),
    }


def people_line(people: dict[str, int]) -> str:
    """Return that in words."""
    certain, impossible = people["certain_by_rule"], people["impossible_by_rule"]
    line = f"  of {many(people['asked'], 'profile')} asked about, {certain:,} become certain and "
    line += f"{impossible:,} impossible by the rule alone"
    more = [f"{people['likelier']:,} at least twice as likely"] if people["likelier"] else []
    more += [f"{people['less_likely']:,} at most half as likely"] if people["less_likely"] else []
    return f"{line}; {' and '.join(more)} as without it" if more else line
