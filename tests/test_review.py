"""What a reviewer found on real files: seeds as stored, proofs when time is up, guessed domains, boosted regressors."""

from __future__ import annotations

import itertools
import json
import pickle
import random
import re
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from extras import encoded, extra
from test_bags import profile_of, random_forest, worlds

import recon
from recon.queries.certificates.issuing import profile_certificates
from recon.queries.certificates.verifying import verify
from recon.readers.frames.world import violations
from recon.readers.inspection.inspecting import inspect
from solvers.foundation.errors import CertificateError, ReleaseError
from solvers.foundation.limits import CUT, Limits
from solvers.kernel.checker import Verifier
from solvers.kernel.claims import AtLeast, AtMost, RegionProof
from solvers.proofs.certificates.certifier import Certifier
from solvers.statements.boxes import Box

tree = extra("sklearn.tree")
ensemble = extra("sklearn.ensemble")
linear = extra("sklearn.pipeline")
impute = extra("sklearn.preprocessing")


def numbers(rows=60, columns=3):
    rng = np.random.default_rng(4)
    x = pd.DataFrame({f"c{k}": rng.integers(0, 7, rows) for k in range(columns)})
    return x, (x["c0"] + rng.integers(0, 3, rows) > 4).astype(int)


def saved(tmp_path, model):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(model))
    return path


def seed_line(found):
    return next(line for line in found.to_text().splitlines() if line.startswith("  ") and " seeds (" in line)


# ---------------------------------------------------------------- what inspect shows


@pytest.mark.parametrize("own", [0, None])
def test_the_seeds_that_are_shown_are_those_of_the_trees(tmp_path, own):
    model = ensemble.RandomForestClassifier(5, random_state=own).fit(*numbers())
    found = inspect(saved(tmp_path, model))
    (one,) = (f for f in found.findings if f.rule == "bag-seeds")
    seeds = [t.random_state for t in model.estimators_[:3]]
    assert list(one.values) == json.loads(json.dumps(found.to_json()))["findings"][0]["values"] == seeds
    assert f"({', '.join(map(str, seeds))}, ...)" in seed_line(found)
    assert ("own random_state" in one.remove) == (own is not None)


def test_the_seed_of_an_ensemble_is_shown_where_the_bags_follow_from_it(tmp_path):
    model = ensemble.RandomForestClassifier(5, random_state=77).fit(*numbers())
    for one in model.estimators_:
        one.random_state = None
    found = inspect(saved(tmp_path, model))
    assert seed_line(found).endswith("random_state: the seed of 5 seeds (77)")
    bagging = ensemble.BaggingClassifier(n_estimators=4, random_state=1).fit(*numbers())
    (one,) = (f for f in inspect(saved(tmp_path, bagging)).findings if f.rule == "bag-seeds")
    assert list(one.values) == bagging._seeds[:3].tolist()


def test_only_best_splits_lie_halfway(tmp_path):
    for kind, halfway in ((ensemble.ExtraTreesClassifier, False), (ensemble.RandomForestClassifier, True)):
        found = inspect(saved(tmp_path, kind(3, random_state=0).fit(*numbers())))
        (said,) = (f.follows for f in found.findings if f.rule == "tree")
        assert ("halfway" in said) == halfway


# ---------------------------------------------------------------- proofs


def late():
    """Return limits whose time was just used up by the answers."""
    return Limits(seconds=20.0, started=time.monotonic() - 20.0)


@pytest.mark.slow
def test_certain_verdicts_of_bags_are_proved_when_the_time_is_up():
    """Brute force over every dataset that some bags explain; what is proved late is proved soundly."""
    rng, proved = random.Random("late proofs"), Counter()
    for _ in range(16):
        release, _, space, how, _ = random_forest(rng)
        got, every = encoded(release), worlds(release, space, how)
        asked = [profile_of(rng, space) for _ in range(4)]
        frame = pd.DataFrame([p for p, _ in asked], dtype=object)
        least = [min(sum(map(meets, d)) for d in every) for _, meets in asked]
        for said in ("certain", "impossible"):
            found = profile_certificates(got, frame, [said] * len(frame), late())
            for (_, meets), low, one in zip(asked, least, found, strict=True):
                true = low > 0 if said == "certain" else not any(any(map(meets, d)) for d in every)
                assert one is None or true, release
                proved[said, true, one is not None] += 1
                if one is not None:
                    assert one["proof"]["kind"] == "regions"
                    checked = verify(one, encoded(release))
                    assert (len(checked.verified), len(checked.rejected)) == (1, 0)
    assert proved["certain", True, True] > 10, proved
    assert not proved["certain", True, False], proved  # a leaf or two settle each of these
    assert proved["impossible", True, True], proved


