"""A minimal install, without scipy, ortools, highspy, python-sat and networkx, judges trees as a whole one does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RELEASES = ROOT / "examples" / "releases"
MISSING = """
import sys
import tomllib
from importlib.machinery import PathFinder
find = PathFinder.find_spec
missing = {"scipy", "ortools", "highspy", "pysat", "networkx", "sklearn", "matplotlib", "pyarrow", "numba"}
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] in missing else find(name, *more)
sys.argv[0] = "recon"
from recon.__main__ import main
main()
"""


def without_solvers(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that finds only what a minimal install brings."""
    return subprocess.run(
        [sys.executable, "-c", MISSING, *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.slow
def test_a_tree_is_gated_and_mended(tmp_path):
    tree, policy = str(RELEASES / "compas_tree.json"), ("--policy", "preset:minimum-cell-10")
    gate = without_solvers("gate", tree, *policy, "--json")
    assert gate.returncode == 1, gate.stderr
    whole = subprocess.run(
        [sys.executable, "-m", "recon", "gate", tree, *policy, "--json"],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert json.loads(gate.stdout) == json.loads(whole.stdout)
    better = str(tmp_path / "better.json")
    remedy = without_solvers("remedy", tree, *policy, "--out", better)
    assert remedy.returncode == 0, remedy.stderr
    assert "9 merges" in remedy.stdout
    gate = without_solvers("gate", better, *policy)
    assert gate.returncode == 0, gate.stdout


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("words", "package"),
    [
        (("difference", "examples/versions/march.joblib", "examples/versions/april.joblib"), "ortools"),
        (("plan", "examples/releases/compas_forest.json"), "scipy"),
        (("audit", "examples/releases/compas_forest.json", "--policy", "preset:minimum-cell-10"), "ortools"),
    ],
)
def test_what_needs_a_solver_says_how_to_install_it(words, package):
    found = without_solvers(*words)
    assert found.returncode == 3
    assert f"{package} is not installed: pip install '.[solvers]' in the folder of recon's source" in found.stderr
    assert "internal error" not in found.stderr


@pytest.mark.slow
def test_positions_of_known_bags_need_no_solver():
    found = without_solvers("positions", "examples/releases/diabetes_forest.joblib")
    assert found.returncode == 0, found.stderr


@pytest.mark.slow
def test_bounds_name_the_missing_package():
    found = without_solvers("count", "examples/releases/compas_forest.json")
    assert found.returncode == 4
    assert "why bounds only: scipy is not installed" in found.stdout


def container() -> list[str]:
    """Return the instructions of the Containerfile, each as one line.

    FROM is never run here: no base image can be had where these tests run. What stands beside it can be checked.
    """
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line and line[0] != "#"]


def test_the_container_copies_what_is_there():
    """Also what the package is built from: a file that pyproject names and no COPY brings would break the build."""
    copied = [line.split()[1:-1] for line in container() if re.match(r"COPY (?!--)", line)]
    names = {name for names in copied for name in names}
    assert names
    assert all((ROOT / name).exists() for name in names)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    built = {project["project"]["readme"], "LICENSE", "pyproject.toml", "recon", "encoders", "solvers"}
    assert built <= names
    asked = re.findall(r"EXTRAS='\[(\w+)\]'|or '\[(\w+)\]'", (ROOT / "Containerfile").read_text(encoding="utf-8"))
    assert {one or other for one, other in asked} <= set(project["project"]["optional-dependencies"])
    version = {re.search(r"python:(\d\.\d+)-slim", line)[1] for line in container() if line.startswith("FROM")}
    assert len(version) == 1
    assert f"Programming Language :: Python :: {version.pop()}" in project["project"]["classifiers"]


@pytest.mark.slow
def test_the_check_that_ends_a_broken_container_passes(tmp_path):
    """The second RUN line, with this checkout in the place of /src and of what was installed."""
    (line,) = [line for line in container() if line.startswith("RUN cd /src/")]
    command = line.removeprefix("RUN ").replace("/src/", f"{ROOT}/").replace("/tmp/audit.html", f"{tmp_path}/a.html")
    command = command.replace("/opt/recon/bin/recon", f"{sys.executable} -m recon")
    done = subprocess.run(
        ["sh", "-c", command], check=False, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stderr
    assert "DO NOT RELEASE" in (tmp_path / "a.html").read_text(encoding="utf-8").upper()
