"""Linear regressions as text and R objects: coefficients with their errors, covariances, lines such as `nobs,60`.

What statsmodels (`params`, `bse`, `cov_params()`) and R (`coef(summary(m))`, `vcov(m)`) write as CSV, beside or below
each other. A number is known to its last digit; all numbers of a table were printed with as many digits, so that
shorter ones end in zeros that were left out. R's objects (.rds: `lm`, `summary(m)`, `vcov(m)`) hold the same with 16.

Source: Chambers, Hastie, "Statistical Models in S", 1992, chapter 4 (`lm`, `vcov`); statsmodels 0.13 to 0.15,
regression/linear_model.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from encoders.models.models import Provenance, UnusedPublication
from recon.io.files.sheets import text_sheet
from recon.readers.formats.drafts.binding import Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.printed.rpart_rds import NOTHING, attribute, matrix, models_in, named_parts, vector
from recon.readers.formats.regressions.least_squares import (
    CONSTANTS,
    DOUBLES,
    ROUNDING,
    UNWEIGHTED,
    CovarianceDraft,
    float_errors,
    guessed,
    of_doubles,
    weight_errors,
    without_constant,
)
from recon.readers.formats.regressions.printed_coefficients import OF_TITLE, PrintedCoefficients
from recon.readers.formats.regressions.score_equations import ScoreDraft
from recon.readers.formats.regressions.sums_of_products import Ends
from recon.readers.formats.statistics.shares import ERRORS
from recon.readers.stored.binary.rds import RObject
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.exact import short_number
from solvers.statements.release import RowCount

COEFFICIENTS = "table of counts: coefficients (CSV)"
TABLE = "table of counts: coefficients and covariances (CSV)"
ZEROS = "numbers with fewer digits than the others end in zeros that were not printed"
PARTS = {  # what a line of two cells says, by its name
    "nobs": "rows", "n": "rows", "no. observations": "rows", "rows": "rows", "observations": "rows",
    "scale": "scale", "sigma2": "scale", "sigma^2": "scale", "mse resid": "scale",
    "sigma": "sigma", "residual standard error": "sigma", "rse": "sigma", "root mse": "sigma",
    "df resid": "free", "df residuals": "free", "df.residual": "free", "degrees of freedom": "free",
    "cov type": "errors", "covariance type": "errors", "response": "response", "dep. variable": "response",
    "dependent variable": "response", "covariance": "kind", "weights": "weights",
    "family": "family", "model family": "family", "link": "link", "link function": "link", "model": "model",
    "deviance": "deviance", "residual deviance": "deviance",
}  # fmt: skip
ESTIMATES = {"estimate", "coef", "coef.", "coefficient", "coefficients", "params", "beta"}
BARE = {"x", "0", "value"}  # what coefficients alone are called by write.csv(coef(m)) and m.params.to_csv()
LONGEST, FARTHEST = 40, 300  # characters of a printed number, its exponent
MISSING = {"nan", "na", "inf", "-inf", "+inf", "infinity", "-infinity", "null", "none"}
NOT_ESTIMATED = "is no estimate: the column is a combination of others, or the fit failed; leave it out and fit again"
MAX_DIGITS = 15  # significant ones of a double
PLAIN = {"nonrobust", "classical", "unadjusted", "ols", ""}
_TEST = re.compile(  # columns that follow from the others: tests, and ends of intervals
    r"(?:t|z|p)\b|pr\(|\[?\d*\.\d+\]?$|\d+(?:\.\d+)? ?%|conf|pvalue|tvalue|statistic|ci "
)
_FAMILY_LINE = re.compile(
    r'^"?(?:model )?(?:family|model)"?[,;\t]"?(?:binomial|poisson|gaussian|logit|glm)', re.I | re.M
)
_Z_TEST = re.compile(r"z\b|p>\|z\||pr\(>\|z\|\)")  # of fits by maximum likelihood; least squares has t
FOLLOW = "it follows from coefficients and errors, and is not compared with them"
_NUMBER = re.compile(r"[+-]?(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?")


def looks_like_regression_table(head: str) -> bool:
    """Return whether a text begins as a table of coefficients, or as the covariances of some."""
    lines = [cells for line in head.splitlines()[:12] if any(cells := _cells(line))]
    if _FAMILY_LINE.search(head):
        return True
    while lines and len(lines[0]) == 2 and lines[0][0].lower().replace("_", " ") in PARTS:
        del lines[0]
    if len(lines) < 2 or len(lines[1]) < 2 or not all(_NUMBER.fullmatch(cell) for cell in lines[1][1:]):
        return False
    lower = [cell.lower().replace("_", " ") for cell in lines[0]]
    estimated = bool(set(lower) & ESTIMATES)
    if estimated and (set(lower) & ERRORS or len(lower) == 2):
        return True
    if len(lower) == 2 and lower[1] in BARE and lines[1][0].lower() in CONSTANTS:
        return True
    names = [line[0] for line in lines[1:]]
    square = lines[0][lines[0].index(names[0]) :] if names[0] in lines[0] else []
    shown = min(len(square), len(names))
    if all(cell.isdigit() for line in lines[1:] for cell in line[1:]):
        return estimated  # counts under and beside the same labels
    return (estimated or shown > 1) and shown > 0 and square[:shown] == names[:shown]


def _cells(line: str) -> list[str]:
    """Return the cells of a line of comma, semicolon or tab separated text, without quotes."""
    mark = max(",;\t", key=line.count)
    return [cell.strip(' "\r') for cell in line.split(mark)]


@dataclass(frozen=True)
class _PrintedNumber:
    """A number as it was printed: its value, its decimals, its significant digits."""

    value: Fraction
    decimals: int
    digits: int

    @classmethod
    def of(cls, text: str, place: str) -> _PrintedNumber:
        found = _NUMBER.fullmatch(text)
        if found is None or not (found[1] or found[2]):
            why = NOT_ESTIMATED if text.lower() in MISSING else "is not a number"
            raise ReleaseError(f"'{text[:40]}' {why}", place=place)
        if len(text) > LONGEST or abs(power := int(found[3] or 0)) > FARTHEST:
            why = f"is beyond the numbers read here (at most {LONGEST} characters, exponents of at most {FARTHEST})"
            raise ReleaseError(f"'{text[:40]}' {why}", place=place)
        rest = found[2] or ""
        return cls(Fraction(text), len(rest) - power, len((found[1] + rest).lstrip("0")))


def _ends_of(every: Sequence[_PrintedNumber]) -> tuple[list[Ends], bool]:
    """Return numbers to their last digits, and whether some end in zeros that were not printed.

    All were printed with as many significant digits as the longest, or all with as many decimals: whichever says less.
    """
    digits, decimals = min(MAX_DIGITS, max(n.digits for n in every)), max(n.decimals for n in every)
    out, padded = [], False
    for one in every:
        size = digits + one.decimals - one.digits if one.value else decimals
        last = min(size, decimals)
        padded = padded or last > one.decimals
        half = Fraction(1, 2) * Fraction(10) ** -last
        out.append((one.value - half, one.value + half))
    return out, padded


@dataclass
class _RegressionText:
    """What a text holds: coefficients by name, the matrix of covariances, lines of two cells."""

    weights: dict[str, _PrintedNumber]
    covariances: dict[str, dict[str, _PrintedNumber]]
    parts: dict[str, str]
    errors: dict[str, _PrintedNumber]
    unused: dict[str, None]


def _has_figures(cells: Sequence[str]) -> bool:
    """Return whether a line is one of figures, or of what stands in their place, not one of names."""
    said = list(filter(None, cells[1:]))
    return any(map(_NUMBER.fullmatch, filter(None, cells))) or (bool(said) and MISSING.issuperset(map(str.lower, said)))


def _tables_in(text: str) -> _RegressionText:
    """Return the tables of a text; raise `ReleaseError` naming the line that is none of theirs."""
    found = _RegressionText({}, {}, {}, {}, {})
    header: list[str] = []
    sheet = text_sheet(text)
    for line in sheet.rows:
        cells, place = [cell.strip(' "') for cell in line.cells], sheet.place(line.number)
        lower = [cell.lower().replace("_", " ") for cell in cells]
        if len(cells) == 2 and lower[0] in PARTS:
            found.parts[PARTS[lower[0]]] = cells[1]
        elif set(lower[1:]) & ESTIMATES or not _has_figures(cells) or cells == ["", "0"]:
            header = cells
        elif not header:
            raise ReleaseError(f"'{cells[0][:40]}' stands under no line of names", place=place)
        else:
            if len(header) == len(cells) - 1:
                header = ["", *header]
            if len(header) != len(cells):
                raise ReleaseError(f"has {len(cells)} cells, the line of names {len(header)}", place=place)
            name = cells[0]
            for column, cell in zip(header[1:], cells[1:], strict=True):
                small = column.lower().replace("_", " ")
                if small in ESTIMATES or (len(header) == 2 and small in BARE):
                    if name in found.weights:
                        raise ReleaseError(f"'{name[:60]}' stands twice", place=place)
                    found.weights[name] = _PrintedNumber.of(cell, place)
                elif small in ERRORS:
                    found.errors[name] = _PrintedNumber.of(cell, place)
                elif _TEST.match(small):
                    found.unused[column] = None
                else:
                    found.covariances.setdefault(name, {})[column] = _PrintedNumber.of(cell, place)
    return found


def read_regression_table(text: str) -> Draft:
    """Return what printed coefficients and covariances say. Cost: linear in the text, and cubic in the columns.

    Raises `ReleaseError` naming line and value, `Unsupported` for weights, robust errors and missing covariances.
    """
    found = _tables_in(text)
    parts = found.parts
    family = parts.get("family") or ("" if parts.get("model", "OLS").upper() == "OLS" else parts["model"])
    if family and (family.lower() != "gaussian" or not found.covariances):
        return _of_coefficients(found, family.lower())
    if any(_Z_TEST.match(one.lower()) for one in found.unused):
        raise Unsupported(
            "coefficients with tests of z are not of least squares, and their covariances weigh every row: name the "
            "family in a line below them (family,binomial) and give --known-columns"
        )
    errors = parts.get("errors", "").lower()
    if errors not in PLAIN:
        raise Unsupported(
            f"errors of type {errors[:20]} are not read: their covariance is not a multiple of (X'X)^-1; publish that "
            "of cov_type='nonrobust' beside it, or the coefficients alone"
        )
    if parts.get("weights", "").lower() not in {"", "none", "no"}:
        raise Unsupported("a weighted regression is not read: its sums are of rows by weight; fit it without weights")
    if not found.covariances:
        raise Unsupported(
            f"coefficients {'with standard errors ' if found.errors else ''}alone give no sum of two columns: print "
            "the covariances below them (cov_params().to_csv(), write.csv(vcov(m))); with everybody's columns they "
            "give the sums of the response: name the family in a line below them (family,gaussian, family,binomial or "
            "family,poisson) and give --known-columns"
        )
    names = list(found.weights) or list(found.covariances)
    for name in names:
        if set(found.covariances.get(name, {})) != set(names):
            raise ReleaseError(f"the covariances of '{name[:60]}' are not those of the {len(names)} coefficients")
    ends, padded = _ends_of([found.covariances[a][b] for a in names for b in names])
    low, high = (np.array([e[k] for e in ends], dtype=object).reshape((len(names), len(names))) for k in (0, 1))
    middle, off = (low + high) / 2, (high - low) / 2
    weights, more = _ends_of(list(found.weights.values())) if found.weights else ([], False)
    draft = _of_table(found, names, (middle, off), weights, padded or more)
    return guessed(_with_errors(draft, found) if found.errors and not draft.unscaled else draft)


def _of_coefficients(found: _RegressionText, family: str) -> ScoreDraft:
    """Return what coefficients say by themselves, once everybody's columns are known."""
    parts, (family, link) = found.parts, OF_TITLE.get(family.title(), (family, found.parts.get("link", "")))
    if parts.get("weights", "").lower() not in {"", "none", "no"}:
        raise Unsupported("a weighted regression is not read: its sums are of rows by weight; fit it without weights")
    if not found.weights:
        raise ReleaseError("has no column of coefficients (coef, estimate)")
    rows, free = _whole_part(parts.get("rows"), "the number of rows"), _whole_part(parts.get("free"), "df")
    ends, padded = _ends_of(list(found.weights.values()))
    deviance = None if "deviance" not in parts else float(_PrintedNumber.of(parts["deviance"], "deviance").value)
    return PrintedCoefficients(
        dict(zip(found.weights, ends, strict=True)),
        family,
        link,
        free + len(ends) if rows is None and free is not None else rows,
        deviance,
        parts.get("response", ""),
        notes=(ZEROS,) if padded else (),
    ).draft(COEFFICIENTS)


