"""Model counters of other people: the CNF of few rows, counted in a child process; nobody proved their figures.

The models of the CNF of a release are its ordered worlds (`solvers.cells.clauses.lowering`), so any model counter
counts worlds. None of these counters gives a proof, and a cache keyed by hashes or a random sample may be wrong: their
figures are estimates with a stated guarantee and never enter the bounds of an answer. They cope with few rows only:
eight rows of ten binary columns under three trees take d4 6 s and Ganak 9 s, ten rows more than 30 s.

d4 is exact by design, and is checked here against other counters. Ganak is exact except where two different subformulas
have the same hash. ApproxMC estimates the number within a factor, with a stated probability. Only version 4.1.24 of
its Python package is used: 4.3 and 4.4 drop powers of two (docs/engines.md, "Traps of the native libraries"), and
pyganak 2.8 installs a copy of 4.4 over it when it is installed later.

Source: Sharma, Roy, Soos, Meel, "GANAK: a scalable probabilistic exact model counter", IJCAI 2019; Lagniez, Marquis,
"An improved decision-DNNF compiler", IJCAI 2017 (d4); Chakraborty, Meel, Vardi, "A scalable approximate model
counter", CP 2013, and Soos, Meel, "BIRD", AAAI 2019 (ApproxMC).
"""

from __future__ import annotations

import importlib
import math
import operator
import re
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from solvers.foundation.errors import EngineError, Inconclusive, ReconError, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.native import run
from solvers.statements.questions.answers import HASHED, Answer, CountAnswer, Engine, unanswered
from solvers.statements.questions.query import Count, Query
from solvers.statements.release import Release

if TYPE_CHECKING:
    from solvers.cells.clauses.lowering import Lowered

