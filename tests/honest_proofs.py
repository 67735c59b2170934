"""What is right of the honest models, proved apart from the engine: `python tests/honest_proofs.py [NAME ...]`.

Of each model the release file that `recon convert` makes of it is taken for what is published; atoms, worlds and groups
are those of plain_groups.py. *Met* is proved by one world, checked against every figure, in which every cell has no row
or at least ten of each class: the true rows where they do, rows moved out of small cells where leaves only bound
numbers from below. *Violated* is proved by a set of cells that the true rows take, for
which linear programs bound the rows between 1 and 9, or by plain_groups' search. What neither proves is open. Writes
tests/golden/honest/verdicts.json.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import honest_models
import numpy as np
import pandas as pd
from plain_groups import TooMany, Worlds
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

import recon
from recon.readers.formats.release.writing import release_json

OUT = Path(__file__).parent / "golden" / "honest" / "verdicts.json"
K = 10


def published(model: honest_models.Honest) -> dict[str, Any]:
    """Return what a model publishes as a release file says it."""
    domain = None if model.domain is None else str(model.domain)
    made = recon.load(*model.files, domain=domain)
    return json.loads(json.dumps(release_json(made.domain, made.models, made.declared)))


def passes(test: Any, value: Any) -> bool:
    """Say whether a value of the data passes a test of a release file."""
    if not isinstance(test, dict):
        return value == test
    checks = {"in": lambda a: value in a, "at_most": lambda a: value <= a, "below": lambda a: value < a,
              "at_least": lambda a: value >= a, "above": lambda a: value > a}  # fmt: skip
    return all(checks[word](argument) for word, argument in test.items())


def met(condition: dict, row: dict, domain: dict) -> bool:
    """Say whether a row of the data, by its columns, meets a condition."""
    for name, test in condition.items():
        if name in row:
            held = passes(test, row[name])
        else:  # an attribute of one-hot columns
            views = domain["columns"].items()
            (value,) = [v["in"][0] for c, v in views if v["attribute"] == name and row[c] == 1] or ["none"]
            held = passes(test, value)
        if not held:
            return False
    return True


def signature(release: dict, row: dict) -> tuple[int, ...]:
    """Return the key of a row of the data at every level of its atom."""
    domain, out = release["domain"], [0 for _ in release["domain"].get("impossible", [])]
    for model in release["models"]:
        if model["kind"] in ("tree", "forest", "boosting"):
            for tree in model.get("trees", [model]):
                at = 0
                while "if" in (node := tree["nodes"][at]):
                    at = node["then"] if met(node["if"], row, domain) else node["else"]
                out.append(at)
        elif model["kind"] == "rule_list":
            first = next(k for k, rule in enumerate(model["rules"]) if met(rule["if"], row, domain))
            out.append(2 * first + (1 if model["rules"][first]["if"] else 0))
        else:
            label = domain["label"]["name"]
            wheres = [s.get("where", {}) for s in model["statements"]]
            out += [int(met({k: v for k, v in w.items() if k != label}, row, domain)) for w in wheres]
    return tuple(out)


def true_world(worlds: Worlds, release: dict, frame: pd.DataFrame) -> np.ndarray:
    """Return the rows of the data by atom and label."""
    place = {atom: k for k, atom in enumerate(worlds.atoms)}
    world = np.zeros(worlds.width, dtype=np.int64)
    for values, number in frame.value_counts().items():
        row = dict(zip(frame.columns, values, strict=True))
        atom = place[signature(release, row)]
        world[atom * len(worlds.labels) + worlds.labels.index(values[-1])] += number
    return worlds.checked(world)


def bad_atoms(worlds: Worlds, world: np.ndarray) -> np.ndarray:
    """Return which atoms have rows but fewer than ten of a class."""
    by = world.reshape(-1, len(worlds.labels))
    return (by.sum(axis=1) > 0) & (by.min(axis=1) < K)


class Moving:
    """A world whose rows are moved from atom to atom as far as every figure allows it."""

    def __init__(self, worlds: Worlds, world: np.ndarray) -> None:
        self.worlds, self.labels, self.world = worlds, len(worlds.labels), world.copy()
        self.matrix = worlds.system.A.tocsc()
        self.least, self.most = np.array(worlds.system.lb), np.array(worlds.system.ub)
        self.value = worlds.system.A @ world
        self.names = np.array(worlds.atoms)

    def shifted(self, a: int, b: int, label: int, number: int) -> bool:
        """Move rows from atom a to atom b where every figure allows it; say whether it does."""
        columns = [[atom * self.labels + label] for atom in (a, b)]
        one, other = (self.matrix[:, column].toarray().ravel() for column in columns)
        new = self.value + number * (other - one)
        if (new < self.least - 1e-9).any() or (new > self.most + 1e-9).any():
            return False
        self.value = new
        self.world[a * self.labels + label] -= number
        self.world[b * self.labels + label] += number
        return True

    def near(self, a: int, among: np.ndarray) -> np.ndarray:
        """List atoms that share most leaves with an atom."""
        order = np.argsort(-(self.names[among] == self.names[a]).sum(axis=1), kind="stable")
        return among[order][:40]

    def emptied(self, a: int, near: np.ndarray) -> bool:
        """Move all rows of an atom away, some at a time; say whether none is left."""
        for label in range(self.labels):
            while left := int(self.world[a * self.labels + label]):
                steps = dict.fromkeys((left, -(-left // 2), 1))
                if not any(self.shifted(a, b, label, n) for n in steps for b in near):
                    return False
        return True

    def filled(self, a: int, near: np.ndarray) -> None:
        """Move rows into an atom until it has ten of each class, leaving ten where they come from."""
        for label in range(self.labels):
            for b in near:
                spare = int(self.world[b * self.labels + label]) - K
                lacking = K - int(self.world[a * self.labels + label])
                if spare > 0 and lacking > 0:
                    self.shifted(b, a, label, min(spare, lacking))


def moved(worlds: Worlds, world: np.ndarray, seconds: float) -> np.ndarray | None:
    """Empty or fill the bad atoms of a world by moving rows, where figures are least numbers; None where it fails."""
    moving, end = Moving(worlds, world), time.process_time() + seconds
    for _ in range(4):
        order = np.flatnonzero(bad_atoms(worlds, moving.world))
        if not len(order):
            return worlds.checked(moving.world)
        rows = moving.world.reshape(-1, moving.labels).sum(axis=1)
        for a in order[np.argsort(rows[order])]:
            if time.process_time() > end:
                return None
            near = moving.near(a, np.flatnonzero((moving.world.reshape(-1, moving.labels) >= K).all(axis=1)))
            if not moving.emptied(a, near):
                moving.filled(a, near)
    return None if bad_atoms(worlds, moving.world).any() else worlds.checked(moving.world)


def clean_world(worlds: Worlds, seconds: float) -> np.ndarray | None:
    """Return a world in which every atom has no row or ten of each class, by a program; None where none was found."""
    labels, atoms = len(worlds.labels), len(worlds.atoms)
    each = sparse.identity(worlds.width, format="csr")
    filled = sparse.kron(sparse.identity(atoms, format="csr"), np.ones((labels, 1)), format="csr")
    most = float(min(1e6, np.max(worlds.system.ub[np.isfinite(worlds.system.ub)], initial=1e5)))
    nothing = sparse.csr_matrix((worlds.system.A.shape[0], atoms))
    both = [
        LinearConstraint(sparse.hstack([worlds.system.A, nothing]), worlds.system.lb, worlds.system.ub),
        LinearConstraint(sparse.hstack([each, -K * filled]), 0, np.inf),
        LinearConstraint(sparse.hstack([each, -most * filled]), -np.inf, 0),
    ]
    upper = np.concatenate([np.full(worlds.width, np.inf), np.ones(atoms)])
    found = milp(np.zeros(worlds.width + atoms), constraints=both, integrality=np.ones(worlds.width + atoms),
                 bounds=Bounds(0, upper), options={"time_limit": seconds})  # fmt: skip
    return None if found.x is None else worlds.checked(np.rint(found.x[: worlds.width]).astype(np.int64))


def emptier(worlds: Worlds, left: np.ndarray, seconds: float) -> np.ndarray | None:
    """Return a world with few rows in some atoms, by a program; None where none was found."""
    objective = np.zeros((len(worlds.atoms), len(worlds.labels)))
    objective[left] = 1
    found = milp(objective.ravel(), constraints=worlds.system, integrality=np.ones(worlds.width),
                 bounds=Bounds(0, np.inf), options={"time_limit": seconds, "mip_rel_gap": 0.2})  # fmt: skip
    return None if found.x is None else worlds.checked(np.rint(found.x).astype(np.int64))


def never_pinned(worlds: Worlds, known: list[np.ndarray]) -> bool:
    """Say whether every atom of one possible row is empty in some world: then nobody's row is the same in all."""
    labels = len(worlds.labels)
    boxes = enumerate(worlds.boxes)
    left = np.array([k for k, own in boxes if len(own) == 1 and all(m.bit_count() == 1 for m in own[0])], dtype=int)
    for world in known:
        left = left[world.reshape(-1, labels)[left].any(axis=1)]
    for _ in range(8):
        if len(left) and (world := emptier(worlds, left, 20)) is not None:
            left = left[world.reshape(-1, labels)[left].any(axis=1)]
    every = np.arange(len(worlds.atoms))
    for a in left:
        moving = Moving(worlds, known[0])
        if not moving.emptied(int(a), moving.near(a, every[every != a])):
            return False
        worlds.checked(moving.world)
    return True


