"""Three-valued logic on intervals: a claim is violated only where every value in the interval violates it.

An interval `[least, most]` holds every number between its ends, ends included; `most` None: no upper bound is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

Outcome = Literal["met", "violated", "inconclusive", "not applicable"]
Direction = Literal["at least", "at most"]
Interval = Sequence[float | None]


def compared(interval: Interval, direction: Direction, threshold: float) -> Outcome:
    """Return whether all numbers of an interval are on the right side of a threshold ("met"), none is, or only some."""
    return at_least(interval, threshold) if direction == "at least" else at_most(interval, threshold)


def at_least(interval: Interval, threshold: float) -> Outcome:
    """Return whether all numbers of an interval are at least the threshold ("met"), none is, or only some are."""
    least, most = ends(interval)
    if most is not None and most < threshold:
        return "violated"
    return "met" if least >= threshold else "inconclusive"


def at_most(interval: Interval, threshold: float) -> Outcome:
    """Return whether all numbers of an interval are at most the threshold ("met"), none is, or only some are."""
    least, most = ends(interval)
    if least > threshold:
        return "violated"
    return "met" if most is not None and most <= threshold else "inconclusive"


def none_small(interval: Interval, threshold: float) -> Outcome:
    """Return whether a group of so many rows is large enough or empty: 0 rows are no group and violate nothing.

    Rows are whole, so that a threshold of 1 asks for nothing. "violated" where it surely has a row and surely fewer
    than the threshold.
    """
    least, most = ends(interval)
    if threshold <= 1:
        return "met"
    if most is not None and most < threshold:
        return "violated" if least > 0 else "met" if most == 0 else "inconclusive"
    return "met" if least >= threshold else "inconclusive"


def all_of(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of several claims at once: violated if one is, met if all are, else inconclusive.

    Claims that do not apply count as met; without any claim: "met".
    """
    found = set(outcomes)
    if "violated" in found:
        return "violated"
    return "inconclusive" if "inconclusive" in found else "met"


def ends(interval: Interval) -> tuple[float, float | None]:
    """Return least and most of an interval; a least that is not known counts as 0, no figure here is below."""
    least, most = interval
    return (0 if least is None else least), most


def interval_text(interval: Interval, unit: str, digits: int = 4) -> str:
    """Return an interval in words: "1 row", "between 1 and 5 rows", "at least 3 rows", "at most 5 bits".

    `unit`: "row", "bit" or "person"; bits are rounded to so many significant digits.
    """
    least, most = ends(interval)
    if most is None:
        return f"at least {counted(least, unit, digits)}" if least > 0 else f"an unknown number of {plural(unit)}"
    if figure(least, digits) == figure(most, digits):
        return counted(least, unit, digits)
    if least <= 0:
        return f"at most {counted(most, unit, digits)}"
    return f"between {figure(least, digits)} and {counted(most, unit, digits)}"


def counted(number: float, unit: str, digits: int = 4) -> str:
    """Return a number with its unit: "1 row", "1,234 people", "2.5 bits"."""
    return f"{figure(number, digits)} {unit if number == 1 else plural(unit)}"


def plural(unit: str) -> str:
    """Return several of a unit."""
    return {"person": "people"}.get(unit, f"{unit}s")


def figure(number: float, digits: int = 4) -> str:
    """Return a number for people: thousands with commas, fractions with so many significant digits."""
    if number == int(number):
        return f"{int(number):,}"
    return f"{number:,.{digits}g}" if number < 9_999.5 else f"{number:,.1f}"
