"""Policies: files read and refused, what they extend, presets, and what facts say against them."""

from __future__ import annotations

import hashlib
import itertools
import json
import pickle
import tomllib
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_cases import HOSTILE, facts_of, group, policy_of, ran

from recon.io.console.output import USAGE, of_error
from recon.release.policies.assessing import assess, least_loss
from recon.release.policies.checks import PLACES, _none_small, all_of, at_least, at_most, interval_text
from recon.release.policies.facts import FactTable
from recon.release.policies.magnitudes import TotalCell, TotalCells
from recon.release.policies.policy import MOST_FILES, _preset, init_text, policy_lines, presets, read_policy
from recon.release.policies.rules import RULES, WORDS, PolicyPart, json_schema, parse_policy, preset_names
from solvers.foundation.errors import PolicyError
from solvers.suppression.dominance import Contributions

TOP = 12  # values of the intervals that brute force walks
PAST = 40  # stands for no upper bound: beyond every threshold tried
RIGHT = {
    "name": ['"x"'],
    "note": ['""'],
    "extends": ['"a.toml"', '["preset:cms-cell-size", "b.toml"]', "[]"],
    "smallest_group": ["1", "1_000", '{value = 3, source = "s"}'],
    "smallest_cell": ["11"],
    "most_pinned": ["0", '{value = 7, source = "s"}'],
    "least_bits_left": ["0", "3.5", '{value = 1e3, source = "s"}'],
    "mean_bits_left": ["12"],
    "class_disclosure": ['"allowed"', '"forbidden"', "0", '{value = 12, source = "s"}'],
    "target_disclosure": ['"forbidden"'],
    "most_labels_by_position": ["0"],
    "most_values_by_position": ["12", '{value = 7, source = "s"}'],
    "least_hidden_width": ["1", '{value = 4, source = "s"}'],
    "least_rounded_width": ["4"],
    "least_freedom": ["10", '{value = 10, source = "s"}'],
    "least_survival_step": ["10"],
    "kinds_of_counts": ["[]", '["exact", "noisy"]', '{value = ["size"], source = "s"}'],
    "stored": ['"none"', '"low"', '"critical"', '{value = "high", source = "s"}'],
    "versions.removed_pinned": ["0", '{value = 7, source = "s"}'],
    "versions.least_candidates": ["1", '{value = 10, source = "s"}'],
    "magnitudes.p_percent": ["10", '{value = 12.5, source = "s"}'],
    "magnitudes.prior_posterior": ["[10, 50]"],
    "magnitudes.dominance": ["[1, 75]", '{value = [2, 85.5], source = "s"}'],
    "magnitudes.contributors": ["3", "[3, 30]"],
    "magnitudes.request": ["70", "[70, 50, 10]", '{value = 85.5, source = "s"}'],
    "magnitudes.zero": ["1", "0.5"],
    "magnitudes.from_inside": ["0"],
    "profiles": ["[]", '["certain", "unknown"]'],
    "inconclusive": ['"inconclusive"', '"violation"', '{value = "violation", source = "s"}'],
}
WRONG = {
    "name": ['""', "1"],
    "note": ["1", "{}"],
    "extends": ["1", "[1]", "{}", '{value = "a", source = "s"}'],
    "smallest_group": ["0", "-1", "1.0", "true", '"10"', "[1]", "{value = 0, source = 's'}", "{}", "{value = 3}"],
    "smallest_cell": [
        "2024-01-01",
        "{source = 's'}",
        "{value = 3, source = ''}",
        "{value = 3, source = 's', page = 4}",
    ],
    "most_pinned": ["-1", "0.5", "{value = 1, source = 3}"],
    "least_bits_left": ["-0.5", "true", '"5"'],
    "mean_bits_left": ["[]", "-1"],
    "class_disclosure": ['"maybe"', "-1", "1.5", "true"],
    "target_disclosure": ['"no"'],
    "most_labels_by_position": ["-1", "0.5"],
    "most_values_by_position": ['"none"', "true"],
    "least_hidden_width": ["0", "1.5"],
    "least_rounded_width": ["0", "1.5"],
    "least_freedom": ["0", '"10"'],
    "least_survival_step": ["0", "-1"],
    "kinds_of_counts": ['"exact"', '["exactly"]', "[1]"],
    "stored": ['"info"', "1", '{value = "unknown", source = "s"}'],
    "versions.removed_pinned": ["-1", '"none"', "{value = 1}"],
    "versions.least_candidates": ["0", "1.5", "{value = 0, source = 's'}"],
    "magnitudes.p_percent": ["0", "-1", '"10"'],
    "magnitudes.prior_posterior": ["[50, 10]", "[10]", "10"],
    "magnitudes.dominance": ["[1.5, 75]", "[1, 101]", "[1, 2, 3]", "[13, 80]"],
    "magnitudes.contributors": ["0", "[2.5, 30]", "[3, 0]"],
    "magnitudes.request": ["0", "101", "[70, 50]"],
    "magnitudes.zero": ["0", "-1", '"1"'],
    "magnitudes.from_inside": ["-1"],
    "profiles": ['"certain"', '["probable"]'],
    "inconclusive": ['"met"', "false"],
}


