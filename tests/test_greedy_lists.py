"""The share of worlds in which GreedyRL of width 1 chooses its list, against every dataset and exact integers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recon.learners.rule_lists import greedy_rule_list
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from solvers.foundation.errors import ContradictionError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.greedy import conditions, rule_lists, states
from solvers.greedy.rule_lists import (
    ListLevel,
    ListRule,
    Mass,
    _at,
    _free,
    _log2_sum,
    _masked,
    _remaining_states,
    _with_group,
    broken_limit,
    list_share,
)
from solvers.greedy.states import free_leaf

CLOSE = 1e-9  # bits
RULES = (ListRule(), ListRule(1, 2), ListRule(1, 3, False), ListRule(2), ListRule(2, 3), ListRule(1, None, False),
         ListRule(ties="authors"), ListRule(2, ties="authors"), ListRule(1, 3, False, "authors"))  # fmt: skip


def fitted(x, y, rule):
    """Return the list that the learner chooses, as levels."""
    model = GreedyRuleListClassifier(1, rule.min_support, rule.max_length, rule.negations, rule.ties).fit(x, y)
    names = [str(name) for name in model.feature_names_in_]
    return tuple(
        ListLevel(names.index(found[0][0]), found[0][1], tuple(counts)) if found else ListLevel(-1, 0, tuple(counts))
        for found, counts in model.rules_
    )


def every_dataset(labels, columns, rule):
    """Return how many of all fillings of the columns lead the learner to each list."""
    shape = len(labels), columns
    cells = itertools.product((0, 1), repeat=len(labels) * columns)
    return Counter(fitted(np.array(one).reshape(shape), labels, rule) for one in cells)


def worlds(levels, columns):
    """Return in how many ways rows go to the levels, and how many bits are free in each."""
    table = np.array([level.counts for level in levels])
    ways = math.prod(math.factorial(int(n)) for n in table.sum(axis=0))
    for n in table.ravel().tolist():
        ways //= math.factorial(n)
    rest = table[::-1].cumsum(axis=0)[::-1].sum(axis=1)
    fixed = {level.column: int(rest[j]) for j, level in enumerate(levels) if level.column >= 0}
    return ways, sum(int(table.sum()) - fixed.get(c, 0) for c in range(columns))


def inside(count, levels, columns, share):
    """Return whether a number of datasets lies within what the share says."""
    ways, bits = worlds(levels, columns)
    low, high = (ways * 2.0 ** (bits + x) for x in share.log2)
    return low * (1 - 1e-12) <= count <= high * (1 + 1e-12)


def exact_share(levels, columns, rule, stopped=False):
    """Return the share as a fraction: every state of every column, scores compared as fractions, no tolerance."""
    share = Fraction(1)
    for column in range(columns):
        share *= exact_column(levels, column, rule, stopped)
    return share


def exact_column(levels, column, rule, stopped):
    """Return the share of one column; states from the default rule up, as integers over powers of two."""
    tables = [tuple(sum(level.counts[k] for level in levels[j:]) for k in (0, 1)) for j in range(len(levels))]
    own = next((j for j, level in enumerate(levels) if level.column == column), None)
    last = len(levels) - 1
    if own is None:
        stopped = stopped or (rule.max_length is not None and len(levels) >= rule.max_length)
        states = grown_exactly({(0, 0): 1}, levels[last].counts)
        rows = sum(levels[last].counts)
        if not stopped:
            states = {s: f for s, f in states.items() if not gains(s, tables[last], rule)}
        start = last
    else:
        level = levels[own]
        ones = level.counts if level.value else tables[own + 1]
        states, rows, start = {tuple(ones): 1}, 0, own
    for j in range(start - 1, -1, -1):
        states = grown_exactly(states, levels[j].counts)
        rows += sum(levels[j].counts)
        states = {s: f for s, f in states.items() if not beats(s, tables[j], levels[j], column, rule)}
    n = sum(tables[0])
    if rule.ties == "fewest" or (own is None and not last and stopped):
        return Fraction(sum(states.values()), 2**rows)
    kept = sum(f for s, f in states.items() if rule.min_support <= sum(s) <= n - rule.min_support)
    others = sum(math.comb(n, k) for k in range(n + 1) if not rule.min_support <= k <= n - rule.min_support)
    return Fraction(kept + (others if own is None else 0), 2**rows)


def grown_exactly(states, counts):
    """Return the states once the rows of a group are added."""
    out = Counter()
    for (a, b), ways in states.items():
        for i, j in itertools.product(range(counts[0] + 1), range(counts[1] + 1)):
            out[a + i, b + j] += ways * math.comb(counts[0], i) * math.comb(counts[1], j)
    return out


@cache
def score(state, table):
    """Return the sum of squares over rows of both sides, as a fraction."""
    others = tuple(n - s for n, s in zip(table, state, strict=True))
    return sum(Fraction(sum(x * x for x in side), sum(side)) for side in (state, others))


def literals(state, table, rule):
    """Yield value and captured rows of the admissible literals of a column in a state."""
    ones, rows = sum(state), sum(table)
    for value, size in ((1, ones), (0, rows - ones)):
        if (value or rule.negations) and rule.min_support <= size < rows:
            yield value, size


def gains(state, table, rule):
    """Return whether some literal of a column lowers the impurity of the rows left."""
    base = Fraction(sum(x * x for x in table), sum(table))
    return any(score(state, table) > base for _ in literals(state, table, rule))


def beats(state, table, level, column, rule):
    """Return whether some literal of a column comes before the one that was chosen."""
    chosen = -score(tuple(level.counts), table), *captured(level.counts, rule), level.column, 1 - level.value
    for v, _ in literals(state, table, rule):
        part = state if v else tuple(n - s for n, s in zip(table, state, strict=True))
        if (-score(state, table), *captured(part, rule), column, 1 - v) < chosen:
            return True
    return False


def captured(part, rule):
    """Return what equal scores are compared by: the impurity of the captured part ("authors"), and its rows."""
    purity = sum(part) - Fraction(sum(x * x for x in part), sum(part)) if rule.ties == "authors" else 0
    return purity, sum(part)


@pytest.mark.sampled(1, 9)
@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize(("labels", "columns"), [((0, 1, 1), 3), ((0, 0, 1, 1), 2), ((0, 0, 1, 1, 1), 2)], ids=str)
def test_every_dataset_of_a_tiny_domain(labels, columns, rule):
    found = every_dataset(labels, columns, rule)
    for levels, count in found.items():
        share = list_share(levels, columns, rule, Limits())
        assert inside(count, levels, columns, share)
        assert share.exact
        assert share.nothing_at is None
        assert share.log2[1] - share.log2[0] < CLOSE
        least, most = (sum(end) for end in zip(*share.by_node, strict=True))
        assert least - CLOSE <= -share.log2[0] <= most + CLOSE
        if not rule.limited:  # there the rows of the levels above may tell that a column is no candidate
            assert most == pytest.approx(-share.log2[0], abs=CLOSE)
        assert len(share.by_column) == columns
    assert sum(found.values()) == 2 ** (len(labels) * columns)


@pytest.mark.long
@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize(("labels", "columns"), [((0, 0, 1, 1), 3), ((0, 0, 0, 1, 1, 1), 2)], ids=str)
def test_every_dataset_of_larger_domains(labels, columns, rule):
    for levels, count in every_dataset(labels, columns, rule).items():
        assert inside(count, levels, columns, list_share(levels, columns, rule, Limits()))


def random_list(seed, n, columns, rule):
    """Return the list that the learner chooses on random rows that depend on their first columns."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, columns)) < rng.uniform(0.2, 0.8, columns)).astype(int)
    y = (x[:, 0] + x[:, columns - 1] + rng.random(n) > rng.uniform(0.7, 1.6)).astype(int)
    y[:2] = 0, 1
    return fitted(x, y, rule)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 34), st.sampled_from(RULES), st.booleans())
