"""The struct of figures: written and read again, opened by what was not used, bounded by proved groups."""

from __future__ import annotations

import json

import pytest

from recon.release.policies.checks import _compared, _none_small, all_of, interval_text
from recon.release.policies.facts import (
    FIGURES,
    NOT_WORKED_OUT,
    RARE,
    ROW_FIGURES,
    SIZE_FIGURES,
    AbsentFigure,
    FactTable,
    KnownFigure,
    SmallGroups,
    UnknownFigure,
    UnusedFigure,
    smallest_of,
)


def some_facts(**figures):
    groups = {"groups": SmallGroups([{"name": "leaf 1", "where": "a = 0", "rows": [30, 30]}], 1)}
    others = {"kinds_of_counts": ["exact"], "stored": [], "stored_inspected": True}
    return FactTable("exact", 1.0, {"rows": KnownFigure(100, 100), **figures}, groups, others)


def test_figures_are_read_back_from_json_as_they_were_written():
    held = some_facts(
        pinned=KnownFigure(3, None, "not counted", "limits"), bits_before_per_person=KnownFigure(4.5, 4.5),
        bits_left_per_person=UnknownFigure("no domain", "domain"), least_bits_left=KnownFigure(0.0, 2.0),
        smallest_group=KnownFigure(30, 30), smallest_cell=UnknownFigure("no counts"), class_disclosure=KnownFigure(1,
                                                                                                                   7,
                                                                                                                   "together"),
        target_disclosure=AbsentFigure("no numbers"),
        hidden_width=KnownFigure(0, 4, "not counted", "limits"),
        removed_pinned=KnownFigure(1, 2), removed_candidates=UnknownFigure("no earlier version"),
        labels_by_position=KnownFigure(2, 9), values_by_position=KnownFigure(0, 0),
    )  # fmt: skip
    held = held.opened([UnusedFigure("a part was not read", {"smallest_group": "lower"})])
    told = held.to_json()
    assert json.loads(json.dumps(told)) == told
    again = FactTable.of_json(json.loads(json.dumps(told)))
    assert again.to_json() == told
    assert {key: again[key] for key in FIGURES} == {key: held[key] for key in FIGURES}
    assert again.listed("smallest_group").further == "a part was not read"
    assert FactTable.of_json({"status": "exact"})["pinned"] == UnknownFigure("it was not worked out")


def test_what_was_not_used_takes_away_the_ends_that_it_makes_unsure():
    held = some_facts(
        pinned=KnownFigure(3, 3), bits_left_per_person=KnownFigure(2.0, 2.0), smallest_group=KnownFigure(30, 30),
        class_disclosure=AbsentFigure("no classes"), smallest_cell=UnknownFigure("no counts"),
    )  # fmt: skip
    found = held.opened([UnusedFigure("rows", ROW_FIGURES), UnusedFigure("sizes", SIZE_FIGURES, "limits")])
    assert found["pinned"] == KnownFigure(3, 100, "rows")
    assert found["bits_left_per_person"] == KnownFigure(0, 2.0, "rows")
    assert found["smallest_group"] == KnownFigure(1, 30, "sizes", "limits")
    assert found.to_json()["not_listed"] == {"groups": "sizes"}
    assert found["class_disclosure"] == AbsentFigure("no classes")
    assert found["smallest_cell"] == UnknownFigure("no counts")
    assert [one["why"] for one in found.to_json()["not_used"]] == ["rows", "sizes"]
    again = found.opened([UnusedFigure("more", {"smallest_group": "both"})])
    assert again["smallest_group"] == KnownFigure(
        1, 100, "sizes; more"
    )  # what would settle one reason does not settle both


