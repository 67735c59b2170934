"""Properties of what the engines share: statements, pieces, propagation, relaxation, layered graphs.

The truth is never excluded; adding a statement never adds a world; names and order mean nothing; every pass over a
layered graph is what brute force over all histograms says.
"""

from __future__ import annotations

import copy
import json
import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import oracle
import oracle_coupled
import pytest
from extras import encoded
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from test_engines import Case, parts_of
from test_kinds import MAKERS, random_rows, release_of

from solvers.cells import linear_system
from solvers.cells.components import Component
from solvers.cells.cutting import Covering, WordLayout, minus, split_parts, split_pieces
from solvers.cells.system import _build
from solvers.cells.worlds import RandomSource
from solvers.engines import chain
from solvers.foundation.errors import ContradictionError, ReleaseError
from solvers.foundation.limits import Limits
from solvers.histograms.answering import _sample_path
from solvers.histograms.decision_diagram import layers_of
from solvers.programs.linear_program import Relaxation
from solvers.statements.boxes import Attribute, Box, Boxes, RowSpace
from solvers.statements.questions import query

SEEDS = st.integers(0, 2**32)


def examples(number):
    slow = [HealthCheck.filter_too_much, HealthCheck.data_too_large]
    return settings(max_examples=number, derandomize=True, suppress_health_check=slow)


def count(release, convention):
    """Return the number of worlds that the engines find; 0 where reading already shows a contradiction."""
    try:
        return chain.answer(encoded(release).statements, query.Count(convention)).value
    except ContradictionError:
        return 0


# ---------------------------------------------------------------- the truth, and what is added to it


@pytest.mark.slow
@examples(150)
@given(SEEDS)
def test_the_truth_is_never_excluded(seed):
    release, truth = oracle_coupled.random_coupled(random.Random(seed))
    one = Case("random", release)
    system = _build(one.encoded.statements, Limits())
    z = one.histogram(truth)
    assert system.satisfied(z)
    assert system.bounds.conflict is None
    assert (system.bounds.lower <= z).all()
    assert (z <= system.bounds.upper).all()


@pytest.mark.slow
@examples(40)
@given(SEEDS, st.integers(1, 12))
def test_the_truth_is_never_excluded_where_values_are_coarse(seed, n):
    """Three models over a domain of millions of rows; sums over 5,001 values are cut into parts."""
    rng = random.Random(seed)
    rows = random_rows(rng, n)
    chosen = rng.sample(sorted(MAKERS), rng.randint(1, 3))
    got = encoded(release_of(*(MAKERS[k](rng, rows) for k in chosen), rows=n))
    system = _build(got.statements, Limits())
    z = np.zeros(len(system.sizes), dtype=np.int64)
    for row in rows:
        indices = [place(a, oracle.canonical(row[a.name])) for a in got.domain.all]
        at = parts_of(got.statements.domain, indices)
        (piece,) = [i for i, box in enumerate(system.boxes) if all(m >> at[k] & 1 for k, m in box.literals)]
        z[system.cell[piece]] += 1
    assert system.satisfied(z)
    assert (system.bounds.lower <= z).all()
    assert (z <= system.bounds.upper).all()


def place(attribute, value):
    return next(i for i in range(attribute.span[1]) if oracle.canonical(attribute.value(i)) == value)


@pytest.mark.slow
@examples(60)
@given(SEEDS)
def test_propagation_and_relaxation_are_sound(seed):
    """Every dataset lies within the bounds; so do the extremes of random sums in what the relaxation proves."""
    rng = random.Random(seed)
    release, _ = oracle_coupled.random_coupled(rng)
    one = Case("random", release)
    system = _build(one.encoded.statements, Limits())
    every = np.array([one.histogram(d) for d in one.datasets])
    assert (system.bounds.lower <= every).all()
    assert (every <= system.bounds.upper).all()
    assert all(system.satisfied(z) for z in every)
    relaxation = Relaxation(system)
    assert not relaxation.refutes(Limits())
    for _ in range(4):
        coefs = np.array([rng.randint(-3, 5) for _ in system.sizes], dtype=np.int64)
        values = every @ coefs
        assert relaxation.bound(coefs, False, Limits()) <= values.min()
        assert relaxation.bound(coefs, True, Limits()) >= values.max()


