"""A released model changed until a policy is met: leaves merged, counts dropped, noise added; and audited again."""

__all__ = ["candidates", "copies", "hidden_totals", "hiding", "merging", "pruning", "thresholds", "versions"]
