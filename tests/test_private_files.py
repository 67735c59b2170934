"""Files of private learners: nothing from the rows outside the ledger, the ledger inside, every option on the line."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pandas as pd
import pytest
import typer

import recon
from recon.cli.studies.learn import learn_app
from recon.learners.private.dp_greedy_rule_list import DPGreedyRuleListClassifier
from recon.learners.rule_lists.bayesian_rule_list import BayesianRuleListClassifier, DPBayesianRuleListClassifier
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from recon.readers.formats.release import reading

NAMES = list("abcde")
DOMAIN = {
    "recon": 1,
    "domain": {
        "attributes": [{"name": name, "values": [0, 1]} for name in NAMES],
        "label": {"name": "y", "values": [0, 1]},
        "notes": ["seen in 7,206 rows"],
    },
}
RULES = [{"a": 1}, {"b": 1, "c": 0}, {"d": 1}, {"e": 0}]
PRIVATE = [
    ("dp-greedy-rule-list", "--epsilon", "1", "--max-length", "3"),
    ("dp-greedy-rule-list", "--epsilon", "1", "--max-length", "3", "--mechanism", "exponential"),
    ("dp-greedy-rule-list", "--epsilon", "1", "--mechanism", "smooth_laplace", "--delta", "1e-6", "--max-length", "3"),
    ("dp-greedy-rule-list", "--epsilon", "1", "--rules", "{rules}"),
    ("dp-bayesian-rule-list", "--epsilon", "1", "--neighbours", "add_remove", "--n-max", "500", "--rules", "{rules}"),
]


@pytest.fixture
def files(tmp_path):
    """Write a table, its neighbour with one row less (the only one with e = 1), a declared domain and rules."""
    dice = np.random.default_rng(3)
    frame = pd.DataFrame(dice.integers(0, 2, (120, 5)), columns=NAMES)
    frame["e"] = 0
    frame["y"] = ((frame["a"] | frame["b"]) ^ (dice.random(120) < 0.1)).astype(int)
    frame.loc[len(frame)] = [1, 1, 1, 1, 1, 0]
    for name, rows in (("whole", frame), ("less", frame.iloc[:-1])):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    return tmp_path


def learned(run, files, data, options, *more):
    out = files / f"{data}.out.json"
    given = [o.format(rules=files / "rules.json") for o in options]
    run("learn", given[0], files / f"{data}.csv", *given[1:], "--seed", "5", "--out", out, *more)
    return json.loads(out.read_text())


def noised(model):
    """Take out of a released rule list what carries noise: the rules that were drawn, and their counts."""
    return {key: value for key, value in model.items() if key != "rules"}


@pytest.mark.parametrize("options", PRIVATE, ids=lambda o: "-".join(o[:1] + o[3:6]))
def test_files_of_neighbours_differ_only_in_noised_figures(run, files, options):
    domain = ["--domain", files / "domain.json"]
    one, other = (learned(run, files, data, options, *domain) for data in ("whole", "less"))
    assert [noised(m) for m in one.pop("models")] == [noised(m) for m in other.pop("models")]
    assert one == other
    assert "notes" not in one["domain"]
    assert "rows" not in one


def test_a_domain_read_off_the_rows_is_refused_or_written_into_the_ledger(run, files):
    options = PRIVATE[0]
    for domain in ([], ["--domain", files / "whole.csv"]):
        refused = run("learn", options[0], files / "whole.csv", *options[1:], *domain, code=3)
        assert "--domain-is-public" in refused.stderr
        assert "--domain FILE" in refused.stderr
    read_off = files / "read.json"
    run("domain", files / "less.csv", "--out", read_off)  # its notes tell that no row has e = 1
    assert "'e'" in " ".join(json.loads(read_off.read_text())["domain"]["notes"])
    run("learn", options[0], files / "less.csv", *options[1:], "--domain", read_off, code=3)
    found = learned(run, files, "less", options, "--domain", read_off, "--domain-is-public")
    assert "notes" not in found["domain"]
    assert any("--domain-is-public" in a for a in found["models"][0]["noise"]["ledger"]["assumes"])


def test_what_follows_from_the_number_of_rows_is_refused_or_written_into_the_ledger(run, files):
    smooth = ["dp-greedy-rule-list", files / "whole.csv", "--epsilon", "1", "--mechanism", "smooth_laplace", "--domain",
              files / "domain.json"]  # fmt: skip
    assert "--delta" in run("learn", *smooth, code=3).stderr
    shares = [*smooth, "--delta", "1e-6", "--min-support", "0.1"]
    assert "min_support" in run("learn", *shares, code=3).stderr
    run("learn", *smooth, "--delta", "1e-6", "--min-support", "12")
    told = run("learn", *smooth, "--publish-rows")
    found = json.loads(told.stdout)
    assert found["rows"] == 121
    assert any("121" in a for a in found["models"][0]["noise"]["ledger"]["assumes"])


def test_the_ledger_stands_in_the_file_and_on_standard_error_and_reads_back(run, files):
    out = files / "list.json"
    told = run("learn", "dp-greedy-rule-list", files / "whole.csv", "--epsilon", "0.7", "--seed", "4", "--out", out,
               "--domain", files / "domain.json")  # fmt: skip
    ledger = json.loads(out.read_text())["models"][0]["noise"]["ledger"]
    assert ledger["epsilon"] == pytest.approx(0.7)
    assert sum(entry["epsilon"] for entry in ledger["entries"]) == pytest.approx(0.7)
    assert any("seed" in a for a in ledger["assumes"])
    for entry in ledger["entries"]:
        assert entry["step"] in told.stderr
    release = recon.load(out)
    assert release.models[0].noise.ledger.to_json() == ledger
    assert any("ledger says ε = 0.7" in a for a in release.assumptions)
    again = run("convert", out).stdout
    assert json.loads(again)["models"] == json.loads(out.read_text())["models"]


@pytest.mark.parametrize(("change", "place"), [({"epsilon": 0.1}, "epsilon"), ({"standing": "guaranteed"}, "standing")])
def test_a_ledger_that_does_not_add_up_is_refused(change, place):
    entries = [{"step": "s", "mechanism": "m", "epsilon": 1, "delta": 0, "standing": "claimed", "why": ""}]
    ledger = {"neighbours": "replace", "epsilon": 1, "delta": 0, "standing": "claimed", "entries": entries}
    noise = {"law": "laplace", "scale": 1, "ledger": ledger | change}
    rules = [{"if": {}, "counts": [1, 2]}]
    content = {**DOMAIN, "models": [{"kind": "rule_list", "noise": noise, "rules": rules}]}
    part = reading.parse(json.dumps(content).encode(), "x.json")
    with pytest.raises(recon.ReleaseError, match=f"noise.ledger.{place}"):
        reading.to_models(part)
    del noise["ledger"][place]
    noise["ledger"] |= {"epsilon": 1, "standing": "claimed"}
    reading.to_models(reading.parse(json.dumps(content).encode(), "x.json"))


LEARNERS = {
    "greedy-rule-list": GreedyRuleListClassifier,
    "dp-greedy-rule-list": DPGreedyRuleListClassifier,
    "bayesian-rule-list": BayesianRuleListClassifier,
    "dp-bayesian-rule-list": DPBayesianRuleListClassifier,
}
OTHER_NAMES = {"random_state": "seed", "antecedents": "rules"}


@pytest.mark.parametrize("name", LEARNERS)
def test_every_parameter_of_a_learner_is_an_option(name):
    command = typer.main.get_command(learn_app).commands[name]
    options = {parameter.name for parameter in command.params}
    wanted = {OTHER_NAMES.get(p, p) for p in inspect.signature(LEARNERS[name]).parameters}
    assert wanted <= options


def test_options_reach_the_learner(run, files, monkeypatch):
    seen = {}

    def watched(self, X, y):
        seen.update(self.get_params())
        raise recon.ReleaseError("seen")

    monkeypatch.setattr(DPBayesianRuleListClassifier, "fit", watched)
    run("learn", "dp-bayesian-rule-list", files / "whole.csv", "--epsilon", "2", "--domain", files / "domain.json",
        "--rules", files / "rules.json", "--split", "0,2,1", "--alpha", "1,2", "--target", "monotone", "--n-max", "300",
        "--neighbours", "add_remove", "--mining", "data", "--most-items", "3", "--classes", "0,1", "--steps", "10",
        "--chains", "2", "--enumerate-up-to", "5", "--max-antecedents", "0", "--expected-width", "2", "--negations",
        "--not-normalised", "--min-support", "7", "--max-length", "4", "--seed", "9", code=3)  # fmt: skip
    assert seen == {
        "width": 2, "min_support": 7, "max_antecedents": None, "max_length": 4, "expected_length": 3.0,
        "expected_width": 2.0, "alpha": (1.0, 2.0), "normalised": False,
        "antecedents": [tuple(rule.items()) for rule in RULES], "negations": True, "steps": 10, "chains": 2,
        "enumerate_up_to": 5, "random_state": 9, "epsilon": 2.0, "split": (0.0, 2.0, 1.0), "neighbours": "add_remove",
        "n_max": 300, "target": "monotone", "mining": "data", "most_items": 3, "classes": [0, 1],
    }  # fmt: skip


@pytest.mark.parametrize(
    "options", [("--min-support", "a"), ("--min-support", "1.5"), ("--alpha", "1"), ("--split", "1,b,1")]
)
def test_options_without_sense_are_wrong_usage(run, files, options):
    run("learn", "dp-bayesian-rule-list", files / "whole.csv", "--epsilon", "2", *options, code=2)