@pytest.mark.slow
def test_no_leaf_of_a_bag_proves_more_rows_than_there_must_be():
    """Every statement, and every pair of one block, as a proof of one row more than some dataset has."""
    rng, refused, accepted = random.Random("forged leaves"), 0, 0
    for _ in range(10):
        release, _, space, how, _ = random_forest(rng)
        got, every = encoded(release), worlds(release, space, how)
        row = rng.choice(space)
        box = Box(tuple((k, 1 << c.part(row[k])) for k, c in enumerate(got.cut.cuts)))
        inside = [r for r in space if all(c.part(r[k]) == c.part(row[k]) for k, c in enumerate(got.cut.cuts))]
        least = min(sum(r in inside for r in d) for d in every)
        verifier = Verifier(got.statements)
        several = itertools.combinations(range(verifier.facts.rows), 2)
        for proof in [*((s,) for s in range(verifier.facts.rows)), *several]:
            for rows in range(1, 6):
                try:
                    verifier.verify(AtLeast(box, rows), RegionProof(proof))
                except CertificateError:
                    refused += 1
                else:
                    accepted += 1
                    assert rows <= least, (release, proof)
    assert refused > 400
    assert accepted > 8


def test_who_is_late_has_a_tenth_more_and_no_search():
    got = encoded(random_forest(random.Random(3))[0])
    certifier = Certifier(got.statements, late())
    assert certifier.late
    assert certifier.limits.cut_short() == (f"{CUT}: late certificates",)
    assert 0 < certifier.limits.left() <= 2.0
    whole = AtMost(Box(), 10_000)
    assert all(isinstance(p, RegionProof) for p in certifier.candidates(whole))
    early = Certifier(got.statements, Limits(seconds=600.0))
    assert not early.late
    assert not early.limits.cut_short()
    assert early.limits.left() > 2.0
    stopped = late()
    stopped.stop.set()
    assert Certifier(got.statements, stopped).limits.expired()


# ---------------------------------------------------------------- guessed domains


