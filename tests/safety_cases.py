"""Random releases and policies, what is right of them, and what the gate says: the property "release is proved".

A case is one release (a dict of a release file) in several forms that say the same: one file, a file per model, forests
split into trees, everything reordered. `truth` decides every rule by listing worlds or by programs (plain_groups.py);
`failures` holds what the audit says against it. Nothing here asks the engine for what is right, but `proved_by_bound`,
which holds the audit against the other commands.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import oracle
import oracle_coupled
import pandas as pd
import plain_groups
from plain_groups import TooMany
from policy_cases import policy_of

import recon
from solvers.foundation.errors import ReconError

KINDS = ("tree", "rule list", "forest", "bags", "boosted", "rule set", "table", "join", "figures")
RULES = ("smallest_group", "smallest_cell", "class_disclosure")
Release = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A release, its kind, a policy (key to value), and the rows it was made from."""

    seed: int
    kind: str
    release: Release
    policy: dict[str, Any]
    truth: list[Any] = field(repr=False)


# ---------------------------------------------------------------- drawing


def _domain(rng: random.Random) -> Release:
    attributes = []
    for k in range(rng.choice([1, 2, 2, 3])):
        low, size = rng.choice([0, 1, 30]), rng.choice([2, 3, 4, 6])
        words = {"values": rng.sample(["red", "green", "blue", "grey"], min(size, 4))}
        attributes.append({"name": f"a{k}", **rng.choice([{"min": low, "max": low + size - 1}] * 3 + [words])})
    labels = rng.choice([[0, 1], [0, 1], ["no", "yes"], [0, 1, 2]])
    return {"attributes": attributes, "label": {"name": "y", "values": labels}, "source": "declared"}


def _people(rng: random.Random, space: oracle._Space, few: bool) -> list[Any]:
    """Draw rows: few places that are often taken, so that some releases are harmless."""
    n = rng.choice([3, 5, 8, 12, 20, *([] if few else [30, 45, 60])])
    places = rng.sample(space.rows, min(len(space.rows), rng.choice([2, 3, 4, 6, 9])))
    if rng.random() < 0.5:  # both classes everywhere
        both = [(*row[:-1], label) for row in places for label in space.values[space.label][:2]]
        places = [row for row in both if row in space.number]
    weights = [rng.choice([1, 3, 9]) for _ in places]
    return rng.choices(places, weights, k=n)


def _table(rng: random.Random, space: oracle._Space, truth: list[Any]) -> Release:
    statements = []
    for _ in range(rng.randint(1, 5)):
        where = oracle_coupled._where(rng, space, truth, met=rng.random() < 0.7)
        number = sum(space.holds(where, row) for row in truth)
        where = {"where": where} if where else {}
        if rng.random() < 0.8:
            statements.append({**where, "count": number})
        elif rng.random() < 0.5:
            statements.append({**where, **oracle_coupled._suppressed(rng, number)})
        else:
            statements.append({**where, **oracle_coupled._bounds(rng, number)})
    return {"kind": "table", "statements": statements}


def _bags(rng: random.Random, space: oracle._Space, truth: list[Any]) -> Release:
    """Draw a forest of bags, drawn with replacement, with the numbers of different rows of leaves."""
    trees = []
    for _ in range(rng.randint(1, 3)):
        model = {"kind": "tree", "nodes": oracle._random_tree(rng, space)}
        bag = rng.choices(range(len(truth)), k=len(truth))
        bare = [node if "if" in node else {**node, "count": 0} for node in model["nodes"]]
        places = [oracle._path(space, {**model, "nodes": bare}, row) for row in truth]
        for at, node in enumerate(model["nodes"]):
            inside = [i for i in bag if at == places[i][-1]]
            if "if" not in node:
                node["counts"] = [sum(truth[i][-1] == v for i in inside) for v in space.values[space.label]]
                node["distinct"] = len(set(inside))
        trees.append({"nodes": model["nodes"]})
    return {"kind": "forest", "bootstrap": True, "trees": trees}


