"""Sixty models as a careful office would make them, each with a declared domain: `built(folder)` writes the files.

Enough rows per leaf and class, no seeds where they can be left out, nothing stored beside the model. Trees take the
least leaf size of `LEAVES` at which every class has ten rows in every leaf. The data are those of the data folder
(RECON_DATA); everything is deterministic. Models of LightGBM and XGBoost stand in tests/golden/honest, made by
`python tests/honest_models.py FOLDER` with these libraries installed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

DATA = Path(os.environ.get("RECON_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
GOLDEN = Path(__file__).parent / "golden" / "honest"
LEAVES = (60, 100, 200, 300, 500, 1_000, 2_000, 4_000)
SETS = ("adult19", "adult24", "compas14", "compas27", "credit21", "people", "income")
POLICY = (
    'name = "careful office"\nextends = "preset:minimum-cell-10"\nclass_disclosure = "forbidden"\nmost_pinned = 0\n'
)


@dataclass(frozen=True)
class Honest:
    """One model: its name, what sort it is, its files, and the data it was fitted to."""

    name: str
    sort: str
    files: tuple[Path, ...]
    domain: Path | None
    data: str


@cache
def frame_of(name: str) -> pd.DataFrame:
    """Return a data set, label last: those of the folder, 20,000 people of the census, or incomes made of them."""
    if name not in ("people", "income"):
        return pd.read_csv(DATA / f"{name}.csv.gz")
    people = pd.read_csv(DATA / "census" / "people_28_tracts.csv.gz")
    people = people.sample(20_000, random_state=0).reset_index(drop=True)
    rng = np.random.default_rng(0)
    found = pd.DataFrame({"female": (people["sex"] == "female").astype(int), "age": people["age"].clip(0, 99)})
    found["hours"] = rng.integers(0, 61, len(found))
    if name == "people":
        found["black"] = (people["race"] == "black").astype(int)
        found["label"] = ((found["age"] + rng.normal(0, 25, len(found))) > 45).astype(int)
        return found
    found["income"] = np.clip(np.round(rng.lognormal(3.4, 0.6, len(found)) + found["hours"] / 3), 0, 250).astype(int)
    found["label"] = ((found["income"] + found["age"] / 2 + rng.normal(0, 30, len(found))) > 65).astype(int)
    return found


def features(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Return the features and the label of a data set."""
    return frame.iloc[:, :-1], frame.iloc[:, -1]


def domain_of(frame: pd.DataFrame, path: Path) -> Path:
    """Write the declared domain of a data set: what its documentation says, read off all its rows."""
    from encoders.domain.domain import Domain
    from recon.readers.formats.release.writing import domain_json, dump

    found = domain_json(Domain.from_frame(frame, label=str(frame.columns[-1])))
    path.write_text(dump({"recon": 1, "domain": {**found, "source": "declared"}}), "utf-8")
    return path


def careful(fit: Callable[[int], Any], x: pd.DataFrame, y: pd.Series) -> Any:
    """Return the tree of the least leaf size at which every leaf has ten rows of each class."""
    for leaf in LEAVES:
        model = fit(leaf)
        tree = model if hasattr(model, "tree_") else model[-1]
        at = model.apply(x) if hasattr(model, "tree_") else tree.apply(model[:-1].transform(x))
        if pd.crosstab(at, y.to_numpy()).to_numpy().min() >= 10:
            return model
    raise ValueError("no leaf size is careful enough")


def without_seeds(model: Any) -> Any:
    """Take out the seeds that a fitted forest stores."""
    model.random_state = None
    for tree in np.ravel(getattr(model, "estimators_", [])):
        tree.random_state = None
    return model


# ---------------------------------------------------------------- the models, by sort


