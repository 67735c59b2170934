"""Worlds and refutations by SAT solvers: each runs in a process of its own, and no world is believed unchecked.

A refutation for a certificate comes from CaDiCaL with its proof, never under assumptions: a proof of what they imply
is no refutation of the formula. Many questions about one release are asked of one incremental solver (Glucose), which
can be interrupted, so that each gets its share of the time.

Source: Biere et al., "CaDiCaL, Kissat, Paracooba, Plingeling and Treengeling", SAT Competition 2020; Audemard, Simon,
"Predicting learnt clauses quality in modern SAT solvers", IJCAI 2009; Ignatiev et al., "PySAT", SAT 2018; Eén,
Sörensson, "Temporal induction by incremental SAT solving", BMC 2003 (one solver, a selecting literal per question).
"""

from __future__ import annotations

import importlib
import math
import threading
import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from solvers.cells.clauses.lowering import Lowered
from solvers.foundation import native
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError, Inconclusive
from solvers.foundation.limits import FAR, Limits
from solvers.statements.boxes import Box, Region
from solvers.statements.release import ANY_LABEL, Choice, Loose, Partition, Release, Statement

SPEED = 2_000_000  # propagations of a SAT solver in a second of work
SPARE = 0.5  # seconds that a batch of questions leaves for its way back


@dataclass(frozen=True, eq=False)
class SatResult:
    """What a solver found: a model ("sat": its true variables), no model ("unsat": proof lines if asked), or nothing.

    `rows` is the decoded model, checked; `reason` says why nothing was found.
    """

    status: Literal["sat", "unsat", "unknown"]
    model: tuple[int, ...] | None = None
    rows: NDArray[Any] | None = None
    proof: tuple[str, ...] | None = None
    reason: str = ""


def satisfy(lowered: Lowered, limits: Limits, proof: bool = False) -> SatResult:
    """Return a model of the clauses, checked against the release, or that there is none, with `proof` if asked for.

    The proof is DRAT text, one line each, by RUP steps alone (`solvers.kernel.rup.check`). Time that ends, or a solver
    that crashes, is "unknown"; raises `TooLarge` for memory, `EngineError` where a model breaks a statement.
    """
    payload = {"clauses": lowered.clauses, "variables": lowered.variables, "proof": proof}
    try:
        found = _run_apart("in_child", payload, limits)
    except Inconclusive as error:
        return SatResult("unknown", reason=str(error))
    limits.charge(found["steps"] / SPEED)
    if found["model"] is None:
        return SatResult("unsat", proof=tuple(found["proof"]) if proof else None)
    return SatResult("sat", tuple(found["model"]), _checked_rows(lowered, found["model"]))


def _run_apart(function: str, payload: dict[str, Any], limits: Limits, work: float | None = None) -> Any:
    """Return what a function of this module returns in a process of its own; a crash leaves the question open."""
    try:
        return native.run(f"solvers.cells.clauses.sat:{function}", payload, limits, work=work)
    except EngineError as error:
        raise Inconclusive(f"the SAT solver failed: {error}") from error


def in_child(payload: dict[str, Any]) -> dict[str, Any]:
    """Return {"model": true variables or None, "proof": lines, "steps": propagations}; run in a process of its own."""
    pysat = importlib.import_module("pysat.solvers")
    with pysat.Cadical195(bootstrap_with=payload["clauses"], with_proof=payload["proof"]) as solver:
        found = solver.solve()
        steps = solver.accum_stats()["propagations"]
        if found:
            model = [x for x in solver.get_model() if 0 < x <= payload["variables"]]
            return {"model": model, "proof": [], "steps": steps}
        if not payload["proof"]:
            return {"model": None, "proof": [], "steps": steps}
        lines = [line.strip() for line in solver.get_proof()]
        proof = lines if "0" in lines else [*lines, "0"]  # left out where nothing was learnt
        return {"model": None, "proof": proof, "steps": steps}


@dataclass(frozen=True, slots=True)
class LiteralQuestion:
    """Whether there is a model with one of the literals `some` (empty: no matter) and none of the literals `none`."""

    some: tuple[int, ...] = ()
    none: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class SolvedQuestions:
    """Per question whether there is a model (None: not settled), and the rows of the models found, checked."""

    answers: tuple[bool | None, ...]
    worlds: tuple[NDArray[Any], ...]


def solve_questions(lowered: Lowered, questions: Sequence[LiteralQuestion], limits: Limits) -> SolvedQuestions:
    """Return the answers to questions about one formula; the steps left are shared among those still open.

    Every model that is found answers all questions it meets. Raises `Inconclusive` where nothing comes back in time,
    `TooLarge` and `EngineError` as `satisfy` does. Negative answers are Glucose's word, without a proof.
    """
    seconds, work = limits.clock_left(), limits.work_left()
    payload = {
        "clauses": lowered.clauses,
        "variables": lowered.variables,
        "questions": [[q.some, q.none] for q in questions],
        "keep": lowered.projection(),
        "steps": None if math.isinf(work) else int(work * SPEED),
        "seconds": None if math.isinf(seconds) else max(0.0, seconds - SPARE - 0.1 * seconds),
    }
    found = _run_apart("settle_in_child", payload, limits, FAR * work)
    limits.charge(found["steps"] / SPEED)
    if found["late"]:
        limits.meter.cut.setdefault(limits.name)
    return SolvedQuestions(tuple(found["answers"]), tuple(_checked_rows(lowered, model) for model in found["models"]))


