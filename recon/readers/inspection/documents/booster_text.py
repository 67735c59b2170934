"""What LightGBM and XGBoost write into their model texts: extremes and categories of the training columns."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

from recon.io.files.opening import parsed_json
from recon.readers.inspection.findings.findings import EXAMPLES, Finding

_NAMES = "feature_infos"
_PARAMETER = re.compile(r"\[([\w ]+): (.*)\]")
_CODES = re.compile(r"-?\d{1,9}(:-?\d{1,9})+")  # all values of a category, which a finding tells
_AGAIN = " (again)"
_ONE = frozenset(
    [
        "version",
        "num_class",
        "num_tree_per_iteration",
        "label_index",
        "max_feature_idx",
        "objective",
        "num_leaves",
        "num_cat",
        "is_linear",
        "shrinkage",
    ]
)
_RANGE = re.compile(r"\[([^:\]]+):([^\]]+)\]")
_KEEP = "edit the model: predictions do not read feature_infos; or clip the columns to public limits before training"


def lightgbm_text_findings(text: str, path: str) -> list[Finding]:
    """Return what LightGBM's model text gives away; `path` is where the text stands."""
    lines = dict(line.split("=", 1) for line in text.splitlines() if "=" in line[:40] and not line.startswith("["))
    names = text.partition("\nfeature_names=")[2].partition("\n")[0].split()
    infos = text.partition(f"\n{_NAMES}=")[2].partition("\n")[0].split()
    found = _range_findings([_RANGE.fullmatch(i) for i in infos], infos, names, path)
    categories = re.search(r"^pandas_categorical:(.*)$", text, re.MULTILINE)
    if categories is not None:
        parsed_json(categories.group(1))
        try:
            listed = json.loads(categories.group(1))
        except (ValueError, RecursionError):
            listed = None
        found += category_findings(listed, f"{path}(pandas_categorical)" if path else "pandas_categorical")
    if "leaf_count" in lines:
        found.append(counts_finding(path))
    return found


def lightgbm_as_json(text: str) -> dict[str, Any]:
    """Return the lines of LightGBM's model text as values: of the model, of its trees, of parameters.

    A line whose key stood before has no key of the form.
    """

    def put(held: dict[str, Any], key: str, value: Any) -> None:
        if key in held:
            held.setdefault(key + _AGAIN, []).append(value)
        else:
            held[key] = value

    found: dict[str, Any] = {"trees": [], "parameters": {}, "feature_importances": {}}
    at, after = found, False
    for line in text.splitlines():
        key, mark, value = line.partition("=")
        parameter = _PARAMETER.fullmatch(line)
        if line in {"end of trees", "feature importances:"}:  # before version 3 the trees have no end of their own
            at, after = found, True
        elif key == "Tree" and mark:
            at = {}
            found["trees"].append(at)
        elif parameter is not None:
            name = parameter.group(1)
            put(found["parameters"] if name not in found["parameters"] else at, name,
                parameter.group(2).replace(",", " "))  # fmt: skip
        elif line.startswith("pandas_categorical:"):
            listed: Any = line  # what is not JSON is no list
            with contextlib.suppress(ValueError, RecursionError):
                listed = json.loads(line.partition(":")[2])
            put(found, "pandas_categorical", listed)
        elif after and mark and not line.startswith("["):
            importances, name = found["feature_importances"], line.rpartition("=")[0]
            put(importances if name not in importances else found, name, value)
        elif mark:
            parts = value.split()
            parts = [_codes(v) if _is_codes(v) else v for v in parts] if ":" in value else parts
            put(at, key, value if key in _ONE else parts)
    return found


def _is_codes(text: str) -> bool:
    """Return whether a text lists codes of categories, each once."""
    return _CODES.fullmatch(text) is not None and len(set(codes := text.split(":"))) == len(codes)


def _codes(text: str) -> str:
    """Return in two words how far the codes of categories in a text go."""
    codes = [int(code) for code in text.split(":")]
    return f"codes {max(0, min(max(codes), 2 * len(codes)))}"


def counts_finding(path: str) -> Finding:
    """Return that a booster's trees say how many rows every leaf has."""
    return Finding(
        "medium", "leaf-counts", f"{path}(leaf_count)" if path else "leaf_count", "row counts of the leaves",
        "the training rows of every leaf of every tree (of a bag, if bagging was on); of the first tree, with "
        "leaf_value and leaf_weight, also the rows of each class", "set the counts to 0: predictions do not read them",
    )  # fmt: skip


def _range_findings(ranges: list[re.Match[str] | None], infos: list[str], names: list[str], path: str) -> list[Finding]:
    """Return that LightGBM's feature_infos give the exact extremes of numbers and all values of categories."""
    where = f"{path}({_NAMES})" if path else _NAMES
    notes = [f"{_name(names, i)} from {r.group(1)} to {r.group(2)}" for i, r in enumerate(ranges) if r is not None]
    found = []
    if notes:
        found.append(Finding(
            "medium", "extremes", where, f"ranges of {len(notes):,} columns",
            "the exact smallest and largest value of every column in the training data: " + "; ".join(notes[:EXAMPLES])
            + ("; ..." if len(notes) > EXAMPLES else ""), _KEEP,
        ))  # fmt: skip
    listed = [i for i, (r, info) in enumerate(zip(ranges, infos, strict=True)) if r is None and info != "none"]
    if listed:
        found.append(Finding(
            "medium", "categories", where, f"values of {len(listed):,} columns",
            "every category code that occurs in the training data, most frequent first: "
            + "; ".join(f"{_name(names, i)}: {infos[i][:60]}" for i in listed[:EXAMPLES]), _KEEP,
        ))  # fmt: skip
    return found


def _name(names: list[str], number: int) -> str:
    return names[number] if number < len(names) else f"column {number}"


def category_findings(listed: Any, path: str) -> list[Finding]:
    """Return that the categories of pandas columns stand in a model."""
    columns = [c for c in listed if isinstance(c, list) and c] if isinstance(listed, list) else []
    if not columns:
        return []
    values = tuple(v for v in columns[0][:EXAMPLES] if isinstance(v, (str, int, float)))
    return [Finding(
        "medium", "categories", path, f"categories of {len(columns):,} columns",
        "the values that the columns' pandas categories have (all that occur, unless more were declared)",
        "declare public categories before fitting", False, values,
    )]  # fmt: skip
