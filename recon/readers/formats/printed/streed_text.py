"""Trees that pystreed writes as text: `export_dot` with exact class counts, `print_tree` with labels only.

A node of the dot file says what its 0/1 column asks, its rows and its rows per label 0, 1, ...; node k has the children
2k + 1 (not satisfied) and 2k + 2 (satisfied). Thresholds are printed with six decimals, large ones with fewer.
Source: pystreed 1.4.0, pystreed/base.py (`_recursive_export_dot`, `_recursive_print_tree`), pystreed/utils.py.
"""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass
from fractions import Fraction

from encoders.domain.values import Categorical, Test, Value, equals, exact
from encoders.models.models import Provenance, Tree
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.readers.formats.drafts.binding import free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.rules.plain_values import MAX_PARTS, NO_COUNTS, SkeletonDraft, as_features, count
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount

NODE = re.compile(r'(\d{1,18}) {1,2}\[label="([^"]*)", color="#[0-9a-f]{6}"')
LABEL = re.compile(r"Label: (-?\d{1,18})")
INDENT = "|   "
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")
DEEPEST = 21  # levels: pystreed allows 20 splits on a path


def looks_like_streed_dot(head: str) -> bool:
    """Return whether a text starts like what `export_dot` of pystreed writes."""
    return head.startswith("digraph Tree {") and re.search(r"\nSamples = \d+\n?", head) is not None


def looks_like_streed_text(head: str) -> bool:
    """Return whether a text starts like what `print_tree` of pystreed writes."""
    lines = head.split("\n", 2)
    return lines[0].endswith(" not satisfied") and len(lines) > 1 and lines[1].startswith(("|   ", "Label: "))


@dataclass(frozen=True)
class PrintedNode:
    """A printed node: its column (None: a leaf), its rows and rows per label."""

    column: tuple[str, Test] | None
    rows: int
    counts: tuple[int, ...]


def read_streed_dot(text: str) -> Draft:
    """Return the draft of a dot file by pystreed: exact class counts.

    Raises `ReleaseError` naming the node for a text that makes no tree. Cost: linear in the text.
    """
    boxes: dict[int, PrintedNode] = {}
    for found in NODE.finditer(text):
        number = int(found[1])
        if number in boxes:
            raise ReleaseError("is there twice", place=f"node {number}")
        boxes[number] = _box_of(found[2], f"node {number}")
        if len(boxes) > MAX_PARTS:
            raise ReleaseError(f"has more than {MAX_PARTS:,} nodes", place="digraph Tree")
    if 0 not in boxes:
        raise ReleaseError("has no node 0", place="digraph Tree")
    width = len(boxes[0].counts)
    kept = [c for c in range(width) if boxes[0].counts[c]]  # labels that never occur are printed with 0 rows
    order = [0]
    nodes: list[ModelNode] = []
    for number in order:  # grows while it is walked
        box = boxes.pop(number, None)
        if box is None or len(box.counts) != width:
            why = "is missing" if box is None else f"has {len(box.counts)} classes, the root {width}"
            raise ReleaseError(why, place=f"node {number}")
        if any(n for c, n in enumerate(box.counts) if c not in kept):
            raise ReleaseError("counts a label that the root has not", place=f"node {number}")
        support = Support(tuple(box.counts[c] for c in kept)) if width else Support(count=box.rows)
        if box.column is None:
            nodes.append(ModelNode(support))
            continue
        nodes.append(ModelNode(support, (box.column,), len(order) + 1, len(order)))
        order += [2 * number + 1, 2 * number + 2]
    if boxes:
        raise ReleaseError("no other node leads to this one", place=f"node {next(iter(boxes))}")
    names = _tested_attributes(nodes)
    n = nodes[0].support.total or 0
    return Draft(
        Provenance("pystreed export_dot", ("exact",) if width else ("size",)),
        as_features(names),
        (Tree(Nodes.of(nodes)),),
        tuple(kept) if width else None,
        free_label(names),
        RowCount(n, n),
        _hints(nodes),
        slack=_printed_off,
    )


def read_streed_text(text: str) -> Draft:
    """Return the draft of what `print_tree` prints: a structure that carries no counts.

    Raises `ReleaseError` naming the line for a text that makes no tree. Cost: linear in the text.
    """
    columns: list[tuple[str, Test] | None] = []
    children: list[list[int]] = []  # not satisfied, satisfied
    predicted: list[Value] = []
    todo: list[tuple[int, int, str]] = [(0, -1, "")]  # depth and parent of a node; or of a test's other side, its text
    for i, line in enumerate(text.rstrip().split("\n"), start=1):
        depth, parent, other = todo.pop() if todo else (-1, -1, "")
        sentence = line.rstrip().removeprefix(INDENT * depth)
        if (
            depth < 0
            or depth > DEEPEST
            or sentence.startswith(INDENT)
            or len(line) - len(sentence) < len(INDENT) * depth
        ):
            raise ReleaseError("stands at no open place of the tree", place=f"line {i}")
        leaf = LABEL.fullmatch(sentence)
        first, second = sentence.removesuffix(" not satisfied"), sentence.removesuffix(" satisfied")
        if leaf is None and second == sentence:
            raise ReleaseError(f"{sentence[:40]!r} is nothing that print_tree of pystreed writes", place=f"line {i}")
        if bool(other) != (leaf is None and first == sentence) or (other and second != other):
            raise ReleaseError("is not the other side of the test before", place=f"line {i}")
        if other:
            continue
        if parent >= 0:
            children[parent].append(len(columns))
        children.append([])
        if leaf is not None:
            columns.append(None)
            predicted.append(int(leaf[1]))
            continue
        here = len(columns)
        columns.append(_column_of(first, f"line {i}"))
        todo += [(depth + 1, here, ""), (depth, here, first), (depth + 1, here, "")]
    if todo:
        raise ReleaseError("the tree ends before all of its branches do", place="the last line")
    pairs = zip(columns, children, strict=True)
    nodes = [
        ModelNode(Support()) if c is None else ModelNode(Support(), (c,), below[1], below[0]) for c, below in pairs
    ]
    names = _tested_attributes(nodes)
    return SkeletonDraft(
        Provenance("pystreed print_tree", ("label",)),
        as_features(names),
        classes=tuple(sorted(set(predicted), key=exact)),
        label=free_label(names),
        hints=_hints(nodes),
        slack=_printed_off,
        reader_notes=(f"a printed tree of pystreed says which label is predicted where; {NO_COUNTS}",),
        skeleton=Tree(Nodes.of(nodes)),
        predicted=tuple(predicted),
    )


