"""Every value that stands in a graph of stored objects, each once, with the path a user would write to reach it.

The ledger of trees of scikit-learn, field by field: what statements carry, what follows, what says which split.

Findings on seeds: those that give bags away, and those that only repeat the fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recon.io.files.opening import current
from recon.readers.formats.drafts.drafts import CLASSES
from recon.readers.formats.sklearn.pipelines.pipeline import KINDS, SEVERAL, inner_models
from recon.readers.formats.sklearn.pipelines.prepared import open_pipeline
from recon.readers.formats.sklearn.pipelines.steps import PIPELINES
from recon.readers.formats.sklearn.trees.settings import EnsembleBags, explain_bags, last_call
from recon.readers.inspection.findings.findings import EXAMPLES, About, Finding, not_understood
from recon.readers.inspection.ledger.entries import CONTRADICTION, Status, of_sklearn
from recon.readers.stored.objects.arrays import extra_bytes, is_scalar, resolve
from recon.readers.stored.objects.pandas_tables import arrow_texts
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError

_LONG = 400  # steps of a path that are shown
MAX_VALUES = 5_000_000  # values; a forest of 1,000 trees has about 30,000
DEEPEST = 100_000  # values inside values; honest chains (the leaves of Birch) have thousands
_PLACE = 300  # bytes charged for a value: its place and what is looked up about it
_SCALARS = (type(None), bool, int, float, complex, str, bytes, Name)
_MAPPINGS = frozenset({"OrderedDict", "defaultdict", "Counter"})
_SPARSE = ("csr_", "csc_", "coo_", "bsr_", "dia_", "dok_", "lil_")


@dataclass(frozen=True, slots=True)
class GraphPlace:
    """One value of the graph, and the way to it: the place above, the step from there, and how that is written.

    `owner` is the nearest object above it and `attribute` the attribute of it that leads here; `nested`: the value is
    not that attribute itself but stands inside it. Lists, tuples and dicts of plain values are one value. `holder` is
    the dict that a value with a key stands in. `extra`: bytes that the file has for the value beside what it is.
    """

    above: GraphPlace | None
    step: tuple[str | int, ...]
    shown: str
    owner: Thing | None
    attribute: str
    value: Any
    nested: bool = False
    holder: dict[Any, Any] | None = None
    depth: int = 0
    extra: int = 0

    def can_be_replaced(self) -> bool:
        """Return whether the value is an attribute in the state of an object, where another can be put."""
        return not self.nested and self.owner is not None and self.attribute in _state_of(self.owner, self.attribute)

    @property
    def path(self) -> str:
        """Return the path as a user would write it; the middle of one with more than 400 steps is left out."""
        way = self.way
        shown = [place.shown for place in way]
        if len(shown) > _LONG:
            shown = [*shown[: _LONG // 2], ".(...)", *shown[-_LONG // 2 :]]
        return "".join(shown).removeprefix(".")

    @property
    def steps(self) -> tuple[str | int, ...]:
        """Return the path as attribute names, keys and positions."""
        return tuple(step for place in self.way for step in place.step)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of an array or sparse matrix, the length of a list; () for everything else."""
        return shape_of(self.value)

    @property
    def way(self) -> list[GraphPlace]:
        """Return the places from the root to this one."""
        found, place = [], self
        while True:
            found.append(place)
            if place.above is None:
                return found[::-1]
            place = place.above


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of an array or sparse matrix, the length of a list or tuple; () for everything else."""
    if isinstance(value, np.ndarray):
        return tuple(value.shape)
    if isinstance(value, (list, tuple)):
        return (len(value),)
    if is_sparse(value):
        shape = value.get("_shape", value.get("shape"))
        return tuple(s for s in shape if isinstance(s, int)) if isinstance(shape, tuple) else ()
    return ()


def entries_of(value: Any) -> int | None:
    """Return the length of an array, matrix or list, and of the rows in a search tree; None for everything else."""
    shape = shape_of(value)
    if not shape and isinstance(value, Thing) and isinstance(value.state, tuple) and value.state:
        shape = shape_of(resolve(value.state[0]))  # BallTree, KDTree: the rows come first
    return shape[0] if shape else None


def is_sparse(value: Any) -> bool:
    """Return whether the value is a sparse matrix or array of scipy."""
    return isinstance(value, Thing) and value.kind.startswith("scipy.sparse.") and value.class_name.startswith(_SPARSE)


def described(value: Any) -> str:
    """Return what a value is in a few words: its class, shape and type."""
    if isinstance(value, np.ndarray):
        shape = " x ".join(f"{s:,}" for s in value.shape) or "1"
        return f"{value.dtype.name if value.dtype.names is None else 'record'} array of {shape}"
    if is_sparse(value):
        return f"{value.class_name} of " + " x ".join(f"{s:,}" for s in shape_of(value))
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return f"{type(value).__name__} of {len(value):,}"
    if isinstance(value, Thing):
        return value.class_name
    return f"number {value}" if isinstance(value, (int, float)) else type(value).__name__


def traverse(root: Any) -> Iterator[GraphPlace]:
    """Yield every value below (and with) the root at each path that leads to it; what is inside it at the first only.

    Iterative, linear in the graph's references. Raises `ReleaseError` for broken arrays and for graphs of more than
    5,000,000 values, or 100,000 inside each other.
    """
    budget = current()
    known: dict[int, Any] = {}  # what stands for a Thing, by the Thing's id
    entered: set[int] = set()
    stack = [GraphPlace(None, (), "", None, "", root)]
    yielded = 0
    while stack:
        place = stack.pop()
        raw = place.value
        if isinstance(raw, Thing):
            if id(raw) not in known:
                known[id(raw)] = _seen_as(raw)
            if known[id(raw)] is not raw:
                place = replace(place, value=known[id(raw)], extra=extra_bytes(raw))
        yielded += 1
        if yielded > MAX_VALUES or len(stack) > MAX_VALUES:
            raise ReleaseError(f"the file holds more than {MAX_VALUES:,} values")
        if place.depth > DEEPEST:
            raise ReleaseError(f"the file holds more than {DEEPEST:,} values inside each other")
        budget.entries(1, "what the file holds", _PLACE)
        yield place
        if not isinstance(raw, _SCALARS) and id(raw) not in entered:
            entered.add(id(raw))
            stack.extend(reversed(_below(place)))


def things_of(places: list[GraphPlace]) -> list[Thing]:
    """Return the objects among the places, each once."""
    return list({id(p.value): p.value for p in places if isinstance(p.value, Thing)}.values())


def _seen_as(value: Thing) -> Any:
    """Return arrays, numpy scalars and pyarrow's texts in place of the Things that describe them; other Things not."""
    if value.class_name in _MAPPINGS:
        return value
    if value.kind == "pyarrow.lib._restore_array" and (texts := arrow_texts(value)) is not None:
        return texts
    library = value.callable.module.partition(".")[0]
    return (
        resolve(value)
        if value.how == "reduce" and library in {"numpy", "builtins", "__builtin__", "_codecs"}
        else value
    )


