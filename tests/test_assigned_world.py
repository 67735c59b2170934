"""One world of rows distinguished by bags: against brute force over all datasets by position, and checked exactly."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from extras import encoded
from test_bags import explains, random_forest
from test_labels import forest

from solvers.foundation.errors import CertificateError
from solvers.foundation.limits import Limits
from solvers.positions.assignments import world
from solvers.positions.assignments.domains import Domains
from solvers.positions.assignments.world import Assigned, assigned, check_rows, find_world, part_outside
from solvers.positions.assignments.world_model import _nominal
from solvers.statements.release import Release
from solvers.statements.row_problem import problem_of

LIMITS = Limits()  # none: what comes out must not depend on the clock


def untouched(release: Release) -> Assigned:
    """Return the state before any propagation, so that the searches have work to do."""
    problem = problem_of(release)
    assert problem is not None
    domains = Domains(problem)
    return Assigned(problem, domains, (), domains.contradicted(), False)


def parts_of(release: Release, rows: Any) -> Any:
    """Return raw rows of tiny domains as parts."""
    ends = [np.cumsum(a.sizes) for a in release.domain.attributes]
    return np.array(
        [[int(np.searchsorted(e, x, side="right")) for e, x in zip(ends, row, strict=True)] for row in rows]
    )


def datasets(file: Any, space: Any, bags: Any) -> list[Any]:
    """Return every dataset by position that explains what all trees publish."""
    trees = file["models"][0]["trees"]
    every = itertools.product(space, repeat=len(bags[0]))
    return [d for d in every if all(explains(t, d, b) for t, b in zip(trees, bags, strict=True))]


@pytest.fixture(params=["both", "depth-first", "CP-SAT"])
def searches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Leave one of the two searches, or both."""
    if request.param == "depth-first":
        monkeypatch.setattr(world, "by_program", lambda *_: None)
    elif request.param == "CP-SAT":
        monkeypatch.setattr(world, "dived", lambda *_: None)
    return str(request.param)


@pytest.mark.sampled(1, 4)
@pytest.mark.parametrize("batch", range(3))
def test_a_world_of_tiny_forests(batch: int, searches: str) -> None:
    rng = random.Random(f"world {batch}")
    for _ in range(15):
        file, truth, space, _, bags = random_forest(rng, known=True)
        release = encoded(file).statements
        every = {tuple(map(tuple, parts_of(release, d).tolist())) for d in datasets(file, space, bags)}
        for state in (untouched(release), assigned(release, LIMITS)):
            assert state is not None
            found = find_world(state, LIMITS, rng.randrange(100))
            assert found.parts is not None, (file, found.reason)
            assert tuple(map(tuple, found.parts.tolist())) in every
        check_rows(release, parts_of(release, truth))
        for _ in range(5):
            rows = [rng.choice(space) for _ in truth]
            parts = parts_of(release, rows)
            if tuple(map(tuple, parts.tolist())) in every:
                check_rows(release, parts)
            else:
                with pytest.raises(CertificateError):
                    check_rows(release, parts)


def contradiction() -> Release:
    """Return a release on 8 rows in which two trees on the same bag count a class differently."""
    file, _ = forest(random.Random(5), 8, 2, 2, distinct=False)
    model = file["models"][0]
    model["multiplicities"] = [[1] * 8] * 3
    for tree, counts in zip(model["trees"], ([6, 2], [7, 1]), strict=True):
        tree["nodes"][1]["counts"], tree["nodes"][2]["counts"] = counts, [0, 0]
    model["trees"].append({"nodes": [{"counts": [5, 3]}]})
    return encoded(file).statements


def test_no_world() -> None:
    found = find_world(untouched(contradiction()), LIMITS)
    assert found.parts is None
    assert found.contradicted


def stumps(rows: int = 30, trees: int = 12) -> Release:
    file, _ = forest(random.Random(7), rows, trees, 2)
    return encoded(file).statements


@pytest.mark.slow
def test_the_same_world_for_the_same_seed() -> None:
    release = stumps()
    first, second = (find_world(untouched(release), LIMITS, 3).parts for _ in range(2))
    assert first is not None
    assert second is not None
    assert (first == second).all()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("search", ["dived", "by_program"])
