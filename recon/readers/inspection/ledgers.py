"""The ledger of a whole file, of any kind: what stands where in it, and which figures statements carry.

The ledger of R objects: which of their parts statements carry, which say more to who knows the learner's rule.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from recon.io.files.tables import HEAD
from recon.readers.formats.boosters.catboost_file import cbm_booster
from recon.readers.formats.detection import CBM, binary_kind
from recon.readers.formats.pmml.document import looks_like_pmml
from recon.readers.inspection.documents.documents import document_findings, parsed_document, text_of
from recon.readers.inspection.documents.json_models import cbm_entries
from recon.readers.inspection.documents.leftovers import member_leftovers, text_leftovers
from recon.readers.inspection.documents.pmml_findings import pmml_ledger
from recon.readers.inspection.findings.findings import About, Finding, about
from recon.readers.inspection.inspecting import blobs_of, inspect_graph
from recon.readers.inspection.ledger.entries import FigureKind, FileLedger, LedgerEntry, Status, Use
from recon.readers.inspection.ledger.forms import document_ledger, size_of_json
from recon.readers.inspection.ledger.implied import of_rpart
from recon.readers.inspection.ledger.lines import DRAWING, LINES, odd_spelling, text_ledger
from recon.readers.inspection.objects.generic import odd_findings
from recon.readers.inspection.objects.r_objects import PARTS, VECTORS, Vector, bytes_of, is_r_file, looked_at, rows_of
from recon.readers.inspection.objects.traversal import traverse
from recon.readers.stored.binary.rds import RObject, read_rds
from recon.readers.stored.pickled.stored_files import StoredFile, gunzip, header_bytes, open_stored
from solvers.foundation.errors import ReconError

_NAMES = (
    "call terms control functions method parms numresp ordered contrasts assign formula type ntree mtry test "
    "offset family iter converged boundary rank df.residual df.null kernel cost degree gamma coef0 nu epsilon "
    "sparse scaled treetype splitrule replace importance.mode max.depth modelInfo modelType metric maximize "
    "times n.obs pars m"
)
_SETTINGS = frozenset(_NAMES.split())
_OF_SPLITS = frozenset(["splits", "csplit", "variable.importance", "forest", "importance", "importanceSD"])
_SCORES = frozenset(["cptable", "err.rate", "confusion", "mse", "rsq", "prediction.error", "results", "resample",
                     "deviance", "aic", "loglik", "null.deviance", "bestTune"])  # fmt: skip


def _r_ledger(data: bytes, memory: int) -> FileLedger:
    """Return the ledger of an .rds or .RData file: one entry for what stands right in the model."""
    root = read_rds(data, memory)
    known = next((PARTS[c] for c in root.classes if c in PARTS), {})
    sizes: dict[tuple[str, Status, str, About, str], int] = {}
    for one, finding, status in looked_at(root, known, rows_of(root, known)):
        key: tuple[str, Status, str, About, str]
        name = one.top.removeprefix("m$").partition("$")[0]
        if finding is not None:
            counts = finding.rule in {"r-frame", "r-apriori", "r-tables"}
            key = one.path, "used" if counts else "unused", "counts" if counts else "", about(finding), finding.follows
        elif status == "unknown":
            key = one.top, "unknown", "", "", ""
        elif status == "code" or name in _SETTINGS:
            key = one.top, "harmless", "", "", "code and settings, bounded in size"
        elif name in _OF_SPLITS:
            key = (
                one.top,
                "assumed",
                "",
                "",
                "which split, at which value and gain: says more to anyone who knows it",
            )
        else:
            scores: About = "labels" if name in _SCORES else "columns"
            key = one.top, "unused", "", scores, "a function of all training rows, bounded in size"
        sizes[key] = sizes.get(key, 0) + _bytes_below(one)
    return FileLedger(tuple(
        LedgerEntry(path, status, "R values", size, None, subject, why, figures=figures,
                    more=_sums(root) * bool(figures))
        for (path, status, figures, subject, why), size in sizes.items() if size
    ))  # fmt: skip


def _sums(root: RObject) -> str:
    """Return that the rows of inner nodes of rpart follow, "" where they do not."""
    frame = dict(root.parts).get("frame")
    held = dict(frame.parts) if frame is not None else {}
    names = frame.attributes.get("row.names") if frame is not None else None
    if "n" not in held or names is None or names.values is None:
        return ""
    try:
        return f"of inner nodes {of_rpart(names.values, held['n'].values)['n']}"
    except (TypeError, ValueError):
        return ""


def _bytes_below(one: Vector) -> int:
    """Return the bytes of a vector; of a part that is told as one, of all that stands in it."""
    if not (one.told or "data.frame" in one.part.classes):
        return bytes_of(one.part)
    total, stack = 0, [one.part]
    while stack:
        part = stack.pop()
        total += bytes_of(part) if part.kind in VECTORS else 0
        stack += [value for _, value in part.parts if part.kind not in {"environment", "reference"}]
    return total


DEEPEST = 3  # files inside files
# Keys of a release file: what they are, in it and in its models.
_RELEASE: Mapping[str, tuple[Status, str, str]] = {
    "models": ("used", "counts", "published figures"),
    "rows": ("used", "counts", "the number of rows"),
    "domain": ("assumed", "", "which values there are"),
}


def ledger_of(
    data: bytes, memory: int = 1 << 30, uses: Mapping[FigureKind, Use] | None = None, why: str = ""
) -> FileLedger:
    """Return the ledger of a file's content.

    `uses`: what statements carry (`recon.readers.loading.loading`); without them no figure is used, and `why` says the
    reason.
    """
    return FileLedger(tuple(_entries(data, memory, 0))).by_statements(uses or {}, why or "no reader states the figures")


def _entries(data: bytes, memory: int, depth: int) -> Iterator[LedgerEntry]:
    """Yield the entries of a file; figures of files inside of it are of no statement but that file's own."""
    stored = open_stored(data, memory)
    if stored is not None:
        yield from _of_objects(stored, data, memory, depth)
        return
    content = gunzip(data, memory)
    yield from _of_findings(odd_findings(header_bytes(data), "gzip"))
    if is_r_file(content):
        yield from _r_ledger(content, memory).entries
        return
    if binary_kind(content) == CBM:
        yield from (one for one in cbm_entries(cbm_booster(content, memory)) if one.bytes)
    odd = odd_spelling(content)
    yield from [LedgerEntry("(spelling)", "unknown", "spaces and digits", odd)] if odd else []
    parsed = parsed_document(content, memory)
    if parsed is not None:
        yield from document_ledger(*parsed, whole=True).entries
        return
    if looks_like_pmml(text_of(content)[:HEAD] or content[:HEAD]):
        yield from pmml_ledger(content).entries
        return
    yield from _of_text(content, memory)


