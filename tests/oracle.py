"""Brute force over every dataset of a tiny domain: the independent check of the engine.

A release is the plain dict of the release file ("recon": 1). Supported are exact trees, forests, boosted models of
classes, rule lists, rule sets and tables over finite domains, alone or joined; anything else (noise, bootstrap,
continuous attributes) is refused by ValueError. Nothing here shares code with the engine, and nothing is clever: all
raw rows are listed, all datasets of them are listed, and the ones that agree with every published figure are kept.
Datasets are listed as arrays of row numbers, so that what is asked of each is asked of all at once; a release is
listed once per process, however many questions are asked about it.

Rows are tuples in attribute order, label last, with canonical values (see `canonical`). Figures are exact
(int, Fraction) except for bits, which are floats. Where `rows` is an interval, `count` and the figures in
bits are dicts n -> figure; probabilities take every n that has a world as equally likely, then every world
of that n as equally likely.
"""

from __future__ import annotations

import copy
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, combinations_with_replacement, product
from numbers import Integral, Real
from typing import Any

import numpy as np

Row = tuple[Any, ...]
Number = int | Fraction
Cell = tuple[int, Any, int]  # region, label value (NO_LABEL where the count is plain), number of rows
Weighted = tuple[tuple[Row, ...], int]  # a world and the number of worlds of the convention it stands for
Listed = np.ndarray  # datasets (datasets, n) by the numbers of their rows

CONVENTIONS = ("assigned", "ordered", "multiset")
NO_LABEL = object()  # a label value may be anything, None included
_ORDER_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "at_most": lambda value, threshold: value <= threshold,
    "below": lambda value, threshold: value < threshold,
    "at_least": lambda value, threshold: value >= threshold,
    "above": lambda value, threshold: value > threshold,
}


# ---------------------------------------------------------------- values, attributes, conditions


def canonical(value: Any) -> Any:
    """One spelling per value: 1, 1.0 and True become 1; 0.1 becomes Fraction(1, 10); "1" stays a string."""
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float | Decimal):
        value = Fraction(str(value))
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, Real)


def _listed_values(attribute: dict) -> list:
    """List the raw values of one declared attribute, in order; numbers on an exact decimal grid."""
    if "values" in attribute:
        values = [canonical(value) for value in attribute["values"]]
        if not values or len(set(values)) != len(values):
            raise ValueError(f"{attribute['name']}: no values, or one value twice")
        return values
    step = canonical(attribute.get("resolution", 1))
    if step is None or step <= 0:
        raise ValueError(f"{attribute['name']}: continuous, or a resolution that is not positive")
    low, high = canonical(attribute["min"]), canonical(attribute["max"])
    return [canonical(low + k * Fraction(step)) for k in range(int((high - low) / Fraction(step)) + 1)]


class _Space:
    """The attributes (label last), the binary columns over them, and how conditions read a row."""

    def __init__(self, release: dict) -> None:
        domain = release["domain"]
        declared = list(domain["attributes"])
        self.label = None
        if domain.get("label") is not None:
            declared.append(domain["label"])
            self.label = domain["label"]["name"]
        self.values: dict[str, list] = {entry["name"]: _listed_values(entry) for entry in declared}
        self.columns: dict[str, dict] = domain.get("columns", {})
        self.position = {name: k for k, name in enumerate(self.values)}
        if len(self.values) != len(declared) or set(self.values) & set(self.columns):
            raise ValueError("a name is used twice")
        self.impossible = domain.get("impossible", [])
        self._passing: dict[tuple[str, str], set] = {}

    def values_of(self, name: str) -> list:
        """List the values of an attribute, the label or a column."""
        if name in self.columns:
            return [0, 1]
        if name not in self.values:
            raise ValueError(f"unknown attribute or column {name!r}")
        return self.values[name]

    def passing(self, name: str, test: Any) -> set:
        """Give the values of an attribute, the label or a column that pass a test; the test is checked for sense."""
        key = name, repr(test)
        if key not in self._passing:
            values = self.values_of(name)
            self._passing[key] = {value for value in values if _passes(test, value, values)}
        return self._passing[key]

    def value_at(self, name: str, row: Row) -> Any:
        """Say which value a row has in an attribute, the label or a column (1 where its test holds)."""
        if name not in self.columns:
            self.values_of(name)
            return row[self.position[name]]
        test = dict(self.columns[name])
        attribute = test.pop("attribute")
        return int(row[self.position[attribute]] in self.passing(attribute, test))

    def refuse_words(self, name: str) -> None:
        """Refuse an attribute or label that is not numeric; a column is (0 or 1)."""
        if not all(map(_is_number, self.values_of(name))):
            raise ValueError(f"{name} is not numeric")

    def holds(self, condition: dict, row: Row) -> bool:
        """Say whether a row meets all tests of a condition; every test is checked for sense first."""
        results = [self.value_at(name, row) in self.passing(name, test) for name, test in condition.items()]
        return all(results)

    @cached_property
    def rows(self) -> list[Row]:
        """List all raw rows that no impossible box excludes."""
        every = product(*self.values.values())
        return [row for row in every if not any(self.holds(box, row) for box in self.impossible)]

    @cached_property
    def number(self) -> dict[Row, int]:
        """Number the raw rows."""
        return {row: k for k, row in enumerate(self.rows)}


class _Key:
    """A dict of a release file as a dictionary key, by its text."""

    def __init__(self, part: dict) -> None:
        self.part, self.text = part, repr(part)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


@lru_cache(maxsize=64)
def _space_of(domain: _Key) -> _Space:
    return _Space({"domain": copy.deepcopy(domain.part)})


def _space(release: dict) -> _Space:
    """Give the space of a release, the same one as long as its domain is."""
    return _space_of(_Key(release["domain"]))


def _passes(test: Any, value: Any, values: list) -> bool:
    """Evaluate one test (bare value, in, order tests, a range) on one value out of the listed values."""
    if not isinstance(test, dict):
        test = {"in": [test]}
    if not test:
        raise ValueError("an empty test")
    results = []
    for key, argument in test.items():
        if key == "in":
            wanted = [canonical(entry) for entry in argument]
            if any(entry not in values for entry in wanted):
                raise ValueError(f"{argument!r} is outside the domain")
            results.append(value in wanted)
        elif key in _ORDER_TESTS:
            results.append(_order_test(key, canonical(argument), value, values))
        else:
            raise ValueError(f"unknown test {key!r}")
    return all(results)


