"""Releases of single columns: numbers of worlds against all training sets, in whole numbers and in floats."""

from __future__ import annotations

import json
import math
import pickle
from collections import Counter
from dataclasses import replace
from itertools import combinations_with_replacement, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import batches
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

import recon
from solvers.engines import closed_form as separate_columns
from solvers.engines.closed_form import ColumnSums, columns_apart, count_by_columns, sequences
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Attribute, Box, Region, RowSpace
from solvers.statements.questions.query import Count, Sample
from solvers.statements.release import UNBOUNDED, Loose, Release, RowCount, Statement, Summand

PAGE = Path(__file__).parents[1] / "docs" / "published-models.md"
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


def adds(one, row):
    """Return what a row adds to a statement, by the words of it."""
    every = 0
    for summand in one.summands:
        inside = [all(mask >> row[k] & 1 for k, mask in box.literals) for box in summand.boxes]
        if inside[0] and not any(inside[1:]):
            every += summand.times * math.prod(coefs[row[k]] for k, coefs in summand.factors)
    return every


def drawn_statements(rng, space, truth):
    """Yield statements of one column or more, of one class, of several or none, that hold of some rows."""
    label = len(space.attributes) - 1
    if rng.random() < 0.7:
        for part in rng.permutation(3)[: rng.integers(1 + (rng.random() < 0.9), 4)].tolist():
            count = sum(row[label] == part for row in truth)
            yield Statement.count(Region(Box(((label, 1 << part),))), count, count + int(rng.random() < 0.03), "rows")
    for _ in range(int(rng.integers(1, 4))):
        k, literals, summands = int(rng.integers(0, label + (rng.random() < 0.1))), [], []
        if rng.random() < 0.6:
            literals.append((label, 1 << int(rng.integers(0, 3)) if rng.random() < 0.8 else int(rng.integers(1, 8))))
        for _ in range(int(rng.integers(1, 3))):
            parts = len(space.attributes[k].sizes)
            own = [(k, int(rng.integers(1, 1 << parts)))] if rng.random() < 0.5 and k != label else []
            minus = (Box(((k, 1),)),) if rng.random() < 0.1 else ()
            factor = ((k, tuple(rng.integers(-2, 3, parts).tolist())),) if rng.random() < 0.8 else ()
            region = Region(Box(tuple(sorted([*own, *literals]))), minus)
            summands.append(Summand(region, int(rng.integers(-1, 3)), factor))
            k = k if rng.random() < 0.9 else 0
        one = Statement(tuple(summands), 0, 0, "sum")
        found = sum(adds(one, row) for row in truth)
        low, high = found - int(rng.integers(0, 2)), found + int(rng.integers(0, 2))
        yield replace(one, low=low if rng.random() < 0.9 else -UNBOUNDED, high=high)


@pytest.mark.parametrize("batch", batches(4, 60))
def test_what_is_counted_column_by_column_is_what_all_rows_say(batch):
    """Random statements of three columns, the last of them the label: whatever is not refused is counted right."""
    space = RowSpace((Attribute("a", (1, 2)), Attribute("b", (1, 1)), Attribute("y", (1, 1, 2))), 2)
    cells = list(product(range(2), range(2), range(3)))
    sizes = [math.prod(space.attributes[k].sizes[p] for k, p in enumerate(row)) for row in cells]
    counted = 0
    for seed in range(25 * batch, 25 * batch + 25):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 4))
        truth = [cells[i] for i in rng.integers(0, len(cells), n)]
        stated = tuple(drawn_statements(rng, space, truth))
        release = Release(space, RowCount(n, n), (Loose(stated),))
        columns = columns_apart(release, Count("ordered"))
        if isinstance(columns, str):
            continue
        table = np.array([[adds(one, row) for one in stated] for row in cells])
        low, high = np.array([(one.low, one.high) for one in stated]).T
        want = 0
        for chosen in product(range(len(cells)), repeat=n):
            sums = table[list(chosen)].sum(axis=0)
            if (low <= sums).all() and (sums <= high).all():
                want += math.prod(sizes[i] for i in chosen)
        found = count_by_columns(columns, Count("ordered"), Limits())
        assert found.value == want > 0, (seed, stated)
        counted += 1
    assert counted > 2


def test_what_is_not_all_said_of_single_columns_is_left_to_others():
    space = RowSpace((Attribute("a", (1, 1)), Attribute("y", (1, 1))), 1)
    some = Statement.count(Region(Box(((0, 2),))), 1, 1, "ones")
    release = Release(space, RowCount(2, 2), (Loose((some,)),))
    assert count_by_columns(columns_apart(release, Count("ordered")), Count("ordered"), Limits()).value == 2 * 4
    for other in (
        replace(release, loosened=("something",)),
        replace(release, rows=RowCount(1, 2)),
        replace(release, impossible=(Box(((0, 1),)),)),
        replace(release, blocks=(Loose((replace(some, coarse=True),)),)),
        replace(release, observed=(object(),)),
        replace(release, domain=replace(space, relative=True)),
    ):
        assert isinstance(columns_apart(other, Count("ordered")), str)
    assert isinstance(columns_apart(release, Sample(1, 0, "ordered")), str)
    assert "contradicts" in columns_apart(
        replace(release, blocks=(Loose((Statement.count(Region(Box()), 3, 3, "all"),)),)), Count("ordered")
    )


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


@pytest.mark.slow
def test_naive_bayes_of_iris_removes_as_many_bits_as_the_page_says(tmp_path):
    from sklearn.datasets import load_iris

    features, label = load_iris(return_X_y=True, as_frame=True)
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(GaussianNB().fit(features, label)))
    domain = recon.Domain.from_frame(features.assign(species=label), label="species")
    found = recon.count(recon.load(str(path), domain=domain), convention="ordered")
    before = math.log2(math.prod(one.span[1] - one.span[0] for one in domain.all))
    low, high = found.bounds  # to some ten digits
    assert high - low < 1e-6
    assert f"{before - high / 150:.2f} of {before:.1f} bits per row are removed" in " ".join(PAGE.read_text().split())


def test_a_number_of_ninety_million_rows_is_not_written_out(tmp_path):
    """Its factorial took minutes, whatever --time: other engines answer with logarithms."""
    table = {"kind": "table", "statements": [{"where": {"a": 1}, "count": 40_000_000}]}
    domain = {"attributes": [{"name": "a", "values": [0, 1]}]}
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"recon": 1, "rows": 90_000_000, "domain": domain, "models": [table]}))
    release = recon.load(path).statements
    columns = columns_apart(release, Count("ordered"))
    assert not isinstance(columns, str)
    with pytest.raises(Unsupported, match="more than are written out"):
        columns.count(Limits())


def test_large_coefficients_with_a_common_part_are_counted_exactly(tmp_path):
    """Sums of millionths have as many values as the column: what all weights share is divided out of them."""
    attributes = [{"name": "a", "min": -1, "max": 2}]
    total = {"linear": [{"times": "1/1000"}, {"of": "a", "times": "123456789/1000000"}], "at_least": 300}
    release = {"recon": 1, "rows": 3, "models": [{"kind": "table", "statements": [total]}]}
    path = tmp_path / "release.json"
    path.write_text(json.dumps({**release, "domain": {"attributes": attributes}}), encoding="utf-8")
    found = recon.count(recon.load(path), "ordered")
    right = sum(123.456789 * sum(v) + 0.003 >= 300 for v in product(range(-1, 3), repeat=3))
    assert (found.status, found.value) == ("exact", right)
