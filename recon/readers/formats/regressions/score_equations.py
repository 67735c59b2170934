"""Regressions beside everybody's columns: sums over responses, from the equations that a fit solves.

A generalised linear model with the link that belongs to its family (logit of shares, log of counts, identity of
numbers) is fitted where Σ (μ - y) x = -penalty for every column x, with μ what it predicts. Coefficients and columns
give μ, so that each Σ y x is known: up to the digits of the coefficients, and to how far from there the solver stopped.

The bounds. With η = Σ b x, μ' = dμ/dη and coefficients b that are off by at most h, each μ is off by μ' (Δη) and at
most the largest |μ''| u² / 2, u = Σ h |x|; so Σ μ x is off by Σ_k |Σ μ' x x_k| h_k and the sum of the others. A last
step d of Newton's method leaves Σ |x| |μ''| (d x)² / 2 at most. Where only the deviance D is known to have changed by
less than ε (D + .1): with steps of less than 1 in every η, μ'' <= μ' gives the step's length Σ μ' (d x)² at most 3.6
times half of that, and what is left at most e / 2 of it times the largest |x|: less than `LEFT` times max |x| ε D.

Source: McCullagh, Nelder, "Generalized Linear Models", 1989, sections 2.5 and 4.4; Bach, "Self-concordant analysis for
logistic regression", Electronic Journal of Statistics 4, 2010 (how far a step of Newton's method is from the end).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.values import Categorical, equals, plain_number
from encoders.models.linear_figures import LinearFigure, LinearTerm
from encoders.models.models import PublishedFigure, Table, UnusedPublication
from recon.readers.formats.drafts.binding import Binder, Feature
from recon.readers.formats.drafts.drafts import Draft, MadeOf
from recon.readers.formats.regressions.least_squares import (
    CONSTANTS,
    DesignColumn,
    attribute_column,
    freedom_within,
    response_column,
)
from recon.readers.formats.regressions.sums_of_products import Ends, product_of
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.foundation.exact import short_number
from solvers.statements.release import RowCount

Floats = NDArray[np.float64]
ROUNDING = 1e-12  # of sums of so many doubles, relative
LEFT = 10.0  # times what a stop by the deviance leaves of the equations: 4.9 halves, and twice as much beside
MAX_COUNT = 10_000  # of a response of counts, whose values are listed
MAX_NODES = 20_000  # of sums that are gone through together
SAFE = 1e-6  # beside what doubles are off, relative to bounds of size 1
LARGEST_STEP = 1.0  # in a predicted number, for which the bound on what a stop leaves holds
UNWEIGHTED = "the rows were fitted without weights"
STOPPED = "the solver stopped within its tolerance (a fit that warned of no convergence did not)"
CONVERGED = "the fit converged as R's glm and statsmodels ask: its deviance changed by less than 1e-8 of itself at last"
NO_COLUMNS = (
    "coefficients alone give sums over responses where everybody's columns are known: give --known-columns "
    "(recon.load(..., known_columns=...)); `recon inspect` says what else the file holds"
)
CHANGED = "a digit was changed, rows were weighted, or the table is of other rows"
NAMED_VALUE = re.compile(r"(?:C\(|factor\(|as\.factor\()?([^\[\](),]+)(?:,[^\[\]]*)?\)?\[(?:T\.)?(.+)\]")


@dataclass(frozen=True)
class MeanFunction:
    """What a model predicts of η: `of` (μ), `slope` (μ'), `bend`: the largest |μ''| within u of η."""

    name: str
    of: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    bend: Callable[[Floats, Floats], Floats]


def _shares(eta: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(eta, -700, 700))))


def _exponentials(eta: Floats) -> Floats:
    return np.asarray(np.exp(np.clip(eta, -700, 700)))


SHARES = MeanFunction(
    "shares", _shares, lambda eta: _shares(eta) * _shares(-eta), lambda eta, _: np.full(len(eta), 0.0963)
)
COUNTS = MeanFunction("counts", _exponentials, _exponentials, lambda eta, u: _exponentials(eta + u))
NUMBERS = MeanFunction("numbers", lambda eta: eta, lambda eta: np.ones(len(eta)), lambda eta, _: np.zeros(len(eta)))
CANONICAL = {("binomial", "logit"): SHARES, ("poisson", "log"): COUNTS, ("gaussian", "identity"): NUMBERS}


