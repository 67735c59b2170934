r"""Reads the dot files that scikit-learn's `export_graphviz` writes of decision trees.

`0 [label="age <= 3.5\ngini = 0.486\nsamples = 12\nvalue = [5, 7]\nclass = a"] ;` and `0 -> 1 ;`, left child first.
Depending on its options lines are missing, bare (label='root' or 'none'), HTML (`age &le; 3.5<br/>`), or shares
(proportion=True). Every inner node prints its figures, so that a branch that max_depth cut off is a leaf here.
Against `samples` (rows that differ as rows, whatever their weight) it shows whether `value` counts rows.
What `plot_tree` returns, a list of `Text(x, y, 'label')`, has the same labels: a node, then all below it, left first.

Source: sklearn/tree/_export.py, versions 0.11 to 1.9.
"""

from __future__ import annotations

import math
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
    PLAIN_ROWS,
    LeafCounts,
    PrintedBranch,
    column_names,
    draft_of,
    is_whole,
    near,
    number,
    slack_of,
    unit,
)
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.exact import exact_number

FORMAT = "scikit-learn, export_graphviz"
PLOTTED = "scikit-learn, plot_tree"
NODE = re.compile(
    r'(\d{1,9})\s*\[\s*label=(?:"((?:[^"\\]++|\\.)*+)"|<(.*)>)\s*(?:,\s*(?:fillcolor|shape)="[^"]*"\s*)*\]\s*;?'
)
PLOT = re.compile(
    r"""\s*Text\([-\d.e]+,\s*[-\d.e]+,\s*(?:'((?:[^'\\]++|\\.)*+)'|"((?:[^"\\]++|\\.)*+)")\)\s*(?:,|\]\s*\Z)"""
)
EDGE = re.compile(r'(\d{1,9})\s*->\s*(\d{1,9})(?:\s*\[[^\]]*?(?:headlabel="(\w*)"\s*)?\])?(?:\s*;)?\s*')
OTHER = re.compile(
    r"(?:strict )?digraph\b.*\{|\}|(?:node|edge|graph)\s*\[.*\]\s*;?|rankdir=\w+\s*;?|\{rank=same.*\}\s*;?"
)
SPLIT = re.compile(r"(.*) <= (\S+)")
INDEXED = re.compile(r"[xX](?:\[|<SUB>)(\d{1,5})(?:\]|</SUB>)")
UNNAMED_CLASS = re.compile(r"y(?:\[|<SUB>)\d+(?:\]|</SUB>)")
WORDS: tuple[str, ...] = (
    "gini",
    "entropy",
    "log_loss",
    "squared_error",
    "friedman_mse",
    "absolute_error",
    "poisson",
    "mse",
    "mae",
    "error",
)
WORDS += ("impurity", "")
NUMBERED = re.compile(r"(?:node )?(?:#|&#35;)\d+")
VALUE = re.compile(r"(?:value = )?\[.*\]")
SAMPLES = re.compile(r"\d{1,15}|\d{1,3}(?:\.\d{1,20})?%")
TINY = Fraction(1, 10**12)  # what rounding a double may be off beyond half a digit
PERCENT = Fraction(6, 100)  # percentages are rounded to one decimal
OPEN = re.compile(r'\d{1,9}\s*\[\s*label="(?:[^"\\]++|\\.)*+\Z')
CUT = "(...)"
LONGEST = 100_000  # signs of a label: versions before 0.17 break a long list of counts into lines
RESAMPLED = (
    "'value' does not count the rows of 'samples': the tree was fitted with weights, on a bootstrap sample or with"
    " monotonic constraints; it is only stated that so many different rows, or more, are in every leaf"
)
RATIOS = "the file has shares instead of counts: export it with proportion=False for counts"
RATIO_ROWS = "the shares of classes are of training rows, each once and with weight 1"


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """One node as drawn: its test (feature, threshold as text), and its figures as text."""

    split: tuple[str, str] | None
    impurity: tuple[str, str] | None
    samples: str
    value: tuple[str, ...]
    name: str | None