MAX_BITS = 400  # rows × bits of a row; measured: 176 bits take 6 s, 330 of one tree of depth 3 more than 20 s
SLACK = 2.0**-46  # relative error of a log2 in floating point, generously
HEXADECIMAL = re.compile(r"0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Formula:
    """A CNF as every counter takes it: all variables occur, no clause is empty, a tautology, or repeats a literal.

    Variables that occur nowhere are left out and the others numbered anew, because counters disagree about such
    variables; `free` of the left out ones are to be counted, and each doubles the number of models. `known` is that
    number where there is nothing left to count.
    """

    variables: int
    clauses: list[list[int]]
    projection: list[int]
    free: int
    known: int | None = None

    @classmethod
    def of(cls, lowered: Lowered) -> Formula:
        """Return the formula of a lowering. Raises `EngineError` where a literal names no variable of it."""
        every = lowered.variables
        clauses: list[set[int]] = []
        for clause in lowered.clauses:
            literals = {operator.index(x) for x in clause}  # NumPy's integers are refused by some counters
            if not all(1 <= abs(x) <= every for x in literals):
                raise EngineError(f"the CNF is malformed: clause {sorted(literals)} over the variables 1..{every}")
            if not any(-x in literals for x in literals):
                clauses.append(literals)
        counted = {operator.index(v) for v in lowered.projection()}
        if not all(1 <= v <= every for v in counted):
            raise EngineError(f"the CNF is malformed: it counts variables that are not among 1..{every}")
        number = {v: i for i, v in enumerate(sorted({abs(x) for clause in clauses for x in clause}), 1)}
        free = sum(v not in number for v in counted)
        known = 0 if set() in clauses else 1 if not clauses else None
        renamed = [sorted((number[abs(x)] if x > 0 else -number[abs(x)] for x in c), key=abs) for c in clauses]
        return cls(len(number), renamed, sorted(number[v] for v in counted if v in number), free, known)


class ModelCounter(Engine):
    """A model counter in a child process; subclasses name the function to call there and read its reply."""

    answers = (Count,)
    extra = "count"
    function: ClassVar[str]  # "module:name", takes {"formulas": [...], ...} and returns one reply for each
    guarantee: ClassVar[str] = HASHED
    most_bits: ClassVar[int] = MAX_BITS
    reserved: ClassVar[int] = 0  # bytes of address space that the counter maps and hardly touches
    percent: ClassVar[int] = 0  # by how much a figure may exceed what is possible, because it is approximate

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why worlds are not counted by models of a CNF, or None."""
        if getattr(query, "convention", None) != "ordered":
            return "the models of a CNF are 'ordered' worlds"
        if release.rows.high is None:
            return "the number of rows is unbounded"
        if release.domain.relative:
            return "a continuous attribute has no 'resolution': only ratios of counts mean anything"
        bits = _row_bits(release)
        if bits * release.rows.high > self.most_bits:
            rows = f"{release.rows.high:,} rows of {bits:,} bits are {bits * release.rows.high:,}"
            return f"{rows}, more than the {self.most_bits:,} with which {self.name} copes"
        return None

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return the number of worlds as an estimate; the bounds hold what any release of that size has.

        Takes `CHAIN_SHARE` of the time left, at most `CHAIN_SECONDS`. Raises `Inconclusive` where it finds no world,
        because that is no proof.
        """
        reason = self.refuses(release, query)
        if reason is not None:
            raise Unsupported(reason)
        if not isinstance(query, Count):
            raise unanswered(query, self.name)
        value = self.estimate(release, limits.stage("counter in the chain"))
        if value == 0:
            raise Inconclusive("no world was counted, which is no proof that there is none")
        shown = f"{self.name}: 2^{math.log2(value):.6f} worlds counted [{self.guarantee}], not proved"
        return CountAnswer(
            "bounds",
            guarantee=self.guarantee,
            convention="ordered",
            bounds=(-math.inf, log2_above(_worlds_before(release))),
            estimate=value,
            trail=(shown,),
        )

    def estimate(self, release: Release, limits: Limits) -> int:
        """Return the number of ordered worlds that the counter finds. Raises what `count` and the lowering raise."""
        return self.plausible(self.count(_lowered_of(release, limits), limits), _worlds_before(release))

    def count(self, lowered: Lowered, limits: Limits) -> int:
        """Return the number of models of a lowering, counted over its projection.

        Raises `EngineError` where the lowering is malformed or the reply cannot be true, and what
        `solvers.foundation.native.run` raises. An empty clause and an empty formula are settled without the
        counter.
        """
        formula = Formula.of(lowered)
        return self.counts([formula], limits)[0] if formula.known is None else formula.known << formula.free

    def counts(self, formulas: list[Formula], limits: Limits) -> list[int]:
        """Return the number of models of each of several formulas with clauses, counted in one process."""
        asked = [{"variables": f.variables, "clauses": f.clauses, "projection": f.projection} for f in formulas]
        payload = {"formulas": asked, "memory": limits.memory}
        replies = run(self.function, payload, limits, memory=limits.memory + self.reserved)
        if not isinstance(replies, list) or len(replies) != len(formulas):
            raise EngineError(f"{self.name} gave no reply for each of {len(formulas)} formulas")
        pairs = zip(replies, formulas, strict=True)
        return [self.plausible(self.read(reply, f), 1 << len(f.projection)) << f.free for reply, f in pairs]

    def read(self, reply: Any, formula: Formula) -> int:
        """Return the number that a reply states, in hexadecimal. Raises `EngineError` where it states none."""
        if not isinstance(reply, str) or HEXADECIMAL.fullmatch(reply) is None:
            raise EngineError(f"{self.name} replied {str(reply)[:40]!r}, which is not a number of models")
        return int(reply, 16)

    def plausible(self, value: int, maximum: int) -> int:
        """Return a number of models, at most `maximum`; raises `EngineError` where it is further above than allowed."""
        if 100 * value > (100 + self.percent) * maximum:
            raise EngineError(f"{self.name} counted 2^{log2_above(value):.1f} of at most 2^{log2_above(maximum):.1f}")
        return min(value, maximum)


def _row_bits(release: Release) -> int:
    """Return how many bits the CNF spends on one row: one per part, and the place in the largest part in binary."""
    return sum(len(a.sizes) + (max(a.sizes) - 1).bit_length() for a in release.domain.attributes)


def _worlds_before(release: Release) -> int:
    """Return how many ordered datasets there are for a release that states nothing but its number of rows."""
    high = release.rows.low if release.rows.high is None else release.rows.high
    return sum(release.domain.size**n for n in range(release.rows.low, high + 1))


def log2_above(value: int) -> float:
    """Return log2, not below the true one; minus infinity for 0."""
    found = math.log2(value) if value else -math.inf
    return found + SLACK * (1.0 + found) if value > 1 else found


def _lowered_of(release: Release, limits: Limits) -> Lowered:
    """Return the CNF whose models are the ordered worlds, made once per release."""
    from solvers.cells.clauses.lowering import lower

    known = release.derived.part(KnownClauses)
    if known.lowered is None:
        known.lowered = lower(release, limits, raw=True)
    return known.lowered


@dataclass(slots=True)
class KnownClauses:
    """The CNF of a release whose models are its ordered worlds."""

    lowered: Lowered | None = None


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
