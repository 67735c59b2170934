"""A minimal install, without scipy, ortools, highspy, python-sat and networkx, judges trees as a whole one does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RELEASES = ROOT / "examples" / "releases"
MISSING = """
import sys
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("words", "package"),
    [
        (("difference", "examples/versions/march.joblib", "examples/versions/april.joblib"), "ortools"),
        (("positions", "examples/releases/diabetes_forest.joblib"), "scipy"),
        (("plan", "examples/releases/compas_forest.json"), "scipy"),
        (("audit", "examples/releases/compas_forest.json", "--policy", "preset:minimum-cell-10"), "ortools"),
    ],
)
def test_what_needs_a_solver_says_how_to_install_it(words, package):
    found = without_solvers(*words)
    assert found.returncode == 3
    assert f"{package} is not installed: pip install '.[solvers]' in the folder of recon's source" in found.stderr
    assert "internal error" not in found.stderr


def test_bounds_name_the_missing_package():
    found = without_solvers("count", "examples/releases/compas_forest.json")
    assert found.returncode == 4
    assert "why bounds only: scipy is not installed" in found.stdout
