"""What models published as JSON give away: LightGBM and XGBoost dumps, rpart trees written from R.

What CatBoost models give away: leaf weights, tables of categories, the mean of the labels.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from recon.io.files.opening import parsed_json
from recon.readers.formats.boosters.catboost_file import CatBoostFile, Symmetric, json_booster
from recon.readers.formats.detection import ACRO, ADDITIVE, CARD, CATBOOST, TREELITE, json_format
from recon.readers.inspection.findings.findings import EXAMPLES, Finding, Level, least_positive, not_understood
from recon.readers.inspection.ledger.entries import LedgerEntry
from recon.readers.inspection.ledger.forms import document_ledger

_ZERO = "set the leaf weights to 0: predictions do not read them"


def _catboost_json(content: Any) -> Found:
    """Return the same of a parsed JSON model of CatBoost."""
    return CATBOOST, None, catboost_findings(json_booster(content)) + _unsorted(content)


def cbm_entries(booster: CatBoostFile) -> list[LedgerEntry]:
    """Return the entries of the trees of a .cbm file; what it states of its training has a form of its own."""
    trees = booster.trees
    weights = 8 * sum(len(one.weight) for one in trees)
    values = 8 * sum(len(one.value) for one in trees)
    splits = 12 * sum(len(one.splits) for one in trees) + 4 * booster.borders
    names = sum(len(one.encode("utf-8", "replace")) for one in booster.names)
    return [
        LedgerEntry("trees[*].leaf_weights", "used", "values", weights, why="numbers of rows", figures="counts"),
        LedgerEntry("trees[*].leaf_values", "used", "values", values, why="sums of leaves", figures="values"),
        LedgerEntry("trees[*].splits", "assumed", "values", splits, why="which split, at which value: says more to "
              "anyone who knows the rule"),
        LedgerEntry("features", "harmless", "names", names, why="names of columns, bounded in length"),
        LedgerEntry("(between its parts)", "unknown", "bytes", booster.idle),
        LedgerEntry("tables", "unused", "tables of categories", booster.tables, None, "labels", "told by its finding"),
    ]  # fmt: skip


def catboost_values(content: Any) -> Any:
    """Return a parsed JSON model with the texts about its training as values: JSON in it, lines of `key: value`."""
    info = content.get("model_info") if isinstance(content, dict) else None
    if not isinstance(info, dict):
        return content
    return {**content, "model_info": {key: _value(one) for key, one in info.items()}}


def _value(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    if text[:1] == "{":
        try:
            parsed_json(text)
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    parts = [line.partition(":") for line in text.splitlines()]
    return {key.strip(): value.strip() for key, _, value in parts if key.strip()} if len(parts) > 1 else text


def _unsorted(content: Any) -> list[Finding]:
    """Return that borders of a column do not rise, as CatBoost's do: they may be values of rows."""
    found = content["features_info"].get("float_features")
    lists = [one.get("borders") for one in found or () if isinstance(one, dict)]
    odd = [one for one in lists if isinstance(one, list) and not all(a < b for a, b in pairwise(one))]
    size = 8 * sum(map(len, odd))
    return [not_understood("features_info.float_features", size, "borders that do not rise")] if odd else []


def catboost_findings(booster: CatBoostFile) -> list[Finding]:
    """Return what a CatBoost model gives away: leaf weights, tables of categories, the mean of the labels."""
    weights = [w for tree in booster.trees for w in tree.of_leaves]
    single = sum(w == 1 for w in weights)
    trees = len(booster.trees)
    text = f"the sum of the row weights of every leaf of {trees:,} trees: without weights the number of training rows"
    text += f" ({single:,} leaves have one row)" if single else ""
    first = booster.trees[0] if booster.trees else None
    if isinstance(first, Symmetric) and first.value:
        text += "; of the first tree the leaf values then give the rows of each class"
    found = [Finding("medium", "leaf-counts", "leaf_weights", f"{len(weights):,} leaf weights", text, _ZERO,
                     smallest=least_positive(weights), models=trees)]  # fmt: skip
    if booster.tables:
        found.append(Finding(
            "high", "category-tables", "ctr_data", f"{booster.tables:,} bytes of tables, not decoded",
            "for every category (as a hash, which a list of candidates turns back) and combination of categories the "
            "exact number of training rows, and of each class: categories of one row among them",
            "one_hot_max_size above the number of categories avoids the tables; or drop rare categories",
        ))  # fmt: skip
    if booster.idle:
        found.append(not_understood("(between its parts)", booster.idle, "a file in which nothing leads to them:"))
    if booster.bias:
        found.append(Finding(
            "medium", "class-shares", "scale_and_bias", f"bias {booster.bias:.10g}",
            "unless it was set by hand, a known function of the mean of the training labels (boost_from_average)",
            "train with boost_from_average=False",
        ))  # fmt: skip
    if booster.borders:
        found.append(Finding(
            "info", "thresholds", "features_info", f"{booster.borders:,} borders",
            "the borders that the trees use lie between two neighbouring values of the training column",
            "round the columns before training",
        ))  # fmt: skip
    return found


