"""Forests, rule sets, tables and joined files: the truth is never excluded, a broken figure is, files read back."""

from __future__ import annotations

import copy
import hashlib
import json
import operator
import random
import tempfile
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path

import msgspec
import numpy as np
import oracle
import oracle_coupled
import pandas as pd
import pytest
import weights
from extras import encoded
from hypothesis import given, settings
from hypothesis import strategies as st

import recon
from recon.readers.formats.release.parts import to_domain, to_models, to_rows
from recon.readers.formats.release.reading import parse
from recon.readers.formats.release.schema import TablesPart
from recon.readers.formats.release.writing import dump, release_json
from recon.readers.frames.world import TrueRows, violations
from solvers.statements.release import UNBOUNDED, Choice, Loose, Partition, Statement

DOMAIN = {
    "attributes": [
        {"name": "age", "min": 20, "max": 28},
        {"name": "score", "min": 0, "max": 2, "resolution": 0.5},
        {"name": "pay", "min": 0, "max": 5000},
        {"name": "city", "values": ["A", "B", "C"]},
        {"name": "kids", "values": [0, 1, 2.5, 7]},
    ],
    "label": {"name": "y", "values": [0, 1]},
    "columns": {"age<25": {"attribute": "age", "below": 25}, "in A": {"attribute": "city", "in": ["A"]}},
}
VALUES = {
    "age": list(range(20, 29)),
    "score": [0, 0.5, 1, 1.5, 2],
    "pay": [0, 1, 17, 2500, 4999, 5000],
    "city": ["A", "B", "C"],
    "kids": [0, 1, 2.5, 7],
    "y": [0, 1],
}
SUMMED = ["age", "score", "pay", "kids", "y", "age<25", "in A"]


def release_of(*models, domain=DOMAIN, **more):
    return {"recon": 1, "domain": domain, **more, "models": list(models)}


def table_of(*statements, **more):
    return release_of({"kind": "table", "statements": list(statements)}, **more)


def loose(release):
    """The statements of the loose blocks of a release."""
    return [s for block in encoded(release).statements.blocks if isinstance(block, Loose) for s in block]


# ---------------------------------------------------------------- the figures of a dataset, computed plainly


def random_rows(rng, n):
    return [{name: rng.choice(values) for name, values in VALUES.items()} for _ in range(n)]


def value_of(row, name):
    if name == "age<25":
        return int(row["age"] < 25)
    return int(row["city"] == "A") if name == "in A" else row[name]


def passes(value, test):
    if not isinstance(test, dict):
        return value == test
    if "in" in test:
        return value in test["in"]
    checks = {"at_most": operator.le, "below": operator.lt, "at_least": operator.ge, "above": operator.gt}
    return all(checks[word](value, end) for word, end in test.items())


def meets(row, condition):
    return all(passes(value_of(row, name), test) for name, test in condition.items())


def random_test(rng, name):
    if name in {"age<25", "in A"}:
        return rng.randrange(2)
    values = VALUES[name]
    if name in {"city", "y"}:
        return rng.choice([rng.choice(values), {"in": rng.sample(values, rng.randint(1, len(values)))}])
    return rng.choice([{"at_most": rng.choice(values)}, {"above": rng.choice(values[:-1])}, rng.choice(values)])


def random_condition(rng, most=2, names=(*VALUES, "age<25", "in A")):
    return {name: random_test(rng, name) for name in rng.sample(names, rng.randint(0, most))}


def classes(rows):
    return [sum(r["y"] == y for r in rows) for y in VALUES["y"]]


def random_tree(rng, rows, depth=3):
    """A tree of random splits with the counts of the rows; some inner nodes have counts, some leaves plain ones."""
    nodes = [{}]

    def grow(at, reached, left):
        if left == 0 or rng.random() < 0.2:
            nodes[at] = {"counts": classes(reached)} if rng.random() < 0.8 else {"count": len(reached)}
            return
        name = rng.choice([n for n in VALUES if n != "y"] + ["age<25", "in A"])
        condition = {name: random_test(rng, name)}
        nodes[at] = {"if": condition, "then": len(nodes), "else": len(nodes) + 1}
        if rng.random() < 0.3:
            nodes[at]["counts"] = classes(reached)
        nodes.extend([{}, {}])
        then, otherwise = len(nodes) - 2, len(nodes) - 1
        grow(then, [r for r in reached if meets(r, condition)], left - 1)
        grow(otherwise, [r for r in reached if not meets(r, condition)], left - 1)

    grow(0, rows, depth)
    return {"nodes": nodes}


def random_forest(rng, rows):
    return {"kind": "forest", "trees": [random_tree(rng, rows) for _ in range(rng.randint(1, 3))]}


def random_rule_set(rng, rows):
    rules = []
    for _ in range(rng.randint(1, 4)):
        condition = random_condition(rng)
        hit = [r for r in rows if meets(r, condition)]
        rules.append({"if": condition} | ({"counts": classes(hit)} if rng.random() < 0.5 else {"count": len(hit)}))
    return {"kind": "rule_set", "rules": rules}


