"""Noisy releases whose number of rows is an interval or not said: nothing but certainty is called certain.

Against brute force over every dataset (`oracle_noisy`): which releases contradict themselves whatever the noise, how
improbable the noise is where no dataset fits, and that neither depends on the confidence asked for.
"""

from __future__ import annotations

import math
import random

import oracle
import oracle_noisy
import pytest
from extras import batches
from oracle_noisy import MAX_ROWS, Enumerated

import recon
from solvers.foundation.errors import ContradictionError, EmptyConfidenceSet, ReleaseError

LEVELS = (0.5, 0.95)
BATCHES = batches(1, 11)


def noisy(law, scale, **other):
    return {"law": law, "scale": scale, **other}


TABLE_AND_TREE = {
    "recon": 1,
    "domain": {
        "attributes": [
            {"name": "a", "values": [0, 1, 2]},
            {"name": "b", "values": [0, 1]},
            {"name": "y", "values": [0, 1]},
        ]
    },
    "rows": {"at_least": 3, "at_most": 10},
    "models": [
        {
            "kind": "tree",
            "noise": noisy("discrete_laplace", 0.3),
            "nodes": [{"if": {"a": {"at_most": 1.5}}, "then": 1, "else": 2}, {"count": 3}, {"count": 1}],
        },
        {"kind": "table", "statements": [{"where": {"b": 1}, "count": 8}]},
    ],
}
CLAMPED = {
    "recon": 1,
    "domain": {"attributes": [{"name": "a", "values": [0, 1, 2]}, {"name": "b", "values": [0, 1]}]},
    "rows": {"at_least": 3, "at_most": 5},
    "models": [
        {
            "kind": "tree",
            "noise": noisy("laplace", 0.25, clamped=True),
            "nodes": [
                {"if": {"a": 0}, "then": 1, "else": 2}, {"count": 6.292},
                {"if": {"a": 1}, "then": 3, "else": 4}, {"count": 0.863},
                {"if": {"b": 0}, "then": 5, "else": 6}, {"count": 0.247}, {"count": 0},
            ],
        }
    ],
}  # fmt: skip


def emptied(release, level):
    """Return what says that there is no dataset at the confidence."""
    with pytest.raises(EmptyConfidenceSet) as caught:
        recon.count(release.at_confidence(level), "ordered")
    return caught.value


@pytest.mark.parametrize("rows", [{"at_least": 3, "at_most": 10}, None])
def test_rows_that_the_intervals_leave_are_not_certain(encoded, rows):
    release = {**TABLE_AND_TREE, "rows": rows}
    if rows is None:
        del release["rows"]
    got = encoded(release)
    # 8 rows against 3 + 1 published: noise of 2 in both leaves, P(|noise| >= 2) = 2 q^2 / (1 + q), q = e^(-1/0.3)
    q = math.exp(-1 / 0.3)
    expected = -math.expm1(2 * math.log1p(-2 * q**2 / (1 + q)))
    for level in (0.5, 0.95):
        assert emptied(got, level).improbability == pytest.approx(expected, rel=1e-9)
    assert recon.count(got.at_confidence(0.9999), "ordered").value == 663_871_488


def test_a_conflict_does_not_name_rows_that_nobody_published(encoded):
    release = {k: v for k, v in TABLE_AND_TREE.items() if k != "rows"}
    release["models"] = [release["models"][0], {"kind": "table", "statements": [{"where": {"b": 1}, "count": 100}]}]
    error = emptied(encoded(release), 0.95)
    assert not any("number of rows" in source for source in error.clashing)
    assert any("leaf 1" in source for source in error.clashing)
    assert 0 < error.improbability < 1e-60


def test_rows_that_are_needed_beyond_all_usual_noise(encoded):
    """Denoising and posterior: no contradiction either, the rows are capped where the noise that is needed allows."""
    release = {k: v for k, v in TABLE_AND_TREE.items() if k != "rows"}
    release["models"] = [release["models"][0], {"kind": "table", "statements": [{"where": {"b": 1}, "count": 100}]}]
    found = recon.denoise(encoded(release))
    assert found.found.proved
    assert found.rows == 100
    clash = [{"where": {"b": 1}, "count": 8}, {"where": {"a": 1, "b": 1}, "count": 9}]
    release["models"] = [release["models"][0], {"kind": "table", "statements": clash}]
    assert recon.count(encoded(release), "ordered").status == "unsat"
    with pytest.raises(ContradictionError):
        recon.denoise(encoded(release))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.97])
