"""Spark ML: folders that `model.save(path)` wrote, of trees with the rows per class of every node, and of pipelines.

A folder (or a zip of it) has JSON in `metadata`, nodes as Parquet in `data`, of a pipeline a folder for each step in
`stages`. `impurityStats` of a node are its rows per class, of regression their number, the sum of the labels and that
of squares, each times its weight; `rawCount` are the rows. A random forest draws rows with replacement, how often each
by Poisson's law (`bootstrap`, its default), so that nobody says how many there are. Boosted trees fit -1 and 1 first.
A split sends values up to its threshold to the left, compared in double precision, or the categories that it lists.

Source: Spark 2.4 to 4.3, mllib/src/main/scala/org/apache/spark/ml/tree/treeModels.scala (`NodeData`, `SplitData`),
tree/impl/{RandomForest,BaggedPoint,GradientBoostedTrees}.scala, feature/{StringIndexer,VectorAssembler}.scala.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.values import AnyAttribute, Categorical, Value
from encoders.models.models import CountKind, Provenance, UnusedPublication
from encoders.models.nodes import UNPUBLISHED
from recon.io.files.archives import archive_files, archive_names
from recon.io.files.opening import current
from recon.io.files.tables import read_parquet, reading
from recon.readers.formats.boosters.shared import LATER, values_of
from recon.readers.formats.drafts.binding import Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.trees.arrays import MAX_NODES, NodeCounts, TreeArrays, only_sizes
from recon.readers.formats.sklearn.trees.draft import CategorySplit, CountedTree, TreesDraft
from recon.readers.formats.sklearn.trees.trees import RegressionDraft
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

FORMAT = "Spark ML model (folder)"
MAX_FEATURES = 1_000_000
MAX_CATEGORIES = 100_000
DRAWN = "rows were drawn with replacement for every tree (bootstrap, the default of a random forest)"
PART = "every tree counts a part of the rows: {}"
WEIGHED = "rows were weighted (weightCol): its classes are sums of weights, and its rows alone are read"
ORDER = UnusedPublication(
    "the order of categories", "it is that of their numbers of rows, and is not read", about="columns"
)
_METADATA = re.compile(r"(?:.*/)?metadata/part-[^/]*")
_OWN = re.compile(r"metadata/part-[^/]*")
_PART = re.compile(r"data/part-[^/]*\.parquet")


def looks_like_spark(data: bytes) -> bool:
    """Return whether bytes are an archive of a folder that Spark ML wrote."""
    return any(map(_METADATA.fullmatch, archive_names(data)))


# What is read of metadata, and of tables of nodes (in a forest "nodeData" has them) and of categories.
_READ_KEYS = {"class", "defaultParamMap", "paramMap", "numFeatures", "numClasses", "numTrees"}
_READ_COLUMNS = {
    "treeID",
    "id",
    "leftChild",
    "rightChild",
    "split",
    "impurityStats",
    "rawCount",
    "labels",
    "labelsArray",
}


def unread_parts(data: bytes) -> dict[str, int]:
    """Return how many bytes of a folder its reader does not look at, by file and columns; of a table once unpacked."""
    out = dict[str, int]()
    for name, content in archive_files(data).items():
        try:
            if _METADATA.fullmatch(name):
                left = {key: value for key, value in json.loads(content).items() if key not in _READ_KEYS}
                parts = {", ".join(left): len(json.dumps(left))} if left else {}
            elif name.endswith(".parquet") and "treesMetadata/" not in name:
                frame = _nodes_of(_table_of(name, content))
                sizes = {key: len(frame[key].to_json()) for key in frame.columns if key not in _READ_COLUMNS}
                parts = {", ".join(sizes): sum(sizes.values())} if sizes else {}
            else:
                parts = {"": len(content)}
        except (ValueError, AttributeError, TypeError, ReleaseError):
            parts = {"": len(content)}
        out |= {f"{name} ({what})" if what else name: size for what, size in parts.items()}
    return out


def _nodes_of(table: Any) -> Any:
    """Return a table of nodes with the columns of "nodeData" beside its own."""
    if "nodeData" not in table:
        return table
    return pd.concat([table.drop(columns="nodeData"), pd.DataFrame(list(table["nodeData"]))], axis=1)


def _table_of(name: str, content: bytes) -> Any:
    """Return the table in a file of Parquet; `ReleaseError` where it is none."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file, reading(name):
        file.write(content)
        file.flush()
        frame = read_parquet(file.name)
    current().entries(len(frame))
    return frame