def trees() -> Iterator[tuple[str, str, Any]]:
    """Yield nine trees."""
    from sklearn.tree import DecisionTreeClassifier

    for data in SETS:
        x, y = features(frame_of(data))
        yield (
            f"tree {data}",
            data,
            careful(lambda leaf, x=x, y=y: DecisionTreeClassifier(min_samples_leaf=leaf, max_depth=8).fit(x, y), x, y),
        )
    for data, criterion in (("people", "entropy"), ("adult19", "entropy")):
        x, y = features(frame_of(data))
        yield f"tree {data} {criterion}", data, careful(
            lambda leaf, x=x, y=y, criterion=criterion: DecisionTreeClassifier(
                criterion=criterion, min_samples_leaf=leaf, max_leaf_nodes=12
            ).fit(x, y), x, y,
        )  # fmt: skip


def rule_lists() -> Iterator[tuple[str, str, Any]]:
    """Yield six rule lists, as release files."""
    for data, width in (
        ("adult19", 1),
        ("adult24", 2),
        ("compas14", 1),
        ("compas27", 2),
        ("credit21", 1),
        ("credit21", 2),
    ):
        frame = frame_of(data)
        x, y = features(frame)
        rest, rules = np.ones(len(x), bool), []
        columns = [c for c in x.columns if 0.1 < x[c].mean() < 0.9]
        for k in range(4):
            names = columns[k * width : (k + 1) * width]
            inside = rest & (x[names] == 1).all(axis=1).to_numpy()
            counts = [int((inside & (y == v)).sum()) for v in (0, 1)]
            left = [int((rest & ~inside & (y == v)).sum()) for v in (0, 1)]
            if names and min(counts + left) >= 60:
                rules.append({"if": dict.fromkeys(names, 1), "counts": counts})
                rest &= ~inside
        rules.append({"if": {}, "counts": [int((rest & (y == v)).sum()) for v in (0, 1)]})
        yield f"rule list {data} {width}", data, {"kind": "rule_list", "rules": rules}


