"""Facts of scikit-learn's rule: true of real fits, exact against brute force, and what they give away."""

from __future__ import annotations

import itertools
import math
import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from learner_fact_cases import random_fit

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Grid, Test, View
from encoders.encode.encoder import encode
from encoders.encode.known import asking, with_known_rows
from encoders.encode.learner_facts import _least_improvement, always_kept, facts_of_learner, with_learner_facts
from encoders.models.learner_facts import FactLimits, Learner
from encoders.models.models import GroupQuestion, KnownRows, ModelNode, Nodes, PublishedFigure, Support, Table, Tree
from encoders.parts.statistics import as_ranges, chains, threshold_ranges
from recon.learner_rule.facts import fact_bits, with_facts
from recon.readers.frames.world import violations
from solvers.foundation.errors import ContradictionError, ReconError, ReleaseError, Unsupported

EVERYTHING = FactLimits(10_000, 10_000, 10**300, 10**300, 10**6)
GINI = Learner("sklearn tree", criterion="gini", source="a test")


# ---------------------------------------------------------------- true of every fit


def satisfied(seed, path, forest):
    """The number of facts of a random fit, all of which its rows meet; None where the file is refused."""
    try:
        release, learner, rows = random_fit(seed, path, forest)
    except (ReleaseError, Unsupported):
        return None
    found = with_learner_facts(release, learner, EVERYTHING)
    assert violations(found, rows) == [], (seed, learner)
    return len(found.facts.facts)


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("forest", [False, True])
def test_the_rows_of_random_fits_meet_every_fact(tmp_path, forest):
    counts = [satisfied(seed, tmp_path / "model.pkl", forest) for seed in range(10_000, 10_130)]
    assert sum(n is not None for n in counts) > 120
    assert sum(n or 0 for n in counts) > (20 if forest else 100)


@pytest.mark.long
def test_the_rows_of_ten_thousand_fits_meet_every_fact(tmp_path):
    counts = [satisfied(seed, tmp_path / "model.pkl", seed % 4 == 0) for seed in range(10_000)]
    assert sum(n or 0 for n in counts) > 8_000


@pytest.mark.slow
def test_facts_of_another_learner_are_not_met(tmp_path):
    """The check above can fail: with settings that are not those of the fit, some rows break what they imply."""
    broken = 0
    for seed in range(200):
        release, learner, rows = random_fit(seed, tmp_path / "model.pkl")
        if learner.criterion not in {"gini", "entropy"}:
            continue
        try:
            lied = with_learner_facts(release, Learner("sklearn tree", learner.criterion), EVERYTHING)
        except ReconError:
            continue
        broken += bool(violations(lied, rows))
    assert broken > 10


# ---------------------------------------------------------------- exact against brute force


def tree_of(domain, theta, counts, second=None):
    """A tree on attribute a at theta; the left child is split at `second` (name, threshold)."""
    nodes = [ModelNode(Support(), (("a", Test(high=theta)),), 1, 2)]
    if second is None:
        nodes += [ModelNode(Support(c)) for c in counts]
    else:
        nodes += [ModelNode(Support(), ((second[0], Test(high=second[1])),), 3, 4), ModelNode(Support(counts[0]))]
        nodes += [ModelNode(Support(c)) for c in counts[1:]]
    return encode(domain, [Tree(Nodes.of(nodes))])


def places(values, low, high):
    """The values at most, and above, a threshold that rows have."""
    return max((v for v in values if v <= high), default=None), min((v for v in values if v > low), default=None)


def midpoint_holds(rows, column, theta):
    """Whether theta is halfway between two consecutive values of a column, as the learner works it out."""
    lo, hi = places([np.float32(r[column]) for r in rows], theta, theta)
    return lo is not None and hi is not None and float(lo) / 2.0 + float(hi) / 2.0 == theta


def alike(rows, columns):
    """Whether no feature of rows has two consecutive values that the learner distinguishes."""
    for c in range(columns):
        values = sorted(np.float32(r[c]) for r in rows)
        if any(b > a + np.float32(1e-7) for a, b in itertools.pairwise(values)):
            return False
    return True


