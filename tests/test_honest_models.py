"""Models of a careful office: what is right of them is proved apart, and the proof notices what is not right."""

from __future__ import annotations

import json

import honest_models
import honest_proofs
import numpy as np
import pytest
from plain_groups import Worlds

pytestmark = pytest.mark.skipif(not honest_models.DATA.exists(), reason="needs the data folder (RECON_DATA)")


@pytest.fixture(scope="module")
def frame():
    return honest_models.frame_of("compas14")


def rule_list(frame, folder, *conditions):
    """Return a rule list with the counts of the data, its atoms and its true world."""
    domain = json.loads(honest_models.domain_of(frame, folder / "d.json").read_text())["domain"]
    rest, rules = np.ones(len(frame), bool), []
    for condition in [*conditions, {}]:
        inside = rest.copy()
        for name, value in condition.items():
            inside &= (frame[name] == value).to_numpy()
        rules.append({"if": condition, "counts": [int((inside & (frame.iloc[:, -1] == v)).sum()) for v in (0, 1)]})
        rest &= ~inside
    release = {"recon": 1, "domain": domain, "rows": len(frame), "models": [{"kind": "rule_list", "rules": rules}]}
    worlds = Worlds(release)
    return worlds, honest_proofs.true_world(worlds, release, frame)


def test_the_true_rows_are_a_world_and_show_small_cells(frame, tmp_path):
    worlds, world = rule_list(frame, tmp_path, {"priors:>3": 1}, {"sex:Male": 1})
    assert world.sum() == len(frame) == 7_206
    assert not honest_proofs.bad_atoms(worlds, world).any()
    assert honest_proofs.never_pinned(worlds, [world])
    names = {"age:18-20": 1, "juvenile-felonies:>0": 1, "priors:>3": 1}
    worlds, world = rule_list(frame, tmp_path, names)
    assert sorted(honest_proofs.bad_atoms(worlds, world)) == [False, True]
    (atoms,) = honest_proofs.small_sets(worlds, world)
    low, high = honest_proofs.ends(worlds, atoms)
    assert 1 <= low == high == world.reshape(-1, 2)[atoms].sum() < 10


def test_rows_are_moved_out_of_small_cells_where_figures_are_least_numbers(frame, tmp_path):
    domain = json.loads(honest_models.domain_of(frame, tmp_path / "d.json").read_text())["domain"]
    leaves = [{"counts": [9, 9], "distinct": 2}, {"counts": [3_000, 3_000], "distinct": 3_000}]
    tree = {"nodes": [{"if": {"sex:Male": 1}, "then": 1, "else": 2}, *leaves]}
    release = {
        "recon": 1,
        "domain": domain,
        "rows": 6_018,
        "models": [{"kind": "forest", "bootstrap": True, "trees": [tree]}],
    }
    worlds = Worlds(release)
    male = next(k for k, atom in enumerate(worlds.atoms) if atom[-1] == 1)
    start = np.full((2, 2), 3_000)
    start[male] = [9, 9]
    found = honest_proofs.moved(worlds, worlds.checked(start.ravel()), 10)
    assert found.sum() == 6_018
    assert found.reshape(-1, 2)[male].min() >= 10


@pytest.mark.parametrize("sort", ["remedied and tables"])
def test_ten_of_the_models_are_made_and_right(sort, tmp_path):
    models = [one for one in honest_models.built(tmp_path, sort) if one.data == "compas14"]
    assert {one.name for one in models} == {"remedied compas14", "table compas14"}
    kept = json.loads(honest_proofs.OUT.read_text())
    for one in models:
        assert honest_proofs.proved(one) == kept[one.name]
