"""What those need who decide about a release: the audit, policies, remedies, registers of earlier releases."""

__all__ = ["auditing", "policies", "registers", "remediation"]