def _order_test(key: str, threshold: Any, value: Any, values: list) -> bool:
    """Compare numbers as numbers and everything else by its place in the list."""
    if all(_is_number(entry) for entry in values):
        if not _is_number(threshold) or not min(values) <= threshold <= max(values):
            raise ValueError(f"threshold {threshold!r} is outside the range")
        return _ORDER_TESTS[key](value, threshold)
    if threshold not in values:
        raise ValueError(f"threshold {threshold!r} is not a listed value")
    return _ORDER_TESTS[key](values.index(value), values.index(threshold))


def rows(release: dict) -> list[Row]:
    """List all possible raw rows, label last if there is one, impossible ones removed."""
    return list(_space(release).rows)


def meets(release: dict, condition: dict, row: Row) -> bool:
    """Say whether a raw row meets a condition of the release file."""
    return _space(release).holds(condition, tuple(map(canonical, row)))


# ---------------------------------------------------------------- models: regions and counts


def _parts(model: dict) -> list[dict]:
    """Return the nodes of a tree or the rules of a rule list or rule set, after refusing what is not supported."""
    kind = model.get("kind")
    inner = {"tree": "nodes", "rule_list": "rules", "rule_set": "rules"}.get(kind)
    if inner is None or set(model) - {"kind", "name", inner}:
        raise ValueError(f"unsupported model: {kind!r} with keys {sorted(model)}")
    parts = model[inner]
    allowed = {"if", "then", "else", "count", "counts", "name"} if kind == "tree" else {"if", "count", "counts", "name"}
    for part in parts:
        if set(part) - allowed:
            raise ValueError(f"unsupported keys in {part!r}")
        is_leaf = kind != "tree" or "if" not in part
        if is_leaf and ("count" in part) == ("counts" in part):
            raise ValueError(f"a leaf or rule needs either count or counts: {part!r}")
    return parts


def _trees(forest: dict) -> list[dict]:
    """Return the trees of a forest as tree models of the same rows."""
    if set(forest) - {"kind", "name", "trees", "bootstrap"} or forest.get("bootstrap", False) is not False:
        raise ValueError(f"unsupported model: a forest with keys {sorted(forest)}, or with bootstrap")
    if not forest["trees"] or any(set(tree) - {"name", "nodes"} for tree in forest["trees"]):
        raise ValueError("unsupported forest: no trees, or a tree with more than nodes")
    return [{"kind": "tree", **tree} for tree in forest["trees"]]


_SUMS = {"step", "value", "weight", "sums"}


def _boosted_trees(model: dict) -> list[dict]:
    """Return the trees of a boosted model as tree models of the same rows: what they count, without steps and sums."""
    if set(model) - {"kind", "name", "gradients", "start", "base", "labels", "trees"}:
        raise ValueError(f"unsupported model: boosting with keys {sorted(model)}")
    return [
        {"kind": "tree", "nodes": [{k: v for k, v in node.items() if k not in _SUMS} for node in tree["nodes"]]}
        for tree in model["trees"]
    ]


def _counting_models(release: dict) -> list[dict]:
    """List all trees (those of forests too), rule lists and rule sets: the models whose parts count rows."""
    result = []
    for model in release.get("models", []):
        if model.get("kind") == "forest":
            result += _trees(model)
        elif model.get("kind") == "boosting":
            result += _boosted_trees(model)
        elif model.get("kind") != "table":
            result.append(model)
    for model in result:
        _parts(model)
    return result


def _partitions(release: dict) -> list[dict]:
    """List the trees (those of forests too) and rule lists: every row is in exactly one of their regions."""
    return [model for model in _counting_models(release) if model["kind"] != "rule_set"]


def _lacks_default(model: dict) -> bool:
    """Say whether a rule list has no final rule without conditions."""
    parts = _parts(model)
    return model["kind"] == "rule_list" and (not parts or parts[-1]["if"] != {})


def _path(space: _Space, model: dict, row: Row) -> list[int]:
    """List the nodes a row passes in a tree, leaf last; the rule that captures it in a list, all it meets in a set."""
    parts = _parts(model)
    if model["kind"] == "tree":
        path = [0]
        while "if" in (node := parts[path[-1]]):
            path.append(node["then"] if space.holds(node["if"], row) else node["else"])
        return path
    met = [index for index, rule in enumerate(parts) if space.holds(rule["if"], row)]
    if model["kind"] == "rule_set":
        return met
    return met[:1] or [len(parts)]


def region_of(release: dict, model: dict, row: Row) -> int:
    """Name the leaf (node index) or rule a row falls into; len(rules) for the implicit default."""
    _regions(model)  # refuses what is not a partition
    return _path(_Space(release), model, tuple(map(canonical, row)))[-1]


def _regions(model: dict) -> list[int]:
    """List the leaves of a tree by node index, or the rules and the implicit default if there is one."""
    parts = _parts(model)
    if model["kind"] == "rule_set":
        raise ValueError("a rule set has no regions: its rules overlap")
    if model["kind"] == "tree":
        return [index for index, node in enumerate(parts) if "if" not in node]
    return list(range(len(parts) + _lacks_default(model)))


def _gives_classes(model: dict, region: int) -> bool:
    """Say whether a region publishes its rows per label value (the implicit default never does)."""
    parts = _parts(model)
    return region < len(parts) and "counts" in parts[region]


def region_rows(release: dict, model: dict) -> dict[int, list[Row]]:
    """List the raw rows of every region, label included; a region that no row reaches has none."""
    space = _space(release)
    result: dict[int, list[Row]] = {region: [] for region in _regions(model)}
    for row in space.rows:
        result[_path(space, model, row)[-1]].append(row)
    return result


def region_sizes(release: dict, model: dict) -> dict[int, int]:
    """Count the different rows per region: label left out where it counts per class, else included."""
    return {
        region: len({row[:-1] for row in members}) if _gives_classes(model, region) else len(members)
        for region, members in region_rows(release, model).items()
    }


