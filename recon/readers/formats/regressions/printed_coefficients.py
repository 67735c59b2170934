"""Printed summaries of regressions: coefficients to their last printed digit, with the family, rows and deviance.

What statsmodels (`print(m.summary())`, `summary2()`, of OLS, Logit, Poisson, GLM) and R (`print(summary(m))` of lm and
glm) print. The covariances are not there, so that sums of columns do not follow; with everybody's columns the sums over
the responses do (`score_equations`). A number is known to half of its last digit.

Source: statsmodels 0.13 to 0.15, iolib/summary.py and summary2.py; R 4.2, src/library/stats/R/{lm,glm}.R
(`print.summary.lm`, `print.summary.glm`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from encoders.models.models import Provenance
from recon.readers.formats.drafts.binding import Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.regressions.score_equations import (
    CONVERGED,
    COUNTS,
    SHARES,
    UNWEIGHTED,
    ScoreDraft,
    mean_function,
    with_constant,
)
from recon.readers.formats.regressions.sums_of_products import Ends
from solvers.foundation.errors import ReleaseError, Unsupported

PRINTED = "regression as text"
EPSILON = 1e-8  # of R's glm.control; statsmodels' GLM asks for 1e-8 of the deviance itself
STEPS = 25  # of R's glm.control
SEPARATED = 0.1  # a deviance below which nearly every share is the response itself
SEPARATING = "the columns separate the classes: the deviance says how near the shares are to them"
_NUMBER = r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?"
_STATSMODELS = re.compile(r"\s*(?:([A-Z][\w -]{2,60}?) Regression Results|Results: ([\w -]{2,60}?))\s*$", re.MULTILINE)
_R_CALL = re.compile(r"\s*Call:\s+(?:glm|lm|stats::glm|stats::lm)\(")
_LINE = re.compile(
    rf"\s{{0,80}}(\S.{{0,120}}?)\s{{1,80}}({_NUMBER})((?:\s{{1,80}}(?:<\s{{0,9}})?(?:{_NUMBER}|nan|inf|NA|-inf)){{1,9}})"
    r"\s{0,80}(?:[*.]{1,3}\s{0,80})?"
)
_DROPPED = re.compile(r"\s*(\S.{0,120}?)(?:\s+(?:NA|nan)){3,6}\s*")
_PAIR = re.compile(
    r"([A-Z][A-Za-z.() #-]{2,40}?|converged):\s{1,40}(\S(?:[^\n:]{0,60}?\S)?)(?=\s{2,}|\s*$|\s+[A-Z][\w. -]{2,30}:)"
)
_FREE = re.compile(r"(Null|Residual) deviance:\s*([\d.eE+-]{1,30})\s+on\s+(\d{1,12})\s+degrees of freedom")
_ERROR = re.compile(r"Residual standard error:\s*[\d.eE+-]{1,30}\s+on\s+(\d{1,12})\s+degrees of freedom")
_FAMILY = re.compile(r"Dispersion parameter for (\w{2,30}) family taken to be")
_LINK = re.compile(r"link\s*=\s*[\"']?(\w{2,20})")
_RESPONSE = re.compile(r"formula\s*=\s*([\w.]{1,60})\s*~")
OF_TITLE = {"Logit": ("binomial", "logit"), "Poisson": ("poisson", "log"), "OLS": ("gaussian", "identity")}


def looks_like_printed_regression(head: str) -> bool:
    """Return whether a text begins as a printed summary of statsmodels or R."""
    return _R_CALL.match(head) is not None or _STATSMODELS.match(head) is not None


@dataclass(frozen=True)
class PrintedCoefficients:
    """What a summary says: coefficients by name, each between two ends, family and link, rows, deviance, response."""

    weights: Mapping[str, Ends]
    family: str = ""
    link: str = ""
    rows: int | None = None
    deviance: float | None = None
    response: str = ""
    notes: tuple[str, ...] = ()
    ended: bool = True

    def draft(self, form: str) -> ScoreDraft:
        """Return what follows once everybody's columns are known; `Unsupported` naming families that are not read."""
        mean = mean_function(self.family, self.link)
        terms = with_constant(list(self.weights))
        solved = self.family == "gaussian"
        if not self.ended and (mean is not SHARES or self.deviance is None or self.deviance > SEPARATED):
            raise Unsupported("the fit took all of its 25 steps: how far it was from the equations is not known")
        notes = () if solved else (CONVERGED,) if self.ended else (SEPARATING,)
        return ScoreDraft(
            Provenance(form, ("size",), (UNWEIGHTED, *self.notes, *notes)),
            tuple(Feature(one, one) for one in terms if one),
            classes=(0, 1) if mean in {SHARES, COUNTS} else None,
            label=free_label(terms, self.response or "label"),
            terms=terms,
            weights=tuple(self.weights.values()),
            mean=mean,
            epsilon=0.0 if solved else EPSILON if self.ended else math.inf,
            deviance=self.deviance,
            count=self.rows,
        )


