"""A tree or rule list drawn with exposure as colour.

Trees laid out: small ones as nodes and links, any others as rows of rectangles, one row per depth (an icicle).

Source: Kruskal and Landwehr, "Icicle plots: better displays for hierarchical clustering", The American Statistician 37,
1983.

The nodes of a drawing read for charts: levels, weights, colours by exposure, words of a node.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recon.report.charts.svg import (
    BOLD,
    LEVEL_WORDS,
    NARROW,
    ROW_WORDS,
    clipped,
    colour,
    count,
    fitted,
    framed,
    hatches,
    interval,
    label,
    legend,
    level,
    number,
    on_level,
    percent,
    rectangle,
    row_level,
    scrolled,
    width_of,
    wrapped,
)
from solvers.foundation.displayed import html

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
        rows = _weight(node)
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


def _drawn_of(drawing: Mapping[str, Any]) -> ChartTree:
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


def _weight(node: Node) -> float:
    """Return the rows of a node as a number: the least, or the most where the least is none."""
    low, high = node["rows"]
    return float(low or high or 0)


def _rows_words(node: Node) -> str:
    return interval(node["rows"])


def _share_words(node: Node) -> str:
    """Return the share of bits left in words, "" where it is not known."""
    share = node.get("share_left")
    return "" if share is None or not math.isfinite(share) else f"{percent(share)} of bits left"


def _class_words(node: Node, most: int = 3, characters: int = 24) -> str:
    """Return the classes of a node in words, the largest first; "" where they are not known."""
    classes = [(name, n) for name, n in node.get("classes") or () if n]
    classes.sort(key=lambda one: -one[1])
    shown = ", ".join(f"{clipped(name, characters)} {n:,}" for name, n in classes[:most])
    return f"{shown} and {count(len(classes) - most, 'more class', 'more classes')}" if len(classes) > most else shown


def _tip(node: Node, characters: int = 200) -> str:
    """Return all that is known of a node in one line."""
    parts = [_rows_words(node), _class_words(node), _share_words(node)]
    text = clipped(node["text"], characters) if characters else f"node {node['id']}"
    return f"{text}: {'; '.join(part for part in parts if part)}"


def _described(drawn: ChartTree, kind: str) -> str:
    """Return the drawing in words: how large it is, and its most exposed leaves or rules."""
    what = ("rule", "rules") if kind == "list" else ("leaf", "leaves")
    leaves = drawn.leaves
    of = {0: f"{count(len(leaves), *what)}."}
    ranked = sorted(leaves, key=lambda i: (-drawn.level(i), _weight(drawn.nodes[i]) or math.inf))
    some = "; ".join(_tip(drawn.nodes[i], 60) for i in ranked[:3])
    return f"{of[0]} {drawn.key}. Most exposed: {some}."


WIDE = 900.0  # units across
MAX_RECTANGLES = 2_000  # rectangles
DEEPEST = 40  # rows of rectangles
LINKED, LINKED_DEPTH = 31, 5  # nodes, and tests on a way, up to which nodes are linked by lines
BOX, GAP, STEP, TALL = 190.0, 40.0, 66.0, 58.0  # a linked node: width, way to the next, height with and without space
BYTES = 380_000
HALO = 3


def _linked(drawn: ChartTree) -> bool:
    """Return whether a tree is small enough to be drawn as nodes and links."""
    return len(drawn.nodes) <= LINKED and max(drawn.depth[i] for i in drawn.nodes) <= LINKED_DEPTH


def _node_link(drawn: ChartTree, note: str) -> str:
    """Return a small tree as inline SVG: tests lead from left to right, upwards where they are met."""
    columns = 1 + max(drawn.depth[i] for i in drawn.nodes)
    box = max(118.0, min(BOX, (WIDE + 40 - GAP * (columns - 1)) / columns))
    width = max(480.0, columns * box + (columns - 1) * GAP + 12)
    key, top = _head(drawn, width)
    down: dict[int, float] = {}
    for at, i in enumerate(drawn.leaves):
        down[i] = top + at * STEP + STEP / 2
    for i in reversed(list(drawn.nodes)):  # children before parents
        if drawn.children[i]:
            down[i] = sum(down[child] for child in drawn.children[i]) / len(drawn.children[i])
    across = {i: 6 + drawn.depth[i] * (box + GAP) for i in drawn.nodes}
    links = [
        _link(across[i] + box, down[i], across[child], down[child], "no" if k else "yes")
        for i in drawn.nodes
        for k, child in enumerate(drawn.children[i])
    ]
    boxes = [_node_box(drawn, i, across[i], down[i] - TALL / 2, box) for i in drawn.nodes]
    height = top + len(drawn.leaves) * STEP
    foot, more = _foot_of([note], height + 4, width)
    parts = [hatches(PREFIX), key, *links, *boxes, foot]
    title = "The tree, with exposure as colour"
    svg = framed(PREFIX, width, height + more + 6, title, _described(drawn, "tree"), parts, round(width))
    return scrolled(svg, round(min(width, max(480.0, 0.8 * width))), title) if width > 480 else svg


def _head(drawn: ChartTree, width: float) -> tuple[str, float]:
    """Return what colours mean, and where the drawing below begins."""
    text = wrapped(drawn.key, width - 12, 2, 12.5)
    lines = [label(6, 16 + 17 * i, row, size=12.5, fill="--muted") for i, row in enumerate(text)]
    key, height = legend(PREFIX, 6, 10 + 17 * len(text), width - 12, drawn.words)
    return "".join(lines) + key, 18 + 17 * len(text) + height


def _foot_of(notes: Sequence[str], y: float, width: float) -> tuple[str, float]:
    """Return notes below a drawing, and the height that they take."""
    lines = [row for note in notes if note for row in wrapped(f"{note[:1].upper()}{note[1:]}.", width - 12, 4, 12.5)]
    texts = [label(6, y + 14 + 17 * i, row, size=12.5, fill="--muted") for i, row in enumerate(lines)]
    return "".join(texts), 17 * len(lines) + (6 if lines else 0)


def _link(x1: float, y1: float, x2: float, y2: float, word: str) -> str:
    """Return the line from a test to what follows, with its answer."""
    middle = (x1 + x2) / 2
    start, end, bend = f"{number(x1)} {number(y1)}", f"{number(x2)} {number(y2)}", number(middle)
    curve = f"M{start}C{bend} {number(y1)} {bend} {number(y2)} {end}"
    line = f'<path d="{curve}" fill="none" stroke="{colour("--muted")}" stroke-width="1.3"/>'
    return line + label(x2 - 5, y2 + (14 if y2 > y1 else -5), word, size=12, fill="--muted", anchor="end")


def _node_box(drawn: ChartTree, i: int, x: float, y: float, width: float) -> str:
    """Return a node: its test and rows, or a leaf's name, rows, classes and bits left."""
    node, own = drawn.nodes[i], drawn.level(i)
    inner = bool(drawn.children[i])
    edge = f' stroke="{colour("--muted")}" stroke-width="{0.9 if inner else 1.2}"'
    fill = "--paper" if inner else f"url(#{PREFIX}-e{own})"
    paint = colour("--ink") if inner else on_level(own)
    room = width - 16
    if inner:
        lines = [*wrapped(node["text"], room, 2, 12.5), _rows_words(node)]
    else:
        rows = _rows_words(node)
        name = fitted(node["text"], room / BOLD - width_of(rows, 12.5) - 10, 12.5) or "leaf"
        lines = [
            f"{name}: {rows}",
            fitted(_class_words(node, 3, 14), room, 12.5),
            fitted(_share_words(node), room, 12.5),
        ]
        lines = [text for text in lines if text]
    first = y + TALL / 2 - 8.5 * len(lines) + 12.5
    texts, beneath = [], "" if inner else f"--exposure-{own}"
    for k, text in enumerate(lines):
        bold = k == 0 and not inner
        shown = fitted(text, room / BOLD if bold else room, 12.5)
        texts.append(_over(x + 8, first + 17 * k, shown, paint, beneath, bold))
    ground = rectangle(x, y, width, TALL, fill, more=edge, radius=5)
    return f"<g><title>{html(_tip(node, 600))}</title>{ground}{''.join(texts)}</g>"


