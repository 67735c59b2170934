"""Checks of the oracle itself: published values, closed formulas, a second and more naive listing."""

import ast
import json
import math
import random
import sys
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import oracle

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
    # the brief prints 0.4503258336; log2(108)/15 is 0.45032583348, so its last digit is off by one
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


def test_oracle_uses_the_standard_library_only():
    tree = ast.parse(Path(oracle.__file__).read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= set(sys.stdlib_module_names)
    longest = max(node.end_lineno - node.lineno + 1 for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    assert longest <= 60
