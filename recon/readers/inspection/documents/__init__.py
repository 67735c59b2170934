"""Findings in files that hold no objects: texts, JSON, PMML, binary models."""