def _over(x: float, y: float, text: str, paint: str, ground: str, bold: bool = False, size: float = 12.5) -> str:
    """Return text over a pattern, with the pattern's colour around its letters."""
    halo = (
        f' stroke="{colour(ground)}" stroke-width="{HALO}" paint-order="stroke" stroke-linejoin="round"'
        if ground
        else ""
    )
    weight_of = ' font-weight="600"' if bold else ""
    place = f'x="{number(x)}" y="{number(y)}" font-size="{number(size)}"'
    return f'<text {place} fill="{paint}"{halo}{weight_of}>{html(text)}</text>'


def icicle(drawn: ChartTree, note: str) -> str:
    """Return a tree of any size as inline SVG: children below their parent, as wide as their rows.

    Where narrow leaves could not be seen, half of the width goes to rows and half to leaves alike. At most MOST
    rectangles and DEEPEST rows are drawn, the widest first; what is below is left to its parent.
    """
    root = next(iter(drawn.nodes))
    share, even = _widths(drawn)
    shown = _drawn_nodes(drawn, share, root)
    depths = 1 + max(drawn.depth[i] for i in shown)
    tall = max(9.0, min(30.0, 480.0 / depths))
    key, top = _head(drawn, WIDE)
    place = {root: 6.0}
    for i in drawn.nodes:
        if i in shown and i in place:
            x = place[i]
            for child in drawn.children[i]:
                place[child] = x
                x += share[child] * (WIDE - 12)
    missing = sum(not drawn.children[i] for i in drawn.nodes if i not in shown)
    notes = [
        note,
        "one row of rectangles per test; "
        + (
            "half of the width goes to rows, half to leaves alike, so that small leaves can be seen"
            if even
            else "width: rows"
        ),
        f"{missing:,} leaves are too narrow or too deep to draw: they are in the rectangle above them"
        if missing
        else "",
    ]
    if any(_single(drawn, i) for i in shown):
        notes.insert(1, "a foot in the strongest colour marks a leaf of one person")
    height = top + depths * tall + 4
    foot, more = _foot_of(notes, height + 4, WIDE)
    title = "The tree, with exposure as colour"
    for characters in (48, 16, 0):  # names can be long in every node
        body = _rectangles(drawn, sorted(shown), place, share, top, tall, characters)
        if len(body) < BYTES:
            break
    parts = [hatches(PREFIX), key, body, foot]
    svg = framed(PREFIX, WIDE, height + more + 6, title, _described(drawn, "tree"), parts, 1100)
    return scrolled(svg, 680, title)


