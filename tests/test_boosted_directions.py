"""Which values XGBoost took for missing: readings that are left, bounds in any case, rows that go as they go there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Grid, Test
from encoders.encode.encoder import encode
from encoders.models.models import Provenance, Table
from encoders.models.nodes import Support
from recon.readers.formats.boosters.shared import BoosterTree, split_of
from recon.readers.formats.boosters.xgboost.directions import DirectedDraft, Directions, FirstTreeCounts
from recon.readers.formats.drafts.binding import Binder, Feature
from recon.readers.frames.world import violations
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount

RIGHT, LEFT = False, True  # where missing values go


def grown(root):
    """Return a tree of nested (feature, threshold, side of missing values, left, right), and the rows of its nodes."""
    out, rows = BoosterTree(), []

    def add(node):
        here = len(out.splits)
        out.children.append((-1, -1))
        out.splits.append(None)
        rows.append(node if isinstance(node, int) else 0)
        if not isinstance(node, int):
            name, end, missing, left, right = node
            out.splits[here] = split_of(name, Test(high=end, high_open=True, missing=missing), True)
            out.children[here] = (add(left), add(right))
            rows[here] = sum(rows[child] for child in out.children[here])
        return here

    add(root)
    return out, rows


def directed(first, *later, names="xz", drawn=False, marker=None, copies=1):
    """Return the draft of a first tree that counts rows (least ones of drawn rows, or of copies), and of later ones."""
    (tree, rows), trees = grown(first), [grown(one)[0] for one in later]
    bounds = drawn or copies > 1
    most = tuple(rows) if copies > 1 and not drawn else None
    least = [-(-n // copies) for n in rows]
    counted = FirstTreeCounts("tree 0", tree, tuple(least), most=most)
    model = tree.tree([Support(count=n) for n in rows], "tree 0")
    models = (Table(tuple(tree.at_least(least, "tree 0", most)), "leaves") if bounds else model,)
    return DirectedDraft(
        Provenance("XGBoost", ("size",)), tuple(Feature(name, name) for name in names), models, None, "y",
        rows=RowCount(1, None) if bounds else RowCount(rows[0], rows[0]), single=True,
        every=(tree, *trees), counted=(counted,), drawn=drawn, marker=marker,
    )  # fmt: skip


def domain(**attributes):
    made = []
    for name, told in attributes.items():
        listed = isinstance(told, tuple) and isinstance(told[0], str)
        made.append(
            Continuous(name) if told is None else Categorical(name, told) if listed else Grid.between(name, *told)
        )
    return Domain(tuple(made), None)


BIT, FOUR = (0, 1), (0, 3)
BEYOND = float(np.float32(2 * 9 + 1e-5))  # of hist: beyond the greatest value, 9
SPREAD = [("x", end, RIGHT, 1, 1) for end in range(1, 9)]
OPEN = [
    # One split of all rows, or a few: what it puts elsewhere and leaves no side empty.
    (("x", 2, RIGHT, 5, 5), (), {"x": FOUR}, None, (0,)),
    (("x", 1, RIGHT, 5, 5), (), {"x": FOUR}, None, ()),  # 0 alone is below: that side would have no rows
    (("x", 2, LEFT, 5, 5), (), {"x": FOUR}, None, (3,)),
    (("x", 3, LEFT, 5, 5), (), {"x": FOUR}, None, ()),
    # A threshold of hist (all to the right) is a value that was there; of exact it is none.
    (("x", 0, RIGHT, 5, 5), (), {"x": (-2, 3)}, None, (-2, -1)),
    (("x", 0, RIGHT, 5, 5), (("x", -1, RIGHT, 1, 1),), {"x": (-2, 3)}, None, (-2,)),
    (("x", 2, LEFT, 5, 5), (("x", 3, LEFT, 1, 1),), {"x": FOUR}, None, (3,)),
    # Many splits that would all have to send the value to one side by chance, unless the file names it.
    (("x", 2, RIGHT, 5, 5), SPREAD[:7], {"x": (0, 9)}, None, ()),
    (("x", 2, RIGHT, 5, 5), SPREAD[:6], {"x": (0, 9)}, None, (0,)),
    (("x", 2, RIGHT, 5, 5), SPREAD[:7], {"x": (0, 9)}, 0.0, (0,)),
    # Any number: open, unless many splits have one direction, or the file names the value.
    (("x", 2, RIGHT, 5, 5), (), {"x": None}, None, None),
    (("x", 2, RIGHT, 5, 5), SPREAD[:6], {"x": None}, None, None),
    (("x", 2, RIGHT, 5, 5), SPREAD[:7], {"x": None}, None, ()),
    (("x", 2, RIGHT, 5, 5), SPREAD, {"x": None}, 0.0, (0,)),
    (("x", 2, RIGHT, 5, 5), (*SPREAD[:6], ("x", 7, LEFT, 1, 1)), {"x": None}, None, None),  # not one direction
    (("x", 2, RIGHT, 5, 5), (*SPREAD[:6], ("x", BEYOND, RIGHT, 1, 1)), {"x": (0, 9)}, None, (0,)),
    (("x", 0, LEFT, 5, 5), [("x", end, LEFT, 1, 1) for end in range(1, 8)], {"x": (0, 9)}, None, (0, 9)),
    # Either side: some values were missing; which is open where each of those that are tried is refuted.
    (("x", 1, RIGHT, 5, ("z", 1, LEFT, 5, 5)), (), {"x": BIT, "z": BIT}, None, None),
    (("x", 1, RIGHT, 5, ("x", 2, LEFT, 5, 5)), (), {"x": FOUR}, None, (3,)),
    (("x", 2, RIGHT, 5, ("x", 3, LEFT, 5, 5)), (), {"x": FOUR}, None, (0,)),
    # One that goes where it compares explains why there are two sides, where all columns of one side have it.
    (("z", 3, RIGHT, ("x", 3, LEFT, 5, 5), 5), (), {"x": (-1, 3), "z": FOUR}, -1.0, (0, -1)),
    (("z", 3, RIGHT, ("x", 3, LEFT, 5, 5), 5), (), {"x": FOUR, "z": FOUR}, -1.0, (0,)),
    (("x", 1, RIGHT, 5, ("z", 2, LEFT, 5, 5)), (), {"x": BIT, "z": FOUR}, None, (1, 3)),
    (("x", 2, RIGHT, 5, ("z", 1, LEFT, 5, 5)), (), {"x": FOUR, "z": BIT}, None, (0, 3)),
]


@pytest.mark.parametrize(("first", "later", "columns", "marker", "left"), OPEN)
def test_the_readings_that_figures_leave(first, later, columns, marker, left):
    draft = directed(first, *later, names=tuple(columns), marker=marker)
    assert Directions(draft, Binder(draft, domain(**columns))).open_values() == left


@pytest.mark.parametrize(
    ("first", "columns", "marker", "said"),
    [
        (("x", 1, RIGHT, 5, ("x", 2, LEFT, 5, 5)), {"x": FOUR}, None, "any value may have been"),
        (("x", 1, RIGHT, 5, ("x", 2, LEFT, 5, 5)), {"x": FOUR}, 3.0, "3 was taken for missing"),
        (("x", 2, RIGHT, 5, ("x", 3, LEFT, 5, 5)), {"x": FOUR}, None, "0 was taken for missing"),
        (("x", 2, RIGHT, 5, 5), {"x": FOUR}, None, "0 may have been"),
        (("x", 2, LEFT, 5, 5), {"x": FOUR}, None, "3.0 may have been"),
        (("x", 1, RIGHT, 5, ("z", 2, LEFT, 5, 5)), {"x": BIT, "z": FOUR}, None, "1.0, 3.0 may have been"),
        (("x", 1, RIGHT, 5, 5), {"x": FOUR}, None, "no value was taken for missing"),
    ],
)
def test_a_value_alone_is_taken_for_missing_where_it_is_zero_or_the_file_names_it(first, columns, marker, said):
    draft = directed(first, names=tuple(columns), marker=marker)
    models = draft.bound(Binder(draft, domain(**columns)))
    assert said in str([model.origin.notes for model in models])


def test_a_column_of_texts_has_no_side_of_a_threshold():
    draft = directed(("x", 2, RIGHT, 5, 5), names="x")
    with pytest.raises(ReleaseError, match="'x'"):
        draft.bound(Binder(draft, domain(x=("a", "b"))))


def said(table):
    """Return what a table of figures says: (conditions as text, least, most, whether rows were drawn)."""
    lines = (
        (" and ".join(f"{n} {t}" for n, t in one.condition), one.low, one.high, one.drawn) for one in table.statements
    )
    return sorted(lines, key=str)


def test_bounds_hold_whatever_was_missing():
    """Any value: the side that missing ones go to may have everything, the other one surely has nothing."""
    draft = directed(("x", 2, RIGHT, 3, 7), names="x")
    (table,) = draft.bound(Binder(draft, domain(x=None)))
    split = 1.999999940395355  # above, the library rounds to 2
    assert np.float32(split) < 2 == np.float32(np.nextafter(split, 2))
    assert said(table) == [("", 7, None, False), (f"x <= {split}", 3, None, False), (f"x > {split}", 0, 7, False)]
    draft = directed(("x", 2, RIGHT, 3, 7), names="x", marker=0.0)  # below 2 but not 0 is no one range
    (table,) = draft.bound(Binder(draft, domain(x=None)))
    below, above = (f"x <= {split}", 3, None, False), (f"x > {split}", 0, 7, False)
    assert said(table) == [below, above, ("x >= 0", 7, None, False)]


@pytest.mark.parametrize(("drawn", "copies", "high"), [(True, 1, None), (False, 2, "twice"), (True, 2, None)])
def test_figures_of_drawn_rows_and_of_copies_where_one_value_was_missing(drawn, copies, high):
    draft = directed(("x", 2, RIGHT, 4, ("x", 3, LEFT, 6, 8)), names="x", drawn=drawn, copies=copies)
    (table,) = draft.bound(Binder(draft, domain(x=FOUR)))
    rows = sorted(n // copies for n in (4, 6, 8))
    found = sorted((low, most) for _, low, most, _ in said(table))
    assert found == [(n, None if high is None else copies * n) for n in rows]
    assert all(one.drawn == drawn for one in table.statements)


@pytest.mark.parametrize("seed", range(25))
def test_the_true_rows_are_never_excluded_whatever_was_missing(seed):
    rng = np.random.default_rng(seed)
    ends = {"x": (int(rng.integers(-2, 1)), int(rng.integers(1, 4))), "z": (0, int(rng.integers(1, 4)))}
    missing = [None, 0, ends["x"][0], ends["z"][1]][rng.integers(4)]
    usual = bool(rng.integers(2))
    frame = pd.DataFrame({name: rng.integers(a, b + 1, 30) for name, (a, b) in ends.items()})

    def tree(rows, depth):
        name = str(rng.choice(["x", "z"]))
        end = int(rng.integers(ends[name][0] + 1, ends[name][1] + 1))
        side = bool(rng.integers(2)) if (frame[name] == missing).any() else usual  # without any missing there is one
        below = (rows[name] < end).mask(rows[name] == missing, side)
        if depth == 0 or end == missing or not 0 < below.sum() < len(rows):  # hist ends at values that were there
            return len(rows)
        return name, end, side, tree(rows[below], depth - 1), tree(rows[~below], depth - 1)

    first = tree(frame, 3)
    if isinstance(first, int):
        return
    for given in (domain(**ends), domain(x=None, z=None), domain(x=ends["x"], z=None)):
        draft = directed(first, marker=float(missing) if missing else None)
        release = encode(given, draft.bound(Binder(draft, given)), draft.rows)
        assert violations(release, frame) == []
