"""recon audit of files whose rows stand in them, of calibrations on folds, and of MLflow folders."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from extras import after_verdict
from typer.testing import CliRunner

import recon
from recon.cli.app import app
from recon.io.console.output import of_error
from recon.io.files.archives import companions
from recon.io.files.opening import _model_file, file_and_number
from recon.readers.inspection.inspecting import inspect, inspect_bytes
from recon.readers.inspection.stripping import strip
from recon.report.stored_report import _stored_report, rows_stored
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits

MODELS = Path(__file__).parent / "golden" / "models"
LEAKY = MODELS / "leaky"
# How many of the 20 training rows are stored in the file, computed from the pickle itself where scikit-learn is there.
EVERY = (
    "KNeighborsClassifier", "KNeighborsClassifier_brute", "RadiusNeighborsClassifier", "NearestNeighbors",
    "GaussianProcessClassifier", "GaussianProcessRegressor", "KernelRidge", "KernelPCA", "LabelSpreading",
    "LocalOutlierFactor", "KNNImputer",
)  # fmt: skip
STORED = {"SVC": 15} | dict.fromkeys(EVERY, 20)


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


def code(done):
    """Return the exit code that the command line ends with."""
    ended = isinstance(done.exception, SystemExit) or done.exception is None
    return done.exit_code if ended else of_error(done.exception)


@pytest.mark.parametrize("name", STORED)
def test_the_worst_files_get_a_report(name):
    path = LEAKY / f"{name}.pkl"
    done = run(path)
    assert done.exit_code == 0
    lines = after_verdict(done.output)
    assert lines[0] == f"Audit of {path}"
    assert lines[2] == "The training data is stored outright"
    assert f"{STORED[name]} of 20 training rows are stored in the file unchanged" in lines[3]
    assert "worlds were not counted" in done.output
    assert rows_stored(inspect(path)) == STORED[name]


def test_every_form_of_the_report(tmp_path):
    path = LEAKY / "SVC.pkl"
    told = json.loads(run(path, "--json").stdout)
    assert (told["status"], told["rows"], told["rows_stored"], told["labels_stored"]) == ("stored", 20, [15], [False])
    assert told["stored"][0] == inspect(path).to_json()
    assert "15 of 20 training rows" in told["verdict"][0]
    for ending, begins in (("md", "# Audit of"), ("html", "<!doctype html>"), ("json", "{"), ("txt", "Audit of")):
        out = tmp_path / f"report.{ending}"
        done = run(path, "--out", out)
        assert (done.exit_code, done.stdout) == (0, "")
        text = out.read_text(encoding="utf-8")
        assert text.startswith(begins)
        assert "15 of 20 training rows are stored in the file" in text


def test_a_report_names_what_is_beside_the_rows():
    told = json.loads(run(LEAKY / "KNeighborsClassifier.pkl", "--json").stdout)
    assert told["labels_stored"] == [True]
    done = run(MODELS / "sklearn-1.9.1" / "tree.pkl", LEAKY / "KNeighborsClassifier.pkl")
    assert (done.exit_code, "20 of 20 training rows" in done.output) == (0, True)
    assert "Single training rows are stored in part" in run(LEAKY / "KMeans.pkl").output


def test_other_files_without_counts_are_refused_as_before():
    done = run(LEAKY / "LogisticRegression.pkl")
    assert (code(done), done.stdout) == (3, "")


def test_a_domain_that_does_not_fit_is_still_a_refusal():
    done = run(MODELS / "sklearn-1.9.1" / "forest.pkl", "--domain", MODELS / "data" / "plants.csv")
    assert (code(done), done.stdout) == (3, "")
    error = Unsupported("something else")
    assert _stored_report([str(MODELS / "sklearn-1.9.1" / "forest.pkl")], error, Limits()) is None


def test_rows_in_pmml_get_a_report(tmp_path):
    path = tmp_path / "knn.pmml"
    rows = "".join(f"<row><a>{i}</a></row>" for i in range(7))
    path.write_text(
        '<?xml version="1.0"?><PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4"><Header/><DataDictionary/>'
        f"<NearestNeighborModel><TrainingInstances><InlineTable>{rows}</InlineTable></TrainingInstances>"
        "</NearestNeighborModel></PMML>"
    )
    done = run(path)
    assert done.exit_code == 0, done.output
    assert "7 training rows are stored in the file" in done.output


# ------------------------------------------------------------------ folds


@pytest.mark.slow
def test_folds_are_audited_together(tmp_path):
    """All folds are about one data set: what they say together is at least what each of them says."""
    path, people = MODELS / "sklearn-1.9.1" / "calibrated.pkl", MODELS / "data" / "people.csv"
    done = run(path, "--domain", people)
    assert done.exit_code == 0
    assert "every row of all rows is in exactly one of fold 1, fold 2, fold 3" in done.stdout
    assert "taken for fits on folds of one data set" in done.stdout
    assert "about a subset" not in done.stdout
    told = json.loads(run(path, "--json", "--domain", people).stdout)
    assert told["rows"] == 90
    single = [json.loads(run(f"{path}#{k}", "--json", "--domain", people).stdout) for k in (1, 2, 3)]
    assert [t["rows"] for t in single] == [60, 60, 60]
    sizes = [told["facts"]["smallest_group"], *(t["facts"]["smallest_group"] for t in single)]
    assert sizes[0] == min(sizes[1:])
    pure = [t["facts"]["class_disclosure"]["rows"][0] for t in (told, *single)]
    assert pure[0] >= max(pure[1:])
    assert run(f"{path}#2").stdout.startswith(f"Audit of {path}#2")
    assert "about a subset" in run(f"{path}#2").stdout
    assert code(run(f"{path}#2", f"{path}#1")) == 3
    assert code(run(f"{path}#4")) == 3


# ------------------------------------------------------------------ MLflow


def folder(place, told, **files):
    place.mkdir()
    (place / "MLmodel").write_text(told)
    for name, source in files.items():
        shutil.copy(MODELS / source, place / name.replace("__", "."))
    return place


FLAVOURS = {
    "sklearn": ("flavors:\n  sklearn:\n    pickled_model: model.pkl\n", "model__pkl", "sklearn-1.9.1/tree.pkl"),
    "pyfunc": ("flavors:\n  python_function:\n    model_path: 'odd.name'\n", "odd__name", "sklearn-1.9.1/tree.pkl"),
    "skops": ("flavors:\n  sklearn:\n    pickled_model: m.skops # x\n", "m__skops", "sklearn-1.9.1/forest.skops"),
    "xgboost": ("flavors:\n  xgboost:\n    data: model.ubj\n", "model__ubj", "xgboost-3.2.0/half.ubj"),
    "lightgbm": ("flavors:\n  lightgbm:\n    data: model.lgb\n", "model__lgb", "lightgbm-4.7.0/binary.txt"),
    "catboost": ("flavors:\n  catboost:\n    data: model.cb\n", "model__cb", "catboost-1.2.10/binary.cbm"),
    "unsaid": ("artifact_path: model\n", "model__pkl", "sklearn-1.9.1/tree.pkl"),
}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_an_mlflow_folder_is_its_model_file(flavour, tmp_path):
    told, name, source = FLAVOURS[flavour]
    place = folder(tmp_path / "model", told, **{name: source})
    (place / "conda.yaml").write_text("name: x\n")
    for path in (place, f"{place}/"):
        release, same = recon.load(path), recon.load(MODELS / source)
        assert release.models == same.models
        assert release.rows == same.rows
    assert inspect(place).findings == inspect(MODELS / source).findings


@pytest.mark.sampled(1)
@pytest.mark.parametrize("words", [("audit",), ("inspect",), ("count",), ("plan",)])
def test_a_command_opens_each_file_of_a_folder_once(words, tmp_path):
    """Counted by what Python tells of every open file; the model's first bytes may be looked at before (`marked`)."""
    place = folder(tmp_path / "model", FLAVOURS["sklearn"][0], model__pkl="sklearn-1.9.1/tree.pkl")
    script = (
        f"import collections, os, sys; sys.argv = {['recon', *words, str(place)]}\n"
        "met = collections.Counter()\n"
        "sys.addaudithook(lambda e, a: met.update([os.path.basename(str(a[0]))]) if e == 'open' else None)\n"
        "from recon.__main__ import main\n"
        "try:\n    main()\n"
        "finally:\n    print(met['MLmodel'], met['model.pkl'], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300)
    assert done.stderr.splitlines()[-1] in {"1 1", "1 2"}, done.stderr


def test_what_stands_beside_the_model_is_told(tmp_path):
    place = folder(tmp_path / "model", FLAVOURS["sklearn"][0], model__pkl="sklearn-1.9.1/tree.pkl")
    (place / "input_example.json").write_text('{"data": [[1, 2]]}')
    (place / "notes.bin").write_bytes(b"x" * 70)
    levels = {f.path: (f.level, f.rule) for f in inspect(place).findings}
    assert levels["input_example.json"] == ("critical", "input-example")
    assert levels["notes.bin"] == ("unknown", "not-understood")


def test_a_copy_never_overwrites_the_model_of_a_folder(tmp_path):
    place = folder(tmp_path / "model", FLAVOURS["sklearn"][0], model__pkl="sklearn-1.9.1/forest.pkl")
    before = (place / "model.pkl").read_bytes()
    with pytest.raises(ReleaseError, match="overwrite the file itself"):
        strip(place, place / "model.pkl")
    assert (place / "model.pkl").read_bytes() == before
    assert strip(place, tmp_path / "copy.pkl").removed


def test_folders_lead_to_no_file_outside(tmp_path):
    secret = tmp_path / "secret.pkl"
    shutil.copy(MODELS / "sklearn-1.9.1" / "tree.pkl", secret)
    place = folder(tmp_path / "model", "flavors:\n  sklearn:\n    pickled_model: ../secret.pkl\n")
    with pytest.raises(Unsupported, match="no model file"):
        _model_file(str(place))
    (place / "MLmodel").write_text(f"flavors:\n  sklearn:\n    pickled_model: {secret}\n")
    with pytest.raises(Unsupported, match="no model file"):
        _model_file(str(place))
    os.symlink(secret, place / "model.pkl")
    with pytest.raises(Unsupported, match="no model file"):
        _model_file(str(place))
    (place / "MLmodel").write_text("flavors:\n  sklearn:\n    pickled_model: model.pkl\n")
    with pytest.raises(
        Unsupported, match=r"^[^:]*/model: no model file [^:]*: MLmodel names model\.pkl, and model\.pkl is no regular"
    ):
        recon.load(place)
    with pytest.raises(ReleaseError, match="without MLmodel"):
        recon.load(tmp_path)


def test_all_that_stands_below_an_mlflow_folder_is_told(tmp_path):
    place = folder(tmp_path / "model", "flavors:\n  sklearn:\n    pickled_model: models/tree.pkl\n")
    (place / "models").mkdir()
    shutil.copy(MODELS / "sklearn-1.9.1" / "tree.pkl", place / "models")
    (place / "metadata").mkdir()
    (place / "metadata" / "MLmodel").write_text("")
    (place / "code" / "data").mkdir(parents=True)
    (place / "code" / "data" / "rows.csv").write_text("age\n41\n")
    (place / ".env").symlink_to("/etc/hostname")
    assert {"code/data/rows.csv", ".env"} <= {name for name, _ in companions(str(place))}
    assert not {name for name, _ in companions(str(place))} & {"metadata/MLmodel", "models/tree.pkl", "MLmodel"}
    assert {one.path for one in recon.inspect(place).findings if one.level == "unknown"} >= {
        "code/data/rows.csv",
        ".env",
    }


def test_an_mlmodel_is_read_whole_or_not_at_all(tmp_path):
    """The name of the model may stand behind whatever is looked at: another file is not read in its place."""
    place = folder(tmp_path / "model", "#" * (1 << 20) + "\nflavors:\n  sklearn:\n    pickled_model: other.pkl\n")
    shutil.copy(MODELS / "sklearn-1.9.1" / "tree.pkl", place / "model.pkl")
    with pytest.raises(ReleaseError, match=r"MLmodel: has 1,048,6.. bytes, more than 1,048,576: give the model"):
        recon.load(place)


def test_a_number_behind_a_file(tmp_path):
    path = MODELS / "sklearn-1.9.1" / "tree.pkl"
    assert file_and_number(f"{path}#2") == (str(path), 2)
    assert file_and_number("-") == ("-", None)
    odd = tmp_path / "a#2"
    shutil.copy(path, odd)
    assert file_and_number(str(odd)) == (str(odd), None)
    with pytest.raises(Unsupported, match="one release"):
        recon.load(f"{path}#1")
    for other in ("#0", "#x", "#-1", "#"):
        with pytest.raises(ReleaseError, match="cannot be read"):
            recon.load(f"{path}{other}")


def test_kernel_density_says_how_many_rows_it_holds():
    neighbors = pytest.importorskip("sklearn.neighbors")
    model = neighbors.KernelDensity().fit(np.random.default_rng(0).normal(size=(23, 2)))
    assert rows_stored(inspect_bytes(pickle.dumps(model))) == 23
