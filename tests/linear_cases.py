"""Random tiny releases with linear statements, against every data set listed: counts, verdicts, bounds, certificates.

Coefficients are fractions, decimals and whole numbers of both signs; terms multiply up to three attributes, or count;
groups are boxes, unions of boxes and everybody; beside them stand counts, means and trees. What is right is listed by
tests/oracle.py, which shares no code with the engine.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import oracle
import pandas as pd
import plain_checker
from extras import with_seal
from linear_figures import condition, linear_figure, plain

import recon
from recon.queries.certificates.issuing import contradiction_certificate

Release = dict[str, Any]


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
        where = condition(rng, space)
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
        row = zip(space.values, map(plain, rng.choice(space.rows)), strict=True)
        lines.append({name: v if rng.random() < 0.7 else None for name, v in row})
    return pd.DataFrame(lines, columns=list(space.values), dtype=object)


def _meeting(space: oracle._Space, profile: dict[str, Any], rows: list[Any]) -> int:
    where = {name: oracle.canonical(v) for name, v in profile.items() if v is not None}
    names = list(space.values)
    return sum(all(row[names.index(name)] == v for name, v in where.items()) for row in rows)


def failures(seed: int) -> tuple[list[str], dict[str, int]]:
    """Return what the engine says that is not right of the release of a seed, and how much was asked."""
    release, rng, told = drawn(seed), random.Random(seed + 1), list[str]()
    asked = {"counts": 0, "verdicts": 0, "bounds": 0, "certificates": 0, "forged": 0}
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
    checker = plain_checker.Checker(release, plain_checker.starts_of(got))
    told += _told_of_rows(got, checker, worlds, rng, asked) if worlds else _told_of_none(got, checker, asked)
    return told, asked


def _told_of_proof(got: Any, checker: Any, certificate: dict[str, Any], asked: dict[str, int]) -> list[str]:
    """Return what is wrong of a true certificate: both checkers accept it, and none whose claim says one row more."""
    asked["certificates"] += 1
    told = [] if recon.verify(certificate, got).verified else ["certificate: it is not verified"]
    kind = certificate["proof"]["kind"]
    if kind != "drat":
        try:
            checker.check(json.loads(json.dumps(certificate)))
        except plain_checker.Rejected as error:
            told.append(f"certificate: the plain checker rejects {kind}: {error}")
    for side, more in (("at_least", 1), ("at_most", -1)):
        if side in certificate["claim"]:
            claim = certificate["claim"] | {side: certificate["claim"][side] + more}
            asked["forged"] += 1
            if recon.verify(with_seal(certificate | {"claim": claim}), got).verified and not _holds(checker, claim):
                told.append(f"forged: {claim} is verified")
    return told


def _holds(checker: Any, said: dict[str, Any]) -> bool:
    """Return whether a claim about rows holds in every data set."""
    claim = plain_checker.read_claim(checker.facts, said)
    every = combinations_with_replacement(range(len(checker.facts.rows)), checker.facts.most)
    fits = (sum(claim.fits[i] for i in rows) for rows in every if plain_checker.agrees(checker.facts, Counter(rows)))
    return all(n <= claim.k if claim.kind == "at_most" else n >= claim.k for n in fits)


def _told_of_none(got: Any, checker: Any, asked: dict[str, int]) -> list[str]:
    """Return what is wrong of the proof, if there is one, that a release has no world."""
    certificate = contradiction_certificate(got, None)
    return [] if certificate is None else _told_of_proof(got, checker, certificate, asked)


def _told_of_rows(got: Any, checker: Any, worlds: list[Any], rng: random.Random, asked: dict[str, int]) -> list[str]:
    """Return what is wrong of verdicts, least and greatest counts, means, and certificates."""
    space = checker.facts.space
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
            told += _told_of_proof(got, checker, line.certificate, asked)
    name = next(n for n in space.values if n.startswith("a"))
    means = [Fraction(sum(row[0] for row in world)) / len(world) for world in worlds]
    found = recon.bound(got, {}, name)
    asked["bounds"] += 1
    if abs(found.min - float(min(means))) > 1e-9 or abs(found.max - float(max(means))) > 1e-9:
        told.append(f"bound: {found.min} to {found.max} for {min(means)} to {max(means)}")
    return told
