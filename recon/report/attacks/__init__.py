"""Reports of attacks: statistical figures and certified ones side by side, never confused."""
