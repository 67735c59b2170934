"""What is too large or too slow ends soon, says why, and is not computed twice; what is read faster stays the same."""

from __future__ import annotations

import gc
import json
import random
import time
from bisect import bisect_left, bisect_right
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from threading import Event

import numpy as np
import pytest

import recon
from encoders.domain.values import Grid
from recon.readers.formats.drafts.binding import _enclosed, _near, border, single
from solvers.cells import system as refinement
from solvers.foundation.errors import Inconclusive, TooLarge
from solvers.foundation.limits import Limits
from solvers.programs.columns.master import KnownMaster, MasterProgram
from solvers.programs.columns.pricing import Incidence
from solvers.programs.local_search.problem import problem_of
from solvers.statements.boxes import Attribute, Box, Boxes, RowSpace
from solvers.statements.release import Partition, Release, RowCount

MANY = 400_000


def partition(parts: int, low: int) -> Partition:
    """Return a leaf per part of the first attribute, each with the same count."""
    boxes = Boxes(
        np.arange(parts + 1, dtype=np.int64),
        np.zeros(parts, dtype=np.int32),
        np.array([1 << (p % 60) for p in range(parts)], dtype=np.uint64),
    )
    counts, none = np.full(parts, low, dtype=np.int64), np.full(parts, -1, dtype=np.int32)
    return Partition("tree", boxes, False, np.arange(parts, dtype=np.int32), none, counts, counts, ("leaf",) * parts)


def release(parts: int, low: int = 1, trees: int = 1) -> Release:
    """Return trees over one attribute of 60 parts; no test asks whether there is a dataset."""
    domain = RowSpace((Attribute("a", (1,) * 60), Attribute("b", (1, 1))))
    return Release(domain, RowCount(parts * low, parts * low), (partition(parts, low),) * trees)


def test_a_program_that_cannot_be_solved_in_time_is_not_begun() -> None:
    begun = time.monotonic()
    with pytest.raises(Inconclusive, match="400,000 statements"):
        MasterProgram.of(large := release(MANY), Limits(seconds=20))
    assert time.monotonic() - begun < 5
    assert large.derived.part(KnownMaster).master is None


def test_a_small_program_is_begun_however_short_the_time_and_bounds_as_before() -> None:
    master = MasterProgram.of(release(60), Limits(seconds=5))
    for greatest in (True, False):
        assert master.bound(Box(((0, 0b111),)), greatest, Limits(seconds=5)).value == 3


def test_boxes_beyond_the_memory_are_refused() -> None:
    with pytest.raises(TooLarge, match="--memory"):
        Incidence(release(60), Limits(memory=1_000))
    assert Incidence(release(60), Limits(memory=1 << 20)).boxes == 60


def test_rows_in_chunks_have_the_same_columns() -> None:
    statements, rows = release(60), np.stack([np.arange(60), np.arange(60) % 2], axis=1).astype(np.int64)
    whole, small = Incidence(statements), Incidence(statements, Limits(memory=60 * 62 * 3))
    assert len(small.chunks(rows, 4)) < len(small.chunks(rows, 60)) > 1
    small.memory = 60 * 4 * 7
    assert len(small.chunks(rows, 4)) == 9
    for a, b in zip(whole.columns(rows), small.columns(rows), strict=True):
        assert np.array_equal(a, b)


def test_cells_for_which_time_was_too_short_are_not_derived_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, calls = release(60, trees=3), list[float]()
    real = refinement._refined

    def slow(r: Release, limits: Limits, words: object) -> object:
        calls.append(limits.left())
        if len(calls) == 1:
            raise Inconclusive("the time was up while the cells were derived")
        return real(r, limits, None)

    monkeypatch.setattr(refinement, "_refined", slow)
    for _ in range(3):
        with pytest.raises(Inconclusive, match="time was up"):
            refinement.refine(asked, Limits(seconds=20))
    assert len(calls) == 1
    assert len(refinement.refine(asked, Limits(seconds=40)).words) == 60  # more time is another question


def test_a_stop_is_not_remembered_as_too_little_time() -> None:
    stop = Event()
    stop.set()
    asked = release(60, trees=2)
    with pytest.raises(Inconclusive):
        refinement.refine(asked, Limits(seconds=20, stop=stop))
    assert len(refinement.refine(asked, Limits(seconds=20)).words) == 60


