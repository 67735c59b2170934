"""Model counters of other people: the CNF of few rows, counted in a child process; nobody proved their figures.

d4 counts the models of the CNF: exact by design, checked here against other counters, proved by nobody.

Source: Lagniez, Marquis, "An improved decision-DNNF compiler", IJCAI 2017.

Ganak counts the models of the CNF: exact except where two different subformulas have the same hash.

Source: Sharma, Roy, Soos, Meel, "GANAK: a scalable probabilistic exact model counter", IJCAI 2019.

ApproxMC estimates the number of models of the CNF within a factor, with a stated probability.

Only version 4.1.24 of its Python package is used: 4.3 and 4.4 drop powers of two (docs/engines.md, "Traps of the native
libraries"), and pyganak 2.8 installs a copy of 4.4 over it when it is installed later.

Source: Chakraborty, Meel, Vardi, "A scalable approximate model counter", CP 2013; Soos, Meel, "BIRD", AAAI 2019.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import Any

from solvers.cells.clauses.model_counters import Formula, ModelCounter
from solvers.foundation.errors import EngineError, ReconError, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.native.processes import run

FIRST_PAGE, NEXT_PAGE = 4, 16  # share of the memory (1 in so many) for a page of the cache; by default 4 GB and 0.5 GB


class D4Engine(ModelCounter):
    """Ordered worlds of few rows, counted by d4."""

    name = "d4"
    needs = ("py_d4",)
    most_bits = 1_000  # seven rows over 10^20 values, 511 bits, take 1 s; Ganak and ApproxMC do not end in 10 s
    reserved = 1 << 30  # 836 MB for a table, of which 64 MB are touched at once
    function = "solvers.engines.counters:counts_of_d4"
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


class GanakEngine(ModelCounter):
    """Ordered worlds of few rows, counted by Ganak."""

    name = "ganak"
    needs = ("pyganak",)
    function = "solvers.engines.counters:counts_of_ganak"
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


APPROXMC = "4.1.24"
PERCENT = 80  # ε: a figure is between 1 / (1 + ε) and 1 + ε times the truth, less than a bit away ...
DELTA = 0.05  # ... except with this probability over the seed, which is fixed
HASH_SEED = 1
REPAIR = f"pip install --force-reinstall --no-deps pyapproxmc=={APPROXMC}"
PATIENCE = 30.0  # seconds to look up the version


class ApproxMCEngine(ModelCounter):
    """Ordered worlds of few rows, estimated by ApproxMC."""

    name = "approxmc"
    needs = ("pyapproxmc",)
    extra = "approx"
    function = "solvers.engines.counters:counts_of_approxmc"
    guarantee = f"(ε={PERCENT / 100}, δ={DELTA})"
    percent = PERCENT
    about = f"few rows: estimates the number of ordered worlds with ApproxMC, {guarantee}"

    @classmethod
    def missing(cls) -> str | None:
        """Return that the package, or the version that counts correctly, is not installed, or None."""
        return super().missing() or _wrong_version()

    def read(self, reply: Any, formula: Formula) -> int:
        """Return cells · 2^hashes. Raises `EngineError` where the reply is no such pair."""
        if isinstance(reply, list) and len(reply) == 2 and all(type(x) is int and x >= 0 for x in reply):
            cells, hashes = reply
            if hashes <= len(formula.projection):
                return int(cells << hashes)
        raise EngineError(f"{self.name} replied {str(reply)[:40]!r}, which is not a number of models")


@cache
def _wrong_version() -> str | None:
    """Return why the package that Python finds may not be used, or None. It is loaded once, in a child process."""
    try:
        return _refusal(run("solvers.engines.counters:version_of_approxmc", None, Limits(seconds=PATIENCE)))
    except ReconError as error:
        return f"pyapproxmc cannot be loaded ({error}): {REPAIR}"


def _refusal(found: str) -> str | None:
    """Return why this version may not be used, or None."""
    if found == APPROXMC:
        return None
    return f"pyapproxmc {found} may count wrongly, only {APPROXMC} is used (pyganak overwrites it): {REPAIR}"


def version_of_approxmc(_: None) -> str:
    """Return the version of the package. Runs in a child process."""
    return str(importlib.import_module("pyapproxmc").VERSION)


def counts_of_approxmc(asked: dict[str, Any]) -> list[list[int]]:
    """Return (cells, hashes) of every formula. Runs in a child process: ApproxMC hears no limit."""
    approxmc = importlib.import_module("pyapproxmc")
    if (reason := _refusal(version_of_approxmc(None))) is not None:
        raise Unsupported(reason)
    found = []
    for formula in asked["formulas"]:
        counter = approxmc.Counter(seed=HASH_SEED, epsilon=PERCENT / 100, delta=DELTA)
        counter.add_clauses(formula["clauses"])
        found.append([int(x) for x in counter.count(formula["projection"])])
    return found
