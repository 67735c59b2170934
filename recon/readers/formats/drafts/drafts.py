"""What a file says before a domain is known: published models in the file's own terms.

A reader returns a `Draft`: models whose conditions name the file's features and thresholds, what the file says about
the values of the attributes (`hints`), and how its counts came about (`Provenance`). Bound to a domain, the draft
becomes models of the release; without one, a domain is guessed from the draft
(`recon.readers.formats.drafts.drafts`).

Names that a library changed on their way into a model, found again: "mean radius" is LightGBM's "mean_radius".

LightGBM turns spaces into underscores, R every sign into a dot; XGBoost refuses brackets and <, so that people take
them out. Names are alike where only such signs differ, and a pair counts where it is the only one.

Counts that have a common divisor: rows that stand in the training data several times, or weigh as if they did.

A weight of 2 doubles every count, class weights those of a class, and copies of rows do the same. Where the counts of
a class, of two leaves or more, are multiples of a number above 1, how many rows all counts stand for is open: from the
quotients on. Boosters weigh rows, not classes: of them the counts of every class are asked for, or such of one class as
chance gives less than once in 64 times.

Attributes without values to count that look like bits or integers by their thresholds: offered, never assumed.

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
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from encoders.domain.domain import GUESSED, Domain
from encoders.domain.values import AnyAttribute, Categorical, Continuous, Grid, Test, Value, View, exact, is_number
from encoders.encode.encoder import EncodedRelease
from encoders.models.models import (
    AnyModel,
    ColumnFigures,
    Tree,
    UnusedPublication,
)
from encoders.models.nodes import Support
from recon.io.console.guarding import suggestion
from recon.readers.formats.drafts.binding import Binder, DraftFacts, class_order
from solvers.foundation.errors import ReleaseError, Unsupported

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


CHANCE = 64  # k leaves have a common divisor d by chance once in d^k times


def _common_divisor(counts: Iterable[int]) -> int:
    """Return the greatest common divisor of the counts that are not 0; 1 where there are fewer than two of them."""
    found = [n for n in counts if n > 0]
    return math.gcd(*found) if len(found) > 1 else 1


def divided(leaves: Sequence[Sequence[int]], chance: int = 1) -> tuple[list[int], list[int]]:
    """Return the divisor of every column of counts per leaf, and how many rows every leaf has at least.

    Divisors that say nothing are 1: where not every column has one, such as chance gives more than once in `chance`.
    """
    columns = [column for column in zip(*leaves, strict=True) if any(column)]
    found = [_common_divisor(column) for column in columns]
    rare = any(d > 1 and d ** sum(n > 0 for n in c) >= chance for d, c in zip(found, columns, strict=True))
    if not rare and min(found, default=1) == 1:
        return [1] * (len(leaves[0]) if leaves else 0), [sum(leaf) for leaf in leaves]
    divisors = [_common_divisor(column) for column in zip(*leaves, strict=True)]
    return divisors, [sum(n // d for n, d in zip(leaf, divisors, strict=True)) for leaf in leaves]


# How the sentence ends: other weights leave fewer rows than the quotients, or more than the counts.
WITHIN = "; no row had a weight below 1 or above these divisors (rows of weight 0 do not count)"


def copies_note(divisors: Sequence[int], names: Sequence[object] = ()) -> str:
    """Return what a common divisor means, in words; `names` of the classes."""
    shown = [
        f"{f' of class {name}' if names else ''} of {d}"
        for d, name in zip(divisors, names or [""] * len(divisors), strict=True)
        if d > 1
    ]
    return (
        f"the counts{' and those'.join(shown[:3])} are multiples, so that rows may not be there once and with "
        "weight 1 (class_weight, sample_weight, copies): how many they are is only known from the quotients on, unless "
        f"--rows says it{WITHIN}"
    )


# How the note of a model begins that is about an unknown part of the training rows: it is joined with nothing.
SUBSET = "about a subset"
OTHERS = "about other rows"  # how the note of trees begins that are about other rows than the trees before them
SAME, KEPT = "all trees were fitted on the same rows", "the trees that are read here were fitted on the same rows"
FIRST = "trees of another training stand behind these in the file, and are left out: "
CLASSES = "classes_"  # what the figures of the label are called
EACH = "every class that the model names has a training row, and no other class has one (classes_)"
ONLY = "no class has a training row that the model does not name (classes_)"


MadeOf = tuple[str, Callable[[Any], Any], tuple[Fraction, Fraction] | None]  # a column of a table, what is made of it


@dataclass(frozen=True)
class Draft(DraftFacts):
    """What a file says, and the models it makes over a domain; readers with more to say are subclasses.

    `others`: what stands behind it in the file and is about other rows, each a release of its own, or why it is none.
    """

    others: tuple[Draft | str, ...] = ()

    def chosen(self, number: int | None, path: str) -> Draft:
        """Return the release that a path asks for by its number, the first one (saying what else is there) by none."""
        if not self.others and number is not None:
            raise Unsupported(f"holds one release: give it without #{number}")
        if number is not None and number > 1 + len(self.others):
            raise Unsupported(f"there are {1 + len(self.others)} trainings in the file, no number {number}")
        found = self if number in (None, 1) else self.others[(number or 2) - 2]
        if isinstance(found, str):
            raise Unsupported(found)
        if number is not None or not self.others:
            return found
        more = ", ".join(f"{path}#{k}" for k in range(2, 2 + min(len(self.others), SHOWN)))
        said = f"what trees of other trainings say are releases of their own: {more}"
        return replace(self, reader_notes=(*self.reader_notes, said))

    def before_others(self, trees: int, others: Sequence[Draft | str], why: str) -> Draft:
        """Return the draft of the first so many trees of a file, which says what the trees after them are about."""
        unused = UnusedPublication("the trees after these", f"a release of their own: {why}")
        origin = replace(
            self.origin, notes=(*self._of_one_training(), FIRST + why), unused=(*self.origin.unused, unused)
        )
        said = f"from tree {trees} on trees are of another training, and left out here"
        return replace(self, origin=origin, reader_notes=(*self.reader_notes, said), others=tuple(others))

    def of_others(self, note: str) -> Draft:
        """Return the draft of trees of another training than those before them in the file, as the note says."""
        unused = UnusedPublication("their leaf values", "they go on from scores that trees of another training gave")
        notes, kept = (note, *self._of_one_training()), self.origin.unused
        return replace(self, origin=replace(self.origin, notes=notes, unused=(*kept, unused)))

    def _of_one_training(self) -> tuple[str, ...]:
        """Return the notes, as they are of some of the file's trees."""
        return tuple(KEPT if note.startswith(SAME) else note for note in self.origin.notes)

    def of_forest(self) -> Draft:
        """Return what the file says of one tree of a bootstrap forest; `Unsupported` where it says that itself."""
        raise Unsupported(
            "the file says itself how the rows of its trees were drawn: --from-forest is for what export_text printed"
        )

    def refuse_alone(self) -> None:
        """Refuse what is about a model of another file with `ReleaseError`; anything else is taken."""

    def of_rows(self, rows: int) -> Draft:
        """Return the draft where somebody says how many rows there are: other counts, where a file has shares."""
        return self

    def over(self, domain: Domain) -> Draft:
        """Return the draft with its classes as the label of a domain calls them."""
        return self

    def of_known(self, table: Any, label: str) -> Draft:
        """Return the draft beside a table of everybody's columns, for what follows from them; `label`: its label."""
        return self

    def of_made(self, table: Any, columns: Sequence[MadeOf]) -> Draft:
        """Return the draft beside a table of everybody's columns, of which a pipeline makes those of the model."""
        raise Unsupported("of the model nothing is read beside known columns behind a pipeline")

    def left_out(self) -> str:
        """Return why nothing of the model can be stated, and what would help; "" where something can."""
        return ""

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the models over the binder's domain, counts in the order of its label's values.

        Raises `ReleaseError` naming the feature for a test that does not fit the domain.
        """
        return tuple(replace(bind(model, binder), origin=self.origin) for model in self.models)


def bind(model: AnyModel, binder: Binder) -> AnyModel:
    """Return the model with its conditions and counts in the domain's terms."""

    def support(of: Support) -> Support:
        return of if of.counts is None else replace(of, counts=binder.counts(of.counts))

    return model.mapped(binder.translate, support).relabelled(binder.label_numbers)


