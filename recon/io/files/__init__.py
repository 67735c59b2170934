"""Files opened, read and written: within one budget, whole or not at all."""
