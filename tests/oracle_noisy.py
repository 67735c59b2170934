"""Brute force over every dataset of a tiny domain for noisy releases: the independent check of the noisy answers.

Shares no code with the engine: the laws are written down here again from their definitions, every dataset of the
declared number of rows is listed, and confidence sets, posteriors and most likely counts are sums and maxima over
that list. `random_noisy` draws releases. What conditions and exact models mean is in oracle.py.

Source: docs/mathematics.md, "Noise"; Balle, Wang, "Improving the Gaussian mechanism for differential privacy",
ICML 2018, theorem 8; Geng, Ding, Guo, Kumar, "Tight analysis of privacy and utility tradeoff in approximate
differential privacy", AISTATS 2020 (truncated Laplace); Canonne, Kamath, Steinke, NeurIPS 2020 (discrete Gaussian).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import oracle
from oracle import Row
from scipy import optimize, stats

Vector = tuple[int, ...]
LAWS = ("laplace", "discrete_laplace", "gaussian", "discrete_gaussian", "truncated_laplace")
CONTINUOUS = ("laplace", "gaussian", "truncated_laplace")
MAX_ROWS = 9  # where a release does not say how many
REACH = 400  # whole numbers either side that the discrete Gaussian is summed over


# ---------------------------------------------------------------- laws


def scale_and_bound(noise: dict) -> tuple[float, float | None]:
    """Return the scale of a law and its bound (None: unbounded), stated or from the privacy budget."""
    return _scale_and_bound(tuple(noise.items()))


@cache
def _scale_and_bound(stated: tuple[tuple[str, Any], ...]) -> tuple[float, float | None]:
    noise = dict(stated)
    if "scale" in noise:
        return float(noise["scale"]), noise.get("bound")
    epsilon, sensitivity = float(noise["epsilon"]), float(noise["sensitivity"])
    if noise["law"] in ("laplace", "discrete_laplace"):
        return sensitivity / epsilon, None
    delta = float(noise["delta"])
    if noise["law"] == "truncated_laplace":
        return sensitivity / epsilon, sensitivity / epsilon * math.log1p(math.expm1(epsilon) / (2 * delta))

    def excess(sigma: float) -> float:
        a, b = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
        return float(stats.norm.cdf(a - b) - math.exp(epsilon) * stats.norm.cdf(-a - b)) - delta

    return float(optimize.brentq(excess, 1e-2 * sensitivity, 1e3 * sensitivity, xtol=1e-13)), None


@cache
def _gaussian_weights(scale: float) -> tuple[dict[int, float], float]:
    weights = {k: math.exp(-k * k / (2 * scale * scale)) for k in range(-REACH, REACH + 1)}
    return weights, math.fsum(weights.values())


def _log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf


@dataclass(frozen=True)
class Law:
    """The law of one published number given the true count."""

    name: str
    scale: float
    bound: float | None
    rounded: bool
    clamped: bool

    @classmethod
    def of(cls, noise: dict) -> Law:
        """Return the law that the `noise` of a release file states."""
        scale, bound = scale_and_bound(noise)
        return cls(noise["law"], scale, bound, noise.get("rounded", False), noise.get("clamped", False))

    def log_density(self, x: float) -> float:
        """Return the log of the density, or of the probability, of noise x."""
        if self.name == "gaussian":
            return float(stats.norm.logpdf(x, scale=self.scale))
        if self.name == "discrete_gaussian":
            weights, total = _gaussian_weights(self.scale)
            return _log(weights[round(x)] / total)
        if self.name == "discrete_laplace":
            return math.log(math.tanh(1 / (2 * self.scale))) - abs(x) / self.scale
        inside = 1.0 if self.bound is None else -math.expm1(-self.bound / self.scale)
        if self.bound is not None and abs(x) > self.bound:
            return -math.inf
        return -abs(x) / self.scale - math.log(2 * self.scale * inside)

    def at_most(self, x: float) -> float:
        """Return P(noise <= x)."""
        if self.name == "gaussian":
            return float(stats.norm.cdf(x, scale=self.scale))
        if self.name in ("discrete_gaussian", "discrete_laplace"):
            return math.fsum(math.exp(self.log_density(k)) for k in range(-REACH, math.floor(x) + 1))
        if self.bound is None:
            return float(stats.laplace.cdf(x, scale=self.scale))
        x = min(max(x, -self.bound), self.bound)
        low = stats.laplace.cdf(-self.bound, scale=self.scale)
        return float((stats.laplace.cdf(x, scale=self.scale) - low) / (1 - 2 * low))

    def log_likelihood(self, published: float, count: int) -> float:
        """Return the log-likelihood of the published number; a clamped 0 stands for everything up to 0."""
        return _log_likelihood(self, published, count)

    def radius(self, level: float) -> float:
        """Return the least r with P(|noise| <= r) >= level; the bound where there is one."""
        if self.bound is not None:
            return float(self.bound)
        if level >= 1:
            return math.inf
        if self.name == "laplace":
            return -self.scale * math.log1p(-level)
        if self.name == "gaussian":
            return float(stats.norm.ppf((1 + level) / 2, scale=self.scale))
        inside, r = math.exp(self.log_density(0)), 0
        while inside < level:
            r += 1
            inside += 2 * math.exp(self.log_density(r))
        return r

    def as_large(self, published: float, count: int) -> float:
        """Return the probability of noise at least as large, either way, as turns the count into what was published."""
        half = 0.5 if self.rounded and self.name in CONTINUOUS else 0.0
        needed = max(0.0, abs(published - count) - half)
        if self.name == "laplace":
            return math.exp(-needed / self.scale)
        if self.name == "gaussian":
            return float(2 * stats.norm.sf(needed, scale=self.scale))
        if needed == 0:
            return 1.0
        return 2 * math.fsum(math.exp(self.log_density(k)) for k in range(REACH, round(needed) - 1, -1))

    def allows(self, published: float, count: int, radius: float) -> bool:
        """Say whether noise of at most `radius` either way can turn the count into what was published."""
        x, half = published - count, 0.5 if self.rounded and self.name in CONTINUOUS else 0.0
        if self.clamped and published == 0:
            return -radius <= x + half
        return abs(x) <= radius + half


@cache
def _log_likelihood(law: Law, published: float, count: int) -> float:
    """Return the log-likelihood of the published number; a clamped 0 stands for everything up to 0."""
    x, half = published - count, 0.5 if law.rounded and law.name in CONTINUOUS else 0.0
    if law.clamped and published == 0:
        return _log(law.at_most(x + half))
    if half:
        right = x > 0  # the tails are mirrored, so that small differences stay exact
        ends = (-x - half, -x + half) if right else (x - half, x + half)
        return _log(law.at_most(ends[1]) - law.at_most(ends[0]))
    return law.log_density(x)


# ---------------------------------------------------------------- releases: what was published about which rows


@dataclass(frozen=True)
class Noisy:
    """One published number: about which raw rows, how much, under which law."""

    region: frozenset[Row]
    published: float
    law: Law


def bare(model: dict) -> dict:
    """Return a model without its noise."""
    return {key: value for key, value in model.items() if key != "noise"}


def exact_part(release: dict) -> dict:
    """Return the release with its exact models only."""
    return {**release, "models": [m for m in release["models"] if "noise" not in m]}


def _supports(release: dict, model: dict) -> list[tuple[dict, list[Row]]]:
    """List what carries counts in a model (node, rule, statement) with the raw rows that it is about."""
    space, every = oracle._space(release), oracle.rows(release)
    if model["kind"] == "forest":
        return [pair for tree in model["trees"] for pair in _supports(release, {"kind": "tree", **tree})]
    if model["kind"] == "table":
        return [(s, [r for r in every if space.holds(s.get("where", {}), r)]) for s in model["statements"]]
    met: dict[int, list[Row]] = {}
    for row in every:
        for index in oracle._path(space, model, row):
            met.setdefault(index, []).append(row)
    return [(part, met.get(index, [])) for index, part in enumerate(oracle._parts(model))]


def noisy_counts(release: dict) -> list[Noisy]:
    """List every noisy number of the release, in file order."""
    label = release["domain"].get("label", {}).get("values", [])
    found = []
    for model in release["models"]:
        if "noise" in model:
            law = Law.of(model["noise"])
            for part, members in _supports(release, bare(model)):
                if "count" in part:
                    found.append(Noisy(frozenset(members), float(part["count"]), law))
                for value, published in zip(label, part.get("counts", ()), strict="counts" in part):
                    found.append(Noisy(frozenset(r for r in members if r[-1] == value), float(published), law))
    return found


def _numbers(release: dict) -> range:
    stated = release.get("rows", {"at_least": 0, "at_most": MAX_ROWS})
    return range(stated["at_least"], stated["at_most"] + 1) if isinstance(stated, dict) else range(stated, stated + 1)


class Enumerated:
    """All datasets of a release, as multisets, that agree with its exact models; and its noisy numbers."""

    def __init__(self, release: dict) -> None:
        self.release, self.noisy = release, noisy_counts(release)
        every, exact = oracle.rows(release), exact_part(release)
        inside = [np.array([row in one.region for row in every], dtype=bool) for one in self.noisy]
        self.counts: dict[tuple[Row, ...], Vector] = {}
        self.orders: dict[tuple[Row, ...], int] = {}  # different sequences of a dataset
        for n in _numbers(release):
            listed = oracle._agreeing(exact, oracle._multisets(len(every), n))
            worlds, counts = oracle._written(release, listed), [mask[listed].sum(axis=1).tolist() for mask in inside]
            self.counts |= zip(worlds, zip(*counts, strict=True) if counts else [()] * len(worlds), strict=True)
            self.orders |= zip(worlds, oracle._orders(listed).tolist(), strict=True)
        self.sure = list(self.counts)

    def confident(self, p: float) -> list[tuple[Row, ...]]:
        """List the datasets with every noisy number inside its interval of joint level p."""
        m = sum(one.law.bound is None for one in self.noisy)
        radii = {one.law: one.law.radius(p ** (1 / m) if m else 1.0) for one in self.noisy}
        pairs = [(one, radii[one.law]) for one in self.noisy]
        return [
            w
            for w in self.sure
            if all(o.law.allows(o.published, c, r) for (o, r), c in zip(pairs, self.counts[w], strict=True))
        ]

    def close_to_an_end(self, p: float) -> bool:
        """Say whether some count lies so close to the end of an interval that rounding decides."""
        m = sum(one.law.bound is None for one in self.noisy)
        for one in self.noisy:
            r = one.law.radius(p ** (1 / m) if m else 1.0)
            half = 0.5 if one.law.rounded else 0.0
            ends = {abs(one.published - c) - r - h for c in range(6) for h in {0.0, half}}
            if one.law.name in CONTINUOUS and min(map(abs, ends)) < 1e-9:
                return True
        return False

    def worlds(self, p: float, convention: str) -> int:
        """Count the worlds of a convention in the confidence set."""
        return sum(self.orders[w] if convention == "ordered" else 1 for w in self.confident(p))

    def log_likelihood(self, world: tuple[Row, ...]) -> float:
        """Return the log-likelihood of everything published."""
        pairs = zip(self.noisy, self.counts[world], strict=True)
        return math.fsum(one.law.log_likelihood(one.published, c) for one, c in pairs)

    def improbability(self) -> float | None:
        """Return the p-value of the least improbable dataset, None where no dataset has a positive likelihood.

        Of every figure the probability of noise at least as large as the dataset needs, bounded noise left out; of a
        dataset the least of those, and of m figures the probability that some one is as small, 1 - (1 - p)^m.
        """
        likely, m = 0.0, sum(one.law.bound is None for one in self.noisy)
        possible = [w for w in self.sure if self.log_likelihood(w) > -math.inf]
        for w in possible:
            pairs = zip(self.noisy, self.counts[w], strict=True)
            likely = max(
                likely, min((o.law.as_large(o.published, c) for o, c in pairs if o.law.bound is None), default=1)
            )
        return None if not possible else 1.0 if likely >= 1 else -math.expm1(m * math.log1p(-likely))

    def best(self) -> tuple[float, set[Vector]]:
        """Return the greatest log-likelihood and the noisy counts of every dataset that attains it."""
        found = {self.counts[w]: self.log_likelihood(w) for w in self.sure}
        top = max(found.values())
        return top, {c for c, value in found.items() if value >= top - 1e-9 or value == top}


class Uniform:
    """The posterior over datasets under the prior `worlds`: numbers of rows equally likely, then sequences of rows."""

    def __init__(self, release: dict) -> None:
        self.listed, space = Enumerated(release), len(oracle.rows(release))
        logs = {
            w: self.listed.log_likelihood(w) + math.log(self.listed.orders[w]) - len(w) * math.log(space)
            for w in self.listed.sure
        }
        top = max(logs.values(), default=-math.inf)
        weights = {w: math.exp(x - top) for w, x in logs.items() if x > -math.inf}
        total = math.fsum(weights.values())
        self.worlds = {w: x / total for w, x in weights.items()}

    def moments(self) -> list[tuple[float, float]]:
        """Return mean and variance of every noisy count."""
        out = []
        for j in range(len(self.listed.noisy)):
            counts = [(p, self.listed.counts[w][j]) for w, p in self.worlds.items()]
            mean = math.fsum(p * c for p, c in counts)
            out.append((mean, math.fsum(p * (c - mean) ** 2 for p, c in counts)))
        return out

    def rows(self) -> dict[int, float]:
        """Return the probability of every number of rows."""
        out: dict[int, float] = {}
        for w, p in self.worlds.items():
            out[len(w)] = out.get(len(w), 0.0) + p
        return out

    def rows_of(self, row: Row) -> float:
        """Return the expected number of rows with these values."""
        return math.fsum(p * w.count(row) for w, p in self.worlds.items())


# ---------------------------------------------------------------- posterior of one noisy tree or rule list


class Posterior:
    """The posterior over the counts of the cells (leaf or rule, times class) of one noisy tree or rule list."""

    def __init__(self, release: dict, prior: str) -> None:
        self.release, self.noisy = release, noisy_counts(release)
        (model,) = release["models"]
        if model["kind"] not in ("tree", "rule_list"):
            raise ValueError("one tree or rule list only")
        regions = [one.region for one in self.noisy]
        rest = frozenset(oracle.rows(release)) - frozenset().union(*regions)
        self.cells = [*regions, rest] if rest or oracle._lacks_default(bare(model)) else regions
        self.sizes = [len(cell) for cell in self.cells]
        self.before: dict[Vector, float] = {}
        for n in _numbers(release):
            vectors = [v for v in _vectors(n, len(self.cells)) if not any(c and not s for c, s in self._with(v))]
            if vectors:
                weights = [1.0 if prior == "counts" else math.exp(self.log_worlds(v)) for v in vectors]
                total = math.fsum(weights) * len(_numbers(release))
                self.before |= {v: w / total for v, w in zip(vectors, weights, strict=True)}
        joint = {v: math.log(w) + self.log_likelihood(v) for v, w in self.before.items()}
        self.top = max(joint.values())
        total = math.fsum(math.exp(x - self.top) for x in joint.values())
        self.after = {v: math.exp(x - self.top) / total for v, x in joint.items()}

    def _with(self, vector: Vector) -> list[tuple[int, int]]:
        return list(zip(vector, self.sizes, strict=True))

    def log_worlds(self, vector: Vector) -> float:
        """Return ln of the number of sequences of rows with these counts."""
        ways = math.factorial(sum(vector)) // math.prod(map(math.factorial, vector))
        return math.log(ways * math.prod(s**c for c, s in self._with(vector)))

    def log_likelihood(self, vector: Vector) -> float:
        """Return the log-likelihood of what was published given the counts."""
        pairs = zip(self.noisy, vector, strict=False)  # the implicit default rule publishes nothing
        return math.fsum(one.law.log_likelihood(one.published, c) for one, c in pairs)

    def bits(self, *, before: bool = False) -> float:
        """Return H(c) + E[log2 worlds(c)]."""
        weights = self.before if before else self.after
        terms = (p * (self.log_worlds(v) - math.log(p)) for v, p in weights.items() if p > 0)
        return math.fsum(terms) / math.log(2)

    def expected(self) -> list[float]:
        """Return the expected count of every cell."""
        return [math.fsum(p * v[j] for v, p in self.after.items()) for j in range(len(self.cells))]

    def mass(self, cell: int, low: int, high: int) -> float:
        """Return P(low <= count of the cell <= high)."""
        return math.fsum(p for v, p in self.after.items() if low <= v[cell] <= high)

    def membership(self, profile: dict) -> tuple[float, float, float, float]:
        """Return P(some row fits), the same before, the expected number of rows that fit, the same before."""
        space = oracle._space(self.release)
        shares = [sum(space.holds(profile, r) for r in cell) / (len(cell) or 1) for cell in self.cells]

        def both(weights: dict[Vector, float]) -> tuple[float, float]:
            absent = [
                (p, math.prod((1 - s) ** c for c, s in zip(v, shares, strict=True)), v) for v, p in weights.items()
            ]
            return (
                1 - math.fsum(p * a for p, a, _ in absent),
                math.fsum(p * c * s for p, _, v in absent for c, s in zip(v, shares, strict=True)),
            )

        (now, rows_now), (then, rows_then) = both(self.after), both(self.before)
        return now, then, rows_now, rows_then

    def row_odds(self) -> dict[Row, float]:
        """Return P(row i is x | release) / P(row i is x) for every raw row x (the same for every i)."""
        ratios = {}
        for j, cell in enumerate(self.cells):
            if not cell:
                continue
            now = math.fsum(p * v[j] / sum(v) for v, p in self.after.items())
            then = math.fsum(p * v[j] / sum(v) for v, p in self.before.items())
            ratios |= dict.fromkeys(cell, now / then)
        return ratios


def _vectors(n: int, k: int) -> list[Vector]:
    every = (Counter(c) for c in combinations_with_replacement(range(k), n))
    return [tuple(c[j] for j in range(k)) for c in every]


# ---------------------------------------------------------------- random releases


def _condition(rng: random.Random, attributes: list[dict]) -> dict:
    one = rng.choice(attributes)
    values = one["values"]
    cut = rng.randrange(len(values) - 1)
    if isinstance(values[0], str):
        return {one["name"]: rng.choice([values[cut], {"in": values[: cut + 1]}])}
    return {one["name"]: rng.choice([{"at_most": values[cut]}, {"above": values[cut]}, values[cut]])}


def _skeleton(rng: random.Random, kind: str, domain: dict, *, plain: bool) -> dict:
    """Draw a model without counts: every part that will carry some has the key "count" or "counts"."""
    attributes = domain["attributes"]
    key = "count" if plain or "label" not in domain else "counts"
    if kind == "table":
        return {"kind": kind, "statements": [{"where": _condition(rng, attributes), "count": 0} for _ in range(2)]}
    if kind == "forest":
        return {"kind": kind, "trees": [bare(_tree(rng, attributes, key)) for _ in range(2)], "bootstrap": False}
    if kind == "tree":
        return {"kind": kind, **_tree(rng, attributes, key)}
    rules: list[dict] = [{"if": _condition(rng, attributes), key: 0} for _ in range(rng.choice([1, 2]))]
    if kind == "rule_list" and rng.random() < 0.6:
        rules.append({"if": {}, key: 0})
    return {"kind": kind, "rules": rules}


def _tree(rng: random.Random, attributes: list[dict], key: str) -> dict:
    nodes: list[dict] = [{"if": _condition(rng, attributes), "then": 1, "else": 2}, {key: 0}, {key: 0}]
    if rng.random() < 0.5:
        nodes[2] = {"if": _condition(rng, attributes), "then": 3, "else": 4}
        nodes += [{key: 0}, {key: 0}]
    return {"nodes": nodes}


def _noise(rng: random.Random) -> dict:
    law = rng.choice(LAWS)
    noise: dict[str, Any] = {"law": law}
    if rng.random() < 0.6:
        noise["scale"] = rng.choice([0.3, 0.7, 1, 1.5])
        if law == "truncated_laplace":
            noise["bound"] = rng.choice([0.77, 1.31, 2.13])
    else:
        noise |= {"epsilon": rng.choice([0.8, 1, 2.5]), "sensitivity": rng.choice([1, 2])}
        noise["neighbours"] = rng.choice(["add_remove", "replace"])
        if law not in ("laplace", "discrete_laplace"):
            noise["delta"] = rng.choice([0.01, 0.1])
    return {**noise, **{key: True for key in ("rounded", "clamped") if rng.random() < 0.35}}


def _draw(rng: random.Random, law: Law) -> float:
    """Draw noise by turning a uniform number into its quantile, roughly; what it is does not matter to the tests."""
    weights = [math.exp(law.log_density(k / 4 if law.name in CONTINUOUS else k)) for k in range(-16, 17)]
    (k,) = rng.choices(range(-16, 17), weights)
    return k if law.name not in CONTINUOUS else k / 4 + rng.choice([-0.11, 0, 0.07])


def _publish(rng: random.Random, count: int, noise: dict | None) -> int | float:
    if noise is None:
        return count
    law = Law.of(noise)
    value = 0.0
    surely_not_0 = law.name in CONTINUOUS and not law.rounded and not law.clamped  # such a 0 is refused
    while True:
        x = _draw(rng, law)
        value = round(count + x, 2)
        if (law.bound is None or abs(x) <= law.bound) and not (surely_not_0 and value == 0):
            break
    value = round(value) if law.rounded else value
    value = max(value, 0) if law.clamped else value
    return int(value) if value == int(value) else value


def _fill(rng: random.Random, release: dict, model: dict, noise: dict | None, truth: list[Row]) -> None:
    """Put counts of the truth, with noise, into a model of the release."""
    label = release["domain"].get("label", {}).get("values", [])
    for part, members in _supports(release, model):
        if "count" in part:
            part["count"] = _publish(rng, sum(r in members for r in truth), noise)
        if "counts" in part:
            inside = [r for r in truth if r in members]
            part["counts"] = [_publish(rng, sum(r[-1] == v for r in inside), noise) for v in label]
    if noise is not None:
        model["noise"] = noise


def random_noisy(rng: random.Random, *, single: bool = False) -> dict:
    """Draw a noisy release of 1-4 rows over 4-12 raw rows; `single`: one tree or rule list."""
    names = rng.sample([["r", "g", "b"], ["u", "v"], [0, 1], [10, 20, 30]], 2)
    attributes = [{"name": f"a{k}", "values": values} for k, values in enumerate(names)]
    domain: dict[str, Any] = {"attributes": attributes}
    if math.prod(map(len, names)) <= 6 and rng.random() < 0.7:
        domain["label"] = {"name": "y", "values": rng.choice([[0, 1], ["no", "yes"]])}
    if rng.random() < 0.25:
        domain["impossible"] = [{"a0": names[0][0], "a1": names[1][-1]}]
    release: dict[str, Any] = {"recon": 1, "domain": domain, "rows": rng.randint(1, 4), "models": []}
    truth = [rng.choice(oracle.rows(release)) for _ in range(release["rows"])]
    kinds = ["tree", "rule_list"] if single else ["tree", "rule_list", "rule_set", "forest", "table"]
    laws: list[dict | None] = [_noise(rng)]
    if not single and rng.random() < 0.4:
        laws.insert(rng.randint(0, 1), rng.choice([None, None, _noise(rng)]))
    for noise in laws:
        model = _skeleton(rng, rng.choice(kinds), domain, plain=rng.random() < 0.3)
        _fill(rng, release, model, noise, truth)
        release["models"].append(model)
    return release
