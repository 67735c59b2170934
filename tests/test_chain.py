"""The chain: engines in one order, imported when it is their turn; what one leaves open the next ones are asked."""

from __future__ import annotations

import ast
import math
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import oracle_coupled
import pytest
from test_against_oracle import encoded

from recon.queries.answers.counting import plain_reasons
from recon.queries.answers.exact import as_frame
from recon.readers.frames.selections import select_frame
from solvers.cells.system import system_of
from solvers.engines import ENGINES, chain
from solvers.engines.cells import CpSatEngine, HistogramEngine, IntervalEngine
from solvers.engines.rows import LocalSearchEngine, RowsEngine, SatEngine
from solvers.foundation.errors import ContradictionError, EngineError, Inconclusive, ReleaseError
from solvers.foundation.limits import Limits
from solvers.programs import cell_model as enumeration
from solvers.programs import verdicts
from solvers.statements.questions.answers import Answer, CountAnswer, ExtremeAnswer, combined, left_open
from solvers.statements.questions.query import Count, Decide, Extreme

ROOT = Path(__file__).parents[1]
TREE = "examples/releases/compas_tree.json"
HEAVY = {"ortools", "oxidd", "highspy", "pysat", "sklearn", "scipy", "pandas", "pyarrow"}


@pytest.mark.slow
def test_counting_a_tree_loads_no_solver():
    code = (
        f"import sys; sys.argv = ['recon', 'count', {TREE!r}]\nfrom recon.cli.app import main\n"
        "try: main()\nexcept SystemExit: pass\nprint(sorted(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    loaded = set(ast.literal_eval(out.splitlines()[-1]))
    assert not {m.split(".")[0] for m in loaded} & HEAVY
    assert {m for m, entry in ENGINES if f"solvers.engines.{entry.partition('.')[0]}" in loaded} == {"closed_form"}


def coupled(count: int):
    """Yield statements of random coupled releases that have a world."""
    rng, found = random.Random("the chain"), 0
    while found < count:
        try:
            got = encoded(oracle_coupled.random_coupled(rng)[0])
        except (ReleaseError, ContradictionError):
            continue
        if got.statements.rows.high is not None and len(got.statements.blocks) > 1:
            found += 1
            yield got


@pytest.mark.slow
def test_the_plan_names_every_engine_for_a_question_and_why_it_refuses():
    for got in coupled(5):
        query = Count("ordered")
        steps = chain._plan(got.statements, query)
        names = [step.engine for step in steps]
        assert names == [m for m, _ in ENGINES if m in names]
        assert "likeliest" not in names  # it counts nothing
        asked = [s.engine for s in steps if s.refusal is None]
        found = chain.answer(got.statements, query)
        assert found.engine in asked
        refused = [f"{s.engine}: {s.refusal}" for s in steps[: names.index(found.engine)] if s.refusal]
        assert [line for line in found.trail if line in refused] == refused


def without_exact_engines(monkeypatch):
    """Let no engine list or count histograms."""
    monkeypatch.setattr(HistogramEngine, "refuses", lambda *_: "not in this test")
    monkeypatch.setattr(enumeration, "listed_histograms", lambda *_: "too many, in this test")


def test_without_a_first_world_linear_programming_bounds_extremes(monkeypatch):
    """CP-SAT finds no world in time: what was no answer is now an outer bound, and holds."""
    exact = []
    cases = list(coupled(12))
    for got in cases:
        system = system_of(got.statements, Limits())
        coefs = np.random.default_rng(0).integers(-2, 4, size=len(system.sizes))
        for greatest in (False, True):
            query = Extreme(coefs, greatest)
            exact.append((got.statements, query, chain.answer(got.statements, query)))
    without_exact_engines(monkeypatch)
    monkeypatch.setattr(verdicts.VerdictProver, "start", lambda *_: Answer("unknown", trail=(verdicts.NO_WORLD,)))
    seen = 0
    for statements, query, truth in exact:
        found = chain.answer(statements, query, Limits(seconds=30))
        if truth.status == "unsat":
            continue
        assert isinstance(found, ExtremeAnswer)
        assert (found.engine, found.status) == ("lp", "bounds")
        assert any("no possible world was found" in line for line in found.trail)
        low, high = found.bounds
        assert (low is None) == query.greatest
        assert (high is None) != query.greatest
        assert truth.bounds[0] <= high if query.greatest else low <= truth.bounds[0]
        seen += 1
    assert seen >= 10


def some_profiles(got, seed):
    """Return five random people as a question."""
    rng, every = random.Random(seed), got.domain.all
    people = [{a.name: a.value(rng.randrange(a.span[1])) for a in every} for _ in range(5)]
    return Decide(select_frame(got, as_frame(people)), "ordered")


@pytest.mark.slow
def test_selections_that_are_left_open_are_asked_of_the_next_engine(monkeypatch):
    """CP-SAT finds no world; SAT settles profiles that this leaves open, and the verdicts are the true ones."""
    cases = [(got, some_profiles(got, i)) for i, got in enumerate(coupled(12)) if got.statements.rows.exact]
    exact = [chain.answer(replace(got.statements), query) for got, query in cases]
    without_exact_engines(monkeypatch)
    monkeypatch.setattr(verdicts.VerdictProver, "start", lambda *_: Answer("unknown", trail=("no world in time",)))
    settled = 0
    for (got, query), truth in zip(cases, exact, strict=True):
        first = CpSatEngine().answer(got.statements, query, Limits(seconds=30))
        found = chain.answer(got.statements, query, Limits(seconds=30))
        if truth.status == "unsat":
            continue
        assert found.engine == "cpsat"
        settled += int((first.open & ~found.open).sum())
        assert ((found.low >= first.low) & (found.high <= first.high)).all()
        assert ((found.low <= truth.low) & (found.high >= truth.high)).all()
        assert (truth.low[~found.open & (found.low > 0)] > 0).all()
        assert (truth.high[~found.open & (found.high <= 0)] == 0).all()
        possible = ~found.open & (found.low <= 0) & (found.high > 0)
        assert ((truth.low[possible] == 0) & (truth.high[possible] > 0)).all()
    assert settled > 5


@pytest.mark.sampled(1)
@pytest.mark.parametrize("late", [True, False])
def test_what_cpsat_leaves_open_has_a_reason(monkeypatch, late):
    """Where a world is known and profiles stay open, the answer says whether the whole time was up or that of each."""

    def settles_nothing(prover, *_):
        if late:
            prover.limits.charge(1e9)

    cases = [(got, some_profiles(got, i)) for i, got in enumerate(coupled(12)) if got.statements.rows.exact]
    without_exact_engines(monkeypatch)
    for name in ("_bound", "_near", "_attainable", "_exactly"):
        monkeypatch.setattr(verdicts, name, settles_nothing)
    seen = 0
    for got, query in cases:
        found = CpSatEngine().answer(got.statements, query, Limits(seconds=30))
        if found.status != "unsat" and found.open.any():
            assert found.trail == ((verdicts.TIME_UP if late else verdicts.STAGE_UP),)
            assert plain_reasons(found.trail).startswith("the time was up" if late else "the solver did not settle")
            seen += 1
    assert seen >= 3


def test_a_count_without_a_known_world_is_asked_of_others(monkeypatch):
    without_exact_engines(monkeypatch)
    monkeypatch.setattr(
        IntervalEngine, "answer", lambda *_: CountAnswer("bounds", convention="ordered", bounds=(-math.inf, 1000.0))
    )
    for got in coupled(6):
        if not got.statements.rows.exact:
            continue
        found = chain.answer(got.statements, Count("ordered"), Limits(seconds=30))
        assert found.engine == "interval"
        if found.status == "bounds":
            assert found.bounds[0] >= 0.0  # a world was found row by row
            assert found.bounds[1] <= 1000.0
        asked = ("local_search: was asked", "rows: was asked")  # the second where the first finds no world
        assert any(line.startswith(asked) for line in found.trail)


@pytest.mark.slow
def test_an_engine_that_fails_behind_an_answer_does_not_take_it_away(monkeypatch):
    """What CP-SAT proved stands where SAT, which is asked for the rest, crashes; a first engine's failure is one."""

    def crash(*_):
        raise EngineError("crashed, in this test")

    cases = [(got, some_profiles(got, i)) for i, got in enumerate(coupled(12)) if got.statements.rows.exact]
    without_exact_engines(monkeypatch)
    monkeypatch.setattr(verdicts.VerdictProver, "start", lambda *_: Answer("unknown", trail=("no world in time",)))
    monkeypatch.setattr(SatEngine, "answer", crash)
    seen = 0
    for got, query in cases:
        first = CpSatEngine().answer(got.statements, query, Limits(seconds=30))
        if first.status != "unsat" and first.open.any():
            found = chain.answer(got.statements, query, Limits(seconds=30))
            assert found.engine == "cpsat"
            assert ((found.low >= first.low) & (found.high <= first.high)).all()
            assert "sat: crashed, in this test" in found.trail
            seen += 1
    assert seen >= 3
    monkeypatch.setattr(CpSatEngine, "answer", crash)
    with pytest.raises(EngineError):
        chain.answer(cases[0][0].statements, cases[0][1], Limits(seconds=30))


@pytest.mark.slow
def test_engines_behind_an_answer_leave_time_for_proofs(monkeypatch):
    """What is left open is asked of others in a part of the time left: certificates and further questions need some."""
    given = []

    def asked(_, release, query, limits):
        given.append(limits.work_left())
        raise Inconclusive("nothing more, in this test")

    without_exact_engines(monkeypatch)
    monkeypatch.setattr(
        IntervalEngine, "answer", lambda *_: CountAnswer("bounds", convention="ordered", bounds=(-math.inf, 1000.0))
    )
    monkeypatch.setattr(RowsEngine, "answer", asked)
    monkeypatch.setattr(LocalSearchEngine, "refuses", lambda *_: "not in this test")
    got = next(one for one in coupled(6) if one.statements.rows.exact)
    assert chain.answer(got.statements, Count("ordered"), Limits(seconds=600)).status == "bounds"
    assert chain.answer(got.statements, Count("ordered")).status == "bounds"
    assert given[0] <= 300
    assert given[1] == math.inf


# ---------------------------------------------------------------- two answers as one


def counted(low, high, **more):
    return CountAnswer("bounds", convention="ordered", bounds=(low, high), **more)


def test_the_best_bounds_are_kept():
    one = combined(counted(-math.inf, 10.0), counted(3.0, 12.0))
    assert one.bounds == (3.0, 10.0)
    assert combined(counted(2.0, 10.0), counted(3.0, 12.0, estimate=9, guarantee="hashed")).estimate == 9
    extreme = combined(ExtremeAnswer("bounds", bounds=(None, 7)), ExtremeAnswer("bounds", bounds=(4, 9)))
    assert extreme.bounds == (4, 7)
    assert combined(Answer("unknown"), extreme) is extreme
    assert combined(counted(0.0, 1.0), CountAnswer("unsat")).status == "unsat"


def test_bounds_that_exclude_each_other_are_an_error():
    with pytest.raises(EngineError):
        combined(counted(-math.inf, 2.0), counted(3.0, 4.0))
    with pytest.raises(EngineError):
        combined(ExtremeAnswer("bounds", bounds=(None, 2)), ExtremeAnswer("bounds", bounds=(3, None)))


def test_what_is_left_open():
    query = Count("ordered")
    assert left_open(query, Answer("unknown")) is query
    assert left_open(query, counted(-math.inf, 4.0)) is query
    assert left_open(query, counted(0.0, 4.0)) is None
    assert left_open(query, counted(-math.inf, 4.0, estimate=3)) is None
    assert left_open(query, CountAnswer("unsat")) is None
