"""Reads CORELS rule lists as they are printed, with and without counts.

pycorels: `if [priors:>3 && not juvenile]:` / `  recid = True` / ... / `else` / `  recid = False`; in ferryjul's fork,
and in files of recon's own exporter, a rule ends in its training rows per label, `[87, 0]`. The C++ program:
`if ({age:18-20,sex:Male}) then ({recid:Yes})` ... `else ({recid:No})`. Antecedents are of 0/1 columns.

Without counts a list says little: CORELS gives every rule the label that most of its rows have.

Source: corels/pycorels corels/utils.py (RuleList.__str__), corels/corels src/utils.cpp (print_final_rulelist);
Angelino et al., "Learning certifiably optimal rule lists", JMLR 2018, theorem 10 (every rule captures rows).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from encoders.domain.domain import Condition
from encoders.domain.values import Value, equals
from encoders.models.models import AnyModel, Provenance, PublishedFigure, Rule, RuleList, Statistic, Table
from encoders.models.nodes import Support
from encoders.parts.base import MAX_ROWS
from recon.readers.formats.drafts.binding import Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.printed.printed_trees import column_names, values_of
from recon.readers.formats.rules.plain_values import NO_COUNTS, SkeletonDraft
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount

FORMAT = "CORELS, printed rule list"
START = re.compile(r"^(?:RULELIST:|OPTIMAL RULE LIST\b|if \[.*\]:|if \(.*\) then \()", re.MULTILINE)
IF = re.compile(r"(else )?if \[(.*)\]:\s*(.*)")
ELSE = re.compile(r"else\b\s*:?\s*(.*)")
THEN = re.compile(r"(.*\S)\s*=\s*(\S(?:.*?\S)??)\s*(?:\[\s*(\d{1,16})\s*,\s*(\d{1,16})\s*\])?")
CPP_IF = re.compile(r"(?=.*\)\Z)(else )?if \((.*)\) then \((.*)\)")
CPP_ELSE = re.compile(r"else \((.*)\)")
BINARY = {"True": 1, "False": 0, "1": 1, "0": 0}
MAX_RULES = 10_000
MAJORITY = (
    "every rule of the list captures training rows, and its label is that of most of them (CORELS with c above 0 makes"
    " no others)"
)


@dataclass(frozen=True, slots=True)
class CorelsRule:
    """A printed rule: its antecedents (column, 0 or 1), label, predicted value, rows per label if printed."""

    antecedents: Condition
    label: str
    prediction: str
    counts: tuple[int, int] | None
    place: str


def looks_like_corels_text(head: str) -> bool:
    """Return whether a text starts like a printed CORELS rule list, a program's messages before it left out."""
    return START.search(head) is not None


def read_corels_text(text: str) -> Draft:
    """Return what a printed rule list says. Cost: linear in the text.

    Raises `ReleaseError` naming the line for what is no such list.
    """
    found = START.search(text)
    if found is None:
        raise ReleaseError("the text holds no CORELS rule list")
    before = text[: found.start()].count("\n")
    lines = [
        (f"line {before + k}", s) for k, raw in enumerate(text[found.start() :].splitlines(), 1) if (s := raw.strip())
    ]
    if lines[0][1].startswith(("RULELIST:", "OPTIMAL")):
        lines = lines[1:]
    cpp = bool(lines) and lines[0][1].startswith("if (")
    rules = _cpp_rules(lines) if cpp else _python_rules(lines)
    if len(rules) > MAX_RULES:
        raise ReleaseError(f"the list has more than {MAX_RULES:,} rules")
    for rule in rules:
        if rule.label != rules[0].label or (rule.counts is None) is not (rules[0].counts is None):
            raise ReleaseError(
                "the rule predicts another label, or has counts where others have none", place=rule.place
            )
    return _counted_draft(rules) if rules[0].counts is not None else _uncounted_draft(rules)


def _features_of(rules: Sequence[CorelsRule]) -> tuple[Feature, ...]:
    """Return the columns that the rules name, in order of appearance."""
    return tuple(Feature(n, n) for n in dict.fromkeys(name for rule in rules for name, _ in rule.antecedents))


def _label_of(rules: Sequence[CorelsRule], features: Sequence[Feature]) -> str:
    """Return the name of the label, told from the columns where it is one."""
    return free_label({f.name for f in features}, rules[0].label)


def _counted_draft(rules: Sequence[CorelsRule]) -> Draft:
    """Return the rule list with its counts: of the labels 0 and 1, or of those that the counts are the most of."""
    features = _features_of(rules)
    names: tuple[Value | None, ...] = (0, 1)
    if not all(rule.prediction in BINARY for rule in rules):
        each = [([Fraction(c) for c in rule.counts or ()], rule.prediction) for rule in rules]
        names = column_names(each, 2)
    classes = tuple(n for n in names if n is not None)
    named = len(classes) == 2
    supports = [Support(rule.counts) if named else Support(count=sum(rule.counts or ())) for rule in rules]
    rows = sum(sum(rule.counts or ()) for rule in rules)
    if rows > MAX_ROWS:
        raise ReleaseError("the rules hold more than 2^53 rows")
    return Draft(
        Provenance(FORMAT, ("exact" if named else "size",)),
        features,
        (RuleList(tuple(Rule(r.antecedents, s) for r, s in zip(rules, supports, strict=True))),),
        classes=classes if named else None,
        label=_label_of(rules, features),
        rows=RowCount(rows, rows),
        reader_notes=()
        if named
        else ("the list does not say which label its counts are of: only their sums are read",),
    )


