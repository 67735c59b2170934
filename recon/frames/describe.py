"""Boxes in words."""

from __future__ import annotations

from encoders.domain.values import MISSING, Continuous, Grid, Listed, Position, cell_text, plain
from encoders.parts.cut_domain import CutDomain
from solvers.statements.boxes import Box
from solvers.statements.masks import spans


def values_text(cut: CutDomain, k: int, mask: int) -> str:
    """Return the values of some parts of an attribute: a set, or ranges."""
    cuts = cut.cuts[k]
    pieces: list[str] = []
    runs = spans(mask & ((1 << len(cuts.sizes)) - 1))
    attribute = cuts.attribute
    if isinstance(attribute, Listed):
        every = (i for a, b in runs for i in range(cuts.bounds(a)[0], cuts.bounds(b - 1)[1]))
        return "{" + ", ".join(cell_text(attribute.value(i)) for i in every) + "}"
    for a, b in runs:
        start, end = cuts.bounds(a)[0], min(cuts.bounds(b - 1)[1], attribute.known[1])
        if start < end and isinstance(attribute, Grid):
            first, last = attribute.value(start), attribute.value(end - 1)
            pieces.append(str(first) if first == last else f"{first}..{last}")
        elif start < end:
            pieces.append(between(start, end))
        if cuts.bounds(b - 1)[1] > end:
            pieces.append(MISSING)
    return "{" + ", ".join(pieces) + "}" if len(pieces) != 1 or ".." not in pieces[0] else pieces[0]


def between(start: Position, end: Position) -> str:
    """Return a range of numbers; nothing stands at an open end."""
    low, high = ("" if isinstance(x, float) else str(plain(x)) for x, _ in (start, end))
    return f"{low}..{high}"


def one_sided(cut: CutDomain, k: int, mask: int) -> str:
    """Return "> 2.5" or "<= 2.5" where some parts are all the numbers up to a threshold, or beyond it; else ""."""
    attribute = cut.cuts[k].attribute
    if not isinstance(attribute, Continuous):
        return ""
    first, last = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
    if mask >> first != (1 << (last - first + 1)) - 1:  # not one run of parts
        return ""
    start, end = cut.cuts[k].bounds(first)[0], cut.cuts[k].bounds(last)[1]
    if attribute.maximum is None and end == attribute.known[1] and not isinstance(start[0], float):
        return f"{'>' if start[1] else '>='} {plain(start[0])}"
    if attribute.minimum is None and start == attribute.known[0] and not isinstance(end[0], float):
        return f"{'<=' if end[1] else '<'} {plain(end[0])}"
    return ""


def condition_text(cut: CutDomain, box: Box) -> str:
    """Return a box in words; "everybody" for the whole row space."""
    if not box.literals:
        return "everybody"
    return " and ".join(literal_text(cut, k, m) for k, m in box.literals)


def literal_text(cut: CutDomain, k: int, mask: int) -> str:
    """Return one attribute's allowed values in words: "age = 30", "city in {A, B}"."""
    if side := one_sided(cut, k, mask):
        return f"{cut.cuts[k].attribute.name} {side}"
    text = values_text(cut, k, mask)
    if text == f"{{{MISSING}}}" and cut.cuts[k].attribute.missing:
        return f"{cut.cuts[k].attribute.name} is missing"
    single = text.startswith("{") and ", " not in text
    return f"{cut.cuts[k].attribute.name} {'= ' + text[1:-1] if single else 'in ' + text}"
