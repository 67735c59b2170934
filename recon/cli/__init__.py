"""The command line: every command asks one question of a release and prints the answer."""

__all__ = ["app"]
