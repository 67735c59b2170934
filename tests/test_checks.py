"""What facts say against a threshold, case by case, with everything that is said of it: written out by hand."""

from __future__ import annotations

import pytest
from policy_cases import facts_of, group, policy_of

from recon.policies.assessing import assess
from recon.policies.checks import place_of, worst

OPEN = {"not_listed": {"groups": "groups cut each other"}}


def groups_of(*rows, in_all=-1, **more):
    """Return facts with these groups; all of them are listed, unless `in_all` says otherwise."""
    each = [group(f"g{k}", *one) for k, one in enumerate(rows)]
    return {"groups": each, "groups_in_all": len(each) if in_all == -1 else in_all, **more}


def said_of(key, threshold, facts):
    (check,) = assess(facts_of(**facts), policy_of(**{key: threshold})).checks
    said = check.said
    assert check.outcome == said.outcome
    names = [one["name"] for one in said.places]
    return said.outcome, said.found, said.asked, names, said.places_in_all, said.why, said.help


NOTHING, TEN = ([], 0, "", ""), "at least 10 rows"
GROUPS = [  # the smallest, groups -> outcome, found, places, how many, why, help
    ((None, groups_of(not_known={"smallest_group": "no counts."})),
     ("inconclusive", "not known", [], 0, "no counts", "")),
    ((None, groups_of(not_known={"smallest_group": "late"}, would_help={"smallest_group": "limits"})),
     ("inconclusive", "not known", [], 0, "late", "limits")),
    ((None, groups_of(not_applicable={"smallest_group": "no groups."})),
     ("not applicable", "does not apply (no groups)", *NOTHING)),
    ((None, groups_of(rows=[0, 0])), ("met", "nobody", *NOTHING)),
    (([3, 3], groups_of()), ("violated", "3 rows", *NOTHING)),
    (([30, 30], groups_of((30, 30), **OPEN)), ("met", "30 rows", *NOTHING)),
    (([1, 40], groups_of((30, 30), (12, None))), ("met", "between 1 and 40 rows", *NOTHING)),
    (([1, 40], groups_of((30, 30), in_all=None)), ("inconclusive", "between 1 and 40 rows", *NOTHING)),
    (([1, 40], groups_of((30, 30), in_all=2)), ("inconclusive", "between 1 and 40 rows", *NOTHING)),
    (([1, 40], groups_of((30, 30), **OPEN)),
     ("inconclusive", "between 1 and 40 rows", [], 0, "groups cut each other", "")),
    (([1, 40], groups_of((30, 30), (2, 3), **OPEN)), ("violated", "between 1 and 40 rows", ["g1"], 1, "", "")),
    (([1, 40], groups_of((2, 12), (30, 30))), ("inconclusive", "between 1 and 40 rows", ["g0"], 1, "", "")),
    (([3, 3], groups_of((2, 12), (3, 3), why_open={"smallest_group": "late"})),
     ("violated", "3 rows", ["g1"], 1, "", "")),
    (([3, 3], groups_of((2, 12))), ("violated", "3 rows", ["g0"], 1, "", "")),
    ((None, groups_of((2, 3), (1, 7), (0, 20))), ("violated", "between 1 and 3 rows", ["g0", "g1"], 2, "", "")),
    ((None, groups_of((0, None), (4, 12))), ("inconclusive", "at most 12 rows", ["g1", "g0"], 2,
                                             "it was not worked out", "")),
    ((None, groups_of((20, 30), in_all=3)), ("inconclusive", "not known", [], 0, "it was not worked out", "")),
    ((None, groups_of((20, 30), (15, None), (0, 0))), ("met", "between 15 and 30 rows", *NOTHING)),
    ((None, groups_of((0, 0))), ("met", "not known", *NOTHING)),
    ((None, groups_of((10, 10))), ("met", "10 rows", *NOTHING)),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "expected"), GROUPS)
def test_groups(facts, expected):
    smallest, more = facts
    outcome, found, *rest = expected
    assert said_of("smallest_group", 10, {"smallest_group": smallest, **more}) == (outcome, found, TEN, *rest)


WHY = {"why_open": {"pinned": "late", "least_bits_left": "late"}, "would_help": {"pinned": "limits"}}


@pytest.mark.parametrize(
    ("key", "threshold", "facts", "expected"),
    [
        ("most_pinned", 3, {"pinned": [3, 3], **WHY}, ("met", "3 people", "at most 3 people", *NOTHING)),
        ("most_pinned", 3, {"pinned": [4, 9], **WHY}, ("violated", "between 4 and 9 people", "at most 3 people",
                                                      *NOTHING)),
        ("most_pinned", 3, {"pinned": [3, None], **WHY}, ("inconclusive", "at least 3 people", "at most 3 people",
                                                         [], 0, "late", "limits")),
        ("most_pinned", 3, {"pinned": None, "not_known": {"pinned": "no"}}, ("inconclusive", "not known",
                                                                            "at most 3 people", [], 0, "no", "")),
        ("least_bits_left", 5, {"least_bits_left": [4.99, 4.99996]},
         ("violated", "between 4.99 and 4.99996 bits", "at least 5 bits", *NOTHING)),
        ("least_bits_left", 5, {"least_bits_left": [4.1, 4.5], **WHY},
         ("violated", "between 4.1 and 4.5 bits", "at least 5 bits", *NOTHING)),
        ("least_bits_left", 5, {"least_bits_left": [4.00004, None], **WHY},
         ("inconclusive", "at least 4 bits", "at least 5 bits", [], 0, "late", "")),
    ],
)  # fmt: skip
def test_intervals(key, threshold, facts, expected):
    assert said_of(key, threshold, facts) == expected


