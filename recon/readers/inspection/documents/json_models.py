"""What models published as JSON give away: LightGBM and XGBoost dumps, rpart trees written from R."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from recon.readers.formats.boosters.catboost.file import looks_like_catboost_json
from recon.readers.formats.boosters.xgboost.model import looks_like_xgboost_dump
from recon.readers.inspection.documents.booster_text import category_findings, counts_finding
from recon.readers.inspection.documents.catboost_findings import catboost_json, catboost_values
from recon.readers.inspection.findings.findings import EXAMPLES, Finding, Level, not_understood
from recon.readers.inspection.ledger.forms import document_ledger

Found = tuple[str, int | None, list[Finding]]
_SUPPRESS = "round or suppress the counts, or add noise to them; recon audit says what they give away"


def json_kind(content: Any) -> str | None:
    """Return which kind of model parsed JSON is, None for none."""
    if isinstance(content, list):
        return "XGBoost dump" if looks_like_xgboost_dump(content) else None
    if not isinstance(content, dict):
        return None
    if "tree_info" in content and "feature_names" in content:
        return "LightGBM dump"
    if isinstance(content.get("learner"), dict):
        return "XGBoost model"
    if looks_like_catboost_json(content):
        return "CatBoost model as JSON"
    return "rpart" if "frame" in content else None


def json_findings(content: Any) -> Found | None:
    """Return kind, number of training rows and findings of parsed JSON; None where its kind is unknown."""
    kind = json_kind(content)
    if kind is None:
        return None
    values = catboost_values(content) if kind == "CatBoost model as JSON" else content
    odd = document_ledger(kind, values).findings()
    if kind == "XGBoost dump":
        return kind, None, [*hessians("cover"), *odd]
    if kind == "LightGBM dump":
        return kind, None, [*_lightgbm(content), *odd]
    if kind == "XGBoost model":
        return kind, None, [*_xgboost(content["learner"]), *odd]
    kind, rows, found = catboost_json(content) if kind == "CatBoost model as JSON" else _rpart(content)
    return kind, rows, [*found, *odd]


def _lightgbm(content: dict[str, Any]) -> list[Finding]:
    """Return what LightGBM's dump_model gives away."""
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
