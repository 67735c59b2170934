"""Folders of Spark ML: trees with the rows of every node, behind numbers of categories; truth, folders, bad input."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from extras import extra

import recon
from recon.io.files import archives
from recon.io.files.archives import archive_files, archive_names
from recon.io.files.opening import budget_within, folder_archive
from recon.readers.frames.world import violations
from solvers.foundation.errors import ReconError, ReleaseError, Unsupported

CORPUS = Path(__file__).parent / "corpus"
ROWS = pd.read_csv(CORPUS / "spark_rows.csv")
NUMBERED = ROWS.assign(town=ROWS.town.map(["Ulm", "Kiel", "Bonn"].index)).rename(
    columns={"age": "x0", "smoker": "x1", "town": "x2"}
)
FILES = {
    "spark_pipeline.zip": ROWS[["age", "smoker", "town", "ill"]],
    "spark_forest.zip": NUMBERED[["x0", "x1", "x2", "ill"]],
    "spark_boosted.zip": NUMBERED[["x0", "x1", "x2", "ill"]],
    "spark_numbers.zip": NUMBERED[["x0", "x1", "x2", "pressure"]],
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("file", FILES)
def test_the_true_rows_are_never_excluded(file):
    extra("pyarrow")
    rows = FILES[file]
    label = rows.columns[-1]
    release = recon.load(CORPUS / file, domain=recon.Domain.from_frame(rows, label=label))
    assert violations(release, rows) == []
    assert violations(release, rows.assign(**{label: rows[label].iloc[::-1].to_numpy()}))


@pytest.mark.slow
def test_a_pipeline_names_columns_values_and_classes():
    extra("pyarrow")
    release = recon.load(CORPUS / "spark_pipeline.zip")
    assert [one.name for one in release.domain.attributes] == ["age", "smoker", "town"]
    assert release.domain.attributes[2].values == ("Ulm", "Kiel", "Bonn")
    assert (release.domain.label.name, release.domain.label.values) == ("ill", (0, 1))
    assert (release.rows.low, release.rows.high) == (60, 60)


def leaves(path):
    return recon.load(path).models[0].nodes.counts.values.tolist()


def unpacked(folder, file):
    with zipfile.ZipFile(CORPUS / file) as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.slow
def test_a_folder_is_its_archive_and_a_step_of_a_pipeline_a_model(tmp_path):
    extra("pyarrow")
    folder = unpacked(tmp_path / "model", "spark_pipeline.zip")
    (folder / "metadata" / ".part.crc").write_bytes(b"1")
    (folder / "metadata" / "_SUCCESS").write_bytes(b"")
    assert folder_archive(str(folder)) == folder_archive(str(folder))
    counts = leaves(CORPUS / "spark_pipeline.zip")
    assert leaves(folder) == counts
    step = next((folder / "stages").glob("3_*"))
    assert [one.name for one in recon.load(step).domain.attributes] == ["x0", "x1", "x2"]
    mlflow = tmp_path / "mlflow"
    mlflow.mkdir()
    (mlflow / "MLmodel").write_text("flavors:\n  spark:\n    model_data: sparkml\n")
    folder.rename(mlflow / "sparkml")
    assert leaves(mlflow) == counts


@pytest.mark.parametrize("odd", ["link to a file", "link to a folder", "pipe"])
@pytest.mark.parametrize("file", ["spark_numbers.zip", "ydf_tree.zip"])
def test_what_is_no_file_of_a_folder_is_not_left_out_in_silence(tmp_path, file, odd):
    folder = unpacked(tmp_path / "model", file)
    folder = next((path.parent for path in folder.rglob("data_spec.pb")), folder)
    place = folder / "more"
    if odd == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(CORPUS / file if odd == "link to a file" else CORPUS)
    for read in (recon.load, recon.inspect):
        with pytest.raises(ReleaseError, match="more: is a link, pipe or device in the folder of a model"):
            read(folder)


def test_hidden_files_are_part_of_a_folder_but_for_checksums(tmp_path):
    folder = unpacked(tmp_path / "model", "ydf_tree.zip")
    inner = next(folder.rglob("data_spec.pb")).parent
    before = folder_archive(str(inner))
    (inner / ".nodes.crc").write_bytes(b"1")
    (inner / "done").write_bytes(b"")
    assert folder_archive(str(inner)) == before
    (inner / ".rows.csv").write_text("age\n41\n")
    assert ".rows.csv" in {one.path for one in recon.inspect(inner).findings if one.level == "unknown"}


def test_a_folder_of_ydf_is_read_as_its_zip(tmp_path):
    folder = unpacked(tmp_path / "model", "ydf_tree.zip")
    inner = next(folder.rglob("data_spec.pb")).parent
    assert leaves(inner) == leaves(CORPUS / "ydf_tree.zip")


def changed(file, **settings):
    """Return an archive with settings of the model changed (also "class"), or its nodes ("nodes": a function)."""
    nodes = settings.pop("nodes", None)
    out = io.BytesIO()
    with zipfile.ZipFile(CORPUS / file) as archive, zipfile.ZipFile(out, "w") as made:
        for name in archive.namelist():
            content = archive.read(name)
            if name.startswith("metadata/"):
                told = json.loads(content)
                own = {key: value for key, value in settings.items() if key in told}
                told |= own
                told["paramMap"] |= {key: value for key, value in settings.items() if key not in told}
                content = json.dumps(told).encode()
            elif name.startswith("data/") and nodes is not None:
                frame = pd.read_parquet(io.BytesIO(content))
                table = io.BytesIO()
                nodes(frame).to_parquet(table)
                content = table.getvalue()
            made.writestr(name, content)
    return out.getvalue()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("labels", "why"), [([], "has labels of 0 columns, of 1"), (None, "has labels of 0 columns")])
def test_a_step_that_names_no_labels_is_refused(labels, why, tmp_path):
    extra("pyarrow")
    out = tmp_path / "model.zip"
    with zipfile.ZipFile(CORPUS / "spark_pipeline.zip") as archive, zipfile.ZipFile(out, "w") as made:
        for name in archive.namelist():
            content = archive.read(name)
            if "1_StringIndexer" in name and name.endswith(".parquet"):
                table = pq.read_table(io.BytesIO(content))
                packed = io.BytesIO()
                pq.write_table(pa.Table.from_pylist([{"labelsArray": labels}], table.schema), packed)
                content = packed.getvalue()
            made.writestr(name, content)
    with pytest.raises(ReleaseError, match=why):
        recon.load(out)


def one_more(frame):
    stats = frame.impurityStats.map(list)
    stats[2] = [v + 1 for v in stats[2]]
    return frame.assign(impurityStats=stats, rawCount=frame.rawCount.where(frame.index != 2, frame.rawCount + 1))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("file", "settings", "error", "why"),
    [
        ("spark_numbers.zip", {"class": "org.apache.spark.ml.tuning.CrossValidatorModel"}, Unsupported, "bestModel"),
        (
            "spark_forest.zip",
            {"bootstrap": False, "subsamplingRate": 1.0},
            ReleaseError,
            "trees of different numbers of rows",
        ),
        ("spark_numbers.zip", {"class": "java.lang.Object"}, ReleaseError, "does not say of which class"),
        ("spark_numbers.zip", {"numFeatures": 0}, ReleaseError, "has 0 as numFeatures, not a whole number from 1 to"),
        ("spark_numbers.zip", {"numFeatures": None}, ReleaseError, "has no numFeatures, a whole number from 1 to"),
        ("spark_numbers.zip", {"numFeatures": 2}, ReleaseError, "tests column 2 of 2"),
        ("spark_numbers.zip", {"nodes": one_more}, ReleaseError, "not those of its two branches"),
        ("spark_numbers.zip", {"nodes": lambda f: f[f.id != 1]}, ReleaseError, "not the nodes 0, 1, 2"),
        ("spark_numbers.zip", {"nodes": lambda f: f[["id"]]}, ReleaseError, "without links, tests or impurityStats"),
        ("spark_numbers.zip", {"nodes": lambda f: f[:0]}, ReleaseError, "has no nodes"),
        ("spark_forest.zip", {"numTrees": 4}, ReleaseError, "the nodes of 5 trees"),
        ("spark_pipeline.zip", {"stageUids": []}, ReleaseError, "does not name its steps"),
        (
            "spark_pipeline.zip",
            {"stageUids": ["StringIndexer_a18cc8d2de24"]},
            Unsupported,
            "has not one model of trees",
        ),
    ],
)
def test_what_is_no_model_of_trees_is_refused(file, settings, error, why, tmp_path):
    extra("pyarrow")
    (tmp_path / "model.zip").write_bytes(changed(file, **settings))
    with pytest.raises(error, match=why):
        recon.load(tmp_path / "model.zip")


@pytest.mark.parametrize("file", ["spark_numbers.zip", "ydf_tree.zip"])
def test_an_archive_of_more_files_than_are_read_is_refused(file, tmp_path, monkeypatch):
    extra("pyarrow")
    monkeypatch.setattr(archives, "MAX_FILES", most := 200)
    path = tmp_path / "model.zip"
    path.write_bytes((CORPUS / file).read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        more = most - sum(not one.is_dir() for one in archive.infolist())
        for k in range(more):
            archive.writestr(f"other/{k}", "")
    assert recon.load(path).rows.low > 1
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("other/last", "")
    with pytest.raises(ReleaseError, match=r"model\.zip: holds 201 files, .* at most 200 are read: zip the"):
        recon.load(path)


def test_the_list_of_an_archive_is_taken_from_the_budget():
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for k in range(2_000):
            archive.writestr(str(k), "")
    for read in (archive_names, archive_files):
        with budget_within(1 << 20), pytest.raises(ReleaseError, match="list of files needs more than the 1 MB"):
            read(made.getvalue())
    with budget_within(3 << 19) as budget:
        assert len(archive_names(made.getvalue())) == 2_000
        assert budget.left == 3 << 19  # given back


def test_metadata_alone_name_the_folder(tmp_path):
    folder = unpacked(tmp_path / "model", "spark_numbers.zip")
    with pytest.raises(Unsupported, match=r"it holds settings: the nodes .*\): give the folder that"):
        recon.load(next((folder / "metadata").glob("part-*")))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("file", "settings", "counts"),
    [
        ("spark_forest.zip", {"bootstrap": True}, ("bag",)),
        ("spark_forest.zip", {"bootstrap": False, "subsamplingRate": 0.5}, ("distinct",)),
        ("spark_boosted.zip", {"validationIndicatorCol": "held"}, ("distinct",)),
        ("spark_numbers.zip", {"weightCol": "w"}, ("size",)),
    ],
)
def test_settings_say_which_rows_are_counted(file, settings, counts, tmp_path):
    extra("pyarrow")
    (tmp_path / "model.zip").write_bytes(changed(file, **settings))
    assert recon.load(tmp_path / "model.zip").models[0].origin.counts == counts


STEPS = [
    (b'"outputCol":"town_ix"', b'"outputCol":"town_nr"', "does not", None),
    (
        b'"inputCols":["age","smoker","town_ix"]',
        b'"inputCols":["age","smoker"]',
        "makes the model's 3 columns",
        Unsupported,
    ),
    (b'"numClasses":2', b'"numClasses":3', "has 2 labels of 3 classes", ReleaseError),
    (b'feature.VectorAssembler"', b'feature.StandardScalerModel"', "columns by StandardScalerModel", Unsupported),
    (b'"stringOrderType"', b'"handleInvalid":"keep","stringOrderType"', "handleInvalid='keep'", Unsupported),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("old", "new", "why", "error"), STEPS)
def test_steps_that_make_columns_otherwise_are_refused(old, new, why, error, tmp_path):
    """Where no step numbers the values of a column, it is one of numbers."""
    extra("pyarrow")
    out = io.BytesIO()
    with zipfile.ZipFile(CORPUS / "spark_pipeline.zip") as archive, zipfile.ZipFile(out, "w") as made:
        for name in archive.namelist():
            made.writestr(name, archive.read(name).replace(old, new))
    (tmp_path / "model.zip").write_bytes(out.getvalue())
    if error is None:
        assert "town_ix" in [one.name for one in recon.load(tmp_path / "model.zip").domain.attributes]
        return
    with pytest.raises(ReconError, match=why):
        recon.load(tmp_path / "model.zip")
