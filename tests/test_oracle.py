"""Checks of the oracle itself: published values, closed formulas, a second and more naive listing."""

import ast
import json
import math
import random
import statistics
import sys
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import linear_figures
import oracle
import oracle_coupled

SEEDS = range(100)


def attr(name, values):
    return {"name": name, "values": values}


def make(attributes, models, label=None, **more):
    domain = {"attributes": attributes}
    if label is not None:
        domain["label"] = attr("y", label)
    for key in ("columns", "impossible"):
        if key in more:
            domain[key] = more.pop(key)
    return {"recon": 1, "domain": domain, "models": models, **more}


TABLE_II = make(
    [attr("a1", [10, 11, 12, 13, 14, 15]), attr("a2", [0, 1]), attr("a3", [1, 2, 3])],
    [
        {
            "kind": "tree",
            "nodes": [
                {"if": {"a3": {"at_most": 1}}, "then": 1, "else": 2},
                {"counts": [0, 1]},
                {"if": {"a1": {"at_most": 11}}, "then": 3, "else": 4},
                {"counts": [0, 1]},
                {"counts": [2, 0]},
            ],
        }
    ],
    label=[0, 1],
    rows=4,
)

RULE_LIST_1 = make(
    [attr("a1", [0, 1]), attr("a2", [0, 1]), attr("a3", [0, 1])],
    [
        {
            "kind": "rule_list",
            "rules": [
                {"if": {"a1": 1, "a2": 1}, "counts": [0, 2]},
                {"if": {"a3": 1}, "counts": [2, 0]},
                {"if": {}, "counts": [0, 1]},
            ],
        }
    ],
    label=[0, 1],
)


def one_row(split):
    nodes = [{"if": split, "then": 1, "else": 2}, {"count": 1}, {"count": 0}]
    return make([attr("a1", [0, 1]), attr("a2", [1, 2, 3])], [{"kind": "tree", "nodes": nodes}], rows=1)


# ---------------------------------------------------------------- published values


def test_table_ii():
    assert oracle.count(TABLE_II, "assigned") == 24_576
    assert oracle.dist(TABLE_II) == pytest.approx(0.7355877747, abs=5e-11)
    assert oracle.dist_g(TABLE_II, "assigned") == pytest.approx(0.7052792109, abs=5e-11)
    assert oracle.uninformed_bits(TABLE_II, "assigned") == pytest.approx(4 * math.log2(36))
    assert oracle.region_sizes(TABLE_II, TABLE_II["models"][0]) == {1: 12, 3: 8, 4: 16}


def test_rule_list_1():
    assert oracle.count(RULE_LIST_1, "assigned") == 108
    # an early note prints 0.4503258336; log2(108)/15 is 0.45032583348, so its last digit is off by one
    assert oracle.dist_g(RULE_LIST_1, "assigned") == pytest.approx(math.log2(108) / 15, abs=1e-14)
    assert oracle.dist_g(RULE_LIST_1, "assigned") == pytest.approx(0.4503258336, abs=2e-10)
    assert oracle.region_sizes(RULE_LIST_1, RULE_LIST_1["models"][0]) == {0: 2, 1: 3, 2: 3}
    assert oracle.dist(RULE_LIST_1) is None  # the rows of rule 2 are no product
    assert oracle.count(RULE_LIST_1, "ordered") == 108 * math.factorial(5) // (2 * 2)
    assert oracle.count(RULE_LIST_1, "multiset") == 3 * 6 * 3


@pytest.mark.parametrize(("split", "dist_g", "worlds"), [({"a1": 1}, 0.6131471928, 3), ({"a2": 1}, 0.3868528072, 2)])
def test_tables_v_to_vii(split, dist_g, worlds):
    release = one_row(split)
    assert oracle.dist(release) == pytest.approx(0.5)
    assert oracle.dist_g(release, "assigned") == pytest.approx(dist_g, abs=5e-11)
    assert [oracle.count(release, convention) for convention in oracle.CONVENTIONS] == [worlds] * 3


# ---------------------------------------------------------------- conditions


