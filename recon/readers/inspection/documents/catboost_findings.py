"""What CatBoost models give away: leaf weights, tables of categories, the mean of the labels."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from recon.io.files.budget import parsed_json
from recon.readers.formats.boosters.catboost.file import CatBoostFile, Symmetric, json_booster
from recon.readers.inspection.findings.findings import Finding, not_understood
from recon.readers.inspection.findings.severity import least
from recon.readers.inspection.ledger.entries import LedgerEntry

Found = tuple[str, int | None, list[Finding]]

_ZERO = "set the leaf weights to 0: predictions do not read them"


def catboost_json(content: Any) -> Found:
    """Return the same of a parsed JSON model of CatBoost."""
    return "CatBoost model as JSON", None, catboost_findings(json_booster(content)) + _unsorted(content)


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
              "who knows the rule"),
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
                     smallest=least(weights), models=trees)]  # fmt: skip
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
