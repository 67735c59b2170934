"""Brute force over every dataset by position: forests whose bags are known, on tiny domains.

A release is the plain dict of the release file. At least one of its forests must say `multiplicities`: how often
each position of the training file is in the bag of each tree. A world is then a sequence of rows, one per position,
in which every node of every such tree counts what it publishes: per class the sum of the multiplicities of the
positions whose rows reach it, and where it says `distinct`, the number of those that were drawn at all. All other
models of the release (exact trees, rule lists, tables, ...) restrict the worlds as sets of rows; they mean what
oracle.py says. Nothing here shares code with the encoders, the engines or the readers.

Two things make thousands of cases affordable, and neither is clever: positions are filled one after the other, and a
beginning is dropped as soon as a count is exceeded or can no longer be reached; rows that no count of a position
distinguishes are filled in together and written out at the end.

Attributes that oracle.py does not know are rewritten first (`finite`): the values of a continuous one are the gaps
between the thresholds of the release, and a missing value is one more value.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import oracle
from oracle import Row, canonical

MISSING = "no value at all"
MOST_STATES = 200_000  # beginnings of worlds that are kept at once
Cut = tuple[Fraction | float, int]  # a number, and whether the cut is before (0) or after it (1)
_SIDES = {"at_most": 1, "below": 0, "at_least": 0, "above": 1}
_UPPER = ("at_most", "below")


class TooMany(Exception):
    """There are more worlds than were allowed."""


# ---------------------------------------------------------------- what oracle.py does not know, rewritten


@dataclass(frozen=True)
class Gap:
    """The numbers between two neighbouring cuts of a continuous attribute."""

    low: Cut
    high: Cut

    def holds(self, number: Any) -> bool:
        """Say whether a number lies in the gap."""
        exact = Fraction(canonical(number))
        return self.low <= (exact, 0) and (exact, 1) <= self.high

    @property
    def inside(self) -> float:
        """Some number of the gap."""
        low, high = self.low[0], self.high[0]
        if low == high:
            return float(low)
        if math.isinf(low) or math.isinf(high):
            return 0.0 if math.isinf(low) and math.isinf(high) else float(high - 1 if math.isinf(low) else low + 1)
        return float((low + high) / 2)

    def passes(self, test: Any) -> bool:
        """Say whether all numbers of the gap pass a test; the gaps are cut so that all or none do."""
        if not isinstance(test, dict):
            test = {"in": [test]}
        results = []
        for key, argument in test.items():
            if key in ("missing", "or_missing"):
                continue
            if key == "in":
                results.append(any(self.holds(number) for number in argument))
                continue
            cut = Fraction(canonical(argument)), _SIDES[key]
            results.append(self.high <= cut if key in _UPPER else self.low >= cut)
        return all(results)


def _is_coded(attribute: dict) -> bool:
    return attribute.get("missing", False) or ("values" not in attribute and attribute.get("resolution", 1) is None)


def _conditions(release: dict) -> Iterator[dict]:
    """Yield every condition of a release: the very dicts, so that they can be changed in place."""
    for model in release.get("models", []):
        trees = model.get("trees", [model])
        yield from (node["if"] for tree in trees for node in tree.get("nodes", []) if "if" in node)
        yield from (rule["if"] for rule in model.get("rules", []))
        yield from (statement["where"] for statement in model.get("statements", []) if "where" in statement)
    yield from release["domain"].get("impossible", [])


def _cuts_of(test: Any) -> Iterator[Cut]:
    if not isinstance(test, dict):
        test = {"in": [test]}
    for key, argument in test.items():
        if key in _SIDES:
            yield Fraction(canonical(argument)), _SIDES[key]
        elif key == "in":
            yield from ((Fraction(canonical(number)), side) for number in argument for side in (0, 1))


def _codes(attribute: dict, tests: list) -> list:
    """List what the values of a rewritten attribute stand for: gaps or values, and `MISSING` last."""
    if "values" not in attribute and attribute.get("resolution", 1) is None:
        low: Cut = (Fraction(canonical(attribute["min"])) if "min" in attribute else -math.inf, 0)
        high: Cut = (Fraction(canonical(attribute["max"])) if "max" in attribute else math.inf, 1)
        cuts = sorted({low, high, *(cut for test in tests for cut in _cuts_of(test) if low < cut < high)})
        values: list = [Gap(*pair) for pair in itertools.pairwise(cuts)]
    else:
        values = oracle._listed_values(attribute)
    return [*values, MISSING] if attribute.get("missing", False) else values


def _passes(test: Any, value: Any, values: list) -> bool:
    asked = test if isinstance(test, dict) else {"in": [test]}
    if value is MISSING:
        return bool(asked.get("missing", False) or asked.get("or_missing", False))
    if "missing" in asked:
        return not asked["missing"]
    if isinstance(value, Gap):
        return value.passes(asked)
    known = [entry for entry in values if entry is not MISSING]
    return oracle._passes({key: entry for key, entry in asked.items() if key != "or_missing"}, value, known)


@dataclass(frozen=True)
class Finite:
    """A release that oracle.py understands, and what the numbers it writes for some attributes' values stand for."""

    release: dict
    codes: dict[str, list]
    columns: dict[str, str]  # a column and its attribute

    def condition(self, condition: dict) -> dict:
        """Write a condition (or a profile) about the release as one about the finite release."""
        return {name: self.test(name, test) for name, test in condition.items()}

    def test(self, name: str, test: Any) -> Any:
        """Write a test of an attribute or column; of a continuous one, at the cuts of the release alone."""
        if name not in self.codes:
            return test
        values = self.codes[name]
        return {"in": [k for k, value in enumerate(values) if _passes(test, value, values)]}

    def raw(self, row: Row, names: list[str]) -> dict[str, Any]:
        """Write a row as the release has it: gaps by some number inside, missing values as None."""
        out = {}
        for name, value in zip(names, row, strict=True):
            meant = self.codes[name][value] if name in self.codes else value
            number = meant.inside if isinstance(meant, Gap) else None if meant is MISSING else meant
            out[name] = float(number) if isinstance(number, Fraction) else number
        return out


