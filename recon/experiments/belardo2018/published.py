"""The thesis's tables, as far as data and figures are there."""

from __future__ import annotations

# Table 6.1 (other rows) and Table A.1 (training rows): AUC by epsilon, None: without privacy; means over 5 runs, 4,000
# and 1,000 other rows. Titanic is left out: the file cannot be had.
OUT_OF_SAMPLE: dict[str, dict[float | None, float]] = {
    "mushroom": {None: 0.997, 0.9: 0.978, 0.5: 0.974, 0.1: 0.972, 0.01: 0.613},
    "adult24": {None: 0.711, 0.9: 0.663, 0.5: 0.609, 0.1: 0.642, 0.01: 0.605},
}
IN_SAMPLE: dict[str, dict[float | None, float]] = {
    "adult24": {None: 0.832, 0.9: 0.817, 0.5: 0.810, 0.1: 0.779, 0.01: 0.726},
    "mushroom": {None: 0.965, 0.9: 0.966, 0.5: 0.958, 0.1: 0.878, 0.01: 0.767},
}
DEVIATIONS = {("adult24", None): 0.042, ("mushroom", None): 0.005, ("mushroom", 0.01): 0.314}  # of Table 6.1, over runs
LENGTHS = {"mushroom": (8.4, 12.6)}  # Table 6.2: rules of the shortest and longest mean list over all epsilon

CLAIM = '"the proposed algorithm is able to output rule lists with good accuracy and decent interpretability"'
