"""Life tables: which times each of their lines is about, as intervals are written.

Sources: R KMsurv, lifetab; lifelines 0.30, utils/survival_table_from_events (`collapse=True`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from encoders.domain.values import Test, Value, plain_number
from recon.readers.formats.statistics.shares import TableCells
from solvers.foundation.errors import ReleaseError

_INTERVAL = re.compile(
    r"([\[(]?)\s{0,4}(-?\d+(?:\.\d+)?)\s{0,4}(?:-|,|to)\s{0,4}(\d+(?:\.\d+)?|inf|Inf|NA)\s{0,4}([\])]?)"
)


def time_of(cell: object, place: str) -> Value:
    """Return a time as it is written."""
    text = str(cell).strip()
    if not re.fullmatch(r"-?\d{1,12}(?:\.\d{0,12})?", text):
        raise ReleaseError(f"'{text[:40]}' is not a time", place=place)
    return plain_number(Fraction(text))


def life_spans(lines: Sequence[TableCells], name: str) -> tuple[tuple[Test, Test], ...]:
    """Return when people of each line of a life table leave, and who is at risk; nothing where times are no intervals.

    Without brackets "0-5", "5-10" end before the next begins; so do "0-4", "5-9": each is as much longer as the nearest
    two are apart, the last one too. Raises `ReleaseError` for lines that do not begin after the one before.
    """
    found = [_INTERVAL.fullmatch(str(line.cells[name]).strip()) for line in lines]
    if found[0] is None:
        return ()
    ends = list[tuple[Value | None, Value | None]]()
    for one, line in zip(found, lines, strict=True):
        if one is None:
            raise ReleaseError(f"'{str(line.cells[name])[:40]}' is not an interval of times", place=line.place)
        low = None if one[1] == "(" and one[2].startswith("-") else time_of(one[2], line.place)  # pandas' least end
        ends.append((low, None if one[3][0] in "iIN" else time_of(one[3], line.place)))
    gaps = [Fraction(b) - Fraction(a) if a is not None and b is not None else -1 for (_, a), (b, _) in pairwise(ends)]
    out = list[tuple[Test, Test]]()
    for one, line, (low, high) in zip(filter(None, found), lines, ends, strict=True):
        after, closed, bare = one[1] == "(" and low is not None, one[4] == "]", not one[4] and high is not None
        if out and (gaps[len(out) - 1] < 0 or (out[-1][0].high == low and not (out[-1][0].high_open or after))):
            raise ReleaseError(f"the interval {one[0]} does not begin after the one before", place=line.place)
        if bare and not gaps:
            raise ReleaseError(
                f"does not say whether {one[3]} is in the interval: write [0,5) or [0,5]", place=line.place
            )
        last = plain_number(Fraction(high) + min(gaps)) if bare and high is not None else high
        out.append((Test(low=low, low_open=after, high=last, high_open=last is not None and not closed),
                    Test(low=low, low_open=after)))  # fmt: skip
    return tuple(out)
