"""Groups and classes that a release gives away, decided apart from the engine: plain Python, brute force, and HiGHS.

A *group* is a set of possible rows that in every world has at least one row; it is smaller than k where in every world
it has fewer than k. It suffices to look at unions of *atoms*: rows that no statement tells apart (from a part of an
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
Limit = tuple[dict[int, int], float, float]  # coefficients of variables, least, most
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

    def __init__(self, release: dict) -> None:
        domain = release["domain"]
        self.release = release
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
        self.limits: list[Limit] = []
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

    def _refine(self, parts: Any) -> list[Any]:
        """Cut every atom by `parts(box)`, pairs of a key and a box; return the key of every new atom."""
        every: dict[tuple, list[Box]] = {}
        for number, boxes in enumerate(self.boxes):
            for box in boxes:
                for key, piece in parts(box):
                    every.setdefault((number, key), []).append(piece)
            if len(every) > MOST_ATOMS:
                raise TooMany("atoms")
        old, width = self.limits, len(self.labels)
        members: dict[int, list[int]] = {}
        for new, (number, _) in enumerate(every):
            members.setdefault(number, []).append(new)
        self.limits = []
        for coefficients, low, high in old:
            wider: dict[int, int] = {}
            for variable, c in coefficients.items():
                for new in members.get(variable // width, ()):
                    wider[new * width + variable % width] = c
            self.limits.append((wider, low, high))
        self.atoms = [(*self.atoms[number], key) for number, key in every]
        self.boxes = list(every.values())
        return [key for _, key in every]

    def _say(self, where: Iterable[int], labels: Iterable[int], low: float, high: float) -> None:
        labels = list(labels)
        self.limits.append(({a * len(self.labels) + k: 1 for a in where for k in labels}, low, high))

    # -------------------------------------------------- what is said

    def _number(self, release: dict) -> None:
        rows = release.get("rows")
        if isinstance(rows, dict):
            self._say([0], range(len(self.labels)), rows.get("at_least", 0), rows.get("at_most", math.inf))
        elif rows is not None:
            self._say([0], range(len(self.labels)), rows, rows)

    def _impossible(self) -> None:
        for condition in self.release["domain"].get("impossible", []):
            masks, labels = self._masks(condition)
            self._cut(masks, lambda inside, labels=labels: self._say(inside, labels, 0, 0))

    def _cut(self, masks: dict[int, int], say: Any) -> None:
        """Cut by one condition and say something of the atoms inside."""

        def parts(box: Box) -> Iterator[tuple[bool, Box]]:
            inside, rest = self._parted(box, masks)
            if inside is not None:
                yield True, inside
            for one in rest:
                yield False, one

        keys = self._refine(parts)
        say([k for k, inside in enumerate(keys) if inside])

    def _take(self, model: dict) -> None:
        if model["kind"] == "table":
            for statement in model["statements"]:
                if oracle._statement_kind(statement) != "count":
                    raise TooMany("figures that are no counts")
                low, high = oracle._limits(statement, "count")
                masks, labels = self._masks(statement.get("where", {}))
                self._cut(masks, lambda inside, a=labels, b=low, c=high: self._say(inside, a, b, c))
        elif model["kind"] == "rule_set":
            for rule in model["rules"]:
                masks, _ = self._masks(rule["if"])
                self._cut(masks, lambda inside, rule=rule: self._counts(inside, rule))
        elif model["kind"] == "forest" and model.get("bootstrap", model.get("resample")):
            for tree in model["trees"]:
                self._tree(tree["nodes"], bag=True)
        elif model["kind"] == "boosting":
            plain = [{k: v for k, v in tree.items() if k == "nodes"} for tree in model["trees"]]
            first = len(self.atoms[0])
            for tree in plain:
                self._tree(tree["nodes"])
            self._sums(model, first)
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

    def _counts(self, where: list[int], part: dict) -> None:
        if "count" in part:
            self._say(where, range(len(self.labels)), part["count"], part["count"])
        for k, number in enumerate(part.get("counts", ())):
            self._say(where, [k], number, number)

    def _bag(self, where: list[int], part: dict) -> None:
        """What a leaf says of a bag drawn with replacement: at least so many different rows of some classes."""
        counts = part.get("counts")
        if counts is None:
            self._say(where, range(len(self.labels)), part.get("distinct", int(part["count"] > 0)), math.inf)
            return
        seen = [k for k, number in enumerate(counts) if number]
        for size in range(1, len(seen) + 1):
            for chosen in itertools.combinations(seen, size):
                outside = sum(number for k, number in enumerate(counts) if k not in chosen)
                least = max(part.get("distinct", 0) - outside, size)
                self._say(where, chosen, least, math.inf)

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

        keys = self._refine(parts)
        inside: dict[int, list[int]] = {at: [] for at in range(len(nodes))}
        for number, at in enumerate(keys):
            inside[at].append(number)
        for at in reversed(range(len(nodes))):
            if "if" in nodes[at]:
                inside[at] = inside[nodes[at]["then"]] + inside[nodes[at]["else"]]
            if not bag:
                self._counts(inside[at], nodes[at])
            elif "if" not in nodes[at]:
                self._bag(inside[at], nodes[at])

    def _sums(self, model: dict, first: int) -> None:
        """Sums of gradients of a boosted model: what a row of each atom and class adds, as limits with slack."""
        given, numbers = model["gradients"], {k: i for i, k in enumerate(model["labels"])}
        for a in range(len(self.atoms)):
            for k in range(len(self.labels)):
                if k not in numbers:
                    self._say([a], [k], 0, 0)
        sums = [list(model.get("base", model["start"])) for _ in self.atoms]
        before, last = [list(model["start"]) for _ in self.atoms], 0
        for t, tree in enumerate(model["trees"]):
            if tree["round"] != last:
                before, last = [list(s) for s in sums], tree["round"]
            of, nodes = tree.get("of", 0), tree["nodes"]
            leaves: dict[int, list[int]] = {at: [] for at in range(len(nodes))}
            for a, sig in enumerate(self.atoms):
                leaves[sig[first + t]].append(a)
            for at in reversed(range(len(nodes))):
                if "if" in nodes[at]:
                    leaves[at] = leaves[nodes[at]["then"]] + leaves[nodes[at]["else"]]
            own = {(a, k): oracle._gradient(given, before[a], of, i)
                   for a in range(len(self.atoms)) for k, i in numbers.items()}  # fmt: skip
            for at, node in enumerate(nodes):
                for one in [node[key] for key in ("value", "weight") if key in node] + node.get("sums", []):
                    f = [one.get(key, 0) for key in ("gradient", "hessian", "square")]
                    terms = {}
                    for a in leaves[at]:
                        for k in numbers:
                            g, h = own[a, k]
                            terms[a * len(self.labels) + k] = f[0] * g + f[1] * h + f[2] * g * g
                    self.limits.append((terms, one["at_least"], one["at_most"]))
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
        rows, columns, values = [], [], []
        for number, (coefficients, _, _) in enumerate(self.limits):
            rows += [number] * len(coefficients)
            columns += coefficients.keys()
            values += coefficients.values()
        shape = (len(self.limits), self.width)
        matrix = csr_array((values, (rows, columns)), shape=shape, dtype=float)
        return LinearConstraint(matrix, [low for _, low, _ in self.limits], [high for _, _, high in self.limits])

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
        for coefficients, low, high in self.limits:
            total = sum(c * int(world[v]) for v, c in coefficients.items())
            assert low - 1e-6 <= total <= high + 1e-6, (total, low, high)
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
        for coefficients, _, high in self.limits:
            if high < math.inf and all(c == 1 for c in coefficients.values()):
                for v in coefficients:
                    caps[v] = min(caps[v], high)
        order = [v for v in range(self.width) if caps[v] > 0]
        if any(caps[v] == math.inf for v in order):
            raise TooMany("no limit")
        touching: dict[int, list[tuple[int, int]]] = {v: [] for v in order}
        lows, room = [low for _, low, _ in self.limits], [high for _, _, high in self.limits]
        ahead = [0] * len(self.limits)
        later = [n for n, (coefficients, _, _) in enumerate(self.limits) if any(c != 1 for c in coefficients.values())]
        for number, (coefficients, _, _) in enumerate(self.limits):
            for v, c in coefficients.items() if number not in later else ():
                if v in touching:
                    touching[v].append((number, c))
                    ahead[number] += c * int(caps[v])
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
            for number, c in touching[v]:
                ahead[number] -= c * int(caps[v])
            for x in range(int(caps[v]) + 1):
                if x:
                    for number, c in touching[v]:
                        lows[number] -= c
                        room[number] -= c
                if any(room[number] < 0 for number, _ in touching[v]):
                    world[v] = x
                    for number, c in touching[v]:
                        lows[number] += c * x
                        room[number] += c * x
                    break
                if all(lows[number] <= ahead[number] for number, _ in touching[v]):
                    world[v] = x
                    walk(at + 1)
            else:
                for number, c in touching[v]:
                    lows[number] += c * int(caps[v])
                    room[number] += c * int(caps[v])
            world[v] = 0
            for number, c in touching[v]:
                ahead[number] += c * int(caps[v])

        if all(low <= ahead[n] for n, (_, low, _) in enumerate(self.limits) if n not in later):
            walk(0)
        worlds = np.array(found, dtype=np.int64).reshape(len(found), self.width)
        for number in later:
            coefficients, low, high = self.limits[number]
            total = worlds[:, list(coefficients)] @ np.array(list(coefficients.values()))
            size = worlds[:, list(coefficients)] @ np.abs(list(coefficients.values()))
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
