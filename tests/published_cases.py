"""Published tables as releases: census tracts, cross-tables, itemsets, histograms of a model, a Gram matrix.

Files of tests/published: `tract_a`, `tract_b`, `tract_c` (all counts of real tracts of 1, 11 and 87 people, "two or
more races" left out), `itemsets_0002` (1,150 frequent itemsets of COMPAS, 7,206 people, and their negative border),
`ebm14` (histograms of an Explainable Boosting Machine), `ols14` (the Gram matrix of a linear regression).
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

FILES = Path(__file__).parent / "published"
SIZES, PEOPLE = (2, 2, 2, 6, 2, 2, 6, 4), 60


def published(name: str) -> dict[str, Any]:
    """Return what a file of tests/published says."""
    found: dict[str, Any] = json.loads(gzip.decompress((FILES / f"{name}.json.gz").read_bytes()))
    return found


def itemsets(least: int) -> dict[str, Any]:
    """Return the itemsets of at least so many people (two or more), and what follows for those not listed."""
    release = published("itemsets_0002")
    figures = release["models"][0]["statements"]
    listed = [f for f in figures if "count" in f and f["count"] >= least]
    known = {frozenset(f.get("where", {}).items()) for f in listed} | {frozenset()}
    border = [f for f in figures if f.get("count", 0) < least and all(
        frozenset(less) in known for less in combinations(f["where"].items(), len(f["where"]) - 1)
    )]  # fmt: skip
    below = [{"where": f["where"], "at_least": 0, "at_most": least - 1} for f in border]
    release["models"][0]["statements"] = [*listed, *below]
    return release


def people(seed: int = 0) -> list[tuple[int, ...]]:
    """Return the people of `cross_tables`."""
    rng = random.Random(seed)
    return [tuple(rng.randrange(s) for s in SIZES) for _ in range(PEOPLE)]


def cross_tables(form: str) -> dict[str, Any]:
    """Return all 56 three-way tables of 60 people of 8 attributes: as a "table", or as "trees"."""
    attributes = [{"name": f"a{i}", "values": list(range(s))} for i, s in enumerate(SIZES)]
    rows, statements, trees = people(), [{"count": PEOPLE}], []
    for c in combinations(range(len(SIZES)), 3):
        for v in product(*[range(SIZES[i]) for i in c]):
            where = {f"a{i}": x for i, x in zip(c, v, strict=True)}
            statements.append({"where": where, "count": counted(rows, c, v)})
        trees.append({"kind": "tree", "name": " by ".join(f"a{i}" for i in c), "nodes": tree(rows, c)})
    models = [{"kind": "table", "statements": statements}] if form == "table" else trees
    return {"recon": 1, "domain": {"attributes": attributes}, "rows": PEOPLE, "models": models}


def counted(rows: Sequence[tuple[int, ...]], attributes: Sequence[int], values: Sequence[int]) -> int:
    """Return how many rows have the values of some attributes."""
    return sum(all(row[i] == v for i, v in zip(attributes, values, strict=True)) for row in rows)


def tree(rows: Sequence[tuple[int, ...]], c: Sequence[int]) -> list[dict[str, Any]]:
    """Return the nodes of a tree whose leaves are all combinations of some attributes' values."""
    nodes: list[dict[str, Any]] = []

    def grow(values: tuple[int, ...]) -> int:
        at = len(nodes)
        nodes.append({})
        if len(values) == len(c):
            nodes[at] = {"count": counted(rows, c, values)}
        else:
            split(values, 0, at)
        return at

    def split(values: tuple[int, ...], value: int, at: int) -> None:
        k = c[len(values)]
        last = SIZES[k] - 1
        then = grow((*values, value))
        if value + 1 == last:
            otherwise = grow((*values, last))
        else:
            otherwise = len(nodes)
            nodes.append({})
            split(values, value + 1, otherwise)
        nodes[at] = {"if": {f"a{k}": value}, "then": then, "else": otherwise}

    grow(())
    return nodes


def measured_people(number: int = 40, columns: int = 14, seed: int = 0) -> tuple[dict[str, Any], list[tuple[int, ...]]]:
    """Return people by measurements as a stored model's histograms give them, and the people: too many cells to list.

    Bins of every column, most of one person, and counts of three pairs of columns for each, empty ones left out.
    """
    rng = random.Random(seed)
    rows = [tuple(rng.randrange(number) for _ in range(columns)) for _ in range(number)]
    bins = [sorted({row[k] for row in rows}) for k in range(columns)]
    pairs = rng.sample(list(combinations(range(columns), 2)), 3 * columns)
    statements = []
    for c in [*((k,) for k in range(columns)), *pairs]:
        for v in sorted({tuple(row[i] for i in c) for row in rows}):
            where = {f"a{i}": x for i, x in zip(c, v, strict=True)}
            statements.append({"where": where, "count": counted(rows, c, v)})
    domain = {"attributes": [{"name": f"a{k}", "values": values} for k, values in enumerate(bins)]}
    return {"recon": 1, "domain": domain, "rows": number, "models": [{"kind": "table", "statements": statements}]}, rows


def as_csv(release: dict[str, Any]) -> list[str]:
    """Return the tables of `cross_tables("table")` as CSV files, one per three attributes."""
    by_names: dict[tuple[str, ...], list[str]] = {}
    for figure in release["models"][0]["statements"][1:]:
        names = tuple(figure["where"])
        line = ",".join(map(str, (*figure["where"].values(), figure["count"])))
        by_names.setdefault(names, [",".join((*names, "count"))]).append(line)
    return ["\n".join(lines) + "\n" for lines in by_names.values()]
