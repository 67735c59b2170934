"""A small proof checker: clauses that refute a formula, each by unit propagation from those before it.

Only reverse unit propagation (RUP) is accepted, never RAT: every clause that passes is implied by the formula, so an
accepted proof refutes it whatever was deleted on the way. Deletions only make propagation cheaper; a literal that was
propagated stays, although a clause it came from is deleted, because it is implied by the formula all the same. With
RAT this would be unsound.

Source: Goldberg, Novikov, "Verification of proofs of unsatisfiability for CNF formulas", DATE 2003 (RUP); Heule,
Hunt, Wetzler, "Trimming while checking clausal proofs", FMCAD 2013 (the format, deletion, backward checking, core
first); Moskewicz et al., "Chaff", DAC 2001 (two watched literals).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from solvers.foundation.errors import CertificateError
from solvers.foundation.limits import Limits

LINE = re.compile(r"\s*(?:(d)\s+)?((?:-?[1-9][0-9]{0,11}\s+)*)0\s*", re.ASCII)
LOOK = 16  # clauses between looks at the limits
VISIT = 1e-6  # of work: of a clause that is looked at because a literal it watches became false, measured
TRUE, FALSE, OPEN = 1, -1, 0
GONE, LIVE, NEEDED = 0, 1, 2  # NEEDED: something that was checked rests on the clause


@dataclass(frozen=True, slots=True)
class ClauseStep:
    """One line of a proof: a clause added, or one deleted."""

    line: int
    deletion: bool
    literals: tuple[int, ...]


def check(clauses: Iterable[Sequence[int]], proof_lines: Iterable[str], limits: Limits | None = None) -> None:
    """Return if the proof (DRAT text: "1 -2 0", "d 1 -2 0", "c ...") refutes the clauses by unit propagation alone.

    Raises `CertificateError` naming the line where it does not: a clause that does not follow, a malformed line, a
    literal beyond the variables of the clauses, no empty clause, or an end of the `limits`. Backward checking: only
    what the empty clause rests on is checked. Cost: a few thousand lines a second for short clauses.
    """
    formula = [tuple(clause) for clause in clauses]
    if any(x == 0 for clause in formula for x in clause):
        raise CertificateError("the formula has a literal 0")
    variables = max((abs(x) for clause in formula for x in clause), default=0)
    steps = _parse_steps(proof_lines, variables)
    if not any(not s.deletion and not s.literals for s in steps):
        raise CertificateError(f"line {steps[-1].line if steps else 0}: the proof ends without the empty clause")
    _Checker(variables, limits or Limits()).run(formula, steps)


def _parse_steps(proof_lines: Iterable[str], variables: int) -> list[ClauseStep]:
    """Return the steps of a proof; raises `CertificateError` for lines that are none."""
    out = []
    for number, line in enumerate(proof_lines, start=1):
        if not line.strip() or line.startswith("c"):
            continue
        found = LINE.fullmatch(line)
        if found is None:
            raise CertificateError(f"line {number}: not a clause ending in 0: {line.strip()[:60]!r}")
        literals = tuple(dict.fromkeys(map(int, found[2].split())))
        if any(abs(x) > variables for x in literals):
            raise CertificateError(f"line {number}: a literal beyond the {variables:,} variables of the formula")
        out.append(ClauseStep(number, found[1] is not None, literals))
    return out


class _Checker:
    """Clauses by number (from 1) under two watched literals, and what follows from them without an assumption.

    Lists over literals are as long as there are literals: a negative one counts from the end.
    """

    def __init__(self, variables: int, limits: Limits) -> None:
        self.limits, self.looks, self.visits = limits, 0, 0
        self.literals: list[list[int]] = [[]]
        self.state = [GONE]
        self.value = [OPEN] * (2 * variables + 1)
        self.watched: dict[int, list[list[int]]] = {s: [[] for _ in self.value] for s in (LIVE, NEEDED)}
        self.reason, self.place = [0] * (variables + 1), [0] * (variables + 1)  # 0: no clause, an assumption
        self.trail: list[int] = []
        self.heads = {LIVE: 0, NEEDED: 0}

    def run(self, formula: list[tuple[int, ...]], steps: list[ClauseStep]) -> None:
        """Add clauses up to the first conflict without assumptions, then check backward what it rests on."""
        known: dict[tuple[int, ...], list[int]] = {}
        conflict = 0
        for clause in formula:
            conflict = conflict or self.enter(clause, known)
        conflict = conflict or self.propagate()
        done: list[tuple[int, int, int]] = []  # clause, line of the proof (0: deleted there), literals known before
        for step in steps:
            if conflict:
                break
            self.look(step.line)
            if not step.deletion:
                done.append((len(self.state), step.line, len(self.trail)))
                conflict = self.enter(step.literals, known) or self.propagate()
                continue
            found = known.get(tuple(sorted(step.literals)))
            if found and not self.is_reason(found[-1]):  # else it stays: to know more is sound
                self.state[found[-1]] = GONE
                done.append((found.pop(), 0, len(self.trail)))
        self.mark([conflict])
        for number, line, before in reversed(done):
            if not line:
                self.watch(number, LIVE)
                continue
            needed = self.state[number] == NEEDED
            self.state[number] = GONE
            self.back(before)
            if needed:
                self.look(line)
                self.verify(number, line, before)

    def look(self, line: int) -> None:
        """Raise when the time is up."""
        self.looks += 1
        if self.looks % LOOK:
            return
        self.limits.charge(VISIT * self.visits)
        self.visits = 0
        if self.limits.late():
            raise CertificateError(f"line {line}: not verified: the time limit is over")

    def verify(self, number: int, line: int, before: int) -> None:
        """Assume that a clause is false and propagate to a conflict; what that rests on becomes needed."""
        for x in self.literals[number]:
            if self.value[x] == TRUE:  # known, or assumed false: the clause holds both a literal and its negation
                self.mark([self.reason[abs(x)]])
                self.back(before)
                return
            if self.value[x] == OPEN:
                self.assign(-x, 0)
        conflict = self.propagate()
        if not conflict:
            text = " ".join(map(str, sorted(self.literals[number], key=abs)[:8])) or "the empty clause"
            raise CertificateError(f"line {line}: does not follow by unit propagation: {text}")
        self.mark([conflict])
        self.back(before)

    def mark(self, rests_on: list[int]) -> None:
        """Mark the clauses that a conflict rests on as needed; they propagate first from now on."""
        seen: set[int] = set()
        while rests_on:
            number = rests_on.pop()
            if not number or number in seen:
                continue
            seen.add(number)
            if self.state[number] == LIVE:
                self.watch(number, NEEDED)
            rests_on += [self.reason[abs(x)] for x in self.literals[number]]

    def is_reason(self, number: int) -> bool:
        """Return whether a literal is known from this clause: then it stands first in it."""
        literals = self.literals[number]
        return bool(literals) and self.reason[abs(literals[0])] == number

    def enter(self, literals: Sequence[int], known: dict[tuple[int, ...], list[int]]) -> int:
        """Add a clause; return its number if it is in conflict with what is known, else 0."""
        number = len(self.state)
        self.literals.append(list(dict.fromkeys(literals)))
        self.state.append(LIVE)
        known.setdefault(tuple(sorted(self.literals[-1])), []).append(number)
        self.watch(number, LIVE)
        first = self.literals[number][:1]
        if not first or self.value[first[0]] == FALSE:
            return number
        if self.value[first[0]] == OPEN and all(self.value[x] == FALSE for x in self.literals[number][1:2]):
            self.assign(first[0], number)
        return 0

    def watch(self, number: int, state: int) -> None:
        """Watch two literals of a clause, of a live one those that are not false or were found false last."""
        literals, value = self.literals[number], self.value
        if state == LIVE:
            literals.sort(key=lambda x: -1 if value[x] != FALSE else len(self.trail) - self.place[abs(x)])
        self.state[number] = state
        if len(literals) > 1:
            for x in literals[:2]:
                self.watched[state][x].append(number)

    def assign(self, literal: int, reason: int) -> None:
        """Make a literal true."""
        self.value[literal], self.value[-literal] = TRUE, FALSE
        self.reason[abs(literal)], self.place[abs(literal)] = reason, len(self.trail)
        self.trail.append(literal)

    def back(self, before: int) -> None:
        """Forget all but the first literals that were made true."""
        for x in self.trail[before:]:
            self.value[x] = self.value[-x] = OPEN
            self.reason[abs(x)] = 0
        del self.trail[before:]
        self.heads = {LIVE: before, NEEDED: before}

    def propagate(self) -> int:
        """Make true what follows, by needed clauses first; return the number of a clause in conflict, or 0."""
        heads, trail = self.heads, self.trail
        while True:
            state = NEEDED if heads[NEEDED] < len(trail) else LIVE
            if heads[state] == len(trail):
                return 0
            false = -trail[heads[state]]
            heads[state] += 1
            if self.watched[state][false] and (conflict := self.scan(state, false)):
                return conflict

    def scan(self, state: int, false: int) -> int:
        """Propagate the clauses of one kind that watch a literal which became false."""
        value, every, states, watched = self.value, self.literals, self.state, self.watched[state]
        here, kept = watched[false], 0
        self.visits += len(here)
        for i, number in enumerate(here):
            if states[number] != state:
                continue
            literals = every[number]
            if literals[0] == false:
                literals[0], literals[1] = literals[1], false
            elif literals[1] != false:
                continue  # an old watch
            first = literals[0]
            if value[first] != TRUE:
                for k in range(2, len(literals)):
                    if value[literals[k]] != FALSE:
                        literals[1], literals[k] = literals[k], false
                        watched[literals[1]].append(number)
                        break
                else:
                    if value[first] == FALSE:
                        here[kept:i] = []
                        return number
                    self.assign(first, number)
                    here[kept] = number
                    kept += 1
                continue
            here[kept] = number
            kept += 1
        del here[kept:]
        return 0