@dataclass(frozen=True)
class SparkPart:
    """A model or step: its class, its parameters (the defaults of its class below those that were set), its files."""

    name: str
    told: Mapping[str, Any]
    settings: Mapping[str, Any]
    files: Mapping[str, bytes]

    @classmethod
    def of(cls, files: Mapping[str, bytes]) -> SparkPart:
        """Return the part of a folder; `ReleaseError` where its metadata are no JSON of Spark ML."""
        lines = next((files[name] for name in sorted(files) if _OWN.fullmatch(name)), b"")
        try:
            told = json.loads(lines.partition(b"\n")[0])
        except ValueError:
            told = None
        name = told.get("class") if isinstance(told, dict) else None
        if not isinstance(name, str) or not name.startswith("org.apache.spark.ml."):
            raise ReleaseError("does not say of which class of Spark ML it is", place="metadata")
        given = [told.get(key) for key in ("defaultParamMap", "paramMap")]
        settings = {key: value for one in given if isinstance(one, dict) for key, value in one.items()}
        return cls(name.rpartition(".")[2], told, settings, files)

    def inside(self, folder: str) -> SparkPart:
        """Return the part in a folder below."""
        below = {name.removeprefix(folder): one for name, one in self.files.items() if name.startswith(folder)}
        return SparkPart.of(below)

    def whole(self, key: str, most: int) -> int:
        """Return a number of what the model has; `ReleaseError` where it has none."""
        found = self.told.get(key)
        if not isinstance(found, int) or not 0 < found <= most:
            said = f"has no {key}," if found is None else f"has {str(found)[:20]} as {key}, not"
            raise ReleaseError(f"{said} a whole number from 1 to {most:,}: save the model again", place="metadata")
        return found

    def table(self) -> list[dict[str, Any]]:
        """Return the lines of its data; `ReleaseError` where it has none."""
        out = list[dict[str, Any]]()
        for name in sorted(name for name in self.files if _PART.fullmatch(name)):
            lines = _table_of(name, self.files[name]).to_dict("records")
            out += [{str(key): value for key, value in line.items()} for line in lines]
        if not out:
            raise ReleaseError("has no nodes or values", place="data")
        return out


def read_spark(data: bytes) -> Draft:
    """Return what a folder of Spark ML publishes. Cost: linear in nodes.

    Raises `ReleaseError` naming the part that is broken, `Unsupported` for other models, and for steps that make
    columns in other ways than by numbers of categories.
    """
    files = archive_files(data)
    first = min((name for name in files if _METADATA.fullmatch(name)), key=len)
    top = first.rpartition("metadata/")[0]
    model = SparkPart.of({name.removeprefix(top): one for name, one in files.items() if name.startswith(top)})
    steps = list[SparkPart]()
    if model.name == "PipelineModel":
        names = model.settings.get("stageUids")
        if not isinstance(names, list) or not names or not all(isinstance(one, str) for one in names):
            raise ReleaseError("does not name its steps", place="metadata")
        wide = len(str(len(names) - 1))
        steps = [model.inside(f"stages/{i:0{wide}}_{name}/") for i, name in enumerate(names)]
        trees = [one for one in steps if one.name in KINDS]
        if len(trees) != 1:
            some = ", ".join(one.name for one in steps)
            raise Unsupported(f"a pipeline of {some[:200]} has not one model of trees")
        model = trees[0]
    if model.name not in KINDS:
        raise Unsupported(
            f"a {model.name[:60]} of Spark ML is not read: models of trees and pipelines of one are; of a search give "
            "the folder of its bestModel"
        )
    return _draft(model, SparkColumns.of(model, steps))


KINDS = {  # class -> whether of classes, several trees, boosted
    "DecisionTreeClassificationModel": (True, False, False),
    "DecisionTreeRegressionModel": (False, False, False),
    "RandomForestClassificationModel": (True, True, False),
    "RandomForestRegressionModel": (False, True, False),
    "GBTClassificationModel": (True, True, True),
    "GBTRegressionModel": (False, True, True),
}


