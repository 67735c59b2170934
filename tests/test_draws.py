"""Trees on unknown bags: how likely a world makes their counts, held against every bag, and worlds that are likely."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from extras import encoded, extra
from test_local_search import grown, numbered

import recon
from recon.readers.frames.world import wrap
from solvers.engines.rows import DRAWN_NOTE, DrawsEngine
from solvers.foundation.errors import Inconclusive, TooLarge
from solvers.foundation.limits import Limits
from solvers.programs.local_search import compiled
from solvers.programs.local_search import compiled as annealing
from solvers.programs.local_search import finding as likely
from solvers.programs.local_search.finding import (
    _broken_statement,
    _drawn_blocks,
    _drawn_tables,
    _log_surjections,
    _log_ways,
    _log_ways_of,
    _surjective,
    likely_rows,
    log_likelihood,
)
from solvers.programs.local_search.problem import problem_of
from solvers.statements.questions.query import MostLikely

ENGINE = DrawsEngine()


def counted(tree, domain, rows, bag, distinct):
    """Return a tree whose leaves count a bag of some rows, with numbers of different rows if wanted."""
    nodes = [dict(node) for node in tree["nodes"]]

    def leaf(row):
        at = 0
        while "if" in nodes[at]:
            ((name, test),) = nodes[at]["if"].items()
            x = row[[a["name"] for a in domain["attributes"]].index(name)]
            held = x in test["in"] if "in" in test else x <= test["at_most"]
            at = nodes[at]["then" if held else "else"]
        return at

    found = [leaf(row) for row in rows]
    for at, node in enumerate(nodes):
        if "if" in node:
            continue
        inside = [i for i, j in enumerate(found) if j == at]
        node["counts"] = [sum(bag[i] for i in inside if rows[i][-1] == y) for y in domain["label"]["values"]]
        if distinct:
            node["distinct"] = sum(bag[i] > 0 for i in inside)
    return {"nodes": nodes}


def bagged(seed, n, trees, classes=2, distinct=True, depth=2):
    """Return a forest on bags of random rows, and the rows."""
    rng = random.Random(f"bagged {seed}")
    domain = {"attributes": [numbered(k, range(rng.randint(2, 4))) for k in range(3)]}
    domain["label"] = {"name": "y", "values": list(range(classes))}
    rows = [(*(rng.choice(a["values"]) for a in domain["attributes"]), rng.randrange(classes)) for _ in range(n)]
    grew = []
    for _ in range(trees):
        bag = np.bincount([rng.randrange(n) for _ in range(n)], minlength=n).tolist()
        grew.append(counted(grown(rng, domain, depth, rows), domain, rows, bag, distinct))
    model = {"kind": "forest", "bootstrap": True, "trees": grew}
    return {"recon": 1, "domain": domain, "rows": n, "models": [model]}, rows


def as_parts(got, rows):
    """Return rows of numbers 0, 1, ... as parts of the encoded domain: the part that holds each value."""
    out = []
    for row in rows:
        line = []
        for attribute, x in zip(got.statements.domain.attributes, row, strict=True):
            ends = np.cumsum(attribute.sizes)
            line.append(int(np.searchsorted(ends, x, side="right")))
        out.append(line)
    return np.array(out, dtype=np.int64)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(24))
def test_the_likelihood_is_the_share_of_all_bags(seed):
    """Every bag of some rows is drawn: how many give the counts is c! / Π c_l! times the product of the ways."""
    n, distinct = 2 + seed % 4, seed % 3 > 0
    release, rows = bagged(seed, n, 1, 2 + seed % 2, distinct, 1 + seed % 2)
    got = encoded(release)
    ((_, draws),) = _drawn_blocks(got.statements)
    rng = random.Random(seed)
    for world in (rows, [rng.choice(rows) for _ in rows], [(0, 0, 0, rng.randrange(2)) for _ in rows]):
        hits = 0
        tree = release["models"][0]["trees"][0]
        for drawn in itertools.product(range(n), repeat=n):
            bag = np.bincount(drawn, minlength=n).tolist()
            hits += counted(tree, release["domain"], world, bag, distinct) == tree
        ways = math.factorial(n) // math.prod(math.factorial(c) for c in draws.count.tolist())
        found = log_likelihood(got.statements, as_parts(got, world))
        assert (hits == 0) == math.isinf(found)
        if hits:
            assert ways * math.exp(found) == pytest.approx(hits)
            assert _broken_statement(got.statements, as_parts(got, world)) is None


def test_ways_to_draw_are_counted_twice_the_same():
    """The tables in floats and the formula in whole numbers, up to a constant for one class."""
    for c in range(9):
        assert [round(math.exp(x)) for x in _log_surjections(c)] == list(_surjective(c))
    for counts, different in [
        ((4,), 3),
        ((4,), -1),
        ((3, 2), 4),
        ((3, 2), 5),
        ((1, 6), 2),
        ((2, 3, 2), 5),
        ((1, 1), -1),
    ]:
        most = (6, 5, 4)[: len(counts)]
        table, offsets = _log_ways((counts, different), most), set()
        for held in itertools.product(*(range(m + 1) for m in most)):
            exact = _log_ways_of(counts, different, held)
            assert math.isinf(exact) == math.isinf(table[held])
            if not math.isinf(exact):
                offsets.add(round(exact - table[held], 9))
        assert len(offsets) == 1
        assert len(counts) == 1 or offsets == {0.0}


def likelihoods(got, seed, limits=None):
    """Return the likelihood of the covering world that a search starts from, and of the one that it returns."""
    problem = problem_of(got, Limits())
    found = annealing.searched(problem, seed, Limits(), likely=True)
    start = np.full((problem.rows, len(got.domain.attributes)), -1, dtype=np.int64)
    start[:, problem.attributes] = found.world
    rows, _ = likely_rows(got, seed, limits or Limits())
    assert _broken_statement(got, rows) is None
    return log_likelihood(got, start), log_likelihood(got, rows)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(6))
def test_worlds_are_worlds_and_no_less_likely_than_where_they_start(seed, monkeypatch):
    monkeypatch.setattr(likely, "MOVES", 1 << 8)
    release, truth = bagged(seed, 12, 4, 2 + seed % 2, seed % 3 > 0)
    got = encoded(release)
    assert _broken_statement(got.statements, as_parts(got, truth)) is None
    before, after = likelihoods(got.statements, seed)
    assert after >= before - 1e-6


def test_the_likeliest_world_of_a_tiny_forest_is_found():
    release, _ = bagged(3, 3, 2, 2, True, 1)
    got = encoded(release).statements
    sizes = [len(a.sizes) for a in got.domain.attributes]
    every = list(itertools.product(*map(range, sizes)))
    best = max(
        log_likelihood(got, np.array(rows)) for rows in itertools.combinations_with_replacement(every, got.rows.low)
    )
    rows, several = likely_rows(got, 0, Limits())
    assert several
    assert log_likelihood(got, rows) == pytest.approx(best)


def test_tables_of_what_rows_are_worth_are_charged_before_they_are_made(monkeypatch):
    """A table of 48,842 numbers for every count that a leaf of one class has: nothing asked for them."""
    got, made, ways = encoded(bagged(5, 16, 5, 2, True)[0]).statements, [], likely._log_ways
    problem = problem_of(got, Limits())
    monkeypatch.setattr(likely, "_log_ways", lambda *given: made.append(given) or ways(*given))
    with pytest.raises(TooLarge, match="tables of what rows in leaves are worth need about"):
        _drawn_tables(problem, Limits(memory=10 * likely.FIGURE_BYTES))
    with pytest.raises(Inconclusive, match="tables of what rows in leaves are worth"):
        _drawn_tables(problem, Limits().at_most(10 * likely.FIGURE_WORK))
    assert not made
    monkeypatch.setattr(likely, "FIGURE_BYTES", 1e12)
    rows, several = likely_rows(got, 0, Limits())
    assert _broken_statement(got, rows) is None
    assert not several
    assert not made


@pytest.mark.parametrize("entries", [0, likely.ENTRIES])
def test_what_the_loop_keeps_is_what_it_would_count_anew(entries, monkeypatch):
    """The worth changes as the likelihood does, or where tables have no room as that of counts alone does."""
    monkeypatch.setattr(likely, "ENTRIES", entries)
    got = encoded(bagged(5, 16, 5, 2, True)[0]).statements
    problem = problem_of(got, Limits())
    ends = []
    for moves in (1 << 5, 1 << 9):
        monkeypatch.setattr(likely, "MOVES", moves)
        found = annealing.searched(problem, 1, Limits(), likely=True)
        best, last, worth = likely._climb(problem, *found.end, Limits())
        for rows, value in zip((best, last), worth, strict=True):
            whole = np.full((problem.rows, len(got.domain.attributes)), -1, dtype=np.int64)
            whole[:, problem.attributes] = rows
            ends.append((log_likelihood(got, whole), value / likely.UNIT))
    if entries:
        assert max(a - b for a, b in ends) - min(a - b for a, b in ends) < 1e-4
    cells = _drawn_tables(problem, Limits())[0].cell
    assert (cells >= 0).any()


@pytest.mark.slow
def test_compiled_or_not_the_worlds_are_the_same(monkeypatch):
    extra("numba")
    monkeypatch.setattr(likely, "MOVES", 1 << 8)
    release, _ = bagged(7, 14, 4, 3)
    found = []
    for made in (compiled._compiled(), compiled.PLAIN):
        monkeypatch.setattr(annealing, "_loops_for", lambda *_, made=made: made)
        found.append(likely_rows(encoded(release).statements, 2, Limits())[0].tolist())
    assert found[0] == found[1]


def test_the_same_seed_gives_the_same_world(monkeypatch):
    monkeypatch.setattr(likely, "MOVES", 1 << 7)
    release, _ = bagged(8, 12, 3)
    worlds = [ENGINE.answer(encoded(release).statements, MostLikely(s), Limits()).worlds for s in (1, 1, 2)]
    values = [next(w).values.tolist() for w in worlds]
    assert values[0] == values[1]


def test_the_note_says_what_it_is_and_the_chain_asks_it_first(monkeypatch):
    monkeypatch.setattr(likely, "MOVES", 1 << 7)
    got = encoded(bagged(9, 12, 3)[0])
    world = recon.reconstruct(got, limits=Limits(seconds=60))
    assert world.note.startswith(DRAWN_NOTE)
    assert world.unique is False


def test_a_world_that_is_alone_is_left_to_who_can_prove_it():
    domain = {"attributes": [{"name": "a", "values": [0, 1]}], "label": {"name": "y", "values": [0, 1]}}
    nodes = [{"if": {"a": {"at_most": 0}}, "then": 1, "else": 2}]
    nodes += [{"counts": [2, 0], "distinct": 1}, {"counts": [0, 2], "distinct": 1}]
    release = {"recon": 1, "domain": domain, "rows": 2, "models": [{"kind": "forest", "bootstrap": True}]}
    release["models"][0]["trees"] = [{"nodes": nodes}]
    got = encoded(release)
    with pytest.raises(Inconclusive, match="second world"):
        ENGINE.answer(got.statements, MostLikely(0), Limits(seconds=20))
    assert recon.reconstruct(got, limits=Limits(seconds=20)).unique is True


def test_known_bags_and_trees_on_all_rows_have_no_draws():
    release, rows = bagged(1, 6, 1)
    release["models"][0]["bootstrap"] = False
    counts = [sum(r[-1] == y for r in rows) for y in (0, 1)]
    release["models"][0]["trees"] = [{"nodes": [{"counts": counts}]}]
    got = encoded(release).statements
    assert _drawn_blocks(got) == []
    assert "no tree" in ENGINE.refuses(got, MostLikely(0))


def test_continuous_columns(tmp_path, monkeypatch):
    """A default forest of scikit-learn without its seeds: the world covers its leaves, and is no less likely."""
    joblib, datasets = pytest.importorskip("joblib"), pytest.importorskip("sklearn.datasets")
    ensemble = pytest.importorskip("sklearn.ensemble")
    monkeypatch.setattr(likely, "MOVES", 1 << 7)
    x, y = datasets.load_wine(return_X_y=True)
    model = ensemble.RandomForestClassifier(5, random_state=0, max_depth=3).fit(x[::3], y[::3])
    for one in (model, *model.estimators_):
        one.random_state = None
    joblib.dump(model, tmp_path / "m.joblib")
    got = recon.load(tmp_path / "m.joblib")
    before, after = likelihoods(got.statements, 0)
    assert after >= before - 1e-6
    assert "bags' counts most likely" in recon.reconstruct(got, limits=Limits(seconds=60)).note


def test_wrapped_worlds_are_rows(monkeypatch):
    monkeypatch.setattr(likely, "MOVES", 1 << 6)
    got = encoded(bagged(2, 9, 2)[0])
    (world,) = ENGINE.answer(got.statements, MostLikely(0), Limits()).worlds
    assert len(wrap(got, world).to_frame()) == 9
