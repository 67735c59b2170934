"""Model counters of other people: ordered worlds counted on our CNF, each in a process of its own, none proved.

The models of the CNF of a release are its ordered worlds (`solvers.cells.clauses.lowering`), so any model counter
counts worlds. None of these counters gives a proof, and a cache keyed by hashes or a random sample may be wrong: their
figures are estimates with a stated guarantee and never enter the bounds of an answer. They cope with few rows only:
eight rows of ten binary columns under three trees take d4 6 s and Ganak 9 s, ten rows more than 30 s.

Source: Sharma, Roy, Soos, Meel, "GANAK: a scalable probabilistic exact model counter", IJCAI 2019; Lagniez, Marquis,
"An improved decision-DNNF compiler", IJCAI 2017 (d4); Chakraborty, Meel, Vardi, "A scalable approximate model
counter", CP 2013, and Soos, Meel, "BIRD", AAAI 2019 (ApproxMC).
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from solvers.foundation.errors import EngineError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.native.processes import run
from solvers.statements.questions.answers import HASHED, Answer, CountAnswer
from solvers.statements.questions.engine import Engine, unanswered
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
        `solvers.foundation.native.processes.run` raises. An empty clause and an empty formula are settled without the
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
