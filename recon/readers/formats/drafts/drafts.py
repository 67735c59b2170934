"""What a file says before a domain is known: published models in the file's own terms.

A reader returns a `Draft`: models whose conditions name the file's features and thresholds, what the file says about
the values of the attributes (`hints`), and how its counts came about (`Provenance`). Bound to a domain, the draft
becomes models of the release; without one, a domain is guessed from the draft
(`recon.readers.formats.drafts.suggesting`).

Names that a library changed on their way into a model, found again: "mean radius" is LightGBM's "mean_radius".

LightGBM turns spaces into underscores, R every sign into a dot; XGBoost refuses brackets and <, so that people take
them out. Names are alike where only such signs differ, and a pair counts where it is the only one.

Counts that have a common divisor: rows that stand in the training data several times, or weigh as if they did.

A weight of 2 doubles every count, class weights those of a class, and copies of rows do the same. Where the counts of
a class, of two leaves or more, are multiples of a number above 1, how many rows all counts stand for is open: from the
quotients on. Boosters weigh rows, not classes: of them the counts of every class are asked for, or such of one class as
chance gives less than once in 64 times.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.domain.domain import Domain
from encoders.models.models import (
    AnyModel,
    ColumnFigures,
    Tree,
    UnusedPublication,
)
from encoders.models.nodes import Support
from recon.readers.formats.drafts.binding import Binder, DraftFacts
from solvers.foundation.errors import Unsupported

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

    def of_known(self, table: Any, label: str) -> Draft:
        """Return the draft beside a table of everybody's columns, for what follows from them; `label`: its label."""
        return self

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
