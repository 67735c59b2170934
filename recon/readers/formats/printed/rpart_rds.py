"""Reads rpart models straight from R's .rds files: the object becomes what `rpart_text` reads as JSON.

Nothing of R runs (`recon.readers.stored.binary.rds`). Of the object only what predict() needs is looked at: frame,
splits, csplit and the levels, thresholds with all their digits; not where, y, nor the data that formulas drag along
(`recon inspect` shows these). caret's `train` and parsnip's `model_fit` are opened, and lists or environments that
hold one tree.

Source: rpart.object of rpart 4.1; train.object and trainControl of caret 6.0; R Internals 1.8 (row.names, factors).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.rules.plain_values import MAX_PARTS
from recon.readers.stored.binary.rds import RObject, read_rds
from solvers.foundation.errors import ReleaseError, Unsupported

FORMAT = "R rpart object (.rds)"
MAX_VALUES = 10 * MAX_PARTS  # in one matrix, and levels that all splits on factors compare
HOLDERS = {"train": "finalModel", "model_fit": "fit"}  # class, and the part that is the model
FRAME = ("var", "n", "wt", "ncompete", "nsurrogate")
NUMBERS = {"integer", "double", "logical"}
FACTORS = {"factor", "as.factor", "ordered", "as.ordered", "as.character"}  # y ~ factor(x): the column's own values
GENERATED = {".outcome", "..y"}  # what caret and parsnip call the label where they were given x and y
MISSING = -(1 << 31)  # NA among integers
NOTHING = RObject("nothing", None)
FORESTS = {  # of R, by class: why they are not read, and what to look at
    "randomForest": (
        "randomForest objects are not read, their trees hold no counts; but the object stores y, votes and oob.times "
        "outright, the label and the votes of every training row: `recon inspect` shows them"
    ),
    "rfsrc": (
        "randomForestSRC objects are not read: they hold the training rows outright (m$xvar, m$yvar, and once more in "
        "m$forest), so that nothing is left to work out; `recon inspect` shows them; a forest of ranger has"
        " none of them, and is read"
    ),
    "ranger": "the .rds file holds several forests of ranger, or one beside other models: saveRDS one of them",
}
PRINTED = {  # what R prints of other objects, where that is read
    "tree": "print(m)",
    "constparty": "print(m)",
    "J48": "print(m)",
    "PART": "print(m)",
    "C5.0": "cat(m$output)",
    "itemsets": "arules::inspect(m)",
    "rules": "arules::inspect(m)",
}
OTHERS = (
    "and what R prints of them neither: `recon inspect` says what the object stores; counts per leaf are read as CSV"
)
SEEN_ROWS = (
    "the object also holds {}, one entry for each training row in file order, which is not used here: `recon inspect`"
    " shows more"
)
DUMMIES = (
    "caret made columns of 0 and 1 of the factors (grade: gradelow, grademid, ...), which the tree tests: declare them"
    " as columns of the domain"
)


Parts = dict[str, RObject]


@dataclass(frozen=True)
class Model:
    """An object with a class: where it stands in the file (an R expression), and what it was taken out of."""

    path: str
    value: RObject
    holder: RObject = field(default_factory=lambda: NOTHING)


def read_rpart_rds(data: bytes, memory: int, root: RObject | None = None) -> Draft:
    """Return what the rpart model in an .rds file publishes; `memory` (bytes) limits the unpacked file.

    `root`: the object in it, where it was read before.

    Raises `ReleaseError` naming the place of what is broken, `Unsupported` for other objects and for trees whose rows
    or columns were changed before the fit. Cost: linear in the file.
    """
    from recon.readers.formats.printed.rpart_text import read_rpart_json

    try:
        top, notes = _open_model(read_rds(data, memory) if root is None else root)
    except ReleaseError:
        raise
    except (TypeError, ValueError) as error:  # a broken file has parts of any type anywhere: texts that are arrays, ...
        raise ReleaseError(f"the R object is broken: {str(error)[:80]}") from None
    draft = read_rpart_json(top)
    origin = replace(draft.origin, format=FORMAT)
    return replace(draft, origin=origin, reader_notes=(*draft.reader_notes, *notes))


def _open_model(root: RObject) -> tuple[dict[str, object], list[str]]:
    """Return the rpart model in an object as `read_rpart_json` wants it, and what to say about it."""
    found = _the_tree(root)
    tree, holder = named_parts(found.value), named_parts(found.holder)
    _check_holder(holder, found.path)
    notes = [] if found.value is root else [f"only {found.path} is read, an rpart model"]
    if holder.get("contrasts", NOTHING).kind == "list":
        notes.append(DUMMIES)
    held = [f"{found.path}${name}" for name in ("where", "y") if tree.get(name, NOTHING).kind in NUMBERS]
    notes += [SEEN_ROWS.format(" and ".join(held))] if held else []
    return _as_json(found.value, tree, holder), notes


def _the_tree(root: RObject) -> Model:
    """Return the only rpart model in the object; `Unsupported` naming what is there instead."""
    models = models_in(root)
    trees = [m for m in models if "rpart" in m.value.classes]
    if len(trees) == 1:
        return trees[0]
    if trees:
        some = ", ".join(m.path[:60] for m in trees[:3])
        raise Unsupported(f"the .rds file holds {len(trees)} rpart models ({some}): saveRDS one of them")
    for kind, why in FORESTS.items():
        if any(kind in m.value.classes for m in models):
            raise Unsupported(why)
    if not models:
        raise Unsupported(f"the .rds file holds no model but R's type '{root.kind}': saveRDS the model itself")
    first = models[0]
    held = f" in one of class '{first.holder.classes[0][:60]}'" if first.holder.classes else ""
    known = next((PRINTED[c] for c in first.value.classes if c in PRINTED), None)
    advice = OTHERS if known is None else f"but what they print is: sink('tree.txt'); {known}; sink()"
    raise Unsupported(f"R objects of class '{first.value.classes[0][:60]}'{held} are not read, {advice}")


def models_in(root: RObject) -> list[Model]:
    """Return the objects with a class, in file order: inside lists and environments that have none, and holders.

    Other objects are not entered: a tree inside a bagged or boosted one counts a resample of the rows.
    """
    found: list[Model] = []
    stack = [Model("m", root)]
    seen: set[int] = set()  # environments refer to each other
    while stack:
        model = stack.pop()
        value = resolved(model.value)
        if id(value) in seen:
            continue
        seen.add(id(value))
        wanted = next((HOLDERS[c] for c in value.classes if c in HOLDERS), None)
        inner = NOTHING if wanted is None else named_parts(value).get(wanted, NOTHING)
        if inner.classes:
            stack.append(Model(f"{model.path}${wanted}", inner, value))
        elif value.classes:
            found.append(replace(model, value=value))
        elif value.kind in {"list", "environment", "pairlist"}:
            parts = [(k, name, below) for k, (name, below) in enumerate(value.parts) if name != "(enclosing)"]
            stack += [Model(_step(model.path, name, k), below) for k, name, below in reversed(parts)]
    return found


def _step(path: str, name: str, number: int) -> str:
    """Return the R expression of a part of an object; cut where it grows long."""
    return f"{path[:200]}${name[:60]}" if name else f"{path[:200]}[[{number + 1}]]"


def check_holders(root: RObject) -> None:
    """Refuse the only model of an object where caret gave it other columns or rows than those of the training data."""
    models = models_in(root)
    if len(models) == 1:
        _check_holder(named_parts(models[0].holder), models[0].path)


def _check_holder(holder: Parts, path: str) -> None:
    """Refuse a caret model that saw other columns or other rows than those of the training data."""
    train = path.rpartition("$")[0]
    if holder.get("preProcess", NOTHING).kind != "nothing":
        raise Unsupported(
            f"caret changed the columns before the fit ({train}$preProcess), the model's numbers are not theirs: fit"
            " without preProcess, or save finalModel alone and declare a domain of the changed columns"
        )
    if named_parts(holder.get("control", NOTHING)).get("sampling", NOTHING).kind != "nothing":
        raise Unsupported(
            f"caret sampled the rows before the fit ({train}$control$sampling), the model's counts are not of the"
            " training data: fit without sampling"
        )


def _as_json(whole: RObject, tree: Parts, holder: Parts) -> dict[str, object]:
    """Return a tree as `read_rpart_json` wants it; `holder`: the parts of the object that it was taken out of."""
    stored = tree.get("frame", NOTHING)
    columns = named_parts(stored)
    frame: dict[str, object] = {name: vector(columns[name], f"frame${name}") for name in FRAME if name in columns}
    variables = vector(columns.get("var", NOTHING), "frame$var")
    levels = _levels_of(attribute(whole, "xlevels"), set(map(str, variables)))
    if sum(len(levels.get(str(name), ())) for name in variables) > MAX_VALUES:
        raise ReleaseError(f"splits on factors compare more than {MAX_VALUES:,} levels", place="frame$var")
    splits = matrix(tree.get("splits", NOTHING), "splits")
    top: dict[str, object] = {
        "frame": frame,
        "node": _node_numbers(attribute(stored, "row.names"), len(variables)),
        "splits": splits,
        "cuts": [f"{line[3]:.17g}" if len(line) > 3 else "" for line in splits],
        "csplit": matrix(tree.get("csplit", NOTHING), "csplit"),
        "xlevels": levels,
        "label": response(holder.get("terms", NOTHING)) or response(tree.get("terms", NOTHING)) or "label",
        "na": left_out(tree) or left_out(holder),
    }
    if vector(tree.get("method", NOTHING), "method")[:1] == ["class"]:
        classes = vector(attribute(whole, "ylevels"), "ylevels")
        counts = matrix(columns.get("yval2", NOTHING), "frame$yval2")
        top["method"] = "class"
        top["ylevels"], frame["yval2"] = _counted_classes(classes, counts, "frame$yval2")
    return top


def _levels_of(value: RObject, used: set[str]) -> dict[str, list[object]]:
    """Return the levels of the factors that the tree tests; `Unsupported` where NA is a level."""
    found = {name: vector(below, f"xlevels${name[:60]}") for name, below in named_parts(value).items() if name in used}
    for name, levels in found.items():
        if None in levels:
            raise Unsupported(f"NA is a level of the factor '{name[:60]}' (addNA): give it a name before the fit")
    return found


def _counted_classes(
    names: list[object], table: list[list[float]], place: str
) -> tuple[list[object], list[list[float]]]:
    """Return the classes that any row has, and yval2 (class, counts, shares, probability of the node) for these only.

    The label may have levels that no row has: rpart counts 0 of them, and nothing of those after the last that has.
    """
    width = len(table[0]) // 2 - 1 if table else 0
    if not 1 <= width <= len(names) or len(table[0]) % 2:
        raise ReleaseError(f"has no counts of {len(names)} classes", place=place)
    kept = [k for k in range(width) if any(line[1 + k] for line in table)]
    columns = [0, *(1 + k for k in kept), *(1 + width + k for k in kept), -1]
    return [names[k] for k in kept], [[line[c] for c in columns] for line in table]


def resolved(value: RObject) -> RObject:
    """Return the object that a reference means."""
    return value.values if value.kind == "reference" and isinstance(value.values, RObject) else value


def named_parts(value: RObject) -> Parts:
    """Return the parts of a list or environment as R's `$` gives them: the first of every name."""
    return {name: resolved(below) for name, below in reversed(value.parts)}


