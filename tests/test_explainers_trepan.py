"""TREPAN and trees on enriched data: known truths recovered, and the nodes of their release files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from explained import Rule, bits, every, mixed, walked
from hypothesis import given, settings
from hypothesis import strategies as st

import recon
from recon.attacks.explainers import surrogate
from recon.attacks.explainers.sampling import (
    IndependentColumns,
    _on,
    conditioned,
    distinct,
    enriched_tree,
    query_target,
)
from recon.attacks.explainers.surrogate import Literal, MofN, Surrogate, SurrogateNode
from recon.attacks.explainers.trepan import Settings, _best_test, _simplified, trepan
from recon.queries.inputs import RecordColumns
from solvers.foundation.errors import Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits


def drawn_tests(columns):
    """Return a strategy of m-of-n tests over a number of columns of bits."""
    literal = st.builds(Literal, st.integers(0, columns - 1), st.just(0.5), st.booleans())
    many = st.lists(literal, min_size=1, max_size=4, unique_by=lambda one: one.column)
    return many.flatmap(lambda of: st.integers(1, len(of)).map(lambda m: MofN(m, tuple(of))))


@st.composite
def trees(draw, columns=5):
    """Return a strategy of surrogates with m-of-n tests over bits, drawn top down."""
    inner, k = [], 0
    slots = 1
    while k < slots:
        shares = draw(st.sampled_from([(0.2, 0.8), (0.9, 0.1), (0.5, 0.5)]))
        if slots < 9 and draw(st.booleans()):
            inner.append(SurrogateNode(shares, draw(drawn_tests(columns)), slots, slots + 1))
            slots += 2
        else:
            inner.append(SurrogateNode(shares))
        k += 1
    return Surrogate("drawn", bits(columns), 2, inner)


def by_hand(tree, row):
    """Return the leaf of a row, test by test."""
    at = 0
    while (test := tree.inner[at].test) is not None:
        met = sum((row[one.column] <= one.threshold) == one.at_most for one in test.literals)
        at = tree.inner[at].then if met >= test.needed else tree.inner[at].other
    return at


@pytest.mark.slow
@given(trees(), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_expanded_trees_say_what_the_tree_says_and_count_its_rows(tree, seed):
    rng = np.random.default_rng(seed)
    x, names = every(5), tree.columns.names
    leaves = tree.leaf(x)
    assert leaves.tolist() == [by_hand(tree, row) for row in x]
    rows = x[rng.integers(len(x), size=40)]
    y = rng.integers(0, 2, size=40)
    nodes, said = tree.nodes(rows, y), tree.predictions()
    ends = [walked(nodes, row, names) for row in x]
    assert [said[end] for end in ends] == tree.predict(x).tolist()
    assert set(ends) == {k for k, node in enumerate(nodes) if "counts" in node}  # no leaf that no row reaches
    assert all(said[k] == -1 for k, node in enumerate(nodes) if "if" in node)
    counted = {k: [0, 0] for k in ends}
    for row, label in zip(rows, y.tolist(), strict=True):
        counted[walked(nodes, row, names)][label] += 1
    assert counted == {k: node["counts"] for k, node in enumerate(nodes) if "counts" in node}
    assert all(node["then"] > k and node["else"] > k for k, node in enumerate(nodes) if "if" in node)


@pytest.mark.slow
@given(st.lists(st.tuples(drawn_tests(6), st.booleans()), max_size=5), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_drawn_rows_take_the_path(path, seed):
    rng = np.random.default_rng(seed)
    x = every(6)
    columns = RecordColumns(tuple("abcdef"), (False,) * 6, groups=((0, 1),))
    seeds = x[_on(tuple(path), x)]
    pool = x[rng.random((64, 6)).mean(axis=1) < 0.55]
    if not len(seeds):
        with pytest.raises(ReleaseError, match="no row takes the path"):
            conditioned(IndependentColumns(pool, columns), tuple(path), seeds, 50, rng)
        return
    drawn = conditioned(IndependentColumns(pool, columns), tuple(path), seeds, 50, rng)
    assert drawn.shape == (50, 6)
    assert _on(tuple(path), drawn).all()
    assert np.isin(drawn, (0.0, 1.0)).all()


def test_rows_of_a_rare_path_follow_the_conditional_law():
    """11 of 12 rare bits: rejection finds almost nothing; the 13 kinds of rows have known probabilities."""
    d, p = 12, 0.3
    rng = np.random.default_rng(5)
    pool = (np.arange(10) < 10 * p).astype(float)[:, None].repeat(d, axis=1)
    path = ((MofN(11, tuple(Literal(k, 0.5, False) for k in range(d))), True),)
    x = every(d)
    drawn = conditioned(IndependentColumns(pool, bits(d)), path, x[_on(path, x)], 20_000, rng)
    everything = p / (p + d * (1 - p))  # all twelve, against one of twelve missing
    assert np.mean(drawn.sum(axis=1) == d) == pytest.approx(everything, abs=0.01)


def test_one_of_two_is_drawn_by_its_conditional_law_and_seeds_lend_what_the_pool_lacks():
    rng = np.random.default_rng(0)
    path = ((MofN(1, (Literal(0, 0.5, False), Literal(1, 0.5, False))), True),)
    drawn = conditioned(IndependentColumns(every(3), bits(3)), path, every(3)[-1:], 6000, rng)
    assert np.unique(drawn[:, :2], axis=0).tolist() == [[0, 1], [1, 0], [1, 1]]
    assert drawn[:, :2].mean() == pytest.approx(2 / 3, abs=0.02)
    single = ((MofN(1, (Literal(0, 0.5, False),)), True),)
    lent = conditioned(
        IndependentColumns(every(3)[:4], bits(3)), single, every(3)[4:5], 100, rng
    )  # the pool has 0 only
    assert lent[:, 0].tolist() == [1.0] * 100
    assert set(lent[:, 1].tolist()) == {0.0, 1.0}


def test_groups_are_drawn_together_and_values_are_observed_ones():
    rng = np.random.default_rng(0)
    x = np.column_stack([np.eye(3)[rng.integers(3, size=50)], rng.normal(size=50)])
    columns = RecordColumns(("a", "b", "c", "n"), (False, False, False, True), groups=((0, 1, 2),))
    drawn = IndependentColumns(x, columns).draw(500, rng)
    assert (drawn[:, :3].sum(axis=1) == 1).all()
    assert np.isin(drawn[:, 3], x[:, 3]).all()
    path = ((MofN(1, (Literal(3, 0.0, True),)), True), (MofN(1, (Literal(1, 0.5, False),)), True))
    drawn = conditioned(IndependentColumns(x, columns), path, x[_on(path, x)], 300, rng)
    assert (drawn[:, 1] == 1).all()
    assert (drawn[:, :3].sum(axis=1) == 1).all()
    assert drawn[:, 3].max() <= 0.0


def test_equal_rows_are_asked_about_once():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 3, size=(500, 4)).astype(float)
    first, inverse = distinct(x)
    assert (x[first][inverse] == x).all()
    assert len(first) == len({tuple(row) for row in x.tolist()})
    box = Rule(lambda rows: rows[:, 0] > 1)
    said, queries = query_target(box, x, 2)
    assert said.tolist() == (x[:, 0] > 1).astype(int).tolist()
    assert queries == box.asked == len(first)
    assert query_target(box, x[:0], 2)[1] == 0


MAJORITY = MofN(3, tuple(Literal(k, 0.5, False) for k in (0, 2, 3, 5, 6)))


def test_an_m_of_n_function_is_one_test_where_binary_tests_need_many():
    box, x = Rule(MAJORITY.holds), every(8)
    rng = np.random.default_rng(0)
    some = x[rng.integers(len(x), size=60)]
    one = trepan(box, some, bits(8), 2, seed=1)
    assert (one.predict(x) == MAJORITY.holds(x)).all()
    assert one.splits == 1
    assert one.fidelity(box, x) == 1.0
    assert one.kind == "trepan m-of-n"
    plain = trepan(box, some, bits(8), 2, seed=1, splits="binary", max_nodes=100)
    assert plain.kind == "trepan binary"
    assert (plain.predict(x) == MAJORITY.holds(x)).all()
    assert plain.splits >= 19  # a decision tree of 3 of 5 has C(6, 3) - 1 tests
    assert all(len(node.test.literals) == 1 for node in plain.inner if node.test)


@pytest.mark.parametrize("splits", ["m-of-n", "binary"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_small_trees_over_numbers_and_bits_are_recovered(splits, seed):
    x, columns = mixed(np.random.default_rng(seed))
    box = Rule(lambda rows: np.where(rows[:, 1] <= 3, np.where(rows[:, 2] > 0.5, 2, 0), rows[:, 4] > 0.5), 3)
    found = trepan(box, x, columns, 3, seed=seed, splits=splits, minimum=600)
    assert found.fidelity(box, x) == 1.0
    assert found.splits <= (5 if splits == "binary" else 3)  # greedy: the truth has 3, in another order 5
    assert found.queries == box.asked - len(x)  # `fidelity` asked about every row once more


def test_the_greatest_number_of_tests_is_held_and_best_nodes_go_first():
    x = every(6)
    box = Rule(lambda rows: rows.sum(axis=1) % 2)  # parity: no small tree is faithful
    for most in (0, 1, 3, 7):
        found = trepan(box, x, bits(6), 2, seed=0, splits="binary", max_nodes=most, confidence=0.0)
        assert found.splits <= most
    steep = Rule(lambda rows: (rows[:, 0] > 0.5) & (rows[:, 1] > 0.5) | (rows[:, 2:6].sum(axis=1) == 4))
    faithful = [trepan(steep, x, bits(6), 2, seed=0, splits="binary", max_nodes=k).fidelity(steep, x) for k in range(6)]
    assert faithful == sorted(faithful)
    assert faithful[2] == pytest.approx(1 - 3 / 64)  # a and b first: then only 3 rows are said wrongly


def test_reach_goes_before_a_worse_node_that_few_rows_reach():
    rng = np.random.default_rng(0)
    x = (rng.random((3000, 3)) < [0.25, 0.5, 0.25]).astype(float)
    box = Rule(lambda rows: np.where(rows[:, 0] > 0.5, 2 + rows[:, 1], rows[:, 2]), 4)
    found = trepan(box, x, bits(3), 4, seed=0, splits="binary", max_nodes=2)
    columns = [node.test.literals[0].column for node in found.inner if node.test]
    assert columns == [0, 2]  # 0.75 * 0.25 goes before 0.25 * 0.5


def test_a_column_stands_once_in_a_test():
    x, columns = mixed(np.random.default_rng(3))
    box = Rule(lambda rows: (rows[:, 1] > 2) & (rows[:, 1] < 6) | (np.abs(rows[:, 0]) < 0.2))
    found = trepan(box, x, columns, 2, seed=0, max_nodes=40)
    tests = [node.test for node in found.inner if node.test]
    assert max(len(test.literals) for test in tests) > 1
    assert all(len({one.column for one in test.literals}) == len(test.literals) for test in tests)
    assert found.fidelity(box, x) > 0.97


def test_tests_whose_leaves_say_the_same_are_left_out():
    test = MofN(1, (Literal(0, 0.5, True),))
    yes, no = (0.2, 0.8), (0.9, 0.1)
    inner = [
        SurrogateNode(no, test, 1, 2),
        SurrogateNode(yes, test, 3, 4),
        SurrogateNode(no),
        SurrogateNode((0.0, 1.0)),
        SurrogateNode((0.4, 0.6)),
    ]
    assert _simplified(inner) == [SurrogateNode(no, test, 1, 2), SurrogateNode(yes), SurrogateNode(no)]
    deep = [
        SurrogateNode(no, test, 1, 2),
        SurrogateNode(no),
        SurrogateNode(no, test, 3, 4),
        SurrogateNode(no),
        SurrogateNode((0.6, 0.4)),
    ]
    assert _simplified(deep) == [SurrogateNode(no)]
    odd = [
        SurrogateNode(yes, test, 1, 2),
        SurrogateNode(no),
        SurrogateNode(no),
    ]  # its leaves say what it would not say itself: it stays
    assert _simplified(odd) == odd
    last = [
        SurrogateNode(yes, test, 1, 2),
        SurrogateNode(yes),
        SurrogateNode(no, test, 3, 4),
        SurrogateNode(no),
        SurrogateNode(yes),
    ]
    assert _simplified(last) == last


def test_pure_nodes_ask_for_no_test():
    x = every(5)
    rare = Rule(lambda rows: rows.sum(axis=1) == 5)  # 1 of 32 rows
    assert trepan(rare, x, bits(5), 2, seed=0, purity=0.9).splits == 0
    assert trepan(rare, x, bits(5), 2, seed=0, purity=0.999).splits > 0
    never = trepan(Rule(lambda rows: np.zeros(len(rows))), x, bits(5), 2, seed=0)
    assert (never.size, never.depth, never.predict(x).tolist()) == (1, 0, [0] * 32)
    assert never.nodes(x, np.ones(32, dtype=int)) == [{"counts": [0, 32]}]


def test_the_best_single_test_is_the_one_by_brute_force():
    rng = np.random.default_rng(8)
    x, columns = mixed(rng, 60)
    said = rng.integers(0, 3, size=60)

    def bits_of(labels):
        share = np.unique(labels, return_counts=True)[1] / len(labels)
        return -(share * np.log2(share)).sum()

    gains = {}
    for k in range(5):
        values = np.unique(x[:, k])
        for t in ((values[1:] + values[:-1]) / 2).tolist():
            low = x[:, k] <= t
            gains[k, t] = bits_of(said) - low.mean() * bits_of(said[low]) - (~low).mean() * bits_of(said[~low])
    for k in range(5):
        one = Settings("binary", literals=1, confidence=0.0)
        (literal,) = _best_test(x[:, [k]], said, 3, RecordColumns((columns.names[k],), (True,)), one).literals
        best = max(gain for (column, _), gain in gains.items() if column == k)
        if k > 0:  # of the 59 midpoints of the first column only some are tried
            assert gains[k, literal.threshold] == pytest.approx(best, abs=1e-9)
        assert best >= gains[k, literal.threshold] > 0
    (literal,) = _best_test(x[:, 1:], said, 3, RecordColumns(columns.names[1:], (True,) * 4), one).literals
    best = max(gain for (column, _), gain in gains.items() if column > 0)
    assert gains[literal.column + 1, literal.threshold] == pytest.approx(best, abs=1e-9)


def test_noise_has_no_test_and_constant_columns_none():
    rng = np.random.default_rng(2)
    x = np.column_stack([np.ones(300), np.full(300, 7.5), rng.random(300) < 0.5]).astype(float)
    columns = RecordColumns(("one", "same", "p"), (False, True, False))
    assert _best_test(x, rng.integers(0, 2, 300), 2, columns, Settings()) is None
    found = trepan(Rule(lambda rows: rows[:, 2]), x, columns, 2, seed=0)
    assert [node.test.literals[0].column for node in found.inner if node.test] == [2]
    assert trepan(Rule(lambda rows: rows[:, 2]), x[:1], columns, 2, seed=0).size == 1


@pytest.mark.parametrize("make", [trepan, enriched_tree])
def test_seeds_decide_and_fidelity_is_not_accuracy(make):
    x, columns = mixed(np.random.default_rng(4))
    box = Rule(lambda rows: rows[:, 0] + rows[:, 3] > 0.3)
    one, again, other = (make(box, x, columns, 2, seed=s) for s in (3, 3, 4))
    assert one.inner == again.inner
    assert one.inner != other.inner
    wrong = 1 - box.function(x)
    assert one.fidelity(box, x) > 0.9
    assert one.accuracy(x, wrong) == pytest.approx(1 - one.accuracy(x, 1 - wrong))
    assert one.accuracy(x, wrong) < 0.1
    assert one.predict_proba(x).sum(axis=1) == pytest.approx(np.ones(len(x)))


def test_a_tree_on_enriched_data_is_scikit_learns():
    from sklearn.tree import DecisionTreeClassifier

    x = every(7)
    box = Rule(lambda rows: np.where(rows[:, 0] > 0.5, 2, 2 * (rows[:, 1] > 0.5)), 3)  # class 1 is never said
    found = enriched_tree(box, x, bits(7), 3, seed=0, samples=50)
    assert found.kind == "enriched tree"
    assert found.predict_proba(x).tolist() == np.eye(3)[box.function(x)].tolist()
    assert (found.splits, found.depth) == (2, 2)
    assert found.queries == 128
    fitted = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x, np.random.default_rng(0).integers(0, 3, 128))
    copy = Surrogate.of(fitted, "copy", bits(7), 3)
    assert copy.predict_proba(x) == pytest.approx(fitted.predict_proba(x))
    assert (copy.depth, copy.size) == (fitted.get_depth(), fitted.tree_.node_count)
    assert enriched_tree(box, x, bits(7), 3, seed=0, max_depth=1).depth == 1
    assert enriched_tree(box, x, bits(7), 3, seed=0, max_leaves=2).splits == 1


def test_a_surrogate_is_a_release_that_recon_audits(tmp_path):
    x = every(6)
    rows = x[np.random.default_rng(1).integers(64, size=30)]
    truth = MofN(2, tuple(Literal(k, 0.5, k != 2) for k in (0, 2, 4)))
    y = truth.holds(rows).astype(int)
    found = trepan(Rule(truth.holds), rows, bits(6), 2, seed=0)
    assert found.splits == 1
    nodes = found.nodes(rows, y)
    assert np.sum([node.get("counts", [0, 0]) for node in nodes], axis=0).tolist() == np.bincount(y).tolist()
    domain = {"attributes": [{"name": n, "values": [0, 1]} for n in "abcdef"], "label": {"name": "y", "values": [0, 1]}}
    release = {"recon": 1, "domain": {**domain, "source": "declared"}, "models": [{"kind": "tree", "nodes": nodes}]}
    path = tmp_path / "surrogate.json"
    path.write_text(json.dumps(release))
    loaded = recon.load(str(path))
    assert (loaded.rows.low, loaded.rows.high) == (30, 30)
    ends = [walked(nodes, row, "abcdef") for row in x]
    bits_open = sum(sum(node["counts"]) * np.log2(ends.count(k)) for k, node in enumerate(nodes) if "counts" in node)
    assert recon.count(loaded).log2 == pytest.approx(bits_open)  # every row may be any of its leaf's


def test_text_shows_tests_and_classes():
    inner = [SurrogateNode((0.5, 0.5), MAJORITY, 1, 2), SurrogateNode((0.25, 0.75)), SurrogateNode((1.0, 0.0))]
    shown = Surrogate("drawn", bits(8), 2, inner).text(["no", "yes"])
    assert shown.splitlines() == [
        "if at least 3 of: a > 0.5, c > 0.5, d > 0.5, f > 0.5, g > 0.5",
        "  then: yes (0.750)",
        "  else: no (1.000)",
    ]


def test_guards(monkeypatch):
    x, box = every(5), Rule(MofN(3, tuple(Literal(k, 0.5, True) for k in range(5))).holds)
    with pytest.raises(ReleaseError, match="neither 'm-of-n' nor 'binary'"):
        trepan(box, x, bits(5), 2, seed=0, splits="ternary")
    with pytest.raises(ReleaseError, match="minimum 0"):
        trepan(box, x, bits(5), 2, seed=0, minimum=0)
    for make in (trepan, enriched_tree):
        with pytest.raises(ReleaseError, match="there are no rows"):
            make(box, x[:0], bits(5), 2, seed=0)
        with pytest.raises(ReleaseError, match=r"shape \(32, 5\), but there are 4 columns"):
            make(box, x, bits(4), 2, seed=0)
    found = trepan(box, x, bits(5), 2, seed=0)
    with pytest.raises(ReleaseError, match="for 3 labels and 5 columns"):
        found.nodes(x, np.zeros(3, dtype=int))
    monkeypatch.setattr(surrogate, "NODES", 10)
    with pytest.raises(Unsupported, match="over 10 nodes once its m-of-n tests are expanded"):
        found.nodes(x, np.zeros(32, dtype=int))
    with pytest.raises(Inconclusive, match="while TREPAN's tree was grown"):
        trepan(box, x, bits(5), 2, seed=0, limits=Limits(seconds=0.0))
