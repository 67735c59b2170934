"""DP-GreedyRL: formulas against brute force, and the privacy of every "guaranteed" step by exact enumeration."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from extras import extra

import recon
from encoders.models.ledger import PrivacyLedger, PrivacyStep
from recon.learners.private import dp_greedy_rule_list as dp
from recon.learners.private.dp_greedy_rule_list import (
    DPGreedyRuleListClassifier,
    Mechanism,
    RuleCandidates,
    _gini,
    _impurity_step,
    _margin_of_confidence,
    _margin_of_delta,
    _smooth_bound,
)
from recon.learners.rule_lists.greedy_rule_list import checked_rules, conjunctions, rule_masks
from recon.learners.rule_lists.vulnerability import _vulnerability, vulnerability_of

MECHANISMS = get_args(Mechanism)
LABELS = [0, 1]


def g(x):
    return 1 - (x / (x + 1)) ** 2 - (1 / (x + 1)) ** 2


def h(x):
    return g(max(1, x - 1))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("two_sided", "step"), [(False, g), (True, h)])
def test_smooth_sensitivity_is_the_maximum_over_every_distance(two_sided, step):
    """Also for n below the support (the value of the support) and where the paper's unclamped form is too high."""
    sizes = [*range(1, 41), 57, 100, 300]
    for n, least, beta in product([0, *sizes], sizes, [1e-4, 0.003, 0.0144, 0.05, 0.1, 0.15, 0.17, 0.1716, 0.3, 2, 6]):
        plain = max(math.exp(-beta * k) * step(max(least, n - k)) for k in range(max(0, n - least) + 1))
        assert _smooth_bound(n, least, beta, two_sided) == pytest.approx(plain, abs=1e-12)
    assert _smooth_bound(1, 1, 0.15) == 0.5  # the unclamped theorem says .5164
    with pytest.raises(recon.ReleaseError, match="support of at least 1"):
        _smooth_bound(5, 0, 0.1)


def test_margins_of_the_support_test():
    assert _margin_of_confidence(0.98, 0.1) == 34  # the paper prints 7
    assert [_margin_of_confidence(0.99, e / 14) for e in (10, 1, 0.1)] == [7, 56, 549]
    for delta, epsilon in product([0.3, 1e-3, 1e-9], [2.0, 0.3, 0.01]):
        margin = _margin_of_delta(delta, epsilon)
        q = math.exp(-epsilon)
        assert q ** (margin + 1) / (1 + q) <= delta  # a node one row short passes with noise of margin + 1
        assert math.exp(-epsilon * margin) / 2 <= delta  # and with continuous Laplace noise
        assert margin == 0 or math.exp(-epsilon * (margin - 1)) / 2 > delta


def test_vulnerability_of_the_hand_case():
    train, test = [[2, 4], [4, 3], [6, 1]], [[2, 2], [1, 1], [2, 2]]
    assert _vulnerability(train, test) == pytest.approx(901 / 1440, abs=1e-15)
    assert _vulnerability(train, test, "authors") == pytest.approx(677 / 1200, abs=1e-15)
    assert _vulnerability(train, train) == 0.5
    assert _vulnerability([[3, 0], [0, 2]], [[0, 1], [4, 0]]) == 1
    assert _vulnerability([[3, 0]], [[3, 3]]) == pytest.approx(0.5 + 0.5 * 3 / 9)  # a class no member has
    for bad in ([[1, 1]], [[0, 0], [0, 0], [0, 0]], [[-1, 2], [3, 3], [1, 1]]):
        with pytest.raises(recon.ReleaseError, match="vulnerability compares"):
            _vulnerability(train, bad)


