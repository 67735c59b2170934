"""What checkers of research outputs check, as rules of a policy, beside what the same outputs reveal."""

from __future__ import annotations

import json
from types import SimpleNamespace as Ns

import pandas as pd
import pytest
from extras import encoded, run
from regression_cases import people, table

import recon
from encoders.models.models import Provenance
from recon.release.auditing.facts import ROWS_OPEN, SUMS_ALONE, _freedom, _survival_step
from recon.release.policies.facts import AbsentFigure, KnownFigure, UnknownFigure

FITTED = pd.DataFrame({"a0": [0, 1], "y": [0, 1]})


def judged(capsys, folder, rule, *files):
    """Return exit code and outcomes by key of the files under a policy of one rule."""
    (folder / "policy.toml").write_text(f'name = "checks"\n{rule}\n')
    code, out, _ = run(capsys, "gate", *map(str, files), "--policy", str(folder / "policy.toml"), "--json")
    return code, json.loads(out)


@pytest.mark.sampled(1)
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


@pytest.mark.parametrize(("asked", "code"), [(37, 0), (38, 4), (40, 4), (41, 1)])
def test_degrees_of_freedom_of_a_regression_whose_digits_leave_the_rows_open(asked, code, tmp_path, capsys):
    """A sum with 39 to 42 rows and two coefficients: 37 to 40, never "no regression is published"."""
    bits = ",const,a0\nconst,0.033,-0.033\na0,-0.033,0.133\n"
    (tmp_path / "fit.csv").write_text(f",coef\nconst,0.233\na0,0.267\n\n{bits}\nsigma,1.00\n")
    release = recon.load(tmp_path / "fit.csv", domain=recon.Domain.from_frame(FITTED, label="y"))
    assert _freedom(release) == KnownFigure(37, 40, ROWS_OPEN.why, "rows")
    FITTED.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "policy.toml").write_text(f'name = "checks"\nleast_freedom = {asked}\n')
    said = ("gate", tmp_path / "fit.csv", "--domain", tmp_path / "rows.csv", "--policy", tmp_path / "policy.toml")
    assert run(capsys, *map(str, said))[0] == code


def test_the_fewest_degrees_of_freedom_are_those_of_any_regression():
    def told(*ends, format="statsmodels OLS"):
        models = [Ns(origin=Provenance(format, (), freedom=one), figures=list) for one in ends]
        return Ns(models=models)

    sums = Ns(origin=None, figures=lambda: [Ns(linear=object())])
    counts = Ns(origin=None, figures=lambda: [Ns(linear=None)])
    assert _freedom(told((9, 9), (12, 12))) == KnownFigure(9, 9)
    assert _freedom(told((9, 20), (12, 14), (30, None))) == KnownFigure(9, 14, ROWS_OPEN.why, "rows")
    assert _freedom(told((9, None))) == KnownFigure(9, None, ROWS_OPEN.why, "rows")
    assert isinstance(_freedom(told(None)), AbsentFigure)
    card = Ns(origin=Provenance("model card", ()), figures=sums.figures)
    assert isinstance(_freedom(Ns(models=[card])), AbsentFigure)  # figures of columns are no regression
    written = Ns(origin=Provenance("", ()), figures=sums.figures)
    assert isinstance(_freedom(Ns(models=[written])), UnknownFigure)
    assert isinstance(_freedom(Ns(models=[counts])), AbsentFigure)
    assert isinstance(_freedom(Ns(models=[counts, sums])), UnknownFigure)
    beside = Ns(models=[*told((9, 9)).models, sums])
    assert _freedom(beside) == KnownFigure(0, 9, SUMS_ALONE)
    assert _freedom(Ns(models=[*told((0, 0)).models, sums])) == KnownFigure(0, 0)


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


def at_risk(*counts, time="time", beside=None, **more):
    """Return a release of numbers at risk from times 0, 1, ... on: counts, or least and most."""
    attributes = [{"name": "ward", "values": [0, 1]}, {"name": time, "min": 0, "max": 9}]
    ends = [{"count": n} if isinstance(n, int) else {"at_least": n[0], "at_most": n[1]} for n in counts]
    said = [{"where": {**(beside or {}), time: {"at_least": at}}, **one} for at, one in enumerate(ends)]
    table = {"kind": "table", "statements": said, **more}
    return {"recon": 1, "domain": {"attributes": attributes}, "rows": 60, "models": [table]}


def test_steps_lie_between_what_the_numbers_at_risk_leave():
    def step(*counts, **more):
        return _survival_step(encoded(at_risk(*counts, **more)))

    assert step(60, 48, 30) == step(60, 42, 30) == KnownFigure(12, 12)
    assert step(60, (40, 50), 30) == KnownFigure(10, 20, "digits or noise of the curve leave it open")
    assert (step(60, (58, 60), 1).low, step(60, (58, 60), 1).high) == (0, 2)
    assert step(60, 48, (28, 30)) == KnownFigure(12, 12)
    assert isinstance(step(60), AbsentFigure)  # one time is no step
    assert isinstance(step(60, 48, time="age"), AbsentFigure)
    mean = at_risk(60, 48)
    mean["models"][0]["statements"].append({"where": {"time": {"at_least": 5}}, "total": {"of": "ward", "value": 3}})
    assert _survival_step(encoded(mean)) == KnownFigure(12, 12)
    curves = at_risk(60, 40)
    curves["models"].append(at_risk(30, 25, beside={"ward": 1})["models"][0] | {"name": "of a ward"})
    assert _survival_step(encoded(curves)) == KnownFigure(5, 5)


def test_a_curve_with_noise_has_no_known_step(tmp_path, capsys):
    """What was published lies 12 apart; what was counted need not."""
    noisy = at_risk(60, 48, 30, noise={"law": "laplace", "scale": 2.0})
    found = _survival_step(encoded(noisy))
    assert found == KnownFigure(0, None, "digits or noise of the curve leave it open")
    (tmp_path / "noisy.json").write_text(json.dumps(noisy))
    assert judged(capsys, tmp_path, "least_survival_step = 10", tmp_path / "noisy.json")[0] == 4


@pytest.mark.slow
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
        assert judged(capsys, tmp_path, "least_hidden_width = 100", path)[0] == 0  # none is hidden
    assert judged(capsys, tmp_path, "least_rounded_width = 4", "examples/releases/compas_tree.json")[0] == 0