Found = tuple[str, int | None, list[Finding]]
_SUPPRESS = "round or suppress the counts, or add noise to them; recon audit says what they reveal"


def json_kind(content: Any) -> str | None:
    """Return which kind of model parsed JSON is, by the table of readers; None for none and cards."""
    form = json_format(content)
    if form is None or form.kind == CARD or (form.kind == "XGBoost model" and not isinstance(content["learner"], dict)):
        return None
    return form.kind


def json_findings(content: Any) -> Found | None:
    """Return kind, number of training rows and findings of parsed JSON; None where its kind is unknown."""
    kind = json_kind(content)
    if kind is None:
        return None
    odd = document_ledger(kind, catboost_values(content) if kind == CATBOOST else content).findings()
    if kind == ADDITIVE:
        return kind, *_additive(content["ebm"], odd)
    kind, rows, found = _KINDS[kind](content)
    return kind, rows, [*found, *odd]


def _lightgbm(content: dict[str, Any]) -> list[Finding]:
    """Return what LightGBM's dump_model gives away."""
    from recon.readers.inspection.documents.booster_text import category_findings, counts_finding

    found, notes, listed = [], [], []
    infos = content.get("feature_infos")
    for name, info in infos.items() if isinstance(infos, dict) else ():
        if isinstance(info, dict) and info.get("values"):
            listed.append(f"{name}: {str(info['values'])[:60]}")
        elif isinstance(info, dict) and "min_value" in info and info["min_value"] != info.get("max_value"):
            notes.append(f"{name} from {info['min_value']} to {info.get('max_value')}")
    fix = "leave feature_infos out of the dump, or clip the columns to public limits before training"
    if notes:
        follows = "the exact smallest and largest value of every column in the training data: "
        follows += "; ".join(notes[:EXAMPLES]) + ("; ..." if len(notes) > EXAMPLES else "")
        found.append(Finding("medium", "extremes", "feature_infos", f"ranges of {len(notes):,} columns", follows, fix))
    if listed:
        follows = "every category code that occurs in the training data: " + "; ".join(listed[:EXAMPLES])
        found.append(
            Finding("medium", "categories", "feature_infos", f"values of {len(listed):,} columns", follows, fix)
        )
    found += category_findings(content.get("pandas_categorical"), "pandas_categorical")
    return [*found, counts_finding("")]


def _additive(model: dict[str, Any], odd: list[Finding]) -> tuple[int | None, list[Finding]]:
    """Return the rows and what `to_json` of an Explainable Boosting Machine gives away, at any level of detail."""
    terms = [one for one in _dict_list(model, "terms") if "bin_weights" in one]
    columns = _dict_list(model, "features")
    found, rows = [], None
    if terms:
        weights = [numbers_in(one["bin_weights"]) for one in terms]
        total = sum(weights[0])
        rows = int(total) if total % 1 == 0 else None
        what = f"{sum(map(len, weights)):,} bins of {len(terms):,} terms"
        text = "the training rows in every bin of every column, and of pairs: bins that hold one row each"
        least = least_positive(v for one in weights for v in one)
        place = "ebm.terms[*].bin_weights"
        found.append(Finding("medium", "bin-counts", place, what, text, _MINIMAL, smallest=least, models=len(terms)))
    beside = ("min", "max", "num_unique_vals", "histogram_weights")
    kept = [key for key in beside if any(key in one for one in columns)]
    kept += [key for key in ("bag_weights", "best_iteration") if key in model]
    if kept:
        known = [f"{one.get('name')} from {one['min']} to {one.get('max')}" for one in columns if "min" in one]
        text = (
            "the smallest and the largest value of every column, how many different ones it has, rows in bins of equal "
        )
        text += f"width and of every bag: {'; '.join(known[:EXAMPLES])}"
        found.append(Finding("medium", "bin-statistics", "ebm", ", ".join(kept), text, _MINIMAL))
    ends = sum(len(level) for one in columns for level in one.get("cuts", ()) if isinstance(level, list))
    if ends:
        text = "every end lies halfway between two neighbouring training values, of up to 1,024 bins of a column"
        found.append(Finding("info", "thresholds", "ebm.features[*].cuts", f"{ends:,} ends of bins", text,
                             "round the columns before training, or set max_bins"))  # fmt: skip
    named = sum("categories" in one for one in columns)
    if named:
        text = "every category that occurs in the training data"
        found.append(Finding("medium", "categories", "ebm.features[*].categories", f"of {named:,} columns", text,
                             "declare public categories before fitting"))  # fmt: skip
    return rows, [*found, *odd]


