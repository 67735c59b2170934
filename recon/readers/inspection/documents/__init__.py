"""Findings in files that hold no objects: texts, JSON, PMML, binary models."""

__all__ = ["documents", "json_models", "leftovers", "pmml_findings"]
