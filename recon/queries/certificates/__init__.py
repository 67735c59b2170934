"""Certificates as users hold them: issued, explained, re-checked."""

__all__ = ["agreement", "aligning", "certificate_format", "explaining", "issuing", "verifying"]