def looks_like_dot(head: str) -> bool:
    """Return whether a text starts like a graph in the dot language, or a list that `plot_tree` returns."""
    return re.match(r"\s*(?:(?:strict\s+)?digraph\b|\[Text\()", head) is not None


def read_dot(text: str) -> Draft:
    """Return what `export_graphviz` wrote, or what `plot_tree` returned. Cost: linear in the text.

    Raises `ReleaseError` naming the line or node for what is no such tree, `Unsupported` for several outputs.
    """
    plotted = text.lstrip("\ufeff \t\r\n").startswith("[")
    boxes, children = _plotted_boxes(text.lstrip("\ufeff \t\r\n")) if plotted else _parse_graph(text)
    order = _in_order(boxes, children)
    place = {node: i for i, node in enumerate(order)}
    shown = [boxes[i] for i in order]
    digit = _finest(shown)
    facts, names, kind, remarks = _facts_of(shown, [[place[c] for c in children.get(i, ())] for i in order], digit)
    nodes, thresholds = [], []
    for i, box, fact in zip(order, shown, facts, strict=True):
        split = box.split if i in children else None
        if split is None:
            nodes.append(PrintedBranch(fact))
            continue
        x = number(split[1], f"node {i}")
        thresholds.append((split[0], x, digit))
        then, otherwise = (place[c] for c in children[i])
        nodes.append(PrintedBranch(LeafCounts(), split[0], Test(high=x), Test(low=x, low_open=True), then, otherwise))
    notes = {"exact": (PLAIN_ROWS,), "size": (PLAIN_ROWS,), "ratio": (RATIO_ROWS,)}.get(kind, ())
    found = draft_of(nodes, names, Provenance(PLOTTED if plotted else FORMAT, (kind,), (*notes, MIDPOINTS, NO_MISSING)))
    if None in names:
        remarks.append("the file does not name every class: a domain whose label has as many values names the others")
    if any(box.split is not None and i not in children for i, box in zip(order, shown, strict=True)):
        remarks.append("the tree was cut off by max_depth: its inner nodes are read as leaves there")
    features, named = _numbered(found.features)
    return replace(
        found,
        features=features,
        named=named,
        more=not named,
        single=True,
        slack=slack_of(thresholds),
        finer=f"{'plot' if plotted else 'write'} it with precision=10",
        reader_notes=tuple(remarks),
    )


def _numbered(features: Sequence[Feature]) -> tuple[tuple[Feature, ...], bool]:
    """Return the features, those up to the last where the file only numbers them (x[3]), and whether it names them."""
    found = [INDEXED.fullmatch(f.name) for f in features]
    if not found or None in found:
        return tuple(features), True
    mark = features[0].name.partition(str(found[0][1]) if found[0] else "")
    last = max(int(m[1]) for m in found if m is not None)
    return tuple(Feature(f"{mark[0]}{k}{mark[2]}", f"x[{k}]") for k in range(last + 1)), False


def _parse_graph(text: str) -> tuple[dict[int, DrawnNode], dict[int, list[int]]]:
    """Return the boxes and the two children of every inner one; branches that were cut off are left out."""
    boxes: dict[int, DrawnNode] = {}
    children: dict[int, list[int]] = {}
    cut: set[int] = set()
    held = ""
    for line, raw in enumerate(text.splitlines(), 1):
        content, place = f"{held}{raw.strip()}", f"line {line}"
        held = ""
        if not content or OTHER.fullmatch(content):
            continue
        if node := NODE.fullmatch(content):
            i = int(node[1])
            if i in boxes or i in cut:
                raise ReleaseError(f"node {i} stands twice", place=place)
            label = node[2] if node[2] is not None else node[3]
            if label == CUT:
                cut.add(i)
            else:
                boxes[i] = _box_of(label, node[3] is not None, place)
        elif edge := EDGE.fullmatch(content):
            both = children.setdefault(int(edge[1]), [])
            both.insert(0 if edge[3] == "True" else len(both), int(edge[2]))
        elif len(content) < LONGEST and OPEN.match(content):
            held = f"{content} "
        else:
            raise ReleaseError(f"'{content[:60]}' is nothing that export_graphviz writes", place=place)
    _check_links(boxes, children, cut)
    return boxes, children