def test_the_exact_second_path(seed, n, rule, default):
    levels = random_list(seed, n, 4, rule)
    share = list_share(levels, 4, rule, Limits(), default_rule=default)
    exact = exact_share(levels, 4, rule, not default)
    low, high = (Fraction(2) ** 60 * Fraction(2.0**x) for x in share.log2)
    assert low * (1 - Fraction(1, 10**12)) <= exact * Fraction(2) ** 60 <= high * (1 + Fraction(1, 10**12))
    assert high - low <= high * Fraction(1, 10**9)


def test_a_default_rule_that_leaves_next_to_nothing():
    rule = ListRule(3)
    levels = (
        ListLevel(1, 1, (30, 2)),
        ListLevel(-1, 0, (71, 90)),
    )  # no gain only where shares are equal, or too few rows
    share = list_share(levels, 3, rule, Limits())
    exact = exact_share(levels, 3, rule)
    assert share.log2[0] <= float(math.log2(exact.numerator)) - math.log2(exact.denominator) <= share.log2[1]
    assert share.log2[1] < -250
    assert share.log2[1] - share.log2[0] < 1e-7
    assert list_share(levels, 3, rule, Limits(), default_rule=False).log2[0] > -20


@pytest.mark.slow
def test_the_published_lists_of_compas(data):
    frame = pd.read_csv(data("compas27.csv.gz"))
    for rows, length, bits, extra in (
        (frame, 6, 177_822, 0.697),
        (frame.sample(300, random_state=1), 9, 7_171, 14.574),
    ):
        model = GreedyRuleListClassifier(1, 0.01, length, ties="fewest").fit(rows.iloc[:, :-1], rows.iloc[:, -1])
        rule = ListRule(model.learner_.min_support, model.learner_.max_length)
        levels = fitted(rows.iloc[:, :-1], rows.iloc[:, -1], rule)
        share = list_share(levels, 27, rule, Limits())
        assert worlds(levels, 27)[1] == bits
        assert -share.log2[0] == pytest.approx(extra, abs=6e-4)
        assert share.log2[1] - share.log2[0] < 1e-8