def refused(text, file="p.toml"):
    with pytest.raises(PolicyError) as error:
        parse_policy(text if isinstance(text, bytes) else text.encode(), file)
    return str(error.value)


def held(facts, key, threshold):
    """Return what a check says of facts as a report has them."""
    return RULES[key].check(FactTable.of_json(facts), RULES[key], threshold)


def written(tmp_path, **texts):
    for name, text in texts.items():
        path = tmp_path / f"{name.replace('__', '/')}.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return lambda name: read_policy(str(tmp_path / f"{name}.toml"))


# Files


def test_every_key_is_described_everywhere():
    fields = {key.partition(".")[0] for key in WORDS}
    assert set(PolicyPart.__struct_fields__) == fields
    assert set(WORDS) == set(RIGHT) == set(WRONG)
    assert set(RULES) == set(BAD) == set(OPEN)
    page = (Path(__file__).parents[1] / "docs" / "policy.md").read_text(encoding="utf-8")
    for one in RULES.values():
        assert f"\n| `{one.key}` | " in page
        assert all((one.title, one.subject, one.help, one.remedy)), one.key
        assert "{found}" in one.subject


@pytest.mark.parametrize(("key", "text"), [(key, text) for key, texts in RIGHT.items() for text in texts])
def test_right_values_are_taken_and_fit_the_schema(key, text):
    line = f"{key} = {text}"
    assert parse_policy(line.encode(), "p.toml") is not None
    jsonschema.Draft202012Validator(json_schema()).validate(tomllib.loads(line))


@pytest.mark.parametrize(("key", "text"), [(key, text) for key, texts in WRONG.items() for text in texts])
def test_wrong_values_are_refused_in_one_sentence(key, text):
    line = f"{key} = {text}"
    said = refused(line)
    assert said.startswith(f"p.toml: {key}")
    assert "\n" not in said
    assert "msgspec" not in said
    assert "allowed is" in said or "write" in said or "nothing else" in said
    as_json = json.loads(json.dumps(tomllib.loads(line), default=str))
    schema = jsonschema.Draft202012Validator(json_schema())
    assert schema.is_valid(as_json) == (text in BEYOND_SCHEMA)


@pytest.mark.parametrize("number", ["inf", "nan", "-inf", "{value = inf, source = 's'}", "{value = nan, source = 's'}"])
def test_numbers_are_finite(number):
    assert "a number of bits" in refused(f"least_bits_left = {number}")


def test_unknown_keys_are_refused_with_the_near_one():
    assert "did you mean smallest_group?" in refused("smalest_group = 1")
    assert "the keys are name, note, extends" in refused("xyz = 1")
    assert "has the key sorce" in refused("stored = {value = 'low', sorce = 's'}")
    assert "there is no key" in refused("[rules]\nsmallest_group = 1")


def test_what_is_no_toml_is_refused():
    assert "is not TOML" in refused("smallest_group = ")
    assert "is not TOML" in refused("smallest_group = 1\nsmallest_group = 2")
    assert "is not UTF-8 text (byte 7)" in refused(b"name = \xff")
    assert "nested too deeply" in refused("x = " + "[" * 5000)
    assert "number that cannot be read" in refused("smallest_group = " + "9" * 5000)
    assert "no policy is longer" in refused("#" * (1 << 21))
    assert parse_policy(b"\xef\xbb\xbfsmallest_group = 3", "p.toml").smallest_group == 3


@pytest.mark.parametrize("name", HOSTILE[:5])
def test_hostile_keys_values_and_files_stay_inert(name):
    for said in (
        refused(f"{json.dumps(name)} = 1"),
        refused(f"stored = {json.dumps(name)}"),
        refused("stored = 1", file=name),
        refused(f"stored = {{value = 'low', source = 's', {json.dumps(name)} = 1}}"),
    ):
        assert len(said) < 1000
        assert said.isprintable()


@given(st.binary(max_size=60) | st.text("=[]{}\"'\n#.1a_:,", max_size=40).map(str.encode))
def test_any_bytes_are_a_policy_or_refused(data):
    said = "p.toml: "
    try:
        parse_policy(data, "p.toml")
    except PolicyError as error:
        said = str(error)
    assert said.startswith("p.toml: ")
    assert said.isprintable()


def test_a_wrong_policy_is_wrong_usage():
    error = PolicyError("p.toml: ...")
    assert of_error(error) == USAGE
    assert of_error(pickle.loads(pickle.dumps(error))) == USAGE


# What they extend


