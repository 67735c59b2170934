"""One world of forests on floats whose bags are not known: how long local search takes, and whether it fits.

    python tests/bench/worlds.py [--seconds S] [row ...]

Per row a forest of scikit-learn on its own data, read from its file as anybody reads it, and one world within S
seconds (by default 300): processor seconds of the search (and of reading and encoding), yes or no, how far off the
best was, and the check: the world as float32 rows through scikit-learn's own trees, how many rows in all are in other
leaves than the counts say (of unknown bags: leaves that hold fewer rows than they must). Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

ROWS = {  # name -> data, rows (the first n of a random order), trees, kind
    "ET bc 100x30": ("bc", 100, 30, "extra"),
    "ET bc 569x10": ("bc", 569, 10, "extra"),
    "ET bc 569x20": ("bc", 569, 20, "extra"),
    "ET bc 569x30": ("bc", 569, 30, "extra"),
    "RF no bootstrap bc 569x20": ("bc", 569, 20, "whole"),
    "RF no bootstrap bc 569x30": ("bc", 569, 30, "whole"),
    "ET wine 178x30": ("wine", 178, 30, "extra"),
    "RF unknown bags bc 569x100": ("bc", 569, 100, "bags"),
    "RF unknown bags diabetes 100x30": ("diabetes", 100, 30, "bags"),
    "ET diabetes 100x30": ("diabetes", 100, 30, "extra"),
    "GB bc 569x1": ("bc", 569, 1, "boosting"),
}


def fitted(data: str, n: int, trees: int, kind: str):
    """Return a fitted model."""
    import numpy as np
    from sklearn import datasets
    from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier

    load = {"bc": datasets.load_breast_cancer, "wine": datasets.load_wine, "diabetes": datasets.load_diabetes}[data]
    x, y = load(return_X_y=True)
    y = (y > np.median(y)).astype(int) if data == "diabetes" else y
    at = np.random.default_rng(0).permutation(len(x))[:n]
    made = {
        "extra": lambda: ExtraTreesClassifier(trees, random_state=0),
        "whole": lambda: RandomForestClassifier(trees, bootstrap=False, random_state=0),
        "bags": lambda: RandomForestClassifier(trees, random_state=0),
        "boosting": lambda: GradientBoostingClassifier(n_estimators=trees, max_depth=None, random_state=0),
    }
    model = made[kind]().fit(x[at], y[at])
    if kind == "bags":  # the seeds would give them away
        model.random_state = None
        for tree in model.estimators_:
            tree.random_state = None
    return model


def off(model, kind: str, frame) -> int:
    """Return how many rows of a world are where scikit-learn's trees do not count them; see the head of this file."""
    import numpy as np

    x, y = frame.iloc[:, :-1].to_numpy(dtype=np.float32), frame.iloc[:, -1].to_numpy()
    wrong = 0
    for tree in np.ravel(model.estimators_):
        inner, leaf = tree.tree_.children_left >= 0, tree.tree_.apply(x)
        if kind == "boosting":  # only sizes stand in the file; classes follow from the values
            got = np.bincount(leaf, minlength=len(inner))
            wrong += int(np.abs(got - tree.tree_.n_node_samples)[~inner].sum())
            continue
        said = np.rint(tree.tree_.value[:, 0, :] * tree.tree_.weighted_n_node_samples[:, None])
        got = np.stack([np.bincount(leaf[y == c], minlength=len(inner)) for c in model.classes_], axis=1)
        if kind == "bags":  # each leaf holds its different rows, each of its classes at least one
            wrong += int(np.maximum(0, tree.tree_.n_node_samples - (got * (said > 0)).sum(axis=1))[~inner].sum())
            wrong += int(((said > 0) & (got == 0))[~inner].sum())
        else:
            wrong += int(np.abs(got - said)[~inner].sum())
    return wrong


def line(name: str, seconds: float, folder: Path) -> list[str]:
    """Return the line of one row."""
    import joblib

    import recon
    from solvers.foundation.errors import Inconclusive
    from solvers.foundation.limits import Limits

    model = fitted(*ROWS[name])
    path = folder / "model.joblib"
    joblib.dump(model, path)
    begun = time.process_time()
    release = recon.load(path)
    middle, wall = time.process_time(), time.perf_counter()
    try:
        world = recon.reconstruct(release, limits=Limits(seconds=seconds))
        found = ["yes", "0", str(off(model, ROWS[name][3], world.to_frame()))]
    except Inconclusive as error:
        best = re.search(r"at best ([\d,]+) rows off", str(error))
        found = ["no", best.group(1) if best else "?", "-"]
    took = time.process_time() - middle
    return [name, f"{middle - begun:.1f}", f"{took:.1f}", f"{time.perf_counter() - wall:.1f}", *found]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("rows", nargs="*", default=list(ROWS))
    chosen = parser.parse_args()
    names = ["forest", "read, CPU s", "search, CPU s", "wall s", "world", "off", "off in scikit-learn"]
    widths = [32, 11, 13, 7, 5, 5, 19]
    for cells in (names, ["-" * w for w in widths]):
        print("| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)) + " |")
    with tempfile.TemporaryDirectory() as folder:
        line("ET bc 569x10", 60, Path(folder))  # compiles, once
        for name in chosen.rows:
            cells = line(name, chosen.seconds, Path(folder))
            print("| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)) + " |", flush=True)


if __name__ == "__main__":
    main()
