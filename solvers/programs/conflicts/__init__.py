"""Why there is no world: irreducible sets of statements that contradict each other."""