def test_improbability_does_not_depend_on_the_confidence(encoded, level):
    error = emptied(encoded(CLAMPED), level)
    assert error.improbability == pytest.approx(Enumerated(CLAMPED).improbability(), rel=1e-9)
    assert error.improbability == pytest.approx(0.02259, abs=5e-6)


def odd_releases(batch, number=10):
    """Yield releases over few raw rows, counts moved away from the truth, rows exact, in an interval or not said."""
    rng = random.Random(f"odd rows {batch}")
    while number:
        release = oracle_noisy.random_noisy(rng)
        if len(oracle.rows(release)) > 6:
            continue
        for model in release["models"]:
            if "noise" in model and "scale" in model["noise"]:
                model["noise"]["scale"] = rng.choice([0.2, 0.3, 1])
            parts = [
                p for t in model.get("trees", [model]) for p in t.get("nodes", t.get("rules", t.get("statements")))
            ]
            for part in parts if "noise" in model else ():
                if "count" in part and rng.random() < 0.5:
                    part["count"] += rng.choice([1, 2, 3])
                if "counts" in part and rng.random() < 0.5:
                    part["counts"][0] += rng.choice([1, 2])
        kind, n = rng.choice(["exact", "interval", "interval", "left out", "left out"]), release["rows"]
        if kind == "interval":
            release["rows"] = {"at_least": max(0, n - rng.choice([0, 1])), "at_most": n + rng.choice([0, 1, 2])}
        elif kind == "left out":
            del release["rows"]
        number -= 1
        yield kind, release


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES)
def test_what_is_impossible_whatever_the_noise(encoded, batch):
    told = {"unsat": 0, "empty": 0, "exact": 0}
    for kind, release in odd_releases(batch):
        try:
            got = encoded(release)
        except (ReleaseError, ContradictionError):
            continue  # a figure that its law cannot give, or two models that count differently
        listed = Enumerated(release)
        expected = listed.improbability()
        for level in LEVELS:
            at = got.at_confidence(level)
            if at.rows.high is None or listed.close_to_an_end(level):
                continue  # nothing bounds the rows, or rounding decides
            if kind == "left out" and at.rows.high > MAX_ROWS:
                continue  # the brute force stops there
            worlds = listed.worlds(level, "multiset")
            if worlds:
                assert recon.count(at, "multiset").value == worlds, (level, release)
                told["exact"] += 1
            elif expected is None:
                assert recon.count(at, "multiset").status == "unsat", (level, release)
                told["unsat"] += 1
            else:
                assert emptied(got, level).improbability == pytest.approx(expected, rel=1e-6), (level, release)
                told["empty"] += 1
        if expected is not None and kind != "left out" and not at.statements.loosened:
            assert recon.denoise(got).found.log_likelihood == pytest.approx(listed.best()[0], abs=1e-6), release
    assert min(told["empty"], told["exact"]) > 0, told


@pytest.mark.sampled(2)
@pytest.mark.parametrize("second", ["tree", "table"])
@pytest.mark.parametrize("rest", [[], [{"kind": "table", "statements": [{"where": {"b": 1}, "count": 3}]}]])
def test_rows_are_not_capped_below_the_most_likely_dataset(encoded, second, rest):
    """A tree says about 0 rows, twice as sure a figure 200: capped by the tree's noise, 82 of 1,000 were "optimal"."""
    nodes = [{"if": {"a": 0}, "then": 1, "else": 2}, {"count": 0}, {"count": 2}]
    first = {"kind": "tree", "noise": noisy("discrete_laplace", 1), "nodes": nodes}
    surer = noisy("discrete_laplace", 0.5)
    other = {"kind": "tree", "noise": surer, "nodes": [nodes[0], {"count": 200}, {"count": 2}]}
    if second == "table":
        other = {"kind": "table", "noise": surer, "statements": [{"where": {"a": 0}, "count": 200}]}
    release = {"recon": 1, "domain": TABLE_AND_TREE["domain"], "models": [first, other, *rest]}
    found, known = (recon.denoise(encoded(r)) for r in (release, release | {"rows": {"at_least": 0, "at_most": 2_000}}))
    assert found.rows == known.rows == 202
    assert found.found.log_likelihood == pytest.approx(known.found.log_likelihood, abs=1e-9)
    assert found.found.bound == pytest.approx(known.found.bound, abs=1e-6)
    assert found.found.proved
