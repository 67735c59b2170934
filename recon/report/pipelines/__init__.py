"""Findings for pipelines: SARIF and JUnit."""
