"""`recon --version`, and completion of commands by the shell."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from extras import run

import recon

ROOT = Path(__file__).parents[1]
HEAVY = {"numpy", "pandas", "scipy", "sklearn", "ortools", "matplotlib"}


def test_the_version_is_that_of_the_package(capsys):
    code, out, err = run(capsys, "--version")
    assert (code, out, err) == (0, f"recon {recon.__version__}\n", "")
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == recon.__version__


def test_a_command_may_follow_nothing_but_options_of_its_own(capsys):
    code, _, err = run(capsys, "--versions")
    assert code == 2
    assert "--versions" in err


def recon_alone(*arguments, **asked):
    """Return what the command prints in a process of its own with these variables set, and what it loads."""
    code = (
        f"import sys; sys.argv = ['recon', *{arguments!r}]\nfrom recon.cli.app import main\n"
        "try: main()\nexcept SystemExit: pass\nprint(sorted({m.split('.')[0] for m in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT,
                          env={**os.environ, **asked})  # fmt: skip
    return done.stdout, done.stderr


def completed(words, at):
    """Return what bash is offered for words of which the one at an index is being typed."""
    out, loaded = recon_alone(_RECON_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(at))
    assert not [name for name in HEAVY if f"'{name}'" in loaded]  # every press of the key waits for it
    return out.split()


@pytest.mark.slow
def test_the_shell_is_offered_commands_and_options():
    assert completed("recon co", 1) == ["convert", "count"]
    assert {"--domain", "--json", "--time"} <= set(completed("recon count --", 2))
    assert "membership" in completed("recon attack m", 2)
    assert completed("recon count some", 2) == []  # the shell itself offers files then


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell):
    out, _ = recon_alone("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert f"_RECON_COMPLETE=complete_{shell}" in out
    assert "python" not in out
