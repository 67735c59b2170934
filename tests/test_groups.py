"""Small groups, and groups of one class, proved and excluded: against brute force over all sets of people."""

from __future__ import annotations

import random
from functools import partial

import group_oracle
import oracle
import oracle_coupled
import pytest
from extras import batches, encoded

from solvers.engines.groups import disclosure, smallest
from solvers.engines.groups import published as items
from solvers.engines.groups.disclosure import known_classes, known_mixed_world, pinned_people, smallest_group
from solvers.engines.groups.published import items_of
from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements, statement_sums
from solvers.statements.release import UNBOUNDED

PER_BATCH = 40
LABEL = {"name": "y", "values": [0, 1]}
LIMITS = Limits(cells=20_000)


def forest(rng):
    """Draw a forest of two or three trees about the same rows."""
    release, _ = oracle.random_release(rng, models=rng.choice([2, 3]))
    trees = [{"nodes": m["nodes"]} for m in release["models"] if m["kind"] == "tree"]
    if len(trees) < 2:
        return None
    release["models"] = [{"kind": "forest", "trees": trees}]
    return release


def drawn(rng):
    """Draw a tiny release of some kind."""
    kind = rng.choice(["alone", "joined", "forest", "coupled", "coupled"])
    if kind == "forest":
        return forest(rng)
    if kind == "coupled":
        return oracle_coupled.random_coupled(rng)[0]
    return oracle.random_release(rng, models=1 if kind == "alone" else rng.choice([2, 3]))[0]


@pytest.mark.sampled(1, 2)
@pytest.mark.parametrize("by_label", [False, True])
@pytest.mark.parametrize("batch", batches(4, 20))
def test_smallest_group_against_all_sets(batch, by_label):
    rng, tried = random.Random(f"groups {batch} {by_label}"), 0
    while tried < PER_BATCH:
        release = drawn(rng)
        truth = "many" if release is None else group_oracle.smallest_group(release, by_label)
        if truth == "many":
            continue
        tried += 1
        got = encoded(release).statements
        size = UNBOUNDED if truth is None else truth
        for k in (2, 3, 5):
            mixed = partial(known_mixed_world, got, k, LIMITS) if tried % 2 else None
            found = smallest_group(got, k, LIMITS, by_label, mixed)
            assert found.low <= size <= found.high, (release, k)
            if size < k:
                assert found.high == size, (release, k, found.why)
            elif not got.unstated and not got.coarse:
                assert found.low >= k, (release, k, found.why)


@pytest.mark.sampled(1, 2)
@pytest.mark.parametrize("batch", batches(4, 20))
def test_classes_against_all_datasets(batch):
    rng, tried = random.Random(f"classes {batch}"), 0
    while tried < PER_BATCH:
        release = drawn(rng)
        if release is None or not release["domain"].get("label"):
            continue
        truth = group_oracle.known_classes(release)
        if truth == "many" or len(release["domain"]["label"].get("values", (0, 1))) < 2:
            continue
        tried += 1
        got = encoded(release).statements
        for most in (0, 1, 3):
            found = known_classes(got, most, LIMITS, partial(known_mixed_world, got, 2, LIMITS) if tried % 2 else None)
            assert found.low <= truth <= found.high, (release, most)
            if truth > most:
                assert found.low > most, (release, most, found.why)
            elif not got.unstated and not got.coarse:
                assert found.high <= most, (release, most, found.why)


def is_world(release, rows, times):
    """Say whether rows by their parts, each so many times, meet every statement; the kernel searches nothing."""
    facts = NumberedStatements(release, LIMITS)
    sums = statement_sums(facts, rows, times)
    return bool(((sums >= facts.low) & (sums <= facts.high)).all())


