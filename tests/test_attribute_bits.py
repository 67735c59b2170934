"""Bits revealed of attributes, against all raw rows of tiny domains listed one by one."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path

import oracle
import oracle_coupled
import pytest
from extras import encoded
from hypothesis import given, settings
from hypothesis import strategies as st

import recon
from encoders.parts.base import CutDomain
from recon.queries.measures.attribute_bits import NO_CLASSES, NO_RESOLUTION, OPEN, _value_of, attribute_bits
from solvers.engines.figures import system
from solvers.foundation.errors import ContradictionError
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Attribute, Box

GOLDEN = Path(__file__).parent / "golden"
SEEDS = st.integers(0, 2**32)


def entropy(counts):
    """The bits of something that is as often each thing as the counts say."""
    total = sum(counts)
    return -sum(n / total * math.log2(n / total) for n in counts if n) if total else 0.0


def bits_of(release, measures=None):
    measures = measures or recon.measure(release)
    return {line["name"]: line for line in attribute_bits(release, measures, Limits())}


def names_of(release):
    domain = release["domain"]
    label = [domain["label"]["name"]] if domain.get("label") else []
    return [a["name"] for a in domain["attributes"]] + label, bool(label)


def cells_of(release, model):
    """Region and class (None: no classes are counted) -> count, and the raw rows that fit it."""
    members = oracle.region_rows(release, model)
    parts = model["nodes"] if model["kind"] == "tree" else model["rules"]
    rows, counts = {}, {}
    for region, inside in members.items():
        part = parts[region] if region < len(parts) else {"count": None}
        if "counts" in part:
            label = release["domain"]["label"]
            for value, n in zip(label["values"], part["counts"], strict=True):
                key = region, oracle.canonical(value)
                counts[key], rows[key] = n, [row for row in inside if row[-1] == key[1]]
        else:
            counts[region, None], rows[region, None] = part["count"], inside
    stated = sum(n for n in counts.values() if n is not None)
    left = None if isinstance(release.get("rows"), dict) else release.get("rows", stated) - stated
    return {key: left if n is None else n for key, n in counts.items()}, rows


def brute(release, model):
    """Name -> bits before, bits revealed per person and forced rows; of the label only where all regions count it."""
    counts, rows = cells_of(release, model)
    names, label = names_of(release)
    everybody, people = oracle.rows(release), sum(counts.values())
    out = {}
    for k, name in enumerate(names):
        before = Counter(row[k] for row in everybody)
        if label and k == len(names) - 1:
            if any(c is None for _, c in counts):
                continue
            by_region = {}
            for (region, _), n in counts.items():
                by_region.setdefault(region, []).append(n)
            left = sum(sum(each) * entropy(each) for each in by_region.values())
            forced = sum(sum(each) for each in by_region.values() if sum(n > 0 for n in each) == 1)
        else:
            left = sum(n * entropy(Counter(row[k] for row in rows[key]).values()) for key, n in counts.items())
            forced = sum(n for key, n in counts.items() if n and len({row[k] for row in rows[key]}) == 1)
        bits = entropy(before.values())
        out[name] = bits, (max(0.0, bits - left / people) if people else 0.0), forced if len(before) > 1 else 0
    return out


@pytest.mark.slow
@settings(max_examples=120, derandomize=True)
@given(SEEDS)
def test_one_tree_or_rule_list_reveals_what_listing_all_raw_rows_says(seed):
    rng = random.Random(seed)
    release, _ = oracle.random_release(rng, label_boxes=rng.random() < 0.3)
    got = encoded(release)
    measures = recon.measure(got)
    if isinstance(release.get("rows"), dict) or measures.of_cells:
        return
    expected, found = brute(release, release["models"][0]), bits_of(got, measures)
    assert set(found) == set(names_of(release)[0])
    for name, (before, revealed, forced) in expected.items():
        line = found[name]
        assert line["is"] == "exact"
        assert line["bits_before"] == pytest.approx(before, abs=1e-9)
        assert line["bits_revealed"] == pytest.approx(revealed, abs=1e-9)
        assert line["share"] == pytest.approx(revealed / before if before > 1e-12 else 0.0, abs=1e-9)
        assert line["forced_rows"] == forced
    for name in set(found) - set(expected):
        assert (found[name]["is"], found[name]["why"]) == ("not known", NO_CLASSES)
    revealed = [line["bits_revealed"] for line in found.values() if line["bits_revealed"] is not None]
    assert revealed == sorted(revealed, reverse=True)


@pytest.mark.slow
@settings(max_examples=60, derandomize=True)
@given(SEEDS)
def test_of_several_models_no_more_is_claimed_than_sure_cells_say(seed):
    """Cells by their regions and counted classes; how many rows surely are in each, from all datasets listed."""
    release, _ = oracle_coupled.random_coupled(random.Random(seed), ["tree", "rule_list"])
    models = oracle._partitions(release)
    if isinstance(release.get("rows"), dict) or len(models) < 2:
        return
    try:
        got = encoded(release)
    except ContradictionError:
        return
    measures = recon.measure(got)
    worlds = oracle.datasets(release)
    if not worlds or not measures.of_cells:
        return
    names, label = names_of(release)
    everybody = oracle.rows(release)

    def cell(row):
        regions = [oracle.region_of(release, model, row) for model in models]
        told = any(oracle._gives_classes(m, r) for m, r in zip(models, regions, strict=True))
        return (*regions, row[-1] if told else None)

    cells = {}
    for row in everybody:
        cells.setdefault(cell(row), []).append(row)
    where = {row: key for key, inside in cells.items() for row in inside}
    sure = {key: min(sum(where[row] == key for row in world) for world in worlds) for key in cells}
    people, found = len(worlds[0]), bits_of(got, measures)
    for k, name in enumerate(names):
        before = Counter(row[k] for row in everybody)
        line, bits = found[name], entropy(before.values())
        if not label or k < len(names) - 1:
            more = min(0.0, bits - math.log2(len(before))) * (people - sum(sure.values()))
            revealed = [n * (bits - entropy(Counter(row[k] for row in cells[c]).values())) for c, n in sure.items()]
            mean = max(0.0, (sum(revealed) + more) / max(1, people))
            assert line["bits_revealed"] == pytest.approx(mean, abs=1e-9)
            forced = sum(n for c, n in sure.items() if len({row[k] for row in cells[c]}) == 1)
            assert line["forced_rows"] == (forced if len(before) > 1 else 0)
        elif line["bits_revealed"] is not None:
            assert line["bits_revealed"] <= bits + 1e-9
            assert line["forced_rows"] <= people
        assert line["is"] in ("at least", "exact", "not known")


@settings(max_examples=60, derandomize=True)
@given(SEEDS)
def test_of_products_the_attributes_add_up_to_the_size(seed):
    """Leaves are boxes: the bits of a row are those of its attributes, and what is removed of them adds up."""
    rng = random.Random(seed)
    release, _ = oracle.random_release(rng)
    model = release["models"][0]
    if model["kind"] != "tree" or release["domain"].get("impossible") or isinstance(release.get("rows"), dict):
        return
    got = encoded(release)
    measures = recon.measure(got)
    lines = measures.exposure
    rows = lines["rows"].to_numpy()
    if measures.of_cells or not rows.sum():
        return
    removed = float((lines["bits_removed"] * rows).sum() / rows.sum())
    names, label = names_of(release)
    found = bits_of(got, measures)
    of_attributes = sum(found[name]["bits_revealed"] for name in (names[:-1] if label else names))
    assert of_attributes == pytest.approx(removed, abs=1e-9)


# ---------------------------------------------------------------- figures of parts


@settings(max_examples=80, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=6))
def test_the_entropy_of_parts_is_that_of_their_values(parts):
    spread = [rows for rows, size in parts for _ in range(size)]  # rows x size raw rows in a part of that size
    assert system._entropy([(rows * size, size) for rows, size in parts]) == pytest.approx(entropy(spread), abs=1e-9)


@settings(max_examples=80, derandomize=True)
@given(st.data())
def test_boxes_together_leave_what_their_rows_leave(data):
    sizes = data.draw(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3), min_size=2, max_size=3))
    attributes = [Attribute(f"a{k}", tuple(own)) for k, own in enumerate(sizes)]
    first = attributes[0]
    boxes = []
    for part in range(len(first.sizes)):  # disjoint: each has its own part of the first attribute
        rest = [(k, data.draw(st.integers(1, a.full))) for k, a in enumerate(attributes) if k]
        boxes.append(Box.of([(0, 1 << part), *rest]))
    rows = []
    for box in boxes:
        named, some = dict(box.literals), [()]
        for k, a in enumerate(attributes):
            allowed = [(p, i) for p, size in enumerate(a.sizes) if named[k] >> p & 1 for i in range(size)]
            some = [(*row, value) for row in some for value in allowed]
        rows.append(some)
    listed = [row for some in rows for row in some]
    found = system._from_boxes(attributes, boxes, list(map(len, rows)), True)
    bound = system._from_boxes(attributes, boxes, list(map(len, rows)), False)
    for k in range(len(attributes)):
        expected = entropy(Counter(row[k] for row in listed).values())
        assert found[k].bits == pytest.approx(expected, abs=1e-9)
        assert found[k].mask == sum({1 << row[k][0] for row in listed})
        assert bound[k].bits >= expected - 1e-9
        assert bound[k].mask == found[k].mask


# ---------------------------------------------------------------- what has no number of bits, or only a bound


DOMAIN = {
    "attributes": [{"name": "age", "min": 18, "max": 25}, {"name": "sex", "values": ["F", "M"]}],
    "label": {"name": "y", "values": ["no", "yes"]},
}
LIST = {
    "kind": "rule_list",
    "rules": [
        {"if": {"sex": "F", "age": {"at_most": 19}}, "counts": [2, 0]},
        {"if": {"age": {"at_most": 21}}, "counts": [1, 3]},
        {"if": {}, "counts": [0, 4]},
    ],
}


def test_numbers_without_a_resolution_are_left_out_with_the_reason():
    release = {"recon": 1, "domain": json.loads(json.dumps(DOMAIN)), "models": [LIST]}
    release["domain"]["attributes"][0] = {"name": "age", "min": 18, "max": 25, "resolution": None}
    found = bits_of(encoded(release))
    assert found["age"]["is"] == "not known"
    assert found["age"]["why"] == NO_RESOLUTION
    assert found["age"]["bits_revealed"] is found["age"]["bits_before"] is found["age"]["share"] is None
    assert found["sex"]["bits_revealed"] > 0
    assert list(found) == [*[name for name in found if name != "age"], "age"]


class Expired(Limits):
    """Limits whose time is up, of a question that has begun to answer."""

    def expired(self):
        return True

    def check(self, what):
        pass


def test_out_of_time_the_boxes_of_rules_bound_what_is_left():
    release = encoded({"recon": 1, "domain": DOMAIN, "models": [LIST]})
    measures = recon.measure(release)
    exact = bits_of(release, measures)
    late = {line["name"]: line for line in attribute_bits(release, measures, Expired())}
    for name in ("age", "sex"):
        assert (late[name]["is"], exact[name]["is"]) == ("at least", "exact")
        assert late[name]["bits_revealed"] <= exact[name]["bits_revealed"] + 1e-9
        assert late[name]["forced_rows"] <= exact[name]["forced_rows"]
    assert late["y"] == exact["y"]
    found = system.partition_values(release.statements, Limits(), sized=False)
    full = system.partition_values(release.statements, Limits())
    for bound, known in zip(found, full, strict=True):
        for k, left in known.items():
            assert left.exact
            assert bound[k].bits >= left.bits - 1e-12
            assert left.mask & ~bound[k].mask == 0
        assert not any(left.exact for left in bound.values())


def test_an_open_number_of_rows_gives_the_lesser_end():
    rules = [{"if": {"sex": "F"}, "count": 2}]
    release = {"recon": 1, "domain": DOMAIN, "rows": {"at_least": 2, "at_most": 6}}
    found = bits_of(encoded(release | {"models": [{"kind": "rule_list", "rules": rules}]}))
    assert found["sex"]["bits_revealed"] == pytest.approx(1.0)  # both rules leave one sex, whatever their rows
    assert found["sex"]["forced_rows"] == 2
    rules = [{"if": {"sex": "F", "age": 18}, "count": 2}]
    line = bits_of(encoded(release | {"models": [{"kind": "rule_list", "rules": rules}]}))["age"]
    rest = entropy([1] + [2] * 7)  # of age among the 15 pairs that are left
    assert line["is"] == "at least"
    assert line["bits_revealed"] == pytest.approx((2 * 3.0 + 4 * (3.0 - rest)) / 6)


def test_without_a_greatest_number_of_rows_it_is_said_whom_the_mean_is_of():
    """A bag proves rows and never says how many there are: the mean is of those that are proved."""
    tree = {"nodes": [{"if": {"age": 18}, "then": 1, "else": 2}, {"count": 2}, {"count": 4}]}
    forest = {"kind": "forest", "bootstrap": True, "trees": [tree, tree]}
    release = encoded({"recon": 1, "domain": DOMAIN, "rows": {"at_least": 6}, "models": [forest]})
    assert release.rows.high is None
    measures = recon.measure(encoded({"recon": 1, "domain": DOMAIN, "rows": 6, "models": [forest]}))
    assert measures.of_cells
    lines = attribute_bits(release, measures, Limits())
    assert {line["why"] for line in lines if line["is"] != "not known"} == {OPEN}
    assert next(line for line in lines if line["name"] == "age")["bits_revealed"] > 0


def test_a_value_is_one_only_where_a_part_has_one_value():
    release = encoded({"recon": 1, "domain": DOMAIN, "models": [LIST]})
    cut: CutDomain = release.cut
    assert [_value_of(release, 1, mask) for mask in (0, 1, 2, 3)] == [None, "F", "M", None]
    wide = [p for p, size in enumerate(cut.cuts[0].sizes) if size > 1]
    assert wide
    assert all(_value_of(release, 0, 1 << p) is None for p in wide)


def test_a_release_without_a_world_reveals_nothing():
    for name in ("contradiction", "odd_cycle"):
        with open(GOLDEN / f"{name}.json", encoding="utf-8") as file:
            release = encoded(json.load(file))
        assert attribute_bits(release, recon.measure(release), Limits()) == []