def mean_function(family: str, link: str) -> MeanFunction:
    """Return what a model of a family predicts; `Unsupported` naming links that do not belong to it, other families."""
    family, own = family.lower(), {"binomial": "logit", "poisson": "log", "gaussian": "identity"}
    if family not in own:
        raise Unsupported(f"a model of the family {family[:30]} is not read: binomial, poisson and gaussian are")
    if link.lower() not in {own[family], ""}:
        raise Unsupported(
            f"a {family} model with the link {link[:30]} is not read: its equations weigh every row, with the link "
            f"{own[family]} they do not"
        )
    return CANONICAL[family, own[family]]


@dataclass(frozen=True)
class DesignTerm:
    """A column of X as a product of columns of the table, or of whether they have a value; () the constant."""

    factors: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, name: str, table: pd.DataFrame, levels: Mapping[str, frozenset[str]]) -> DesignTerm | None:
        """Return the column of a name, None where the table does not have it: `sexM`, `C(sex)[T.M]`, `age:sexM`."""
        if not name:
            return cls(())
        if name in levels:
            return cls(((name, None),))
        if (found := NAMED_VALUE.fullmatch(name)) and found[2] in levels.get(found[1].strip(), ()):
            return cls(((found[1].strip(), found[2]),))
        for column, known in levels.items():
            rest = name.removeprefix(column).strip(" _=.") if name.startswith(column) else ""
            whole = name == column + rest and rest[:1].isdigit()  # "age2" is no age of 2
            if rest in known and not whole:
                return cls(((column, rest),))
        parts = [cls.of(part, table, levels) for part in re.split(r":|\*", name)] if re.search(r"[:*]", name) else []
        if parts and all(part is not None for part in parts):
            return cls(tuple(factor for part in parts if part is not None for factor in part.factors))
        return None

    def numbers(self, table: pd.DataFrame) -> Floats:
        """Return its value in every row; `ReleaseError` naming a column that has other things than numbers."""
        out = np.ones(len(table))
        for column, value in self.factors:
            if value is None:
                found = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64)
                if not np.isfinite(found).all():
                    raise ReleaseError(f"column '{column}' of the table of known rows has values that are no numbers")
            else:
                found = (table[column].map(_cell_text) == value).to_numpy(dtype=np.float64)
            out = out * found
        return out

    def column(self, binder: Binder) -> DesignColumn:
        """Return it over a domain."""
        out = DesignColumn(ends=(Fraction(1), Fraction(1)))
        for name, value in self.factors:
            domain = binder.domain
            place = domain.place.get(name)
            if place is None:
                one = DesignColumn(((name, equals(1)),))
            elif value is None:
                one = attribute_column(domain.all[place], name)
            else:
                attribute = domain.all[place]
                known = attribute.values if isinstance(attribute, Categorical) else ()
                wanted = next((v for v in known if _cell_text(v) == value), None)
                if wanted is None:
                    return DesignColumn(unit=None, why=f"'{name}' has no value {value[:40]} in the domain")
                one = DesignColumn(((name, equals(wanted)),))
            if one.unit is None:
                return one
            assert out.unit is not None
            if why := out.beside(one):
                return DesignColumn(unit=None, why=why)
            ends = product_of(out.ends, one.ends)
            unit = out.unit * one.unit
            out = DesignColumn((*out.where, *one.where), (*out.of, *one.of), unit, ends, "", out.coarse or one.coarse)
        return out


def _cell_text(value: Any) -> str:
    """Return a cell as names of columns write it."""
    return str(value).strip().removesuffix(".0")


