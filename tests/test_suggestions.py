"""Suggested commands: run as they are printed, with the user's own options, and none where it would not help."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import report_documents as documents
from extras import run
from typer.main import get_command

from recon.cli.app import app
from recon.io.console.guarding import (
    FLAGS,
    REPEATED,
    TAKES,
    asking,
    command_line,
    options_of,
    stripped_name,
    suggestion,
)
from recon.report.page.advice import _every_step, _more_limits

ROOT = Path(__file__).parents[1]
RELEASES, GATE = ROOT / "examples" / "releases", ROOT / "examples" / "gate"


@pytest.mark.parametrize("command", TAKES)
def test_every_option_that_is_carried_is_one_of_the_command(command):
    known = {name: one for one in get_command(app).commands[command].params for name in one.opts}
    assert set(TAKES[command]) <= set(known)
    assert {name for name in TAKES[command] if known[name].is_flag} == set(TAKES[command]) & FLAGS
    assert {name for name in TAKES[command] if known[name].multiple} == set(TAKES[command]) & REPEATED


LEFT = {  # options that are not carried over: how an answer is written, and what suggestions ask themselves
    "audit": {"--digits", "--remedies"},
    "bound": {"--attained", "--of", "--of-rows", "--where"},
    "domain": {"--grid", "--independent-columns", "--label", "--raw", "--suggest"},  # it is asked of a model file
    "gate": {"--junit", "--sarif"},
    "inspect": {"--all", "--data", "--strip"},
    "positions": {"--added", "--certificates", "--learner", "--ranges", "--removed", "--truth", "--which-columns"},
    "remedy": {"--added", "--method", "--register", "--removed", "--strip"},
    "verify": {"--certificates", "--steps"},
}


@pytest.mark.parametrize("command", TAKES)
def test_every_other_option_is_left_out_on_purpose(command):
    known = {name for one in get_command(app).commands[command].params for name in one.opts if name[:2] == "--"}
    written = {"--json", "--log-json", "--out", "--quiet", "--show-table"}
    assert known - set(TAKES[command]) - written == LEFT[command]


def test_options_are_read_as_the_shell_gave_them():
    given = "recon audit 'a b.json' --domain='my d.csv' --time 5 --json --raw --policy p.toml -- --rows=3 --label"
    assert options_of(given) == {"--domain": "my d.csv", "--time": "5", "--raw": None, "--policy": "p.toml"}
    said = "recon audit t.csv --suppressed x=1..4 --sheet 2 --suppressed=-=0"
    assert options_of(said) == {"--suppressed": ("x=1..4", "-=0"), "--sheet": "2"}
    assert suggestion("verify", ["R"], asked=said) == "recon verify R --sheet 2 --suppressed x=1..4 --suppressed -=0"
    assert options_of(None) == options_of("recon audit 'half") == options_of("recon audit --domain") == {}


def test_a_suggestion_is_one_shell_command():
    with asking(["count", "x", "--domain", "d;rm -rf.csv", "--time", "3", "--digits", "5"]):
        said = suggestion("audit", ["-m.json", "a b", "-"], {"--policy": "p q.toml", "--time": "9"})
        assert command_line() == "recon count x --domain 'd;rm -rf.csv' --time 3 --digits 5"
    assert shlex.split(said) == [
        "recon", "audit", "./-m.json", "a b", "-", "--policy", "p q.toml", "--time", "9", "--domain", "d;rm -rf.csv",
    ]  # fmt: skip
    assert command_line() is None
    assert suggestion("verify", ["R"], asked="recon audit x --policy p --rows 9") == "recon verify R --rows 9"
    assert stripped_name("d/my.forest.pkl") == "my.forest-stripped.pkl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with files whose names a shell would take apart, and tables of the same kind of rows."""
    found = tmp_path_factory.mktemp("my files")
    for source, name in (
        (RELEASES / "compas_tree.json", "my tree;.json"), (GATE / "model.json", "-model.json"),
        (GATE / "policy.toml", "my policy.toml"), (RELEASES / "diabetes_forest.joblib", "d.joblib"),
        (RELEASES / "diabetes_rows.csv", "DATA.csv"), (RELEASES / "boosted_model.txt", "b.txt"),
        (ROOT / "examples" / "boosted_domain.json", "b domain.json"),
    ):  # fmt: skip
        shutil.copy(source, found / name)
    (found / "strict.toml").write_text("smallest_group = 12\nsmallest_cell = 12\n", encoding="utf-8")
    table = "ward,ill,count\nnorth,yes,x\nnorth,no,20\nsouth,yes,3\nsouth,no,-\n"
    (found / "my table.csv").write_text(table, encoding="utf-8")
    (found / "bits.toml").write_text("mean_bits_left = 1\nstored = 'critical'\n", encoding="utf-8")
    return found


