"""YDF's models: rows per class of every node, of all rows, of those not held out, or drawn; rows of every category."""

from __future__ import annotations

import io
import math
import re
import struct
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import recon
from encoders.encode.encoder import encode
from recon.readers.formats.boosters.yggdrasil import read_yggdrasil, unread_parts
from recon.readers.formats.drafts.binding import Binder
from recon.readers.frames.world import violations
from solvers.foundation.errors import ReconError

CORPUS = Path(__file__).parent / "corpus"  # written by YDF 0.16


@pytest.mark.sampled(1)
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


# ---------------------------------------------------------------- models made here


def field(number, value):
    """Return one field of a protocol buffer: a whole number, a float32, or bytes."""

    def varint(n):
        return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(*fields):
    return b"".join(field(number, value) for number, value in fields)


def column(kind, name, counts=(), **more):
    """Return a column: its kind, its name and the rows of its values, the first ones rare."""
    items = [message((1, key), (2, message((1, i), (2, n)))) for i, (key, n) in enumerate(counts)]
    gaps = [(7, more["missing"])] if "missing" in more else []
    return message((1, kind), (2, name), (6, message(*[(7, one) for one in items])), *gaps)


def node(rows, test=None, at=0):
    """Return a node with its rows by class (a leading 0), and its test as the field of a condition."""
    spread = message((1, struct.pack(f"<{len(rows)}d", *rows)))
    condition = [(3, message((2, at), (3, test)))] if test is not None else []
    return message((1, message((2, spread))), *condition)


AGE, TOWN = column(1, b"age"), column(4, b"town", [(b"<OOD>", 0), (b"Bonn", 2), (b"Kiel", 4)])
ILL = column(4, b"ill", [(b"<OOD>", 0), (b"no", 4), (b"yes", 2)])
BELOW = message((2, message((1, 40.0))))  # at least 40
STUMP = [node((0, 4, 2), BELOW), node((0, 3, 0)), node((0, 1, 2))]


def ydf(nodes=STUMP, columns=(AGE, TOWN, ILL), trees=1, cut=0, twice=False):
    """Return the archive of one tree of CART on "age" and "town" over 6 rows, 2 of them ill."""
    blobs = b"BS\x01" + bytes(5) + b"".join(struct.pack("<I", len(one)) + one for one in nodes)
    files = {
        HEADER: message((1, b"RANDOM_FOREST"), (2, 1), (3, 2), (5, 0), (5, 1)),
        SPEC: message(*[(1, one) for one in columns], (2, 6)),
        FOREST: message((2, trees), (3, 0), (7, b"BLOB_SEQUENCE")),
        NODES: blobs[: len(blobs) - cut],
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
            if twice and name == HEADER:
                made.writestr(f"other/{name}", content)
    return out.getvalue()


def test_a_model_made_by_hand_is_read():
    frame = pd.DataFrame({"age": [30, 31, 32, 40, 41, 42], "town": ["Bonn"] * 2 + ["Kiel"] * 4,
                          "ill": ["no"] * 4 + ["yes"] * 2})  # fmt: skip
    draft, domain = read_yggdrasil(ydf()), recon.Domain.from_frame(frame, label="ill")
    assert violations(encode(domain, draft.bound(Binder(draft, domain)), draft.rows), frame) == []
    assert draft.origin.counts == ("exact",)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (ydf(twice=True), "holds several models (two files header.pb)"),
        (ydf(columns=(column(9, b"age"), TOWN, ILL)), "the column 'age' is of a kind that is not read (number 9)"),
        (ydf(columns=(column(1, b"age", missing=2), TOWN, ILL)), "'age' has no value in 2 rows"),
        (
            ydf(columns=(AGE, column(4, b"town", [(b"<OOD>", 0), (b"Bonn", 3), (b"Kiel", 4)]), ILL)),
            "the rows of the values of 'town' are not 6",
        ),
        (
            ydf(columns=(AGE, TOWN, column(4, b"ill", [(b"<OOD>", 0), (b"no", 3), (b"yes", 3)]))),
            "the classes of the tree's rows are not those of the columns",
        ),
        (ydf(columns=(AGE, TOWN, AGE)), "names columns that are not there"),
        (ydf([*STUMP, STUMP[1]]), "has other nodes than those of 1 trees"),
        (ydf([], trees=0), "has other nodes than those of 0 trees"),
        (ydf(cut=1), f"{NODES}: was cut off"),
        (ydf(cut=len(STUMP[2]) + 2), f"{NODES}: was cut off"),
        (ydf([STUMP[0], node((0, 3, 1)), STUMP[2]]), "the rows of a node are not those of its two branches"),
        (ydf([node(()), *STUMP[1:]]), "its nodes have no rows per class (pure_serving_model=True)"),
        (ydf([node((0, 4, 1, 1), BELOW), *STUMP[1:]]), "node 0 has no rows of 2 classes"),
        (ydf([node((1, 4, 1), BELOW), *STUMP[1:]]), "node 0 has no rows of 2 classes"),
        (ydf([node((0, 4, 2), BELOW, at=2), *STUMP[1:]]), "node 0 tests no column of the model"),
        (ydf([node((0, 4, 2), b""), *STUMP[1:]]), "node 0 tests no column of the model"),
        (ydf([node((0, 4, 2), message((2, b""))), *STUMP[1:]]), "node 0 has no threshold"),
        (ydf([node((0, 4, 2), message((2, message((1, math.inf))))), *STUMP[1:]]), "node 0 has no threshold"),
    ],
)
def test_a_model_made_by_hand_with_one_thing_changed_is_refused(made, why):
    with pytest.raises(ReconError, match=re.escape(why)):
        read_yggdrasil(made)