def worlds(domain, rows, labels):
    """All sequences of rows of two attributes and a label."""
    each = list(itertools.product(*(([a.value_at(p) for p in range(a.known[1])]) for a in domain.attributes), labels))
    return itertools.product(each, repeat=rows)


CASES = [
    (Grid.between("a", 0, 5), 2.5, None),
    (Grid.between("a", 0, 4), 2.0, None),
    (Categorical("a", (0, 0.1, 0.2, 0.3)), float(np.float32(0.1)) / 2 + float(np.float32(0.2)) / 2, None),
    (Categorical("a", (0, 1, 2, 5)), 3.0, None),
    (Grid.between("a", 0, 3), 1.5, ("b", 0.5)),
    (Grid.between("a", 0, 3), 2.0, ("a", 0.5)),
    (Grid.between("a", 2**24 - 1, 2**24 + 3), float(2**24 + 1), None),
    (Grid.between("a", 0, 3e-7, 1e-7), float(np.float32(2e-7)) / 2, None),
]
COUNTS = {2: [((1, 1), (1, 0)), ((2, 0), (1, 1))], 3: [((1, 0), (1, 1), (0, 1)), ((1, 1), (1, 0), (1, 0))]}


@pytest.mark.sampled(2, 2)
@pytest.mark.parametrize(
    ("attribute", "theta", "second", "counts"),
    [(*case, counts) for case in CASES for counts in COUNTS[2 if case[2] is None else 3]],
)
def test_worlds_with_facts_are_those_that_the_learner_could_split_so(attribute, theta, second, counts):
    domain = Domain((attribute, Categorical("b", (0, 1))), Categorical("y", (0, 1)))
    release = tree_of(domain, theta, counts, second)

    def leaf(row):
        left = np.float32(row[0]) <= theta
        if second is None:
            return 0 if left else 1
        column = 0 if second[0] == "a" else 1
        return 0 if not left else 1 if np.float32(row[column]) <= second[1] else 2

    want = 0
    n = sum(map(sum, counts))
    for world in worlds(domain, n, (0, 1)):
        groups = [[r for r in world if leaf(r) == j] for j in range(len(counts))]
        if any(tuple(sum(r[2] == c for r in g) for c in (0, 1)) != k for g, k in zip(groups, counts, strict=True)):
            continue
        if not midpoint_holds(world, 0, theta):
            continue
        if second is not None:
            below = [r for r in world if np.float32(r[0]) <= theta]
            if not midpoint_holds(below, 0 if second[0] == "a" else 1, second[1]):
                continue
        want += all(alike(g, 2) for g, k in zip(groups, counts, strict=True) if min(k) > 0)
    found = with_learner_facts(release, GINI, EVERYTHING, written=True)
    assert 0 < want < recon.count(release, "ordered").value
    assert recon.count(found, "ordered").value == want


