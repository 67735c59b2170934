"""The inspection of a file: what it stores of the training data, worst first; and a copy without what can go."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from recon.io.files.opening import budget_within, companions, file_and_number
from recon.readers.inspection.documents.documents import completed, document_findings, draft_findings, rows_of
from recon.readers.inspection.documents.leftovers import member_leftovers, odd_findings, text_leftovers
from recon.readers.inspection.findings.findings import (
    EXAMPLES,
    LEVELS,
    PADDING,
    SAVE_THE_FITTED,
    Finding,
    Level,
    boosted,
    graded,
    merge_findings,
    naming,
    not_understood,
    plain_value,
)
from recon.readers.inspection.ledger.entries import FileLedger
from recon.readers.inspection.ledger.lines import is_printed
from recon.readers.stored.pickled.joblib_files import header_bytes
from recon.readers.stored.rewriting import StoredFile, gunzip, open_stored
from solvers.foundation.displayed import LINES, NAME, Displayed, DisplayFacts, many, quote, shown_lines
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.plots import Axes

TABLES = "table of counts"  # how the formats of tables begin
TREES = frozenset(["tree", "histogram-tree"])  # rules of what boosted models are made of


@dataclass(frozen=True, repr=False)
class Inspection(Displayed):
    """What a file reveals: its findings, the worst first, and the number of training rows where it says so.

    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> import recon
    >>> domain = {"attributes": [{"name": "old", "values": [0, 1]}], "label": {"name": "ill", "values": [0, 1]}}
    >>> nodes = [{"if": {"old": 0}, "then": 1, "else": 2}, {"counts": [2, 0]}, {"counts": [0, 1]}]
    >>> models = [{"kind": "tree", "nodes": nodes}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tree.json")
    ...     size = path.write_text(json.dumps({"recon": 1, "domain": domain, "models": models}))
    ...     found = recon.inspect(path)
    >>> found.format
    'release file'
    """

    file: str
    format: str
    sha256: str
    rows: int | None
    findings: tuple[Finding, ...]
    ledger: FileLedger = field(default_factory=FileLedger)

    def to_json(self) -> dict[str, Any]:
        """Return the inspection as one JSON object: file, format, sha256, rows, levels, findings."""
        notes = [one.to_json() for one in self.findings]
        return {
            "file": self.file, "format": self.format, "sha256": self.sha256, "rows": self.rows,
            "levels": dict(LEVELS), "findings": notes,
        }  # fmt: skip

    def _facts(self) -> DisplayFacts:
        count = Counter(one.level for one in self.findings)
        found = ", ".join(f"{count[level]:,} {level}" for level in LEVELS if count[level]) or "nothing"
        rows = "rows not found in it" if self.rows is None else many(self.rows, "training row")
        return DisplayFacts(
            f"{quote(self.file, NAME)}, {self.format}, {rows}; found: {found}", [("SHA-256", self.sha256)],
            ("level", "where", "what", "follows", "remedy"),
            lambda: [(one.level, one.path, one.what, one.follows, one.remove) for one in self.findings[:LINES]],
            len(self.findings),
            more="to_text(), to_frame(), plot()",
        )  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """Return one line per finding, the worst first; the columns are the fields of `Finding`."""
        import pandas as pd

        columns = [one.name for one in fields(Finding)]
        return pd.DataFrame([[getattr(one, name) for name in columns] for one in self.findings], columns=columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with the number of findings of every level; `Unsupported` without matplotlib."""
        from solvers.foundation.plots import lying_bars

        count = Counter(one.level for one in self.findings)
        return lying_bars(list(LEVELS), [count[level] for level in LEVELS], "Found in the file", "findings", ax)

    def to_text(self) -> str:
        """Return the inspection for people."""
        count = Counter(one.level for one in self.findings)
        sizes = ", ".join(f"{count[level]} {level}" for level in LEVELS if count[level])
        rows = "number of training rows not found in it" if self.rows is None else f"{self.rows:,} training rows"
        lines = [f"{self.file}: {self.format}, {rows}; found: {sizes or 'nothing'}"]
        last: Level | None = None
        for one in self.findings:
            if one.level != last:
                lines += ["", f"{one.level.upper()}: {LEVELS[one.level].partition(': ')[2]}"]
            last = one.level
            places = f" at {one.places:,} places" if one.places > 1 else ""
            shown = ", ".join(
                [*(str(plain_value(v)) for v in one.values), *(["..."] if len(one.values) >= EXAMPLES else [])]
            )
            lines.append(f"  {one.path}{places}: {one.what}{f' ({shown})' if shown else ''}")
            lines.append(f"    follows: {one.follows}")
            lines.append(f"    remedy:  {one.remove}")
        return shown_lines(lines)


def inspect(path: str | os.PathLike[str], memory: int = 1 << 30, limits: Limits | None = None) -> Inspection:
    """Return what the file ("-": standard input) stores outright, without building or running anything in it.

    Reads pickle, joblib and skops files, and whatever text, JSON, PMML and R's formats publish, also behind gzip.
    `memory`: bytes its content may take, `limits`: the same, and time. Raises `ReleaseError` for unreadable files and
    where no path is given, `Unsupported` for unknown ones, `Inconclusive` where the time is up.

    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> import recon
    >>> domain = {"attributes": [{"name": "old", "values": [0, 1]}], "label": {"name": "ill", "values": [0, 1]}}
    >>> nodes = [{"if": {"old": 0}, "then": 1, "else": 2}, {"counts": [2, 0]}, {"counts": [0, 1]}]
    >>> models = [{"kind": "tree", "nodes": nodes}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tree.json")
    ...     size = path.write_text(json.dumps({"recon": 1, "domain": domain, "models": models}))
    ...     found = recon.inspect(path)
    >>> found.rows, [finding.level for finding in found.findings]
    (None, ['high'])
    """
    with budget_within(memory if limits is None else min(memory, limits.memory), limits) as budget, budget.lent():
        file, data = read_file(path)
        return with_mlflow_folder(file, inspect_bytes(data, file, memory))


def with_mlflow_folder(file: str, found: Inspection) -> Inspection:
    """Return the inspection with what stands beside a model in its MLflow folder."""
    more = []
    for name, size in companions(file):
        if "input_example" in name:
            follows = "the rows that were given as an example: training rows, unless they were made up"
            more.append(Finding("critical", "input-example", name, f"{size:,} bytes", follows, "delete the file"))
        else:
            more.append(not_understood(name, size, "a file of the folder"))
    return replace(found, findings=tuple(merge_findings([*found.findings, *more]))) if more else found


def inspect_bytes(data: bytes, file: str = "", memory: int = 1 << 30) -> Inspection:
    """Return the inspection of a file's content; `file` is its name in refusals."""
    with naming(file), budget_within(memory):
        stored = open_stored(data, memory)
        if stored is not None:
            return inspect_stored(stored, data, file, memory)
        return _inspect_document(data, file, memory)


def inspect_stored(stored: StoredFile, data: bytes, file: str, memory: int) -> Inspection:
    """Return the inspection of an opened file, `data` its content as it stands."""
    from recon.readers.inspection.graphs import inspect_graph

    graph = inspect_graph(stored.root, memory)
    found = graph.findings
    if stored.format == "skops":  # arrays of an archive are files, which copies have as they are
        found = [replace(f, removable=False, remove=SAVE_THE_FITTED) if f.rule == PADDING else f for f in found]
        found += member_leftovers(data)
    found += odd_findings(stored.odd, stored.format)
    trees = any(one.rule in TREES for one in found)
    rows, findings = completed(graph.rows, found, data, memory, trees and boosted(graph.classes))
    return Inspection(file, stored.format, stored.sha256, rows, tuple(findings), graph.ledger)


def _inspect_document(data: bytes, file: str, memory: int) -> Inspection:
    """Return the inspection of a file without objects: by the rules for its kind, else by what its reader reads."""
    content = gunzip(data, memory)
    known = document_findings(content, memory)
    if known is None:
        kind, rows, findings = _as_read(content, memory)
    else:
        kind, rows, findings = known
        rows, findings = completed(rows, findings, content, memory, boosted([kind]))
    findings = [*findings, *odd_findings(header_bytes(data), "gzip")]
    kind += "" if len(content) == len(data) else ", gzip"
    return Inspection(file, kind, hashlib.sha256(data).hexdigest(), rows, tuple(findings))


def _as_read(content: bytes, memory: int) -> tuple[str, int | None, list[Finding]]:
    """Return what the reader of a file says that the inspection does not know; `Unsupported` where there is none."""
    from recon.readers.formats.detection import CARD, read_draft
    from recon.readers.formats.statistics.target_encoders import EVIDENCE

    why = ""
    try:
        draft = read_draft(content, memory)
        if draft is not None:
            odd = [not_understood("", len(content), draft.origin.format)]  # what its reader leaves out is not known
            if draft.origin.format.startswith(TABLES) or draft.origin.format in (CARD, EVIDENCE):
                odd = []  # read whole: what is not used are unused figures
            if is_printed(draft.origin.format):
                odd = text_leftovers(draft.origin.format, content.decode("utf-8", "replace"))
            return draft.origin.format, rows_of(draft), graded([*draft_findings(draft), *odd])
    except ReleaseError as error:
        why = f" ({error})"
    raise Unsupported(
        f"this is not a file that inspect knows{why}: give a pickle, joblib or skops file, PMML, a tree or rules "
        "as text "
        "or DOT, a model as JSON, R's .rds, a table of counts or a release file"
    )


def read_file(path: str | os.PathLike[str]) -> tuple[str, bytes]:
    """Return name and bytes of a file ("-": standard input); `ReleaseError` for what is no path, or unreadable.

    Of an MLflow folder it is its model file, of `FILE#2` the whole file.
    """
    from recon.readers.formats.release.reading import read_bytes

    file = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(file, str) or "\0" in file:
        raise ReleaseError(
            f"inspect needs the path of a file, not a value of type {type(path).__name__}: save the model and give "
            "the file's path"
        )
    with naming(file):
        return file, read_bytes(file_and_number(file)[0], once=True)[0]
