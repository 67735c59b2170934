"""What keeps an answer from claiming more than was proved: worlds of statements that say less than was published."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from recon.queries.certificates.verifying import _in_floats
from recon.report.wording.headline import _ends_text
from solvers.foundation.errors import Unsupported
from solvers.foundation.exact import complement_text
from solvers.statements.boxes import Attribute, RowSpace
from solvers.statements.questions.answers import (
    Answer,
    CountAnswer,
    DecideAnswer,
    ExtremeAnswer,
    JointAnswer,
    LeaveOneOutAnswer,
    PerCellAnswer,
    ShareAnswer,
    WorldsAnswer,
    relaxed_answer,
)
from solvers.statements.questions.query import Count, Extreme, PerCell
from solvers.statements.release import Release, RowCount

LOOSENED = Release(RowSpace((Attribute("a", (1, 1)),)), RowCount(1, 7), (), loosened=("the multiplicities of bags",))
ANY = Count("ordered")


def whole(*values):
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize("status", ["unsat", "unknown"])
def test_no_world_stays_no_world(status):
    found = Answer(status)
    assert relaxed_answer(LOOSENED, ANY, found) is found


@pytest.mark.parametrize(
    ("bounds", "relative", "expected"),
    [
        ((9.0, 9.0), False, ("bounds", (0.0, 9.0))),
        ((9.0, 9.0), True, ("bounds", (-math.inf, 9.0))),
        ((-math.inf, -math.inf), False, ("unsat", (-math.inf, -math.inf))),
        ((-math.inf, -math.inf), True, ("unsat", (-math.inf, -math.inf))),
        ((-math.inf, math.inf), False, ("bounds", (0.0, math.inf))),
    ],
)
def test_a_number_of_worlds_is_an_upper_bound(bounds, relative, expected):
    """The worlds that were counted are the true ones and others; at least one true one, or none at all."""
    found = CountAnswer("exact", bounds=bounds, relative=relative, per_rows=dict, estimate=5, engine="x", seconds=2.0,
                        convention="multiset", trail=("refused",))  # fmt: skip
    outer = relaxed_answer(LOOSENED, ANY, found)
    assert (outer.status, outer.bounds) == expected
    assert outer.per_rows is None
    assert outer.estimate is None
    assert (outer.engine, outer.seconds, outer.convention, outer.relative) == ("x", 2.0, "multiset", relative)
    assert outer.trail == ("refused", *LOOSENED.loosened)


def test_verdicts_hold_only_where_all_worlds_agree():
    """No row, or some row, in all of them is so in the true ones; where they differ, nothing is known."""
    found = DecideAnswer(
        "exact",
        low=whole(0, 0, 1, 2, 0),
        high=whole(0, 3, 4, 2, 0),
        probability=np.array([0.0, 0.4, 1.0, 1.0, 0.0]),
        expected=np.array([0.0, 0.7, 2.2, 2.0, 0.0]),
        open=np.array([False, False, False, False, True]),
    )
    outer = relaxed_answer(LOOSENED, ANY, found)
    assert outer.status == "bounds"
    assert outer.open.tolist() == [False, True, False, False, True]
    np.testing.assert_array_equal(outer.probability, [0.0, math.nan, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(outer.expected, [0.0, math.nan, math.nan, 2.0, 0.0])
    assert outer.low.tolist() == found.low.tolist()
    assert outer.high.tolist() == found.high.tolist()


@pytest.mark.parametrize(("greatest", "bounds"), [(True, (-21, 5)), (False, (5, 14))])
def test_only_the_outer_end_of_an_extreme_is_known(greatest, bounds):
    """What was reached may be reached by a dataset that is not a world; what no row can exceed stands in its place."""
    found = ExtremeAnswer("exact", bounds=(5, 5), histogram=whole(1, 2))
    outer = relaxed_answer(LOOSENED, Extreme(whole(2, -3), greatest=greatest), found)
    assert (outer.status, outer.bounds, outer.histogram, outer.world) == ("bounds", bounds, None, None)
    same = relaxed_answer(LOOSENED, Extreme(whole(2, 3), greatest=greatest), found)
    assert same.bounds == ((0, 5) if greatest else (5, 21))
    below = relaxed_answer(LOOSENED, Extreme(whole(-2, -3), greatest=greatest), found)
    assert below.bounds == ((-21, 5) if greatest else (5, 0))
    unbounded = relaxed_answer(
        replace(LOOSENED, rows=RowCount(0, None)), Extreme(whole(2, -3), greatest=greatest), found
    )
    assert 0 in unbounded.bounds


def test_shares_of_worlds_are_not_known():
    outer = relaxed_answer(LOOSENED, ANY, LeaveOneOutAnswer("exact", share=np.array([0.2, 1.0])))
    assert np.isnan(outer.share).all()
    assert len(outer.share) == 2


@pytest.mark.parametrize(
    "found",
    [
        PerCellAnswer("exact", minimum=whole(1), maximum=whole(2)),
        ShareAnswer("exact", lower=np.array([0.1]), upper=np.array([0.3])),
    ],
)
def test_bounds_stay_and_are_called_bounds(found):
    outer = relaxed_answer(LOOSENED, PerCell(), found)
    assert outer == replace(found, status="bounds", trail=LOOSENED.loosened) or outer.status == "bounds"
    assert outer.status == "bounds"


@pytest.mark.parametrize("found", [WorldsAnswer("exact"), JointAnswer("exact"), ExtremeAnswer("exact")])
def test_no_world_of_them_is_named(found):
    with pytest.raises(Unsupported, match=r"no single dataset can be named.*--without-bags"):
        relaxed_answer(LOOSENED, ANY, found)
    with pytest.raises(Unsupported, match=r"take that out of the file"):
        relaxed_answer(replace(LOOSENED, loosened=("a mean",)), ANY, found)


# ---------------------------------------------------------------- figures as people read them


def test_a_confidence_below_1_is_never_1_in_floats():
    """What holds at 1 - 10^-30 is not certain, whatever floats make of it."""
    assert _in_floats(Fraction(1)) == 1.0
    for digits in (1, 15, 16, 17, 30, 400):
        assert _in_floats(1 - Fraction(1, 10**digits)) < 1.0
    assert _in_floats(Fraction(1, 3)) == 1 / 3


def test_what_a_confidence_lacks_is_rounded_up():
    """A failure probability that is said is at least the true one, and near it."""
    dice = random.Random(0)
    for _ in range(300):
        p = dice.choice([dice.random(), 10.0 ** -dice.randint(1, 300), 1 - 10.0 ** -dice.randint(1, 15), 1.0])
        words = complement_text(p)
        said = 1 - Fraction(words[4:]) if words.startswith("1 - ") else Fraction(words)
        assert said >= 1 - Fraction(p)
        assert said - (1 - Fraction(p)) <= max(Fraction(1, 10**5), Fraction(p) / 100)


def test_bounds_are_printed_outwards():
    """Rounding to one digit behind the point must not make a bound better than it is."""
    assert _ends_text(None) == "not known"
    assert _ends_text((2.0, 2.0)) == "2.0"
    assert _ends_text((0.0, 1.01)) == "at most 1.1"
    assert _ends_text((-0.04, 1.0)) == "at most 1.0"
    assert _ends_text((1.99, 3.01)) == "between 1.9 and 3.1"
    assert _ends_text((1.99, 3.01), 2) == "between 1.99 and 3.01"
