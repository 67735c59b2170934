"""Saved rule lists of CORELS: what `rl_.save` pickles ({"f", "r", "p"}), and pickled CorelsClassifier objects.

A rule is {"antecedents": [3, -1], "prediction": True}: indices count from 1, a negative one asks for 0; the last rule
is [0], everybody left. The original package stores no counts; a fork (github.com/ferryjul) adds "train_labels":
[rows of class 0, rows of class 1] per rule. Without them all that follows is that a rule's class is the commoner one
among the rows it captures, stated where these are a box. Source: pycorels 1.1, corels/utils.py, corels/_corels.pyx;
Angelino et al., JMLR 2018 (the predicted label minimises the training error; minimum support of rules).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from encoders.domain.domain import Condition
from encoders.domain.values import Categorical, Value, equals
from encoders.models.models import Provenance, PublishedFigure, Rule, RuleList, Table, UnusedPublication
from encoders.models.nodes import Support
from recon.readers.formats.drafts.binding import free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.rules.plain_values import (
    NO_COUNTS,
    SkeletonDraft,
    as_features,
    commonest,
    count,
    number,
    parts,
    texts,
)
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount

KINDS = ("CorelsClassifier", "RuleList")
MAX_LITERALS = 100_000  # antecedents of all rules
MAX_COMPARED = 300  # rules whose regions are looked for: each is compared with all before it
CAPTURES = (
    "every rule captures a training row, as CORELS sees to where c > 0 and the support bound is on (both are defaults)"
)
Literals = dict[str, int]


def read(thing: Thing, form: str) -> Draft:
    """Return the draft of a pickled CorelsClassifier or of its RuleList.

    Raises `ReleaseError` naming the place for rules that are none. Cost: linear in rules with counts, without them
    quadratic in at most 300 rules.
    """
    inner, sure = thing, True
    if thing.class_name == "CorelsClassifier":
        inner = thing.get("rl_")
        if not isinstance(inner, Thing):
            raise ReleaseError("holds no rule list: the model is not fitted", place="rl_")
        c, ablation = thing.get("c", 0.01), thing.get("ablation", 0)
        sure = number(c, "c") > 0 and number(ablation, "ablation") != 1
    return rule_list(inner.attributes, f"CORELS {thing.class_name} ({form})", sure)


def read_saved(saved: Mapping[Any, Any], form: str) -> Draft:
    """Return the draft of what `rl_.save` wrote: a dict with features "f", rules "r" and the prediction's name "p"."""
    from recon.readers.stored.objects.arrays import resolve

    found = {long: resolve(saved.get(short)) for short, long in (("f", "features"), ("r", "rules"))}
    found["prediction_name"] = saved.get("p")
    return rule_list(found, f"CORELS saved rule list ({form})", True)


def rule_list(found: Mapping[str, Any], origin: str, sure: bool) -> Draft:
    """Return the draft of a rule list; `sure`: each of its rules captured some row."""
    names = texts(found.get("features"))
    if names is None or len(set(names)) < len(names):
        raise ReleaseError("names no features, or one twice", place="features")
    named = names != [f"feature{i + 1}" for i in range(len(names))]
    rules = parts(found.get("rules"), "rules", "rules")
    conditions, predicted, counts = [], [], []
    literals = 0
    for i, rule in enumerate(rules):
        if not isinstance(rule, dict):
            raise ReleaseError("is not a rule", place=f"rules[{i}]")
        conditions.append(_antecedent(rule, names, i, i + 1 == len(rules)))
        literals += len(conditions[-1])
        if literals > MAX_LITERALS:
            raise ReleaseError(f"holds more than {MAX_LITERALS:,} antecedents", place="rules")
        predicted.append(prediction(rule, i))
        counts.append(train_labels(rule, i))
    said_name = found.get("prediction_name")
    label = free_label(names, said_name if isinstance(said_name, str) and 0 < len(said_name) <= 1000 else "label")
    fields: dict[str, Any] = {
        "features": as_features(names),
        "classes": (0, 1),
        "label": label,
        "hints": {name: Categorical(name, (0, 1)) for name in names},
        "named": named,
    }
    if any(c is not None for c in counts):
        if missing := [i for i, c in enumerate(counts) if c is None]:
            raise ReleaseError("has no train_labels, others have", place=f"rules[{missing[0]}]")
        full = tuple(Rule(c, Support(n)) for c, n in zip(conditions, counts, strict=True))
        n = sum(sum(c) for c in counts if c is not None)
        return Draft(Provenance(origin, ("exact",)), models=(RuleList(full),), rows=RowCount(n, n), **fields)
    skeleton = RuleList(tuple(Rule(c, Support()) for c in conditions))
    figures = tuple(_labels_of(conditions, predicted, label)) if sure else ()
    left = len(conditions) - 1 - MAX_COMPARED
    why = f"each is compared with all before it, and {MAX_COMPARED} are"
    unused = (
        (UnusedPublication(f"the classes of the last {left:,} rules", why, labels=True),) if sure and left > 0 else ()
    )
    return SkeletonDraft(
        Provenance(origin, ("label",), (CAPTURES,), unused=unused),
        models=(Table(figures, "rule list"),) if figures else (),
        reader_notes=(f"a rule list of CORELS says which class is predicted where; {NO_COUNTS}",),
        skeleton=skeleton,
        predicted=tuple(predicted),
        **fields,
    )


