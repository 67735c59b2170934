"""Yggdrasil Decision Forests (YDF, TensorFlow Decision Forests): trees with the rows per class of every node.

A model is a folder of protocol buffers, given here as a zip archive of it: what columns there are, with the rows of
every category (`data_spec.pb`), the task (`header.pb`), and the nodes of all trees, those of a tree in depth-first
order, the branch that fails the test first. Every node has the distribution of the labels of its training rows. Random
forests draw rows; a tree of `CartLearner` saw each once, but for those that it held out for pruning.

Source: YDF 0.16; yggdrasil_decision_forests/model/decision_tree/decision_tree.proto, dataset/data_spec.proto,
model/abstract_model.proto, utils/blob_sequence.h.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.domain.values import AnyAttribute, Categorical, Value, equals
from encoders.models.models import AnyModel, Provenance, PublishedFigure, Table, UnusedPublication
from encoders.models.nodes import UNPUBLISHED
from recon.io.files.archives import archive_files, archive_names
from recon.readers.formats.boosters.shared import values_of
from recon.readers.formats.drafts.binding import Binder, Feature
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.trees.arrays import MAX_NODES, NodeCounts, TreeArrays
from recon.readers.formats.sklearn.trees.draft import CategorySplit, CountedTree, TreesDraft
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

FORMAT = "YDF model (zip of its folder)"
SPEC, HEADER, FOREST = "data_spec.pb", "header.pb", "random_forest_header.pb"
NUMERICAL, CATEGORICAL, BOOLEAN = 1, 4, 7
EVALUATED, PRUNED = 4, 8  # fields: evaluations (of forests on rows not drawn), and how many nodes CartLearner pruned
WEIGHTED = "rows were weighted: sums of weights are no counts of rows; fit it without weights"
STRIPPED = "its nodes have no rows per class (pure_serving_model=True): nothing of this kind is published"
RARE = "<OOD>"
DRAWN = "rows were drawn with replacement for every tree (bootstrap_training_dataset, the default of a random forest)"
ONCE = (
    "a tree by itself is of CartLearner, which shows it each row once (a RandomForestLearner of one tree, "
    "winner_take_all=False and compute_oob_performances=False looks the same)"
)
HELD_OUT = "the tree counts a part of the rows: the others were held out for pruning (validation_ratio)"
SPECIFIED = "the columns were described from the training rows themselves (YDF's default), each row once"
UNREAD = (
    UnusedPublication(
        "mean, deviation, least and greatest value of every number", "they are not read", about="columns"
    ),
    UnusedPublication("evaluations and importances", "they are not read", about="rows"),
)
_NODES = re.compile(r"nodes-(\d{5})-of-(\d{5})$")
Message = dict[int, list[Any]]  # field -> its values: whole numbers, or bytes


def looks_like_yggdrasil(data: bytes) -> bool:
    """Return whether bytes are an archive of a YDF model's folder."""
    return {SPEC, HEADER} <= {name.rpartition("/")[2] for name in archive_names(data)}


def _members(data: bytes) -> dict[str, bytes]:
    """Return the files of the folder by their names."""
    out: dict[str, bytes] = {}
    for path, content in archive_files(data).items():
        name = path.rpartition("/")[2]
        if name in out:
            raise Unsupported(f"holds several models (two files {name}): zip the folder of one")
        out[name] = content
    return out


# Fields that the reader reads, by file; of a column its categories, counts of true and false, and rows without a value.
_READ_FIELDS = {HEADER: {1, 2, 3, 4, 5}, FOREST: {1, 2, 3, EVALUATED, 7, PRUNED}}
_READ_OF_COLUMN = {1, 2, 6, 7, 9}


def unread_parts(data: bytes) -> dict[str, int]:
    """Return how many bytes of a model's folder its reader does not look at, by file; nodes are read with their rows.

    Of nodes these are all fields but the condition and the distribution of the label.
    """
    out = dict[str, int]()
    for name, content in _members(data).items():
        if name == SPEC:
            spec = _message(content, name)
            columns = [_message(one, name) for one in spec.get(1, [])]
            size = _size_without(spec, {1, 2}) + sum(_size_without(one, _READ_OF_COLUMN) for one in columns)
        elif name in _READ_FIELDS:
            size = _size_without(_message(content, name), _READ_FIELDS[name])
        elif _NODES.search(name):
            nodes = (_message(one, name) for one in _node_blobs({name: content}, "BLOB_SEQUENCE"))
            size = sum(_size_without(one, {1, 3, 4}) for one in nodes)
        else:
            size = len(content)
        if size:
            out[name] = size
    return out


