"""Trees that Orange prints: `print(model.print_tree())`, the rows of each class in every branch.

A line is a branch: its rows per class, four spaces for every level, then the attribute that its node tests and what
leads here: `≤ 4.9`, `> 4.9`, a value, or values as "a, b or c". The root has no line, and no class has a name: they
stand in the order of the class variable, which is that of the alphabet where Orange read a table. Where an attribute's
name ends is seen where the branches of one node begin to differ.

Source: Orange 3.40, Orange/tree.py (`TreeModel.print_tree`, `_set_child_descriptions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from encoders.domain.values import Categorical, Test
from encoders.models.models import Provenance
from recon.readers.formats.printed.printed_trees import (
    NO_MISSING,
    ONE_TREE,
    LeafCounts,
    PrintedBranch,
    PrintedDraft,
    draft_of,
    number,
)
from recon.readers.formats.rules.plain_values import MAX_PARTS, count
from solvers.foundation.errors import ReleaseError, Unsupported

FORMAT = "Orange, printed tree"
ORDER = (
    "classes are in the order of their names, numbers by size: so does Orange where it read them from a table, not"
    " where somebody listed the values"
)
DIGITS = "thresholds are written with all their digits: Orange prints as many as it keeps for the values of a column"
LEVELS = "where no domain is declared, categorical attributes have the values that the file names and no others"
LINE = re.compile(r" {0,19}\[([ 0-9.e+-]{2,400})\]((?: {4})*) (\S[^\n]{0,2000})")
COUNTS = re.compile(r"(?: *\d{1,16}\.)+")
THRESHOLD = re.compile(r"(.+) ([≤>]) (\S+)")
HEAD = re.compile(r"\[[ \d.e+-]{3,400}\] {1,400}\S")
MAX_BRANCHES = 1_000  # of a node: each is compared with all behind it


@dataclass(frozen=True)
class OrangeBranch:
    """A printed line: rows per class, what it says behind them, the branches below it."""

    counts: tuple[int, ...]
    text: str
    place: str
    below: list[OrangeBranch]


def looks_like_orange(head: str) -> bool:
    """Return whether a text starts like what `print_tree` of Orange returns."""
    return HEAD.match(head.lstrip()) is not None


def read_orange(text: str) -> PrintedDraft:
    """Return the draft of a tree that Orange printed: exact counts per class. Cost: linear in the text.

    Raises `ReleaseError` naming the line that is none of such a tree, `Unsupported` where rows stopped at inner nodes.
    """
    root = _branches_of(text)
    nodes: list[PrintedBranch] = []
    levels: dict[str, dict[str, None]] = {}
    todo: list[tuple[OrangeBranch, int, str]] = [(root, -1, "")]  # a branch, and which child of which node it is
    while todo:
        branch, parent, side = todo.pop()
        if parent >= 0:
            node, here = nodes[parent], len(nodes)
            nodes[parent] = replace(node, then=here) if side == "then" else replace(node, otherwise=here)
        if not branch.below:
            facts = tuple((k, (n, n)) for k, n in enumerate(branch.counts))
            nodes.append(PrintedBranch(LeafCounts((sum(branch.counts),) * 2, facts)))
            continue
        feature, tests = _split_of(branch.below)
        for k, test in enumerate(tests[:-1]):  # a branch after the other: each node parts one from those behind it
            rest = tests[k + 1] if test.values is None else Test(values=_values(tests[k + 1 :]))
            if k:
                nodes[-1] = replace(nodes[-1], otherwise=len(nodes))
            nodes.append(PrintedBranch(LeafCounts(), feature, test, rest))
            todo.append((branch.below[k], len(nodes) - 1, "then"))
        todo.append((branch.below[-1], len(nodes) - 1, "otherwise"))
        if tests[0].values is not None:
            levels.setdefault(feature, {}).update(dict.fromkeys(map(str, _values(tests))))
    notes = (ONE_TREE, NO_MISSING, ORDER, DIGITS, *((LEVELS,) if levels else ()))
    found = draft_of(nodes, (None,) * len(root.counts), Provenance(FORMAT, ("exact",), notes))
    hints = {name: Categorical(name, tuple(values)) for name, values in levels.items()}
    return replace(found, hints=hints)


def _values(tests: Sequence[Test]) -> tuple[str, ...]:
    """Return all values that some tests name."""
    return tuple(str(v) for test in tests for v in test.values or ())


def _branches_of(text: str) -> OrangeBranch:
    """Return the root with all branches below it, rows summed where nothing is printed of it."""
    path = [OrangeBranch((), "", "the root", [])]
    for i, line in enumerate(text.strip("\n").split("\n"), start=1):
        found = LINE.fullmatch(line.rstrip("\r"))
        if found is None:
            raise ReleaseError(f"{line[:60]!r} is no branch of a tree that Orange printed", place=f"line {i}")
        if COUNTS.fullmatch(found[1].rstrip()) is None:
            why = f"[{found[1][:40]}] are no numbers of rows per class: a regression, or rows with weights"
            raise Unsupported(f"line {i}: {why}; give the leaves as a table of counts (CSV)")
        counts = tuple(count(int(n.rstrip(".")), f"line {i}") for n in found[1].split())
        level = len(found[2]) // 4
        if i > MAX_PARTS:
            raise ReleaseError(f"has more than {MAX_PARTS:,} lines", place=f"line {i}")
        if level >= len(path) or (len(path) > 1 and len(counts) != len(path[1].counts)):
            raise ReleaseError("is at no place of the tree, or has another number of classes", place=f"line {i}")
        del path[level + 1 :]
        branch = OrangeBranch(counts, found[3], f"line {i}", [])
        path[level].below.append(branch)
        path.append(branch)
    first = path[0].below
    root = replace(path[0], counts=tuple(map(sum, zip(*(one.counts for one in first), strict=True))))
    for one in _all_branches(root):
        if one.below:
            _check_sums(one)
    return root


def _all_branches(root: OrangeBranch) -> Iterator[OrangeBranch]:
    """Yield a branch and all below it."""
    todo = [root]
    while todo:
        one = todo.pop()
        yield one
        todo += one.below


def _check_sums(branch: OrangeBranch) -> None:
    """Refuse a node with one branch, or whose branches have other rows than it has."""
    if not 1 < len(branch.below) <= MAX_BRANCHES:
        many = "one branch only" if len(branch.below) == 1 else f"more than {MAX_BRANCHES:,} branches"
        raise ReleaseError(f"has {many}", place=branch.place)
    for mine, below in zip(branch.counts, zip(*(one.counts for one in branch.below), strict=True), strict=True):
        if sum(below) > mine:
            raise ReleaseError(f"has {mine} rows of a class, its branches {sum(below)}", place=branch.place)
        if sum(below) < mine:
            left = mine - sum(below)
            stop = "row stops" if left == 1 else "rows stop"
            raise Unsupported(f"{branch.place}: {left:,} {stop} here (missing values): not read")


def _split_of(below: Sequence[OrangeBranch]) -> tuple[str, tuple[Test, ...]]:
    """Return the attribute that the branches of a node test, and what leads to each."""
    found = [THRESHOLD.fullmatch(one.text) for one in below]
    if len(below) == 2 and found[0] is not None and found[1] is not None:
        if (found[0][1], found[0][2], found[0][3]) != (found[1][1], "≤", found[1][3]) or found[1][2] != ">":
            raise ReleaseError(f"{below[0].text[:40]!r} and {below[1].text[:40]!r} are no split", place=below[0].place)
        x = number(found[0][3], below[0].place)
        return found[0][1], (Test(high=x), Test(low=x, low_open=True))
    texts = [one.text for one in below]
    alike = next((k for k, some in enumerate(zip(*texts, strict=False)) if len(set(some)) > 1), min(map(len, texts)))
    end = texts[0].rfind(" ", 0, alike + 1)
    if end < 1:
        raise ReleaseError(f"{texts[0][:40]!r} and {texts[1][:40]!r} test no attribute together", place=below[0].place)
    values = [tuple(re.split(r", | or ", text[end + 1 :])) if len(below) == 2 else (text[end + 1 :],) for text in texts]
    every = [v for some in values for v in some]
    if "" in every or len(set(every)) < len(every) or "(unreachable)" in every:
        raise ReleaseError(f"the values of {texts[0][:end][:40]!r} do not part", place=below[0].place)
    return texts[0][:end], tuple(Test(values=some) for some in values)
