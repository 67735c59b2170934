"""Noisy releases against brute force over every dataset: confidence sets, verdicts, posteriors, likely counts."""

from __future__ import annotations

import copy
import json
import math
import random
import subprocess
import sys

import oracle
import oracle_noisy
import pandas as pd
import pytest
from extras import batches
from oracle_noisy import Enumerated, Posterior

import recon
from solvers.foundation.errors import EmptyConfidenceSet, Inconclusive, ReleaseError, Unsupported

BATCHES = batches(1, 7)
PER_BATCH = 25
LEVELS = (0.5, 0.95, 1)
PRIORS = ("counts", "worlds")


def releases(test, batch, *, single=False, number=PER_BATCH):
    """Yield random releases, others for every test and batch."""
    rng = random.Random(f"{test} {batch}")
    for _ in range(number):
        yield rng, oracle_noisy.random_noisy(rng, single=single)


def close(a, b, tolerance=1e-7):
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def profiles(rng, release, number=4):
    """Draw profiles: some values of the attributes and the label, at least one."""
    domain = release["domain"]
    columns = [*domain["attributes"], *([domain["label"]] if "label" in domain else [])]
    every = [{c["name"]: rng.choice(c["values"]) for c in columns if rng.random() < 0.7} for _ in range(number)]
    return [p or {columns[0]["name"]: columns[0]["values"][0]} for p in every]


TREE = {
    "recon": 1,
    "domain": {"attributes": [{"name": "a", "values": [0, 1]}]},
    "rows": 3,
    "models": [
        {
            "kind": "tree",
            "nodes": [{"if": {"a": 0}, "then": 1, "else": 2}, {"count": 3}, {"count": -1}],
            "noise": {"law": "discrete_laplace", "scale": 1},
        }
    ],
}


def tree(counts, noise, **other):
    """Return a tree of two leaves over {0, 1} with the given noisy counts; `other` replaces keys (None: left out)."""
    release = {**copy.deepcopy(TREE), **other}
    (model,) = release["models"]
    model["nodes"][1]["count"], model["nodes"][2]["count"] = counts
    model["noise"] = noise
    return {key: value for key, value in release.items() if value is not None}


# ---------------------------------------------------------------- confidence sets


@pytest.mark.parametrize("batch", BATCHES)
def test_count(encoded, batch):
    for _, release in releases("count", batch):
        got, listed = encoded(release), Enumerated(release)
        for level in LEVELS:
            if listed.close_to_an_end(level):
                continue
            for convention in ("ordered", "multiset"):
                expected = listed.worlds(level, convention)
                if expected:
                    assert recon.count(got.at_confidence(level), convention).value == expected, (level, release)
                else:
                    with pytest.raises(EmptyConfidenceSet, match="confidence"):
                        recon.count(got.at_confidence(level), convention)


@pytest.mark.parametrize("kept", [1, 2])
def test_the_number_of_rows_binds_where_one_or_no_count_is_open(encoded, kept):
    noise = {"law": "truncated_laplace", "scale": 1, "bound": 1 if kept == 1 else 0.25}
    release = tree([3, -1] if kept == 1 else [2.1, 1.1], noise)
    listed = Enumerated(release)
    got = encoded(release)
    assert listed.worlds(1, "ordered") == (1 if kept == 1 else 3)
    assert recon.count(got, "ordered").value == listed.worlds(1, "ordered")
    (line,) = recon.certify(got, [{"a": 0}]).to_dict("records")
    assert (line["min_count"], line["max_count"]) == ((3, 3) if kept == 1 else (2, 2))


