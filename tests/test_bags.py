"""Forests of resamples against brute force: every dataset of a tiny domain, and every bag of each of them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import random
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from extras import batches, encoded, extra, run

import recon
from encoders.domain.values import Test
from encoders.encode.encoder import encode
from encoders.models.models import Forest, Tree
from encoders.models.nodes import ModelNode, Support
from recon.queries.certificates.verifying import verify
from recon.readers.formats.release.writing import dump, release_json
from recon.readers.frames.selections import select_frame
from recon.readers.frames.world import violations
from recon.readers.loading.loading import load
from recon.report.wording.group_report import exposure_lines
from solvers.engines.chain import engines
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import CountAnswer, relaxed_answer
from solvers.statements.questions.query import Count, Decide
from solvers.statements.release import RowCount

BATCHES, PER_BATCH = batches(2, 4), 20
KNOWN_BATCHES, KNOWN_PER_BATCH = batches(1, 3), 15
CONVENTIONS = ("ordered", "multiset")


# ---------------------------------------------------------------- tiny forests, and what they mean


def side(tree, row):
    """Return the leaf (its node) that a row ends in, by the file's own words."""
    i = 0
    while "if" in tree["nodes"][i]:
        ((name, test),) = tree["nodes"][i]["if"].items()
        i = tree["nodes"][i]["then" if row[int(name[1:])] <= test["at_most"] else "else"]
    return i


def split(rng, sizes, depth, nodes):
    """Append a random subtree on attributes a0, a1, ... and return its root."""
    at = len(nodes)
    nodes.append({})
    wide = [k for k, size in enumerate(sizes) if size > 1]
    if depth and wide and rng.random() < 0.85:
        k = rng.choice(wide)
        nodes[at]["if"] = {f"a{k}": {"at_most": rng.randrange(sizes[k] - 1)}}
        nodes[at]["then"] = split(rng, sizes, depth - 1, nodes)
        nodes[at]["else"] = split(rng, sizes, depth - 1, nodes)
    return at


def below(tree, i):
    """Return the leaves below a node."""
    node = tree["nodes"][i]
    return below(tree, node["then"]) | below(tree, node["else"]) if "if" in node else {i}


def published(rng, tree, truth, bag, classes, distinct, plain):
    """Put into the nodes what a tree fitted on a bag of the true rows publishes."""
    leaves = [side(tree, row) for row in truth]
    for i, node in enumerate(tree["nodes"]):
        if "if" in node and rng.random() < 0.6:
            continue
        inside = [(row, times) for row, leaf, times in zip(truth, leaves, bag, strict=True) if leaf in below(tree, i)]
        counts = [sum(times for row, times in inside if row[-1] == c) for c in range(classes)]
        node.update({"count": sum(counts)} if plain else {"counts": counts})
        if distinct and ("if" not in node or distinct == "everywhere"):
            node["distinct"] = sum(times > 0 for _, times in inside)


def random_forest(rng, known=False, how=None):
    """Draw a release of a forest of resamples of 1-4 rows, the rows, and how the bags were drawn."""
    how = how or rng.choice(["with", "with", "with", "without"])
    classes, n = rng.choice([2, 2, 3]), rng.choice([1, 2, 2, 3, 3, 4])
    sizes = rng.choice([[2], [2, 2], [3], [4], [2, 1]] if classes == 2 else [[2], [2, 1], [3]])
    space = list(itertools.product(*map(range, sizes), range(classes)))
    truth = [rng.choice(space) for _ in range(n)]
    trees, bags = [], []
    distinct = rng.choice([None, "leaves", "everywhere"])
    for _ in range(rng.choice([1, 2, 3])):
        tree = {"nodes": []}
        split(rng, sizes, rng.choice([0, 1, 2, 2]), tree["nodes"])
        drawn = rng.randint(1, n) if how == "without" else rng.choice([n, n, n + 1, max(1, n - 1)])
        rows = rng.sample(range(n), drawn) if how == "without" else rng.choices(range(n), k=drawn)
        bag = [rows.count(i) for i in range(n)]
        published(rng, tree, truth, bag, classes, distinct, rng.random() < 0.15)
        trees.append(tree)
        bags.append(bag)
    model = {"kind": "forest", "trees": trees} | rng.choice(
        [{"bootstrap": True}, {"resample": "with"}, {"bootstrap": True, "resample": "with"}]
        if how == "with"
        else [{"resample": "without"}]
    )
    attributes = [{"name": f"a{k}", "min": 0, "max": size - 1} for k, size in enumerate(sizes)]
    domain = {"attributes": attributes, "label": {"name": "y", "values": list(range(classes))}}
    release = {"recon": 1, "domain": domain, "rows": n, "models": [model]}
    if known:
        model["multiplicities"] = bags
        if rng.random() < 0.5:
            del release["rows"]
    elif rng.random() < 0.2:
        release["rows"] = {"at_least": rng.randint(0, n), "at_most": n + rng.choice([0, 1])}
    return release, truth, space, how, bags