@dataclass(frozen=True, eq=False)
class SumBox:
    """Sums as `middle` + `slopes` δ + r: every |δ_k| at most `half[k]`, every |r_j| at most `rest[j]`."""

    middle: tuple[Fraction, ...]
    slopes: Floats
    half: Floats
    rest: Floats

    def ends(self) -> list[Ends]:
        """Return the least and the greatest that each sum can be by itself."""
        off = (np.abs(self.slopes) @ self.half + self.rest) * (1 + ROUNDING)
        return [(m - Fraction(o), m + Fraction(o)) for m, o in zip(self.middle, off.tolist(), strict=True)]

    def whole_ends(self, unit: Sequence[Fraction]) -> list[Ends]:
        """Return the ends of sums that are multiples of units: by all sums together where these are few.

        Multiples z unit with |A (z unit - middle)| within bounds lie in an ellipsoid, which is gone through from the
        last sum on (Fincke, Pohst). An end is above the other where no multiples are left.
        """
        ends = [(u * math.ceil(a / u), u * math.floor(b / u)) for (a, b), u in zip(self.ends(), unit, strict=True)]
        if all(low == high for low, high in ends) or any(low > high for low, high in ends):
            return ends
        try:
            inverse = np.linalg.inv(self.slopes)
        except np.linalg.LinAlgError:
            return ends
        spread = np.abs(inverse @ self.slopes - np.eye(len(unit)))
        wide = (self.half + 2 * spread @ self.half + np.abs(inverse) @ self.rest) * (1 + SAFE)
        near = [round(m / u) for m, u in zip(self.middle, unit, strict=True)]
        shift = np.array([float(m - z * u) for m, z, u in zip(self.middle, near, unit, strict=True)])
        units = np.array([float(u) for u in unit])
        if not np.isfinite(inverse).all() or spread.max() > SAFE or not (wide > 0).all():
            return ends
        form = inverse / wide[:, None]
        reach = [(int(a / u) - z, int(b / u) - z) for (a, b), u, z in zip(ends, unit, near, strict=True)]
        found = _whole_points(form * units, form @ shift, reach)
        if found is None:
            return ends
        if not len(found):
            return [(Fraction(1), Fraction(0))] * len(unit)
        least, most = found.min(axis=0).tolist(), found.max(axis=0).tolist()
        return [(u * (z + a), u * (z + b)) for u, z, a, b in zip(unit, near, least, most, strict=True)]

    def turned(self, times: Sequence[Fraction], plus: Sequence[Fraction], constant: int, off: Floats) -> SumBox:
        """Return the sums of columns x where these are of `times` x + `plus`, up to `off` more.

        `constant`: the place of the sum of y; any where nothing is added.
        """
        form = np.diag([1 / float(a) for a in times])
        form[:, constant] -= [float(b / a) for a, b in zip(times, plus, strict=True)]
        middle = tuple((m - b * self.middle[constant]) / a for m, a, b in zip(self.middle, times, plus, strict=True))
        return SumBox(middle, form @ self.slopes, self.half, np.abs(form) @ self.rest * (1 + SAFE) + off)


def _whole_points(form: Floats, target: Floats, reach: Sequence[tuple[int, int]]) -> NDArray[np.int64] | None:
    """Return all whole z in reach with every |form z - target| at most 1, None where they are too many."""
    q, r = np.linalg.qr(form)
    aim, size, done = q.T @ target, len(target), list[NDArray[np.int64]]()
    z, most = np.zeros(size), size * (1 + SAFE)
    nodes = 0

    def go(j: int, left: float) -> bool:
        nonlocal nodes
        middle = (aim[j] - r[j, j + 1 :] @ z[j + 1 :]) / r[j, j]
        room = math.sqrt(left) / abs(r[j, j]) + SAFE
        first, last = max(reach[j][0], math.ceil(middle - room)), min(reach[j][1], math.floor(middle + room))
        for value in range(first, last + 1):
            nodes += 1
            if nodes > MAX_NODES:
                return False
            z[j] = value
            rest = left - (r[j, j] * (value - middle)) ** 2
            if j == 0:
                if np.abs(form @ z - target).max() <= 1 + SAFE:
                    done.append(z.astype(np.int64))
            elif rest >= -SAFE and not go(j - 1, max(0.0, rest)):
                return False
        return True

    whole = go(size - 1, most)
    return np.array(done).reshape(-1, size) if whole else None


