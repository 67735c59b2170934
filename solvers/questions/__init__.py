"""Questions and answers as data, and what an engine is."""
