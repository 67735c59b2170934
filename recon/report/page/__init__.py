"""The report as a page: what is wrong and what to do first; then where, who, what would help, how it was computed."""

__all__ = ["blocks", "renderers"]