def test_thresholds_are_found_where_counting_finds_them() -> None:
    dice = random.Random(4)
    for step in (Fraction(1, 10), Fraction(1), Fraction(1, 4), Fraction(1, 10**9)):
        grid = Grid("x", -7 * step, step, 208)
        values = [float(single(grid.value_at(i))) for i in range(grid.count)]
        for _ in range(60):
            at = dice.choice([dice.choice(values), dice.uniform(-8, 201) * float(step), 1e300, -1e300])
            for closed, count in ((True, bisect_right), (False, bisect_left)):
                found = border(grid, grid.count, lambda v: single(0.0 if v is None else v), at, closed, None)
                assert found == count(values, at), (step, at, closed)


@pytest.mark.parametrize("size", range(9))
def test_steps_from_any_guess_enclose_the_answer(size: int) -> None:
    for answer in range(size + 1):
        for guess in range(-2, size + 3):
            first, last = _enclosed(lambda i, answer=answer: i < answer, guess, size)
            assert 0 <= first <= answer <= last <= size


def test_a_guess_needs_no_finite_number() -> None:
    grid = Grid.between("x", 0, 9)
    assert [_near(grid, x) for x in (4.5, 10**400, float("inf"), float("nan"))] == [5, 0, 0, 0]


def test_single_precision_is_that_of_numpy() -> None:
    with np.errstate(over="ignore"):
        for x in (0, 1, True, 0.1, -1e-50, 2.9e38, 3.1e38, 3.5e38, -1e300, 2**70):
            assert single(x) == float(np.float32(x))


def two_components(path: Path, sides: tuple[int, ...]) -> Path:
    """Write a release whose rows of each side are one component: a square with every margin."""
    of = {"s": range(2), "a": range(4), "b": range(4)}
    said = [{"where": {"s": s, c: v}, "count": 6} for s in sides for c in "ab" for v in of[c]]
    said += [{"where": {"s": s}, "count": 0} for s in set(of["s"]).difference(sides)]
    domain = {"attributes": [{"name": name, "values": list(values)} for name, values in of.items()]}
    models = [{"kind": "table", "statements": said}]
    path.write_text(json.dumps({"recon": 1, "rows": 24 * len(sides), "domain": domain, "models": models}))
    return path


@pytest.mark.slow
def test_two_structures_draw_on_one_memory(tmp_path: Path) -> None:
    """Each of two graphs takes 60 % of it: the second is refused, beside the first, before it is made."""
    one, both = two_components(tmp_path / "one.json", (0,)), two_components(tmp_path / "both.json", (0, 1))
    whole = Limits()
    loaded = recon.load(one)
    exact = recon.count(loaded, limits=whole)
    each = int(whole.meter.held)
    assert exact.status == "exact"
    assert each > 10**6
    room = int(each / 0.6)
    assert recon.count(recon.load(one), limits=Limits(memory=room)).status == "exact"
    tight, wide = Limits(memory=room), Limits(memory=2 * room)
    found = recon.count(recon.load(both), limits=tight)
    assert found.status == "bounds"
    assert tight.meter.held <= room
    assert recon.count(recon.load(both), limits=wide).value > exact.value**2
    del loaded, exact
    gc.collect()
    assert whole.meter.held == 0  # what is gone is given back


def test_what_is_held_counts_against_limits_made_of_others() -> None:
    """A stage, or limits with less memory, draws on the account of the whole."""
    whole = Limits(memory=1000)
    made = np.zeros(1)
    whole.keep(made, 600)
    narrow = replace(whole.share(0.5), memory=500)
    assert (whole.room, narrow.room, narrow.fits(401)) == (400, 400, False)
    narrow.keep(narrow_made := np.zeros(1), 300)
    assert whole.room == 100
    del made, narrow_made
    assert (whole.room, narrow.room) == (1000, 500)


@pytest.mark.slow
def test_tests_of_regions_are_charged_and_hear_the_clock() -> None:
    """Of 43,000 leaves they took 660 MB and six seconds that nobody had asked for."""
    trees = release(60, trees=200)
    with pytest.raises(TooLarge, match=r"tests of 12,000 regions need about"):
        problem_of(trees, Limits(memory=8 << 20))
    with pytest.raises(Inconclusive, match="too little time to turn 12,000 regions into tests"):
        problem_of(trees, Limits(seconds=0.1))
    stop = Event()
    last = Limits(stop=stop, progress=lambda text: stop.set() if "of 199 of 200" in text else None)
    with pytest.raises(Inconclusive, match="while the regions were turned into tests"):
        problem_of(trees, last)
    whole = Limits()
    made = problem_of(trees, whole)
    assert whole.meter.held > 0
    del made
    assert whole.meter.held == 0
