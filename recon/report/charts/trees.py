"""A tree or rule list drawn with exposure as colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recon.report.charts.layouts import foot_of, head, icicle, linked, node_link
from recon.report.charts.nodes import (
    PREFIX,
    ChartTree,
    class_words,
    described,
    drawn_of,
    rows_words,
    share_words,
    tip,
    weight,
)
from recon.report.charts.svg import BOLD, NARROW, colour, fitted, framed, hatches, label, rectangle, wrapped
from solvers.foundation.escaping import html

SHOWN = 60  # rules that are drawn


def model_drawing(drawing: Mapping[str, Any] | None) -> str:
    """Return the model as inline SVG, "" where there is nothing to draw.

    `drawing`: as the document has it. A tree of at most 31 nodes becomes nodes and links, a larger one rows of
    rectangles, a rule list its rules one below the other. A wide drawing stands in a region that a narrow page scrolls.
    """
    if not drawing or not drawing.get("nodes"):
        return ""
    drawn, note = drawn_of(drawing), str(drawing.get("note") or "")
    if not drawn.nodes:
        return ""
    if drawing["kind"] == "list":
        return rule_list(drawn, note)
    return node_link(drawn, note) if linked(drawn) else icicle(drawn, note)


def rule_list(drawn: ChartTree, note: str) -> str:
    """Return the rules in order: their tests, and what is known of the rows that they capture."""
    key, y = head(drawn, NARROW)
    rules = list(drawn.nodes)
    parts = [hatches(PREFIX), key]
    for at, i in enumerate(rules[:SHOWN]):
        drawn_rule, height = rule(drawn, i, "if" if not at else "else if", y)
        parts.append(drawn_rule)
        y += height
    more = f"{len(rules) - SHOWN:,} more rules are not drawn" if len(rules) > SHOWN else ""
    foot, height = foot_of([more, note], y, NARROW)
    title = "The rule list, with exposure as colour"
    return framed(PREFIX, NARROW, y + height + 6, title, described(drawn, "list"), [*parts, foot], 640)


def rule(drawn: ChartTree, i: int, word: str, y: float) -> tuple[str, float]:
    """Return one rule and its height."""
    node = drawn.nodes[i]
    last = node["text"] == "everybody else"
    tests = wrapped("everybody else" if last else f"{word} {node['text']}", (NARROW - 44) / BOLD, 3)
    known = [text for text in (rows_words(node), share_words(node)) if text]
    classes = class_words(node, 4, 20)
    then = fitted(f"then {classes}" if classes else "then", NARROW - 44)
    lines = [(text, True) for text in tests] + [(then, False)] * bool(classes) + [(", ".join(known), False)]
    height = 18.0 * len(lines) + 8
    edge = f' stroke="{colour("--muted")}" stroke-width="0.9"'
    texts = [
        label(34, y + 15 + 18 * k, text, bold=bold, fill="--ink" if bold or k < len(lines) - 1 else "--muted")
        for k, (text, bold) in enumerate(lines)
    ]
    empty = "" if weight(node) else " (nobody)"
    swatch = rectangle(6, y + 2, 18, height - 8, f"url(#{PREFIX}-e{drawn.level(i)})", more=edge, radius=2)
    return f"<g><title>{html(tip(node, 600) + empty)}</title>{swatch}{''.join(texts)}</g>", height + 4
