"""The model files of the other libraries: imodels, CORELS, DL8.5, STreeD, boosters, nyoka, sklearn2pmml, R."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import make_data
import numpy as np
import truth
from truth import HERE, folder, record


def per_region(where: np.ndarray, y: np.ndarray) -> dict:
    """Return region ids and the rows per region and class."""
    classes, regions = np.unique(y), np.unique(where)
    return {"leaves": regions, "counts": truth.tally(where, regions, y, classes, np.ones(len(y), dtype=int))}


def zero_one(name: str) -> tuple[Any, np.ndarray]:
    """Return features and a label of 0 and 1."""
    x, y = make_data.read(name)
    return x, (y == "yes").to_numpy(dtype=int) if name == "people" else y.to_numpy()


# ---------------------------------------------------------------- imodels


def first_true(tests: list[np.ndarray], n: int) -> np.ndarray:
    """Return for each row the first rule that holds, len(tests) where none does."""
    return np.argmax([*tests, np.ones(n, dtype=bool)], axis=0)


def chain(model: Any, x: np.ndarray, y: np.ndarray) -> dict:
    """Greedy rule lists and trees of one exit per level: the side of the cutoff that the library sends out."""
    frugal = type(model).__name__.startswith("FastFrugal")
    tests = []
    for rule in model.rules_:
        if "index_col" in rule:
            column = x[:, rule["index_col"]]
            above = column > rule["cutoff"] if frugal else column >= rule["cutoff"]
            tests.append(~above if rule["flip"] else above)
    which = first_true(tests, len(x))
    counts = [[int(((which == k) & (y == c)).sum()) for c in (0, 1)] for k in range(len(tests) + 1)]
    assert [sum(c) for c in counts[:-1]] == [r["num_pts_right"] for r in model.rules_ if "index_col" in r]
    kept = [{k: v for k, v in r.items() if k != "depth"} for r in model.rules_]
    return {"rules": kept, "counts": counts, "test": "above" if frugal else "at least"}


def bayesian_list(model: Any, x: np.ndarray, y: np.ndarray) -> dict:
    """Bayesian rule lists: itemsets of binary columns, in order, "null" last."""
    sets = [[int(item.removeprefix("X_")) for item in s] for s in model.final_itemsets if s != "null"]
    which = first_true([x[:, s].astype(bool).all(axis=1) for s in sets], len(x))
    counts = [[int(((which == k) & (y == c)).sum()) for c in (0, 1)] for k in range(len(sets) + 1)]
    assert np.allclose(model.theta, [(c[1] + 1) / (sum(c) + 2) for c in counts])
    return {"rules": sets, "counts": counts, "theta": model.theta}


def rule_set(model: Any, x: np.ndarray, y: np.ndarray) -> dict:
    """Overlapping rules: rows of each class that each rule covers in the whole training set."""
    names = list(model.feature_names_in_)
    found = []
    for rule in model.rules_:
        holds = np.ones(len(x), dtype=bool)
        if isinstance(rule, list):  # BayesianRuleSet: names of binary columns, `_neg` for their negation
            for item in rule:
                column = x[:, names.index(item.removesuffix("_neg"))]
                holds &= (column == 0) if item.endswith("_neg") else (column == 1)
            text = " and ".join(rule)
        else:
            for column, sign, value in rule.terms:
                values, cut = x[:, int(column.removeprefix("X_"))], float(value)
                holds &= {"<=": values <= cut, ">": values > cut}[sign]
            text = str(rule)
        found.append({"rule": text, "counts": [int((holds & (y == c)).sum()) for c in (0, 1)]})
    return {"rules": found}


def figs(model: Any, x: np.ndarray, y: np.ndarray) -> dict:
    """Sums of trees: rows per leaf of each tree, left where the value is at most the threshold."""

    def leaves(node: Any, rows: np.ndarray) -> list:
        """Return the leaves in order, left first."""
        if node.left is None:
            return [{"counts": [int((rows & (y == c)).sum()) for c in np.unique(y)], "rows": int(rows.sum())}]
        left = x[:, node.feature] <= node.threshold
        return leaves(node.left, rows & left) + leaves(node.right, rows & ~left)

    return {"trees": [leaves(t, np.ones(len(x), dtype=bool)) for t in model.trees_], "leak": ["Y", "trees_.idxs"]}


def one_tree(model: Any, x: np.ndarray, y: np.ndarray) -> dict:
    """The scikit-learn tree inside: sizes are right, values of HSTree are shrunk."""
    inner = getattr(model, "estimator_", model)
    found = truth.tree(inner, x, y, inner.classes_)
    return {"trees": [found], "value": inner.tree_.value[:, 0, :], "reg_param": getattr(model, "reg_param", None)}


def stages(model: Any, x: np.ndarray, y: np.ndarray) -> dict:
    """Boosted stumps with AdaBoost's weights."""
    return {"trees": [truth.tree(t, x, y, t.classes_) for t in model.estimators_]}


