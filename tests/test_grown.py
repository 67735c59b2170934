"""Files with grown numbers: no command takes more than it may (tests/grown.py, `make safety`)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import grown
import pytest

SCRIPT = Path(__file__).with_name("grown.py")


def test_commands_keep_to_their_limits(tmp_path):
    """Thirty of them: 500 take more than two minutes; a process of its own, because what pytest holds would count."""
    command = [sys.executable, str(SCRIPT), "--seed", "2026", "--number", "30", "--out", str(tmp_path / "found.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["2026"]
    assert found["wrong"] == [], done.stdout
    assert sum(found["cases"].values()) == 30
    assert set(found["cases"]) == set(grown.KINDS)


@pytest.mark.parametrize(
    ("main", "what"),
    [
        (lambda: sys.exit(70), lambda code, taken, most: code == 70),
        (lambda: {}["key"], lambda code, taken, most: code == 99),
        (lambda: bytearray(b"x" * (1 << 30)), lambda code, taken, most: most > grown.MEMORY),
        (lambda: sum(range(20_000_000)), lambda code, taken, most: taken > 0.1),
    ],
)  # fmt: skip
def test_what_a_command_takes_is_seen(monkeypatch, main, what):
    monkeypatch.setattr("recon.cli.app.main", main)
    code, taken, most, _ = grown.forked(["count"])
    assert what(code, taken, most)
