"""What knowing the learner adds: figures, verdicts and worlds beside every data set of tiny domains."""

import itertools
import json
import math
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest

import recon
from recon.experiments.running import load
from recon.learner_rule.chosen_model import learner_of
from recon.learner_rule.counting import learner_rule, rule_or_reason
from recon.learner_rule.facts import with_facts
from recon.learner_rule.figures import bits_text, rule_lines
from recon.learner_rule.verdicts import RowQuestions, RuleProfile, _chosen_tree_of, attribute, certify, sample
from solvers.foundation.errors import ContradictionError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from tests.learner_oracle import Settings, assigned_rows, by_fillings, fillings, node_of, possible_trees

SETTINGS = (
    Settings(),
    Settings(criterion="entropy"),
    Settings(max_depth=2),
    Settings(min_samples_leaf=2),
    Settings(max_depth=1),
    Settings(min_impurity_decrease=0.05),
)


def domain_of(columns):
    """Return the domain of independent bits x0, x1, ... with a label of two values."""
    every = list(itertools.product((0, 1), repeat=columns + 1))
    frame = pd.DataFrame(every, columns=[*(f"x{c}" for c in range(columns)), "y"])
    return recon.Domain.from_frame(frame, label="y", independent=True)


def fitted(seed, rows, columns, settings):
    """Return a fitted tree and its rows; the first of several draws that has both classes and is split."""
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(seed)
    while True:
        data = rng.integers(0, 2, (rows, columns + 1))
        if len(set(data[:, -1])) < 2:
            continue
        frame = pd.DataFrame(data, columns=[*(f"x{c}" for c in range(columns)), "y"])
        given = {name: value for name, value in vars(settings).items() if value is not None}
        model = DecisionTreeClassifier(random_state=seed, **given).fit(frame[frame.columns[:-1]], frame["y"])
        if model.tree_.node_count > 1:
            return model, frame


@cache
def case(seed, which, rows=6, columns=3):
    """Return a release of a tiny tree, and every world under its rule: (worlds, rows, columns), classes of the rows."""
    settings = SETTINGS[which]
    model, frame = fitted(seed, rows, columns, settings)
    tree = node_of(model, 2)
    labels = [k for _, k, _ in assigned_rows(tree, columns)]
    table = fillings(tree, columns)
    kept = np.array([
        tree in possible_trees([(tuple(bits), k) for bits, k in zip(world.tolist(), labels, strict=True)], 2, settings)
        for world in table
    ])  # fmt: skip
    return recon.encode(model, domain_of(columns)), table[kept], np.array(labels), len(table), frame


CASES = [(seed, which) for which in range(len(SETTINGS)) for seed in range(4)]
DECIDED = [(5, 0, 4, 2), (7, 2, 4, 2), (4, 0, 5, 3), (5, 1, 5, 3), (5, 5, 5, 3), (2, 3, 6, 3)]


def profiles(columns):
    """Return profiles of all lengths: every value or nothing per column, every class or none."""
    return itertools.product(*([(None, 0, 1)] * columns), (None, 0, 1))


def matching(worlds, labels, profile):
    """Return (worlds,) how many rows fit a profile."""
    fits = np.ones(worlds.shape[:2], dtype=bool)
    for c, value in enumerate(profile[:-1]):
        fits &= True if value is None else worlds[:, :, c] == value
    fits &= True if profile[-1] is None else labels == profile[-1]
    return fits.sum(axis=1)


@pytest.mark.sampled(2, 10)
@pytest.mark.parametrize(("seed", "which"), CASES)
def test_bits_are_those_of_all_data_sets(seed, which):
    release, worlds, _, every, _ = case(seed, which)
    found = learner_rule(release)
    true = math.log2(every / len(worlds))
    assert found.exact
    assert found.extra_bits[0] - 1e-9 <= true <= found.extra_bits[1] + 1e-9
    assert found.extra_bits[1] - found.extra_bits[0] < 1e-6
    assert found.bits == (math.log2(every),) * 2
    assert found.bits[0] == pytest.approx(recon.measure(release, "assigned").entropy_bits)
    assert found.ordered_bits[0] <= recon.measure(release, "ordered").entropy_bits <= found.ordered_bits[1] + 1e-9
    assert found.counts_bits[0] == pytest.approx(recon.measure(release, "assigned").uninformed_bits - found.bits[0])
    assert sum(part.bits[0] for part in found.by_node) == pytest.approx(true, abs=1e-6)
    assert sum(part.bits[0] for part in found.by_column) == pytest.approx(true, abs=1e-6)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("seed", "which"), CASES[::3])