def test_later_overrides_earlier_and_the_file_all(tmp_path):
    read = written(
        tmp_path,
        a="smallest_group = {value = 3, source = 'A'}\nmost_pinned = 1\nstored = 'low'\ninconclusive = 'violation'",
        b="smallest_group = {value = 4, source = 'B'}\nmost_pinned = 2",
        own="extends = ['a.toml', 'b.toml']\nmost_pinned = 5",
        other="extends = ['b.toml', 'a.toml']\ninconclusive = 'inconclusive'",
    )
    own, other = read("own"), read("other")
    assert (own.smallest_group, own.most_pinned, own.stored, own.inconclusive) == (4, 5, "low", "violation")
    assert (other.smallest_group, other.most_pinned, other.inconclusive) == (3, 1, "inconclusive")
    assert own.threshold("smallest_group").source == "B"
    assert own.threshold("smallest_group").set_in == str(tmp_path / "b.toml")
    assert own.threshold("most_pinned").set_in == str(tmp_path / "own.toml")
    assert own.mean_bits_left is None
    assert own.name == "own"


def test_a_new_value_does_not_keep_the_old_source(tmp_path):
    read = written(tmp_path, own="extends = 'preset:minimum-cell-10'\nsmallest_group = 5")
    own = read("own")
    assert own.threshold("smallest_group").source == ""
    assert own.threshold("smallest_cell").source == _preset("minimum-cell-10").threshold("smallest_cell").source
    assert own.extends == ("preset:minimum-cell-10",)


def test_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    written(
        tmp_path, sub__own="extends = '../base.toml'", base="extends = 'sub/deep.toml'", sub__deep="most_pinned = 2"
    )
    monkeypatch.chdir(tmp_path.parent)
    assert read_policy(f"{tmp_path.name}/sub/own.toml").most_pinned == 2
    assert read_policy(f"{tmp_path.name}/sub/own.toml").extends[-1].endswith("base.toml")


def test_circles_are_refused_by_name(tmp_path):
    read = written(
        tmp_path,
        a="extends = 'b.toml'",
        b="extends = ['ok.toml', 'c.toml']",
        c="extends = 'a.toml'",
        ok="most_pinned = 1",
        self="extends = './self.toml'",
    )
    with pytest.raises(PolicyError, match=r"extends itself: .*a\.toml -> .*b\.toml -> .*c\.toml -> .*a\.toml"):
        read("a")
    with pytest.raises(PolicyError, match="extends itself"):
        read("self")


def test_a_circle_by_a_link_is_one(tmp_path):
    written(tmp_path, a="extends = 'link.toml'")
    (tmp_path / "link.toml").symlink_to(tmp_path / "a.toml")
    with pytest.raises(PolicyError, match="extends itself"):
        read_policy(str(tmp_path / "a.toml"))


def test_the_same_base_twice_is_no_circle_and_read_once(tmp_path):
    layers = {f"l{i}": f"extends = ['l{i + 1}.toml', 'l{i + 1}.toml']\nmost_pinned = {i}" for i in range(60)}
    read = written(tmp_path, **layers, l60="smallest_group = 9")  # 2^60 reads, were each file read every time
    assert (read("l0").smallest_group, read("l0").most_pinned) == (9, 0)
    assert len(read("l0").extends) == 60


def test_too_many_files_are_refused(tmp_path):
    layers = {f"l{i}": f"extends = 'l{i + 1}.toml'" for i in range(MOST_FILES + 1)}
    read = written(tmp_path, **layers, **{f"l{MOST_FILES + 1}": "smallest_group = 9"})
    assert read("l1").smallest_group == 9
    with pytest.raises(PolicyError, match=r"l0\.toml: extends more than 100 files"):
        read("l0")


@pytest.mark.parametrize("extended", ["missing.toml", "folder", "preset:nothing", "", "-"])
def test_what_cannot_be_extended_is_named(tmp_path, extended):
    (tmp_path / "folder").mkdir()
    read = written(tmp_path, a=f"extends = '{extended}'\nmost_pinned = 1")
    with pytest.raises(PolicyError) as error:
        read("a")
    assert "\n" not in str(error.value)


def test_a_policy_that_checks_nothing_is_refused(tmp_path):
    read = written(tmp_path, a="name = 'empty'\ninconclusive = 'violation'")
    with pytest.raises(PolicyError, match="sets no threshold"):
        read("a")


