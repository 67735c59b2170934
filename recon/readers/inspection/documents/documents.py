"""What files publish that hold no objects: text, DOT, JSON, PMML, R's .rds, tables of counts.

The kind is recognised by the content. Nothing is removed from these files: what to change is said.

What a file publishes as a model, in the words of the module that reads it, and what a release file of recon says.

The rules of the inspection name what an object stores; a list of rules or a drawn tree is nothing but counts. What
`recon.readers.formats.detection` reads is therefore told here wherever no rule has told its counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from recon.io.files.opening import current, parsed_json
from recon.io.files.sheets import text_sheet
from recon.io.files.tables import HEAD
from recon.readers.formats.detection import (
    CATBOOST,
    CBM,
    UBJSON,
    begins_json,
    binary_kind,
    head_of,
    text_reader,
    uncommented,
)
from recon.readers.formats.pmml.document import looks_like_pmml
from recon.readers.inspection.documents.json_models import catboost_values, hessians, json_findings, json_kind
from recon.readers.inspection.documents.leftovers import name_findings, own_texts, text_leftovers
from recon.readers.inspection.findings.findings import (
    EXAMPLES,
    Finding,
    Level,
    not_understood,
    of_draft,
    of_models,
)
from recon.readers.inspection.ledger.forms import document_ledger, size_of_json
from recon.readers.inspection.ledger.lines import odd_spelling
from recon.readers.stored.pickled.stored_files import gunzip
from solvers.foundation.errors import ReconError, ReleaseError

if TYPE_CHECKING:
    from encoders.models.models import AnyModel, CountKind
    from recon.readers.formats.drafts.drafts import Draft
    from recon.readers.formats.tables.cells import CountCell

# Rules whose findings say the counts of a model (or that it has none): nothing is added to them.
LEARNER_RULES = frozenset([
    "counts", "noisy-counts", "shares", "leaf-counts", "leaf-hessians", "tree", "histogram-tree", "figs-counts",
    "rule-counts", "bin-counts", "r-frame", "rules", "published-counts",
])  # fmt: skip
_AUDIT = "recon count and recon audit work out what follows"
_INHERENT = "inherent in the model: release it without counts, or round, suppress or noise them before"


def rows_of(draft: Draft) -> int | None:
    """Return the number of training rows that a file says, None where it gives an interval or nothing."""
    return draft.rows.low if draft.rows is not None and draft.rows.exact else None


def draft_findings(draft: Draft, known: Sequence[Finding] = ()) -> list[Finding]:
    """Return one finding on the counts that a draft holds; none where it holds none, or where they are told."""
    kinds = draft.origin.counts
    if not kinds or any(one.rule in LEARNER_RULES for one in known):
        return []
    what = ", ".join([draft.origin.format, *_sizes(draft.models)])
    smallest, models = of_draft(draft)
    return [Finding(_level(kinds), "published-counts", "(the model)", what, _meaning(kinds), _INHERENT,
                    smallest=smallest, models=models)]  # fmt: skip


def release_findings(data: bytes) -> Found:
    """Return what a release file of recon publishes; `ReleaseError` with the sentence of its reader where broken."""
    from encoders.models.models import kinds_of
    from recon.readers.formats.release.parts import to_models, to_rows
    from recon.readers.formats.release.reading import parse

    part = parse(data, "")
    rows, found = to_rows(part), []
    for number, (model, stated) in enumerate(zip(to_models(part), part.models, strict=True)):
        path, kinds = f"models[{number}]", kinds_of(model)
        if stated.noise is not None:
            text = f"counts with {stated.noise.law} noise: intervals and a posterior of the true ones"
            fix = "recon posterior says what they reveal"
            found.append(Finding("info", "noisy-counts", path, stated.kind, text, fix))
        else:
            text = _meaning(kinds) if kinds else "no counts are published"
            # Of another name for each kind: findings of one name are told as one.
            rule = "counts" if kinds == ("exact",) else "-".join([*kinds, "counts"])
            smallest, models = of_models([model])
            found.append(Finding(_level(kinds), rule, path, stated.kind, text, _INHERENT, smallest=smallest,
                                 models=models))  # fmt: skip
        if getattr(stated, "multiplicities", None):
            text = "how often each training row is in each tree's bag, by its position in the training file"
            place = f"{path}.multiplicities"
            found.append(Finding("high", "bags", place, stated.kind, text, "leave multiplicities out"))
    content = json.loads(data.decode("utf-8-sig"))
    found += name_findings(content, "(texts)", own_texts(content))
    return "release file", rows.low if rows is not None and rows.exact else None, found


def _level(kinds: Sequence[CountKind]) -> Level:
    """Return how grave counts of these kinds are: noisy ones and labels alone are no exact statistics."""
    return "medium" if set(kinds) - {"label", "noisy"} else "info"


def _meaning(kinds: Sequence[CountKind]) -> str:
    """Return what kinds of counts mean, and who works out what follows."""
    from encoders.models.models import MEANING

    notes = [f"{kind}{'' if kind == 'label' else ' counts'}: {MEANING[kind]}" for kind in kinds]
    return "; ".join([*notes, _AUDIT])


def _sizes(models: Sequence[AnyModel]) -> list[str]:
    """Return how many leaves, rules and statements the models have, in words; nothing where they have none."""
    words = {"node": "leaves", "tree": "leaves", "figure": "statements"}
    sizes = {"leaves": 0, "rules": 0, "statements": 0}
    for model in models:
        name = words.get(model.unit, f"{model.unit}s")
        size = sum(map(len, model.count_tables())) if name != "statements" else model.size()
        sizes[name] = sizes.get(name, 0) + size
    return [f"{size:,} {name}" for name, size in sizes.items() if size]


Found = tuple[str, int | None, list[Finding]]
_SUPPRESS = "round or suppress the counts, or add noise to them; recon audit says what they reveal"
_RPART = re.compile(r"^[ \t]*(\d+)\)[ \t]", re.MULTILINE)
_CORELS = re.compile(r"=\s*[^\s=\[]+\s*\[\s*\d+\s*,\s*\d+\s*\]")
_WEIGHTS = re.compile(r"weights: \[([^\[\]]*)\]")


def document_findings(data: bytes, memory: int) -> Found | None:
    """Return kind, number of training rows and findings of a file without objects; None where its kind is unknown."""
    from recon.readers.inspection.objects.r_objects import is_r_file

    found = _findings(data, memory)
    odd = 0 if found is None or is_r_file(data) else odd_spelling(data, found[0])
    if found is None or not odd:
        return found
    return found[0], found[1], [*found[2], not_understood("(spelling)", odd, "spaces and digits that no value needs,")]


def _findings(data: bytes, memory: int) -> Found | None:
    """Return the same, without how its values are written."""
    from recon.readers.inspection.documents.pmml_findings import pmml_findings
    from recon.readers.inspection.objects.r_objects import is_r_file, r_findings

    if is_r_file(data):
        return r_findings(data, memory)
    current().bytes(2 * len(data))
    from recon.readers.inspection.documents.leftovers import binary_findings

    binary = binary_findings(data, memory)
    if binary is not None:
        return binary
    text = text_of(data)
    head = text[:2_000].lstrip()
    if begins_json(head):
        return _json(data, text, head)
    if looks_like_pmml(text[:HEAD] or data[:HEAD]):
        return pmml_findings(data)
    found = _printed_model(text)
    if found is None:
        return _table(text)
    return found[0], found[1], [*found[2], *text_leftovers(found[0], text)]


def text_of(data: bytes) -> str:
    """Return the text of a file, "" of bytes that are none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("utf-16", "replace") if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else ""