def _counted(part: dict, space: _Space) -> list[tuple[Any, int]]:
    """List the (label value or NO_LABEL, count) pairs a node or rule states."""
    pairs = [(NO_LABEL, part["count"])] if "count" in part else []
    if "counts" in part:
        if space.label is None or len(part["counts"]) != len(space.values[space.label]):
            raise ValueError("counts need a label, one count per value")
        pairs += zip(space.values[space.label], part["counts"], strict=True)
    if any(canonical(number) != int(number) or number < 0 for _, number in pairs):
        raise ValueError(f"counts must be whole and not negative: {part!r}")
    return [(value, int(number)) for value, number in pairs]


def row_numbers(release: dict) -> list[int]:
    """List the numbers of rows that `rows` allows; without it, what the first tree or rule list sums to."""
    stated = release.get("rows")
    if isinstance(stated, dict):
        if "at_most" not in stated:
            raise ValueError("the number of rows is unbounded")
        return list(range(stated.get("at_least", 0), stated["at_most"] + 1))
    if stated is not None:
        return [stated]
    partitions = _partitions(release)
    if not partitions or any(_lacks_default(model) for model in partitions):
        raise ValueError("rows is missing and does not follow from the models")
    space, parts = _space(release), _parts(partitions[0])
    return [sum(number for region in _regions(partitions[0]) for _, number in _counted(parts[region], space))]


def _refuse_assigned(release: dict) -> None:
    """Refuse `assigned` for everything but one tree or one rule list."""
    models = release.get("models", [])
    if len(models) != 1 or models[0].get("kind") in ("forest", "boosting", "rule_set", "table"):
        raise ValueError("`assigned` is defined for exactly one tree or rule list")


def _cells(release: dict, n: int) -> list[Cell] | None:
    """List what each (region, class) of the only model holds; None where the counts cannot sum to n."""
    _refuse_assigned(release)
    (model,) = release["models"]
    space, parts = _space(release), _parts(model)
    cells = [
        (region, value, number)
        for region in _regions(model)
        if region < len(parts)
        for value, number in _counted(parts[region], space)
    ]
    rest = n - sum(number for _, _, number in cells)
    if _lacks_default(model):
        cells.append((len(parts), NO_LABEL, rest))
        return cells if rest >= 0 else None
    return cells if rest == 0 else None


# ---------------------------------------------------------------- tables: statements about groups of rows

_FIGURES = ("mean", "total", "median")
_REASONS = ("primary", "secondary", "unknown")
Limits = tuple[Number, Number | float]  # the upper end may be infinite


def _statement_kind(statement: dict) -> str:
    """Name what a statement is about: count, mean, total or median; refuse what is not supported."""
    stated = set(statement) - {"where", "name"}
    if statement.get("suppressed", "unknown") not in _REASONS:
        raise ValueError(f"unsupported reason {statement['suppressed']!r}")
    if "linear" in stated:
        if not stated <= {"linear", "at_least", "at_most", "value", "within"}:
            raise ValueError(f"unsupported statement {statement!r}")
        return "linear"
    if stated == {"count"} or (stated and stated <= {"at_least", "at_most", "suppressed"}):
        return "count"
    if len(stated) != 1 or not stated <= set(_FIGURES):
        raise ValueError(f"unsupported statement {statement!r}")
    return stated.pop()


def _limits(statement: dict, kind: str) -> Limits:
    """Give the closed interval in which the figure of a statement lies."""
    if kind == "count":
        ends = [canonical(statement[key]) for key in ("count", "at_least", "at_most") if key in statement]
        if any(not isinstance(end, int) or end < 0 for end in ends) or ends != sorted(ends):
            raise ValueError(f"counts must be whole and not negative, in order: {statement!r}")
        exact = "count" in statement
        low = ends[0] if exact or "at_least" in statement else 0
        return low, ends[-1] if exact or "at_most" in statement else math.inf
    stated = statement[kind]
    if not {"of", "value"} <= set(stated) <= {"of", "value", "within"}:
        raise ValueError(f"unsupported keys in {statement!r}")
    value, within = canonical(stated["value"]), canonical(stated.get("within", 0))
    if within < 0:
        raise ValueError(f"within is negative: {statement!r}")
    return value - within, value + within


def _figure(kind: str, group: list[Number]) -> Number | None:
    """Compute the figure of a group, one number per row; the mean and the median of nobody are None."""
    if kind == "count":
        return len(group)
    if kind == "total":
        return sum(group)
    if not group:
        return None
    if kind == "mean":
        return Fraction(sum(group)) / len(group)
    group, half = sorted(group), len(group) // 2
    return group[half] if len(group) % 2 else Fraction(group[half - 1] + group[half]) / 2


def _statements(release: dict) -> list[dict]:
    """List the statements of all tables."""
    result = []
    for model in release.get("models", []):
        if model.get("kind") == "table":
            if set(model) - {"kind", "name", "statements", "complete"}:
                raise ValueError(f"unsupported model: a table with keys {sorted(model)}")
            result += model["statements"] + _unlisted(release, model)
    return result


def _unlisted(release: dict, model: dict) -> list[dict]:
    """List, for a complete table, a count of 0 for every combination of single values that no figure is about."""
    space, result = _Space(release), []
    for names in (
        {tuple(sorted(s["where"])) for s in model["statements"] if s.get("where")} if model.get("complete") else ()
    ):
        listed = [s["where"] for s in model["statements"] if tuple(sorted(s.get("where", {}))) == names]
        for values in product(*(space.values_of(name) for name in names)):
            one = dict(zip(names, values, strict=True))
            if not any(all(_passes(w[n], v, space.values_of(n)) for n, v in one.items()) for w in listed):
                result.append({"where": one, "count": 0})
    return result


