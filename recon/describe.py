"""Boxes in words."""

from __future__ import annotations

from encoders.encoder import CutDomain
from encoders.values import MISSING, Grid, Listed, cell_text, plain
from solvers.masks import spans
from solvers.release import Box


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
            pieces.append(f"{plain(start[0])}..{plain(end[0])}")
        if cuts.bounds(b - 1)[1] > end:
            pieces.append(MISSING)
    return "{" + ", ".join(pieces) + "}" if len(pieces) != 1 or ".." not in pieces[0] else pieces[0]


def condition_text(cut: CutDomain, box: Box) -> str:
    """Return a box in words; "everybody" for the whole row space."""
    if not box.literals:
        return "everybody"
    return " and ".join(literal_text(cut, k, m) for k, m in box.literals)


def literal_text(cut: CutDomain, k: int, mask: int) -> str:
    """Return one attribute's allowed values in words: "age = 30", "city in {A, B}"."""
    text = values_text(cut, k, mask)
    if text == f"{{{MISSING}}}" and cut.cuts[k].attribute.missing:
        return f"{cut.cuts[k].attribute.name} is missing"
    single = text.startswith("{") and ", " not in text
    return f"{cut.cuts[k].attribute.name} {'= ' + text[1:-1] if single else 'in ' + text}"