def test_vulnerability_of_a_fitted_list_counts_the_rows_under_its_rules():
    x = pd.DataFrame({"a": [0, 1, 1, 0, 1, 0], "b": [0, 0, 1, 1, 1, 0]})
    y = np.array([0, 1, 1, 0, 1, 1])
    model = DPGreedyRuleListClassifier(epsilon=5, random_state=0, max_length=3, classes=LABELS).fit(x, y)
    counts = np.zeros((2, 3, 2))
    for i, (row, label) in enumerate(zip(x.to_dict("records"), y, strict=True)):
        rule = next(k for k, (lits, _) in enumerate(model.rules_) if all(row[c] == v for c, v in lits))
        counts[i // 3, rule, label] += 1
    found = vulnerability_of(model, (x[:3], y[:3]), (x[3:], y[3:]))
    assert found == pytest.approx(_vulnerability(counts[0], counts[1]), abs=1e-15)
    with pytest.raises(recon.ReleaseError, match="not fitted with"):
        vulnerability_of(model, (x, y + 1), (x, y))


def cells_of(size, cells):
    """All ways to put `size` rows into cells."""
    for chosen in combinations_with_replacement(range(cells), size):
        yield np.bincount(chosen, minlength=cells)


def g_of(table):
    return float(_gini(np.array([table[: len(table) // 2]]), np.array([table[len(table) // 2 :]]))[0])


@pytest.mark.slow
def test_one_row_moves_the_impurity_by_g_when_added_and_by_h_when_removed():
    """Brute force over all tables of (inside, outside) x two classes: the paper's g(n) does not cover removals."""
    for n in range(1, 11):
        up = down = 0.0
        for table in cells_of(n, 4):
            before = g_of(table)
            assert 0 <= before <= 0.5
            up = max(up, *(abs(g_of(table + one) - before) for one in np.eye(4, dtype=int)))
            fewer = [abs(g_of(table - one) - before) for one, c in zip(np.eye(4, dtype=int), table, strict=True) if c]
            down = max(down, *fewer)
        assert up <= _impurity_step(n) + 1e-12
        assert max(up, down) <= h(n) + 1e-12
        if n >= 2:
            assert down == pytest.approx(g(n - 1), abs=1e-12)
            assert down > g(n) or n == 2


@pytest.mark.parametrize(("classes", "most"), [(2, 9), (3, 5)])
def test_the_impurity_times_rows_only_grows_and_by_less_than_two(classes, most):
    reached = Fraction(0)
    for n in range(most):
        for table in cells_of(n, 2 * classes):
            (kept,) = RuleCandidates(table[None, :classes], table[:classes] + table[classes:]).scores()
            assert float(n - kept) == pytest.approx(n * g_of(table), abs=1e-12)
            for cell in range(2 * classes):
                more = table.copy()
                more[cell] += 1
                (after,) = RuleCandidates(more[None, :classes], more[:classes] + more[classes:]).scores()
                step = (n + 1 - after) - (n - kept)
                assert 0 <= step < 2
                reached = max(reached, step)
    assert reached > (1.6 if classes == 2 else 1.3)  # 2 is not far from the truth


class Recorder:
    """In place of Randomness: says what was asked of the exponential mechanism."""

    def exact_choice(self, scores, rate):
        self.weights = [rate * s for s in scores]
        return 0

    def law(self):
        top = max(self.weights)
        mass = [math.exp(w - top) for w in self.weights]
        return [m / sum(mass) for m in mass]


def plan_of(mechanism, neighbours, **more):
    learner = DPGreedyRuleListClassifier(mechanism, epsilon=1.25, neighbours=neighbours, repaired=True, **more)
    return learner._plan(5)


RULES = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]])  # three rules over the four rows two columns allow


@pytest.mark.sampled(1, 5)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("mechanism", ["exponential", "pure"])
@pytest.mark.parametrize(("rules", "most"), [(RULES, 4), (np.eye(31, 2, dtype=int), 12)])
def test_every_choice_by_the_exponential_mechanism_keeps_its_epsilon(mechanism, neighbours, rules, most):
    """Exact probabilities over all datasets of few rows (one or two columns, a label) and all their neighbours."""
    plan = plan_of(mechanism, neighbours)
    laws = {}
    for n in range(most + 1):
        for table in cells_of(n, 2 * rules.shape[1]):
            weight = table.reshape(-1, 2)
            recorder = Recorder()
            dp.CHOOSERS[mechanism](RuleCandidates(rules @ weight, weight.sum(axis=0)), plan, recorder)
            laws[tuple(table.tolist())] = recorder.law()
    worst = 0.0
    for table, law in laws.items():
        for other in neighbours_of(table, neighbours):
            if other in laws:
                worst = max(worst, *(abs(math.log(p / q)) for p, q in zip(law, laws[other], strict=True)))
    assert 0.3 * plan.select < worst <= plan.select + 1e-12


def neighbours_of(table, neighbours):
    """Tables with a row more (the other direction is met from there), or with a row replaced."""
    for j in range(len(table)):
        more = [c + (k == j) for k, c in enumerate(table)]
        if neighbours == "add_remove":
            yield tuple(more)
        else:
            yield from (tuple(c - (k == i) for k, c in enumerate(more)) for i in range(len(table)) if more[i])


class Script:
    """In place of Randomness: follows given outcomes and keeps the probability of each and the true counts."""

    def __init__(self, outcomes):
        self.outcomes, self.log, self.scales = list(outcomes), 0.0, []

    def exact_choice(self, scores, rate):
        top = max(scores)
        self.log += float(rate * (scores[self.outcomes[0]] - top))
        self.log -= math.log(sum(math.exp(rate * (s - top)) for s in scores))
        return self.outcomes.pop(0)

    def discrete_laplace(self, scale):
        self.scales.append(scale)
        if not self.outcomes:
            return 0  # a count that is published: its law is dealt with outside
        drawn, q = self.outcomes.pop(0), math.exp(-1 / scale)
        beyond = abs(drawn) == BEYOND  # all noise that far has the same effect: the tail's whole mass
        self.log += math.log(q ** abs(drawn) / (1 + q) * (1 if beyond else 1 - q))
        return drawn


BEYOND = 5  # more than rows + support


def outcomes_of(table, plan, rules):
    """Return {(rules chosen): (probability, true counts)} of the whole learner, exactly."""
    weight = np.array(table).reshape(4, 2).astype(float)
    met = RULES.astype(np.float32)
    steps = [range(-BEYOND, BEYOND + 1)] if plan.test is not None else []
    found = {}

    def follow(done, node):
        if node == plan.nodes:
            finish(done)
            return
        for noise in product(*steps):
            if noise and sum(remaining(done)) + noise[0] < plan.least + plan.margin:
                finish([*done, *noise])
            else:
                for at in range(len(rules) - node):
                    follow([*done, *noise, at], node + 1)

    def remaining(done):
        left, open_rules = weight.copy(), list(range(len(rules)))
        for at in done[1::2]:
            left[met[open_rules.pop(at)] > 0] = 0
        return left.sum(axis=1).tolist()

    def finish(outcomes):
        script = Script(outcomes)
        model = dp._grow(rules, met, weight, plan, script)
        assert not script.outcomes
        key, counts = tuple(r for r, _ in model), [c for _, cs in model for c in cs]
        mass, _ = found.get(key, (0.0, None))
        found[key] = mass + math.exp(script.log), counts
        assert set(script.scales[-len(counts) :]) == {(1 if plan.neighbours == "add_remove" else 2) / plan.count}

    follow([], 0)
    assert sum(p for p, _ in found.values()) == pytest.approx(1, abs=1e-12)
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(("support", "most"), [(0, 3), (2, 2)])
def test_the_whole_pure_learner_keeps_its_epsilon(support, most, neighbours):
    """Exact probability of every published list over all tiny datasets: choices, support tests and counts together.

    The greatest ratio over the published counts is exp(|difference of the true counts| / scale), by the law's form.
    """
    plan = plan_of("pure", neighbours, min_support=support, max_length=3)
    rules = [(("a", 1),), (("b", 1),), (("a", 0), ("b", 0))]
    laws = {tuple(t.tolist()): outcomes_of(t.tolist(), plan, rules) for n in range(most + 1) for t in cells_of(n, 8)}
    scale = (1 if neighbours == "add_remove" else 2) / plan.count
    worst = 0.0
    for table, law in laws.items():
        for near in neighbours_of(table, neighbours):
            if near not in laws:
                continue
            assert law.keys() == laws[near].keys()
            for model, (p, counts) in law.items():
                q, others = laws[near][model]
                apart = sum(abs(a - b) for a, b in zip(counts, others, strict=True)) / float(scale)
                worst = max(worst, abs(math.log(p / q)) + apart)
    assert 0.3 * 1.25 < worst <= 1.25 + 1e-9
    assert plan.count + plan.nodes * (plan.select + (plan.test or 0)) == Fraction(5, 4)


def test_the_noisy_majority_keeps_the_epsilon_of_the_counts():
    """P(the first count is the higher or equal one) under the published law, over all counts to 4 and neighbours."""
    scale = Fraction(7, 5)
    q, far = math.exp(-1 / scale), 60
    pmf = np.array([(1 - q) / (1 + q) * q ** abs(k) for k in range(-far, far + 1)])
    at_least = np.cumsum(pmf[::-1])[::-1]

    def first(a, b):
        return sum(pmf[i] * at_least[max(0, b - a + i)] for i in range(len(pmf)) if b - a + i < len(pmf))

    worst = 0.0
    for a, b in product(range(5), repeat=2):
        for c, d in ((a + 1, b), (a, b + 1)):
            for p, r in ((first(a, b), first(c, d)), (1 - first(a, b), 1 - first(c, d))):
                worst = max(worst, abs(math.log(p / r)))
    assert 0.5 / scale < worst <= 1 / scale + 1e-9


@pytest.mark.parametrize(("repaired", "neighbours"), [(True, "add_remove"), (False, "add_remove"), (True, "replace")])
def test_noisy_counts_draw_noise_for_the_sensitivity_of_all_cells(repaired, neighbours):
    """One row changes as many cells as there are candidates (twice as many when replaced): the scale covers that."""
    plan = DPGreedyRuleListClassifier("noisy_counts", epsilon=2, neighbours=neighbours, repaired=repaired)._plan(9)
    moved = 0
    for near in neighbours_of((1,) * 8, neighbours):
        before, after = np.ones((4, 2), dtype=int), np.array(near).reshape(4, 2)
        cells = [np.concatenate([RULES @ w, w.sum(axis=0) - RULES @ w], axis=1) for w in (before, after)]
        moved = max(moved, int(np.abs(cells[0] - cells[1]).sum()))
    script = Script([])
    dp._choose_by_counts(RuleCandidates(RULES @ before, before.sum(axis=0)), plan, script)
    assert len(script.scales) == 12
    assert all(moved / scale <= plan.select for scale in script.scales)
    assert repaired is (moved / script.scales[0] == plan.select)


def frame_of(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.integers(0, 2, (n, 4)), columns=list("abcd"))
    y = np.where(rng.random(n) < 0.9, x["a"] & x["b"], 1 - (x["a"] & x["b"]))
    return x, y


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("repaired", [False, True])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_seeds_repeat_and_budgets_hold(mechanism, repaired, neighbours):
    x, y = frame_of()
    learner = DPGreedyRuleListClassifier(
        mechanism, epsilon=0.7, min_support=0.05, repaired=repaired, neighbours=neighbours, random_state=3
    )
    first, again = learner.fit(x, y).rules_, learner.fit(x, y).rules_
    assert first == again
    assert learner.set_params(random_state=4).fit(x, y).rules_ != first
    assert learner.set_params(random_state=None).fit(x, y).rules_ != first
    ledger = learner.ledger_
    assert ledger.epsilon <= 0.7 + 1e-12
    assert ledger.delta <= 1 / 400**2 + 1e-18
    assert ledger.standing == "none"  # mined on the rows
    assert any(e.standing == "none" and "mined" in e.mechanism for e in ledger.entries)
    if repaired or mechanism == "pure":
        assert ledger.epsilon == pytest.approx(0.7, abs=1e-12)
    assert len({rule for rule, _ in first}) == len(first) <= 5
    assert all(isinstance(c, int) for _, counts in first for c in counts)
    noise = learner.noise_
    assert noise.law.name == "discrete_laplace"
    assert noise.sensitivity == (1 if neighbours == "add_remove" else 2)
    assert noise.law.scale == noise.sensitivity / noise.epsilon
    assert float(noise.epsilon) == ledger.entries[-1].epsilon


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_standings_with_public_rules_classes_and_support(mechanism):
    x, y = frame_of()
    learner = DPGreedyRuleListClassifier(
        mechanism, epsilon=2, min_support=20, rules=conjunctions("abcd"), classes=LABELS, random_state=0,
    )  # fmt: skip
    if learner._needs_delta():
        learner.set_params(delta=1e-6)
    ledger = learner.fit(x, y).ledger_
    proved = {"pure", "exponential", "noisy_counts"}
    assert ledger.standing == ("guaranteed" if mechanism in proved else "claimed")
    assert {e.standing for e in ledger.entries if not e.step.startswith("choice")} == {"guaranteed"}
    assert ledger.delta == pytest.approx(1e-6 if learner._needs_delta() else 0)
    assert learner.candidates_ == len(conjunctions("abcd")) == 8 + 24
    assert learner.set_params(min_support=0.05).fit(x, y).ledger_.standing == "claimed"  # n is not public
    if mechanism in proved:
        assert learner.set_params(neighbours="replace").fit(x, y).ledger_.standing == "guaranteed"
    assert learner.set_params(classes=None, neighbours="replace").fit(x, y).ledger_.standing == "claimed"


def test_the_published_counts_are_true_counts_and_noise_of_the_stated_law():
    x, y = frame_of()
    drawn = []
    for seed in range(60):
        model = DPGreedyRuleListClassifier(epsilon=1, max_length=2, classes=LABELS, random_state=seed).fit(x, y)
        index = model.apply(x)
        drawn += [
            c - int(((index == k) & (y == v)).sum()) for k, (_, cs) in enumerate(model.rules_) for v, c in enumerate(cs)
        ]
    q = math.exp(-1 / model.noise_.law.scale)
    variance = 2 * q / (1 - q) ** 2
    assert abs(np.mean(drawn)) < 5 * math.sqrt(variance / len(drawn))
    assert np.var(drawn) == pytest.approx(variance, rel=5 * math.sqrt(5 / len(drawn)))
    released = model.to_model()
    assert released.noise == model.noise_
    assert [r.support.counts for r in released.rules] == [tuple(c) for _, c in model.rules_]
    with pytest.raises(recon.ReleaseError, match="no noisy count of the label 2"):
        model.to_model(label_values=[0, 1, 2])


def test_candidates_are_all_conjunctions_and_mined_by_their_support():
    x, y = frame_of(60)
    bits = x.to_numpy() == 1
    rules = conjunctions(list("abcd"), 3)
    assert len(rules) == 8 + 24 + 32 == len(set(rules))
    assert conjunctions("abcd", 1, negations=False) == [((n, 1),) for n in "abcd"]
    masks = rule_masks(rules, list("abcd"), bits)
    held = [[all(row["abcd".index(n)] == v for n, v in rule) for row in bits] for rule in rules]
    assert masks.tolist() == held
    kept = [rule for rule, row in zip(rules, held, strict=True) if 9 <= sum(row) <= 51]
    for support in (0.15, 9):
        model = DPGreedyRuleListClassifier(epsilon=100, width=3, min_support=support, random_state=0).fit(x, y)
        assert 0 < model.candidates_ == len(kept) < len(rules)
        assert {rule for rule, _ in model.rules_[:-1]} <= set(kept)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([()], "rule 1 must have at least one literal"),
        ([(("a", 1),), (("a", 1), ("a", 0))], "rule 2 must have"),
        ([(("e", 1),)], "column 'e'"),
        ([(("a", 2),)], "0 or 1"),
        ([3], "rule 1 must be a sequence"),
        ([], "no rule"),
    ],
)
def test_rules_without_sense_are_refused(rules, said):
    with pytest.raises(recon.ReleaseError, match=said):
        checked_rules(rules, list("abcd"))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"epsilon": None}, "give epsilon"),
        ({"epsilon": 0}, "epsilon must be a positive number, not 0"),
        ({"epsilon": -1.5}, "epsilon must be"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"epsilon": float("inf")}, "epsilon must be"),
        ({"epsilon": "1"}, "epsilon must be"),
        ({"mechanism": "laplace"}, "mechanism must be one of"),
        ({"neighbours": "both"}, "neighbours must be one of"),
        ({"delta": 1e-5}, "'pure' spends no delta"),
        ({"mechanism": "smooth_cauchy", "delta": 1e-5}, "spends no delta"),
        ({"mechanism": "smooth_laplace", "delta": 1.0}, "delta must be below 1"),
        ({"mechanism": "smooth_laplace", "delta": -0.1}, "delta must be a positive"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 0.2}, "confidence"),
        ({"min_support": -1}, "min_support"),
        ({"min_support": True}, "min_support"),
        ({"max_length": None}, "max_length"),
        ({"width": 0}, "width"),
        ({"random_state": 0.5}, "random_state"),
        ({"classes": [0, 2]}, "the label 1 of the rows is not among"),
        ({"mechanism": "exponential", "classes": [0, 1, 2]}, "use mechanism 'pure'"),
    ],
)
def test_parameters_without_sense_are_refused(parameters, said):
    x = pd.DataFrame({"a": [0, 1, 1], "b": [0, 0, 1]})
    with pytest.raises(recon.ReleaseError, match=said):
        DPGreedyRuleListClassifier(**{"epsilon": 1, **parameters}).fit(x, [0, 1, 1])


