"""Trees as Weka's J48, Quinlan's C5.0 and R's partykit print them: every leaf with its class, its rows, and its errors.

    Petal.Width <= 1.7: versicolor (48.0/1.0)                  J48, C5.0: rows, and how many are of other classes
    |   [4] Petal.Width <= 1.7: versicolor (n = 54, err = 9.3%)    partykit: the share of errors, rounded

Fractions of rows stand there where values were missing: such a tree is refused. Nominal attributes have a branch per
value. Sources: Weka, weka.classifiers.trees.j48.ClassifierTree and C45Split; Quinlan, C5.0 Release 2.07, trees.c;
partykit, R/print.R (print.constparty) and R/split.R (character_split).

Rules as Weka's PART and Quinlan's C5.0 print them, with the rows that each captures and how many are of others.

    Petal.Width <= 1.7 AND                     PART: a list, a rule's rows meet no rule before it; the last has no test
    Petal.Length <= 4.9: versicolor (48.0/1.0)

    Rule 2: (48/1, lift 2.9)                   C5.0: a set, a rule's rows are all that meet it
        Petal.Length <= 4.9
        ->  class versicolor  [0.960]

Sources: Weka, weka.classifiers.rules.PART and part.ClassifierDecList; Quinlan, C5.0 Release 2.07, formrules.c, rules.c.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from encoders.domain.domain import Condition
from encoders.domain.values import Categorical, Test, Value, equals
from encoders.models.models import AnyModel, Provenance, PublishedFigure, Rule, RuleList, RuleSet, Table
from encoders.models.nodes import Support
from encoders.parts.base import MAX_ROWS
from recon.readers.formats.drafts.binding import Binder, Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.printed.printed_trees import (
    NO_MISSING,
    Interval,
    LeafCounts,
    PrintedBranch,
    bind_counts,
    draft_of,
    number,
    slack_of,
    unit,
    values_of,
)
from recon.readers.formats.rules.plain_values import opposite
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

PLAIN = "every row was given to the learner once and with weight 1, and none was held out (J48 -R, C5.0 sample)"
AS_PRINTED = "a threshold that a value of the domain lies on has no more digits than are printed"
J48, C50, PARTY = "Weka J48, printed tree", "C5.0, printed tree", "R partykit, printed tree"
MAX_LINES = 200_000
TEST = r"(?P<feature>.+?) (?P<how><=|>=|!=|<|>|=|in) (?P<value>\{[^}]*\}|[^:]+?)"
_LINE = re.compile(rf"{TEST}(?:: (?P<leaf>.+))?:?")
_ROWS = r"\d+(?:\.\d+)?"
LEAF = re.compile(rf"(?P<name>.+?) \((?P<rows>{_ROWS})(?:/(?P<wrong>{_ROWS}))?\)")
_PARTY = re.compile(
    rf"(?P<name>.+?) \((?P<how>[nw]) = (?P<rows>{_ROWS})(?:, err = (?P<err>{_ROWS})(?P<share>%?)|, err = NA%?)?\)"
)
_NUMBERED = re.compile(r"\[\d{1,9}\] ")
_BELOW = re.compile(r"\[(S\d{1,6})\]")  # C5.0 prints deep branches apart, as "SubTree [S1]"
_INDENT = re.compile(r"(?:\|   |:   |    |:\.\.\.)*")
_START = re.compile(r"^(?:Decision tree:|J48 .*tree|Fitted party:)[ \t]*$", re.MULTILINE)
_CASES = re.compile(r"^Read (\d{1,15}) cases|^Instances:\s+(\d{1,15})\s*$", re.MULTILINE)
_WHOLE_TREE = "the tree is a single leaf, without a split: it says how many rows there are and no more"
_RANGE = "stands for some levels of an ordered factor, which the text does not list: fit it with plain factors"


@dataclass
class _PrintedBranch:
    """A printed branch: its test, and its leaf or the branches below."""

    feature: str
    test: Test
    place: str
    rows: int = 0
    wrong: Interval = (0, 0)
    name: str | None = None
    apart: str = ""
    unlike: str | None = None  # the value of "!= value", which lists no others
    below: list[_PrintedBranch] = field(default_factory=list)


def looks_like_weka(head: str) -> bool:
    """Return whether a text is a tree of J48, C5.0 or partykit."""
    return _START.search(head) is not None and ("Decision tree:" not in head or "C5.0 [Release" in head)


def read_weka(text: str) -> Draft:
    """Return what a printed tree of J48, C5.0 or partykit says. Cost: linear in the text.

    Raises `ReleaseError` naming the line for what is none, `Unsupported` for fractions of rows and weights.
    """
    start = _START.search(text)
    form = C50 if start is None or start[0].startswith("Dec") else J48 if start[0].startswith("J48") else PARTY
    thresholds: list[tuple[str, float, Fraction]] = []
    top = _branches(text, 0 if start is None else text.count("\n", 0, start.end()) + 1, form, thresholds)
    leaves = list(_leaves(top))
    check_cases(text, sum(one.rows for one in leaves))
    numeric = form == PARTY and all(one.name is not None and _is_mean(one) for one in leaves)
    names = {} if numeric else values_of(one.name for one in leaves if one.name is not None)
    place = {name: k for k, name in enumerate(names)}
    columns: tuple[Value | None, ...] = tuple(names.values())
    if len(names) == 1 and any(one.wrong != (0, 0) for one in leaves):
        columns += (None,)  # the class of the others is not named: a label of two values names it
    nodes: list[PrintedBranch] = []
    _grow(top, nodes, place, len(columns))
    exact = (
        bool(place)
        and None not in columns
        and all(n.feature or all(low == high for _, (low, high) in n.facts.classes) for n in nodes)
    )
    notes: tuple[str, ...] = ()
    if not exact and any(n.feature and n.other.bare for n in nodes):
        nodes = [replace(n, facts=LeafCounts(n.facts.size)) for n in nodes]
        notes = ("tests '!= value' do not list the other values: only the sizes of leaves are read",)
    origin = Provenance(form, ("exact",) if exact else ("size",), (PLAIN, AS_PRINTED, NO_MISSING))
    found = draft_of(nodes, columns, origin, ordered=False)
    hints = listed_attributes((n.feature, test) for n in nodes if n.feature is not None for test in (n.test, n.other))
    return replace(found, slack=slack_of(thresholds), hints=hints, finer="print more digits", reader_notes=notes)


def check_cases(text: str, rows: int) -> None:
    """Refuse a text whose head says another number of rows than its leaves."""
    if said := _CASES.search(text):
        cases = int(said[1] or said[2])
        if rows != cases:
            raise Unsupported(
                f"the text says {cases:,} cases and its leaves have {rows:,}: rows were held out, weighted or have "
                "missing values, so that no leaf says how many rows it has; fit it on all rows, without weights"
            )
    if rows > MAX_ROWS:
        raise ReleaseError("the leaves hold more than 2^53 rows")


def listed_attributes(tests: Iterator[tuple[str, Test]]) -> dict[str, Categorical]:  # type: ignore[type-arg, unused-ignore]
    """Return the attributes whose tests list values, with the values."""
    seen: dict[str, dict[str, None]] = {}
    for name, test in tests:
        if test.values is not None:
            seen.setdefault(name, {}).update(dict.fromkeys(map(str, test.values)))
    return {name: Categorical(name, tuple(values)) for name, values in seen.items()}


def _is_mean(leaf: _PrintedBranch) -> bool:
    """Return whether a leaf of partykit predicts a mean: its error is not a share."""
    return leaf.wrong[1] is None


def _leaves(branches: Sequence[_PrintedBranch]) -> Iterator[_PrintedBranch]:
    """Yield the leaves, in order."""
    todo = list(reversed(branches))
    while todo:
        one = todo.pop()
        todo += reversed(one.below)
        if not one.below:
            yield one


def _lines(text: str, skipped: int) -> Iterator[tuple[int, str, str]]:
    """Yield the lines of the tree with number, indentation and content; sets that run over lines as one line.

    A line "SubTree [S1]" is yielded where the branches below such a mark begin.
    """
    begun = False
    held, at, ahead = "", 0, text.splitlines()
    if len(ahead) > MAX_LINES:
        raise ReleaseError(f"the text has more than {MAX_LINES:,} lines")
    for k, line in enumerate(ahead[skipped:], start=skipped + 1):
        content = line.rstrip()
        if held:
            content, held = held + content.lstrip(" :|"), ""
        else:
            at = k
        if content.startswith("SubTree ["):
            begun = False
            yield at, "", content
            continue
        if content.count("{") > content.count("}"):
            held = content
            continue
        if not content or (not begun and set(content) == {"-"}):
            if begun and not any(later.startswith("SubTree [") for later in ahead[k : k + 4]):
                return
            continue
        begun = True
        indent = _INDENT.match(content)
        size = 0 if indent is None else indent.end()
        yield at, content[:size], content[size:]
    if held:
        raise ReleaseError("a list of values has no end", place=f"line {at}")


def _branches(
    text: str, skipped: int, form: str, thresholds: list[tuple[str, float, Fraction]]
) -> list[_PrintedBranch]:
    """Return the topmost branches of the printed tree, those printed apart put in their places."""
    roots: dict[str, list[_PrintedBranch]] = {"": []}
    path: list[_PrintedBranch] = []
    within = ""
    for k, indent, content in _lines(text, skipped):
        if content.startswith("SubTree ["):
            within = content[9:].rstrip("] ")
            roots[within], path = [], []
            continue
        place, depth = f"line {k}", len(indent) // 4 - (form == PARTY)
        body, numbers = _NUMBERED.subn("", content, count=1) if form == PARTY else (content, 1)
        if body.startswith("root:") and depth < 0:
            raise Unsupported(_WHOLE_TREE)
        if body == "root" and depth < 0:
            continue
        if not numbers:
            raise ReleaseError(f"'{body[:60]}' is not a node of a printed tree", place=place)
        if (
            form != PARTY
            and depth == 0
            and (body.startswith(": ") or (LEAF.fullmatch(body) and not _LINE.fullmatch(body)))
        ):
            raise Unsupported(_WHOLE_TREE)
        found = _LINE.fullmatch(body)
        if found is None and depth == 0 and path and not within and not _goes_on(text, k):
            break  # what somebody wrote below the tree
        if found is None:
            raise ReleaseError(f"'{body[:60]}' is not a branch of a printed tree", place=place)
        if not 0 <= depth <= len(path) or (depth and path[depth - 1].name is not None):
            raise ReleaseError("is indented deeper than its parent", place=place)
        one = _PrintedBranch(found["feature"].strip(), test_of(found, place, form, thresholds), place)
        one.unlike = found["value"].strip() if found["how"] == "!=" else None
        if found["leaf"] is not None:
            _leaf(one, found["leaf"].strip(), form)
        del path[depth:]
        (path[-1].below if path else roots[within]).append(one)
        path.append(one)
    return _joined_branches(roots)


def _goes_on(text: str, line: int) -> bool:
    """Return whether there are leaves of a tree below a line."""
    return any(": " in one and LEAF.fullmatch(one.rpartition(": ")[2].strip()) for one in text.splitlines()[line:])


def _joined_branches(roots: dict[str, list[_PrintedBranch]]) -> list[_PrintedBranch]:
    """Return the branches of the tree with those that are printed apart below their marks."""
    if not roots[""]:
        raise ReleaseError("the text holds no tree")
    _check_beside(roots[""])
    todo, used = list(roots[""]), {""}
    while todo:
        one = todo.pop()
        if one.apart:
            if one.apart in used or not roots.get(one.apart):
                raise ReleaseError(f"SubTree [{one.apart}] is missing, or is at two places", place=one.place)
            used.add(one.apart)
            one.below = roots[one.apart]
        elif one.name is None and not one.below:
            raise ReleaseError("has neither a leaf nor branches below", place=one.place)
        if one.below:
            _check_beside(one.below)
        todo += one.below
    return roots[""]


def _check_beside(group: Sequence[_PrintedBranch]) -> None:
    """Refuse the branches of a node that do not part its rows: one alone, other attributes, tests that overlap."""
    first, tests = group[0], [one.test for one in group]
    if len(group) == 1:
        raise ReleaseError("is the only branch: the other side is missing", place=first.place)
    if any(one.feature != first.feature for one in group):
        raise ReleaseError("is beside a test of another attribute", place=first.place)
    values = [v for test in tests for v in test.values or ()]
    if any(test.values is None and not test.bare for test in tests):
        parted = len(tests) == 2 and tests[0].values is None and tests[1] == opposite(tests[0])
    else:
        parted = len(set(values)) == len(values) and (len(tests) == 2 or not any(test.bare for test in tests))
    for one, other in zip(group, group[::-1], strict=True):
        if one.unlike is not None and other.test.values != (one.unlike,):
            shown = f"'{first.feature[:40]} {other.test}' and '{first.feature[:40]} != {one.unlike[:40]}'"
            raise ReleaseError(f"{shown} are not the two sides of one test", place=first.place)
    if not parted:
        shown = " and ".join(f"'{first.feature[:40]} {test}'"[:90] for test in tests[:2])
        raise ReleaseError(f"{shown} do not part the values of '{first.feature[:40]}'", place=first.place)


def test_of(found: re.Match[str], place: str, form: str, thresholds: list[tuple[str, float, Fraction]]) -> Test:
    """Return the test of a line; its threshold goes to the list with what one unit of its last digit is worth."""
    how, value = found["how"], found["value"].strip()
    if how == "in" and value.startswith("["):
        raise Unsupported(f"{place}: '{value[:40]}' {_RANGE}")
    if how == "in":
        return Test(values=tuple(v.strip() for v in value.strip("{}").split(",")))
    if how in ("=", "!="):
        return Test(values=(value,)) if how == "=" else Test()
    if form == PARTY and not re.fullmatch(r"-?[\d.]+(?:e[+-]?\d+)?", value):
        raise Unsupported(f"{place}: '{how} {value[:40]}' {_RANGE}")
    x = number(value, place)
    thresholds.append((found["feature"].strip(), x, _digit(value, x, form)))
    return {
        "<=": Test(high=x),
        "<": Test(high=x, high_open=True),
        ">": Test(low=x, low_open=True),
        ">=": Test(low=x),
    }[how]


def _digit(text: str, x: float, form: str) -> Fraction:
    """Return one unit of the last digit that a threshold would have: zeros at its end are not printed.

    Weka writes six decimals, partykit five, C5.0 seven significant digits.
    """
    if form != C50 or x == 0:
        return min(unit(text), Fraction(1, 10**5 if form == PARTY else 10**6))
    return min(unit(text), Fraction(10) ** (math.floor(math.log10(abs(x))) - 6))


def rows_of(found: re.Match[str], text: str, place: str) -> tuple[int, int]:
    """Return the rows that `LEAF` found, and how many are of other classes; `Unsupported` for fractions."""
    rows, wrong = Fraction(found["rows"]), Fraction(found["wrong"] or 0)
    if rows != int(rows) or wrong != int(wrong):
        raise Unsupported(f"{place}: {text[:40]} has fractions of rows: values were missing, no rows are counted")
    if wrong > rows:
        raise ReleaseError(f"{text[:40]!r} has more wrong rows than rows", place=place)
    return int(rows), int(wrong)


def _leaf(one: _PrintedBranch, text: str, form: str) -> None:
    """Read the class and the numbers of a leaf."""
    if form == C50 and (apart := _BELOW.fullmatch(text)):
        one.apart = apart[1]
        return
    found = (_PARTY if form == PARTY else LEAF).fullmatch(text)
    if found is None:
        raise ReleaseError(f"{text[:40]!r} is not a class with numbers of rows", place=one.place)
    one.name = found["name"]
    if form != PARTY:
        one.rows, wrong = rows_of(found, text, one.place)
        one.wrong = wrong, wrong
        return
    if found["how"] == "w" or "." in found["rows"]:
        raise Unsupported(f"{one.place}: {text[:40]} counts weights, no rows: fit it without weights")
    one.rows = int(found["rows"])
    if not found["share"]:
        one.wrong = 0, None
        return
    share, off = Fraction(found["err"]), unit(found["err"]) / 2 + Fraction(1, 10**9)
    low, high = (one.rows * (share + way * off) / 100 for way in (-1, 1))
    one.wrong = max(0, math.ceil(low)), min(one.rows, math.floor(high))
    if one.wrong[0] > math.floor(high):
        raise ReleaseError(f"{found['err']} % of {one.rows} rows is not a number of rows", place=one.place)


def _grow(branches: list[_PrintedBranch], nodes: list[PrintedBranch], place: dict[str, int], width: int) -> None:
    """Add the nodes of branches that exclude each other: a branch per value becomes a chain of splits."""
    todo: list[tuple[list[_PrintedBranch], int, bool]] = [(branches, -1, False)]
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
                nodes.append(PrintedBranch(_counts(one, place, width)))
            continue
        first, rest = group[0], group[1:]
        if first.test.bare and not rest[0].test.bare:
            first, rest = rest[0], [first]
        values: tuple[Value, ...] = tuple(v for b in rest for v in b.test.values or ())
        listed_all = first.test.values is not None and not any(b.test.bare for b in rest)
        other = Test(values=values) if listed_all else rest[0].test
        nodes.append(PrintedBranch(LeafCounts(), first.feature, first.test, other))
        todo += [(rest, here, False), ([first], here, True)]


def _counts(one: _PrintedBranch, place: dict[str, int], width: int) -> LeafCounts:
    """Return what a leaf says: its rows, those of its class, and up to how many there are of any other."""
    if not place or one.name is None:
        return LeafCounts((one.rows, one.rows))
    own, (low, high) = place[one.name], one.wrong
    right = (one.rows - (one.rows if high is None else high), one.rows - low)
    other = (low if len(place) < width else 0, high)
    return LeafCounts((one.rows, one.rows), tuple((k, right if k == own else other) for k in range(width)))


PART, C50_RULES = "Weka PART, printed rules", "C5.0, printed rules"
MAX_RULES = 20_000
_TEST = re.compile(TEST)
_PART_START = re.compile(r"^PART decision list[ \t]*$", re.MULTILINE)
_C50_START = re.compile(r"^Rules:[ \t]*$", re.MULTILINE)
_C50_RULE = re.compile(rf"Rule \d{{1,6}}(?:/\d{{1,6}})?: (\((?P<rows>{_ROWS})(?:/(?P<wrong>{_ROWS}))?), lift [\d.]+\)")
_C50_CLASS = re.compile(r"->  class (?P<name>.+?)  \[[\d.]+\]")


@dataclass(frozen=True)
class _Line:
    """A printed rule: its condition, class, rows and how many of them are of other classes."""

    condition: Condition
    name: str
    rows: int
    wrong: int
    place: str


class RulesDraft(Draft):
    """Rules whose thresholds are read as they are printed where a value of the domain lies on them."""

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the models over the binder's domain."""
        bind_counts(self, binder)
        return super().bound(binder)