def range_of(worlds, release, profile):
    """Return the least and greatest number of rows that fit a profile over the worlds."""
    space = oracle._Space(release)
    numbers = [sum(space.holds(profile, r) for r in w) for w in worlds]
    return min(numbers), max(numbers)


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES)
def test_certify(encoded, batch):
    for rng, release in releases("certify", batch):
        got, listed, asked = encoded(release), Enumerated(release), profiles(rng, release)
        for level in (0.8, 1):
            worlds = listed.confident(level)
            if listed.close_to_an_end(level):
                continue
            if not worlds:
                with pytest.raises(EmptyConfidenceSet, match="confidence"):
                    recon.certify(got.at_confidence(level), asked)
                continue
            frame = recon.certify(got.at_confidence(level), asked).to_dict("records")
            for profile, line in zip(asked, frame, strict=True):
                low, high = range_of(worlds, release, profile)
                sure = range_of(listed.confident(1), release, profile)
                verdict = "impossible" if not high else "certain" if sure[0] else "possible"
                assert (line["min_count"], line["max_count"]) == (low, high), (level, profile, release)
                assert line["verdict"] == verdict, (level, profile, release)
                assert line["confidence"] in (1, level), (level, profile, release)
                settled = verdict == "certain" or (verdict == "impossible" and not sure[1])
                if verdict != "possible":
                    assert line["confidence"] == (1 if settled else level), (level, profile, release)
                elif line["confidence"] == 1:
                    assert sure[1], (level, profile, release)


def test_an_empty_confidence_set_names_a_confidence(encoded):
    release = tree([3, 3], {"law": "laplace", "scale": 0.2})
    with pytest.raises(EmptyConfidenceSet, match=r"0\.\d+") as caught:
        recon.count(encoded(release), "ordered")
    assert isinstance(caught.value, Inconclusive)
    listed = Enumerated(release)
    assert not listed.confident(0.95)
    assert recon.count(encoded(release).at_confidence(1), "ordered").value == 8
    p = caught.value.improbability
    assert listed.confident(1 - p * 0.999999)
    assert not listed.confident(1 - p * 1.000001)
    assert f"beyond confidence 1 - {p:.3g}"[:-6] in str(caught.value)


@pytest.mark.slow
def test_an_empty_confidence_set_leaves_the_command_with_4(tmp_path):
    release = tree([6.2, 5.1], {"law": "laplace", "scale": 0.3})
    path = tmp_path / "release.json"
    path.write_text(json.dumps(release), encoding="utf-8")
    command = [sys.executable, "-m", "recon", "count", str(path)]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    assert run.returncode == 4
    assert "No dataset has all its noise inside the joint intervals at confidence 0.95" in run.stdout


def test_certify_with_counts_that_cannot_sum_to_the_rows(encoded):
    rules = [{"if": {"a": 0}, "count": 1}, {"if": {}, "count": -1}]
    model = {"kind": "rule_list", "rules": rules, "noise": {"law": "discrete_laplace", "scale": 0.2}}
    release = {**copy.deepcopy(TREE), "rows": 2, "models": [model]}
    assert not Enumerated(release).confident(0.8)
    with pytest.raises(EmptyConfidenceSet):
        recon.certify(encoded(release).at_confidence(0.8), [{"a": 0}])


def test_what_the_domain_excludes_is_impossible_for_certain(encoded):
    release = tree([3, 1], {"law": "laplace", "scale": 1})
    release["domain"]["attributes"].append({"name": "b", "values": [0, 1]})
    release["domain"]["impossible"] = [{"a": 0, "b": 1}]
    (line,) = recon.certify(encoded(release), [{"a": 0, "b": 1}]).to_dict("records")
    assert (line["verdict"], line["confidence"]) == ("impossible", 1)


# ---------------------------------------------------------------- posteriors


@pytest.mark.parametrize("rows", [{"at_least": 1, "at_most": 5}, 4])
def test_posterior_under_bounded_noise(encoded, rows):
    release = tree([3, 1.39], {"law": "truncated_laplace", "scale": 0.7, "bound": 0.77}, rows=rows)
    mine = Posterior(release, "counts")
    table = recon.posterior(encoded(release)).counts
    assert list(table["expected"]) == pytest.approx(mine.expected())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("batch", BATCHES)
