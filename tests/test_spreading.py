"""Audits on two processes print what they print on one: files, questions, profiles and components are handed out."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from margin_cases import margins
from sklearn.ensemble import HistGradientBoostingClassifier

import recon
from recon.queries.answers import counting as undecided
from recon.readers.loading import loading
from recon.release.auditing import together as spreading
from solvers.cells.system import system_of
from solvers.foundation.errors import TooLarge
from solvers.foundation.limits import Limits, Meter
from solvers.foundation.parallel.opening import Processes
from solvers.foundation.parallel.work import unpack_reply
from solvers.histograms import branches

RELEASES = Path(__file__).parents[1] / "examples" / "releases"


@pytest.fixture
def handed_out(monkeypatch):
    """Hand everything out at once, and return which functions were, and how often."""
    found: Counter[str] = Counter()
    for module in (spreading, undecided, loading, branches):
        monkeypatch.setattr(module, "STARTING", 0.0)
    monkeypatch.setattr(undecided, "CHUNK", 20)
    begin = Processes.begin

    def counted(self, job):
        function, piece = pickle.loads(job.content)
        asked = (
            piece[0] if function is spreading._answer_question else function
        )  # a question of an audit: what is asked
        found[asked.__name__.lstrip("_")] += 1
        return begin(self, job)

    monkeypatch.setattr(Processes, "begin", counted)
    return found


def without_seconds(found):
    """Return JSON without what differs from run to run: seconds, and by which steps one thing is proved."""
    if isinstance(found, dict):
        return {
            k: without_seconds(v)
            for k, v in found.items()
            if k not in ("seconds", "proof", "seal", "made", "workers", "certificates")
        }
    return [without_seconds(one) for one in found] if isinstance(found, list) else found


def same_on_two(run, *command):
    """Return the JSON that a command prints on one process, having seen that it is that of two."""
    reports = [json.loads(run(*command, "--json", "--workers", n).stdout) for n in (1, 2)]
    one, two = map(without_seconds, reports)
    assert one == two
    return one


def boosted(folder: Path) -> list[object]:
    """Write a model of thirty trees on sixty rows, and return how it is named to a command."""
    draw = np.random.default_rng(0)
    rows = pd.DataFrame({name: draw.integers(0, 3, 60) for name in "abc"})
    label = (draw.random(60) < 0.1 + 0.2 * rows["a"] + 0.1 * rows["b"]).astype(int)
    model = HistGradientBoostingClassifier(max_iter=30, min_samples_leaf=3, early_stopping=False, random_state=0)
    joblib.dump(model.fit(rows, label), folder / "model.joblib")
    rows.assign(y=label).to_csv(folder / "rows.csv", index=False)
    return [folder / "model.joblib", "--label", "y", "--domain", folder / "rows.csv"]


@pytest.mark.slow
def test_questions_and_remedies_of_a_boosted_model(run, handed_out, tmp_path):
    found = same_on_two(run, "audit", *boosted(tmp_path), "--remedies", "--truth", tmp_path / "rows.csv")
    assert len(found["leaf_values"]["remedies"]) == handed_out["remedy_line"] > 2
    assert handed_out["group_disclosure_of"] == handed_out["certified"] == handed_out["true_values_of"] == 1


@pytest.mark.slow
def test_profiles_and_draws_beside_the_truth(run, handed_out, tmp_path):
    release, truth = RELEASES / "compas_forest.json", tmp_path / "truth.csv"
    recon.reconstruct(recon.load(release)).to_frame().to_csv(truth, index=False)
    found = same_on_two(run, "audit", release, "--truth", truth)
    assert found["truth"]["is_world"] is True
    assert handed_out["of_chunk"] > 1
    assert handed_out["right_by_chance"] > 1
    assert handed_out["guessed"] == handed_out["contradicted_sources"] == 1


@pytest.mark.slow
def test_files_are_read_side_by_side(run, handed_out):
    files = [RELEASES / "two_trees.json", RELEASES / "two_trees.json"]
    same_on_two(run, "audit", *files)
    assert handed_out["read_apart"] == 2


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_said_in_the_same_words(run, handed_out, tmp_path):
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{", encoding="utf-8")
    said = [run("audit", RELEASES / "two_trees.json", wrong, "--workers", n, code=3).stderr for n in (1, 2)]
    assert said[0] == said[1]
    assert handed_out["read_apart"] == 2


PEOPLE, VALUES = (6, 7, 8, 9), {"age": ["0-17", "18-64", "65+"], "sex": ["f", "m"], "ill": ["no", "yes"]}


@pytest.mark.slow
def test_components_are_counted_side_by_side(run, handed_out, tmp_path):
    found = same_on_two(run, "audit", margins(tmp_path / "margins.json", PEOPLE, VALUES))
    assert (found["status"], handed_out["graph_of"]) == ("exact", 4)


MEMORY = 48 * 1_100  # bytes: all counties have 1,048 edges, the largest 574, more than half of them


@pytest.mark.slow
def test_a_component_too_large_for_its_part_of_the_memory_is_counted_with_all_of_it(handed_out, monkeypatch, tmp_path):
    release = recon.load(margins(tmp_path / "margins.json", PEOPLE, VALUES))
    replies = []
    back = Processes.ended

    def seen(self, seconds):
        found = back(self, seconds)
        replies.extend(unpack_reply(reply, Meter()) for _, reply in found)
        return found

    monkeypatch.setattr(Processes, "ended", seen)
    one, two = (
        branches.branches_of(system_of(release.statements, limits), limits)
        for limits in (Limits(), Limits(memory=MEMORY, workers=2))
    )
    assert any(isinstance(reply, TooLarge) for reply in replies)
    assert [[graph.edges for graph in branch.graphs] for branch in one] == [[574, 168, 118, 188]]
    assert [[graph.edges for graph in branch.graphs] for branch in two] == [[574, 168, 118, 188]]
