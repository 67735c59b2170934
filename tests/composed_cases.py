"""Random compositions of scikit-learn's objects, read back from a file and held against the rows they were fitted on.

Pipelines of transformers around and inside of votes, stacks, searches, calibrations on folds, thresholds and the fits
that cross-validation keeps; columns of whole numbers, halves, texts, with gaps. Whatever a step publishes has to be
stated of the rows and of the values that it saw: true rows that break a statement are a false answer of every question.
"""

from __future__ import annotations

import pickle
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_validate,
)
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import recon
from recon.readers.frames.world import violations
from recon.readers.loading.settled import strengthened_release
from solvers.foundation.errors import ReconError
from solvers.foundation.limits import Limits

SETTLING = 1.0  # seconds of work for what leaf values say
WRAPPERS = ("vote", "stack", "calibration", "calibrated pipeline", "search", "tuned", "fixed", "pipeline")
MODELS = ("tree", "tree", "forest", "extra", "bags", "boosting", "histograms", "ada", "bayes")


def columns(draw: random.Random) -> tuple[pd.DataFrame, Any]:
    """Return a table of two or three columns, and labels."""
    rows, rng, out = draw.choice([12, 30, 60]), np.random.default_rng(draw.randrange(1 << 30)), {}
    for j in range(draw.choice([2, 3])):
        kind = draw.choice(["whole", "halves", "texts", "gaps"])
        values: Any = rng.integers(0, 4, rows)
        if kind == "halves":
            values = rng.integers(0, 6, rows) / 2 + 0.25
        elif kind == "texts":
            values = np.array(["p", "q", "r", "s"])[rng.integers(0, draw.choice([2, 4]), rows)]
        elif kind == "gaps":
            values = np.where(rng.random(rows) < 0.2, np.nan, values)
        out[f"a{j}"] = values
    return pd.DataFrame(out), rng.integers(0, draw.choice([2, 2, 3]), rows)


def tree(draw: random.Random) -> Any:
    """Return a tree."""
    weight = draw.choice([None, None, "balanced"])
    depth, criterion = draw.choice([1, 2, None]), draw.choice(["gini", "entropy"])
    plain = DecisionTreeClassifier(max_depth=depth, criterion=criterion, class_weight=weight, random_state=0)
    return draw.choice([plain, ExtraTreeClassifier(max_depth=3, random_state=0)])


def model(draw: random.Random, depth: int = 0) -> Any:
    """Return a model, on up to two levels inside of something that holds models."""
    kind = draw.choice((*MODELS, *WRAPPERS)) if depth < 2 else draw.choice(MODELS)
    members = [(f"m{i}", model(draw, depth + 1)) for i in range(2)] if kind in {"vote", "stack"} else []
    makers: dict[str, Any] = {
        "tree": lambda: tree(draw),
        "forest": lambda: RandomForestClassifier(3, max_depth=3, random_state=1, bootstrap=draw.random() < 0.5),
        "extra": lambda: ExtraTreesClassifier(3, max_depth=3, random_state=1),
        "bags": lambda: BaggingClassifier(tree(draw), 3, random_state=1, max_features=draw.choice([1.0, 0.7])),
        "boosting": lambda: GradientBoostingClassifier(n_estimators=2, max_depth=2, subsample=draw.choice([1.0, 0.7])),
        "histograms": lambda: HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=draw.choice([2, 20])),
        "ada": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2),
        "bayes": lambda: draw.choice([GaussianNB(), MultinomialNB(), BernoulliNB(), ComplementNB()]),
        "vote": lambda: VotingClassifier(members),
        "stack": lambda: StackingClassifier(members, cv=2, passthrough=draw.random() < 0.5),
        "calibration": lambda: CalibratedClassifierCV(
            model(draw, depth + 1), cv=draw.choice([2, 3]), ensemble=draw.random() < 0.7
        ),
        "calibrated pipeline": lambda: CalibratedClassifierCV(pipeline(draw, depth + 1), cv=draw.choice([2, 3])),
        "search": lambda: GridSearchCV(model(draw, depth + 1), {}, cv=2),
        "tuned": lambda: TunedThresholdClassifierCV(model(draw, depth + 1), cv=2),
        "fixed": lambda: FixedThresholdClassifier(model(draw, depth + 1)),
        "pipeline": lambda: pipeline(draw, depth + 1),
    }
    return makers[kind]()


