"""Optimal trees and their ties against all trees listed one by one, a second solver, and what is published of them."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.domain.domain import Domain
from recon.learners.optimal.trees.table import distinct_rows, errors, leaves
from recon.learners.optimal.trees.tied_trees import tied_trees


def all_trees(bits, codes, depth, least, size, at=0, path=()):
    """List every tree as (errors, score, whether a split is needless), in plain Python.

    `size(depth, path)`: bits that a leaf leaves open about each of its rows.
    """
    classes = max(codes, default=0) + 1
    wrong = len(codes) - max((codes.count(c) for c in range(classes)), default=0)
    out = [(wrong, len(codes) * size(at, path), False)]
    if at == depth:
        return out
    for column in range(len(bits[0])):
        parts = [[i for i, row in enumerate(bits) if row[column] == v] for v in (0, 1)]
        if min(map(len, parts)) < max(1, least):
            continue
        sides = [
            all_trees(
                [bits[i] for i in some], [codes[i] for i in some], depth, least, size, at + 1, (*path, (column, v))
            )
            for v, some in enumerate(parts)
        ]
        for e0, s0, n0 in sides[0]:
            for e1, s1, n1 in sides[1]:
                out.append((e0 + e1, s0 + s1, n0 or n1 or e0 + e1 == wrong))
    return out


def summary(trees):
    """Return errors -> (number, least score, greatest score)."""
    found = {}
    for e, s, _ in trees:
        n, low, high = found.get(e, (0, math.inf, -math.inf))
        found[e] = n + 1, min(low, s), max(high, s)
    return found


def table(columns, rows, classes=2):
    return st.lists(
        st.tuples(*[st.integers(0, 1)] * columns, st.integers(0, classes - 1)), min_size=rows[0], max_size=rows[1]
    )


@settings(max_examples=40, deadline=None)
@given(table(3, (1, 14), 3), st.integers(1, 3), st.integers(1, 3))
def test_numbers_and_scores_are_those_of_all_trees(data, depth, least):
    bits, codes = [row[:-1] for row in data], [row[-1] for row in data]
    rows = distinct_rows(np.array(bits, dtype=bool), np.array(codes), max(codes) + 1)
    every = all_trees(bits, codes, depth, least, lambda at, path: 3 - at)
    for minimal in (False, True):
        wanted = summary([t for t in every if not (minimal and t[2])])
        best = min(wanted)
        found = tied_trees(rows, depth, least, slack=4, minimal=minimal)
        assert {t.errors: (t.trees, t.least, t.most) for t in found} == {
            e: one for e, one in wanted.items() if e <= best + 4
        }
        for t in found:
            for nodes, score in ((t.least_tree, t.least), (t.most_tree, t.most)):
                assert errors(nodes) == t.errors
                assert sum(sum(leaf.counts) * (3 - d) for leaf, d in with_depth(nodes)) == score
                assert len(nodes) == 1 or min(sum(leaf.counts) for leaf in leaves(nodes)) >= least


def with_depth(nodes, at=0, depth=0):
    """Yield the leaves of a tree with the number of tests above them."""
    if nodes[at].column is None:
        yield nodes[at], depth
        return
    yield from with_depth(nodes, nodes[at].zero, depth + 1)
    yield from with_depth(nodes, nodes[at].one, depth + 1)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 1)), min_size=4, max_size=14))
def test_scores_over_attributes_are_those_of_all_trees(data):
    """An attribute of four values seen by nested columns and one of three, of which one column sees one."""
    frame = pd.DataFrame({"a>0": [int(a > 0) for a, _, _ in data], "a>2": [int(a > 2) for a, _, _ in data]})
    frame["b=1"] = [b for _, b, _ in data]
    domain = nested()
    codes = [y for _, _, y in data]
    bits = [tuple(row) for row in frame.to_numpy().tolist()]
    points = [(a, b) for a in range(4) for b in range(3)]
    see = [lambda p: p[0] > 0, lambda p: p[0] > 2, lambda p: p[1] == 1]

    def size(_, path):
        return math.log2(sum(all(see[c](p) == bool(v) for c, v in path) for p in points))

    rows = distinct_rows(frame.to_numpy().astype(bool), np.array(codes), 2, domain, list(frame))
    wanted = summary(all_trees(bits, codes, 2, 1, size))
    found = tied_trees(rows, 2, 1, slack=3, minimal=False)
    assert found[0].errors == min(wanted)
    for t in found:
        assert t.trees == wanted[t.errors][0]
        assert (t.least, t.most) == pytest.approx(wanted[t.errors][1:], abs=1e-9)
        assert t.bits == pytest.approx(len(data) * math.log2(12))


@cache
def nested():
    from encoders.domain.values import Categorical, Test, View, equals

    attributes = Categorical("a", (0, 1, 2, 3)), Categorical("b", (0, 1, 2))
    columns = {
        "a>0": View("a", Test(values=(1, 2, 3))),
        "a>2": View("a", Test(values=(3,))),
        "b=1": View("b", equals(1)),
    }
    return Domain(attributes, Categorical("y", (0, 1)), columns)
