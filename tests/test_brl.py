"""Bayesian rule lists: laws against plain formulas over all lists, privacy audited over all small tables."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np
import pandas as pd
import pytest
from extras import extra
from hypothesis import given, settings
from hypothesis import strategies as st

import recon
from recon.learners.private.private_mining import (
    Mining,
    _apriori,
    _level_sensitivity,
    items_held,
    mine_exactly,
    mine_privately,
)
from recon.learners.rule_lists.bayesian_rule_list import BayesianRuleListClassifier, DPBayesianRuleListClassifier
from recon.learners.rule_lists.brl_posterior import (
    RuleListLaw,
    RuleListPrior,
    Scores,
    _all_lists,
    bit_mask,
    enumerate_law,
    number_of_lists,
    sensitivity,
    tempered,
)
from recon.learners.rule_lists.brl_sampling import (
    _integer_weights,
    draw_prior,
    effective_size,
    perfect_sample,
    run_chain,
    split_r_hat,
)
from solvers.statements.noise.sampling import Randomness

ANTECEDENTS = ((("a", 1),), (("b", 1),), (("c", 1),), (("a", 1), ("b", 1)))  # 4 antecedents: 65 lists
SIZES = (1, 1, 1, 2)
BUDGET = 0.9


def small_table(seed=0, n=24):
    """24 records, 3 features, a label that leans on them."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame(rng.integers(0, 2, (n, 3)), columns=list("abc"))
    y = (rng.random(n) < 0.2 + 0.6 * (x["a"] & x["b"]) + 0.15 * x["c"]).astype(int).to_numpy()
    return x, y


def scores_of(x, y, antecedents=ANTECEDENTS, alpha=(1.0, 1.0), normalised=True, length=2.0, width=1.5):
    masks = [bit_mask(np.all([x[c] == v for c, v in one], axis=0)) for one in antecedents]
    prior = RuleListPrior(tuple(len(one) for one in antecedents), length, width, len(antecedents))
    return Scores(masks, bit_mask(np.asarray(y) == 1), len(x), prior, alpha, normalised)


def plain_prior(chosen, sizes, length, width, longest=None):
    """Letham et al., equations of the prior, as printed; R_j are the sizes that still have an unused antecedent."""
    total = len(sizes) if longest is None else longest
    m = len(chosen)
    found = (length**m / math.factorial(m)) / sum(length**j / math.factorial(j) for j in range(total + 1))
    for j, one in enumerate(chosen):
        unused = [sizes[i] for i in range(len(sizes)) if i not in chosen[:j]]
        found *= (width ** sizes[one] / math.factorial(sizes[one])) / sum(
            width**k / math.factorial(k) for k in set(unused)
        )
        found /= unused.count(sizes[one])
    return found


def plain_likelihood(chosen, x, y, antecedents=ANTECEDENTS):
    """α = (1, 1): the exact product over rules, default included, of N_0! N_1! / (N + 1)!."""
    cells = Counter()
    for row, label in zip(x.to_dict("records"), y, strict=True):
        first = next((j for j, i in enumerate(chosen) if all(row[c] == v for c, v in antecedents[i])), len(chosen))
        cells[first, int(label)] += 1
    found = Fraction(1)
    for j in range(len(chosen) + 1):
        zeros, ones = cells[j, 0], cells[j, 1]
        found *= Fraction(math.factorial(zeros) * math.factorial(ones), math.factorial(zeros + ones + 1))
    return found


@pytest.mark.parametrize(
    ("sizes", "length", "width", "longest"),
    [((1, 1, 1, 2), 3, 1, 4), ((2, 1, 1, 2, 3), 0.5, 2.5, 5), ((3, 3, 1, 2, 2), 7, 0.3, 2), ((2, 2), 1, 1, 0)],
)
def test_the_prior_is_the_papers_and_sums_to_1(sizes, length, width, longest):
    prior = RuleListPrior(sizes, length, width, longest)
    lists = [one for m in range(longest + 1) for one in permutations(range(len(sizes)), m)]
    assert sorted(lists) == sorted(_all_lists(len(sizes), longest))
    assert len(lists) == number_of_lists(len(sizes), longest)
    mass = 0.0
    for chosen in lists:
        assert math.exp(prior.log(chosen)) == pytest.approx(plain_prior(chosen, sizes, length, width, longest))
        mass += math.exp(prior.log(chosen))
    assert mass == pytest.approx(1, abs=1e-12)