def _boosted(rng: random.Random, space: oracle._Space, truth: list[Any]) -> Release | None:
    """Fit gradient boosting to the rows, and return it as a release file has it."""
    from sklearn.ensemble import GradientBoostingClassifier

    names = [name for name in space.values if name != space.label]
    if any(not all(map(oracle._is_number, space.values[name])) for name in names):
        return None
    frame = pd.DataFrame(truth, columns=list(space.values))
    if frame[space.label].nunique() < 2:
        return None
    model = GradientBoostingClassifier(
        n_estimators=rng.choice([1, 2, 3]), max_depth=rng.choice([1, 2]),
        min_samples_leaf=rng.choice([1, 2, 4]), learning_rate=rng.choice([0.1, 0.5]), random_state=0,
    ).fit(frame[names], frame[space.label])  # fmt: skip
    domain = {"attributes": [{"name": n, "values": space.values[n]} for n in names],
              "label": {"name": space.label, "values": space.values[space.label]}, "source": "declared"}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(model, Path(folder, "m.joblib"))
        Path(folder, "d.json").write_text(json.dumps({"recon": 1, "domain": domain}))
        from recon.readers.formats.release.writing import release_json

        made = recon.load(Path(folder, "m.joblib"), domain=str(Path(folder, "d.json")))
        return json.loads(json.dumps(release_json(made.domain, made.models, made.declared)))


def _models(rng: random.Random, kind: str, space: oracle._Space, truth: list[Any]) -> list[Release]:
    if kind == "bags":
        return [_bags(rng, space, truth)]
    if kind == "table":
        return [{"kind": "table", "statements": [{"count": len(truth)}]}, _table(rng, space, truth)]
    if kind == "join":
        chosen = rng.choices(["tree", "rule_list", "forest", "rule_set", "table"], k=rng.choice([2, 2, 3]))
        return [
            _table(rng, space, truth) if one == "table" else oracle_coupled._model(rng, one, space, truth)
            for one in chosen
        ]
    name = {"rule list": "rule_list", "rule set": "rule_set"}.get(kind, kind)
    return [oracle_coupled._model(rng, name, space, truth)]


def drawn(seed: int, kinds: tuple[str, ...] = KINDS) -> Case:
    """Return the case of a seed."""
    rng = random.Random(seed)
    kind = rng.choice(kinds)
    while True:
        if kind == "figures":  # means, totals and medians as well, of very few rows
            release, truth = oracle_coupled.random_coupled(rng)
            policy = _policy(rng, len(truth), bool(release["domain"].get("label")))
        else:
            domain = _domain(rng)
            space = oracle._Space({"domain": domain})
            truth = _people(rng, space, few=kind == "bags")
            policy = _policy(rng, len(truth), True)
            if kind == "boosted":
                release = _boosted(rng, space, truth)
                if release is None:
                    continue
            else:
                release = {"recon": 1, "domain": domain, "rows": len(truth), "models": []}
                release["models"] = _models(rng, kind, space, truth)
                if kind in ("tree", "forest") and rng.random() < 0.5:
                    del release["rows"]
        return Case(seed, kind, release, policy, truth)


