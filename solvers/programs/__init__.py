"""A system as a constraint, linear or mixed-integer program: each builder once."""