@pytest.mark.slow
@examples(60)
@given(SEEDS)
def test_what_is_refuted_has_no_dataset(seed):
    """A broken figure: propagation and Farkas multipliers may miss it, but what they refute is a contradiction."""
    rng = random.Random(seed)
    release, _ = oracle_coupled.random_coupled(rng)
    changed = oracle_coupled._changed(rng, release)
    try:
        got = encoded(changed)
    except (ReleaseError, ContradictionError):
        assume(False)
    system = _build(got.statements, Limits())
    if system.bounds.conflict is not None or Relaxation(system).refutes(Limits()):
        assert not oracle.datasets(changed)


@pytest.mark.slow
@examples(40)
@given(SEEDS, st.sampled_from(["ordered", "multiset"]))
def test_one_more_model_never_adds_a_world(seed, convention):
    release, truth = oracle_coupled.random_coupled(random.Random(seed))
    release.setdefault("rows", len(truth))
    all_of_it = count(release, convention)
    assert all_of_it >= 1
    for i in range(len(release["models"]) if len(release["models"]) > 1 else 0):
        fewer = {**release, "models": release["models"][:i] + release["models"][i + 1 :]}
        assert count(fewer, convention) >= all_of_it


@examples(15)
@given(SEEDS, st.sampled_from(["ordered", "multiset"]))
def test_a_figure_that_is_forgotten_never_removes_a_world(seed, convention):
    release, truth = oracle_coupled.random_coupled(random.Random(seed), ["table", "rule_set"])
    release.setdefault("rows", len(truth))
    all_of_it = count(release, convention)
    for i, model in enumerate(release["models"]):
        key = "statements" if model["kind"] == "table" else "rules"
        for j in range(len(model[key]) if len(model[key]) > 1 else 0):
            fewer = copy.deepcopy(release)
            del fewer["models"][i][key][j]
            assert count(fewer, convention) >= all_of_it


# ---------------------------------------------------------------- names and order


def renamed(release):
    """Return the release with other names for attributes and for values that are words."""
    words = [f"a{k}" for k in range(1, 5)] + ["red", "green", "blue", "grey", "low", "mid", "high", "top"]
    text = json.dumps(release)
    for word in words:
        text = text.replace(f'"{word}"', f'"the {word[::-1]}"')
    return json.loads(text)


def reordered(release, rng):
    """Return the release with attributes, models, trees, statements and rules of sets in another order."""
    out = copy.deepcopy(release)
    rng.shuffle(out["domain"]["attributes"])
    rng.shuffle(out["models"])
    for model in out["models"]:
        if model["kind"] in {"table", "rule_set", "forest"}:
            rng.shuffle(model[{"table": "statements", "rule_set": "rules", "forest": "trees"}[model["kind"]]])
    return out


def swapped(release):
    """Return the release with the attributes' columns declared the other way round and impossible boxes doubled."""
    out = copy.deepcopy(release)
    if "columns" in out["domain"]:
        out["domain"]["columns"] = dict(reversed(out["domain"]["columns"].items()))
    if "impossible" in out["domain"]:
        out["domain"]["impossible"] = out["domain"]["impossible"] * 2
    return out


@pytest.mark.slow
@examples(60)
@given(SEEDS, st.sampled_from(["ordered", "multiset"]))
def test_names_and_order_do_not_matter(seed, convention):
    rng = random.Random(seed)
    release, truth = oracle_coupled.random_coupled(rng)
    release.setdefault("rows", len(truth))
    expected = count(release, convention)
    for other in (renamed(release), reordered(release, rng), swapped(release)):
        assert count(other, convention) == expected


# ---------------------------------------------------------------- pieces against brute force


@st.composite
def layouts(draw):
    """Draw a domain of two to four attributes, sometimes one of more than 64 or 128 parts, and some boxes."""
    small = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    parts = [*small, draw(st.sampled_from([2, 3, 9, 64, 65, 70, 130]))]
    parts = draw(st.permutations(parts))
    sizes = [tuple(draw(st.sampled_from([1, 1, 2, 5, 10**12])) for _ in range(min(p, 4))) for p in parts]
    sizes = [(s * p)[:p] for s, p in zip(sizes, parts, strict=True)]
    domain = RowSpace(tuple(Attribute(f"a{k}", s) for k, s in enumerate(sizes)))
    boxes = []
    for _ in range(draw(st.integers(0, 4))):
        named = draw(st.lists(st.integers(0, len(parts) - 1), max_size=3, unique=True))
        boxes.append(Box.of((k, draw(st.integers(1, (1 << parts[k]) - 1))) for k in named))
    return WordLayout(domain), boxes


def inside(box, row):
    return all(mask >> row[k] & 1 for k, mask in box.literals)


def every_row(layout):
    return list(product(*(range(len(a.sizes)) for a in layout.domain.attributes)))