def test_the_hash_is_of_what_is_said_not_of_where(tmp_path):
    read = written(
        tmp_path,
        a="name = 'n'\nsmallest_group = {value = 3, source = 'A'}\nmost_pinned = 1",
        b="extends = 'c.toml'\nname = 'n'\nmost_pinned = 1",
        c="smallest_group = {source = 'A', value = 3}\nmost_pinned = 7",
        d="name = 'n'\nsmallest_group = {value = 3, source = 'B'}\nmost_pinned = 1",
        e="name = 'n'\nsmallest_group = {value = 4, source = 'A'}\nmost_pinned = 1",
        f="name = 'n'\ninconclusive = 'violation'\nsmallest_group = {value = 3, source = 'A'}\nmost_pinned = 1",
    )
    assert read("a").sha256 == read("b").sha256
    assert len({read(name).sha256 for name in "adef"}) == 4
    said = {
        "inconclusive": "inconclusive", "name": "n", "note": "",
        "thresholds": {"most_pinned": {"source": "", "value": 1}, "smallest_group": {"source": "A", "value": 3}},
    }  # fmt: skip
    text = json.dumps(said, separators=(",", ":"), sort_keys=True)
    assert read("a").sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_a_policy_travels_and_answers_to_its_keys():
    policy = _preset("ema-0070")
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert {key: getattr(policy, key) for key in RULES if getattr(policy, key) is not None} == {
        "smallest_group": 12,
        "most_pinned": 0,
        "stored": "medium",
    }
    with pytest.raises(AttributeError, match="no smallest"):
        policy.smallest  # noqa: B018


# Presets


def test_presets_cite_a_source_for_every_threshold():
    assert preset_names() == ("cms-cell-size", "ema-0070", "minimum-cell-10")
    for one in presets():
        assert one.note
        for threshold in one.thresholds:
            assert len(threshold.source) > 40
            assert "\n" not in threshold.source
        assert one.name in preset_names()
    with pytest.raises(PolicyError, match="choose cms-cell-size or ema-0070 or minimum-cell-10"):
        _preset("hipaa")


def test_what_presets_say_in_numbers():
    """A risk of at most 0.09 in groups of k needs k >= 12; "no cell of 1 to 10" is 11; ACRO's safe_threshold is 10."""
    assert _preset("ema-0070").smallest_group == next(k for k in itertools.count(1) if 1 / k <= 0.09) == 12
    assert _preset("cms-cell-size").smallest_cell == next(k for k in itertools.count(1) if k not in range(1, 11)) == 11
    assert _preset("minimum-cell-10").smallest_group == 10
    for rows, outcome in ((0, "met"), (1, "violated"), (10, "violated"), (11, "met")):
        facts = facts_of(smallest_cell=None, cells=[{"name": "c", "class": "1", "rows": [rows, rows]}], cells_in_all=1)
        checks = {one.rule: one for one in assess(facts, _preset("cms-cell-size")).checks}
        assert checks["smallest_cell"].outcome == outcome


# Three-valued logic against its meaning


def values(interval):
    low, high = interval
    return range(low or 0, (PAST if high is None else high) + 1)


def meaning(holds):
    return "met" if all(holds) else "inconclusive" if any(holds) else "violated"


intervals = st.tuples(st.integers(0, TOP), st.none() | st.integers(0, TOP)).filter(
    lambda i: i[1] is None or i[0] <= i[1]
)


@given(intervals, st.integers(0, TOP + 2))
def test_intervals_mean_every_value_in_them(interval, threshold):
    assert at_least(interval, threshold) == meaning([v >= threshold for v in values(interval)])
    assert at_most(interval, threshold) == meaning([v <= threshold for v in values(interval)])
    if threshold:
        assert _none_small(interval, threshold) == meaning([v == 0 or v >= threshold for v in values(interval)])


@given(st.lists(intervals, min_size=1, max_size=3), st.integers(1, TOP))
def test_groups_are_too_small_only_where_every_world_has_a_small_one(sizes, threshold):
    groups = [{"name": f"leaf {i}", "where": "", "rows": list(one)} for i, one in enumerate(sizes)]
    shrunk = [[*{v for v in values(one) if v <= TOP + 1}] for one in sizes]  # all beyond the threshold are alike
    worlds = list(itertools.product(*shrunk))
    expected = meaning([all(v == 0 or v >= threshold for v in world) for world in worlds])
    facts = {"smallest_group": None, "groups": groups, "groups_in_all": len(groups)}
    said = held(facts, "smallest_group", threshold)
    assert said.outcome == expected
    least = [min(filter(None, world), default=None) for world in worlds]
    if None not in least:  # some group has a row in every world: the smallest has so many
        known = held(facts | {"smallest_group": [min(least), max(least)]}, "smallest_group", threshold)
        assert known.outcome == expected
    if said.outcome != "met":
        assert said.places_in_all == len(said.places) > 0
        assert all(p["rows"][0] < threshold for p in said.places)


@given(st.lists(st.sampled_from(["certain", "possible", "impossible", "outside", "unknown"]), max_size=3),
       st.sets(st.sampled_from(["certain", "possible", "impossible", "outside"])))  # fmt: skip
def test_an_unknown_verdict_may_be_any_of_three(verdicts, forbidden):
    options = [("certain", "possible", "impossible") if v == "unknown" else (v,) for v in verdicts]
    expected = meaning([not forbidden & set(world) for world in itertools.product(*options)])
    if not verdicts and forbidden:
        expected = "inconclusive"  # nobody was asked about
    given_ = [{"position": i, "verdict": v} for i, v in enumerate(verdicts)]
    assert held(facts_of(profiles=given_), "profiles", sorted(forbidden)).outcome == expected


