"""Stored results whose figures cannot be true together are refused, with both keys and values; honest ones are not."""

from __future__ import annotations

import copy
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import report_documents as documents
from extras import run

from recon.release.policies.facts import FIGURES
from recon.report.results import (
    LISTED,
    ORDERS,
    READ,
    SAME,
    _checked_document,
    _contradictions,
    _figures,
    as_read,
    filled,
)
from recon.report.stored_report import rendered
from solvers.foundation.errors import ReleaseError

ROOT = Path(__file__).parents[1]
RELEASES, GOLDEN = ROOT / "examples" / "releases", Path(__file__).parent / "golden"
HONEST = [
    RELEASES / "compas_tree.json", RELEASES / "census_block.json", RELEASES / "noisy_tree.json",
    RELEASES / "two_trees.json", RELEASES / "diabetes_forest.joblib", RELEASES / "boosted_model.txt",
    GOLDEN / "forest_3.json", GOLDEN / "tree_classes.json", GOLDEN / "rule_set.json", GOLDEN / "table_statistics.json",
    GOLDEN / "contradiction.json", GOLDEN / "bags_settled.json", GOLDEN / "boosted" / "xgb_shrunk.ubj",
]  # fmt: skip


@pytest.mark.sampled(1, 5)
@pytest.mark.parametrize("file", HONEST, ids=lambda path: path.name)
def test_an_audit_does_not_contradict_itself(file, tmp_path, capsys):
    result = tmp_path / "result.json"
    arguments = ["--json", "--out", result, "--policy", "preset:ema-0070", "--time", 5, "--remedies"]
    code, _, err = run(capsys, "audit", file, *arguments)
    assert result.exists(), err
    assert list(_contradictions(json.loads(result.read_text(encoding="utf-8")))) == []
    again, out, _ = run(capsys, "report", result)
    assert again == (code if code != 5 else again)
    assert out.startswith(READ)


@pytest.mark.parametrize(
    "made", ["minimal", "full", "without_policy", "met", "open_bounds", "stored_only", "no_domain"]
)
def test_documents_of_the_tests_are_true(made):
    assert list(_contradictions(getattr(documents, made)())) == []


def with_value(document, path, value):
    """Put a value at a path, making what is on the way; "[*]" is the first of a list."""
    at = document
    steps = re.findall(r"([^.\[\]]+)|\[(?:\*|\d+)\]", path.removesuffix(" per row"))
    for i, step in enumerate(steps):
        key = step or 0
        last = i == len(steps) - 1
        if isinstance(at, list) and not at:
            at.append({})
        if last:
            at[key] = value
        else:
            default = {} if steps[i + 1] else []
            at = at.setdefault(key, default) if isinstance(at, dict) else at[key]
    return document


@pytest.mark.parametrize(("less", "more"), [*ORDERS, *SAME, *((b, a) for a, b in SAME)])
def test_every_order_between_figures_is_kept(less, more):
    for low, high in (([9, 9], [3, 3]), ([9, None], [1, 3]), (9, 3)):
        document = {"facts": {}}
        if "per row" in less + more:
            document["rows"] = 1
        for path, value in ((less, low), (more, high)):
            with_value(document, path, value)
        said = [one for one in _contradictions(document) if "cannot both be true" in one]
        places = [path.replace("[*]", "[0]") for path in (less, more)]
        assert any(all(place in one for place in places) and "9" in one and "3" in one for one in said)
    for low, high in (([2, 9], [3, 3]), ([0, None], [0, 3]), (3, 3), (None, 3)):
        document = {"facts": {}, "rows": 1} if "per row" in less + more else {"facts": {}}
        for path, value in ((less, low), (more, high)):
            with_value(document, path, value)
        places = [path.replace("[*]", "[0]") for path in (less, more)]
        assert not any(all(f"{place} is" in one for place in places) for one in _contradictions(document))


def test_a_whole_number_that_no_float_holds_is_compared():
    document = with_value({"rows": 90}, "without_row_order.bits_before per row", 10**400)
    found = list(_contradictions(with_value(document, "facts.bits_before_per_person", 3.5)))
    assert any("is inf and facts.bits_before_per_person is 3.5" in line for line in found)


@pytest.mark.parametrize(("listed", "in_all"), LISTED)
def test_no_more_is_listed_than_there_is(listed, in_all):
    document = with_value(with_value({"facts": {}}, listed, [{}, {}]), in_all, 1)
    assert any(f"{listed} lists 2 and {in_all} is 1" in one for one in _contradictions(document))


@pytest.mark.parametrize("key", FIGURES)
def test_an_interval_has_its_ends_in_order_and_its_least_value(key):
    shape = FIGURES[key]
    below = -1 if shape.form == "number" else [-3, -1]
    assert any(f"facts.{key} is" in one for one in _contradictions({"facts": {key: below}}))
    if shape.form == "interval":
        assert any(f"facts.{key} is 5 to 4" in one for one in _contradictions({"facts": {key: [5, 4]}}))


