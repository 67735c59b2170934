"""What an R model in an .rds file gives away: labels, leaves, data frames, and what its formula drags along.

Which parts of which class hold rows: the documentation of rpart (rpart.object), stats (lm, glm), randomForest, caret,
e1071, ranger, gbm and party. Paths are R expressions for the object `m` that readRDS gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from recon.inspection.findings.findings import EXAMPLES, Finding, Level, not_understood
from recon.stored.binary.rds import RObject, is_rds, read_rds

Found = tuple[str, int | None, list[Finding]]
is_r_file = is_rds
_LABELS: tuple[Level, str] = ("critical", "the label of every training row, in file order")
_ROWS: tuple[Level, str] = ("critical", "the training rows")
_FITTED: tuple[Level, str] = ("high", "one value per training row, in file order")
_PER_ROW = dict.fromkeys(("residuals", "fitted.values", "effects", "weights", "linear.predictors"), _FITTED)
_LINEAR = {
    **_PER_ROW, "y": _LABELS, "model": _ROWS, "data": _ROWS, "x": _ROWS, "na.action": ("high", "the rows left out"),
    "qr": ("critical", "the design matrix of the training rows: qr.X(m$qr)"),
}  # fmt: skip
PARTS: dict[str, dict[str, tuple[Level, str]]] = {
    "rpart": {
        "y": _LABELS, "where": ("high", "the leaf (row of m$frame) of every training row, in file order"),
        "x": _ROWS, "model": _ROWS, "na.action": ("high", "the rows that were left out for missing values"),
        "frame": ("medium", "the training rows of every node, and of every class in it (yval2)"),
    },
    "lm": _LINEAR, "glm": _LINEAR,
    "randomForest": {
        "y": _LABELS, "votes": _FITTED, "oob.times": _FITTED, "predicted": _FITTED, "proximity": _FITTED,
        "inbag": ("high", "which training rows are in which tree's bag"),
        "localImportance": _FITTED, "xlevels": ("medium", "the values of every factor"),
    },
    "train": {
        "trainingData": _ROWS, "pred": ("high", "the prediction and label of every row that was held out"),
        "control": ("high", "index and indexOut: which rows are in which resample"),
    },
    "svm": {
        "SV": ("critical", "every support vector is a training row (scaled by x.scale)"),
        "index": ("high", "the positions of the support vectors in the training file"), "fitted": _FITTED,
        "decision.values": _FITTED, "residuals": _FITTED,
        "x.scale": ("medium", "mean and deviation of every column"),
    },
    "naiveBayes": {
        "tables": ("medium", "the table of every column against the class (of numbers mean and deviation)"),
        "apriori": ("medium", "the rows of every class"),
    },
    "ranger": {
        "predictions": _FITTED, "inbag.counts": ("high", "how often each row is in each tree's bag"),
    },
    "gbm": {"data": _ROWS, "fit": _FITTED, "valid.error": ("info", "the error after every tree")},
    "knn3": {"learn": _ROWS}, "kknn": {"data": _ROWS}, "party": {"data": _ROWS, "fitted": _FITTED},
}  # fmt: skip

# Parts that are the model, or say how it was made.
_MODEL = """
call terms control functions splits csplit cptable variable.importance numresp parms ordered method xlevels contrasts
coefficients rank df.residual df.null assign offset family deviance aic null.deviance iter prior.weights converged
boundary formula R na.action forest type ntree mtry importance importanceSD classes err.rate confusion test mse rsq
nclasses levels kernel cost degree gamma coef0 nu epsilon sparse scaled y.scale nSV tot.nSV labels rho coefs compprob
probA probB sigma isnumeric num.trees num.independent.variables min.node.size prediction.error treetype splitrule
replace importance.mode num.samples dependent.variable.name max.depth finalModel bestTune results modelInfo modelType
metric preProcess times perfNames maximize resampledCM resample dots coefnames node
"""


def r_findings(data: bytes, memory: int) -> Found:
    """Return kind, number of training rows and findings of an .rds file."""
    root = read_rds(data, memory)
    kind = "R " + (root.classes[0] if root.classes else root.kind)
    known = next((PARTS[c] for c in root.classes if c in PARTS), {})
    rows = _rows(root, known)
    found, reported = [], set()
    for name, part in root.parts:
        if name in known and part.kind != "nothing":
            level, follows = known[name]
            reported.add(id(part))
            fix = f"m${name} <- NULL: predict() does not need it" if level != "medium" else "part of the model"
            found.append(
                Finding(
                    level,
                    f"r-{name}",
                    f"m${name}",
                    _described(part),
                    follows,
                    fix,
                    False,
                    _examples(part),
                    entries=_entries(part),
                )
            )
    tables = list(_tables(root, reported, rows))
    found += tables
    seen = {one.path for one in tables}
    for name, part in _others(root, known):
        size = _size(part, reported, seen)
        if size:
            found.append(not_understood(f"m${name}" if name else "m", size, "R values"))
    return kind + " (.rds)", rows, found


def _others(root: RObject, known: dict[str, tuple[Level, str]]) -> list[tuple[str, RObject]]:
    """Return the parts of an object of which nothing says what they hold: all of one whose class is not known."""
    if not known:
        return root.parts if root.parts else [("", root)]
    return [(name, part) for name, part in root.parts if name not in known and name not in _MODEL.split()]


def _size(part: RObject, reported: set[int], seen: set[str]) -> int:
    """Return the bytes of the vectors below an object, code and what was told already left out; each object once."""
    total, stack, met = 0, [part], set(reported)
    while stack:
        one = stack.pop()
        one = one.values if one.kind == "reference" else one
        if id(one) in met or one.kind in {"code", "symbol", "nothing", "namespace", "call", "closure", "promise"}:
            continue
        met.add(id(one))
        if "data.frame" in one.classes and seen:
            continue  # a finding of its own
        if one.kind in {"integer", "double", "logical", "complex", "raw"} and one.values is not None:
            total += 8 * len(one.values)
        elif one.kind == "character":
            total += sum(len(v) for v in one.values if isinstance(v, str))
        stack += [v for _, v in one.parts]
    return total


def _rows(root: RObject, known: dict[str, tuple[Level, str]]) -> int | None:
    """Return the number of training rows: what the vectors with one value per row have in common."""
    sizes = [
        len(part.values) for name, part in root.parts
        if name in {"where", "y", "residuals", "fitted.values", "predicted", "oob.times", "fitted"}
        and part.kind in {"integer", "double", "character", "logical"}
    ]  # fmt: skip
    return max(sizes, default=None)


def _tables(root: RObject, reported: set[int], rows: int | None) -> Iterator[Finding]:
    """Yield data frames anywhere below the root, and what environments hold; iterative, each object once."""
    stack: list[tuple[str, RObject, str]] = [("m", root, "")]
    seen: set[int] = set()
    while stack:
        path, part, kept = stack.pop()
        part = part.values if part.kind == "reference" else part
        if id(part) in seen or part.kind in {"code", "symbol", "nothing", "namespace"}:
            continue
        seen.add(id(part))
        if id(part) not in reported and part is not root:
            finding = _frame(path, part, kept) or _long(path, part, kept, rows)
            if finding is not None:
                yield finding
                continue
        inside = f"environment {path}" if part.kind == "environment" else kept
        below = [(f'attr({path}, "{n}")', v, inside) for n, v in part.attributes.items() if n not in {"names", "class"}]
        below += [
            (path if part.kind == "promise" else _step(path, n, i), v, inside) for i, (n, v) in enumerate(part.parts)
        ]
        stack.extend(reversed(below))


def _step(path: str, name: str, number: int) -> str:
    if name == "(enclosing)":
        return f"parent.env({path})"
    if name == "(environment)":
        return f"environment({path})"
    if name == "(body)":
        return f"body({path})"
    if not name:
        return f"{path}[[{number + 1}]]"
    return f"{path}${name}" if name.replace(".", "").replace("_", "").isalnum() else f"{path}$`{name}`"


def _frame(path: str, part: RObject, kept: str) -> Finding | None:
    """Return that a data frame is stored."""
    if "data.frame" not in part.classes or not part.values:
        return None
    columns = [name for name, _ in part.parts]
    size = len(part.values[0].values) if part.values[0].values is not None else 0
    follows = "a table of data is stored with the model"
    follows += f", in the {kept} that its formula keeps" if kept else ""
    fix = (
        f"give it another: environment(m$terms) <- globalenv(), before saveRDS; then look for {path} again"
        if kept
        else (f"{path} <- NULL before saveRDS")
    )
    what = f"data.frame of {size:,} x {len(columns)}"
    return Finding("critical", "table", path, what, follows, fix, False, tuple(columns[:EXAMPLES]), entries=size)


def _long(path: str, part: RObject, kept: str, rows: int | None) -> Finding | None:
    """Return that a vector or matrix has one entry per training row."""
    if rows is None or rows < 4 or part.kind not in {"integer", "double", "character", "logical"}:
        return None
    dim = part.attributes.get("dim")
    shape = [int(v) for v in dim.values] if dim is not None and dim.kind == "integer" else [len(part.values)]
    if rows not in shape or path.endswith('"row.names")'):
        return None
    level: Level = "critical" if len(shape) == 2 and shape[0] == rows and shape[1] > 1 else "high"
    follows = f"one entry for each of the {rows:,} training rows" + (f", in the {kept}" if kept else "")
    return Finding(level, "one-per-row", path, _described(part), follows, "set it to NULL before saveRDS", False,
                   _examples(part))  # fmt: skip


def _described(part: RObject) -> str:
    size = len(part.values) if part.values is not None and hasattr(part.values, "__len__") else 1
    name = part.classes[0] if part.classes else part.kind
    return f"{name} of {size:,}"


def _entries(part: RObject) -> int | None:
    """Return how many rows a data frame or matrix has, or entries a vector."""
    dim = part.attributes.get("dim")
    if dim is not None and dim.kind == "integer" and len(dim.values):
        return int(dim.values[0])
    one = part.values[0] if "data.frame" in part.classes and part.values else part
    return len(one.values) if one.kind in {"integer", "double", "character", "logical"} else None


def _examples(part: RObject) -> tuple[Any, ...]:
    levels = part.attributes.get("levels")
    values = part.values
    if isinstance(values, np.ndarray):
        first = values[:EXAMPLES].tolist()
        if levels is not None and levels.kind == "character":
            return tuple(levels.values[int(v) - 1] for v in first if 1 <= v <= len(levels.values))
        return tuple(first)
    return tuple(v for v in values[:EXAMPLES] if isinstance(v, str)) if isinstance(values, list) else ()