@given(st.lists(st.sampled_from(["info", "medium", "high", "critical", "unknown"]), max_size=3),
       st.sampled_from(["none", "low", "medium", "high", "critical"]))  # fmt: skip
def test_what_nobody_understood_may_be_of_any_level(levels, allowed):
    ranks = {"none": 0, "low": 1, "medium": 2, "high": 3, "critical": 4}
    options = [(1, 2, 3, 4) if one == "unknown" else (ranks.get(one, 1),) for one in levels]
    expected = meaning([max(world, default=0) <= ranks[allowed] for world in itertools.product(*options)])
    found = [stored_finding(one) for one in levels]
    assert held(facts_of(stored=found), "stored", allowed).outcome == expected


def test_files_that_were_not_inspected_are_open():
    said = held(
        facts_of(stored_inspected=False, not_known={"stored": "standard input was used up."}), "stored", "medium"
    )
    assert (said.outcome, said.why) == ("inconclusive", "standard input was used up")
    assert held(facts_of(stored_inspected=False), "stored", "critical").outcome == "met"
    found = [stored_finding("critical")]
    assert held(facts_of(stored_inspected=False, stored=found), "stored", "low").outcome == "violated"


outcomes = st.lists(st.sampled_from(["met", "violated", "inconclusive", "not applicable"]), max_size=4)


@given(outcomes)
def test_outcomes_together(found):
    expected = "violated" if "violated" in found else "inconclusive" if "inconclusive" in found else "met"
    assert all_of(found) == expected


ORDER = {"met": 0, "inconclusive": 1, "violated": 2}


FIGURES = ("smallest_group", "smallest_cell", "pinned", "least_bits_left")


@given(st.fixed_dictionaries(dict.fromkeys(FIGURES, intervals.map(list))), st.integers(1, TOP), st.integers(1, TOP))
def test_a_stricter_threshold_never_helps(figures, one, other):
    loose, strict = sorted((one, other))
    facts = facts_of(**figures, groups=[], cells=[])
    for key in ("smallest_group", "smallest_cell", "least_bits_left"):
        assert ORDER[held(facts, key, loose).outcome] <= ORDER[held(facts, key, strict).outcome]
    assert ORDER[held(facts, "most_pinned", strict).outcome] <= ORDER[held(facts, "most_pinned", loose).outcome]


# Checks and verdicts


def stored_finding(level, removable=True):
    said = {"file": "m.pkl", "rule": "arrays", "what": "an array", "path": "a._fit_X", "remedy": "take it out"}
    return said | {"level": level, "removable": removable}


def verdict(facts, *args, remedies=None, **thresholds):
    return assess(facts, policy_of(*args, **thresholds), remedies)


def test_a_harmless_release_meets_all():
    found = verdict(
        facts_of(profiles=[{"position": 0, "verdict": "possible"}]), smallest_group=10, smallest_cell=10, most_pinned=0,
        least_bits_left=5, mean_bits_left=10.5, class_disclosure="forbidden", target_disclosure="forbidden",
        kinds_of_counts=("exact",), stored="none", profiles=("certain",),
    )  # fmt: skip
    assert (found.outcome, found.verdict) == ("met", "release")
    assert [one.outcome for one in found.checks if one.outcome != "met"] == ["not applicable"]
    assert found.sentence == "All 10 thresholds of the policy ours are met."
    assert not any(one.remedy for one in found.checks)


