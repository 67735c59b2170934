"""Groups and classes that a release gives away, decided apart from the engine: plain Python, brute force, and HiGHS.

A *group* is a set of possible rows that in every world has at least one row; it is smaller than k where in every world
it has fewer than k. It suffices to look at unions of *atoms*: rows that no statement distinguishes (from a part of an
atom all rows can move to the rest of it). For groups the label is left out (`labelled=False`), for cells it is kept.

`Worlds` has the atoms of a release file (dict) and what it says about how many rows of each class they hold, as linear
limits. `every_world` lists all worlds, as counts, where they are few; `least_group`, `known_classes` decide by listing;
`small_group`, `known_class` by programs (scipy's HiGHS) and need no list: worlds and sets are searched in turn. Nothing
here shares code with the engine; what conditions mean is in oracle.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import oracle
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

Box = tuple[int, ...]  # per attribute the values as a bit mask
Limit = tuple[np.ndarray, np.ndarray, float, float]  # variables, their coefficients, least, most
MOST_ATOMS, MOST_WORLDS, MOST_SETS = 30_000, 60_000, 12


class TooMany(Exception):
    """More atoms, worlds or sets than are looked at, or no answer of HiGHS in time."""


def _near(attribute: dict, ends: Iterable[Any]) -> list:
    """List values of a declared attribute, one at least between two thresholds and at each; all where they are few."""
    if "values" in attribute:
        return [oracle.canonical(value) for value in attribute["values"]]
    low, high = oracle.canonical(attribute["min"]), oracle.canonical(attribute["max"])
    step = attribute.get("resolution", 1)
    ends = sorted({oracle.canonical(e) for e in ends} | {low, high})
    if step is None:
        gaps = [b - a for a, b in itertools.pairwise(ends)]
        tiny = Fraction(min([g for g in gaps if g > 0], default=1)) / 4
        found = {e + k * tiny for e in ends for k in (-1, 0, 1)}
    else:
        step = Fraction(oracle.canonical(step))
        places = {math.floor((e - low) / step) + k for e in ends for k in (-1, 0, 1, 2)}
        found = {low + k * step for k in places}
    return sorted(oracle.canonical(value) for value in found if low <= value <= high)


def _tests(release: dict) -> Iterator[tuple[str, Any]]:
    """Yield all tests of all conditions: name and test."""
    domain = release["domain"]
    for column in domain.get("columns", {}).values():
        yield column["attribute"], {key: value for key, value in column.items() if key != "attribute"}
    for box in domain.get("impossible", []):
        yield from box.items()
    for model in release["models"]:
        for tree in model.get("trees", [model]):
            for part in [*tree.get("nodes", []), *tree.get("rules", []), *tree.get("statements", [])]:
                yield from part.get("if", part.get("where", {})).items()


class Worlds:
    """The atoms of a release and the limits on their rows; variable `atom * labels + label` is a number of rows."""

    def __init__(self, release: dict, slack: float = 0.0) -> None:
        """`slack` widens sums of gradients, so that rounding of HiGHS excludes no world; groups stay proved."""
        domain = release["domain"]
        self.release, self.slack = release, slack
        ends: dict[str, list] = {}
        for name, test in _tests(release):
            stated = test.items() if isinstance(test, dict) else [("in", [test])]
            for _, value in stated:
                ends.setdefault(name, []).extend(value if isinstance(value, list) else [value])
        attributes = [
            {"name": one["name"], "values": _near(one, ends.get(one["name"], []))} for one in domain["attributes"]
        ]
        label = domain.get("label") or {"name": "no label", "values": [0]}
        self.names = [one["name"] for one in attributes]
        self.space = oracle._Space({"domain": {**domain, "attributes": attributes, "label": label}})
        self.label, self.labels = label["name"], self.space.values[label["name"]]
        self.atoms: list[tuple] = [()]
        self.boxes: list[list[Box]] = [[tuple((1 << len(self.space.values[n])) - 1 for n in self.names)]]
        self._said: list[tuple] = []
        self._boosted: list[tuple[dict, int]] = []
        self._number(release)
        self._impossible()
        for model in release["models"]:
            self._take(model)

    # -------------------------------------------------- atoms

    def _masks(self, condition: dict) -> tuple[dict[int, int], list[int]]:
        """Return a condition as masks by attribute, and the numbers of the labels that meet it."""
        masks: dict[int, int] = {}
        labels = list(range(len(self.labels)))
        for name, test in condition.items():
            passing = self.space.passing(name, test)
            if name == self.label:
                labels = [k for k in labels if self.labels[k] in passing]
                continue
            owner = self.space.columns[name]["attribute"] if name in self.space.columns else name
            if owner == self.label:
                raise TooMany("a column of the label")
            if name in self.space.columns:
                own = {key: value for key, value in self.space.columns[name].items() if key != "attribute"}
                met = self.space.passing(owner, own)
                passing = {v for v in self.space.values[owner] if int(v in met) in passing}
            at = self.names.index(owner)
            mask = sum(1 << k for k, v in enumerate(self.space.values[owner]) if v in passing)
            masks[at] = masks.get(at, -1) & mask
        return masks, labels

    @staticmethod
    def _parted(box: Box, masks: dict[int, int]) -> tuple[Box | None, list[Box]]:
        """Return the part of a box that meets a condition, and the boxes of the rest."""
        rest, left = [], list(box)
        for at, mask in masks.items():
            if left[at] & ~mask:
                rest.append((*left[:at], left[at] & ~mask, *left[at + 1 :]))
            left[at] &= mask
            if not left[at]:
                return None, rest
        return tuple(left), rest

    def _refine(self, parts: Any) -> int:
        """Cut every atom by `parts(box)`, pairs of a key and a box; return the level of the keys in names of atoms."""
        every: dict[tuple, list[Box]] = {}
        for number, boxes in enumerate(self.boxes):
            for box in boxes:
                for key, piece in parts(box):
                    every.setdefault((number, key), []).append(piece)
            if len(every) > MOST_ATOMS:
                raise TooMany("atoms")
        self.atoms = [(*self.atoms[number], key) for number, key in every]
        self.boxes = list(every.values())
        return len(self.atoms[0]) - 1

    def _say(self, level: int | None, keys: Iterable[int], labels: Iterable[int], low: float, high: float) -> None:
        """Limit the rows with these labels in the atoms whose key at a level is one of these (None: in all atoms)."""
        self._said.append((level, tuple(keys), tuple(labels), low, high))

    @cached_property
    def limits(self) -> list[Limit]:
        """What is said, over the variables."""
        width, found = len(self.labels), []
        numbers = np.arange(len(self.atoms))
        by: dict[int, dict[int, np.ndarray]] = {}
        for level in {level for level, *_ in self._said if level is not None}:
            keys = np.array([atom[level] for atom in self.atoms])
            by[level] = {int(key): np.flatnonzero(keys == key) for key in np.unique(keys)}
        for level, keys, labels, low, high in self._said:
            own = [by[level][key] for key in keys if key in by[level]] if level is not None else [numbers]
            atoms = np.concatenate(own) if own else np.zeros(0, dtype=int)
            variables = (atoms[:, None] * width + np.array(labels, dtype=int)).ravel()
            found.append((variables, np.ones(len(variables)), low, high))
        for model, first in self._boosted:
            found += list(self._sums(model, first))
        return found

    # -------------------------------------------------- what is said

    def _number(self, release: dict) -> None:
        rows, every = release.get("rows"), range(len(self.labels))
        if isinstance(rows, dict):
            self._say(None, (), every, rows.get("at_least", 0), rows.get("at_most", math.inf))
        elif rows is not None:
            self._say(None, (), every, rows, rows)

    def _impossible(self) -> None:
        for condition in self.release["domain"].get("impossible", []):
            masks, labels = self._masks(condition)
            self._say(self._cut(masks), [1], labels, 0, 0)

    def _cut(self, masks: dict[int, int]) -> int:
        """Cut by one condition, key 1 where it holds; return the level."""

        def parts(box: Box) -> Iterator[tuple[int, Box]]:
            inside, rest = self._parted(box, masks)
            if inside is not None:
                yield 1, inside
            for one in rest:
                yield 0, one

        return self._refine(parts)

    def _take(self, model: dict) -> None:
        if model["kind"] == "table":
            for statement in model["statements"]:
                if oracle._statement_kind(statement) != "count":
                    raise TooMany("figures that are no counts")
                low, high = oracle._limits(statement, "count")
                masks, labels = self._masks(statement.get("where", {}))
                self._say(self._cut(masks), [1], labels, low, high)
        elif model["kind"] == "rule_set":
            for rule in model["rules"]:
                masks, _ = self._masks(rule["if"])
                self._counts(self._cut(masks), [1], rule)
        elif model["kind"] == "forest" and model.get("bootstrap", model.get("resample")):
            for tree in model["trees"]:
                self._tree(tree["nodes"], bag=True)
        elif model["kind"] == "boosting":
            self._boosted.append((model, len(self.atoms[0])))
            for tree in model["trees"]:
                self._tree(tree["nodes"])
        elif model["kind"] in ("tree", "forest"):
            for tree in model.get("trees", [model]):
                self._tree(tree["nodes"])
        else:
            nodes: list[dict] = []
            for k, rule in enumerate(model["rules"]):
                leaf = {key: rule[key] for key in ("count", "counts") if key in rule}
                if rule["if"] == {}:
                    nodes.append(leaf)
                    break
                nodes += [{"if": rule["if"], "then": 2 * k + 1, "else": 2 * k + 2}, leaf]
            else:
                nodes.append({})
            self._tree(nodes)

    def _counts(self, level: int, keys: list[int], part: dict) -> None:
        if "count" in part:
            self._say(level, keys, range(len(self.labels)), part["count"], part["count"])
        for k, number in enumerate(part.get("counts", ())):
            self._say(level, keys, [k], number, number)

    def _bag(self, level: int, key: int, part: dict) -> None:
        """What a leaf says of a bag drawn with replacement: at least so many different rows of some classes."""
        counts = part.get("counts")
        if counts is None:
            self._say(level, [key], range(len(self.labels)), part.get("distinct", int(part["count"] > 0)), math.inf)
            return
        seen = [k for k, number in enumerate(counts) if number]
        for size in range(1, len(seen) + 1):
            for chosen in itertools.combinations(seen, size):
                outside = sum(number for k, number in enumerate(counts) if k not in chosen)
                self._say(level, [key], chosen, max(part.get("distinct", 0) - outside, size), math.inf)

    def _tree(self, nodes: list[dict], bag: bool = False) -> None:
        tests = [self._masks(node["if"])[0] if "if" in node else None for node in nodes]

        def parts(box: Box) -> Iterator[tuple[int, Box]]:
            left = [(0, box)]
            while left:
                at, one = left.pop()
                if tests[at] is None:
                    yield at, one
                    continue
                inside, rest = self._parted(one, tests[at])
                if inside is not None:
                    left.append((nodes[at]["then"], inside))
                left += [(nodes[at]["else"], piece) for piece in rest]

        level = self._refine(parts)
        inside = {at: [at] for at in range(len(nodes))}
        for at in self._upwards(nodes):
            if "if" in nodes[at]:
                inside[at] = inside[nodes[at]["then"]] + inside[nodes[at]["else"]]
            if not bag:
                self._counts(level, inside[at], nodes[at])
            elif "if" not in nodes[at]:
                self._bag(level, at, nodes[at])

    @staticmethod
    def _upwards(nodes: list[dict]) -> list[int]:
        """List the nodes of a tree, children before parents."""
        order = [0]
        for at in order:
            if "if" in nodes[at]:
                order += [nodes[at]["then"], nodes[at]["else"]]
        return order[::-1]

    def _sums(self, model: dict, first: int) -> Iterator[Limit]:
        """Yield sums of gradients of a boosted model: what a row of each atom and class adds, and the interval."""
        given, width = model["gradients"], len(self.labels)
        numbers = {k: i for i, k in enumerate(model["labels"])}
        other = np.array([k for k in range(width) if k not in numbers], dtype=int)
        every = np.arange(len(self.atoms))
        gone = (every[:, None] * width + other).ravel()
        yield gone, np.ones(len(gone)), 0, 0
        sums = [list(model.get("base", model["start"])) for _ in self.atoms]
        before, last = [list(model["start"]) for _ in self.atoms], 0
        for t, tree in enumerate(model["trees"]):
            if tree["round"] != last:
                before, last = [list(s) for s in sums], tree["round"]
            of, nodes = tree.get("of", 0), tree["nodes"]
            leaves: dict[int, list[int]] = {at: [] for at in range(len(nodes))}
            for a, sig in enumerate(self.atoms):
                leaves[sig[first + t]].append(a)
            own = [[oracle._gradient(given, before[a], of, i) for i in numbers.values()] for a in every]
            gradients = np.array(own).reshape(len(every), len(numbers), 2)
            for at in self._upwards(nodes):
                if "if" in nodes[at]:
                    leaves[at] = leaves[nodes[at]["then"]] + leaves[nodes[at]["else"]]
                node, inside = nodes[at], np.array(leaves[at], dtype=int)
                variables = (inside[:, None] * width + np.array(list(numbers), dtype=int)).ravel()
                g, h = (gradients[inside, :, i].ravel() for i in (0, 1))
                for one in [node[key] for key in ("value", "weight") if key in node] + node.get("sums", []):
                    f = [one.get(key, 0) for key in ("gradient", "hessian", "square")]
                    yield (
                        variables,
                        f[0] * g + f[1] * h + f[2] * g * g,
                        one["at_least"] - self.slack,
                        one["at_most"] + self.slack,
                    )
            for a, sig in enumerate(self.atoms):
                sums[a][of] += nodes[sig[first + t]]["step"]

    # -------------------------------------------------- programs

    @cached_property
    def width(self) -> int:
        """How many variables there are."""
        return len(self.atoms) * len(self.labels)

    @cached_property
    def system(self) -> LinearConstraint:
        """The limits as a constraint."""
        rows = np.repeat(np.arange(len(self.limits)), [len(variables) for variables, *_ in self.limits])
        columns = np.concatenate([variables for variables, *_ in self.limits])
        values = np.concatenate([coefficients for _, coefficients, *_ in self.limits])
        matrix = csr_array((values, (rows, columns)), shape=(len(self.limits), self.width), dtype=float)
        return LinearConstraint(matrix, [low for *_, low, _ in self.limits], [high for *_, high in self.limits])

    def most_rows(self) -> int:
        """Return the greatest number of rows in all."""
        found = self.extreme(np.ones(self.width), most=True)
        return int(found.sum())

    def extreme(self, objective: np.ndarray, *, most: bool, seconds: float = 20) -> np.ndarray:
        """Return a world (counts by variable) with the greatest or least value; `TooMany` where none is proved."""
        found = milp(-objective if most else objective, constraints=self.system, integrality=np.ones(self.width),
                     bounds=Bounds(0, np.inf), options={"time_limit": seconds, "mip_rel_gap": 0})  # fmt: skip
        if found.status == 2:
            raise ValueError("there is no world")
        if found.status != 0:
            raise TooMany(found.message)
        return self.checked(found.x)

    def checked(self, x: np.ndarray) -> np.ndarray:
        """Return rounded counts after checking them against every limit."""
        world = np.rint(x).astype(np.int64)
        assert (world >= 0).all()
        total = self.system.A @ world
        assert (total >= np.array(self.system.lb) - 1e-6).all()
        assert (total <= np.array(self.system.ub) + 1e-6).all()
        return world

    def held(self, world: np.ndarray, labelled: bool) -> np.ndarray:
        """Return the rows by atom, or by atom and label."""
        return world if labelled else world.reshape(-1, len(self.labels)).sum(axis=1)

    def good_world(self, k: int, labelled: bool, seconds: float = 20, within: np.ndarray | None = None) -> Any:
        """Return a world in which every cell has 0 or at least k rows; None: there is none; `TooMany`: not known.

        `within`: the variables that may have rows (None: all); then None is no proof.
        """
        own = np.arange(self.width) // (1 if labelled else len(self.labels))
        cells, rows = int(own[-1]) + 1, self.most_rows()
        ones = csr_array((np.ones(self.width), (own, np.arange(self.width))), shape=(cells, self.width))
        rest = csr_array((np.ones(cells), (range(cells), range(cells))), shape=(cells, cells))
        none = csr_array((self.system.A.shape[0], cells))
        from scipy.sparse import hstack

        limits = [
            LinearConstraint(hstack([self.system.A, none]), self.system.lb, self.system.ub),
            LinearConstraint(hstack([ones, -k * rest]), 0, np.inf),
            LinearConstraint(hstack([ones, -rows * rest]), -np.inf, 0),
        ]
        upper = np.concatenate([np.full(self.width, float(rows)), np.ones(cells)])
        if within is not None:
            upper[: self.width][~within] = 0
        found = milp(np.zeros(self.width + cells), constraints=limits, integrality=np.ones(self.width + cells),
                     bounds=Bounds(0, upper), options={"time_limit": seconds})  # fmt: skip
        if found.status == 2:
            return None
        if found.x is None:
            raise TooMany(found.message)
        world = self.checked(found.x[: self.width])
        held = self.held(world, labelled)
        assert ((held == 0) | (held >= k)).all()
        return world

    def small_group(self, k: int, labelled: bool, rounds: int = 200) -> list[int] | None:
        """Return a group of 1 to k - 1 rows in every world, as numbers of cells; None where there is none: proved."""
        pool: list[np.ndarray] = []
        rng = np.random.default_rng(0)
        for _ in range(4):
            pool.append(self.held(self.extreme(rng.normal(size=self.width), most=True), labelled))
        per = 1 if labelled else len(self.labels)
        for _ in range(rounds):
            if any(((w == 0) | (w >= k)).all() for w in pool):
                return None
            counts = np.array(pool)
            found = milp(np.ones(counts.shape[1]), constraints=[LinearConstraint(counts, 1, k - 1)],
                         integrality=np.ones(counts.shape[1]), bounds=Bounds(0, 1),
                         options={"time_limit": 20})  # fmt: skip
            if found.status == 2:
                return None
            if found.x is None:
                raise TooMany(found.message)
            chosen = np.rint(found.x)
            inside = np.repeat(chosen, per)
            fresh = [self.held(self.extreme(inside, most=most), labelled) for most in (True, False)]
            if all(1 <= w @ chosen <= k - 1 for w in fresh):
                return [int(c) for c in np.flatnonzero(chosen)]
            pool += fresh
        raise TooMany("rounds")

    def known_class(self) -> int:
        """Return how many people at least have their class known in every world: those of atoms of one label."""
        width = len(self.labels)
        known: set[int] = set()
        both: set[int] = set()
        least = self.extreme(np.ones(self.width), most=False)
        for a in range(len(self.atoms)):
            if a in both:
                continue
            seen = []
            for k in range(width):
                one = np.zeros(self.width)
                one[a * width + k] = 1
                least = self.extreme(one, most=True)
                seen.append(least[a * width + k] > 0)
                table = least.reshape(-1, width)
                both |= {int(x) for x in np.flatnonzero((table > 0).sum(axis=1) > 1)}
            if sum(seen) == 1:
                known.add(a)
        if not known:
            return 0
        chosen = np.repeat(np.array([a in known for a in range(len(self.atoms))], dtype=float), width)
        return int(self.extreme(chosen, most=False) @ chosen)

    # -------------------------------------------------- listing

    def every_world(self, most: int = MOST_WORLDS) -> np.ndarray:
        """List all worlds as counts by variable (worlds, variables); `TooMany` where there are more than `most`."""
        caps = [math.inf] * self.width
        plain = [(variables, low, high) for variables, c, low, high in self.limits if (c == 1).all()]
        for variables, _, high in plain:
            for v in variables if high < math.inf else ():
                caps[v] = min(caps[v], high)
        order = [v for v in range(self.width) if caps[v] > 0]
        if any(caps[v] == math.inf for v in order):
            raise TooMany("no limit")
        touching: dict[int, list[int]] = {v: [] for v in order}
        lows, room = [low for _, low, _ in plain], [high for *_, high in plain]
        ahead = [0] * len(plain)
        for number, (variables, _, _) in enumerate(plain):
            for v in variables:
                if v in touching:
                    touching[v].append(number)
                    ahead[number] += int(caps[v])
        found: list[list[int]] = []
        world = [0] * self.width
        steps = 0

        def walk(at: int) -> None:
            nonlocal steps
            steps += 1
            if steps > 10 * most or len(found) > most:
                raise TooMany("worlds")
            if at == len(order):
                found.append(list(world))
                return
            v = order[at]
            for number in touching[v]:
                ahead[number] -= int(caps[v])
            top = min([int(caps[v]), *(room[number] for number in touching[v])])
            for x in range(int(top) + 1):
                if all(lows[number] - x <= ahead[number] for number in touching[v]):
                    world[v] = x
                    for number in touching[v]:
                        lows[number] -= x
                        room[number] -= x
                    walk(at + 1)
                    for number in touching[v]:
                        lows[number] += x
                        room[number] += x
            world[v] = 0
            for number in touching[v]:
                ahead[number] += int(caps[v])

        if all(low <= ahead[number] for number, (_, low, _) in enumerate(plain)):
            walk(0)
        worlds = np.array(found, dtype=np.int64).reshape(len(found), self.width)
        for variables, coefficients, low, high in self.limits:
            if not (coefficients == 1).all():
                total, size = worlds[:, variables] @ coefficients, worlds[:, variables] @ np.abs(coefficients)
                worlds = worlds[(total >= low - 1e-12 * size) & (total <= high + 1e-12 * size)]
        return worlds


# ---------------------------------------------------------------- deciding by the list of worlds


def least_group(counts: np.ndarray) -> int | None:
    """Return the least s for which a union of columns has 1 to s rows in every world; None where nobody is certain."""
    counts = np.unique(counts[:, counts.any(axis=0)], axis=0)
    counts = np.unique(counts, axis=1) if counts.size else counts
    width = counts.shape[1]
    if not len(counts) or not width or not counts.sum(axis=1).all():
        return None
    if width > MOST_SETS:
        raise TooMany("sets")
    sets = np.array(list(itertools.product((0, 1), repeat=width)), dtype=np.int64).T
    least, most = np.full(sets.shape[1], 1 << 60), np.zeros(sets.shape[1], dtype=np.int64)
    for part in np.array_split(counts, max(1, len(counts) * sets.shape[1] >> 22)):
        held = part @ sets
        least, most = np.minimum(least, held.min(axis=0)), np.maximum(most, held.max(axis=0))
    return int(most[least >= 1].min())


def known_classes(worlds: np.ndarray, labels: int) -> int:
    """Return how many people at least have the same class in every world: rows of atoms that only one label fills."""
    by = worlds.reshape(len(worlds), -1, labels)
    known = (by.any(axis=0).sum(axis=1) == 1)[None, :]
    return int((by.sum(axis=2) * known).sum(axis=1).min())


def listed_truth(release: dict) -> dict[str, Any]:
    """Return least group, least cell and people of known class by listing all worlds of any tiny release of oracle.py.

    Worlds are listed row by row by oracle.py, so that means, medians and totals count too.
    """
    space = oracle._space(release)
    labels = len(space.values[space.label]) if space.label else 1
    features = sorted({row[:-1] if space.label else row for row in space.rows}, key=repr)
    number = {one: k for k, one in enumerate(features)}
    at = {}
    for row in space.rows:
        own = row[:-1] if space.label else row
        at[row] = number[own] * labels + (space.values[space.label].index(row[-1]) if space.label else 0)
    worlds = oracle.datasets(release)
    if not worlds:
        raise ValueError("there is no world")
    counts = np.zeros((len(worlds), len(features) * labels), dtype=np.int64)
    for w, world in enumerate(worlds):
        for row in world:
            counts[w, at[tuple(row)]] += 1
    return decided(counts, labels)


def decided(worlds: np.ndarray, labels: int) -> dict[str, Any]:
    """Return least group, least cell, and people of known class, of listed worlds; `TooMany` stays in its place."""
    out: dict[str, Any] = {}
    plain = worlds.reshape(len(worlds), -1, labels).sum(axis=2)
    for name, counts in (("smallest_group", plain), ("smallest_cell", worlds)):
        try:
            out[name] = least_group(counts)
        except TooMany:
            out[name] = "too many"
    out["class_disclosure"] = known_classes(worlds, labels) if labels > 1 else None
    return out