def test_values_and_order_tests():
    grid = {"name": "g", "min": 0, "max": 0.7, "resolution": 0.1}
    release = make(
        [grid, attr("s", ["low", "mid", "high"]), attr("d", ["0", "1"])],
        [],
        rows=0,
        columns={"s>=mid": {"attribute": "s", "at_least": "mid"}},
    )
    values = sorted({row[0] for row in oracle.rows(release)})
    assert values == [Fraction(k, 10) for k in range(8)]

    def share(condition):
        return Fraction(sum(oracle.meets(release, condition, r) for r in oracle.rows(release)), 48)

    assert share({"g": {"at_most": 0.3}}) == Fraction(4, 8)
    assert share({"g": {"above": 0.1, "below": 0.65}}) == Fraction(5, 8)
    assert share({"g": {"in": [0, 0.1 + 0.6]}}) == Fraction(2, 8)
    assert share({"s": {"below": "high"}}) == Fraction(2, 3)
    assert share({"s>=mid": {"at_most": 0.5}}) == Fraction(1, 3)
    assert share({"s>=mid": True, "d": "1"}) == Fraction(1, 3)
    with pytest.raises(ValueError, match="outside the domain"):
        share({"d": 1})
    with pytest.raises(ValueError, match="outside the range"):
        share({"g": {"below": -0.1}})
    with pytest.raises(ValueError, match="unknown"):
        share({"nobody": 1})


def test_one_true_and_float_are_equal():
    release = make([attr("b", [False, True])], [], rows=0)
    assert oracle.rows(release) == [(0,), (1,)]
    assert all(oracle.meets(release, {"b": spelling}, (1,)) for spelling in (1, 1.0, True))


# ---------------------------------------------------------------- questions, by hand


def test_membership_attribute_and_bound_by_hand():
    membership = oracle.membership(RULE_LIST_1, {"a1": 1, "a2": 1}, "assigned")
    assert membership["verdict"] == "certain"
    assert (membership["min_count"], membership["max_count"]) == (2, 2)
    assert membership["probability_before"] == 1 - Fraction(3, 4) ** 5
    full = oracle.membership(RULE_LIST_1, {"a1": 1, "a2": 1, "a3": 0, "y": 1}, "assigned")
    assert (full["verdict"], full["probability"], full["expected_count"]) == ("possible", Fraction(3, 4), 1)
    assert full["probability_before"] == 1 - Fraction(7, 8) ** 3  # two of five rows have label 0
    never = oracle.membership(RULE_LIST_1, {"a1": 1, "a2": 1, "y": 0}, "multiset")
    assert (never["verdict"], never["probability"], never["expected_count"]) == ("impossible", 0, 0)
    labels = oracle.attribute(RULE_LIST_1, {"a1": 1, "a2": 1}, "y", "multiset")
    assert labels[1]["certain"]
    assert not labels[0]["certain"]
    assert labels[1]["probability"] == labels[1]["lower"] == 1
    third = oracle.attribute(RULE_LIST_1, {"a1": 1, "a2": 1}, "a3", "assigned")[0]
    assert third == {
        "probability": Fraction(1, 2),
        "lower": 0,
        "upper": 1,
        "min_count": 0,
        "max_count": 2,
        "certain": False,
    }
    assert oracle.bound(RULE_LIST_1, {"a3": 1}, "assigned") == {"min": 2, "max": 4, "expectation": 3}


def test_convention_changes_a_probability():
    release = make([attr("a", [0, 1])], [], rows=2)
    assert oracle.membership(release, {"a": 1}, "ordered")["probability"] == Fraction(3, 4)
    assert oracle.membership(release, {"a": 1}, "multiset")["probability"] == Fraction(2, 3)


def test_interval_of_rows_and_implicit_default():
    rules = [{"kind": "rule_list", "rules": [{"if": {"a": 1}, "count": 1}]}]
    release = make([attr("a", [0, 1, 2])], rules, rows={"at_least": 0, "at_most": 3})
    assert oracle.count(release, "ordered") == {0: 0, 1: 1, 2: 4, 3: 12}
    assert oracle.count(release, "multiset") == {0: 0, 1: 1, 2: 2, 3: 3}
    assert oracle.count(release, "assigned") == {0: 0, 1: 1, 2: 2, 3: 4}
    assert oracle.dist_g(release, "ordered")[0] is None
    assert oracle.dist(release)[2] == pytest.approx((0 + 1 / math.log2(3)) / 2)
    twos = oracle.membership(release, {"a": 2}, "multiset")
    assert twos["probability"] == (0 + Fraction(1, 2) + Fraction(2, 3)) / 3
    assert oracle.region_of(release, rules[0], (2,)) == 1


def test_joined_models_must_all_hold():
    def tree(name, value, inside, outside):
        return {
            "kind": "tree",
            "nodes": [{"if": {name: value}, "then": 1, "else": 2}, {"count": inside}, {"count": outside}],
        }

    bits = [attr("a", [0, 1]), attr("b", [0, 1])]
    release = make(bits, [tree("a", 1, 1, 1), tree("b", 1, 1, 1)])
    assert sorted(oracle.datasets(release)) == [((0, 0), (1, 1)), ((0, 1), (1, 0))]
    with pytest.raises(ValueError, match="exactly one"):
        oracle.count(release, "assigned")
    contradiction = make(bits, [tree("a", 1, 1, 1), tree("b", 1, 1, 2)])
    assert oracle.count(contradiction, "multiset") == 0
    with pytest.raises(ValueError, match="no world"):
        oracle.membership(contradiction, {"a": 1}, "ordered")