def pinned(worlds: Worlds) -> bool:
    """Say whether some figure alone proves people of one possible row, label included."""
    boxes = enumerate(worlds.boxes)
    single = {k for k, own in boxes if len(own) == 1 and all(m.bit_count() == 1 for m in own[0])}
    plain = [one for one in worlds.limits if len(one[0]) == 1 and one[1][0] == 1]
    return any(low >= 1 and int(variables[0]) // len(worlds.labels) in single for variables, _, low, _ in plain)


def ends(worlds: Worlds, atoms: np.ndarray) -> tuple[float, float]:
    """Return rigorous ends (up to HiGHS) of the rows in some atoms over all worlds, by linear programs."""
    objective = np.zeros((len(worlds.atoms), len(worlds.labels)))
    objective[atoms] = 1
    found = []
    for sign in (1, -1):
        one = milp(sign * objective.ravel(), constraints=worlds.system, integrality=np.zeros(worlds.width),
                   bounds=Bounds(0, np.inf), options={"time_limit": 30})  # fmt: skip
        if one.status != 0:
            raise TooMany(one.message)
        found.append(sign * one.fun)
        if sign == 1 and one.fun < 1e-6:
            break  # it may be empty
    return found[0], found[-1] if len(found) == 2 else float("inf")


def small_sets(worlds: Worlds, world: np.ndarray, labels: bool = False) -> list[np.ndarray]:
    """List sets of atoms with 1 to 9 true rows: what is in one leaf of a tree and in one of another, and atoms."""
    rows = world.reshape(-1, len(worlds.labels)).sum(axis=1)
    names = np.array(worlds.atoms)
    out: dict[tuple, np.ndarray] = {}
    levels = [k for k in range(names.shape[1]) if len(np.unique(names[:, k])) > 1][:12]
    for one, other in itertools.combinations(levels, 2):
        for key in {tuple(pair) for pair in names[:, [one, other]].tolist()}:
            inside = (names[:, one] == key[0]) & (names[:, other] == key[1])
            if 1 <= rows[inside].sum() < K:
                atoms = np.flatnonzero(inside)
                out[tuple(atoms)] = atoms
    for a in np.flatnonzero((rows >= 1) & (rows < K)):
        out[(a,)] = np.array([a])
    return sorted(out.values(), key=lambda atoms: (-len(atoms), rows[atoms].sum()))


def proved(model: honest_models.Honest, seconds: float = 120) -> dict[str, Any]:
    """Return the verdict that is proved of a model, and how."""
    release = published(model)
    kinds = [one for one in release["models"] if one.get("multiplicities")]
    if kinds:
        return {"verdict": "open", "proof": "rows are distinguished by position: not looked at"}
    try:
        worlds = Worlds(release, slack=1e-4)
    except TooMany as error:
        return {"verdict": "open", "proof": f"more {error} than are looked at"}
    frame = honest_models.frame_of(model.data)
    if honest_models.GOLDEN in [path.parent for path in model.files]:
        frame = frame.rename(columns=honest_models.plain)
    size = f"{len(worlds.atoms):,} atoms"
    for slack in (1e-4, 1e-2, 0.1):  # sums in single precision are off by more than others
        worlds = Worlds(release, slack=slack)
        try:
            world = true_world(worlds, release, frame)
            break
        except AssertionError:
            continue
    else:
        return {"verdict": "open", "proof": f"{size}: the true rows do not fit the sums"}
    if pinned(worlds):
        return {"verdict": "do not release", "proof": f"{size}: leaves of one possible row pin people down"}
    good = world if not bad_atoms(worlds, world).any() else None
    how = "the true rows are such a world"
    if good is None and any(one.get("bootstrap") for one in release["models"]):
        good, how = moved(worlds, world, seconds), "rows of the truth moved out of small cells"
    if good is None and not any(one.get("bootstrap") for one in release["models"]):
        good, how = clean_world(worlds, seconds), "a world found by a program"
    if good is not None and not never_pinned(worlds, [good, world]):
        return {"verdict": "open", "proof": f"{size}: {how}, but people may be fully known"}
    if good is not None:
        return {"verdict": "release", "proof": f"{size}: {how}"}
    end = time.process_time() + seconds
    tried = 0
    try:
        for atoms in small_sets(worlds, world):
            if time.process_time() > end:
                break
            tried += 1
            low, high = ends(worlds, atoms)
            if low > 1e-6 and high < K - 1e-6:
                true = int(world.reshape(-1, len(worlds.labels))[atoms].sum())
                how = f"a group of {low:.3f} to {high:.3f} rows ({true} in truth), set {tried}"
                return {"verdict": "do not release", "proof": f"{size}: {how}"}
        chosen = worlds.small_group(K, labelled=True, rounds=12)
    except TooMany as error:
        return {"verdict": "open", "proof": f"{size}, {tried} sets: {error}"}
    if chosen is not None:
        return {"verdict": "do not release", "proof": f"{size}: a group of {len(chosen)} cells, by search"}
    return {"verdict": "open", "proof": f"{size}, {tried} sets: no group of fewer than {K} rows; classes not decided"}


def main() -> None:
    """Prove what can be proved of the models of these names (none: all) and keep it."""
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for model in honest_models.built(Path(folder)):
            if sys.argv[1:] and not any(model.name.startswith(name) for name in sys.argv[1:]):
                continue
            begun = time.process_time()
            try:
                found[model.name] = proved(model)
            except Exception as error:  # the next model goes on
                found[model.name] = {"verdict": "open", "proof": f"{type(error).__name__}: {error}"}
            print(model.name, found[model.name], round(time.process_time() - begun), flush=True)
            OUT.write_text(json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
