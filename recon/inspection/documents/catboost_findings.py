"""What CatBoost models give away: leaf weights, tables of categories, the mean of the labels."""

from __future__ import annotations

from typing import Any

from recon.formats.boosters.catboost.file import Booster, Symmetric, json_booster
from recon.inspection.findings.findings import Finding
from recon.inspection.findings.severity import least

Found = tuple[str, int | None, list[Finding]]

_ZERO = "set the leaf weights to 0: predictions do not read them"


def catboost_json(content: Any) -> Found:
    """Return the same of a parsed JSON model of CatBoost."""
    return "CatBoost model as JSON", None, catboost_findings(json_booster(content))


def catboost_findings(booster: Booster) -> list[Finding]:
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
                     smallest=least(weights), models=trees)]  # fmt: skip
    if booster.tables:
        found.append(Finding(
            "high", "category-tables", "ctr_data", f"{booster.tables:,} bytes of tables, not decoded",
            "for every category (as a hash, which a list of candidates turns back) and combination of categories the "
            "exact number of training rows, and of each class: categories of one row among them",
            "one_hot_max_size above the number of categories avoids the tables; or drop rare categories",
        ))  # fmt: skip
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
