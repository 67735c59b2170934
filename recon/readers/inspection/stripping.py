"""A copy of a stored model without the findings that predictions do not need, proved to predict the same.

What is taken out is set to None in the graph; nothing is imported or built. The copy is read again before it is
written out: everything else must be as it was, arrays bit for bit, and every tree of scikit-learn must send random
points and points at its thresholds to the same values.
"""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from recon.io.files.opening import file_and_number
from recon.io.files.writing import writing
from recon.readers.formats.sklearn.trees.settings import bags
from recon.readers.inspection.findings.findings import Finding, naming
from recon.readers.inspection.inspecting import Inspection, inspect_stored, matches, read_file
from recon.readers.inspection.objects.traversal import GraphPlace, replace_value, seed_findings, traverse
from recon.readers.stored.objects.arrays import padding_bytes, resolve, without_padding
from recon.readers.stored.objects.node_tables import CHILDREN, is_tree, leaf_of, points_of
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import StoredFile, open_stored
from recon.readers.stored.rewriting import write_pickle, write_skops
from solvers.foundation.displayed import many
from solvers.foundation.errors import EngineError, ReleaseError, Unsupported

POINTS = 100_000  # points walked through the trees of each file, in all
_COMPRESSED = frozenset([".bz2", ".xz", ".lzma", ".z", ".lz4", ".zst"])  # endings that joblib and others unpack by
_NODE_FIELDS = {"left_child", "right_child", "feature", "threshold"}


@dataclass(frozen=True)
class Stripped:
    """What was taken out of a file, what was proved of the copy, and the inspection of the copy."""

    before: Inspection
    after: Inspection
    removed: tuple[Finding, ...]
    proof: tuple[str, ...]


def strip(path: str | os.PathLike[str], out: str | os.PathLike[str], memory: int = 1 << 30) -> Stripped:
    """Write a copy of a pickle, joblib or skops file without what can be taken out safely.

    A joblib file is copied as a plain pickle, which joblib.load reads; compressed files are copied uncompressed, but a
    name that ends in .gz gets gzip. Raises `Unsupported` where nothing can be taken out, `EngineError` where the copy
    could not be proved to predict the same (nothing is written then), and `ReleaseError` for unreadable files and for
    an `out` that is the file itself or named after another compression.
    """
    file, data = read_file(path)
    return strip_content(data, file_and_number(file)[0], os.fspath(out), memory)


def strip_content(data: bytes, file: str, out: str, memory: int = 1 << 30) -> Stripped:
    """Write a copy as `strip` does, of a content that was read already; `file` is where from."""
    if out == "-":
        raise ReleaseError("the copy cannot go to standard output: give the name of a file", file=file)
    if os.path.exists(out) and os.path.exists(file) and os.path.samefile(file, out):
        raise ReleaseError("the copy would overwrite the file itself: give another name", file=out)
    found, content = stripped_bytes(data, file, out, memory)
    with writing(out, binary=True) as copy:
        copy.write(content)
    return found


def stripped_bytes(data: bytes, file: str, out: str, memory: int = 1 << 30) -> tuple[Stripped, bytes]:
    """Return what was taken out and proved, and the content of the copy."""
    with naming(file):
        return _stripped(data, file, out, memory)


def _stripped(data: bytes, file: str, out: str, memory: int) -> tuple[Stripped, bytes]:
    stored = _open_stored(data, memory)
    packed = _is_gzip(out, stored.format)
    before = inspect_stored(stored, data, file, memory)
    edits = _edits(stored.root)
    removed = tuple(f for f in before.findings if f.removable)
    cleared = 0 if stored.format == "skops" else _clear_padding(stored.root)
    if not (edits or cleared) or not removed:
        raise Unsupported(
            "nothing in it can be taken out without the risk that predictions change: the remedies say what else to do"
        )
    for place in edits:
        _leave_out(place)
    if stored.format == "skops":
        content = write_skops(data, [place.steps for place in edits])
    else:
        content = write_pickle(stored.root, stored.protocol)
    content = gzip.compress(content, mtime=0) if packed else content
    copy, original = _open_stored(content, memory), _open_stored(data, memory)
    kept = _compare(original.root, copy.root)
    after = inspect_stored(copy, content, out, memory)
    _gone(copy.root, list(after.findings), removed)
    zeros = f", but the bytes between the fields of records are 0 in {many(cleared, 'array')}" if cleared else ""
    proof = (
        f"the copy was read again: {len(edits):,} values are None, the other {kept:,} are as they were, bit for "
        f"bit{zeros}",
        *_trees_agree(original.root, copy.root),
    )
    return Stripped(before, after, removed, proof), content