def _below(place: GraphPlace) -> list[GraphPlace]:
    """Return the values right below one."""
    value = place.value
    if isinstance(value, Thing):
        return [] if is_sparse(value) else _parts(place, value)
    inner: list[tuple[str, tuple[str | int, ...], Any]] = []
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            places = (tuple(int(i) for i in np.unravel_index(k, value.shape)) for k in range(value.size))
            inner = [("".join(f"[{i}]" for i in at), at, value[at]) for at in places]
    elif isinstance(value, dict):
        inner = [(f"[{_key(k)}]", (k,), v) for k, v in value.items()]
        inner += [(f"(key {i})", ("",), k) for i, k in enumerate(value) if _has_object(k)]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = [(f"[{i}]", (i,), v) for i, v in enumerate(value)]
    holder = value if isinstance(value, dict) else None
    seeded = holder is not None and any(isinstance(k, str) and k.endswith("random_state") for k in holder)
    if all(_is_plain(v) for _, _, v in inner) and not seeded:
        return []
    return [_inner_places(place, shown, step, v, place.owner, place.attribute, holder) for shown, step, v in inner]


def _has_object(key: Any) -> bool:
    """Return whether a key is an object, or a tuple or frozen set with one in it."""
    return isinstance(key, Thing) or (isinstance(key, (tuple, frozenset)) and any(isinstance(p, Thing) for p in key))


def _is_plain(value: Any) -> bool:
    """Return whether a value is a number or text, numpy's among them."""
    return isinstance(value, _SCALARS) or (isinstance(value, Thing) and is_scalar(value))