def with_classes(models: tuple[AnyModel, ...], draft: Draft, binder: Binder) -> tuple[AnyModel, ...]:
    """Return the models with what the file's list of classes says beside their counts, if it says more than these."""
    label, order = binder.domain.label, binder.order
    if not draft.occurring or label is None or order is None or any(map(_counts_classes, models)):
        return models
    values = [label.value_at(i) for i, c in enumerate(order) if c is not None]
    absent = None in order[: label.known[1]]
    drawn = {k for m in models if m.unit == "tree" and not m.scores for t in m.members() for k in _counted_classes(t)}
    each = draft.occurring == "each" and not {i for i, c in enumerate(order) if c is not None} <= drawn
    if not absent and not each:
        return models
    first, *rest = models
    origin = first.origin or draft.origin
    said = ColumnFigures(
        label.name, CLASSES, values=frozenset(values) if each else None, among=frozenset(values), gap=False
    )
    notes = (*origin.notes, EACH if each else ONLY)
    return (replace(first, origin=replace(origin, columns=(*origin.columns, said), notes=notes)), *rest)


def _counts_classes(model: AnyModel) -> bool:
    """Return whether a model counts the rows of every class, all rows together, or its leaf values do."""
    if model.scores:
        return model.scores == "classes" or _by_class(model.members()[0])
    return not model.resampled and any(map(_by_class, model.members()))