def classes(rows, *groups, in_all=0, **more):
    each = [{"name": f"g{k}", "rows": one} for k, one in enumerate(groups)]
    return {"class_disclosure": {"rows": rows, "groups": each, "groups_in_all": in_all}, **more}


LATE = {"not_known": {"class_disclosure": "late"}, "would_help": {"class_disclosure": "limits"}}
REASON = {"why_open": {"class_disclosure": "late"}}


@pytest.mark.parametrize(
    ("threshold", "facts", "expected"),
    [
        ("allowed", {"class_disclosure": None, **LATE}, ("met", "not known", "any number of rows", *NOTHING)),
        ("forbidden", {"class_disclosure": None, **LATE}, ("inconclusive", "not known", "no row", [], 0, "late",
                                                           "limits")),
        (7, {"class_disclosure": None, "not_applicable": {"class_disclosure": "no label"}},
         ("not applicable", "does not apply (no label)", "at most 7 rows", *NOTHING)),
        ("allowed", classes([9, 9], [9, 9], in_all=1), ("met", "9 rows", "any number of rows", *NOTHING)),
        (9, classes([9, 9], [9, 9], in_all=1, **REASON), ("met", "9 rows", "at most 9 rows", *NOTHING)),
        (1, classes([2, 2], [2, 2], [0, 0], in_all=None, **REASON), ("violated", "2 rows", "at most 1 row", ["g0"], 1,
                                                                   "", "")),
        (1, classes([2, 2], [2, 2], [1, 5], in_all=1), ("violated", "2 rows", "at most 1 row", ["g0", "g1"], 2, "",
                                                        "")),
        ("forbidden", classes([0, 9], in_all=8, **REASON), ("inconclusive", "at most 9 rows", "no row", [], 0, "late",
                                                           "")),
        ("forbidden", classes([0, 9], [0, 9], in_all=8, **REASON), ("inconclusive", "at most 9 rows", "no row", ["g0"],
                                                                   8, "late", "")),
    ],
)  # fmt: skip
def test_classes(threshold, facts, expected):
    assert said_of("class_disclosure", threshold, facts) == expected


def test_kinds_of_counts():
    exact, bag = '"training rows per class"', "resample"
    outcome, found, asked, *_ = said_of("kinds_of_counts", ("exact",), {"kinds_of_counts": ["exact", "bag"]})
    assert (outcome, exact in found, bag in found, exact in asked) == ("violated", False, True, True)
    outcome, found, *_ = said_of("kinds_of_counts", ("exact", "bag"), {"kinds_of_counts": ["exact"]})
    assert (outcome, exact in found, bag in found) == ("met", True, False)
    outcome, found, *_, why, _ = said_of("kinds_of_counts", ("exact",), {"kinds_of_counts": None})
    assert (outcome, found, why) == ("inconclusive", "not known", "it was not worked out")


def finding(level, path="X_", removable=False, **more):
    return {"level": level, "path": path, "what": f"{level} data", "rule": "raw", "removable": removable, **more}


MEDIUM, NONE = "nothing graver than medium", "nothing"
STORED = [
    ("medium", None, ("met", "nothing", MEDIUM, *NOTHING)),
    ("none", [], ("met", "nothing", NONE, *NOTHING)),
    ("medium", [finding("medium"), finding("info")], ("met", "2 findings, none graver", MEDIUM, *NOTHING)),
    ("none", [finding("info")], ("violated", "1 finding, the gravest info: info data", NONE, ["X_"], 1, "", "")),
    ("medium", [finding("critical", worked_out=True)], ("met", "nothing", MEDIUM, *NOTHING)),
    ("medium", [finding("high", "a"), finding("critical", "b"), finding("info", "c"), finding("unknown", "d")],
     ("violated", "2 findings, the gravest critical: critical data", MEDIUM, ["b", "a"], 2, "", "")),
    ("none", [finding("high", "a"), finding("unknown", "d")],
     ("violated", "2 findings, the gravest high: high data", NONE, ["a", "d"], 2, "", "")),
    ("none", [finding("unknown", "d")],
     ("violated", "1 finding, the gravest unknown: unknown data", NONE, ["d"], 1, "", "")),
    ("medium", [finding("unknown", "d"), finding("info", "e")],
     ("inconclusive", "1 finding not understood", MEDIUM, ["d"], 1,
      "nobody knows what unknown data holds, training rows may be in it", "")),
    ("critical", [finding("critical"), finding("unknown")], ("met", "2 findings", "anything", *NOTHING)),
]  # fmt: skip


