"""What knowing the learner adds to what was released, as figures: worlds, bits, and where they are given away.

What knowing the learner adds, in words, for commands and reports.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from encoders.models.learner_facts import Learner
from solvers.foundation.displayed import Displayed, DisplayFacts

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.plots import Axes

Bits = tuple[float, float]  # bounds [low, high] on a number of bits
Rule = Literal["greedy", "midpoints", "optimal"]
PARTS = ("kind", "what", "rows", "bits_low", "bits_high", "depth")


@dataclass(frozen=True)
class RuleContribution:
    """One node's or column's part of what the rule removes: bits between `bits[0]` and `bits[1]`.

    `kind`: split, leaf, rule, default rule or column; `what`: in words; `number`: of the node, rule or column; `rows`
    of the node (of a column: all); `depth` of a node, 0 at the root (None for a column).
    """

    kind: str
    number: int
    what: str
    rows: int
    bits: Bits
    depth: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the part as an object ready for JSON; an infinite number is null."""
        return asdict(self) | {"bits": interval(self.bits)}


@dataclass(frozen=True, repr=False)
class LearnerRule(Displayed):
    """What knowing the learner adds to a release: the worlds left where it must have chosen the model, in bits.

    `rule`: "greedy" (the learner compared every split) "midpoints" (facts that hold in each training set) or
    "optimal" (no model of its class makes fewer errors). `bits`:
    bounds on log2 of the worlds (`assigned`) without the rule, `ordered_bits` of the ordered ones, `before_bits` of all
    data sets: the counts alone remove before_bits - bits. `share`: bounds on log2 of the share of worlds in which
    the learner could have chosen the model, for some draws of its seed; the same in both conventions.
    `strict`: the share in which it does so whatever the seed, `without_leaves`: that without what unsplit leaves say;
    None where not asked. `exact`: whether the worlds counted are just those, else they contain them, or the bits are an
    `estimate`, never called exact, whose bounds hold at a `confidence` below 1 over what was drawn. `by_node` and
    `by_column`: where the bits are, most first; nodes in words of the domain's names. `facts`: what was added to the
    statements ("midpoints": bits are then of the ordered worlds), `notes`: what was left out, and why.
    """

    rule: Rule
    learner: Learner
    model: str
    rows: int
    before_bits: Bits
    bits: Bits
    ordered_bits: Bits
    share: Bits
    strict: Bits | None = None
    without_leaves: Bits | None = None
    exact: bool = True
    confidence: float = 1.0
    estimate: float | None = None
    by_node: tuple[RuleContribution, ...] = ()
    by_column: tuple[RuleContribution, ...] = ()
    facts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def convention(self) -> str:
        """Return of which worlds the bits are; those that the rule removes are the same, assigned or ordered."""
        return "ordered" if self.rule == "midpoints" or self.bits == self.ordered_bits else "assigned"

    @property
    def extra_bits(self) -> Bits:
        """Return bounds on the bits that the rule removes beside the counts: 0 or more, the same however ordered."""
        return _removed_bits(self.share)

    @property
    def estimated(self) -> bool:
        """Return whether the share was estimated from draws."""
        return self.estimate is not None

    @property
    def strict_bits(self) -> Bits | None:
        """Return bounds on the bits removed where every seed must choose the model."""
        return None if self.strict is None else _removed_bits(self.strict)

    @property
    def bits_without_leaves(self) -> Bits | None:
        """Return bounds on the bits that the inner nodes alone remove."""
        return None if self.without_leaves is None else _removed_bits(self.without_leaves)

    @property
    def counts_bits(self) -> Bits:
        """Return bounds on the bits that the counts alone remove."""
        return _difference(self.before_bits, self.bits)

    @property
    def bits_left(self) -> Bits:
        """Return bounds on log2 of the worlds (`assigned`) under the rule."""
        low, high = self.bits[0] + self.share[0], self.bits[1] + self.share[1]
        return max(low, 0.0) if self.share[0] > -math.inf else low, high

    def _facts(self) -> DisplayFacts:
        said = bits_text(self.extra_bits) + (
            f" (an estimate, confidence {self.confidence:g})" if self.estimated else ""
        )
        found = f"{self.rule}: {said} beside {bits_text(self.counts_bits)} of the counts"
        pairs: list[tuple[str, object]] = [("learner", self.learner.name), ("rows", self.rows)]
        named = {"world bits": self.bits, "counts alone": self.counts_bits, "the rule": self.extra_bits}
        more = {"every seed": self.strict_bits, "inner nodes only": self.bits_without_leaves}
        pairs += [(name, bits_text(x)) for name, x in (named | more).items() if x is not None]
        line = f"{found}, {self.learner.name}, {self.rows:,} rows"
        parts = self.by_node

        def lines() -> Sequence[Sequence[object]]:
            return [(one.kind, one.what, one.rows, bits_text(one.bits)) for one in parts]

        columns = ("kind", "what", "rows", "bits") if parts else ()
        return DisplayFacts(line, pairs, columns, lines, len(parts), self.assumptions, "to_frame(), plot(), to_json()")

    def to_frame(self) -> pd.DataFrame:
        """Return one line per node or rule, then per column, most bits first (kind, what, rows, bits, depth)."""
        import pandas as pd

        every = [*self.by_node, *self.by_column]
        lines = [(one.kind, one.what, one.rows, *one.bits, one.depth) for one in every]
        return pd.DataFrame(lines, columns=list(PARTS))

    def plot(self, ax: Axes | None = None, by: Literal["depth", "column"] = "depth") -> Axes:
        """Return axes with the bits that the rule removes by depth of the tree (or level of the list), or by column.

        Of bounds the middle. Raises `Unsupported` without matplotlib.
        """
        from solvers.foundation.plots import lying_bars, standing_bars

        if by == "column":
            shown = [one.what for one in self.by_column]
            return lying_bars(shown, [_middle(one.bits) for one in self.by_column], "What the rule removes", "bits", ax)
        depths: dict[int, float] = {}
        for one in self.by_node:
            if one.depth is not None:
                depths[one.depth] = depths.get(one.depth, 0.0) + _middle(one.bits)
        every = range(max(depths, default=-1) + 1)
        heights = [depths.get(d, 0.0) for d in every]
        return standing_bars([str(d) for d in every], heights, "What the rule removes", "depth", "bits", ax)

    def to_json(self) -> dict[str, Any]:
        """Return the figures as an object ready for JSON: bits as [low, high], null where infinite or not asked."""
        found: dict[str, Any] = {"rule": self.rule, "learner": asdict(self.learner), "model": self.model}
        found |= {"rows": self.rows, "convention": self.convention, "exact": self.exact}
        estimate = self.estimate if self.estimate is not None and math.isfinite(self.estimate) else None
        found |= {"estimate": estimate, "confidence": self.confidence}
        figures = {
            "before_bits": self.before_bits,
            "world_bits": self.bits,
            "ordered_world_bits": self.ordered_bits,
            "counts_bits": self.counts_bits,
            "log2_share": self.share,
            "extra_bits": self.extra_bits,
            "extra_bits_every_seed": self.strict_bits,
            "extra_bits_without_leaves": self.bits_without_leaves,
            "bits_left": self.bits_left,
        }
        found |= {name: None if x is None else interval(x) for name, x in figures.items()}
        found |= {
            "notes": list(self.notes),
            "by_node": [one.to_json() for one in self.by_node],
            "facts": list(self.facts),
        }
        found |= {"by_column": [one.to_json() for one in self.by_column], "assumptions": list(self.assumptions)}
        return found