@dataclass(frozen=True)
class SparkColumns:
    """The columns of a model: their names, of categories the values in order; the name of the label and its classes."""

    names: tuple[str, ...]
    values: Mapping[int, tuple[Value, ...]]
    label: str
    classes: tuple[Value, ...] | None
    named: bool

    @classmethod
    def of(cls, model: SparkPart, steps: Sequence[SparkPart]) -> SparkColumns:
        """Return the columns that steps make, or numbered ones of a model by itself."""
        number = model.whole("numFeatures", MAX_FEATURES)
        label, wanted = (str(model.settings.get(key, "")) for key in ("labelCol", "featuresCol"))
        classed, _, boosted = KINDS[model.name]
        number_of_classes = 2 if boosted else model.whole("numClasses", MAX_CATEGORIES) if classed else 0
        classes: tuple[Value, ...] | None = tuple(range(number_of_classes)) if classed else None
        indexed = dict[str, tuple[str, tuple[Value, ...]]]()
        made = dict[str, str]()
        inputs: list[str] | None = None
        for one in steps:
            if one is model:
                break
            pairs = _columns_of(one)
            if one.name == "StringIndexerModel":
                labels = _labels(one)
                if len(labels) != len(pairs):
                    raise ReleaseError(f"has labels of {len(labels)} columns, of {len(pairs)}", place="data")
                indexed |= {out: (column, values) for (column, out), values in zip(pairs, labels, strict=True)}
            elif one.name == "VectorAssembler" and one.settings.get("outputCol") == wanted:
                inputs = [str(v) for v in one.settings.get("inputCols", ())]
            else:
                made |= dict.fromkeys([out for _, out in pairs], one.name)
        if classes is not None and label in indexed:
            label, found = indexed[label]
            if len(found) != len(classes):
                raise ReleaseError(f"has {len(found)} labels of {len(classes)} classes", place="stages")
            classes = found
        if inputs is None and not steps:
            return cls(tuple(f"x{k}" for k in range(number)), {}, label or "label", classes, False)
        step = made.get(wanted, next((made[name] for name in inputs or () if name in made), ""))
        if step or inputs is None or len(inputs) != number or len(set(inputs)) < number:
            why = f"by {step[:60]}" if step else "in a way that is not read"
            raise Unsupported(
                f"the pipeline makes the model's {number} columns {why}: give the folder of the model itself in its "
                "stages, whose columns are those that the steps made"
            )
        values = {k: indexed[name][1] for k, name in enumerate(inputs) if name in indexed}
        return cls(tuple(indexed[n][0] if n in indexed else n for n in inputs), values, label, classes, True)


def _columns_of(step: SparkPart) -> list[tuple[str, str]]:
    """Return the columns that a step makes, each behind what it is made of."""
    many = [step.settings.get(key) for key in ("inputCols", "outputCols")]
    if all(isinstance(one, list) for one in many):
        return [(str(a), str(b)) for a, b in zip(*many, strict=False)]
    return [(str(step.settings.get("inputCol", "")), str(step.settings.get("outputCol", "")))]


def _labels(step: SparkPart) -> list[tuple[Value, ...]]:
    """Return the categories of every column of a StringIndexer, in the order of their numbers."""
    if step.settings.get("handleInvalid") == "keep":
        raise Unsupported("a StringIndexer that keeps rows without a value (handleInvalid='keep') is not read")
    line = step.table()[0]
    found = line.get("labelsArray", [line.get("labels")])
    out = list[tuple[Value, ...]]()
    for one in found if isinstance(found, (list, np.ndarray)) else ():
        texts = [str(v) for v in one] if isinstance(one, (list, np.ndarray)) else []
        if not 0 < len(texts) <= MAX_CATEGORIES or len(set(texts)) < len(texts):
            raise ReleaseError("has no different labels", place="data")
        out.append(values_of(texts))
    return out