def _uncounted_draft(rules: Sequence[CorelsRule]) -> Draft:
    """Return what a list without counts says, of every rule but the default (which may capture nothing).

    A rule's own rows are stated where the rules before it have one antecedent each: then they are one group. Else a
    row with its antecedents and its label exists.
    """
    features = _features_of(rules)
    label = _label_of(rules, features)
    values: dict[str, Value] = dict(BINARY) if all(r.prediction in BINARY for r in rules) else {}
    values = values or values_of(rule.prediction for rule in rules)
    figures: list[PublishedFigure] = []
    others: Condition | None = ()
    for rule in rules[:-1]:
        value = values[rule.prediction]
        if others is not None:
            share = Statistic("mean", f"{label}={value}", 0.75, 0.25)
            figures.append(PublishedFigure((*rule.antecedents, *others), statistic=share))
        figures.append(PublishedFigure((*rule.antecedents, (label, equals(value))), low=1))
        if others is not None and len(rule.antecedents) == 1:
            name, test = rule.antecedents[0]
            others = (*others, (name, equals(1 - int((test.values or (0,))[0]))))
        else:
            others = None
    models: tuple[AnyModel, ...] = (Table(tuple(figures)),)
    text = f"the list has no counts, so that little follows from it; {NO_COUNTS}"
    classes = tuple(dict.fromkeys(values.values())) if set(values) != set(BINARY) else (0, 1)
    return SkeletonDraft(
        Provenance(FORMAT, ("label",), (MAJORITY,)),
        features,
        models,
        classes=classes,
        label=label,
        rows=RowCount(1, None) if figures else None,
        reader_notes=(text,),
        skeleton=RuleList(tuple(Rule(r.antecedents, Support()) for r in rules)),
        predicted=tuple(values[r.prediction] for r in rules),
    )


def _python_rules(lines: Sequence[tuple[str, str]]) -> list[CorelsRule]:
    """Return the rules of the form of pycorels; the conclusion stands on the same line or the next."""
    rules: list[CorelsRule] = []
    antecedents: Condition | None = None if lines and lines[0][1].startswith("if") else ()
    rest = list(reversed(lines))
    while rest:
        place, content = rest.pop()
        if antecedents is None:
            if condition := IF.fullmatch(content):
                if bool(condition[1]) is not bool(rules):
                    raise ReleaseError("'if' begins the list, 'else if' every other rule", place=place)
                antecedents, content = _literals(condition[2].split(" && "), place), condition[3]
            elif default := ELSE.fullmatch(content):
                antecedents, content = (), default[1]
            else:
                raise ReleaseError(f"'{content[:60]}' is not a rule of a list", place=place)
            if not content:
                continue
        then = THEN.fullmatch(content)
        if then is None:
            raise ReleaseError(f"'{content[:60]}' predicts nothing (label = value)", place=place)
        counts = None if then[3] is None else (int(then[3]), int(then[4]))
        rules.append(CorelsRule(antecedents, then[1], then[2], counts, place))
        if not antecedents and rest:
            raise ReleaseError("the list goes on after its default rule", place=rest[-1][0])
        antecedents = None
    return _complete(rules)


def _cpp_rules(lines: Sequence[tuple[str, str]]) -> list[CorelsRule]:
    """Return the rules of the form of the C++ program; what it prints after the default rule is left out."""
    rules: list[CorelsRule] = []
    for place, content in lines:
        if default := CPP_ELSE.fullmatch(content):
            rules.append(CorelsRule((), *_predicted(default[1]), None, place))
            break
        rule = CPP_IF.fullmatch(content)
        if rule is None or bool(rule[1]) is not bool(rules):
            raise ReleaseError(f"'{content[:60]}' is not a rule of a list", place=place)
        if rule[2] == "1" and not rules:
            rules.append(CorelsRule((), *_predicted(rule[3]), None, place))
            break
        antecedents = _literals(rule[2].removeprefix("{").removesuffix("}").split(","), place)
        rules.append(CorelsRule(antecedents, *_predicted(rule[3]), None, place))
    return _complete(rules)


def _complete(rules: list[CorelsRule]) -> list[CorelsRule]:
    """Return the rules; `ReleaseError` where they do not end in a default rule."""
    if not rules or rules[-1].antecedents:
        raise ReleaseError("the list has no default rule (else)", place=rules[-1].place if rules else "")
    return rules


def _predicted(text: str) -> tuple[str, str]:
    """Return label and value of `{recid:Yes}`."""
    label, _, value = text.removeprefix("{").removesuffix("}").rpartition(":")
    return label or "label", value


def _literals(texts: Sequence[str], place: str) -> Condition:
    """Return antecedents as tests: a column is 1, or 0 after "not"."""
    names = [(t.strip().removeprefix("not ").strip(), 0 if t.strip().startswith("not ") else 1) for t in texts]
    if not all(name for name, _ in names):
        raise ReleaseError("a rule has an empty antecedent", place=place)
    return tuple((name, equals(value)) for name, value in names)
