"""Attributes without values to count that look like bits or integers by their thresholds: offered, never assumed.

A column that is only compared inside (0, 1) may be a bit (extremely randomised trees draw their thresholds between the
least and the greatest value), one that is only compared at halves may be of whole numbers (a threshold stands half-way
between two values). Neither is sure: shares lie in (0, 1) too. So an audit says it and how to declare it, and `recon
domain --suggest` writes the domain for a person to check and edit.

Source: Geurts, Ernst, Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006.

The row space of a model file nobody declared a domain for: what the file says, and for the rest its thresholds.

A file seldom says which values exist. What it does say (categories, ranges) is taken; an attribute that is only ever
compared with one half is taken as binary; any other is any number, without an end on either side: thresholds do not say
how far the rows lie beyond them. Thresholds behind a pipeline's steps are turned back to the attribute's own numbers
first. Every answer carries what was assumed.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from encoders.domain.domain import GUESSED, Domain
from encoders.domain.values import AnyAttribute, Categorical, Continuous, Grid, Test, Value, View, exact, is_number
from encoders.encode.encoder import EncodedRelease
from recon.io.console.guarding import suggestion
from recon.readers.formats.drafts.binding import class_order
from recon.readers.formats.drafts.drafts import Draft
from solvers.foundation.errors import ReleaseError

HALF = Fraction(1, 2)
WANTING = "assumed for want of a declared domain (--domain): "


def guess_domain(draft: Draft) -> Domain:
    """Return a domain that every test of the draft fits; its notes say what was assumed. Cost: linear in tests."""
    draft.refuse_alone()
    seen = _raw_tests(draft)
    filled = {f.attribute for f in draft.features if f.make is not None and is_number(f.make(None))}
    attributes, notes = [], []
    for name, tests in seen.items():
        found, note = _guessed(name, tests, draft.hints.get(name), name in filled)
        attributes.append(found)
        notes += [note] if note else []
    label = None if draft.classes is None else _label_of(draft, [a.name for a in attributes])
    if label is None and not attributes:
        raise ReleaseError("the file names no features: give a domain (--domain)")
    lines = [WANTING + note for note in notes]
    return with_class_columns(draft, Domain(tuple(attributes), label, source=GUESSED, notes=tuple(lines)))


def _raw_tests(draft: Draft) -> dict[str, list[Test]]:
    """Return the tests on every attribute's own values, as far as hints do not list them already."""
    seen: dict[str, list[Test]] = {a: [] for a in dict.fromkeys(f.attribute for f in draft.features)}
    features = {f.name: f for f in draft.features}
    for name, test in draft.tests():
        feature = features.get(name)
        if feature is None:
            continue
        if feature.make is None:
            seen[feature.attribute].append(test)
        elif not isinstance(draft.hints.get(feature.attribute), Categorical):
            if feature.invert is None:
                raise ReleaseError(
                    f"the file does not say which values '{feature.attribute}' has before it is preprocessed: "
                    "give --domain"
                )
            seen[feature.attribute].append(feature.invert(test))
    return seen


def _guessed(name: str, tests: list[Test], hint: AnyAttribute | None, filled: bool) -> tuple[AnyAttribute, str]:
    """Return an attribute, and what was assumed about it ("": the file says it).

    `filled`: the model has a value for missing ones, so that there may be some.
    """
    missing = any(t.missing for t in tests if t.bare) or (filled if hint is None else hint.missing)
    numbers = sorted({exact(x) for t in tests for x in (t.low, t.high) if x is not None and is_number(x)})
    values = dict.fromkeys(v for t in tests for v in t.values or ())
    if hint is not None:
        return _widened(name, hint, numbers, missing), ""
    if not numbers and not values:
        return Categorical(name, (0, 1), missing=missing), f"'{name}' is never used: taken as 0 or 1"
    if all(x == HALF for x in numbers) and all(v in {0, 1} for v in values):  # shares have other thresholds, too
        return Categorical(name, (0, 1), missing=missing), f"'{name}' is 0 or 1"
    if values and not numbers:
        return _named_categories(
            name, list(values), missing
        ), f"'{name}' has only the values that the model names, and another"
    return Continuous(name, missing=missing), f"'{name}' is any number"