@functools.cache
def bags_of(rows, drawn, most):
    """Return every way to draw so many rows, as multiplicities."""
    ways = itertools.product(range(min(drawn, most) + 1), repeat=rows)
    return [way for way in ways if sum(way) == drawn]


def explains(tree, rows, bag):
    """Tell whether a tree fitted on this bag of the rows publishes what the tree publishes."""
    leaves = [side(tree, row) for row in rows]
    for i, node in enumerate(tree["nodes"]):
        inside = [(row, times) for row, leaf, times in zip(rows, leaves, bag, strict=True) if leaf in below(tree, i)]
        if "count" in node and sum(times for _, times in inside) != node["count"]:
            return False
        for c, count in enumerate(node.get("counts", ())):
            if sum(times for row, times in inside if row[-1] == c) != count:
                return False
        if "distinct" in node and sum(times > 0 for _, times in inside) != node["distinct"]:
            return False
    return True


def drawn_by(tree):
    return sum(node.get("count", sum(node.get("counts", ()))) for node in tree["nodes"] if "if" not in node)


def explained(trees, rows, how):
    """Tell whether, for every tree, some bag of the rows gives what it publishes."""
    most = 1 if how == "without" else 99
    return all(any(explains(t, rows, bag) for bag in bags_of(len(rows), drawn_by(t), most)) for t in trees)


def numbers_of_rows(release):
    rows = release["rows"]
    return range(rows, rows + 1) if isinstance(rows, int) else range(rows["at_least"], rows["at_most"] + 1)


def worlds(release, space, how):
    """Return every dataset (a sorted tuple of rows) that some bags explain."""
    every = (d for n in numbers_of_rows(release) for d in itertools.combinations_with_replacement(space, n))
    return [d for d in every if explained(release["models"][0]["trees"], d, how)]


def orders(dataset):
    return math.factorial(len(dataset)) // math.prod(map(math.factorial, Counter(dataset).values()))


def weights(datasets, convention):
    return [orders(d) if convention == "ordered" else 1 for d in datasets]


def forests(test, batch, **options):
    rng = random.Random(f"bags {test} {batch}")
    for _ in range(KNOWN_PER_BATCH if options.get("known") else PER_BATCH):
        yield rng, *random_forest(rng, **options)


def profile_of(rng, space):
    row = rng.choice(space)
    names = [f"a{k}" for k in range(len(row) - 1)] + ["y"]
    kept = [i for i in range(len(row)) if rng.random() < 0.75]
    return {names[i]: row[i] for i in kept}, lambda r: all(r[i] == row[i] for i in kept)


