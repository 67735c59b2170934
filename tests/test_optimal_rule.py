"""What it gives away that a model is optimal, beside every data set of tiny domains.

The oracle knows nothing of the code under test: it lists all data sets as tuples, and all models of a class as tuples
of predictions, and compares errors.
"""

from __future__ import annotations

import itertools
import math

import pandas as pd
import pytest

from encoders.domain.domain import Domain
from encoders.domain.values import Grid, Listed, equals
from encoders.domain.views import View
from encoders.encode.encoder import encode
from encoders.models.learner import Learner
from encoders.models.models import Node, Rule, RuleList, Support, Tree
from recon.learner_rule.optimal.alternatives import Alternative, joined, under, without
from recon.learner_rule.optimal.every_model import every_model
from recon.learner_rule.optimal.classes import class_of
from recon.learner_rule.optimal.generation import Search, optimal_rule
from recon.learner_rule.optimal.shares import ordered_bits, product_share
from recon.learner_rule.optimal.verdicts import certify_under_optimal
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier
from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.foundation.limits import Limits

NAMES = ("a", "b", "c")


def domain_of(columns: int) -> Domain:
    return Domain(tuple(Listed(n, (0, 1)) for n in NAMES[:columns]), Listed("y", (0, 1)))


def tree_functions(columns, depth):
    """All labelled trees of a depth as predictions for every row of the row space."""
    rows = list(itertools.product((0, 1), repeat=columns))
    found = {tuple(k for _ in rows) for k in (0, 1)}
    for _ in range(depth):
        found |= {
            tuple((f if row[c] else g)[i] for i, row in enumerate(rows))
            for c in range(columns) for f in found for g in found
        }  # fmt: skip
    return found


def list_functions(columns, length):
    """All labelled lists of at most so many rules of one literal, as predictions."""
    rows = list(itertools.product((0, 1), repeat=columns))
    found = {tuple(k for _ in rows) for k in (0, 1)}
    for _ in range(length):
        found |= {
            tuple(label if row[c] == v else f[i] for i, row in enumerate(rows))
            for c in range(columns) for v in (0, 1) for label in (0, 1) for f in found
        }  # fmt: skip
    return found


def place(row):
    return int("".join(map(str, row[:-1])) or "0", 2)


def errors(function, data):
    return sum(function[place(row)] != row[-1] for row in data)


def brute(columns, regions, counts, functions, released_errors):
    """All data sets (ordered) with these counts per region and class; those of them where nothing in the class is better."""
    n = sum(map(sum, counts))
    rows = list(itertools.product((0, 1), repeat=columns + 1))
    every, optimal = [], []
    for data in itertools.product(rows, repeat=n):
        seen = [[0, 0] for _ in counts]
        for row in data:
            seen[regions(row)][row[-1]] += 1
        if seen != [list(c) for c in counts]:
            continue
        every.append(data)
        if min(errors(f, data) for f in functions) >= released_errors:
            optimal.append(data)
    return every, optimal


def stump(counts):
    """a at the root: region 1 where a is 1."""
    one, zero = counts[1], counts[0]
    return Tree((
        Node(Support(), (("a", equals(1)),), 1, 2), Node(Support(tuple(one))), Node(Support(tuple(zero))),
    ))  # fmt: skip


def two_level(counts):
    """a, then b where a is 1: regions 0 (a = 0), 1 (a = 1, b = 0), 2 (a = 1, b = 1)."""
    return Tree((
        Node(Support(), (("a", equals(1)),), 1, 4), Node(Support(), (("b", equals(1)),), 2, 3),
        Node(Support(tuple(counts[2]))), Node(Support(tuple(counts[1]))), Node(Support(tuple(counts[0]))),
    ))  # fmt: skip


def listed(counts):
    """If a = 1, else if b = 0, else default: regions 0, 1, 2."""
    return RuleList((
        Rule((("a", equals(1)),), Support(tuple(counts[0]))), Rule((("b", equals(0)),), Support(tuple(counts[1]))),
        Rule((), Support(tuple(counts[2]))),
    ))  # fmt: skip


def by_two_level(row):
    return 0 if row[0] == 0 else 1 + row[1]


def by_list(row):
    return 0 if row[0] else (2 if row[1] else 1)


