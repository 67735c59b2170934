"""Forests trained on real data: given back whole, and counted like every histogram listed by CP-SAT."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import recon
from recon.readers.frames.world import violations
from solvers.cells.system import system_of
from solvers.foundation.limits import Limits
from solvers.programs.cell_model import CellModel

sklearn = pytest.importorskip("sklearn.ensemble")


def trained(path, rows, trees, depth=None):
    frame = pd.read_csv(path)
    label = frame.columns[-1]
    domain = recon.Domain.from_frame(frame, label=label)
    chosen = frame.sample(rows, random_state=0).reset_index(drop=True)
    forest = sklearn.RandomForestClassifier(trees, max_depth=depth, bootstrap=False, random_state=0)
    return chosen, recon.encode(forest.fit(chosen.drop(columns=label), chosen[label]), domain)


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize(("name", "rows", "trees"), [("compas14", 7_000, 100), ("credit21", 500, 60)])
def test_full_grown_forests_are_given_back_whole(data, name, rows, trees):
    truth, release = trained(data(f"{name}.csv.gz"), rows, trees)
    world = recon.reconstruct(release)
    assert world.unique is True
    assert recon.count(release, "multiset").value == 1
    views = world.to_frame(views=True)[list(truth.columns)]
    assert Counter(views.itertuples(index=False, name=None)) == Counter(truth.itertuples(index=False, name=None))
    assert (recon.certify(release, truth.drop_duplicates())["verdict"] == "certain").all()
    assert recon.measure(release).determined_rows == rows


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("rows", "trees"), [(50, 3), (50, 5), (50, 10), (50, 20), (100, 10), (100, 20), (100, 50)])
def test_counts_are_those_of_all_histograms(data, rows, trees):
    truth, release = trained(data("compas14.csv.gz"), rows, trees)
    system = system_of(release.statements, Limits())
    total = 0
    for z in CellModel(system).every(Limits(seconds=600)):
        held = np.flatnonzero(z).tolist()
        ways = math.prod(system.sizes[c] ** int(z[c]) for c in held) * math.factorial(rows)
        total += ways // math.prod(math.factorial(int(z[c])) for c in held)
    answer = recon.count(release, "ordered")
    assert answer.value == total
    assert answer.engine == "histogram"
    assert not violations(release, truth)
    assert not violations(release, recon.sample(release, 1, seed=3)[0].to_frame())


@pytest.mark.long
def test_a_shallow_forest_has_a_narrow_interval(data):
    truth, release = trained(data("compas14.csv.gz"), 500, 20, depth=3)
    answer = recon.count(release, "ordered", Limits(seconds=30))
    low, high = answer.bounds
    assert answer.status == "bounds"
    assert answer.engine == "interval"
    assert (high - low) / high < 0.10
    profiles = truth.drop_duplicates().head(40)
    found = recon.certify(release, profiles, limits=Limits(seconds=30))
    assert not (found["verdict"] == "impossible").any()
    counted = Counter(truth.itertuples(index=False, name=None))
    for row, line in zip(profiles.itertuples(index=False, name=None), found.to_dict("records"), strict=True):
        assert line["min_count"] <= counted[row] <= line["max_count"]
