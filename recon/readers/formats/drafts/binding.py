"""A draft's conditions in the terms of a domain: thresholds become tests on the attributes' own values.

scikit-learn compares float32(x) with its thresholds; printed thresholds are rounded; pipelines scale, bin and encode
first. In all these cases a numeric attribute is searched for the place where the comparison changes (what is compared
is monotone in the value), so that the condition holds for exactly the values that the model sends there.

What a file says before a domain is known, in the file's own terms: features, models, classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import (
    AnyAttribute,
    Categorical,
    Continuous,
    Grid,
    Ranges,
    Test,
    Value,
    exact,
    intersection,
    is_number,
    normal,
    plain_number,
)
from encoders.models.models import AnyModel, Provenance, Published
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount

IS_MISSING = Test(values=(), missing=True)


def free_label(names: Container[str], label: str = "label") -> str:
    """Return a name for the label that no feature has."""
    while label in names:
        label += "_"
    return label


def other_columns(names: Sequence[str], what: str) -> ReleaseError:
    """Return the refusal of a domain that has no column of those that a file is about."""
    shown = ", ".join([*(f"'{name[:60]}'" for name in names[:6]), *(["..."] if len(names) > 6 else [])])
    return ReleaseError(
        f"the domain has none of the columns of {what} ({shown}): give --domain with columns of these names"
    )


@dataclass(frozen=True)
class Feature:
    """One input of a model: the attribute behind it, and how preprocessing makes it from the attribute's value.

    `make` (None: the value itself) gives what the model compares, for a value or for None where it is missing; it must
    increase (weakly) with a numeric attribute. `invert` turns a test on what is compared into one on the value:
    for attributes that turn out to be continuous.
    """

    name: str
    attribute: str
    make: Callable[[Value | None], Value] | None = None
    invert: Callable[[Test], Test] | None = None


@dataclass(frozen=True)
class DraftFacts:
    """The models of one file in its own terms.

    `features` in the file's order; `named` is False where the file only numbers them, `more` says that there may be
    more of them than it shows. `classes` is the order of the counts (None: there are none per class), `label` the name
    the file gives the label. `rows`: what the file says about the number of training rows. `single`: values are
    compared as float32(value). `occurring`: each of the classes has a training row and no other has one ("each"), no
    other has one ("only"), or nothing is said (""). `slack`: thresholds were printed with few digits and may be off by
    so much. `reader_notes`: sentences for the reader of the file, not assumptions. `gaps`: features of which the file
    shows that some training rows had no value. `groups`: conditions name groups of people, which may be everybody, and
    are no splits. `impossible`: what the values of hints cannot be together.
    `heeded`: of a table of counts, which of the options that are about some tables alone were about this one.
    """

    origin: Provenance
    features: tuple[Feature, ...]
    models: tuple[AnyModel, ...] = ()
    classes: tuple[Value, ...] | None = None
    label: str = "label"
    rows: RowCount | None = None
    hints: Mapping[str, AnyAttribute] = field(default_factory=dict)
    named: bool = True
    more: bool = False
    single: bool = False
    occurring: Literal["", "each", "only"] = ""
    slack: Callable[[Value], Fraction] | None = None
    reader_notes: tuple[str, ...] = ()
    gaps: frozenset[str] = frozenset()
    groups: bool = False
    impossible: tuple[Condition, ...] = ()
    heeded: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Have the models' origin say it, too, that numbers of 32 bits are compared."""
        if self.origin.single != self.single:
            object.__setattr__(self, "origin", replace(self.origin, single=self.single))

    def tests(self) -> Iterator[tuple[str, Test]]:
        """Yield the features that the models name, with the tests on them."""
        for model in self.models:
            for condition in model.conditions():
                yield from condition
        for name in sorted(self.gaps):
            yield name, IS_MISSING

    def missing(self) -> Iterable[str]:
        """Return the features of which some training rows had no value, as the file shows."""
        return self.gaps


MAX_LISTED = 10_000  # values of one test in a release file
LEAST = -1.7976931348623157e308
FAR = 3e38  # numbers below it are no infinity in single precision