def _policy(rng: random.Random, n: int, classes: bool) -> dict[str, Any]:
    every: dict[str, Any] = {
        "smallest_group": rng.choice([2, 2, 3, 5]),
        "smallest_cell": rng.choice([2, 2, 3]),
        "class_disclosure": rng.choice(["forbidden", "forbidden", 1, max(1, n // 3)]),
    }
    if not classes:
        every = {"smallest_group": every["smallest_group"]}
    chosen = rng.sample(sorted(every), min(len(every), rng.choice([1, 1, 1, 2, 3])))
    return {key: every[key] for key in every if key in chosen}


# ---------------------------------------------------------------- the same in other forms


def forms(case: Case) -> Iterator[tuple[str, list[Release]]]:
    """Yield names and files of forms that say the same as the release."""
    rng = random.Random(case.seed)
    release = copy.deepcopy(case.release)
    yield "one file", [release]
    split = []
    for model in release["models"]:
        if model["kind"] == "forest" and not model.get("bootstrap"):
            split += [{"kind": "tree", "nodes": tree["nodes"]} for tree in model["trees"]]
        else:
            split.append(model)
    if len(split) != len(release["models"]):
        yield "split into trees", [{**release, "models": split}]
    if len(split) > 1:
        rows = {"rows": len(case.truth)} if case.kind != "figures" and "rows" in release else {}
        files = [{**release, **rows, "models": [model]} for model in split]
        yield "a file each", files
        yield "files in another order", files[::-1]
    shuffled = copy.deepcopy(release)
    for model in shuffled["models"]:
        _shuffle(rng, model)
    rng.shuffle(shuffled["models"])
    yield "reordered", [shuffled]


def _shuffle(rng: random.Random, model: Release) -> None:
    if model["kind"] == "table":
        rng.shuffle(model["statements"])
    elif model["kind"] == "rule_set":
        rng.shuffle(model["rules"])
    elif model["kind"] in ("tree", "forest", "boosting"):
        for tree in model.get("trees", [model]):
            order = list(range(1, len(tree["nodes"])))
            rng.shuffle(order)
            new = {old: k for k, old in enumerate([0, *order])}
            tree["nodes"] = [
                {key: new[value] if key in ("then", "else") else value for key, value in tree["nodes"][old].items()}
                for old in [0, *order]
            ]
        if model["kind"] == "forest":
            rng.shuffle(model["trees"])


# ---------------------------------------------------------------- what is right


def truth(case: Case) -> dict[str, str]:
    """Return what is right of every rule of the policy: met, violated, or unknown (too much to decide).

    Few drawn rows in a leaf violate by themselves, whoever else the leaf may hold.
    """
    out = _of_worlds(case)
    for rule in {"smallest_group", "smallest_cell"} & set(out):
        if any(1 <= number < case.policy[rule] for number in _drawn(case.release, rule == "smallest_cell")):
            out[rule] = "violated"
    return out


def _drawn(release: Release, labelled: bool) -> Iterator[int]:
    """Yield how many different drawn people leaves of bags have at most, or those of one class in them.

    All ways are tried in which so many draws can be of so many different people.
    """
    for model in release["models"]:
        for tree in model["trees"] if model.get("bootstrap") else ():
            for leaf in [node for node in tree["nodes"] if "if" not in node]:
                draws = [number for number in leaf.get("counts", [leaf.get("count", 0)]) if number]
                ways = [
                    way
                    for way in itertools.product(*(range(1, number + 1) for number in draws))
                    if sum(way) == leaf.get("distinct", sum(way))
                ]
                yield from map(max, zip(*ways, strict=True)) if labelled else [max(map(sum, ways))]


def _of_worlds(case: Case) -> dict[str, str]:
    if case.kind == "figures":
        return _of_figures(plain_groups.listed_truth(case.release), case.policy)
    worlds = plain_groups.Worlds(case.release)
    try:
        listed = worlds.every_world(3_000)
        if len(listed):
            return _of_figures(plain_groups.decided(listed, len(worlds.labels)), case.policy, worlds)
    except TooMany:
        pass
    return {rule: _by_program(worlds, rule, value) for rule, value in case.policy.items()}


def _of_figures(found: dict[str, Any], policy: dict[str, Any], worlds: Any = None) -> dict[str, str]:
    out = {}
    for rule, value in policy.items():
        figure = found[rule]
        if figure == "too many":
            out[rule] = "unknown" if worlds is None else _by_program(worlds, rule, value)
        elif rule == "class_disclosure":
            out[rule] = "violated" if figure is not None and figure > _allowed(value) else "met"
        else:
            out[rule] = "violated" if figure is not None and figure < value else "met"
    return out


def _allowed(value: Any) -> float:
    return {"forbidden": 0, "allowed": math.inf}.get(value, value) if isinstance(value, str) else value


def _by_program(worlds: plain_groups.Worlds, rule: str, value: Any) -> str:
    try:
        if rule == "class_disclosure":
            return "violated" if worlds.known_class() > _allowed(value) else "met"
        return "met" if worlds.small_group(value, rule == "smallest_cell", rounds=40) is None else "violated"
    except TooMany:
        return "unknown"


# ---------------------------------------------------------------- what the gate says


def judged(files: list[Release], policy: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the verdict on files, and the outcome of each check; or the error, in one word, and nothing."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{k}.json") for k in range(len(files))]
        for path, one in zip(paths, files, strict=True):
            path.write_text(json.dumps(one))
        try:
            assessment = recon.audit(recon.load(*paths), policy_of(**policy), limits=recon.Limits(300)).assessment
        except ReconError as error:
            return type(error).__name__, {"error": str(error)}
    return assessment.verdict, {check.rule: check.outcome for check in assessment.checks}


def failures(case: Case) -> list[str]:
    """Return what the audit says of a case that is not right, one sentence each, the kind of failure first."""
    right, told, verdicts = truth(case), [], {}
    for name, files in forms(case):
        verdict, outcomes = judged(files, case.policy)
        verdicts[name] = verdict
        bad = [rule for rule, one in right.items() if one == "violated"]
        if verdict == "release" and bad:
            told.append(f"false release: {name}: {', '.join(bad)} violated")
        for rule, one in right.items():
            said = outcomes.get(rule)
            if said == "violated" and rule == "smallest_group" and _names_label(case.release):
                continue  # a published cell of one class is a group as well
            if one != "unknown" and said in ("met", "violated") and said != one and not (verdict == "release" and bad):
                told.append(f"{said} but {one}: {name}: {rule}")
        if "error" in outcomes:
            told.append(f"error: {name}: {outcomes['error']}")
    if len(set(verdicts.values())) > 1:
        told.append(f"verdicts differ: {verdicts}")
    return told


def _names_label(release: Release) -> bool:
    """Say whether a statement of the release is about a class."""
    label = (release["domain"].get("label") or {}).get("name")
    return any(name == label for name, _ in plain_groups._tests(release))


def proved_by_bound(case: Case) -> list[str]:
    """Return what `bound` and `attribute` prove against the policy, over all rows of the domain and parts of models."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "r.json")
        path.write_text(json.dumps(case.release))
        release = recon.load(path)
        told = []
        space = oracle._space(case.release)
        for where in _conditions(case.release, random.Random(case.seed)):
            found = recon.bound(release, where)
            small = case.policy.get("smallest_group", 0), case.policy.get("smallest_cell", 0)
            labels = space.label in where
            if (
                found.min is not None
                and found.min >= 1
                and found.max is not None
                and found.max < (small[1] if labels else max(small))
            ):
                told.append(f"bound: {where} has {found.min} to {found.max} rows")
        if case.policy.get("class_disclosure") == "forbidden":
            names = [name for name in space.values if name != space.label]
            frame = pd.DataFrame(sorted({row[:-1] for row in space.rows}, key=repr), columns=names)
            inferred = recon.attribute(release, frame, space.label)
            for row in frame.iloc[inferred.loc[inferred["certain"], "profile"]].to_dict("records"):
                plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in row.items()}
                if (least := recon.bound(release, plain).min) is not None and least >= 1:
                    told.append(f"attribute: {plain} has one class for certain, {least} people at least")
        return told


def _conditions(release: Release, rng: random.Random) -> list[dict]:
    """List conditions: those of parts of models, joined by two where they do not test the same names."""
    parts = []
    for model in release["models"]:
        for tree in model.get("trees", [model]):
            for part in [*tree.get("nodes", []), *tree.get("rules", []), *tree.get("statements", [])]:
                if where := part.get("if", part.get("where")):
                    parts.append(where)
    space = oracle._space(release)
    for name, values in space.values.items():
        parts += [{name: value} for value in map(oracle._json_number, values)]
    pairs = [{**a, **b} for a in parts for b in parts if not set(a) & set(b)]
    return parts + rng.sample(pairs, min(len(pairs), 12))