@pytest.mark.parametrize("whole", [1_000, 0])
def test_a_mixed_world_is_a_world_and_is_mixed(whole, monkeypatch):
    monkeypatch.setattr(disclosure, "MAX_FREE_CELLS", whole)
    domain = {"attributes": [{"name": "a", "min": 0, "max": 9}, {"name": "b", "min": 0, "max": 9}], "label": LABEL}
    trees = [
        {"nodes": [{"if": {name: {"at_most": 4}}, "then": 1, "else": 2}, {"counts": [30, 25]}, {"counts": [20, 35]}]}
        for name in "ab"
    ]
    got = encoded({"recon": 1, "domain": domain, "models": [{"kind": "forest", "trees": trees}]}).statements
    z, items = known_mixed_world(got, 5, LIMITS), items_of(got, LIMITS)
    filled = [c for c, n in enumerate(z) if n]
    boxes = [items.boxes([items.item[c]])[0] for c in filled]
    label = got.domain.label
    rows = []
    for c, box in zip(filled, boxes, strict=True):
        parts = {k: (mask & -mask).bit_length() - 1 for k, mask in box.literals} | {label: int(items.label[c]) - 1}
        rows.append(tuple(parts.get(k, 0) for k in range(len(got.domain.attributes))))
    times = [int(z[c]) for c in filled]
    assert is_world(got, rows, times)
    assert min(times) >= 5
    assert all(sum(row[:label] == other[:label] for other in rows) == 2 for row in rows)
    assert not is_world(got, rows, [times[0] + 1, *times[1:]])
    assert not is_world(got, rows, [times[0] - 1, times[1] + 1, *times[2:]])
    assert known_mixed_world(got, 56, LIMITS) is None  # no leaf has as many of a class


@pytest.mark.sampled(1, 3)
@pytest.mark.parametrize("whole", [1_000, 0])
@pytest.mark.parametrize("batch", batches(4, 20))
def test_people_pinned_down_against_all_datasets(batch, whole, monkeypatch):
    monkeypatch.setattr(disclosure, "MAX_FREE_CELLS", whole)  # 0: worlds over few cells
    rng, tried = random.Random(f"pinned {batch}"), 0
    while tried < PER_BATCH:
        release = drawn(rng)
        counts = None if release is None else group_oracle.tables(release, by_label=True)
        if counts is None:
            continue
        tried += 1
        got, truth = encoded(release).statements, int(counts.min(axis=0).sum())
        known = known_mixed_world(got, 1, LIMITS) if tried % 2 else None
        for most in (0, 2):
            found = pinned_people(got, most, LIMITS, known)
            assert found.low <= truth <= found.high, (release, most)
            if truth <= most and whole and not got.unstated and not got.coarse:
                assert found.high <= max(most, truth), (release, most, found.why)


@pytest.mark.parametrize("held", [[20, 30], [7, 43]])
def test_few_cells_without_a_world_are_not_taken_for_one(held, monkeypatch):
    """Cells chosen by vertices may leave a statement nobody: that is not a world, and no error."""
    monkeypatch.setattr(smallest, "MAX_FREE_CELLS", 0)
    monkeypatch.setattr(disclosure, "MAX_FREE_CELLS", 0)
    monkeypatch.setattr(disclosure, "MAX_FREE_CELLS", 0)
    nodes = [{"if": {"a": {"at_most": 4}}, "then": 1, "else": 2}, {"count": 25}, {"count": 25}]
    other = [{"if": {"b": {"at_most": 4}}, "then": 1, "else": 2}, *({"count": n} for n in held)]
    domain = {"attributes": [{"name": "a", "min": 0, "max": 9}, {"name": "b", "min": 0, "max": 9}], "label": LABEL}
    release = {"recon": 1, "domain": domain, "models": [{"kind": "tree", "nodes": one} for one in (nodes, other)]}
    got = encoded(release).statements
    widened, asked = items.CandidateCells.widened, []

    def nobody_at_first(self, starts):
        asked.append(starts)
        return widened(self, 0 if len(asked) == 1 else starts)

    monkeypatch.setattr(items.CandidateCells, "widened", nobody_at_first)
    assert smallest_group(got, 5, LIMITS).low == 5
    assert len(asked) == 2
    monkeypatch.setattr(items.CandidateCells, "widened", lambda self, starts: widened(self, 0))
    assert smallest_group(got, 5, LIMITS).low == 1
    found = known_classes(got, 0, LIMITS)
    assert (found.low, found.high, bool(found.why)) == (0, 50, True)
