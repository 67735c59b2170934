"""The models of `recon.models` solved by ortools, python-sat and highspy alone, against worlds listed apart."""

from __future__ import annotations

import random
from collections import Counter

import forests_with_bags
import oracle
import oracle_coupled
import pandas as pd
import pytest
from extras import batches, encoded, extra
from ortools.sat.python import cp_model

import recon
from recon import models

MOST = 300  # worlds that are listed row by row


class Every(cp_model.CpSolverSolutionCallback):
    def __init__(self):
        super().__init__()
        self.found = []

    def on_solution_callback(self):
        self.found.append(list(self.response_proto.solution))


def solutions(model):
    """Return every solution of a CP-SAT model as its values; two never differ in auxiliary variables only."""
    solver, seen = cp_model.CpSolver(), Every()
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.num_workers = 1
    assert solver.solve(model, seen) in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return seen.found


def models_of(cnf, most):
    """Return every model of clauses, of all variables, at most one more than `most`."""
    found = []
    with extra("pysat.solvers").Solver("cadical153", bootstrap_with=cnf.clauses) as solver:
        for x in range(1, cnf.nv + 1):  # a twin each, so that variables in no clause are seen too
            solver.add_clause([x, -x - cnf.nv])
            solver.add_clause([-x, x + cnf.nv])
        while len(found) <= most and solver.solve():
            found.append(solver.get_model()[: cnf.nv])
            solver.add_clause([-x for x in found[-1]])
    return found


def dataset(world):
    """Return the rows of a world without an order, as the oracle writes them."""
    rows = world.to_frame().itertuples(index=False)
    return tuple(sorted((tuple(None if pd.isna(v) else oracle.canonical(v) for v in row) for row in rows), key=repr))


def same_both_ways(mapping, solution):
    """Return the world of a solution, whose solution it is again."""
    world = mapping.world(solution)
    back = mapping.solution(world)
    assert list(back) == [name for name in mapping.variables if name in back]
    assert set(back) >= set(mapping.projection)
    assert mapping.world(back).indices().tolist() == world.indices().tolist()
    assert mapping.solution(world.to_frame()) == back
    return world


def listed_by_rows(got, convention, number):
    """Hold the models row by row against a number of worlds; return the datasets of each."""
    out = []
    model, mapping = models.cpsat(got, by="rows", convention=convention)
    assert mapping.exact
    found = solutions(model)
    assert len(found) == number
    assert len({tuple(s[mapping.variables.index(x)] for x in mapping.projection) for s in found}) == number
    out.append(Counter(dataset(mapping.world(s)) for s in found))
    cnf, mapping = models.cnf(got, convention)
    found = models_of(cnf, number)
    assert len(found) == number
    shown = [int(x) for line in cnf.comments if line.startswith("c p show") for x in line.split()[3:-1]]
    assert [f"x{x}" for x in shown] == list(mapping.projection)
    assert len({tuple(s[x - 1] for x in shown) for s in found}) == number
    out.append(Counter(dataset(mapping.world(s)) for s in found))
    if found:
        same_both_ways(mapping, found[0])
        assert mapping.weight(found[-1]) == {convention: 1}
    return out


def counted(release, convention):
    """Return the number of worlds by brute force; a forest of one tree is that tree where leaves are assigned."""
    if convention == "assigned" and (model := release["models"][0])["kind"] == "forest":
        release = {**release, "models": [{**model["trees"][0], "kind": "tree"}]}
    return oracle.count(release, convention)


def total(number):
    return sum(number.values()) if isinstance(number, dict) else number


@pytest.mark.parametrize("batch", batches(1, 16))
def test_models_of_random_releases_have_the_worlds_as_solutions(batch):
    rng, seen = random.Random(f"models {batch}"), Counter()
    for _ in range(12):
        release, _ = oracle_coupled.random_coupled(rng)
        got = encoded(release)
        known = [*oracle.CONVENTIONS[recon.count(got).convention != "assigned" :]]
        counts = {c: total(counted(release, c)) for c in known}
        model, mapping = models.cpsat(got)
        found, weights = solutions(model), Counter()
        for solution in found:
            weights.update(mapping.weight(solution))
        assert dict(weights) == counts, release
        assert counts == {c: recon.count(got, c).value for c in known}
        same_both_ways(mapping, found[0])
        datasets = {tuple(sorted(d, key=repr)) for d in oracle.datasets(release)}
        for convention, number in counts.items():
            if number <= MOST:
                for one in listed_by_rows(got, convention, number):
                    assert set(one) == datasets, (convention, release)
                seen[convention] += 1
    assert min(seen["ordered"], seen["multiset"]) > 3


@pytest.mark.parametrize("batch", batches(1, 8))
def test_multiplicities_are_constants_row_by_row(batch):
    """Forests whose bags are known: sequences by position, counted by brute force; histograms say less, and say so."""
    seen = Counter()
    for _, case in forests_with_bags.cases(f"models {batch}", 30, with_others=True):
        got, number = encoded(case.release), case.worlds.count()
        if got.statements.domain.relative or number > MOST:
            continue
        listed_by_rows(got, "ordered", number)
        for convention in ("multiset", "assigned"):
            with pytest.raises(recon.Unsupported):
                models.cnf(got, convention)
        model, mapping = models.cpsat(got)
        assert not mapping.exact
        assert "outer: every world is a solution, not conversely" in mapping.about
        cnf, rows = models.cnf(got)
        found = {tuple(s[: mapping.form.cells]) for s in solutions(model)}
        for one in models_of(cnf, 5)[:5]:
            solution = mapping.solution(rows.world(one))
            assert tuple(solution[x] for x in mapping.projection) in found
            with pytest.raises(recon.Unsupported, match="no weight"):
                mapping.weight(solution)
        seen["worlds"] += number
        seen["more"] += len(found) > number
    assert seen["worlds"] > 20


def test_contradictions_have_no_solution():
    rng, seen = random.Random("models contradictions"), 0
    while seen < 12:
        try:
            got = encoded(oracle_coupled.contradictory(rng))
        except recon.ReconError:
            continue
        seen += 1
        assert solutions(models.cpsat(got)[0]) == []
        listed_by_rows(got, rng.choice(["ordered", "multiset"]), 0)


def test_listed_worlds_say_for_how_many_they_stand():
    """In every convention the weights of all worlds add up to what brute force and `count` say."""
    rng, seen = random.Random("weights of worlds"), Counter()
    for _ in range(20):
        release, _ = oracle_coupled.random_coupled(rng)
        got = encoded(release)
        for convention in ("ordered", "multiset", None):
            answer = recon.count(got, convention)
            weights = [world.weight for world in recon.worlds(got, None, convention)]
            assert sum(weights) == answer.value
            assert answer.value == total(counted(release, answer.convention))
            seen[answer.convention] += answer.value != len(weights)
    for _, case in forests_with_bags.cases("weights of worlds", 25):
        got = encoded(case.release)
        for convention in ("ordered", "multiset"):
            try:
                found = list(recon.worlds(got, None, convention))
            except recon.Unsupported:
                continue
            assert sum(world.weight for world in found) == case.worlds.count(convention)
            seen[f"positions, {convention}"] += len(found) != case.worlds.count(convention)
    assert min(seen[kind] for kind in ("ordered", "assigned", "positions, ordered")) > 0
    assert seen["multiset"] == seen["positions, multiset"] == 0