def _named_categories(name: str, values: list[Value], missing: bool) -> Categorical:
    """Return an attribute of the values that are named, and one that stands for all others."""
    if all(is_number(v) for v in values):
        ordered = sorted(values, key=exact)
        return Categorical(name, (*ordered, int(exact(ordered[-1])) + 1), missing=missing)
    texts = [str(v) for v in values]
    other = "other"
    while other in texts:
        other += "_"
    return Categorical(name, (*texts, other), missing=missing)


def _widened(name: str, hint: AnyAttribute, numbers: Iterable[Fraction], missing: bool) -> AnyAttribute:
    """Return what the file says about an attribute, a range made to hold every threshold."""
    if isinstance(hint, Continuous):
        low, high = hint.minimum, hint.maximum
        return Continuous(
            name,
            None if low is None else min(low, *numbers, low),
            None if high is None else max(high, *numbers, high),
            missing=missing,
        )
    if isinstance(hint, Categorical):
        return Categorical(name, hint.values, missing=missing)
    return type(hint)(name, hint.minimum, hint.step, hint.count, missing=missing)


def _label_of(draft: Draft, taken: list[str]) -> Categorical:
    """Return the label: the classes of the file under the file's name for it, or one that is free."""
    name = draft.label
    while name in taken:
        name += "_"
    classes = draft.classes or ()
    if all(is_number(c) for c in classes):
        return Categorical(name, tuple(sorted(classes, key=exact)))
    return Categorical(name, tuple(classes))


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


ROUNDING = Fraction(1, 1 << 23)  # of 32-bit numbers, relative
LARGEST = 1 << 20  # beyond, 32-bit numbers are too far apart to tell halves
CHECK = "CHECK"  # how notes begin that a person has to look at
NAMED = 8  # attributes named in a sentence


@dataclass(frozen=True)
class Suggestion:
    """Attributes without values to count, by what their thresholds look like; `integers` with their thresholds' span.

    `others`: neither; they need values, or a resolution, from whoever knows.
    """

    bits: tuple[str, ...] = ()
    integers: tuple[tuple[str, int, int], ...] = ()
    others: tuple[str, ...] = ()

    @property
    def recognised(self) -> tuple[str, ...]:
        """Return the names of the attributes that look like bits or integers."""
        return (*self.bits, *(name for name, _, _ in self.integers))


def _suggested(release: EncodedRelease) -> Suggestion:
    """Return what the continuous attributes of a release look like.

    Cost: linear in the thresholds of those that may be integers, constant of others.
    """
    bits, integers, others = [], [], []
    for cuts in release.cut.cuts:
        attribute = cuts.attribute
        if not isinstance(attribute, Continuous):
            continue
        start, end = attribute.known
        seen = cuts.inner[bisect_right(cuts.inner, start) : bisect_left(cuts.inner, end)]  # ascending
        if seen and seen[0][0] > 0 and seen[-1][0] < 1:
            bits.append(attribute.name)
        elif seen and (twice := _halves([place[0] for place in seen])):
            integers.append((attribute.name, math.ceil(twice[0] / 2) - 1, math.floor(twice[-1] / 2) + 1))
        else:
            others.append(attribute.name)
    return Suggestion(tuple(bits), tuple(integers), tuple(others))


def _halves(thresholds: list[Fraction]) -> list[int]:
    """Return twice the thresholds where all are whole numbers or halves, some of them halves; else nothing.

    Up to what rounding to 32 bits moves them: scikit-learn compares rounded numbers, thresholds are read like that.
    """
    out = []
    for x in thresholds:
        out.append(round(2 * x))
        if abs(2 * x - out[-1]) > 2 * ROUNDING * abs(x) or abs(x) >= LARGEST:
            return []
    return out if any(twice % 2 for twice in out) else []