@dataclass(frozen=True, eq=False)
class MadeColumn:
    """A column that a pipeline makes of a table: `times` `term` + `plus`, in doubles `numbers`."""

    term: DesignTerm
    numbers: Floats
    times: Fraction = Fraction(1)
    plus: Fraction = Fraction(0)

    @classmethod
    def of(cls, name: str, table: pd.DataFrame, make: Callable[[Any], Any], linear: Ends | None) -> MadeColumn:
        """Return what is made of a column, by `linear` (times, plus), else of whether it has one of its values.

        Raises `Unsupported` naming a column of which neither holds.
        """
        if name not in table:
            raise ReleaseError(f"the table of known rows has no column '{name}', which the model has")
        found = pd.to_numeric(table[name], errors="coerce")
        cells = found.tolist() if found.notna().all() else table[name].tolist()
        made = {cell: make(cell) for cell in dict.fromkeys(cells)}
        if not all(isinstance(x, (int, float)) and math.isfinite(x) for x in made.values()):
            raise ReleaseError(f"the table of known rows has values of '{name}' of which the model is given no number")
        numbers = np.array([made[cell] for cell in cells], dtype=np.float64)
        if linear is not None:
            return cls(DesignTerm(((name, None),)), numbers, *linear)
        levels = sorted(set(map(float, made.values())))
        alone = [[cell for cell, x in made.items() if x == level] for level in levels]
        if len(levels) > 2 or not any(len(some) == 1 for some in alone):
            raise Unsupported(
                f"what the pipeline makes of '{name[:60]}' is neither a multiple of it nor whether it has one value"
            )
        one = max(k for k, some in enumerate(alone) if len(some) == 1)
        other = levels[1 - one] if len(levels) == 2 else 0.0
        term = DesignTerm(((name, _cell_text(alone[one][0])),))
        return cls(term, numbers, Fraction(levels[one]) - Fraction(other), Fraction(other))