def forests() -> Iterator[tuple[str, str, Any]]:
    """Yield fifteen forests: of bags, of all rows, extremely random; with and without their seeds."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    def fitted(kind: Any, data: str, seeds: bool = False, **options: Any) -> Any:
        x, y = features(frame_of(data))
        model = kind(random_state=0, **options).fit(x, y)
        return model if seeds else without_seeds(model)

    for data, number, leaf in (
        ("adult19", 100, 60), ("adult24", 50, 60), ("compas14", 100, 60), ("compas27", 100, 60), ("credit21", 50, 100),
        ("people", 50, 60), ("income", 50, 60),
    ):  # fmt: skip
        yield (
            f"forest of bags {data}",
            data,
            fitted(RandomForestClassifier, data, n_estimators=number, min_samples_leaf=leaf),
        )
    yield (
        "forest of bags compas14 with its seeds",
        "compas14",
        fitted(RandomForestClassifier, "compas14", True, n_estimators=20, min_samples_leaf=300),
    )
    for data, number, leaf in (
        ("adult19", 5, 60),
        ("compas14", 10, 60),
        ("compas27", 3, 100),
        ("people", 5, 100),
        ("income", 3, 300),
    ):
        yield (
            f"forest of all rows {data}",
            data,
            fitted(
                RandomForestClassifier, data, n_estimators=number, min_samples_leaf=leaf, max_depth=6, bootstrap=False
            ),
        )
    yield (
        "extra trees compas14",
        "compas14",
        fitted(ExtraTreesClassifier, "compas14", n_estimators=10, min_samples_leaf=60),
    )
    yield (
        "extra trees income",
        "income",
        fitted(ExtraTreesClassifier, "income", n_estimators=3, min_samples_leaf=200, max_depth=3),
    )


def boosted() -> Iterator[tuple[str, str, Any]]:
    """Yield four boosted models of scikit-learn; six of LightGBM and XGBoost stand in `GOLDEN`."""
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

    for data, number in (("adult19", 5), ("income", 10)):
        x, y = features(frame_of(data))
        model = HistGradientBoostingClassifier(
            max_iter=number, min_samples_leaf=60, max_leaf_nodes=8, early_stopping=False
        )
        yield f"hist boosting {data}", data, model.fit(x, y)
    for data, number, depth in (("compas14", 10, 2), ("people", 5, 3)):
        x, y = features(frame_of(data))
        model = GradientBoostingClassifier(n_estimators=number, min_samples_leaf=60, max_depth=depth, random_state=0)
        yield f"gradient boosting {data}", data, without_seeds(model.fit(x, y))


def pipelines() -> Iterator[tuple[str, str, Any]]:
    """Yield ten pipelines and searches."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    for scaler, data in ((StandardScaler(), "people"), (MinMaxScaler(), "income"), (StandardScaler(), "adult19")):
        x, y = features(frame_of(data))
        yield f"pipeline {type(scaler).__name__} {data}", data, careful(
            lambda leaf, x=x, y=y, scaler=scaler: make_pipeline(
                scaler, DecisionTreeClassifier(min_samples_leaf=leaf, max_depth=6)
            ).fit(x, y), x, y,
        )  # fmt: skip
    for encoder, data in ((OneHotEncoder(), "compas14"), (OrdinalEncoder(), "compas14")):
        x, y = features(frame_of(data))
        first = ColumnTransformer([("encode", encoder, list(x.columns[:3]))], remainder="passthrough")
        yield f"pipeline {type(encoder).__name__} {data}", data, careful(
            lambda leaf, x=x, y=y, first=first: make_pipeline(
                first, DecisionTreeClassifier(min_samples_leaf=leaf, max_depth=6)
            ).fit(x, y), x, y,
        )  # fmt: skip
    x, y = features(frame_of("income"))
    bins = KBinsDiscretizer(5, encode="ordinal", strategy="uniform")
    yield (
        "pipeline KBinsDiscretizer income",
        "income",
        careful(
            lambda leaf: make_pipeline(bins, DecisionTreeClassifier(min_samples_leaf=leaf, max_depth=5)).fit(x, y), x, y
        ),
    )
    x, y = features(frame_of("compas27"))
    scaled = make_pipeline(
        StandardScaler(), RandomForestClassifier(n_estimators=20, min_samples_leaf=100, random_state=0)
    )
    scaled.fit(x, y)
    without_seeds(scaled[-1])
    yield "pipeline forest compas27", "compas27", scaled
    for search, data in ((GridSearchCV, "compas14"), (RandomizedSearchCV, "people")):
        x, y = features(frame_of(data))
        given = (
            {"min_samples_leaf": [200, 400]},
            {"n_iter": 2, "random_state": 0} if search is RandomizedSearchCV else {},
        )
        yield (
            f"{search.__name__} {data}",
            data,
            search(DecisionTreeClassifier(max_depth=4, min_samples_leaf=200), given[0], cv=3, **given[1]).fit(x, y),
        )
    x, y = features(frame_of("adult24"))
    yield "search of a pipeline adult24", "adult24", GridSearchCV(
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)),
        {"decisiontreeclassifier__max_depth": [2, 3]},
        cv=3,
    ).fit(x, y)  # fmt: skip


def tables() -> Iterator[tuple[str, str, Any]]:
    """Yield five tables of counts: margins, two margins, a cross table with small cells put together."""
    for data, names in (
        ("compas14", ["sex:Male"]), ("adult19", ["gender_Female", "hours_per_week_high"]), ("credit21", ["SEX_Female"]),
        ("adult24", ["age_high", "gender_Male"]), ("compas27", ["Gender=Male", "Age<=40"]),
    ):  # fmt: skip
        frame = frame_of(data)
        label = str(frame.columns[-1])
        statements: list[Any] = [{"count": len(frame)}]
        for values, inside in frame.groupby([*names, label]):
            where = {name: int(v) for name, v in zip([*names, label], values, strict=True)}
            statements.append({"where": where, "count": len(inside)})
        yield f"table {data}", data, {"kind": "table", "statements": statements}


