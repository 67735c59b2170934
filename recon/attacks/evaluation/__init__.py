"""How good a guess is: rates with intervals, baselines, and ranks over data sets."""
