"""What R objects in .rds and .RData files give away: labels, leaves, data frames, and what formulas drag along.

Which parts of which class hold rows: the documentation of rpart (rpart.object), stats (lm, glm), randomForest, caret,
e1071, ranger, randomForestSRC, gbm and party. Paths are R expressions for the object `m` that readRDS gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recon.readers.inspection.findings.findings import EXAMPLES, Finding, Level, not_understood
from recon.readers.stored.binary.rds import RObject, is_rds, read_rds

Found = tuple[str, int | None, list[Finding]]
is_r_file = is_rds
_LABELS: tuple[Level, str] = ("critical", "the label of every training row, in file order")
_ROWS: tuple[Level, str] = ("critical", "the training rows")
_FITTED: tuple[Level, str] = ("high", "one value per training row, in file order")
_LEAVING: tuple[Level, str] = (
    "high",
    "when people left, how many were at risk and had the event then, or follows from it",
)
_CURVE = ("time", "n.risk", "n.event", "n.censor", "surv", "std.err", "cumhaz", "std.chaz", "lower", "upper")
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
    "summary.lm": {**_PER_ROW, "cov.unscaled": ("medium", "the inverse of X'X: sums of products of two columns")},
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
        "terminal.class.counts": ("high", "the shares of the classes among the rows of every leaf of every tree"),
        "chf": _FITTED, "survival": _FITTED,
        "random.node.values": ("critical", "the label of a training row of every leaf of every tree"),
        "unique.death.times": ("high", "the different times at which training rows left"),
    },
    "rfsrc": {
        "xvar": _ROWS, "yvar": _LABELS, "predicted": _FITTED, "predicted.oob": _FITTED, "survival": _FITTED,
        "survival.oob": _FITTED, "chf": _FITTED, "chf.oob": _FITTED, "class": _FITTED, "class.oob": _FITTED,
        "membership": ("high", "the leaf of every training row in every tree"), "proximity": _FITTED,
        "inbag": ("high", "how often each row is in each tree's bag"), "distance": _FITTED,
        "time.interest": ("high", "the times at which training rows had the event"),
        "forest": ("critical", "the trees, and the training rows and labels once more (xvar, yvar)"),
    },
    "gbm": {"data": _ROWS, "fit": _FITTED, "valid.error": ("info", "the error after every tree")},
    "knn3": {"learn": _ROWS}, "kknn": {"data": _ROWS}, "party": {"data": _ROWS, "fitted": _FITTED},
    "coxph": {**_LINEAR, "y": ("critical", "time and status of every training row"), "linear.predictors": _FITTED},
    "survfit": dict.fromkeys(_CURVE, _LEAVING), "summary.survfit": dict.fromkeys(_CURVE, _LEAVING),
    "survreg": _LINEAR, "polr": _LINEAR, "multinom": _LINEAR, "nnet": _LINEAR, "gam": _LINEAR, "loess": _LINEAR,
    "nls": _LINEAR, "smooth.spline": {"data": _ROWS, "x": _ROWS, "y": _LABELS, "w": _FITTED, "yin": _LABELS},
    "prcomp": {"x": ("critical", "the coordinates of every training row: with m$rotation, the row itself")},
    "princomp": {"scores": ("critical", "the coordinates of every training row: with m$loadings, the row itself")},
    "kmeans": {"cluster": ("high", "the cluster of every training row, in file order"),
               "centers": ("medium", "the mean of the rows of every cluster"),
               "size": ("medium", "the rows of every cluster")},
    "hclust": {"labels": ("critical", "the name of every training row"), "merge": _FITTED, "order": _FITTED,
               "height": _FITTED},
    "density": {"x": ("medium", "where the density was computed: from below the smallest value to above the largest"),
                "y": ("medium", "the density there"), "bw": ("medium", "the bandwidth, from the spread of the rows")},
    "ecdf": {"x": ("critical", "the sorted values of a column"), "y": _FITTED},
}  # fmt: skip

# Parts of models of the classes above that are functions of all rows, or settings: no row of its own stands in them.
# Each is bounded by MOST bytes, and has fewer entries than there are training rows.
_ANY = (
    "call terms control functions splits csplit cptable variable.importance numresp parms ordered method xlevels "
    "contrasts coefficients rank df.residual df.null assign offset family deviance aic null.deviance iter "
    "converged boundary formula R forest type ntree mtry importance importanceSD classes err.rate confusion test "
    "mse rsq nclasses levels kernel cost degree gamma coef0 nu epsilon sparse scaled y.scale nSV tot.nSV labels "
    "rho coefs compprob probA probB sigma isnumeric num.trees num.independent.variables min.node.size "
    "prediction.error treetype splitrule replace importance.mode num.samples dependent.variable.name max.depth "
    "finalModel bestTune results modelInfo modelType metric preProcess times perfNames maximize resampledCM "
    "resample dots coefnames node sdev rotation center scale loadings totss withinss tot.withinss betweenss "
    "ifault var loglik score means concordance lambda dev.ratio convInfo dataClasses n data.name has.na "
    "dist.method n.obs zeta lev edf nevent assign2 wald.test info timefix df pars"
)
_AGGREGATES = frozenset(_ANY.split())
# Of some classes all that a model has beside the parts above: other names are somebody's own.
_OWN: dict[str, str] = {
    "rpart": "frame call terms control functions splits csplit cptable method parms numresp "
    "variable.importance ordered",
    "lm": "coefficients rank assign df.residual contrasts xlevels call terms offset",
    "summary.lm": "coefficients sigma df r.squared adj.r.squared fstatistic aliased call terms",
    "survfit": "n type logse conf.int conf.type call strata t0",
    "summary.survfit": "n type logse conf.int conf.type call strata table rmean.endtime t0",
    "glm": "coefficients R rank family deviance aic null.deviance iter df.residual df.null converged boundary call "
    "formula terms offset control method contrasts xlevels assign",
    "kmeans": "totss withinss tot.withinss betweenss iter ifault",
    "prcomp": "sdev rotation center scale call",
    "princomp": "sdev loadings center scale n.obs call",
    "hclust": "method call dist.method",
    "density": "n old.coords call data.name has.na",
    "randomForest": "call type err.rate confusion classes importance importanceSD ntree mtry forest test terms mse rsq",
}
MAX_AGGREGATE_BYTES = 4_096  # bytes of an aggregate, and of the constants of all code
LONGEST = 64  # characters of a text that is a name
_NA = -(1 << 31)  # of integers
OPCODES = 160  # of R's compiled code, of which there are fewer
MAX_CONSTANT_ENTRIES = 4  # entries of a constant in code
VECTORS = frozenset(["integer", "double", "logical", "complex", "raw", "character", "text"])
_CODE = frozenset(["call", "closure", "code", "promise"])
_LEVELS = frozenset(["xlevels", "ylevels"])  # attributes of rpart's models
_FORM = frozenset(["names", "dim", "dimnames", "class", "levels", "row.names", "tsp"])  # of a vector


def r_findings(data: bytes, memory: int) -> Found:
    """Return kind, number of training rows and findings of an .rds or .RData file."""
    root = read_rds(data, memory)
    kind = "R " + (root.classes[0] if root.classes else root.kind)
    known = next((PARTS[c] for c in root.classes if c in PARTS), {})
    rows = rows_of(root, known)
    found: list[Finding] = []
    unread: dict[str, int] = {}
    code = 0
    for one, finding, status in looked_at(root, known, rows):
        if finding is not None:
            found.append(finding)
        elif status == "code":
            code += 0 if _is_instructions(one) else bytes_of(one.part)
        elif status == "unknown":
            unread[one.top] = unread.get(one.top, 0) + bytes_of(one.part)
    if code > MAX_AGGREGATE_BYTES:
        unread["code"] = code
    found += [not_understood(path, size, "R values") for path, size in unread.items() if size]
    return kind + (" (.RData)" if data[:3] in {b"RDX", b"RDA"} else " (.rds)"), rows, found


def looked_at(
    root: RObject, known: dict[str, tuple[Level, str]], rows: int | None
) -> Iterator[tuple[Vector, Finding | None, str]]:
    """Yield every vector below the root with the finding on it, or what it is: code, an aggregate, unknown."""
    for one in _vectors(root, known):
        finding = _part_finding(one, known) if one.told else _frame(one.path, one.part, one.kept)
        if finding is None and not one.code:
            finding = _long(one.path, one.part, one.kept, rows)
        if finding is not None or not (one.code and _is_constant(one)):
            bounded = one.aggregate and _is_bounded(one.part, rows)
            yield one, finding, "aggregate" if bounded else "unknown"
        else:
            yield one, None, "code"


@dataclass(frozen=True)
class Vector:
    """A vector or table below the root: its path, the part of the root that it belongs to, what it stands in."""

    path: str
    part: RObject
    top: str
    kept: str = ""
    told: str = ""
    code: bool = False
    aggregate: bool = False


def _vectors(root: RObject, known: dict[str, tuple[Level, str]]) -> Iterator[Vector]:
    """Yield every vector below the root, tables and known parts as one; attributes, environments and code too.

    Each object once, iterative.
    """
    stack = [Vector("m", root, "m")]
    seen: set[int] = set()
    while stack:
        one = stack.pop()
        part = one.part.values if one.part.kind == "reference" else one.part
        if id(part) in seen or part.kind in {"symbol", "nothing", "namespace", "builtin"}:
            continue
        seen.add(id(part))
        one = replace(one, part=part)
        if one.told or ("data.frame" in part.classes and part.values):
            yield one
            stack.extend(_notes(one))
            continue
        if part.kind in VECTORS or part.kind == "unknown":
            yield one
        stack.extend(reversed(list(_below(one, root, known))))


def _below(one: Vector, root: RObject, known: dict[str, tuple[Level, str]]) -> Iterator[Vector]:
    """Yield what stands right below an object: its attributes, and its parts."""
    part = one.part
    inside = f"environment {one.path}" if part.kind == "environment" else one.kept
    code = (one.code or part.kind in _CODE) and part.kind != "environment"
    aggregate = one.aggregate and part.kind != "environment"
    known_names = _symbols(root) if one.path == _XLEVELS else _INNER.get(one.path) if one.aggregate else None
    for name, value in part.attributes.items():
        form = (part.kind != "environment" and _is_form(name, value, part)) or (part is root and name in _LEVELS)
        path = f'attr({one.path}, "{name}")'
        mine = form or (aggregate and name in _OF_TERMS)
        of_code = code and (form or name in _OF_TERMS)
        yield Vector(path, value, one.top if form or of_code else path, inside, "", of_code, mine)
    for number, (name, value) in enumerate(part.parts):
        path = one.path if part.kind == "promise" else _step(one.path, name, number)
        top = path if part is root else one.top
        if name == "(environment)" or part.kind == "environment":
            yield Vector(path, value, path if name else top, inside)
            continue
        told = name if name in known and value.kind != "nothing" and (part is root or name in _NESTED) else ""
        if known_names is not None and name not in known_names:
            yield Vector(path, value, path, inside)
            continue
        mine = aggregate or (part is root and bool(known) and name in _of_class(part))
        yield Vector(path, value, top, inside, told, code, mine)


# Names in lists of rpart's models: what else stands in them somebody has put there.
_INNER = {
    "m$control": frozenset(["minsplit", "minbucket", "cp", "maxcompete", "maxsurrogate", "usesurrogate",
                            "surrogatestyle", "maxdepth", "xval"]),
    "m$functions": frozenset(["summary", "print", "text"]),
    "m$parms": frozenset(["prior", "loss", "split", "shrink", "method"]),
}  # fmt: skip
_XLEVELS = 'attr(m, "xlevels")'


def _symbols(root: RObject) -> frozenset[str] | None:
    """Return the symbols in a model's terms, among them the names of its columns; None without terms."""
    stack = [one for name, one in root.parts if name == "terms"]
    if not stack:
        return None
    found, met = set[str](), set[int]()
    while stack:
        one = stack.pop()
        if id(one) in met or one.kind in {"environment", "namespace"}:
            continue
        met.add(id(one))
        found |= {one.values} if one.kind == "symbol" and isinstance(one.values, str) else set()
        stack += [*one.attributes.values(), *(part for _, part in one.parts)]
        stack += [one.values] if one.kind == "reference" else []
    return frozenset(found)


