"""The example project: its workflow, run step by step, fails on the leaky model and passes the remedied one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from defusedxml import ElementTree

from recon.policies.policy import read_policy

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "gate"
WORKFLOW = yaml.safe_load((EXAMPLE / ".github" / "workflows" / "gate.yml").read_text(encoding="utf-8"))
HELD, REMEDIED = "Hold the model to the policy", "Audit the remedied model"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a copy of the project, and a shell in which `recon` is this one and `pip` installs nothing."""
    folder = tmp_path_factory.mktemp("gate") / "project"
    shutil.copytree(EXAMPLE, folder)
    tools = folder.parent / "bin"
    tools.mkdir()
    for name, line in (
        ("recon", f'exec "{sys.executable}" -m recon "$@"'),
        ("pip", f'echo "$@" >> "{tools}/installed"'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def step(script):
        """Run a script as the runners of GitHub do: bash, ending at the first command that fails."""
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return folder, step


@pytest.fixture(scope="module")
def run(project):
    """Return what every `run:` step of the workflow ended with, by job and step; a job ends at a step that fails."""
    _, step = project
    done = {}
    for job, said in WORKFLOW["jobs"].items():
        for one in (one for one in said["steps"] if "run" in one):
            done[job, one["name"]] = found = step(one["run"])
            if found.returncode:
                break
    return done


def leaf_counts(path):
    """Return the counts per class of every leaf of the one tree in a release file."""
    nodes = json.loads(path.read_text(encoding="utf-8"))["models"][0]["nodes"]
    return [one["counts"] for one in nodes if "if" not in one]


def test_the_workflow_is_one():
    assert list(WORKFLOW["jobs"]) == ["gate", "remedy"]
    assert WORKFLOW["jobs"]["remedy"]["needs"] == "gate"
    assert WORKFLOW["jobs"]["remedy"]["if"] == "failure()"
    for job in WORKFLOW["jobs"].values():
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])


def test_the_policy_of_the_example_names_every_source():
    policy = read_policy(str(EXAMPLE / "policy.toml"))
    assert {one.key for one in policy.thresholds} == {
        "smallest_group",
        "smallest_cell",
        "most_pinned",
        "least_bits_left",
    }
    assert all(one.source for one in policy.thresholds)


def test_the_gate_fails_the_build_on_the_leaky_model(project, run):
    folder, _ = project
    assert run["gate", "Check the policy"].returncode == 0
    held = run["gate", HELD]
    assert held.returncode == 1, held.stderr
    assert held.stdout.startswith("model.json: ")
    assert "violates" in held.stdout
    (sarif,) = json.loads((folder / "gate.sarif").read_text(encoding="utf-8"))["runs"]
    found = {one["ruleId"]: one for one in sarif["results"]}
    assert {"smallest_group", "smallest_cell"} <= set(found)
    assert {one["level"] for one in found.values()} == {"error"}
    place = found["smallest_group"]["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "model.json"
    assert "leaf" in place["logicalLocations"][0]["name"]
    assert ElementTree.fromstring((folder / "gate.xml").read_text(encoding="utf-8")).get("failures") != "0"


def test_the_remedied_model_passes(project, run):
    folder, step = project
    for (job, name), found in run.items():
        assert found.returncode == (1 if (job, name) == ("gate", HELD) else 0), f"{name}: {found.stdout}{found.stderr}"
    assert ("remedy", REMEDIED) in run
    assert (folder / "better.html").stat().st_size > 1000
    again = step("recon gate better.json --policy policy.toml")
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stdout.startswith("better.json: release: ")
    leaves = [leaf_counts(folder / name) for name in ("model.json", "better.json")]
    assert [sum(map(sum, counts)) for counts in leaves] == [300, 300]
    assert len(leaves[0]) > len(leaves[1]) > 1
    assert min(map(sum, leaves[0])) == 1
    assert all(count == 0 or count >= 10 for counts in leaves[1] for count in counts)


def test_the_job_on_gitlab_fails_too(project):
    folder, step = project
    job = yaml.safe_load((EXAMPLE / ".gitlab-ci.yml").read_text(encoding="utf-8"))["gate"]
    (folder / "gate.xml").unlink(missing_ok=True)
    found = step("\n".join(job["script"]))
    assert found.returncode == 1, found.stderr
    assert (folder / job["artifacts"]["reports"]["junit"]).exists()


def test_the_model_is_what_its_script_makes(project, tmp_path):
    shutil.copy(EXAMPLE / "make_model.py", tmp_path)
    subprocess.run([sys.executable, str(tmp_path / "make_model.py")], check=True)
    made = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    kept = json.loads((EXAMPLE / "model.json").read_text(encoding="utf-8"))
    assert made["domain"] == kept["domain"]
    assert made["rows"] == kept["rows"] == 300
    assert sum(sum(one["counts"]) for one in made["models"][0]["nodes"] if "if" not in one) == 300