def _inner_places(
    place: GraphPlace, shown: str, step: tuple[str | int, ...], value: Any, owner: Thing | None, attribute: str,
    holder: dict[Any, Any] | None = None,
) -> GraphPlace:  # fmt: skip
    return GraphPlace(place, step, shown, owner, attribute, value, True, holder, place.depth + 1)


def _parts(place: GraphPlace, thing: Thing) -> list[GraphPlace]:
    """Return the attributes and items of a Thing, and what it would be called with where that says anything."""
    masked = thing.class_name == "MaskedArray" and place.owner is not None  # an array: what it stands in says of what

    def part(name: str, value: Any) -> GraphPlace:
        if masked:
            return _inner_places(place, f".{name}", (name,), value, place.owner, place.attribute)
        return GraphPlace(place, (name,), f".{name}", thing, name, value, depth=place.depth + 1)

    found = [part(str(k), v) for k, v in thing.fields().items()]
    if not found and thing.state is not None:
        found.append(part("(state)", thing.state))
    found += [_inner_places(place, f"[{i}]", (i,), v, thing, "") for i, v in enumerate(thing.items)]
    found += [
        replace(_inner_places(place, f"[{_key(k)}]", (k,), v, thing, k if isinstance(k, str) else ""), nested=False)
        for k, v in thing.pairs.items()
    ]
    given = [v for v in (*thing.args, *thing.kwargs.values()) if not isinstance(v, _SCALARS)]
    return found + [part(f"(argument {i})", v) for i, v in enumerate(given)]