def suggested_domain(release: EncodedRelease) -> Domain:
    """Return the release's domain with what was recognised as values 0 and 1, or as integers over the thresholds' span.

    It is still called a guess (its `source`) until a person has checked it; the notes say what to look at.
    """
    found, domain = _suggested(release), release.domain
    spans = {name: (low, high) for name, low, high in found.integers}

    def instead(attribute: AnyAttribute) -> AnyAttribute:
        if attribute.name in found.bits:
            return Categorical(attribute.name, (0, 1), missing=attribute.missing)
        if attribute.name in spans:
            return Grid.between(attribute.name, *spans[attribute.name], missing=attribute.missing)
        return attribute

    kept = [note for note in domain.notes if not any(f"'{name}' " in note for name in found.recognised)]
    notes = [*kept, *_suggestion_notes(found)]
    return replace(domain, attributes=tuple(map(instead, domain.attributes)), notes=tuple(notes))


def _suggestion_notes(found: Suggestion) -> list[str]:
    """Return what whoever checks a suggested domain must look at, one line per attribute."""
    bits = [f"{CHECK}: '{name}' is suggested as 0 or 1 (every threshold lies between them)" for name in found.bits]
    whole = [
        f"{CHECK}: '{name}' is suggested as a whole number, and min {low} and max {high} are only what the thresholds "
        "span: set them to what is possible"
        for name, low, high in found.integers
    ]
    rest = [f"{CHECK}: '{name}' has no values to count: give it values, or a resolution" for name in found.others]
    return [*bits, *whole, *rest]


def _names_text(names: tuple[str, ...]) -> str:
    """Return names in a sentence, the first ones of many."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(f"'{name}'" for name in names[:NAMED]) + more


def _why_not_assessed(release: EncodedRelease) -> str:
    """Return why worlds of a release cannot be counted over its domain, "" where they can."""
    names = release.domain.continuous
    if not names:
        return ""
    who = (
        "nobody declared a domain, and the one guessed from the model file has"
        if release.domain.source == GUESSED
        else "the domain has"
    )
    return f"{who} no values to count for {_names_text(names)} (continuous, no resolution)"


def _commands(release: EncodedRelease) -> list[str]:
    """Return the commands that assess a release which is not, the surest first."""
    files = release.files or (release.file or "MODEL",)
    edited = suggestion("audit", files, {"--domain": "domain.json"})
    if release.domain.source != GUESSED:  # whoever gave it has to say more: the same command would say the same again
        return [edited]
    out = [suggestion("audit", files, {"--domain": "DATA.csv"})]
    if _suggested(release).recognised and len(release.files) <= 1:
        out.append(f"{suggestion('domain', files, {'--suggest': None, '--out': 'domain.json'})}; {edited}")
    return out


def not_assessed_lines(release: EncodedRelease) -> list[str]:
    """Return what a report says where nothing could be counted: that, why, and what to run; nothing where it could."""
    why = _why_not_assessed(release)
    if not why:
        return []
    found, run = _suggested(release), _commands(release)
    lines = [
        f"not assessed: {why}",
        "this does not mean that little is disclosed: with its domain the same file may reveal every row",
    ]
    if release.domain.source != GUESSED:
        how = "in the domain's file (recon domain DATA.csv --out domain.json writes one of data) give them values, or a"
        return [*lines, f"{how} resolution that fits their decimals; then run {run[0]}"]
    lines.append(f"run {run[0]} (rows of the same kind, or a file with the domain)")
    if found.bits:
        text = "these columns look like bits, unless they are shares (every threshold lies between 0 and 1)"
        lines.append(f"{text}: {_names_text(found.bits)}")
    if found.integers:
        text = _names_text(tuple(name for name, _, _ in found.integers))
        lines.append(f"these columns look like integers (every threshold is a whole number or a half): {text}")
    if found.recognised and len(run) > 1:
        lines.append(f"if so, run {run[1]} (check and edit the file in between)")
    return lines


def not_assessed_json(release: EncodedRelease) -> dict[str, object] | None:
    """Return the same as an object ready for JSON, None where worlds could be counted."""
    why = _why_not_assessed(release)
    if not why:
        return None
    found = _suggested(release) if release.domain.source == GUESSED else Suggestion(others=release.domain.continuous)
    integers = [{"name": name, "min": low, "max": high} for name, low, high in found.integers]
    looks = {"bits": list(found.bits), "integers": integers, "others": list(found.others)}
    return {"why": why, "run": _commands(release), "looks_like": looks}
