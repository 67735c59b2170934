"""Do treewidth heuristics find better orders than those in use? A trial on golden, example and fitted releases.

    python tests/bench/treewidth.py [diagrams cells] [i/k]

networkx's min-degree and min-fill elimination orders, each as it is and as the post-order of its elimination tree, are
tried beside the orders in use: as further starts of FORCE for the variables of decision diagrams (measure: Σ 2^cut,
`solvers.statements.regions.variable_order`), and, over statements joined by shared cells, beside the greedy order of
the cells of exact dynamic programming (measures: the width, an estimate of the states, the edges of the layered
graph). A heuristic that takes longer than PATIENCE is left out; i/k takes every k-th release only. Needs scikit-learn
and the data folder (RECON_DATA).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
DATA = Path(os.environ.get("RECON_DATA", ROOT.parent / "shared" / "data"))

LARGEST = 150  # statements of a component that is tried to be counted
PATIENCE = 3.0  # seconds of CPU for one heuristic on one graph
MAX_PAIRS = 1_000_000  # edges of a graph given to them
SECONDS = 60.0  # for one layered graph
WORTH = 4e5  # edges made in the time that loading networkx takes (0.2 s)
BETTER = 0.999  # of the measure in use: rounding is no win
FORESTS = (  # rows, trees, depth: those that can be counted, those that just can or cannot, those far beyond
    (20, 3, None), (50, 3, None), (50, 5, None), (50, 10, 2), (100, 2, None), (100, 3, None), (100, 10, None),
    (30, 20, 3), (200, 2, 3), (200, 3, 2), (300, 3, 3), (1000, 2, 4), (3000, 2, 3), (3000, 3, 2), (100, 5, 3),
    (300, 10, 4), (500, 20, 3), (3000, 3, 4),
)  # fmt: skip
HEURISTICS = ("min-degree", "min-fill")
Order = list[int]


class Slow(Exception):
    """A heuristic takes too long."""


# ---------------------------------------------------------------- elimination orders


def post_order(order: list[int], later: list[set[int]]) -> list[int]:
    """Return the post-order of the elimination tree, the largest subtree first.

    `later`: the neighbours of each node that are eliminated after it; the next of them is its parent.
    """
    place, root = {v: i for i, v in enumerate(order)}, -1
    children: dict[int, list[int]] = {v: [] for v in (root, *order)}
    size = dict.fromkeys((root, *order), 1)
    for v, left in zip(order, later, strict=True):
        parent = min(left, key=place.__getitem__) if left else root
        children[parent].append(v)
        size[parent] += size[v]
    out: list[int] = []
    stack = [root]
    while stack:  # parents first, the largest subtree last; turned round at the end
        v = stack.pop()
        out.append(v)
        stack += sorted(children[v], key=size.__getitem__, reverse=True)
    return out[:0:-1]


def log2_states(part: Any, order: list[int]) -> float:
    """Return log2 of the sum over the places of an order of how many states the open statements allow, at most.

    What an open statement has seen lies between what the cells so far can add and what those to come can mend.
    """
    if part.matrix is None:
        raise TypeError("the component has no matrix")
    matrix = part.matrix[:, order]
    added, used = matrix * part.room[order], matrix != 0
    least, most = np.cumsum(np.minimum(added, 0), axis=1), np.cumsum(np.maximum(added, 0), axis=1)
    high = np.minimum(most, part.high[:, None] - (least[:, -1:] - least))
    low = np.maximum(least, part.low[:, None] - (most[:, -1:] - most))
    place = np.arange(len(order))
    first, last = np.where(used, place, len(place)).min(axis=1), np.where(used, place, -1).max(axis=1)
    last[list(part.keep)] = len(place)
    opened = (first[:, None] <= place) & (place < last[:, None])
    bits = np.where(opened, np.log2(1.0 + np.maximum(high - low, 0)), 0.0).sum(axis=0)
    return float(np.logaddexp2.reduce(bits))


def eliminated(n: int, pairs: set[tuple[int, int]], heuristic: str) -> list[Order]:
    """Return two orders of the nodes 0..n-1: as they are eliminated, and the post-order of the elimination tree."""
    import networkx as nx
    from networkx.algorithms.approximation.treewidth import MinDegreeHeuristic, min_fill_in_heuristic, treewidth_decomp

    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(sorted(pairs))
    choose = MinDegreeHeuristic(graph).best_node if heuristic == "min-degree" else min_fill_in_heuristic
    order: Order = []
    after: list[set[int]] = []
    until = time.process_time() + PATIENCE

    def recording(left: Any) -> Any:
        if time.process_time() > until:
            raise Slow
        node = choose(left)
        if node is not None:
            order.append(node)
            after.append(set(left[node]))
        return node

    treewidth_decomp(graph, recording)
    rest = sorted(set(range(n)) - set(order))
    after += [set(rest[i + 1 :]) for i in range(len(rest))]
    order += rest
    return [order, post_order(order, after)]


def cliques(sets: Sequence[Sequence[int]]) -> set[tuple[int, int]]:
    """Return the pairs of every set. Raises `Slow` beyond MAX_PAIRS."""
    if sum(len(s) * (len(s) - 1) // 2 for s in sets) > 20 * MAX_PAIRS:
        raise Slow
    pairs = {(min(a, b), max(a, b)) for s in sets for i, a in enumerate(s) for b in s[i + 1 :]}
    if len(pairs) > MAX_PAIRS:
        raise Slow
    return pairs


# ---------------------------------------------------------------- releases


def fitted() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield (name, maker) of releases of models fitted to the data."""
    import pandas as pd
    from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    import recon

    def made(name: str, n: int, model: Any) -> Any:
        frame = pd.read_csv(DATA / f"{name}.csv.gz")
        label = frame.columns[-1]
        rows = frame.sample(min(n, len(frame)), random_state=0)
        return recon.encode(
            model.fit(rows.drop(columns=label), rows[label]), recon.Domain.from_frame(frame, label=label)
        )

    names = ("compas14", "compas27", "adult19", "adult24", "credit21")
    for name in names:
        for n, trees, depth in FORESTS:
            forest = RandomForestClassifier(trees, max_depth=depth, bootstrap=False, random_state=0)
            yield f"{name} forest {n} x {trees} x {depth}", lambda a=name, b=n, m=forest: made(a, b, m)
        stump: Any = DecisionTreeClassifier(max_depth=1)
        boosted = AdaBoostClassifier(stump, n_estimators=20, random_state=0)
        yield f"{name} stumps", lambda a=name, m=boosted: made(a, 500, m)
        bag = BaggingClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=5, random_state=0)
        yield f"{name} bag", lambda a=name, m=bag: made(a, 300, m)
        for width, longest in ((1, 10), (2, 10), (2, 30), (3, 20)):
            rules = recon.GreedyRuleListClassifier(width=width, min_support=0.002, max_length=longest)
            yield f"{name} list {longest} x {width}", lambda a=name, m=rules: made(a, 5000, m)
    for name in names:
        for size, ways in ((5, 2), (6, 2), (8, 2), (5, 3), (7, 3)):
            yield f"{name} margins {ways} of {size}", lambda a=name, s=size, w=ways: margins(a, s, w)