def _box_of(text: str, place: str) -> PrintedNode:
    """Return a node out of the lines of its label."""
    lines = html.unescape(text).split("\n")
    facts = [line.partition(" = ") for line in lines[1:]]
    stated = {key: value for key, _, value in facts}
    if len(lines) < 2 or set(stated) - {"Samples", "Class FQ"} or "Samples" not in stated:
        raise ReleaseError(f"is labelled {text[:40]!r}, not like export_dot of pystreed does it", place=place)
    counts = tuple(
        _row_count(part, place) for part in stated.get("Class FQ", "[]").strip("[]").split(",") if part.strip()
    )
    rows = _row_count(stated["Samples"], place)
    if counts and sum(counts) != rows:
        raise ReleaseError(f"has {rows} rows, and classes of {sum(counts)}", place=place)
    if lines[0].startswith("Label = "):
        return PrintedNode(None, rows, counts)
    return PrintedNode(_column_of(lines[0], place), rows, counts)


def _row_count(text: str, place: str) -> int:
    """Return a printed number of rows."""
    if not re.fullmatch(r" ?\d{1,16}", text):
        raise ReleaseError(f"holds {text[:20]!r}, which is not a number of rows", place=place)
    return count(int(text), place)


def _column_of(text: str, place: str) -> tuple[str, Test]:
    """Return what a printed column asks of which attribute: a threshold, categories, or 1 of a 0/1 column."""
    text = text.replace(" \u2264 ", " <= ")
    if " <= " in text:
        name, _, number = text.rpartition(" <= ")
        if not NUMBER.fullmatch(number) or not math.isfinite(float(number)):
            raise ReleaseError(f"compares with {number[:20]!r}, which is not a number", place=place)
        # str(threshold) of a whole number is printed in full, and an int marks it (see `printed_off`).
        return name, Test(high=int(float(number)) if number.endswith(".0") else float(number))
    for word, ends in ((" == ", ("", "")), (" in ", ("[", "]"))):
        name, found, rest = text.partition(word)
        if found and rest.startswith(ends[0]) and rest.endswith(ends[1]):
            values = _categories(rest[len(ends[0]) : len(rest) - len(ends[1])])
            if values:
                return name, Test(values=values)
    return text, equals(1)


def _categories(text: str) -> tuple[Value, ...]:
    """Return printed categories: quoted text, or numbers; none where the text is not a list of them."""
    out: list[Value] = []
    item = re.compile(r"(?:'((?:[^'\\]++|\\.)*+)'|(-?\d+(?:\.\d+)?))(?:,|$)")
    at = 0
    while at < len(text):
        found = item.match(text, at)
        if found is None:
            return ()
        number = float(found[2]) if found[2] else 0.0
        quoted = found[1].replace("\\'", "'") if found[1] is not None else None
        out.append(quoted if quoted is not None else int(number) if number.is_integer() else number)
        at = found.end()
    return tuple(dict.fromkeys(out))


def _tested_attributes(nodes: list[ModelNode]) -> list[str]:
    """Return the attributes that a tree tests."""
    return list(dict.fromkeys(node.condition[0][0] for node in nodes if node.condition))


def _hints(nodes: list[ModelNode]) -> dict[str, Categorical]:
    """Return that a column without a comparison is 0 or 1 (pystreed compares all others)."""
    asked: dict[str, set[Test]] = {}
    for node in nodes:
        if node.condition:
            asked.setdefault(node.condition[0][0], set()).add(node.condition[0][1])
    return {name: Categorical(name, (0, 1)) for name, tests in asked.items() if tests == {equals(1)}}


def _printed_off(threshold: Value) -> Fraction:
    """Return how far a printed threshold can be off (pystreed's `_dynamic_float_formatter`)."""
    if isinstance(threshold, int):
        return Fraction(0)
    size = abs(exact(threshold))
    if not Fraction(1, 10**4) < size < 10**6:  # two decimals of the mantissa
        return Fraction(5, 1000) * (size if size else Fraction(1, 10**4))
    return Fraction(5, 1000) if size >= 100 else Fraction(5, 10**7)
