"""Every example of the documentation is run, and prints what its page says (the marks of a page: tests/doc_blocks.py).

Each page begins in a folder of its own that holds `examples/`. In reference pages and README the command line parses
every `recon ...` line of a block of commands without running it; of commands in sentences the names of options exist.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from doc_blocks import agrees, blocks, commands, fences
from extras import run
from hypothesis import given
from hypothesis import strategies as st

import recon
from recon.cli.app import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RUN = ["index", "start", "may-i-release-this", "ideas", "policy", "remedies", "register", "persons", "random-forest",
       "tables", "magnitudes", "census", "published-models", "how-exact", "how-long", "own-solver",
       "extending"]  # fmt: skip
DEAR = {"README", "census", "own-solver", "published-models", "random-forest", "tables"}  # 8 to 70 s of the processor
SLOW = pytest.mark.slow
PAGES = [ROOT / "README.md", *(DOCS / f"{name}.md" for name in RUN)]
REFERENCES = sorted(set(DOCS.glob("*.md")) - set(PAGES))
GROUP = typer.main.get_command(app)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder with the examples, made the current one, in whose shell `recon` and `python` are ours."""
    here, tools = tmp_path / "page", tmp_path / "tools"
    tools.mkdir()
    shutil.copytree(ROOT / "examples", here / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for name, words in (("recon", "-m recon"), ("python", ""), ("python3", "")):
        (tools / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return here


def lines(text):
    """Return the command lines of a text of shell, those that go on after a backslash as one, without comments."""
    return [line for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip() and not line.startswith("#")]


def words(line):
    """Return the words of a command of recon that needs no shell, or None."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&$*`")
    lexer.whitespace_split = True
    found = list(lexer)
    plain = found[:1] == ["recon"] and not any(set(word) <= set("();<>|&$*`") for word in found)
    return found[1:] if plain and not set("$*`~") & set(line) else None


def shell(text, capsys):
    """Run commands; return the exit code of the last (or of the first that failed) and what all printed."""
    asked = [words(line) for line in lines(text)]
    if all(asked):
        code, out, err = 0, "", ""
        for i, arguments in enumerate(asked):
            code, more, warned = run(capsys, *arguments)
            out, err = out + more, err + warned
            if code and i + 1 < len(asked):
                return f"{code} of {arguments}", out, err
        return code, out, err
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize("page", [pytest.param(p, id=p.stem, marks=SLOW if p.stem in DEAR else ()) for p in PAGES])
def test_a_page_prints_what_it_says(page, folder, capsys):
    names = {"__name__": "__main__"}
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block.text, where, "exec"), names)
            assert block.output is None or agrees(block.output, printed.getvalue()), f"{where}\n{printed.getvalue()}"
        else:
            for command, said in commands(block):
                code, out, err = shell(command, capsys)
                assert code == block.exit, f"{where}: exit code {code}\n{out}\n{err}"
                assert "Traceback" not in out + err, where
                heard = (out, err, f"{out}{err}", f"{err}{out}")
                assert said is None or any(agrees(said, text) for text in heard), f"{where}\n{out}\n{err}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_not_run_says_why_and_every_block_has_a_language(page):
    for block in fences(page.read_text(encoding="utf-8")):
        assert block.language, f"{page.name}:{block.line}"
        assert block.not_run is None or len(block.not_run) > 5, f"{page.name}:{block.line}"


def parsed(arguments):
    """Parse the words of a command as the command line does, without running it; raises what it would say."""
    context, command = typer.Context(GROUP, info_name="recon"), GROUP
    while hasattr(command, "commands"):
        assert arguments, "a group without a command"
        name, *arguments = arguments
        assert name in command.commands, f"there is no command {name}"
        command = command.commands[name]
    command.make_context(command.name, list(arguments), parent=context)


def alternatives(line):
    """Return the commands that a line of the README stands for: `recon worlds | sample release.json` is two of them."""
    text = re.split(r"\s+#|;|<", line)[0]
    text = re.sub(r"\s(?:>|2>).*", "", text).strip()
    first, *others = re.split(r"\s+\|\s+", text)
    rest = others[-1].split(" ", 1)[1] if others and " " in others[-1] else ""
    heads = [first, *(f"recon {other.split()[0]}" for other in others)]
    known = all(other.split()[0] in GROUP.commands for other in others)
    return [f"{head} {rest}" for head in heads] if others and known else [first]


def told(page):
    """Yield the line and the text of every command of recon in the blocks of a page."""
    for block in fences(page.read_text(encoding="utf-8")):
        if block.language in {"sh", "console", "text", ""}:
            begins = "$ recon " if block.language in {"text", "console"} else "recon "
            for line in lines(block.text):
                if line.startswith(begins):
                    for command in alternatives(line.removeprefix("$ ")):
                        yield block.line, command


@pytest.mark.parametrize("page", REFERENCES, ids=lambda page: page.stem)
def test_commands_in_blocks_of_reference_pages_are_understood(page):
    for line, command in told(page):
        arguments = shlex.split(command)[1:]
        if arguments[0].startswith("-"):  # of recon itself
            assert arguments[0] in {name for one in GROUP.params for name in one.opts}, command
            continue
        try:
            parsed(arguments)
        except Exception as wrong:
            pytest.fail(f"{page.name}:{line}: {command}: {wrong!r}")


INLINE = re.compile(r"`(recon [a-z][^`]*)`")


@pytest.mark.parametrize("page", [*REFERENCES, *PAGES], ids=lambda page: page.stem)
def test_commands_in_sentences_exist_with_their_options(page):
    text = re.sub(
        r"\s+", " ", re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    )
    for command in INLINE.findall(text):
        for one in alternatives(command):
            assert not missing(one.split()[1:]), f"{page.name}: {command}"


def missing(arguments):
    """Return what of a command's words, its name and the names of its options, does not exist."""
    command, names = GROUP, []
    while hasattr(command, "commands"):
        if not arguments or arguments[0].startswith("-") or arguments[0].isupper():
            break
        name, *arguments = arguments
        if name not in command.commands:
            return [name]
        command = command.commands[name]
    for one in (command, *getattr(command, "commands", {}).values()):  # of a group: any of its commands
        names += [name for option in one.params for name in (*option.opts, *option.secondary_opts)]
    options = {re.split(r"[=,.)]", word)[0] for word in arguments if word.startswith("--")}
    return sorted(options - {*names, "--help"})


def test_pages_are_there():
    assert len(PAGES) >= 9
    assert len(REFERENCES) > 10
    assert sum(1 for page in REFERENCES for _ in told(page)) > 40
    assert recon.__file__.startswith(str(ROOT))


@pytest.mark.parametrize(("said", "printed", "same"), [
    ("a 1\n...\nz", "a 1\nb\nc\nz\n", True), ("a 1\n...\nz", "a 2\nb\nz\n", False), ("a ... s", "a 0.3 s", True),
    ("a ... s", "a 0.3 s\nmore", False), ("a\n...", "a", True), ("...\n2 rows", "3\n12 rows", False), ("", "x", False),
    ("...\nb\n...\nb\n...", "a\nb\nc", False), ("...\nb\n...\nb\n...", "a\nb\nc\nb", True), ("a\n...\na", "a", False),
])  # fmt: skip
def test_dots_stand_for_anything_and_figures_for_themselves(said, printed, same):
    assert agrees(said, printed) is same


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1))
def test_lines_left_out_agree_and_a_wrong_one_does_not(lines_kept):
    printed = "\n".join(line for line, _ in lines_kept)
    said = "\n".join(line if kept else "..." for line, kept in lines_kept)
    assert agrees(said, printed)
    assert not agrees(f"{said}\n...\nd\n...", printed)


@pytest.mark.parametrize("line", [
    "recon cuont x.json", "recon count x.json --convntion ordered", "recon count", "recon export x.json --to nothing",
    "recon learn", "recon attack guess x.json",
])  # fmt: skip
def test_a_wrong_command_is_found(line):
    with pytest.raises(Exception):  # noqa: B017, PT011  what it is called depends on typer
        parsed(line.split()[1:])
