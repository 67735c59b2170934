"""The nodes of a drawing read for charts: levels, weights, colours by exposure, words of a node."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recon.report.charts.svg import LEVEL_WORDS, ROW_WORDS, clipped, count, interval, level, percent, row_level

PREFIX = "chart-model"
Node = Mapping[str, Any]


@dataclass(frozen=True)
class ChartTree:
    """The nodes that can be reached from the root, parents first, by id: children, depth, rows as weights.

    `by_rows`: no node has a share of bits left, so that colours tell how small groups are instead.
    """

    nodes: dict[int, Node]
    children: dict[int, tuple[int, ...]]
    depth: dict[int, int]
    by_rows: bool

    @property
    def leaves(self) -> list[int]:
        """Return the nodes without children, from left to right or top to bottom."""
        return [i for i in self.nodes if not self.children[i]]

    def level(self, i: int) -> int:
        """Return the level of exposure of a node, 0 to 4."""
        node = self.nodes[i]
        if not self.by_rows:
            return level(node.get("share_left"))
        rows = weight(node)
        return row_level(rows) if rows else 0

    @property
    def words(self) -> tuple[str, ...]:
        """Return what the levels say."""
        return ROW_WORDS if self.by_rows else LEVEL_WORDS

    @property
    def key(self) -> str:
        """Return what colours say, in words."""
        if self.by_rows:
            return "Colour: rows of the group (bits left are not known)"
        return "Colour: share of their bits that is left about its people"


def drawn_of(drawing: Mapping[str, Any]) -> ChartTree:
    """Return the nodes of a drawing; what no other node leads to is left out, and so is a link that closes a circle."""
    every: dict[int, Node] = {node["id"]: node for node in drawing["nodes"]}
    nodes: dict[int, Node] = {}
    children: dict[int, tuple[int, ...]] = {}
    depth = {drawing["root"]: 0}
    listed = list(every) if drawing["kind"] == "list" else [drawing["root"]]
    stack = listed[::-1]
    while stack:
        i = stack.pop()
        if i in nodes or i not in every:
            continue
        nodes[i] = every[i]
        links = [child for key in ("then", "otherwise") if (child := every[i].get(key)) is not None]
        children[i] = tuple(child for child in links if child in every and child not in depth and child != i)
        for child in children[i]:
            depth[child] = depth[i] + 1
        stack += children[i][::-1]
    by_rows = all(node.get("share_left") is None for node in nodes.values())
    return ChartTree(nodes, children, depth, by_rows)


def weight(node: Node) -> float:
    """Return the rows of a node as a number: the least, or the most where the least is none."""
    low, high = node["rows"]
    return float(low or high or 0)


def rows_words(node: Node) -> str:
    """Return the rows of a node in words."""
    return interval(node["rows"])


def share_words(node: Node) -> str:
    """Return the share of bits left in words, "" where it is not known."""
    share = node.get("share_left")
    return "" if share is None or not math.isfinite(share) else f"{percent(share)} of bits left"


def class_words(node: Node, most: int = 3, characters: int = 24) -> str:
    """Return the classes of a node in words, the largest first; "" where they are not known."""
    classes = [(name, n) for name, n in node.get("classes") or () if n]
    classes.sort(key=lambda one: -one[1])
    shown = ", ".join(f"{clipped(name, characters)} {n:,}" for name, n in classes[:most])
    return f"{shown} and {count(len(classes) - most, 'more class', 'more classes')}" if len(classes) > most else shown


def tip(node: Node, characters: int = 200) -> str:
    """Return all that is known of a node in one line."""
    parts = [rows_words(node), class_words(node), share_words(node)]
    text = clipped(node["text"], characters) if characters else f"node {node['id']}"
    return f"{text}: {'; '.join(part for part in parts if part)}"


def described(drawn: ChartTree, kind: str) -> str:
    """Return the drawing in words: how large it is, and its most exposed leaves or rules."""
    what = ("rule", "rules") if kind == "list" else ("leaf", "leaves")
    leaves = drawn.leaves
    of = {0: f"{count(len(leaves), *what)}."}
    ranked = sorted(leaves, key=lambda i: (-drawn.level(i), weight(drawn.nodes[i]) or math.inf))
    some = "; ".join(tip(drawn.nodes[i], 60) for i in ranked[:3])
    return f"{of[0]} {drawn.key}. Most exposed: {some}."
