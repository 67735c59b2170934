"""What commands and readers share of the outside: files opened in one place, options and output of the console.

>>> from recon.io.console.output import parse_memory
>>> parse_memory("512M")
536870912
"""

__all__ = ["console", "files"]
