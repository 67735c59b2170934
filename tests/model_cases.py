"""Random releases of every kind, their worlds by brute force, and what `recon.models` says of them.

`drawn` is the case of a seed, `failures` what is wrong in it: models solved by ortools, python-sat and highspy alone,
against datasets that oracle.py, oracle_noisy.py and position_oracle.py list. Rows become values of x[row, attribute] by
their place in the declared domain, here and not by the mapping. Of an outer model every world has to be a solution.
"""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import forests_with_bags
import highspy
import oracle
import oracle_coupled
import oracle_noisy
import safety_cases
from extras import encoded
from ortools.sat.python import cp_model
from pysat.solvers import Solver

import recon
from recon import models
from solvers.foundation.errors import ReconError

KINDS = ("coupled", "contradictory", "known bags", "unknown bags", "boosted", "noisy")
MOST = 60  # worlds that are listed row by row
WIDER = 1e-8  # of sums of gradients (their intervals are 1e-15 wide): what rounding may decide is a world
Rows = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class ModelCase:
    """A release, and its worlds: datasets without an order, sequences where bags are known; numbers by convention."""

    seed: int
    kind: str
    release: dict[str, Any]
    worlds: list[Rows] = field(repr=False)
    counts: dict[str, int]
    level: Any = None


class Every(cp_model.CpSolverSolutionCallback):
    """Keeps the solutions, and ends the search at one more than `most`."""

    def __init__(self, most: float = math.inf) -> None:
        super().__init__()
        self.solutions: list[list[int]] = []
        self.most = most

    def on_solution_callback(self) -> None:
        self.solutions.append(list(self.response_proto.solution))
        if len(self.solutions) > self.most:
            self.stop_search()


def solutions(model: cp_model.CpModel, most: float = math.inf) -> list[list[int]]:
    """Return every solution of a CP-SAT model as its values (at most one more than `most`)."""
    solver, seen = cp_model.CpSolver(), Every(most)
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.num_workers = 1
    status = solver.solve(model, seen)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE) or len(seen.solutions) > most
    return seen.solutions


# ---------------------------------------------------------------- cases


def drawn(seed: int, kinds: tuple[str, ...] = KINDS) -> ModelCase:
    """Return the case of a seed."""
    rng = random.Random(seed)
    kind = rng.choice(kinds)
    while True:
        found = _DRAWN[kind](rng)
        if found is not None:
            return ModelCase(seed, kind, *found)