def exact_laws():
    delta = math.log(24)
    rate = BUDGET / (2 * delta)
    return {
        "plain": (RuleListLaw(), 1, 1),
        "base_measure": (tempered("base_measure", BUDGET, delta), 1, rate),
        "monotone": (tempered("monotone", BUDGET, delta), 1, 2 * rate),
        "tempered_prior": (tempered("tempered_prior", BUDGET, delta), rate, rate),
    }


@pytest.mark.parametrize("name", list(exact_laws()))
def test_enumeration_is_the_plain_formula_over_all_65_lists(name):
    x, y = small_table()
    law, of_prior, of_likelihood = exact_laws()[name]
    found = enumerate_law(scores_of(x, y), law)
    assert len(found.lists) == 65
    weights = [
        plain_prior(one, SIZES, 2.0, 1.5) ** of_prior * float(plain_likelihood(one, x, y)) ** of_likelihood
        for one in found.lists
    ]
    assert found.probabilities == pytest.approx(np.array(weights) / sum(weights), rel=1e-5)
    assert found.probabilities.sum() == pytest.approx(1)


def total_variation(lists, law):
    seen, n = Counter(lists), len(lists)
    return sum(abs(seen[one] / n - p) for one, p in zip(law.lists, law.probabilities, strict=True)) / 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", list(exact_laws()))
def test_metropolis_hastings_walks_every_law(name):
    x, y = small_table()
    scores, law = scores_of(x, y), exact_laws()[name][0]
    chain = run_chain(scores, law, (0,), 200_000, Randomness(5))
    assert total_variation(chain.lists, enumerate_law(scores, law)) <= 0.02


def test_metropolis_hastings_keeps_to_the_longest_list():
    x, y = small_table()
    scores = scores_of(x, y)
    scores.prior = RuleListPrior(SIZES, 2.0, 1.5, 2)
    exact = enumerate_law(scores, RuleListLaw(1, 0.1))
    assert {len(one) for one in exact.lists} == {0, 1, 2}
    assert total_variation(run_chain(scores, RuleListLaw(1, 0.1), (), 100_000, Randomness(1)).lists, exact) <= 0.02


@pytest.mark.slow
def test_perfect_samples_and_prior_draws_follow_their_laws():
    x, y = small_table()
    scores, randomness = scores_of(x, y), Randomness(3)
    exact = enumerate_law(scores, exact_laws()["monotone"][0])
    assert total_variation([perfect_sample(exact, randomness) for _ in range(20_000)], exact) <= 0.03
    prior = enumerate_law(scores, RuleListLaw(1, 0))
    assert total_variation([draw_prior(scores.prior, randomness) for _ in range(20_000)], prior) <= 0.03


def test_integer_weights_are_exact_and_never_0():
    logs = np.array([0.0, -1.5, -700.0, -2_000.0, -1e6])
    found = _integer_weights(logs)
    for weight, log in zip(found[:4], logs, strict=False):  # in logs: the numbers do not fit a float
        assert math.log(weight) - math.log(found[0]) == pytest.approx(log, abs=1e-9)
    assert found[4] > 0


def brute_force_sensitivity(neighbours, rows, alpha):
    """The largest change of ln of the Beta integrals over two cells (a list's other cells stay as they are)."""

    def term(zeros, ones):
        a, b = zeros + alpha[0], ones + alpha[1]
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)

    def score(table):
        return term(*table[:2]) + term(*table[2:])

    def add(table, k):
        return tuple(v + (i == k) for i, v in enumerate(table))

    smaller = [t for t in product(range(rows), repeat=4) if sum(t) < rows]
    if neighbours == "add_remove":
        changes = [score(t) - score(add(t, k)) for t in smaller for k in range(4)]
        assert min(changes) > 0  # monotone: every row lowers every list's likelihood
    else:
        bases = [t for t in smaller if sum(t) == rows - 1]
        changes = [score(add(t, k)) - score(add(t, j)) for t in bases for k in range(4) for j in range(4)]
    return max(changes)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("alpha", [(1.0, 1.0), (0.5, 2.0), (3.0, 1.5)])
