"""One world by local search: worlds are worlds, nothing else is said, and it makes no difference what compiles it."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace

import numpy as np
import oracle
import pytest
from extras import encoded, extra

import recon
from recon.readers.frames.world import wrap
from solvers.engines import chain
from solvers.engines.rows import LocalSearchEngine
from solvers.foundation import native
from solvers.foundation.errors import EngineError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.local_search import compiled, loops
from solvers.programs.local_search import compiled as annealing
from solvers.programs.local_search.finding import _broken_statement, known_rows
from solvers.programs.local_search.problem import Walks, _class_sizes, problem_of
from solvers.statements.boxes import Attribute, Box
from solvers.statements.questions.query import Count, Enumerate, MostLikely
from solvers.statements.release import Choice, Loose, RowCount

ENGINE = LocalSearchEngine()


def numbered(k, values):
    return {"name": f"a{k}", "values": list(values)}


def grown(rng, domain, depth, rows):
    """Return a random tree over some rows as a model of the release file, with class counts in its leaves."""
    nodes = []

    def node(inside, level):
        at = len(nodes)
        nodes.append({})
        attribute = rng.choice(domain["attributes"])
        values = attribute["values"]
        if level == 0 or len(values) < 2:
            counts = [sum(r[-1] == v for r in inside) for v in domain["label"]["values"]]
            nodes[at] = {"counts": counts}
            return at
        k = domain["attributes"].index(attribute)
        if rng.random() < 0.5:  # a set of values: no run of parts, in general
            chosen = rng.sample(values, rng.randint(1, len(values) - 1))
            test, holds = {"in": chosen}, set(chosen)
        else:
            cut = rng.randrange(len(values) - 1)
            test, holds = {"at_most": values[cut]}, set(values[: cut + 1])
        yes = node([r for r in inside if r[k] in holds], level - 1)
        no = node([r for r in inside if r[k] not in holds], level - 1)
        nodes[at] = {"if": {attribute["name"]: test}, "then": yes, "else": no}
        return at

    node(rows, depth)
    return {"nodes": nodes}


def tiny(seed, classes=2, impossible=False, n=4):
    """Return a forest of a few trees over few rows, and the rows."""
    rng = random.Random(seed)
    attributes = [numbered(k, range(rng.randint(2, 4))) for k in range(3)]
    domain = {"attributes": attributes, "label": {"name": "y", "values": list(range(classes))}}
    if impossible:
        domain["impossible"] = [{"a0": 0, "a1": 1}, {"a2": 0, "y": 0}]
    every = oracle.rows({"recon": 1, "domain": domain, "models": []})
    truth = [rng.choice(every) for _ in range(n)]
    trees = [grown(rng, domain, rng.randint(1, 3), truth) for _ in range(rng.randint(1, 4))]
    return {"recon": 1, "domain": domain, "models": [{"kind": "forest", "trees": trees}]}, truth


def rows_of(got, world):
    return tuple(sorted(map(tuple, wrap(got, world).to_frame().to_numpy().tolist())))


def found(got, seed=0, seconds=20):
    (world,) = ENGINE.answer(got.statements, MostLikely(seed), Limits(seconds=seconds)).worlds
    return world


@pytest.mark.sampled(1)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("impossible", [False, True])
def test_worlds_are_those_of_brute_force(classes, impossible):
    sets = 0
    for seed in range(20):
        release, _ = tiny(seed, classes, impossible, 5 - classes)
        got, worlds = encoded(release), {tuple(sorted(d)) for d in oracle.datasets(release)}
        if worlds:
            assert rows_of(got, found(got)) in worlds, seed
            sets += '"in"' in json.dumps(release["models"])
    assert sets > 5


def test_a_forest_with_unknown_bags():
    """Counts of bags are lower bounds: rows cover every leaf, and the dataset is one of brute force over all."""
    domain = {"attributes": [numbered(0, range(3)), numbered(1, range(3))], "label": {"name": "y", "values": [0, 1]}}
    truth = [(0, 0, 0), (1, 1, 0), (2, 2, 1), (2, 0, 1), (0, 2, 1)]
    rng = random.Random(1)
    trees = []
    for _ in range(4):
        bag = [truth[i] for i in (rng.randrange(5) for _ in range(5))]
        trees.append(grown(rng, domain, 2, bag))
    release = {"recon": 1, "domain": domain, "rows": 5}
    release["models"] = [{"kind": "forest", "bootstrap": True, "trees": trees}]
    got = encoded(release)
    assert (got.statements.blocks[0].high > 5).any()
    world = found(got)
    rows = rows_of(got, world)
    assert len(rows) == 5
    parts = np.repeat(world.values, world.times, axis=0)
    for s in got.statements.statements():
        assert s.low <= sum(s.region.holds(row) for row in parts.tolist()) <= s.high


def test_sums_of_classes_are_met():
    """A leaf of several classes with few different rows: statements on sets of its classes, held one by one."""
    nodes = [{"counts": [2, 2, 0], "distinct": 3}]
    domain = {"attributes": [numbered(0, range(2))], "label": {"name": "y", "values": [0, 1, 2]}}
    forest = {"kind": "forest", "bootstrap": True, "trees": [{"nodes": nodes}]}
    release = {"recon": 1, "domain": domain, "rows": 3, "models": [forest]}
    got = encoded(release)
    assert got.statements.loose
    for seed in range(5):
        labels = [row[-1] for row in rows_of(got, found(got, seed))]
        assert 2 not in labels
        assert {0, 1} <= set(labels)


def test_what_is_no_world_is_refused(monkeypatch):
    """The search may err; what it says is evaluated anew. Without the check this test fails."""
    release, _truth = tiny(3)
    got = encoded(release).statements
    problem = problem_of(got, Limits())
    wrong = np.zeros((problem.rows, len(problem.attributes)), dtype=np.int64)
    monkeypatch.setattr(
        "solvers.programs.local_search.finding.searched", lambda *_: annealing.SearchResult(wrong, 0, ())
    )
    with pytest.raises(EngineError, match="no world"):
        known_rows(got, 0, Limits(seconds=5))


def test_every_kind_of_breach_is_seen():
    release, _truth = tiny(11, impossible=True)
    got = encoded(release).statements
    world = found(encoded(release))
    rows = np.array([[part_of(got.domain, k, v) for k, v in enumerate(row)] for row in world.values.tolist()])
    assert _broken_statement(got, rows) is None
    assert _broken_statement(got, rows[1:]) is not None
    barred = replace(got, impossible=(Box(tuple((k, 1 << p) for k, p in enumerate(rows[0].tolist()))),))
    assert "impossible" in _broken_statement(barred, rows)
    for i, k in itertools.product(range(len(rows)), range(len(got.domain.attributes))):
        for part in range(len(got.domain.attributes[k].sizes)):
            other = rows.copy()
            other[i, k] = part
            fits = all(
                s.low <= sum(s.region.holds(row) for row in other.tolist()) <= s.high for s in got.statements()
            ) and not any(all(m >> row[j] & 1 for j, m in b.literals) for b in got.impossible for row in other.tolist())
            assert (_broken_statement(got, other) is None) == fits


def part_of(domain, k, value):
    ends = domain.attributes[k].ends
    return next(p for p in range(len(ends) - 1) if ends[p] <= value < ends[p + 1])


def contradiction():
    got = encoded(tiny(5)[0]).statements
    block = got.blocks[0]
    low = np.zeros_like(block.low)
    low[0] = got.rows.low + 1
    return replace(got, blocks=(block.bounded(low, low), *got.blocks[1:]))


def test_a_contradiction_ends_without_a_world_and_without_a_claim():
    wrong = contradiction()
    with pytest.raises(Inconclusive, match="no world was found, and none was excluded"):
        ENGINE.answer(wrong, MostLikely(), Limits(seconds=10))
    with pytest.raises(Inconclusive, match="no world"):
        ENGINE.answer(wrong, Count("ordered"), Limits(seconds=10))
    assert chain.answer(wrong, Count("ordered"), Limits(seconds=20)).status == "unsat"


def test_the_time_is_kept_and_the_best_is_said():
    got, said = contradiction(), []
    with pytest.raises(Inconclusive):
        ENGINE.answer(got, MostLikely(), Limits(seconds=0.0))
    annealing.searched(problem_of(got, Limits()), 0, Limits().at_most(1e-3))  # compiled by now
    limits = Limits(progress=said.append)
    limits.stop.set()
    rows, off = annealing.searched(problem_of(replace(got, blocks=got.blocks[:1]), Limits()), 0, limits)[:2]
    assert rows is None
    assert off > 0


def test_to_begin_a_search_is_work_by_rows_and_counters(monkeypatch):
    """To place 48,842 rows in 50 trees took five seconds where nothing was compiled, and counted as none."""
    problem, begun = problem_of(contradiction(), Limits()), []
    monkeypatch.setattr(annealing, "_started", lambda *given: begun.append(given))
    each = min(annealing.work_of_move(problem, machine) for machine in (True, False))
    with pytest.raises(Inconclusive, match=f"too little time to begin a local search over {problem.rows} rows"):
        annealing.searched(problem, 0, Limits().at_most(0.9 * each * problem.rows))
    assert not begun


def test_a_failure_is_remembered_and_a_world_too(monkeypatch):
    release, _ = tiny(3)
    got = encoded(release).statements
    first = known_rows(got, 0, Limits(seconds=20))
    monkeypatch.setattr(
        "solvers.programs.local_search.finding.searched", lambda *_: annealing.SearchResult(None, 7, ())
    )
    assert known_rows(got, 0, Limits(seconds=20)) is first
    with pytest.raises(Inconclusive, match="7 rows off"):
        known_rows(got, 1, Limits(seconds=5))
    with pytest.raises(Inconclusive, match="more time than is left"):
        known_rows(got, 1, Limits(seconds=4))


def test_refusals_have_reasons():
    release, _ = tiny(3)
    got = encoded(release).statements
    assert ENGINE.refuses(got, MostLikely()) is None
    relative = replace(got, domain=replace(got.domain, relative=True))
    assert ENGINE.refuses(relative, Count("ordered")) is None
    open_rows = replace(relative, rows=RowCount(1))
    assert ENGINE.refuses(open_rows, Count("ordered")) == "the number of rows is open"
    assert "assigned" in ENGINE.refuses(got, Count("assigned"))
    assert "not used" in ENGINE.refuses(replace(got, loosened=("seeds are not used",)), MostLikely())
    assert not isinstance(Enumerate(), ENGINE.answers)
    some = next(got.statements())
    factor = (0, (1,) * len(got.domain.attributes[0].sizes))
    summed = replace(some, summands=(replace(some.summands[0], factors=(factor,)),))
    assert "sums" in ENGINE.refuses(replace(got, blocks=(*got.blocks, Loose((summed,)))), MostLikely())
    either = Choice(((some,), (summed,)), "a median")
    assert "only one" in ENGINE.refuses(replace(got, blocks=(*got.blocks, either)), MostLikely())


@pytest.mark.slow
def test_a_count_has_a_lower_end_with_a_world():
    release, _ = tiny(3)
    got = encoded(release).statements
    answer = ENGINE.answer(got, Count("ordered"), Limits(seconds=30))
    true = np.log2(float(oracle.count(release, "ordered")))
    assert 0 <= answer.bounds[0] <= true + 1e-9
    assert true - 1e-9 <= answer.bounds[1]


def rows_by(machine, seed, monkeypatch):
    monkeypatch.setattr(annealing, "_loops_for", lambda *_: compiled._compiled() if machine else compiled.PLAIN)
    got = encoded(tiny(seed, 3, True, 6)[0]).statements
    rows, off = annealing.searched(problem_of(got, Limits()), seed, Limits())[:2]
    return None if rows is None else rows.tolist(), off


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_compiled_or_not_the_rows_are_the_same(seed, monkeypatch):
    extra("numba")
    monkeypatch.setattr(annealing, "EFFORT", 1 << 10)
    assert rows_by(True, seed, monkeypatch) == rows_by(False, seed, monkeypatch)


@pytest.mark.slow
def test_every_move_is_the_same_compiled_or_not():
    """Long before the end: a forest with sets of values, rules and lower bounds, some thousand moves."""
    extra("numba")
    got = encoded(tiny(4, 3, True, 40)[0]).statements
    block = got.blocks[0]
    problem = problem_of(replace(got, blocks=(block.bounded(block.low + 1, block.high + 1), *got.blocks[1:])), Limits())
    ends = []
    for enter, anneal, _, machine in (compiled._compiled(), compiled.PLAIN):
        state, tables = annealing._started(problem, np.random.default_rng(3), machine)
        enter(tables, state)
        annealing._heat(state, 1.0)
        anneal(tables, state, 3000)
        ends.append([list(map(int, x)) for x in (state.rows, state.count, state.numbers, state.dice)])
    assert ends[0] == ends[1]
    assert ends[0][2][2] == 3000


def test_what_the_loops_keep_is_what_they_would_count_anew():
    got = encoded(tiny(4, 3, True, 40)[0]).statements
    problem = problem_of(
        replace(got, blocks=(got.blocks[0].bounded(got.blocks[0].low + 1, got.blocks[0].high + 1),)), Limits()
    )
    state, tables = annealing._started(problem, np.random.default_rng(3), False)
    loops.enter(tables, state)
    annealing._heat(state, 1.0)
    for _ in range(20):
        loops.anneal(tables, state, 50)
        kept = (
            [list(x) for x in (state.count, state.region)],
            state.numbers[1],
            sorted(state.lacking[: state.numbers[0]]),
        )
        loops.enter(tables, state)
        assert kept == (
            [list(state.count), list(state.region)],
            state.numbers[1],
            sorted(state.lacking[: state.numbers[0]]),
        )


def test_without_numba_or_time_the_loops_stay_as_they_are(monkeypatch):
    monkeypatch.setattr("solvers.foundation.native.KeptFunction.before", lambda _: False)
    assert compiled._loops_for(Limits(seconds=5)) is compiled.PLAIN
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert compiled._loops_for(Limits()) is compiled.PLAIN


@pytest.mark.parametrize(("seconds", "there"), [(None, True), (60, True), (30, True), (5, False)])
def test_loops_never_compiled_are_where_time_is_there(monkeypatch, seconds, there):
    monkeypatch.setattr("solvers.foundation.native.KeptFunction.before", lambda _: False)
    monkeypatch.setattr("solvers.foundation.native.COMPILING", 30.0)
    assert native.ready_to_call([native.KeptFunction(region_at)], Limits(seconds=seconds)) is there


# ---------------------------------------------------------------- regions as walks


def region_at(walks, root, row):
    while root >= 0:
        part, cut = row[walks.attribute[root]], walks.cut[root]
        held = part <= cut if cut >= 0 else walks.table[-1 - cut + part]
        root = walks.yes[root] if held else walks.no[root]
    return -1 - root


@pytest.mark.parametrize("seed", range(20))
def test_walks_lead_where_boxes_say(seed):
    """Boxes cut from the space at random, sets of parts among them: the walk finds the one that holds a row."""
    rng = random.Random(seed)
    attributes = [Attribute(f"a{k}", (1,) * rng.randint(1, 6)) for k in range(3)]
    boxes = [dict[int, int]()]
    while len(boxes) < 12:
        box = boxes.pop(rng.randrange(len(boxes)))
        k = rng.randrange(3)
        held = box.get(k, attributes[k].full)
        mask = held & rng.getrandbits(6)
        if mask in (0, held):
            boxes.append(box)
            if rng.random() < 0.05:
                break
            continue
        boxes += [{**box, k: mask}, {**box, k: held & ~mask}]
    walks = Walks(attributes)
    tree = walks.tree([(box, -1 - j) for j, box in enumerate(boxes)], [1] * len(boxes))
    chained = walks.chain([(box, -1 - j) for j, box in enumerate(boxes)], -100)
    for row in itertools.product(*(range(len(a.sizes)) for a in attributes)):
        (holding,) = [j for j, box in enumerate(boxes) if all(m >> row[k] & 1 for k, m in box.items())]
        assert region_at(walks, tree, row) == holding
        assert region_at(walks, chained, row) == holding


def test_boxes_that_no_cut_leaves_whole_become_a_chain():
    """Five boxes around each other like a pinwheel: every cut splits one of them."""
    attributes = [Attribute("a", (1, 1, 1)), Attribute("b", (1, 1, 1))]
    boxes = [{0: 3, 1: 1}, {0: 4, 1: 3}, {0: 6, 1: 4}, {0: 1, 1: 6}, {0: 2, 1: 2}]
    walks = Walks(attributes)
    root = walks.tree([(box, -1 - j) for j, box in enumerate(boxes)], [1] * 5)
    for row in itertools.product(range(3), range(3)):
        (holding,) = [j for j, box in enumerate(boxes) if all(m >> row[k] & 1 for k, m in box.items())]
        assert region_at(walks, root, row) == holding


@pytest.mark.parametrize(("lows", "highs", "n"), [((2, 3), (9, 9), 9), ((0, 0, 0), (5, 5, 5), 5), ((4, 1), (4, 1), 5)])
def test_class_sizes_lie_between_their_bounds(lows, highs, n):
    sizes = _class_sizes(lows, highs, n)
    assert sum(sizes) == n
    assert all(a <= s <= b for a, s, b in zip(lows, sizes, highs, strict=True))


# ---------------------------------------------------------------- real forests, continuous columns


def leaf_counts(model, tree, frame):
    """Return what a tree of scikit-learn counts of a world: (leaves, classes) as its file has them, and as found."""
    x, y = frame.iloc[:, :-1].to_numpy(dtype=np.float32), frame.iloc[:, -1].to_numpy()
    leaf = tree.tree_.apply(x)
    inner = tree.tree_.children_left >= 0
    said = np.rint(tree.tree_.value[:, 0, :] * tree.tree_.weighted_n_node_samples[:, None])[~inner]
    got = np.stack([np.bincount(leaf[y == c], minlength=len(inner)) for c in model.classes_], axis=1)[~inner]
    return said, got


@pytest.mark.parametrize("kind", ["ExtraTreesClassifier", "RandomForestClassifier"])
@pytest.mark.parametrize("data", ["load_breast_cancer", "load_wine"])
def test_scikit_learn_counts_the_world_as_its_rows(kind, data, tmp_path):
    joblib, datasets = pytest.importorskip("joblib"), pytest.importorskip("sklearn.datasets")
    ensemble = pytest.importorskip("sklearn.ensemble")
    x, y = getattr(datasets, data)(return_X_y=True)
    at = np.random.default_rng(0).permutation(len(x))[:60]
    model = getattr(ensemble, kind)(6, bootstrap=False, random_state=0, max_depth=4).fit(x[at], y[at])
    joblib.dump(model, tmp_path / "m.joblib")
    release = recon.load(tmp_path / "m.joblib")
    world = recon.reconstruct(release, limits=Limits(seconds=60))
    frame = world.to_frame()
    assert np.isfinite(frame.to_numpy(dtype=float)).all()
    for tree in model.estimators_:
        said, got = leaf_counts(model, tree, frame)
        assert (said == got).all()
    assert world.unique is False
    assert "one of many" in world.note
    assert "middles of gaps" in world.note


def test_gaps_without_a_number_of_single_precision_stay_empty(tmp_path):
    """Two thresholds closer than 32-bit floats are: a world has no row between them, and says its numbers exactly."""
    close = float(np.float32(1.0)) + 1e-12
    nodes = [{"if": {"x": {"at_most": 1.0 + 1e-13}}, "then": 1, "else": 2}, {"counts": [1, 1]}]
    nodes += [{"if": {"x": {"at_most": close}}, "then": 3, "else": 4}, {"counts": [0, 0]}, {"counts": [2, 0]}]
    domain = {"attributes": [{"name": "x", "min": 0, "max": 2, "resolution": None}]}
    domain["label"] = {"name": "y", "values": [0, 1]}
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes}]}))
    frame = recon.reconstruct(recon.load(path), limits=Limits(seconds=20)).to_frame()
    assert (frame["x"].astype(np.float32) == frame["x"]).all()
    assert sorted(frame["x"] <= 1.0) == [False, False, True, True]
    nodes[3], nodes[4] = {"counts": [1, 0]}, {"counts": [1, 0]}
    path.write_text(json.dumps({"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": nodes}]}))
    with pytest.raises((Inconclusive, Unsupported)):
        recon.reconstruct(recon.load(path), limits=Limits(seconds=3))


def test_middles_lie_in_their_parts():
    from fractions import Fraction

    from encoders.domain.domain import AttributeCuts, _holds, middles
    from encoders.domain.values import Continuous

    rng = random.Random(0)
    for seed in range(200):
        low, high = (None if rng.random() < 0.3 else Fraction(-5), None if rng.random() < 0.3 else Fraction(5))
        missing = rng.random() < 0.3 and high is not None
        attribute = Continuous("x", low, high, missing=missing)
        at = {(Fraction(repr(rng.uniform(-4, 4))), rng.randrange(2)) for _ in range(rng.randint(0, 4))}
        at |= {attribute.known[1]} if missing and seed % 2 else set()
        cuts = AttributeCuts.at(attribute, at)
        for part, x in enumerate(middles(cuts)):
            start, end = cuts.bounds(part)
            if x is None:
                assert start >= attribute.known[1]
            else:
                assert _holds(start, min(end, attribute.known[1]), x)
                assert cuts.part((Fraction(repr(x)), 0)) == part