def test_a_proved_group_bounds_the_smallest_from_above_and_what_cannot_be_from_below():
    held = some_facts(smallest_group=KnownFigure(30, 30))
    proved = {"name": "leaf 1 without leaf 2", "where": "a = 0, b = 1", "rows": [2, 5], "how": "by difference"}
    found = held.with_groups("smallest_group", [proved])
    assert found["smallest_group"] == KnownFigure(2, 5)
    assert found.to_json()["groups"][0] == proved
    assert found.to_json()["groups_in_all"] == 2
    perhaps = held.with_groups("smallest_group", [proved | {"rows": [0, 5]}])
    assert perhaps["smallest_group"] == KnownFigure(30, 30)  # it may be empty
    assert held.with_groups("smallest_group", none_below=12)["smallest_group"] == KnownFigure(12, 30)
    further = held.with_groups("smallest_group", further="not searched to the end", help="limits")
    assert further["smallest_group"] == KnownFigure(1, 30, "not searched to the end", "limits")
    nothing = some_facts(smallest_group=UnknownFigure("none"))
    assert nothing.with_groups("smallest_group")["smallest_group"] == UnknownFigure("none")
    assert nothing.with_groups("smallest_group", [proved])["smallest_group"] == KnownFigure(1, 5)


def test_the_smallest_of_groups():
    assert smallest_of([]) is None
    assert smallest_of([(0, 4), (3, 9), (5, None)]) == KnownFigure(1, 9)
    assert smallest_of([(0, 4)]) == KnownFigure(1, None)  # none surely has a row
    assert smallest_of([(7, 7), (3, 3)]) == KnownFigure(3, 3)


def test_figures_in_json_are_these():
    pure, cells = [{"name": "leaf 1", "class": "1", "rows": [2, 7]}], [{"name": "leaf 1", "class": "0", "rows": [1, 1]}]
    held = FactTable(
        "bounds", 0.9,
        {
            "rows": KnownFigure(90, None), "pinned": KnownFigure(3, None, "not counted", "limits", "several values"),
            "bits_before_per_person": KnownFigure(4.5, 4.5), "bits_left_per_person": UnknownFigure("no domain",
                                                                                                   "domain"),
            "smallest_group": UnknownFigure("late", "limits"), "smallest_cell": KnownFigure(1, 1),
            "class_disclosure": KnownFigure(2, 7), "target_disclosure": AbsentFigure("no numbers"),
            "more": UnknownFigure("why", "rows"),
        },
        {"groups": SmallGroups((), None, "not searched"), "cells": SmallGroups(cells, 4), "pure": SmallGroups(pure, 1)},
        {"kinds_of_counts": ["size"], "stored": None},
        (UnusedFigure("a part", {"pinned": "upper"}, "limits"),),
    )  # fmt: skip
    told = held.to_json()
    assert told == {
        "status": "bounds", "confidence": 0.9, "rows": [90, None], "pinned": [3, None], "bits_before_per_person": 4.5,
        "bits_left_per_person": None, "least_bits_left": None, "smallest_group": None, "groups": [],
        "groups_in_all": None, "smallest_cell": [1, 1], "cells": cells, "cells_in_all": 4,
        "class_disclosure": {"rows": [2, 7], "groups": pure, "groups_in_all": 1}, "target_disclosure": None,
        "labels_by_position": None, "values_by_position": None, "classes_by_position": None,
        "hidden_width": None, "removed_pinned": None, "removed_candidates": None,
        "kinds_of_counts": ["size"], "no_merging": None,
        "profiles": None, "profiles_in_all": None, "stored": None, "stored_inspected": None,
        "not_known": {"bits_left_per_person": "no domain", "smallest_group": "late", "more": "why"},
        "not_applicable": {"target_disclosure": "no numbers"}, "not_listed": {"groups": "not searched"},
        "why_open": {"pinned": "not counted"}, "assumed": {"pinned": "several values"},
        "would_help": {"pinned": "limits", "bits_left_per_person": "domain", "smallest_group": "limits",
                       "more": "rows"},
        "not_used": [{"why": "a part", "opens": {"pinned": "upper"}, "would_help": "limits"}],
    }  # fmt: skip
    again = FactTable.of_json(json.loads(json.dumps(told)))
    assert again.figures == {
        **dict.fromkeys(FIGURES.keys() - RARE, UnknownFigure("it was not worked out")),
        **held.figures,
    }
    groups = {**held.groups, "groups": SmallGroups([], None, "not searched")}
    assert {key: (list(one.each), one.in_all, one.further) for key, one in again.groups.items()} == {
        key: (list(one.each), one.in_all, one.further) for key, one in groups.items()
    }
    assert again.unused == held.unused
    assert (again.status, again.confidence) == ("bounds", 0.9)


