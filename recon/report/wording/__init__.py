"""The findings in words and as JSON: counts, groups, noise, truth, where everything was read from."""

__all__ = ["group_report", "headline"]