def _of_class(root: RObject) -> frozenset[str]:
    """Return the names of parts of a model that are functions of all its rows, or settings."""
    own = [_OWN[one] for one in root.classes if one in _OWN]
    return frozenset(" ".join(own).split()) if own else _AGGREGATES


def _notes(told: Vector) -> Iterator[Vector]:
    """Yield what stands in the attributes of a part that a finding tells, and has no place there."""
    stack = [(told.path, told.part)]
    while stack:
        path, part = stack.pop()
        for name, value in part.attributes.items():
            if not _is_form(name, value, part) and name not in _OF_TERMS:
                mine = f'attr({path}, "{name}")'
                yield Vector(mine, value, mine)
        stack += [(_step(path, name, i), value) for i, (name, value) in enumerate(part.parts) if part.kind == "list"]


def _is_form(name: str, value: RObject, part: RObject) -> bool:
    """Return whether an attribute says the form of a vector or list, and no more than that."""
    size = len(part.values) if hasattr(part.values, "__len__") else 0
    if (value.attributes and not (name == "dimnames" and _has_titles(value))) or name not in _FORM:
        return False
    if name == "dimnames":
        dim = part.attributes.get("dim")
        sides = dim.values.tolist() if dim is not None and dim.kind == "integer" else [size]
        parts = [one.values for _, one in value.parts if one.kind == "character"]
        plain = all(one.kind in {"character", "nothing"} and not one.attributes for _, one in value.parts)
        fits = len(value.parts) <= max(2, len(sides)) and all(_are_names(one) for one in parts)
        return plain and fits and all(len(one) <= max(sides) for one in parts)
    entries = len(value.values) if hasattr(value.values, "__len__") else 0
    most = {"names": size, "dim": 4, "tsp": 3, "class": 8}.get(name, MAX_AGGREGATE_BYTES)
    kinds = {"dim": ("integer",), "tsp": ("double",), "row.names": ("integer", "character")}.get(name, ("character",))
    if name == "row.names":
        columns = [one.values for _, one in part.parts if hasattr(one.values, "__len__")]
        most = max((len(one) for one in columns), default=2) if columns else 2
        most = max(most, 2)
    named = value.kind != "character" or _are_names(value.values)
    return entries <= most and value.kind in kinds and named


