"""What a file is that no reader reads, by its first bytes or the members of its archive, and what to do instead.

Sources: the formats' own documentation (H2O MOJO, ONNX, XGBoost, R "Serialization Formats", NumPy NEP 1, ECMA-376).
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from solvers.foundation.errors import Unsupported

HEAD = 4096  # bytes that are looked at


@dataclass(frozen=True)
class Foreign:
    """A format that is not read: how it begins or what its archive holds, what it says of rows, what to do."""

    name: str
    holds: str
    instead: str
    begins: tuple[bytes, ...] = ()
    member: Callable[[str], bool] | None = None
    within: bytes = b""


def _named(*ends: str) -> Callable[[str], bool]:
    return lambda name: name.endswith(ends)


FOREIGN = (
    Foreign("an XGBoost model in its old binary format", "covers of its nodes",
            "load it with XGBoost 1.x or 2.x and save_model('model.json')", (b"binf", b"bs64")),
    Foreign("an H2O MOJO", "no counts of rows, but node weights where they were asked for",
            "h2o.print_mojo('model.zip', format='json') shows what it holds; a table of counts per leaf is read",
            member=_named("model.ini")),
    Foreign("a KNIME workflow", "the model inside its nodes",
            "write it with KNIME's PMML Writer node: PMML is read", member=_named("workflow.knime")),
    Foreign("a PyTorch file", "weights, no counts of rows",
            "nothing is counted in it; recon inspect says what else it stores", member=_named("/data.pkl")),
    Foreign("an Excel workbook", "a table, if it is one of counts",
            "save the sheet with the counts as CSV", member=_named("xl/workbook.xml")),
    Foreign("an OpenDocument spreadsheet", "a table, if it is one of counts",
            "save the sheet with the counts as CSV", member=lambda name: name == "content.xml"),
    Foreign("a NumPy archive (.npz)", "arrays, no model", "save the model itself (pickle, joblib, skops)",
            member=_named(".npy")),
    Foreign("a NumPy array (.npy)", "numbers, no model", "save the model itself (pickle, joblib, skops)",
            (b"\x93NUMPY",)),
    Foreign("an R workspace (.RData)", "any number of R objects",
            "load() it, and saveRDS(model, 'model.rds') the one model: rpart objects are read", (b"RDX2\n", b"RDX3\n")),
    Foreign("a Java object (Weka's .model, for instance)", "a model that only its library opens",
            "print the classifier (J48, PART) into a text file: that is read", (b"\xac\xed\x00\x05",)),
    Foreign("an HDF5 file (Keras, pandas)", "weights or tables, no counts of rows per leaf",
            "save a table as CSV, a tree model as pickle", (b"\x89HDF\r\n\x1a\n",)),
    Foreign("a Parquet file", "a table of rows", "give it as --domain or --profiles, not as a release", (b"PAR1",)),
    Foreign("an Arrow or Feather file", "a table of rows", "save it as CSV or Parquet, for --domain", (b"ARROW1",)),
    Foreign("a treelite checkpoint", "node statistics only where the original had them",
            "give the original model file: LightGBM, XGBoost and scikit-learn are read", within=b"treelite"),
    Foreign("an ONNX model", "no counts of rows: leaf values or shares in single precision",
            "give the model that it was converted from", (b"\x08",), within=b"onnx"),
    Foreign("Spark ML metadata", "statistics of nodes stand beside it, in Parquet",
            "write the nodes' impurityStats as a table of counts, or export PMML with jpmml-sparkml",
            within=b'"class":"org.apache.spark.ml'),
    Foreign("a model of YDF or TensorFlow Decision Forests", "distributions of labels in its node files",
            "model.to_tensorflow_saved_model() loses them: write a table of counts from model.get_tree()",
            within=b"yggdrasil"),
    Foreign("a PDF", "text and pictures", "type the counts into a CSV table", (b"%PDF-",)),
    Foreign("a picture", "what it shows", "export_text or export_graphviz of the model is read",
            (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8")),
    Foreign("an SPSS data file", "rows of data", "save it as CSV, for --domain", (b"$FL2", b"$FL3")),
    Foreign("an SQLite database", "tables", "save the table of counts as CSV", (b"SQLite format 3\x00",)),
)  # fmt: skip


def foreign(data: bytes) -> Foreign | None:
    """Return the format of a file that no reader reads, None for all others. Looks at its head, or a zip's names."""
    head = data[:HEAD]
    if head[:2] == b"\x1f\x8b":
        with suppress(OSError, EOFError, zlib.error):
            head = gzip.GzipFile(fileobj=io.BytesIO(data)).read(64)
    if head[:4] == b"PK\x03\x04":
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                names = archive.namelist()[:10_000]
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
            return None
        if "schema.json" in names:  # skops
            return None
        return next((f for f in FOREIGN if f.member is not None and any(map(f.member, names))), None)
    text = head.lstrip()[:1] in (b"{", b"[", b"<")
    for one in FOREIGN:
        if one.begins and not head.startswith(one.begins):
            continue
        if one.within and (one.within not in head or (text and one.within[:1] != b'"')):
            continue
        if one.begins or one.within:
            return one
    return None


def refuse_foreign(data: bytes) -> None:
    """Raise `Unsupported` for a format that is known and not read: what it is, what it holds, what to do."""
    found = foreign(data)
    if found is not None:
        raise Unsupported(f"is {found.name}, which is not read (it holds {found.holds}): {found.instead}")
