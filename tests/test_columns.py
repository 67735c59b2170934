"""Column generation against brute force over every dataset, and against the linear program over all cells."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import oracle
import oracle_coupled
import pytest
import weights
from extras import batches, encoded
from scipy.optimize import linprog
from test_against_oracle import random_profile
from test_coupled import releases

import recon
from recon.queries.answers.exact import as_frame
from recon.readers.frames.selections import select_frame
from solvers.cells.system import system_of
from solvers.engines.cells import ColumnsEngine
from solvers.engines.chain import ask
from solvers.foundation.errors import ContradictionError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.system_membership import overlaps
from solvers.programs.columns.master import Bound, MasterProgram, decide_apart
from solvers.programs.columns.pricing import Incidence, Pricer, rows_within
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import CountAnswer, DecideAnswer
from solvers.statements.questions.query import Count, Decide
from solvers.statements.release import UNBOUNDED, Release

BATCHES = batches(2, 2)
FEW = 3  # live cells: more are too many
PER_BATCH = 10


def fresh(got):
    """Return the statements of a release with nothing remembered."""
    old = got.statements
    return Release(old.domain, old.rows, old.blocks, old.impossible)


def questions(rng, release, truth, got, number=2):
    """Yield (profile, box met, box inside) of random profiles."""
    profiles = [random_profile(rng, release, truth, full=i == 0) for i in range(number)]
    boxes = select_frame(got, as_frame(profiles)).boxes()
    yield from ((p, meets, inside) for p, (meets, inside) in zip(profiles, boxes, strict=True))


def over_all_cells(system, coefs, greatest):
    """Return the bounds on coefs @ z that the linear program over all cells gives, a little wider and as it is."""
    if not len(coefs):
        return (0, 0)
    rows = system.always
    matrix = np.zeros((len(system.linear), system.linear.columns))
    matrix[system.linear.row, system.linear.col] = system.linear.coef
    low, high = system.linear.low[rows], system.linear.high[rows]
    sides = [(matrix[rows][high < UNBOUNDED], high[high < UNBOUNDED])]
    sides += [(-matrix[rows][low > -UNBOUNDED], -low[low > -UNBOUNDED])]
    n = system.release.rows
    sides += [(np.ones((1, len(coefs))), np.array([n.high])), (-np.ones((1, len(coefs))), np.array([-n.low]))]
    above, ends = (np.concatenate(part) for part in zip(*sides, strict=True))
    found = linprog(-coefs if greatest else coefs, A_ub=above, b_ub=ends)
    assert found.status == 0
    if greatest:
        return math.floor(-found.fun + 0.01), math.floor(-found.fun + 1e-6)
    return math.ceil(found.fun - 0.01), math.ceil(found.fun - 1e-6)


def every_row(release):
    """Return all rows by their parts, possible or not."""
    return np.array(list(itertools.product(*(range(len(a.sizes)) for a in release.domain.attributes))), dtype=np.int64)


def counted(release, row):
    """Return how often every statement counts a row, and whether it is possible: by the statements' own words."""
    barred = any(all(mask >> row[k] & 1 for k, mask in box.literals) for box in release.impossible)
    times = []
    for s in release.statements():
        times.append(weights.weight(s, row))
    return times, not barred


@pytest.mark.parametrize("batch", BATCHES)
def test_columns_and_prices_are_those_of_the_statements(batch):
    rng = random.Random(f"prices {batch}")
    for _, release, _ in releases("prices", batch, 8):
        statements = fresh(encoded(release))
        pricer, rows = Pricer(statements), every_row(statements)
        weights = np.array([rng.randint(-9, 9) for _ in range(pricer.incidence.total + 1)], dtype=np.int64)
        chosen = set(range(len(pricer.incidence.empty)))
        ours = {j for j, low in enumerate(pricer.incidence.bounds[0]) if low is not None}
        ours |= {j for j, high in enumerate(pricer.incidence.bounds[1]) if high is not None}
        weights[sorted(chosen - ours)] = 0  # statements of alternatives count no row
        box = Box(((0, 1),)) if rng.random() < 0.7 else Box()
        bonus = rng.choice([-5, 0, 5])
        worths = []
        for row in rows.tolist():
            times, possible = counted(statements, row)
            possible &= not any(t and pricer.incidence.empty[j] for j, t in enumerate(times))
            if possible:
                inside = bool(rows_within(np.array([row]), box)[0])
                worths.append(bonus * inside - int(weights[:-1] @ np.array(times, dtype=np.int64)) - int(weights[-1]))
        found = pricer.best(weights, bonus, box, None, Limits())
        if worths:
            assert found.value == found.bound == max(worths), release
            above = pricer.best(weights, bonus, box, max(worths), Limits())
            assert above.row is None
            assert above.bound == max(worths)
            some = pricer.best(weights, bonus, box, max(worths) - 1, Limits())
            assert some.value == max(worths)
        else:
            assert found.row is None
        ended = pricer.best(weights, bonus, box, None, Limits(seconds=0.0))
        assert all(ended.bound >= w for w in worths)


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("batch", BATCHES)
def test_bounds_hold_and_are_those_of_the_program_over_all_cells(batch):
    closed = 0
    for rng, release, truth in releases("columns", batch, PER_BATCH):
        got = encoded(release)
        statements, system = fresh(got), system_of(got.statements, Limits())
        master = MasterProgram.of(statements)
        for profile, meets, inside in questions(rng, release, truth, got):
            met = overlaps(system, select_frame(got, as_frame([profile])))[0]
            expected = oracle.membership(release, profile, "ordered")
            for greatest, box, cells in ((True, meets, met.cells), (False, inside, met.inside)):
                coefs = np.zeros(len(system.sizes), dtype=np.int64)
                coefs[list(cells)] = 1
                found = master.bound(box, greatest, Limits())
                true = expected["max_count" if greatest else "min_count"]
                assert (found.value >= true) if greatest else (found.value <= true), (release, profile)
                assert checked(statements, box, 1 if greatest else -1, found) == found.value
                if found.proved:
                    assert found.value in over_all_cells(system, coefs, greatest), (release, profile, greatest)
                    closed += 1
    assert closed > 3 * PER_BATCH


