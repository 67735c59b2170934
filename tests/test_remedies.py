"""The table of remedies and `recon remedy`: figures beside old ones, written only where the policy is met."""

from __future__ import annotations

import json
import math
import os
import pickle
import random
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from test_merging import CLASSES, DOMAIN, POINTS, grown, some_rows
from typer.testing import CliRunner

import recon
from encoders.encode.encoder import encode
from encoders.models.models import Tree
from recon.cli.releasing import remedy as command
from recon.io.console.guarding import GuardedTyper
from recon.readers.loading.loading import load, read_domain
from recon.release.auditing.auditing import stored_outright
from recon.release.policies.policy import Policy, Threshold
from recon.release.remediation.candidates import _interval_facts, _rounded_counts, _structure_only, accuracy, remedies
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits

EXAMPLES = Path("examples/releases")
COMPAS = str(EXAMPLES / "compas_tree.json")
KEYS = {
    "remedy", "kind", "setting", "pinned", "bits_left_per_person", "least_bits_left", "smallest_group",
    "class_disclosed_rows", "outcome", "accuracy", "rows_judged", "status", "seconds", "note", "command",
}  # fmt: skip


def policy(**thresholds: Any) -> Policy:
    """Return a policy with these thresholds."""
    return Policy("test", tuple(Threshold(k, v, "test", "test") for k, v in thresholds.items()))


def named(lines: list[dict[str, Any]], kind: str, setting: Any) -> dict[str, Any]:
    """Return the line of a remedy."""
    return next(one for one in lines if one["kind"] == kind and one["setting"] == setting)


@pytest.mark.slow
def test_every_remedy_of_a_tree_has_its_figures_beside_those_as_published() -> None:
    """The lines, their keys, what merging leaves and what the policy says of it; JSON holds them."""
    release = load(COMPAS)
    lines = remedies(release, policy(smallest_group=15, class_disclosure="forbidden"), Limits(seconds=20))
    assert all(set(one) == KEYS for one in lines)
    assert json.loads(json.dumps(lines, allow_nan=False)) == lines
    first = lines[0]
    assert (first["kind"], first["smallest_group"], first["outcome"]) == ("as published", [1, 1], "violated")
    kinds = [one["kind"] for one in lines]
    assert {"merge", "depth", "counts", "rounded counts", "noise"} <= set(kinds)
    for k in (5, 10, 11, 15, 20):
        line = named(lines, "merge", k)
        assert line["smallest_group"][0] >= k
        assert line["bits_left_per_person"][0] >= first["bits_left_per_person"][0]
    best = named(lines, "merge", "policy")
    assert best["outcome"] == "met"
    assert best["command"].startswith(f"recon remedy {COMPAS} --policy")
    sizes = named(lines, "counts", "sizes")
    assert sizes["bits_left_per_person"][0] > first["bits_left_per_person"][0]
    assert sizes["class_disclosed_rows"] == [0, 0]  # proved: each leaf may hold people of both classes
    none = named(lines, "counts", "none")
    assert none["bits_left_per_person"][0] == pytest.approx(recon.measure(release, "multiset").unordered_before / 7214)
    assert [one["setting"] for one in lines if one["kind"] == "noise"] == [10.0, 1.0, 0.1]


def test_accuracy_is_that_of_predictions_counted_by_hand() -> None:
    """Merged, cut and noisy trees predict the commonest class of a leaf; rows are judged one by one here."""
    rng = random.Random(4)
    rows = some_rows(rng, 40)
    tree = grown(rng, rows, 3)
    frame = pd.DataFrame([(*p, y) for p, y in rows], columns=[*"abc", "y"])

    def predicted(point: tuple[int, ...]) -> int:
        v = 0
        while (node := tree.nodes[v]).condition is not None:
            ((name, test),) = node.condition
            v = node.then if point["abc".index(name)] in (test.values or ()) else node.otherwise
        counts = tree.nodes[v].support.counts or ()
        return max(range(CLASSES), key=lambda k: counts[k])

    right = sum(predicted(p) == y for p, y in rows) / len(rows)
    release = encode(DOMAIN, [tree])
    assert accuracy(release, frame) == (pytest.approx(right), 40)
    assert accuracy(release, frame.rename(columns={"y": "label"}), "label") == (pytest.approx(right), 40)
    lines = remedies(release, None, Limits(seconds=20), data=frame)
    assert lines[0]["accuracy"] == pytest.approx(right)
    assert lines[0]["outcome"] is None
    root = max(sum(y == k for _, y in rows) for k in range(CLASSES)) / len(rows)
    assert named(lines, "merge", 20)["accuracy"] >= root - 1e-12
    assert named(lines, "counts", "sizes")["accuracy"] is None
    assert "accuracy" in named(lines, "counts", "sizes")["note"]


