"""Tiny forests of resamples with known bags, each from a true dataset: random trees, and fits of scikit-learn.

`random_case` draws the domain, the rows, the bags and the splits; nothing is learnt, so that trees ask what no
learner would: impure leaves, leaves that no row reaches, the same bag twice, positions in no bag. `fitted_case` fits
a few rows with scikit-learn, stores the forest and reads it with recon, which rebuilds the bags from the seeds.
Both give the release as a plain dict and the true row of every position.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import oracle_coupled
import pandas as pd
import position_oracle
from position_oracle import Positions, TooMany

Raw = dict[str, Any]
MOST_ROWS = 36
MOST_WORLDS = 6_000
SHAPES = ("bit", "words", "order", "integers", "grid", "group", "gaps", "perhaps")


@dataclass(frozen=True)
class Case:
    """A release, its true rows by position, and what it was made of (for messages and to see what was tried)."""

    release: dict
    truth: list[Raw]
    worlds: Positions
    tags: frozenset[str] = field(default_factory=frozenset)

    @property
    def label(self) -> str | None:
        """The label's name."""
        label = self.release["domain"].get("label")
        return None if label is None else label["name"]

    @property
    def bags(self) -> list[list[int]]:
        """The bags of the first forest that has any."""
        return next(model["multiplicities"] for model in self.release["models"] if "multiplicities" in model)


# ---------------------------------------------------------------- domains


def _attribute(rng: random.Random, name: str, shape: str) -> dict:
    size = rng.choice([2, 3, 3, 4])
    low = rng.choice([-1, 0, 0, 18])
    if shape == "bit":
        return {"name": name, **rng.choice([{"values": [0, 1]}, {"min": 0, "max": 1}])}
    if shape in ("words", "group"):
        return {"name": name, "values": ["red", "green", "blue", "grey"][: max(size, 3)]}
    if shape == "order":
        return {"name": name, "values": rng.choice([[10, 20, 35, 70], ["low", "mid", "high"], [-0.5, 2]])}
    if shape == "integers":
        return {"name": name, "min": low, "max": low + size}
    if shape == "grid":
        return {"name": name, "min": 0.1, "max": round(0.1 + size / 10, 1), "resolution": 0.1}
    if shape == "perhaps":
        return {"name": name, "missing": True, **rng.choice([{"values": [0, 1]}, {"min": 0, "max": 2}])}
    ends = rng.choice([{}, {}, {"min": -1, "max": 4}, {"min": 0}])
    return {"name": name, "resolution": None, **ends, **({"missing": True} if rng.random() < 0.15 else {})}


def _domain(rng: random.Random, shapes: list[str]) -> dict:
    attributes = [_attribute(rng, f"a{k}", shape) for k, shape in enumerate(shapes)]
    domain: dict[str, Any] = {"attributes": attributes}
    if rng.random() < 0.88:
        labels = rng.choice([[0, 1], [0, 1], [0, 1], ["no", "yes"], [0, 1, 2], ["only"]])
        domain["label"] = {"name": "y", "values": labels}
    columns = {}
    for attribute, shape in zip(attributes, shapes, strict=True):
        if shape == "group":
            for value in attribute["values"]:
                columns[f"{attribute['name']}:={value}"] = {"attribute": attribute["name"], "in": [value]}
        if shape == "integers" and rng.random() < 0.3:
            cut = attribute["min"] + 1
            columns[f"{attribute['name']}<{cut}"] = {"attribute": attribute["name"], "below": cut}
    if columns:
        domain["columns"] = columns
    return domain