def _is_gzip(out: str, form: str) -> bool:
    """Return whether the copy's name asks for gzip; `ReleaseError` for a compression that copies are not written in."""
    ending = Path(out).suffix.lower()
    if ending in _COMPRESSED or (ending == ".gz" and form == "skops"):
        allowed = "a name without it" if form == "skops" else "a name without it, or one that ends in .gz"
        raise ReleaseError(f"copies are not compressed as the name {Path(out).name} says: give {allowed}")
    return ending == ".gz"


def _open_stored(data: bytes, memory: int) -> StoredFile:
    stored = open_stored(data, memory)
    if stored is None:
        raise Unsupported("only copies of pickle, joblib and skops files are made: the findings say what to change")
    return stored


def _edits(root: Any) -> list[GraphPlace]:
    """Return the attributes to be set to None."""
    places = list(traverse(root))
    found = [p for held, finding in matches(places) if finding.removable for p in held]
    return found + seed_findings(places).places


def _leave_out(place: GraphPlace) -> None:
    """Set an attribute to None in the state of its object, or an entry in its dict."""
    if place.holder is not None:
        place.holder[place.step[-1]] = None
        return
    if not replace_value(place, None):
        raise EngineError(f"{place.path} cannot be taken out of the object's state: nothing was written")


def _clear_padding(root: Any) -> int:
    """Set the bytes between the fields of records to 0 where that can be done; return of how many arrays."""
    places = [p for p in traverse(root) if isinstance(p.value, np.ndarray) and padding_bytes(p.value)]
    return sum(not p.nested and replace_value(p, without_padding(p.value)) for p in places)


def _compare(original: Any, copy: Any) -> int:
    """Return how many values are the same in both graphs; `EngineError` where one differs that was not taken out."""
    edits, kept = _edits(original), 0
    taken = {_key(place) for place in edits}
    for place in edits:
        _leave_out(place)
    for a, b in zip_longest(traverse(original), traverse(copy)):
        if a is None or b is None or (a.depth, a.step, a.nested) != (b.depth, b.step, b.nested):
            where = next(p.path for p in (a, b) if p is not None)
            raise EngineError(f"the copy differs from the file at {where}: nothing was written")
        if _key(a) in taken:
            if b.value is not None:
                raise EngineError(f"{a.path} is still in the copy: nothing was written")
        elif not equal(a.value, b.value):
            raise EngineError(f"the copy differs from the file at {a.path}: nothing was written")
        else:
            kept += 1
    return kept


def _key(place: GraphPlace) -> tuple[int, str | int]:
    """Return what tells an attribute of an object, or an entry of a dict, from all others of its graph."""
    if place.holder is not None:
        return id(place.holder), place.step[-1]
    return (id(place.owner), place.attribute) if not place.nested and place.owner is not None else (0, "")


