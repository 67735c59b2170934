"""Binary columns that are called like one attribute and a value of it (city_Oslo, x0=b, race:other), said together.

Without a declared domain such columns are independent: nothing says that only one of them is 1. The words keep to that:
columns that are all 0 are "city is none of Oslo, Rome", and beside one that is 1 the others are said to be 0, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from encoders.domain.values import AnyAttribute, Listed

SEPARATOR = re.compile(r"[_:=]+")
TESTS = ("<", ">", "!", "≤", "≥")  # "age<=30" is a threshold, not a value
PREFIXES = 8  # of one name that are tried


@dataclass(frozen=True, slots=True)
class OneHot:
    """The place of a binary column in a group: the name before the separator, and what stands behind it."""

    base: str
    value: str


def one_hot_groups(attributes: Sequence[AnyAttribute]) -> dict[int, OneHot]:
    """Return index -> group of the attributes that are 0 or 1 and share a prefix with another; the largest groups.

    Names alone say so: it is good for words, not for figures. Cost: linear in the names, sorting apart.
    """
    members: dict[str, dict[int, str]] = {}
    for k, attribute in enumerate(attributes):
        if isinstance(attribute, Listed) and not attribute.missing and attribute.values == (0, 1):
            for base, value in readings(attribute.name):
                members.setdefault(base, {})[k] = value
    out: dict[int, OneHot] = {}
    for base, values in sorted(members.items(), key=lambda one: (-len(one[1]), -len(one[0]), one[0])):
        free = {k: value for k, value in values.items() if k not in out}
        if len(free) > 1 and len(set(free.values())) == len(free):
            out |= {k: OneHot(base, value) for k, value in free.items()}
    return out


def readings(name: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to read a name as an attribute and a value, the shortest attribute first."""
    for found in islice(SEPARATOR.finditer(name), PREFIXES):
        base, value = name[: found.start()], name[found.end() :]
        if any(map(str.isalnum, base)) and value.strip() and not base.endswith(TESTS) and not value.startswith(TESTS):
            yield base, value


def folded(groups: Mapping[int, OneHot], attributes: Sequence[AnyAttribute], bits: Mapping[int, int]) -> dict[int, str]:
    """Return the words for columns of groups, at the first column of each; "" for those that are said there.

    `bits`: attribute -> 0 or 1, as the condition wants it. Columns that are said by themselves are left out.
    """
    by_base: dict[str, list[int]] = {}
    for k in bits:
        if k in groups:
            by_base.setdefault(groups[k].base, []).append(k)
    out: dict[int, str] = {}
    for base, found in by_base.items():
        ones, zeros = [k for k in found if bits[k]], [k for k in found if not bits[k]]
        if len(found) < 2 or len(ones) > 1:
            continue
        others = ", ".join(groups[k].value for k in zeros)
        text = f"{attributes[ones[0]].name} = 1 (not {others})" if ones else f"{base} is none of {others}"
        out |= dict.fromkeys(found, "") | {found[0]: text}
    return out
