"""What is known of an attribute of a class: by the table that was made from fits, or by a decision by hand.

`attributes.json` is made by tests/golden/harmless/table.py: which attributes of which class have the same bytes
whatever the rows are, how many, and in which shapes. `decided.txt` has a line per decision on what differs: what it is
about, the classes, the attributes, the most bytes per number of it that is harmless, and the reason; or which class of
the table some classes of other libraries extend.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from recon.readers.inspection.findings.severity import About
from recon.readers.inspection.ledger.entries import NUMBER
from recon.readers.stored.objects.things import Thing

_HERE = Path(__file__).parent
COLUMNS, CLASSES = 7, 3  # of the fits that the table was made from
_ANY_WIDTH = frozenset(["d", "k", "n", *range(COLUMNS)])  # columns of all of them: kernels and few columns among them
# What the state of a generator of numpy is made of.
STATE = frozenset([
    "bit_generator", "state", "key", "pos", "has_gauss", "gauss", "inc", "has_uint32", "uinteger", "entropy",
    "spawn_key", "pool_size", "pool", "counter", "n_children_spawned", "buffer", "buffer_pos", "seed_seq",
])  # fmt: skip
_ALIKE = str.maketrans("atu", "lll")  # letters of forms: arrays of numbers, texts and objects may be lists, too
EXTENDS = "extends"  # a line of classes that extend one of the table: its attributes, and their own
EVERY = "*"  # classes of a decision: all that have the attribute in the table


@dataclass(frozen=True, slots=True)
class AttributeRecord:
    """What the fits of the table had at an attribute: the same bytes or not, how many at most, shapes, texts, forms.

    `same` is None where files were looked at one by one: then numbers and short texts are all that is known. `forms`:
    letters of the kinds of values on the way to each value in it (`sizes.letter_of`), "." left out.
    """

    same: bool | None
    size: int
    shapes: tuple[tuple[int | str, ...], ...]
    texts: frozenset[str]
    forms: frozenset[str]

    def per_row(self) -> bool:
        """Return whether it had one entry per training row, not only per column where there are as many of these."""
        shapes = set(self.shapes)
        return any("n" in one and tuple("d" if n == "n" else n for n in one) not in shapes for one in shapes)

    def per_column(self) -> bool:
        """Return whether every list or array that it had has one entry per column, whatever their number."""
        flat = {shape[0] for shape in self.shapes if len(shape) == 1}
        return flat == {"d"} or ("d" in flat and self.same is not None and flat <= _ANY_WIDTH)

    def per_class(self) -> bool:
        """Return whether every list or array that it had has one entry per class."""
        flat = {shape[0] for shape in self.shapes if len(shape) == 1}
        return "k" in flat and self.same is not None and flat <= {"k", 1, 2}

    def has_form(self, forms: Collection[str]) -> bool:
        """Return whether fits had values of all these kinds inside each other; lists and arrays are alike."""
        mine = {one.translate(_ALIKE) for one in self.forms}
        return all(one.translate(_ALIKE) in mine for one in forms)

    def bound(self, columns: int, classes: int, members: int) -> int:
        """Return the most bytes that are harmless for so many columns and classes: those of the fits, in proportion."""
        if self.same is None:
            return NUMBER
        letters = {letter for shape in self.shapes for letter in shape}
        grown = max(1.0, columns / COLUMNS) if "d" in letters else 1.0
        grown *= max(1.0, classes / CLASSES) if "k" in letters else 1.0
        return int(max(NUMBER, self.size) * grown)


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision by hand: what an attribute is about, and why.

    "": harmless, "listed": a finding that keeps no check from an answer, both up to `most` bytes ("8dk": times the
    columns and classes; m: members of an ensemble; f: flat, no list stands inside; p: pairs of numbers may).
    """

    about: About | Literal["listed"]
    most: str
    why: str

    def bound(self, columns: int, classes: int, members: int) -> int:
        """Return the most bytes that are harmless for so many columns (d), classes (k) and members (m)."""
        number = int(self.most.rstrip("dkmfp") or 0)
        for letter, size in (("d", columns), ("k", classes), ("m", members)):
            number *= size if letter in self.most else 1
        return number


def class_key(thing: Thing) -> str:
    """Return the library and the class of an object, "sklearn.Pipeline": modules move between versions."""
    kind = thing.kind
    return f"{kind.partition('.')[0]}.{kind.rpartition('.')[2]}"


def attribute_record(kind: str, attribute: str) -> AttributeRecord | None:
    """Return what the table has on an attribute of a class, None where no version of the class has it."""
    entry = _table()["classes"].get(kind, {}).get(attribute)
    if entry is None:
        entry = _table()["classes"].get(base_of(kind), {}).get(attribute)
    if entry is None:
        return None
    same, size, shapes, texts, forms = entry
    return AttributeRecord(
        {0: False, 1: True}.get(same), size, tuple(map(tuple, shapes)), frozenset(texts), frozenset(forms)
    )


def decided(kind: str, attribute: str) -> Decision | None:
    """Return the decision by hand on an attribute of a class, None where there is none."""
    found = _decisions()
    every = attribute_record(kind, attribute) is not None or attribute.startswith("(") or attribute in STATE
    every = every or not (is_known_class(kind) or kind.startswith("numpy."))
    one = found.get((kind, attribute)) or (found.get((kind, EVERY)) if every else None)
    one = one or found.get((base_of(kind), attribute))
    if one is None and is_known_class(kind):
        one = found.get((f"{base_of(kind).partition('.')[0]}.{EVERY}", attribute))
    if one is not None:
        return one
    return found.get((EVERY, attribute)) if attribute_record(kind, attribute) is not None else None


def is_known_class(kind: str) -> bool:
    """Return whether the table has a class, or the one that it extends."""
    return base_of(kind) in _table()["classes"]


def base_of(kind: str) -> str:
    """Return the class of the table that a class of another library extends (decided by hand), else the class."""
    return _bases().get(kind, kind)


@cache
def names() -> frozenset[str]:
    """Return the names of functions and classes that fits have as values."""
    return frozenset(_table()["names"])


@cache
def places_of_objects() -> frozenset[str]:
    """Return the attributes in which fits of any class have objects."""
    classes = _table()["classes"].values()
    return frozenset(name for one in classes for name, (*_, forms) in one.items() if any("o" in f for f in forms))


@cache
def libraries() -> frozenset[str]:
    """Return the libraries of which classes are in the table or decided."""
    return frozenset(
        kind.partition(".")[0] for kind in (*_table()["classes"], *_bases(), *(k for k, _ in _decisions()))
    )


@cache
def _table() -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", json.loads((_HERE / "attributes.json").read_text(encoding="utf-8")))


@cache
def _bases() -> dict[str, str]:
    """Return class -> class that it extends, of the lines `extends | classes | class | | reason`."""
    return {kind: base for about, classes, base, *_ in _lines() if about == EXTENDS for kind in classes.split()}


def _lines() -> Iterator[list[str]]:
    """Yield the five parts of every line of `decided.txt`."""
    for line in (_HERE / "decided.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield [part.strip() for part in line.split("|", 4)]


@cache
def _decisions() -> dict[tuple[str, str], Decision]:
    """Return (class, attribute) -> decision of the lines `about | classes | attributes | most bytes | reason`."""
    found: dict[tuple[str, str], Decision] = {}
    for about, classes, attributes, most, why in _lines():
        if about == EXTENDS:
            continue
        one = Decision(cast("About", "" if about == "harmless" else about), most, why)
        for kind in classes.split():
            for attribute in attributes.split():
                found.setdefault((kind, attribute.replace("(argument_", "(argument ")), one)
    return found