def _removed_bits(share: Bits) -> Bits:
    """Return the bits that a share of which log2 is known removes: 0 or more."""
    return max(0.0, -share[1]), max(0.0, -share[0])


def _difference(one: Bits, other: Bits) -> Bits:
    """Return bounds on the difference of two numbers of bits, at least 0."""
    return max(0.0, one[0] - other[1]), max(0.0, one[1] - other[0])


def interval(bits: Bits) -> list[float | None]:
    """Return bounds ready for JSON."""
    return [x if math.isfinite(x) else None for x in bits]


def _middle(bits: Bits) -> float:
    """Return the middle of bounds, the low one where the high one is infinite."""
    return (bits[0] + bits[1]) / 2 if math.isfinite(bits[1]) else bits[0]


def bits_text(bits: Bits) -> str:
    """Return bounds on bits in words, rounded outwards: one number where both read the same."""
    low, high = bits
    if low == math.inf:
        return "all bits: no world is left"
    low = max(low, 0.0)  # of what is left, minus infinity: that a world is left is not proved
    places = 3 if (high if math.isfinite(high) else low) < 1000 else 1
    if math.isfinite(high) and f"{low:,.{places}f}" == f"{high:,.{places}f}":
        return f"{low:,.{places}f} bits"
    scale = 10**places
    least = math.floor(low * scale) / scale
    if not math.isfinite(high):
        return f"at least {least:,.{places}f} bits"
    most = math.ceil(high * scale) / scale
    return f"at most {most:,.{places}f} bits" if least <= 0 else f"{least:,.{places}f} to {most:,.{places}f} bits"


NAMES = {
    "sklearn tree": "a scikit-learn decision tree",
    "sklearn forest": "scikit-learn's trees of a forest",
    "greedy rule list": "the greedy learner of rule lists",
    "optimal tree": "a learner of optimal trees",
    "optimal rule list": "a learner of optimal rule lists",
}
UNSHOWN = {"name", "version", "source", "columns"}


def _learner_text(learner: Learner) -> str:
    """Return a learner, the settings that are not at their default, and where they were read."""
    shown = [f for f in fields(Learner) if f.name not in UNSHOWN]
    said = [(f.name, getattr(learner, f.name)) for f in shown if getattr(learner, f.name) != f.default]
    settings = ", ".join(name if value is True else f"{name} {value}" for name, value in said)
    version = f" {learner.version}" if learner.version else ""
    source = (
        f"read from {learner.source}" if learner.source == "the file" else f"as given: {learner.source or 'settings'}"
    )
    return f"{NAMES[learner.name]}{version} ({settings + '; ' if settings else ''}{source})"