def imodels_files() -> None:
    """Pickles of the rule learners of imodels."""
    import imodels

    place, library = folder(f"imodels-{version('imodels')}"), f"imodels {version('imodels')}"
    brl = {"max_iter": 200, "n_chains": 2, "random_state": 0}
    brs = {"n_rules": 20, "num_iterations": 100, "maxlen": 2, "random_state": 0}
    models: list[tuple[str, str, str, dict, Callable]] = [
        ("greedy", "GreedyRuleListClassifier", "people", {"max_depth": 4}, chain),
        ("greedy_bits", "GreedyRuleListClassifier", "bits", {"max_depth": 4}, chain),
        ("one_r", "OneRClassifier", "people", {"max_depth": 2}, chain),
        ("fast_frugal", "FastFrugalTreeClassifier", "people", {}, chain),
        ("brl", "BayesianRuleListClassifier", "bits", brl, bayesian_list),
        ("brs", "BayesianRuleSetClassifier", "bits", brs, rule_set),
        ("skope", "SkopeRulesClassifier", "people", {"n_estimators": 2, "random_state": 0}, rule_set),
        ("rule_fit", "RuleFitClassifier", "people", {"max_rules": 5, "random_state": 0}, rule_set),
        ("figs", "FIGSClassifier", "people", {"max_rules": 4}, figs),
        ("figs_regressor", "FIGSRegressor", "visits", {"max_rules": 3}, figs),
        ("hs_tree", "HSTreeClassifier", "people", {"max_leaf_nodes": 6}, one_tree),
        ("greedy_tree", "GreedyTreeClassifier", "people", {"max_depth": 3, "random_state": 0}, one_tree),
        ("boosted_rules", "BoostedRulesClassifier", "people", {"n_estimators": 3, "random_state": 0}, stages),
        ("c45", "C45TreeClassifier", "people", {"max_rules": 3}, lambda m, x, y: {"xml": m.tree_}),
    ]
    for name, kind, data, how, find in models:
        x, y = zero_one(data)
        np.random.seed(0)
        model = getattr(imodels, kind)(**how).fit(x, y)
        (place / f"{name}.pkl").write_bytes(pickle.dumps(model))
        found = find(model, x.to_numpy(dtype=float), y) | {"feature_names_in": list(x.columns)}
        record(f"{place.name}/{name}.pkl", data, library, f"{kind}({how})", found)


# ---------------------------------------------------------------- optimal rule lists and trees


def corels_files() -> None:
    """CORELS: the printed list, its saved pickle, the pickled classifier, and the form with counts of a known fork."""
    from corels import CorelsClassifier

    x, y = zero_one("bits")
    model = CorelsClassifier(max_card=2, c=0.01, n_iter=20000, verbosity=[])
    model.fit(x.to_numpy(), y, features=list(x.columns), prediction_name="recid")
    place, names = folder("corels-1.1.29"), list(x.columns)
    tests = [
        np.all([x.to_numpy()[:, abs(a) - 1] == (a > 0) for a in r["antecedents"]], axis=0)
        for r in model.rl().rules[:-1]
    ]
    which = first_true(tests, len(x))
    counts = [[int(((which == k) & (y == c)).sum()) for c in (0, 1)] for k in range(len(tests) + 1)]
    found = {"rules": model.rl().rules, "features": names, "counts": counts}
    model.rl().save(str(place / "list.save.pkl"))
    (place / "classifier.pkl").write_bytes(pickle.dumps(model))
    (place / "list.txt").write_text(str(model.rl()) + "\n", encoding="utf-8")
    fork = [dict(r, train_labels=c) for r, c in zip(model.rl().rules, counts, strict=True)]
    saved = {"f": names, "r": fork, "p": "recid"}
    (place / "list_with_counts.save.pkl").write_bytes(pickle.dumps(saved))
    (place / "list_with_counts.txt").write_text(with_counts(fork, names), encoding="utf-8")
    text = " ".join(repr(model.get_params()).split())
    for file in ("list.save.pkl", "classifier.pkl", "list.txt"):
        record(f"{place.name}/{file}", "bits", "corels 1.1.29", text, found)
    for file in ("list_with_counts.save.pkl", "list_with_counts.txt"):
        record(f"{place.name}/{file}", "bits", "written in the form of ferryjul/corels", text, found)