_MINIMAL = "write it with to_json(detail='minimal'): predictions need no more"


def _dict_list(model: Any, key: str) -> list[dict[str, Any]]:
    held = model.get(key) if isinstance(model, dict) else None
    return [one for one in held if isinstance(one, dict)] if isinstance(held, list) else []


def numbers_in(value: Any) -> list[float]:
    """Return the numbers in lists in lists, in order."""
    stack, found = [value], []
    while stack:
        one = stack.pop()
        if isinstance(one, list):
            stack += one[::-1]
        elif isinstance(one, (int, float)) and not isinstance(one, bool):
            found.append(float(one))
    return found


def hessians(path: str) -> list[Finding]:
    """Return that XGBoost's nodes say the sum of their rows' hessians."""
    return [Finding(
        "medium", "leaf-hessians", path, "sums of hessians per node",
        "in the first tree the training rows of every leaf, cover / (p (1 - p)) with p from base_score, and with the "
        "leaf values the rows of each class; in later trees a sum over the rows of the leaf",
        "dump without with_stats; sum_hessian is not read by predictions",
    )]  # fmt: skip


def _xgboost(learner: dict[str, Any]) -> list[Finding]:
    """Return what XGBoost's model JSON gives away."""
    from recon.readers.inspection.documents.booster_text import category_findings

    found = hessians("learner.gradient_booster.model.trees[*].sum_hessian")
    booster = learner.get("gradient_booster")
    model = booster.get("model") if isinstance(booster, dict) else None
    stored = model.get("cats") if isinstance(model, dict) else None
    encoded = stored.get("enc") if isinstance(stored, dict) else None
    columns = [_texts(c) for c in encoded] if isinstance(encoded, list) else []
    found += category_findings([c for c in columns if c], "learner.gradient_booster.model.cats") + _loose(model)
    params = learner.get("learner_model_param")
    score = params.get("base_score") if isinstance(params, dict) else None
    if isinstance(score, str) and score.strip("[]") not in {"5E-1", "0.5"}:
        found.append(Finding(
            "medium", "class-shares", "learner.learner_model_param.base_score", f"base_score {score[:40]}",
            "unless it was set by hand, a known function of the mean of the training labels",
            "set base_score by hand before training",
        ))  # fmt: skip
    return found


def _loose(model: Any) -> list[Finding]:
    """Return that lists of categories are longer than what says where their parts begin."""
    trees, stored = (model.get("trees"), model.get("cats")) if isinstance(model, dict) else (None, None)
    more = 0
    for tree in trees if isinstance(trees, list) else ():
        if isinstance(tree, dict) and isinstance(tree.get("categories"), list):
            sizes = tree.get("categories_sizes")
            told = sum(v for v in sizes if isinstance(v, int)) if isinstance(sizes, list) else 0
            more += max(0, len(tree["categories"]) - told)
    encoded = stored.get("enc") if isinstance(stored, dict) else None
    for column in encoded if isinstance(encoded, list) else ():
        if (
            isinstance(column, dict)
            and isinstance(column.get("offsets"), list)
            and isinstance(column.get("values"), list)
        ):
            last = column["offsets"][-1] if column["offsets"] else 0
            more += max(0, len(column["values"]) - (last if isinstance(last, int) else 0))
    path = "learner.gradient_booster.model"
    return [not_understood(path, 8 * more, "lists of categories, behind their end,")] if more else []


def _texts(column: Any) -> list[Any]:
    """Return the category texts of a column as XGBoost stores them: one array of bytes and where each one begins."""
    if not isinstance(column, dict) or not isinstance(column.get("offsets"), list):
        return []
    offsets, values = column["offsets"], column.get("values")
    if not isinstance(values, list) or not all(isinstance(o, int) for o in offsets):
        return []
    try:
        raw = bytes(values)
    except (ValueError, TypeError):
        return list(values)  # numbers
    return [raw[a:b].decode("utf-8", "replace") for a, b in pairwise(offsets)]


