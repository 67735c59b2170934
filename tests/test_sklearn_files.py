"""Files written by five versions of scikit-learn, read without it: the truth is never excluded, all say the same.

The files in golden/models were written by the real libraries (make.py, make.sh there); beside each stands the data it
was fitted on, and in index.json what the live model said about them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recon
from encoders.domain.domain import Domain
from encoders.encode.encoder import encode
from encoders.models.models import Boosting, Forest
from recon.readers.formats.detection import read_draft
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.frames.world import violations
from recon.readers.loading.loading import bind_draft

GOLDEN = Path(__file__).parent / "golden" / "models"
INDEX = json.loads((GOLDEN / "index.json").read_text())
VERSIONS = ["1.2.2", "1.3.2", "1.4.2", "1.6.1", "1.9.1"]
STORED = (".pkl", ".joblib", ".skops", ".gz")
BY_NAME: dict[str, list[dict]] = {}
for _entry in INDEX:
    if _entry["file"].startswith("sklearn") and _entry["file"].endswith(STORED):
        BY_NAME.setdefault(Path(_entry["file"]).name.split(".")[0], []).append(_entry)

# Trees that scikit-learn fitted wrongly on missing values: only what they say of all rows together is read.
MISPLACED = [f"sklearn-{v}" for v in ("1.3.2", "1.4.2", "1.6.1")]
REFUSED = {"tree_two_outputs": "several outputs"}
TREES = sorted(n for n in BY_NAME if n.startswith(("tree", "forest", "extra", "bagging", "ada", "gradient", "hist")))


def frame_of(entry: dict) -> pd.DataFrame:
    frame = pd.read_csv(GOLDEN / entry["data"])
    return used_rows(entry, frame)


def used_rows(entry: dict, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that were given a weight, the label as the model has it."""
    if "tree_bool" in entry["file"]:
        frame = frame.assign(sick=frame["sick"] == "yes")
    weights = entry.get("weights")
    return frame if weights is None else frame[np.array(weights) > 0].reset_index(drop=True)


def read(entry: dict) -> Draft:
    return read_draft((GOLDEN / entry["file"]).read_bytes(), 1 << 30)


def released(entry: dict, frame: pd.DataFrame) -> recon.EncodedRelease:
    draft = read(entry)
    found, models = bind_draft(draft, Domain.from_frame(frame, label=frame.columns[-1]))
    return encode(found, models, draft.rows)


def every(names: list[str]) -> list[dict]:
    return [e for n in names if n not in REFUSED for e in BY_NAME[n]]


def identity(entry: dict) -> str:
    return entry["file"]


@pytest.mark.sampled(20, 80)
@pytest.mark.parametrize("entry", every(TREES), ids=identity)
def test_the_training_data_satisfy_every_statement_and_counts_are_the_live_models(entry):
    frame = frame_of(entry)
    release = released(entry, frame)
    assert violations(release, frame) == []
    if (
        entry["data"].endswith("gaps.csv")
        and entry["file"].startswith(tuple(MISPLACED))
        and "hist" not in entry["file"]
    ):
        assert all(len(b.names) == 1 for b in release.statements.blocks if hasattr(b, "names"))
        return
    model, truth = release.models[0], entry["truth"]
    assert model.origin is not None
    assert model.origin.counts
    trees = model.trees if isinstance(model, Forest | Boosting) else (model,)
    told = truth.get("trees") or [stage[0] for stage in truth["stages"]]
    if len(truth.get("classes", ())) == 2 and "stages" in truth:
        assert "exact" in model.origin.counts  # the first stage of boosting on two classes
    checked, drawn = 0, []
    for tree, said in zip(trees, told, strict="stages" not in truth):
        leaves = [i for i, node in enumerate(tree.nodes) if node.condition is None]
        assert leaves == said["leaves"]
        drawn.append(0)
        for i, at in enumerate(leaves):
            support = tree.nodes[at].support
            if support.counts is not None:
                assert list(support.counts) == said["counts"][i]
                checked += 1
            elif "distinct" in said and support.distinct is None:
                assert support.count == said["distinct"][i]
            elif "distinct" in said:  # a regression tree on a bag that its seed gives away: drawn rows
                assert support.count >= said["distinct"][i]
                drawn[len(drawn) - 1] += support.count
            else:
                assert support.count == (said["rows"][i] if "rows" in said else sum(said["counts"][i]))
            if support.distinct is not None:
                assert support.distinct == said["distinct"][i]
        assert drawn[-1] in {0, sum(said.get("bag", ()))}
    assert checked or any(drawn) or not {"exact", "bag"} & set(model.origin.counts)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_all_versions_and_containers_give_the_same_statements(name):
    """Where versions of the library fitted the same tree they say the same; so do all containers of one version."""
    found = {}
    for entry in BY_NAME[name]:
        if name in REFUSED or name not in TREES:
            continue
        if entry["data"].endswith("gaps.csv") and entry["file"].startswith(tuple(MISPLACED)):
            continue  # the other test looks at these
        frame = frame_of(entry)
        models = released(entry, frame).models
        # Versions differ in what they fit (random numbers, how monotonic splits are bounded): compare equal trees only.
        key = json.dumps(entry["truth"], sort_keys=True)
        said = [
            (m.trees, getattr(m, "bootstrap", False), getattr(m, "subsample", False))
            if isinstance(m, Forest | Boosting)  # which of them: old versions of several classes say sizes alone
            else m.nodes
            for m in models
            if not hasattr(m, "statements")
        ]
        assert found.setdefault(key, said) == said, entry["file"]
    if name in {"tree", "tree_full", "tree_entropy", "tree_class_weight", "extra_trees", "forest_no_bootstrap"}:
        assert {e["library"].split()[-1] for e in BY_NAME[name]} == set(VERSIONS)


BAGGED = [e for n in TREES for e in BY_NAME[n] if e["truth"].get("bootstrap") and "regressor" not in n]


@pytest.mark.sampled(22)
@pytest.mark.parametrize("entry", BAGGED, ids=identity)
def test_the_bags_are_rebuilt_from_the_stored_seeds(entry):
    """Where they are given, they are those the library drew."""
    model = released(entry, frame_of(entry)).models[0]
    drawn = [t["bag"] for t in entry["truth"]["trees"] if "bag" in t]
    if model.multiplicities is None or not drawn:
        assert "distinct" in model.origin.counts
        return
    seen = np.minimum(drawn, 1).tolist() if model.subsample else drawn  # weights hide how often each was drawn
    assert model.multiplicities.tolist() == seen


@pytest.mark.slow
def test_most_bags_are_rebuilt():
    found = [released(e, frame_of(e)).models[0].multiplicities is not None for e in BAGGED]
    assert np.mean(found) > 0.8


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_not_read_is_refused_by_name(name):
    for entry in BY_NAME[name]:
        with pytest.raises(recon.Unsupported, match=REFUSED[name]):
            released(entry, frame_of(entry))
