"""Solvers of others for optimal trees: their trees against brute force, their claims checked, their absence said."""

from __future__ import annotations

import base64
import importlib.util
import itertools
import sys
import types

import numpy as np
import pytest

from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier, SolvedTree, in_dl85, solve_tree
from recon.learners.optimal.trees.table import counted_nodes, errors
from solvers.foundation.errors import EngineError, Unsupported
from solvers.foundation.limits import Limits
from tests.extras import extra


def fewest(bits, codes, depth, least):
    """Return the fewest errors of a tree, by trying all of them."""
    wrong = len(codes) - max(np.bincount(codes, minlength=2))
    if depth == 0:
        return wrong
    for column in bits.T:
        sides = [column == v for v in (0, 1)]
        if min(side.sum() for side in sides) >= least:
            wrong = min(wrong, sum(fewest(bits[s], codes[s], depth - 1, least) for s in sides))
    return wrong


def rows(seed, n=40, d=5):
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n, d)).astype(bool)
    return bits, (bits[:, 0] ^ (bits[:, 1] & bits[:, 2]) ^ (rng.random(n) < 0.2)).astype(int)


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize(("seed", "depth", "least"), [(0, 2, 1), (1, 2, 4), (2, 3, 1), (3, 3, 3)])
def test_streed_makes_the_fewest_errors(seed, depth, least):
    extra("pystreed")
    bits, codes = rows(seed)
    found = OptimalTreeClassifier(depth, least, solver="streed").fit(bits.astype(int), codes)
    assert found.errors_ == fewest(bits, codes, depth, least)
    assert found.errors_ == int((found.predict(bits.astype(int)) != codes).sum())
    assert (found.optimal_, found.certified_by_) == (True, "streed")


def dl85_double(tree, wrong):
    """Return a module like pydl85 whose classifier finds a given tree; rows with 1 go left, as theirs do."""

    class DL85Classifier:
        def __init__(self, max_depth, min_sup, time_limit):
            assert isinstance(time_limit, int)
            self.asked = max_depth, min_sup

        def fit(self, bits, codes):
            self.tree_, self.error_, self.timeout_ = tree, float(wrong), False

    module = types.ModuleType("pydl85")
    module.DL85Classifier = DL85Classifier
    return module


def leaf(value):
    return {"value": value, "error": 0.0}


def test_a_tree_of_dl85_is_read_the_right_way_round(monkeypatch):
    bits = np.array(list(itertools.product((0, 1), repeat=2)), dtype=bool)
    codes = (bits[:, 0] & ~bits[:, 1]).astype(int)
    tree = {"feat": 0, "left": {"feat": 1, "left": leaf(0), "right": leaf(1)}, "right": leaf(0)}
    monkeypatch.setitem(sys.modules, "pydl85", dl85_double(tree, 0))
    packed = base64.b64encode(np.packbits(bits, axis=1).tobytes()).decode()
    payload = {"bits": packed, "rows": 4, "columns": 2, "codes": codes.tolist(), "depth": 2, "least": 1, "seconds": 0.5}
    reply = in_dl85(payload)
    assert reply == {"shape": [0, None, [1, None, None]], "errors": 0, "optimal": True}
    weight = np.zeros((4, 2), dtype=np.int64)
    weight[np.arange(4), codes] = 1
    assert errors(counted_nodes(reply["shape"], bits, weight)) == 0
    mirrored = [0, [1, None, None], None]
    assert errors(counted_nodes(mirrored, bits, weight)) > 0


def test_the_claim_of_dl85_is_not_believed(monkeypatch):
    """It calls a tree optimal that is not: our bound stands beside it."""
    bits, codes = rows(0)
    shape = [4, None, None]
    wrong = sum(int(np.bincount(codes[bits[:, 4] == v]).min()) for v in (0, 1))
    best = fewest(bits, codes, 2, 1)
    assert wrong > best
    home = "recon.learners.optimal.trees.optimal_tree.solve_tree"
    monkeypatch.setattr(home, lambda *_: SolvedTree(shape, wrong, True))
    found = OptimalTreeClassifier(2, 1, solver="dl85").fit(bits.astype(int), codes)
    assert (found.errors_, found.bound_, found.claimed_, found.optimal_) == (wrong, best, True, False)
    monkeypatch.setattr(home, lambda *_: SolvedTree(shape, wrong - 1, True))
    with pytest.raises(EngineError, match=f"{wrong} errors, it says {wrong - 1}"):
        OptimalTreeClassifier(2, 1, solver="dl85").fit(bits.astype(int), codes)


def test_a_solver_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    bits, codes = rows(0)
    with pytest.raises(Unsupported, match="'dl85' needs the package pydl85, which is not installed: pip install"):
        solve_tree("dl85", bits, codes, 2, 1, Limits(seconds=5))