def _whole(values: Iterable[Number]) -> tuple[np.ndarray, int]:
    """Give numbers as whole ones over a common denominator, exactly: as Python's where 64 bits could not hold sums."""
    exact = list(values)
    denominator = math.lcm(*(value.denominator for value in exact))
    numerators = [value.numerator * (denominator // value.denominator) for value in exact]
    wide = max(map(abs, numerators), default=0) >> 52
    return np.array(numerators, dtype=object if wide else np.int64), denominator


def linear_weights(space: _Space, statement: dict) -> list[Fraction]:
    """Give what every row adds to a linear statement, exactly."""
    out = []
    for row in space.rows:
        total = Fraction(0)
        for term in statement["linear"]:
            if any(space.holds(where, row) for where in term.get("any", [term.get("where", {})])):
                names = term.get("of", [])
                product_of = Fraction(str(term.get("times", 1)))
                for name in [names] if isinstance(names, str) else names:
                    space.refuse_words(name)
                    product_of *= space.value_at(name, row)
                total += product_of
        out.append(total)
    return out


def linear_limits(statement: dict) -> tuple[Fraction | None, Fraction | None]:
    """Give the least and the greatest sum that a linear statement allows."""
    if "value" in statement:
        value, within = Fraction(str(statement["value"])), Fraction(str(statement.get("within", 0)))
        return value - within, value + within
    return tuple(Fraction(str(statement[end])) if end in statement else None for end in ("at_least", "at_most"))


def _meeting_linear(space: _Space, statement: dict, worlds: Listed) -> Listed:
    """Keep the worlds whose rows add up to what a linear statement says."""
    whole, denominator = _whole(linear_weights(space, statement))
    total = whole[worlds].sum(axis=1) if worlds.shape[1] else np.zeros(len(worlds), dtype=np.int64)
    low, high = linear_limits(statement)
    met = np.ones(len(worlds), dtype=bool)
    if low is not None:
        met &= total >= math.ceil(low * denominator)
    if high is not None:
        met &= total <= math.floor(high * denominator)
    return worlds[met]


def _meeting(space: _Space, statement: dict, worlds: Listed) -> Listed:
    """Keep the worlds whose rows meet one statement of a table."""
    kind = _statement_kind(statement)
    if kind == "linear":
        return _meeting_linear(space, statement, worlds)
    low, high = _limits(statement, kind)
    if kind != "count":
        space.refuse_words(statement[kind]["of"])
    where = statement.get("where", {})
    inside = np.array([space.holds(where, row) for row in space.rows], dtype=bool)
    values = [1 if kind == "count" else space.value_at(statement[kind]["of"], row) for row in space.rows]
    if kind == "median":
        groups = [[values[row] for row in world if inside[row]] for world in worlds.tolist()]
        figures = [_figure(kind, group) for group in groups]
        return worlds[[figure is not None and low <= figure <= high for figure in figures]]
    whole, denominator = _whole(values)
    total, number = (whole * inside)[worlds].sum(axis=1), inside[worlds].sum(axis=1)
    times = [k if kind == "mean" else 1 for k in range(worlds.shape[1] + 1)]  # what the figure is multiplied by
    met = total >= np.array([math.ceil(low * denominator * k) for k in times])[number]
    if high != math.inf:
        met &= total <= np.array([math.floor(high * denominator * k) for k in times])[number]
    return worlds[met & (number > 0)] if kind == "mean" else worlds[met]


# ---------------------------------------------------------------- worlds, by listing them


@lru_cache(maxsize=256)
def _multisets(size: int, n: int) -> Listed:
    """List all multisets of n out of `size` rows, each in order."""
    every = list(combinations_with_replacement(range(size), n))
    return np.fromiter(chain.from_iterable(every), dtype=np.int32, count=n * len(every)).reshape(len(every), n)


def _products(pools: list[list[int]]) -> Listed:
    """List all ways of taking one row of every pool, the last one changing fastest."""
    grids = np.meshgrid(*(np.array(pool, dtype=np.int32) for pool in pools), indexing="ij")
    return np.stack([grid.ravel() for grid in grids], axis=1) if pools else np.zeros((1, 0), dtype=np.int32)


def _agreeing(release: dict, worlds: Listed) -> Listed:
    """Keep the worlds that meet every count of every model, inner nodes included, and every statement."""
    space = _space(release)
    for model in _counting_models(release):
        paths = [_path(space, model, row) for row in space.rows]
        for index, part in enumerate(_parts(model)):
            for value, number in _counted(part, space):
                held = [
                    index in path and (value is NO_LABEL or row[-1] == value)
                    for row, path in zip(space.rows, paths, strict=True)
                ]
                worlds = worlds[np.array(held, dtype=bool)[worlds].sum(axis=1) == number]
    for model in release.get("models", []):
        if model.get("kind") == "boosting":
            worlds = _keeping_sums(space, model, worlds)
    for statement in _statements(release):
        worlds = _meeting(space, statement, worlds)
    return worlds


# ---------------------------------------------------------------- boosted models: sums of gradients


def _class_shares(gradients: dict, scores: list[float]) -> list[float]:
    """Give the probability of every class by the scores."""
    if gradients["loss"] == "log_loss":
        p = 1 / (1 + math.exp(-gradients.get("scale", 1) * scores[0]))
        return [1 - p, p]
    if gradients["loss"] != "softmax":
        raise ValueError(f"unsupported loss {gradients['loss']!r}")
    odds = [math.exp(score) for score in scores]
    return [one / sum(odds) for one in odds]


def _gradient(gradients: dict, scores: list[float], of: int, label: int) -> tuple[float, float]:
    """Give the gradient and hessian of a row of class `label`, for trees that add to score `of`."""
    shares = _class_shares(gradients, scores)
    if gradients["loss"] == "log_loss":
        scale, target = gradients.get("scale", 1), 1
    else:
        scale, target = 1, of
    p = shares[target]
    found = scale * (p - (label == target)), gradients.get("factor", 1) * scale * scale * p * (1 - p)
    if gradients.get("rounded") == "float32":
        found = tuple(float(np.float32(x)) for x in found)
    return found


def _row_sums(space: _Space, model: dict) -> Iterable[tuple[list[float], list[float], float, float]]:
    """Yield per sum what each row of the space adds, how far that may be off, and the ends of its interval."""
    given, trees = model["gradients"], _boosted_trees(model)
    labels = {space.values[space.label][index]: k for k, index in enumerate(model["labels"])}
    classes = [labels.get(row[-1]) for row in space.rows]
    sums = [list(model.get("base", model["start"])) for _ in space.rows]
    before, last = [list(model["start"]) for _ in space.rows], 0
    for plain, tree in zip(trees, model["trees"], strict=True):
        if tree["round"] != last:
            before, last = [list(s) for s in sums], tree["round"]
        of = tree.get("of", 0)
        paths = [_path(space, plain, row) for row in space.rows]
        own = [(0.0, 0.0) if c is None else _gradient(given, s, of, c) for s, c in zip(before, classes, strict=True)]
        for index, node in enumerate(tree["nodes"]):
            every = [node[key] for key in ("value", "weight") if key in node] + node.get("sums", [])
            for one in every:
                factors = [one.get(key, 0) for key in ("gradient", "hessian", "square")]
                terms = [
                    [f * x for f, x in zip(factors, (g, h, g * g), strict=True)] if index in path else []
                    for (g, h), path in zip(own, paths, strict=True)
                ]
                off = [3 * given.get("relative", 0) * sum(map(abs, t)) for t in terms]
                off = [x + 3 * given.get("absolute", 0) * sum(map(abs, factors)) for x in off]
                yield [math.fsum(t) for t in terms], off, one["at_least"], one["at_most"]
        for s, path in zip(sums, paths, strict=True):
            s[of] += tree["nodes"][path[-1]]["step"]


def _keeping_sums(space: _Space, model: dict, worlds: Listed) -> Listed:
    """Keep the worlds whose rows have classes of the model and meet all its sums; none may be nearly a world."""
    labels = {space.values[space.label][index] for index in model["labels"]}
    worlds = worlds[np.array([row[-1] in labels for row in space.rows])[worlds].all(axis=1)]
    for terms, off, low, high in _row_sums(space, model):
        total, room = np.array(terms)[worlds].sum(axis=1), np.array(off)[worlds].sum(axis=1)
        beyond = np.maximum(low - total, total - high) - room
        if (np.abs(beyond) < 1e-13).any():
            raise ValueError("whether a dataset meets a sum is a matter of rounding")
        worlds = worlds[beyond < 0]
    return worlds


def _written(release: dict, worlds: Listed) -> list[tuple[Row, ...]]:
    """Write datasets out, row by row."""
    every = _space(release).rows
    return [tuple(every[row] for row in world) for world in worlds.tolist()]


@lru_cache(maxsize=64)
def _agreeing_multisets(key: _Key, n: int) -> Listed:
    return _agreeing(key.part, _multisets(len(_space(key.part).rows), n))


def multisets(release: dict, n: int) -> list[tuple[Row, ...]]:
    """List the multisets of n rows that agree with every statement, whatever numbers of rows are allowed."""
    return _written(release, _agreeing_multisets(_Key(release), n))


def datasets(release: dict, n: int | None = None) -> list[tuple[Row, ...]]:
    """List the multisets of n rows (None: of every n allowed) that agree with every statement."""
    numbers = row_numbers(release)
    return [world for k in (numbers if n is None else [n]) if k in numbers for world in multisets(release, k)]


def _orders(worlds: Listed) -> np.ndarray:
    """Count the different sequences of every multiset, whose rows are in order."""
    run = found = np.ones(len(worlds), dtype=np.int64)
    for k in range(1, worlds.shape[1]):
        run = np.where(worlds[:, k] == worlds[:, k - 1], run + 1, 1)
        found = found * run
    return math.factorial(worlds.shape[1]) // found


@lru_cache(maxsize=64)
def _row_choices_of(key: _Key, n: int, inside: bool) -> list[list[Row]] | None:
    release = key.part
    cells = _cells(release, n)
    if cells is None:
        return None
    everything = rows(release)
    members = region_rows(release, release["models"][0])
    choices = []
    for region, value, number in cells:
        pool = members[region] if inside else everything
        choices += [[row for row in pool if value is NO_LABEL or row[-1] == value]] * number
    return choices


def _row_choices(release: dict, n: int, *, inside: bool) -> list[list[Row]] | None:
    """List, for each of n rows of a fixed assignment to (region, class), the raw rows it can be.

    With inside=False the region is forgotten and the label, where known, kept: the state before the release.
    """
    return _row_choices_of(_Key(release), n, inside)


def _assigned(release: dict, n: int, *, inside: bool) -> Listed:
    """List the sequences of n rows in which every row is one of its choices; see `_row_choices`."""
    choices, number = _row_choices(release, n, inside=inside), _space(release).number
    if choices is None:
        return np.zeros((0, n), dtype=np.int32)
    return _products([[number[row] for row in pool] for pool in choices])


@lru_cache(maxsize=64)
def _listed_worlds(key: _Key, convention: str) -> dict[int, tuple[Listed, np.ndarray]]:
    result = {}
    for n in row_numbers(key.part):
        if convention == "assigned":
            listed = _agreeing(key.part, _assigned(key.part, n, inside=True))
        else:
            listed = _agreeing_multisets(key, n)
        result[n] = listed, _orders(listed) if convention == "ordered" else np.ones(len(listed), dtype=np.int64)
    return result


def _worlds(release: dict, convention: str) -> dict[int, tuple[Listed, np.ndarray]]:
    """List the worlds per number of rows by the numbers of their rows, and their weights."""
    if convention not in CONVENTIONS:
        raise ValueError(f"unknown convention {convention!r}")
    if convention == "assigned":
        _refuse_assigned(release)
    return _listed_worlds(_Key(release), convention)


def worlds(release: dict, convention: str) -> dict[int, list[Weighted]]:
    """List the worlds per number of rows, each with its weight (`ordered`: a multiset and its sequences)."""
    return {
        n: list(zip(_written(release, listed), weights.tolist(), strict=True))
        for n, (listed, weights) in _worlds(release, convention).items()
    }


def _per_number(release: dict, figure: Callable[[int], Any]) -> Any:
    """Give the figure itself where the number of rows is exact, else a dict number of rows -> figure."""
    figures = {n: figure(n) for n in row_numbers(release)}
    return figures if isinstance(release.get("rows"), dict) else next(iter(figures.values()))


def count(release: dict, convention: str) -> int | dict[int, int]:
    """Count the worlds by listing them; a dict n -> count where `rows` is an interval."""
    listed = _worlds(release, convention)
    return _per_number(release, lambda n: int(listed[n][1].sum()))


# ---------------------------------------------------------------- bits and distances


def _log2(number: int) -> float | None:
    return math.log2(number) if number > 0 else None


def entropy_bits(release: dict, convention: str) -> Any:
    """Give log2 of the number of worlds; None where there is none."""
    listed = _worlds(release, convention)
    return _per_number(release, lambda n: _log2(int(listed[n][1].sum())))


def uninformed_bits(release: dict, convention: str) -> Any:
    """Give the bits of a release that says nothing, in the same convention; None where undefined."""
    size = len(rows(release))

    def bits(n: int) -> float | None:
        if convention == "assigned":
            choices = _row_choices(release, n, inside=False)
            return None if choices is None else _log2(math.prod(map(len, choices)))
        if convention == "ordered":
            return _log2(size**n)
        return _log2(math.comb(size + n - 1, n) if n else 1)

    if convention not in CONVENTIONS:
        raise ValueError(f"unknown convention {convention!r}")
    return _per_number(release, bits)


def dist_g(release: dict, convention: str) -> Any:
    """Give entropy over uninformed bits; None where there is no world or nothing was uncertain before."""
    _worlds(release, convention)
    exact = {key: value for key, value in release.items() if key != "rows"}

    def ratio(n: int) -> float | None:
        left = entropy_bits({**exact, "rows": n}, convention)
        right = uninformed_bits({**exact, "rows": n}, convention)
        return left / right if left is not None and right else None

    return _per_number(release, ratio)


def dist(release: dict) -> Any:
    """Give Definition 2 of the paper: the mean over all (row, attribute) cells of H left / H before.

    None where an occupied region is no product of attribute sets, where rows are not independent (class
    counts at an inner node above plain leaves), and where there is no row, world or cell to average over.
    """
    space, listed = _space(release), _worlds(release, "assigned")

    def mean(n: int) -> float | None:
        choices = _row_choices(release, n, inside=True)
        cells = _cells(release, n)
        if choices is None or len(listed[n][0]) != math.prod(map(len, choices)):
            return None
        known = [value is not NO_LABEL for _, value, number in cells or [] for _ in range(number)]
        ratios: list[float] = []
        for pool, label_known in zip(choices, known, strict=True):
            kept = [set(column) for column in zip(*pool, strict=True)]
            if not pool or math.prod(map(len, kept)) != len(set(pool)):
                return None
            for name, left in zip(space.values, kept, strict=True):
                before = len(space.values[name])
                if before > 1 and not (label_known and name == space.label):
                    ratios.append(math.log2(len(left)) / math.log2(before))
        return sum(ratios) / len(ratios) if ratios else None

    return _per_number(release, mean)


# ---------------------------------------------------------------- questions about rows

Figures = tuple[Number, ...]
Measure = Callable[[Row], Figures]


def _shares(release: dict, worlds: Listed, weights: np.ndarray, measure: Measure) -> dict[Figures, Fraction]:
    """Give the share of worlds per value of the measure summed over the rows of a world."""
    columns = [_whole(column) for column in zip(*map(measure, _space(release).rows), strict=True)]
    sums = zip(*(values[worlds].sum(axis=1).tolist() for values, _ in columns), strict=True)
    tally: Counter = Counter()
    for line, weight in zip(sums, weights.tolist(), strict=True):
        tally[line] += weight
    total = sum(tally.values())
    return {
        tuple(canonical(Fraction(x, d)) for x, (_, d) in zip(line, columns, strict=True)): Fraction(weight, total)
        for line, weight in tally.items()
    }


def _before(release: dict, n: int, convention: str) -> tuple[Listed, np.ndarray]:
    """List all datasets of n rows before the release speaks, and their weights (`assigned`: known labels are kept)."""
    assigned = convention == "assigned"
    listed = _assigned(release, n, inside=False) if assigned else _multisets(len(rows(release)), n)
    return listed, _orders(listed) if convention == "ordered" else np.ones(len(listed), dtype=np.int64)


def _distribution(release: dict, convention: str, measure: Measure, *, before: bool = False) -> dict[Figures, Fraction]:
    """Average `_shares` over the numbers of rows that have a world, all equally likely."""
    listed = {n: pair for n, pair in _worlds(release, convention).items() if len(pair[0])}
    if not listed:
        raise ValueError("no world agrees with the release")
    result: dict[Figures, Fraction] = {}
    for n, pair in listed.items():
        source = _before(release, n, convention) if before else pair
        for value, share in _shares(release, *source, measure).items():
            result[value] = result.get(value, Fraction(0)) + share / len(listed)
    return result


def _expectation(shares: dict[Figures, Fraction], position: int = 0) -> Fraction:
    return sum((value[position] * share for value, share in shares.items()), Fraction(0))


def _check(space: _Space, profile: dict) -> None:
    """Refuse a profile with an unknown name or a value outside the domain."""
    for name, value in profile.items():
        if canonical(value) not in space.values_of(name):
            raise ValueError(f"{name}: {value!r} is outside the domain")


def membership(release: dict, profile: dict, convention: str) -> dict:
    """Say whether a (partial) profile is among the rows.

    Keys: min_count, max_count, verdict, probability, probability_before, expected_count.
    """
    space = _space(release)
    _check(space, profile)

    def measure(row: Row) -> tuple[int]:
        return (int(all(space.value_at(name, row) == canonical(v) for name, v in profile.items())),)

    after = _distribution(release, convention, measure)
    before = _distribution(release, convention, measure, before=True)
    numbers = [value for (value,) in after]
    verdict = "certain" if min(numbers) else "possible" if max(numbers) else "impossible"
    return {
        "min_count": min(numbers),
        "max_count": max(numbers),
        "verdict": verdict,
        "probability": 1 - after.get((0,), Fraction(0)),
        "probability_before": 1 - before.get((0,), Fraction(0)),
        "expected_count": _expectation(after),
    }


def attribute(release: dict, q: dict, sensitive: str, convention: str) -> dict[Any, dict]:
    """Infer a sensitive attribute, column or label of a person known to be in the data with profile q.

    Per value: probability, lower and upper (ratios over worlds with a row like q; None where there is no such
    world), min_count and max_count of rows (q, value) over all worlds, certain.
    """
    space = _space(release)
    _check(space, q)
    result = {}
    for wanted in space.values_of(sensitive):

        def measure(row: Row, wanted: Any = wanted) -> tuple[int, int]:
            like = all(space.value_at(name, row) == canonical(v) for name, v in q.items())
            return int(like), int(like and space.value_at(sensitive, row) == wanted)

        shares = _distribution(release, convention, measure)
        ratios = [Fraction(hit, like) for like, hit in shares if like]
        hits = [hit for _, hit in shares]
        like_rows = _expectation(shares, 0)
        result[wanted] = {
            "probability": _expectation(shares, 1) / like_rows if like_rows else None,
            "lower": min(ratios, default=None),
            "upper": max(ratios, default=None),
            "min_count": min(hits),
            "max_count": max(hits),
            "certain": bool(ratios) and all(ratio == 1 for ratio in ratios),
        }
    return result


def _mean(count: Number, total: Number) -> Fraction | None:
    return Fraction(total) / count if count else None


def _correlation(count: Number, *sums: Number) -> float | None:
    """Give Pearson's r from the count and the sums of x, y, xx, xy and yy; None where a variance is zero."""
    x, y, xx, xy, yy = map(Fraction, sums)
    spread = (count * xx - x * x) * (count * yy - y * y)
    together = count * xy - x * y
    return math.copysign(math.sqrt(together * together / spread), together) if spread else None


def bound(
    release: dict, where: dict, convention: str, of: str | tuple[str, str] | list[str] | None = None
) -> dict[str, Any]:
    """Give min, max and expectation over worlds of a figure of the rows that meet a condition.

    of None: their number; a name: the mean of that attribute, over the worlds where somebody meets the condition;
    two names: Pearson's correlation (floats), over the worlds where both variances are positive. Where no world
    has the figure, all three are None.
    """
    space = _space(release)
    names = [] if of is None else [of] if isinstance(of, str) else list(of)
    if len(names) > 2:
        raise ValueError("of is nothing, one name or two")
    for name in names:
        space.refuse_words(name)

    def measure(row: Row) -> Figures:
        numbers = [space.value_at(name, row) for name in names]
        squares = [a * b for a, b in combinations_with_replacement(numbers, 2)] if len(names) == 2 else []
        inside = int(space.holds(where, row))
        return (inside, *(inside * number for number in numbers + squares))

    figure: Callable[..., Any] = (lambda count: count, _mean, _correlation)[len(names)]
    shares = _distribution(release, convention, measure)
    figures = [(figure(*sums), share) for sums, share in shares.items()]
    known = [(value, share) for value, share in figures if value is not None]
    if not known:
        return {"min": None, "max": None, "expectation": None}
    values = [value for value, _ in known]
    expectation = sum(value * share for value, share in known) / sum(share for _, share in known)
    return {"min": min(values), "max": max(values), "expectation": expectation}


def distribution(release: dict, where: dict, convention: str) -> dict[int, Fraction]:
    """Give, per number k, the share of worlds in which exactly k rows meet a condition."""
    space = _space(release)
    shares = _distribution(release, convention, lambda row: (int(space.holds(where, row)),))
    return {int(number): share for (number,), share in sorted(shares.items())}


# ---------------------------------------------------------------- random releases from a random truth

_MAX_SEQUENCES = 20_000
_MAX_ROWS = 150


def _json_number(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _spelled(rng: random.Random, value: Any) -> Any:
    """Write a value as JSON has it, now and then a whole number as a float and 0/1 as a boolean."""
    if isinstance(value, int) and rng.random() < 0.2:
        return bool(value) if value in (0, 1) and rng.random() < 0.5 else float(value)
    return _json_number(value)


def _random_attribute(rng: random.Random, name: str) -> dict:
    """Draw one small attribute: bit, strings, integers, numbers as listed, or a decimal grid."""
    low = rng.randint(-2, 3)
    start = Fraction(rng.randint(-3, 3), 10)
    size = rng.randint(2, 5)
    shapes = [
        {"values": [0, 1]},
        {"values": [0, 1]},
        {"values": [False, True]},
        {"min": 0, "max": 1},
        {"values": rng.sample(["red", "green", "blue"], rng.randint(2, 3))},
        {"values": ["low", "mid", "high"]},
        {"values": ["0", "1", "2-3", ">3"][: rng.randint(2, 4)]},
        {"values": [10, 20, 35, 70][: rng.randint(2, 4)]},
        {"values": [-0.5, 0.1, 2]},
        {"min": low, "max": low + size - 1},
        {
            "min": _json_number(canonical(start)),
            "max": _json_number(canonical(start + Fraction(size - 1, 10))),
            "resolution": 0.1,
        },
        {"min": 1, "max": 2, "resolution": 0.25},
    ]
    shape = {"values": ["only"]} if rng.random() < 0.05 else rng.choice(shapes)
    return {"name": name, **shape}


def _random_threshold(rng: random.Random, values: list) -> Any:
    """Draw a listed value or, between numbers, a point halfway."""
    k = rng.randrange(len(values))
    if k + 1 < len(values) and all(map(_is_number, values)) and rng.random() < 0.5:
        return _json_number(canonical(Fraction(values[k] + values[k + 1]) / 2))
    return _json_number(values[k])


def _random_test(rng: random.Random, values: list, *, bare: bool = True) -> Any:
    """Draw a test on an attribute or column with these values; bare=False gives an object (for a column)."""
    kind = rng.choice(["equal", "in", "order", "order", "range"])
    if kind == "equal" and bare:
        return _spelled(rng, rng.choice(values))
    if kind in ("equal", "in"):
        return {"in": [_spelled(rng, v) for v in rng.sample(values, rng.randint(1, max(1, len(values) - 1)))]}
    if kind == "order":
        return {rng.choice(list(_ORDER_TESTS)): _random_threshold(rng, values)}
    numeric = all(map(_is_number, values))
    ends = [_random_threshold(rng, values) for _ in range(2)]
    low, high = sorted(ends, key=canonical if numeric else values.index)
    if canonical(low) == canonical(high):
        return {"at_least": low, "at_most": high}
    return {rng.choice(["at_least", "above"]): low, rng.choice(["at_most", "below"]): high}


def _random_columns(rng: random.Random, space: _Space) -> dict:
    """Draw binary columns over some attributes: one-hot, nested thresholds, or any test."""
    columns: dict[str, dict] = {}
    for name, values in space.values.items():
        if name == space.label or rng.random() < 0.6:
            continue
        style = rng.choice(["one_hot", "thresholds", "any"])
        if style == "one_hot":
            tests = [{"in": [_json_number(value)]} for value in values]
        elif style == "thresholds":
            key = rng.choice(list(_ORDER_TESTS))
            tests = [{key: _random_threshold(rng, values)} for _ in range(2)]
        else:
            tests = [_random_test(rng, values, bare=False)]
        for k, test in enumerate(tests):
            columns[f"{name}:{style}{k}"] = {"attribute": name, **test}
    return columns


def _random_condition(rng: random.Random, space: _Space, width: int, *, names: list[str] | None = None) -> dict:
    """Draw a condition on up to `width` attributes or columns, never the label unless it is among `names`."""
    names = names or [name for name in (*space.values, *space.columns) if name != space.label]
    chosen = rng.sample(names, min(width, len(names)))
    return {name: _random_test(rng, space.values_of(name)) for name in chosen}


def _random_domain(rng: random.Random, *, label_boxes: bool) -> dict:
    """Draw a domain: 1-3 attributes, sometimes a label, columns and an impossible box that spares a row."""
    domain: dict[str, Any] = {"attributes": [_random_attribute(rng, f"a{k + 1}") for k in range(rng.randint(1, 3))]}
    if rng.random() < 0.7:
        labels = [[0, 1], [0, 1], ["no", "yes"], [False, True], [0, 1, 2], ["only"]]
        domain["label"] = {"name": "y", "values": rng.choice(labels)}
    if rng.random() < 0.5:
        domain["columns"] = _random_columns(rng, _Space({"domain": domain}))
    if rng.random() < 0.3:
        space = _Space({"domain": domain})
        names = [*space.values, *space.columns] if label_boxes else None
        box = _random_condition(rng, space, rng.randint(1, 2), names=names)
        if not all(space.holds(box, row) for row in space.rows):
            domain["impossible"] = [box]
    domain["source"] = "declared"
    return domain


def _random_tree(rng: random.Random, space: _Space) -> list[dict]:
    """Draw the nodes of a tree of depth 0-3, counts still missing; splits often repeat an attribute."""
    nodes: list[dict] = []
    deepest = rng.randint(0, 3)

    def grow(depth: int, last: str | None) -> int:
        index = len(nodes)
        nodes.append({})
        if depth < deepest and (depth == 0 or rng.random() < 0.7):
            names = [last] if last and rng.random() < 0.3 else None
            test = _random_condition(rng, space, 1, names=names)
            nodes[index] = {
                "if": test,
                "then": grow(depth + 1, next(iter(test))),
                "else": grow(depth + 1, next(iter(test))),
            }
        return index

    grow(0, None)
    order = list(range(1, len(nodes)))
    if rng.random() < 0.3:
        rng.shuffle(order)
    new_index = {old: new for new, old in enumerate([0, *order])}
    return [
        {key: new_index[value] if key in ("then", "else") else value for key, value in nodes[old].items()}
        for old in [0, *order]
    ]


def _random_rules(rng: random.Random, space: _Space) -> list[dict]:
    """Draw 0-4 rules of width 1-3, sometimes one that repeats an earlier one, and mostly a default rule."""
    rules: list[dict] = []
    for _ in range(rng.randint(0, 4)):
        if rules and rng.random() < 0.15:
            rules.append({"if": dict(rng.choice(rules)["if"])})  # nothing is left for it to match
        else:
            rules.append({"if": _random_condition(rng, space, rng.randint(1, 3))})
    if rng.random() < 0.75:
        rules.append({"if": {}})
    return rules


def _tally(space: _Space, reached: list[Row], *, classes: bool) -> dict:
    """Make the `counts` or `count` entry for the true rows that reach a node or rule."""
    if not classes:
        return {"count": len(reached)}
    return {"counts": [sum(row[-1] == value for row in reached) for value in space.values[space.label]]}


def _fill_counts(rng: random.Random, space: _Space, model: dict, truth: list[Row]) -> None:
    """Write the true counts into the leaves or rules and, now and then, into inner nodes."""
    parts = model["nodes" if model["kind"] == "tree" else "rules"]
    style = rng.choice(["classes", "classes", "plain", "mixed"]) if space.label else "plain"
    inner_too = rng.random() < 0.15 and style != "mixed"
    for part in parts:  # so that _path accepts the model
        part.update({} if model["kind"] == "tree" and "if" in part else {"count": 0})
    paths = [(row, _path(space, model, row)) for row in truth]
    for index, part in enumerate(parts):
        if "count" not in part and not inner_too:
            continue
        part.pop("count", None)
        classes = style == "classes" or (style == "mixed" and rng.random() < 0.5)
        part.update(_tally(space, [row for row, path in paths if index in path], classes=classes))


def random_release(rng: random.Random, *, models: int = 1, label_boxes: bool = False) -> tuple[dict, list[Row]]:
    """Draw a tiny release and the dataset it was made from, so that at least one world exists.

    `models` trees or rule lists of the same rows; `label_boxes` lets impossible boxes name the label.
    The number of sequences of n rows is at most 20,000.
    """
    n = rng.choice([0, 1, 2, 2, 3, 3, 3, 4, 4])
    while True:
        release: dict[str, Any] = {"recon": 1, "domain": _random_domain(rng, label_boxes=label_boxes)}
        space = _space(release)
        possible = space.rows
        if len(possible) ** n <= _MAX_SEQUENCES and len(possible) <= _MAX_ROWS:
            break
    truth = [rng.choice(possible) for _ in range(n)]
    if n > 1 and rng.random() < 0.3:
        truth[0] = truth[-1]
    made = []
    for _ in range(models):
        if rng.random() < 0.5:
            model = {"kind": "tree", "nodes": _random_tree(rng, space)}
        else:
            model = {"kind": "rule_list", "rules": _random_rules(rng, space)}
        _fill_counts(rng, space, model, truth)
        made.append(model)
    if rng.random() < 0.5 or any(_lacks_default(model) for model in made):
        release["rows"] = n
    release["models"] = made
    return release, truth