def exact(value):
    return Fraction(str(value))


def middle(values):
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def statistic(kind, of, rows):
    values = [exact(value_of(r, of)) for r in rows]
    if kind == "total":
        return sum(values, Fraction(0))
    if not values:
        return None
    return sum(values) / len(values) if kind == "mean" else middle(values)


def random_figure(rng, rows):
    where = random_condition(rng)
    hit = [r for r in rows if meets(r, where)]
    kind = rng.choice(["count", "interval", "mean", "total", "median", "primary", "secondary"])
    out = {"where": where}
    if kind in {"mean", "total", "median"} and (hit or kind == "total"):
        of = rng.choice(SUMMED if kind != "median" else [n for n in SUMMED if n != "pay"])
        value = float(statistic(kind, of, hit))
        rounded = round(value, 2)
        within = 0 if exact(rounded) == statistic(kind, of, hit) and rng.random() < 0.5 else 0.005
        return out | {kind: {"of": of, "value": rounded, "within": within}}
    if kind == "count":
        return out | {"count": len(hit)}
    if kind == "secondary":
        return out | {"suppressed": rng.choice(["secondary", "unknown"])}
    low, high = max(0, len(hit) - rng.randrange(3)), len(hit) + rng.randrange(3)
    if kind == "primary":
        return out | {"suppressed": "primary", "at_least": low, "at_most": high}
    return out | rng.choice([{"at_least": low}, {"at_most": high}, {"at_least": low, "at_most": high}])


def figure_holds(figure, rows):
    hit = [r for r in rows if meets(r, figure["where"])]
    for kind in ("mean", "total", "median"):
        if kind in figure:
            found = statistic(kind, figure[kind]["of"], hit)
            within = exact(figure[kind].get("within", 0))
            return found is not None and abs(found - exact(figure[kind]["value"])) <= within
    if "count" in figure:
        return len(hit) == figure["count"]
    return figure.get("at_least", 0) <= len(hit) <= figure.get("at_most", len(hit))


def tree_holds(tree, rows):
    reached = {0: rows}
    for i in sorted(range(len(tree["nodes"]))):
        node = tree["nodes"][i]
        if "if" in node:
            reached[node["then"]] = [r for r in reached[i] if meets(r, node["if"])]
            reached[node["else"]] = [r for r in reached[i] if not meets(r, node["if"])]
        elif node not in ({"counts": classes(reached[i])}, {"count": len(reached[i])}):
            return False
    return True


def rule_holds(rule, rows):
    hit = [r for r in rows if meets(r, rule["if"])]
    return rule["counts"] == classes(hit) if "counts" in rule else rule["count"] == len(hit)


def model_holds(model, rows):
    if model["kind"] == "forest":
        return all(tree_holds(t, rows) for t in model["trees"])
    if model["kind"] == "rule_set":
        return all(rule_holds(r, rows) for r in model["rules"])
    return all(figure_holds(f, rows) for f in model["statements"])


def random_table(rng, rows):
    return {"kind": "table", "statements": [random_figure(rng, rows) for _ in range(rng.randint(1, 6))]}


MAKERS = {"forest": random_forest, "rule_set": random_rule_set, "table": random_table}


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("kind", MAKERS)
@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_the_truth_is_admitted_and_what_breaks_a_figure_is_not(kind, seed, n):
    """violations() is empty exactly where every figure, computed plainly, is as published."""
    rng = random.Random(seed)
    rows = random_rows(rng, n)
    model = MAKERS[kind](rng, rows)
    release = encoded(release_of(model, rows=n))
    assert violations(release, pd.DataFrame(rows)) == []
    seen = TrueRows.of(release, pd.DataFrame(rows))
    assert all(seen.holds(s) for block in release.statements.blocks if isinstance(block, Loose) for s in block)
    for _ in range(5):
        changed = copy.deepcopy(rows)
        for row in rng.sample(changed, rng.randint(1, min(2, n))):
            name = rng.choice(list(VALUES))
            row[name] = rng.choice(VALUES[name])
        assert (violations(release, pd.DataFrame(changed)) == []) == model_holds(model, changed)
    assert violations(release, pd.DataFrame(rows + rows[:1])) != []


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_what_is_written_reads_back_the_same(seed, n):
    rng = random.Random(seed)
    rows = random_rows(rng, n)
    models = [maker(rng, rows) for maker in MAKERS.values()]
    models[rng.randrange(3)]["name"] = "mine"
    models[2]["statements"][0]["name"] = "first"
    release = encoded(release_of(*models[: rng.randint(1, 3)], rows=n))
    text = dump(release_json(release.domain, release.models, release.rows))
    part = parse(text.encode(), "memory")
    assert (to_domain(part.domain), tuple(to_models(part)), to_rows(part)) == (
        release.domain,
        release.models,
        release.rows,
    )
    again = encoded(json.loads(text))
    assert [s.source for s in again.statements.statements()] == [s.source for s in release.statements.statements()]
    assert dump(release_json(again.domain, again.models, again.rows)) == text


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_joined_files_admit_the_truth(seed, n):
    """Three files, each with the part of the domain that it needs; the joined release is about all of it."""
    rng = random.Random(seed)
    rows = random_rows(rng, n)
    models = [maker(rng, rows) for maker in MAKERS.values()]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.json" for name in "abc"]
        for path, model in zip(paths, models, strict=True):
            spoken = json.dumps(model)
            kept = [a for a in DOMAIN["attributes"] if f'"{a["name"]}' in spoken or a["name"] in {"age", "city"}]
            path.write_text(json.dumps(release_of(model, domain={**DOMAIN, "attributes": kept})))
        release = recon.load(*paths)
        assert release.file == " + ".join(map(str, paths))
    names = [a.name for a in release.domain.attributes]
    frame = pd.DataFrame(rows)[[*names, "y"]]
    assert violations(release, frame) == []
    assert release.rows.low == release.rows.high == n
    changed = copy.deepcopy(rows)
    changed[0]["y"] = 1 - changed[0]["y"]
    held = all(model_holds(m, changed) for m in models)
    assert (violations(release, pd.DataFrame(changed)[[*names, "y"]]) == []) == held


