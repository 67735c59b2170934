"""Certificates as users hold them: issued, explained, re-checked."""

__all__ = ["agreement", "certificate_format", "explaining", "issuing", "verifying"]