def _draft(model: SparkPart, columns: SparkColumns) -> Draft:
    """Return the draft of a model's trees over its columns."""
    classed, several, boosted = KINDS[model.name]
    lines = model.table()
    by_tree = [[line for _, line in group] for _, group in groupby(_numbered(lines, several), key=lambda one: one[0])]
    reader = _SparkNodes(columns, model.settings)
    trees = [reader.tree(one, i, boosted) for i, one in enumerate(by_tree)]
    if several and len(trees) != model.whole("numTrees", MAX_NODES):
        raise ReleaseError(f"has the nodes of {len(trees)} trees", place="data")
    replaced, part = _sampling(model)
    notes = (DRAWN,) if replaced else (PART.format(part),) if part else ()
    resampled = bool(notes)
    n = int(trees[0].arrays.rows[0])
    if not resampled and any(int(one.arrays.rows[0]) != n for one in trees):
        raise ReleaseError("has trees of different numbers of rows", place="data")
    whole = [one.counts.whole and classed for one in trees]
    kinds: tuple[CountKind, ...] = ("exact",) if all(whole) else ("exact", "size") if any(whole) else ("size",)
    if resampled:
        kinds = ("bag",) if replaced and all(whole) else ("distinct",)
    if replaced:
        trees = [_of_bag(one) for one in trees]
    unused = [*([ORDER] if columns.values else []), *([LATER] if boosted and len(trees) > 1 else [])]
    if reader.weighted:
        unused.append(UnusedPublication("sums of weights by class", WEIGHED, labels=True))
    elif not classed:
        unused.append(
            UnusedPublication(
                "sums of the labels and of their squares",
                "a label that is a number is not worked with beyond its totals",
                labels=True,
            )
        )
    rows = RowCount(n, n) if not resampled else RowCount(1 if replaced else max(int(t.arrays.rows[0]) for t in trees))
    hints: dict[str, AnyAttribute] = {
        columns.names[k]: Categorical(columns.names[k], values)
        for k, values in reader.values.items()
        if len(values) > 1
    }
    draft = TreesDraft(
        Provenance(f"Spark ML {model.name} (folder)", kinds, notes, unused=tuple(unused)),
        tuple(Feature(name, name) for name in columns.names),
        classes=columns.classes,
        label=free_label(columns.names, columns.label),
        rows=rows,
        hints=hints,
        named=columns.named,
        trees=tuple(trees),
        forest=len(trees) > 1 or resampled,
        resampled=resampled,
        replaced=replaced,
        sets={k: tuple(pairs) for k, pairs in reader.sets.items()},
    )
    if classed or several or reader.weighted:
        return draft
    totals = tuple(float(line["impurityStats"][1]) for line in by_tree[0])
    return RegressionDraft(**{one.name: getattr(draft, one.name) for one in fields(draft)}, totals=totals)