Thresholds = list[tuple[str, float, Fraction]]


def looks_like_rules(head: str) -> bool:
    """Return whether a text holds rules of PART or of C5.0."""
    return _PART_START.search(head) is not None or ("C5.0 [Release" in head and _C50_START.search(head) is not None)


def read_rules(text: str) -> Draft:
    """Return what printed rules of PART or C5.0 say. Cost: linear in the text.

    Raises `ReleaseError` naming the line for what is none, `Unsupported` for fractions of rows and boosting.
    """
    thresholds: Thresholds = []
    ordered = _PART_START.search(text) is not None
    rules = list(_part(text, thresholds) if ordered else _c50(text, thresholds))
    if len(rules) > MAX_RULES:
        raise Unsupported(f"more than {MAX_RULES:,} rules are not read")
    tests = [pair for rule in rules for pair in rule.condition]
    if not tests:
        raise Unsupported("the only rule has no test: it says how many rows there are and no more")
    names = values_of(rule.name for rule in rules)
    label = free_label({name for name, _ in tests})
    exact = ordered and all(not rule.wrong for rule in rules)
    alone = not exact and len(names) == 1  # rows of other classes than the only one that the text names
    order = {name: k for k, name in enumerate(names)}
    made = tuple(Rule(r.condition, _support(r, order) if exact else Support(count=r.rows), r.place) for r in rules)
    least = tuple(_figure(r, (*r.condition, (label, equals(names[r.name]))), ordered) for r in rules)
    total = sum(r.rows for r in rules)
    if ordered:
        check_cases(text, total)
    models: tuple[AnyModel, ...] = (RuleList(made) if ordered else RuleSet(made),)
    notes = (PLAIN, AS_PRINTED, NO_MISSING)
    return RulesDraft(
        Provenance(PART if ordered else C50_RULES, ("exact",) if exact else ("size",), notes),
        tuple(Feature(n, n) for n in dict.fromkeys(name for name, _ in tests)),
        models if exact or alone else (*models, Table(least)),
        classes=None if alone else tuple(names.values()),
        label=label,
        rows=RowCount(total, total) if ordered else _cases(text, max(r.rows for r in rules)),
        hints=listed_attributes(iter(tests)),
        slack=slack_of(thresholds),
    )