@pytest.mark.sampled(1, 2)
@pytest.mark.parametrize("batch", range(6))
def test_true_rows_are_admitted_exactly_where_brute_force_admits_them(batch):
    """Random tiny releases of all kinds: the datasets without violations are those that the oracle lists."""
    rng = random.Random(f"admitted {batch}")
    for _ in range(25):
        release, _ = oracle_coupled.random_coupled(rng)
        got, space = encoded(release), oracle.rows(release)
        names = [a.name for a in got.domain.all]
        n = rng.choice(oracle.row_numbers(release))
        admitted = {tuple(sorted(world, key=repr)) for world in oracle.datasets(release, n)}
        drawn = {tuple(sorted(rng.choices(space, k=n), key=repr)) for _ in range(10)}
        for rows in [*drawn, *rng.sample(sorted(admitted, key=repr), min(5, len(admitted)))]:
            plain = [[float(v) if isinstance(v, Fraction) else v for v in row] for row in rows]
            frame = pd.DataFrame(plain, columns=names, dtype=object)
            assert (violations(got, frame) == []) == (rows in admitted)


def test_the_examples_of_the_documentation_are_read():
    text = (Path(__file__).parents[1] / "docs" / "release-file.md").read_text()
    blocks = [block.split("```")[0] for block in text.split("```json")[1:]]
    whole, *models, areas = [json.loads(block) for block in blocks]
    assert encoded(whole).rows.low == 4
    more = [{"name": "sex", "values": ["F", "M"]}, {"name": "income", "min": 0, "max": 10**6}]
    domain = {**whole["domain"], "attributes": whole["domain"]["attributes"] + more}
    assert [model["kind"] for model in models] == ["rule_set", "forest", "forest", "boosting", "table", "table"]
    for model in models:
        assert encoded(release_of(model, domain=domain)).statements.blocks
    part = msgspec.convert(areas, TablesPart)
    assert (part.area, len(part.cells), len(part.values)) == ("block", 3, 3)


# ---------------------------------------------------------------- statements, checked by hand

AGES = {"attributes": [{"name": "age", "min": 35, "max": 38}, {"name": "sex", "values": ["F", "M"]}]}


def test_a_mean_is_two_statements_about_deviations():
    mean = {"where": {"sex": "F"}, "mean": {"of": "age", "value": 36.7, "within": 0.05}}
    some, above, below = loose(table_of(mean, domain=AGES))
    assert (some.low, some.high, weights.of(some)) == (1, UNBOUNDED, None)
    assert some.source == "table, statement 0 (a mean was published, so the group is not empty)"
    # 20 (v - 36.65) and 4 (v - 36.75)
    assert (above.low, above.high, weights.of(above), weights.coefs(above)) == (0, UNBOUNDED, 0, (-33, -13, 7, 27))
    assert (below.low, below.high, weights.of(below), weights.coefs(below)) == (-UNBOUNDED, 0, 0, (-7, -3, 1, 5))
    assert above.source == "table, statement 0 (mean of age = 36.7 ± 0.05 where sex = F)"
    assert some.region == above.summands[0].region == below.summands[0].region
    assert above.summands[0].region.box.literals == ((1, 1),)
    assert not above.coarse


def test_an_exact_mean_is_one_statement():
    _, only = loose(table_of({"where": {}, "name": "mean age", "mean": {"of": "age", "value": 36.5}}, domain=AGES))
    assert (only.low, only.high, weights.coefs(only)) == (0, 0, (-3, -1, 1, 3))
    assert only.source == "table, mean age (mean of age = 36.5)"


