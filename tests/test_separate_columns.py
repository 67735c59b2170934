"""Releases of single columns: numbers of worlds against all training sets, in whole numbers and in floats."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest
from extras import batches
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

import recon
from solvers.engines import separate_columns
from solvers.engines.separate_columns import ColumnSums, columns_apart, count_by_columns, sequences
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.query import Count

CELLS = list(product(range(4), range(3), range(2)))


def released(tmp_path, seed, n=3):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {"a": rng.integers(0, 4, n), "b": rng.integers(0, 3, n), "y": np.r_[0, 1, rng.integers(0, 2, n - 2)]}
    )
    kind = GaussianNB() if seed % 2 else StandardScaler()
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(kind.fit(rows[["a", "b"]], rows.y)))
    every = pd.DataFrame(CELLS, columns=["a", "b", "y"])
    return rows, recon.load(str(path), domain=recon.Domain.from_frame(every, label="y"))


def figures(rows, classes):
    every = np.array(rows).reshape(-1, 3)
    some = [every] if classes is None else [every[every[:, 2] == k] for k in classes]
    return [(len(x), *x[:, :2].sum(axis=0), *(x[:, :2] ** 2).sum(axis=0)) for x in some]


def answered(release, convention):
    query = Count(convention)
    columns = columns_apart(release.statements, Count("ordered"))
    assert not isinstance(columns, str), columns
    return count_by_columns(columns, query, Limits())


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", batches(4, 40))
def test_worlds_are_counted_as_all_training_sets_are(seed, whole, tmp_path, monkeypatch):
    if not whole:
        monkeypatch.setattr(separate_columns, "WHOLE_WORK", -1)
    rows, release = released(tmp_path, seed)
    classes = (0, 1) if seed % 2 else None
    truth, ordered, unordered = figures(rows.to_numpy(), classes), 0, 0
    for one in combinations_with_replacement(CELLS, len(rows)):
        if figures(one, classes) == truth:
            unordered += 1
            ordered += math.factorial(len(rows)) // math.prod(map(math.factorial, Counter(one).values()))
    found = answered(release, "ordered")
    if whole:
        assert found.value == ordered
    else:
        assert found.value is None
        assert found.bounds[0] <= math.log2(ordered) <= found.bounds[1] <= found.bounds[0] + 1e-9
    low, high = answered(release, "multiset").bounds
    assert low <= math.log2(unordered) <= high


@pytest.mark.parametrize("seed", batches(6, 200))
def test_sequences_of_values_are_those_with_the_sums(seed, monkeypatch):
    """Any weights, negative ones and open ends, values of several raw ones; floats bound what whole numbers say."""
    rng = np.random.default_rng(seed)
    parts, rows, several = int(rng.integers(2, 5)), int(rng.integers(1, 6)), int(rng.integers(1, 3))
    weights = rng.integers(-3, 4, (several, parts))
    sizes = rng.integers(1, 4, parts)
    one = weights[:, rng.integers(0, parts, rows)].sum(axis=1)
    low, high = one - rng.integers(0, 2, several), one + rng.integers(0, 2, several)
    low = np.where(rng.random(several) < 0.2, -(1 << 60), low)
    group = ColumnSums(rows, *(tuple(map(int, x)) for x in (sizes,)), tuple(map(tuple, weights.tolist())),
                       tuple(low.tolist()), tuple(high.tolist()))  # fmt: skip
    want = 0
    for chosen in product(range(parts), repeat=rows):
        sums = weights[:, list(chosen)].sum(axis=1)
        if (low <= sums).all() and (sums <= high).all():
            want += math.prod(int(sizes[p]) for p in chosen)
    assert sequences(group, Limits()) == want > 0
    monkeypatch.setattr(separate_columns, "WHOLE_WORK", -1)
    found = sequences(group, Limits())
    assert found[0] <= math.log2(want) <= found[1]


def test_what_no_rows_add_up_to_has_no_world_and_what_is_too_large_is_refused(monkeypatch):
    assert sequences(ColumnSums(3, (1, 1), ((0, 2),), (3,), (3,)), Limits()) == 0
    assert sequences(ColumnSums(3, (1, 1), ((0, 2),), (9,), (9,)), Limits()) == 0
    monkeypatch.setattr(separate_columns, "MAX_STATES", 10)
    with pytest.raises(Unsupported, match="more than are gone through"):
        sequences(ColumnSums(1_000, (1,) * 10, (tuple(range(10)),) * 2, (900, 900), (900, 900)), Limits())


def test_statements_of_several_columns_are_refused(tmp_path):
    rows, release = released(tmp_path, 1)
    tree = recon.GreedyRuleListClassifier(max_length=2).fit(rows[["a"]] > 1, rows["y"])
    listed = recon.encode(tree, recon.Domain.from_frame((rows[["a"]] > 1).assign(y=rows["y"]), "y"))
    assert "not of single columns" in columns_apart(listed.statements, Count("ordered"))
    assert "histograms" in columns_apart(release.statements, Count("multiset"))
    assert "assigned" in columns_apart(release.statements, Count("assigned"))


def test_a_class_of_many_rows_is_counted_to_many_digits():
    weights = tuple(range(36)), tuple((v - 18) ** 2 for v in range(36))
    low, high = sequences(ColumnSums(20, (1,) * 36, weights, (360, 300), (360, 300)), Limits())
    assert 0 < low < high < min(low + 1e-9, 20 * math.log2(36))