def test_what_a_document_leaves_out_is_not_known():
    found = FactTable.of_json({
        "pinned": [None, 4], "smallest_group": [None, None], "least_bits_left": [None, None],
        "not_applicable": {"further": "no such thing"}, "not_known": None, "not_used": None,
    })  # fmt: skip
    assert found["pinned"] == KnownFigure(0, 4)
    assert found["smallest_group"] == found["least_bits_left"] == UnknownFigure("it was not worked out")
    assert found["further"] == AbsentFigure("no such thing")
    assert (found.status, found.confidence, found.everybody) == ("", 1.0, None)
    assert found.listed("smallest_cell") == SmallGroups((), None)
    assert FactTable(figures={"rows": UnknownFigure("open")}).everybody is None
    assert FactTable(figures={"rows": KnownFigure(3, 8)}).everybody == 8


def test_each_end_is_opened_by_itself():
    held = some_facts(
        pinned=KnownFigure(3, 3), values_by_position=KnownFigure(2, 5), smallest_group=KnownFigure(30, 30, "",
                                                                                                   "domain"),
        smallest_cell=KnownFigure(1, 30), least_bits_left=KnownFigure(2.0, 4.0, "late", "limits", "several"),
    )  # fmt: skip
    found = held.opened(
        [UnusedFigure("u", {"pinned": "both", "values_by_position": "upper", "smallest_cell": "upper"})]
    )
    assert found["pinned"] == KnownFigure(0, 100, "u")
    assert found["values_by_position"] == KnownFigure(2, None, "u")  # of values there may be more than people
    assert found["smallest_cell"] == KnownFigure(1, 100, "u")
    assert found.groups == held.groups  # that there are more rows makes no smaller group
    told = held.opened([UnusedFigure("u", {"least_bits_left": "lower", "smallest_group": "lower"}, "limits")])
    assert told["least_bits_left"] == KnownFigure(0, 4.0, "late; u", "limits", "several")
    assert told["smallest_group"] == KnownFigure(1, 30, "u", "limits")
    assert told.listed("smallest_group").further == "u"
    assert held.opened([UnusedFigure("u", {"least_bits_left": "lower"}, "rows")])["least_bits_left"].help == ""
    nobody = FactTable(figures={"rows": KnownFigure(0, 0), "pinned": KnownFigure(0, 0)})
    assert nobody.opened([UnusedFigure("u", ROW_FIGURES)])["pinned"] == KnownFigure(0, 0)
    one = some_facts(smallest_group=KnownFigure(1, 1))
    assert one.opened([UnusedFigure("u", SIZE_FIGURES)])["smallest_group"] == KnownFigure(1, 1)