def orders(worlds: list[Rows]) -> int:
    """Return how many sequences of rows datasets have together."""
    return sum(math.factorial(len(w)) // math.prod(map(math.factorial, Counter(w).values())) for w in worlds)


def _of_datasets(release: dict, worlds: list[Rows], level: Any = None) -> Any:
    return release, worlds, {"ordered": orders(worlds), "multiset": len(worlds)}, level


def _coupled(rng: random.Random) -> Any:
    release, _ = oracle_coupled.random_coupled(rng)
    return _of_datasets(release, oracle.datasets(release))


def _contradictory(rng: random.Random) -> Any:
    release = oracle_coupled.contradictory(rng)
    try:
        encoded(release)
    except ReconError:
        return None
    return _of_datasets(release, [])


def _known_bags(rng: random.Random) -> Any:
    case = forests_with_bags.random_case(rng, with_others=True)
    if encoded(case.release).statements.domain.relative or case.worlds.finite.codes:
        return None
    worlds = [tuple(case.worlds.rows[k] for k in world) for world in case.worlds.written]
    return case.release, worlds, {"ordered": len(worlds)}


def _unknown_bags(rng: random.Random) -> Any:
    """A forest of resamples: a dataset is a world if every tree has a bag of draws that it publishes."""
    domain = oracle_coupled._domain(rng, n := rng.randint(2, 6))
    space = oracle._Space({"domain": domain})
    if not domain.get("label") or "columns" in domain or "impossible" in domain:
        return None
    truth = [rng.choice(space.rows) for _ in range(n)]
    release = {"recon": 1, "domain": domain, "rows": n, "models": [safety_cases._bags(rng, space, truth)]}
    for tree in release["models"][0]["trees"] if rng.random() < 0.5 else ():
        for node in tree["nodes"]:
            node.pop("distinct", None)
    worlds = [w for w in oracle.datasets({**release, "models": []}) if _has_bags(space, release["models"][0], w)]
    assert tuple(sorted(truth, key=repr)) in {tuple(sorted(w, key=repr)) for w in worlds}
    return _of_datasets(release, worlds)


def _has_bags(space: oracle._Space, forest: dict, world: Rows) -> bool:
    for tree in forest["trees"]:
        bare = [node if "if" in node else {"count": 0} for node in tree["nodes"]]
        places = [oracle._path(space, {"kind": "tree", "nodes": bare}, row)[-1] for row in world]
        for at, node in enumerate(tree["nodes"]):
            if "if" in node:
                continue
            held = Counter(row[-1] for row, place in zip(world, places, strict=True) if place == at)
            pairs = list(zip(node["counts"], space.values[space.label], strict=True))
            ways = [range(min(1, c), min(c, held[v]) + 1) for c, v in pairs]
            if not any(sum(way) == node.get("distinct", sum(way)) for way in itertools.product(*ways)):
                return False
    return True


def _boosted(rng: random.Random) -> Any:
    n = rng.randint(2, 5)
    names = [f"a{k}" for k in range(rng.choice([1, 2]))]
    domain = {"attributes": [{"name": name, "min": 0, "max": rng.choice([1, 2])} for name in names],
              "label": {"name": "y", "values": [0, 1]}, "source": "declared"}  # fmt: skip
    space = oracle._Space({"domain": domain})
    release = safety_cases._boosted(rng, space, [rng.choice(space.rows) for _ in range(n)])
    if release is None:
        return None
    plain = copy.deepcopy(release)
    (model,) = plain["models"]
    for key in ("read_from", "unused"):
        model.pop(key, None)
    for node in (node for tree in model["trees"] for node in tree["nodes"]):
        for one in [*(node[key] for key in ("value", "weight") if key in node), *node.get("sums", [])]:
            one["at_least"], one["at_most"] = one["at_least"] - WIDER, one["at_most"] + WIDER
    return _of_datasets(release, oracle.datasets(plain))


def _noisy(rng: random.Random) -> Any:
    release = oracle_noisy.random_noisy(rng)
    level, listed = rng.choice([0.5, 0.8, 0.95]), oracle_noisy.Enumerated(release)
    return None if listed.close_to_an_end(level) else _of_datasets(release, listed.confident(level), level)


_DRAWN = {"coupled": _coupled, "contradictory": _contradictory, "known bags": _known_bags,
          "unknown bags": _unknown_bags, "boosted": _boosted, "noisy": _noisy}  # fmt: skip


# ---------------------------------------------------------------- what is wrong


def released(case: ModelCase) -> recon.EncodedRelease:
    """Return the release, at the confidence of the case."""
    got = encoded(case.release)
    return got if case.level is None else got.at_confidence(case.level)


def exact(case: ModelCase) -> bool:
    """Return whether the model row by row says that its solutions are the worlds."""
    return models.cpsat(released(case), by="rows", convention="ordered")[1].exact


def failures(case: ModelCase) -> list[str]:
    """Return what is wrong of the models of a case, one sentence each, the kind of failure first."""
    got = released(case)
    out = [] if case.kind == "known bags" else _by_cells(got, case)
    for convention in case.counts:
        out += _by_rows(got, case, convention)
    return out + _relaxed(got, case)


def _frame(case: ModelCase, world: Rows) -> Any:
    import pandas as pd

    names = list(oracle._Space({"domain": case.release["domain"]}).values)
    return pd.DataFrame(
        [[float(v) if hasattr(v, "denominator") and v.denominator != 1 else v for v in row] for row in world],
        columns=names,
    )


def _by_cells(got: recon.EncodedRelease, case: ModelCase) -> list[str]:
    model, mapping = models.cpsat(got)
    every, out = solutions(model, 2_000), []
    if len(every) > 2_000:
        return []
    cells = {tuple(s[: mapping.form.cells]) for s in every}
    names = mapping.projection[: mapping.form.cells]
    hit = set()
    for world in case.worlds[:MOST]:
        found = mapping.solution(_frame(case, world))
        hit.add(tuple(found[name] for name in names))
    if not hit <= cells:
        out.append(f"a world is not a solution: cells: {len(hit - cells)} histograms")
    if mapping.exact:
        weights: Counter[str] = Counter()
        for solution in every:
            weights.update(mapping.weight(solution))
        out += [
            f"wrong number: cells, {convention}: {weights[convention]} by weights, {number} worlds"
            for convention, number in case.counts.items()
            if weights[convention] != number
        ]
    elif models.mapping.OUTER not in mapping.about:
        out.append("an outer model does not say so: cells")
    return out


def _vectors(case: ModelCase, convention: str, rows: int) -> set[tuple[int, ...]]:
    """Return the worlds as values of x[row, attribute] and, where rows may be absent, of row[i] before them."""
    space = oracle._Space({"domain": case.release["domain"]})
    place = [{v: k for k, v in enumerate(values)} for values in space.values.values()]
    out = set()
    for world in case.worlds:
        coded = sorted(tuple(p[v] for p, v in zip(place, row, strict=True)) for row in world)
        if case.kind == "known bags":
            every: Any = [[tuple(p[v] for p, v in zip(place, row, strict=True)) for row in world]]
        else:
            every = [coded] if convention == "multiset" else set(itertools.permutations(coded))
        for one in every:
            out.add(tuple(x for row in one for x in row) + (-1,) * (len(place) * (rows - len(one))))
    return out


def _by_rows(got: recon.EncodedRelease, case: ModelCase, convention: str) -> list[str]:
    if case.counts[convention] > MOST:
        return []
    out = []
    model, mapping = models.cpsat(got, by="rows", convention=convention)
    every, place = solutions(model, 10 * MOST), {name: i for i, name in enumerate(mapping.variables) if name}
    names = list(oracle._Space({"domain": case.release["domain"]}).values)
    rows = got.rows.high
    found = set()
    for s in every:
        here = [s[place[f"row[{i}]"]] if f"row[{i}]" in place else 1 for i in range(1, rows + 1)]
        found.add(tuple(s[place[f"x[{i + 1},{name}]"]] if here[i] else -1 for i in range(rows) for name in names))
    worlds, whole = _vectors(case, convention, rows), len(every) <= 10 * MOST
    if mapping.exact and (found != worlds or len(every) != len(worlds)):
        out.append(f"wrong worlds: rows, {convention}: {len(every)} solutions, {len(worlds)} worlds")
    if whole and not worlds <= found:
        out.append(f"a world is not a solution: rows, {convention}: {len(worlds - found)}")
    if not mapping.exact and models.mapping.OUTER not in mapping.about:
        out.append(f"an outer model does not say so: rows, {convention}")
    cnf, mapped = models.cnf(got, convention)
    shown = {int(name[1:]) for name in mapped.projection}
    number = 0
    with Solver("cadical153", bootstrap_with=cnf.clauses) as solver:
        while number <= len(worlds) and solver.solve():
            number += 1
            solver.add_clause([-x for x in solver.get_model() if abs(x) in shown])
    if mapped.exact != mapping.exact or number < len(worlds) or (mapped.exact and number != len(worlds)):
        out.append(f"wrong number: clauses, {convention}: {number} models, {len(worlds)} worlds")
    with Solver("cadical153", bootstrap_with=cnf.clauses) as solver:
        for world in case.worlds[:10]:
            bits = mapped.solution(_frame(case, world))
            if not solver.solve([int(n[1:]) if x else -int(n[1:]) for n, x in bits.items()]):
                out.append(f"a world is not a solution: clauses, {convention}")
    return out


def _relaxed(got: recon.EncodedRelease, case: ModelCase) -> list[str]:
    program, mapping = models.lp(got)
    program.run()
    good = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty)
    if case.worlds and program.getModelStatus() not in good:
        return ["a world is not a solution: the linear relaxation is infeasible"]
    return ["an outer model does not say so: lp"] if mapping.exact else []