def test_a_total_is_scaled_to_whole_numbers():
    domain = {"attributes": [{"name": "x", "values": [0, 0.5, 1.25]}]}
    (only,) = loose(table_of({"total": {"of": "x", "value": 3.1, "within": 0.2}}, domain=domain))
    # 2.9 to 3.3, times 4: 11.6 to 13.2
    assert (only.low, only.high, weights.of(only), weights.coefs(only)) == (12, 13, 0, (0, 2, 5))
    never = {"total": {"of": "x", "value": 3.1}}
    (contradiction,) = loose(table_of(never, domain=domain))
    assert (contradiction.low, contradiction.high) == (13, 12)


def test_a_column_counts_as_0_and_1_and_does_not_cut_every_value():
    domain = {**AGES, "columns": {"old": {"attribute": "age", "at_least": 37}}}
    release = encoded(table_of({"mean": {"of": "old", "value": 0.25}}, domain=domain))
    assert [len(c.sizes) for c in release.cut.cuts] == [2, 1]
    _, only = release.statements.blocks[0]
    assert (weights.of(only), weights.coefs(only), only.low, only.high) == (0, (-1, 3), 0, 0)


def test_outside_the_region_coefficients_are_0():
    figure = {"where": {"age": {"at_most": 36}}, "total": {"of": "age", "value": 71}}
    (only,) = loose(table_of(figure, domain=AGES))
    assert weights.coefs(only) == (35, 36, 0, 0)


def test_large_attributes_stay_coarse_and_are_bounded_from_both_sides():
    domain = {"attributes": [{"name": "pay", "min": 0, "max": 9999}]}
    group = {"where": {"pay": {"at_most": 99}}, "count": 2}
    total = {"total": {"of": "pay", "value": 500, "within": 10}}
    release = encoded(table_of(group, total, {"mean": {"of": "pay", "value": 250}}, rows=2, domain=domain))
    _, upper, lower, _, above, below = release.statements.blocks[0]
    # parts 0 to 99 and 100 to 9999: at least 0 and 100 each (510 / 100), at most 99 and 9999 (490 / 99)
    assert (upper.low, upper.high, weights.coefs(upper), upper.coarse) == (-UNBOUNDED, 5, (0, 1), True)
    assert (lower.low, lower.high, weights.coefs(lower), lower.coarse) == (5, UNBOUNDED, (1, 101), True)
    assert (above.low, above.high, weights.coefs(above)) == (0, UNBOUNDED, (-151, 9749))
    assert (below.low, below.high, weights.coefs(below)) == (-UNBOUNDED, 0, (-5, -3))
    broken = violations(release, pd.DataFrame({"pay": [99, 99]}))
    assert broken == [
        "table, statement 1 (total of pay = 500 ± 10): 500 ± 10 released, 198 in the truth",
        "table, statement 2 (mean of pay = 250): 250 released, 99 in the truth",
    ]
    with pytest.raises(recon.Unsupported, match=r"statement 0 \(median of pay = 5\): .* more than 2,000 values"):
        encoded(table_of({"median": {"of": "pay", "value": 5}}, domain=domain))


def test_the_median_of_an_even_number_is_a_choice_of_middles():
    domain = {"attributes": [{"name": "x", "values": [1, 2, 3, 5]}]}
    release = encoded(table_of({"median": {"of": "x", "value": 3}}, domain=domain))
    (some,), choice = release.statements.blocks
    assert (some.low, some.source) == (1, "table, statement 0 (a median was published, so the group is not empty)")
    assert isinstance(choice, Choice)
    assert choice.name == "table, statement 0 (median of x = 3)"
    three, one_five = choice.alternatives
    assert [(s.low, s.high, weights.coefs(s)) for s in three] == [
        (-UNBOUNDED, -1, (1, 1, -1, -1)),
        (-UNBOUNDED, -1, (-1, -1, -1, 1)),
    ]
    assert [(s.low, s.high, weights.coefs(s)) for s in one_five] == [
        (0, 0, (1, 0, 0, -1)),
        (1, UNBOUNDED, (1, 0, 0, 0)),
        (1, UNBOUNDED, (0, 0, 0, 1)),
        (0, 0, (0, 1, 1, 0)),
    ]
    assert all(weights.of(s) == 0 and s.summands[0].region == some.region for s in (*three, *one_five))


@pytest.mark.parametrize("told", [{"count": 5}, {"where": {"x": {"in": [1, 2, 3, 5]}}, "count": 5}])
def test_the_median_of_an_odd_number_has_one_middle(told):
    domain = {"attributes": [{"name": "x", "values": [1, 2, 3, 5]}]}
    release = encoded(table_of(told, {"median": {"of": "x", "value": 3}}, domain=domain))
    (block,) = release.statements.blocks
    assert [weights.coefs(s) for s in block] == [(), (), (1, 1, -1, -1), (-1, -1, -1, 1)]
    even = encoded(table_of({"count": 4}, {"median": {"of": "x", "value": 3}}, domain=domain))
    assert len(even.statements.blocks[1].alternatives) == 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("value", "within"), [(3, 0), (2.5, 0), (2, 1), (4, 0.5), (1, 0), (5, 2)])
