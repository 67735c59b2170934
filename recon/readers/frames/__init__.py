"""Tables of rows in the terms of a domain: columns by name, profiles, conditions, worlds."""