@dataclass(frozen=True, eq=False)
class ScoreDraft(Draft):
    """A fit before anybody's columns are known: coefficients of `terms` ("" the constant), each between two ends.

    Σ (μ - y) x of term j is `ends[j]`, up to `off` per row and `beside`. `step`: how far the last step of Newton's
    method moved every coefficient; `epsilon`: by which share the deviance changed in it (0: `off` says it all;
    infinite: it did not end), with `deviance` at the end (None: not published). `count`: rows, where the file says it.
    `position`: of shares, the class whose they are.
    """

    terms: tuple[str, ...] = ()
    weights: tuple[Ends, ...] = ()
    mean: MeanFunction = SHARES
    ends: tuple[float, ...] = ()
    off: float = 0.0
    beside: float = 0.0
    step: tuple[float, ...] = ()
    epsilon: float = 0.0
    deviance: float | None = None
    count: int | None = None
    found: tuple[DesignTerm, ...] = ()
    sums: SumBox | None = None
    position: int = 1

    def of_known(self, table: pd.DataFrame, label: str) -> ScoreDraft:
        """Return the draft with the sums that follow from everybody's columns.

        Raises `ReleaseError` for columns that the table does not have, are no numbers, or leave no sum. Cost: rows
        times the square of the columns.
        """
        own = [str(c) for c in table.columns if str(c) != label]
        names = list(self.terms)
        if not self.named:
            inner = [j for j, name in enumerate(names) if name]
            if len(own) != len(inner):
                raise ReleaseError(f"the model has {len(inner)} columns without names, the table has {len(own)}")
            for j, name in zip(inner, own, strict=True):
                names[j] = name
        if self.count is not None and len(table) != self.count:
            raise ReleaseError(f"the table has {len(table):,} rows, the model is of {self.count:,}")
        levels = {name: frozenset(map(_cell_text, table[name].unique()[:1_000])) for name in own}
        terms = [DesignTerm.of(name, table, levels) for name in names]
        for name, term in zip(names, terms, strict=True):
            if term is None:
                raise ReleaseError(f"the table of known rows has no column '{name}', which the model has")
        found = [term for term in terms if term is not None]
        design = np.column_stack([term.numbers(table) for term in found])
        return self._with_sums(table, names, found, design, self._sums(design))

    def of_made(self, table: pd.DataFrame, columns: Sequence[MadeOf]) -> ScoreDraft:
        """Return the draft with the sums over a table's own columns, where a pipeline makes the model's of these.

        Raises `Unsupported` where a column is shifted and the model has no constant.
        """
        constant = self.terms.index("") if "" in self.terms else None
        made = [MadeColumn.of(name, table, make, linear) for name, make, linear in columns]
        every = [*made, *([] if constant is None else [MadeColumn(DesignTerm(()), np.ones(len(table)))])]
        if constant is None and any(one.plus for one in every):
            raise Unsupported("a model without a constant, of columns that a step shifts, is not read")
        if any(not one.times for one in every):
            raise Unsupported("a step makes the same number of all values of a column")
        times, plus = [one.times for one in every], [one.plus for one in every]
        design = np.column_stack([one.numbers for one in every])
        slack = [(np.abs(one.numbers).max() + abs(float(one.plus))) / abs(float(one.times)) for one in every]
        sums = self._sums(design).turned(times, plus, constant or 0, ROUNDING * len(table) * np.array(slack))
        found = [one.term for one in every]
        names = ["" if not one.factors else "".join(f"{n}[{v}]" if v else n for n, v in one.factors) for one in found]
        return self._with_sums(table, names, found, design, sums)

    def _with_sums(
        self, table: pd.DataFrame, names: list[str], found: list[DesignTerm], design: Floats, sums: SumBox
    ) -> ScoreDraft:
        """Return the draft of a table's columns with sums over them."""
        used = list(dict.fromkeys(name for term in found for name, _ in term.factors))
        hints = {name: one for name in used if (one := _column_values(name, table[name])) is not None}
        classes, top = self.classes, MAX_COUNT
        if self.mean is COUNTS:
            top = _largest_count(design, [high for _, high in sums.ends()])
            classes = tuple(range(top + 1))
        return replace(
            self,
            features=tuple(Feature(name, name) for name in used),
            classes=classes,
            rows=RowCount(len(table), len(table)),
            hints=hints,
            named=True,
            terms=tuple(names),
            found=tuple(found),
            sums=sums,
        )

    def left_out(self) -> str:
        """Return that everybody's columns are needed, where they are not known."""
        return NO_COLUMNS if self.sums is None else ""

    def _sums(self, design: Floats) -> SumBox:
        """Return Σ y x of every column."""
        rows = len(design)
        middle = np.array([float((low + high) / 2) for low, high in self.weights])
        half = np.array([float((high - low) / 2) * (1 + ROUNDING) for low, high in self.weights])
        half += ROUNDING * np.abs(middle)
        eta, sizes = design @ middle, np.abs(design)
        slope, mean = self.mean.slope(eta), self.mean.of(eta)
        wide = sizes @ half
        rest = sizes.T @ (self.mean.bend(eta, wide) * wide**2) / 2
        if self.step:
            wide = np.abs(design @ np.array(self.step))
            if self.mean is not NUMBERS and wide.max(initial=0) > LARGEST_STEP:
                raise Unsupported("the last step of the solver was too long: fit it until it converges")
            rest += sizes.T @ (self.mean.bend(eta, wide) * wide**2)  # twice what a step of this length leaves
        if self.epsilon:
            rest += sizes.max(axis=0) * self._left_of_equations(mean)
        given = np.array(self.ends) if self.ends else np.zeros(len(middle))
        by_row = np.abs(mean) + slope * (sizes @ (np.abs(middle) + half)) + 1
        rest += rows * self.off + self.beside + ROUNDING * (rows + 8) * (sizes.T @ by_row + np.abs(given))
        if not np.isfinite(rest).all():
            raise ReleaseError("the coefficients predict numbers beyond doubles for these columns")
        sums = [math.fsum((mean * column).tolist()) - end for column, end in zip(design.T, given, strict=True)]
        return SumBox(tuple(map(Fraction, sums)), design.T @ (slope[:, None] * design), half, rest)

    def _left_of_equations(self, mean: Floats) -> float:
        """Return the most that the last step left of an equation whose column is at most 1."""
        left = LEFT * self.epsilon * (self._largest_deviance(mean) + 0.1)
        if self.mean is SHARES and self.deviance is not None:
            left = min(left, 0.51 * abs(self.deviance))  # D = -2 Σ log(1 - |y - μ|) is at least 2 Σ |y - μ|
        return left

    def _largest_deviance(self, mean: Floats) -> float:
        """Return the most that the deviance can be: that of the fit without columns, or what was published."""
        if self.deviance is not None:
            return abs(self.deviance) * 1.01
        if self.mean is SHARES:
            return 2 * math.log(2) * len(mean)  # of shares of one half, which is no better than the fit
        if self.mean is NUMBERS:
            return 0.0
        total = float(mean.sum())
        if "" not in self.terms:
            raise Unsupported("a model of counts without a constant is read where its deviance is given too")
        return 2 * total * max(1.0, math.log(total / max(float(mean.min()), 1e-300)))

    def bound(self, binder: Binder) -> tuple[Table, ...]:
        """Return the table over a domain; `Unsupported` where nobody's columns are known."""
        if (why := self.left_out()) or self.sums is None:
            raise Unsupported(why)
        figures, left = list[PublishedFigure](), list[UnusedPublication]()
        if self.rows is not None:
            figures.append(PublishedFigure((), count=self.rows.low, name="all rows"))
        answer = self._response(binder)
        columns = [term.column(binder) for term in self.found]
        whys = [(one.why or one.beside(answer)) if answer.unit is not None else answer.why for one in columns]
        units = [
            None if why or one.unit is None or answer.unit is None else one.unit * answer.unit
            for one, why in zip(columns, whys, strict=True)
        ]
        whole = [unit for unit in units if unit is not None]
        ends = self.sums.whole_ends(whole) if len(whole) == len(units) else self.sums.ends()
        for name, column, unit, (low, high), why in zip(self.terms, columns, units, ends, whys, strict=True):
            about = f"'{name[:60]}'" if name else "the constant"
            if unit is None:
                left.append(UnusedPublication(f"the equation of {about}", why, labels=True, about="columns"))
                continue
            first, last = unit * math.ceil(low / unit), unit * math.floor(high / unit)
            if first > last:
                raise self._contradiction(units)
            where = tuple(dict.fromkeys((*column.where, *answer.where)))
            figure = LinearFigure((LinearTerm((where,), (*column.of, *answer.of)),), first, last)
            figures.append(PublishedFigure((), linear=figure, name=self._said(name[:60])))
        free = freedom_within(self.rows, len(self.terms))
        origin = replace(self.origin, unused=(*self.origin.unused, *left), freedom=free)
        return (Table(tuple(figures), "score equations", origin=origin),)

    def _contradiction(self, units: Sequence[Fraction | None]) -> ContradictionError:
        """Return the error that names the equation, or the equations together, that no responses meet."""
        assert self.sums is not None
        for name, unit, (low, high) in zip(self.terms, units, self.sums.ends(), strict=True):
            if unit is not None and math.ceil(low / unit) > math.floor(high / unit):
                about = f"the equation of '{name[:60]}'" if name else "the equation of the constant"
                ends = f"a sum of {short_number(low, 10)} to {short_number(high, 10)}"
                ends += f", and sums are multiples of {short_number(unit)}"
                return ContradictionError(
                    f"no responses of these rows have the coefficients: {about} asks for {ends}; {CHANGED}", (about,)
                )
        about = "the equations of all coefficients together"
        return ContradictionError(
            f"no responses of these rows have the coefficients: {about} leave no sums that are "
            f"multiples of their units; {CHANGED}",
            (about,),
        )

    def _said(self, name: str) -> str:
        """Return what the sum of a column is called."""
        if self.mean is SHARES and self.classes is not None:
            return f"{name or 'rows'} in class {self.classes[self.position]}"
        return f"sum of {f'{name} and ' if name else ''}{self.label[:60]}"

    def _response(self, binder: Binder) -> DesignColumn:
        """Return the response over the domain: whether a row is of the class at `position`, or a number."""
        label = binder.domain.label
        if self.mean is SHARES:
            assert label is not None
            assert binder.order is not None
            return DesignColumn(((label.name, equals(label.value_at(binder.order.index(self.position)))),))
        return response_column(self.label, binder)