def test_classes_at_an_inner_node_over_plain_leaves():
    nodes = [{"if": {"a": 1}, "then": 1, "else": 2, "counts": [1, 1]}, {"count": 1}, {"count": 1}]
    release = make([attr("a", [0, 1])], [{"kind": "tree", "nodes": nodes}], label=[0, 1])
    assert oracle.count(release, "assigned") == 2
    assert oracle.count(release, "ordered") == 4
    assert oracle.dist(release) is None


@pytest.mark.parametrize(
    "change", [{"noise": {"law": "laplace", "scale": 1.0}}, {"kind": "forest"}, {"rules": [{"if": {}, "count": -1}]}]
)
def test_refusals(change):
    release = make([attr("a", [0, 1])], [{"kind": "rule_list", "rules": [{"if": {}, "count": 1}], **change}])
    with pytest.raises(ValueError, match=r"unsupported|not negative"):
        oracle.count(release, "ordered")


# ---------------------------------------------------------------- random releases


def cells(release):
    """Per cell (region, or region and class): how many raw rows, and how many rows the release puts there."""
    (model,) = release["models"]
    parts = model.get("nodes") or model.get("rules", [])
    labels = [oracle.canonical(v) for v in release["domain"].get("label", {}).get("values", [])]
    result = []
    for region, members in oracle.region_rows(release, model).items():
        part = parts[region] if region < len(parts) else {}
        if "counts" in part:
            for value, number in zip(labels, part["counts"], strict=True):
                result.append((sum(row[-1] == value for row in members), number))
        elif part:
            result.append((len(members), part["count"]))
        else:
            taken = sum(p["count"] if "count" in p else sum(p["counts"]) for p in parts)
            result.append((len(members), release["rows"] - taken))
    return result


def multisets(size, number):
    return math.comb(size + number - 1, number) if number else 1


@pytest.mark.sampled(82)
@pytest.mark.parametrize("seed", SEEDS)
def test_closed_formulas(seed):
    release, truth = oracle.random_release(random.Random(seed))
    sizes = cells(release)
    assigned = math.prod(size**number for size, number in sizes)
    orders = math.factorial(len(truth)) // math.prod(math.factorial(number) for _, number in sizes)
    assert oracle.count(release, "assigned") == assigned
    assert oracle.count(release, "ordered") == assigned * orders
    assert oracle.count(release, "multiset") == math.prod(multisets(*cell) for cell in sizes)
    for convention in oracle.CONVENTIONS:
        ratio = oracle.dist_g(release, convention)
        assert ratio is None or -1e-12 <= ratio <= 1 + 1e-12
    assert oracle.dist(release) is None or 0 <= oracle.dist(release) <= 1


@pytest.mark.sampled(49)
@pytest.mark.parametrize("seed", SEEDS)
def test_truth_is_a_world_and_the_verdicts_know_it(seed):
    rng = random.Random(seed)
    release, truth = oracle.random_release(rng, models=1 + seed % 2, label_boxes=seed % 4 < 2)
    assert json.loads(json.dumps(release)) == release
    assert len(oracle.rows(release)) ** len(truth) <= 20_000
    assert Counter(truth) in [Counter(world) for world in oracle.datasets(release, len(truth))]
    names = [entry["name"] for entry in release["domain"]["attributes"]]
    names += ["y"] if "label" in release["domain"] else []
    row = rng.choice(truth or oracle.rows(release))
    chosen = rng.sample(range(len(names)), rng.randint(1, len(names)))
    profile = {names[k]: row[k] for k in chosen}
    present = sum(all(other[k] == row[k] for k in chosen) for other in truth)
    for convention in oracle.CONVENTIONS[len(release["models"]) > 1 :]:
        found = oracle.membership(release, profile, convention)
        assert found["min_count"] <= present <= found["max_count"]
        assert found["min_count"] <= found["expected_count"] <= found["max_count"]
        assert (found["probability"] == 1) == (found["verdict"] == "certain")
        assert (found["probability"] == 0) == (found["verdict"] == "impossible")
        limits = oracle.bound(release, profile, convention)
        assert limits["min"] == found["min_count"]
        assert limits["expectation"] == found["expected_count"]
        inferred = oracle.attribute(release, profile, names[0], convention)
        shares = [entry["probability"] for entry in inferred.values()]
        assert sum(shares) == 1 if found["max_count"] else set(shares) == {None}