def finite(release: dict, also: tuple[dict, ...] = ()) -> Finite:
    """Rewrite continuous attributes and missing values; `also` are conditions that must find their cuts, too."""
    made = copy.deepcopy(release)
    domain = made["domain"]
    columns = domain.get("columns", {})
    tests: dict[str, list] = {}
    for condition in (*_conditions(made), *also):
        for name, test in condition.items():
            tests.setdefault(name, []).append(test)
    for column in columns.values():
        test = {key: entry for key, entry in column.items() if key != "attribute"}
        tests.setdefault(column["attribute"], []).append(test)
    coded = [attribute for attribute in domain["attributes"] if _is_coded(attribute)]
    codes = {attribute["name"]: _codes(attribute, tests.get(attribute["name"], [])) for attribute in coded}
    out = Finite(made, codes, {name: column["attribute"] for name, column in columns.items()})
    for attribute in coded:
        name = attribute["name"]
        attribute.clear()
        attribute.update({"name": name, "values": list(range(len(codes[name])))})
    for column in columns.values():
        if column["attribute"] in codes:
            name = column.pop("attribute")
            kept = out.test(name, dict(column))
            column.clear()
            column.update({"attribute": name, **kept})
    for condition in _conditions(made):
        changed = out.condition(condition)
        condition.clear()
        condition.update(changed)
    return out


# ---------------------------------------------------------------- what trees on known bags count


def _bagged(model: dict) -> bool:
    return model.get("kind") == "forest" and "multiplicities" in model


def positions(release: dict) -> int:
    """Return the number of positions, the same in all known bags, and as many as `rows` says."""
    numbers = {len(bag) for model in release["models"] if _bagged(model) for bag in model["multiplicities"]}
    if len(numbers) != 1:
        raise ValueError(f"the bags are about {sorted(numbers)} positions")
    (n,) = numbers
    stated = release.get("rows", n)
    if isinstance(stated, dict):
        stated = n if stated.get("at_least", 0) <= n <= stated.get("at_most", n) else -1
    if stated != n:
        raise ValueError(f"{n} positions, but rows is {release['rows']}")
    return n