@pytest.mark.sampled(1)
@pytest.mark.parametrize("labels", [(0, 1, 1, 1), (0, 0, 1, 1, 1)])
def test_a_wide_tolerance_gives_bounds_around_the_count(labels, monkeypatch):
    monkeypatch.setattr(greedy_rule_list, "TIE", 0.3)
    monkeypatch.setattr(conditions, "TIE", 0.3)
    doubted = 0
    for rule in (ListRule(), ListRule(1, 2)):
        for levels, count in every_dataset(labels, 2, rule).items():
            share = list_share(levels, 2, rule, Limits())
            assert inside(count, levels, 2, share)
            doubted += not share.exact
    assert doubted


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.tuples(st.integers(0, 14), st.integers(0, 14)), st.data(), st.sampled_from([1e-12, 0.001, 0.02, 0.3]))
def test_scores_tied_with_a_chosen_one_are_found(rows, draw, tie):
    if sum(rows) < 2:
        return
    states_of = [(a, b) for a in range(rows[0] + 1) for b in range(rows[1] + 1) if 0 < a + b < sum(rows)]
    a, b = draw.draw(st.sampled_from(states_of))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditions, "TIE", tie)
        chosen = float(conditions._scores(np.array(a), np.array(b), rows))
        every = [conditions._scores(np.array(i), np.array(j), rows) for i, j in states_of]
        ends = [float(conditions._lowered(x)) for x in every if x > chosen and conditions._lowered(x) <= chosen]
        assert conditions._tie_thresholds(rows, chosen) == max(ends, default=-math.inf)


def test_equal_scores_that_floats_tell_apart_are_ties():
    rule = ListRule(1, None, False)
    levels = random_list(1831, 31, 4, rule)
    share = list_share(levels, 4, rule, Limits(), default_rule=False)
    exact = exact_share(levels, 4, rule, True)
    assert share.exact
    assert share.log2[0] <= math.log2(exact.numerator) - math.log2(exact.denominator) <= share.log2[1]
    assert share.log2[1] - share.log2[0] < CLOSE


