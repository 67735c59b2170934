"""Propagation over rows distinguished: no world loses a row, every removal is replayed, all loops end alike."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random

import forests_with_bags
import numpy as np
import pandas as pd
import pytest
from extras import batches, encoded, extra
from test_bags import published, split
from test_row_problem import held, parts_of

from solvers.foundation.limits import Limits
from solvers.kernel.claims import CountRevision, Hall, Labelled, Revised, ValueRemoval
from solvers.kernel.removals import RemainingDomains
from solvers.positions.assignments import loops as loops_module
from solvers.positions.assignments.counts import tightened
from solvers.positions.assignments.domains import Domains, DomainState, ProblemTables, pack_bits
from solvers.positions.assignments.loops import RowLoops, fastest
from solvers.positions.assignments.propagation import Propagation, propagate
from solvers.positions.assignments.world import _row_problem, assigned
from solvers.statements.release import ANY_LABEL
from solvers.statements.row_problem import Meetings, problem_of

MOST_WAYS = 200_000


def forest_problem(rng, rows=12, trees=5, bootstrap=True, classes=3):
    """Return the problem of a random forest on random rows, and the true value of every row in every tree (-1: none).

    Boxes are runs, or sets of parts where the attribute has named values.
    """
    sizes = [rng.choice([2, 4, 9]) for _ in range(3)]
    truth = [(*(rng.randrange(size) for size in sizes), rng.randrange(classes)) for _ in range(rows)]
    grown, bags = [], []
    for _ in range(trees):
        tree = {"nodes": []}
        split(rng, sizes, rng.choice([2, 3, 4]), tree["nodes"])
        drawn = rng.choices(range(rows), k=rows)
        bag = [drawn.count(i) for i in range(rows)] if bootstrap else [1] * rows
        published(random.Random(0), tree, truth, bag, classes, "leaves" if rng.random() < 0.8 else None, False)
        grown.append(tree)
        bags.append(bag)
    model = {"kind": "forest", "trees": grown}
    model |= {"bootstrap": True, "multiplicities": bags} if bootstrap else {"bootstrap": False}
    attributes = [{"name": f"a{k}", "min": 0, "max": size - 1} for k, size in enumerate(sizes)]
    domain = {"attributes": attributes, "label": {"name": "y", "values": list(range(classes))}}
    got = encoded({"recon": 1, "domain": domain, "rows": rows, "models": [model]})
    problem = problem_of(got.statements)
    parts = np.array([[cut_part(got, k, row[k]) for k in range(len(row))] for row in truth])
    inside = held(problem, parts)
    true = np.full((rows, problem.trees), -1)
    for v, i in np.argwhere(inside).tolist():
        if problem.times[problem.tree[v], i] > 0:
            true[i, problem.tree[v]] = v
    return got, problem, true


def cut_part(got, k, value):
    """Return the part of an attribute of the values 0, 1, ... in which a value lies."""
    sizes = got.statements.domain.attributes[k].sizes
    return int(np.searchsorted(np.cumsum(sizes), value, side="right"))


def left_of(domains):
    """Return the values left, per row and tree that saw it, as sets."""
    tree, times = domains.problem.tree, domains.problem.times
    found = {(i, t): set() for t, i in np.argwhere(times > 0).tolist()}
    for i in range(domains.problem.rows):
        for v in domains.of_row(i).tolist():
            found[i, int(tree[v])].add(v)
    return found


# ---------------------------------------------------------------- a slow replay of the steps


class Contradiction(Exception):
    pass


class Replay:
    """Applies steps by their definitions, on sets of values, everything anew at every step."""

    def __init__(self, problem):
        self.problem = problem
        allowed = [[v for v in range(len(problem.tree)) if problem.tree[v] == t] for t in range(problem.trees)]
        self.left = {}
        for t, i in np.argwhere(problem.times > 0).tolist():
            times = problem.times[t, i]
            self.left[i, t] = {v for v in allowed[t] if times <= problem.weight[v] - problem.low[v] + 1}
            if problem.slot is not None and problem.tree[problem.slot[i]] == t:
                self.left[i, t] &= {int(problem.slot[i])}

    def parts(self, v, k):
        if k in self.problem.sets:
            return set(np.flatnonzero(self.problem.sets[k][v]).tolist())
        return set(range(self.problem.start[v, k], self.problem.end[v, k]))

    def meet(self, v, u):
        label = self.problem.label
        if label[v] != label[u] and ANY_LABEL not in (label[v], label[u]):
            return False
        return all(self.parts(v, k) & self.parts(u, k) for k in range(self.problem.start.shape[1]))

    def follow(self, steps):
        for step in steps:
            {
                Revised: self.revise,
                CountRevision: self.count,
                Hall: self.fill,
                Labelled: self.label,
                ValueRemoval: self.assume,
            }[type(step)](step)

    def keep(self, i, t, values):
        self.left[i, t] &= values
        if not self.left[i, t]:
            raise Contradiction

    def revise(self, step):
        mine = [t for i, t in self.left if i == step.row]
        changed = True
        while changed:
            changed = False
            for t, s in itertools.permutations(mine, 2):
                one, other = self.left[step.row, t], self.left[step.row, s]
                lost = {v for v in one if not any(self.meet(v, u) for u in other)}
                changed |= bool(lost)
                self.keep(step.row, t, one - lost)
            for k in self.problem.sets:
                covered = [set().union(*(self.parts(v, k) for v in self.left[step.row, t])) for t in mine]
                common = set.intersection(*covered) if covered else set()
                for t in mine:
                    lost = {v for v in self.left[step.row, t] if not self.parts(v, k) & common}
                    changed |= bool(lost)
                    self.keep(step.row, t, self.left[step.row, t] - lost)

    def numbers(self, v):
        """Return per multiplicity its rows with v left, those with nothing else left, and all n_m that are possible."""
        t, problem = int(self.problem.tree[v]), self.problem
        times = sorted({int(m) for m in problem.times[t] if m > 0})
        able = {m: {i for i in range(problem.rows) if problem.times[t, i] == m and v in self.left[i, t]} for m in times}
        fixed = {m: {i for i in able[m] if self.left[i, t] == {v}} for m in times}
        spans = [range(len(fixed[m]), len(able[m]) + 1) for m in times]
        assert np.prod([len(span) for span in spans]) < MOST_WAYS
        ways = [
            way
            for way in itertools.product(*spans)
            if sum(m * n for m, n in zip(times, way, strict=True)) == problem.weight[v]
            and problem.low[v] <= sum(way) <= problem.high[v]
        ]
        if not ways:
            raise Contradiction
        ends = {m: (min(column), max(column)) for m, column in zip(times, zip(*ways, strict=True), strict=True)}
        return able, fixed, ends

    def count(self, step):
        t = int(self.problem.tree[step.value])
        able, fixed, ends = self.numbers(step.value)
        for m, (least, most) in ends.items():
            for i in able[m]:
                if most == len(fixed[m]) and i not in fixed[m]:
                    self.keep(i, t, self.left[i, t] - {step.value})
                elif least == len(able[m]):
                    self.keep(i, t, {step.value})

    def fill(self, step):
        t, values = step.tree, set(step.values)
        rows = [i for i in range(self.problem.rows) if self.problem.times[t, i] == step.times]
        ends = [self.numbers(v)[2][step.times] for v in values]
        inside = [i for i in rows if self.left[i, t] & values]
        within = [i for i in rows if self.left[i, t] <= values]
        if step.full:
            assert len(within) >= sum(most for _, most in ends)
            if len(within) > sum(most for _, most in ends):
                raise Contradiction
            for i in set(inside) - set(within):
                self.keep(i, t, self.left[i, t] - values)
        else:
            assert len(inside) <= sum(least for least, _ in ends)
            if len(inside) < sum(least for least, _ in ends):
                raise Contradiction
            for i in inside:
                self.keep(i, t, values)

    def label(self, step):  # the proof of labels has tests of its own
        label = self.problem.label
        for i, k in zip(step.rows, step.labels, strict=True):
            for t in [t for row, t in self.left if row == i]:
                self.keep(i, t, {v for v in self.left[i, t] if label[v] in (k, ANY_LABEL)})

    def under(self, i, t, v, steps):
        self.keep(i, t, {v})
        self.follow(steps)

    def assume(self, step):
        t = int(self.problem.tree[step.value])
        inner = Replay(self.problem)
        inner.left = {key: set(values) for key, values in self.left.items()}
        with pytest.raises(Contradiction):
            inner.under(step.row, t, step.value, step.steps)
        self.keep(step.row, t, self.left[step.row, t] - {step.value})


def replayed(found):
    """Check that the steps, replayed, leave no more than the domains, here and in the kernel; return what is left."""
    replay = Replay(found.problem)
    kernel = RemainingDomains(Meetings(found.problem), Limits())
    kernel.replay(found.steps)
    assert kernel.over == found.contradicted
    if found.contradicted:
        if all(replay.left.values()):  # else some row has nowhere to be from the start
            with pytest.raises(Contradiction):
                replay.follow(found.steps)
        return replay.left
    replay.follow(found.steps)
    left = left_of(found.domains)
    assert not (kernel.words & ~found.domains.words).any()
    for key, values in replay.left.items():
        assert values <= left[key]
    return replay.left


# ---------------------------------------------------------------- what is removed


@pytest.mark.parametrize("batch", batches(1, 33))
def test_no_world_loses_a_row(batch):
    said = 0
    for _, case in forests_with_bags.cases(f"assignments {batch}", 25, with_others=batch % 2 == 1):
        got = encoded(case.release)
        found = assigned(got.statements, Limits())
        assert found.complete
        assert not (found.contradicted and case.worlds.count())
        if found.contradicted:
            replayed(found)
            continue
        inside, left = held(found.problem, parts_of(case, got)), left_of(found.domains)
        for (i, t), values in left.items():
            rows = np.unique(case.worlds.listed[:, i])
            needed = {v for v in found.problem.values(t) if inside[v, rows].any()}
            assert needed <= values, (i, t, case.release)
        said += sum(map(len, replayed(found).values())) < sum(len(found.problem.values(t)) for _, t in left)
    assert said


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", batches(2, 44))
def test_the_truth_is_left_and_all_loops_end_alike(batch):
    rng = random.Random(f"loops {batch}")
    seen = set()
    for _ in range(6):
        _, problem, true = forest_problem(rng, rng.choice([5, 9, 14]), rng.choice([3, 6, 9]), rng.random() < 0.8)
        found = Propagation(problem, RowLoops())
        found.run(Limits())
        assert found.complete
        assert not found.contradicted
        left = replayed(found)
        if problem.slot is None:
            assert all(true[key] in values for key, values in left.items())
        seen |= {type(step) for step in found.steps}
    assert {Revised, CountRevision} <= seen


def compiled_loops():
    """Return the loops compiled by numba."""
    extra("numba")
    from solvers.positions.assignments.loops import compiled_loops as loops

    return loops()


def fixpoint(problem, loops):
    """Return what propagation alone leaves, and how it ended."""
    domains, steps = Domains(problem), []
    tables = ProblemTables.of(problem, Limits())
    return propagate(loops, tables, DomainState.of(domains.words, tables), steps, Limits()), domains.words, steps


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(4))
def test_compiled_loops_end_where_the_same_loops_in_python_do(batch):
    compiled, rng = compiled_loops(), random.Random(f"compiled {batch}")
    for _ in range(8):
        _, problem, _ = forest_problem(rng, rng.choice([5, 14, 40]), rng.choice([3, 9, 20]), rng.random() < 0.8)
        if rng.random() < 0.3:  # one count moved: mostly no world
            weight = problem.weight.copy()
            weight[rng.randrange(len(weight))] += 1
            problem = dataclasses.replace(problem, weight=weight)
        ends, words, steps = zip(*(fixpoint(problem, loops) for loops in (RowLoops(), compiled)), strict=True)
        assert ends[0] == ends[1]
        assert not ends[0] or (words[0] == words[1]).all()
        for some in steps:
            kernel = RemainingDomains(Meetings(problem), Limits())
            kernel.replay(some)
            assert kernel.over != ends[0]


@pytest.mark.slow
def test_compiled_loops_and_labels_of_a_real_forest(tmp_path):
    sklearn = pytest.importorskip("sklearn.ensemble")
    joblib = pytest.importorskip("joblib")
    import recon

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 4)), columns=list("abcd"))
    label = (table["a"] + rng.normal(size=40) > 0).astype(int)
    joblib.dump(sklearn.RandomForestClassifier(25, random_state=0).fit(table, label), tmp_path / "forest.joblib")
    release = recon.load(tmp_path / "forest.joblib").statements
    problem = problem_of(release)
    ends = []
    for loops in (RowLoops(), compiled_loops()):
        found = Propagation(problem, loops)
        found.run(Limits())
        kernel = RemainingDomains(Meetings(problem), Limits())
        kernel.replay(found.steps)
        assert (kernel.words == found.domains.words).all()
        ends.append(found.domains)
    assert (ends[0].words == ends[1].words).all()
    labels = ends[0].labels()
    assert (labels.sum(axis=1) == 1).all()
    assert (labels.argmax(axis=1) == label.to_numpy()).all()


# ---------------------------------------------------------------- its parts, against all ways


def brute_numbers(times, q, p, weight, low, high):
    ways = [
        way
        for way in itertools.product(*(range(a, b + 1) for a, b in zip(q, p, strict=True)))
        if low <= sum(way) <= high and sum(m * n for m, n in zip(times, way, strict=True)) == weight
    ]
    return [(min(x), max(x)) for x in zip(*ways, strict=True)] if ways else None


@pytest.mark.slow
def test_numbers_of_rows_are_bounded():
    extra("numba")
    rng, compiled = random.Random("numbers"), loops_module._compiled_functions()["tightened"]
    for _ in range(60):
        _, problem, _ = forest_problem(rng, 6, 1)
        tables = ProblemTables.of(problem, Limits())
        most = int(tables.most[0])
        v = rng.randrange(len(problem.tree))
        weight = rng.choice([int(problem.weight[v]), 26, 31])  # above 24: weighted sums, no listing
        low = rng.randint(1, 8)
        high = rng.randint(low, 14)
        for numbers, one in ((tables.weight, weight), (tables.low, low), (tables.high, high)):
            numbers[v] = one
        q = [rng.randint(0, 2) for _ in range(most)]
        p = [a + rng.randint(0, 9) for a in q]
        wanted = brute_numbers(range(1, most + 1), q, p, weight, low, high)
        ends, others = ((np.array(q), np.array(p)) for _ in range(2))
        found = tightened(tables, v, np.array(q), np.array(p), *ends)
        assert compiled(tables, v, np.array(q), np.array(p), *others) == found
        if wanted is None:
            assert weight > 24 or not found
            continue
        assert found
        assert np.array_equal(ends, others)
        for m, (least, greatest) in enumerate(wanted):
            assert ends[0][m] <= least
            assert greatest <= ends[1][m]
            assert weight > 24 or (ends[0][m], ends[1][m]) == (least, greatest)


def assignments_of(held_bits, low, high):
    """Yield every way to give each row a value within the bounds."""
    for way in itertools.product(*(np.flatnonzero(row).tolist() for row in held_bits)):
        counts = np.bincount(np.array(way, dtype=int), minlength=len(low))
        if (low <= counts).all() and (counts <= high).all():
            yield way


def filtered_as_written(bits, low, high, filtered=None):
    words, count = pack_bits(bits), len(low)
    members, full = np.zeros((count + 1, words.shape[1]), dtype=np.uint64), np.zeros(count + 1, dtype=bool)
    filtered = filtered or loops_module._filtered
    found, clash = filtered(words, np.full(len(bits), -1), low, high, members, full)
    sets = np.unpackbits(members[:found].view(np.uint8), axis=1, bitorder="little")
    left = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :count].astype(bool)
    return None if clash else left, [(bool(side), np.flatnonzero(row)) for side, row in zip(full, sets, strict=False)]


compiled_functions = functools.cache(loops_module._compiled_functions)


def filtered_compiled(bits, low, high):
    extra("numba")
    return filtered_as_written(bits, low, high, compiled_functions()["_filtered"])


@pytest.mark.slow
@pytest.mark.parametrize("filtered", [filtered_as_written, filtered_compiled])
def test_flows_leave_what_some_assignment_uses(filtered):
    rng = np.random.default_rng(3)
    clashes = removed = 0
    for _ in range(300):
        rows, values = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        bits = rng.random((rows, values)) < 0.6
        bits[np.arange(rows), rng.integers(0, values, rows)] = True
        low = rng.integers(0, 2, values)
        high = low + rng.integers(0, 3, values)
        ways = list(assignments_of(bits, low, high))
        left, sets = filtered(bits, low, high)
        for full, chosen in sets:
            members = np.isin(np.arange(values), chosen)
            within, some = (bits & ~members).sum(axis=1) == 0, (bits & members).any(axis=1)
            if left is None:
                assert within.sum() > high[members].sum() if full else some.sum() < low[members].sum()
        if left is None:
            clashes += 1
            assert not ways
            continue
        wanted = np.zeros_like(bits)
        for way in ways:
            wanted[np.arange(rows), list(way)] = True
        assert (left == wanted).all()
        removed += int((bits & ~left).any())
    assert clashes
    assert removed


# ---------------------------------------------------------------- limits, and what is remembered


@pytest.mark.slow
def test_a_run_goes_on_where_it_met_its_limits():
    rng = random.Random("limits")
    got, problem, _ = forest_problem(rng, 30, 12)
    ended = assigned(got.statements, Limits(seconds=0.0))
    assert not ended.complete
    assert "the time was up" in ended.note
    before = ended.domains.words.copy()
    whole = assigned(got.statements, Limits())
    assert whole.complete
    assert assigned(got.statements, Limits()) is whole
    fresh = Propagation(problem)
    fresh.run(Limits())
    assert (whole.domains.words == fresh.domains.words).all()
    assert (ended.domains.words == before).all()
    assert (whole.domains.words & ~before == 0).all()


def test_little_memory_leaves_more():
    got, problem, true = forest_problem(random.Random("memory"), 14, 9)
    small = assigned(got.statements, Limits(memory=1 << 16))
    assert not small.complete
    assert "memory" in small.note
    assert not any(isinstance(step, Revised) for step in small.steps)
    assert all(true[key] in values for key, values in left_of(small.domains).items())
    whole = assigned(got.statements, Limits())
    assert whole.complete
    fresh = Propagation(problem)
    fresh.run(Limits())
    assert (whole.domains.words == fresh.domains.words).all()


def test_trees_that_saw_no_row_say_nothing():
    nodes = [{"if": {"a": {"at_most": 0}}, "then": 1, "else": 2}, {"count": 0}, {"count": 0}]
    model = {"kind": "forest", "bootstrap": True, "multiplicities": [[0, 0]], "trees": [{"nodes": nodes}]}
    domain = {"attributes": [{"name": "a", "min": 0, "max": 2}]}
    found = assigned(encoded({"recon": 1, "domain": domain, "rows": 2, "models": [model]}).statements, Limits())
    assert found is None or (found.complete and not found.contradicted and not found.steps)


@pytest.mark.slow
def test_places_are_what_the_values_left_cover():
    for batch in range(3):
        for _, case in forests_with_bags.cases(f"places {batch}", 10):
            got = encoded(case.release)
            problem = _row_problem(got.statements)
            found = assigned(got.statements, Limits())
            left, places = left_of(found.domains), found.places
            if found.contradicted:
                continue
            for i in range(problem.rows):
                mine = [sorted(values) for (row, _), values in left.items() if row == i]
                start = np.max([problem.start[v].min(axis=0) for v in mine], axis=0) if mine else 0
                end = np.min([problem.end[v].max(axis=0) for v in mine], axis=0) if mine else problem.parts
                assert (places.start[i] == start).all()
                assert (places.end[i] == end).all()
                for k, allowed in problem.sets.items():
                    sets = [allowed[v].any(axis=0) for v in mine]
                    assert (places.sets[k][i] == (np.all(sets, axis=0) if sets else True)).all()


def test_small_problems_do_not_load_numba():
    _, problem, _ = forest_problem(random.Random("small"), 5, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("solvers.positions.assignments.propagation.fastest", lambda _: pytest.fail("loaded"))
        found = Propagation(problem)
        found.run(Limits())
    assert found.complete


def test_without_numba_the_loops_run_as_they_are_written(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not fastest(Limits()).kept