def _with_errors(draft: CovarianceDraft, found: _RegressionText) -> CovarianceDraft:
    """Return the draft with the squares of standard errors on the diagonal, where these have more digits.

    Raises `ReleaseError` naming the column whose error is none of its covariance.
    """
    ends, padded = _ends_of(list(found.errors.values()))
    middle, off = [list(line) for line in draft.middle], [list(line) for line in draft.off]
    for j, (name, (least, most)) in enumerate(zip(found.errors, ends, strict=True)):
        low = max(middle[j][j] - off[j][j], max(least, Fraction(0)) ** 2 * (1 - ROUNDING))
        high = min(middle[j][j] + off[j][j], most**2 * (1 + ROUNDING))
        if low > high:
            raise ReleaseError(
                f"the standard error {short_number(sum(ends[j]) / 2, 10)} of '{name[:60]}' is not the root of its "
                f"covariance {short_number(middle[j][j], 10)}: one of them is robust, clustered or of another fit; "
                "publish both of one"
            )
        middle[j][j], off[j][j] = (low + high) / 2, (high - low) / 2
    notes = tuple(dict.fromkeys((*draft.origin.notes, *([ZEROS] if padded else []))))
    return replace(
        draft,
        origin=replace(draft.origin, notes=notes),
        middle=tuple(map(tuple, middle)),
        off=tuple(map(tuple, off)),
    )