def test_figures_beside_are_those_of_all_data_sets(seed, which):
    """Without what leaves say, and where every seed must choose the tree."""
    settings = SETTINGS[which]
    release, _, _, every, _ = case(seed, which)
    model, _ = fitted(seed, 6, 3, settings)
    tree, found = node_of(model, 2), learner_rule(release)
    plain, strict = by_fillings(tree, 3, settings, leaf_rule=False), by_fillings(tree, 3, settings)
    assert found.bits_without_leaves[0] == pytest.approx(math.log2(every / plain.could), abs=1e-6)
    if strict.strict:
        assert found.strict_bits[0] == pytest.approx(math.log2(every / strict.strict), abs=1e-6)
    else:
        assert found.strict == (-math.inf, -math.inf)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("seed", "which"), CASES)
def test_verdicts_are_those_of_all_data_sets(seed, which):
    """Every profile, whole or partial: nothing certain or impossible that is not; single cells are sharp."""
    release, worlds, labels, _, _ = case(seed, which)
    rows = RowQuestions(_chosen_tree_of(release, learner_of(release, "auto")), Limits())
    decided = 0
    for profile in profiles(3):
        wanted = RuleProfile(
            tuple((c, v) for c, v in enumerate(profile[:-1]) if v is not None),
            tuple(profile[-1] in (None, k) for k in (0, 1)),
        )
        true, found = matching(worlds, labels, profile), rows.row(wanted)
        assert (found.high > 0) == (true.max() > 0)
        assert found.certain is None or found.certain == (true.min() > 0)
        decided += found.certain is not None
        assert found.low <= true.min() <= true.max() <= found.high
        if found.sharp:
            assert (found.low, found.high) == (true.min(), true.max())
        assert found.some[0] - 1e-9 <= (true > 0).mean() <= found.some[1] + 1e-9
        assert found.expected[0] - 1e-9 <= true.mean() <= found.expected[1] + 1e-9
        assert found.expected[1] - found.expected[0] < 1e-6
        if len(rows.leaves(wanted)) == 1:
            assert found.some[1] - found.some[0] < 1e-6
    assert decided > 75  # of 81


def test_many_states_are_not_listed_and_verdicts_are_the_same(monkeypatch):
    """As of thousands of rows: verdicts rest on what surely occurs, least and most rows are bounds."""
    release, worlds, labels, _, frame = case(0, 1)
    asked = whole_frame(frame, 3)
    listed = certify(release, asked)
    monkeypatch.setattr("recon.learner_rule.verdicts.LISTED", 0)
    found = certify(release, asked)
    for name in ("verdict", "by_rule", "probability"):
        assert found[name].tolist() == listed[name].tolist()
    for i, profile in enumerate(asked.to_numpy().tolist()):
        true = matching(worlds, labels, profile)
        assert found["min_count"][i] <= true.min() <= true.max() <= found["max_count"][i]


def whole_frame(frame, columns):
    return pd.DataFrame(list(itertools.product((0, 1), repeat=columns + 1)), columns=frame.columns)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("one", [*CASES[::4], *DECIDED])