@given(seed=st.integers(0, 10**6), n=st.integers(1, 15), multiple=st.sampled_from([5, 10]))
@settings(max_examples=40, deadline=None)
def test_what_rounded_counts_say_holds_for_every_count_that_they_stand_for(seed: int, n: int, multiple: int) -> None:
    """True counts lie in the intervals, and every figure's interval holds the true figure."""
    rng = random.Random(seed)
    rows = some_rows(rng, n)
    release = encode(DOMAIN, [grown(rng, rows, 3)])
    found, _ = _rounded_counts(release, multiple)
    before, after = release.statements.single, found.statements.single
    assert before is not None
    assert after is not None
    assert ((after.low <= before.low) & (before.low <= after.high)).all()
    assert (after.high - after.low < multiple).all()
    facts, true = _interval_facts(found, Limits()), recon.measure(release, "multiset")
    assert facts["pinned"][0] <= true.determined_rows <= facts["pinned"][1]
    low, high = facts["smallest_group"]
    groups = [sum(s.total or 0 for s in (one,)) for one in release.models[0].nodes.leaf_counts]  # type: ignore[union-attr]
    smallest = min(g for g in groups if g)
    assert low <= smallest
    assert high is None or smallest <= high
    assert facts["least_bits_left"][0] <= math.log2(true.smallest_region or 1)


def test_without_counts_everything_is_left() -> None:
    """Tests alone say nothing of rows: the bits left are those before, and nobody is pinned down."""
    rng = random.Random(8)
    rows = some_rows(rng, 12)
    found, note = _structure_only(encode(DOMAIN, [grown(rng, rows, 3)]))
    measured = recon.measure(found, "multiset")
    assert measured.entropy_bits == pytest.approx(math.log2(math.comb(len(POINTS) * CLASSES + 11, 12)))
    assert "commonest" in note


@pytest.mark.slow
def test_files_without_stored_findings_are_a_line_of_their_own(tmp_path: Path) -> None:
    """What can be taken out of a file changes what the policy says of stored findings, and no figure."""
    x, y = rows_of_numbers()
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(DecisionTreeClassifier(max_depth=3, random_state=7).fit(x, y)))
    release = load(str(path), domain=recon.Domain.from_frame(x.assign(y=y), label="y"))
    stored = stored_outright(release, Limits())
    removable = [f for one in stored for f in one.findings if f.removable]
    lines = remedies(release, policy(stored="none"), Limits(seconds=30), stored=stored)
    strips = [one for one in lines if one["kind"] == "strip"]
    assert len(strips) == (1 if removable else 0)
    for one in strips:
        assert one["pinned"] == lines[0]["pinned"]
        assert one["command"] == f"recon inspect {path} --strip model-stripped.pkl"


@pytest.mark.slow
def test_what_boosted_models_give_back_otherwise_stands_in_the_same_lines() -> None:
    """Rounded leaf values are lines of their own; merging says by name why it is not tried."""
    lines = remedies(load(EXAMPLES / "boosted_model.txt"), None, Limits(seconds=2))
    kinds = [one["kind"] for one in lines]
    assert kinds[0] == "as published"
    assert "leaf values" in kinds
    assert "merge" not in kinds
    assert all(set(one) == KEYS for one in lines)


@pytest.mark.slow
def test_noisy_counts_and_tables_are_not_merged_and_say_why() -> None:
    """A remedy that cannot be made says why; nothing is raised."""
    lines = remedies(load(EXAMPLES / "noisy_tree.json"), policy(smallest_group=5), Limits(seconds=20))
    assert "noise would add up" in named(lines, "merge", 5)["note"]
    assert named(lines, "merge", 5)["status"] == "not tried"
    assert [one["kind"] for one in remedies(load(EXAMPLES / "census_block.json"), None, Limits(seconds=20))] == [
        "as published"
    ]