def test_of_the_readings_of_a_median_exactly_one_holds(value, within):
    """Every dataset of up to 6 values: one alternative holds where the median is as published, none elsewhere."""
    domain = {"attributes": [{"name": "x", "values": [1, 2, 3, 5]}]}
    figure = {"median": {"of": "x", "value": value, "within": within}}
    release = encoded(table_of(figure, domain=domain))
    (some, *rest), *choices = release.statements.blocks
    readings = choices[0].alternatives if choices else [tuple(rest)]
    for n in range(7):
        for values in combinations_with_replacement([1, 2, 3, 5], n):
            rows = TrueRows.of(release, pd.DataFrame({"x": list(values)}, dtype=float))
            holding = sum(all(rows.holds(s) for s in reading) for reading in readings)
            agrees = n > 0 and abs(middle([exact(v) for v in values]) - exact(value)) <= exact(within)
            assert holding == int(agrees)
            assert rows.holds(some) == (n > 0)


def test_a_forest_is_a_partition_per_tree_named_after_it():
    tree = {"nodes": [{"if": {"age": {"at_most": 24}}, "then": 1, "else": 2}, {"counts": [1, 0]}, {"counts": [0, 2]}]}
    stump = {"name": "stump", "nodes": [{"count": 3}]}
    forest = {"kind": "forest", "trees": [tree, stump]}
    one = encoded(release_of(forest))
    assert [b.kind for b in one.statements.blocks] == ["tree 0", "stump"]
    first = one.statements.blocks[0]
    assert isinstance(first, Partition)
    assert [first.source(s) for s in range(4)][1] == "tree 0, leaf 1, class 1"
    assert first.boxes[0].literals == ((0, 1),)
    assert first.boxes[1].literals == ((0, 2),)
    assert "each tree was fitted on all the rows (no bootstrap)" in one.assumptions
    assert one.rows.low == 3
    two = encoded(release_of(forest, {**forest, "name": "second"}))
    assert [b.kind for b in two.statements.blocks] == [
        "forest 0, tree 0",
        "forest 0, stump",
        "second, tree 0",
        "second, stump",
    ]
    assert "all models were trained on the same rows" in two.assumptions


def test_masks_of_attributes_with_many_parts():
    """More than 64 parts need Python integers as masks; the boxes are the same intervals."""
    nodes = []
    for i in range(80):
        nodes += [{"if": {"age": {"at_most": i}}, "then": 2 * i + 1, "else": 2 * i + 2}, {"count": 1}]
    nodes.append({"count": 5})
    domain = {"attributes": [{"name": "age", "min": 0, "max": 99}, {"name": "b", "values": [0, 1]}]}
    (block,) = encoded(release_of({"kind": "tree", "nodes": nodes}, domain=domain)).statements.blocks
    assert [block.boxes[i].literals for i in range(81)] == [((0, 1 << i),) for i in range(81)]


def test_a_rule_set_leaves_the_rest_open():
    rules = [
        {"if": {"city": "A"}, "counts": [1, 2], "name": "first"},
        {"if": {"age": {"at_most": 24}, "city": "A"}, "count": 2},
        {"if": {"y": 1, "city": "A"}, "counts": [0, 2]},
    ]
    release = encoded(release_of({"kind": "rule_set", "rules": rules}))
    assert (release.rows.low, release.rows.high) == (0, None)
    (block,) = release.statements.blocks
    assert [(s.source, s.low, s.high) for s in block] == [
        ("rule set, first, class 0", 1, 1),
        ("rule set, first, class 1", 2, 2),
        ("rule set, rule 1", 2, 2),
        ("rule set, rule 2, class 0", 0, 0),
        ("rule set, rule 2, class 1", 2, 2),
    ]
    assert [s.region.box.empty for s in block] == [False, False, False, True, False]


def test_a_table_says_who_everybody_is():
    release = encoded(table_of({"count": 7}, {"where": {"city": "A"}, "count": 2}))
    assert (release.rows.low, release.rows.high) == (7, 7)
    hidden = [{"where": {"city": "A"}, "suppressed": "unknown"}, {"suppressed": "secondary", "at_most": 9}]
    (only,) = loose(table_of(*hidden))
    assert only == Statement.count(only.region, 0, 9, "table, statement 1 (suppressed count)")


# ---------------------------------------------------------------- bad input


def write(folder, name, release):
    path = folder / name
    path.write_text(json.dumps(release))
    return str(path)


FOREST = {
    "kind": "forest",
    "trees": [
        {"nodes": [{"if": {"age": {"at_most": 24}}, "then": 1, "else": 2}, {"counts": [1, 0]}, {"counts": [0, 2]}]},
        {"nodes": [{"counts": [1, 2]}]},
    ],
}
RULES = {"kind": "rule_set", "rules": [{"if": {"city": "A"}, "counts": [1, 2]}, {"if": {}, "count": 3}]}
MEAN = {"of": "age", "value": 22.5, "within": 0.5}


def edited(base, change):
    out = copy.deepcopy(base)
    change(out)
    return out