def _numbered(lines: Sequence[Mapping[str, Any]], several: bool) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the nodes with the number of their tree, in order of trees and of their own numbers."""
    try:
        found = [(int(one["treeID"]), one["nodeData"]) if several else (0, one) for one in lines]
        found.sort(key=lambda one: (one[0], int(one[1]["id"])))
    except (KeyError, TypeError, ValueError):
        raise ReleaseError("is no table of nodes", place="data") from None
    return found


def _sampling(model: SparkPart) -> tuple[bool, str]:
    """Return whether trees drew rows with replacement, and else why they are a part of the rows ("": they are not)."""
    _, several, boosted = KINDS[model.name]
    share = model.settings.get("subsamplingRate", 1.0)
    if several and not boosted and model.settings.get("bootstrap", model.told.get("numTrees") != 1) is not False:
        return True, ""
    if model.settings.get("validationIndicatorCol"):
        return False, "the others were held out (validationIndicatorCol)"
    return False, "" if share == 1 else f"it draws a share of {str(share)[:20]} (subsamplingRate)"


def _of_bag(tree: CountedTree) -> CountedTree:
    """Return a tree of drawn rows: how many of a node are different is not known."""
    size = np.full_like(tree.counts.size, UNPUBLISHED)
    return CountedTree(tree.arrays, NodeCounts(tree.counts.classes, size, drawn=tree.counts.size))


class _SparkNodes:
    """Trees from nodes; `sets` and `values`: of features with categories pairs of sets, and the values in order."""

    def __init__(self, columns: SparkColumns, settings: Mapping[str, Any]) -> None:
        self.columns, self.weighted = columns, bool(settings.get("weightCol"))
        self.sets: dict[int, list[CategorySplit]] = {}
        self.values: dict[int, tuple[Value, ...]] = dict(columns.values)

    def tree(self, lines: Sequence[Mapping[str, Any]], number: int, boosted: bool) -> CountedTree:
        """Return a tree of nodes in order."""
        place = f"data, tree {number}"
        current().entries(len(lines))
        try:
            ids, left, right = ([int(one[key]) for one in lines] for key in ("id", "leftChild", "rightChild"))
            stats = np.array([list(one["impurityStats"]) for one in lines], dtype=np.float64)
            sizes = [one.get("rawCount") for one in lines]
            tests = [
                self._test(one["split"], place) if a >= 0 else (-1, -2.0) for a, one in zip(left, lines, strict=True)
            ]
        except ReleaseError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ReleaseError("has nodes without links, tests or impurityStats", place=place) from None
        if ids != list(range(len(ids))) or len(ids) > MAX_NODES or stats.ndim != 2 or not np.isfinite(stats).all():
            raise ReleaseError("has not the nodes 0, 1, 2, ...", place=place)
        counts = self._counts(stats, sizes, number, boosted, place)
        rows, n = counts.size, len(ids)
        below, above, feature = (np.array(one, dtype=np.int64) for one in (left, right, [f for f, _ in tests]))
        none, ends = np.zeros(n), np.array([end for _, end in tests])
        links = np.where(below < 0, -1, below), np.where(below < 0, -1, above)
        arrays = TreeArrays(
            *links, feature, ends, none.astype(bool), none, rows, rows.astype(np.float64), none[:, None]
        )
        arrays.check(len(self.columns.names), place)
        inner = ~arrays.leaf
        for figures in (rows, *(counts.classes.T if counts.whole else ())):
            if (figures[inner] != figures[arrays.left[inner]] + figures[arrays.right[inner]]).any():
                raise ReleaseError("has a node whose rows are not those of its two branches", place=place)
        return CountedTree(arrays, counts)

    def _counts(self, stats: Any, sizes: Sequence[Any], number: int, boosted: bool, place: str) -> NodeCounts:
        """Return what the nodes count: of a boosted model's first tree sums of -1 and 1."""
        classes = self.columns.classes
        width = 3 if boosted or classes is None else len(classes)
        if stats.shape[1] not in {width, width + 1}:
            raise ReleaseError(f"has not {width} impurityStats of a node", place=place)
        total = stats[:, 0] if boosted or classes is None else stats.sum(axis=1)
        told = np.array([total[i] if v is None or v < 0 else v for i, v in enumerate(sizes)], dtype=np.float64)
        if ((told != np.rint(told)) | (told < 0) | (told >= 1 << 53)).any():
            if self.weighted:
                raise Unsupported(f"{WEIGHED}; Spark before 3.0 does not store these: fit it without weightCol")
            raise ReleaseError("has numbers of rows that are not whole", place=place)
        size = told.astype(np.int64)
        if self.weighted or classes is None or (boosted and number):
            return only_sizes(size, 0 if classes is None else len(classes), "")
        if boosted:
            ones = (stats[:, 0] + stats[:, 1]) / 2
            stats = np.column_stack([stats[:, 0] - ones, ones])
        if (stats != np.rint(stats)).any() or (stats < 0).any() or (stats.sum(axis=1) != told).any():
            raise ReleaseError("has rows per class that do not make its rows (rawCount)", place=place)
        return NodeCounts(stats[:, : len(classes)].astype(np.int64), size)

    def _test(self, split: Mapping[str, Any], place: str) -> tuple[int, float]:
        """Return the feature of a test, and its threshold (of categories: which pair of sets)."""
        at, given, many = (
            int(split["featureIndex"]),
            list(split["leftCategoriesOrThreshold"]),
            int(split["numCategories"]),
        )
        if not 0 <= at < len(self.columns.names):
            raise ReleaseError(f"tests column {at} of {len(self.columns.names)}", place=place)
        if many < 0:
            (end,) = given
            if at in self.values or not np.isfinite(end):
                raise ReleaseError(f"has no threshold of '{self.columns.names[at][:60]}'", place=place)
            return at, float(end)
        values = self.values.setdefault(at, tuple(range(min(many, MAX_CATEGORIES))))
        chosen = {int(v) for v in given}
        if len(values) != many or not chosen <= set(range(many)):
            raise ReleaseError(f"has a split on {many} categories of '{self.columns.names[at][:60]}'", place=place)
        sides = (tuple(v for k, v in enumerate(values) if (k in chosen) is kept) for kept in (True, False))
        pairs = self.sets.setdefault(at, [])
        pairs.append((next(sides), next(sides)))
        return at, float(len(pairs) - 1)
