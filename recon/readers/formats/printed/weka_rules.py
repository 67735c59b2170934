"""Rules as Weka's PART and Quinlan's C5.0 print them, with the rows that each captures and how many are of others.

    Petal.Width <= 1.7 AND                     PART: a list, a rule's rows meet no rule before it; the last has no test
    Petal.Length <= 4.9: versicolor (48.0/1.0)

    Rule 2: (48/1, lift 2.9)                   C5.0: a set, a rule's rows are all that meet it
        Petal.Length <= 4.9
        ->  class versicolor  [0.960]

Sources: Weka, weka.classifiers.rules.PART and part.ClassifierDecList; Quinlan, C5.0 Release 2.07, formrules.c, rules.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from encoders.domain.domain import Condition
from encoders.domain.values import Test, equals
from encoders.models.models import AnyModel, Provenance, PublishedFigure, Rule, RuleList, RuleSet, Table
from encoders.models.nodes import Support
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.drafts.facts import Feature, free_label
from recon.readers.formats.printed.printed_trees import NO_MISSING, bind_counts, slack_of, values_of
from recon.readers.formats.printed.weka_text import (
    AS_PRINTED,
    C50,
    J48,
    LEAF,
    PLAIN,
    TEST,
    check_cases,
    listed_attributes,
    rows_of,
    test_of,
)
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

PART, C50_RULES = "Weka PART, printed rules", "C5.0, printed rules"
MAX_RULES = 20_000
_TEST = re.compile(TEST)
_PART_START = re.compile(r"^PART decision list[ \t]*$", re.MULTILINE)
_C50_START = re.compile(r"^Rules:[ \t]*$", re.MULTILINE)
_C50_RULE = re.compile(r"Rule \d{1,6}(?:/\d{1,6})?: (\((?P<rows>[\d.]+)(?:/(?P<wrong>[\d.]+))?), lift [\d.]+\)")
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