@pytest.mark.parametrize("gaps", [False, True])
def test_leaves_agree_in_what_is_seen_of_an_attribute(gaps):
    """Of a group of which one column is a feature, and of an attribute that may be missing, by brute force."""
    group = Grid.between("g", 0, 2, missing=True) if gaps else Categorical("g", ("r", "g", "b"))
    columns = {} if gaps else {"g_r": View("g", Test(values=("r",)))}
    domain = Domain((Categorical("b", (0, 1)), group), Categorical("y", (0, 1)), columns)
    nodes = [
        ModelNode(Support(), (("b", Test(high=0.5)),), 1, 2),
        ModelNode(Support((2, 1))),
        ModelNode(Support((1, 0))),
    ]
    release = encode(domain, [Tree(Nodes.of(nodes))])
    want = 0
    cells = [0, 1, 2, None] if gaps else ["r", "g", "b"]
    for world in itertools.product(itertools.product((0, 1), cells, (0, 1)), repeat=4):
        left, right = ([r for r in world if r[0] == side] for side in (0, 1))
        if sorted(r[2] for r in left) != [0, 0, 1] or [r[2] for r in right] != [0]:
            continue
        seen = {r[1] for r in left if r[1] is not None} if gaps else {r[1] == "r" for r in left}
        want += len(seen) <= 1
    assert recon.count(with_learner_facts(release, GINI), "ordered").value == want


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_bits_of_facts_are_those_of_the_count(seed):
    """The product over attributes against the histograms of all statements together, on random small trees."""
    dice = np.random.default_rng(seed)
    domain = Domain(
        (Grid.between("a", 0, 6), Categorical("b", (0, 1, 2)), Categorical("c", (0, 1))), Categorical("y", (0, 1))
    )
    n = int(dice.integers(3, 9))
    rows = np.stack([dice.integers(0, 7, n), dice.integers(0, 3, n), dice.integers(0, 2, n), dice.integers(0, 2, n)])

    def grow(members, depth):
        at = len(nodes)
        nodes.append(None)
        columns = [c for c in range(3) if len(set(rows[c, members])) > 1]
        if depth == 2 or not columns:
            nodes[at] = ModelNode(Support(tuple(int((rows[3, members] == v).sum()) for v in (0, 1))))
            return at
        c = columns[dice.integers(len(columns))]
        seen = np.unique(rows[c, members])
        i = int(dice.integers(len(seen) - 1))
        t = (seen[i] + seen[i + 1]) / 2
        then = grow(members[rows[c, members] <= t], depth + 1)
        otherwise = grow(members[rows[c, members] > t], depth + 1)
        nodes[at] = ModelNode(Support(), (("abc"[c], Test(high=float(t))),), then, otherwise)
        return at

    nodes: list = []
    grow(np.arange(n), 0)
    release = encode(domain, [Tree(Nodes.of(nodes))])
    learner = Learner("sklearn tree", "gini", max_depth=2)
    with_all = with_learner_facts(release, learner, EVERYTHING, written=True)
    got = fact_bits(release, learner, bounds=EVERYTHING, written=True)
    want = recon.count(release, "ordered").log2 - recon.count(with_all, "ordered").log2
    assert got.removed[0] - 1e-9 <= want <= got.removed[1] + 1e-9
    assert got.removed[1] - got.removed[0] < 1e-9
    assert math.isclose(sum(b[0] for _, b in got.by_attribute), got.removed[0])


# ---------------------------------------------------------------- what it gives away


def stored(tmp_path, model, domain):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(model))
    return recon.load(path, domain=domain), path


def leaky(tmp_path):
    """A tree whose only mixed leaf holds three people of two classes: they must be alike."""
    from sklearn.tree import DecisionTreeClassifier

    people = pd.DataFrame({"age": [1, 1, 1, 3, 3, 4], "y": [0, 1, 1, 0, 0, 0]})
    model = DecisionTreeClassifier(random_state=0).fit(people[["age"]], people["y"])
    release, _ = stored(tmp_path, model, Domain((Grid.between("age", 1, 4),), Categorical("y", (0, 1))))
    return release, people


def test_facts_make_people_impossible_and_certain(tmp_path):
    """The threshold 2 between 1 and 3 says that somebody has either, and nobody 2; the leaf that all three have 1."""
    release, people = leaky(tmp_path)
    found = with_facts(release, GINI)
    assert violations(found, people) == []
    asked = pd.DataFrame({"age": [1, 2, 3, 4]})
    before, after = recon.certify(release, asked), recon.certify(found, asked)
    assert before["verdict"].tolist() == ["possible"] * 4
    assert after["verdict"].tolist() == ["certain", "impossible", "certain", "possible"]
    assert after["min_count"].tolist()[0] == 3
    certificates = after["certificate"].tolist()[:3]
    assert all(c is not None for c in certificates)
    assert recon.verify(certificates, found).rejected == ()
    assert len(recon.verify(certificates, release).rejected) == 3  # they rest on the learner
    assert recon.certify(found, pd.DataFrame({"age": [1], "y": [1]}))["verdict"].tolist() == ["certain"]