def _of_table(
    found: _RegressionText, names: list[str], matrix: tuple[Any, Any], weights: list[Ends], padded: bool
) -> CovarianceDraft:
    """Return the draft of a table: errors of doubles are added to those of its digits."""
    parts, (middle, off) = found.parts, matrix
    columns = without_constant(names)
    rows = _whole_part(parts.get("rows"), "the number of rows")
    free = _whole_part(parts.get("free"), "the number of degrees of freedom")
    rows = free + len(names) if rows is None and free is not None else rows
    scale = None
    if "scale" in parts or "sigma" in parts:
        (scale,), _ = _ends_of([_PrintedNumber.of(parts.get("scale", parts.get("sigma", "")), "scale")])
        scale = scale if "scale" in parts else (max(Fraction(0), scale[0]) ** 2, scale[1] ** 2)
        if scale[0] <= 0:
            raise ReleaseError("the variance of residuals is not above 0", place="scale")
    extra = float_errors(np.array(middle, dtype=np.float64), rows or 1_000)
    if not math.isfinite(extra[0, 0]):  # then all of them
        raise ReleaseError("the covariances are no matrix with an inverse: a digit was changed, or too few are printed")
    off = off + np.vectorize(Fraction, otypes=[object])(extra)
    if (np.abs(middle - middle.T) > off + off.T).any():
        a, b = (int(v[0]) for v in np.nonzero(np.abs(middle - middle.T) > off + off.T))
        raise ReleaseError(f"the covariances of '{names[a][:60]}' and '{names[b][:60]}' are not the same both ways")
    found_weights = np.array([float(sum(ends) / 2) for ends in weights])
    each = weight_errors(np.array(middle, dtype=np.float64), found_weights, 1.0, rows or 1_000) if weights else 0
    response = parts.get("response") or "response"
    response = response if response not in columns else free_label(columns, response)
    return CovarianceDraft(
        Provenance(
            TABLE,
            ("size",),
            (UNWEIGHTED, DOUBLES, *([ZEROS] if padded else [])),
            unused=tuple(UnusedPublication(f"the column '{name[:60]}'", FOLLOW) for name in found.unused),
        ),
        tuple(Feature(name, name) for name in (*(c for c in columns if c), response)),
        label=free_label(columns, response),
        rows=None if rows is None else RowCount(rows, rows),
        columns=columns,
        middle=tuple(map(tuple, (middle + middle.T) / 2)),
        off=tuple(map(tuple, off)),
        weights=tuple((low - each, high + each) for low, high in weights),
        scale=scale,
        unscaled=parts.get("kind", "").lower() == "unscaled",
        response=response,
    )


