"""A copy of a stored scikit-learn model with merged leaves, proved to predict the same in all leaves that are kept.

Nothing in the file is run: the node tables of its trees are replaced in the stored graph, which is written again. What
was below a merged leaf is in no table of the copy any more. The copy is read again before anybody gets it: all else
must be as it was, bit for bit, and both files are walked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.models.models import AnyModel, Tree
from recon.readers.inspection.objects.traversal import GraphPlace, traverse
from recon.readers.inspection.stripping import equal
from recon.readers.stored.objects.node_tables import CHILDREN, LEAF, is_tree, leaf_of, points_of
from recon.readers.stored.objects.node_tables import links_of as stored_links
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import StoredFile, open_stored
from recon.readers.stored.rewriting import write_pickle
from recon.release.remediation.pruning import links_of
from solvers.foundation.errors import EngineError, Unsupported
from solvers.foundation.structures import BinaryTree

REPLACED = ("nodes", "values", "node_count", "max_depth")
UNDEFINED = -2  # what scikit-learn writes for the feature and the threshold of a leaf
POINTS = 20_000  # random points walked through each tree
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Copied:
    """The content of a copy (a plain pickle, which joblib.load reads too), and what was proved of it."""

    content: bytes
    proof: tuple[str, ...]


def merged_copy(
    data: bytes, models: Sequence[AnyModel], collapsed: Sequence[Sequence[int]], memory: int = 1 << 30, seed: int = 0
) -> Copied:
    """Return a copy of a pickle or joblib file in which these nodes of its trees are leaves.

    `models`: what was read of the file: one tree or forest; `collapsed`: nodes per tree. A merged leaf predicts the
    value that the file stores for the inner node. Raises `Unsupported` for other files and where trees are not found in
    it, or others beside them, `EngineError` where the copy is not proved; `ReleaseError` for broken files. Cost: linear
    in the file, and walking `POINTS` and three points per threshold.
    """
    stored = _open_stored(data, memory)
    trees = _matched(stored.root, _trees_of(models))
    for thing, at in zip(trees, collapsed, strict=True):
        _replace_tables(thing, at)
    content = write_pickle(stored.root, stored.protocol)
    before, after = _open_stored(data, memory), _open_stored(content, memory)
    pairs = list(zip(_matched(before.root, _trees_of(models)), _tree_things(after.root), strict=True))
    generator, walked = np.random.default_rng(seed), 0
    for (old, new), at in zip(pairs, collapsed, strict=True):
        walked += _compare_predictions(old, new, at, generator)
    kept = _compared(before.root, after.root)
    return Copied(
        content,
        (
            f"the copy was read again: but for the node tables of its trees ({len(pairs):,}), all {kept:,} values are "
            "as they were, bit for bit",
            "every kept leaf has its value, every merged one that of its inner node; both files were walked: "
            f"{walked:,} points, at random and at, below and above every threshold, agree",
        ),
    )


def _open_stored(data: bytes, memory: int) -> StoredFile:
    """Return a stored file; `Unsupported` unless it is a pickle or joblib file."""
    stored = open_stored(data, memory)
    if stored is None or stored.format == "skops":
        what = "a skops file" if stored is not None else "this file"
        raise Unsupported(
            f"copies with merged leaves are made of pickle and joblib files, not of {what}: write a release file "
            "(--out NAME.json), or save the model with joblib"
        )
    return stored


def _trees_of(models: Sequence[AnyModel]) -> tuple[Tree, ...]:
    """Return the trees that were read of a file."""
    model = models[0]
    if model.members() and model.mergeable:
        return model.members()
    raise Unsupported(f"a {model.kind.replace('_', ' ')} has no stored trees: write a release file (--out NAME.json)")


def _tree_things(root: Any) -> list[Thing]:
    """Return the node tables of scikit-learn in a graph, in the order of a walk."""
    return [place.value for place in traverse(root) if is_tree(place.value)]


def _matched(root: Any, trees: Sequence[Tree]) -> list[Thing]:
    """Return the stored tree of every tree that was read, in order; `Unsupported` where there are others or none."""
    found = _tree_things(root)
    fits = len(found) == len(trees) and all(map(_same_links, found, trees))
    if not fits:
        raise Unsupported(
            f"the file holds {len(found):,} scikit-learn trees, and not just the {len(trees):,} that were read: others "
            "would keep their counts; write a release file (--out NAME.json)"
        )
    return found


def _same_links(thing: Thing, tree: Tree) -> bool:
    """Return whether a stored tree has the links of one that was read (a test "is missing" is read the other way)."""
    nodes, values = thing.get("nodes"), thing.get("values")
    if not isinstance(nodes, np.ndarray) or not isinstance(values, np.ndarray) or len(values) != len(nodes):
        return False
    if nodes.dtype.names is None or len(nodes) != len(tree.nodes):
        return False
    stored = stored_links(nodes).children
    return bool(np.array_equal(np.sort(stored, axis=1), np.sort(links_of(tree), axis=1)))


def _owners(children: Ints, collapsed: Sequence[int]) -> Ints:
    """Return per node itself where it is kept, else the merged leaf that it went into."""
    own, tree = np.arange(len(children)), BinaryTree(children, children[:, 0] >= 0)
    merged = np.isin(own, list(collapsed))
    for level in tree.levels:
        parents = level[tree.inner[level]]
        gone = parents[merged[parents] | (own[parents] != parents)]
        own[children[gone]] = own[gone][:, None]
    return own


def _replace_tables(thing: Thing, collapsed: Sequence[int]) -> None:
    """Put shorter tables into a stored tree."""
    nodes, values = thing.get("nodes"), thing.get("values")
    children = stored_links(nodes).children
    own = _owners(children, collapsed)
    kept = np.flatnonzero(own == np.arange(len(own)))
    number = np.full(len(own), LEAF, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    new = np.zeros(len(kept), dtype=nodes.dtype)  # field by field: bytes between fields are not copied
    for name in nodes.dtype.names:
        new[name] = nodes[name][kept]
    leaf = np.isin(kept, list(collapsed)) | (children[kept, 0] < 0)
    for side, column in zip(CHILDREN, children[kept].T, strict=True):
        new[side] = np.where(leaf, LEAF, number[np.where(leaf, 0, column)])
    merged = np.isin(kept, list(collapsed))
    for name in ("feature", "threshold"):
        new[name][merged] = UNDEFINED
    if "missing_go_to_left" in nodes.dtype.names:
        new["missing_go_to_left"][merged] = 0
    tables = {"nodes": new, "values": np.ascontiguousarray(values[kept])}
    _set_state(thing, tables | {"node_count": len(kept), "max_depth": int(stored_links(new).depths.max())})


def _set_state(thing: Thing, values: dict[str, Any]) -> None:
    """Replace entries of an object's state."""
    for part in thing.state if isinstance(thing.state, tuple) else (thing.state,):
        if isinstance(part, dict) and "nodes" in part:
            part.update({name: value for name, value in values.items() if name in part})
            return
    raise EngineError("a tree keeps its nodes in a form that cannot be replaced: nothing was written")