def _support(rule: _Line, order: dict[str, int]) -> Support:
    """Return the rows per class of a rule whose rows are all of its class."""
    return Support(tuple(rule.rows if k == order[rule.name] else 0 for k in range(len(order))))


def _figure(rule: _Line, where: Condition, ordered: bool) -> PublishedFigure:
    """Return how many rows of its class meet a rule's tests: of a list those that meet no rule before it, or more."""
    right = rule.rows - rule.wrong
    return (
        PublishedFigure(where, low=right, name=rule.place)
        if ordered
        else PublishedFigure(where, count=right, name=rule.place)
    )


def _cases(text: str, most: int) -> RowCount:
    """Return how many rows C5.0 says that it read, as many as its greatest rule has or more where it does not."""
    found = re.search(r"^Read (\d{1,15}) cases", text, re.MULTILINE)
    return RowCount(most, None) if found is None else RowCount(int(found[1]), int(found[1]))


def _part(text: str, thresholds: Thresholds) -> Iterator[_Line]:
    """Yield the rules of PART's list; the last one has no test."""
    start = _PART_START.search(text)
    skipped = 0 if start is None else text.count("\n", 0, start.end()) + 1
    condition: list[tuple[str, Test]] = []
    ended = False
    for k, line in enumerate(text.splitlines()[skipped:], start=skipped + 1):
        content, place = line.strip(), f"line {k}"
        if content.startswith("Number of Rules"):
            break
        if not content or set(content) == {"-"}:
            continue
        if ended:
            raise ReleaseError("the list goes on after its last rule", place=place)
        if content.endswith(" AND"):
            condition.append(_test(content[:-4], place, thresholds, J48))
            continue
        tests, _, leaf = content.rpartition(": ") if not content.startswith(": ") else ("", "", content[2:])
        found = LEAF.fullmatch(leaf.strip())
        if found is None:
            raise ReleaseError(f"'{content[:60]}' is not a rule with numbers of rows", place=place)
        if tests:
            condition.append(_test(tests, place, thresholds, J48))
        ended = not condition
        yield _Line(tuple(condition), found["name"], *rows_of(found, leaf, place), place)
        condition = []
    if not ended:
        raise ReleaseError("the list has no last rule without a test")


