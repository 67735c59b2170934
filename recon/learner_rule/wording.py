"""What knowing the learner adds, in words, for commands and reports."""

from __future__ import annotations

from recon.learner_rule.figures import LearnerRule


def rule_lines(found: LearnerRule, shown: int = 5) -> list[str]:
    """Return the figures in lines for people."""
    raise NotImplementedError