def attribute(value: RObject, name: str) -> RObject:
    """Return an attribute, or nothing."""
    return resolved(value.attributes.get(name, NOTHING))


def vector(value: RObject, place: str) -> list[object]:
    """Return the numbers or texts of a vector, a factor's levels; `ReleaseError` where it is none or too long."""
    if value.kind not in NUMBERS | {"character"}:
        raise ReleaseError(f"is of R's type '{value.kind}', neither numbers nor texts", place=place)
    if len(value.values) > MAX_PARTS:
        raise ReleaseError(f"has {len(value.values):,} values, more than {MAX_PARTS:,}", place=place)
    found: list[object] = list(value.values)
    if value.kind != "character":
        found = value.values.tolist()
    elif not all(isinstance(v, (str, type(None))) for v in found):
        raise ReleaseError("has a part that is not text", place=place)
    levels = attribute(value, "levels")
    if value.kind != "integer" or levels.kind != "character":
        return found
    if not all(isinstance(v, int) and 1 <= v <= len(levels.values) for v in found):
        raise ReleaseError(f"has a value that is none of its {len(levels.values)} levels", place=place)
    return [levels.values[int(str(v)) - 1] for v in found]


def matrix(value: RObject, place: str) -> list[list[float]]:
    """Return the rows of a matrix of numbers, none where there is nothing."""
    if value.kind == "nothing":
        return []
    dim = attribute(value, "dim")
    if value.kind not in NUMBERS or dim.kind not in {"integer", "double"} or len(dim.values) != 2:
        raise ReleaseError("is not a matrix of numbers", place=place)
    high, wide = (int(v) if 0 <= v <= MAX_VALUES else -1 for v in dim.values.tolist())
    if high < 0 or wide < 1 or high * wide != len(value.values) or high * wide > MAX_VALUES:
        raise ReleaseError(f"is not a matrix of at most {MAX_VALUES:,} numbers", place=place)
    rows: list[list[float]] = np.asarray(value.values).reshape((high, wide), order="F").tolist()
    return rows