def _whole_part(text: str | None, what: str) -> int | None:
    """Return a number of rows in a line of two cells."""
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,12}(?:\.0*)?", text) or int(float(text)) < 1:
        raise ReleaseError(f"'{text[:40]}' is not {what}")
    return int(float(text))


NEEDED_PARTS = {  # of what is stored without them, nothing is read: a fit without `qr`, or one that was cut down
    "lm": frozenset(["rank", "qr", "coefficients", "residuals"]),
    "summary.lm": frozenset(["cov.unscaled", "df", "coefficients", "sigma"]),
}


def regression_object(root: RObject) -> RObject | None:
    """Return the only linear regression in an R object, or the matrix of covariances that it is; else None."""
    if root.kind == "double" and not root.classes:
        names = [
            [str(v) for v in one.values] for one in attribute(root, "dimnames").values or () if one.values is not None
        ]
        return root if len(names) == 2 and names[0] == names[1] else None
    models = models_in(root)
    wanted = ((one.value, NEEDED_PARTS.get(one.value.classes[0])) for one in models)
    found = [value for value, needed in wanted if needed is not None and needed <= named_parts(value).keys()]
    return found[0] if len(found) == 1 == len(models) else None


def read_regression_rds(value: RObject) -> Draft:
    """Return what an R regression publishes. Cost: cubic in its columns.

    Raises `Unsupported` naming weights, offsets and columns left out, `ReleaseError` naming the part that is broken.
    """
    parts, kind = named_parts(value) if value.classes else {}, (*value.classes, "vcov")[0]
    if parts.get("weights", NOTHING).kind != "nothing" or parts.get("offset", NOTHING).kind != "nothing":
        raise Unsupported("a weighted regression is not read: its sums are of rows by weight; fit it without weights")
    rows, scale, weights = None, None, list[float]()
    if kind == "lm":
        rank, found = vector(parts["rank"], "rank"), named_parts(parts["qr"])
        weights = [float(str(v)) for v in vector(parts["coefficients"], "coefficients")]
        names = [str(v) for v in vector(attribute(parts["coefficients"], "names"), "names(coefficients)")]
        factor = np.array(matrix(found["qr"], "qr$qr"))
        rows, size = len(factor), len(names)
        if rank != [size] or factor.shape[1] != size:
            raise Unsupported("some columns are combinations of others (NA coefficients): leave them out and fit again")
        root = np.triu(factor[:size])
        inverse = np.linalg.inv(root.T @ root)
        left = sum(float(str(v)) ** 2 for v in vector(parts["residuals"], "residuals"))
        scale = left / (rows - size) if rows > size else None
    elif kind == "summary.lm":
        inverse = np.array(matrix(parts["cov.unscaled"], "cov.unscaled"))
        names = _row_names(parts["cov.unscaled"])
        size, free, every = (int(str(v)) for v in vector(parts["df"], "df"))
        if every != size or len(names) != size:
            raise Unsupported("some columns are combinations of others (NA coefficients): leave them out and fit again")
        weights = [line[0] for line in matrix(parts["coefficients"], "coefficients")]
        rows, scale = size + free, float(str(vector(parts["sigma"], "sigma")[0])) ** 2
    else:
        inverse, names = np.array(matrix(value, "vcov")), _row_names(value)
    form = "R vcov matrix (.rds)" if kind == "vcov" else f"R {kind} object (.rds)"
    return of_doubles(form, names, inverse, weights, rows, scale, unscaled=kind != "vcov")


def _row_names(value: RObject) -> list[str]:
    """Return the names of the rows of a matrix."""
    names = attribute(value, "dimnames")
    return [str(v) for v in vector(names.values[0], "dimnames")] if names.kind == "list" and names.values else []
