"""Exact answers as users read them, and what is known where no engine answered."""
