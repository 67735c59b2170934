"""The row space of a model file nobody declared a domain for: what the file says, and for the rest its thresholds.

A file seldom says which values exist. What it does say (categories, ranges) is taken; an attribute that is only ever
compared with one half is taken as binary; any other is any number, without an end on either side: thresholds do not say
how far the rows lie beyond them. Thresholds behind a pipeline's steps are turned back to the attribute's own numbers
first. Every answer carries what was assumed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from encoders.domain.domain import GUESSED, Domain
from encoders.domain.values import AnyAttribute, Continuous, Listed, Test, Value, exact, is_number
from encoders.domain.views import View
from recon.readers.formats.drafts.binding import class_order
from recon.readers.formats.drafts.drafts import Draft
from solvers.foundation.errors import ReleaseError

HALF = Fraction(1, 2)
WANTING = "assumed for want of a declared domain (--domain): "


def guess_domain(draft: Draft) -> Domain:
    """Return a domain that every test of the draft fits; its notes say what was assumed. Cost: linear in tests."""
    seen = raw_tests(draft)
    filled = {f.attribute for f in draft.features if f.make is not None and is_number(f.make(None))}
    attributes, notes = [], []
    for name, tests in seen.items():
        found, note = guessed(name, tests, draft.hints.get(name), name in filled)
        attributes.append(found)
        notes += [note] if note else []
    label = None if draft.classes is None else label_of(draft, [a.name for a in attributes])
    if label is None and not attributes:
        raise ReleaseError("the file names no features: give a domain (--domain)")
    lines = [WANTING + note for note in notes]
    return with_class_columns(draft, Domain(tuple(attributes), label, source=GUESSED, notes=tuple(lines)))


def raw_tests(draft: Draft) -> dict[str, list[Test]]:
    """Return the tests on every attribute's own values, as far as hints do not list them already."""
    seen: dict[str, list[Test]] = {a: [] for a in dict.fromkeys(f.attribute for f in draft.features)}
    features = {f.name: f for f in draft.features}
    for name, test in draft.tests():
        feature = features.get(name)
        if feature is None:
            continue
        if feature.make is None:
            seen[feature.attribute].append(test)
        elif not isinstance(draft.hints.get(feature.attribute), Listed):
            if feature.invert is None:
                raise ReleaseError(
                    f"the file does not say which values '{feature.attribute}' has before it is preprocessed: "
                    "give --domain"
                )
            seen[feature.attribute].append(feature.invert(test))
    return seen


def guessed(name: str, tests: list[Test], hint: AnyAttribute | None, filled: bool) -> tuple[AnyAttribute, str]:
    """Return an attribute, and what was assumed about it ("": the file says it).

    `filled`: the model has a value for missing ones, so that there may be some.
    """
    missing = any(t.missing for t in tests if t.bare) or (filled if hint is None else hint.missing)
    numbers = sorted({exact(x) for t in tests for x in (t.low, t.high) if x is not None and is_number(x)})
    values = dict.fromkeys(v for t in tests for v in t.values or ())
    if hint is not None:
        return widened(name, hint, numbers, missing), ""
    if not numbers and not values:
        return Listed(name, (0, 1), missing=missing), f"'{name}' is never used: taken as 0 or 1"
    if all(x == HALF for x in numbers) and all(v in {0, 1} for v in values):  # shares have other thresholds, too
        return Listed(name, (0, 1), missing=missing), f"'{name}' is 0 or 1"
    if values and not numbers:
        return listed(name, list(values), missing), f"'{name}' has only the values that the model names, and another"
    return Continuous(name, missing=missing), f"'{name}' is any number"


def listed(name: str, values: list[Value], missing: bool) -> Listed:
    """Return an attribute of the values that are named, and one that stands for all others."""
    if all(is_number(v) for v in values):
        ordered = sorted(values, key=exact)
        return Listed(name, (*ordered, int(exact(ordered[-1])) + 1), missing=missing)
    texts = [str(v) for v in values]
    other = "other"
    while other in texts:
        other += "_"
    return Listed(name, (*texts, other), missing=missing)


def widened(name: str, hint: AnyAttribute, numbers: Iterable[Fraction], missing: bool) -> AnyAttribute:
    """Return what the file says about an attribute, a range made to hold every threshold."""
    if isinstance(hint, Continuous):
        low, high = hint.minimum, hint.maximum
        return Continuous(
            name,
            None if low is None else min(low, *numbers, low),
            None if high is None else max(high, *numbers, high),
            missing=missing,
        )
    if isinstance(hint, Listed):
        return Listed(name, hint.values, missing=missing)
    return type(hint)(name, hint.minimum, hint.step, hint.count, missing=missing)


def label_of(draft: Draft, taken: list[str]) -> Listed:
    """Return the label: the classes of the file under the file's name for it, or one that is free."""
    name = draft.label
    while name in taken:
        name += "_"
    classes = draft.classes or ()
    if all(is_number(c) for c in classes):
        return Listed(name, tuple(sorted(classes, key=exact)))
    return Listed(name, tuple(classes))


def with_class_columns(draft: Draft, domain: Domain) -> Domain:
    """Return the domain with a column per class of which the draft publishes means."""
    if domain.label is None or draft.classes is None:
        return domain
    notes = {
        figure.statistic.of
        for model in draft.models
        for figure in getattr(model, "statements", ())
        if figure.statistic is not None
    }
    places, columns = class_order(draft.classes, domain), dict(domain.columns)
    for i, c in enumerate(places):
        name = "" if c is None else f"{draft.label}={draft.classes[c]}"
        if name in notes:
            columns.setdefault(name, View(domain.label.name, Test(values=(domain.label.value_at(i),))))
    return domain if len(columns) == len(domain.columns) else replace(domain, columns=columns)