def test_certify_says_who_is_decided_by_the_rule_alone(one):
    release, worlds, labels, _, frame = case(*one)
    asked = whole_frame(frame, worlds.shape[2])
    found = certify(release, asked)
    plain = recon.certify(release, asked, "assigned")
    assert found["verdict_without"].tolist() == plain["verdict"].tolist()
    for i, profile in enumerate(asked.to_numpy().tolist()):
        true = matching(worlds, labels, profile)
        verdict = "impossible" if not true.max() else "certain" if true.min() else "possible"
        assert found["verdict"][i] == verdict
        assert found["by_rule"][i] == (verdict != plain["verdict"][i])
        assert found["probability"][i] == pytest.approx((true > 0).mean(), abs=1e-6)
        assert found["expected_count"][i] == pytest.approx(true.mean(), abs=1e-6)
        assert (found["certificate"][i] is None) == (verdict != plain["verdict"][i] or verdict == "possible")
    assert bool(found["by_rule"].any()) == any("no certificate" in note for note in found.attrs["notes"])


def test_some_verdicts_rest_on_the_rule_alone():
    """The cases above are not all trivial: people become certain, and others impossible."""
    found = pd.concat([certify(case(*one)[0], whole_frame(case(*one)[4], one[3])) for one in DECIDED])
    assert set(found["verdict"][found["by_rule"]]) == {"certain", "impossible"}
    assert found["by_rule"].sum() > 10


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("seed", "which"), CASES[::4])
@pytest.mark.parametrize("sensitive", ["x0", "y"])
def test_attributes_are_inferred_as_over_all_data_sets(seed, which, sensitive):
    release, worlds, labels, _, frame = case(seed, which)
    asked = whole_frame(frame, 3).drop(columns=sensitive).drop_duplicates()
    found = attribute(release, asked, sensitive)
    for line in found.to_dict("records"):
        profile = dict(asked.iloc[line["profile"]])
        counts = [matching(worlds, labels, [{**profile, sensitive: v}[name] for name in frame.columns]) for v in (0, 1)]
        true, other = counts[line["value"]], counts[1 - line["value"]]
        total = true.mean() + other.mean()
        assert line["impossible"] == (true.max() == 0)
        assert line["certain"] == (true.max() > 0 and other.max() == 0)
        if total:
            assert line["probability_low"] - 1e-9 <= true.mean() / total <= line["probability_high"] + 1e-9


@pytest.mark.slow
def test_sampled_worlds_are_uniform_among_those_under_the_rule():
    release, worlds, _, _, frame = case(1, 1, rows=5, columns=2)
    keys = {}
    for world, labels in ((w, case(1, 1, rows=5, columns=2)[2]) for w in worlds):
        rows = tuple(sorted(map(tuple, np.column_stack([world, labels]).tolist())))
        keys[rows] = keys.get(rows, 0) + 1
    draws = 400
    seen = dict.fromkeys(keys, 0)
    for world in sample(release, draws, seed=7):
        assert "exactly uniform" in world.note
        seen[tuple(sorted(map(tuple, world.to_frame()[list(frame.columns)].to_numpy().tolist())))] += 1
    expected = {key: draws * times / len(worlds) for key, times in keys.items()}
    chi = sum((seen[key] - e) ** 2 / e for key, e in expected.items())
    assert chi < len(keys) + 6 * math.sqrt(2 * len(keys)) + 10  # the seed is fixed: nothing is left to chance


def test_another_seed_draws_other_worlds_and_multisets_are_refused():
    release = case(1, 1, rows=5, columns=2)[0]
    one, same, other = ([w.to_frame() for w in sample(release, 3, seed)] for seed in (1, 1, 2))
    assert all(a.equals(b) for a, b in zip(one, same, strict=True))
    assert not all(a.equals(b) for a, b in zip(one, other, strict=True))
    with pytest.raises(Unsupported, match="multiset"):
        sample(release, 1, convention="multiset")


@cache
def numbered(seed=0, rows=12):
    """Return a release of a tree over a number of three values and a bit."""
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(0, 3, rows), "works": rng.integers(0, 2, rows)})
    frame["y"] = (frame["age"] + frame["works"] > 1).astype(int)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame[["age", "works"]], frame["y"])
    return recon.encode(model, recon.Domain.from_frame(frame, label="y")), frame