def ends_of_last_digit(text: str) -> Ends:
    """Return a printed number, half a unit of its last digit to both sides."""
    digits, _, power = text.lower().partition("e")
    value = Fraction(text)
    half = Fraction(1, 2) * Fraction(10) ** (int(power or 0) - len(digits.partition(".")[2]))
    return value - half, value + half


def read_printed_regression(text: str) -> Draft:
    """Return what a printed summary says. Cost: linear in the text.

    Raises `Unsupported` naming models, weights and offsets that are not read, `ReleaseError` for broken lines.
    """
    found = _of_r(text) if _R_CALL.match(text) else _of_statsmodels(text)
    return found.draft(f"{PRINTED} ({'R' if _R_CALL.match(text) else 'statsmodels'})")


def _coefficients(lines: list[str], first: int) -> dict[str, Ends]:
    """Return the coefficients of a table from line `first` on, which ends at the first line that is none of it."""
    out: dict[str, Ends] = {}
    for line in lines[first:]:
        if found := _LINE.fullmatch(line):
            if found[1] in out:
                raise ReleaseError(f"'{found[1][:60]}' stands twice")
            out[found[1]] = ends_of_last_digit(found[2])
        elif not _DROPPED.fullmatch(line) and (out or not re.fullmatch(r"[-=\s]*", line)):
            break
    if not out:
        raise ReleaseError("has no line of a coefficient below its line of names")
    return out


def _of_r(text: str) -> PrintedCoefficients:
    """Return what R printed of `summary(m)`."""
    call = text.partition("Coefficients:")[0].partition("Residuals:")[0]
    if re.search(r"\bweights\s*=", call):
        raise Unsupported("a weighted fit is not read: its sums are of rows by weight; fit it without weights")
    if re.search(r"\boffset\b", call):
        raise Unsupported("a fit with offsets is not read: what it predicts follows from more than its columns")
    if re.search(r"cbind\(", call):
        raise Unsupported("a binomial model of several trials per row is not read: of 0 and 1 it is")
    if "did not converge" in text:
        raise Unsupported("the fit did not converge: how far it was from the equations is not known")
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if re.match(r"\s+Estimate\s+Std\. Error", line)), None)
    if at is None:
        raise Unsupported("R's regression has no table of coefficients: print(summary(m)) has one")
    family, linear = _FAMILY.search(text), _ERROR.search(text)
    weights = _coefficients(lines, at + 1)
    if family is None and linear is None:
        raise Unsupported("the family of the fit does not stand there: print(summary(m)) as a whole")
    free = {one[1]: (float(one[2]), int(one[3])) for one in _FREE.finditer(text)}
    left = int(linear[1]) if linear else free["Residual"][1] if "Residual" in free else None
    link, response = _LINK.search(call), _RESPONSE.search(call)
    missing = re.search(r"\((\d{1,12}) observations? deleted due to missingness\)", text)
    return PrintedCoefficients(
        weights,
        "gaussian" if family is None else family[1],
        link[1] if link else "",
        None if left is None else left + len(weights),
        None if "Residual" not in free else free["Residual"][0],
        response[1] if response else "",
        ended=f"Fisher Scoring iterations: {STEPS}\n" not in text + "\n",
        notes=(f"the table of known rows is without the {missing[1]} rows that had gaps",) if missing else (),
    )


def _of_statsmodels(text: str) -> PrintedCoefficients:
    """Return what statsmodels printed of `m.summary()` or `m.summary2()`."""
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if re.match(r"\s+[Cc]oef\.?\s+[Ss]td", line)), None)
    title = _STATSMODELS.match(text)
    if at is None or title is None:
        raise Unsupported("a summary of statsmodels without a table of coefficients is not read")
    said: dict[str, str] = {}
    for line in lines[:at]:
        said.update((one[1].strip().lower(), one[2].strip()) for one in _PAIR.finditer(line))
    model = said.get("model", (title[1] or title[2] or "").strip())
    if model == "GLM" or "generalized linear" in (title[1] or title[2]).lower():
        family, link = said.get("model family", "").lower(), said.get("link function", "").lower()
    elif model in OF_TITLE:
        family, link = OF_TITLE[model]
    else:
        raise Unsupported(
            f"of statsmodels' summaries those of OLS, Logit, Poisson and GLM are read, not of {model[:30]}"
        )
    if said.get("converged", "True") not in {"True", "1.0000"}:
        raise Unsupported("the fit did not converge: how far it was from the equations is not known")
    rows, deviance = said.get("no. observations", ""), said.get("deviance", "")
    return PrintedCoefficients(
        _coefficients(lines, at + 1),
        family,
        link,
        int(rows) if re.fullmatch(r"\d{1,12}", rows) else None,
        float(deviance) if re.fullmatch(_NUMBER, deviance) else None,
        said.get("dep. variable", said.get("dependent variable", "")),
    )
