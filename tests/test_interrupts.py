"""Ctrl-C from the first import to the last line: a sentence and exit code 4, or a whole answer; whole files."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seconds of the processor are read as Linux gives them")

ROOT = Path(__file__).resolve().parents[1]
RELEASES = ROOT / "examples" / "releases"
MOMENTS = 40
COMMANDS = (
    ("count", "boosted_model.txt", "--domain", str(ROOT / "examples" / "boosted_domain.json")),
    ("audit", "diabetes_forest.joblib", "--out", "a.json"),
    ("certify", "adult_tree.json", "--profiles", "profiles.csv", "--json", "--out", "c.json"),
    ("sample", "compas_tree.json", "-k", "20", "--out", "s.csv"),
    ("positions", "diabetes_forest.joblib", "--out", "p.json"),
    ("remedy", "compas_tree.json", "--policy", "preset:minimum-cell-10", "--out", "r.json"),
)
IN_EXEC = """
import signal, sys
from recon.io.console.interrupts import stopped
signal.signal(signal.SIGINT, {handler})
try:
    exec("signal.raise_signal(signal.SIGINT)")
except KeyboardInterrupt:
    sys.exit(4)
"""


@pytest.mark.parametrize(("handler", "code"), [("stopped", 4), ("signal.default_int_handler", -signal.SIGINT)])
def test_a_ctrl_c_inside_of_exec_does_not_end_the_process_by_the_signal(handler, code, tmp_path):
    """Imports of dataclasses and named tuples run `exec`, after which CPython ends `-m` so whatever was caught."""
    (tmp_path / "module.py").write_text(IN_EXEC.format(handler=handler), encoding="utf-8")
    settings = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, "-m", "module"], check=False, env=settings)
    assert done.returncode == code


def used(process: subprocess.Popen) -> float:
    """Return the seconds of the processor of a process."""
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(words: tuple[str, ...], folder: Path, moment: float) -> tuple[float, int, str]:
    """Return the seconds that a command took, its exit code and what it complained, interrupted after so many."""
    folder.mkdir()
    (folder / "profiles.csv").write_text(
        "gender,age,hours_per_week\nFemale,low,low\nMale,high,high\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "recon", words[0], str(RELEASES / words[1]), *words[2:]]
    process = subprocess.Popen(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, text=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    sent = seconds = 0.0
    while process.poll() is None:
        seconds = used(process)
        if not sent and seconds >= moment:
            process.send_signal(signal.SIGINT)
            sent = seconds
        assert seconds < (sent or seconds) + 10.0, "nobody hears it"
        time.sleep(0.005)
    with process:
        return seconds, process.returncode, process.stderr.read()


@pytest.mark.long
def test_forty_moments_of_six_commands(tmp_path):
    """From .05 s on: before that Python itself is starting."""
    dice = random.Random(0)
    whole = [interrupted(words, tmp_path / words[0], 1e9)[0] for words in COMMANDS]
    for k in range(MOMENTS):
        words, folder = COMMANDS[k % len(COMMANDS)], tmp_path / str(k)
        moment = dice.uniform(0.05, whole[k % len(COMMANDS)])
        _, code, told = interrupted(words, folder, moment)
        assert code in {0, 4}, (k, words, moment, told)
        assert "Traceback" not in told
        for path in folder.iterdir():
            assert path.suffix in {".json", ".csv"}, path  # nothing half-written beside
            if path.suffix == ".json":
                json.loads(path.read_text(encoding="utf-8"))