def _widths(drawn: ChartTree) -> tuple[dict[int, float], bool]:
    """Return the share of the width of every node, and whether narrow leaves were made wider."""
    leaves = drawn.leaves
    rows = {i: _weight(drawn.nodes[i]) for i in leaves}
    total = sum(rows.values())
    filled = sum(n > 0 for n in rows.values())
    even = total > 0 and min((n for n in rows.values() if n), default=0) / total * WIDE < 3
    share: dict[int, float] = {}
    for i in reversed(list(drawn.nodes)):
        if drawn.children[i]:
            share[i] = sum(share[child] for child in drawn.children[i])
        elif not total:
            share[i] = 1 / len(leaves)
        elif even:
            share[i] = 0.5 * rows[i] / total + (0.5 / filled if rows[i] else 0.0)
        else:
            share[i] = rows[i] / total
    return share, even


def _drawn_nodes(drawn: ChartTree, share: dict[int, float], root: int) -> set[int]:
    """Return the nodes that are drawn: from the root on, the children of the widest node first."""
    out, heap = {root}, [(-share[root], root)]
    while heap and len(out) + 2 <= MAX_RECTANGLES:
        _, i = heapq.heappop(heap)
        if drawn.depth[i] + 1 >= DEEPEST:
            continue
        for child in drawn.children[i]:
            out.add(child)
            heapq.heappush(heap, (-share[child], child))
    return out


def _rectangles(
    drawn: ChartTree, shown: Sequence[int], place: dict[int, float], share: dict[int, float], top: float, tall: float,
    characters: int,
) -> str:  # fmt: skip
    """Return the rectangles, together by level of exposure, and the texts that fit into them."""
    groups: dict[tuple[int, bool], list[str]] = {}
    texts = []
    for i in shown:
        width, y, own = share[i] * (WIDE - 12), top + drawn.depth[i] * tall, drawn.level(i)
        if not width:
            continue
        wide = width > 4
        box = (
            f'<rect x="{number(place[i])}" y="{number(y, 1)}" width="{number(max(0.25, width - (0.9 if wide else 0)))}"'
            f' height="{number(tall - 1, 1)}">'
        )
        name = f"<title>{html(_tip(drawn.nodes[i], characters))}</title></rect>"
        groups.setdefault((own, wide), []).append(box + name)
        if tall >= 16 and width > 44:
            node = drawn.nodes[i]
            text = fitted(node["text"] if drawn.children[i] else _rows_words(node), width - 10, 12)
            if len(text) > 2:
                texts.append(_over(place[i] + 5, y + tall / 2 + 3.6, text, on_level(own), f"--exposure-{own}", size=12))
    out = []
    for (own, wide), boxes in sorted(groups.items()):
        edge = f' stroke="{colour("--muted")}" stroke-width="0.5"' if wide else ""
        out.append(f'<g fill="url(#{PREFIX}-e{own})"{edge}>{"".join(boxes)}</g>')
    out.append(_single_rows(drawn, shown, place, share, top, tall))
    return "".join(out) + f'<g style="pointer-events:none">{"".join(texts)}</g>'


