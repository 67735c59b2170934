"""Optimal rule lists against every rule list there is, on small tables; and their bounds when stopped early."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recon


def every_list(rows, labels, rules, least, longest):
    """Yield (rules, errors) of every list of at most `longest` rules that each capture `least` rows (plain Python)."""

    def wrong(part):
        return len(part) - max((part.count(c) for c in set(part)), default=0)

    def grow(prefix, left, errors):
        yield prefix, errors + wrong([labels[i] for i in left])
        if len(prefix) == longest:
            return
        for rule in rules:
            hit = [i for i in left if all(rows[i][column] == value for column, value in rule)]
            if len(hit) >= least:
                rest = [i for i in left if i not in hit]
                yield from grow((*prefix, rule), rest, errors + wrong([labels[i] for i in hit]))

    yield from grow((), list(range(len(rows))), 0)


def fewest(rows, labels, rules, least, longest, penalty):
    """The least errors + penalty x rules of lists of at most 0, 1, ... rules, and the least errors alone."""
    best = [math.inf] * (longest + 1)
    for prefix, errors in every_list(rows, labels, rules, least, longest):
        value = errors + penalty * len(prefix)
        for length in range(len(prefix), longest + 1):
            best[length] = min(best[length], value)
    return best


def random_case(seed, rows=None):
    """A small table with its parameters: duplicated and constant columns, one to three classes."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 15)) if rows is None else rows, int(rng.integers(1, 5))
    bits = rng.integers(0, 2, (n, d))
    if d > 2 and rng.random() < 0.3:
        bits[:, 1] = bits[:, 0] ^ int(rng.integers(0, 2))
    if d > 1 and rng.random() < 0.2:
        bits[:, -1] = int(rng.integers(0, 2))
    x = pd.DataFrame(bits, columns=[f"c{k}" for k in range(d)])
    y = rng.integers(0, int(rng.integers(1, 4)), n)
    support = int(rng.integers(0, 4))
    return x, y, {
        "max_length": int(rng.integers(0, 4)), "min_support": support, "negations": bool(rng.integers(0, 2)),
        "regularisation": float(rng.choice([0.0, 0.0, 0.03, 1 / 3])), "width": 2 if d < 4 and rng.random() < 0.3 else 1,
    }  # fmt: skip


def truth(x, y, max_length, min_support, negations, regularisation, width):
    rows = [dict(zip(x.columns, row, strict=True)) for row in x.to_numpy().tolist()]
    literals = [(name, value) for name in x.columns for value in ((1, 0) if negations else (1,))]
    rules = [
        rule for size in range(1, width + 1) for rule in combinations(literals, size) if len(dict(rule)) == len(rule)
    ]
    penalty = Fraction(repr(regularisation)) * len(x)
    return fewest(rows, y.tolist(), rules, max(1, min_support), max_length, penalty), penalty


def compare(seed):
    """The fitted list against every list, for every length."""
    x, y, parameters = random_case(seed)
    best, penalty = truth(x, y, **parameters)
    model = recon.OptimalRuleListClassifier(**parameters, seconds=None).fit(x, y)
    assert [entry.certified for entry in model.path_] == [True] * len(best)
    for entry, value in zip(model.path_, best, strict=True):
        assert entry.errors + penalty * (len(entry.rules) - 1) == value
        assert Fraction(entry.bound) == value or (math.isclose(entry.bound, float(value)) and entry.bound <= value)
        assert entry.errors == sum(sum(counts) - max(counts) for _, counts in entry.rules)
        assert all(sum(counts) >= max(1, parameters["min_support"]) for _, counts in entry.rules[:-1])
        assert len(entry.rules) <= entry.length + 1
    assert (model.predict(x) != y).sum() == model.errors_ == model.path_[-1].errors
    assert model.optimal_
    assert model.gap_ == 0
    captured = pd.crosstab(model.apply(x), y).reindex(range(len(model.rules_)), fill_value=0).to_numpy()
    assert captured.tolist() == [counts for _, counts in model.rules_]


@pytest.mark.slow
@settings(max_examples=150)
@given(st.integers(0, 2**32))
def test_the_errors_are_the_fewest_of_all_lists(seed):
    compare(seed)


def left_open(x, rules, least):
    """Dist_G of a list, every column an independent bit, raw rows listed; None where the search has no such list."""
    free, possible, bits = x.to_dict("records"), list(product((0, 1), repeat=x.shape[1])), 0.0
    for (column, value), *_ in (*rules, [(None, None)]):
        hit = [row for row in free if column is None or row[column] == value]
        fits = [row for row in possible if column is None or row[list(x.columns).index(column)] == value]
        if len(hit) < (1 if column is None else max(1, least)):
            return None
        bits += len(hit) * math.log2(len(fits))
        free, possible = ([row for row in some if row not in gone] for some, gone in ((free, hit), (possible, fits)))
    return bits / x.size


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_ties_are_all_lists_with_the_fewest_errors(seed):
    x, y, parameters = random_case(seed)
    parameters |= {"width": 1, "regularisation": 0.0}
    longest, least = parameters["max_length"], parameters["min_support"]
    model = recon.OptimalRuleListClassifier(**parameters, seconds=None).fit(x, y)
    literals = [((name, value),) for name in x.columns for value in ((1, 0) if parameters["negations"] else (1,))]
    rows = [dict(zip(x.columns, row, strict=True)) for row in x.to_numpy().tolist()]
    every = list(every_list(rows, y.tolist(), literals, max(1, least), longest))
    for tied, entry in zip(model.ties(x, y), model.path_, strict=True):
        same = [left_open(x, rules, least) for rules, errors in every
                if len(rules) <= entry.length and errors == entry.errors]  # fmt: skip
        same = [share for share in same if share is not None]
        assert (tied.length, tied.errors, tied.lists) == (entry.length, entry.errors, len(same))
        assert tied.dist_g == pytest.approx((min(same), max(same)), abs=1e-12)


def test_ties_of_wider_rules_and_of_what_is_not_proved_are_not_counted():
    x, y, _ = random_case(3, rows=12)
    wide = recon.OptimalRuleListClassifier(2, width=2, seconds=None).fit(x, y)
    with pytest.raises(recon.Unsupported, match="rules of one literal"):
        wide.ties(x, y)
    model = recon.OptimalRuleListClassifier(2, seconds=None).fit(x, y)
    entry = model.path_[-1]
    model.path_ = (*model.path_[:-1], replace(entry, bound=entry.errors - 1, certified=False))
    with pytest.raises(recon.Inconclusive, match="at most 2 rules are not proved"):
        model.ties(x, y)