def mistaken(monkeypatch, name, wrong):
    """Return how many lists are counted wrong once a piece of the rule is replaced."""
    monkeypatch.setattr(rule_lists, name, wrong)
    found = every_dataset((0, 0, 1, 1), 2, ListRule())
    return sum(not inside(n, levels, 2, list_share(levels, 2, ListRule(), Limits())) for levels, n in found.items())


@pytest.mark.slow
def test_without_the_order_of_ties_counts_are_wrong(monkeypatch):
    true = rule_lists.column_mask
    assert not mistaken(monkeypatch, "column_mask", true)
    assert mistaken(monkeypatch, "column_mask", lambda level, rule, wins, a, b: true(level, rule, False, a, b))


@pytest.mark.slow
def test_without_the_default_rule_counts_are_wrong(monkeypatch):
    def anything(level, rule, a, b):
        yes = np.ones(np.broadcast_shapes(a.shape, b.shape), dtype=bool)
        return yes, yes

    assert mistaken(monkeypatch, "default_mask", anything)


@pytest.mark.slow
def test_a_column_without_any_filling():
    found = []
    for counts in itertools.product(range(3), repeat=6):
        pairs = [counts[i : i + 2] for i in (0, 2, 4)]
        levels = (ListLevel(0, 1, pairs[0]), ListLevel(1, 1, pairs[1]), ListLevel(-1, 0, pairs[2]))
        rule = ListRule(1, 3)
        if broken_limit(levels, 2, rule) is not None:
            continue
        share = list_share(levels, 2, rule, Limits())
        assert (share.nothing_at is not None) == (exact_share(levels, 2, rule) == 0)
        if share.nothing_at is not None:
            assert share.nothing_at == (0, 1)
            assert share.log2 == (-math.inf, -math.inf)
            assert share.by_node[0][0] == math.inf
            found.append(levels)
    assert found


@pytest.mark.parametrize(
    ("levels", "rule", "why"),
    [
        ((ListLevel(0, 1, (1, 3)),), ListRule(), "no default rule"),
        ((ListLevel(0, 1, (0, 3)), ListLevel(-1, 0, (2, 2))), ListRule(1, 1), "max_length is 1"),
        ((ListLevel(0, 1, (0, 3)), ListLevel(-1, 0, (2, 2))), ListRule(4), "captures 3 rows, and min_support is 4"),
        ((ListLevel(0, 1, (0, 3)), ListLevel(-1, 0, (0, 0))), ListRule(), "captures all 3 rows"),
        ((ListLevel(0, 0, (0, 3)), ListLevel(-1, 0, (4, 0))), ListRule(1, None, False), "negations are off"),
        ((ListLevel(0, 1, (1, 1)), ListLevel(-1, 0, (2, 2))), ListRule(), "lowers no impurity"),
        ((ListLevel(0, 1, (1, 4)), ListLevel(-1, 0, (2, 2))), ListRule(), "the opposite test"),
        ((ListLevel(0, 0, (0, 2)), ListLevel(-1, 0, (2, 0))), ListRule(), "the opposite test"),
        ((ListLevel(7, 1, (0, 2)), ListLevel(-1, 0, (2, 0))), ListRule(), "column 7 of 3"),
        (
            (ListLevel(0, 1, (0, 2)), ListLevel(0, 1, (0, 2)), ListLevel(-1, 0, (5, 0))),
            ListRule(),
            "constant in the rows left",
        ),
    ],
)
def test_lists_that_the_learner_never_chooses(levels, rule, why):
    with pytest.raises(ContradictionError, match=why) as caught:
        list_share(levels, 3, rule, Limits())
    assert caught.value.conflict


@pytest.mark.slow
def test_no_limit_refuses_a_list_that_was_chosen():
    for seed in range(60):
        rule = RULES[seed % len(RULES)]
        assert broken_limit(random_list(seed, 5 + seed, 5, rule), 5, rule) is None


