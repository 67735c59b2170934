"""The commands of those who decide about a release: audit, report, policy, remedy, register."""

__all__ = ["policy", "register", "remedy", "serving"]
