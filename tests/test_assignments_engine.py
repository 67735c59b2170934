"""The engine over rows by position: what it says holds for the rows that the trees were fitted on."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from extras import encoded
from test_bags import random_forest, sequences

import recon
from solvers.engines.chain import _plan, answer, ask, engines, refusal
from solvers.engines.rows import AssignmentsEngine
from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Places
from solvers.positions.known_world import BoxedRows, Lengths, numbers_of
from solvers.statements.boxes import Attribute
from solvers.statements.questions.answers import (
    Answer,
    CountAnswer,
    DecideAnswer,
    LocatedAnswer,
    combine_answers,
    left_to_others,
)
from solvers.statements.questions.query import Count, Decide, Enumerate, Locate, MostLikely, Sample, Selections


def known_forests(seed, count):
    """Yield tiny forests with known bags: the release, the true rows, the row space, and how rows were drawn."""
    rng, done = random.Random(seed), 0
    while done < count:
        release, truth, space, how, _ = random_forest(rng, known=True)
        got = encoded(release)
        if got.statements.bags:
            done += 1
            yield got, truth, space, how


def parts_of_rows(got, truth):
    """Return the part of every attribute of the true rows; domains of these forests number values from 0."""
    out = []
    for k, attribute in enumerate(got.statements.domain.attributes):
        part = np.repeat(np.arange(len(attribute.sizes)), attribute.sizes)
        out.append(part[[row[k] for row in truth]])
    return np.array(out).T


@pytest.mark.slow
def test_the_true_row_is_left_at_every_position():
    said = 0
    for got, truth, _, _ in known_forests("locate", 60):
        found = ask(got.statements, Locate(), LocatedAnswer, Limits())
        at = parts_of_rows(got, truth)
        assert (found.start <= at).all()
        assert (at < found.end).all()
        for k, left in found.sets.items():
            assert left[np.arange(len(at)), at[:, k]].all()
        assert (found.status == "exact") == (found.leaves_proved == 1.0)
        said += bool((found.end - found.start == 1).all())
    assert said


def test_a_contradiction_is_found():
    inner = [{"if": {"a": {"at_most": 0}}, "then": 2, "else": 1}, {"if": {"a": {"at_most": 1}}, "then": 3, "else": 4}]
    model = {"kind": "forest", "bootstrap": True, "multiplicities": [[3, 1, 1]]}
    model["trees"] = [{"nodes": [*inner, {"count": 2}, {"count": 2}, {"count": 1}]}]  # nowhere for who counts 3 times
    release = {"recon": 1, "domain": {"attributes": [{"name": "a", "min": 0, "max": 2}]}, "models": [model]}
    found = answer(encoded(release).statements, Locate(), Limits())
    assert found.status == "unsat"
    with pytest.raises(ContradictionError):
        ask(encoded(release).statements, Locate(), LocatedAnswer)


def test_rows_without_positions_are_refused_in_words():
    nodes = [{"if": {"a": {"at_most": 0}}, "then": 1, "else": 2}, {"count": 1}, {"count": 4}]
    domain = {"attributes": [{"name": "a", "min": 0, "max": 1}]}
    for model, words in (
        ({"kind": "forest", "trees": [{"nodes": nodes}] * 2}, "without bootstrap"),
        ({"kind": "forest", "trees": [{"nodes": nodes}], "bootstrap": True}, "the bags are not known"),
    ):
        got = encoded({"recon": 1, "domain": domain, "rows": 5, "models": [model]})
        with pytest.raises(Unsupported, match="no engine answers Locate") as caught:
            ask(got.statements, Locate(), LocatedAnswer)
        assert any(words in line for line in caught.value.reasons), caught.value.reasons


def settled_forests(seed, count):
    """Yield tiny forests whose leaves are all proved, with every sequence of rows that the bags explain."""
    rng, done = random.Random(seed), 0
    while done < count:
        release, truth, space, _, bags = random_forest(rng, known=True)
        got = encoded(release)
        if got.statements.bags and recon.count(got).status == "exact":
            done += 1
            yield got, truth, set(sequences(release, space, bags))


def rows_of(world):
    """Return the rows of a world in its order; values of these domains are whole numbers."""
    return tuple(tuple(int(v) for v in row) for row in world.to_frame().itertuples(index=False))


@pytest.mark.slow
def test_worlds_of_rows_whose_leaves_are_proved():
    """Rows are in the order of the training file; a sample is uniform over datasets by position."""
    alone = several = 0
    for got, truth, every in settled_forests("worlds", 25):
        found = recon.reconstruct(got)
        assert rows_of(found) in every
        assert found.unique == (len({tuple(sorted(d)) for d in every}) == 1)
        if len(every) == 1:
            assert rows_of(found) == tuple(truth)
        listed = [tuple(sorted(rows_of(world))) for world in recon.worlds(got, None)]
        assert len(listed) == len(set(listed))
        assert set(listed) == {tuple(sorted(d)) for d in every}
        drawn = [rows_of(world) for world in recon.sample(got, 20)]
        assert set(drawn) <= every
        with pytest.raises(Unsupported):
            recon.sample(got, 1, convention="multiset")
        alone, several = alone + (len(every) == 1), several + (len(set(drawn)) > 1)
    assert alone
    assert several


@pytest.mark.slow
def test_means_and_shares_are_bounded_by_every_dataset():
    """Bounds hold for all sequences that the bags explain; where leaves are proved, shares are attained."""
    tight = 0
    for got, _, every in settled_forests("means", 20):
        for where in ({}, {"a0": 0}, {"y": 1}):
            groups = [[row for row in d if meets(row, where)] for d in every]
            means = [sum(row[0] for row in g) / len(g) for g in groups if g]
            found = recon.bound(got, where, "a0")
            if not means:
                assert (found.min, found.max) == (None, None) or found.status == "bounds"
                continue
            assert found.min - 1e-9 <= min(means) <= max(means) <= found.max + 1e-9
            tight += np.isclose(found.min, min(means)) and np.isclose(found.max, max(means))
        lines = recon.attribute(got, [{}, {"a0": 0}], "y")
        for line in lines.to_dict("records"):
            where = [{}, {"a0": 0}][line["profile"]]
            groups = [[row for row in d if meets(row, where)] for d in every]
            shares = [sum(row[-1] == line["value"] for row in g) / len(g) for g in groups if g]
            if shares:
                assert (line["lower"], line["upper"]) == pytest.approx((min(shares), max(shares)))
            else:
                assert np.isnan(line["lower"])
    assert tight > 20


def meets(row, where):
    """Return whether a row of values meets a condition on a0 and y."""
    return all(row[0 if name == "a0" else -1] == value for name, value in where.items())


def test_what_others_add_is_joined():
    """Selections whose number is known are not asked again; the others get the best of both bounds."""
    whole = DecideAnswer.of(np.array([0, 1, 0]), np.array([3, 1, 0]), open=np.array([True, False, False]), trail=("a",))
    sizes = (((1, 1), (1, 0), (0, 1)),)
    query = Decide(Selections(np.array([[0], [1], [2]], dtype=np.int32), sizes), "ordered")
    rest = left_to_others(query, whole)
    assert rest.selections.codes.tolist() == [[0]]
    other = DecideAnswer.of(np.array([1]), np.array([4]), trail=("b",))
    found = combine_answers(query, whole, other)
    assert (found.low.tolist(), found.high.tolist(), found.open.tolist()) == ([1, 1, 0], [3, 1, 0], [False] * 3)
    assert found.trail == ("a", "b")
    assert left_to_others(query, found) is not None
    assert left_to_others(query, combine_answers(query, whole, DecideAnswer.of(np.array([3]), np.array([3])))) is None
    assert left_to_others(Count("ordered"), CountAnswer("exact", bounds=(1.0, 1.0))) is None
    counted = combine_answers(
        Count("ordered"), CountAnswer("bounds", bounds=(0.0, 5.0)), CountAnswer("bounds", bounds=(0.0, 4.0))
    )
    assert counted.bounds == (0.0, 4.0)
    assert combine_answers(Count("ordered"), counted, Answer("unsat")).status == "unsat"
    assert combine_answers(Count("ordered"), counted, Answer("unknown", trail=("late",))).trail == ("late",)


@pytest.mark.parametrize("query", [Enumerate(), Sample(1, 0, "ordered"), MostLikely()])
def test_worlds_are_not_asked_of_engines_that_leave_bags_out(query):
    got = next(iter(known_forests("refused", 1)))[0]
    for engine in engines():
        reason = refusal(engine, got.statements, query)
        if isinstance(query, engine.answers) and not engine.uses_bags:
            assert "--without-bags" in reason
    assert _plan(got.statements, query)[0].engine == "assignments"
    assert refusal(AssignmentsEngine(), got.statements, query) is None


def test_upper_bounds_count_what_is_left():
    """Of rows that may be anything: the whole space of each; sizes beyond 64 bits are rounded up, not down."""
    for sizes in ((1, 2), (1 << 70, 3), ((1 << 64) + 1, 1 << 90, 7)):
        attribute = Attribute("a", sizes)
        lengths = Lengths.of(attribute)
        for start, end in itertools.combinations(range(len(sizes) + 1), 2):
            found = lengths.log2(np.array([start]), np.array([end]))[0]
            assert 2.0**-30 > found - math.log2(sum(sizes[start:end])) >= -1e-9 or lengths.shift
            assert found >= math.log2(sum(sizes[start:end])) - 1e-9
        assert lengths.log2(np.array([1]), np.array([1]))[0] == -math.inf


def test_rows_in_boxes_are_counted_with_and_without_their_order():
    """Against every dataset: boxes that are equal, apart, or overlap."""
    rng = np.random.default_rng(5)
    exact = 0
    for _ in range(60):
        n, parts = int(rng.integers(1, 4)), 4
        start = rng.integers(0, parts, size=(n, 1))
        end = start + rng.integers(1, 3, size=(n, 1))
        boxes = [range(int(a), min(parts, int(b))) for a, b in zip(start[:, 0], end[:, 0], strict=True)]
        rows = BoxedRows(Places(start, np.minimum(end, parts), {}), [len(box) for box in boxes])
        found, every = numbers_of(rows), list(itertools.product(*boxes))
        assert found.ordered == pytest.approx(math.log2(len(every)))
        unordered = math.log2(len({tuple(sorted(d)) for d in every}))
        assert found.multiset[0] - 1e-9 <= unordered <= found.multiset[1] + 1e-9
        if found.exact:
            assert found.multiset[0] == pytest.approx(unordered)
            exact += n > 1
    assert exact > 5


@pytest.mark.slow
def test_the_table_has_a_line_per_position():
    for got, truth, every in settled_forests("table", 12):
        lines = recon.table(got)
        assert lines["row"].tolist() == list(range(len(truth)))
        assert lines["region"].tolist() == [f"position {i}" for i in range(len(truth))]
        assert math.prod(lines["worlds_per_row"]) == len(every)
        for i, line in enumerate(lines.to_dict("records")):
            assert line["joint"] == ""
            if line["worlds_per_row"] == 1:
                assert line["y"] in {f"{{{truth[i][-1]}}}", "any"}
