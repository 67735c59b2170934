"""Random tiny releases of coupled models: trees, forests, rule lists, rule sets and tables over the same rows.

`random_coupled` draws a release and the rows it was made from, so that at least one world exists; `contradictory`
changes one figure so that none does. What the releases mean is in oracle.py; brute force over all their datasets is
cheap, because there are at most 3,000 of them before the release speaks.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import oracle
from linear_figures import linear_figure
from oracle import Number, Row

KINDS = ("tree", "forest", "rule_list", "rule_set", "table")
_MAX_DATASETS = 3_000
_MAX_SPACE = 96
Slot = tuple[Any, Any]  # a dict or list of a release, and the key or index of one figure in it


def _multisets(size: int, number: int) -> int:
    return math.comb(size + number - 1, number) if number else 1


def _json(value: Number) -> int | float:
    value = oracle.canonical(value)
    return float(value) if isinstance(value, Fraction) else value


# ---------------------------------------------------------------- domains


def _shape(rng: random.Random) -> dict:
    """Draw the 2-4 values of an attribute: words, numbers, a range of integers, a decimal grid."""
    low, size, tenths = rng.choice([-2, 0, 1, 30]), rng.choice([2, 2, 3, 3, 4]), rng.randint(-3, 3)
    return rng.choice(
        [
            {"values": rng.sample(["red", "green", "blue", "grey"], size)},
            {"values": ["low", "mid", "high", "top"][:size]},
            {"values": ["0", "1", "2-3", ">3"][:size]},
            {"values": [0, 1]},
            {"values": [10, 20, 35, 70][:size]},
            {"values": [-0.5, 0.1, 2, 7.25][:size]},
            {"min": low, "max": low + size - 1},
            {"min": low, "max": low + size - 1},
            {
                "min": _json(Fraction(tenths, 10)),
                "max": _json(Fraction(tenths + size - 1, 10)),
                "resolution": 0.1,
            },
            {"min": 1, "max": 1 + (size - 1) / 4, "resolution": 0.25},
        ]
    )


def _domain(rng: random.Random, n: int) -> dict:
    """Draw a domain with few enough datasets of n rows: 2-4 attributes, sometimes a label, columns, a box."""
    while True:
        attributes = [{"name": f"a{k + 1}", **_shape(rng)} for k in range(rng.choice([2, 2, 2, 3, 3, 4]))]
        domain: dict[str, Any] = {"attributes": attributes}
        if rng.random() < 0.6:
            domain["label"] = {"name": "y", "values": rng.choice([[0, 1], [0, 1], ["no", "yes"], [0, 1, 2]])}
        plain = math.prod(len(values) for values in oracle._Space({"domain": domain}).values.values())
        if plain > 2 * _MAX_SPACE:
            continue
        if rng.random() < 0.4:
            domain["columns"] = oracle._random_columns(rng, oracle._Space({"domain": domain}))
        space = oracle._Space({"domain": domain})
        if rng.random() < 0.3:
            names = [*space.values, *space.columns] if rng.random() < 0.3 else None
            box = oracle._random_condition(rng, space, rng.randint(1, 2), names=names)
            if sum(not space.holds(box, row) for row in space.rows) > 1:
                domain["impossible"] = [box]
        size = len(oracle.rows({"domain": domain}))
        if size <= _MAX_SPACE and _multisets(size, n) <= _MAX_DATASETS:
            return {**domain, "source": "declared"}


# ---------------------------------------------------------------- tables


def _where(rng: random.Random, space: oracle._Space, truth: list[Row], *, met: bool) -> dict:
    """Draw a condition of 0-3 tests, the label included; with met=True one that some true row meets, if possible."""
    names = [*space.values, *space.columns]
    for _ in range(20):
        where = oracle._random_condition(rng, space, rng.choice([0, 1, 1, 2, 2, 3]), names=names)
        if not met or any(space.holds(where, row) for row in truth):
            return where
    return {}


def _published(rng: random.Random, exact: Number) -> dict:
    """Publish a figure exactly, rounded, cut off, or with an interval around it that contains it."""
    step = Fraction(1, 10 ** rng.choice([0, 0, 1, 2]))
    style = rng.choice(["exact", "exact", "rounded", "rounded", "cut off", "loose"])
    if style == "exact" and Fraction(exact * 1000).denominator == 1:
        return {"value": _json(exact), **rng.choice([{}, {}, {"within": 0}])}
    if style == "cut off":
        return {"value": _json(math.floor(exact / step) * step), "within": _json(step)}
    if style == "loose":
        return {"value": _json((round(exact / step) + rng.choice([-1, 0, 1])) * step), "within": _json(2 * step)}
    return {"value": _json(round(exact / step) * step), "within": _json(step / 2)}


def _bounds(rng: random.Random, number: int) -> dict:
    """Draw one or two bounds on a count."""
    both = {"at_least": rng.randint(max(0, number - 2), number), "at_most": number + rng.choice([0, 0, 1, 2])}
    kept = rng.choice([["at_least"], ["at_most"], list(both), list(both)])
    return {key: both[key] for key in kept}


def _suppressed(rng: random.Random, number: int) -> dict:
    """Draw a suppressed cell: primary where the count is small and not zero, else for another or no reason."""
    least = rng.randint(2, 4)
    if 1 <= number < least and rng.random() < 0.7:
        return {"suppressed": "primary", "at_least": 1, "at_most": least - 1}
    reason = rng.choice(["secondary", "unknown"])
    return {"suppressed": reason, **(_bounds(rng, number) if rng.random() < 0.4 else {})}


def _statement(rng: random.Random, space: oracle._Space, truth: list[Row]) -> dict:
    """Draw one statement of a table that the truth meets."""
    kind = rng.choice(["count", "count", "bounds", "mean", "mean", "total", "median", "median", "suppressed"])
    names = [*space.values] if rng.random() < 0.75 else [*space.values, *space.columns]
    numeric = [name for name in names if all(map(oracle._is_number, space.values_of(name)))]
    where = _where(rng, space, truth, met=kind in ("mean", "median") or rng.random() < 0.5)
    group = [row for row in truth if space.holds(where, row)]
    statement: dict[str, Any] = {} if not where and rng.random() < 0.5 else {"where": where}
    if rng.random() < 0.15:
        statement["name"] = f"cell {rng.randint(1, 99)}"
    if kind == "bounds":
        return {**statement, **_bounds(rng, len(group))}
    if kind == "suppressed":
        return {**statement, **_suppressed(rng, len(group))}
    of = rng.choice(numeric) if numeric else None
    figure = oracle._figure(kind, [space.value_at(of, row) for row in group]) if of and kind != "count" else None
    if figure is None:
        return {**statement, "count": len(group)}
    return {**statement, kind: {"of": of, **_published(rng, figure)}}


# ---------------------------------------------------------------- models


def _tree(rng: random.Random, space: oracle._Space, truth: list[Row]) -> dict:
    model = {"kind": "tree", "nodes": oracle._random_tree(rng, space)}
    oracle._fill_counts(rng, space, model, truth)
    return model


def _rule_set(rng: random.Random, space: oracle._Space, truth: list[Row]) -> dict:
    rules = [
        {"if": oracle._random_condition(rng, space, rng.choice([1, 1, 2, 2, 3]))} for _ in range(rng.randint(1, 4))
    ]
    if rng.random() < 0.1:
        rules.append({"if": rng.choice([{}, dict(rules[0]["if"])])})
    model = {"kind": "rule_set", "rules": rules}
    oracle._fill_counts(rng, space, model, truth)
    return model


def _model(rng: random.Random, kind: str, space: oracle._Space, truth: list[Row]) -> dict:
    """Draw a model of a kind with the figures of the true rows."""
    if kind == "tree":
        return _tree(rng, space, truth)
    if kind == "forest":
        trees = [{"nodes": _tree(rng, space, truth)["nodes"]} for _ in range(rng.randint(1, 4))]
        return {"kind": "forest", "trees": trees, "bootstrap": False}
    if kind == "rule_set":
        return _rule_set(rng, space, truth)
    if kind == "table":
        return {"kind": "table", "statements": [_statement(rng, space, truth) for _ in range(rng.randint(1, 5))]}
    if kind == "linear":  # only where it is asked for
        return {"kind": "table", "statements": [linear_figure(rng, space, truth) for _ in range(rng.randint(1, 3))]}
    model = {"kind": "rule_list", "rules": oracle._random_rules(rng, space)}
    oracle._fill_counts(rng, space, model, truth)
    return model


def _stated_rows(rng: random.Random, n: int, size: int) -> int | dict:
    """State the number of rows, or an interval around it with few enough datasets."""
    if rng.random() < 0.6:
        return n
    low, high = max(0, n - rng.choice([0, 1, 2])), n + rng.choice([0, 1, 2])
    while low < high and sum(_multisets(size, k) for k in range(low, high + 1)) > _MAX_DATASETS:
        low, high = (low, high - 1) if high > n else (low + 1, high)
    return {"at_least": low, "at_most": high}


def random_coupled(rng: random.Random, kinds: Sequence[str] | None = None) -> tuple[dict, list[Row]]:
    """Draw a tiny release of 1-3 models of these kinds (None: of all) and the 0-5 rows it was made from."""
    n = rng.choice([0, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5])
    release: dict[str, Any] = {"recon": 1, "domain": _domain(rng, n)}
    space = oracle._Space(release)
    possible = space.rows
    pool = rng.sample(possible, min(len(possible), rng.randint(1, 4))) if rng.random() < 0.4 else possible
    truth = [rng.choice(pool) for _ in range(n)]
    chosen = [rng.choice(kinds or KINDS) for _ in range(rng.choice([1, 1, 2, 2, 3]))]
    models = [_model(rng, kind, space, truth) for kind in chosen]
    for k, model in enumerate(models):
        if rng.random() < 0.15:
            model["name"] = f"model {k + 1}"
    partitions = oracle._partitions({"models": models})
    if all(map(oracle._lacks_default, partitions)):
        release["rows"] = _stated_rows(rng, n, len(possible))
    elif rng.random() < 0.5 or any(map(oracle._lacks_default, partitions)):
        release["rows"] = n
    release["models"] = models
    return release, truth


# ---------------------------------------------------------------- contradictions


def _change_count(rng: random.Random, slot: Slot) -> None:
    holder, key = slot
    holder[key] = max(0, holder[key] + rng.choice([-2, -1, 1, 1, 2]))


def _change_statement(rng: random.Random, release: dict, statement: dict) -> None:
    """Change one figure of a statement, its limits kept in order and a mean or median in the attribute's range."""
    kind = oracle._statement_kind(statement)
    if kind != "count":
        figure = statement[kind]
        value = oracle.canonical(figure["value"]) + rng.choice([-1, 1]) * Fraction(rng.choice([1, 5, 10, 20, 50]), 10)
        if kind != "total":
            values = oracle._Space(release).values_of(figure["of"])
            value = min(max(value, values[0]), values[-1])
        figure["value"] = _json(value)
    elif "count" in statement:
        _change_count(rng, (statement, "count"))
    elif ends := [key for key in ("at_least", "at_most") if key in statement]:
        if rng.choice(ends) == "at_least":
            most = statement.get("at_most", statement["at_least"] + 2)
            statement["at_least"] = rng.randint(statement["at_least"], most)
        else:
            statement["at_most"] = rng.randint(statement.get("at_least", 0), statement["at_most"])


