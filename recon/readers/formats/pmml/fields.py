"""The fields of a PMML file: data dictionary, mining schema, derived fields, and predicates as tests on them.

Source: Data Mining Group, PMML 4.4, "Data Dictionary", "Transformations", "Tree Model" (predicates).
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from encoders.domain.values import AnyAttribute, Categorical, Continuous, Grid, Test, Value, exact, is_number
from recon.readers.formats.drafts.binding import Feature, single_ends
from solvers.foundation.errors import ReleaseError, Unsupported

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

NUMBERS = {"integer", "float", "double"}
WORDS = {"string", "boolean", *NUMBERS}


@dataclass(frozen=True, slots=True)
class Atom:
    """A test on one field; `unknown`: a missing value makes it neither true nor false."""

    name: str
    test: Test
    unknown: bool = True


@dataclass(frozen=True, slots=True)
class CompoundPredicate:
    """A compound predicate: `how` is and, or, surrogate; a constant has no parts ("and": true, "or": false)."""

    how: str
    parts: tuple[Predicate, ...] = ()


Predicate = Atom | CompoundPredicate
TRUE, FALSE = CompoundPredicate("and"), CompoundPredicate("or")


def tag(element: Element) -> str:
    """Return an element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def children_named(element: Element, *names: str) -> Iterator[Element]:
    """Yield the children of the given names."""
    return (child for child in element if tag(child) in names)


def first(element: Element, name: str) -> Element | None:
    """Return the first child of a name."""
    return next(children_named(element, name), None)


@dataclass(frozen=True)
class DataField:
    """A declared field: its type, valid values in order and range."""

    name: str
    kind: str
    values: tuple[Value, ...] = ()
    span: tuple[Fraction, Fraction] | None = None
    gaps: bool = False  # some of its values stand for a missing one

    def value(self, text: str | None, place: str) -> Value:
        """Return a value as the field's type reads it; `ReleaseError` where it cannot."""
        if text is None:
            raise ReleaseError("a value is missing", place=place)
        if self.kind == "boolean" and text.lower() in ("true", "false", "1", "0"):
            return text.lower() in ("true", "1")
        if self.kind not in NUMBERS:
            return text
        return number(text, place)

    def hint(self) -> AnyAttribute | None:
        """Return the attribute that the declaration describes, None where it says too little."""
        if self.values:
            in_order = self.values
            if not any(isinstance(v, str) for v in in_order):
                in_order = tuple(sorted(set(in_order)))
            return Categorical(self.name, tuple(dict.fromkeys(in_order)))
        if self.span is None:
            return None
        low, high = self.span
        if self.kind == "integer":
            low, high = Fraction(math.ceil(low)), Fraction(math.floor(high))
        if low >= high:
            return None
        if self.kind == "integer":
            return Grid(self.name, low, Fraction(1), int(high - low) + 1)
        return Continuous(self.name, low, high)


def number(text: str | None, place: str) -> int | float:
    """Return a finite number; `ReleaseError` naming the place."""
    try:
        found = float(text) if text is not None else math.nan
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ReleaseError(f"{str(text)[:40]!r} is not a finite number", place=place)
    return int(found) if found.is_integer() and abs(found) < 1 << 53 else found


def data_field(element: Element) -> DataField:
    """Return a declared field."""
    name, kind = element.get("name"), element.get("dataType", "string")
    if not name:
        raise ReleaseError("a field has no name", place="DataField")
    found = DataField(name, kind if kind in WORDS else "string")
    values = [
        found.value(v.get("value"), f"DataField '{name}'")
        for v in children_named(element, "Value")
        if v.get("property", "valid") == "valid"
    ]
    ends = []
    for interval in children_named(element, "Interval"):
        margins = interval.get("leftMargin"), interval.get("rightMargin")
        ends.append(None if None in margins else [exact(number(m, f"DataField '{name}'")) for m in margins])
    kept = [e for e in ends if e is not None]
    span = (min(e[0] for e in kept), max(e[1] for e in kept)) if kept and len(kept) == len(ends) else None
    categorical = element.get("optype") in ("categorical", "ordinal")
    gaps = any(v.get("property") == "missing" for v in children_named(element, "Value"))
    return replace(found, values=tuple(values) if categorical or span is None else (), span=span, gaps=gaps)


