"""Printed trees as drafts: what the leaves say, under names of classes that the text may not give.

Text leaves out the names of classes that are nowhere the commonest, digits of thresholds, and whether rows were
weighted or drawn with replacement. What cannot be recovered exactly is stated as less: an interval, "at least one row
of this class", or nothing. Serves the readers of `export_text`, of dot files and of rpart's output.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from encoders.domain.domain import Condition
from encoders.domain.values import AnyAttribute, Categorical, Continuous, Test, Value, equals, exact, is_number
from encoders.models.models import AnyModel, Forest, Provenance, PublishedFigure, Statistic, Table, Tree
from encoders.models.nodes import ModelNode, Nodes, Support
from encoders.parts.base import MAX_ROWS
from recon.readers.formats.drafts.binding import Binder, Feature, border, comparison, free_label
from recon.readers.formats.drafts.drafts import Draft, bind, copies_note, divided
from solvers.foundation.errors import ReleaseError, TooLarge, Unsupported
from solvers.statements.release import RowCount

MAX_TESTS = 5_000_000  # tests on all paths together, where leaves are stated one by one
NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
PLAIN_ROWS = (
    "the tree was fitted on all training rows, each once and with weight 1 (not a tree of a bootstrap forest), without"
    " monotonic constraints"
)
ONE_TREE = f"{PLAIN_ROWS}; one tree of a forest: recon convert --from-forest"
ONE_MEMBER = (
    "the tree is one of a forest, fitted on a bootstrap sample: its counts are of drawn rows, and rows that it did not"
    " draw may be in any leaf"
)
MIDPOINTS = (
    "thresholds lie half-way between two neighbouring values of the rows they split, as learners of the best split put"
    " them: no row lies on one, so that a value which its printed digits leave open is read as written"
)
NO_MISSING = (
    "no value of a feature that the tree tests was missing (the file does not say where such rows went); where a"
    " declared domain allows it, leaves only bound their rows without missing values"
)

ANY = Test()
Threshold = tuple[str, float, Fraction]  # feature, number, one unit of its last printed digit
Interval = tuple[int, int | None]  # at least, at most (None: no limit)


@dataclass(frozen=True, slots=True)
class LeafCounts:
    """What a printed leaf says: rows, rows per class (by column), shares of classes (value, within)."""

    size: Interval = (0, None)
    classes: tuple[tuple[int, Interval], ...] = ()
    shares: tuple[tuple[int, Value, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class PrintedBranch:
    """A node of a printed tree: a leaf with facts, or a feature, its test and the test of the other side."""

    facts: LeafCounts = LeafCounts()
    feature: str | None = None
    test: Test = ANY
    other: Test = ANY
    then: int = -1
    otherwise: int = -1


@dataclass(frozen=True)
class PrintedDraft(Draft):
    """A draft some of whose classes the file does not name: bound to a label that leaves no doubt, it says all.

    `names` has the name of every column of counts, None where unknown; `ordered`: the columns are sorted by name.
    `finer`: how to print it with all digits of the thresholds; `member`: the tree counts rows of a bootstrap sample.
    """

    nodes: tuple[PrintedBranch, ...] = ()
    names: tuple[Value | None, ...] = ()
    ordered: bool = False
    finer: str = ""
    member: bool = False

    def of_forest(self) -> PrintedDraft:
        """Return what the text says of one tree of a bootstrap forest: whole counts are of drawn rows.

        Raises `Unsupported` for texts of trees that are in no forest, and of such that say how rows were drawn.
        """
        if ONE_TREE not in self.origin.notes and self.origin.counts not in {("ratio",), ("label",)}:
            super().of_forest()
        kept = tuple(note for note in self.origin.notes if note in {MIDPOINTS, NO_MISSING})
        counted = self.origin.counts == ("exact",)
        nodes = self.nodes if counted else tuple(map(_least_one, self.nodes))
        origin = replace(self.origin, counts=("bag",) if counted else ("label",), notes=(ONE_MEMBER, *kept))
        found = draft_of(nodes, self.names, origin, self.label, self.ordered)
        rows = RowCount(_total(n.facts.size for n in map(_least_one, self.nodes) if n.feature is None)[0])
        return replace(self, models=found.models, nodes=tuple(nodes), origin=origin, rows=rows, member=counted)

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the models over the binder's domain, with the classes that its label allows to name."""
        try:
            return self.named_models(binder)
        except ReleaseError as error:
            message = error.message.replace("print more digits", self.finer or "print more digits")
            raise ReleaseError(message, place=error.place, file=error.file) from None

    def named_models(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the models over the binder's domain; see `bound`."""
        bind_counts(self, binder)
        label, names = binder.domain.label, self.names
        if label is not None and None in names:
            values = [v for i in range(label.known[1]) if (v := label.value(i)) is not None]
            names = _named_by(names, values, self.ordered)
            place = {str(name): k for k, name in enumerate(names)} | {name: k for k, name in enumerate(names)}
            binder.order = [place.get(v, place.get(str(v))) for v in values] + [None] * label.missing
        elif label is None:
            names = (None,) * len(names)
        found = _models_of(self.nodes, names, self.label)
        if any(getattr(a, "missing", False) for a in _tested(self, binder)):
            nodes = tuple(map(_least_one, self.nodes)) if self.member else self.nodes
            found = (Table((*_totals(nodes, names, self.label), *_upper(nodes, names, self.label))),)
        if self.member:
            found = tuple(Forest(one.members(), bootstrap=True) for one in found if one.members()) or found
        return tuple(replace(bind(model, binder), origin=self.origin) for model in found)


def _least_one(node: PrintedBranch) -> PrintedBranch:
    """Return a node that only says which classes have a row in it: each that has a count does."""
    classes = tuple((k, (1, None)) for k, (_, high) in node.facts.classes if high is None or high > 0)
    return replace(node, facts=LeafCounts((len(classes), None), classes))


def _tested(draft: PrintedDraft, binder: Binder) -> Iterator[AnyAttribute]:
    """Yield the attributes behind the features that the tree tests."""
    for name in {n.feature for n in draft.nodes if n.feature is not None}:
        at = binder.features[name].attribute if name in binder.features else name
        view = binder.domain.columns.get(at)
        k = binder.domain.place.get(at if view is None else view.attribute)
        if k is not None:
            yield binder.domain.all[k]


def _upper(nodes: Sequence[PrintedBranch], names: Sequence[Value | None], label: str) -> Iterator[PublishedFigure]:
    """Yield that no more rows than a leaf has pass all of its tests: rows with missing values may have come to it."""
    loose = []
    for n in nodes:
        size, classes = (0, n.facts.size[1]), tuple((k, (0, high)) for k, (_, high) in n.facts.classes)
        loose.append(replace(n, facts=LeafCounts(size, classes)))
    return _figures_of(loose, names, label, True)


def _totals(nodes: Sequence[PrintedBranch], names: Sequence[Value | None], label: str) -> Iterator[PublishedFigure]:
    """Yield what the leaves say together, which does not depend on the tests."""
    leaves = [n.facts for n in nodes if n.feature is None]
    yield _count_figure((), _total(f.size for f in leaves))
    for k, name in enumerate(names):
        interval = _total(dict(f.classes).get(k, (0, None)) for f in leaves)
        if name is not None and interval != (0, None):
            yield _count_figure(((label, equals(name)),), interval)


def _total(intervals: Iterable[Interval]) -> Interval:
    """Return the sum of numbers known as intervals."""
    found = list(intervals)
    ends = [high for _, high in found if high is not None]
    return sum(low for low, _ in found), sum(ends) if len(ends) == len(found) else None


def _named_by(names: Sequence[Value | None], values: list[Value], ordered: bool) -> tuple[Value | None, ...]:
    """Return the names of the columns that a label of just as many values gives; the known ones must agree.

    Raises `ReleaseError` where a known name is not the label's value at its place.
    """
    if len(values) != len(names) or None not in names:
        return tuple(names)
    known = {str(n) for n in names if n is not None}
    rest = [v for v in values if str(v) not in known and v not in names]
    numeric = all(is_number(v) for v in values)
    if ordered and (numeric or all(isinstance(v, str) for v in values)):
        sort = sorted(values, key=exact if numeric else str)
        for name, value in zip(names, sort, strict=True):
            if name is not None and name != value and str(name) != str(value):
                raise ReleaseError(f"the file's class '{name}' stands where the label has '{value}'")
        return tuple(sort)
    if len(rest) == names.count(None) == 1:
        return tuple(rest[0] if n is None else n for n in names)
    return tuple(names)


def _models_of(nodes: Sequence[PrintedBranch], names: Sequence[Value | None], label: str) -> tuple[AnyModel, ...]:
    """Return what the leaves say: a tree with counts or sizes where every leaf has them, figures for the rest."""
    leaves = [n.facts for n in nodes if n.feature is None]
    columns = set(range(len(names)))
    counted = bool(names) and all({k for k, (low, high) in f.classes if low == high} == columns for f in leaves)
    sized = all(f.size[0] == f.size[1] for f in leaves)
    if counted and None not in names:
        return (_tree_of(nodes, lambda f: Support(tuple(low for _, (low, _) in sorted(f.classes)))),)
    sizes = (_tree_of(nodes, lambda f: Support(count=f.size[0])),) if sized else ()
    figures = tuple(_figures_of(nodes, names, label, not sized))
    return (*sizes, Table(figures)) if figures else sizes


def _tree_of(nodes: Sequence[PrintedBranch], support: Callable[[LeafCounts], Support]) -> Tree:
    """Return the nodes as a tree; inner nodes publish nothing."""
    conditions: dict[tuple[str, Test], Condition] = {}
    out = []
    for n in nodes:
        if n.feature is None:
            out.append(ModelNode(support(n.facts)))
        else:
            pair = n.feature, n.test
            out.append(ModelNode(Support(), conditions.setdefault(pair, (pair,)), n.then, n.otherwise))
    return Tree(Nodes.of(out))


def _figures_of(
    nodes: Sequence[PrintedBranch], names: Sequence[Value | None], label: str, sizes: bool
) -> Iterator[PublishedFigure]:
    """Yield the figures of every leaf, in file order."""
    for facts, path in _leaf_paths(nodes):
        if sizes and facts.size != (0, None):
            yield _count_figure(path, facts.size)
        for k, interval in facts.classes:
            name = names[k]
            if name is not None and interval != (0, None):
                yield _count_figure((*path, (label, equals(name))), interval)
        for k, value, within in facts.shares:
            if names[k] is not None:
                yield PublishedFigure(path, statistic=Statistic("mean", f"{label}={names[k]}", value, within))


def _count_figure(condition: Condition, interval: Interval) -> PublishedFigure:
    low, high = interval
    return PublishedFigure(condition, count=low) if low == high else PublishedFigure(condition, low=low, high=high)


def _leaf_paths(nodes: Sequence[PrintedBranch]) -> Iterator[tuple[LeafCounts, Condition]]:
    """Yield the facts of every leaf and the tests on its path, one per feature and side.

    Raises `TooLarge` where the paths hold more than 5,000,000 tests.
    """
    found: dict[int, Condition] = {}
    stack: list[tuple[int, dict[tuple[str, int], Test]]] = [(0, {})]
    total = 0
    while stack:
        i, path = stack.pop()
        node = nodes[i]
        total += len(path) + 1
        if total > MAX_TESTS:
            raise TooLarge(f"the tree's paths hold more than {MAX_TESTS:,} tests: print it with counts in all leaves")
        if node.feature is None:
            found[i] = tuple((name, test) for (name, _), test in path.items())
            continue
        for child, test in ((node.then, node.test), (node.otherwise, node.other)):
            stack.append((child, _narrowed(path, node.feature, test)))
    return ((nodes[i].facts, found[i]) for i in sorted(found))


def _narrowed(path: dict[tuple[str, int], Test], feature: str, test: Test) -> dict[tuple[str, int], Test]:
    """Return the path with one more test; of two bounds on the same side the tighter one stays."""
    side = 2 if test.values is not None else int(test.low is not None)
    before = path.get((feature, side))
    if before is None:
        return path | {(feature, side): test}
    if side == 2:
        both = tuple(v for v in before.values or () if v in (test.values or ()))
        return path | {(feature, 2): Test(values=both)} if both else path | {(feature, 3 + len(path)): test}
    new, old = (test.low, before.low) if side else (test.high, before.high)
    looser = new is not None and old is not None and (new < old if side else new > old)  # type: ignore[operator]
    return path if looser else path | {(feature, side): test}


def draft_of(
    nodes: Sequence[PrintedBranch],
    names: Sequence[Value | None],
    origin: Provenance,
    label: str = "label",
    ordered: bool = True,
    weights: bool = False,
) -> PrintedDraft:
    """Return the draft of a printed tree; `names` are those of the columns of its counts (None: unknown).

    `weights`: whether its counts are sums of weights, with no number of rows beside them.

    Where a name is unknown it says no more than sizes, until it is bound to a label of as many values.
    """
    nodes, origin = _without_copies(nodes, names, origin) if weights else (nodes, origin)
    leaves = [n.facts for n in nodes if n.feature is None]
    low, high = _total(f.size for f in leaves)
    if low > MAX_ROWS:
        raise ReleaseError("the leaves hold more than 2^53 rows")
    features = tuple(dict.fromkeys(n.feature for n in nodes if n.feature is not None))
    label = free_label(features, label)
    # Without all names, counts of the named classes would deny the others wherever a label is guessed.
    limited = any(f.shares or any(end is not None for _, (_, end) in f.classes) for f in leaves)
    known = tuple(n for n in names if n is not None)
    shown = tuple(names) if len(known) == len(names) or not limited else (None,) * len(names)
    return PrintedDraft(
        origin,
        tuple(Feature(n, n) for n in features),
        _models_of(nodes, shown, label) or (Table(()),),
        classes=known if known and shown == tuple(names) else None,
        label=label,
        rows=RowCount(low, high) if low or high is not None else None,
        nodes=tuple(nodes),
        names=tuple(names),
        ordered=ordered,
    )


def _without_copies(
    nodes: Sequence[PrintedBranch], names: Sequence[Value | None], origin: Provenance
) -> tuple[Sequence[PrintedBranch], Provenance]:
    """Return the nodes with intervals for the counts of classes that have a common divisor in all leaves."""
    known = [[high for _, (low, high) in n.facts.classes if low == high] for n in nodes if n.feature is None]
    columns = [[0 if n is None else n for n in row] for row in known]
    if not names or any(len(row) != len(names) for row in columns):
        return nodes, origin
    divisors, _ = divided(columns)
    if max(divisors) == 1:
        return nodes, origin
    out = []
    for n in nodes:
        classes = tuple((k, (low // divisors[k], high)) for k, (low, high) in n.facts.classes)
        out.append(n if n.feature else replace(n, facts=LeafCounts(_total(i for _, i in classes), classes)))
    shown = [k if name is None else name for k, name in enumerate(names)]
    notes = (copies_note(divisors, shown), *(note for note in origin.notes if note != ONE_TREE))
    return out, replace(origin, counts=("ratio",), notes=notes)


KINDS_OF_VALUES: tuple[tuple[str, Callable[[str], Value]], ...] = (
    (r"-?\d{1,15}", int), (r"-?\d{1,15}\.\d{1,15}", float), (r"True|False|TRUE|FALSE", lambda t: t.lower() == "true"),
)  # fmt: skip


def values_of(names: Iterable[str]) -> dict[str, Value]:
    """Return printed names of classes as values: numbers or booleans where all of them are, each another, else text."""
    texts = list(dict.fromkeys(names))
    for form, value in KINDS_OF_VALUES:
        if all(re.fullmatch(form, t) for t in texts) and len(set(map(value, texts))) == len(texts):
            return {t: value(t) for t in texts}
    return {t: t for t in texts}


def column_names(
    leaves: Iterable[tuple[Sequence[Fraction], str | None]], width: int, ties: bool = True
) -> tuple[Value | None, ...]:
    """Return the names of the columns of counts: a leaf's class is that of its greatest count, of equal ones the first.

    Without `ties`, leaves with equal greatest counts (rounded ones) name nothing.

    Raises `ReleaseError` where one column has two names, or two columns have one.
    """
    sure: dict[int, str] = {}
    tied: dict[int, str] = {}
    for counts, name in leaves:
        if name is None:
            continue
        top = max(counts)
        k = list(counts).index(top)
        alone = list(counts).count(top) == 1
        if alone and sure.setdefault(k, name) != name:
            raise ReleaseError(f"class '{name}' and class '{sure[k]}' are both the class of count {k + 1}")
        tied.setdefault(k, name)
    for k, name in tied.items() if ties else ():
        if name not in sure.values():
            sure.setdefault(k, name)
    double = next((n for n, times in Counter(sure.values()).items() if times > 1), None)
    if double is not None:
        raise ReleaseError(f"class '{double}' is the class of several counts")
    values = values_of(sure.values())
    return tuple(values[sure[k]] if k in sure else None for k in range(width))


def number(text: str, place: str) -> float:
    """Return a printed number; `Unsupported` for inf and nan, `ReleaseError` for what is not a number."""
    if text.lower().lstrip("+-") in {"inf", "nan"}:
        raise Unsupported(f"{place}: a split on missing values ({text}) is not read from text: read the stored model")
    if not NUMBER.fullmatch(text):
        raise ReleaseError(f"'{text[:40]}' is not a number", place=place)
    if not math.isfinite(float(text)):
        raise ReleaseError(f"'{text[:40]}' is beyond 1.8e308, what a model can compare with", place=place)
    return float(text)


def unit(text: str) -> Fraction:
    """Return one unit of the last printed digit of a number."""
    mantissa, _, exponent = text.lower().partition("e")
    return Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def near(a: Fraction | int, b: Fraction | int, within: Fraction) -> bool:
    """Return whether two numbers differ by no more than `within`."""
    return -within <= Fraction(a) - b <= within


def is_whole(weight: Fraction | int, total: Fraction | int) -> bool:
    """Return whether a weight, of so many, is a whole number, but for what arithmetic in double precision loses."""
    return near(weight, round(weight), max(Fraction(1, 10**6), Fraction(total) / 10**12))  # measured: 2e-15 of it


def slack_of(thresholds: Iterable[Threshold]) -> Callable[[Value], Fraction]:
    """Return how far a printed threshold can be off: half a unit of its last digit, and what reading it costs."""
    off: dict[Value, Fraction] = {}
    for _, x, digit in thresholds:
        off[x] = max(off.get(x, Fraction(0)), digit / 2 + abs(exact(x)) / 2**52)
    return lambda value: off.get(value, Fraction(0))


def bind_counts(draft: Draft, binder: Binder) -> None:
    """Bind the thresholds that a value of the domain lies on, as far as the digits show; it is read as it is written.

    A threshold half-way between two values that far apart has no row on it (`MIDPOINTS`), so either side is right.
    Other thresholds are left to the binder, which refuses where too few digits were printed.
    """
    plain = Binder(replace(draft, slack=None, classes=None), binder.domain)
    printed = draft.nodes if isinstance(draft, PrintedDraft) else ()  # figures of leaves test what trees do not say
    sides = {(n.feature, test) for n in printed if n.feature is not None for test in (n.test, n.other)}
    for name, test in sides | set(draft.tests()):
        feature, x = binder.features.get(name), test.low if test.high is None else test.high
        k = None if feature is None else binder.domain.place.get(feature.attribute)
        if draft.slack is None or feature is None or k is None or x is None or not is_number(x):
            continue
        upwards = test.low_open if test.high is None else not test.high_open  # x itself is below the border
        moved = _clear(binder.domain.all[k], comparison(draft, feature), x, float(draft.slack(x)), upwards)
        if moved is not None:
            other = replace(test, low=moved) if test.high is None else replace(test, high=moved)
            binder.known[name, test] = plain.condition(name, other)


def _clear(
    attribute: AnyAttribute, compare: Callable[[Value | None], Value], x: float, off: float, upwards: bool
) -> float | None:
    """Return a threshold near x (to within `off`) that no value is near: beyond the only value that may be equal to x.

    None where there is no such value, or where its neighbours are so near that half-way to them is hardly farther.
    """
    if isinstance(attribute, Continuous) or (isinstance(attribute, Categorical) and not attribute.numeric):
        return None
    size = attribute.known[1]
    at = border(attribute, size, compare, x - off, False, None)
    if border(attribute, size, compare, x + off, True, None) != at + 1:
        return None
    near = [float(compare(attribute.value(i))) for i in range(max(0, at - 1), min(size, at + 2))]
    if any(b - a <= 5 * off for a, b in pairwise(near)):
        return None
    return x + 2 * off if upwards else x - 2 * off
