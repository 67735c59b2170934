"""The exit code is the verdict's, whatever becomes of what is printed, and no name of a file chooses another policy."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml
from typer.main import get_command

import recon
from recon.cli.app import _run_app, app, main
from recon.cli.output.streaming import write_worlds
from recon.io.console.output import ESCAPED, Channel, _escaped, failure_of, lost_output

ROOT = Path(__file__).parents[1]
GATE, GOLDEN = ROOT / "examples" / "gate", Path(__file__).parent / "golden"
VERSIONS = ROOT / "examples" / "versions"
MODEL, POLICY, TREE = GATE / "model.json", GATE / "policy.toml", GOLDEN / "tree_classes.json"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}


def broken(encoding="utf-8"):
    """Return standard output as the command line has it, over a pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    return io.TextIOWrapper(io.BufferedWriter(Channel(write), 64), encoding)


def code_of(monkeypatch, arguments, stdout=None):
    """Return the exit code of a command in this process, as `recon` ends."""
    monkeypatch.setattr("sys.argv", ["recon", *map(str, arguments)])
    with monkeypatch.context() as inner:
        if stdout is not None:
            inner.setattr("sys.stdout", stdout)
        with pytest.raises(SystemExit) as ended:
            main()
    return ended.value.code


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a result whose certificate was forged, the result of an audit, people, and a register."""
    folder = tmp_path_factory.mktemp("channel")
    for name, source in (("tree.json", TREE), ("model.json", MODEL), ("policy.toml", POLICY)):
        shutil.copy(source, folder / name)
    (folder / "people.csv").write_text("a,b\n0,0\n", encoding="utf-8")
    found = subprocess.run(
        [sys.executable, "-m", "recon", "audit", "tree.json", "--policy", "policy.toml", "--json"],
        cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 1, found.stderr
    (folder / "result.json").write_text(found.stdout, encoding="utf-8")
    made = recon.audit(recon.load(str(TREE)))
    (folder / "met.json").write_text(made.to_json(), encoding="utf-8")
    counted = subprocess.run(
        [sys.executable, "-m", "recon", "count", str(GOLDEN / "contradiction.json"), "--json"],
        cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    (folder / "forged.json").write_text(counted.stdout, encoding="utf-8")
    domain = {"attributes": [{"name": "a", "values": [0, 1]}]}
    table = {"kind": "table", "statements": [{"where": {"a": 1}, "at_least": 3}]}
    (folder / "open.json").write_text(json.dumps({"recon": 1, "domain": domain, "models": [table]}), encoding="utf-8")
    (folder / "earlier").mkdir()
    (folder / "earlier" / "register.toml").write_text("register = 1\n", encoding="utf-8")
    return folder


COMMANDS = [
    (1, "audit tree.json --policy policy.toml --json"), (1, "audit tree.json --policy policy.toml"),
    (1, "gate tree.json --policy policy.toml"), (1, "gate tree.json --policy policy.toml --json"),
    (1, "verify forged.json tree.json"), (1, "report result.json"), (1, "report result.json --to html"),
    (5, f"count {GOLDEN / 'contradiction.json'}"), (5, f"audit {GOLDEN / 'contradiction.json'} --json"),
    (4, "count open.json --json"), (3, "count policy.toml"), (2, "count"), (2, "policy no.toml"),
    (0, "count tree.json"), (0, "worlds tree.json"), (0, "sample tree.json -k 9 --json"), (0, "table tree.json"),
    (2, "queries"), (2, "population tree.json --profiles people.csv"),
    (0, "reconstruct tree.json"), (0, "inspect tree.json"), (0, "schema"), (0, "engines"), (0, "policy --list"),
    (0, "policy policy.toml"), (0, "plan tree.json"), (0, "domain tree.json"), (0, "register earlier"),
    (0, f"difference {VERSIONS / 'march.joblib'} {VERSIONS / 'april.joblib'}"),
    (0, "export tree.json --to opb --out -"), (0, "convert tree.json"), (0, "bound tree.json --where {}"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "line"), COMMANDS, ids=lambda one: str(one)[:40])
def test_a_reader_that_left_changes_no_exit_code(files, monkeypatch, code, line):
    monkeypatch.chdir(files)
    stream = broken()
    assert code_of(monkeypatch, line.split(), stream) == code
    assert code in {2, 3, 4} or failure_of(stream) is not None, "nothing was printed, so that nothing was tried"


def test_every_command_is_tried_with_a_reader_that_left():
    known = {name for name, one in get_command(app).commands.items() if not hasattr(one, "commands")}
    tried = {line.split()[0] for _, line in COMMANDS}
    slow = {
        "remedy",
        "positions",
        "labels",
        "magnitudes",
        "posterior",
        "denoise",
        "sweep",
        "reproduce",
        "certify",
        "attribute",
        "variability",
        "decisions",
        "serve",
    }
    assert known == tried | slow


@pytest.mark.sampled(1, 4)
@pytest.mark.parametrize(("line", "code"), [
    ("audit tree.json --policy policy.toml --json | head -c 10", 1), ("verify forged.json tree.json | head -n 1", 1),
    ("gate tree.json --policy policy.toml 2>&1 | true", 1), ("gate tree.json --policy policy.toml >&-", 1),
    ("gate tree.json --policy policy.toml 2>&-", 1), ("gate tree.json --policy policy.toml <&- >&- 2>&-", 1),
    ("gate - --policy policy.toml <&-", 3), ("count tree.json >/dev/full", 3),
    ("gate tree.json --policy policy.toml >/dev/full", 1), ("audit tree.json --out /dev/stdout | grep -q exposed", 0),
])  # fmt: skip
def test_channels_of_real_processes(files, line, code):
    script = f'"{sys.executable}" -m recon {line}; echo "code ${{PIPESTATUS[*]}}" >ended'
    done = subprocess.run(["bash", "-c", script], cwd=files, env=ENVIRONMENT, capture_output=True, check=False)
    first, *others = map(int, (files / "ended").read_text(encoding="utf-8").split()[1:])
    assert first == code, done.stderr
    assert not any(others), "what was asked for was not printed"
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.slow
def test_what_stderr_says_is_not_printed_among_results_where_it_is_closed(files):
    said = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -m recon audit tree.json --policy policy.toml --out x.html 2>&-'],
        cwd=files, env=ENVIRONMENT, stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    assert (said.returncode, said.stdout) == (1, b"")


def test_a_full_disk_is_said_and_is_not_done(monkeypatch, capsys):
    full = io.TextIOWrapper(io.BufferedWriter(Channel(os.open("/dev/full", os.O_WRONLY))), "utf-8")
    assert code_of(monkeypatch, ["engines"], full) == 3
    assert "standard output cannot be written: No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize("line", [
    "audit tree.json --policy policy.toml --out /dev/full", "report result.json --out /dev/full",
    "audit tree.json --policy policy.toml --out no/such/folder.json",
])  # fmt: skip
def test_a_verdict_stands_where_its_report_cannot_be_written(files, monkeypatch, capsys, line):
    monkeypatch.chdir(files)
    assert code_of(monkeypatch, line.split()) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert code_of(monkeypatch, line.replace(" --policy policy.toml", "").replace("result", "met").split()) == 3


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
def test_a_verdict_stands_where_its_report_is_stopped(files, monkeypatch, failure):
    def failed(*_, **__):
        raise failure

    monkeypatch.chdir(files)
    monkeypatch.setattr("recon.cli.app.write_text", failed)
    assert code_of(monkeypatch, ["audit", "tree.json", "--policy", "policy.toml"]) == 1
    assert code_of(monkeypatch, ["audit", "tree.json"]) == 4


def test_a_reader_that_left_ends_endless_worlds(monkeypatch):
    stream = broken()
    monkeypatch.setattr("sys.stdout", stream)
    stream.write("x" * 10_000)
    drawn = []

    def endless():
        while len(drawn) < 100:
            drawn.append(1)
            yield type("World", (), {"note": "", "rows": 1})()

    monkeypatch.setattr("recon.cli.output.streaming._flushed", lambda sink, written, batch, views: written)
    monkeypatch.setattr("recon.cli.output.streaming._sink_of", lambda out, as_json: _Nowhere())
    write_worlds(endless(), False, None, False)
    assert len(drawn) == 1


class _Nowhere:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def close(self):
        """Write nothing."""


def test_a_pipe_between_processes_of_ours_that_breaks_is_no_reader_that_left(monkeypatch, capsys):
    def failed(*_, **__):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("recon.readers.formats.release.schema.json_schema", failed)
    monkeypatch.setattr("sys.argv", ["recon", "schema"])
    with pytest.raises(SystemExit) as ended:
        _run_app()
    assert ended.value.code == 3
    assert "Broken pipe" in capsys.readouterr().err


def test_what_an_encoding_lacks_is_escaped_as_json_reads_it():
    for text in ("ÿ", "€", "\U0001f600", "x é y"):
        shown = f'"{text}"'.encode("ascii", ESCAPED) if _registered() else b""
        assert json.loads(shown) == text
    with pytest.raises(UnicodeDecodeError):
        _escaped(UnicodeDecodeError("ascii", b"x", 0, 1, "no"))


def _registered():
    import codecs

    codecs.register_error(ESCAPED, _escaped)
    return True


def test_lost_output_is_none_where_a_reader_left(monkeypatch):
    stream = broken()
    monkeypatch.setattr("sys.stdout", stream)
    stream.write("x" * 100)
    assert lost_output() is None
    assert failure_of(stream) is not None


def leaves(command, path=()):
    """Yield every command with the words that name it."""
    for name, one in getattr(command, "commands", {}).items():
        yield from leaves(one, (*path, name))
    if not hasattr(command, "commands"):
        yield path, command


LEAVES = list(leaves(get_command(app)))


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[" ".join(path) for path, _ in LEAVES])
def test_an_option_of_one_value_is_given_once(path, command):
    single = [one for one in command.params if one.param_type_name == "option" and not one.multiple]
    for one in single:
        if one.is_flag and not one.secondary_opts:
            twice = [one.opts[0], one.opts[0]]
        elif one.is_flag:
            twice = [one.opts[0], one.secondary_opts[0]]
        else:
            twice = [one.opts[0], *["1"] * one.nargs, one.opts[-1], *["2"] * one.nargs]
        context = typer.Context(command, info_name=" ".join(path))
        if one.is_flag and not one.secondary_opts:
            assert command.make_parser(context).parse_args(twice)[0][one.name] is True
            continue
        with pytest.raises(Exception, match="is given more than once: give it once") as refusal:
            command.make_parser(context).parse_args(twice)
        assert isinstance(refusal.value, typer.BadParameter)


def test_an_option_of_several_values_is_given_as_often_as_one_likes():
    (count,) = (one for path, one in LEAVES if path == ("count",))
    parsed = count.make_parser(typer.Context(count)).parse_args(["x", "--counter", "d4", "--counter", "ganak"])
    assert parsed[0]["counter"] == ["d4", "ganak"]


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """Return a function that makes a project with a committed file of a name, a policy that nothing violates."""
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(MODEL, folder / "leaky.pkl")
    shutil.copy(POLICY, folder / "policy.toml")
    monkeypatch.chdir(folder)

    def commit(name):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text('name = "loose"\nmost_pinned = 1000000\n', encoding="utf-8")

    return commit


HOOK = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))[0]
NAMES = ["--policy=d/loose.pkl", "--domain=wide.pkl", "-k9.pkl", "-", "--json"]


@pytest.mark.parametrize("name", NAMES)
def test_the_hook_takes_no_name_of_a_file_for_an_option(committed, monkeypatch, capsys, name):
    committed(name)
    entry, *rest = HOOK["entry"].split()
    assert entry == "recon"
    assert HOOK["args"][-1] == "--"
    assert code_of(monkeypatch, [*rest, *HOOK["args"], name, "leaky.pkl"]) == 1
    assert "leaky.pkl: do not release" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_a_hook_without_the_dashes_is_refused_and_releases_nothing(committed, monkeypatch, capsys, name):
    committed(name)
    _, *rest = HOOK["entry"].split()
    assert code_of(monkeypatch, [*rest, "--policy", "policy.toml", name, "leaky.pkl"]) == 2
    said = capsys.readouterr()
    assert f"write ./{name} for the file" in said.err
    assert not said.out


def test_a_preset_is_a_preset_whatever_files_are_called(committed, monkeypatch, capsys):
    committed("preset:minimum-cell-10")
    assert code_of(monkeypatch, ["gate", "leaky.pkl", "--policy", "preset:minimum-cell-10"]) == 1
    assert "minimum-cell-10" in capsys.readouterr().out