def test_the_sensitivity_is_the_largest_change_over_all_tables(neighbours, alpha):
    for rows in range(2, 10):
        found = sensitivity(neighbours, rows, alpha)
        assert found == pytest.approx(brute_force_sensitivity(neighbours, rows, alpha), abs=1e-9)
        if alpha == (1.0, 1.0):
            assert found == pytest.approx(math.log(rows + (neighbours == "add_remove")), abs=1e-12)


TYPES = list(product((0, 1), repeat=3))  # rows of two columns and a label
PAIR = ((("a", 1),), (("b", 1),), (("a", 1), ("b", 1)))


def neighbouring_tables(neighbours, most=3):
    """Every pair of neighbouring tables of at most `most` rows (`replace`: exactly)."""
    sizes = (most,) if neighbours == "replace" else range(1, most + 1)
    for n in sizes:
        for common in combinations_with_replacement(TYPES, n - 1):
            if neighbours == "add_remove":
                yield from ((common, (*common, row)) for row in TYPES)
            else:
                yield from (((*common, one), (*common, other)) for one, other in combinations(TYPES, 2))


def table_scores(rows):
    x = pd.DataFrame(list(rows), columns=list("aby"), dtype=int)
    return scores_of(x, x["y"], PAIR)


def worst_log_ratio(neighbours, law, most=3):
    """The largest |ln P(list | D) - ln P(list | D')| over all lists and neighbouring tables, from integer weights."""
    memo = {}

    def logs(rows):
        key = tuple(sorted(rows))
        if key not in memo:
            weights = _integer_weights(enumerate_law(table_scores(key), law).log_weights)
            memo[key] = np.array([math.log(w) for w in weights]) - math.log(sum(weights))
        return memo[key]

    return max(float(np.abs(logs(d) - logs(e)).max()) for d, e in neighbouring_tables(neighbours, most))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("target", "neighbours"),
    [
        ("base_measure", "replace"), ("tempered_prior", "replace"),
        ("base_measure", "add_remove"), ("monotone", "add_remove"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_the_drawn_list_is_private_over_all_small_tables(target, neighbours, epsilon):
    law = tempered(target, epsilon, sensitivity(neighbours, 3, (1.0, 1.0)))
    worst = worst_log_ratio(neighbours, law)
    assert worst <= epsilon
    assert worst > epsilon / 8  # the audit sees the rows at all


def test_the_monotone_law_is_not_private_for_replaced_rows():
    """That is why it is refused there: the last row's new label helps one list and hurts the other, which is likelier.

    Five ones meet the first antecedent only, six zeros the second only, the last row both.
    """
    first, second, before = 0b100000011111, 0b111111100000, 0b000000011111
    prior = RuleListPrior((3, 1), 1e6, 1e-6, 1)

    def logs(labels, law):
        found = enumerate_law(Scores([first, second], labels, 12, prior), law)
        return np.log(found.probabilities[found.lists.index((0,))])

    delta = sensitivity("replace", 12, (1.0, 1.0))
    shift = {}
    for target in ("monotone", "base_measure"):
        law = tempered(target, 0.3, delta)
        shift[target] = abs(logs(before, law) - logs(before | 1 << 11, law))
    assert shift["monotone"] > 0.4
    assert shift["base_measure"] <= 0.3


@pytest.mark.slow
@pytest.mark.parametrize(("neighbours", "change"), [("add_remove", 1), ("replace", 2)])
def test_counts_change_by_no_more_than_the_noise_is_made_for(neighbours, change):
    lists = list(_all_lists(3, 3))
    worst = 0
    for d, e in neighbouring_tables(neighbours):
        one, other = table_scores(d), table_scores(e)
        for chosen in lists:
            pairs = zip(one.captures(chosen), other.captures(chosen), strict=True)
            worst = max(worst, sum(abs(a - b) for p, q in pairs for a, b in zip(p, q, strict=True)))
    assert worst == change


@settings(max_examples=150)
@given(
    st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 3), st.booleans(),
    st.sampled_from([None, 1, 2, 3]), st.sampled_from(["add_remove", "replace"]),
)  # fmt: skip
def test_one_row_changes_a_levels_supports_by_no_more_than_stated(seed, d, width, negations, held, neighbours):
    """Both tables see the same published supports, so they have the same candidates at every level."""
    rng = np.random.default_rng(seed)
    names, mining = [f"c{k}" for k in range(d)], Mining(width, 1, negations, held)
    rows = rng.random((rng.integers(1, 6), d)) < 0.7
    other = rows[1:] if neighbours == "add_remove" else np.concatenate([rows[1:], rng.random((1, d)) < 0.5])
    published = {}

    def record(seen):
        def publish(level, counts):
            seen[level] = counts
            return published.setdefault(level, rng.integers(0, 4, len(counts)).tolist())

        return publish

    one, two = {}, {}
    assert _apriori(names, rows, mining, record(one)) == _apriori(names, other, mining, record(two))
    assert one.keys() == two.keys()
    for level, counts in one.items():
        change = sum(abs(a - b) for a, b in zip(counts, two[level], strict=True))
        assert change <= _level_sensitivity(items_held(d, mining), level, len(counts), neighbours)


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.booleans(), st.integers(1, 5))
def test_mining_finds_the_frequent_antecedents(seed, d, width, negations, least):
    rng = np.random.default_rng(seed)
    names = [f"c{k}" for k in range(d)]
    bits = rng.random((12, d)) < 0.6
    literals = [(name, v) for name in names for v in ((1, 0) if negations else (1,))]
    expected = {}
    for size in range(1, width + 1):
        for chosen in combinations(literals, size):
            if len({name for name, _ in chosen}) == size:
                met = sum(all(row[names.index(name)] == v for name, v in chosen) for row in bits)
                if met >= least:
                    expected[chosen] = met
    found = mine_exactly(names, bits, Mining(width, least, negations))
    assert dict(zip(found.antecedents, found.supports, strict=True)) == expected
    assert found.supports == sorted(found.supports, reverse=True)
    best = mine_exactly(names, bits, Mining(width, least, negations, most=2))
    assert best.antecedents == found.antecedents[:2]


