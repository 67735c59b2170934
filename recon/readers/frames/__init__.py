"""Tables of rows in the terms of a domain: columns by name, profiles, conditions, worlds."""

__all__ = ["describe", "naming", "outside", "selections", "world"]
