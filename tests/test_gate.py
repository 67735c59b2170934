"""The example project: its workflow, run step by step, fails on the leaky model and passes the remedied one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from defusedxml import ElementTree
from policy_cases import ran

from recon.release.policies.policy import read_policy

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "gate"
WORKFLOW = yaml.safe_load((EXAMPLE / ".github" / "workflows" / "gate.yml").read_text(encoding="utf-8"))
HELD, REMEDIED = "Hold the model to the policy", "Audit the remedied model"


LOOSE = 'name = "anything goes"\nmost_pinned = 1000000\n'
COMMIT = ["-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m"]


def git(folder, *arguments):
    """Run git in a folder, and return what it prints."""
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Return a repository whose branch `change` is a pull request with a policy and a recon of its own."""
    folder = tmp_path_factory.mktemp("gate") / "project"
    shutil.copytree(EXAMPLE, folder)
    (folder / "recon").mkdir()
    shutil.copy(ROOT / "pyproject.toml", folder / "recon")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, *COMMIT, "the project")
    git(folder, "checkout", "-q", "-b", "change")
    (folder / "policy.toml").write_text(LOOSE, encoding="utf-8")
    (folder / "recon" / "pyproject.toml").write_text('[project]\nname = "another"\n', encoding="utf-8")
    git(folder, *COMMIT, "loosen everything", "-a")
    git(folder, "remote", "add", "origin", str(folder))
    return folder


