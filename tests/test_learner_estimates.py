"""Estimates and bounds under the learner's rule, beside every world of tiny domains and real fits."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Grid, View, equals
from encoders.encode.encoder import encode
from recon.experiments.running import load
from recon.learner_rule.chosen_model import learner_of
from recon.learner_rule.counting import learner_rule
from recon.learner_rule.estimating.bounds import worlds_at_most
from recon.learner_rule.estimating.estimates import _could_grow, estimated_share
from recon.learner_rule.estimating.fitted_tree import grown_of
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from tests.learner_oracle import Settings, node_of, possible_trees

SEEDS = 16  # of scikit-learn's: enough draws for every order of two columns at up to two splits
SURE = 1 - 1e-9  # of intervals that are compared with the truth once


def numeric_domain(values, bits, classes=2):
    """Return the domain of one attribute of whole numbers, z, bits b0, b1, ... and a label."""
    attributes = [Grid.between("z", 0, values - 1), *(Categorical(f"b{k}", (0, 1)) for k in range(bits))]
    return Domain(tuple(attributes), Categorical("y", tuple(range(classes))))


def hot_domain(values, bits, classes=2):
    """Return the domain of one attribute of several values seen through binary columns c=0, c=1, ..., and bits."""
    views = {f"c={v}": View("c", equals(v)) for v in range(values)}
    attributes = [Categorical("c", tuple(range(values))), *(Categorical(f"b{k}", (0, 1)) for k in range(bits))]
    order = (*views, *(f"b{k}" for k in range(bits)))
    return Domain(tuple(attributes), Categorical("y", tuple(range(classes))), views, order=order)


def seen(domain, rows):
    """Return raw rows (rows, attributes and label) as the learner sees them, and their classes."""
    rows = np.asarray(rows)
    parts = []
    for name in domain.in_order:
        if name in domain.place:
            parts.append(rows[:, domain.place[name]])
        else:
            k, ranges = domain.view_ranges(name)
            parts.append(sum((rows[:, k] >= a) & (rows[:, k] < b) for a, b in ranges).astype(int))
    return pd.DataFrame(np.column_stack(parts), columns=domain.in_order), rows[:, -1]


def fit(domain, rows, settings, seed=0):
    from sklearn.tree import DecisionTreeClassifier

    x, y = seen(domain, rows)
    return DecisionTreeClassifier(random_state=seed, **settings).fit(x, y)


def again(domain, rows, settings):
    """Yield what scikit-learn publishes of these rows, seed by seed."""
    from sklearn.tree import DecisionTreeClassifier

    x, y = seen(domain, rows)
    x = x.to_numpy()
    return (text(DecisionTreeClassifier(random_state=s, **settings).fit(x, y), 2) for s in range(SEEDS))


def text(model, classes):
    """Return what a fitted tree publishes: its tests with all digits and its counts, without the numbers of nodes."""
    t = model.tree_

    def of(node):
        counts = np.zeros(classes, dtype=int)
        counts[model.classes_] = np.rint(t.value[node][0] * t.weighted_n_node_samples[node]).astype(int)
        if t.children_left[node] < 0:
            return tuple(counts)
        return (t.feature[node], t.threshold[node], of(t.children_left[node]), of(t.children_right[node]))

    return of(0)


def worlds(domain, model, rows):
    """Yield every world (`assigned`) of a fitted tree: rows of the same leaves and classes."""
    every = list(itertools.product(*(range(a.known[1]) for a in domain.attributes)))
    leaf = model.apply(seen(domain, [(*values, 0) for values in every])[0])
    own = model.apply(seen(domain, rows)[0])
    choices = [
        [(*v, row[-1]) for v, at in zip(every, leaf, strict=True) if at == node]
        for row, node in zip(rows, own, strict=True)
    ]
    return itertools.product(*choices)


def release_of(domain, model):
    release = recon.encode(model, domain)
    return release, learner_of(release, "auto")


CASES = [
    ({}, 5, 3, 1, 0),
    ({}, 5, 4, 0, 1),
    ({"criterion": "entropy"}, 4, 3, 1, 2),
    ({"max_depth": 1}, 4, 4, 1, 3),
    ({"max_depth": 2, "min_samples_leaf": 2}, 4, 3, 1, 4),
    ({"max_depth": 2, "min_impurity_decrease": 0.05}, 4, 4, 1, 5),
]


def drawn_case(settings, rows, domain, seed):
    """Return the first rows of several draws whose tree is split and has few worlds, and the tree."""
    rng = np.random.default_rng(seed)
    sizes = [a.known[1] for a in domain.all]
    for _ in range(2_000):
        data = [tuple(int(rng.integers(s)) for s in sizes) for _ in range(rows)]
        if len({row[-1] for row in data}) < sizes[-1]:
            continue
        model = fit(domain, data, settings)
        total = sum(1 for _ in itertools.islice(worlds(domain, model, data), 500))
        if model.tree_.node_count > 1 and 20 < total < 90:
            return data, model
    raise AssertionError("no draw has a tree with a few dozen worlds: choose other numbers of rows")


@pytest.mark.sampled(1, 3)
@pytest.mark.parametrize("case", CASES)
def test_numbers_are_compared_as_scikit_learn_does_on_every_world(case):
    """A world passes if and only if scikit-learn gives the tree on it for some seed; the share follows."""
    settings, rows, values, bits, seed = case
    domain = numeric_domain(values, bits)
    data, model = drawn_case(settings, rows, domain, seed)
    release, learner = release_of(domain, model)
    grown, published = grown_of(release, release.models[0], learner), text(model, 2)
    hits = total = 0
    for world in worlds(domain, model, data):
        total += 1
        told = _could_grow(grown, np.array(world), np.ones(len(world), dtype=np.int64))
        assert told == (published in again(domain, world, settings)), world
        hits += told
    assert _could_grow(grown, np.array(data), np.ones(len(data), dtype=np.int64))
    for found in (
        estimated_share(release, learner, Limits(), draws=4000, confidence=SURE),
        estimated_share(release, learner, Limits(), draws=4000, confidence=SURE, count_bits=False),
        estimated_share(release, learner, Limits(), draws=400, confidence=SURE, whole=True),
    ):
        assert found.log2_share[0] <= math.log2(hits / total) <= found.log2_share[1]
        assert found.share[1] - found.share[0] < 0.65
        assert not found.contains


@pytest.mark.parametrize(
    ("settings", "classes", "seed"), [({}, 2, 0), ({"criterion": "entropy"}, 3, 1), ({"max_depth": 2}, 3, 2)]
)
def test_groups_of_columns_beside_the_oracle(settings, classes, seed):
    """One-hot groups, two and three classes: beside every tree that the oracle of greedy trees grows."""
    domain = hot_domain(3, 1, classes)
    data, model = drawn_case(settings, 4, domain, seed)
    release, learner = release_of(domain, model)
    tree, asked = node_of(model, classes), Settings(**settings)
    hits = total = 0
    grown = grown_of(release, release.models[0], learner)
    for world in worlds(domain, model, data):
        x, y = seen(domain, world)
        told = tree in possible_trees(
            [(tuple(r), int(k)) for r, k in zip(x.to_numpy().tolist(), y, strict=True)], classes, asked
        )
        assert _could_grow(grown, np.array(world), np.ones(len(world), dtype=np.int64)) == told
        hits, total = hits + told, total + 1
    found = estimated_share(release, learner, Limits(), draws=4000, confidence=SURE)
    assert found.log2_share[0] <= math.log2(hits / total) <= found.log2_share[1]
    assert found.share[1] - found.share[0] < 0.3


def test_the_first_of_two_equal_splits_of_a_column_wins():
    """Of two thresholds with the same gain scikit-learn takes the lower one: a tree with the upper one has no world."""
    domain = numeric_domain(3, 0)
    rows = [(0, 0), (1, 1), (2, 0)]
    model = fit(domain, rows, {"max_depth": 1})
    assert model.tree_.threshold[0] == 0.5
    release, learner = release_of(domain, model)
    ones = np.ones(3, dtype=np.int64)
    assert _could_grow(grown_of(release, release.models[0], learner), np.array(rows), ones)
    model.tree_.threshold[0] = 1.5
    state = model.tree_.__getstate__()
    state["values"] = state["values"][[0, 2, 1]]
    for field in ("n_node_samples", "weighted_n_node_samples", "impurity"):
        state["nodes"][field] = state["nodes"][field][[0, 2, 1]]
    state["nodes"]["missing_go_to_left"][0] = 1  # where more rows go
    model.tree_.__setstate__(state)
    release, learner = release_of(domain, model)
    assert not _could_grow(grown_of(release, release.models[0], learner), np.array(rows), ones)


@pytest.fixture
def compas(data):
    data("compas27.csv.gz")
    frame, _ = load("compas27")
    return frame.sample(100, random_state=0)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("depth", [3, 5])
def test_estimates_hold_the_exact_product(compas, depth):
    """100 rows of COMPAS: the interval of the draws holds the exact count; bits counted are not drawn."""
    label = compas.columns[-1]
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(compas.drop(columns=label), compas[label])
    release = recon.encode(model, recon.Domain.from_frame(compas, label=label, independent=True))
    learner, exact = learner_of(release, "auto"), learner_rule(release)
    found = estimated_share(release, learner, Limits(), count_bits=False, draws=400)
    assert found.extra_bits[0] <= exact.extra_bits[0] <= exact.extra_bits[1] <= found.extra_bits[1]
    assert abs(-found.middle - exact.extra_bits[0]) < 0.25 * exact.extra_bits[0]
    counted = estimated_share(release, learner, Limits())
    assert counted.events == ()
    assert counted.extra_bits == pytest.approx(exact.extra_bits, abs=1e-6)
    at_most = worlds_at_most(release, learner, Limits())
    assert at_most.share == pytest.approx(-exact.extra_bits[0], abs=1e-5)
    assert at_most.share >= exact.share[0]


def test_intervals_hold_the_truth_as_often_as_they_say(compas):
    """Forty independent runs at confidence .8 (joint intervals hold more often than that)."""
    domain = numeric_domain(4, 1)
    data, model = drawn_case({"max_depth": 2}, 5, domain, 11)
    release, learner = release_of(domain, model)
    grown = grown_of(release, release.models[0], learner)
    told = [_could_grow(grown, np.array(w), np.ones(len(w), dtype=np.int64)) for w in worlds(domain, model, data)]
    truth = math.log2(sum(told) / len(told))
    runs = [
        estimated_share(release, learner, Limits(), seed=s, draws=150, confidence=0.8, count_bits=False)
        for s in range(40)
    ]
    held = sum(one.log2_share[0] <= truth <= one.log2_share[1] for one in runs)
    assert held >= 30
    assert len({one.middle for one in runs}) > 10
    assert runs[3] == estimated_share(release, learner, Limits(), seed=3, draws=150, confidence=0.8, count_bits=False)


@pytest.mark.slow
def test_upper_bounds_hold_on_every_world():
    """Any columns and nodes leave at least the true worlds; fewer conditions never fewer worlds; none removes none."""
    domain = numeric_domain(3, 2)
    for seed in range(3):
        data, model = drawn_case({"max_depth": 2}, 4, domain, 20 + seed)
        release, learner = release_of(domain, model)
        grown = grown_of(release, release.models[0], learner)
        told = [_could_grow(grown, np.array(w), np.ones(len(w), dtype=np.int64)) for w in worlds(domain, model, data)]
        every = worlds_at_most(release, learner, Limits())
        assert 2.0**every.share >= sum(told) / len(told) - 1e-12
        for columns, nodes in itertools.product((None, ("b0",), ("b1",)), (None, (0,), (), (1, 2))):
            found = worlds_at_most(release, learner, Limits(), columns, nodes)
            assert found.most >= every.most - 1e-9
            assert nodes != () or found.share == pytest.approx(0.0, abs=1e-12)
        assert every.bits[0] == pytest.approx(recon.measure(release, "ordered").entropy_bits)


def all_datasets(columns, rows):
    return itertools.product(itertools.product((0, 1), repeat=columns + 1), repeat=rows)


@pytest.mark.slow
def test_joins_beside_all_data_sets():
    """Two trees about the same four rows: the share of ordered data sets in which both could have been grown."""
    domain = Domain((Categorical("b0", (0, 1)), Categorical("b1", (0, 1))), Categorical("y", (0, 1)))
    rows = [(0, 0, 0), (0, 1, 1), (1, 1, 1), (1, 1, 0)]
    settings = ({"max_depth": 1}, {"criterion": "entropy"})
    models = [fit(domain, rows, s) for s in settings]
    release = encode(domain, [m for one in models for m in recon.encode(one, domain).models])
    learner = learner_of(recon.encode(models[0], domain), "auto")
    trees = [node_of(m, 2) for m in models]
    every = np.array(list(itertools.product((0, 1), repeat=2)))
    leaf = {id(m): m.apply(pd.DataFrame(every, columns=["b0", "b1"])).tolist() for m in models}

    def published(model, data):
        return sorted((leaf[id(model)][2 * a + b], y) for a, b, y in data)

    hits = total = 0
    for world in all_datasets(2, 4):
        if any(published(m, world) != published(m, rows) for m in models):
            continue
        total += 1
        pairs = [(tuple(r[:-1]), r[-1]) for r in world]
        each = [t in possible_trees(pairs, 2, Settings(**s)) for t, s in zip(trees, settings, strict=True)]
        hits += all(each)
    found = estimated_share(release, learner, Limits(), draws=400, confidence=SURE)
    assert found.share[0] <= hits / total <= found.share[1]
    assert found.events[0][1] == 400
    at_most = worlds_at_most(release, learner, Limits())
    assert at_most.share is None
    assert at_most.most >= math.log2(hits) - 1e-9
    assert at_most.bits[0] == pytest.approx(math.log2(total))
    with pytest.raises(ReleaseError, match="nodes are of one model"):
        worlds_at_most(release, learner, Limits(), nodes=(0,))


@pytest.mark.slow
def test_wide_rule_lists_beside_all_data_sets():
    """GreedyRL of width 2 on three rows: the share of data sets with the counts in which it gives the same list."""
    domain = Domain((Categorical("b0", (0, 1)), Categorical("b1", (0, 1))), Categorical("y", (0, 1)))
    rows = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]

    def learned(data):
        return GreedyRuleListClassifier(2, 1, 2).fit(*seen(domain, data))

    model = learned(rows)
    assert len(model.rules_[0][0]) == 2
    release = recon.encode(model, domain)
    rule = [name for name, _ in model.rules_[0][0]], [v for _, v in model.rules_[0][0]]
    hits = total = 0
    for world in all_datasets(2, 3):
        if sum(row[-1] for row in world) != 1:
            continue
        x, y = seen(domain, world)
        hit = np.all([x[name] == v for name, v in zip(*rule, strict=True)], axis=0)
        if [(hit & (y == k)).sum() for k in (0, 1)] != list(model.rules_[0][1]):
            continue
        total += 1
        hits += learned(world).rules_ == model.rules_
    found = estimated_share(release, learner_of(release, "auto"), Limits(), draws=300, confidence=SURE)
    assert 0 < hits < total
    assert found.share[0] <= hits / total <= found.share[1]
    with pytest.raises(Unsupported, match="not a tree but a rule list"):
        worlds_at_most(release, learner_of(release, "auto"), Limits())


def test_figures_say_what_they_are():
    domain = numeric_domain(3, 1)
    _, model = drawn_case({"max_depth": 1}, 4, domain, 3)
    release, learner = release_of(domain, model)
    found = estimated_share(release, learner, Limits(), draws=50)
    said = json.loads(json.dumps(found.to_json()))
    assert said["is"] == "estimate"
    assert said["confidence"] == 0.95
    assert "independently" in said["random"]
    assert said["hits"] == sum(h for h, _ in found.events)
    assert "estimate" in repr(found)
    assert json.loads(json.dumps(worlds_at_most(release, learner, Limits()).to_json()))["is"] == "upper bound"


def test_what_is_refused_says_why():
    domain = numeric_domain(3, 1)
    _, model = drawn_case({"max_depth": 1}, 4, domain, 3)
    release, learner = release_of(domain, model)
    with pytest.raises(ReleaseError, match="0 draws"):
        estimated_share(release, learner, Limits(), draws=0)
    with pytest.raises(ReleaseError, match="'z' is not an independent binary column"):
        worlds_at_most(release, learner, Limits(), columns=("z",))
    with pytest.raises(ReleaseError, match="node 99 is not there"):
        worlds_at_most(release, learner, Limits(), nodes=(99,))
    for attribute, why in (
        (Continuous("z", minimum=0, maximum=2), "midpoints have no share"),
        (Grid.between("z", 0, 2, missing=True), "may be missing"),
        (Grid.between("z", 0, 1 << 20), "16,384 at most"),
    ):
        other = Domain((attribute, *domain.attributes[1:]), domain.label)
        with pytest.raises(Unsupported, match=why):
            estimated_share(recon.encode(model, other), learner, Limits())
    with pytest.raises(Unsupported):
        estimated_share(release, learner_of(release, "greedy:splitter=random"), Limits())


def test_a_tree_that_breaks_a_limit_is_refused():
    domain = numeric_domain(3, 1)
    rows = [(0, 0, 0), (1, 0, 1), (2, 1, 0), (2, 0, 1)]
    model = fit(domain, rows, {})
    assert model.get_depth() > 1
    release, _ = release_of(domain, model)
    with pytest.raises(ContradictionError, match="max_depth is 1"):
        estimated_share(release, learner_of(release, "greedy:max_depth=1"), Limits())