def test_what_a_search_says_is_not_believed(search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a search that is wrong in one leaf are no world: without the check they would be."""
    release = stumps()
    state, honest = untouched(release), getattr(world, search)
    other = {"dived": "by_program", "by_program": "dived"}[search]
    monkeypatch.setattr(world, other, lambda *_: None)
    assert find_world(state, LIMITS).parts is not None

    def wrong(*given: Any) -> Any:
        chosen = honest(*given)
        i = next(i for i in range(1, len(chosen)) if (chosen[i] != chosen[0]).any())
        chosen[[0, i]] = chosen[[i, 0]]
        return chosen

    monkeypatch.setattr(world, search, wrong)
    found = find_world(state, LIMITS)
    assert found.parts is None
    assert not found.contradicted
    assert "published" in found.reason or "says otherwise" in found.reason
    monkeypatch.setattr(world, "check_rows", lambda *_: None)
    assert find_world(state, LIMITS).parts is not None  # the check alone stood in the way


@pytest.mark.slow
def test_changed_rows_are_refused_as_the_trees_count_them() -> None:
    file, _ = forest(random.Random(7), 30, 12, 2)
    release, model = encoded(file).statements, file["models"][0]
    parts = find_world(untouched(release), LIMITS).parts
    assert parts is not None
    assert [len(a.sizes) for a in release.domain.attributes] == [4, 2]  # a part is a value
    refused = 0
    for i, k, part in itertools.product(range(len(parts)), range(2), range(4)):
        if part >= 2 * (2 - k):
            continue
        changed = parts.copy()
        changed[i, k] = part
        rows = list(map(tuple, changed.tolist()))
        if all(explains(t, rows, bag) for t, bag in zip(model["trees"], model["multiplicities"], strict=True)):
            check_rows(release, changed)
            continue
        refused += 1
        with pytest.raises(CertificateError):
            check_rows(release, changed)
    assert refused > 60
    for wrong in (parts[:-1], parts[:, :-1], parts[::-1], parts + 100, parts - 100):
        with pytest.raises(CertificateError):
            check_rows(release, wrong)


def test_time_and_memory_end_a_search_with_a_reason() -> None:
    release = stumps()
    assert "time was up" in find_world(untouched(release), Limits(0.0)).reason
    assert "memory" in find_world(untouched(release), Limits(20.0, memory=100)).reason


def sets_and_impossible(rng: random.Random, rows: int, trees: int) -> tuple[Any, Any]:
    """Return a release with a categorical attribute, a number and rows that cannot exist, and the true rows."""
    colours = ["red", "green", "blue", "grey"]
    space = [(c, x, y) for c in colours for x in range(4) for y in range(2) if not (c == "red" and x >= 2)]
    truth = [rng.choice(space) for _ in range(rows)]
    published, bags = [], []
    for _ in range(trees):
        drawn = rng.choices(range(rows), k=rows)
        bag = [drawn.count(i) for i in range(rows)]
        some = rng.sample(colours, 2)
        nodes: list[dict[str, Any]] = [{"if": {"colour": {"in": some}}, "then": 1, "else": 2}]
        cut = rng.randrange(3)
        nodes += [{"if": {"x": {"at_most": cut}}, "then": 3, "else": 4}, {}, {}, {}]
        inside = {
            2: [i for i in range(rows) if truth[i][0] not in some],
            3: [i for i in range(rows) if truth[i][0] in some and truth[i][1] <= cut],
            4: [i for i in range(rows) if truth[i][0] in some and truth[i][1] > cut],
        }
        for leaf, held in inside.items():
            nodes[leaf] = {"counts": [sum(bag[i] for i in held if truth[i][2] == k) for k in range(2)]}
        published.append({"nodes": nodes})
        bags.append(bag)
    attributes = [{"name": "colour", "values": colours}, {"name": "x", "min": 0, "max": 3}]
    domain = {
        "attributes": attributes,
        "label": {"name": "y", "values": [0, 1]},
        "impossible": [{"colour": "red", "x": {"at_least": 2}}],
    }
    model = {"kind": "forest", "bootstrap": True, "trees": published, "multiplicities": bags}
    return {"recon": 1, "domain": domain, "rows": rows, "models": [model]}, truth


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(6))
def test_sets_of_values_and_impossible_rows(seed: int, searches: str) -> None:
    file, _ = sets_and_impossible(random.Random(seed), 9, 6)
    release = encoded(file).statements
    assert release.impossible
    for state in (untouched(release), assigned(release, LIMITS)):
        assert state is not None
        found = find_world(state, LIMITS, seed)
        if found.parts is None:  # depth-first search looks at pairs of boxes alone
            assert searches == "depth-first", found.reason
        else:
            check_rows(release, found.parts)


def test_slots_without_bags() -> None:
    file, _ = forest(random.Random(3), 20, 6, 2)
    model = file["models"][0]
    rows, cuts = [(i % 4, i % 3 == 0) for i in range(20)], range(3)
    del model["multiplicities"]
    model["bootstrap"] = False
    model["trees"] = [
        {
            "nodes": [
                {"if": {"a0": {"at_most": cut}}, "then": 1, "else": 2},
                *(
                    {"counts": [sum(y == k for x, y in rows if (x > cut) == right) for k in range(2)]}
                    for right in (False, True)
                ),
            ]
        }
        for cut in cuts
    ]
    release = encoded(file).statements
    state = untouched(release)
    assert not state.problem.positions
    found = find_world(state, LIMITS)
    assert found.parts is not None, found.reason
    check_rows(release, found.parts)


def test_a_point_outside_boxes() -> None:
    allowed = [np.arange(3), np.arange(3)]
    assert part_outside(allowed, [], [10]) == [1, 1]
    middle = {0: 0b010, 1: 0b010}
    found = part_outside(allowed, [middle], [10])
    assert found is not None
    assert found != [1, 1]
    assert part_outside(allowed, [{0: 0b011}, {0: 0b100, 1: 0b111}], [100]) is None
    assert part_outside(allowed, [{0: 0b111, 1: 0b011}], [100]) == [1, 2]


def test_models_that_other_sets_of_values_make_infeasible() -> None:
    """Three sets that meet in pairs and not together: no row takes all three, whatever pairs say."""
    colours = ["a", "b", "c"]
    trees = [
        {
            "nodes": [
                {"if": {"colour": {"in": list(pair)}}, "then": 1, "else": 2},
                {"counts": [2, 0]},
                {"counts": [0, 0]},
            ]
        }
        for pair in itertools.combinations(colours, 2)
    ]
    domain = {"attributes": [{"name": "colour", "values": colours}], "label": {"name": "y", "values": [0, 1]}}
    model = {"kind": "forest", "bootstrap": True, "trees": trees, "multiplicities": [[1, 1]] * 3}
    release = encoded({"recon": 1, "domain": domain, "rows": 2, "models": [model]}).statements
    found = find_world(untouched(release), LIMITS)
    assert found.parts is None
    assert _nominal(untouched(release).domains)
