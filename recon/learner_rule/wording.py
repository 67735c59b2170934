"""What knowing the learner adds, in words, for commands and reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields

from encoders.models.learner import Learner
from recon.learner_rule.figures import LearnerRule, RuleContribution, bits_text, middle

NAMES = {
    "sklearn tree": "a scikit-learn decision tree",
    "sklearn forest": "scikit-learn's trees of a forest",
    "greedy rule list": "the greedy learner of rule lists",
    "optimal tree": "a learner of optimal trees",
    "optimal rule list": "a learner of optimal rule lists",
}
UNSHOWN = {"name", "version", "source", "columns"}


def learner_text(learner: Learner) -> str:
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
    lines = [f"the adversary knows that the model was chosen by {learner_text(learner)}"]
    lines.append("the learner saw these columns and rows only, unweighted, and compared every column at every step")
    if learner.name == "sklearn tree":
        lines.append("the seed is not known: worlds are those in which some draws of the learner choose this tree")
        lines.append("gains are compared as scikit-learn 1.9.1 computes them, in double precision without fused steps")
    return tuple(lines)


def rule_lines(found: LearnerRule, shown: int = 5) -> list[str]:
    """Return the figures in lines for people: the answer, then where the bits are, most first, and what is assumed.

    `shown`: how many nodes and columns are named, 0 for none.
    """
    return facts_lines(found, shown) if found.rule == "midpoints" else greedy_lines(found, shown)


def greedy_lines(found: LearnerRule, shown: int) -> list[str]:
    """Return what the comparisons of a greedy learner, or of one that finds the best model, remove."""
    extra, least = found.extra_bits, "" if found.exact or found.estimated else "at least: "
    lines = [f"what knowing the learner adds: {least}{estimate_text(found)}{beside(found)}"]
    lines.append(f"  the learner: {learner_text(found.learner)}")
    per_row = middle(extra) / max(found.rows, 1)
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
    lines += part_lines("where it is given away, most first", found.by_node, shown)
    lines += part_lines("by column, most first", found.by_column, shown)
    known = found.assumptions[-1:] if found.rule == "optimal" else rule_assumptions(found.learner)
    return [*lines, *(f"  assuming: {line}" for line in known)]


def facts_lines(found: LearnerRule, shown: int) -> list[str]:
    """Return what facts of thresholds and leaves remove."""
    known = f"what knowing the learner adds, by facts of its thresholds and leaves alone: {bits_text(found.extra_bits)}"
    lines = [f"{known}{beside(found)} (row order included)"]
    if not math.isfinite(found.bits[1]):
        lines = ["what knowing the learner adds: no number of bits, there is no number of worlds (any numbers)"]
    else:
        left = bits_text(found.bits_left)
        lines.append(f"  of {bits_text(found.bits)} that the counts leave, {left} are left")
    lines.append(f"  the learner: {learner_text(found.learner)}")
    if found.facts:
        lines.append(f"  {len(found.facts):,} facts hold in every training set of it, such as:")
    lines += [f"    {fact}" for fact in found.facts[:shown]]
    lines += part_lines("by column, most first", found.by_column, shown)
    return [*lines, *(f"  {line}" for line in found.notes)]


def estimate_text(found: LearnerRule) -> str:
    """Return the bits in words, of an estimate with its interval and confidence."""
    said = bits_text(found.extra_bits)
    if found.estimate is None:
        return said
    about = f"about {found.estimate:,.1f} bits, " if math.isfinite(found.estimate) else ""
    return f"{about}estimated: {said} at confidence {found.confidence:g}"


def beside(found: LearnerRule) -> str:
    """Return what the counts remove, to stand behind what the rule does; "" where it is not known."""
    known = found.counts_bits
    return f", beside {bits_text(known)} that the counts remove" if math.isfinite(known[1]) else ""


def part_lines(head: str, parts: Sequence[RuleContribution], shown: int) -> list[str]:
    """Return the parts that remove most, one line each, and how much the others remove together."""
    some = [one for one in parts if middle(one.bits) >= 0.0005]
    if not some or not shown:
        return []
    lines = [f"  {head}:", *(f"    {bits_text(one.bits)}: {one.what}" for one in some[:shown])]
    if len(some) > shown:
        rest = sum(middle(one.bits) for one in some[shown:])
        lines.append(f"    and {len(some) - shown:,} more, about {rest:,.{1 if rest >= 10 else 3}f} bits together")
    return lines
