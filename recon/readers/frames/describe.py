"""Boxes in words.

Thresholds are said by the shortest decimal that does the same (`recon.readers.frames.words.thresholds` says what holds
of it), binary columns of one attribute together (`recon.readers.frames.words.folding`). Nothing is computed with these
words: the exact numbers stand in the files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from encoders.domain.values import MISSING, AnyAttribute, Grid, Listed, cell_text
from encoders.parts.cut_domain import CutDomain
from recon.readers.frames.words.folding import OneHot, folded, one_hot_groups
from recon.readers.frames.words.thresholds import Shown, edge_text
from solvers.statements.boxes import Box, spans

FEW = 4  # values that are listed one by one; more are said as a range, or by those that are not meant


@dataclass(frozen=True)
class Words:
    """The words for boxes over one cut domain; what is worked out once for many boxes."""

    cut: CutDomain
    known: dict[tuple[int, int], Shown] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def attributes(self) -> tuple[AnyAttribute, ...]:
        """Return the attributes, the label last."""
        return tuple(cuts.attribute for cuts in self.cut.cuts)

    @cached_property
    def groups(self) -> dict[int, OneHot]:
        """Return which binary columns are said together; the label is none."""
        label = self.cut.domain.label is not None
        return one_hot_groups(self.attributes[:-1] if label else self.attributes)

    def condition(self, box: Box) -> str:
        """Return a box in words; "everybody" for the whole row space. Cost: linear in its literals."""
        if not box.literals:
            return "everybody"
        bits = {k: m - 1 for k, m in box.literals if m in {1, 2} and self.binary(k)}
        said = folded(self.groups, self.attributes, bits) if len(bits) > 1 else {}
        texts = []
        for k, mask in box.literals:
            if k not in said:
                either = self.either(k, mask)
                text = " or ".join(either)
                texts.append(f"({text})" if len(either) > 1 and len(box.literals) > 1 else text)
            elif said[k]:
                texts.append(said[k])
        return " and ".join(texts)

    def binary(self, k: int) -> bool:
        """Return whether an attribute is 0 or 1, cut in two, and never missing."""
        attribute = self.attributes[k]
        return isinstance(attribute, Listed) and attribute.values == (0, 1) and len(self.cut.cuts[k].sizes) == 2

    def either(self, k: int, mask: int) -> list[str]:
        """Return an attribute's allowed values in words, one text per range of real numbers: "age = 30", "x <= 2"."""
        attribute = self.attributes[k]
        if isinstance(attribute, Listed):
            return [self.listed(attribute, k, mask)]
        if isinstance(attribute, Grid):
            return [self.gridded(attribute, k, mask)]
        return self.ranges(k, mask, attribute.name)

    def listed(self, attribute: Listed, k: int, mask: int) -> str:
        """Return listed values: one by one where they are few, else as a range or by those that are not meant."""
        inside, name = self.positions(k, mask), attribute.name
        values = [attribute.value(i) for i in inside]
        if values == [None] and attribute.missing:
            return f"{name} is {MISSING}"
        if len(values) > FEW:
            if attribute.numeric and None not in values and inside[-1] - inside[0] == len(inside) - 1:
                if inside[-1] == len(attribute.values) - 1:
                    return f"{name} >= {values[0]}"
                return f"{f'{values[0]} <= ' if inside[0] else ''}{name} <= {values[-1]}"
            others = [cell_text(attribute.value(i)) for i in self.positions(k, ~mask)]
            if 0 < len(others) < len(values):
                return f"{name} is not {others[0]}" if len(others) == 1 else f"{name} is none of {', '.join(others)}"
        texts = [cell_text(v) for v in values]
        return f"{name} = {texts[0]}" if len(texts) == 1 else f"{name} in {{{', '.join(texts)}}}"

    def positions(self, k: int, mask: int) -> list[int]:
        """Return the positions of some parts of a listed attribute."""
        cuts = self.cut.cuts[k]
        runs = spans(mask & ((1 << len(cuts.sizes)) - 1))
        return [i for a, b in runs for i in range(cuts.bounds(a)[0], cuts.bounds(b - 1)[1])]

    def gridded(self, attribute: Grid, k: int, mask: int) -> str:
        """Return values of a grid as a range with both ends, or a set of such ranges."""
        text = self.values(k, mask)
        if text == f"{{{MISSING}}}" and attribute.missing:
            return f"{attribute.name} is {MISSING}"
        single = text.startswith("{") and ", " not in text
        return f"{attribute.name} {'= ' + text[1:-1] if single else 'in ' + text}"

    def values(self, k: int, mask: int) -> str:
        """Return the values of some parts of an attribute without its name: a set, or ranges."""
        cuts, attribute = self.cut.cuts[k], self.attributes[k]
        if isinstance(attribute, Listed):
            return "{" + ", ".join(cell_text(attribute.value(i)) for i in self.positions(k, mask)) + "}"
        if not isinstance(attribute, Grid):
            ranges = self.ranges(k, mask, "")
            return ranges[0] if len(ranges) == 1 and ranges[0] != MISSING else "{" + ", ".join(ranges) + "}"
        pieces: list[str] = []
        for a, b in spans(mask & ((1 << len(cuts.sizes)) - 1)):
            start, end = cuts.bounds(a)[0], min(cuts.bounds(b - 1)[1], attribute.known[1])
            if start < end:
                first, last = attribute.value(start), attribute.value(end - 1)
                pieces.append(str(first) if first == last else f"{first}..{last}")
            if cuts.bounds(b - 1)[1] > end:
                pieces.append(MISSING)
        return "{" + ", ".join(pieces) + "}" if len(pieces) != 1 or ".." not in pieces[0] else pieces[0]

    def ranges(self, k: int, mask: int, name: str) -> list[str]:
        """Return parts of a continuous attribute as ranges: "x <= 2", "1 < x <= 2"; without a name "..2", "1..2"."""
        cuts, attribute = self.cut.cuts[k], self.attributes[k]
        last, out = attribute.known[1], list[str]()
        for a, b in spans(mask & ((1 << len(cuts.sizes)) - 1)):
            if cuts.bounds(a)[0] < last:
                out.append(ranged(name, self.edge(k, a), self.edge(k, b)))
            if attribute.missing and cuts.bounds(b - 1)[1] > last:
                out.append(f"{name} is {MISSING}" if name else MISSING)
        return out

    def edge(self, k: int, edge: int) -> Shown:
        """Return the number to show for an edge of a continuous attribute, and its side."""
        if (found := self.known.get((k, edge))) is None:
            found = self.known[k, edge] = edge_text(self.cut.cuts[k], edge, self.cut.single)
        return found