def test_profiles_may_say_anything_of_columns_that_no_test_uses(tmp_path):
    x, y = numbers()
    x["unused"] = "1"  # constant: no tree splits on it
    model = tree.DecisionTreeClassifier(random_state=0).fit(x, y)
    release = recon.load(saved(tmp_path, model))
    rows = [{**r, "unused": v} for r in x.iloc[:5].to_dict("records") for v in (10.6, 1, "any", None)]
    found = recon.certify(release, rows)
    bare = recon.certify(release, x.iloc[:5].drop(columns="unused"))
    for i, row in enumerate(rows):
        line, other = found.iloc[i], bare.iloc[i // 4]
        assert line["max_count"] == other["max_count"]
        # the file says nothing of the column: no row with a value of it is certain
        assert line["verdict"] in ({"possible", "impossible"} if row["unused"] is not None else {other["verdict"]})
    outside = recon.certify(release, [{"label": 99}]).iloc[0]
    assert outside["verdict"] == "outside"
    assert re.search(r"'label': 99 .*guess from the model file.*--domain", outside["reason"])
    assert recon.certify(release, [{"c0": 99}])["verdict"].tolist() == ["possible"]  # no end of c0 is known


def test_an_impossible_profile_is_proved_so_whatever_it_says_of_unused_columns(tmp_path):
    x, y = numbers()
    path = saved(tmp_path, tree.DecisionTreeClassifier(random_state=0).fit(x.assign(unused=1), y))
    release = recon.load(path)
    rows = [{"c0": 0, "c1": 3, "label": c, "unused": 10.6} for c in (0, 1)]
    found = recon.certify(release, rows)
    assert found["verdict"].tolist() == ["possible", "impossible"]
    checked = verify(found.loc[1, "certificate"], recon.load(path))
    assert (len(checked.verified), checked.verified[0].claim.count("10.6")) == (1, 1)


def test_a_declared_domain_is_strict(tmp_path):
    x, y = numbers()
    x["unused"] = [0, 1] * 30
    model = tree.DecisionTreeClassifier(max_depth=1, random_state=0).fit(x[["c0", "unused"]], y)
    domain = recon.Domain.from_frame(x[["c0", "unused"]].assign(y=y), label="y")
    release = recon.load(saved(tmp_path, model), domain=domain)
    found = recon.certify(release, [{"unused": 10.6}]).iloc[0]
    assert found["verdict"] == "outside"
    assert "10.6 is not a value of attribute 'unused'" in found["reason"]
    assert "--domain" not in found["reason"]


def test_an_unknown_column_is_refused_with_the_names_that_there_are(tmp_path):
    x, y = numbers(columns=11)
    model = tree.DecisionTreeClassifier(random_state=0).fit(x, y)
    release = recon.load(saved(tmp_path, model))
    with pytest.raises(ReleaseError) as refused:
        recon.certify(release, x.assign(target=y))
    said = str(refused.value)
    assert "'target'" in said
    assert "its label is 'label'" in said
    assert "'c0', 'c1'" in said
    assert "--domain" in said
    assert "'c8'" not in said
    assert "..." in said
    named = recon.load(saved(tmp_path, model), domain=recon.Domain.from_frame(x.assign(y=y), label="y"))
    with pytest.raises(ReleaseError, match="its label is 'y'") as refused:
        recon.certify(named, x.assign(target=y))
    assert "--domain" not in str(refused.value)


# ---------------------------------------------------------------- sensitive columns that are known already

PRIORS = {
    "recon": 1,
    "domain": {
        "attributes": [{"name": "a", "values": [0, 1]}, {"name": "priors", "values": ["0", "1", "2-3"]}],
        "label": {"name": "y", "values": [0, 1]},
        "columns": {
            "priors:=0": {"attribute": "priors", "in": ["0"]},
            "priors:=1": {"attribute": "priors", "in": ["1"]},
            "priors:>0": {"attribute": "priors", "in": ["1", "2-3"]},
        },
    },
    "models": [
        {
            "kind": "tree",
            "nodes": [{"if": {"priors:=0": {"at_most": 0.5}}, "then": 1, "else": 2}, {"counts": [2, 1]},
                      {"counts": [1, 2]}],
        }
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "sensitive"),
    [
        ({"priors": "1"}, "priors"),
        ({"priors:=0": 1}, "priors"),
        ({"priors:=0": 0, "priors:=1": 0}, "priors"),
        ({"priors": "1"}, "priors:=1"),
        ({"priors:=0": 1}, "priors:=1"),
        ({"priors:>0": 0}, "priors:=0"),
    ],
)
def test_a_sensitive_column_that_other_columns_say_is_refused(profile, sensitive):
    got = encoded(PRIORS)
    with pytest.raises(ReleaseError, match=f"already say '{sensitive}', the sensitive column") as refused:
        recon.attribute(got, [{"a": 1}, {**profile, "a": 0}], sensitive)
    if sensitive not in profile:
        assert refused.value.place == "row 2"
        assert all(f"'{name}'" in str(refused.value) for name in profile)


def test_columns_that_narrow_a_sensitive_one_down_are_knowledge_like_any_other():
    """Two of three values are left: the shares are those of the rows with these, and none is certain."""
    found = recon.attribute(encoded(PRIORS), [{"priors:>0": 1}], "priors").set_index("value")
    assert found.loc["0", "probability"] == 0
    assert found.loc["1", "probability"] == found.loc["2-3", "probability"] == pytest.approx(0.5)
    assert not found["certain"].any()


# ---------------------------------------------------------------- boosting

FITS = {
    "boosting": lambda: ensemble.GradientBoostingRegressor(n_estimators=6, random_state=0),
    "absolute": lambda: ensemble.GradientBoostingRegressor(n_estimators=4, loss="absolute_error", random_state=0),
    "part": lambda: ensemble.GradientBoostingRegressor(n_estimators=4, subsample=0.6, random_state=0),
    "histograms": lambda: ensemble.HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5, random_state=0),
}


