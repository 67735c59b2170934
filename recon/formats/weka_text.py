"""Trees as Weka's J48 and Quinlan's C5.0 print them: every leaf with its class, its rows, and how many are of others.

    Petal.Width <= 1.7: versicolor (48.0/1.0)

Fractions of rows stand there where values were missing: such a tree is refused. Nominal attributes have a branch per
value. Sources: Weka, weka.classifiers.trees.j48.ClassifierTree; Quinlan, C5.0 Release 2.07, formrules.c and trees.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from encoders.domain.values import Listed, Test, Value
from encoders.models.models import Provenance
from recon.formats.drafts.drafts import Draft
from recon.formats.printed.printed_trees import (
    MIDPOINTS,
    NO_MISSING,
    Branch,
    LeafCounts,
    draft_of,
    number,
    slack_of,
    unit,
    values_of,
)
from solvers.foundation.errors import ReleaseError, Unsupported

LINE = re.compile(r"(?P<feature>.+?) (?P<how><=|>|<|>=|=|in) (?P<value>\{[^}]*\}|[^:]+?)(?:: (?P<leaf>.+))?:?")
LEAF = re.compile(r"(?P<name>.+?) \((?P<rows>[\d.]+)(?:/(?P<wrong>[\d.]+))?\)")
INDENT = re.compile(r"(?:\|   |:   |    |:\.\.\.)*")
MAX_LINES = 200_000
PLAIN = "every row was given to the learner once and with weight 1"


@dataclass
class Printed:
    """A printed branch: its test, and its leaf or the branches below."""

    feature: str
    test: Test
    place: str
    rows: int = 0
    wrong: int = 0
    name: str | None = None
    below: list[Printed] = field(default_factory=list)


def looks_like_weka(head: str) -> bool:
    """Return whether a text is a tree of J48 or C5.0."""
    return head.lstrip().startswith(("J48 pruned tree", "J48 unpruned tree")) or "C5.0 [Release" in head


def read_weka(text: str) -> Draft:
    """Return what a printed tree of J48 or C5.0 says. Cost: linear in the text.

    Raises `ReleaseError` naming the line for what is none, `Unsupported` for fractions of rows, rules and boosting.
    """
    form = "C5.0, printed tree" if "C5.0 [Release" in text else "Weka J48, printed tree"
    thresholds: list[tuple[str, float, object]] = []
    top = branches(text, thresholds)
    if not top:
        raise Unsupported("the text has no tree with a split: rules (PART, C5.0 rules) overlap and are not read")
    names = values_of(name for name in leaves_of(top))
    place = {name: k for k, name in enumerate(names)}
    nodes: list[Branch] = []
    grow(top, nodes, place)
    notes = (PLAIN, MIDPOINTS, NO_MISSING)
    exact = all(n.feature or all(low == high for _, (low, high) in n.facts.classes) for n in nodes)
    origin = Provenance(form, ("exact",) if exact else ("size",), notes)
    found = draft_of(nodes, tuple(names.values()), origin, ordered=False)
    seen: dict[str, dict[str, None]] = {}
    for n in nodes:
        if n.feature is not None and n.test.values is not None:
            values = (*n.test.values, *(n.other.values or ()))
            seen.setdefault(n.feature, {}).update(dict.fromkeys(map(str, values)))
    hints = {name: Listed(name, tuple(values)) for name, values in seen.items()}
    return replace(found, slack=slack_of(thresholds), hints=hints, finer="print more digits")  # type: ignore[arg-type]


def leaves_of(branches: list[Printed]) -> list[str]:
    """Return the classes of the leaves, in order."""
    out, todo = [], list(reversed(branches))
    while todo:
        one = todo.pop()
        todo += reversed(one.below)
        out += [] if one.name is None else [one.name]
    return out


def branches(text: str, thresholds: list[tuple[str, float, object]]) -> list[Printed]:
    """Return the topmost branches of the printed tree."""
    top: list[Printed] = []
    path: list[Printed] = []
    begun = False
    start = re.search(r"^(?:Decision tree:|J48 .*tree)$", text, re.MULTILINE)
    skipped = 0 if start is None else text.count("\n", 0, start.end())
    lines = text.splitlines()[skipped:]
    if len(lines) > MAX_LINES:
        raise ReleaseError(f"the text has more than {MAX_LINES:,} lines")
    for k, line in enumerate(lines, start=skipped + 1):
        indent = INDENT.match(line)
        body = line[indent.end() :].strip() if indent is not None else ""
        found = LINE.fullmatch(body)
        if found is None or (not begun and indent is not None and indent.end()):
            if begun and not body and "Trial" not in line:
                break
            continue
        begun = True
        depth = (indent.end() if indent is not None else 0) // 4
        if depth > len(path):
            raise ReleaseError("is indented deeper than its parent", place=f"line {k}")
        one = Printed(found["feature"].strip(), test_of(found, k, thresholds), f"line {k}")
        if found["leaf"] is not None:
            leaf(one, found["leaf"].strip())
        del path[depth:]
        (path[-1].below if path else top).append(one)
        path.append(one)
    return top


def test_of(found: re.Match[str], k: int, thresholds: list[tuple[str, float, object]]) -> Test:
    """Return the test of a branch."""
    how, value = found["how"], found["value"].strip()
    if how == "in":
        return Test(values=tuple(v.strip() for v in value.strip("{}").split(",")))
    if how == "=":
        return Test(values=(value,))
    x = number(value, f"line {k}")
    thresholds.append((found["feature"].strip(), x, unit(value)))
    return {
        "<=": Test(high=x),
        "<": Test(high=x, high_open=True),
        ">": Test(low=x, low_open=True),
        ">=": Test(low=x),
    }[how]


def leaf(one: Printed, text: str) -> None:
    """Read the class and the numbers of a leaf."""
    found = LEAF.fullmatch(text)
    if found is None:
        raise ReleaseError(f"{text[:40]!r} is no class with numbers of rows", place=one.place)
    rows, wrong = float(found["rows"]), float(found["wrong"] or 0)
    if rows != int(rows) or wrong != int(wrong):
        raise Unsupported(f"{one.place}: {text[:40]} has fractions of rows: values were missing, no rows are counted")
    if wrong > rows:
        raise ReleaseError(f"{text[:40]!r} has more wrong rows than rows", place=one.place)
    one.rows, one.wrong, one.name = int(rows), int(wrong), found["name"]


def grow(branches: list[Printed], nodes: list[Branch], place: dict[str, int]) -> None:
    """Add the nodes of branches that exclude each other: a branch per value becomes a chain of splits."""
    todo: list[tuple[list[Printed], int, bool]] = [(branches, -1, False)]
    while todo:
        group, parent, then = todo.pop()
        here = len(nodes)
        if parent >= 0:
            old = nodes[parent]
            nodes[parent] = replace(old, then=here) if then else replace(old, otherwise=here)
        if len(group) == 1:
            one = group[0]
            if one.below:
                todo.append((one.below, parent, then))
            else:
                nodes.append(Branch(counts(one, place)))
            continue
        first, rest = group[0], group[1:]
        if any(b.feature != first.feature for b in rest):
            raise ReleaseError("stands beside a test of another attribute", place=first.place)
        values: tuple[Value, ...] = tuple(v for b in rest for v in b.test.values or ())
        other = Test(values=values) if first.test.values is not None else rest[0].test
        nodes.append(Branch(LeafCounts(), first.feature, first.test, other))
        todo += [(rest, here, False), ([first], here, True)]


def counts(one: Printed, place: dict[str, int]) -> LeafCounts:
    """Return what a leaf says: its rows, those of its class, and up to how many there are of any other."""
    if one.name is None:
        raise ReleaseError("has neither a leaf nor branches below", place=one.place)
    own = place[one.name]
    right = one.rows - one.wrong
    classes = tuple((k, (right, right) if k == own else (0, one.wrong)) for k in range(len(place)))
    return LeafCounts((one.rows, one.rows), classes)
