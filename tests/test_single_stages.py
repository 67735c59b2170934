"""Gradients in single precision, step by step: what numpy computes in float32 lies in both enclosures, which agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvers.statements.gradients.boosted import Gradients, rows_at
from solvers.statements.gradients.enclosed import BITS, contribution

LAW = Gradients("log_loss", "float32", "float32", relative=2.0**-31, stages="float32")
NEAR = 2.0**-BITS


def computed(score):
    """Return g for both classes and h as float32 arithmetic gives them, with exp rounded from doubles."""
    one, x = np.float32(1), min(-np.float32(score), np.float32(88.7))
    odds = np.float32(np.exp(np.float64(x)))
    p = one / (odds + one)
    return (p, p - one), max(p * (one - p), np.float32(1e-16))


def ends(pair):
    return pair[0] * NEAR, pair[1] * NEAR


@given(st.floats(-120, 120, width=32))
def test_float32_gradients_are_enclosed(score):
    (absent, present), curve = computed(score)
    exact = contribution(LAW, (score,), 0, 2, first=False)
    rows = rows_at(LAW, np.array([[score]]), 0, 2, first=False)
    for k, value in enumerate((absent, present)):
        low, high = ends(exact.gradient[k])
        assert low - NEAR <= value <= high + NEAR
        assert rows.gradient.low[0, k] <= value <= rows.gradient.high[0, k]
        # the intervals of search contain those that proofs are checked with, and are no wider than two numbers more
        assert rows.gradient.low[0, k] <= low + NEAR
        assert high - NEAR <= rows.gradient.high[0, k]
    low, high = ends(exact.hessian)
    assert low - NEAR <= curve <= high + NEAR
    assert rows.hessian.low[0] <= low + NEAR
    assert high - NEAR <= rows.hessian.high[0]


def test_most_gradients_are_one_number():
    scores = np.random.default_rng(0).normal(0, 2, 2000).astype(np.float32).astype(np.float64)
    rows = rows_at(LAW, scores[:, None], 0, 2, first=False)
    assert (rows.gradient.radius == 0).mean() > 0.95
    exact = [contribution(LAW, (s,), 0, 2, first=False) for s in scores[:300].tolist()]
    assert sum(c.hessian[0] == c.hessian[1] for c in exact) > 280


@given(st.floats(-5, 5, width=32), st.floats(0, 1e-3))
def test_scores_that_are_off_widen_them(score, error):
    law = Gradients("log_loss", "float32", "float32", relative=2.0**-31, score_error=error, stages="float32")
    rows = rows_at(law, np.array([[score]]), 0, 2, first=False)
    exact = contribution(law, (score,), 0, 2, first=False)
    for moved in (score - error, score, score + error):
        value = computed(moved)[0][0] if float(np.float32(moved)) == moved else computed(score)[0][0]
        assert rows.gradient.low[0, 0] <= value <= rows.gradient.high[0, 0]
        low, high = ends(exact.gradient[0])
        assert low - NEAR <= value <= high + NEAR


def test_other_laws_are_refused():
    for law in (Gradients("log_loss", stages="float32", scale=2.0), Gradients("softmax", stages="float32")):
        with pytest.raises(ValueError, match="log loss"):
            contribution(law, (0.0, 0.0), 0, 2, first=False)
        with pytest.raises(ValueError, match="log loss"):
            rows_at(law, np.zeros((1, 2)), 0, 2, first=False)