def _by_class(tree: Tree) -> bool:
    """Return whether every leaf of a tree has its classes."""
    table = tree.nodes.leaf_counts
    return bool(table.by_class.all())


def _counted_classes(tree: Tree) -> set[int]:
    """Return the classes that some leaf of a tree counts a row of."""
    table = tree.nodes.leaf_counts
    width = np.diff(table.start)
    leaf = np.repeat(np.arange(len(width)), width)
    at = np.flatnonzero(table.by_class[leaf] & (table.values > 0))
    return set((at - table.start[leaf[at]]).tolist())


SHOWN = 5


def _loose(name: str) -> str:
    """Return the name with every run of other signs than letters and digits as one underscore, none at its ends."""
    return re.sub(r"[\W_]+", "_", name).strip("_")


def alike(wanted: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Return, per wanted name that is not known, the one name that only differs in signs and that nobody else wants.

    A name that is known under itself is left alone, and so are names of which several are alike.
    """
    asked = list(dict.fromkeys(wanted))
    left = [name for name in asked if name not in known]
    free = [name for name in known if name not in set(asked)]
    of_left, of_free = Counter(map(_loose, left)), Counter(map(_loose, free))
    place = {_loose(name): name for name in free}
    return {
        name: place[key] for name in left if (key := _loose(name)) and of_left[key] == 1 and of_free.get(key, 0) == 1
    }


def matching_notes(found: dict[str, str], who: str, what: str) -> list[str]:
    """Return a sentence on names that were matched, [] for none."""
    if not found:
        return []
    pairs = ", ".join(f"'{a}' as '{b}'" for a, b in list(found.items())[:SHOWN])
    more = f", and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return [f"{who} were matched with {what} whose names differ in signs only: {pairs}{more}"]


def with_own_names(draft: Draft, domain: Domain) -> tuple[Draft, Domain]:
    """Return the draft with features called as in the domain where a library changed their names; a note says so."""
    if not draft.named:
        return draft, domain
    label = () if domain.label is None else (domain.label.name,)
    known = [name for name in (*domain.place, *domain.columns) if name not in label]
    found = alike((f.attribute for f in draft.features), known)
    if not found:
        return draft, domain
    features = tuple(replace(f, attribute=found.get(f.attribute, f.attribute)) for f in draft.features)
    notes = matching_notes(found, "features of the model", "attributes of the domain")
    return replace(draft, features=features), replace(domain, notes=(*domain.notes, *notes))
