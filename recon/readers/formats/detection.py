"""Any file to what it publishes: distinguished by content, not by name, read by one module per format.

Containers of Python objects are opened without importing or running anything (`recon.readers.stored`); the class name
of the object then says which reader it is. Text is looked at from its first characters on.

What a file is that no reader reads, by its first bytes or the members of its archive, and what to do instead.

Sources: the formats' own documentation (ONNX, XGBoost, R "Serialization Formats", NumPy NEP 1, ECMA-376), and
files written by treelite 4.8, YDF 0.16, skl2onnx 1.20, CatBoost 1.2, XGBoost 3.2, LightGBM 4.7 and H2O 3.44.
"""

from __future__ import annotations

import gzip
import importlib
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from recon.io.files.archives import archive_names
from recon.io.files.opening import budget_within, content_start, current, open_regular, read_text, read_whole
from recon.io.files.tables import HEAD, encoding_of, undecodable
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import gunzip, open_stored
from solvers.foundation.errors import ReconError, ReleaseError, Unsupported

FOREIGN_HEAD = 4096  # bytes that are looked at
TAIL = 1 << 16  # and those at the end of Parquet, where the names of its columns stand


@dataclass(frozen=True)
class Foreign:
    """A format that is not read: how it begins or what its archive holds, what it says of rows, what to do.

    `like` is a pattern of its first bytes, `member` of its archive's names; `within` stands near its begin.
    """

    name: str
    holds: str
    instead: str
    like: bytes = b""
    member: Callable[[str], bool] | None = None
    within: bytes = b""


def _ends_with(*ends: str) -> Callable[[str], bool]:
    return lambda name: name.endswith(ends)


_BINARY = ("an XGBoost model in its old binary format", "covers of its nodes",
           "load it with XGBoost 1.x or 2.x and save_model('model.json')")  # fmt: skip
