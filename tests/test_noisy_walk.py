"""The sampled posterior against exact enumeration: the prior that it names is the one that it draws from.

Means of draws are compared with exact means within five standard errors, by the effective sample size measured over
repeated chains (not by the walk's own), with fixed seeds.
"""

from __future__ import annotations

import json
import math
import random

import numpy as np
import oracle
import oracle_noisy
import pytest
from extras import batches
from oracle_noisy import Uniform

import recon
from solvers.foundation.errors import ReconError

BATCHES = batches(1, 9)


DEAD = {
    "recon": 1,
    "domain": {"attributes": [{"name": "a", "values": list(range(10))}]},
    "rows": {"at_least": 1, "at_most": 2},
    "models": [
        {
            "kind": "tree",
            "noise": {"law": "truncated_laplace", "scale": 1, "bound": 0.9},
            "nodes": [{"if": {"a": {"below": 9}}, "then": 1, "else": 2}, {"count": 0.05}, {"count": 1.5}],
        }
    ],
}


@pytest.mark.slow
def test_cells_that_hold_no_row_stay_in_the_prior(encoded):
    """Only rows with a = 9 are left: one row has prior weight 1/10, two have 1/100, the likelihoods are equal."""
    found = recon.sampled(encoded(DEAD), 4_000)
    assert found.counts["mean"].tolist() == pytest.approx([0, 12 / 11], abs=0.03)
    exact = Uniform(DEAD)
    assert exact.moments()[1][0] == pytest.approx(12 / 11)


def test_impossible_rows_are_no_part_of_the_prior(encoded):
    release = json.loads(json.dumps(DEAD))
    release["domain"]["impossible"] = [{"a": {"at_most": 6}}]
    expected = Uniform(release).moments()[1][0]
    assert expected == pytest.approx((1 / 3 + 2 / 9) / (1 / 3 + 1 / 9))
    assert recon.sampled(encoded(release), 4_000).counts["mean"].iloc[1] == pytest.approx(expected, abs=0.06)


def coupled(rng):
    """Draw a release of several models over few raw rows, the number of rows often in an interval."""
    while True:
        release = oracle_noisy.random_noisy(rng)
        if len(oracle.rows(release)) <= 8 and release["rows"] <= 3:
            break
    if rng.random() < 0.7:
        n = release["rows"]
        release["rows"] = {"at_least": max(0, n - 1), "at_most": n + 1}
    return release


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES)
def test_sampled_posteriors(encoded, batch):
    rng, checked = random.Random(f"walk {batch}"), 0
    while checked < 2:
        release = coupled(rng)
        try:
            got = encoded(release)
            draws = [recon.sampled(got, 320, seed) for seed in range(5)]
        except ReconError:
            continue  # a law that cannot give a figure, models that count different rows, or no world
        exact = Uniform(release)
        checked += 1
        means = np.array([d.counts["mean"] for d in draws])
        error = means.std(axis=0, ddof=1) / math.sqrt(len(draws))
        found = sorted(zip(draws[0].counts["published"], means.mean(axis=0), error, strict=True))
        figures = sorted((o.published, *m) for o, m in zip(exact.listed.noisy, exact.moments(), strict=True))
        for (published, mean, spread), (same, expected, variance) in zip(found, figures, strict=True):
            assert published == same
            tolerance = 5 * max(spread, math.sqrt(variance / 1600)) + 1e-9
            assert abs(mean - expected) <= tolerance, (published, mean, expected, release)
        rows = np.concatenate([d._sample.walk.histograms.sum(axis=1) for d in draws])
        for n, p in exact.rows().items():
            share = [float((d._sample.walk.histograms.sum(axis=1) == n).mean()) for d in draws]
            spread = float(np.std(share, ddof=1)) / math.sqrt(len(draws))
            assert (
                abs(float((rows == n).mean()) - p) <= 5 * max(spread, math.sqrt(p * max(0.0, 1 - p) / 1600)) + 1e-9
            ), (n, release)


def private_forest(seed, rows=30, trees=12, depth=4):
    """Return a forest with random splits on eight bits over random rows, its counts with noise of scale 1."""
    rng = random.Random(seed)
    names = [f"x{k}" for k in range(8)]
    data = [{name: int(rng.random() < 0.4) for name in names} for _ in range(rows)]

    def grown(nodes, inside, left, depth):
        at = len(nodes)
        if not depth:
            noise = rng.expovariate(1.0) - rng.expovariate(1.0)
            nodes.append({"count": round(len(inside) + noise)})
            return at
        nodes.append({})
        name = left[0]
        then = grown(nodes, [r for r in inside if r[name] == 0], left[1:], depth - 1)
        other = grown(nodes, [r for r in inside if r[name] == 1], left[1:], depth - 1)
        nodes[at] = {"if": {name: 0}, "then": then, "else": other}
        return at

    made = []
    for _ in range(trees):
        nodes = []
        grown(nodes, data, rng.sample(names, len(names)), depth)
        made.append({"nodes": nodes})
    model = {"kind": "forest", "trees": made, "bootstrap": False, "noise": {"law": "discrete_laplace", "scale": 1}}
    domain = {"attributes": [{"name": name, "values": [0, 1]} for name in names]}
    return {"recon": 1, "domain": domain, "rows": rows, "models": [model]}


@pytest.mark.slow
def test_a_private_forest_mixes(encoded):
    """Single random moves of rows gave an effective sample of some ten draws here, chains that disagreed."""
    release = encoded(private_forest(0))
    found = recon.sampled(release, 400)
    assert found.draws >= 400
    assert found.rhat < 1.1
    assert found.ess > 100