# ---------------------------------------------------------------- unknown bags


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", BATCHES)
def test_counts_worlds_and_verdicts(batch):
    for rng, release, truth, space, how, _ in forests("count", batch):
        got, every = encoded(release), worlds(release, space, how)
        assert tuple(sorted(truth)) in every
        for convention in CONVENTIONS:
            answer = recon.count(got, convention)
            assert (answer.status, answer.value) == ("exact", sum(weights(every, convention))), release
        listed = [tuple(sorted(map(tuple, w.indices().tolist()))) for w in recon.worlds(got, limit=None)]
        assert sorted(listed) == sorted(every)
        asked = [profile_of(rng, space) for _ in range(3)]
        lines = recon.certify(got, [p for p, _ in asked], "ordered").to_dict("records")
        for (profile, meets), line in zip(asked, lines, strict=True):
            found = [sum(map(meets, d)) for d in every]
            verdict = "certain" if min(found) else "possible" if max(found) else "impossible"
            assert (line["verdict"], line["min_count"], line["max_count"]) == (verdict, min(found), max(found)), release
            assert (line["certificate"] is not None) == (verdict != "possible"), (release, profile)
            if isinstance(release["rows"], int):
                share = sum(w for w, k in zip(weights(every, "ordered"), found, strict=True) if k)
                assert math.isclose(line["probability"], share / sum(weights(every, "ordered")), abs_tol=1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", BATCHES)
def test_bounds_and_measures(batch):
    for _, release, _, space, how, _ in forests("bound", batch):
        got, every = encoded(release), worlds(release, space, how)
        answer = recon.bound(got, {"a0": 0})
        found = [sum(row[0] == 0 for row in d) for d in every]
        assert (answer.min, answer.max, answer.status) == (min(found), max(found), "exact"), release
        means = [sum(row[0] for row in d if row[-1] == 1) / n for d in every if (n := sum(r[-1] == 1 for r in d))]
        mean = recon.bound(got, {"y": 1}, "a0")
        wanted = (min(means), max(means)) if means else (None, None)
        assert (mean.min, mean.max) == pytest.approx(wanted) if means else (mean.min, mean.max) == wanted
        if isinstance(release["rows"], int):
            measured = recon.measure(got)
            assert measured.entropy_bits == pytest.approx(math.log2(recon.count(got).value))
            assert measured.convention == ("assigned" if one_exact_tree(got) else "ordered")
        assert "without bootstrap" not in " ".join(got.assumptions)
        assert any("proves nothing" in line for line in got.assumptions)


def one_exact_tree(got):
    blocks = got.statements.blocks
    return len(blocks) == 1 and bool((blocks[0].low == blocks[0].high).sum() >= len(blocks[0]) - 1)


@pytest.mark.slow
def test_every_engine_copes_with_open_counts():
    """Whatever an engine says, it is not contradicted by all the datasets; each of them says something."""
    rng, spoken = random.Random("engines of bags"), Counter()
    limits = functools.partial(Limits, seconds=600.0)  # a process may be slow to start
    done = 0
    while done < 2:
        release, _, space, how, _ = random_forest(rng)
        got = encoded(release)
        if not isinstance(release["rows"], int) or len(got.statements.blocks) < 2:
            continue
        done += 1
        every = worlds(release, space, how)
        frame = pd.DataFrame(space, columns=[f"a{k}" for k in range(len(space[0]) - 1)] + ["y"])
        chosen = select_frame(got, frame)
        table = [[d.count(row) for row in space] for d in every]
        low, high = np.min(table, axis=0), np.max(table, axis=0)
        for engine in engines():
            for query in (Count("ordered"), Decide(chosen, "ordered")):
                fresh = encoded(release).statements
                if not isinstance(query, engine.answers) or engine.missing() or engine.refuses(fresh, query):
                    continue
                small = limits(cells=1) if engine.name in {"columns", "rows", "sat"} else limits()
                try:
                    found = engine.answer(fresh, query, small)
                except (Unsupported, Inconclusive):
                    continue
                spoken[engine.name] += 1
                if isinstance(query, Decide):
                    assert (found.low <= low).all(), (engine.name, release)
                    assert (found.high >= high).all(), (engine.name, release)
                    continue
                logs, truth = found.bounds, math.log2(sum(weights(every, "ordered")))
                assert logs[0] - 1e-9 <= truth <= logs[1] + 1e-9, (engine.name, release)
                if found.estimate is not None and engine.name in {"d4", "ganak"}:
                    assert found.estimate == sum(weights(every, "ordered")), (engine.name, release)
    assert {"histogram", "cpsat", "interval", "columns", "rows", "sat"} <= spoken.keys(), spoken


@pytest.mark.sampled(3)
@pytest.mark.parametrize("counts", [(2, 2), (3, 2), (2, 2, 1), (1, 2, 2), (2, 2, 0), (2, 2, 2)])
@pytest.mark.parametrize("leaves", [1, 2])
def test_sets_of_classes_are_all_stated(counts, leaves):
    """No single class says what several must have together; with two leaves rows may be elsewhere."""
    classes, values = len(counts), list(range(leaves))
    domain = {"attributes": [{"name": "a0", "values": values}], "label": {"name": "y", "values": list(range(classes))}}
    for distinct in range(sum(c > 0 for c in counts), sum(counts) + 1):
        nodes = [{"counts": counts, "distinct": distinct}]
        if leaves == 2:
            nodes = [{"if": {"a0": {"at_most": 0}}, "then": 1, "else": 2}, *nodes, {"counts": [0] * classes}]
        model = {"kind": "forest", "bootstrap": True, "trees": [{"nodes": nodes}]}
        for n in range(distinct, (6 if leaves == 1 else 5)):
            release = {"recon": 1, "domain": domain, "rows": n, "models": [model]}
            every = worlds(release, list(itertools.product(values, range(classes))), "with")
            assert recon.count(encoded(release), "multiset").value == len(every), release


def test_more_classes_than_sets_are_written_for_give_bounds():
    counts, classes = [2] * 7, 7
    domain = {"attributes": [], "label": {"name": "y", "values": list(range(classes))}}
    model = {"kind": "forest", "bootstrap": True, "trees": [{"nodes": [{"counts": counts, "distinct": 10}]}]}
    got = encoded({"recon": 1, "domain": domain, "rows": 11, "models": [model]})
    every = [r for r in itertools.product(range(1, 6), repeat=7) if sum(r) == 11 and sum(min(x, 2) for x in r) >= 10]
    answer = recon.count(got, "multiset")
    assert answer.status == "bounds"
    assert answer.bounds[0] <= math.log2(len(every)) <= answer.bounds[1]
    assert any("more than 6 classes" in line for line in got.assumptions)
    assert any("more than 6 classes" in line for line in answer.trail)
    with pytest.raises(Unsupported, match="more than 6 classes"):
        recon.sample(got, 1)


def test_tight_counts_decide_everything():
    """As many rows as are proved: 2 and 1 in tree 0, so that the tree says where everybody is."""
    root = {"if": {"a0": {"at_most": 0}}, "then": 1, "else": 2}
    tree = {"nodes": [root, {"counts": [3, 0], "distinct": 2}, {"counts": [0, 2]}]}
    domain = {
        "attributes": [{"name": "a0", "values": [0, 1]}, {"name": "a1", "values": [0, 1]}],
        "label": {"name": "y", "values": [0, 1]},
    }
    model = {"kind": "forest", "bootstrap": True, "trees": [tree]}
    release = {"recon": 1, "domain": domain, "rows": 3, "models": [model]}
    got = encoded(release)
    assert recon.count(got, "ordered").value == 3 * 2**3
    assert recon.count(got, "ordered").engine == "closed_form"
    assert recon.certify(got, [{"a0": 0, "y": 1}, {"a0": 1, "y": 1}])["verdict"].tolist() == ["impossible", "certain"]
    loose = encoded({**release, "rows": 4})
    assert recon.certify(loose, [{"a0": 0, "y": 1}])["verdict"].tolist() == ["possible"]
    with pytest.raises(ReleaseError, match=r"models\[0\]: rows is 2, but the counts of the resamples need 3"):
        encoded({**release, "rows": 2})
    del release["rows"]
    assert encoded(release).rows == RowCount()
    with pytest.raises(Inconclusive, match="give 'rows'"):
        recon.count(encoded(release))


def test_joined_with_a_table(tmp_path):
    """The table says how many rows there are, and contradicts the forest where it counts too few."""
    tree = {"nodes": [{"if": {"a0": {"at_most": 0}}, "then": 1, "else": 2}, {"counts": [3, 1]}, {"counts": [0, 1]}]}
    domain = {
        "attributes": [{"name": "a0", "values": [0, 1]}],
        "label": {"name": "y", "values": [0, 1]},
    }
    forest = {"recon": 1, "domain": domain, "models": [{"kind": "forest", "bootstrap": True, "trees": [tree]}]}

    def joined(*statements, rows=None):
        paths = [tmp_path / "forest.json", tmp_path / "table.json"]
        paths[0].write_text(json.dumps(forest if rows is None else {**forest, "rows": rows}))
        table = {"recon": 1, "domain": domain, "models": [{"kind": "table", "statements": list(statements)}]}
        paths[1].write_text(json.dumps(table))
        return load(*map(str, paths))

    got = joined({"count": 4})
    assert got.rows == RowCount(4, 4)
    space = list(itertools.product((0, 1), (0, 1)))
    every = worlds({**forest, "rows": 4}, space, "with")
    assert recon.count(got, "multiset").value == len(every)
    narrowed = joined({"count": 4}, {"where": {"a0": 1, "y": 0}, "count": 1})
    assert recon.count(narrowed, "multiset").value == sum(d.count((1, 0)) == 1 for d in every) == 1
    assert joined({"where": {"a0": 0}, "count": 3}, rows={"at_least": 0, "at_most": 5}).rows == RowCount(0, 5)
    with pytest.raises(ContradictionError, match="different numbers of rows"):
        joined({"count": 2})
    against = joined({"where": {"a0": 0, "y": 1}, "count": 0}, rows=5)
    answer = recon.count(against)
    assert answer.status == "unsat"
    assert len(answer.conflict) == 2
    assert "tree 0, leaf 1, class 1: at least 1" in " ".join(answer.conflict)
    proof = recon.audit(against).findings.certificate
    assert proof is not None
    assert verify(proof, against).checked[0].error == ""


# ---------------------------------------------------------------- known bags


def sequences(release, space, bags):
    """Return every sequence of rows that the known bags explain."""
    trees, n = release["models"][0]["trees"], len(bags[0])
    every = itertools.product(space, repeat=n)
    return [rows for rows in every if all(explains(t, rows, b) for t, b in zip(trees, bags, strict=True))]


@pytest.mark.parametrize("batch", KNOWN_BATCHES)
def test_known_bags_are_never_contradicted(batch):
    said = Counter()
    for rng, release, truth, space, _, bags in forests("known", batch, known=True):
        got, every = encoded(release), sequences(release, space, bags)
        assert tuple(truth) in every
        assert got.rows == RowCount(len(truth), len(truth))
        asked = [profile_of(rng, space) for _ in range(3)]
        for convention, number in (("ordered", len(every)), ("multiset", len({tuple(sorted(d)) for d in every}))):
            answer = recon.count(got, convention)
            assert answer.bounds[0] - 1e-7 <= math.log2(number) <= answer.bounds[1] + 1e-7, release
            assert answer.status == "bounds" or answer.value == number, release
            said[answer.status] += 1
            if "cpsat" in "".join(answer.trail):
                assert any("multiplicities" in line for line in answer.trail)
        for (profile, meets), line in zip(
            asked, recon.certify(got, [p for p, _ in asked]).to_dict("records"), strict=True
        ):
            found = [sum(map(meets, d)) for d in every]
            assert line["min_count"] <= min(found) <= max(found) <= line["max_count"], (release, profile)
            sure = "certain" if line["min_count"] else "impossible" if not line["max_count"] else None
            assert line["verdict"] == sure or (sure is None and line["verdict"] in {"possible", "unknown"})
            said[line["verdict"]] += 1
            if line["verdict"] == "possible":
                assert min(found) == 0 < max(found)
            share = sum(map(bool, found)) / len(every)
            assert math.isnan(line["probability"]) or math.isclose(line["probability"], share, abs_tol=1e-9)
            assert math.isnan(line["expected_count"]) or math.isclose(line["expected_count"], sum(found) / len(every))
        where, mean = recon.bound(got, {"a0": 0}), recon.bound(got, {}, "a0")
        found = [sum(row[0] == 0 for row in d) for d in every]
        means = [sum(row[0] for row in d) / len(d) for d in every]
        assert where.min <= min(found) <= max(found) <= where.max
        assert mean.min - 1e-9 <= min(means) <= max(means) <= mean.max + 1e-9
        assert (where.status == "exact") <= ((where.min, where.max) == (min(found), max(found)))
        if mean.status == "exact":
            assert mean.min == mean.max == mean.expectation == pytest.approx(min(means)) == pytest.approx(max(means))
        else:
            assert (mean.status, mean.expectation) == ("bounds", None)
        with pytest.raises(Unsupported):
            mean.attained(True)
    assert {"exact", "bounds", "certain", "impossible", "possible"} <= said.keys()


def test_known_bags_say_more_than_unknown_ones():
    """Nobody was left out of the bag, each row counts twice: a leaf that counts 0 is empty, one of 4 has 2 rows."""
    tree = {"nodes": [{"if": {"a0": {"at_most": 0}}, "then": 1, "else": 2}, {"counts": [4, 0]}, {"counts": [0, 2]}]}
    domain = {
        "attributes": [{"name": "a0", "values": [0, 1]}],
        "label": {"name": "y", "values": [0, 1]},
    }
    model = {"kind": "forest", "bootstrap": True, "trees": [tree], "multiplicities": [[2, 2, 2]]}
    got = encoded({"recon": 1, "domain": domain, "models": [model]})
    lines = recon.certify(got, [{"a0": 0, "y": 0}, {"a0": 0, "y": 1}, {"a0": 1, "y": 1}])
    assert lines["verdict"].tolist() == ["certain", "impossible", "certain"]
    assert lines["min_count"].tolist() == lines["max_count"].tolist() == [2, 0, 1]
    assert recon.count(got, "multiset").bounds == (0.0, 0.0)


@pytest.mark.slow
def test_questions_about_known_bags(tmp_path, capsys):
    """Every command copes: figures are bounds, worlds are refused, and the reason is said."""
    rng = random.Random("commands")
    release, truth, *_ = random_forest(rng, known=True, how="with")
    while len(truth) < 3 or recon.count(encoded(release)).status == "exact":
        release, truth, *_ = random_forest(rng, known=True, how="with")
    path, rows = tmp_path / "forest.json", tmp_path / "rows.csv"
    path.write_text(json.dumps(release))
    names = [a["name"] for a in release["domain"]["attributes"]] + ["y"]
    pd.DataFrame(truth, columns=names).to_csv(rows, index=False)
    code, out, err = run(capsys, "count", str(path), "--json")
    found = json.loads(out)
    assert code == 4, err
    assert (found["status"], found["worlds"]) == ("bounds", None)
    assert found["log2_lower"] >= 0.0
    assert found["log2_upper"] is not None
    assert any("multiplicities" in line for line in found["assumptions"])
    assert any("multiplicities" in line for line in found["trail"])
    for command in (["worlds"], ["sample"]):
        code, out, err = run(capsys, *command, str(path))
        assert code != 0
        assert out == ""
        assert "multiplicities" in err
    code, out, _ = run(capsys, "audit", str(path), "--truth", str(rows), "--json")
    assert code in (0, 4)
    assert json.loads(out)["truth"]["is_world"] is True
    for command in (["table"], ["certify", "--profiles", str(rows)], ["bound", "--where", "{}", "--of", "a0"]):
        assert run(capsys, *command, str(path))[0] in (0, 4)
    got = load(str(path))
    shares = recon.attribute(got, [{"a0": 0}], "y")
    assert shares["leave_one_out"].isna().all()
    assert shares.attrs["status"] == "bounds"
    with pytest.raises(Unsupported, match="multiplicities"):
        next(recon.worlds(got))


# ---------------------------------------------------------------- files and models


@pytest.mark.sampled(1)
@pytest.mark.parametrize("known", [False, True])
def test_written_and_read_back(known, tmp_path):
    rng = random.Random(f"round trip {known}")
    for _ in range(40):
        release, *_ = random_forest(rng, known=known)
        got = encoded(release)
        path = tmp_path / "written.json"
        path.write_text(dump(release_json(got.domain, got.models, got.declared)))
        back = load(str(path))
        assert back.models == got.models
        assert hash(back.models) == hash(got.models)
        assert back.rows == got.rows
        assert list(back.statements.statements()) == list(got.statements.statements())
        if known:
            (forest,) = back.models
            assert forest.multiplicities.dtype == np.int32
            with pytest.raises(ValueError, match="read-only"):
                forest.multiplicities[0, 0] = 7
            other = Forest(forest.trees, forest.name, bootstrap=forest.bootstrap, subsample=forest.subsample)
            assert other != forest


LEAF = {"counts": [2, 1], "distinct": 2}
BAD = [
    ({"multiplicities": [[1, 1, 1], [1, 1, 1]]}, LEAF, ["multiplicities", "2 bags for 1 trees"]),
    ({"multiplicities": [[1, 1]]}, LEAF, ["multiplicities[0]", "sum to 2", "counts 3"]),
    ({"multiplicities": [[1, 1, 1]]}, LEAF, ["multiplicities[0]", "3 different", "2"]),
    ({"multiplicities": [[-1, 2, 2]]}, LEAF, ["multiplicities", "-1"]),
    ({"multiplicities": [[1, 2], [3]]}, LEAF, ["multiplicities", "one number per training row"]),
    ({"multiplicities": [[10**30, 2]]}, LEAF, ["multiplicities", "whole"]),
    ({"multiplicities": [[1.5, 2]]}, LEAF, ["multiplicities", "1.5"]),
    ({"multiplicities": []}, LEAF, ["multiplicities", "trees x training rows"]),
    ({"multiplicities": [[2, 1, 0]], "rows": 4}, LEAF, ["rows is 4", "multiplicities are of 3"]),
    ({"multiplicities": [[2, 1]], "resample": "without", "bootstrap": False}, {"counts": [2, 1]}, ["counts 2 times"]),
    ({"resample": "without"}, LEAF, ["resample", "not both"]),
    ({"resample": "twice"}, LEAF, ["resample", "twice"]),
    ({"rows": 1}, LEAF, ["rows is 1", "need 2 different rows"]),
    ({}, {"counts": [2, 1], "distinct": 1}, ["nodes[0].distinct", "1 different rows", "2 to 3"]),
    ({}, {"counts": [2, 1], "distinct": 4}, ["nodes[0].distinct", "4 different rows", "2 to 3"]),
    ({}, {"counts": [2, 1], "distinct": -1}, ["nodes[0].distinct", "-1"]),
    ({"noise": {"law": "laplace", "scale": 1}}, {"counts": [2, 1]}, ["models[0].noise", "bootstrap"]),
    ({"bootstrap": False, "noise": {"law": "laplace", "scale": 1}}, LEAF, ["nodes[0].distinct", "noisy"]),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_forests_are_refused_by_place(case, tmp_path, capsys):
    more, leaf, words = BAD[case]
    domain = {"attributes": [], "label": {"name": "y", "values": [0, 1]}}
    model = {"kind": "forest", "bootstrap": True, "trees": [{"nodes": [leaf]}], **more}
    rows = {"rows": model.pop("rows")} if "rows" in model else {}
    path = tmp_path / "forest.json"
    path.write_text(json.dumps({"recon": 1, "domain": domain, "models": [model], **rows}))
    code, _, err = run(capsys, "count", str(path))
    assert code == 3, err
    assert len(err.strip().splitlines()) == 1
    for word in words:
        assert word in err


def test_inner_numbers_of_different_rows(tmp_path):
    """They are the sums of the leaves'; where leaves have none they are not used, and that is said."""
    root = {"if": {"a0": {"at_most": 0}}, "then": 1, "else": 2, "distinct": 3}
    tree = {"nodes": [root, {"counts": [3, 0], "distinct": 2}, {"counts": [0, 2], "distinct": 2}]}
    domain = {"attributes": [{"name": "a0", "values": [0, 1]}], "label": {"name": "y", "values": [0, 1]}}
    release = {
        "recon": 1,
        "domain": domain,
        "rows": 5,
        "models": [{"kind": "forest", "bootstrap": True, "trees": [tree]}],
    }
    with pytest.raises(ReleaseError, match="3 different rows, its leaves sum to 4"):
        encoded(release)
    for leaf in tree["nodes"][1:]:
        del leaf["distinct"]
    got = encoded(release)
    answer = recon.count(got, "multiset")
    every = worlds(release, list(itertools.product((0, 1), (0, 1))), "with")
    assert answer.status == "bounds"
    assert math.log2(len(every)) <= answer.bounds[1]
    with pytest.raises(ReleaseError, match="need 3 different rows"):
        encoded({**release, "rows": 2})


# ---------------------------------------------------------------- real forests


def published_by(estimator, columns, bag):
    """Return a tree of scikit-learn's as we publish it: bag counts per class, and n_node_samples."""
    inner, nodes = estimator.tree_, []
    shares = inner.value[:, 0, :] / inner.value[:, 0, :].sum(axis=1, keepdims=True)
    counts = np.rint(shares * inner.weighted_n_node_samples[:, None]).astype(int)
    for i in range(inner.node_count):
        support = Support(counts=tuple(counts[i].tolist()), distinct=int(inner.n_node_samples[i]))
        if inner.children_left[i] < 0:
            nodes.append(ModelNode(support))
            continue
        condition = ((columns[inner.feature[i]], Test(high=float(inner.threshold[i]))),)
        nodes.append(ModelNode(support, condition, int(inner.children_left[i]), int(inner.children_right[i])))
    assert int(counts[0].sum()) == int(bag.sum())
    return Tree(tuple(nodes))


def real_forest(data, rows, trees, **options):
    """Return compas rows, their domain, and a forest fitted on them without and with its bags."""
    ensemble = extra("sklearn.ensemble")
    frame = pd.read_csv(data("compas14.csv.gz")).sample(rows, random_state=1).reset_index(drop=True)
    label, columns = frame.columns[-1], list(frame.columns[:-1])
    fitted = ensemble.RandomForestClassifier(trees, random_state=0, **options).fit(frame[columns], frame[label])
    bags = np.array([np.bincount(drawn, minlength=rows) for drawn in fitted.estimators_samples_])
    every = tuple(published_by(e, columns, bag) for e, bag in zip(fitted.estimators_, bags, strict=True))
    forests = (Forest(every, bootstrap=True), Forest(every, bootstrap=True, multiplicities=bags))
    return frame, recon.Domain.from_frame(frame, label=label), forests


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("rows", "trees", "options"), [(60, 8, {}), (400, 20, {"max_depth": 6, "max_samples": 0.5})])
def test_the_training_rows_meet_a_real_forest(data, rows, trees, options):
    frame, domain, (unknown, known) = real_forest(data, rows, trees, **options)
    release = encode(domain, [unknown], RowCount(rows, rows))
    assert violations(release, frame) == []
    told = encode(domain, [known])
    assert told.rows == RowCount(rows, rows)
    assert violations(told, frame) == []
    wrong = frame.copy()
    wrong[frame.columns[-1]] = 1 - wrong[frame.columns[-1]]
    assert violations(release, wrong)
    assert violations(told, wrong)
    with pytest.raises(ReleaseError, match="different rows"):
        encode(domain, [unknown], RowCount(rows // 4, rows // 4))


@pytest.mark.slow
def test_verdicts_about_real_training_rows(data):
    frame, domain, forests = real_forest(data, 20, 2, max_depth=2)
    once, counted = frame.drop_duplicates(), Counter(frame.itertuples(index=False, name=None))
    for forest in forests:
        release = encode(domain, [forest], RowCount(20, 20))
        held = recon.certify(release, once, limits=Limits(seconds=600), certificates=False)
        assert not (held["verdict"] == "impossible").any()
        for row, line in zip(once.itertuples(index=False, name=None), held.to_dict("records"), strict=True):
            assert line["min_count"] <= counted[row] <= line["max_count"]


# ---------------------------------------------------------------- what the report says of bounds


def leaves_of_two(first, second, most=1, **model):
    """Return a release of two stumps' leaves on a0 and a1; `first` has a leaf more, where no row can be."""
    impossible = [{"if": {"a0": {"at_least": 1}}, "then": 3, "else": 4}, {"counts": first[0]}, {"counts": first[1]}]
    root = {"if": {"a0": {"at_most": 0}}, "then": 1, "else": 2}
    nodes = [root, impossible[0], {"counts": first[2]}, *impossible[1:]]
    other = [{"if": {"a1": {"at_most": 0}}, "then": 1, "else": 2}, *({"counts": c} for c in second)]
    attributes = [{"name": f"a{k}", "min": 0, "max": most} for k in range(2)]
    domain = {"attributes": attributes, "label": {"name": "y", "values": [0, 1]}}
    forest = {"kind": "forest", "trees": [{"nodes": nodes}, {"nodes": other}], **model}
    return {"recon": 1, "domain": domain, "rows": 4, "models": [forest]}


def group_section(got):
    return dict(recon.audit(got).sections())["What the counts say without any reconstruction"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("limits", [Limits(seconds=0.0), Limits(cells=1, seconds=0.0)], ids=["time", "cells"])
def test_bounds_hold_and_no_figure_exceeds_what_there_was_before(limits):
    """With and without known bags, under limits that leave nothing but bounds."""
    rng, seen = random.Random("capped"), 0
    for i in range(12):
        release, _, space, how, _ = random_forest(rng, known=i % 3 == 0)
        release["rows"] = release.get("rows", len(release["models"][0].get("multiplicities", [[]])[0]))
        if not isinstance(release["rows"], int):
            continue
        every, n = worlds(release, space, how), release["rows"]
        try:
            found = recon.measure(encoded(release), "ordered", limits)
        except (Inconclusive, Unsupported):
            continue
        if found.status != "bounds":
            continue
        seen += 1
        before = n * math.log2(len(space))
        assert found.counted.bounds[1] <= before + 1e-9
        assert found.datasets.bounds[1] <= found.counted.bounds[1]
        assert found.datasets.bounds[1] <= math.log2(math.comb(len(space) + n - 1, n)) + 1e-9
        if i % 3:
            assert found.counted.bounds[1] >= math.log2(sum(weights(every, "ordered"))) - 1e-9
            assert found.datasets.bounds[1] >= math.log2(len(every)) - 1e-9
    assert seen > 2


def test_an_upper_bound_of_no_world_is_said_as_such():
    got = encoded(leaves_of_two([[1, 0], [0, 1], [1, 1]], [[2, 0], [0, 2]]))
    found = recon.measure(got, limits=Limits(seconds=0.0))
    assert (found.status, found.counted.value) == ("unsat", 0)
    assert found.counted.conflict == ("tree 0, leaf 3, class 0: at least 1 row",)


def test_a_loosened_release_has_no_world_where_an_engine_bounds_it_by_none():
    none = CountAnswer("bounds", bounds=(-math.inf, -math.inf))
    got = encoded(leaves_of_two([[0, 0], [1, 1], [1, 1]], [[2, 0], [0, 2]])).statements
    loose = dataclasses.replace(got, loosened=("left out",))
    assert relaxed_answer(loose, Count("ordered"), none).status == "unsat"
    assert relaxed_answer(loose, Count("ordered"), CountAnswer("bounds", bounds=(2.0, 5.0))).bounds == (0.0, 5.0)


def test_sizes_of_a_continuous_attribute_are_no_rows():
    release = leaves_of_two([[0, 0], [1, 1], [1, 1]], [[2, 0], [0, 2]])
    release["domain"]["attributes"][0] = {"name": "a0", "min": 0, "max": 1, "resolution": None}
    release["models"][0]["trees"][0]["nodes"] = [
        {"if": {"a0": {"at_most": 0.3}}, "then": 1, "else": 2}, {"counts": [1, 1]}, {"counts": [1, 1]}
    ]  # fmt: skip
    found = recon.measure(encoded(release))
    assert found.counted.relative
    assert (found.smallest_region, found.determined_rows) == (None, None)


def test_what_was_not_evaluated_is_not_called_safe():
    plain = leaves_of_two([[0, 0], [1, 1], [2, 0]], [[2, 1], [1, 0]])
    bags = leaves_of_two([[0, 0], [1, 1], [2, 0]], [[2, 1], [1, 0]], bootstrap=True)
    assert group_section(encoded(bags)) == ["not evaluated: counts of resamples are lower bounds"]
    assert not any("not evaluated" in line for line in group_section(encoded(plain)))
    figures = [{"where": {"a0": 0}, "count": 3}, {"where": {"a0": 1, "a1": 1}, "count": 0}, {"where": {}, "count": 4}]
    table = {**plain, "models": [{"kind": "table", "name": "t", "statements": figures}]}
    assert group_section(encoded(table)) == [
        "smallest published group: 3 rows",
        "groups below 10 rows: 1: t, statement 0 (3)",
        "groups of one class only (class disclosure): not defined (no partition of exact counts)",
    ]
    hidden = {"where": {"a0": 0}, "suppressed": "primary", "at_least": 1, "at_most": 2}
    suppressed = {**plain, "models": [{"kind": "table", "name": "t", "statements": [hidden]}]}
    assert group_section(encoded(suppressed)) == ["not evaluated: no partition of exact counts"]


def test_determined_rows_of_bounds_are_at_least_so_many():
    got = encoded(leaves_of_two([[0, 0], [1, 1], [1, 1]], [[2, 0], [0, 2]], most=50))
    exact = recon.measure(got)
    assert exposure_lines(exact)[0].startswith("rows determined completely: 1 of 4;")
    outer = dataclasses.replace(exact, status="bounds")
    assert exposure_lines(outer)[0].startswith("rows determined completely: at least 1 of 4;")


def test_class_counts_of_inner_nodes_above_plain_leaves_make_answers_bounds(tmp_path) -> None:
    """They follow from no leaf and are no statement: a count without them is not called exact."""
    release = {
        "recon": 1,
        "domain": {"attributes": [{"name": "a", "values": [0, 1]}], "label": {"name": "y", "values": [0, 1]}},
        "models": [
            {
                "kind": "tree",
                "nodes": [{"if": {"a": 0}, "then": 1, "else": 2, "counts": [3, 1]}, {"count": 2}, {"count": 2}],
            }
        ],
    }
    path = tmp_path / "release.json"
    path.write_text(json.dumps(release))
    found = recon.count(recon.load(str(path)))
    assert found.status == "bounds"
    assert found.bounds[0] <= math.log2(24) <= found.bounds[1]
    assert any("inner nodes" in line for line in recon.load(str(path)).statements.loosened)