@dataclass
class Binder:
    """Translates the conditions and counts of one draft; equal conditions become one object."""

    draft: DraftFacts
    domain: Domain
    known: dict[tuple[str, Test], Condition] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.features = {f.name: f for f in _named_features(self.draft, self.domain)}
        self.order = None if self.draft.classes is None else class_order(self.draft.classes, self.domain)
        for name in self.draft.missing():
            if (feature := self.features.get(name)) is not None:
                self.demand_gap(feature)

    def demand_gap(self, feature: Feature) -> None:
        """Raise `ReleaseError` for a domain in which a feature has a value in every row, where the file shows gaps."""
        view = self.domain.columns.get(feature.attribute)
        k = self.domain.place.get(feature.attribute if view is None else view.attribute)
        attribute = None if k is None else self.domain.all[k]
        if attribute is None or attribute.missing:
            return
        compare, coded = comparison(self.draft, feature), view is None and feature.make is not None
        if coded and isinstance(attribute, Categorical) and any(is_nan(compare(v)) for v in attribute.values):
            return
        of = "it: declare it" if view is None else f"'{attribute.name}', of which it is a column: declare that"
        message = (
            f"the file shows that '{feature.attribute}' was missing in some training rows, but the domain has no "
            f'missing value of {of} with "missing": true'
        )
        raise ReleaseError(message)

    def translate(self, condition: Condition) -> Condition:
        """Return a condition of the draft in the domain's terms."""
        if len(condition) == 1:
            return _merged_condition(self.condition(*condition[0]), self.domain)
        return _merged_condition(
            tuple(pair for name, test in condition for pair in self.condition(name, test)), self.domain
        )

    def condition(self, name: str, test: Test) -> Condition:
        """Return the condition that holds for the rows whose feature passes the test."""
        found = self.known.get((name, test))
        if found is None:
            found = self.resolved(name, test)
            self.known[name, test] = found
        return found

    def resolved(self, name: str, test: Test) -> Condition:
        """Return the condition of a feature's test, not looked up."""
        feature = self.features.get(name)
        if feature is None:
            if self.domain.label is not None and name == self.draft.label:
                return ((self.domain.label.name, _matched(self.domain.label, test)),)
            raise ReleaseError(f"the model tests '{name}', which is none of its features")
        compare = comparison(self.draft, feature)
        k = self.domain.place.get(feature.attribute)
        if k is None:
            if feature.attribute not in self.domain.columns:
                message = (
                    f"the model's feature '{feature.attribute}' is neither an attribute nor a column of the domain"
                )
                raise ReleaseError(message)
            passed = tuple(v for v in (0, 1) if passes(test, compare(v)))
            if len(passed) != 1:
                raise ReleaseError(f"the model's test '{feature.attribute}' {test} does not tell 0 from 1")
            return ((feature.attribute, Test(values=passed)),)
        return ((feature.attribute, self.test(self.domain.all[k], feature, test, compare)),)

    def test(
        self, attribute: AnyAttribute, feature: Feature, test: Test, compare: Callable[[Value | None], Value]
    ) -> Test:
        """Return the test on the attribute's own values; what it does with missing ones only where there are any."""
        if not attribute.missing and test.missing:
            if test.bare:
                message = (
                    f"the model tests whether '{attribute.name}' is missing, but the domain has no missing value of it"
                )
                raise ReleaseError(f'{message}: declare it with "missing": true')
            test = replace(test, missing=False)
        if feature.make is None and (test.values is not None or test.bare):
            return _matched(attribute, test)
        if test.bare:
            return missing_test(attribute, feature, test, compare)
        if self.draft.groups and not isinstance(attribute, Continuous) and attribute.ranges(test) == (attribute.span,):
            return test
        if isinstance(attribute, Continuous):
            return _continuous_test(attribute, feature, test, self.draft.single and feature.make is None)
        missing = test.missing
        if attribute.missing and feature.make is not None:
            missing = passes(test, compare(None))
        if isinstance(attribute, Categorical) and (feature.make is not None or not attribute.numeric):
            return listed_test(attribute, feature, test, compare, missing)
        if test.values is not None:
            return _listed_numbers_test(attribute, feature, test, compare, missing)
        return _grid_test(attribute, test, compare, self.draft.slack, missing)

    def unchanged(self, name: str) -> Continuous | None:
        """Return the attribute of a feature whose thresholds stand as they are: continuous, not preprocessed."""
        feature = self.features.get(name)
        k = None if feature is None or feature.make is not None else self.domain.place.get(feature.attribute)
        attribute = None if k is None else self.domain.all[k]
        return attribute if isinstance(attribute, Continuous) else None

    def counts(self, counts: Sequence[Published]) -> tuple[Published, ...]:
        """Return counts per class of the draft in the order of the label's values (0 for what it never saw)."""
        if self.order is None:
            raise ReleaseError("the file has counts per class but does not say of which classes")
        return tuple(counts[c] if c is not None else 0 for c in self.order)

    def label_numbers(self, classes: Sequence[int]) -> tuple[int, ...]:
        """Return the place among the label's values of every class of the draft, given by number."""
        if self.order is None:
            raise ReleaseError("the file has classes but does not say which")
        return tuple(self.order.index(c) for c in classes)

    def class_table(self, classes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a table of counts (nodes, classes) in the order of the label's values, as `counts`."""
        if self.order is None:
            raise ReleaseError("the file has counts per class but does not say of which classes")
        padded = np.concatenate([classes, np.zeros((len(classes), 1), dtype=np.int64)], axis=1)
        return padded[:, [-1 if c is None else c for c in self.order]]


def _merged_condition(condition: Condition, domain: Domain) -> Condition:
    """Return a condition that names every attribute once: a release file cannot say two tests of one."""
    names = dict.fromkeys(name for name, _ in condition)
    if len(names) == len(condition):
        return condition
    out = []
    for name in names:
        tests = [test for other, test in condition if other == name]
        k = domain.place.get(name)
        attribute = Categorical(name, (0, 1)) if k is None else domain.all[k]
        ranges = attribute.ranges(tests[0])
        for test in tests[1:]:
            ranges = intersection(ranges, attribute.ranges(test))
        if len(tests) > 1 and ranges == (attribute.span,):
            continue  # nothing is asked of it
        out.append((name, tests[0] if len(tests) == 1 else as_test(attribute, ranges)))
    return tuple(out)


def as_test(attribute: AnyAttribute, ranges: Ranges) -> Test:
    """Return the test that passes at these positions: one range, or listed values."""
    gap = attribute.known[1]
    missing = any(end > gap for _, end in ranges)
    spans = [(start, min(end, gap)) for start, end in ranges if start < gap]
    if not spans:
        return _none_of(attribute, missing)
    if isinstance(attribute, Continuous):
        if len(spans) > 1:
            raise ReleaseError(f"'{attribute.name}' is tested for several ranges at once: give it a 'resolution'")
        (low, above), (high, to) = spans[0]
        minimum, maximum = _finite(low), _finite(high)
        above, under = minimum is not None and bool(above), maximum is not None and not to
        return Test(None, minimum, maximum, low_open=above, high_open=under, missing=missing)
    if isinstance(attribute, Grid) and len(spans) == 1:
        return Test(None, attribute.value_at(spans[0][0]), attribute.value_at(spans[0][1] - 1), missing=missing)
    if sum(end - start for start, end in spans) > MAX_LISTED:
        raise ReleaseError(f"'{attribute.name}' is tested for more than {MAX_LISTED:,} single values at once")
    return Test(tuple(attribute.value_at(i) for start, end in spans for i in range(start, end)), missing=missing)


def _finite(end: Fraction | float) -> int | float | None:
    """Return the number at an end of a range, None at an open one."""
    return None if isinstance(end, float) else plain_number(end)


def _none_of(attribute: AnyAttribute, missing: bool) -> Test:
    """Return the test that no value passes, at most a missing one."""
    if missing:
        return Test(values=(), missing=True)
    last: Value
    if isinstance(attribute, Continuous):
        last = _finite(attribute.known[1][0]) or _finite(attribute.known[0][0]) or 0
    else:
        last = attribute.value_at(attribute.known[1] - 1)
    return Test(low=last, high=last, high_open=True)


def _named_features(draft: DraftFacts, domain: Domain) -> list[Feature]:
    """Return the features, unnamed ones called like the domain's attributes in order."""
    if draft.named or any(f.make is not None for f in draft.features):
        return list(draft.features)
    if [a.name for a in domain.attributes] == [f.attribute for f in draft.features]:
        return list(draft.features)
    names = domain.in_order
    if names is None or not (len(names) == len(draft.features) or (draft.more and len(names) > len(draft.features))):
        raise ReleaseError(
            f"the file has no names of the model's {len(draft.features)} features: give a domain of as many columns in "
            f"the same order{has(names)}, or fit the model on a DataFrame and save it with the names of the columns"
        )
    moved = [f.attribute for k, f in enumerate(draft.features) if draft.more and f.attribute in {*names} - {names[k]}]
    if moved:  # names, or numbers: the file does not say
        raise ReleaseError(
            f"'{moved[0]}' may be the column of that name or the one at that place: give a domain whose columns "
            "are in the order of the model's features"
        )
    return [Feature(f.name, name) for f, name in zip(draft.features, names, strict=not draft.more)]


def has(names: Sequence[str] | None) -> str:
    """Return how many columns a domain has, and what to do about columns without an order."""
    return " (say it in its 'order')" if names is None else f" (this one has {len(names)}, without the label)"


def class_order(classes: Sequence[Value], domain: Domain) -> list[int | None]:
    """Return, per value of the label, the index of the model's class (None: the model has never seen it)."""
    if domain.label is None:
        raise ReleaseError("a classifier needs a domain with a label")
    values = [domain.label.value_at(i) for i in range(domain.label.known[1])]
    if not set(classes) <= set(values) and {str(c) for c in classes} <= {str(v) for v in values}:
        classes, values = [str(c) for c in classes], [str(v) for v in values]
    else:
        for value in classes:
            _check_class(value, classes, domain.label)
    place = {c: i for i, c in enumerate(classes)}
    return [place.get(v) for v in values]


def _check_class(value: Value, classes: Sequence[Value], label: AnyAttribute) -> None:
    """Refuse a class that is not a value of the label, with advice where the model numbers its classes."""
    try:
        label.point(value)
    except ReleaseError as error:
        if list(classes) == list(range(len(classes))) and isinstance(label, Categorical) and not label.numeric:
            message = (
                f"{error.message}; the model numbers its classes: give a domain whose label has the values 0, 1, ..."
            )
            raise ReleaseError(message) from None
        step = "if the domain's label is another column, say which (--label)"
        raise ReleaseError(f"the model's class {error.message}; {step}") from None


def comparison(draft: DraftFacts, feature: Feature) -> Callable[[Value | None], Value]:
    """Return what the model compares, for a value of the attribute."""
    make: Callable[[Value | None], Value] = feature.make or _as_it_is
    return make if not draft.single else lambda value: single(make(value))


def _as_it_is(value: Value | None) -> Value:
    """Return the value; a missing one is not a number."""
    return math.nan if value is None else value


def single(value: Value) -> Value:
    """Return a number as float32, anything else as it is."""
    if not isinstance(value, (bool, int, float)):
        return value
    if -FAR < value < FAR:  # the guard below costs more than all the rest
        return float(np.float32(value))
    with np.errstate(over="ignore"):  # beyond its largest number lies its infinity
        return float(np.float32(value))


def passes(test: Test, value: Value) -> bool:
    """Return whether a value passes a test; numbers are compared exactly."""
    if test.values is not None:
        return value in test.values or (test.missing and is_nan(value))
    if not is_number(value):
        return test.missing if isinstance(value, float) else False
    if test.low is not None and (value < test.low or (test.low_open and value == test.low)):  # type: ignore[operator]
        return False
    return test.high is None or not (value > test.high or (test.high_open and value == test.high))  # type: ignore[operator]


def _matched(attribute: AnyAttribute, test: Test) -> Test:
    """Return a test for values with the values as the attribute writes them ("1" in a text file is its 1)."""
    if test.values is None or not isinstance(attribute, Categorical):
        if test.values is None or not all(isinstance(v, str) for v in test.values):
            return test
        return Test(values=tuple(_number_of(str(v), attribute) for v in test.values), missing=test.missing)
    by_text = {str(v): v for v in attribute.values}
    found = tuple(v if v in attribute.index else by_text.get(str(v), v) for v in test.values)
    return Test(values=found, missing=test.missing)


def _number_of(text: str, attribute: AnyAttribute) -> Value:
    """Return the number that a text stands for."""
    try:
        value = float(text)
    except ValueError:
        raise attribute.refuse(text, "is not a value of") from None
    return int(value) if value.is_integer() else value


FLOAT32_END = 2.0**128 - 2.0**103  # from here on numbers are rounded to an infinite float32


def single_limits(thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest numbers that are at most the thresholds once they are rounded to float32."""
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
        near = np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)
        after = np.nextafter(near, np.float32(np.inf)).astype(np.float64)
        low = near.astype(np.float64)
        middle = np.clip((low + after) / 2, -FLOAT32_END, FLOAT32_END)
        held = middle.astype(np.float32) == near  # a tie is rounded to the even one
        return np.where(held, middle, np.nextafter(middle, -np.inf))


def single_ends(test: Test) -> Test:
    """Return the range test on a number whose float32 passes the given one; open or closed, it ends between numbers."""

    def end(value: Value | None, below: bool) -> float | None:
        if value is None:
            return None
        at = math.nextafter(float(value), -math.inf) if below else float(value)
        return float(single_limits(np.array([at]))[0])

    if test.values is not None or test.bare:
        return test
    low, high = end(test.low, not test.low_open), end(test.high, test.high_open)
    return replace(test, low=low, high=high, low_open=low is not None, high_open=False)


def _continuous_test(attribute: Continuous, feature: Feature, test: Test, single_precision: bool = False) -> Test:
    """Return a range test on a continuous attribute, its ends turned back through the preprocessing.

    `single_precision`: the model compares float32 values (preprocessing turns thresholds back itself).
    """
    found = test if not single_precision else single_ends(test)
    if feature.make is not None:
        if feature.invert is None:
            raise ReleaseError(f"'{attribute.name}' is preprocessed for '{feature.name}': give it a 'resolution'")
        found = feature.invert(test)
        if attribute.missing and passes(test, feature.make(None)):
            every = Test(low=LEAST if attribute.minimum is None else plain_number(attribute.minimum), missing=True)
            found = every if found == Test() else replace(found, missing=True)  # a bare test is of missing values alone
        elif attribute.missing:
            found = replace(found, missing=False)
    for end in (found.low, found.high):
        if end is not None and not attribute.holds(exact(end)):
            raise attribute.refuse(end, "is a threshold outside the range of")
    return found


def listed_test(
    attribute: Categorical, feature: Feature, test: Test, compare: Callable[[Value | None], Value], missing: bool
) -> Test:
    """Return the listed values that pass."""
    if feature.make is None and test.values is None:
        number = test.high if test.high is not None else test.low
        raise ReleaseError(f"the model splits '{attribute.name}' at {number}, but its values are not numbers")
    passed = tuple(v for v in attribute.values if passes(test, compare(v)))
    if not passed and missing:
        return Test(missing=True, values=())
    if len(passed) in (0, len(attribute.values)) and not attribute.missing:
        raise ReleaseError(f"the model's test '{feature.name}' {test} does not tell values of '{attribute.name}' apart")
    return Test(values=passed, missing=missing)


def missing_test(
    attribute: AnyAttribute, feature: Feature, test: Test, compare: Callable[[Value | None], Value]
) -> Test:
    """Return the test for the values that the model sees as missing (or as not missing: a bare test asks for one)."""
    gone = is_nan(compare(None))
    if isinstance(attribute, Categorical):
        found = tuple(v for v in attribute.values if is_nan(compare(v)) == test.missing)
        return Test(values=found, missing=attribute.missing and gone == test.missing)
    if gone:
        return test
    raise ReleaseError(f"the model tests whether '{feature.name}' is missing, but all its gaps are filled before")


def is_nan(value: Value) -> bool:
    """Return whether what the model compares is no number."""
    return isinstance(value, float) and math.isnan(value)


def _listed_numbers_test(
    attribute: Categorical | Grid,
    feature: Feature,
    test: Test,
    compare: Callable[[Value | None], Value],
    missing: bool,
) -> Test:
    """Return the numbers of which the model sees a listed one, found by bisection."""
    size, every = attribute.known[1], [v for v in test.values or () if is_number(v)]
    ends = [[border(attribute, size, compare, v, closed, None) for closed in (False, True)] for v in every]
    ranges = normal([(start, end) for start, end in ends])
    if ranges in ((), ((0, size),)) and not attribute.missing:
        raise ReleaseError(f"the model's test '{feature.name}' {test} does not tell values of '{attribute.name}' apart")
    return as_test(attribute, normal([*ranges, *([attribute.gap] if missing else [])]))


def _grid_test(
    attribute: Categorical | Grid,
    test: Test,
    compare: Callable[[Value | None], Value],
    slack: Callable[[Value], Fraction] | None,
    missing: bool,
) -> Test:
    """Return the range of values that pass, found by bisection (what is compared is monotone in the value)."""
    size = attribute.known[1]
    low = 0 if test.low is None else border(attribute, size, compare, test.low, test.low_open, slack)
    high = size if test.high is None else border(attribute, size, compare, test.high, not test.high_open, slack)
    if low >= high or (low == 0 and high == size):  # no value is told from another
        if not attribute.missing:
            number, side = (test.high, "above" if high else "below") if test.high is not None else (test.low, "outside")
            where = f"the threshold {number} lies {side} every value of '{attribute.name}' ({attribute.describe()})"
            raise ReleaseError(where)
        return _none_of(attribute, missing) if low >= high else Test(low=attribute.value_at(0), missing=missing)
    return Test(
        low=None if low == 0 else attribute.value_at(low),
        high=None if high == size else attribute.value_at(high - 1),
        missing=missing,
    )


def border(
    attribute: Categorical | Grid,
    size: int,
    compare: Callable[[Value | None], Value],
    threshold: Value,
    closed: bool,
    slack: Callable[[Value], Fraction] | None,
) -> int:
    """Return how many values lie below the threshold (or at it, when `closed`); bisection over the attribute.

    Raises `ReleaseError` where the printed threshold has too few digits to tell.
    """

    def below(at: Value | Fraction, with_it: bool) -> int:
        def here(i: int) -> bool:
            value = compare(attribute.value_at(i))
            return bool(value <= at if with_it else value < at)  # type: ignore[operator]

        first, last = _enclosed(here, _near(attribute, at), size) if isinstance(attribute, Grid) else (0, size)
        while first < last:
            middle = (first + last) // 2
            first, last = (middle + 1, last) if here(middle) else (first, middle)
        return first

    off = Fraction(0) if slack is None else slack(threshold)
    if not off:
        return below(threshold, closed)
    low, many = below(exact(threshold) - off, False), below(exact(threshold) + off, True)
    if many != low:
        raise ReleaseError(
            f"the threshold {threshold} of '{attribute.name}' was printed with too few digits: it does not say where "
            f"the value {attribute.value_at(low)} goes (print more digits)"
        )
    return low


def _near(attribute: Grid, number: Value | Fraction) -> int:
    """Return where a number stands on a grid, roughly: a place to begin a search."""
    try:
        steps = (float(number) - float(attribute.minimum)) / float(attribute.step)
    except ArithmeticError:
        return 0
    return math.ceil(steps) if abs(steps) <= attribute.count else 0


def _enclosed(here: Callable[[int], bool], guess: int, size: int) -> tuple[int, int]:
    """Return bounds on how many of 0..size-1 pass (the first ones do), found by steps from a guess that double."""
    first, last, step = min(max(0, guess), size), size, 1
    while first > 0 and not here(first - 1):
        first, last, step = max(0, first - step), first - 1, 2 * step
    step = 1
    while first < last:
        probe = min(last, first + step)
        if not here(probe - 1):
            return first, probe - 1
        first, step = probe, 2 * step
    return first, last
