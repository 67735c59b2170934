"""The ledger of R objects: which of their parts statements carry, which say more to who knows the learner's rule."""

from __future__ import annotations

from recon.readers.inspection.findings.severity import About, about
from recon.readers.inspection.ledger.entries import FileLedger, LedgerEntry, Status
from recon.readers.inspection.ledger.implied import of_rpart
from recon.readers.inspection.objects.r_objects import PARTS, VECTORS, Vector, bytes_of, looked_at, rows_of
from recon.readers.stored.binary.rds import RObject, read_rds

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


def r_ledger(data: bytes, memory: int) -> FileLedger:
    """Return the ledger of an .rds or .RData file: one entry for what stands right in the model."""
    root = read_rds(data, memory)
    known = next((PARTS[c] for c in root.classes if c in PARTS), {})
    sizes: dict[tuple[str, Status, str, About, str], int] = {}
    for one, finding, status in looked_at(root, known, rows_of(root, known)):
        key: tuple[str, Status, str, About, str]
        name = one.top.removeprefix("m$").partition("$")[0]
        if finding is not None:
            counts = finding.rule == "r-frame"
            key = one.path, "used" if counts else "unused", "counts" if counts else "", about(finding), finding.follows
        elif status == "unknown":
            key = one.top, "unknown", "", "", ""
        elif status == "code" or name in _SETTINGS:
            key = one.top, "harmless", "", "", "code and settings, bounded in size"
        elif name in _OF_SPLITS:
            key = one.top, "assumed", "", "", "which split, at which value and gain: says more to who knows the rule"
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