def figures(*statements):
    return {"kind": "table", "statements": list(statements)}


REFUSED = {
    "bootstrap": (
        edited(FOREST, lambda m: m.update(bootstrap=True, resample="without")),
        ["models[0].resample", "with replacement"],
    ),
    "multiplicities": (
        edited(FOREST, lambda m: m.update(multiplicities=[[1, 2]])),
        ["models[0].multiplicities", "'bootstrap': true"],
    ),
    "noise": (edited(RULES, lambda m: m.update(noise={"law": "laplace"})), ["models[0].noise", "missing"]),
    "distinct": (
        edited(FOREST, lambda m: m["trees"][1]["nodes"][0].update(distinct=2)),
        ["models[0].trees[1].nodes[0].distinct", "2 different rows among 3"],
    ),
    "no trees": (edited(FOREST, lambda m: m["trees"].clear()), ["models[0].trees", "[]"]),
    "totals": (
        edited(FOREST, lambda m: m["trees"][1]["nodes"][0].update(counts=[1, 3])),
        ["models[0].trees[1]", "4 rows", "trees[0] counts 3"],
    ),
    "links": (
        edited(FOREST, lambda m: m["trees"][0]["nodes"][0].update(then=7)),
        ["models[0].trees[0].nodes[0].then", "no node 7"],
    ),
    "far link": (
        edited(FOREST, lambda m: m["trees"][0]["nodes"][0].update(then=10**30)),
        ["models[0].trees[0].nodes[0].then", "no node 1000"],
    ),
    "inner": (
        edited(FOREST, lambda m: m["trees"][0]["nodes"][0].update(counts=[2, 1])),
        ["models[0].trees[0].nodes[0]", "[2, 1]", "[1, 2]"],
    ),
    "inner count": (
        edited(FOREST, lambda m: m["trees"][0]["nodes"][0].update(count=9)),
        ["models[0].trees[0].nodes[0]", "says 9", "sum to 3"],
    ),
    "threshold": (
        edited(FOREST, lambda m: m["trees"][0]["nodes"][0].update({"if": {"age": {"at_most": 99}}})),
        ["models[0].trees[0].nodes[0].if", "99", "'age'"],
    ),
    "rule without": (
        edited(RULES, lambda m: m["rules"][1].pop("count")),
        ["models[0].rules[1]", "'counts' or 'count'"],
    ),
    "rule classes": (
        edited(RULES, lambda m: m["rules"][0].update(counts=[1])),
        ["models[0].rules[0].counts", "1 counts"],
    ),
    "rule count": (edited(RULES, lambda m: m["rules"][1].update(count=1.5)), ["models[0].rules[1].count", "1.5"]),
    "rule value": (
        edited(RULES, lambda m: m["rules"][0].update({"if": {"city": "Z"}})),
        ["rules[0].if", "'Z'", "'city'"],
    ),
    "nothing": (figures({"count": 3}, {"where": {"city": "A"}}), ["models[0].statements[1]", "give one of"]),
    "count and bound": (figures({"count": 3, "at_most": 4}), ["models[0].statements[0]", "give one of", "not several"]),
    "count and mean": (figures({"count": 3, "mean": MEAN}), ["models[0].statements[0]", "give one of", "not several"]),
    "two statistics": (figures({"total": MEAN, "mean": MEAN}), ["statements[0]", "'mean'", "'total'", "not several"]),
    "suppressed count": (
        figures({"count": 3, "suppressed": "unknown"}),
        ["models[0].statements[0].suppressed", "no 'count'"],
    ),
    "suppressed mean": (figures({"mean": MEAN, "suppressed": "unknown"}), ["statements[0].suppressed", "'mean'"]),
    "primary": (
        figures({"suppressed": "primary", "at_least": 1}),
        ["models[0].statements[0].suppressed", "'at_least' and 'at_most'"],
    ),
    "empty interval": (figures({"at_least": 4, "at_most": 3}), ["statements[0]", "at_most 3", "at_least 4"]),
    "negative": (figures({"at_least": -4}), ["statements[0].at_least", "-4"]),
    "no number of rows": (figures({"count": 2.5}), ["statements[0].count", "2.5"]),
    "far too many": (figures({"at_most": 2**60}), ["statements[0]", "2^53"]),
    "everybody twice": (figures({"count": 3}, {"count": 4}), ["statements[1].count", "4 rows", "3 rows"]),
    "text": (figures({"mean": {"of": "city", "value": 1}}), ["statements[0].mean.of", "'city' is not numeric"]),
    "unknown name": (figures({"total": {"of": "height", "value": 1}}), ["statements[0].total.of", "'height'"]),
    "unknown condition": (figures({"where": {"height": 3}, "count": 1}), ["statements[0].where", "'height'"]),
    "within": (figures({"mean": {**MEAN, "within": -1}}), ["statements[0].mean.within", "-1"]),
    "no median": (
        figures({"median": {"of": "kids", "value": 3}}),
        ["models[0].statements[0]", "statement 0 (median of kids = 3)", "the median 3"],
    ),
    "too large": (
        figures({"total": {"of": "age", "value": 10**19}}),
        ["models[0].statements[0]", "statement 0 (total of age = 10000000000000000000)", "2^62"],
    ),
    "unknown key": (figures({"median": {**MEAN, "about": 1}}), ["models[0].statements[0].median.about", "unknown key"]),
    "no statements": ({"kind": "table"}, ["models[0].statements", "missing"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_file_place_and_value(case, tmp_path):
    model, words = REFUSED[case]
    path = write(tmp_path, "release.json", release_of(model))
    with pytest.raises(recon.ReleaseError) as refusal:
        recon.load(path)
    for word in (path, *words):
        assert word in str(refusal.value)


def test_rows_that_contradict_a_table_are_malformed(tmp_path):
    path = write(tmp_path, "table.json", table_of({"count": 7}, rows=8))
    with pytest.raises(recon.ReleaseError, match=r"models\[0\]: rows is 8, but the counts sum to 7"):
        recon.load(path)


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps(table_of({"mean": MEAN})).replace("22.5", "1e999"))
    with pytest.raises(recon.ReleaseError, match=r"statements\[0\].mean.value: inf is not a finite number"):
        recon.load(path)


def test_a_continuous_attribute_is_not_summed(tmp_path):
    domain = {"attributes": [{"name": "x", "min": 0, "max": 1, "resolution": None}]}
    path = write(tmp_path, "table.json", table_of({"mean": {"of": "x", "value": 0.5}}, domain=domain))
    with pytest.raises(recon.ReleaseError, match=r"statements\[0\].mean.of: .*'x'.*no grid"):
        recon.load(path)


def test_a_median_with_too_many_readings_is_unsupported():
    domain = {"attributes": [{"name": "x", "min": 1, "max": 400}]}
    refusal = r"statement 0 \(median of x = 200 ± 200\): the median leaves 80,200 choices"
    with pytest.raises(recon.Unsupported, match=refusal):
        encoded(table_of({"median": {"of": "x", "value": 200, "within": 200}}, domain=domain))


def test_sums_stay_in_64_bits():
    domain = {"attributes": [{"name": "x", "values": [0, 1, 2**50]}]}
    assert loose(table_of({"total": {"of": "x", "value": 2**50}}, rows=2**11, domain=domain))
    with pytest.raises(recon.ReleaseError, match=r"statement 0 \(total of x = [0-9]+\): .*2\^62"):
        encoded(table_of({"total": {"of": "x", "value": 2**50}}, rows=2**12, domain=domain))


# ---------------------------------------------------------------- joined files

STUMP = {"kind": "tree", "nodes": [{"counts": [1, 2]}]}
BARE = {"attributes": DOMAIN["attributes"][:1], "label": DOMAIN["label"]}


def test_joining_unites_domains_models_and_rows(tmp_path):
    other = {
        "attributes": [{"name": "city", "values": ["A", "B"]}, {"name": "age", "values": list(range(20, 29))}],
        "columns": {"in A": {"attribute": "city", "in": ["A"]}},
        "impossible": [{"city": "B", "age": 20}],
        "source": "training data",
        "notes": ["read off the data"],
    }
    table = figures({"where": {"in A": 1}, "count": 2})
    first = write(tmp_path, "a.json", release_of(STUMP, domain=BARE))
    second = write(tmp_path, "b.json", release_of(table, table, domain=other, rows={"at_least": 2, "at_most": 5}))
    release = recon.load(first, second)
    assert [a.name for a in release.domain.all] == ["age", "city", "y"]
    assert list(release.domain.columns) == ["in A"]
    assert release.domain.source == "training data"
    assert release.domain.notes == ("read off the data",)
    assert len(release.statements.impossible) == 1
    assert (release.rows.low, release.rows.high) == (3, 3)
    assert [m.name for m in release.models] == ["tree 0", "table 1", "table 2"]
    assert release.file == f"{first} + {second}"
    digests = "".join(hashlib.sha256(Path(p).read_bytes()).hexdigest() for p in (first, second))
    assert release.sha256 == hashlib.sha256(digests.encode()).hexdigest()
    assert "all models were trained on the same rows" in release.assumptions


def test_a_domain_given_replaces_all(tmp_path):
    first = write(tmp_path, "a.json", release_of(STUMP, domain={"attributes": [{"name": "z", "values": [1]}]}))
    second = write(tmp_path, "b.json", release_of(STUMP, domain=BARE))
    with pytest.raises(recon.ReleaseError, match=r"need a label"):
        recon.load(first)
    release = recon.load(first, second, domain=recon.load(second).domain)
    assert [a.name for a in release.domain.all] == ["age", "y"]


def test_a_label_may_be_an_attribute_elsewhere(tmp_path):
    plain = {"attributes": [DOMAIN["label"], {"name": "b", "values": [0, 1]}]}
    first = write(tmp_path, "a.json", release_of(figures({"where": {"y": 1}, "count": 2}), domain=plain))
    second = write(tmp_path, "b.json", release_of(STUMP, domain=BARE))
    release = recon.load(first, second)
    assert [a.name for a in release.domain.all] == ["b", "age", "y"]
    assert release.domain.label is not None


JOINS = {
    "values": ({"attributes": [{"name": "age", "min": 20, "max": 29}]}, ["'age'", "20 to 29", "20 to 28"]),
    "order": ({**BARE, "label": {"name": "y", "values": [0, 1, 2]}}, ["'y'", "0, 1, 2"]),
    "label": ({**BARE, "label": {"name": "z", "values": [0, 1]}}, ["label is 'z'", "'y'"]),
    "column": (
        {**BARE, "columns": {"old": {"attribute": "age", "at_least": 25}}},
        ["column 'old'", "age >= 25", "age >= 24"],
    ),
    "two meanings": ({"attributes": [{"name": "old", "values": [0, 1]}]}, ["'old'", "column", "attribute"]),
}


@pytest.mark.parametrize("case", JOINS)
def test_domains_that_do_not_agree_are_refused(case, tmp_path):
    domain, words = JOINS[case]
    own = {**BARE, "columns": {"old": {"attribute": "age", "at_least": 24}}}
    first = write(tmp_path, "a.json", release_of(STUMP, domain=own))
    second = write(tmp_path, "b.json", release_of(figures({"at_least": 1}), domain=domain))
    with pytest.raises(recon.ReleaseError) as refusal:
        recon.load(first, second)
    for word in (first, second, *words):
        assert word in str(refusal.value)


def test_columns_may_say_the_same_in_other_words(tmp_path):
    one = {**BARE, "columns": {"old": {"attribute": "age", "at_least": 24}}}
    two = {**BARE, "columns": {"old": {"attribute": "age", "above": 23}}}
    paths = [write(tmp_path, f"{i}.json", release_of(STUMP, domain=d)) for i, d in enumerate((one, two))]
    assert list(recon.load(*paths).domain.columns) == ["old"]


@pytest.mark.parametrize(
    ("model", "more", "conflict"),
    [
        (figures({"count": 4}), {}, ("b.json: 4 rows", "a.json: 3 rows")),
        (figures({"at_least": 1}), {"rows": {"at_least": 5}}, ("b.json: at least 5 rows", "a.json: 3 rows")),
        (figures({"at_least": 1}), {"rows": {"at_most": 2}}, ("a.json: 3 rows", "b.json: at most 2 rows")),
        (
            {"kind": "rule_list", "rules": [{"if": {"age": 20}, "count": 5}]},
            {"rows": {"at_least": 1}},
            ("b.json: at least 5 rows", "a.json: 3 rows"),
        ),
    ],
)
def test_files_of_different_rows_contradict_each_other(model, more, conflict, tmp_path):
    first = write(tmp_path, "a.json", release_of(STUMP, domain=BARE))
    second = write(tmp_path, "b.json", release_of(model, domain=BARE, **more))
    with pytest.raises(recon.ContradictionError) as error:
        recon.load(first, second)
    assert error.value.conflict == tuple(f"{tmp_path}/{line}" for line in conflict)


def test_models_of_one_file_that_count_different_rows_contradict_each_other(tmp_path):
    path = write(tmp_path, "a.json", release_of(STUMP, figures({"count": 4}), domain=BARE))
    with pytest.raises(recon.ContradictionError) as error:
        recon.load(path)
    assert error.value.conflict == ("models[0] counts 3 rows", "models[1] counts 4 rows")


def test_an_error_in_a_joined_file_names_that_file(tmp_path):
    first = write(tmp_path, "a.json", release_of(STUMP, domain=BARE))
    for model, place in (
        (figures({"where": {"age": 99}, "count": 1}), "models[0].statements[0].where"),
        (edited(STUMP, lambda m: m["nodes"][0].update(counts=[1])), "models[0].nodes[0].counts"),
        (figures({"median": {"of": "age", "value": 99}}), "models[0].statements[0]"),
        (figures({"count": 1.5}), "models[0].statements[0].count"),
    ):
        second = write(tmp_path, "b.json", release_of(model, domain=BARE))
        with pytest.raises(recon.ReleaseError) as refusal:
            recon.load(first, second)
        assert str(refusal.value).startswith(f"{second}: {place}: ")


def test_standard_input_is_read_once(tmp_path):
    with pytest.raises(recon.ReleaseError, match="once"):
        recon.load("-", "-")
    with pytest.raises(recon.ReleaseError, match="a path is needed"):
        recon.load(write(tmp_path, "a.json", release_of(STUMP)), 3)


def test_an_open_cell_of_the_truth_is_named_where_it_is_summed():
    release = encoded(table_of({"mean": {"of": "age", "value": 36.5}}, domain=AGES))
    frame = pd.DataFrame({"age": [36, np.nan], "sex": ["F", "M"]})
    with pytest.raises(recon.ReleaseError, match="'age' open"):
        violations(release, frame)