def ranged(name: str, start: Shown, end: Shown) -> str:
    """Return a range of real numbers; side 1 stands just above a number, side 0 just below."""
    (low, above), (high, to) = start, end
    if not name:  # cells of tables, which programs read
        return f"{low}..{high}"
    if not low or not high:
        pieces = [f"{'>' if above else '>='} {low}"] if low else []
        pieces += [f"{'<=' if to else '<'} {high}"] if high else []
        return f"{name} {', '.join(pieces)}" if pieces else f"{name} is any number"
    return f"{low} {'<' if above else '<='} {name} {'<=' if to else '<'} {high}"


class ConditionText:
    """The words for one cut domain, kept with it."""

    words: Words | None = None


def words_of(cut: CutDomain) -> Words:
    """Return the words for a cut domain, made once."""
    said = cut.derived.part(ConditionText)
    if said.words is None:
        said.words = Words(cut)
    return said.words


def values_text(cut: CutDomain, k: int, mask: int) -> str:
    """Return the values of some parts of an attribute, without its name: a set, or ranges."""
    return words_of(cut).values(k, mask)


def condition_text(cut: CutDomain, box: Box) -> str:
    """Return a box in words; "everybody" for the whole row space. Cost: linear in its literals."""
    return words_of(cut).condition(box)


def condition_json(cut: CutDomain, box: Box) -> dict[str, Any] | None:
    """Return a box as a condition of the release file (`recon bound --where`), None where it takes several of them."""
    words, out = words_of(cut), dict[str, Any]()
    for k, mask in box.literals:
        attribute, runs = words.attributes[k], spans(mask & ((1 << len(cut.cuts[k].sizes)) - 1))
        first, last = cut.cuts[k].bounds(runs[0][0])[0], cut.cuts[k].bounds(runs[-1][1] - 1)[1]
        if isinstance(attribute, Listed):
            values = [attribute.value(i) for i in words.positions(k, mask)]
            out[attribute.name] = {"in": values} if len(values) > 1 else values[0]
        elif len(runs) > 1 or (attribute.missing and last > attribute.known[1]):
            return None
        elif isinstance(attribute, Grid):
            ends = attribute.value(first), attribute.value(last - 1)
            out[attribute.name] = {"at_least": number(ends[0]), "at_most": number(ends[1])}
        else:
            (low, above), (high, to) = words.edge(k, runs[0][0]), words.edge(k, runs[-1][1])
            test = {"above" if above else "at_least": float(low)} if low else {}
            out[attribute.name] = test | ({"at_most" if to else "below": float(high)} if high else {})
    return out


def number(value: Any) -> int | float:
    """Return a number of a grid as JSON has it."""
    return int(value) if int(value) == value else float(value)
