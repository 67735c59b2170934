"""Two kinds of files: models that store training data outright, and PMML written here in the style of other tools.

The tools whose PMML is written here (IBM SPSS Modeler, KNIME, R's pmml) cannot be run; their forms follow the PMML 4.4
specification (dmg.org: TreeModel, RuleSetModel, MultipleModels). The counts in them are those of the training data.
"""

from __future__ import annotations

import pickle
from importlib.metadata import version
from xml.etree import ElementTree as Xml

import make_data
import numpy as np
import pandas as pd
from truth import folder, record

# ---------------------------------------------------------------- models that store training data


def rows_kept() -> list[tuple]:
    """Return (model, attributes that are training rows, labels or per-row figures) for numeric data."""
    from sklearn import cluster, decomposition, gaussian_process, isotonic, kernel_ridge, manifold, neighbors, svm
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import KNNImputer
    from sklearn.preprocessing import QuantileTransformer
    from sklearn.semi_supervised import LabelSpreading

    return [
        (neighbors.KNeighborsClassifier(3), {"_fit_X": "rows", "_y": "labels"}),
        (neighbors.KNeighborsClassifier(3, algorithm="brute"), {"_fit_X": "rows", "_y": "labels"}),
        (neighbors.RadiusNeighborsClassifier(2.0), {"_fit_X": "rows", "_y": "labels"}),
        (neighbors.NearestNeighbors(), {"_fit_X": "rows"}),
        (neighbors.LocalOutlierFactor(5), {"_fit_X": "rows", "negative_outlier_factor_": "per row"}),
        (KNNImputer(n_neighbors=2), {"_fit_X": "rows"}),
        (svm.SVC(), {"support_vectors_": "some rows", "support_": "row numbers"}),
        (gaussian_process.GaussianProcessClassifier(), {"base_estimator_": "rows and labels inside"}),
        (gaussian_process.GaussianProcessRegressor(), {"X_train_": "rows", "y_train_": "labels"}),
        (kernel_ridge.KernelRidge(kernel="rbf"), {"X_fit_": "rows"}),
        (decomposition.KernelPCA(2, kernel="rbf"), {"X_fit_": "rows"}),
        (QuantileTransformer(n_quantiles=20), {"quantiles_": "sorted columns"}),
        (cluster.KMeans(2, n_init=1, random_state=0), {"labels_": "per row"}),
        (cluster.Birch(n_clusters=2), {"labels_": "per row", "subcluster_centers_": "some rows"}),
        (cluster.DBSCAN(), {"labels_": "per row", "components_": "some rows"}),
        (LabelSpreading(), {"X_": "rows", "transduction_": "labels", "label_distributions_": "per row"}),
        (manifold.TSNE(perplexity=3, max_iter=250, random_state=0), {"embedding_": "per row"}),
        (isotonic.IsotonicRegression(), {"X_thresholds_": "some values", "y_thresholds_": "some values"}),
        (RandomForestClassifier(2, oob_score=True, random_state=0), {"oob_decision_function_": "per row"}),
    ]


def moments_kept() -> list[tuple]:
    """Return (model, attributes that are exact totals, extremes or counts of the training data)."""
    from sklearn import naive_bayes, preprocessing
    from sklearn.cross_decomposition import PLSRegression
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

    bins = preprocessing.KBinsDiscretizer(3, encode="ordinal", subsample=None, quantile_method="averaged_inverted_cdf")
    counts = {"class_count_": "counts", "feature_count_": "counts"}
    return [
        (preprocessing.StandardScaler(), {"mean_": "means", "var_": "variances"}),
        (preprocessing.MinMaxScaler(), {"data_min_": "extremes", "data_max_": "extremes"}),
        (preprocessing.MaxAbsScaler(), {"max_abs_": "extremes"}),
        (preprocessing.RobustScaler(), {"center_": "medians"}),
        (SimpleImputer(strategy="median"), {"statistics_": "medians"}),
        (bins, {"bin_edges_": "quantiles"}),
        (preprocessing.OneHotEncoder(), {"categories_": "values"}),
        (preprocessing.OrdinalEncoder(), {"categories_": "values"}),
        (preprocessing.TargetEncoder(target_type="binary", cv=2), {"encodings_": "means of the label"}),
        (naive_bayes.BernoulliNB(), counts),
        (naive_bayes.MultinomialNB(), {"class_count_": "counts", "feature_count_": "totals"}),
        (naive_bayes.CategoricalNB(), {"class_count_": "counts", "category_count_": "counts"}),
        (naive_bayes.GaussianNB(), {"class_count_": "counts", "theta_": "means", "var_": "variances"}),
        (PLSRegression(2), {"_x_mean": "means", "_x_std": "variances"}),
        (LogisticRegression(), {}),
        (LogisticRegressionCV(Cs=2, cv=2, l1_ratios=(0.0,), use_legacy_attributes=False), {}),
    ]