def rule_assumptions(learner: Learner) -> tuple[str, ...]:
    """Return what figures under a greedy learner's rule assume of it."""
    lines = [f"the adversary knows that the model was chosen by {_learner_text(learner)}"]
    lines.append("the learner saw these columns and rows only, unweighted, and compared every column at every step")
    if learner.name == "sklearn tree":
        lines.append("the seed is not known: worlds are those in which some draws of the learner choose this tree")
        lines.append("gains are compared as scikit-learn 1.9.1 computes them, in double precision without fused steps")
    return tuple(lines)


def rule_lines(found: LearnerRule, shown: int = 5) -> list[str]:
    """Return the figures in lines for people: the answer, then where the bits are, most first, and what is assumed.

    `shown`: how many nodes and columns are named, 0 for none.
    """
    return _facts_lines(found, shown) if found.rule == "midpoints" else _greedy_lines(found, shown)


def _greedy_lines(found: LearnerRule, shown: int) -> list[str]:
    """Return what the comparisons of a greedy learner, or of one that finds the best model, remove."""
    extra, least = found.extra_bits, "" if found.exact or found.estimated else "at least: "
    lines = [f"what knowing the learner adds: {least}{_estimate_text(found)}{_count_sentence(found)}"]
    lines.append(f"  the learner: {_learner_text(found.learner)}")
    per_row = _middle(extra) / max(found.rows, 1)
    less = f", {per_row:,.3f} bits less per row" if per_row >= 0.0005 else ""
    lines.append(f"  of {bits_text(found.bits)} that the counts leave, {bits_text(found.bits_left)} are left{less}")
    if not found.exact and not found.estimated:
        lines.append("  (some data sets that were not taken out could not have given this model either)")
    if (strict := found.strict_bits) is not None and found.learner.name == "sklearn tree":
        lines.append(f"  if every seed had to give this tree: {bits_text(strict)}")
    if (plain := found.bits_without_leaves) is not None and bits_text(plain) != bits_text(extra):
        what = "the default rule says" if found.learner.name == "greedy rule list" else "leaves that were not split say"
        lines.append(f"  without what {what}: {bits_text(plain)}")
    lines += [f"  {note}" for note in found.notes]
    lines += _part_lines("where it is revealed, most first", found.by_node, shown)
    lines += _part_lines("by column, most first", found.by_column, shown)
    known = found.assumptions[-1:] if found.rule == "optimal" else rule_assumptions(found.learner)
    return [*lines, *(f"  assuming: {line}" for line in known)]


def _facts_lines(found: LearnerRule, shown: int) -> list[str]:
    """Return what facts of thresholds and leaves remove."""
    known = f"what knowing the learner adds, by facts of its thresholds and leaves alone: {bits_text(found.extra_bits)}"
    lines = [f"{known}{_count_sentence(found)} (row order included)"]
    if not math.isfinite(found.bits[1]):
        lines = ["what knowing the learner adds: no number of bits, there is no number of worlds (any numbers)"]
    else:
        left = bits_text(found.bits_left)
        lines.append(f"  of {bits_text(found.bits)} that the counts leave, {left} are left")
    lines.append(f"  the learner: {_learner_text(found.learner)}")
    if found.facts:
        lines.append(f"  {len(found.facts):,} facts hold in every training set of it, such as:")
    lines += [f"    {fact}" for fact in found.facts[:shown]]
    lines += _part_lines("by column, most first", found.by_column, shown)
    return [*lines, *(f"  {line}" for line in found.notes)]


def _estimate_text(found: LearnerRule) -> str:
    """Return the bits in words, of an estimate with its interval and confidence."""
    said = bits_text(found.extra_bits)
    if found.estimate is None:
        return said
    about = f"about {found.estimate:,.1f} bits, " if math.isfinite(found.estimate) else ""
    return f"{about}estimated: {said} at confidence {found.confidence:g}"


def _count_sentence(found: LearnerRule) -> str:
    """Return what the counts remove, to stand behind what the rule does; "" where it is not known."""
    known = found.counts_bits
    return f", beside {bits_text(known)} that the counts remove" if math.isfinite(known[1]) else ""


def _part_lines(head: str, parts: Sequence[RuleContribution], shown: int) -> list[str]:
    """Return the parts that remove most, one line each, and how much the others remove together."""
    some = [one for one in parts if _middle(one.bits) >= 0.0005]
    if not some or not shown:
        return []
    lines = [f"  {head}:", *(f"    {bits_text(one.bits)}: {one.what}" for one in some[:shown])]
    if len(some) > shown:
        rest = sum(_middle(one.bits) for one in some[shown:])
        lines.append(f"    and {len(some) - shown:,} more, about {rest:,.{1 if rest >= 10 else 3}f} bits together")
    return lines