def _plotted_boxes(text: str) -> tuple[dict[int, DrawnNode], dict[int, list[int]]]:
    """Return the boxes of a list of `plot_tree` and their children: a node with a test has the next two below it."""
    boxes: dict[int, DrawnNode] = {}
    children: dict[int, list[int]] = {}
    cut: set[int] = set()
    at, k = 1, 0
    waiting: list[int] = []
    while at < len(text):
        found = PLOT.match(text, at)
        if found is None:
            raise ReleaseError(f"'{text[at : at + 60].strip()}' is nothing that plot_tree returns", place=f"node {k}")
        at = found.end()
        label = (found[1] if found[1] is not None else found[2]).replace("\\'", "'")
        if label.strip() in {"True", "False"}:  # on the edges, from 1.5 on
            continue
        if k and not waiting:
            raise ReleaseError("hangs on no node", place=f"node {k}")
        if waiting:
            both = children[waiting[-1]]
            both.append(k)
            waiting = waiting[:-1] if len(both) == 2 else waiting
        if label.replace("\\n", " ").strip() == CUT:
            cut.add(k)
        else:
            boxes[k] = _box_of(label, False, f"node {k}")
            if boxes[k].split is not None:
                children[k] = []
                waiting.append(k)
        k += 1
    _check_links(boxes, children, cut)
    return boxes, children


def _check_links(boxes: Mapping[int, DrawnNode], children: dict[int, list[int]], cut: set[int]) -> None:
    """Refuse tests without two children; drop the edges to branches that were cut off."""
    ended = set()
    for i, pair in list(children.items()):
        if i not in boxes:
            raise ReleaseError("has children but is not drawn", place=f"node {i}")
        if len(pair) != 2 or boxes[i].split is None:
            raise ReleaseError(f"has {len(pair)} children, not a test and two of them", place=f"node {i}")
        if set(pair) <= cut:
            del children[i]
            ended.add(i)
            cut -= set(pair)
    if cut:
        raise ReleaseError(f"node {min(cut)} was cut off, but not the other child of its parent")
    lone = next((i for i, b in boxes.items() if b.split is not None and i not in children and i not in ended), None)
    if lone is not None:
        raise ReleaseError("has a test but no children", place=f"node {lone}")