@dataclass
class Fields:
    """All fields by name; `derived` become features, `indicators` are 0/1 fields of one value each."""

    data: dict[str, DataField]
    derived: dict[str, Feature] = field(default_factory=dict)
    indicators: dict[str, tuple[str, Value]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    replaced: dict[str, Value] = field(default_factory=dict)  # what stands for a missing value
    rounded: bool = False  # thresholds were written as float32 numbers
    uneven: list[str] = field(default_factory=list)  # float32 fields that are to equal what no float32 number is
    written: dict[str, bytes] = field(default_factory=dict)  # derived fields as the file has them
    floats: set[str] = field(default_factory=set)  # derived fields of float32 values

    def add(self, element: Element) -> None:
        """Add a derived field; one that is not understood is refused when a predicate names it."""
        from xml.etree.ElementTree import tostring

        name, inner = element.get("name") or "", next((c for c in element if tag(c) != "Extension"), None)
        written = tostring(element).strip()
        if name in self.data or self.written.setdefault(name, written) != written:
            raise Unsupported(f"the PMML file has several fields '{name[:40]}', which is not read")
        filled = [key for e in element.iter() for key in ("mapMissingTo", "defaultValue") if e.get(key) is not None]
        if filled:  # what it is where a value is missing
            self.refused[name] = filled[0]
            return
        if inner is not None and tag(inner) == "NormDiscrete" and inner.get("field") in self.data:
            base = self.data[inner.get("field", "")]
            self.indicators[name] = (base.name, base.value(inner.get("value"), f"DerivedField '{name}'"))
            return
        steps: list[tuple[str, float]] = []
        base_name = _affine(inner, steps, f"DerivedField '{name}'") if inner is not None else ""
        is_float = element.get("dataType") == "float"
        if base_name in self.derived:
            self.refused[name] = "chain of transformations"
        elif base_name not in self.data:
            self.refused[name] = "unknown" if inner is None else tag(inner)
        elif self.is_float(base_name) and not is_float:
            self.refused[name] = "numbers of 32 bits"
        elif not steps and not is_float:
            self.derived[name] = Feature(name, base_name)
        else:
            self.derived[name] = Feature(name, base_name, _maker(steps, is_float), _inverter(steps, is_float))
            self.floats |= {name} if is_float else set()

    def resolve(self, name: str, place: str) -> str:
        """Return the feature that a predicate names; `Unsupported` for transformations that are not read."""
        if name in self.refused:
            raise Unsupported(f"the PMML field '{name}' is derived by {self.refused[name]}, which is not read")
        if not name or (name not in self.data and name not in self.derived and name not in self.indicators):
            raise ReleaseError(f"the field '{name[:40]}' is not declared", place=place)
        base = self.type_of(self.indicators[name][0] if name in self.indicators else name)
        if base.gaps:
            raise Unsupported(f"the PMML field '{base.name}' has values that stand for missing ones, which is not read")
        return name

    def allowed(self, name: str) -> frozenset[Value] | None:
        """Return the values that a feature can have, None where they are not listed."""
        if name in self.derived:
            base = self.derived[name]
            return self.allowed(base.attribute) if base.make is None else None
        found = self.data[name].values
        return frozenset(found) if found else None

    def type_of(self, name: str) -> DataField:
        """Return the declared field that types the values of a feature."""
        return self.data[self.derived[name].attribute if name in self.derived else name]

    def is_float(self, name: str) -> bool:
        """Return whether a declared or derived field holds float32 values."""
        return name in self.floats or (name in self.data and self.data[name].kind == "float")

    def features(self, used: set[str], target: str | None, single: bool) -> tuple[Feature, ...]:
        """Return the inputs: declared fields but the target, and the derived ones that are used."""
        return (
            *(Feature(n, n) if n not in used else self.plain(n, single) for n in self.data if n != target),
            *(self.filled(f) for n, f in self.derived.items() if n in used),
        )

    def plain(self, name: str, single: bool) -> Feature:
        """Return a declared field as a feature; float32 values are made of it unless all features have them."""
        rounds = self.is_float(name) and not single
        return self.filled(
            Feature(name, name, _maker([], True), _inverter([], True)) if rounds else Feature(name, name)
        )

    def filled(self, feature: Feature) -> Feature:
        """Return a feature whose field has, where it is missing, the value that stands for it."""
        instead, make = self.replaced.get(feature.attribute), feature.make
        if instead is None:
            return feature

        def made(value: Value | None) -> Value:
            given = instead if value is None else value
            return given if make is None else make(given)

        return replace(feature, make=made, invert=feature.invert or _inverter([], self.rounded))

    def gaps(self, name: str) -> bool:
        """Return whether a feature may be missing where the model sees it."""
        return self.type_of(name).name not in self.replaced


def _affine(element: Element, steps: list[tuple[str, float]], place: str) -> str:
    """Return the field behind x, x + c, x - c, x * c, x / c (c > 0 for the last two), "" for anything else."""
    for _ in range(20):
        if tag(element) == "FieldRef":
            steps.reverse()
            return element.get("field", "")
        parts = list(children_named(element, "Apply", "FieldRef", "Constant"))
        how = element.get("function")
        if tag(element) != "Apply" or len(parts) != 2 or tag(parts[1]) != "Constant" or how not in tuple("+-*/"):
            return ""
        by = float(number((parts[1].text or "").strip(), place))
        if how in "*/" and by <= 0:
            return ""
        steps.append((how, by))
        element = parts[0]
    return ""


def _maker(steps: list[tuple[str, float]], is_float: bool) -> Callable[[Value | None], Value]:
    """Return what a transformation makes of a value (NaN of a missing one)."""

    def make(value: Value | None) -> Value:
        if value is None or isinstance(value, str):
            return math.nan
        out = float(value)
        for how, by in steps:
            out = out + by if how == "+" else out - by if how == "-" else out * by if how == "*" else out / by
        return float(np.float32(out)) if is_float else out

    return make


def _inverter(steps: list[tuple[str, float]], is_float: bool) -> Callable[[Test], Test]:
    """Return how a test on what is made becomes one on the value."""

    def back(end: Value) -> Value:
        if isinstance(end, str | bool):
            return end
        out = Fraction(end)
        for how, by in reversed(steps):
            c = Fraction(by)
            out = out - c if how == "+" else out + c if how == "-" else out / c if how == "*" else out * c
        return float(out)

    def invert(test: Test) -> Test:
        ends = single_ends(test) if is_float else test
        low, high = (None if end is None else back(end) for end in (ends.low, ends.high))
        return replace(ends, values=None if test.values is None else tuple(map(back, test.values)), low=low, high=high)

    return invert


# ------------------------------------------------------------------ predicates


def predicate(element: Element, fields: Fields, place: str, depth: int = 0) -> Predicate:
    """Return a node's or rule's predicate, TRUE where it has none."""
    for child in element:
        name = tag(child)
        if name == "True":
            return TRUE
        if name == "False":
            return FALSE
        if name == "SimplePredicate":
            return _simple(child, fields, place)
        if name == "SimpleSetPredicate":
            return _of_set(child, fields, place)
        if name == "CompoundPredicate":
            if depth > 20:
                raise ReleaseError("predicates are nested too deeply", place=place)
            parts = [predicate(_wrapped(c), fields, place, depth + 1) for c in child if tag(c) != "Extension"]
            return _compound(child.get("booleanOperator"), parts, place)
    return TRUE


def _wrapped(element: Element) -> Element:
    """Return an element that holds this one, so that it is read like a node's predicate."""
    from xml.etree.ElementTree import Element as Made

    out = Made("Node")
    out.append(element)
    return out


def _simple(element: Element, fields: Fields, place: str) -> Predicate:
    """Return a comparison with one value."""
    name, how = fields.resolve(element.get("field", ""), place), element.get("operator")
    if how == "isMissing":
        return Atom(name, Test(missing=True), False)
    if how == "isNotMissing":
        return Atom(name, Test(), False)
    if name in fields.indicators:
        return _indicator(name, how, float(number(element.get("value"), place)), fields, place)
    kind = fields.type_of(name)
    value = kind.value(element.get("value"), place)
    if how in ("equal", "notEqual"):
        return _of_values(name, (value,), how == "equal", fields, place)
    if isinstance(value, (str, bool)):
        raise Unsupported(f"the PMML predicate on '{name}' orders values that are not numbers")
    if fields.rounded or fields.is_float(name):
        value = float(np.float32(value)) if abs(value) < 3e38 else value
    ends = {
        "lessThan": Test(high=value, high_open=True),
        "lessOrEqual": Test(high=value),
        "greaterThan": Test(low=value, low_open=True),
        "greaterOrEqual": Test(low=value),
    }
    if how not in ends:
        raise ReleaseError(f"{str(how)[:40]!r} is not an operator", place=place)
    return Atom(name, ends[how])


def _indicator(name: str, how: str | None, at: float, fields: Fields, place: str) -> Predicate:
    """Return a comparison of a 0/1 field as a test on the field behind it."""
    operators: dict[str, Callable[[int], bool]] = {
        "equal": lambda x: x == at,
        "notEqual": lambda x: x != at,
        "lessThan": lambda x: x < at,
        "lessOrEqual": lambda x: x <= at,
        "greaterThan": lambda x: x > at,
        "greaterOrEqual": lambda x: x >= at,
    }
    if how not in operators:
        raise ReleaseError(f"{str(how)[:40]!r} is not an operator", place=place)
    zero, one = operators[how](0), operators[how](1)
    if zero == one:
        return TRUE if one else FALSE
    base, value = fields.indicators[name]
    return _of_values(base, (value,), one, fields, place)


def _of_set(element: Element, fields: Fields, place: str) -> Predicate:
    """Return a test for some values."""
    name, array = fields.resolve(element.get("field", ""), place), first(element, "Array")
    how = element.get("booleanOperator")
    if name in fields.indicators:
        raise Unsupported(f"the PMML field '{name}' is 0 or 1, and a set of values of it is not read")
    if array is None or how not in ("isIn", "isNotIn"):
        raise ReleaseError("a set predicate needs isIn or isNotIn and an Array", place=place)
    try:
        words = shlex.split((array.text or "").replace('\\"', "\x00"), posix=True)
    except ValueError:
        raise ReleaseError(f"the array {(array.text or '')[:40]!r} has open quotes", place=place) from None
    kind = fields.type_of(name)
    values = tuple(dict.fromkeys(kind.value(w.replace("\x00", '"'), place) for w in words))
    return _of_values(name, values, how == "isIn", fields, place)


def _of_values(name: str, values: tuple[Value, ...], are: bool, fields: Fields, place: str) -> Predicate:
    """Return the test for values, or for all others."""
    allowed = fields.allowed(name)
    if fields.is_float(name) and any(v != float(np.float32(v)) for v in values if is_number(v)):
        fields.uneven.append(name)
    if allowed is not None and not set(values) <= allowed:
        raise ReleaseError(f"{list(values)[:6]} are not all among the values of '{name}'", place=place)
    if not are and allowed is not None:
        values = tuple(v for v in fields.type_of(name).values if v not in set(values))
    elif not are:
        return CompoundPredicate("not", (Atom(name, Test(values=values)),))
    return Atom(name, Test(values=values)) if values else FALSE


def _compound(how: str | None, parts: list[Predicate], place: str) -> Predicate:
    """Return a compound predicate; parts on one field become one test where that is possible."""
    if how not in ("and", "or", "surrogate") or not parts:
        raise Unsupported(f"{place}: the compound predicate {str(how)[:20]!r} is not read")
    if how == "surrogate":
        return parts[0] if len(parts) == 1 else CompoundPredicate(how, tuple(parts))
    kept: list[Predicate] = []
    for part in parts:
        last = kept[-1] if kept else None
        merged = _fused(how, last, part) if isinstance(last, Atom) and isinstance(part, Atom) else None
        if merged is not None:
            kept[-1] = merged
        elif part != (TRUE if how == "and" else FALSE):
            kept.append(part)
    return kept[0] if len(kept) == 1 else CompoundPredicate(how, tuple(kept))


def _fused(how: str, a: Atom, b: Atom) -> Atom | None:
    """Return two tests on one field as one, None where they make none."""
    if a.name != b.name:
        return None
    for x, y in ((a, b), (b, a)):
        if y.test.bare:
            continue
        if how == "or" and x.test == Test(missing=True):
            return Atom(a.name, replace(y.test, missing=True), False)
        if how == "and" and x.test == Test() and not x.unknown:
            return Atom(a.name, replace(y.test, missing=False), False)
    if a.unknown != b.unknown or a.test.values is None or b.test.values is None:
        return None
    together = (*a.test.values, *b.test.values) if how == "or" else [v for v in a.test.values if v in b.test.values]
    missing = (any if how == "or" else all)((a.test.missing, b.test.missing))
    return Atom(a.name, Test(values=tuple(dict.fromkeys(together)), missing=missing), a.unknown)