class _Tests:
    """Draws tests on the attributes and columns of a domain; continuous attributes have few thresholds."""

    def __init__(self, rng: random.Random, domain: dict, shapes: list[str]) -> None:
        self.rng, self.domain = rng, domain
        self.shapes = dict(zip((a["name"] for a in domain["attributes"]), shapes, strict=True))
        self.by_name = {a["name"]: a for a in domain["attributes"]}
        grouped = {name for name, shape in self.shapes.items() if shape == "group"}
        self.columns = list(domain.get("columns", {}))
        self.names = [name for name in self.by_name if name not in grouped] + self.columns
        self.thresholds = {
            name: sorted(rng.sample([0.25, 0.5, 1, 1.75, 2.5, 3.125], rng.choice([1, 2, 2, 3])))
            for name, shape in self.shapes.items()
            if shape == "gaps"
        }

    def draw(self) -> dict:
        """Return a condition of one test, as trees ask."""
        rng, name = self.rng, self.rng.choice(self.names)
        if name in self.columns:
            return {name: rng.choice([0, 1])}
        attribute, shape = self.by_name[name], self.shapes[name]
        if shape == "gaps":
            test: Any = {"at_most": rng.choice(self.thresholds[name])}
        else:
            values = oracle._listed_values(attribute)
            written = [float(v) if getattr(v, "denominator", 1) != 1 else v for v in map(oracle.canonical, values)]
            if shape in ("words", "bit") or (shape in ("order", "perhaps") and rng.random() < 0.3):
                test = rng.choice(written) if rng.random() < 0.5 else {"in": rng.sample(written, len(written) - 1)}
            else:
                test = {rng.choice(["at_most", "at_most", "below", "above"]): rng.choice(written[:-1] or written)}
        if attribute.get("missing") and isinstance(test, dict) and rng.random() < 0.5:
            test = rng.choice([{**test, "or_missing": True}, {"missing": True}])
        return {name: test}


def _boxes(rng: random.Random, domain: dict, tests: _Tests) -> None:
    """Now and then say that a combination is impossible, with the label among the tests or not."""
    if rng.random() < 0.3:
        box = tests.draw() | (tests.draw() if rng.random() < 0.8 else {})
        if "label" in domain and rng.random() < 0.4:
            box["y"] = rng.choice(domain["label"]["values"])
        domain["impossible"] = [box]


# ---------------------------------------------------------------- trees and bags


def _grown(rng: random.Random, tests: _Tests, space: oracle._Space, made: position_oracle.Finite, inside: list) -> list:
    """Draw the nodes of a tree, counts left out: cut at a depth, or split until leaves are pure in the bag."""
    deepest = rng.choice([0, 1, 2, 2, 3, 4]) + (len(inside) > 6) * 3
    until_pure = rng.random() < 0.5
    nodes: list[dict] = []

    def grow(depth: int, rows: list) -> int:
        at = len(nodes)
        nodes.append({})
        pure = len({row[-1] for row in rows}) <= 1
        if depth < deepest and not (until_pure and pure) and (until_pure or rng.random() < 0.85):
            for _ in range(6):
                condition = tests.draw()
                asked = made.condition(condition)
                left = [row for row in rows if space.holds(asked, row)]
                if 0 < len(left) < len(rows) or (not until_pure and rng.random() < 0.3):
                    right = [row for row in rows if row not in left]
                    nodes[at] = {"if": condition, "then": grow(depth + 1, left), "else": grow(depth + 1, right)}
                    break
        return at

    grow(0, inside)
    return nodes


def _bag(rng: random.Random, n: int, how: str, drawn: int) -> list[int]:
    rows = rng.sample(range(n), drawn) if how == "without" else rng.choices(range(n), k=drawn)
    return [rows.count(i) for i in range(n)]