def test_tables_without_rows_and_lists_of_one_rule():
    empty = pd.DataFrame({"a": [], "b": []})
    with pytest.raises(recon.ReleaseError, match="some of both"):
        DPGreedyRuleListClassifier(epsilon=1).fit(empty, [])
    model = DPGreedyRuleListClassifier(epsilon=1, classes=LABELS, random_state=0).fit(empty, [])
    assert len(model.rules_) == 5  # that nobody was there is not given away
    with pytest.raises(recon.ReleaseError, match="give 'delta'"):
        DPGreedyRuleListClassifier("smooth_laplace", epsilon=1, classes=LABELS).fit(empty, [])
    x, y = frame_of(30)
    alone = DPGreedyRuleListClassifier("smooth_laplace", epsilon=1, max_length=1, repaired=True).fit(x, y)
    assert [rule for rule, _ in alone.rules_] == [()]
    assert (alone.ledger_.epsilon, alone.ledger_.delta) == (1, 0)
    three = DPGreedyRuleListClassifier(epsilon=50, random_state=0).fit(x, x["a"] + x["b"])
    assert three.score(x, x["a"] + x["b"]) > 0.8


def test_predictions_from_noisy_counts():
    x, y = frame_of(30)
    model = DPGreedyRuleListClassifier(epsilon=1, max_length=2, rules=[(("a", 1),)], random_state=0).fit(x, y)
    model.rules_ = [((("a", 1),), [-3, 4]), ((), [-1, -2])]
    shares = model.predict_proba(x)
    assert shares.tolist() == [[0.0, 1.0]] * 30  # a rule without rows takes the shares of all
    model.rules_ = [((("a", 1),), [-3, 0]), ((), [-1, -2])]
    assert model.predict_proba(x).tolist() == [[0.5, 0.5]] * 30


