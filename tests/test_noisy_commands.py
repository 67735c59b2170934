"""Noisy counts as users meet them: files, commands, verdicts, learners' releases, the sweep."""

import copy
import json
import math

import numpy as np
import pandas as pd
import pytest

import recon
from recon.queries.measures.sweeping import _nearest
from solvers.foundation.errors import EmptyConfidenceSet, ReleaseError

DOMAIN = {
    "attributes": [{"name": "a", "min": 0, "max": 9}, {"name": "b", "values": ["x", "y", "z"]}],
    "label": {"name": "y", "values": [0, 1]},
}
LAPLACE = {"law": "discrete_laplace", "epsilon": 1.0, "sensitivity": 1, "neighbours": "add_remove"}


def tree(counts, noise=LAPLACE, **more):
    nodes = [
        {"if": {"a": {"below": 5}}, "then": 1, "else": 2},
        {"counts": counts[0]},
        {"if": {"b": "x"}, "then": 3, "else": 4},
        {"counts": counts[1]},
        {"counts": counts[2]},
    ]
    return {"recon": 1, "domain": DOMAIN, "models": [{"kind": "tree", "noise": noise, "nodes": nodes}], **more}


NOISY = tree([[31, -2], [3, 20], [41, 9]], rows=100)
EXACT = tree([[30, 0], [2, 19], [40, 9]], rows=100)
EXACT["models"] = [{k: v for k, v in EXACT["models"][0].items() if k != "noise"}]


