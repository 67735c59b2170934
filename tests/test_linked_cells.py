"""Hidden cells of linked tables: their intervals against brute force, and what follows from the cells alone."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from linked_oracle import case, counted, data_sets

import recon
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Attribute, Box, RowSpace
from solvers.suppression import linked_cells as module
from solvers.suppression.intervals import cell_intervals
from solvers.suppression.linked_cells import linked_cells, tables_of


def box_of(cell):
    return Box(tuple((k, sum(1 << v for v in group)) for k, group in sorted(cell.items())))


def space_of(sizes):
    return RowSpace(tuple(Attribute(f"a{k}", (1,) * n) for k, n in enumerate(sizes)))


def cells_of(sizes, cells, bounds, n):
    full = space_of(sizes)
    counts = {}
    for cell, ends in zip(cells, bounds, strict=True):
        named = Box(tuple((k, m) for k, m in box_of(cell).literals if m != full.attributes[k].full))
        low, high = counts.get(named, (0, n))
        counts[named] = max(low, ends[0]), min(high, ends[1])
    counts[Box()] = (n, n)
    found = linked_cells(full, counts)
    places = [
        found.place[Box(tuple((k, m) for k, m in box_of(c).literals if m != full.attributes[k].full))] for c in cells
    ]
    return found, places


def check(seed):
    """Hold one case against brute force; return whether its tables form no circle."""
    sizes, _, cells, counts, bounds, truth, n = case(seed)
    found, places = cells_of(sizes, cells, bounds, n)
    ends = cell_intervals(found, np.array(places), Limits())
    assert ends.possible
    assert ends.tight[places].all()
    for place, count, (low, high) in zip(places, counts, truth, strict=True):
        here = int(ends.low[place]), int(ends.high[place])
        assert here[0] <= low <= count <= high <= here[1], seed
        assert here == (low, high) or not found.exact, seed
    return found.exact


@pytest.mark.sampled(1, 10)
@pytest.mark.parametrize("seed", range(60))
def test_intervals_are_those_of_all_data_sets(seed):
    check(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1_000, 3_000, 100))
def test_intervals_of_two_thousand_tables(first):
    assert sum(check(seed) for seed in range(first, first + 100)) > 50


def test_tables_in_a_circle_are_not_called_exact():
    sizes = (2, 2, 2)
    circle = [{0: {0}, 1: {0}}, {1: {0}, 2: {0}}, {0: {0}, 2: {0}}]
    assert not cells_of(sizes, circle, [(1, 1)] * 3, 3)[0].exact
    assert cells_of(sizes, circle[:2], [(1, 1)] * 2, 3)[0].exact
    star = [{0: {0}, k: {0}} for k in (1, 2, 3)]
    assert cells_of((2, 2, 2, 2), star, [(1, 1)] * 3, 3)[0].exact


def test_groups_that_cut_each_other_are_linked_by_what_both_tell_apart():
    """One table knows 0-1 of four values, the other 0-2: people of value 2 are in their difference."""
    cells = [{0: {0, 1}, 1: {0}}, {0: {0, 1, 2}, 2: {0}}, {0: {0, 1}}, {0: {0, 1, 2}}]
    found, places = cells_of((4, 2, 2), cells, [(1, 1), (0, 3), (2, 2), (2, 3)], 3)
    assert found.exact
    assert Box(((0, 4),)) in found.place
    ends = cell_intervals(found, np.arange(len(found)), Limits())
    assert (ends.low[found.place[Box(((0, 4),))]], ends.high[found.place[Box(((0, 4),))]]) == (0, 1)
    assert ends.tight[places].all()


def test_half_corners_are_decided_in_whole_numbers():
    """Three tables in a circle whose linear program ends at halves: a whole number of people has none."""
    pairs = [(0, 1), (1, 2), (0, 2)]
    cells = [{}, *({a: {i}, b: {j}} for a, b in pairs for i in (0, 1) for j in (0, 1))]
    found, places = cells_of((2, 2, 2), cells, [(3, 3)] + [(0, 3)] * 12, 3)
    ends = cell_intervals(found, np.array(places), Limits())
    assert ends.tight.all() or ends.searches


def test_impossible_combinations_have_nobody():
    space = space_of((2, 4))
    districts = {Box(((1, 1 << d),)): (1, 1) for d in range(4)}
    cells = {Box(((0, 1 << r), (1, 1 << d))): (0, 4) for r in range(2) for d in range(4)}
    nobody = [Box(((0, 1), (1, 12))), Box(((0, 2), (1, 3)))]
    found = linked_cells(space, {Box(): (4, 4), **districts, **cells}, nobody)
    ends = cell_intervals(found, np.arange(len(found)), Limits())
    assert found.exact
    assert ends.low[found.place[Box(((0, 1),))]] == 2 == ends.high[found.place[Box(((0, 1),))]]
    half = linked_cells(space, {Box(): (4, 4), Box(((0, 1), (1, 3))): (0, 2)}, [Box(((0, 1), (1, 1)))])
    assert not half.exact, "nobody is in half of a cell"


def test_what_cannot_be_is_said():
    found, _ = cells_of((2, 2), [{0: {0}}, {0: {1}}], [(1, 1), (1, 1)], 3)
    assert not cell_intervals(found, np.arange(len(found)), Limits()).possible
    odd = [{}, *({0: {i}, 1: {j}} for i in (0, 1) for j in (0, 1))]
    assert cell_intervals(cells_of((2, 2), odd, [(2, 2)] + [(0, 1)] * 4, 2)[0], np.arange(3), Limits()).possible


def test_too_many_cells_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MAX_CELLS", 5)
    with pytest.raises(Unsupported, match="more than 5 cells"):
        cells_of((3, 3), [{0: {0}, 1: {0}}], [(1, 1)], 3)


def test_limits_leave_proved_bounds():
    sizes, _, cells, counts, bounds, _, n = case(3)
    found, places = cells_of(sizes, cells, bounds, n)
    none = Limits(work=0.0)
    ends = cell_intervals(found, np.array(places), none)
    assert all(ends.low[p] <= c <= ends.high[p] for p, c in zip(places, counts, strict=True))


DOMAIN = {"attributes": [{"name": "a", "values": ["x", "y", "z"]}, {"name": "b", "values": [0, 1]}]}
COUNTS = [{"count": 9}, {"where": {"a": "x"}, "at_least": 0, "at_most": 3}, {"where": {"a": "x"}, "at_least": 1}]


def statements_of(models, folder, **more):
    path = folder / "release.json"
    path.write_text(json.dumps({"recon": 1, "domain": DOMAIN, "models": models, **more}))
    return recon.load(path).statements


def test_which_releases_are_tables_of_counts(tmp_path):
    table = {"kind": "table", "statements": COUNTS}
    found = tables_of(statements_of([table], tmp_path))
    assert found is not None
    assert found.exact
    place = found.place[Box(((0, 1),))]
    assert (found.low[place], found.high[place], found.high[found.place[Box()]]) == (1, 3, 9)
    whole = {"where": {"a": {"in": ["x", "y", "z"]}, "b": 1}, "count": 4}
    assert tables_of(statements_of([{"kind": "table", "statements": [*COUNTS, whole]}], tmp_path)).tables == (
        frozenset({0}), frozenset({1}),
    )  # fmt: skip
    some = statements_of([table], tmp_path)
    assert not tables_of(replace(some, loosened=("something",))).exact
    assert tables_of(statements_of([{"kind": "table", "statements": COUNTS[1:]}], tmp_path)) is None, "rows are open"
    mean = {"where": {"a": "x"}, "mean": {"of": "b", "value": 0.5}}
    assert tables_of(statements_of([{"kind": "table", "statements": [*COUNTS, mean]}], tmp_path)) is None
    assert tables_of(statements_of([table | {"complete": True}], tmp_path)) is None, "a region less others"
    noise = {"noise": {"law": "laplace", "scale": 1.0}}
    assert tables_of(statements_of([table, {"kind": "table", "statements": COUNTS[:1], **noise}], tmp_path)) is None
    tree = {"kind": "tree", "nodes": [{"if": {"b": 1}, "then": 1, "else": 2}, {"count": 4}, {"count": 5}]}
    assert tables_of(statements_of([table, tree], tmp_path)) is None


def test_a_smaller_table_is_part_of_a_larger_one():
    found, _ = cells_of((2, 2, 2), [{0: {0}}, {0: {0}, 1: {0}}, {1: {1}, 2: {0}}], [(1, 1)] * 3, 3)
    assert found.tables == (frozenset({0, 1}), frozenset({1, 2}))
    assert found.exact


def drawn_groups(size, rng):
    """Return a random partition of the values of an attribute into groups."""
    of = [rng.randrange(size) for _ in range(size)]
    return [{v for v in range(size) if of[v] == g} for g in sorted(set(of))]


@pytest.mark.sampled(4, 37)
@pytest.mark.parametrize("seed", range(60))
def test_tables_with_groups_of_their_own_are_linked(seed):
    """Each table knows other groups of the attribute that both have, and no table says how many are in one."""
    rng = random.Random(seed)
    sizes, n = (rng.choice([3, 4]), 2, 2), 3
    rows = list(product(*map(range, sizes)))
    cells = [{0: g, k: {v}} for k in (1, 2) for g in drawn_groups(sizes[0], rng) for v in (0, 1)]
    every = np.array([[counted(c, rows, times) for c in cells] for times in data_sets(rows, n)])
    true = every[rng.randrange(len(every))]
    shown = [rng.random() < 0.6 for _ in cells]
    ends = every[(every[:, shown] == true[shown]).all(axis=1)]
    bounds = [(int(x), int(x)) if s else (0, n) for x, s in zip(true, shown, strict=True)]
    found, places = cells_of(sizes, cells, bounds, n)
    left = cell_intervals(found, np.array(places), Limits())
    assert found.exact
    assert left.tight[places].all()
    assert left.low[places].tolist() == ends.min(axis=0).tolist()
    assert left.high[places].tolist() == ends.max(axis=0).tolist()
    assert (left.met[0][places].tolist(), left.met[1][places].tolist()) == (
        left.low[places].tolist(),
        left.high[places].tolist(),
    )


def test_the_parts_of_linked_cells():
    assert module._finest({1, 2, 3, 4, 12}) == {1, 2, 4}
    assert module._children(7, [1, 2, 4, 3, 7]) == [3, 2]
    assert module._children(7, [1, 2, 7]) == []
    assert module._lies_in({0: 1, 1: 2}, Box(((0, 3),)))
    assert not module._lies_in({1: 2}, Box(((0, 3),)))
    assert not module._lies_in({0: 5}, Box(((0, 3),)))
    groups = [{0: {1, 2, 4}}, {1: {3, 4}}]
    assert module._told_by(Box(((0, 3),)), groups)
    assert not module._told_by(Box(((0, 3), (1, 3))), groups), "no table has both attributes"
    assert not module._told_by(Box(((1, 1),)), groups), "half of a finest group"
    assert module._acyclic([frozenset(one) for one in ((0, 1, 2), (1, 3), (2, 4), (0, 5))])
    assert module._acyclic([frozenset(one) for one in ((0, 1), (0, 1), (1, 2), (1, 2))])
    assert not module._acyclic([frozenset(one) for one in ((0, 1), (1, 2), (0, 2))])
    everybody = linked_cells(space_of((2,)), {Box(): (3, 3)})
    assert (len(everybody), len(everybody.relations)) == (1, 0)
    both, _ = cells_of((2, 2, 2), [{0: {0}, 1: {0}}, {0: {0}, 2: {0}}], [(0, 1), (0, 1)], 3)
    assert len(both.relations) == 12, "two tables of 6 sums each"


@pytest.mark.parametrize(("name", "enough"), [("MAX_CELLS", 16), ("MASKS", 3)])
def test_as_many_cells_as_allowed_are_taken(monkeypatch, name, enough):
    monkeypatch.setattr(module, name, enough)
    cells_of((3, 3), [{0: {v}, 1: {w}} for v in range(3) for w in range(3)], [(0, 1)] * 9, 3)
    monkeypatch.setattr(module, name, enough - 1)
    with pytest.raises(Unsupported, match="more than"):
        cells_of((3, 3), [{0: {v}, 1: {w}} for v in range(3) for w in range(3)], [(0, 1)] * 9, 3)


@pytest.mark.parametrize("what", ["bags", "boosted", "observed"])
def test_what_is_known_beside_counts_is_no_table(tmp_path, what):
    some = statements_of([{"kind": "table", "statements": COUNTS}], tmp_path)
    assert tables_of(some) is not None
    object.__setattr__(some, what, ("something",))
    assert tables_of(some) is None


def test_groups_of_linked_tables_are_compared_until_nothing_changes():
    """A coarser table stays as it is; an equal one gets the groups of the other; what one gets, all finer ones get."""
    single = {1, 2, 4, 8}
    found = module._comparable([{0: {3, 12}}, {0: set(single)}])
    assert found == [{0: {3, 12}}, {0: {3, 12, *single}}]
    assert module._comparable([{0: set(single)}, {0: {3, *single}}]) == [{0: {3, *single}}] * 2
    first, second, _ = module._comparable([{0: {0x0F, 0xF0}}, {0: {0x33, 0xCC}}, {0: {0x55, 0xAA}}])
    assert {0x11, 0x22, 0x44, 0x88} <= second[0] <= first[0]


def test_the_parts_of_a_group_do_not_overlap():
    assert module._children(15, [15, 3, 6, 12, 1, 2, 4, 8]) == [1, 3]
