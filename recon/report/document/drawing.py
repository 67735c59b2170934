"""The one tree or rule list of a release as nodes that a chart can draw: tests in words, rows, classes, bits left."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import Boosting, Forest, RuleList, Tree
from recon.readers.frames.describe import condition_text
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Partition

if TYPE_CHECKING:
    from recon.queries.measures.figures import Measures

MOST_NODES = 4_000
ALONE = "colours: the bits that this model leaves by itself"
Counted = tuple[int, int | None, list[list[Any]] | None]  # rows, least and most, and rows by class
Shares = dict[int, tuple[float, int]]  # region -> share of bits left, rows that it is of


def drawing(release: EncodedRelease, measures: Measures) -> dict[str, Any] | None:
    """Return the model to draw, None where there is none: no tree and no rule list, boosted trees, no world.

    `kind`: "tree" or "list"; `root`; `note`: what it leaves out; `nodes`: per node or rule `id`, `text` (the test, or
    what the leaf is called), `then` and `otherwise` (ids; None: a leaf), `rows` [least, most] (most None: no upper
    bound), `classes` [[name, rows], ...] or None, `share_left` of the bits of one of its rows (0 to 1; None: not
    known; of inner nodes the mean over the rows below). Of several models and of forests the first is drawn.
    Cost: linear in nodes.
    """
    found = drawn_model(release)
    if found is None or measures.status == "unsat":
        return None
    model, note = found
    block = block_of(release, model)
    if block is None:
        return None
    alone = measures.of_cells
    shares = shares_alone(release, block) if alone else shares_of(measures)
    notes = [note, ALONE if alone and shares else ""]
    note = "; ".join(text for text in notes if text)
    if isinstance(model, RuleList):
        return {"kind": "list", "nodes": rule_nodes(release, block, shares), "root": 0, "note": note}
    nodes, folded = tree_nodes(release, model, block, shares)
    some = f"{folded:,} leaves are folded into the nodes above them" if folded else ""
    return {"kind": "tree", "nodes": nodes, "root": 0, "note": "; ".join(text for text in (note, some) if text)}


def drawn_model(release: EncodedRelease) -> tuple[Tree | RuleList, str] | None:
    """Return the model that is drawn, and a note on what is not drawn; None where there is none."""
    models = release.models
    model = next((m for m in models if isinstance(m, (Tree, RuleList, Forest, Boosting))), None)
    others = f" (one of {len(models)} models)" if len(models) > 1 else ""
    if isinstance(model, Forest):
        return model.trees[0], f"the first of {len(model.trees)} trees{others}"
    if isinstance(model, (Tree, RuleList)):
        return model, f"the first that can be drawn{others}" if others else ""
    return None


def block_of(release: EncodedRelease, model: Tree | RuleList) -> Partition | None:
    """Return the statements of the first tree or rule list of a release; None where these are not its regions."""
    rules = isinstance(model, RuleList)
    few = len(model.rules) if isinstance(model, RuleList) else len(model.nodes.leaves)
    for block in release.statements.partitions.values():
        if block.first_match == rules and len(block.boxes) in ((few, few + 1) if rules else (few,)):
            return block
    return None


def shares_of(measures: Measures) -> Shares:
    """Return the share of bits left by region, from the exposure: the mean over its rows, or over its classes."""
    lines = measures.exposure
    found: dict[int, list[tuple[float, int]]] = {}
    for region, rows, share in zip(
        lines["region"].tolist(), lines["rows"].tolist(), lines["entropy_reduction_ratio"].tolist(), strict=True
    ):
        if share is not None and math.isfinite(share):
            found.setdefault(region, []).append((share, rows))
    return {region: weighted(pairs) for region, pairs in found.items()}


def weighted(pairs: Sequence[tuple[float, int]]) -> tuple[float, int]:
    """Return the mean of figures over their rows (without rows: over themselves), and the rows."""
    rows = sum(n for _, n in pairs)
    total = rows or len(pairs)
    return math.fsum(x * (n if rows else 1) for x, n in pairs) / total, rows


def shares_alone(release: EncodedRelease, block: Partition) -> Shares:
    """Return the share of bits that every leaf's own box leaves, as if nothing else had been released; {} of rules."""
    domain = release.statements.domain
    if block.first_match or release.cut.unsized or release.statements.impossible or domain.size < 2:
        return {}
    rows = by_region(release, block)
    found: Shares = {}
    for j, box in enumerate(block.boxes):
        labels = domain.labels if rows[j][2] else 1  # where classes are counted, everybody's class is told
        size, whole = box.size(domain) // labels, domain.size // labels
        if size and whole > 1:
            found[j] = math.log2(size) / math.log2(whole), rows[j][0]
    return found