def _size_without(message: Message, read: Collection[int]) -> int:
    """Return the bytes of the fields of a message that are not read, of whole numbers ten each."""
    left = [value for field, values in message.items() if field not in read for value in values]
    return sum(10 if isinstance(value, int) else len(value) for value in left)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
        if shift > 63:
            raise ReleaseError("holds a number of more than 64 bits")


def _message(data: bytes, place: str) -> Message:
    """Return the fields of a protocol buffer; `ReleaseError` naming the file where it is none."""
    out: Message = {}
    at = 0
    try:
        while at < len(data):
            key, at = _varint(data, at)
            if key & 7 == 0:
                value: Any
                value, at = _varint(data, at)
            else:
                size, at = {1: (8, at), 5: (4, at)}[key & 7] if key & 7 != 2 else _varint(data, at)
                value, at = data[at : at + size], at + size
            if at > len(data):
                raise IndexError
            out.setdefault(key >> 3, []).append(value)
    except (IndexError, KeyError):
        raise ReleaseError("is no protocol buffer, or was cut off", place=place) from None
    return out


def _one(message: Message, field: int, default: Any = 0) -> Any:
    return message[field][-1] if field in message else default


def _whole_numbers(values: list[Any]) -> Iterator[int]:
    """Yield whole numbers that stand one by one or packed."""
    for value in values:
        if isinstance(value, int):
            yield value
            continue
        at = 0
        while at < len(value):
            found, at = _varint(value, at)
            yield found


@dataclass(frozen=True)
class YggdrasilColumn:
    """A column: its values with their rows by their numbers (of numbers none), rows without a value; `kind` of YDF."""

    name: str
    kind: int
    values: tuple[tuple[Value, int], ...]
    missing: int

    @classmethod
    def of(cls, data: bytes) -> YggdrasilColumn:
        """Return the column of a message; values are whole numbers where all of them look so."""
        found = _message(data, SPEC)
        name, kind = bytes(_one(found, 2, b"")).decode("utf-8", "replace"), int(_one(found, 1))
        items: dict[int, tuple[str, int]] = {}
        for one in _message(_one(found, 6, b""), SPEC).get(7, []):
            entry = _message(one, SPEC)
            value = _message(_one(entry, 2, b""), SPEC)
            items[int(_one(value, 1))] = (bytes(_one(entry, 1, b"")).decode("utf-8", "replace"), int(_one(value, 2)))
        if sorted(items) != list(range(len(items))) or (items and items[0][0] != RARE):
            raise ReleaseError(f"the categories of '{name[:60]}' are not numbered from {RARE} on", place=SPEC)
        texts = [text for _, (text, _) in sorted(items.items())]
        values = values_of(texts[1:])
        if kind == BOOLEAN:
            counts = _message(_one(found, 9, b""), SPEC)
            return cls(name, kind, ((0, int(_one(counts, 2))), (1, int(_one(counts, 1)))), int(_one(found, 7)))
        counted = tuple((value, items[i + 1][1]) for i, value in enumerate(values))
        if items and items[0][1]:
            raise Unsupported(
                f"rare values of '{name[:60]}' were put together ({items[0][1]:,} rows): fit it with "
                "min_vocab_frequency=1"
            )
        return cls(name, kind, counted, int(_one(found, 7)))