def _path(space: oracle._Space, nodes: list[dict], row: Row) -> set[int]:
    at, passed = 0, {0}
    while "if" in nodes[at]:
        at = nodes[at]["then" if space.holds(nodes[at]["if"], row) else "else"]
        passed.add(at)
    return passed


def _statements(space: oracle._Space, model: dict) -> Iterator[tuple[np.ndarray, list[int], int]]:
    """Yield what the trees of a forest count: the rows meant, the weight of each position, the published sum."""
    if len(model["trees"]) != len(model["multiplicities"]):
        raise ValueError("one bag per tree")
    for tree, bag in zip(model["trees"], model["multiplicities"], strict=True):
        nodes = tree["nodes"]
        paths = [_path(space, nodes, row) for row in space.rows]
        yield np.ones(len(paths), dtype=bool), bag, _drawn(nodes)
        for i, node in enumerate(nodes):
            reached = np.array([i in path for path in paths], dtype=bool)
            if "count" in node:
                yield reached, bag, node["count"]
            for value, number in zip(space.values.get(space.label, []), node.get("counts", []), strict=False):
                of_class = np.array([row[-1] == value for row in space.rows], dtype=bool)
                yield reached & of_class, bag, number
            if "distinct" in node:
                yield reached, [int(times > 0) for times in bag], node["distinct"]


def _drawn(nodes: list[dict]) -> int:
    leaves = [node for node in nodes if "if" not in node]
    return sum(node["count"] if "count" in node else sum(node["counts"]) for node in leaves)


# ---------------------------------------------------------------- worlds by position


