"""Black boxes whose truth is known on all rows, and plain walks of release-file trees, for the tests of explainers."""

import itertools

import numpy as np

from recon.queries.inputs import RecordColumns


class Rule:
    """A black box that follows a function of rows; it counts the rows that it is asked about."""

    def __init__(self, function, classes=2):
        self.function, self.classes_, self.asked = function, np.arange(classes), 0

    def predict_proba(self, X):
        self.asked += len(X)
        return np.eye(len(self.classes_))[np.asarray(self.function(X), dtype=int)]


def every(d):
    """Return all 2^d rows of bits."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=d)))


def bits(d):
    """Return d columns of bits named a, b, c, ..."""
    return RecordColumns(tuple("abcdefghijklmnop"[:d]), (False,) * d)


def mixed(rng, rows=400):
    """Return rows of two numbers, one of few whole ones, and three bits, and their columns."""
    x = np.column_stack([rng.normal(size=rows), rng.integers(0, 9, rows), rng.random((rows, 3)) < 0.4]).astype(float)
    return x, RecordColumns(("size", "age", "p", "q", "r"), (True, True, False, False, False))


def walked(nodes, row, names):
    """Return the number of the release-file node where a row ends, in plain Python."""
    at = 0
    while "if" in nodes[at]:
        ((name, test),) = nodes[at]["if"].items()
        assert list(test) == ["at_most"]
        at = nodes[at]["then" if row[names.index(name)] <= test["at_most"] else "else"]
    return at
