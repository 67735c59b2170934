"""What it gives away that a model is optimal: no model of its class makes fewer training errors, one by one."""

__all__ = ["generation", "verdicts"]
