"""Random tiny releases of related data sets, and what is true of them by brute force: every typed data set listed.

Shares no code with recon: relations are read as sentences about who is in which data set, a world is how many rows of
every type have every profile, and a model counts whoever is in its data set.

`python tests/versions_oracle.py FIRST CASES` compares so many cases from a seed on and prints what differs.
"""

from __future__ import annotations

import json
import math
import random
import sys
import tempfile
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path
from typing import Any

MAX_WORLDS = 30_000


def _related(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return data sets and relations of one of eight shapes, without numbers."""
    shapes: list[Any] = [
        ([{"name": "m"}, {"name": "a", "from": "m"}], []),
        ([{"name": "m"}, {"name": "a", "from": "m"}, {"name": "j", "from": "a"}], []),
        ([{"name": "all", "union": ["x", "y"]}, {"name": "x"}, {"name": "y"}], [{"disjoint": ["x", "y"]}]),
        ([{"name": "all", "union": ["x", "y"]}, {"name": "x"}, {"name": "y"}], []),
        ([{"name": "all"}, {"name": "f", "within": "all"}], []),
        ([{"name": "all"}, {"name": "f", "within": "all"}, {"name": "t", "from": "all", "without": "f"}], []),
        ([{"name": "all"}, {"name": "f"}, {"name": "g"}, {"name": "h"}], [{"parts": ["f", "g", "h"], "of": "all"}]),
        ([{"name": "p"}, {"name": "q"}], []),
    ]  # fmt: skip
    found: tuple[list[dict[str, Any]], list[dict[str, Any]]] = rng.choice(shapes)
    return found


def _allowed(kind: frozenset[str], datasets: list[dict[str, Any]], relations: list[dict[str, Any]]) -> bool:
    """Return whether a row can be in exactly these data sets."""
    for one in datasets:
        here = one["name"] in kind
        if "union" in one and here != any(name in kind for name in one["union"]):
            return False
        if "within" in one and here and one["within"] not in kind:
            return False
        if "without" in one and here != (one["from"] in kind and one["without"] not in kind):
            return False
        if "removed" in one and one["removed"] == 0 and one["from"] in kind and not here:
            return False
        if "added" in one and one["added"] == 0 and here and one["from"] not in kind:
            return False
    for relation in relations:
        if "disjoint" in relation and sum(name in kind for name in relation["disjoint"]) > 1:
            return False
        if "parts" in relation and sum(name in kind for name in relation["parts"]) != (relation["of"] in kind):
            return False
    versions = [one["name"] for one in datasets if "from" in one and "without" not in one]
    chain = [datasets[0]["name"], *versions] if versions else []
    inside = [i for i, name in enumerate(chain) if name in kind]
    return not inside or inside == list(range(inside[0], inside[-1] + 1))


def make(seed: int) -> dict[str, Any]:
    """Return a case: attributes, the types with their numbers of rows, true rows, the release file."""
    rng = random.Random(seed)
    while True:
        first = [("a", list(range(rng.choice([2, 2, 3])))), ("b", [0, 1])][: rng.choice([1, 2, 2])]
        attributes = [*first, ("y", [0, 1])]
        profiles = list(product(*(values for _, values in attributes)))
        datasets, relations = _related(rng)
        datasets = [dict(one) for one in datasets]
        for one in datasets:
            if "from" in one and "without" not in one and rng.random() < 0.3:
                one[rng.choice(["removed", "added"])] = 0
        names = [one["name"] for one in datasets]
        kinds = [frozenset(c) for k in range(1, len(names) + 1) for c in combinations(names, k)]
        kinds = [kind for kind in kinds if _allowed(kind, datasets, relations)]
        truth = {kind: sorted(rng.choices(profiles, k=rng.choice([0, 1, 1, 2]))) for kind in kinds}
        size = {name: sum(len(rows) for kind, rows in truth.items() if name in kind) for name in names}
        _number(datasets, truth, size, rng)
        models = [_model(name, names.index(name), truth, attributes, rng) for name in names if rng.random() < 0.8]
        if not models:
            continue
        domain = {"attributes": [{"name": n, "values": v} for n, v in attributes[:-1]], "label": dict(
            zip(("name", "values"), attributes[-1], strict=True))}  # fmt: skip
        release = {"recon": 1, "domain": domain, "datasets": datasets, "models": models}
        release |= {"relations": relations} if relations else {}
        case: dict[str, Any] = {
            "profiles": profiles,
            "names": [n for n, _ in attributes],
            "kinds": kinds,
            "release": release,
        }
        case["numbers"] = list(_numbers(case))
        worlds = sum(
            math.prod(math.comb(len(profiles) + n - 1, n) for n in numbers) for numbers in case["numbers"]
        )  # fmt: skip
        if 0 < worlds <= MAX_WORLDS:
            return case


def _number(
    datasets: list[dict[str, Any]], truth: dict[frozenset[str], Any], size: dict[str, int], rng: random.Random
) -> None:
    """Give data sets the numbers of rows that the truth has, exactly or as intervals."""

    def near(n: int) -> Any:
        return n if rng.random() < 0.7 else {"at_least": max(0, n - 1), "at_most": n + rng.choice([0, 1])}

    for one in datasets:
        one["rows"] = near(size[one["name"]])
        if "from" in one and "without" not in one:
            before, name = one["from"], one["name"]
            left = sum(len(rows) for kind, rows in truth.items() if before in kind and name not in kind)
            came = sum(len(rows) for kind, rows in truth.items() if name in kind and before not in kind)
            for key, n in (("removed", left), ("added", came)):
                if one.get(key) == 0:
                    continue
                if rng.random() < 0.8:
                    one[key] = near(n) if n else {"at_least": 0, "at_most": rng.choice([1, 2])}


def _model(name: str, i: int, truth: dict[Any, Any], attributes: list[Any], rng: random.Random) -> dict[str, Any]:
    """Return a model that counts the rows of a data set: a tree, a rule list, a rule set or a table."""
    rows = [row for kind, some in truth.items() if name in kind for row in some]
    places = {n: k for k, (n, _) in enumerate(attributes)}

    def counts(where: dict[str, Any], among: list[Any]) -> tuple[list[Any], list[int]]:
        met = [row for row in among if all(row[places[n]] == v for n, v in where.items())]
        return met, [sum(row[-1] == y for row in met) for y in attributes[-1][1]]

    kind = rng.choice(["tree", "rule_list", "rule_set", "table"])
    out: dict[str, Any] = {"kind": kind, "name": f"model {i}", "dataset": name}
    first = rng.choice(attributes[:-1])
    value = rng.choice(first[1])
    if kind == "tree":
        met, yes = counts({first[0]: value}, rows)
        rest = [row for row in rows if row not in met]
        out["nodes"] = [
            {"if": {first[0]: value}, "then": 1, "else": 2}, {"counts": yes}, {"counts": counts({}, rest)[1]}
        ]  # fmt: skip
        if rng.random() < 0.3:
            out["nodes"] = [{"counts": counts({}, rows)[1]} if rng.random() < 0.5 else {"count": len(rows)}]
    elif kind == "rule_list":
        met, yes = counts({first[0]: value}, rows)
        rest = [row for row in rows if row not in met]
        out["rules"] = [{"if": {first[0]: value}, "counts": yes}, {"if": {}, "counts": counts({}, rest)[1]}]
    elif kind == "rule_set":
        out["rules"] = []
        for n, values in rng.sample(attributes[:-1], k=rng.randint(1, len(attributes) - 1)):
            v = rng.choice(values)
            out["rules"].append({"if": {n: v}, "counts": counts({n: v}, rows)[1]})
    else:
        out["statements"] = []
        for _ in range(rng.randint(1, 3)):
            where = {n: rng.choice(values) for n, values in attributes if rng.random() < 0.5}
            n = len(counts(where, rows)[0])
            low = {"at_least": max(0, n - 1), "at_most": n + 1} if rng.random() < 0.3 else {"count": n}
            out["statements"].append({"where": where, **low})
    return out


def _ends(given: Any) -> tuple[int, float]:
    """Return the ends of a number of rows as it stands in a file."""
    if given is None:
        return 0, math.inf
    if isinstance(given, dict):
        return given.get("at_least", 0), given.get("at_most", math.inf)
    return given, given


def _numbers(case: dict[str, Any]) -> Any:
    """Yield every vector of rows per type that the stated numbers allow, and the models' totals."""
    kinds, datasets = case["kinds"], case["release"]["datasets"]
    totals = [(m["dataset"], sum(map(_total, m["nodes"]))) for m in case["release"]["models"] if m["kind"] == "tree"]
    totals += [
        (m["dataset"], sum(map(_total, m["rules"]))) for m in case["release"]["models"] if m["kind"] == "rule_list"
    ]  # fmt: skip
    tops = [min(_ends(one["rows"])[1] for one in datasets if one["name"] in kind) for kind in kinds]
    for numbers in product(*(range(int(top) + 1) for top in tops)):
        ok = all(sum(n for n, k in zip(numbers, kinds, strict=True) if d in k) == t for d, t in totals)
        for one in datasets if ok else ():
            size = sum(n for n, kind in zip(numbers, kinds, strict=True) if one["name"] in kind)
            checks = [(size, one["rows"])]
            if "from" in one and "without" not in one:
                pairs = [(n, one["from"] in kind, one["name"] in kind) for n, kind in zip(numbers, kinds, strict=True)]
                checks.append((sum(n for n, before, after in pairs if before and not after), one.get("removed")))
                checks.append((sum(n for n, before, after in pairs if after and not before), one.get("added")))
            ok = ok and all(_ends(given)[0] <= n <= _ends(given)[1] for n, given in checks)
        if ok:
            yield numbers


def _total(part: dict[str, Any]) -> int:
    return sum(part["counts"]) if "counts" in part else part.get("count", 0)


def _fits(model: dict[str, Any], rows: list[Any], names: list[str]) -> bool:
    """Return whether a data set (rows) gives the figures of a model."""

    def meets(where: dict[str, Any], row: Any) -> bool:
        return all(row[names.index(n)] == v for n, v in where.items())

    def same(part: dict[str, Any], some: list[Any]) -> bool:
        if "counts" in part:
            return bool([sum(row[-1] == y for row in some) for y in (0, 1)] == part["counts"])
        low, high = (part["count"],) * 2 if "count" in part else (part["at_least"], part["at_most"])
        return bool(low <= len(some) <= high)

    if model["kind"] == "tree":
        if len(model["nodes"]) == 1:
            return same(model["nodes"][0], rows)
        where = model["nodes"][0]["if"]
        return same(model["nodes"][1], [r for r in rows if meets(where, r)]) and same(
            model["nodes"][2], [r for r in rows if not meets(where, r)]
        )
    if model["kind"] == "rule_list":
        where = model["rules"][0]["if"]
        return same(model["rules"][0], [r for r in rows if meets(where, r)]) and same(
            model["rules"][1], [r for r in rows if not meets(where, r)]
        )
    parts: Any = model.get("rules") or model.get("statements")
    return all(same(part, [r for r in rows if meets(part.get("if", part.get("where")), r)]) for part in parts)


def expected(case: dict[str, Any]) -> dict[str, Any]:
    """Return what is true by brute force: data sets, ordered sequences, least, most and share per (type, profile)."""
    profiles, kinds, models = case["profiles"], case["kinds"], case["release"]["models"]
    keys = [(kind, p) for kind in kinds for p in profiles]
    multiset = ordered = 0
    least, most = dict.fromkeys(keys, 10**9), dict.fromkeys(keys, 0)
    share = {word: dict.fromkeys(keys, 0) for word in ("multiset", "ordered")}
    for numbers in case["numbers"]:
        choices = (combinations_with_replacement(profiles, n) for n in numbers)
        for world in product(*choices):
            rows = {kind: list(some) for kind, some in zip(kinds, world, strict=True)}
            counted = ([r for kind in kinds if m["dataset"] in kind for r in rows[kind]] for m in models)
            if not all(_fits(m, some, case["names"]) for m, some in zip(models, counted, strict=True)):
                continue
            times = {key: rows[key[0]].count(key[1]) for key in keys}
            weight = math.factorial(sum(numbers))
            for n in times.values():
                weight //= math.factorial(n)
            multiset, ordered = multiset + 1, ordered + weight
            for key, n in times.items():
                least[key], most[key] = min(least[key], n), max(most[key], n)
                share["multiset"][key] += n > 0
                share["ordered"][key] += weight if n else 0
    exact = len({sum(numbers) for numbers in case["numbers"]}) == 1
    return {"multiset": multiset, "ordered": ordered, "least": least, "most": most, "share": share, "exact": exact}


def compare(case: dict[str, Any], folder: str) -> list[str]:
    """Return what recon says otherwise than brute force, in words; [] where nothing."""
    import recon

    true = expected(case)
    path = Path(folder, "case.json")
    path.write_text(json.dumps(case["release"]))
    release = recon.load(path)
    wrong = [
        f"{word}: {found.value} of {true[word]}"
        for word in ("multiset", "ordered")
        if (found := recon.count(release, word)).status != "exact" or found.value != true[word]
    ]
    names = [one["name"] for one in case["release"]["datasets"]]
    keys = list(true["least"])
    asked = [dict(zip(case["names"], p, strict=True)) | {f"in {n}": int(n in kind) for n in names} for kind, p in keys]
    for word in ("multiset", "ordered"):
        verdicts = recon.certify(release, asked, word, certificates=False)
        for i, key in enumerate(keys):
            figures = int(verdicts["min_count"][i]), int(verdicts["max_count"][i])
            if figures != (true["least"][key], true["most"][key]):
                wrong.append(f"{word}, {key}: {figures} of {true['least'][key], true['most'][key]}")
            share = true["share"][word][key] / true[word]
            if true["exact"] and abs(verdicts["probability"][i] - share) > 1e-9:
                wrong.append(f"{word}, {key}: a share of {verdicts['probability'][i]}, {share} is true")
        if true["exact"]:
            bits = recon.measure(release, word).entropy_bits
            if bits is None or abs(bits - math.log2(true[word])) > 1e-6:
                wrong.append(f"{word}: {bits} bits, {math.log2(true[word])} are left")
    return wrong


def main(first: int, cases: int) -> int:
    """Compare cases from a seed on, print those that differ, and return how many do."""
    differ = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + cases):
            if found := compare(make(seed), folder):
                differ += 1
                print(f"seed {seed}: {'; '.join(found[:3])}", flush=True)
    print(f"seeds {first} to {first + cases - 1}: {cases} cases, {differ} differ")
    return differ


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]))))
