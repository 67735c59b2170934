"""Rows known completely and values that are certain, against all raw rows and all datasets of tiny domains."""

from __future__ import annotations

import random
from collections import Counter

import oracle
import oracle_coupled
import pytest
from extras import encoded
from hypothesis import given, settings
from hypothesis import strategies as st
from test_attribute_bits import SEEDS, cells_of, names_of

import recon
from recon.queries.measures import attribute_bits as module
from recon.queries.measures.attribute_bits import forced_groups
from solvers.foundation.errors import ContradictionError
from solvers.foundation.limits import Limits


def found(release, measures=None):
    return forced_groups(release, measures or recon.measure(release), Limits())


def text(value):
    return str(float(value)) if getattr(value, "denominator", 1) != 1 else str(value)


def plain(value):
    """A value in words as the oracle has it: true is 1."""
    return {"True": "1", "False": "0"}.get(value, value)


def said(row, where):
    """Whether a row in words names every value of a row."""
    words = " ".join(map(plain, where.replace("{", " ").split()))
    return all(text(value) in words for value in row)


def domain_values(release):
    """How many values every attribute has as declared, the label last."""
    space = oracle._Space(release)
    return [len(space.values_of(name)) for name in names_of(release)[0]]


def certain_values(release, model):
    """Attribute, value and rows of every region, or class of one, whose raw rows all have one value of several."""
    counts, rows = cells_of(release, model)
    names, label = names_of(release)
    out = Counter()
    for k, name in enumerate(names):
        if len({row[k] for row in oracle.rows(release)}) < 2:
            continue
        for region in {region for region, _ in counts}:
            held = [(c, n) for (r, c), n in counts.items() if r == region and n]
            if label and k == len(names) - 1:
                if len(held) == 1 and all(c is not None for _, c in counts):
                    out[name, text(held[0][0]), held[0][1]] += 1
                continue
            seen = [({row[k] for row in rows[region, c]}, n) for c, n in held]
            if held and len(set.union(*[values for values, _ in seen])) == 1:
                out[name, text(next(iter(seen[0][0]))), sum(n for _, n in held)] += 1
            else:
                for values, n in seen:
                    if len(values) == 1:
                        out[name, text(next(iter(values))), n] += 1
    return out


@pytest.mark.slow
@settings(max_examples=150, derandomize=True)
@given(SEEDS)
def test_of_one_tree_or_rule_list_all_that_is_certain_is_listed(seed):
    rng = random.Random(seed)
    release, _ = oracle.random_release(rng, label_boxes=rng.random() < 0.3)
    got = encoded(release)
    measures = recon.measure(got)
    if isinstance(release.get("rows"), dict) or measures.of_cells:
        return
    answer = found(got, measures)
    values = Counter((v["attribute"], plain(v["value"]), v["rows"]) for v in answer["values"])
    assert values == certain_values(release, release["models"][0])
    assert answer["values_in_all"] == len(answer["values"])
    counts, rows = cells_of(release, release["models"][0])
    known = [(rows[key][0], n) for key, n in counts.items() if n and len(rows[key]) == 1]
    assert sum(row["rows"] for row in answer["rows"]) == sum(n for _, n in known) == measures.determined_rows
    assert answer["rows_in_all"] == len({row for row, _ in known})
    for row, _ in known:  # each row in words, and its rows
        told = [value for value, declared in zip(row, domain_values(release), strict=True) if declared > 1]
        assert any(said(told, one["where"]) for one in answer["rows"])
    for lines in (answer["rows"], answer["values"]):
        assert [line["rows"] for line in lines] == sorted((line["rows"] for line in lines), reverse=True)


@pytest.mark.slow
@settings(max_examples=60, derandomize=True)
@given(SEEDS)
def test_of_several_models_it_holds_in_every_dataset(seed):
    release, _ = oracle_coupled.random_coupled(random.Random(seed))
    if isinstance(release.get("rows"), dict):
        return
    try:
        got = encoded(release)
    except ContradictionError:
        return
    measures = recon.measure(got)
    worlds = oracle.datasets(release)
    if not worlds:
        return
    answer = found(got, measures)
    names, _ = names_of(release)
    for world in worlds:
        for value in answer["values"]:
            k = names.index(value["attribute"])
            assert sum(text(row[k]) == plain(value["value"]) for row in world) >= value["rows"]
        repeated = Counter(world)
        known = sum(row["rows"] for row in answer["rows"])
        assert known <= len(world)
        for one in answer["rows"]:
            told = domain_values(release)
            varying = ((n, [v for v, z in zip(row, told, strict=True) if z > 1]) for row, n in repeated.items())
            fits = [n for n, row in varying if said(row, one["where"])]
            assert max(fits, default=0) >= one["rows"]


def test_lists_are_capped_and_say_how_many_there_are(monkeypatch):
    monkeypatch.setattr(module, "LISTED", 2)
    domain = {"attributes": [{"name": "a", "values": [0, 1, 2]}], "label": {"name": "y", "values": ["no", "yes"]}}
    nodes = [
        {"if": {"a": 0}, "then": 1, "else": 2},
        {"counts": [3, 0]},
        {"if": {"a": 1}, "then": 3, "else": 4},
        {"counts": [1, 1]},
        {"counts": [0, 2]},
    ]
    answer = found(encoded({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes}]}))
    assert [(row["where"], row["rows"]) for row in answer["rows"]] == [
        ("a = 0 and y = no", 3),
        ("a = 2 and y = yes", 2),
    ]
    assert answer["rows_in_all"] == 4
    assert [(v["group"], v["attribute"], v["value"], v["rows"]) for v in answer["values"]] == [
        ("leaf 1", "a", "0", 3),
        ("leaf 1", "y", "no", 3),
    ]
    assert answer["values_in_all"] == 5  # the attribute in every leaf, the class in two


@settings(max_examples=20, derandomize=True)
@given(st.integers(0, 4), st.integers(0, 4))
def test_what_was_certain_before_is_not_listed(no, yes):
    domain = {"attributes": [{"name": "a", "values": [7]}, {"name": "b", "values": [0, 1]}]}
    nodes = [{"if": {"b": 0}, "then": 1, "else": 2}, {"count": no}, {"count": yes}]
    answer = found(encoded({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes}]}))
    assert {v["attribute"] for v in answer["values"]} <= {"b"}
    assert sum(v["rows"] for v in answer["values"]) == no + yes
    assert sum(row["rows"] for row in answer["rows"]) == no + yes
