"""The questions of the contract: each asks the engines and returns what users read."""
