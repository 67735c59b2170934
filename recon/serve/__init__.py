"""The same on a page, on one's own machine: files dropped, understood, audited by the commands, decided about."""

__all__ = ["running", "serving"]
