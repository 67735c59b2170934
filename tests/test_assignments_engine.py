"""The engine over rows by position: what it says holds for the rows that the trees were fitted on."""

from __future__ import annotations

import random

import numpy as np
import pytest
from extras import encoded
from test_bags import random_forest, sequences

import recon
from solvers.chain import answer, ask
from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.foundation.limits import Limits
from solvers.questions.query import Locate, LocatedAnswer


def known_forests(seed, count):
    """Yield tiny forests with known bags: the release, the true rows, the row space, and how rows were drawn."""
    rng, done = random.Random(seed), 0
    while done < count:
        release, truth, space, how, _ = random_forest(rng, known=True)
        got = encoded(release)
        if got.statements.bags:
            done += 1
            yield got, truth, space, how


def parts_of_rows(got, truth):
    """Return the part of every attribute of the true rows; domains of these forests number values from 0."""
    out = []
    for k, attribute in enumerate(got.statements.domain.attributes):
        part = np.repeat(np.arange(len(attribute.sizes)), attribute.sizes)
        out.append(part[[row[k] for row in truth]])
    return np.array(out).T


def test_the_true_row_is_left_at_every_position():
    said = 0
    for got, truth, _, _ in known_forests("locate", 60):
        found = ask(got.statements, Locate(), LocatedAnswer, Limits())
        at = parts_of_rows(got, truth)
        assert (found.start <= at).all()
        assert (at < found.end).all()
        for k, left in found.sets.items():
            assert left[np.arange(len(at)), at[:, k]].all()
        assert (found.status == "exact") == (found.leaves_proved == 1.0)
        said += bool((found.end - found.start == 1).all())
    assert said


def test_a_contradiction_is_found():
    inner = [{"if": {"a": {"at_most": 0}}, "then": 2, "else": 1}, {"if": {"a": {"at_most": 1}}, "then": 3, "else": 4}]
    model = {"kind": "forest", "bootstrap": True, "multiplicities": [[3, 1, 1]]}
    model["trees"] = [{"nodes": [*inner, {"count": 2}, {"count": 2}, {"count": 1}]}]  # nowhere for who counts 3 times
    release = {"recon": 1, "domain": {"attributes": [{"name": "a", "min": 0, "max": 2}]}, "models": [model]}
    found = answer(encoded(release).statements, Locate(), Limits())
    assert found.status == "unsat"
    with pytest.raises(ContradictionError):
        ask(encoded(release).statements, Locate(), LocatedAnswer)


def test_rows_without_positions_are_refused_in_words():
    nodes = [{"if": {"a": {"at_most": 0}}, "then": 1, "else": 2}, {"count": 1}, {"count": 4}]
    domain = {"attributes": [{"name": "a", "min": 0, "max": 1}]}
    for model, words in (
        ({"kind": "forest", "trees": [{"nodes": nodes}] * 2}, "without bootstrap"),
        ({"kind": "forest", "trees": [{"nodes": nodes}], "bootstrap": True}, "the bags are not known"),
    ):
        got = encoded({"recon": 1, "domain": domain, "rows": 5, "models": [model]})
        with pytest.raises(Unsupported, match="no engine answers Locate") as caught:
            ask(got.statements, Locate(), LocatedAnswer)
        assert any(words in line for line in caught.value.reasons), caught.value.reasons


def settled_forests(seed, count):
    """Yield tiny forests whose leaves are all proved, with every sequence of rows that the bags explain."""
    rng, done = random.Random(seed), 0
    while done < count:
        release, truth, space, _, bags = random_forest(rng, known=True)
        got = encoded(release)
        if got.statements.bags and recon.count(got).status == "exact":
            done += 1
            yield got, truth, set(sequences(release, space, bags))


def rows_of(world):
    """Return the rows of a world in its order; values of these domains are whole numbers."""
    return tuple(tuple(int(v) for v in row) for row in world.to_frame().itertuples(index=False))


def test_worlds_of_rows_whose_leaves_are_proved():
    """Rows are in the order of the training file; a sample is uniform over datasets by position."""
    alone = several = 0
    for got, truth, every in settled_forests("worlds", 25):
        found = recon.reconstruct(got)
        assert rows_of(found) in every
        assert found.unique == (len({tuple(sorted(d)) for d in every}) == 1)
        if len(every) == 1:
            assert rows_of(found) == tuple(truth)
        listed = [tuple(sorted(rows_of(world))) for world in recon.worlds(got, None)]
        assert len(listed) == len(set(listed))
        assert set(listed) == {tuple(sorted(d)) for d in every}
        drawn = [rows_of(world) for world in recon.sample(got, 20)]
        assert set(drawn) <= every
        with pytest.raises(Unsupported):
            recon.sample(got, 1, convention="multiset")
        alone, several = alone + (len(every) == 1), several + (len(set(drawn)) > 1)
    assert alone
    assert several
