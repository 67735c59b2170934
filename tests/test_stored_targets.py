"""Quantile forests: the target of every training row by its position, joined with what the trees count."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from extras import run

import recon
from recon.queries.located.positions import audit_lines, position_results
from recon.readers.frames.world import violations
from recon.readers.loading.known_positions import with_known_positions
from solvers.foundation.errors import ContradictionError

RELEASES = Path(__file__).parents[1] / "examples" / "releases"
FOREST, ROWS = str(RELEASES / "quantile_forest.joblib"), str(RELEASES / "quantile_forest.csv")


@pytest.fixture(scope="module")
def truth():
    return pd.read_csv(ROWS)


def targets(release):
    found = recon.positions(release)
    label = found[found.attribute == "target"].sort_values("position")
    return label.exact.tolist(), [float(low) for low in label.low]


@pytest.mark.slow
def test_every_target_is_told_by_position(truth):
    release = recon.load(FOREST, domain=recon.Domain.from_frame(truth, label="target"))
    assert violations(release, truth) == []
    assert targets(release) == ([True] * 40, truth.target.tolist())


def test_what_else_is_known_by_position_is_joined(truth):
    release = recon.load(FOREST, domain=recon.Domain.from_frame(truth, label="target"))
    known = truth[["target"]].head(2).assign(position=range(2))
    with_known_positions(release, known)
    with pytest.raises(ContradictionError):
        recon.positions(release, known=known.assign(target=known.target.iloc[::-1].to_numpy()))


@pytest.mark.slow
def test_a_release_file_keeps_them(truth, tmp_path, capsys):
    copy = tmp_path / "copy.json"
    assert run(capsys, "convert", FOREST, "--domain", ROWS, "--out", copy)[0] == 0
    assert targets(recon.load(str(copy))) == ([True] * 40, truth.target.tolist())
    text = copy.read_text()
    for wrong, said in (("[99, ", "no number of a value"), ("[", "41 labels for 40 rows")):
        at = text.index('"labels"')
        begin = text.index("[", at)
        end = text.index(",", begin)
        changed = "[99, " if wrong == "[99, " else "[0, " + text[begin + 1 : end] + ", "
        copy.write_text(text[:begin] + changed + text[end + 1 :])
        code, _, told = run(capsys, "count", copy)
        assert code == 3
        assert said in told


@pytest.mark.slow
def test_the_remedy_does_not_promise_what_stays(truth, capsys):
    release = recon.load(FOREST, domain=recon.Domain.from_frame(truth, label="target"))
    said = "\n".join(audit_lines(position_results(release), None))
    assert "40 of 40 labels by position" in said
    assert "0 of 40 labels and no values" not in said
    assert "the labels are stored in the file by position" in said
    assert "in file order: 151, 75, 141, 206" in run(capsys, "inspect", FOREST)[1]


def test_without_seeds_they_are_counted_and_named(truth, tmp_path, capsys):
    bare = tmp_path / "bare.joblib"
    assert run(capsys, "inspect", FOREST, "--strip", bare)[0] in {0, 1}
    release = recon.load(str(bare), domain=recon.Domain.from_frame(truth, label="target"))
    assert not release.statements.bags
    assert any(one.what == "sorter_" for model in release.models for one in model.origin.unused)
    assert violations(release, truth) == []
    wrong = truth.assign(target=truth.target.where(truth.index != 0, truth.target[1]))
    assert violations(release, wrong)


@pytest.mark.slow
def test_a_forest_on_the_study_of_diabetes_tells_every_target_and_narrows_the_columns():
    """Sixty trees on the first 100 people, as quantile_forest 1.4 stored them: 20 CPU seconds."""
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(as_frame=True, scaled=False).frame.head(100)
    corpus = Path(__file__).parent / "corpus" / "quantile_diabetes.joblib"
    release = recon.load(str(corpus), domain=recon.Domain.from_frame(frame, label="target"))
    assert targets(release) == ([True] * 100, frame.target.tolist())
    said = "\n".join(audit_lines(position_results(release), None))
    assert "100 of 100 labels by position, and narrows values to 7.0 % of their range" in said