def _single(drawn: ChartTree, i: int) -> bool:
    """Return whether a node is a leaf that holds one row in every world."""
    return not drawn.children[i] and list(drawn.nodes[i]["rows"]) == [1, 1]


def _single_rows(
    drawn: ChartTree, shown: Sequence[int], place: dict[int, float], share: dict[int, float], top: float, tall: float
) -> str:
    """Return the feet of leaves that hold one row, as one line of many pieces."""
    feet = []
    for i in shown:
        if _single(drawn, i):
            width = max(1.4, share[i] * (WIDE - 12) - 1)
            feet.append(f"M{number(place[i])} {number(top + (drawn.depth[i] + 1) * tall + 1, 1)}h{number(width)}")
    pen = f'stroke="{colour("--exposure-4")}" stroke-width="4" fill="none"'
    return f'<path d="{"".join(feet)}" {pen} style="pointer-events:none"/>' if feet else ""


SHOWN = 60  # rules that are drawn


def model_drawing(drawing: Mapping[str, Any] | None) -> str:
    """Return the model as inline SVG, "" where there is nothing to draw.

    `drawing`: as the document has it. A tree of at most 31 nodes becomes nodes and links, a larger one rows of
    rectangles, a rule list its rules one below the other. A wide drawing stands in a region that a narrow page scrolls.
    """
    if not drawing or not drawing.get("nodes"):
        return ""
    drawn, note = _drawn_of(drawing), str(drawing.get("note") or "")
    if not drawn.nodes:
        return ""
    if drawing["kind"] == "list":
        return rule_list(drawn, note)
    return _node_link(drawn, note) if _linked(drawn) else icicle(drawn, note)


def rule_list(drawn: ChartTree, note: str) -> str:
    """Return the rules in order: their tests, and what is known of the rows that they capture."""
    key, y = _head(drawn, NARROW)
    rules = list(drawn.nodes)
    parts = [hatches(PREFIX), key]
    for at, i in enumerate(rules[:SHOWN]):
        drawn_rule, height = _rule(drawn, i, "if" if not at else "else if", y)
        parts.append(drawn_rule)
        y += height
    more = f"{len(rules) - SHOWN:,} more rules are not drawn" if len(rules) > SHOWN else ""
    foot, height = _foot_of([more, note], y, NARROW)
    title = "The rule list, with exposure as colour"
    return framed(PREFIX, NARROW, y + height + 6, title, _described(drawn, "list"), [*parts, foot], 640)


def _rule(drawn: ChartTree, i: int, word: str, y: float) -> tuple[str, float]:
    """Return one rule and its height."""
    node = drawn.nodes[i]
    last = node["text"] == "everybody else"
    tests = wrapped("everybody else" if last else f"{word} {node['text']}", (NARROW - 44) / BOLD, 3)
    known = [text for text in (_rows_words(node), _share_words(node)) if text]
    classes = _class_words(node, 4, 20)
    then = fitted(f"then {classes}" if classes else "then", NARROW - 44)
    lines = [(text, True) for text in tests] + [(then, False)] * bool(classes) + [(", ".join(known), False)]
    height = 18.0 * len(lines) + 8
    edge = f' stroke="{colour("--muted")}" stroke-width="0.9"'
    texts = [
        label(34, y + 15 + 18 * k, text, bold=bold, fill="--ink" if bold or k < len(lines) - 1 else "--muted")
        for k, (text, bold) in enumerate(lines)
    ]
    empty = "" if _weight(node) else " (nobody)"
    swatch = rectangle(6, y + 2, 18, height - 8, f"url(#{PREFIX}-e{drawn.level(i)})", more=edge, radius=2)
    return f"<g><title>{html(_tip(node, 600) + empty)}</title>{swatch}{''.join(texts)}</g>", height + 4