def with_counts(rules: list[dict], names: list[str]) -> str:
    """Return the printed list with the training counts per class behind each prediction."""
    lines = []
    for k, rule in enumerate(rules):
        items = [("" if a > 0 else "not ") + names[abs(a) - 1] for a in rule["antecedents"] if a]
        label = f"recid = {bool(rule['prediction'])} {rule['train_labels']}"
        head = "if" if k == 0 else "else if"
        lines.append(f"{head} [{' && '.join(items)}]:\n  {label}" if items else f"else \n  {label}")
    return "RULELIST:\n" + "\n".join(lines) + "\n"


def dl85_files() -> None:
    """DL8.5: the pickled classifier; left is the branch where the feature is 1."""
    from pydl85 import DL85Classifier

    place = folder(f"pydl8.5-{version('pydl8.5')}")
    x, y = zero_one("bits")
    table = x.to_numpy()
    for depth in (2, 3):
        model = DL85Classifier(max_depth=depth, min_sup=3).fit(x, y)

        def leaves(node: dict, rows: np.ndarray) -> list:
            """Return the leaves in order, left first, and check the library's own error counts."""
            if "feat" not in node:
                counts = [int((rows & (y == c)).sum()) for c in (0, 1)]
                assert sum(counts) - counts[node["value"]] == node["error"]
                return [counts]
            one = table[:, node["feat"]] == 1
            return leaves(node["left"], rows & one) + leaves(node["right"], rows & ~one)

        found = {"tree": model.base_tree_, "counts": leaves(model.tree_, np.ones(len(x), dtype=bool))}
        (place / f"depth_{depth}.pkl").write_bytes(pickle.dumps(model))
        record(f"{place.name}/depth_{depth}.pkl", "bits", f"pydl8.5 {version('pydl8.5')}", model, found)


def streed_files() -> None:
    """STreeD: the printed tree, the dot file with counts, the tree's string; no pickle is possible."""
    import contextlib
    import io

    from pystreed import STreeDClassifier

    place, library = folder(f"pystreed-{version('pystreed')}"), f"pystreed {version('pystreed')}"
    for data in ("bits", "people"):
        x, y = zero_one(data)
        model = STreeDClassifier(max_depth=3, max_num_nodes=4).fit(x, y)

        def leaves(node: Any) -> list:
            """Return the rows per class of the leaves, the branch that is not satisfied first."""
            if node.is_leaf_node():
                return [list(node.num_instances_per_class)]
            return leaves(node.left_child) + leaves(node.right_child)

        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            model.print_tree()
        (place / f"{data}.txt").write_text(printed.getvalue(), encoding="utf-8")
        model.export_dot(str(place / f"{data}.dot"))
        (place / f"{data}.tree.txt").write_text(str(model.get_tree()) + "\n", encoding="utf-8")
        for end in ("txt", "dot", "tree.txt"):
            record(f"{place.name}/{data}.{end}", data, library, model, {"counts": leaves(model.get_tree())})


# ---------------------------------------------------------------- boosted trees


def booster_data(data: str, text: bool) -> tuple[Any, np.ndarray]:
    """Return features (text columns as pandas categories) and the label, as text or as numbers."""
    x, y = make_data.read(data)
    for column in [c for c in x.columns if c in ("city", "grade")]:
        x[column] = x[column].astype("category")
    return x, y.to_numpy() if text or y.dtype == int else (y == "yes").to_numpy(dtype=int)