def test_posterior(encoded, batch, prior):
    for rng, release in releases(f"posterior {prior}", batch, single=True):
        if rng.random() < 0.3:
            release["rows"] = {"at_least": 1, "at_most": release["rows"] + 1}
        got, asked, mine = encoded(release), profiles(rng, release), Posterior(release, prior)
        found = recon.posterior(got, prior=prior)
        if not isinstance(release["rows"], dict):  # else the number of rows is part of what is not known
            assert close(found.entropy_bits, mine.bits()), release
            assert close(found.uninformed_bits, mine.bits(before=True)), release
        table = found.counts.to_dict("records")
        published = [one.published for one in mine.noisy]
        assert [line["published"] for line in table[: len(published)]] == pytest.approx(published)
        for j, line in enumerate(table):
            assert close(line["expected"], mine.expected()[j]), (j, release)
            assert mine.mass(j, line["low"], line["high"]) >= 0.95 - 1e-9, (j, release)
            assert mine.mass(j, 0, line["low"] - 1) <= 0.025 + 1e-9, (j, release)
            assert mine.mass(j, line["high"] + 1, 99) <= 0.025 + 1e-9, (j, release)
        likely = tuple(line["likely"] for line in table)
        if len(likely) == len(mine.cells):
            assert math.log(mine.after[likely]) >= math.log(max(mine.after.values())) - 1e-7, (likely, release)
        checked = found.membership(pd.DataFrame(asked, dtype=object)).to_dict("records")
        for profile, line in zip(asked, checked, strict=True):
            now, then, rows_now, rows_then = mine.membership(profile)
            assert close(line["probability"], now), (profile, release)
            assert close(line["probability_before"], then), (profile, release)
            assert close(line["expected_count"], rows_now), (profile, release)
            assert close(line["expected_before"], rows_then), (profile, release)


@pytest.mark.parametrize("batch", BATCHES)
def test_probabilities_of_certify_and_attribute(encoded, batch):
    for rng, release in releases("probabilities", batch, single=True, number=15):
        got = encoded(release).at_confidence(1)
        mine, asked = Posterior(release, "counts"), profiles(rng, release)
        for profile, line in zip(asked, recon.certify(got, asked).to_dict("records"), strict=True):
            now, then, rows_now, _ = mine.membership(profile)
            assert close(line["probability"], now), (profile, release)
            assert close(line["probability_before"], then), (profile, release)
            assert close(line["expected_count"], rows_now), (profile, release)
        sensitive = release["domain"]["attributes"][0]
        others = [{k: v for k, v in p.items() if k != sensitive["name"]} for p in asked]
        lines = recon.attribute(got, others, sensitive["name"]).to_dict("records")
        expected = []
        for profile in others:
            whole = mine.membership(profile)[2]
            for value in sensitive["values"]:
                one = mine.membership({**profile, sensitive["name"]: value})[2]
                expected.append(one / whole if whole > 1e-12 else math.nan)
        assert [x["probability"] for x in lines] == pytest.approx(expected, abs=1e-7, nan_ok=True), release


@pytest.mark.parametrize("seed", range(12))
def test_laplace_noise_bounds_the_odds(encoded, seed):
    rng = random.Random(f"odds {seed}")
    release = oracle_noisy.random_noisy(rng, single=True)
    for model in release["models"]:
        model["noise"] = {"law": "laplace", "scale": rng.choice([0.3, 1, 2])}
        for part in model.get("nodes", model.get("rules")):
            if "count" in part:
                part["count"] = round(rng.uniform(-2, 6), 2) + 0.001
            if "counts" in part:
                part["counts"] = [round(rng.uniform(-2, 6), 2) + 0.001 for _ in part["counts"]]
    ratios = Posterior(release, "worlds").row_odds().values()
    factor = recon.posterior(encoded(release), prior="worlds").odds_factor
    assert factor == pytest.approx(math.exp(2 / model["noise"]["scale"]))
    assert max(ratios) / min(ratios) <= factor * (1 + 1e-9)


# ---------------------------------------------------------------- most likely counts


@pytest.mark.parametrize("batch", BATCHES)
def test_denoise(encoded, batch):
    for _, release in releases("denoise", batch):
        top, attained = Enumerated(release).best()
        found = recon.denoise(encoded(release))
        assert close(found.found.log_likelihood, top, 1e-6), release
        assert consistent_counts(found.models, release) in attained, release


