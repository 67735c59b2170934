"""Guards of drafts: what a file says, bound to domains that fit it, and to domains that do not."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from encoders.domain.domain import GUESSED, Domain
from encoders.domain.values import Categorical, Continuous, Grid, Test, View
from encoders.encode.encoder import encode
from encoders.models.models import Provenance, Tree
from encoders.models.nodes import ModelNode, Support
from recon.readers.formats.drafts.binding import Binder, DraftFacts, Feature, as_test, passes, single, single_ends
from recon.readers.formats.drafts.drafts import Draft, guess_domain, not_assessed_json, with_classes
from solvers.foundation.errors import ReleaseError, Unsupported

AGE, BMI, WARD = (
    Grid.between("age", 0, 99),
    Continuous("bmi", Fraction(10), Fraction(60)),
    Categorical("ward", ("A", "-")),
)
COLUMNS = {"old": View("age", Test(low=65))}
DOMAIN = Domain((AGE, BMI, WARD), Categorical("ill", (0, 1)), columns=COLUMNS)


def draft(*features, **more):
    """Return a draft of features called as they are in the domain."""
    made = (one if isinstance(one, Feature) else Feature(one, one) for one in features)
    return DraftFacts(Provenance("made up", ()), tuple(made), **more)


def with_missing(name):
    """Return the domain in which one attribute may be missing."""
    return replace(DOMAIN, attributes=tuple(replace(a, missing=a.name == name) for a in DOMAIN.attributes))


def without_dash(value):
    """Return a number for a ward, none for a dash."""
    return math.nan if value in (None, "-") else 1.0


CODED = Feature("coded", "ward", make=without_dash)


@pytest.mark.parametrize(
    ("feature", "said", "declared"),
    [
        ("age", "'age' was missing in some training rows, but the domain has no missing value of it:", "age"),
        ("bmi", "'bmi' was missing in some training rows, but the domain has no missing value of it:", "bmi"),
        ("ward", "'ward' was missing in some training rows, but the domain has no missing value of it:", "ward"),
        ("old", "'old' was missing in some training rows, but the domain has no missing value of 'age', of", "age"),
        (replace(CODED, make=lambda value: 1.0), "'ward' was missing in some training rows", "ward"),
        (CODED, "", ""),  # a dash is none of the numbers that the model compares
        ("height", "", ""),  # of what no domain has and no model tests nothing is asked
    ],
)  # fmt: skip
def test_a_value_that_a_file_shows_to_be_missing_is_declared(feature, said, declared):
    found = draft(feature)
    Binder(found, DOMAIN)
    found = replace(found, gaps=frozenset((found.features[0].name,)))
    if not said:
        Binder(found, DOMAIN)
        return
    with pytest.raises(ReleaseError, match=re.escape(said)):
        Binder(found, DOMAIN)
    Binder(found, with_missing(declared))


@pytest.mark.parametrize(
    ("feature", "test", "said"),
    [
        ("weight", Test(high=3), "the model tests 'weight', which is none of its features"),
        ("height", Test(high=3), "the model's feature 'height' is neither an attribute nor a column of the domain"),
        ("old", Test(high=1), "does not tell 0 from 1"),
        ("old", Test(high=-0.5), "does not tell 0 from 1"),
        ("age", Test(missing=True), "whether 'age' is missing, but the domain has no missing value of it: declare it"),
    ],
)  # fmt: skip
def test_tests_that_no_column_of_the_domain_can_pass_are_refused(feature, test, said):
    binder = Binder(draft("age", "old", "height"), DOMAIN)
    with pytest.raises(ReleaseError, match=re.escape(said)):
        binder.translate(((feature, test),))


DECADE = Feature("decade", "age", make=lambda value: math.nan if value is None else value // 10)
SAME = Feature("same", "ward", make=lambda value: 1.0)
SCALED = Feature("scaled", "bmi", make=lambda value: value * 2)


@pytest.mark.parametrize(
    ("feature", "test", "said"),
    [
        (SCALED, Test(high=40), "'bmi' is preprocessed for 'scaled': give it a 'resolution'"),
        ("bmi", Test(high=99), "99 is a threshold outside the range of attribute 'bmi'"),
        ("bmi", Test(low=9), "9 is a threshold outside the range of attribute 'bmi'"),
        ("ward", Test(high=3), "the model splits 'ward' at 3, but its values are not numbers"),
        ("ward", Test(low=3), "the model splits 'ward' at 3, but its values are not numbers"),
        (SAME, Test(high=3), "the model's test 'same' <= 3 does not tell values of 'ward' apart"),
        (SAME, Test(low=3), "does not tell values of 'ward' apart"),
        (DECADE, Test(values=(10,)), "the model's test 'decade' = 10 does not tell values of 'age' apart"),
        (DECADE, Test(values=tuple(range(10))), "does not tell values of 'age' apart"),
        ("age", Test(high=200), "the threshold 200 lies above every value of 'age' (0 to 99)"),
        ("age", Test(high=-5), "the threshold -5 lies below every value of 'age' (0 to 99)"),
        ("age", Test(low=200), "the threshold 200 lies outside every value of 'age' (0 to 99)"),
    ],
)
def test_tests_that_tell_no_values_apart_are_refused(feature, test, said):
    """Where the attribute may be missing, and is so for the model, they tell these rows from the others."""
    found = draft(feature)
    (name, attribute) = (found.features[0].name, found.features[0].attribute)
    with pytest.raises(ReleaseError, match=re.escape(said)):
        Binder(found, DOMAIN).translate(((name, test),))
    if "ward" not in said and "bmi" not in said:
        ((_, bound),) = Binder(found, with_missing(attribute)).translate(((name, replace(test, missing=True)),))
        assert bound.missing


@pytest.mark.parametrize(
    ("classes", "label", "said"),
    [
        ((0, 1), None, "a classifier needs a domain with a label"),
        ((0, 1), ("no", "yes"), "the model numbers its classes: give a domain whose label has the values 0, 1, ..."),
        (("a", "b"), ("no", "yes"), "if the domain's label is another column, say which (--label)"),
        ((0, 1), (1, 2), "if the domain's label is another column, say which (--label)"),
    ],
)
def test_classes_that_are_no_values_of_the_label_are_refused(classes, label, said):
    own = None if label is None else Categorical("ill", label)
    with pytest.raises(ReleaseError, match=re.escape(said)):
        Binder(draft("age", classes=classes), Domain(DOMAIN.attributes, own))


def test_tests_that_fit_are_read_as_they_stand():
    binder = Binder(draft("age", "old", DECADE, CODED), with_missing("age"))
    assert binder.translate((("decade", Test(values=(3,))),)) == (("age", Test(low=30, high=39)),)
    assert binder.translate((("coded", Test(high=3)),)) == (("ward", Test(values=("A",))),)
    assert binder.translate((("old", Test(high=0.5)),)) == (("old", Test(values=(0,))),)
    assert binder.translate((("old", Test(low=0.5)),)) == (("old", Test(values=(1,))),)
    assert binder.translate((("age", Test(missing=True)),)) == (("age", Test(missing=True)),)


def test_thresholds_stand_as_they_are_of_numbers_that_nothing_was_made_of():
    binder = Binder(draft("age", "bmi", "height", Feature("made", "bmi", make=lambda value: value)), DOMAIN)
    assert binder.unchanged("bmi") == BMI
    assert [binder.unchanged(name) for name in ("age", "made", "height", "weight")] == [None] * 4


def test_tests_of_one_attribute_become_one():
    binder = Binder(draft("age", "bmi", groups=True), DOMAIN)
    assert binder.translate((("age", Test(low=20)), ("age", Test(high=40)))) == (("age", Test(low=20, high=40)),)
    assert binder.translate((("age", Test(low=0)), ("age", Test(high=99)))) == ()
    both = binder.translate((("bmi", Test(low=20, low_open=True)), ("bmi", Test(high=40))))
    assert both == (("bmi", Test(low=20, high=40, low_open=True)),)
    low, high = BMI.ranges(Test(high=20)), BMI.ranges(Test(low=30))
    assert as_test(BMI, low) == Test(low=10, high=20)
    with pytest.raises(ReleaseError, match="'bmi' is tested for several ranges at once: give it a 'resolution'"):
        as_test(BMI, (*low, *high))


def test_positions_are_said_as_the_shortest_test():
    wide, free = Grid.between("n", 0, 1_000_000), Continuous("x")
    assert as_test(AGE, ((20, 40),)) == Test(low=20, high=39)
    assert as_test(AGE, ((2, 4), (7, 8))) == Test(values=(2, 3, 7))
    assert as_test(free, free.ranges(Test(high=20))) == Test(high=20)
    assert as_test(free, free.ranges(Test(low=20, low_open=True))) == Test(low=20, low_open=True)
    assert len(as_test(wide, ((0, 5_000), (6_000, 11_000))).values) == 10_000
    with pytest.raises(ReleaseError, match="'n' is tested for more than 10,000 single values at once"):
        as_test(wide, ((0, 5_000), (6_000, 11_001)))
    binder = Binder(draft("age"), DOMAIN)
    assert binder.translate((("age", Test(high=39.5)),)) == (("age", Test(high=39)),)
    assert binder.translate((("age", Test(low=39.5)),)) == (("age", Test(low=40)),)


@pytest.mark.parametrize(
    "end", [26.2, -26.2, float(np.float32(26.2)), 0.0, 5e-324, 1.4e-45, 1.0, -1.0, 3.4e38, -3.4e38, 1 / 3]
)
def test_ends_of_numbers_of_32_bits_lie_between_numbers_of_64(end):
    """Closed or open, at most or above: what passes is what does once it is rounded."""
    near = np.float32(end)
    around = [end, *(float(np.nextafter(near, side, dtype=np.float32)) for side in (-np.inf, near, np.inf))]
    numbers = {(a + b) / 2 for a in around for b in around}
    numbers |= {math.nextafter(x, side) for x in numbers for side in (-math.inf, math.inf)}
    for test in (Test(high=end), Test(high=end, high_open=True), Test(low=end), Test(low=end, low_open=True),
                 Test(low=end, high=end + 1, high_open=True)):  # fmt: skip
        assert all(passes(single_ends(test), x) == passes(test, single(x)) for x in numbers), test
    assert single_ends(Test(values=(end,))) == Test(values=(end,))
    assert single_ends(Test(missing=True)) == Test(missing=True)


def test_features_without_names_are_the_columns_in_their_order():
    order = Domain(DOMAIN.attributes, DOMAIN.label)
    binder = Binder(draft("0", "1", "2", named=False), order)
    assert binder.translate((("1", Test(high=20)),)) == (("bmi", Test(high=20)),)
    assert Binder(draft("0", named=False, more=True), order).unchanged("0") is None
    with pytest.raises(
        ReleaseError, match=r"no names of the model's 2 features: .* \(this one has 3, without the label\)"
    ):
        Binder(draft("0", "1", named=False), order)
    with pytest.raises(ReleaseError, match="'bmi' may be the column of that name or the one at that place"):
        Binder(draft("bmi", named=False, more=True), order)


def test_counts_per_class_need_classes():
    named, unnamed = Binder(draft("age", classes=(1, 0)), DOMAIN), Binder(draft("age"), DOMAIN)
    assert named.counts((2, 3)) == (3, 2)
    assert named.class_table(np.array([[2, 3]])).tolist() == [[3, 2]]
    assert named.label_numbers((0, 1)) == (1, 0)
    for work in (
        lambda: unnamed.counts((2, 3)),
        lambda: unnamed.class_table(np.array([[2, 3]])),
        lambda: unnamed.label_numbers((0,)),
    ):
        with pytest.raises(ReleaseError, match=r"does not say (of )?which"):
            work()


# ---------------------------------------------------------------- without a domain, and beside classes


def tree(*conditions, counts=((2, 1), (0, 3))):
    """Return a tree of one test, or (with several) of a chain of them."""
    nodes, leaf = [], ModelNode(Support(counts[-1]))
    for condition in conditions:
        nodes += [ModelNode(Support(), condition, len(nodes) + 1, len(nodes) + 2), ModelNode(Support(counts[0]))]
    return Tree((*nodes, leaf))


def said(*features, tests=(), **more):
    """Return a draft of one tree."""
    made = tuple(one if isinstance(one, Feature) else Feature(one, one) for one in features)
    more = {"classes": (0, 1), "models": (tree(*((test,) for test in tests)),)} | more
    return Draft(Provenance("made up", ("exact",)), made, **more)


def test_a_guessed_domain_holds_what_the_file_says_and_tests():
    hints = {"bmi": Continuous("bmi", Fraction(10), None), "age": Continuous("age", None, Fraction(60))}
    tests = (("bmi", Test(high=5)), ("age", Test(high=70)), ("free", Test(high=7)), ("y", Test(values=(1,))))
    domain = guess_domain(said("bmi", "age", "free", "unused", tests=tests, hints=hints, label="y"))
    assert [(a.name, getattr(a, "minimum", 0), getattr(a, "maximum", 1)) for a in domain.attributes] == [
        ("bmi", 5, None), ("age", None, 70), ("free", None, None), ("unused", 0, 1)
    ]  # fmt: skip
    assert domain.label == Categorical("y", (0, 1))
    assert guess_domain(said("free", classes=None)).label is None
    ward = Categorical("ward", ("A", "B"))
    assert guess_domain(said("ward", tests=(("ward", Test(values=("A",))),), hints={"ward": ward})).attributes == (
        ward,
    )
    grid = Grid.between("age", 0, 9)
    assert guess_domain(said("age", tests=(("age", Test(high=4)),), hints={"age": grid})).attributes == (grid,)


@pytest.mark.parametrize(
    ("draft", "words"),
    [
        (said(classes=None, models=()), "the file names no features: give a domain (--domain)"),
        (
            said(SCALED, tests=(("scaled", Test(high=40)),)),
            "the file does not say which values 'bmi' has before it is preprocessed: give --domain",
        ),
    ],
)
def test_where_nothing_can_be_guessed_a_domain_is_asked_for(draft, words):
    with pytest.raises(ReleaseError, match=re.escape(words)):
        guess_domain(draft)


def test_one_of_several_trainings_is_asked_for_by_its_number():
    alone, second = said("age"), said("age", label="second")
    several = replace(alone, others=(second, "of this training the leaves have no counts"))
    assert alone.chosen(None, "m.pkl") is alone
    assert several.chosen(1, "m.pkl") is several
    assert several.chosen(2, "m.pkl") is second
    assert "m.pkl#2, m.pkl#3" in several.chosen(None, "m.pkl").reader_notes[-1]
    for draft, number, words in (
        (alone, 1, "holds one release: give it without #1"),
        (several, 4, "there are 3 trainings in the file, no number 4"),
        (several, 3, "of this training the leaves have no counts"),
    ):
        with pytest.raises(Unsupported, match=re.escape(words)):
            draft.chosen(number, "m.pkl")


@pytest.mark.parametrize(
    ("occurring", "label", "values", "among"),
    [
        ("each", (0, 1, 2), {0, 1}, {0, 1}),
        ("only", (0, 1, 2), None, {0, 1}),
        ("each", (0, 1), {0, 1}, {0, 1}),
        ("only", (0, 1), "nothing", "nothing"),
        ("", (0, 1, 2), "nothing", "nothing"),
    ],
)
def test_what_a_list_of_classes_says_of_the_label(occurring, label, values, among):
    """Of leaves without classes: "each" that all of them have a training row, "only" that no other one has."""
    sized = Tree((ModelNode(Support(), (("age", Test(high=4)),), 1, 2), *(ModelNode(Support(None, n)) for n in (3, 4))))
    draft = said("age", models=(sized,), occurring=occurring)
    domain = Domain((AGE,), Categorical("ill", label))
    (model,) = with_classes((sized,), draft, Binder(draft, domain))
    found = () if model.origin is None else model.origin.columns
    assert [(one.column, one.values, one.among) for one in found] == (
        [] if among == "nothing" else [("ill", values, among)]
    )


def test_what_was_not_assessed_is_said_of_attributes_without_values_alone():
    tests = (("age", Test(high=4.5)), ("share", Test(high=0.25)), ("weeks", Test(high=6.5)), ("bmi", Test(high=22.3)))
    attributes = (Grid.between("age", 0, 9), Continuous("share"), Continuous("weeks"), Continuous("bmi"))
    chain = tree(*((test,) for test in tests))
    found = not_assessed_json(encode(Domain(attributes, Categorical("y", (0, 1)), source=GUESSED), [chain]))
    weeks = {"name": "weeks", "min": 6, "max": 7}
    assert found["looks_like"] == {"bits": ["share"], "integers": [weeks], "others": ["bmi"]}
    assert "'share', 'weeks', 'bmi' (continuous, no resolution)" in found["why"]
    counted = tree((("age", Test(high=4)),), counts=((2, 1), (0, 3)))
    assert not_assessed_json(encode(Domain((AGE,), Categorical("y", (0, 1))), [counted])) is None
