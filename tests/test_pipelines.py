"""SARIF and JUnit: valid by schema and parser, at the audited file, the same for the same document, inert."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import jsonschema
import pytest
import yaml
from defusedxml import ElementTree
from policy_cases import HOSTILE, document_of, facts_of, group, policy_of, ran

import recon.cli.session
import recon.report.audit
from recon.report.sarif import _uri, junit, junit_of_several, sarif, sarif_of_several
from solvers.foundation.errors import ReleaseError, TooLarge

ROOT = Path(__file__).parents[1]
SCHEMA = jsonschema.Draft4Validator(
    json.loads(Path(__file__).with_name("sarif-2.1.0-schema.json").read_text(encoding="utf-8"))
)
LEAKY = facts_of(
    smallest_group=[1, 1],
    groups=[group("leaf 5", 1, 1, "age = 90"), *(group(f"leaf {i}", 2, 2) for i in range(10, 40))],
    groups_in_all=31,
    pinned=[0, 3],
)
POLICY = policy_of(source="Handbook, page 9", smallest_group=10, most_pinned=0, stored="none", target_disclosure=0)


def log_of(text):
    log = json.loads(text)
    SCHEMA.validate(log)
    (run,) = log["runs"]
    return run


def suites_of(text):
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    return list(root)


def test_the_schema_refuses():
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "recon"}}, "findings": []}]})


def test_violations_are_errors_and_open_checks_warnings_at_the_file():
    run = log_of(sarif(document_of(LEAKY, POLICY)))
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("smallest_group", "error"),
        ("most_pinned", "warning"),
    ]
    rules = run["tool"]["driver"]["rules"]
    for one in run["results"]:
        place = one["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "models/tree.json", "index": 0}
        assert place["region"]["startLine"] == 1  # code scanning shows nothing without a line
        assert rules[one["ruleIndex"]]["id"] == one["ruleId"]
        assert rules[one["ruleIndex"]]["help"]["text"]
        assert "Handbook, page 9" in one["message"]["text"]
    text = run["results"][0]["message"]["text"]
    assert "leaf 5: age = 90" in text
    assert "leaf 10, 2 rows; leaf 11, 2 rows; 28 more" in text
    assert len(run["results"][0]["locations"][0]["logicalLocations"]) == 20
    assert run["artifacts"][0]["hashes"] == {"sha-256": "ab" * 32}
    assert run["tool"]["driver"]["version"] == "0.1.0"
    assert run["properties"]["audits"][0]["verdict"] == "do not release"


def test_a_policy_that_is_met_leaves_no_result():
    run = log_of(sarif(document_of(facts_of(), POLICY)))
    assert run["results"] == []
    assert run["properties"]["audits"][0]["verdict"] == "release"


def test_without_a_policy_there_are_notes():
    said = {"file": "m", "level": "high", "rule": "rows", "what": "an array", "remedy": "x", "removable": True}
    stored = [said | {"path": path} for path in ("a", "b")]
    run = log_of(sarif(document_of(LEAKY | {"pinned": [3, 5], "stored": stored}, None)))
    assert {one["level"] for one in run["results"]} == {"note"}
    assert [one["ruleId"] for one in run["results"]] == ["pinned", "one_row", "stored_data", "stored_data"]
    assert "Between 3 and 5 people fully known" in run["results"][0]["message"]["text"]
    assert "1 group of one row: leaf 5: age = 90" in run["results"][1]["message"]["text"]
    assert len({one["partialFingerprints"]["reconCheck/v1"] for one in run["results"]}) == 4
    assert log_of(sarif(document_of(facts_of(), None)))["results"] == []
    assert log_of(sarif(document_of({}, None)))["results"] == []


def test_fingerprints_are_of_rule_and_file_not_of_figures():
    def prints(facts, *files):
        run = log_of(sarif(document_of(facts, POLICY, *files)))
        return {one["ruleId"]: one["partialFingerprints"]["reconCheck/v1"] for one in run["results"]}

    worse = LEAKY | {"pinned": [5, 5], "smallest_group": [1, 3]}
    assert prints(LEAKY) == prints(worse)
    assert prints(LEAKY) != prints(LEAKY, "models/other.json")
    assert len(set(prints(LEAKY).values())) == 2


def test_several_files_of_one_release_and_several_releases():
    one, two = document_of(LEAKY, POLICY, "a.json", "b.json"), document_of(LEAKY, POLICY, "c.json")
    run = log_of(sarif_of_several([one, two], [("d.pkl", "is not a model")]))
    assert [each["location"]["uri"] for each in run["artifacts"]] == ["a.json", "b.json", "c.json"]
    first, third = run["results"][0], run["results"][2]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "a.json", "index": 0}
    assert first["relatedLocations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "b.json", "index": 1}
    assert third["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "c.json", "index": 2}
    assert "relatedLocations" not in third
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert "d.pkl: not audited: is not a model" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    twice = log_of(sarif_of_several([one, one]))
    assert len(twice["artifacts"]) == 2
    assert len(twice["results"]) == 4
    nothing = log_of(sarif_of_several([], [("d.pkl", "is not a model")]))
    assert nothing["results"] == []


@pytest.mark.parametrize(
    "file",
    [
        "model.json", "./a/../model.json", "../up.json", "my model.pkl", "c:odd.json", "50%.json", "ü/ñ#?.json",
        "\udcff.pkl", "/srv/my models/a.json", "-",
    ],
)  # fmt: skip
def test_addresses_are_references_that_lead_back(file):
    found = _uri(file)
    assert re.fullmatch(r"[A-Za-z0-9._~%/:-]+", found)
    parts = urlsplit(found)
    assert parts.scheme == ("file" if file.startswith("/") else "")
    assert not parts.query
    assert not parts.fragment
    if file not in {"-", "./a/../model.json"}:
        assert unquote(parts.path, errors="surrogateescape") == file


def test_junit_has_a_suite_per_release_and_a_case_per_check():
    (suite,) = suites_of(junit(document_of(LEAKY, POLICY)))
    assert suite.attrib == {
        "name": "models/tree.json", "tests": "4", "failures": "1", "errors": "1", "skipped": "1", "time": "1.250",
        "timestamp": "2026-11-25T21:00:00",
    }  # fmt: skip
    properties = {one.get("name"): one.get("value") for one in suite.find("properties")}
    assert properties["recon"] == "0.1.0"
    assert properties["sha256 of models/tree.json"] == "ab" * 32
    assert properties["sha256 of the policy"] == POLICY.sha256
    assert properties["verdict"] == "do not release"
    cases = {one.get("name"): one for one in suite.findall("testcase")}
    failure = cases["Smallest group"].find("failure")
    assert failure.get("message").startswith("The smallest group has 1 row (leaf 5: age = 90, 1 row; 30 more)")
    assert "leaf 10, 2 rows\n" in failure.text
    assert cases["People fully known"].find("error").get("type") == "inconclusive"
    assert cases["Rows whose numeric target is published exactly"].find("skipped") is not None
    assert cases["Stored training data"].find("system-out").text.startswith("Beside the model, the file stores nothing")


def test_junit_of_several_adds_up():
    documents = [
        document_of(LEAKY, POLICY),
        document_of(facts_of(), POLICY, "b.json"),
        document_of(facts_of(), None, "c.json"),
    ]
    text = junit_of_several(documents, [("d.pkl", "is not a model")])
    suites = suites_of(text)
    assert [one.get("name") for one in suites] == ["models/tree.json", "b.json", "c.json", "d.pkl"]
    root = ElementTree.fromstring(text)
    for kind, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(root.get(kind)) == len(list(root.iter(tag))) == sum(int(one.get(kind)) for one in suites)
    assert suites[3].find("testcase").find("error").get("message") == "is not a model"
    assert "not assessed against a policy" in suites[2].find("testcase").find("system-out").text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_inert_and_readable(name):
    facts = facts_of(
        smallest_group=[1, 1],
        groups=[group(name, 1, 1, name), group(name, 2, 2, name)],
        groups_in_all=2,
        stored=[
            {"file": name, "level": "high", "rule": name, "what": name, "path": name, "remedy": name, "removable": True}
        ],
    )
    demanded = policy_of(source=name, smallest_group=10, stored="none")
    for policy in (demanded, None):
        document = document_of(facts, policy, name)
        text = sarif_of_several([document], [(name, name)])
        run = log_of(text)
        assert all(line.isprintable() for line in text.splitlines())
        assert all(len(one["message"]["text"]) < 5000 for one in run["results"])
        assert all(one["message"]["text"].replace("\n", "").isprintable() for one in run["results"])
        text = junit_of_several([document], [(name, name)])
        for element in ElementTree.fromstring(text).iter():
            assert element.tag in {
                "testsuites",
                "testsuite",
                "testcase",
                "properties",
                "property",
                "failure",
                "error",
                "system-out",
            }
            for value in (element.text or "", *element.attrib.values()):
                assert value.replace("\n", "").isprintable()
        assert text.encode()  # no half of a surrogate pair


def test_the_same_document_gives_the_same_bytes():
    document = document_of(LEAKY, POLICY)
    again = json.loads(json.dumps(document))
    assert sarif(document) == sarif(again)
    assert junit(document) == junit(again)
    assert document == again


# The gate: each file by itself, the gravest exit code


@pytest.fixture
def audits(monkeypatch):
    """Let files be what their names say."""
    facts = {
        "good": facts_of(),
        "bad": LEAKY,
        "open": facts_of(pinned=[0, 3]),
        "contradiction": facts_of(status="unsat"),
    }

    def opened(files, *_args, **_more):
        (file,) = files
        if file.startswith("broken"):
            raise ReleaseError("is not a model", file=file)
        if file.startswith("huge"):
            raise TooLarge("too many cells")
        return SimpleNamespace(file=file, rows=SimpleNamespace(high=10), noisy=True)  # nothing is settled early

    def audit(release, policy, **_more):
        name = release.file
        return SimpleNamespace(to_dict=lambda: document_of(facts[name.partition(".")[0]], policy, name))

    monkeypatch.setattr(recon.cli.session, "open_release", opened)
    monkeypatch.setattr(recon.report.audit, "audit", audit)


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (["good.pkl"], 0),
        (["open.pkl", "good.pkl"], 4),
        (["contradiction.pkl", "open.pkl"], 5),
        (["broken.pkl", "contradiction.pkl", "open.pkl"], 3),
        (["huge.pkl"], 3),
        (["broken.pkl", "bad.pkl", "open.pkl", "good.pkl"], 1),
    ],
)
def test_a_gate_says_a_line_per_file_and_ends_with_the_gravest(audits, tmp_path, capsys, files, code):
    (tmp_path / "p.toml").write_text("most_pinned = 0\nsmallest_group = 10", encoding="utf-8")
    given = ["gate", *files, "--policy", tmp_path / "p.toml"]
    assert ran(*given, "--sarif", tmp_path / "g.sarif", "--junit", tmp_path / "g.xml") == code
    lines = capsys.readouterr().out.partition("\n\n")[0].splitlines()  # behind several stands a summary
    assert [line.partition(":")[0] for line in lines] == files
    assert len(log_of((tmp_path / "g.sarif").read_text())["artifacts"]) == sum(
        not f.startswith(("broken", "huge")) for f in files
    )
    assert len(suites_of((tmp_path / "g.xml").read_text())) == len(files)
    assert ran(*given, "--json") == code
    said = json.loads(capsys.readouterr().out)
    assert [one["file"] for one in said] == files
    assert all(one["sentence"] for one in said)


def test_the_line_of_a_gate_names_verdict_and_reason(audits, tmp_path, capsys):
    assert ran("gate", "bad.pkl", "--policy", "preset:minimum-cell-10") == 1
    line = capsys.readouterr().out.strip()
    assert line.startswith(
        "bad.pkl: do not release: The release violates 1 of 4 thresholds of the policy minimum-cell-10"
    )
    assert "the smallest group has 1 row (leaf 5, 1 row; " in line


def test_a_gate_with_a_wrong_policy_opens_no_model(audits, tmp_path):
    (tmp_path / "p.toml").write_text("most_pinned = -1", encoding="utf-8")
    assert ran("gate", "good.pkl", "--policy", tmp_path / "p.toml") == 2
    assert ran("gate", "good.pkl", "--policy", tmp_path / "missing.toml") == 2
    assert ran("gate", "good.pkl") == 2
    assert ran("gate", "good.pkl", "--policy", "preset:ema-0070", "--sarif", "x.json") == 2


def test_a_gate_writes_over_nothing_that_it_reads(audits, tmp_path, capsys):
    model = tmp_path / "model.xml"
    model.write_text("<PMML/>", encoding="utf-8")
    (tmp_path / "link.xml").symlink_to(model)
    for out in (model, tmp_path / "link.xml"):
        assert ran("gate", model, "--policy", "preset:ema-0070", "--junit", out) == 2
        assert "would be overwritten" in " ".join("".join(capsys.readouterr()).split()).replace("│ ", "")
    assert model.read_text(encoding="utf-8") == "<PMML/>"


# The hook


def hook():
    (found,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    return found


def test_the_hook_has_the_keys_of_pre_commit():
    known = {
        "id",
        "name",
        "description",
        "entry",
        "args",
        "language",
        "files",
        "require_serial",
        "types",
        "pass_filenames",
    }
    assert {"id", "name", "entry", "language"} <= set(hook()) <= known
    assert hook()["language"] == "python"
    pattern = re.compile(hook()["files"])
    assert all(pattern.search(name) for name in ("a.joblib", "models/b.pkl", "c.skops", "d.pmml", "e.rds", "f.pickle"))
    assert not any(pattern.search(name) for name in ("a.py", "pkl.txt", "b.json", "x.pkl.md"))


def test_the_hook_runs_as_pre_commit_runs_it(audits, tmp_path, monkeypatch, capsys):
    """pre-commit calls: entry, args, then the names of the files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.toml").write_text("smallest_group = 10", encoding="utf-8")
    program, *entry = hook()["entry"].split()
    assert program == "recon"
    assert ran(*entry, *hook()["args"], "good.pkl", "bad.pkl") == 1
    assert ran(*entry, *hook()["args"], "good.pkl") == 0
