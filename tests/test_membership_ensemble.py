"""The local ensemble against the rules written out row by row; its choice is never empty."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from recon.attacks.membership.shadow_data import MembershipGuess, _beyond_elbow, _surest, ensemble
from solvers.foundation.errors import ReleaseError

SCORES = st.tuples(st.integers(1, 7), st.integers(1, 4)).flatmap(
    lambda shape: arrays(float, shape, elements=st.sampled_from([k / 8 for k in range(9)]) | st.floats(0, 1))
)


def guesses(scores, thresholds):
    return [MembershipGuess("mia", s, s > t) for s, t in zip(scores, thresholds, strict=True)]


def kept_by_confidence(d):
    mean = sum(d) / len(d)
    bar = mean + math.sqrt(sum((v - mean) ** 2 for v in d) / len(d)) - 1e-12
    kept = [v >= bar for v in d]
    return kept if any(kept) else [v >= max(d) - 1e-12 for v in d]


def kept_by_elbow(d):
    curve = sorted(d)
    n = len(curve)
    chord = [curve[0] + (k / max(n - 1, 1)) * (curve[-1] - curve[0]) for k in range(n)]
    away = [abs(a - b) for a, b in zip(curve, chord, strict=True)]
    elbow = next(v for v, far in zip(curve, away, strict=True) if far >= max(away) - 1e-12)
    return [v >= elbow - 1e-12 for v in d]


@pytest.mark.slow
@settings(deadline=None)
@given(SCORES, st.sampled_from(["confidence", "threshold"]))
def test_the_choice_is_never_empty_and_that_of_the_rules(scores, rule):
    thresholds = [0.5 if rule == "confidence" else 0.3 + 0.05 * k for k in range(len(scores))]
    found = ensemble(guesses(scores, thresholds), rule, thresholds)
    assert np.isfinite(found.scores).all()
    for j in range(scores.shape[1]):
        column = scores[:, j].tolist()
        if rule == "confidence":
            kept = kept_by_confidence([abs(s - (1 - s)) for s in column])
        else:
            kept = kept_by_elbow([abs(s - t) for s, t in zip(column, thresholds, strict=True)])
        votes = [s > t for s, t, k in zip(column, thresholds, kept, strict=True) if k]
        assert votes
        share = pytest.approx(sum(votes) / len(votes), abs=1e-9)
        assert found.scores[j] == share or near_a_bar(column, thresholds, rule)
        assert found.members[j] == (found.scores[j] > 0.5)
    distances = np.abs(2 * scores - 1)
    assert _surest(distances).any(axis=0).all()
    assert _beyond_elbow(distances).any(axis=0).all()


def near_a_bar(column, thresholds, rule):
    """Return whether rounding may decide: some distance is within 1e-9 of the bar, but not on it by construction."""
    if rule == "confidence":
        d = [abs(2 * s - 1) for s in column]
        bar = np.mean(d) + np.std(d)
    else:
        d = [abs(s - t) for s, t in zip(column, thresholds, strict=True)]
        curve = np.sort(d)
        away = np.sort(np.abs(curve - np.linspace(curve[0], curve[-1], len(curve))))
        return len(curve) > 1 and away[-1] - away[-2] < 1e-9
    return min(abs(v - bar) for v in d) < 1e-9


def test_a_sure_minority_is_heard_and_equal_ones_all():
    sure = np.array([[0.99], [0.45], [0.45], [0.45], [0.45]])
    assert ensemble(guesses(sure, [0.5] * 5)).members.tolist() == [True]
    alike = np.array([[0.8], [0.2], [0.2]])  # all equally sure: the majority
    assert ensemble(guesses(alike, [0.5] * 3)).scores.tolist() == [pytest.approx(1 / 3)]
    assert _surest(np.full((4, 2), 0.1 + 0.2)).all()


def test_no_distance_reaches_mean_and_deviation_only_by_rounding():
    distances = np.array([[0.0], [0.0], [1.0], [1.0]])  # mean 1/2 + deviation 1/2: exactly at the bar
    assert _surest(distances).ravel().tolist() == [False, False, True, True]


def test_the_elbow_by_hand_and_a_straight_line_keeps_everybody():
    bent = np.array([[0.1], [0.12], [0.14], [0.16], [0.9]])
    assert _beyond_elbow(bent).ravel().tolist() == [False, False, False, True, True]
    assert _beyond_elbow(np.array([[0.1], [0.2], [0.3]])).all()
    assert _beyond_elbow(np.full((3, 1), 0.7)).all()


def test_a_tie_of_votes_is_no_member_and_one_attack_speaks_for_itself():
    tie = np.array([[0.9], [0.1]])
    assert ensemble(guesses(tie, [0.5, 0.5])).scores.tolist() == [0.5]
    assert not ensemble(guesses(tie, [0.5, 0.5])).members.any()
    one = ensemble(guesses(np.array([[0.7, 0.2]]), [0.5]), "threshold", [0.5])
    assert one.members.tolist() == [True, False]
    assert one.attack == "mia (ensemble of 1)"


@pytest.mark.parametrize(
    ("made", "more", "said"),
    [
        ([], {}, "one attack at least"),
        (
            [
                MembershipGuess("a", np.zeros(2), np.zeros(2, bool)),
                MembershipGuess("a", np.zeros(3), np.zeros(3, bool)),
            ],
            {},
            r"\[2, 3\]",
        ),
        ([MembershipGuess("a", np.array([np.nan]), np.zeros(1, bool))], {}, "not a finite number"),
        ([MembershipGuess("lira", np.array([3.0]), np.ones(1, bool))], {}, "outside 0 to 1"),
        (
            [MembershipGuess("a", np.zeros(1), np.zeros(1, bool))],
            {"rule": "threshold"},
            "1 attacks need a threshold each; 0",
        ),
        ([MembershipGuess("a", np.zeros(1), np.zeros(1, bool))], {"rule": "all"}, "no rule 'all'"),
    ],
)
def test_what_is_no_ensemble_is_refused(made, more, said):
    with pytest.raises(ReleaseError, match=said):
        ensemble(made, **more)


def test_attacks_that_differ_in_the_last_bit_only_are_equally_sure():
    # c_IN = 0.2 and 0.8 are equally far from 1/2, but not in floating point: both are the surest, and both vote
    scores = np.array([[0.4], [0.2], [0.8], [0.5]])
    votes = [MembershipGuess("mia", s, s > 0.5, threshold=0.5) for s in scores]
    distances = np.abs(2 * scores - 1)
    assert distances[1, 0] != distances[2, 0]
    assert _surest(distances)[:, 0].tolist() == [False, True, True, False]
    assert ensemble(votes, "confidence").scores.tolist() == [0.5]
    # the elbow is 0.3 here, of which one floating-point number is a little less
    assert _beyond_elbow(np.array([[0.0], [0.8 - 0.5], [0.3], [0.31]]))[:, 0].tolist() == [False, True, True, True]
