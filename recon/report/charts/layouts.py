"""Trees laid out: small ones as nodes and links, any others as rows of rectangles, one row per depth (an icicle).

Source: Kruskal and Landwehr, "Icicle plots: better displays for hierarchical clustering", The American Statistician 37,
1983.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from recon.report.charts.nodes import (
    PREFIX,
    ChartTree,
    class_words,
    described,
    rows_words,
    share_words,
    tip,
    weight,
)
from recon.report.charts.svg import (
    BOLD,
    colour,
    fitted,
    framed,
    hatches,
    label,
    legend,
    number,
    on_level,
    rectangle,
    scrolled,
    width_of,
    wrapped,
)
from solvers.foundation.escaping import html

WIDE = 900.0  # units across
MOST = 2_000  # rectangles
DEEPEST = 40  # rows of rectangles
LINKED, LINKED_DEPTH = 31, 5  # nodes, and tests on a way, up to which nodes are linked by lines
BOX, GAP, STEP, TALL = 190.0, 40.0, 66.0, 58.0  # a linked node: width, way to the next, height with and without space
BYTES = 380_000
HALO = 3


def linked(drawn: ChartTree) -> bool:
    """Return whether a tree is small enough to be drawn as nodes and links."""
    return len(drawn.nodes) <= LINKED and max(drawn.depth[i] for i in drawn.nodes) <= LINKED_DEPTH


def node_link(drawn: ChartTree, note: str) -> str:
    """Return a small tree as inline SVG: tests lead from left to right, upwards where they are met."""
    columns = 1 + max(drawn.depth[i] for i in drawn.nodes)
    box = max(118.0, min(BOX, (WIDE + 40 - GAP * (columns - 1)) / columns))
    width = max(480.0, columns * box + (columns - 1) * GAP + 12)
    key, top = head(drawn, width)
    down: dict[int, float] = {}
    for at, i in enumerate(drawn.leaves):
        down[i] = top + at * STEP + STEP / 2
    for i in reversed(list(drawn.nodes)):  # children before parents
        if drawn.children[i]:
            down[i] = sum(down[child] for child in drawn.children[i]) / len(drawn.children[i])
    across = {i: 6 + drawn.depth[i] * (box + GAP) for i in drawn.nodes}
    links = [
        link(across[i] + box, down[i], across[child], down[child], "no" if k else "yes")
        for i in drawn.nodes
        for k, child in enumerate(drawn.children[i])
    ]
    boxes = [node_box(drawn, i, across[i], down[i] - TALL / 2, box) for i in drawn.nodes]
    height = top + len(drawn.leaves) * STEP
    foot, more = foot_of([note], height + 4, width)
    parts = [hatches(PREFIX), key, *links, *boxes, foot]
    title = "The tree, with exposure as colour"
    svg = framed(PREFIX, width, height + more + 6, title, described(drawn, "tree"), parts, round(width))
    return scrolled(svg, round(min(width, max(480.0, 0.8 * width))), title) if width > 480 else svg


def head(drawn: ChartTree, width: float) -> tuple[str, float]:
    """Return what colours mean, and where the drawing below begins."""
    text = wrapped(drawn.key, width - 12, 2, 12.5)
    lines = [label(6, 16 + 17 * i, row, size=12.5, fill="--muted") for i, row in enumerate(text)]
    key, height = legend(PREFIX, 6, 10 + 17 * len(text), width - 12, drawn.words)
    return "".join(lines) + key, 18 + 17 * len(text) + height


def foot_of(notes: Sequence[str], y: float, width: float) -> tuple[str, float]:
    """Return notes below a drawing, and the height that they take."""
    lines = [row for note in notes if note for row in wrapped(f"{note[:1].upper()}{note[1:]}.", width - 12, 4, 12.5)]
    texts = [label(6, y + 14 + 17 * i, row, size=12.5, fill="--muted") for i, row in enumerate(lines)]
    return "".join(texts), 17 * len(lines) + (6 if lines else 0)


def link(x1: float, y1: float, x2: float, y2: float, word: str) -> str:
    """Return the line from a test to what follows, with its answer."""
    middle = (x1 + x2) / 2
    start, end, bend = f"{number(x1)} {number(y1)}", f"{number(x2)} {number(y2)}", number(middle)
    curve = f"M{start}C{bend} {number(y1)} {bend} {number(y2)} {end}"
    line = f'<path d="{curve}" fill="none" stroke="{colour("--muted")}" stroke-width="1.3"/>'
    return line + label(x2 - 5, y2 + (14 if y2 > y1 else -5), word, size=12, fill="--muted", anchor="end")


def node_box(drawn: ChartTree, i: int, x: float, y: float, width: float) -> str:
    """Return a node: its test and rows, or a leaf's name, rows, classes and bits left."""
    node, own = drawn.nodes[i], drawn.level(i)
    inner = bool(drawn.children[i])
    edge = f' stroke="{colour("--muted")}" stroke-width="{0.9 if inner else 1.2}"'
    fill = "--paper" if inner else f"url(#{PREFIX}-e{own})"
    paint = colour("--ink") if inner else on_level(own)
    room = width - 16
    if inner:
        lines = [*wrapped(node["text"], room, 2, 12.5), rows_words(node)]
    else:
        rows = rows_words(node)
        name = fitted(node["text"], room / BOLD - width_of(rows, 12.5) - 10, 12.5) or "leaf"
        lines = [f"{name}: {rows}", fitted(class_words(node, 3, 14), room, 12.5), fitted(share_words(node), room, 12.5)]
        lines = [text for text in lines if text]
    first = y + TALL / 2 - 8.5 * len(lines) + 12.5
    texts, beneath = [], "" if inner else f"--exposure-{own}"
    for k, text in enumerate(lines):
        bold = k == 0 and not inner
        shown = fitted(text, room / BOLD if bold else room, 12.5)
        texts.append(over(x + 8, first + 17 * k, shown, paint, beneath, bold))
    ground = rectangle(x, y, width, TALL, fill, more=edge, radius=5)
    return f"<g><title>{html(tip(node, 600))}</title>{ground}{''.join(texts)}</g>"


