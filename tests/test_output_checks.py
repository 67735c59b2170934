"""What checkers of research outputs check, as rules of a policy, beside what the same outputs reveal."""

from __future__ import annotations

import json

import pytest
from extras import run
from regression_cases import people, table

import recon
from recon.release.auditing.facts import _freedom, _survival_step
from recon.release.policies.facts import AbsentFigure, KnownFigure, UnknownFigure


def judged(capsys, folder, rule, *files):
    """Return exit code and outcomes by key of the files under a policy of one rule."""
    (folder / "policy.toml").write_text(f'name = "checks"\n{rule}\n')
    code, out, _ = run(capsys, "gate", *map(str, files), "--policy", str(folder / "policy.toml"), "--json")
    return code, json.loads(out)


@pytest.mark.parametrize(("asked", "code"), [(36, 0), (37, 1)])
def test_degrees_of_freedom_are_met_where_a_pair_of_few_people_is_not(asked, code, tmp_path, capsys):
    frame = people(4, rows=40, bits=3)
    (tmp_path / "fit.csv").write_text(table(frame, 8))
    assert judged(capsys, tmp_path, f"least_freedom = {asked}", tmp_path / "fit.csv")[0] == code
    assert judged(capsys, tmp_path, "smallest_group = 10", tmp_path / "fit.csv")[0] == 1


@pytest.mark.slow
def test_sums_in_a_release_file_do_not_say_of_how_many_coefficients(tmp_path, capsys):
    release = recon.load("tests/golden/linear_sums.json")
    assert isinstance(_freedom(release), UnknownFigure)
    assert judged(capsys, tmp_path, "least_freedom = 10", "tests/golden/linear_sums.json")[0] == 4
    assert judged(capsys, tmp_path, "least_freedom = 10", "examples/releases/compas_tree.json")[0] == 0
    assert isinstance(_freedom(recon.load("examples/releases/compas_tree.json")), AbsentFigure)


def test_steps_of_a_survival_curve_are_people_who_left_between_times(tmp_path, capsys):
    curve = "time,n.risk,n.event,survival\n5,60,12,0.8\n9,44,1,0.7818182\n14,30,10,0.5212121\n"
    (tmp_path / "curve.csv").write_text(curve)
    release = recon.load(tmp_path / "curve.csv")
    assert _survival_step(release) == KnownFigure(14, 14)  # 60 - 44 = 16, 44 - 30 = 14
    assert judged(capsys, tmp_path, "least_survival_step = 14", tmp_path / "curve.csv")[0] == 0
    assert judged(capsys, tmp_path, "least_survival_step = 15", tmp_path / "curve.csv")[0] == 1
    assert judged(capsys, tmp_path, "smallest_group = 10", tmp_path / "curve.csv")[0] == 1  # one event at time 9
    whole = "time,n.risk,n.event,survival\n5,60,12,0.8\n9,48,48,0.0\n"
    (tmp_path / "short.csv").write_text(whole)
    assert judged(capsys, tmp_path, "least_survival_step = 12", tmp_path / "short.csv")[0] == 0


def test_a_rounded_count_is_as_wide_as_all_tables_together_leave_it(tmp_path, capsys):
    """Two rounded counts and their exact total: each is known to 4, and to fewer where the total narrows it."""
    domain = {"attributes": [{"name": "old", "values": [0, 1]}]}
    cells = [{"where": {"old": k}, "at_least": 8, "at_most": 12} for k in (0, 1)]
    for total, wide in ((20, 4), (23, 1)):
        models = [{"kind": "table", "statements": [{"count": total}, *cells]}]
        path = tmp_path / f"{total}.json"
        path.write_text(json.dumps({"recon": 1, "domain": domain, "rows": total, "models": models}))
        assert judged(capsys, tmp_path, f"least_rounded_width = {wide}", path)[0] == 0
        assert judged(capsys, tmp_path, f"least_rounded_width = {wide + 1}", path)[0] == 1
    assert judged(capsys, tmp_path, "least_rounded_width = 4", "examples/releases/compas_tree.json")[0] == 0