@pytest.fixture
def write(tmp_path):
    def made(content, name="release.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return made


def test_count_json_has_the_level_and_the_posterior_with_its_prior(write, run):
    found = json.loads(run("count", write(NOISY), "--json").stdout)
    assert found["confidence"] == 0.95
    assert found["posterior_prior"].startswith("counts: uniform over count vectors")
    assert 0 < found["posterior_entropy_bits"] < found["posterior_uninformed_bits"]
    assert found["posterior_odds_factor"] == pytest.approx(math.exp(2))
    assert found["convention"] == "ordered"
    wider = json.loads(run("count", write(NOISY), "--json", "--confidence", 0.999).stdout)
    assert wider["log2_worlds"] > found["log2_worlds"]
    assert wider["posterior_entropy_bits"] == found["posterior_entropy_bits"]


@pytest.mark.slow
def test_verdicts_from_unbounded_noise_are_never_certain(write, run):
    people = write("a,b,y\n3,x,1\n3,x,0\n,,0\n7,x,1\n", "p.csv")
    for counts in ([[31, -2], [3, 20], [41, 9]], [[50, -4], [-4, 54], [0, 0]]):
        release = tree(counts, rows=100)
        text = run("certify", write(release), "--profiles", people)
        assert "certain," not in text.stdout
        assert "certified" not in text.stdout + text.stderr
        for line in json.loads(run("certify", write(release), "--profiles", people, "--json").stdout):
            assert line["verdict"] in {"possible", "impossible"}
            assert line["confidence"] == 0.95
            present = line["min_count"] > 0 or line["verdict"] == "impossible"
            assert (line["certificate"] is not None) == present
            assert not present or line["certificate"]["confidence"] == 0.95
            assert line["prior"].startswith("counts")
    lines = json.loads(run("certify", write(NOISY), "--profiles", people, "--json").stdout)
    assert lines[2]["min_count"] > 0
    assert lines[2]["verdict"] == "possible"
    assert "impossible at confidence 0.95" in run("certify", write(NOISY), "--profiles", people).stderr


def test_bounded_noise_makes_certain_and_certified(write):
    noise = {"law": "truncated_laplace", "scale": 1, "bound": 2}
    release = tree([[31, 1], [3, 20], [41, 9]], noise, rows=100)
    frame = pd.DataFrame([{"y": 0}, {"a": 3, "b": "x", "y": 0}])
    found = recon.certify(recon.load(write(release)), frame)
    assert found["verdict"].tolist() == ["certain", "possible"]
    assert found["confidence"].tolist() == [1.0, 1.0]
    assert found["certificate"][0] is not None
    assert not recon.verify([found["certificate"][0]], recon.load(write(release))).rejected


def test_what_exact_models_settle_alone_stays_certain(write):
    rules = [{"if": {"b": "x"}, "counts": [5, 0]}, {"if": {}, "counts": [5, 6]}]
    exact = {"recon": 1, "domain": DOMAIN, "models": [{"kind": "rule_list", "rules": rules}]}
    noisy = tree([[6, -1], [3, 2], [4, 1]])
    release = recon.load(write(exact, "a.json"), write(noisy, "b.json"))
    assert release.rows == type(release.rows)(16, 16)
    found = recon.certify(release, pd.DataFrame([{"b": "x", "y": 1}, {"b": "x", "y": 0}, {"a": 7}]))
    assert found["verdict"].tolist() == ["impossible", "certain", "possible"]
    assert found["confidence"].tolist() == [1.0, 1.0, 0.95]


@pytest.mark.slow
def test_an_empty_confidence_set_is_no_contradiction(write, run):
    path = write(tree([[31, -2], [3, 20], [4, 1]], rows=100))
    with pytest.raises(EmptyConfidenceSet, match=r"at confidence 0.95 .*beyond confidence 0.99"):
        recon.count(recon.load(path))
    assert "beyond confidence 0.997" in run("audit", path, code=4).stdout
    assert "beyond confidence 0.997" in run("audit", path, "--json", code=4).stderr
    assert recon.posterior(recon.load(path)).entropy_bits > 0  # inconsistent counts are a normal input
    clash = tree([[31, -2], [3, 20], [4, 1]])
    clash["models"].append({"kind": "tree", "name": "exact", "nodes": [{"counts": [1, 2]}]})
    clash["models"].append({"kind": "tree", "name": "other", "nodes": [{"counts": [2, 1]}]})
    with pytest.raises(recon.ContradictionError):
        recon.certify(recon.load(write(clash)), pd.DataFrame([{"a": 1}]))


def test_files_read_back_the_same(write, run):
    noisy = [
        NOISY,
        tree([[3.25, -0.1], [1e-7, 2], [4, 5.5]], {"law": "gaussian", "scale": 0.1}),
        tree([[3, 1], [1, 2], [4, 5]], {"law": "laplace", "scale": 2, "rounded": True, "clamped": True}),
        tree([[3, 1], [1, 2], [4, 5]], {**LAPLACE, "law": "truncated_laplace", "delta": 1e-6}),
    ]
    for content in noisy:
        first = recon.load(write(content))
        again = recon.load(write(run("convert", write(content)).stdout, "again.json"))
        assert again.models == first.models
        assert again.declared == first.declared
        assert again.statements.confidence == first.statements.confidence


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        ({"law": "laplace", "epsilon": 0, "sensitivity": 1, "neighbours": "replace"}, ["epsilon", "0"]),
        ({"law": "laplace", "epsilon": -1, "sensitivity": 1, "neighbours": "replace"}, ["epsilon", "-1"]),
        ({"law": "laplace", "epsilon": 1, "neighbours": "replace"}, ["'sensitivity' missing"]),
        ({"law": "laplace", "epsilon": 1, "sensitivity": 1}, ["'neighbours' missing"]),
        ({"law": "gaussian", "epsilon": 1, "sensitivity": 1, "neighbours": "replace"}, ["'delta' missing"]),
        ({**LAPLACE, "law": "gaussian", "delta": 1.5}, ["delta", "1.5"]),
        ({**LAPLACE, "law": "laplace", "delta": 0.1}, ["delta", "0.1"]),
        ({"law": "truncated_laplace", "scale": 1}, ["bound"]),
        ({"law": "laplace", "scale": 1, "bound": 3}, ["bound"]),
        ({"law": "laplace", "scale": 1, "unknown": 3}, ["unknown"]),
    ],
)
def test_impossible_noise_is_refused(write, noise, words):
    with pytest.raises(recon.ReleaseError) as refusal:
        recon.load(write(tree([[3, 1], [1, 2], [4, 5]], noise)))
    assert "models[0].noise" in str(refusal.value)
    for word in words:
        assert word in str(refusal.value)


def test_counts_that_the_law_cannot_give_are_refused(write):
    with pytest.raises(recon.ReleaseError, match=r"nodes\[1\].*3\.5"):
        recon.load(write(tree([[3.5, 1], [1, 2], [4, 5]])))
    with pytest.raises(recon.ReleaseError, match="clamped"):
        recon.load(write(tree([[3.5, 0], [1.1, 2], [4, 5]], {"law": "laplace", "scale": 1})))
    assert recon.load(write(tree([[3.5, 0], [1.1, 2], [4, 5]], {"law": "laplace", "scale": 1, "clamped": True})))