def parsed_document(data: bytes, memory: int = 1 << 30) -> tuple[str, Any] | None:
    """Return kind and values of a document whose form is known (JSON, UBJSON, LightGBM's text); None of others."""
    from recon.readers.formats.boosters.catboost_file import cbm_booster
    from recon.readers.inspection.documents.booster_text import lightgbm_as_json
    from recon.readers.stored.binary.ubjson import read_ubjson

    data = gunzip(data, memory)
    form = binary_kind(data)
    if form == CBM:
        return CATBOOST, catboost_values({"model_info": cbm_booster(data, memory).stated})
    if form == UBJSON:
        whole = read_ubjson(data, memory)
        return "XGBoost model", whole.get("Model", whole) if isinstance(whole, dict) else whole
    try:
        text = data.decode("utf-8-sig")
        if not begins_json(head_of(text)):
            reader = text_reader(head_of(text))
            known = reader is not None and reader[1] == "read_lightgbm_text"
            return ("LightGBM model as text", lightgbm_as_json(text)) if known else None
        parsed_json(text)
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    kind = json_kind(content)
    return None if kind is None else (kind, catboost_values(content) if kind.startswith("CatBoost") else content)


def _json(data: bytes, text: str, head: str) -> Found | None:
    """Return what JSON says, release files as their own reader reads them; what only begins like JSON is printed."""
    parsed_json(text)
    try:
        content, replaced = json_and_replaced(text)
    except RecursionError:
        raise ReleaseError("the JSON is nested too deeply") from None
    except ValueError:
        return release_findings(data) if '"recon"' in head else _printed_model(text)
    if isinstance(content, dict) and "recon" in content:
        return release_findings(data)
    found = json_findings(content)
    if found is None or not replaced:
        return found
    odd = not_understood(
        "(repeated keys)", max(1, size_of_json(replaced)), "values that later ones of the same key replace,"
    )
    return found[0], found[1], [*found[2], odd]