@pytest.mark.sampled(30)
@pytest.mark.parametrize("seed", range(40))
def test_sequences_listed_one_by_one(seed):
    """The most naive listing there is: every sequence, every statement read off the file afresh."""
    release, truth = oracle.random_release(random.Random(1000 + seed))
    (model,) = release["models"]
    parts = model.get("nodes") or model.get("rules", [])
    labels = [oracle.canonical(v) for v in release["domain"].get("label", {}).get("values", [])]
    space = oracle.rows(release)
    place = {row: oracle.region_of(release, model, row) for row in space}

    def agrees(world):
        for region, part in enumerate(parts):
            if model["kind"] == "tree" and "if" in part:
                continue
            inside = [row for row in world if place[row] == region]
            if "count" in part and len(inside) != part["count"]:
                return False
            if "counts" in part and [sum(r[-1] == v for r in inside) for v in labels] != part["counts"]:
                return False
        return True

    found = [world for world in product(space, repeat=len(truth)) if agrees(world)]
    assert oracle.count(release, "ordered") == len(found)
    assert oracle.count(release, "multiset") == len({frozenset(Counter(world).items()) for world in found})
    row = space[0]
    names = [entry["name"] for entry in release["domain"]["attributes"]]
    profile = dict(zip([*names, "y"], row, strict=False))
    ordered = oracle.membership(release, profile, "ordered")
    assert ordered["probability"] == Fraction(sum(row in world for world in found), len(found))
    assert ordered["probability_before"] == 1 - (1 - Fraction(1, len(space))) ** len(truth)
    assert ordered["expected_count"] == Fraction(sum(world.count(row) for world in found), len(found))


def test_random_releases_are_varied():
    drawn = [oracle.random_release(random.Random(seed)) for seed in range(300)]
    kinds = Counter(release["models"][0]["kind"] for release, _ in drawn)
    assert min(kinds.values()) > 90
    assert {len(truth) for _, truth in drawn} == set(range(5))
    text = [json.dumps(release) for release, _ in drawn]
    for word in ("impossible", "columns", "resolution", '"label"', '"count"', '"counts"', "at_least", '"rows"'):
        assert sum(word in entry for entry in text) > 20, word
    implicit = [
        r
        for r, _ in drawn
        if r["models"][0]["kind"] == "rule_list" and (not r["models"][0]["rules"] or r["models"][0]["rules"][-1]["if"])
    ]
    assert len(implicit) > 10
    assert all("rows" in release for release in implicit)


# ---------------------------------------------------------------- rule sets, tables, forests, joins, by hand

BITS = [attr("a", [0, 1]), attr("b", [0, 1])]
AGE = {"name": "age", "min": 30, "max": 33}
PAY = attr("pay", [10, 20, 35])


def table(*statements):
    return {"kind": "table", "statements": list(statements)}


def split(condition, inside, outside):
    return [{"if": condition, "then": 1, "else": 2}, {"count": inside}, {"count": outside}]


def multiset(attributes, n, *statements):
    return oracle.count(make(attributes, [table(*statements)], rows=n), "multiset")


def test_overlapping_rules():
    rules = [{"if": {"a": 1}, "count": 2, "name": "first"}, {"if": {"b": 1}, "count": 1}]
    model = {"kind": "rule_set", "rules": rules}
    assert oracle.datasets(make(BITS, [model], rows=2)) == [((1, 0), (1, 1))]
    three = make(BITS, [model], rows=3)
    assert sorted(oracle.datasets(three)) == [((0, 0), (1, 0), (1, 1)), ((0, 1), (1, 0), (1, 0))]
    assert oracle.count(three, "ordered") == 6 + 3
    assert oracle.count(make(BITS, [model], rows={"at_most": 3}), "ordered") == {0: 0, 1: 0, 2: 2, 3: 9}
    for rows in ({}, {"rows": {"at_least": 2}}):
        with pytest.raises(ValueError, match=r"rows is missing|unbounded"):
            oracle.count(make(BITS, [model], **rows), "ordered")
    for refused in (oracle.region_sizes, lambda r, m: oracle.region_of(r, m, (0, 0))):
        with pytest.raises(ValueError, match="no regions"):
            refused(three, model)


def test_rule_set_with_classes():
    rules = [{"if": {"a": 1}, "counts": [1, 1]}, {"if": {}, "counts": [1, 2]}]
    release = make(BITS[:1], [{"kind": "rule_set", "rules": rules}], label=["no", "yes"], rows=3)
    assert oracle.datasets(release) == [((0, "yes"), (1, "no"), (1, "yes"))]


