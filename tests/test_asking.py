"""Every public question takes a release, the path of a file or a fitted model, or refuses in one sentence."""

from __future__ import annotations

import inspect
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import extra

import recon
from recon.readers.loading.loading import release_of

BITS = {
    "recon": 1,
    "domain": {
        "attributes": [{"name": "a", "values": [0, 1]}, {"name": "b", "values": [0, 1]}],
        "label": {"name": "y", "values": [0, 1]},
    },
    "models": [
        {
            "kind": "tree",
            "nodes": [
                {"if": {"a": 1}, "then": 1, "else": 2},
                {"counts": [0, 2]},
                {"if": {"b": 1}, "then": 3, "else": 4},
                {"counts": [1, 1]},
                {"counts": [2, 0]},
            ],
        }
    ],
}
PEOPLE = pd.DataFrame({"a": [0, 1], "b": [1, 1]})
ROWS = pd.DataFrame({"a": [1, 1, 0, 0, 0, 0], "b": [0, 1, 0, 1, 0, 1], "y": [1, 1, 0, 0, 0, 1]})
ASKED = {  # public function -> what else it is asked
    "attack_correlation": {"data": ROWS, "label": "y"},
    "attack_membership": {"data": ROWS},
    "attribute": {"profiles": PEOPLE[["a"]], "sensitive": "b"},
    "audit": {},
    "bound": {"where": {"b": 1}},
    "certify": {"profiles": PEOPLE},
    "count": {},
    "denoise": {},
    "determined": {},
    "export": {"to": "mps"},
    "first_trees": {"rounds": 1},
    "labels": {},
    "measure": {},
    "plan": {},
    "population": {"adversary": recon.Adversary(rows=[{"where": {"a": 1}}]), "profiles": PEOPLE},  # refused: none known
    "positions": {},
    "posterior": {},
    "reconstruct": {},
    "remedies": {},
    "rounded": {"decimals": 2},
    "sample": {"k": 3},
    "sampled": {},
    "sweep": {"epsilons": [1.0], "draws": 1},
    "table": {},
    "targets": {},
    "verify": {"data": {}},
    "worlds": {},
}
ANSWERED = {"attribute", "audit", "bound", "certify", "count", "determined", "export", "measure", "plan", "reconstruct",
            "sample", "sweep", "table", "verify", "worlds", "attack_correlation"}  # fmt: skip


def given(name):
    """Return the parameters of a public function that take what was released."""
    parameters = inspect.signature(getattr(recon, name)).parameters.values()
    return [one.name for one in parameters if "Released" in str(one.annotation)]


def answer(name, thing, folder):
    """Return what a question answers, as something that compares; a refusal as its text."""
    more = dict(ASKED[name])
    if name == "export":
        more["out"] = str(folder / "out.mps")
    try:
        found = getattr(recon, name)(**{given(name)[0]: thing}, **more)
        found = list(found) if name in {"worlds", "sample"} else [found]
    except recon.ReconError as error:
        return str(error)
    return [plain(one) for one in found]


def plain(found):
    if isinstance(found, pd.DataFrame):
        return found.drop(columns=["certificate", "seconds"], errors="ignore").to_csv()
    if isinstance(found, recon.World):
        return found.to_frame().to_csv()
    if isinstance(found, tuple):
        return [repr(one) for one in found]
    return found.frame.to_csv() if hasattr(found, "frame") else repr(found)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "bits.json"
    file.write_text(json.dumps(BITS))
    return file


@pytest.fixture
def tree():
    """A tree whose tests are all on halves: its file says that its columns are bits."""
    extra("sklearn")
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0).fit(ROWS[["a", "b"]], ROWS["y"])


def test_no_public_question_is_left_out():
    functions = [name for name in recon.__all__ if inspect.isfunction(getattr(recon, name))]
    two = {"difference", "versions"}  # are asked about several releases: tests/test_versions.py
    assert sorted(name for name in functions if given(name) and name not in two) == sorted(ASKED)
    for name in functions:
        taken = inspect.signature(getattr(recon, name)).parameters.values()
        assert not [one for one in taken if "EncodedRelease" in str(one.annotation)], name
    assert given("audit") == ["release", "without_noise"]


@pytest.mark.sampled(25)
@pytest.mark.parametrize("name", sorted(ASKED))
@pytest.mark.parametrize("form", [str, Path])
def test_a_path_is_loaded(name, form, path, tmp_path):
    found = answer(name, form(path), tmp_path)
    assert found == answer(name, recon.load(path), tmp_path)
    assert isinstance(found, list) == (name in ANSWERED), found


