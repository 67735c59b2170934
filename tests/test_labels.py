"""Labels by position from class totals: never another than a labelling that is left, proved in whole numbers."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from extras import encoded

from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Domains
from solvers.positions.assignments.propagation import _leaves_no_exception, _statements, _totals, label_steps
from solvers.statements.row_problem import RowProblem, problem_of

LIMITS = Limits()  # none: what comes out must not depend on the clock


def proves(problem, domains, step):
    """Return whether the weighted sums of a step leave less than one exception to its labels, in whole numbers.

    With z[i, k] = 1 where row i has label k, D = `over` and whole weights y[s] on statements low <= a[s] z <= high,
    D times the number of rows of the step that have another label is, for every labelling that is left,

        Σ_i Σ_k (D [i in the step, k another label] - Σ_s y[s] a[s][i, k]) z[i, k] + Σ_s y[s] a[s] z
        <= Σ_i max over k left for i of (D [...] - Σ_s y[s] a[s][i, k]) + Σ_s (y[s] high[s] or, y[s] < 0, y[s] low[s]),

    rows with one label left included. Less than D: there is none. Cost: weights times rows.
    """
    known = _totals(problem)
    return known is not None and _leaves_no_exception(problem, known, domains.labels(), step)


def forest(rng: random.Random, rows: int, trees: int, classes: int, *, distinct: bool = True) -> tuple[Any, list[int]]:
    """Return a release of stumps on known bags, and the true labels."""
    x = [rng.randrange(4) for _ in range(rows)]
    y = [rng.randrange(classes) for _ in range(rows)]
    bags, published = [], []
    for _ in range(trees):
        drawn = rng.choices(range(rows), k=rows)
        bag, cut = [drawn.count(i) for i in range(rows)], rng.randrange(3)
        nodes: list[dict[str, Any]] = [{"if": {"a0": {"at_most": cut}}, "then": 1, "else": 2}]
        for right in (False, True):
            inside = [i for i in range(rows) if (x[i] > cut) == right]
            node: dict[str, Any] = {"counts": [sum(bag[i] for i in inside if y[i] == k) for k in range(classes)]}
            if distinct:
                node["distinct"] = sum(bag[i] > 0 for i in inside)
            nodes.append(node)
        bags.append(bag)
        published.append({"nodes": nodes})
    domain = {
        "attributes": [{"name": "a0", "min": 0, "max": 3}],
        "label": {"name": "y", "values": list(range(classes))},
    }
    model = {"kind": "forest", "bootstrap": True, "trees": published, "multiplicities": bags}
    return {"recon": 1, "domain": domain, "rows": rows, "models": [model]}, y


def problem(release: Any) -> RowProblem:
    found = problem_of(encoded(release).statements)
    assert found is not None
    return found


def labellings(given: RowProblem, left: Any) -> list[tuple[int, ...]]:
    """Return every labelling of labels that are left which meets all class totals."""
    known = _totals(given)
    assert known is not None
    out = []
    for y in itertools.product(*(np.flatnonzero(line).tolist() for line in left)):
        at = np.array(y)[None, :] == np.arange(left.shape[1])[:, None]  # labels, rows
        weight = given.times @ at.T
        different = (given.times > 0).astype(int) @ at.T
        if (weight == known.weight).all() and (known.low <= different).all() and (different <= known.high).all():
            out.append(y)
    return out


def solved(given: RowProblem, domains: Domains) -> dict[int, int]:
    """Return the labels that steps prove, one after the other."""
    found: dict[int, int] = {}
    while steps := list(label_steps(given, domains, LIMITS)):
        for step in steps:
            assert proves(given, domains, step)
            found |= dict(zip(step.rows, step.labels, strict=True))
            for t in range(given.trees):
                allowed = domains.of_tree(t)
                for i, k in zip(step.rows, step.labels, strict=True):
                    allowed[i] &= given.label[list(given.values(t))] == k
                domains.set_tree(t, allowed)
        if not domains.labels().any(axis=1).all():
            break
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(4))
def test_what_is_proved_holds_in_every_labelling(batch: int) -> None:
    rng, proved, only = random.Random(f"labels {batch}"), 0, 0
    for _ in range(25):
        classes, rows = rng.choice([(2, 7), (2, 9), (3, 5), (4, 4)])
        release, y = forest(rng, rows, rng.randint(1, 5), classes, distinct=rng.random() < 0.7)
        given = problem(release)
        domains = Domains(given)
        left = domains.labels()
        every = labellings(given, left)
        assert tuple(y) in every
        found = solved(given, domains)
        assert all({z[i] for z in every} == {k} for i, k in found.items())
        same = np.array([len(set(column)) == 1 for column in zip(*every, strict=True)])
        proved, only = proved + len(found), only + int((same & (left.sum(axis=1) > 1)).sum())
    assert proved == only


def test_all_labels_of_more_rows() -> None:
    release, y = forest(random.Random(1), 60, 40, 2)
    given = problem(release)
    step = next(label_steps(given, Domains(given), LIMITS), None)
    assert step is not None
    assert dict(zip(step.rows, step.labels, strict=True)) == dict(enumerate(y))


def test_statements_left_out_follow_from_the_others() -> None:
    release, _ = forest(random.Random(2), 6, 4, 3, distinct=False)
    given = problem(release)
    known = _totals(given)
    assert known is not None
    kept = _statements(given, known)
    assert (kept.label[~kept.distinct] > 0).all()
    assert (known.weight.sum(axis=1) == given.times.sum(axis=1)).all()


def test_no_proof_without_exact_weights() -> None:
    """A step that was changed a little is none: the exact check alone stands between rounding and a claim."""
    release, _ = forest(random.Random(3), 40, 30, 2)
    given = problem(release)
    domains = Domains(given)
    step = next(label_steps(given, domains, LIMITS), None)
    assert step is not None
    assert proves(given, domains, step)
    wrong = (1 - step.labels[0], *step.labels[1:])
    assert not proves(given, domains, replace(step, labels=wrong))
    assert not proves(given, domains, replace(step, weights=()))
    assert not proves(given, domains, replace(step, over=0))
    assert not proves(
        given, domains, replace(step, rows=step.rows + step.rows[:1], labels=step.labels + step.labels[:1])
    )
    assert not proves(given, domains, replace(step, weights=((given.trees, 0, False, 1), *step.weights)))
    for s, (t, k, distinct, weight) in enumerate(step.weights[:10]):
        more = (t, k, distinct, weight + 5 * step.over)
        assert not proves(given, domains, replace(step, weights=(*step.weights[:s], more, *step.weights[s + 1 :])))


def test_weights_beyond_64_bits_are_added_exactly() -> None:
    release, _ = forest(random.Random(3), 40, 30, 2)
    given = problem(release)
    domains = Domains(given)
    step = next(label_steps(given, domains, LIMITS), None)
    assert step is not None
    far = 1 << 80
    scaled = tuple((t, k, d, y * far) for t, k, d, y in step.weights)
    assert proves(given, domains, replace(step, over=step.over * far, weights=scaled))
    assert not proves(given, domains, replace(step, over=step.over * far, weights=scaled[1:]))


def test_totals_that_contradict_each_other() -> None:
    """Two trees on the same bag that count different numbers of a class."""
    release, _ = forest(random.Random(5), 8, 2, 2, distinct=False)
    model = release["models"][0]
    model["multiplicities"] = [[1] * 8] * 2
    for tree, counts in zip(model["trees"], ([6, 2], [7, 1]), strict=True):
        tree["nodes"][1].pop("distinct", None)
        tree["nodes"][1]["counts"], tree["nodes"][2]["counts"] = counts, [0, 0]
    model["trees"].append({"nodes": [{"counts": [5, 3]}]})
    model["multiplicities"] += [[1] * 8]
    given = problem(release)
    domains = Domains(given)
    solved(given, domains)
    assert not domains.labels().any(axis=1).all()


def test_nothing_where_no_time_is_left_or_no_labels_are_told() -> None:
    release, _ = forest(random.Random(1), 10, 5, 2)
    given = problem(release)
    assert next(label_steps(given, Domains(given), Limits(0.0)), None) is None
    for tree in release["models"][0]["trees"]:
        for node in tree["nodes"][1:]:
            node["count"] = sum(node.pop("counts"))
    plain = problem(release)
    assert _totals(plain) is None
    assert next(label_steps(plain, Domains(plain), LIMITS), None) is None
