"""Evidence beside the worlds: groups that single figures, positions and leaf values prove, and what was left unused."""