def _bags(rng: random.Random, n: int, trees: int) -> tuple[list[list[int]], str, set[str]]:
    """Draw the bags of all trees: smaller than the data, the same twice, positions alike or in no bag."""
    how = rng.choice(["with", "with", "with", "without"])
    drawn = rng.choice([n, n, max(1, n - 1), max(1, n // 2)]) if how == "with" else rng.randint(1, n)
    bags = [_bag(rng, n, how, drawn) for _ in range(trees)]
    tags = {how} | ({"smaller bags"} if drawn < n else set())
    if trees > 1 and rng.random() < 0.15:
        bags[-1] = list(bags[0])
        tags.add("same bag twice")
    if n > 1 and rng.random() < 0.15:
        for bag in bags:  # two positions that no bag distinguishes
            if (together := bag[0] + bag[1]) % 2 == 0 and how == "with":
                bag[0] = bag[1] = together // 2
    if n > 1 and how == "with" and rng.random() < 0.12:
        for bag in bags:  # a position in no bag
            bag[0], bag[-1] = bag[0] + bag[-1], 0
    if len(set(zip(*bags, strict=True))) < n:
        tags.add("positions alike")
    if any(not any(times) for times in zip(*bags, strict=True)):
        tags.add("in no bag")
    return bags, how, tags


def _publish(
    rng: random.Random, nodes: list[dict], paths: list[set[int]], truth: list, bag: list[int], said: dict
) -> None:
    """Write into the nodes what a tree on this bag of the true rows counts.

    `said`: the classes (empty: plain counts), whether inner nodes repeat the counts, which nodes say `distinct`.
    """
    for i, node in enumerate(nodes):
        inner = "if" in node
        if inner and not ((said["inner"] or said["distinct"] == "somewhere") and rng.random() < 0.5):
            continue
        inside = [(row, times) for row, path, times in zip(truth, paths, bag, strict=True) if i in path]
        counts = [sum(times for row, times in inside if row[-1] == value) for value in said["labels"]]
        plain = not said["labels"] or (said["mixed"] and rng.random() < 0.4)
        if not (inner and said["mixed"]):  # sums that would follow from no leaf
            node.update({"count": sum(times for _, times in inside)} if plain else {"counts": counts})
        if said["distinct"] == "everywhere" or (said["distinct"] == "somewhere" and rng.random() < 0.5):
            node["distinct"] = sum(times > 0 for _, times in inside)


# ---------------------------------------------------------------- random cases


def _trees(rng: random.Random, tests: _Tests, made: position_oracle.Finite, truth: list, bags: list) -> list[dict]:
    """Draw a tree for every bag, with what it counts of the true rows."""
    space = oracle._space({"domain": made.release["domain"]})
    said = {
        "labels": space.values[space.label] if space.label and rng.random() < 0.93 else [],
        "distinct": rng.choice(["everywhere", "everywhere", "everywhere", "nowhere", "nowhere", "somewhere"]),
        "inner": rng.random() < 0.2,
        "mixed": rng.random() < 0.1,
    }
    trees = []
    for bag in bags:
        inside = [row for row, times in zip(truth, bag, strict=True) if times]
        nodes = _grown(rng, tests, space, made, inside)
        plain = [{**node, "if": made.condition(node["if"])} if "if" in node else node for node in nodes]
        paths = [position_oracle._path(space, plain, row) for row in truth]
        _publish(rng, nodes, paths, truth, bag, said)
        trees.append({"nodes": nodes})
    return trees


def _row_space(
    rng: random.Random, most_rows: int
) -> tuple[list[str], dict, _Tests, position_oracle.Finite, oracle._Space]:
    """Draw a domain until its row space, continuous attributes cut, has at most so many rows."""
    while True:
        shapes = [rng.choice(SHAPES) for _ in range(rng.choice([1, 1, 2, 2, 3]) + (most_rows > MOST_ROWS))]
        domain = _domain(rng, shapes)
        tests = _Tests(rng, domain, shapes)
        _boxes(rng, domain, tests)
        # every threshold of a tree is among those drawn beforehand, so that rows can be drawn before the trees are
        cuts = tuple({name: {"at_most": t}} for name, ts in tests.thresholds.items() for t in ts)
        made = position_oracle.finite({"recon": 1, "domain": domain, "models": []}, cuts)
        space = oracle._space({"domain": made.release["domain"]})
        if 1 <= len(space.rows) <= most_rows:
            return shapes, domain, tests, made, space


def planted(
    rng: random.Random, n: int, trees: int, with_others: bool = False, most_rows: int = MOST_ROWS
) -> tuple[dict, list[Raw], set[str]]:
    """Draw a release of n positions and so many trees, its true rows by position, and what it was made of.

    The row space, continuous attributes cut, has at most `most_rows` rows.
    """
    shapes, domain, tests, made, space = _row_space(rng, most_rows)
    bags, how, tags = _bags(rng, n, trees)
    truth = [rng.choice(space.rows) for _ in range(n)]
    if n > 1 and rng.random() < 0.3:
        truth[0] = truth[-1]
    resample = {"resample": "without"} if how == "without" else {"bootstrap": True}
    models = [{"kind": "forest", **resample, "trees": _trees(rng, tests, made, truth, bags), "multiplicities": bags}]
    if with_others and not made.codes:
        models.append(oracle_coupled._model(rng, rng.choice(["tree", "forest", "rule_list", "table"]), space, truth))
        rng.shuffle(models)
        tags.add("joined")
    release = {"recon": 1, "domain": domain, **({"rows": n} if rng.random() < 0.4 else {}), "models": models}
    tags |= set(shapes) | {"impossible" for _ in domain.get("impossible", [])}
    tags.add("no label" if space.label is None else f"{len(space.values[space.label])} classes")
    return release, [made.raw(row, list(space.values)) for row in truth], tags


def versions(rng: random.Random) -> tuple[tuple[dict, dict], tuple[list[Raw], list[Raw]], list[int], list[int]]:
    """Draw two forests of one domain, the rows of both, and the places of those who left (before) and came (after)."""
    removed, added = rng.choice([(1, 0), (1, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)])
    _, domain, tests, made, space = _row_space(rng, MOST_ROWS)
    n = rng.randint(3, 8)
    before = [rng.choice(space.rows) for _ in range(n)]
    left = sorted(rng.sample(range(n), removed))
    after = [row for i, row in enumerate(before) if i not in left]
    came = sorted(rng.sample(range(len(after) + added), added))
    for at in came:
        after.insert(at, rng.choice(space.rows))
    releases, rows = [], []
    for truth in (before, after):
        bags, how, _ = _bags(rng, len(truth), rng.randint(2, 8))
        resample = {"resample": "without"} if how == "without" else {"bootstrap": True}
        trees = _trees(rng, tests, made, truth, bags)
        model = {"kind": "forest", **resample, "trees": trees, "multiplicities": bags}
        releases.append({"recon": 1, "domain": domain, "models": [model]})
        rows.append([made.raw(row, list(space.values)) for row in truth])
    return (releases[0], releases[1]), (rows[0], rows[1]), left, came


def tried(rng: random.Random, with_others: bool) -> Case | None:
    """Draw a release, or None where it has too many worlds to list."""
    n, trees = rng.choice([1, 2, 3, 4, 4, 5, 5, 6]), rng.choice([1, 2, 2, 3, 3, 4])
    release, truth, tags = planted(rng, n, trees, with_others)
    try:
        worlds = position_oracle.worlds(release, most=MOST_WORLDS)
    except TooMany:
        return None
    return Case(release, truth, worlds, frozenset(tags))


def random_case(rng: random.Random, with_others: bool = False) -> Case:
    """Draw a tiny release with known bags; its true rows are one of its worlds."""
    while (case := tried(rng, with_others)) is None:
        pass
    return case


def cases(seed: str, number: int, with_others: bool = False) -> Iterator[tuple[random.Random, Case]]:
    """Yield so many random cases, and the generator they were drawn with for what is asked of each."""
    rng = random.Random(seed)
    for _ in range(number):
        yield rng, random_case(rng, with_others)


def perturbed(rng: random.Random, case: Case) -> Case:
    """Return the release with a drawn row of one leaf or class counted in another: other worlds, or none."""
    release = copy.deepcopy(case.release)
    forest = next(model for model in release["models"] if "multiplicities" in model)
    nodes = rng.choice(forest["trees"])["nodes"]
    for node in nodes:
        if "if" in node:  # sums of leaves, no longer right
            for key in ("count", "counts", "distinct"):
                node.pop(key, None)
    slots: list[tuple[Any, Any]] = [(node, "count") for node in nodes if "count" in node]
    slots += [(node["counts"], k) for node in nodes for k in range(len(node.get("counts", [])))]
    holder, key = rng.choice([(holder, key) for holder, key in slots if holder[key]])
    holder[key] -= 1
    holder, key = rng.choice(slots)
    holder[key] += 1
    try:
        worlds = position_oracle.worlds(release, most=MOST_WORLDS)
    except TooMany:
        return case
    return Case(release, [], worlds, case.tags | {"perturbed"})


# ---------------------------------------------------------------- fits of scikit-learn


def _table(rng: random.Random) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the floats and the classes of one of scikit-learn's data sets."""
    from sklearn import datasets

    name = rng.choice(["iris", "wine", "breast_cancer", "diabetes"])
    found = getattr(datasets, f"load_{name}")(as_frame=True)
    labels = found.target.to_numpy()
    return found.data, (labels > np.median(labels)).astype(int) if name == "diabetes" else labels


def _column(rng: random.Random, values: np.ndarray, name: str) -> tuple[pd.DataFrame, dict, dict]:
    """Return features made of one column of floats, the attribute behind them and its columns in the domain."""
    style = rng.choice(["gaps", "gaps", "integers", "bit", "group"])
    if style == "gaps":
        return pd.DataFrame({name: values}), {"name": name, "resolution": None}, {}
    edges = np.quantile(values, {"bit": [0.5], "group": [0.33, 0.66], "integers": [0.25, 0.5, 0.75]}[style])
    codes = np.searchsorted(edges, values)
    if style != "group":
        return pd.DataFrame({name: codes}), {"name": name, "min": 0, "max": len(edges)}, {}
    words = ["a", "b", "c"]
    hot = pd.DataFrame({f"{name}:={word}": (codes == k).astype(int) for k, word in enumerate(words)})
    columns = {f"{name}:={word}": {"attribute": name, "in": [word]} for word in words}
    return hot, {"name": name, "values": words}, columns


def _forest(rng: random.Random, n: int) -> Any:
    """Draw a forest of scikit-learn whose trees see resamples."""
    from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    own = {
        "max_depth": rng.choice([None, None, 1, 2]),
        "min_samples_leaf": rng.choice([1, 1, 1, 2]),
        "criterion": rng.choice(["gini", "entropy"]),
    }
    shared = {"n_estimators": rng.choice([1, 2, 3, 4]), "random_state": rng.randrange(1000)}
    samples = rng.choice([None, None, max(1, n // 2), max(1, n - 1)])
    if rng.random() < 0.3:
        size = rng.choice([n, max(1, n // 2), max(1, n - 1)])
        again = rng.random() < 0.7
        return BaggingClassifier(DecisionTreeClassifier(**own), max_samples=size, bootstrap=again, **shared)
    kind = rng.choice([RandomForestClassifier, RandomForestClassifier, ExtraTreesClassifier])
    weights = rng.choice([None, None, None, "balanced"])
    return kind(bootstrap=True, max_samples=samples, class_weight=weights, **own, **shared)


def _fitted(rng: random.Random, folder: Path) -> Case | None:
    import joblib

    import recon
    from recon.readers.formats.release.writing import dump, release_json

    data, classes = _table(rng)
    n = rng.choice([3, 4, 5, 5, 6, 6])
    rows = np.array(rng.sample(range(len(data)), n))
    names = rng.sample(list(data.columns), rng.choice([1, 2, 2, 3]))
    parts = [_column(rng, data[old].to_numpy()[rows], f"a{k}") for k, old in enumerate(names)]
    features, labels = pd.concat([part for part, _, _ in parts], axis=1), classes[rows]
    forest = _forest(rng, n).fit(features, labels)
    columns = {name: test for _, _, named in parts for name, test in named.items()}
    domain: dict[str, Any] = {"attributes": [attribute for _, attribute, _ in parts], "columns": columns}
    domain |= {"label": {"name": "y", "values": np.unique(labels).tolist()}, "order": list(features.columns)}
    joblib.dump(forest, folder / "model.joblib")
    (folder / "domain.json").write_text(json.dumps({"recon": 1, "domain": domain}), encoding="utf-8")
    loaded = recon.load(folder / "model.joblib", domain=str(folder / "domain.json"))
    release = json.loads(dump(release_json(loaded.domain, loaded.models, loaded.declared)))
    if "multiplicities" not in release["models"][0]:
        return None
    try:
        worlds = position_oracle.worlds(release, most=MOST_WORLDS)
    except TooMany:
        return None
    if len(worlds.rows) > 3 * MOST_ROWS:
        return None
    truth = [{"y": int(label)} for label in labels]
    for (frame, attribute, named), line in ((part, line) for part in parts for line in range(n)):
        values = frame.iloc[line].tolist()
        value = attribute["values"][values.index(1)] if named else values[0]
        truth[line][attribute["name"]] = value if named or attribute.get("resolution", 1) is None else int(value)
    return Case(release, truth, worlds, frozenset({"fitted", type(forest).__name__}))


def fitted_case(rng: random.Random, folder: Path) -> Case:
    """Draw a few rows, fit a forest, and read its file; its bags are rebuilt from the stored seeds."""
    while (case := _fitted(rng, folder)) is None:
        pass
    return case
