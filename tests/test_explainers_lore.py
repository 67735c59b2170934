"""LORE: neighbourhoods, rules and counterfactuals against brute force over leaves; merged trees; chosen records."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from explained import Rule, bits, every, mixed, walked
from hypothesis import given, settings
from hypothesis import strategies as st

import recon
from recon.attacks.explainers import lore as neighbourhood
from recon.attacks.explainers import sampling
from recon.attacks.explainers.lore import Breeding, Distance, _explained, bred_neighbourhoods, lore, lores, merged_tree
from recon.attacks.explainers.sampling import _elbow, diverse_rows, enriched_tree
from recon.attacks.explainers.surrogate import Literal, MofN, Surrogate, SurrogateNode
from recon.queries.inputs import RecordColumns
from solvers.foundation.errors import Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits


def truth(rows):
    return ((rows[:, 1] <= 4) & (rows[:, 2] > 0.5)) | (rows[:, 0] > 0.8)


def met(test, value):
    """Return whether a value passes a test of the release file, in plain Python."""
    if not isinstance(test, dict):
        return value == test
    assert set(test) <= {"above", "at_most"}
    assert test
    return value > test.get("above", -np.inf) and value <= test.get("at_most", np.inf)


def covered(rule, row, names):
    return all(met(test, row[names.index(name)]) for name, test in rule.items())


def paths(nodes):
    """Return the leaves of release-file nodes: their number and the ends of each column on the path."""
    waiting, found = [(0, {})], []
    while waiting:
        at, ends = waiting.pop()
        if "if" not in nodes[at]:
            found.append((at, ends))
            continue
        ((name, test),) = nodes[at]["if"].items()
        low, high = ends.get(name, (-np.inf, np.inf))
        waiting.append((nodes[at]["then"], {**ends, name: (low, min(high, test["at_most"]))}))
        waiting.append((nodes[at]["else"], {**ends, name: (max(low, test["at_most"]), high)}))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_rules_cover_the_record_and_counterfactuals_are_the_nearest_leaves(seed):
    rng = np.random.default_rng(seed)
    x, columns = mixed(rng)
    found = lore(Rule(truth), x[seed], x, columns, 2, seed=seed, size=400, generations=6)
    tree, names, record = found.surrogate, columns.names, x[seed]
    assert covered(found.rule, record, names)
    assert found.label == tree.predict(record[None, :])[0]
    assert found.said == int(truth(record[None, :])[0])
    inside = np.array([covered(found.rule, row, names) for row in x])
    assert (tree.leaf(x[inside]) == tree.leaf(record[None, :])).all()
    assert not (tree.leaf(x[~inside]) == tree.leaf(record[None, :])).any()

    nodes, said = tree.nodes(x, truth(x).astype(int)), tree.predictions()
    missed = {at: sum(not low < record[names.index(n)] <= high for n, (low, high) in ends.items())
              for at, ends in paths(nodes)}  # fmt: skip
    others = [at for at in missed if said[at] != found.label]
    fewest = min(missed[at] for at in others)
    assert len(found.counterfactuals) == sum(missed[at] == fewest for at in others)
    for other in found.counterfactuals:
        assert len(other.unmet) == fewest >= 1
        assert not covered(other.rule, record, names)
        assert other.unmet.items() <= other.rule.items()
        moved = record.copy()
        for name, test in other.unmet.items():
            assert not met(test, record[names.index(name)])
            ends = test if isinstance(test, dict) else {}
            low, high = ends.get("above", ends.get("at_most", 0) - 2), ends.get("at_most", ends.get("above", 0) + 2)
            moved[names.index(name)] = (low + high) / 2 if ends else test
        assert covered(other.rule, moved, names)
        assert tree.predict(moved[None, :])[0] == other.label != found.label
        assert missed[walked(nodes, moved, names)] == fewest


def test_a_small_truth_over_bits_is_told_exactly():
    box = Rule(lambda rows: (rows[:, 0] > 0.5) & (rows[:, 3] > 0.5))
    x = every(6)
    record = np.array([1.0, 0, 0, 0, 1, 1])
    found = lore(box, record, x, bits(6), 2, seed=0, size=1000, min_leaf=1)
    assert (found.surrogate.predict(x) == box.function(x)).all()
    assert found.rule in ({"d": 0}, {"a": 1, "d": 0})
    assert (found.label, found.said, found.hit, found.fidelity) == (0, 0, True, 1.0)
    (other,) = found.counterfactuals
    assert (other.rule, other.unmet, other.label) == ({"a": 1, "d": 1}, {"d": 1}, 1)
    assert found.surrogate.kind == "lore"


def test_rules_with_their_support_are_a_release(tmp_path):
    x = every(6)[np.random.default_rng(1).integers(64, size=50)]
    y = (x[:, 1] > 0.5).astype(int)
    box = Rule(lambda rows: (rows[:, 0] > 0.5) & (rows[:, 3] > 0.5))
    rules = [one.released(x, y) for one in lores(box, x[:4], x, bits(6), 2, seed=0, size=200)]
    for rule in rules:
        inside = [covered(rule["if"], row, "abcdef") for row in x]
        assert rule["counts"] == [sum(a and b == label for a, b in zip(inside, y, strict=True)) for label in (0, 1)]
        assert sum(rule["counts"]) > 0
    domain = {"attributes": [{"name": n, "values": [0, 1]} for n in "abcdef"], "label": {"name": "y", "values": [0, 1]}}
    models = [{"kind": "rule_set", "rules": rules}]
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"recon": 1, "domain": {**domain, "source": "declared"}, "rows": 50, "models": models}))
    assert recon.load(str(path)).rows.low == 50


@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_neighbours_have_observed_values_and_are_said_what_the_black_box_says(seed, size, generations):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.eye(3)[rng.integers(3, size=30)], rng.integers(0, 5, 30), rng.normal(size=30)])
    columns = RecordColumns(("a", "b", "c", "n", "m"), (False, False, False, True, True), groups=((0, 1, 2),))
    box = Rule(lambda rows: rows[:, 3] + rows[:, 0] > 2)
    record = np.array([0.0, 1.0, 0.0, 2.5, 9.0])  # values that no row of the data has
    (found,) = bred_neighbourhoods(box, record, x, columns, 2, seeds=[[seed]], breeding=Breeding(size, generations))
    assert len(found.x) <= size
    assert (found.x[:, :3].sum(axis=1) == 1).all()
    for k in range(5):
        assert np.isin(found.x[:, k], [*x[:, k], record[k]]).all()
    assert not (found.x == record).all(axis=1).any()
    assert found.labels.tolist() == box.function(found.x).astype(int).tolist()
    assert found.queries == box.asked <= size * generations + 1


def test_no_row_is_asked_about_twice_and_records_do_not_disturb_each_other():
    x, columns = mixed(np.random.default_rng(1))
    seen = []

    def function(rows):
        seen.extend(map(tuple, rows.tolist()))
        return truth(rows)

    together = lores(Rule(function), x[:5], x, columns, 2, seed=7, size=100)
    assert len(seen) == len(set(seen)) == sum(one.queries for one in together)
    assert len(seen) < 5 * 1000
    alone = lore(Rule(truth), x[0], x, columns, 2, seed=7, size=100)
    assert alone.surrogate.inner == together[0].surrogate.inner
    assert (alone.rule, alone.counterfactuals, alone.fidelity) == (
        together[0].rule, together[0].counterfactuals, together[0].fidelity)  # fmt: skip
    fewer = lores(Rule(truth), x[[0, 9, 2]], x, columns, 2, seed=7, size=100)
    assert fewer[2].surrogate.inner == together[2].surrogate.inner
    assert lore(Rule(truth), x[0], x, columns, 2, seed=8, size=100).surrogate.inner != alone.surrogate.inner
    assert lores(Rule(truth), x[:0], x, columns, 2, seed=7) == []


def test_blocks_of_records_give_what_all_at_once_give(monkeypatch):
    x, columns = mixed(np.random.default_rng(1))
    whole = lores(Rule(truth), x[:5], x, columns, 2, seed=7, size=100)
    monkeypatch.setattr(neighbourhood, "TOGETHER", 200)
    pieces = lores(Rule(truth), x[:5], x, columns, 2, seed=7, size=100)
    assert [one.surrogate.inner for one in whole] == [one.surrogate.inner for one in pieces]


def test_neighbours_are_near_and_of_both_classes():
    rng = np.random.default_rng(3)
    x, columns = mixed(rng)
    distance = Distance.of(x, columns)
    rare = Rule(lambda rows: (rows[:, 2:5].sum(axis=1) == 3) & (rows[:, 1] >= 6))
    record = np.array([0.0, 0.0, 0.0, 0.0, 0.0])  # four parts away from the other class
    (found,) = bred_neighbourhoods(rare, record, x, columns, 2, seeds=[[0]], breeding=Breeding(2000, 12))
    assert 0.3 < found.labels.mean() < 0.7  # by chance about one in fifty
    assert rare.function(x).mean() < 0.05
    same = found.x[found.labels == 0]
    assert distance(record, same).mean() < distance(record, x).mean() / 2
    far = Rule(lambda rows: rows.all(axis=1))  # eight columns must change
    mostly = every(8)[every(8).sum(axis=1) >= 6]
    (found,) = bred_neighbourhoods(far, np.zeros(8), mostly, bits(8), 2, seeds=[[0]], breeding=Breeding(2000, 15))
    assert 0.3 < found.labels.mean() < 0.7


def test_rows_that_look_alike_are_not_taken_for_each_other(monkeypatch):
    x, columns = mixed(np.random.default_rng(1), 60)
    right = lores(Rule(truth), x[:3], x, columns, 2, seed=7, size=60, generations=4)
    for module in (neighbourhood, sampling):
        monkeypatch.setattr(module, "hashed", lambda rows: np.zeros(len(rows), dtype=np.uint64))
    alike = lores(Rule(truth), x[:3], x, columns, 2, seed=7, size=60, generations=4)
    for one, other in zip(right, alike, strict=True):
        assert one.surrogate.inner == other.surrogate.inner
        assert one.neighbourhood.labels.tolist() == other.neighbourhood.labels.tolist()


def test_a_record_on_a_threshold_is_below_it():
    test = MofN(1, (Literal(0, 2.0, True),))
    tree = Surrogate(
        "drawn",
        RecordColumns(("n",), (True,)),
        2,
        [SurrogateNode((0.5, 0.5), test, 1, 2), SurrogateNode((1.0, 0.0)), SurrogateNode((0.0, 1.0))],
    )
    rule, label, (other,) = _explained(tree, np.array([2.0]))
    assert (rule, label) == ({"n": {"at_most": 2.0}}, 0)
    assert (other.rule, other.unmet, other.label) == ({"n": {"above": 2.0}}, {"n": {"above": 2.0}}, 1)


def test_distances_are_those_by_hand():
    columns = RecordColumns(("a", "b", "c", "n", "m", "one"), (False, False, False, True, True, True), groups=((0, 1),))
    x = np.array([[1, 0, 1, 0, 10, 5], [0, 1, 0, 4, 30, 5], [1, 0, 0, 2, 10, 5]], dtype=float)
    # parts: {a, b}, c, n (range 4), m (range 20), one (constant)
    expected = [0.0, (1 + 1 + 3 * ((1 + 1 + 0) / 3) ** 0.5) / 5, (0 + 1 + 3 * ((0.25 + 0 + 0) / 3) ** 0.5) / 5]
    assert Distance.of(x, columns)(x[0], x) == pytest.approx(expected)
    far = np.full((1, 6), 1e9)
    assert Distance.of(x, columns)(x[0], far)[0] == 1.0


def test_one_class_and_constant_columns():
    x = np.column_stack([np.ones(40), np.arange(40) % 3]).astype(float)
    columns = RecordColumns(("one", "n"), (False, True))
    same = lore(Rule(lambda rows: np.ones(len(rows))), x[0], x, columns, 2, seed=0, size=50)
    assert (same.rule, same.counterfactuals, same.label, same.fidelity) == ({}, (), 1, 1.0)
    assert same.surrogate.predict_proba(x).tolist() == [[0.0, 1.0]] * 40
    still = lore(Rule(lambda rows: rows[:, 0] > 5), x[0], x[:1], columns, 2, seed=0, size=50)  # nothing can change
    assert (still.rule, still.counterfactuals, still.label, still.said) == ({}, (), 0, 0)
    assert (len(still.neighbourhood.x), still.queries) == (1, 1)


def test_more_neighbourhoods_make_explanations_stable():
    x, columns = mixed(np.random.default_rng(2))
    around = x[np.argsort(Distance.of(x, columns)(x[4], x))[:150]]

    def disagreement(many):
        said = [lore(Rule(truth), x[4], x, columns, 2, seed=s, size=60, generations=4, neighbourhoods=many)
                .surrogate.predict(around) for s in range(6)]  # fmt: skip
        return np.mean([np.mean(a != b) for i, a in enumerate(said) for b in said[:i]])

    assert disagreement(8) < disagreement(1) / 1.5


def test_merged_trees_are_fitted_to_all_neighbourhoods():
    x, columns = mixed(np.random.default_rng(6))
    box = Rule(truth)
    several = lores(box, x[:12], x, columns, 2, seed=1, size=200, generations=5)
    asked = box.asked
    tree = merged_tree(several, min_leaf=1)
    assert box.asked == asked
    assert (tree.kind, tree.queries) == ("lore merged", asked)
    for one in several:
        assert (tree.predict(one.neighbourhood.x) == one.neighbourhood.labels).all()  # no pruning: consistent labels
    assert tree.fidelity(box, x) >= max(one.surrogate.fidelity(box, x) for one in several)
    assert merged_tree(several, max_leaves=3).splits == 2
    large = merged_tree(several, min_leaf=50).leaf(np.concatenate([one.neighbourhood.x for one in several]))
    assert np.unique(large, return_counts=True)[1].min() >= 50
    single = merged_tree(several[:1])
    assert (single.predict(x) == several[0].surrogate.predict(x)).mean() > 0.95  # the same rows, ties apart
    both = lore(Rule(truth), x[0], x, columns, 2, seed=1, size=200, generations=5, neighbourhoods=2)
    assert len(both.neighbourhood.x) > 1.5 * len(several[0].neighbourhood.x)


@pytest.mark.slow
def test_records_are_chosen_from_every_cluster_near_and_far():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [10, 0], [0, 10], [10, 10]], dtype=float)
    x = np.concatenate([c + rng.normal(scale=0.5, size=(60, 2)) for c in centres])
    assert _elbow(x / x.std(axis=0), 0) == 4
    for count, quantiles, each in ((24, 2, {3}), (36, 3, {3}), (48, 4, {3}), (40, 4, {2, 3})):
        found = diverse_rows(x, count, 5)
        assert len(set(found.tolist())) == count
        for c in range(4):
            members = np.arange(60 * c, 60 * c + 60)
            scaled = x[members] / x.std(axis=0)
            rank = np.argsort(np.argsort(np.linalg.norm(scaled - scaled.mean(axis=0), axis=1)))
            parts = [rank[i - 60 * c] * quantiles // 60 for i in found if i in members]
            assert set(np.bincount(parts, minlength=quantiles).tolist()) <= each
    assert diverse_rows(x, 24, 5).tolist() == diverse_rows(x, 24, 5).tolist()
    assert set(diverse_rows(x, 24, 5).tolist()) != set(diverse_rows(x, 24, 6).tolist())
    assert len(diverse_rows(x, 40, 0)) == 40
    assert sorted(diverse_rows(x[:7], 40, 0).tolist()) == list(range(7))
    assert len(diverse_rows(np.ones((30, 3)), 10, 0)) == 10
    assert len(diverse_rows(x, 9, 0, clusters=2)) == 9


def test_guards(monkeypatch):
    x, columns = mixed(np.random.default_rng(0))
    box = Rule(truth)
    with pytest.raises(ReleaseError, match=r"1 records have the shape \(1, 3\), but there are 5 columns"):
        lore(box, x[0, :3], x, columns, 2, seed=0)
    with pytest.raises(ReleaseError, match="there are no rows"):
        lore(box, x[0], x[:0], columns, 2, seed=0)
    with pytest.raises(ReleaseError, match="neighbourhoods 0"):
        lore(box, x[0], x, columns, 2, seed=0, neighbourhoods=0)
    with pytest.raises(ReleaseError, match="size 1"):
        lore(box, x[0], x, columns, 2, seed=0, size=1)
    with pytest.raises(ReleaseError, match="mutation 0"):
        Breeding(mutation=0.0)
    with pytest.raises(Inconclusive, match="while neighbourhoods were bred"):
        lore(box, x[0], x, columns, 2, seed=0, limits=Limits(seconds=0.0))
    with pytest.raises(ReleaseError, match="no explanations"):
        merged_tree([])
    other = lore(Rule(lambda rows: rows[:, 0]), every(3)[0], every(3), bits(3), 2, seed=0, size=20)
    with pytest.raises(ReleaseError, match="explanation 1 is of other columns"):
        merged_tree([lore(box, x[0], x, columns, 2, seed=0, size=20), other])
    with pytest.raises(ReleaseError, match="0 records of 400"):
        diverse_rows(x, 0, 0)
    two = MofN(1, (Literal(0, 0.5, True), Literal(1, 0.5, True)))
    real = Surrogate(
        "drawn",
        bits(2),
        2,
        [SurrogateNode((0.5, 0.5), two, 1, 2), SurrogateNode((1.0, 0.0)), SurrogateNode((0.0, 1.0))],
    )
    with pytest.raises(ReleaseError, match="node 0 of the drawn tree has an m-of-n test"):
        _explained(real, every(2)[0])
    for module in ("sklearn.tree", "sklearn.cluster"):
        monkeypatch.setitem(sys.modules, module, None)
    for call in (lambda: lore(box, x[0], x, columns, 2, seed=0, size=20), lambda: diverse_rows(x, 3, 0),
                 lambda: enriched_tree(box, x, columns, 2, seed=0)):  # fmt: skip
        with pytest.raises(Unsupported, match="needs scikit-learn: pip install"):
            call()