def test_scikit_learn_conventions():
    base = extra("sklearn.base")
    selection = extra("sklearn.model_selection")
    x, y = frame_of()
    learner = DPGreedyRuleListClassifier(epsilon=20, max_length=3, rules=[(("a", 1), ("b", 1))], random_state=1)
    copy = base.clone(learner).set_params(mechanism="exponential", epsilon=3)
    assert copy.get_params() == {**learner.get_params(), "mechanism": "exponential", "epsilon": 3}
    assert base.is_classifier(learner)
    assert selection.cross_val_score(learner, x, y, cv=4).mean() > 0.85
    assert learner.fit(x, y).predict_proba(x).sum(axis=1) == pytest.approx(1)
    assert repr(learner).startswith("DPGreedyRuleListClassifier(mechanism='pure', epsilon=20, delta=None, max_length=3")
    with pytest.raises(ValueError, match="DPGreedyRuleListClassifier has no parameter 'depth'"):
        learner.set_params(depth=3)
    with pytest.raises(recon.ReleaseError, match="not fitted"):
        DPGreedyRuleListClassifier().predict(x)


def test_ledger_sums_and_says_the_worst():
    ledger = PrivacyLedger(
        "replace", ("n is public",),
        (PrivacyStep("a", "m", 0.1, 1e-6, "guaranteed", "proof"), PrivacyStep("b", "m2", 0.2, 0.0, "claimed", "paper")),
    )  # fmt: skip
    assert (ledger.epsilon, ledger.delta, ledger.standing) == (pytest.approx(0.3), 1e-6, "claimed")
    lines = ledger.lines()
    assert [line.split()[0] for line in lines] == ["step", "a", "b", "total", "neighbours:", "assumed:"]
    assert lines[1].endswith("guaranteed  proof")
    assert lines[3].split() == ["total", "0.3", "1e-06", "claimed"]
    assert json.loads(json.dumps(ledger.to_json()))["entries"][1]["why"] == "paper"
    assert PrivacyLedger("add_remove", (), ()).standing == "guaranteed"


@pytest.mark.slow
def test_accuracy_on_compas(data):
    """docs/measured.md, "Private learners" (epsilon 1): pure .649 with twice as many parts of the budget; global
    Laplace .580."""
    frame = pd.read_csv(data("compas27.csv.gz"))
    x, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    found = {}
    for mechanism in ("pure", "global_laplace"):
        shares = []
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(len(frame))
            train, test = order[: int(0.7 * len(frame))], order[int(0.7 * len(frame)) :]
            learner = DPGreedyRuleListClassifier(mechanism, epsilon=1, min_support=0.05, random_state=seed)
            shares.append(learner.fit(x.iloc[train], y.iloc[train]).score(x.iloc[test], y.iloc[test]))
        found[mechanism] = np.mean(shares)
    assert found["pure"] == pytest.approx(0.65, abs=0.015)
    assert found["global_laplace"] < 0.62