SCENES = {
    "violated": ["my tree;.json", "--policy", "my policy.toml", "--time", "20", "--seed", "3"],
    "no policy": ["my tree;.json", "--memory", "900M"],
    "remedies": ["--policy=strict.toml", "--remedies", "--time=15", "--", "-model.json"],
    "no domain": ["d.joblib", "--policy", "bits.toml", "--time", "4"],
    "no domain, no policy": ["d.joblib", "--time", "4"],
    "table": ["my table.csv", "--suppressed", "x=1..4", "--suppressed=-=0", "--policy", "strict.toml"],
    "boosted": ["b.txt", "--domain", "b domain.json", "--policy", "strict.toml", "--time", "20"],
}


@pytest.fixture(scope="module")
def audited(folder):
    """Return the documents of the scenes, each made as users make it when it is first wanted."""

    class Documents(dict):
        def __missing__(self, name):
            done = subprocess.run(
                [sys.executable, "-m", "recon", "audit", "--json", *SCENES[name]],
                cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode in {0, 1, 4}, done.stderr
            return self.setdefault(name, json.loads(done.stdout))

    return Documents()


def commands_of(document):
    """Return every command that a document suggests, one by one."""
    found = [one.command for one in _every_step(document) if one.command]
    found += [one["command"] for one in document["remedies"] or () if one.get("command")]
    found += [one["command"] for one in (document.get("how") or {}).get("certificates") or ()]
    wanting = document.get("not_assessed")
    found += wanting["run"] if isinstance(wanting, dict) else []
    return list(dict.fromkeys(part for one in found for part in one.split("; ")))


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("scene", SCENES)
def test_suggested_commands_run_as_printed(folder, audited, monkeypatch, capsys, scene):
    monkeypatch.chdir(folder)
    document = audited[scene]
    (folder / "RESULT.json").write_text(json.dumps(document), encoding="utf-8")
    (folder / "policy.toml").unlink(missing_ok=True)
    found = commands_of(document)
    assert found
    for command in found:
        recon, *arguments = shlex.split(command)
        assert recon == "recon"
        code, _, err = run(capsys, *arguments)
        assert code in {0, 1, 4}, f"{command}: {err}"


@pytest.mark.sampled(0, 4)
@pytest.mark.parametrize("scene", SCENES)
def test_suggested_commands_carry_the_options_of_the_user(audited, scene):
    document = audited[scene]
    given = options_of(document["made"]["command"])
    for command in commands_of(document):
        name, options = command.split()[1], options_of(command)
        more = {} if "more time" in " ".join(one.text for one in _every_step(document)) else given
        for key, value in more.items():
            replaced = key in {"--policy", "--domain"} and options.get(key) not in {None, value}
            assert key not in TAKES.get(name, ()) or options.get(key) == value or replaced


@pytest.mark.slow
def test_text_says_the_same_commands(folder, audited, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    out = run(capsys, "audit", *SCENES["no domain, no policy"])[1]
    wanted = "recon inspect d.joblib --strip d-stripped.joblib --time 4"
    assert wanted in out
    assert wanted in [one.command for one in _every_step(audited["no domain, no policy"])]
    assert "recon positions d.joblib --out ROWS.csv --time 4 lists" in out
    assert "run recon audit d.joblib --domain DATA.csv --time 4 (" in out


@pytest.mark.slow
def test_boosted_models_are_never_merged(audited):
    document = audited["boosted"]
    assert document["facts"]["no_merging"]
    failed = [one for one in document["assessment"]["checks"] if one["outcome"] == "violated"]
    assert failed
    found = list(_every_step(document))
    for text in (json.dumps(document["assessment"]), *(f"{one.text} {one.command}" for one in found)):
        assert "recon remedy" not in text
        assert "Merge" not in text
    assert any("cannot be merged" in one["remedy"] for one in failed)


def test_small_cells_of_tables_are_hidden_not_merged(folder, monkeypatch, capsys):
    """The command is the one that works: it writes a table that meets the policy."""
    monkeypatch.chdir(folder)
    Path("t.csv").write_text("sex,age,n\nf,young,31\nf,old,4\nm,young,28\nm,old,49\n", encoding="utf-8")
    code, out, _ = run(capsys, "audit", "t.csv", "--policy", "preset:minimum-cell-10")
    (line,) = [line.strip() for line in out.splitlines() if line.strip().startswith("recon remedy")]
    assert (code, line) == (1, "recon remedy t.csv --policy preset:minimum-cell-10 --out better.csv")
    assert "Hide the cells that are too small" in out
    assert "Train again" not in out
    assert run(capsys, *shlex.split(line)[1:])[0] == 0
    assert "4" not in Path("better.csv").read_text(encoding="utf-8").replace("49", "")


@pytest.mark.slow
def test_what_recon_remedy_does_not_take_is_not_sent_there(audited):
    document = audited["violated"] | {"remedies": None}
    assert [one for one in _every_step(document) if one.command.startswith("recon remedy")]
    for change in (
        {"facts": document["facts"] | {"no_merging": "noise"}},
        {"audited": document["audited"] | {"files": document["audited"]["files"] * 2}},
        {"made": document["made"] | {"command": "recon audit x --register earlier"}},
        {"made": document["made"] | {"command": "recon audit x --rows 9"}},
    ):
        assert not [one for one in _every_step(document | change) if one.command.startswith("recon remedy")]


@pytest.mark.parametrize(
    ("helps", "told"),
    [
        ("limits", "--time 600 --memory 8G"), ("domain", "--domain DATA.csv"), ("profiles", "--profiles people.csv"),
        ("inspection", "recon inspect"), ("rows", None), ("", None),
    ],
)  # fmt: skip
def test_more_time_is_advised_only_where_time_settles_it(helps, told):
    document = _open_document()
    document["not_assessed"] = None
    for one in document["assessment"]["checks"]:
        if one["outcome"] == "inconclusive":
            one["would_help"] = helps
    found = [one.command for one in _every_step(document) if one.command]
    assert any("--time 600" in one for one in found) == (helps == "limits")
    assert told is None or any(told in one for one in found)


def _open_document():
    document = documents.met()
    document["assessment"]["outcome"] = "inconclusive"
    document["assessment"]["checks"][0]["outcome"] = "inconclusive"
    return document


def test_more_is_more_than_there_was():
    limits = {"seconds": 600, "memory": 16 << 30}
    assert _more_limits({"how": {"limits": limits}}) == {"--time": "6000", "--memory": "32G"}
    assert _more_limits({}) == {"--time": "600", "--memory": "8G"}


def test_nothing_is_installed_by_a_name_that_nobody_holds():
    """Whoever registers the name of this package in an index would run code on the machines of those who follow."""
    texts = [ROOT / "README.md", ROOT / "Makefile"]
    for folder, ends in (("recon", "py"), ("solvers", "py"), ("encoders", "py"), ("docs", "md"), ("examples", "*")):
        texts += [one for one in (ROOT / folder).rglob(f"*.{ends}") if one.is_file() and "__pycache__" not in one.parts]
    assert len(texts) > 600
    said = "\n".join(one.read_text(encoding="utf-8", errors="replace") for one in texts)
    assert re.findall(r"pip install (?:-\S+ )*['\"]?recon[\w-]*(?![\w/-])", said) == []
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.findall(r"installing\([\"'](\w+)[\"']\)|'\.\[([\w,]+)\]'", said)
    assert len(named) > 15
    assert {one for pair in named for one in "".join(pair).split(",")} <= set(extras)


def _told(text):
    """Return the commands in a text as somebody would copy them: from `recon` to the punctuation behind."""
    return [one.strip() for one in re.findall(r"(recon [a-z]+ (?:'[^']*'|[^\s;,()':]|(?<=\S) (?!and |lists ))+)", text)]


REFUSALS = {
    "no register": ("register", "none here"),
    "a table as the domain of a register": ("register", "new", "--add", "my tree;.json", "--decision", "release",
                                           "--domain", "DATA.csv"),
    "no result": ("report", "my tree;.json"),
    "a result of another command": ("report", "count.json"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_commands_in_refusals_run_as_printed(name, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    (folder / "count.json").write_text(run(capsys, "count", "my tree;.json", "--json")[1])
    code, _, err = run(capsys, *REFUSALS[name])
    assert code in {2, 3}
    found = _told(err)
    assert found, err
    for command in found:
        words = shlex.split(command.replace("FILE", "'my tree;.json'"))
        code, _, said = run(capsys, *words[1:])
        assert code in {0, 1, 4}, f"{command}: {said}"


def _strings(thing):
    """Yield every string inside a JSON value."""
    if isinstance(thing, str):
        yield thing
    for one in thing.values() if isinstance(thing, dict) else thing if isinstance(thing, list) else ():
        yield from _strings(one)


def _stored_commands():
    """Return the commands on a file of the suite that stored answers print, as they stand there."""
    stored = json.loads(gzip.decompress((ROOT / "tests" / "golden_answers.json.gz").read_bytes()))["answers"]
    known, found = get_command(app).commands, set()
    for text in {one for one in _strings(stored) if "recon " in one}:
        for part in re.finditer(r"\brecon ([a-z]+(?: (?:'[^']*'|[^\s;,()'`\"<&]+))+)", text):
            if part.end() == len(text):
                continue  # long texts are stored cut
            words = shlex.split(part[1])
            prose = [k for k, word in enumerate(words[1:], 1) if word.isalpha() and words[k - 1][:2] != "--"]
            words = words[: prose[0]] if prose else words
            if words[0] in known and any((ROOT / word).is_file() for word in words) and words[-1][:2] != "--":
                found.add(tuple(words))
    return sorted(found)


def test_commands_in_stored_answers_are_understood(tmp_path, monkeypatch, capsys):
    """Commands that answers print on files of the suite are parsed as printed; those for drafts of domains are run."""
    found = _stored_commands()
    assert len(found) > 10
    for name, *words in found:
        get_command(app).commands[name].make_context(name, [*words])
    drafted = [words for words in found if words[0] == "domain"]
    assert drafted
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for words in drafted:
        code, _, err = run(capsys, *words)
        assert code == 0, f"recon {shlex.join(words)}: {err}"
        assert json.loads((tmp_path / "domain.json").read_text())["domain"]


def test_the_condition_of_a_group_runs_as_printed(folder, monkeypatch, capsys):
    """With values that a shell would take apart, and with the domain that the user gave."""
    monkeypatch.chdir(folder)
    names = ["it's", 'a "b"; c', "c"]
    domain = {"attributes": [{"name": "x y", "values": names}], "label": {"name": "y", "values": [0, 1]}}
    rules = [{"if": {"x y": {"in": names[:2]}}, "count": 12}, {"if": {"x y": names[0]}, "count": 11}]
    release = {"recon": 1, "domain": domain, "rows": 40, "models": [{"kind": "rule_set", "rules": rules}]}
    (folder / "my rules.json").write_text(json.dumps(release))
    (folder / "d 1.json").write_text(json.dumps({"recon": 1, "domain": domain, "models": []}))
    given = ("my rules.json", "--policy", "strict.toml", "--domain", "d 1.json", "--time", "30")
    code, out, _ = run(capsys, "audit", *given, "--json")
    assert code == 1
    first = json.loads(out)["facts"]["groups"][0]
    assert first["rows"] == [1, 1]
    words = shlex.split(first["how"].partition(": ")[2])
    assert words[:3] == ["recon", "bound", "my rules.json"]
    assert words[-4:] == ["--domain", "d 1.json", "--time", "30"]
    code, out, _ = run(capsys, *words[1:], "--json")
    found = json.loads(out)
    assert (code, found["min"], found["max"]) == (0, 1, 1)