def _has_titles(dimnames: RObject) -> bool:
    """Return whether the sides of a table have names, and nothing else is noted there."""
    titles = dimnames.attributes.get("names")
    if titles is None or len(dimnames.attributes) > 1 or titles.kind != "character" or titles.attributes:
        return False
    return len(titles.values) <= len(dimnames.parts) and _are_names(titles.values)


def _are_names(texts: list[str | None]) -> bool:
    return all(text is None or len(text) <= LONGEST for text in texts)


_OF_TERMS = frozenset(["variables", "factors", "term.labels", "order", "intercept", "response", ".Environment",
                       "predvars", "dataClasses", "terms", "assign", "contrasts", "scaled:center", "scaled:scale",
                       "gradient", "nobs", "df", "srcref", "wholeSrcref", "srcfile"])  # fmt: skip
_NESTED = frozenset(["terminal.class.counts"])  # known parts that do not stand right in the model


def _part_finding(one: Vector, known: dict[str, tuple[Level, str]]) -> Finding:
    """Return the finding of a part that is known for its class."""
    level, follows = known[one.told]
    fix = f"m${one.told} <- NULL: predict() does not need it" if level != "medium" else "part of the model"
    return Finding(level, f"r-{one.told}", one.path, _described(one.part), follows, fix, False, _examples(one.part),
                   entries=_entries(one.part))  # fmt: skip


