"""The questions of the contract: worlds, figures, people, bounds, noise; each asks the engines and returns tables."""
