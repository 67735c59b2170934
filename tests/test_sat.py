"""Worlds, refutations and verdicts by SAT against brute force, and what becomes of solvers that crash, hang or lie."""

from __future__ import annotations

import itertools
import random
import time

import numpy as np
import oracle
import oracle_coupled
import pandas as pd
import pytest
from extras import encoded
from test_against_oracle import canonical_rows, random_profile
from test_cnf import drawn
from test_engines import met, parts_of

import recon
from recon.readers.frames.selections import select_frame
from recon.readers.frames.world import World as PublicWorld
from solvers.cells.clauses.lowering import Lowered, lower
from solvers.cells.clauses.sat import LiteralQuestion, broken_statement, satisfy, solve_questions
from solvers.engines.chain import answer
from solvers.engines.rows import MAX_CLAUSES, SatEngine
from solvers.foundation import native
from solvers.foundation.errors import EngineError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.kernel.rup import check
from solvers.programs.columns.master import decide_apart
from solvers.statements.boxes import Attribute, Box, Boxes, Region, RowSpace
from solvers.statements.questions.query import Count, Decide, MostLikely, Selections
from solvers.statements.release import Partition, Release, RowCount, Statement

pytest.importorskip("pysat")


@pytest.mark.slow
def test_models_and_proofs_of_random_releases():
    proofs = 0
    for number, (release, got, worlds) in enumerate(itertools.islice(drawn("satisfy", 0), 24)):
        lowered = lower(got.statements, Limits(), raw=number % 2 == 0, sorted_rows=number % 4 == 1)
        found = satisfy(lowered, Limits(), proof=True)
        assert found.status == ("sat" if worlds else "unsat"), release
        if not worlds:
            check(lowered.clauses, found.proof)
            proofs += 1
        elif lowered.raw:
            assert met(got.statements, found.rows.tolist())
        assert (found.model is None) == (found.rows is None) == (worlds == 0)
    assert proofs > 1
    assert satisfy(lowered, Limits(), proof=False).proof is None


@pytest.mark.slow
def test_worlds_are_judged_statement_by_statement():
    """`broken` against the evaluation of the contract suite, on rows that may break anything."""
    rng, right, wrong = random.Random(6), 0, 0
    for _ in range(60):
        release, _ = oracle_coupled.random_coupled(rng)
        statements = encoded(release).statements
        totals = [a.total for a in statements.domain.attributes]
        possible = oracle.datasets(release)
        decode = [{oracle.canonical(a.value(i)): i for i in range(a.span[1])} for a in encoded(release).domain.all]
        for _ in range(6):
            rows = [[d[v] for d, v in zip(decode, row, strict=True)] for row in rng.choice(possible)]
            if rows and rng.random() < 0.6:
                k = rng.randrange(len(totals))
                rows[rng.randrange(len(rows))][k] = rng.randrange(totals[k])
            elif rng.random() < 0.1:
                rows.append([rng.randrange(t) for t in totals])
            parts = np.array([parts_of(statements.domain, r) for r in rows], dtype=np.int64).reshape(-1, len(totals))
            said = broken_statement(statements, parts)
            assert (said is None) == met(statements, rows), (release, rows, said)
            right, wrong = right + (said is None), wrong + (said is not None)
    assert min(right, wrong) > 50


# ---------------------------------------------------------------- the engine


@pytest.mark.slow
def test_every_verdict_is_settled_and_right():
    rng, seen = random.Random(12), set()
    while len(seen) < 3 or rng.random() < 0.92:
        release, truth = oracle_coupled.random_coupled(rng)
        got = encoded(release)
        if not got.statements.rows.exact or got.statements.rows.low == 0:
            continue
        profiles = [random_profile(rng, release, truth, full=i == 0) for i in range(5)] + [{}]
        selections = select_frame(got, pd.DataFrame(profiles, dtype=object))
        found = SatEngine().answer(got.statements, Decide(selections, "ordered"), Limits())
        for i, profile in enumerate(profiles):
            expected = oracle.membership(release, profile, "ordered")
            assert not found.open[i], (release, profile)
            assert found.low[i] <= expected["min_count"], (release, profile)
            assert found.high[i] >= expected["max_count"], (release, profile)
            assert (found.low[i] > 0) == (expected["verdict"] == "certain"), (release, profile)
            assert (found.high[i] == 0) == (expected["verdict"] == "impossible"), (release, profile)
            assert found.before[i] == pytest.approx(float(expected["probability_before"]))
            seen.add(expected["verdict"])