def bytes_of(part: RObject) -> int:
    """Return the bytes of a vector: eight a number, texts by their characters."""
    if part.values is None:
        return 0
    if part.kind in {"character", "text"}:
        texts = [part.values] if isinstance(part.values, str) else part.values
        return sum(len(v) for v in texts if isinstance(v, str))
    return len(part.values) if part.kind == "raw" else 8 * int(np.size(part.values))


def _is_constant(one: Vector) -> bool:
    """Return whether a vector in code is as short as constants are, or instructions with places in the code only."""
    part = one.part
    if part.values is None:
        return True
    if part.kind in {"character", "text"}:
        texts = [part.values] if isinstance(part.values, str) else part.values
        return len(texts) <= MAX_CONSTANT_ENTRIES and all(v is None or len(v) <= LONGEST for v in texts)
    size = int(np.size(part.values))
    if _is_instructions(one):
        return bool((((part.values >= -1) & (part.values < max(OPCODES, size))) | (part.values == _NA)).all())
    return size <= MAX_CONSTANT_ENTRIES


def _is_instructions(one: Vector) -> bool:
    """Return whether a vector is the instructions of compiled code, or says to which expressions they belong."""
    indexes = {"expressionsIndex", "srcrefsIndex"} & set(one.part.classes)
    return one.part.kind == "integer" and (one.path.endswith("(instructions)") or bool(indexes))


def _is_bounded(part: RObject, rows: int | None) -> bool:
    """Return whether a part that is a function of all rows is small, with names no longer than names are."""
    if part.kind in {"character", "text"}:
        texts = [part.values] if isinstance(part.values, str) else part.values or []
        if any(v is not None and len(v) > LONGEST for v in texts):
            return False
    return bytes_of(part) <= MAX_AGGREGATE_BYTES


def rows_of(root: RObject, known: dict[str, tuple[Level, str]]) -> int | None:
    """Return the number of training rows: what is stated, else of the vectors and matrices with one line per row."""
    parts = dict(root.parts)
    stated = parts.get("n")
    if stated is not None and stated.kind in {"integer", "double"} and len(stated.values) == 1 and known:
        return int(stated.values[0]) if np.isfinite(stated.values[0]) else None
    sizes = [
        _entries(part) for name, part in root.parts
        if name in {"where", "y", "residuals", "fitted.values", "predicted", "oob.times", "fitted"}
        and part.kind in {"integer", "double", "character", "logical"} and "density" not in root.classes
    ]  # fmt: skip
    return max((n for n in sizes if n is not None), default=None)


def _step(path: str, name: str, number: int) -> str:
    if name == "(enclosing)":
        return f"parent.env({path})"
    if name == "(environment)":
        return f"environment({path})"
    if name == "(body)":
        return f"body({path})"
    if name == "(instructions)":
        return f"{path}(instructions)"
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