def test_counts_and_bounds_of_a_table():
    assert multiset(BITS[:1], 3, {"count": 3}) == 4
    assert multiset(BITS[:1], 3, {"count": 2}) == 0
    assert multiset(BITS[:1], 3, {"where": {"a": 1}, "count": 2, "name": "cell"}) == 1
    assert multiset(BITS[:1], 3, {"where": {"a": 1}, "at_least": 1}) == 3
    assert multiset(BITS[:1], 3, {"where": {"a": 1}, "at_most": 0}) == 1
    assert multiset(BITS[:1], 3, {"where": {"a": 1}, "at_least": 1, "at_most": 2}) == 2
    assert multiset(BITS, 1, {"where": {"a": 1}, "count": 1}, {"where": {"b": 1}, "count": 0}) == 1


def test_means_with_rounding():
    rounded = {"mean": {"of": "age", "value": 31.3, "within": 0.05}}  # the ages sum to 94
    release = make([AGE], [table(rounded)], rows=3)
    assert oracle.datasets(release) == [((30,), (31,), (33,)), ((30,), (32,), (32,)), ((31,), (31,), (32,))]
    assert oracle.count(release, "ordered") == 6 + 3 + 3
    assert multiset([AGE], 3, {"mean": {"of": "age", "value": 31.3}}) == 0
    assert multiset([AGE], 2, {"mean": {"of": "age", "value": 31.5, "within": 0.5}}) == 6  # both ends belong
    tenths = {"name": "g", "min": 0, "max": 0.3, "resolution": 0.1}
    assert multiset([tenths], 2, {"mean": {"of": "g", "value": 0.1}}) == 2  # 0, 0.2 and 0.1, 0.1
    assert multiset([tenths], 3, {"mean": {"of": "g", "value": 0.0999999, "within": 1e-7}}) == 3
    columns = {"old": {"attribute": "age", "above": 31}}
    column = make([AGE], [table({"mean": {"of": "old", "value": 0.5}})], rows=2, columns=columns)
    assert oracle.count(column, "multiset") == 4
    label = make(BITS[:1], [table({"where": {"a": 1}, "mean": {"of": "y", "value": 1}})], label=[0, 1], rows=1)
    assert oracle.datasets(label) == [((1, 1),)]


def test_nobody_has_a_total_but_no_mean():
    where = {"a": 1}
    ages = [attr("a", [0, 1]), AGE]
    assert multiset(ages, 0, {"where": where, "total": {"of": "age", "value": 0}}) == 1
    assert multiset(ages, 2, {"where": where, "total": {"of": "age", "value": 0}}) == 10
    assert multiset(ages, 2, {"where": where, "total": {"of": "age", "value": 61}}) == 1
    assert multiset(ages, 2, {"where": where, "total": {"of": "age", "value": 31, "within": 1}}) == 3 * 4
    for kind in ("mean", "median"):
        assert multiset(ages, 0, {"where": where, kind: {"of": "age", "value": 30, "within": 99}}) == 0
        assert multiset(ages, 1, {"where": where, kind: {"of": "age", "value": 30, "within": 99}}) == 4


def test_medians_of_odd_and_even_groups():
    def median(value, within=0):
        return {"median": {"of": "pay", "value": value, "within": within}}

    assert multiset([PAY], 3, median(20)) == 4  # 10 or 20, 20, 20 or 35
    assert multiset([PAY], 3, median(27.5)) == 0
    assert multiset([PAY], 2, median(27.5)) == 1
    assert multiset([PAY], 2, median(15, 5)) == 3
    assert multiset([PAY], 4, median(27.5)) == 2  # 10 or 20, 20, 35, 35
    assert multiset([PAY], 1, median(20)) == 1
    two = [attr("a", [0, 1]), PAY]
    assert multiset(two, 2, {"where": {"a": 1}, **median(22.5)}) == 1
    assert multiset(two, 2, {"where": {"a": 1}, **median(20)}) == 3 + 1  # one of the two has a = 1, or both


def test_suppressed_cells():
    cell = {"where": {"a": 1}}
    assert multiset(BITS[:1], 3, {**cell, "suppressed": "primary", "at_least": 1, "at_most": 2}) == 2
    assert multiset(BITS[:1], 3, {**cell, "suppressed": "secondary", "at_least": 1}) == 3
    assert multiset(BITS[:1], 3, {**cell, "suppressed": "unknown"}) == 4
    rest = {"where": {"a": 0}, "at_least": 2}
    assert multiset(BITS[:1], 3, {**cell, "suppressed": "primary", "at_least": 1}, rest) == 1