def test_nothing_is_left_about_whoever_is_pinned_down():
    facts = {"pinned": [1, 9], "least_bits_left": [2.0, 2.0], "rows": [10, 10], "bits_left_per_person": [1.0, 1.0]}
    assert [
        one for one in _contradictions({"facts": facts}) if "facts.pinned is 1 to 9 and facts.least_bits_left" in one
    ]
    assert not [one for one in _contradictions({"facts": facts}) if "per_person" in one]
    assert not list(_contradictions({"facts": {"smallest_group": [5, 5], "groups": [{"rows": [0, 3]}]}}))
    facts |= {"pinned": [10, 10]}
    assert [one for one in _contradictions({"facts": facts}) if "facts.bits_left_per_person is 1" in one]
    facts |= {"least_bits_left": [0.0, 0.0], "bits_left_per_person": [0, 1.0]}
    assert not list(_contradictions({"facts": facts}))


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """Return the document of an audit that violates its policy."""
    done = subprocess.run(
        [sys.executable, "-m", "recon", "audit", str(RELEASES / "compas_tree.json"), "--json", "--policy",
         str(ROOT / "examples" / "gate" / "policy.toml")],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_tampered_result_is_refused_by_both_keys_and_values(honest, tmp_path, capsys):
    loose = tmp_path / "loose.toml"
    loose.write_text("mean_bits_left = 5\n", encoding="utf-8")
    tampered = copy.deepcopy(honest)
    before = tampered["facts"]["bits_before_per_person"]
    tampered["facts"]["bits_left_per_person"] = [before + 9, before + 9]
    result = tmp_path / "tampered.json"
    result.write_text(json.dumps(tampered), encoding="utf-8")
    for more in ((), ("--policy", loose), ("--to", "junit")):
        code, out, err = run(capsys, "report", result, *more)
        assert (code, out) == (3, "")
        assert f"facts.bits_left_per_person is {before + 9:.10g} and " in err
        assert f"facts.bits_before_per_person is {before:.10g}" in err


@pytest.mark.sampled(1)
@pytest.mark.parametrize("change", [
    lambda told: told.update(outcome="met", verdict="release"), lambda told: told.update(verdict="release"),
    lambda told: [one.update(outcome="met") for one in told["checks"]],
    lambda told: (told.update(outcome="met", verdict="release"), [one.update(outcome="met") for one in told["checks"]]),
    lambda told: told["checks"][0].update(threshold="anything"),
])  # fmt: skip
def test_a_verdict_that_does_not_follow_from_the_facts_is_refused(honest, tmp_path, capsys, change):
    tampered = copy.deepcopy(honest)
    change(tampered["assessment"])
    result = tmp_path / "tampered.json"
    result.write_text(json.dumps(tampered), encoding="utf-8")
    code, out, err = run(capsys, "report", result)
    assert (code, out) == (3, "")
    assert "assessment." in err


def test_what_is_open_may_count_as_violated():
    document = documents.open_bounds()
    document["assessment"]["checks"][0]["outcome"] = "violated"
    document["assessment"] |= {"outcome": "violated", "verdict": "do not release"}
    assert not list(_contradictions(document))


def paths_of(value, path=()):
    """Yield the path of every key of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, one in inner:
        if isinstance(key, str):
            yield (*path, key)
        yield from paths_of(one, (*path, key))


@pytest.mark.sampled(1, 6)
@pytest.mark.parametrize("form", ["txt", "md", "html", "json", "sarif", "junit"])
@pytest.mark.parametrize("made", ["full", "stored_only", "open_bounds"])
def test_what_may_be_left_out_is_missed_by_no_format(form, made):
    """Every key in turn: where the document is still read, no format fails."""
    read = 0
    for path in list(paths_of(getattr(documents, made)())):
        document = getattr(documents, made)()
        at = document
        for step in path[:-1]:
            at = at[step]
        del at[path[-1]]
        try:
            _checked_document(document)
        except ReleaseError:
            continue
        read += 1
        assert rendered(document if form == "json" else filled(document), form)
        assert isinstance(list(_contradictions(document)), list)
    assert read > 15


@pytest.mark.parametrize("form", ["sarif", "junit"])
def test_a_rule_of_a_later_recon_is_shown(form):
    document = documents.full()
    document["assessment"]["checks"][0]["rule"] = "of_a_later_one"
    assert list(_contradictions(document)) == []
    assert "of_a_later_one" in rendered(document, form) or form == "junit"


@pytest.mark.parametrize("form", ["txt", "md", "html", "json"])
def test_every_format_says_that_figures_were_read(honest, tmp_path, capsys, form):
    result = tmp_path / "result.json"
    honest = honest | {"title": f"Audit of {'x' * 500}"}
    result.write_text(json.dumps(honest), encoding="utf-8")
    code, out, _ = run(capsys, "report", result, "--to", form)
    assert code == 1
    assert "Figures read, not recomputed: Audit of" in out
    assert as_read(as_read(honest)) == as_read(honest)


@pytest.mark.parametrize(
    ("ends", "bounds"),
    [([0, 10**400], (0, math.inf)), ([-(10**400), None], (-math.inf, math.inf)), (10**400, (math.inf, math.inf))],
)
def test_numbers_that_no_float_holds_are_compared(ends, bounds):
    """A range with such an end ended `recon report` with exit code 70."""
    document = {"rows": 10, "a": ends}
    for path in ("a", "a per row"):
        assert [one[1:] for one in _figures(document, path)] == [bounds]
    assert len(list(_figures(document | {"rows": 10**400}, "a per row"))) == 1
