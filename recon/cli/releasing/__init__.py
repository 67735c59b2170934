"""The commands of those who decide about a release: audit, report, policy, remedy, register."""