# A cell of 100 of two respondents (95 and 5) that is shown, one of one respondent that is hidden and open by 1.
TOTALS = TotalCells(
    (TotalCell("a = x", 100, False, (100, 100), (100, 100)), TotalCell("a = y", 50, True, (49, 51), (49, 51)),
     TotalCell("a = z", 0, False, (0, 0), (0, 0))),
    Contributions(np.array([100, 50, 0]), np.array([2, 1, 1]), np.array([[95, 5], [50, 0], [0, 0]]),
                  np.array([1, 2, 0])),
    0, (("a = y", "a = z"),),
)  # fmt: skip
HALF_OPEN = TotalCells(
    (TotalCell("a = y", 50, True, (49, 51), (0, 900)),),
    Contributions(np.array([50]), np.array([1]), np.array([[50, 0]]), np.array([1])), 0, (),
)  # fmt: skip
# JSON has one kind of number, TOML two; no schema compares the numbers of a pair.
BEYOND_SCHEMA = {"101", "1.0", "[50, 10]", "[1.5, 75]", "[1, 101]", "[13, 80]", "[2.5, 30]"}
BAD = {
    "smallest_group": (
        {"smallest_group": [1, 1], "groups": [{"name": "leaf 5", "where": "age = 90", "rows": [1, 1]}]},
        10,
    ),
    "smallest_cell": ({"smallest_cell": [2, 2]}, 10),
    "most_pinned": ({"pinned": [3, 100]}, 2),
    "least_bits_left": ({"least_bits_left": [0, 0]}, 1),
    "mean_bits_left": ({"bits_left_per_person": [1.5, 2.5]}, 2.75),
    "class_disclosure": ({"class_disclosure": {"rows": [4, 4], "groups": [], "groups_in_all": 0}}, 3),
    "target_disclosure": ({"target_disclosure": {"rows": [1, None]}}, "forbidden"),
    "most_labels_by_position": ({"labels_by_position": [3, 100]}, 2),
    "most_values_by_position": ({"values_by_position": [1, 1]}, 0),
    "least_hidden_width": ({"hidden_width": [0, 3]}, 4),
    "least_rounded_width": ({"rounded_width": [0, 3]}, 4),
    "least_freedom": ({"freedom": [9, 9]}, 10),
    "least_survival_step": ({"survival_step": [1, 2]}, 10),
    "kinds_of_counts": ({"kinds_of_counts": ["exact", "noisy"]}, ("noisy",)),
    "stored": ({"stored": [stored_finding("critical", removable=False)]}, "medium"),
    "versions.removed_pinned": ({"removed_pinned": [1, 1]}, 0),
    "versions.least_candidates": ({"removed_candidates": [2, 2]}, 3),
    "magnitudes.p_percent": ({"magnitudes": TOTALS}, 10),
    "magnitudes.prior_posterior": ({"magnitudes": TOTALS}, (10, 90)),
    "magnitudes.dominance": ({"magnitudes": TOTALS}, (1, 75)),
    "magnitudes.contributors": ({"magnitudes": TOTALS}, (3, 30)),
    "magnitudes.request": ({"magnitudes": TOTALS}, 70),
    "magnitudes.zero": ({"magnitudes": TOTALS}, 5),
    "magnitudes.from_inside": ({"magnitudes": TOTALS}, 0),
    "profiles": ({"profiles": [{"position": 4, "verdict": "certain"}]}, ("certain",)),
}
OPEN = {
    "smallest_group": ({"smallest_group": [1, 40], "groups": []}, 10),
    "smallest_cell": ({"smallest_cell": None, "cells": [], "not_known": {"smallest_cell": "Too large."}}, 10),
    "most_pinned": ({"pinned": [0, 5]}, 2),
    "least_bits_left": ({"least_bits_left": None, "not_known": {"least_bits_left": "declare a domain"}}, 1),
    "mean_bits_left": ({"bits_left_per_person": [1, None]}, 2),
    "class_disclosure": ({"class_disclosure": {"rows": [0, 4], "groups": [], "groups_in_all": 0}}, 3),
    "target_disclosure": ({"target_disclosure": None, "not_applicable": {}}, 0),
    "most_labels_by_position": ({"labels_by_position": [0, 100]}, 2),
    "most_values_by_position": ({"values_by_position": None}, 0),
    "least_hidden_width": ({"hidden_width": [0, 7]}, 4),
    "least_rounded_width": ({}, 4),
    "least_freedom": ({"freedom": [0, 50]}, 10),
    "least_survival_step": ({"survival_step": [5, None]}, 10),
    "kinds_of_counts": ({"kinds_of_counts": None}, ("noisy",)),
    "stored": ({"stored": [stored_finding("unknown")]}, "medium"),
    "versions.removed_pinned": ({}, 0),
    "versions.least_candidates": ({"removed_candidates": [2, None], "why_open": {"removed_candidates": "x"}}, 3),
    "magnitudes.p_percent": ({}, 10),
    "magnitudes.prior_posterior": ({"magnitudes": HALF_OPEN}, (10, 90)),
    "magnitudes.dominance": ({"magnitudes": HALF_OPEN}, (1, 75)),
    "magnitudes.contributors": ({}, 3),
    "magnitudes.request": ({"magnitudes": HALF_OPEN}, (70, 50, 30)),
    "magnitudes.zero": ({}, 1),
    "magnitudes.from_inside": ({}, 0),
    "profiles": ({"profiles": [{"position": 4, "verdict": "unknown"}]}, ("certain",)),
}


def figures_of(**more):
    """Return the same as `facts_of`, with cells of totals, which stand in no report."""
    found = FactTable.of_json(facts_of(**more))
    return replace(found, others={**found.others, "magnitudes": more.get("magnitudes")})


@pytest.mark.parametrize("key", RULES)
def test_each_rule_is_violated_and_says_what_where_and_what_to_do(key):
    more, threshold = BAD[key]
    found = assess(figures_of(**more), policy_of(source="Handbook, section 4, page 9", **{key: threshold}))
    (check,) = found.checks
    assert (found.outcome, found.verdict) == ("violated", "do not release")
    assert check.said.found.lower() in check.sentence.lower()
    assert "(source: Handbook, section 4, page 9)" in check.sentence
    assert check.remedy == RULES[key].remedy
    assert check.sentence.endswith(".")
    assert check.to_json()["title"] == RULES[key].title
    assert json.loads(json.dumps(found.to_json())) == found.to_json()


