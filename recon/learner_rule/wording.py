"""What knowing the learner adds, in words, for commands and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from encoders.models.learner import Learner
from recon.learner_rule.figures import LearnerRule, Part, bits_text, middle

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
    source = f"read from {learner.source}" if learner.source == "the file" else f"as given: {learner.source or 'settings'}"
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
    """Return the figures in lines for people: the answer first, then where the bits are, most first."""
    extra, counts = found.extra_bits, found.counts_bits
    lines = [f"what knowing the learner adds: {bits_text(extra)}, beside {bits_text(counts)} that the counts remove"]
    lines.append(f"  the learner: {learner_text(found.learner)}")
    left = f"  of {bits_text(found.bits)} left by the counts, {bits_text(found.bits_left)} are left{per_row(found)}"
    lines.append(left if found.exact else f"{left} at least as few worlds: the set counted contains those under the rule")
    if (strict := found.strict_bits) is not None and found.learner.name == "sklearn tree":
        lines.append(f"  if every seed must give this tree: {bits_text(strict)}")
    if (plain := found.bits_without_leaves) is not None and plain != extra:
        what = "the default rule" if found.learner.name == "greedy rule list" else "leaves that were not split"
        lines.append(f"  without what {what} {'says' if 'rule' in what else 'say'}: {bits_text(plain)}")
    lines += part_lines("by what was chosen", found.by_node, shown)
    lines += part_lines("by column", found.by_column, shown)
    lines += [f"  {fact}" for fact in found.facts]
    return lines


def per_row(found: LearnerRule) -> str:
    """Return the middle of the extra bits per row, in brackets."""
    return f" ({middle(found.extra_bits) / found.rows:,.3f} bits less per row)" if found.rows else ""


def part_lines(head: str, parts: Sequence[Part], shown: int) -> list[str]:
    """Return the parts that remove most, one line each, and how much the others remove together."""
    some = [one for one in parts if middle(one.bits) >= 0.0005]
    if not some:
        return []
    lines = [f"  {head}, most first:", *(f"    {bits_text(one.bits)}: {one.what}" for one in some[:shown])]
    if len(some) > shown:
        rest = sum(middle(one.bits) for one in some[shown:])
        lines.append(f"    and {len(some) - shown:,} more, about {rest:,.1f} bits together")
    return lines