@pytest.mark.parametrize(("neighbours", "width"), [("add_remove", 1), ("replace", 1), ("replace", 2)])
def test_mining_noise_has_the_stated_scale(neighbours, width):
    """At level 1 a row meets at most `most_items` = 2 of 6 columns: E|noise| of a discrete Laplace is 2q / (1 - q²)."""
    bits = np.zeros((10, 6), dtype=bool)
    randomness, names = Randomness(4), list("abcdef")
    noise = []
    for _ in range(300):
        found = mine_privately(
            names, bits, Mining(width, -1e9, most_items=2), Fraction(1, 2), neighbours, randomness
        )  # no row meets anything, everything is kept: what is published is the noise
        noise += [abs(s) for a, s in zip(found.antecedents, found.supports, strict=True) if len(a) == 1]
    scale = (2 if neighbours == "replace" else 1) * 2 * width / 0.5
    q = math.exp(-1 / scale)
    assert np.mean(noise) == pytest.approx(2 * q / (1 - q * q), rel=0.15)


def private(**parameters):
    base = {"antecedents": ANTECEDENTS, "epsilon": 1.0, "random_state": 0}
    return DPBayesianRuleListClassifier(**(base | parameters))


@pytest.mark.parametrize(
    ("parameters", "standing", "list_standing"),
    [
        ({}, "guaranteed", "guaranteed"),
        ({"neighbours": "add_remove", "n_max": 30, "target": "monotone"}, "guaranteed", "guaranteed"),
        ({"target": "tempered_prior"}, "guaranteed", "guaranteed"),
        ({"antecedents": None, "epsilon": 30.0, "width": 1}, "guaranteed", "guaranteed"),
        ({"antecedents": None, "mining": "data", "width": 1}, "none", "guaranteed"),
        ({"enumerate_up_to": 64, "steps": 50}, "claimed", "claimed"),
    ],
)
def test_the_ledger_says_what_is_proved(parameters, standing, list_standing):
    fitted = private(**parameters).fit(*small_table())
    ledger = fitted.ledger_
    assert ledger.standing == standing
    mined, drawn, counted = ledger.entries
    assert (drawn.standing, counted.standing) == (list_standing, "guaranteed")
    assert ledger.epsilon == pytest.approx(fitted.epsilon)
    assert drawn.epsilon == counted.epsilon
    spends = fitted.antecedents is None and fitted.mining == "private"
    assert mined.epsilon == pytest.approx(fitted.epsilon / 3 if spends else 0)
    assert any("seed" in line for line in ledger.assumes)
    assert ledger.neighbours == fitted.neighbours
    if list_standing == "claimed":
        assert "δ unknown" in drawn.why
        assert fitted.diagnostics_["method"] == "metropolis_hastings"
    else:
        assert fitted.diagnostics_["method"] == "enumeration"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("neighbours", "n_max", "change"), [("add_remove", 40, 1), ("replace", None, 2)])