@pytest.mark.sampled(17)
@pytest.mark.parametrize("name", sorted(ASKED))
def test_a_fitted_model_is_read_as_its_file(name, tree, tmp_path):
    file = tmp_path / "model.pkl"
    file.write_bytes(pickle.dumps(tree))
    found, of_file = answer(name, tree, tmp_path), answer(name, str(file), tmp_path)
    if isinstance(found, list):
        if name in {"audit", "verify", "export"}:  # they name the file
            assert isinstance(of_file, list)
        else:
            assert found == of_file
    else:
        assert isinstance(of_file, str)
        assert "\n" not in found
    assert isinstance(found, list) == (name in ANSWERED), found


def test_a_guessed_domain_is_named_in_the_assumptions(tree):
    release = release_of(tree)
    assert recon.count(tree).log2 == recon.count(release).log2 is not None
    assert any("assumed for want of a declared domain" in text for text in release.assumptions)


class Unreadable:
    """A model of a library that nobody knows."""

    def predict(self, rows):
        return rows


WRONG = [
    pd.DataFrame({"a": [1]}), pd.Series([1]), np.zeros((2, 2)), [1, 2], (), ["a.json", "b.json"], {"recon": 1}, None,
    b"bytes", 3, 1.5, {1}, object(), len, lambda: 0, recon, Unreadable(), Unreadable, type, iter([1]),
]  # fmt: skip


@pytest.mark.parametrize("name", sorted(ASKED))
def test_anything_else_is_refused_in_one_sentence(name, tmp_path):
    for thing in WRONG:
        found = answer(name, thing, tmp_path)
        assert isinstance(found, str), (name, thing)
        assert 20 < len(found) < 400
        assert "\n" not in found
        assert type(thing).__name__.lower() in found.lower() or isinstance(thing, type), found


def test_refusals_say_what_to_do(tmp_path):
    with pytest.raises(recon.Unsupported, match=r"a DataFrame holds data.*: give a release .*, the path of a file"):
        recon.count(pd.DataFrame())
    with pytest.raises(recon.Unsupported, match=r"recon\.load\(\*paths\)"):
        recon.count(["a.json", "b.json"])
    with pytest.raises(recon.Unsupported, match="Unreadable is a class, not a fitted model"):
        recon.count(Unreadable)
    with pytest.raises(recon.ReleaseError, match=r"none\.json"):
        recon.count(tmp_path / "none.json")
    with pytest.raises(recon.Unsupported, match="a DataFrame holds data"):
        recon.audit(release_of_bits(tmp_path), without_noise=pd.DataFrame())
    hostile = type("<script>\u202e" + "x" * 10_000, (), {"__module__": "builtins"})()
    with pytest.raises(recon.Unsupported) as refused:
        recon.count(hostile)
    assert len(str(refused.value)) < 300
    assert "\u202e" not in str(refused.value)


def release_of_bits(folder):
    file = folder / "some.json"
    file.write_text(json.dumps(BITS))
    return recon.load(file)


def test_models_that_are_not_fitted_or_need_a_domain_say_so():
    extra("sklearn")
    from sklearn.tree import DecisionTreeClassifier

    with pytest.raises(recon.ReleaseError, match=r"DecisionTreeClassifier: .*not fitted"):
        recon.count(DecisionTreeClassifier())
    rows = pd.DataFrame({"a": [0, 1] * 9, "b": [0, 1, 1] * 6})
    own = recon.GreedyRuleListClassifier().fit(rows, rows["a"])
    with pytest.raises(recon.ReleaseError, match=r"does not say which values.*recon\.encode\(model, domain\)"):
        recon.measure(own)
    domain = recon.Domain.from_frame(rows.assign(y=rows["a"]), label="y")
    assert recon.measure(recon.encode(own, domain)).rows == 18


def test_limits_of_the_question_bound_the_reading(path, tree):
    small = recon.Limits(memory=64)
    assert recon.count(recon.load(path), limits=small).status == "exact"
    with pytest.raises(recon.ReleaseError, match="memory"):
        recon.count(path, limits=small)


def test_a_linear_model_is_read_from_its_path(tmp_path):
    file = tmp_path / "linear.json"
    file.write_text(json.dumps({"weights": {"a": 1.0, "b": 0.5}, "correlations": {"a": 0.5, "b": 0.25}}))
    assert len(recon.attack_correlation(str(file), None).frame)
