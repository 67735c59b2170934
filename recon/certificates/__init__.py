"""Certificates as users hold them: issued, explained, re-checked."""