def held(layout, words, rows):
    """Return (rows, pieces): which pieces hold each row."""
    out = np.ones((len(rows), len(words)), dtype=bool)
    at = np.array(rows, dtype=np.int64).reshape(len(rows), -1)
    for k in range(at.shape[1]):
        word = words[:, layout.at[k] + at[:, k] // 64].T
        out &= (word >> (at[:, k] % 64).astype(np.uint64)[:, None] & np.uint64(1)).astype(bool)
    return out


@pytest.mark.slow
@examples(100)
@given(layouts())
def test_pieces_are_the_boxes_they_come_from(problem):
    layout, boxes = problem
    words = layout.rows(Boxes.of(boxes))
    rows = every_row(layout)
    assert held(layout, words, rows).tolist() == [[inside(b, r) for b in boxes] for r in rows]
    back = layout.boxes(words)
    assert held(layout, layout.rows(Boxes.of(back)), rows).tolist() == held(layout, words, rows).tolist()
    assert [int(z) for z in layout.sizes(words)] == [b.size(layout.domain) for b in boxes]
    for k, attribute in enumerate(layout.domain.attributes):
        masks = [dict(b.literals).get(k, attribute.full) for b in boxes]
        wanted = [[bool(m >> p & 1) for p in range(len(attribute.sizes))] for m in masks]
        assert layout.parts(words, k).tolist() == wanted


@pytest.mark.slow
@examples(100)
@given(layouts())
def test_split_and_minus(problem):
    layout, boxes = problem
    rows, words = every_row(layout), layout.full[None].copy()
    for box in boxes:
        within, within_of, beyond, beyond_of = split_pieces(layout, words, box)
        before = held(layout, words, rows)
        for found, origin, side in ((within, within_of, True), (beyond, beyond_of, False)):
            now = held(layout, found, rows)
            assert found.any(axis=1).all()
            assert now.sum(axis=1).tolist() == [inside(box, r) == side for r in rows]
            assert not (now & ~before[:, origin]).any()
        words = np.concatenate([within, beyond])
    left = minus(layout, layout.full[None].copy(), boxes)
    free = [not any(inside(b, r) for b in boxes) for r in rows]
    assert held(layout, left, rows).sum(axis=1).tolist() == free
    sizes = [math.prod(a.sizes[p] for a, p in zip(layout.domain.attributes, r, strict=True)) for r in rows]
    assert sum(map(int, layout.sizes(left))) == sum(z for z, f in zip(sizes, free, strict=True) if f)


@pytest.mark.slow
@examples(60)
@given(layouts(), SEEDS)
def test_split_by_sets_of_parts(problem, seed):
    layout, boxes = problem
    rng, rows = random.Random(seed), every_row(layout)
    words = minus(layout, layout.full[None].copy(), boxes)
    k = rng.randrange(len(layout.domain.attributes))
    masks = [0, 0, 0]
    for p in range(len(layout.domain.attributes[k].sizes)):
        masks[rng.randrange(3)] |= 1 << p
    found, origin, sets = split_parts(layout, words, k, masks)
    before, now = held(layout, words, rows), held(layout, found, rows)
    for i, row in enumerate(rows):
        (piece,) = np.flatnonzero(now[i]).tolist() or [None]
        if piece is None:
            assert not before[i].any()
        else:
            assert before[i, origin[piece]]
            assert masks[sets[piece]] >> row[k] & 1


def leaves(layout, rng, box=None, depth=3):
    """Return disjoint boxes that cover the row space: the leaves of a random tree."""
    box = box or Box()
    k = rng.randrange(len(layout.domain.attributes))
    full = layout.domain.attributes[k].full
    have = dict(box.literals).get(k, full)
    mask = rng.randrange(1, full + 1)
    if not depth or not have & mask or not have & ~mask or rng.random() < 0.2:
        return [box]
    sides = (Box.of([*box.literals, (k, m)]) for m in (mask, full & ~mask))
    return [leaf for side in sides for leaf in leaves(layout, rng, side, depth - 1)]


@pytest.mark.slow
@examples(100)
@given(layouts(), SEEDS)
def test_a_covering_meets_pieces_where_they_share_a_row(problem, seed):
    layout, boxes = problem
    rng, rows = random.Random(seed), every_row(layout)
    words = minus(layout, layout.full[None].copy(), boxes)
    cover = leaves(layout, rng)
    allowed = [[rng.random() < 0.7 for _ in cover] for _ in range(len(words))]
    alive = np.array([[sum(1 << j for j, a in enumerate(row) if a)] for row in allowed], dtype=np.uint64)
    alive = alive.reshape(len(words), 1)
    covering = Covering(layout, Boxes.of(cover))
    piece, box = covering.meet(words, alive)
    before, of_cover = held(layout, words, rows), held(layout, layout.rows(Boxes.of(cover)), rows)
    assert (of_cover.sum(axis=1) == 1).all()
    wanted = {
        (i, j)
        for i in range(len(words))
        for j in range(len(cover))
        if allowed[i][j] and (before[:, i] & of_cover[:, j]).any()
    }
    pairs = list(zip(piece.tolist(), box.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) == wanted
    cut = held(layout, covering.cut(words, piece, box), rows)
    assert (cut == (before[:, piece] & of_cover[:, box])).all()


# ---------------------------------------------------------------- sparse rows against numpy


@examples(150)
@given(SEEDS, st.integers(0, 30), st.integers(0, 5), st.sampled_from([2, 3, 1 << 62]))
def test_same_rows(seed, rows, columns, spread):
    dice = np.random.default_rng(seed)
    matrix = dice.integers(-spread, spread, size=(rows, columns))
    first, group = linear_system.same_rows(matrix)
    listed = list(map(tuple, matrix.tolist()))
    assert len(first) == len(set(listed))
    assert [listed[first[g]] for g in group.tolist()] == listed
    assert all(listed.index(listed[i]) == i for i in first.tolist()), "not the first of its kind"


def test_same_rows_with_more_columns_than_hashes():
    dice = np.random.default_rng(5)
    matrix = np.repeat(dice.integers(0, 2, size=(6, 4_100)), 3, axis=0)[dice.permutation(18)]
    first, group = linear_system.same_rows(matrix)
    assert len(first) == 6
    assert (matrix[first][group] == matrix).all()


def test_same_rows_when_hashes_collide(monkeypatch):
    monkeypatch.setattr(linear_system, "HASHES", np.zeros(8, dtype=np.uint64))
    matrix = np.array([[1, 2], [3, 4], [1, 2], [0, 0]])
    first, group = linear_system.same_rows(matrix)
    assert len(first) == 3
    assert (matrix[first][group] == matrix).all()


@examples(150)
@given(SEEDS, st.integers(0, 40), st.integers(1, 12))
def test_add_up(seed, entries, length):
    dice = np.random.default_rng(seed)
    rows, values = np.sort(dice.integers(0, length, entries)), dice.integers(-(1 << 50), 1 << 50, entries)
    expected = np.zeros(length, dtype=np.int64)
    np.add.at(expected, rows, values)
    assert (linear_system.add_up(values, rows, length) == expected).all()


# ---------------------------------------------------------------- layered graphs against all histograms


@st.composite
def components(draw, keep=False):
    """Draw a component: up to six free cells, up to four statements, every one with an entry."""
    cells = draw(st.integers(1, 6))
    room = [draw(st.integers(1, 3)) for _ in range(cells)]
    number = draw(st.integers(1, 4))
    coefs = st.sampled_from([0, 0, 1, 1, 1, -1, 2, 3])
    matrix = np.array([[draw(coefs) for _ in range(cells)] for _ in range(number)], dtype=np.int64)
    assume((matrix != 0).any(axis=1).all())
    start = np.array([draw(st.integers(0, r)) for r in room], dtype=np.int64)
    low = matrix @ start - np.array([draw(st.integers(-1, 3)) for _ in range(number)])
    high = low + np.array([draw(st.integers(0, 4)) for _ in range(number)])
    kept = tuple(sorted(draw(st.sets(st.integers(0, number - 1), min_size=1, max_size=2)))) if keep else ()
    for r in kept:
        low[r], high[r] = -linear_system.FREE, linear_system.FREE
    return Component(np.arange(cells), np.array(room), np.arange(number), matrix, low, high, kept, kept)


def histograms(part):
    every = np.array(list(product(*(range(r + 1) for r in part.room.tolist()))), dtype=np.int64)
    sums = every @ part.matrix.T
    return every[((sums >= part.low) & (sums <= part.high)).all(axis=1)]


def some_weights(rng, part):
    return [[rng.choice([1, 1, 2, 7, 10**30]) for _ in range(r + 1)] for r in part.room.tolist()]


def worth(weights, y):
    return math.prod(w[v] for w, v in zip(weights, y.tolist(), strict=True))


def by_state(graph, every):
    """Return the histograms of every final state: those whose kept sums are the state's."""
    kept = list(graph.part.keep)
    sums = every @ graph.part.matrix[kept].T if kept else np.zeros((len(every), 0), dtype=np.int64)
    return [every[(sums == total).all(axis=1)] for total in graph.totals]


@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("keep", [False, True])
@examples(50)
@given(data=st.data(), seed=SEEDS)
def test_layers_are_all_histograms(keep, data, seed):
    rng, part = random.Random(seed), data.draw(components(keep))
    order = rng.sample(range(len(part.cells)), len(part.cells)) if rng.random() < 0.5 else None
    every, graph = histograms(part), layers_of(part, Limits(), order)
    if graph is None:
        assert not len(every)
        return
    assert sorted(map(tuple, (y.tolist() for y in graph.paths()))) == sorted(map(tuple, every.tolist()))
    groups = by_state(graph, every)
    assert len({tuple(t) for t in graph.totals.tolist()}) == len(graph.totals)
    assert sum(map(len, groups)) == len(every)
    assert all(map(len, groups))
    weights = some_weights(rng, part)
    exact = [sum(worth(weights, y) for y in group) for group in groups]
    assert graph.count(weights) == exact
    assert list(graph.prefixes(weights)[-1]) == exact
    least, most = graph.ranges()
    assert (least == every.min(axis=0)).all()
    assert (most == every.max(axis=0)).all()
    some = rng.sample(range(len(weights)), rng.randint(1, len(weights)))
    assert graph.extent(some, greatest=False) == every[:, some].sum(axis=1).min()
    assert graph.extent(some, greatest=True) == every[:, some].sum(axis=1).max()
    costs = [np.array([rng.randint(-5, 5) for _ in w], dtype=np.int64) for w in weights]
    for final in (None, *range(len(groups))):
        among = every if final is None else groups[final]
        values = [sum(int(c[v]) for c, v in zip(costs, y.tolist(), strict=True)) for y in among]
        for greatest, best in ((False, min(values)), (True, max(values))):
            value, y = graph.extreme(costs, greatest, final)
            assert value == best
            assert y.tolist() in among.tolist()
            assert sum(int(c[v]) for c, v in zip(costs, y.tolist(), strict=True)) == best


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("keep", [False, True])
@examples(80)
@given(data=st.data(), seed=SEEDS)
def test_passes_in_logarithms_are_shares_of_weight(keep, data, seed):
    rng, part = random.Random(seed), data.draw(components(keep))
    every, graph = histograms(part), layers_of(part, Limits())
    assume(graph is not None)
    weights = [[rng.choice([0, 1, 1, 2, 3, 10**150]) for _ in range(r + 1)] for r in part.room.tolist()]
    with np.errstate(divide="ignore"):
        weighed = graph.weighed([np.log(np.array(w, dtype=np.float64)) for w in weights])
    chosen = rng.sample(range(len(weights)), rng.randint(1, len(weights)))
    ratios = {c: np.array([rng.choice([0.0, rng.random(), 1.0]) for _ in weights[c]]) for c in chosen}
    cell = rng.choice(chosen)
    for final, group in enumerate(by_state(graph, every)):
        whole = sum(worth(weights, y) for y in group)
        if not whole:
            continue
        shares = np.array([float(Fraction(worth(weights, y), whole)) for y in group])
        for c, marginal in enumerate(weighed.marginals(final)):
            assert marginal == pytest.approx(np.bincount(group[:, c], shares, minlength=len(weights[c])), abs=1e-9)
        products = [math.prod(ratios[c][y[c]] for c in chosen) for y in group]
        assert weighed.mean_product(ratios, final) == pytest.approx(float(shares @ products), abs=1e-9)
        gains = shares * ratios[cell][group[:, cell]]
        rows = weighed.mean_rows(cell, ratios[cell], chosen, final)
        assert rows == pytest.approx({c: float(gains @ group[:, c]) for c in chosen}, abs=1e-9)


@pytest.mark.slow
@examples(60)
@given(components(), SEEDS)
def test_draws_have_the_right_support(part, seed):
    """Every draw is a histogram; where there are few, and all weigh the same, all of them are drawn."""
    every, graph = histograms(part), layers_of(part, Limits())
    assume(graph is not None)
    weights = [[1] * (r + 1) for r in part.room.tolist()]
    prefixes, dice, seen = graph.prefixes(weights), RandomSource(seed), set()
    for _ in range(150 if len(every) <= 6 else 5):
        z = np.zeros(len(part.cells), dtype=np.int64)
        _sample_path(graph, prefixes, weights, 0, z, dice)
        seen.add(tuple(z.tolist()))
    allowed = set(map(tuple, every.tolist()))
    assert seen <= allowed
    assert seen == allowed or len(every) > 6
