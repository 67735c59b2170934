"""Correlation intervals of four attackers, against every dataset of tiny domains; nested, and refused by name."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Grid, Test, equals
from encoders.encode.encoder import encode
from encoders.models.models import Forest, ModelNode, PublishedFigure, Rule, RuleList, Support, Table, Tree
from recon.attacks.attacking import correlations as module
from recon.attacks.attacking.correlations import DEFINITE, DISCRETE, WORLDS, correlations
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits

NAMES = ("a", "b", "c", "y")
CELLS = np.array(list(itertools.product((0, 1), repeat=4)))
BITS = Domain(tuple(Categorical(n, (0, 1)) for n in "abc"), Categorical("y", (0, 1)))
LEAVES = {  # of the model: a == 1 | a == 0, b == 1, c == 0 | a == 0, rest; by class
    k: [(CELLS[:, 0] == 1), (CELLS[:, 0] == 0) & (CELLS[:, 1] == 1) & (CELLS[:, 2] == 0)][k] for k in (0, 1)
}
LEAVES[2] = ~LEAVES[0] & ~LEAVES[1]


def histograms(rows, cells):
    """Return every way to put rows into cells, one line each."""
    bars = itertools.combinations(range(rows + cells - 1), cells - 1)
    ends = np.array([(-1, *b, rows + cells - 1) for b in bars])
    return np.diff(ends, axis=1) - 1


EVERY = histograms(5, 16)


def frame_of(z):
    return pd.DataFrame(np.repeat(CELLS, z, axis=0), columns=list(NAMES))


def rule_list(z):
    conditions = [(("a", equals(1)),), (("b", equals(1)), ("c", equals(0))), ()]
    supports = [Support(tuple(int(z[LEAVES[k] & (CELLS[:, 3] == y)].sum()) for y in (0, 1))) for k in range(3)]
    return RuleList(tuple(map(Rule, conditions, supports)))


def statements(columns):
    """Return indicator rows of what tables of some columns with the label fix."""
    out = [CELLS[:, 3] == y for y in (0, 1)]
    return np.array(out + [(CELLS[:, c] == 1) & (CELLS[:, 3] == y) for c in columns for y in (0, 1)], dtype=int)


def correlation(z, i, j):
    """Return the correlations of columns i and j in the datasets of some histograms (lines)."""
    n, a, b, ab = z.sum(1), z @ CELLS[:, i], z @ CELLS[:, j], z @ (CELLS[:, i] * CELLS[:, j])
    return (n * ab - a * b) / np.sqrt(a * (n - a) * b * (n - b))


def truths(count):
    """Return some true histograms in which no column is constant."""
    rng = np.random.default_rng(3)
    good = [z for z in EVERY if all(0 < z @ CELLS[:, k] < 5 for k in range(4))]
    return [good[i] for i in rng.choice(len(good), count, replace=False)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("z", truths(12), ids=str)
def test_every_interval_is_that_of_all_datasets(z):
    release = encode(BITS, [rule_list(z)])
    found = correlations(release, frame_of(z), epsilons=(2.0,), confidence=0.8, seed=int(z @ range(16)))
    of_tables = statements(range(3))
    same = EVERY[(of_tables @ z == (EVERY @ of_tables.T)).all(axis=1)]
    model = np.array([LEAVES[k] & (CELLS[:, 3] == y) for k in range(3) for y in (0, 1)], dtype=int)
    worlds = same[((same @ model.T) == model @ z).all(axis=1)]
    private = dict(module.noisy_releases(release, [2.0], module.confidence_level(0.8), int(z @ range(16))))[2.0]
    block = private.statements.partitions[0]
    where = {(int(r), int(y)): s for s, (r, y) in enumerate(zip(block.region, block.label, strict=True))}
    order = [where[k, y] for k in range(3) for y in (0, 1)]
    inside = ((same @ model.T) >= block.low[order]) & ((same @ model.T) <= block.high[order])
    noisy = same[inside.all(axis=1)]
    for first, second in itertools.combinations(range(3), 2):
        lines = found.frame.query("first == @NAMES[@first] and second == @NAMES[@second]").set_index("attacker")
        for attacker, some in ((DISCRETE, same), ("noise epsilon=2", noisy), (WORLDS, worlds)):
            line, values = lines.loc[attacker], correlation(some if len(some) else same, first, second)
            assert line["low"] == pytest.approx(values.min(), abs=1e-12)
            assert line["high"] == pytest.approx(values.max(), abs=1e-12)
            assert line["status"] == ("exact" if len(some) else "empty")
        assert lines.loc[WORLDS, "truth"] == pytest.approx(correlation(z[None], first, second)[0], abs=1e-12)
        assert lines.loc[[DEFINITE, DISCRETE, WORLDS], "holds"].all()


@pytest.mark.parametrize("z", truths(4), ids=str)
def test_of_many_columns_the_tables_of_the_pair_are_known(z, monkeypatch):
    monkeypatch.setattr(module, "TOGETHER", 0)
    found = correlations(encode(BITS, [rule_list(z)]), frame_of(z), epsilons=())
    model = np.array([LEAVES[k] & (CELLS[:, 3] == y) for k in range(3) for y in (0, 1)], dtype=int)
    for first, second in itertools.combinations(range(3), 2):
        fixed = np.vstack([statements([first, second]), model])
        values = correlation(EVERY[(fixed @ z == (EVERY @ fixed.T)).all(axis=1)], first, second)
        (line,) = found.frame.query(
            "first == @NAMES[@first] and second == @NAMES[@second] and attacker == @WORLDS"
        ).itertuples()
        assert (line.low, line.high) == pytest.approx((values.min(), values.max()), abs=1e-12)
    assert "the two columns" in found.knows[WORLDS]


def test_no_correlation_matrix_lies_beyond_the_first_interval():
    z = truths(1)[0]
    frame = frame_of(z)
    lines = correlations(encode(BITS, [rule_list(z)]), frame, epsilons=()).frame.query("attacker == @DEFINITE")
    rho = frame.corr()
    for line in lines.itertuples():
        for end, sign in ((line.low, -1), (line.high, 1)):
            matrix = np.array([[1, end, rho.loc[line.first, "y"]], [end, 1, rho.loc[line.second, "y"]],
                               [rho.loc[line.first, "y"], rho.loc[line.second, "y"], 1]])  # fmt: skip
            assert np.linalg.eigvalsh(matrix)[0] == pytest.approx(0, abs=1e-7)
            matrix[0, 1] = matrix[1, 0] = end + sign * 0.01
            assert np.linalg.eigvalsh(matrix)[0] < 0


def larger(rows=400, seed=1):
    rng = np.random.default_rng(seed)
    hidden = rng.random(rows)
    frame = pd.DataFrame({n: (rng.random(rows) < 0.2 + 0.6 * hidden).astype(int) for n in "abcd"})
    return frame.assign(y=(rng.random(rows) < hidden).astype(int))


def learnt(frame, length=5):
    from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier

    fitted = GreedyRuleListClassifier(width=2, max_length=length).fit(frame[list("abcd")], frame["y"])
    return encode(Domain.from_frame(frame, label="y", independent=True), [fitted.to_model()])


@pytest.mark.sampled(0, 2)
@pytest.mark.parametrize("seed", range(3))
def test_intervals_narrow_in_the_order_of_the_attackers(seed):
    frame = larger(seed=seed)
    found = correlations(learnt(frame), frame, epsilons=(10, 1), seed=seed)
    order = [DEFINITE, DISCRETE, "noise epsilon=10", "noise epsilon=1", WORLDS]
    assert list(found.knows) == found.frame["attacker"].unique().tolist() == order
    table = {name: one.reset_index(drop=True) for name, one in found.frame.groupby("attacker")}
    for outer, inner in (
        (DEFINITE, DISCRETE),
        *((DISCRETE, n) for n in order[2:4]),
        *((n, WORLDS) for n in order[2:4]),
    ):
        if outer in order[2:4] and not covered(frame, seed, outer):
            continue  # the noise lies outside its joint intervals: nothing ties them to the exact counts
        assert (table[outer]["low"] <= table[inner]["low"] + 1e-12).all(), (outer, inner)
        assert (table[inner]["high"] <= table[outer]["high"] + 1e-12).all(), (outer, inner)
    assert found.frame.query("confidence == 1")["holds"].all()
    assert table[WORLDS]["width"].mean() < table[DISCRETE]["width"].mean() < table[DEFINITE]["width"].mean()
    again = correlations(learnt(frame), frame, epsilons=(1, 10), seed=seed)
    pd.testing.assert_frame_equal(again.frame, found.frame)


def covered(frame, seed, name):
    """Return whether the joint intervals of a draw hold the true counts."""
    release = learnt(frame)
    block = release.statements.partitions[0]
    drawn = dict(module.noisy_releases(release, (10, 1), module.confidence_level(0.95), seed))
    own = drawn[float(name.split("=")[1])].statements.partitions[0]
    return bool(((own.low <= block.low) & (block.low <= own.high)).all())


@pytest.mark.slow
def test_noise_holds_the_truth_at_least_as_often_as_it_says():
    frame, held = larger(60), []
    release = learnt(frame, 3)
    for seed in range(30):
        found = correlations(release, frame, epsilons=(1,), confidence=0.8, seed=seed).frame
        held.append(bool(found[found["attacker"].str.startswith("noise")]["holds"].all()))
    assert np.mean(held) >= 0.8 - 3 * math.sqrt(0.16 / 30)


def test_tests_on_numbers_are_columns_of_their_own():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"age": rng.integers(18, 60, 80), "sex": rng.integers(0, 2, 80)})
    frame["y"] = (frame["age"] + 10 * frame["sex"] + rng.integers(0, 20, 80) > 50).astype(int)
    domain = Domain((Grid.between("age", 18, 90), Categorical("sex", (0, 1))), Categorical("y", (0, 1)))
    young, old = (("age", Test(high=30)),), (("age", Test(high=45)),)

    def counts(rows):
        return Support(tuple(int((rows["y"] == y).sum()) for y in (0, 1)))

    inner = Support()
    low, rest = frame[frame["age"] <= 30], frame[frame["age"] > 30]
    nodes = [ModelNode(inner, young, 1, 2), ModelNode(counts(low)), ModelNode(inner, old, 3, 4)]
    nodes += [ModelNode(inner, (("sex", equals(0)),), 5, 6), ModelNode(counts(rest[rest["age"] > 45]))]
    nodes += [ModelNode(counts(rest[(rest["age"] <= 45) & (rest["sex"] == s)])) for s in (0, 1)]
    found = correlations(encode(domain, [Tree(nodes)]), frame)
    assert found.views == ("age <= 30", "age <= 45", "sex")
    assert found.frame["holds"].all()
    worlds = found.frame.query("attacker == @WORLDS").set_index(["first", "second"])
    expected = np.corrcoef(frame["age"] <= 30, frame["age"] <= 45)[0, 1]
    assert worlds.loc[("age <= 30", "age <= 45"), ["low", "high", "truth"]].tolist() == pytest.approx([expected] * 3)


def test_other_pairs_and_other_releases():
    frame = larger(60)
    release = encode(Domain.from_frame(frame, label="y", independent=True), [Table((
        PublishedFigure((("a", equals(1)), ("y", equals(1))), count=int((frame["a"] & frame["y"]).sum())),
        PublishedFigure((), count=60),
    ))])  # fmt: skip
    found = correlations(release, frame, pairs=[("a", "d"), ("b", "c")])
    assert found.frame["holds"].all()
    assert set(found.frame["attacker"]) == {DEFINITE, DISCRETE, WORLDS}
    assert "no noise was added" in found.notes[0]
    trees = tuple(Tree([ModelNode(Support(), ((n, equals(1)),), 1, 2), *(
        ModelNode(Support(tuple(int(((frame[n] == v) & (frame["y"] == y)).sum()) for y in (0, 1)))) for v in (1, 0)
    )]) for n in "ab")  # fmt: skip
    forest = encode(Domain.from_frame(frame, label="y", independent=True), [Forest(trees)])
    assert correlations(forest, frame).frame["holds"].all()


def test_a_release_with_noise_is_read_at_the_confidence(tmp_path):
    frame = larger(60)
    (_, private), = module.noisy_releases(learnt(frame, 3), [1.0], module.confidence_level(0.95), 4)  # fmt: skip
    found = correlations(private, frame, confidence=0.9)
    lines = found.frame.query("attacker == @WORLDS")
    assert set(lines["confidence"]) == {0.9}
    assert found.notes


def test_bad_input_is_refused_by_name():
    frame = larger(60)
    release = learnt(frame, 3)
    with pytest.raises(ReleaseError, match=r"no column 'y', the model's label: say which column is \(--label"):
        correlations(release, frame[list("abcd")])
    with pytest.raises(ReleaseError, match="not the rows that the release is about"):
        correlations(release, frame.assign(a=1 - frame["a"], b=1 - frame["b"]))
    with pytest.raises(ReleaseError, match="'zz' is not a column of 0 and 1; the model tests"):
        correlations(release, frame, pairs=[("a", "zz")])
    with pytest.raises(ReleaseError, match="a correlation is one of two columns, not of 'a' with itself"):
        correlations(release, frame, pairs=[("a", "a")])
    with pytest.raises(ReleaseError, match="epsilon must be above 0"):
        correlations(release, frame, epsilons=(0,))
    with pytest.raises(ReleaseError, match="confidence 2 is not in"):
        correlations(release, frame, confidence=2)
    alike = frame.assign(d=1)
    plain = encode(Domain.from_frame(frame, label="y", independent=True), [Table((PublishedFigure((), count=60),))])
    with pytest.raises(ReleaseError, match="'d' is 1 in all 60 rows: it has no correlation"):
        correlations(plain, alike, pairs=[("a", "d")])
    with pytest.raises(ReleaseError, match="all rows have the same label"):
        correlations(plain, frame.assign(y=1), pairs=[("a", "b")])
    many = Domain((Categorical("a", (0, 1)), Categorical("b", (0, 1))), Categorical("y", (0, 1, 2)))
    with pytest.raises(Unsupported, match="the label has 3 values"):
        correlations(
            encode(many, [Table((PublishedFigure((), count=60),))]), frame[["a", "b", "y"]], pairs=[("a", "b")]
        )
    nothing = Domain((Categorical("a", (0, 1)), Categorical("b", (0, 1))))
    with pytest.raises(ReleaseError, match="the release has no label"):
        correlations(encode(nothing, [Table((PublishedFigure((), count=60),))]), frame[["a", "b"]])


def test_a_release_file_gives_the_same(tmp_path):
    frame = larger(60)
    counts = [[int(((frame["a"] == v) & (frame["y"] == y)).sum()) for y in (0, 1)] for v in (1, 0)]
    content = {
        "recon": 1,
        "domain": {"attributes": [{"name": n, "values": [0, 1]} for n in "abcd"],
                   "label": {"name": "y", "values": [0, 1]}},
        "models": [{"kind": "tree", "nodes": [{"if": {"a": 1}, "then": 1, "else": 2}, {"counts": counts[0]},
                                              {"counts": counts[1]}]}],
    }  # fmt: skip
    path = tmp_path / "release.json"
    path.write_text(json.dumps(content))
    frame.astype(str).to_csv(tmp_path / "rows.csv", index=False)
    from recon.readers.frames.selections import read_table

    found = correlations(recon.load(str(path)), read_table(str(tmp_path / "rows.csv")), pairs=[("a", "b")])
    assert found.frame["holds"].all()
    assert found.frame["truth"].iloc[0] == pytest.approx(frame["a"].corr(frame["b"]))


@pytest.mark.parametrize("most", [12, 0])
def test_out_of_time_the_tables_are_left(monkeypatch, most):
    monkeypatch.setattr(module, "TOGETHER", most)
    frame = larger(60)
    found = correlations(learnt(frame, 3), frame, epsilons=(1,), limits=Limits(seconds=0.0))
    by = {name: part.reset_index(drop=True) for name, part in found.frame.groupby("attacker")}
    for name in ("noise epsilon=1", WORLDS):
        assert (by[name]["low"] == by[DISCRETE]["low"]).all()
        assert (by[name]["high"] == by[DISCRETE]["high"]).all()
        assert (by[name]["status"] == "bounds").all()
    assert found.frame["holds"].all()
    assert "the time was up" in found.notes[0]


def test_a_histogram_that_attains_an_end_already_is_not_searched_for_again(monkeypatch):
    from solvers.programs.verdicts import VerdictProver

    frame = larger(60)
    release = learnt(frame, 3)
    searches = []
    searched = VerdictProver.exactly
    monkeypatch.setattr(VerdictProver, "exactly", lambda *given: searches.append(given[1:3]) or searched(*given))
    found = correlations(release, frame, epsilons=())
    assert (found.frame["status"] == "exact").all()
    assert 0 < len(searches) < 2 * len(found.frame.query("attacker == @WORLDS"))