@pytest.mark.parametrize("key", RULES)
def test_each_rule_is_open_and_says_why(key):
    more, threshold = OPEN[key]
    found = verdict(facts_of(**more), **{key: threshold})
    (check,) = found.checks
    assert (found.outcome, found.verdict) == ("inconclusive", "not assessed")
    assert "this is open" in check.sentence
    assert all(reason.rstrip(".") in check.sentence for reason in (more.get("not_known") or {}).values())
    counted = verdict(facts_of(**more), "violation", **{key: threshold})
    assert (counted.outcome, counted.verdict) == ("violated", "do not release")
    assert "counts what is open as a violation" in counted.checks[0].sentence


def test_sentences_name_the_worst_place_and_singulars():
    facts = facts_of(
        smallest_group=[1, 1],
        groups=[group("leaf 7", 2, 3, "b = 1"), group("leaf 5", 1, 1, "age = 90"), group("leaf 9", 50, 50)],
    )
    (check,) = verdict(facts, smallest_group=10).checks
    expected = "The smallest group has 1 row (leaf 5: age = 90, 1 row; 1 more), the policy asks for at least 10 rows"
    assert check.sentence == f"{expected} (set in p.toml)."
    assert [p["name"] for p in check.said.places] == ["leaf 5", "leaf 7"]
    (check,) = verdict(facts_of(pinned=[1, 1]), most_pinned=0).checks
    assert check.sentence.startswith("1 person is fully known, the policy asks for at most 0 people")
    (check,) = verdict(facts_of(pinned=[2, 9]), most_pinned=1).checks
    assert check.sentence.startswith("Between 2 and 9 people are fully known")


def test_places_are_capped_and_counted():
    groups = [{"name": f"leaf {i}", "where": "", "rows": [i % 9 + 1, i % 9 + 1]} for i in range(100)]
    (check,) = verdict(facts_of(smallest_group=[1, 1], groups=groups, groups_in_all=100), smallest_group=10).checks
    assert (len(check.said.places), check.said.places_in_all) == (PLACES, 100)
    assert check.said.places[0]["rows"] == [1, 1]


def test_rounding_hides_no_violation():
    (check,) = verdict(facts_of(least_bits_left=[9.999996, 9.999996]), least_bits_left=10).checks
    assert "9.999996 bits" in check.sentence
    assert check.outcome == "violated"


def test_sentences_name_a_confidence_below_one():
    found = verdict(facts_of(confidence=0.95, smallest_group=[1, 1]), smallest_group=10, kinds_of_counts=())
    assert found.checks[0].sentence.startswith("At confidence 0.95: the smallest group has 1 row")
    assert "onfidence" not in found.checks[1].sentence


@pytest.mark.parametrize("status", ["unsat", "empty"])
def test_without_a_world_nothing_is_met(status):
    found = verdict(facts_of(status=status), smallest_group=1, most_pinned=100, profiles=("certain",), stored="none")
    assert [one.outcome for one in found.checks] == ["inconclusive"] * 3 + ["met"]
    assert found.verdict == "not assessed"
    assert "no figure means anything" in found.sentence


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_in_facts_stay_inert(name):
    facts = facts_of(
        smallest_group=[1, 1],
        groups=[{"name": name, "where": name, "rows": [1, 1]}],
        stored=[stored_finding("critical", removable=False) | {"what": name, "path": name}],
        least_bits_left=None,
        not_known={"least_bits_left": name},
    )
    found = verdict(
        facts,
        smallest_group=10,
        stored="low",
        least_bits_left=1,
        remedies=[{"remedy": name, "outcome": "met", "command": name}],
    )
    for text in (found.sentence, *(one.sentence for one in found.checks), *(one.said.found for one in found.checks)):
        assert text.isprintable()
        assert len(text) < 2500


def test_a_remedy_that_meets_the_policy_is_named():
    remedies = [
        {"remedy": "as published", "kind": "as published", "outcome": "violated"},
        {"remedy": "leaves below 10 rows merged", "kind": "merge", "outcome": "met", "command": "recon remedy m.json"},
        {"remedy": "depth 2", "kind": "depth", "outcome": "inconclusive"},
    ]
    found = verdict(facts_of(pinned=[5, 5]), most_pinned=0, remedies=remedies)
    assert found.verdict == "release with changes"
    assert "this change meets the policy: leaves below 10 rows merged (recon remedy m.json)" in found.sentence
    assert verdict(facts_of(pinned=[5, 5]), most_pinned=0, remedies=remedies[::2]).verdict == "do not release"
    assert verdict(facts_of(), most_pinned=0, remedies=remedies).verdict == "release"
    assert verdict(facts_of(pinned=[0, 5]), most_pinned=0, remedies=remedies).verdict == "not assessed"


