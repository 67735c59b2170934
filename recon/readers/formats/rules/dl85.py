"""Trees of pydl8.5: nested dicts {"feat", "left", "right"} and leaves {"value", "error"}.

Rows with 1 in a feature go left. A leaf's error is the number of its training rows of other classes than its value,
so these are counted exactly; how many have its value is not stored. The root keeps the shares of the classes of all
rows ("proba"); with the accuracy (six digits) and the total error they often give the number of rows exactly, and so
the rows per class. Source: pydl8.5 0.1.8, pydl85/predictors/predictor.py; Aglin, Nijssen, Schaus, AAAI 2020.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from encoders.domain.domain import Condition
from encoders.domain.values import Categorical, Test, Value, equals
from encoders.models.models import Provenance, PublishedFigure, Table, Tree
from encoders.models.nodes import ModelNode, Nodes, Support
from recon.readers.formats.drafts.binding import free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.rules.plain_values import (
    MAX_PARTS,
    NO_COUNTS,
    SkeletonDraft,
    as_features,
    commonest,
    count,
    leaf_paths,
    parts,
    short_text,
)
from recon.readers.formats.sklearn.trees.trees import class_values, plain_class
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

KINDS = ("DL85Classifier",)
MAX_FEATURES = 100_000
MAX_TESTS = 200_000  # on the paths of all leaves together
PRINTED = 100_000  # errors below are printed in full, larger ones perhaps with six digits
MAX_SHARE = 10_000_000  # rows up to which a share tells its denominator
HIDDEN = "its error function was replaced: leaves say neither errors nor the commonest class"


def read(thing: Thing, form: str) -> Draft:
    """Return the draft of a fitted DL8.5 tree.

    Raises `ReleaseError` naming the place for a dict that is no tree, `Unsupported` where none was found. Cost: linear
    in the tests on all paths.
    """
    if thing.get("tree_") is None:
        raise Unsupported("the model holds no tree: its search found none (max_error, time_limit)")
    classes = class_values(thing)
    nodes, values, errors = _tree_nodes(thing.get("tree_"), classes)
    used = max((int(node.condition[0][0][1:]) for node in nodes if node.condition), default=0)
    names = [f"x{i}" for i in range(used + 1)]
    label = free_label(names)
    own = any(thing.get(f) is not None for f in ("error_function", "fast_error_function", "leaf_value_function"))
    weighted = thing.get("sample_weight")
    plain = not own and (weighted is None or (isinstance(weighted, list) and not weighted))
    totals = _class_totals(thing, errors, len(classes)) if plain else None
    figures = _statements(thing, nodes, values, errors, classes, label) if plain else []
    if totals is not None:
        groups = zip(classes, totals, strict=True)
        figures += [PublishedFigure(((label, equals(c)),), count=n, name=f"all rows of class {c}") for c, n in groups]
    n = None if totals is None else sum(totals)
    text = "a tree of DL8.5 stores how many rows of other classes a leaf holds, not how many of its own: " + NO_COUNTS
    return SkeletonDraft(
        Provenance(f"pydl8.5 {thing.class_name} ({form})", ("exact", "label")),
        as_features(names),
        (Table(tuple(figures), "tree"),) if figures else (),
        classes,
        label,
        None if n is None else RowCount(n, n),
        {name: Categorical(name, (0, 1)) for name in names},
        named=False,
        more=True,
        reader_notes=(text,) if plain else (HIDDEN,),
        skeleton=Tree(Nodes.of(nodes)),
        predicted=tuple(values[i] for i, node in enumerate(nodes) if node.condition is None),
    )


def _tree_nodes(root: Any, classes: Sequence[Value]) -> tuple[list[ModelNode], dict[int, Value], dict[int, int | None]]:
    """Return the nodes, the value of each leaf and its error (None: printed with too few digits)."""
    nodes: list[ModelNode] = []
    values: dict[int, Value] = {}
    errors: dict[int, int | None] = {}
    seen: set[int] = set()
    todo = [root]
    for i, node in enumerate(todo):  # grows while it is walked: children come behind their parents
        place = f"tree_ node {i}"
        if not isinstance(node, dict):
            raise ReleaseError("is not a node of a tree", place=place)
        if id(node) in seen:
            raise ReleaseError("is the child of two nodes: not a tree", place=place)
        seen.add(id(node))
        if "error" in node:
            values[i] = leaf_value(node.get("value"), classes, place)
            errors[i] = _leaf_error(node["error"], place)
            nodes.append(ModelNode(Support()))
            continue
        feature = node.get("feat")
        if isinstance(feature, bool) or not isinstance(feature, int) or not 0 <= feature < MAX_FEATURES:
            raise ReleaseError(f"tests feature {short_text(feature)}", place=place)
        if len(todo) + 2 > MAX_PARTS:
            raise ReleaseError(f"has more than {MAX_PARTS:,} nodes", place="tree_")
        nodes.append(ModelNode(Support(), ((f"x{feature}", equals(1)),), len(todo), len(todo) + 1))
        todo += [node.get("left"), node.get("right")]
    return nodes, values, errors


def leaf_value(value: Any, classes: Sequence[Value], place: str) -> Value:
    """Return the class of a leaf."""
    found = plain_class(value) if isinstance(value, (str, int)) else value
    if not isinstance(found, (str, int, float)) or found not in classes:
        raise ReleaseError(f"predicts {short_text(value)}, which is not a class", place=place)
    return classes[list(classes).index(found)]


def _leaf_error(value: Any, place: str) -> int | None:
    """Return the number of rows of other classes in a leaf, None where it may be rounded."""
    if isinstance(value, float) and (value >= PRINTED or value != value // 1):
        return None
    return count(value, f"{place}.error")


def _statements(
    thing: Thing,
    nodes: Sequence[ModelNode],
    values: dict[int, Value],
    errors: dict[int, int | None],
    classes: Sequence[Value],
    label: str,
) -> list[PublishedFigure]:
    """Return per leaf the rows of other classes, that its value is the commonest, and its least number of rows."""
    support = thing.get("min_sup")
    minimum = support if isinstance(support, int) and not isinstance(support, bool) else 1
    out: list[PublishedFigure] = []
    tests = 0
    for i, path in leaf_paths(nodes):
        tests += len(path)
        if tests > MAX_TESTS:
            raise ReleaseError(f"has more than {MAX_TESTS:,} tests on its paths", place="tree_")
        box = _shortened(path)
        if box is None:
            continue  # contradicts itself: no row comes here
        others = tuple(c for c in classes if c != values[i])
        error = errors[i]
        if others and error is not None:
            out.append(PublishedFigure((*box, (label, Test(values=others))), count=error, name=f"errors of leaf {i}"))
        out.append(commonest(box, label, values[i], len(classes), f"leaf {i}"))
        if minimum > 1:
            out.append(PublishedFigure(box, low=min(minimum, 1 << 53), name=f"rows of leaf {i}"))
    return out


def _shortened(path: Condition) -> Condition | None:
    """Return the tests of a path, each once; None where they contradict each other."""
    found: dict[str, Test] = {}
    for name, test in path:
        if found.setdefault(name, test) != test:
            return None
    return tuple(found.items())


def _class_totals(thing: Thing, errors: dict[int, int | None], classes: int) -> list[int] | None:
    """Return the training rows per class out of the root's shares and the printed accuracy, None if they leave doubt.

    n rows of which e are wrong have the accuracy 1 - e/n, printed to six decimals: n lies in an interval, and is a
    multiple of the common denominator of the shares.
    """
    shares = thing.get("tree_").get("proba")
    accuracy = thing.get("accuracy_")
    if not isinstance(shares, list) or len(shares) != classes or not isinstance(accuracy, float):
        return None
    known = [e for e in errors.values() if e is not None]
    exact = [r for r in map(_as_ratio, parts(shares, "shares", "tree_.proba")) if r is not None]
    if not 0 < accuracy < 1 or len(known) < len(errors) or not sum(known) or len(exact) < classes or sum(exact) != 1:
        return None
    wrong, step = sum(known), math.lcm(*(r.denominator for r in exact))
    printed = Fraction(repr(accuracy))
    slack = Fraction(1, 10**6)  # twice the last printed digit's half
    low, high = wrong / (1 - printed + slack), None if printed + slack >= 1 else wrong / (1 - printed - slack)
    first = -(-low // step)
    if high is None or (first + 1) * step <= high or first * step > high:
        return None
    n = int(first * step)
    return [int(r * n) for r in exact]


def _as_ratio(share: Any) -> Fraction | None:
    """Return the ratio of small whole numbers that a share is, None where it is none."""
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        return None
    found = Fraction(share).limit_denominator(MAX_SHARE)
    return found if found.numerator / found.denominator == share else None
