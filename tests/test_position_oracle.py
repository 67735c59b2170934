"""The oracle by position: worked out by hand, by trying every sequence in turn, and as the oracle without positions."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import forests_with_bags
import oracle
import position_oracle
import pytest
import test_bags
from extras import batches
from position_oracle import MISSING, Gap, TooMany

BIT = {"name": "a", "values": [0, 1]}
LABEL = {"name": "y", "values": [0, 1]}


def released(trees, bags, attributes=(BIT,), label=LABEL, **more):
    domain = {"attributes": list(attributes), **({"label": label} if label else {}), **more}
    forest = {"kind": "forest", "bootstrap": True, "trees": [{"nodes": t} for t in trees], "multiplicities": bags}
    return {"recon": 1, "domain": domain, "models": [forest]}


def stump(left, right, test=None):
    return [{"if": test or {"a": 0}, "then": 1, "else": 2}, left, right]


# ---------------------------------------------------------------- by hand


def test_one_tree_where_one_position_is_drawn_twice():
    """Bag 2, 1, 0: the leaf a = 0 counts two of class 0, so position 0 is there; position 2 is free."""
    release = released([stump({"counts": [2, 0]}, {"counts": [0, 1]})], [[2, 1, 0]])
    found = position_oracle.worlds(release)
    assert found.rows == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert found.count() == 4
    assert [found.rows_at(i) for i in range(3)] == [[(0, 0)], [(1, 1)], found.rows]
    assert found.labels() == [0, 1, None]
    assert found.values_at(0, "a") == [0]
    assert found.values_at(2, "a") == [0, 1]
    assert found.count("multiset") == 4
    assert sorted(found.numbers({"a": 0}).tolist()) == [1, 1, 2, 2]
    assert found.share({"a": 0, "y": 1}) == Fraction(1, 4)
    assert found.surely(0, {"a": {"below": 1}})
    assert not found.surely(2, {"a": 0})
    assert sorted(found.figures({}, "a")) == [(3, 1), (3, 1), (3, 2), (3, 2)]


def test_what_counts_leave_open_distinct_numbers_settle():
    """Bag 2, 1, 1: two of class 0 at a = 0 are position 0, or 1 and 2; `distinct` says which."""
    open_release = released([stump({"counts": [2, 0]}, {"counts": [2, 0]})], [[2, 1, 1]])
    found = position_oracle.worlds(open_release)
    assert sorted(found.written) == sorted([(0, 2, 2), (2, 0, 0)])
    assert found.count("multiset") == 2
    settled = released([stump({"counts": [2, 0], "distinct": 1}, {"counts": [2, 0]})], [[2, 1, 1]])
    assert position_oracle.worlds(settled).written == {(0, 2, 2)}


def test_two_orders_of_the_same_rows_are_two_worlds_and_one_dataset():
    found = position_oracle.worlds(released([stump({"counts": [1, 0]}, {"counts": [0, 1]})], [[1, 1]]))
    assert found.count() == 2
    assert found.count("multiset") == 1
    assert found.share({"a": 0}, "multiset") == 1
    assert not found.surely(0, {"a": 0})


def test_a_second_tree_tells_positions_apart():
    trees = [stump({"counts": [1, 0]}, {"counts": [0, 1]}), stump({"counts": [2, 0]}, {"counts": [0, 0]})]
    assert position_oracle.worlds(released(trees, [[1, 1], [0, 2]])).written == {(3, 0)}


def test_impossible_boxes_and_inner_counts():
    nodes = [{"if": {"a": 0}, "then": 1, "else": 2, "count": 2}, {"count": 1}, {"count": 1}]
    release = released([nodes], [[1, 1]], impossible=[{"a": 0, "y": 1}])
    assert position_oracle.worlds(release).count() == 2 * 1 * 2
    assert position_oracle.worlds({**release, "rows": 2}).count() == 4
    with pytest.raises(ValueError, match="rows"):
        position_oracle.worlds({**release, "rows": 3})


def test_gaps_and_missing_values_are_values():
    """x <= 1.5 in one tree and x < 1.5 in a box: the gaps are [0, 1.5), 1.5 alone, and above; then no value at all."""
    attribute = {"name": "a", "min": 0, "resolution": None, "missing": True}
    nodes = stump({"count": 1}, {"count": 2}, {"a": {"at_most": 1.5}})
    release = released([nodes], [[1, 1, 1]], [attribute], None, impossible=[{"a": {"below": 1.5}}])
    found = position_oracle.worlds(release)
    gaps = found.finite.codes["a"]
    assert gaps == [
        Gap((Fraction(0), 0), (Fraction(3, 2), 0)),
        Gap((Fraction(3, 2), 0), (Fraction(3, 2), 1)),
        Gap((Fraction(3, 2), 1), (math.inf, 1)),
        MISSING,
    ]
    assert [gap.inside for gap in gaps[:3]] == [0.75, 1.5, 2.5]
    assert found.rows == [(1,), (2,), (3,)]
    assert found.count() == 3 * 2 * 2
    assert found.values_at(0, "a") == [1, 2, 3]
    assert [found.number_of({"a": v}) for v in (1.5, 7.0, None, 0.1)] == [0, 1, 2, -1]


def test_tests_of_missing_values():
    attribute = {"name": "a", "values": ["u", "v"], "missing": True}
    for test, passing in (
        ({"missing": True}, {2}),
        ({"missing": False}, {0, 1}),
        ({"in": ["u"], "or_missing": True}, {0, 2}),
        ("v", {1}),
    ):
        found = position_oracle.worlds(released([stump({"count": 1}, {"count": 0}, {"a": test})], [[1]], [attribute]))
        assert {row[0] for row in found.rows_at(0)} == passing


def test_other_models_restrict_the_rows_without_their_positions():
    release = released([[{"counts": [2, 1]}]], [[1, 1, 1]])
    release["models"].append({"kind": "table", "statements": [{"where": {"a": 0, "y": 0}, "count": 2}]})
    assert position_oracle.worlds(release).count() == 3 * 2
    release["models"].append({"kind": "tree", "nodes": stump({"count": 2}, {"count": 1})})
    assert position_oracle.worlds(release).count() == 3


def test_too_many_worlds_are_refused():
    with pytest.raises(TooMany):
        position_oracle.worlds(released([[{"counts": [3, 3]}]], [[1] * 6]), most=100)


@pytest.mark.parametrize(
    "release",
    [
        released([[{"count": 1}], [{"count": 1}]], [[1]]),
        released([[{"count": 1}], [{"count": 1}]], [[1], [1, 0]]),
    ],
)
def test_malformed_bags_are_refused(release):
    with pytest.raises(ValueError, match="bag"):
        position_oracle.worlds(release)


# ---------------------------------------------------------------- every sequence in turn


def thresholds(release, name):
    """Return the numbers that tests compare an attribute with."""
    trees = [tree["nodes"] for model in release["models"] for tree in model["trees"]]
    conditions = [node["if"] for nodes in trees for node in nodes if "if" in node]
    conditions += release["domain"].get("impossible", [])
    tests = [condition[name] for condition in conditions if name in condition]
    return sorted({t for test in tests for key, t in test.items() if key not in ("missing", "or_missing")})


def values_of(release, attribute):
    """List the values of an attribute; of a continuous one, a number between each two thresholds."""
    empty = [None] if attribute.get("missing") else []
    if "values" in attribute:
        return [*attribute["values"], *empty]
    if (step := attribute.get("resolution", 1)) is not None:
        number = round((attribute["max"] - attribute["min"]) / step) + 1
        return [round(attribute["min"] + k * step, 6) for k in range(number)] + empty
    low, high = attribute.get("min", -99), attribute.get("max", 99)
    ends = [low, *(t for t in thresholds(release, attribute["name"]) if low < t < high), high]
    return [(a + b) / 2 for a, b in itertools.pairwise(ends)] + empty


def passes(test, value, listed):
    if not isinstance(test, dict):
        test = {"in": [test]}
    if value is None:
        return bool(test.get("missing") or test.get("or_missing"))
    rank = listed.index if isinstance(value, str) else float
    compare = {
        "in": lambda v: value in v,
        "at_most": lambda t: rank(value) <= rank(t),
        "below": lambda t: rank(value) < rank(t),
        "at_least": lambda t: rank(value) >= rank(t),
        "above": lambda t: rank(value) > rank(t),
        "missing": lambda wanted: not wanted,
        "or_missing": lambda _: True,
    }
    return all(compare[key](argument) for key, argument in test.items())


def meets(release, condition, row):
    for name, test in condition.items():
        column = release["domain"].get("columns", {}).get(name)
        if column:
            inner = {key: value for key, value in column.items() if key != "attribute"}
            listed = next(a for a in release["domain"]["attributes"] if a["name"] == column["attribute"])
            if passes(inner, row[column["attribute"]], listed.get("values")) != bool(test):
                return False
        else:
            every = [*release["domain"]["attributes"], release["domain"].get("label", {"name": None})]
            listed = next(a for a in every if a["name"] == name)
            if not passes(test, row[name], listed.get("values")):
                return False
    return True


def passed(release, nodes, row):
    at, path = 0, [0]
    while "if" in nodes[at]:
        at = nodes[at]["then" if meets(release, nodes[at]["if"], row) else "else"]
        path.append(at)
    return path


def agrees(release, paths, rows):
    """Say whether every node of every tree counts what it publishes."""
    (model,) = release["models"]
    label = release["domain"].get("label")
    for tree, bag, on_way in zip(model["trees"], model["multiplicities"], paths, strict=True):
        for i, node in enumerate(tree["nodes"]):
            inside = [(row, times) for (k, row), times in zip(rows, bag, strict=True) if i in on_way[k]]
            if "count" in node and sum(times for _, times in inside) != node["count"]:
                return False
            if "counts" in node and node["counts"] != [
                sum(times for row, times in inside if row[label["name"]] == value) for value in label["values"]
            ]:
                return False
            if "distinct" in node and sum(times > 0 for _, times in inside) != node["distinct"]:
                return False
    return True


def naive(release):
    """Return every sequence of raw rows that agrees, as tuples of values in the order of the attributes."""
    domain = release["domain"]
    every = [*domain["attributes"], *([domain["label"]] if domain.get("label") else [])]
    lines = itertools.product(*(values_of(release, attribute) for attribute in every))
    rows = [dict(zip((a["name"] for a in every), line, strict=True)) for line in lines]
    rows = [row for row in rows if not any(meets(release, box, row) for box in domain.get("impossible", []))]
    (model,) = release["models"]
    paths = [[passed(release, tree["nodes"], row) for row in rows] for tree in model["trees"]]
    n = len(model["multiplicities"][0])
    if len(rows) ** n > 30_000:
        return None
    found = itertools.product(enumerate(rows), repeat=n)
    return [[row for _, row in line] for line in found if agrees(release, paths, line)]


@pytest.mark.slow
@pytest.mark.parametrize("batch", batches(1, 15))
def test_as_every_sequence_in_turn(batch):
    """Attributes of all kinds, missing values, groups, impossible boxes."""
    tried = 0
    for rng, case in forests_with_bags.cases(f"naive {batch}", 60):
        expected = naive(case.release)
        if expected is None:
            continue
        tried += 1
        got = case.worlds
        assert got.count() == len(expected), case.release
        assert {tuple(got.number_of(row) for row in world) for world in expected} == got.written, case.release
        assert tuple(got.number_of(row) for row in case.truth) in got.written
        changed = forests_with_bags.perturbed(rng, case)
        assert changed.worlds.count() == len(naive(changed.release)), changed.release
    assert tried > 20


@pytest.mark.parametrize("batch", batches(1, 15))
def test_as_the_oracle_of_known_bags_in_test_bags(batch):
    rng = random.Random(f"as in test_bags {batch}")
    for _ in range(60):
        release, truth, space, _, bags = test_bags.random_forest(rng, known=True)
        expected = test_bags.sequences(release, space, bags)
        got = position_oracle.worlds(release)
        assert {tuple(got.rows[k] for k in world) for world in got.listed.tolist()} == set(expected)
        assert got.count("multiset") == len({tuple(sorted(world)) for world in expected})
        assert tuple(truth) in set(expected)


# ---------------------------------------------------------------- the oracle without positions


def without_bags(release):
    """Return the release of trees that saw every row once, as oracle.py has it."""
    models = []
    for model in release["models"]:
        if "multiplicities" in model:
            trees = [
                {"nodes": [{key: v for key, v in node.items() if key != "distinct"} for node in tree["nodes"]]}
                for tree in model["trees"]
            ]
            models.append({"kind": "forest", "bootstrap": False, "trees": trees})
        else:
            models.append(model)
    return {**release, "models": models, "rows": position_oracle.positions(release)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", batches(1, 11))
@pytest.mark.parametrize("joined", [False, True])
def test_bags_of_everybody_once_tell_no_positions_apart(batch, joined, monkeypatch):
    """Every position once in every bag: the worlds are those of trees without bags, in every order."""
    monkeypatch.setattr(
        forests_with_bags, "_bags", lambda _, n, trees: ([[1] * n for _ in range(trees)], "without", set())
    )
    tried = 0
    for rng, case in forests_with_bags.cases(f"once {batch} {joined}", 40, with_others=joined):
        made = without_bags(case.worlds.finite.release)
        n = case.worlds.n
        if math.comb(len(case.worlds.rows) + n - 1, n) > 60_000:
            continue
        tried += 1
        for convention in ("ordered", "multiset"):
            assert case.worlds.count(convention) == oracle.count(made, convention), case.release
        row = rng.choice(case.worlds.rows)
        kept = {name: v for name, v in zip(case.worlds.names, row, strict=True) if rng.random() < 0.6}
        profile = {name: float(v) if isinstance(v, Fraction) else v for name, v in kept.items()}
        uncoded = {name: v for name, v in profile.items() if name not in case.worlds.finite.codes}
        for convention in ("ordered", "multiset"):
            expected = oracle.membership(made, uncoded, convention)
            numbers = case.worlds.numbers(uncoded, convention)
            assert (numbers.min(), numbers.max()) == (expected["min_count"], expected["max_count"])
            assert case.worlds.share(uncoded, convention) == expected["probability"]
    assert tried > 15
