"""One world of forests on floats whose bags are not known: how long local search takes, and whether it fits.

    python tests/bench/worlds.py [--quick | --lines BEGINNING ...] [--check]

Per line a forest of scikit-learn on its own data, read from its file as anybody reads it, and one world. "Rows off":
the world as float32 rows through scikit-learn's own trees, how many rows in all are in other leaves than the counts
say (of unknown bags: leaves that hold fewer rows than they must); where no world was found, how far off the best was.
Needs scikit-learn. What a line says: harness.py.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from harness import Job, Line, main, measured
from records import short

SHORT, LONG = 50.0, 60.0  # seconds for a world
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
QUICK = [name for name in ROWS if name not in {"RF no bootstrap bc 569x30", "ET diabetes 100x30", "ET bc 569x30"}]


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


def one_world(name: str, seconds: float) -> list[Line]:
    """Read a forest from its file, and find one world."""
    import joblib

    import recon
    from solvers.foundation.errors import Inconclusive
    from solvers.foundation.limits import Limits

    fit = measured(lambda: fitted(*ROWS[name]))

    def search(release):
        try:
            return recon.reconstruct(release, limits=Limits(seconds=seconds))
        except Inconclusive as error:
            return str(error)

    with tempfile.TemporaryDirectory() as folder:
        warm(Path(folder))
        path = Path(folder) / "model.joblib"
        joblib.dump(fit.found, path)
        read = measured(lambda: recon.load(path))
        work = measured(lambda: search(read.found), repeats=1)
    said = {"limit": f"{seconds:g} s", "read, CPU s": short(read.cpu)}
    if isinstance(work.found, str):
        best = re.search(r"at best ([\d,]+) rows off", work.found)
        more, less = {"world": "no"}, {} if best is None else {"rows off": float(best[1].replace(",", ""))}
    else:
        more, less = {"world": "yes"}, {"rows off": float(off(fit.found, ROWS[name][3], work.found.to_frame()))}
    return [Line(name, work, "fit of the model", fit, more=more, less=less, said=said)]


def warm(folder: Path) -> None:
    """Load what a search needs, and compile the loops once."""
    import joblib

    import recon

    joblib.dump(fitted("wine", 60, 3, "extra"), folder / "warm.joblib")
    recon.reconstruct(recon.load(folder / "warm.joblib"))


JOBS = {name: Job(one_world, (name, SHORT if name in QUICK else LONG), name in QUICK) for name in ROWS}

if __name__ == "__main__":
    main("worlds", JOBS)