def test_facts_stand_beside_known_rows_questions_and_other_models(tmp_path):
    release, people = leaky(tmp_path)
    found = with_facts(release, GINI)
    known = KnownRows(("age",), ((1, 3, 4),), np.array([[0], [0], [0], [1], [1], [2]], dtype=np.int32))
    both = with_known_rows(found, known)
    assert both.facts == found.facts
    assert len(both.statements.blocks) == len(found.statements.blocks) + 1
    assert violations(both, people) == []
    assert recon.count(both, "ordered").value == math.factorial(6) // (6 * 2) * 3
    wrong = KnownRows(("age",), ((1, 2, 3, 4),), np.array([[0], [0], [1], [2], [2], [3]], dtype=np.int32))
    assert recon.count(with_known_rows(release, wrong), "ordered").value > 0
    assert recon.count(with_known_rows(found, wrong), "ordered").status == "unsat"
    table = Table((PublishedFigure((("age", Test(high=3)),), count=5),))
    joined = with_facts(encode(release.domain, [*release.models, table]), GINI)
    assert violations(joined, people) == []
    alone = recon.count(encode(release.domain, [*release.models, table]), "ordered").value
    assert 0 < recon.count(joined, "ordered").value < alone
    at_most_3 = asking(found, GroupQuestion((("age", Test(high=3)),)))
    assert len(at_most_3.statements.blocks) == len(found.statements.blocks) + 1


def test_what_is_left_out_is_said_and_still_true(tmp_path):
    release, learner, rows = random_fit(27, tmp_path / "model.pkl")
    few = with_learner_facts(release, learner, FactLimits(1, 1, 2, 10, 3))
    assert violations(few, rows) == []
    assert sum(len(a) for f in few.facts.facts for a in f.alternatives) <= 3


def test_the_learner_is_among_the_assumptions_and_no_longer_denied(tmp_path):
    release, _ = leaky(tmp_path)
    found = with_facts(release, GINI)
    assert any("does not use how the learner chose" in line for line in release.assumptions)
    assert not any("does not use how the learner chose" in line for line in found.assumptions)
    assert any(line.startswith("the learner is known (a test): sklearn tree") for line in found.assumptions)


# ---------------------------------------------------------------- contradictions and refusals


def test_a_threshold_that_no_pair_explains_is_named(tmp_path):
    domain = Domain((Categorical("a", (0, 1, 5)), Categorical("b", (0, 1))), Categorical("y", (0, 1)))
    release = tree_of(domain, 2.0, ((2, 0), (0, 2)))
    with pytest.raises(ContradictionError, match=r"tree, node 0: 'a' split at 2\.0") as told:
        with_learner_facts(release, GINI, written=True)
    assert told.value.conflict == ("tree, node 0: 'a' split at 2.0",)


def test_a_limit_that_is_broken_is_named():
    domain = Domain((Grid.between("a", 0, 5), Categorical("b", (0, 1))), Categorical("y", (0, 1)))
    release = tree_of(domain, 2.5, ((2, 0), (0, 1)))
    for settings_of, said in (
        ({"min_samples_leaf": 2}, "leaf 2: 1 rows, min_samples_leaf is 2"),
        ({"max_depth": 0}, "at depth 1, max_depth is 0"),
        ({"min_samples_split": 4}, "node 0: 3 rows, min_samples_split is 4"),
        ({"max_leaf_nodes": 1}, "2 leaves, max_leaf_nodes is 1"),
    ):
        with pytest.raises(ContradictionError, match=said):
            with_learner_facts(release, Learner("sklearn tree", "gini", **settings_of))


def test_other_learners_and_releases_are_refused():
    domain = Domain((Grid.between("a", 0, 5), Categorical("b", (0, 1))), Categorical("y", (0, 1)))
    release = tree_of(domain, 2.5, ((2, 0), (0, 1)))
    with pytest.raises(Unsupported, match="greedy rule list"):
        with_learner_facts(release, Learner("greedy rule list"))
    with pytest.raises(Unsupported, match="no model of it"):
        with_learner_facts(release, Learner("sklearn forest"))


def test_thresholds_of_a_release_file_are_not_taken_for_stored_ones():
    domain = Domain((Grid.between("a", 0, 5), Categorical("b", (0, 1))), Categorical("y", (0, 1)))
    release = tree_of(domain, 2.9, ((2, 0), (0, 1)))
    found = with_learner_facts(release, GINI)
    assert found.facts.facts == ()
    assert any("not known as the learner stored them (1)" in line for line in found.assumptions)