def _column_values(name: str, column: pd.Series) -> Categorical | None:
    """Return a column of the values that occur in it; None where all are the same."""
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().all():
        values = [plain_number(Fraction(repr(v))) for v in np.unique(numbers.to_numpy(dtype=np.float64)).tolist()]
        return Categorical(name, tuple(values)) if len(values) > 1 else None
    texts = sorted({str(v) for v in column.tolist()})
    return Categorical(name, tuple(texts)) if len(texts) > 1 else None


def _largest_count(design: Floats, sums: Sequence[Fraction]) -> int:
    """Return the most that a count of one row can be, by every sum of columns that are nowhere below 0."""
    most = np.full(len(design), np.inf)
    for column, total in zip(design.T, sums, strict=True):
        if (column >= 0).all():
            with np.errstate(divide="ignore"):
                most = np.minimum(most, np.where(column > 0, float(total) * (1 + ROUNDING) / column, np.inf))
    top = float(most.max(initial=0))
    if not top < MAX_COUNT:
        raise Unsupported(f"counts of a row that may be {top:.6g} are not listed: at most {MAX_COUNT:,} are")
    return max(1, math.floor(top))


def with_constant(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of coefficients with "" for the constant."""
    return tuple("" if name.lower() in CONSTANTS else name for name in names)