@pytest.mark.parametrize(("allowed", "found", "expected"), STORED)
def test_stored_data(allowed, found, expected):
    assert said_of("stored", allowed, {"stored": found}) == expected


@pytest.mark.parametrize("allowed", ["none", "low", "medium", "high", "critical"])
@pytest.mark.parametrize("found", [None, [], [finding("info")]])
def test_files_that_were_not_inspected_meet_nothing_but_anything(allowed, found):
    outcome, words, *_ = said_of("stored", allowed, {"stored": found, "stored_inspected": False})
    expected = "met" if allowed == "critical" else "violated" if found and allowed == "none" else "inconclusive"
    assert outcome == expected
    assert words == "not inspected" or outcome != "inconclusive"


@pytest.mark.parametrize(
    ("found", "removable"),
    [
        ([finding("high", removable=True)], True), ([finding("high")], False),
        ([finding("high", removable=True), finding("high")], False),
        ([finding("high", removable=True), finding("unknown")], False),
        ([finding("high", removable=True), finding("unknown", removable=True)], True),
        ([finding("high", removable=True), finding("info")], True),
    ],
)  # fmt: skip
def test_only_what_can_all_be_taken_out_is_a_change(found, removable):
    (check,) = assess(facts_of(stored=found), policy_of(stored="medium")).checks
    assert check.said.removable == removable


def test_findings_without_a_path_are_named_by_their_rule():
    assert place_of(finding("high")) == {"name": "X_", "where": "high data", "rows": None}
    assert place_of(finding("high", "")) == {"name": "raw", "where": "high data", "rows": None}
    assert place_of({}) == {"name": "", "where": "", "rows": None}


def people(*verdicts, in_all=None):
    return {"profiles": [{"position": k, "verdict": one} for k, one in enumerate(verdicts)],
            "profiles_in_all": in_all}  # fmt: skip


CERTAIN = "none that is certain"
PROFILES = [
    ((), {"profiles": None}, ("met", "none given", "any verdicts", *NOTHING)),
    (("certain",), {"profiles": None}, ("inconclusive", "none given", CERTAIN, [], 0,
                                        "no profiles were given (recon audit --profiles people.csv)", "profiles")),
    (("certain",), people(), ("inconclusive", "none given", CERTAIN, [], 0, "the table of profiles has no rows",
                              "profiles")),
    ((), people(), ("met", "0 profiles, none of them so", "any verdicts", *NOTHING)),
    (("certain",), people("possible", "outside"), ("met", "2 profiles, none of them so", CERTAIN, *NOTHING)),
    (("certain",), people("possible", "certain", "certain"), ("violated", "2 profiles certain", CERTAIN,
                                                             ["profile 1", "profile 2"], 2, "", "")),
    (("certain",), people("certain", in_all={"certain": 40, "possible": 9}),
     ("violated", "40 profiles certain", CERTAIN, ["profile 0"], 40, "", "")),
    (("certain",), people("certain", "unknown"), ("violated", "1 profile certain", CERTAIN, ["profile 0"], 1, "", "")),
    (("certain",), people("possible", "unknown"), ("inconclusive", "1 profile without a verdict", CERTAIN,
                                                  ["profile 1"], 1, "limits left the verdict on some profiles open",
                                                  "limits")),
    (("certain", "possible", "impossible"), people("unknown", "certain"),
     ("violated", "2 profiles unknown or certain", "none that is certain or possible or impossible",
      ["profile 0", "profile 1"], 2, "", "")),
    (("outside",), people("unknown"), ("met", "1 profile, none of them so", "none that is outside", *NOTHING)),
    (("unknown",), people("unknown"), ("violated", "1 profile unknown", "none that is unknown", ["profile 0"], 1, "",
                                       "")),
]  # fmt: skip


@pytest.mark.parametrize(("forbidden", "facts", "expected"), PROFILES)
def test_profiles(forbidden, facts, expected):
    assert said_of("profiles", forbidden, facts) == expected


def test_the_surest_and_smallest_group_comes_first():
    each = [group("open", 1, None), group("large", 9, 9), group("small", 2, 3), group("sure", 3, 3)]
    nobody = {"name": "a text", "where": "", "rows": None}
    assert [one["name"] for one in worst([*each, nobody])] == ["a text", "small", "sure", "large", "open"]
    (first,) = worst([{"name": "n", "where": None, "class": "1", "rows": [1, 1]}])
    assert first == {"name": "n", "where": "class 1", "rows": [1, 1]}
    (first,) = worst([{"name": "n", "where": "a = 0", "class": "1", "rows": [1, 1]}])
    assert first["where"] == "a = 0"
    (first,) = worst([{"name": "n", "rows": [1, 1]}])
    assert first["where"] == ""