@dataclass(frozen=True, eq=False)
class YggdrasilDraft(TreesDraft):
    """Trees beside the rows of every category: `counted` of attribute, value and rows; `label_rows` of every class."""

    counted: tuple[tuple[str, Value, int], ...] = ()
    label_rows: tuple[int, ...] = ()

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the trees, and the table of the rows of categories and classes."""
        assert self.classes is not None
        of_label = ((self.label, value, count) for value, count in zip(self.classes, self.label_rows, strict=True))
        figures = [PublishedFigure((), count=sum(self.label_rows), name="all rows")]
        for name, value, count in (*self.counted, *of_label):
            figures.append(PublishedFigure(binder.condition(name, equals(value)), count=count, name=f"{name} {value}"))
        return (*super().bound(binder), Table(tuple(figures), "columns", origin=self.origin))


def read_yggdrasil(data: bytes) -> Draft:
    """Return what a YDF model publishes. Cost: linear in nodes.

    Raises `ReleaseError` naming the file that is broken, `Unsupported` for boosted trees, regression, weights, missing
    values and tests of other kinds.
    """
    files = _members(data)
    header, spec = _message(files[HEADER], HEADER), _message(files[SPEC], SPEC)
    kind = bytes(_one(header, 1, b"")).decode("utf-8", "replace")
    if kind != "RANDOM_FOREST" or FOREST not in files:
        raise Unsupported(f"a YDF model of {kind[:40]} has no rows per class: RANDOM_FOREST and CartLearner's are read")
    if _one(header, 2) != 1:
        raise Unsupported("a YDF model of numbers is not read: of classes it is")
    if 4 in header:
        raise Unsupported(WEIGHTED)
    columns = [YggdrasilColumn.of(one) for one in spec.get(1, [])]
    inputs, place = list(_whole_numbers(header.get(5, []))), int(_one(header, 3))
    if not all(0 <= k < len(columns) for k in (*inputs, place)) or not columns[place].values:
        raise ReleaseError("names columns that are not there", place=HEADER)
    rows, label = int(_one(spec, 2)), columns[place]
    used = [columns[k] for k in inputs]
    for one in (*used, label):
        if one.missing:
            raise Unsupported(f"'{one.name[:60]}' has no value in {one.missing:,} rows: fit it on rows without gaps")
        if one.kind not in {NUMERICAL, CATEGORICAL, BOOLEAN}:
            raise Unsupported(f"the column '{one.name[:60]}' is of a kind that is not read (number {one.kind})")
        if one.values and sum(count for _, count in one.values) != rows:
            raise ReleaseError(f"the rows of the values of '{one.name[:60]}' are not {rows:,}", place=SPEC)
    settings = _message(files[FOREST], FOREST)
    nodes = _node_blobs(files, bytes(_one(settings, 7, b"TFE_RECORDIO")).decode("utf-8", "replace"))
    reader = _TreeReader(nodes, {k: i for i, k in enumerate(inputs)}, used, len(label.values))
    trees = [reader.tree() for _ in range(int(_one(settings, 2)))]
    if next(nodes, None) is not None or not trees:
        raise ReleaseError(f"has other nodes than those of {len(trees)} trees", place=FOREST)
    alone = len(trees) == 1 and not _one(settings, 3, 1)
    return _draft(trees, reader, label, used, rows, alone and (PRUNED in settings or EVALUATED not in settings))


def _draft(
    trees: list[CountedTree], reader: _TreeReader, label: YggdrasilColumn, used: list[YggdrasilColumn], rows: int,
    once: bool,
) -> YggdrasilDraft:  # fmt: skip
    """Return the draft of trees; `once`: the only tree saw no row twice."""
    told = tuple(count for _, count in label.values)
    root = trees[0].counts.classes[0]
    whole = once and int(root.sum()) == rows
    if once and ((root > np.array(told)).any() or (whole and root.tolist() != list(told))):
        raise ReleaseError("the classes of the tree's rows are not those of the columns", place=SPEC)
    if not once:
        trees = [replace(t, counts=replace(t.counts, size=np.full_like(t.counts.size, UNPUBLISHED))) for t in trees]
    hints: dict[str, AnyAttribute] = {
        one.name: Categorical(one.name, tuple(value for value, _ in one.values)) for one in used if len(one.values) > 1
    }
    return YggdrasilDraft(
        Provenance(
            FORMAT,
            ("exact",) if whole else ("bag",) if not once else ("distinct",),
            (SPECIFIED, ONCE, *([] if whole else [HELD_OUT])) if once else (SPECIFIED, DRAWN),
            unused=UNREAD,
        ),
        tuple(Feature(one.name, one.name) for one in used),
        classes=tuple(value for value, _ in label.values),
        label=label.name,
        rows=RowCount(rows, rows),
        hints=hints,
        single=True,
        trees=tuple(trees),
        forest=not whole,
        resampled=not whole,
        replaced=not once,
        sets={k: tuple(pairs) for k, pairs in reader.sets.items()},
        counted=tuple((one.name, value, count) for one in used for value, count in one.values if len(one.values) > 1),
        label_rows=told,
    )


def _node_blobs(files: dict[str, bytes], form: str) -> Iterator[bytes]:
    """Yield the nodes of all files in order."""
    if form != "BLOB_SEQUENCE":
        raise Unsupported(f"nodes as {form[:30]} are not read: save the model with ydf ({SPEC}: BLOB_SEQUENCE)")
    for name in sorted(name for name in files if _NODES.search(name)):
        data = files[name]
        if data[:2] != b"BS" or len(data) < 8 or data[4]:
            raise Unsupported(
                f"{name} is no plain sequence of nodes: save the model again with ydf.load_model(...).save"
            )
        at = 8
        while at < len(data):
            if at + 4 > len(data):
                raise ReleaseError("was cut off", place=name)
            (size,) = struct.unpack_from("<I", data, at)
            if at + 4 + size > len(data):
                raise ReleaseError("was cut off", place=name)
            yield data[at + 4 : at + 4 + size]
            at += 4 + size


class _TreeReader:
    """Trees from nodes in order; `sets`: of every feature with categories, pairs of sets of values, left and right."""

    def __init__(
        self, nodes: Iterator[bytes], place: dict[int, int], used: list[YggdrasilColumn], classes: int
    ) -> None:
        self.nodes, self.place, self.used, self.classes = nodes, place, used, classes
        self.sets: dict[int, list[CategorySplit]] = {}

    def tree(self) -> CountedTree:
        """Return the next tree."""
        rows, left, right, feature, threshold = list[list[int]](), list[int](), list[int](), list[int](), list[float]()
        open_branches: list[tuple[int, list[int]]] = [(-1, right)]
        while open_branches:
            parent, side = open_branches.pop()
            data, i = next(self.nodes, None), len(rows)
            if data is None or i >= MAX_NODES:
                raise ReleaseError("has fewer nodes than its trees", place=FOREST)
            if parent >= 0:
                side[parent] = i
            node = _message(data, f"node {i}")
            condition = _message(_one(node, 3, b""), f"node {i}")
            rows.append(self._rows(node, condition, i))
            inner = 3 in condition
            at, end = self._test(condition, i) if inner else (-1, -2.0)
            for column, value in ((left, -1), (right, -1), (feature, at)):
                column.append(value)
            threshold.append(end)
            if inner:
                open_branches += [(i, right), (i, left)]
        counts = np.array(rows, dtype=np.int64)
        size, n = counts.sum(axis=1), len(rows)
        below, above, tested = (np.array(one, dtype=np.int64) for one in (left, right, feature))
        none, values = np.zeros(n), counts.astype(np.float64)
        arrays = TreeArrays(
            below, above, tested, np.array(threshold), none.astype(bool), none, size, size.astype(np.float64), values
        )
        arrays.check(len(self.used), "nodes")
        inside = ~arrays.leaf
        if (counts[inside] != counts[arrays.left[inside]] + counts[arrays.right[inside]]).any():
            raise ReleaseError("the rows of a node are not those of its two branches", place="nodes")
        return CountedTree(arrays, NodeCounts(counts, size))

    def _rows(self, node: Message, condition: Message, i: int) -> list[int]:
        """Return the rows of every class of a node; `Unsupported` where they were weighted."""
        spread = _message(_one(_message(_one(node, 1, b""), f"node {i}"), 2, b""), f"node {i}")
        packed = b"".join(one for one in spread.get(1, []) if isinstance(one, bytes))
        found = np.frombuffer(packed[: len(packed) // 8 * 8], dtype="<f8")
        if not len(found):
            raise Unsupported(STRIPPED)
        if len(found) != self.classes + 1 or found[0]:
            raise ReleaseError(f"node {i} has no rows of {self.classes} classes", place="nodes")
        told = {_one(message, 4) for message in (node, condition) if 4 in message}
        if (
            (found != np.rint(found)).any()
            or not 0 <= found.min() <= found.max() < 1 << 53
            or told - {int(found.sum())}
        ):
            raise Unsupported(WEIGHTED)
        return [int(v) for v in found[1:]]

    def _test(self, condition: Message, i: int) -> tuple[int, float]:
        """Return the feature of a test, and the greatest number that fails it (of categories: which pair of sets)."""
        test, at = _message(_one(condition, 3), f"node {i}"), self.place.get(int(_one(condition, 2)), -1)
        if at < 0 or len(test) != 1:
            raise ReleaseError(f"node {i} tests no column of the model", place="nodes")
        column, ((kind, (value, *_)),) = self.used[at], test.items()
        if kind == 2 and column.kind == NUMERICAL:
            end = np.frombuffer(_one(_message(value, f"node {i}"), 1, b""), dtype="<f4")
            if len(end) != 1 or not np.isfinite(end[0]):
                raise ReleaseError(f"node {i} has no threshold", place="nodes")
            return at, float(np.nextafter(end[0], np.float32(-np.inf)))
        if kind == 3 and column.kind == BOOLEAN:
            chosen = {2}
        elif kind == 4 and column.kind == CATEGORICAL:
            chosen = set(_whole_numbers(_message(value, f"node {i}").get(1, [])))
        elif kind == 5 and column.kind == CATEGORICAL:
            bits = int.from_bytes(_one(_message(value, f"node {i}"), 1, b""), "little")
            chosen = {k for k in range(len(column.values) + 1) if bits >> k & 1}
        else:
            raise Unsupported(f"node {i} tests '{column.name[:60]}' in a way that is not read (oblique, or of gaps)")
        passing = tuple(value for k, (value, _) in enumerate(column.values, 1) if k in chosen)
        failing = tuple(value for k, (value, _) in enumerate(column.values, 1) if k not in chosen)
        pairs = self.sets.setdefault(at, [])
        pairs.append((failing, passing))
        return at, float(len(pairs) - 1)