def consistent_counts(models, release):
    """Read the counts of denoised models in the order of the release's noisy numbers."""
    found = []
    for model, drawn in zip(models, release["models"], strict=True):
        if "noise" in drawn:
            assert model.noise is None
            parts = getattr(model, "trees", None) or [model]
            for one in parts:
                found += [s for part in carriers(one) for s in numbers(part)]
    return tuple(found)


def carriers(model):
    return getattr(model, "nodes", None) or getattr(model, "rules", None) or model.statements


def numbers(part):
    support = getattr(part, "support", None)
    if support is None:
        return [part.count]
    return [*(support.counts or ()), *([] if support.count is None else [support.count])]


# ---------------------------------------------------------------- what is refused, and how

BUDGET = {"law": "laplace", "epsilon": 1, "sensitivity": 1, "neighbours": "replace"}


def without(key, **other):
    return {k: v for k, v in {**BUDGET, **other}.items() if k != key}


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (without("epsilon"), "epsilon"),
        (without("", epsilon=0), "epsilon"),
        (without("", epsilon=-1), "epsilon"),
        (without("sensitivity"), "sensitivity"),
        (without("", sensitivity=0), "sensitivity"),
        (without("neighbours"), "neighbours"),
        (without("", neighbours="swap"), "neighbours"),
        (without("", law="gaussian"), "delta"),
        (without("", law="discrete_gaussian"), "delta"),
        (without("", law="truncated_laplace"), "delta"),
        (without("", law="gaussian", delta=0), "delta"),
        (without("", law="gaussian", delta=1.5), "delta"),
        (without("", scale=1), "not both"),
        ({"law": "laplace", "scale": 0}, "scale"),
        ({"law": "laplace", "scale": -1}, "scale"),
        ({"law": "laplace", "scale": "1"}, "scale"),
        ({"law": "laplace"}, "scale"),
        ({"law": "cauchy", "scale": 1}, "law"),
        ({"law": "truncated_laplace", "scale": 1}, "bound"),
        ({"law": "truncated_laplace", "scale": 1, "bound": 0}, "bound"),
        ({"law": "laplace", "scale": 1, "bound": 3}, "bound"),
        ({"law": "laplace", "scale": 1, "decided": "the splits"}, "decided"),
        ({"law": "laplace", "scale": 1, "adjusted": True}, "adjusted"),
        ({"law": "laplace", "scale": 1, "colour": 1}, "colour"),
    ],
)
def test_a_law_that_is_none_is_refused(encoded, noise, words):
    with pytest.raises(ReleaseError, match=words):
        encoded(tree([2.5, 0.5], noise))


@pytest.mark.parametrize("options", [{"law": "discrete_laplace"}, {"law": "discrete_gaussian"}, {"rounded": True}])
def test_a_fractional_count_needs_a_law_that_makes_it(encoded, options):
    noise = {"law": "laplace", "scale": 1, **options}
    with pytest.raises(ReleaseError, match="fractional"):
        encoded(tree([2.5, 1], noise))
    assert encoded(tree([2, 1], noise)).noisy


def test_a_clamped_count_is_not_negative(encoded):
    with pytest.raises(ReleaseError, match="negative"):
        encoded(tree([2.5, -0.5], {"law": "laplace", "scale": 1, "clamped": True}))


def test_no_count_is_beyond_bounded_noise(encoded):
    """A negative number that no noise can give is refused or has no world; it is not an empty confidence set."""
    with pytest.raises((ReleaseError, recon.ContradictionError)):
        recon.count(encoded(tree([3, -2], {"law": "truncated_laplace", "scale": 1, "bound": 1})), "ordered")


def test_an_unknown_number_of_rows(encoded):
    release = tree([2, 1], {"law": "discrete_laplace", "scale": 0.4}, rows=None)
    got = encoded(release)
    with pytest.raises(Unsupported, match="number of rows"):
        recon.posterior(got)
    wide = Enumerated({**release, "rows": {"at_least": 0, "at_most": 9}})
    expected = wide.worlds(0.95, "multiset")
    assert expected > 1
    assert recon.count(got, "multiset").value == expected
    with pytest.raises(Inconclusive):
        recon.count(got.at_confidence(1), "multiset")