@pytest.fixture(scope="module")
def project(repository):
    """Return a workspace, and a shell in which `recon` is this one and `pip` installs it from a path, or nothing."""
    folder, tools = repository.parent / "workspace", repository.parent / "bin"
    folder.mkdir()
    tools.mkdir()
    for name, line in (
        ("recon", f'exec "{sys.executable}" -m recon "$@"'),
        (
            "pip",
            f"""test "$#" = 2 && grep -q '^name = "recon-worlds"' "$2/pyproject.toml" && echo "$2" >>{tools}/from""",
        ),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def step(script, where=".", **variables):
        """Run a script as the runners of GitHub do: bash, ending at the first command that fails."""
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=folder / where, env=environment | variables, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return folder, step


def value(expression, context):
    """Return what an expression of GitHub's is: the first of its names that the context has."""
    (inner,) = re.findall(r"^\$\{\{ (.*) \}\}$", expression)
    return next(context[name] for name in inner.split(" || ") if context.get(name))


@pytest.fixture(scope="module")
def run(repository, project):
    """Return what every `run:` step of the workflow ended with, by job and step; a job ends at a step that fails.

    The event is the pull request; checkouts are made from the repository, by the reference and path that they name.
    """
    folder, step = project
    context = {
        "github.base_ref": "main",
        "github.event.pull_request.head.sha": git(repository, "rev-parse", "change"),
        "github.sha": git(repository, "rev-parse", "main"),
    }
    done = {}
    for job, said in WORKFLOW["jobs"].items():
        for one in said["steps"]:
            if one.get("uses", "").startswith("actions/checkout@"):
                path = folder / one["with"]["path"]
                if not path.exists():  # the second job has a machine of its own
                    git(repository, "worktree", "add", "--detach", str(path), value(one["with"]["ref"], context))
            if "run" in one:
                done[job, one["name"]] = found = step(one["run"], one.get("working-directory", "."))
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


def test_what_judges_is_not_of_the_change():
    """Events, permissions and hashes: `pull_request` would run the file that the pull request has."""
    assert set(WORKFLOW[True]) == {"push", "pull_request_target"}  # YAML reads the key "on" as true
    assert WORKFLOW["permissions"] == {}
    for job in WORKFLOW["jobs"].values():
        assert "write" not in [level for name, level in job["permissions"].items() if name != "security-events"]
        for one in job["steps"]:
            if "uses" in one:
                assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", one["uses"])
            if one.get("uses", "").startswith("actions/checkout"):
                assert one["with"]["persist-credentials"] is False


@pytest.mark.slow
def test_recon_is_installed_from_the_base_branch_by_path(project, run):
    folder, _ = project
    assert run["gate", "Install"].returncode == 0
    assert {*(folder.parent / "bin" / "from").read_text(encoding="utf-8").split()} == {"./base/recon"}
    for file in (EXAMPLE / ".gitlab-ci.yml", EXAMPLE / ".github" / "workflows" / "gate.yml"):
        assert not re.search(r"pip install (?!\S*/recon\b)", file.read_text(encoding="utf-8"))


def test_the_policy_of_the_example_names_every_source():
    policy = read_policy(str(EXAMPLE / "policy.toml"))
    assert {one.key for one in policy.thresholds} == {
        "smallest_group",
        "smallest_cell",
        "most_pinned",
        "least_bits_left",
        "stored",
    }
    assert all(one.source for one in policy.thresholds)


@pytest.mark.slow
def test_the_gate_fails_the_build_on_the_leaky_model(project, run):
    folder, _ = project
    assert run["gate", "Check the policy"].returncode == 0
    held = run["gate", HELD]
    assert held.returncode == 1, held.stderr
    assert held.stdout.startswith("model.json: ")
    assert "violates" in held.stdout
    assert "policy readmission models" in held.stdout, "the policy of the pull request was asked"
    (sarif,) = json.loads((folder / "gate.sarif").read_text(encoding="utf-8"))["runs"]
    found = {one["ruleId"]: one for one in sarif["results"]}
    assert {"smallest_group", "smallest_cell"} <= set(found)
    assert {one["level"] for one in found.values()} == {"error"}
    place = found["smallest_group"]["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "model.json"
    assert "leaf" in place["logicalLocations"][0]["name"]
    assert ElementTree.fromstring((folder / "gate.xml").read_text(encoding="utf-8")).get("failures") != "0"


@pytest.mark.slow
def test_the_remedied_model_passes(project, run):
    folder, step = project
    for (job, name), found in run.items():
        assert found.returncode == (1 if (job, name) == ("gate", HELD) else 0), f"{name}: {found.stdout}{found.stderr}"
    assert ("remedy", REMEDIED) in run
    assert (folder / "better.html").stat().st_size > 1000
    again = step("recon gate better.json --policy base/policy.toml")
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stdout.startswith("better.json: release: ")
    leaves = [leaf_counts(folder / name) for name in ("change/model.json", "better.json")]
    assert [sum(map(sum, counts)) for counts in leaves] == [300, 300]
    assert len(leaves[0]) > len(leaves[1]) > 1
    assert min(map(sum, leaves[0])) == 1
    assert all(count == 0 or count >= 10 for counts in leaves[1] for count in counts)


@pytest.mark.slow
def test_the_job_on_gitlab_fails_too(repository, project):
    _, step = project
    assert (repository / "policy.toml").read_text(encoding="utf-8") == LOOSE
    job = yaml.safe_load((EXAMPLE / ".gitlab-ci.yml").read_text(encoding="utf-8"))["gate"]
    found = step("\n".join(job["script"]), repository, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")
    assert found.returncode == 1, found.stderr
    assert "policy readmission models" in found.stdout
    assert (repository / job["artifacts"]["reports"]["junit"]).exists()


@pytest.mark.slow
def test_the_model_is_what_its_script_makes(project, tmp_path):
    shutil.copy(EXAMPLE / "make_model.py", tmp_path)
    subprocess.run([sys.executable, str(tmp_path / "make_model.py")], check=True)
    made = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    kept = json.loads((EXAMPLE / "model.json").read_text(encoding="utf-8"))
    assert made["domain"] == kept["domain"]
    assert made["rows"] == kept["rows"] == 300
    assert sum(sum(one["counts"]) for one in made["models"][0]["nodes"] if "if" not in one) == 300


def test_a_violation_is_not_hidden_behind_a_file_that_cannot_be_read(tmp_path, capsys):
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "p.toml").write_text("smallest_group = 100000")
    for order in (1, -1):
        files = [EXAMPLE / "model.json", tmp_path / "broken.json"][::order]
        assert ran("gate", *files, "--policy", tmp_path / "p.toml") == 1
    assert ran("gate", tmp_path / "broken.json", "--policy", tmp_path / "p.toml") == 3