def _compare_predictions(old: Thing, new: Thing, collapsed: Sequence[int], generator: np.random.Generator) -> int:
    """Return how many points were walked through both trees; `EngineError` where one predicts something else."""
    before, after = old.get("nodes"), new.get("nodes")
    children = stored_links(before).children
    own = _owners(children, collapsed)
    kept = np.flatnonzero(own == np.arange(len(own)))
    number = np.full(len(own), LEAF, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    same = len(after) == len(kept) == new.get("node_count") and after.dtype == before.dtype
    if not same or old.get("values")[kept].tobytes() != new.get("values").tobytes():
        raise EngineError("a tree of the copy has other values: nothing was written")
    inner = stored_links(after).inner
    if set(kept[~inner].tolist()) != set(own[children[:, 0] < 0].tolist()):
        raise EngineError("a tree of the copy has other leaves: nothing was written")
    for name in before.dtype.names:
        at = inner if name in {"feature", "threshold", "missing_go_to_left"} else slice(None)
        if name not in CHILDREN and before[name][kept][at].tobytes() != after[name][at].tobytes():
            raise EngineError(f"a tree of the copy has another {name}: nothing was written")
    points = points_of(before, POINTS, len(before), generator)
    if not np.array_equal(number[own[leaf_of(before, points)]], leaf_of(after, points)):
        raise EngineError("a tree of the copy sends a point elsewhere: nothing was written")
    return len(points)


def _compared(before: Any, after: Any) -> int:
    """Return how many values both graphs share besides the tables of trees; `EngineError` where one differs."""
    kept = 0
    for a, b in zip_longest(_others(before), _others(after)):
        if a is None or b is None or (a.depth, a.step, a.nested) != (b.depth, b.step, b.nested):
            where = next(place.path for place in (a, b) if place is not None)
            raise EngineError(f"the copy differs from the file at {where}: nothing was written")
        if not equal(a.value, b.value):
            raise EngineError(f"the copy differs from the file at {a.path}: nothing was written")
        kept += 1
    return kept


def _others(root: Any) -> Iterator[GraphPlace]:
    """Yield all values of a graph but the tables of trees."""
    for place in traverse(root):
        owner = place.owner
        if not (is_tree(owner) and place.attribute in REPLACED):
            yield place
