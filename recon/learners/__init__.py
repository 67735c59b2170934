"""Learners of the literature whose models recon audits."""

__all__ = ["optimal", "options", "private", "rule_lists", "training"]
