"""Guards of audits, policies and registers that no other test reaches: each fails where its guard is left out."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from policy_cases import facts_of, policy_of
from test_policies import TOTALS, Contributions, TotalCell, TotalCells
from test_registers import DAY, DOMAIN, registered, tree, written

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Test
from encoders.encode.encoder import encode
from encoders.encode.known import with_known_rows
from encoders.kinds.known_rows import NOT_PUBLISHED
from encoders.models.models import Tree
from encoders.models.nodes import ModelNode, Support
from recon.queries.measures.figures import uncounted
from recon.readers.loading.known_positions import known_rows
from recon.release.auditing.auditing import noise_effect, stored_outright
from recon.release.auditing.matching import compare
from recon.release.auditing.persons.people import _person_names, certificates, why
from recon.release.policies.assessing import assess
from recon.release.policies.checks import _figure, of_versions
from recon.release.policies.facts import FactTable, KnownFigure
from recon.release.policies.policy import read_policy
from recon.release.policies.rules import LONGEST, RULES, parse_policy
from recon.release.registers import differences as differences_of_releases
from recon.release.registers.adding import _nothing_before, adds, joined_release
from recon.release.registers.decisions import LONGEST as LONGEST_TEXT
from recon.release.registers.decisions import DecidedFile, add_decision
from recon.release.registers.differences import RegisteredGroups
from recon.release.registers.figures import RemainingUncertainty, _log_ends, left_by, smallest_group
from recon.release.registers.index import HEAD, INDEX, parse_index, related_data_sets
from recon.release.registers.register import Register
from recon.release.registers.versions import LEAST, _about_the_others, comparison, identified_words, version_relation
from solvers.engines.figures.system import SystemFigures
from solvers.foundation.errors import PolicyError, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import Partition, RowCount

OLD = {"age": "old"}
NOTHING_SENSITIVE = TotalCells(
    (TotalCell("a = x", 90, False, (90, 90), (90, 90)),),
    Contributions(np.array([90]), np.array([3]), np.array([[30, 30]]), np.array([1])), 0, (),
)  # fmt: skip
MODEL = Path(__file__).parent / "golden" / "models" / "rpart-4.1.19" / "people.txt"


@pytest.fixture
def april(tmp_path):
    """Return a release file of six people, two of them old."""
    return written(tmp_path, "april.json", [tree(OLD, [2, 4])])


# ---------------------------------------------------------------- policies


def test_the_worst_classes_stand_beside_figures_of_positions_alone():
    classes = [{"name": f"class {k}", "where": "y = 1", "rows": [3, 3], "more": 1} for k in range(30)]
    by_position = {"pinned": [2, 2], "classes_by_position": classes}
    (bad,) = assess(facts_of(**by_position), policy_of(most_pinned=1)).checks
    assert bad.outcome == "violated"
    assert [one["name"] for one in bad.said.places] == [f"class {k}" for k in range(len(bad.said.places))]
    assert 0 < len(bad.said.places) < bad.said.places_in_all == 30
    (met,) = assess(facts_of(**by_position), policy_of(most_pinned=2)).checks
    assert (met.outcome, list(met.said.places), met.said.places_in_all) == ("met", [], 0)
    (other,) = assess(facts_of(**by_position, least_bits_left=[1.0, 1.0]), policy_of(least_bits_left=9.0)).checks
    assert (other.outcome, list(other.said.places)) == ("violated", [])


@pytest.mark.parametrize("facts", [{}, {"not_known": {"removed_pinned": "it was not worked out"}}])
def test_versions_that_were_not_compared_say_how_to_compare_them(facts):
    told = {key: value for key, value in facts_of(**facts).items() if key != "removed_pinned"}
    (check,) = assess(told, policy_of(**{"versions.removed_pinned": 9})).checks
    assert (check.outcome, check.said.why) == (
        "inconclusive", "no earlier version was compared (recon audit --register FOLDER --removed K)"
    )  # fmt: skip


def test_versions_that_could_not_be_compared_say_why():
    told = facts_of(removed_pinned=None, not_known={"removed_pinned": "the time was up"})
    (check,) = assess(told, policy_of(**{"versions.removed_pinned": 9})).checks
    assert (check.outcome, check.said.why) == ("inconclusive", "the time was up")


def test_facts_without_a_figure_of_versions_say_how_to_compare_them():
    said = of_versions(FactTable(), RULES["versions.removed_pinned"], 9)
    assert (said.outcome, said.why) == (
        "inconclusive", "no earlier version was compared (recon audit --register FOLDER --removed K)"
    )  # fmt: skip


def test_a_proved_group_is_listed_without_what_its_region_reaches():
    place = {"name": "leaf", "where": "a = 0", "rows": [3, 3], "reached": 2}
    found = FactTable().with_groups("smallest_group", [place])
    assert found["smallest_group"] == KnownFigure(1, 3)
    assert found.listed("smallest_group").each == [{"name": "leaf", "where": "a = 0", "rows": [3, 3]}]
    known = FactTable(figures={"smallest_group": KnownFigure(5, 9)}).with_groups("smallest_group", [place])
    assert known["smallest_group"] == KnownFigure(2, 3)


@pytest.mark.parametrize(
    ("number", "text"), [(12_000.0, "12,000"), (12_000, "12,000"), (0.5, "0.5"), (12_000.25, "12,000.2")]
)
def test_whole_numbers_are_said_whole(number, text):
    assert _figure(number) == text


@pytest.mark.parametrize("path", ["", "-"])
def test_a_policy_is_a_file(path):
    with pytest.raises(PolicyError, match="a policy is a file: give its path, or preset:NAME"):
        read_policy(path)


def test_what_is_there_and_cannot_be_read_is_no_name_of_a_preset(tmp_path):
    for path, listed in ((tmp_path, False), (tmp_path / "gone.toml", True)):
        with pytest.raises(PolicyError) as refusal:
            read_policy(str(path))
        assert ("recon policy --list" in str(refusal.value)) == listed


def test_a_policy_is_short():
    assert parse_policy(b"#" * LONGEST, "p.toml") is not None
    with pytest.raises(PolicyError, match="no policy is longer than"):
        parse_policy(b"#" * (LONGEST + 1), "p.toml")


def test_a_threshold_that_is_a_table_needs_its_source():
    with pytest.raises(PolicyError, match=re.escape("smallest_group has no source; write smallest_group = 10 where")):
        parse_policy(b"smallest_group = {value = 10}", "p.toml")


@pytest.mark.parametrize(
    ("cells", "threshold", "outcome", "found", "asked"),
    [([], 0, "met", "none", "none"), ([("c", "firm")] * 2, 0, "violated", "2", "none"),
     ([("c", "firm")] * 2, 2, "met", "2", "at most 2"), ([("c", "firm")] * 1_200, 7, "violated", "1,200", "at most 7")],
)  # fmt: skip
def test_cells_that_follow_from_inside_are_counted_in_words(cells, threshold, outcome, found, asked):
    rule = RULES["magnitudes.from_inside"]
    facts = FactTable(others={rule.fact: SimpleNamespace(from_inside=cells)})
    said = rule.check(facts, rule, threshold)
    assert (said.outcome, said.found, said.asked) == (outcome, found, asked)
    assert said.places_in_all == (len(cells) if outcome == "violated" else 0)


def test_sensitive_cells_are_counted_in_words():
    found = {}
    for name, totals in (("none", NOTHING_SENSITIVE), ("some", TOTALS)):
        rule = RULES["magnitudes.p_percent"]
        found[name] = rule.check(FactTable(others={rule.fact: totals}), rule, 10)
    assert (found["none"].outcome, found["none"].found) == ("met", "none")
    assert found["some"].outcome == "violated"
    assert re.fullmatch(r"\d+ \((\d+ shown)?(, )?(\d+ too narrow)?\)", found["some"].found)


# ---------------------------------------------------------------- registers


def test_a_comment_is_kept_whole_or_refused(tmp_path):
    document = {"assessment": {"policy": {"name": "small", "sha256": "b" * 64}, "verdict": "release"}}
    files, log = [DecidedFile("tree.json", "a" * 64)], tmp_path / "log"
    add_decision(log, "release", "A", "c" * LONGEST_TEXT, files, document, "c" * 64)
    with pytest.raises(ReleaseError, match=re.escape(f"has {LONGEST_TEXT + 1:,} characters")):
        add_decision(log, "release", "A", "c" * (LONGEST_TEXT + 1), files, document, "c" * 64)
    assert log.read_text().count("\n") == 1


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("-", "standard input has no name to register"),
        (".hidden.json", "hidden files and the index itself are no releases"),
        (INDEX, "hidden files and the index itself are no releases"),
    ],
)
def test_what_has_no_name_of_a_release_is_not_registered(tmp_path, path, message):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / INDEX).write_text(HEAD)
    register = Register.read(str(tmp_path / "r"))
    with pytest.raises(ReleaseError, match=message):
        register.place_of(path)
    assert register.place_of(str(tmp_path / "r" / "sub" / "a.json")) == "sub/a.json"


def test_entries_that_name_no_data_set_relate_nothing():
    entry = f'[[release]]\nfile = "a.json"\nsha256 = "{"0" * 64}"\ndate = {DAY}\ndecision = "release"\n'
    assert related_data_sets(parse_index(f"{HEAD}\n{entry}", INDEX).entries) is None
    named = parse_index(f'{HEAD}\n{entry}dataset = "march"\n', INDEX).entries
    assert [one.name for one in related_data_sets(named).datasets] == ["march"]


def test_numbers_since_an_earlier_release_need_one_that_is_known(tmp_path, april):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / INDEX).write_text(HEAD)
    register, new = Register.read(str(tmp_path / "r")), recon.load(april)
    assert version_relation(new, register, None, None) is None
    with pytest.raises(ReleaseError, match="the register has none that is known"):
        version_relation(new, register, 1, None)


def test_a_release_that_is_registered_as_of_a_data_set_takes_no_numbers(tmp_path, april):
    new = recon.load(april)
    registered(tmp_path / "r", written(tmp_path, "march.json", [tree(OLD, [3, 4])]), april)
    assert version_relation(new, Register.read(str(tmp_path / "r")), 1, None).dataset == "april"
    index = tmp_path / "r" / INDEX
    index.write_text(index.read_text().rstrip() + '\ndataset = "april"\n')
    with pytest.raises(ReleaseError, match="is in the register as of the data set 'april'"):
        version_relation(new, Register.read(str(tmp_path / "r")), 1, None)


@pytest.mark.parametrize(
    ("bits", "said"),
    [((9.0, 4.0, 20.0, 6.0), "About the people who stayed the two take 5.0 bits"),
     ((LEAST, 0.0, 20.0, 6.0), "About the people who stayed the two take 0.1 bits"),
     ((9.0, 9.0, 20.0, 6.0), "About everybody the two take 14.0 bits"),
     ((None, None, 6.0, 6.0), "About everybody the two take 0.0 bits")],
)  # fmt: skip
def test_of_whom_both_versions_say_more(bits, said):
    told = dict(zip(("kept_before", "kept_both", "before", "both"), bits, strict=True))
    (line,) = _about_the_others(SimpleNamespace(bits=told))
    assert line == f"{said} more than the earlier model alone."


def test_an_open_number_of_rows_leaves_the_smallest_group_open(tmp_path):
    counted = {"kind": "table", "statements": [{"where": OLD, "at_least": 3}]}
    path = written(tmp_path, "open.json", [counted], rows={"at_least": 3})
    assert smallest_group(recon.load(path)) == (3, None)
    path = written(tmp_path, "closed.json", [counted], rows=9)
    assert smallest_group(recon.load(path)) == (3, 9)


def test_before_any_release_without_measures_nothing_is_known():
    found = _nothing_before(RemainingUncertainty("unknown", pinned=(0, 0)))
    assert (found.status, found.pinned, found.note) == ("unknown", (0, 0), "nothing was released before")


WITHOUT_GRID = {"attributes": [{"name": "age", "min": 0, "max": 9, "resolution": None}]}


@pytest.mark.parametrize(
    ("domain", "where", "count", "rows"),
    [(WITHOUT_GRID, {"age": {"at_most": 4}}, {"count": 3}, 5), (DOMAIN, OLD, {"count": 0}, 0),
     (DOMAIN, OLD, {"at_least": 3}, {"at_least": 4, "at_most": 5})],
)  # fmt: skip
def test_before_any_release_bits_per_person_are_left_where_they_are_a_number(domain, where, count, rows, tmp_path):
    register = registered(tmp_path / "r", written(tmp_path, "no.json", [tree(where, [2, 4])], None, domain),
                          decision="do not release")  # fmt: skip
    counted = {"kind": "table", "statements": [{"where": where} | count]}
    found = adds(recon.load(written(tmp_path, "new.json", [counted], rows, domain)), register, Limits())
    assert (found.before.status, found.before.pinned) == ("unknown", (0, 0))


def test_releases_of_an_open_number_of_rows_are_joined_to_one(tmp_path):
    at_least = [
        written(tmp_path, f"{k}.json", [{"kind": "table", "statements": [{"where": OLD, "at_least": 1}]}],
                {"at_least": k}) for k in (3, 2)
    ]  # fmt: skip
    register = registered(tmp_path / "r", at_least[1])
    assert joined_release(recon.load(at_least[0]), register, Limits()).declared == RowCount(3, None)


def left(number, certain, possible, rows=(), exact=True):
    """Return who left, as a comparison of versions has it."""
    table = pd.DataFrame({"verdict": list(rows)})
    return SimpleNamespace(number=number, certain=certain, possible=possible, rows=table, exact=exact)


@pytest.mark.parametrize(
    ("group", "said"),
    [
        (left(RowCount(3, 3), 0, 7), "does not identify the 3 people removed; 7 profiles are left."),
        (left(RowCount(3, 3), 3, 3), "identifies the 3 people removed, with all their values."),
        (left(RowCount(3, 3), 1, 4, ["certain", "possible"]),
         "identifies 1 of the 3 people removed, with all their values; of the other 2 at most 3 profiles are left."),
        (left(RowCount(1, 4), 1, 4, ["certain"], exact=False),
         "identifies at least 1 of the 1 to 4 people removed, with all their values; "
         "of the others at most 3 profiles are left."),
        (left(RowCount(3, 3), 1, None), "identifies 1 of the 3 people removed, with all their values; "
                                        "how many profiles are left has no bound."),
    ],
)  # fmt: skip
def test_who_left_in_words(group, said):
    assert identified_words("removed", group) == said


def test_what_is_left_in_json_has_both_ends_or_nothing():
    told = RemainingUncertainty("bounds", (1.0, 2.0), None, (0, 3)).to_json()
    assert (told["log2_datasets"], told["bits_left_per_person"], told["pinned"]) == ([1.0, 2.0], None, [0, 3])


@pytest.mark.parametrize(
    ("bounds", "ends"), [((-1.0, 5.0), (0.0, 5.0)), ((2.0, math.inf), (2.0, None)), ((-2.0, -1.0), (0.0, 0.0))]
)
def test_the_number_of_data_sets_is_open_above_where_it_has_no_bound(bounds, ends):
    found = SimpleNamespace(datasets=SimpleNamespace(bounds=bounds), rows=None)
    assert _log_ends(found, None) == ends


def test_a_data_set_that_is_alone_is_in_no_pair(tmp_path, april):
    registered(tmp_path / "r", april)
    index = tmp_path / "r" / INDEX
    index.write_text(index.read_text().rstrip() + '\ndataset = "april"\n')
    new, register = recon.load(april), Register.read(str(tmp_path / "r"))
    relation = version_relation(new, register, None, None)
    assert (relation.dataset, relation.pairs) == ("april", [])
    assert comparison(new, register, relation, Limits()) is None


def versions_of_people(folder):
    """Return a register of march, and of april, which five of its six people are left in; both are known outside."""
    march, april = (written(folder, f"{name}.json", [tree(OLD, [n, 4])]) for name, n in (("march", 2), ("april", 1)))
    one, none = RowCount(1, 1), RowCount(0, 0)
    register = registered(folder / "r", march)
    related = {"dataset": "april", "origin": "march", "removed": one, "added": none}
    return march, april, register.add(april, "release", date=DAY, **related)


def test_what_is_held_of_two_versions_is_the_later_one(tmp_path):
    march, april, register = versions_of_people(tmp_path)
    for path, held in ((march, False), (april, True)):
        new = recon.load(path)
        found = comparison(new, register, version_relation(new, register, None, None), Limits())
        assert found.found.possible == 2
        assert (found.held is not None) == held


def test_standard_input_is_compared_with_no_other_version(tmp_path):
    _, april, register = versions_of_people(tmp_path)
    for files in (("-",), ()):  # or what a program made
        new = dataclasses.replace(recon.load(april), files=files)
        relation, domain = version_relation(new, register, None, None), written(tmp_path, "domain.json", [])
        found = comparison(new, register, relation, Limits(), str(domain))
        assert (found.found, found.contradicts) == (None, False)
        assert found.why == "a release is compared with earlier ones from its file: save it, and give that"


def test_a_data_set_that_nothing_was_released_of_is_left_out(tmp_path):
    march, _, register = versions_of_people(tmp_path)
    index = tmp_path / "r" / INDEX
    lone = f'[[release]]\nfile = "may.json"\nsha256 = "{"0" * 64}"\ndate = {DAY}\ndecision = "do not release"\n'
    index.write_text(f'{index.read_text()}\n{lone}dataset = "may"\nfrom = "april"\nremoved = 0\nadded = 0\n')
    new, register = recon.load(march), Register.read(str(tmp_path / "r"))
    found = comparison(new, register, version_relation(new, register, None, None), Limits())
    assert (found.names, found.found.possible) == (("march", "april"), 2)


def test_numbers_of_data_sets_over_a_continuous_attribute_have_no_logarithm():
    """Their sizes are volumes."""
    domain = Domain((Continuous("bmi", Fraction(10), Fraction(60)),), Categorical("y", (0, 1)))
    nodes = ModelNode(Support(), (("bmi", Test(high=22.5)),), 1, 2), *(ModelNode(Support((4, n))) for n in (0, 2))
    found = left_by(encode(domain, [Tree(nodes)]), Limits())
    assert (found.status, found.log2_datasets, found.bits_left_per_person) == ("exact", None, None)
    assert found.smallest_group == (4, 4)


@pytest.fixture
def nested(tmp_path):
    """Return 6 people who are not young beside 5 old ones by class: 1 of the 6 is neither, a smoker or not."""
    domain = {**DOMAIN, "label": {"name": "ill", "values": [0, 1]}}
    counts = [{"where": {"age": {"in": ["middle", "old"]}}, "count": 6},
              {"where": {"age": "middle", "smoker": 1}, "at_least": 0, "at_most": 5}]  # fmt: skip
    first = written(tmp_path, "first.json", [{"kind": "table", "statements": counts}], rows=20, domain=domain)
    nodes = [{"if": OLD, "then": 1, "else": 2}, {"counts": [2, 3]}, {"count": 15}]
    second = written(tmp_path, "second.json", [{"kind": "tree", "nodes": nodes}], rows=20, domain=domain)
    return registered(tmp_path / "r", first), recon.load(second)


def test_the_classes_of_a_group_are_taken_away_once(nested):
    register, new = nested
    (found,) = adds(new, register, Limits()).differences.groups
    assert (found.rows, "not (" in found.where) == ((1, 1), True)


@pytest.mark.parametrize(("inside", "rest"), [(88, [(2, 2)]), (81, [(9, 9)]), (80, [])])
def test_rows_of_all_classes_without_a_group_of_them_are_found(inside, rest, tmp_path):
    """90 old people by class, of whom so many smoke: fewer than 10 do not, unless the table says that itself."""
    domain = {**DOMAIN, "label": {"name": "ill", "values": [0, 1]}}
    nodes = [{"if": OLD, "then": 1, "else": 2}, {"counts": [50, 40]}, {"count": 150}]
    first = written(tmp_path, "first.json", [{"kind": "tree", "nodes": nodes}], 240, domain)
    register = registered(tmp_path / "r", first)
    smokers, others = ({"where": OLD | {"smoker": k}, "count": n} for k, n in ((1, inside), (0, 90 - inside)))
    for said, expected in (([smokers], rest), ([smokers, others], [])):
        table = {"kind": "table", "statements": said}
        new = recon.load(written(tmp_path, f"{len(said)}.json", [table], 240, domain))
        assert [one.rows for one in adds(new, register, Limits()).differences.groups] == expected


def test_too_many_cells_are_not_looked_through(nested, monkeypatch):
    register, new = nested
    monkeypatch.setattr(differences_of_releases, "WORK", 1)
    found = adds(new, register, Limits()).differences
    assert (found.groups, found.in_all) == ((), None)
    assert found.note == "differences were not looked for: too many statements and cells"


def test_where_nothing_was_counted_no_group_is_denied(nested, tmp_path):
    """Neither of noise that fits no data set nor of counts that nobody worked out is it known what is singled out."""
    register, new = nested
    none = uncounted(joined_release(new, register, Limits()), "multiset", "its counts may be anything")
    found = adds(new, register, Limits(), after=none)
    assert found.differences.in_all is None
    assert found.differences.note == "differences were not looked for: its counts may be anything"
    registered(tmp_path / "s", written(tmp_path, "march.json", [tree(OLD, [2, 4])]))
    noisy = written(tmp_path, "noisy.json", [tree({"smoker": 1}, [30, 3]) | {"noise": {"law": "laplace", "scale": 1}}])
    found = adds(recon.load(noisy), Register.read(str(tmp_path / "s")), Limits())
    assert (found.status, found.differences.in_all) == ("empty", None)
    assert not any("further group" in line for line in found.sentences)


def test_where_one_release_says_it_all_no_further_group_is_singled_out(tmp_path):
    """The same tree again; of numbers without a grid, beside a table that hides its one count."""
    again = registered(tmp_path / "r", written(tmp_path, "march.json", [tree(OLD, [2, 4])]))
    found = adds(recon.load(written(tmp_path, "april.json", [tree(OLD, [2, 4], "again")])), again, Limits())
    assert (found.differences.in_all, found.differences.note) == (0, "")
    domain = {"attributes": [{"name": "h", "min": 0, "max": 9, "resolution": None}]}
    hidden = {"kind": "table", "statements": [{"where": {"h": {"at_most": 4}}, "suppressed": "unknown"}]}
    other = registered(tmp_path / "s", written(tmp_path, "hidden.json", [hidden], 6, domain))
    new = recon.load(written(tmp_path, "new.json", [tree({"h": {"at_most": 4}}, [2, 4])], None, domain))
    found = adds(new, other, Limits())
    assert (found.after.measures.of_cells, found.differences.in_all) == (False, 0)


def test_what_an_adversary_knows_is_no_published_group(nested):
    register, new = nested
    rows = known_rows(new.domain, pd.DataFrame({"smoker": [1] * 5 + [0] * 15}))
    whole = joined_release(with_known_rows(new, rows), register, Limits())
    system = SystemFigures.of(whole.statements, Limits())
    kinds = {block.kind for block in whole.statements.blocks if isinstance(block, Partition)}
    found = RegisteredGroups.of(whole, whole.statements, system, 1, Limits())
    assert kinds & set(NOT_PUBLISHED)
    assert not {getattr(whole.statements.blocks[g.block], "kind", "") for g in found.groups} & set(NOT_PUBLISHED)


# ---------------------------------------------------------------- audits


def test_what_stands_in_a_file_is_not_told_of_standard_input_or_another_content():
    release = recon.load(MODEL)
    (found,) = stored_outright(release, Limits())
    assert found.sha256 == release.sha256
    (unread,) = stored_outright(dataclasses.replace(release, files=("-",)), Limits())
    assert "not inspected: standard input can be read once" in unread.format
    (other,) = stored_outright(dataclasses.replace(release, sha256="0" * 64), Limits())
    assert other.format == ("not inspected: the file has changed since the release was read; run the audit again")
    assert other.findings == ()


def test_a_noisy_release_is_held_against_the_same_one_without_noise(tmp_path, april):
    exact = recon.load(april)
    with pytest.raises(Unsupported, match="needs a noisy release"):
        noise_effect(exact, exact, Limits())
    given = json.loads(april.read_text())
    given["models"][0] |= {
        "noise": {"law": "discrete_laplace", "epsilon": 1.0, "sensitivity": 1, "neighbours": "add_remove"}
    }
    given["rows"] = 6
    (tmp_path / "noisy.json").write_text(json.dumps(given))
    noisy = recon.load(tmp_path / "noisy.json")
    assert noise_effect(noisy, exact, Limits()) is not None
    named = recon.load(written(tmp_path, "named.json", [tree(OLD, [2, 4], "called otherwise")]))
    assert noise_effect(noisy, named, Limits()) == noise_effect(noisy, exact, Limits())
    domain = {**DOMAIN, "label": {"name": "ill", "values": [0, 1]}}
    nodes = [{"if": OLD, "then": 1, "else": 2}, {"counts": [1, 1]}, {"counts": [3, 1]}]
    by_class = {"recon": 1, "domain": domain, "rows": 6, "models": [{"kind": "tree", "nodes": nodes}]}
    (tmp_path / "by_class.json").write_text(json.dumps(by_class))
    counted = recon.load(written(tmp_path, "counted.json", given["models"], 6, domain))
    with pytest.raises(Unsupported, match="other regions or classes than the noisy one"):
        noise_effect(counted, recon.load(tmp_path / "by_class.json"), Limits())
    other = recon.load(written(tmp_path, "other.json", [tree({"age": "young"}, [2, 4])]))
    with pytest.raises(Unsupported, match="other regions or classes than the noisy one"):
        noise_effect(noisy, other, Limits())
    with pytest.raises(Unsupported, match="needs a noisy release"):
        noise_effect(noisy, noisy, Limits())


@pytest.mark.parametrize("guess", [np.zeros((2, 3), dtype=int), np.zeros(2, dtype=int)])
def test_only_rows_of_the_same_attributes_are_compared(guess):
    truth = np.zeros((2, 2), dtype=int)
    assert compare(truth, truth).share_right == 1.0
    with pytest.raises(ReleaseError, match="must be rows of the same attributes"):
        compare(truth, guess)
    with pytest.raises(ReleaseError, match="must be rows of the same attributes"):
        compare(guess, truth)


def test_people_without_a_name_have_none():
    own = pd.DataFrame({"name": ["P-1", None, ""], "id": [1, 2, 3]})
    assert _person_names(own) == ["P-1", None, None]
    assert _person_names(own.iloc[:, :0]) == [None] * 3


def test_a_value_outside_of_the_domain_is_named_only_where_rows_may_be_shown(april):
    release = recon.load(april)
    asked = pd.DataFrame({"smoker": [0, 9], "age": ["old", "old"]})
    found = recon.certify(release, asked)
    line = found.iloc[1].to_dict()
    assert line["verdict"] == "outside"
    shown, hidden = (why(line, release, show) for show in (True, False))
    assert "9" in shown
    assert "9" not in hidden
    assert "recon certify says which" in hidden
    assert certificates(release, asked, found, Limits())[1] == []