_LEAVES = (
    "as a table of counts (CSV: leaf, label, count), of drawn or partly held out rows >=1 for a count, no line for 0"
)
_TOAD = (
    "weights of evidence and points of bins, no counts of rows",
    "count the rows of each class in every bin (columns "
    "variable, bin, good, bad) with pandas.crosstab over combiner.transform(data, labels=True), and save that as CSV",
)
_JSON_LINES = (
    "write it as JSON in one part, frame.coalesce(1).write.json('FOLDER'), and give the part file: that is read"
)
_MODEL = "save the model itself (pickle, joblib, skops)"
FOREIGN = (
    Foreign(*_BINARY, b"binf|bs64"),
    Foreign(*_BINARY, within=b"\x06\0\0\0\0\0\0\0gbtree"),
    Foreign("a table of XGBoost's trees_to_dataframe", "covers of its nodes, without base_score and objective",
            "save the model: save_model('model.json')", b",?Tree,Node,ID,Feature,"),
    Foreign("a table of LightGBM's trees_to_dataframe", "rows per node, without the parameters that say if they were "
            "drawn", "save the model: save_model('model.txt')", b",?tree_index,node_depth,node_index,"),
    Foreign("CatBoost's code of a model", "leaf values, no weights of leaves", "save_model('model.cbm')",
            rb"###  Model data\r?\nclass catboost_model|#include <string>[\s\S]{0,400}struct CatboostModel"),
    Foreign("a scorecard of toad as an object", *_TOAD, rb"\x80[\x02-\x05]", within=b"toad.scorecard"),
    Foreign("a combiner of toad", *_TOAD, rb"\x80[\x02-\x05]", within=b"toad.transform\x94\x8c\x08Combiner"),
    Foreign("a scorecard of toad", *_TOAD, rb"name,value,score\r?\n|\s*\{\s*\"[^\"]{1,200}\":\s*\{\s*\"\[-inf ~ "),
    Foreign("a table of a score's bins by toad (KS_bucket)", "goods and bads by bin, from its least score on",
            "save goods and bads as a CSV with the columns variable, bin ('[LOW ~ HIGH)', HIGH the next bin's min; of "
            "the last '[LOW ~ inf)'), good and bad: that is read", rb",?min,max,bads,goods,total,bad_rate"),
    Foreign("a table of toad's quality", "information values of variables, no counts of rows", _TOAD[1],
            rb",?(?:feature,)?iv,gini,entropy,unique"),
    Foreign("a printed naiveBayes of e1071", "shares with seven digits",
            "saveRDS(model, 'bayes.rds'), whose shares have all digits, is read",
            rb"\s*Naive Bayes Classifier for Discrete Predictors"),
    Foreign("a summary of optbinning's variables", "numbers of bins and information values, no counts of rows",
            "save binning_process.get_binned_variable(NAME).binning_table.build() of the variables as CSV",
            rb",?name,dtype,status,selected,n_bins"),
    Foreign("an H2O POJO", "leaf values, no counts of rows", "save the same model as a MOJO, "
            "model.download_mojo(): its rows per node are read", rb"/\*[\s\S]{0,200}AUTOGENERATED BY H2O at"),
    Foreign("a model in H2O's own form (h2o.save_model)", "a model that only its version of H2O opens",
            "load it with h2o.load_model and save it as a MOJO, model.download_mojo(): that is read",
            rb"\x1c\xed", within=b"water.Iced"),
    Foreign("a KNIME workflow", "the model inside its nodes",
            "write it with KNIME's PMML Writer node: PMML is read", member=_ends_with("workflow.knime")),
    Foreign("a PyTorch file", "weights, no counts of rows",
            "nothing is counted in it; recon does not say what else it stores", member=_ends_with("/data.pkl")),
    Foreign("an old Office file (.xls, .doc)", "a table, if it is one of counts", "save the sheet as xlsx, ods or CSV",
            rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    Foreign("a NumPy archive (.npz)", "arrays, no model", _MODEL, member=_ends_with(".npy")),
    Foreign("a NumPy array (.npy)", "numbers, no model", _MODEL, rb"\x93NUMPY"),
    Foreign("a Java object (Weka's .model, for instance)", "a model that only its library opens",
            "print the classifier (J48, PART) into a text file: that is read", rb"\xac\xed\x00\x05"),
    Foreign("an HDF5 file (Keras, pandas)", "weights or tables, no counts of rows per leaf",
            "save a table as CSV, a tree model as pickle", rb"\x89HDF\r\n\x1a\n"),
    Foreign("the data of a Spark ML tree (Parquet)", "impurityStats: rows per class and node, weighted if they were",
            "give the folder that model.save() wrote", b"PAR1", within=b"impurityStats"),
    Foreign("a table of itemsets by Spark (Parquet)", "how many rows have each set", _JSON_LINES, b"PAR1",
            within=b'"freq"'),
    Foreign("a table of association rules by Spark (Parquet)", "supports of rules", _JSON_LINES, b"PAR1",
            within=b'"antecedent"'),
    Foreign("a Parquet file", "a table of rows", "give it as --domain or --profiles, not as a release", b"PAR1"),
    Foreign("an Arrow or Feather file", "a table of rows", "save it as CSV or Parquet, for --domain", b"ARROW1"),
    Foreign("a treelite checkpoint", "node statistics only where the original had them",
            "write treelite.Model.deserialize(FILE).dump_as_json() into a file, or give the original model file",
            rb"[\x03-\x05]\0{3}[\0-\x1f]\0{3}[\0-\x1f]\0{3}[\x02\x03][\x01-\x03]"),
    Foreign("an ONNX model", "no counts of rows: leaf values or shares in single precision",
            "give the model that it was converted from", rb"\x08", within=b"onnx"),
    Foreign("a Core ML model", "no counts of rows: leaf values", "give the model that it was converted from",
            rb"\x08[\x01-\x0a]\x12[\x80-\xff]{1,3}[\0-\x7f]\x0a"),
    Foreign("Spark ML metadata", "settings: the nodes with their statistics are in other files of its folder",
            "give the folder that model.save() wrote",
            within=b'"class":"org.apache.spark.ml'),
    Foreign("a file of a model of YDF or TensorFlow Decision Forests", "rows of every class, or its columns",
            "zip the folder that model.save() wrote, and give the archive",
            rb"BS[\0-\x09]\0|\x0a[\x04-\x20](?:RANDOM_FOREST|GRADIENT_BOOSTED_TREES|ISOLATION_FOREST)"),
    Foreign("a PDF", "text and pictures", "type the counts into a CSV table (leaf, label, count)", b"%PDF-"),
    Foreign("a picture", "what it shows", "export_text or export_graphviz of the model is read",
            rb"\x89PNG\r\n|\xff\xd8\xff|GIF8"),
    Foreign("an SPSS data file", "rows of data", "save it as CSV, for --domain", rb"\$FL[23]"),
    Foreign("an SQLite database", "tables", "save the table of counts as CSV", rb"SQLite format 3\x00"),
)  # fmt: skip


def _foreign(data: bytes) -> Foreign | None:
    """Return the format of a file that no reader reads, None for all others. Looks at its head, or a zip's names."""
    head = data[:FOREIGN_HEAD] + (data[-TAIL:] if data.startswith(b"PAR1") else b"")
    if head[:2] == b"\x1f\x8b":
        with suppress(OSError, EOFError, zlib.error):
            head = gzip.GzipFile(fileobj=io.BytesIO(data)).read(64)
    if head[:4] == b"PK\x03\x04":
        names = archive_names(data)
        if "schema.json" in names:  # skops
            return None
        return next((f for f in FOREIGN if f.member is not None and any(map(f.member, names))), None)
    text = head.lstrip()[:1] in (b"{", b"[", b"<")
    for one in FOREIGN:
        if one.like and not re.match(one.like, head):
            continue
        if one.within and (one.within not in head or (text and one.within[:1] != b'"')):
            continue
        if one.like or one.within:
            return one
    return None


def _refuse_foreign(data: bytes) -> None:
    """Raise `Unsupported` for a format that is known and not read: what it is, what it holds, what to do."""
    found = _foreign(data)
    if found is not None:
        raise Unsupported(f"is {found.name}, which is not read (it holds {found.holds}): {found.instead}")


READERS = "recon.readers.formats"
# How JSON begins, and nothing else that is read: in UBJSON the length of a key follows {.
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*(?:\{[ \t\r\n]*[\"}]|\[[ \t\r\n]*[\[{\"\]])")
COMMENT = re.compile(r"[ \t]*#(?:#|>)? ?")

# Readers of stored objects: each has KINDS, the class names it reads, and read(thing, container).
OBJECTS = (
    "sklearn.trees.trees",
    "sklearn.trees.survival",
    "sklearn.boosting.boosting",
    "rules.imodels_lists",
    "rules.imodels_figs",
    "rules.imodels_trees",
    "rules.corels_saved",
    "rules.dl85",
    "rules.streed",
    "boosters.pickled",
    "statistics.additive_models",
    "statistics.naive_bayes",
    "statistics.target_encoders",
    "regressions.generalised_models",
    "regressions.least_squares",
    "regressions.discriminants",
    "sklearn.pipelines.prepared",
)
# Readers of text: module, looks_like(head), read(text); the first that recognises the head reads it, and inspection
# says what the same text gives away (`recon.readers.inspection.documents.documents`).
TEXTS = (
    ("boosters.xgboost.model", "looks_like_xgboost_text", "refuse_xgboost_text"),
    ("pmml.document", "looks_like_pmml", "read_pmml"),
    ("printed.streed_text", "looks_like_streed_dot", "read_streed_dot"),
    ("printed.streed_text", "looks_like_streed_text", "read_streed_text"),
    ("printed.graphviz_dot", "looks_like_dot", "read_dot"),
    ("printed.export_text", "looks_like_export_text", "read_export_text"),
    ("printed.rpart_text", "looks_like_rpart", "read_rpart"),
    ("printed.orange_text", "looks_like_orange", "read_orange"),
    ("printed.weka_text", "looks_like_rules", "read_rules"),
    ("printed.weka_text", "looks_like_weka", "read_weka"),
    ("boosters.lightgbm.model", "looks_like_lightgbm_text", "read_lightgbm_text"),
    ("printed.corels_text", "looks_like_corels_text", "read_corels_text"),
    ("statistics.itemsets", "looks_like_itemsets", "read_itemsets"),
    ("statistics.binning_tables", "looks_like_binning_table", "read_binning_table"),
    ("regressions.printed_coefficients", "looks_like_printed_regression", "read_printed_regression"),
    ("statistics.survival_curves", "looks_like_survival", "read_survival"),
    ("regressions.regression_tables", "looks_like_regression_table", "read_regression_table"),
    ("printed.count_table", "looks_like_count_table", "read_count_table"),
)


class BinaryFormat(NamedTuple):
    """A format of bytes: what it is called, how they begin, the module and the test of what follows.

    `unread`: of an archive, what in the module says which parts its reader does not look at ("": nobody says it).
    """

    kind: str
    begin: re.Pattern[bytes]
    module: str
    looks: str
    unread: str = ""


WORKBOOK, YDF, CBM, UBJSON = "spreadsheet", "YDF model", "CatBoost model", "UBJSON"
SPARK, MOJO = "Spark ML model", "H2O MOJO"
_ARCHIVE = re.compile(rb"PK\x03\x04")
BINARIES = (  # reading and inspection ask this table, and `TEXTS` for a text
    BinaryFormat(WORKBOOK, _ARCHIVE, "recon.io.files.sheets", "is_workbook"),
    BinaryFormat(YDF, _ARCHIVE, f"{READERS}.boosters.yggdrasil", "looks_like_yggdrasil", "unread_parts"),
    BinaryFormat(SPARK, _ARCHIVE, f"{READERS}.boosters.spark", "looks_like_spark", "unread_parts"),
    BinaryFormat(MOJO, _ARCHIVE, f"{READERS}.boosters.h2o", "looks_like_mojo", "unread_parts"),
    BinaryFormat(CBM, re.compile(b"CBM1"), f"{READERS}.boosters.catboost_file", "looks_like_cbm"),
    BinaryFormat(UBJSON, re.compile(rb"\{(?!\s*[\"}])"), f"{READERS}.boosters.xgboost.model", "looks_like_xgboost_ubj"),
)
PRINTED_LISTS = re.compile(r"\[(?:Text\(|[ \d.e+-]{3,400}\] +\S)")  # texts that begin as JSON does and are none


class JsonFormat(NamedTuple):
    """A model in JSON: what it is called, how its content looks once parsed, its reader of the content."""

    kind: str
    looks: Callable[[Any], bool]
    module: str
    read: str


def _has(*keys: str) -> Callable[[Any], bool]:
    return lambda content: isinstance(content, dict) and all(key in content for key in keys)


def _has_any(*keys: str) -> Callable[[Any], bool]:
    return lambda content: isinstance(content, dict) and any(key in content for key in keys)


def _is_additive(content: Any) -> bool:
    return _has("ebm")(content) and _has("features", "terms")(content["ebm"])


def _is_treelite(content: Any) -> bool:
    """Return whether content is treelite's, of any version, or what is left of it."""
    return _has("trees")(content) and sum(key in content for key in TREELITE_KEYS) > 1


def _is_combiner(found: dict[str, Any]) -> bool:
    """Return whether every column has a list of rising numbers, or of lists of categories."""
    lists = list(found.values())
    if not lists or not all(isinstance(one, list) and one for one in lists):
        return False
    numbers = [one for one in lists if not isinstance(one[0], list)]
    rising = (all(isinstance(x, float | int) for x in one) and one == sorted(set(one)) for one in numbers)
    return all(isinstance(x, list) for one in lists if one not in numbers for x in one) and all(rising)


def _is_node_list(content: Any) -> bool:
    return isinstance(content, list) and bool(content) and _has("nodeid")(content[0])


def _is_acro(content: Any) -> bool:
    found = importlib.import_module(f"{READERS}.statistics.acro_records")
    return bool(found.looks_like_acro(content))


ACRO = "record of acro's checks"
ADDITIVE = "Explainable Boosting Machine as JSON"
CATBOOST = "CatBoost model as JSON"
CARD = "model card"
TREELITE = "treelite's JSON"
TREELITE_KEYS = (
    "num_feature",
    "task_type",
    "threshold_type",
    "leaf_output_type",
    "average_tree_output",
    "postprocessor",
)
# JSON: the first that recognises the content reads it, and inspection says what it gives away (`json_models`).
JSONS = (
    JsonFormat("XGBoost dump", _is_node_list, "boosters.xgboost.model", "read_xgboost_dump"),
    JsonFormat(CATBOOST, _has("features_info", "oblivious_trees"), "boosters.catboost_model", "read_catboost"),
    JsonFormat(CATBOOST, _has("features_info", "trees"), "boosters.catboost_model", "read_catboost"),
    JsonFormat(ADDITIVE, _is_additive, "statistics.additive_models", "read_additive_json"),
    JsonFormat("LightGBM dump", _has("tree_info"), "boosters.lightgbm.model", "read_lightgbm"),
    JsonFormat("XGBoost model", _has("learner"), "boosters.xgboost.model", "read_xgboost"),
    JsonFormat(
        CARD, _has_any("recon_card", "model-index", "quantitative_analysis"), "statistics.model_card", "read_card"
    ),
    JsonFormat(TREELITE, _is_treelite, "boosters.treelite", "read_treelite"),
    JsonFormat(ACRO, _is_acro, "statistics.acro_records", "read_acro"),
    JsonFormat("rpart", _has("frame"), "printed.rpart_text", "read_rpart_json"),
)


TABLES = "tables of bins and counts are read as CSV (to_csv; of several: pandas.concat(tables.values()).to_csv)"


def json_format(content: Any) -> JsonFormat | None:
    """Return the first format that parsed JSON looks like, None for none."""
    return next((one for one in JSONS if one.looks(content)), None)


def text_reader(head: str) -> tuple[ModuleType, str] | None:
    """Return the module that reads a text with such a head, and the name of its function; None where none does."""
    for module, looks, read in TEXTS:
        found = importlib.import_module(f"{READERS}.{module}")
        if getattr(found, looks)(head):
            return found, read
    return None


def head_of(text: str) -> str:
    """Return what of a text tells its format."""
    return text[:HEAD].lstrip("\ufeff \t\r\n")


def begins_json(head: str) -> bool:
    """Return whether a text with such a head is JSON, or should be."""
    return head.startswith(("{", "[")) and PRINTED_LISTS.match(head) is None


def _binary_format(data: bytes) -> BinaryFormat | None:
    """Return which of the binary formats bytes are of, None for none of them."""
    found = (one for one in BINARIES if one.begin.match(data))
    return next((one for one in found if getattr(importlib.import_module(one.module), one.looks)(data)), None)


def binary_kind(data: bytes) -> str:
    """Return what the binary format is called that bytes are of, "" for none of them."""
    found = _binary_format(data)
    return "" if found is None else found.kind


def unread_parts(data: bytes) -> dict[str, int] | None:
    """Return the bytes of a model folder's archive that its reader does not look at, by file; None for other files."""
    found = _binary_format(data)
    if found is None or not found.unread:
        return None
    parts: dict[str, int] = getattr(importlib.import_module(found.module), found.unread)(data)
    return parts


def read_draft(data: bytes, memory: int) -> Draft | None:
    """Return what a file publishes, None for a release file of our own (JSON with the key "recon").

    Raises `ReleaseError` where the content is broken or of no known format, `Unsupported` for what is known and not
    read.
    """
    try:
        with budget_within(memory):
            return _draft_of_bytes(data, memory)
    except ReconError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        # What a reader did not think of: somebody wrote values into the file that no library writes there.
        raise ReleaseError(f"holds values that no such file has ({type(error).__name__}: {error})") from error


def _draft_of_bytes(data: bytes, memory: int) -> Draft | None:
    """Return what a file publishes; see `read_draft`."""
    kind = binary_kind(data)
    if kind == WORKBOOK:
        from recon.io.files.sheets import workbook_sheet
        from recon.readers.formats.printed.count_table import draft_of_sheet

        return draft_of_sheet(workbook_sheet(data))
    _refuse_foreign(data)
    if _JSON.match(data[:HEAD]) is None:
        content = _binary_draft(data, kind, memory)
        if isinstance(content, Draft):
            return content
        data = content
    text = uncommented(_as_text(data))
    head = head_of(text)
    if begins_json(head):
        return _draft_of_json(text)
    if (reader := text_reader(head)) is not None:
        module, read = reader
        if read != "read_pmml":
            read_text(text)
        draft: Draft = getattr(module, read)(data if read == "read_pmml" else text)
        return draft
    if any(mark in head.partition("\n")[0] for mark in ",;\t") and "\n" in head:
        counts = "no column of counts (count, n, freq, ...), which a table of counts has"
        raise ReleaseError(f"is of no format that is read: it starts with {head[:12]!r} and has {counts}")
    raise ReleaseError(f"is of no format that is read: it starts with {head[:12]!r} (see docs/readers.md)")


def _binary_draft(data: bytes, kind: str, memory: int) -> Draft | bytes:
    """Return what a stored object or a binary format publishes, else the content: unpacked where it was packed."""
    if kind == YDF:
        from recon.readers.formats.boosters.yggdrasil import read_yggdrasil

        return read_yggdrasil(data)
    if kind == SPARK:
        from recon.readers.formats.boosters.spark import read_spark

        return read_spark(data)
    if kind == MOJO:
        from recon.readers.formats.boosters.h2o import read_mojo

        return read_mojo(data)
    stored = open_stored(data, memory)
    if stored is not None:
        return draft_of_object(stored.root, stored.format)
    from recon.readers.stored.binary.rds import is_rds

    if is_rds(data):
        return _r_draft(data, memory)
    data = gunzip(data, memory)
    _refuse_foreign(data)
    kind = binary_kind(data)
    if kind == UBJSON:
        from recon.readers.formats.boosters.xgboost.model import read_xgboost_ubj

        return read_xgboost_ubj(data, memory)
    if kind == CBM:
        from recon.readers.formats.boosters.catboost_model import read_cbm

        return read_cbm(data, None, memory)
    return data


def _r_draft(data: bytes, memory: int) -> Draft:
    """Return what an object of R publishes: of every kind of model that is read, the first that it is."""
    from recon.readers.formats.boosters.ranger import ranger_object, read_ranger_rds
    from recon.readers.formats.printed.rpart_rds import check_holders, read_rpart_rds
    from recon.readers.formats.regressions.discriminants import discriminant_object, read_discriminant_rds
    from recon.readers.formats.regressions.generalised_models import glm_object, read_glm_rds
    from recon.readers.formats.regressions.regression_tables import read_regression_rds, regression_object
    from recon.readers.formats.statistics.naive_bayes import bayes_object, read_bayes_rds
    from recon.readers.formats.statistics.survival_curves import curve_object, read_survival_rds
    from recon.readers.stored.binary.rds import read_rds

    root = read_rds(data, memory)
    check_holders(root)
    if (bayes := bayes_object(root)) is not None:
        return read_bayes_rds(bayes)
    if (glm := glm_object(root)) is not None:
        return read_glm_rds(glm)
    if (curve := curve_object(root)) is not None:
        return read_survival_rds(curve)
    if (classes := discriminant_object(root)) is not None:
        return read_discriminant_rds(classes)
    if (forest := ranger_object(root)) is not None:
        return read_ranger_rds(forest.value, forest.holder)
    linear = regression_object(root)
    return read_rpart_rds(data, memory, root) if linear is None else read_regression_rds(linear)


def uncommented(text: str) -> str:
    """Return a text without the "## " that knitr and reprex write before every line of output, indented or not."""
    lines = text.splitlines()
    if not lines or not all(COMMENT.match(line) for line in lines if line.strip()):
        return text
    begun = [COMMENT.match(line) for line in lines]
    return "\n".join(line[one.end() :] if one else line for line, one in zip(lines, begun, strict=True)) + "\n"


def _as_text(data: bytes) -> str:
    """Return a file's text."""
    if not data.strip(b"\xef\xbb\xbf \t\r\n"):
        raise ReleaseError("the file is empty")
    current().bytes(len(data))
    try:
        return data.decode(encoding_of(data))
    except UnicodeDecodeError as error:
        unread = f"is of no format that is read: neither text nor a stored model (byte {error.start})"
        raise ReleaseError(undecodable(error, f" (byte {error.start})") or unread) from None


def _draft_of_json(text: str) -> Draft | None:
    """Return what a JSON file publishes, None for a release file (told by its keys)."""
    head = head_of(text)
    if '"recon"' in head:
        return None
    from recon.readers.formats.release.reading import strict_json
    from recon.readers.formats.statistics.itemsets import is_itemset_json, looks_like_itemset_json, read_itemset_json
    from recon.readers.formats.statistics.target_encoders import is_evidence_json, read_evidence_json

    if looks_like_itemset_json(head):
        return read_itemset_json(text.lstrip("\ufeff"))
    found = strict_json(text.lstrip("\ufeff"))
    if (form := json_format(found)) is not None:
        draft: Draft = getattr(importlib.import_module(f"{READERS}.{form.module}"), form.read)(found)
        return draft
    if isinstance(found, dict) and is_itemset_json(found):
        return read_itemset_json(text.lstrip("\ufeff"))
    if isinstance(found, dict):
        if _is_combiner(found):
            raise Unsupported(f"is JSON of the ends of bins by column, as toad's combiner exports them: {_TOAD[1]}")
        return read_evidence_json(found) if is_evidence_json(found) else None
    raise ReleaseError(
        "is JSON of no format that is read: neither a release file nor a known model (see docs/readers.md)"
    )


def _readers() -> Iterator[tuple[str, Callable[[Thing, str], Draft]]]:
    """Yield the class names that can be read, each with its reader."""
    for name in OBJECTS:
        module = importlib.import_module(f"{READERS}.{name}")
        for kind in module.KINDS:
            yield kind, module.read


def draft_of_object(root: Any, form: str) -> Draft:
    """Return what a stored object publishes; searches and pipelines are opened first."""
    from recon.readers.formats.sklearn.pipelines.pipeline import KINDS as PIPELINES
    from recon.readers.formats.sklearn.pipelines.pipeline import read as read_pipeline
    from recon.readers.formats.sklearn.pipelines.pipeline import read_folds

    if members := folds_of(root):
        return read_folds(members, form, draft_of_object, "what cross-validation kept")
    if not isinstance(root, Thing):
        shown = type(root).__name__
        if isinstance(root, dict) and {"f", "r"} <= set(root):
            from recon.readers.formats.rules.corels_saved import read_saved

            return read_saved(root, form)
        held = list(root.values()) if isinstance(root, dict) else []
        if held and all(isinstance(one, Thing) and one.class_name == "DataFrame" for one in held):
            raise Unsupported(f"holds tables by name ({form}): {TABLES}")
        raise Unsupported(f"holds a {shown}, not a model ({form}): store the model itself")
    if root.class_name == "Pipeline":
        from recon.readers.formats.sklearn.pipelines.prepared import read as read_prepared
        from recon.readers.formats.sklearn.pipelines.prepared import transforms

        if transforms(root):
            return read_prepared(root, form)
    if root.class_name == "DataFrame":
        from recon.readers.formats.statistics.itemsets import read_itemset_frame

        if (draft := read_itemset_frame(root, form)) is not None:
            return draft
        raise Unsupported(f"a {root.kind} is not read ({form}): {TABLES}")
    if root.class_name in PIPELINES:
        return read_pipeline(root, form, draft_of_object)
    if root.kind.startswith("category_encoders."):
        return importlib.import_module(f"{READERS}.statistics.target_encoders").read(root, form)  # type: ignore[no-any-return]
    for kind, read in _readers():
        if root.class_name == kind:
            return read(root, form)
    raise Unsupported(
        f"a {root.kind} is not read ({form}): see docs/readers.md for what is, and `recon inspect` for what it stores"
    )


OF_TABLES = (b'"tables"', b'"recon"')  # what a release file with tables has


def may_have_tables(path: str) -> bool:
    """Return whether a regular file is JSON that names tables; its bytes are given back to the budget."""
    if path == "-" or not os.path.isfile(path):
        return False
    try:
        with open_regular(path) as (file, _):
            head = content_start(file.read(HEAD))
        if not head.startswith((b"{", b"\x1f\x8b")):
            return False
        budget = current()
        with budget.lent():
            data = gunzip(read_whole(path), budget.left)
            return content_start(data[:HEAD]).startswith(b"{") and all(key in data for key in OF_TABLES)
    except (ReconError, OSError):
        return False


FEWEST = 3  # models of a list without its splits: of two nothing could show that they are no folds


def folds_of(root: Any) -> list[Thing]:
    """Return the fitted models that cross-validation left (`return_estimator=True`): a list, or its dict; else []."""
    found = root.get("estimator") if isinstance(root, dict) else root
    members = found.tolist() if isinstance(found, np.ndarray) and found.ndim == 1 else found
    if not isinstance(members, (list, tuple)) or len(members) < (2 if isinstance(root, dict) else FEWEST):
        return []
    things = [one for one in members if isinstance(one, Thing)]
    return things if len(things) == len(members) and len({one.kind for one in things}) == 1 else []
