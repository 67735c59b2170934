"""What facts say against a threshold, case by case, with everything that is said of it: written out by hand."""

from __future__ import annotations

import pytest
from policy_cases import facts_of, group, policy_of

from recon.release.policies.assessing import assess, least_loss
from recon.release.policies.checks import _place_of, _worst
from recon.release.remediation.thresholds import Demands, demands_of
from recon.report.results import _outcome_of

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
    (([1, 40], groups_of()), ("inconclusive", "between 1 and 40 rows", *NOTHING)),
    ((None, groups_of((0, 12), not_applicable={"smallest_group": "no groups"})),
     ("inconclusive", "at most 12 rows", ["g0"], 1, "no groups", "")),
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


MEDIUM, NONE = "nothing more serious than medium", "nothing"
STORED = [
    ("medium", None, ("met", "nothing", MEDIUM, *NOTHING)),
    ("none", [], ("met", "nothing", NONE, *NOTHING)),
    ("medium", [finding("medium"), finding("info")], ("met", "2 findings, none more serious", MEDIUM, *NOTHING)),
    ("none", [finding("info")], ("violated", "1 item, rated info", NONE, ["X_"], 1, "", "")),
    ("medium", [finding("critical", worked_out=True)], ("met", "nothing", MEDIUM, *NOTHING)),
    ("medium", [finding("high", "a"), finding("critical", "b"), finding("info", "c"), finding("unknown", "d")],
     ("violated", "2 items, the most serious rated critical", MEDIUM, ["b", "a"], 2, "", "")),
    ("none", [finding("high", "a"), finding("unknown", "d")],
     ("violated", "2 items, the most serious rated high", NONE, ["a", "d"], 2, "", "")),
    ("none", [finding("unknown", "d")],
     ("violated", "1 item, rated unknown", NONE, ["d"], 1, "", "")),
    ("medium", [finding("unknown", "d"), finding("info", "e")],
     ("inconclusive", "1 finding not understood", MEDIUM, ["d"], 1,
      "it is not known what unknown data holds, training rows may be in it", "")),
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
    assert _place_of(finding("high")) == {"name": "X_", "where": "high data", "rows": None}
    assert _place_of(finding("high", "")) == {"name": "raw", "where": "high data", "rows": None}
    assert _place_of({}) == {"name": "", "where": "", "rows": None}


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
    assert [one["name"] for one in _worst([*each, nobody])] == ["a text", "small", "sure", "large", "open"]
    (first,) = _worst([{"name": "n", "where": None, "class": "1", "rows": [1, 1]}])
    assert first == {"name": "n", "where": "class 1", "rows": [1, 1]}
    (first,) = _worst([{"name": "n", "where": "a = 0", "class": "1", "rows": [1, 1]}])
    assert first["where"] == "a = 0"
    (first,) = _worst([{"name": "n", "rows": [1, 1]}])
    assert first["where"] == ""


# The sentences, and the verdict


def judged(policy, inconclusive="inconclusive", remedies=None, source="", **facts):
    found = assess(facts_of(**facts), policy_of(inconclusive, source, **policy), remedies)
    return found.verdict, found.sentence, [one.sentence for one in found.checks]


SMALL = {"smallest_group": [3, 3], **groups_of((3, 3), (4, 4))}
LATE_PINNED = {"pinned": [0, 3], "why_open": {"pinned": "late."}}
SENTENCES = [
    (({"most_pinned": 0}, {}), ("release", "The policy ours is met.",
     ["0 people are fully known, the policy asks for at most 0 people (set in p.toml)."])),
    (({"smallest_group": 10, "most_pinned": 0}, {"assumed": {"pinned": "x has several values"}}),
     ("release", "All 2 thresholds of the policy ours are met.",
      ["The smallest group has 30 rows, the policy asks for at least 10 rows (set in p.toml).",
       "0 people are fully known, the policy asks for at most 0 people (set in p.toml); this "
       "assumes that x has "
       "several values."])),
    (({"smallest_group": 10}, {"pinned": [1, 1], "labels_by_position": [2, 2]}),
     ("release", "The policy ours is met, but the file reveals people: 1 person is fully known. "
      "(and 1 more)",
      ["The smallest group has 30 rows, the policy asks for at least 10 rows (set in p.toml)."])),
    (({"smallest_group": 10}, {"pinned": [1, 1]}),
     ("release", "The policy ours is met, but the file reveals people: 1 person is fully known.",
      ["The smallest group has 30 rows, the policy asks for at least 10 rows (set in p.toml)."])),
    (({"smallest_group": 10, "most_pinned": 0}, SMALL),
     ("do not release", "The release violates 1 of 2 thresholds of the policy ours (smallest group): the "
      "smallest group "
      "has 3 rows (g0, 3 rows; 1 more), the policy asks for at least 10 rows.",
      ["The smallest group has 3 rows (g0, 3 rows; 1 more), the policy asks for at least 10 rows (set in p.toml).",
       "0 people are fully known, the policy asks for at most 0 people (set in p.toml)."])),
    (({"most_pinned": 0, "least_bits_left": 9}, {"pinned": [1, 1]}),
     ("do not release", "The release violates all 2 thresholds of the policy ours (people fully known, "
      "bits left "
      "about the most exposed person): 1 person is fully known, the policy asks for at most 0 people.",
      ["1 person is fully known, the policy asks for at most 0 people (set in p.toml).",
       "About the most exposed person 8 bits are left, the policy asks for at least 9 bits (set in p.toml)."])),
    (({"smallest_group": 10, "most_pinned": 0}, LATE_PINNED),
     ("not assessed", "1 of 2 thresholds of the policy ours is open (people fully known): late.",
      ["The smallest group has 30 rows, the policy asks for at least 10 rows (set in p.toml).",
       "At most 3 people are fully known, the policy asks for at most 0 people (set in p.toml); this is open: "
       "late."])),
    (({"most_pinned": 0, "mean_bits_left": 13}, {"pinned": [0, 3], "bits_left_per_person": [12, 14], "why_open": {
        "bits_left_per_person": "why"}}),
     ("not assessed", "All 2 thresholds of the policy ours are open (people fully known, bits left "
      "per person): "
      "why.",
      ["At most 3 people are fully known, the policy asks for at most 0 people (set in p.toml); this is open.",
       "Per person between 12 and 14 bits are left on average, without the order of rows, the policy asks for at "
           "least 13 bits (set in p.toml); "
       "this is open: why."])),
    (({"class_disclosure": "forbidden"}, {"class_disclosure": None, "not_applicable": {"class_disclosure": "no label"},
                                         "confidence": 0.9}),
     ("release", "The policy ours is met.",
      ["Rows in groups of one class only: does not apply (no label), the policy asks for no row (set in p.toml)."])),
    (({"most_pinned": 0, "stored": "medium"}, {"confidence": 0.9}),
     ("release", "All 2 thresholds of the policy ours are met.",
      ["At confidence 0.9: 0 people are fully known, the policy asks for at most 0 people (set in p.toml).",
       "Beside the model, the file stores nothing, the policy asks for nothing more serious than medium (set in "
           "p.toml)."])),
    (({"most_pinned": 0}, {"confidence": 0.9, "pinned": None, "not_known": {"pinned": "late"}}),
     ("not assessed", "The one threshold of the policy ours is open (people fully known): late.",
      ["People fully known: not known, the policy asks for at most 0 people (set in p.toml); this is open: "
       "late."])),
    (({"stored": "medium"}, {"stored": [finding("high", "m.X_"), finding("high", "m.y_")]}),
     ("do not release", "The release violates the one threshold of the policy ours (stored training data): beside the "
      "model, the file stores 2 items, the most serious rated high (m.X_; 1 more), the policy "
          "asks for "
      "nothing more serious than medium.",
      ["Beside the model, the file stores 2 items, the most serious rated high (m.X_: high data; 1 "
       "more), the policy "
       "asks for nothing more serious than medium (set in p.toml)."])),
]  # fmt: skip


@pytest.mark.parametrize(("case", "expected"), SENTENCES)
def test_sentences(case, expected):
    policy, facts = case
    assert judged(policy, **facts) == expected


@pytest.mark.parametrize(
    ("policy", "facts", "sentence"),
    [
        ({"most_pinned": 0}, {"confidence": None}, "0 people are fully known, the policy asks for at "
         "most 0 people"),
        ({"smallest_group": 10}, {"smallest_group": [3, 3], **groups_of((3, 3))},
         "The smallest group has 3 rows (g0, 3 rows), the policy asks for at least 10 rows"),
        ({"class_disclosure": 0}, classes([1, None]), "At least 1 row is in groups of one class only, so "
         "that belonging "
         "to the group reveals the class, the policy asks for no row"),
    ],
)  # fmt: skip
def test_a_sentence(policy, facts, sentence):
    assert judged(policy, **facts)[2] == [f"{sentence} (set in p.toml)."]


def test_a_source_stands_in_place_of_the_file():
    (sentence,) = judged({"most_pinned": 0}, source="the officer")[2]
    assert sentence.endswith("at most 0 people (source: the officer).")


def test_an_open_answer_counts_as_a_violation_where_the_policy_says_so():
    verdict, _, (first, second) = judged({"smallest_group": 10, "most_pinned": 0}, "violation", **LATE_PINNED)
    assert verdict == "do not release"
    assert first.endswith("(set in p.toml).")
    assert second.endswith("; this is open: late, and the policy counts what is open as a violation.")
    (check, *_) = assess(facts_of(**LATE_PINNED), policy_of("violation", most_pinned=0)).checks
    assert (check.outcome, check.said.outcome) == ("violated", "inconclusive")
    assert check.remedy.startswith("Do not treat this as a pass: no option of the audit settles it")
    assert judged({"most_pinned": 0}, "violation")[0] == "release"


def test_a_check_in_json():
    given = {"name": "g0", "where": "", "rows": [3, 3]}
    facts = facts_of(**SMALL, **LATE_PINNED | {"would_help": {"pinned": "limits", "smallest_group": "rows"}})
    policy = policy_of(source="s", smallest_group=10, most_pinned=0, kinds_of_counts=("exact",))
    small, pinned, kinds = (one.to_json() for one in assess(facts, policy).checks)
    assert small == {
        "rule": "smallest_group", "title": "Smallest group", "threshold": 10, "source": "s", "found": "3 rows",
        "outcome": "violated", "sentence": small["sentence"], "remedy": small["remedy"], "would_help": "",
        "places": [given, given | {"name": "g1", "rows": [4, 4]}], "places_in_all": 2,
    }  # fmt: skip
    assert (pinned["would_help"], pinned["outcome"], pinned["places"]) == ("limits", "inconclusive", [])
    assert pinned["remedy"].startswith("Do not treat this as a pass: audit again with more time")
    assert (kinds["threshold"], kinds["remedy"], kinds["would_help"]) == (["exact"], "", "")


def test_remedies_advise_no_merging_only_to_whom_it_would_help():
    why = {"no_merging": "noise"}
    said = {
        key: assess(facts_of(**SMALL, pinned=[3, 3], **more), policy_of(smallest_group=10, most_pinned=0))
        .checks[k]
        .remedy
        for key, k, more in (("group", 0, {}), ("group not", 0, why), ("pinned", 1, {}), ("pinned not", 1, why))
    }
    assert "recon remedy" in said["group"]
    assert said["group not"].startswith("Train again with larger groups")
    assert said["group not"].endswith("groups cannot be merged, because noise.")
    assert said["pinned"] == said["pinned not"]
    assert said["pinned"].startswith("Publish fewer or larger groups, fewer trees, or noisy counts")


def test_what_is_given_away():
    facts = facts_of(
        stored=[finding("critical", None), finding("high"), finding("critical", "m.X_")], pinned=[0, 3],
        labels_by_position=[2, 9],
    )  # fmt: skip
    away = assess(facts, policy_of(smallest_group=10)).gives_away
    assert [(one["fact"], one["place"], one["rows"]) for one in away] == [
        ("stored", "", None), ("stored", "m.X_", None), ("labels_by_position", "", [2, 9]),
    ]  # fmt: skip
    assert away[0]["sentence"] == "Training rows, or their labels, are stored in the file: critical data."
    assert away[1]["sentence"] == "Training rows, or their labels, are stored in the file at m.X_: critical data."
    assert not assess(facts_of(stored=None, pinned=None), policy_of(smallest_group=10)).gives_away


def remedy(**more):
    return {"kind": "merge", "remedy": "merged", "outcome": "met", **more}


@pytest.mark.parametrize(
    ("best", "others"),
    [
        (remedy(kind="strip"), [remedy(command="recon remedy x")]),
        (remedy(command="c"), [remedy(kind="rounded counts"), remedy(kind="counts"), remedy()]),
        (remedy(kind="rounded counts", accuracy=0.1), [remedy(accuracy=0.9)]),
        (remedy(), [remedy(kind="counts", accuracy=1.0)]),
        (remedy(accuracy=0.9), [remedy(accuracy=0.8), remedy()]),
        (remedy(accuracy=0.0), [remedy()]),
        (remedy(accuracy=0.9, bits_left_per_person=[2, 9]), [remedy(accuracy=0.9, bits_left_per_person=[3, 3])]),
        (remedy(bits_left_per_person=[2, 9]), [remedy(bits_left_per_person=[None, 1]), remedy()]),
        (remedy(accuracy=0.1), [remedy(kind="as published", accuracy=1), remedy(outcome="violated", accuracy=1)]),
    ],
)
def test_the_remedy_with_the_least_loss(best, others):
    for given in ([best, *others], [*others, best]):
        assert least_loss(given) == best
    told = judged({"smallest_group": 10}, remedies=[*others, best], **SMALL)
    assert told[0] == "release with changes"
    command = " (c)" if best.get("command") else ""
    assert told[1].endswith(f"(smallest group); this change meets the policy: merged{command}.")
    assert judged({"smallest_group": 10}, remedies=[best])[0] == "release"
    assert judged({"most_pinned": 0}, remedies=[best], **LATE_PINNED)[0] == "not assessed"


@pytest.mark.parametrize(
    ("policy", "facts", "changed"),
    [
        ({"stored": "medium"}, {"stored": [finding("high", removable=True)]}, True),
        ({"stored": "medium"}, {"stored": [finding("high")]}, False),
        ({"stored": "medium", "most_pinned": 0}, {"stored": [finding("high", removable=True)]}, True),
        ({"stored": "medium", "most_pinned": 0}, {"stored": [finding("high", removable=True)], "pinned": [1, 1]},
         False),
        ({"stored": "medium", "most_pinned": 0}, {"stored": [finding("high", removable=True)], "pinned": [0, 1]},
         False),
        ({"stored": "medium", "class_disclosure": 0},
         {"stored": [finding("high", removable=True)], "class_disclosure": None,
          "not_applicable": {"class_disclosure": "no label"}}, True),
    ],
)  # fmt: skip
def test_what_can_be_taken_out_is_a_change_where_nothing_else_is_wrong(policy, facts, changed):
    verdict, sentence, _ = judged(policy, **facts)
    assert verdict == ("release with changes" if changed else "do not release")
    assert ("recon inspect FILE --strip OUT" in sentence) == changed


def test_where_an_open_answer_counts_nothing_is_taken_out_to_settle_it():
    verdict, *_ = judged({"stored": "medium"}, "violation", stored=[finding("unknown", removable=True)])
    assert verdict == "do not release"


# Remedies that were tried, and what a search of merges demands


def test_demands_are_the_thresholds_of_a_policy():
    file = {"smallest_group": {"value": 5, "source": "s"}, "most_pinned": 3, "class_disclosure": "forbidden"}
    expected = Demands(smallest_group=5, most_pinned=3, class_disclosure=0)
    assert demands_of(file) == expected
    assert demands_of(policy_of(smallest_group=5, most_pinned=3, class_disclosure="forbidden")) == expected
    assert demands_of(policy_of(class_disclosure="allowed")) == demands_of({"class_disclosure": "allowed"}) == Demands()
    assert demands_of({"class_disclosure": {"value": 7}}) == Demands(class_disclosure=7)


CLASSES = {"class_disclosure": "forbidden"}
NO_LABEL = {"not_applicable": {"class_disclosure": "no label"}}


@pytest.mark.parametrize(
    ("remedy", "facts", "policy", "expected"),
    [
        ({"kind": "as published", "smallest_group": [30, 30]}, SMALL, {"smallest_group": 10}, "violated"),
        ({"kind": "as published", "smallest_group": [3, 3]}, {}, {"smallest_group": 10}, "met"),
        ({"class_disclosed_rows": [0, 0]}, {}, CLASSES, "met"),
        ({"class_disclosed_rows": [3, 3]}, {}, CLASSES, "violated"),
        ({"class_disclosed_rows": [0, 3]}, NO_LABEL, CLASSES, "inconclusive"),
        ({"class_disclosed_rows": None}, {}, CLASSES, "inconclusive"),
        ({"class_disclosed_rows": None}, NO_LABEL, CLASSES, "met"),
        ({"class_disclosed_rows": None}, {"not_applicable": None}, CLASSES, "inconclusive"),
        ({"status": "unsat", "smallest_group": [30, 30]}, {}, {"smallest_group": 10}, "inconclusive"),
        ({"smallest_group": [30, 30]}, {}, {"smallest_group": 10}, "met"),
        ({"smallest_group": None}, {"rows": [0, 0]}, {"smallest_group": 10}, "met"),
        ({"smallest_group": [30, 30]}, {}, {"stored": "medium"}, "inconclusive"),
    ],
)  # fmt: skip
def test_what_a_policy_says_of_a_remedy(remedy, facts, policy, expected):
    assert _outcome_of({"kind": "merge"} | remedy, facts_of(**facts), policy_of(**policy)) == expected
