"""Categories that are ranges of numbers ("65-69", "under 65", "65 and over") as tests on one numeric attribute.

Releases that cut age at 65 and at 66 then say two things about one attribute, not about two lists of words.

Source: the age and size classes of statistical offices: code lists of Eurostat (Y15-24, Y_GE65, Y_LT15) and SDMX
(Y15T24), classes such as "20 and under 25" and "65 bis unter 70 Jahre".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from encoders.domain.values import AnyAttribute, Grid, Test, equals, exact, plain_number

_NUMBER = r"(-?(?:\d{1,3}(?:[,' \u00a0\u202f]\d{3}){1,4}|\d{1,12})(?:[.,]\d{1,6})?)"
_UNITS = {
    "year": r"years?(?: old| of age)?|yrs?|y/o|jahren?|ans|a[nñ]os|anni|jaar",
    "person": r"persons?|people|employees?|besch[aä]ftigten?|personen",
    "month": r"months?|monaten?|mois",
    "week": r"weeks?|wochen?", "day": r"days?|tagen?", "hour": r"hours?|hrs?|stunden?|heures",
    "kg": r"kg", "cm": r"cm", "percent": r"%|percent", "money": r"[$€£¥]|usd|eur|gbp|chf|euros?|dollars?",
}  # fmt: skip
_UNIT = re.compile("|".join(rf"(?P<{name}>(?<![a-zñä]){text}(?![a-zñä]))" for name, text in _UNITS.items()))
_BEFORE = re.compile(r"^(?:(?:ages?|aged|alter|im alter von|âge)\b:?\s*)")
_CODE = re.compile(r"y(?:_?(lt|le|ge|gt)_?(\d{1,3})|(\d{1,3})(?:[-t](\d{1,3}))?)")
_SIGNS = {"lt": "<", "le": "<=", "ge": ">=", "gt": ">", "≤": "<=", "≥": ">=", "=<": "<=", "=>": ">="}
_LESS = "under|below|less than|fewer than|younger than|lower than|unter|moins de|menos de|meno di|onder"
_MOST = "up to|at most|no more than|bis zu|bis|jusqu'à|hasta|maximum|max\\.?"
_MORE = "over|above|more than|greater than|older than|higher than|über|plus de|más de|più di|boven"
_LEAST = "at least|from|no less than|ab|mindestens|à partir de|desde|minimum|min\\.?"
_UP = (
    r"\+|plus|and over|and older|and more|and above|and up|or over|or older|or more|or above|or greater|& over|& older"
    r"|und mehr|und älter|und darüber|und höher|oder mehr|oder älter|et plus|ou plus|y más|e oltre|en ouder|en meer"
)
_DOWN = (
    r"and under|and younger|and less|and below|or under|or younger|or less|or fewer|or below"
    r"|und weniger|und jünger|und darunter|oder weniger|et moins|ou moins|y menos"
)
_BELOW = "under|less than|below|unter"
_UNTIL = rf"(?:[-\u2013\u2014]|to|bis|à)\s*(?:<|{_BELOW})|(?:and|but|bis|to) (?:{_BELOW})"
_TO = r"[-\u2013\u2014]|to|through|thru|until|bis|à|hasta|tot"
_FORMS = tuple(
    (re.compile(form), ends)
    for form, ends in (
        (rf"(<=|=<|≤|<|>=|=>|≥|>)\s*{_NUMBER}", "sign"),
        (rf"(?:{_LESS})\s+{_NUMBER}", "<"),
        (rf"(?:{_MOST})\s+{_NUMBER}", "<="),
        (rf"(?:{_MORE})\s+{_NUMBER}", ">"),
        (rf"(?:{_LEAST})\s+{_NUMBER}", ">="),
        (rf"{_NUMBER}\s*(?:{_UP})", ">="),
        (rf"{_NUMBER}\s*(?:{_DOWN})", "<="),
        (rf"{_NUMBER}\s*(?:{_UNTIL})\s*{_NUMBER}", "[)"),
        (rf"(?:between |von |from |de )?{_NUMBER}\s*(?:{_TO}|(?<=\d) (?:and|und|et) )\s*{_NUMBER}", "[]"),
        (rf"([\[(])\s*{_NUMBER}\s*[,;]\s*{_NUMBER}\s*([\])])", "brackets"),
        (_NUMBER, "="),
    )
)
UNKNOWN = frozenset(
    {"unknown", "not stated", "not known", "not reported", "missing", "unbekannt", "ohne angabe", "keine angabe", "unk"}
)
OLDEST = 120  # years: where an open class of ages ends
_AGE = re.compile(r"(?:.*[ _.-])?(?:ages?|alter|âge|edad|età|leeftijd)(?:[ _.-].*)?|age[a-z]*|alters[a-zü]*")


def band_of(text: str) -> tuple[Test | None, frozenset[str]]:
    """Return the test that a category asks of a number, None where it is no range and no number; and its units.

    >>> [str(band_of(text)[0]) for text in ("65 years and over", "20 and under 25", "Y15-24")]
    ['>= 65', '>= 20 and < 25', '>= 15 and <= 24']
    """
    plain = " ".join(text.replace("\u00a0", " ").lower().split())
    if code := _CODE.fullmatch(plain):
        sign, number, low, high = code.groups()
        if sign:
            return _ranged(_SIGNS[sign], [int(number)]), frozenset({"year"})
        return (equals(int(low)) if high is None else _ranged("[]", [int(low), int(high)])), frozenset({"year"})
    units = frozenset(str(found.lastgroup) for found in _UNIT.finditer(plain))
    plain = " ".join(_UNIT.sub(" ", _BEFORE.sub("", plain)).split())
    for form, ends in _FORMS:
        if (found := form.fullmatch(plain)) is None:
            continue
        parts = [str(part) for part in found.groups()]
        if ends == "sign":
            return _ranged(_SIGNS.get(parts[0], parts[0]), [_number(parts[1])]), units
        if ends == "brackets":
            return _ranged(parts[0] + parts[3], [_number(part) for part in parts[1:3]]), units
        return _ranged(ends, [_number(part) for part in parts]), units
    return None, units


def _number(text: str) -> int | float:
    """Return a number as offices write it: thousands apart by a comma, an apostrophe or a space; decimals by either."""
    digits = re.sub(r"(?<=\d)[,' \u00a0\u202f](?=\d{3}(?!\d))", "", text).replace(",", ".")
    return float(digits) if "." in digits else int(digits)


def _ranged(ends: str, numbers: Sequence[int | float]) -> Test | None:
    """Return the test of one or two numbers and their ends; None where no number lies between them."""
    if ends == "=":
        return equals(numbers[0])
    if len(numbers) == 1:
        number = numbers[0]
        if ends[0] == "<":
            return Test(high=number, high_open=ends == "<")
        return Test(low=number, low_open=ends == ">")
    low, high = numbers
    if low > high or (low == high and ends != "[]"):
        return None
    return Test(low=low, high=high, low_open=ends[0] == "(", high_open=ends[1] == ")")


def bands_of(categories: Iterable[str]) -> dict[str, Test] | None:
    """Return the test of every category, None unless all are numbers or ranges in one unit, and some a range.

    Words for "not known" among ranges ask for a missing value. Cost: linear in the texts.
    """
    found: dict[str, Test] = {}
    units: set[frozenset[str]] = set()
    for text in categories:
        if text.strip().lower() in UNKNOWN:
            found[text] = Test(values=(), missing=True)
            continue
        test, named = band_of(text)
        if test is None:
            return None
        found[text] = test
        units.add(named)
    named_units = {unit for some in units for unit in some}
    ranges = any(test.values is None for test in found.values())
    return found if ranges and len(named_units) <= 1 else None


def disjoint(one: Test, other: Test) -> bool:
    """Return whether all numbers of one band lie below those of another: neither can be a total that has the other.

    A word for "not known" has no numbers, and is disjoint from nothing.
    """
    for lower, upper in ((one, other), (other, one)):
        end, begin = _last(lower, upper=True), _last(upper, upper=False)
        if end is not None and begin is not None and end < begin:
            return True
    return False


def banded(name: str, tests: Iterable[Test]) -> tuple[Grid, str]:
    """Return the numeric attribute of ranges, in steps of their finest decimal, and what its open ends assume ("").

    Open ends reach to 0 below (to twice the least number, where that is negative), and above to 120 of an age, to twice
    the greatest number of anything else. Where they end changes how many values there are, no verdict on those inside.
    """
    every = list(dict.fromkeys(tests))
    ends = [exact(x) for t in every for x in (t.low, t.high, *(t.values or ())) if x is not None]
    digits = max((len(str(plain_number(x)).partition(".")[2]) for x in ends if x.denominator > 1), default=0)
    step = Fraction(1, 10**digits)
    lows, highs = ([_last(t, upper) for t in every if not t.bare] for upper in (False, True))
    least, most = min(ends), max(ends)
    open_below, open_above = None in lows, None in highs
    low = min(x for x in lows if x is not None) if not open_below else Fraction(0) if least > 0 else 2 * least - step
    high = max((x for x in highs if x is not None), default=most)
    if open_above:
        high = Fraction(OLDEST) if _AGE.fullmatch(name.lower()) and most < OLDEST else max(2 * most, most + step)
    missing = any(t.missing for t in every)
    grid = Grid.between(name, plain_number(low), plain_number(high), plain_number(step), missing)
    sides = [side for side, is_open in (("below", open_below), ("above", open_above)) if is_open]
    why = f": its classes are open {' and '.join(sides)}" if sides else ""
    return grid, f"where no domain is declared, '{name}' is a number, {grid.values_text()}{why}"


def _last(test: Test, upper: bool) -> Fraction | None:
    """Return the last number that passes a test at one side, None where it is open there."""
    if test.values:
        numbers = [exact(v) for v in test.values]
        return max(numbers) if upper else min(numbers)
    end = test.high if upper else test.low
    return None if end is None else exact(end)


def finest(attribute: AnyAttribute, tests: Iterable[Test]) -> tuple[list[Test], bool]:
    """Return the tests that hold no other one of them, in order, and whether each value passes exactly one of them.

    Raises `ReleaseError` for a test that does not fit the attribute. Cost: quadratic in the tests at most.
    """
    ranges = {test: attribute.ranges(test) for test in dict.fromkeys(tests)}
    if all(len(r) == 1 for r in ranges.values()):
        ordered = sorted(ranges, key=lambda t: (ranges[t][0][1], -ranges[t][0][0]))
        kept: list[Test] = []
        for test in ordered:  # by their ends: one that holds another comes after it
            if not kept or ranges[test][0][0] > ranges[kept[-1]][0][0]:
                kept.append(test)
    else:
        sets = {test: {x for start, end in r for x in range(start, end)} for test, r in ranges.items()}
        kept = [t for t in ranges if not any(sets[u] < sets[t] for u in ranges)]
    spans = sorted(((r, test) for test in kept for r in ranges[test]), key=lambda one: one[0])
    cursor, whole = attribute.span[0] + (bool(spans) and _excluded(attribute, spans[0][1], upper=False)), True
    for (start, end), _ in spans:
        whole &= start == cursor
        cursor = end
    last = spans[-1][1] if spans else Test()
    return kept, whole and cursor + _excluded(attribute, last, upper=True) == attribute.span[1]


def _excluded(attribute: AnyAttribute, test: Test, *, upper: bool) -> bool:
    """Return whether the last number of an attribute is there because a range ends below it: 80 of [60, 80)."""
    end, is_open = (test.high, test.high_open) if upper else (test.low, test.low_open)
    if not is_open or not isinstance(attribute, Grid) or attribute.missing:
        return False
    return exact(end or 0) == (attribute.maximum if upper else attribute.minimum)