def test_a_forest_is_its_trees():
    trees = [{"nodes": split({"a": 1}, 1, 2)}, {"nodes": split({"b": 1}, 2, 1)}]
    forest = {"kind": "forest", "trees": trees, "bootstrap": False}
    single = [set(oracle.datasets(make(BITS, [{"kind": "tree", **tree}]))) for tree in trees]
    found = oracle.datasets(make(BITS, [forest]))
    assert set(found) == single[0] & single[1]
    assert len(found) == 2  # the row with a = 1 has b = 1, or has not
    assert oracle.count(make(BITS, [forest]), "ordered") == 6 + 3
    assert oracle.row_numbers(make(BITS, [forest])) == [3]
    assert oracle.count(make(BITS, [forest], rows=4), "multiset") == 0
    classes = [{"if": {"a": 1}, "then": 1, "else": 2}, {"counts": [0, 1]}, {"counts": [1, 1]}]
    release = make(BITS, [{"kind": "forest", "trees": [{"nodes": classes}, trees[1]]}], label=[0, 1])
    assert oracle.count(release, "multiset") == 3  # the rows differ in (a, y), and b = 1 for two of the three
    assert {(a, y) for world in oracle.datasets(release) for a, _, y in world} == {(1, 1), (0, 0), (0, 1)}


def joined(*more):
    forest = {"kind": "forest", "trees": [{"nodes": split({"a": 1}, 1, 2)}], "bootstrap": False}
    rules = {"kind": "rule_set", "rules": [{"if": {"age": {"at_least": 30}}, "count": 2}]}
    mean = {"where": {"a": 0}, "mean": {"of": "age", "value": 25}}  # of 20 and 30
    return make([BITS[0], attr("age", [20, 30, 40])], [forest, rules, table(mean, *more)])


def test_joined_kinds():
    known = ((0, 20), (0, 30))
    assert oracle.datasets(joined()) == [(*known, (1, 30)), (*known, (1, 40))]
    assert oracle.datasets(joined({"total": {"of": "age", "value": 90}})) == [(*known, (1, 40))]
    assert oracle.count(joined({"median": {"of": "age", "value": 20}}), "ordered") == 0
    membership = oracle.membership(joined(), {"a": 1, "age": 40}, "ordered")
    assert (membership["verdict"], membership["probability"]) == ("possible", Fraction(1, 2))
    assert oracle.membership(joined(), {"a": 0, "age": 20}, "multiset")["verdict"] == "certain"
    assert oracle.attribute(joined(), {"a": 1}, "age", "multiset")[20]["max_count"] == 0
    assert oracle.dist_g(joined(), "ordered") == pytest.approx(math.log2(12) / (3 * math.log2(6)))
    rule_list = {"kind": "rule_list", "rules": [{"if": {"age": 40}, "count": 1}]}
    release = joined()
    with pytest.raises(ValueError, match="rows is missing"):
        oracle.count({**release, "models": [*release["models"], rule_list]}, "multiset")
    assert oracle.datasets({**release, "rows": 3, "models": [*release["models"], rule_list]}) == [(*known, (1, 40))]


def test_means_and_correlations_over_worlds():
    assert oracle.bound(joined(), {"a": 1}, "ordered", "age") == {"min": 30, "max": 40, "expectation": 35}
    everybody = oracle.bound(joined(), {}, "multiset", of="age")
    assert everybody == {"min": Fraction(80, 3), "max": 30, "expectation": Fraction(85, 3)}
    both = oracle.bound(joined(), {}, "ordered", ("a", "age"))
    assert both["min"] == pytest.approx(0.5)
    assert both["max"] == pytest.approx(math.sqrt(0.75))
    assert both["expectation"] == pytest.approx((0.5 + math.sqrt(0.75)) / 2)
    assert oracle.bound(joined(), {"a": 0}, "ordered", ["age", "age"]) == {"min": 1, "max": 1, "expectation": 1}
    nothing = {"min": None, "max": None, "expectation": None}
    assert oracle.bound(joined(), {"a": 1}, "ordered", ("a", "age")) == nothing  # one row does not vary
    assert oracle.bound(joined(), {"a": 1, "age": 20}, "ordered", "age") == nothing
    empty = make([attr("a", [0, 1]), PAY], [], rows=2)
    paid = oracle.bound(empty, {"a": 1}, "ordered", "pay")  # nobody in a quarter of the worlds
    assert paid == {"min": 10, "max": 35, "expectation": Fraction(65, 3)}
    descending = oracle.bound(make([PAY, attr("b", [0, 1])], [], rows=2), {}, "ordered", ("pay", "b"))
    assert (descending["min"], descending["max"], descending["expectation"]) == (-1, 1, 0)
    weighted = make([PAY], [], rows={"at_least": 1, "at_most": 2})
    skewed = {"in": [10, 20]}
    assert oracle.bound(weighted, {"pay": skewed}, "ordered", "pay")["expectation"] == 15
    assert oracle.bound(RULE_LIST_1, {"a3": 1}, "assigned", "y")["max"] == Fraction(1, 2)
    with pytest.raises(ValueError, match="not numeric"):
        oracle.bound(make([attr("s", ["x", "y"])], [], rows=1), {}, "ordered", "s")


