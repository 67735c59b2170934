"""Ganak counts the models of the CNF: exact except where two different subformulas have the same hash.

Source: Sharma, Roy, Soos, Meel, "GANAK: a scalable probabilistic exact model counter", IJCAI 2019.
"""

from __future__ import annotations

import importlib
from typing import Any

from solvers.cells.clauses.model_counters import ModelCounter


class GanakEngine(ModelCounter):
    """Ordered worlds of few rows, counted by Ganak."""

    name = "ganak"
    needs = ("pyganak",)
    function = "solvers.engines.ganak:counts_of_ganak"
    about = "few rows: estimates the number of ordered worlds with Ganak, exact but for collisions of hashes"


def counts_of_ganak(asked: dict[str, Any]) -> list[str]:
    """Return the number of models of every formula, in hexadecimal. Runs in a child process: Ganak hears no limit."""
    ganak = importlib.import_module("pyganak")
    found = []
    for formula in asked["formulas"]:
        counter = ganak.Counter()
        counter.new_vars(formula["variables"])
        counter.add_clauses(formula["clauses"])
        counter.set_sampling_set(formula["projection"])
        found.append(hex(counter.count()))
    return found