def _node_numbers(value: RObject, size: int) -> list[object]:
    """Return the numbers of the nodes: the frame's row names, which R writes as (NA, n) where they are 1 to n."""
    found = vector(value, "row.names(frame)")
    if len(found) == 2 and found[0] == MISSING and value.kind == "integer":
        if found[1] not in {size, -size}:
            raise ReleaseError(f"names {found[1]} rows, the frame has {size}", place="row.names(frame)")
        return list(range(1, size + 1))
    if value.kind != "character":
        return found
    if not all(isinstance(v, str) and v.isdecimal() and v.isascii() and len(v) < 17 for v in found):
        raise ReleaseError("has a name that is not a number of a node", place="row.names(frame)")
    return [int(str(v)) for v in found]


def left_out(fitted: Parts) -> int:
    """Return how many rows were left out because values were missing."""
    found = fitted.get("na.action", NOTHING)
    return len(found.values) if found.kind in NUMBERS else 0


def response(terms: RObject) -> str | None:
    """Return the column that a formula explains: y of `y ~ .`, `factor(y) ~ .` and `data$y ~ .`, else None."""
    inside = [resolved(below) for _, below in terms.parts]
    if terms.kind != "call" or len(inside) != 3 or _word(inside[0]) != "~":
        return None
    left = inside[1]
    if left.kind == "call":
        inside = [resolved(below) for _, below in left.parts]
        head = _word(inside[0]) if inside else None
        if head in FACTORS and len(inside) == 2:
            left = inside[1]
        elif head == "$" and len(inside) == 3:
            left = inside[2]
    found = _word(left)
    return found if found and found not in GENERATED else None


def _word(value: RObject) -> str | None:
    """Return a symbol's name, None for what is no symbol."""
    return value.values if value.kind == "symbol" and isinstance(value.values, str) else None