TREE1, TREE2 = Learner("optimal tree", max_depth=1), Learner("optimal tree", max_depth=2)
LIST2 = Learner("optimal rule list", max_length=2, width=1)
CASES = [
    ("stump", 2, stump, lambda row: row[0], [(2, 1), (0, 2)], TREE1),
    ("stump deep", 2, stump, lambda row: row[0], [(2, 0), (1, 1)], TREE2),
    ("stump three columns", 3, stump, lambda row: row[0], [(2, 0), (1, 1)], TREE1),
    ("two levels", 2, two_level, by_two_level, [(1, 1), (0, 1), (1, 0)], TREE2),
    ("two levels three columns", 3, two_level, by_two_level, [(1, 1), (0, 1), (1, 0)], TREE2),
    ("leaves", 2, two_level, by_two_level, [(1, 1), (0, 1), (1, 0)], Learner("optimal tree", max_leaf_nodes=3)),
    ("list", 2, listed, by_list, [(1, 0), (0, 2), (1, 1)], LIST2),
    ("list three columns", 3, listed, by_list, [(1, 0), (0, 1), (1, 1)], LIST2),
]


def functions_of(columns, learner):
    if learner.name == "optimal rule list":
        return list_functions(columns, learner.max_length)
    if learner.max_leaf_nodes is None:
        return tree_functions(columns, learner.max_depth)
    assert learner.max_leaf_nodes == 3
    rows, one = list(itertools.product((0, 1), repeat=columns)), tree_functions(columns, 1)
    ends = tree_functions(columns, 0)
    both = [(f, g) for f in one for g in ends] + [(g, f) for f in one for g in ends]
    return {
        tuple((f if row[c] else g)[i] for i, row in enumerate(rows)) for c in range(columns) for f, g in both
    } | one  # fmt: skip


def known(case):
    _, columns, model, regions, counts, learner = case
    release = encode(domain_of(columns), [model(counts)])
    wrong = sum(sum(c) - max(c) for c in counts)
    every, optimal = brute(columns, regions, counts, functions_of(columns, learner), wrong)
    return release, learner, every, optimal


@pytest.fixture(scope="module", params=CASES, ids=[c[0] for c in CASES])
def case(request):
    return known(request.param)


def test_counts_are_those_of_every_data_set(case):
    release, learner, every, optimal = case
    assert optimal, "the case says nothing"
    found = optimal_rule(release, learner, Limits(seconds=60), draws=10)
    truth = math.log2(len(optimal) / len(every))
    assert found.ordered_bits[0] <= math.log2(len(every)) <= found.ordered_bits[1]
    assert found.share[0] <= truth <= found.share[1]
    assert found.status == "exact"
    assert found.share[1] - found.share[0] < 1e-6
    assert found.witness


def test_every_model_is_every_function(case):
    release, learner, *_ = case
    models = class_of(release, learner)
    columns = len(models.columns)
    found = every_model(models, Limits())
    rows = list(itertools.product((0, 1), repeat=columns))
    functions = set()
    for one in found:
        predictions = []
        for row in rows:
            labels = [k for path, k in one.leaves if all(row[models.columns.index(n)] == v for n, v in path)]
            assert len(labels) == 1, "leaves are disjoint and cover all rows"
            predictions.append(labels[0])
        functions.add(tuple(predictions))
    assert functions == functions_of(columns, learner)


def test_bounds_without_the_whole_class_contain_the_truth(case, monkeypatch):
    release, learner, every, optimal = case
    monkeypatch.setattr("recon.learner_rule.optimal.generation.every_model", lambda models, limits: None)
    found = optimal_rule(release, learner, Limits(seconds=60), draws=12)
    assert found.status == "bounds"
    assert math.log2(len(optimal) / len(every)) <= found.share[1] <= 0.0
    if found.drawn_better:
        assert found.share[1] < 0.0
    step = max(1, len(optimal) // 200)
    for data in optimal[::step]:  # every inequality holds in every data set of the rule
        frame = pd.DataFrame(data, columns=[*found.models.columns, "y"])
        for one in (*found.alternatives, *found.found):
            assert one.errors(frame[list(found.models.columns)], frame["y"]) >= one.least


def test_verdicts_are_those_of_every_data_set(case):
    release, learner, every, optimal = case
    names = [a.name for a in release.domain.all]
    profiles = list(itertools.product((0, 1), repeat=len(names)))
    frame = pd.DataFrame(profiles, columns=names)
    found = certify_under_optimal(release, frame, learner, Limits(seconds=120))
    verdicts = []
    for row in profiles:
        inside = sum(row in data for data in optimal)
        verdicts.append("impossible" if not inside else "certain" if inside == len(optimal) else "possible")
    assert found["verdict"].tolist() == verdicts
    for line in found.itertuples():
        before = sum(profiles[line.profile] in data for data in every)
        assert line.without_rule == (
            "impossible" if not before else "certain" if before == len(every) else "possible"
        )  # fmt: skip
        if line.rests_on == "the inequalities":
            assert line.certificate is not None
            assert line.inequalities == len(found.attrs["inequalities"][line.profile])
        if line.verdict == "possible":
            assert line.rests_on.startswith("the solver (recon's")
    assert any("fewest training errors" in line for line in found.attrs["assumptions"])
