"""Why an answer is only bounded, in one plain sentence: what engines say of themselves stays in the trail (--json)."""

from __future__ import annotations

import re
from collections.abc import Sequence

TIME = "the time was up (--time)"
# What engines say, and what it means to somebody who does not know them; the first that is found comes first.
MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"([^;]*not all is used of the bags[^;]*|[^;]*is not used where[^;]*|[^;]*is used in part only)",
        "some of what is published is not used ({})",
    ),
    (
        r"more than ([\d,]+) live cells",
        "the models cut the possible rows into more than {} cells, the combinations of their regions (--max-cells)",
    ),
    (
        r"continuous attribute has no 'resolution'",
        "a continuous attribute has no resolution, so worlds are not countable",
    ),
    (r"too many values to cut at each", "an attribute that is summed has too many values to tell them all apart"),
    (r"(the clock \(--time\) cut short: [^;]+)", "{}"),
    (r"the time was up|time ran out|out of time|found in time|settled in time", TIME),
    (
        r"a component of ([\d,]+) cells and ([\d,]+) statements",
        "{} cells are tied together by {} statements, too many to count every combination",
    ),
    (
        r"([\d,]+) free cells are too many|states of histograms|edges of histograms|component is too large to bound",
        "the counts tie too many cells together to count every combination",
    ),
    (r"no diagram|nodes of a diagram|between bounds", "the regions of the rules are too entangled to be sized exactly"),
    (r"the number of rows", "the number of rows is open"),
    (r"\(--memory\)|memory limit", "more memory would be needed than is allowed (--memory)"),
)
SECONDARY = 2  # the last meanings are given only where no other is found


def plain_reasons(trail: Sequence[str]) -> str:
    """Return why no engine gave an exact answer, in words without engines."""
    text, found = ";".join(line.strip() for line in trail), list[str]()
    for pattern, meaning in MEANINGS[:-SECONDARY]:
        if (match := re.search(pattern, text)) is not None:
            found.append(meaning.format(*match.groups()))
    tied = [i for i, reason in enumerate(found) if "every combination" in reason]
    for i in reversed(tied[1:]):
        del found[i]
    if not found:
        found = [meaning for pattern, meaning in MEANINGS[-SECONDARY:] if re.search(pattern, text)][:1]
    return "; ".join(found) or "no exact method copes with it within the limits"


def no_reconstruction(trail: Sequence[str]) -> str:
    """Return why no training set was given back, from what every engine said."""
    if any("no possible world was found in time" in line for line in trail):
        return "no reconstruction: no training set that agrees with the release was found in time (--time)"
    return f"no reconstruction: {plain_reasons(trail)}"