def test_without_time_every_remedy_still_has_its_line() -> None:
    """Out of time, lines say so; the table has as many."""
    lines = remedies(load(COMPAS), policy(smallest_group=5), Limits(seconds=0))
    assert len(lines) > 10
    assert all(one["outcome"] in {"inconclusive", "met", "violated", None} for one in lines)


def rows_of_numbers() -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of whole numbers and their labels."""
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.integers(0, 12, (300, 4)).astype(float), columns=list("abcd"))
    return x, ((x["a"] + x["b"] * 2 + rng.integers(0, 9, 300)) > 18).astype(int).to_numpy()


APP = GuardedTyper(name="recon", pretty_exceptions_enable=False)
APP.command()(command.remedy)


@APP.command()
def nothing() -> None:
    """Stand beside, so that `remedy` is a command of its own."""


def run(*arguments: object) -> Any:
    """Return what a run of the command gave."""
    return CliRunner().invoke(APP, ["remedy", *map(str, arguments)])


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """Return a policy file for groups of ten."""
    path = tmp_path / "policy.toml"
    path.write_text('name = "ten"\nsmallest_group = {value = 10, source = "test"}\n', "utf-8")
    return path


def test_the_release_file_that_is_written_meets_the_policy(rules: Path, tmp_path: Path) -> None:
    """Two merges are enough; read again, the file has no group below ten rows."""
    out = tmp_path / "better.json"
    done = run(COMPAS, "--policy", rules, "--out", out)
    assert done.exit_code == 0, done.output
    assert "2 merges; 32 leaves or rules before, 30 after" in done.output
    assert "exact: dynamic programming" in done.output
    better = load(str(out))
    assert min(s.total or 10 for s in better.models[0].nodes.leaf_counts) >= 10  # type: ignore[union-attr]
    assert better.rows == load(COMPAS).rows
    assert run(out, "--policy", rules, "--out", tmp_path / "again.json").output.startswith(f"{out}: 0 merges")


def test_a_copy_of_a_model_is_written_with_its_accuracy(rules: Path, tmp_path: Path) -> None:
    """scikit-learn loads it; accuracy before and after is its own score on the data."""
    x, y = rows_of_numbers()
    model = DecisionTreeClassifier(random_state=0).fit(x, y)
    file, table, out = tmp_path / "model.joblib", tmp_path / "train.csv", tmp_path / "better.joblib"
    joblib.dump(model, file)
    x.assign(y=y).to_csv(table, index=False)
    given = (file, "--policy", rules, "--out", out, "--domain", table, "--label", "y", "--data", table, "--json")
    done = run(*given)
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    new = joblib.load(out)
    assert said["accuracy"]["before"] == pytest.approx(model.score(x, y))
    assert said["accuracy"]["after"] == pytest.approx(new.score(x, y))
    assert new.get_n_leaves() == said["leaves"]["after"] == model.get_n_leaves() - said["merges"]
    assert np.bincount(new.apply(x)).max() >= 10
    assert min(np.unique(new.apply(x), return_counts=True)[1]) >= 10
    assert said["assessment"]["outcome"] == "met"
    stripped = tmp_path / "stripped.pkl"
    assert run(file, "--policy", rules, "--out", stripped, "--domain", table, "--label", "y", "--strip").exit_code == 0
    assert joblib.load(stripped).random_state is None


def test_nothing_is_written_where_no_merging_meets_the_policy(tmp_path: Path) -> None:
    """Exit code 1, the rule named, no file."""
    strict = tmp_path / "strict.toml"
    strict.write_text('mean_bits_left = {value = 40, source = "x"}\n', "utf-8")
    out = tmp_path / "better.json"
    done = run(COMPAS, "--policy", strict, "--out", out)
    assert done.exit_code == 1
    assert "no merging meets the policy" in done.output
    assert not out.exists()


def test_nothing_is_written_where_the_audit_of_the_result_violates_another_rule(tmp_path: Path) -> None:
    """Merging cannot repair what kind of counts is published: exit code 1, no file."""
    strict = tmp_path / "strict.toml"
    strict.write_text('smallest_group = 5\nkinds_of_counts = ["noisy"]\n', "utf-8")
    out = tmp_path / "better.json"
    done = run(COMPAS, "--policy", strict, "--out", out)
    assert done.exit_code == 1, done.output
    assert "nothing was written" in done.output
    assert not out.exists()


def test_a_file_that_reads_back_otherwise_is_not_written(
    rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written must be the merged release, whatever went wrong in writing it."""
    made = command._written_content

    def wrong(*given: Any) -> tuple[bytes, tuple[str, ...]]:
        content, proof = made(*given)
        assert b'"Asian"' in content
        return content.replace(b'"Asian"', b'"Asiatic"'), proof

    monkeypatch.setattr(command, "_written_content", wrong)
    out = tmp_path / "better.json"
    done = run(COMPAS, "--policy", rules, "--out", out)
    assert done.exit_code != 0
    assert "not the merged release" in str(done.exception)
    assert not out.exists()