def shape(value: object) -> list | None:
    """Return the shape of an array, the shapes of a list of arrays, None for an estimator inside."""
    if isinstance(value, list):
        return [list(np.shape(v)) for v in value]
    return list(np.shape(value)) if isinstance(value, np.ndarray) else None


def leaky() -> None:
    """Pickle each model fitted on twenty rows and say which attribute holds what, with its shape."""
    place, library = folder("leaky"), f"scikit-learn {version('scikit-learn')}"
    numbers, kind = make_data.read("plants")
    words, bought = make_data.read("shop")
    bits, recid = make_data.read("bits")
    kinds = {"OneHotEncoder": words[["city", "grade"]], "OrdinalEncoder": words[["city", "grade"]]}
    for model, kept in rows_kept() + moments_kept():
        name = type(model).__name__
        x, y, data = numbers.head(20), (kind.head(20) > 0).astype(int), "plants"
        if name in kinds or name == "TargetEncoder":
            x, y, data = words[["city", "grade"]].head(20), bought.head(20), "shop"
        if name in ("BernoulliNB", "CategoricalNB"):
            x, y, data = bits.head(20), recid.head(20), "bits"
        if name == "IsotonicRegression":
            x = x["length"]
        model.fit(x, y)
        file = name + ("_brute" if getattr(model, "algorithm", "") == "brute" else "")
        (place / f"{file}.pkl").write_bytes(pickle.dumps(model))
        columns = list(x.columns) if x.ndim == 2 else [x.name]
        shapes = {a: shape(getattr(model, a)) for a in kept}
        found = {"kept": kept, "shapes": shapes, "columns": columns, "rows_used": 20}
        record(f"{place.name}/{file}.pkl", data, library, model, found)


# ---------------------------------------------------------------- predicates: one value, its XML and its meaning

OPERATORS = {
    "<": "lessThan",
    "<=": "lessOrEqual",
    ">": "greaterThan",
    ">=": "greaterOrEqual",
    "==": "equal",
    "!=": "notEqual",
}


def predicate(parent: Xml.Element, test: tuple) -> None:
    """Append the XML of a test: ("<=", field, value), ("isIn", field, values), ("and", tests...)."""
    head = test[0]
    if head == "true":
        Xml.SubElement(parent, "True")
    elif head in ("and", "or", "xor", "surrogate"):
        compound = Xml.SubElement(parent, "CompoundPredicate", booleanOperator=head)
        for part in test[1:]:
            predicate(compound, part)
    elif head in ("isIn", "isNotIn"):
        outer = Xml.SubElement(parent, "SimpleSetPredicate", field=test[1], booleanOperator=head)
        text = isinstance(test[2][0], str)
        array = Xml.SubElement(outer, "Array", n=str(len(test[2])), type="string" if text else "real")
        array.text = " ".join(f'"{v}"' if text else str(v) for v in test[2])
    elif head in ("isMissing", "isNotMissing"):
        Xml.SubElement(parent, "SimplePredicate", field=test[1], operator=head)
    else:
        Xml.SubElement(parent, "SimplePredicate", field=test[1], operator=OPERATORS[head], value=str(test[2]))