def _treelite(content: dict[str, Any]) -> list[Finding]:
    """Return what treelite's JSON gives away: the rows of every node."""
    nodes = [node for tree in _dict_list(content, "trees") for node in _dict_list(tree, "nodes")]
    counts = numbers_in([one.get("data_count") for one in nodes])
    if not counts:
        return []
    text = "the training rows of every node that the tree saw; thresholds lie between two training values"
    fix = "leave data_count out: predictions do not read it"
    least = least_positive(counts)
    return [Finding("medium", "counts", "trees[*].nodes[*].data_count", f"{len(counts):,} nodes", text, fix,
                    smallest=least, models=len(content["trees"]))]  # fmt: skip


def _rpart(content: dict[str, Any]) -> Found:
    """Return what an rpart tree written as JSON gives away: its frame, and rows where y and where were left in."""
    frame = content.get("frame")
    lines = frame if isinstance(frame, list) else []
    sizes = frame.get("n") if isinstance(frame, dict) else [r.get("n") for r in lines if isinstance(r, dict)]
    rows = int(sizes[0]) if isinstance(sizes, list) and sizes and isinstance(sizes[0], (int, float)) else None
    found = [Finding("medium", "counts", "frame", "nodes of the tree", "the training rows of every node (n) and of "
                     "every class in it (yval2)", _SUPPRESS)]  # fmt: skip
    codes = content.get("csplit")
    flat = (
        [v for line in codes for v in (line if isinstance(line, list) else [line])] if isinstance(codes, list) else []
    )
    if any(v not in {1, 2, 3} for v in flat if not isinstance(v, (list, dict))):
        found.append(not_understood("csplit", 8 * len(flat), "what should be 1, 2 or 3,"))
    leaks: dict[str, tuple[Level, str]] = {
        "y": ("critical", "the label of every training row, in file order"),
        "where": ("high", "the leaf of every training row, in file order"),
        "x": ("critical", "the training rows"), "model": ("critical", "the training rows"),
    }  # fmt: skip
    for name, (level, follows) in leaks.items():
        value = content.get(name)
        if value:
            what = f"{type(value).__name__} of {len(value):,}" if isinstance(value, (list, dict)) else "value"
            found.append(Finding(level, f"rpart-{name}", name, what, follows, f"leave {name} out"))
    return "R rpart as JSON", rows, found


def _acro(content: Any) -> Found:
    """Return what the outputs of a record of acro reveal beyond what its checks look at."""
    from recon.readers.formats.statistics.acro_records import checked_outputs, table_files

    found = []
    files = table_files(content)
    for one in checked_outputs(content):
        at, what = f"results.{one.name}", f"{one.kind} ({one.method}), {one.status}"
        if one.freedom is not None:
            follows = f"{one.freedom:,} degrees of freedom are rows less coefficients, and say nothing of "
            if one.method.startswith("ols"):
                follows += "covariances, from which the number of people with both of any two properties follows"
                fix = "keep covariances out, or recon audit FILE of coefficients with covariances"
            else:
                follows += "what the equations of the fit give to anyone who has everybody's columns"
                fix = "few digits of the coefficients; recon labels MODEL --known-columns COLUMNS says what follows"
            found.append(Finding("medium", "checked-regression", at, what, follows, fix))
        elif one.mitigation == "round":
            follows = "rounded counts are intervals, which sums and other tables narrow: often to one number"
            fix = f"recon audit {one.files[0] if one.files else 'FILE'} --rounding BASE says what is left"
            found.append(Finding("medium", "checked-rounding", at, what, follows, fix))
        elif one.kind == "table":
            hidden = f"{one.failing:,} cells failed a check, and which ones stands here: " if one.failing else ""
            follows = f"{hidden}every table was checked by itself; cells may follow from others, by difference"
            fix = f"recon audit {' '.join(files[:3])}{' ...' if len(files) > 3 else ''} asks about them together"
            found.append(Finding("medium", "checked-table", at, what, follows, fix))
    return ACRO, None, found


_KINDS: dict[str, Callable[[Any], Found]] = {
    TREELITE: lambda content: (TREELITE, None, _treelite(content)),
    "XGBoost dump": lambda content: ("XGBoost dump", None, hessians("cover")),
    "LightGBM dump": lambda content: ("LightGBM dump", None, _lightgbm(content)),
    "XGBoost model": lambda content: ("XGBoost model", None, _xgboost(content["learner"])),
    CATBOOST: _catboost_json,
    "rpart": _rpart,
    ACRO: _acro,
}