def test_distribution_of_a_count():
    release = make([attr("a", [0, 1])], [], rows=2)
    assert oracle.distribution(release, {"a": 1}, "ordered") == {
        0: Fraction(1, 4),
        1: Fraction(1, 2),
        2: Fraction(1, 4),
    }
    assert oracle.distribution(release, {"a": 1}, "multiset") == dict.fromkeys(range(3), Fraction(1, 3))
    interval = {**release, "rows": {"at_least": 0, "at_most": 1}}
    assert oracle.distribution(interval, {"a": 1}, "ordered") == {0: Fraction(3, 4), 1: Fraction(1, 4)}
    assert oracle.distribution(RULE_LIST_1, {"a1": 1, "a2": 1}, "assigned") == {2: 1}


@pytest.mark.parametrize(
    "model",
    [
        {"kind": "forest", "trees": [{"nodes": [{"count": 1}]}], "bootstrap": True},
        {"kind": "forest", "trees": [{"nodes": [{"count": 1}]}], "bootstrap": False, "multiplicities": [[1]]},
        {"kind": "forest", "trees": [{"nodes": [{"count": 1, "distinct": 1}]}]},
        {"kind": "forest", "trees": []},
        {"kind": "rule_set", "rules": [{"if": {}, "count": 1, "counts": [1]}]},
        {**table({"count": 1}), "noise": {"law": "laplace", "scale": 1.0}},
        table({"count": 1, "at_least": 1}),
        table({"count": 0.5}),
        table({"at_least": 2, "at_most": 1}),
        table({"where": {}}),
        table({"suppressed": "why"}),
        table({"suppressed": "primary", "count": 1}),
        table({"mean": {"of": "a", "value": 1}, "total": {"of": "a", "value": 1}}),
        table({"mean": {"of": "a", "value": 1, "within": -1}}),
        table({"mean": {"of": "a"}}),
        table({"median": {"of": "s", "value": 1}}),
        table({"total": {"of": "nobody", "value": 1}}),
    ],
)
def test_what_is_no_exact_model_is_refused(model):
    release = make([attr("a", [0, 1]), attr("s", ["x", "y"])], [model], rows=1)
    with pytest.raises(ValueError, match=r"unsupported|counts must|needs either|within|not numeric|unknown"):
        oracle.count(release, "ordered")


@pytest.mark.parametrize("kind", ["forest", "rule_set", "table"])
def test_assigned_is_for_one_tree_or_rule_list(kind):
    release, _ = oracle_coupled.random_coupled(random.Random(kind), [kind])
    release["models"] = release["models"][:1]
    for figure in (oracle.count, oracle.uninformed_bits, oracle.dist_g):
        with pytest.raises(ValueError, match="exactly one"):
            figure(release, "assigned")


# ---------------------------------------------------------------- random releases of coupled models


@pytest.mark.sampled(98)
@pytest.mark.parametrize("seed", range(200))
def test_coupled_truth_is_a_world(seed):
    release, truth = oracle_coupled.random_coupled(random.Random(seed))
    assert oracle_coupled.random_coupled(random.Random(seed)) == (release, truth)
    assert json.loads(json.dumps(release)) == release
    numbers = oracle.row_numbers(release)
    assert len(truth) in numbers
    assert sum(multisets(len(oracle.rows(release)), n) for n in numbers) <= 3_000
    assert Counter(truth) in [Counter(world) for world in oracle.datasets(release)]


