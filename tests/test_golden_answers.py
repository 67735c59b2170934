"""Every command answers as it did: what it prints on the suite's releases and model files against what is stored.

Where a change is meant: `python tests/golden_answers.py` shows all differences, `--write` stores anew.
"""

from __future__ import annotations

import json
import time

import fast_clock
import golden_answers as net
import pytest


def shown(lines):
    return f"{len(lines)} differences; python tests/golden_answers.py shows all\n" + "\n".join(lines[:40])


def test_commands_answer_as_stored_on_some_files():
    found, _ = net.collected(quick=True)
    assert len(found) > 150
    lines = net.compared(found, net.stored()["answers"])
    assert not lines, shown(lines)


@pytest.mark.long
def test_commands_answer_as_stored_on_all_files():
    found, _ = net.collected()
    before = net.stored()["answers"]
    assert found.keys() == before.keys()
    lines = net.compared(found, before)
    assert not lines, shown(lines)


def test_files_are_encoded_as_stored_some():
    lines = net.compared(net.fingerprints(quick=True), net.stored()["fingerprints"])
    assert not lines, shown(lines)


@pytest.mark.long
def test_files_are_encoded_as_stored():
    found, before = net.fingerprints(), net.stored()["fingerprints"]
    assert found.keys() == before.keys()
    lines = net.compared(found, before)
    assert not lines, shown(lines)


def test_no_stored_answer_is_an_accident():
    """Exit codes are those of the contract: no traceback was stored as an answer, and every command occurs."""
    answers = net.stored()["answers"]
    assert {name: a["code"] for name, a in answers.items() if a["code"] not in {0, 1, 2, 3, 4, 5}} == {}
    helps = {name.split("--help ")[1] for name in answers if "--help " in name}
    assert {" ".join(words) for words in net.commands()} == helps


@pytest.mark.slow
def test_a_difference_names_case_and_key(monkeypatch):
    before = net.stored()["answers"]
    name = next(name for name, a in before.items() if name.endswith("tree_plain.json: count multiset"))
    changed = json.loads(json.dumps(before[name]))
    changed["out"]["worlds"] = "1"
    (line,) = net.compared({name: changed}, before)
    assert line.startswith(f"{name} /out/worlds: '")
    assert line.endswith("-> '1'")
    del changed["out"]["worlds"]
    assert net.compared({name: changed}, before) == [f"{name} /out/worlds: no longer there"]
    monkeypatch.setattr(net, "versions", dict)  # under other solvers: keys and exit codes alone
    assert net.compared({name: changed}, before) == [f"{name} /out/worlds: no longer there"]
    changed["out"]["worlds"] = "1"
    assert net.compared({name: changed}, before) == []
    changed["code"] = 4
    assert net.compared({name: changed}, before) == [f"{name} /code: '0' -> '4'"]


def test_a_fingerprint_changes_with_a_count(tmp_path):
    path = net.ROOT / "tests" / "golden" / "tree_plain.json"
    release = json.loads(path.read_text(encoding="utf-8"))
    other = tmp_path / "other.json"
    other.write_text(json.dumps(release), encoding="utf-8")
    same = net.fingerprint(other)
    assert same == net.fingerprint(path)
    node = next(n for n in release["models"][0]["nodes"] if n.get("count"))
    node["count"] += 1
    release.pop("rows", None)
    other.write_text(json.dumps(release), encoding="utf-8")
    assert net.fingerprint(other) != same


@pytest.mark.slow
def test_a_clock_ten_times_as_fast_changes_what_says_so_alone():
    """Of three small files that every command is asked of; `python tests/fast_clock.py` asks all."""
    cases = [case for case in net.cases() if case[1] is not None and case[1].parent == net.ROOT / "tests" / "golden"]
    found = list(fast_clock.asked_twice(cases[::24]))
    assert len(found) > 25
    assert [f"{one.name}: {one.wrong}" for one in found if one.wrong] == []


def test_a_clock_that_ends_an_answer_unsaid_is_seen(monkeypatch):
    """The clock's second reading is ten times the first: what depends on it and does not say so is wrong."""
    begun = time.monotonic()

    def run(words, most):
        sum(range(9**7))  # some hundredths of a second
        return 0, str(time.monotonic() - begun > 0.5), ""

    monkeypatch.setattr(net, "run", run)
    path = net.ROOT / "tests" / "golden" / "unique.json"
    (one,) = fast_clock.asked_twice([("unique", path, [("count", ["count", "IN"])])])
    assert (one.cut, one.wrong.startswith("0 -> 0: 'False")) == (False, True)
