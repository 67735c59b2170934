"""Random tiny releases with linear statements, against every data set listed: counts, verdicts, bounds, certificates.

Coefficients are fractions, decimals and whole numbers of both signs; terms multiply up to three attributes, or count;
groups are boxes, unions of boxes and everybody; beside them stand counts, means and trees. What is right is listed by
tests/oracle.py, which shares no code with the engine.
"""

from __future__ import annotations

import json
import random
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import oracle
import pandas as pd

import recon
from recon.queries.certificates.issuing import contradiction_certificate

Release = dict[str, Any]
NUMBERS = (2, -1, -3, "1/3", "-2/7", 0.5, "37/100", "-1.25", 0, "123456789/1000000", 1e-3)


def _plain(value: Any) -> Any:
    """Return a value as it stands in a file."""
    return float(value) if isinstance(value, Fraction) else value


def _condition(rng: random.Random, space: oracle._Space) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, values in space.values.items():
        if rng.random() < 0.35:
            one = rng.random() < 0.6
            chosen = [_plain(v) for v in (rng.sample(values, 1 if one else rng.randint(1, len(values))))]
            out[name] = chosen[0] if one else {"in": chosen}
    return out


def _term(rng: random.Random, space: oracle._Space, numeric: list[str]) -> dict[str, Any]:
    term: dict[str, Any] = {}
    kind = rng.random()
    if kind < 0.5:
        term["where"] = _condition(rng, space)
    elif kind < 0.75:
        term["any"] = [_condition(rng, space) for _ in range(rng.randint(1, 3))]
    kind = rng.random()
    if kind < 0.35:
        term["of"] = rng.choice(numeric)
    elif kind < 0.65:
        term["of"] = [rng.choice(numeric) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.7:
        term["times"] = rng.choice(NUMBERS)
    return term


def linear_figure(rng: random.Random, space: oracle._Space, truth: list[Any], wrong: bool) -> dict[str, Any]:
    """Draw a linear statement that the rows meet; where `wrong`, one that they surely do not."""
    numeric = [name for name, values in space.values.items() if all(map(oracle._is_number, values))]
    said: dict[str, Any] = {"linear": [_term(rng, space, numeric) for _ in range(rng.randint(1, 3))]}
    weights = oracle.linear_weights(space, said)
    total = sum((weights[space.number[row]] for row in truth), Fraction(0))
    kind, off = rng.random(), Fraction(rng.randint(0, 4), 4)
    if wrong:
        return said | {"value": str(total + Fraction(1, 3))}
    if kind < 0.4:
        return said | {"value": str(total)}
    if kind < 0.55:
        return said | {"value": str(total + off / 4), "within": rng.choice(["1/1", 1.25, 1])}
    if kind < 0.7:
        return said | {"at_least": str(total - off), "at_most": str(total + 1)}
    return said | ({"at_least": str(total - off)} if kind < 0.85 else {"at_most": str(total + off)})


def drawn(seed: int) -> Release:
    """Draw the release of a seed."""
    rng = random.Random(seed)
    attributes: list[dict[str, Any]] = []
    for k in range(rng.choice([1, 2, 2])):
        low, size = rng.choice([0, 1, -1]), rng.choice([2, 3, 4])
        step = rng.choice([{}, {}, {"resolution": 0.5}])
        attributes.append({"name": f"a{k}", "min": low, "max": low + (size - 1) / (2 if step else 1), **step})
    if rng.random() < 0.4:
        attributes.append({"name": "c", "values": ["u", "v"]})
    domain: dict[str, Any] = {"attributes": attributes, "label": {"name": "y", "values": [0, 1]}, "source": "declared"}
    if rng.random() < 0.2:
        domain["columns"] = {"big": {"attribute": "a0", "at_least": attributes[0]["max"]}}
    space = oracle._space({"domain": domain})
    truth = [rng.choice(space.rows) for _ in range(rng.choice([1, 2, 3, 3, 4]))]
    some = [linear_figure(rng, space, truth, rng.random() < 0.05) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.4:
        where = _condition(rng, space)
        some.append({"where": where, "count": sum(space.holds(where, row) for row in truth)})
    models: list[Release] = [{"kind": "table", "statements": some}]
    if rng.random() < 0.25:
        nodes = oracle._random_tree(rng, space)
        for at, node in enumerate(nodes):
            if "if" not in node:
                bare = {"kind": "tree", "nodes": [n if "if" in n else {"count": 0} for n in nodes]}
                inside = [row for row in truth if oracle._path(space, bare, row)[-1] == at]
                node["counts"] = [sum(row[-1] == v for row in inside) for v in (0, 1)]
        models.append({"kind": "tree", "nodes": nodes})
    return {"recon": 1, "domain": domain, "rows": len(truth), "models": models}


def _profiles(rng: random.Random, space: oracle._Space) -> pd.DataFrame:
    lines = []
    for _ in range(4):
        row = zip(space.values, map(_plain, rng.choice(space.rows)), strict=True)
        lines.append({name: v if rng.random() < 0.7 else None for name, v in row})
    return pd.DataFrame(lines, columns=list(space.values), dtype=object)


def _meeting(space: oracle._Space, profile: dict[str, Any], rows: list[Any]) -> int:
    where = {name: oracle.canonical(v) for name, v in profile.items() if v is not None}
    names = list(space.values)
    return sum(all(row[names.index(name)] == v for name, v in where.items()) for row in rows)


def failures(seed: int) -> tuple[list[str], dict[str, int]]:
    """Return what the engine says that is not right of the release of a seed, and how much was asked."""
    release, rng, told = drawn(seed), random.Random(seed + 1), list[str]()
    space, asked = oracle._space(release), {"counts": 0, "verdicts": 0, "bounds": 0, "certificates": 0}
    worlds = [rows for rows, _ in oracle.worlds(release, "multiset")[release["rows"]]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.json"
        path.write_text(json.dumps(release), encoding="utf-8")
        got = recon.load(path)
        for convention in ("ordered", "multiset"):
            found, right = recon.count(got, convention=convention), oracle.count(release, convention)
            asked["counts"] += 1
            if found.value != right:
                told.append(f"count: {convention} {found.value} ({found.status}) for {right}")
        told += _told_of_rows(got, path, space, worlds, rng, asked) if worlds else _told_of_none(got, path, asked)
    return told, asked


def _told_of_none(got: Any, path: Path, asked: dict[str, int]) -> list[str]:
    """Return what is wrong of a release without a world: where it is proved."""
    certificate = contradiction_certificate(got, None)
    if certificate is None:
        return []
    asked["certificates"] += 1
    return [] if recon.verify(certificate, path).verified else ["certificate: a contradiction is not verified"]


def _told_of_rows(
    got: Any, path: Path, space: oracle._Space, worlds: list[Any], rng: random.Random, asked: dict[str, int]
) -> list[str]:
    """Return what is wrong of verdicts, least and greatest counts, means, and certificates."""
    told, frame = list[str](), _profiles(rng, space)
    verdicts = recon.certify(got, frame, certificates=True)
    for i, line in verdicts.iterrows():
        counts = [_meeting(space, dict(frame.loc[i]), list(world)) for world in worlds]
        right = "certain" if min(counts) else "possible" if max(counts) else "impossible"
        asked["verdicts"] += 1
        ends = min(counts), max(counts)
        if (line.verdict, line.min_count, line.max_count) != (right, *ends):
            told.append(f"verdict: {line.verdict} {line.min_count} to {line.max_count} for {right} {ends}")
        if line.certificate:
            asked["certificates"] += 1
            if not recon.verify(line.certificate, path).verified:
                told.append(f"certificate: {line.verdict} is not verified")
    name = next(n for n in space.values if n.startswith("a"))
    means = [Fraction(sum(row[0] for row in world)) / len(world) for world in worlds]
    found = recon.bound(got, {}, name)
    asked["bounds"] += 1
    if abs(found.min - float(min(means))) > 1e-9 or abs(found.max - float(max(means))) > 1e-9:
        told.append(f"bound: {found.min} to {found.max} for {min(means)} to {max(means)}")
    return told