def naive(release, model, world, passes):
    """Read every statement of one model off the file afresh; the splits and rules are only counted if reached."""

    def same(part, inside):
        labels = [oracle.canonical(v) for v in release["domain"].get("label", {}).get("values", [])]
        return part.get("count", len(inside)) == len(inside) and part.get("counts", []) == [
            sum(row[-1] == value for row in inside) for value in labels if "counts" in part
        ]

    def walk(nodes, index, inside):
        node = nodes[index]
        if not same(node, inside):
            return False
        return "if" not in node or (
            walk(nodes, node["then"], [r for r in inside if passes(node["if"], r)])
            and walk(nodes, node["else"], [r for r in inside if not passes(node["if"], r)])
        )

    if model["kind"] in ("tree", "forest"):
        return all(walk(tree["nodes"], 0, list(world)) for tree in model.get("trees", [model]))
    left = list(world)
    for part in model.get("rules", []):
        if not same(part, [row for row in left if passes(part["if"], row)]):
            return False
        if model["kind"] == "rule_list":
            left = [row for row in left if not passes(part["if"], row)]
    names = [entry["name"] for entry in release["domain"]["attributes"]] + ["y"]
    for statement in model.get("statements", []):
        inside = [row for row in world if passes(statement.get("where", {}), row)]
        number = statement.get("count", len(inside))
        if number != len(inside) or not statement.get("at_least", 0) <= number <= statement.get("at_most", number):
            return False
        for kind, figure in (("mean", statistics.mean), ("median", statistics.median), ("total", sum)):
            if kind not in statement:
                continue
            of, value, within = (statement[kind].get(key, 0) for key in ("of", "value", "within"))
            numbers = [Fraction(row[names.index(of)] if of in names else int(passes({of: 1}, row))) for row in inside]
            if kind != "total" and not inside:
                return False
            if abs(figure(numbers) - Fraction(str(value))) > Fraction(str(within)):
                return False
    return True


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", range(4))
def test_coupled_sequences_listed_one_by_one(batch):
    """The most naive listing there is, for small spaces: every sequence, with no code of the oracle but `meets`."""
    rng, compared = random.Random(f"coupled {batch}"), 0
    while compared < 8:
        release, _ = oracle_coupled.random_coupled(rng)
        space, numbers = oracle.rows(release), oracle.row_numbers(release)
        if sum(len(space) ** n for n in numbers) > 3_000:
            continue
        known = {}

        def passes(condition, row, release=release, known=known):
            key = json.dumps(condition), row
            if key not in known:
                known[key] = oracle.meets(release, condition, row)
            return known[key]

        found = {
            n: sum(
                all(naive(release, model, world, passes) for model in release["models"])
                for world in product(space, repeat=n)
            )
            for n in numbers
        }
        expected = oracle.count(release, "ordered")
        assert found == (expected if isinstance(expected, dict) else {numbers[0]: expected})
        compared += 1


@pytest.mark.slow
def test_coupled_releases_are_varied():
    drawn = [oracle_coupled.random_coupled(random.Random(seed)) for seed in range(300)]
    assert {len(truth) for _, truth in drawn} == set(range(6))
    assert {len(release["models"]) for release, _ in drawn} == {1, 2, 3}
    kinds = Counter(model["kind"] for release, _ in drawn for model in release["models"])
    assert min(kinds[kind] for kind in oracle_coupled.KINDS) > 80
    text = [json.dumps(release) for release, _ in drawn]
    for word in ("impossible", "columns", "resolution", '"label"', '"count"', '"counts"', '"rows": {', '"rows": '):
        assert 20 < sum(word in entry for entry in text) < 290, word
    for word in ('"mean"', '"median"', '"total"', '"suppressed"', '"within"', '"where"'):
        assert sum(word in entry for entry in text) > 20, word
    found = [len(oracle.datasets(release)) for release, _ in drawn]
    assert sum(number == 1 for number in found) > 30
    assert sum(number > 20 for number in found) > 60
    for kind in oracle_coupled.KINDS:
        only, _ = oracle_coupled.random_coupled(random.Random(1), [kind])
        assert {model["kind"] for model in only["models"]} == {kind}


@pytest.mark.parametrize("seed", range(40))
def test_contradictory_releases_have_no_world(seed):
    kinds = [oracle_coupled.KINDS[seed % 5]] if seed < 20 else None
    release = oracle_coupled.contradictory(random.Random(seed), kinds)
    assert json.loads(json.dumps(release)) == release
    assert oracle.datasets(release) == []
    assert not any(oracle.count(release, "ordered").values() if isinstance(release.get("rows"), dict) else [])
    for model in oracle._partitions(release):
        parts = model.get("nodes") or model["rules"]
        leaves = [part for part in parts if "then" not in part]
        total = sum(part["count"] if "count" in part else sum(part["counts"]) for part in leaves)
        numbers = oracle.row_numbers(release)
        if "rows" in release:
            assert total <= numbers[-1] if oracle._lacks_default(model) else [total] == numbers


def test_oracle_uses_numpy_and_the_standard_library_only():
    tree = ast.parse(
        "\n".join(Path(m.__file__).read_text(encoding="utf-8") for m in (oracle, oracle_coupled, linear_figures))
    )
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= {*sys.stdlib_module_names, "numpy", "oracle", "linear_figures"}
    longest = max(node.end_lineno - node.lineno + 1 for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    assert longest <= 60