def light_gbm_files() -> None:
    """LightGBM: dump_model JSON, the model text, the pickled classifier."""
    import lightgbm

    place, library = folder(f"lightgbm-{version('lightgbm')}"), f"lightgbm {version('lightgbm')}"
    how: dict = {"n_estimators": 2, "num_leaves": 5, "min_child_samples": 5, "verbose": -1}
    for name, data in {"binary": "people", "classes": "plants", "categories": "shop", "missing": "gaps"}.items():
        x, y = booster_data(data, text=True)
        more = {"min_data_per_group": 5, "cat_smooth": 1} if name == "categories" else {}
        model = lightgbm.LGBMClassifier(**how, **more).fit(x, y)
        leaf = np.asarray(model.predict(x, pred_leaf=True))
        found = {"classes": model.classes_, "trees": [per_region(leaf[:, k], y) for k in range(leaf.shape[1])]}
        (place / f"{name}.json").write_text(json.dumps(model.booster_.dump_model(), indent=1), encoding="utf-8")
        (place / f"{name}.txt").write_text(model.booster_.model_to_string(), encoding="utf-8")
        (place / f"{name}.pkl").write_bytes(pickle.dumps(model))
        for end in ("json", "txt", "pkl"):
            record(f"{place.name}/{name}.{end}", data, library, model, found)


def xgboost_files() -> None:
    """XGBoost: save_model JSON and UBJSON, dump_model JSON with statistics, the pickled classifier."""
    import xgboost

    place, library = folder(f"xgboost-{version('xgboost')}"), f"xgboost {version('xgboost')}"
    how: dict = {"n_estimators": 2, "max_depth": 2, "n_jobs": 1}
    half = {"base_score": 0.5}
    models = [("half", "people", half), ("estimated", "people", {}), ("classes", "plants", half)]
    models += [("missing", "gaps", half), ("categories", "shop", half | {"enable_categorical": True})]
    for name, data, more in models:
        x, y = booster_data(data, text=False)
        model = xgboost.XGBClassifier(**how, **more).fit(x, y)
        leaf = np.asarray(model.apply(x)).reshape(len(x), -1).astype(int)
        found = {
            "trees": [per_region(leaf[:, k], y) for k in range(leaf.shape[1])],
            "base_score": more.get("base_score"),
        }
        model.save_model(place / f"{name}.json")
        model.save_model(place / f"{name}.ubj")
        model.get_booster().dump_model(place / f"{name}.dump.json", dump_format="json", with_stats=True)
        model.get_booster().dump_model(place / f"{name}.dump.txt", with_stats=True)
        (place / f"{name}.pkl").write_bytes(pickle.dumps(model))
        for end in ("json", "ubj", "dump.json", "dump.txt", "pkl"):
            text = f"XGBClassifier({how | more})"
            record(f"{place.name}/{name}.{end}", data, library, text, found)


def merged_leaves(model: Any, x: Any, saved: dict) -> list[np.ndarray]:
    """Return per symmetric tree the leaf of every row by its splits on numbers alone, computed from the rows.

    Where a tree has no other splits, the library's own calc_leaf_indexes must say the same.
    """
    numbers = [c for c in x.columns if c not in ("city", "grade")]
    theirs, found = np.asarray(model.calc_leaf_indexes(x)).astype(int), []
    for t, tree in enumerate(saved["oblivious_trees"]):
        leaf, k = np.zeros(len(x), dtype=int), 0
        for split in tree["splits"]:
            if split["split_type"] == "FloatFeature":
                column = x[numbers[split["float_feature_index"]]].to_numpy(dtype=np.float32)
                leaf |= (column > np.float32(split["border"])).astype(int) << k
                k += 1
        if k == len(tree["splits"]):
            assert (leaf == theirs[:, t]).all()
            assert np.bincount(leaf, minlength=len(tree["leaf_weights"])).tolist() == tree["leaf_weights"]
        found.append(leaf)
    return found


