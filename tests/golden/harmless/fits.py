"""Fits every estimator of scikit-learn twice on different rows of one shape and stores both fits as pickles.

    python tests/golden/harmless/fits.py OUT [SECONDS]     (in an environment with the version to be looked at)
    python tests/golden/harmless/fits.py OUT statsmodels   the regressions of statsmodels, with and without their data

Every estimator is made in each of its variants: as it is, with a data frame, and with every flag turned and every
option of its parameters' constraints taken, one at a time. OUT/NAME.pickles holds the pickles of both fits, one pair
behind the other; `table.py` compares them.
"""

from __future__ import annotations

import inspect
import multiprocessing
import pickle
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.base import clone
from sklearn.utils import all_estimators

ROWS, COLUMNS, CLASSES = 61, 7, 3
SECONDS = 5  # of one fit
BUDGET = 12  # of one estimator, where no other is given


def data(seed):
    """Return what estimators are fitted on, by name: each (X, y), all of one shape whatever the seed."""
    draw = np.random.default_rng(seed)
    x = draw.normal(5, 2, (ROWS, COLUMNS))
    order = np.r_[np.arange(CLASSES), draw.integers(0, CLASSES, ROWS - CLASSES)]
    y = draw.permutation(order)
    target = x @ draw.normal(size=COLUMNS) + draw.normal(size=ROWS)
    bits = np.vstack([np.zeros(COLUMNS), np.ones(COLUMNS), draw.integers(0, 2, (ROWS - 2, COLUMNS))]).astype(int)
    words = [f"word{a} word{b} word{c}" for a, b, c in draw.integers(0, 40, (ROWS, 3))]
    columns = [f"c{j}" for j in range(COLUMNS)]
    return {
        "classes": (x, y), "target": (x, target), "two": (x, (y > 0).astype(int)), "bits": (bits, y),
        "targets": (x, np.c_[target, x[:, 0] + draw.normal(size=ROWS)]), "labels": (x, bits[:, :2]),
        "column": (x[:, 0], target), "texts": (words, y), "labels alone": (y, y), "label sets": (bits[:, :3], y),
        "dicts": ([{f"k{a}": 1.0, f"k{b}": 2.0} for a, b in draw.integers(0, 9, (ROWS, 2))], y),
        "sets": ([[int(v)] for v in y], None), "frame": (pd.DataFrame(x, columns=columns), y),
        "frame of bits": (pd.DataFrame(bits, columns=columns), y),
        "frame, target": (pd.DataFrame(x, columns=columns), target),
        "kernel": (x @ x.T, y),
        "missing": (np.where(draw.random((ROWS, COLUMNS)) < 0.1, np.nan, x), y),
        "above 0": (x, np.exp(target - target.mean())),
    }  # fmt: skip


def made(name, kind):
    """Yield one estimator of a class in each way that it can be made."""
    if name in {"GaussianRandomProjection", "SparseRandomProjection"}:
        yield kind(n_components=3)
    if name == "FrozenEstimator":
        from sklearn.linear_model import LogisticRegression

        x, y = data(1)["classes"]
        yield kind(LogisticRegression().fit(x, y))
        return
    try:
        from sklearn.utils._test_common.instance_generator import _construct_instances

        yield from _construct_instances(kind)
        return
    except (ImportError, Exception):
        pass
    try:
        from sklearn.utils.estimator_checks import _construct_instance

        yield _construct_instance(kind)
        return
    except (ImportError, Exception):
        pass
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.preprocessing import StandardScaler

    inner = LogisticRegression()
    given = {
        "ColumnTransformer": {"transformers": [("t", StandardScaler(), [0, 1])]},
        "Pipeline": {"steps": [("s", StandardScaler()), ("l", inner)]},
        "FeatureUnion": {"transformer_list": [("s", StandardScaler())]},
        "VotingClassifier": {"estimators": [("a", inner), ("b", inner)]},
        "StackingClassifier": {"estimators": [("a", inner), ("b", inner)]},
        "VotingRegressor": {"estimators": [("a", Ridge()), ("b", Ridge())]},
        "StackingRegressor": {"estimators": [("a", Ridge()), ("b", Ridge())]},
        "GridSearchCV": {"estimator": inner, "param_grid": {"C": [0.1, 1.0]}},
        "HalvingGridSearchCV": {"estimator": inner, "param_grid": {"C": [0.1, 1.0]}},
        "RandomizedSearchCV": {"estimator": inner, "param_distributions": {"C": [0.1, 1.0]}, "n_iter": 2},
        "HalvingRandomSearchCV": {"estimator": inner, "param_distributions": {"C": [0.1, 1.0]}},
        "SparseCoder": {"dictionary": np.eye(COLUMNS)},
    }  # fmt: skip
    if name in given:
        yield kind(**given[name])
        return
    signature = inspect.signature(kind)
    needed = [p.name for p in signature.parameters.values() if p.default is p.empty and p.kind != p.VAR_KEYWORD]
    yield kind(**dict.fromkeys(needed, inner))