def test_what_is_no_product_of_columns_is_estimated_and_says_so():
    found = learner_rule(numbered()[0])
    assert found.estimated
    assert not found.exact
    assert found.confidence == 0.95
    assert found.extra_bits[0] <= found.estimate <= found.extra_bits[1]
    assert found.bits[0] == pytest.approx(recon.measure(numbered()[0], "assigned").entropy_bits)
    shown = rule_lines(found)
    assert "estimated: " in shown[0]
    assert "at confidence 0.95" in shown[0]
    assert any("age has not two values" in line for line in shown)
    assert found.to_json()["confidence"] == 0.95
    assert learner_rule(numbered()[0], "greedy").share == found.share  # drawn with the same seed


def test_facts_of_thresholds_are_a_lower_bound_of_their_own():
    found = learner_rule(numbered()[0], "midpoints")
    assert (found.rule, found.exact, found.convention) == ("midpoints", False, "ordered")
    assert found.facts
    assert sum(part.bits[0] for part in found.by_column) == pytest.approx(found.extra_bits[0], abs=1e-9)
    whole = recon.count(with_facts(numbered()[0], found.learner), "ordered")
    plain = recon.count(numbered()[0], "ordered")
    assert whole.bounds[1] >= plain.bounds[0] - found.extra_bits[1] - 1e-9
    assert "by facts of its thresholds and leaves alone" in rule_lines(found)[0]
    asked = numbered()[1].drop_duplicates()
    said = certify(numbered()[0], asked, "midpoints")
    assert said["verdict_without"].tolist() == recon.certify(numbered()[0], asked, "ordered")["verdict"].tolist()
    assert [w.rows for w in sample(numbered()[0], 2, learner="midpoints")] == [12, 12]


def test_shown_in_a_line_a_table_and_a_plot():
    pytest.importorskip("matplotlib").use("Agg")
    found = learner_rule(case(1, 0)[0])
    assert repr(found).startswith("<LearnerRule: greedy: ")
    frame = found.to_frame()
    assert list(frame.columns) == ["kind", "what", "rows", "bits_low", "bits_high", "depth"]
    assert len(frame) == len(found.by_node) + len(found.by_column)
    root = next(part for part in found.by_node if part.depth == 0)
    assert next(bar.get_height() for bar in found.plot().patches) == pytest.approx(root.bits[0], abs=1e-9)
    assert len(found.plot(by="column").patches) == 3
    assert "inner nodes only" in found._repr_html_()


def test_bits_in_words_are_rounded_outwards():
    assert bits_text((1.23451, 1.23452)) == "1.235 bits"
    assert bits_text((1.2344, 1.2356)) == "1.234 to 1.236 bits"
    assert bits_text((0.0, 0.0011)) == "at most 0.002 bits"
    assert bits_text((5000.12, 5000.18)) == "5,000.1 to 5,000.2 bits"
    assert bits_text((3.0, math.inf)) == "at least 3.000 bits"
    assert bits_text((math.inf, math.inf)) == "all bits: no world is left"


def test_nothing_is_said_of_learners_that_are_not_known():
    from dataclasses import replace

    release = case(1, 0)[0]
    nameless = replace(release, models=(replace(release.models[0], origin=None),))
    with pytest.raises(Unsupported, match="does not say how its model was learned"):
        learner_rule(nameless)
    with pytest.raises(Unsupported, match="is not used"):
        learner_rule(release, "none")
    found = learner_rule(nameless, "greedy:criterion=gini")
    assert found.extra_bits == learner_rule(release).extra_bits
    assert any("as given: --learner" in line for line in found.assumptions)
    with pytest.raises(Unsupported, match="not 2"):
        _chosen_tree_of(replace(release, models=release.models * 2), found.learner)


def test_a_list_has_figures_by_rule():
    from recon import GreedyRuleListClassifier

    _, frame = fitted(3, 30, 4, Settings())
    model = GreedyRuleListClassifier(min_support=0.05).fit(frame[frame.columns[:-1]], frame["y"])
    release = recon.encode(model, domain_of(4))
    found = learner_rule(release)
    assert found.learner.name == "greedy rule list"
    assert found.by_node[0].kind in {"rule", "default rule"}
    assert sum(part.bits[0] for part in found.by_column) == pytest.approx(found.extra_bits[0], abs=1e-6)
    assert found.bits[0] == pytest.approx(recon.measure(release, "assigned").entropy_bits)
    with pytest.raises(Unsupported, match="not for rule lists"):
        certify(release, frame)


