"""Any file to what it publishes: told apart by content, not by name, read by one module per format.

Containers of Python objects are opened without importing or running anything (`recon.readers.stored`); the class name
of the object then says which reader it is. Text is looked at from its first characters on.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from recon.io.files.budget import current, read_text, within
from recon.readers.formats.boosters.catboost.file import looks_like_catboost_json, looks_like_cbm
from recon.readers.formats.boosters.xgboost.model import looks_like_xgboost_ubj, read_xgboost_ubj
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.foreign import refuse_foreign
from recon.readers.formats.printed.rpart_rds import read_rpart_rds
from recon.readers.stored.binary.rds import is_rds
from recon.readers.stored.containers import open_stored, unpacked
from recon.readers.stored.objects.things import Thing
from solvers.foundation.errors import ReconError, ReleaseError, Unsupported

HEAD = 4096  # bytes that tell a text format
COMMENT = re.compile(r"[ \t]*#(?:#|>)? ?")

# Readers of stored objects: each has KINDS, the class names it reads, and read(thing, container).
OBJECTS = (
    "sklearn.trees.trees",
    "sklearn.trees.forests",
    "sklearn.boosting.boosting",
    "rules.imodels_lists",
    "rules.imodels_figs",
    "rules.imodels_trees",
    "rules.corels_saved",
    "rules.dl85",
    "rules.streed",
    "boosters.pickled",
)
# Readers of text: module, looks_like(head), read(text); the first that recognises the head reads it.
TEXTS = (
    ("pmml.document", "looks_like_pmml", "read_pmml"),
    ("printed.streed_text", "looks_like_streed_dot", "read_streed_dot"),
    ("printed.streed_text", "looks_like_streed_text", "read_streed_text"),
    ("printed.graphviz_dot", "looks_like_dot", "read_dot"),
    ("printed.export_text", "looks_like_export_text", "read_export_text"),
    ("printed.rpart_text", "looks_like_rpart", "read_rpart"),
    ("printed.weka_rules", "looks_like_rules", "read_rules"),
    ("printed.weka_text", "looks_like_weka", "read_weka"),
    ("boosters.lightgbm.model", "looks_like_lightgbm_text", "read_lightgbm_text"),
    ("printed.corels_text", "looks_like_corels_text", "read_corels_text"),
    ("printed.count_table", "looks_like_count_table", "read_count_table"),
)


def read_draft(data: bytes, memory: int) -> Draft | None:
    """Return what a file publishes, None for a release file of our own (JSON with the key "recon").

    Raises `ReleaseError` where the content is broken or of no known format, `Unsupported` for what is known and not
    read.
    """
    try:
        with within(memory):
            return draft_of_bytes(data, memory)
    except ReconError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
        # What a reader did not think of: somebody wrote values into the file that no library writes there.
        raise ReleaseError(f"holds values that no such file has ({type(error).__name__}: {error})") from error


def draft_of_bytes(data: bytes, memory: int) -> Draft | None:
    """Return what a file publishes; see `read_draft`."""
    refuse_foreign(data)
    stored = open_stored(data, memory)
    if stored is not None:
        return draft_of_object(stored.root, stored.format)
    if is_rds(data):
        return read_rpart_rds(data, memory)
    data = unpacked(data, memory)
    refuse_foreign(data)
    if looks_like_xgboost_ubj(data[:HEAD]):
        return read_xgboost_ubj(data, memory)
    if looks_like_cbm(data[:HEAD]):
        from recon.readers.formats.boosters.catboost.model import read_cbm

        return read_cbm(data, None, memory)
    text = uncommented(as_text(data))
    head = text[:HEAD].lstrip("\ufeff \t\r\n")
    if head.startswith(("{", "[")) and not head.startswith("[Text("):
        return draft_of_json(text)
    if head.startswith("booster[0]"):
        advice = "save_model('model.json'), or dump_model(..., with_stats=True, dump_format='json')"
        raise Unsupported(f"XGBoost's text dump is not read: use {advice}")
    for module, looks, read in TEXTS:
        found = importlib.import_module(f"recon.readers.formats.{module}")
        if getattr(found, looks)(head):
            if module != "pmml.document":
                read_text(text)
            draft: Draft = getattr(found, read)(data if module == "pmml.document" else text)
            return draft
    if any(mark in head.partition("\n")[0] for mark in ",;\t") and "\n" in head:
        counts = "no column of counts (count, n, freq, ...), which a table of counts has"
        raise ReleaseError(f"is of no format that is read: it starts with {head[:12]!r} and has {counts}")
    raise ReleaseError(f"is of no format that is read: it starts with {head[:12]!r} (see docs/readers.md)")


def uncommented(text: str) -> str:
    """Return a text without the "## " that knitr and reprex write before every line of output, indented or not."""
    lines = text.splitlines()
    if not lines or not all(COMMENT.match(line) for line in lines if line.strip()):
        return text
    return "\n".join(COMMENT.sub("", line) for line in lines) + "\n"


def as_text(data: bytes) -> str:
    """Return a file's text: UTF-8, or UTF-16 with its mark (what R and spreadsheets on Windows write)."""
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    if not data.strip(b"\xef\xbb\xbf \t\r\n"):
        raise ReleaseError("the file is empty")
    current().bytes(len(data))
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ReleaseError(
            f"is of no format that is read: neither text nor a stored model (byte {error.start})"
        ) from None