def test_a_continuous_attribute_keeps_what_is_true():
    domain = Domain((Continuous("a", None, None), Categorical("b", (0, 1))), Categorical("y", (0, 1)))
    release = tree_of(domain, 2.5, ((1, 1), (0, 1)))
    found = facts_of_learner(release, GINI, written=True)
    assert [f.name for f in found.facts] == ["tree, leaf 1: rows of several classes that were not split agree in 'b'"]


@pytest.mark.parametrize(
    "setting",
    [{"min_samples_leaf": 2}, {"min_impurity_decrease": 0.01}, {"ccp_alpha": 0.1}, {"weighted": True},
     {"max_depth": 1}, {"min_samples_split": 3}, {"max_leaf_nodes": 2}, {"min_weight_fraction_leaf": 0.1},
     {"criterion": "squared_error"}],
)  # fmt: skip
def test_a_limit_that_stops_a_leaf_takes_its_fact_away(setting):
    domain = Domain((Categorical("a", (0, 1)), Categorical("b", (0, 1))), Categorical("y", (0, 1)))
    release = tree_of(domain, 0.5, ((1, 1), (2, 0)))
    assert len(facts_of_learner(release, GINI).facts) == 1
    if "criterion" in setting:
        assert facts_of_learner(release, Learner("sklearn tree", **setting)).facts == ()
    else:
        assert facts_of_learner(release, Learner("sklearn tree", "gini", **setting)).facts == ()


# ---------------------------------------------------------------- arithmetic


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    low=st.lists(st.floats(-1e6, 0, width=32), min_size=1, max_size=8),
    high=st.lists(st.floats(2**-10, 1e6, width=32), min_size=1, max_size=8),
    data=st.data(),
)
def test_pairs_around_a_threshold_are_all_of_them(low, high, data):
    a, b = np.unique(np.array(low, dtype=np.float32)), np.unique(np.array(high, dtype=np.float32))
    lo, hi = data.draw(st.sampled_from(a.tolist())), data.draw(st.sampled_from(b.tolist()))
    theta = lo / 2.0 + hi / 2.0
    want = {(x, y) for x in a.tolist() for y in b.tolist() if x / 2.0 + y / 2.0 == theta}
    assert {(float(x), float(y)) for x, y in threshold_ranges(a, b, theta)} == want


def test_chains_follow_single_precision():
    tiny = np.array([0, 9e-8, 1.8e-7, 1, 2**24, 2**24 + 1], dtype=np.float32)
    assert chains(tiny).tolist() == [0, 0, 0, 1, 2, 2]
    assert as_ranges(np.array([0, 1, 3])) == ((0, 2), (3, 4))


def test_improvements_that_round_below_nothing_close_a_leaf():
    """Entropies of some whole data sets round so that a split without gain looks like a loss: no fact is made."""
    found = [c for c in itertools.product(range(1, 14), repeat=2) if _least_improvement(c, sum(c), "entropy") < 0]
    assert found
    assert always_kept((1, 1), 10_000, "entropy")
    assert not always_kept((3_000, 3_000), 6_000, "entropy")
    assert always_kept((3_000, 3_000), 60_000, "gini")


def test_a_leaf_that_only_rounding_made_gives_no_fact(tmp_path):
    """Ten classes, the same shares on both sides: scikit-learn does not split, though the rows are not alike."""
    from sklearn.tree import DecisionTreeClassifier

    left = np.array([35, 21, 34, 26, 21, 27, 36, 21, 11, 35])
    x = np.repeat([0, 1], [left.sum(), 4 * left.sum()])
    y = np.concatenate([np.repeat(range(10), left), np.repeat(range(10), 4 * left)])
    model = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(pd.DataFrame({"x": x}), y)
    assert model.tree_.node_count == 1
    release, _ = stored(tmp_path, model, Domain((Categorical("x", (0, 1)),), Categorical("y", tuple(range(10)))))
    found = with_facts(release, Learner("sklearn tree", "entropy"))
    assert found.facts.facts == ()
    assert any("rounding may have hidden" in line for line in found.assumptions)
