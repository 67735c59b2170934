"""Random tiny releases beside random knowledge, and what is true of them by brute force: every data set is listed.

Shares no code with recon. Nobody's and an adversary's worlds are sequences of rows over a domain of a few values, with
the product of their values' weights; of a population they are subsets of named people, each person with every value
that the list leaves open. A statement is counted row by row.

`python tests/adversary_oracle.py FIRST CASES` compares so many cases from a seed on and prints what differs.
"""

from __future__ import annotations

import json
import math
import random
import sys
import tempfile
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

Row = tuple[int, ...]
MAX_WORLDS = 40_000
NEAR = 1e-9


def _meets(row: Row, where: dict[str, Any], names: list[str]) -> bool:
    """Return whether a row meets a condition of single values and lists."""
    return all(
        row[names.index(name)] in (test["in"] if isinstance(test, dict) else [test]) for name, test in where.items()
    )


def _condition(rng: random.Random, sizes: list[int], names: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, size in zip(names, sizes, strict=True):
        if rng.random() < 0.5:
            some = sorted(rng.sample(range(size), rng.randint(1, size - 1)))
            out[name] = some[0] if len(some) == 1 else {"in": some}
    return out


def _tree(rng: random.Random, truth: list[Row], sizes: list[int], names: list[str]) -> dict[str, Any]:
    """Return a random tree of depth 1 or 2 over the features, with the counts of the truth."""
    nodes: list[dict[str, Any]] = []

    def grow(rows: list[Row], depth: int) -> int:
        here = len(nodes)
        nodes.append({})
        k = rng.randrange(len(sizes) - 1)
        if depth == 0 or rng.random() < 0.2:
            nodes[here] = {"counts": [sum(r[-1] == y for r in rows) for y in range(sizes[-1])]}
            return here
        inside = sorted(rng.sample(range(sizes[k]), rng.randint(1, sizes[k] - 1)))
        yes = grow([r for r in rows if r[k] in inside], depth - 1)
        no = grow([r for r in rows if r[k] not in inside], depth - 1)
        nodes[here] = {"if": {names[k]: {"in": inside}}, "then": yes, "else": no}
        return here

    grow(truth, rng.randint(1, 2))
    return {"kind": "tree", "nodes": nodes}


def make(seed: int) -> dict[str, Any]:
    """Return a random case: a release, what an adversary knows of it, all true of one random data set."""
    rng = random.Random(f"adversary {seed}")
    names = ["a", "b", "c"][: rng.randint(1, 2)]
    sizes = [rng.randint(2, 3) for _ in names]
    names, sizes = [*names, "y"], [*sizes, 2]
    rows = rng.randint(1, 4)
    truth = [tuple(rng.randrange(s) for s in sizes) for _ in range(rows)]
    models: list[dict[str, Any]] = [_tree(rng, truth, sizes, names)] if rng.random() < 0.6 else []
    if not models or rng.random() < 0.4:
        figures = []
        for _ in range(rng.randint(1, 3)):
            where = _condition(rng, sizes, names)
            count = sum(_meets(r, where, names) for r in truth)
            figures.append({"where": where, "count": count})
        models.append({"kind": "table", "statements": figures})
    domain = {
        "attributes": [{"name": n, "values": list(range(s))} for n, s in zip(names[:-1], sizes[:-1], strict=True)],
        "label": {"name": "y", "values": [0, 1]},
    }
    release = {"recon": 1, "domain": domain, "rows": rows, "models": models}
    knows: dict[str, Any] = {"recon_adversary": 1}
    people: list[Row] | None = None
    kind = rng.choice(["rows", "weights", "population", "columns", "all"])
    if kind in ("rows", "all", "population") and rng.random() < 0.7:
        knows["rows"] = [{"where": dict(zip(names, rng.choice(truth), strict=True))}]
        if rng.random() < 0.5:
            where = _condition(rng, sizes, names)
            count = sum(_meets(r, where, names) for r in truth)
            knows["statements"] = [
                {"where": where, "at_least": max(0, count - rng.randint(0, 1)), "at_most": count + rng.randint(0, 1)}
            ]
    if kind in ("weights", "all"):
        knows["weights"] = {
            n: {str(v): rng.choice([1, 2, 3, "1/2", "3/2"]) for v in range(s) if rng.random() < 0.7}
            for n, s in zip(names, sizes, strict=True)
            if rng.random() < 0.7
        }
        more = random.Random(f"boxes {seed}")  # of its own, so that cases of before are as they were
        if more.random() < 0.5:
            knows["boxes"] = [
                {"where": where, "weight": more.choice([2, 3, "1/2", "5/2", 1])}
                for where in (_condition(more, sizes, names) for _ in range(more.randint(1, 2)))
            ]
    columns = None
    if kind == "columns":
        given = sorted(rng.sample(range(len(names) - 1), rng.randint(1, len(names) - 1)))
        tested = {n for m in models for n in _names_in(m)}
        given = sorted({*given, *(k for k in range(len(names) - 1) if names[k] in tested)})
        columns = {"names": [names[k] for k in given], "rows": [[r[k] for k in given] for r in truth]}
    if kind == "population":
        others = [tuple(rng.randrange(s) for s in sizes) for _ in range(rng.randint(0, 3))]
        people = [*truth, *others]
        rng.shuffle(people)
        knows["population"] = {"people": "people.csv", "id": "person"}
        whole = rng.random() < 0.5  # else the label stays open
        if len(people) > rows and rng.random() < 0.3:
            outside = list(people)
            for r in truth:
                outside.remove(r)
            knows["absent"] = [{"person": f"p{people.index(rng.choice(outside))}"}]
            gone = people[int(knows["absent"][0]["person"][1:])]
            if people.count(gone) > 1:  # the first of several alike, which may be in the data
                del knows["absent"]
        if rng.random() < 0.3:
            where = _condition(rng, sizes, names)
            count = sum(_meets(r, where, names) for r in people)
            knows.setdefault("statements", []).append({"where": where, "count": count, "dataset": "population"})
            knows.pop("absent", None)
        return {"release": release, "knows": knows, "people": people, "whole": whole, "names": names, "sizes": sizes}
    return {"release": release, "knows": knows, "columns": columns, "names": names, "sizes": sizes}


def _names_in(model: dict[str, Any]) -> set[str]:
    parts = model.get("nodes") or model.get("statements") or []
    return {name for one in parts for name in (one.get("if") or one.get("where") or {})}


def _leaf(tree: dict[str, Any], row: Row, names: list[str]) -> int:
    at = 0
    while "if" in tree["nodes"][at]:
        node = tree["nodes"][at]
        at = node["then"] if _meets(row, node["if"], names) else node["else"]
    return at


def _agrees(release: dict[str, Any], rows: list[Row], names: list[str]) -> bool:
    """Return whether a data set agrees with everything that was published."""
    for model in release["models"]:
        if model["kind"] == "tree":
            for i, node in enumerate(model["nodes"]):
                if "counts" in node:
                    here = [r for r in rows if _leaf(model, r, names) == i]
                    if [sum(r[-1] == y for r in here) for y in range(len(node["counts"]))] != node["counts"]:
                        return False
        elif any(sum(_meets(r, f["where"], names) for r in rows) != f["count"] for f in model["statements"]):
            return False
    return True


def _known(knows: dict[str, Any], rows: list[Row], names: list[str], dataset: str | None = None) -> bool:
    """Return whether rows agree with what the adversary knows of them."""
    lines = [] if dataset else [(r["where"], r.get("rows", 1), None) for r in knows.get("rows", ())]
    for one in knows.get("statements", ()):
        if one.get("dataset") == dataset:
            low, high = one.get("count", one.get("at_least", 0)), one.get("count", one.get("at_most"))
            lines.append((one["where"], low, high))
    for where, low, high in lines:
        n = sum(_meets(r, where, names) for r in rows)
        if n < low or (high is not None and n > high):
            return False
    return True


def _weight(knows: dict[str, Any], row: Row, names: list[str]) -> Fraction:
    out = Fraction(1)
    for name, value in zip(names, row, strict=True):
        out *= Fraction(knows.get("weights", {}).get(name, {}).get(str(value), 1))
    for box in knows.get("boxes", ()):
        out *= Fraction(box["weight"]) if _meets(row, box["where"], names) else 1
    return out


def worlds(case: dict[str, Any]) -> list[tuple[list[Row], Fraction]] | None:
    """Return the adversary's worlds, each data set with its weight: how many sequences (subsets), times the prior."""
    names, sizes, release, knows = case["names"], case["sizes"], case["release"], case["knows"]
    out: list[tuple[list[Row], Fraction]] = []
    if case.get("people") is not None:
        gone = {one["person"] for one in knows.get("absent", ())}
        people = [p for i, p in enumerate(case["people"]) if f"p{i}" not in gone]
        labels = range(sizes[-1])
        options = [[p] if case["whole"] else [(*p[:-1], y) for y in labels] for p in people]
        if math.prod(2 * len(o) for o in options) > MAX_WORLDS:
            return None
        for choice in product(*options):
            if not _known(knows, list(choice), names, "population"):
                continue
            for inside in product((0, 1), repeat=len(people)):
                rows = [r for r, i in zip(choice, inside, strict=True) if i]
                if len(rows) == release["rows"] and _agrees(release, rows, names) and _known(knows, rows, names):
                    out.append((rows, Fraction(1)))
        return out
    space = list(product(*(range(s) for s in sizes)))
    n = release["rows"]
    if math.comb(len(space) + n - 1, n) > MAX_WORLDS:
        return None
    columns = case.get("columns")
    wanted = None if columns is None else sorted(map(tuple, columns["rows"]))
    for some in combinations_with_replacement(space, n):
        rows = list(some)
        if not _agrees(release, rows, names) or not _known(knows, rows, names):
            continue
        if columns is not None:
            at = [names.index(c) for c in columns["names"]]
            if sorted(tuple(r[k] for k in at) for r in rows) != wanted:
                continue
        orders = math.factorial(n)
        for r in set(rows):
            orders //= math.factorial(rows.count(r))
        out.append((rows, orders * math.prod((_weight(knows, r, names) for r in rows), start=Fraction(1))))
    return out


def entropy(case: dict[str, Any], found: list[tuple[list[Row], Fraction]]) -> float:
    """Return -sum P log2 P over the worlds (sequences share their data set's weight evenly)."""
    total, out = sum(w for _, w in found), 0.0
    for rows, weight in found:
        orders = 1
        if case.get("people") is None:
            orders = math.factorial(len(rows))
            for r in set(rows):
                orders //= math.factorial(rows.count(r))
        p = float(weight / total)
        out -= p * (math.log2(p) - math.log2(orders))
    return out


def compare(case: dict[str, Any], folder: str) -> str:
    """Return what recon says otherwise than brute force, "" where nothing is or the case is too large."""
    import pandas as pd

    import recon

    found = worlds(case)
    if found is None:
        return ""
    names, sizes, place = case["names"], case["sizes"], Path(folder)
    (place / "release.json").write_text(json.dumps(case["release"]))
    knows = dict(case["knows"])
    if case.get("people") is not None:
        frame = pd.DataFrame(case["people"], columns=names)
        frame.insert(0, "person", [f"p{i}" for i in range(len(frame))])
        frame = frame if case["whole"] else frame.drop(columns="y")
        frame.to_csv(place / "people.csv", index=False)
    if case.get("columns") is not None:
        pd.DataFrame(case["columns"]["rows"], columns=case["columns"]["names"]).to_csv(place / "c.csv", index=False)
        knows["columns"] = "c.csv"
    (place / "knows.json").write_text(json.dumps(knows))
    release = recon.load(str(place / "release.json"))
    if not any(v for k, v in knows.items() if k != "recon_adversary"):
        return ""
    try:
        beside = recon.Adversary.read(str(place / "knows.json")).beside(release)
    except recon.ReleaseError as error:  # weights that are all alike, and nothing else, say nothing
        even = all(len({Fraction(w) for w in each.values()}) <= 1 for each in knows.get("weights", {}).values())
        even &= all(not one["where"] or Fraction(one["weight"]) == 1 for one in knows.get("boxes", ()))
        return "" if "says nothing" in str(error) and even else f"refused: {error}"
    total = sum(w for _, w in found)
    told = []
    measures = recon.measure(beside, None if case.get("people") is not None else "ordered")
    if measures.status != "exact":
        return f"status {measures.status}"
    if measures.entropy_bits is None or abs(measures.entropy_bits - entropy(case, found)) > 1e-6:
        told.append(f"entropy {measures.entropy_bits}, by brute force {entropy(case, found)}")
    if not knows.get("weights") and not knows.get("boxes") and measures.counted.value != total:
        told.append(f"{measures.counted.value} worlds, by brute force {total}")
    space = list(product(*(range(s) for s in sizes)))
    profiles = pd.DataFrame(space, columns=names)
    partial = pd.DataFrame([(v, None) for v in range(sizes[0])], columns=[names[0], names[-1]], dtype=object)
    for asked, hits in (
        (profiles, [lambda r, p=p: r == p for p in space]),
        (partial, [lambda r, v=v: r[0] == v for v in range(sizes[0])]),
    ):
        answer = recon.certify(beside, asked, "ordered")
        for i, hit in enumerate(hits):
            counts = [(sum(map(hit, rows)), w) for rows, w in found]
            least, most = min(c for c, _ in counts), max(c for c, _ in counts)
            share = float(sum(w for c, w in counts if c) / total)
            mean = float(sum(w * c for c, w in counts) / total)
            line = answer.iloc[i]
            if (line["min_count"], line["max_count"]) != (least, most):
                told.append(f"profile {i}: {line['min_count']} to {line['max_count']}, by brute force {least}-{most}")
            if abs(line["probability"] - share) > NEAR or abs(line["expected_count"] - mean) > 1e-6:
                told.append(
                    f"profile {i}: {line['probability']}, {line['expected_count']} by brute force {share} {mean}"
                )
            if case.get("people") is not None and case["whole"] and asked is profiles:
                gone = {one["person"] for one in knows.get("absent", ())}
                number = sum(hit(p) for j, p in enumerate(case["people"]) if f"p{j}" not in gone)
                if number and abs(line["person_probability"] - mean / number) > 1e-6:
                    told.append(f"profile {i}: a person is in with {line['person_probability']}, truly {mean / number}")
    proofs = [c for c in answer["certificate"] if c is not None]
    if proofs and len(recon.verify(proofs, beside).verified) != len(proofs):
        told.append("a certificate is rejected")
    if proofs and recon.verify(proofs, release).verified:
        told.append("a certificate about an adversary holds without what is known")
    return "; ".join(told)


def main(first: int, cases: int) -> None:
    """Compare cases and print what differs."""
    differs = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + cases):
            try:
                found = compare(make(seed), folder)
            except Exception as error:  # whatever it is, it is told with its seed
                found = f"{type(error).__name__}: {error}"
            if found:
                differs += 1
                print(seed, found, flush=True)
    print(f"{cases} cases, {differs} differ")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