def test_what_the_budget_does_not_cover_is_said(write):
    said = " ".join(recon.load(write(NOISY)).assumptions)
    assert "exact number of rows is released" in said
    assert "exact number of rows" not in " ".join(recon.load(write(tree([[3, 1], [1, 2], [4, 5]]))).assumptions)
    replaced = tree([[3, 1], [1, 2], [4, 5]], {**LAPLACE, "neighbours": "replace"})
    assert "can change 2 of its counts" in " ".join(recon.load(write(replaced)).assumptions)


def test_without_a_number_of_rows_intervals_say_it_and_there_is_no_posterior(write):
    release = recon.load(write(tree([[31, -2], [3, 20], [41, 9]])))
    assert release.rows.low < 102 < release.rows.high
    with pytest.raises(recon.Unsupported, match="give 'rows'"):
        recon.posterior(release)
    assert recon.count(release).log2 > 0
    interval = recon.load(write(tree([[31, -2], [3, 20], [41, 9]], rows={"at_least": 95, "at_most": 105})))
    assert recon.posterior(interval).expected_rows == pytest.approx(100, abs=5)


def test_noisy_counts_of_inner_nodes_say_more(write):
    content = tree([[31, -2], [3, 20], [41, 9]], rows=100)
    before = recon.count(recon.load(write(content))).log2
    content["models"][0]["nodes"][2]["counts"] = [43, 30]
    release = recon.load(write(content))
    assert len(release.statements.blocks) == 2
    assert recon.denoise(release).rows == 100
    assert recon.count(release).log2 != before


def test_denoise_writes_a_release_without_noise(write, run):
    found = run("denoise", write(NOISY))
    again = recon.load(write(found.stdout, "denoised.json"))
    assert not again.noisy
    assert again.rows.low == 100
    assert "never audit them as exact" in found.stderr
    assert "carry no noise" in run("denoise", write(EXACT), code=3).stderr


def test_posterior_command(write, run):
    found = json.loads(run("posterior", write(NOISY), "--json").stdout)
    assert found["counts"][0]["source"] == "tree, leaf 1, class 0"
    assert sum(line["likely"] for line in found["counts"]) == 100
    assert sum(line["expected"] for line in found["counts"]) == pytest.approx(100)
    worlds = json.loads(run("posterior", write(NOISY), "--json", "--prior", "worlds").stdout)
    assert "overrides the noise law" in worlds["posterior_prior"]
    run("posterior", write(NOISY), "--prior", "flat", code=2)


@pytest.mark.slow
def test_sweep_bits_grow_with_epsilon_on_average(write, run):
    found = recon.sweep(recon.load(write(EXACT)), [0.05, 10.0], draws=30, seed=3)
    assert found["epsilon"].tolist() == [0.05, 10.0, math.inf]
    low, high, exact = found["bits_removed_per_row_q50"]
    assert low < high <= exact + 1e-9
    assert found["typical_q50"].tolist()[0] > found["typical_q50"].tolist()[1] > 0.0 - 1e-12
    assert found["accuracy_q50"].tolist()[2] == pytest.approx((30 + 19 + 40) / 100)
    again = recon.sweep(recon.load(write(EXACT)), [0.05, 10.0], draws=30, seed=3)
    pd.testing.assert_frame_equal(found, again)
    shown = run("sweep", write(EXACT), "--epsilon", "1,2", "--json")
    assert [line["epsilon"] for line in json.loads(shown.stdout)["sweep"]] == [1.0, 2.0, None]
    counted = json.loads(run("count", write(EXACT), "--convention", "ordered", "--json").stdout)
    assert exact == pytest.approx(counted["bits_removed_per_row"], abs=1e-12)
    assert json.loads(shown.stdout)["convention"] == "ordered"
    alone = found.attrs["bits_removed_by_the_prior_alone"]
    faint = recon.sweep(recon.load(write(EXACT)), [1e-4], draws=20, seed=3)
    assert faint["bits_removed_per_row_q50"].iloc[0] == pytest.approx(alone, abs=0.01)  # noise without any signal
    assert recon.sweep(recon.load(write(EXACT)), [1e-4], draws=20, seed=3, prior="worlds").attrs[
        "bits_removed_by_the_prior_alone"
    ] == pytest.approx(0, abs=1e-9)
    run("sweep", write(EXACT), "--epsilon", "0", code=2)
    run("sweep", write(EXACT), "--draws", "5", code=2)
    run("sweep", write(NOISY), code=3)