def _change_partition(rng: random.Random, parts: list[dict], *, free: bool) -> None:
    """Move one row from one count to another, or (free) change one count; nothing where inner nodes have counts."""
    if any("if" in part and "then" in part and ("count" in part or "counts" in part) for part in parts):
        return
    slots: list[Slot] = [(part, "count") for part in parts if "count" in part]
    slots += [(part["counts"], k) for part in parts if "counts" in part for k in range(len(part["counts"]))]
    occupied = [(holder, key) for holder, key in slots if holder[key]]
    if slots and free and rng.random() < 0.5:
        _change_count(rng, rng.choice(slots))
    elif occupied:
        for (holder, key), change in ((rng.choice(occupied), -1), (rng.choice(slots), 1)):
            holder[key] += change


def _changed(rng: random.Random, release: dict) -> dict:
    """Copy a release and change one figure in it, if the one drawn can be changed; it stays well-formed.

    The counts of one tree or rule list keep their sum where something else in the same model (the other trees of a
    forest) or the key `rows` states it too; otherwise the file would be malformed, not contradictory.
    """
    release = copy.deepcopy(release)
    model = rng.choice(release["models"])
    if model["kind"] == "table":
        _change_statement(rng, release, rng.choice(model["statements"]))
    elif model["kind"] == "rule_set":
        part = rng.choice(model["rules"])
        _change_count(rng, (part, "count") if "count" in part else (part["counts"], rng.randrange(len(part["counts"]))))
    elif model["kind"] == "forest":
        _change_partition(
            rng, rng.choice(model["trees"])["nodes"], free=len(model["trees"]) == 1 and "rows" not in release
        )
    else:
        parts = model["nodes" if model["kind"] == "tree" else "rules"]
        _change_partition(rng, parts, free="rows" not in release)
    return release


def contradictory(rng: random.Random, kinds: Sequence[str] | None = None) -> dict:
    """Draw a release of `random_coupled` with one figure changed (or one row moved) so that it has no world."""
    while True:
        release, _ = random_coupled(rng, kinds)
        for _ in range(6):
            changed = _changed(rng, release)
            if not oracle.datasets(changed):
                return changed