def _filled(counted: np.ndarray, weights: np.ndarray, wanted: np.ndarray, most: int) -> np.ndarray:
    """List all ways to fill the positions with rows: (worlds, positions) by the numbers of the rows.

    counted (rows, statements) 0/1, weights (positions, statements), wanted (statements,).
    """
    n = len(weights)
    later = np.concatenate([np.cumsum(weights[::-1], axis=0)[::-1], np.zeros((1, len(wanted)), dtype=np.int64)])
    states, left = np.zeros((1, 0), dtype=np.int32), wanted[None, :].astype(np.int64)
    groups: list[list[np.ndarray]] = []  # per position, the rows that its counts do not distinguish
    for i in range(n):
        gains, group = np.unique(counted * weights[i], axis=0, return_inverse=True)
        groups.append([np.flatnonzero(group.ravel() == g) for g in range(len(gains))])
        after = left[:, None, :] - gains[None, :, :]
        state, chosen = np.nonzero(((after >= 0) & (after <= later[i + 1])).all(axis=2))
        if len(state) > MOST_STATES:
            raise TooMany(f"{len(state)} beginnings of {i + 1} positions")
        states = np.concatenate([states[state], chosen[:, None].astype(np.int32)], axis=1)
        left = after[state, chosen]
    sizes = [np.array([len(rows) for rows in group], dtype=np.int64) for group in groups]
    number = sum(math.prod(int(sizes[i][g]) for i, g in enumerate(state)) for state in states.tolist())
    if number > most:
        raise TooMany(f"{number} worlds")
    for i in range(n):  # every group in turn becomes each of its rows
        repeats = sizes[i][states[:, i]]
        back = np.repeat(np.arange(len(states)), repeats)
        nth = np.arange(len(back)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        flat = np.concatenate(groups[i])
        starts = np.cumsum(sizes[i]) - sizes[i]
        rows = flat[starts[states[back, i]] + nth]
        states = states[back]
        states[:, i] = rows
    return states


class Positions:
    """All worlds of a release by position: `listed` (worlds, positions) are numbers of `rows`, label last."""

    def __init__(self, release: dict, also: tuple[dict, ...], most: int) -> None:
        self.finite = finite(release, also)
        made = self.finite.release
        self.n = positions(made)
        self.space = oracle._space({"domain": made["domain"]})
        self.rows: list[Row] = self.space.rows
        self.names = list(self.space.values)
        known = [model for model in made["models"] if _bagged(model)]
        statements = [one for model in known for one in _statements(self.space, model)]
        counted = np.array([rows for rows, _, _ in statements], dtype=np.int64).T
        weights = np.array([weight for _, weight, _ in statements], dtype=np.int64).T
        wanted = np.array([number for _, _, number in statements], dtype=np.int64)
        found = _filled(counted, weights, wanted, most)
        others = {**made, "models": [model for model in made["models"] if not _bagged(model)]}
        self.listed = oracle._agreeing(others, found) if others["models"] else found

    @cached_property
    def written(self) -> set[tuple[int, ...]]:
        """The worlds as tuples of numbers of rows."""
        return set(map(tuple, self.listed.tolist()))

    @cached_property
    def unordered(self) -> np.ndarray:
        """The datasets without an order, each once: numbers of rows in order."""
        return np.unique(np.sort(self.listed, axis=1), axis=0)

    def count(self, convention: str = "ordered") -> int:
        """Count the worlds: sequences by position, or datasets without an order."""
        return len(self.listed if convention == "ordered" else self.unordered)

    def rows_at(self, position: int) -> list[Row]:
        """List the rows that can be at a position."""
        return [self.rows[k] for k in np.unique(self.listed[:, position])]

    def values_at(self, position: int, name: str) -> list[Any]:
        """List the values (codes where `finite.codes` has them) an attribute or column can have at a position."""
        possible = {self.space.value_at(name, row) for row in self.rows_at(position)}
        return [value for value in self.space.values_of(name) if value in possible]

    def labels(self) -> list[Any]:
        """List the label of every position, None where worlds differ."""
        every = [self.values_at(i, self.space.label) for i in range(self.n)]
        return [values[0] if len(values) == 1 else None for values in every]

    def meets(self, condition: dict) -> np.ndarray:
        """Say of every row whether it meets a condition of the release."""
        inner = self.finite.condition(condition)
        return np.array([self.space.holds(inner, row) for row in self.rows], dtype=bool)

    def numbers(self, condition: dict, convention: str = "ordered") -> np.ndarray:
        """Count the rows that meet a condition, world by world."""
        return self.meets(condition)[self.listed if convention == "ordered" else self.unordered].sum(axis=1)

    def share(self, condition: dict, convention: str = "ordered") -> Fraction:
        """Give the share of worlds with at least one row that meets a condition."""
        numbers = self.numbers(condition, convention)
        return Fraction(int((numbers > 0).sum()), len(numbers))

    def surely(self, position: int, condition: dict) -> bool:
        """Say whether the row at a position meets a condition in every world."""
        return bool(self.meets(condition)[self.listed[:, position]].all())

    def figures(self, condition: dict, name: str, convention: str = "ordered") -> list[tuple[int, Any]]:
        """List, world by world, how many rows meet a condition, and their total of an attribute with numbers."""
        meets, values = self.meets(condition), [self.space.value_at(name, row) for row in self.rows]
        worlds = self.listed if convention == "ordered" else self.unordered
        found = []
        for world in worlds.tolist():
            group = [values[k] for k in world if meets[k]]
            found.append((len(group), sum(group)))
        return found

    def number_of(self, row: dict[str, Any]) -> int:
        """Return the number of the row with these raw values (missing as None); -1 where the domain has none."""
        coded = []
        for name in self.names:
            value = row[name]
            empty = value is None or (isinstance(value, float) and math.isnan(value))
            if name in self.finite.codes:
                (code,) = self.finite.test(name, {"missing": True} if empty else {"in": [value]})["in"] or [None]
                coded.append(code)
            else:
                coded.append(canonical(value))
        return self.space.number.get(tuple(coded), -1)


@lru_cache(maxsize=32)
def _positions_of(key: oracle._Key, also: oracle._Key, most: int) -> Positions:
    return Positions(key.part, also.part["also"], most)


def worlds(release: dict, also: tuple[dict, ...] = (), most: int = 50_000) -> Positions:
    """List all worlds of a release by position; `TooMany` where there are more than `most` of them.

    `also`: conditions that will be asked about and must find their cuts on continuous attributes.
    """
    return _positions_of(oracle._Key(release), oracle._Key({"also": also}), most)