def test_published_counts_carry_the_stated_noise(neighbours, n_max, change):
    x, y = small_table()
    noise = []
    for seed in range(150):
        learner = private(neighbours=neighbours, n_max=n_max, epsilon=Fraction(1, 2), random_state=seed)
        fitted = learner.fit(x, y)
        free = np.ones(len(x), dtype=bool)
        for literals, counts in fitted.rules_:
            hit = free & np.all([x[c] == v for c, v in literals], axis=0) if literals else free
            noise += [abs(counts[v] - int((y[hit] == v).sum())) for v in (0, 1)]
            free = free & ~hit
        assert all(isinstance(c, int) for _, counts in fitted.rules_ for c in counts)
    assert fitted.noise_.law.name == "discrete_laplace"
    assert fitted.noise_.law.scale == change / Fraction(1, 4)
    assert (fitted.noise_.epsilon, fitted.noise_.delta) == (Fraction(1, 4), 0)
    assert (fitted.noise_.sensitivity, fitted.noise_.neighbours) == (change, neighbours)
    q = math.exp(-0.25 / change)
    assert np.mean(noise) == pytest.approx(2 * q / (1 - q * q), rel=0.15)
    model = fitted.to_model()
    assert model.noise == fitted.noise_
    assert [rule.support.counts for rule in model.rules] == [tuple(counts) for _, counts in fitted.rules_]


def test_estimates_clip_negative_counts_at_0():
    x, y = small_table()
    for seed in range(20):
        fitted = private(epsilon=0.05, random_state=seed).fit(x, y)
        held = np.array([counts for _, counts in fitted.rules_]).clip(min=0) + 1
        assert fitted.estimates_ == pytest.approx(held / held.sum(axis=1, keepdims=True))
        proba = fitted.predict_proba(x)
        assert ((proba > 0) & (proba < 1)).all()
        assert proba == pytest.approx(fitted.estimates_[fitted.apply(x)])


def test_seeds_repeat_and_no_seed_does_not():
    x, y = small_table()
    for parameters in ({}, {"enumerate_up_to": 0, "steps": 60}, {"antecedents": None, "width": 1}):
        one, two, other = (private(**parameters, random_state=seed).fit(x, y) for seed in (7, 7, 8))
        assert one.rules_ == two.rules_
        assert one.rules_ != other.rules_
    secure = [private(random_state=None, epsilon=0.01).fit(x, y) for _ in range(2)]
    assert secure[0].rules_ != secure[1].rules_
    assert not any("seed" in line for line in secure[0].ledger_.assumes)


