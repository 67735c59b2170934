"""The model as nodes to draw: walked by all raw rows of tiny domains, with the exposure of its regions."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import oracle
import pytest
from extras import encoded
from hypothesis import given, settings
from test_attribute_bits import SEEDS

import recon
from recon.report import report as module
from recon.report.report import _drawing

GOLDEN = Path(__file__).parent / "golden"
DOMAIN = {
    "attributes": [{"name": "age", "min": 18, "max": 25}, {"name": "sex", "values": ["F", "M"]}],
    "label": {"name": "y", "values": ["no", "yes"]},
}
TREE = {
    "kind": "tree",
    "nodes": [
        {"if": {"age": {"at_most": 20}}, "then": 1, "else": 2},
        {"counts": [1, 2], "name": "the young"},
        {"if": {"sex": "F"}, "then": 3, "else": 4},
        {"counts": [5, 0]},
        {"counts": [0, 0]},
    ],
}
LIST = {
    "kind": "rule_list",
    "rules": [
        {"if": {"sex": "F", "age": {"at_most": 19}}, "counts": [2, 0]},
        {"if": {"age": {"at_most": 21}}, "counts": [1, 3]},
        {"if": {}, "counts": [0, 4]},
    ],
}


def drawn(*models, **more):
    release = encoded({"recon": 1, "domain": DOMAIN, "models": list(models)} | more)
    return _drawing(release, recon.measure(release))


def golden(name):
    with open(GOLDEN / name, encoding="utf-8") as file:
        release = encoded(json.load(file))
    return _drawing(release, recon.measure(release))


def test_a_tree_has_its_tests_rows_classes_and_shares():
    found = drawn(TREE)
    nodes = {node["id"]: node for node in found["nodes"]}
    assert (found["kind"], found["root"], found["note"], len(nodes)) == ("tree", 0, "", 5)
    assert [node["id"] for node in found["nodes"]] == [0, 1, 2, 3, 4]
    assert "age" in nodes[0]["text"]
    assert "sex" in nodes[2]["text"]
    assert [nodes[i]["text"] for i in (1, 3, 4)] == ["the young", "leaf 3", "leaf 4"]
    assert [(nodes[i]["then"], nodes[i]["otherwise"]) for i in (0, 1, 2)] == [(1, 2), (None, None), (3, 4)]
    assert [nodes[i]["rows"] for i in range(5)] == [[8, 8], [3, 3], [5, 5], [5, 5], [0, 0]]
    assert nodes[0]["classes"] == [["no", 6], ["yes", 2]]
    assert nodes[1]["share_left"] == pytest.approx(math.log2(6) / math.log2(16))
    assert nodes[3]["share_left"] == pytest.approx(math.log2(5) / math.log2(16))
    mean = (3 * math.log2(6) + 5 * math.log2(5)) / 8 / math.log2(16)
    assert nodes[0]["share_left"] == pytest.approx(mean)
    json.dumps(found)


def test_a_rule_list_has_its_rules_in_order():
    found = drawn(LIST)
    assert (found["kind"], [node["rows"] for node in found["nodes"]]) == ("list", [[2, 2], [4, 4], [4, 4]])
    assert [node["text"] for node in found["nodes"]][-1] == "everybody else"
    assert all(node["then"] is node["otherwise"] is None for node in found["nodes"])
    sizes = [2, 6, 8]  # raw rows of each rule behind the earlier ones, the class apart
    shares = [math.log2(size) / math.log2(16) for size in sizes]
    assert [node["share_left"] for node in found["nodes"]] == pytest.approx(shares)


@pytest.mark.slow
@settings(max_examples=120, derandomize=True)
@given(SEEDS)
def test_it_is_the_model_that_was_released(seed):
    """Rows of every node are those of the leaves below; shares are those of the raw rows that end in a leaf."""
    release, _ = oracle.random_release(random.Random(seed))
    got = encoded(release)
    measures = recon.measure(got)
    model = release["models"][0]
    found = _drawing(got, measures)
    nodes = {node["id"]: node for node in found["nodes"]}
    leaves = oracle.region_rows(release, model)
    assert {i for i, node in nodes.items() if node["then"] is None} == set(leaves)
    assert found["kind"] == ("tree" if model["kind"] == "tree" else "list")
    for i, node in nodes.items():
        low, high = node["rows"]
        if node["then"] is not None:
            below = [nodes[node[key]] for key in ("then", "otherwise")]
            assert low == sum(child["rows"][0] for child in below)
            part = model["nodes"][i]
            assert (node["then"], node["otherwise"]) == (part["then"], part["else"])
        assert high is None or low <= high
        if node["classes"] is not None:
            assert sum(n for _, n in node["classes"]) == low
    if found["kind"] == "tree":
        root = nodes[0]
        assert root["rows"][0] == sum(nodes[i]["rows"][0] for i in leaves)
    if measures.of_cells or got.statements.impossible:
        return
    everybody = oracle.rows(release)
    label = bool(release["domain"].get("label"))
    for i, rows in leaves.items():
        classes = nodes[i]["classes"] is not None and label
        fits, whole = ({row[:-1] if classes else row for row in some} for some in (rows, everybody))
        if fits and len(whole) > 1:
            assert nodes[i]["share_left"] == pytest.approx(math.log2(len(fits)) / math.log2(len(whole)))


def test_of_forests_and_several_models_the_first_is_drawn_and_it_is_said():
    forest = {"kind": "forest", "trees": [{"nodes": TREE["nodes"]}, {"nodes": TREE["nodes"]}]}
    found = drawn(forest)
    assert found["note"].startswith("the first of 2 trees")
    assert "by itself" in found["note"]
    assert found["nodes"][1]["share_left"] == pytest.approx(math.log2(6) / math.log2(16))
    table = {"kind": "table", "statements": [{"where": {"sex": "F"}, "count": 6}]}
    both = drawn(table, {"kind": "tree", "nodes": [{"count": 8}]}, TREE)
    assert "one of 3 models" in both["note"]
    assert len(both["nodes"]) == 1


@pytest.mark.parametrize("name", ["boosted_log.json", "boosted_softmax.json", "open_table.json", "rule_set.json"])
def test_boosted_trees_tables_and_rule_sets_are_not_drawn(name):
    assert golden(name) is None


@pytest.mark.parametrize("name", ["contradiction.json", "odd_cycle.json"])
def test_a_release_without_a_world_is_not_drawn(name):
    assert golden(name) is None


def test_of_a_bag_the_rows_are_bounds():
    found = golden("bags_settled.json")
    assert found["nodes"][0]["rows"] == [3, 10]
    assert all(node["classes"] is None for node in found["nodes"])


def test_rows_without_a_bound_and_the_rule_that_was_not_written():
    rules = {"kind": "rule_list", "rules": [{"if": {"sex": "F"}, "count": 2}]}
    found = drawn(rules, rows={"at_least": 2, "at_most": 6})
    assert [(node["text"], node["rows"]) for node in found["nodes"][1:]] == [("everybody else", [0, 4])]


def test_a_large_tree_is_folded_where_it_has_fewest_rows(monkeypatch):
    monkeypatch.setattr(module, "MOST_NODES", 3)
    found = drawn(TREE)
    assert [node["id"] for node in found["nodes"]] == [0, 1, 2]
    assert found["nodes"][2]["text"] == "2 leaves below"
    assert (found["nodes"][2]["then"], found["nodes"][2]["rows"]) == (None, [5, 5])
    assert found["note"] == "2 leaves are folded into the nodes above them"
    monkeypatch.setattr(module, "MOST_NODES", 2)
    assert [node["text"] for node in drawn(TREE)["nodes"]] == ["3 leaves below"]