@pytest.mark.slow
def test_bits_removed_by_an_exact_release_are_never_negative(write, run):
    """Rows in one large leaf: against the entropy of the prior the release seemed to add bits."""
    rare = tree([[1, 1], [0, 0], [0, 0]], rows=2)
    rare["models"] = [{k: v for k, v in rare["models"][0].items() if k != "noise"}]
    found = recon.sweep(recon.load(write(rare)), [1.0], draws=20, seed=1)
    left = math.log2(2 * 15 * 15)  # by hand: two rows of two classes in order, 15 raw rows each in the first leaf
    assert found["bits_removed_per_row_q50"].iloc[-1] == pytest.approx((2 * math.log2(60) - left) / 2)
    assert (found["bits_removed_per_row_q10"] >= 0).all()


@pytest.mark.slow
def test_a_sweep_out_of_time_prints_what_it_has(write):
    release = recon.load(write(EXACT))
    shown = []

    def stops(text):
        shown.append(text)
        if len([t for t in shown if t.startswith("epsilon 2: draw")]) == 5:
            limits.stop.set()

    limits = recon.Limits(progress=stops)
    found = recon.sweep(release, [1.0, 2.0, 3.0], draws=20, seed=1, limits=limits)
    assert found["epsilon"].tolist() == [1.0, 2.0, math.inf]
    assert found["draws"].tolist() == [20, 4, 1]
    assert "epsilon 2 after 4 of 20" in found.attrs["stopped"]
    assert recon.sweep(release, [1.0], draws=20, seed=1).attrs["stopped"] == ""


def test_nearest_against_brute_force():
    dice = np.random.default_rng(0)
    for _ in range(60):
        truth = dice.integers(0, 4, size=3)
        low = np.maximum(0, truth + dice.integers(-2, 3, size=3))
        high = low + dice.integers(0, 3, size=3)
        n = int(truth.sum())
        grid = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
        inside = [c for c in grid if (low <= c).all() and (np.array(c) <= high).all()]
        best = min((np.abs(np.array(c) - truth).sum() / 2 for c in inside), default=math.nan)
        found = _nearest(truth, low, high)
        assert found == best or (math.isnan(found) and math.isnan(best))


@pytest.fixture
def rows_file(tmp_path):
    dice = np.random.default_rng(5)
    frame = pd.DataFrame(dice.integers(0, 2, size=(300, 4)), columns=list("abcd"))
    frame["y"] = ((frame["a"] & frame["b"]) ^ (dice.random(300) < 0.1)).astype(int)
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    return str(path)


BITS = {
    "attributes": [{"name": name, "values": [0, 1]} for name in "abcd"],
    "label": {"name": "y", "values": [0, 1]},
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "learner",
    [
        ("dp-greedy-rule-list", "--epsilon", "2", "--max-length", "3"),
        ("dp-greedy-rule-list", "--epsilon", "2", "--neighbours", "replace"),
        ("dp-bayesian-rule-list", "--epsilon", "2"),
        ("bayesian-rule-list",),
        ("greedy-rule-list",),
    ],
    ids=lambda learner: "-".join(learner[:1] + learner[3:]),
)
def test_every_learners_release_is_audited_and_certified(learner, rows_file, tmp_path, write, run):
    out = str(tmp_path / "list.json")
    name, *options = learner
    seeded = [] if name == "greedy-rule-list" else ["--seed", "1"]
    private = name.startswith("dp-")
    declared = ["--domain", write({"recon": 1, "domain": BITS}, "domain.json")] if private else []
    told = run("learn", name, rows_file, *options, *seeded, *declared, "--out", out)
    assert ("neighbours:" in told.stderr) == private
    release = recon.load(out)
    assert release.noisy == private
    report = run("audit", out)
    assert ("What the noise leaves" in report.stdout) == private
    people = tmp_path / "p.csv"
    people.write_text("a,b,c,d,y\n1,1,,,1\n0,0,0,0,0\n")
    lines = json.loads(run("certify", out, "--profiles", people, "--json").stdout)
    assert len(lines) == 2
    assert all(line["confidence"] == (0.95 if private else 1.0) for line in lines)


FOREST = {
    "recon": 1,
    "domain": DOMAIN,
    "rows": 20,
    "models": [
        {
            "kind": "forest",
            "noise": {"law": "laplace", "scale": 1.5},
            "trees": [
                {
                    "nodes": [
                        {"if": {"a": {"below": 5}}, "then": 1, "else": 2},
                        {"counts": [6.2, -2.1]},
                        {"count": 13.9},
                    ]
                },
                {"nodes": [{"if": {"b": "x"}, "then": 1, "else": 2}, {"count": 7.3}, {"count": 11.9}]},
            ],
        }
    ],
}