def test_more_classes_and_limits_are_refused():
    with pytest.raises(Unsupported, match="two classes"):
        list_share((ListLevel(-1, 0, (1, 2, 3)),), 2, ListRule(), Limits())
    levels = (ListLevel(0, 1, (3, 90)), ListLevel(-1, 0, (200, 100)))
    with pytest.raises((TooLarge, Inconclusive), match="memory"):
        list_share(levels, 3, ListRule(1, 2), Limits(memory=10_000))
    with pytest.raises(Inconclusive):
        list_share(levels, 3, ListRule(1, 2), Limits(seconds=0))


def total(states):
    """Return the exact probability of states that are given with integer weights and the rows behind them."""
    weights, rows = states
    return Fraction(sum(weights.values()), 2**rows)


@settings(max_examples=30, deadline=None)
@given(
    st.tuples(st.integers(0, 14), st.integers(0, 14)),
    st.tuples(st.integers(0, 14), st.integers(0, 14)),
    st.sampled_from([0.2, 1e-3, 1e-18]),
    st.integers(2, 5),
)
def test_what_is_lost_is_bounded(first, second, cut, step):
    """Windows that give up much at their edges: the bounds hold all the same."""

    def mask(a, b):
        keep = (a + 2 * b) % step != 0
        return keep, keep

    def keep(states):
        return {s: f for s, f in states.items() if (s[0] + 2 * s[1]) % step}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states, "SMALL", 0)  # cut small windows too
        mass = _masked(
            _with_group(_remaining_states(first, mask, Limits()), free_leaf(second, cut), Limits()), mask, cut
        )
    kept = keep(grown_exactly(keep(grown_exactly({(0, 0): 1}, first)), second))
    low, high = mass.bounds()
    true = total((kept, sum(first) + sum(second)))
    assert (0 if low == -math.inf else Fraction(2.0**low)) <= true
    assert true <= (0 if high == -math.inf else Fraction(2.0**high)) * (1 + Fraction(1, 10**12))
    if cut < 1e-9 and true:
        assert high - low < CLOSE


def test_a_bound_on_what_is_lost_is_needed():
    everything = _free((400, 400), 0.01)
    low, high = everything.bounds()
    assert low < -1e-3  # all states together have a share of 1, of which the window lacks a part
    assert high >= 0
    bare = Mass(tuple(replace(window, lost=0.0) for window in everything.windows))
    assert bare.bounds()[1] < 0


def test_rounding_is_bounded():
    mass = _at((0, 0))
    for n in (500, 700, 900):
        mass = _with_group(mass, free_leaf((n, n + 1), 1e-30), Limits())
    low, high = mass.bounds()
    assert low <= 0 <= high
    assert high - low < CLOSE
    bare = Mass(tuple(replace(window, relative=0.0, lost=0.0) for window in mass.windows))
    assert bare.bounds()[1] - bare.bounds()[0] < high - low


def test_states_in_far_corners_have_windows_of_their_own():
    def corners(a, b):
        keep = ((a == 0) & (b == 0)) | ((a == 300) & (b == 310))
        return keep, keep & (a == 0)

    mass = _remaining_states((300, 310), corners, Limits())
    assert [window.mass.size for window in mass.windows] == [1, 1]
    low, high = mass.found()
    assert low <= -609 <= high
    assert high - low < CLOSE
    grew = _with_group(mass, free_leaf((20, 30), 1e-18), Limits())
    assert len(grew.windows) == 2
    assert grew.found()[0] <= -609 <= grew.found()[1]
    assert mass.bounds()[0] <= -610 < -609 <= mass.bounds()[1]  # one of the two is in doubt


def test_logarithms_are_added_upwards():
    assert _log2_sum(-math.inf, -3.0) == -3.0
    assert _log2_sum(-2.0, -2.0) >= -1.0
    assert _log2_sum(0.0, -5000.0) >= 0.0