def test_the_least_loss_is_chosen():
    def of(kind, **more):
        return {"remedy": kind, "kind": kind, "outcome": "met"} | more

    merge, depth = of("merge", accuracy=0.8, bits_left_per_person=[9, 9]), of("depth", accuracy=0.9)
    assert least_loss([merge, depth]) is depth
    assert (
        least_loss([of("merge", bits_left_per_person=[9, 9]), of("depth", bits_left_per_person=[7, 8])])["kind"]
        == "depth"
    )
    assert least_loss([merge, of("counts"), of("strip")])["kind"] == "strip"
    assert (
        least_loss([of("counts"), of("rounded counts"), depth, merge | {"command": "recon remedy"}])["kind"] == "merge"
    )
    assert least_loss([of("counts"), of("rounded counts"), depth])["kind"] == "rounded counts"
    assert least_loss([of("counts"), of("noise")])["kind"] == "noise"
    assert least_loss([of("as published"), of("noise", outcome="violated"), of("depth", outcome=None)]) is None
    first = of("merge")
    assert least_loss([first, of("merge")]) is first


@pytest.mark.parametrize(
    ("levels", "more", "expected"),
    [
        (["high", "critical"], {}, "release with changes"),
        (["high", "unknown"], {}, "release with changes"),
        (["high"], {"removable": False}, "do not release"),
        (["high"], {"pinned": [5, 5]}, "do not release"),
        (["high"], {"pinned": [0, 5]}, "do not release"),
    ],
)
def test_what_can_be_stripped_is_a_change(levels, more, expected):
    removable = more.pop("removable", True)
    facts = facts_of(stored=[stored_finding(one, removable) for one in levels], **more)
    found = verdict(facts, stored="medium", most_pinned=0)
    assert found.verdict == expected
    assert ("--strip OUT" in found.sentence) == (expected == "release with changes")


# The command


def test_init_writes_a_policy_that_is_read_again(tmp_path, capsys):
    for name in (None, *preset_names()):
        out = tmp_path / f"{name}.toml"
        assert ran("policy", "--init", *(["--preset", name] if name else []), "--out", out) == 0
        chosen = _preset(name or "minimum-cell-10")
        assert read_policy(str(out)).thresholds == chosen.thresholds
    assert ran("policy", "--init") == 0
    assert capsys.readouterr().out == init_text()
    assert ran("policy", "--init", "--out", out) == 2
    assert "is there already" in "".join(capsys.readouterr())


def test_every_example_of_the_template_may_be_taken(tmp_path):
    text = init_text()
    for key in RULES:
        text = text.replace(f"# {key} = ", f"{key} = ")
    (tmp_path / "p.toml").write_text(text.replace('# inconclusive = "', 'inconclusive = "'), encoding="utf-8")
    policy = read_policy(str(tmp_path / "p.toml"))
    assert {one.key for one in policy.thresholds} == set(RULES)
    assert policy.inconclusive == "violation"


def test_a_policy_is_printed_with_every_source(tmp_path, capsys):
    written(tmp_path, p="extends = 'preset:ema-0070'\nstored = 'low'")
    assert ran("policy", tmp_path / "p.toml") == 0
    out = capsys.readouterr().out
    policy = read_policy(str(tmp_path / "p.toml"))
    assert out.splitlines() == list(policy_lines(policy))
    assert policy.sha256 in out
    assert "set in preset:ema-0070" in out
    assert "source: none given" in out
    assert "smallest_cell" in next(line for line in out.splitlines() if line.startswith("Not checked"))
    assert ran("policy", tmp_path / "p.toml", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["key"] for one in said["thresholds"]] == ["smallest_group", "most_pinned", "stored"]


def test_presets_are_listed(capsys):
    assert ran("policy", "--list") == 0
    out = capsys.readouterr().out
    assert all(f"preset:{name}" in out for name in preset_names())
    assert "PhUSE 2016" in out
    assert ran("policy", "preset:cms-cell-size") == 0


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("missing.toml",), ("preset:none",), ("--init", "--list"), ("p.toml", "--list"),
        ("--preset", "ema-0070", "p.toml"), ("--list", "--out", "x.toml"), ("--init", "--preset", "none"),
        ("--init", "--out", "x.json"),
    ],
)  # fmt: skip
def test_wrong_usage_of_policy(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    assert ran("policy", *arguments) == 2


def test_a_policy_file_that_is_wrong_ends_with_2(tmp_path, capsys):
    written(tmp_path, p="smallest_group = 0")
    assert ran("policy", tmp_path / "p.toml") == 2
    assert "smallest_group is 0; allowed is a whole number of rows from 1 up" in capsys.readouterr().out


def test_figures_in_words():
    assert interval_text([1, 1], "row") == "1 row"
    assert interval_text([0, 1234567], "person") == "at most 1,234,567 people"
    assert interval_text([2, None], "bit") == "at least 2 bits"
    assert interval_text([0, None], "row") == "an unknown number of rows"
    assert interval_text([1.23456, 7], "bit") == "between 1.235 and 7 bits"
    assert interval_text([None, 0], "row") == "0 rows"
