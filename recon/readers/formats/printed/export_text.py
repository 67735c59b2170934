"""Reads what scikit-learn's `export_text` prints of a decision tree classifier.

`|--- age <= 25.50` opens a branch, its `>` line the other one; leaves print `weights: [87.00, 0.00] class: 0`
(show_weights=True) or only `class: 0`; `max_depth` cuts branches off ("truncated branch of depth 3").

Source: sklearn/tree/_export.py, versions 0.21 to 1.9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from encoders.domain.values import Test, Value
from encoders.models.models import CountKind, Provenance
from recon.readers.formats.drafts.binding import Feature
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.printed.printed_trees import (
    MIDPOINTS,
    NO_MISSING,
    NUMBER,
    ONE_TREE,
    LeafCounts,
    PrintedBranch,
    column_names,
    draft_of,
    is_whole,
    number,
    slack_of,
    unit,
    values_of,
)
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.exact import exact_number

FORMAT = "scikit-learn, export_text"
LINE = re.compile(r"([| ]*)\|-+ (.*)")
SPLIT = re.compile(r"(.*) (<=|>) +(\S+)")
LEAF = re.compile(r"(?:weights: \[([^\]]*)\] *)?class: ?(.*)")
TRUNCATED = re.compile(r"truncated branch of depth (\d{1,9})")
UNNAMED = re.compile(r"feature_(\d{1,5})")
WEIGHTED = (
    "the weights are not whole numbers, so the tree was fitted with class_weight, sample_weight or monotonic"
    " constraints: of every leaf it is only stated that it is not empty, and which classes have a row there"
)
LABELS = (
    "the text has no counts: of every leaf it is only stated that a row of its class is in it"
    " (print it with show_weights=True for counts)"
)


@dataclass(frozen=True, slots=True)
class PrintedLeaf:
    """A printed leaf: its line (from 1), its weights if printed, its class."""

    line: int
    weights: tuple[Fraction, ...] | None
    name: str


@dataclass(frozen=True, slots=True)
class ExportedTree:
    """The nodes of a text (leaves without facts, truncated branches with them), the leaves by node, the thresholds."""

    nodes: tuple[PrintedBranch, ...]
    leaves: Mapping[int, PrintedLeaf]
    thresholds: tuple[tuple[str, float, Fraction], ...]


def looks_like_export_text(head: str) -> bool:
    """Return whether a text starts like the output of `export_text`."""
    first = LINE.fullmatch(head.lstrip().partition("\n")[0].rstrip())
    return first is not None and not first[1]


def read_export_text(text: str) -> Draft:
    """Return what `export_text` printed. Cost: linear in the text.

    Raises `ReleaseError` naming the line for what is no such text, `Unsupported` for regression trees.
    """
    printed = _parse_tree(text)
    leaves = [printed.leaves[i] for i in sorted(printed.leaves)]
    width = width_of(leaves)
    facts, names, kind, remarks = _facts_of(printed.leaves, width)
    nodes = tuple(replace(n, facts=facts.get(i, n.facts)) for i, n in enumerate(printed.nodes))
    notes = (*((ONE_TREE,) if kind == "exact" else ()), MIDPOINTS, NO_MISSING)
    found = draft_of(nodes, names, Provenance(FORMAT, (kind,), notes), weights=True)
    if width and None in names:
        remarks.append("the text does not name every class: a domain whose label has as many values names the others")
    if len(leaves) < sum(n.feature is None for n in nodes):
        remarks.append("the text was cut off by max_depth: print it with a larger one for all leaves")
    features = found.features
    numbers = [UNNAMED.fullmatch(f.name) for f in features]
    named = None in numbers or not numbers
    if not named:
        last = max(int(m[1]) for m in numbers if m is not None)
        features = tuple(Feature(f"feature_{k}", f"feature_{k}") for k in range(last + 1))
    return replace(
        found,
        features=features,
        named=named,
        more=not named,
        single=True,
        slack=slack_of(printed.thresholds),
        finer="print it with decimals=10",
        reader_notes=tuple(remarks),
    )


def width_of(leaves: Sequence[PrintedLeaf]) -> int:
    """Return how many weights every leaf has, 0 where none has any; `ReleaseError` where they differ."""
    widths = [0 if leaf.weights is None else len(leaf.weights) for leaf in leaves]
    for leaf, width in zip(leaves, widths, strict=True):
        if width != widths[0]:
            raise ReleaseError(f"has {width} weights, but the first leaf {widths[0]}", place=f"line {leaf.line}")
    return widths[0] if widths else 0


def _facts_of(
    leaves: Mapping[int, PrintedLeaf], width: int
) -> tuple[dict[int, LeafCounts], tuple[Value | None, ...], CountKind, list[str]]:
    """Return what the leaves say by node, the names of the columns, the kind of counts, what to tell the user.

    A printed class has a row in its leaf whatever the weights were; that it is the commonest one they may belie.
    """
    if not width:
        values = values_of(leaf.name for leaf in leaves.values())
        place = {name: k for k, name in enumerate(values)}
        one = {i: LeafCounts((1, None), ((place[leaf.name], (1, None)),)) for i, leaf in leaves.items()}
        return one, tuple(values.values()), "label", [LABELS]
    weights = {i: leaf.weights or () for i, leaf in leaves.items()}
    whole = all(is_whole(w, sum(ws)) for ws in weights.values() for w in ws) and all(map(sum, weights.values()))
    names = column_names(((weights[i], leaf.name) for i, leaf in leaves.items()), width, ties=whole)
    if whole:
        counts = {i: [round(w) for w in ws] for i, ws in weights.items()}
        exact = {
            i: LeafCounts((sum(c), sum(c)), tuple((k, (n, n)) for k, n in enumerate(c))) for i, c in counts.items()
        }
        return exact, names, "exact", []
    # Monotonic constraints clip the shares of two classes: then a class may be printed that has no row.
    clipped = width == 2 and all(is_whole(sum(ws), sum(ws)) for ws in weights.values())
    some = {i: () if clipped else tuple((k, (1, None)) for k, w in enumerate(ws) if w) for i, ws in weights.items()}
    return {i: LeafCounts((1, None), found) for i, found in some.items()}, names, "label", [WEIGHTED]


def _parse_tree(text: str) -> ExportedTree:
    """Return the nodes of the text; `ReleaseError` naming the first line that does not fit."""
    nodes: list[list[int]] = []  # then, otherwise of every node; leaves -1
    splits: dict[int, tuple[str, str]] = {}
    leaves: dict[int, PrintedLeaf] = {}
    cut: dict[int, int] = {}
    path: list[int] = []  # inner nodes on the way to the place of the next line
    done = False
    for line, raw in enumerate(text.splitlines(), 1):
        if not raw.strip():
            continue
        place = f"line {line}"
        found = LINE.fullmatch(raw.strip())
        if found is None or done:
            raise ReleaseError(
                f"'{raw.strip()[:60]}' is {'after the end' if done else 'no line'} of a tree", place=place
            )
        depth, content = found[1].count("|") + 1, found[2].strip()
        split = None if content.startswith(("class:", "weights: [")) else SPLIT.fullmatch(content)
        if split is not None and split[2] == ">":
            told = depth == len(path) and splits[path[-1]] == (split[1], split[3])
            if not told or nodes[path[-1]][0] < 0 or nodes[path[-1]][1] >= 0:
                raise ReleaseError(f"'{content[:60]}' is the other side of no split", place=place)
            nodes[path[-1]][1] = len(nodes)
            continue
        if depth != len(path) + 1 or (path and nodes[path[-1]][0] >= 0 and nodes[path[-1]][1] != len(nodes)):
            raise ReleaseError(f"'{content[:60]}' stands at depth {depth}, which does not fit", place=place)
        here = len(nodes)
        nodes.append([-1, -1])
        if path and nodes[path[-1]][0] < 0:
            nodes[path[-1]][0] = here
        if split is not None:
            splits[here] = split[1], split[3]
            path.append(here)
            continue
        _read_leaf(content, line, here, leaves, cut)
        while path and nodes[path[-1]][1] >= 0:
            path.pop()
        done = not path
    if not done:
        raise ReleaseError("the text ends before its tree does" if nodes else "the text holds no tree")
    return _linked(nodes, splits, leaves, cut)


def _read_leaf(content: str, line: int, node: int, leaves: dict[int, PrintedLeaf], cut: dict[int, int]) -> None:
    """Put a leaf, or how many levels were cut off, to its node; refuse everything else."""
    place = f"line {line}"
    if content.startswith("value:"):
        raise Unsupported(f"{place}: a regression tree's text has no numbers of rows: give the stored model itself")
    if truncated := TRUNCATED.fullmatch(content):
        cut[node] = max(1, int(truncated[1]))
        return
    found = LEAF.fullmatch(content)
    if found is None:
        raise ReleaseError(f"'{content[:60]}' is neither a split nor a leaf", place=place)
    if found[1] is None:
        leaves[node] = PrintedLeaf(line, None, found[2])
        return
    texts = [w.strip() for w in found[1].split(",")]
    if not all(NUMBER.fullmatch(w) and len(w) < 400 for w in texts) or any(w.startswith("-") for w in texts):
        raise ReleaseError(f"[{found[1][:60]}] are not weights", place=place)
    leaves[node] = PrintedLeaf(line, tuple(exact_number(w) for w in texts), found[2])


def _linked(
    links: Sequence[Sequence[int]],
    splits: Mapping[int, tuple[str, str]],
    leaves: Mapping[int, PrintedLeaf],
    cut: Mapping[int, int],
) -> ExportedTree:
    """Return the nodes with their tests; a branch of d levels that was cut off has d leaves, so d rows, or more."""
    nodes, thresholds = [], []
    for i, (then, otherwise) in enumerate(links):
        if i not in splits:
            nodes.append(PrintedBranch(LeafCounts((cut.get(i, 0), None))))
            continue
        name, text = splits[i]
        x = number(text, f"the split on '{name[:60]}'")
        thresholds.append((name, x, unit(text)))
        nodes.append(PrintedBranch(LeafCounts(), name, Test(high=x), Test(low=x, low_open=True), then, otherwise))
    return ExportedTree(tuple(nodes), leaves, tuple(thresholds))