def margins(name: str, size: int, ways: int) -> Any:
    """Return a table of all margins of so many neighbouring columns (a chain), among the first `size` columns."""
    import json
    import tempfile

    import pandas as pd

    import recon

    frame = pd.read_csv(DATA / f"{name}.csv.gz").sample(200, random_state=0)
    columns = list(frame.columns[:size])
    statements: list[dict[str, Any]] = []
    for start in range(size - ways + 1):
        group = columns[start : start + ways]
        for values, rows in frame.groupby(group):
            where = {c: int(v) for c, v in zip(group, values, strict=True)}
            statements.append({"where": where, "count": len(rows)})
    attributes = [{"name": c, "values": [0, 1]} for c in columns]
    document = {
        "recon": 1, "domain": {"attributes": attributes, "source": "declared"}, "rows": len(frame),
        "models": [{"kind": "table", "statements": statements}],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "margins.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return recon.load(path)


def stored() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield (name, maker) of the golden and the example releases, and of the benchmarks on data of scikit-learn."""
    import recon

    for path in sorted([*ROOT.glob("tests/golden/*.json"), *ROOT.glob("examples/releases/*")]):
        yield f"{path.parent.name}/{path.name}", lambda p=path: recon.load(p)
    from columns import forest_and_rows

    for trees in (3, 10):
        yield f"bench/columns {trees}", lambda t=trees: forest_and_rows(t)[0]


def random_lists() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield (name, boxes and columns) of the benchmark of captures."""
    from captures import SIZES, random_list

    for d, rules, width in SIZES:
        for seed in range(5):
            yield f"captures {rules} x {width} x {d}, {seed}", lambda a=(d, rules, width, seed): (a[0], random_list(*a))


# ---------------------------------------------------------------- diagrams


def diagram_problem(ask: Callable[[], object]) -> tuple[int, list[list[int]]] | None:
    """Return the hypergraph (variables, edges) that the first decision diagram of a question is ordered for."""
    from solvers.statements.regions import captures as capture_counts

    found: list[tuple[int, list[list[int]]]] = []
    usual = capture_counts.good_order

    def caught(n: int, edges: Sequence[Sequence[int]], seconds: float = 3.0) -> Order:
        found.append((n, [list(e) for e in edges]))
        raise Slow

    capture_counts.good_order = caught
    try:
        with suppress(Slow):
            ask()
    finally:
        capture_counts.good_order = usual
    return found[0] if found else None


def with_starts(n: int, edges: Sequence[Sequence[int]], seconds: float) -> Order:
    """Return the order by `solvers.statements.regions.variable_order`, elimination orders among its starts."""
    from solvers.statements.regions import variable_order as used

    graph = used._Graph.of(n, edges)
    rank, cost = used._force(graph, np.arange(n)[None, :], 12)
    if cost > used.EASY:
        rng = np.random.default_rng(used.SEED)
        starts = min(used.STARTS, 1 + 20_000_000 // (len(graph.node) * used.ROUNDS))
        every = [used._ranks(rng.random((starts, n)))]
        for heuristic in HEURISTICS:
            with suppress(Slow):
                for order in eliminated(n, cliques(edges), heuristic):
                    mine = np.empty((1, n), dtype=np.int64)
                    mine[0, order] = np.arange(n)
                    every.append(mine)
        best = rank, cost
        for some in every:  # each family by itself, so that a random start cannot end the rounds of another
            rank, cost = used._force(graph, some, used.ROUNDS, best[1])
            best = (rank, cost) if cost < best[1] else best
        rank, cost = best
        if cost > 4 * used.EASY and seconds > 0:
            rank = used._polish(edges, rank, cost, min(seconds, cost * used.WORTH))
    return [int(v) for v in np.argsort(rank)]


def diagrams(some: slice) -> None:
    """Print a line per release with a decision diagram, and how many have a better order."""
    import recon
    from solvers.foundation.errors import ReconError
    from solvers.foundation.limits import Limits
    from solvers.statements.regions import variable_order as used
    from solvers.statements.regions.captures import captures
    from solvers.statements.release import Partition

    def asking(make: Callable[[], Any]) -> Callable[[], object]:
        def ask() -> object:
            release = make()
            blocks = release.statements.blocks
            if not any(isinstance(b, Partition) and b.first_match for b in blocks):
                return None  # only what one rule captures before another needs a diagram
            return recon.count(release, "ordered", Limits(seconds=SECONDS))

        return ask

    def capturing(make: Callable[[], Any]) -> Callable[[], object]:
        def ask() -> object:
            d, boxes = make()
            return captures([[1, 1]] * d, boxes, Limits(seconds=SECONDS))

        return ask

    problems = [(name, asking(make)) for name, make in (*stored(), *fitted())]
    problems += [(name, capturing(make)) for name, make in random_lists()]
    found = hard = wins = 0
    plain = used._arrange
    for name, ask in problems[some]:
        try:
            problem = diagram_problem(ask)
        except ReconError:
            continue
        if problem is None:
            continue
        found += 1
        costs, times = [], []
        for arrange in (plain, with_starts):
            used._arrange = arrange
            begun = time.perf_counter()
            costs.append(used.estimate(used.good_order(*problem), problem[1]))
            times.append(time.perf_counter() - begun)
        used._arrange = plain
        hard += costs[0] > used.EASY
        won = costs[1] < BETTER * costs[0]
        wins += won
        print(f"{name}: {problem[0]} variables, {len(problem[1])} boxes: {costs[0]:.4g} in {times[0]:.2f} s; "
              f"with starts {costs[1]:.4g} in {times[1]:.2f} s{'; BETTER' if won else ''}", flush=True)  # fmt: skip
    print(f"diagrams: better in {wins} of {found} releases ({hard} of them beyond the easy ones)")


# ---------------------------------------------------------------- cells


def candidates(matrix: NDArray[np.int64]) -> Iterator[tuple[str, Order]]:
    """Yield (name, order of the cells): statements that share a cell are eliminated, their cells in that order."""
    used = matrix != 0
    by_statement = [np.flatnonzero(row).tolist() for row in used]
    by_cell = [np.flatnonzero(column).tolist() for column in used.T]
    for heuristic in HEURISTICS:
        with suppress(Slow):
            for shape, order in zip(("order", "tree"), eliminated(len(used), cliques(by_cell), heuristic), strict=True):
                cells = list(dict.fromkeys(c for s in order for c in by_statement[s]))
                yield f"{heuristic} {shape}", cells + sorted(set(range(len(by_cell))) - set(cells))


def edges_of(part: Any, order: Order) -> float:
    """Return the edges of the layered graph with an order, infinity where it does not fit."""
    from solvers.foundation.errors import ReconError
    from solvers.foundation.limits import Limits
    from solvers.histograms.decision_diagram import layers_of

    try:
        found = layers_of(part, Limits(seconds=SECONDS), order)
        return 0.0 if found is None else float(found.edges)
    except ReconError:
        return float("inf")


def cells(some: slice) -> None:
    """Print a line per release with components, and how many have a better order."""
    from solvers.cells.components import known_presolve
    from solvers.cells.system import system_of
    from solvers.foundation.errors import ReconError
    from solvers.foundation.limits import Limits
    from solvers.histograms.decision_diagram import elimination_order, width

    tally = np.zeros(5, dtype=np.int64)
    for name, make in [*stored(), *fitted()][some]:
        try:
            parts = known_presolve(system_of(make().statements, Limits(seconds=60.0)), Limits()).components
        except ReconError as error:
            print(f"{name}: no cells: {str(error)[:80]}", flush=True)
            continue
        tied = [p for p in parts if p.matrix is not None and len(p.statements) > 1 and len(p.cells) > 2]
        if not tied:
            continue
        part = max(tied, key=lambda p: len(p.cells))
        assert part.matrix is not None
        begun = time.process_time()
        greedy = elimination_order(part.matrix)
        seconds = [time.process_time() - begun]
        begun = time.process_time()
        tried = list(candidates(part.matrix))
        seconds.append(time.process_time() - begun)
        print(f"{name}: {len(part.cells):,} cells, {len(part.statements)} statements; greedy in {seconds[0]:.2f} s, "
              f"{len(tried)} orders in {seconds[1]:.2f} s", flush=True)  # fmt: skip
        found: list[tuple[int, float]] = []
        for said, order in [("greedy", greedy), *tried]:
            edges = edges_of(part, order) if len(part.statements) <= LARGEST else float("inf")
            found.append((width(part.matrix, order), edges))
            line = f"   {said}: width {found[-1][0]}, states 2^{log2_states(part, order):.1f}"
            print(f"{line}, edges {edges:.0f}", flush=True)
        (base, plain), best = found[0], min(edges for _, edges in found)
        tally += [1, min(found)[0] < base, best < BETTER * plain, best < float("inf") == plain, plain - best > WORTH]
    names = ("releases", "narrower", "fewer edges", "of them fits at last", f"more than {WORTH:,.0f} edges fewer")
    print("cells: " + ", ".join(f"{n} {name}" for n, name in zip(tally.tolist(), names, strict=True)))


def main() -> None:
    """Run the sections asked for, or both."""
    sections = {"diagrams": diagrams, "cells": cells}
    parts = [tuple(map(int, name.split("/"))) for name in sys.argv[1:] if "/" in name]
    some = slice(parts[0][0], None, parts[0][1]) if parts else slice(None)
    for name in [name for name in sys.argv[1:] if "/" not in name] or list(sections):
        sections[name](some)


if __name__ == "__main__":
    main()
