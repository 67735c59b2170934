"""Linear figures: what terms with any coefficients add up to over published rows, as it was published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from encoders.domain.domain import Condition

MAX_SHOWN = 80  # letters of a condition in a source
ConditionChange = Callable[[Condition], Condition]


def condition_text(condition: Condition) -> str:
    """Return a condition in words: "sex = F and age at least 3"."""
    return " and ".join(f"{name} {test}" for name, test in condition)


def short_text(text: str) -> str:
    """Return a text of at most `MAX_SHOWN` letters."""
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


@dataclass(frozen=True, slots=True)
class LinearTerm:
    """`times` the product of the values of `of` (none: 1) for every row that meets one of the conditions."""

    conditions: tuple[Condition, ...] = ((),)
    of: tuple[str, ...] = ()
    times: Fraction = Fraction(1)

    @property
    def text(self) -> str:
        """Return what a row adds in words, without its sign: "37/100 × age"."""
        times = abs(self.times)
        return ("" if times == 1 else f"{times} × ") + (" × ".join(self.of) or "rows")


@dataclass(frozen=True, slots=True)
class LinearFigure:
    """What terms add up to over all rows: between `low` and `high` (None: open), or `value` ± `within`.

    In a model with noise `value` is what was published: the sum and noise.
    """

    terms: tuple[LinearTerm, ...]
    low: Fraction | None = None
    high: Fraction | None = None
    value: Fraction | None = None
    within: Fraction = Fraction(0)

    @property
    def interval(self) -> tuple[Fraction | None, Fraction | None]:
        """Return the closed interval that the figure stands for, without noise."""
        return (self.low, self.high) if self.value is None else (self.value - self.within, self.value + self.within)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Return the conditions of all terms."""
        return tuple(condition for term in self.terms for condition in term.conditions)

    @property
    def names(self) -> frozenset[str]:
        """Return the attributes and columns whose values are summed."""
        return frozenset(name for term in self.terms for name in term.of)

    def mapped(self, condition: ConditionChange) -> LinearFigure:
        """Return the figure with other conditions."""
        terms = (replace(t, conditions=tuple(map(condition, t.conditions))) for t in self.terms)
        return replace(self, terms=tuple(terms))

    @property
    def text(self) -> str:
        """Return the figure in words: "37/100 × age where sex = F − rows where y = 1, at least 3"."""
        parts = list[str]()
        for term in self.terms:
            where = " or ".join(map(condition_text, term.conditions)) if all(term.conditions) else ""
            sign = " − " if term.times < 0 else " + "
            found = term.text + (f" where {short_text(where)}" if where else "")
            parts.append(f"{sign if parts else sign.strip('+ ')}{found}")
        low, high = self.interval
        if low == high:
            said = f" = {low}"
        elif self.value is not None:
            said = f" = {self.value} ± {self.within}"
        else:
            ends = (f"at {word} {end}" for word, end in (("least", low), ("most", high)) if end is not None)
            said = f", {' and '.join(ends)}"
        return short_text("".join(parts)) + said