@pytest.mark.slow
def test_coupled_noisy_counts_are_sampled_with_diagnostics(write, run):
    release = recon.load(write(FOREST))
    found = recon.sampled(release, draws=800, seed=1)
    assert found.trusted
    assert found.rhat < 1.05
    assert ((found.counts["low"] <= found.counts["mean"]) & (found.counts["mean"] <= found.counts["high"])).all()
    said = found.membership([{"a": 3}, {}])
    assert 0 < said["probability"][0] < 1
    assert said["expected_count"][1] == pytest.approx(20)
    assert [len(w.to_frame()) for w in found.worlds(3)] == [20, 20, 20]
    told = run("posterior", write(FOREST), "--draws", "200")
    assert "split R-hat" in told.stderr
    assert "prior worlds" in told.stderr


@pytest.mark.slow
def test_below_confidence_1_is_no_proof(write, run):
    steep = tree([[0, 0], [2, 0], [0, 0]], {"law": "discrete_laplace", "scale": 0.05}, rows=2)
    path = write(steep)
    for command in ("audit", "count"):
        out = json.loads(run(command, path, "--json").stdout)
        assert out.get("certificate") is None
        assert out["guarantee"] == "confidence 0.95"
        assert any("0.95" in text for text in out["assumptions"])
    assert "certified" not in run("audit", path).stdout
    assert "certified" not in run("reconstruct", path).stderr
    lines = json.loads(run("certify", path, "--profiles", write("a\n3\n", "p.csv"), "--json").stdout)
    assert 0 < lines[0]["probability"] < 1


@pytest.mark.slow
def test_an_audit_says_what_the_noise_bought(write, run):
    path, exact = write(NOISY), write(EXACT, "exact.json")
    found = json.loads(run("audit", path, "--without-noise", exact, "--json").stdout)["without_noise"]
    truth = np.array([30, 0, 2, 19, 40, 9])
    sizes = np.array([15, 15, 5, 5, 10, 10])
    worlds = math.lgamma(101) - sum(map(math.lgamma, truth + 1)) + float(truth @ np.log(sizes))
    before = 100 * math.log2(sizes.sum())  # as `count --convention ordered` says it of the exact release
    assert found["exact"] == pytest.approx((before - worlds / math.log(2)) / 100)
    counted = json.loads(run("count", exact, "--convention", "ordered", "--json").stdout)
    assert found["exact"] == pytest.approx(counted["bits_removed_per_row"])
    likely = recon.posterior(recon.load(path)).counts["likely"]
    assert found["likely"] == np.abs(likely - truth).sum() / 2
    assert found["noisy"] < found["exact"]
    assert "what the noise protects" in run("audit", path, "--without-noise", exact).stdout
    named = copy.deepcopy(EXACT)
    for i, node in enumerate(named["models"][0]["nodes"]):
        node["name"] = f"node {i}"
    again = run("audit", path, "--without-noise", write(named, "named.json"), "--json").stdout
    assert json.loads(again)["without_noise"] == found, "what nodes are called is no difference"
    other = {**EXACT, "models": [{"kind": "tree", "nodes": [{"counts": [60, 40]}]}]}
    assert "other regions" in run("audit", path, "--without-noise", write(other, "other.json"), code=3).stderr


@pytest.mark.slow
def test_denoise_of_a_trillion_rows_ends_in_time(write, run):
    noise = {"law": "discrete_laplace", "scale": 100_000}
    counts = [[2**39, 2**37], [2**38, 1000], [2**36, 2**36 - 1001]]
    found = json.loads(run("denoise", write(tree(counts, noise, rows=2**40)), "--time", 600).stdout)
    nodes = [node["counts"] for node in found["models"][0]["nodes"] if "counts" in node]
    assert sum(map(sum, nodes)) == 2**40
    assert (
        sum(abs(a - b) for made, said in zip(nodes, counts, strict=True) for a, b in zip(made, said, strict=True)) == 1
    )
    narrow = tree(counts, {"law": "discrete_gaussian", "scale": 1}, rows=2**39)
    assert "nats" in run("denoise", write(narrow), "--time", 600, code=3).stderr