def forest(rows, trees, depth, seed=0):
    """Return (rows, release) of a random forest on ten binary columns and a label."""
    sklearn = pytest.importorskip("sklearn.ensemble")
    dice = np.random.default_rng(seed)
    frame = pd.DataFrame(dice.integers(0, 2, size=(rows, 10)), columns=[f"c{i}" for i in range(10)])
    label = (frame["c0"] + frame["c1"] + dice.integers(0, 2, rows) > 1).astype(int).rename("y")
    domain = recon.Domain.from_frame(frame.assign(y=label), label="y")
    model = sklearn.RandomForestClassifier(trees, max_depth=depth, bootstrap=False, random_state=0)
    return frame.assign(y=label), recon.encode(model.fit(frame, label), domain)


@pytest.mark.slow
def test_more_is_settled_than_by_trees_alone():
    truth, release = forest(25, 6, 4)
    others = pd.DataFrame(np.random.default_rng(1).integers(0, 2, size=(150, 11)), columns=truth.columns)
    query = Decide(select_frame(release, pd.concat([truth, others])), "ordered")
    exact = answer(release.statements, query, Limits())
    assert exact.status == "exact"
    found = SatEngine().answer(release.statements, query, Limits(seconds=600))
    alone = decide_apart(release.statements, query, Limits())
    assert found.status == "bounds"
    assert found.open.sum() < alone.open.sum()
    assert ((found.low > 0) <= (exact.low > 0)).all()
    assert ((found.high == 0) <= (exact.high == 0)).all()
    settled = ~found.open
    assert ((found.low > 0) == (exact.low > 0))[settled].all()
    assert ((found.high == 0) == (exact.high == 0))[settled].all()
    assert (found.low >= alone.low).all()
    assert (found.high <= alone.high).all()
    assert (found.high == 0).sum() > (alone.high == 0).sum()
    (one,) = SatEngine().answer(release.statements, MostLikely(), Limits(seconds=600)).worlds
    assert met(release.statements, np.repeat(one.values, one.times, axis=0).tolist())
    with pytest.raises(Unsupported, match="does not count"):
        SatEngine().answer(release.statements, Count("ordered"), Limits())


@pytest.mark.slow
def test_it_is_asked_where_the_cells_are_too_many():
    found = answer(forest(25, 6, 4)[1].statements, MostLikely(), Limits(seconds=600, cells=10))
    assert any("--max-cells" in line for line in found.trail)
    assert found.engine in {"local_search", "sat"} or any(line.startswith("sat: ") for line in found.trail)
    counted = answer(forest(25, 6, 4)[1].statements, Count("ordered"), Limits(seconds=4, cells=10))
    assert counted.status == "bounds"
    assert counted.engine == "local_search" or any(line.startswith("sat: ") for line in counted.trail)


@pytest.mark.slow
def test_contradictions_are_found_without_cells():
    rng, found = random.Random("unsat"), 0
    while found < 6:
        try:
            got = encoded(oracle_coupled.contradictory(rng)).statements
        except (recon.ReleaseError, recon.ContradictionError):
            continue
        if got.rows.exact:
            found += 1
            for query in (Count("ordered"), MostLikely()):
                assert SatEngine().answer(got, query, Limits()).status == "unsat"


@pytest.mark.slow
def test_worlds_found_are_datasets():
    rng, found = random.Random("worlds"), 0
    while found < 8:
        release, _ = oracle_coupled.random_coupled(rng)
        got = encoded(release)
        if SatEngine().refuses(got.statements, MostLikely()) is None:
            found += 1
            (world,) = SatEngine().answer(got.statements, MostLikely(seed=found), Limits()).worlds
            rows = canonical_rows(PublicWorld(got.domain, world).to_frame())
            assert rows in {tuple(sorted(d, key=repr)) for d in oracle.datasets(release)}


def test_sums_said_too_coarsely_settle_nothing_as_possible():
    """x is in 0..9 and its sum is published as 5, seen only as 0 or 9 at most: a world for the parts may be none."""
    domain = RowSpace((Attribute("x", (1, 9)),))
    said = Statement.sum(Region(Box()), 5, 9, "total", of=0, coefs=(0, 9), coarse=True)
    release = Release(domain, RowCount(1, 1), ((said,),))
    frame = select(release, [(1, 0), (0, 9), (0, 3)])
    found = SatEngine().answer(release, Decide(frame, "ordered"), Limits())
    assert found.high.tolist() == [0, 1, 1]
    assert found.low.tolist() == [0, 1, 0]
    assert found.open.tolist() == [False, False, True]
    assert "too many values" in SatEngine().refuses(release, MostLikely())


def select(release, allowed):
    """Return selections of the only attribute by how many values of each part are allowed."""
    sizes = (release.domain.attributes[0].sizes, *dict.fromkeys(allowed))
    codes = np.array([[sizes.index(a, 1)] for a in allowed], dtype=np.int32)
    return Selections(codes, (sizes,))


