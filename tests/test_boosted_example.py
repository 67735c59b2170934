"""The boosted model among the examples: what it gives back, and that its remedies are figures of the true rows."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import recon
from recon.queries.leaf_values.determined import determined
from recon.readers.frames.world import violations

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def release():
    folder = EXAMPLES / "releases"
    return recon.load(folder / "boosted_model.txt", domain=str(folder.parent / "boosted_domain.json"))


@pytest.fixture(scope="module")
def people():
    spec = importlib.util.spec_from_file_location("make_releases", EXAMPLES / "make_releases.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made.made_up_people()


@pytest.mark.slow
def test_it_gives_all_rows_back_and_they_are_the_true_ones(release, people):
    (found,) = determined(release)
    assert (found.known, found.with_label, found.whole, found.rows) == (200, 200, 200, 200)
    world = recon.reconstruct(release)
    columns = list(people.columns)
    assert world.unique
    assert sorted(world.to_frame()[columns].itertuples(index=False, name=None)) == sorted(
        people.itertuples(index=False, name=None)
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("decimals", [8, 5, 3])
def test_rounded_leaf_values_still_say_something_and_hold_of_the_true_rows(release, people, decimals):
    """LightGBM's sums of gradients and hessians become one equation per leaf: its value without weights."""
    changed = recon.rounded(release, decimals)
    (model,) = changed.statements.boosted
    assert all(len(tree) == len(tree.step) for tree in model.trees)
    assert violations(changed, people) == []