def holds(test: tuple, x: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row whether the test is true, and whether it is known (PMML's three-valued logic)."""
    head = test[0]
    if head == "true":
        return np.ones(len(x), dtype=bool), np.ones(len(x), dtype=bool)
    if head in ("and", "or", "surrogate"):
        parts = [holds(t, x) for t in test[1:]]
        if head == "surrogate":
            value, known = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=bool)
            for v, k in parts:
                value, known = np.where(known, value, v & k), known | k
            return value, known
        true = np.all([v & k for v, k in parts], axis=0) if head == "and" else np.any([v & k for v, k in parts], axis=0)
        false = [~v & k for v, k in parts]
        return true, true | (np.any(false, axis=0) if head == "and" else np.all(false, axis=0))
    column = x[test[1]]
    missing = column.isna().to_numpy()
    if head in ("isMissing", "isNotMissing"):
        return missing == (head == "isMissing"), np.ones(len(x), dtype=bool)
    if head in ("isIn", "isNotIn"):
        return column.isin(test[2]).to_numpy() == (head == "isIn"), ~missing
    value = {"<": column.lt, "<=": column.le, ">": column.gt, ">=": column.ge, "==": column.eq, "!=": column.ne}[head](
        test[2]
    )
    return value.to_numpy() & ~missing, ~missing


# ---------------------------------------------------------------- documents


def document(x: pd.DataFrame, y: pd.Series, tool: str) -> Xml.Element:
    """Return a PMML element with header and dictionary."""
    root = Xml.Element("PMML", version="4.4", xmlns="http://www.dmg.org/PMML-4_4")
    header = Xml.SubElement(root, "Header", copyright="synthetic data")
    Xml.SubElement(header, "Application", name=tool, version="written by hand")
    fields = Xml.SubElement(root, "DataDictionary", numberOfFields=str(x.shape[1] + 1))
    for name, column in [*x.items(), (y.name, y)]:
        text = column.dtype.kind not in "iuf"
        category = text or name == y.name
        kind = "string" if text else "integer" if column.dtype.kind in "iu" else "double"
        field = Xml.SubElement(
            fields, "DataField", name=str(name), optype="categorical" if category else "continuous", dataType=kind
        )
        if category:
            for value in sorted(column.dropna().unique()):
                Xml.SubElement(field, "Value", value=str(value))
        else:
            low, high = column.min(), column.max()
            Xml.SubElement(field, "Interval", closure="closedClosed", leftMargin=str(low), rightMargin=str(high))
    return root


def schema(parent: Xml.Element, x: pd.DataFrame, y: pd.Series) -> None:
    """Append the mining schema."""
    mining = Xml.SubElement(parent, "MiningSchema")
    for name in x.columns:
        Xml.SubElement(mining, "MiningField", name=name, usageType="active")
    Xml.SubElement(mining, "MiningField", name=str(y.name), usageType="target")


def distribution(
    parent: Xml.Element, rows: np.ndarray, y: pd.Series, confidence: bool, zeros: bool = True
) -> list[int]:
    """Append the class counts of some rows, in the order of the classes, and return them."""
    counts = [int((rows & (y == c)).sum()) for c in sorted(y.unique())]
    for value, n in zip(sorted(y.unique()), counts, strict=True):
        share = {"confidence": repr(n / max(1, int(rows.sum())))} if confidence else {}
        if n or zeros:
            Xml.SubElement(
                parent, "ScoreDistribution", value=str(value), recordCount=str(n) + ".0" * (not zeros), **share
            )
    return counts


def grow(parent: Xml.Element, node: tuple, x: pd.DataFrame, y: pd.Series, rows: np.ndarray, style: dict) -> list:
    """Append a node (test, children...) with the rows that reach it; return the counts of the leaves in order."""
    test, children = node[0], node[1:]
    true, known = holds(test, x)
    rows = rows & true & known
    style["id"] = style.get("id", -1) + 1
    score = y[rows].mode()[0]
    made = Xml.SubElement(parent, "Node", id=str(style["id"]), score=str(score), recordCount=str(rows.sum()))
    predicate(made, test)
    counts = distribution(made, rows, y, style.get("confidence", True), style.get("zeros", True))
    found, left = [], rows
    for child in children:
        found += grow(made, child, x, y, left, style)
        true, known = holds(child[0], x)
        left = left & ~(true & known)
    assert not children or not left.any(), "every row must go on to a child"
    return found if children else [counts]


def tree_model(parent: Xml.Element, node: tuple, x: pd.DataFrame, y: pd.Series, attributes: dict, style: dict) -> list:
    """Append a TreeModel and return the counts of its leaves."""
    model = Xml.SubElement(parent, "TreeModel", functionName="classification", **attributes)
    schema(model, x, y)
    return grow(model, node, x, y, np.ones(len(x), dtype=bool), style)


def write(name: str, data: str, root: Xml.Element, tool: str, found: dict) -> None:
    """Write one document and its entry."""
    place = folder("pmml-written")
    Xml.indent(root)
    Xml.ElementTree(root).write(place / f"{name}.pmml", encoding="UTF-8", xml_declaration=True)
    record(f"{place.name}/{name}.pmml", data, f"written in the style of {tool}", root[-1].tag, found)


def pmml() -> None:
    """Write the PMML files that no tool here can make."""
    knime()
    forest()
    rules()


def knime() -> None:
    """A tree with set predicates of several levels, and one with compound tests on missing values."""
    x, y = make_data.read("shop")
    older = (("and", (">", "age", 45), ("<=", "income", 60.5)), ("true",))
    node = (
        ("true",),
        (("isIn", "city", ["Rome", "Oslo"]), (("<=", "income", 30.0),), ((">", "income", 30.0),)),
        (
            ("isNotIn", "city", ["Rome", "Oslo"]),
            (("==", "grade", "high"), (older[0],), (older[1],)),
            (("!=", "grade", "high"),),
        ),
    )
    root = document(x, y, "KNIME")
    attributes = {"splitCharacteristic": "multiSplit", "missingValueStrategy": "lastPrediction"}
    attributes["noTrueChildStrategy"] = "returnNullPrediction"
    style = {"confidence": False, "zeros": False}
    write("knime_sets", "shop", root, "KNIME", {"counts": tree_model(root, node, x, y, attributes, style)})

    x, y = make_data.read("gaps")
    young = ("surrogate", ("<", "age", 45), ("<", "bmi", 27.5), ("true",))
    old = ("surrogate", (">=", "age", 45), (">=", "bmi", 27.5), ("true",))
    lean = ("or", ("isMissing", "bmi"), ("<=", "bmi", 25.5))
    node = (("true",), (young, (lean,), ((">", "bmi", 25.5),)), (old, (("==", "smoker", 0),), (("==", "smoker", 1),)))
    root = document(x, y, "SPSS")
    attributes = {"splitCharacteristic": "binarySplit", "missingValueStrategy": "none"}
    write("surrogates", "gaps", root, "IBM SPSS", {"counts": tree_model(root, node, x, y, attributes, {})})


def forest() -> None:
    """A voting forest of three trees on all rows (no resampling), as KNIME and r2pmml nest it."""
    x, y = make_data.read("people")
    root = document(x, y, "KNIME")
    model = Xml.SubElement(root, "MiningModel", functionName="classification")
    schema(model, x, y)
    segmentation = Xml.SubElement(model, "Segmentation", multipleModelMethod="majorityVote")
    found = []
    for k, (field, cut, other, second) in enumerate(
        [("age", 52, "bmi", 24.5), ("bmi", 26.3, "age", 40), ("smoker", 0.5, "children", 2.5)]
    ):
        segment = Xml.SubElement(segmentation, "Segment", id=str(k + 1))
        Xml.SubElement(segment, "True")
        split = ((("<=", other, second),), ((">", other, second),))
        node = (("true",), (("<=", field, cut), *split), ((">", field, cut),))
        found.append(tree_model(segment, node, x, y, {"splitCharacteristic": "binarySplit"}, {}))
    write("forest_majority", "people", root, "KNIME", {"trees": found})


def rules() -> None:
    """Rule sets: first hit with counts, as SPSS writes decision lists, and weighted sum where rules overlap."""
    x, y = make_data.read("shop")
    tests = [
        ("and", ("isIn", "city", ["Rome"]), (">", "age", 45)),
        ("and", ("==", "grade", "high"), (">=", "income", 40.0)),
        ("<", "age", 30),
    ]
    for method in ("firstHit", "weightedSum"):
        root = document(x, y, "SPSS")
        model = Xml.SubElement(root, "RuleSetModel", functionName="classification", algorithmName="RuleSet")
        schema(model, x, y)
        score = y.mode()[0]
        outer = Xml.SubElement(
            model, "RuleSet", defaultScore=str(score), recordCount=str(len(x)), nbCorrect=str((y == score).sum())
        )
        Xml.SubElement(outer, "RuleSelectionMethod", criterion=method)
        left, found = np.ones(len(x), dtype=bool), []
        for k, test in enumerate(tests):
            rows = holds(test, x)[0] & left
            first = y[rows].mode()[0]
            n, right = int(rows.sum()), int((y[rows] == first).sum())
            share = repr(right / n)
            figures = {"recordCount": str(n), "nbCorrect": str(right), "confidence": share, "weight": share}
            rule = Xml.SubElement(outer, "SimpleRule", id=f"RULE{k + 1}", score=str(first), **figures)
            predicate(rule, test)
            found.append(distribution(rule, rows, y, confidence=True))
            if method == "firstHit":
                left = left & ~rows
        rest = [int((left & (y == c)).sum()) for c in sorted(y.unique())] if method == "firstHit" else None
        write(f"rules_{method}", "shop", root, "IBM SPSS", {"counts": found, "default": rest})
