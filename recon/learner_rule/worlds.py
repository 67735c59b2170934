"""Worlds drawn from those in which the learner could have chosen the model, exactly uniform where that is said."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from recon.learner_rule.counting import STAYS, ChosenModel, asked_learner, chosen_of
from recon.queries.answers.counting import convention_of
from recon.queries.questions.questions import drawn, one_fits
from recon.readers.frames.world import World, wrap
from recon.readers.loading.asking import Released, release_of
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.greedy.sampling import Sampler
from solvers.statements.release import RowWorld as SolverWorld

EXACT = "exactly uniform over the worlds in which the learner could have chosen this tree"


def sample(
    release: Released,
    k: int = 100,
    seed: int = 0,
    learner: str = "auto",
    convention: str | None = None,
    limits: Limits | None = None,
) -> Iterator[World]:
    """Yield k worlds drawn independently and uniformly from those in which the learner could have chosen the model.

    Of one tree over independent binary columns (`learner` "greedy" or "auto"): each world's note says whether the draw
    is exactly uniform, else how far from it at most (total variation). The rule does not look at the order of rows, so
    `assigned` and `ordered` are the same worlds. "midpoints": uniform over the worlds with the facts of the thresholds,
    where an engine draws these. Raises `Unsupported` for other models and for `multiset`, `ContradictionError` where
    the rule leaves no world, `Inconclusive` between two worlds.
    """
    limits = limits or Limits()
    release = release_of(release, limits)
    if k < 0:
        raise ReleaseError(f"cannot draw {k} worlds")
    known = asked_learner(release, learner)
    if learner == "midpoints":
        from recon.learner_rule.facts import with_facts

        return drawn(with_facts(release, known, limits), k, seed, convention, limits)
    try:
        chosen = chosen_of(release, known)
    except Unsupported as error:
        raise Unsupported(f"{error}; {STAYS}") from None
    if chosen.tree is None or chosen.rule is None:
        raise Unsupported("worlds under the learner's rule are drawn for trees, not for rule lists")
    if convention_of(release, convention) == "multiset":
        raise Unsupported(
            "under the learner's rule worlds are drawn uniformly as assigned or ordered, not as multisets"
        )
    one_fits(release, limits)
    sampler = Sampler.of(chosen.tree, len(chosen.columns), chosen.rule, limits)
    return worlds_of(chosen, sampler, k, seed, limits)


def worlds_of(chosen: ChosenModel, sampler: Sampler, k: int, seed: int, limits: Limits) -> Iterator[World]:
    """Yield worlds as they are drawn, rows in a random order."""
    note = EXACT if sampler.exact else f"uniform up to {sampler.variation:.2g} (total variation), else {EXACT}"
    rng = np.random.default_rng(seed)
    for i in range(k):
        limits.report(f"{i:,} of {k:,} worlds")
        limits.check(f"worlds were drawn ({i:,} of {k:,})")
        yield wrap(chosen.release, with_labels(chosen, sampler, sampler.world(rng), rng, note))


def with_labels(
    chosen: ChosenModel, sampler: Sampler, bits: NDArray[np.bool_], rng: np.random.Generator, note: str
) -> SolverWorld:
    """Return (rows, columns) bits as a world, with the labels of their rows."""
    labels = np.array(classes_of(chosen.release), dtype=np.int64)[sampler.class_of_row]
    rows = np.column_stack([bits.astype(np.int64), labels])[rng.permutation(len(labels))]
    return SolverWorld(rows, np.ones(len(rows), dtype=np.int64), note=note)


def classes_of(release: EncodedRelease) -> list[int]:
    """Return the positions of the label's values that the two classes of the chosen tree stand for.

    Classes without rows are left out, but two stay.
    """
    (model,), label = release.models, release.domain.label
    assert label is not None
    table = model.nodes.leaf_counts  # type: ignore[union-attr]  # a tree: others have been refused
    totals = table.values.reshape(len(table), -1).sum(axis=0)
    some = np.flatnonzero(totals > 0).tolist()
    return sorted([*some, *[i for i in range(len(totals)) if i not in some][: max(0, 2 - len(some))]])