def json_and_replaced(text: str) -> tuple[Any, list[Any]]:
    """Return what JSON says, and the values that a later one of the same key replaces; `ValueError` for no JSON."""
    replaced: list[Any] = []

    def kept(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                replaced.append(found[key])
            found[key] = value
        return found

    return json.loads(text.lstrip("\ufeff"), object_pairs_hook=kept), replaced


def _printed_model(text: str) -> Found | None:
    """Return what a model printed as text says; None where its reader alone tells it (`completed`)."""
    reader = text_reader(head_of(uncommented(text[: 2 * HEAD])))
    findings = None if reader is None else _PRINTED.get(reader[1])
    return None if findings is None else findings(text)


def _lightgbm_text(text: str) -> Found:
    """Return what a model file of LightGBM says."""
    from recon.readers.inspection.documents.booster_text import lightgbm_as_json, lightgbm_text_findings

    kind = "LightGBM model as text"
    odd = document_ledger(kind, lightgbm_as_json(text)).findings()
    return kind, None, [*lightgbm_text_findings(text, ""), *odd]


def _xgboost_text(text: str) -> Found:
    """Return what XGBoost's dump as text says."""
    return "XGBoost dump as text", None, hessians("cover") if ",cover=" in text else [_thresholds("lines")]


def _streed_text(_: str) -> Found:
    """Return what a printed tree of STreeD says."""
    sentence = "the tests and the label of every leaf: which class most of its rows have; no counts"
    found = _finding("info", "rules", "lines", "leaves without counts", sentence, "nothing to do")
    return "STreeD tree as text", None, [found]


def _finding(level: Level, rule: str, path: str, what: str, follows: str, remove: str, values: Any = ()) -> Finding:
    return Finding(level, rule, path, what, follows, remove, False, tuple(values)[:EXAMPLES])


def _thresholds(path: str) -> Finding:
    return _finding(
        "info", "thresholds", path, "thresholds of the splits",
        "as printed; a best split lies halfway between two neighbouring training values of the node (or on one)",
        "round the thresholds to values that do not depend on the data",
    )  # fmt: skip


def _dot(text: str) -> Found | None:
    """Return what a Graphviz drawing of a tree says: counts, or shares and sizes; None of `plot_tree`'s list."""
    if text.lstrip().startswith("["):
        return None
    samples = re.findall(r"samples(?:\s|&#?\w+;|<br/>)*=\s*([\d.]+%?)", text)
    if not samples:
        return "tree as DOT", None, [_thresholds("labels")]
    if samples[0].endswith("%"):
        words = "the share of the training rows in every node and of every class in it, rounded: intervals of counts"
        return "tree as DOT", None, [_finding("medium", "shares", "labels", "samples and value", words, _SUPPRESS,
                                              samples),
                                     _thresholds("labels")]  # fmt: skip
    words = "the training rows of every node, and of every class in it (of a regression their mean)"
    found = _finding(
        "medium", "counts", "labels", f"samples and value of {len(samples):,} nodes", words, _SUPPRESS, samples
    )
    return "tree as DOT", int(float(samples[0])), [found, _thresholds("labels")]


def _export_text(text: str) -> Found:
    """Return what scikit-learn's export_text says; rows per class with show_weights."""
    weights = _WEIGHTS.findall(text)
    if not weights:
        return "tree as text", None, [_thresholds("lines")]
    numbers = [[float(v) for v in re.findall(r"-?[\d.]+(?:e[+-]?\d+)?", w)] for w in weights]
    whole = all(v.is_integer() for leaf in numbers for v in leaf)
    total = round(sum(sum(leaf) for leaf in numbers)) if whole else None
    sentence = (
        "the training rows of every class in every leaf" if whole else "weights or shares of the classes in the leaves"
    )
    found = _finding("medium", "counts", "weights", f"weights of {len(weights):,} leaves", sentence, _SUPPRESS, weights)
    return "tree as text", total, [found, _thresholds("lines")]


def _rpart_text(text: str) -> Found:
    """Return what R's print of an rpart tree says: rows, and rows that are not of the class."""
    rows = re.search(r"^n=\s*(\d+)", text, re.MULTILINE)
    nodes = _RPART.findall(text)
    sentence = (
        "the training rows of every node (n) and how many are not of its class (loss): with two classes the rows of "
        "both; with more, the printed shares times n"
    )
    found = _finding("medium", "counts", "n, loss, (yprob)", f"{len(nodes):,} nodes", sentence, _SUPPRESS)
    return "R rpart as text", int(rows.group(1)) if rows else None, [found, _thresholds("split")]


def _corels(text: str) -> Found:
    """Return what a CORELS rule list says: rows per class where they are printed behind the predictions."""
    counted = _CORELS.findall(text)
    if not counted:
        sentence = "the rules and their predictions: which class most of the rows have that reach them; no counts"
        return (
            "rule list as text",
            None,
            [_finding("info", "rules", "lines", "rules without counts", sentence, "nothing to do")],
        )
    sizes = [[int(v) for v in re.findall(r"\d+", part.partition("[")[2])] for part in counted]
    sentence = "the training rows of every class that every rule captures"
    found = _finding("medium", "counts", "lines", f"counts of {len(counted):,} rules", sentence, _SUPPRESS, counted)
    return "rule list as text", sum(map(sum, sizes)), [found]


def _table(text: str) -> Found | None:
    """Return what a table of counts says; None for other files, and tables that are not read."""
    from recon.readers.formats.printed.count_table import looks_like_count_table
    from recon.readers.formats.tables.counted import counted_table

    if not looks_like_count_table(text[:4096]):
        return None
    try:
        return table_found([line.count for line in counted_table(text_sheet(text)).lines])
    except ReconError:
        return None


def table_found(cells: Sequence[CountCell]) -> Found | None:
    """Return what the cells of a table of counts say, None where none is shown."""
    counts = [cell.low for cell in cells if cell.exact]
    if not counts:
        return None
    hidden = sum(bool(cell.mark) for cell in cells)
    sentence = (
        f"a table of counts: {len(counts):,} cells, {sum(c == 0 for c in counts):,} of them 0, "
        f"{sum(0 < c < 10 for c in counts):,} from 1 to 9"
    )
    sentence += f", {hidden:,} hidden; with totals in the table the hidden ones may follow" if hidden else ""
    found = _finding("medium", "counts", "cells", f"{len(cells):,} cells", sentence, _SUPPRESS, counts)
    return "table of counts", None, [found]


# What a text gives away, by the function that reads it (`TEXTS` of `recon.readers.formats.detection`).
_PRINTED: dict[str, Callable[[str], Found | None]] = {
    "read_lightgbm_text": _lightgbm_text,
    "refuse_xgboost_text": _xgboost_text,
    "read_streed_dot": _dot,
    "read_dot": _dot,
    "read_streed_text": _streed_text,
    "read_export_text": _export_text,
    "read_rpart": _rpart_text,
    "read_corels_text": _corels,
}