def by_region(release: EncodedRelease, block: Partition) -> list[Counted]:
    """Return, per region of a partition: the least and most rows (None: no bound), and rows per class (None: none)."""
    out: list[Counted] = [(0, 0, None)] * len(block.boxes)
    for region, statements in block.by_region.items():
        low, high = (np.asarray(side)[statements].tolist() for side in (block.low, block.high))
        most = None if UNBOUNDED in high else sum(high)
        if release.rows.high is not None:
            most = release.rows.high if most is None else min(most, release.rows.high)
        told = [int(block.label[s]) for s in statements]
        exact = ANY_LABEL not in told and low == high
        classes = [[block.labels[c], n] for c, n in zip(told, low, strict=True)] if exact else None
        out[region] = sum(low), most, classes
    return out


def rule_nodes(release: EncodedRelease, block: Partition, shares: Shares) -> list[dict[str, Any]]:
    """Return the rules in order; what every rule captures is what the earlier ones leave."""
    counted = by_region(release, block)
    out = []
    for j, box in enumerate(block.boxes):
        text = condition_text(release.cut, box) if box.literals else "everybody else"
        out.append(node(j, text, None, None, counted[j], shares.get(j)))
    return out


def tree_nodes(
    release: EncodedRelease, model: Tree, block: Partition, shares: Shares
) -> tuple[list[dict[str, Any]], int]:
    """Return the nodes of a tree, parents first, and how many leaves are not among them.

    At most MOST_NODES: those of most rows; what is below the others is folded into them.
    """
    nodes = model.nodes
    counted = by_region(release, block)
    region = {leaf: j for j, leaf in enumerate(nodes.leaves.tolist())}
    children = nodes.children.tolist()
    order = preorder(children, region)
    of: dict[int, tuple[Counted, tuple[float, int] | None]] = {}
    leaves: dict[int, int] = {}
    for i in reversed(order):
        if i in region:
            of[i], leaves[i] = (counted[region[i]], shares.get(region[i])), 1
            continue
        below = [of[child] for child in children[i]]
        known = [share for _, share in below if share is not None]
        of[i] = together([own for own, _ in below]), weighted(known) if len(known) == 2 else None
        leaves[i] = sum(leaves[child] for child in children[i])
    kept = largest(children, region, {i: counted_rows(own) for i, (own, _) in of.items()})
    words = tests_in_words(release, model)
    out, folded = [], 0
    for i in (i for i in order if i in kept):
        inner = i not in region and children[i][0] in kept
        then, otherwise = children[i] if inner else (None, None)
        text = words[int(nodes.condition[i])] if inner else block.names[region[i]] if i in region else ""
        if not text:
            text, folded = f"{leaves[i]:,} leaves below", folded + leaves[i]
        out.append(node(i, text, then, otherwise, *of[i]))
    return out, folded


def counted_rows(counted: Counted) -> int:
    """Return the rows by which nodes are compared: the least of them, or the most where the least is none."""
    return counted[0] or counted[1] or 0


def largest(children: Sequence[Sequence[int]], leaves: Mapping[int, int], rows: Mapping[int, int]) -> set[int]:
    """Return at most MOST_NODES nodes from the root on, both children of those with most rows first."""
    kept, heap = {0}, [(-rows[0], 0)]
    while heap and len(kept) + 2 <= MOST_NODES:
        _, i = heapq.heappop(heap)
        if i not in leaves:
            for child in children[i]:
                kept.add(child)
                heapq.heappush(heap, (-rows[child], child))
    return kept


def preorder(children: Sequence[Sequence[int]], leaves: Mapping[int, int]) -> list[int]:
    """Return the nodes of a tree, parents before children."""
    out, stack = [], [0]
    while stack:
        i = stack.pop()
        out.append(i)
        if i not in leaves:
            stack += children[i][::-1]
    return out


def together(
    parts: Sequence[Counted],
) -> Counted:
    """Return the rows and classes of two nodes together."""
    (a, b, own), (c, d, other) = parts
    classes: list[list[Any]] | None = None
    if own is not None and other is not None and len(own) == len(other):
        classes = [[name, n + m] for (name, n), (_, m) in zip(own, other, strict=True)]
    return a + c, None if b is None or d is None else b + d, classes


def tests_in_words(release: EncodedRelease, model: Tree) -> dict[int, str]:
    """Return every condition that the tree tests in words, by its number."""
    cut = release.cut
    resolved = ((code, cut.domain.resolve(model.nodes.conditions[code])) for code, _ in model.nodes.first_nodes())
    return {code: condition_text(cut, cut.box(found)) for code, found in resolved}


def node(
    number: int, text: str, then: int | None, otherwise: int | None,
    counted: Counted, share: tuple[float, int] | None,
) -> dict[str, Any]:  # fmt: skip
    """Return one node of the drawing; see `drawing`."""
    low, high, classes = counted
    return {
        "id": number,
        "text": text,
        "then": then,
        "otherwise": otherwise,
        "rows": [low, high],
        "classes": classes,
        "share_left": None if share is None else share[0],
    }
