"""YDF's models: rows per class of every node, of all rows, of those not held out, or drawn; rows of every category."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import recon
from recon.readers.formats.boosters.yggdrasil import unread_parts
from recon.readers.frames.world import violations
from solvers.foundation.errors import ReconError

CORPUS = Path(__file__).parent / "corpus"  # written by YDF 0.16


@pytest.mark.parametrize(
    ("name", "rows", "counts"),
    [
        ("tree", "rows", "exact"),
        ("forest", "rows", "bag"),
        ("pruned", "pruned_rows", "distinct"),
    ],
)
def test_the_true_rows_are_never_excluded(name, rows, counts):
    frame = pd.read_csv(CORPUS / f"ydf_{rows}.csv")
    release = recon.load(CORPUS / f"ydf_{name}.zip", domain=recon.Domain.from_frame(frame, label="ill"))
    assert violations(release, frame) == []
    assert (release.rows.low, release.rows.high) == (len(frame), len(frame))
    assert release.models[0].origin.counts == (counts,)
    town = frame.town.value_counts()
    asked = recon.bound(release, {"town": "Kiel"})
    assert asked.min == asked.max == town["Kiel"]
    assert {one.level for one in recon.inspect(CORPUS / f"ydf_{name}.zip").findings} == {
        "medium" if name == "pruned" else "high",
        "unknown",
    }


def test_a_tree_of_cart_counts_every_class_exactly():
    frame = pd.read_csv(CORPUS / "ydf_rows.csv")
    release = recon.load(CORPUS / "ydf_tree.zip", domain=recon.Domain.from_frame(frame, label="ill"))
    wrong = frame.assign(ill=[1 - frame.ill[0], *frame.ill[1:]])
    assert violations(release, wrong)
    moved = frame.assign(town=frame.town.where(frame.town != "Bonn", "Ulm"))
    assert violations(release, moved)


def changed(name, *changes, drop=""):
    """Return an archive with bytes of its members changed, each once and all of one length."""
    out = io.BytesIO()
    with zipfile.ZipFile(CORPUS / name) as archive, zipfile.ZipFile(out, "w") as written:
        for member in archive.namelist():
            content = archive.read(member)
            for at, old, new in changes:
                if at == member:
                    assert old in content, (member, old)
                    content = content.replace(old, new, 1)
            if member != drop:
                written.writestr(f"model/{member}", content)
    return out.getvalue()


NODES, HEADER, SPEC, FOREST = "nodes-00000-of-00001", "header.pb", "data_spec.pb", "random_forest_header.pb"
KIEL = b"\n\x04Kiel\x12\x04\x08"
BAD = (
    (((HEADER, b"RANDOM_FOREST", b"OTHER__FOREST"),), "", "has no rows per class"),
    (((HEADER, b"\x10\x01", b"\x10\x02"),), "", "a YDF model of numbers is not read"),
    (((HEADER, b"\x18\x00", b"\x22\x00"),), "", "rows were weighted"),
    (((SPEC, b"<OOD>\x12\x04\x08\x00\x10\x00", b"<OOD>\x12\x04\x08\x00\x10\x01"),), "", "rare values of"),
    (((SPEC, KIEL, b"\n\x04Kiel\x12\x04\x10"),), "", "are not"),
    (((SPEC, b"\x38\x00", b"\x38\x02"),), "", "has no value in 2 rows"),
    (((NODES, b"BS\x01\x00\x00", b"BS\x01\x00\x01"),), "", "is no plain sequence of nodes"),
    (((NODES, b"\x12#\n\x18" + bytes(9), b"\x12#\n\x18" + bytes(8) + b"\x01"),), "", "rows were weighted"),
    (((FOREST, b"BLOB_SEQUENCE", b"BLOB_SEQUENC3"),), "", "nodes as BLOB_SEQUENC3 are not read"),
    (((HEADER, b"\x18\x00", b"\x18\x63"),), "", "names columns that are not there"),
    ((), NODES, "has fewer nodes than its trees"),
    ((), FOREST, "has no rows per class"),
)


@pytest.mark.parametrize(("changes", "drop", "why"), BAD)
def test_what_is_no_counted_tree_is_refused_in_a_sentence(changes, drop, why, tmp_path):
    (tmp_path / "model.zip").write_bytes(changed("ydf_tree.zip", *changes, drop=drop))
    with pytest.raises(ReconError, match=why):
        recon.load(tmp_path / "model.zip")


def test_a_folder_within_the_archive_is_found_and_half_a_file_is_refused(tmp_path):
    whole = changed("ydf_tree.zip")
    (tmp_path / "model.zip").write_bytes(whole)
    assert recon.load(tmp_path / "model.zip").rows.low == 60
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        nodes = archive.read(f"model/{NODES}")
    for cut in range(9, len(nodes), 97):
        (tmp_path / "model.zip").write_bytes(changed("ydf_tree.zip", (NODES, nodes, nodes[:cut])))
        with pytest.raises(ReconError):
            recon.load(tmp_path / "model.zip")


def test_inspection_names_what_the_reader_leaves_out():
    """Of columns their means, of the header importances and who made it; a file that is none of YDF's, whole."""
    found = {one.path: one.what for one in recon.inspect(CORPUS / "ydf_tree.zip").findings if one.level == "unknown"}
    assert set(found) == {"data_spec.pb", "header.pb"}
    assert all("fields beside those of the reader" in what for what in found.values())
    more = io.BytesIO((CORPUS / "ydf_tree.zip").read_bytes())
    with zipfile.ZipFile(more, "a") as archive:
        archive.writestr("rows.csv", "age\n41\n")
    found = unread_parts(more.getvalue())
    assert found["rows.csv"] == 7