@pytest.mark.sampled(9, 1)
@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("seed", range(3))
def test_the_rows_of_boosted_regressors_meet_what_is_read(tmp_path, name, seed):
    rng = np.random.default_rng(seed)
    x = pd.DataFrame({"a": rng.integers(0, 30, 200), "b": np.round(rng.normal(size=200), 2)})
    y = x["a"] // 3 + rng.integers(0, 4, 200)
    path = saved(tmp_path, FITS[name]().fit(x, y))
    frame = x.assign(y=y)
    release = recon.load(path, domain=recon.Domain.from_frame(frame, label="y"))
    assert violations(release, frame) == []
    assert violations(release, frame.iloc[: 100 if name == "part" else -1]) != []
    (model,) = release.models
    assert model.origin.counts == (("distinct",) if name == "part" else ("size",))
    assert any("regression model" in line for line in release.reader_notes)
    leaves = [sum(n.condition is None for n in t.nodes) for t in model.trees]
    stated = [len(b) for b in release.statements.blocks]
    assert stated == leaves
    assert sum(leaves) > len(leaves)
    if name == "part":  # lower bounds: other rows may hold as well, and the same rows in other leaves do not
        assert violations(release, frame.assign(a=0)) != []
    else:
        shifted = frame.assign(a=frame["a"].to_numpy()[::-1])
        assert violations(release, shifted) != []


def test_adaboost_for_regression_is_refused_with_a_sentence(tmp_path):
    x, y = numbers()
    path = saved(tmp_path, ensemble.AdaBoostRegressor(n_estimators=3, random_state=0).fit(x, y))
    with pytest.raises(recon.Unsupported, match=r"AdaBoostRegressor is not read.*docs/readers.md"):
        recon.load(path)


def test_hidden_classes_are_not_said_to_be_known(tmp_path):
    x, y = numbers()
    three = y.where(x["c1"] > 2, 2)
    several = recon.load(saved(tmp_path, ensemble.GradientBoostingClassifier(n_estimators=3).fit(x, three)))
    assert not [s for s in several.reader_notes if "classes" in s]
    resumed = ensemble.GradientBoostingClassifier(n_estimators=3, warm_start=True)
    hidden = recon.load(saved(tmp_path, resumed.fit(x, three)))
    assert [s for s in hidden.reader_notes if "classes" in s] == [
        "the classes are hidden, in the first tree too: only how many rows are in each leaf is known"
    ]
    known = recon.load(saved(tmp_path, ensemble.GradientBoostingClassifier(n_estimators=3).fit(x, y)))
    assert any("of the first tree classes are known" in s for s in known.reader_notes)
    assert not any("hidden" in s for s in known.reader_notes)


# ---------------------------------------------------------------- printed trees


def test_how_to_print_all_digits_is_said(tmp_path):
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"u": np.round(rng.random(200), 3)})
    model = tree.DecisionTreeClassifier(max_depth=6, random_state=0).fit(x, (x["u"] * 9 % 2 > 1).astype(int))
    domain = recon.Domain.from_frame(x.assign(y=0).assign(y=[0, 1] * 100), label="y")
    path, names = tmp_path / "tree", ["u"]
    forms = {
        "decimals=10": lambda digits: tree.export_text(model, feature_names=names, show_weights=True, decimals=digits),
        "precision=10": lambda digits: tree.export_graphviz(model, feature_names=names, precision=digits),
    }
    for advice, printed in forms.items():
        path.write_text(printed(1))
        with pytest.raises(ReleaseError, match=f"too few digits.*{advice}"):
            recon.load(path, domain=domain)
        path.write_text(printed(10))
        assert recon.load(path, domain=domain).statements.blocks