def test_export_reads_noisy_counts_at_the_confidence_asked_for(write, run, tmp_path):
    ranges = []
    for level in (0.5, 0.95):
        run("export", write(NOISY), "--to", "mps", "--out", tmp_path / "model.mps", "--confidence", level)
        map_back = json.loads((tmp_path / "model.mps.map.json").read_text(encoding="utf-8"))
        assert f"confidence {level}" in json.dumps(map_back, ensure_ascii=False)
        ranges.append((tmp_path / "model.mps").read_text(encoding="utf-8"))
    assert ranges[0] != ranges[1]


def test_an_audit_says_what_the_noise_of_a_forest_bought(write, run):
    shape = [{"if": {"a": {"below": 5}}, "then": 1, "else": 2}, {"counts": [2, 0]}, {"counts": [1, 1]}]
    by_b = [{"if": {"b": "x"}, "then": 1, "else": 2}, {"counts": [1, 1]}, {"counts": [2, 0]}]
    trees = [{"nodes": nodes} for nodes in (shape, by_b)]
    exact = {"recon": 1, "domain": DOMAIN, "rows": 4, "models": [{"kind": "forest", "trees": trees}]}
    noisy = copy.deepcopy(exact)
    noisy["models"][0]["noise"] = {"law": "discrete_laplace", "scale": 0.4}
    path, plain = write(noisy), write(exact, "exact.json")
    found = json.loads(run("audit", path, "--without-noise", plain, "--json").stdout)["without_noise"]
    worlds = [recon.count(recon.load(file), "ordered") for file in (path, plain)]
    assert found["bits_left_noisy"] == pytest.approx([worlds[0].log2] * 2)
    assert found["bits_left_exact"] == pytest.approx([worlds[1].log2] * 2)
    assert found["bits_left_exact"][0] < found["bits_left_noisy"][0]
    said = f"{worlds[0].log2:,.1f} bits left at confidence 0.95 instead of {worlds[1].log2:,.1f}"
    assert said in run("audit", path, "--without-noise", plain).stdout
    exact["models"][0]["trees"].reverse()
    assert "other regions" in run("audit", path, "--without-noise", write(exact, "other.json"), code=3).stderr
    assert "a noisy release" in run("audit", plain, "--without-noise", plain, code=3).stderr


@pytest.mark.parametrize("command", ["posterior", "denoise"])
def test_the_number_of_rows_can_be_given(write, run, command):
    same = run(command, write(NOISY))
    path = write(tree([[31, -2], [3, 20], [41, 9]]), "open.json")
    assert run(command, path, "--rows", 100).stdout == same.stdout
    without = run(command, path, code={"posterior": 3, "denoise": 0}[command])
    assert without.stdout != same.stdout


@pytest.mark.parametrize(
    "figure",
    [
        {"total": {"of": "a", "value": 12}},
        {"mean": {"of": "a", "value": 3.5, "within": 0.5}},
        {"median": {"of": "a", "value": 4}},
        {"at_least": 3},
        {"at_least": 1, "at_most": 4, "suppressed": "primary"},
    ],
)
def test_a_noisy_table_holds_counts_only(write, figure):
    """Nothing says whether a mean beside noisy counts carries noise: it is not taken as exact."""
    noisy = {"kind": "table", "noise": LAPLACE, "statements": [{"where": {"b": "x"}, "count": 7}]}
    exact = {"kind": "table", "statements": [{"where": {"b": "y"}, **figure}]}
    apart = {"recon": 1, "domain": DOMAIN, "rows": 9, "models": [noisy, exact]}
    assert recon.load(write(apart)).noisy
    noisy["statements"] += exact["statements"]
    with pytest.raises(ReleaseError, match=r"models\[0\].statements\[1\].*'noise'"):
        recon.load(write({**apart, "models": [noisy]}))
    noisy["statements"][1] = {"where": {"b": "y"}, "suppressed": "unknown"}
    assert recon.load(write({**apart, "models": [noisy]})).noisy


def test_a_posterior_assumes_the_law_and_no_intervals(write, run):
    path = write(NOISY)
    for found in (run("posterior", path), run("denoise", path)):
        assert "are intervals, jointly" not in found.stderr
    for command in ("posterior", "denoise"):
        said = json.loads(run(command, path, "--json").stdout)["assumptions"]
        assert any("discrete laplace noise" in line for line in said)
        assert not any("intervals, jointly" in line for line in said)
    assert any("intervals, jointly" in line for line in json.loads(run("count", path, "--json").stdout)["assumptions"])