@pytest.mark.slow
def test_map_and_point_are_those_of_all_lists():
    x, y = small_table()
    common = {"antecedents": ANTECEDENTS, "expected_length": 2.0, "expected_width": 1.5}
    lists = [one for m in range(5) for one in permutations(range(4), m)]
    weight = {one: plain_prior(one, SIZES, 2.0, 1.5) * float(plain_likelihood(one, x, y)) for one in lists}
    total = sum(weight.values())

    def width(one):
        return sum(SIZES[i] for i in one) / max(1, len(one))

    mean_length = sum(w * len(one) for one, w in weight.items()) / total
    mean_width = sum(w * width(one) for one, w in weight.items()) / total
    usual = [
        one for one in lists
        if math.floor(mean_length) <= len(one) <= math.ceil(mean_length)
        and math.floor(mean_width) <= width(one) <= math.ceil(mean_width)
    ]  # fmt: skip
    for choice, expected in (("map", max(lists, key=weight.get)), ("point", max(usual, key=weight.get))):
        fitted = BayesianRuleListClassifier(choice=choice, **common).fit(x, y)
        assert [literals for literals, _ in fitted.rules_[:-1]] == [ANTECEDENTS[i] for i in expected]
        chained = BayesianRuleListClassifier(
            choice=choice, enumerate_up_to=0, steps=20_000, random_state=1, **common
        ).fit(x, y)
        assert chained.rules_ == fitted.rules_
    assert sum(sum(counts) for _, counts in fitted.rules_) == len(x)
    domain = recon.Domain.from_frame(x.assign(y=y), label="y", independent=True)
    from recon.readers.frames.world import violations

    assert violations(recon.encode(fitted, domain), x.assign(y=y)) == []


def test_the_likelihood_normaliser_is_a_flag():
    x, y = small_table()
    with_it, without = (scores_of(x, y, alpha=(2.0, 3.0), normalised=flag) for flag in (True, False))
    constant = math.log(math.gamma(5) / (math.gamma(2) * math.gamma(3)))
    for chosen in ((), (1,), (3, 0)):
        assert with_it.of(chosen)[1] - without.of(chosen)[1] == pytest.approx((len(chosen) + 1) * constant)
    assert scores_of(x, y, normalised=False).of((1, 2)) == scores_of(x, y).of((1, 2))


def test_diagnostics_tell_mixed_chains_from_stuck_ones():
    rng = np.random.default_rng(0)
    independent = [rng.normal(size=4_000) for _ in range(4)]
    assert split_r_hat(independent) == pytest.approx(1, abs=0.01)
    assert effective_size(independent) == pytest.approx(8_000, rel=0.2)
    assert split_r_hat([one + 3 * k for k, one in enumerate(independent)]) > 2
    slow = []
    for one in independent:
        held = [0.0]
        for value in one:
            held.append(0.9 * held[-1] + value)
        slow.append(np.array(held))
    assert effective_size(slow) == pytest.approx(8_000 * 0.1 / 1.9, rel=0.3)
    assert split_r_hat([np.zeros(40), np.zeros(40)]) == 1
    assert split_r_hat([np.zeros(40), np.ones(40)]) is None
    assert effective_size([np.zeros(40)] * 2) is None
    assert split_r_hat([np.zeros(3)]) is None


def test_scikit_learn_conventions():
    base = extra("sklearn.base")
    selection = extra("sklearn.model_selection")
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.integers(0, 2, (200, 5)), columns=list("abcde"))
    y = np.where(x["a"] & x["b"], "yes", "no")
    for learner in (
        BayesianRuleListClassifier(random_state=0, steps=500),
        private(epsilon=30, antecedents=[[("a", 1), ("b", 1)], [("c", 1)]]),
    ):
        copy = base.clone(learner).set_params(expected_length=1.0)
        assert copy.get_params() == learner.get_params() | {"expected_length": 1.0}
        assert base.is_classifier(learner)
        assert selection.cross_val_score(learner, x, y, cv=4).mean() > 0.99
        fitted = learner.fit(x, y)
        assert fitted.classes_.tolist() == ["no", "yes"]
        assert set(fitted.predict(x)) == {"no", "yes"}
        assert fitted.predict_proba(x).sum(axis=1) == pytest.approx(1)
        assert repr(learner).startswith(f"{type(learner).__name__}(width=2, min_support=0.1")
        with pytest.raises(ValueError, match="no parameter"):
            learner.set_params(depth=3)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"neighbours": "swap"}, "neighbours"),
        ({"target": "monotone"}, "add_remove"),
        ({"neighbours": "add_remove"}, "n_max"),
        ({"n_max": 24}, "n_max"),
        ({"neighbours": "add_remove", "n_max": 23}, "24 rows are more than n_max = 23"),
        ({"neighbours": "add_remove", "n_max": 2.5}, "n_max"),
        ({"mining": "public"}, "mining"),
        ({"most_items": 0}, "most_items"),
        ({"split": (1, 0, 1)}, "split"),
        ({"split": (1, 1)}, "split"),
        ({"split": (0, 1, 1), "antecedents": None}, "split"),
        ({"split": ("a", 1, 1)}, "not a finite number"),
        ({"classes": [0, 2]}, "label 1 is none of the classes"),
        ({"classes": [0]}, "two classes"),
        ({"classes": [1, 1]}, "two classes"),
        ({"width": 0}, "width"),
        ({"steps": 0}, "steps"),
        ({"chains": True}, "chains"),
        ({"max_length": 0}, "max_length"),
        ({"alpha": (1, 0)}, "alpha"),
        ({"alpha": 1.0}, "alpha"),
        ({"expected_length": -1}, "expected_length"),
        ({"expected_width": float("nan")}, "expected_width"),
        ({"min_support": 1.5, "antecedents": None}, "min_support"),
        ({"random_state": 1.5}, "random_state"),
        ({"antecedents": [[("z", 1)]]}, "'z'"),
    ],
)
def test_parameters_without_sense_are_refused(parameters, said):
    with pytest.raises(recon.ReleaseError, match=said):
        private(**parameters).fit(*small_table())


