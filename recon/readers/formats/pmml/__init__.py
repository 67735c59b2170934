"""PMML documents: trees, rule sets and forests of any producer."""

__all__ = ["document"]
