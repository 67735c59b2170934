"""The rules of a policy about tables of totals: who contributes how much to a cell, and how far a hidden one is open.

Source: Hundepool et al., "Statistical Disclosure Control", Wiley 2012, section 4.2; `solvers.suppression.dominance`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from recon.release.policies.checks import Outcome, PolicyRule, RuleResult, all_of
from recon.release.policies.facts import AbsentFigure, FactTable
from solvers.foundation.displayed import quote
from solvers.suppression.dominance import (
    Contributions,
    ContributorsRule,
    DominanceRule,
    PriorPosteriorRule,
    RequestRule,
    SensitivityRule,
    ZeroRule,
)

SHOWN = 20  # cells of a check
ELSEWHERE = "no release says how much single respondents contribute: recon magnitudes checks it by rows, or by a .tab"


@dataclass(frozen=True)
class TotalCell:
    """A cell of a table of totals, in units: whether it is hidden, which values are left of it.

    `met`: the least and the most that some table with the same shown cells reaches; `bounds`: proved to hold of all.
    """

    name: str
    total: int
    hidden: bool
    met: tuple[int, int]
    bounds: tuple[int, int]


@dataclass(frozen=True)
class TotalCells:
    """The cells of a table of totals, their contributions, and what one respondent can work out.

    `decimals`: how many a unit is; `from_inside`: pairs of a sensitive cell that follows and the hidden one whose only
    respondent it follows for; `signed`: totals may be below 0.
    """

    cells: tuple[TotalCell, ...]
    contributions: Contributions
    decimals: int
    from_inside: tuple[tuple[str, str], ...]
    signed: bool = False


def _fraction(value: Any) -> Fraction:
    return Fraction(str(value))


def _contributors(value: Any) -> SensitivityRule:
    """Return the rule of a least number of contributors: the number, or the number and a safety range in %."""
    least, share = value if isinstance(value, (tuple, list)) else (value, 0)
    return ContributorsRule(least, _fraction(share))


def _request(value: Any) -> SensitivityRule:
    """Return the request rule: a share in %, or those of requests 1 and 2 and what to stay open by in %."""
    if isinstance(value, (tuple, list)):
        *shares, margin = map(_fraction, value)
        return RequestRule(tuple(shares), margin)
    return RequestRule((_fraction(value),))


SENSITIVITY: Mapping[str, Callable[[Any], SensitivityRule]] = {
    "magnitudes.p_percent": lambda value: PriorPosteriorRule(_fraction(value)),
    "magnitudes.prior_posterior": lambda value: PriorPosteriorRule(_fraction(value[0]), _fraction(value[1])),
    "magnitudes.dominance": lambda value: DominanceRule(value[0], _fraction(value[1])),
    "magnitudes.contributors": _contributors,
    "magnitudes.request": _request,
    "magnitudes.zero": lambda value: ZeroRule(_fraction(value)),
}


def of_contributions(facts: FactTable, rule: PolicyRule, threshold: Any) -> RuleResult:
    """Return whether every cell that a rule calls sensitive is hidden, and open as far as the rule asks."""
    asked = "every one hidden, and open beyond its level of protection"
    known: TotalCells | None = facts.others.get(rule.fact)
    if known is None:
        return _not_here(facts, rule, asked)
    levels = SENSITIVITY[rule.key](threshold).levels(known.contributions).tolist()
    said = [
        (one, level, _open_enough(one, level, known.signed))
        for one, level in zip(known.cells, levels, strict=True)
        if level
    ]
    outcome = all_of(state for *_, state in said)
    bad = [(one, level) for one, level, state in said if state == outcome and outcome != "met"]
    shown = sum(not one.hidden for one, _ in bad)
    narrow = len(bad) - shown
    told = [f"{shown:,} shown" * bool(shown), f"{narrow:,} too narrow" * bool(narrow)]
    found = f"{len(said):,} ({', '.join(filter(None, told)) or 'each hidden and open enough'})" if said else "none"
    places = tuple(
        {"name": quote(one.name, 200), "where": _left_of(one, level, known.decimals), "rows": None}
        for one, level in bad[:SHOWN]
    )
    why = "limits left the intervals of some hidden cells open" if outcome == "inconclusive" else ""
    return RuleResult(outcome, found, asked, places, len(bad), why, help="limits" if why else "")


def from_inside(facts: FactTable, rule: PolicyRule, threshold: int) -> RuleResult:
    """Return whether few enough sensitive cells follow for a respondent who knows an own hidden cell."""
    asked = "none" if not threshold else f"at most {threshold:,}"
    known: TotalCells | None = facts.others.get(rule.fact)
    if known is None:
        return _not_here(facts, rule, asked)
    found = known.from_inside
    places = tuple({"name": quote(cell, 200), "where": f"for {quote(who, 200)}", "rows": None} for cell, who in found)
    bad = len(found) > threshold
    return RuleResult(
        "violated" if bad else "met", f"{len(found):,}" if found else "none", asked,
        places[:SHOWN] if bad else (), len(found) if bad else 0,
    )  # fmt: skip


def _not_here(facts: FactTable, rule: PolicyRule, asked: str) -> RuleResult:
    """Return that a rule does not apply where no totals are published, and is open where some are."""
    figure = facts.figures.get(rule.fact)
    if isinstance(figure, AbsentFigure):
        return RuleResult("not applicable", f"does not apply ({figure.why})", asked)
    return RuleResult("inconclusive", "not known", asked, why=ELSEWHERE)


def _open_enough(cell: TotalCell, level: int, signed: bool) -> Outcome:
    """Return whether a sensitive cell is hidden and surely open so far over and under its total, or surely not."""
    if not cell.hidden:
        return "violated"
    over, under = cell.total + level, cell.total - level if signed else max(0, cell.total - level)
    if cell.met[0] <= under and cell.met[1] >= over:
        return "met"
    return "violated" if cell.bounds[0] > under or cell.bounds[1] < over else "inconclusive"


def _left_of(cell: TotalCell, level: int, decimals: int) -> str:
    """Return what is left of a sensitive cell in words: shown, or which values around its own."""
    if not cell.hidden:
        return "it is shown"
    digits = 10**decimals
    over, under = (cell.bounds[1] - cell.total) / digits, (cell.total - cell.bounds[0]) / digits
    return f"open by {over:,.{decimals}f} over and {under:,.{decimals}f} under, {level / digits:,.{decimals}f} is asked"