def _of_objects(stored: StoredFile, data: bytes, memory: int, depth: int) -> Iterator[LedgerEntry]:
    """Yield the entries of stored objects, and of files inside of them."""
    yield from inspect_graph(stored.root, memory, whole=True).ledger.entries
    members = member_leftovers(data) if stored.format == "skops" else []
    yield from _of_findings([*members, *odd_findings(stored.odd, stored.format)])
    for path, raw in blobs_of(list(traverse(stored.root))):
        inner = [LedgerEntry("", "unknown", "bytes", len(raw))]
        if depth < DEEPEST:
            with contextlib.suppress(ReconError):
                inner = list(_entries(raw, memory, depth + 1)) or inner
        yield from (replace(one, path=f"{path}({one.path})") for one in inner)


def _of_text(content: bytes, memory: int) -> Iterator[LedgerEntry]:
    """Yield the entries of a release file, of a printed model, or of a table of counts."""
    try:
        parsed: Any = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict) and "recon" in parsed:
        for key, value in parsed.items():
            status, figures, why = _RELEASE.get(
                key, ("harmless", "", "of the form of release files, checked by its reader")
            )
            yield LedgerEntry(key, status, "JSON", size_of_json(value), why=why, figures=figures)
        return
    known = document_findings(content, memory)
    text = text_of(content)
    kind = known[0] if known is not None else _kind_as_read(content, memory)
    if kind.startswith("table of counts"):
        yield from _of_table(text)
        return
    if kind not in LINES and kind != DRAWING:
        yield LedgerEntry("", "unknown", kind or "text", len(content))
        return
    odd = sum(int(one.what.partition(" ")[0].replace(",", "")) for one in text_leftovers(kind, text))
    yield from text_ledger(kind, text, odd).entries


def _kind_as_read(content: bytes, memory: int) -> str:
    """Return the format that the reader of a file gives, "" where there is none."""
    from recon.readers.formats.detection import read_draft

    try:
        draft = read_draft(content, memory)
    except ReconError:
        return ""
    return "" if draft is None else draft.origin.format


def _of_table(text: str) -> Iterator[LedgerEntry]:
    """Yield the entries of a table of counts: its groups and its counts."""
    body = text.partition("\n")[2]
    size = len(text.encode("utf-8", "replace"))
    digits = sum(map(str.isdigit, body))
    yield LedgerEntry("(counts)", "used", "numbers of rows", digits, why="numbers of rows", figures="counts")
    yield LedgerEntry(
        "(groups)", "assumed", "names and values of groups", size - digits, why="which groups were published"
    )


def _of_findings(findings: list[Finding]) -> Iterator[LedgerEntry]:
    """Yield the entries of bytes that are not understood."""
    for one in findings:
        yield LedgerEntry(one.path, "unknown", one.what, int(one.what.partition(" ")[0].replace(",", "")))