def catboost_files() -> None:
    """CatBoost: .cbm, JSON and the pickle that holds the .cbm; defaults draw rows (MVS) to choose the splits."""
    import catboost

    place, library = folder(f"catboost-{version('catboost')}"), f"catboost {version('catboost')}"
    how: dict = {"iterations": 3, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    how["random_seed"] = 0
    mixed = {"cat_features": ["city", "grade"], "one_hot_max_size": 3}
    models = [("binary", "people", "CatBoostClassifier", {}, "cbm json pkl")]
    models += [("bayesian", "people", "CatBoostClassifier", {"bootstrap_type": "Bayesian"}, "cbm")]
    models += [("ordered", "people", "CatBoostClassifier", {"boosting_type": "Ordered"}, "cbm")]
    models += [("classes", "plants", "CatBoostClassifier", {"loss_function": "MultiClass"}, "cbm json")]
    models += [("categories", "shop", "CatBoostClassifier", mixed, "cbm json pkl")]
    models += [("missing", "gaps", "CatBoostClassifier", {}, "cbm pkl")]
    models += [("regression", "visits", "CatBoostRegressor", {}, "cbm")]
    models += [("lossguide", "people", "CatBoostClassifier", {"grow_policy": "Lossguide", "depth": 6}, "cbm json")]
    models += [("weighted_classes", "people", "CatBoostClassifier", {"class_weights": [1, 2]}, "cbm")]
    for name, data, kind, more, ends in models:
        x, y = make_data.read(data)
        model = getattr(catboost, kind)(**how | more).fit(x, y)
        model.save_model(str(place / f"{name}.json"), format="json")
        model.save_model(str(place / f"{name}.cbm"))
        (place / f"{name}.pkl").write_bytes(pickle.dumps(model))
        saved = json.loads((place / f"{name}.json").read_text(encoding="utf-8"))
        compact = json.dumps(saved, separators=(",", ":")) + "\n"  # the library indents: three times the bytes
        (place / f"{name}.json").write_text(compact, encoding="utf-8")
        if "oblivious_trees" in saved and "class_weights" not in more:
            leaves = merged_leaves(model, x, saved)
        else:
            leaves = list(np.asarray(model.calc_leaf_indexes(x)).astype(int).T)
        found = {"classes": np.unique(y), "trees": [per_region(leaf, y.to_numpy()) for leaf in leaves]}
        for end in ("cbm", "json", "pkl"):
            if end in ends.split():
                record(f"{place.name}/{name}.{end}", data, library, f"{kind}({how | more})", found)
            else:
                (place / f"{name}.{end}").unlink()


# ---------------------------------------------------------------- PMML


def nyoka_files() -> None:
    """PMML by nyoka: counts of nodes are right, class counts are shares since scikit-learn 1.4."""
    from nyoka import skl_to_pmml
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import Pipeline
    from sklearn.tree import DecisionTreeClassifier

    place = folder(f"nyoka-{version('nyoka')}")
    library = f"nyoka {version('nyoka')} of scikit-learn {version('scikit-learn')}"
    few = {"n_estimators": 3, "max_depth": 3, "random_state": 0}
    models = [("tree", "people", DecisionTreeClassifier(max_depth=3, random_state=0))]
    models += [("tree_classes", "plants", DecisionTreeClassifier(max_depth=3, random_state=0))]
    models += [("forest", "people", RandomForestClassifier(**few))]
    models += [("forest_no_bootstrap", "people", RandomForestClassifier(bootstrap=False, **few))]
    for name, data, model in models:
        x, y = make_data.read(data)
        line = Pipeline([("model", model)]).fit(x, y)
        skl_to_pmml(line, list(x.columns), y.name, str(place / f"{name}.pmml"))
        record(f"{place.name}/{name}.pmml", data, library, line, truth.describe(model, x.to_numpy(), y))


def sklearn2pmml_files() -> None:
    """PMML by sklearn2pmml (Java): only shares, nodes compacted."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier
    from sklearn2pmml import sklearn2pmml
    from sklearn2pmml.pipeline import PMMLPipeline

    place = folder(f"sklearn2pmml-{version('sklearn2pmml')}")
    library = f"sklearn2pmml {version('sklearn2pmml')} of scikit-learn {version('scikit-learn')}"
    models = [("tree", "people", DecisionTreeClassifier(max_depth=3, random_state=0))]
    models += [("tree_classes", "plants", DecisionTreeClassifier(max_depth=3, random_state=0))]
    models += [("forest", "people", RandomForestClassifier(n_estimators=3, max_depth=3, random_state=0))]
    for name, data, model in models:
        x, y = make_data.read(data)
        line = PMMLPipeline([("model", model)]).fit(x, y)
        sklearn2pmml(line, str(place / f"{name}.pmml"))
        record(f"{place.name}/{name}.pmml", data, library, line, truth.describe(model, x.to_numpy(), y))


# ---------------------------------------------------------------- R


def r_files() -> None:
    """Put what make.R found (rpart's own `where`) into index.json."""
    for place in sorted(HERE.glob("rpart-*")):
        part: Path = place / "truth.json"
        for e in json.loads(part.read_text(encoding="utf-8")):
            record(f"{place.name}/{e['file']}", e["data"], e["library"], e["model"], e["truth"])
        part.unlink()