def _c50(text: str, thresholds: Thresholds) -> Iterator[_Line]:
    """Yield the rules of C5.0."""
    if re.search(r"^-+\s+Trial 1:", text, re.MULTILINE):
        raise Unsupported("boosted rules of C5.0 are of weighted rows from the second trial on: fit it with trials = 1")
    start = _C50_START.search(text)
    skipped = 0 if start is None else text.count("\n", 0, start.end()) + 1
    figures: tuple[int, int] | None = None
    condition: list[tuple[str, Test]] = []
    held = ""
    for k, line in enumerate(text.splitlines()[skipped:], start=skipped + 1):
        content, place = held + line.strip(), f"line {k}"
        held = ""
        if content.startswith(("Default class:", "Evaluation on")):
            break
        if content.count("{") > content.count("}"):
            held = content
        elif found := _C50_RULE.fullmatch(content):
            figures, condition = rows_of(found, found[1] + ")", place), []
        elif (found := _C50_CLASS.fullmatch(content)) and figures is not None:
            yield _Line(tuple(condition), found["name"], *figures, place)
            figures = None
        elif content and figures is not None:
            condition.append(_test(content, place, thresholds, C50))
        elif content:
            raise ReleaseError(f"'{content[:60]}' is not a rule", place=place)


def _test(text: str, place: str, thresholds: Thresholds, form: str) -> tuple[str, Test]:
    """Return one test of a rule as feature and test."""
    found = _TEST.fullmatch(text.strip())
    if found is None:
        raise ReleaseError(f"'{text[:60]}' is not a test", place=place)
    test = test_of(found, place, form, thresholds)
    if test.bare:
        raise Unsupported(f"{place}: '{text[:40]}' does not list the other values: fit it without binary splits (-B)")
    return found["feature"].strip(), test
