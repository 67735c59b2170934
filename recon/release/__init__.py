"""What those need who decide about a release: the audit, policies, remedies, registers of earlier releases.

>>> from recon.release.policies.policy import presets
>>> [policy.name for policy in presets()]
['cms-cell-size', 'ema-0070', 'minimum-cell-10']
"""

__all__ = ["auditing", "policies", "registers", "remediation"]