def over(x: float, y: float, text: str, paint: str, ground: str, bold: bool = False, size: float = 12.5) -> str:
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
    share, even = widths(drawn)
    shown = chosen(drawn, share, root)
    depths = 1 + max(drawn.depth[i] for i in shown)
    tall = max(9.0, min(30.0, 480.0 / depths))
    key, top = head(drawn, WIDE)
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
    if any(single(drawn, i) for i in shown):
        notes.insert(1, "a foot in the strongest colour marks a leaf of one person")
    height = top + depths * tall + 4
    foot, more = foot_of(notes, height + 4, WIDE)
    title = "The tree, with exposure as colour"
    for characters in (48, 16, 0):  # names can be long in every node
        body = rectangles(drawn, sorted(shown), place, share, top, tall, characters)
        if len(body) < BYTES:
            break
    parts = [hatches(PREFIX), key, body, foot]
    svg = framed(PREFIX, WIDE, height + more + 6, title, described(drawn, "tree"), parts, 1100)
    return scrolled(svg, 680, title)


def widths(drawn: ChartTree) -> tuple[dict[int, float], bool]:
    """Return the share of the width of every node, and whether narrow leaves were made wider."""
    leaves = drawn.leaves
    rows = {i: weight(drawn.nodes[i]) for i in leaves}
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


def chosen(drawn: ChartTree, share: dict[int, float], root: int) -> set[int]:
    """Return the nodes that are drawn: from the root on, the children of the widest node first."""
    out, heap = {root}, [(-share[root], root)]
    while heap and len(out) + 2 <= MOST:
        _, i = heapq.heappop(heap)
        if drawn.depth[i] + 1 >= DEEPEST:
            continue
        for child in drawn.children[i]:
            out.add(child)
            heapq.heappush(heap, (-share[child], child))
    return out


def rectangles(
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
        name = f"<title>{html(tip(drawn.nodes[i], characters))}</title></rect>"
        groups.setdefault((own, wide), []).append(box + name)
        if tall >= 16 and width > 44:
            node = drawn.nodes[i]
            text = fitted(node["text"] if drawn.children[i] else rows_words(node), width - 10, 12)
            if len(text) > 2:
                texts.append(over(place[i] + 5, y + tall / 2 + 3.6, text, on_level(own), f"--exposure-{own}", size=12))
    out = []
    for (own, wide), boxes in sorted(groups.items()):
        edge = f' stroke="{colour("--muted")}" stroke-width="0.5"' if wide else ""
        out.append(f'<g fill="url(#{PREFIX}-e{own})"{edge}>{"".join(boxes)}</g>')
    out.append(single_rows(drawn, shown, place, share, top, tall))
    return "".join(out) + f'<g style="pointer-events:none">{"".join(texts)}</g>'


def single(drawn: ChartTree, i: int) -> bool:
    """Return whether a node is a leaf that holds one row in every world."""
    return not drawn.children[i] and list(drawn.nodes[i]["rows"]) == [1, 1]


def single_rows(
    drawn: ChartTree, shown: Sequence[int], place: dict[int, float], share: dict[int, float], top: float, tall: float
) -> str:
    """Return the feet of leaves that hold one row, as one line of many pieces."""
    feet = []
    for i in shown:
        if single(drawn, i):
            width = max(1.4, share[i] * (WIDE - 12) - 1)
            feet.append(f"M{number(place[i])} {number(top + (drawn.depth[i] + 1) * tall + 1, 1)}h{number(width)}")
    pen = f'stroke="{colour("--exposure-4")}" stroke-width="4" fill="none"'
    return f'<path d="{"".join(feet)}" {pen} style="pointer-events:none"/>' if feet else ""