def _antecedent(rule: dict[Any, Any], names: Sequence[str], at: int, last: bool) -> Condition:
    """Return a rule's condition: 0/1 tests on columns; empty for the last rule, [0]."""
    place = f"rules[{at}].antecedents"
    found = rule.get("antecedents")
    if not isinstance(found, (list, tuple)):
        raise ReleaseError("is not a list of columns", place=place)
    if not all(isinstance(x, int) and not isinstance(x, bool) and abs(x) <= len(names) for x in found):
        raise ReleaseError(f"names a column that is none of the {len(names)} features", place=place)
    if last and list(found) in ([0], []):
        return ()
    if last or not found or 0 in found:
        asked = "the last rule must be the default, [0]" if last else "only the last rule may take all rows"
        raise ReleaseError(f"is {list(found)[:5]}: {asked}", place=place)
    literals: Literals = {}
    for x in found:
        name, value = names[abs(x) - 1], int(x > 0)
        if literals.setdefault(name, value) != value:
            raise ReleaseError(f"asks for '{name}' and for its opposite", place=place)
    return _condition_of(literals)


def _condition_of(literals: Literals) -> Condition:
    return tuple((name, equals(value)) for name, value in literals.items())


def prediction(rule: dict[Any, Any], at: int) -> Value:
    """Return the class a rule predicts."""
    found = rule.get("prediction")
    if not isinstance(found, (bool, int)) or found not in {0, 1}:
        raise ReleaseError("is neither 0 nor 1", place=f"rules[{at}].prediction")
    return int(found)


def train_labels(rule: dict[Any, Any], at: int) -> tuple[int, int] | None:
    """Return the training rows of class 0 and 1 that a rule captured, None where the file has none."""
    if "train_labels" not in rule:
        return None
    place = f"rules[{at}].train_labels"
    found = parts(rule["train_labels"], "counts", place)
    if len(found) != 2:
        raise ReleaseError(f"holds {len(found)} counts, not two", place=place)
    return count(found[0], place), count(found[1], place)


def _labels_of(conditions: Sequence[Condition], predicted: Sequence[Value], label: str) -> list[PublishedFigure]:
    """Return what the predicted labels say of the rules whose rows are a box; the default rule may be empty."""
    out = []
    plain: list[Literals] = [{name: int(test.values == (1,)) for name, test in c} for c in conditions]
    for i in range(min(len(conditions) - 1, MAX_COMPARED)):
        box = _captured(plain[i], plain[:i])
        if box is not None:
            out.append(commonest(_condition_of(box), label, predicted[i], 2, f"rule {i}"))
    return out


def _captured(rule: Literals, before: Sequence[Literals]) -> Literals | None:
    """Return the literals of the rows that meet a rule and none before it, None where these are not one box.

    A rule before that has one literal more than the box takes away the half with that literal; one that contradicts
    the box takes nothing; repeated until nothing changes.
    """
    box, left = dict(rule), list(before)
    while True:
        rest = []
        narrowed = False
        for other in left:
            if any(box.get(name, value) != value for name, value in other.items()):
                continue
            more = [name for name in other if name not in box]
            if len(more) == 1:
                box[more[0]] = 1 - other[more[0]]
                narrowed = True
            else:  # of none all rows were captured before: CORELS keeps no such rule
                rest.append(other)
        if not rest:
            return box
        if not narrowed:
            return None
        left = rest
