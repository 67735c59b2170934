"""The models of `recon.models` solved by ortools, python-sat and highspy alone, against worlds listed apart."""

from __future__ import annotations

import collections
import itertools
import json
import math
import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import forests_with_bags
import highspy
import model_cases
import numpy as np
import oracle
import oracle_coupled
import pandas as pd
import pytest
from doc_blocks import blocks
from extras import batches, encoded, extra
from ortools.sat.python import cp_model

import recon
from recon import models
from solvers.proofs.export.formats import opb_lines
from solvers.statements.observations import observations

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


@pytest.mark.slow
@pytest.mark.parametrize("batch", batches(1, 32))
def test_models_of_random_releases_have_the_worlds_as_solutions(batch):
    rng, seen = random.Random(f"models {batch}"), Counter()
    for _ in range(6):
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
    assert min(seen["ordered"], seen["multiset"]) > 1


@pytest.mark.slow
@pytest.mark.parametrize("batch", batches(1, 8))
def test_multiplicities_are_constants_row_by_row(batch):
    """Forests whose bags are known: sequences by position, counted by brute force; histograms say less, and say so."""
    seen = Counter()
    for _, case in forests_with_bags.cases(f"models {batch}", 30, with_others=True):
        got, number = encoded(case.release), case.worlds.count()
        if got.statements.domain.relative or number > MOST:
            continue
        if got.statements.loosened:  # numbers of different rows of inner nodes: model_cases holds what is outer
            assert not models.cnf(got)[1].exact
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


@pytest.mark.slow
@pytest.mark.parametrize("batch", batches(1, 8))
def test_models_of_every_kind_of_release(batch):
    """Exact models have the worlds as solutions, noisy and boosted ones too; outer ones have every world."""
    seen = Counter()
    for seed in range(40 * batch, 40 * batch + 40):
        case = model_cases.drawn(seed)
        assert model_cases.failures(case) == [], case
        seen[case.kind, model_cases.exact(case)] += 1
    assert min(seen["noisy", True], seen["unknown bags", True], seen["boosted", True]) > 0


@pytest.mark.parametrize("kind", ["coupled", "noisy", "unknown bags", "known bags"])
def test_a_world_that_no_model_has_is_noticed(kind):
    """The check itself: with a dataset that is not a world, and without one that is, something is wrong."""
    case = next(c for seed in range(99) if 1 < len((c := model_cases.drawn(seed, (kind,))).worlds) < 30)
    if kind != "unknown bags":
        fewer = {c: n - 1 for c, n in case.counts.items()}
        assert model_cases.failures(replace(case, worlds=case.worlds[1:], counts=fewer))
    else:
        with pytest.raises(recon.ReleaseError, match="no possible world"):
            model_cases.failures(replace(case, worlds=[case.worlds[0][:1] * (len(case.worlds[0]) + 1)]))


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


@pytest.mark.parametrize("by", ["an attribute", "no cell"])
def test_what_nothing_meets_has_no_solution_in_any_model_or_file(by, tmp_path):
    """A total between two whole numbers, over all rows or over a group that no row is in: no world, in no format."""
    where = {} if by == "an attribute" else {"a": {"at_least": 0, "at_most": 0}}
    statement = {"where": where, "total": {"of": "a", "value": 0.5}}
    domain = {"attributes": [{"name": "a", "min": 0, "max": 2}, {"name": "b", "values": [0, 1]}]}
    got = encoded({"recon": 1, "domain": domain, "rows": 2, "models": [{"kind": "table", "statements": [statement]}]})
    assert recon.count(got).value == 0 == len(solutions(models.cpsat(got)[0]))
    for convention in ("ordered", "multiset"):
        listed_by_rows(got, convention, 0)
    assert histograms_by_sat(got, 5) == 0
    recon.export(got, "mps", str(tmp_path / "release.mps"))
    read = highspy.Highs()
    read.silent()
    read.readModel(str(tmp_path / "release.mps"))
    for program in (models.lp(got)[0], read):
        program.run()
        assert program.getModelStatus() == highspy.HighsModelStatus.kInfeasible