def test_bad_tables_are_refused():
    x, y = small_table()
    for learner in (BayesianRuleListClassifier(), private()):
        with pytest.raises(recon.ReleaseError, match="two classes"):
            learner.fit(x, np.arange(len(x)) % 3)
        with pytest.raises(recon.ReleaseError, match="two classes"):
            learner.fit(x, np.zeros(len(x)))
        with pytest.raises(recon.ReleaseError, match="neither 0 nor 1"):
            learner.fit(x.assign(a=7), y)
        with pytest.raises(recon.ReleaseError, match="as many"):
            learner.fit(x, y[1:])
        with pytest.raises(recon.ReleaseError, match="no order"):
            learner.fit(x, np.array([0, "a"] * 12, dtype=object))
        with pytest.raises(recon.ReleaseError, match="not fitted"):
            type(learner)().predict(x)
    with pytest.raises(recon.ReleaseError, match="at least 2 rows"):
        private(classes=(0, 1)).fit(x[:1], y[:1])
    with pytest.raises(recon.ReleaseError, match="choice"):
        BayesianRuleListClassifier(choice="best").fit(x, y)


def test_public_classes_need_not_occur_and_no_antecedent_is_fine():
    x, y = small_table()
    fitted = private(classes=("no", "yes")).fit(x, np.full(len(x), "no"))
    assert fitted.predict_proba(x).shape == (24, 2)
    assert fitted.classes_.tolist() == ["no", "yes"]
    alone = BayesianRuleListClassifier(min_support=1.0).fit(x, y)
    assert alone.rules_ == [((), ((y == 0).sum(), (y == 1).sum()))]
    short = BayesianRuleListClassifier(antecedents=ANTECEDENTS, max_length=2, choice="sample", random_state=0)
    assert len(short.fit(x, y).rules_) <= 2


@pytest.mark.slow
def test_mushroom_is_learnt_with_and_without_privacy(data):
    """docs/measured.md, "Private learners": plain AUC >= .99, ε = .9 (a third for drawing, a third for counts) >=
    .96."""
    metrics = extra("sklearn.metrics")
    frame = pd.read_csv(data("mushroom.txt.gz"), sep=" ", header=None)
    x, y = frame.iloc[:, 1:].rename(columns="c{}".format), frame[0].to_numpy()
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:7_000], order[7_000:]
    common = {"expected_length": 7.0, "steps": 1_500, "random_state": 0, "chains": 2}
    plain = BayesianRuleListClassifier(**common)
    dp = DPBayesianRuleListClassifier(epsilon=0.6, mining="data", **common)
    for learner, least in ((plain, 0.99), (dp, 0.96)):
        proba = learner.fit(x.iloc[train], y[train]).predict_proba(x.iloc[test])[:, 1]
        assert metrics.roc_auc_score(y[test], proba) >= least