def draft_of_json(text: str) -> Draft | None:
    """Return what a JSON file publishes, None for a release file (told by its keys)."""
    from recon.readers.formats.boosters.lightgbm.model import read_lightgbm
    from recon.readers.formats.boosters.xgboost.model import looks_like_xgboost_dump, read_xgboost, read_xgboost_dump
    from recon.readers.formats.printed.rpart_text import read_rpart_json
    from recon.readers.formats.release.reading import strict_json

    head = text[:HEAD].lstrip("\ufeff \t\r\n")
    if '"recon"' in head:
        return None
    found = strict_json(text.lstrip("\ufeff"))
    if looks_like_xgboost_dump(found):
        return read_xgboost_dump(found)
    if looks_like_catboost_json(found):
        from recon.readers.formats.boosters.catboost.model import read_catboost

        return read_catboost(found)
    if isinstance(found, dict):
        for key, read in (("tree_info", read_lightgbm), ("learner", read_xgboost), ("frame", read_rpart_json)):
            if key in found:
                return read(found)
        return None
    raise ReleaseError(
        "is JSON of no format that is read: neither a release file nor a known model (see docs/readers.md)"
    )


def readers() -> Iterator[tuple[str, Callable[[Thing, str], Draft]]]:
    """Yield the class names that can be read, each with its reader."""
    for name in OBJECTS:
        module = importlib.import_module(f"recon.readers.formats.{name}")
        for kind in module.KINDS:
            yield kind, module.read


def draft_of_object(root: Any, form: str) -> Draft:
    """Return what a stored object publishes; searches and pipelines are opened first."""
    from recon.readers.formats.sklearn.pipelines.pipeline import KINDS as PIPELINES
    from recon.readers.formats.sklearn.pipelines.pipeline import read as read_pipeline

    if not isinstance(root, Thing):
        shown = type(root).__name__
        if isinstance(root, dict) and {"f", "r"} <= set(root):
            from recon.readers.formats.rules.corels_saved import read_saved

            return read_saved(root, form)
        raise Unsupported(f"holds a {shown}, not a model ({form}): store the model itself")
    if root.class_name in PIPELINES:
        return read_pipeline(root, form, draft_of_object)
    for kind, read in readers():
        if root.class_name == kind:
            return read(root, form)
    raise Unsupported(
        f"a {root.kind} is not read ({form}): see docs/readers.md for what is, and `recon inspect` for what it stores"
    )