def test_the_loop_of_the_page_counts_loose_releases(tmp_path, monkeypatch, capsys):
    """Attributes that nothing names, and rows that nothing restricts: every variable that is shown is in a clause."""
    page = Path(__file__).parents[1] / "docs" / "own-solver.md"
    (loop,) = (b.text for b in blocks(page) if "import Cadical153" in b.text)
    domain = {"attributes": [{"name": "a", "values": [0, 1]}, {"name": "b", "min": 0, "max": 3}]}
    statement = {"where": {"a": 1}, "at_least": 0}
    release = {"recon": 1, "domain": domain, "rows": {"at_least": 1, "at_most": 2},
               "models": [{"kind": "table", "statements": [statement]}]}  # fmt: skip
    (tmp_path / "list.json").write_text(json.dumps(release))
    monkeypatch.chdir(tmp_path)
    exec(loop.replace('"assigned"', '"ordered"'), {"recon": recon})
    assert capsys.readouterr().out.split() == ["ordered", str(8 + 64), "multiset", str(8 + 36)]


@pytest.mark.slow
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


def histograms_by_sat(got, most):
    """Return how many histograms the exported OPB file has, by clauses made of it here: sums by adders, in binary.

    At most one more than `most`; blocking clauses over the digits of the cells, which settle the rest.
    """
    mapping = models.cpsat(got)[1]
    lines = [x for x in "".join(opb_lines(mapping.form, ())).splitlines() if x and not x.startswith("*")]
    shown = {int(t[1:]) for line in lines for t in line.split() if t[0] == "x"}
    top = itertools.count(max(shown) + 1)
    with extra("pysat.solvers").Solver("cadical153") as solver:
        zero = next(top)
        solver.add_clause([-zero])
        for line in lines:
            *terms, sign, right, _ = line.split()
            pairs = [(int(a), int(x[1:])) for a, x in zip(terms[::2], terms[1::2], strict=True)]
            low = int(right) + sum(-a for a, _ in pairs if a < 0)  # a * x = |a| * not x - |a| where a < 0
            columns = collections.defaultdict(list)
            for a, x in pairs:
                for k in range(abs(a).bit_length()):
                    if abs(a) >> k & 1:
                        columns[k].append(x if a > 0 else -x)
            bits = sum_of(columns, solver, top, zero)
            demand(bits, low, sign == "=", solver, zero)
        number = 0
        while number <= most and solver.solve():
            number += 1
            solver.add_clause([-x for x in solver.get_model() if abs(x) in shown])
    return number


def sum_of(columns, solver, top, zero):
    """Return the binary digits of a sum of literals by weight, lowest first, by full adders."""
    out, k = [], 0
    while k <= max(columns, default=-1):
        queue = list(columns[k])
        while len(queue) > 1:
            a, b, c = queue.pop(), queue.pop(), queue.pop() if queue else zero
            s, carry = next(top), next(top)
            for signs in itertools.product((1, -1), repeat=3):
                held = [-a * signs[0], -b * signs[1], -c * signs[2]]
                ones = signs.count(1)
                solver.add_clause([*held, s if ones % 2 else -s])
                solver.add_clause([*held, carry if ones > 1 else -carry])
            queue.insert(0, s)
            columns[k + 1].append(carry)
        out.append(queue[0] if queue else zero)
        k += 1
    return out


def demand(bits, number, equal, solver, zero):
    """State that a binary number is a number, or at least as large."""
    wanted = [number >> k & 1 for k in range(max(len(bits), number.bit_length()))] if number > 0 else [0] * len(bits)
    bits = [*bits, *[zero] * (len(wanted) - len(bits))]
    for k, one in enumerate(wanted):
        if equal:
            solver.add_clause([bits[k] if one else -bits[k]])
        elif one:  # a 1 that is missing has to be made up for by a higher digit that is 1 where the number has 0
            solver.add_clause([bits[k], *(bits[j] for j in range(k + 1, len(bits)) if not wanted[j])])


def assert_one_histogram(program, found):
    """Demand of HiGHS alone, in whole numbers, that nothing but one histogram is feasible."""
    values = [int(x) for x in found]
    columns = range(program.getNumCol())
    for x in columns:
        program.changeColIntegrality(x, highspy.HighsVarType.kInteger)
    for x in columns:
        ends = []
        program.changeColCost(x, 1.0)
        for sense in (highspy.ObjSense.kMinimize, highspy.ObjSense.kMaximize):
            program.changeObjectiveSense(sense)
            program.run()
            ends.append(round(program.getInfo().objective_function_value))
        program.changeColCost(x, 0.0)
        assert ends == [values[x]] * 2