def test_proved_groups_stand_among_the_others_the_surest_first():
    held = some_facts(smallest_group=KnownFigure(5, None, "late", "limits", "several"))
    proved = [{"name": "a", "rows": [9, None]}, {"name": "b", "rows": [9, 12]}, {"name": "c", "rows": [0, 2]}]
    found = held.with_groups("smallest_group", proved)
    assert found["smallest_group"] == KnownFigure(5, 12, "late", "limits", "several")
    assert [one["name"] for one in found.listed("smallest_group").each] == ["c", "b", "a", "leaf 1"]
    assert found.listed("smallest_group").in_all == 4
    settled = held.with_groups("smallest_group", [{"name": "d", "rows": [5, 5]}])
    assert settled["smallest_group"] == KnownFigure(5, 5)  # nothing is open any more
    assert held.with_groups("smallest_group", none_below=0)["smallest_group"].low == 1
    assert some_facts(target_disclosure=KnownFigure(1, 2)).to_json()["target_disclosure"] == {"rows": [1, 2]}
    assert "pure" not in held.to_json()  # groups of a figure that is not known are not listed
    more = held.with_groups("smallest_group", further="not searched")
    assert more["smallest_group"] == KnownFigure(1, None, "not searched", "", "several")
    assert more.listed("smallest_group").further == "not searched"
    assert more.with_groups("smallest_group").listed("smallest_group").further == "not searched"
    unlisted = FactTable("exact", 1.0, {"smallest_group": KnownFigure(5, 9)}, {"groups": SmallGroups((), None)})
    assert unlisted.with_groups("smallest_group", proved).listed("smallest_group").in_all is None


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        ([1, 1], "1 bit"), ([1, 5], "between 1 and 5 bits"), ([3, None], "at least 3 bits"), ([0, 5], "at most 5 bits"),
        ([None, 5], "at most 5 bits"), ([0, None], "an unknown number of bits"),
        ([None, None], "an unknown number of bits"),
        ([0, 0], "0 bits"), ([1234, 1234], "1,234 bits"), ([2.00001, 2.00002], "2 bits"), ([2.5, 2.5], "2.5 bits"),
        ([12345.67, 12345.67], "12,345.7 bits"), ([9999.4, 9999.5], "between 9,999 and 9,999.5 bits"),
        ([10_000.25, 10_000.25], "10,000.2 bits"), ([0.000123, 0.5], "between 0.000123 and 0.5 bits"),
    ],
)  # fmt: skip
def test_intervals_in_words(interval, words):
    assert interval_text(interval, "bit") == words


@pytest.mark.parametrize("direction", ["at least", "at most"])
@pytest.mark.parametrize("interval", [(0, 0), (2, 2), (1, 3), (2, 4), (0, 2), (2, None), (3, None), (None, 1), (3, 4)])
def test_a_claim_on_an_interval_is_one_on_all_its_numbers(interval, direction):
    low, high = interval[0] or 0, 9 if interval[1] is None else interval[1]
    said = {n >= 2 if direction == "at least" else n <= 2 for n in range(low, high + 1)}
    expected = "inconclusive" if len(said) == 2 else "met" if said == {True} else "violated"
    assert _compared(interval, direction, 2) == expected
    sizes = {n == 0 or n >= 2 for n in range(low, high + 1)}
    group = "met" if sizes == {True} else "violated" if sizes == {False} else "inconclusive"
    assert _none_small(interval, 2) == group
    assert _none_small(interval, 1) == "met"


def test_several_claims_at_once():
    assert all_of([]) == all_of(["met", "not applicable"]) == "met"
    assert all_of(["met", "inconclusive"]) == "inconclusive"
    assert all_of(["inconclusive", "violated", "met"]) == "violated"


@pytest.mark.parametrize(
    ("figure", "shown", "not_known"),
    [(KnownFigure(9, 12), [9, 12], False), (UnknownFigure("late"), None, True), (AbsentFigure("no curve"), ..., False)],
)
def test_figures_of_few_releases_are_left_out_of_json_where_they_do_not_apply(figure, shown, not_known):
    """Whoever reads such a report does not know whether they did not apply, or were never worked out: they are open."""
    held = some_facts(freedom=figure, pinned=AbsentFigure("no number"))
    told = held.to_json()
    assert told.get("freedom", ...) == shown
    assert ("freedom" in told["not_known"]) == not_known
    assert told["not_applicable"] == {"pinned": "no number"}
    assert told["pinned"] is None
    assert "survival_step" not in told
    read = FactTable.of_json(json.loads(json.dumps(told)))
    assert read["freedom"] == (UnknownFigure(NOT_WORKED_OUT) if shown is ... else figure)
    assert FactTable.of_json(told) is held  # what was just written still knows