def settle_in_child(payload: dict[str, Any]) -> dict[str, Any]:
    """Return {"answers": ..., "models": true variables among `keep`, per model, "steps": propagations, "late": ...}.

    Run in a process of its own.
    """
    pysat = importlib.import_module("pysat.solvers")
    questions: list[tuple[list[int], list[int]]] = payload["questions"]
    until = math.inf if payload["seconds"] is None else time.monotonic() + payload["seconds"]
    steps, taken = math.inf if payload["steps"] is None else payload["steps"], 0
    answers: list[bool | None] = [None] * len(questions)
    models: list[list[int]] = []
    with pysat.Glucose4(bootstrap_with=payload["clauses"]) as solver:
        for i, (some, none) in enumerate(questions):
            left, rest = until - time.monotonic(), steps - taken
            if answers[i] is not None or left <= 0 or rest <= 0:
                continue
            given = [-x for x in none]
            if some:
                selector = payload["variables"] + 1 + i
                solver.add_clause([-selector, *some])
                given.append(selector)
            each = answers.count(None)
            answers[i] = _interruptibly(solver, given, left, rest / each)
            taken = solver.accum_stats()["propagations"]
            if answers[i]:
                true = {x for x in solver.get_model() if x > 0}
                models.append([x for x in payload["keep"] if x in true])
                for j, (one, no) in enumerate(questions):
                    if answers[j] is None and _meets(true, one, no):
                        answers[j] = True
    return {"answers": answers, "models": models, "steps": taken, "late": time.monotonic() >= until}


def _meets(true: set[int], some: Sequence[int], none: Sequence[int]) -> bool:
    """Return whether a model has one of the literals `some`, if any are given, and none of `none`."""

    def holds(x: int) -> bool:
        return x in true if x > 0 else -x not in true

    return (not some or any(map(holds, some))) and not any(map(holds, none))


def _interruptibly(solver: Any, given: list[int], seconds: float, steps: float) -> bool | None:
    """Return whether there is a model under the given literals, None where that takes longer."""
    solver.prop_budget(-1 if math.isinf(steps) else max(1, int(steps)))
    if math.isinf(seconds):
        found: bool | None = solver.solve_limited(assumptions=given)
        return found
    timer = threading.Timer(seconds, solver.interrupt)
    timer.start()
    found = solver.solve_limited(assumptions=given, expect_interrupt=True)
    timer.cancel()
    timer.join()
    solver.clear_interrupt()
    return found


# ---------------------------------------------------------------- checking worlds


def _checked_rows(lowered: Lowered, model: Sequence[int]) -> NDArray[Any]:
    """Return the decoded rows of a model; raises `EngineError` where they break a statement of the release."""
    rows = lowered.decode(model)
    wrong = broken_statement(lowered.release, parts_of(lowered.release, rows) if lowered.raw else rows)
    if wrong is not None:
        raise EngineError(f"a SAT solver's world breaks a statement: {wrong}")
    return rows


def parts_of(release: Release, rows: NDArray[Any]) -> Ints:
    """Return (rows, attributes) the parts of raw value indices."""
    out = np.zeros(rows.shape, dtype=np.int64)
    for k, attribute in enumerate(release.domain.attributes):
        ends = list(accumulate(attribute.sizes))
        out[:, k] = [bisect_right(ends, value) for value in rows[:, k].tolist()]
    return out


def broken_statement(release: Release, parts: Ints) -> str | None:
    """Return what rows (given by parts; -1 where nothing names the attribute) break, by its source, or None."""
    if not release.rows.low <= len(parts) <= (release.rows.high or len(parts)):
        return "the number of rows"
    known: dict[Box, NDArray[np.bool_]] = {}

    def inside(box: Box) -> NDArray[np.bool_]:
        if box not in known:
            out = np.ones(len(parts), dtype=bool)
            for k, mask in box.literals:
                full = len(release.domain.attributes[k].sizes)
                out &= np.array([mask >> p & 1 == 1 for p in range(full)])[parts[:, k]]
            known[box] = out
        return known[box]

    def count(region: Region) -> NDArray[np.bool_]:
        out = inside(region.box).copy()
        for box in region.minus:
            out &= ~inside(box)
        return out

    def holds(s: Statement) -> bool:
        total = sum(int((count(one.region) * one.weight(parts)).sum()) for one in s.summands)
        return s.low <= total <= s.high

    if any(inside(box).any() for box in release.impossible):
        return "an impossible box"
    for block in release.blocks:
        if isinstance(block, Partition):
            if (wrong := _broken_statement(release, block, parts, [inside(box) for box in block.boxes])) is not None:
                return block.source(wrong)
        elif isinstance(block, Choice):
            if sum(all(map(holds, alternative)) for alternative in block.alternatives) != 1:
                return block.name
        elif isinstance(block, Loose):
            for s in block:
                if not holds(s):
                    return s.source
    return None


def _broken_statement(release: Release, block: Partition, parts: Ints, hits: list[NDArray[np.bool_]]) -> int | None:
    """Return a statement of a partition that rows break, None where they meet all; `hits` are the rows of each box."""
    region = np.full(len(parts), -1, dtype=np.int64)
    for j, hit in reversed(list(enumerate(hits))):  # the first box that is met has the last word
        region[hit] = j
    label = release.domain.label
    labels = np.full(len(parts), ANY_LABEL) if label is None else parts[:, label]
    for s in range(len(block)):
        counted = region == block.region[s]
        if block.label[s] != ANY_LABEL:
            counted &= labels == block.label[s]
        if not int(block.low[s]) <= int(counted.sum()) <= int(block.high[s]):
            return s
    return None


__all__ = [
    "LiteralQuestion",
    "SatResult",
    "SolvedQuestions",
    "broken_statement",
    "parts_of",
    "satisfy",
    "solve_questions",
]