def test_too_many_rows_are_refused_at_once():
    domain = RowSpace((Attribute("x", (1,) * 50),))
    everything = Partition(
        "tree",
        Boxes.of([Box(((0, 1 << p),)) for p in range(50)]),
        False,
        np.arange(50, dtype=np.int32),
        np.full(50, -1, dtype=np.int32),
        np.full(50, 1_000, dtype=np.int64),
        np.full(50, 1_000, dtype=np.int64),
        tuple(map(str, range(50))),
    )
    release = Release(domain, RowCount(50_000, 50_000), (everything,))
    begun = time.process_time()
    assert "too many" in SatEngine().refuses(release, Count("ordered"))
    assert time.process_time() - begun < 20
    assert MAX_CLAUSES > 100_000


# ---------------------------------------------------------------- solvers that hang, crash, lie


def hard(guarded=False):
    """Return the clauses of 13 pigeons in 12 holes: no solver without symmetry refutes them in seconds."""
    guard = [-2] if guarded else []
    at = {(p, h): 3 + 12 * p + h for p in range(13) for h in range(12)}
    clauses = [(1,), *((*guard, *(at[p, h] for h in range(12))) for p in range(13))]
    clauses += [(-at[p, h], -at[q, h]) for h in range(12) for q in range(13) for p in range(q)]
    release = Release(RowSpace((Attribute("x", (1,)),)), RowCount(0, 0), ())
    return Lowered(release, False, 2 + 12 * 13, tuple(clauses), (), ())


@pytest.mark.slow
def test_time_and_stop_are_heard():
    found = satisfy(hard(), Limits(seconds=1.0), proof=True)
    assert (found.status, found.proof) == ("unknown", None)
    assert "time" in found.reason
    stopped = Limits()
    stopped.stop.set()
    assert satisfy(hard(), stopped).status == "unknown"


@pytest.mark.slow
def test_each_question_has_its_share_of_the_work():
    questions = [
        LiteralQuestion(some=(2,)),
        LiteralQuestion(),
        LiteralQuestion(none=(2,)),
        LiteralQuestion(some=(2,), none=(2,)),
    ]
    limits = Limits().at_most(4.0)
    found = solve_questions(hard(guarded=True), questions, limits)
    assert found.answers == (None, True, True, False)
    assert 0.5 < limits.meter.used < 2.0, "its fourth of the work"
    assert len(found.worlds) == 1, "one model answers every question that it meets"
    with pytest.raises(Inconclusive):
        solve_questions(hard(), questions, Limits(seconds=0.0))


def small():
    release = Release(
        RowSpace((Attribute("x", (1, 1)),)), RowCount(2, 2), ((Statement.count(Region(Box(((0, 1),))), 1, 1, "s"),),)
    )
    return release, lower(release, Limits(), raw=False)


def test_what_the_clock_left_open_is_told(monkeypatch):
    reply = {"models": [], "answers": [None], "steps": 0, "late": True}
    monkeypatch.setattr(native, "run", lambda *_, **__: reply)
    limits = Limits(seconds=60.0).stage("world by SAT")
    assert solve_questions(small()[1], [LiteralQuestion()], limits).answers == (None,)
    assert limits.cut_short() == ("the clock (--time) cut short: world by SAT",)


def test_a_world_that_breaks_a_statement_is_not_believed(monkeypatch):
    release, lowered = small()
    first = [b.variable for b in lowered.bits if b.part == 0]
    reply = {"model": first, "models": [first], "answers": [True], "steps": 0, "late": False}
    monkeypatch.setattr(native, "run", lambda *_, **__: reply)
    with pytest.raises(EngineError, match="breaks a statement: s"):
        satisfy(lowered, Limits())
    with pytest.raises(EngineError, match="breaks a statement: s"):
        solve_questions(lowered, [LiteralQuestion()], Limits())
    with pytest.raises(EngineError, match="breaks a statement: s"):
        SatEngine().answer(release, MostLikely(), Limits())


def test_a_solver_that_crashes_leaves_the_question_to_others(monkeypatch):
    release, lowered = small()

    def crash(*_, **__):
        raise EngineError("ended by signal SIGSEGV")

    monkeypatch.setattr(native, "run", crash)
    assert satisfy(lowered, Limits()).status == "unknown"
    for query in (Count("ordered"), MostLikely()):
        with pytest.raises(Inconclusive, match="SIGSEGV"):
            SatEngine().answer(release, query, Limits())
    truth, grown = forest(12, 3, 3)
    query = Decide(select_frame(grown, truth), "ordered")
    found = SatEngine().answer(grown.statements, query, Limits())
    alone = decide_apart(grown.statements, query, Limits())
    assert (found.low == alone.low).all()
    assert (found.high == alone.high).all()
    assert "SIGSEGV" in found.trail[0]


def test_memory_is_a_refusal():
    _, lowered = small()
    with pytest.raises(TooLarge, match="--memory"):
        lower(lowered.release, Limits(memory=0))