@pytest.mark.parametrize(
    ("out", "more", "words"),
    [
        ("better.csv", (), "is not written"),
        ("better.skops", (), "write .joblib or .json"),
        ("better.json", ("--strip",), "stores no seeds"),
    ],
)
def test_wrong_usage_is_told_before_any_work(
    out: str, more: tuple[str, ...], words: str, rules: Path, tmp_path: Path
) -> None:
    """Exit code 2, with what to do."""
    done = run(COMPAS, "--policy", rules, "--out", tmp_path / out, *more)
    assert done.exit_code == 2
    assert words in " ".join(done.output.replace("│", " ").split())


def test_a_wrong_policy_file_is_wrong_usage(tmp_path: Path) -> None:
    """Exit code 2, the file named."""
    bad = tmp_path / "bad.toml"
    bad.write_text("smallest_grup = 10\n", "utf-8")
    done = run(COMPAS, "--policy", bad, "--out", tmp_path / "better.json")
    assert done.exit_code == 2
    assert "smallest_grup" in done.output


def test_the_file_itself_is_not_overwritten(rules: Path, tmp_path: Path) -> None:
    """Exit code 2, and the file is as it was."""
    file = tmp_path / "tree.json"
    file.write_bytes(Path(COMPAS).read_bytes())
    assert run(file, "--policy", rules, "--out", file).exit_code == 2
    assert file.read_bytes() == Path(COMPAS).read_bytes()


@pytest.mark.slow
def test_a_default_forest_says_what_is_open(rules: Path, tmp_path: Path) -> None:
    """Counts of resamples alone do not tell the sizes of groups; what is written has ten different rows per leaf."""
    x, y = rows_of_numbers()
    file, table = tmp_path / "forest.pkl", tmp_path / "train.csv"
    forest = RandomForestClassifier(2, max_depth=2, random_state=np.random.RandomState(0)).fit(x, y)
    file.write_bytes(pickle.dumps(forest))
    x.assign(y=y).to_csv(table, index=False)
    out = tmp_path / "better.json"
    done = run(file, "--policy", rules, "--out", out, "--domain", table, "--label", "y", "--time", 5)
    assert done.exit_code == 0 or isinstance(done.exception, Inconclusive), done.output
    assert out.exists() is (done.exit_code == 0)
    trees = load(str(out)).models[0].trees if out.exists() else ()  # type: ignore[union-attr]
    assert all((s.distinct or 0) >= 10 for tree in trees for s in tree.nodes.leaf_counts)


@pytest.mark.long
def test_a_thousand_leaves_over_fifty_thousand_rows_take_less_than_a_minute(tmp_path: Path) -> None:
    """The whole table, with accuracy."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame(
        {"a": rng.integers(0, 80, 50_000), "b": rng.integers(0, 2_000, 50_000), "c": rng.integers(0, 17, 50_000)}
    ).astype(float)
    y = ((x["a"] * 3 + x["b"] / 20 + x["c"] * 5 + rng.normal(0, 60, 50_000)) > 200).astype(int)
    model = DecisionTreeClassifier(max_leaf_nodes=1_000, random_state=0).fit(x, y)
    path, table = tmp_path / "big.pkl", tmp_path / "rows.csv"
    path.write_bytes(pickle.dumps(model))
    x.assign(y=y).to_csv(table, index=False)
    release = load(str(path), domain=read_domain(str(table), "y"))
    lines = remedies(release, policy(smallest_group=10), Limits(seconds=60), data=x.assign(y=y), label="y")
    assert sum(one["seconds"] for one in lines) < 60
    assert named(lines, "merge", 10)["outcome"] == "met"
    assert isinstance(release.models[0], Tree)
    assert os.path.getsize(path) > 0
