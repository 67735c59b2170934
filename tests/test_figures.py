"""The struct of figures: written and read again, opened by what was not used, bounded by proved groups."""

from __future__ import annotations

import json

from recon.policies.facts import (
    FIGURES,
    ROW_FIGURES,
    SIZE_FIGURES,
    Absent,
    Facts,
    Groups,
    Known,
    Unknown,
    Unused,
    smallest_of,
)


def some_facts(**figures):
    groups = {"groups": Groups([{"name": "leaf 1", "where": "a = 0", "rows": [30, 30]}], 1)}
    others = {"kinds_of_counts": ["exact"], "stored": [], "stored_inspected": True}
    return Facts("exact", 1.0, {"rows": Known(100, 100), **figures}, groups, others)


def test_figures_are_read_back_from_json_as_they_were_written():
    held = some_facts(
        pinned=Known(3, None, "not counted", "limits"), bits_before_per_person=Known(4.5, 4.5),
        bits_left_per_person=Unknown("no domain", "domain"), least_bits_left=Known(0.0, 2.0),
        smallest_group=Known(30, 30), smallest_cell=Unknown("no counts"), class_disclosure=Known(1, 7, "together"),
        target_disclosure=Absent("no numbers"),
        labels_by_position=Known(2, 9), values_by_position=Known(0, 0),
    )  # fmt: skip
    held = held.opened([Unused("a part was not read", {"smallest_group": "lower"})])
    told = held.to_json()
    assert json.loads(json.dumps(told)) == told
    again = Facts.of_json(told)
    assert again.to_json() == told
    assert {key: again[key] for key in FIGURES} == {key: held[key] for key in FIGURES}
    assert again.listed("smallest_group").further == "a part was not read"
    assert Facts.of_json({"status": "exact"})["pinned"] == Unknown("it was not worked out")


def test_what_was_not_used_takes_away_the_ends_that_it_makes_unsure():
    held = some_facts(
        pinned=Known(3, 3), bits_left_per_person=Known(2.0, 2.0), smallest_group=Known(30, 30),
        class_disclosure=Absent("no classes"), smallest_cell=Unknown("no counts"),
    )  # fmt: skip
    found = held.opened([Unused("rows", ROW_FIGURES), Unused("sizes", SIZE_FIGURES, "limits")])
    assert found["pinned"] == Known(3, 100, "rows")
    assert found["bits_left_per_person"] == Known(0, 2.0, "rows")
    assert found["smallest_group"] == Known(1, 30, "sizes", "limits")
    assert found.to_json()["not_listed"] == {"groups": "sizes"}
    assert found["class_disclosure"] == Absent("no classes")
    assert found["smallest_cell"] == Unknown("no counts")
    assert [one["why"] for one in found.to_json()["not_used"]] == ["rows", "sizes"]
    again = found.opened([Unused("more", {"smallest_group": "both"})])
    assert again["smallest_group"] == Known(1, 100, "sizes; more")  # what would settle one reason does not settle both


def test_a_proved_group_bounds_the_smallest_from_above_and_what_cannot_be_from_below():
    held = some_facts(smallest_group=Known(30, 30))
    proved = {"name": "leaf 1 without leaf 2", "where": "a = 0, b = 1", "rows": [2, 5], "how": "by difference"}
    found = held.with_groups("smallest_group", [proved])
    assert found["smallest_group"] == Known(2, 5)
    assert found.to_json()["groups"][0] == proved
    assert found.to_json()["groups_in_all"] == 2
    perhaps = held.with_groups("smallest_group", [proved | {"rows": [0, 5]}])
    assert perhaps["smallest_group"] == Known(30, 30)  # it may be empty
    assert held.with_groups("smallest_group", none_below=12)["smallest_group"] == Known(12, 30)
    further = held.with_groups("smallest_group", further="not searched to the end", help="limits")
    assert further["smallest_group"] == Known(1, 30, "not searched to the end", "limits")
    nothing = some_facts(smallest_group=Unknown("none"))
    assert nothing.with_groups("smallest_group")["smallest_group"] == Unknown("none")
    assert nothing.with_groups("smallest_group", [proved])["smallest_group"] == Known(1, 5)


def test_the_smallest_of_groups():
    assert smallest_of([]) is None
    assert smallest_of([(0, 4), (3, 9), (5, None)]) == Known(1, 9)
    assert smallest_of([(0, 4)]) == Known(1, None)  # none surely has a row
    assert smallest_of([(7, 7), (3, 3)]) == Known(3, 3)