@pytest.mark.slow
def test_little_time_still_gives_bounds():
    for rng, release, truth in releases("hasty", 0, 10):
        got = encoded(release)
        for seconds in (0.0, 0.02, 0.2):
            master = MasterProgram(fresh(got))
            for profile, meets, inside in questions(rng, release, truth, got, 1):
                expected = oracle.membership(release, profile, "ordered")
                for greatest, box in ((True, meets), (False, inside)):
                    found = master.bound(box, greatest, Limits(seconds=seconds))
                    true = expected["max_count" if greatest else "min_count"]
                    assert (found.value >= true) if greatest else (found.value <= true), (release, profile)
                    assert checked(master.release, box, 1 if greatest else -1, found) == found.value


def checked(statements, box, sign, found):
    """Return the bound that the multipliers prove, by the statements' own words over every row."""
    every = [*statements.statements()]
    total = len(every)
    low, high = [s.low for s in every] + [statements.rows.low], [s.high for s in every] + [statements.rows.high]
    empty = Incidence(statements).empty
    for row in every_row(statements):
        times, possible = counted(statements, row.tolist())
        if possible and not any(t and empty[j] for j, t in enumerate(times)):
            left = sign * found.scale * int(rows_within(row[None], box)[0])
            assert left <= sum(y * ([*times, 1])[j] for j, y in found.multipliers.items())
    proved = sum(max(y * low[j], y * high[j]) for j, y in found.multipliers.items())
    assert set(found.multipliers) <= set(range(total + 1))
    return (sign or 1) * (proved // found.scale)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", BATCHES)
def test_only_contradictions_are_refuted(batch):
    rng = random.Random(f"refuted {batch}")
    refuted = seen = 0
    for _ in range(10):
        try:
            got = encoded(oracle_coupled.contradictory(rng))
        except (recon.ReleaseError, ContradictionError):
            continue  # refused when read
        seen += 1
        found = MasterProgram(got.statements).refutes(Limits())
        if found is not None:
            assert found.value < 0
            assert checked(fresh(got), Box(), 0, found) < 0
            refuted += 1
    assert refuted >= seen // 3
    for _, release, _ in releases("consistent", batch, PER_BATCH):
        assert MasterProgram(encoded(release).statements).refutes(Limits()) is None, release


@pytest.mark.slow
def test_the_chain_answers_where_cells_are_too_many():
    answered = 0
    for rng, release, truth in releases("chain", 0, 200):
        got = encoded(release)
        if len(system_of(got.statements, Limits()).sizes) <= FEW:
            continue
        profiles = [random_profile(rng, release, truth) for _ in range(3)]
        query = Decide(select_frame(got, as_frame(profiles)), "ordered")
        found = ask(fresh(got), query, DecideAnswer, Limits(cells=FEW))
        assert found.engine in {"columns", "assignments"}  # the second where a table tells the rows apart
        if found.engine == "columns":
            assert any(f"more than {FEW} live cells" in line for line in found.trail)
        for i, profile in enumerate(profiles):
            expected = oracle.membership(release, profile, "ordered")
            assert found.low[i] <= expected["min_count"], (release, profile)
            assert found.high[i] >= expected["max_count"], (release, profile)
            between = bool(found.low[i] <= 0 < found.high[i])
            assert between or not found.open[i]  # what columns leave open, engines behind may find a world for
            assert math.isnan(found.probability[i]) == between
            if got.statements.rows.exact:
                assert found.before[i] == pytest.approx(float(expected["probability_before"]))
        answered += 1
        if answered == 12:
            return
    pytest.fail("too few releases have so many cells")


def forest_of(trees, rows, seed):
    """Return the truth and a release of random trees over six attributes with eight values each."""
    rng = random.Random(seed)
    domain = {
        "attributes": [{"name": f"a{k}", "min": 0, "max": 7} for k in range(6)],
        "label": {"name": "y", "values": [0, 1]},
    }
    truth = [(*(rng.randrange(8) for _ in range(6)), rng.randrange(2)) for _ in range(rows)]
    models = []
    for _ in range(trees):
        nodes = []

        def grow(some, depth, nodes=nodes):
            at = len(nodes)
            nodes.append(None)
            if depth == 0 or len(some) < 2:
                nodes[at] = {"counts": [sum(r[-1] == y for r in some) for y in (0, 1)]}
                return at
            k, cut = rng.randrange(6), rng.randrange(7)
            below = grow([r for r in some if r[k] <= cut], depth - 1)
            above = grow([r for r in some if r[k] > cut], depth - 1)
            nodes[at] = {"if": {f"a{k}": {"at_most": cut}}, "then": below, "else": above}
            return at

        grow(truth, 3)
        models.append({"nodes": nodes})
    forest = {"kind": "forest", "trees": models, "bootstrap": False}
    return truth, {"recon": 1, "domain": domain, "rows": rows, "models": [forest]}


@pytest.mark.slow
def test_a_forest_is_bounded_as_tightly_as_with_all_its_cells():
    _, release = forest_of(4, 30, 1)
    got = encoded(release)
    system, statements = system_of(got.statements, Limits()), fresh(got)
    master, rng = MasterProgram(statements), random.Random(0)
    better = 0
    for _ in range(15):
        profile = {f"a{k}": rng.randrange(8) for k in range(6)} | {"y": rng.randrange(2)}
        chosen = select_frame(got, as_frame([profile]))
        box, coefs = chosen.boxes()[0][0], np.zeros(len(system.sizes), dtype=np.int64)
        coefs[list(overlaps(system, chosen)[0].cells)] = 1
        found = master.bound(box, True, Limits())
        assert found.proved
        assert found.value in over_all_cells(system, coefs, True)
        better += found.value < master.apart(box, True).value
    assert better


@pytest.mark.slow
def test_a_true_row_is_never_excluded_and_the_engine_is_never_worse_than_single_trees():
    truth, release = forest_of(6, 40, 2)
    got = encoded(release)
    names = [f"a{k}" for k in range(6)] + ["y"]
    profiles = [dict(zip(names, row, strict=True)) for row in truth[:10]]
    query = Decide(select_frame(got, as_frame(profiles)), "ordered")
    apart = decide_apart(fresh(got), query, Limits())
    for seconds in (0.2, 600.0):
        found = ColumnsEngine().answer(fresh(got), query, Limits(cells=100, seconds=seconds))
        assert isinstance(found, DecideAnswer)
        assert (found.high >= 1).all()
        assert seconds < 1 or (found.high <= apart.high).all()  # 0.2 s may end before the last tree
        assert (found.low >= apart.low).all()


@pytest.mark.parametrize("error", [Inconclusive("HiGHS does not end"), Unsupported("multipliers exceed 2^58")])
def test_what_is_proved_stands_where_a_later_bound_fails(monkeypatch, error):
    truth, release = forest_of(5, 12, 2)
    names = [*(f"a{k}" for k in range(6)), "y"]
    got = encoded(release)
    query = Decide(select_frame(got, as_frame([dict(zip(names, row, strict=True)) for row in truth])), "ordered")
    apart = decide_apart(fresh(got), query, Limits())
    assert apart.open.sum() > 1
    bounds = iter([Bound(0, {0: 1}, 1)])

    def bound(*_, **__):
        for found in bounds:
            return found
        raise error

    monkeypatch.setattr(MasterProgram, "hopeless", lambda *_: False)
    monkeypatch.setattr(MasterProgram, "bound", bound)
    found = ColumnsEngine().answer(fresh(got), query, Limits(cells=20, seconds=600))
    assert isinstance(found, DecideAnswer)
    assert int((apart.open & ~found.open).sum()) == 1
    assert len(found.multipliers) == 1
    assert found.trail == (f"columns: {error}",)


def test_a_program_that_may_still_be_at_work_is_not_touched_again():
    _, release = forest_of(3, 20, 3)
    statements = encoded(release).statements
    first = MasterProgram.of(statements)
    assert MasterProgram.of(statements) is first
    first._program.busy = True
    assert MasterProgram.of(statements) is not first


def test_counting_is_refused_unless_there_is_no_world():
    _, release = forest_of(3, 20, 3)
    limits = Limits(cells=10, seconds=600)
    with pytest.raises(Unsupported, match="does not count"):
        ColumnsEngine().answer(encoded(release).statements, Count("ordered"), limits)
    with pytest.raises(Unsupported, match="few enough"):
        ColumnsEngine().answer(encoded(release).statements, Count("ordered"), Limits())
    first = release["models"][0]["trees"][0]["nodes"]
    leaves = [n for n in first if "counts" in n]
    a, b = next((m, n) for m, n in itertools.permutations(leaves, 2) if m["counts"][0] and n is not m)
    a["counts"][0], b["counts"][1] = a["counts"][0] - 1, b["counts"][1] + 1  # the trees count classes differently
    answer = ColumnsEngine().answer(encoded(release).statements, Count("ordered"), limits)
    assert isinstance(answer, CountAnswer)
    assert answer.status == "unsat"