@pytest.fixture
def list_release(tmp_path):
    """Return a function from rules to a release of a list over two bits: nobody says how its learner breaks ties."""
    return partial(_list_release, tmp_path / "list.json")


def _list_release(path, *rules, least):
    parts = [{"if": {name: value}, "counts": counts} for name, value, counts in rules[:-1]]
    parts.append({"if": {}, "counts": rules[-1]})
    learner = {"name": "greedy rule list", "criterion": "gini", "width": 1, "min_support": least, "columns": 2}
    attributes = [{"name": name, "values": [0, 1]} for name in "ab"]
    domain = {"attributes": attributes, "label": {"name": "y", "values": [0, 1]}, "source": "declared"}
    model = {"kind": "rule_list", "rules": parts, "learner": learner}
    path.write_text(json.dumps({"recon": 1, "domain": domain, "models": [model]}), encoding="utf-8")
    return recon.load(str(path))


def test_where_nobody_says_how_ties_are_broken_every_rule_is_tried(list_release):
    """The opposite test of a rule has the same score: one rule of ties takes it, the other does not."""
    purer = learner_rule(list_release(("a", 1, [0, 6]), [4, 1], least=1))  # 6 pure rows before 5 that are mixed
    assert purer.learner.ties == "authors"
    assert any("only ties=authors" in note for note in purer.notes)
    fewer = learner_rule(list_release(("a", 1, [4, 1]), [0, 6], least=1))
    assert fewer.learner.ties == "fewest"
    both = learner_rule(list_release(("a", 1, [0, 4]), [5, 1], least=1))
    assert any("both rules" in note for note in both.notes)
    assert not both.exact
    alone = [
        learner_rule(list_release(("a", 1, [0, 4]), [5, 1], least=1), f"greedy:ties={ties}")
        for ties in ("authors", "fewest")
    ]
    assert both.share[0] == max(one.share[0] for one in alone)
    assert both.share[1] == pytest.approx(min(0.0, math.log2(sum(2 ** one.share[1] for one in alone))))


def test_a_list_that_no_known_rule_chooses_is_no_contradiction(list_release):
    release = list_release(("a", 1, [3, 3]), [3, 3], least=1)  # it lowers no impurity
    with pytest.raises(Inconclusive, match="the rule by which the list was chosen is not known"):
        learner_rule(release, "greedy")
    assert "is not known" in rule_or_reason(release, "auto", recon.Limits())
    with pytest.raises(ContradictionError, match="lowers no impurity"):
        learner_rule(release, "greedy:ties=authors")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("depth", "bits", "extra", "strict"), [(3, 173_136, 0.048, 0.048), (5, 158_708, 29.242, 29.403)]
)
def test_published_tree_of_compas(depth, bits, extra, strict, data):
    from sklearn.tree import DecisionTreeClassifier

    data("compas27.csv.gz")
    frame, _ = load("compas27")
    label = frame.columns[-1]
    model = DecisionTreeClassifier(max_depth=depth, random_state=1).fit(frame[frame.columns[:-1]], frame[label])
    release = recon.encode(model, recon.Domain.from_frame(frame, label=label, independent=True))
    found = learner_rule(release, limits=Limits(seconds=600))
    assert found.bits == (bits, bits)
    assert found.extra_bits == pytest.approx((extra, extra), abs=5e-4)
    assert found.strict_bits == pytest.approx((strict, strict), abs=5e-4)
    assert found.extra_bits[1] - found.extra_bits[0] < 1e-5
    assert found.bits_without_leaves == found.extra_bits
    shown = "\n".join(rule_lines(found))
    assert f"what knowing the learner adds: {extra:.3f} bits" in shown
    assert json.dumps(found.to_json())
