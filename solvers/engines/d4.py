"""d4 counts the models of the CNF: exact by design, checked here against other counters, proved by nobody.

Source: Lagniez, Marquis, "An improved decision-DNNF compiler", IJCAI 2017.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from solvers.cells.clauses.model_counters import ModelCounter

FIRST_PAGE, NEXT_PAGE = 4, 16  # share of the memory (1 in so many) for a page of the cache; by default 4 GB and 0.5 GB


class D4Engine(ModelCounter):
    """Ordered worlds of few rows, counted by d4."""

    name = "d4"
    needs = ("py_d4",)
    most_bits = 1_000  # seven rows over 10^20 values, 511 bits, take 1 s; Ganak and ApproxMC do not end in 10 s
    reserved = 1 << 30  # 836 MB for a table, of which 64 MB are touched at once
    function = "solvers.engines.d4:counts_of_d4"
    about = "few rows: estimates the number of ordered worlds with d4, exact by design but cross-checked only"


def counts_of_d4(asked: dict[str, Any]) -> list[str]:
    """Return the number of models of every formula, in hexadecimal. Runs in a child process: d4 prints and aborts."""
    d4 = importlib.import_module("py_d4")
    sys.set_int_max_str_digits(0)  # it replies in decimal
    first, more = (str(asked["memory"] // share) for share in (FIRST_PAGE, NEXT_PAGE))
    options = d4.load_options_from_dict({"cache": {"bucket": {"sizeFirstPage": first, "sizeAdditionalPage": more}}})
    found = []
    for formula in asked["formulas"]:  # a solver, and the pages of its cache, go before the next one comes
        found.append(hex(int(d4.Solver(formula["clauses"], formula["variables"], options).count().getResult())))
    return found
