"""Tables of rows in the terms of a domain: columns by name, profiles, conditions, worlds."""

__all__ = ["describe", "out_of_domain", "selections", "world"]