def leaky() -> Iterator[tuple[str, str, Any]]:
    """Yield five trees that are not careful: `recon remedy` makes them meet the policy."""
    from sklearn.tree import DecisionTreeClassifier

    for data, leaf in (("adult19", 20), ("compas14", 5), ("compas27", 5), ("credit21", 10), ("people", 5)):
        x, y = features(frame_of(data))
        yield f"remedied {data}", data, DecisionTreeClassifier(min_samples_leaf=leaf, max_depth=6).fit(x, y)


def libraries(folder: Path) -> None:
    """Fit and write the models of LightGBM and XGBoost: leaves of at least 60 rows."""
    import lightgbm
    import xgboost

    for data, rounds in (("adult19", 5), ("compas14", 10), ("income", 5)):
        x, y = features(frame_of(data))
        options = {"objective": "binary", "num_leaves": 8, "min_data_in_leaf": 60, "verbose": -1, "num_threads": 1}
        made = lightgbm.train(options, lightgbm.Dataset(x.rename(columns=plain), y), rounds)
        made.save_model(folder / f"lightgbm_{data}.txt")
        options = {"objective": "binary:logistic", "max_depth": 3, "min_child_weight": 15, "nthread": 1}
        xgboost.train(options, xgboost.DMatrix(x.rename(columns=plain), y), rounds).save_model(
            folder / f"xgboost_{data}.json"
        )


def plain(name: str) -> str:
    """Return a column's name as these libraries take it."""
    return "".join(c if c.isalnum() else "_" for c in name)


# ---------------------------------------------------------------- files


SORTS: dict[str, tuple[Callable[[], Iterator[tuple[str, str, Any]]], ...]] = {
    "trees and rule lists": (trees, rule_lists),
    "forests": (forests,),
    "boosted": (boosted,),
    "pipelines": (pipelines,),
    "remedied and tables": (leaky, tables),
}


def built(folder: Path, *sorts: str) -> list[Honest]:
    """Write all models (of these sorts), their domains and the policy into a folder; return what stands where."""
    from recon.cli.app import main as recon_main

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policy.toml").write_text(POLICY)
    domains = {data: domain_of(frame_of(data), folder / f"{data}.domain.json") for data in SETS}
    out = []
    for sort, makers in SORTS.items():
        if sorts and sort not in sorts:
            continue
        for maker in makers:
            for name, data, made in maker():
                path = folder / f"{name}{'.json' if isinstance(made, dict) else '.joblib'}"
                if isinstance(made, dict):
                    declared = json.loads(domains[data].read_text())["domain"]
                    release = {"recon": 1, "domain": declared, "rows": len(frame_of(data)), "models": [made]}
                    path.write_text(json.dumps(release))
                else:
                    joblib.dump(made, path)
                domain = None if isinstance(made, dict) else domains[data]
                if name.startswith("remedied"):
                    better = path.with_suffix(".json")
                    sys.argv = ["recon", "remedy", *map(str, (path, "--domain", domain, "--policy"))]
                    sys.argv += [str(folder / "policy.toml"), "--out", str(better)]
                    try:
                        recon_main()
                    except SystemExit as end:
                        if end.code:
                            raise ValueError(f"{name}: exit code {end.code}") from None
                    path, domain = better, None
                out.append(Honest(name, sort, (path,), domain, data))
        if sort == "boosted":
            for path in sorted(GOLDEN.glob("*_*")):
                data = path.stem.split("_")[1]
                frame = frame_of(data).rename(columns=plain)
                domain = domain_of(frame, folder / f"{path.stem}.domain.json")
                out.append(Honest(path.stem.replace("_", " "), sort, (path,), domain, data))
    return out


if __name__ == "__main__":
    libraries(Path(sys.argv[1]))