EXAMPLES = Path(__file__).parents[1] / "examples" / "releases"
LISTED = 5_000  # solutions of a model by rows of an example that are listed


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name",
    [
        "adult_rule_list.json", "adult_tree.json", "boosted_model.txt", "compas_forest.json", "compas_rule_list.json",
        "compas_tree.json", "noisy_tree.json", "two_trees.json",
        pytest.param("census_block.json", marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_example_releases_are_counted_by_ortools_pysat_and_highspy_alone(name):
    """By cells, every solution with its weight, and as many by clauses; where there is one, HiGHS has no other.

    Row by row the larger examples need 4.9 to 109 million clauses: theirs are of the program over cells.
    """
    got = recon.load(str(EXAMPLES / name))
    model, mapping = models.cpsat(got)
    assert mapping.exact
    program, relaxed = models.lp(got)
    assert not relaxed.exact
    program.run()
    assert program.getModelStatus() in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty)
    found = solutions(model)
    if name not in ("boosted_model.txt", "census_block.json"):  # of real coefficients; big-M of medians
        assert histograms_by_sat(got, len(found)) == len(found)
    if len(found) == 1 and name != "census_block.json":  # its relaxation has others
        assert_one_histogram(program, found[0])
    if got.statements.domain.relative:
        assert len(found) == 1
        with pytest.raises(recon.Unsupported, match="no number of worlds"):
            mapping.weight(found[0])
        return
    weights = Counter()
    for solution in found:
        weights.update(mapping.weight(solution))
    for convention, number in weights.items():
        assert recon.count(got, convention).value == number
    if name == "compas_forest.json":
        with pytest.raises(recon.Unsupported, match=r"needs about 618,000 Booleans, 3.5 GB"):
            models.cpsat(got, by="rows", convention="multiset")
    elif weights["multiset"] <= LISTED:
        by_rows, _ = models.cpsat(got, by="rows", convention="multiset")
        assert len(solutions(by_rows)) == weights["multiset"]


def by_blocking(solver, shown, most):
    """Return how many models clauses have over the projection, at most one more than `most`: the loop of the page.

    Every model adds a clause, which every later one is held against: quadratic.
    """
    found = 0
    while found <= most and solver.solve():
        found += 1
        solver.add_clause([-x for x in solver.get_model() if abs(x) in shown])
    return found


def by_prefixes(solver, shown, most):
    """Return the same by a walk over prefixes of the projection, assumed one after the other: no clause is added."""
    order, prefix, turned, found = sorted(shown), [], [], 0
    while found <= most:
        if solver.solve(assumptions=prefix):
            found += 1
            literals = {abs(x): x for x in solver.get_model()}
            prefix += [literals[x] for x in order[len(prefix) :]]
            turned += [False] * (len(prefix) - len(turned))
        while prefix and turned[-1]:
            prefix.pop()
            turned.pop()
        if not prefix:
            break
        prefix[-1], turned[-1] = -prefix[-1], True
    return found


BLOCKED = 10_000  # worlds that are blocked one by one


def as_many_solutions(got, convention, number):
    """Demand that OR-Tools enumerates so many solutions row by row, and python-sat so many models."""
    model, mapping = models.cpsat(got, by="rows", convention=convention)
    assert mapping.exact
    assert len(solutions(model)) == number
    cnf, mapping = models.cnf(got, convention)
    shown = {int(name[1:]) for name in mapping.projection}
    for way in (by_prefixes, by_blocking) if number <= BLOCKED else (by_prefixes,):
        with extra("pysat.solvers").Solver("cadical153", bootstrap_with=cnf.clauses) as solver:
            assert way(solver, shown, number) == number
    answer = recon.count(got, convention)
    low, high = answer.bounds  # in bits; of a forest whose bags are known not always the number
    assert answer.value == number or (answer.value is None and low - 1e-9 <= math.log2(number) <= high + 1e-9)


LARGE = [
    (5333, "multiset"),
    (5333, "ordered"),
    (5428, "ordered"),
    (5123, "multiset"),
    (5654, "ordered"),
    (5693, "multiset"),
    (5657, "ordered"),
    (5433, "ordered"),
    (5581, "ordered"),
    pytest.param(5268, "ordered", marks=pytest.mark.slow),
    pytest.param(5584, "ordered", marks=pytest.mark.slow),
]


@pytest.mark.sampled(3, 4)
@pytest.mark.parametrize(("seed", "convention"), LARGE)
def test_many_worlds_are_enumerated_by_ortools_and_pysat(seed, convention):
    """Releases of every kind with 10^3 to 10^5 worlds: as many solutions as there are worlds by brute force."""
    case = model_cases.drawn(seed)
    assert 1_000 <= case.counts[convention] <= 100_000
    as_many_solutions(model_cases.released(case), convention, case.counts[convention])


@pytest.mark.sampled(1, 1)
@pytest.mark.parametrize(
    "which", [0, 1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_fits_with_many_worlds_are_enumerated_by_ortools_and_pysat(which):
    """Trees and a rule list as notebooks fit them, 10^3 to 10^5 worlds."""
    got = [*notebook_sized(), *notebook_sized(7)][(1, 0, 3, 4)[which]]
    number = recon.count(got, "ordered").value
    assert 1_000 <= number <= 100_000
    as_many_solutions(got, "ordered", number)


@pytest.mark.slow
def test_two_trees_by_clauses_and_an_external_counter():
    """Ganak and d4 count the clauses of an example and of fits of scikit-learn with 10^3 to 10^5 worlds."""
    ganak, d4 = extra("pyganak"), extra("py_d4")
    seen = []
    for got in (recon.load(str(EXAMPLES / "two_trees.json")), *notebook_sized()):
        for convention in ("ordered", "multiset"):
            cnf, mapping = models.cnf(got, convention)
            number = recon.count(got, convention).value
            counter = ganak.Counter()
            for clause in cnf.clauses:
                counter.add_clause(clause)
            counter.set_sampling_set([int(name[1:]) for name in mapping.projection])
            assert counter.count() == number
            assert int(d4.Solver(cnf.clauses, cnf.nv).count().getResult()) == number  # unprojected: it has to agree
            model, _ = models.cpsat(got, by="rows", convention=convention)
            if number <= 2 * LISTED:
                assert len(solutions(model)) == number
            seen.append(number)
    assert sum(1_000 <= number <= 100_000 for number in seen) >= 2


def notebook_sized(rows=5):
    """Yield the releases of small trees of scikit-learn over few rows, of more than 5 a rule list's too."""
    sklearn = extra("sklearn.tree")
    for depth in (1, 2):
        draw = np.random.default_rng(2)
        frame = pd.DataFrame({f"a{k}": draw.integers(0, 2 + k, rows) for k in range(2)})
        frame["y"] = draw.integers(0, 2, rows)
        fitted = sklearn.DecisionTreeClassifier(max_depth=depth, random_state=0).fit(frame[["a0", "a1"]], frame["y"])
        yield recon.encode(fitted, recon.Domain.from_frame(frame, label="y"))
    if rows > 5:
        frame["a1"] %= 2
        fitted = recon.GreedyRuleListClassifier(max_length=2).fit(frame[["a0", "a1"]], frame["y"])
        yield recon.encode(fitted, recon.Domain.from_frame(frame, label="y"))


def test_noise_is_priced_by_slacks():
    """At the least cost no histogram has less weighted noise: held against every histogram of CP-SAT."""
    got = recon.load(str(EXAMPLES / "noisy_tree.json"))
    program, mapping = models.lp(got, noise="slacks")
    program.run()
    seen = observations(got.statements)
    least = program.getInfo().objective_function_value
    names = dict(zip(mapping.variables, program.getSolution().col_value, strict=True))
    paid = sum((names[f"n{o.statement}_over"] + names[f"n{o.statement}_under"]) / float(o.law.scale) for o in seen)
    assert paid == pytest.approx(least)
    system, sums = models.cpsat(got)[1].form.system, []
    draw = np.random.default_rng(1)
    for _ in range(300):  # any histogram of 60 rows costs at least as much
        z = draw.multinomial(got.rows.high, draw.dirichlet(np.ones(len(system.sizes))))
        counts = system.linear.sums(z.astype(np.int64))
        sums.append(sum(abs(float(o.published) - counts[o.statement]) / float(o.law.scale) for o in seen))
    assert min(sums) >= least - 1e-9
    with pytest.raises(recon.ReleaseError, match="no slacks"):
        models.lp(recon.load(str(EXAMPLES / "two_trees.json")), noise="slacks")


def test_what_is_not_defined_is_refused_by_name(monkeypatch):
    got = recon.load(str(EXAMPLES / "two_trees.json"))
    with pytest.raises(recon.ReleaseError, match="choose cells or rows"):
        models.cpsat(got, by="columns")
    with pytest.raises(recon.ReleaseError, match="choose intervals or slacks"):
        models.lp(got, noise="none")
    with pytest.raises(recon.Unsupported, match="exactly one tree or rule list"):
        models.cpsat(got, by="rows", convention="assigned")
    with pytest.raises(recon.Unsupported, match="no convention"):
        models.cnf(got, "sorted")
    large = recon.load(str(EXAMPLES / "adult_tree.json"))
    for build in (models.cnf, lambda release: models.cpsat(release, by="rows")):
        with pytest.raises(recon.Unsupported, match=r"needs about [0-9,]+ \w+, [0-9.]+ GB"):
            build(large)
    monkeypatch.setattr("solvers.proofs.export.integer_program.ENTRY_BYTES", 1 << 40)
    with pytest.raises(recon.Unsupported, match=r"integer program has .* GB"):
        models.cpsat(large)
    monkeypatch.undo()
    _, mapping = models.cpsat(got, by="rows", convention="multiset")
    world = next(recon.worlds(got))
    values = mapping.solution(world)
    name = next(iter(values))
    for broken, why in (
        ({**values, name: 9}, "none of this model"), ({**values, "x": 1}, "not a variable"), ([0], "1 values"),
        ({k: v for k, v in values.items() if k != name}, "does not say"), ({**values, name: 0.5}, "no whole number"),
    ):  # fmt: skip
        with pytest.raises(recon.ReleaseError, match=why):
            mapping.world(broken)
    table = {"kind": "table", "statements": [{"where": {"b": 1}, "count": 1}]}
    bit = {"attributes": [{"name": "b", "values": [0, 1]}]}
    other = next(recon.worlds(encoded({"recon": 1, "domain": bit, "rows": 2, "models": [table]})))
    for one in (mapping, models.cpsat(got)[1], models.cnf(got, "multiset")[1]):
        for rows, why in (
            (world.to_frame().iloc[:1], "no possible world: there are 1, the release has"), (other, "another release"),
            ([[0, 0, 0]], "a list is not a world"), (None, "a NoneType is not a world"),
        ):  # fmt: skip
            with pytest.raises(recon.ReleaseError, match=why):
                one.solution(rows)


def staircase(name, values, rows):
    """Return a tree that tells every value of an attribute apart, so many rows of each."""
    nodes = []
    for v in range(values - 1):
        nodes += [{"if": {name: v}, "then": 2 * v + 1, "else": 2 * v + 2}, {"count": rows}]
    return {"kind": "tree", "nodes": [*nodes, {"count": rows}]}


def crossed(values, trees):
    """Return the release of trees over an attribute each: all values of all attributes are cells."""
    attributes = [{"name": f"a{k}", "min": 0, "max": values - 1} for k in range(trees)]
    models = [staircase(f"a{k}", values, 1_000) for k in range(trees)]
    return {"recon": 1, "domain": {"attributes": attributes}, "rows": 1_000 * values, "models": models}


ALONE = """
import json, os, sys
import highspy, networkx, ortools.sat.python.cp_model, pandas, scipy.sparse
import recon.cli.app, recon.models.exporting
from recon.__main__ import main

for arguments in json.loads(sys.argv[1]):
    read, write = os.pipe()
    if not (child := os.fork()):
        os.dup2(write, 1)
        os.dup2(write, 2)
        sys.argv = ["recon", *arguments]
        main()
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    _, status, used = os.wait4(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_maxrss << 10, text]))
"""
ALLOWED = 176 << 20  # bytes of --memory; libraries alone take 160 MB


@pytest.mark.parametrize("some", [slice(0, 1), pytest.param(slice(1, None, 2), marks=pytest.mark.slow)])
def test_what_is_too_large_is_refused_before_it_is_built(some, tmp_path):
    """Every format says how large, with exit code 3, and the process never holds twice what --memory allows."""
    bits = [{"name": f"b{k}", "values": [0, 1]} for k in range(4_000)]
    rules = [{"if": {one["name"]: 1}, "count": 1} for one in bits] + [{"if": {}, "count": 1}]
    long = {"recon": 1, "domain": {"attributes": bits}, "models": [{"kind": "rule_list", "rules": rules}]}
    spots = [{"where": {f"a{k}": 7 * i >> 4 * k & 15 for k in range(4)}, "at_least": 0} for i in range(3_000)]
    table = crossed(16, 4)
    table["models"].append({"kind": "table", "statements": spots})
    every = {"small": crossed(2, 1), "crossed": crossed(11, 5), "fewer": crossed(7, 5), "long": long, "spots": table}
    for name, release in every.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(release))
    small = str(tmp_path / "small.json")
    recon.export(small, "mps", str(tmp_path / "small.mps"))
    (tmp_path / "words").write_text("c0 1000\n" * 1_000_000)
    (tmp_path / "map").write_text('{"recon_map": 1, "bits": [' + "[],[]," * 1_000_000 + "[]]}")
    cases = [
        (["crossed.json", "--to", to, "--out", f"out.{to}"], "966,306 entries")
        for to in ("mps", "opb", "cpsat")
    ] + [
        (["crossed.json", "--to", "graphml", "--nodes", "cells", "--out", "out.xml"], "966,306 entries"),
        (["fewer.json", "--to", "graphml", "--nodes", "cells", "--out", "out.xml"], "100,877 nodes and edges"),
        (["spots.json", "--to", "mps", "--out", "out.mps"], "3,004 values of 65,536 pieces"),
        (["long.json", "--to", "graphml", "--out", "out.xml"], "8,006,000 attributes named by 4,001 statements"),
        (["crossed.json", "--to", "dimacs", "--out", "out.cnf"], "23,595,000 clauses"),
        (["crossed.json", "--to", "dimacs", "--convention", "multiset", "--out", "out.cnf"], "23,595,000 clauses"),
        ([small, "--map", "small.mps.map.json", "--solution", "words"], "the solution needs more than the 176 MB"),
        ([small, "--map", "map", "--solution", "words"], "the map needs more than the 176 MB"),
    ]  # fmt: skip
    cases = cases[some]
    asked = [["export", *case, "--memory", str(ALLOWED), "--quiet"] for case, _ in cases]
    done = subprocess.run(
        [sys.executable, "-c", ALONE, json.dumps(asked)], check=False, cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1]), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(cases), done.stderr
    wrong = [
        (arguments, code, peak >> 20, text)
        for (arguments, size), (code, peak, text) in zip(cases, lines, strict=True)
        if code != 3 or peak >= 2 * ALLOWED or size not in text or "--memory" not in text
    ]
    assert not wrong
    assert not [*tmp_path.glob("out.*")]


@pytest.mark.long
def test_a_refusal_says_which_model_fits():
    """Sizes of the models row by row, and the step that works: a domain, then CP-SAT by rows within the memory."""
    path, table = (EXAMPLES / name for name in ("diabetes_forest.joblib", "diabetes_rows.csv"))
    with pytest.raises(recon.ReconError, match=r"a declared domain is \(--domain\)"):
        models.cpsat(path)
    with pytest.raises(recon.ReconError, match=r"declare it: --domain"):
        models.cnf(path)
    rows = pd.read_csv(table)
    release = recon.load(path, domain=recon.Domain.from_frame(rows, rows.columns[-1]))
    with pytest.raises(recon.ReconError, match=r"by='rows'\) about 0.4 GB"):
        models.cpsat(release)
    with pytest.raises(
        recon.ReconError, match=r"6.8 GB \(--memory\); row by row recon.models.cpsat\(release, by='rows'\)"
    ):
        models.cnf(release)
    model, mapping = models.cpsat(release, by="rows", limits=recon.Limits(memory=1 << 29))
    assert mapping.exact
    assert (len(model.proto.variables), len(model.proto.constraints)) == (437_662, 878_692)


def test_a_solution_that_stands_for_too_many_worlds_is_refused():
    """200 million rows: writing out how many worlds there are ran for minutes."""
    nodes = [{"if": {"a": {"below": 2}}, "then": 1, "else": 2}, {"counts": [10**8, 5]}, {"counts": [7, 10**8]}]
    domain = {"attributes": [{"name": "a", "min": 0, "max": 3}], "label": {"name": "y", "values": [0, 1]}}
    release = encoded({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes}]})
    _, mapping = models.cpsat(release)
    with pytest.raises(recon.Unsupported, match=r"a number of worlds with [\d,]+ bits"):
        mapping.weight(dict(zip(mapping.variables, [10**8, 10**8, 5, 7], strict=True)))