def numeric(draw: random.Random) -> Any:
    """Return a step that changes numbers, each column by itself."""
    encode, strategy = draw.choice(["ordinal", "onehot-dense"]), draw.choice(["uniform", "quantile"])
    steps = (StandardScaler(), StandardScaler(with_mean=False), MinMaxScaler(), MaxAbsScaler(), RobustScaler(),
             KBinsDiscretizer(3, encode=encode, strategy=strategy), QuantileTransformer(n_quantiles=5),
             Binarizer(threshold=1.0))  # fmt: skip
    return draw.choice(steps)


def pipeline(draw: random.Random, depth: int, frame: pd.DataFrame | None = None) -> Pipeline:
    """Return a pipeline of up to two numeric steps and a model, behind what makes numbers of the columns of a frame."""
    steps: list[Any] = []
    if frame is not None:
        numbers = [name for name in frame if is_numeric_dtype(frame[name])]
        parts: list[Any] = []
        if numbers:
            inner: list[Any] = []
            if frame[numbers].isna().any(axis=None) or draw.random() < 0.3:
                how = draw.choice(["mean", "median", "most_frequent", "constant"])
                inner = [SimpleImputer(strategy=how, fill_value=-1, add_indicator=draw.random() < 0.5)]
            parts.append(("numbers", make_pipeline(*inner, numeric(draw)), numbers))
        if texts := [name for name in frame if name not in numbers]:
            known = {"handle_unknown": "ignore", "sparse_output": False}
            few = OneHotEncoder(drop="first", min_frequency=draw.choice([None, 3]), **known)
            encoders = (OneHotEncoder(**known), few,
                        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1))  # fmt: skip
            parts.append(("texts", draw.choice(encoders), texts))
        steps.append(ColumnTransformer(parts, remainder=draw.choice(["drop", "passthrough"]), sparse_threshold=0))
    steps += [numeric(draw) for _ in range(draw.choice([0, 1, 1, 2]))]
    return make_pipeline(*steps, model(draw, depth))


def fitted(seed: int) -> tuple[Any, pd.DataFrame] | None:
    """Return what was fitted (a model, or what cross-validation keeps) and its rows; None where it cannot be fitted."""
    draw = random.Random(seed)
    frame, labels = columns(draw)
    plain = all(map(is_numeric_dtype, frame.dtypes)) and not frame.isna().any(axis=None)
    made = model(draw) if plain and draw.random() < 0.5 else pipeline(draw, 0, frame)
    how = draw.choice(["fit", "fit", "fit", "search", "dict", "list"])
    try:
        if how in {"dict", "list"}:
            found = cross_validate(made, frame, labels, cv=3, return_estimator=True, error_score="raise")
            return (found if how == "dict" else found["estimator"]), frame.assign(label=labels)
        made = GridSearchCV(made, {}, cv=2) if how == "search" else made
        return made.fit(frame, labels), frame.assign(label=labels)
    except (ValueError, TypeError):
        return None


def with_folds(release: recon.EncodedRelease, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the fold that each was in, where the release is of folds; its name for the label."""
    label = release.domain.label
    out = rows if label is None else rows.rename(columns={"label": label.name})
    if release.typed is None:
        return out
    name, folds = (
        release.domain.attributes[release.typed.attribute].name,
        3 if "fold 3" in release.typed.related.number else 2,
    )
    where = np.empty(len(rows), dtype=object)
    x = rows.drop(columns="label")
    for k, (_, held) in enumerate(StratifiedKFold(folds).split(x, rows["label"]), start=1):
        where[held] = f"fold {k}"
    return out.assign(**{name: where})


def tried(seed: int) -> tuple[list[str], dict[str, int]]:
    """Return what is false about the composition of a seed, and what became of it."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        if (made := fitted(seed)) is None:
            return [], {"not fitted": 1}
        content, rows = made
        path = Path(folder, "model.pkl")
        path.write_bytes(pickle.dumps(content))
        told, figures = list[str](), dict[str, int]()
        for domain in (recon.Domain.from_frame(rows, label="label"), None):
            outcome, broken = _outcome(path, rows, domain)
            figures[outcome] = figures.get(outcome, 0) + 1
            told += [f"{'guessed' if domain is None else 'declared'} domain: {line[:300]}" for line in broken[:3]]
    return told, figures


def _outcome(path: Path, rows: pd.DataFrame, domain: recon.Domain | None) -> tuple[str, list[str]]:
    """Return what became of a file, and the statements that its rows break."""
    try:
        release = recon.load(path, domain=domain)
    except ReconError:
        return "refused", []
    said = with_folds(release, rows)
    try:
        broken = violations(release, said) or violations(strengthened_release(release, Limits(work=SETTLING)), said)
    except ReconError:  # the guessed domain has other values than the rows
        if domain is not None:
            raise
        return "rows outside the guessed domain", []
    return "folds held" if release.typed is not None else "held", broken
