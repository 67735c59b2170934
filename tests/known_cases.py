"""Random small forests with random knowledge by position: the truth is never excluded, leaf by leaf."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import recon
from recon.readers.loading.known_positions import with_known_positions
from recon.readers.loading.loading import release_of
from solvers.positions.assignments.world import assigned


def drawn(seed):
    """Return a random small forest, its true rows in order, and a random table of what is known of them."""
    rng = np.random.default_rng(seed)
    n, width, classes = int(rng.integers(20, 90)), int(rng.integers(2, 7)), int(rng.choice([2, 2, 3]))
    x = pd.DataFrame({f"c{j}": _column(rng, n) for j in range(width)})
    score = x.to_numpy(dtype=float) @ rng.normal(size=width) + rng.normal(size=n) * rng.choice([0.0, 1.0])
    y = np.digitize(score, np.quantile(score, rng.choice([[0.5], [0.9], [0.1]][: classes + 1], axis=0)))
    if classes == 3:
        y = np.digitize(score, np.quantile(score, [0.3, 0.85]))
    if len(np.unique(y)) < 2:
        y[0], y[1] = 0, 1
    leaves = int(rng.choice([1, 1, 3]))
    np.random.seed(seed)  # what a forest without random_state draws from
    forest = RandomForestClassifier(
        int(rng.integers(5, 40)), min_samples_leaf=leaves, random_state=None if seed % 5 == 0 else int(seed)
    ).fit(x, y)
    truth = x.assign(label=y)
    known = truth.astype(object)
    known = known.where(rng.random(known.shape) < rng.choice([0.05, 0.3, 0.8]), None)
    for name in known.columns:
        if rng.random() < 0.4:
            known[name] = None
    rows = np.sort(rng.permutation(n)[: int(rng.integers(1, n + 1))])
    table = known.iloc[rows].assign(position=rows)
    if not table.drop(columns="position").notna().any(axis=None):
        table["label"] = truth["label"].iloc[rows].to_numpy()
    return forest, truth, table


def _column(rng, n):
    """Return a random column: floats, few decimals, integers or bits."""
    kind = rng.integers(4)
    values = rng.normal(size=n) * 10
    return [values, values.round(1), values.round(), (values > 3).astype(int)][kind]


def failures(seed):
    """Return what is wrong beside random true knowledge: truth excluded (values, leaves), less proved, bad proofs."""
    forest, truth, table = drawn(seed)
    release = recon.encode(forest, recon.Domain.from_frame(truth, label="label")) if seed % 2 else release_of(forest)
    limits = recon.Limits(seconds=3600)
    plain = recon.positions(release, truth=truth, limits=limits).attrs
    found = recon.positions(release, truth=truth, known=table, limits=limits, certificates=seed % 4 == 0).attrs
    told = [
        f"a true value is excluded: {x['truth']['first_outside']}" for x in (plain, found) if not x["truth"]["inside"]
    ]
    told += ["a wrong label is proved"] if found["truth"]["labels_right"] != found["labels_known"] else []
    for beside in (release, with_known_positions(release, table)):
        told += [f"a true leaf is excluded: {x}" for x in _leaves_excluded(forest, truth, beside, limits)[:1]]
    if plain["complete"] and found["complete"]:
        told += [f"less is proved: {key}" for key in ("labels_known", "share_leaves_known") if found[key] < plain[key]]
    if proof := found["certificate"]:
        if not recon.verify(proof, release, known=table).verified:
            told.append("a proof is refused")
        if recon.verify(proof, release).verified:
            told.append("a proof holds without its table")
    return told


def _leaves_excluded(forest, truth, release, limits):
    """Return (position, tree) of the leaves, by scikit-learn's own walk, that a row cannot be in."""
    state = assigned(release.statements, limits)
    problem, x = state.problem, truth.drop(columns="label").to_numpy(dtype=np.float32)
    kind, out = np.searchsorted(forest.classes_, truth["label"]), []
    for t, one in enumerate(forest.estimators_):
        region = np.searchsorted(np.flatnonzero(one.tree_.children_left < 0), one.apply(x))
        own = {(int(problem.region[v]), int(problem.label[v])): v for v in problem.values(t)}
        for i in np.flatnonzero(problem.times[t] > 0).tolist():
            if own[int(region[i]), int(kind[i])] not in state.domains.of_row(i):
                out.append((i, t))
    return out
