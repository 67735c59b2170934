"""Tables of rows in the terms of a domain: columns by name, profiles, conditions, worlds."""

__all__ = ["describe", "naming", "out_of_domain", "selections", "world"]
