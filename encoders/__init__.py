"""Published models (trees, rule lists, ...) turned into statements for the engines.

Knows no engine and no command line; imports from `solvers` only.
"""