def equal(a: Any, b: Any) -> bool:
    """Return whether two values of a walk are the same; what is inside of them is walked too, and compared there."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        same = a.dtype == b.dtype and a.shape == b.shape
        if same and a.dtype != object:
            return a.tobytes() == b.tobytes() or without_padding(a).tobytes() == without_padding(b).tobytes()
        return same and _equal_sequences(a, b)
    if isinstance(a, Thing) and isinstance(b, Thing):
        if (a.kind, a.how, len(a.args), len(a.items), len(a.pairs)) != (
            b.kind,
            b.how,
            len(b.args),
            len(b.items),
            len(b.pairs),
        ):
            return False
        return (
            _equal_sequences(a.args, b.args) and list(a.fields()) == list(b.fields()) and _same_state(a.state, b.state)
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and _equal_sequences(a, b)
    if isinstance(a, dict):
        return (
            len(a) == len(b)
            and _equal_sequences(list(a), list(b))
            and _equal_sequences(list(a.values()), list(b.values()))
        )
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    return bool(a == b)


def _same_state(a: Any, b: Any) -> bool:
    """Return whether two states that are no dicts are of one form; their parts are walked."""
    if type(a) is not type(b):
        return False
    return len(a) == len(b) if isinstance(a, (tuple, list)) else True


def _equal_sequences(a: Any, b: Any) -> bool:
    """Return whether the plain values of two sequences are the same, one by one."""
    pairs = zip(a.reshape(-1), b.reshape(-1), strict=True) if isinstance(a, np.ndarray) else zip(a, b, strict=True)
    for x, y in pairs:
        x, y = resolve(x), resolve(y)  # noqa: PLW2901 - numpy scalars as numbers
        if isinstance(x, (Thing, np.ndarray, list, tuple, dict)):
            continue
        if type(x) is not type(y) or not equal(x, y):
            return False
    return True


def _gone(root: Any, after: list[Finding], removed: tuple[Finding, ...]) -> None:
    """Raise `EngineError` where something that was taken out can still be found or worked out."""
    left = {(f.rule, f.path) for f in after} & {(f.rule, f.path) for f in removed}
    if left:
        raise EngineError(f"{sorted(left)[0][1]} is still in the copy: nothing was written")
    for place in traverse(root):
        ensemble = place.value
        if isinstance(ensemble, Thing) and ensemble.has("estimators_") and bags(ensemble) is not None:
            raise EngineError(f"the bags of {place.path or 'the ensemble'} still follow: nothing was written")


def _trees_agree(original: Any, copy: Any) -> tuple[str, ...]:
    """Return what was proved of the trees: both files send the same points to the same values; () without trees."""
    pairs = list(zip_longest(_trees(original), _trees(copy)))
    if not pairs:
        return ()
    generator, walked = np.random.default_rng(0), 0
    for a, b in pairs:
        if a is None or b is None:
            raise EngineError("the copy has not the same trees: nothing was written")
        own, copied = _nodes(a), _nodes(b)
        some = max(24, POINTS // len(pairs)) // 4
        points = points_of(own, some, some, generator)
        walked += len(points)
        values = (a.get("values")[leaf_of(own, points)], b.get("values")[leaf_of(copied, points)])
        if not np.array_equal(*values, equal_nan=True):
            raise EngineError("a tree of the copy predicts something else: nothing was written")
    return (
        f"{len(pairs):,} trees were walked from both files: {walked:,} random points and points at thresholds agree",
    )


def _trees(root: Any) -> Iterator[Thing]:
    yield from (place.value for place in traverse(root) if is_tree(place.value))


def _nodes(tree: Thing) -> npt.NDArray[Any]:
    """Return the node table; `EngineError` where it is not a tree, so that no walk can run on."""
    nodes, values = tree.get("nodes"), tree.get("values")
    if not isinstance(nodes, np.ndarray) or not isinstance(values, np.ndarray) or len(values) != len(nodes):
        raise EngineError("a tree has no table of nodes: nothing was written")
    if nodes.dtype.names is None or not set(nodes.dtype.names) >= _NODE_FIELDS:
        raise EngineError("a tree has no table of nodes: nothing was written")
    inner = nodes["left_child"] != -1
    place = np.flatnonzero(inner)
    for side in CHILDREN:
        child = nodes[side][inner]
        if (child <= place).any() or (child >= len(nodes)).any():  # children follow their parents: no cycle
            raise EngineError("a tree's nodes are not in order: nothing was written")
    if (nodes["feature"][inner] < 0).any() or (nodes["feature"][inner] > 1_000_000).any():
        raise EngineError("a tree's nodes name columns that cannot be: nothing was written")
    return nodes