def variants(model):
    """Yield parameters that differ from an estimator's own, one at a time; nothing first."""
    yield {}
    constraints = getattr(model, "_parameter_constraints", {})
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, bool) and name not in {"verbose"}:
            yield {name: not value} if name != "oob_score" else {name: True, "bootstrap": True}
        for one in constraints.get(name, ()) if isinstance(constraints, dict) else ():
            for option in sorted(getattr(one, "options", ()), key=str):
                if isinstance(option, str) and option != value and len(option) < 40:
                    yield {name: option}
        if name in {"random_state", "max_samples", "subsample"}:
            yield {name: {"random_state": 5}.get(name, 0.5)}
        if name == "class_weight":
            yield {name: "balanced"}


def out_of_time(*_):
    raise TimeoutError


def fitted(model, x, y):
    """Return an estimator fitted on rows, as a pickle; None where it cannot be."""
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = clone(model)
            alone = list(inspect.signature(one.fit).parameters) == ["y"]  # of labels, which have no columns
            return pickle.dumps(one.fit(y) if alone else one.fit(x, y), 4)
    except TimeoutError:
        return None
    except Exception:
        return None
    finally:
        signal.alarm(0)


def store(name, kind, file, budget):
    """Write every pair of pickles of one estimator into a file, one behind the other, in so many seconds."""
    signal.signal(signal.SIGALRM, out_of_time)
    first, second, begun = data(1), data(2), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = list(made(name, kind))
    with file.open("wb", buffering=0) as out:

        def pair(model, case):
            a = fitted(model, *first[case])
            b = fitted(model, *second[case]) if a is not None else None
            if b is not None:
                out.write(pickle.dumps((a, b), 4))
            return b is not None

        for model in models[:4]:
            usable = [case for case in first if pair(model, case)]
            for changed in variants(model):
                for case in usable[:1] + usable[-1:]:
                    if not changed or time.process_time() - begun > budget:
                        continue
                    try:
                        other = clone(model).set_params(**changed)
                    except Exception:
                        continue
                    pair(other, case)


def regressions(seed):
    """Yield the regressions of statsmodels on rows of one shape by name, as they are fitted and without their data."""
    import statsmodels.api as sm

    draw = np.random.default_rng(seed)
    x = sm.add_constant(
        pd.DataFrame(draw.normal(5, 2, (ROWS, COLUMNS - 1)), columns=[f"c{j}" for j in range(COLUMNS - 1)])
    )
    target = pd.Series(x @ draw.normal(size=COLUMNS) + draw.normal(size=ROWS), name="y")
    two = pd.Series(draw.permutation(np.arange(ROWS) % 2), name="y")
    classes = pd.Series(draw.permutation(np.arange(ROWS) % CLASSES), name="y")
    kinds = {
        "OLS": (sm.OLS, target), "Logit": (sm.Logit, two), "Poisson": (sm.Poisson, classes),
        "MNLogit": (sm.MNLogit, classes), "GLM_binomial": (sm.GLM, two, sm.families.Binomial()),
        "GLM_poisson": (sm.GLM, classes, sm.families.Poisson()), "GLM_gaussian": (sm.GLM, target),
    }  # fmt: skip
    for name, (kind, y, *family) in kinds.items():
        settings = {} if kind in {sm.OLS, sm.GLM} else {"disp": 0}
        for given in ({}, {"cov_type": "HC1"}):
            for columns, labels in ((x, y), (x.to_numpy(), y.to_numpy())):
                found = kind(labels, columns, *family).fit(**settings, **given)
                yield name, found
                found.summary()
                yield name, found
                found.remove_data()
                yield name, found


def store_regressions(out):
    """Store the pickles of both fits of every regression of statsmodels."""
    import statsmodels

    folder = out / f"statsmodels-{statsmodels.__version__}"
    folder.mkdir(parents=True, exist_ok=True)
    found = [[(name, pickle.dumps(one)) for name, one in regressions(seed)] for seed in (1, 2)]
    for name in dict(found[0]):
        with (folder / f"{name}.pickles").open("wb") as file:
            for (same, a), (_, b) in zip(*found, strict=True):
                if same == name:
                    pickle.dump((a, b), file)


def main():
    if sys.argv[2:] == ["statsmodels"]:
        store_regressions(Path(sys.argv[1]))
        return
    out = Path(sys.argv[1]) / f"sklearn-{sklearn.__version__}"
    out.mkdir(parents=True, exist_ok=True)
    budget = float(sys.argv[2]) if len(sys.argv) > 2 else BUDGET
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = all_estimators()
    for name, kind in kinds:
        if (out / f"{name}.pickles").exists():  # a run that was stopped goes on
            continue
        job = (name, kind, out / f"{name}.pickles", budget)
        worker = multiprocessing.get_context("fork").Process(target=store, args=job)
        worker.start()
        worker.join(2 * budget + SECONDS)  # native code does not look at the clock
        if worker.is_alive():
            worker.kill()
            worker.join()
        print(name, worker.exitcode, flush=True)


if __name__ == "__main__":
    main()
