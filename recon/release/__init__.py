"""What those need who decide about a release: the audit, policies, remedies, registers of earlier releases."""