def _in_order(boxes: Mapping[int, DrawnNode], children: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the nodes from the root on; `ReleaseError` where the edges make no tree of all boxes."""
    linked = {c for pair in children.values() for c in pair}
    roots = [i for i in boxes if i not in linked]
    if len(roots) != 1:
        raise ReleaseError(f"the file draws {len(roots)} trees, not one" if boxes else "the file draws no tree")
    out, seen, stack = [], set(roots), roots
    while stack:
        i = stack.pop()
        if i not in boxes:
            raise ReleaseError("is not drawn", place=f"node {i}")
        out.append(i)
        for child in reversed(children.get(i, ())):
            if child in seen:
                raise ReleaseError("has two parents", place=f"node {child}")
            seen.add(child)
            stack.append(child)
    if len(out) != len(boxes):
        raise ReleaseError(f"{len(boxes) - len(out)} nodes hang on no root")
    return out


def _box_of(label: str, markup: bool, place: str) -> DrawnNode:
    """Return a node's figures; words before them may be missing, so that their form and order tell them apart."""
    if markup:
        lines = [part.replace(" &le; ", " <= ") for part in label.split("<br/>")]
    else:
        lines = [part.replace('\\"', '"') for part in label.split("\\n")]
    if any(part.removeprefix("value = ").startswith("[[") for part in lines):
        raise Unsupported(f"{place}: a tree with several outputs is not read")
    lines = _joined_lines(lines)
    if lines and NUMBERED.fullmatch(lines[0]):
        lines = lines[1:]
    at = next((k for k, part in enumerate(lines) if VALUE.fullmatch(part)), len(lines) - 1)
    value = lines[at].removeprefix("value = ") if lines else ""
    if at < 1 or not (value.startswith("[") or NUMBER.fullmatch(value)):
        raise ReleaseError("a node needs 'samples' and 'value'", place=place)
    if "..." in value:
        raise Unsupported(f"{place}: counts of so many classes are abridged: read the stored model instead")
    texts = tuple(part for part in re.split(r"[,\s]+", value.strip("[]")) if part)
    samples = lines[at - 1].removeprefix("samples = ")
    if not SAMPLES.fullmatch(samples) or not all(NUMBER.fullmatch(part) and len(part) < 400 for part in texts):
        raise ReleaseError(f"'{lines[at - 1][:40]}' and '{lines[at][:40]}' are no figures of a node", place=place)
    name = lines[at + 1].removeprefix("class = ") if len(lines) > at + 1 else None
    split, impurity = _test_of(lines[: at - 1], place)
    classes = texts if value.startswith("[") else ()
    return DrawnNode(
        split, impurity, samples, classes, None if name is not None and UNNAMED_CLASS.fullmatch(name) else name
    )


Pair = tuple[str, str]


def _test_of(lines: Sequence[str], place: str) -> tuple[Pair | None, Pair | None]:
    """Return the test (feature, threshold) and the impurity (word, figure) of a node, None where not printed."""
    split, impurity = None, None
    for part in lines:
        word, _, figure = part.rpartition(" = ")
        if (found := SPLIT.fullmatch(part)) and split is None and impurity is None:
            split = found[1], found[2]
        elif word in WORDS and NUMBER.fullmatch(figure) and impurity is None:
            impurity = word, figure
        else:
            raise ReleaseError(f"'{part[:60]}' is not a figure of a node", place=place)
    return split, impurity


def _joined_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines of a label, a list of counts that runs over several of them as one."""
    out: list[str] = []
    for part in lines:
        if out and re.match(r"(?:value = )?\[", out[-1]) and not out[-1].endswith("]"):
            out[-1] += f", {part}"
        else:
            out.append(part)
    return out


def _finest(boxes: Sequence[DrawnNode]) -> Fraction:
    """Return one unit of the last digit that the file prints: all its figures are rounded to the same one or finer."""
    texts = [t for b in boxes for t in (*b.value, *(b.impurity or ())[1:], *(b.split or ())[1:]) if NUMBER.fullmatch(t)]
    return min((u for t in texts if (u := unit(t)) < 1), default=Fraction(1))


Found = tuple[list[LeafCounts], tuple[Value | None, ...], CountKind, list[str]]


def _facts_of(boxes: Sequence[DrawnNode], children: Sequence[Sequence[int]], digit: Fraction) -> Found:
    """Return what the nodes say, the names of the columns of `value`, the kind of counts, what to tell the user."""
    width = len(boxes[0].value)
    odd = next((i for i, b in enumerate(boxes) if len(b.value) != width), None)
    if odd is not None:
        raise ReleaseError(f"has {len(boxes[odd].value)} counts, another node {width}", place=f"node {odd}")
    percent = boxes[0].samples.endswith("%")
    if any(b.samples.endswith("%") is not percent for b in boxes):
        raise ReleaseError("some nodes have numbers of samples, others percentages")
    values = [tuple(exact_number(t) for t in b.value) for b in boxes]
    if any(v < 0 for row in values for v in row):
        raise ReleaseError("a 'value' is negative")
    if percent:
        return _shares_of(boxes, children, values, digit)
    sizes = [int(b.samples) for b in boxes]
    if not width:
        return [LeafCounts((n, n)) for n in sizes], (), "size", ["a regression tree: only its numbers of rows are read"]
    shares = sizes[0] > 1 and all(near(sum(row), 1, digit * width) for row in values)
    counts = [_class_ranges(row, n, digit, shares) for row, n in zip(values, sizes, strict=True)]
    plain = all(c is not None for c in counts) and all(
        _of_counts(b.impurity, c, digit) for b, c in zip(boxes, counts, strict=True) if c is not None
    )
    names = column_names(((v, b.name) for v, b in zip(values, boxes, strict=True)), width, ties=plain and not shares)
    if not plain:
        # A class with weight in a leaf has a row there, unless monotonic constraints clipped two classes' shares.
        clipped = width == 2 and all(near(sum(row), n, digit) for row, n in zip(values, sizes, strict=True))
        some = [() if clipped else tuple((k, (1, None)) for k, v in enumerate(row) if v) for row in values]
        return [LeafCounts((n, None), s) for n, s in zip(sizes, some, strict=True)], names, "distinct", [RESAMPLED]
    facts = [LeafCounts((n, n), tuple(enumerate(c))) for n, c in zip(sizes, counts, strict=True) if c is not None]
    return facts, names, "exact", []


def _class_ranges(row: Sequence[Fraction], n: int, digit: Fraction, shares: bool) -> list[tuple[int, int]] | None:
    """Return between which numbers the rows of each class lie, None where `row` is no counts of n rows.

    Shares were rounded to the digit; counts are whole.
    """
    if not shares:
        counts = [round(v) for v in row]
        return [(c, c) for c in counts] if all(is_whole(v, n) for v in row) and sum(counts) == n else None
    off = digit / 2 + TINY
    found = [(max(0, math.ceil(n * (v - off))), min(n, math.floor(n * (v + off)))) for v in row]
    # Where no number lies in an interval, none has two: the least ones add up to more than the greatest then.
    return found if sum(low for low, _ in found) <= n <= sum(high for _, high in found) else None


def _of_counts(impurity: Pair | None, counts: Sequence[tuple[int, int]], digit: Fraction) -> bool:
    """Return whether a printed impurity may be that of the counts (of monotonic constraints it is not)."""
    n = sum(low for low, _ in counts)
    if n == 0 or any(low != high for low, high in counts):
        return True
    return _of_shares(impurity, [Fraction(low, n) for low, _ in counts], Fraction(0), digit)


def _of_shares(impurity: Pair | None, shares: Sequence[Fraction], off: Fraction, digit: Fraction) -> bool:
    """Return whether a printed impurity may be that of shares, each known to within `off`."""
    if impurity is None or impurity[0] not in {"gini", "entropy", "log_loss"}:
        return True
    printed, wide = float(exact_number(impurity[1])), float(off)
    if impurity[0] == "gini":
        found, loose = 1 - float(sum(p * p for p in shares)), 2 * wide * len(shares)
    else:
        found = -sum(float(p) * math.log2(p) for p in shares if p)
        loose = len(shares) * wide * -math.log2(wide) if 0 < wide < 1 else wide * len(shares)
    return abs(found - printed) <= loose + float(digit) / 2 + 1e-6


def _shares_of(
    boxes: Sequence[DrawnNode], children: Sequence[Sequence[int]], values: Sequence[Sequence[Fraction]], digit: Fraction
) -> Found:
    """Return the shares of classes, where the nodes' shares of all rows agree with them; else only that rows exist.

    With weights or bootstrap samples a node's classes are not the mean of its children's, weighted by samples.
    """
    width, off = len(values[0]), digit / 2 + TINY
    size = [exact_number(b.samples.removesuffix("%")) for b in boxes]
    plain = all(near(sum(row), 1, off * width) for row in values)
    plain = plain and all(_of_shares(b.impurity, row, off, digit) for b, row in zip(boxes, values, strict=True))
    for i, pair in enumerate(children):
        for k in range(width if pair else 0):
            three = (i, *pair)
            parts = sum(size[j] * values[j][k] for j in pair)
            loose = sum(PERCENT * values[j][k] + (size[j] + PERCENT) * off for j in three)
            plain = plain and near(parts, size[i] * values[i][k], Fraction(loose))
    names = column_names(((v, b.name) for v, b in zip(values, boxes, strict=True)), width, ties=False)
    if not plain:
        some = [tuple((k, (1, None)) for k, v in enumerate(row) if v and width > 2) for row in values]
        return [LeafCounts((1, None), s) for s in some], names, "label", [RESAMPLED.partition(";")[0]]
    within = float(off)
    each = [tuple((k, float(v), within) for k, v in enumerate(row)) for row in values]
    return [LeafCounts((1, None), (), s) for s in each], names, "ratio", [RATIOS]