def _key(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 40 else text[:37] + "..."


SPLITS = "which split, at which value and gain: says more to anyone who knows the learner's rule and arithmetic"
_COUNTS = frozenset(["n_node_samples", "weighted_n_node_samples", "count"])
_SUMS = frozenset(["value", "gain"])  # of histogram trees
_OF_SPLITS = frozenset([
    "left_child", "right_child", "feature", "threshold", "missing_go_to_left", "feature_idx", "num_threshold", "left",
    "right", "depth", "is_leaf", "bin_threshold", "is_categorical", "bitset_idx",
])  # fmt: skip
_BOOSTED = ("GradientBoosting", "HistGradientBoosting")


@dataclass(frozen=True, slots=True)
class NodeField:
    """A field of an array of nodes ("": the whole array): its status, what it holds, and why."""

    name: str
    bytes: int
    status: Status
    figures: str
    why: str
    about: About = ""


STRAY = "nodes that no other leads to, values at leaves that no leaf has, or sizes that the nodes have not"
# What leaves have in the fields of splits: of trees, and of those of histogram boosting.
_AT_LEAVES = {"right_child": (-1,), "feature": (-2,), "threshold": (-2.0,), "missing_go_to_left": (0,)}
_AT_LEAVES_OF_BINS = {
    "left": (0,), "right": (0,), "feature_idx": (0,), "num_threshold": (0.0,), "threshold": (0.0,),
    "missing_go_to_left": (0,), "gain": (-1.0, 0.0), "bin_threshold": (0,), "is_categorical": (0,), "bitset_idx": (0,),
}  # fmt: skip


def tree_parts(places: Iterable[GraphPlace], whole: bool) -> tuple[dict[int, list[NodeField]], list[Finding]]:
    """Return the parts of every array of nodes and values by the id of its place; findings on contradictory counts.

    Not `whole`: nothing but the findings.
    """
    found: dict[int, list[NodeField]] = {}
    wrong: list[Finding] = []
    nodes, values = {}, {}
    for place in places:
        kind = "" if place.owner is None else place.owner.class_name
        if kind in {"Tree", "TreePredictor"} and isinstance(place.value, np.ndarray) and not place.nested:
            if place.attribute == "nodes" and place.value.dtype.names:
                nodes[id(place.owner)] = place
            elif place.attribute == "values" and kind == "Tree":
                values[id(place.owner)] = place
    for key, place in nodes.items():
        beside = values.get(key)
        above = place.above.owner if place.above is not None else None
        odd = _stray(place.value, None if above is None else _of(above, "max_leaf_nodes"))
        odd += _sizes_beside(place.owner, place.value)
        if odd:
            wrong.append(not_understood(place.path, odd, "nodes", STRAY))
        made, boosted = _implied(place, beside, whole)
        if CONTRADICTION in made.values():
            wrong.append(not_understood(place.path, place.value.nbytes, "counts", CONTRADICTION))
            continue
        if not whole:
            continue
        found[id(place)] = [
            _part(name, place.value[name].nbytes, made, boosted, beside) for name in place.value.dtype.names
        ]
        if beside is not None:
            classes = beside.value.ndim == 3 and beside.value.shape[2] > 1 and not boosted
            why = "rows per class" if classes else "means or sums of the target"
            found[id(beside)] = [NodeField("", beside.value.nbytes, "used", "classes" if classes else "values", why)]
    return found, wrong


def _stray(nodes: Any, most: int | None = None) -> int:
    """Return the bytes of nodes of a tree that no other leads to, and of values at leaves that no leaf has.

    `most`: scikit-learn grew it up to a number of leaves. Then a leaf with rows of several classes or targets keeps the
    side that missing values would have had, had it been split, and of histograms the gain of its split.
    """
    names = set(nodes.dtype.names)
    left, right = ("left_child", "right_child") if "left_child" in names else ("left", "right")
    if not {left, right} <= names or not len(nodes):
        return 0
    if any(nodes.dtype[side].kind not in "iu" for side in (left, right)):
        return int(nodes.nbytes)
    leaf = nodes["is_leaf"] != 0 if "is_leaf" in names else nodes[left] < 0
    met = np.zeros(len(nodes), dtype=bool)
    met[0] = True
    for side in (left, right):
        children = nodes[side][~leaf]
        met[children[(children > 0) & (children < len(nodes))]] = True
    odd = int((~met).sum()) * nodes.dtype.itemsize
    for name, usual in (_AT_LEAVES if left == "left_child" else _AT_LEAVES_OF_BINS).items():
        if name in names:
            wrong = leaf & ~np.isin(nodes[name], usual)
            if most is not None and name == "missing_go_to_left" and "impurity" in names:
                wrong &= (nodes[name] != 1) | ~(nodes["impurity"] > 0)
            if isinstance(most, int) and name == "gain" and leaf.sum() >= most:
                wrong &= ~(nodes[name] > 0)
            odd += int(wrong.sum()) * nodes.dtype[name].itemsize
    return int(odd)


def _sizes_beside(tree: Thing | None, nodes: Any) -> int:
    """Return the bytes of a number of nodes and a depth that a tree of scikit-learn states and its nodes have not."""
    if tree is None or not {"left_child", "right_child"} <= set(nodes.dtype.names) or not len(nodes):
        return 0
    if any(nodes.dtype[side].kind not in "iu" for side in ("left_child", "right_child")):
        return int(nodes.nbytes)
    level, depth, met = np.zeros(1, dtype=np.intp), 0, 1
    while met <= len(nodes):
        inner = level[nodes["left_child"][level] > 0]
        level = np.concatenate([nodes[side][inner] for side in ("left_child", "right_child")])
        level = level[(level > 0) & (level < len(nodes))]
        if not len(level):
            break
        depth, met = depth + 1, met + len(level)
    stated = (_of(tree, "node_count"), len(nodes)), (_of(tree, "max_depth"), depth)
    return sum(8 for one, right in stated if one is not None and one != right)


def _implied(place: GraphPlace, values: GraphPlace | None, whole: bool) -> tuple[Mapping[str, str], bool]:
    """Return what is implied of a tree's nodes, and whether boosting has put other values into it."""
    estimator = place.above.owner if place.above is not None else None
    boosted = whole and any(p.owner is not None and p.owner.class_name.startswith(_BOOSTED) for p in place.way)
    if place.owner is None or place.owner.class_name != "Tree" or estimator is None:
        return {}, boosted
    kept = not boosted and _of(estimator, "monotonic_cst") is None
    held = None if values is None else values.value
    return of_sklearn(place.value, held, _of(estimator, "criterion"), kept, whole), boosted


def _of(thing: Thing, name: str) -> Any:
    return thing.get(name) if thing.has(name) else None


def _part(name: str, size: int, implied: Mapping[str, str], boosted: bool, values: GraphPlace | None) -> NodeField:
    """Return a field of the nodes of a tree."""
    targets = values is not None and values.value.ndim == 3 and values.value.shape[2] == 1
    if name == "impurity" and boosted:
        return NodeField(name, size, "used", "values", "spreads of gradients")
    if name == "impurity" and (targets or name not in implied):
        more = f"; {implied[name]}" if name in implied else ""
        return NodeField(name, size, "unused", "", f"the spread of the target in every node{more}", "labels")
    if name in implied:
        return NodeField(name, size, "implied", "", implied[name])
    if name in _COUNTS:
        return NodeField(name, size, "used", "counts", "numbers of rows")
    if name in _SUMS:
        return NodeField(name, size, "used", "values", "sums of gradients")
    if name in _OF_SPLITS:
        return NodeField(name, size, "assumed", "", SPLITS)
    return NodeField(name, size, "unknown", "", "")


TAKE_OUT = "set it to None (recon inspect --strip): it is read when fitting only"
# The methods of these read random_state when they predict or transform.
DRAWING = frozenset(["DummyClassifier", "IterativeImputer", "LatentDirichletAllocation", "BernoulliRBM"])
NAMES = frozenset(
    ["random_state", "_seeds", "_random_seed", "random_state_", "_random_state", "_rng", "_feature_subsample_rng"]
)
FITTING_ONLY = {"random_state", "_seeds", "_random_seed", "_feature_subsample_rng"}
MOST_SEEDS = 100_000  # of one ensemble
GENERATORS = ("numpy.random.", "random.")


@dataclass(frozen=True)
class Seeds:
    """Findings on seeds, the places that can go, the numbers of rows of the ensembles, and all places of seeds."""

    findings: list[Finding]
    places: list[GraphPlace]
    rows: list[int]
    told: list[GraphPlace]


def seed_findings(places: list[GraphPlace]) -> Seeds:
    """Return what seeds give away: the bags of every ensemble, checked against its trees; other seeds by name."""
    found: list[Finding] = []
    held: list[GraphPlace] = []
    rows: list[int] = []
    reported: set[int] = set()
    met: set[int] = set()
    for place in places:
        if isinstance(place.value, Thing) and place.value.has("estimators_") and id(place.value) not in met:
            met.add(id(place.value))
            bags = explain_bags(last_call(place.value).last)
            if bags.multiplicities is None:
                continue
            rows.append(bags.multiplicities.shape[1])
            found.append(_bag_finding(place, bags))
            mine = _seeds_of(place, places)
            held += mine
            reported.update(id(p.owner) for p in mine)
    for place in places:
        if not _is_seed(place) or (id(place.owner) in reported and not place.nested):
            continue
        found.append(_other(place))
        if _is_removable(place):
            held.append(place)
    return Seeds(found, held, rows, [p for p in places if _is_seed(p) and _is_short(p.value)])


def _is_seed(place: GraphPlace) -> bool:
    """Return whether the place is a seed or a generator that an object holds."""
    value = place.value
    if place.holder is not None:  # parameters of a search
        return str(place.step[-1]).endswith("random_state") and isinstance(value, (int, list))
    if place.nested or place.attribute not in NAMES:
        return False
    if isinstance(value, Thing):
        return value.kind.startswith(GENERATORS)
    return isinstance(value, np.ndarray) or (isinstance(value, int) and not isinstance(value, bool))


def _is_short(value: Any) -> bool:
    """Return whether a value holds no more than a seed or the state of a generator."""
    if isinstance(value, int):
        return value.bit_length() <= 64
    return isinstance(value, (Thing, np.ndarray)) and (isinstance(value, Thing) or value.nbytes <= 8 * MOST_SEEDS)


def replace_value(place: GraphPlace, value: Any) -> bool:
    """Put another value into the state of the object that an attribute is of; False where it has no such state."""
    state = {} if place.owner is None else _state_of(place.owner, place.attribute)
    if place.attribute in state:
        state[place.attribute] = value
    return place.attribute in state


def _state_of(owner: Thing, attribute: str) -> dict[Any, Any]:
    """Return the dict in the state of an object that has an attribute, an empty one where there is none."""
    parts = owner.state if isinstance(owner.state, tuple) else (owner.state,)
    return next((part for part in parts if isinstance(part, dict) and attribute in part), {})


def _is_removable(place: GraphPlace) -> bool:
    """Return whether the seed can be None without a change of predictions: only fitting reads it."""
    owner = place.owner
    if place.holder is not None:
        return owner is not None and owner.kind.startswith("sklearn.model_selection.")
    return (
        owner is not None
        and (place.attribute in FITTING_ONLY or (place.attribute == "_rng" and owner.class_name.startswith("Gradient")))
        and owner.class_name not in DRAWING
        and owner.kind.partition(".")[0] in {"sklearn", "imodels"}
    )


def _seeds_of(ensemble: GraphPlace, places: list[GraphPlace]) -> list[GraphPlace]:
    """Return the seeds of an ensemble and of its members."""
    members = ensemble.value.get("estimators_")
    inside = {id(ensemble.value), *(id(m) for m in members)}
    return [p for p in places if p.holder is None and _is_seed(p) and id(p.owner) in inside]


def _bag_finding(place: GraphPlace, bags: EnsembleBags) -> Finding:
    """Return that an ensemble's bags are known, with an example and what the check was."""
    drawn = bags.multiplicities
    assert drawn is not None
    path = f"{place.path}.{bags.seeds}" if place.path else bags.seeds
    trees, rows = drawn.shape
    left_out = int((drawn == 0).sum(axis=1).mean())
    follows = (
        f"how often each of the {rows:,} training rows is in each of the {trees:,} bags, by its position in the "
        f"training file (on average {left_out:,} rows are left out); so the trees' counts are about known rows: "
        "recon positions says what is proved of every one"
    )
    if bags.checked:
        follows += f"; checked: {bags.why}, in all {bags.checked:,} trees"
    what = f"{trees:,} seeds" if bags.seeds != "random_state" else f"the seed of {trees:,} seeds"
    take_out = f"{TAKE_OUT}; without it nothing follows by position, unless somebody guesses the seed"
    own = bags.seeds != "random_state" and isinstance(place.value.get("random_state"), int)
    also = "; the ensemble's own random_state gives the same seeds" if own else ""
    return Finding(
        "high", "bag-seeds", path, what, follows, take_out + also, True, _stored_seeds(place.value, bags.seeds)
    )


def _stored_seeds(ensemble: Thing, attribute: str) -> tuple[Any, ...]:
    """Return the first seeds that an ensemble stores in the attribute that its bags follow from."""
    if attribute == "random_state":
        return (ensemble.get("random_state"),)
    held = ensemble.get("_seeds")
    if attribute == "_seeds":
        return tuple(int(v) for v in held[:EXAMPLES])
    return tuple(member.get("random_state") for member in ensemble.get("estimators_")[:EXAMPLES])


def _other(place: GraphPlace) -> Finding:
    """Return that a seed is stored which gives no bag away."""
    follows = (
        "anyone who has the same rows can repeat the fit; with early stopping or subsampling it also says which rows "
        "were held out"
    )
    value = place.value
    what = f"generator {value.class_name}" if isinstance(value, Thing) else "seed"
    if isinstance(value, Thing):
        follows += "; a generator's state can be run backwards to the first draw"
    removable = _is_removable(place)
    remove = TAKE_OUT if removable else "set it to None before fitting"
    values = (value,) if isinstance(value, int) else ()
    return Finding("info", "seed", place.path, what, follows, remove, removable, values)


NUMBERING = ("_label_encoder", "le_", "init_")


COUNTED = ("tree_", "_predictors", "estimators_")


def counted_parts(root: Any) -> Iterator[tuple[Thing, str]]:
    """Yield the objects and attributes of them ("": all) that the readers of stored models take counts from.

    Raises what `read` raises for wrappers that hold no model.
    """
    todo = [root]
    while todo:
        one = todo.pop()
        if not isinstance(one, Thing):
            continue
        if one.class_name in KINDS:
            todo += inner_models(one)
            continue
        held = next((name for name in COUNTED if one.has(name)), "") if one.kind.startswith("sklearn.") else ""
        yield one, held
        members = one.get(held) if held == "estimators_" else None
        flat = members.ravel().tolist() if isinstance(members, np.ndarray) else members
        yield from ((member, "tree_") for member in flat or () if isinstance(member, Thing))


def stated_parts(root: Any) -> Iterator[tuple[Thing, str]]:
    """Yield the objects and attributes whose figures of single columns the readers of stored models state.

    Raises what `read` raises for wrappers that hold no model.
    """
    todo = [root]
    while todo:
        one = todo.pop()
        if isinstance(one, Thing) and one.class_name in KINDS:
            todo += inner_models(one)
            if one.class_name in PIPELINES:
                yield from ((s.owner, name) for s in open_pipeline(one).stated for name in s.attributes)
            elif one.class_name in SEVERAL:
                yield from _labelled(one)
    yield from (pair for one, held in counted_parts(root) if held for pair in _labelled(one))


def _labelled(model: Thing) -> Iterator[tuple[Thing, str]]:
    """Yield the model, and the objects in it that number its classes or know their shares, with their lists of them."""
    yield from ((one, CLASSES) for one in (model, *map(model.get, NUMBERING)) if isinstance(one, Thing))
