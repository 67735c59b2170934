"""The command line on forests, tables and joined files: answers, limits, contradictions, and their exit codes."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from extras import run

import recon
from recon.readers.formats.release.writing import dump, release_json
from recon.readers.frames.world import violations

RELEASES = Path(__file__).parents[1] / "examples" / "releases"
CENSUS, FOREST = str(RELEASES / "census_block.json"), str(RELEASES / "compas_forest.json")
BLOCK = [(8, "FBS"), (18, "MWS"), (24, "FWS"), (30, "MWM"), (36, "FBM"), (66, "FBM"), (84, "MBM")]


@pytest.fixture
def looser(tmp_path):
    """Return the census block without the figures on black women."""
    release = json.loads(Path(CENSUS).read_text())
    table = release["models"][0]
    table["statements"] = [s for s in table["statements"] if "black female" not in s.get("name", "")]
    path = tmp_path / "looser.json"
    path.write_text(json.dumps(release))
    return str(path)


@pytest.fixture(scope="module")
def shallow(tmp_path_factory):
    """Return a release that cannot be counted exactly: 500 rows, 20 trees of depth 3."""
    from sklearn.ensemble import RandomForestClassifier

    data = Path(__file__).parents[2] / "shared" / "data" / "compas14.csv.gz"
    if not data.exists():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("no ../shared/data")
    frame = pd.read_csv(data).sample(500, random_state=0).reset_index(drop=True)
    label = frame.columns[-1]
    domain = recon.Domain.from_frame(pd.read_csv(data), label=label)
    forest = RandomForestClassifier(20, max_depth=3, bootstrap=False, random_state=0)
    release = recon.encode(forest.fit(frame.drop(columns=label), frame[label]), domain)
    path = tmp_path_factory.mktemp("shallow") / "forest.json"
    path.write_text(dump(release_json(release.domain, release.models, release.rows)))
    return str(path), frame


def people(out):
    frame = pd.read_csv(io.StringIO(out)).sort_values("age")
    return [(r.age, r.sex[0].upper() + r.race[0].upper() + r.status[0].upper()) for r in frame.itertuples()]


@pytest.mark.slow
def test_the_census_block_is_given_back(capsys, looser):
    code, out, err = run(capsys, "reconstruct", CENSUS)
    assert code == 0
    assert people(out) == BLOCK
    assert "the only possible world" in err
    code, out, _ = run(capsys, "count", CENSUS, "--json")
    found = json.loads(out)
    assert (found["worlds"], found["datasets"], found["determined_rows"], found["regions"]) == ("5040", "1", 7, [])
    code, out, _ = run(capsys, "count", looser, "--convention", "multiset", "--json")
    assert json.loads(out)["worlds"] == "2"
    code, out, _ = run(capsys, "worlds", looser, "--json")
    every = [sorted(row["age"] for row in world["rows"]) for world in json.loads(out)]
    assert sorted(every) == [[2, 12, 24, 30, 36, 72, 90], [age for age, _ in BLOCK]]


@pytest.mark.slow
def test_bounds_of_means_and_correlations(capsys, looser):
    code, out, _ = run(capsys, "bound", looser, "--where", '{"sex": "male"}', "--of", "age", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["min"], found["max"], found["expectation"], found["status"]) == (44.0, 44.0, 44.0, "exact")
    code, out, _ = run(capsys, "bound", looser, "--where", '{"status": "single"}', "--of", "age", "--json")
    found = json.loads(out)
    assert found["min"] == pytest.approx(50 / 3)
    assert found["max"] == pytest.approx(50 / 3)
    code, out, _ = run(capsys, "bound", looser, "--where", '{"age": {"at_least": 64}}', "--attained", "max")
    assert code == 0
    assert out.startswith("2 rows in every world")
    assert len(people(out.split("\n", 1)[1])) == 7
    code, _, err = run(capsys, "bound", looser, "--where", "{}", "--of", "sex")
    assert code == 3
    assert "'sex' is not numeric" in err
    for wrong in (("--attained", "most"), ("--of", "age,"), ("--of", "age,sex,race"), ("--of", "")):
        code, _, _ = run(capsys, "bound", looser, "--where", "{}", *wrong)
        assert code == 2, wrong
    code, out, err = run(capsys, "bound", looser, "--where", '{"age": 1}', "--of", "age", "--attained", "min")
    assert code == 0
    assert "in no world is there a figure to bound" in out
    assert "no world: in no world has the group a row" in err


@pytest.mark.slow
def test_a_forest_is_given_back_whole(capsys, tmp_path):
    code, out, err = run(capsys, "reconstruct", FOREST)
    rows = pd.read_csv(io.StringIO(out))
    assert code == 0
    assert "the only possible world" in err
    assert len(rows) == 300
    truth = tmp_path / "truth.csv"
    truth.write_text(out)
    code, out, _ = run(capsys, "audit", FOREST, "--truth", str(truth), "--json")
    found = json.loads(out)
    assert found["truth"]["is_world"]
    assert found["truth"]["reconstruction"]["share_right"] == 1.0
    assert found["truth"]["reconstruction"]["unique_proved"] == found["truth"]["reconstruction"]["unique_rows"]
    assert found["datasets"] == "1"
    code, out, _ = run(capsys, "certify", FOREST, "--profiles", str(truth), "--json")
    assert {line["verdict"] for line in json.loads(out)} == {"certain"}
    for ending in ("html", "md"):
        code, _, _ = run(capsys, "audit", FOREST, "--out", str(tmp_path / f"report.{ending}"))
        assert code == 0
    assert len(pd.read_csv(io.StringIO(run(capsys, "table", FOREST)[1]))) == 300


@pytest.mark.slow
def test_joined_files(capsys, tmp_path):
    domain = {"attributes": [{"name": "age", "min": 0, "max": 9}], "label": {"name": "y", "values": [0, 1]}}
    tree = {"kind": "tree", "nodes": [{"if": {"age": {"below": 5}}, "then": 1, "else": 2}, {"counts": [1, 0]}]}
    tree["nodes"].append({"counts": [0, 1]})
    table = {"kind": "table", "statements": [{"where": {"y": 1}, "mean": {"of": "age", "value": 7}}]}
    for name, models in (("tree", [tree]), ("table", [table])):
        release = {"recon": 1, "domain": domain, "models": models} | ({"rows": 2} if name == "table" else {})
        (tmp_path / f"{name}.json").write_text(json.dumps(release))
    both = [str(tmp_path / "tree.json"), str(tmp_path / "table.json")]
    code, out, _ = run(capsys, "count", *both, "--convention", "multiset", "--json")
    assert code == 0
    assert json.loads(out)["worlds"] == "5"
    assert "all models were trained on the same rows" in json.loads(out)["assumptions"]
    table["statements"][0]["mean"]["value"] = 3
    (tmp_path / "table.json").write_text(json.dumps({"recon": 1, "domain": domain, "rows": 2, "models": [table]}))
    code, out, _ = run(capsys, "count", *both, "--json")
    assert code == 5
    found = json.loads(out)
    assert (found["status"], found["worlds"]) == ("unsat", "0")
    assert any("mean of age" in line for line in found["conflict"])
    assert any("leaf" in line for line in found["conflict"])
    code, _, err = run(capsys, "reconstruct", *both)
    assert code == 5
    assert "contradict" in err
    assert "mean of age" in err


@pytest.mark.slow
def test_limits_leave_bounds(capsys, shallow):
    path, frame = shallow
    code, out, _ = run(capsys, "count", path, "--time", "6", "--json")
    found = json.loads(out)
    assert code == 4
    assert found["status"] == "bounds"
    assert found["worlds"] is None
    assert found["log2_upper"] < found["uninformed_bits"]
    assert found["entropy_bits"] is None
    code, out, _ = run(capsys, "count", path, "--max-cells", "10", "--time", "2", "--json")
    assert code == 4
    assert any("--max-cells" in line for line in json.loads(out)["trail"])
    for command in ("worlds", "sample", "table"):
        assert run(capsys, command, path, "--max-cells", "10", "--time", "2")[0] == 4, command
    code, out, _ = run(capsys, "count", path, "--time", "0", "--json")
    assert code == 4
    assert json.loads(out)["status"] == "bounds"
    with gzip.open(Path(path).parent / "true.csv.gz", "wt") as file:
        frame.head(20).to_csv(file, index=False)
    code, out, _ = run(
        capsys, "certify", path, "--profiles", str(Path(path).parent / "true.csv.gz"), "--time", "600", "--json"
    )
    assert all(line["max_count"] >= 1 for line in json.loads(out))
    assert {line["verdict"] for line in json.loads(out)} <= {"certain", "possible"}


@pytest.mark.slow
def test_a_world_is_found_where_worlds_cannot_be_counted(capsys, shallow, tmp_path):
    path, frame = shallow
    truth = tmp_path / "truth.csv"
    frame.to_csv(truth, index=False)
    code, out, err = run(capsys, "reconstruct", path, "--time", "600")
    assert code == 0
    assert "one of several possible worlds" in err
    assert not violations(recon.load(path), pd.read_csv(io.StringIO(out)))
    code, out, err = run(capsys, "sample", path, "-k", "2", "--time", "600")
    assert code == 0
    assert "not a uniform draw" in err


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_bounds(shallow):
    path, _ = shallow
    work = subprocess.Popen(
        [sys.executable, "-m", "recon", "count", path, "--json", "--log-json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while b"live cells" not in (line := work.stderr.readline()):
        assert line
    work.send_signal(signal.SIGINT)
    out, err = work.communicate(timeout=600)
    assert work.returncode == 4, err
    assert json.loads(out)["status"] == "bounds"
    assert b"Traceback" not in err
